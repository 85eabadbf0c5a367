//! Images of a session as files: written, synced and compared before the line that held them changes.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::RunError;
use crate::engine::size::Extracted;
use crate::session::images::{blob_hash, decode};
use crate::session::{Block, Session};
use crate::store::{self, StoreError};

/// Writes images to `folder`, each to a file named by its content, mode 0600. A file that is there already must hold the same
/// bytes; nothing is ever overwritten, and no link is followed. The folder is made when it is missing.
///
/// # Errors
/// When an image cannot be read, its file cannot be written, or another one has its name. Files written until then stay.
pub(super) fn extract(session: &Session, images: &[Extracted], folder: &Path, blobs: Option<&Path>) -> Result<(), RunError> {
    if images.is_empty() {
        return Ok(());
    }
    let failed = |doing| StoreError::io(folder, doing);
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed("make the folder of images")(error).into()),
        _ => {}
    }
    for image in images {
        let found = session.with_message(image.entry, |message| match message.blocks.get(image.block) {
            Some(Block::Image { data, .. }) => Some(match blob_hash(data) {
                Some(hash) => blobs.map_or_else(|| Err(io::ErrorKind::NotFound.into()), |blobs| fs::read(blobs.join(hash))),
                None => decode(data).map_err(io::Error::other),
            }),
            _ => None,
        })?;
        let bytes = found.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
        put(&folder.join(&image.file), &bytes)?;
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let other = |what: &str| RunError::Refused {
        message: format!("{}: {what}", path.display()),
        hint: Some("name another folder with --images extract=DIR".to_owned()),
    };
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => return Err(other("an image is to go there, and it is no file")),
        Ok(_) => {
            let same = is_same(path, bytes).map_err(StoreError::io(path, "read the image that is there"))?;
            return if same { Ok(()) } else { Err(other("it holds other bytes than the image that goes by its name")) };
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(StoreError::io(path, "look for the image")(error).into()),
        Err(_) => {}
    }
    match store::create(path, false, &mut |out| out.write_all(bytes)) {
        // Another run on a session with the same image was quicker.
        Err(StoreError::Exists { .. }) if is_same(path, bytes).unwrap_or(false) => Ok(()),
        other => other.map(drop).map_err(RunError::Store),
    }
}

/// Whether a file holds these bytes, durably.
fn is_same(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut there = Vec::with_capacity(bytes.len());
    file.read_to_end(&mut there)?;
    file.sync_all()?;
    Ok(there == bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_with_other_bytes_and_a_link_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.png");
        put(&path, b"one").unwrap();
        put(&path, b"one").unwrap();
        assert!(put(&path, b"two").unwrap_err().to_string().contains("other bytes"));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        let link = dir.path().join("b.png");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &link).unwrap();
        assert!(put(&link, b"one").unwrap_err().to_string().contains("no file"));
        assert!(!dir.path().join("elsewhere").exists());
    }
}
