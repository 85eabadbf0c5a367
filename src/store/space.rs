//! A disk that a rewrite fills up stops the agents that write to it too, and it would be found out late. So there is a
//! look at the free space before anything is written and from time to time while the archive is, whose compressed size
//! nobody knows beforehand.

use super::StoreError;
use std::path::Path;

/// Bytes left to all other programs: agents go on appending while a session is rewritten, and folders and the disk's own
/// books grow too.
pub const MARGIN: u64 = 1 << 20;

/// Errors unless `needed` bytes and [`MARGIN`] are free for this user in `folder`.
///
/// File systems that do not tell their free space (no answer, or no blocks at all) pass: the write itself will tell.
pub(crate) fn must_have(folder: &Path, needed: u64) -> Result<(), StoreError> {
    let Ok(stat) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if stat.f_blocks == 0 || free >= needed.saturating_add(MARGIN) {
        return Ok(());
    }
    Err(StoreError::NoSpace { path: folder.to_owned(), needed: needed.saturating_add(MARGIN), free })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn no_disk_has_everything_and_a_missing_folder_is_for_others_to_tell() {
        let dir = tempfile::tempdir().unwrap();
        must_have(dir.path(), 0).unwrap();
        let refused = must_have(dir.path(), u64::MAX).unwrap_err();
        assert_eq!(refused.code(), "no-space");
        assert!(refused.hint().unwrap().contains("space"));
        must_have(&dir.path().join("none"), 1).unwrap();
    }
}
