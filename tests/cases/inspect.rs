//! What inspect tells.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::run::{Run, codes};
use crate::sessions as s;
use crate::{answer, read};

#[test]
fn i02_json_and_nothing_else_on_standard_output() {
    let run = Run::with(&["damaged/torn-line.jsonl", "damaged/not-a-session.jsonl"]);
    let out = run.go(&["inspect", "--json", "torn-line.jsonl"]).ok();
    assert_eq!(out.json()["total"], 2);
    let out = run.go(&["inspect", "--json", "torn-line.jsonl", "not-a-session.jsonl", "nowhere.jsonl", "-v"]);
    let errors: Vec<bool> = out.jsons().iter().map(|object| object.get("error").is_some()).collect();
    assert_eq!((out.code, errors), (1, vec![false, true, true]));
}

#[test]
fn i03_sizes_add_up_to_the_file() {
    for session in ["small", "long", "pi", "v1", "openclaw", "blank-lines"] {
        let name = format!("{session}.jsonl");
        let run = Run::with(&[&format!("sessions/{name}")]);
        let sizes = run.json(&["inspect", &name, "--show", "sizes"])["sizes"].clone();
        let sum: u64 = sizes["by_kind"].as_array().unwrap().iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
        assert_eq!(sum, run.bytes(&name).len() as u64, "{session}");
        let largest: Vec<u64> = sizes["largest"].as_array().unwrap().iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
        assert!(largest.is_sorted_by(|a, b| a >= b), "{largest:?}");
    }
    // What is large is named by role and tool.
    let lines = [
        s::header(),
        s::user("u1", s::ROOT, "read"),
        read("a1", "u1", "c1", "big.txt"),
        s::tool_result("t1", "a1", "c1", "read", &s::words(50_000)),
    ];
    let run = Run::of(s::file(&lines));
    let sizes = run.json(&["inspect", "s.jsonl", "--show", "sizes"])["sizes"].clone();
    let top = &sizes["by_kind"][0];
    assert_eq!((&top["kind"], &top["tool"], &top["entries"]), (&json!("toolResult"), &json!("read"), &json!(1)));
    assert_eq!((&sizes["largest"][0]["id"], &sizes["largest"][0]["line"]), (&json!("t1"), &json!(4)));
}

#[test]
fn i04_findings_have_code_line_and_severity() {
    let run = Run::with(&["damaged/orphan-result.jsonl"]);
    let out = run.go(&["inspect", "--check", "--json", "orphan-result.jsonl"]);
    let finding = &out.json()["problems"][0];
    assert_eq!((out.code, &finding["code"], &finding["severity"]), (4, &json!("orphan-result"), &json!("error")));
    assert_eq!((&finding["line"], &finding["id"]), (&json!(4), &json!("t")));
    assert!(finding["offset"].is_u64() && finding["message"].is_string());
}

#[test]
fn i05_what_is_not_known_is_null() {
    let run = Run::of(s::file(&[s::header(), s::user("u1", s::ROOT, "hello"), answer("a1", "u1", "hello")]));
    let found = run.json(&["inspect", "s.jsonl"]);
    assert!(found["tokens"]["reported"].is_null());
    assert_eq!(found["tokens"]["context"], 2);
    let receipt = run.json(&["compact", "s.jsonl"]);
    for key in ["entry_id", "counted_before", "counted_after", "tokens_before", "tokens_after", "summarizer", "archive_revision"] {
        assert!(receipt[key].is_null(), "{key}: {receipt}");
    }
}

#[test]
fn i06_the_reachable_share() {
    let run = Run::with(&["damaged/dangling-parent.jsonl", "sessions/long.jsonl"]);
    let found = run.json(&["inspect", "dangling-parent.jsonl"]);
    assert_eq!((&found["reachable"], &found["total"]), (&json!(3), &json!(5)));
    assert!(run.go(&["inspect", "dangling-parent.jsonl"]).ok().stdout().contains("3 of 5 entries"));
    let long = run.json(&["inspect", "long.jsonl"]);
    assert_eq!(long["reachable"], long["total"], "other branches hang on the same root");
}

#[test]
fn i07_many_files_at_once() {
    let run = Run::new();
    let session = s::file(&[s::header(), s::user("u1", s::ROOT, "hello"), answer("a1", "u1", "hello")]);
    for n in 0..500 {
        run.put(&format!("all/d{}/s{n:03}.jsonl", n % 10), &session);
    }
    for (name, damage) in [("s003", "torn-line"), ("s250", "orphan-result"), ("s499", "parent-cycle")] {
        let bytes = fs::read(crate::run::testdata(&format!("damaged/{damage}.jsonl"))).unwrap();
        run.put(&format!("all/d{}/{name}.jsonl", name[1..].parse::<usize>().unwrap() % 10), bytes);
    }
    let out = run.go(&["inspect", "--check", "--json", "all"]);
    let reports = out.jsons();
    assert_eq!((out.code, reports.len()), (4, 500));
    let paths: Vec<&str> = reports.iter().map(|r| r["path"].as_str().unwrap()).collect();
    assert!(paths.is_sorted());
    assert_eq!(reports.iter().filter(|r| !codes(r).is_empty()).count(), 3);
    let mut args = vec!["inspect", "--check", "-q", "nowhere.jsonl", "all"];
    assert_eq!(run.go(&args).code, 1);
    args.remove(3);
    assert_eq!(run.go(&args).code, 4);
}

#[test]
fn i08_every_place_for_a_cut_and_why() {
    let name = "C07-endless-turn.jsonl";
    let run = Run::with(&["cases/C07-endless-turn.jsonl"]);
    let args = ["inspect", name, "--show", "cut", "--keep-recent-tokens", "5k"];
    let cut = run.json(&args)["cut"].clone();
    let candidates = cut["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 60);
    assert!(candidates.iter().all(|id| !id.as_str().unwrap().starts_with('t') && id != "u1"), "{candidates:?}");
    assert!(cut["keep"]["tokens"].as_u64() <= Some(5_000), "{cut}");
    // For people, each result names its call.
    let text = run.go(&args).ok().stdout();
    for n in 1..=60 {
        assert!(text.contains(&format!("(result of c{n})")), "c{n}");
    }
    assert!(text.contains("budget 5,000 tokens"));
}

#[test]
fn e04_control_sequences_do_not_reach_the_terminal() {
    let evil = "\x1b[2J\x1b]52;c;AAAA\x07 real\rSPOOF\u{202e}\u{9b}31m\x1b]8;;http";
    let lines = [
        json!({"type": "session", "version": 3, "id": "s1", "timestamp": s::STAMP, "cwd": format!("/w{evil}"), "title": format!("T{evil}")}).to_string(),
        s::user("u1", s::ROOT, evil),
        s::assistant("a1", "u1", json!([s::tx(evil), s::call(&format!("c1{evil}"), &format!("read{evil}"), json!({"path": evil}))])),
        s::tool_result("t1", "a1", &format!("c1{evil}"), &format!("read{evil}"), evil),
        s::bash_execution(&format!("b1{evil}"), "t1", evil, evil, false),
        s::entry(&format!("strange{evil}"), "x1", Some(format!("b1{evil}").as_str()), json!({})),
        s::user("u2", "x1", evil),
        answer("a2", "u2", evil),
        s::user("u3", &*format!("gone{evil}"), evil),
        s::user("u4", "a2", "and real words"),
    ];
    let run = Run::of(s::file(&lines));
    let all = ["overview", "tree", "path", "context", "transcript", "cut", "sizes", "files", "summary", "problems"];
    for view in all {
        for args in [
            &["inspect", "s.jsonl", "--show", view, "--keep-recent-tokens", "1"][..],
            &["inspect", "s.jsonl", "--show", view, "--keep-recent-tokens", "1", "--json"],
        ] {
            let out = run.go(args).ok();
            // JSON escapes what stands below the blank; a person's terminal must not meet the rest either.
            let bad: &[char] =
                if args.contains(&"--json") { &['\x1b', '\x07', '\r'] } else { &['\x1b', '\x07', '\r', '\u{9b}', '\u{202e}'] };
            assert!(!out.stdout().contains(bad), "{args:?}\n{}", out.stdout().escape_debug());
        }
    }
    let transcript = run.go(&["inspect", "s.jsonl", "--show", "transcript"]).ok().stdout();
    assert!(transcript.contains("real") && transcript.contains("SPOOF"));
    for args in
        [&["compact", "-n", "s.jsonl", "--allow-growth", "--keep-recent-tokens", "1"][..], &["compact", "s.jsonl", "--leaf", "gone\x1b[2J"]]
    {
        let out = run.go(args);
        assert!(!out.stdout().contains(['\x1b', '\x07', '\r']) && !out.stderr().contains(['\x1b', '\x07', '\r']), "{out}");
    }
}

#[test]
fn p15_images_that_block_a_session_are_named() {
    let picture = |width: u32, height: u32| s::image_block(&s::png(width, height), "image/png");
    let mut lines = vec![s::header(), s::user("u0", s::ROOT, json!([picture(2_162, 322)]))];
    let mut parent = "u0".to_owned();
    for n in 1..=10 {
        let id = format!("u{n}");
        lines.push(s::user(&id, parent.as_str(), json!([picture(100, 80)])));
        parent = id;
    }
    lines.push(s::user("wide", parent.as_str(), json!([picture(9_000, 10)])));
    let run = Run::of(s::file(&lines));
    let report = run.json(&["inspect", "--check", "s.jsonl"]);
    let found: Vec<(&str, &Value)> =
        report["problems"].as_array().unwrap().iter().map(|p| (p["code"].as_str().unwrap(), &p["id"])).collect();
    assert_eq!(found, [("bad-image", &json!("u0")), ("bad-image", &json!("wide"))]);
    assert!(report["problems"][1]["message"].as_str().unwrap().contains("9000"));
}

#[test]
fn p21_image_data_that_is_none() {
    let run = Run::with(&["damaged/bad-image.jsonl"]);
    let report = run.json(&["inspect", "--check", "bad-image.jsonl"]);
    assert_eq!(crate::run::ids(&report["problems"]), ["a", "b", "d", "e"], "f is good");
    assert_eq!(run.go(&["inspect", "--check", "--fail-on", "warning", "bad-image.jsonl"]).code, 4);
}

/// Memory is what the index and the largest line take, not what the file has.
#[test]
fn r18_a_file_larger_than_the_memory() {
    let run = Run::new();
    let mut file = std::io::BufWriter::new(fs::File::create(run.path("s.jsonl")).unwrap());
    let text = s::words(1_000_000);
    let mut put = |line: String| writeln!(file, "{line}").unwrap();
    put(s::header());
    put(s::user("u", s::ROOT, "go"));
    let mut parent = "u".to_owned();
    for n in 0..256 {
        let (call, reply, result) = (format!("c{n}"), format!("a{n}"), format!("t{n}"));
        put(s::assistant(&reply, parent.as_str(), json!([s::call(&call, "bash", json!({}))])));
        put(s::tool_result(&result, reply.as_str(), &call, "bash", &text));
        parent = result;
    }
    put(answer("end", &parent, "done"));
    drop(file);
    let limited = |args: &[&str]| {
        let plain = run.command(&[args, &["--tokenizer", "heuristic"]].concat());
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -v 160000; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
        limited.current_dir(run.path("")).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        run.end(limited.spawn().unwrap()).ok()
    };
    let shown = limited(&["inspect", "s.jsonl", "--show", "sizes", "--json"]).json();
    assert_eq!((&shown["sizes"]["by_kind"][0]["tool"], &shown["sizes"]["by_kind"][0]["entries"]), (&json!("bash"), &json!(256)));
    assert_eq!(limited(&["compact", "s.jsonl", "--json"]).json()["action"], "compacted");
    assert_eq!(limited(&["prune", "s.jsonl", "--max-result", "1k", "--json"]).json()["prune"]["size"][0]["entries"], 256);
}
