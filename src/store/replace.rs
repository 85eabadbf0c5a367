//! Rewriting a session while an agent may be using it. Everything that takes time (archive, new file, syncing, reading
//! back) happens beside the session and without its lock; under the lock there is only the proof that the session is still
//! what was read, and two renames. Until the last of them the session is the old one, whole; after it the new one, whole,
//! and the archive it refers to has been durable all along.
//!
//! In order: archive and new session side by side, each under a temporary name, read back and synced, the new session also
//! checked; lock; unchanged?; rename of the archive, sync of its folder; rename of the session, sync of its folder; unlock.
//!
//! A program that takes no lock (pi) can still append between the comparison and the rename. What it wrote is then in the
//! file that has just lost its name, and is appended to the new one, as if it had come a moment later.

use super::archive::{Plan, Reference, Staged, Staging, digest_of, pour};
use super::fault::{self, Inherited, Step};
use super::fingerprint::{Fingerprint, HEAD, State, is_title_slot};
use super::sums::Sums;
use super::temp::{self, TempFile};
use super::{StoreError, attributes, lock, paths, space};
use rustix::fs::{Access, Mode, OFlags};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of the new session written and read at once.
const PIECE: usize = 128 * 1024;

/// What to rewrite.
#[derive(Debug, Clone, Copy)]
pub struct Rewrite<'a> {
    /// What the session was when it was read.
    pub print: &'a Fingerprint,
    /// How to archive it; `None` when the user wants no archive.
    pub archive: Option<Plan<'a>>,
    /// Size that the new session has at most, in bytes, as far as the caller knows: for the look at the free space.
    pub room: u64,
    /// How long to try for the lock, as a rule [`lock::WAIT`].
    pub wait: Duration,
}

/// Produces a whole session into a writer; gets the reference to put into it, if there is an archive.
pub type Content<'a> = dyn FnMut(&mut dyn Write, Option<&Reference>) -> io::Result<()> + 'a;

/// Looks at a new session where it lies; an error completes "does not read back as planned: …".
pub type Check<'a> = dyn FnMut(&Path) -> Result<(), String> + 'a;

/// How a rewrite ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaced {
    /// The new session has the name, and is durable.
    Done {
        /// Its size in bytes, without `late`.
        bytes: u64,
        /// The archive of the old one, which the new one refers to.
        archive: Option<Reference>,
        /// Bytes that a program without the lock appended at the last moment, and that now follow the new session. What
        /// they refer to may not be in it; worth a warning when not 0.
        late: u64,
    },
    /// Others appended, or archived another revision; nothing was changed. Read and plan again.
    Stale,
}

/// Writes a new session in place of the one that [`Rewrite::print`] was taken of, after archiving that.
///
/// * `write`: produces the new session.
/// * `check`: asked about the new session where it lies before it gets its name; what it answers is the end of "does not
///   read back as planned: …". That the bytes read back are those that were written is checked without it.
///
/// Owner, group, mode and, where possible, extended attributes stay. A symbolic link stays too: fingerprints hold the real
/// path. A title that oh-my-pi puts into its slot meanwhile is put into the new session, if that begins with a slot as well.
///
/// # Errors
/// * [`StoreError::Locked`], [`StoreError::Changed`]: another program was here.
/// * [`StoreError::ReadOnly`] (the file or its folder), [`StoreError::HardLinked`], [`StoreError::NotAFile`],
///   [`StoreError::NoSpace`]: refused before anything is written.
/// * [`StoreError::Unsound`]: the new session is not what it should be.
/// * [`StoreError::Io`]: anything else.
///
/// After every error and after [`Replaced::Stale`] the session is what it was, byte for byte, and no temporary file is left.
/// An archive that was given its name by then stays, and nothing refers to it. Two exceptions, told by the message: syncing
/// the folder, and carrying late bytes over, can fail when the new session is in place.
pub fn replace(rewrite: &Rewrite<'_>, write: &mut Content<'_>, check: &mut Check<'_>) -> Result<Replaced, StoreError> {
    let print = rewrite.print;
    let path = &print.path;
    let folder = paths::folder(path);
    paths::must_be_writable_still(path)?;
    if let Err(rustix::io::Errno::ACCESS | rustix::io::Errno::ROFS | rustix::io::Errno::PERM) = rustix::fs::access(folder, Access::WRITE_OK)
    {
        return Err(StoreError::ReadOnly { path: folder.to_owned() });
    }
    let old = paths::reopen(path, OFlags::RDONLY)?;
    // Only to fail early; what counts is the comparison under the lock.
    if !is_same(print, &old)? {
        return Ok(Replaced::Stale);
    }
    space::must_have(folder, rewrite.room)?;

    let staging = rewrite.archive.as_ref().map(|plan| Staging::new(print, &old, plan, rewrite.room)).transpose()?;
    let (archive, temp, bytes) = both(rewrite, &old, staging, write, check).or_else(|error| match print.compare(&old)? {
        // A session that others overwrite is not read twice alike, and what then looks wrong is not.
        State::Changed(what) => Err(StoreError::Changed { path: path.clone(), what }),
        State::Same | State::Grown { .. } => Err(error),
    })?;
    drop(old);

    fault::at(Step::Lock).map_err(StoreError::io(path, "lock"))?;
    let _lock = lock::acquire(path, rewrite.wait)?;
    let old = paths::reopen(path, OFlags::RDONLY)?;
    if !is_same(print, &old)? {
        return Ok(Replaced::Stale);
    }
    if let Some(archive) = &archive
        && !archive.is_next()?
    {
        return Ok(Replaced::Stale);
    }
    keep_up(print, &old, &temp).map_err(StoreError::io(path, "carry the latest title or mode over"))?;

    let _commit = temp::commit();
    let archive = match archive.map(Staged::commit).transpose()? {
        None => None,
        Some(Some(reference)) => Some(reference),
        Some(None) => return Ok(Replaced::Stale),
    };
    let renamed = fault::at(Step::SessionRename).and_then(|()| temp.persist(path, true));
    renamed.map_err(StoreError::io(path, "put the new file in place"))?;
    let synced = fault::at(Step::SessionFolderSync).and_then(|()| paths::sync_folder(folder));
    let late = carry_over(print, &old)
        .map_err(StoreError::io(path, "append what another program wrote during the rewrite (the new file is in place)"))?;
    synced.map_err(StoreError::io(path, "sync the folder (the new file is in place)"))?;
    Ok(Replaced::Done { bytes, archive, late })
}

/// Writes the archive and the new session side by side, each made durable, read back and checked; gives the size of the
/// session too.
fn both(
    rewrite: &Rewrite<'_>,
    old: &File,
    staging: Option<Staging>,
    write: &mut Content<'_>,
    check: &mut Check<'_>,
) -> Result<(Option<Staged>, TempFile, u64), StoreError> {
    let (print, path) = (rewrite.print, &rewrite.print.path);
    // What the new session still needs of the disk.
    let needed = AtomicU64::new(rewrite.room);
    let Some(staging) = staging else {
        let (temp, bytes) = new_session(path, old, &needed, &mut |out| write(out, None), check)?;
        return Ok((None, temp, bytes));
    };
    let (reference, temp, bytes) = std::thread::scope(|scope| {
        let (staging, needed, inherited) = (&staging, &needed, Inherited::here());
        let archiving = std::thread::Builder::new().spawn_scoped(scope, move || {
            inherited.adopt();
            staging.fill(print, old, &|| needed.load(Ordering::Relaxed))
        });
        let archiving = archiving.map_err(StoreError::io(path, "start a thread for the archive"))?;
        let staged = digest_of(print, old).and_then(|sha256| {
            let reference = staging.reference(sha256);
            let (temp, bytes) = new_session(path, old, needed, &mut |out| write(out, Some(&reference)), check)?;
            Ok((reference, temp, bytes))
        });
        let failed = || StoreError::io(path, "write the archive")(io::Error::other("the thread that writes failed"));
        // The archive's error first, whoever is quicker.
        archiving.join().unwrap_or_else(|_| Err(failed()))?;
        staged
    })?;
    Ok((Some(staging.staged(reference)), temp, bytes))
}

/// Writes the new session beside the old one, makes it durable, reads it back and checks it; gives its size too.
fn new_session(
    path: &Path,
    old: &File,
    needed: &AtomicU64,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    check: &mut Check<'_>,
) -> Result<(TempFile, u64), StoreError> {
    let (temp, sums) = stage(path, old, needed, write)?;
    let bytes = temp.synced_beside(Step::SessionSync, StoreError::io(path, WRITING), || {
        let bytes = read_back(path, &temp, &sums)?;
        check(temp.path()).map_err(|what| StoreError::Unsound { path: path.to_owned(), what })?;
        Ok(bytes)
    })?;
    Ok((temp, bytes))
}

/// Whether the file is what was read; `false` when it grew.
fn is_same(print: &Fingerprint, file: &File) -> Result<bool, StoreError> {
    match print.compare(file)? {
        State::Same => Ok(true),
        State::Grown { .. } => Ok(false),
        State::Changed(what) => Err(StoreError::Changed { path: print.path.clone(), what }),
    }
}

/// What fails where the new session cannot be written.
const WRITING: &str = "write the new file beside it";

/// Writes the new session beside the old one; returns the sums of what it wrote. What is written is taken off `needed`.
fn stage(
    path: &Path,
    old: &File,
    needed: &AtomicU64,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<(TempFile, Sums), StoreError> {
    let created = fault::at(Step::SessionCreate).and_then(|()| TempFile::beside(path));
    let temp = created.map_err(StoreError::io(path, "create a file beside it"))?;
    let mut out = Summed { inner: fault::Writer { inner: temp.file(), step: Step::SessionWrite }, sums: Sums::default(), needed };
    let mut buffer = BufWriter::with_capacity(PIECE, &mut out);
    write(&mut buffer).and_then(|()| buffer.flush()).map_err(StoreError::io(path, WRITING))?;
    drop(buffer);
    let sums = out.sums;
    let kept = fault::at(Step::SessionAttributes).and_then(|()| attributes::copy(old, temp.file()));
    kept.map_err(StoreError::io(path, "give the new file the owner and mode of the old one"))?;
    Ok((temp, sums))
}

/// Reads the new session back and compares it with what was written; returns its size in bytes.
fn read_back(path: &Path, temp: &TempFile, written: &Sums) -> Result<u64, StoreError> {
    let reading = || StoreError::io(path, "read the new file back");
    fault::at(Step::SessionRead).map_err(reading())?;
    let mut again = paths::open_real(temp.path(), OFlags::RDONLY, Mode::empty()).map_err(reading())?;
    let mut read = Sums::default();
    let bytes = pour(&mut again, &mut |piece| {
        read.update(piece);
        Ok(())
    })
    .map_err(reading())?;
    if read.all() != written.all() {
        return Err(StoreError::Unsound { path: path.to_owned(), what: "other bytes than were written".to_owned() });
    }
    Ok(bytes)
}

/// Passes writes on, sums them up, and takes their length off a number.
struct Summed<'a, W> {
    inner: W,
    sums: Sums,
    needed: &'a AtomicU64,
}

impl<W: Write> Write for Summed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        // Only this thread writes it.
        let needed = self.needed.load(Ordering::Relaxed).saturating_sub(n as u64);
        self.needed.store(needed, Ordering::Relaxed);
        self.sums.update(bytes.get(..n).unwrap_or(bytes));
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// What may change in a session that counts as the same: its title slot, and its mode. Brings the new file up to date,
/// durably.
fn keep_up(print: &Fingerprint, old: &File, temp: &TempFile) -> io::Result<()> {
    let new = temp.file();
    let mut changed = false;
    if is_title_slot(&print.head)
        && let (Some(theirs), Some(ours)) = (paths::read_at(old, 0, HEAD)?, paths::read_at(new, 0, HEAD)?)
        && is_title_slot(&theirs)
        && is_title_slot(&ours)
        && theirs != ours
    {
        fault::at(Step::Title)?;
        new.write_all_at(&theirs, 0)?;
        changed = true;
    }
    if !attributes::same(old, new)? {
        attributes::copy(old, new)?;
        changed = true;
    }
    if changed {
        new.sync_all()?;
    }
    Ok(())
}

/// Appends to the new session what came into the old one after the comparison; returns how many bytes.
fn carry_over(print: &Fingerprint, mut old: &File) -> io::Result<u64> {
    let end = old.metadata()?.len();
    if end <= print.size {
        return Ok(0);
    }
    let mut late = Vec::new();
    io::Seek::seek(&mut old, io::SeekFrom::Start(print.size))?;
    old.take(end - print.size).read_to_end(&mut late)?;
    let new = paths::open_real(&print.path, OFlags::RDWR | OFlags::APPEND, Mode::empty())?;
    let size = new.metadata()?.len();
    let torn = size > 0 && paths::read_at(&new, size - 1, 1)? != Some(vec![b'\n']);
    let bytes = late.len() as u64;
    if torn && print.ends_in_newline() {
        late.insert(0, b'\n');
    }
    (&new).write_all(&late)?;
    new.sync_all()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use crate::store::fingerprint;
    use std::fs;

    /// What is in the new session when `late` came into the old one after the comparison.
    fn carried(old: &[u8], late: &[u8], new: &[u8]) -> (u64, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, old).unwrap();
        let (file, print) = fingerprint::open(&path).unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(late).unwrap();
        fs::write(dir.path().join("new"), new).unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        (carry_over(&print, &file).unwrap(), fs::read(&path).unwrap())
    }

    #[test]
    fn what_came_at_the_last_moment_follows_the_new_session() {
        assert_eq!(carried(b"old\n", b"", b"new\n"), (0, b"new\n".to_vec()));
        assert_eq!(carried(b"old\n", b"late\n", b"new\n"), (5, b"new\nlate\n".to_vec()));
        assert_eq!(carried(b"old\n", b"late\n", b"new"), (5, b"new\nlate\n".to_vec()));
        // The rest of a line that was read and kept without its end.
        assert_eq!(carried(b"old\nto", b"rn\n", b"new\nto"), (3, b"new\ntorn\n".to_vec()));
    }
}
