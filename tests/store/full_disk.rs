//! Disks that fill up: a tiny tmpfs where this user may mount one, and a file size limit everywhere.

use crate::children::child;
use crate::rewriting::{plan, session};
use crate::{Session, append_to, names};
use epitome::store::{Appended, Rewrite, StoreError, WAIT, create, replace};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A small disk of pages of 4 KiB.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn mount(test: &str) -> Option<Self> {
        Self::mount_sized(test, "64k")
    }

    fn mount_sized(test: &str, size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|out| out.status.success());
        if !mounted {
            eprintln!("{test}: skipped, a tmpfs cannot be mounted here");
            return None;
        }
        Some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Waits until a disk has as much free space as it once had. What was removed takes room until nobody has it open, and a
/// child that another test starts has everything open for a moment.
fn wait_for_space(disk: &Path, free: u64) {
    for _ in 0..1000 {
        if space(disk) >= free {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} of {free} free", space(disk));
}

fn space(disk: &Path) -> u64 {
    let stat = rustix::fs::statvfs(disk).unwrap();
    stat.f_bavail * stat.f_frsize
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

const OLD: &[u8] = b"{\"type\":\"session\"}\n{\"id\":\"torn";

#[test]
fn a_full_disk_leaves_the_session_as_it_was() {
    let Some(disk) = Tiny::mount("a_full_disk_leaves_the_session_as_it_was") else {
        return;
    };
    let path = disk.path().join("s.jsonl");
    fs::write(&path, OLD).unwrap();
    fs::write(disk.path().join("filler"), vec![0; 40 * 1024]).unwrap();
    let line = format!("{{\"id\":\"{}\"}}\n", "x".repeat(32 * 1024));

    // Room for the lock, not for the line.
    let failed = append_to(&path, line.as_bytes()).unwrap_err();
    assert!(failed.to_string().contains("old length"), "{failed}");
    assert!(failed.hint().unwrap().contains("space"), "{failed}");
    assert_eq!(fs::read(&path).unwrap(), OLD);
    let after = [".s.jsonl.lock.os", "filler", "s.jsonl"];
    assert_eq!(names(disk.path()), after);

    // No room for the lock either.
    let mut filler = fs::File::options().append(true).open(disk.path().join("filler")).unwrap();
    while filler.write(&[0; 4096]).is_ok_and(|n| n > 0) {}
    let failed = append_to(&path, line.as_bytes()).unwrap_err();
    assert!(!failed.is_conflict());
    assert!(failed.hint().unwrap().contains("space"), "{failed}");
    assert_eq!(fs::read(&path).unwrap(), OLD);
    assert_eq!(names(disk.path()), after);

    // Not by removing it: a child that another test is starting may still have it open.
    filler.set_len(0).unwrap();
    append_to(&path, line.as_bytes()).unwrap();
}

#[test]
fn e11_a_full_disk_leaves_no_half_written_output() {
    let Some(disk) = Tiny::mount("e11_a_full_disk_leaves_no_half_written_output") else {
        return;
    };
    let old = disk.path().join("old.md");
    fs::write(&old, "old").unwrap();
    let big = &mut |w: &mut dyn Write| w.write_all(&vec![b'x'; 200 * 1024]);
    let failed = create(&disk.path().join("new.md"), false, big).unwrap_err();
    assert!(failed.hint().unwrap().contains("space"), "{failed}");
    create(&old, true, big).unwrap_err();
    assert_eq!(fs::read(&old).unwrap(), b"old");
    assert_eq!(names(disk.path()), ["old.md"]);
}

#[test]
fn a_full_disk_stops_a_rewrite_and_leaves_the_session_as_it_was() {
    let Some(disk) = Tiny::mount_sized("a_full_disk_stops_a_rewrite", "4m") else {
        return;
    };
    let path = disk.path().join("s.jsonl");
    let old = session(1_000_000);
    fs::write(&path, &old).unwrap();
    let (_file, print) = epitome::store::open(&path).unwrap();
    let free = space(disk.path());
    let full = |room: u64, written: usize| {
        wait_for_space(disk.path(), free);
        let rewrite = Rewrite { print: &print, archive: Some(plan(&old)), room, wait: WAIT };
        let failed = replace(&rewrite, &mut |out, _| out.write_all(&vec![b'x'; written]), &mut |_| Ok(())).unwrap_err();
        assert!(failed.hint().unwrap().contains("space"), "{failed}");
        assert_eq!(fs::read(&path).unwrap(), old);
        failed
    };
    // Known before: 2 MB are asked for, 1 MiB is for others, and the session has 1 of the 4.
    assert!(matches!(full(2_200_000, 0), StoreError::NoSpace { .. }));
    assert_eq!(names(disk.path()), ["s.jsonl"]);
    // Known after the archive.
    assert!(matches!(full(1_900_000, 0), StoreError::NoSpace { .. }));
    // Not known, because the caller was wrong.
    assert!(matches!(full(0, 4_000_000), StoreError::Io { .. }));
    assert_eq!(names(disk.path()), ["s.jsonl"]);
    // Enough.
    wait_for_space(disk.path(), free);
    crate::rewriting::done(&path);
    assert_eq!(names(disk.path()), [".s.jsonl.lock.os", "s.jsonl", "s.jsonl.archive"]);
}

#[test]
fn a_disk_that_may_only_be_read_is_refused() {
    let Some(disk) = Tiny::mount_sized("a_disk_that_may_only_be_read_is_refused", "4m") else {
        return;
    };
    let path = disk.path().join("s.jsonl");
    fs::write(&path, session(9_000)).unwrap();
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(disk.path()).status();
    if !remounted.is_ok_and(|status| status.success()) {
        eprintln!("a_disk_that_may_only_be_read_is_refused: skipped, it cannot be mounted again");
        return;
    }
    assert!(matches!(crate::rewriting::rewrite(&path), Err(StoreError::ReadOnly { .. })));
    assert_eq!(names(disk.path()), ["s.jsonl"]);
}

/// Runs under `ulimit -f` with the signal ignored, so that a write over the limit is cut short.
pub(crate) fn append_over_the_limit(path: &Path) {
    let failed = append_to(path, &[&vec![b'x'; 1 << 20], &b"\n"[..]].concat()).unwrap_err();
    assert!(matches!(&failed, StoreError::Io { doing, .. } if doing.contains("old length")), "{failed:?}");
    println!("cut short and taken back");
}

#[test]
fn a_write_cut_short_is_taken_back() {
    let s = Session::new(OLD);
    let plain = child("over-the-limit", &s.path);
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"trap "" XFSZ; ulimit -f 64; exec "$@""#, "sh"]).arg(plain.get_program()).args(plain.get_args());
    for (key, value) in plain.get_envs() {
        limited.env(key, value.unwrap());
    }
    let out = limited.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}");
    assert!(text.contains("cut short and taken back"), "{text}");
    assert_eq!(s.bytes(), OLD);
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os", "s.jsonl"]);
    let done = append_to(&s.path, b"{}\n").unwrap();
    assert!(matches!(done, Appended::Written { bytes: 4, .. }));
}
