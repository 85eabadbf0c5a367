//! `prune --append`: edits behind the path in place of new lines, for the agent that reads them.

use serde_json::{Value, json};

use crate::answer;
use crate::prune::{ALL, Talk, prune};
use crate::run::{NOW, Run, ids};
use crate::sessions as s;

/// A session in the making that pi 1.x began.
fn talk() -> Talk {
    let mut talk = Talk::new();
    talk.put("sys", |parent| s::message("sys", parent, json!({"role": "system", "content": "You are an agent.", "timestamp": 1})));
    talk
}

/// Something of everything that pruning looks at.
fn full() -> Run {
    let mut talk = talk();
    talk.read("a.rs", 8_000);
    let picture = s::image(400);
    let text = s::words_from(7, 8_000);
    talk.put("a90", |parent| s::assistant("a90", parent, json!([s::call("c90", "view", json!({"path": "a.png"}))])));
    let content = json!([s::tx(&text), picture, {"type": "other"}, s::tx("more")]);
    talk.put("t90", |parent| s::tool_result_with("t90", parent, "c90", "view", content, json!({})));
    talk.put("a91", |parent| s::assistant("a91", parent, json!([s::call("c91", "say", json!({}))])));
    talk.put("t91", |parent| s::tool_result_with("t91", parent, "c91", "say", json!(text), json!({})));
    talk.read("a.rs", 4_000);
    talk.call_with("bash", json!({"command": "sleep 1"}), 400, json!({"useless": true, "details": {"exitCode": 0}}));
    talk.call_with("bash", json!({"command": "make"}), 4_000, json!({"isError": true}));
    talk.ask();
    talk.read("b.rs", 8_000);
    talk.run()
}

/// The context as a model gets it, and as it is counted.
fn context(run: &Run, name: &str) -> (Vec<Value>, Value) {
    let told = run.go(&["export", "--context", "--format", "jsonl", "--no-redact", "--thinking", name]).ok().stdout();
    let counted = run.json(&["inspect", name, "--show", "context", "--tokenizer", "heuristic"])["context"].clone();
    (told.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), counted)
}

/// Fails unless the session is what it was, followed by one edit for each listed result, each behind the one before it.
fn edits(before: &[u8], after: &[u8], receipt: &Value, leaf: &str) -> Vec<Value> {
    let added = std::str::from_utf8(after.strip_prefix(before).expect("what was there stays")).unwrap();
    let edits: Vec<Value> = added.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut parent = leaf;
    for edit in &edits {
        let keys: Vec<&str> = edit.as_object().unwrap().keys().map(String::as_str).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["id", "parentId", "replacement", "targetId", "timestamp", "type"]);
        assert_eq!((&edit["type"], &edit["parentId"]), (&json!("context_edit"), &json!(parent)));
        assert_eq!(edit["timestamp"], NOW.replace('Z', ".000Z"));
        assert!(edit["replacement"]["content"].is_array(), "{edit}");
        parent = edit["id"].as_str().unwrap();
    }
    let told = |key: &str| edits.iter().map(|edit| edit[key].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(told("targetId"), ids(&receipt["prune"]["results"]));
    assert_eq!(json!(told("id")), receipt["entry_ids"]);
    assert_eq!(receipt["entry_id"], json!(edits.last().map(|edit| &edit["id"])));
    assert_eq!((receipt["pruned_results"].as_u64(), receipt["action"].as_str()), (Some(edits.len() as u64), Some("pruned")));
    assert_eq!((receipt["bytes_before"].as_u64(), receipt["bytes_after"].as_u64()), (Some(before.len() as u64), Some(after.len() as u64)));
    assert_eq!((&receipt["archive_revision"], &receipt["prune"]["saved_bytes"]), (&Value::Null, &Value::Null));
    edits
}

#[test]
fn edits_leave_the_context_that_rewriting_leaves() {
    for more in [&[][..], &["--keep-errors"], &["--no-superseded", "--no-useless"], &["--stale", "--stale-suffix-tokens", "1m"]] {
        let run = full();
        let before = run.bytes("s.jsonl");
        run.put("new.jsonl", &before);
        let rewritten = run.json(&[&["prune", "new.jsonl"], ALL, more].concat());
        let dry = prune(&run, &[ALL, more, &["--append", "-n"]]);
        assert!(run.bytes("s.jsonl") == before, "a dry run writes nothing");
        let receipt = prune(&run, &[ALL, more, &["--append"]]);
        assert_eq!(receipt["prune"]["results"], rewritten["prune"]["results"]);
        assert_eq!(receipt["prune"]["saved_tokens"], rewritten["prune"]["saved_tokens"]);
        assert_eq!(
            (&dry["entry_ids"], &dry["bytes_after"], &dry["dry_run"]),
            (&receipt["entry_ids"], &receipt["bytes_after"], &json!(true))
        );
        assert_eq!(receipt["warnings"], json!([]));
        let made = edits(&before, &run.bytes("s.jsonl"), &receipt, "end");
        assert!(made.len() >= 2, "{receipt}");
        assert_eq!(run.names(), ["new.jsonl", "new.jsonl.archive", "s.jsonl"], "nothing is archived");

        let ((told, counted), wanted) = (context(&run, "s.jsonl"), context(&run, "new.jsonl"));
        assert_eq!((&told, &counted), (&wanted.0, &wanted.1), "{more:?}");
        let (calls, results): (Vec<&Value>, Vec<&Value>) = (
            told.iter().flat_map(|m| m["content"].as_array().into_iter().flatten()).filter(|b| b["type"] == "toolCall").collect(),
            told.iter().filter(|m| m["role"] == "toolResult").collect(),
        );
        assert_eq!(calls.iter().map(|c| &c["id"]).collect::<Vec<_>>(), results.iter().map(|r| &r["toolCallId"]).collect::<Vec<_>>());
        assert_eq!(run.json(&["inspect", "--check", "s.jsonl"])["problems"], json!([]));
        let shown = run.go(&["inspect", "s.jsonl", "--show", "context"]).ok().stdout();
        let first = made[0]["replacement"]["content"][0]["text"].as_str().unwrap().lines().next().unwrap().to_owned();
        assert!(shown.contains(&format!(": {}", &first[..30.min(first.len())])), "{shown}");
    }
}

#[test]
fn an_edit_keeps_the_images_beside_text() {
    let run = full();
    prune(&run, &[ALL, &["--append"]]);
    let edit = run.lines("s.jsonl").into_iter().find(|line| line["targetId"] == "t90").unwrap();
    let content = edit["replacement"]["content"].as_array().unwrap().clone();
    assert_eq!(content.len(), 2, "{edit}");
    assert!(content[0]["text"].as_str().unwrap().starts_with("[Output truncated - "));
    assert_eq!(content[1], s::image(400));
}

#[test]
fn a_second_run_appends_nothing() {
    let run = full();
    let first = prune(&run, &[ALL, &["--append"]]);
    let (after, names) = (run.bytes("s.jsonl"), run.names());
    for more in [&[][..], &["--min-result-tokens", "0"], &["--stale", "--stale-suffix-tokens", "1m"], &["-n"]] {
        let receipt = prune(&run, &[ALL, &["--append"], more]);
        assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("nothing"), &json!("nothing_to_prune")), "{more:?}: {receipt}");
        assert_eq!((&receipt["entry_id"], &receipt["entry_ids"]), (&Value::Null, &json!([])));
        assert!(run.bytes("s.jsonl") == after && run.names() == names, "{more:?}");
    }
    // In place there is nothing to save either: what an edit stands for is in no context.
    let receipt = prune(&run, &[ALL]);
    assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("nothing"), &json!("nothing_to_prune")), "{receipt}");
    // A copy of nothing new is the session as it is.
    run.go(&[&["prune", "s.jsonl", "--append", "-o", "copy.jsonl"], ALL].concat()).ok();
    assert!(run.bytes("copy.jsonl") == after);
    // What is said later is pruned by later edits.
    let leaf = first["entry_id"].as_str().unwrap();
    let mut grown = after.clone();
    let lines = [
        s::assistant("n1", leaf, json!([s::call("d1", "bash", json!({"command": "ls"}))])),
        s::tool_result("n2", "n1", "d1", "bash", &s::words(8_000)),
        answer("n3", "n2", "done"),
    ];
    grown.extend(s::file(&lines));
    run.put("s.jsonl", &grown);
    let receipt = prune(&run, &[ALL, &["--append"]]);
    edits(&grown, &run.bytes("s.jsonl"), &receipt, "n3");
    assert_eq!(ids(&receipt["prune"]["results"]), ["n2"]);
}

#[test]
fn only_the_agent_that_reads_edits_gets_them() {
    let read = |lines: &mut Vec<String>| {
        lines.push(s::user("u1", s::ROOT, "a request"));
        lines.push(s::assistant("a1", "u1", json!([s::call("c1", "read", json!({"path": "f"}))])));
        lines.push(s::tool_result("t1", "a1", "c1", "read", &s::words(8_000)));
    };
    let session = |header: &str, marks: &[String]| {
        let mut lines = vec![header.to_owned()];
        read(&mut lines);
        let first = s::assistant("end", "t1", json!([s::tx("done")]));
        lines.push(first);
        lines.extend(marks.iter().cloned());
        Run::of(s::file(&lines))
    };
    let header = s::header();
    let old = header.replace("\"version\":3", "\"version\":2");
    assert_ne!(old, header);
    let pi = s::entry("model_change", "m1", "end", json!({"provider": "anthropic", "modelId": "claude"}));
    let omp = s::entry("model_change", "m1", "end", json!({"model": "anthropic/claude"}));
    let openclaw = s::entry("custom", "m2", "m1", json!({"customType": "openclaw.state", "data": {}}));
    let refused = [
        (session(&header, &[omp]), "oh-my-pi"),
        (session(&header, &[pi.clone(), openclaw]), "openclaw"),
        (session(&header, &[]), "nothing in it shows"),
        (session(&old, std::slice::from_ref(&pi)), "before pi 1.0"),
    ];
    for (run, why) in refused {
        let before = run.bytes("s.jsonl");
        for more in [&[][..], &["-n"], &["-o", "copy.jsonl"]] {
            let out = run.go(&[&["prune", "s.jsonl", "--append"], ALL, more].concat());
            assert_eq!((out.code, out.stdout().as_str()), (1, ""), "{out}");
            let said = out.stderr();
            assert!(said.contains("s.jsonl: --append does not suit this session: ") && said.contains(why), "{said}");
            assert!(said.contains("hint: leave --append out"), "{said}");
            assert!(run.bytes("s.jsonl") == before && run.names() == ["s.jsonl"], "{why}");
        }
        let error = run.json(&[&["prune", "s.jsonl", "--append"], ALL].concat());
        assert_eq!(error["error"]["code"], "refused", "{error}");
        assert_eq!(run.json(&[&["prune", "s.jsonl"], ALL].concat())["action"], "pruned", "without the flag it is done");
    }
    // pi, of a version that the session does not tell.
    let run = session(&header, &[pi]);
    let receipt = prune(&run, &[ALL, &["--append"]]);
    assert_eq!(ids(&receipt["prune"]["results"]), ["t1"]);
    assert!(receipt["warnings"][0].as_str().unwrap().contains("pi before 1.0 passes over"), "{receipt}");
    // Now it tells.
    let leaf = receipt["entry_id"].as_str().unwrap();
    let lines = [
        s::assistant("n1", leaf, json!([s::call("d1", "bash", json!({"command": "ls"}))])),
        s::tool_result("n2", "n1", "d1", "bash", &s::words(8_000)),
        answer("n3", "n2", "done"),
    ];
    run.put("s.jsonl", [run.bytes("s.jsonl"), s::file(&lines)].concat());
    let receipt = prune(&run, &[ALL, &["--append"]]);
    assert_eq!((ids(&receipt["prune"]["results"]), &receipt["warnings"]), (vec!["n2"], &json!([])));
}

#[test]
fn edits_that_are_there_count_and_stay() {
    let edit = |talk: &mut Talk, id: &str, target: &str, replacement: Value| {
        talk.put(id, |parent| s::entry("context_edit", id, parent, json!({"targetId": target, "replacement": replacement})));
    };
    let session = |edited: &[(&str, Value)]| {
        let mut talk = talk();
        for n in 1..=4 {
            talk.read(&format!("f{n}"), 8_000);
        }
        for (n, (target, replacement)) in edited.iter().enumerate() {
            edit(&mut talk, &format!("e{n}"), target, replacement.clone());
        }
        talk.run()
    };
    let limits = &["--append", "--protect-tokens", "3k", "--min-savings", "0", "--tokenizer", "heuristic"][..];
    let gone = |run: &Run| ids(&prune(run, &[limits])["prune"]["results"]).into_iter().map(str::to_owned).collect::<Vec<_>>();
    // Results of 2,000 tokens each: t4 and t3 are the newest 3,000.
    assert_eq!(gone(&session(&[])), ["t1", "t2"]);
    // Where little is left of t4, t2 is among the newest; of t1 a model sees nothing that could be pruned.
    assert_eq!(gone(&session(&[("t4", json!({"content": "short"}))])), ["t1"]);
    assert_eq!(gone(&session(&[("t4", Value::Null), ("t1", json!({"content": "kept"}))])), Vec::<String>::new());
    assert_eq!(gone(&session(&[("t4", json!({"content": "a"})), ("t4", json!({"content": s::words(16_000)}))])), ["t1", "t2", "t3"]);
    // A later read that is out of the context stands for no earlier one.
    let twice = |replacement: Option<Value>| {
        let mut talk = talk();
        talk.read("same", 800);
        talk.read("same", 800);
        if let Some(replacement) = replacement {
            edit(&mut talk, "e1", "t2", replacement);
        }
        talk.run()
    };
    let all = |run: &Run| ids(&prune(run, &[&["--append", "--min-savings", "0"]])["prune"]["results"]).len();
    assert_eq!((all(&twice(None)), all(&twice(Some(json!({"content": "seen"})))), all(&twice(Some(Value::Null)))), (1, 1, 0));
}

#[test]
fn what_stands_behind_a_result_is_counted_as_a_model_sees_it() {
    let session = |edited: bool| {
        let mut talk = talk();
        talk.call_with("bash", json!({"command": "sleep"}), 800, json!({"useless": true}));
        talk.read("f", 40_000);
        if edited {
            talk.put("e1", |parent| s::entry("context_edit", "e1", parent, json!({"targetId": "t2", "replacement": {"content": "cut"}})));
        }
        talk.run()
    };
    let stale = &["--append", "--stale", "--stale-suffix-tokens", "5k", "--stale-idle-minutes", "99999999", "--tokenizer", "heuristic"][..];
    assert_eq!(prune(&session(false), &[stale])["action"], "nothing");
    assert_eq!(ids(&prune(&session(true), &[stale])["prune"]["results"]), ["t1"]);
}

#[test]
fn a_result_that_no_model_sees_gets_no_edit() {
    let mut talk = talk();
    talk.read("f1", 8_000);
    talk.put("a8", |parent| {
        s::assistant_with("a8", parent, json!([s::call("c8", "bash", json!({"command": "x"}))]), json!({"stopReason": "aborted"}))
    });
    talk.put("t8", |parent| s::tool_result("t8", parent, "c8", "bash", &s::words(8_000)));
    let run = talk.run();
    assert_eq!(ids(&prune(&run, &[ALL, &["-n"]])["prune"]["results"]), ["t1", "t8"]);
    assert_eq!(ids(&prune(&run, &[ALL, &["--append"]])["prune"]["results"]), ["t1"]);
}

#[test]
fn edits_go_into_copies_and_streams_and_to_a_named_leaf() {
    let run = full();
    let before = run.bytes("s.jsonl");
    let copy = run.json(&[&["prune", "s.jsonl", "--append", "-o", "copy.jsonl"], ALL].concat());
    edits(&before, &run.bytes("copy.jsonl"), &copy, "end");
    assert!(run.bytes("s.jsonl") == before);
    let out = run.feed(&[&["prune", "-", "--append"], ALL].concat(), &before).ok();
    assert!(out.stdout().as_bytes() == run.bytes("copy.jsonl"));
    prune(&run, &[ALL, &["--append"]]);
    assert!(run.bytes("s.jsonl") == run.bytes("copy.jsonl"));

    // Behind another entry than the last its branch becomes the active one. A session may end without a line end.
    run.put("s.jsonl", before.strip_suffix(b"\n").unwrap());
    let receipt = prune(&run, &[ALL, &["--append", "--leaf", "t90"]]);
    edits(&before, &run.bytes("s.jsonl"), &json_with(&receipt, "bytes_before", before.len()), "t90");
    assert!(receipt["warnings"][0].as_str().unwrap().contains("its branch becomes the active one"), "{receipt}");
}

fn json_with(object: &Value, key: &str, value: usize) -> Value {
    let mut object = object.clone();
    object[key] = json!(value);
    object
}

#[test]
fn what_an_agent_reported_before_an_edit_no_longer_holds() {
    let mut talk = talk();
    talk.read("f", 40_000);
    let usage = json!({"usage": {"input": 150_000, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 150_010}});
    talk.put("full", |parent| s::assistant_with("full", parent, json!([s::tx("done")]), usage));
    let run = Run::of(s::file(&talk.lines));
    let size = || run.json(&["inspect", "s.jsonl", "--tokenizer", "heuristic"])["tokens"].clone();
    assert_eq!(size()["reported"], 150_010);
    prune(&run, &[ALL, &["--append"]]);
    assert_eq!((&size()["reported"], size()["context"].as_u64().unwrap() < 1_000), (&Value::Null, true), "{}", size());
}

#[test]
fn edits_go_with_pruning_only() {
    let run = full();
    let before = run.bytes("s.jsonl");
    let all = [
        &["--repair"][..],
        &["--restore", "1"],
        &["--details"],
        &["--images", "drop"],
        &["--args"],
        &["--custom", "x"],
        &["--max-result", "100"],
        &["--dead-branches"],
        &["--summarized"],
        &["--dedupe"],
        &["--no-archive", "--yes"],
        &["--leaf", "all"],
    ];
    for args in all {
        let out = run.go(&[&["prune", "s.jsonl", "--append"], args].concat());
        assert_eq!(out.code, 2, "{args:?}: {out}");
        assert!(out.stderr().contains("--append"), "{out}");
    }
    assert!(run.bytes("s.jsonl") == before);
}
