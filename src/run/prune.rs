//! `prune`: tool results that a model no longer needs give way to notices.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path as FsPath, PathBuf};

use super::appending::{may_append, of_damaged_lines, of_the_path};
use super::extract::extract;
use super::hooked::history_replaced;
use super::inspect::blob_folder;
use super::open::{Input, Opened};
use super::rewrite::{Archiving, Rewritten, planned_len, restore, rewrite};
use super::{RunError, Target, until_it_holds};
use crate::engine::prune::{self, PrunePlan, PruneSettings};
use crate::engine::size::{self, Freed, Images, Order, SizePlan, SizeSettings};
use crate::engine::tokens::{Counter, Effort, Tokenizer};
use crate::engine::trigger::Limits;
use crate::hooks::Hooks;
use crate::session::edit::Edit;
use crate::session::repair::{Mend, Wanted};
use crate::session::{Ix, Path, Session, unix_ms};
use crate::store::archive::Kind as ArchiveKind;

/// The leaf that means all of them.
pub const ALL_LEAVES: &str = "all";

/// What is to be done with one session.
pub struct PruneJob<'a> {
    /// The session.
    pub input: Input,
    /// Where the result goes.
    pub target: Target,
    /// The end of the path; the file's own when none is named, and [`ALL_LEAVES`] for every one.
    pub leaf: Option<String>,
    /// When to prune what.
    pub settings: PruneSettings,
    /// Whether results are pruned; a run for the file's size may leave that out.
    pub results: bool,
    /// Whether edits behind the path tell what results give way to, and no line changes.
    pub appends: bool,
    /// The measures for the file's size.
    pub size: SizeSettings,
    /// What is set about the window, which percentages mean.
    pub limits: Limits,
    /// Folder of externalized image data; `None` means one beside the agent's data.
    pub blobs: Option<PathBuf>,
    /// Which paths stay.
    pub is_protected: &'a (dyn Fn(&str) -> bool + Sync),
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// Whether and where the old file is archived.
    pub archiving: Archiving,
    /// Put this revision back instead.
    pub restore: Option<u64>,
    /// Mend this damage instead.
    pub repair: Option<Wanted>,
    /// The time of the run, RFC 3339.
    pub now: String,
    /// Told when the session was changed.
    pub hooks: &'a Hooks,
    /// Takes lines for standard error: what hooks say there.
    pub note: &'a dyn Fn(&str),
}

/// What came of a run.
#[derive(Debug)]
pub struct PruneDone {
    /// The plan; none for a restore or a repair.
    pub plan: Option<PrunePlan>,
    /// What each measure frees.
    pub freed: Vec<Freed>,
    /// Why nothing was written: `nothing_to_prune`, `nothing_to_repair`, or `no_gain` when neither the file nor the context would get smaller.
    pub reason: Option<&'static str>,
    /// The session that was planned on.
    pub session: Session,
    /// Whether something was written, or would be.
    pub changed: bool,
    /// Bytes before and after.
    pub bytes: (u64, u64),
    /// The archive of the old file.
    pub revision: Option<u64>,
    /// The revision that was put back.
    pub restored: Option<u64>,
    /// The edits that were appended, when that was asked for, in path order.
    pub edits: Option<Vec<String>>,
    /// What was mended, when that was asked for.
    pub mended: Option<Vec<Mend>>,
    /// Nothing was written because nothing was to be.
    pub dry_run: bool,
    /// What should be known.
    pub warnings: Vec<String>,
}

impl PruneDone {
    /// A run that leaves a session as it is.
    pub(super) fn unchanged(session: &Session, target: &Target) -> PruneDone {
        let bytes = session.source().len();
        PruneDone {
            plan: None,
            freed: Vec::new(),
            reason: None,
            session: session.clone(),
            changed: false,
            bytes: (bytes, bytes),
            revision: None,
            restored: None,
            edits: None,
            mended: None,
            dry_run: matches!(target, Target::Nowhere),
            warnings: Vec::new(),
        }
    }

    /// Takes down what was written.
    pub(super) fn wrote(&mut self, written: Rewritten) {
        self.bytes.1 = written.bytes;
        self.revision = written.revision;
        self.warnings.extend(written.warnings);
    }
}

/// Runs one pruning, one restore, or one repair.
///
/// # Errors
/// See [`RunError`]; the session is then what it was.
pub fn prune(job: &PruneJob<'_>) -> Result<PruneDone, RunError> {
    let mut done = until_it_holds(&job.input, &|| (), |opened| match (job.restore, &job.repair) {
        (Some(revision), _) => put_back(job, opened, revision),
        (None, Some(wanted)) => super::repair::repair(job, opened, wanted),
        (None, None) if job.appends => super::edits::attempt(job, opened),
        (None, None) => attempt(job, opened),
    })?;
    if done.changed && !done.dry_run {
        let action = match (&done.restored, &done.mended) {
            (Some(_), _) => "restored",
            (None, Some(_)) => "repaired",
            (None, None) => "pruned",
        };
        let wrong = history_replaced(job.hooks, job.note, &job.input.name(), action, done.revision);
        done.warnings.extend(wrong);
    }
    Ok(done)
}

fn put_back(job: &PruneJob<'_>, opened: Opened, revision: u64) -> Result<Option<PruneDone>, RunError> {
    let Some(rewritten) = restore(&opened, revision, &job.archiving, &job.target, &job.now)? else { return Ok(None) };
    let mut done = PruneDone { changed: true, restored: Some(revision), ..PruneDone::unchanged(&opened.session, &job.target) };
    done.wrote(rewritten);
    Ok(Some(done))
}

fn attempt(job: &PruneJob<'_>, opened: Opened) -> Result<Option<PruneDone>, RunError> {
    let session = &opened.session;
    let paths = paths(job, &opened)?;
    let path = paths.first().map(|path| path.entries.as_slice()).unwrap_or_default();
    let dry_run = matches!(job.target, Target::Nowhere);
    for path in paths.iter().filter(|path| !path.entries.is_empty()) {
        may_append(session, path)?;
    }
    if job.size.dead_branches {
        may_drop_branches(session, &paths)?;
    }
    let mut counter = Counter::new(session, job.tokenizer, Effort::Exact);
    let window = job.limits.window_of(session, path)?.tokens;
    let settings = PruneSettings { window, ..job.settings.clone() };
    let mut plan = if job.results { plan_all(&mut counter, &paths, &settings, job.is_protected)? } else { PrunePlan::default() };
    if !plan.worth_it && !job.size.measures().is_empty() {
        // What is done is only what the measures do.
        plan = PrunePlan::default();
    }
    let kept = prune::protected(session, path, &settings, job.is_protected)?;
    let blobs = job.blobs.clone().or_else(|| opened.print.as_ref().and_then(|print| blob_folder(&print.path)));
    let entries: Vec<Vec<Ix>> = paths.iter().map(|path| path.entries.clone()).collect();
    let none = PrunePlan::default();
    let size = |counter: &mut Counter<'_>, plan: &PrunePlan| -> Result<SizePlan, RunError> {
        let order = Order {
            settings: &job.size,
            paths: &entries,
            prune: if plan.worth_it { plan } else { &none },
            protect_tokens: settings.protect_tokens.of(window),
            stays: &|ix| kept.contains(&ix),
            has_blob: &|hash| blobs.as_ref().is_some_and(|folder| folder.join(hash).is_file()),
            now_ms: pruned_at(&job.now),
        };
        Ok(size::plan(counter, session.migration()?, &order)?)
    };
    let mut planned = size(&mut counter, &plan)?;
    if plan.worth_it && planned.pruned.len() < plan.results.len() {
        // What cannot be edited is not pruned, and what is left may save too little.
        let warnings = std::mem::take(&mut planned.warnings);
        plan.retain(&settings, |ix| planned.pruned.contains(&ix));
        planned = size(&mut counter, &plan)?;
        planned.warnings = warnings;
    }
    let edit = session.with_copies(std::mem::take(&mut planned.edit))?;
    let bytes = session.source().len();
    let after = || planned_len(&opened, &edit, ArchiveKind::Prune, &job.archiving, &job.target, &job.now);
    let reason = judge(&planned, bytes, &after)?;
    let changed = reason.is_none();
    let mut done = PruneDone { plan: Some(plan), freed: planned.freed, reason, changed, ..PruneDone::unchanged(session, &job.target) };
    if changed {
        done.warnings.extend(paths.iter().flat_map(|path| of_the_path(session, path)));
        done.warnings.extend(of_damaged_lines(session));
    }
    done.warnings.extend(planned.warnings);
    if dry_run {
        done.bytes.1 = if changed { after()? } else { bytes };
        return Ok(Some(done));
    }
    if !changed && matches!(job.target, Target::InPlace) {
        return Ok(Some(done));
    }
    if let (Some(Images::Extract(folder)), true) = (&job.size.images, changed) {
        extract(session, &planned.extracted, FsPath::new(folder), blobs.as_deref())?;
    }
    let edit = if changed { edit } else { Edit::default() };
    let Some(rewritten) = rewrite(&opened, &edit, ArchiveKind::Prune, &job.archiving, &job.target, &job.now)? else { return Ok(None) };
    done.wrote(rewritten);
    Ok(Some(done))
}

/// The time of a pruning as results have it, Unix ms; times before 1970 are its beginning.
#[must_use]
pub fn pruned_at(now: &str) -> u64 {
    unix_ms(now).and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0)
}

/// Results of a path that give way to notices before something else is done.
pub(super) struct PrunedPath {
    pub(super) edit: Edit,
    pub(super) results: usize,
    pub(super) warnings: Vec<String>,
}

/// Prunes a path; `None` when that is not worth it.
pub(super) fn prune_path(
    counter: &mut Counter<'_>,
    path: &Path,
    settings: &PruneSettings,
    limits: &Limits,
    now: &str,
) -> Result<Option<PrunedPath>, RunError> {
    let session = counter.session();
    let window = limits.window_of(session, &path.entries)?.tokens;
    let settings = PruneSettings { window, ..settings.clone() };
    let mut plan = prune::plan(counter, &path.entries, &settings, &|_| false)?;
    let entries = [path.entries.clone()];
    let measures = SizeSettings::default();
    let now_ms = pruned_at(now);
    let mut warnings = Vec::new();
    while plan.worth_it {
        let order = Order {
            settings: &measures,
            paths: &entries,
            prune: &plan,
            protect_tokens: settings.protect_tokens.of(window),
            stays: &|_| false,
            has_blob: &|_| false,
            now_ms,
        };
        let planned = size::plan(counter, session.migration()?, &order)?;
        warnings.extend(planned.warnings);
        if planned.pruned.len() == plan.results.len() {
            let edit = session.with_copies(planned.edit)?;
            return Ok(Some(PrunedPath { edit, results: plan.results.len(), warnings }));
        }
        // What cannot be edited is not pruned, and what is left may save too little.
        plan.retain(&settings, |ix| planned.pruned.contains(&ix));
    }
    Ok(None)
}

/// Why nothing is to be written, when nothing is: nothing would change, or neither the file nor the context would get
/// smaller. Ordinary pruning has judged for itself.
fn judge(planned: &SizePlan, bytes: u64, after: &dyn Fn() -> Result<u64, RunError>) -> Result<Option<&'static str>, RunError> {
    if !planned.pruned.is_empty() {
        return Ok(None);
    }
    if planned.freed.iter().all(|freed| freed.changes.is_empty()) {
        return Ok(Some("nothing_to_prune"));
    }
    let tokens: i64 = planned.freed.iter().map(|freed| freed.tokens).sum();
    Ok((tokens <= 0 && after()? >= bytes).then_some("no_gain"))
}

/// The paths that are worked on: the one to the leaf that was asked for, or to every leaf, the file's own first.
fn paths(job: &PruneJob<'_>, opened: &Opened) -> Result<Vec<Path>, RunError> {
    if job.leaf.as_deref() != Some(ALL_LEAVES) {
        return Ok(vec![opened.path(job.leaf.as_deref())?]);
    }
    let session = &opened.session;
    let active = session.active_path();
    let others = session.shape(&active).leaves.into_iter().map(|leaf| leaf.entry).filter(|leaf| Some(*leaf) != active.leaf());
    let others: Vec<Path> = others.map(|leaf| session.path(leaf)).collect();
    Ok(std::iter::once(active).chain(others).collect())
}

/// What is pruned on all of the paths: a result that several of them share goes only when every one of them can do without.
fn plan_all(
    counter: &mut Counter<'_>,
    paths: &[Path],
    settings: &PruneSettings,
    is_protected: &dyn Fn(&str) -> bool,
) -> Result<PrunePlan, RunError> {
    let [only] = paths else {
        let mut shares: HashMap<Ix, usize> = HashMap::new();
        let mut found: BTreeMap<Ix, (usize, prune::Pruned)> = BTreeMap::new();
        let mut worth_it = false;
        for path in paths {
            for ix in &path.entries {
                *shares.entry(*ix).or_default() += 1;
            }
            let plan = prune::plan(counter, &path.entries, settings, is_protected)?;
            worth_it |= plan.worth_it;
            for pruned in plan.results.into_iter().filter(|_| plan.worth_it) {
                found.entry(pruned.entry).or_insert((0, pruned)).0 += 1;
            }
        }
        let all = found.into_iter().filter(|(ix, (times, _))| shares.get(ix) == Some(times));
        let results: Vec<prune::Pruned> = all.map(|(_, (_, pruned))| pruned).collect();
        let saved = results.iter().map(|r| r.saved).sum();
        worth_it &= !results.is_empty();
        return Ok(PrunePlan { results, saved, worth_it });
    };
    Ok(prune::plan(counter, &only.entries, settings, is_protected)?)
}

/// Where the path to a leaf is broken, what stands before the gap may belong to it.
fn may_drop_branches(session: &Session, paths: &[Path]) -> Result<(), RunError> {
    let active = session.active_path();
    let Some(broken) = paths.iter().chain([&active]).find(|path| path.dangling || path.cycle) else { return Ok(()) };
    let first = broken.entries.first();
    Err(RunError::Damaged {
        code: if broken.cycle { "parent-cycle" } else { "dangling-parent" },
        line: first.map(|ix| session[*ix].line),
        message: "the path begins at an entry whose parent is lost, so that nobody knows which branches are dead".to_owned(),
        hint: format!("mend the file first: prune --repair{}", if broken.cycle { "" } else { "=dangling-parent" }),
    })
}
