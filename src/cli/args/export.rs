//! Flags of `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Common;

/// Write a session for people or programs: transcript or context, secrets masked; or an archived revision
///
/// A transcript is everything that was said on the path, with a divider where each compaction fired. Keys, tokens, passwords
/// and the names of home folders are masked, unless --no-redact is given. --leaf all takes every branch.
#[derive(Debug, Args)]
pub struct Export {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// How to write it: md, html, text, json, jsonl [default: md]
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Option<ExportFormat>,
    /// Everything that was said [default: on]
    #[arg(long, conflicts_with = "context")]
    pub transcript: bool,
    /// Only what the model sees; as JSON it can be sent to one [default: off]
    #[arg(long)]
    pub context: bool,
    /// With what the model thought [default: off]
    #[arg(long)]
    pub thinking: bool,
    /// Tool calls and results: full, short (long ones lose their middle), none (calls on one line) [default: full]
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true)]
    pub tool_results: Option<ToolResults>,
    /// Mask keys, tokens, passwords and home folders [default: on]
    #[arg(long, conflicts_with = "no_redact")]
    pub redact: bool,
    /// Mask nothing [default: off]
    #[arg(long)]
    pub no_redact: bool,
    /// Mask e-mail addresses too [default: off]
    #[arg(long, conflicts_with = "no_redact")]
    pub redact_email: bool,
    /// An archived revision instead of the session; without --format its bytes as they were, never masked [default: none]
    #[arg(long, value_name = "N")]
    pub revision: Option<u64>,
    /// Write to FILE, or - for standard output [default: -]
    #[arg(short, long, value_name = "FILE", help_heading = "Result")]
    pub output: Option<PathBuf>,
    /// Replace a target that is there already; a session is never replaced [default: off]
    #[arg(long, help_heading = "Result")]
    pub overwrite: bool,
    /// Write nothing: tell what would be written and masked [default: off]
    #[arg(short = 'n', long, help_heading = "Result")]
    pub dry_run: bool,
    /// Exit code 3 when there was nothing to export [default: off]
    #[arg(long, help_heading = "Result")]
    pub exit_code: bool,
}

impl Export {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        self.redact_email.then(|| ("export.redact_email", "true".to_owned())).into_iter().collect()
    }
}

/// How an export is written
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Markdown
    #[value(alias = "markdown")]
    Md,
    /// One HTML page that needs nothing else
    Html,
    /// Plain text
    #[value(alias = "txt")]
    Text,
    /// One JSON object
    Json,
    /// JSON Lines: the session's own records, or one message of the context a line
    Jsonl,
}

/// How much of tool calls and results
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ToolResults {
    /// All
    Full,
    /// The beginning and the end of long ones
    Short,
    /// Calls on one line, no results
    None,
}
