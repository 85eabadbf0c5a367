//! Signals and readers that go away: nothing is half-written, and the exit code says what happened.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::run::Run;

#[test]
fn a_signal_during_a_slow_run_leaves_nothing_behind() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        for target in [&[][..], &["-o", "copy.jsonl"]] {
            let run = Run::with(&["sessions/small.jsonl"]);
            let before = run.bytes("small.jsonl");
            let working = run.summarizing(&[&["compact", "small.jsonl"], target].concat(), 60_000);
            let start = Instant::now();
            kill_process(Pid::from_child(&working.child), signal).unwrap();
            let out = working.end();
            assert_eq!(out.code, code, "{out}");
            assert!(start.elapsed() < Duration::from_secs(30));
            assert!(out.stdout.is_empty(), "{out}");
            assert_eq!(run.names(), ["small.jsonl"]);
            assert_eq!(run.bytes("small.jsonl"), before);
            // The next run is not in the way of the last.
            run.go(&["compact", "small.jsonl"]).ok();
        }
    }
}

/// `… | head -1`: the reader is gone before or while we write.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let run = Run::with(&["sessions/small.jsonl", "sessions/long.jsonl"]);
    let rows: &[&[&str]] = &[
        &["inspect", "long.jsonl"],
        &["inspect", "long.jsonl", "small.jsonl", "--json", "--show", "all"],
        &["inspect", "--show", "settings"],
        &["inspect", "--check", "long.jsonl"],
        &["compact", "-n", "long.jsonl"],
        &["compact", "long.jsonl", "-o", "-", "-q"],
        &["export", "long.jsonl", "--exit-code", "--no-redact"],
    ];
    for args in rows {
        let mut child = run.command(args).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let out = run.end(child);
        assert_eq!(out.to_string(), "exit code 0\n", "{args:?}");
    }
    // A receipt is that of the whole copy.
    let mut child = run.command(&["export", "long.jsonl", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let receipt: serde_json::Value = serde_json::from_str(&run.end(child).stderr()).unwrap();
    assert_eq!((&receipt["action"], &receipt["reason"]), (&"exported".into(), &serde_json::Value::Null), "{receipt}");
    assert!(receipt["bytes_after"].as_u64() > Some(100_000) && receipt["entries"].as_u64() > Some(50), "{receipt}");
    for args in [&["help", "json"][..], &["--help"], &["compact", "--help"]] {
        let mut child = run.bare(args).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let out = run.end(child);
        assert_eq!(out.to_string(), "exit code 0\n", "{args:?}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_one() {
    let run = Run::with(&["sessions/small.jsonl"]);
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for args in [&["compact", "small.jsonl", "-o", "-"][..], &["inspect", "small.jsonl"], &["compact", "-n", "small.jsonl"]] {
        let out = run.end(run.command(args).stdout(full()).spawn().unwrap());
        assert_eq!(out.code, 1, "{args:?}\n{out}");
        assert!(out.stderr().starts_with("epitome: "), "{out}");
    }
    assert_eq!(run.names(), ["small.jsonl"]);
}
