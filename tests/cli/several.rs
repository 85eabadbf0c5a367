//! Many sessions at once: folders, lists, threads, and what the exit code then means.

use crate::run::Run;

const SESSIONS: [&str; 4] = ["sessions/small.jsonl", "sessions/long.jsonl", "sessions/pi.jsonl", "sessions/openclaw.jsonl"];

fn paths(out: &crate::run::Out) -> Vec<String> {
    out.jsons().iter().map(|v| v["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_is_all_sessions_below_it() {
    let run = Run::with(&["sessions/small.jsonl"]);
    run.put("deep/er/pi.jsonl", std::fs::read(crate::run::testdata("sessions/pi.jsonl")).unwrap());
    run.put("deep/log.jsonl", "{\"type\":\"event\",\"data\":1}\n");
    run.put("deep/notes.txt", "no");
    std::fs::create_dir(run.path("folder.jsonl")).unwrap();
    let out = run.go(&["inspect", ".", "--json"]).ok();
    assert_eq!(paths(&out), ["./deep/er/pi.jsonl", "./small.jsonl"]);
    insta::assert_snapshot!("passed_over", out.stderr());
    assert_eq!(run.go(&["inspect", ".", "-q"]).ok().stderr(), "");
    // The same file named explicitly is an error, and the others are still told.
    let out = run.go(&["inspect", "deep/log.jsonl", "small.jsonl", "--json"]);
    assert_eq!(out.code, 1);
    assert_eq!(paths(&out), ["deep/log.jsonl", "small.jsonl"]);
    assert_eq!(out.jsons()[0]["error"]["code"], "not_a_session");
}

#[test]
fn a_folder_without_sessions_is_nothing() {
    let run = Run::new();
    std::fs::create_dir(run.path("empty")).unwrap();
    assert_eq!(run.go(&["inspect", "empty"]).to_string(), "exit code 0\n");
    assert_eq!(run.go(&["compact", "-i", "empty"]).to_string(), "exit code 0\n");
}

#[test]
fn lists_of_sessions() {
    let run = Run::with(&SESSIONS);
    run.put("-l.jsonl", run.bytes("pi.jsonl"));
    run.put("line\nbreak.jsonl", run.bytes("pi.jsonl"));
    run.put("list", "small.jsonl\r\n\n-l.jsonl\npi.jsonl");
    let out = run.go(&["inspect", "--files-from", "list", "--json"]).ok();
    assert_eq!(paths(&out), ["small.jsonl", "-l.jsonl", "pi.jsonl"]);
    let out = run.feed(&["inspect", "--files-from", "-", "-0", "--json", "long.jsonl"], "line\nbreak.jsonl\0-l.jsonl\0").ok();
    assert_eq!(paths(&out), ["long.jsonl", "line\nbreak.jsonl", "-l.jsonl"]);
    assert_eq!(run.feed(&["inspect", "--files-from", "-"], "").to_string(), "exit code 0\n");
    assert_eq!(run.go(&["inspect", "--files-from", "nowhere"]).code, 1);
}

#[test]
fn several_are_compacted_only_when_their_context_asks_for_it() {
    let run = Run::with(&SESSIONS);
    let before: Vec<_> = SESSIONS.iter().map(|name| run.bytes(name.rsplit('/').next().unwrap())).collect();
    let out = run.go(&["compact", "-i", ".", "--json"]).ok();
    assert!(out.jsons().iter().all(|r| r["action"] == "nothing" && r["reason"] == "no_trigger"), "{out}");
    assert_eq!(run.go(&["compact", "-i", ".", "--exit-code"]).code, 3);
    let out = run.feed(
        &["compact", "-i", "--files-from", "-", "--threshold", "15k", "--exit-code", "--json"],
        "small.jsonl\nlong.jsonl\npi.jsonl\n",
    );
    assert_eq!(out.code, 0, "{out}");
    let actions: Vec<_> = out.jsons().iter().map(|r| r["action"].as_str().unwrap().to_owned()).collect();
    assert_eq!(actions, ["compacted", "compacted", "nothing"]);
    for (name, before) in SESSIONS.iter().zip(before).take(2) {
        let after = run.bytes(name.rsplit('/').next().unwrap());
        assert!(after.len() > before.len() && after.starts_with(&before));
    }
    // One session in a list or a folder is still several.
    run.put("one/pi.jsonl", run.bytes("pi.jsonl"));
    assert_eq!(run.json(&["compact", "-i", "one"])["reason"], "no_trigger");
    assert_eq!(run.go(&["compact", "one"]).code, 2);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let run = Run::with(&SESSIONS);
    for name in ["torn-line", "not-a-session", "parent-cycle", "missing-header"] {
        run.copy(&format!("damaged/{name}.jsonl"));
    }
    for args in [
        &["inspect", ".", "not-a-session.jsonl"][..],
        &["inspect", "--json", "--show", "overview,context,problems", ".", "nowhere.jsonl"],
        &["inspect", "--check", "."],
        &["compact", "-n", ".", "--threshold", "15k"],
        &["compact", "-n", "--json", "--trigger", "manual", "."],
    ] {
        let one = run.go(&[args, &["--jobs", "1"]].concat());
        let four = run.go(&[args, &["--jobs", "4"]].concat());
        assert_eq!(one, four, "{args:?}");
        assert!(!one.stdout.is_empty());
    }
}

#[test]
fn the_worst_of_several_is_the_exit_code() {
    let run = Run::with(&["sessions/small.jsonl", "damaged/orphan-result.jsonl", "damaged/not-a-session.jsonl"]);
    let check = |names: &[&str]| run.go(&[&["inspect", "--check"], names].concat()).code;
    assert_eq!(check(&["small.jsonl"]), 0);
    assert_eq!(check(&["small.jsonl", "orphan-result.jsonl"]), 4);
    assert_eq!(check(&["orphan-result.jsonl", "not-a-session.jsonl", "small.jsonl"]), 1);
    let lock = epitome::store::acquire(&run.path("small.jsonl"), std::time::Duration::from_secs(1)).unwrap();
    let compact = |names: &[&str]| run.go(&[&["compact", "-i", "--trigger", "manual"], names].concat()).code;
    assert_eq!(compact(&["small.jsonl", "orphan-result.jsonl"]), 5);
    assert_eq!(compact(&["small.jsonl", "not-a-session.jsonl"]), 1);
    drop(lock);
    assert_eq!(compact(&["orphan-result.jsonl", "small.jsonl"]), 0);
}

#[test]
fn colour_is_for_terminals() {
    let run = Run::with(&["sessions/small.jsonl"]);
    let coloured = |args: &[&str], env: &[(&str, &str)]| {
        let out = run.go_env(&[&["inspect", "small.jsonl"], args].concat(), env).ok();
        out.stdout.contains(&0x1b)
    };
    assert!(!coloured(&[], &[]));
    assert!(coloured(&["--color", "always"], &[]));
    assert!(!coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!coloured(&["--json", "--color", "always"], &[]));
    // Receipts on standard error obey the same flag.
    let receipt =
        |color: &str| run.go_env(&["compact", "small.jsonl", "-v", "-o", "-", "--color", color], &[("CLICOLOR_FORCE", "1")]).ok().stderr;
    assert!(receipt("always").contains(&0x1b));
    assert!(!receipt("never").contains(&0x1b));
}
