//! Opening a session for a run: a file or standard input, and the path that is meant.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::RunError;
use super::rewrite::Past;
use crate::session::{Ix, Path as TreePath, Session, Source};
use crate::store::{self, Fingerprint};

/// What is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The name in messages and JSON.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Input::File(path) => path.display().to_string(),
            Input::Stdin => "-".to_owned(),
        }
    }

    /// The file, when it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Input::File(path) => Some(path),
            Input::Stdin => None,
        }
    }
}

/// An opened session.
#[derive(Debug)]
pub struct Opened {
    /// The session.
    pub session: Session,
    /// What the file was when it was opened; none for standard input.
    pub print: Option<Fingerprint>,
    /// What the file says of its archives, when `session` is not the file's any more but what was made of it on the way.
    pub past: Option<Past>,
}

/// Opens a session.
///
/// # Errors
/// When it is missing, no file, unreadable, or no session.
pub fn open(input: &Input) -> Result<Opened, RunError> {
    let (source, print) = match input {
        Input::File(path) => {
            let (file, print) = store::open(path)?;
            (Source::file(file, print.size), Some(print))
        }
        Input::Stdin => (spool(&mut io::stdin().lock())?, None),
    };
    Ok(Opened { session: Session::open(source)?, print, past: None })
}

/// A stream has no positions to read from, so it is put into a file without a name first; it may be larger than memory.
fn spool(stream: &mut dyn io::Read) -> io::Result<Source> {
    let mut file: File = tempfile::tempfile()?;
    let len = io::copy(stream, &mut file)?;
    Ok(Source::file(file, len))
}

/// A session that is nowhere yet, in a file without a name: it may be larger than memory.
pub(super) fn spooled(write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> Result<Session, RunError> {
    let mut out = io::BufWriter::new(tempfile::tempfile()?);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let len = file.metadata()?.len();
    Ok(Session::open(Source::file(file, len))?)
}

impl Opened {
    /// The path to a leaf: the one whose id begins with `leaf`, or the file's own.
    ///
    /// # Errors
    /// When no entry's id begins so, or several do.
    pub fn path(&self, leaf: Option<&str>) -> Result<TreePath, RunError> {
        match leaf {
            None => Ok(self.session.active_path()),
            Some(wanted) => find_entry(&self.session, wanted).map(|leaf| self.session.path(leaf)),
        }
    }
}

/// The entry whose id is or unambiguously begins with `wanted`.
///
/// # Errors
/// When there is none, or more than one.
pub fn find_entry(session: &Session, wanted: &str) -> Result<Ix, RunError> {
    if let Some(ix) = session.by_id(wanted) {
        return Ok(ix);
    }
    let mut matches = session.nodes().map(|(ix, _)| ix).filter(|ix| !wanted.is_empty() && session.id(*ix).starts_with(wanted));
    match (matches.next(), matches.next()) {
        (Some(only), None) => Ok(only),
        (Some(first), Some(second)) => Err(RunError::Refused {
            message: format!("'{wanted}' is ambiguous: {} and {} begin with it", session.id(first), session.id(second)),
            hint: Some("give more of the id".to_owned()),
        }),
        (None, _) => Err(RunError::Refused {
            message: format!("no entry has the id '{wanted}'"),
            hint: Some("inspect --show tree lists the ids".to_owned()),
        }),
    }
}
