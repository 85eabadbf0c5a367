//! Small sessions for reported faults of compaction: where it cuts, what it carries over.
//!
//! Cases whose session depends on something that may not be committed (secrets), or that only grow over several runs,
//! are built by their tests.

use serde_json::{Value, json};

use super::File;
use crate::sessions::{
    ROOT, assistant, assistant_with, call, compaction, entry, file, header, label, tool_result, tx, user, words, words_from,
};

pub(super) fn case(name: &str, lines: Vec<String>, about: &str) -> File {
    let mut all = vec![header()];
    all.extend(lines);
    File::new(&format!("cases/{name}.jsonl"), file(&all), about)
}

pub(super) fn a(id: &str, parent: &str, text: &str) -> String {
    assistant(id, parent, json!([tx(text)]))
}

pub(super) fn read(call_id: &str, path: &str) -> Value {
    call(call_id, "read", json!({ "path": path }))
}

/// Adds `rounds` of one call and its result (`chars` long) below `parent`; returns the last id.
pub(super) fn rounds(lines: &mut Vec<String>, parent: &str, prefix: &str, rounds: usize, chars: usize) -> String {
    let mut parent = parent.to_owned();
    for round in 1..=rounds {
        let (answer, result, id) = (format!("{prefix}a{round}"), format!("{prefix}t{round}"), format!("{prefix}c{round}"));
        lines.push(assistant(&answer, parent.as_str(), json!([read(&id, &format!("src/part{round}.rs"))])));
        lines.push(tool_result(&result, answer.as_str(), &id, "read", &words_from(round * 1000, chars)));
        parent = result;
    }
    parent
}

/// Adds `turns` of a question and an answer of `chars` each below `parent`; returns the last id.
pub(super) fn turns(lines: &mut Vec<String>, parent: Option<&str>, first: usize, turns: usize, chars: usize) -> String {
    let mut parent = parent.map(str::to_owned);
    for turn in first..first + turns {
        let (question, answer) = (format!("u{turn}"), format!("a{turn}"));
        lines.push(user(&question, parent.as_deref(), format!("request {turn}: {}", words_from(turn * 1000, chars))));
        lines.push(a(&answer, &question, &format!("answer {turn}: {}", words_from(turn * 1000 + 500, chars))));
        parent = Some(answer);
    }
    parent.unwrap_or_default()
}

pub(crate) fn files() -> Vec<File> {
    let mut all = cuts();
    all.extend(lists());
    all.extend(previous());
    all
}

fn cuts() -> Vec<File> {
    let marked = format!("MARK-U2 {}", words(4000));
    let c01 = vec![
        user("u1", ROOT, "first request"),
        a("a1", "u1", "first answer"),
        user("u2", "a1", marked),
        a("a2", "u2", "second answer"),
        compaction("k1", "a2", "S1", "u2"),
        user("u3", "k1", "third request"),
        a("a3", "u3", "third answer"),
        user("u4", "a3", "fourth request"),
        a("a4", "u4", "fourth answer"),
    ];
    let c02 = vec![
        user("u1", ROOT, "read both files"),
        assistant("a2", "u1", json!([read("c1", "src/a.rs"), read("c2", "src/b.rs")])),
        compaction("k0", "a2", "S0", "a2"),
        tool_result("t1", "k0", "c1", "read", &words_from(1, 2000)),
        tool_result("t2", "t1", "c2", "read", &words_from(1000, 2000)),
        a("a3", "t2", "both are read"),
        user("u4", "a3", "go on"),
        a("a4", "u4", "going on"),
    ];
    let open = vec![user("u1", ROOT, "read it"), assistant("a2", "u1", json!([read("c1", "src/a.rs")]))];
    let mut middle = open.clone();
    middle.extend([user("u3", "a2", "well?"), a("a3", "u3", "no output came")]);

    let mut c04 = vec![
        user("u1", ROOT, words(2000)),
        assistant_with("a2", "u1", json!([read("c1", "src/a.rs")]), json!({"stopReason": "error", "errorMessage": "overloaded"})),
        tool_result("t3", "a2", "c1", "read", &words_from(2000, 400)),
    ];
    let mut parent = "t3".to_owned();
    for attempt in 1..=5 {
        let id = format!("e{attempt}");
        let failed = json!({"stopReason": "error", "errorMessage": "529 overloaded"});
        c04.push(assistant_with(&id, parent.as_str(), json!([]), failed));
        parent = id;
    }
    c04.extend([a("a4", &parent, "read at last"), user("u5", "a4", "go on"), a("a5", "u5", "going on")]);

    let mut c07 = vec![user("u1", ROOT, "GOAL-XYZ: port every module to the new store")];
    rounds(&mut c07, "u1", "", 60, 2000);
    vec![
        case("C01-kept-before-the-compaction", c01, "the first compaction keeps from `u2`, which a second must not lose"),
        case("C02-results-after-a-compaction", c02, "two results stand behind a compaction that keeps their calls"),
        case("C03-open-call-at-the-end", open, "the file ends in a call without a result"),
        case("C03-open-call-in-the-middle", middle, "the same, and the user goes on"),
        case("C04-failed-turn-with-a-call", c04, "an `error` turn with a result, then five empty error turns"),
        case("C07-endless-turn", c07, "one request (GOAL-XYZ), then 60 calls with results of 2,000 characters"),
    ]
}

fn lists() -> Vec<File> {
    let mut c08 = vec![
        user("u1", ROOT, "look around"),
        a("a1", "u1", "I looked around"),
        compaction("k1", "a1", "## Goal\nLook around.\n\n<read-files>\nsrc/old.rs\n</read-files>", "k1"),
        user("u2", "k1", "now change all parts"),
    ];
    rounds(&mut c08, "u2", "p", 12, 2000);

    let reads = |paths: &[&str]| -> (Vec<String>, String) {
        let blocks: Vec<Value> = paths.iter().enumerate().map(|(index, path)| read(&format!("c{index}"), path)).collect();
        let mut lines = vec![user("u1", ROOT, "read these"), assistant("a1", "u1", Value::Array(blocks))];
        let mut parent = "a1".to_owned();
        for index in 0..paths.len() {
            let id = format!("t{index}");
            lines.push(tool_result(&id, parent.as_str(), &format!("c{index}"), "read", &words_from(index * 1000 + 1, 1500)));
            parent = id;
        }
        (lines, parent)
    };
    let (mut c10, last) =
        reads(&["src/a.ts:50-200", "src/a.ts:raw", "src/a.ts", "artifact://3", "https://tides.example.org/table", "skill://deploy"]);
    c10.extend([
        assistant("a2", last.as_str(), json!([call("e1", "edit", json!({"path": "src/a.ts", "oldText": "x", "newText": "y"}))])),
        tool_result("t9", "a2", "e1", "edit", "Updated src/a.ts"),
    ]);
    turns(&mut c10, Some("t9"), 5, 3, 400);
    let (mut c11, last) = reads(&[r"C:\w\a.rs", r"C:\w\a.rs:10-20", "C:10", r"C:\w\sub\b.rs"]);
    turns(&mut c11, Some(&last), 5, 3, 400);

    let mut c14 = Vec::new();
    turns(&mut c14, None, 1, 8, 900);

    let mut c15 = vec![user("u1", ROOT, words(1500)), a("a1", "u1", "common answer")];
    c15.extend([
        user("d1", "a1", "DEADBRANCH: try the other way"),
        assistant("d2", "d1", json!([tx("DEADBRANCH tried"), read("dc", "src/DEADBRANCH.rs")])),
        tool_result("d3", "d2", "dc", "read", "DEADBRANCH text"),
    ]);
    turns(&mut c15, Some("a1"), 2, 5, 600);
    vec![
        case("C08-file-list-once", c08, "a previous summary with a file list, then a split turn"),
        case("C10-selectors", c10, "one file read under three spellings, three reads that are no files, one edit"),
        case("C11-windows-paths", c11, "drive letters, a selector behind a drive letter, `C:10`"),
        case("C14-twice", c14, "eight turns: compacting a second time must change nothing"),
        case("C15-dead-branch", c15, "an abandoned branch full of DEADBRANCH"),
    ]
}

fn previous() -> Vec<File> {
    let used = json!({"usage": {"input": 1000, "output": 500, "cacheRead": 178_500, "cacheWrite": 0, "totalTokens": 180_000}});
    let c16 = vec![
        user("u1", ROOT, "a long story"),
        assistant_with("a", "u1", json!([tx("the end of it")]), used),
        compaction("k", "a", "S1", "a"),
        user("u2", "k", "and now?"),
        a("a2", "u2", "now something short"),
    ];
    let mut c17 = Vec::new();
    turns(&mut c17, None, 1, 2, 300);
    c17.push(compaction("k1", "a2", "S1: only the first two turns", "a2"));
    turns(&mut c17, Some("k1"), 3, 2, 300);
    c17.push(compaction("k2", "a4", "S2: all four turns", "a4"));
    turns(&mut c17, Some("k2"), 5, 4, 600);

    let mut c36 = vec![
        entry("model_change", "m1", ROOT, json!({"model": "anthropic/claude-sonnet-4-5", "role": "default"})),
        entry("thinking_level_change", "m2", "m1", json!({"thinkingLevel": "high"})),
        user("u1", "m2", words(1500)),
        a("a1", "u1", "noted"),
        label("l1", "a1", "u1"),
        entry("model_change", "m3", "l1", json!({"model": "openai/gpt-5.1", "role": "default"})),
        entry("thinking_level_change", "m4", "m3", json!({"thinkingLevel": "low"})),
    ];
    turns(&mut c36, Some("m4"), 2, 6, 600);
    vec![
        case("C16-stale-usage", c16, "the kept answer still reports 180,000 tokens; the context is tiny"),
        case("C17-latest-of-two", c17, "two compactions on the path: only S2 is the previous summary"),
        case("C36-settings-before-the-cut", c36, "model, thinking level and a label are set before the cut"),
    ]
}
