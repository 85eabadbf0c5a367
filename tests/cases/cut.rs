//! Where a compaction cuts.

use serde_json::{Value, json};

use crate::run::{Run, ids};
use crate::sessions as s;
use crate::{LEAST, LITTLE, compacted};

/// The plan for some budgets, from the newest group to everything.
fn plans(run: &Run, name: &str) -> Vec<Value> {
    let plans = ["1", "100", "300", "600", "900", "1200", "2000"]
        .map(|keep| run.json(&["compact", "-n", name, "--allow-growth", "--keep-recent-tokens", keep]));
    plans.into_iter().filter(|plan| plan["action"] == "compacted").collect()
}

#[test]
fn c01_what_the_first_compaction_kept_is_not_lost() {
    let name = "C01-kept-before-the-compaction.jsonl";
    let run = Run::with(&["cases/C01-kept-before-the-compaction.jsonl"]);
    let plans = plans(&run, name);
    assert!(plans.len() > 2);
    for plan in plans {
        let cut = &plan["cut"];
        assert_eq!((&cut["window_start_id"], &cut["previous_compaction_id"]), (&json!("u2"), &json!("k1")));
        let sum: u64 = ["summarize", "turn_prefix", "keep"].iter().map(|part| cut[*part]["messages"].as_u64().unwrap()).sum();
        assert_eq!(sum, 6, "u2 to a4, each once: {plan}");
    }
    // It was seen by a summarizer, or it is still there.
    let (receipt, entry) = compacted(&run, name, LITTLE);
    let sources = receipt["summary"]["lines"].to_string();
    let kept = run.json(&["inspect", name, "--show", "context"]);
    assert!(sources.contains("u2") || entry["summary"].as_str().unwrap().contains("MARK-U2") || ids(&kept["context"]).contains(&"u2"));
}

#[test]
fn c02_no_result_without_its_call() {
    let name = "C02-results-after-a-compaction.jsonl";
    let run = Run::with(&["cases/C02-results-after-a-compaction.jsonl"]);
    let plans = plans(&run, name);
    assert!(plans.len() > 2);
    for plan in &plans {
        let first = plan["cut"]["first_kept_message_id"].as_str().unwrap();
        assert!(["a2", "a3", "u4", "a4"].contains(&first), "{plan}");
        assert!(!ids(&plan["cut"]["candidates"]).iter().any(|id| ["t1", "t2"].contains(id)));
    }
    assert_eq!(run.go(&["compact", name, "--keep-from", "t2"]).code, 1);
    for keep in ["1", "300"] {
        let run = Run::with(&["cases/C02-results-after-a-compaction.jsonl"]);
        compacted(&run, name, &["--keep-recent-tokens", keep]);
    }
}

#[test]
fn c03_a_call_whose_result_never_came() {
    for (name, warned) in [("C03-open-call-at-the-end.jsonl", true), ("C03-open-call-in-the-middle.jsonl", false)] {
        let run = Run::with(&[&format!("cases/{name}")]);
        assert_eq!(crate::run::codes(&run.json(&["inspect", "--check", name])), ["unanswered-call"], "{name}");
        let plan = run.json(&["compact", "-n", name, "--keep-recent-tokens", "1", "--allow-growth"]);
        assert_eq!(plan["warnings"].to_string().contains("without a result (a2)"), warned, "{plan}");
        assert_eq!(plan["action"], "compacted", "{plan}");
    }
}

#[test]
fn c04_a_failed_turn_and_its_results_stay_together() {
    let name = "C04-failed-turn-with-a-call.jsonl";
    let run = Run::with(&["cases/C04-failed-turn-with-a-call.jsonl"]);
    let plans = plans(&run, name);
    assert!(!plans.is_empty());
    for plan in plans {
        assert_ne!(plan["cut"]["first_kept_message_id"], "t3");
        assert!(!ids(&plan["cut"]["candidates"]).contains(&"t3"));
    }
    // Failed turns are no progress: left out of the text, and named.
    let (receipt, _) = compacted(&run, name, &["--keep-from", "u5"]);
    let dropped = ids(&receipt["dropped"]);
    assert!(["a2", "e1", "e2", "e3", "e4", "e5"].iter().all(|id| dropped.contains(id)), "{receipt}");
    assert!(receipt["dropped"].as_array().unwrap().iter().all(|d| d["why"].is_string()));
}

#[test]
fn c07_one_endless_turn() {
    let name = "C07-endless-turn.jsonl";
    let run = Run::with(&["cases/C07-endless-turn.jsonl"]);
    let (receipt, entry) = compacted(&run, name, &["--keep-recent-tokens", "5k"]);
    assert_eq!((&receipt["cut"]["is_split_turn"], &receipt["cut"]["turn_start_id"]), (&json!(true), &json!("u1")));
    let summary = entry["summary"].as_str().unwrap();
    assert!(summary.contains("GOAL-XYZ: port every module to the new store"), "{summary}");
    assert!(summary.contains("**Turn Context (split turn):**"));
    assert!(receipt["counted_after"].as_u64() < receipt["counted_before"].as_u64());
}

#[test]
fn c08_one_file_list() {
    let name = "C08-file-list-once.jsonl";
    let run = Run::with(&["cases/C08-file-list-once.jsonl"]);
    let (receipt, entry) = compacted(&run, name, &["--keep-recent-tokens", "2k"]);
    assert_eq!(receipt["cut"]["is_split_turn"], true);
    let summary = entry["summary"].as_str().unwrap();
    let tags = ["<files>", "</files>", "<read-files>", "<modified-files>"].map(|tag| summary.matches(tag).count());
    assert_eq!(tags, [1, 1, 0, 0], "{summary}");
    assert!(summary.trim_end().ends_with("</files>"));
}

#[test]
fn c12_a_compaction_that_does_not_shrink_is_refused() {
    let mut lines = vec![s::header()];
    for n in 1..=3 {
        let parent = (n > 1).then(|| format!("a{}", n - 1));
        lines.push(s::user(&format!("u{n}"), parent.as_deref(), "and?"));
        lines.push(crate::answer(&format!("a{n}"), &format!("u{n}"), "yes"));
    }
    let run = Run::of(s::file(&lines));
    let before = run.bytes("s.jsonl");
    let out = run.go(&["compact", "s.jsonl", "--keep-recent-tokens", "1", "--exit-code", "--json"]);
    let receipt = out.json();
    assert_eq!((out.code, &receipt["action"], &receipt["reason"]), (3, &json!("refused"), &json!("no_gain")));
    assert!(receipt["counted_after"].as_u64() >= receipt["counted_before"].as_u64());
    assert!(run.bytes("s.jsonl") == before);
    assert_eq!(run.names(), ["s.jsonl"]);
    compacted(&run, "s.jsonl", LEAST);
}

#[test]
fn c13_nothing_to_compact() {
    let run = Run::of(s::file(&[s::header(), s::user("u1", s::ROOT, "hello"), crate::answer("a1", "u1", "hello")]));
    let before = run.bytes("s.jsonl");
    let out = run.go(&["compact", "s.jsonl"]).ok();
    assert!(out.stdout().contains("nothing to do"), "{out}");
    assert_eq!(run.go(&["compact", "s.jsonl", "--exit-code"]).code, 3);
    assert!(run.bytes("s.jsonl") == before);
}

#[test]
fn c14_a_second_run_changes_nothing() {
    for session in ["cases/C14-twice.jsonl", "cases/C07-endless-turn.jsonl", "sessions/small.jsonl", "sessions/long.jsonl"] {
        let run = Run::with(&[session]);
        let name = run.names().remove(0);
        run.go(&["compact", &name, "--keep-recent-tokens", "2k"]).ok();
        let once = run.bytes(&name);
        assert_eq!(run.last(&name)["type"], "compaction");
        let again = run.json(&["compact", &name, "--keep-recent-tokens", "2k"]);
        assert_eq!(again["action"], "nothing", "{again}");
        assert!(run.bytes(&name) == once);
        // Nor does it when an agent asks by its triggers.
        assert_eq!(run.json(&["compact", &name, "--trigger", "auto", "--threshold", "1"])["action"], "nothing");
    }
}

#[test]
fn c36_settings_before_the_cut_still_hold() {
    let name = "C36-settings-before-the-cut.jsonl";
    let run = Run::with(&["cases/C36-settings-before-the-cut.jsonl"]);
    let model = |run: &Run| {
        let text = run.go(&["inspect", name]).ok().stdout();
        text.lines().find(|line| line.trim_start().starts_with("model")).unwrap().to_owned()
    };
    let before = model(&run);
    assert!(before.contains("anthropic/claude-sonnet-4-5") || before.contains("openai/gpt-5.1"), "{before}");
    compacted(&run, name, LITTLE);
    assert_eq!(model(&run), before);
    let path = run.json(&["inspect", name, "--show", "path"]);
    assert!(["m1", "m2", "l1", "m3", "m4"].iter().all(|id| ids(&path["path_list"]).contains(id)));
}
