//! The one loop of every command that writes: plan, fill, judge, commit, receipt.
//!
//! The sequence lives here once, with its services passed in. Nothing is locked while it plans, summarizes or checks; the
//! store locks only to compare and to write. When the file grew meanwhile in a way that matters, the loop starts again.

mod appending;
pub mod branch;
pub mod compact;
pub mod curve;
mod edits;
pub mod export;
mod extract;
mod framing;
pub mod handoff;
mod hooked;
pub mod inspect;
pub mod open;
pub mod prune;
pub mod receipt;
mod repair;
pub mod replace;
pub mod rewrite;
pub mod snapcompact;
mod words;

pub use branch::{BranchDone, BranchJob, BranchesDone, branch_summaries, branch_summary};
pub use compact::{CompactJob, Done, Strategy, Trigger, compact};
pub use export::{ExportDone, ExportJob, export};
pub use handoff::NewSession;
pub use inspect::{InspectJob, Report, Wanted, inspect};
pub use open::{Input, Opened, open};
pub use prune::{PruneDone, PruneJob, prune};
pub use receipt::{Action, Receipt};
pub use replace::Replacement;
pub use rewrite::Archiving;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use crate::engine::cut::CutError;
use crate::hooks::{HookError, Hooks};
use crate::session::SessionError;
use crate::store::archive::ArchiveError;
use crate::store::{Fingerprint, State, StoreError};
use crate::summarize::{SummarizeError, Summarizer};

/// How often a run starts again because the file grew, the first time included.
const MOST_PLANS: usize = 4;

/// Opens a session and works on it, and starts again as long as the file grows so that the plan no longer holds; `again` is told
/// of that. Only a session that is changed in place can grow, so standard input is read once.
fn until_it_holds<T>(
    input: &Input,
    again: &dyn Fn(),
    mut attempt: impl FnMut(Opened) -> Result<Option<T>, RunError>,
) -> Result<T, RunError> {
    for _ in 0..MOST_PLANS {
        let opened = open(input)?;
        let print = opened.print.clone();
        if let Some(done) = attempt(opened).map_err(|error| cause(error, print.as_ref()))? {
            return Ok(done);
        }
        again();
    }
    Err(RunError::Restless)
}

/// What a run needs from outside.
pub struct Services<'a> {
    /// The time of the run, RFC 3339 in UTC with milliseconds. The only clock there is.
    pub now: String,
    /// Makes the words.
    pub summarizer: &'a dyn Summarizer,
    /// Told what the run is doing, for a person who waits.
    pub progress: &'a dyn Fn(&str),
    /// Commands that are asked before a write and told after it.
    pub hooks: &'a Hooks,
    /// Takes lines for standard error: what hooks say there.
    pub note: &'a dyn Fn(&str),
}

/// Where the result goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// Into the session itself.
    InPlace,
    /// Nowhere: a dry run.
    Nowhere,
    /// Into another file.
    File {
        /// The file.
        path: PathBuf,
        /// Whether it may be replaced.
        overwrite: bool,
    },
    /// To standard output.
    Stdout,
}

/// Why a run failed. The session is what it was.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Reading on failed.
    #[error("cannot read the session: {0}")]
    Read(#[from] io::Error),
    /// The result could not be written to standard output.
    #[error("cannot write the result: {0}")]
    Output(io::Error),
    /// The store did not read or write.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An archive is missing or bad.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// There is no summary.
    #[error(transparent)]
    Summarize(#[from] SummarizeError),
    /// A hook failed before anything was written.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// There is no such cut.
    #[error("{message}")]
    Cut {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The file is damaged in a way that writing would make worse.
    #[error("{message}")]
    Damaged {
        /// The problem's code.
        code: &'static str,
        /// Where it is.
        line: Option<u32>,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A replacement history is larger than it may be.
    #[error("{what} {tokens} tokens, more than the limit of {limit}")]
    OverLimit {
        /// What has so many, with its verb.
        what: &'static str,
        /// Its tokens.
        tokens: u64,
        /// How many there may be.
        limit: u64,
    },
    /// Too much of a text would be unreadable on frames.
    #[error("{message}")]
    Illegible {
        /// How much.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The request itself makes no sense for this session.
    #[error("{message}")]
    Refused {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The file kept growing.
    #[error("the session kept changing while it was worked on")]
    Restless,
    /// The predicted session failed its check: a fault of ours, found before anything was written.
    #[error("the planned session failed its check and was not written: {0}")]
    Unsound(String),
}

impl RunError {
    /// A stable word for JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            RunError::Session(SessionError::NotASession) => "not_a_session",
            RunError::Session(SessionError::Redacted) => "redacted_export",
            RunError::Session(SessionError::Read(_)) | RunError::Read(_) | RunError::Output(_) => "io",
            RunError::Store(error) => error.code(),
            RunError::Summarize(_) => "summarizer",
            RunError::Hook(_) => "hook",
            RunError::Archive(ArchiveError::Missing { .. }) => "missing-archive",
            RunError::Archive(ArchiveError::Bad { .. }) => "bad-archive",
            RunError::Archive(_) => "io",
            RunError::Cut { .. } => "no_candidate",
            RunError::Damaged { code, .. } => code,
            RunError::OverLimit { .. } => "over_limit",
            RunError::Illegible { .. } | RunError::Refused { .. } => "refused",
            RunError::Restless => "changed",
            RunError::Unsound(_) => "unsound",
        }
    }

    /// The line that the error is about.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        match self {
            RunError::Damaged { line, .. } => *line,
            _ => None,
        }
    }

    /// What to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            RunError::Store(error) => error.hint(),
            RunError::Cut { hint, .. } | RunError::Damaged { hint, .. } | RunError::Illegible { hint, .. } => Some(hint.clone()),
            RunError::OverLimit { .. } => Some("nothing was written; allow more with --context-limit".to_owned()),
            RunError::Refused { hint, .. } => hint.clone(),
            RunError::Archive(ArchiveError::Missing { .. }) => {
                Some("archives stand in SESSION.archive beside the session, or in the folder that --archive-dir names".to_owned())
            }
            RunError::Summarize(SummarizeError::Online(error)) => error.hint.clone(),
            RunError::Hook(_) => {
                Some("nothing was written; mend the hook, or leave it out of [hooks] in the config and off the command line".to_owned())
            }
            RunError::Restless => Some("run again when the other program has finished writing".to_owned()),
            RunError::Session(SessionError::Redacted) => Some("name the session that it was exported from".to_owned()),
            RunError::Session(SessionError::NotASession) => {
                Some("a session begins with a line {\"type\":\"session\",…}; was another file meant?".to_owned())
            }
            _ => None,
        }
    }

    /// Whether somebody else was at the file.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        match self {
            RunError::Store(error) => error.is_conflict(),
            RunError::Restless => true,
            _ => false,
        }
    }
}

impl From<CutError> for RunError {
    fn from(error: CutError) -> RunError {
        let message = error.to_string();
        match error {
            CutError::Read(error) => RunError::Read(error),
            CutError::NoCandidate { nearest, .. } => RunError::Cut {
                message,
                hint: match nearest.as_slice() {
                    [] => "there is no place to cut on this path; see inspect --show cut".to_owned(),
                    [only] => format!("the only place to cut is {only}"),
                    near => format!("the nearest places to cut are {}", near.join(" and ")),
                },
            },
        }
    }
}

/// A file that others rewrite while it is read makes reading fail in any way; what then went wrong is that it changed.
fn cause(error: RunError, print: Option<&Fingerprint>) -> RunError {
    let read = matches!(
        error,
        RunError::Read(_) | RunError::Session(SessionError::Read(_)) | RunError::Summarize(SummarizeError::Read(_)) | RunError::Unsound(_)
    );
    let state = print.filter(|_| read).map(|print| (print, File::open(&print.path).map(|file| print.compare(&file))));
    match state {
        Some((print, Ok(Ok(State::Changed(what))))) => RunError::Store(StoreError::Changed { path: print.path.clone(), what }),
        _ => error,
    }
}
