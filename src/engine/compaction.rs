//! The plan of a compaction, the entry it writes, and whether that is worth it.

use std::io;

use serde_json::{Map, Value};

use super::cut::{self, Cut, CutError, CutSettings, Nothing};
use super::files::{self, Files};
use super::serialize::{LeftOut, Selection, select};
use super::tokens::{Counter, Tokenizer};
use super::usage::{self, Estimate};
use super::window::OPENAI_REPLAY;
use crate::frames::archive::{read_frame, text_of};
use crate::session::frames::{self, Archive, plain};
use crate::session::{Context, Ix, Json, Kind, Role, Session, unix_ms};
use crate::summarize::{Line, Summary};
use crate::text;

/// What to do, without the words.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The path that is compacted.
    pub path: Vec<Ix>,
    /// Where it is cut.
    pub cut: Cut,
    /// The context as it is.
    pub context: Context,
    /// Its size.
    pub estimate: Estimate,
    /// What is summarized.
    pub history: Selection,
    /// What of the split turn is summarized.
    pub prefix: Selection,
    /// What stays as it is.
    pub kept: Vec<Ix>,
    /// What the latest compaction hands on.
    pub previous: Option<Previous>,
    /// The files so far.
    pub files: Files,
}

/// What the latest compaction hands on.
#[derive(Debug, Clone, Default)]
pub struct Previous {
    /// The text that the new summary updates, without file tags.
    pub summary: String,
    /// `preserveData` that stays valid.
    pub preserve: Map<String, Value>,
    /// Something worth telling.
    pub warning: Option<String>,
}

/// Payloads that a new text summary supersedes: a provider's own replay, and frames, which are folded into the text.
const SUPERSEDED: &[&str] = &[OPENAI_REPLAY, "anthropicCompaction", "snapcompact"];

/// Plans the compaction of a path.
///
/// # Errors
/// When an entry cannot be read, or `keep_from` names no candidate.
pub fn plan(counter: &mut Counter<'_>, path: &[Ix], settings: CutSettings<'_>) -> Result<Result<Plan, Nothing>, CutError> {
    let session = counter.session();
    let cut = match cut::cut(counter, path, settings)? {
        Ok(cut) => cut,
        Err(nothing) => return Ok(Err(nothing)),
    };
    let context = session.context(path)?;
    let estimate = usage::estimate(counter, path, &context)?;
    let summarized = cut.summarized(session, path);
    let prefix = cut.turn_prefix(session, path);
    let previous = cut.previous.and_then(|at| path.get(at)).copied();
    let mut previous = previous.map(|ix| read_previous(session, ix)).transpose()?;
    let (mut history, mut prefix) = (select(session, path, &summarized)?, select(session, path, &prefix)?);
    if previous.is_none() {
        // A replaced history and a handoff leave no compaction, but a message that tells what one would.
        for part in [&mut history, &mut prefix] {
            for ix in part.told.clone() {
                if let Some(summary) = super::replace::carried_summary(session, ix)? {
                    previous = Some(Previous { summary, ..Previous::default() });
                    part.covered.insert(ix);
                }
            }
        }
    }
    Ok(Ok(Plan {
        history,
        prefix,
        kept: cut.kept(session, path),
        previous,
        files: files_of(session, path, &cut)?,
        path: path.to_vec(),
        cut,
        context,
        estimate,
    }))
}

/// The files that the compaction records.
///
/// # Errors
/// When an entry cannot be read.
pub fn files_of(session: &Session, path: &[Ix], cut: &Cut) -> io::Result<Files> {
    let mut touched = cut.summarized(session, path);
    touched.extend(cut.turn_prefix(session, path));
    files::of_compaction(session, cut.previous.and_then(|at| path.get(at)).copied(), &touched)
}

/// What the frames of a compaction say; `None` when it has no archive of frames.
///
/// # Errors
/// When the entry cannot be read.
pub(super) fn text_on_frames(session: &Session, ix: Ix) -> io::Result<Option<String>> {
    let payload = session.read(ix)?;
    if memchr::memmem::find(payload.bytes(), frames::KEY.as_bytes()).is_none() {
        return Ok(None);
    }
    let text = payload.text();
    let record = Json::parse(&text).unwrap_or(Json::Null);
    Ok(Archive::parse(record.get("preserveData")).map(|archive| said(&archive)))
}

/// The whole text of an archive, as a person reads it.
fn said(archive: &Archive) -> String {
    text_of(archive).map(|text| plain(&text)).unwrap_or_default()
}

pub(super) fn read_previous(session: &Session, ix: Ix) -> io::Result<Previous> {
    debug_assert_eq!(session[ix].kind, Kind::Compaction);
    let payload = session.read(ix)?;
    let text = payload.text();
    let record = Json::parse(&text).unwrap_or(Json::Null);
    let preserve_data = record.get("preserveData");
    let mut previous = Previous { summary: files::strip_tags(record.get("summary").str().unwrap_or_default()), ..Previous::default() };
    if let Some(archive) = Archive::parse(preserve_data) {
        // The entry's summary only tells how to read the frames; what they say is the history.
        previous.summary = said(&archive);
        if archive.text.is_none() && archive.frames.iter().any(|frame| read_frame(frame).is_err()) {
            previous.warning = Some(
                "the latest compaction holds history on frames that cannot be read back here; what they say is not carried on".to_owned(),
            );
        }
    }
    for (key, value) in preserve_data.members() {
        if !SUPERSEDED.contains(&key.as_ref()) {
            previous.preserve.insert(key.clone().into_owned(), serde_json::from_str(&value.to_text()).unwrap_or(Value::Null));
        }
    }
    Ok(previous)
}

/// The words of a compaction.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// Summary of the history; `None` when a split turn is all there is.
    pub history: Option<Summary>,
    /// Summary of the split turn's first part.
    pub prefix: Option<Summary>,
    /// The whole text, when somebody else gave it; it is stored as it is, with secrets masked and without file tag of ours.
    pub given: Option<String>,
    /// What else the entry gets.
    pub extra: Extra,
}

/// What an entry gets beside its words.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// The words came from an extension, which is what agents call a hook.
    pub from_extension: bool,
    /// `details` in place of ours.
    pub own_details: Option<Map<String, Value>>,
    /// More members of our `details`.
    pub details: Map<String, Value>,
    /// `preserveData` over what is carried on.
    pub preserve: Map<String, Value>,
    /// What the words took, in the form in which agents store it.
    pub usage: Option<Value>,
    /// The entry through which a provider replays its own history from `preserve`.
    pub replay_through: Option<String>,
}

impl Extra {
    /// The entry's `details`: those that were given, else ours.
    #[must_use]
    pub fn details(&self, files: &Files, note: Option<&str>) -> Value {
        if let Some(own) = &self.own_details {
            return own.clone().into();
        }
        let mut details = Map::new();
        details.insert("readFiles".to_owned(), files.only_read().into());
        details.insert("modifiedFiles".to_owned(), files.changed().into());
        if let Some(note) = note {
            details.insert("summarizer".to_owned(), note.into());
        }
        details.extend(self.details.clone());
        details.into()
    }

    /// The same for an entry that tells no files: nothing at all where there is nothing to tell.
    pub fn put_details(&self, entry: &mut Map<String, Value>, note: Option<&str>) {
        let note = note.map(|note| ("summarizer".to_owned(), note.into()));
        let details = self.own_details.clone().unwrap_or_else(|| note.into_iter().chain(self.details.clone()).collect());
        if !details.is_empty() {
            entry.insert("details".to_owned(), details.into());
        }
        self.put_origin(entry);
    }

    /// The members of an entry that say where its words came from.
    pub fn put_origin(&self, entry: &mut Map<String, Value>) {
        if self.from_extension {
            entry.insert("fromExtension".to_owned(), true.into());
        }
        if let Some(usage) = &self.usage {
            entry.insert("usage".to_owned(), usage.clone());
        }
    }
}

/// Tokens that the summary's text may have, so that with the tag, which was fitted, it stays within `summary_tokens`.
#[must_use]
pub fn text_budget(summary_tokens: u64, tokenizer: Tokenizer, files: &Files) -> u64 {
    summary_tokens.saturating_sub(tokenizer.count(&files.tag()) + SEAMS).max(summary_tokens / 2)
}

/// Tokens of what joins the parts of a summary, generously.
const SEAMS: u64 = 24;

impl Draft {
    /// Both parts as one summary, without the file tag; secrets are masked.
    #[must_use]
    pub fn whole(&self) -> Summary {
        let mut whole = Summary { short: self.short().to_owned(), ..Summary::default() };
        if let Some(given) = &self.given {
            whole.lines = given.lines().map(|text| Line { text: text.to_owned(), sources: Vec::new() }).collect();
            return masked(whole);
        }
        let mut put = |text: &str| whole.lines.push(Line { text: text.to_owned(), sources: Vec::new() });
        let parts = self.history.iter().filter(|h| !h.text().is_empty());
        let history: Vec<Line> = parts.flat_map(|h| h.lines.iter().cloned()).collect();
        if self.prefix.is_some() {
            for seam in if history.is_empty() { &[TURN_CONTEXT, ""][..] } else { &["", "---", "", TURN_CONTEXT, ""] } {
                put(seam);
            }
        }
        whole.lines.extend(self.prefix.iter().flat_map(|p| p.lines.iter().cloned()));
        whole.lines.splice(0..0, history);
        masked(whole)
    }

    fn short(&self) -> &str {
        let shorts = self.history.iter().chain(&self.prefix).map(|s| s.short.trim());
        shorts.into_iter().find(|s| !s.is_empty()).unwrap_or_default()
    }

    /// The summary as it is stored: both parts and the file tag, secrets masked once more.
    #[must_use]
    pub fn stored(&self, files: &Files) -> String {
        if let Some(given) = &self.given {
            return text::masked(given.trim()).into_owned();
        }
        let text = files::strip_tags(&self.whole().text());
        let tag = files.tag();
        let parts: Vec<&str> = [text.as_str(), tag.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
        text::masked(&parts.join("\n\n")).into_owned()
    }
}

/// A summary without secrets. A key may run over several lines, so the text is masked as one; a line keeps its sources, and
/// lines that became another number share those of all of them.
fn masked(summary: Summary) -> Summary {
    let short = text::masked(&summary.short).into_owned();
    let old: Vec<Line> = summary
        .lines
        .into_iter()
        .flat_map(|line| {
            let sources = line.sources;
            line.text.split('\n').map(|text| Line { text: text.to_owned(), sources: sources.clone() }).collect::<Vec<_>>()
        })
        .collect();
    let text = old.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    let text = text::masked(&text);
    let new: Vec<&str> = if old.is_empty() { Vec::new() } else { text.split('\n').collect() };
    let lines = if new.len() == old.len() {
        new.iter().zip(old).map(|(text, line)| Line { text: (*text).to_owned(), ..line }).collect()
    } else {
        let same = |pairs: &mut dyn Iterator<Item = (&Line, &&str)>| pairs.take_while(|(line, text)| line.text == **text).count();
        let head = same(&mut old.iter().zip(&new));
        let most = old.len().min(new.len()) - head;
        let tail = same(&mut old.iter().rev().zip(new.iter().rev())).min(most);
        let mut shared: Vec<Ix> = old.iter().take(old.len() - tail).skip(head).flat_map(|line| line.sources.iter().copied()).collect();
        shared.sort_unstable();
        shared.dedup();
        let line = |(at, text): (usize, &&str)| {
            let from_end = new.len() - at;
            let kept =
                if at < head { old.get(at) } else { old.len().checked_sub(from_end).filter(|_| from_end <= tail).and_then(|n| old.get(n)) };
            Line { text: (*text).to_owned(), sources: kept.map_or_else(|| shared.clone(), |line| line.sources.clone()) }
        };
        new.iter().enumerate().map(line).collect()
    };
    Summary { lines, short, ..Summary::default() }
}

/// What stands before the second part of a split turn's summary; the agents look for it.
const TURN_CONTEXT: &str = "**Turn Context (split turn):**";

/// Everything else that the entry needs.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// The time of the run, RFC 3339 with milliseconds.
    pub now: &'a str,
    /// Tokens of the rebuilt context, when they are known.
    pub tokens_after: Option<u64>,
    /// How the words were made, when that is not the default.
    pub note: Option<&'a str>,
}

/// The entry as one line with its line end, and its id.
///
/// # Errors
/// When a system message cannot be read.
pub fn entry(session: &Session, plan: &Plan, draft: &Draft, stamp: Stamp<'_>) -> io::Result<(String, Vec<u8>)> {
    let parent = plan.path.last().map(|ix| session.id(*ix));
    let summary = draft.stored(&plan.files);
    let id = session.new_id(parent, summary.as_bytes());
    let first_kept = plan.path.get(plan.cut.first_kept).map_or("", |ix| session.id(*ix));
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    put("type", "compaction".into());
    put("id", id.clone().into());
    put("parentId", parent.map_or(Value::Null, Value::from));
    put("timestamp", stamp.now.into());
    put("summary", summary.into());
    if !draft.short().is_empty() {
        put("shortSummary", text::masked(draft.short()).into());
    }
    put("firstKeptEntryId", first_kept.into());
    put("tokensBefore", plan.estimate.before().into());
    if let Some(tokens) = stamp.tokens_after {
        put("tokensAfter", tokens.into());
    }
    put("details", draft.extra.details(&plan.files, stamp.note));
    let mut preserve = plan.previous.as_ref().map(|p| p.preserve.clone()).unwrap_or_default();
    preserve.extend(draft.extra.preserve.clone());
    if !preserve.is_empty() {
        put("preserveData", preserve.into());
    }
    if let Some(system) = system_message(session, &plan.path, stamp.now)? {
        put("systemMessage", system);
    }
    if let Some(id) = &draft.extra.replay_through {
        entry.insert("providerReplayThroughEntryId".to_owned(), id.as_str().into());
    }
    draft.extra.put_origin(&mut entry);
    let mut line = serde_json::to_vec(&entry).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok((id, line))
}

/// The system prompt at the end of a path, as pi 1.x wants it on a compaction: a compaction's own, then every later system
/// message replayed in order. `None` when the path has none.
///
/// # Errors
/// When an entry cannot be read.
pub fn system_message(session: &Session, path: &[Ix], now: &str) -> io::Result<Option<Value>> {
    let mut content: Vec<String> = Vec::new();
    let mut sections: Map<String, Value> = Map::new();
    let mut tools: Vec<Value> = Vec::new();
    let mut timestamp = None;
    let mut found = false;
    for ix in path.iter().copied() {
        let entry = &session[ix];
        let is_compaction = entry.kind == Kind::Compaction;
        if !is_compaction && (entry.kind != Kind::Message || entry.role != Role::System) {
            continue;
        }
        let payload = session.read(ix)?;
        let record: Value = serde_json::from_str(&payload.text()).unwrap_or_default();
        let Some(message) = record.get(if is_compaction { "systemMessage" } else { "message" }).and_then(Value::as_object) else {
            continue;
        };
        found = true;
        if is_compaction {
            content.clear();
            sections.clear();
            tools.clear();
        }
        let text = match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(blocks)) => {
                blocks.iter().filter_map(|b| b.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        };
        if !text.is_empty() {
            content.push(text);
        }
        for (name, section) in message.get("sections").and_then(Value::as_object).into_iter().flatten() {
            match section {
                Value::Null => {
                    sections.shift_remove(name);
                }
                section => {
                    sections.insert(name.clone(), section.clone());
                }
            }
        }
        let name = |tool: &Value| tool.get("name").or(Some(tool)).and_then(Value::as_str).map(str::to_owned);
        let list = |key: &str| message.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        for gone in list("toolsRemoved").iter().chain(&list("toolsAdded")) {
            tools.retain(|tool| name(tool) != name(gone));
        }
        tools.extend(list("toolsAdded"));
        timestamp = message.get("timestamp").cloned().or(timestamp);
    }
    if !found {
        return Ok(None);
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), "system".into());
    message.insert("content".to_owned(), content.join("\n\n").into());
    if !sections.is_empty() {
        message.insert("sections".to_owned(), sections.into());
    }
    if !tools.is_empty() {
        message.insert("toolsAdded".to_owned(), tools.into());
    }
    let now_ms = unix_ms(now).unwrap_or(0);
    message.insert("timestamp".to_owned(), timestamp.unwrap_or_else(|| now_ms.into()));
    Ok(Some(message.into()))
}

/// What a compaction left out of the text that was summarized, in path order.
#[must_use]
pub fn dropped(plan: &Plan) -> Vec<(Ix, LeftOut)> {
    plan.history.left_out.iter().chain(&plan.prefix.left_out).copied().collect()
}

/// What is wrong with a predicted session: the same checks for every writer, made before anything is written.
///
/// # Errors
/// When an entry cannot be read.
pub fn verify(before: &Session, plan: &Plan, after: &Session, id: &str) -> io::Result<Result<Context, String>> {
    let Some(entry) = after.by_id(id) else { return Ok(Err("the new entry cannot be found in the new session".to_owned())) };
    let path = after.path(entry);
    if path.cycle || path.entries.len() != plan.path.len() + 1 {
        return Ok(Err("the new entry does not stand behind the path that was planned".to_owned()));
    }
    let context = after.context(&path.entries)?;
    let kept: Vec<&str> = plan.kept.iter().map(|ix| before.id(*ix)).collect();
    let allowed: std::collections::HashSet<&str> = kept.iter().copied().collect();
    for item in &context.items {
        if item.entry != entry && !allowed.contains(after.id(item.entry)) {
            return Ok(Err(format!("entry {} would be in the context although it was summarized", after.id(item.entry))));
        }
    }
    // A system prompt moves onto the new entry, whole; system messages of the kept range are told there.
    let was = plan.context.items.iter().filter(|i| i.role != Role::System).map(|i| before.id(i.entry)).filter(|id| allowed.contains(id));
    let is = context.items.iter().filter(|i| i.entry != entry && i.role != Role::System).map(|i| after.id(i.entry));
    // Messages that a provider replayed by itself were in no context, and come into it with their payload gone.
    let mut is = is;
    if let Some(lost) = was.into_iter().find(|id| !is.any(|other| other == *id)) {
        return Ok(Err(format!("the kept entry {lost} would not be in the context, or not in its place")));
    }
    let calls: std::collections::HashSet<&str> = context
        .items
        .iter()
        .filter(|i| i.role == Role::Assistant)
        .flat_map(|i| after.calls(i.entry))
        .map(|call| after.name(*call))
        .collect();
    let had: std::collections::HashSet<&str> = plan
        .context
        .items
        .iter()
        .filter(|i| i.role == Role::Assistant)
        .flat_map(|i| before.calls(i.entry))
        .map(|call| before.name(*call))
        .collect();
    for item in context.items.iter().filter(|i| i.role == Role::ToolResult) {
        let call = after[item.entry].target.map_or("", |call| after.name(call));
        if !calls.contains(call) && had.contains(call) {
            return Ok(Err(format!("result {} would be kept without its call", after.id(item.entry))));
        }
    }
    Ok(Ok(context))
}
