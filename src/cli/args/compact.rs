//! Flags of `compact`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Common, Framing, Hooking, Summarizing, Write};

/// Append a compaction: older messages are summarized, newer ones stay as they are
///
/// One session is changed in place; several need --in-place and then are compacted only when their context asks for it.
/// Standard input goes to standard output. Nothing that is in the file is changed, but by --strategy replace, which writes a
/// much smaller file and archives the old one.
#[derive(Debug, Args)]
pub struct Compact {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// Where it writes
    #[command(flatten)]
    pub write: Write,
    /// How to compact: context-full, snapcompact, replace, handoff, off [default: context-full; snapcompact in the command of that name]
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    pub strategy: Option<Strategy>,
    /// When to compact: manual, auto, idle [default: manual for one session, auto for several]
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true)]
    pub trigger: Option<When>,
    /// The message to keep from, one of the cut's candidates [default: chosen by --keep-recent-tokens]
    #[arg(long, value_name = "ID")]
    pub keep_from: Option<String>,
    /// What the summary should look at [default: none]
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Lines from FILE that the summary should carry [default: none]
    #[arg(long, value_name = "FILE")]
    pub context_file: Option<PathBuf>,
    /// When the threshold asked for it: tell the agent to go on with the task on its own [default: off]
    #[arg(long)]
    pub auto_continue: bool,
    /// Prune old, superseded and useless results first, as prune does with its settings, and compact only what then still
    /// asks for it; both in one write, the file as it was archived [default: off]
    #[arg(long)]
    pub prune: bool,
    /// Write the compaction even when the context does not shrink [default: off]
    #[arg(long)]
    pub allow_growth: bool,
    /// Who writes the summary
    #[command(flatten)]
    pub summarizing: Summarizing,
    /// Hooks
    #[command(flatten)]
    pub hooking: Hooking,
    /// What a replacement history may be
    #[command(flatten)]
    pub replace: Replace,
    /// Frames
    #[command(flatten)]
    pub framing: Framing,
}

/// Flags of --strategy replace
#[derive(Debug, Args)]
#[command(next_help_heading = "Replacing the history (--strategy replace)")]
pub struct Replace {
    /// Most tokens of the whole result [default: 20000]
    #[arg(long, value_name = "TOKENS")]
    pub context_limit: Option<String>,
    /// Leave out what the summarizer finds irrelevant [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub relevance: Option<String>,
    /// The score from which messages are relevant, 0 to 1 [default: 0.5]
    #[arg(long, value_name = "SCORE")]
    pub relevance_threshold: Option<String>,
    /// Keep an extension's messages of this type; may be given more than once [default: none]
    #[arg(long, value_name = "TYPE")]
    pub retain_custom: Vec<String>,
    /// Leave other branches behind, in the archive [default: off]
    #[arg(long)]
    pub drop_branches: bool,
}

impl Compact {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let own = [
            ("replace.context_limit", &self.replace.context_limit),
            ("replace.relevance", &self.replace.relevance),
            ("replace.relevance_threshold", &self.replace.relevance_threshold),
        ];
        let own = own.into_iter().filter_map(|(key, value)| value.clone().map(|value| (key, value))).collect();
        [self.summarizing.given(), self.hooking.given(), self.framing.given(), own].concat()
    }
}

/// How to compact
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// A summary of what is old
    ContextFull,
    /// Instructions, reminders and one new reminder instead of everything
    Replace,
    /// What is old on pictures
    Snapcompact,
    /// A new session beside the old one, which begins with a document for who goes on
    Handoff,
    /// Only report
    Off,
}

/// When to compact
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// Now
    Manual,
    /// When the context asks for it
    Auto,
    /// The same, while nobody works on the session
    Idle,
}
