//! Every way to write a session anew: one after the other, and ended at every step.

use std::fs;

use serde_json::{Value, json};

use crate::prune::{ALL, Talk};
use crate::revisions::{content, references};
use crate::run::Run;
use crate::sessions as s;

const FOLDER: &str = "s.jsonl.archive";

/// A session with something for every kind of rewrite, torn at its end.
pub(crate) fn rich() -> Vec<u8> {
    let mut talk = Talk::new();
    talk.lines.push(s::user("dead", "u1", s::words(9_000)));
    for n in 0..4 {
        talk.call("read", json!({"path": format!("f{n}.txt")}), 6_000);
        talk.ask();
    }
    let same = s::words_from(77, 5_000);
    for n in 0..2 {
        let (call, reply, id) = (format!("d{n}"), format!("da{n}"), format!("dt{n}"));
        talk.put(&reply, |parent| s::assistant(&reply, parent, json!([s::call(&call, "bash", json!({"command": "date"}))])));
        let details = json!({"details": {"raw": s::words_from(n * 100, 4_000)}});
        talk.put(&id, |parent| s::tool_result_with(&id, parent, &call, "bash", json!([s::tx(&same)]), details));
    }
    for n in 0..2 {
        let id = format!("img{n}");
        talk.put(&id, |parent| s::user(&id, parent, json!([s::tx("look"), s::image(4_000)])));
    }
    talk.put("wa", |parent| {
        s::assistant("wa", parent, json!([s::call("w", "write", json!({"path": "big.txt", "content": s::words(8_000)}))]))
    });
    talk.put("wt", |parent| s::tool_result("wt", parent, "w", "write", "written"));
    talk.put("cu", |parent| s::entry("custom", "cu", parent, json!({"customType": "ext", "data": {"blob": s::words(5_000)}})));
    for n in 4..8 {
        talk.ask();
        talk.call("read", json!({"path": format!("f{n}.txt")}), 6_000);
    }
    talk.put("end", |parent| crate::answer("end", parent.unwrap(), "done"));
    [s::file(&talk.lines), b"{\"type\":\"message\",\"id\":\"to".to_vec()].concat()
}

#[test]
fn twelve_different_rewrites_in_a_row_can_all_be_had_back() {
    let run = Run::of(rich());
    let chars: &[&str] = &["--tokenizer", "heuristic"];
    let compact: &[&str] = &["compact", "s.jsonl", "--keep-recent-tokens", "2k", "--allow-growth"];
    let steps: Vec<(&str, Vec<&str>)> = vec![
        ("repaired", vec!["prune", "s.jsonl", "--repair"]),
        ("pruned", vec!["prune", "s.jsonl", "--details"]),
        ("pruned", vec!["prune", "s.jsonl", "--images", "keep-last=1"]),
        ("pruned", [&["prune", "s.jsonl", "--args", "--protect-tokens", "0"], chars].concat()),
        ("pruned", vec!["prune", "s.jsonl", "--custom", "ext"]),
        ("pruned", vec!["prune", "s.jsonl", "--dedupe"]),
        ("pruned", vec!["prune", "s.jsonl", "--dead-branches"]),
        ("pruned", [&["prune", "s.jsonl", "--max-result", "1000"], chars].concat()),
        ("pruned", vec!["prune", "s.jsonl", "--restore", "2"]),
        ("compacted", [compact, &["--prune"], chars].concat()),
        ("pruned", vec!["prune", "s.jsonl", "--summarized"]),
        ("compacted", vec!["compact", "s.jsonl", "--strategy", "replace", "--drop-branches"]),
        ("pruned", vec!["prune", "s.jsonl", "--restore", "1"]),
        ("repaired", vec!["prune", "s.jsonl", "--repair"]),
    ];
    let env = [("EPITOME_PRUNE_PROTECT_TOKENS", "0"), ("EPITOME_PRUNE_MIN_SAVINGS", "0")];
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for (step, (action, args)) in (1_u64..).zip(&steps) {
        kept.push(run.bytes("s.jsonl"));
        let args = [args.as_slice(), &["--json"]].concat();
        let compacts = args[0] == "compact";
        let receipt = run.go_env(&args, if compacts { &env } else { &[] }).ok().json();
        assert_eq!((&receipt["action"], &receipt["archive_revision"]), (&json!(action), &json!(step)), "{args:?}: {receipt}");
        let torn = args.contains(&"1");
        let check = run.json(&["inspect", "--check", "s.jsonl"]);
        let left: Vec<&Value> = check["problems"].as_array().unwrap().iter().map(|p| &p["code"]).collect();
        assert!(left.is_empty() || (torn && left == ["torn-line"]), "{args:?}: {check}");
        let all = references(&run, "s.jsonl");
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), (1..=step).collect::<Vec<_>>(), "{args:?}");
        for (revision, bytes) in (1_u64..).zip(&kept) {
            assert!(content(&run.path(FOLDER), &all[&revision]) == *bytes, "{args:?}: revision {revision}");
        }
    }
    for (revision, bytes) in (1_u64..).zip(&kept) {
        let number = revision.to_string();
        let out = run.go(&["export", "s.jsonl", "--revision", &number]).ok();
        assert!(out.stdout == *bytes, "revision {revision} is exported as another file");
    }
}

/// Limits under which everything is pruned; a compaction takes them only from here.
pub(crate) const ENV: [(&str, &str); 2] = [("EPITOME_PRUNE_PROTECT_TOKENS", "0"), ("EPITOME_PRUNE_MIN_SAVINGS", "0")];

/// One rewrite of each kind: a session, and the arguments that rewrite it.
pub(crate) fn kinds() -> Vec<(Vec<u8>, Vec<&'static str>)> {
    let old_version = {
        let mut lines = vec![json!({"type": "session", "id": "s1", "timestamp": s::STAMP, "cwd": "/w"}).to_string()];
        for n in 0..6 {
            for message in
                [json!({"role": "user", "content": s::words_from(n * 500, 2_000)}), json!({"role": "assistant", "content": [s::tx("ok")]})]
            {
                lines.push(json!({"type": "message", "timestamp": s::STAMP, "message": message}).to_string());
            }
        }
        s::file(&lines)
    };
    let small: &[&str] = &["--keep-recent-tokens", "300", "--allow-growth", "--tokenizer", "heuristic"];
    let measures =
        ["prune", "s.jsonl", "--details", "--images", "drop", "--args", "--dead-branches", "--dedupe", "--tokenizer", "heuristic"];
    vec![
        (rich(), vec!["prune", "s.jsonl", "--repair"]),
        (rich(), [&["prune", "s.jsonl"], ALL].concat()),
        (rich(), measures.to_vec()),
        (rich(), [&["compact", "s.jsonl", "--prune"], small].concat()),
        (old_version, [&["compact", "s.jsonl"], small].concat()),
    ]
}

/// A run that fails, or ends, at any step leaves the session as it was, or as it was to be.
#[cfg(debug_assertions)]
#[test]
fn r25_every_rewrite_leaves_the_old_session_or_the_new() {
    use epitome::store::fault::{Step, VARIABLE};
    let env = ENV;
    for (old, args) in kinds() {
        let whole = Run::of(&old);
        whole.go_env(&args, &env).ok();
        let new = whole.bytes("s.jsonl");
        assert!(new != old, "{args:?}");
        for step in Step::ALL.iter().filter(|step| **step != Step::Title) {
            for fault in ["fail", "full", "kill"] {
                let run = Run::of(&old);
                let armed = format!("{}:1:{fault}", step.name());
                let out = run.go_env(&args, &[env[0], env[1], (VARIABLE, &armed)]);
                assert_ne!(out.code, 0, "{args:?} {armed}: nothing failed\n{out}");
                let is = run.bytes("s.jsonl");
                let done = *step == Step::SessionFolderSync;
                assert!(is == if done { new.clone() } else { old.clone() }, "{args:?} {armed}");
                if fault != "kill" {
                    let names = run.names();
                    assert!(names.iter().all(|name| name == "s.jsonl" || name == FOLDER), "{args:?} {armed}: {names:?}");
                }
                // What the session refers to is there, and the next run does its work; a lock file of a killed run is respected
                // for as long as an attempt takes.
                let lost = run.json(&["inspect", "--check", "s.jsonl"]);
                assert!(!lost.to_string().contains("missing-archive") && !lost.to_string().contains("bad-archive"), "{lost}");
                if !done && fault == "kill" {
                    let again = (0..3).map(|_| run.go_env(&args, &env).code).find(|code| *code != 5);
                    assert_eq!(again, Some(0), "{args:?} {armed}");
                    let kept = content_of_newest(&run);
                    assert!(kept == old, "{args:?} {armed}");
                    run.go(&["prune", "s.jsonl", "--repair=stray-temp"]).ok();
                    assert!(run.names().iter().all(|name| name == "s.jsonl" || name == FOLDER), "{args:?} {armed}: {:?}", run.names());
                    assert!(fs::read_dir(run.path(FOLDER)).unwrap().all(|e| e.unwrap().path().extension().is_some_and(|x| x == "epa")));
                }
            }
        }
    }
}

/// The newest archive of a session.
pub(crate) fn content_of_newest(run: &Run) -> Vec<u8> {
    let all = references(run, "s.jsonl");
    content(&run.path(FOLDER), all.values().next_back().unwrap())
}
