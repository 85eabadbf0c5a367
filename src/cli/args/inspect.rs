//! Flags of `inspect`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Common;

/// Look: the tree, tokens, where a compaction would cut, what is wrong
///
/// Without --show, an overview. No session is ever written.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// What to show, one or more separated by commas [default: overview]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub show: Vec<Show>,
    /// Only whether a trigger asks for a compaction, which may still find nothing to gain; exit code 0 when any session asks for it, 3 when none does [default: off]
    #[arg(long, conflicts_with_all = ["show", "check"])]
    pub needs_compaction: bool,
    /// With --needs-compaction or --check: only the paths of sessions that ask for it, or that fail; see -0 [default: off]
    #[arg(short, long, conflicts_with_all = ["json", "show"])]
    pub list: bool,
    /// Count every token instead of extrapolating large sessions [default: off]
    #[arg(long)]
    pub exact: bool,
    /// Only what is wrong; exit code 4 when there are errors [default: off]
    #[arg(long, conflicts_with = "show")]
    pub check: bool,
    /// The severity from which --check fails: error, warning [default: error]
    #[arg(long, requires = "check", value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY", hide_default_value = true, hide_possible_values = true)]
    pub fail_on: FailOn,
    /// A problem code that --check passes over; may be given more than once [default: none]
    #[arg(long, requires = "check", value_name = "CODE")]
    pub allow: Vec<String>,
    /// With --show frames: write the frames as PNG files into DIR [default: none]
    #[arg(long, value_name = "DIR", requires = "show")]
    pub frames_dir: Option<PathBuf>,
    /// The message to keep from, one of the cut's candidates [default: chosen by --keep-recent-tokens]
    #[arg(long, value_name = "ID")]
    pub keep_from: Option<String>,
    /// Write a page to FILE that tells how the session stands, masked like an export [default: none]
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write a chart of tokens over time to FILE, as SVG [default: none]
    #[arg(long, value_name = "FILE")]
    pub chart: Option<PathBuf>,
    /// With --report or --chart: replace a file that is there already; a session is never replaced [default: off]
    #[arg(long)]
    pub overwrite: bool,
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
    /// What asks for a compaction, and what --trigger auto would do
    Triggers,
    /// Tool results that pruning would blank
    Prune,
    /// Files that a compaction would record
    Files,
    /// The summary that the offline summarizer would write, with its sources
    Summary,
    /// History on pictures, read back to text
    Frames,
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
