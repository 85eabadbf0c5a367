//! Maintenance commands of the repository: what is generated from the code and committed beside it.
//!
//! `cargo run -p xtask -- COMMAND` from the root of the repository. Each output has a test that regenerates it and
//! compares, so a committed file cannot drift from its source.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod fonts;
mod pages;
mod picture;
mod readme;
#[path = "../../tests/common/sessions.rs"]
mod sessions;
mod testdata;

#[derive(Parser)]
#[command(about = "Maintenance commands of the epitome repository")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write everything that is generated
    All {
        /// The root of the repository
        #[arg(default_value = ".")]
        root: PathBuf,
    },
    /// Write the test sessions
    Testdata {
        /// Folder to write to
        #[arg(default_value = "testdata")]
        dir: PathBuf,
    },
    /// Write the manual pages
    Man {
        /// Folder to write to
        #[arg(default_value = "man")]
        dir: PathBuf,
    },
    /// Write the shell completions
    Completions {
        /// Folder to write to
        #[arg(default_value = "completions")]
        dir: PathBuf,
    },
    /// Write the README's help between its markers
    Readme {
        /// The README
        #[arg(default_value = "README.md")]
        file: PathBuf,
    },
    /// Draw the README's picture from what the commands print
    Picture {
        /// File to write
        #[arg(default_value = "assets/overview.svg")]
        file: PathBuf,
    },
    /// Derive the glyph files from the font files of the packages that have them
    Fonts {
        /// Folder to write to
        #[arg(default_value = "assets/fonts")]
        dir: PathBuf,
        /// Where the Debian packages xfonts-base and unifont are installed
        #[arg(long, default_value = "/")]
        root: PathBuf,
        /// unscii_8.py of the Python package unscii
        #[arg(long)]
        unscii: PathBuf,
    },
    /// Be epitome: what the picture shows is printed by the code itself
    #[command(hide = true, disable_help_flag = true)]
    Epitome {
        /// Its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

fn main() -> Result<ExitCode> {
    match Cli::parse().command {
        Command::All { root } => {
            testdata(&root.join("testdata"))?;
            said("manual pages", pages::man(&root.join("man"))?, &root.join("man"))?;
            said("completions", pages::completions(&root.join("completions"))?, &root.join("completions"))?;
            picture::write(&root.join("assets/overview.svg"))?;
            readme::write(&root.join("README.md"))?;
        }
        Command::Testdata { dir } => testdata(&dir)?,
        Command::Man { dir } => said("manual pages", pages::man(&dir)?, &dir)?,
        Command::Completions { dir } => said("completions", pages::completions(&dir)?, &dir)?,
        Command::Readme { file } => readme::write(&file)?,
        Command::Fonts { dir, root, unscii } => said("glyph files", fonts::write(&root, &unscii, &dir)?, &dir)?,
        Command::Picture { file } => picture::write(&file)?,
        Command::Epitome { arguments } => {
            let words = std::iter::once(OsString::from("epitome")).chain(arguments);
            return Ok(ExitCode::from(epitome::cli::main(words).code()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn testdata(dir: &Path) -> Result<()> {
    said("files", testdata::write(dir)?, dir)
}

fn said(what: &str, count: usize, dir: &Path) -> Result<()> {
    Ok(writeln!(io::stdout(), "{count} {what} below {}", dir.display())?)
}
