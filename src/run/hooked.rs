//! What hooks get to see of a run, and how their answers enter it.
//!
//! Keys are spelled as agents spell them, because the answers are: a command that was written for one of them needs few
//! changes. Text in what they get is masked like every text that leaves the session.

use serde_json::{Map, Value, json};

use super::compact::CompactJob;
use super::receipt::Receipt;
use super::{RunError, Services};
use crate::engine::branch::BranchPlan;
use crate::engine::compaction::{Draft, Extra, Plan};
use crate::engine::files::Files;
use crate::engine::serialize::{Form, Selection, serialize};
use crate::hooks::{BeforeTree, Compacting, Event, Given, GivenSummary, HookError};
use crate::session::{Ix, Session};
use crate::summarize::{Line, Summary};
use crate::text;

/// What a run asks its hooks about: the session and what was asked for.
pub(super) struct Asking<'a> {
    pub(super) session: &'a Session,
    /// The name of the session on the command line.
    pub(super) path: &'a str,
    /// `manual`, `threshold` …
    pub(super) reason: &'a str,
    pub(super) will_retry: bool,
    pub(super) strategy: &'a str,
    pub(super) focus: Option<&'a str>,
    /// No hook is asked anything.
    pub(super) dry_run: bool,
}

impl<'a> Asking<'a> {
    /// About a compaction, whatever its strategy, as far as its receipt tells.
    pub(super) fn of(job: &'a CompactJob, session: &'a Session, path: &'a str, receipt: &Receipt) -> Asking<'a> {
        let Receipt { trigger, will_retry, strategy, dry_run, .. } = *receipt;
        Asking { session, path, reason: trigger.unwrap_or("manual"), will_retry, strategy, focus: job.focus.as_deref(), dry_run }
    }

    fn asks(&self, event: Event, services: &Services<'_>) -> bool {
        !self.dry_run && services.hooks.has(event)
    }

    fn head(&self, event: Event) -> Result<Map<String, Value>, RunError> {
        let header = self.session.header()?;
        let masked = |text: &str| text::masked(text).into_owned();
        let rows = [
            ("schema", 1.into()),
            ("event", event.name().into()),
            ("path", self.path.into()),
            ("sessionId", json!(header.id)),
            ("cwd", json!(header.cwd)),
            ("strategy", self.strategy.into()),
            ("reason", self.reason.into()),
            ("willRetry", self.will_retry.into()),
            ("customInstructions", json!(self.focus.map(masked))),
        ];
        Ok(rows.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    fn ids(&self, list: &[Ix]) -> Vec<&str> {
        list.iter().map(|ix| self.session.id(*ix)).collect()
    }

    /// What hooks get to see of a compaction.
    pub(super) fn preparation(&self, plan: &Plan) -> Result<Value, RunError> {
        let session = self.session;
        let at = |position: &usize| plan.path.get(*position).map(|ix| session.id(*ix));
        let told = |selection| serialize(session, selection, Form::default());
        Ok(json!({
            "leafId": plan.path.last().map(|ix| session.id(*ix)),
            "firstKeptEntryId": at(&plan.cut.first_kept),
            "candidates": plan.cut.candidates.iter().filter_map(at).collect::<Vec<_>>(),
            "isSplitTurn": plan.cut.turn_start.is_some(),
            "messagesToSummarize": self.ids(&plan.history.told), "turnPrefixMessages": self.ids(&plan.prefix.told),
            "keptMessages": self.ids(&plan.kept),
            "tokensBefore": plan.estimate.before(),
            "previousSummary": plan.previous.as_ref().map(|p| text::masked(&p.summary).into_owned()),
            "fileOps": {"read": plan.files.only_read(), "modified": plan.files.changed()},
            "conversation": told(&plan.history)?, "turnPrefix": told(&plan.prefix)?,
        }))
    }

    /// The same where nothing is cut: a history that is replaced, or handed off.
    pub(super) fn whole(&self, whole: &WholeHistory<'_>) -> Result<Value, RunError> {
        let session = self.session;
        Ok(json!({
            "leafId": whole.path.last().map(|ix| session.id(*ix)), "firstKeptEntryId": null, "candidates": [], "isSplitTurn": false,
            "messagesToSummarize": self.ids(&whole.told.told), "turnPrefixMessages": [], "keptMessages": self.ids(&whole.kept),
            "tokensBefore": whole.tokens_before,
            "previousSummary": whole.previous.map(|text| text::masked(text).into_owned()),
            "fileOps": {"read": whole.files.only_read(), "modified": whole.files.changed()},
            "conversation": serialize(session, whole.told, Form::default())?, "turnPrefix": "",
        }))
    }

    /// Asks before a compaction; `preparation` is made only for hooks that are there.
    pub(super) fn before_compact(
        &self,
        preparation: impl FnOnce() -> Result<Value, RunError>,
        services: &Services<'_>,
    ) -> Result<Verdict, RunError> {
        if !self.asks(Event::BeforeCompact, services) {
            return Ok(Verdict::GoOn);
        }
        let mut payload = self.head(Event::BeforeCompact)?;
        payload.insert("preparation".to_owned(), preparation()?);
        let answer = services.hooks.before_compact(&payload.into(), services.note)?;
        Ok(match answer.compaction {
            _ if answer.cancel => Verdict::Cancel,
            Some(given) => Verdict::Given(Box::new(given)),
            None => Verdict::GoOn,
        })
    }

    /// Asks before the summary is made.
    pub(super) fn compacting(
        &self,
        preparation: impl FnOnce() -> Result<Value, RunError>,
        services: &Services<'_>,
    ) -> Result<Compacting, RunError> {
        if !self.asks(Event::Compacting, services) {
            return Ok(Compacting::default());
        }
        let mut payload = self.head(Event::Compacting)?;
        payload.insert("preparation".to_owned(), preparation()?);
        Ok(services.hooks.compacting(&payload.into(), services.note)?)
    }

    /// Asks before the summary of a branch.
    pub(super) fn before_tree(&self, plan: &BranchPlan, ends: (Ix, Ix), services: &Services<'_>) -> Result<BeforeTree, RunError> {
        if !self.asks(Event::BeforeTree, services) {
            return Ok(BeforeTree::default());
        }
        let mut payload = self.head(Event::BeforeTree)?;
        let preparation = json!({
            "oldLeafId": self.session.id(ends.0), "targetId": self.session.id(ends.1),
            "commonAncestorId": plan.ancestor.map(|ix| self.session.id(ix)),
            "entriesToSummarize": self.ids(&plan.entries), "messagesToSummarize": self.ids(&plan.messages),
            "fileOps": {"read": plan.files.only_read(), "modified": plan.files.changed()},
            "conversation": serialize(self.session, &plan.selection, Form::default())?,
        });
        payload.insert("preparation".to_owned(), preparation);
        Ok(services.hooks.before_tree(&payload.into(), services.note)?)
    }
}

/// A history of which nothing is cut off.
pub(super) struct WholeHistory<'a> {
    pub(super) path: &'a [Ix],
    /// What is summarized.
    pub(super) told: &'a Selection,
    /// What stays.
    pub(super) kept: Vec<Ix>,
    pub(super) tokens_before: u64,
    pub(super) previous: Option<&'a str>,
    pub(super) files: Files,
}

/// What hooks say of a compaction.
pub(super) enum Verdict {
    /// Nothing.
    GoOn,
    /// Write nothing.
    Cancel,
    /// Write this.
    Given(Box<Given>),
}

/// The entry from which a hook wants to keep, when that is another one than the plan's.
pub(super) fn other_cut<'g>(session: &Session, plan: &Plan, given: &'g Given) -> Result<Option<&'g str>, RunError> {
    let Some(wanted) = given.first_kept_entry_id.as_deref() else { return Ok(None) };
    let is = |position: usize| plan.path.get(position).is_some_and(|ix| session.id(*ix) == wanted);
    if is(plan.cut.first_kept) || is(plan.cut.first_message) {
        return Ok(None);
    }
    if plan.cut.candidates.iter().any(|at| is(*at)) {
        return Ok(Some(wanted));
    }
    let what =
        format!("its answer cannot be used: firstKeptEntryId '{wanted}' is none of the places to cut, which are the candidates it got");
    Err(HookError { event: Event::BeforeCompact.name(), what }.into())
}

/// The words of a compaction that a hook gave.
pub(super) fn given_draft(given: Given) -> Draft {
    let short = given.short_summary.map(|short| text::one_line(&text::strip(&short), SHORT_CHARS)).unwrap_or_default();
    Draft {
        history: Some(Summary { short, ..Summary::default() }),
        given: Some(text::strip(&given.summary).into_owned()),
        extra: Extra { from_extension: true, own_details: given.details, preserve: given.preserve_data, ..Extra::default() },
        ..Draft::default()
    }
}

/// The summary of a whole history that a hook gave. There is no cut that it could move.
pub(super) fn given_whole(given: Given) -> Result<(Summary, Extra), RunError> {
    if given.first_kept_entry_id.is_some() {
        let what = "its answer cannot be used: where nothing is cut there is no firstKeptEntryId".to_owned();
        return Err(HookError { event: Event::BeforeCompact.name(), what }.into());
    }
    Ok(given_branch(GivenSummary { summary: given.summary, details: given.details }))
}

/// The words of a branch's summary that a hook gave.
pub(super) fn given_branch(given: GivenSummary) -> (Summary, Extra) {
    let lines = text::strip(&given.summary).trim().lines().map(|text| Line { text: text.to_owned(), sources: Vec::new() }).collect();
    let extra = Extra { from_extension: true, own_details: given.details, ..Extra::default() };
    (Summary { lines, ..Summary::default() }, extra)
}

/// Characters of a short summary.
const SHORT_CHARS: usize = 400;

/// Tells hooks of a new compaction; gives warnings.
pub(super) fn compacted(services: &Services<'_>, path: &str, line: &[u8], from_extension: bool) -> Vec<String> {
    if !services.hooks.has(Event::Compacted) {
        return Vec::new();
    }
    let entry: Value = serde_json::from_slice(line).unwrap_or_default();
    let payload = json!({
        "schema": 1, "event": Event::Compacted.name(), "kind": "compaction", "path": path, "compactionEntry": entry,
        "fromExtension": from_extension,
    });
    services.hooks.compacted(&payload, services.note)
}

/// Tells hooks of a handoff: the message of the new session stands for the compaction's entry; gives warnings.
pub(super) fn handed_off(services: &Services<'_>, path: &str, new: (&str, Option<&str>), from_extension: bool) -> Vec<String> {
    if !services.hooks.has(Event::Compacted) {
        return Vec::new();
    }
    let payload = json!({
        "schema": 1, "event": Event::Compacted.name(), "kind": "handoff", "path": path, "compactionEntry": null,
        "fromExtension": from_extension, "newSession": {"id": new.0, "path": new.1},
    });
    services.hooks.compacted(&payload, services.note)
}

/// Tells hooks that a history was replaced: by `action`, with the old file in `revision`; gives warnings.
pub(super) fn history_replaced(
    hooks: &crate::hooks::Hooks,
    note: &dyn Fn(&str),
    path: &str,
    action: &str,
    revision: Option<u64>,
) -> Vec<String> {
    if !hooks.has(Event::Compacted) {
        return Vec::new();
    }
    let payload = json!({
        "schema": 1, "event": Event::Compacted.name(), "kind": "history_replaced", "path": path, "compactionEntry": null,
        "fromExtension": false, "action": action, "archiveRevision": revision,
    });
    hooks.compacted(&payload, note)
}
