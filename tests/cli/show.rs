//! `inspect --show`: what there is to see in whole sessions of several agents.

use crate::run::Run;

/// One snapshot a view; the file is named without its folder, so paths of the machine are not in them.
fn shown(session: &str, views: &[&str]) {
    let run = Run::with(&[&format!("sessions/{session}.jsonl")]);
    let file = format!("{session}.jsonl");
    for view in views {
        let out = run.go(&["inspect", &file, "--show", view]).ok();
        insta::assert_snapshot!(format!("{session}_{view}"), out.to_string());
    }
}

#[test]
fn a_short_session_of_oh_my_pi() {
    shown("small", &["overview", "tree", "path", "context", "cut", "sizes", "files", "problems", "settings"]);
}

#[test]
fn a_long_session_with_compactions_and_branches() {
    shown("long", &["overview", "sizes", "files", "problems"]);
}

#[test]
fn a_session_of_pi() {
    shown("pi", &["overview", "tree", "path", "context", "transcript", "cut", "sizes", "files", "problems"]);
}

#[test]
fn a_session_of_format_1() {
    shown("v1", &["overview", "tree", "context", "transcript", "cut", "problems"]);
}

#[test]
fn the_same_as_json() {
    let run = Run::with(&["sessions/small.jsonl", "sessions/pi.jsonl", "sessions/v1.jsonl"]);
    for session in ["small", "pi", "v1"] {
        let out = run.go(&["inspect", &format!("{session}.jsonl"), "--json"]).ok();
        insta::assert_snapshot!(format!("{session}_overview_json"), out.pretty());
    }
    let out = run.go(&["inspect", "pi.jsonl", "--json", "--show", "cut,context,files,sizes,problems"]).ok();
    insta::assert_snapshot!("pi_several_json", out.pretty());
}

/// Asked for and none is null, not asked for is absent.
#[test]
fn views_that_were_not_asked_for_are_absent_in_json() {
    let run = Run::with(&["sessions/small.jsonl", "sessions/header-only.jsonl"]);
    let keys = |args: &[&str]| -> Vec<String> { run.json(args).as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&["inspect", "small.jsonl", "--show", "files"]), ["schema", "path", "files"]);
    assert_eq!(keys(&["inspect", "header-only.jsonl", "--show", "cut"]), ["schema", "path", "cut", "cut_reason"]);
    assert!(run.json(&["inspect", "header-only.jsonl", "--show", "cut"])["cut"].is_null());
}

#[test]
fn all_is_every_view_once() {
    let run = Run::with(&["sessions/small.jsonl"]);
    let all = run.json(&["inspect", "small.jsonl", "--show", "all,tree"]);
    for key in ["session", "tree", "path_list", "context", "transcript", "cut", "sizes", "files", "summary", "problems", "settings"] {
        assert!(!all[key].is_null(), "{key}");
    }
    let text = run.go(&["inspect", "small.jsonl", "--show", "tree,tree"]).ok();
    assert_eq!(text, run.go(&["inspect", "small.jsonl", "--show", "tree"]).ok());
}

#[test]
fn a_leaf_may_be_shortened() {
    let run = Run::with(&["sessions/long.jsonl"]);
    let whole = run.json(&["inspect", "long.jsonl"]);
    let leaves = whole["session"]["leaves"].as_array().unwrap();
    assert_eq!(leaves.len(), 4);
    for leaf in leaves {
        let id = leaf["id"].as_str().unwrap();
        let seen = run.json(&["inspect", "long.jsonl", "--leaf", &id[..6]]);
        assert_eq!((&seen["leaf"], &seen["path_entries"]), (&leaf["id"], &leaf["entries"]));
    }
}

#[test]
fn looking_writes_nothing() {
    let run = Run::with(&["sessions/small.jsonl", "sessions/v1.jsonl", "damaged/torn-line.jsonl"]);
    let before: Vec<_> = run.names().iter().map(|name| (run.bytes(name), run.path(name).metadata().unwrap().modified().unwrap())).collect();
    for name in run.names() {
        run.go(&["inspect", &name, "--show", "all"]).ok();
        assert!(run.go(&["compact", "-n", &name]).code == 0);
    }
    let after: Vec<_> = run.names().iter().map(|name| (run.bytes(name), run.path(name).metadata().unwrap().modified().unwrap())).collect();
    assert!(before == after);
    // Not even the sidecar of a lock.
    assert_eq!(std::fs::read_dir(run.path("")).unwrap().count(), 3);
}
