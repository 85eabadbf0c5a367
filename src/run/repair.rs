//! `prune --repair`: a damaged session becomes whole, mend by mend, and what it was is archived.

use std::io;
use std::path::Path as FsPath;

use super::inspect::blob_folder;
use super::open::{Opened, spooled};
use super::prune::{PruneDone, PruneJob};
use super::rewrite::{Past, archive_problems, references, rewrite, write_to, write_unchanged};
use super::{RunError, Target};
use crate::session::repair::{self, Known, Mend, Mending, Step, Wanted};
use crate::session::{Code, Session, problems};
use crate::store::archive::{self, Kind as ArchiveKind};
use crate::store::temp;

/// Steps after which a repair that still finds something to do is a fault of ours.
const MOST_STEPS: usize = 200;

/// Repairs one session. `None` when the file grew: start again.
///
/// # Errors
/// See [`RunError`]; the session is then what it was.
pub(super) fn repair(job: &PruneJob<'_>, opened: Opened, wanted: &Wanted) -> Result<Option<PruneDone>, RunError> {
    let before = &opened.session;
    let dry_run = matches!(job.target, Target::Nowhere);
    let path = opened.print.as_ref().map(|print| print.path.as_path());
    let archive_dir = job.archiving.folder();
    let blobs = job.blobs.clone().or_else(|| path.and_then(blob_folder));
    let mut mended = Mended { session: before.clone(), mends: Vec::new(), steps: Vec::new() };
    let lost = path.map(|path| lost_archives(before, path, archive_dir, wanted)).transpose()?.unwrap_or_default();
    if !lost.is_empty() {
        mended.take(&|session| repair::forget(session, &lost))?;
    }
    let name = path.and_then(FsPath::file_name).and_then(|name| name.to_str());
    let archived = references(before)?.into_iter().filter_map(|(_, reference)| reference.ok()?.session_id).next_back();
    let known = Known::new(before, name, &job.now)?.or_id(archived);
    while mended.take(&|session| repair::next(session, wanted, &known, blobs.as_deref()))? {
        if mended.steps.len() > MOST_STEPS {
            return Err(RunError::Unsound("the repair comes to no end".to_owned()));
        }
    }
    let Mended { session: after, mut mends, .. } = mended;
    let mut done = PruneDone::unchanged(before, &job.target);
    if mends.is_empty() {
        write_unchanged(&job.target, before)?;
    } else {
        let edit = after.migration()?;
        let past = Past::of(before)?.known_as(after.header()?.id);
        let repaired = Opened { session: after.clone(), print: opened.print.clone(), past: Some(past) };
        if dry_run {
            done.bytes.1 = write_to(&Target::Nowhere, &mut |out| after.write_edited(&edit, out))?;
        } else {
            let written = rewrite(&repaired, &edit, ArchiveKind::Repair, &job.archiving, &job.target, &job.now)?;
            let Some(written) = written else { return Ok(None) };
            done.wrote(written);
        }
    }
    if let Some(path) = path.filter(|_| wanted.has(Code::StrayTemp) && matches!(job.target, Target::InPlace | Target::Nowhere)) {
        let folder = archive::folder(path, after.header()?.id.as_deref(), archive_dir);
        mends.extend(strays(path, &folder, dry_run)?);
    }
    mends.sort_by_key(|mend| mend.line.unwrap_or(u32::MAX));
    done.changed = !mends.is_empty();
    done.reason = mends.is_empty().then_some("nothing_to_repair");
    done.warnings.extend(left(&after, wanted, blobs.as_deref())?);
    done.mended = Some(mends);
    Ok(Some(done))
}

/// A session in the course of its repair.
struct Mended {
    session: Session,
    mends: Vec<Mend>,
    steps: Vec<Step>,
}

impl Mended {
    /// Does one step; whether there was something to do.
    fn take(&mut self, plan: &dyn Fn(&Session) -> io::Result<Step>) -> Result<bool, RunError> {
        let mut step = plan(&self.session)?;
        if step.patches.is_empty() {
            return Ok(false);
        }
        if step.of_the_tree && self.session.is_old() {
            // Mends of the tree need ids and parents to be written out; lines stay where they are.
            let edit = self.session.migration()?;
            self.session = spooled(&mut |out| self.session.write_edited(&edit, out))?;
            step = plan(&self.session)?;
        }
        let session = &self.session;
        let next = spooled(&mut |out| session.write_patched(&step.patches, out))?;
        let before = |line| self.steps.iter().rev().fold(line, |line, step: &Step| step.line_before(line));
        let mends = std::mem::take(&mut step.mends).into_iter();
        // A header that is not there belongs on the first line, whatever stands there.
        let of_it = |mend: Mend| if mend.code == Code::MissingHeader { mend } else { Mend { line: mend.line.map(before), ..mend } };
        self.mends.extend(mends.map(of_it).collect::<Vec<_>>());
        self.session = next;
        self.steps.push(step);
        Ok(true)
    }
}

/// References to archives that are gone or bad, where they are to be forgotten.
fn lost_archives(session: &Session, path: &FsPath, archive_dir: Option<&FsPath>, wanted: &Wanted) -> io::Result<Vec<(Code, String)>> {
    if !wanted.has(Code::MissingArchive) && !wanted.has(Code::BadArchive) {
        return Ok(Vec::new());
    }
    let found = archive_problems(session, path, archive_dir)?.into_iter();
    Ok(found.filter(|problem| wanted.has(problem.code)).filter_map(|problem| Some((problem.code, problem.id?))).collect())
}

/// What killed runs of ours have left over; it is removed where this is no dry run.
fn strays(session: &FsPath, archives: &FsPath, dry_run: bool) -> io::Result<Vec<Mend>> {
    let found = temp::abandoned(session, archives)?;
    let mut mends = Vec::new();
    for stray in found {
        if !dry_run {
            stray.remove()?;
        }
        let name = stray.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        mends.push(Mend {
            code: Code::StrayTemp,
            line: None,
            id: None,
            what: format!("{name}, which no run is writing any more, is removed"),
        });
    }
    Ok(mends)
}

/// What stays, and why: a repair that mends only some of the damage says so.
fn left(session: &Session, wanted: &Wanted, blobs: Option<&FsPath>) -> io::Result<Vec<String>> {
    let mut codes: Vec<Code> = problems::find(session, &session.active_path(), blobs)?.into_iter().map(|problem| problem.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let say = |code: Code| match code.mending() {
        _ if wanted.has(code) => Some(format!("{} is still there", code.name())),
        Mending::Never(why) => Some(format!("{} stays: {why}", code.name())),
        Mending::WhenNamed if *wanted == Wanted::Usual => {
            Some(format!("{} stays: it is mended when it is named, with --repair={}", code.name(), code.name()))
        }
        _ => None,
    };
    Ok(codes.into_iter().filter_map(say).collect())
}
