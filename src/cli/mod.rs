//! The command line: parsing and printing. The only room that knows clap, terminals and exit codes.
//!
//! [`args`] defines the commands and imports nothing but clap, so that man pages and completions are made from it.

pub mod args;
mod batch;
mod branch_summary;
mod compact;
mod exit;
mod export;
mod inspect;
mod json;
mod making;
mod output;
mod prune;
mod show;
mod snapcompact;
mod sources;
mod topics;
mod writer;

pub use exit::Status;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches};

use crate::settings::{Settings, SettingsError};
use args::{Cli, Command, Common, Progress};
use writer::Writer;

/// The whole command, for those who make pages from it.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command().after_help(topics::SHORT)
}

/// Parses the command line and runs it.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Status {
    let args = prune::joined(args.into_iter().collect());
    if let Some(text) = topics::asked(&args) {
        return output::print(text).map_or(Status::Failed, |()| Status::Done);
    }
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            let asked = !error.use_stderr();
            let _ = error.print();
            return if asked { Status::Done } else { Status::Usage };
        }
    };
    let mut cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return Status::Usage;
        }
    };
    watch_signals();
    let (common, result) = match &mut cli.command {
        Command::Inspect(args) => (&args.common, inspect::run(args)),
        Command::Compact(args) => (&args.common, compact::run(args)),
        Command::Prune(args) => (&args.common, prune::run(args)),
        Command::BranchSummary(args) => (&args.common, branch_summary::run(args)),
        Command::Export(args) => (&args.common, export::run(args)),
        Command::Snapcompact(args) => {
            let result = snapcompact::run(args);
            (&args.compact.common, result)
        }
    };
    match result {
        Ok(status) => status,
        Err(error) => {
            if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
                return Status::Done;
            }
            let status = if error.is::<Usage>() || error.is::<SettingsError>() { Status::Usage } else { Status::Failed };
            let hint = error.downcast_ref::<Usage>().and_then(|usage| usage.hint.clone());
            output::complain(common, &format!("{error:#}"), hint.as_deref());
            status
        }
    }
}

/// A command line that makes no sense, found after clap was content with it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Usage {
    message: String,
    hint: Option<String>,
}

impl Usage {
    #[expect(clippy::new_ret_no_self, reason = "it is only ever used as an error of any kind")]
    fn new(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Usage { message: message.into(), hint: Some(hint.into()) })
    }
}

/// On INT and TERM: unfinished files go, nothing is half-written, and the exit code says which it was.
fn watch_signals() {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM]) else { return };
    // Without a thread the signals keep killing the process, which leaves at worst a temporary file.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            crate::process::stop();
            let _stopped = crate::store::temp::stop();
            std::process::exit(128 + signal);
        }
    });
}

/// Settings from the flags that the command line gave, the environment, and the config file.
fn settings(common: &Common, own: Vec<(&'static str, String)>) -> Result<Settings, SettingsError> {
    let env = |name: &str| std::env::var(name).ok();
    let config = if common.no_config {
        None
    } else {
        common.config.clone().or_else(|| env("EPITOME_CONFIG").filter(|p| !p.is_empty()).map(PathBuf::from)).or_else(default_config)
    };
    Settings::resolve(&[common.settings.given(), own].concat(), env, config.as_deref())
}

/// The config file at its usual place, when it is there.
fn default_config() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(base.join("epitome").join("config.toml")).filter(|path| path.is_file())
}

/// The time of the run: `--now`, `SOURCE_DATE_EPOCH`, or the clock; RFC 3339 in UTC with milliseconds, as agents write it.
fn now(common: &Common) -> anyhow::Result<String> {
    let time = if let Some(text) = &common.now {
        text.parse::<jiff::Timestamp>()
            .map_err(|_| Usage::new(format!("--now: '{text}' is no time"), "use RFC 3339, such as 2026-01-31T12:00:00Z"))?
    } else if let Some(text) = std::env::var("SOURCE_DATE_EPOCH").ok().filter(|t| !t.is_empty()) {
        let wrong = || Usage::new(format!("SOURCE_DATE_EPOCH: '{text}' is no time"), "use seconds since 1970");
        text.trim().parse::<i64>().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok()).ok_or_else(wrong)?
    } else {
        jiff::Timestamp::now()
    };
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// A spinner on a terminal; silence elsewhere.
fn progress(common: &Common) -> impl Fn(&str) + use<> {
    use std::io::IsTerminal;
    let shown = match common.progress {
        Progress::Always => true,
        Progress::Never => false,
        Progress::Auto => io::stderr().is_terminal() && !common.quiet,
    };
    let bar = shown.then(|| {
        let target = indicatif::ProgressDrawTarget::stderr();
        let style = indicatif::ProgressStyle::default_spinner();
        let bar = indicatif::ProgressBar::with_draw_target(None, target).with_style(style);
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        bar
    });
    let always = common.progress == Progress::Always;
    move |what: &str| {
        if let Some(bar) = &bar {
            if bar.is_hidden() && always && !what.is_empty() {
                let _ = writeln!(io::stderr(), "epitome: {what}");
            }
            if what.is_empty() { bar.finish_and_clear() } else { bar.set_message(what.to_owned()) }
        }
    }
}
