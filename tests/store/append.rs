use crate::{Session, append_to, mode, names, set_mode};
use epitome::store::{self, Appended, StoreError, WAIT};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, symlink};
use std::time::{Duration, SystemTime};

const OLD: &[u8] = b"{\"type\":\"session\"}\n{\"id\":\"a\"}\n";
const NEW: &[u8] = b"{\"id\":\"b\"}\n";

fn never(_: &[u8]) -> bool {
    panic!("nothing was appended by others")
}

#[test]
fn lines_follow_what_is_there() {
    let s = Session::new(OLD);
    set_mode(&s.path, 0o640);
    let (_file, print) = store::open(&s.path).unwrap();
    let done = store::append(&print, NEW, WAIT, &mut never).unwrap();
    let (offset, bytes) = (OLD.len() as u64, NEW.len() as u64);
    assert_eq!(done, Appended::Written { offset, bytes });
    assert_eq!(s.bytes(), [OLD, NEW].concat());
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os", "s.jsonl"]);
    assert_eq!(mode(&s.beside(".s.jsonl.lock.os")), 0o600);
    assert_eq!(mode(&s.path), 0o640);
}

#[test]
fn an_empty_file_gets_no_blank_line() {
    let s = Session::new("");
    append_to(&s.path, NEW).unwrap();
    assert_eq!(s.bytes(), NEW);
}

#[test]
fn r01_a_last_line_without_newline_gets_one_first() {
    for tail in [&b"{\"id\":\"whole\"}"[..], b"{\"id\":\"to"] {
        let old = [OLD, tail].concat();
        let s = Session::new(&old);
        let done = append_to(&s.path, NEW).unwrap();
        let (offset, bytes) = (old.len() as u64 + 1, NEW.len() as u64 + 1);
        assert_eq!(done, Appended::Written { offset, bytes });
        assert_eq!(s.bytes(), [&old, &b"\n"[..], NEW].concat());
    }
}

#[test]
fn what_is_not_whole_lines_is_never_written() {
    let s = Session::new(OLD);
    for lines in [&b""[..], b"{\"id\":\"b\"}"] {
        assert!(append_to(&s.path, lines).is_err());
    }
    assert_eq!(s.bytes(), OLD);
    assert_eq!(names(s.dir.path()), ["s.jsonl"]);
}

#[test]
fn r17_growth_is_shown_and_followed_when_accepted() {
    let s = Session::new(OLD);
    let (_file, print) = store::open(&s.path).unwrap();
    let theirs = b"{\"id\":\"theirs\"}\n";
    let mut other = OpenOptions::new().append(true).open(&s.path).unwrap();
    other.write_all(theirs).unwrap();
    let mut shown = Vec::new();
    let mut accept = |bytes: &[u8]| {
        shown = bytes.to_vec();
        true
    };
    let done = store::append(&print, NEW, WAIT, &mut accept).unwrap();
    let (offset, bytes) = ((OLD.len() + theirs.len()) as u64, NEW.len() as u64);
    assert_eq!(done, Appended::Written { offset, bytes });
    assert_eq!(shown, theirs);
    assert_eq!(s.bytes(), [OLD, theirs, NEW].concat());
}

#[test]
fn r17_growth_that_is_turned_down_leaves_the_file_alone() {
    let s = Session::new(OLD);
    let (_file, print) = store::open(&s.path).unwrap();
    let grown = [OLD, b"{\"id\":\"half"].concat();
    fs::write(&s.path, &grown).unwrap();
    let done = store::append(&print, NEW, WAIT, &mut |_| false).unwrap();
    assert_eq!(done, Appended::Stale);
    assert_eq!(s.bytes(), grown);
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os", "s.jsonl"]);
}

/// Opens, lets `meddle` change the session, and expects a conflict that leaves the result of that alone.
fn conflict(meddle: impl FnOnce(&Session)) -> String {
    let s = Session::new(OLD);
    let (_file, print) = store::open(&s.path).unwrap();
    meddle(&s);
    let before = fs::read(&s.path).ok();
    let refused = store::append(&print, NEW, WAIT, &mut |_| true).unwrap_err();
    assert!(refused.is_conflict(), "{refused}");
    assert!(matches!(refused, StoreError::Changed { .. }));
    assert_eq!(fs::read(&s.path).ok(), before);
    assert!(!s.beside(".s.jsonl.lock").exists());
    refused.to_string()
}

#[test]
fn r17_any_other_change_is_a_conflict() {
    let shorter = conflict(|s| fs::write(&s.path, &OLD[..10]).unwrap());
    assert!(shorter.contains("10 bytes, fewer"), "{shorter}");
    let replaced = conflict(|s| {
        fs::write(s.beside("new"), OLD).unwrap();
        fs::rename(s.beside("new"), &s.path).unwrap();
    });
    assert!(replaced.contains("another file"), "{replaced}");
    let rewritten = conflict(|s| {
        let file = OpenOptions::new().write(true).open(&s.path).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(9)).unwrap();
    });
    assert!(rewritten.contains("in place"), "{rewritten}");
    let gone = conflict(|s| fs::remove_file(&s.path).unwrap());
    assert!(gone.contains("gone"), "{gone}");
    let linked = conflict(|s| {
        fs::rename(&s.path, s.beside("elsewhere")).unwrap();
        symlink("elsewhere", &s.path).unwrap();
    });
    assert!(linked.contains("symbolic link"), "{linked}");
}

#[test]
fn a_title_changed_in_place_is_no_conflict() {
    let slot = |title: &str| {
        let text = format!(r#"{{"type":"title","v":1,"title":"{title}","pad":""#);
        format!("{text:<253}\"}}\n")
    };
    let s = Session::new([slot("old").as_bytes(), OLD].concat());
    let (_file, print) = store::open(&s.path).unwrap();
    let other = OpenOptions::new().write(true).open(&s.path).unwrap();
    other.write_all_at(slot("new").as_bytes(), 0).unwrap();
    store::append(&print, NEW, WAIT, &mut never).unwrap();
    assert_eq!(s.bytes(), [slot("new").as_bytes(), OLD, NEW].concat());
}

#[test]
fn r23_a_link_is_followed_and_stays_a_link() {
    let s = Session::new(OLD);
    let far = tempfile::tempdir().unwrap();
    let link = far.path().join("link.jsonl");
    symlink(&s.path, &link).unwrap();
    append_to(&link, NEW).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(s.bytes(), [OLD, NEW].concat());
    // The lock lies where the agent looks for it: beside the real file.
    assert_eq!(names(far.path()), ["link.jsonl"]);
    assert!(s.beside(".s.jsonl.lock.os").exists());
}

#[test]
fn read_only_and_hard_linked_files_are_refused_before_the_lock() {
    let s = Session::new(OLD);
    set_mode(&s.path, 0o400);
    let refused = append_to(&s.path, NEW).unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    assert!(!refused.is_conflict());
    set_mode(&s.path, 0o600);
    fs::hard_link(&s.path, s.beside("two")).unwrap();
    let refused = append_to(&s.path, NEW).unwrap_err();
    assert!(matches!(refused, StoreError::HardLinked { links: 2, .. }));
    assert_eq!(s.bytes(), OLD);
    assert_eq!(names(s.dir.path()), ["s.jsonl", "two"]);
}

#[test]
fn r16_many_writers_lose_nothing_and_tear_nothing() {
    const THREADS: usize = 8;
    const EACH: usize = 20;
    let s = Session::new(OLD);
    let line = |thread: usize, n: usize| {
        let pad = "x".repeat(thread * 3000);
        format!("{{\"id\":\"{thread}-{n}\",\"pad\":\"{pad}\"}}\n")
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (path, line) = (&s.path, &line);
            scope.spawn(move || {
                for n in 0..EACH {
                    let line = line(thread, n);
                    loop {
                        match append_to(path, line.as_bytes()) {
                            Ok(Appended::Written { .. }) => break,
                            Err(StoreError::Locked { .. }) => {}
                            other => panic!("{other:?}"),
                        }
                    }
                }
            });
        }
        // And one that takes no lock, as pi does not.
        scope.spawn(|| {
            let mut file = OpenOptions::new().append(true).open(&s.path).unwrap();
            for n in 0..EACH {
                file.write_all(line(THREADS, n).as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(7));
            }
        });
    });
    let text = String::from_utf8(s.bytes()).unwrap();
    let text = text.strip_prefix(std::str::from_utf8(OLD).unwrap()).unwrap();
    // A line of the writer without the lock, seen half done, is kept apart by a newline of ours; once it is
    // whole that is a blank line, which readers skip.
    let mut found: Vec<_> = text.split_inclusive('\n').filter(|line| *line != "\n").map(str::to_owned).collect();
    let mut expected: Vec<_> = (0..=THREADS).flat_map(|t| (0..EACH).map(move |n| (t, n))).map(|(t, n)| line(t, n)).collect();
    found.sort();
    expected.sort();
    assert!(found == expected, "{} of {}", found.len(), expected.len());
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os", "s.jsonl"]);
}
