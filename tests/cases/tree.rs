//! Parents that are twice, missing, or lead in circles.

use serde_json::json;

use crate::run::{Run, codes, ids};
use crate::sessions as s;
use crate::{LEAST, answer, compacted, refused, turns};

#[test]
fn r11_duplicate_ids() {
    let name = "R11-identical.jsonl";
    let run = Run::with(&["cases/R11-identical.jsonl"]);
    let report = run.json(&["inspect", name]);
    assert_eq!(report["path_entries"], 20);
    assert_eq!(codes(&report), ["duplicate-id"; 5]);
    assert_eq!(run.go(&["inspect", "--check", name]).code, 0);
    compacted(&run, name, LEAST);

    let name = "R11-differs.jsonl";
    let run = Run::with(&["cases/R11-differs.jsonl"]);
    let out = run.go(&["inspect", "--check", "--json", name]);
    assert_eq!((out.code, codes(&out.json())), (4, vec!["duplicate-id"]));
    assert!(out.json()["problems"][0]["message"].as_str().unwrap().contains("other content"));
    refused(&run, name, "duplicate-id");
}

#[test]
fn r11_a_long_chain_with_doubled_lines_finishes() {
    let mut lines = vec![s::header()];
    let mut parent: Option<String> = None;
    for n in 0..5_000 {
        let id = format!("e{n}");
        let line = s::user(&id, parent.as_deref(), format!("message {n}"));
        if n % 25 == 0 {
            lines.push(line.clone());
        }
        lines.push(line);
        parent = Some(id);
    }
    let run = Run::of(s::file(&lines));
    let report = run.json(&["inspect", "s.jsonl"]);
    assert_eq!((&report["path_entries"], codes(&report).len()), (&json!(5_000), 200));
    run.go(&["inspect", "s.jsonl", "--show", "tree"]).ok();
}

#[test]
fn r12_parent_cycles() {
    for (name, entries) in [("R12-two.jsonl", 2), ("R12-self.jsonl", 2), ("R12-above-the-leaf.jsonl", 4)] {
        let run = Run::with(&[&format!("cases/{name}")]);
        let out = run.go(&["inspect", "--check", "--json", name]);
        assert_eq!(out.code, 4, "{out}");
        assert_eq!(codes(&out.json()), ["parent-cycle"], "{name}");
        assert_eq!(run.json(&["inspect", name])["path_entries"], entries, "{name}");
        for view in ["tree", "path", "context", "transcript", "cut", "sizes", "summary"] {
            run.go(&["inspect", name, "--show", view]).ok();
        }
        refused(&run, name, "parent-cycle");
    }
}

#[test]
fn r13_parent_that_is_not_in_the_file() {
    let name = "dangling-parent.jsonl";
    let run = Run::with(&["damaged/dangling-parent.jsonl"]);
    let report = run.json(&["inspect", name, "--show", "overview,path"]);
    assert_eq!((&report["reachable"], &report["total"], codes(&report)), (&json!(3), &json!(5), vec!["dangling-parent"]));
    // The path starts behind the gap; nothing is bridged.
    assert_eq!(ids(&report["path_list"]), ["d", "e", "f"]);
    let (receipt, _) = compacted(&run, name, LEAST);
    assert!(receipt["warnings"].to_string().contains("the path starts at d"), "{receipt}");
}

#[test]
fn r14_several_roots_are_legal() {
    let name = "R14-two-roots.jsonl";
    let run = Run::with(&["cases/R14-two-roots.jsonl"]);
    let report = run.json(&["inspect", name, "--show", "overview,path"]);
    assert_eq!((codes(&report), &report["total"], &report["path_entries"]), (vec![], &json!(6), &json!(4)));
    assert!(report["path_list"][0]["parent_id"].is_null());
    compacted(&run, name, LEAST);
    // The other root is reached by its leaf.
    let first = report["session"]["leaves"][0]["id"].as_str().unwrap();
    let other = run.json(&["inspect", name, "--leaf", first, "--show", "path"]);
    assert!(ids(&other["path_list"]).iter().all(|id| !ids(&report["path_list"]).contains(id)));
}

#[test]
fn r27_old_versions() {
    for name in ["v1.jsonl", "v2.jsonl"] {
        let run = Run::with(&[&format!("sessions/{name}")]);
        let before = run.bytes(name);
        let first = run.go(&["inspect", name, "--show", "all", "--json"]).ok();
        assert_eq!(first, run.go(&["inspect", name, "--show", "all", "--json"]).ok());
        assert!(!ids(&first.json()["tree"]).is_empty());
        assert_eq!(run.bytes(name), before, "looking changes nothing");
        // Where there is nothing to do, the version is in nobody's way.
        assert_eq!(run.json(&["compact", name])["action"], "nothing");
        assert_eq!(run.json(&["compact", "-n", name, "--keep-recent-tokens", "1", "--allow-growth"])["action"], "compacted");
        assert_eq!(run.bytes(name), before);
        let out = run.go(&["compact", name, "--keep-recent-tokens", "1", "--allow-growth"]);
        if out.code == 0 {
            // All of it, or nothing.
            let lines = run.lines(name);
            assert_eq!(lines[0]["version"], 3);
            assert!(lines[1..].iter().all(|line| line["id"].is_string() && line["message"]["role"] != "hookMessage"));
        } else {
            assert_eq!((out.code, run.bytes(name)), (1, before));
            assert!(out.stderr().contains("version") && out.stderr().contains("hint: "), "{out}");
        }
    }
}

#[test]
fn an_unknown_version_is_read_and_appended_to() {
    let run = Run::with(&["sessions/v4-future.jsonl"]);
    assert_eq!(codes(&run.json(&["inspect", "v4-future.jsonl"])), ["unknown-version"]);
    let before = run.bytes("v4-future.jsonl");
    run.go(&["compact", "v4-future.jsonl", "--keep-recent-tokens", "1", "--allow-growth"]).ok();
    assert!(run.bytes("v4-future.jsonl").starts_with(&before));
}

#[test]
fn a_reset_ends_the_context() {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 1, 2, 200);
    lines.push(s::reset("r", last.as_str()));
    lines.push(s::user("u9", "r", "after the reset"));
    lines.push(answer("a9", "u9", "a fresh start"));
    let run = Run::of(s::file(&lines));
    let report = run.json(&["inspect", "s.jsonl", "--show", "context,cut", "--keep-recent-tokens", "1"]);
    assert_eq!(ids(&report["context"]), ["u9", "a9"]);
    assert_eq!(report["cut"]["window_start_id"], "u9");
}
