//! The commands and their flags. Doc comments are the help; every flag's help names its default.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use branch_summary::BranchSummary;
pub use compact::{Compact, Strategy, When};
pub use export::{Export, ExportFormat, ToolResults};
pub use framing::{CarrierName, Framing, Snapcompact};
pub use inspect::{FailOn, Inspect, Show};
pub use prune::Prune;
pub use summarizing::{Fallback, Hooking, Summarizing};

mod branch_summary;
mod compact;
mod export;
mod framing;
mod inspect;
mod prune;
mod summarizing;

/// Keeps coding-agent sessions usable: look into them, and compact them, offline and without losing a byte
///
/// Reads the JSONL sessions of pi, oh-my-pi and openclaw, shows where a compaction would cut and what it would cost, and
/// appends one. No model and no network are needed; the same input gives the same output.
#[derive(Debug, Parser)]
#[command(name = "epitome", version, propagate_version = true, max_term_width = 100, disable_help_subcommand = false)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands; what each of them is for is said where its flags are
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "the text of a variant would take the place of its command's longer one in the help")]
pub enum Command {
    Inspect(Inspect),
    Compact(Compact),
    Prune(Prune),
    BranchSummary(BranchSummary),
    Export(Export),
    Snapcompact(Snapcompact),
}

/// What every command takes
#[derive(Debug, Args)]
pub struct Common {
    /// Sessions: files, folders (every *.jsonl below them), or - for standard input
    #[arg(value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Read more sessions from FILE, one a line; - for standard input [default: none]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub files_from: Option<PathBuf>,
    /// Lists are separated by NUL instead of line ends [default: off]
    #[arg(short = '0', long, help_heading = "Input")]
    pub null: bool,
    /// Work on share K of N only, K from 1, or let the job scheduler's variables say which: K/N, auto [default: all]
    #[arg(long, value_name = "K/N", help_heading = "Input")]
    pub shard: Option<String>,
    /// The end of the path: an entry's id or an unambiguous beginning of one; prune and export also take all, for every branch [default: the last entry of the file]
    #[arg(long, value_name = "ID", help_heading = "Input")]
    pub leaf: Option<String>,
    /// Sessions that are worked on side by side [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Input")]
    pub jobs: Option<u16>,
    /// One JSON object a session on standard output, one a line [default: off]
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Colour [default: auto]
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_default_value = true, hide_possible_values = true, help_heading = "Output")]
    pub color: Color,
    /// Progress on standard error: auto, always, never [default: auto, on a terminal]
    #[arg(long, value_enum, default_value_t = Progress::Auto, value_name = "WHEN", hide_default_value = true, hide_possible_values = true, help_heading = "Output")]
    pub progress: Progress,
    /// No notes and warnings [default: off]
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// More detail; twice for still more [default: off]
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,
    /// Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub config: Option<PathBuf>,
    /// Read no config file [default: off]
    #[arg(long, conflicts_with = "config", help_heading = "Settings")]
    pub no_config: bool,
    /// The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]
    #[arg(long, value_name = "TIME", help_heading = "Settings")]
    pub now: Option<String>,
    /// Settings
    #[command(flatten)]
    pub settings: SettingFlags,
}

/// Flags of settings; each is also an environment variable EPITOME_… and a config key
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingFlags {
    /// Tokens of the model's window [default: the model's, else 200000]
    #[arg(long, value_name = "TOKENS")]
    pub context_window: Option<String>,
    /// Tokens kept free for the answer [default: 16384, or 15 % of the window]
    #[arg(long, value_name = "TOKENS")]
    pub reserve_tokens: Option<String>,
    /// Newest tokens that a compaction keeps as they are [default: 20000]
    #[arg(long, value_name = "TOKENS")]
    pub keep_recent_tokens: Option<String>,
    /// When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]
    #[arg(long, value_name = "TOKENS|%")]
    pub threshold: Option<String>,
    /// How tokens are counted: o200k, cl100k, heuristic [default: o200k]
    #[arg(long, value_name = "NAME")]
    pub tokenizer: Option<String>,
    /// The model, provider/id [default: the session's latest]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Whether --trigger auto may act [default: true]
    #[arg(long, value_name = "BOOL")]
    pub enabled: Option<String>,
    /// Most tokens of a summary, 300 to 16384 [default: 4096]
    #[arg(long, value_name = "TOKENS")]
    pub summary_tokens: Option<String>,
    /// Folder of externalized image data [default: the agent's, beside its sessions]
    #[arg(long, value_name = "DIR")]
    pub blob_dir: Option<String>,
    /// Folder of archives of rewritten sessions [default: SESSION.archive beside each session]
    #[arg(long, value_name = "DIR")]
    pub archive_dir: Option<String>,
}

impl SettingFlags {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("context_window", &self.context_window),
            ("reserve_tokens", &self.reserve_tokens),
            ("keep_recent_tokens", &self.keep_recent_tokens),
            ("threshold", &self.threshold),
            ("tokenizer", &self.tokenizer),
            ("model", &self.model),
            ("enabled", &self.enabled),
            ("summary_tokens", &self.summary_tokens),
            ("blob_dir", &self.blob_dir),
            ("archive_dir", &self.archive_dir),
        ];
        all.into_iter().filter_map(|(key, value)| value.clone().map(|value| (key, value))).collect()
    }
}

/// When to colour
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// When to tell progress
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Where a writing command writes
#[derive(Debug, Args)]
pub struct Write {
    /// Write nothing: do everything else and show the plan [default: off]
    #[arg(short = 'n', long, help_heading = "Result")]
    pub dry_run: bool,
    /// Change several sessions in place [default: off]
    #[arg(short, long, help_heading = "Result")]
    pub in_place: bool,
    /// Write the result to FILE, or - for standard output, instead of into the session [default: in place]
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place", help_heading = "Result")]
    pub output: Option<PathBuf>,
    /// Write the results into folders below DIR, as the sessions lie below the folders that were named [default: in place]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["in_place", "output"], help_heading = "Result")]
    pub out_dir: Option<PathBuf>,
    /// Stop when N sessions were changed [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Result")]
    pub limit: Option<u64>,
    /// Replace a target that is there already [default: off]
    #[arg(long, help_heading = "Result")]
    pub overwrite: bool,
    /// Exit code 3 when there was nothing to do [default: off]
    #[arg(long, help_heading = "Result")]
    pub exit_code: bool,
}
