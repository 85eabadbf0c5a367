//! The commands and their flags. Doc comments are the help; every flag's help names its default.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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

/// The commands
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look: the tree, tokens, where a compaction would cut, what is wrong
    Inspect(Inspect),
    /// Append a compaction: older messages are summarized, newer ones stay as they are
    Compact(Compact),
    /// Make a session smaller for the model: old, superseded and useless tool results give way to notices
    Prune(Prune),
    /// Keep what an abandoned branch learnt, at the entry where the work goes on
    BranchSummary(BranchSummary),
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
    /// The end of the path: an entry's id or an unambiguous beginning of one [default: the last entry of the file]
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

/// Look: the tree, tokens, where a compaction would cut, what is wrong
///
/// Without --show, an overview. Nothing is ever written.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// What to show, one or more separated by commas [default: overview]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub show: Vec<Show>,
    /// Count every token instead of extrapolating large sessions [default: off]
    #[arg(long)]
    pub exact: bool,
    /// Only what is wrong; exit code 4 when there are errors [default: off]
    #[arg(long)]
    pub check: bool,
    /// The severity from which --check fails: error, warning [default: error]
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY", hide_default_value = true, hide_possible_values = true)]
    pub fail_on: FailOn,
    /// A problem code that --check passes over; may be given more than once [default: none]
    #[arg(long, value_name = "CODE")]
    pub allow: Vec<String>,
    /// The message to keep from, one of the cut's candidates [default: chosen by --keep-recent-tokens]
    #[arg(long, value_name = "ID")]
    pub keep_from: Option<String>,
}

/// What inspect shows
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Show {
    /// The session at a glance
    Overview,
    /// All entries as a tree
    Tree,
    /// The entries of the path
    Path,
    /// What the model sees
    Context,
    /// What a person saw, with a divider where each compaction fired
    Transcript,
    /// Where a compaction would cut
    Cut,
    /// Bytes and tokens by kind and tool, and the largest entries
    Sizes,
    /// Tool results that pruning would blank
    Prune,
    /// Files that a compaction would record
    Files,
    /// The summary that the offline summarizer would write, with its sources
    Summary,
    /// Archived revisions of the session
    Revisions,
    /// Everything that is wrong
    Problems,
    /// Settings and where they come from
    Settings,
    /// All of it
    All,
}

/// From which severity a check fails
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors
    Error,
    /// Warnings too
    Warning,
}

/// Append a compaction: older messages are summarized, newer ones stay as they are
///
/// One session is changed in place; several need --in-place and then are compacted only when their context asks for it.
/// Standard input goes to standard output. Nothing that is in the file is changed.
#[derive(Debug, Args)]
pub struct Compact {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// Write nothing: do everything else and show the plan [default: off]
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Change several sessions in place [default: off]
    #[arg(short, long)]
    pub in_place: bool,
    /// Write the result to FILE, or - for standard output, instead of into the session [default: in place]
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    pub output: Option<PathBuf>,
    /// Replace FILE of --output when it is there [default: off]
    #[arg(long)]
    pub overwrite: bool,
    /// How to compact: context-full, off [default: context-full]
    #[arg(long, value_enum, default_value_t = Strategy::ContextFull, value_name = "NAME", hide_default_value = true, hide_possible_values = true)]
    pub strategy: Strategy,
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
    /// Who writes the summary: offline, truncate [default: offline]
    #[arg(long, value_enum, default_value_t = SummarizerName::Offline, value_name = "NAME", hide_default_value = true, hide_possible_values = true)]
    pub summarizer: SummarizerName,
    /// Write the compaction even when the context does not shrink [default: off]
    #[arg(long)]
    pub allow_growth: bool,
    /// Exit code 3 when there was nothing to do [default: off]
    #[arg(long)]
    pub exit_code: bool,
}

/// Make a session smaller for the model: old, superseded and useless tool results give way to notices
///
/// The result keeps its call and its place; only its text goes. The file as it was is archived first and can be had back with
/// --restore. One session is changed in place; several need --in-place.
#[derive(Debug, Args)]
pub struct Prune {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// Write nothing: show what would be pruned [default: off]
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Change several sessions in place [default: off]
    #[arg(short, long)]
    pub in_place: bool,
    /// Write the result to FILE, or - for standard output, instead of into the session [default: in place]
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    pub output: Option<PathBuf>,
    /// Replace FILE of --output when it is there [default: off]
    #[arg(long)]
    pub overwrite: bool,
    /// Tokens of the newest results that age does not touch [default: 40000]
    #[arg(long, value_name = "TOKENS")]
    pub protect_tokens: Option<String>,
    /// Tokens that all of it must save, or nothing is pruned [default: 20000]
    #[arg(long, value_name = "TOKENS")]
    pub min_savings: Option<String>,
    /// Tokens below which age does not touch a result [default: 50]
    #[arg(long, value_name = "TOKENS")]
    pub min_result_tokens: Option<String>,
    /// Keep reads of files that were read again later [default: off]
    #[arg(long)]
    pub no_superseded: bool,
    /// Keep results that their tools called useless [default: off]
    #[arg(long)]
    pub no_useless: bool,
    /// Only superseded and useless results, and only where that costs no provider cache [default: off]
    #[arg(long)]
    pub stale: bool,
    /// With --stale: tokens that may stand after a result [default: 8000]
    #[arg(long, value_name = "TOKENS", requires = "stale")]
    pub stale_suffix_tokens: Option<String>,
    /// With --stale: minutes without a message after which any result may go [default: 30]
    #[arg(long, value_name = "MINUTES", requires = "stale")]
    pub stale_idle_minutes: Option<String>,
    /// Keep results of a tool (tool:NAME) or of files (path:GLOB); may be given more than once [default: none]
    #[arg(long, value_name = "WHAT")]
    pub protect: Vec<String>,
    /// Keep results after the latest request, whatever their size [default: off]
    #[arg(long)]
    pub protect_last_turn: bool,
    /// Put an archived revision back as the session, which is archived first [default: none]
    #[arg(long, value_name = "N", conflicts_with_all = ["stale", "in_place"])]
    pub restore: Option<u64>,
    /// Do not archive the file as it was; needs --yes [default: off]
    #[arg(long)]
    pub no_archive: bool,
    /// Yes, without an archive [default: off]
    #[arg(long, requires = "no_archive")]
    pub yes: bool,
    /// Exit code 3 when there was nothing to do [default: off]
    #[arg(long)]
    pub exit_code: bool,
}

impl Prune {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let own = [
            ("prune.protect_tokens", &self.protect_tokens),
            ("prune.min_savings", &self.min_savings),
            ("prune.min_result_tokens", &self.min_result_tokens),
            ("prune.stale_suffix_tokens", &self.stale_suffix_tokens),
            ("prune.stale_idle_minutes", &self.stale_idle_minutes),
        ];
        own.into_iter().filter_map(|(key, value)| value.clone().map(|value| (key, value))).collect()
    }
}

/// Keep what an abandoned branch learnt, at the entry where the work goes on
///
/// Summarizes the entries between the common ancestor of both and the leaf that was left, and appends the summary behind the
/// target, which makes the target's branch the active one.
#[derive(Debug, Args)]
pub struct BranchSummary {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// The leaf that was left: an entry's id or an unambiguous beginning of one (required)
    #[arg(long, value_name = "ID")]
    pub from: String,
    /// The entry at which the work goes on (required)
    #[arg(long, value_name = "ID")]
    pub to: String,
    /// Tokens of messages that the summary sees, the newest first [default: the window less 16384]
    #[arg(long, value_name = "TOKENS")]
    pub token_budget: Option<String>,
    /// What the summary should look at [default: none]
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Write nothing: do everything else and show the plan [default: off]
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Write the result to FILE, or - for standard output, instead of into the session [default: in place]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace FILE of --output when it is there [default: off]
    #[arg(long)]
    pub overwrite: bool,
    /// Exit code 3 when there was nothing to do [default: off]
    #[arg(long)]
    pub exit_code: bool,
}

impl BranchSummary {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        self.token_budget.clone().map(|value| ("branch.token_budget", value)).into_iter().collect()
    }
}

/// How to compact
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// A summary of what is old
    ContextFull,
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

/// Who writes the summary
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SummarizerName {
    /// Extracts what matters; no model, no network
    Offline,
    /// The first 2,000 bytes, to test wiring
    Truncate,
}
