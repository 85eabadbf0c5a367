//! `export`: what is shown, in which order, and what must not get out.

use serde_json::{Value, json};

use crate::run::Run;
use crate::sessions::{self, ROOT};
use crate::{answer, turns};

pub(crate) fn text_of(run: &Run, more: &[&str]) -> String {
    run.go(&[&["export", "s.jsonl"], more].concat()).ok().stdout()
}

pub(crate) fn session(lines: &[String]) -> Run {
    Run::of(sessions::file(&[&[sessions::header()], lines].concat()))
}

pub(crate) const FORMATS: [&str; 5] = ["md", "html", "text", "json", "jsonl"];

#[test]
fn e02_what_is_no_session_gives_no_export() {
    let run = Run::new();
    run.put("log.jsonl", "{\"type\":\"event\",\"data\":1}\n".repeat(3));
    run.put("picture.png", sessions::png(8, 8));
    run.put("folder/file", "");
    for name in ["log.jsonl", "picture.png", "missing.jsonl"] {
        let out = run.go(&["export", name, "-o", "out.md"]);
        assert_eq!(out.code, 1, "{out}");
        assert!(!run.path("out.md").exists());
    }
    assert_eq!(run.go(&["export", "folder", "-o", "out.md"]).code, 2);
    run.put("empty.jsonl", format!("{}\n", sessions::header()));
    let out = run.go(&["export", "empty.jsonl", "-o", "out.md", "--exit-code", "--json"]);
    assert_eq!((out.code, out.json()["action"].as_str()), (3, Some("nothing")), "{out}");
    assert!(!run.path("out.md").exists(), "an export of nothing");
}

#[test]
fn r07_messages_behind_a_broken_header_are_exported_with_a_warning() {
    let mut lines = vec!["{broken".to_owned()];
    turns(&mut lines, None, 1, 2, 40);
    let run = Run::of(sessions::file(&lines[..4]));
    let out = run.go(&["export", "s.jsonl"]).ok();
    assert_eq!(out.stdout().matches("\n## ").count(), 3, "{out}");
    assert!(out.stderr().contains("no readable header"), "{out}");
}

#[test]
fn e03_blocks_keep_their_order() {
    let blocks = json!([
        sessions::tx("FIRST-TEXT"),
        {"type": "toolCall", "id": "c", "name": "probe", "arguments": {"path": "FIRST-CALL"}},
        {"type": "thinking", "thinking": "A-THOUGHT"},
        sessions::tx("LAST-TEXT"),
        {"type": "toolCall", "id": "d", "name": "probe", "arguments": {"path": "LAST-CALL"}},
    ]);
    let run = session(&[sessions::user("u", ROOT, "go"), sessions::assistant("a", "u", blocks)]);
    for format in FORMATS {
        let text = text_of(&run, &["--format", format, "--thinking"]);
        let places: Vec<usize> = ["FIRST-TEXT", "FIRST-CALL", "A-THOUGHT", "LAST-TEXT", "LAST-CALL"]
            .map(|what| text.find(what).unwrap_or_else(|| panic!("{format}: {what} is missing\n{text}")))
            .to_vec();
        assert!(places.is_sorted(), "{format}: {places:?}");
    }
}

#[test]
fn e04_control_sequences_reach_no_reader() {
    let evil = "\u{1b}[2J\u{1b}]52;c;AAAA\u{7} real\rSPOOF\u{202e}";
    let run = session(&[
        sessions::user("u", ROOT, evil),
        sessions::assistant("a", "u", json!([sessions::tx(evil), sessions::call("c", evil, json!({"path": evil}))])),
        sessions::tool_result("t", "a", "c", evil, evil),
        sessions::compaction("k", "t", evil, "k"),
        sessions::entry("session_info", "n", "k", json!({"name": evil})),
    ]);
    for format in FORMATS {
        for more in [&["--context"][..], &["--no-redact"], &[]] {
            let out = run.go(&[&["export", "s.jsonl", "--format", format], more].concat()).ok();
            assert!(!out.stdout.iter().any(|b| [0x1b, 0x07, 0x0d].contains(b)), "{format} {more:?}");
            if ["md", "html", "text"].contains(&format) {
                assert!(!out.stdout().contains('\u{202e}') && out.stdout().contains("real"), "{format} {more:?}");
            }
        }
    }
}

#[test]
fn e06_compacted_history_is_shown_unless_only_the_context_is_asked_for() {
    let run = session(&[
        sessions::user("u1", ROOT, "FIRST-REQUEST"),
        answer("a1", "u1", "old"),
        sessions::user("u2", "a1", "SECOND-REQUEST"),
        answer("a2", "u2", "new"),
        sessions::compaction("k", "a2", "THE-SUMMARY", "u2"),
        sessions::user("u3", "k", "THIRD-REQUEST"),
    ]);
    for format in FORMATS {
        let all = text_of(&run, &["--format", format]);
        for what in ["FIRST-REQUEST", "SECOND-REQUEST", "THE-SUMMARY", "THIRD-REQUEST"] {
            // The contents of a page name requests too.
            let times = if format == "html" && what.ends_with("REQUEST") { 2 } else { 1 };
            assert_eq!(all.matches(what).count(), times, "{format} {what}");
        }
        let context = text_of(&run, &["--format", format, "--context"]);
        let context = context.split("<nav").next().unwrap();
        assert!(!context.contains("FIRST-REQUEST"), "{format}");
        let places: Vec<_> = ["THE-SUMMARY", "SECOND-REQUEST", "THIRD-REQUEST"].map(|what| context.find(what).unwrap()).to_vec();
        assert!(places.is_sorted(), "{format}");
    }
}

#[test]
fn e07_one_branch_unless_all_are_asked_for() {
    let run = session(&[
        sessions::user("A", ROOT, "ROOT-WORDS"),
        answer("B", "A", "LEFT-WORDS"),
        sessions::user("C", "B", "LEFT-END"),
        answer("D", "A", "RIGHT-WORDS"),
    ]);
    for format in FORMATS {
        let has = |more: &[&str]| {
            let text = text_of(&run, &[&["--format", format], more].concat());
            ["ROOT-WORDS", "LEFT-WORDS", "LEFT-END", "RIGHT-WORDS"].map(|what| text.contains(what))
        };
        assert_eq!(has(&[]), [true, false, false, true], "{format}");
        assert_eq!(has(&["--leaf", "C"]), [true, true, true, false], "{format}");
        assert_eq!(has(&["--leaf", "all"]), [true; 4], "{format}");
    }
}

#[test]
fn e08_content_cannot_break_out_of_markdown() {
    let evil = "`````\n</details>\n# TOP\n\nTitle\n=====\n<script>alert(1)</script>\n<!-- open\n\n```rust\nunclosed";
    let run = session(&[
        sessions::user("u", ROOT, evil),
        sessions::assistant("a", "u", json!([sessions::tx(evil), sessions::call("c", "write", json!({"path": "a", "content": evil}))])),
        sessions::tool_result("t", "a", "c", "write", &evil.repeat(9)),
        sessions::branch_summary("b", "t", "x", evil),
        sessions::compaction("k", "b", evil, "k"),
        sessions::user("u2", "k", "LAST-WORDS"),
    ]);
    let text = text_of(&run, &["--thinking"]);
    let mut ours = 0;
    let mut open = 0;
    for event in pulldown_cmark::Parser::new(&text) {
        match event {
            pulldown_cmark::Event::Start(pulldown_cmark::Tag::Heading { level, .. }) => ours += usize::from(level as usize <= 2),
            pulldown_cmark::Event::Html(html) | pulldown_cmark::Event::InlineHtml(html) => {
                let tags = ["<details>", "</details>", "<summary>", "</summary>"];
                assert!(tags.iter().any(|tag| html.contains(tag)) && !html.contains("script"), "{html}\n{text}");
                open += html.matches("<details>").count();
                open -= html.matches("</details>").count();
            }
            _ => {}
        }
    }
    // The title, two requests, an answer, a branch summary; a compaction has none.
    assert_eq!((ours, open), (5, 0), "{text}");
    assert!(text.contains("\n## User") && text.trim_end().ends_with("LAST-WORDS"));
}

#[test]
fn e09_a_copy_is_a_session_and_a_redacted_one_is_none() {
    for name in ["sessions/long.jsonl", "sessions/pi.jsonl", "sessions/small.jsonl", "sessions/v1.jsonl"] {
        let run = Run::new();
        run.put("s.jsonl", std::fs::read(crate::run::testdata(name)).unwrap());
        let counts = |name: &str| {
            let report = run.json(&["inspect", name, "--show", "overview,context,tree"]);
            json!([report["path_entries"], report["total"], report["leaf"], report["context"], report["tree"].as_array().unwrap().len()])
        };
        run.go(&["export", "s.jsonl", "--format", "jsonl", "--no-redact", "--leaf", "all", "-o", "copy.jsonl"]).ok();
        assert_eq!(counts("copy.jsonl"), counts("s.jsonl"), "{name}");
        assert!(run.bytes("copy.jsonl") == run.bytes("s.jsonl"), "{name}: bytes differ");
        run.go(&["export", "s.jsonl", "--format", "jsonl", "--no-redact", "-o", "path.jsonl"]).ok();
        assert_eq!(counts("path.jsonl")[3], counts("s.jsonl")[3], "{name}");
        assert_eq!(run.json(&["inspect", "path.jsonl"])["session"]["leaves"].as_array().unwrap().len(), 1);

        let redacted = text_of(&run, &["--format", "jsonl", "--leaf", "all"]);
        run.put("redacted.jsonl", &redacted);
        for args in [&["inspect", "redacted.jsonl"][..], &["compact", "redacted.jsonl"], &["export", "redacted.jsonl", "-o", "x.md"]] {
            let out = run.go(&[args, &["--json"]].concat());
            assert_eq!(out.code, 1, "{out}");
            assert_eq!(out.json()["error"]["code"], "redacted_export");
            assert!(out.stderr().contains("redacted export") && out.stderr().contains("hint: "), "{out}");
        }
        assert_eq!(run.feed(&["inspect", "-"], &redacted).code, 1);
    }
}

#[test]
fn e10_home_folders_and_pinned_credentials_stay_at_home() {
    let run = session(&[
        sessions::user("u", ROOT, "look into /home/alice/code and C:\\Users\\Alice\\x, not /home/user"),
        sessions::entry("credential_pin", "p", "u", json!({"provider": "anthropic", "credentialId": "PINNED-ONE"})),
        answer("a", "p", "/Users/alice/code/a.rs is in ~/.pi/agent/sessions/--home-alice-code--/x"),
    ]);
    for format in FORMATS {
        let text = text_of(&run, &["--format", format, "--leaf", "all"]);
        assert!(!text.to_lowercase().contains("alice") && !text.contains("PINNED-ONE"), "{format}: {text}");
        assert!(text.contains("~/code/a.rs") && text.contains("/home/user"), "{format}: {text}");
        if format.starts_with("json") {
            assert!(!text.contains("credential_pin"), "{format}: {text}");
        }
        let open = text_of(&run, &["--format", format, "--no-redact"]);
        assert!(open.contains("/home/alice/code"), "{format}");
    }
    // The answer hangs on what stood above the pin.
    let lines: Vec<Value> = text_of(&run, &["--format", "jsonl"]).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["parentId"], "u");
}

#[test]
fn e11_the_file_is_private_and_takes_no_other_ones_place() {
    use std::os::unix::fs::PermissionsExt;
    let run = session(&[sessions::user("u", ROOT, "words")]);
    run.go(&["export", "s.jsonl", "-o", "out.md"]).ok();
    assert_eq!(run.path("out.md").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let before = run.bytes("out.md");
    let out = run.go(&["export", "s.jsonl", "-o", "out.md", "--format", "text"]);
    assert_eq!(out.code, 1, "{out}");
    assert!(out.stderr().contains("--overwrite") && run.bytes("out.md") == before, "{out}");
    run.go(&["export", "s.jsonl", "-o", "out.md", "--format", "text", "--overwrite"]).ok();
    assert!(run.bytes("out.md") != before);
    assert_eq!(run.names(), ["out.md", "s.jsonl"]);
    // Never over a session, its own or another one.
    run.put("other.jsonl", sessions::file(&[sessions::header(), sessions::user("x", ROOT, "precious")]));
    std::os::unix::fs::symlink(run.path("s.jsonl"), run.path("link")).unwrap();
    for target in ["s.jsonl", "other.jsonl", "link"] {
        for format in FORMATS {
            let (own, other) = (run.bytes("s.jsonl"), run.bytes("other.jsonl"));
            let out = run.go(&["export", "s.jsonl", "--format", format, "-o", target, "--overwrite"]);
            assert_eq!(out.code, 1, "{out}");
            assert!(out.stderr().contains("is a session"), "{out}");
            assert!((run.bytes("s.jsonl"), run.bytes("other.jsonl")) == (own, other));
        }
    }
}

#[test]
fn e12_images_are_put_beside_markdown_and_nowhere_else() {
    let png = sessions::image_block(&sessions::png(8, 8), "image/png");
    let blob = json!({"type": "image", "mimeType": "image/png", "data": format!("blob:sha256:{}", "ab".repeat(32))});
    let svg = sessions::image_block(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "image/svg+xml");
    let named = json!({"type": "image", "mimeType": "../../../evil/png", "data": png["data"]});
    let run = session(&[
        sessions::user("u", ROOT, json!([sessions::tx("see"), png, blob, svg, named])),
        sessions::assistant("../a", "u", json!([sessions::tx("seen")])),
    ]);
    let out = run.go(&["export", "s.jsonl", "-o", "the export.md"]).ok();
    assert!(out.stderr().contains("2 images cannot be shown"), "{out}");
    assert_eq!(run.names(), ["s.jsonl", "the export.md", "the export.md.files"]);
    let files: Vec<_> = std::fs::read_dir(run.path("the export.md.files")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "equal images are one file: {files:?}");
    assert_eq!(std::fs::read(&files[0]).unwrap(), sessions::png(8, 8));
    let text = run.text("the export.md");
    let link = format!("](the%20export.md.files/{})", files[0].file_name().unwrap().to_str().unwrap());
    assert_eq!(text.matches(&link).count(), 2, "{text}");
    assert!(text.contains(&"ab".repeat(32)), "{text}");
    // Again: refused, and with leave the same.
    assert_eq!(run.go(&["export", "s.jsonl", "-o", "the export.md"]).code, 1);
    run.go(&["export", "s.jsonl", "-o", "the export.md", "--overwrite"]).ok();
    // A link in the place of the folder leads out of it.
    std::fs::create_dir(run.path("outside")).unwrap();
    std::os::unix::fs::symlink(run.path("outside"), run.path("b.md.files")).unwrap();
    let out = run.go(&["export", "s.jsonl", "-o", "b.md", "--overwrite"]);
    assert_eq!(out.code, 1, "{out}");
    assert_eq!(std::fs::read_dir(run.path("outside")).unwrap().count(), 0);
    assert!(!run.path("b.md").exists());
}

#[test]
fn r28_a_blob_is_shown_when_it_is_there_and_whole() {
    let bytes = sessions::png(8, 8);
    let hash = run_sha256(&bytes);
    let image = json!({"type": "image", "mimeType": "image/png", "data": format!("blob:sha256:{hash}")});
    let run = session(&[sessions::user("u", ROOT, json!([image]))]);
    let without = text_of(&run, &[]);
    assert!(without.contains(&hash), "{without}");
    run.put(&format!("blobs/{hash}"), &bytes);
    let shown: Value = serde_json::from_str(&text_of(&run, &["--format", "json", "--context", "--blob-dir", "blobs"])).unwrap();
    assert_eq!(shown["messages"][0]["content"][0]["data"], sessions::base64(&bytes));
    run.put(&format!("blobs/{hash}"), b"something else");
    let damaged = text_of(&run, &["--blob-dir", "blobs"]);
    assert!(damaged.contains("damaged") && damaged.contains(&hash), "{damaged}");
}

fn run_sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(bytes))
}

#[test]
fn a_context_can_be_sent_as_it_is() {
    let run = session(&[
        sessions::user("u", ROOT, "read it"),
        sessions::assistant("a", "u", json!([sessions::call("c", "read", json!({"path": "f"}))])),
        sessions::tool_result_with(
            "t",
            "a",
            "c",
            "read",
            json!([sessions::tx("words")]),
            json!({"details": {"SECRETS": 1}, "useless": true, "prunedAt": 5}),
        ),
        sessions::bash_execution("b", "t", "ls", "out", false),
        sessions::custom_message("m", "b", "ext", "from an extension"),
        sessions::branch_summary("s", "m", "x", "a branch </summary> ended"),
        sessions::bash_execution("h", "s", "hidden", "HIDDEN", true),
        answer("z", "h", "done"),
    ]);
    let context: Value = serde_json::from_str(&text_of(&run, &["--format", "json", "--context"])).unwrap();
    let messages = context["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "user", "developer", "user", "assistant"]);
    let text = context.to_string();
    for key in ["useless", "prunedAt", "details", "SECRETS", "HIDDEN"] {
        assert!(!text.contains(key), "{key}: {text}");
    }
    assert_eq!(messages[3]["content"][0]["text"], "Ran `ls`\nout");
    assert_eq!(messages[5]["content"][0]["text"].as_str().unwrap().matches("</summary>").count(), 1);
}

#[test]
fn a_revision_comes_back_as_it_was_or_as_an_export() {
    let run = Run::with(&["sessions/long.jsonl"]);
    let before = run.bytes("long.jsonl");
    run.go(&["prune", "long.jsonl", "--protect-tokens", "0", "--min-savings", "0"]).ok();
    assert!(run.bytes("long.jsonl") != before);
    let out = run.go(&["export", "long.jsonl", "--revision", "1", "-o", "old.jsonl"]).ok();
    assert!(run.bytes("old.jsonl") == before && out.stderr().contains("nothing is masked"), "{out}");
    let out = run.go(&["export", "long.jsonl", "--revision", "1"]).ok();
    assert!(out.stdout == before && out.stderr().contains("nothing is masked"));
    run.put("copy.jsonl", &before);
    let shown = run.go(&["export", "long.jsonl", "--revision", "1", "--format", "text"]).ok();
    assert_eq!(shown.stdout, run.go(&["export", "copy.jsonl", "--format", "text"]).ok().stdout);
    let out = run.go(&["export", "long.jsonl", "--revision", "7"]);
    assert_eq!(out.code, 1, "{out}");
    assert!(out.stdout.is_empty() && out.stderr().contains("no revision 7"), "{out}");
}

#[test]
fn a_dry_run_tells_and_writes_nothing() {
    let run = session(&[sessions::user("u", ROOT, format!("ghp_{}", "aB3dE5gH7j".repeat(4)))]);
    let receipt = run.json(&["export", "s.jsonl", "-n", "-o", "out.md"]);
    assert_eq!((receipt["dry_run"].clone(), receipt["redactions"]["github-token"].clone()), (json!(true), json!(1)), "{receipt}");
    assert_eq!(run.names(), ["s.jsonl"]);
    let out = run.go(&["export", "s.jsonl"]).ok();
    assert!(out.stderr().contains("masked 1 github-token"), "{out}");
    assert!(out.stdout().contains("[redacted github-token 32+]"), "{out}");
}

#[test]
fn a_page_loads_nothing_and_holds_only_text() {
    let evil = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)><!--";
    let link = "[a](javascript:alert(1)) ![p](https://evil.example/p.png) [b](https://ok.example/?q=\"><script>)";
    let run = session(&[
        sessions::user("u\"><script>", ROOT, evil),
        sessions::assistant(
            "a",
            "u\"><script>",
            json!([sessions::tx(link), sessions::call(evil, evil, json!({"path": evil, evil: evil, "oldText": evil, "newText": link}))]),
        ),
        sessions::tool_result("t", "a", evil, evil, &format!("{evil}\n").repeat(60)),
        sessions::entry("session_info", "n", "t", json!({"name": evil})),
        sessions::entry("label", "l", "n", json!({"targetId": "a", "label": evil})),
        sessions::compaction("k", "l", evil, "k"),
        sessions::bash_execution("b", "k", evil, evil, false),
    ]);
    run.go(&["export", "s.jsonl", "--format", "html", "-o", "p.html"]).ok();
    run.go(&["inspect", "s.jsonl", "--report", "r.html"]).ok();
    for name in ["p.html", "r.html"] {
        let page = run.text(name);
        let lower = page.to_lowercase();
        assert_eq!(lower.matches("<script").count(), usize::from(name == "p.html"), "{name}");
        assert_eq!(lower.matches("<img").count() + lower.matches("<link").count() + lower.matches("<iframe").count(), 0, "{name}");
        for (at, _) in lower.match_indices(" href=\"").chain(lower.match_indices(" src=\"")) {
            let value = lower[at..].split('"').nth(1).unwrap();
            assert!(value.starts_with('#') || value.starts_with("https://ok.example/"), "{name}: {value}");
        }
        assert!(
            page.contains("default-src &#39;none&#39;")
                || page.contains("default-src &#x27;none&#x27;")
                || page.contains("default-src 'none'"),
            "{name}"
        );
        assert!(!lower.contains("style=\""), "{name}: the policy would refuse it");
    }
    // Every id is once on the page, and what the contents name is there.
    let page = run.text("p.html");
    let mut ids: Vec<&str> = page.match_indices(" id=\"").map(|(at, _)| page[at..].split('"').nth(1).unwrap()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for (at, _) in page.match_indices("<a href=\"#") {
        let target = page[at..].split('"').nth(1).unwrap().trim_start_matches('#');
        assert!(ids.contains(&target), "{target}");
    }
}

#[test]
fn i03_a_report_and_a_chart_are_written_once_and_the_session_stays() {
    let run = Run::with(&["sessions/long.jsonl"]);
    let before = run.bytes("long.jsonl");
    run.go(&["inspect", "long.jsonl", "--report", "r.html", "--chart", "c.svg", "--keep-recent-tokens", "5k"]).ok();
    let (page, chart) = (run.text("r.html"), run.text("c.svg"));
    for what in ["What fills the file", "What prune would free", "Compactions", "Branches", "Problems", "next cut", "toolResult of read"] {
        assert!(page.contains(what), "{what}");
    }
    assert_eq!(page.matches("<title>compacted ").count(), 2);
    assert!(chart.starts_with("<svg xmlns=") && chart.contains("next cut") && chart.ends_with("</svg>"));
    assert!(run.bytes("long.jsonl") == before);
    let out = run.go(&["inspect", "long.jsonl", "--report", "r.html"]);
    assert!(out.code == 1 && out.stderr().contains("--overwrite"), "{out}");
    let out = run.go(&["inspect", "long.jsonl", "--report", "long.jsonl", "--overwrite"]);
    assert!(out.code == 1 && out.stderr().contains("is a session") && run.bytes("long.jsonl") == before, "{out}");
    assert_eq!(run.go(&["inspect", "long.jsonl", "long.jsonl", "--chart", "d.svg"]).code, 2);
    let json = run.json(&["inspect", "long.jsonl", "--show", "path", "--report", "r2.html"]);
    assert!(json.get("sizes").is_none() && json.get("prune").is_none() && json.get("session").is_none(), "{json}");
}
