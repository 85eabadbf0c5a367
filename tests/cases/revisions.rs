//! Rewritten files: their archives, the way back, other programs at the same file, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, SystemTime};

use epitome::store::archive::{self, Reference};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::answer;
use crate::prune::{ALL, CHARS, Talk, differences, prune, pruned};
use crate::run::{Run, codes};
use crate::sessions as s;

const FOLDER: &str = "s.jsonl.archive";

fn session() -> Run {
    let mut talk = Talk::new();
    for n in 0..8 {
        talk.call("read", json!({"path": format!("f{n}.txt")}), 4_000 + n * 400);
        talk.ask();
    }
    talk.run()
}

fn check(run: &Run, more: &[&str]) -> Value {
    run.json(&[&["inspect", "--check", "s.jsonl"], more].concat())
}

/// The references of a session, by revision.
pub(crate) fn references(run: &Run, name: &str) -> BTreeMap<u64, Reference> {
    let bytes = run.bytes(name);
    let lines = bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let lines = lines.filter(|line| line["customType"] == "epitome.archive");
    lines.map(|line| Reference::from_json(&line["data"]).unwrap()).map(|r| (r.revision, r)).collect()
}

pub(crate) fn content(folder: &Path, reference: &Reference) -> Vec<u8> {
    let mut bytes = Vec::new();
    archive::open(folder, reference, Some("s1")).unwrap().copy(&mut bytes).unwrap();
    bytes
}

/// Every file below a folder with its bytes and time.
pub(crate) fn everything(dir: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let entries = walkdir::WalkDir::new(dir).into_iter().map(Result::unwrap);
    entries
        .map(|entry| {
            let bytes = if entry.file_type().is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
            let time = entry.metadata().unwrap().modified().unwrap();
            (entry.path().display().to_string(), (bytes, time))
        })
        .collect()
}

#[test]
fn a_dry_run_changes_nothing_at_all() {
    let run = session();
    let before = everything(&run.path(""));
    let receipt = prune(&run, &[ALL, &["-n"]]);
    assert_eq!((&receipt["action"], &receipt["dry_run"], &receipt["archive_revision"]), (&json!("pruned"), &json!(true), &Value::Null));
    assert!(receipt["bytes_after"].as_u64() < receipt["bytes_before"].as_u64());
    run.go(&["inspect", "s.jsonl", "--show", "prune,revisions"]).ok();
    assert!(everything(&run.path("")) == before);
    // Nor does one of a restore.
    pruned(&run, &[ALL]);
    let before = everything(&run.path(""));
    let receipt = prune(&run, &[&["-n", "--restore", "1"]]);
    assert_eq!((&receipt["reason"], &receipt["dry_run"]), (&json!("restored"), &json!(true)), "{receipt}");
    assert!(everything(&run.path("")) == before);
}

#[test]
fn the_archive_holds_the_file_as_it_was() {
    let run = session();
    let before = run.bytes("s.jsonl");
    pruned(&run, &[ALL]);
    let all = references(&run, "s.jsonl");
    let reference = &all[&1];
    assert_eq!((reference.bytes, reference.file.as_str(), reference.generation), (before.len() as u64, "1-prune.epa", 0));
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&before));
    assert_eq!(reference.sha256, digest);
    assert!(content(&run.path(FOLDER), reference) == before);
    let list = run.json(&["inspect", "s.jsonl", "--show", "revisions"])["revisions"].clone();
    assert_eq!(
        list,
        json!([{"revision": 1, "generation": 0, "kind": "prune", "sha256": digest, "bytes": before.len(), "file": "1-prune.epa", "state": "ok"}])
    );
}

#[test]
fn a_copy_has_no_references() {
    let run = session();
    pruned(&run, &[ALL, &["--protect", "path:f[0-3].txt"]]);
    let before = everything(&run.path(""));
    for (more, changed) in [(&[][..], true), (&["--protect", "path:*"], false)] {
        let receipt = prune(&run, &[ALL, &["-o", "copy.jsonl", "--overwrite"], more]);
        assert_eq!((&receipt["action"] == "pruned", &receipt["archive_revision"]), (changed, &Value::Null), "{receipt}");
        assert!(!run.text("copy.jsonl").contains("epitome.archive"));
        assert_eq!(run.json(&["inspect", "--check", "copy.jsonl"])["problems"], json!([]));
        let leaf = |name: &str| run.json(&["inspect", name])["leaf"].clone();
        assert_eq!(leaf("copy.jsonl"), leaf("s.jsonl"));
        let shown = |name: &str| run.json(&["inspect", name, "--show", "context"])["context"].as_array().unwrap().len();
        assert_eq!(shown("copy.jsonl"), shown("s.jsonl"));
        fs::remove_file(run.path("copy.jsonl")).unwrap();
    }
    let mut after = everything(&run.path(""));
    after.retain(|path, _| path != &run.path("").display().to_string());
    assert!(after.iter().all(|(path, what)| before.get(path) == Some(what)));
    // An older revision too.
    pruned(&run, &[ALL]);
    let receipt = prune(&run, &[&["--restore", "2", "-o", "old.jsonl"]]);
    assert_eq!((&receipt["reason"], receipt["bytes_after"].as_u64()), (&json!("restored"), Some(run.bytes("old.jsonl").len() as u64)));
    assert!(run.text("old.jsonl").matches("prunedAt").count() == 4 && !run.text("old.jsonl").contains("epitome.archive"));
    // From standard input to standard output.
    let out = run.feed(&[&["prune", "-"], ALL].concat(), run.bytes("s.jsonl")).ok();
    assert!(!out.stdout().contains("epitome.archive") && out.stdout().matches("prunedAt").count() == 8, "{out}");
}

#[test]
fn r27_an_old_session_is_migrated_when_it_is_pruned() {
    let mut lines = vec![json!({"type": "session", "id": "s1", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/w"}).to_string()];
    for n in 0..3 {
        let call = json!({"type": "toolCall", "id": format!("c{n}"), "name": "read", "arguments": {"path": "a.rs"}});
        let result = json!({"role": "toolResult", "toolCallId": format!("c{n}"), "toolName": "read", "isError": false,
            "content": [{"type": "text", "text": s::words_from(n * 9000, 8_000)}]});
        for message in [json!({"role": "user", "content": "read it"}), json!({"role": "assistant", "content": [call]}), result] {
            lines.push(json!({"type": "message", "timestamp": "2025-01-01T00:00:01.000Z", "message": message}).to_string());
        }
    }
    let run = Run::of(s::file(&lines));
    let before = run.bytes("s.jsonl");
    let seen = run.json(&["inspect", "s.jsonl", "--show", "context"]);
    let receipt = prune(&run, &[ALL]);
    assert_eq!((&receipt["action"], &receipt["archive_revision"]), (&json!("pruned"), &json!(1)));
    let shown = run.json(&["inspect", "s.jsonl", "--show", "overview,context"]);
    assert_eq!(shown["session"]["version"], 3);
    let ids = |report: &Value| crate::run::ids(&report["context"]).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(ids(&shown), ids(&seen));
    assert_eq!(check(&run, &[])["problems"], json!([]));
    assert!(content(&run.path(FOLDER), &references(&run, "s.jsonl")[&1]) == before);
}

#[test]
fn damaged_sessions_are_refused() {
    let codes = [
        ("damaged/missing-header.jsonl", "missing-header"),
        ("damaged/duplicate-id-differs.jsonl", "duplicate-id"),
        ("damaged/parent-cycle.jsonl", "parent-cycle"),
    ];
    for (file, code) in codes {
        let run = Run::with(&[file]);
        let name = file.rsplit('/').next().unwrap();
        let before = everything(&run.path(""));
        for more in [&[][..], &["-o", "copy.jsonl"]] {
            let out = run.go(&[&["prune", name, "--json"], ALL, more].concat());
            assert_eq!((out.code, &out.json()["error"]["code"]), (1, &json!(code)), "{file} {more:?}\n{out}");
        }
        assert!(everything(&run.path("")) == before, "{file}");
    }
}

#[test]
fn a_line_that_stands_twice_does_not_come_to_differ() {
    let mut talk = Talk::new();
    talk.call("bash", json!({"command": "ls"}), 8_000);
    let twice = talk.lines.last().unwrap().clone();
    talk.lines.push(twice);
    talk.put("end", |parent| answer("end", parent.unwrap(), "done"));
    let run = Run::of(s::file(&talk.lines));
    let old = codes(&check(&run, &[])).len();
    let out = run.go(&[&["prune", "s.jsonl", "--json"], ALL].concat()).ok();
    assert_eq!(out.json()["pruned_results"], 1, "{out}");
    let after = check(&run, &[]);
    assert_eq!(codes(&after).len(), old, "{after}\n{}", run.text("s.jsonl"));
    assert!(after["problems"].as_array().unwrap().iter().all(|p| p["severity"] == "warning"), "{after}");
}

#[test]
fn r16_eight_prunes_at_once() {
    for round in 0..3 {
        let run = session();
        let before = run.bytes("s.jsonl");
        let args = [&["prune", "s.jsonl", "--json"], ALL].concat();
        let children: Vec<Child> = (0..8).map(|_| run.command(&args).spawn().unwrap()).collect();
        let outs: Vec<_> = children.into_iter().map(|child| run.end(child)).collect();
        let mut done = 0;
        for out in &outs {
            assert!([0, 5].contains(&out.code), "{round}\n{out}");
            done += usize::from(out.code == 0 && out.json()["action"] == "pruned");
        }
        assert_eq!(done, 1, "{round}: what is pruned is not pruned again");
        differences(&before, &run.bytes("s.jsonl"));
        assert_eq!(check(&run, &[])["problems"], json!([]), "{round}");
        assert_eq!(run.names(), ["s.jsonl", FOLDER]);
        let names: Vec<_> = fs::read_dir(run.path(FOLDER)).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["1-prune.epa"]);
        assert!(content(&run.path(FOLDER), &references(&run, "s.jsonl")[&1]) == before);
    }
}

#[test]
fn r17_a_line_that_was_appended_meanwhile_is_there() {
    // The prune has read and planned, and waits for the lock that an agent holds while it appends.
    for wait in [0, 50, 150, 300] {
        let run = session();
        let path = run.path("s.jsonl");
        let lock = epitome::store::acquire(&path, Duration::from_millis(500)).unwrap();
        let child = run.command(&[&["prune", "s.jsonl", "--json"], ALL].concat()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        let line = s::user("new", "end", "a question meanwhile");
        let mut file = fs::File::options().append(true).open(&path).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
        file.sync_all().unwrap();
        drop(lock);
        let out = run.end(child);
        assert!([0, 5].contains(&out.code), "{out}");
        let last = run.last("s.jsonl");
        assert_eq!(last["message"]["content"], "a question meanwhile", "{wait}\n{out}");
        assert_eq!(run.json(&["inspect", "s.jsonl"])["leaf"], "new");
        if out.code == 0 {
            assert_eq!(out.json()["bytes_after"], run.bytes("s.jsonl").len(), "{wait}\n{out}");
            let pruned = run.lines("s.jsonl").iter().filter(|line| line["message"]["prunedAt"].is_number()).count();
            assert_eq!(pruned, 8, "{wait}");
        }
        assert_eq!(check(&run, &[])["problems"], json!([]), "{wait}");
    }
}

#[test]
fn r17_a_lock_that_is_not_let_go_is_a_conflict() {
    let run = session();
    let before = run.bytes("s.jsonl");
    let lock = epitome::store::acquire(&run.path("s.jsonl"), Duration::from_millis(500)).unwrap();
    let out = run.go(&[&["prune", "s.jsonl", "--json"], ALL].concat());
    assert_eq!((out.code, &out.json()["error"]["code"]), (5, &json!("locked")), "{out}");
    drop(lock);
    assert!(run.bytes("s.jsonl") == before);
    assert_eq!(check(&run, &[])["problems"], json!([]), "an archive or a temporary file is left over");
}

#[test]
fn r23_a_link_stays_a_link_and_a_private_file_private() {
    for mode in [0o600, 0o644, 0o640] {
        let run = session();
        fs::create_dir(run.path("real")).unwrap();
        fs::rename(run.path("s.jsonl"), run.path("real/r.jsonl")).unwrap();
        fs::set_permissions(run.path("real/r.jsonl"), fs::Permissions::from_mode(mode)).unwrap();
        symlink("real/r.jsonl", run.path("s.jsonl")).unwrap();
        let receipt = prune(&run, &[ALL]);
        assert_eq!(receipt["action"], "pruned");
        assert_eq!(fs::read_link(run.path("s.jsonl")).unwrap(), Path::new("real/r.jsonl"));
        let mode_of = |name: &str| fs::metadata(run.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode_of("real/r.jsonl"), mode);
        // The archives stand beside the real file and are nobody else's.
        assert_eq!((mode_of("real/r.jsonl.archive"), mode_of("real/r.jsonl.archive/1-prune.epa")), (0o700, 0o600));
        assert_eq!(run.names(), ["real", "s.jsonl"]);
        assert_eq!(check(&run, &[])["problems"], json!([]));
        assert_eq!(prune(&run, &[&["--restore", "1"]])["reason"], "restored");
        assert_eq!(mode_of("real/r.jsonl"), mode);
    }
}

/// Twelve rewrites in a row; after each the session is sound and every revision is there byte for byte.
#[test]
fn every_revision_of_twelve_rewrites_can_be_had_back() {
    let run = session();
    let keep = |n: usize| format!("path:f[{n}-9].txt");
    let mut steps: Vec<Vec<String>> = Vec::new();
    for n in [2, 4, 6] {
        steps.push(vec!["--protect".to_owned(), keep(n)]);
    }
    let restore = |n: u64| vec!["--restore".to_owned(), n.to_string()];
    steps.extend([restore(1), vec!["--min-result-tokens".into(), "1200".into()], restore(3), restore(5), vec![], restore(2), restore(6)]);
    steps.extend([vec!["--protect".to_owned(), keep(7)], restore(4)]);
    assert_eq!(steps.len(), 12);

    let mut revisions: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let context = |run: &Run| run.json(&["inspect", "s.jsonl", "--show", "context", "--tokenizer", "heuristic"])["context"].clone();
    let mut contexts: BTreeMap<u64, Value> = BTreeMap::new();
    for (step, more) in (1_u64..).zip(&steps) {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        revisions.insert(step, run.bytes("s.jsonl"));
        contexts.insert(step, context(&run));
        let args: &[&str] = if more.first() == Some(&"--restore") { &[] } else { ALL };
        let receipt = prune(&run, &[args, &more]);
        assert_eq!((&receipt["action"], &receipt["archive_revision"]), (&json!("pruned"), &json!(step)), "{step}: {receipt}");
        assert_eq!(receipt["bytes_after"], run.bytes("s.jsonl").len(), "{step}");
        if let [_, restored] = more[..]
            && receipt["reason"] == "restored"
        {
            let restored: u64 = restored.parse().unwrap();
            assert_eq!(receipt["restored_revision"], restored);
            assert_eq!(context(&run), contexts[&restored], "{step}: the context is that of revision {restored}");
            // But for references and the parents that they change, the lines are those of the revision.
            let bare = |bytes: &[u8]| {
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                let mut lines: Vec<String> = text.lines().filter(|l| !l.contains("epitome.archive")).map(str::to_owned).collect();
                let mut last: Value = serde_json::from_str(&lines.pop().unwrap()).unwrap();
                last["parentId"].take();
                (lines, last)
            };
            assert_eq!(bare(&run.bytes("s.jsonl")), bare(&revisions[&restored]), "{step}");
        }
        assert_eq!(check(&run, &[])["problems"], json!([]), "{step}");
        let all = references(&run, "s.jsonl");
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), (1..=step).collect::<Vec<_>>(), "{step}");
        for (revision, bytes) in &revisions {
            assert!(content(&run.path(FOLDER), &all[revision]) == *bytes, "{step}: revision {revision}");
        }
        let listed = run.json(&["inspect", "s.jsonl", "--show", "revisions"])["revisions"].clone();
        assert!(listed.as_array().unwrap().iter().all(|r| r["state"] == "ok"));
        assert_eq!(listed[0]["revision"], step, "newest first");
    }
}

#[test]
fn a_revision_that_is_not_there_or_damaged_is_not_restored() {
    let failed = |run: &Run, revision: &str, code: &str| {
        let before = everything(&run.path(""));
        let out = run.go(&["prune", "s.jsonl", "--json", "--restore", revision]);
        assert_eq!((out.code, &out.json()["error"]["code"]), (1, &json!(code)), "{out}");
        assert!(everything(&run.path("")) == before, "{code}");
    };
    let run = session();
    failed(&run, "1", "refused");
    pruned(&run, &[ALL]);
    failed(&run, "2", "refused");
    let archive = run.path(FOLDER).join("1-prune.epa");
    let good = fs::read(&archive).unwrap();
    for at in [0, 9, 15, 30, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&archive, bad).unwrap();
        failed(&run, "1", "bad-archive");
    }
    fs::write(&archive, &good[..good.len() - 1]).unwrap();
    failed(&run, "1", "bad-archive");
    fs::remove_file(&archive).unwrap();
    failed(&run, "1", "missing-archive");
    fs::write(&archive, good).unwrap();
    assert_eq!(prune(&run, &[&["--restore", "1"]])["reason"], "restored");
    let piped = run.feed(&["prune", "-", "--json", "--restore", "1"], run.bytes("s.jsonl"));
    assert_eq!(piped.code, 1, "{piped}");
}

#[test]
fn without_an_archive_only_when_it_is_said_twice() {
    let run = session();
    let before = everything(&run.path(""));
    for args in [&["--no-archive"][..], &["--yes"]] {
        let out = run.go(&[&["prune", "s.jsonl"], ALL, args].concat());
        assert_eq!(out.code, 2, "{out}");
    }
    assert!(everything(&run.path("")) == before);
    let lines = run.lines("s.jsonl").len();
    let receipt = prune(&run, &[ALL, &["--no-archive", "--yes"]]);
    assert_eq!((&receipt["action"], &receipt["archive_revision"]), (&json!("pruned"), &Value::Null));
    assert_eq!((run.names(), run.lines("s.jsonl").len()), (vec!["s.jsonl".to_owned()], lines));
    assert_eq!(run.json(&["inspect", "s.jsonl", "--show", "revisions"])["revisions"], json!([]));
}

#[test]
fn a_check_names_what_is_wrong_with_archives() {
    let run = session();
    pruned(&run, &[ALL, &["--protect", "path:f[2-9].txt"]]);
    pruned(&run, &[ALL]);
    let archive = run.path(FOLDER).join("1-prune.epa");
    let good = fs::read(&archive).unwrap();
    let found = |code: i32, want: &[(&str, &str)]| {
        let out = run.go(&["inspect", "--check", "--json", "s.jsonl"]);
        let report = out.json();
        let list = report["problems"].as_array().unwrap();
        let got: Vec<(&str, &str)> = list.iter().map(|p| (p["code"].as_str().unwrap(), p["severity"].as_str().unwrap())).collect();
        assert_eq!((out.code, got), (code, want.to_vec()), "{out}");
    };
    let state = || run.json(&["inspect", "s.jsonl", "--show", "revisions"])["revisions"][1]["state"].clone();
    found(0, &[]);
    fs::remove_file(&archive).unwrap();
    found(0, &[("missing-archive", "warning")]);
    assert_eq!(state(), "missing");
    assert_eq!(run.go(&["inspect", "--check", "--fail-on", "warning", "s.jsonl"]).code, 4);
    assert_eq!(run.go(&["inspect", "--check", "--fail-on", "warning", "--allow", "missing-archive", "s.jsonl"]).code, 0);
    let mut bad = good.clone();
    bad[40] ^= 0x10;
    fs::write(&archive, bad).unwrap();
    found(4, &[("bad-archive", "error")]);
    assert_eq!(state(), "bad");
    fs::write(&archive, &good).unwrap();
    fs::write(run.path(FOLDER).join("7-prune.epa"), &good).unwrap();
    found(0, &[("unreferenced-archive", "warning")]);
    fs::remove_file(run.path(FOLDER).join("7-prune.epa")).unwrap();
    fs::write(run.path(FOLDER).join(".1-prune.epa.x.tmp"), "").unwrap();
    found(0, &[("stray-temp", "warning")]);
    fs::remove_file(run.path(FOLDER).join(".1-prune.epa.x.tmp")).unwrap();
    found(0, &[]);
    // A reference that somebody made up leads nowhere.
    let text = run.text("s.jsonl").replace("\"1-prune.epa\"", "\"../s.jsonl\"");
    run.put("s.jsonl", text);
    found(4, &[("bad-archive", "error"), ("unreferenced-archive", "warning")]);
}

#[test]
fn archives_of_many_sessions_in_a_folder_of_their_own() {
    let run = session();
    let there: &[&str] = &["--archive-dir", "kept"];
    let before = run.bytes("s.jsonl");
    // A folder that is not there is rather a slip of the pen than a wish.
    assert_eq!(run.go(&[&["prune", "s.jsonl"], ALL, there].concat()).code, 1);
    assert!(run.bytes("s.jsonl") == before && run.names() == ["s.jsonl"]);
    fs::create_dir(run.path("kept")).unwrap();
    let receipt = prune(&run, &[ALL, there]);
    assert_eq!(receipt["archive_revision"], 1, "{receipt}");
    assert_eq!(run.names(), ["kept", "s.jsonl"]);
    assert!(content(&run.path("kept/s1.archive"), &references(&run, "s.jsonl")[&1]) == before);
    assert_eq!(check(&run, there)["problems"], json!([]));
    assert_eq!(codes(&check(&run, &[])), ["missing-archive"], "beside the session there is none");
    assert_eq!(run.go(&["prune", "s.jsonl", "--restore", "1"]).code, 1);
    let env = [("EPITOME_ARCHIVE_DIR", "kept")];
    assert_eq!(run.go_env(&["prune", "s.jsonl", "--restore", "1", "--json"], &env).json()["reason"], "restored");
    assert_eq!(check(&run, there)["problems"], json!([]));
    // Moved and renamed, the session still finds them.
    fs::create_dir(run.path("elsewhere")).unwrap();
    fs::rename(run.path("s.jsonl"), run.path("elsewhere/t.jsonl")).unwrap();
    let list = run.json(&[&["inspect", "elsewhere/t.jsonl", "--show", "revisions"], there].concat())["revisions"].clone();
    assert_eq!((&list[0]["state"], &list[1]["state"]), (&json!("ok"), &json!("ok")));
}

#[test]
fn several_sessions_are_pruned_only_in_place_and_each_for_itself() {
    let run = session();
    run.put("b.jsonl", run.bytes("s.jsonl"));
    run.put("c.jsonl", "no session");
    let args = [&["prune", "s.jsonl", "b.jsonl", "c.jsonl", "--json"], ALL].concat();
    assert_eq!(run.go(&args).code, 2);
    let out = run.go(&[args.as_slice(), &["--in-place"]].concat());
    let actions: Vec<Value> = out.jsons().iter().map(|o| o["action"].clone()).collect();
    assert_eq!((out.code, actions), (1, vec![json!("pruned"), json!("pruned"), Value::Null]), "{out}");
    assert_eq!(run.names(), ["b.jsonl", "b.jsonl.archive", "c.jsonl", "s.jsonl", FOLDER]);
    assert!(run.bytes("b.jsonl") == run.bytes("s.jsonl"), "the same input gives the same bytes");
}

#[test]
fn a_compaction_goes_on_from_a_pruned_session_and_pruning_from_a_compacted() {
    let run = session();
    pruned(&run, &[ALL, &["--protect", "path:f[4-9].txt"]]);
    let receipt = run.json(&[&["compact", "s.jsonl", "--keep-recent-tokens", "3k", "--allow-growth"], CHARS].concat());
    assert_eq!(receipt["action"], "compacted", "{receipt}");
    let receipt = prune(&run, &[ALL]);
    assert_eq!(receipt["action"], "pruned", "{receipt}");
    assert_eq!(run.last("s.jsonl")["type"], "compaction");
    assert_eq!(check(&run, &[])["problems"], json!([]));
    assert_eq!(references(&run, "s.jsonl").len(), 2);
    // Back to before both.
    assert_eq!(prune(&run, &[&["--restore", "1"]])["reason"], "restored");
    assert_eq!(run.last("s.jsonl")["id"], "end");
    assert_eq!(check(&run, &[])["problems"], json!([]));
}

#[test]
fn a_folder_of_archives_is_used_without_a_new_archive_and_named_when_it_is_missing() {
    let run = session();
    let before = run.bytes("s.jsonl");
    let lost = run.go(&["prune", "s.jsonl", "--archive-dir", "no/such", "--min-savings", "0", "--protect-tokens", "0"]);
    assert_eq!(lost.code, 1);
    assert!(
        lost.stderr().contains("no/such") && lost.stderr().contains("hint: make the folder that --archive-dir names"),
        "{}",
        lost.stderr()
    );
    assert!(run.bytes("s.jsonl") == before);
    fs::create_dir(run.path("kept")).unwrap();
    let there: &[&str] = &["--archive-dir", "kept"];
    prune(&run, &[ALL, there]);
    assert!(run.bytes("s.jsonl") != before);
    let elsewhere = run.go(&["prune", "s.jsonl", "--restore", "1"]);
    assert!(elsewhere.stderr().contains("hint: archives stand in SESSION.archive"), "{}", elsewhere.stderr());
    let receipt = prune(&run, &[&["--restore", "1", "--no-archive", "--yes"], there]);
    assert_eq!((&receipt["reason"], &receipt["archive_revision"]), (&json!("restored"), &Value::Null), "{receipt}");
}

#[test]
fn a_reference_leaves_the_files_own_leaf_where_it_is_when_another_branch_is_pruned() {
    let text = s::words(8_000);
    let mut lines = vec![s::header(), s::user("u1", s::ROOT, "go")];
    for n in 1..3 {
        let (call, reply, result) = (format!("c{n}"), format!("a{n}"), format!("t{n}"));
        lines.push(s::assistant(&reply, "u1", json!([s::call(&call, "bash", json!({"command": "ls"}))])));
        lines.push(s::tool_result(&result, &*reply, &call, "bash", &text));
    }
    let run = Run::of(s::file(&lines));
    assert_eq!(prune(&run, &[ALL, &["--leaf", "t1"]])["action"], "pruned");
    let lines = run.lines("s.jsonl");
    assert_eq!(lines.last().unwrap()["id"], "t2");
    assert_eq!(lines.last().unwrap()["parentId"], lines[lines.len() - 2]["id"]);
    assert_eq!(run.json(&["inspect", "s.jsonl"])["leaf"], "t2");
}

#[test]
fn sessions_of_every_version_are_put_back() {
    for (file, small) in [("v1.jsonl", "1"), ("v2.jsonl", "1")] {
        let run = Run::with(&[&format!("sessions/{file}")]);
        let old = run.bytes(file);
        run.go(&["compact", file, "--allow-growth", "--keep-recent-tokens", small]).ok();
        let plan = run.json(&["prune", "--restore", "1", "-n", file]);
        let done = run.json(&["prune", "--restore", "1", file]);
        assert_eq!(plan["bytes_after"], done["bytes_after"], "{file}");
        assert_eq!(run.go(&["inspect", "--check", file]).code, 0, "{file}");
        // It is of version 3 now, as everything is that refers to archives; the bytes as they were are in the archive.
        assert_eq!(run.lines(file)[0]["version"], 3);
        let entries = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'\n').count();
        assert_eq!(entries(&run.bytes(file)), entries(&old) + 2, "{file}: all entries and two references");
        run.go(&["export", "--revision", "1", "-o", "old.jsonl", file]).ok();
        assert!(run.bytes("old.jsonl") == old, "{file}");
        run.go(&["prune", "--restore", "2", file]).ok();
        assert_eq!(run.go(&["inspect", "--check", file]).code, 0, "{file}");
    }
}

#[test]
fn a_session_that_loses_its_header_keeps_its_archives() {
    let mut lines = vec![s::user("u1", None, "do it")];
    lines.push(s::assistant("a1", "u1", json!([s::tx("done")])));
    let run = Run::of(s::file(&lines));
    fs::create_dir(run.path("ar")).unwrap();
    let dir = ["--archive-dir", "ar"];
    run.go(&[&["prune", "--repair", "s.jsonl"], &dir[..]].concat()).ok();
    for revision in ["1", "2", "3"] {
        run.go(&[&["prune", "--restore", revision, "s.jsonl"], &dir[..]].concat()).ok();
        let shown = run.json(&[&["inspect", "--show", "revisions", "s.jsonl"], &dir[..]].concat());
        let states: Vec<&Value> = shown["revisions"].as_array().unwrap().iter().map(|r| &r["state"]).collect();
        assert!(states.iter().all(|state| *state == "ok"), "{revision}: {states:?}");
    }
    assert_eq!(fs::read_dir(run.path("ar")).unwrap().count(), 1, "all of them lie together");
}

#[test]
fn a_plan_tells_the_bytes_that_come_of_it() {
    let run = session();
    let args = [&["prune", "s.jsonl"], ALL].concat();
    let plan = run.json(&[&args[..], &["-n"]].concat());
    assert_eq!(plan["bytes_after"], run.json(&args)["bytes_after"]);
    assert_eq!(run.bytes("s.jsonl").len(), plan["bytes_after"]);
}

#[test]
fn r20_bytes_of_lines_that_stay_stay() {
    // Not even those that no reader can decode: in the last entry, which gets another parent, and in lines of a list.
    let odd = b"th\x80\x81\\ud83dks".as_slice();
    let with_odd = |bytes: Vec<u8>| {
        let at = bytes.windows(4).rposition(|w| w == b"odd!").unwrap();
        [&bytes[..at], odd, &bytes[at + 4..]].concat()
    };
    let mut talk = Talk::new();
    for n in 0..4 {
        talk.call("read", json!({"path": format!("f{n}.txt")}), 4_000);
    }
    let run = talk.run();
    let mut bytes = run.bytes("s.jsonl");
    let leaf = run.last("s.jsonl")["id"].as_str().unwrap().to_owned();
    bytes.extend_from_slice(s::user("zz", leaf.as_str(), "odd!").as_bytes());
    bytes.push(b'\n');
    run.put("s.jsonl", with_odd(bytes));
    run.go(&[&["prune", "s.jsonl"], ALL].concat()).ok();
    assert!(run.bytes("s.jsonl").windows(odd.len()).any(|w| w == odd));
    run.go(&["prune", "--restore", "1", "s.jsonl"]).ok();
    assert!(run.bytes("s.jsonl").windows(odd.len()).any(|w| w == odd));

    let list = "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"odd!\"}}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"b\"}}\n";
    let run = Run::of(with_odd(list.as_bytes().to_vec()));
    run.go(&["compact", "s.jsonl", "--allow-growth", "--keep-recent-tokens", "1"]).ok();
    assert!(run.bytes("s.jsonl").windows(odd.len()).any(|w| w == odd));
    assert!(run.bytes("s.jsonl").windows(11).any(|w| w == b"\"version\":3"));
}

#[test]
fn numbers_beyond_all_bounds_hide_nothing() {
    let rule = "Never delete the database, whatever happens.";
    let mut lines = vec![s::header(), s::user("first", None, rule).replacen("\"role\"", "\"timestamp\":1e400,\"role\"", 1)];
    let last = crate::turns(&mut lines, Some("first"), 1, 6, 800);
    lines.push(s::user("end", last.as_str(), "go on").replacen("\"role\"", "\"timestamp\":-1e999,\"role\"", 1));
    let run = Run::of(s::file(&lines));
    assert!(run.go(&["compact", "-n", "s.jsonl", "--keep-recent-tokens", "300"]).ok().stdout().contains(rule));
    assert!(run.go(&["export", "s.jsonl", "--format", "text"]).ok().stdout().contains(rule));
    run.go(&["compact", "s.jsonl", "--keep-recent-tokens", "300"]).ok();
    run.go(&["prune", "--args", "--summarized", "s.jsonl"]).ok();
    assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0);
}

#[test]
fn r01_a_rewrite_tells_of_what_is_broken() {
    let whole = session().bytes("s.jsonl");
    let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
    let torn = [&whole[..], b"{\"type\":\"mess"].concat();
    let dangling = [lines[0], &lines[2..].concat()].concat();
    for (bytes, said) in
        [(torn, "1 damaged line is left as it is; inspect --check tells which"), (dangling, "whose parent is not in the file")]
    {
        let run = Run::of(bytes);
        for more in [&["-n"][..], &[]] {
            let out = run.json(&[&["prune", "s.jsonl"], ALL, more].concat());
            assert!(out["action"] == "pruned" && out["warnings"].to_string().contains(said), "{out}");
        }
    }
    // A dry run promises nothing that is refused.
    let run = Run::with(&["damaged/parent-cycle.jsonl"]);
    let (dry, real) = (run.go(&["prune", "-n", "parent-cycle.jsonl"]), run.go(&["prune", "parent-cycle.jsonl"]));
    assert_eq!((dry.code, real.code), (1, 1), "{dry}{real}");
    assert_eq!(dry.stderr(), real.stderr());
    assert!(dry.stderr().contains("prune --repair mends it"), "{dry}");
}
