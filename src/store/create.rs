//! Exports and results written elsewhere must be all there or not there at all, must not be readable by
//! others because a umask happened to allow it, and must not take the place of a file unasked.

use super::StoreError;
use super::paths;
use super::temp::{self, TempFile};
use std::fs::{self, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Writes a new file through a temporary one beside it, and returns its size in bytes.
///
/// * `target`: symbolic links are followed to the real file, which is what is created or replaced.
/// * `overwrite`: whether a file that is there may be replaced; it keeps its mode, and its owner where the
///   process may give files away. A new file has mode 0600 whatever the umask.
/// * `write`: produces the content; buffered, synced and given its name only after it returned `Ok`.
///
/// # Errors
/// [`StoreError::Exists`] without `overwrite`, also when the target appears meanwhile;
/// [`StoreError::NotAFile`] when the target is a folder, a device or the like; [`StoreError::ReadOnly`] and
/// [`StoreError::HardLinked`] for one that must not be replaced; [`StoreError::Io`] for the errors of
/// `write` and of the disk. Then the target is what it was and no temporary file is left. One exception: if
/// only syncing the folder fails, the error is reported although the file is in place.
pub fn create(target: &Path, overwrite: bool, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, StoreError> {
    let creating = || StoreError::io(target, "create");
    let exists = || StoreError::Exists { path: target.to_owned() };
    let (real, old) = place(target, overwrite)?;

    let temp = TempFile::beside(&real).map_err(creating())?;
    let writing = || StoreError::io(target, "write");
    let mut buffer = BufWriter::with_capacity(64 * 1024, temp.file());
    write(&mut buffer).and_then(|()| buffer.flush()).map_err(writing())?;
    drop(buffer);
    if let Some(old) = &old {
        let ours = temp.file().metadata().map_err(writing())?;
        if (ours.uid(), ours.gid()) != (old.uid(), old.gid()) {
            // Only root may; for all others the file is theirs now, as after any rename.
            let _ = std::os::unix::fs::fchown(temp.file(), Some(old.uid()), Some(old.gid()));
        }
        // After the owner, whose change can clear bits.
        temp.file().set_permissions(Permissions::from_mode(old.mode() & 0o777)).map_err(writing())?;
    }
    temp.file().sync_all().map_err(writing())?;
    let bytes = temp.file().metadata().map_err(writing())?.len();

    let _commit = temp::commit();
    temp.persist(&real, overwrite).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => exists(),
        _ => creating()(e),
    })?;
    paths::sync_folder(paths::folder(&real)).map_err(StoreError::io(target, "sync the folder of the new file"))?;
    Ok(bytes)
}

/// Whether [`create`] would begin.
///
/// # Errors
/// Those of [`create`] before anything is written.
pub fn may_create(target: &Path, overwrite: bool) -> Result<(), StoreError> {
    let (real, _) = place(target, overwrite)?;
    let folder = fs::metadata(paths::folder(&real)).map_err(StoreError::io(target, "create"))?;
    if folder.is_dir() { Ok(()) } else { Err(StoreError::io(target, "create")(io::ErrorKind::NotADirectory.into())) }
}

/// The real path of a file that is to be created, and what is there already and may be replaced.
fn place(target: &Path, overwrite: bool) -> Result<(PathBuf, Option<Metadata>), StoreError> {
    let creating = || StoreError::io(target, "create");
    let real = paths::resolve(target).map_err(creating())?;
    let old = match fs::symlink_metadata(&real) {
        Ok(meta) => {
            paths::must_be_file(&real, &meta)?;
            if !overwrite {
                return Err(StoreError::Exists { path: target.to_owned() });
            }
            paths::must_be_writable(&real, &meta)?;
            Some(meta)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(creating()(e)),
    };
    Ok((real, old))
}
