//! Flags of `prune`.

use clap::Args;

use super::{Common, Hooking, Write};

/// Make a session smaller for the model: old, superseded and useless tool results give way to notices
///
/// The result keeps its call and its place; only its text goes. The file as it was is archived first and can be had back with
/// --restore. One session is changed in place; several need --in-place.
///
/// Size repair makes the file smaller: each of its flags is a measure of its own, all given ones are taken in one rewrite, and
/// what each frees is told, first of all by --dry-run. Measures look at the whole file, other branches and what was
/// summarized too. With a measure, results are pruned only when a flag of pruning is given as well: --min-savings,
/// --min-result-tokens, --no-superseded, --no-useless, --stale or --keep-errors.
#[derive(Debug, Args)]
pub struct Prune {
    /// Input, output and settings
    #[command(flatten)]
    pub common: Common,
    /// Where it writes
    #[command(flatten)]
    pub write: Write,
    /// Tokens of the newest results that age does not touch, or percent of the window [default: 40000]
    #[arg(long, value_name = "TOKENS|%")]
    pub protect_tokens: Option<String>,
    /// Tokens that all of it must save, or nothing is pruned, or percent of the window [default: 20000]
    #[arg(long, value_name = "TOKENS|%")]
    pub min_savings: Option<String>,
    /// Tokens below which age does not touch a result, or percent of the window [default: 50]
    #[arg(long, value_name = "TOKENS|%")]
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
    /// Old errors keep the ends of their text and the lines that tell what failed [default: off]
    #[arg(long)]
    pub keep_errors: bool,
    /// Append edits that say what results give way to, in place of rewriting; for sessions of pi 1.x, which applies them [default: off]
    ///
    /// No line changes, so nothing is archived, and the file grows by what the edits take. Other agents do not read such
    /// edits; their sessions are refused.
    #[arg(long, conflicts_with_all = ["restore", "repair", "no_archive", "details", "images", "args", "custom", "max_result", "dead_branches", "summarized", "dedupe"])]
    pub append: bool,
    /// Take details of results out: no model sees them [default: off]
    #[arg(long, help_heading = SIZE)]
    pub details: bool,
    /// Images give way to notes: drop (all), keep-last=N (all but the newest N of the path), extract=DIR (moved to files) [default: they stay]
    #[arg(long, value_name = "WHAT", help_heading = SIZE)]
    pub images: Option<String>,
    /// Cut long texts in the arguments of writes and edits older than --protect-tokens [default: off]
    #[arg(long, help_heading = SIZE)]
    pub args: bool,
    /// Empty the data of an extension's entries of this type; their keys stay; may be given more than once [default: none]
    #[arg(long, value_name = "TYPE", help_heading = SIZE)]
    pub custom: Vec<String>,
    /// Cut every longer result to its head and tail, the newest too [default: none]
    #[arg(long, value_name = "TOKENS", help_heading = SIZE)]
    pub max_result: Option<String>,
    /// Remove entries that are on no path to the file's last entry or to --leaf [default: off]
    #[arg(long, help_heading = SIZE)]
    pub dead_branches: bool,
    /// Remove messages that a compaction summarized, where no branch needs them [default: off]
    #[arg(long, help_heading = SIZE)]
    pub summarized: bool,
    /// A result whose text a later one repeats names that one instead [default: off]
    #[arg(long, help_heading = SIZE)]
    pub dedupe: bool,
    /// Put an archived revision back as the session, which is archived first [default: none]
    #[arg(long, value_name = "N", conflicts_with_all = ["stale", "in_place", "leaf", "details", "images", "args", "custom", "max_result", "dead_branches", "summarized", "dedupe"])]
    pub restore: Option<u64>,
    /// Mend damage: all that needs no name, or the problem CODEs that are given (see epitome help repair) [default: off]
    ///
    /// Only the damage is mended; nothing is pruned in the same run. inspect --check lists problems by code.
    #[arg(
        long,
        value_name = "CODE,…",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "",
        conflicts_with_all = ["restore", "stale", "leaf", "details", "images", "args", "custom", "max_result", "dead_branches", "summarized", "dedupe"]
    )]
    pub repair: Option<Vec<String>>,
    /// Do not archive the file as it was; needs --yes [default: off]
    #[arg(long)]
    pub no_archive: bool,
    /// Yes, without an archive [default: off]
    #[arg(long, requires = "no_archive")]
    pub yes: bool,
    /// Hooks
    #[command(flatten)]
    pub hooking: Hooking,
}

/// The heading of the measures in the help.
const SIZE: &str = "Size repair";

impl Prune {
    /// Whether a flag was given that only the pruning of results reads.
    #[must_use]
    pub fn prunes_results(&self) -> bool {
        let set = self.min_savings.is_some() || self.min_result_tokens.is_some();
        set || self.no_superseded || self.no_useless || self.stale || self.keep_errors
    }

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
        let own = own.into_iter().filter_map(|(key, value)| value.clone().map(|value| (key, value)));
        own.chain(self.hooking.given()).collect()
    }
}
