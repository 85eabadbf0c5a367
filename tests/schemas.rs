//! Every line that `--json` prints is what `assets/schemas/` promises, and the schemas' lists are the code's.
//!
//! The schemas allow no key that they do not name, so a key that is added, renamed or lost fails here first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use epitome::engine::cut::Nothing;
use epitome::engine::prune::Reason as Pruning;
use epitome::engine::serialize::LeftOut;
use epitome::engine::tokens::Tokenizer;
use epitome::engine::trigger::Reason;
use epitome::run::Action;
use epitome::session::{Code, Owner, Role, Severity};
use epitome::store::archive::Kind as Archived;
use jsonschema::Validator;
use serde_json::{Value, json};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All `*.jsonl` below a folder of the repository, sorted.
fn below(folder: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    files.map(walkdir::DirEntry::into_path).filter(|path| path.extension().is_some_and(|x| x == "jsonl")).collect()
}

/// The bundled sessions, and a collection of others when it is there.
fn sessions() -> Vec<PathBuf> {
    let mut all = below(&root().join("testdata"));
    assert!(all.len() > 50, "testdata is not complete");
    let shared = std::env::var_os("EPITOME_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    if corpus.is_dir() {
        all.extend(below(&corpus));
    } else {
        println!("skipped: sessions of {} (not there)", corpus.display());
    }
    all
}

fn epitome(arguments: &[&str], files: &[PathBuf]) -> Output {
    let home = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_epitome"))
        .args(arguments)
        .args(["--json", "--no-config", "--tokenizer", "heuristic", "--now", "2026-03-02T12:00:00Z"])
        .args(files)
        .env_clear()
        .env("HOME", home.path())
        .output()
        .unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(line)))).collect()
}

fn schema(name: &str) -> Value {
    let path = root().join(format!("assets/schemas/{name}.schema.json"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The schema of a command and those of its parts: what `oneOf` says is only that nothing fits, a part says why.
struct Promise {
    whole: Validator,
    report: Validator,
    error: Validator,
    keys: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl Promise {
    fn of(name: &str, report: &str) -> Promise {
        let schema = schema(name);
        assert!(jsonschema::meta::is_valid(&schema), "{name}: no valid schema");
        let part = |part: &str| {
            let schema = json!({"$schema": schema["$schema"], "$ref": format!("#/$defs/{part}"), "$defs": schema["$defs"]});
            jsonschema::validator_for(&schema).unwrap()
        };
        let keys = schema["$defs"][report]["properties"].as_object().unwrap().keys().cloned().collect();
        let whole = jsonschema::validator_for(&schema).unwrap();
        Promise { whole, report: part(report), error: part("error"), keys, seen: BTreeSet::new() }
    }

    fn keeps(&mut self, call: &str, line: &Value) {
        let failed = line.get("error").is_some();
        let part = if failed { &self.error } else { &self.report };
        let wrong: Vec<String> = part.iter_errors(line).map(|e| format!("  {}: {e}", e.instance_path())).collect();
        assert!(wrong.is_empty(), "{call}: {}\n{}", line["path"], wrong.join("\n"));
        assert!(self.whole.is_valid(line), "{call}: {}: fits a part and not the whole", line["path"]);
        if !failed {
            self.seen.extend(line.as_object().unwrap().keys().cloned());
        }
    }
}

const SHOWS: &[&str] = &[
    "overview",
    "tree",
    "path",
    "context",
    "transcript",
    "cut",
    "triggers",
    "sizes",
    "prune",
    "files",
    "summary",
    "frames",
    "revisions",
    "problems",
    "settings",
    "all",
];

#[test]
fn inspect_prints_what_its_schema_says() {
    let sessions = sessions();
    let mut promise = Promise::of("inspect", "report");
    let mut failed = 0;
    let shows = SHOWS.iter().map(|show| vec!["inspect", "--show", show, "--keep-recent-tokens", "200"]);
    let others = [vec!["inspect"], vec!["inspect", "--check"], vec!["inspect", "--exact"], vec!["inspect", "--needs-compaction"]];
    for call in shows.chain(others) {
        let output = epitome(&call, &sessions);
        let lines = lines(&output.stdout);
        assert_eq!(lines.len(), sessions.len(), "{call:?}: one line a session");
        for (line, session) in lines.iter().zip(&sessions) {
            promise.keeps(&call.join(" "), line);
            assert_eq!(line["path"].as_str(), session.to_str());
            failed += usize::from(line.get("error").is_some());
        }
    }
    assert!(failed > 0, "no file failed: the error object was not tested");
    assert_eq!(promise.seen, promise.keys, "keys of the schema that nothing prints");
}

#[test]
fn inspect_with_a_page_prints_what_its_schema_says() {
    let mut promise = Promise::of("inspect", "report");
    let dir = tempfile::tempdir().unwrap();
    let (page, chart) = (dir.path().join("r.html"), dir.path().join("c.svg"));
    let call = ["inspect", "--report", page.to_str().unwrap(), "--chart", chart.to_str().unwrap(), "--overwrite"];
    let mut written = 0;
    for session in below(&root().join("testdata")) {
        let (_, _) = (fs::remove_file(&page), fs::remove_file(&chart));
        let said = lines(&epitome(&call, std::slice::from_ref(&session)).stdout);
        assert_eq!(said.len(), 1, "{}", session.display());
        promise.keeps("inspect --report", &said[0]);
        // A page comes of every session that can be looked at, and of nothing else.
        assert_eq!(page.exists() && chart.exists(), said[0].get("error").is_none(), "{}", session.display());
        written += usize::from(page.exists());
    }
    assert!(written > 50, "{written} pages");
}

#[test]
fn the_settings_alone_fit_the_schema() {
    let lines = lines(&epitome(&["inspect", "--show", "settings"], &[]).stdout);
    let promise = Promise::of("inspect", "report");
    assert_eq!(lines.len(), 1);
    assert!(promise.whole.is_valid(&lines[0]), "{}", lines[0]);
    assert!(!promise.whole.is_valid(&json!({"schema": 1})), "an empty object fits");
}

#[test]
fn compact_prints_what_its_schema_says() {
    let sessions = sessions();
    let mut promise = Promise::of("compact", "receipt");
    let mut reasons = BTreeSet::new();
    let calls: &[&[&str]] = &[
        &["compact", "-n"],
        &["compact", "-n", "--keep-recent-tokens", "200", "--trigger", "manual"],
        &["compact", "-n", "--keep-recent-tokens", "1", "--trigger", "manual", "--summarizer", "truncate"],
        &["compact", "-n", "--keep-recent-tokens", "200", "--threshold", "1%"],
        &["compact", "-n", "--keep-recent-tokens", "200", "--strategy", "off", "--trigger", "manual"],
        &["compact", "-n", "--enabled", "false"],
        &["snapcompact", "-n", "--keep-recent-tokens", "200", "--trigger", "manual", "--allow-growth", "--frame-size", "320"],
        &["compact", "-n", "--keep-from", "no-such-id", "--trigger", "manual"],
        &["compact", "-n", "--strategy", "replace", "--trigger", "manual", "--relevance", "--relevance-threshold", "0.6"],
        &["compact", "-n", "--strategy", "replace", "--trigger", "manual", "--drop-branches", "--context-limit", "400"],
        &["compact", "-n", "--strategy", "handoff", "--trigger", "manual"],
    ];
    for call in calls {
        let lines = lines(&epitome(call, &sessions).stdout);
        assert_eq!(lines.len(), sessions.len(), "{call:?}: one line a session");
        for line in &lines {
            promise.keeps(&call.join(" "), line);
            reasons.extend(line["reason"].as_str().map(str::to_owned));
        }
    }
    assert_eq!(promise.seen, promise.keys, "keys of the schema that nothing prints");
    let never: Vec<String> = strings(&schema("compact")["$defs"]["reason"]["enum"]).difference(&reasons).cloned().collect();
    // A dry run asks no hook.
    let rare = ["just_compacted", "no_safe_cut", "handed_off", "cancelled"];
    assert!(never.iter().all(|reason| rare.contains(&reason.as_str())), "reasons that nothing gives: {never:?}");
}

#[test]
fn compact_of_a_copy_prints_what_its_schema_says() {
    let mut promise = Promise::of("compact", "receipt");
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.jsonl");
    for session in sessions() {
        let call = ["compact", "-o", out.to_str().unwrap(), "--overwrite", "--keep-recent-tokens", "200"];
        let output = epitome(&call, std::slice::from_ref(&session));
        let said = lines(&output.stdout);
        assert_eq!(said.len(), 1, "{}", session.display());
        promise.keeps("compact -o", &said[0]);
        if said[0]["action"] == "compacted" {
            assert_eq!(said[0]["bytes_after"], fs::metadata(&out).unwrap().len(), "{}", session.display());
        }
    }
    // The session on standard output, its receipt on standard error.
    let small = root().join("testdata/sessions/small.jsonl");
    let output = epitome(&["compact", "-o", "-", "--keep-recent-tokens", "2k"], &[small]);
    let said = lines(&output.stderr);
    assert_eq!(said.len(), 1);
    promise.keeps("compact -o -", &said[0]);
    assert!(output.stdout.starts_with(b"{\"type\":\"title\"") || lines(&output.stdout).len() > 30);
}

#[test]
fn a_printed_text_is_told_as_its_schema_says() {
    let schema = jsonschema::validator_for(&schema("snapcompact-text")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("text.txt");
    fs::write(&text, "one\ntwo 日本").unwrap();
    let frames = dir.path().join("frames");
    let (text, frames) = (text.to_str().unwrap(), frames.to_str().unwrap());
    for more in [&["--dry-run"][..], &["--shape", "5x8-bw", "--frame-size", "320"]] {
        let call = [&["snapcompact", "--text", text, "--frames-dir", frames][..], more].concat();
        let said = lines(&epitome(&call, &[]).stdout);
        let wrong: Vec<String> = schema.iter_errors(&said[0]).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:?}: {}", said[0]);
        assert_eq!(said[0]["written"].as_array().unwrap().len(), usize::from(more.len() > 1));
        assert_eq!(said[0]["warnings"].as_array().unwrap().len(), usize::from(more.len() > 1));
    }
}

#[test]
fn prune_prints_what_its_schema_says() {
    let sessions = sessions();
    let mut promise = Promise::of("prune", "pruning");
    let mut reasons = BTreeSet::new();
    let all = &["--protect-tokens", "0", "--min-savings", "0", "--min-result-tokens", "1"];
    let calls: &[(&[&str], &[&str])] = &[
        (&["prune", "-n"], &[]),
        (&["prune", "-n"], all),
        (&["prune", "-n", "--protect-last-turn", "--no-superseded", "--no-useless"], all),
        (&["prune", "-n", "--stale"], &[]),
        (&["prune", "-n", "--append"], all),
        (&["prune", "-n", "--leaf", "no-such-id"], &[]),
        (&["prune", "-n", "--restore", "1"], &[]),
        (&["prune", "-n", "--repair"], &[]),
        (&["prune", "-n", "--repair=dangling-parent,stray-leaf,missing-blob"], &[]),
    ];
    for (call, more) in calls {
        let call = [*call, *more].concat();
        let lines = lines(&epitome(&call, &sessions).stdout);
        assert_eq!(lines.len(), sessions.len(), "{call:?}: one line a session");
        for line in &lines {
            promise.keeps(&call.join(" "), line);
            let results = line["prune"]["results"].as_array().into_iter().flatten();
            reasons.extend(results.map(|result| result["reason"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(promise.seen, promise.keys, "keys of the schema that nothing prints");
    assert!(reasons.len() >= 2, "there are only the reasons {reasons:?}");
}

#[test]
fn branch_summary_prints_what_its_schema_says() {
    let mut promise = Promise::of("branch-summary", "branch");
    let (mut summarized, mut nothing) = (0, 0);
    for session in sessions() {
        let shown = lines(&epitome(&["inspect", "--show", "overview"], std::slice::from_ref(&session)).stdout);
        let leaves: Vec<&str> =
            shown[0]["session"]["leaves"].as_array().into_iter().flatten().filter_map(|leaf| leaf["id"].as_str()).collect();
        let (Some(first), Some(last)) = (leaves.first(), leaves.last()) else { continue };
        let out = epitome(&["branch-summary", "-n", "--from", first, "--to", last], std::slice::from_ref(&session));
        let said = lines(&out.stdout);
        assert_eq!(said.len(), 1, "{}", session.display());
        promise.keeps(&session.display().to_string(), &said[0]);
        let all = lines(&epitome(&["branch-summary", "-n", "--all"], std::slice::from_ref(&session)).stdout);
        promise.keeps(&session.display().to_string(), &all[0]);
        summarized += usize::from(said[0]["action"] == "summarized");
        nothing += usize::from(said[0]["action"] == "nothing");
    }
    assert_eq!(promise.seen, promise.keys, "keys of the schema that nothing prints");
    assert!(summarized > 3 && nothing > 3, "{summarized} summarized, {nothing} with nothing to do");
}

#[test]
fn prune_of_a_copy_prints_what_its_schema_says() {
    let mut promise = Promise::of("prune", "pruning");
    let mut seen = Promise::of("inspect", "report");
    let dir = tempfile::tempdir().unwrap();
    let (out, own) = (dir.path().join("out.jsonl"), dir.path().join("own.jsonl"));
    let all = ["--protect-tokens", "0", "--min-savings", "0", "--min-result-tokens", "1"];
    let mut restored = 0;
    for session in sessions() {
        let call = [&["prune", "-o", out.to_str().unwrap(), "--overwrite"][..], &all].concat();
        let said = lines(&epitome(&call, std::slice::from_ref(&session)).stdout);
        assert_eq!(said.len(), 1, "{}", session.display());
        promise.keeps("prune -o", &said[0]);
        if said[0].get("error").is_none() {
            assert_eq!(said[0]["bytes_after"], fs::metadata(&out).unwrap().len(), "{}", session.display());
        }
        // In place, and back.
        let _ = fs::remove_dir_all(dir.path().join("own.jsonl.archive"));
        fs::copy(&session, &own).unwrap();
        for call in [&[&["prune"][..], &all].concat(), &vec!["prune", "--restore", "1"]] {
            let said = lines(&epitome(call, std::slice::from_ref(&own)).stdout);
            promise.keeps(&call.join(" "), &said[0]);
            restored += usize::from(said[0]["reason"] == "restored");
        }
        let said = lines(&epitome(&["inspect", "--show", "revisions,problems"], std::slice::from_ref(&own)).stdout);
        seen.keeps("inspect of what was pruned", &said[0]);
        if said[0].get("error").is_none() {
            let states = said[0]["revisions"].as_array().unwrap().iter().map(|r| &r["state"]);
            assert!(states.into_iter().all(|state| state == "ok"), "{}", said[0]);
        }
    }
    assert!(restored > 5, "only {restored} sessions were pruned and restored");
    // The session on standard output, its receipt on standard error.
    let small = root().join("testdata/sessions/small.jsonl");
    let output = epitome(&["prune", "-o", "-"], &[small]);
    let said = lines(&output.stderr);
    assert_eq!(said.len(), 1);
    promise.keeps("prune -o -", &said[0]);
    assert!(lines(&output.stdout).len() > 30);
}

#[test]
fn export_prints_and_writes_what_its_schemas_say() {
    let mut promise = Promise::of("export", "exporting");
    let whole = |name: &str| jsonschema::validator_for(&schema(name)).unwrap();
    let (transcript, context, record) = (whole("export-transcript"), whole("export-context"), whole("export-records"));
    let one = schema("export-context");
    let message = json!({"$schema": one["$schema"], "$ref": "#/$defs/message", "$defs": one["$defs"]});
    let message = jsonschema::validator_for(&message).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let calls: &[(&[&str], &Validator, bool)] = &[
        (&["--format", "json"], &transcript, false),
        (&["--format", "json", "--leaf", "all", "--no-redact", "--thinking", "--tool-results", "short"], &transcript, false),
        (&["--format", "json", "--tool-results", "none"], &transcript, false),
        (&["--format", "json", "--context"], &context, false),
        (&["--format", "json", "--context", "--no-redact", "--thinking"], &context, false),
        (&["--format", "jsonl", "--context", "--thinking", "--tool-results", "none"], &message, true),
        (&["--format", "jsonl", "--leaf", "all"], &record, true),
    ];
    for session in sessions() {
        for (more, schema, by_line) in calls {
            let _ = fs::remove_file(&out);
            let call = [&["export", "-o", out.to_str().unwrap()], *more].concat();
            let said = lines(&epitome(&call, std::slice::from_ref(&session)).stdout);
            assert_eq!(said.len(), 1, "{}", session.display());
            promise.keeps(&call.join(" "), &said[0]);
            if said[0].get("error").is_some() {
                assert!(!out.exists(), "a failed export left a file: {}", session.display());
                continue;
            }
            if said[0]["action"] == "nothing" && !out.exists() {
                continue;
            }
            let bytes = fs::read(&out).unwrap();
            assert_eq!(said[0]["bytes_after"], bytes.len(), "{}", session.display());
            let values = if *by_line { lines(&bytes) } else { vec![serde_json::from_slice(&bytes).unwrap()] };
            for value in &values {
                let wrong: Vec<String> = schema.iter_errors(value).map(|e| format!("  {}: {e}", e.instance_path())).collect();
                assert!(wrong.is_empty(), "{call:?} {}\n{}", session.display(), wrong.join("\n"));
            }
        }
    }
    assert_eq!(promise.seen, promise.keys, "keys of the schema that nothing prints");
}

fn strings(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The names of an enumeration. The match knows every variant: a new one does not compile until it is listed.
macro_rules! names {
    ($type:ident by $name:ident: $($variant:ident),+ $(,)?) => {{
        #[allow(dead_code, reason = "only that it compiles counts")]
        fn listed(of: $type) { match of { $($type::$variant)|+ => {} } }
        [$($type::$variant.$name().to_owned()),+].into_iter().collect::<BTreeSet<String>>()
    }};
}

#[test]
fn the_lists_of_the_schemas_are_those_of_the_code() {
    let (inspect, compact, error) = (schema("inspect"), schema("compact"), schema("error"));
    let codes: BTreeSet<String> = Code::ALL.iter().map(|code| code.name().to_owned()).collect();
    let problem = &inspect["$defs"]["problem"]["properties"];
    assert_eq!(strings(&problem["code"]["enum"]), codes);
    assert_eq!(strings(&problem["severity"]["enum"]), names!(Severity by name: Warning, Error));

    let roles = names!(Role by name: User, Developer, System, Assistant, ToolResult, BashExecution, PythonExecution, Custom, HookMessage,
        BranchSummary, CompactionSummary, Unknown);
    assert_eq!(strings(&inspect["$defs"]["role"]["enum"]), roles);
    let session = &inspect["$defs"]["report"]["properties"]["session"]["properties"];
    assert_eq!(strings(&session["owner"]["enum"]), names!(Owner by name: Pi, Omp, Openclaw, Unknown));
    let tokens = &inspect["$defs"]["report"]["properties"]["tokens"]["properties"];
    assert_eq!(strings(&tokens["tokenizer"]["enum"]), names!(Tokenizer by name: O200k, Cl100k, Heuristic));
    let keys: BTreeSet<String> = epitome::settings::NAMES.iter().map(|name| name.key.to_owned()).collect();
    assert_eq!(strings(&inspect["$defs"]["setting"]["properties"]["key"]["enum"]), keys);

    let nothing = names!(Nothing by code: Empty, JustCompacted, Fits, NoSafeCut);
    assert_eq!(strings(&inspect["$defs"]["reasonNothing"]["enum"]), nothing);
    let receipt = &compact["$defs"]["receipt"]["properties"];
    assert_eq!(strings(&receipt["action"]["enum"]), names!(Action by name: Compacted, Promoted, Pruned, Nothing, Refused));
    let triggers = names!(Reason by name: Manual, Overflow, Incomplete, Threshold, Idle);
    assert_eq!(strings(&compact["$defs"]["triggers"]["properties"]["reason"]["enum"]), triggers);
    let left_out = names!(LeftOut by code: FailedTurn, Excluded, Useless, Omitted, Frames, OldReminder, Irrelevant);
    assert_eq!(strings(&receipt["dropped"]["items"]["properties"]["why"]["enum"]), left_out);
    let reasons = strings(&compact["$defs"]["reason"]["enum"]);
    assert!(reasons.is_superset(&nothing));

    let plan = &inspect["$defs"]["prune"]["properties"]["results"]["items"]["properties"];
    assert_eq!(strings(&plan["reason"]["enum"]), names!(Pruning by name: Age, Superseded, Useless));
    let kinds: BTreeSet<String> = Archived::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    assert_eq!(strings(&inspect["$defs"]["revision"]["properties"]["kind"]["enum"]), kinds);

    let errors = strings(&error["$defs"]["error"]["properties"]["error"]["properties"]["code"]["enum"]);
    assert!(errors.is_superset(&codes), "a damaged file is refused with its problem code");
}

#[test]
fn parts_of_the_same_name_are_the_same_in_every_schema() {
    let all =
        ["inspect", "compact", "prune", "branch-summary", "export", "export-transcript", "export-context", "snapcompact-text", "error"]
            .map(schema);
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            for (name, part) in one["$defs"].as_object().unwrap() {
                // A plan's cut is not counted and does not list every place.
                if let Some(same) = other["$defs"].get(name).filter(|_| name != "cut") {
                    assert_eq!(part, same, "{name}");
                }
            }
        }
    }
}

/// Every object says what it may hold, all of it: the other tests rely on that.
#[test]
fn the_schemas_allow_nothing_that_they_do_not_name() {
    fn closed(value: &Value, at: &str) {
        match value {
            Value::Object(map) => {
                if map.get("type") == Some(&json!("object")) {
                    assert_eq!(map.get("additionalProperties"), Some(&json!(false)), "{at}");
                }
                map.iter().for_each(|(key, below)| closed(below, &format!("{at}/{key}")));
            }
            Value::Array(list) => list.iter().for_each(|below| closed(below, at)),
            _ => {}
        }
    }
    for name in ["inspect", "compact", "prune", "branch-summary", "export", "export-transcript", "export-context", "error"] {
        closed(&schema(name), name);
    }
}

#[test]
fn the_json_topic_names_every_key() {
    let output = Command::new(env!("CARGO_BIN_EXE_epitome")).args(["help", "json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words: BTreeSet<&str> = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    let (inspect, compact, error) = (Promise::of("inspect", "report"), Promise::of("compact", "receipt"), schema("error"));
    let (prune, branch) = (Promise::of("prune", "pruning"), Promise::of("branch-summary", "branch"));
    let export = Promise::of("export", "exporting");
    let errors = error["$defs"]["error"]["properties"]["error"]["properties"].as_object().unwrap();
    for key in export.keys.iter().chain(&inspect.keys).chain(&compact.keys).chain(&prune.keys).chain(&branch.keys).chain(errors.keys()) {
        assert!(words.contains(key.as_str()), "help json does not name {key}");
    }
}
