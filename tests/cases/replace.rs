//! Replacement histories: what stays, in which order, what is archived, and what is refused.

use std::io::Write;

use epitome::store::archive::{self, Reference};
use serde_json::{Value, json};

use crate::answer;
use crate::run::{self, Run, codes};
use crate::sessions as s;

const REPLACE: &[&str] = &["compact", "s.jsonl", "--strategy", "replace"];

fn replace(run: &Run, more: &[&str]) -> Value {
    run.json(&[REPLACE, more].concat())
}

fn replaced(run: &Run, more: &[&str]) -> Value {
    let receipt = replace(run, more);
    assert_eq!((&receipt["action"], &receipt["strategy"]), (&json!("compacted"), &json!("replace")), "{receipt}");
    let checked = run.json(&["inspect", "--check", "s.jsonl"]);
    assert!(codes(&checked).is_empty(), "{checked}");
    assert_eq!(run.last("s.jsonl")["id"], receipt["entry_id"]);
    receipt
}

/// Fails with a code, and leaves the folder as it was.
fn fails(run: &Run, more: &[&str], code: &str) -> Value {
    let (before, names) = (run.bytes("s.jsonl"), run.names());
    for extra in [&[][..], &["-n"], &["-o", "copy.jsonl"]] {
        let out = run.go(&[REPLACE, more, extra, &["--json"]].concat());
        assert_eq!(out.code, 1, "{extra:?} {out}");
        assert_eq!(out.json()["error"]["code"], code, "{out}");
        assert!(out.stderr().contains("hint: "), "{out}");
        assert!(run.bytes("s.jsonl") == before);
        assert_eq!(run.names(), names);
    }
    run.go(&[REPLACE, more, &["--json"]].concat()).json()
}

fn system<'a>(id: &str, parent: impl Into<Option<&'a str>>, text: &str) -> String {
    s::message(id, parent, json!({"role": "system", "content": text, "timestamp": 1}))
}

fn developer<'a>(id: &str, parent: impl Into<Option<&'a str>>, text: &str) -> String {
    s::message(id, parent, json!({"role": "developer", "content": text, "timestamp": 1}))
}

fn old<'a>(id: &str, parent: impl Into<Option<&'a str>>, text: &str) -> String {
    s::user(id, parent, format!("<system-reminder>{text}</system-reminder>"))
}

fn context(run: &Run, name: &str) -> Vec<String> {
    let shown = run.json(&["inspect", name, "--show", "context"]);
    run::ids(&shown["context"]).into_iter().map(str::to_owned).collect()
}

fn text_of(entry: &Value) -> &str {
    let content = entry["message"]["content"].as_array().unwrap();
    assert_eq!((content.len(), &entry["message"]["role"]), (1, &json!("user")));
    content[0]["text"].as_str().unwrap()
}

/// A record without its parent.
fn bare(line: &str) -> String {
    let value: Value = serde_json::from_str(line).unwrap();
    line.replacen(&format!("\"parentId\":{}", value["parentId"]), "\"parentId\":", 1)
}

/// The lines are one chain from a root to the last.
fn is_chain(lines: &[Value]) {
    let mut parent = Value::Null;
    for line in lines {
        assert_eq!(line["parentId"], parent, "{line}");
        parent = line["id"].clone();
    }
}

#[test]
fn instructions_then_reminders_then_the_new_one() {
    let lines = vec![
        s::header(),
        old("r1", s::ROOT, "one"),
        system("sys", "r1", "be brief"),
        s::user("u", "sys", "ask"),
        developer("dev", "u", "policy"),
        answer("a", "dev", &s::words(3_000)),
        old("r2", "a", "one"),
    ];
    let run = Run::of(s::file(&lines));
    let before = run.bytes("s.jsonl");
    let receipt = replaced(&run, &[]);
    let new = receipt["entry_id"].as_str().unwrap();
    assert_eq!(context(&run, "s.jsonl"), ["sys", "dev", "r1", "r2", new]);
    assert_eq!(receipt["replacement"]["instructions"], 2);
    assert_eq!(receipt["replacement"]["reminders"], 2);
    let after = run.text("s.jsonl");
    let rows: Vec<&str> = after.lines().collect();
    // The header is what it was, retained lines are too but for their parents, the reference stands before the leaf.
    assert_eq!(rows[0], s::header());
    for (row, line) in [(2, 2), (3, 4), (4, 1), (5, 6)] {
        assert_eq!(bare(rows[row]), bare(&lines[line]));
    }
    let all = run.lines("s.jsonl");
    assert_eq!((all.len(), &all[6]["customType"], &all[6]["data"]["kind"]), (8, &json!("epitome.archive"), &json!("compact")));
    is_chain(&all[1..]);
    let text = text_of(&all[7]);
    assert!(text.starts_with("<system-reminder>\n") && text.ends_with("\n</system-reminder>"), "{text}");
    assert!(text.contains("ask"), "{text}");
    // The archive holds the file as it was.
    let reference = Reference::from_json(&all[6]["data"]).unwrap();
    let mut archived = Vec::new();
    archive::open(&run.path("s.jsonl.archive"), &reference, Some("s1")).unwrap().copy(&mut archived).unwrap();
    assert!(archived == before);
}

#[test]
fn of_twelve_reminders_the_newest_ten_stay() {
    let mut lines = vec![s::header(), s::user("u", s::ROOT, "ask")];
    let mut parent = "u".to_owned();
    for n in 0..12 {
        let id = format!("r{n}");
        lines.push(old(&id, parent.as_str(), &format!("OLD-{n}-REMINDER")));
        parent = id;
    }
    let run = Run::of(s::file(&lines));
    let receipt = replaced(&run, &["--summarizer", "truncate"]);
    let mut want: Vec<String> = (2..12).map(|n| format!("r{n}")).collect();
    want.push(receipt["entry_id"].as_str().unwrap().to_owned());
    assert_eq!(context(&run, "s.jsonl"), want);
    // The older ones are in no text either.
    let last = run.last("s.jsonl");
    let text = text_of(&last);
    assert!(!text.contains("OLD-1-") && text.contains("OLD-2-") && text.contains("OLD-11-"), "{text}");
    let dropped = json!([{"id": "r0", "why": "old_reminder"}, {"id": "r1", "why": "old_reminder"}]);
    assert_eq!(receipt["dropped"], dropped);
}

#[test]
fn twelve_runs_leave_eleven_reminders_and_twelve_revisions() {
    let lines = [s::header(), s::user("u", s::ROOT, "ask"), answer("a", "u", &s::words(9_000)), developer("d", "a", "policy")];
    let run = Run::of(s::file(&lines));
    let mut was = Vec::new();
    for n in 1..=12_u64 {
        was.push(run.bytes("s.jsonl"));
        let receipt = replaced(&run, &[]);
        assert_eq!(receipt["archive_revision"], n);
        assert_eq!(receipt["replacement"]["reminders"], (n - 1).min(10));
    }
    let ids = context(&run, "s.jsonl");
    assert_eq!((ids.len(), ids[0].as_str()), (12, "d"));
    let all = run.lines("s.jsonl");
    is_chain(&all[1..]);
    let reminders = all.iter().filter(|line| line["message"]["role"] == "user").count();
    let references: Vec<Reference> = all
        .iter()
        .filter(|line| line["customType"] == "epitome.archive")
        .map(|line| Reference::from_json(&line["data"]).unwrap())
        .collect();
    assert_eq!((reminders, references.len()), (11, 12));
    for (n, reference) in references.iter().enumerate() {
        assert_eq!((reference.revision, reference.generation), (n as u64 + 1, n as u64 + 1));
        let mut archived = Vec::new();
        archive::open(&run.path("s.jsonl.archive"), reference, Some("s1")).unwrap().copy(&mut archived).unwrap();
        assert!(archived == was[n], "revision {}", n + 1);
    }
    let shown = run.json(&["inspect", "s.jsonl", "--show", "revisions"]);
    let listed: Vec<u64> = shown["revisions"].as_array().unwrap().iter().map(|r| r["revision"].as_u64().unwrap()).collect();
    assert_eq!(listed, (1..=12).rev().collect::<Vec<_>>());
    assert!(shown["revisions"].as_array().unwrap().iter().all(|r| r["state"] == "ok"));
    // The summary is taken on, and does not nest.
    let last = run.last("s.jsonl");
    let text = text_of(&last);
    assert!(text.contains("ask") && text.to_lowercase().matches("system-reminder").count() == 2, "{text}");
    // Every revision can be the session again; the one before it is archived then.
    for n in [1, 7, 12] {
        let receipt = run.json(&["prune", "s.jsonl", "--restore", &n.to_string()]);
        assert_eq!(receipt["restored_revision"], n);
        assert!(codes(&run.json(&["inspect", "--check", "s.jsonl"])).is_empty());
    }
}

#[test]
fn a_result_over_the_limit_is_refused_before_and_after_the_summary() {
    let lines = [s::header(), s::user("u", s::ROOT, "ask"), developer("d", "u", &s::words(2_000)), answer("a", "d", &s::words(9_000))];
    let run = Run::of(s::file(&lines));
    fails(&run, &["--context-limit", "100"], "over_limit");
    let early = run.go(&[REPLACE, &["--context-limit", "100", "--progress", "always"]].concat());
    assert!(!early.stderr().contains("summarizing"), "{early}");
    assert!(early.stderr().contains("what has to stay has"), "{early}");
    // What stays fits, the summary does not.
    let stays = replace(&run, &["-n"])["replacement"]["tokens"].as_u64().unwrap();
    fails(&run, &["--context-limit", &(stays - 1).to_string()], "over_limit");
    let late = run.go(&[REPLACE, &["--context-limit", &(stays - 1).to_string(), "--progress", "always"]].concat());
    assert!(late.stderr().contains("summarizing") && late.stderr().contains("would have"), "{late}");
    // Equal passes, by flag and by config.
    run.put("config.toml", format!("[replace]\ncontext_limit = {stays}\n"));
    let out = run.go_bare(&[REPLACE, &["-n", "--json", "--config", "config.toml", "--now", run::NOW]].concat());
    assert_eq!((&out.json()["replacement"]["tokens"], &out.json()["replacement"]["limit"]), (&json!(stays), &json!(stays)), "{out}");
    replaced(&run, &["--context-limit", &stays.to_string()]);
}

#[test]
fn other_branches_are_refused_or_left_behind() {
    let lines =
        [s::header(), s::user("u", s::ROOT, "ask"), answer("x", "u", "OTHER-BRANCH"), answer("a", "u", "yes"), s::label("l", "a", "x")];
    let run = Run::of(s::file(&lines));
    let error = fails(&run, &[], "refused");
    assert!(error["error"]["hint"].as_str().unwrap().contains("--drop-branches"), "{error}");
    let receipt = replaced(&run, &["--drop-branches"]);
    assert_eq!(receipt["replacement"]["other_branches"], 1);
    assert!(!run.text("s.jsonl").contains("OTHER-BRANCH"));
    run.json(&["prune", "s.jsonl", "--restore", "1"]);
    assert!(run.text("s.jsonl").contains("OTHER-BRANCH"));
    // A flag of this strategy is none of others.
    assert_eq!(run.go(&["compact", "s.jsonl", "--drop-branches"]).code, 2);
    assert_eq!(run.go(&[REPLACE, &["--keep-from", "a"]].concat()).code, 2);
}

#[test]
fn c36_settings_and_labels_of_what_stays_are_carried_over() {
    let lines = [
        s::header(),
        s::entry("model_change", "m1", s::ROOT, json!({"model": "anthropic/old"})),
        s::entry("model_change", "m2", "m1", json!({"model": "anthropic/claude-opus-4-5"})),
        s::entry("model_change", "m3", "m2", json!({"model": "google/small", "role": "smol"})),
        s::entry("thinking_level_change", "t1", "m3", json!({"thinkingLevel": "low"})),
        s::entry("thinking_level_change", "t2", "t1", json!({"thinkingLevel": "high"})),
        s::entry("session_info", "n1", "t2", json!({"name": "first"})),
        s::entry("session_info", "n2", "n1", json!({"name": "second", "x": 1.0})),
        s::entry("custom", "c", "n2", json!({"customType": "note", "data": 1})),
        s::user("u", "c", "ask"),
        developer("d", "u", "policy"),
        s::label("l1", "d", "u"),
        s::label("l2", "l1", "d"),
        answer("a", "l2", "yes"),
    ];
    let run = Run::of(s::file(&lines));
    replaced(&run, &[]);
    let all = run.lines("s.jsonl");
    let ids: Vec<&str> = all[1..].iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids[..6], ["m2", "m3", "t2", "n2", "d", "l2"]);
    assert_eq!(ids.len(), 8);
    is_chain(&all[1..]);
    let shown = run.json(&["inspect", "s.jsonl"]);
    assert_eq!(shown["session"]["title"], "second");
}

#[test]
fn a_model_that_only_answers_name_is_carried_over() {
    let lines = |owner: &str| {
        vec![
            s::header(),
            owner.to_owned(),
            s::user("u", "m", "ask"),
            s::assistant_with("a", "u", json!([s::tx("yes")]), json!({"provider": "openai", "model": "gpt-9"})),
        ]
    };
    let pi = s::entry("model_change", "m", s::ROOT, json!({"provider": "anthropic", "modelId": "old"}));
    let run = Run::of(s::file(&lines(&pi)));
    replaced(&run, &[]);
    let all = run.lines("s.jsonl");
    assert_eq!((&all[2]["type"], &all[2]["provider"], &all[2]["modelId"]), (&json!("model_change"), &json!("openai"), &json!("gpt-9")));
    // Where a choice outlasts answers it stays alone.
    let omp = s::entry("model_change", "m", s::ROOT, json!({"model": "anthropic/old"}));
    let run = Run::of(s::file(&lines(&omp)));
    replaced(&run, &[]);
    let all = run.lines("s.jsonl");
    assert_eq!((all.len(), &all[1]["model"]), (4, &json!("anthropic/old")));
}

#[test]
fn only_named_types_of_extensions_stay() {
    let lines = [
        s::header(),
        s::custom_message("c1", s::ROOT, "handoff", "OLD-HANDOFF"),
        s::custom_message("c2", "c1", "rules", "KEEP-RULES"),
        s::user("u", "c2", "ask"),
    ];
    let run = Run::of(s::file(&lines));
    let receipt = replaced(&run, &["--retain-custom", "rules", "--retain-custom", "other"]);
    assert_eq!(context(&run, "s.jsonl"), ["c2", receipt["entry_id"].as_str().unwrap()]);
    let run = Run::of(s::file(&lines));
    replaced(&run, &[]);
    assert_eq!(context(&run, "s.jsonl").len(), 1);
}

#[test]
fn an_empty_history_gets_one_reminder_with_nothing_in_it() {
    for lines in [vec![s::header()], vec![s::header(), s::entry("custom", "c", s::ROOT, json!({"customType": "x", "data": 1}))]] {
        let run = Run::of(s::file(&lines));
        let receipt = replaced(&run, &[]);
        assert_eq!(context(&run, "s.jsonl"), [receipt["entry_id"].as_str().unwrap()]);
        let all = run.lines("s.jsonl");
        assert_eq!(all.len(), 3);
        is_chain(&all[1..]);
        assert_eq!(text_of(&all[2]).lines().filter(|line| !line.is_empty()).count(), 4);
        assert_eq!(receipt["archive_revision"], 1);
    }
    // Without a header there is no session yet.
    let run = Run::of("");
    assert_eq!(replace(&run, &[])["action"], "nothing");
    assert!(run.bytes("s.jsonl").is_empty());
}

#[test]
fn the_context_is_replaced_and_not_the_file() {
    // After a compaction, with an edit that takes a policy out and one that changes another.
    let lines = [
        s::header(),
        developer("d0", s::ROOT, "SUMMARIZED-POLICY"),
        s::user("u0", "d0", "BEFORE-THE-CUT"),
        developer("d1", "u0", "KEPT-POLICY"),
        developer("d2", "d1", "OMITTED-POLICY"),
        s::compaction("k", "d2", "SUMMARY-OF-OLD", "d1"),
        s::entry("context_edit", "e1", "k", json!({"targetId": "d2", "replacement": null})),
        s::entry("context_edit", "e2", "e1", json!({"targetId": "d1", "replacement": {"content": "CHANGED-POLICY"}})),
        s::user("u1", "e2", "NEW-REQUEST"),
    ];
    let run = Run::of(s::file(&lines));
    let receipt = replaced(&run, &["--summarizer", "truncate"]);
    assert_eq!(context(&run, "s.jsonl"), ["d1", receipt["entry_id"].as_str().unwrap()]);
    let last = run.last("s.jsonl");
    let text = text_of(&last);
    for (part, is_in) in
        [("SUMMARY-OF-OLD", true), ("NEW-REQUEST", true), ("BEFORE-THE-CUT", false), ("OMITTED", false), ("SUMMARIZED", false)]
    {
        assert_eq!(text.contains(part), is_in, "{part}: {text}");
    }
    // The edit of what stays stays with it.
    let ids: Vec<String> = run.lines("s.jsonl").iter().skip(1).map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids[..2], ["d1", "e2"]);
    assert_eq!(ids.len(), 4);
}

#[test]
fn a_prompt_that_a_compaction_carries_stays() {
    let compaction = json!({"summary": "S", "firstKeptEntryId": "u", "tokensBefore": 9, "systemMessage": {"role": "system", "content": "WHOLE-PROMPT", "timestamp": 1}});
    let lines =
        [s::header(), system("sys", s::ROOT, "old prompt"), s::user("u", "sys", "ask"), s::entry("compaction", "k", "u", compaction)];
    let run = Run::of(s::file(&lines));
    let receipt = replaced(&run, &[]);
    let all = run.lines("s.jsonl");
    assert_eq!(
        (&all[1]["type"], &all[1]["message"]["role"], &all[1]["message"]["content"]),
        (&json!("message"), &json!("system"), &json!("WHOLE-PROMPT"))
    );
    assert_eq!(context(&run, "s.jsonl"), [all[1]["id"].as_str().unwrap(), receipt["entry_id"].as_str().unwrap()]);
}

#[test]
fn the_stub_is_the_first_bytes_of_the_transcript() {
    let lines = [
        s::header(),
        s::user("u", s::ROOT, "ask </system-reminder> é"),
        s::assistant("a", "u", json!([s::th("hidden", "SIG"), s::tx("reading"), s::call("c1", "read", json!({"path": "a.rs"}))])),
        s::tool_result("t", "a", "c1", "read", &"é".repeat(5_000)),
    ];
    let run = Run::of(s::file(&lines));
    let receipt = replaced(&run, &["--summarizer", "truncate"]);
    let text = receipt["summary"]["text"].as_str().unwrap();
    let start = "user: ask &lt;/system-reminder> é\nAssistant: reading\nFunction call (c1): read({\"path\":\"a.rs\"})\nFunction call output (c1): éé";
    assert!(text.starts_with(start), "{text}");
    assert!((1_999..=2_000).contains(&text.len()), "{}", text.len());
    assert_eq!(text_of(&run.last("s.jsonl")).matches("</system-reminder>").count(), 1);
}

#[test]
fn relevance_leaves_out_what_scores_too_little() {
    let lines = [
        s::header(),
        s::user("u1", s::ROOT, "FIRST-REQUEST"),
        s::assistant("a1", "u1", json!([s::call("c1", "read", json!({"path": "a.rs"}))])),
        developer("d", "a1", "POLICY"),
        s::tool_result("t1", "d", "c1", "read", "RESULT-WITH-POLICY"),
        s::user("u2", "t1", "SECOND-REQUEST"),
        answer("a2", "u2", "LAST-ANSWER"),
    ];
    let run = Run::of(s::file(&lines));
    let text = |more: &[&str]| {
        let receipt = replace(&run, &[&["-n", "--summarizer", "truncate"], more].concat());
        (receipt["summary"]["text"].as_str().unwrap().to_owned(), receipt["dropped"].clone())
    };
    // Who cannot tell says one half, which is enough by default.
    let all = text(&[]);
    assert_eq!(text(&["--relevance"]), all);
    assert_eq!(text(&["--relevance=false", "--relevance-threshold", "0.6"]), all);
    let (kept, dropped) = text(&["--relevance", "--relevance-threshold", "0.6"]);
    assert_eq!(dropped, json!([{"id": "u1", "why": "irrelevant"}, {"id": "u2", "why": "irrelevant"}]));
    assert!(!kept.contains("REQUEST") && kept.contains("RESULT-WITH-POLICY") && kept.contains("LAST-ANSWER"), "{kept}");
    let out = run.go(&[REPLACE, &["--relevance-threshold", "1.5"]].concat());
    assert_eq!(out.code, 2, "{out}");
}

#[test]
fn damaged_lines_and_strange_bytes_of_what_stays_stay() {
    let odd = r#"{"type":"message","id":"d","parentId":"u","timestamp":"2026-01-01T00:00:00.000Z","n":12345678901234567890,"f":1.0,"s":"\/","message":{"role":"developer","content":"half \ud83d of a pair","timestamp":1}}"#;
    let mut bytes = s::file(&[s::header(), s::user("u", s::ROOT, "ask"), odd.to_owned()]);
    bytes.extend_from_slice(b"{broken\n{\"type\":\"note-without-id\",\"x\":1}\n");
    bytes.extend_from_slice(answer("a", "d", "yes").as_bytes());
    let run = Run::of(&bytes);
    let receipt = replace(&run, &[]);
    assert_eq!(receipt["action"], "compacted", "{receipt}");
    let text = run.text("s.jsonl");
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows[1..3], ["{broken", "{\"type\":\"note-without-id\",\"x\":1}"]);
    assert_eq!(rows[3], odd.replace("\"parentId\":\"u\"", "\"parentId\":null"));
    assert_eq!(context(&run, "s.jsonl").len(), 2);
}

#[test]
fn copies_and_streams_carry_no_references_and_dry_runs_nothing() {
    let lines = [s::header(), s::user("u", s::ROOT, "ask"), answer("a", "u", &s::words(3_000))];
    let run = Run::of(s::file(&lines));
    replaced(&run, &[]);
    let (before, names) = (run.bytes("s.jsonl"), run.names());
    let dry = replace(&run, &["-n"]);
    assert_eq!((&dry["dry_run"], &dry["archive_revision"]), (&json!(true), &Value::Null));
    assert!(run.bytes("s.jsonl") == before && run.names() == names);
    let copied = replace(&run, &["-o", "copy.jsonl"]);
    assert!(run.bytes("s.jsonl") == before);
    let all = run.lines("copy.jsonl");
    is_chain(&all[1..]);
    assert!(all.iter().all(|line| line["customType"] != "epitome.archive"));
    assert_eq!((all.len(), &copied["bytes_after"]), (3, &json!(run.bytes("copy.jsonl").len())));
    let out = run.feed(&["compact", "-", "--strategy", "replace"], &before).ok();
    assert!(out.stdout == run.bytes("copy.jsonl"));
    assert!(!run.path("copy.jsonl.archive").exists());
}

#[test]
fn r27_an_old_session_is_written_as_version_three() {
    let list = "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n{\"type\":\"message\",\"message\":{\"role\":\"developer\",\"content\":\"policy\"}}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"ask\"}}\n";
    let run = Run::of(list);
    replaced(&run, &[]);
    let all = run.lines("s.jsonl");
    assert_eq!((all.len(), &all[0]["version"]), (4, &json!(3)));
    is_chain(&all[1..]);
    assert_eq!(all[1]["message"]["content"], "policy");
}

#[test]
fn a_failing_turn_goes_and_is_no_other_branch() {
    let usage = json!({"input": 190_000, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 190_010});
    let failing = json!({"stopReason": "error", "errorMessage": "prompt is too long: 210000 tokens > 200000 maximum"});
    let lines = [
        s::header(),
        s::user("u", s::ROOT, "ask"),
        s::assistant_with("a", "u", json!([s::tx("yes")]), json!({ "usage": usage })),
        s::user("u2", "a", "more"),
        s::assistant_with("f", "u2", json!([]), failing),
    ];
    let run = Run::of(s::file(&lines));
    let receipt = replaced(&run, &["--trigger", "auto"]);
    assert_eq!((&receipt["triggers"]["reason"], &receipt["triggers"]["will_retry"]), (&json!("overflow"), &json!(true)));
    assert!(!run.text("s.jsonl").contains("prompt is too long"));
    // Right after it nothing asks for more.
    assert_eq!(replace(&run, &["--trigger", "auto"])["reason"], "no_trigger");
}

#[test]
fn what_comes_meanwhile_is_planned_in() {
    let lines = [s::header(), s::user("u", s::ROOT, "ask"), answer("a", "u", &s::words(3_000))];
    let run = Run::of(s::file(&lines));
    let working = run.summarizing(&[REPLACE, &["--summarizer", "truncate"]].concat(), 1_500);
    let mut file = std::fs::OpenOptions::new().append(true).open(run.path("s.jsonl")).unwrap();
    writeln!(file, "{}", developer("d", "a", "CAME-MEANWHILE")).unwrap();
    working.end().ok();
    let ids = context(&run, "s.jsonl");
    assert_eq!((ids.len(), ids[0].as_str()), (2, "d"));
    assert!(codes(&run.json(&["inspect", "--check", "s.jsonl"])).is_empty());
}
