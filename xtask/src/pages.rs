//! Manual pages and shell completions: the command line's own definition in the forms that packages install.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap_complete::Shell;

/// Writes a page for the command and one for each of its subcommands; returns how many there are.
///
/// The pages carry no date: the same source gives the same bytes.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn man(dir: &Path) -> Result<usize> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    clap_mangen::generate_to(epitome::cli::command(), dir).with_context(|| format!("cannot write to {}", dir.display()))?;
    Ok(1 + epitome::cli::command().get_subcommands().count())
}

/// Writes the completions of every shell under the names that the shells look for; returns how many there are.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn completions(dir: &Path) -> Result<usize> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let shells = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell];
    for shell in shells {
        clap_complete::generate_to(shell, &mut epitome::cli::command(), "epitome", dir)
            .with_context(|| format!("cannot write to {}", dir.display()))?;
    }
    Ok(shells.len())
}
