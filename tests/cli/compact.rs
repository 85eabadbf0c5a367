//! `compact`: receipts, where the result goes, and when nothing is done.
//!
//! Receipts are shown with the truncating summarizer, whose words do not change.

use std::os::unix::fs::PermissionsExt;

use crate::run::Run;
use crate::sessions as s;

fn small() -> Run {
    Run::with(&["sessions/small.jsonl"])
}

/// Three short turns: nothing that a summary could make shorter.
fn short() -> Run {
    let mut lines = vec![s::header()];
    let mut parent: Option<String> = None;
    for n in 1..=3 {
        let (user, answer) = (format!("u{n}"), format!("a{n}"));
        lines.push(s::user(&user, parent.as_deref(), "go on"));
        lines.push(s::assistant(&answer, Some(user.as_str()), serde_json::json!([s::tx("done")])));
        parent = Some(answer);
    }
    Run::of(s::file(&lines))
}

#[test]
fn receipts() {
    let run = small();
    let args = ["compact", "small.jsonl", "--summarizer", "truncate"];
    insta::assert_snapshot!("receipt_dry_run", run.go(&[&args[..], &["-n"]].concat()).to_string());
    insta::assert_snapshot!("receipt_verbose", run.go(&[&args[..], &["-v", "-o", "copy.jsonl"]].concat()).to_string());
    insta::assert_snapshot!("receipt", run.go(&args).to_string());
    insta::assert_snapshot!("receipt_nothing_to_do", run.go(&args).to_string());
    assert_eq!(run.go(&[&args[..], &["-q"]].concat()).to_string(), "exit code 0\n");
}

#[test]
fn receipts_as_json() {
    let run = Run::with(&["sessions/long.jsonl"]);
    let args = ["compact", "long.jsonl", "--summarizer", "truncate", "--json"];
    insta::assert_snapshot!("receipt_json", run.go(&args).pretty());
    insta::assert_snapshot!("receipt_json_nothing_to_do", run.go(&args).pretty());
}

#[test]
fn a_context_that_would_not_shrink_is_refused() {
    let run = short();
    let before = run.bytes("s.jsonl");
    let args = ["compact", "s.jsonl", "--keep-recent-tokens", "1", "--summarizer", "truncate"];
    insta::assert_snapshot!("refused", run.go(&args).to_string());
    let receipt = run.json(&args);
    assert_eq!((&receipt["action"], &receipt["reason"]), (&"refused".into(), &"no_gain".into()));
    assert!(receipt["counted_after"].as_u64() >= receipt["counted_before"].as_u64(), "{receipt}");
    assert!(receipt["entry_id"].is_null());
    assert_eq!(run.go(&[&args[..], &["--exit-code"]].concat()).code, 3);
    assert_eq!(run.bytes("s.jsonl"), before);
    assert_eq!(run.json(&[&args[..], &["--allow-growth"]].concat())["action"], "compacted");
    assert!(run.bytes("s.jsonl").starts_with(&before));
}

#[test]
fn nothing_to_do_is_told_apart_only_when_asked() {
    let run = short();
    let before = run.bytes("s.jsonl");
    insta::assert_snapshot!("nothing_to_do", run.go(&["compact", "s.jsonl"]).to_string());
    assert_eq!(run.go(&["compact", "s.jsonl", "--exit-code"]).code, 3);
    assert_eq!(run.go(&["compact", "-n", "s.jsonl", "--exit-code"]).code, 3);
    assert_eq!(run.bytes("s.jsonl"), before);
    assert_eq!(run.go(&["compact", "-n", "s.jsonl", "--exit-code", "--keep-recent-tokens", "1", "--allow-growth"]).code, 0);
}

#[test]
fn the_new_line_is_all_that_changes() {
    let run = small();
    let before = run.bytes("small.jsonl");
    let receipt = run.json(&["compact", "small.jsonl"]);
    let after = run.bytes("small.jsonl");
    assert!(after.starts_with(&before));
    assert_eq!(after[before.len()..].iter().filter(|b| **b == b'\n').count(), 1);
    assert_eq!(receipt["bytes_before"].as_u64(), Some(before.len() as u64));
    assert_eq!(receipt["bytes_after"].as_u64(), Some(after.len() as u64));
    let entry = run.last("small.jsonl");
    assert_eq!((&entry["type"], &entry["id"]), (&"compaction".into(), &receipt["entry_id"]));
    assert_eq!(entry["timestamp"], "2026-01-31T12:00:00.000Z");
    assert_eq!(entry["firstKeptEntryId"], receipt["cut"]["first_kept_id"]);
    assert_eq!((&entry["tokensBefore"], &entry["tokensAfter"]), (&receipt["tokens_before"], &receipt["tokens_after"]));
    assert_eq!(entry["details"]["readFiles"], receipt["files"]["read"]);
    assert_eq!(entry["details"]["modifiedFiles"], receipt["files"]["modified"]);
    assert_eq!(run.names(), ["small.jsonl"]);
    // What was promised is what a reader then finds.
    let seen = run.json(&["inspect", "small.jsonl", "--exact"]);
    assert_eq!(seen["tokens"]["counted"], receipt["counted_after"]);
    assert_eq!(seen["leaf"], receipt["entry_id"]);
}

#[test]
fn a_dry_run_tells_what_the_run_then_does() {
    let run = small();
    let mut plan = run.json(&["compact", "-n", "small.jsonl"]);
    let mut done = run.json(&["compact", "small.jsonl"]);
    assert_eq!((plan["dry_run"].take(), done["dry_run"].take()), (true.into(), false.into()));
    assert_eq!(plan, done);
}

#[test]
fn a_copy_leaves_the_session_alone() {
    let run = small();
    let before = run.bytes("small.jsonl");
    run.go(&["compact", "small.jsonl", "-o", "copy.jsonl"]).ok();
    let stdout = run.go(&["compact", "small.jsonl", "-o", "-"]).ok();
    assert_eq!(run.bytes("small.jsonl"), before);
    assert_eq!(run.bytes("copy.jsonl"), stdout.stdout);
    assert_eq!(run.path("copy.jsonl").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    run.go(&["compact", "small.jsonl"]).ok();
    assert_eq!(run.bytes("small.jsonl"), stdout.stdout);
    // A copy is asked for also when there is nothing to do.
    run.go(&["compact", "small.jsonl", "-o", "copy.jsonl", "--overwrite"]).ok();
    assert_eq!(run.bytes("copy.jsonl"), stdout.stdout);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let run = small();
    let before = run.bytes("small.jsonl");
    let out = run.feed(&["compact", "-", "--summarizer", "truncate"], &before).ok();
    assert!(out.stdout.starts_with(&before));
    insta::assert_snapshot!("stdin_receipt", out.stderr());
    run.go(&["compact", "small.jsonl", "--summarizer", "truncate"]).ok();
    assert_eq!(run.bytes("small.jsonl"), out.stdout);
    let again = run.feed(&["compact", "-", "--json"], &out.stdout).ok();
    assert_eq!(again.stdout, out.stdout);
    let receipt: serde_json::Value = serde_json::from_str(&again.stderr()).unwrap();
    assert_eq!((&receipt["path"], &receipt["action"]), (&"-".into(), &"nothing".into()));
    // What is only a plan is the data.
    assert!(run.feed(&["compact", "-n", "-"], &before).ok().stdout().contains("would be compacted"));
    let looked = run.feed(&["inspect", "-", "--json"], &before).ok().json();
    assert_eq!((&looked["path"], &looked["total"]), (&"-".into(), &35.into()));
}

#[test]
fn a_leaf_that_is_not_the_last_entry_is_warned_about() {
    let run = Run::with(&["cases/C15-dead-branch.jsonl"]);
    let leaves = run.json(&["inspect", "C15-dead-branch.jsonl"]);
    let dead = leaves["session"]["leaves"][0]["id"].as_str().unwrap().to_owned();
    let args = ["compact", "C15-dead-branch.jsonl", "--leaf", &dead, "--keep-recent-tokens", "300", "--allow-growth"];
    let receipt = run.json(&args);
    assert_eq!(receipt["action"], "compacted");
    assert!(receipt["warnings"][0].as_str().unwrap().contains("becomes the active one"), "{receipt}");
    assert_eq!(run.last("C15-dead-branch.jsonl")["parentId"], dead.as_str());
}

#[test]
fn the_strategy_off_only_reports() {
    let run = small();
    let before = run.bytes("small.jsonl");
    let receipt = run.json(&["compact", "small.jsonl", "--strategy", "off"]);
    assert_eq!((&receipt["action"], &receipt["strategy"]), (&"nothing".into(), &"off".into()));
    assert!(receipt["cut"]["first_kept_id"].is_string());
    assert_eq!(run.bytes("small.jsonl"), before);
}

#[test]
fn every_candidate_can_be_kept_from() {
    let run = small();
    let cut = run.json(&["inspect", "small.jsonl", "--show", "cut"]);
    let candidates = crate::run::ids(&cut["cut"]["candidates"]);
    assert!(candidates.len() > 5);
    for id in candidates {
        let receipt = run.json(&["compact", "-n", "small.jsonl", "--keep-from", id, "--allow-growth"]);
        assert_eq!(receipt["cut"]["first_kept_message_id"], id);
    }
}

#[test]
fn triggers_are_asked_only_when_told_to() {
    let run = small();
    let reason = |args: &[&str]| {
        let receipt = run.json(&[&["compact", "-n", "small.jsonl"], args].concat());
        (
            receipt["action"].as_str().unwrap().to_owned(),
            receipt["triggers"]["reason"].as_str().or(receipt["reason"].as_str()).map(str::to_owned),
        )
    };
    let did = |action: &str, why: &str| (action.to_owned(), Some(why.to_owned()));
    assert_eq!(reason(&[]), did("compacted", "manual"));
    assert_eq!(reason(&["--trigger", "auto"]), did("nothing", "no_trigger"));
    assert_eq!(reason(&["--trigger", "auto", "--threshold", "5%"]), did("compacted", "threshold"));
    assert_eq!(reason(&["--trigger", "idle", "--threshold", "10k"]), did("compacted", "idle"));
    assert_eq!(reason(&["--trigger", "auto", "--threshold", "5%", "--enabled", "false"]), did("nothing", "disabled"));
    assert_eq!(reason(&["--enabled", "false"]), did("compacted", "manual"));
}
