//! Path and metadata questions that several writers ask: which file is really meant, what lies beside it,
//! and whether it may be written at all. One answer each, so that appending and creating refuse alike.

use super::StoreError;
use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Links followed for one path before it counts as a loop: the limit Linux has.
const MAX_LINKS: usize = 40;

/// The absolute path of the real file, every symbolic link followed. The file itself need not be there
/// yet (a link that points to nothing gives the name it points to), its folder must be.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut current = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::canonicalize(&current) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
        let (parent, name) = (folder(&current), current.file_name());
        match fs::read_link(&current) {
            Ok(next) => current = parent.join(next),
            Err(_) => {
                let name = name.ok_or(io::ErrorKind::NotFound)?;
                return Ok(fs::canonicalize(parent)?.join(name));
            }
        }
    }
    Err(io::Error::from_raw_os_error(Errno::LOOP.raw_os_error()))
}

/// The folder that holds `path`; `.` for a bare name.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// `.<file name><suffix>` beside `real`.
pub(crate) fn sidecar(real: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(real.file_name().unwrap_or_default());
    name.push(suffix);
    folder(real).join(name)
}

/// Opens without ever waiting (a named pipe would) and without following a link that took the place of
/// the real file after it was resolved.
pub(crate) fn open_real(real: &Path, flags: OFlags, mode: Mode) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::io::retry_on_intr(|| rustix::fs::open(real, flags, mode))?.into())
}

/// Errors unless `meta` is a regular file's.
pub(crate) fn must_be_file(real: &Path, meta: &Metadata) -> Result<(), StoreError> {
    let kind = meta.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let kind = if kind.is_dir() {
        // Sessions below it may have been meant.
        fs::read_dir(real).map_err(StoreError::io(real, "read the folder"))?;
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else {
        "a device"
    };
    Err(StoreError::NotAFile { path: real.to_owned(), kind })
}

/// Errors for a file that must not be written: no regular file, read-only, or known under several names.
/// Root may write to a file without any write bit; whoever took the bits away meant it, so we do not.
pub(crate) fn must_be_writable(real: &Path, meta: &Metadata) -> Result<(), StoreError> {
    must_be_file(real, meta)?;
    let read_only = || StoreError::ReadOnly { path: real.to_owned() };
    if meta.mode() & 0o222 == 0 {
        return Err(read_only());
    }
    if meta.nlink() > 1 {
        return Err(StoreError::HardLinked { path: real.to_owned(), links: meta.nlink() });
    }
    match rustix::fs::access(real, Access::WRITE_OK) {
        Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => Err(read_only()),
        // Anything else shows up, with its own words, when the file is opened.
        _ => Ok(()),
    }
}

/// Errors unless the file that a fingerprint was taken of is there, no link has its name, and it may be written.
pub(crate) fn must_be_writable_still(real: &Path) -> Result<(), StoreError> {
    match fs::symlink_metadata(real) {
        Ok(meta) if meta.is_symlink() => Err(changed(real, LINKED)),
        Ok(meta) => must_be_writable(real, &meta),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(changed(real, GONE)),
        Err(e) => Err(StoreError::io(real, "read")(e)),
    }
}

/// Opens by name the file that a fingerprint was taken of, to compare and perhaps write it.
pub(crate) fn reopen(real: &Path, flags: OFlags) -> Result<File, StoreError> {
    let file = open_real(real, flags, Mode::empty()).map_err(|e| match Errno::from_io_error(&e) {
        Some(Errno::NOENT) => changed(real, GONE),
        Some(Errno::LOOP) => changed(real, LINKED),
        _ => StoreError::open_for_writing(real, e),
    })?;
    must_be_writable(real, &file.metadata().map_err(StoreError::io(real, "read"))?)?;
    Ok(file)
}

const GONE: &str = "it is gone";
const LINKED: &str = "a symbolic link has its name";

fn changed(real: &Path, what: &str) -> StoreError {
    StoreError::Changed { path: real.to_owned(), what: what.to_owned() }
}

/// Reads `len` bytes at `offset`; `None` when the file ends before.
pub(crate) fn read_at(file: &File, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; len];
    match file.read_exact_at(&mut bytes, offset) {
        Ok(()) => Ok(Some(bytes)),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether the file holds exactly `bytes` at `offset`, read piece by piece: lines reach many MB.
pub(crate) fn holds(file: &File, offset: u64, bytes: &[u8]) -> io::Result<bool> {
    const PIECE: usize = 64 * 1024;
    let mut at = offset;
    for piece in bytes.chunks(PIECE) {
        match read_at(file, at, piece.len())? {
            Some(found) if found == piece => at += piece.len() as u64,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Makes a rename in `folder` durable. File systems that cannot sync a folder, and folders that may be
/// written but not opened, are no failure: there is nothing more that could be done for them.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let synced = File::open(folder).and_then(|f| f.sync_all());
    match synced {
        Err(e) if matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn resolve_follows_links_to_files_that_are_not_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        symlink("sub/b", root.join("a")).unwrap();
        symlink("c", root.join("sub/b")).unwrap();
        assert_eq!(resolve(&root.join("a")).unwrap(), root.join("sub/c"));
        fs::write(root.join("sub/c"), "x").unwrap();
        assert_eq!(resolve(&root.join("a")).unwrap(), root.join("sub/c"));
    }

    #[test]
    fn resolve_refuses_loops_and_missing_folders() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        assert!(resolve(&dir.path().join("a")).is_err());
        assert!(resolve(&dir.path().join("none/x")).is_err());
        assert!(resolve(Path::new("")).is_err() || resolve(Path::new("")).is_ok_and(|p| p.is_dir()));
    }

    #[test]
    fn holds_compares_across_pieces_and_stops_at_the_end() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..150_000u32).map(|i| (i % 251) as u8).collect();
        io::Write::write_all(&mut file, &bytes).unwrap();
        assert!(holds(&file, 0, &bytes).unwrap());
        assert!(holds(&file, 7, &bytes[7..]).unwrap());
        assert!(!holds(&file, 8, &bytes[7..]).unwrap());
        let mut other = bytes.clone();
        other[149_999] ^= 1;
        assert!(!holds(&file, 0, &other).unwrap());
    }

    #[test]
    fn sidecars_lie_beside_the_file() {
        assert_eq!(sidecar(Path::new("/a/s.jsonl"), ".lock"), Path::new("/a/.s.jsonl.lock"));
    }
}
