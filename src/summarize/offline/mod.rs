//! The offline summarizer: what most people will ever see of a compaction.
//!
//! No model, no network, no clock: it copies. One pass over the messages (`read`, into `notes` and `facts`) keeps requests,
//! rules, steps, outcomes, task lists, decisions and names; they become candidates with a value (`compose`, `done`); those
//! that are worth most are taken until the budget is spent (`select`). Then the files that matter are told by what was
//! changed in them, with commands and findings (`lines`); what is worth nothing to a reader leaves the budget unspent. A
//! summary that is updated is read back into the same candidates (`merge`), so that repeating this never only grows.
//!
//! Everything that is noted is bounded, so memory does not follow the length of the session; all ranking is done in
//! integers and all ties are broken by text, so the same bytes give the same summary on every machine.

mod args;
mod clean;
mod compose;
mod done;
mod facts;
mod lines;
mod map;
mod merge;
mod names;
mod notes;
mod outcome;
mod phrases;
mod pool;
mod read;
mod select;
mod todo;
mod transcript;
mod words;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::{Line, Purpose, Request, SummarizeError, Summarizer, Summary};
use crate::session::Json;
use crate::text;

use select::{Chosen, Section};

/// The summarizer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

/// Chars of the short form.
const SHORT_CHARS: usize = 200;

/// Tokens that headings, the first request and the rules take before anything waits for files.
const FIRST_LINES: u64 = 300;

/// Below this many tokens a summary is for what was asked, done and is open.
const SMALL: u64 = 1_000;

/// Percent of the budget, beyond what the first lines need, that waits for files and findings while the other sections
/// choose. Agents re-read files and go on with what is in them; measured on what sessions named after a cut, this serves them
/// better than more of what was done.
const FACTS_SHARE: u64 = 93;

impl Summarizer for Offline {
    fn name(&self) -> &'static str {
        "offline"
    }

    fn summarize(&self, request: &Request<'_>) -> Result<Summary, SummarizeError> {
        // What the previous summary tells is not told again from where that stands.
        let fresh = (request.previous.is_some() && !request.selection.covered.is_empty()).then(|| request.selection.fresh());
        let request = &Request { selection: fresh.as_ref().unwrap_or(request.selection), ..*request };
        let folder = folder(request)?;
        let mut notes = read::Reader::new(request, &folder).read()?;
        let kept = kept_names(request, &notes)?;
        let focus_words = request.focus.map(words::content_words).unwrap_or_default();
        let focus = |said: &str| {
            if focus_words.is_empty() {
                return 1;
            }
            let lower = said.to_lowercase();
            if focus_words.iter().any(|word| lower.contains(word.as_str())) { 4 } else { 1 }
        };
        let mut candidates = compose::candidates(request, &mut notes, &focus);
        let mut chosen = Chosen::new(request.purpose, request.tokenizer, request.budget, request.spare);
        // A small summary is for what was asked and what is open; files need room to be of use.
        let share = match request.purpose {
            Purpose::Handoff => FACTS_SHARE - 20,
            // What is told of the time before is short already.
            _ if request.previous.is_some() => FACTS_SHARE - 15,
            _ => FACTS_SHARE,
        };
        let reserve = request.budget.saturating_sub(FIRST_LINES) * share / 100;
        chosen.fill(&mut candidates.lists, reserve);
        if request.budget < SMALL {
            // What was done fits only whole lines; a few of them tell more than names can in this space.
            let room = chosen.left() * 2 / 3;
            chosen.fill_one(Section::Done, &mut candidates.lists, room);
        }
        let said = chosen.left() * 3 / 10;
        chosen.fill_one(Section::Context, &mut candidates.lists, said);
        let room = chosen.left();
        // A turn's prefix stands behind the summary of the history, and repeats no name of it.
        let before = if request.purpose == Purpose::TurnPrefix { request.previous.unwrap_or_default() } else { "" };
        let mut pool = pool::Pool::new(&notes, &kept, &focus, request.tokenizer);
        pool.tell(before);
        pool.tell(&chosen.told());
        let mut map = lines::fill(&mut pool, &mut chosen, room);
        for section in [Section::Goal, Section::Done, Section::Decisions, Section::Context] {
            let room = chosen.left();
            chosen.fill_one(section, &mut candidates.lists, room);
        }
        lines::spare(&mut pool, &mut map, &mut chosen);
        let (lines, spare) = chosen.lines();
        let short = short(&notes, &lines);
        Ok(Summary { lines, short, spare })
    }
}

/// The working folder of the session.
fn folder(request: &Request<'_>) -> Result<String, SummarizeError> {
    let Some(header) = request.session.header_entry() else { return Ok(String::new()) };
    let payload = request.session.read(header)?;
    let text = payload.text();
    let json = Json::parse(&text).unwrap_or(Json::Null);
    Ok(json.get("cwd").str().unwrap_or_default().to_owned())
}

/// Messages of the kept part whose names are looked up, from its start: they stand behind the summary word for word.
const KEPT_MESSAGES: usize = 400;

fn kept_names(request: &Request<'_>, notes: &notes::Notes) -> Result<HashSet<String>, SummarizeError> {
    let mut out = HashSet::new();
    for ix in request.kept.iter().copied().take(KEPT_MESSAGES) {
        request.selection.with_told(request.session, ix, |message| {
            let text = message.text();
            names::scan(text::clip(&text, 64 << 10), |name| {
                out.insert(notes.facts.short(name.text).to_owned());
                if name.text.starts_with("./") {
                    out.insert(name.text.to_owned());
                }
            });
            for call in message.calls() {
                names::scan(text::clip(&call.args.to_text(), 64 << 10), |name| {
                    out.insert(notes.facts.short(name.text).to_owned());
                });
            }
        })?;
    }
    Ok(out)
}

/// One or two sentences for lists: what it is about, and where it stands.
fn short(notes: &notes::Notes, lines: &[Line]) -> String {
    let goal = lines
        .iter()
        .map(|line| line.text.as_str())
        .find(|text| text.starts_with("- ") && !text.starts_with("- Focus:"))
        .unwrap_or_default();
    let goal = merge::quoted(goal).unwrap_or_else(|| goal.trim_start_matches("- ").trim_end_matches('.'));
    let goal = text::one_line(goal, 90);
    let steps = notes.turns.iter().rev().flat_map(|t| t.steps.iter().rev());
    let commit =
        steps.clone().flat_map(|s| s.commits.iter().rev()).map(|(_, _, m)| format!("last committed “{}”", text::one_line(m, 70))).next();
    let answer = notes.turns.last().and_then(|t| t.answer.as_ref()).map(|(_, a)| text::one_line(a, 90)).filter(|a| !a.is_empty());
    let said = steps.map(|s| &s.say).find(|s| s.chars().count() > 12).map(|s| format!("working on it: {}", text::one_line(s, 70)));
    let committing = notes.turns.last().is_some_and(|t| t.steps.iter().any(|s| !s.commits.is_empty()));
    let state = if committing { answer.or(commit) } else { answer.or(said).or(commit) };
    let joined = match state {
        Some(state) => format!("{goal} — {state}"),
        None => goal,
    };
    text::one_line(&joined, SHORT_CHARS)
}
