//! Disks that fill up: a tiny tmpfs where this user may mount one, and a file size limit everywhere.

use crate::children::child;
use crate::{Session, append_to, names};
use epitome::store::{Appended, StoreError, create};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// 64 KiB in 16 pages of 4 KiB.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn mount(test: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
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
