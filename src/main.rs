//! The binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(epitome::cli::main(std::env::args_os()).code())
}
