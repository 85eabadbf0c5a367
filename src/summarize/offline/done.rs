//! What was done, a line for each turn or commit: the request, the files changed, the checks, the commit.

use indexmap::IndexMap;

use super::notes::{Change, Notes, Run, Step, Turn};
use super::outcome::Weight;
use super::read::is_request;
use super::select::{Item, NEW};
use super::words;
use crate::session::Ix;
use crate::text;

/// Steps that one line sums up at most; a turn without end gets a line for every so many.
const STEPS_A_LINE: usize = 14;

/// Files that a line names; with a command and a commit that stays a line one can read.
const FILES_A_LINE: usize = 2;

/// Names that are told of a file when it is the only one; of two files it is one name each.
const NAMES_OF_ONE: usize = 2;

/// The lines of all turns, oldest first.
/// `asked` says whether a line may open with the request; where the request stands above all lines, none repeats it.
pub(super) fn items(notes: &Notes, asked: bool, focus: &dyn Fn(&str) -> u64) -> Vec<Item> {
    let mut items = Vec::new();
    let turns = notes.turns.len().max(1) as u64;
    for (n, turn) in notes.turns.iter().enumerate() {
        let segments = segments(turn);
        let last = segments.len().saturating_sub(1);
        for (k, steps) in segments.into_iter().enumerate() {
            let answer = turn.answer.as_ref().filter(|_| k == last);
            let Some((text, mut worth, sources)) = line(notes, turn, steps, answer, (k == 0, asked)) else { continue };
            // What happened lately matters more: the newest turn counts three times the oldest.
            worth = worth * (turns + 2 * n as u64) / turns;
            worth *= focus(&text);
            items.push(Item { text, value: worth, order: order(n, k), sources, ..Item::default() });
        }
    }
    items
}

/// Where an item of turn `n` stands among those of its section; carried items stand before.
pub(super) fn order(n: usize, k: usize) -> u64 {
    NEW + ((n as u64) << 16) + k as u64
}

/// The steps of a turn in pieces: each ends with a commit, or is long enough.
fn segments(turn: &Turn) -> Vec<&[Step]> {
    let mut out = Vec::new();
    let mut start = 0;
    for (n, step) in turn.steps.iter().enumerate() {
        let long = n + 1 - start >= STEPS_A_LINE && turn.steps.len() - n > STEPS_A_LINE / 2;
        if !step.commits.is_empty() || long {
            out.push(turn.steps.get(start..=n).unwrap_or_default());
            start = n + 1;
        }
    }
    let rest = turn.steps.get(start..).unwrap_or_default();
    if !rest.is_empty() || out.is_empty() {
        out.push(rest);
    }
    out
}

type Told = (String, u64, Vec<Ix>);

fn line(notes: &Notes, turn: &Turn, steps: &[Step], answer: Option<&(Ix, String)>, (first, asked): (bool, bool)) -> Option<Told> {
    let mut sources = vec![turn.entry];
    sources.extend(steps.iter().map(|s| s.entry));
    let mut parts = Vec::new();
    let mut worth = 0_u64;
    let committed = steps.iter().any(|s| !s.commits.is_empty());
    if let Some((part, files)) = changed(notes, steps, committed) {
        worth += 30 + 4 * files.min(12);
        parts.push(part);
    }
    let ran = runs(steps);
    worth += 12 * ran.len() as u64;
    parts.extend(ran);
    let mut commits: Vec<&(String, String, String)> = steps.iter().flat_map(|s| &s.commits).collect();
    commits.dedup_by(|a, b| a.2 == b.2);
    for (branch, hash, message) in commits.iter().rev().take(2).rev() {
        worth += 45;
        let message = text::one_line(message, 110);
        parts.push(match (hash.as_str(), branch.as_str()) {
            ("", _) => format!("committed “{message}”"),
            (hash, _) => format!("committed “{message}” (`{hash}`)"),
        });
    }
    let calls: Vec<&str> = steps.iter().flat_map(|s| &s.calls).map(String::as_str).take(2).collect();
    if !calls.is_empty() && parts.len() < 3 {
        worth += 8;
        parts.push(format!("called {}", calls.join(" and ")));
    }
    let ask = short_ask(&turn.ask, if parts.is_empty() { 90 } else { 64 });
    let said = answer.map(|(entry, said)| {
        sources.push(*entry);
        said.as_str()
    });
    let said =
        said.filter(|s| !s.is_empty() && !words::is_chatter(s) && words::has_verb(&s.to_lowercase())).map(|s| text::one_line(s, 160));
    sources.dedup();
    if parts.is_empty() {
        // A word of praise asks for nothing.
        let asks = |ask: &String| ask.split_whitespace().count() >= 3 || ask.chars().any(words::is_unspaced);
        let (Some(ask), Some(said)) = (ask.filter(asks), said) else { return None };
        worth += if first { 14 } else { 4 };
        return Some((format!("- Answered “{ask}”: {}", closed(&said)), worth, sources));
    }
    let user_ran = steps.first().is_some_and(|s| s.say == "User") && turn.ask.is_empty();
    let lead = if user_ran {
        "User".to_owned()
    } else if first
        && asked
        && let Some(ask) = ask
    {
        format!("“{ask}”")
    } else {
        steps
            .iter()
            .map(|s| s.say.as_str())
            .find(|s| s.chars().count() > 12 && !s.ends_with('?') && !words::is_chatter(s))
            .map(|s| text::one_line(s, 90))
            .unwrap_or_default()
    };
    let mut body = parts.join("; ");
    if let Some(said) = said.filter(|_| commits.is_empty())
        && body.chars().count() < 240
    {
        body.push_str(if body.ends_with('…') { " " } else { ". " });
        body.push_str(&said);
        worth += 10;
    }
    // In a turn without an end the last words stand under what is being worked on.
    let stands = !asked
        && turn.steps.iter().rev().find(|s| s.say.chars().count() > 12).is_some_and(|s| s.say.starts_with(lead.trim_end_matches('…')));
    let text = match lead.as_str() {
        lead if stands || lead.is_empty() => format!("- {}", closed(&capital(&body))),
        lead if user_ran => format!("- {lead} {}", closed(&body)),
        lead => format!("- {lead} → {}", closed(&body)),
    };
    Some((text, worth, sources))
}

/// A request that tells something, short.
fn short_ask(ask: &str, chars: usize) -> Option<String> {
    let ask = text::one_line(ask, chars);
    let bare = ask.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let empty = ["continue", "ok", "yes", "go", "go on", "go ahead", "proceed", "weiter", "继续", "続けて"].contains(&bare.as_str());
    (!empty && bare.chars().count() >= 2 && is_request(&ask)).then_some(ask)
}

/// What files were changed, with names that they got, and how many changes there were in all.
fn changed(notes: &Notes, steps: &[Step], committed: bool) -> Option<(String, u64)> {
    let mut files: IndexMap<u32, Change> = IndexMap::new();
    for (file, change) in steps.iter().flat_map(|s| &s.changes) {
        let all = files.entry(*file).or_default();
        all.times += change.times;
        all.names.extend(change.names.iter().cloned());
    }
    let total: u32 = files.values().map(|c| c.times).sum();
    let mut order: Vec<(u32, Change)> = files.into_iter().collect();
    // Of files that changed as often, the one that the session met last is nearest to what follows.
    order.sort_by_key(|(file, change)| std::cmp::Reverse((change.times, *file)));
    let mut named = Vec::new();
    for (file, change) in order.iter().take(FILES_A_LINE) {
        let Some((_, fact)) = notes.facts.files.get_index(*file as usize) else { continue };
        let path = notes.facts.shortest(*file).replace('`', "'");
        let new = fact.writes > 0 && fact.edits == 0 && change.times == fact.writes;
        let mut seen: Vec<&str> = Vec::new();
        for name in change.names.iter().rev() {
            if !seen.contains(&name.as_str())
                && !path.contains(name.as_str())
                // What a commit was about its message says.
                && seen.len() < if committed { 0 } else if order.len() == 1 { NAMES_OF_ONE } else { 1 }
            {
                seen.push(name);
            }
        }
        let how = match (new, change.times) {
            (true, _) => "new text".to_owned(),
            (false, 1) => String::new(),
            (false, n) => format!("{n}×"),
        };
        let about: Vec<&str> = std::iter::once(how.as_str()).filter(|h| !h.is_empty()).chain(seen).collect();
        named.push(if about.is_empty() { format!("`{path}`") } else { format!("`{path}` ({})", about.join(", ")) });
    }
    if named.is_empty() {
        return None;
    }
    let more = match order.len().saturating_sub(named.len()) {
        0 => String::new(),
        1 => " and one more file".to_owned(),
        n => format!(" and {n} more files"),
    };
    Some((format!("changed {}{more}", named.join(", ")), u64::from(total)))
}

/// The commands that matter, each with how it ended in the end.
fn runs(steps: &[Step]) -> Vec<String> {
    let mut latest: IndexMap<&str, (Vec<&Run>, Weight)> = IndexMap::new();
    for run in steps
        .iter()
        .flat_map(|s| &s.runs)
        .filter(|r| r.command.weight >= Weight::Act && !r.command.key.starts_with("git commit") && !r.command.key.starts_with("git add"))
    {
        latest.entry(run.command.key.as_str()).or_insert((Vec::new(), run.command.weight)).0.push(run);
    }
    let mut told: Vec<(Weight, usize, String)> = Vec::new();
    for (n, (runs, weight)) in latest.values().enumerate() {
        let Some(last) = runs.iter().rev().find(|r| r.outcome.is_some()).or(runs.last()) else { continue };
        let failed_before =
            runs.iter().rev().skip_while(|r| !std::ptr::eq(**r, *last)).skip(1).any(|r| r.outcome.as_ref().is_some_and(|o| o.failed));
        let shown = text::one_line(&last.command.shown, 70);
        let ended = match &last.outcome {
            None => format!("started `{shown}` (no result)"),
            Some(o) if o.failed => match (&o.error, o.code) {
                (Some(error), _) => format!("`{shown}` failed: {}", text::one_line(error, 90)),
                (None, Some(code)) => format!("`{shown}` failed (exit {code})"),
                (None, None) => format!("`{shown}` failed"),
            },
            Some(o) => {
                let counts = o.counts.as_ref().map(|c| format!(" ({c})")).unwrap_or_default();
                match (weight, failed_before) {
                    (Weight::Check, true) => format!("`{shown}` failed, then passed{counts}"),
                    (Weight::Check, false) => format!("`{shown}` passed{counts}"),
                    (_, true) => format!("ran `{shown}` (failed first){counts}"),
                    _ => format!("ran `{shown}`{counts}"),
                }
            }
        };
        told.push((*weight, n, ended));
    }
    told.sort_by_key(|(weight, n, _)| (std::cmp::Reverse(*weight), *n));
    told.truncate(if steps.iter().any(|s| !s.changes.is_empty()) { 1 } else { 2 });
    told.sort_by_key(|(_, n, _)| *n);
    told.into_iter().map(|(_, _, text)| text).collect()
}

/// A sentence with its full stop.
pub(super) fn closed(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '!', '?', '…', '。', '！', '？', '”', ':']) { text.to_owned() } else { format!("{text}.") }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
