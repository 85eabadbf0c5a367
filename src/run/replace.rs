//! `compact --strategy replace`: the file is written anew with what stays and one new reminder; the old one is archived.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::compact::{CompactJob, Done};
use super::hooked::{self, Asking, Verdict, WholeHistory};
use super::open::Opened;
use super::receipt::{Action, Receipt};
use super::rewrite::{Archiving, Past, REFERENCE_ROOM, Rewritten, errors, no_worse, write_to, write_unchanged};
use super::words::{count_after, extra_of, masked_lines, note_of, test_delay};
use super::{RunError, Services, Target};
use crate::engine::files::Files;
use crate::engine::replace::{self, ReplacePlan, ReplaceSettings};
use crate::engine::tokens::{Counter, Effort};
use crate::engine::usage;
use crate::hooks::Compacting;
use crate::session::edit::{Edit, bytes_with_parent};
use crate::session::{Context, Ix, Json, Kind, Role, Session, Source, unix_ms};
use crate::store;
use crate::store::archive::{self, Reference};
use crate::store::replace::{Replaced, Rewrite, replace};
use crate::summarize::{Purpose, Request, Summary};

/// What a replacement history is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replacement {
    /// Instructions that stay.
    pub instructions: usize,
    /// Earlier reminders that stay.
    pub reminders: usize,
    /// Tokens of all items.
    pub tokens: u64,
    /// Most tokens that they may have.
    pub limit: u64,
    /// Entries that go with other branches.
    pub other_branches: usize,
}

/// One pass of the loop for this strategy; `None` when the file grew. `paths` is the whole path, and what of it is replaced.
pub(super) fn attempt(
    job: &CompactJob,
    settings: &ReplaceSettings,
    services: &Services<'_>,
    opened: &Opened,
    paths: (&[Ix], &[Ix]),
    mut receipt: Receipt,
) -> Result<Option<Done>, RunError> {
    let session = &opened.session;
    let (whole, path) = paths;
    let other_branches = others(session, whole);
    if other_branches > 0 && !settings.drop_branches {
        return Err(RunError::Refused {
            message: format!("{other_branches} entries stand on other branches, and a replacement history is one path"),
            hint: Some("--drop-branches leaves them behind, in the archive of the file as it was".to_owned()),
        });
    }
    (services.progress)("planning");
    let mut counter = Counter::new(session, job.tokenizer, Effort::Receipt);
    let context = session.context(path)?;
    let estimate = usage::estimate(&mut counter, path, &context)?;
    // What a provider would say is not known to a dry run, and it is not asked.
    let silent = receipt.dry_run && services.summarizer.sends();
    let mut score = |messages: &_| if silent { None } else { services.summarizer.relevance(session, path, messages) };
    let plan = replace::plan(session, path, context, estimate, settings, &mut score)?;
    let limit = settings.context_limit;
    let plan = plan.map_err(|over| RunError::OverLimit { what: "what has to stay has", tokens: over.retained, limit })?;

    receipt.summarizer = Some(services.summarizer.name());
    receipt.estimate(&plan.estimate);
    receipt.summarized_messages = plan.input.told.len() + plan.dropped.len();
    receipt.kept_messages = plan.retained.len();
    receipt.drop(session, &plan.dropped);
    receipt.warnings.extend(plan.warnings.iter().cloned());
    receipt.action = Action::Compacted;
    if silent {
        return Ok(Some(Done::without_plan(receipt, session.clone())));
    }
    let name = job.input.name();
    let asking = Asking::of(job, session, &name, &receipt);
    let preparation = || {
        asking.whole(&WholeHistory {
            path: &plan.path,
            told: &plan.input,
            kept: plan.retained.iter().map(|item| item.entry).collect(),
            tokens_before: plan.estimate.before(),
            previous: plan.previous.as_deref(),
            files: Files::default(),
        })
    };
    let verdict = asking.before_compact(preparation, services)?;
    (services.progress)("summarizing");
    test_delay();
    let mut given_extra = None;
    let summary = match verdict {
        Verdict::Cancel => {
            receipt.cancelled();
            write_unchanged(&job.target, session)?;
            return Ok(Some(Done::without_plan(receipt, session.clone())));
        }
        Verdict::Given(given) => {
            receipt.summarizer = Some("hook");
            let (summary, extra) = hooked::given_whole(*given)?;
            given_extra = Some(extra);
            summary
        }
        Verdict::GoOn => {
            let asked = asking.compacting(preparation, services)?;
            words(job, services, session, &plan, &asked)?
        }
    };
    let account = services.summarizer.account();
    receipt.made_by(services.summarizer.name(), &account);
    let extra = given_extra.unwrap_or_else(|| extra_of(account));
    let mut origin = Map::new();
    extra.put_details(&mut origin, note_of(receipt.summarizer, &extra));
    let reminder = replace::reminder(&summary.text());
    let tokens = plan.retained_tokens + replace::reminder_tokens(&reminder);
    if tokens > limit {
        return Err(RunError::OverLimit { what: "the replacement history would have", tokens, limit });
    }
    (services.progress)("checking");
    let history = History::new(session, &plan, (&reminder, origin), &services.now)?;
    let after = history.predicted(session)?;
    history.check(session, &after).map_err(RunError::Unsound)?;
    let context = after.context(&after.active_path().entries)?;
    let counted_after = count_after(&mut counter, session, &after, &context)?;
    receipt.counted.1 = Some(counted_after);
    receipt.tokens.1 = Some(counted_after);
    receipt.entry_id = Some(history.id.clone());

    (services.progress)("writing");
    let Some(written) = write(job, opened, &history, services)? else { return Ok(None) };
    receipt.wrote(written);
    if !receipt.dry_run {
        receipt.warnings.extend(hooked::history_replaced(services.hooks, services.note, &name, "replaced", receipt.archive_revision));
    }
    let replacement =
        Replacement { instructions: plan.instructions, reminders: plan.retained.len() - plan.instructions, tokens, limit, other_branches };
    let summary_tokens = job.tokenizer.count(&summary.text());
    Ok(Some(Done {
        summary: Some((summary, summary_tokens)),
        replacement: Some(replacement),
        ..Done::without_plan(receipt, opened.session.clone())
    }))
}

/// How many entries are on no path but another one. References of ours are nobody's history.
fn others(session: &Session, path: &[Ix]) -> usize {
    let on_path: HashSet<Ix> = path.iter().copied().collect();
    session.nodes().filter(|(ix, entry)| entry.kind != Kind::Archive && !on_path.contains(ix)).count()
}

fn words(
    job: &CompactJob,
    services: &Services<'_>,
    session: &Session,
    plan: &ReplacePlan,
    asked: &Compacting,
) -> Result<Summary, RunError> {
    if plan.input.told.is_empty() && plan.previous.is_none() {
        return Ok(Summary::default());
    }
    let context = masked_lines(&[job.context.as_slice(), &asked.context].concat());
    let request = Request {
        session,
        selection: &plan.input,
        purpose: Purpose::Replacement,
        previous: plan.previous.as_deref(),
        kept: &[],
        prompt: asked.prompt.as_deref(),
        turn: &[],
        focus: job.focus.as_deref().or(asked.prompt.as_deref().filter(|_| !services.summarizer.sends())),
        context: &context,
        budget: job.summary_tokens,
        spare: 0,
        tokenizer: job.tokenizer,
    };
    Ok(services.summarizer.summarize(&request)?)
}

/// The new session: lines that are no entries as they were, then one chain of entries.
struct History {
    /// The edit that takes all entries out; a header of an old version is made new.
    bare: Edit,
    /// Records in their order, the new reminder last; their parents are set when they are written.
    chain: Vec<Vec<u8>>,
    /// Their ids.
    ids: Vec<String>,
    /// How many records at the start are references to archives.
    references: usize,
    /// Ids of what a model will see.
    seen: Vec<String>,
    /// The id of the new reminder.
    id: String,
    now: String,
}

impl History {
    /// `reminder` is the text of the new reminder, and what else its entry says.
    fn new(session: &Session, plan: &ReplacePlan, reminder: (&str, Map<String, Value>), now: &str) -> io::Result<History> {
        let migration = session.migration()?;
        let record = |ix: Ix| -> io::Result<Vec<u8>> {
            match migration.replaced.get(&ix) {
                Some(record) => Ok(record.clone()),
                None => Ok(session.read(ix)?.bytes().to_vec()),
            }
        };
        let removed = session.all().filter(|(_, entry)| entry.is_node()).map(|(ix, _)| ix).collect();
        let replaced = migration.replaced.iter().filter(|(ix, _)| !session[**ix].is_node());
        let bare = Edit { replaced: replaced.map(|(ix, record)| (*ix, record.clone())).collect(), removed, ..Edit::default() };
        let mut history =
            History { bare, chain: Vec::new(), ids: Vec::new(), references: 0, seen: Vec::new(), id: String::new(), now: now.to_owned() };

        for (ix, _) in session.nodes().filter(|(_, entry)| entry.kind == Kind::Archive) {
            history.put(session.id(ix).to_owned(), record(ix)?);
        }
        history.references = history.chain.len();
        let carried = replace::carried(session, &plan.path)?;
        for ix in carried.entries {
            history.put(session.id(ix).to_owned(), record(ix)?);
        }
        if let Some(model) = carried.model {
            history.make(session, "model_change", model)?;
        }
        for item in &plan.retained {
            if session[item.entry].kind == Kind::Compaction {
                // Its entry goes, so the prompt that it carries gets one of its own.
                let payload = session.read(item.entry)?;
                let text = payload.text();
                let message = Json::parse(&text).unwrap_or(Json::Null).get("systemMessage").to_text();
                let message: Value = serde_json::from_str(&message)?;
                history.make(session, "message", json!({ "message": message }))?;
            } else {
                history.put(session.id(item.entry).to_owned(), record(item.entry)?);
            }
            history.seen.extend(history.ids.last().cloned());
            if let Some(edit) = item.edit {
                history.put(session.id(edit).to_owned(), record(edit)?);
            }
        }
        let kept: HashSet<String> = history.ids.iter().cloned().collect();
        for ix in plan.path.iter().copied().filter(|ix| session[*ix].kind == Kind::Other && session.type_name(*ix) == "label") {
            if session[ix].target.is_some_and(|target| kept.contains(session.name(target))) {
                history.put(session.id(ix).to_owned(), record(ix)?);
            }
        }
        let ms = unix_ms(now).unwrap_or(0);
        let (text, mut members) = reminder;
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": ms});
        members.insert("message".to_owned(), message);
        history.make(session, "message", members.into())?;
        history.id = history.ids.last().cloned().unwrap_or_default();
        history.seen.push(history.id.clone());
        Ok(history)
    }

    fn put(&mut self, id: String, record: Vec<u8>) {
        if !self.ids.contains(&id) {
            self.ids.push(id);
            self.chain.push(record);
        }
    }

    /// A new entry at the end of the chain.
    fn make(&mut self, session: &Session, kind: &str, members: Value) -> io::Result<()> {
        let parent = self.ids.last().map(String::as_str);
        let id = session.new_id(parent, format!("{kind}{members}").as_bytes());
        let mut entry = Map::new();
        entry.insert("type".to_owned(), kind.into());
        entry.insert("id".to_owned(), id.clone().into());
        entry.insert("parentId".to_owned(), Value::Null);
        entry.insert("timestamp".to_owned(), self.now.clone().into());
        if let Value::Object(members) = members {
            entry.extend(members);
        }
        self.ids.push(id);
        self.chain.push(serde_json::to_vec(&entry)?);
        Ok(())
    }

    /// Writes the new session. A copy refers to no archives; in place the newest reference comes before the last entry, so
    /// that the leaf is the reminder.
    fn write(&self, session: &Session, out: &mut dyn Write, reference: Option<&Reference>, is_copy: bool) -> io::Result<()> {
        let mut out = Lines { out, ended: true };
        session.write_edited(&self.bare, &mut out)?;
        out.end()?;
        let skipped = if is_copy { self.references } else { 0 };
        let mut parent: Option<String> = None;
        for (at, (id, record)) in self.ids.iter().zip(&self.chain).enumerate().skip(skipped) {
            if let Some(reference) = reference.filter(|_| at + 1 == self.chain.len()) {
                let data = reference.to_json();
                let id = session.new_id(parent.as_deref(), data.to_string().as_bytes());
                let line = json!({"type": "custom", "id": id, "parentId": parent, "timestamp": self.now, "customType": archive::CUSTOM_TYPE, "data": data});
                writeln!(out, "{line}")?;
                parent = Some(id);
            }
            let record =
                bytes_with_parent(record, parent.as_deref()).ok_or_else(|| io::Error::other("an entry could not be linked anew"))?;
            out.write_all(&record)?;
            out.write_all(b"\n")?;
            parent = Some(id.clone());
        }
        Ok(())
    }

    /// The session as it will be, but for the reference to its archive.
    fn predicted(&self, session: &Session) -> Result<Session, RunError> {
        let mut spool = tempfile::tempfile()?;
        self.write(session, &mut spool, None, false)?;
        let len = spool.metadata()?.len();
        Ok(Session::open(Source::file(spool, len))?)
    }

    /// What is wrong with the new session: it is one chain of what was planned, a model sees what it should, and nothing is
    /// worse than before.
    fn check(&self, before: &Session, after: &Session) -> Result<(), String> {
        let path = after.active_path();
        let known: HashSet<&str> = self.ids.iter().map(String::as_str).collect();
        let ids: Vec<&str> = path.entries.iter().map(|ix| after.id(*ix)).collect();
        let planned = ids.iter().filter(|id| known.contains(**id));
        if !planned.eq(self.ids.iter()) || ids.len() > self.ids.len() + 1 || after.nodes().count() != ids.len() {
            return Err("its entries are not those that were planned".to_owned());
        }
        if ids.last() != Some(&self.id.as_str()) {
            return Err("its last entry is not the new reminder".to_owned());
        }
        let Context { items, .. } = after.context(&path.entries).map_err(|e| format!("it cannot be read back: {e}"))?;
        if !items.iter().map(|item| after.id(item.entry)).eq(self.seen.iter().map(String::as_str)) {
            return Err("a model would not see what was planned".to_owned());
        }
        if items.last().is_none_or(|item| item.role != Role::User) {
            return Err("the new reminder is not what the person says".to_owned());
        }
        no_worse(&errors(before)?, after)
    }
}

/// Passes bytes on and knows whether a line has ended.
struct Lines<'a> {
    out: &'a mut dyn Write,
    ended: bool,
}

impl Lines<'_> {
    fn end(&mut self) -> io::Result<()> {
        if self.ended { Ok(()) } else { self.write_all(b"\n") }
    }
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(last) = written.checked_sub(1).and_then(|last| bytes.get(last)) {
            self.ended = *last == b'\n';
        }
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write(job: &CompactJob, opened: &Opened, history: &History, services: &Services<'_>) -> Result<Option<Rewritten>, RunError> {
    let session = &opened.session;
    let Some(print) = opened.print.as_ref().filter(|_| matches!(job.target, Target::InPlace)) else {
        let is_copy = !matches!(job.target, Target::Nowhere);
        let bytes = write_to(&job.target, &mut |out| history.write(session, out, None, is_copy))?;
        return Ok(Some(Rewritten { bytes, ..Rewritten::default() }));
    };
    let past = Past::of(session)?;
    let archiving = Archiving::To(job.archive_dir.clone());
    let room = session.source().len() + history.chain.iter().map(|record| record.len() as u64).sum::<u64>() + REFERENCE_ROOM;
    let order = Rewrite { print, archive: past.plan(archive::Kind::Compact, &archiving), room, wait: store::WAIT };
    let mut write = |out: &mut dyn Write, reference: Option<&Reference>| history.write(session, out, reference, false);
    let mut check = |temp: &std::path::Path| {
        let read = |error: &dyn std::fmt::Display| format!("it cannot be read back: {error}");
        let file = File::open(temp).map_err(|e| read(&e))?;
        let len = file.metadata().map_err(|e| read(&e))?.len();
        history.check(session, &Session::open(Source::file(file, len)).map_err(|e| read(&e))?)
    };
    (services.progress)("writing");
    match replace(&order, &mut write, &mut check)? {
        Replaced::Stale => Ok(None),
        Replaced::Done { bytes, archive, late } => Ok(Some(Rewritten::done(bytes, archive.as_ref(), late))),
    }
}
