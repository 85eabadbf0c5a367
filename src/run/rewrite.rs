//! Rewriting a session: its archive, the reference to that, and the check of the new file, for every command that changes
//! lines in place.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path as FsPath, PathBuf};

use serde_json::json;

use super::open::{Opened, spooled};
use super::{RunError, Target};
use crate::session::edit::{Edit, bytes_with_parent, parent_of};
use crate::session::{Code, Ix, Kind, Problem, Session, Severity, Source, problems};
use crate::store::archive::{self, Plan, Reference};
use crate::store::replace::{Replaced, Rewrite, replace};
use crate::store::{self, Appended};
use crate::threads;

/// Whether and where the old file is archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Archiving {
    /// Beside the session, or in a folder for many.
    To(Option<PathBuf>),
    /// Not at all; the person said so twice. Earlier archives stand where they would otherwise go.
    Never(Option<PathBuf>),
}

impl Archiving {
    /// The folder of archives, when it is not beside the session.
    #[must_use]
    pub fn folder(&self) -> Option<&FsPath> {
        match self {
            Archiving::To(folder) | Archiving::Never(folder) => folder.as_deref(),
        }
    }
}

/// What a rewrite did.
#[derive(Debug, Clone, Default)]
pub struct Rewritten {
    /// Bytes of the new file.
    pub bytes: u64,
    /// The archive of the old one.
    pub revision: Option<u64>,
    /// Something worth telling.
    pub warnings: Vec<String>,
}

/// The references of a session, oldest first; what is no reference of ours is passed over, with what is wrong with it.
///
/// # Errors
/// When an entry cannot be read.
pub fn references(session: &Session) -> io::Result<Vec<(Ix, Result<Reference, String>)>> {
    let mut found = Vec::new();
    for (ix, _) in session.nodes().filter(|(_, e)| e.kind == Kind::Archive) {
        let payload = session.read(ix)?;
        let record: serde_json::Value = serde_json::from_str(&payload.text()).unwrap_or_default();
        found.push((ix, Reference::from_json(record.get("data").unwrap_or(&serde_json::Value::Null))));
    }
    Ok(found)
}

/// The id by which the archives of a session are found: its own, or the one it had when it was archived last.
fn archived_as(session: &Session, known: &[Reference]) -> io::Result<Option<String>> {
    Ok(session.header()?.id.or_else(|| known.iter().max_by_key(|r| r.revision)?.session_id.clone()))
}

/// What a session says of its archives: what the next one goes on from.
#[derive(Debug, Clone)]
pub struct Past {
    known: Vec<Reference>,
    /// The id by which its archives are found.
    session_id: Option<String>,
    entries: u64,
}

impl Past {
    pub(super) fn of(session: &Session) -> io::Result<Past> {
        let known: Vec<Reference> = references(session)?.into_iter().filter_map(|(_, reference)| reference.ok()).collect();
        let session_id = archived_as(session, &known)?;
        Ok(Past { known, session_id, entries: session.nodes().count() as u64 })
    }

    /// The same of the file that was opened, whatever was made of it on the way.
    fn of_opened(opened: &Opened) -> io::Result<Past> {
        opened.past.clone().map_or_else(|| Past::of(&opened.session), Ok)
    }

    /// The same for a session that has this id now.
    pub(super) fn known_as(self, session_id: Option<String>) -> Past {
        Past { session_id, ..self }
    }

    /// The archive of the session as it is; a replacement history begins a new generation.
    pub(super) fn plan<'a>(&'a self, kind: archive::Kind, archiving: &'a Archiving) -> Option<Plan<'a>> {
        let Archiving::To(folder) = archiving else { return None };
        Some(Plan {
            kind,
            generation: self.known.iter().map(|r| r.generation).max().unwrap_or(0) + u64::from(kind == archive::Kind::Compact),
            entries: self.entries,
            newest: self.known.iter().map(|r| r.revision).max().unwrap_or(0),
            session_id: self.session_id.as_deref(),
            archive_dir: folder.as_deref(),
        })
    }
}

/// Writes the edited session where it is asked for. `None` when the file grew: plan again.
///
/// # Errors
/// See [`RunError`]; the session is then what it was.
pub fn rewrite(
    opened: &Opened,
    edit: &Edit,
    kind: archive::Kind,
    archiving: &Archiving,
    target: &Target,
    now: &str,
) -> Result<Option<Rewritten>, RunError> {
    let session = &opened.session;
    if !matches!(target, Target::InPlace) {
        return Ok(Some(copy(session, edit, target)?));
    }
    let Some(print) = &opened.print else { return Ok(Some(Rewritten::default())) };
    let past = Past::of_opened(opened)?;
    let plan = past.plan(kind, archiving);
    let splices = edit.spliced.values().flatten().map(|splice| &splice.text);
    let lines = edit.replaced.values().map(Vec::len).chain(edit.inserted.values().chain(splices).map(String::len));
    let grown: u64 = lines.chain(edit.appended.as_ref().map(Vec::len)).map(|len| len as u64 + 2).sum();
    let order = Rewrite { print, archive: plan, room: session.source().len() + grown + REFERENCE_ROOM, wait: store::WAIT };
    let mut write = |out: &mut dyn Write, reference: Option<&Reference>| {
        let edit = match reference {
            None => edit.clone(),
            Some(reference) => referring(session, edit, reference, now)?,
        };
        session.write_edited(&session.with_copies(edit)?, out)
    };
    let mut check = |temp: &FsPath| verify(session, edit, plan.is_some(), temp);
    match replace(&order, &mut write, &mut check)? {
        Replaced::Stale => Ok(None),
        Replaced::Done { bytes, archive, late } => Ok(Some(Rewritten::done(bytes, archive.as_ref(), late))),
    }
}

/// Bytes that the session will have with the edit done, its reference to an archive included where there will be one.
///
/// # Errors
/// When the session or the folder of archives cannot be read.
pub(super) fn planned_len(
    opened: &Opened,
    edit: &Edit,
    kind: archive::Kind,
    archiving: &Archiving,
    target: &Target,
    now: &str,
) -> Result<u64, RunError> {
    let session = &opened.session;
    let past = Past::of_opened(opened)?;
    match preview(opened, &past, kind, archiving, target)? {
        Some(reference) => Ok(session.edited_len(&session.with_copies(referring(session, edit, &reference, now)?)?)?),
        None => Ok(session.edited_len(edit)?),
    }
}

/// The reference that a rewrite would write, but for the digest.
fn preview(
    opened: &Opened,
    past: &Past,
    kind: archive::Kind,
    archiving: &Archiving,
    target: &Target,
) -> Result<Option<Reference>, RunError> {
    let (Some(print), Target::InPlace | Target::Nowhere) = (&opened.print, target) else { return Ok(None) };
    let Some(plan) = past.plan(kind, archiving) else { return Ok(None) };
    Ok(Some(Reference { sha256: "0".repeat(64), ..plan.reference(&print.path, print.size)? }))
}

impl Rewritten {
    /// A session of so many bytes, its archive, and what others wrote at the last moment.
    pub(super) fn done(bytes: u64, archive: Option<&Reference>, late: u64) -> Rewritten {
        let mut warnings = Vec::new();
        if late > 0 {
            warnings.push(format!("{late} bytes that another program appended at the last moment stand behind the new session"));
        }
        Rewritten { bytes: bytes + late, revision: archive.map(|reference| reference.revision), warnings }
    }
}

/// Bytes that a reference takes, generously.
pub(super) const REFERENCE_ROOM: u64 = 4_096;

/// The same edit with the reference put before the last entry of the file, so that the leaf stays the leaf.
fn referring(session: &Session, edit: &Edit, reference: &Reference, now: &str) -> io::Result<Edit> {
    let mut edit = edit.clone();
    let data = reference.to_json();
    let line = |id: &str, parent: Option<&str>| {
        json!({"type": "custom", "id": id, "parentId": parent, "timestamp": now, "customType": archive::CUSTOM_TYPE, "data": data})
            .to_string()
    };
    let Some(leaf) = session.nodes().rev().map(|(ix, _)| ix).find(|ix| !edit.removed.contains(ix)) else {
        // There is no leaf that could move.
        let mut record = line(&session.new_id(None, data.to_string().as_bytes()), None).into_bytes();
        record.push(b'\n');
        edit.appended = Some([edit.appended.take().unwrap_or_default(), record].concat());
        return Ok(edit);
    };
    let record = session.record(&edit, leaf)?;
    let parent = parent_of(&record);
    let id = session.new_id(parent.as_deref(), data.to_string().as_bytes());
    let record = bytes_with_parent(&record, Some(&id)).ok_or_else(|| io::Error::other("the last entry could not be edited"))?;
    edit.replace(leaf, record);
    edit.inserted.insert(leaf, line(&id, parent.as_deref()));
    Ok(edit)
}

/// Reads the new file back: the same entries but for those that were removed, the same leaf, and nothing worse than before.
fn verify(before: &Session, edit: &Edit, referred: bool, temp: &FsPath) -> Result<(), String> {
    let read = |error: &dyn std::fmt::Display| format!("it cannot be read back: {error}");
    let file = File::open(temp).map_err(|e| read(&e))?;
    let len = file.metadata().map_err(|e| read(&e))?.len();
    let (old_errors, after) = threads::beside(|| errors(before), || Session::open(Source::file(file, len))).map_err(|e| read(&e))?;
    let after = after.map_err(|e| read(&e))?;
    let (old, new) = (before.nodes().count(), after.nodes().count());
    let removed = edit.removed.iter().filter(|ix| before[**ix].id.and_then(|id| before.find(id)) == Some(**ix)).count();
    let appended = edit.appended.as_deref().map_or(0, |lines| memchr::memchr_iter(b'\n', lines).count());
    let added = usize::from(referred) + appended;
    if new + removed != old + added {
        return Err(format!("it has {new} entries where {old} were planned"));
    }
    let leaf = before.leaf().map(|ix| before.id(ix));
    if leaf.is_some() && leaf != after.leaf().map(|ix| after.id(ix)) && removed == 0 && edit.appended.is_none() {
        return Err("its last entry is another one".to_owned());
    }
    no_worse(&old_errors?, &after)
}

/// How often a session has each kind of error.
pub(super) type Errors = BTreeMap<&'static str, usize>;

/// The errors of a session, without those of its archives.
pub(super) fn errors(session: &Session) -> Result<Errors, String> {
    let mut count = BTreeMap::new();
    let found = problems::of_structure(session, &session.active_path()).map_err(|e| format!("it cannot be read back: {e}"))?;
    for problem in found.into_iter().filter(|p| p.severity == Severity::Error) {
        *count.entry(problem.code.name()).or_insert(0) += 1;
    }
    Ok(count)
}

/// Whether a new session has no errors that the old one has not.
pub(super) fn no_worse(old: &Errors, after: &Session) -> Result<(), String> {
    let new = errors(after)?;
    match new.iter().find(|(code, count)| old.get(*code).unwrap_or(&0) < *count) {
        Some((code, _)) => Err(format!("it would have a problem that it has not now: {code}")),
        None => Ok(()),
    }
}

/// A copy carries no references: its archives are not there.
fn copy(session: &Session, edit: &Edit, target: &Target) -> Result<Rewritten, RunError> {
    let edit = session.with_copies(session.without_archives(edit.clone())?)?;
    let bytes = write_to(target, &mut |out| session.write_edited(&edit, out))?;
    Ok(Rewritten { bytes, ..Rewritten::default() })
}

/// What is wrong with the archives of a session at `path`.
///
/// # Errors
/// When an entry or the folder cannot be read.
pub fn archive_problems(session: &Session, path: &FsPath, archive_dir: Option<&FsPath>) -> io::Result<Vec<Problem>> {
    let mut found = Vec::new();
    let mut put = |code: Code, ix: Option<Ix>, message: String| {
        let entry = ix.map(|ix| &session[ix]);
        let id = ix.map(|ix| session.id(ix).to_owned());
        found.push(Problem { code, severity: code.severity(), line: entry.map(|e| e.line), offset: entry.map(|e| e.offset), id, message });
    };
    let (mut entries, mut known) = (Vec::new(), Vec::new());
    for (ix, reference) in references(session)? {
        match reference {
            Ok(reference) => {
                entries.push(ix);
                known.push(reference);
            }
            Err(what) => put(Code::BadArchive, Some(ix), format!("the reference to an archive {what}")),
        }
    }
    let checked = archive::check(path, &known, archived_as(session, &known)?.as_deref(), archive_dir)?;
    for (ix, result) in entries.iter().zip(&checked.references) {
        match result {
            Ok(()) => {}
            Err(error @ archive::ArchiveError::Missing { .. }) => put(Code::MissingArchive, Some(*ix), error.to_string()),
            Err(error) => put(Code::BadArchive, Some(*ix), error.to_string()),
        }
    }
    for present in &checked.unreferenced {
        put(Code::UnreferencedArchive, None, format!("the session does not refer to archive {}", present.file));
    }
    for stray in &checked.strays {
        put(Code::StrayTemp, None, format!("{stray} in the folder of archives was left over by an interrupted write"));
    }
    Ok(found)
}

/// One archived revision, for a list.
#[derive(Debug, Clone)]
pub struct Revision {
    /// What the session says of it.
    pub reference: Reference,
    /// `ok`, `missing` or `bad`.
    pub state: &'static str,
}

/// The revisions of a session, newest first, and the size of all archives in bytes.
///
/// # Errors
/// When an entry or the folder cannot be read.
pub fn revisions(session: &Session, path: Option<&FsPath>, archive_dir: Option<&FsPath>) -> io::Result<(Vec<Revision>, u64)> {
    let known: Vec<Reference> = references(session)?.into_iter().filter_map(|(_, r)| r.ok()).collect();
    let (states, bytes) = match path {
        Some(path) => {
            let checked = archive::check(path, &known, archived_as(session, &known)?.as_deref(), archive_dir)?;
            let state = |result: &Result<(), archive::ArchiveError>| match result {
                Ok(()) => "ok",
                Err(archive::ArchiveError::Missing { .. }) => "missing",
                Err(_) => "bad",
            };
            (checked.references.iter().map(state).collect(), checked.bytes)
        }
        None => (vec!["missing"; known.len()], 0),
    };
    let mut list: Vec<Revision> = known.into_iter().zip(states).map(|(reference, state)| Revision { reference, state }).collect();
    list.sort_by_key(|r| std::cmp::Reverse(r.reference.revision));
    Ok((list, bytes))
}

/// Appends lines to a session, or writes a copy with them. A session of an old version, or one that was changed on the way, is
/// written anew, the old file archived first. `None` when the file grew so that `holds` no longer does: plan again.
///
/// # Errors
/// See [`RunError`]; the session is then what it was.
pub fn append(
    opened: &Opened,
    line: Option<&[u8]>,
    target: &Target,
    archive_dir: Option<&FsPath>,
    now: &str,
    holds: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Option<Rewritten>, RunError> {
    let session = &opened.session;
    let plain = !session.is_old() && opened.past.is_none();
    let kind = if opened.past.is_some() { archive::Kind::Prune } else { archive::Kind::Migrate };
    match (target, &opened.print, line) {
        (Target::InPlace, Some(print), Some(line)) if plain => match store::append(print, line, store::WAIT, holds)? {
            Appended::Stale => Ok(None),
            Appended::Written { offset, .. } => Ok(Some(Rewritten { bytes: offset + line.len() as u64, ..Rewritten::default() })),
        },
        (Target::Nowhere, _, Some(line)) if plain => {
            let newline = u64::from(!session.ends_in_newline()?);
            Ok(Some(Rewritten { bytes: session.source().len() + newline + line.len() as u64, ..Rewritten::default() }))
        }
        (Target::InPlace | Target::Nowhere, _, None) => Ok(Some(Rewritten { bytes: session.source().len(), ..Rewritten::default() })),
        _ => {
            // A copy of a session that nothing is added to stays what it is.
            let edit = if line.is_some() { session.migration()? } else { Edit::default() };
            let edit = Edit { appended: line.map(<[u8]>::to_vec), ..edit };
            let archiving = Archiving::To(archive_dir.map(FsPath::to_owned));
            rewrite(opened, &edit, kind, &archiving, target, now)
        }
    }
}

/// Writes a session that is not changed where a copy was asked for; in place and nowhere need none.
///
/// # Errors
/// When the session cannot be read, or the target cannot be written.
pub fn write_unchanged(target: &Target, session: &Session) -> Result<(), RunError> {
    if !matches!(target, Target::InPlace | Target::Nowhere) {
        copy(session, &Edit::default(), target)?;
    }
    Ok(())
}

/// Writes a whole session to a target that is a copy; returns its bytes.
///
/// # Errors
/// When the target cannot be written.
pub fn write_to(target: &Target, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, RunError> {
    match target {
        Target::InPlace | Target::Nowhere => {
            let mut counting = Counting(0);
            write(&mut counting)?;
            Ok(counting.0)
        }
        Target::File { path, overwrite } => Ok(store::create(path, *overwrite, write)?),
        Target::Stdout => {
            let mut out = Tee { out: io::stdout().lock(), bytes: 0 };
            match write(&mut out).and_then(|()| out.out.flush()) {
                // Whoever wanted the copy has gone; that is no error of the session's, and the receipt is that of a whole copy.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => write_to(&Target::Nowhere, write),
                other => other.map(|()| out.bytes).map_err(RunError::Output),
            }
        }
    }
}

struct Counting(u64);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Tee {
    out: io::StdoutLock<'static>,
    bytes: u64,
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Puts an archived revision back as the session, itself archived first. `None` when the file grew: start again.
///
/// # Errors
/// When there is no such revision, its archive is missing or bad, or the session cannot be rewritten.
pub fn restore(opened: &Opened, revision: u64, archiving: &Archiving, target: &Target, now: &str) -> Result<Option<Rewritten>, RunError> {
    let session = &opened.session;
    let Some(print) = &opened.print else {
        return Err(RunError::Refused { message: "a session from standard input has no archives".to_owned(), hint: None });
    };
    let archive = open_revision(opened, revision, archiving)?;
    let mut old = io::BufReader::new(archive.content()?);
    let mut spool = tempfile::tempfile()?;
    let len = io::copy(&mut old, &mut spool)?;
    let restored = Session::open(Source::file(spool, len))?;
    if !matches!(target, Target::InPlace | Target::Nowhere) {
        let bare = restored.without_archives(Edit::default())?;
        let bytes = write_to(target, &mut |out| restored.write_edited(&bare, out))?;
        return Ok(Some(Rewritten { bytes, ..Rewritten::default() }));
    }
    // A reference to an archive needs ids and parents beside it.
    let migration = restored.migration()?;
    let restored = if restored.is_old() { spooled(&mut |out| restored.write_edited(&migration, out))? } else { restored };
    let past = Past::of(session)?;
    let plan = past.plan(archive::Kind::Prune, archiving);
    let order = Rewrite { print, archive: plan, room: len + REFERENCE_ROOM * (1 + past.known.len() as u64), wait: store::WAIT };
    // Later references are carried over, so that every archive stays reachable.
    let mut write = |out: &mut dyn Write, reference: Option<&Reference>| {
        let mut latest = restored.clone();
        let have: Vec<u64> = references(&restored)?.into_iter().filter_map(|(_, r)| r.ok()).map(|r| r.revision).collect();
        let missing = past.known.iter().filter(|r| !have.contains(&r.revision));
        for reference in missing.chain(reference) {
            // A reference takes its place on the session with the one before it.
            let edit = referring(&latest, &Edit::default(), reference, now)?;
            let mut next = tempfile::tempfile()?;
            latest.write_edited(&edit, &mut next)?;
            let len = next.metadata()?.len();
            latest = Session::open(Source::file(next, len)).map_err(io::Error::other)?;
        }
        latest.write_edited(&Edit::default(), out)
    };
    if matches!(target, Target::Nowhere) {
        let mut counting = Counting(0);
        write(&mut counting, preview(opened, &past, archive::Kind::Prune, archiving, target)?.as_ref())?;
        return Ok(Some(Rewritten { bytes: counting.0, ..Rewritten::default() }));
    }
    let mut check = |temp: &FsPath| {
        let file = File::open(temp).map_err(|e| e.to_string())?;
        let len = file.metadata().map_err(|e| e.to_string())?.len();
        let after = Session::open(Source::file(file, len)).map_err(|e| e.to_string())?;
        let ids = |s: &Session| s.nodes().filter(|(_, e)| e.kind != Kind::Archive).map(|(ix, _)| s.id(ix).to_owned()).collect::<Vec<_>>();
        if ids(&after) == ids(&restored) { Ok(()) } else { Err("it has other entries than the revision".to_owned()) }
    };
    match replace(&order, &mut write, &mut check)? {
        Replaced::Stale => Ok(None),
        Replaced::Done { bytes, archive, late } => {
            Ok(Some(Rewritten { bytes: bytes + late, revision: archive.map(|r| r.revision), warnings: Vec::new() }))
        }
    }
}

/// Opens the archive of a revision that the session refers to, verified.
///
/// # Errors
/// When there is no such revision, or its archive is missing or bad.
pub fn open_revision(opened: &Opened, revision: u64, archiving: &Archiving) -> Result<archive::Archive, RunError> {
    let session = &opened.session;
    let known: Vec<Reference> = references(session)?.into_iter().filter_map(|(_, r)| r.ok()).collect();
    let Some(wanted) = known.iter().find(|r| r.revision == revision) else {
        let have: Vec<String> = known.iter().map(|r| r.revision.to_string()).collect();
        let hint = if have.is_empty() {
            "the session has no archived revisions".to_owned()
        } else {
            format!("there are the revisions {}", have.join(", "))
        };
        return Err(RunError::Refused { message: format!("there is no revision {revision}"), hint: Some(hint) });
    };
    let path = opened.print.as_ref().map(|p| p.path.clone()).unwrap_or_default();
    let dir = archiving.folder();
    let session_id = archived_as(session, &known)?;
    let folder = archive::folder(&path, session_id.as_deref(), dir);
    Ok(archive::open(&folder, wanted, session_id.as_deref())?)
}
