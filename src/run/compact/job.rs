//! What is asked of a compaction, and what comes of it.

use std::path::PathBuf;

use crate::engine::compaction::Plan;
use crate::engine::cut::Amounts;
use crate::engine::prune::PruneSettings;
use crate::engine::replace::ReplaceSettings;
use crate::engine::tokens::Tokenizer;
use crate::engine::trigger::Limits;
use crate::run::Target;
use crate::run::handoff::NewSession;
use crate::run::open::Input;
use crate::run::receipt::Receipt;
use crate::run::replace::Replacement;
use crate::run::snapcompact::FramesJob;
use crate::session::Session;
use crate::summarize::Summary;

/// When a compaction is made.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// Now.
    Manual,
    /// When the context asks for it.
    Auto {
        /// Asked while nobody works on the session.
        idle: bool,
        /// What is set about the window.
        limits: Limits,
    },
    /// Never: automatic compaction is switched off.
    Off,
}

/// How a context is made smaller.
#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// A summary of what is old, appended.
    ContextFull,
    /// Instructions, reminders and one new reminder instead of everything.
    Replace(ReplaceSettings),
    /// What is old on frames.
    Snapcompact(Box<FramesJob>),
    /// A new session that begins with a document for who goes on.
    Handoff,
    /// Only report.
    Off,
}

impl Strategy {
    /// The name in flags and JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Strategy::ContextFull => "context-full",
            Strategy::Replace(_) => "replace",
            Strategy::Snapcompact(_) => "snapcompact",
            Strategy::Handoff => "handoff",
            Strategy::Off => "off",
        }
    }
}

/// What is to be done with one session.
#[derive(Debug, Clone)]
pub struct CompactJob {
    /// The session.
    pub input: Input,
    /// Where the result goes.
    pub target: Target,
    /// The end of the path; the file's own when none is named.
    pub leaf: Option<String>,
    /// When.
    pub trigger: Trigger,
    /// How.
    pub strategy: Strategy,
    /// Tokens to keep.
    pub keep_recent: u64,
    /// The message to keep from.
    pub keep_from: Option<String>,
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// Most tokens of the summary.
    pub summary_tokens: u64,
    /// What the summary is to look at.
    pub focus: Option<String>,
    /// Lines of context from elsewhere.
    pub context: Vec<String>,
    /// Write even what does not shrink the context.
    pub allow_growth: bool,
    /// Behind a compaction that the threshold asked for, tell the agent to go on.
    pub auto_continue: bool,
    /// Prune by these settings first.
    pub prune: Option<PruneSettings>,
    /// What is set about the window, which percentages mean.
    pub limits: Limits,
    /// Where the file goes that a rewrite replaces; `None` means beside the session.
    pub archive_dir: Option<PathBuf>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Done {
    /// The receipt.
    pub receipt: Receipt,
    /// The plan, when there was one.
    pub plan: Option<Plan>,
    /// The session that was planned on.
    pub session: Session,
    /// What the cut of the plan means in numbers.
    pub amounts: Option<Amounts>,
    /// The words and their tokens, when there are any.
    pub summary: Option<(Summary, u64)>,
    /// What a replacement history is made of, when there is one.
    pub replacement: Option<Replacement>,
    /// The session in which the work goes on after a handoff.
    pub new_session: Option<NewSession>,
}

impl Done {
    /// A run that came to no plan.
    pub(in crate::run) fn without_plan(receipt: Receipt, session: Session) -> Done {
        Done { receipt, plan: None, session, amounts: None, summary: None, replacement: None, new_session: None }
    }
}
