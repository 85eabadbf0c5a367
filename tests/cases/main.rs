//! Faults that users of such tools reported, one test each, named after the case.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod append;
mod auto;
mod batches;
mod beside;
mod branch;
mod carried;
mod clients;
mod compact_prune;
mod counts;
mod cut;
mod damage;
mod export;
mod fallback;
mod frames;
mod growth;
mod handoff;
mod handoff_online;
mod hook_matrix;
mod hooks;
mod inspect;
mod kills;
mod masked;
mod matrix;
mod obstacles;
mod online;
mod provider;
mod prune;
mod repair;
mod replace;
mod revisions;
mod rewrites;
#[path = "../common/run.rs"]
mod run;
mod secrets;
#[path = "../common/server.rs"]
mod server;
#[path = "../common/sessions.rs"]
mod sessions;
mod shown;
mod size;
mod tree;
mod values;

use serde_json::{Value, json};

use run::Run;

/// A text answer.
fn answer(id: &str, parent: &str, text: &str) -> String {
    sessions::assistant(id, parent, json!([sessions::tx(text)]))
}

/// An answer that reads a file.
fn read(id: &str, parent: &str, call: &str, path: &str) -> String {
    sessions::assistant(id, parent, json!([sessions::call(call, "read", json!({ "path": path }))]))
}

/// Questions and answers of `chars` each from `first` on; returns the last id.
fn turns(lines: &mut Vec<String>, parent: Option<&str>, first: usize, count: usize, chars: usize) -> String {
    let mut parent = parent.map(str::to_owned);
    for turn in first..first + count {
        let (question, reply) = (format!("u{turn}"), format!("a{turn}"));
        lines.push(sessions::user(&question, parent.as_deref(), sessions::words_from(turn * 1000, chars)));
        lines.push(answer(&reply, &question, &sessions::words_from(turn * 1000 + 500, chars)));
        parent = Some(reply);
    }
    parent.unwrap()
}

/// Compacts with a small budget, whether or not the context shrinks: gives the receipt and the new entry, and checks that
/// nothing else changed and the result is sound.
fn compacted(run: &Run, name: &str, more: &[&str]) -> (Value, Value) {
    let before = run.bytes(name);
    let args: Vec<&str> = [&["compact", name, "--allow-growth"], more].concat();
    let receipt = run.json(&args);
    assert_eq!(receipt["action"], "compacted", "{receipt}");
    let after = run.bytes(name);
    assert!(after.starts_with(&before), "bytes that were there changed");
    let added = std::str::from_utf8(&after[before.len()..]).unwrap();
    assert_eq!(added.trim_matches('\n').lines().count(), 1);
    let entry = run.last(name);
    assert_eq!(entry["id"], receipt["entry_id"]);
    // No result stands in the context without its call.
    let context = run.json(&["inspect", name, "--show", "context,path"]);
    assert_eq!(context["context"][0]["id"], entry["id"]);
    let kept: Vec<&str> = run::ids(&context["context"]);
    let mut calls = Vec::new();
    for line in String::from_utf8_lossy(&after).lines() {
        let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
        if !record["id"].as_str().is_some_and(|id| kept.contains(&id)) {
            continue;
        }
        for block in record["message"]["content"].as_array().into_iter().flatten() {
            calls.extend(block["id"].as_str().filter(|_| block["type"] == "toolCall").map(str::to_owned));
        }
        if let Some(call) = record["message"]["toolCallId"].as_str() {
            assert!(calls.iter().any(|c| c == call), "the result of {call} stands alone");
        }
    }
    (receipt, entry)
}

/// A small budget: the newest group stays.
const LITTLE: &[&str] = &["--keep-recent-tokens", "300"];
const LEAST: &[&str] = &["--keep-recent-tokens", "1"];

/// A writer that must refuse, also where it would write elsewhere or only plan: it fails, says why, and the folder is what it
/// was.
fn refused(run: &Run, name: &str, code: &str) {
    let (before, names) = (run.bytes(name), run.names());
    for more in [&[][..], &["-n"], &["-o", "copy.jsonl"]] {
        let args = [&["compact", name, "--keep-recent-tokens", "1", "--allow-growth", "--json"], more].concat();
        let out = run.go(&args);
        assert_eq!(out.code, 1, "{args:?}\n{out}");
        assert_eq!(out.json()["error"]["code"], code, "{out}");
        assert!(out.stderr().contains("hint: "), "{out}");
        assert!(run.bytes(name) == before);
        assert_eq!(run.names(), names);
    }
}
