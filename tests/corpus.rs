//! The program over whole folders of sessions: those under `testdata/` always, and a shared corpus when it is there.
//!
//! The corpus is no part of the package. It is looked for in `../shared` beside the package, or where `EPITOME_SHARED` says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr
)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Sessions up to this size are also counted with a vocabulary, which an unoptimized build does slowly.
const SMALL: u64 = 32 << 10;

fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("EPITOME_SHARED").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// The folders of the shared corpus; says so when there is none.
fn corpus() -> Vec<PathBuf> {
    match shared() {
        Some(folder) => vec![folder.join("corpus"), folder.join("corpus/synth")],
        None => {
            println!("skipped: ../shared is not there");
            Vec::new()
        }
    }
}

fn testdata() -> Vec<PathBuf> {
    ["sessions", "damaged", "cases"].map(|f| Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(f)).to_vec()
}

/// The `*.jsonl` of folders, sorted.
fn sessions(folders: &[PathBuf]) -> Vec<PathBuf> {
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|e| e.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "jsonl")).collect();
    files.sort();
    files
}

fn epitome(args: &[&str], session: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    command.args(args).arg(session).arg("--no-config").env_remove("EPITOME_CONFIG");
    command.args(["--now", "2026-02-03T04:05:06Z"]).output().unwrap()
}

/// Runs with `--json`; the one object on standard output, and the exit code.
fn json(args: &[&str], session: &Path) -> (Value, i32) {
    let output = epitome(&[args, &["--json"]].concat(), session);
    let text = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1, "{args:?} {}: one object a session\n{text}\n{stderr}", session.display());
    let object: Value = serde_json::from_str(lines[0]).unwrap_or_else(|e| panic!("{args:?} {}: {e}\n{text}", session.display()));
    assert_eq!(object["schema"], 1);
    assert_eq!(object["path"], session.to_str().unwrap());
    let code = output.status.code().unwrap_or(-1);
    assert!([0, 1, 4].contains(&code), "{args:?} {}: exit {code}\n{stderr}", session.display());
    assert_eq!(code == 1, object.get("error").is_some(), "{args:?} {}: exit {code}, {object}", session.display());
    assert!(!stderr.contains("panicked"), "{stderr}");
    (object, code)
}

/// What a run that only looks must leave as it was.
fn state(path: &Path) -> (Vec<u8>, i64, i64, BTreeSet<String>) {
    let meta = fs::metadata(path).unwrap();
    let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    (Sha256::digest(fs::read(path).unwrap()).to_vec(), meta.mtime(), meta.mtime_nsec(), names.collect())
}

/// Role and id of each message of a context.
fn context(report: &Value) -> Vec<(String, String)> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    report["context"].as_array().unwrap().iter().map(|m| (text(&m["role"]), text(&m["id"]))).collect()
}

fn errors(report: &Value) -> Vec<String> {
    let problems = report["problems"].as_array().unwrap().iter();
    problems.filter(|p| p["severity"] == "error").map(|p| format!("{} {} {}", p["code"], p["line"], p["id"])).collect()
}

/// Where every result is old enough to be pruned.
const ALL: &[&str] = &["--protect-tokens", "0", "--min-savings", "0", "--min-result-tokens", "1"];
const CHARS: &[&str] = &["--tokenizer", "heuristic"];

/// Every command that looks at many sessions, and every dry run of one that writes: each strategy, each measure, each way to
/// restore and repair. A dry run of many decides as `--trigger auto` does, if not told otherwise.
fn looks() -> Vec<Vec<&'static str>> {
    let by_hand = ["compact", "-n", "--trigger", "manual", "--keep-recent-tokens", "1000"];
    let compact = |more: &[&'static str]| [&by_hand, more].concat();
    let prune = |more: &[&'static str]| [&["prune", "-n"], more].concat();
    let measures = [
        "--details",
        "--images",
        "extract=pictures",
        "--args",
        "--custom",
        "state",
        "--max-result",
        "100",
        "--dead-branches",
        "--summarized",
        "--dedupe",
    ];
    vec![
        vec!["inspect", "--show", "all"],
        vec!["inspect", "--exact", "--show", "overview,context,cut,files,sizes", "--keep-recent-tokens", "1000"],
        vec!["inspect", "--check"],
        vec!["inspect", "--needs-compaction"],
        compact(&[]),
        compact(&["--prune"]),
        compact(&["--summarizer", "truncate"]),
        compact(&["--strategy", "off"]),
        compact(&["--strategy", "replace", "--drop-branches"]),
        compact(&["--strategy", "handoff"]),
        compact(&["--strategy", "snapcompact"]),
        vec!["compact", "-n", "--trigger", "auto", "--context-window", "9000", "--auto-continue"],
        vec!["compact", "-n", "--trigger", "idle", "--context-window", "9000"],
        vec!["snapcompact", "-n", "--trigger", "manual", "--keep-recent-tokens", "1000"],
        prune(ALL),
        prune(&["--stale"]),
        prune(&["--leaf", "all", "--keep-errors", "--protect-tokens", "1%", "--min-savings", "0"]),
        prune(&["--append", "--min-savings", "0"]),
        prune(&["--details"]),
        prune(&["--images", "drop"]),
        prune(&["--images", "keep-last=1"]),
        prune(&["--images", "extract=pictures"]),
        prune(&["--args", "--protect-tokens", "0"]),
        prune(&["--custom", "state"]),
        prune(&["--max-result", "100"]),
        prune(&["--dead-branches"]),
        prune(&["--summarized"]),
        prune(&["--dedupe"]),
        prune(&[&measures, ALL].concat()),
        prune(&[&measures[..], &["--no-archive", "--yes"]].concat()),
        prune(&["--restore", "1"]),
        prune(&["--repair"]),
        prune(&["--repair=dangling-parent,stray-leaf,missing-blob,missing-archive,bad-archive"]),
    ]
}

/// What a command prints of a session, and what in the place of it when that fails, as its schema has them: of the whole,
/// which is one or the other, nothing could be said but that it does not fit.
fn schemas(command: &str) -> [jsonschema::Validator; 2] {
    let name = if command == "snapcompact" { "compact" } else { command };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/schemas/{name}.schema.json"));
    let whole: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let parts = whole["oneOf"].as_array().unwrap();
    [&parts[0], &parts[parts.len() - 1]].map(|part| {
        let part = serde_json::json!({"$schema": whole["$schema"], "$ref": part["$ref"], "$defs": whole["$defs"]});
        jsonschema::validator_for(&part).unwrap()
    })
}

/// Runs a command on many sessions: standard output, the exit code and standard error.
fn run(args: &[&str], sessions: &[PathBuf]) -> (String, i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    command.args(args).args(sessions).args(["--no-config", "--now", "2026-02-03T04:05:06Z"]);
    let output = command.env_remove("EPITOME_CONFIG").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap_or(-1), stderr)
}

/// Runs one command on many sessions: one object for each, in order, as the schema has it. Gives them.
fn look(args: &[&str], sessions: &[PathBuf]) -> Vec<Value> {
    let (text, code, stderr) = run(&[args, &["--json"]].concat(), sessions);
    let objects: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{args:?}: {e}\n{line}"))).collect();
    assert_eq!(objects.len(), sessions.len(), "{args:?}: one object a session\n{stderr}");
    let [good, error] = schemas(args[0]);
    for (object, session) in objects.iter().zip(sessions) {
        assert_eq!(object["path"], session.to_str().unwrap());
        let schema = if object.get("error").is_some() { &error } else { &good };
        let wrong: Vec<String> = schema.iter_errors(object).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(wrong.is_empty(), "{args:?} {}: {wrong:?}", session.display());
    }
    let failed = objects.iter().any(|object| object.get("error").is_some());
    assert!(if failed { code == 1 } else { [0, 3, 4].contains(&code) }, "{args:?}: exit {code}\n{stderr}");
    objects
}

/// Looks only: everything parses and is what its schema says, and nothing changes: no byte, no time, no name in a folder.
fn only_look(sessions: &[PathBuf]) {
    let before: Vec<_> = sessions.iter().map(|session| state(session)).collect();
    let small: Vec<PathBuf> = sessions.iter().filter(|session| fs::metadata(session).unwrap().len() <= SMALL).cloned().collect();
    for args in looks() {
        look(&[&args[..], CHARS].concat(), sessions);
    }
    // With a vocabulary, and for people.
    for args in [&["inspect", "--show", "all"][..], &["compact", "-n", "--trigger", "manual"], &[&["prune", "-n"], ALL].concat()] {
        look(args, &small);
        run(&[args, CHARS].concat(), sessions);
    }
    let shown = look(&[&["inspect"][..], CHARS].concat(), sessions);
    for (session, shown) in sessions.iter().zip(shown) {
        let leaves: Vec<&str> =
            shown["session"]["leaves"].as_array().into_iter().flatten().filter_map(|leaf| leaf["id"].as_str()).collect();
        if let [first, .., last] = leaves[..] {
            look(&["branch-summary", "-n", "--tokenizer", "heuristic", "--from", first, "--to", last], std::slice::from_ref(session));
        }
        look(&["branch-summary", "-n", "--all", "--tokenizer", "heuristic"], std::slice::from_ref(session));
        for format in ["md", "html", "jsonl"] {
            look(&["export", "-n", "--format", format, "-o", "nowhere"], std::slice::from_ref(session));
        }
    }
    for (session, before) in sessions.iter().zip(before) {
        assert!(state(session) == before, "{} or its folder changed", session.display());
    }
    assert!(!["pictures", "nowhere"].iter().any(|name| Path::new(name).exists()), "a dry run made a file");
}

/// No writer and no measure is left out above.
#[test]
fn every_writer_and_every_measure_is_looked_at() {
    let looks = looks();
    let all = epitome::cli::command();
    let writers = all.get_subcommands().filter(|command| command.get_arguments().any(|arg| arg.get_long() == Some("dry-run")));
    let writers: Vec<&str> = writers.map(clap::Command::get_name).collect();
    assert!(writers.contains(&"prune") && writers.len() >= 5, "{writers:?}");
    // These two take one session, and are asked for each.
    for name in writers.iter().filter(|name| !["branch-summary", "export"].contains(name)) {
        assert!(looks.iter().any(|look| look[..2] == [*name, "-n"]), "{name} has no dry run here");
    }
    let prune = all.find_subcommand("prune").unwrap();
    let measures: Vec<&str> =
        prune.get_arguments().filter(|arg| arg.get_help_heading() == Some("Size repair")).filter_map(clap::Arg::get_long).collect();
    assert!(measures.len() >= 8, "{measures:?}");
    for measure in measures.into_iter().chain(["stale", "append", "restore", "repair"]) {
        let flag = format!("--{measure}");
        assert!(looks.iter().any(|look| look[0] == "prune" && look.iter().any(|arg| arg.split('=').next() == Some(&flag))), "{flag}");
    }
    let compact = all.find_subcommand("compact").unwrap();
    let strategies = compact.get_arguments().find(|arg| arg.get_long() == Some("strategy")).unwrap().get_possible_values();
    for strategy in strategies.iter().map(clap::builder::PossibleValue::get_name).filter(|name| *name != "context-full") {
        assert!(looks.iter().any(|look| look[0] == "compact" && look.contains(&strategy)), "{strategy}");
    }
}

/// Compacts copies: what is written reads back as it was planned, and a second run has nothing to do.
fn compact_copies(session: &Path) -> bool {
    let bytes = fs::read(session).unwrap();
    let tokenizers: &[&str] = if bytes.len() as u64 <= SMALL { &["heuristic", "o200k"] } else { &["heuristic"] };
    let mut compacted = false;
    for tokenizer in tokenizers {
        compacted |= compact_copy(session, &bytes, &["compact", "--keep-recent-tokens", "1000", "--tokenizer", tokenizer]);
    }
    compacted
}

fn compact_copy(session: &Path, bytes: &[u8], args: &[&str]) -> bool {
    let name = session.display();
    let copies: Vec<(tempfile::TempDir, PathBuf)> = (0..2)
        .map(|_| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s.jsonl");
            fs::write(&path, bytes).unwrap();
            (dir, path)
        })
        .collect();
    let (one, two) = (&copies[0].1, &copies[1].1);
    let look = ["inspect", "--exact", "--show", "context,cut,problems", "--keep-recent-tokens", "1000", "--tokenizer", args[4]];
    let (before, _) = json(&look, one);
    let (receipt, code) = json(args, one);
    let now = fs::read(one).unwrap();
    let action = receipt["action"].as_str().unwrap_or("failed");
    if action != "compacted" {
        assert!(now == bytes, "{name}: changed although {action}");
        assert_eq!(code == 1, action == "failed", "{name}: {receipt}");
        return false;
    }
    let (_, _) = json(args, two);
    assert!(fs::read(two).unwrap() == now, "{name}: two runs wrote different bytes");

    let line = if receipt["archive_revision"].is_null() {
        assert!(now.starts_with(bytes), "{name}: old bytes were changed");
        let added = &now[bytes.len()..];
        let line = added.strip_prefix(b"\n").unwrap_or(added);
        assert!(line.ends_with(b"\n") && line.iter().filter(|b| **b == b'\n').count() == 1, "{name}: more than one line");
        assert!(added.len() == line.len() || !bytes.ends_with(b"\n"), "{name}: a blank line");
        line
    } else {
        // Versions 1 and 2 are written anew, and what they were can be had back.
        let (shown, _) = json(&["inspect", "--show", "overview,revisions"], one);
        assert_eq!(shown["session"]["version"], 3, "{name}");
        let revision = &shown["revisions"][0];
        assert_eq!(
            (&revision["kind"], &revision["state"], &revision["bytes"]),
            (&"migrate".into(), &"ok".into(), &bytes.len().into()),
            "{name}"
        );
        assert_eq!(revision["sha256"], data_encoding::HEXLOWER.encode(&Sha256::digest(bytes)), "{name}");
        now[..now.len() - 1].rsplit(|b| *b == b'\n').next().unwrap()
    };
    let entry: Value = serde_json::from_slice(line).unwrap();
    assert_eq!(entry["id"], receipt["entry_id"], "{name}");
    assert_eq!(receipt["bytes_after"], now.len(), "{name}");

    let (after, _) = json(&look, one);
    assert_eq!(errors(&after), errors(&before), "{name}: the compaction made errors");
    // The new summary, then what was kept of the old context, in its order.
    let first = entry["firstKeptEntryId"].as_str().unwrap();
    let kept_message = before["cut"]["first_kept_message_id"].as_str().unwrap();
    let path = path_ids(session, "message");
    let from = path.iter().position(|id| id == kept_message).unwrap();
    let all = path_ids(session, "");
    assert!(all.iter().position(|id| id == first) <= all.iter().position(|id| id == kept_message), "{name}");
    let kept = &path[from..];
    let mut want = vec![("compactionSummary".to_owned(), entry["id"].as_str().unwrap().to_owned())];
    want.extend(context(&before).into_iter().filter(|(role, id)| role != "system" && kept.contains(id)));
    let got: Vec<_> = context(&after).into_iter().filter(|(role, _)| role != "system").collect();
    assert_eq!(got, want, "{name}");
    assert_eq!(receipt["kept_messages"], kept.len(), "{name}");
    assert!(receipt["counted_after"].as_u64() < receipt["counted_before"].as_u64(), "{name}: {receipt}");
    pairs(&after, &now, &name.to_string());

    let (again, code) = json(args, one);
    assert_eq!((again["action"].as_str(), code), (Some("nothing"), 0), "{name}: {again}");
    assert!(fs::read(one).unwrap() == now, "{name}: the second run wrote");
    true
}

/// Ids of the entries of the active path: only those that are messages, or all.
fn path_ids(session: &Path, what: &str) -> Vec<String> {
    let bytes = fs::read(session).unwrap();
    let session = epitome::session::Session::open(epitome::session::Source::memory(bytes)).unwrap();
    let path = session.active_path();
    let wanted = path.entries.iter().filter(|ix| what.is_empty() || session[**ix].is_message());
    wanted.map(|ix| session.id(*ix).to_owned()).collect()
}

/// No result stands in the context without a call before it, unless the whole file has none.
fn pairs(report: &Value, bytes: &[u8], name: &str) {
    let records: Vec<Value> = bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let message = |id: &str| records.iter().rev().find(|r| r["id"] == id).map_or(&Value::Null, |r| &r["message"]);
    let calls = |message: &Value| -> Vec<String> {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        blocks.iter().filter(|b| b["type"] == "toolCall").filter_map(|b| b["id"].as_str().map(str::to_owned)).collect()
    };
    let everywhere: BTreeSet<String> = records.iter().flat_map(|r| calls(&r["message"])).collect();
    let mut open = BTreeSet::new();
    for (role, id) in context(report) {
        open.extend(calls(message(&id)));
        if role == "toolResult" {
            let call = message(&id)["toolCallId"].as_str().unwrap_or_default().to_owned();
            assert!(open.contains(&call) || !everywhere.contains(&call), "{name}: result {id} is kept without its call {call}");
        }
    }
}

#[test]
fn looking_changes_nothing() {
    only_look(&[sessions(&testdata()), sessions(&corpus())].concat());
}

#[test]
fn compacted_test_sessions_read_back_as_planned() {
    let compacted = sessions(&testdata()).iter().filter(|session| compact_copies(session)).count();
    assert!(compacted >= 10, "only {compacted} of the test sessions were compacted");
}

#[test]
fn compacted_corpus_sessions_read_back_as_planned() {
    let files = sessions(&corpus());
    let compacted = files.iter().filter(|session| compact_copies(session)).count();
    println!("{compacted} of {} sessions were compacted", files.len());
    assert!(files.is_empty() || compacted > files.len() / 3, "only {compacted} of {}", files.len());
}

/// Sessions of versions 1 and 2, however small, become version 3 when they are compacted, and can be had back.
#[test]
fn r27_sessions_of_old_versions_are_migrated_and_their_files_are_kept() {
    let mut migrated = 0;
    for session in [sessions(&testdata()), sessions(&corpus())].concat() {
        let (before, _) = json(&[&["inspect"], CHARS].concat(), &session);
        let is_old = before["session"]["version"].as_u64().is_some_and(|version| version < 3);
        if !is_old || before["path_entries"].as_u64() < Some(3) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("s.jsonl");
        let bytes = fs::read(&session).unwrap();
        fs::write(&copy, &bytes).unwrap();
        let (receipt, _) = json(&[&["compact", "--keep-recent-tokens", "1", "--allow-growth"], CHARS].concat(), &copy);
        let name = session.display();
        assert_eq!((&receipt["action"], &receipt["archive_revision"]), (&"compacted".into(), &1.into()), "{name}: {receipt}");
        let (shown, _) = json(&["inspect", "--show", "overview,revisions,problems"], &copy);
        let revision = &shown["revisions"][0];
        assert_eq!((&shown["session"]["version"], &revision["kind"]), (&3.into(), &"migrate".into()), "{name}");
        assert_eq!(revision["sha256"], data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes)), "{name}");
        assert_eq!(errors(&shown).len(), errors(&before).len(), "{name}: {shown}");
        assert!(epitome(&["export", "--revision", "1"], &copy).stdout == bytes, "{name}: another file came back");
        migrated += 1;
    }
    println!("{migrated} sessions were migrated");
    assert!(migrated >= if shared().is_some() { 8 } else { 2 }, "{migrated}");
}

#[test]
fn decisions_are_those_of_the_reference() {
    let Some(shared) = shared() else {
        println!("skipped: ../shared is not there");
        return;
    };
    let script = shared.join("tools/compare.py");
    let python = Command::new("python3").arg("--version").output();
    if !script.is_file() || !python.is_ok_and(|o| o.status.success()) {
        println!("skipped: python3 or compare.py is not there");
        return;
    }
    for (golden, set) in [("golden/engine/corpus", "corpus"), ("golden/engine/synth", "corpus/synth")] {
        let mut command = Command::new("python3");
        command.arg("-B").arg(&script).arg(env!("CARGO_BIN_EXE_epitome")).arg(shared.join(golden)).arg(shared.join(set));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = text.lines().last().and_then(|line| line.strip_suffix(" passed, 0 failed")).and_then(|n| n.parse::<u32>().ok());
        assert!(passed.is_some_and(|passed| passed > 0), "{golden}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        println!("{golden}: {}", text.trim());
    }
}

/// Every mask in the corpus was looked at: home folders are what they say; of the others these are all, with whether they
/// are secrets. Anything more would be a text shredded, anything less a leak.
#[test]
fn what_exports_mask_in_the_corpus_is_known() {
    let files = sessions(&corpus());
    if files.is_empty() {
        return;
    }
    let known = [
        // A member `secret` of an unknown entry with the value "ignored": the one false positive.
        ("pi-insp-branching.jsonl", "secret", 1),
        ("pi-trace-sanitizer.jsonl", "slack-webhook", 1),
        ("pi-trace-sanitizer.jsonl", "url-password", 1),
    ];
    let (mut found, mut homes) = (Vec::new(), 0);
    for session in &files {
        let name = session.file_name().unwrap().to_str().unwrap();
        let (receipt, _) = json(&["export", "-n", "--format", "json", "--leaf", "all", "--thinking"], session);
        for (kind, count) in receipt["redactions"].as_object().into_iter().flatten() {
            let count = count.as_u64().unwrap();
            match kind.as_str() {
                "home" => homes += count,
                kind => found.push((name, kind.to_owned(), count)),
            }
        }
    }
    let found: Vec<(&str, &str, u64)> = found.iter().map(|(name, kind, count)| (*name, kind.as_str(), *count)).collect();
    assert_eq!(found, known);
    println!("{homes} home folders and 2 secrets masked in {} sessions, 1 mask of what is none", files.len());
    assert!(homes > 1_000, "{homes}");
}
