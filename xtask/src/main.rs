//! Maintenance commands of the repository: what is generated from the code and committed beside it.
//!
//! `cargo run -p xtask -- COMMAND` from the root of the repository. Each output has a test that regenerates it and
//! compares, so a committed file cannot drift from its source.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

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
    /// Write the test sessions
    Testdata {
        /// Folder to write to
        #[arg(default_value = "testdata")]
        dir: PathBuf,
    },
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Testdata { dir } => {
            let count = testdata::write(&dir)?;
            writeln!(io::stdout(), "{count} files below {}", dir.display())?;
        }
    }
    Ok(())
}
