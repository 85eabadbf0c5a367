//! Other programs at the same file while a slow summarizer works: nothing of theirs is lost.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::run::Run;
use crate::sessions as s;
use crate::{answer, turns};

/// Longer than an agent waits for the lock, and than it takes to append.
const SLOW: u32 = 3_000;
const ARGS: [&str; 5] = ["compact", "s.jsonl", "--json", "--keep-recent-tokens", "300"];

fn session() -> Run {
    let mut lines = vec![s::header()];
    turns(&mut lines, None, 1, 8, 900);
    Run::of(s::file(&lines))
}

/// What a running agent does: takes the lock, which must not take long, and appends a line.
fn append_as_an_agent(run: &Run, line: &str) {
    let path = run.path("s.jsonl");
    let start = Instant::now();
    let lock = epitome::store::acquire(&path, Duration::from_millis(500)).unwrap();
    assert!(start.elapsed() < Duration::from_millis(500));
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
    file.sync_all().unwrap();
    drop(lock);
}

#[test]
fn r17_a_line_behind_the_leaf_is_planned_again() {
    let run = session();
    let before = run.bytes("s.jsonl");
    let working = run.summarizing(&ARGS, SLOW);
    let line = s::user("new", "a8", "a question meanwhile");
    append_as_an_agent(&run, &line);
    let out = working.end().ok();
    let after = run.bytes("s.jsonl");
    assert!(after.starts_with(&[&before[..], line.as_bytes(), b"\n"].concat()));
    let entry = run.last("s.jsonl");
    assert_eq!((&entry["type"], &entry["parentId"], &entry["id"]), (&json!("compaction"), &json!("new"), &out.json()["entry_id"]));
    assert!(out.stderr().contains("planning again"), "{out}");
    assert_eq!(run.lines("s.jsonl").len(), 1 + 16 + 2);
    assert_eq!(run.names(), ["s.jsonl"]);
}

#[test]
fn r17_a_line_on_another_branch_changes_nothing_about_the_plan() {
    let run = session();
    let before = run.bytes("s.jsonl");
    let working = run.summarizing(&ARGS, SLOW);
    let line = s::user("other", "a3", "another branch");
    append_as_an_agent(&run, &line);
    let out = working.end().ok();
    assert!(run.bytes("s.jsonl").starts_with(&[&before[..], line.as_bytes(), b"\n"].concat()));
    let entry = run.last("s.jsonl");
    assert_eq!((&entry["parentId"], &entry["id"]), (&json!("a8"), &out.json()["entry_id"]));
    assert!(!out.stderr().contains("planning again"), "{out}");
    assert_eq!(out.json()["bytes_after"].as_u64(), Some(run.bytes("s.jsonl").len() as u64));
}

#[test]
fn r17_a_file_that_was_rewritten_is_a_conflict() {
    let truncated = |run: &Run| File::options().write(true).open(run.path("s.jsonl")).unwrap().set_len(2_000).unwrap();
    let rewritten = |run: &Run| drop(run.put("s.jsonl", s::file(&[s::header(), s::user("z", s::ROOT, "all new")])));
    let replaced = |run: &Run| {
        let other = run.put("other", run.bytes("s.jsonl"));
        std::fs::rename(other, run.path("s.jsonl")).unwrap();
    };
    let edited = |run: &Run| {
        let mut bytes = run.bytes("s.jsonl");
        let at = bytes.len() - 20;
        bytes[at] ^= 1;
        run.put("s.jsonl", bytes);
    };
    let removed = |run: &Run| std::fs::remove_file(run.path("s.jsonl")).unwrap();
    type Change<'a> = (&'a str, &'a dyn Fn(&Run));
    let changes: [Change<'_>; 5] =
        [("truncated", &truncated), ("rewritten", &rewritten), ("replaced", &replaced), ("edited", &edited), ("removed", &removed)];
    for (what, change) in changes {
        let run = session();
        let working = run.summarizing(&ARGS, 1_000);
        change(&run);
        let left = std::fs::read(run.path("s.jsonl")).ok();
        let out = working.end();
        if what == "removed" {
            assert!([1, 5].contains(&out.code), "{what}\n{out}");
        } else {
            assert_eq!((out.code, &out.json()["error"]["code"]), (5, &json!("changed")), "{what}\n{out}");
        }
        assert!(std::fs::read(run.path("s.jsonl")).ok() == left, "{what}");
        assert!(run.names().iter().all(|name| name == "s.jsonl"), "{what}: {:?}", run.names());
    }
}

#[test]
fn r17_a_lock_that_is_not_let_go_is_a_conflict() {
    let run = session();
    let before = run.bytes("s.jsonl");
    let working = run.summarizing(&ARGS, 200);
    let lock = epitome::store::acquire(&run.path("s.jsonl"), Duration::from_millis(500)).unwrap();
    let out = working.end();
    assert_eq!((out.code, &out.json()["error"]["code"]), (5, &json!("locked")), "{out}");
    drop(lock);
    assert!(run.bytes("s.jsonl") == before);
    assert_eq!(run.names(), ["s.jsonl"]);
}

#[test]
fn r16_eight_runs_on_one_file() {
    for delay in [0, 400] {
        let run = session();
        let before = run.bytes("s.jsonl");
        let start = || -> Child { run.command(&ARGS).env("EPITOME_TEST_SUMMARIZER_DELAY_MS", delay.to_string()).spawn().unwrap() };
        let children: Vec<Child> = (0..8).map(|_| start()).collect();
        let outs: Vec<_> = children.into_iter().map(|child| run.end(child)).collect();
        let mut done = 0;
        for out in &outs {
            assert!([0, 5].contains(&out.code), "{out}");
            done += usize::from(out.code == 0 && out.json()["action"] == "compacted");
        }
        assert!(done >= 1);
        // Every line is whole, the old ones are untouched, and each success left exactly one entry.
        assert!(run.bytes("s.jsonl").starts_with(&before));
        let added = run.lines("s.jsonl").split_off(17);
        assert_eq!(added.len(), done, "{added:?}");
        assert!(added.iter().all(|entry| entry["type"] == "compaction"));
        assert_eq!(run.json(&["inspect", "--check", "s.jsonl"])["problems"], json!([]));
        assert_eq!(run.names(), ["s.jsonl"]);
    }
}

#[test]
fn r16_an_agent_that_keeps_appending_loses_nothing() {
    let run = session();
    let working = run.summarizing(&ARGS, 300);
    let mut parent = "a8".to_owned();
    for n in 0..12 {
        let id = format!("n{n}");
        append_as_an_agent(&run, &answer(&id, &parent, "more"));
        parent = id;
        std::thread::sleep(Duration::from_millis(100));
    }
    let out = working.end();
    assert!([0, 5].contains(&out.code), "{out}");
    let lines = run.lines("s.jsonl");
    assert_eq!(lines.iter().filter(|line| line["id"].as_str().is_some_and(|id| id.starts_with('n'))).count(), 12);
    assert_eq!(lines.iter().filter(|line| line["type"] == "compaction").count(), usize::from(out.code == 0));
}
