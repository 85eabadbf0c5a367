//! Automatic maintenance: what asks for a compaction, what is done instead, and what is done after it.

use serde_json::{Value, json};

use crate::run::{NOW, Run};
use crate::sessions as s;
use crate::{answer, turns};

/// Turns of some 2,000 tokens, and a last turn that ended so.
fn ending(extra: Value) -> Vec<u8> {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 1, 6, 800);
    lines.push(s::user("last", last.as_str(), "go on"));
    lines.push(s::assistant_with("end", "last", json!([s::tx("half an answ")]), extra));
    s::file(&lines)
}

fn overflow() -> Vec<u8> {
    ending(json!({"stopReason": "error", "errorMessage": "prompt is too long: 210000 tokens > 200000 maximum"}))
}

fn incomplete() -> Vec<u8> {
    ending(json!({"stopReason": "length"}))
}

/// Runs without the config of the machine and with one of its own.
fn with_config(run: &Run, config: &str, args: &[&str]) -> crate::run::Out {
    run.put("c.toml", config);
    run.go_bare(&[args, &["--config", "c.toml", "--now", NOW]].concat())
}

const LARGER: &str = "[[promotion]]\nto = \"openai/gpt-4.1\"\n";
/// Every session that ends in a good answer is above it.
const LOW: &[&str] = &["--trigger", "auto", "--threshold", "500", "--keep-recent-tokens", "300"];

#[test]
fn the_first_condition_that_holds_fires() {
    let rows: &[(&str, Vec<u8>, &[&str], Value)] = &[
        ("overflow", overflow(), &[], json!(["overflow", true])),
        ("incomplete", incomplete(), &[], json!(["incomplete", true])),
        ("threshold", ending(json!({})), &["--threshold", "500"], json!(["threshold", false])),
        ("nothing", ending(json!({})), &[], json!([null, false])),
        // A failed turn asks for nothing unless it was too long, even above the threshold.
        (
            "other error",
            ending(json!({"stopReason": "error", "errorMessage": "overloaded"})),
            &["--threshold", "500"],
            json!([null, false]),
        ),
        // Of another model than the session is on now, it tells nothing.
        ("another model", then_another_model(overflow()), &[], json!([null, false])),
        ("cut off on another model", then_another_model(incomplete()), &["--threshold", "500"], json!([null, false])),
        // Reported input above the window is an overflow whatever the error says.
        (
            "reported",
            ending(
                json!({"stopReason": "error", "errorMessage": "bad gateway", "usage": {"input": 300_000, "output": 1, "totalTokens": 300_001}}),
            ),
            &[],
            json!(["overflow", true]),
        ),
        // What stands before a compaction asks for nothing any more.
        ("compacted since", [overflow(), s::file(&[s::compaction("k", "end", "all of it", "last")])].concat(), &[], json!([null, false])),
    ];
    for (name, bytes, args, want) in rows {
        let run = Run::of(bytes);
        let found = run.json(&[&["inspect", "s.jsonl", "--show", "triggers"], *args].concat())["triggers"].clone();
        assert_eq!(json!([found["reason"], found["will_retry"]]), *want, "{name}: {found}");
        let fired = found["reason"].as_str();
        assert_eq!(found["fired"], fired.is_some(), "{name}");
        for reason in ["overflow", "incomplete", "threshold"] {
            assert_eq!(found[reason], fired == Some(reason), "{name}: {found}");
        }
        assert_eq!(found["idle"], fired == Some("threshold"), "{name}");
        let question = run.go(&[&["inspect", "s.jsonl", "--needs-compaction"], *args].concat());
        assert_eq!(question.code, if fired.is_some() { 0 } else { 3 }, "{name}: {question}");
        assert_eq!(question.stdout().contains(fired.unwrap_or("s.jsonl")), fired.is_some(), "{name}: {question}");
        let receipt = run.json(&[&["compact", "-n", "s.jsonl", "--trigger", "auto", "--keep-recent-tokens", "300"], *args].concat());
        assert_eq!(receipt["triggers"]["reason"], want[0], "{name}");
        assert_eq!(receipt["action"], if fired.is_some() { "compacted" } else { "nothing" }, "{name}: {receipt}");
        let text = run.go(&[&["inspect", "s.jsonl", "--show", "triggers"], *args].concat()).ok().stdout();
        assert!(text.contains(fired.unwrap_or("nothing asks")), "{name}: {text}");
        // Switched off, nothing fires, and the conditions are still told.
        let off = run.json(&[&["inspect", "s.jsonl", "--show", "triggers", "--enabled", "false"], *args].concat())["triggers"].clone();
        assert_eq!((&off["fired"], &off["reason"], &off["overflow"]), (&json!(false), &Value::Null, &found["overflow"]), "{name}");
        let off = run.go(&[&["inspect", "s.jsonl", "--needs-compaction", "--enabled", "false"], *args].concat());
        assert_eq!(off.code, 3);
    }
}

fn then_another_model(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(s::file(&[s::entry("model_change", "m1", "end", json!({"provider": "openai", "modelId": "gpt-5"}))]));
    bytes
}

#[test]
fn a_failing_turn_leaves_the_path() {
    for (reason, bytes) in [("overflow", overflow()), ("incomplete", incomplete())] {
        let run = Run::of(&bytes);
        let receipt = run.json(&["compact", "s.jsonl", "--trigger", "auto", "--keep-recent-tokens", "300"]);
        assert_eq!((&receipt["action"], &receipt["triggers"]["reason"]), (&json!("compacted"), &json!(reason)), "{receipt}");
        let entry = run.last("s.jsonl");
        assert_eq!(entry["parentId"], "last", "{reason}: behind the request, before the failing answer");
        let path = run.json(&["inspect", "s.jsonl", "--show", "path,context"]);
        assert!(!crate::run::ids(&path["path_list"]).contains(&"end"), "{reason}");
        assert!(crate::run::ids(&path["context"]).contains(&"last"), "{reason}: the request is made again");
        assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0);
        // It is done: the same question again finds nothing to do.
        assert_eq!(run.json(&["compact", "s.jsonl", "--trigger", "auto"])["reason"], "no_trigger");
    }
}

#[test]
fn a_larger_model_comes_before_a_compaction() {
    for (reason, bytes, parent) in
        [("overflow", overflow(), "last"), ("incomplete", incomplete(), "last"), ("threshold", ending(json!({})), "end")]
    {
        let run = Run::of(&bytes);
        let plan = with_config(&run, LARGER, &[&["compact", "-n", "s.jsonl", "--json"], LOW].concat()).ok().json();
        assert_eq!(plan["action"], "promoted");
        assert!(run.bytes("s.jsonl") == bytes, "a dry run writes nothing");
        let receipt = with_config(&run, LARGER, &[&["compact", "s.jsonl", "--exit-code", "--json"], LOW].concat()).ok().json();
        let promotion = json!({"from": "anthropic/claude-sonnet-4-5", "to": "openai/gpt-4.1", "window": 1_047_576});
        assert_eq!((&receipt["action"], &receipt["triggers"]["promotion"]), (&json!("promoted"), &promotion), "{receipt}");
        assert_eq!((&receipt["triggers"]["reason"], &receipt["entry_id"]), (&json!(reason), &plan["entry_id"]));
        assert_eq!(receipt["bytes_after"], run.bytes("s.jsonl").len());
        let entry = run.last("s.jsonl");
        assert_eq!((&entry["type"], &entry["parentId"], &entry["id"]), (&json!("model_change"), &json!(parent), &receipt["entry_id"]));
        assert!(run.bytes("s.jsonl").starts_with(&bytes));
        assert_eq!(run.lines("s.jsonl").len(), bytes.iter().filter(|b| **b == b'\n').count() + 1);
        assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0);
        // The session is on that model now; what still asks is compacted.
        let again = with_config(&run, LARGER, &[&["compact", "-n", "s.jsonl", "--json"], LOW].concat()).ok().json();
        assert_ne!(again["action"], "promoted", "{again}");
        assert_eq!(again["triggers"]["promotion"], Value::Null);
        // Nor is it switched to again where its window is said to be small.
        let small = [&["compact", "-n", "s.jsonl", "--json", "--context-window", "2000"], LOW].concat();
        assert_ne!(with_config(&run, LARGER, &small).ok().json()["action"], "promoted");
        // Nor where it is measured against another model than it is on.
        let other = [&["compact", "-n", "s.jsonl", "--json", "--model", "anthropic/claude-sonnet-4-5"], LOW].concat();
        assert_ne!(with_config(&run, LARGER, &other).ok().json()["action"], "promoted");
    }
}

#[test]
fn a_promotion_is_for_what_fired_and_helps() {
    let run = Run::of(ending(json!({})));
    let by_hand = |args: &[&'static str]| [args, &["--keep-recent-tokens", "300"]].concat();
    let action = |config: &str, args: &[&str]| {
        with_config(&run, config, &[&["compact", "-n", "s.jsonl", "--json"], args].concat()).ok().json()["action"].clone()
    };
    assert_eq!(action(LARGER, LOW), "promoted");
    assert_eq!(action(LARGER, &by_hand(&["--threshold", "500"])), "compacted", "by hand");
    assert_eq!(action(LARGER, &by_hand(&["--threshold", "500", "--trigger", "idle"])), "compacted");
    assert_eq!(action(LARGER, &["--trigger", "auto"]), "nothing");
    assert_eq!(action(&format!("{LARGER}from = \"gpt\"\n"), LOW), "compacted", "for other models");
    assert_eq!(action(&format!("{LARGER}from = \"claude-sonnet\"\n"), LOW), "promoted");
    assert_eq!(action("[[promotion]]\nto = \"openai/gpt-4o\"\n", LOW), "compacted", "its window is smaller");
    let tiny = "[[models]]\npattern = \"mine/\"\nwindow = 1000\n[[promotion]]\nto = \"mine/a\"\n";
    assert_eq!(action(tiny, &[LOW, &["--context-window", "900"]].concat()), "compacted", "the context does not fit it either");
    // Only told where only a report is wanted.
    let off = with_config(&run, LARGER, &[&["compact", "s.jsonl", "--json", "--strategy", "off"], LOW].concat()).ok().json();
    assert_eq!((&off["reason"], &off["triggers"]["promotion"]["to"]), (&json!("off"), &json!("openai/gpt-4.1")));
    let shown = with_config(&run, LARGER, &["inspect", "s.jsonl", "--show", "triggers", "--threshold", "500"]).ok().stdout();
    assert!(shown.contains("switches from anthropic/claude-sonnet-4-5 to openai/gpt-4.1, 1,047,576 tokens"), "{shown}");
    let receipt = with_config(&run, LARGER, &[&["compact", "s.jsonl"], LOW].concat()).ok().stdout();
    assert!(receipt.contains("instead of compacting (threshold): anthropic/claude-sonnet-4-5 → openai/gpt-4.1"), "{receipt}");
}

#[test]
fn a_change_of_the_model_has_the_owners_form() {
    let mark = |kind: &str, fields: Value| s::entry(kind, "mark", "end", fields);
    let rows = [
        ("omp", mark("mode_change", json!({"mode": "plan"})), json!(["openai/gpt-4.1", null, null])),
        ("pi", mark("session_info", json!({"name": "n"})), json!([null, "openai", "gpt-4.1"])),
        ("openclaw", mark("custom", json!({"customType": "openclaw.x", "data": 1})), json!([null, "openai", "gpt-4.1"])),
        ("unknown", mark("label", json!({"targetId": "end", "label": "m"})), json!(["openai/gpt-4.1", "openai", "gpt-4.1"])),
    ];
    for (owner, line, want) in rows {
        let run = Run::of([ending(json!({})), s::file(&[line])].concat());
        assert_eq!(run.json(&["inspect", "s.jsonl"])["session"]["owner"], owner);
        with_config(&run, LARGER, &[&["compact", "s.jsonl"], LOW].concat()).ok();
        let entry = run.last("s.jsonl");
        assert_eq!(json!([entry["model"], entry["provider"], entry["modelId"]]), want, "{owner}: {entry}");
        let found = with_config(&run, "", &["inspect", "s.jsonl", "--json"]).ok().json();
        assert_eq!(found["tokens"]["window"], 1_047_576, "{owner}: the session is on that model");
    }
}

#[test]
fn the_agent_goes_on_only_behind_a_threshold() {
    let go = |bytes: &[u8], trigger: &str, more: &[&str]| {
        let run = Run::of(bytes);
        let args = [&["compact", "s.jsonl", "--threshold", "500", "--keep-recent-tokens", "300", "--trigger", trigger], more].concat();
        let receipt = run.json(&args);
        assert_eq!(receipt["action"], "compacted", "{receipt}");
        (receipt, run)
    };
    let good = ending(json!({}));
    let (receipt, run) = go(&good, "auto", &["--auto-continue"]);
    let lines = run.lines("s.jsonl");
    let [compaction, message] = &lines[lines.len() - 2..] else { panic!() };
    assert_eq!((&compaction["type"], &compaction["id"]), (&json!("compaction"), &receipt["entry_id"]));
    assert_eq!((&message["type"], &message["parentId"]), (&json!("custom_message"), &compaction["id"]));
    assert_eq!(
        (&message["id"], &message["customType"], &message["display"]),
        (&receipt["continue_id"], &json!("auto-continue"), &json!(false))
    );
    assert_eq!(receipt["bytes_after"], run.bytes("s.jsonl").len());
    let context = run.json(&["inspect", "s.jsonl", "--show", "overview,context", "--exact"]);
    assert_eq!(context["context"].as_array().unwrap().last().unwrap()["id"], message["id"]);
    assert_eq!(context["tokens"]["counted"], receipt["counted_after"]);
    assert_eq!(run.json(&["compact", "s.jsonl", "--trigger", "auto", "--threshold", "500"])["reason"], "no_trigger");
    for (bytes, trigger, more) in [
        (&good, "auto", &[][..]),
        (&good, "idle", &["--auto-continue"]),
        (&good, "manual", &["--auto-continue"]),
        (&overflow(), "auto", &["--auto-continue"]),
        (&incomplete(), "auto", &["--auto-continue"]),
    ] {
        let (receipt, run) = go(bytes, trigger, more);
        assert_eq!((&receipt["continue_id"], &run.last("s.jsonl")["type"]), (&Value::Null, &json!("compaction")), "{trigger}");
    }
}

/// What an agent does: it works, fails, branches off, and asks after every turn whether it is time.
#[test]
fn a_session_that_grows_is_compacted_again_and_again() {
    let run = Run::of(s::file(&[s::header()]));
    let auto = [
        "compact",
        "s.jsonl",
        "--trigger",
        "auto",
        "--threshold",
        "6k",
        "--keep-recent-tokens",
        "1500",
        "--summary-tokens",
        "800",
        "--tokenizer",
        "heuristic",
    ];
    let leaf = |run: &Run| run.json(&["inspect", "s.jsonl"])["leaf"].as_str().map(str::to_owned);
    let (mut compactions, mut retried) = (0, Vec::new());
    for turn in 0..64 {
        let parent = match turn {
            // Back to an earlier answer, on another branch from there.
            22 | 44 => run.lines("s.jsonl").iter().rev().filter_map(|l| l["id"].as_str()).find(|id| id.starts_with('a')).map(str::to_owned),
            _ => leaf(&run),
        };
        let ids = ["u", "c", "t", "a"].map(|kind| format!("{kind}{turn}"));
        let [user, call, result, reply] = &ids;
        let mut lines = vec![
            s::user(user, parent.as_deref(), s::words_from(turn * 9_000, 700)),
            crate::read(call, user, &format!("k{turn}"), &format!("src/f{}.rs", turn % 11)),
            s::tool_result(result, call.as_str(), &format!("k{turn}"), "read", &s::words_from(turn * 9_000 + 3_000, 2_000)),
        ];
        lines.push(match turn {
            31 => s::assistant_with(
                reply,
                result.as_str(),
                json!([]),
                json!({"stopReason": "error", "errorMessage": "context_length_exceeded"}),
            ),
            53 => s::assistant_with(reply, result.as_str(), json!([s::tx("half")]), json!({"stopReason": "length"})),
            _ => answer(reply, result, &s::words_from(turn * 9_000 + 6_000, 900)),
        });
        let bytes = [run.bytes("s.jsonl"), s::file(&lines)].concat();
        run.put("s.jsonl", &bytes);
        let receipt = run.json(&auto);
        if receipt["action"] == "compacted" {
            compactions += 1;
            assert!(receipt["counted_after"].as_u64() < receipt["counted_before"].as_u64(), "{receipt}");
            retried.extend(receipt["triggers"]["will_retry"].as_bool().filter(|retry| *retry).map(|_| turn));
        } else {
            assert_eq!(receipt["reason"], "no_trigger", "turn {turn}: {receipt}");
        }
        assert!(run.bytes("s.jsonl").starts_with(&bytes));
        assert_eq!(run.json(&auto)["reason"], "no_trigger", "turn {turn}: right after it there is nothing to do");
        let report = run.json(&["inspect", "--check", "s.jsonl"]);
        assert!(crate::run::codes(&report).is_empty(), "turn {turn}: {report}");
    }
    assert!(compactions >= 10, "{compactions} compactions");
    assert_eq!(retried, [31, 53]);
}

#[test]
fn what_was_said_after_a_turn_that_failed_stays() {
    for bytes in [overflow(), incomplete()] {
        let order = "Stop that, and never touch the production table.";
        let bytes = [bytes, s::user("after", "end", order).into_bytes(), b"\n".to_vec()].concat();
        let run = Run::of(bytes);
        let out = run.json(&["compact", "s.jsonl", "--trigger", "auto", "--keep-recent-tokens", "300"]);
        assert_eq!(out["action"], "compacted", "{out}");
        assert_eq!(run.last("s.jsonl")["parentId"], "after");
        assert!(run.go(&["export", "--context", "s.jsonl"]).ok().stdout().contains(order));
        // What its calls gave is part of the turn, not something that was said.
        assert_eq!(run.json(&["inspect", "--check", "s.jsonl"])["problems"], json!([]));
    }
}
