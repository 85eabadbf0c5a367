//! Flags of `branch-summary`.

use clap::Args;

use super::{Common, Hooking, Summarizing, Write};

/// Keep what an abandoned branch learnt, at the entry where the work goes on
///
/// Summarizes the entries between the common ancestor of both and the leaf that was left, and appends the summary behind the
/// target, which makes the target's branch the active one.
#[derive(Debug, Args)]
pub struct BranchSummary {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// Where it writes
    #[command(flatten)]
    pub write: Write,
    /// The leaf that was left: an entry's id or an unambiguous beginning of one [default: none; needed without --all]
    #[arg(long, value_name = "ID")]
    pub from: Option<String>,
    /// The entry at which the work goes on [default: none; with --all the last entry of the file]
    #[arg(long, value_name = "ID")]
    pub to: Option<String>,
    /// Every branch that was left and has no summary on the target's path yet [default: off]
    #[arg(long, conflicts_with = "from")]
    pub all: bool,
    /// Tokens of messages that the summary sees, the newest first [default: the window less 16384]
    #[arg(long, value_name = "TOKENS")]
    pub token_budget: Option<String>,
    /// What the summary should look at [default: none]
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Who writes the summary
    #[command(flatten)]
    pub summarizing: Summarizing,
    /// Hooks
    #[command(flatten)]
    pub hooking: Hooking,
}

impl BranchSummary {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let own = self.token_budget.clone().map(|value| ("branch.token_budget", value)).into_iter().collect();
        [own, self.summarizing.given(), self.hooking.given()].concat()
    }
}
