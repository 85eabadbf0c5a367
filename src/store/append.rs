//! Appending is how the agents write their sessions and how results that only add entries are committed:
//! what is there stays where it is, and a crash can cost at most the new lines.
//!
//! Not every writer takes the lock (pi does not), so the one `write` goes through `O_APPEND`, which places
//! it whole after whatever is last at that moment, and where it landed is asked afterwards.

use super::StoreError;
use super::fingerprint::{Fingerprint, State};
use super::{lock, paths, temp};
use rustix::fs::OFlags;
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// How an append ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The lines are in the file, durable, and were read back.
    Written {
        /// Where the first of the lines begins, in bytes from the start of the file.
        offset: u64,
        /// Bytes added to the file: the lines, and the newline before them if one was needed.
        bytes: u64,
    },
    /// The file grew and `accept` turned the new bytes down; nothing was written. Read and plan again.
    Stale,
}

/// Appends whole lines to the session that `print` was taken of.
///
/// * `lines`: one or more lines, each with its newline.
/// * `wait`: how long to try for the lock, as a rule [`lock::WAIT`].
/// * `accept`: asked, under the lock and so to be answered at once, when others appended since the session
///   was read; gets those bytes (see [`State::Grown`] for where they may begin and end). `true`: the lines
///   may follow them. Bytes that do not end in a newline are a line that somebody is still writing, or a
///   torn one; the lines would be put on a line of their own after it (which leaves a blank line, skipped
///   by readers, when the other line turns out whole).
///
/// A file that does not end in a newline gets one first, in the same `write`: a torn record stays alone on
/// its line.
///
/// # Errors
/// * [`StoreError::Locked`], [`StoreError::Changed`]: another program was here.
/// * [`StoreError::ReadOnly`], [`StoreError::HardLinked`], [`StoreError::NotAFile`]: refused before the
///   lock is taken.
/// * [`StoreError::Io`]: anything else, a full disk above all. What was written of the lines is cut off
///   again. Only when another program has already written after it does it stay, and the message says so.
///
/// After every error and after [`Appended::Stale`] the lock file is gone.
pub fn append(print: &Fingerprint, lines: &[u8], wait: Duration, accept: &mut dyn FnMut(&[u8]) -> bool) -> Result<Appended, StoreError> {
    let path = &print.path;
    if lines.last() != Some(&b'\n') {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not whole lines");
        return Err(StoreError::io(path, "append")(source));
    }
    let changed = |what: &str| StoreError::Changed { path: path.clone(), what: what.to_owned() };
    paths::must_be_writable_still(path)?;

    let _lock = lock::acquire(path, wait)?;
    let file = paths::reopen(path, OFlags::RDWR | OFlags::APPEND)?;
    let size = match print.compare(&file)? {
        State::Same => print.size,
        State::Grown { new_bytes } => {
            if !accept(&new_bytes) {
                return Ok(Appended::Stale);
            }
            print.size + new_bytes.len() as u64
        }
        State::Changed(what) => return Err(changed(&what)),
    };

    let needs_newline = size > 0 && paths::read_at(&file, size - 1, 1).map_err(StoreError::io(path, "read"))? != Some(vec![b'\n']);
    let bytes = if needs_newline {
        let mut bytes = Vec::with_capacity(lines.len() + 1);
        bytes.push(b'\n');
        bytes.extend_from_slice(lines);
        Cow::Owned(bytes)
    } else {
        Cow::Borrowed(lines)
    };
    let _commit = temp::commit();
    let start = write_once(print, &file, size, &bytes)?;

    // Only a program without the lock could have renamed another file into place since it was opened;
    // what was written is then in a file that no longer has a name.
    match fs::symlink_metadata(path) {
        Ok(named) if (named.dev(), named.ino()) == (print.dev, print.ino) => {}
        _ => return Err(changed("another file took its name during the append")),
    }
    Ok(Appended::Written { offset: start + u64::from(needs_newline), bytes: bytes.len() as u64 })
}

/// Writes, syncs and reads back; returns where the bytes begin. `size` is where they were expected to.
fn write_once(print: &Fingerprint, mut file: &File, size: u64, bytes: &[u8]) -> Result<u64, StoreError> {
    let path = &print.path;
    let written = loop {
        match file.write(bytes) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(StoreError::io(path, "append")(e)),
            Ok(n) => break n,
        }
    };
    // After a write through O_APPEND the handle stands where the write ended.
    let end = file.stream_position().map_err(StoreError::io(path, "append"))?;
    let start = end.saturating_sub(written as u64);
    let part = bytes.get(..written).unwrap_or(bytes);
    let failed = |source: io::Error| {
        let doing = match take_back(file, start, part) {
            Ok(true) => "append (the file has its old length again)",
            Ok(false) => "append (others wrote after it, so a part of the new lines stays in the file)",
            Err(_) => "append, nor cut off the part that was written",
        };
        StoreError::io(path, doing)(source)
    };

    if written < bytes.len() {
        let what = format!("{written} of {} bytes were written; is the disk full?", bytes.len());
        return Err(failed(io::Error::new(io::ErrorKind::WriteZero, what)));
    }
    file.sync_all().map_err(failed)?;
    if !paths::holds(file, start, bytes).map_err(failed)? {
        // Not ours any more, so not ours to cut off.
        return Err(StoreError::Changed { path: path.clone(), what: "what was appended reads back differently".to_owned() });
    }
    // A writer without the lock came between the comparison and the write, and left an unfinished line
    // that ours would now be glued to.
    let glued = start > size && bytes.first() != Some(&b'\n') && paths::read_at(file, start - 1, 1).map_err(failed)? != Some(vec![b'\n']);
    if glued {
        let what = match take_back(file, start, bytes) {
            Ok(true) => "another program was writing a line; nothing was appended",
            _ => "another program was writing a line; the new lines follow it without a newline",
        };
        return Err(StoreError::Changed { path: path.clone(), what: what.to_owned() });
    }
    Ok(start)
}

/// Cuts off `part`, which was written at `start`, if it is the end of the file still; `false` when it is
/// not and so stays. A program without the lock that appends in the very moment between the look and the
/// cut would lose that append; no system call closes this gap, and it opens only after a failed write.
fn take_back(file: &File, start: u64, part: &[u8]) -> io::Result<bool> {
    if file.metadata()?.len() != start + part.len() as u64 || !paths::holds(file, start, part)? {
        return Ok(false);
    }
    file.set_len(start)?;
    file.sync_all()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use crate::store::fingerprint;

    fn file_with(bytes: &[u8]) -> (tempfile::TempDir, File, Fingerprint) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, bytes).unwrap();
        let (_, print) = fingerprint::open(&path).unwrap();
        let file = fs::OpenOptions::new().read(true).append(true).open(&path).unwrap();
        (dir, file, print)
    }

    #[test]
    fn what_others_wrote_after_us_is_never_cut_off() {
        let (_dir, file, print) = file_with(b"old\nours\ntheirs\n");
        assert!(!take_back(&file, 4, b"ours\n").unwrap());
        assert_eq!(fs::read(&print.path).unwrap(), b"old\nours\ntheirs\n");
        assert!(!take_back(&file, 9, b"THEIRS\n").unwrap());
        assert!(take_back(&file, 9, b"theirs\n").unwrap());
        assert_eq!(fs::read(&print.path).unwrap(), b"old\nours\n");
    }

    #[test]
    fn a_line_is_not_glued_to_one_that_came_between() {
        // The comparison saw 4 bytes, then somebody without the lock wrote half a line.
        let (_dir, file, print) = file_with(b"old\nhalf");
        let refused = write_once(&print, &file, 4, b"new\n").unwrap_err();
        assert!(refused.is_conflict());
        assert_eq!(fs::read(&print.path).unwrap(), b"old\nhalf");
    }

    #[test]
    fn a_whole_line_that_came_between_is_followed() {
        let (_dir, file, print) = file_with(b"old\nwhole\n");
        assert_eq!(write_once(&print, &file, 4, b"new\n").unwrap(), 10);
        assert_eq!(fs::read(&print.path).unwrap(), b"old\nwhole\nnew\n");
    }
}
