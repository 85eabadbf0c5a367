//! The README's help: what `--help` says, between two markers, so that the page cannot name a flag that is gone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

const BEGIN: &str = "<!-- help: written by `cargo run -p xtask -- readme` -->\n";
const END: &str = "<!-- end of help -->\n";

/// Columns of the help; a terminal's own width would make the text depend on who runs this.
const COLUMNS: usize = 100;

/// Rewrites what stands between the markers of `file`.
///
/// # Errors
/// When the file cannot be read or written, or a marker is missing.
pub(crate) fn write(file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let missing = |marker: &str| format!("{}: the line {:?} is missing", file.display(), marker.trim_end());
    let (before, rest) = text.split_once(BEGIN).with_context(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).with_context(|| missing(END))?;
    fs::write(file, format!("{before}{BEGIN}{}{END}{after}", help())).with_context(|| format!("cannot write {}", file.display()))
}

fn help() -> String {
    let mut command = epitome::cli::command().term_width(COLUMNS);
    command.build();
    let mut out = block("epitome --help", &command.render_long_help().to_string());
    for subcommand in command.get_subcommands_mut().filter(|c| c.get_name() != "help") {
        let call = format!("epitome {} -h", subcommand.get_name());
        out.push_str(&block(&call, &subcommand.render_help().to_string()));
    }
    out
}

/// One command's help, folded away: it is for looking things up.
fn block(call: &str, help: &str) -> String {
    let mut out = format!("\n<details><summary><code>{call}</code></summary>\n\n```text\n");
    for line in help.trim_end().lines() {
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push_str("```\n\n</details>\n");
    out
}
