//! Processes that are killed or told to stop. The child is this test program, run for one test only.

use crate::rewriting::{is_tidy, old_or_new, session};
use crate::{Session, append_to, names};
use epitome::store::{self, StoreError, WAIT, temp};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ROLE: &str = "EPITOME_TEST_ROLE";
const FILE: &str = "EPITOME_TEST_FILE";
const BLOCK: usize = 100_000;

/// This program again, to play `role` on `path`.
pub(crate) fn child(role: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "children::plays_its_role", "--nocapture"]).env(ROLE, role).env(FILE, path);
    command
}

/// Starts a child and waits until it says that it is at work.
pub(crate) fn start(role: &str, path: &Path) -> Child {
    let mut child = child(role, path).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = Vec::new();
    let out = child.stdout.as_mut().unwrap();
    while !seen.ends_with(b"at work\n") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
    child
}

/// Does nothing unless this process is such a child.
#[test]
fn plays_its_role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let path = PathBuf::from(std::env::var_os(FILE).unwrap());
    match role.as_str() {
        "over-the-limit" => crate::full_disk::append_over_the_limit(&path),
        "holder" => {
            let _held = store::acquire(&path, WAIT).unwrap();
            println!("at work");
            std::thread::sleep(Duration::from_secs(60));
        }
        "creator" => {
            println!("at work");
            for byte in (b'a'..=b'z').cycle() {
                store::create(&path, true, &mut |w| w.write_all(&vec![byte; BLOCK])).unwrap();
            }
        }
        "appender" => {
            println!("at work");
            loop {
                append_to(&path, &line()).unwrap();
            }
        }
        "interrupted" => interrupted(&path),
        "interrupted-rewrite" => {
            let pause = std::env::var("EPITOME_TEST_PAUSE").unwrap().parse().unwrap();
            std::thread::spawn(move || crate::rewriting::rewrite(&path));
            std::thread::sleep(Duration::from_micros(pause));
            let _stopped = temp::stop();
            std::process::exit(130);
        }
        "read-only-folder" => crate::replace::in_a_read_only_folder(&path),
        #[cfg(debug_assertions)]
        "rewrite-once" => crate::faults::rewrite_once(&path),
        other => panic!("{other}"),
    }
}

fn line() -> Vec<u8> {
    format!("{{\"id\":\"{}\"}}\n", "x".repeat(BLOCK)).into_bytes()
}

/// Writers in the middle of everything, and a main thread that behaves as on SIGINT.
fn interrupted(path: &Path) {
    for thread in 0..3 {
        let path = path.to_owned();
        std::thread::spawn(move || {
            loop {
                let other = path.with_file_name(format!("other-{thread}"));
                match append_to(&path, &line()) {
                    Ok(_) | Err(StoreError::Locked { .. }) => {}
                    Err(e) => panic!("{e}"),
                }
                let _ = store::create(&other, true, &mut |w| {
                    w.write_all(&[b'x'; 10])?;
                    std::thread::sleep(Duration::from_millis(3));
                    w.write_all(&[b'x'; 10])
                });
            }
        });
    }
    let pause = std::env::var("EPITOME_TEST_PAUSE").unwrap();
    std::thread::sleep(Duration::from_millis(pause.parse().unwrap()));
    let _stopped = temp::stop();
    std::process::exit(130);
}

#[test]
fn a_killed_process_holds_no_lock() {
    let s = Session::new("{}\n");
    let mut holder = start("holder", &s.path);
    let refused = append_to(&s.path, b"{}\n").unwrap_err();
    let by = format!("locked by process {}", holder.id());
    assert!(refused.to_string().ends_with(&by), "{refused}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(s.beside(".s.jsonl.lock").exists());
    append_to(&s.path, b"{}\n").unwrap();
    assert_eq!(s.bytes(), b"{}\n{}\n");
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os", "s.jsonl"]);
}

#[test]
fn r25_a_kill_leaves_the_old_or_the_new_file() {
    let s = Session::new(vec![b'a'; BLOCK]);
    for round in 0..40 {
        let mut creator = start("creator", &s.path);
        std::thread::sleep(Duration::from_micros(round * 311));
        creator.kill().unwrap();
        creator.wait().unwrap();
        let bytes = s.bytes();
        assert_eq!(bytes.len(), BLOCK);
        assert!(bytes.iter().all(|b| *b == bytes[0]));
        for name in names(s.dir.path()) {
            let stray = name.starts_with(".s.jsonl.") && name.ends_with(temp::SUFFIX);
            assert!(stray || name == "s.jsonl", "{name}");
        }
    }
}

#[test]
fn a_kill_during_appends_costs_at_most_the_line_being_written() {
    let s = Session::new("");
    for round in 0..20 {
        let mut appender = start("appender", &s.path);
        std::thread::sleep(Duration::from_micros(round * 457));
        appender.kill().unwrap();
        appender.wait().unwrap();
        // Killed between creating its lock file and writing the pid, it is respected for 500 ms.
        let mark = b"{\"id\":\"mark\"}\n";
        append_to(&s.path, mark).or_else(|_| append_to(&s.path, mark)).unwrap();
    }
    let bytes = s.bytes();
    assert!(bytes.ends_with(b"\n"));
    let whole = line();
    let mut torn = 0;
    let mut marks = 0;
    for found in bytes.split_inclusive(|b| *b == b'\n') {
        match found {
            b"{\"id\":\"mark\"}\n" => marks += 1,
            found if found == whole => {}
            found => {
                torn += 1;
                assert!(whole.starts_with(&found[..found.len() - 1]));
            }
        }
    }
    assert_eq!(marks, 20);
    assert!(torn <= 20);
}

#[test]
fn an_interrupted_process_leaves_nothing_behind_and_nothing_torn() {
    for pause in [1, 5, 9, 20, 45, 80] {
        let s = Session::new("");
        let status = child("interrupted", &s.path).env("EPITOME_TEST_PAUSE", pause.to_string()).stdout(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(130));
        for name in names(s.dir.path()) {
            let expected = matches!(name.as_str(), ".s.jsonl.lock.os" | "s.jsonl") || name.starts_with("other-");
            assert!(expected, "{name} after {pause} ms");
        }
        let whole = line();
        let bytes = fs::read(&s.path).unwrap();
        assert!(bytes.chunks(whole.len()).all(|found| found == whole));
    }
}

#[test]
fn an_interrupted_rewrite_leaves_nothing_behind() {
    let old = session(400_000);
    let mut news = 0;
    for n in 0..40 {
        let s = Session::new(&old);
        let mut child = child("interrupted-rewrite", &s.path);
        let status = child.env("EPITOME_TEST_PAUSE", (n * 4000).to_string()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert_eq!(status.unwrap().code(), Some(130));
        news += u32::from(old_or_new(&s, &old));
        is_tidy(&s);
    }
    assert!(news < 40);
}
