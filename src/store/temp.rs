//! A run that is interrupted must leave nothing behind and nothing half-written. Destructors do not run
//! when a signal ends the process, so every temporary file and lock file of the process is listed here, and
//! the thread that waits for signals removes them.
//!
//! Commits (an append, a rename) announce themselves too: [`stop`] waits for those in progress, because a
//! process that exits in the middle of a `write` can leave a part of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tempfile::NamedTempFile;

/// Bytes of the target's name that go into a temporary name: file systems allow 255 for a name, and a
/// target that uses them all must be writable too.
const NAME_PART: usize = 200;

/// The end of every temporary name, by which leftovers of a killed run can be recognised.
pub const SUFFIX: &str = ".tmp";

static FILES: Files = Files::new();

/// Files to remove and commits to wait for; one for the process, others only in tests.
struct Files {
    paths: Mutex<Vec<PathBuf>>,
    commits: RwLock<()>,
}

impl Files {
    const fn new() -> Self {
        Self { paths: Mutex::new(Vec::new()), commits: RwLock::new(()) }
    }

    /// A thread that panicked while it held the list leaves it usable: pushes and removals are whole.
    fn paths(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a file and lists it in one step, so that no file exists that is not listed.
    fn track<T>(&'static self, create: impl FnOnce() -> io::Result<(T, PathBuf)>) -> io::Result<(T, Tracked)> {
        let mut paths = self.paths();
        let (made, path) = create()?;
        paths.push(path.clone());
        Ok((made, Tracked { files: self, path }))
    }

    /// Gives the emptied list back still locked: nothing can be added until that is dropped.
    fn remove_all(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        let mut paths = self.paths();
        // Gone already, or beyond our reach: either way there is nobody left to tell.
        for path in paths.iter() {
            let _ = std::fs::remove_file(path);
        }
        // Folders made for them, if nothing else is in there.
        for path in paths.drain(..) {
            let _ = std::fs::remove_dir(path);
        }
        paths
    }
}

/// A listed file; dropping takes it off the list and leaves the file alone.
#[derive(Debug)]
pub(crate) struct Tracked {
    files: &'static Files,
    path: PathBuf,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let mut paths = self.files.paths();
        if let Some(at) = paths.iter().position(|p| *p == self.path) {
            paths.swap_remove(at);
        }
    }
}

/// Creates a file, or a folder for files, through `create` and lists it for [`remove_all`].
pub(crate) fn track<T>(create: impl FnOnce() -> io::Result<(T, PathBuf)>) -> io::Result<(T, Tracked)> {
    FILES.track(create)
}

/// Removes every temporary file and lock file that this process has at the moment, and folders it made for them. Files that others
/// removed first are no error. Safe to call from any thread, but not from a signal handler itself, since
/// it takes a mutex.
pub fn remove_all() {
    drop(FILES.remove_all());
}

/// Marks a commit in progress while it lives; see [`stop`].
#[derive(Debug)]
pub struct Commit {
    _guard: RwLockReadGuard<'static, ()>,
}

/// Announces a commit. Held only around system calls that must not be cut short, never while waiting for
/// anything else. Blocks for good once [`stop`] was called and its result is alive.
#[must_use]
pub fn commit() -> Commit {
    Commit { _guard: FILES.commits.read().unwrap_or_else(PoisonError::into_inner) }
}

/// Keeps new commits from starting and new files from being created while it lives.
#[derive(Debug)]
pub struct Stopped {
    _commits: RwLockWriteGuard<'static, ()>,
    _paths: MutexGuard<'static, Vec<PathBuf>>,
}

/// What the thread that waits for signals calls before it ends the process: waits for commits in progress
/// (an `fsync`, as a rule), lets no new one begin, removes the files of [`remove_all`] and lets no new one
/// be created. Keep the result until the process ends: other threads stand still at their next step, and
/// must not be waited for.
#[must_use]
pub fn stop() -> Stopped {
    // In this order: a commit takes its file off the list before it ends.
    let commits = FILES.commits.write().unwrap_or_else(PoisonError::into_inner);
    Stopped { _commits: commits, _paths: FILES.remove_all() }
}

/// A temporary file in the folder of the file it is to become: mode 0600, a name that no other run can
/// have, removed when dropped and by [`remove_all`].
#[derive(Debug)]
pub struct TempFile {
    // Before `tracked`: the file goes first, then its place on the list.
    file: NamedTempFile,
    tracked: Tracked,
}

impl TempFile {
    /// Creates `.<name>.<random>.tmp` beside `target`, which need not exist.
    ///
    /// # Errors
    /// Those of creating a file in that folder.
    pub fn beside(target: &Path) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().as_bytes();
        let name = name.get(..NAME_PART).unwrap_or(name);
        let mut prefix = b".".to_vec();
        prefix.extend_from_slice(name);
        prefix.push(b'.');
        let (file, tracked) = track(|| {
            let file = tempfile::Builder::new()
                .prefix(OsStr::from_bytes(&prefix))
                .suffix(SUFFIX)
                .rand_bytes(10)
                .tempfile_in(super::paths::folder(target))?;
            let path = file.path().to_owned();
            Ok((file, path))
        })?;
        Ok(Self { file, tracked })
    }

    /// The open file.
    #[must_use]
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Where it is now.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the file its name, atomically. Without `overwrite` a file that is there already stays and the
    /// error is `AlreadyExists`. On any error the temporary file is removed.
    ///
    /// # Errors
    /// Those of renaming.
    pub fn persist(self, target: &Path, overwrite: bool) -> io::Result<()> {
        let Self { file, tracked } = self;
        let renamed = if overwrite { file.persist(target) } else { file.persist_noclobber(target) };
        let result = renamed.map(drop).map_err(|e| e.error);
        drop(tracked);
        result
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    // The list of the process is shared with tests that run at the same time; removal is tested on one of
    // its own.
    #[test]
    fn what_is_listed_is_removed_and_what_is_done_is_not() {
        static OWN: Files = Files::new();
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = dir.path().join(name);
            OWN.track(|| fs::write(&path, "x").map(|()| ((), path.clone()))).unwrap().1
        };
        let (a, b, gone) = (make("a"), make("b"), make("gone"));
        drop(b);
        fs::remove_file(dir.path().join("gone")).unwrap();
        drop(OWN.remove_all());
        assert!(!dir.path().join("a").exists());
        assert!(dir.path().join("b").exists());
        drop((a, gone));
        assert!(OWN.paths().is_empty());
    }

    #[test]
    fn a_failed_creation_is_not_listed() {
        static OWN: Files = Files::new();
        let failed = OWN.track(|| Err::<((), PathBuf), _>(io::Error::other("no")));
        assert!(failed.is_err());
        assert!(OWN.paths().is_empty());
    }

    #[test]
    fn a_temporary_file_is_private_unique_and_goes_when_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out.md");
        let (one, two) = (TempFile::beside(&target).unwrap(), TempFile::beside(&target).unwrap());
        assert_ne!(one.path(), two.path());
        let name = one.path().file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(".out.md.") && name.ends_with(SUFFIX), "{name}");
        let mode = one.file().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        drop((one, two));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn persist_takes_the_name_only_when_it_is_free_or_given() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        fs::write(&target, "old").unwrap();
        let refused = TempFile::beside(&target).unwrap().persist(&target, false);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"old");
        TempFile::beside(&target).unwrap().persist(&target, true).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_longest_possible_name_gets_a_temporary_file_too() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("n".repeat(255));
        TempFile::beside(&target).unwrap().persist(&target, false).unwrap();
        assert!(target.exists());
    }
}
