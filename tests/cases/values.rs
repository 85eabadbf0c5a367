//! Values that strict readers trip over, and what must not change about a file.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use serde_json::json;

use crate::run::{Run, codes};
use crate::sessions as s;
use crate::{LEAST, LITTLE, answer, compacted, read, turns};

#[test]
fn r19_one_huge_line_is_read() {
    let lines = [
        s::header(),
        s::user("u1", s::ROOT, "read it"),
        read("a1", "u1", "c1", "src/huge.rs"),
        s::tool_result("t1", "a1", "c1", "read", &s::words(12_000_000)),
        answer("a2", "t1", "that was much"),
        s::user("u2", "a2", "go on"),
        answer("a3", "u2", "going on"),
    ];
    let run = Run::of(s::file(&lines));
    let report = run.json(&["inspect", "s.jsonl"]);
    assert_eq!((&report["total"], codes(&report)), (&json!(6), vec!["huge-line"]));
    let (_, entry) = compacted(&run, "s.jsonl", LITTLE);
    assert!(entry["summary"].as_str().unwrap().len() < 40_000);
}

#[test]
fn r20_lone_surrogates() {
    let name = "R20-surrogates.jsonl";
    let run = Run::with(&["cases/R20-surrogates.jsonl"]);
    let report = run.json(&["inspect", name, "--show", "overview,transcript"]);
    assert_eq!((&report["total"], codes(&report)), (&json!(4), vec!["lone-surrogate"]));
    let text = report["transcript"].to_string();
    assert!(text.contains("ok \u{fffd} end") && text.contains('\u{1f600}'), "{text}");
    // `compacted` reads the new line with a strict reader.
    let (_, entry) = compacted(&run, name, LEAST);
    assert!(!entry["summary"].as_str().unwrap().is_empty());
}

#[test]
fn r21_bytes_that_are_not_utf8() {
    let name = "invalid-utf8.jsonl";
    let run = Run::with(&["damaged/invalid-utf8.jsonl"]);
    let bad = run.bytes(name).iter().position(|b| *b == 0x80).unwrap();
    let report = run.json(&["inspect", name, "--show", "overview,transcript"]);
    assert_eq!((&report["total"], codes(&report)), (&json!(3), vec!["invalid-utf8"]));
    assert_eq!(report["problems"][0]["offset"], bad);
    assert!(report["transcript"].to_string().contains('\u{fffd}'));
    compacted(&run, name, LEAST);
}

#[test]
fn r22_unknown_entries_and_fields_survive() {
    let name = "R22-unknown-entry.jsonl";
    let run = Run::with(&["cases/R22-unknown-entry.jsonl"]);
    let report = run.json(&["inspect", name, "--show", "overview,path"]);
    assert_eq!((&report["total"], codes(&report)), (&json!(3), vec![]));
    assert!(report["path_list"].as_array().unwrap().iter().any(|e| e["type"] == "future_thing"));
    compacted(&run, name, LEAST);
    assert!(run.text(name).contains(r#""n":12345678901234567890,"f":1.0,"s":"\/""#));
}

#[test]
fn r23_links_and_modes_stay() {
    let run = Run::new();
    let mut lines = vec![s::header()];
    turns(&mut lines, None, 1, 4, 800);
    let real = run.put("real/s.jsonl", s::file(&lines));
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::create_dir(run.path("links")).unwrap();
    symlink("../real/s.jsonl", run.path("links/link.jsonl")).unwrap();
    compacted(&run, "links/link.jsonl", LITTLE);
    assert!(run.path("links/link.jsonl").symlink_metadata().unwrap().is_symlink());
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(run.last("real/s.jsonl")["type"], "compaction");
    // The lock lies beside the real file, where the agent looks for it.
    assert!(run.path("real/.s.jsonl.lock.os").exists());
    assert_eq!(std::fs::read_dir(run.path("links")).unwrap().count(), 1);
    // A copy of a private thing is private.
    run.go(&["compact", "real/s.jsonl", "-o", "copy.jsonl"]).ok();
    assert_eq!(run.path("copy.jsonl").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn r24_a_folder_that_cannot_be_written() {
    // Permissions do not bind root; a file without any write bit is refused for root too.
    let run = Run::with(&["sessions/small.jsonl"]);
    let before = run.bytes("small.jsonl");
    let folder_binds = !rustix::process::geteuid().is_root();
    let path = run.path(if folder_binds { "" } else { "small.jsonl" });
    let old = path.metadata().unwrap().permissions();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(if folder_binds { 0o555 } else { 0o444 })).unwrap();
    let out = run.go(&["compact", "small.jsonl"]);
    std::fs::set_permissions(&path, old).unwrap();
    assert_eq!(out.code, 1, "{out}");
    assert!(run.bytes("small.jsonl") == before);
    assert_eq!(run.names(), ["small.jsonl"]);
}

#[test]
fn r25_a_kill_leaves_the_old_file_or_the_new_one() {
    let old = std::fs::read(crate::run::testdata("sessions/small.jsonl")).unwrap();
    let new = {
        let run = Run::of(&old);
        run.go(&["compact", "s.jsonl"]).ok();
        run.bytes("s.jsonl")
    };
    for step in 0..16 {
        let run = Run::of(&old);
        let mut child = run.command(&["compact", "s.jsonl"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(step * 20));
        let _ = child.kill();
        child.wait().unwrap();
        let found = run.bytes("s.jsonl");
        assert!(found == old || found == new, "killed after {} ms: {} bytes", step * 20, found.len());
        // A lock of a dead process is in nobody's way.
        run.go(&["compact", "s.jsonl"]).ok();
        assert!(run.bytes("s.jsonl") == new);
    }
}

#[test]
fn r25_left_over_files_are_told_and_left() {
    let run = Run::with(&["sessions/small.jsonl"]);
    run.put(".small.jsonl.a1b2.tmp", "half");
    run.put("small.jsonl.bak", "old");
    let report = run.json(&["inspect", "--check", "small.jsonl"]);
    assert_eq!(codes(&report), ["stray-temp", "stray-temp"]);
    run.go(&["compact", "small.jsonl"]).ok();
    assert_eq!((run.text(".small.jsonl.a1b2.tmp"), run.text("small.jsonl.bak")), ("half".to_owned(), "old".to_owned()));
}

#[test]
fn r28_externalised_blobs() {
    let name = "missing-blob.jsonl";
    let run = Run::with(&["damaged/missing-blob.jsonl"]);
    let hash = run.text(name).split("blob:sha256:").nth(1).unwrap()[..64].to_owned();
    let check = |args: &[&str]| run.json(&[&["inspect", "--check", name], args].concat());
    let report = check(&[]);
    assert_eq!(codes(&report), ["missing-blob"]);
    assert!(report["problems"][0]["message"].as_str().unwrap().contains(&hash));
    run.put("blobs-here/other", "x");
    assert_eq!(codes(&check(&["--blob-dir", "blobs-here"])), ["missing-blob"]);
    let blob = run.put(&format!("blobs-here/{hash}"), b"\xff\xd8\xff\xe0 a photo");
    assert_eq!(codes(&check(&["--blob-dir", "blobs-here"])), Vec::<&str>::new());
    // It is a reference: shown as an image, counted as one, never deleted.
    let context = run.json(&["inspect", name, "--show", "context,transcript"]);
    assert!(context["transcript"].to_string().contains("[image/jpeg]"), "{context}");
    assert!(context["context"].as_array().unwrap().iter().any(|m| m["tokens"].as_u64() >= Some(1_200)), "{context}");
    compacted(&run, name, LEAST);
    assert!(blob.exists());
    // A reference that is none is no path.
    let text = run.text(name).replace(&hash, "../../../../etc/passwd");
    let run = Run::of(text);
    assert_eq!(codes(&run.json(&["inspect", "--check", "s.jsonl", "--blob-dir", "."])), ["bad-image"]);
}

#[test]
fn r29_deep_nesting_and_many_backslashes() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let nested = read("a1", "u1", "c1", "PATH").replace("\"PATH\"", &deep);
    let lines = [
        s::header(),
        s::user("u1", s::ROOT, "grep your own session"),
        nested,
        s::tool_result("t1", "a1", "c1", "read", &"\\".repeat(1 << 16)),
        answer("a2", "t1", "deep"),
        s::user("u2", "a2", "go on"),
        answer("a3", "u2", "going on"),
    ];
    let run = Run::of(s::file(&lines));
    let report = run.json(&["inspect", "s.jsonl"]);
    assert_eq!((&report["total"], &report["path_entries"]), (&json!(6), &json!(6)));
    run.go(&["inspect", "s.jsonl", "--show", "all"]).ok();
    run.go(&["inspect", "s.jsonl", "--show", "all", "--json"]).ok();
    let before = run.bytes("s.jsonl");
    run.go(&["compact", "s.jsonl", "--keep-recent-tokens", "1", "--allow-growth"]).ok();
    assert!(run.bytes("s.jsonl").starts_with(&before));
    assert_eq!(run.last("s.jsonl")["type"], "compaction");
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let run = Run::with(&["sessions/small.jsonl"]);
    let rows: &[(&[&str], &str)] = &[
        (&["inspect", "small.jsonl", "--allow", "orphan-result"], "--check"),
        (&["inspect", "small.jsonl", "--fail-on", "warning"], "--check"),
        (&["inspect", "small.jsonl", "--check", "--show", "tree"], "--show"),
        (&["inspect", "small.jsonl", "--model", "nonsense"], "provider/id"),
        (&["prune", "small.jsonl", "--restore", "1", "--leaf", "x"], "--leaf"),
    ];
    for (args, said) in rows {
        let out = run.go(args);
        assert!(out.code == 2 && out.stderr().contains(said), "{args:?} {out}");
    }
    for command in ["inspect", "export"] {
        let out = run.go_bare(&[command, "small.jsonl", "--no-config", "--now", "yesterday"]);
        assert!(out.code == 2 && out.stderr().contains("--now: 'yesterday' is no time"), "{out}");
    }
    let shown = run.go(&["inspect", "small.jsonl", "--model", "openai/gpt-5"]).ok().stdout();
    assert!(shown.contains("openai/gpt-5 (as set; the session's is anthropic/claude-sonnet-4-5)"), "{shown}");
}

#[test]
fn a_text_that_is_no_utf8_says_so() {
    let run = Run::new();
    run.put("latin1.txt", b"caf\xe9 na\xefve\n".repeat(300));
    let out = run.json(&["snapcompact", "--text", "latin1.txt", "--frames-dir", "frames"]);
    assert!(out["warnings"].to_string().contains("600 bytes of the text that are no UTF-8"), "{out}");
    run.put("utf8.txt", "café naïve\n".repeat(300));
    assert_eq!(run.json(&["snapcompact", "--text", "utf8.txt", "--frames-dir", "more"])["warnings"], json!([]));
}

#[test]
fn c26_lines_of_context_files_stay_word_for_word() {
    let run = Run::with(&["sessions/long.jsonl"]);
    run.put("context.txt", "cargo test --workspace -- --nocapture\nhttps://example.org/api/v2?x=1\n");
    let args = ["compact", "-n", "long.jsonl", "--context-file", "context.txt", "--instructions", "the parser"];
    let text = run.go(&args).ok().stdout();
    for line in ["- cargo test --workspace -- --nocapture\n", "- https://example.org/api/v2?x=1\n"] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(text.matches("- Focus: ").count(), 1, "{text}");
}
