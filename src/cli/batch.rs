//! Many sessions side by side: the list is worked on by several threads, and what each says is printed in order. One that
//! fails does not stop the others.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, PoisonError};

use super::args::Common;
pub(super) use super::sources::{Item, Items, items};
use super::{Status, Writer, output};
use crate::run::{Input, RunError};
use crate::session::SessionError;
use crate::threads;

/// What one session gave.
pub(super) struct Said {
    pub out: String,
    pub err: String,
    pub status: Status,
}

impl Said {
    /// The same, with what it adds to the totals.
    pub(super) fn tallied(self, tally: Tally) -> Output {
        Output { tally: Some(tally), ..self.into() }
    }
}

/// What was done to one session, for the totals.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// The receipt's action.
    pub action: &'static str,
    /// The session was changed, or would be.
    pub changed: bool,
    /// Tokens that its context lost.
    pub tokens: u64,
    /// Bytes that the file lost.
    pub bytes: u64,
}

/// What is printed of one session.
pub(super) struct Output {
    pub out: Vec<u8>,
    /// For programs: to be printed byte for byte. Colour comes off text that is not for a terminal, and with it bytes that a
    /// path may have.
    pub raw: bool,
    pub err: String,
    pub status: Status,
    pub tally: Option<Tally>,
}

impl From<Said> for Output {
    fn from(said: Said) -> Output {
        Output { out: said.out.into_bytes(), raw: false, err: said.err, status: said.status, tally: None }
    }
}

/// Works on all sessions and prints what they say, in order. Returns the status of all.
pub(super) fn run<O: Into<Output>>(
    common: &Common,
    items: &Items,
    work: impl Fn(&Item) -> Result<O, RunError> + Sync,
) -> anyhow::Result<Status> {
    Ok(all(common, items, &How { to_stderr: false, limit: None, totals: false }, work)?.0)
}

/// The same for an export, whose receipt gives way to one on standard output.
pub(super) fn export<O: Into<Output>>(
    common: &Common,
    items: &Items,
    to_stderr: bool,
    work: impl Fn(&Item) -> Result<O, RunError> + Sync,
) -> anyhow::Result<Status> {
    Ok(all(common, items, &How { to_stderr, limit: None, totals: false }, work)?.0)
}

/// The same for a command that writes: receipts give way to a session on standard output, and totals come last.
pub(super) fn write<O: Into<Output>>(
    common: &Common,
    items: &Items,
    writer: &Writer<'_>,
    work: impl Fn(&Item) -> Result<O, RunError> + Sync,
) -> anyhow::Result<Status> {
    let how = How { to_stderr: writer.to_stdout(items), limit: writer.limit(), totals: items.several };
    let (status, totals) = all(common, items, &how, work)?;
    if how.totals && !common.quiet && totals.sessions > 0 {
        writeln!(io::stderr(), "epitome: {}", totals.text(items.list.len() as u64))?;
    }
    Ok(status)
}

struct How {
    to_stderr: bool,
    limit: Option<u64>,
    totals: bool,
}

fn all<O: Into<Output>>(
    common: &Common,
    items: &Items,
    how: &How,
    work: impl Fn(&Item) -> Result<O, RunError> + Sync,
) -> anyhow::Result<(Status, Totals)> {
    let cores = threads::cores();
    let jobs = common.jobs.map_or(cores, usize::from).min(items.list.len()).max(1);
    let gate = Gate { limit: how.limit, ..Gate::default() };
    let printer = Mutex::new(Printer::default());
    let worker = || {
        while let Some(turn) = gate.enter() {
            let Some(item) = items.list.get(turn.at) else { break };
            if printer.lock().map_or(true, |p| p.failure.is_some()) {
                break;
            }
            let output = match work(item) {
                Err(RunError::Session(SessionError::NotASession | SessionError::Redacted)) if item.found => None,
                Err(error) => Some(failed(common, item, &error)),
                Ok(said) => Some(said.into()),
            };
            turn.leave(output.as_ref().and_then(|output| output.tally).is_some_and(|tally| tally.changed));
            if let Ok(mut printer) = printer.lock() {
                printer.waiting.insert(turn.at, output);
                printer.flush(common, how.to_stderr);
            }
        }
    };
    threads::crew(jobs, worker)?;
    let printer = printer.into_inner().map_err(|_| anyhow::anyhow!("a thread failed"))?;
    if let Some(failure) = printer.failure {
        return Err(failure.into());
    }
    if printer.totals.passed_over > 0 && !common.quiet {
        let files = output::counted(printer.totals.passed_over, "file");
        writeln!(io::stderr(), "epitome: {files} passed over: no session")?;
    }
    Ok((Status::of_all(&printer.statuses), printer.totals))
}

/// Lets sessions be worked on in their order, and no more of them than may be changed.
///
/// A session is begun only when it may be changed even if all that are being worked on turn out to be: so it is always the
/// first ones in the list that are changed, whatever the number of threads.
#[derive(Default)]
struct Gate {
    limit: Option<u64>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    next: usize,
    /// Being worked on.
    inside: u64,
    changed: u64,
}

/// One session's turn; it ends when this goes.
struct Turn<'a> {
    gate: &'a Gate,
    at: usize,
    changed: std::cell::Cell<bool>,
}

impl Gate {
    /// The next session's turn; `None` when as many were changed as may be.
    fn enter(&self) -> Option<Turn<'_>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limit) = self.limit {
            while state.changed < limit && state.changed + state.inside >= limit {
                state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.changed >= limit {
                return None;
            }
        }
        let at = state.next;
        state.next += 1;
        state.inside += 1;
        Some(Turn { gate: self, at, changed: std::cell::Cell::new(false) })
    }
}

impl Turn<'_> {
    /// Tells whether the session was changed.
    fn leave(&self, changed: bool) {
        self.changed.set(changed);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.inside -= 1;
        state.changed += u64::from(self.changed.get());
        drop(state);
        self.gate.freed.notify_all();
    }
}

/// What came of all sessions.
#[derive(Debug, Default)]
struct Totals {
    sessions: u64,
    passed_over: u64,
    actions: BTreeMap<&'static str, u64>,
    tokens: u64,
    bytes: u64,
}

/// Actions in the order in which the totals name them.
const ACTIONS: &[&str] =
    &["compacted", "promoted", "pruned", "repaired", "restored", "summarized", "exported", "nothing", "refused", "failed"];

impl Totals {
    /// The line that comes last; `listed` sessions and other files were to be looked at.
    fn text(&self, listed: u64) -> String {
        let actions: Vec<String> = ACTIONS
            .iter()
            .filter_map(|action| self.actions.get(action).map(|count| format!("{action} {}", output::number(*count))))
            .collect();
        let mut text = format!("{}: {}", output::counted(self.sessions, "session"), actions.join(", "));
        let tokens = (self.tokens > 0).then(|| format!("{} tokens", output::number(self.tokens)));
        let bytes = (self.bytes > 0).then(|| output::bytes(self.bytes));
        let saved: Vec<String> = tokens.into_iter().chain(bytes).collect();
        if !saved.is_empty() {
            text.push_str(&format!("; {} saved", saved.join(" and ")));
        }
        let left = listed.saturating_sub(self.sessions + self.passed_over);
        if left > 0 {
            text.push_str(&format!("; {} not looked at, the limit was reached", output::number(left)));
        }
        text
    }
}

/// Prints in input order what comes in any order.
#[derive(Default)]
struct Printer {
    waiting: BTreeMap<usize, Option<Output>>,
    next: usize,
    statuses: Vec<Status>,
    totals: Totals,
    failure: Option<io::Error>,
}

impl Printer {
    fn flush(&mut self, common: &Common, to_stderr: bool) {
        while let Some(said) = self.waiting.remove(&self.next) {
            self.next += 1;
            let Some(said) = said else {
                self.totals.passed_over += 1;
                continue;
            };
            self.statuses.push(said.status);
            self.totals.sessions += 1;
            if let Some(tally) = said.tally {
                *self.totals.actions.entry(tally.action).or_insert(0) += 1;
                self.totals.tokens += tally.tokens;
                self.totals.bytes += tally.bytes;
            }
            let mut err = output::stderr(common);
            let _ = err.write_all(said.err.as_bytes());
            let written = match (to_stderr, said.raw) {
                (true, _) => err.write_all(&said.out),
                (false, true) => io::stdout().write_all(&said.out),
                (false, false) => output::stdout(common).write_all(&said.out),
            };
            if let Err(error) = written {
                self.failure.get_or_insert(error);
                return;
            }
        }
    }
}

fn failed(common: &Common, item: &Item, error: &RunError) -> Output {
    let status = if error.is_conflict() { Status::Conflict } else { Status::Failed };
    let name = item.input.name();
    let said = chain(error);
    let message = match error.line() {
        Some(line) => format!("{name}:{line}: {said}"),
        // The store names the file that it is about, which may be another one.
        None if matches!(error, RunError::Store(_)) => said.clone(),
        None => format!("{name}: {said}"),
    };
    let hint = error.hint();
    let err = format!("{}\n", output::error_text(&message, hint.as_deref()));
    let out = if common.json { super::json::error(&name, error, &said) } else { String::new() };
    Said { out, err, status }.tallied(Tally { action: "failed", ..Tally::default() })
}

/// An error with its causes.
fn chain(error: &RunError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// A path as a list names it, with the end that lists have.
pub(super) fn listed(common: &Common, input: &Input) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut bytes = input.path().map_or_else(|| b"-".to_vec(), |path| path.as_os_str().as_bytes().to_vec());
    bytes.push(if common.null { b'\0' } else { b'\n' });
    bytes
}
