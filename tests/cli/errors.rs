//! What is said when something is wrong, and with which exit code. The session is then what it was.

use crate::run::Run;

/// Runs in a folder with `small.jsonl` and checks that no file changed.
fn said(name: &str, run: &Run, args: &[&str], code: i32) {
    let before: Vec<_> = run.names().into_iter().filter(|n| run.path(n).is_file()).map(|n| (run.bytes(&n), n)).collect();
    let out = run.go(args);
    assert_eq!(out.code, code, "{out}");
    insta::assert_snapshot!(name.to_owned(), out.to_string());
    let after: Vec<_> = run.names().into_iter().filter(|n| run.path(n).is_file()).map(|n| (run.bytes(&n), n)).collect();
    assert!(before == after, "{args:?} changed a file");
}

fn small() -> Run {
    Run::with(&["sessions/small.jsonl"])
}

#[test]
fn a_file_that_is_missing_or_no_session_is_an_error() {
    let run = Run::with(&["sessions/small.jsonl", "damaged/not-a-session.jsonl"]);
    run.put("picture.png", crate::sessions::png(8, 8));
    for command in ["inspect", "compact"] {
        said(&format!("{command}_missing"), &run, &[command, "nowhere.jsonl"], 1);
        said(&format!("{command}_not_a_session"), &run, &[command, "not-a-session.jsonl"], 1);
        said(&format!("{command}_picture"), &run, &[command, "picture.png"], 1);
        said(&format!("{command}_below_a_file"), &run, &[command, "small.jsonl/x.jsonl"], 1);
    }
    said("missing_json", &run, &["inspect", "--json", "nowhere.jsonl"], 1);
    said("not_a_session_json", &run, &["compact", "--json", "not-a-session.jsonl"], 1);
    assert!(!run.path("nowhere.jsonl").exists());
}

#[test]
fn a_folder_in_the_way_is_an_error() {
    let run = small();
    std::fs::create_dir(run.path("out")).unwrap();
    said("output_is_a_folder", &run, &["compact", "small.jsonl", "-o", "out"], 1);
    said("output_is_a_folder_overwrite", &run, &["compact", "small.jsonl", "-o", "out", "--overwrite"], 1);
    said("output_in_no_folder", &run, &["compact", "small.jsonl", "-o", "none/out.jsonl"], 1);
    assert!(std::fs::read_dir(run.path("out")).unwrap().next().is_none());
}

#[test]
fn leaves_that_name_nothing_or_too_much() {
    let run = small();
    for command in ["inspect", "compact"] {
        said(&format!("{command}_unknown_leaf"), &run, &[command, "small.jsonl", "--leaf", "nope"], 1);
    }
    said("ambiguous_leaf", &run, &["inspect", "small.jsonl", "--leaf", "4"], 1);
}

#[test]
fn a_place_that_is_no_candidate_names_the_nearest_two() {
    let run = small();
    // A tool result, an entry that is no message, and nothing at all.
    for (name, id) in [("result", "0504c840"), ("model_change", "f392865c"), ("unknown", "nope")] {
        said(&format!("keep_from_{name}"), &run, &["compact", "small.jsonl", "--keep-from", id], 1);
    }
    let out = run.go(&["compact", "small.jsonl", "--keep-from", "0504c840"]);
    assert!(out.stderr().contains("ad9cbd45") && out.stderr().contains("b6d5de37"), "{out}");
    let out = run.go(&["compact", "small.jsonl", "--keep-from", "f392865c"]);
    assert!(out.stderr().contains("fccba74e") && out.stderr().contains("ad9cbd45"), "{out}");
}

#[test]
fn what_makes_no_sense_together() {
    let run = Run::with(&["sessions/small.jsonl", "sessions/pi.jsonl"]);
    run.put("list", "small.jsonl\n");
    let rows: &[(&str, &[&str])] = &[
        ("no_session", &["inspect"]),
        ("no_command", &[]),
        ("unknown_command", &["inspcet", "small.jsonl"]),
        ("unknown_flag", &["compact", "small.jsonl", "--dryrun"]),
        ("unknown_view", &["inspect", "small.jsonl", "--show", "tee"]),
        ("several_without_in_place", &["compact", "small.jsonl", "pi.jsonl"]),
        ("folder_without_in_place", &["compact", "."]),
        ("several_into_one", &["compact", "small.jsonl", "pi.jsonl", "-o", "out.jsonl"]),
        ("output_and_in_place", &["compact", "-i", "small.jsonl", "-o", "out.jsonl"]),
        ("output_is_the_session", &["compact", "small.jsonl", "-o", "./small.jsonl", "--overwrite"]),
        ("two_readers_of_stdin", &["inspect", "-", "--files-from", "-"]),
        ("stdin_twice", &["inspect", "-", "-"]),
        ("stdin_in_place", &["compact", "-i", "-"]),
        ("no_jobs", &["inspect", "small.jsonl", "--jobs", "0"]),
    ];
    for (name, args) in rows {
        let before = run.bytes("small.jsonl");
        let mut command = run.bare(args);
        let out = run.end(command.spawn().unwrap());
        assert_eq!(out.code, 2, "{args:?}\n{out}");
        insta::assert_snapshot!(format!("usage_{name}"), out.to_string());
        assert_eq!(run.bytes("small.jsonl"), before);
    }
    assert_eq!(run.names(), ["list", "pi.jsonl", "small.jsonl"]);
}

#[test]
fn a_target_that_is_there_is_refused() {
    let run = small();
    run.put("there.jsonl", "mine\n");
    said("output_exists", &run, &["compact", "small.jsonl", "-o", "there.jsonl"], 1);
    run.go(&["compact", "small.jsonl", "-o", "there.jsonl", "--overwrite"]).ok();
    assert!(run.bytes("there.jsonl").len() > 80_000);
    // The session under another name is still the session.
    std::os::unix::fs::symlink("small.jsonl", run.path("link.jsonl")).unwrap();
    assert_eq!(run.go(&["compact", "small.jsonl", "-o", "link.jsonl", "--overwrite"]).code, 2);
}

#[test]
fn a_session_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let run = small();
    std::fs::hard_link(run.path("small.jsonl"), run.path("second.jsonl")).unwrap();
    said("hard_linked", &run, &["compact", "small.jsonl"], 1);
    std::fs::remove_file(run.path("second.jsonl")).unwrap();
    std::fs::set_permissions(run.path("small.jsonl"), PermissionsExt::from_mode(0o444)).unwrap();
    said("read_only", &run, &["compact", "small.jsonl"], 1);
}

#[test]
fn a_locked_session_is_a_conflict() {
    let run = small();
    let _lock = epitome::store::acquire(&run.path("small.jsonl"), std::time::Duration::from_secs(1)).unwrap();
    let before = run.bytes("small.jsonl");
    let out = run.go(&["compact", "small.jsonl", "--json"]);
    assert_eq!(out.code, 5, "{out}");
    assert_eq!(out.json()["error"]["code"], "locked");
    assert_eq!(run.bytes("small.jsonl"), before);
    // Looking and planning take no lock.
    run.go(&["inspect", "small.jsonl"]).ok();
    run.go(&["compact", "-n", "small.jsonl"]).ok();
}

#[test]
fn errors_never_show_a_secret_or_reach_the_terminal() {
    let run = Run::new();
    let secret = ["sk", "-ant-", "api03-", "R4nd0mK3yV4lu3xYz0123456789abcdefghij"].concat();
    let name = format!("\x1b[31m{secret}.jsonl");
    for args in [&["inspect", &name][..], &["inspect", &name, "--json"]] {
        let out = run.go(args);
        assert_eq!(out.code, 1);
        assert!(!out.stderr().contains(&secret) && !out.stderr().contains('\x1b'), "{out}");
    }
}
