use crate::{Session, append_to, dead_pid, mode, names};
use epitome::store::{self, StoreError, WAIT};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant, SystemTime};

const OLD: &[u8] = b"{\"type\":\"session\"}\n";
const NEW: &[u8] = b"{\"id\":\"b\"}\n";

/// Expects an append to wait as long as the agent does, give up, and leave the file alone.
fn times_out(s: &Session) -> StoreError {
    let start = Instant::now();
    let refused = append_to(&s.path, NEW).unwrap_err();
    let took = start.elapsed();
    assert!(took >= WAIT && took < 3 * WAIT, "{took:?}");
    assert!(refused.is_conflict());
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    assert_eq!(s.bytes(), OLD);
    refused
}

#[test]
fn r16_a_held_os_lock_times_out_and_is_waited_for() {
    let s = Session::new(OLD);
    let os = File::create(s.beside(".s.jsonl.lock.os")).unwrap();
    flock(&os, FlockOperation::NonBlockingLockExclusive).unwrap();
    times_out(&s);
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os", "s.jsonl"]);

    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(os);
    });
    append_to(&s.path, NEW).unwrap();
    release.join().unwrap();
}

#[test]
fn r16_a_lock_file_of_a_live_process_times_out_and_stays() {
    let s = Session::new(OLD);
    let lock = s.beside(".s.jsonl.lock");
    let content = format!("{}:1700000000000\n", std::process::id());
    fs::write(&lock, &content).unwrap();
    let refused = times_out(&s);
    let holder = format!("locked by process {}", std::process::id());
    assert!(refused.to_string().ends_with(&holder), "{refused}");
    assert!(refused.hint().unwrap().contains(".s.jsonl.lock"));
    assert_eq!(fs::read_to_string(&lock).unwrap(), content);
    fs::remove_file(&lock).unwrap();
    // The other lock was released when this one could not be had.
    append_to(&s.path, NEW).unwrap();
}

#[test]
fn a_lock_of_a_dead_process_is_taken_over() {
    let s = Session::new(OLD);
    fs::write(s.beside(".s.jsonl.lock"), format!("{}:1700000000000\n", dead_pid())).unwrap();
    let start = Instant::now();
    append_to(&s.path, NEW).unwrap();
    assert!(start.elapsed() < WAIT);
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os", "s.jsonl"]);
}

#[test]
fn a_nameless_lock_is_respected_while_young_and_removed_when_old() {
    let s = Session::new(OLD);
    let lock = s.beside(".s.jsonl.lock");
    let file = File::create(&lock).unwrap();
    let early = store::acquire(&s.path, Duration::from_millis(100)).unwrap_err();
    assert!(matches!(early, StoreError::Locked { holder: None, .. }));
    assert!(lock.exists());

    let start = Instant::now();
    drop(store::acquire(&s.path, 10 * WAIT).unwrap());
    assert!(start.elapsed() >= Duration::from_millis(250));

    fs::write(&lock, "no number\n").unwrap();
    let file_now = File::options().append(true).open(&lock).unwrap();
    file_now.set_modified(SystemTime::now() - Duration::from_secs(2)).unwrap();
    let start = Instant::now();
    drop(store::acquire(&s.path, WAIT).unwrap());
    assert!(start.elapsed() < Duration::from_millis(400));
    assert!(!lock.exists());
    drop(file);
}

#[test]
fn both_locks_are_private_and_name_this_process() {
    let s = Session::new(OLD);
    let held = store::acquire(&s.path, WAIT).unwrap();
    for name in [".s.jsonl.lock", ".s.jsonl.lock.os"] {
        assert_eq!(mode(&s.beside(name)), 0o600, "{name}");
    }
    let content = fs::read_to_string(s.beside(".s.jsonl.lock")).unwrap();
    let (pid, ms) = content.trim_end().split_once(':').unwrap();
    assert_eq!(pid.parse(), Ok(std::process::id()));
    let ms = Duration::from_millis(ms.parse().unwrap());
    let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + ms).unwrap();
    assert!(age < Duration::from_secs(60));
    assert!(content.ends_with('\n'));

    // Not even this process gets it twice.
    let twice = store::acquire(&s.path, Duration::from_millis(20)).unwrap_err();
    assert!(twice.is_conflict());
    let os = File::open(s.beside(".s.jsonl.lock.os")).unwrap();
    assert!(flock(&os, FlockOperation::NonBlockingLockExclusive).is_err());
    drop(held);
    flock(&os, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os", "s.jsonl"]);
}

#[test]
fn a_link_in_place_of_a_lock_is_not_followed() {
    let s = Session::new(OLD);
    symlink("victim", s.beside(".s.jsonl.lock.os")).unwrap();
    let refused = append_to(&s.path, NEW).unwrap_err();
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
    assert!(!s.beside("victim").exists());
    assert_eq!(s.bytes(), OLD);
}

#[test]
fn a_missing_folder_is_an_error_without_waiting() {
    let s = Session::new(OLD);
    let start = Instant::now();
    let refused = store::acquire(&s.beside("none/s.jsonl"), WAIT).unwrap_err();
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
    assert!(start.elapsed() < WAIT);
}
