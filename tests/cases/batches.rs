//! Many sessions at once: which of them are changed, where to, and what is told at the end.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::run::Run;
use crate::sessions as s;
use crate::{answer, turns};

/// A session of some 2,000 tokens.
fn large() -> Vec<u8> {
    let mut lines = vec![s::header()];
    turns(&mut lines, None, 1, 6, 800);
    s::file(&lines)
}

fn little() -> Vec<u8> {
    s::file(&[s::header(), s::user("u1", s::ROOT, "hello"), answer("a1", "u1", "hello")])
}

const LOW: &[&str] = &["--threshold", "500", "--keep-recent-tokens", "300"];

fn low<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, LOW].concat()
}

/// Ten sessions, of which every second one asks for a compaction.
fn ten() -> Run {
    let run = Run::new();
    for n in 0..10 {
        run.put(&format!("all/d{}/s{n}.jsonl", n / 4), if n % 2 == 0 { large() } else { little() });
    }
    run
}

fn asking(run: &Run, folder: &str) -> Vec<String> {
    let out = run.go(&low(&["inspect", folder, "--needs-compaction", "-l"]));
    out.stdout().lines().map(str::to_owned).collect()
}

#[test]
fn i07_three_damaged_of_five_hundred_stop_nobody() {
    let run = Run::new();
    for n in 0..500 {
        run.put(&format!("all/s{n:03}.jsonl"), if n % 50 == 0 { large() } else { little() });
    }
    for (name, damage) in [("s003", "malformed-line"), ("s250", "parent-cycle"), ("s499", "not-a-session")] {
        run.put(&format!("all/{name}.jsonl"), std::fs::read(crate::run::testdata(&format!("damaged/{damage}.jsonl"))).unwrap());
    }
    let out = run.go(&low(&["compact", "-i", "all", "--json", "--jobs", "3"]));
    let receipts = out.jsons();
    // The cycle asks for nothing, so nobody has to write to it; what is no session is passed over.
    assert_eq!((out.code, receipts.len()), (0, 499), "{}", out.stderr());
    assert!(receipts.iter().map(|r| r["path"].as_str().unwrap()).is_sorted());
    assert_eq!(receipts.iter().filter(|r| r["action"] == "compacted").count(), 9);
    let saved: u64 = receipts
        .iter()
        .filter(|r| r["action"] == "compacted")
        .map(|r| r["counted_before"].as_u64().unwrap() - r["counted_after"].as_u64().unwrap())
        .sum();
    let [passed, totals] =
        out.stderr().lines().filter(|line| !line.contains("damaged lines")).map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(passed, "epitome: 1 file passed over: no session");
    let grouped = if saved >= 1_000 { format!("{},{:03}", saved / 1_000, saved % 1_000) } else { saved.to_string() };
    assert_eq!(totals, format!("epitome: 499 sessions: compacted 9, nothing 490; {grouped} tokens saved"));
    // Where it does ask, it is refused, and the others are not.
    let out = run.go(&low(&["compact", "-i", "all/s250.jsonl", "all/s001.jsonl", "nowhere.jsonl", "--trigger", "manual", "--json"]));
    let words: Vec<Value> = out.jsons().iter().map(|r| r.get("error").map_or_else(|| r["action"].clone(), |e| e["code"].clone())).collect();
    assert_eq!((out.code, words), (1, vec![json!("parent-cycle"), json!("nothing"), json!("io")]), "{out}");
    assert!(out.stderr().ends_with("epitome: 3 sessions: nothing 1, failed 2\n"), "{out}");
}

#[test]
fn the_first_ones_are_changed_whatever_the_threads() {
    let mut results = BTreeSet::new();
    for jobs in ["1", "2", "4", "16"] {
        for limit in 1..=6 {
            let run = ten();
            let number = limit.to_string();
            let out = run.go(&low(&["compact", "-i", "all", "--limit", &number, "--jobs", jobs])).ok();
            let changed: Vec<usize> = (0..10).filter(|n| run.bytes(&format!("all/d{}/s{n}.jsonl", n / 4)).len() > large().len()).collect();
            let want: Vec<usize> = (0..5).map(|n| n * 2).take(limit).collect();
            assert_eq!(changed, want, "{jobs} threads, limit {limit}");
            let left = out.stderr().contains("not looked at, the limit was reached");
            assert_eq!(left, limit < 6 && want.last() != Some(&9), "{}", out.stderr());
            results.insert((limit, out.stdout(), out.stderr()));
        }
    }
    assert_eq!(results.len(), 6, "the number of threads makes a difference");
    // What was not changed does not count, nor does a dry run write.
    let run = ten();
    let out = run.go(&low(&["compact", "-n", "all", "--limit", "2", "--json"])).ok();
    let actions: Vec<Value> = out.jsons().iter().map(|r| r["action"].clone()).collect();
    assert_eq!(actions, ["compacted", "nothing", "compacted"]);
    assert_eq!(asking(&run, "all").len(), 5);
    assert_eq!(run.go(&["compact", "-i", "all", "--limit", "0"]).code, 2);
    assert!(run.go(&low(&["compact", "-i", "-q", "all"])).ok().stderr().is_empty());
}

#[test]
fn copies_lie_as_the_sessions_do() {
    let run = ten();
    let before: Vec<Vec<u8>> = (0..10).map(|n| run.bytes(&format!("all/d{}/s{n}.jsonl", n / 4))).collect();
    assert!(!run.path("out").exists());
    run.go(&low(&["compact", "all", "--out-dir", "out/new", "-n"])).ok();
    assert!(!run.path("out").exists(), "a dry run makes no folder");
    run.go(&low(&["compact", "all", "--out-dir", "out/new"])).ok();
    for (n, old) in before.iter().enumerate() {
        assert!(run.bytes(&format!("all/d{}/s{n}.jsonl", n / 4)) == *old);
        let copy = run.bytes(&format!("out/new/d{}/s{n}.jsonl", n / 4));
        assert!(copy.starts_with(old) && (copy.len() > old.len()) == (n % 2 == 0), "s{n}");
    }
    // Existing ones are refused, unless they may be replaced.
    let again = run.go(&low(&["compact", "all", "--out-dir", "out/new", "--json"]));
    assert_eq!(again.code, 1);
    assert!(again.jsons().iter().all(|r| r["error"]["code"] == "exists"), "{again}");
    run.go(&low(&["compact", "all", "--out-dir", "out/new", "--overwrite"])).ok();
    // A file that was named goes by its name.
    run.go(&low(&["compact", "all/d0/s0.jsonl", "--trigger", "auto", "--out-dir", "one"])).ok();
    assert!(run.bytes("one/s0.jsonl").len() > before[0].len());
    assert_eq!(run.go(&["prune", "all/d0/s1.jsonl", "--out-dir", "pruned"]).ok().code, 0);
    assert!(run.bytes("pruned/s1.jsonl") == before[1]);
}

#[test]
fn a_copy_never_takes_the_place_of_another_session() {
    let run = Run::new();
    run.put("a/s.jsonl", large());
    run.put("b/s.jsonl", little());
    let out = run.go(&["compact", "a", "b", "--out-dir", "out"]);
    assert_eq!(out.code, 2, "{out}");
    assert!(out.stderr().contains("a/s.jsonl and b/s.jsonl would have the same name, s.jsonl"), "{out}");
    for args in [["compact", "a", "--out-dir", "b", "--overwrite"], ["compact", "a", "--out-dir", "a", "--overwrite"]] {
        // The one is no session that was named and may be replaced, the other is the source.
        let out = run.go(&low(&args));
        assert_eq!(out.code, if args[3] == "a" { 2 } else { 0 }, "{out}");
    }
    assert!(run.bytes("a/s.jsonl") == large());
    let out = run.go(&["compact", "a", "b/s.jsonl", "--out-dir", ".", "--overwrite"]);
    assert_eq!(out.code, 2, "{out}");
    std::os::unix::fs::symlink(run.path("a"), run.path("link")).unwrap();
    let out = run.go(&["compact", "a", "--out-dir", "link", "--overwrite"]);
    assert!(out.code == 2 && out.stderr().contains("would take the place of a session"), "{out}");
    // The same session twice is one session.
    let out = run.go(&low(&["compact", "a/s.jsonl", "a/s.jsonl", "a", "--out-dir", "twice", "--json"])).ok();
    assert_eq!(out.jsons().len(), 1, "{out}");
    for other in [["-i"].as_slice(), &["-o", "x.jsonl"]] {
        assert_eq!(run.go(&[&["compact", "a", "--out-dir", "out"], other].concat()).code, 2);
    }
    assert_eq!(run.feed(&["compact", "-", "--out-dir", "out"], large()).code, 2);
}

#[test]
fn copies_carry_no_references_to_archives() {
    let run = Run::with(&["sessions/v1.jsonl"]);
    let prune = ["--protect-tokens", "0", "--min-savings", "0", "--min-result-tokens", "1"];
    run.go(&["compact", "v1.jsonl", "--allow-growth", "--keep-recent-tokens", "1"]).ok();
    assert!(run.text("v1.jsonl").contains("archive"), "the migration was archived");
    run.go(&[&["prune", "v1.jsonl", "--out-dir", "out"], &prune[..]].concat()).ok();
    assert_eq!(run.json(&["inspect", "out/v1.jsonl", "--show", "revisions"])["revisions"], json!([]));
    assert_eq!(run.go(&["inspect", "--check", "out/v1.jsonl"]).code, 0);
}

#[test]
fn shares_are_all_and_none_twice() {
    let run = ten();
    let names = |args: &[&str], env: &[(&str, &str)]| -> Vec<String> {
        let out = run.go_env(&[&["inspect", "--json"], args].concat(), env).ok();
        out.jsons().iter().map(|r| r["path"].as_str().unwrap().to_owned()).collect()
    };
    let all = names(&["all"], &[]);
    let shares: Vec<Vec<String>> = (1..=3).map(|k| names(&["all", "--shard", &format!("{k}/3")], &[])).collect();
    let mut union = shares.concat();
    union.sort();
    assert_eq!(union, all);
    assert!(shares.iter().all(|share| share.len() < 10));
    for (k, share) in shares.iter().enumerate() {
        let index = k.to_string();
        assert_eq!(&names(&["all", "--shard", "auto"], &[("CIRCLE_NODE_INDEX", &index), ("CIRCLE_NODE_TOTAL", "3")]), share);
        // It is the place below the folder that counts, not the folder's name or what else is there.
        let other = names(&["./all", "--shard", &format!("{}/3", k + 1)], &[]);
        assert_eq!(other.iter().map(|path| path.trim_start_matches("./").to_owned()).collect::<Vec<_>>(), *share);
    }
    std::fs::remove_file(run.path("all/d0/s0.jsonl")).unwrap();
    for (k, share) in shares.iter().enumerate() {
        let left: Vec<String> = share.iter().filter(|path| !path.ends_with("s0.jsonl")).cloned().collect();
        assert_eq!(names(&["all", "--shard", &format!("{}/3", k + 1)], &[]), left);
    }
    let none = run.go(&["compact", "-i", "all", "--shard", "auto"]);
    assert!(none.code == 2 && none.stderr().contains("hint: say which share this is"), "{none}");
    assert_eq!(run.go(&["inspect", "all", "--shard", "4/3"]).code, 2);
}

#[test]
fn a_list_of_those_that_need_it_goes_into_the_next_command() {
    let names: [&[u8]; 6] = [b"plain.jsonl", b"with blanks.jsonl", b"-i.jsonl", b"-", b"line\nbreak.jsonl", b"\xff\xfe.jsonl"];
    let run = Run::new();
    let path = |name: &[u8]| run.path("").join(std::ffi::OsStr::from_bytes(name));
    for name in names {
        std::fs::write(path(name), large()).unwrap();
    }
    run.put("little.jsonl", little());
    // A folder lists only *.jsonl, so the file that is called - comes by a list of its own.
    let mut list = run.go(&low(&["inspect", ".", "--needs-compaction", "-l", "-0"])).ok().stdout;
    list.extend(b"-\0");
    assert_eq!(list.iter().filter(|b| **b == 0).count(), names.len());
    let asked = run.feed(&low(&["inspect", "--files-from", "-", "-0", "--needs-compaction", "-l"]), &list).ok();
    assert!(asked.stdout == list, "what a list names comes back as it was");
    let out = run.feed(&low(&["compact", "--files-from", "-", "-0", "-i"]), &list).ok();
    assert!(out.stderr().ends_with("tokens saved\n") && out.stderr().starts_with("epitome: 6 sessions: compacted 6; "), "{out}");
    for name in names {
        assert!(std::fs::read(path(name)).unwrap().len() > large().len());
    }
    assert!(run.bytes("little.jsonl") == little());
    // Now none needs it: nothing is printed, and the next command has nothing to do.
    let none = run.go(&low(&["inspect", ".", "--needs-compaction", "-l"]));
    assert_eq!((none.code, none.stdout().as_str()), (3, ""));
    assert_eq!(run.feed(&low(&["compact", "--files-from", "-", "-i"]), "").to_string(), "exit code 0\n");
    // Lines end a path where NUL does not.
    let lines = run.feed(&low(&["compact", "--files-from", "-", "-i", "--trigger", "manual"]), "with blanks.jsonl\r\n-i.jsonl\n-\n").ok();
    assert!(lines.stderr().contains("3 sessions"), "{lines}");
}

#[test]
fn questions_answer_as_grep_does() {
    let run = ten();
    let code = |args: &[&str]| run.go(&low(&[&["inspect", "--needs-compaction", "-l"], args].concat())).code;
    assert_eq!(code(&["all"]), 0);
    assert_eq!(code(&["all/d0/s1.jsonl", "all/d0/s3.jsonl"]), 3);
    assert_eq!(code(&["all/d0/s0.jsonl", "all/d0/s1.jsonl"]), 0);
    assert_eq!(code(&["all/d0/s0.jsonl", "nowhere.jsonl"]), 1);
    std::fs::create_dir(run.path("empty")).unwrap();
    assert_eq!(code(&["empty"]), 3);
    // Broken ones by -l of a check, from the severity on that fails.
    for name in ["orphan-result", "torn-line"] {
        run.put(&format!("all/{name}.jsonl"), std::fs::read(crate::run::testdata(&format!("damaged/{name}.jsonl"))).unwrap());
    }
    let list = |args: &[&str]| {
        let out = run.go(&[&["inspect", "--check", "-l", "all"], args].concat());
        (out.code, out.stdout())
    };
    assert_eq!(list(&[]), (4, "all/orphan-result.jsonl\n".to_owned()));
    assert_eq!(list(&["--fail-on", "warning"]), (4, "all/orphan-result.jsonl\nall/torn-line.jsonl\n".to_owned()));
    assert_eq!(list(&["--fail-on", "warning", "--allow", "torn-line,unanswered-call"]), (4, "all/orphan-result.jsonl\n".to_owned()));
    assert_eq!(list(&["--allow", "orphan-result"]), (0, String::new()));
    assert_eq!(list(&["-0"]).1, "all/orphan-result.jsonl\0");
    for wrong in [
        &["inspect", "all", "-l"][..],
        &["inspect", "all", "--check", "-l", "--json"],
        &["inspect", "all", "--needs-compaction", "--check"],
    ] {
        assert_eq!(run.go(wrong).code, 2, "{wrong:?}");
    }
}

#[test]
fn sessions_behind_links_are_found_and_each_is_worked_on_once() {
    let run = Run::new();
    run.put("a/s.jsonl", large());
    run.put("elsewhere.jsonl", large());
    std::os::unix::fs::symlink("../elsewhere.jsonl", run.path("a/link.jsonl")).unwrap();
    std::os::unix::fs::symlink("nowhere.jsonl", run.path("a/.#lock.jsonl")).unwrap();
    let found = |args: &[&str]| -> Vec<String> {
        let out = run.go(&[args, &["--json"]].concat());
        out.jsons().iter().map(|o| o["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(found(&["inspect", "a"]), ["a/link.jsonl", "a/s.jsonl"]);
    std::os::unix::fs::symlink("s.jsonl", run.path("a/t.jsonl")).unwrap();
    assert_eq!(found(&["inspect", "a"]), ["a/link.jsonl", "a/s.jsonl"]);
    assert_eq!(found(&["inspect", "a", "a/s.jsonl", "elsewhere.jsonl", "./a"]), ["a/link.jsonl", "a/s.jsonl"]);
    run.put("list", "a/s.jsonl\na/s.jsonl\n");
    assert_eq!(found(&["prune", "-i", "--files-from", "list", "--protect-tokens", "0", "--min-savings", "0"]), ["a/s.jsonl"]);
}

#[test]
fn receipts_say_where_the_result_went() {
    let run = Run::new();
    run.put("s.jsonl", large());
    let out = run.go(&low(&["compact", "s.jsonl", "-o", "to.jsonl"])).ok();
    assert!(out.stdout().starts_with("s.jsonl → to.jsonl: compacted"), "{out}");
    assert_eq!(run.json(&low(&["compact", "s.jsonl", "-o", "other.jsonl"]))["output"], "other.jsonl");
    assert_eq!(run.json(&low(&["compact", "s.jsonl", "--out-dir", "out"]))["output"], "out/s.jsonl");
    assert_eq!(run.json(&["prune", "s.jsonl", "--details", "-o", "p.jsonl"])["output"], "p.jsonl");
    assert_eq!(run.json(&low(&["compact", "s.jsonl"]))["output"], json!(null));
}

#[test]
fn a_dry_run_promises_no_file_that_could_not_be_made() {
    let run = Run::new();
    run.put("s.jsonl", large());
    run.put("there.jsonl", "x");
    for command in [&["compact", "s.jsonl"][..], &["prune", "s.jsonl"], &["export", "s.jsonl"]] {
        for (target, said) in [("there.jsonl", "exists"), ("none/x.jsonl", "cannot create"), (".", "is a folder")] {
            let args = [command, &["-o", target]].concat();
            let (dry, real) = (run.go(&[&args[..], &["-n"]].concat()), run.go(&args));
            assert_eq!((dry.code, real.code), (1, 1), "{args:?} {dry}{real}");
            assert!(dry.stderr().contains(said), "{args:?} {dry}");
        }
        run.go(&[command, &["-o", "there.jsonl", "--overwrite", "-n"]].concat()).ok();
    }
    run.put("out/s.jsonl", "x");
    assert_eq!(run.go(&["prune", "s.jsonl", "--details", "--out-dir", "out", "-n"]).code, 1);
    assert_eq!(run.go(&["prune", "s.jsonl", "--details", "--out-dir", "new", "-n"]).code, 0);
    assert!(run.go(&["export", "s.jsonl", "-n", "-o", "s.jsonl", "--overwrite"]).stderr().contains("is a session"));
    assert_eq!(run.names(), ["out", "s.jsonl", "there.jsonl"]);
}
