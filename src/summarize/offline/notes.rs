//! What one pass over the messages notes: the material of a summary.

use indexmap::IndexMap;

use super::facts::Facts;
use super::outcome::{Command, Outcome, Weight};
use super::todo::Todo;
use crate::session::Ix;

/// A sentence that someone said.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// The entry.
    pub entry: Ix,
    /// The sentence.
    pub text: String,
    /// How much it is what it was taken for.
    pub strength: u8,
}

/// A request of the user.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    /// The entry.
    pub entry: Ix,
    /// What was asked, cleaned; a very long one has lost its middle.
    pub text: String,
}

/// A command that was run, or a call that failed.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// The entry of the result.
    pub entry: Ix,
    /// The command.
    pub command: Command,
    /// How it ended; `None` while no result has come.
    pub outcome: Option<Outcome>,
}

/// What the assistant said and did until it spoke again.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The entry.
    pub entry: Ix,
    /// What it said first.
    pub say: String,
    /// Files it changed.
    pub changes: IndexMap<u32, Change>,
    /// Commands it ran.
    pub runs: Vec<Run>,
    /// Commits: branch, hash, message; branch and hash are empty when git's answer was not seen.
    pub commits: Vec<(String, String, String)>,
    /// Other tools it called, with what for.
    pub calls: Vec<String>,
}

/// What a step changed in a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    /// How often.
    pub times: u32,
    /// Names that the new text defines or uses first.
    pub names: Vec<String>,
}

/// A request and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// The entry that opened it.
    pub entry: Ix,
    /// What was asked, short.
    pub ask: String,
    /// The steps.
    pub steps: Vec<Step>,
    /// The first telling sentence of the last answer, when the turn ended with one.
    pub answer: Option<(Ix, String)>,
}

/// A call whose result has not come yet.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// The entry of the call.
    pub entry: Ix,
    /// The tool and what it was called with, short.
    pub what: String,
    /// The file it is about, or none.
    pub home: u32,
    /// What its result will mean.
    pub kind: Kind,
}

/// What kind of call waits for its result.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// A command.
    Run(Command),
    /// A file was read, or with `true` changed.
    File(bool),
    /// A task list.
    Todo,
    /// Anything else.
    Other,
}

/// A command that keeps failing, or failed and was put right.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// How it is shown.
    pub shown: String,
    /// The exit code.
    pub code: Option<i64>,
    /// The line that says why.
    pub error: String,
    /// How often it failed in a row.
    pub times: u32,
    /// Where it failed last.
    pub entry: Ix,
    /// The text counter then.
    pub at: u32,
    /// Where it passed.
    pub fixed: Option<Ix>,
}

/// A check and its latest result.
#[derive(Debug, Clone)]
pub(super) struct Check {
    /// How it is shown.
    pub shown: String,
    /// Times it passed and failed.
    pub passed: u32,
    /// Times it failed.
    pub failed: u32,
    /// What it is.
    pub weight: Weight,
    /// The latest result.
    pub last: Outcome,
    /// Its entry.
    pub entry: Ix,
}

/// All that was noted.
#[derive(Debug)]
pub(super) struct Notes {
    /// Requests in order: the first, and the latest.
    pub asks: Vec<Ask>,
    /// Rules in order.
    pub rules: Vec<Said>,
    /// Turns in order.
    pub turns: Vec<Turn>,
    /// The task list.
    pub todo: Todo,
    /// Decisions and causes.
    pub decisions: Vec<Said>,
    /// Other statements of the assistant.
    pub findings: Vec<Said>,
    /// Announced next steps of the latest answers.
    pub nexts: Vec<Said>,
    /// Sentences that say that something is finished.
    pub claims: Vec<(Ix, Vec<String>)>,
    /// Failures by command.
    pub failures: IndexMap<String, Failure>,
    /// Checks by command.
    pub checks: IndexMap<String, Check>,
    /// The same of the turn that is told apart, behind the summary.
    pub later_checks: IndexMap<String, Check>,
    /// Calls without a result.
    pub pending: IndexMap<String, Pending>,
    /// Summaries of branches that stand among the messages.
    pub summaries: Vec<(Ix, String)>,
    /// What the assistant said last, whole.
    pub last_say: Option<Ask>,
    /// Whether the latest request has no answer yet.
    pub open: bool,
    /// Names and files.
    pub facts: Facts,
}

impl Notes {
    /// Nothing noted yet but `facts`.
    pub(super) fn new(facts: Facts) -> Self {
        Notes {
            asks: Vec::new(),
            rules: Vec::new(),
            turns: Vec::new(),
            todo: Todo::default(),
            decisions: Vec::new(),
            nexts: Vec::new(),
            claims: Vec::new(),
            failures: IndexMap::new(),
            checks: IndexMap::new(),
            later_checks: IndexMap::new(),
            pending: IndexMap::new(),
            findings: Vec::new(),
            summaries: Vec::new(),
            last_say: None,
            open: false,
            facts,
        }
    }
}
