//! Every hook that every writer runs: what it gets, and that its failure leaves everything as it was.

use serde_json::{Value, json};

use crate::clients::side_by_side;
use crate::hooks::{fork, holds, long};
use crate::run::Run;
use crate::sessions as s;
use crate::{read, turns};

/// A command that writes, a session for it, and the events whose hooks it runs before and after the write.
#[derive(Clone, Copy)]
struct Writer {
    args: &'static [&'static str],
    session: fn() -> Vec<u8>,
    before: &'static [&'static str],
    after: bool,
}

const ASKED: &str = "session_before_compact";
const MADE: &str = "session.compacting";
const TOLD: &str = "session_compact";
const LEFT: &str = "session_before_tree";

/// Results that are read again, and turns behind them.
fn prunable() -> Vec<u8> {
    let mut lines = vec![s::header(), s::user("a", s::ROOT, "look")];
    let mut parent = "a".to_owned();
    for n in 0..3 {
        let (call, result) = (format!("c{n}"), format!("r{n}"));
        lines.push(read(&call, &parent, &call, "same.rs"));
        lines.push(s::tool_result(&result, call.as_str(), &call, "read", &s::words_from(n * 9_000, 4_000)));
        parent = result;
    }
    turns(&mut lines, Some(&parent), 0, 4, 2_000);
    s::file(&lines)
}

/// A line in the middle is broken off.
fn damaged() -> Vec<u8> {
    let text = String::from_utf8(long()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(3, "{\"type\":\"custom\",\"id\":\"x\",\"da");
    s::file(&lines)
}

/// A session of pi 1.x, whose results give way to edits.
fn of_pi() -> Vec<u8> {
    let mut text = String::from_utf8(prunable()).unwrap();
    text.push_str(&s::entry("context_edit", "e", "a3", json!({"targetId": "a", "replacement": {"content": "look"}})));
    text.push('\n');
    text.into_bytes()
}

const WRITERS: &[Writer] = &[
    Writer { args: &["compact", "s.jsonl", "--keep-recent-tokens", "1500"], session: long, before: &[ASKED, MADE], after: true },
    Writer {
        args: &["compact", "s.jsonl", "--keep-recent-tokens", "1500", "--prune"],
        session: prunable,
        before: &[ASKED, MADE],
        after: true,
    },
    // Nothing to compact, so only the pruning is written.
    Writer { args: &["compact", "s.jsonl", "--prune"], session: prunable, before: &[], after: true },
    Writer {
        args: &["snapcompact", "s.jsonl", "--keep-recent-tokens", "1500", "--frames-dir", "frames", "--allow-growth"],
        session: long,
        before: &[ASKED],
        after: true,
    },
    Writer { args: &["compact", "s.jsonl", "--strategy", "replace"], session: long, before: &[ASKED, MADE], after: true },
    Writer { args: &["compact", "s.jsonl", "--strategy", "handoff"], session: long, before: &[ASKED, MADE], after: true },
    Writer { args: &["branch-summary", "s.jsonl", "--from", "c", "--to", "d"], session: fork, before: &[LEFT], after: false },
    Writer { args: &["branch-summary", "s.jsonl", "--all"], session: fork, before: &[LEFT], after: false },
    Writer { args: &["prune", "s.jsonl", "--min-savings", "1"], session: prunable, before: &[], after: true },
    Writer { args: &["prune", "s.jsonl", "--min-savings", "1", "--append"], session: of_pi, before: &[], after: true },
    Writer { args: &["prune", "s.jsonl", "--repair"], session: damaged, before: &[], after: true },
];

const BAD: [(&str, &str, &str); 5] = [
    ("garbage", "echo no json at all", "it is no JSON object"),
    ("half an answer", r#"printf '{"cancel":tr'"#, "its answer cannot be used"),
    ("exit 1", "echo '{}'; exit 1", "exit code 1"),
    ("a time-out", "sleep 30", "it took longer than 0.3 s"),
    ("huge output", "yes", "it printed more than"),
];

fn limit(what: &str) -> &'static str {
    if what == "a time-out" { "300ms" } else { "60s" }
}

fn run_with(run: &Run, writer: &Writer, hooks: &[String], more: &[&str]) -> crate::run::Out {
    let mut args = [writer.args, &["--json"], more].concat();
    for hook in hooks {
        args.extend(["--hook", hook.as_str()]);
    }
    run.go_env(&args, &[("EPITOME_PRUNE_MIN_SAVINGS", "1")])
}

#[test]
fn each_writer_runs_its_hooks_in_their_order_with_nothing_locked() {
    side_by_side(WRITERS.to_vec(), |writer| {
        let run = Run::of((writer.session)());
        // A hook takes the locks of the session itself, which it could not while they were held.
        let free = "test ! -e .s.jsonl.lock || exit 7; python3 -c \"import fcntl; fcntl.flock(open('.s.jsonl.lock.os', 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)\" || exit 8";
        let hook = |event: &str| format!("{event}=cat > {event}.json; echo {event} >> order; {free}");
        let hooks = [ASKED, MADE, TOLD, LEFT].map(hook);
        // A dry run runs none.
        run_with(&run, &writer, &hooks, &["-n"]).ok();
        assert_eq!(run.names(), ["s.jsonl"], "{:?}", writer.args);
        run_with(&run, &writer, &hooks, &["--strict-hooks"]).ok();
        let want: Vec<&str> = writer.before.iter().copied().chain(writer.after.then_some(TOLD)).collect();
        assert_eq!(run.text("order").lines().collect::<Vec<_>>(), want, "{:?}", writer.args);
        for event in want {
            let payload: Value = serde_json::from_slice(&run.bytes(&format!("{event}.json"))).unwrap();
            holds(&format!("hook-{event}.schema.json"), &payload);
            assert_eq!((&payload["event"], &payload["path"]), (&json!(event), &json!("s.jsonl")));
        }
    });
}

#[test]
fn a_hook_before_the_write_that_fails_leaves_everything_as_it_was() {
    let jobs =
        WRITERS.iter().flat_map(|writer| writer.before.iter().flat_map(move |event| BAD.map(|bad| (*writer, *event, bad)))).collect();
    side_by_side(jobs, |(writer, event, (what, command, said))| {
        let what_of = format!("{:?}, {event}, {what}", writer.args);
        let run = Run::of((writer.session)());
        let hooks = [format!("{event}={command}"), format!("{TOLD}=touch told")];
        let out = run_with(&run, &writer, &hooks, &["--hook-timeout", limit(what)]);
        assert_eq!(out.code, 1, "{what_of}: {out}");
        let error = out.json()["error"].clone();
        assert_eq!(error["code"], "hook", "{what_of}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(said) && message.contains(event), "{what_of}: {message}");
        assert!(out.stderr().contains("hint: "), "{what_of}: {out}");
        assert!(run.bytes("s.jsonl") == (writer.session)(), "{what_of}");
        assert_eq!(run.names(), ["s.jsonl"], "{what_of}");
    });
}

#[test]
fn a_hook_that_cancels_is_obeyed() {
    let jobs = WRITERS.iter().flat_map(|writer| writer.before.iter().map(move |event| (*writer, *event))).collect();
    side_by_side(jobs, |(writer, event)| {
        let what = format!("{:?}, {event}", writer.args);
        let run = Run::of((writer.session)());
        let hooks = [format!("{event}=echo '{{\"cancel\":true}}'"), format!("{TOLD}=touch told")];
        let out = run_with(&run, &writer, &hooks, &[]);
        // The making of a summary cannot be cancelled; asking for that is an error.
        if event == MADE {
            assert_eq!((out.code, &out.json()["error"]["code"]), (1, &json!("hook")), "{what}: {out}");
        } else {
            assert_eq!(out.code, 0, "{what}: {out}");
            // With --prune the pruning is left to do; of all branches one that is not wanted is none.
            let prunes = writer.args.contains(&"--prune");
            if !prunes && !writer.args.contains(&"--all") {
                assert_eq!((&out.json()["action"], &out.json()["reason"]), (&json!("refused"), &json!("cancelled")), "{what}: {out}");
            }
            if prunes {
                assert_eq!(out.json()["action"], "pruned", "{what}: {out}");
                assert!(!run.text("s.jsonl").contains("\"compaction\"") && run.path("told").exists(), "{what}");
                return;
            }
        }
        assert!(run.bytes("s.jsonl") == (writer.session)(), "{what}");
        assert_eq!(run.names(), ["s.jsonl"], "{what}");
    });
}

#[test]
fn a_hook_after_the_write_that_fails_is_a_warning() {
    let told = WRITERS.iter().filter(|writer| writer.after);
    let jobs =
        told.flat_map(|writer| BAD.into_iter().zip([false, true].into_iter().cycle()).map(move |(bad, strict)| (*writer, bad, strict)));
    side_by_side(jobs.collect(), |(writer, (what, command, said), strict)| {
        let what_of = format!("{:?}, {what}", writer.args);
        let run = Run::of((writer.session)());
        let more: &[&str] = if strict { &["--strict-hooks"] } else { &[] };
        let out = run_with(&run, &writer, &[format!("{TOLD}={command}")], &[more, &["--hook-timeout", limit(what)]].concat());
        assert_eq!(out.code, i32::from(strict), "{what_of}: {out}");
        let warnings = out.json()["warnings"].to_string();
        assert!(warnings.contains("the hook session_compact failed") && warnings.contains(said), "{what_of}: {out}");
        // It was written all the same.
        let is_handoff = writer.args.contains(&"handoff");
        assert_eq!(run.bytes("s.jsonl") == (writer.session)(), is_handoff, "{what_of}");
        assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0, "{what_of}");
    });
}

#[test]
fn a_handoff_may_come_from_a_hook_and_its_prompt_too() {
    let given = json!({"compaction": {"summary": "## Goal\n- HOOK-DOCUMENT", "details": {"mine": 1}}});
    let run = Run::of(long());
    run.put("given.json", given.to_string());
    let hooks = [format!("{ASKED}=cat given.json; rm given.json"), format!("{TOLD}=cat > told.json"), format!("{MADE}=touch made")];
    let handoff = &WRITERS[5];
    let out = run_with(&run, handoff, &hooks, &[]).ok().json();
    assert_eq!(out["summarizer"], "hook");
    let path = out["new_session"]["path"].as_str().unwrap().to_owned();
    let entry = run.last(std::path::Path::new(&path).file_name().unwrap().to_str().unwrap());
    assert!(entry["content"].as_str().unwrap().contains("HOOK-DOCUMENT"));
    assert_eq!((&entry["details"], &entry["fromExtension"]), (&json!({"mine": 1}), &json!(true)));
    let told: Value = serde_json::from_slice(&run.bytes("told.json")).unwrap();
    assert_eq!(
        (&told["kind"], &told["fromExtension"], &told["newSession"]["id"]),
        (&json!("handoff"), &json!(true), &out["new_session"]["id"])
    );
    assert_eq!(told["newSession"]["path"], path);
    assert!(!run.path("made").exists() && run.bytes("s.jsonl") == long());
    // A place to keep from makes no sense there, and an empty document is none.
    for bad in [r#"{"compaction":{"summary":"s","firstKeptEntryId":"u1"}}"#, r#"{"compaction":{"summary":" "}}"#] {
        let run = Run::of(long());
        let out = run_with(&run, handoff, &[format!("{ASKED}=echo '{bad}'")], &[]);
        assert_eq!((out.code, run.names()), (1, vec!["s.jsonl".to_owned()]), "{bad}: {out}");
    }
    // Lines of context reach the document.
    let run = Run::of(long());
    let out =
        run_with(&run, handoff, &[format!("{MADE}=echo '{}'", json!({"context": ["The release is on FRIDAY-13."]}))], &[]).ok().json();
    let path = out["new_session"]["path"].as_str().unwrap().to_owned();
    assert!(run.text(std::path::Path::new(&path).file_name().unwrap().to_str().unwrap()).contains("FRIDAY-13"));
}

#[test]
fn a_replacement_from_a_hook_says_so() {
    let run = Run::of(long());
    let given = json!({"compaction": {"summary": "HOOK-WORDS", "details": {"mine": 1}}});
    run_with(&run, &WRITERS[4], &[format!("{ASKED}=echo '{given}'")], &[]).ok();
    let entry = run.last("s.jsonl");
    assert_eq!((&entry["details"], &entry["fromExtension"]), (&json!({"mine": 1}), &json!(true)));
}
