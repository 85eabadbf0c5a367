//! Lines that are torn, broken, glued or no text, and files that are no session.

use serde_json::json;

use crate::run::{Run, codes};
use crate::sessions as s;
use crate::{LEAST, answer, compacted, refused, turns};

#[test]
fn r01_torn_last_line() {
    let name = "R01-torn.jsonl";
    let run = Run::with(&["cases/R01-torn.jsonl"]);
    let before = run.bytes(name);
    let report = run.json(&["inspect", name]);
    assert_eq!((&report["total"], codes(&report)), (&json!(2), vec!["torn-line"]));
    let whole = before.iter().rposition(|b| *b == b'\n').unwrap() + 1;
    assert_eq!((&report["problems"][0]["line"], &report["problems"][0]["offset"]), (&json!(4), &json!(whole)));
    // What is appended begins a line of its own, and the fragment stays.
    compacted(&run, name, LEAST);
    assert!(run.bytes(name)[before.len()..].starts_with(b"\n{\"type\":\"compaction\""));
    let report = run.json(&["inspect", name]);
    assert_eq!((&report["total"], codes(&report)), (&json!(3), vec!["malformed-line"]));
}

#[test]
fn r01_a_whole_last_line_without_a_newline_is_an_entry() {
    let name = "R01-no-final-newline.jsonl";
    let run = Run::with(&["cases/R01-no-final-newline.jsonl"]);
    let report = run.json(&["inspect", name]);
    assert_eq!((&report["total"], codes(&report)), (&json!(3), vec![]));
    let last = report["leaf"].clone();
    let (_, entry) = compacted(&run, name, LEAST);
    assert_eq!(entry["parentId"], last);
    assert_eq!(codes(&run.json(&["inspect", name])), Vec::<&str>::new());
}

#[test]
fn r02_bad_line_in_the_middle() {
    let name = "R02-bad-line-in-the-middle.jsonl";
    let run = Run::with(&["cases/R02-bad-line-in-the-middle.jsonl"]);
    let report = run.json(&["inspect", name]);
    assert_eq!(report["total"], 5);
    let problems = report["problems"].as_array().unwrap();
    assert_eq!((&problems[0]["code"], &problems[0]["line"]), (&json!("malformed-line"), &json!(4)));
    // The child whose parent was on that line is named.
    assert_eq!((&problems[1]["code"], &problems[1]["line"]), (&json!("dangling-parent"), &json!(5)));
    let (receipt, _) = compacted(&run, name, LEAST);
    let warnings = receipt["warnings"].to_string();
    assert!(warnings.contains("damaged") && warnings.contains("parent is not in the file"), "{warnings}");
}

#[test]
fn r04_run_of_nul_bytes() {
    let run = Run::with(&["damaged/nul-bytes.jsonl"]);
    let report = run.json(&["inspect", "nul-bytes.jsonl", "--show", "overview,path"]);
    assert_eq!(codes(&report), ["nul-bytes", "nul-bytes"]);
    // The record behind the NULs of line 5 is read.
    assert!(report["path_list"].as_array().unwrap().iter().any(|entry| entry["line"] == 5), "{report}");
    assert_eq!(report["total"], report["path_entries"]);
    compacted(&run, "nul-bytes.jsonl", LEAST);
}

#[test]
fn r05_raw_line_break_inside_a_string() {
    let run = Run::with(&["damaged/malformed-line.jsonl"]);
    let report = run.json(&["inspect", "malformed-line.jsonl"]);
    let spans: Vec<_> = report["problems"].as_array().unwrap().iter().filter(|p| p["code"] == "malformed-line").collect();
    assert_eq!(spans.len(), 1, "{report}");
    assert_eq!(spans[0]["line"], 4);
    assert!(spans[0]["message"].as_str().unwrap().contains("4 to 6"), "{report}");
    assert_eq!(report["total"], 4);
    compacted(&run, "malformed-line.jsonl", LEAST);
}

#[test]
fn r06_unicode_line_separators_and_crlf() {
    for name in ["R06-separators-lf.jsonl", "R06-separators-crlf.jsonl"] {
        let run = Run::with(&[&format!("cases/{name}")]);
        let report = run.json(&["inspect", name, "--show", "overview,transcript"]);
        assert_eq!((&report["total"], codes(&report)), (&json!(1), vec![]));
        let text = report["transcript"][0]["text"].as_str().unwrap();
        assert!(["x", "y", "z", "w"].iter().all(|part| text.contains(part)), "{text}");
    }
    // With a line appended, the lines before it are what they were.
    let mut lines = vec![s::header(), s::user("u0", s::ROOT, "x\u{2028}y\u{2029}z\u{85}w"), answer("a0", "u0", "noted")];
    turns(&mut lines, Some("a0"), 1, 2, 400);
    let run = Run::of(lines.join("\r\n") + "\r\n");
    let (_, entry) = compacted(&run, "s.jsonl", LEAST);
    assert_eq!(entry["parentId"], "a2");
}

#[test]
fn r07_unreadable_header() {
    let name = "missing-header.jsonl";
    let run = Run::with(&["damaged/missing-header.jsonl"]);
    let report = run.json(&["inspect", name, "--show", "overview,context"]);
    assert_eq!(report["context"].as_array().unwrap().len(), 3);
    assert!(codes(&report).contains(&"missing-header"));
    assert_eq!(run.go(&["inspect", "--check", name]).code, 4);
    refused(&run, name, "missing-header");
}

#[test]
fn r08_no_session() {
    let run = Run::with(&["damaged/not-a-session.jsonl"]);
    run.put("event.jsonl", "{\"type\":\"event\",\"data\":1}\n".repeat(3));
    run.put("picture.jsonl", s::png(8, 8));
    std::fs::create_dir(run.path("folder")).unwrap();
    let names = run.names();
    for name in ["event.jsonl", "picture.jsonl", "not-a-session.jsonl", "nowhere.jsonl"] {
        for args in [&["inspect", name][..], &["compact", name], &["compact", "-n", name], &["compact", name, "-o", "out.jsonl"]] {
            let out = run.go(args);
            assert_eq!(out.code, 1, "{args:?}\n{out}");
            assert!(out.stdout.is_empty() && out.stderr().contains(name), "{out}");
        }
    }
    assert_eq!(run.go(&["compact", "folder"]).code, 2);
    assert_eq!(run.feed(&["compact", "-"], "{\"type\":\"event\"}\n").to_string().lines().next(), Some("exit code 1"));
    assert_eq!(run.names(), names);
}

#[test]
fn r09_title_slot_before_the_header() {
    let name = "R09-title-slot.jsonl";
    let run = Run::with(&["cases/R09-title-slot.jsonl"]);
    let before = run.bytes(name);
    assert_eq!(before[255], b'\n');
    let report = run.json(&["inspect", name]);
    assert_eq!((&report["total"], &report["session"]["owner"], codes(&report)), (&json!(2), &json!("omp"), vec![]));
    assert_eq!(report["session"]["title"], "Tides");
    compacted(&run, name, LEAST);
    assert_eq!(run.bytes(name)[..256], before[..256]);
}

#[test]
fn r10_header_dropped() {
    let name = "missing-header-dropped.jsonl";
    let run = Run::with(&["damaged/missing-header-dropped.jsonl"]);
    let report = run.json(&["inspect", name, "--show", "overview,context"]);
    assert_eq!(report["context"].as_array().unwrap().len(), 4);
    assert!(codes(&report).contains(&"missing-header"));
    refused(&run, name, "missing-header");
}

#[test]
fn glued_records_are_each_read() {
    let run = Run::with(&["damaged/glued-lines.jsonl"]);
    let report = run.json(&["inspect", "glued-lines.jsonl", "--show", "overview,path"]);
    let lines: Vec<_> = report["path_list"].as_array().unwrap().iter().map(|e| e["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [2, 2, 3, 4]);
    compacted(&run, "glued-lines.jsonl", LEAST);
}

#[test]
fn r26_empty_or_header_only() {
    for name in ["R26-empty.jsonl", "R26-header-only.jsonl", "R26-newlines.jsonl"] {
        let run = Run::with(&[&format!("cases/{name}")]);
        let before = run.bytes(name);
        let out = run.go(&["inspect", name]).ok();
        assert!(out.stdout().contains("0 entries"), "{out}");
        for view in ["tree", "path", "context", "transcript", "cut", "sizes", "files", "summary", "problems"] {
            run.go(&["inspect", name, "--show", view]).ok();
        }
        let receipt = run.json(&["compact", name]);
        assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("nothing"), &json!("empty")), "{name}");
        assert_eq!(run.bytes(name), before);
    }
}
