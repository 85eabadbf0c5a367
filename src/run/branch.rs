//! `branch-summary`: keeps what an abandoned branch learnt, where the work goes on.

use std::path::PathBuf;

use super::hooked::{self, Asking};
use super::open::{Input, Opened, find_entry, open};
use super::rewrite::{append, write_unchanged};
use super::{RunError, Services, Target};
use crate::engine::branch::{self, BranchPlan};
use crate::engine::compaction::{Extra, Stamp};
use crate::engine::tokens::{Counter, Effort, Tokenizer};
use crate::engine::trigger::{self, Limits};
use crate::session::Session;
use crate::summarize::{Purpose, Request, Summary, Usage};

/// What is to be done with one session.
#[derive(Debug, Clone)]
pub struct BranchJob {
    /// The session.
    pub input: Input,
    /// Where the result goes.
    pub target: Target,
    /// The leaf that was left.
    pub from: String,
    /// The entry at which the work goes on.
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
    for _ in 0..super::MOST_PLANS {
        let opened = open(&job.input)?;
        let print = opened.print.clone();
        if let Some(done) = attempt(job, services, opened).map_err(|error| super::cause(error, print.as_ref()))? {
            return Ok(done);
        }
    }
    Err(RunError::Restless)
}

fn attempt(job: &BranchJob, services: &Services<'_>, opened: Opened) -> Result<Option<BranchDone>, RunError> {
    let session = &opened.session;
    let (from, to) = (find_entry(session, &job.from)?, find_entry(session, &job.to)?);
    let path = session.path(to);
    let dry_run = matches!(job.target, Target::Nowhere);
    super::compact::may_append(session, &path)?;
    let mut counter = Counter::new(session, job.tokenizer, Effort::Receipt);
    let budget = match job.token_budget {
        Some(budget) => budget,
        None => {
            let model = trigger::current_model(session, &path.entries)?;
            job.limits.window(model.as_deref()).tokens.saturating_sub(branch::RESERVE_TOKENS).max(1)
        }
    };
    (services.progress)("planning");
    let plan = branch::plan(&mut counter, from, to, budget)?;
    let bytes = session.source().len();
    let mut done = BranchDone {
        plan,
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
    if plan.messages.is_empty() {
        write_unchanged(&job.target, session)?;
        return Ok(Some(done));
    }
    let mut given = None;
    if !dry_run {
        let name = job.input.name();
        let asking =
            Asking { session, path: &name, reason: "manual", will_retry: false, strategy: "branch-summary", focus: job.focus.as_deref() };
        let answer = asking.before_tree(plan, (from, to), services)?;
        if answer.cancel {
            done.cancelled = true;
            write_unchanged(&job.target, session)?;
            return Ok(Some(done));
        }
        given = answer.summary;
    }
    if dry_run && services.summarizer.sends() {
        done.unknown = true;
        return Ok(Some(done));
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
        tokenizer: job.tokenizer,
    };
    let (summary, extra) = match given {
        Some(given) => hooked::given_branch(given),
        None => {
            let summary = services.summarizer.summarize(&request)?;
            let account = services.summarizer.account();
            done.requests = account.requests;
            if let Some((to, why)) = &account.fell_back {
                done.warnings.push(format!("the summarizer {} failed, so {to} made the words: {why}", services.summarizer.name()));
            }
            (summary, Extra { details: account.details(), usage: account.usage.map(Usage::to_json), ..Extra::default() })
        }
    };
    let name = services.summarizer.name();
    let note = (!extra.from_extension && name != "offline").then_some(name);
    let stamp = Stamp { now: &services.now, tokens_after: None, note };
    let (id, line) = branch::entry(session, plan, (from, to), &summary, &extra, stamp)?;
    let after = session.with_appended(&line)?;
    let at = after.by_id(&id).map(|entry| after.path(entry).entries.len());
    if at != Some(path.entries.len() + 1) {
        return Err(RunError::Unsound("the new entry does not stand at the target".to_owned()));
    }
    let tokens = job.tokenizer.count(&summary.text());
    done.summary = Some((summary, tokens));
    let mut holds = |new: &[u8]| super::compact::holds_still(session, to, new, &id);
    let Some(written) = append(&opened, Some(&line), &job.target, job.archive_dir.as_deref(), &services.now, &mut holds)? else {
        return Ok(None);
    };
    done.bytes.1 = written.bytes;
    done.revision = written.revision;
    done.warnings.extend(written.warnings);
    done.entry_id = Some(id);
    Ok(Some(done))
}
