//! The commands as their callers see them: output, errors, exit codes, settings, signals.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod check;
mod compact;
mod errors;
mod help;
mod prune;
#[path = "../common/run.rs"]
mod run;
#[path = "../common/sessions.rs"]
mod sessions;
mod settings;
mod several;
mod show;
mod signals;
