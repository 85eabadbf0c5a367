//! Many sessions side by side: what was named becomes a list, the list is worked on by several threads, and what each says
//! is printed in order. One that fails does not stop the others.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::args::Common;
use super::{Status, Usage, output};
use crate::run::{Input, RunError};
use crate::session::SessionError;

/// A session to work on.
pub(super) struct Item {
    pub input: Input,
    /// Found in a folder: if it is no session it is passed over.
    pub found: bool,
}

/// What was named on the command line, as a list.
pub(super) struct Items {
    pub list: Vec<Item>,
    /// More than one session may be meant: folders, lists, several names.
    pub several: bool,
}

/// Makes the list.
pub(super) fn items(common: &Common) -> anyhow::Result<Items> {
    let stdin =
        common.sessions.iter().filter(|p| p.as_os_str() == "-").count() + usize::from(common.files_from.as_deref() == Some(Path::new("-")));
    if stdin > 1 {
        return Err(Usage::new("standard input can be read once only", "name - once, or in --files-from"));
    }
    let mut named: Vec<PathBuf> = common.sessions.clone();
    if let Some(list) = &common.files_from {
        named.extend(read_list(list, common.null)?);
    }
    if named.is_empty() && common.files_from.is_none() {
        return Err(Usage::new("no session was named", "name a session file, a folder, or - for standard input"));
    }
    let mut several = named.len() > 1 || common.files_from.is_some();
    let mut list = Vec::new();
    for path in named {
        if path.as_os_str() == "-" {
            list.push(Item { input: Input::Stdin, found: false });
        } else if path.is_dir() {
            several = true;
            let files = walkdir::WalkDir::new(&path).sort_by_file_name().into_iter().flatten();
            let files = files.filter(|e| e.file_type().is_file() && e.path().extension().is_some_and(|x| x == "jsonl"));
            list.extend(files.map(|e| Item { input: Input::File(e.into_path()), found: true }));
        } else {
            list.push(Item { input: Input::File(path), found: false });
        }
    }
    Ok(Items { list, several })
}

fn read_list(list: &Path, null: bool) -> anyhow::Result<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::new();
    let from = |error: io::Error| anyhow::Error::new(error).context(format!("{}: cannot read the list", list.display()));
    if list.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map_err(from)?;
    } else {
        std::fs::File::open(list).and_then(|mut f| f.read_to_end(&mut bytes)).map_err(from)?;
    }
    let end = if null { b'\0' } else { b'\n' };
    let lines = bytes.split(|b| *b == end).map(|line| if null { line } else { line.strip_suffix(b"\r").unwrap_or(line) });
    Ok(lines.filter(|line| !line.is_empty()).map(|line| PathBuf::from(std::ffi::OsString::from_vec(line.to_vec()))).collect())
}

/// What one session gave.
pub(super) struct Said {
    pub out: String,
    pub err: String,
    pub status: Status,
}

/// Works on all of them and prints what they say, in order. Returns the status of each.
pub(super) fn run(
    common: &Common,
    items: &Items,
    receipts_to_stderr: bool,
    work: impl Fn(&Item) -> Result<Said, RunError> + Sync,
) -> anyhow::Result<Status> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = common.jobs.map_or(cores, usize::from).min(items.list.len()).max(1);
    let next = AtomicUsize::new(0);
    let printer =
        Mutex::new(Printer { waiting: std::collections::BTreeMap::new(), next: 0, statuses: Vec::new(), passed_over: 0, failure: None });
    let one = |at: usize, item: &Item| {
        let said = match work(item) {
            Err(RunError::Session(SessionError::NotASession)) if item.found => None,
            Err(error) => Some(failed(common, item, &error)),
            Ok(said) => Some(said),
        };
        if let Ok(mut printer) = printer.lock() {
            printer.waiting.insert(at, said);
            printer.flush(common, receipts_to_stderr);
        }
    };
    let worker = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.list.get(at) else { break };
            if printer.lock().map_or(true, |p| p.failure.is_some()) {
                break;
            }
            one(at, item);
        }
    };
    std::thread::scope(|scope| {
        let _helpers: Vec<_> = (1..jobs).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, worker).ok()).collect();
        worker();
    });
    let printer = printer.into_inner().map_err(|_| anyhow::anyhow!("a thread failed"))?;
    if let Some(failure) = printer.failure {
        return Err(failure.into());
    }
    if printer.passed_over > 0 && !common.quiet {
        let files = output::counted(printer.passed_over, "file");
        writeln!(io::stderr(), "epitome: {files} passed over: no session")?;
    }
    Ok(Status::of_all(&printer.statuses))
}

/// Prints in input order what comes in any order.
struct Printer {
    waiting: std::collections::BTreeMap<usize, Option<Said>>,
    next: usize,
    statuses: Vec<Status>,
    passed_over: u64,
    failure: Option<io::Error>,
}

impl Printer {
    fn flush(&mut self, common: &Common, to_stderr: bool) {
        while let Some(said) = self.waiting.remove(&self.next) {
            self.next += 1;
            let Some(said) = said else {
                self.passed_over += 1;
                continue;
            };
            self.statuses.push(said.status);
            let mut err = output::stderr(common);
            let _ = err.write_all(said.err.as_bytes());
            let written =
                if to_stderr { err.write_all(said.out.as_bytes()) } else { output::stdout(common).write_all(said.out.as_bytes()) };
            if let Err(error) = written {
                self.failure.get_or_insert(error);
                return;
            }
        }
    }
}

fn failed(common: &Common, item: &Item, error: &RunError) -> Said {
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
    Said { out, err, status }
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
