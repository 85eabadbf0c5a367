//! Which tool results a model no longer needs.
//!
//! Three reasons: a result is old, it shows a file that was read again later, or its tool said that it does not matter. The
//! result stays where it is and keeps its call; only its text gives way to a notice.

mod calls;

use std::io;
use std::ops::Range;

use self::calls::{CallFacts, call_facts, later_reads};
use super::tokens::{Counter, IMAGE_TOKENS};
use crate::session::edit::{Splice, member, member_of, parts, with_splices, without};
use crate::session::places::Places;
use crate::session::{Block, Ix, Json, Kind, Map, Message, Role, Session, Set, Sym, unix_ms};
use crate::text::errors::excerpt;
use crate::threads;

/// Why a result is pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It is old.
    Age,
    /// The file was read again later.
    Superseded,
    /// Its tool said that it does not matter.
    Useless,
}

impl Reason {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Age => "age",
            Reason::Superseded => "superseded",
            Reason::Useless => "useless",
        }
    }

    /// The text that stands in the place of a result of `tokens` tokens; the agents write and look for these words.
    #[must_use]
    pub fn notice(self, tokens: u64) -> String {
        match self {
            Reason::Age => format!("[Output truncated - {tokens} tokens]"),
            Reason::Superseded => "[Superseded by a newer read of this file]".to_owned(),
            Reason::Useless => "[Uneventful result elided]".to_owned(),
        }
    }
}

/// A number of tokens, as such or as a part of the model's window: one number does not fit windows of 32,000 and 1,000,000.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// Tokens.
    Tokens(u64),
    /// Percent of the window, 0 to 100.
    Percent(f64),
}

impl Share {
    /// Tokens, rounded down.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "windows are small, casts saturate"
    )]
    pub fn of(self, window: u64) -> u64 {
        match self {
            Share::Tokens(tokens) => tokens,
            Share::Percent(percent) => (window as f64 * percent / 100.0) as u64,
        }
    }
}

/// When to prune what.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneSettings {
    /// Tokens of the newest results that age does not touch.
    pub protect_tokens: Share,
    /// Tokens that all of it must save, or nothing is pruned.
    pub min_savings: Share,
    /// Tokens below which age does not touch a result.
    pub min_result_tokens: Share,
    /// Tokens of the window that percentages mean.
    pub window: u64,
    /// Whether errors that age prunes keep the ends of their text and the lines that tell what failed.
    pub keep_errors: bool,
    /// Whether superseded reads are pruned.
    pub superseded: bool,
    /// Whether useless results are pruned.
    pub useless: bool,
    /// The per-turn pass: only superseded and useless results, and only where that costs no provider cache.
    pub stale: Option<Stale>,
    /// Tools whose results stay.
    pub protected_tools: Vec<String>,
    /// Whether files are protected too, which takes a look at every call.
    pub protects_files: bool,
    /// Whether results after the latest request stay.
    pub protect_last_turn: bool,
}

/// When the per-turn pass may touch a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stale {
    /// At most so many tokens stand after it.
    pub suffix_tokens: u64,
    /// Or nobody worked on the session for so long, ms.
    pub idle_ms: u64,
    /// The time of the run, Unix ms.
    pub now_ms: u64,
}

impl Default for PruneSettings {
    fn default() -> Self {
        PruneSettings {
            protect_tokens: Share::Tokens(40_000),
            min_savings: Share::Tokens(20_000),
            min_result_tokens: Share::Tokens(50),
            window: crate::models::DEFAULT_WINDOW,
            keep_errors: false,
            superseded: true,
            useless: true,
            stale: None,
            protected_tools: Vec::new(),
            protects_files: false,
            protect_last_turn: false,
        }
    }
}

/// One result that is pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// The result.
    pub entry: Ix,
    /// Why.
    pub reason: Reason,
    /// Its tokens now.
    pub tokens: u64,
    /// Tokens that go, as oh-my-pi counts them: those of all of the result, less those of the notice.
    pub saved: u64,
    /// What stands in the place of its text.
    pub notice: String,
    /// Images that stay beside the notice, because the result has text as well. [`Pruned::saved`] counts them all the same.
    pub images: u64,
}

/// What pruning would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrunePlan {
    /// The results, in path order.
    pub results: Vec<Pruned>,
    /// Tokens that go.
    pub saved: u64,
    /// It saves enough to be done.
    pub worth_it: bool,
}

impl PrunePlan {
    fn of(results: Vec<Pruned>, settings: &PruneSettings) -> PrunePlan {
        let saved = results.iter().map(|r| r.saved).sum();
        let worth_it = !results.is_empty() && (settings.stale.is_some() || saved >= settings.min_savings.of(settings.window));
        PrunePlan { results, saved, worth_it }
    }

    /// Tokens of images that stay beside notices: they are part of [`PrunePlan::saved`] and are not freed.
    #[must_use]
    pub fn kept_image_tokens(&self) -> u64 {
        self.results.iter().map(|r| r.images * IMAGE_TOKENS).sum()
    }

    /// Leaves out the results that `keep` does not name; the rest is judged anew.
    pub fn retain(&mut self, settings: &PruneSettings, keep: impl Fn(Ix) -> bool) {
        let mut results = std::mem::take(&mut self.results);
        results.retain(|pruned| keep(pruned.entry));
        *self = PrunePlan::of(results, settings);
    }
}

/// Plans the pruning of a path. `is_protected` tells which paths stay.
///
/// # Errors
/// When an entry cannot be read.
pub fn plan(
    counter: &mut Counter<'_>,
    path: &[Ix],
    settings: &PruneSettings,
    is_protected: &dyn Fn(&str) -> bool,
) -> io::Result<PrunePlan> {
    let session = counter.session();
    let boundary = session.boundary(path);
    let start = match boundary.compaction {
        Some(compaction) => boundary.first_kept.unwrap_or(compaction + 1),
        None => boundary.reset.map_or(0, |reset| reset + 1),
    };
    let calls = counted_beside_calls(counter, path, !settings.protects_files)?;
    let plan_file = plan_file(session, path)?;
    let last_turn = last_turn(session, path);
    // Results count as the edits of the path leave them, and those that have an edit stay as they are; an agent that does not
    // know such edits sees the results themselves.
    let edited = if session.is_pi_1x() { edited(counter, path)? } else { Map::default() };
    // A read that an edit left nothing of stands for no earlier one.
    let superseding = later_reads(session, path, &calls, &|ix| edited.get(&ix) == Some(&0));
    let count = |counter: &mut Counter<'_>, ix: Ix| edited.get(&ix).map_or_else(|| counter.entry(ix), |tokens| Ok(*tokens));
    let mut timing = settings.stale.map(|stale| Timing::of(counter, path, stale)).transpose()?;

    let mut results = Vec::new();
    let mut newer = 0;
    for (at, ix) in path.iter().copied().enumerate().rev() {
        let entry = &session[ix];
        if let Some(timing) = timing.as_mut() {
            timing.step(count(counter, ix)?);
        }
        if entry.role != Role::ToolResult || !entry.is_message() {
            continue;
        }
        let tokens = count(counter, ix)?;
        let protected_by_age = newer < settings.protect_tokens.of(settings.window);
        newer += tokens;
        if at < start || entry.flags.pruned() || edited.contains_key(&ix) || (settings.protect_last_turn && at > last_turn) {
            continue;
        }
        let facts = entry.target.and_then(|call| calls.get(&call));
        if stays(session, ix, facts, plan_file.as_deref(), settings, is_protected) {
            continue;
        }
        let saving = |reason: Reason| tokens.saturating_sub((reason.notice(tokens).len() as u64).div_ceil(4));
        let is_superseded = settings.superseded && facts.is_some_and(|facts| superseding.supersedes(at, facts));
        let reason = if is_superseded {
            Reason::Superseded
        } else if settings.useless && entry.flags.useless() && !entry.flags.is_error() && saving(Reason::Useless) > 0 {
            Reason::Useless
        } else if settings.stale.is_none()
            && !protected_by_age
            && tokens >= settings.min_result_tokens.of(settings.window)
            && saving(Reason::Age) > 0
        {
            Reason::Age
        } else {
            continue;
        };
        if timing.as_ref().is_some_and(|timing| !timing.allows()) {
            continue;
        }
        let mut pruned = Pruned { entry: ix, reason, tokens, saved: saving(reason), notice: reason.notice(tokens), images: 0 };
        let log = if settings.keep_errors && reason == Reason::Age { error_log(session, ix)? } else { None };
        if let Some(log) = log {
            pruned.notice = format!("{}\n{}", pruned.notice, excerpt(&log));
            pruned.saved = tokens.saturating_sub(counter.tokenizer().count(&pruned.notice));
            if pruned.saved == 0 {
                continue;
            }
        }
        if entry.images > 0 && session.with_message(ix, |message| message.blocks.iter().any(|b| matches!(b, Block::Text(_))))? {
            pruned.images = u64::from(entry.images);
        }
        results.push(pruned);
    }
    results.reverse();
    Ok(PrunePlan::of(results, settings))
}

/// Entries of a path below which a thread for its calls costs more than it saves.
const WORTH_A_THREAD: usize = 1_000;

/// Counts the results of a path, all of which are asked for, while its calls are read.
fn counted_beside_calls(counter: &mut Counter<'_>, path: &[Ix], reads_only: bool) -> io::Result<Map<Sym, CallFacts>> {
    let session = counter.session();
    let results: Vec<Ix> = path.iter().copied().filter(|ix| session[*ix].role == Role::ToolResult).collect();
    let read = || call_facts(session, path, reads_only);
    if path.len() < WORTH_A_THREAD {
        counter.prefetch(&results)?;
        return read();
    }
    let (calls, counted) = threads::beside(read, || counter.prefetch(&results))?;
    counted?;
    calls
}

/// The entries that edits of a path change, each with the tokens that are left of it in the context.
fn edited(counter: &mut Counter<'_>, path: &[Ix]) -> io::Result<Map<Ix, u64>> {
    let session = counter.session();
    let edits = path.iter().filter(|ix| session[**ix].kind == Kind::ContextEdit);
    let mut left: Map<Ix, u64> = edits.filter_map(|ix| session.find(session[*ix].target?)).map(|ix| (ix, 0)).collect();
    if left.is_empty() {
        return Ok(left);
    }
    let context = session.context(path)?;
    for item in context.items.iter().filter(|item| item.edit.is_some()) {
        left.insert(item.entry, counter.item(&context, item)?);
    }
    Ok(left)
}

/// The text of a result that tells of a failure: one that its tool called an error, or a command's whose exit code, which
/// the agents keep in `details`, is not 0.
fn error_log(session: &Session, ix: Ix) -> io::Result<Option<String>> {
    let payload = session.read(ix)?;
    let text = payload.text();
    let record = Json::parse(&text).unwrap_or(Json::Null);
    let code = record.get("message").get("details").get("exitCode");
    if !session[ix].flags.is_error() && matches!(code, Json::Null | Json::Int(0)) {
        return Ok(None);
    }
    Ok(Message::of(Kind::Message, &record).map(|message| message.text().into_owned()).filter(|text| !text.is_empty()))
}

/// The results that a person asked to keep, by tool, file or turn, anywhere in the session: no measure for the file's size
/// changes them.
///
/// # Errors
/// When an entry cannot be read.
pub fn protected(session: &Session, path: &[Ix], settings: &PruneSettings, is_protected: &dyn Fn(&str) -> bool) -> io::Result<Set<Ix>> {
    let all: Vec<Ix> = session.nodes().map(|(ix, _)| ix).collect();
    let calls = if settings.protects_files { call_facts(session, &all, false)? } else { Map::default() };
    let mut kept: Set<Ix> = Set::default();
    if settings.protect_last_turn {
        kept.extend(path.iter().skip(last_turn(session, path) + 1));
    }
    kept.extend(all.into_iter().filter(|ix| {
        let entry = &session[*ix];
        let tool = entry.tool.map_or("", |tool| session.name(tool));
        let file = || entry.target.and_then(|call| calls.get(&call)).and_then(|facts| facts.path.as_deref());
        entry.role == Role::ToolResult && (settings.protected_tools.iter().any(|t| t == tool) || file().is_some_and(is_protected))
    }));
    Ok(kept)
}

/// Position of the latest request on a path; its end when there is none.
fn last_turn(session: &Session, path: &[Ix]) -> usize {
    path.iter().rposition(|ix| session[*ix].role == Role::User && session[*ix].kind == Kind::Message).unwrap_or(path.len())
}

/// Results that no reason touches: skills and plans are in use for as long as the session is, and what was read back from an
/// artifact would be read again.
fn stays(
    session: &Session,
    ix: Ix,
    facts: Option<&CallFacts>,
    plan_file: Option<&str>,
    settings: &PruneSettings,
    is_protected: &dyn Fn(&str) -> bool,
) -> bool {
    let tool = session[ix].tool.map_or("", |tool| session.name(tool));
    if tool == "skill" || settings.protected_tools.iter().any(|t| t == tool) {
        return true;
    }
    let Some(path) = facts.and_then(|facts| facts.path.as_deref()) else { return false };
    let is_read = facts.is_some_and(|facts| facts.is_read);
    is_protected(path) || (is_read && (path.starts_with("skill://") || path.starts_with("artifact://") || plan_file == Some(path)))
}

/// The file of the plan that the session is working on.
fn plan_file(session: &Session, path: &[Ix]) -> io::Result<Option<String>> {
    for ix in path.iter().rev().copied() {
        if session[ix].kind != Kind::Other || session.type_name(ix) != "mode_change" {
            continue;
        }
        let payload = session.read(ix)?;
        let text = payload.text();
        let record = Json::parse(&text).unwrap_or(Json::Null);
        if let Some(file) = record.get("data").get("planFilePath").str() {
            return Ok(Some(file.to_owned()));
        }
    }
    Ok(None)
}

/// Whether the per-turn pass may touch a result: rewriting what a provider has in its cache costs more than it saves, unless
/// little stands after it or the cache is gone anyway.
struct Timing {
    stale: Stale,
    idle: bool,
    after: u64,
    pending: u64,
}

impl Timing {
    fn of(counter: &mut Counter<'_>, path: &[Ix], stale: Stale) -> io::Result<Timing> {
        let session = counter.session();
        let newest = path.iter().rev().copied().find(|ix| session[*ix].kind == Kind::Message);
        let last = match newest {
            Some(ix) => message_time(session, ix)?,
            None => None,
        };
        let idle = last.is_some_and(|last| stale.now_ms.saturating_sub(last) >= stale.idle_ms);
        Ok(Timing { stale, idle, after: 0, pending: 0 })
    }

    /// Goes on to an older entry: what was the candidate before now stands after it.
    fn step(&mut self, tokens: u64) {
        self.after += self.pending;
        self.pending = tokens;
    }

    fn allows(&self) -> bool {
        self.idle || self.after <= self.stale.suffix_tokens
    }
}

/// The time of a message, Unix ms: its own, else its entry's.
fn message_time(session: &Session, ix: Ix) -> io::Result<Option<u64>> {
    let payload = session.read(ix)?;
    let text = payload.text();
    let record = Json::parse(&text).unwrap_or(Json::Null);
    let own = record.get("message").get("timestamp").amount();
    let entry = || record.get("timestamp").str().and_then(unix_ms).and_then(|ms| u64::try_from(ms).ok());
    Ok(own.or_else(entry))
}

/// What changes in the line of a pruned result, whose parts stand at `places`: the notice stands for its text, `prunedAt` is
/// set; images beside text and every other byte stay. `None` when the line cannot be edited in place.
#[must_use]
pub fn changes(line: &str, places: &Places, notice: &str, now_ms: u64) -> Option<Vec<Splice>> {
    if !places.images {
        return changes_at(places, notice, now_ms);
    }
    let splices = text_gives_way(line, places.content.clone(), notice)?;
    dated(splices, places, now_ms)
}

/// The same where the places alone tell it: `None` when there may be images.
#[must_use]
pub fn changes_at(places: &Places, notice: &str, now_ms: u64) -> Option<Vec<Splice>> {
    if places.images {
        return None;
    }
    dated(vec![Splice { range: places.content.clone(), text: format!("[{}]", block_of(notice)) }], places, now_ms)
}

/// The changes, with the time of the pruning at the end of the message.
fn dated(mut splices: Vec<Splice>, places: &Places, now_ms: u64) -> Option<Vec<Splice>> {
    let end = places.message.end.checked_sub(1)?;
    let at = splices.iter().position(|splice| splice.range.start > end).unwrap_or(splices.len());
    splices.insert(at, Splice { range: end..end, text: format!(",\"prunedAt\":{now_ms}") });
    Some(splices)
}

/// The block that a notice is.
fn block_of(notice: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, serde_json::Value::from(notice))
}

/// The content that [`changes`] would leave of a pruned result, for an edit that says it in another place. `None` when the
/// line holds no message with a content.
#[must_use]
pub fn replacement(line: &str, notice: &str) -> Option<String> {
    let content = member_of(line, "message", "content")?;
    let splices = text_gives_way(line, content.clone(), notice)?;
    with_splices(line.get(..content.end)?, &splices)?.get(content.start..).map(str::to_owned)
}

/// What changes when a notice takes the place of all text of a content, which stands at a range of its line. Images stay
/// when there is text beside them.
#[must_use]
pub fn text_gives_way(line: &str, content: Range<usize>, notice: &str) -> Option<Vec<Splice>> {
    let block = block_of(notice);
    let inner = line.get(content.clone())?;
    let all = parts(inner).unwrap_or_default();
    let kind = |at: usize| all.get(at).and_then(|part| inner.get(part.value.clone())).and_then(block_kind);
    let kinds: Vec<Option<String>> = (0..all.len()).map(kind).collect();
    let is = |at: usize, name: &str| kinds.get(at).is_some_and(|kind| kind.as_deref() == Some(name));
    let first = (0..all.len()).find(|at| is(*at, "text")).filter(|_| (0..all.len()).any(|at| is(at, "image")));
    let Some(first) = first else { return Some(vec![Splice { range: content, text: format!("[{block}]") }]) };
    let mut splices = without(&all, |at, _| at != first && !is(at, "image"));
    let place = all.get(first)?.value.clone();
    let at = splices.iter().position(|splice| splice.range.start > place.start).unwrap_or(splices.len());
    splices.insert(at, Splice { range: place, text: block });
    for splice in &mut splices {
        splice.range = splice.range.start + content.start..splice.range.end + content.start;
    }
    Some(splices)
}

/// The `type` of a content block.
pub(super) fn block_kind(block: &str) -> Option<String> {
    serde_json::from_str(block.get(member(block, "type")?)?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn changed(line: &str) -> Option<String> {
        with_splices(line, &changes(line, &Places::of(line)?, "[gone]", 5)?)
    }

    #[test]
    fn a_pruned_line_changes_only_in_content_and_time() {
        let line = r#"{"type":"message","id":"a" , "n":1.0,"message":{"role":"toolResult","content":[{"type":"text","text":"long"}],"isError":false,"x":"\/"},"z":12345678901234567890}"#;
        let want = r#"{"type":"message","id":"a" , "n":1.0,"message":{"role":"toolResult","content":[{"type":"text","text":"[gone]"}],"isError":false,"x":"\/","prunedAt":5},"z":12345678901234567890}"#;
        assert_eq!(changed(line).unwrap(), want);
        let plain = r#"{"message":{"content":"text"}}"#;
        assert_eq!(changed(plain).unwrap(), r#"{"message":{"content":[{"type":"text","text":"[gone]"}],"prunedAt":5}}"#);
        assert_eq!(changed("{}"), None);
    }

    #[test]
    fn p06_an_image_stays_beside_the_notice_for_its_text() {
        let line = |content: &str| format!(r#"{{"message":{{"content":{content}}}}}"#);
        let (text, image, gone) =
            (r#"{"type":"text","text":"long"}"#, r#"{"type":"image", "data":"AA=="}"#, r#"{"type":"text","text":"[gone]"}"#);
        let rows = [
            (format!("[{text},{image}]"), format!("[{gone},{image}]")),
            (format!("[{image},{text}]"), format!("[{image},{gone}]")),
            (format!("[ {text}, {text} ,{image}, {text} , {{\"type\":\"other\"}},{image} ]"), format!("[ {gone} ,{image},{image} ]")),
            (format!("[{{\"type\":\"other\"}},{image},{text}]"), format!("[{image},{gone}]")),
            (format!("[{image}]"), format!("[{gone}]")),
            ("[]".to_owned(), format!("[{gone}]")),
        ];
        for (from, want) in rows {
            let want = line(&want).replace("]}}", "],\"prunedAt\":5}}");
            assert_eq!(changed(&line(&from)).unwrap(), want, "{from}");
            // An edit says the same content.
            let content = replacement(&line(&from), "[gone]").unwrap();
            assert_eq!(line(&content).replace("]}}", "],\"prunedAt\":5}}"), want, "{from}");
        }
    }

    #[test]
    fn p12_a_share_of_the_window_is_rounded_down() {
        assert_eq!((Share::Percent(80.0).of(200_000), Share::Percent(33.0).of(1_000), Share::Tokens(7).of(1)), (160_000, 330, 7));
    }
}
