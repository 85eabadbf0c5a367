//! The store against real files, other processes, full disks and kills.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod append;
mod archive;
mod children;
mod create;
mod faults;
mod full_disk;
mod lock;
mod replace;
mod rewriting;

use epitome::store::{Appended, StoreError, WAIT};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A session file in a folder of its own.
struct Session {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl Session {
    fn new(bytes: impl AsRef<[u8]>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, bytes).unwrap();
        Self { dir, path }
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Names in a folder, sorted.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Opens and appends at once, accepting whatever others added.
fn append_to(path: &Path, lines: &[u8]) -> Result<Appended, StoreError> {
    let (_file, print) = epitome::store::open(path)?;
    epitome::store::append(&print, lines, WAIT, &mut |_| true)
}

/// The pid of a process that has ended and been waited for.
fn dead_pid() -> u32 {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}
