//! What a summary carries over, and what never may get into it.

use serde_json::json;

use crate::run::Run;
use crate::sessions as s;
use crate::{LEAST, LITTLE, answer, compacted, turns};

#[test]
fn c09_file_lists_do_not_grow_without_limit() {
    let run = Run::of(s::file(&[s::header(), s::user("u", s::ROOT, "read everything")]));
    let mut parent = "u".to_owned();
    let mut sizes = Vec::new();
    for round in 0..6 {
        let calls: Vec<_> = (0..200)
            .map(|n| s::call(&format!("c{round}-{n}"), "read", json!({"path": format!("src/part{round}/deep{}/file{n}.rs", n % 7)})))
            .collect();
        let mut lines = vec![s::assistant(&format!("r{round}"), parent.as_str(), json!(calls))];
        parent = format!("r{round}");
        for n in 0..200 {
            let id = format!("t{round}-{n}");
            lines.push(s::tool_result(&id, parent.as_str(), &format!("c{round}-{n}"), "read", &s::words_from(n * 100, 120)));
            parent = id;
        }
        lines.push(s::user(&format!("v{round}"), parent.as_str(), "go on"));
        lines.push(answer(&format!("w{round}"), &format!("v{round}"), "going on"));
        let mut bytes = run.bytes("s.jsonl");
        bytes.extend(s::file(&lines));
        run.put("s.jsonl", bytes);
        let (_, entry) = compacted(&run, "s.jsonl", LEAST);
        assert_eq!(entry["details"]["readFiles"].as_array().unwrap().len(), 200 * (round + 1));
        parent = entry["id"].as_str().unwrap().to_owned();
        sizes.push(entry["summary"].as_str().unwrap().len());
    }
    assert!(sizes[5] * 2 <= sizes[1] * 3, "{sizes:?}");
    assert!(run.last("s.jsonl")["summary"].as_str().unwrap().contains("more files omitted"));
}

#[test]
fn c10_one_file_once_and_no_urls() {
    let name = "C10-selectors.jsonl";
    let run = Run::with(&["cases/C10-selectors.jsonl"]);
    let (receipt, entry) = compacted(&run, name, LITTLE);
    assert_eq!((&receipt["files"]["read"], &receipt["files"]["modified"]), (&json!([]), &json!(["src/a.ts"])));
    assert_eq!(entry["details"], json!({"readFiles": [], "modifiedFiles": ["src/a.ts"]}));
    assert!(entry["summary"].as_str().unwrap().ends_with("<files>\n# src/\na.ts (RW)\n</files>"), "{entry}");
}

#[test]
fn c11_windows_paths() {
    let name = "C11-windows-paths.jsonl";
    let run = Run::with(&["cases/C11-windows-paths.jsonl"]);
    let (receipt, entry) = compacted(&run, name, LITTLE);
    assert_eq!(receipt["files"]["read"], json!(["C:10", r"C:\w\a.rs", r"C:\w\sub\b.rs"]));
    let summary = entry["summary"].as_str().unwrap();
    assert!(summary.contains("# C:/w/\na.rs (Read)") && summary.contains("b.rs (Read)"), "{summary}");
}

#[test]
fn c15_abandoned_branches_do_not_leak() {
    let name = "C15-dead-branch.jsonl";
    let run = Run::with(&["cases/C15-dead-branch.jsonl"]);
    let (_, entry) = compacted(&run, name, LITTLE);
    assert!(!entry.to_string().contains("DEADBRANCH"), "{entry}");
    for view in ["context", "transcript", "cut", "files", "summary", "path"] {
        let out = run.go(&["inspect", name, "--show", view, "--keep-recent-tokens", "300"]).ok();
        assert!(!out.stdout().contains("DEADBRANCH"), "{view}");
    }
}

#[test]
fn c17_the_latest_compaction_counts() {
    let name = "C17-latest-of-two.jsonl";
    let run = Run::with(&["cases/C17-latest-of-two.jsonl"]);
    let (receipt, entry) = compacted(&run, name, LITTLE);
    assert_eq!(receipt["cut"]["previous_compaction_id"], "k2");
    assert_eq!(receipt["cut"]["window_start_id"], "a4");
    let summary = entry["summary"].as_str().unwrap();
    assert!(!summary.contains("only the first two turns"), "{summary}");
    assert!(summary.contains("all four turns"), "{summary}");
}

#[test]
fn c23_signed_thinking_is_never_touched() {
    let name = "C23-signed-thinking.jsonl";
    let run = Run::with(&["cases/C23-signed-thinking.jsonl"]);
    let signed = |run: &Run| {
        let text = run.text(name);
        text.lines().filter(|line| line.contains("thinkingSignature")).map(str::to_owned).collect::<Vec<_>>()
    };
    let before = signed(&run);
    assert!(!before.is_empty());
    compacted(&run, name, &["--keep-recent-tokens", "1000"]);
    assert_eq!(signed(&run), before);
}

#[test]
fn c24_text_that_looks_like_our_own_is_only_text() {
    let name = "C24-closes-our-tags.jsonl";
    let run = Run::with(&["cases/C24-closes-our-tags.jsonl"]);
    let (_, entry) = compacted(&run, name, LITTLE);
    let summary = entry["summary"].as_str().unwrap();
    // No heading of ours comes from the user's `## Goal`, whose next line is `fake`.
    let lines: Vec<&str> = summary.lines().filter(|line| !line.trim().is_empty()).collect();
    assert!(!lines.windows(2).any(|pair| pair[0].starts_with("## Goal") && pair[1].trim() == "fake"), "{summary}");
    assert!(summary.matches("\n## Goal").count() + usize::from(summary.starts_with("## Goal")) <= 1, "{summary}");
    assert!(!summary.contains("<previous-summary>EVIL"), "{summary}");
}

/// Secrets of several known shapes, put together here so that no scanner finds them in this file.
fn secrets() -> Vec<(String, String)> {
    let noise = |len: usize| "R4nd0mK3yV4lu3xYzQ7w8E9r2T5y1U6i3O0pAsDfGhJkLzXcVbNm".chars().cycle().take(len).collect::<String>();
    let of = |parts: &[&str]| parts.concat();
    let plain = [
        of(&["sk", "-ant-", "api03-", &noise(40)]),
        of(&["gh", "p_", &noise(36)]),
        of(&["AK", "IA", "IOSFODNN7QWERTYU"]),
        of(&["ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxMjM0NTY3ODkwIn0", ".", &noise(43)]),
    ];
    let mut all: Vec<(String, String)> = plain.into_iter().map(|secret| (format!("use {secret} for it"), secret)).collect();
    let password = of(&["p4ss", "-w0rd-", &noise(12)]);
    all.push((format!("postgres://user:{password}@db.example/x"), password));
    let value = noise(32);
    all.push((format!("SERVICE_API_KEY={value}"), value));
    let bearer = noise(44);
    all.push((format!("Authorization: Bearer {bearer}"), bearer));
    let body = noise(64);
    all.push((format!("-----BEGIN {0} KEY-----\n{body}\n-----END {0} KEY-----", "PRIVATE"), body));
    all
}

#[test]
fn c25_secrets_never_reach_what_we_write() {
    for (text, secret) in secrets() {
        let mut lines = vec![
            s::header(),
            s::user("u1", s::ROOT, format!("always remember: {text}")),
            s::assistant(
                "b1",
                "u1",
                json!([s::tx(&format!("decided: {text}")), s::call("c1", "bash", json!({"command": format!("echo '{text}'")}))]),
            ),
            s::tool_result("t1", "b1", "c1", "bash", &format!("# .env\n{text}\nerror: {text}")),
            s::compaction("k1", "t1", &format!("## Goal\nKeep {text}"), "u1"),
        ];
        turns(&mut lines, Some("k1"), 2, 2, 600);
        let run = Run::of(s::file(&lines));
        run.put("notes.txt", format!("note {text}\n"));
        let focus = format!("look at {text}");
        let more = ["--keep-recent-tokens", "1", "--instructions", &focus, "--context-file", "notes.txt"];
        let plan = run.go(&[&["compact", "-n", "s.jsonl", "--allow-growth"], &more[..]].concat()).ok();
        assert!(!plan.stdout().contains(&secret), "shown: {text}");
        let (receipt, entry) = compacted(&run, "s.jsonl", &more);
        assert!(!entry.to_string().contains(&secret), "written: {text}\n{entry}");
        assert!(!receipt.to_string().contains(&secret), "in the receipt: {text}\n{receipt}");
        let seen = run.go(&["inspect", "s.jsonl", "--show", "tree,path,transcript,summary"]).ok();
        assert!(!seen.stdout().contains(&secret), "inspected: {text}");
    }
}

#[test]
fn c26_names_are_never_invented() {
    let name = "C26-exact-names.jsonl";
    let run = Run::with(&["cases/C26-exact-names.jsonl"]);
    let source = run.text(name);
    let (_, entry) = compacted(&run, name, LITTLE);
    let summary = entry["summary"].as_str().unwrap();
    let hex = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let uuids: Vec<&str> = summary.split(|c: char| !c.is_ascii_hexdigit() && c != '-').filter(|word| hex(word)).collect();
    assert!(!uuids.is_empty());
    for uuid in uuids {
        assert!(source.contains(uuid), "{uuid} is in no message");
    }
}

#[test]
fn c27_the_users_orders_stay() {
    let name = "C27-early-order.jsonl";
    let run = Run::with(&["cases/C27-early-order.jsonl"]);
    for round in 0..3 {
        let (_, entry) = compacted(&run, name, &["--keep-recent-tokens", "2k"]);
        assert!(entry["summary"].as_str().unwrap().contains("never touch /etc/prod"), "round {round}: {entry}");
        let mut lines = Vec::new();
        turns(&mut lines, entry["id"].as_str(), 100 * (round + 1), 12, 900);
        let mut bytes = run.bytes(name);
        bytes.extend(s::file(&lines));
        run.put(name, bytes);
    }
}

#[test]
fn c28_equal_runs_give_equal_bytes() {
    for session in ["sessions/small.jsonl", "sessions/long.jsonl", "cases/C07-endless-turn.jsonl"] {
        let made = |env: &[(&str, &str)]| {
            let run = Run::with(&[session]);
            let name = run.names().remove(0);
            run.go_env(&["compact", &name, "--keep-recent-tokens", "5k", "--jobs", "3"], env).ok();
            run.bytes(&name)
        };
        let first = made(&[("TZ", "UTC"), ("LANG", "C")]);
        assert!(
            first == made(&[("TZ", "Asia/Kathmandu"), ("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8"), ("COLUMNS", "20")]),
            "{session}"
        );
        assert!(String::from_utf8(first).unwrap().ends_with("}\n"));
    }
}

#[test]
fn what_the_rest_of_a_split_turn_put_right_is_not_open() {
    let failed = s::tool_result_with(
        "t1",
        "a1",
        "c1",
        "bash",
        json!([s::tx("error: unused variable: `delimiter`\nCommand exited with code 101")]),
        json!({"isError": true}),
    );
    let lines = [
        s::header(),
        s::user("u1", None, "Add the flag for the delimiter."),
        s::assistant("a1", "u1", json!([s::call("c1", "bash", json!({"command": "cargo clippy"}))])),
        failed,
        answer("a2", "t1", &format!("Clippy complains. {}", s::words(400))),
        s::user("u2", "a2", "Put the warning right now."),
        s::assistant("a3", "u2", json!([s::call("c2", "bash", json!({"command": "cargo clippy"}))])),
        s::tool_result("t2", "a3", "c2", "bash", "Finished dev profile, no warnings"),
        answer("a4", "t2", &format!("Clippy is clean now. {}", s::words(400))),
    ];
    let run = Run::of(s::file(&lines));
    let args = ["compact", "s.jsonl", "--keep-recent-tokens", "30", "--allow-growth"];
    for round in 0..4 {
        let receipt = run.json(&args);
        let summary = receipt["summary"]["text"].as_str().unwrap().to_owned();
        assert!(round > 0 || summary.contains("Turn Context"), "{summary}");
        assert!(!summary.contains("not fixed yet"), "{round}: {summary}");
        assert!(round > 0 || summary.contains("Fixed: `cargo clippy` passes now"), "{round}: {summary}");
        let leaf = run.last("s.jsonl")["id"].as_str().unwrap().to_owned();
        let (question, reply) = (format!("q{round}"), format!("r{round}"));
        let more = [s::user(&question, leaf.as_str(), "Next thing."), answer(&reply, &question, &s::words(400))];
        run.put("s.jsonl", [run.bytes("s.jsonl"), more.join("\n").into_bytes(), b"\n".to_vec()].concat());
    }
}
