//! What must not get out with an export, wherever in a session it stands, and what must not be taken for it.

use serde_json::json;

use crate::answer;
use crate::export::{FORMATS, session, text_of};
use crate::run::Run;
use crate::sessions::{self, ROOT};

/// Secrets of several kinds, put together at run time.
fn secrets() -> Vec<String> {
    let noise = |seed: usize, len: usize| -> String {
        (0..len).map(|i| char::from(b"aZ3kQ9mB7xW2pL5rT8vN4cJ6hD1gF0sYeUiO"[(i * 11 + i / 7 + seed * 5) % 36])).collect()
    };
    vec![format!("ghp_{}", noise(1, 36)), format!("sk-ant-api03-{}", noise(2, 60)), format!("AKIA{}", noise(3, 16).to_uppercase())]
}

#[test]
fn e05_a_secret_in_any_field_of_any_entry_gets_out_in_no_format() {
    for secret in secrets() {
        let s = secret.as_str();
        let args = json!({"path": format!("/w/{s}.txt"), "command": format!("curl -H 'X: {s}'"), s: s, "deep": [{"a": [s]}], "content": format!("{}{s}{}", "x ".repeat(990), " y".repeat(900))});
        let image = json!({"type": "image", "mimeType": s, "data": s});
        let header =
            json!({"type": "session", "version": 3, "id": s, "timestamp": s, "cwd": format!("/w/{s}"), "title": s, "parentSession": s})
                .to_string();
        let all = json!({"summary": s, "shortSummary": s, "fromId": s, "firstKeptEntryId": s, "method": s, "details": {"readFiles": [s], s: 1}, "preserveData": {"snapcompact": {"text": s, "textHead": s, "textTail": s, "frames": [{"data": s, "mimeType": s, "cols": 1, "rows": 1, "chars": 1}]}}, "tokensBefore": 1});
        let mut lines =
            vec![sessions::title_slot(s, s), header, sessions::user("u", ROOT, json!([sessions::tx(s), image, {"type": s, s: s}]))];
        let mut parent = "u".to_owned();
        let mut put = |line: &dyn Fn(&str, &str) -> String| {
            let id = format!("x{}", lines.len());
            lines.push(line(&id, &parent));
            parent = id;
        };
        for kind in sessions::KINDS.into_iter().chain([s]) {
            put(&|id, parent| {
                let mut fields = all.clone();
                for key in [
                    "customType",
                    "content",
                    "data",
                    "model",
                    "provider",
                    "modelId",
                    "role",
                    "thinkingLevel",
                    "mode",
                    "serviceTier",
                    "name",
                    "targetId",
                    "label",
                    "title",
                    "replacement",
                    "systemPrompt",
                    "credentialId",
                    "updatedAt",
                ] {
                    fields[key] = match key {
                        "data" => json!({"note": s, "list": [s], s: {"k": s}}),
                        "replacement" => json!({"content": s}),
                        _ => json!(s),
                    };
                }
                sessions::entry_at(kind, id, parent, s, fields)
            });
        }
        for role in sessions::ROLES.into_iter().chain([s]) {
            put(&|id, parent| {
                let blocks = json!([sessions::tx(s), {"type": "thinking", "thinking": s, "thinkingSignature": s}, {"type": "redactedThinking", "data": s}, sessions::call(s, s, args.clone()), image]);
                sessions::message(
                    id,
                    parent,
                    json!({
                        "role": role, "content": blocks, "toolCallId": s, "toolName": s, "details": {"diff": format!("--- a\n@@ -1 +1 @@\n-{s}"), "x": s}, "command": s, "code": s, "output": s, "customType": s,
                        "provider": s, "model": s, "api": s, "errorMessage": s, "stopReason": if role == "assistant" { "toolUse" } else { s }, "sections": {s: s}, "toolsAdded": [s], "summary": s, "usage": {"input": 1, s: s}, "useless": false,
                    }),
                )
            });
        }
        // An id that is a secret is still one id.
        lines.push(sessions::user(s, parent.as_str(), "named badly"));
        lines.push(answer("last", s, &format!("{s} and \u{1b}[32m{s}\u{1b}[0m and {}", s.split_at(3).0)));
        let run = Run::of(sessions::file(&lines));
        for format in FORMATS {
            for view in [&[][..], &["--context"], &["--leaf", "all", "--tool-results", "short"], &["--thinking"]] {
                if format == "jsonl" && view.contains(&"short") {
                    continue;
                }
                let name = format!("out.{format}");
                let out = run.go(&[&["export", "s.jsonl", "--format", format, "-o", &name, "--overwrite"], view].concat()).ok();
                let text = run.text(&name);
                // The head of the secret without what makes it one.
                let line = text.lines().find(|line| line.contains(&s[..s.len() - 8]) || line.contains(&s[8..]));
                assert_eq!(line, None, "{format} {view:?}: a secret got out");
                assert!(!out.stdout().contains(s) && !out.stderr().contains(s));
            }
        }
        run.go(&["inspect", "s.jsonl", "--report", "r.html", "--chart", "c.svg"]).ok();
        assert!(!run.text("r.html").contains(s) && !run.text("c.svg").contains(s));
    }
}

#[test]
fn e05_values_are_secret_by_the_names_they_stand_under() {
    let secret = ["hunt", "er2Zq"].concat();
    let key = ["a1b2c3d4", "e5f6a7b8", "c9d0"].concat();
    let s = secret.as_str();
    let run = session(&[
        sessions::assistant(
            "a",
            ROOT,
            json!([sessions::call(
                "c",
                "http",
                json!({
                    "password": s, "auth": {"client_secret": key}, "env": [{"name": "API_KEY", "value": key}], "argv": ["login", "--token", key],
                    "headers": {"Authorization": format!("Basic {key}")}, "path": "a.rs",
                })
            )]),
        ),
        sessions::tool_result_with("t", "a", "c", "http", json!([sessions::tx("ok")]), json!({"details": {"db": {"password": s}}})),
        sessions::entry("custom", "x", "t", json!({"customType": "e", "data": {"access_token": key}})),
    ]);
    for format in FORMATS {
        let text = text_of(&run, &["--format", format]);
        assert!(!text.contains(s) && !text.contains(&key), "{format}: {text}");
        assert!(text.contains("a.rs"), "{format}");
    }
}

#[test]
fn e05_what_only_looks_like_a_secret_stays() {
    let stays = [
        "sk-learn and scikit-learn 1.4.2",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "550e8400-e29b-41d4-a716-446655440000",
        "token: string; password: required",
        "const API_KEY = process.env.API_KEY",
        "https://example.org/home/page and ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://user:$PASSWORD@host/db",
        "task-runner-with-a-rather-long-name-0-24",
        "/home/user/.ssh/id_rsa",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ];
    let lines: Vec<String> = stays.iter().map(|text| format!("`{text}`")).collect();
    let run = session(&[sessions::user("u", ROOT, lines.join("\n\n"))]);
    let out = run.go(&["export", "s.jsonl", "--format", "text"]).ok();
    for text in stays {
        assert!(out.stdout().contains(text), "{text}: {out}");
    }
    assert!(!out.stderr().contains("masked"), "{out}");
}

#[test]
fn own_patterns_and_addresses_are_masked_when_they_are_asked_for() {
    let run = session(&[sessions::user("u", ROOT, "ACME-4711 by jo@harbor.dev, see git@github.com:o/r and a@example.com")]);
    run.put("config.toml", "[[redact]]\nkind = \"ticket\"\npattern = 'ACME-[0-9]+'\n");
    let out = run.go_bare(&["export", "s.jsonl", "--config", "config.toml", "--format", "text", "--redact-email"]).ok();
    let text = out.stdout();
    assert!(text.contains("[redacted ticket 8+] by [redacted email 8+], see git@github.com:o/r and a@example.com"), "{text}");
    assert!(out.stderr().contains("1 email, 1 ticket"), "{out}");
    assert!(text_of(&run, &["--format", "text"]).contains("ACME-4711 by jo@harbor.dev"));
}
