//! Everything that is wrong with a session: one list, each finding with a code, a severity, and where it is.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path as FsPath;

use super::entry::{Ix, Kind, Role, Sym};
use super::images;
use super::index::Session;
use super::json::Json;
use super::message::{Block, Message};
use super::scan::FaultKind;
use super::strings::Set;
use super::tree::Path;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Readers go on; something may be missing.
    Warning,
    /// An agent may fail on the file or lose history.
    Error,
}

impl Severity {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $doc:literal),* $(,)?) => {
        /// What is wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $doc] $variant,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// The name in JSON and on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// How bad it is, if nothing makes it worse.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* }
            }

            /// What it means, one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$variant => $doc,)* }
            }
        }
    };
}

codes! {
    TornLine "torn-line" Warning "The last line is no whole record and has no line end.",
    MalformedLine "malformed-line" Warning "A line is no record; readers skip it.",
    GluedLines "glued-lines" Warning "Several records stand on one line.",
    NulBytes "nul-bytes" Warning "A line holds NUL bytes.",
    InvalidUtf8 "invalid-utf8" Warning "A line holds bytes that are not UTF-8.",
    LoneSurrogate "lone-surrogate" Warning "Text holds half of a surrogate pair, which providers refuse.",
    MissingHeader "missing-header" Error "The session header is missing or broken.",
    UnknownVersion "unknown-version" Warning "The header gives a version that is not known.",
    DuplicateId "duplicate-id" Warning "Two entries have the same id; readers take the later one.",
    ParentCycle "parent-cycle" Error "A parent chain leads back into itself.",
    DanglingParent "dangling-parent" Error "An entry names a parent that is not in the file; what stood before it is lost from view.",
    OrphanResult "orphan-result" Error "A tool result has no call before it, which providers refuse.",
    UnansweredCall "unanswered-call" Warning "A tool call has no result.",
    MissingKeptId "missing-kept-id" Warning "A compaction names a first kept entry that is not before it; nothing is kept.",
    StrayLeaf "stray-leaf" Warning "The last entry of the file is on a path without messages.",
    MissingBlob "missing-blob" Warning "Image data stands in a blob that is not there.",
    BadImage "bad-image" Warning "Image data does not decode, is of another type, or is too large for providers.",
    HugeLine "huge-line" Warning "A line is longer than 10 MiB.",
    MissingArchive "missing-archive" Warning "An archive that the session refers to is not there.",
    BadArchive "bad-archive" Error "An archive is damaged or belongs to another session.",
    UnreferencedArchive "unreferenced-archive" Warning "The session does not refer to an archive beside it.",
    StrayTemp "stray-temp" Warning "A file beside the session was left over by an interrupted write.",
}

impl Code {
    /// The code of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub code: Code,
    /// How bad it is here.
    pub severity: Severity,
    /// Line number, from 1.
    pub line: Option<u32>,
    /// Bytes from the start of the file.
    pub offset: Option<u64>,
    /// The entry.
    pub id: Option<String>,
    /// What is wrong, in words.
    pub message: String,
}

/// The findings so far.
struct Findings<'s> {
    session: &'s Session,
    list: Vec<Problem>,
}

impl Findings<'_> {
    fn at(&mut self, code: Code, ix: Ix, message: String) {
        let entry = &self.session[ix];
        let id = entry.id.map(|id| self.session.name(id).to_owned());
        self.list.push(Problem { code, severity: code.severity(), line: Some(entry.line), offset: Some(entry.offset), id, message });
    }

    fn id(&self, ix: Ix) -> &str {
        self.session.id(ix)
    }

    fn sorted(self) -> Vec<Problem> {
        let mut list = self.list;
        list.sort_by_key(|p| (p.line.unwrap_or(0), p.offset.unwrap_or(0)));
        list
    }
}

/// Finds everything that is wrong with a session's bytes, tree and payloads. `blobs` is the folder of externalized data.
///
/// # Errors
/// When an entry cannot be read.
pub fn find(session: &Session, path: &Path, blobs: Option<&FsPath>) -> io::Result<Vec<Problem>> {
    let mut findings = structure(session, path)?;
    pictures(&mut findings, blobs)?;
    long_results(&mut findings)?;
    Ok(findings.sorted())
}

/// What is wrong with a session's bytes and tree: everything that can be an error, without a look at the payloads, which may
/// be gigabytes of images.
///
/// # Errors
/// When an entry cannot be read.
pub fn of_structure(session: &Session, path: &Path) -> io::Result<Vec<Problem>> {
    Ok(structure(session, path)?.sorted())
}

fn structure<'s>(session: &'s Session, path: &Path) -> io::Result<Findings<'s>> {
    let mut findings = Findings { session, list: lines(session) };
    name_entries(&mut findings);
    header(&mut findings);
    duplicates(&mut findings)?;
    tree(&mut findings, path);
    pairs(&mut findings);
    context_pairs(&mut findings, path)?;
    Ok(findings)
}

/// What stands beside a session file that a finished write would not have left: temporary and backup copies of it. They are
/// told, and never taken for the session.
#[must_use]
pub fn beside(session: &FsPath) -> Vec<Problem> {
    let (Some(folder), Some(name)) = (session.parent(), session.file_name().and_then(|n| n.to_str())) else { return Vec::new() };
    let is_left_over = |other: &str| {
        let of_it = other.strip_prefix('.').unwrap_or(other).strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '-', '~']));
        of_it && [".tmp", ".bak", "~"].iter().any(|end| other.ends_with(end)) && other != name
    };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|e| e.file_name().into_string().ok()).filter(|other| is_left_over(other)).collect();
    names.sort();
    let code = Code::StrayTemp;
    names
        .into_iter()
        .map(|name| Problem {
            code,
            severity: code.severity(),
            line: None,
            offset: None,
            id: None,
            message: format!("{name} was left over by an interrupted write"),
        })
        .collect()
}

/// The problem, if there is one, for which nothing may be appended to a session: a header that is missing, ids that stand
/// for different entries, a cycle above the leaf.
///
/// # Errors
/// When an entry cannot be read.
pub fn forbids_append(session: &Session, path: &Path) -> io::Result<Option<Problem>> {
    let mut findings = Findings { session, list: Vec::new() };
    header(&mut findings);
    duplicates(&mut findings)?;
    if path.cycle {
        tree(&mut findings, path);
    }
    let forbidden =
        |p: &Problem| p.severity == Severity::Error && matches!(p.code, Code::MissingHeader | Code::DuplicateId | Code::ParentCycle);
    Ok(findings.list.into_iter().find(forbidden))
}

/// What the pass over the bytes found; a run of broken lines is one finding.
fn lines(session: &Session) -> Vec<Problem> {
    let mut list: Vec<Problem> = Vec::new();
    let mut run: Option<(usize, u32)> = None;
    for fault in session.faults() {
        let (code, message) = match fault.kind {
            FaultKind::Torn => (Code::TornLine, "the last line is no whole record; readers skip it".to_owned()),
            FaultKind::Malformed => {
                if let Some((at, last)) = run
                    && fault.line == last + 1
                    && let Some(problem) = list.get_mut(at)
                {
                    let first = problem.line.unwrap_or(fault.line);
                    problem.message = format!("lines {first} to {} are no records; readers skip them", fault.line);
                    run = Some((at, fault.line));
                    continue;
                }
                run = Some((list.len(), fault.line));
                (Code::MalformedLine, "the line is no record; readers skip it".to_owned())
            }
            FaultKind::Glued => (Code::GluedLines, "more than one record stands on the line; oh-my-pi reads the first, pi none".to_owned()),
            FaultKind::Nul => (Code::NulBytes, "the line holds NUL bytes".to_owned()),
            FaultKind::InvalidUtf8 => (Code::InvalidUtf8, "the line holds bytes that are not UTF-8".to_owned()),
            FaultKind::LoneSurrogate(1) => (Code::LoneSurrogate, "the line holds half of a surrogate pair".to_owned()),
            FaultKind::LoneSurrogate(n) => (Code::LoneSurrogate, format!("the line holds {n} halves of surrogate pairs")),
            FaultKind::Huge => (Code::HugeLine, format!("the line is longer than {} bytes", super::scan::HUGE_LINE)),
        };
        list.push(Problem { code, severity: code.severity(), line: Some(fault.line), offset: Some(fault.offset), id: None, message });
    }
    list
}

/// Gives findings about a line's bytes the id of the entry that stands on it, when it is the only one.
fn name_entries(findings: &mut Findings<'_>) {
    let lines: HashSet<u32> = findings.list.iter().filter_map(|p| p.line).collect();
    if lines.is_empty() {
        return;
    }
    let mut entries: HashMap<u32, Option<Ix>> = HashMap::new();
    for (ix, entry) in findings.session.all().filter(|(_, e)| e.is_node() && lines.contains(&e.line)) {
        entries.entry(entry.line).and_modify(|only| *only = None).or_insert(Some(ix));
    }
    for problem in &mut findings.list {
        let entry = problem.line.and_then(|line| entries.get(&line).copied().flatten());
        problem.id = entry.map(|ix| findings.session.id(ix).to_owned());
    }
}

fn header(findings: &mut Findings<'_>) {
    let session = findings.session;
    if session.lines() == 0 || (session.all().len() == 0 && session.faults().is_empty()) {
        return;
    }
    match session.header_entry() {
        None => {
            let code = Code::MissingHeader;
            let message = "the file does not begin with a session header".to_owned();
            findings.list.push(Problem { code, severity: code.severity(), line: Some(1), offset: Some(0), id: None, message });
        }
        Some(ix) if !session.version_is_known() => {
            let message = match session.version() {
                Some(version) => format!("version {version} is not known; entries are read as in version 3"),
                None => "the version is no number; entries are read as in version 3".to_owned(),
            };
            findings.at(Code::UnknownVersion, ix, message);
        }
        Some(_) => {}
    }
}

fn duplicates(findings: &mut Findings<'_>) -> io::Result<()> {
    let session = findings.session;
    for (ix, entry) in session.all().filter(|(_, e)| e.is_node()) {
        let Some(latest) = entry.id.and_then(|id| session.find(id)).filter(|latest| *latest != ix) else { continue };
        let same = session.read(ix)?.bytes() == session.read(latest)?.bytes();
        let line = session[latest].line;
        let what = if same { "the same content" } else { "other content" };
        findings.at(
            Code::DuplicateId,
            ix,
            format!("id {} is used again on line {line} with {what}; readers take the later entry", findings.id(ix)),
        );
        if !same && let Some(problem) = findings.list.last_mut() {
            problem.severity = Severity::Error;
        }
    }
    Ok(())
}

fn tree(findings: &mut Findings<'_>, path: &Path) {
    let session = findings.session;
    for ix in session.cycles() {
        findings.at(Code::ParentCycle, ix, format!("the parents of {} lead back to it; the path is cut here", findings.id(ix)));
    }
    for (ix, entry) in session.nodes() {
        if session.is_dangling(ix) {
            let parent = match entry.parent {
                super::entry::Parent::Id(id) => session.name(id),
                super::entry::Parent::Root => "",
            };
            let what = if session.header_entry().is_some_and(|h| session[h].id.is_some_and(|id| session.name(id) == parent)) {
                "the session header, which is no entry"
            } else {
                "not in the file"
            };
            findings.at(Code::DanglingParent, ix, format!("the parent {parent} of {} is {what}; the path starts here", findings.id(ix)));
        }
    }
    // A summary is a message for the model, though nothing else is left of the path.
    let has_message = |ix: &Ix| session[*ix].is_message() || session[*ix].kind == Kind::Compaction;
    if let Some(leaf) = path.leaf().filter(|leaf| Some(*leaf) == session.leaf())
        && !path.entries.iter().any(has_message)
        && session.nodes().any(|(_, e)| e.is_message())
    {
        findings.at(Code::StrayLeaf, leaf, format!("the path of the last entry, {}, holds no message", findings.id(leaf)));
    }
}

/// Results and their calls, and what compactions keep, along every path of the tree.
fn pairs(findings: &mut Findings<'_>) {
    let session = findings.session;
    let mut answered = vec![false; session.count_of_calls()];
    session.walk(&mut |ix, above| {
        let entry = &session[ix];
        match (entry.role, entry.target) {
            (Role::ToolResult, Some(call)) => match above.caller(call) {
                Some(caller) => {
                    for (place, _) in session.placed_calls(caller).filter(|(_, made)| *made == call) {
                        if let Some(answered) = answered.get_mut(place) {
                            *answered = true;
                        }
                    }
                }
                None => findings.at(
                    Code::OrphanResult,
                    ix,
                    format!("result {} answers call {}, which no message before it makes", findings.id(ix), session.name(call)),
                ),
            },
            (Role::ToolResult, None) => {
                findings.at(Code::OrphanResult, ix, format!("result {} does not say which call it answers", findings.id(ix)))
            }
            _ => {}
        }
        if entry.kind == Kind::Compaction
            && let Some(kept) = entry.target
            && !session.find(kept).is_some_and(|kept| above.holds(kept))
        {
            findings.at(
                Code::MissingKeptId,
                ix,
                format!("compaction {} keeps from {}, which is not before it; nothing is kept", findings.id(ix), session.name(kept)),
            );
        }
    });
    for (ix, entry) in session.nodes() {
        if entry.stop.failed() {
            continue;
        }
        for (_, call) in session.placed_calls(ix).filter(|(place, _)| answered.get(*place) == Some(&false)) {
            findings.at(
                Code::UnansweredCall,
                ix,
                format!("call {} of {} has no result; readers leave it out", session.name(call), findings.id(ix)),
            );
        }
    }
}

/// A result that is in the model's context without its call, because a compaction cut between them.
fn context_pairs(findings: &mut Findings<'_>, path: &Path) -> io::Result<()> {
    let session = findings.session;
    let context = session.context(&path.entries)?;
    let Some(compaction) = context.compaction else { return Ok(()) };
    let told: Set<Ix> = findings
        .list
        .iter()
        .filter(|p| p.code == Code::OrphanResult)
        .filter_map(|p| p.id.as_deref().and_then(|id| session.by_id(id)))
        .collect();
    let mut calls: Set<Sym> = Set::default();
    for item in &context.items {
        calls.extend(session.calls(item.entry));
        let entry = &session[item.entry];
        let Some(call) = entry.target.filter(|_| entry.role == Role::ToolResult) else { continue };
        if !calls.contains(&call) && !told.contains(&item.entry) {
            let message = format!(
                "result {} is in the context without its call {}: compaction {} cut between them",
                findings.id(item.entry),
                session.name(call),
                findings.id(compaction)
            );
            findings.at(Code::OrphanResult, item.entry, message);
        }
    }
    Ok(())
}

/// Characters of one text above which providers refuse a request.
const MOST_CHARACTERS: usize = 10_485_760;

/// Tells of huge lines that hold a result which no provider takes.
fn long_results(findings: &mut Findings<'_>) -> io::Result<()> {
    let session = findings.session;
    for problem in findings.list.iter_mut().filter(|p| p.code == Code::HugeLine) {
        let Some(ix) = problem.id.as_deref().and_then(|id| session.by_id(id)).filter(|ix| session[*ix].role == Role::ToolResult) else {
            continue;
        };
        let longest = session.with_message(ix, |message| {
            let texts = message.blocks.iter().filter_map(|block| match block {
                Block::Text(text) => Some(text.chars().count()),
                _ => None,
            });
            texts.max().unwrap_or(0)
        })?;
        if longest > MOST_CHARACTERS {
            problem.message = format!(
                "result {} has {longest} characters, and providers refuse more than {MOST_CHARACTERS}; prune --max-result cuts it",
                session.id(ix)
            );
        }
    }
    Ok(())
}

fn pictures(findings: &mut Findings<'_>, blobs: Option<&FsPath>) -> io::Result<()> {
    let session = findings.session;
    let count: u64 = session.nodes().map(|(_, e)| u64::from(e.images)).sum();
    for (ix, entry) in session.nodes() {
        if entry.images == 0 && entry.kind != Kind::Compaction {
            continue;
        }
        let payload = session.read(ix)?;
        let text = payload.text();
        let Ok(record) = Json::parse(&text) else { continue };
        let mut see = |data: &str, stated: &str| {
            if let Some(hash) = images::blob_hash(data) {
                if !blobs.is_some_and(|folder| folder.join(hash).is_file()) {
                    let place =
                        blobs.map_or_else(|| "no blob folder is known".to_owned(), |folder| format!("it is not in {}", folder.display()));
                    findings.at(Code::MissingBlob, ix, format!("blob {hash} cannot be read: {place}"));
                }
            } else if let Some(fault) = images::fault(data, stated, count >= images::MANY) {
                findings.at(Code::BadImage, ix, fault);
            }
        };
        if entry.kind == Kind::Compaction {
            for frame in record.get("preserveData").get("snapcompact").get("frames").items() {
                see(frame.get("data").str().unwrap_or_default(), frame.get("mimeType").str().unwrap_or_default());
            }
            continue;
        }
        let Some(message) = Message::of(entry.kind, &record) else { continue };
        for block in &message.blocks {
            if let Block::Image { mime, data } = block {
                see(data, mime);
            }
        }
    }
    Ok(())
}
