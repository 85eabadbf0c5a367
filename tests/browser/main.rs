//! The pages in a real browser: what they show, that they load nothing and run nothing of a session's, and that a keyboard,
//! a narrow window, paper and a dark room are enough to read them. Skipped, with a line, where no Chromium is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod chromium;
mod evil;
mod looks;
mod page;
#[path = "../common/run.rs"]
mod run;
#[path = "../common/sessions.rs"]
mod sessions;

use serde_json::json;

use run::Run;
use sessions::ROOT;

/// A session with everything a page can show: a compaction, a branch that was left, labels, thinking, edits, long output,
/// a picture, a failed call, a command, an extension's message.
fn everything() -> Vec<u8> {
    let tx = sessions::tx;
    let long: String = (1..=90).map(|n| format!("line {n} of a long output\n")).collect();
    let edit = json!({"path": "src/a.rs", "oldText": "fn a() {}\nfn b() {}", "newText": "fn a() {}\nfn c() { todo }"});
    let thought = json!({"type": "thinking", "thinking": "It could be **done** by a loop."});
    let markdown = "# Plan\n\nRead [the book](https://example.org/book), then:\n\n1. `one`\n2. two\n\n> quoted\n\n| a | b |\n|-|-|\n| c | d |\n\n```rust\nfn main() {}\n```";
    let picture = sessions::image_block(&sessions::png(320, 120), "image/png");
    sessions::file(&[
        json!({"type": "session", "version": 3, "id": "s1", "timestamp": sessions::STAMP, "cwd": "/w/project", "title": "A session with everything"}).to_string(),
        sessions::user("u1", ROOT, "FIRST: find out why the tests fail"),
        sessions::assistant("a1", "u1", json!([thought, tx(markdown), sessions::call("c1", "read", json!({"path": "src/a.rs", "offset": 10}))])),
        sessions::tool_result("t1", "a1", "c1", "read", &long),
        sessions::assistant("a2", "t1", json!([tx("I change it."), sessions::call("c2", "edit", edit)])),
        sessions::tool_result_with("t2", "a2", "c2", "edit", json!([tx("the old text was not found")]), json!({"isError": true})),
        sessions::label("l1", "t2", "a2"),
        sessions::user("b1", "l1", "BRANCH: try it with a macro instead"),
        sessions::assistant("b2", "b1", json!([tx("A macro does not help: NEEDLE-IN-A-BRANCH.")])),
        sessions::user("b3", "b2", "BRANCH-END: then leave it"),
        sessions::user("u2", "l1", json!([tx("SECOND: look at this picture"), picture])),
        sessions::assistant("a3", "u2", json!([tx("It shows stripes.")])),
        sessions::compaction("k1", "a3", "## Goal\n\nThe tests pass. HIDDEN-IN-THE-SUMMARY", "u2"),
        sessions::bash_execution("x1", "k1", "cargo test", "all passed", false),
        sessions::custom_message("m1", "x1", "notes", "said by an extension"),
        sessions::user("u3", "m1", "THIRD: thank you"),
        sessions::assistant("a4", "u3", json!([tx(&format!("{} END-OF-ALL", sessions::words(3_000)))])),
    ])
}

/// The page of a session, as a file of a folder.
fn exported(run: &Run, more: &[&str]) -> std::path::PathBuf {
    run.go(&[&["export", "s.jsonl", "--format", "html", "--overwrite", "-o", "page.html"], more].concat()).ok();
    run.path("page.html").canonicalize().unwrap()
}

/// The report on a session.
fn report(run: &Run, more: &[&str]) -> std::path::PathBuf {
    run.go(&[&["inspect", "s.jsonl", "--overwrite", "--report", "report.html"], more].concat()).ok();
    run.path("report.html").canonicalize().unwrap()
}
