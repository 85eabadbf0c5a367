//! Keys and tokens: what is sent, kept and said holds none of them.

use serde_json::json;

use crate::clients::{COMPACT, Client, GOOD, go, long, side_by_side};
use crate::run::{Out, Run};
use crate::server::{Answer, Server, status};
use crate::sessions as s;
use crate::{answer, turns};

#[test]
fn c25_secrets_are_masked_in_what_is_sent_and_kept() {
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 0, 1, 500);
    lines.push(s::user("u", last.as_str(), format!("the token is {secret} and postgres://u:p4ssw0rd@h/db")));
    lines.push(answer("v", "u", "ok"));
    turns(&mut lines, Some("v"), 2, 4, 2_000);
    for client in Client::ALL {
        for (flag, sent) in [(None, false), (Some("--no-redact"), true)] {
            // The model says the secret back.
            let server = Server::new(vec![client.says(&format!("{GOOD}\n- token {secret}"), "stop")]);
            let run = Run::of(s::file(&lines));
            let args: Vec<&str> = COMPACT.iter().copied().chain(flag).collect();
            let out = go(&run, &args, &client.args(&server), &[]).ok();
            assert!(server.got().iter().any(|got| got.raw.contains(&secret)) == sent, "{client:?} {flag:?}");
            assert_eq!(server.got()[0].raw.contains("p4ssw0rd"), sent);
            assert_eq!(out.stderr().contains("--no-redact"), sent, "{out}");
            // What is kept is masked all the same.
            assert!(!run.last("s.jsonl").to_string().contains(&secret));
            assert!(!out.stdout().contains(&secret) && !out.stderr().contains(&secret));
        }
    }
}

/// Every file below a folder, also those that nobody lists.
fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    all
}

const KEYS: [(&str, &str); 3] = [
    ("EPITOME_API_KEY", "PLANTED-own.0123456789"),
    ("OPENAI_API_KEY", "PLANTED-openai.0123456789"),
    ("ANTHROPIC_API_KEY", "PLANTED-anthropic.0123456789"),
];

fn holds_no_key(run: &Run, out: &Out, what: &str) {
    let mut all = files(&run.path(""));
    all.extend([("stdout".to_owned(), out.stdout.clone()), ("stderr".to_owned(), out.stderr.clone())]);
    for revision in 1..3_u8 {
        let old = run.go_env(&["export", "s.jsonl", "--revision", &revision.to_string()], &KEYS);
        all.push((format!("revision {revision}"), [old.stdout, old.stderr].concat()));
    }
    let shown = run.go_env(&["inspect", "s.jsonl", "--show", "all", "--json"], &KEYS);
    all.push(("inspect".to_owned(), [shown.stdout, shown.stderr].concat()));
    for (name, bytes) in all {
        assert!(memchr::memmem::find(&bytes, b"PLANTED").is_none(), "{what}: {name}: {}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_key_is_never_printed_or_stored() {
    let strategies: [&[&str]; 3] =
        [COMPACT, &["compact", "s.jsonl", "--strategy", "handoff", "--json"], &["compact", "s.jsonl", "--strategy", "replace", "--json"]];
    // Hooks say the keys, too, and get what others said.
    let hooks = [
        "session_before_compact=cat > before.json; env >&2",
        "session.compacting=cat > compacting.json; echo \"{\\\"context\\\":[\\\"$OPENAI_API_KEY\\\"],\\\"preserveData\\\":{\\\"k\\\":\\\"$EPITOME_API_KEY\\\"}}\"",
        "session_compact=cat > told.json; echo \"$ANTHROPIC_API_KEY\" >&2",
    ];
    let hooks: Vec<&str> = hooks.iter().flat_map(|hook| ["--hook", hook]).collect();
    let mut jobs = Vec::new();
    for (client, keys) in Client::EVERY.into_iter().flat_map(|client| [(client, &KEYS[..]), (client, &KEYS[1..])]) {
        let every = keys.iter().map(|(_, key)| *key).collect::<Vec<_>>().join(" and ");
        let echoed = format!("{GOOD}\n- the keys are {every}");
        let bad = json!({"error": {"message": format!("Incorrect API key provided: {every}")}}).to_string();
        let answers = [
            client.says(&echoed, "stop"),
            status(401, &bad),
            status(500, &format!("<html>{every}</html>")),
            Answer::Drop,
            client.says(&format!("<invoke>{every}"), "stop"),
            crate::server::json(&json!({"error": every})),
        ];
        for (at, answer) in answers.into_iter().enumerate() {
            // The ways differ little; each answer meets each of them with some client. Every other time there is no key of our
            // own, so that the provider's goes out.
            if at % 2 == 3 - keys.len() {
                jobs.push((client, at, answer, strategies[(at + client as usize) % strategies.len()], keys));
            }
        }
    }
    side_by_side(jobs, |(client, at, answer, strategy, keys)| {
        let what = format!("{client:?}, {at}, {strategy:?}");
        let server = Server::new(vec![answer]);
        let run = Run::of(long());
        let args = [strategy, &["-vv", "--progress", "always"], &hooks].concat();
        let out = go(&run, &args, &client.args(&server), keys);
        let sent = server.got()[0].headers.iter().any(|line| line.contains("PLANTED"));
        assert_eq!(sent, keys.len() == 3 || client != Client::Endpoint, "{what}");
        assert!(server.got().iter().all(|got| !got.raw.contains("PLANTED")), "{what}");
        assert_eq!(out.code == 0, at == 0, "{what}: {out}");
        assert!(run.path("before.json").exists() && run.path("told.json").exists() == (at == 0), "{what}");
        assert!(out.stderr().contains("[redacted key]"), "{what}: {out}");
        holds_no_key(&run, &out, &what);
    });
    // A program that writes summaries says them, too.
    let run = Run::of(long());
    let program = ["--summarizer", "command", "--summarizer-command", "env >&2; echo '## Goal'; env | sed 's/^/- /'"].map(str::to_owned);
    let out = go(&run, &[COMPACT, &hooks].concat(), &program, &KEYS).ok();
    assert!(run.last("s.jsonl")["summary"].as_str().unwrap().contains("[redacted"));
    holds_no_key(&run, &out, "command");
}

#[test]
fn a_key_that_stands_in_the_session_is_sent_to_nobody() {
    let mut lines = vec![s::header(), s::user("u", s::ROOT, format!("it is {}", KEYS[1].1))];
    turns(&mut lines, Some("u"), 0, 5, 2_000);
    for client in Client::EVERY {
        let server = Server::new(vec![client.says(GOOD, "stop")]);
        let run = Run::of(s::file(&lines));
        let hook = ["--hook", "session_before_compact=cat > before.json"];
        go(&run, &[COMPACT, &hook].concat(), &client.args(&server), &KEYS).ok();
        assert!(!server.got()[0].raw.contains("PLANTED") && server.got()[0].raw.contains("it is [redacted"), "{client:?}");
        assert!(!run.text("before.json").contains("PLANTED"));
    }
}

#[test]
fn a_password_in_an_address_is_named_nowhere() {
    // A password in an address goes where it belongs, and is named nowhere.
    let server = Server::new(vec![status(404, "{}")]);
    let run = Run::of(long());
    let base = server.address.replace("http://", "http://user:hunter2pass@");
    let client = ["--summarizer", "openai", "--summarizer-model", "m", "--base-url", &base].map(str::to_owned);
    let out = go(&run, COMPACT, &client, &[]);
    assert_eq!(out.code, 1);
    assert!(!out.to_string().contains("hunter2pass"), "{out}");
    let shown = run.go_env(&["inspect", "s.jsonl", "--show", "settings"], &[("EPITOME_BASE_URL", &base)]).ok();
    assert!(!shown.to_string().contains("hunter2pass"), "{shown}");
}
