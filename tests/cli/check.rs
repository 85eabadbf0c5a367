//! `inspect --check`: one code a kind of damage, and an exit code that scripts can use.

use std::fmt::Write;

use crate::run::{Run, codes, testdata};

fn damaged() -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(testdata("damaged")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn each_kind_of_damage_has_its_code_line_and_exit_code() {
    let mut table = String::new();
    for name in damaged() {
        let run = Run::with(&[&format!("damaged/{name}")]);
        let out = run.go(&["inspect", "--check", "--json", &name]);
        let report = out.json();
        let _ = writeln!(table, "{name}: exit code {}", out.code);
        for problem in report["problems"].as_array().unwrap_or(&Vec::new()) {
            let _ = writeln!(
                table,
                "    {} {}, line {}, byte {}, id {}",
                problem["severity"].as_str().unwrap(),
                problem["code"].as_str().unwrap(),
                problem["line"],
                problem["offset"],
                problem["id"]
            );
        }
        if let Some(error) = report.get("error") {
            let _ = writeln!(table, "    {}", error["code"].as_str().unwrap());
        }
    }
    insta::assert_snapshot!("damaged", table);
}

#[test]
fn each_file_shows_the_code_it_is_named_after() {
    for name in damaged() {
        let code = name.trim_end_matches(".jsonl").trim_end_matches("-self").trim_end_matches("-differs").trim_end_matches("-dropped");
        if code == "not-a-session" {
            continue;
        }
        let run = Run::with(&[&format!("damaged/{name}")]);
        let out = run.go(&["inspect", "--check", "--json", &name]);
        let report = out.json();
        assert!(codes(&report).contains(&code), "{name}: {report}");
        let errors = report["problems"].as_array().unwrap().iter().any(|p| p["severity"] == "error");
        assert_eq!(out.code, if errors { 4 } else { 0 }, "{name}");
        // A damaged session can still be looked at, all of it.
        run.go(&["inspect", "--show", "all", &name]).ok();
    }
}

#[test]
fn whole_sessions_have_no_problems() {
    let run =
        Run::with(&["sessions/small.jsonl", "sessions/long.jsonl", "sessions/pi.jsonl", "sessions/openclaw.jsonl", "sessions/v2.jsonl"]);
    let out = run.go(&["inspect", "--check", "--fail-on", "warning", "."]);
    assert_eq!(out.code, 0, "{out}");
}

#[test]
fn what_fails_a_check_can_be_set() {
    let run = Run::with(&["damaged/torn-line.jsonl", "damaged/orphan-result.jsonl"]);
    let code = |args: &[&str]| run.go(&[&["inspect", "--check"], args].concat()).code;
    assert_eq!(code(&["torn-line.jsonl"]), 0);
    assert_eq!(code(&["torn-line.jsonl", "--fail-on", "warning"]), 4);
    assert_eq!(code(&["torn-line.jsonl", "--fail-on", "warning", "--allow", "torn-line"]), 0);
    assert_eq!(code(&["orphan-result.jsonl", "--allow", "torn-line"]), 4);
    assert_eq!(code(&["orphan-result.jsonl", "--allow", "torn-line,orphan-result"]), 0);
    assert_eq!(code(&["torn-line.jsonl", "orphan-result.jsonl"]), 4);
    insta::assert_snapshot!("allow_unknown", run.go(&["inspect", "--check", "torn-line.jsonl", "--allow", "tron-line"]).to_string());
}

#[test]
fn findings_are_printed_as_compilers_print_them() {
    let run = Run::with(&["damaged/malformed-line.jsonl", "damaged/dangling-parent.jsonl"]);
    insta::assert_snapshot!("check_human", run.go(&["inspect", "--check", "malformed-line.jsonl", "dangling-parent.jsonl"]).to_string());
}
