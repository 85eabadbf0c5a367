//! `compact`: a compaction at the end of a path.

use std::io;
use std::path::PathBuf;

use super::appending::{before_appending, holds_still, may_append};
use super::framing::{framing, print};
use super::handoff::{NewSession, Tried};
use super::hooked::{self, Asking, Verdict};
use super::open::{Input, Opened, spooled};
use super::prune::prune_path;
use super::receipt::{Action, Receipt};
use super::replace::Replacement;
use super::rewrite::{Archiving, Past, append, rewrite, write_unchanged};
use super::snapcompact::{self, FramesJob};
use super::words::{Words, count_after, extra_of, note_of, test_delay, words};
use super::{RunError, Services, Target, until_it_holds};
use crate::engine::compaction::{self, Extra, Plan, Stamp};
use crate::engine::cut::{Amounts, CutSettings};
use crate::engine::prune::PruneSettings;
use crate::engine::replace::ReplaceSettings;
use crate::engine::tokens::{Counter, Effort, Tokenizer, of_message};
use crate::engine::trigger::{self, Limits, Promoted, Reason};
use crate::hooks::Compacting;
use crate::session::edit::Edit;
use crate::session::{Ix, Session};
use crate::store::archive::Kind as ArchiveKind;
use crate::summarize::Summary;

/// When a compaction is made.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// Now.
    Manual,
    /// When the context asks for it.
    Auto {
        /// Asked while nobody works on the session.
        idle: bool,
        /// What is set about the window.
        limits: Limits,
    },
    /// Never: automatic compaction is switched off.
    Off,
}

/// How a context is made smaller.
#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// A summary of what is old, appended.
    ContextFull,
    /// Instructions, reminders and one new reminder instead of everything.
    Replace(ReplaceSettings),
    /// What is old on frames.
    Snapcompact(Box<FramesJob>),
    /// A new session that begins with a document for who goes on.
    Handoff,
    /// Only report.
    Off,
}

impl Strategy {
    /// The name in flags and JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Strategy::ContextFull => "context-full",
            Strategy::Replace(_) => "replace",
            Strategy::Snapcompact(_) => "snapcompact",
            Strategy::Handoff => "handoff",
            Strategy::Off => "off",
        }
    }
}

/// What is to be done with one session.
#[derive(Debug, Clone)]
pub struct CompactJob {
    /// The session.
    pub input: Input,
    /// Where the result goes.
    pub target: Target,
    /// The end of the path; the file's own when none is named.
    pub leaf: Option<String>,
    /// When.
    pub trigger: Trigger,
    /// How.
    pub strategy: Strategy,
    /// Tokens to keep.
    pub keep_recent: u64,
    /// The message to keep from.
    pub keep_from: Option<String>,
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// Most tokens of the summary.
    pub summary_tokens: u64,
    /// What the summary is to look at.
    pub focus: Option<String>,
    /// Lines of context from elsewhere.
    pub context: Vec<String>,
    /// Write even what does not shrink the context.
    pub allow_growth: bool,
    /// Behind a compaction that the threshold asked for, tell the agent to go on.
    pub auto_continue: bool,
    /// Prune by these settings first.
    pub prune: Option<PruneSettings>,
    /// What is set about the window, which percentages mean.
    pub limits: Limits,
    /// Where the file goes that a rewrite replaces; `None` means beside the session.
    pub archive_dir: Option<PathBuf>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Done {
    /// The receipt.
    pub receipt: Receipt,
    /// The plan, when there was one.
    pub plan: Option<Plan>,
    /// The session that was planned on.
    pub session: Session,
    /// What the cut of the plan means in numbers.
    pub amounts: Option<Amounts>,
    /// The words and their tokens, when there are any.
    pub summary: Option<(Summary, u64)>,
    /// What a replacement history is made of, when there is one.
    pub replacement: Option<Replacement>,
    /// The session in which the work goes on after a handoff.
    pub new_session: Option<NewSession>,
}

impl Done {
    /// A run that came to no plan.
    pub(super) fn without_plan(receipt: Receipt, session: Session) -> Done {
        Done { receipt, plan: None, session, amounts: None, summary: None, replacement: None, new_session: None }
    }
}

/// Runs one compaction.
///
/// # Errors
/// See [`RunError`]; the session is then what it was.
pub fn compact(job: &CompactJob, services: &Services<'_>) -> Result<Done, RunError> {
    let again = || (services.progress)("the session grew; planning again");
    until_it_holds(&job.input, &again, |opened| match &job.prune {
        // A replacement history holds no results.
        Some(settings) if job.trigger != Trigger::Off && !matches!(job.strategy, Strategy::Replace(_)) => {
            pruned_first(job, services, opened, settings)
        }
        _ => attempt(job, services, opened),
    })
}

/// Prunes, and does what is asked for with the session as it then is; all of it is one write. What is left to do when a
/// compaction is not asked for any more, or would not help, is the pruning.
fn pruned_first(job: &CompactJob, services: &Services<'_>, opened: Opened, settings: &PruneSettings) -> Result<Option<Done>, RunError> {
    let path = opened.path(job.leaf.as_deref())?;
    let before = &opened.session;
    if path.entries.is_empty() || crate::session::problems::forbids_append(before, &path)?.is_some() {
        return attempt(job, services, opened);
    }
    (services.progress)("pruning");
    let mut counter = Counter::new(before, job.tokenizer, Effort::Receipt);
    let Some(pruned) = prune_path(&mut counter, &path, settings, &job.limits, &services.now)? else {
        return attempt(job, services, opened);
    };
    let counted = counter.context(&before.context(&path.entries)?)?.tokens;
    let after = spooled(&mut |out| before.write_edited(&pruned.edit, out))?.with_stale_usage();
    let past = Some(Past::of(before)?);
    let smaller = Opened { session: after.clone(), print: opened.print.clone(), past: past.clone() };
    let Some(mut done) = attempt(job, services, smaller)? else { return Ok(None) };
    let receipt = &mut done.receipt;
    receipt.bytes.0 = before.source().len();
    receipt.pruned_results = pruned.results;
    receipt.warnings.extend(pruned.warnings);
    receipt.counted.0 = Some(counted);
    if job.strategy == Strategy::Off || matches!(receipt.action, Action::Compacted | Action::Promoted) {
        return Ok(Some(done));
    }
    let mut counter = Counter::new(&after, job.tokenizer, Effort::Receipt);
    let leaf = path.leaf().and_then(|leaf| after.by_id(before.id(leaf))).map(|leaf| after.path(leaf).entries).unwrap_or_default();
    receipt.counted.1 = Some(counter.context(&after.context(&leaf)?)?.tokens);
    receipt.action = Action::Pruned;
    receipt.bytes.1 = Some(after.source().len());
    if matches!(job.target, Target::InPlace) {
        let smaller = Opened { session: after, print: opened.print, past };
        let archiving = Archiving::To(job.archive_dir.clone());
        let written = rewrite(&smaller, &Edit::default(), ArchiveKind::Prune, &archiving, &job.target, &services.now)?;
        let Some(written) = written else { return Ok(None) };
        receipt.wrote(written);
        let revision = receipt.archive_revision;
        let told = hooked::history_replaced(services.hooks, services.note, &job.input.name(), "pruned", revision);
        receipt.warnings.extend(told);
    }
    Ok(Some(done))
}

/// One pass of the loop; `None` when the file grew so that the plan no longer holds.
fn attempt(job: &CompactJob, services: &Services<'_>, opened: Opened) -> Result<Option<Done>, RunError> {
    let path = opened.path(job.leaf.as_deref())?;
    let session = &opened.session;
    let mut receipt = Receipt {
        strategy: job.strategy.name(),
        dry_run: matches!(job.target, Target::Nowhere),
        bytes: (session.source().len(), None),
        ..Receipt::default()
    };
    let nothing = |mut receipt: Receipt, reason: &'static str, why: &str| {
        receipt.action = Action::Nothing;
        receipt.reason = Some(reason);
        receipt.why = Some(why.to_owned());
        receipt.bytes.1 = Some(receipt.bytes.0);
        receipt
    };
    // A replacement makes a generation of whatever there is, but a file without a header is no session yet.
    let may_be_empty = matches!((&job.strategy, &job.trigger), (Strategy::Replace(_), Trigger::Manual)) && session.header_entry().is_some();
    if path.entries.is_empty() && !may_be_empty {
        let receipt = nothing(receipt, "empty", "there is no entry");
        return unchanged(job, Done::without_plan(receipt, opened.session));
    }
    let mut counter = Counter::new(session, job.tokenizer, Effort::Receipt);
    let fired = match &job.trigger {
        Trigger::Manual => Ok((Reason::Manual, path.entries.len(), None)),
        Trigger::Auto { idle, limits } => {
            let asked = trigger::check(&mut counter, &path.entries, limits, *idle)?;
            let fired = asked.reason.map(|reason| (reason, asked.end, asked.promotion));
            fired.ok_or(("no_trigger", "nothing asks for a compaction"))
        }
        Trigger::Off => Err(("disabled", "automatic compaction is switched off")),
    };
    let (reason, end, promotion) = match fired {
        Ok(fired) => fired,
        // Whatever is wrong with a session that nothing is to be written to, it is no failure of this run.
        Err((reason, why)) => {
            let receipt = nothing(receipt, reason, why);
            return unchanged(job, Done::without_plan(receipt, opened.session));
        }
    };
    may_append(session, &path)?;
    receipt.warnings.extend(before_appending(session, &path, job.leaf.is_some()));
    receipt.trigger = Some(reason.name());
    receipt.will_retry = reason.will_retry();
    let entries = path.entries.get(..end).unwrap_or_default();
    receipt.promotion = promotion;
    if let Some(promoted) = receipt.promotion.clone().filter(|_| job.strategy != Strategy::Off && !entries.is_empty()) {
        return promote(job, services, opened, entries, &promoted, receipt);
    }
    if let Strategy::Replace(settings) = &job.strategy {
        return super::replace::attempt(job, settings, services, &opened, (&path.entries, entries), receipt);
    }
    if job.strategy == Strategy::Handoff {
        let instead = match reason {
            // The request for the document would be as long as the one that failed.
            Reason::Overflow => "a handoff does not help where the context overflowed",
            _ => match super::handoff::attempt(job, services, &opened, entries, &receipt)? {
                Tried::Done(done) => return Ok(Some(*done)),
                Tried::Grown => return Ok(None),
                Tried::NoDocument => "there is nothing to hand off",
            },
        };
        receipt.warnings.push(format!("{instead}; the strategy is context-full instead"));
        receipt.strategy = Strategy::ContextFull.name();
    }

    (services.progress)("planning");
    let settings = CutSettings { keep_recent: job.keep_recent, keep_from: job.keep_from.as_deref() };
    let plan = match compaction::plan(&mut counter, entries, settings)? {
        Ok(plan) => plan,
        Err(why) => {
            let receipt = nothing(receipt, why.code(), why.text());
            return unchanged(job, Done::without_plan(receipt, opened.session));
        }
    };
    let dry = receipt.dry_run;
    let name = job.input.name();
    let framing = match &job.strategy {
        Strategy::Snapcompact(frames) => framing(session, entries, frames, job.focus.as_deref(), &mut receipt)?,
        _ => None,
    };
    let strategy = receipt.strategy;
    let asking =
        Asking { session, path: &name, reason: reason.name(), will_retry: receipt.will_retry, strategy, focus: job.focus.as_deref() };
    let mut plan = plan;
    let mut given = None;
    if job.strategy != Strategy::Off && !dry {
        match asking.before_compact(|| asking.preparation(&plan), services)? {
            Verdict::GoOn => {}
            Verdict::Given(answer) => {
                if let Some(other) = hooked::other_cut(session, &plan, &answer)? {
                    let settings = CutSettings { keep_recent: job.keep_recent, keep_from: Some(other) };
                    plan = compaction::plan(&mut counter, entries, settings)?.map_err(|why| RunError::Unsound(why.text().to_owned()))?;
                }
                given = Some(answer);
            }
            Verdict::Cancel => {
                receipt.cancelled();
                let done = Done { plan: Some(plan), ..Done::without_plan(receipt, opened.session) };
                return unchanged(job, done);
            }
        }
    }
    let amounts = Some(Amounts::of(&mut counter, &plan.path, &plan.cut)?);
    receipt.warnings.extend(plan.previous.as_ref().and_then(|p| p.warning.clone()));
    receipt.summarized_messages = plan.history.told.len() + plan.prefix.told.len() + compaction::dropped(&plan).len();
    receipt.kept_messages = plan.kept.len();
    receipt.dropped = compaction::dropped(&plan).into_iter().map(|(ix, why)| (session.id(ix).to_owned(), why)).collect();
    receipt.counted.0 = Some(plan.estimate.counted.tokens);
    receipt.tokens.0 = Some(plan.estimate.reported.unwrap_or(plan.estimate.context));
    receipt.estimated = plan.estimate.counted.estimated;
    if job.strategy == Strategy::Off {
        let receipt = nothing(receipt, "off", "the strategy is off");
        return unchanged(job, Done { plan: Some(plan), amounts, ..Done::without_plan(receipt, opened.session) });
    }

    let printed = match framing.filter(|_| given.is_none()) {
        Some(framing) => {
            (services.progress)("printing");
            print(session, &plan, framing, job.tokenizer, &mut receipt)?
        }
        None => None,
    };
    receipt.summarizer = printed.is_none().then(|| services.summarizer.name());
    if dry && printed.is_none() && services.summarizer.sends() {
        // What a provider would say is not known, and it is not asked.
        receipt.action = Action::Compacted;
        return Ok(Some(Done { plan: Some(plan), amounts, ..Done::without_plan(receipt, opened.session) }));
    }
    if printed.is_none() {
        (services.progress)("summarizing");
    }
    test_delay();
    let mut message = None;
    let mut pictures = Vec::new();
    let draft = match (given, printed) {
        (Some(given), _) => {
            receipt.summarizer = Some("hook");
            hooked::given_draft(*given)
        }
        (None, Some(printed)) => {
            receipt.warnings.extend(printed.warnings);
            receipt.frames = Some(printed.report);
            message = printed.message;
            pictures = printed.pictures;
            printed.draft
        }
        (None, None) => {
            let asked = if dry { Compacting::default() } else { asking.compacting(|| asking.preparation(&plan), services)? };
            let context = [job.context.as_slice(), &asked.context].concat();
            let words_of = Words {
                tokenizer: job.tokenizer,
                summary_tokens: job.summary_tokens,
                focus: job.focus.as_deref(),
                prompt: asked.prompt.as_deref(),
                context: &context,
            };
            let mut draft = words(session, &plan, services.summarizer, &words_of)?;
            let account = services.summarizer.account();
            receipt.made_by(services.summarizer.name(), &account);
            if account.preserve.contains_key(REPLAYED) {
                let last = plan.cut.first_kept.checked_sub(1).and_then(|at| plan.path.get(at));
                draft.extra.replay_through = last.map(|ix| session.id(*ix).to_owned());
            }
            let replay_through = draft.extra.replay_through.take();
            draft.extra = Extra { replay_through, ..extra_of(account) };
            draft.extra.preserve.extend(asked.preserve_data);
            receipt.put_fallback(&mut draft.extra);
            draft
        }
    };
    let whole = draft.whole();
    let summary_tokens = job.tokenizer.count(&draft.stored(&plan.files));
    let summary = Some((whole, summary_tokens));

    (services.progress)("checking");
    let note = note_of(receipt.summarizer, &draft.extra);
    let stamp = Stamp { now: &services.now, tokens_after: None, note };
    let (id, line) = compaction::entry(session, &plan, &draft, stamp)?;
    let after = session.with_appended(&line)?;
    let context = compaction::verify(session, &plan, &after, &id)?.map_err(RunError::Unsound)?;
    let counted_after = count_after(&mut counter, session, &after, &context)?;
    let (id, line) = compaction::entry(session, &plan, &draft, Stamp { tokens_after: Some(counted_after), ..stamp })?;
    // Readers that know no frames in a compaction get them as a message behind it.
    let carrier = message.as_ref().map(|message| snapcompact::carrier(&after, &id, message, &services.now)).transpose()?;
    let (after, counted_after, line, id) = match &carrier {
        Some((carrier_id, carrier_line)) => {
            let after = after.with_appended(carrier_line)?;
            let entry =
                after.by_id(carrier_id).ok_or_else(|| RunError::Unsound("the message with the frames cannot be found".to_owned()))?;
            let counted = counted_after + after.with_message(entry, |message| of_message(job.tokenizer, message))?;
            let stamp = Stamp { tokens_after: Some(counted), ..stamp };
            let (id, line) = compaction::entry(session, &plan, &draft, stamp)?;
            (after, counted, line, id)
        }
        None => (after, counted_after, line, id),
    };
    let end_id = carrier.as_ref().map_or(&id, |(id, _)| id);
    // The agent goes on by itself only where nobody waits for a retry or has gone away.
    let next = (job.auto_continue && reason == Reason::Threshold).then(|| go_on(&after, end_id, &services.now)).transpose()?;
    let counted_after = counted_after + next.as_ref().map_or(0, |_| job.tokenizer.count(GO_ON));
    receipt.counted.1 = Some(counted_after);
    receipt.tokens.1 = Some(counted_after);

    let before = plan.estimate.counted;
    if before.tokens <= counted_after && !job.allow_growth {
        receipt.action = Action::Refused;
        receipt.reason = Some("no_gain");
        receipt.why = Some(format!("the context would not shrink: {} tokens before, {counted_after} after", before.tokens));
        receipt.bytes.1 = Some(receipt.bytes.0);
        return unchanged(job, Done { plan: Some(plan), amounts, summary, ..Done::without_plan(receipt, opened.session) });
    }

    receipt.action = Action::Compacted;
    (services.progress)("writing");
    let leaf = plan.path.last().copied();
    let (next_id, next_line) = next.unzip();
    let ids: Vec<&String> = [Some(&id), carrier.as_ref().map(|(id, _)| id), next_id.as_ref()].into_iter().flatten().collect();
    let mut holds = |new: &[u8]| leaf.is_some_and(|leaf| holds_still(session, leaf, new, &ids));
    // All in one write: a reader never sees the one without the other.
    let carried = carrier.as_ref().map(|(_, line)| line.as_slice()).unwrap_or_default();
    let lines = [line.as_slice(), carried, &next_line.unwrap_or_default()].concat();
    if let Strategy::Snapcompact(frames) = &job.strategy
        && let Some(dir) = frames.dir.as_deref().filter(|_| !dry && !pictures.is_empty())
    {
        let shape = receipt.frames.as_ref().map_or("frame", |report| report.shape);
        snapcompact::write_pictures(&pictures, shape, dir, true)?;
    }
    let Some(written) = append(&opened, Some(&lines), &job.target, job.archive_dir.as_deref(), &services.now, &mut holds)? else {
        return Ok(None);
    };
    receipt.entry_id = Some(id);
    receipt.continue_id = next_id;
    receipt.wrote(written);
    if !dry {
        receipt.warnings.extend(hooked::compacted(services, &name, &line, draft.extra.from_extension));
    }
    Ok(Some(Done { plan: Some(plan), amounts, summary, ..Done::without_plan(receipt, opened.session) }))
}

/// Switches to the model that holds the context, instead of compacting it.
fn promote(
    job: &CompactJob,
    services: &Services<'_>,
    opened: Opened,
    entries: &[Ix],
    promoted: &Promoted,
    mut receipt: Receipt,
) -> Result<Option<Done>, RunError> {
    let session = &opened.session;
    let (id, line) = trigger::model_change(session, entries, promoted, &services.now)?;
    let after = session.with_appended(&line)?;
    let at = after.by_id(&id).map(|entry| after.path(entry).entries.len());
    if at != Some(entries.len() + 1) {
        return Err(RunError::Unsound("the change of the model does not stand behind the path that was planned".to_owned()));
    }
    (services.progress)("writing");
    let leaf = entries.last().copied();
    let mut holds = |new: &[u8]| leaf.is_some_and(|leaf| holds_still(session, leaf, new, &[&id]));
    let Some(written) = append(&opened, Some(&line), &job.target, job.archive_dir.as_deref(), &services.now, &mut holds)? else {
        return Ok(None);
    };
    receipt.action = Action::Promoted;
    receipt.entry_id = Some(id);
    receipt.wrote(written);
    Ok(Some(Done::without_plan(receipt, opened.session)))
}

/// What the agent is told where it should go on by itself.
const GO_ON: &str = "The conversation so far was compacted; its summary stands above. Go on with the task from where it stopped. \
    If everything that was asked for is done, say so and stop.";

/// The message behind compaction `parent` that makes the agent go on: its id, and one line with its line end.
fn go_on(session: &Session, parent: &str, now: &str) -> io::Result<(String, Vec<u8>)> {
    let id = session.new_id(Some(parent), GO_ON.as_bytes());
    let entry = serde_json::json!({
        "type": "custom_message", "id": id, "parentId": parent, "timestamp": now, "customType": "auto-continue",
        "content": GO_ON, "display": false, "attribution": "agent",
    });
    let mut line = serde_json::to_vec(&entry).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok((id, line))
}

/// The payload that a provider replays in place of what was summarized.
const REPLAYED: &str = "openaiRemoteCompaction";

/// A session that is not changed is still written where a copy was asked for.
fn unchanged(job: &CompactJob, done: Done) -> Result<Option<Done>, RunError> {
    write_unchanged(&job.target, &done.session)?;
    Ok(Some(done))
}
