//! What pruning and size repair tell a person: what would go, what each measure frees, and what was done.

use crate::run::Run;

const MEASURES: &[&str] =
    &["--details", "--images", "drop", "--dead-branches", "--dedupe", "--max-result", "200", "--tokenizer", "heuristic"];

#[test]
fn a_dry_run_lists_what_would_go() {
    let run = Run::with(&["sessions/long.jsonl"]);
    let out = run.go(&["prune", "-n", "long.jsonl", "--protect-tokens", "10k", "--min-savings", "0", "--tokenizer", "heuristic"]);
    insta::assert_snapshot!("prune_dry_run", out);
}

#[test]
fn measures_tell_beforehand_what_they_free() {
    let run = Run::with(&["sessions/long.jsonl"]);
    insta::assert_snapshot!("prune_measures_dry_run", run.go(&[&["prune", "-n", "long.jsonl"], MEASURES].concat()));
    insta::assert_snapshot!("prune_measures", run.go(&[&["prune", "long.jsonl"], MEASURES].concat()));
    insta::assert_snapshot!("prune_measures_again", run.go(&[&["prune", "long.jsonl"], MEASURES].concat()));
}

#[test]
fn edits_are_appended_where_the_agent_reads_them() {
    let run = Run::with(&["sessions/pi.jsonl", "sessions/openclaw.jsonl"]);
    let append = |more: &[&str]| {
        let all = ["--append", "--protect-tokens", "0", "--min-savings", "0", "--min-result-tokens", "1", "--tokenizer", "heuristic"];
        run.go(&[&["prune"], more, &all].concat()).to_string()
    };
    let shown = || run.go(&["inspect", "pi.jsonl", "--show", "context", "--tokenizer", "heuristic"]).to_string();
    let told = [append(&["-n", "pi.jsonl"]), append(&["pi.jsonl"]), append(&["pi.jsonl"]), shown(), append(&["openclaw.jsonl"])];
    insta::assert_snapshot!("prune_append", told.join("\n"));
}

#[test]
fn wrong_measures_are_named_with_their_cure() {
    let run = Run::with(&["sessions/small.jsonl"]);
    let all = [
        &["--images", "all"][..],
        &["--images", "keep-last=x"],
        &["--max-result", "3"],
        &["--max-result", "much"],
        &["--custom", "epitome.archive"],
        &["--dead-branches", "--leaf", "all"],
        &["--protect-tokens", "120%"],
    ];
    let told: Vec<String> = all.iter().map(|args| run.go(&[&["prune", "small.jsonl"], *args].concat()).to_string()).collect();
    insta::assert_snapshot!("prune_wrong_measures", told.join("\n"));
}
