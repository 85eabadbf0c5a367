//! Rewrites of every kind where the folder, the disk or another writer stands in the way.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::revisions::{everything, references};
use crate::rewrites::{ENV, content_of_newest, kinds};
use crate::run::Run;
use crate::sessions as s;

#[test]
fn r24_a_folder_that_may_only_be_read_is_refused_by_every_rewrite() {
    for (old, args) in kinds() {
        let run = Run::of(&old);
        let mut command = run.command(&args);
        command.envs(ENV);
        // Rights mean nothing to root.
        if chown(run.path("s.jsonl"), Some(65_534), Some(65_534)).is_ok() {
            command.uid(65_534).gid(65_534);
        }
        fs::set_permissions(run.path(""), fs::Permissions::from_mode(0o555)).unwrap();
        let before = everything(&run.path(""));
        let Ok(child) = command.spawn() else {
            eprintln!("r24: skipped, the program cannot be run as another user");
            return;
        };
        let out = run.end(child);
        assert!(everything(&run.path("")) == before, "{args:?}");
        fs::set_permissions(run.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(out.code, 1, "{args:?}: {out}");
        assert!(out.stderr().contains("read-only") && out.stderr().contains("hint: "), "{args:?}: {out}");
    }
}

/// A disk that is gone when this is.
struct Disk(std::path::PathBuf);

impl Disk {
    fn mount(place: &Path, options: &str) -> Option<Disk> {
        fs::create_dir_all(place).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(place).output();
        let mounted = mount.is_ok_and(|out| out.status.success());
        if !mounted {
            eprintln!("skipped, a tmpfs cannot be mounted here");
        }
        mounted.then(|| Disk(place.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// The same arguments for a session in a folder.
fn on_disk<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().map(|arg| if *arg == "s.jsonl" { "disk/s.jsonl" } else { *arg }).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_full_disk_stops_every_rewrite_and_leaves_the_session_as_it_was() {
    for (old, args) in kinds() {
        let args = on_disk(&args);
        let run = Run::new();
        let Some(_disk) = Disk::mount(&run.path("disk"), "size=3m") else { return };
        run.put("disk/s.jsonl", &old);
        // Less than the new session and its archive take, beside what a rewrite leaves to others.
        run.put("disk/filler", vec![1; 2 << 20]);
        let before = everything(&run.path("disk"));
        let out = run.go_env(&args, &ENV);
        assert_eq!(out.code, 1, "{args:?}: {out}");
        assert!(out.stderr().contains("space") && out.stderr().contains("hint: "), "{args:?}: {out}");
        assert!(everything(&run.path("disk")) == before, "{args:?}: {:?}", names(&run.path("disk")));
        fs::remove_file(run.path("disk/filler")).unwrap();
        run.go_env(&args, &ENV).ok();
        assert!(run.bytes("disk/s.jsonl") != old);
    }
}

/// A disk with bytes and without room for one file more: nobody can know before.
#[test]
fn a_disk_that_is_full_at_any_file_leaves_the_session_as_it_was() {
    for (old, args) in kinds() {
        let args = on_disk(&args);
        let mut failed = 0;
        loop {
            let run = Run::new();
            // One is the folder itself.
            let Some(_disk) = Disk::mount(&run.path("disk"), &format!("size=8m,nr_inodes={}", failed + 2)) else { return };
            run.put("disk/s.jsonl", &old);
            let out = run.go_env(&args, &ENV);
            if out.code == 0 {
                assert!(run.bytes("disk/s.jsonl") != old);
                break;
            }
            assert_eq!(out.code, 1, "{args:?}: {out}");
            assert!(out.stderr().contains("hint: "), "{args:?}: {out}");
            assert!(run.bytes("disk/s.jsonl") == old, "{args:?}");
            let left = names(&run.path("disk"));
            assert!(left.iter().all(|name| ["s.jsonl", ".s.jsonl.lock.os"].contains(&name.as_str())), "{args:?}: {left:?}");
            failed += 1;
        }
        // The folder of archives, the archive, the session, the sidecar of the lock, and the lock.
        assert_eq!(failed, 5, "{args:?}");
    }
}

/// oh-my-pi's lock, taken as oh-my-pi takes it and by nothing of ours.
struct Lock {
    _sidecar: File,
    file: std::path::PathBuf,
}

impl Lock {
    fn take(run: &Run) -> Lock {
        let sidecar = File::options().create(true).append(true).open(run.path(".s.jsonl.lock.os")).unwrap();
        sidecar.lock().unwrap();
        let file = run.path(".s.jsonl.lock");
        let ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        assert!(!file.exists(), "the lock is held by two");
        fs::write(&file, format!("{}:{ms}\n", std::process::id())).unwrap();
        Lock { _sidecar: sidecar, file }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        fs::remove_file(&self.file).unwrap();
    }
}

/// Something that an agent appends: in a session of version 1 an entry of that version, which has no id.
fn append(run: &Run, id: &str, parent: &str, is_old: bool) {
    let line = if is_old {
        json!({"type": "custom", "timestamp": s::STAMP, "customType": "theirs", "data": id}).to_string()
    } else {
        s::entry("custom", id, parent, json!({"customType": "theirs", "data": 1}))
    };
    let mut bytes = run.bytes("s.jsonl");
    let at = bytes.len();
    if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes.extend(s::file(&[&line]));
    use std::io::Write;
    File::options().append(true).open(run.path("s.jsonl")).unwrap().write_all(&bytes[at..]).unwrap();
}

#[test]
fn r17_what_another_writer_appends_under_the_lock_during_any_rewrite_is_kept() {
    for (old, args) in kinds() {
        let run = Run::of(&old);
        let report = run.json(&["inspect", "s.jsonl"]);
        let is_old = report["session"]["version"] == 1;
        let mut parent = report["leaf"].as_str().unwrap().to_owned();
        let is_written = || run.names().iter().any(|name| name.ends_with(".tmp")) || run.path("s.jsonl.archive").exists();
        let done = (0..10).find(|n| {
            let lock = Lock::take(&run);
            let before = run.bytes("s.jsonl");
            let mut command = run.command(&args);
            let child = command.envs(ENV).spawn().unwrap();
            // The plan is made when something of it is being written; then it waits for the lock.
            while !is_written() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(20));
            let id = format!("theirs{n}");
            append(&run, &id, &parent, is_old);
            parent = id;
            let grown = run.bytes("s.jsonl");
            drop(lock);
            let out = run.end(child);
            // A machine that is busy elsewhere lets the lock be held for too long.
            assert!(out.code == 0 || out.code == 5, "{args:?}: {out}");
            assert!(grown.starts_with(&before));
            assert!(out.code == 0 || run.bytes("s.jsonl") == grown, "{args:?}");
            assert!(out.code != 0 || content_of_newest(&run) == grown, "{args:?}: the archive is not of the session as it had grown");
            out.code == 0
        });
        let done = done.unwrap_or_else(|| panic!("{args:?}: always in conflict"));
        assert!(run.bytes("s.jsonl") != old && references(&run, "s.jsonl").len() == 1, "{args:?}");
        let now = run.bytes("s.jsonl");
        let of_them = now.split(|b| *b == b'\n').filter(|line| line.windows(8).any(|w| w == b"\"theirs\"")).count();
        assert_eq!(of_them, done + 1, "{args:?}: {}", String::from_utf8_lossy(&now));
        let problems = run.json(&["inspect", "--check", "s.jsonl"])["problems"].to_string();
        assert!(!problems.contains("\"error\""), "{args:?}: {problems}");
        assert!(run.names() == ["s.jsonl", "s.jsonl.archive"], "{args:?}: {:?}", run.names());
    }
}
