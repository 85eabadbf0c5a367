//! `prune`: tool results that a model no longer needs give way to notices.

use super::compact::may_append;
use super::hooked::history_replaced;
use super::open::{Input, Opened, open};
use super::rewrite::{Archiving, restore, rewrite};
use super::{RunError, Target};
use crate::engine::prune::{self, PrunePlan, PruneSettings};
use crate::engine::tokens::{Counter, Effort, Tokenizer};
use crate::hooks::Hooks;
use crate::session::Session;
use crate::session::edit::Edit;
use crate::store::archive::Kind as ArchiveKind;

/// What is to be done with one session.
pub struct PruneJob<'a> {
    /// The session.
    pub input: Input,
    /// Where the result goes.
    pub target: Target,
    /// The end of the path; the file's own when none is named.
    pub leaf: Option<String>,
    /// When to prune what.
    pub settings: PruneSettings,
    /// Which paths stay.
    pub is_protected: &'a (dyn Fn(&str) -> bool + Sync),
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// Whether and where the old file is archived.
    pub archiving: Archiving,
    /// Put this revision back instead.
    pub restore: Option<u64>,
    /// The time of the run, RFC 3339 and Unix ms.
    pub now: (String, u64),
    /// Told when the session was changed.
    pub hooks: &'a Hooks,
    /// Takes lines for standard error: what hooks say there.
    pub note: &'a dyn Fn(&str),
}

/// What came of a run.
#[derive(Debug)]
pub struct PruneDone {
    /// The plan; none for a restore.
    pub plan: Option<PrunePlan>,
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
    /// Nothing was written because nothing was to be.
    pub dry_run: bool,
    /// What should be known.
    pub warnings: Vec<String>,
}

/// Runs one pruning, or one restore.
///
/// # Errors
/// See [`RunError`]; the session is then what it was.
pub fn prune(job: &PruneJob<'_>) -> Result<PruneDone, RunError> {
    for _ in 0..super::MOST_PLANS {
        let opened = open(&job.input)?;
        let print = opened.print.clone();
        let done = match job.restore {
            Some(revision) => put_back(job, opened, revision),
            None => attempt(job, opened),
        };
        if let Some(mut done) = done.map_err(|error| super::cause(error, print.as_ref()))? {
            if done.changed && !done.dry_run {
                let action = if done.restored.is_some() { "restored" } else { "pruned" };
                let wrong = history_replaced(job.hooks, job.note, &job.input.name(), action, done.revision);
                done.warnings.extend(wrong);
            }
            return Ok(done);
        }
    }
    Err(RunError::Restless)
}

fn put_back(job: &PruneJob<'_>, opened: Opened, revision: u64) -> Result<Option<PruneDone>, RunError> {
    let bytes = opened.session.source().len();
    let Some(rewritten) = restore(&opened, revision, &job.archiving, &job.target, &job.now.0)? else { return Ok(None) };
    Ok(Some(PruneDone {
        plan: None,
        session: opened.session,
        changed: true,
        bytes: (bytes, rewritten.bytes),
        revision: rewritten.revision,
        restored: Some(revision),
        dry_run: matches!(job.target, Target::Nowhere),
        warnings: rewritten.warnings,
    }))
}

fn attempt(job: &PruneJob<'_>, opened: Opened) -> Result<Option<PruneDone>, RunError> {
    let path = opened.path(job.leaf.as_deref())?;
    let session = &opened.session;
    let dry_run = matches!(job.target, Target::Nowhere);
    if !dry_run && !path.entries.is_empty() {
        may_append(session, &path)?;
    }
    let mut counter = Counter::new(session, job.tokenizer, Effort::Exact);
    let mut plan = prune::plan(&mut counter, &path.entries, &job.settings, job.is_protected)?;
    let mut warnings = Vec::new();
    let mut edit = if plan.worth_it { edit(session, &plan, job.now.1, &mut warnings)? } else { Edit::default() };
    if edit.replaced.len() < plan.results.len() && plan.worth_it {
        // What cannot be edited is not pruned, and what is left may save too little.
        plan.retain(&job.settings, |ix| edit.replaced.contains_key(&ix));
        if !plan.worth_it {
            edit = Edit::default();
        }
    }
    let changed = !edit.replaced.is_empty();
    let bytes = session.source().len();
    let mut done = PruneDone {
        plan: Some(plan),
        session: session.clone(),
        changed,
        bytes: (bytes, bytes),
        revision: None,
        restored: None,
        dry_run,
        warnings,
    };
    if dry_run {
        let grown: u64 = edit.replaced.values().map(|line| line.len() as u64).sum();
        let gone: u64 = edit.replaced.keys().map(|ix| u64::from(session[*ix].len)).sum();
        done.bytes.1 = (bytes + grown).saturating_sub(gone);
        return Ok(Some(done));
    }
    if !changed && matches!(job.target, Target::InPlace) {
        return Ok(Some(done));
    }
    let Some(rewritten) = rewrite(&opened, &edit, ArchiveKind::Prune, &job.archiving, &job.target, &job.now.0)? else { return Ok(None) };
    done.bytes.1 = rewritten.bytes;
    done.revision = rewritten.revision;
    done.warnings.extend(rewritten.warnings);
    Ok(Some(done))
}

/// The lines of a plan.
fn edit(session: &Session, plan: &PrunePlan, now_ms: u64, warnings: &mut Vec<String>) -> Result<Edit, RunError> {
    let mut edit = session.migration()?;
    for pruned in &plan.results {
        let payload = session.read(pruned.entry)?;
        let record = edit.replaced.get(&pruned.entry).map(String::as_str).or_else(|| std::str::from_utf8(payload.bytes()).ok());
        match record.and_then(|record| prune::splice(record, &pruned.reason.notice(pruned.tokens), now_ms)) {
            Some(record) => {
                edit.replaced.insert(pruned.entry, record);
            }
            None => warnings.push(format!("result {} stays: its line cannot be edited", session.id(pruned.entry))),
        }
    }
    Ok(edit)
}
