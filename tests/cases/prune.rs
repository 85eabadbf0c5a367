//! Pruning: what gives way, what stays, and what the file looks like afterwards.

use std::fs;

use serde_json::{Value, json};

use crate::answer;
use crate::run::{Run, ids};
use crate::sessions as s;

/// Nothing is protected by its age, and any saving is enough.
pub(crate) const ALL: &[&str] = &["--protect-tokens", "0", "--min-savings", "0", "--tokenizer", "heuristic"];
pub(crate) const CHARS: &[&str] = &["--tokenizer", "heuristic"];

/// The time of the runs, Unix ms.
const NOW_MS: u64 = 1_769_860_800_000;

/// A session in the making: calls `c1` … in answers `a1` … with results `t1` …, questions `u1` ….
pub(crate) struct Talk {
    pub(crate) lines: Vec<String>,
    parent: Option<String>,
    pub(crate) calls: usize,
    questions: usize,
}

impl Talk {
    pub(crate) fn new() -> Talk {
        let mut talk = Talk { lines: vec![s::header()], parent: None, calls: 0, questions: 0 };
        talk.ask();
        talk
    }

    pub(crate) fn put(&mut self, id: &str, line: impl FnOnce(Option<&str>) -> String) {
        self.lines.push(line(self.parent.as_deref()));
        self.parent = Some(id.to_owned());
    }

    pub(crate) fn ask(&mut self) {
        self.questions += 1;
        let id = format!("u{}", self.questions);
        self.put(&id, |parent| s::user(&id, parent, "a request"));
    }

    /// A call and its result of `chars` characters; gives the result's id.
    pub(crate) fn call(&mut self, tool: &str, args: Value, chars: usize) -> String {
        self.call_with(tool, args, chars, json!({}))
    }

    pub(crate) fn call_with(&mut self, tool: &str, args: Value, chars: usize, extra: Value) -> String {
        self.calls += 1;
        let (call, reply, id) = (format!("c{}", self.calls), format!("a{}", self.calls), format!("t{}", self.calls));
        let text = s::words_from(self.calls * 100_000, chars);
        self.put(&reply, |parent| s::assistant(&reply, parent, json!([s::call(&call, tool, args)])));
        self.put(&id, |parent| s::tool_result_with(&id, parent, &call, tool, json!([s::tx(&text)]), extra));
        id
    }

    pub(crate) fn read(&mut self, path: &str, chars: usize) -> String {
        self.call("read", json!({ "path": path }), chars)
    }

    /// A session that ends in an answer.
    pub(crate) fn run(mut self) -> Run {
        self.put("end", |parent| answer("end", parent.unwrap(), "done"));
        Run::of(s::file(&self.lines))
    }
}

/// `prune` of the session with more arguments.
pub(crate) fn prune(run: &Run, more: &[&[&str]]) -> Value {
    run.json(&[&["prune", "s.jsonl"], more.concat().as_slice()].concat())
}

/// The ids that a plan lists, each with its reason.
fn planned(receipt: &Value) -> Vec<(&str, &str)> {
    let results = receipt["prune"]["results"].as_array().unwrap();
    results.iter().map(|r| (r["id"].as_str().unwrap(), r["reason"].as_str().unwrap())).collect()
}

/// Compares two files of a session: gives the ids of the results that were pruned and the inserted reference, and fails when
/// anything else is different.
pub(crate) fn differences(before: &[u8], after: &[u8]) -> (Vec<String>, Value) {
    let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, mut after) = (lines(before), lines(after));
    assert_eq!(after.len(), before.len() + 1, "one line is put in");
    let reference: Value = serde_json::from_str(&after.remove(before.len() - 1)).unwrap();
    assert_eq!((&reference["type"], &reference["customType"]), (&json!("custom"), &json!("epitome.archive")));
    let mut touched = Vec::new();
    for (at, (old, new)) in before.iter().zip(&after).enumerate() {
        if old == new {
            continue;
        }
        let (old_text, new_text) = (old, new);
        let (mut old, mut new): (Value, Value) = (serde_json::from_str(old).unwrap(), serde_json::from_str(new).unwrap());
        if at + 1 == before.len() {
            assert_eq!((&new["parentId"], &reference["parentId"]), (&reference["id"], &old["parentId"]));
            new["parentId"] = old["parentId"].clone();
            // The other members keep their places and their spelling.
            let parent = |line: &str, id: &Value| line.replacen(&format!("\"parentId\":{id}"), "", 1);
            if old == new {
                assert_eq!(parent(old_text, &old["parentId"]), parent(new_text, &reference["id"]));
                continue;
            }
        }
        let id = old["id"].as_str().unwrap().to_owned();
        assert_eq!(old["message"]["role"], "toolResult", "{id}");
        assert!(old["message"]["prunedAt"].is_null(), "{id} was pruned before");
        assert_eq!(new["message"]["prunedAt"], NOW_MS, "{id}");
        let blocks = new["message"]["content"].as_array().unwrap();
        let notice = blocks.iter().find(|block| block["type"] == "text").unwrap()["text"].as_str().unwrap().to_owned();
        assert!(notice.starts_with('[') && notice.ends_with(']') && notice.len() < 60, "{notice}");
        // Images stay where there is text beside them.
        let kept: Vec<&Value> = old["message"]["content"].as_array().into_iter().flatten().filter(|b| b["type"] == "image").collect();
        let images: Vec<&Value> = blocks.iter().filter(|block| block["type"] == "image").collect();
        assert_eq!((images.len() + 1, &images), (blocks.len(), &kept), "{id}");
        for record in [&mut old, &mut new] {
            let message = record["message"].as_object_mut().unwrap();
            message.remove("content");
            message.remove("prunedAt");
        }
        assert_eq!(old, new, "{id}");
        touched.push(id);
    }
    (touched, reference)
}

/// Prunes and checks all that holds of every pruning; gives the receipt.
pub(crate) fn pruned(run: &Run, more: &[&[&str]]) -> Value {
    let before = run.bytes("s.jsonl");
    let view = || {
        let found = run.json(&["inspect", "s.jsonl", "--show", "overview,context", "--tokenizer", "heuristic"]);
        let context: Vec<(Value, Value)> =
            found["context"].as_array().unwrap().iter().map(|item| (item["id"].clone(), item["role"].clone())).collect();
        (found["leaf"].clone(), context)
    };
    let shown = view();
    let receipt = prune(run, more);
    assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("pruned"), &Value::Null), "{receipt}");
    let after = run.bytes("s.jsonl");
    let (touched, reference) = differences(&before, &after);
    let listed: Vec<&str> = ids(&receipt["prune"]["results"]);
    assert_eq!(touched, listed, "the receipt tells what was changed");
    assert_eq!(receipt["pruned_results"], touched.len());
    assert_eq!((receipt["bytes_before"].as_u64(), receipt["bytes_after"].as_u64()), (Some(before.len() as u64), Some(after.len() as u64)));
    assert_eq!(receipt["archive_revision"], reference["data"]["revision"]);
    assert_eq!(reference["data"]["bytes"], before.len());
    assert_eq!(view(), shown, "the leaf or the context is another one");
    let problems = run.json(&["inspect", "--check", "s.jsonl"])["problems"].clone();
    assert_eq!(problems, json!([]));
    receipt
}

/// Fails unless pruning leaves the file alone.
fn left_alone(run: &Run, more: &[&[&str]]) -> Value {
    let (before, names) = (run.bytes("s.jsonl"), run.names());
    let time = fs::metadata(run.path("s.jsonl")).unwrap().modified().unwrap();
    let receipt = prune(run, more);
    assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("nothing"), &json!("nothing_to_prune")), "{receipt}");
    assert_eq!((&receipt["pruned_results"], &receipt["archive_revision"]), (&json!(0), &Value::Null));
    assert!(run.bytes("s.jsonl") == before);
    assert_eq!(run.names(), names);
    assert_eq!(fs::metadata(run.path("s.jsonl")).unwrap().modified().unwrap(), time);
    receipt
}

#[test]
fn p01_no_notice_that_is_longer_than_the_result() {
    let mut talk = Talk::new();
    for _ in 0..100 {
        talk.call("bash", json!({"command": "true"}), 2);
    }
    talk.call_with("bash", json!({"command": "sleep"}), 2, json!({"useless": true}));
    let run = talk.run();
    left_alone(&run, &[ALL]);
    let receipt = left_alone(&run, &[ALL, &["--min-result-tokens", "0"]]);
    assert_eq!(planned(&receipt), []);
}

#[test]
fn p02_skills_stay() {
    let mut talk = Talk::new();
    talk.read("skill://deploy", 40_000);
    talk.call("skill", json!({"name": "deploy"}), 40_000);
    for _ in 0..100 {
        talk.call("bash", json!({"command": "ls"}), 4_000);
    }
    let run = talk.run();
    let receipt = pruned(&run, &[CHARS]);
    assert!(planned(&receipt).iter().all(|(id, reason)| !["t1", "t2"].contains(id) && *reason == "age"), "{receipt}");
    // 40 results of 1,000 tokens are the newest 40,000.
    assert_eq!(receipt["pruned_results"], 60);
}

#[test]
fn p03_what_is_protected_stays() {
    let session = || {
        let mut talk = Talk::new();
        talk.read("/w/docs/PLAN.md", 20_000);
        talk.call("todo", json!({"op": "list"}), 20_000);
        talk.read("/w/src/main.rs", 20_000);
        talk.read("local://the-plan.md", 20_000);
        talk.put("m1", |parent| {
            s::entry("mode_change", "m1", parent, json!({"mode": "plan", "data": {"planFilePath": "local://the-plan.md"}}))
        });
        talk.call("bash", json!({"command": "ls"}), 400);
        talk.run()
    };
    let gone = |more: &[&str]| {
        let receipt = pruned(&session(), &[ALL, more]);
        planned(&receipt).into_iter().map(|(id, _)| id.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(gone(&[]), ["t1", "t2", "t3", "t5"], "the plan that is worked on stays by itself");
    assert_eq!(gone(&["--protect", "path:**/PLAN.md"]), ["t2", "t3", "t5"]);
    assert_eq!(gone(&["--protect", "tool:todo", "--protect", "path:/w/src/*"]), ["t1", "t5"]);
    for bad in ["PLAN.md", "tool:", "path:[", "file:x"] {
        assert_eq!(session().go(&["prune", "s.jsonl", "--protect", bad]).code, 2, "{bad}");
    }
}

#[test]
fn p10_what_is_pruned_is_passed_over_and_a_second_run_changes_nothing() {
    let mut talk = Talk::new();
    for n in 0..6 {
        let extra = if n == 4 { json!({"prunedAt": 5}) } else { json!({}) };
        talk.call_with("bash", json!({"command": "ls"}), 8_000, extra);
    }
    let run = talk.run();
    let receipt = pruned(&run, &[ALL]);
    assert_eq!(ids(&receipt["prune"]["results"]), ["t1", "t2", "t3", "t4", "t6"]);
    left_alone(&run, &[ALL]);
    left_alone(&run, &[ALL, &["--min-result-tokens", "0"]]);
}

#[test]
fn p11_the_file_gets_smaller_and_the_receipt_says_how_much() {
    let mut talk = Talk::new();
    for n in 0..10 {
        talk.read(&format!("f{n}.txt"), 40_000);
    }
    let run = talk.run();
    let before = run.bytes("s.jsonl").len() as u64;
    let receipt = pruned(&run, &[CHARS]);
    // The last four are 40,000 tokens; the fifth from the end is older than those.
    assert_eq!(ids(&receipt["prune"]["results"]), ["t1", "t2", "t3", "t4", "t5", "t6"]);
    let after = run.bytes("s.jsonl").len() as u64;
    assert!(after < before / 2, "{before} → {after}");
    assert_eq!(receipt["prune"]["saved_bytes"], before - after);
    let saved = 6 * (10_000 - "[Output truncated - 10000 tokens]".len().div_ceil(4));
    assert_eq!((&receipt["prune"]["saved_tokens"], &receipt["prune"]["would_prune"]), (&json!(saved), &json!(true)));
    assert!(run.text("s.jsonl").contains("\"text\":\"[Output truncated - 10000 tokens]\""));
    // A copy says the same of itself.
    let copy = run.json(&["prune", "s.jsonl", "-o", "copy.jsonl"]);
    assert_eq!(copy["bytes_after"], run.bytes("copy.jsonl").len());
}

#[test]
fn p13_what_a_compaction_took_is_not_touched() {
    let mut talk = Talk::new();
    for n in 0..4 {
        talk.read(&format!("f{n}.txt"), 8_000);
    }
    talk.put("k1", |parent| s::compaction("k1", parent, "a summary", "a3"));
    talk.read("f4.txt", 8_000);
    let run = talk.run();
    assert_eq!(ids(&pruned(&run, &[ALL])["prune"]["results"]), ["t3", "t4", "t5"]);
    let mut talk = Talk::new();
    talk.read("f0.txt", 8_000);
    talk.put("r1", |parent| s::reset("r1", parent));
    talk.ask();
    talk.read("f1.txt", 8_000);
    assert_eq!(ids(&pruned(&talk.run(), &[ALL])["prune"]["results"]), ["t2"]);
}

#[test]
fn p14_other_branches_are_not_touched() {
    let text = s::words(8_000);
    let side = |lines: &mut Vec<String>, n: usize| {
        let (call, reply, result) = (format!("c{n}"), format!("a{n}"), format!("t{n}"));
        lines.push(s::assistant(&reply, "u1", json!([s::call(&call, "bash", json!({"command": "ls"}))])));
        lines.push(s::tool_result(&result, &*reply, &call, "bash", &text));
    };
    let mut lines = vec![s::header(), s::user("u1", s::ROOT, "go")];
    side(&mut lines, 1);
    side(&mut lines, 2);
    lines.push(answer("end", "t2", "done"));
    let run = Run::of(s::file(&lines));
    assert_eq!(ids(&pruned(&run, &[ALL])["prune"]["results"]), ["t2"]);
    assert_eq!(ids(&pruned(&run, &[ALL, &["--leaf", "t1"]])["prune"]["results"]), ["t1"]);
}

#[test]
fn p18_what_was_read_back_from_an_artifact_stays() {
    let mut talk = Talk::new();
    talk.read("artifact://7", 8_000);
    talk.read("artifact://7", 8_000);
    talk.read("f.txt", 8_000);
    assert_eq!(planned(&pruned(&talk.run(), &[ALL])), [("t3", "age")]);
}

#[test]
fn p20_a_line_that_cannot_be_edited_is_not_counted() {
    let mut talk = Talk::new();
    talk.read("f.bin", 8_000);
    talk.read("f.txt", 8_000);
    talk.put("end", |parent| answer("end", parent.unwrap(), "done"));
    let mut bytes = s::file(&talk.lines);
    let at = bytes.windows(5).position(|w| w == b"alpha").unwrap();
    bytes[at] = 0x80;
    let run = Run::of(&bytes);
    let receipt = prune(&run, &[ALL]);
    assert_eq!(receipt["action"], "pruned", "{receipt}");
    let after = run.bytes("s.jsonl");
    let lines = |bytes: &[u8]| bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (old, new) = (lines(&bytes), lines(&after));
    assert_eq!(old[..4], new[..4], "a damaged line stays");
    assert_eq!(receipt["pruned_results"], 1, "{receipt}");
    assert_eq!(ids(&receipt["prune"]["results"]), ["t2"]);
    assert!(receipt["warnings"][0].as_str().unwrap().contains("t1"), "{receipt}");
}

#[test]
fn p22_the_latest_turn_stays_when_it_is_asked_for() {
    let session = || {
        let mut talk = Talk::new();
        talk.call("bash", json!({"command": "ls"}), 60_000);
        talk.ask();
        for _ in 0..6 {
            talk.read("big.txt", 60_000);
        }
        talk.run()
    };
    assert_eq!(
        planned(&pruned(&session(), &[CHARS, &["--min-savings", "0", "--protect-last-turn", "--protect-tokens", "0"]])),
        [("t1", "age")]
    );
    let receipt = pruned(&session(), &[CHARS]);
    let all: Vec<&str> = ids(&receipt["prune"]["results"]);
    assert_eq!(all, ["t1", "t2", "t3", "t4", "t5", "t6"]);
}

/// A read, and a later one: is the first superseded?
#[test]
fn a_read_is_superseded_by_a_later_one_of_no_or_the_same_range() {
    let path = |p: &str| json!({ "path": p });
    let none = || json!({});
    let rows = [
        (path("a.rs"), path("a.rs"), none(), true),
        (path("a.rs"), path("b.rs"), none(), false),
        (path("a.rs:5-16"), path("a.rs"), none(), true),
        (path("a.rs:5-16"), path("a.rs:5-16"), none(), true),
        (path("a.rs:5-16,960-973"), path("a.rs:5-16,960-973"), none(), true),
        (path("a.rs:5-16"), path("a.rs:5-17"), none(), false),
        (path("a.rs"), path("a.rs:50"), none(), false),
        (path("a.rs:raw"), path("a.rs:raw"), none(), true),
        (path("a.rs:1-50:raw"), path("a.rs:1-50"), none(), false),
        (path("a.rs:conflicts"), path("a.rs"), none(), true),
        (json!({"path": "a.rs", "offset": 5, "limit": 10}), json!({"path": "a.rs", "offset": 5, "limit": 10}), none(), true),
        (json!({"path": "a.rs", "offset": 5, "limit": 10}), json!({"path": "a.rs", "offset": 5}), none(), false),
        (json!({"path": "a.rs", "offset": 5}), json!({"path": "a.rs", "offset": 5, "limit": null}), none(), true),
        (json!({"path": "a.rs", "offset": 5, "limit": 10}), path("a.rs"), none(), true),
        (path("a.rs"), json!({"path": "a.rs", "limit": 10}), none(), false),
        (json!({"file_path": "a.rs"}), path("a.rs"), none(), true),
        (path("a.rs"), path("a.rs"), json!({"isError": true}), false),
        (path("https://x.org/a"), path("https://x.org/a"), none(), false),
        (path("C:10"), path("C:10"), none(), true),
    ];
    for (first, second, extra, want) in rows {
        let mut talk = Talk::new();
        talk.call("read", first.clone(), 400);
        talk.call_with("read", second.clone(), 400, extra);
        let run = talk.run();
        let about = format!("{first} then {second}");
        let args: &[&[&str]] = &[CHARS, &["--min-savings", "0"]];
        if want {
            assert_eq!(planned(&pruned(&run, args)), [("t1", "superseded")], "{about}");
            assert!(run.text("s.jsonl").contains("[Superseded by a newer read of this file]"));
            left_alone(&run, args);
        } else {
            assert_eq!(planned(&left_alone(&run, args)), [], "{about}");
        }
    }
    // A later read that never came back supersedes nothing, nor does another tool that takes a path.
    let mut talk = Talk::new();
    talk.read("a.rs", 400);
    talk.call("edit", json!({"path": "a.rs"}), 400);
    talk.put("a9", |parent| s::assistant("a9", parent, json!([s::call("c9", "read", path("a.rs"))])));
    let run = Run::of(s::file(&talk.lines));
    left_alone(&run, &[CHARS, &["--min-savings", "0"]]);
}

#[test]
fn superseded_and_useless_results_can_be_kept() {
    let session = || {
        let mut talk = Talk::new();
        talk.read("a.rs", 40);
        talk.call_with("wait", json!({}), 400, json!({"useless": true}));
        talk.call_with("wait", json!({}), 400, json!({"useless": true, "isError": true}));
        talk.call_with("wait", json!({}), 8, json!({"useless": true}));
        talk.read("a.rs", 400);
        talk.run()
    };
    let args: &[&str] = &["--min-savings", "0", "--tokenizer", "heuristic"];
    let run = session();
    let receipt = pruned(&run, &[args]);
    assert_eq!(planned(&receipt), [("t1", "superseded"), ("t2", "useless")], "at any age; an error is not useless");
    assert_eq!(receipt["prune"]["results"][0]["saved"], 0, "listed although it saves nothing");
    assert!(run.text("s.jsonl").contains("[Uneventful result elided]"));
    assert_eq!(planned(&pruned(&session(), &[args, &["--no-superseded"]])), [("t2", "useless")]);
    assert_eq!(planned(&pruned(&session(), &[args, &["--no-useless"]])), [("t1", "superseded")]);
    left_alone(&session(), &[args, &["--no-useless", "--no-superseded"]]);
}

#[test]
fn a_saving_below_the_least_leaves_the_file_alone() {
    let mut talk = Talk::new();
    talk.read("a.rs", 8_000);
    talk.read("b.rs", 8_000);
    talk.read("a.rs", 8_000);
    let run = talk.run();
    let receipt = left_alone(&run, &[CHARS, &["--protect-tokens", "0"]]);
    assert_eq!((&receipt["prune"]["would_prune"], &receipt["prune"]["results"].as_array().unwrap().len()), (&json!(false), &3));
    let saved = receipt["prune"]["saved_tokens"].as_u64().unwrap();
    let least = |n: u64| n.to_string();
    left_alone(&run, &[CHARS, &["--protect-tokens", "0", "--min-savings", &least(saved + 1)]]);
    assert_eq!(run.go(&["prune", "s.jsonl", "--exit-code"]).code, 3);
    let shown = run.json(&["inspect", "s.jsonl", "--show", "prune", "--tokenizer", "heuristic"]);
    assert_eq!((&shown["prune"]["would_prune"], &shown["prune"]["saved_bytes"]), (&json!(false), &Value::Null));
    pruned(&run, &[CHARS, &["--protect-tokens", "0", "--min-savings", &least(saved)]]);
}

#[test]
fn the_stale_pass_spares_what_a_provider_has_in_its_cache() {
    // 400 tokens of read, `after` tokens behind the first, and a last message `minutes` ago.
    let session = |after: usize, minutes: u64| {
        let mut talk = Talk::new();
        talk.read("a.rs", 1_600);
        talk.call("bash", json!({"command": "ls"}), after * 4);
        talk.read("a.rs", 40);
        let stamp = json!({"timestamp": NOW_MS - minutes * 60_000});
        talk.put("end", |parent| s::assistant_with("end", parent, json!([s::tx("done")]), stamp));
        // What is no message does not count as work.
        talk.put("m1", |parent| s::entry_at("custom", "m1", parent, "2026-01-31T11:59:59Z", json!({"customType": "x", "data": {}})));
        Run::of(s::file(&talk.lines))
    };
    let stale: &[&[&str]] = &[CHARS, &["--stale"]];
    assert_eq!(planned(&pruned(&session(7_900, 1), stale)), [("t1", "superseded")], "little stands after it; no least saving");
    left_alone(&session(8_100, 1), stale);
    left_alone(&session(8_100, 29), stale);
    assert_eq!(planned(&pruned(&session(8_100, 30), stale)), [("t1", "superseded")], "nobody worked on it");
    left_alone(&session(100_000, 31), &[CHARS, &["--stale", "--stale-idle-minutes", "32"]]);
    pruned(&session(8_100, 1), &[CHARS, &["--stale", "--stale-suffix-tokens", "9k"]]);
    // Age is not looked at.
    let receipt = pruned(&session(100_000, 31), &[CHARS, &["--stale", "--protect-tokens", "0"]]);
    assert_eq!(planned(&receipt), [("t1", "superseded")]);
}

#[test]
fn p06_an_image_beside_text_stays_and_is_reported_apart() {
    let mut talk = Talk::new();
    talk.put("a1", |parent| s::assistant("a1", parent, json!([s::call("c1", "browser", json!({}))])));
    let content = json!([s::image(4_000), s::tx(&s::words(8_000)), s::tx("more"), s::image(4_004)]);
    talk.put("t1", |parent| s::tool_result_with("t1", parent, "c1", "browser", content, json!({"details": {"kept": [1.0, 2]}})));
    let run = talk.run();
    let receipt = pruned(&run, &[ALL]);
    // Counted as oh-my-pi counts: images and all.
    let tokens = 2_000 + 1 + 2 * 1_200;
    let saved = tokens - "[Output truncated - 4401 tokens]".len() as u64 / 4;
    assert_eq!((receipt["prune"]["results"][0]["tokens"].as_u64(), receipt["prune"]["saved_tokens"].as_u64()), (Some(tokens), Some(saved)));
    assert_eq!((&receipt["prune"]["results"][0]["kept_images"], &receipt["prune"]["kept_image_tokens"]), (&json!(2), &json!(2_400)));
    let blocks = run.lines("s.jsonl")[3]["message"]["content"].clone();
    assert_eq!(blocks.as_array().unwrap().iter().map(|b| b["type"].as_str().unwrap()).collect::<Vec<_>>(), ["image", "text", "image"]);
    // A person is told what really goes.
    let mut talk = Talk::new();
    talk.put("a1", |parent| s::assistant("a1", parent, json!([s::call("c1", "browser", json!({}))])));
    let content = json!([s::tx(&s::words(8_000)), s::image(4_000)]);
    talk.put("t1", |parent| s::tool_result_with("t1", parent, "c1", "browser", content, json!({})));
    let told = talk.run().go(&[&["prune", "s.jsonl", "-n"], ALL].concat()).ok().stdout();
    assert!(told.contains("1 result, 1,992 tokens saved"), "{told}");
}

#[test]
fn p05_an_error_keeps_its_ends_and_the_lines_that_tell_it() {
    let log: String =
        (0..5_000).map(|n| if n == 4_500 { "error[E0308]: mismatched types\n".to_owned() } else { format!("line {n}\n") }).collect();
    let session = |extra: Value| {
        let mut talk = Talk::new();
        talk.put("a1", |parent| s::assistant("a1", parent, json!([s::call("c1", "bash", json!({"command": "cargo build"}))])));
        talk.put("t1", |parent| s::tool_result_with("t1", parent, "c1", "bash", json!([s::tx(&log)]), extra));
        talk.calls = 1;
        talk.call("read", json!({"path": "a.rs"}), 8_000);
        talk.run()
    };
    for (extra, keeps) in
        [(json!({"isError": true}), true), (json!({"details": {"exitCode": 101}}), true), (json!({"details": {"exitCode": 0}}), false)]
    {
        let run = session(extra.clone());
        let receipt = prune(&run, &[ALL, &["--keep-errors"]]);
        assert_eq!(planned(&receipt), [("t1", "age"), ("t2", "age")]);
        let text = run.lines("s.jsonl")[3]["message"]["content"][0]["text"].as_str().unwrap().to_owned();
        let tokens = receipt["prune"]["results"][0]["tokens"].as_u64().unwrap();
        assert!(text.starts_with(&format!("[Output truncated - {tokens} tokens]")), "{text}");
        assert_eq!(text.contains("\nerror[E0308]: mismatched types\n"), keeps, "{extra}: {text}");
        assert_eq!(text.contains("\nline 0\n") && text.ends_with("\nline 4999"), keeps, "{text}");
        assert_eq!(receipt["prune"]["results"][0]["saved"].as_u64(), Some(tokens - (text.len() as u64).div_ceil(4)));
        left_alone(&run, &[ALL, &["--keep-errors"]]);
    }
    // Off by default: errors are pruned like others.
    pruned(&session(json!({"isError": true})), &[ALL]);
}

#[test]
fn p12_limits_can_be_shares_of_the_window() {
    let session = || {
        let mut talk = Talk::new();
        for n in 0..10 {
            talk.read(&format!("f{n}.txt"), 40_000);
        }
        talk.run()
    };
    let gone = |more: &[&str]| {
        let receipt = prune(&session(), &[CHARS, &["-n"], more]);
        planned(&receipt).into_iter().map(|(id, _)| id.to_owned()).collect::<Vec<_>>()
    };
    // 20 % of 200,000 is 40,000, the default.
    assert_eq!(gone(&["--protect-tokens", "20%", "--context-window", "200k"]), gone(&[]));
    assert_eq!(gone(&["--protect-tokens", "20%", "--context-window", "400k", "--min-savings", "1%"]), ["t1", "t2"]);
    let receipt = prune(&session(), &[CHARS, &["-n", "--min-savings", "30%", "--context-window", "200k"]]);
    assert_eq!(receipt["prune"]["would_prune"], false, "60,000 of 200,000 would have to go");
    assert_eq!(gone(&["--min-result-tokens", "6%", "--context-window", "200k"]), [""; 0]);
    // inspect understands them too, from the config.
    let run = session();
    let config = run.put("config.toml", "[prune]\nprotect_tokens = \"80%\"\nmin_savings = 0\n");
    let shown = run.go_bare(&[
        "inspect",
        "s.jsonl",
        "--show",
        "prune",
        "--json",
        "--tokenizer",
        "heuristic",
        "--context-window",
        "100k",
        "--config",
        config.to_str().unwrap(),
    ]);
    assert_eq!(planned(&shown.json()), [("t1", "age"), ("t2", "age")]);
    for bad in ["101%", "-1%", "x%"] {
        assert_eq!(session().go(&["prune", "s.jsonl", "--protect-tokens", bad]).code, 2, "{bad}");
    }
}

#[test]
fn what_a_provider_reported_before_is_stale_afterwards() {
    let mut talk = Talk::new();
    talk.read("a.rs", 80_000);
    let usage = json!({"usage": {"input": 30_000, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 30_010}});
    talk.put("end", |parent| s::assistant_with("end", parent, json!([s::tx("done")]), usage.clone()));
    let run = Run::of(s::file(&talk.lines));
    let tokens = || run.json(&["inspect", "s.jsonl", "--tokenizer", "heuristic"])["tokens"].clone();
    assert_eq!(tokens()["reported"], 30_010);
    pruned(&run, &[ALL]);
    assert!(tokens()["reported"].is_null());
    assert!(tokens()["context"].as_u64() < Some(1_000), "{}", tokens());
    // The next answer counts again.
    let mut bytes = run.bytes("s.jsonl");
    bytes.extend(s::file(&[s::assistant_with("next", "end", json!([s::tx("more")]), usage)]));
    run.put("s.jsonl", bytes);
    assert_eq!(tokens()["reported"], 30_010);
}

#[test]
fn r22_other_lines_keep_their_spelling() {
    let mut talk = Talk::new();
    talk.read("a.rs", 8_000);
    talk.put("z", |_| r#"{"type":"future_thing","id":"z","parentId":"t1","n":12345678901234567890,"f":1.0,"s":"\/"}"#.to_owned());
    talk.put("y", |_| r#"{ "s" : "\/" , "type":"future_thing","id":"y","parentId":"z","n":12345678901234567890,"f":1.0}"#.to_owned());
    let run = Run::of(s::file(&talk.lines));
    prune(&run, &[ALL]);
    let text = run.text("s.jsonl");
    assert!(text.contains(&talk.lines[4]));
    let id = run.lines("s.jsonl")[5]["id"].as_str().unwrap().to_owned();
    assert_eq!(text.lines().last().unwrap(), talk.lines[5].replace("\"z\"", &format!("\"{id}\"")));
}
