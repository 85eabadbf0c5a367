//! Handoffs: a new session beside the old one, which stays as it is.

use serde_json::{Value, json};

use crate::answer;
use crate::run::{self, Run};
use crate::sessions as s;

const HANDOFF: &[&str] = &["compact", "s.jsonl", "--strategy", "handoff"];

fn lines() -> Vec<String> {
    vec![
        s::header(),
        s::user("u1", s::ROOT, "WHAT-WAS-ASKED: make the parser accept tabs"),
        s::assistant("a1", "u1", json!([s::call("c1", "edit", json!({"path": "src/parser.rs", "oldText": "a", "newText": "b"}))])),
        s::tool_result("t1", "a1", "c1", "edit", "ok"),
        answer("a2", "t1", &format!("Changed the parser. {}", s::words(6_000))),
    ]
}

fn handoff(run: &Run, more: &[&str]) -> Value {
    run.json(&[HANDOFF, more].concat())
}

/// The new session's lines.
fn new_session(run: &Run, receipt: &Value) -> Vec<Value> {
    let path = receipt["new_session"]["path"].as_str().unwrap();
    let name = std::path::Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
    run.lines(&name)
}

#[test]
fn the_work_goes_on_in_a_new_file_and_the_old_one_is_untouched() {
    let run = Run::of(s::file(&lines()));
    let before = (run.bytes("s.jsonl"), run.path("s.jsonl").metadata().unwrap().modified().unwrap());
    let dry = handoff(&run, &["-n"]);
    assert_eq!(run.names(), ["s.jsonl"]);
    let receipt = handoff(&run, &[]);
    assert_eq!((&receipt["action"], &receipt["strategy"]), (&json!("compacted"), &json!("handoff")), "{receipt}");
    assert_eq!(receipt["new_session"]["id"], dry["new_session"]["id"]);
    assert!(before == (run.bytes("s.jsonl"), run.path("s.jsonl").metadata().unwrap().modified().unwrap()));
    let id = receipt["new_session"]["id"].as_str().unwrap();
    let name = format!("2026-01-31T12-00-00-000Z_{id}.jsonl");
    assert_eq!(run.names(), [name.as_str(), "s.jsonl"]);
    assert_eq!((id.len(), id.matches('-').count(), &id[14..15]), (36, 4, "8"));
    let new = new_session(&run, &receipt);
    assert_eq!(new.len(), 2);
    let parent = std::fs::canonicalize(run.path("s.jsonl")).unwrap();
    assert_eq!(
        (&new[0]["type"], &new[0]["version"], &new[0]["id"], &new[0]["cwd"], &new[0]["parentSession"]),
        (&json!("session"), &json!(3), &json!(id), &json!("/w"), &json!(parent))
    );
    let message = &new[1];
    assert_eq!(
        (&message["type"], &message["customType"], &message["display"]),
        (&json!("custom_message"), &json!("handoff"), &json!(true))
    );
    assert_eq!((&message["parentId"], &message["id"]), (&Value::Null, &receipt["entry_id"]));
    let document = message["content"].as_str().unwrap();
    assert!(document.contains("WHAT-WAS-ASKED") && document.contains("parser.rs (Write)"), "{document}");
    assert!(receipt["counted_after"].as_u64() < receipt["counted_before"].as_u64(), "{receipt}");
    assert_eq!(run.go(&["inspect", "--check", &name]).code, 0);
    let mode = std::os::unix::fs::PermissionsExt::mode(&run.path(&name).metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // Handed off once, however often it is asked for, until the old session goes on.
    let again = handoff(&run, &[]);
    assert_eq!((&again["action"], &again["reason"]), (&json!("nothing"), &json!("handed_off")), "{again}");
    assert_eq!(again["new_session"]["id"], id);
    let mut more = lines();
    more.push(s::user("u2", "a2", "and on"));
    run.put("s.jsonl", s::file(&more));
    assert_ne!(handoff(&run, &[])["new_session"]["id"], id);
    assert_eq!(run.names().len(), 3);
}

#[test]
fn another_file_or_stream_may_be_named_and_nothing_is_overwritten() {
    let run = Run::of(s::file(&lines()));
    let receipt = handoff(&run, &["-o", "next.jsonl"]);
    assert_eq!(receipt["new_session"]["path"], "next.jsonl");
    let next = run.bytes("next.jsonl");
    assert_eq!(run.names(), ["next.jsonl", "s.jsonl"]);
    let refused = run.go(&[HANDOFF, &["-o", "next.jsonl", "--json"]].concat());
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (1, &json!("exists")), "{refused}");
    assert!(run.bytes("next.jsonl") == next);
    let out = run.feed(&["compact", "-", "--strategy", "handoff"], run.bytes("s.jsonl")).ok();
    let streamed: Vec<Value> = out.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((streamed.len(), &streamed[0]["parentSession"]), (2, &json!("s1")));
    assert_eq!(run.names(), ["next.jsonl", "s.jsonl"]);
}

#[test]
fn without_a_document_the_context_is_compacted_and_that_is_said() {
    let lines = [s::header(), s::bash_execution("b", s::ROOT, "ls", "PRIVATE", true)];
    let run = Run::of(s::file(&lines));
    let receipt = handoff(&run, &[]);
    assert_eq!((&receipt["action"], &receipt["strategy"]), (&json!("nothing"), &json!("context-full")), "{receipt}");
    assert_eq!(run.names(), ["s.jsonl"]);
    let out = run.go(&[HANDOFF, &["-n"]].concat());
    assert!(out.stdout().contains("nothing to do"), "{out}");
}

#[test]
fn an_overflow_is_never_handed_off() {
    let mut all = lines();
    all.push(s::user("u2", "a2", "more"));
    all.push(s::assistant_with(
        "f",
        "u2",
        json!([]),
        json!({"stopReason": "error", "errorMessage": "prompt is too long: 210000 tokens > 200000 maximum"}),
    ));
    let run = Run::of(s::file(&all));
    let receipt = handoff(&run, &["--trigger", "auto", "--keep-recent-tokens", "10"]);
    assert_eq!((&receipt["action"], &receipt["strategy"]), (&json!("compacted"), &json!("context-full")), "{receipt}");
    assert!(receipt["warnings"].to_string().contains("context-full instead"), "{receipt}");
    assert_eq!(run.names(), ["s.jsonl"]);
    assert_eq!(run.last("s.jsonl")["type"], "compaction");
    let shown = run.json(&["inspect", "s.jsonl", "--show", "context"]);
    assert!(!run::ids(&shown["context"]).contains(&"f"));
}

#[test]
fn a_handoff_goes_on_from_what_was_summarized_before() {
    let run = Run::of(s::file(&lines()));
    run.json(&["compact", "s.jsonl", "--strategy", "replace"]);
    let receipt = handoff(&run, &[]);
    let document = new_session(&run, &receipt)[1]["content"].as_str().unwrap().to_owned();
    assert!(document.contains("WHAT-WAS-ASKED"), "{document}");
    let mut all = lines();
    all.push(s::compaction("k", "a2", "## Goal\n- First request: “EARLIER-SUMMARY”", "k"));
    let run = Run::of(s::file(&all));
    let receipt = handoff(&run, &[]);
    let document = new_session(&run, &receipt)[1]["content"].as_str().unwrap().to_owned();
    assert!(document.contains("EARLIER-SUMMARY"), "{document}");
}
