//! A run that is interrupted must leave nothing behind and nothing half-written. Destructors do not run
//! when a signal ends the process, so every temporary file and lock file of the process is listed here, and
//! the thread that waits for signals removes them.
//!
//! Commits (an append, a rename) announce themselves too: [`stop`] waits for those in progress, because a
//! process that exits in the middle of a `write` can leave a part of it.

use super::StoreError;
use super::fault::{self, Inherited, Step};
use crate::threads;
use rustix::io::Errno;
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

/// Letters and digits that make a temporary name its run's own.
const RANDOM: usize = 10;

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
                .rand_bytes(RANDOM)
                .tempfile_in(super::paths::folder(target))
                .map_err(without_name)?;
            // Held for as long as the file is being written, by which a file that a killed run left over is known. Where
            // there are no such locks none is known.
            let _ = file.as_file().try_lock();
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

    /// Makes the file durable; a disk takes its time, and `read` looks meanwhile at what was written.
    ///
    /// # Errors
    /// What `failed` makes of the disk's error, or else that of `read`.
    pub(super) fn synced_beside<T>(
        &self,
        step: Step,
        failed: impl FnOnce(io::Error) -> StoreError,
        read: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let inherited = Inherited::here();
        let sync = || {
            inherited.clone().adopt();
            fault::at(step).and_then(|()| self.file().sync_all())
        };
        let (synced, read) = match threads::beside(sync, read) {
            Ok(both) => both,
            Err(thread) => return Err(failed(thread.into())),
        };
        synced.map_err(failed)?;
        read
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

/// The error without the random name that the library puts into it: whoever reads it knows the file by its own.
fn without_name(error: io::Error) -> io::Error {
    let plain = match error.kind() {
        io::ErrorKind::NotFound => Errno::NOENT,
        io::ErrorKind::PermissionDenied => Errno::ACCESS,
        io::ErrorKind::NotADirectory => Errno::NOTDIR,
        io::ErrorKind::ReadOnlyFilesystem => Errno::ROFS,
        io::ErrorKind::StorageFull => Errno::NOSPC,
        io::ErrorKind::QuotaExceeded => Errno::DQUOT,
        _ => return error,
    };
    plain.into()
}

/// A temporary file that a run of ours has left over: it has such a name, and nobody holds it.
#[derive(Debug)]
pub struct Abandoned {
    path: PathBuf,
    /// Locked, so that no two runs remove it.
    _file: File,
}

impl Abandoned {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it.
    ///
    /// # Errors
    /// Those of removing a file.
    pub fn remove(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// What killed runs have left over of a session and in the folder of its archives, sorted. Files of other names, and those
/// that a run is writing, are not among them.
///
/// # Errors
/// When the folder of the session cannot be read.
pub fn abandoned(session: &Path, archives: &Path) -> io::Result<Vec<Abandoned>> {
    let name = session.file_name().unwrap_or_default().as_bytes();
    let name = name.get(..NAME_PART).unwrap_or(name);
    let is_of_session = |rest: &[u8]| rest == name;
    let is_of_archive = |rest: &[u8]| rest.ends_with(b".epa");
    let mut paths = left_over(super::paths::folder(session), &is_of_session)?;
    match left_over(archives, &is_of_archive) {
        Ok(more) => paths.extend(more),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    paths.sort();
    let held = |path: PathBuf| {
        let file = super::paths::open_real(&path, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).ok()?;
        (file.metadata().ok()?.is_file() && file.try_lock().is_ok()).then_some(Abandoned { path, _file: file })
    };
    Ok(paths.into_iter().filter_map(held).collect())
}

/// Files of a folder with names that [`TempFile::beside`] makes of a name that fits.
fn left_over(folder: &Path, fits: &dyn Fn(&[u8]) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let target = || {
            let rest = name.as_bytes().strip_prefix(b".")?.strip_suffix(SUFFIX.as_bytes())?;
            let (target, random) = rest.split_at_checked(rest.len().checked_sub(RANDOM)?)?;
            random.iter().all(u8::is_ascii_alphanumeric).then_some(target.strip_suffix(b".")?)
        };
        if target().is_some_and(fits) && entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    Ok(found)
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
    fn only_what_nobody_writes_is_abandoned() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("s.jsonl");
        let archives = dir.path().join("s.jsonl.archive");
        fs::create_dir(&archives).unwrap();
        let names = || -> Vec<String> {
            let found = abandoned(&session, &archives).unwrap();
            found.iter().map(|a| a.path().strip_prefix(dir.path()).unwrap().display().to_string()).collect()
        };
        let held = TempFile::beside(&session).unwrap();
        for other in
            [".s.jsonl.0123456789.bak", ".s.jsonl.012345678.tmp", "s.jsonl.0123456789.tmp", ".t.jsonl.0123456789.tmp", ".s.jsonl.tmp"]
        {
            fs::write(dir.path().join(other), "theirs").unwrap();
        }
        std::os::unix::fs::symlink("s.jsonl", dir.path().join(".s.jsonl.aaaaaaaaaa.tmp")).unwrap();
        assert_eq!(names(), Vec::<String>::new());
        fs::write(dir.path().join(".s.jsonl.0123456789.tmp"), "left").unwrap();
        fs::write(archives.join(".1-prune.epa.abcdeABCDE.tmp"), "left").unwrap();
        assert_eq!(names(), [".s.jsonl.0123456789.tmp", "s.jsonl.archive/.1-prune.epa.abcdeABCDE.tmp"]);
        for stray in abandoned(&session, &archives).unwrap() {
            stray.remove().unwrap();
        }
        assert_eq!(names(), Vec::<String>::new());
        assert!(held.path().exists());
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
