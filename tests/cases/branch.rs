//! Summaries of abandoned branches.

use serde_json::{Value, json};

use crate::run::Run;
use crate::sessions as s;
use crate::{answer, read, run};

/// A - B - C and A - D: C was left, D goes on.
fn fork() -> Vec<String> {
    vec![
        s::header(),
        s::user("a", s::ROOT, "ask the question"),
        s::user("b", "a", "WHY-BRANCH try the other way"),
        answer("c", "b", &s::words(4000)),
        s::user("d", "a", "go on here"),
    ]
}

fn args<'a>(from: &'a str, to: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["branch-summary", "s.jsonl", "--from", from, "--to", to], more].concat()
}

#[test]
fn b01_the_entry_stands_at_the_target_and_names_the_leaf_that_was_left() {
    let run = Run::of(s::file(&fork()));
    let before = run.bytes("s.jsonl");
    let receipt = run.json(&args("c", "d", &[]));
    assert_eq!((&receipt["action"], &receipt["branch"]["common_ancestor_id"]), (&json!("summarized"), &json!("a")));
    assert_eq!(receipt["branch"]["entry_ids"], json!(["b", "c"]));
    let entry = run.last("s.jsonl");
    assert_eq!((&entry["type"], &entry["parentId"], &entry["fromId"]), (&json!("branch_summary"), &json!("d"), &json!("c")));
    assert_eq!(entry["id"], receipt["entry_id"]);
    assert!(run.bytes("s.jsonl").starts_with(&before));
    // The target's branch is the active one, and the model sees the summary there.
    let shown = run.json(&["inspect", "s.jsonl", "--show", "context"]);
    assert_eq!(run::ids(&shown["context"]), ["a", "d", entry["id"].as_str().unwrap()]);
    assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0);
}

#[test]
fn b03_a_leaf_in_the_middle_of_a_call_is_said() {
    let mut lines = fork();
    lines.insert(4, read("c2", "c", "call-1", "x.rs"));
    let run = Run::of(s::file(&lines));
    let receipt = run.json(&args("c2", "d", &["-n"]));
    assert!(receipt["warnings"].to_string().contains("without a result (c2)"), "{receipt}");
    assert_eq!(receipt["action"], "summarized");
}

#[test]
fn b05_errors_and_test_results_stay_and_noise_goes() {
    let mut lines = fork();
    let mut parent = "c".to_owned();
    for n in 0..10 {
        let (call, result) = (format!("g{n}"), format!("r{n}"));
        lines.push(s::assistant(&call, parent.as_str(), json!([s::call(&call, "grep", json!({"pattern": "NOISE-PATTERN"}))])));
        lines.push(s::tool_result_with(
            &result,
            call.as_str(),
            &call,
            "grep",
            json!([s::tx("No matches found")]),
            json!({"useless": true}),
        ));
        parent = result;
    }
    lines.push(s::assistant("t", parent.as_str(), json!([s::call("t", "bash", json!({"command": "cargo test"}))])));
    lines.push(s::tool_result_with("u", "t", "t", "bash", json!([s::tx("3 passed, 1 failed: test_x")]), json!({"isError": true})));
    lines.push(s::user("e", "d", "and on"));
    let run = Run::of(s::file(&lines));
    let receipt = run.json(&args("u", "e", &["-n"]));
    let text = receipt["summary"]["text"].as_str().unwrap();
    assert!(text.contains("test_x") || text.contains("1 failed"), "{text}");
    assert!(!text.contains("NOISE-PATTERN"), "{text}");
}

#[test]
fn b06_lists_of_inner_summaries_are_merged_for_this_side_only() {
    let inner = json!({"fromId": "zz", "summary": "inner", "details": {"readFiles": ["r"], "modifiedFiles": ["x"]}});
    let lines = vec![
        s::header(),
        s::user("a", s::ROOT, "start"),
        s::user("b", "a", "left"),
        s::entry("branch_summary", "i", "b", inner),
        s::assistant("c", "i", json!([s::call("c1", "edit", json!({"path": "z"}))])),
        s::tool_result("t", "c", "c1", "edit", "ok"),
        s::assistant("d", "a", json!([s::call("d1", "write", json!({"path": "y"}))])),
        s::tool_result("e", "d", "d1", "write", "ok"),
    ];
    let run = Run::of(s::file(&lines));
    run.json(&args("t", "e", &[]));
    assert_eq!(run.last("s.jsonl")["details"], json!({"readFiles": ["r"], "modifiedFiles": ["x", "z"]}));
}

#[test]
fn b07_odd_ends_are_told_apart() {
    let mut lines = fork();
    lines.push(s::label("l", "c", "a"));
    lines.push(s::user("other", s::ROOT, "another root"));
    let run = Run::of(s::file(&lines));
    let before = run.bytes("s.jsonl");
    // Nothing between: the same entry, a descendant, or only a label.
    for (from, to) in [("c", "c"), ("a", "c"), ("b", "l")] {
        let receipt = run.json(&args(from, to, &[]));
        assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("nothing"), &json!("nothing_to_summarize")), "{from} {to}");
        assert_eq!(run.go(&args(from, to, &["--exit-code"])).code, 3);
    }
    assert_eq!(run.json(&args("l", "c", &[]))["action"], "nothing");
    let unknown = run.go(&args("nowhere", "d", &["--json"]));
    assert_eq!(unknown.code, 1);
    assert!(unknown.json()["error"]["message"].as_str().unwrap().contains("no entry has the id 'nowhere'"));
    assert!(run.bytes("s.jsonl") == before);
    // An ancestor as the target: what came after it.
    assert_eq!(run.json(&args("c", "a", &["-n"]))["branch"]["entry_ids"], json!(["b", "c"]));
    let apart = run.json(&args("c", "other", &["-n"]));
    assert_eq!((&apart["branch"]["common_ancestor_id"], &apart["action"]), (&Value::Null, &json!("summarized")));
    assert!(apart["warnings"].to_string().contains("no entry in common"), "{apart}");
    assert!(run.bytes("s.jsonl") == before);
}

#[test]
fn b08_the_request_that_opened_the_branch_stays_over_budget() {
    let mut lines = fork();
    let mut parent = "c".to_owned();
    for n in 0..30 {
        let (call, result) = (format!("g{n}"), format!("r{n}"));
        lines.push(read(&call, &parent, &call, &format!("f{n}.rs")));
        lines.push(s::tool_result(&result, call.as_str(), &call, "read", &s::words_from(n * 3000, 10_000)));
        parent = result;
    }
    lines.push(s::user("e", "d", "and on"));
    let run = Run::of(s::file(&lines));
    let receipt = run.json(&args("r29", "e", &["--token-budget", "2000"]));
    assert!(receipt["branch"]["tokens"].as_u64().unwrap() <= 2000);
    assert!(receipt["branch"]["messages"].as_u64().unwrap() < 10);
    let summary = run.last("s.jsonl")["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("WHY-BRANCH"), "{summary}");
    // Files are told whether or not their messages fit.
    assert!(receipt["files"]["read"].as_array().unwrap().len() == 30);
}

#[test]
fn a_dry_run_and_a_copy_leave_the_session_alone() {
    let run = Run::of(s::file(&fork()));
    let (before, names) = (run.bytes("s.jsonl"), run.names());
    run.json(&args("c", "d", &["-n"]));
    assert_eq!(run.names(), names);
    run.json(&args("c", "d", &["-o", "copy.jsonl"]));
    assert!(run.bytes("s.jsonl") == before);
    assert!(run.bytes("copy.jsonl").starts_with(&before));
    assert_eq!(run.go(&["inspect", "--check", "copy.jsonl"]).code, 0);
}

#[test]
fn all_branches_that_were_left_are_told_once_in_one_write() {
    let mut lines = fork();
    lines.insert(4, s::user("x", "b", "SECOND-BRANCH from the same place"));
    lines.insert(5, answer("y", "x", &s::words_from(9_000, 2_000)));
    // Nothing to tell: a label alone, and a turn that failed.
    lines.insert(6, s::label("l", "a", "b"));
    lines.insert(7, s::assistant_with("f", "a", json!([]), json!({"stopReason": "error", "errorMessage": "overloaded"})));
    let run = Run::of(s::file(&lines));
    let (before, names) = (run.bytes("s.jsonl"), run.names());
    let all = ["branch-summary", "s.jsonl", "--all"];
    let dry = run.json(&[&all[..], &["-n"]].concat());
    assert!(run.bytes("s.jsonl") == before && run.names() == names);
    let receipt = run.json(&all);
    assert_eq!(receipt["branches"], dry["branches"]);
    let froms: Vec<&str> = receipt["branches"].as_array().unwrap().iter().map(|b| b["from_id"].as_str().unwrap()).collect();
    assert_eq!(froms, ["c", "y"]);
    assert!(receipt["branches"].as_array().unwrap().iter().all(|b| b["branch"]["common_ancestor_id"] == "a"), "{receipt}");
    assert!(run.bytes("s.jsonl").starts_with(&before));
    // A chain behind the target, so that the leaf sees both.
    let written = run.lines("s.jsonl");
    let (one, two) = (&written[written.len() - 2], &written[written.len() - 1]);
    assert_eq!((&one["parentId"], &one["fromId"]), (&json!("d"), &json!("c")));
    assert_eq!((&two["parentId"], &two["fromId"], &two["id"]), (&one["id"], &json!("y"), &receipt["entry_id"]));
    assert!(one["summary"].as_str().unwrap().contains("WHY-BRANCH") && two["summary"].as_str().unwrap().contains("SECOND-BRANCH"));
    let shown = run.json(&["inspect", "s.jsonl", "--show", "context"]);
    assert_eq!(run::ids(&shown["context"]), ["a", "d", one["id"].as_str().unwrap(), two["id"].as_str().unwrap()]);
    assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0);
    // Again there is nothing to do, also when the work has gone on.
    let before = run.bytes("s.jsonl");
    let again = run.json(&all);
    assert_eq!((&again["action"], &again["reason"], &again["branches"]), (&json!("nothing"), &json!("nothing_to_summarize"), &json!([])));
    assert_eq!(run.go(&[&all[..], &["--exit-code"]].concat()).code, 3);
    assert!(run.bytes("s.jsonl") == before);
    // Told at another target they are not told there yet; what goes on behind that target was left, too.
    let there = run.json(&["branch-summary", "s.jsonl", "--all", "--to", "c", "-n"]);
    let froms: Vec<&str> = there["branches"].as_array().unwrap().iter().map(|b| b["from_id"].as_str().unwrap()).collect();
    assert_eq!(froms, ["y", two["id"].as_str().unwrap()]);
    assert_eq!(run.go(&["branch-summary", "s.jsonl", "--all", "--from", "c"]).code, 2);
    assert_eq!(run.go(&["branch-summary", "s.jsonl"]).code, 2);
}

#[test]
fn a_target_that_is_not_the_last_entry_becomes_the_leaf_and_that_is_said() {
    let lines = [
        s::header(),
        s::user("u1", None, "Read the table."),
        s::assistant("a1", "u1", json!([s::tx("I read it.")])),
        s::user("u2", "a1", "Try the fast way."),
        s::assistant("a2", "u2", json!([s::tx("The fast way loses rows.")])),
        s::user("u3", "a1", "Try the slow way."),
        s::assistant("a3", "u3", json!([s::tx("The slow way is right.")])),
    ];
    let run = Run::of(s::file(&lines));
    let warnings = |args: &[&str]| run.json(&[&["branch-summary", "-n", "s.jsonl"], args].concat())["warnings"].to_string();
    assert_eq!(warnings(&["--from", "a2", "--to", "a3"]), "[]");
    assert!(warnings(&["--from", "a3", "--to", "a2"]).contains("its branch becomes the active one"));
    assert!(warnings(&["--all", "--to", "a2"]).contains("its branch becomes the active one"));
}
