//! The only writer. Everything that reaches a disk goes through this room, so that the promises about
//! session files are kept in one place: a session that an agent is using at the same moment never loses a
//! byte, is never seen half-written, and after any failure is what it was.
//!
//! The room reports what it finds (a file that grew, a lock that is held) and takes no decisions: whether
//! growth is acceptable, whether to plan again and which exit code follows is for the caller.
//!
//! | module | for |
//! |---|---|
//! | [`fingerprint`] | open a session and later prove that it still is the file that was read |
//! | [`lock`] | the two locks that oh-my-pi takes, in its order |
//! | [`append`](mod@append) | add whole lines to a session under the lock |
//! | [`create`](mod@create) | write a new file (exports, `-o`) all or nothing |
//! | [`replace`](mod@replace) | rewrite a session, old or new but never between |
//! | [`archive`] | keep the file that a rewrite replaces, and give it back |
//! | [`fault`] | make any step of that fail, in tests |
//! | [`space`] | leave others some of the disk |
//! | [`temp`] | temporary files that a signal handler can remove |

pub mod append;
pub mod archive;
mod attributes;
pub mod create;
pub mod fault;
pub mod fingerprint;
pub mod lock;
mod paths;
pub mod replace;
pub mod space;
mod sums;
pub mod temp;

pub use append::{Appended, append};
pub use create::{create, may_create};
pub use fingerprint::{Fingerprint, State, open};
pub use lock::{SessionLock, WAIT, acquire};
pub use replace::{Replaced, Rewrite, replace};

use std::io;
use std::path::{Path, PathBuf};

const NO_SPACE: &str = "free some disk space and run again";

/// Why the store did not read or write. In every case the file at `path` holds the bytes it held before,
/// unless the message itself says otherwise.
///
/// `Display` gives `PATH: what is wrong` without the underlying cause; print the chain (`{:#}` of `anyhow`)
/// to show the operating system's words too.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process holds the lock and did not let go within the time given.
    #[error("{}: locked{}", path.display(), holder.as_deref().map(|h| format!(" by {h}")).unwrap_or_default())]
    Locked {
        /// The session, not the lock file.
        path: PathBuf,
        /// Who holds it, as far as the lock file tells (`process 4711`).
        holder: Option<String>,
    },
    /// The file is no longer what was read, in a way that planning again on top of it does not cure.
    #[error("{}: changed while working: {what}", path.display())]
    Changed {
        /// The session's real path.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// No permission to write: no write bit at all (which binds root too), or none for this user, or a
    /// file system mounted read-only.
    #[error("{}: read-only", path.display())]
    ReadOnly {
        /// The file's real path.
        path: PathBuf,
    },
    /// The file has several names; a write would show up under all of them, a rename would part them.
    #[error("{}: has {links} hard links", path.display())]
    HardLinked {
        /// The file's real path.
        path: PathBuf,
        /// Number of names.
        links: u64,
    },
    /// Something other than a regular file.
    #[error("{}: is {kind}, not a file", path.display())]
    NotAFile {
        /// The path as resolved.
        path: PathBuf,
        /// `a folder`, `a named pipe`, …
        kind: &'static str,
    },
    /// The target is there and overwriting was not asked for.
    #[error("{}: exists already", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// Writing would take space that other programs need.
    #[error("{}: {free} bytes of disk space are free, {needed} are needed", path.display())]
    NoSpace {
        /// The folder that was to be written to.
        path: PathBuf,
        /// Bytes needed, those that are to stay free included.
        needed: u64,
        /// Bytes free for this user.
        free: u64,
    },
    /// What was written is not what was meant; it was thrown away.
    #[error("{}: the new file does not read back as planned: {what}", path.display())]
    Unsound {
        /// The session's real path.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The operating system refused.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// A verb phrase that completes "cannot …".
        doing: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
}

/// What fails when the folder that archives of many sessions go to is not there.
pub(crate) const MAKE_ARCHIVES: &str = "make the folder of archives";

impl StoreError {
    /// True for the errors that mean "another program was here": the process ends with exit code 5, and
    /// the same command may succeed when run again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Locked { .. } | Self::Changed { .. })
    }

    /// The file the error is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Locked { path, .. }
            | Self::Changed { path, .. }
            | Self::ReadOnly { path }
            | Self::HardLinked { path, .. }
            | Self::NotAFile { path, .. }
            | Self::Exists { path }
            | Self::NoSpace { path, .. }
            | Self::Unsound { path, .. }
            | Self::Io { path, .. } => path,
        }
    }

    /// A stable word for machine-readable output.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Locked { .. } => "locked",
            Self::Changed { .. } => "changed",
            Self::ReadOnly { .. } => "read-only",
            Self::HardLinked { .. } => "hard-linked",
            Self::NotAFile { .. } => "not-a-file",
            Self::Exists { .. } => "exists",
            Self::NoSpace { .. } => "no-space",
            Self::Unsound { .. } => "unsound",
            Self::Io { .. } => "io",
        }
    }

    /// What the user can do about it, where there is something to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Locked { path, holder } => {
                let mut hint = "run again when the other program has finished writing".to_owned();
                if holder.is_some() {
                    let lock = paths::sidecar(path, lock::FILE_SUFFIX);
                    hint.push_str(&format!("; if that process does not use this session, remove {}", lock.display()));
                }
                Some(hint)
            }
            Self::Changed { .. } => Some("run again on the file as it is now".to_owned()),
            Self::ReadOnly { .. } => Some("allow writing (chmod u+w), or write elsewhere with -o".to_owned()),
            Self::HardLinked { .. } => Some("write elsewhere with -o, or replace the link by a copy".to_owned()),
            Self::Exists { .. } => Some("--overwrite replaces it".to_owned()),
            Self::NotAFile { .. } | Self::Unsound { .. } => None,
            Self::NoSpace { .. } => Some(NO_SPACE.to_owned()),
            Self::Io { source, doing, .. } => match source.kind() {
                io::ErrorKind::NotFound if *doing == MAKE_ARCHIVES => {
                    Some("make the folder that --archive-dir names, or leave it out to archive beside the session".to_owned())
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::WriteZero => Some(NO_SPACE.to_owned()),
                _ => None,
            },
        }
    }

    /// For `map_err`: attaches the path and what was being done.
    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), doing, source }
    }

    /// Like [`StoreError::io`] for opening with the intent to write, where a missing permission has a
    /// variant of its own.
    pub(crate) fn open_for_writing(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), doing: "open for writing", source },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;

    #[test]
    fn only_locked_and_changed_are_conflicts() {
        let path = PathBuf::from("/x/s.jsonl");
        let locked = StoreError::Locked { path: path.clone(), holder: Some("process 7".to_owned()) };
        assert!(locked.is_conflict());
        assert_eq!(locked.to_string(), "/x/s.jsonl: locked by process 7");
        assert!(locked.hint().unwrap().contains("/x/.s.jsonl.lock"));
        let changed = StoreError::Changed { path: path.clone(), what: "it is gone".to_owned() };
        assert!(changed.is_conflict());
        for other in [
            StoreError::ReadOnly { path: path.clone() },
            StoreError::HardLinked { path: path.clone(), links: 2 },
            StoreError::NotAFile { path: path.clone(), kind: "a folder" },
            StoreError::Exists { path: path.clone() },
            StoreError::io(&path, "read")(io::Error::other("x")),
        ] {
            assert!(!other.is_conflict(), "{other}");
            assert!(other.to_string().starts_with("/x/s.jsonl: "), "{other}");
            assert_eq!(other.path(), path);
        }
    }

    #[test]
    fn a_lock_without_a_known_holder_names_none_and_offers_no_removal() {
        let locked = StoreError::Locked { path: PathBuf::from("s"), holder: None };
        assert_eq!(locked.to_string(), "s: locked");
        assert!(!locked.hint().unwrap().contains("remove"));
    }

    #[test]
    fn a_full_disk_has_a_hint() {
        let full = StoreError::io(Path::new("s"), "append")(io::ErrorKind::StorageFull.into());
        assert!(full.hint().unwrap().contains("space"));
    }
}
