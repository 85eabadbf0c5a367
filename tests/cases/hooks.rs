//! Commands that are asked before a write and told after it.

use serde_json::{Value, json};

use crate::run::{Out, Run};
use crate::sessions as s;
use crate::{answer, turns};

/// A session that compacts with a small budget: six turns.
pub(crate) fn long() -> Vec<u8> {
    let mut lines = vec![s::header()];
    turns(&mut lines, None, 0, 6, 2_000);
    s::file(&lines)
}

/// A - B - C and A - D.
pub(crate) fn fork() -> Vec<u8> {
    s::file(&[
        s::header(),
        s::user("a", s::ROOT, "ask"),
        s::user("b", "a", "WHY-BRANCH"),
        answer("c", "b", &s::words(4_000)),
        s::user("d", "a", "go on"),
    ])
}

const COMPACT: &[&str] = &["compact", "s.jsonl", "--keep-recent-tokens", "1500"];
const BRANCH: &[&str] = &["branch-summary", "s.jsonl", "--from", "c", "--to", "d"];

/// Runs a command with hooks.
fn hooked(run: &Run, args: &[&str], hooks: &[String]) -> Out {
    let mut all = args.to_vec();
    for hook in hooks {
        all.extend(["--hook", hook]);
    }
    run.go(&all)
}

/// The payload that a hook wrote to a file.
fn payload(run: &Run, name: &str) -> Value {
    serde_json::from_slice(&run.bytes(name)).unwrap()
}

/// A payload or an answer holds to its schema.
pub(crate) fn holds(schema: &str, value: &Value) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/schemas").join(schema);
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{value:#}");
}

#[test]
fn cancelling_writes_nothing_and_is_no_failure() {
    for (event, args, session) in [("session_before_compact", COMPACT, long()), ("session_before_tree", BRANCH, fork())] {
        let run = Run::of(&session);
        let hook = format!("{event}=echo '{{\"cancel\":true}}'");
        let out = hooked(&run, &[args, &["--json"]].concat(), std::slice::from_ref(&hook)).ok();
        assert_eq!((&out.json()["action"], &out.json()["reason"]), (&json!("refused"), &json!("cancelled")), "{out}");
        assert!(hooked(&run, args, std::slice::from_ref(&hook)).ok().stdout().contains("a hook cancelled it"));
        assert_eq!(hooked(&run, &[args, &["--exit-code"]].concat(), &[hook]).code, 3);
        assert!(run.bytes("s.jsonl") == session);
    }
    // The other events cannot cancel.
    let run = Run::of(long());
    assert_eq!(hooked(&run, COMPACT, &["session.compacting=echo '{\"cancel\":true}'".to_owned()]).code, 1);
    assert!(run.bytes("s.jsonl") == long());
}

#[test]
fn a_hook_gets_what_is_to_be_summarized() {
    let run = Run::of(long());
    let hooks =
        ["session_before_compact=cat > before.json", "session.compacting=cat > compacting.json", "session_compact=cat > after.json"];
    let out = hooked(&run, &[COMPACT, &["--json", "--instructions", "the tests"]].concat(), &hooks.map(str::to_owned)).ok();
    let before = payload(&run, "before.json");
    holds("hook-session_before_compact.schema.json", &before);
    holds("hook-session.compacting.schema.json", &payload(&run, "compacting.json"));
    let after = payload(&run, "after.json");
    holds("hook-session_compact.schema.json", &after);
    assert_eq!((&before["path"], &before["sessionId"], &before["cwd"]), (&json!("s.jsonl"), &json!("s1"), &json!("/w")));
    assert_eq!((&before["reason"], &before["customInstructions"]), (&json!("manual"), &json!("the tests")));
    let plan = &before["preparation"];
    let receipt = out.json();
    assert_eq!(plan["firstKeptEntryId"], receipt["cut"]["first_kept_id"]);
    assert_eq!(plan["candidates"], receipt["cut"]["candidates"]);
    assert_eq!(plan["messagesToSummarize"].as_array().unwrap().len() as u64, receipt["summarized_messages"].as_u64().unwrap());
    assert!(plan["conversation"].as_str().unwrap().starts_with("[User]: alpha0 "));
    // What was saved is what stands in the file.
    assert_eq!(after["compactionEntry"], run.last("s.jsonl"));
    assert_eq!((&after["kind"], &after["fromExtension"]), (&json!("compaction"), &json!(false)));
}

#[test]
fn a_compaction_from_a_hook_is_stored_as_the_extensions() {
    let run = Run::of(long());
    let given = json!({"compaction": {
        "summary": "## Goal\nGiven by a hook.\n<files>\nmine\n</files>", "shortSummary": "given", "firstKeptEntryId": "u2", "tokensBefore": 7,
        "details": {"mine": [1]}, "preserveData": {"k": {"v": 1}},
    }});
    run.put("answer.json", given.to_string());
    let hooks = ["session_before_compact=cat answer.json", "session.compacting=exit 9", "session_compact=cat > after.json"];
    let out = hooked(&run, &[COMPACT, &["--json"]].concat(), &hooks.map(str::to_owned)).ok();
    let entry = run.last("s.jsonl");
    assert_eq!(entry["fromExtension"], true);
    assert_eq!(entry["summary"], given["compaction"]["summary"]);
    assert_eq!((&entry["shortSummary"], &entry["firstKeptEntryId"]), (&json!("given"), &json!("u2")));
    assert_eq!((&entry["details"], &entry["preserveData"]), (&json!({"mine": [1]}), &json!({"k": {"v": 1}})));
    // Counted anew, whatever the hook says.
    assert_eq!(entry["tokensBefore"], out.json()["tokens_before"]);
    assert_eq!(out.json()["summarizer"], "hook");
    assert_eq!(out.json()["cut"]["first_kept_id"], "u2");
    assert_eq!(payload(&run, "after.json")["fromExtension"], true);
    let context = run.json(&["inspect", "s.jsonl", "--show", "context"]);
    assert_eq!(crate::run::ids(&context["context"])[1], "u2");
    assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0);
}

#[test]
fn a_hook_cannot_cut_where_we_would_not() {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 0, 4, 2_000);
    lines.push(crate::read("r", &last, "call-1", "x.rs"));
    lines.push(s::tool_result("t", "r", "call-1", "read", &s::words_from(70_000, 3_000)));
    lines.push(answer("z", "t", "done"));
    for kept in ["t", "nowhere"] {
        let run = Run::of(s::file(&lines));
        let before = run.bytes("s.jsonl");
        let answer = json!({"compaction": {"summary": "s", "firstKeptEntryId": kept}});
        let out = hooked(&run, &[COMPACT, &["--json"]].concat(), &[format!("session_before_compact=echo '{answer}'")]);
        assert_eq!((out.code, &out.json()["error"]["code"]), (1, &json!("hook")), "{out}");
        assert!(out.json()["error"]["message"].as_str().unwrap().contains("none of the places to cut"), "{out}");
        assert!(run.bytes("s.jsonl") == before);
    }
}

#[test]
fn what_a_hook_gives_is_judged_like_ours() {
    // A summary longer than what it replaces, an empty one, and one with a key.
    let run = Run::of(long());
    let hook = |summary: &str| vec![format!("session_before_compact=echo '{}'", json!({"compaction": {"summary": summary}}))];
    let out = hooked(&run, &[COMPACT, &["--json"]].concat(), &hook(&s::words(40_000))).ok();
    assert_eq!((&out.json()["action"], &out.json()["reason"]), (&json!("refused"), &json!("no_gain")), "{out}");
    assert_eq!(hooked(&run, COMPACT, &hook(" \t")).code, 1);
    assert!(run.bytes("s.jsonl") == long());
    let key = ["sk-", "ant-", "api03-Zq8vT1rXk2LmNp4QsW6yB9cD0eFgHjKl"].concat();
    hooked(&run, COMPACT, &hook(&format!("the key is {key}, \u{1b}[31mred"))).ok();
    let stored = run.last("s.jsonl")["summary"].as_str().unwrap().to_owned();
    assert!(!stored.contains(&key) && !stored.contains('\u{1b}') && stored.contains("the key is"), "{stored}");
}

#[test]
fn context_and_data_of_a_hook_enter_the_compaction() {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 0, 2, 2_000);
    let old = json!({"summary": "## Goal\n- old", "firstKeptEntryId": "u1", "tokensBefore": 9, "preserveData": {"kept": 1, "over": 1}});
    lines.push(s::entry("compaction", "k", last.as_str(), old));
    turns(&mut lines, Some("k"), 2, 4, 2_000);
    let run = Run::of(s::file(&lines));
    let answer = json!({"context": ["The release is on FRIDAY-13."], "preserveData": {"over": 2, "new": true}});
    hooked(&run, COMPACT, &[format!("session.compacting=echo '{answer}'")]).ok();
    let entry = run.last("s.jsonl");
    assert!(entry["summary"].as_str().unwrap().contains("FRIDAY-13"), "{entry}");
    assert_eq!(entry["preserveData"], json!({"kept": 1, "over": 2, "new": true}));
    assert!(entry.get("fromExtension").is_none());
}

#[test]
fn a_branch_summary_may_come_from_a_hook() {
    let run = Run::of(fork());
    let answer = json!({"summary": {"summary": "What the branch learnt: nothing.", "details": {"mine": 1}}});
    let hook = format!("session_before_tree=cat > tree.json; echo '{answer}'");
    let out = hooked(&run, &[BRANCH, &["--json"]].concat(), &[hook]).ok();
    holds("hook-session_before_tree.schema.json", &payload(&run, "tree.json"));
    assert_eq!(payload(&run, "tree.json")["preparation"]["entriesToSummarize"], json!(["b", "c"]));
    let entry = run.last("s.jsonl");
    assert_eq!((&entry["summary"], &entry["details"]), (&answer["summary"]["summary"], &json!({"mine": 1})));
    assert_eq!((&entry["fromExtension"], &entry["fromId"], &entry["parentId"]), (&json!(true), &json!("c"), &json!("d")));
    assert_eq!(out.json()["action"], "summarized");
}

#[test]
fn a_replaced_history_is_told() {
    let mut lines = vec![s::header(), s::user("a", s::ROOT, "look")];
    let mut parent = "a".to_owned();
    for n in 0..3 {
        let (call, result) = (format!("c{n}"), format!("r{n}"));
        lines.push(crate::read(&call, &parent, &call, "same.rs"));
        lines.push(s::tool_result(&result, call.as_str(), &call, "read", &s::words_from(n * 9_000, 9_000)));
        parent = result;
    }
    let run = Run::of(s::file(&lines));
    let hook = ["session_compact=cat > told.json".to_owned()];
    let prune = ["prune", "s.jsonl", "--min-savings", "1"];
    // A dry run tells nobody.
    hooked(&run, &[&prune[..], &["-n"]].concat(), &hook).ok();
    assert!(!run.path("told.json").exists());
    hooked(&run, &prune, &hook).ok();
    let told = payload(&run, "told.json");
    holds("hook-session_compact.schema.json", &told);
    assert_eq!((&told["kind"], &told["action"], &told["archiveRevision"]), (&json!("history_replaced"), &json!("pruned"), &json!(1)));
    // Nothing to prune: nothing to tell.
    std::fs::remove_file(run.path("told.json")).unwrap();
    hooked(&run, &prune, &hook).ok();
    assert!(!run.path("told.json").exists());
    hooked(&run, &["prune", "s.jsonl", "--restore", "1"], &hook).ok();
    assert_eq!(payload(&run, "told.json")["action"], "restored");
    let out = hooked(&run, &[&prune[..], &["--strict-hooks"]].concat(), &["session_compact=exit 2".to_owned()]);
    assert_eq!(out.code, 1, "{out}");
    assert!(out.stderr().contains("exit code 2") && run.text("s.jsonl").contains("[Superseded"), "{out}");
}

#[test]
fn a_replaced_history_is_asked_about_and_told() {
    let replace = ["compact", "s.jsonl", "--strategy", "replace", "--json"];
    let run = Run::of(long());
    let cancel = r#"session_before_compact=cat > before.json; echo '{"cancel":true}'"#.to_owned();
    assert_eq!(hooked(&run, &replace, &[cancel]).ok().json()["reason"], "cancelled");
    holds("hook-session_before_compact.schema.json", &payload(&run, "before.json"));
    assert_eq!(payload(&run, "before.json")["strategy"], "replace");
    for bad in ["exit 1", "echo nonsense", r#"echo '{"compaction":{"summary":"s","firstKeptEntryId":"u1"}}'"#] {
        assert_eq!(hooked(&run, &replace, &[format!("session_before_compact={bad}")]).code, 1, "{bad}");
    }
    assert!(run.bytes("s.jsonl") == long());
    let given = r#"session_before_compact=echo '{"compaction":{"summary":"HOOK-WORDS"}}'"#.to_owned();
    let out = hooked(&run, &replace, &[given, "session_compact=cat > told.json".to_owned()]).ok();
    assert_eq!((&out.json()["action"], &out.json()["summarizer"]), (&json!("compacted"), &json!("hook")));
    assert!(run.last("s.jsonl").to_string().contains("HOOK-WORDS"));
    holds("hook-session_compact.schema.json", &payload(&run, "told.json"));
    assert_eq!((&payload(&run, "told.json")["action"], &payload(&run, "told.json")["archiveRevision"]), (&json!("replaced"), &json!(1)));
}

#[test]
fn r17_what_a_hook_appends_is_kept() {
    let run = Run::of(long());
    let more = s::user("late", "a5", "one more question, LATE-WORD");
    run.put("more", format!("{more}\n"));
    // Once: the plan is made again on what is there then.
    let hook = "session_before_compact=test -e done || { touch done; cat more >> s.jsonl; }";
    let out = hooked(&run, &[COMPACT, &["--json"]].concat(), &[hook.to_owned()]).ok();
    assert_eq!(out.json()["action"], "compacted");
    assert_eq!(run.last("s.jsonl")["parentId"], "late");
    assert!(run.text("s.jsonl").contains("LATE-WORD"));
    assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0);
}

#[test]
fn hooks_come_from_the_config_and_the_command_line_wins() {
    let run = Run::of(long());
    run.put("c.toml", "[hooks]\ntimeout = \"20s\"\nsession_before_compact = '''exit 4'''\nsession_compact = \"touch told\"\nsession.compacting = \"touch asked\"\n");
    let args = ["compact", "s.jsonl", "--keep-recent-tokens", "1500", "--config", "c.toml", "--now", crate::run::NOW];
    assert_eq!(run.go_bare(&args).code, 1);
    let out = run.go_bare(&[&args[..], &["--hook", "session_before_compact="]].concat());
    assert_eq!(out.code, 0, "{out}");
    assert!(run.path("told").exists() && run.path("asked").exists());
    let shown = run.go_bare(&["inspect", "s.jsonl", "--show", "settings", "--json", "--config", "c.toml"]).ok().json();
    let row = shown["settings"].as_array().unwrap().iter().find(|r| r["key"] == "hooks.session_compact").unwrap().clone();
    assert_eq!((&row["value"], row["source"].as_str().unwrap().ends_with("c.toml:4")), (&json!("touch told"), true));
    for wrong in ["session_compact", "session_after=true"] {
        let out = run.go(&["compact", "s.jsonl", "--hook", wrong]);
        assert_eq!(out.code, 2, "{out}");
        assert!(out.stderr().contains("session_before_tree"), "{out}");
    }
}

#[test]
fn notes_of_a_hook_are_passed_on_clean() {
    let run = Run::of(long());
    let hook = "session_before_compact=printf 'hello\\033]0;title\\007 there\\n' >&2".to_owned();
    let out = hooked(&run, &[COMPACT, &["--json"]].concat(), std::slice::from_ref(&hook)).ok();
    assert!(out.stderr().contains("epitome: s.jsonl: session_before_compact: hello there\n"), "{out}");
    assert_eq!(out.jsons().len(), 1);
    let run = Run::of(long());
    assert_eq!(hooked(&run, &[COMPACT, &["-q"]].concat(), &[hook]).ok().stderr(), "");
}

#[test]
fn an_interrupt_ends_hooks_with_the_run() {
    let run = Run::of(long());
    let mut command = run.command(COMPACT);
    command.args(["--hook", "session_before_compact=touch begun; sleep 3; touch late"]);
    let child = command.spawn().unwrap();
    for _ in 0..500 {
        if run.path("begun").exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(run.end(child).code, 130);
    std::thread::sleep(std::time::Duration::from_millis(3_300));
    assert!(!run.path("late").exists() && run.bytes("s.jsonl") == long());
}

#[test]
fn the_example_hooks_do_what_they_say() {
    let example = |name: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/hooks").join(name).display().to_string();
    let run = Run::new();
    let folder = run.path("work");
    std::fs::create_dir_all(&folder).unwrap();
    let text = String::from_utf8(long()).unwrap().replace("\"cwd\":\"/w\"", &format!("\"cwd\":{}", json!(folder)));
    run.put("s.jsonl", &text);
    let go = |hook: String| {
        let mut command = run.command(&[COMPACT, &["--json", "--hook", &hook]].concat());
        command.env("PATH", std::env::var_os("PATH").unwrap());
        run.end(command.spawn().unwrap()).ok()
    };
    let not_now = |least: &str| go(format!("session_before_compact='{}' {least}", example("not-now.py")));
    let out = not_now("50");
    assert_eq!(out.json()["reason"], "cancelled", "{out}");
    assert!(out.stderr().contains("only 10 messages"), "{out}");
    run.put("work/.no-compact", "");
    assert_eq!(not_now("1").json()["reason"], "cancelled");
    std::fs::remove_file(run.path("work/.no-compact")).unwrap();
    assert!(run.bytes("s.jsonl") == text.as_bytes());
    // No repository: nothing to say. With one: its branch and its file.
    assert_eq!(not_now("1").json()["action"], "compacted");
    run.put("s.jsonl", &text);
    for args in [
        &["init", "-q", "-b", "topic-branch"][..],
        &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "m"],
    ] {
        assert!(std::process::Command::new("git").args(args).current_dir(&folder).status().unwrap().success());
    }
    run.put("work/not-yet.rs", "");
    let out = go(format!("session.compacting='{}'", example("git-context.sh")));
    assert_eq!(out.json()["action"], "compacted");
    let summary = run.last("s.jsonl")["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("topic-branch") && summary.contains("not-yet.rs"), "{summary}");
}
