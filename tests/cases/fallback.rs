//! What is done in place of what was asked for, and only where that was allowed.

use serde_json::{Value, json};

use crate::clients::{Client, GOOD, go, long};
use crate::run::Run;
use crate::server::{Server, status};
use crate::sessions as s;
use crate::turns;

const FRAMES: &[&str] = &["snapcompact", "s.jsonl", "--keep-recent-tokens", "1500", "--json"];

/// A history that no font can draw.
fn unreadable() -> Vec<u8> {
    let mut lines = vec![s::header(), s::user("x", s::ROOT, "\u{e001}\u{e002} ".repeat(2_000))];
    turns(&mut lines, Some("x"), 0, 3, 1_500);
    s::file(&lines)
}

/// Why there can be no frames: flags, a session, what is said.
fn kinds() -> [(&'static [&'static str], Vec<u8>, &'static str); 2] {
    [(&["--model", "openai/gpt-3.5-turbo"], long(), "reads no pictures"), (&[], unreadable(), "cannot be drawn")]
}

#[test]
fn a_summary_in_place_of_frames_only_where_that_is_allowed() {
    for (flags, session, said) in kinds() {
        let run = Run::of(&session);
        for more in [&[][..], &["--fallback", "offline"]] {
            let out = run.go(&[FRAMES, flags, more].concat());
            assert_eq!((out.code, &out.json()["error"]["code"]), (1, &json!("refused")), "{out}");
            assert!(out.json()["error"]["message"].as_str().unwrap().contains(said), "{out}");
            assert!(out.stderr().contains("--fallback context-full"), "{out}");
            assert!(run.bytes("s.jsonl") == session);
        }
        let out = run.go(&[FRAMES, flags, &["--fallback", "context-full"]].concat()).ok();
        let entry = run.last("s.jsonl");
        let fallback = &entry["details"]["fallback"];
        assert_eq!((&fallback["to"], &entry["details"]["summarizer"]), (&json!("context-full"), &json!("offline")), "{entry}");
        assert!(fallback["reason"].as_str().unwrap().contains(said) && fallback.get("summarizer").is_none(), "{entry}");
        assert!(entry.get("preserveData").is_none() && entry["summary"].as_str().unwrap().contains("## Goal"));
        let receipt = out.json();
        assert_eq!((&receipt["strategy"], &receipt["frames"]), (&json!("context-full"), &Value::Null));
        assert!(receipt["warnings"].to_string().contains("a summary is made and no frames"), "{receipt}");
    }
}

#[test]
fn both_may_be_allowed_and_both_are_recorded() {
    for (flags, session, said) in kinds() {
        let server = Server::new(vec![status(404, "")]);
        let run = Run::of(&session);
        // The words fail, and nobody may take their place.
        let out = go(&run, &[FRAMES, flags, &["--fallback", "context-full"]].concat(), &Client::Openai.args(&server), &[]);
        assert_eq!((out.code, &out.json()["error"]["code"]), (1, &json!("summarizer")), "{out}");
        assert!(run.bytes("s.jsonl") == session);
        go(&run, &[FRAMES, flags, &["--fallback", "offline,context-full"]].concat(), &Client::Openai.args(&server), &[]).ok();
        let fallback = run.last("s.jsonl")["details"]["fallback"].clone();
        assert_eq!((&fallback["to"], &fallback["summarizer"]["to"]), (&json!("context-full"), &json!("offline")));
        assert!(fallback["reason"].as_str().unwrap().contains(said));
        assert!(fallback["summarizer"]["reason"].as_str().unwrap().contains("404"), "{fallback}");
        // A dry run sends nothing, and a model that answers writes the summary.
        let server = Server::new(vec![Client::Openai.says(GOOD, "stop")]);
        let run = Run::of(&session);
        go(&run, &[FRAMES, flags, &["--fallback", "context-full", "-n"]].concat(), &Client::Openai.args(&server), &[]).ok();
        assert!(server.got().is_empty());
        go(&run, &[FRAMES, flags, &["--fallback", "context-full"]].concat(), &Client::Openai.args(&server), &[]).ok();
        let entry = run.last("s.jsonl");
        assert_eq!((&entry["details"]["summarizer"], &entry["details"]["fallback"]["to"]), (&json!("openai"), &json!("context-full")));
        assert!(entry["summary"].as_str().unwrap().contains("MODEL-WORDS"));
    }
}

#[test]
fn every_writer_records_that_offline_took_over() {
    let fork = crate::hooks::fork();
    let rows: [(&[&str], &[u8]); 2] = [
        (&["branch-summary", "s.jsonl", "--from", "c", "--to", "d", "--json"], &fork),
        (&["compact", "s.jsonl", "--strategy", "replace", "--json"], &long()),
    ];
    for (args, session) in rows {
        let server = Server::new(vec![status(404, "")]);
        let run = Run::of(session);
        assert_eq!(go(&run, args, &Client::Openai.args(&server), &[]).code, 1);
        assert!(run.bytes("s.jsonl") == session);
        let out = go(&run, &[args, &["--fallback", "offline"]].concat(), &Client::Openai.args(&server), &[]).ok();
        let details = run.last("s.jsonl")["details"].clone();
        assert_eq!((&details["summarizer"], &details["fallback"]["to"]), (&json!("offline"), &json!("offline")), "{args:?}: {details}");
        assert!(details["fallback"]["reason"].as_str().unwrap().contains("404"));
        assert!(out.json()["warnings"].to_string().contains("so offline made the words"), "{out}");
        // Who was asked for and answers is named, too, with what it took.
        let server = Server::new(vec![Client::Openai.says(GOOD, "stop")]);
        let run = Run::of(session);
        go(&run, args, &Client::Openai.args(&server), &[]).ok();
        let entry = run.last("s.jsonl");
        assert_eq!((&entry["details"]["summarizer"], &entry["usage"]["input"]), (&json!("openai"), &json!(60)), "{entry}");
    }
}
