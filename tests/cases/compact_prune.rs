//! Pruning and compaction in one write.

use serde_json::{Value, json};

use crate::answer;
use crate::prune::Talk;
use crate::revisions::{content, references};
use crate::run::{Run, ids};
use crate::sessions as s;

const FOLDER: &str = "s.jsonl.archive";
const PRUNE: &[(&str, &str)] = &[("EPITOME_PRUNE_PROTECT_TOKENS", "0"), ("EPITOME_PRUNE_MIN_SAVINGS", "0")];

/// Twelve results of 3,000 tokens each, a question before each; the last answer reports what a provider saw.
fn session(reported: u64) -> Run {
    let mut talk = Talk::new();
    for n in 0..12 {
        talk.call("bash", json!({"command": format!("make {n}")}), 12_000);
        talk.ask();
    }
    let usage = json!({"usage": {"input": reported, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": reported + 10}});
    talk.put("end", |parent| s::assistant_with("end", parent, json!([s::tx("done")]), usage));
    Run::of(s::file(&talk.lines))
}

fn compact(run: &Run, more: &[&str]) -> Value {
    let args = [&["compact", "s.jsonl", "--prune", "--json", "--tokenizer", "heuristic"], more].concat();
    run.go_env(&args, PRUNE).ok().json()
}

fn sound(run: &Run, before: &[u8], receipt: &Value) {
    let check = run.json(&["inspect", "--check", "s.jsonl"]);
    assert_eq!(check["problems"], json!([]), "{check}");
    let all = references(run, "s.jsonl");
    assert_eq!((all.len(), &receipt["archive_revision"]), (1, &json!(1)), "{receipt}");
    assert_eq!((all[&1].kind.name(), all[&1].generation), ("prune", 0));
    assert!(content(&run.path(FOLDER), &all[&1]) == before);
    assert_eq!(
        (receipt["bytes_before"].as_u64(), receipt["bytes_after"].as_u64()),
        (Some(before.len() as u64), Some(run.bytes("s.jsonl").len() as u64))
    );
}

#[test]
fn both_are_one_write_with_one_archive() {
    let run = session(40_000);
    let before = run.bytes("s.jsonl");
    let told = compact(&run, &["-n", "--keep-recent-tokens", "100", "--allow-growth"]);
    assert!(run.bytes("s.jsonl") == before && run.names() == ["s.jsonl"]);
    let receipt = compact(&run, &["--keep-recent-tokens", "100", "--allow-growth"]);
    assert_eq!((&receipt["action"], &receipt["pruned_results"]), (&json!("compacted"), &json!(12)), "{receipt}");
    assert_eq!((&told["action"], &told["pruned_results"], &told["entry_id"]), (&receipt["action"], &json!(12), &receipt["entry_id"]));
    sound(&run, &before, &receipt);
    let last = run.last("s.jsonl");
    assert_eq!((&last["type"], &last["parentId"], &last["id"]), (&json!("compaction"), &json!("end"), &receipt["entry_id"]));
    assert!(run.text("s.jsonl").matches("prunedAt").count() == 12);
    // The cut is that of the pruned context: 36,000 tokens of results are 100 of notices.
    assert_eq!(receipt["cut"]["keep_recent_tokens"], 100);
    assert!(receipt["kept_messages"].as_u64() > Some(10), "{receipt}");
    assert!(receipt["counted_before"].as_u64() > Some(36_000), "{receipt}");
    assert!(receipt["counted_after"].as_u64() < Some(3_000), "{receipt}");
    // What a provider saw before is no measure of what the model gets now.
    assert!(last["tokensBefore"].as_u64() < Some(3_000), "{last}");
    // And back.
    run.go(&["prune", "s.jsonl", "--restore", "1"]).ok();
    assert_eq!(run.json(&["inspect", "s.jsonl"])["leaf"], "end");
    assert!(!run.text("s.jsonl").contains("prunedAt"));
}

#[test]
fn when_pruning_is_enough_nothing_is_compacted() {
    for (reported, threshold) in [(40_000, "20000"), (40_000, "50000")] {
        let run = session(reported);
        let before = run.bytes("s.jsonl");
        let receipt = compact(&run, &["--trigger", "auto", "--threshold", threshold]);
        assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("pruned"), &json!("no_trigger")), "{receipt}");
        assert_eq!((&receipt["pruned_results"], &receipt["entry_id"]), (&json!(12), &Value::Null));
        sound(&run, &before, &receipt);
        assert_eq!(run.last("s.jsonl")["id"], "end");
        let after = run.bytes("s.jsonl");
        let again = compact(&run, &["--trigger", "auto", "--threshold", threshold]);
        assert_eq!((&again["action"], &again["pruned_results"]), (&json!("nothing"), &json!(0)), "{again}");
        assert!(run.bytes("s.jsonl") == after);
    }
    // Above the threshold all the same.
    let run = session(40_000);
    let receipt = compact(&run, &["--trigger", "auto", "--threshold", "150", "--keep-recent-tokens", "100", "--allow-growth"]);
    assert_eq!((&receipt["action"], &receipt["triggers"]["reason"]), (&json!("compacted"), &json!("threshold")), "{receipt}");
}

#[test]
fn what_is_not_compacted_is_pruned_all_the_same() {
    let run = session(1_000);
    let before = run.bytes("s.jsonl");
    let receipt = compact(&run, &[]);
    assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("pruned"), &json!("fits")), "{receipt}");
    sound(&run, &before, &receipt);
    let run = session(1_000);
    let out = run.go_env(&["compact", "s.jsonl", "--prune"], PRUNE).ok();
    assert!(out.stdout().contains("only pruned: 12 results"), "{out}");
    // A cut-off answer asks for a compaction whatever pruning saves.
    let mut talk = Talk::new();
    for _ in 0..4 {
        talk.call("bash", json!({"command": "make"}), 12_000);
        talk.ask();
    }
    talk.put("end", |parent| s::assistant_with("end", parent, json!([s::tx("and th")]), json!({"stopReason": "length"})));
    let run = Run::of(s::file(&talk.lines));
    let receipt = compact(&run, &["--trigger", "auto", "--keep-recent-tokens", "20", "--allow-growth"]);
    assert_eq!((&receipt["action"], &receipt["triggers"]["reason"]), (&json!("compacted"), &json!("incomplete")), "{receipt}");
}

#[test]
fn what_is_not_to_be_changed_is_not() {
    // Switched off, off, and nothing that is worth it.
    for (args, action) in [
        (&["--trigger", "auto", "--enabled", "false"][..], "nothing"),
        (&["--strategy", "off", "--keep-recent-tokens", "100"], "nothing"),
        (&["-n"], "pruned"),
    ] {
        let run = session(40_000);
        let before = run.bytes("s.jsonl");
        let receipt = compact(&run, args);
        assert_eq!(receipt["action"], action, "{args:?}: {receipt}");
        assert!(run.bytes("s.jsonl") == before && run.names() == ["s.jsonl"], "{args:?}");
    }
    let run = session(40_000);
    let plain = run.json(&["compact", "s.jsonl", "--prune", "--tokenizer", "heuristic"]);
    assert_eq!((&plain["pruned_results"], &plain["archive_revision"]), (&json!(0), &Value::Null), "the defaults protect 40,000 tokens");
    // A session that must not be appended to.
    let run = Run::with(&["damaged/duplicate-id-differs.jsonl"]);
    let before = run.bytes("duplicate-id-differs.jsonl");
    let out = run.go_env(&["compact", "duplicate-id-differs.jsonl", "--prune", "--json"], PRUNE);
    assert_eq!(out.json()["error"]["code"], "duplicate-id", "{out}");
    assert!(run.bytes("duplicate-id-differs.jsonl") == before);
}

#[test]
fn a_copy_is_pruned_and_compacted_too() {
    let run = session(40_000);
    let before = run.bytes("s.jsonl");
    let receipt = compact(&run, &["-o", "copy.jsonl", "--keep-recent-tokens", "100", "--allow-growth"]);
    assert_eq!((&receipt["action"], &receipt["archive_revision"]), (&json!("compacted"), &Value::Null));
    assert!(run.bytes("s.jsonl") == before && !run.text("copy.jsonl").contains("epitome.archive"));
    assert_eq!(run.text("copy.jsonl").matches("prunedAt").count(), 12);
    let receipt = compact(&run, &["-o", "other.jsonl"]);
    assert_eq!(receipt["action"], "pruned");
    assert_eq!(receipt["bytes_after"], run.bytes("other.jsonl").len());
    assert_eq!(run.text("other.jsonl").matches("prunedAt").count(), 12);
    let shown = run.json(&["inspect", "other.jsonl", "--show", "context"]);
    assert_eq!(ids(&shown["context"]).len(), ids(&run.json(&["inspect", "s.jsonl", "--show", "context"])["context"]).len());
}

#[test]
fn r27_an_old_session_is_migrated_once() {
    let mut lines = vec![json!({"type": "session", "id": "s1", "timestamp": s::STAMP, "cwd": "/w"}).to_string()];
    let put = |lines: &mut Vec<String>, message: Value| {
        lines.push(json!({"type": "message", "timestamp": s::STAMP, "message": message}).to_string())
    };
    for n in 0..6 {
        let call = json!({"type": "toolCall", "id": format!("c{n}"), "name": "read", "arguments": {"path": format!("f{n}")}});
        put(&mut lines, json!({"role": "user", "content": "read it"}));
        put(&mut lines, json!({"role": "assistant", "content": [call]}));
        let text = s::words_from(n * 9000, 8_000);
        put(
            &mut lines,
            json!({"role": "toolResult", "toolCallId": format!("c{n}"), "toolName": "read", "isError": false, "content": [s::tx(&text)]}),
        );
    }
    put(&mut lines, serde_json::from_str::<Value>(&answer("x", "x", "done")).unwrap()["message"].clone());
    let run = Run::of(s::file(&lines));
    let before = run.bytes("s.jsonl");
    let receipt = compact(&run, &["--keep-recent-tokens", "20", "--allow-growth"]);
    assert_eq!(receipt["action"], "compacted", "{receipt}");
    sound(&run, &before, &receipt);
    assert_eq!(run.json(&["inspect", "s.jsonl"])["session"]["version"], 3);
}
