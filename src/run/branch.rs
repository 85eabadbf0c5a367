//! `branch-summary`: keeps what an abandoned branch learnt, where the work goes on.

use std::collections::HashSet;
use std::path::PathBuf;

use super::appending::{before_appending, holds_still, may_append};
use super::hooked::{self, Asking};
use super::open::{Input, Opened, find_entry};
use super::rewrite::{append, write_unchanged};
use super::words::{extra_of, note_of};
use super::{RunError, Services, Target, until_it_holds};
use crate::engine::branch::{self, BranchPlan};
use crate::engine::compaction::Stamp;
use crate::engine::tokens::{Counter, Effort, Tokenizer};
use crate::engine::trigger::Limits;
use crate::session::{Ix, Kind, Session, Sym};
use crate::summarize::{Purpose, Request, Summary};

/// What is to be done with one session.
#[derive(Debug, Clone)]
pub struct BranchJob {
    /// The session.
    pub input: Input,
    /// Where the result goes.
    pub target: Target,
    /// The leaf that was left; not looked at when all are meant.
    pub from: String,
    /// The entry at which the work goes on; when all branches are meant it may be empty, for the last entry of the file.
    pub to: String,
    /// Tokens of messages that the summary sees; `None` means the window less the reserve.
    pub token_budget: Option<u64>,
    /// What is set about the window.
    pub limits: Limits,
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// Most tokens of the summary.
    pub summary_tokens: u64,
    /// What the summary is to look at.
    pub focus: Option<String>,
    /// Where the file goes that a migration replaces; `None` means beside the session.
    pub archive_dir: Option<PathBuf>,
}

/// What came of a run.
#[derive(Debug)]
pub struct BranchDone {
    /// The plan.
    pub plan: BranchPlan,
    /// The leaf that was left.
    pub from: Ix,
    /// The session that was planned on.
    pub session: Session,
    /// The words and their tokens, when there are any.
    pub summary: Option<(Summary, u64)>,
    /// The new entry.
    pub entry_id: Option<String>,
    /// Bytes before and after.
    pub bytes: (u64, u64),
    /// The archive of the file that a migration replaced.
    pub revision: Option<u64>,
    /// Requests that were sent to a provider.
    pub requests: u64,
    /// A hook did not want it.
    pub cancelled: bool,
    /// There would be a summary, which only a provider could tell.
    pub unknown: bool,
    /// Nothing was written because nothing was to be.
    pub dry_run: bool,
    /// What should be known.
    pub warnings: Vec<String>,
}

/// Summarizes one branch.
///
/// # Errors
/// See [`RunError`]; the session is then what it was.
pub fn branch_summary(job: &BranchJob, services: &Services<'_>) -> Result<BranchDone, RunError> {
    until_it_holds(&job.input, &|| (), |opened| attempt(job, services, opened))
}

/// The summaries of all branches that were left.
#[derive(Debug)]
pub struct BranchesDone {
    /// One for each branch that was summarized, or would be, in the order of the file.
    pub branches: Vec<BranchDone>,
    /// The session that was planned on.
    pub session: Session,
    /// Bytes before and after.
    pub bytes: (u64, u64),
    /// The archive of the file that a migration replaced.
    pub revision: Option<u64>,
    /// Nothing was written because nothing was to be.
    pub dry_run: bool,
    /// What should be known.
    pub warnings: Vec<String>,
}

/// Summarizes every branch that was left and has no summary on the target's path yet, all in one write. Each stands behind
/// the one before it, so that the last is the leaf and a model sees all of them.
///
/// # Errors
/// See [`RunError`]; the session is then what it was.
pub fn branch_summaries(job: &BranchJob, services: &Services<'_>) -> Result<BranchesDone, RunError> {
    until_it_holds(&job.input, &|| (), |opened| attempt_all(job, services, &opened))
}

/// The leaves of branches that were left, in file order, without those that the path to `to` tells of.
fn abandoned(session: &Session, to: Ix) -> Vec<Ix> {
    let path = session.path(to);
    let on_path: HashSet<Ix> = path.entries.iter().copied().collect();
    let told = path.entries.iter().filter(|ix| session[**ix].kind == Kind::BranchSummary);
    let told: HashSet<Sym> = told.filter_map(|ix| session[*ix].target).collect();
    let leaves = session.shape(&path).leaves.into_iter().map(|leaf| leaf.entry);
    leaves.filter(|ix| !on_path.contains(ix) && session[*ix].id.is_none_or(|id| !told.contains(&id))).collect()
}

fn attempt_all(job: &BranchJob, services: &Services<'_>, opened: &Opened) -> Result<Option<BranchesDone>, RunError> {
    let session = &opened.session;
    let bytes = session.source().len();
    let dry_run = matches!(job.target, Target::Nowhere);
    let mut done = BranchesDone {
        branches: Vec::new(),
        session: session.clone(),
        bytes: (bytes, bytes),
        revision: None,
        dry_run,
        warnings: Vec::new(),
    };
    let target = match job.to.as_str() {
        "" => session.leaf(),
        wanted => Some(find_entry(session, wanted)?),
    };
    let Some(target) = target else {
        write_unchanged(&job.target, session)?;
        return Ok(Some(done));
    };
    let path = session.path(target);
    may_append(session, &path)?;
    let (mut grown, mut to) = (session.clone(), target);
    let (mut lines, mut ids) = (Vec::new(), Vec::new());
    for from in abandoned(session, target) {
        let (branch, made) = draft(job, services, &grown, (from, to))?;
        if let Some((id, line)) = made {
            grown = grown.with_appended(&line)?;
            to = grown.by_id(&id).ok_or_else(|| RunError::Unsound("a new entry cannot be found".to_owned()))?;
            lines.extend(line);
            ids.push(id);
        } else if !branch.unknown {
            // Nothing to tell of this one, or a hook did not want it.
            continue;
        }
        done.branches.push(branch);
    }
    if lines.is_empty() {
        write_unchanged(&job.target, session)?;
        return Ok(Some(done));
    }
    done.warnings.extend(before_appending(session, &path, true));
    let ids: Vec<&String> = ids.iter().collect();
    let mut holds = |new: &[u8]| holds_still(session, target, new, &ids);
    let Some(written) = append(opened, Some(&lines), &job.target, job.archive_dir.as_deref(), &services.now, &mut holds)? else {
        return Ok(None);
    };
    done.bytes.1 = written.bytes;
    done.revision = written.revision;
    done.warnings.extend(written.warnings);
    Ok(Some(done))
}

fn attempt(job: &BranchJob, services: &Services<'_>, opened: Opened) -> Result<Option<BranchDone>, RunError> {
    let session = &opened.session;
    let (from, to) = (find_entry(session, &job.from)?, find_entry(session, &job.to)?);
    let path = session.path(to);
    may_append(session, &path)?;
    let (mut done, made) = draft(job, services, session, (from, to))?;
    let Some((id, line)) = made else {
        if !done.unknown {
            write_unchanged(&job.target, session)?;
        }
        return Ok(Some(done));
    };
    done.warnings.extend(before_appending(session, &path, true));
    let mut holds = |new: &[u8]| holds_still(session, to, new, &[&id]);
    let Some(written) = append(&opened, Some(&line), &job.target, job.archive_dir.as_deref(), &services.now, &mut holds)? else {
        return Ok(None);
    };
    done.bytes.1 = written.bytes;
    done.revision = written.revision;
    done.warnings.extend(written.warnings);
    Ok(Some(done))
}

/// One branch's summary as a line that is not written yet, with its id; none when there is nothing to tell, when a hook does
/// not want it, or when only a provider could tell.
fn draft(job: &BranchJob, services: &Services<'_>, session: &Session, (from, to): (Ix, Ix)) -> Result<(BranchDone, Made), RunError> {
    let path = session.path(to);
    let dry_run = matches!(job.target, Target::Nowhere);
    let mut counter = Counter::new(session, job.tokenizer, Effort::Receipt);
    let budget = match job.token_budget {
        Some(budget) => budget,
        None => job.limits.window_of(session, &path.entries)?.tokens.saturating_sub(branch::RESERVE_TOKENS).max(1),
    };
    (services.progress)("planning");
    let mut plan = branch::plan(&mut counter, from, to, budget)?;
    plan.files.fit(job.summary_tokens, job.tokenizer);
    let bytes = session.source().len();
    let mut done = BranchDone {
        plan,
        from,
        session: session.clone(),
        summary: None,
        entry_id: None,
        bytes: (bytes, bytes),
        revision: None,
        requests: 0,
        cancelled: false,
        unknown: false,
        dry_run,
        warnings: Vec::new(),
    };
    let plan = &done.plan;
    if plan.ancestor.is_none() && !plan.entries.is_empty() {
        done.warnings.push("the two paths have no entry in common; the whole path that was left is summarized".to_owned());
    }
    let open_call = session.calls(from);
    if !open_call.is_empty() {
        done.warnings.push(format!("the branch ends in a tool call without a result ({})", session.id(from)));
    }
    // A branch of failed turns only has messages, and nothing to tell.
    if plan.messages.is_empty() || plan.selection.told.is_empty() {
        return Ok((done, None));
    }
    let name = job.input.name();
    let (reason, strategy, focus) = ("manual", "branch-summary", job.focus.as_deref());
    let asking = Asking { session, path: &name, reason, will_retry: false, strategy, focus, dry_run };
    let answer = asking.before_tree(plan, (from, to), services)?;
    if answer.cancel {
        done.cancelled = true;
        return Ok((done, None));
    }
    if dry_run && services.summarizer.sends() {
        done.unknown = true;
        return Ok((done, None));
    }
    (services.progress)("summarizing");
    let request = Request {
        session,
        selection: &plan.selection,
        purpose: Purpose::Branch,
        previous: None,
        kept: &[],
        turn: &[],
        // Who can be told how to write gets the instructions in place of our own prompt.
        focus: job.focus.as_deref().filter(|_| !services.summarizer.sends()),
        prompt: job.focus.as_deref(),
        context: &[],
        budget: job.summary_tokens.saturating_sub(job.tokenizer.count(&plan.files.tag())).max(job.summary_tokens / 2),
        spare: 0,
        tokenizer: job.tokenizer,
    };
    let (summary, extra) = match answer.summary {
        Some(given) => hooked::given_branch(given),
        None => {
            let before = services.summarizer.account();
            let summary = services.summarizer.summarize(&request)?;
            let account = services.summarizer.account().since(&before);
            done.requests = account.requests;
            done.warnings.extend(account.warnings(services.summarizer.name()));
            (summary, extra_of(account))
        }
    };
    let name = if extra.details.contains_key("fallback") { "offline" } else { services.summarizer.name() };
    let note = note_of(Some(name), &extra);
    let stamp = Stamp { now: &services.now, tokens_after: None, note };
    let (id, line) = branch::entry(session, plan, (from, to), &summary, &extra, stamp)?;
    let after = session.with_appended(&line)?;
    let at = after.by_id(&id).map(|entry| after.path(entry).entries.len());
    if at != Some(path.entries.len() + 1) {
        return Err(RunError::Unsound("the new entry does not stand at the target".to_owned()));
    }
    let tokens = job.tokenizer.count(&summary.text());
    done.summary = Some((summary, tokens));
    done.entry_id = Some(id.clone());
    Ok((done, Some((id, line))))
}

/// An entry's id and its line.
type Made = Option<(String, Vec<u8>)>;
