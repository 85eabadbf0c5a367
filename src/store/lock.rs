//! oh-my-pi appends to and rewrites its sessions under a lock; a second writer that does not take the same
//! lock in the same order would tear its lines. So every write of ours takes it:
//!
//! 1. an advisory lock of the operating system (`flock`, exclusive) on `.<file name>.lock.os` beside the
//!    session. That file is never removed: a lock on a name that can be removed protects nothing;
//! 2. the lock file `.<file name>.lock`, created exclusively, mode 0600, with `<pid>:<unix ms>\n` in it,
//!    removed at release.
//!
//! The agent itself waits no longer than 500 ms, so the lock is held from the comparison with what was read
//! to the end of the commit and never while something is read, planned, summarized or rendered.
//!
//! A lock file outlives a process that was killed. It is taken over when its process is dead (seen twice
//! the same), or when it names no process and is older than 500 ms, time enough for a live one to write its
//! line. Time here is the machine's, not the run's fixed clock: it decides what is abandoned, not what is
//! written into a session.

use super::StoreError;
use super::paths;
use super::temp;
use rustix::fs::{FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long oh-my-pi tries to get the lock, and so do we.
pub const WAIT: Duration = Duration::from_millis(500);

/// Age from which a lock file that names no process is abandoned.
const NAMELESS: Duration = Duration::from_millis(500);

/// Pause between two attempts: short beside [`WAIT`], long beside the attempt itself.
const PAUSE: Duration = Duration::from_millis(5);

/// Ends the name of the file that carries the operating system's lock.
const OS_SUFFIX: &str = ".lock.os";
/// Ends the name of the lock file.
pub(crate) const FILE_SUFFIX: &str = ".lock";
/// Ends the name an abandoned lock file has for the moment between being moved aside and removed.
const ASIDE_SUFFIX: &str = ".lock.old";

/// Longest lock file that is looked at, in bytes; the line we know has at most 25.
const LONGEST: u64 = 64;

/// A session's lock, held until dropped: the lock file goes first, then the operating system's lock.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct SessionLock {
    // Fields drop in this order, the reverse of how they were taken.
    _file: LockFile,
    _os: OsLock,
}

/// Takes both locks of a session, trying for up to `wait` in all.
///
/// `session` is followed to the real file, beside which the locks lie; it need not exist.
///
/// # Errors
/// [`StoreError::Locked`] when another process (or another thread of this one) holds either lock all that
/// time; nothing is left behind but the never-removed `.lock.os`. [`StoreError::Io`] when the locks cannot
/// be created, as in a folder without permission to write.
pub fn acquire(session: &Path, wait: Duration) -> Result<SessionLock, StoreError> {
    let real = paths::resolve(session).map_err(StoreError::io(session, "find the file to lock"))?;
    let start = Instant::now();
    let attempts = Attempts { start, wait };
    let os = take_os(&real, &attempts)?;
    let file = take_file(&real, &attempts)?;
    Ok(SessionLock { _file: file, _os: os })
}

/// One time limit over both locks.
struct Attempts {
    start: Instant,
    wait: Duration,
}

impl Attempts {
    /// Sleeps before the next attempt, or gives up.
    fn pause(&self, real: &Path) -> Result<(), StoreError> {
        let left = self.wait.saturating_sub(self.start.elapsed());
        if left.is_zero() {
            return Err(StoreError::Locked { path: real.to_owned(), holder: holder(real) });
        }
        std::thread::sleep(PAUSE.min(left));
        Ok(())
    }
}

/// The operating system's lock; released explicitly, because closing alone does not release it while a
/// child process that is just being started still has the handle.
#[derive(Debug)]
struct OsLock(File);

impl Drop for OsLock {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

fn take_os(real: &Path, attempts: &Attempts) -> Result<OsLock, StoreError> {
    let path = paths::sidecar(real, OS_SUFFIX);
    let opening = || StoreError::io(&path, "open the lock");
    loop {
        let file = paths::open_real(&path, OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR).map_err(opening())?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let lock = OsLock(file);
                // Somebody tidying up may have removed the name meanwhile; the next one to come would
                // then lock another file.
                let ours = lock.0.metadata().map_err(opening())?;
                match fs::symlink_metadata(&path) {
                    Ok(named) if same_file(&named, &ours) => return Ok(lock),
                    _ => {}
                }
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(e) => return Err(StoreError::io(&path, "lock")(e.into())),
        }
        attempts.pause(real)?;
    }
}

fn same_file(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Our lock file; removed when dropped, if it still is ours.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    dev: u64,
    ino: u64,
    content: Vec<u8>,
    _tracked: temp::Tracked,
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let still_ours = matches!(look(&self.path), Look::There(seen)
            if (seen.dev, seen.ino) == (self.dev, self.ino) && seen.content == self.content);
        if still_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn take_file(real: &Path, attempts: &Attempts) -> Result<LockFile, StoreError> {
    let path = paths::sidecar(real, FILE_SUFFIX);
    let mut before: Option<Seen> = None;
    loop {
        match create(&path) {
            Ok(lock) => return Ok(lock),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(StoreError::io(&path, "create the lock")(e)),
        }
        let abandoned = match look(&path) {
            Look::There(seen) if seen.is_abandoned() => Some(seen),
            _ => None,
        };
        match (before.take(), abandoned) {
            (Some(first), Some(second)) if first == second => {
                remove(real, &path, &second).map_err(StoreError::io(&path, "remove the abandoned lock"))?;
                // At once: the time may be up, but the lock is free.
                continue;
            }
            (_, abandoned) => before = abandoned,
        }
        attempts.pause(real)?;
    }
}

/// Creates the lock file and writes its line; nothing stays when the line cannot be written.
fn create(path: &Path) -> io::Result<LockFile> {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let content = format!("{}:{}\n", std::process::id(), since.as_millis()).into_bytes();
    let ((dev, ino), tracked) = temp::track(|| {
        let mut file = paths::open_real(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR)?;
        let written = file.metadata().and_then(|meta| {
            file.write_all(&content)?;
            Ok((meta.dev(), meta.ino()))
        });
        match written {
            Ok(id) => Ok((id, path.to_owned())),
            Err(e) => {
                let _ = fs::remove_file(path);
                Err(e)
            }
        }
    })?;
    Ok(LockFile { path: path.to_owned(), dev, ino, content, _tracked: tracked })
}

/// A lock file at one moment. Equal only for the same file with the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    dev: u64,
    ino: u64,
    modified: SystemTime,
    content: Vec<u8>,
}

enum Look {
    Gone,
    /// There, but not ours to judge: no permission, or no regular file.
    Closed,
    There(Seen),
}

fn look(path: &Path) -> Look {
    let seen = paths::open_real(path, OFlags::RDONLY, Mode::empty()).and_then(|file| {
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut content = Vec::new();
        (&file).take(LONGEST).read_to_end(&mut content)?;
        Ok(Seen { dev: meta.dev(), ino: meta.ino(), modified: meta.modified()?, content })
    });
    match seen {
        Ok(seen) => Look::There(seen),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Look::Gone,
        Err(_) => Look::Closed,
    }
}

impl Seen {
    /// The process in the line, and whether its number is known to be whole.
    fn pid(&self) -> Option<(Pid, bool)> {
        let digits = self.content.iter().position(|b| !b.is_ascii_digit()).unwrap_or(self.content.len());
        let number = self.content.get(..digits)?;
        let number: i32 = std::str::from_utf8(number).ok()?.parse().ok()?;
        let pid = (number > 0).then(|| Pid::from_raw(number)).flatten()?;
        Some((pid, self.content.get(digits) == Some(&b':')))
    }

    fn is_abandoned(&self) -> bool {
        // A time in the future (clocks of two machines) counts as young.
        let old = self.modified.elapsed().is_ok_and(|age| age > NAMELESS);
        match self.pid() {
            // No permission to signal it means that it lives.
            Some((pid, whole)) => rustix::process::test_kill_process(pid) == Err(Errno::SRCH) && (whole || old),
            None => old,
        }
    }
}

/// Removes an abandoned lock file, and no other: between looking and removing, another process may have
/// removed it and created its own. So the file is first moved aside, looked at again, and given its name
/// back when it is not the one that was judged. (Processes that take the operating system's lock first
/// cannot come between us; this is for those that do not.)
fn remove(real: &Path, path: &Path, judged: &Seen) -> io::Result<()> {
    let is_judged = |at: &Path| matches!(look(at), Look::There(seen) if seen == *judged);
    if !is_judged(path) {
        return Ok(());
    }
    let aside = paths::sidecar(real, ASIDE_SUFFIX);
    match fs::rename(path, &aside) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    }
    if is_judged(&aside) {
        return fs::remove_file(&aside);
    }
    let cwd = rustix::fs::CWD;
    match rustix::fs::renameat_with(cwd, &aside, cwd, path, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // File systems without that call: the same in two steps.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            let linked = fs::hard_link(&aside, path);
            fs::remove_file(&aside)?;
            linked
        }
        Err(e) => {
            fs::remove_file(&aside)?;
            Err(e.into())
        }
    }
}

/// Who holds the lock, for a message.
fn holder(real: &Path) -> Option<String> {
    match look(&paths::sidecar(real, FILE_SUFFIX)) {
        Look::There(seen) => seen.pid().map(|(pid, _)| format!("process {pid}")),
        Look::Closed => Some("a lock file that cannot be read".to_owned()),
        Look::Gone => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;

    fn seen(content: &str, age_ms: u64) -> Seen {
        Seen { dev: 1, ino: 1, modified: SystemTime::now() - Duration::from_millis(age_ms), content: content.as_bytes().to_vec() }
    }

    /// A number that no process has: of a child that has ended and been waited for.
    fn dead_pid() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn a_dead_process_abandons_its_lock_and_a_live_one_never() {
        let (dead, live) = (dead_pid(), std::process::id());
        assert!(seen(&format!("{dead}:1700000000000\n"), 0).is_abandoned());
        assert!(!seen(&format!("{live}:1\n"), 1_000_000).is_abandoned());
        assert!(!seen("1:1\n", 1_000_000).is_abandoned());
    }

    #[test]
    fn a_lock_without_a_readable_pid_is_abandoned_when_old() {
        let dead = dead_pid();
        let torn = dead.to_string();
        for content in ["", "\n", "abc:1\n", ":1\n", "0:1\n", "-4:1\n", "99999999999:1\n", &torn] {
            assert!(!seen(content, 100).is_abandoned(), "{content:?}");
            assert!(seen(content, 600).is_abandoned(), "{content:?}");
        }
        let mut future = seen("", 0);
        future.modified = SystemTime::now() + Duration::from_secs(3600);
        assert!(!future.is_abandoned());
    }

    #[test]
    fn only_the_judged_lock_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("s");
        let path = paths::sidecar(&real, FILE_SUFFIX);
        fs::write(&path, "1:1\n").unwrap();
        let Look::There(judged) = look(&path) else { panic!() };
        // Another file with the same bytes took its place. Written beside first: a freed inode number
        // may be given out again at once.
        let new = dir.path().join("new");
        fs::write(&new, "1:1\n").unwrap();
        fs::rename(&new, &path).unwrap();
        remove(&real, &path, &judged).unwrap();
        assert!(path.exists());
        let Look::There(judged) = look(&path) else { panic!() };
        remove(&real, &path, &judged).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn release_leaves_a_lock_that_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("s");
        let lock = acquire(&session, WAIT).unwrap();
        let path = dir.path().join(".s.lock");
        fs::write(&path, "1:1\n").unwrap();
        drop(lock);
        assert_eq!(fs::read(&path).unwrap(), b"1:1\n");
    }

    #[test]
    fn a_folder_in_place_of_the_lock_file_is_a_held_lock() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("s");
        fs::create_dir(dir.path().join(".s.lock")).unwrap();
        let refused = acquire(&session, Duration::from_millis(30)).unwrap_err();
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
        assert!(dir.path().join(".s.lock").is_dir());
    }
}
