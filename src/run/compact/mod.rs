//! `compact`: a compaction at the end of a path.

mod draft;
mod job;
mod lines;

use super::appending::{before_appending, holds_still, may_append};
use super::framing::framing;
use super::handoff::Tried;
use super::hooked::{self, Asking, Verdict};
use super::open::{Opened, spooled};
use super::prune::prune_path;
use super::receipt::{Action, Receipt};
use super::rewrite::{Archiving, Past, append, rewrite, write_unchanged};
use super::snapcompact;
use super::{RunError, Services, Target, until_it_holds};
use crate::engine::compaction::{self, Plan};
use crate::engine::cut::{Amounts, CutSettings};
use crate::engine::prune::PruneSettings;
use crate::engine::tokens::{Counter, Effort};
use crate::engine::trigger::{self, Promoted, Reason};
use crate::session::edit::Edit;
use crate::session::{Ix, Path};
use crate::store::archive::Kind as ArchiveKind;
use crate::summarize::Summary;

use draft::{Basis, draft};
pub use job::{CompactJob, Done, Strategy, Trigger};
use lines::lines;

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
    // A replacement makes a generation of whatever there is, but a file without a header is no session yet.
    let may_be_empty = matches!((&job.strategy, &job.trigger), (Strategy::Replace(_), Trigger::Manual)) && session.header_entry().is_some();
    let mut counter = Counter::new(session, job.tokenizer, Effort::Receipt);
    let fired =
        if path.entries.is_empty() && !may_be_empty { Err(("empty", "there is no entry")) } else { asked(job, &mut counter, &path)? };
    let (reason, end, promotion) = match fired {
        Ok(fired) => fired,
        // Whatever is wrong with a session that nothing is to be written to, it is no failure of this run.
        Err((reason, why)) => {
            receipt.nothing(reason, why);
            write_unchanged(&job.target, session)?;
            return Ok(Some(Done::without_plan(receipt, opened.session)));
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
    let Some(came) = append_compaction(job, services, &opened, &mut counter, (entries, reason), receipt)? else { return Ok(None) };
    if matches!(came.receipt.action, Action::Nothing | Action::Refused) {
        write_unchanged(&job.target, session)?;
    }
    let Came { receipt, plan, amounts, summary } = came;
    Ok(Some(Done { plan, amounts, summary, ..Done::without_plan(receipt, opened.session) }))
}

/// Why a compaction is made, the end of what it may cut in the path, and the model to switch to instead.
type Fired = (Reason, usize, Option<Promoted>);

/// Whether the session asks for a compaction; if not, why not: a code and words.
fn asked(job: &CompactJob, counter: &mut Counter<'_>, path: &Path) -> Result<Result<Fired, (&'static str, &'static str)>, RunError> {
    Ok(match &job.trigger {
        Trigger::Manual => Ok((Reason::Manual, path.entries.len(), None)),
        Trigger::Auto { idle, limits } => {
            let asked = trigger::check(counter, &path.entries, limits, *idle)?;
            let fired = asked.reason.map(|reason| (reason, asked.end, asked.promotion));
            fired.ok_or(("no_trigger", "nothing asks for a compaction"))
        }
        Trigger::Off => Err(("disabled", "automatic compaction is switched off")),
    })
}

/// What came of the strategies that append a compaction.
struct Came {
    receipt: Receipt,
    plan: Option<Plan>,
    amounts: Option<Amounts>,
    summary: Option<(Summary, u64)>,
}

/// Plans a compaction of `entries`, asks the hooks, makes what it says, checks that it helps, and appends it. `None` when the
/// file grew so that the plan no longer holds.
fn append_compaction(
    job: &CompactJob,
    services: &Services<'_>,
    opened: &Opened,
    counter: &mut Counter<'_>,
    (entries, reason): (&[Ix], Reason),
    mut receipt: Receipt,
) -> Result<Option<Came>, RunError> {
    let session = &opened.session;
    (services.progress)("planning");
    let settings = CutSettings { keep_recent: job.keep_recent, keep_from: job.keep_from.as_deref() };
    let mut plan = match compaction::plan(counter, entries, settings)? {
        Ok(plan) => plan,
        Err(why) => {
            receipt.nothing(why.code(), why.text());
            return Ok(Some(Came { receipt, plan: None, amounts: None, summary: None }));
        }
    };
    let dry = receipt.dry_run;
    let name = job.input.name();
    let framing = match &job.strategy {
        Strategy::Snapcompact(frames) => framing(session, entries, frames, job.focus.as_deref(), &mut receipt)?,
        _ => None,
    };
    let asking = Asking::of(job, session, &name, &receipt);
    let mut given = None;
    if job.strategy != Strategy::Off {
        match asking.before_compact(|| asking.preparation(&plan), services)? {
            Verdict::GoOn => {}
            Verdict::Given(answer) => {
                if let Some(other) = hooked::other_cut(session, &plan, &answer)? {
                    let settings = CutSettings { keep_recent: job.keep_recent, keep_from: Some(other) };
                    plan = compaction::plan(counter, entries, settings)?.map_err(|why| RunError::Unsound(why.text().to_owned()))?;
                }
                given = Some(answer);
            }
            Verdict::Cancel => {
                receipt.cancelled();
                return Ok(Some(Came { receipt, plan: Some(plan), amounts: None, summary: None }));
            }
        }
    }
    plan.files.fit(job.summary_tokens, job.tokenizer);
    let amounts = Some(Amounts::of(counter, &plan.path, &plan.cut)?);
    receipt.planned(session, &plan);
    if job.strategy == Strategy::Off {
        receipt.nothing("off", "the strategy is off");
        return Ok(Some(Came { receipt, plan: Some(plan), amounts, summary: None }));
    }
    let Some(made) = draft(job, services, &asking, &plan, Basis { answer: given, framing }, &mut receipt)? else {
        // What a provider would say is not known, and it is not asked.
        receipt.action = Action::Compacted;
        return Ok(Some(Came { receipt, plan: Some(plan), amounts, summary: None }));
    };
    let summary = Some((made.draft.whole(), job.tokenizer.count(&made.draft.stored(&plan.files))));

    (services.progress)("checking");
    let goes_on = job.auto_continue && reason == Reason::Threshold;
    let lines = lines(counter, &plan, &made, receipt.summarizer, goes_on, &services.now)?;
    receipt.counted.1 = Some(lines.tokens);
    receipt.tokens.1 = Some(lines.tokens);
    let before = plan.estimate.counted.tokens;
    if before <= lines.tokens && !job.allow_growth {
        receipt.refused("no_gain", format!("the context would not shrink: {before} tokens before, {} after", lines.tokens));
        return Ok(Some(Came { receipt, plan: Some(plan), amounts, summary }));
    }

    receipt.action = Action::Compacted;
    (services.progress)("writing");
    if let Strategy::Snapcompact(frames) = &job.strategy
        && let Some(dir) = frames.dir.as_deref().filter(|_| !dry && !made.pictures.is_empty())
    {
        let shape = receipt.frames.as_ref().map_or("frame", |report| report.shape);
        snapcompact::write_pictures(&made.pictures, shape, dir, true)?;
    }
    let leaf = plan.path.last().copied();
    let mut holds = |new: &[u8]| leaf.is_some_and(|leaf| holds_still(session, leaf, new, &lines.ids()));
    let all = lines.all();
    let Some(written) = append(opened, Some(&all), &job.target, job.archive_dir.as_deref(), &services.now, &mut holds)? else {
        return Ok(None);
    };
    receipt.wrote(written);
    if !dry {
        receipt.warnings.extend(hooked::compacted(services, &name, &lines.compaction.1, made.draft.extra.from_extension));
    }
    receipt.entry_id = Some(lines.compaction.0);
    receipt.continue_id = lines.go_on.map(|(id, _)| id);
    Ok(Some(Came { receipt, plan: Some(plan), amounts, summary }))
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
