//! Candidates for every section but the names: from the notes, and from the summary that is updated.

use std::collections::HashSet;

use super::clean::clean;
use super::done::{self, closed};
use super::merge::{self, Old};
use super::notes::{Ask, Notes};
use super::read::is_request;
use super::select::{Item, NEW, Section};
use super::todo::State;
use super::transcript::{self, Who};
use super::words;
use crate::session::Ix;
use crate::summarize::{Purpose, Request};
use crate::text;

/// Order of items that are carried over: before everything new.
const CARRIED: u64 = 1 << 20;

/// Lead of an unfinished item that was carried over a stretch that said nothing of it: nobody knows whether it was done.
const UNMENTIONED: &str = "Planned earlier, not mentioned since: ";

/// The lead in summaries of before.
const UNMENTIONED_BEFORE: &str = "Still open: ";

/// Candidates by section.
pub(super) struct Candidates {
    /// The lists.
    pub lists: Vec<(Section, Vec<Item>)>,
    seen: HashSet<(Section, String)>,
}

impl Candidates {
    fn add(&mut self, section: Section, item: Item) {
        let key = merge::key(&item.text);
        if key.is_empty() || !self.seen.insert((section, key)) {
            return;
        }
        match self.lists.iter_mut().find(|(s, _)| *s == section) {
            Some((_, items)) => items.push(item),
            None => self.lists.push((section, vec![item])),
        }
    }
}

fn item(text: String, value: u64, order: u64, sources: &[Ix]) -> Item {
    Item { text, value, order, sources: sources.to_vec(), cost: 0, spare: 0 }
}

/// A text of the session inside a line: blanks collapsed, unable to act as Markdown of ours.
fn inline(content: &str, chars: usize) -> String {
    text::quote_headings(&text::one_line(content, chars)).into_owned()
}

/// Words of the user between quotation marks, blanks collapsed, at most `max` tokens: a longer one loses its middle.
fn quote(request: &Request<'_>, content: &str, max: u64) -> String {
    let flat: Vec<&str> = content.split_whitespace().map(|word| text::clip(word, 400)).collect();
    let flat = flat.join(" ");
    let mut cut = std::borrow::Cow::Borrowed(flat.as_str());
    let mut chars = flat.chars().count();
    for _ in 0..12 {
        let count = request.tokenizer.count(&cut);
        if count <= max || chars < 40 {
            break;
        }
        chars = (usize::try_from(u64::try_from(chars).unwrap_or(0) * max * 15 / 16 / count).unwrap_or(40)).max(39);
        cut = text::middle(&flat, chars, 0.6, |_| " […] ".to_owned());
    }
    format!("“{cut}”")
}

/// Everything that may be said, except names.
pub(super) fn candidates(request: &Request<'_>, notes: &mut Notes, focus: &dyn Fn(&str) -> u64) -> Candidates {
    let mut out = Candidates { lists: Vec::new(), seen: HashSet::new() };
    let old = request
        .previous
        .filter(|_| request.purpose != Purpose::TurnPrefix)
        .map(|previous| match transcript::parts(previous) {
            None => merge::parse(&clean(previous)),
            Some(parts) => parts.iter().filter(|(who, _)| *who == Who::Summary).flat_map(|(_, said)| merge::parse(&clean(said))).collect(),
        })
        .unwrap_or_default();
    goal(request, notes, &old, &mut out);
    rules(request, notes, &old, &mut out);
    for item in done::items(notes, request.purpose != Purpose::TurnPrefix, focus) {
        out.add(Section::Done, item);
    }
    unfinished(request, notes, &mut out);
    plans(request, notes, &mut out);
    let said = notes.decisions.len() as u64;
    for (n, decision) in notes.decisions.iter().enumerate() {
        let worth = u64::from(decision.strength) * 100 * (said + n as u64) / said.max(1);
        let line = format!("- {}", closed(&inline(&decision.text, 260)));
        let value = worth * focus(&line);
        out.add(Section::Decisions, item(line, value, NEW + n as u64, &[decision.entry]));
    }
    // Cleaned as one text: a key may span several lines.
    let context = request.context.join("\n");
    for (n, line) in clean(&context).lines().enumerate() {
        let line = inline(line, 400);
        let said = request.purpose == Purpose::TurnPrefix && request.previous.is_some_and(|told| told.contains(&line));
        if !line.is_empty() && !said {
            // Word for word: it may be a command or an address.
            out.add(Section::Context, item(format!("- {line}"), 1 << 30, n as u64, &[]));
        }
    }
    for (ix, summary) in std::mem::take(&mut notes.summaries) {
        for (n, learnt) in merge::parse(&summary).into_iter().enumerate() {
            let section = match learnt.section {
                Section::Goal | Section::Next | Section::Active | Section::Rules => continue,
                section => section,
            };
            out.add(section, item(format!("- {}", closed(&inline(&learnt.text, 300))), 40, CARRIED / 2 + n as u64, &[ix]));
        }
    }
    carry(notes, &old, &mut out, focus);
    out
}

fn goal(request: &Request<'_>, notes: &Notes, old: &[Old], out: &mut Candidates) {
    let budget = request.budget;
    let asks = &notes.asks;
    // A history beside the first part of a turn says it for both.
    let said = request.purpose == Purpose::TurnPrefix && request.previous.is_some_and(|told| told.contains("- Focus: "));
    if let Some(focus) = request.focus.map(clean).filter(|f| !f.trim().is_empty() && !said) {
        out.add(Section::Goal, item(format!("- Focus: {}", quote(request, &focus, budget / 20)), 900, 0, &[]));
    }
    // A goal of a summary that had more room than this one has must still fit.
    let goal_chars = usize::try_from(budget / 2).unwrap_or(500).clamp(80, 500);
    let mut earlier = Vec::new();
    let mut has_first = false;
    for (n, old) in old.iter().filter(|o| o.section == Section::Goal).enumerate() {
        let quoted = merge::quoted(&old.text);
        if old.text.starts_with("Focus:") {
        } else if let (false, Some(words)) = (has_first, quoted.filter(|_| old.text.starts_with("First request"))) {
            has_first = true;
            out.add(Section::Goal, item(format!("- First request: {}", quote(request, words, budget * 8 / 100)), 2_000, 1, &[]));
        } else if let Some(words) =
            quoted.filter(|_| ["Latest", "Open", "Earlier", "Request", "Asked"].iter().any(|lead| old.text.starts_with(lead)))
        {
            earlier.push(words.to_owned());
        } else if n < 6 {
            has_first = true;
            out.add(
                Section::Goal,
                item(
                    format!("- {}", closed(&inline(&old.text, goal_chars))),
                    if n == 0 { 1_900 } else { 1_400 - n as u64 * 40 },
                    1 + n as u64,
                    &[],
                ),
            );
        }
    }
    if request.purpose == Purpose::TurnPrefix {
        if let Some(ask) = asks.last().or(asks.first()) {
            out.add(Section::Goal, item(format!("- Asked: {}", quote(request, &ask.text, budget * 35 / 100)), 3_000, 10, &[ask.entry]));
        }
        if asks.is_empty() {
            out.add(Section::Goal, item("- Goes on with a turn that no request of the user opened.".to_owned(), 1, 10, &[]));
        }
        return;
    }
    let lead = if request.purpose == Purpose::Branch { "Opened for" } else { "First request" };
    let plain = |ask: &&Ask| is_request(&ask.text);
    let asks: Vec<&Ask> = if asks.iter().any(|ask| plain(&ask)) { asks.iter().filter(plain).collect() } else { asks.iter().collect() };
    let mut rest = asks.as_slice();
    if !has_first && let Some((first, others)) = asks.split_first() {
        rest = others;
        out.add(Section::Goal, item(format!("- {lead}: {}", quote(request, &first.text, budget * 9 / 100)), 2_000, 1, &[first.entry]));
    }
    let none = asks.is_empty();
    if !has_first && none && notes.turns.first().is_none_or(|t| t.ask.is_empty()) {
        out.add(Section::Goal, item("- No request was found in this part of the session.".to_owned(), 1, 1, &[]));
    } else if !has_first
        && none
        && let Some(turn) = notes.turns.iter().find(|t| !t.ask.is_empty())
    {
        out.add(Section::Goal, item(format!("- Started by “{}”", turn.ask), 2_000, 1, &[turn.entry]));
    }
    for (n, words) in earlier.iter().rev().take(3).enumerate() {
        out.add(
            Section::Goal,
            item(format!("- Earlier request: {}", quote(request, words, budget * 2 / 100 + 12)), 300 - n as u64 * 50, 20 - n as u64, &[]),
        );
    }
    let mut shown = 0;
    for (back, ask) in rest.iter().rev().enumerate() {
        let newest = back == 0;
        let telling = words::content_words(&ask.text).len() as u64;
        if !newest && (shown as u64 >= (budget / 500).clamp(2, 6) || telling < 5) {
            continue;
        }
        let open = newest && notes.open;
        let max = if open {
            budget * 45 / 100
        } else if newest {
            budget * 5 / 100 + 16
        } else {
            budget * 2 / 100 + 16
        };
        let lead = if open {
            "Open request, not answered yet"
        } else if newest {
            "Latest request"
        } else {
            "Request"
        };
        let value = if open {
            2_500
        } else if newest {
            1_500
        } else {
            100 * telling.min(12) / (back as u64 + 1)
        };
        out.add(Section::Goal, item(format!("- {lead}: {}", quote(request, &ask.text, max)), value, NEW - back as u64, &[ask.entry]));
        shown += 1;
    }
}

fn rules(request: &Request<'_>, notes: &Notes, old: &[Old], out: &mut Candidates) {
    let mut n = 0;
    for old in old.iter().filter(|o| o.section == Section::Rules) {
        let words = merge::quoted(&old.text).unwrap_or(&old.text);
        let strength = words::rule_strength(words).max(2);
        n += 1;
        // The first rules were not revoked by being old.
        out.add(Section::Rules, item(format!("- “{}”", inline(words, 300)), u64::from(strength) * 1_000 + 100, CARRIED + n, &[]));
    }
    // Wishes are carried when there are few orders; among orders they would only be noise.
    let orders = notes.rules.iter().filter(|r| r.strength >= 2).count();
    let wishes = notes.rules.iter().filter(|r| r.strength < 2).count();
    let mut passed_over = wishes.saturating_sub(6_usize.saturating_sub(orders));
    for rule in &notes.rules {
        // The history, and the request above, say it already.
        let whole = notes.asks.last().is_some_and(|ask| merge::key(&ask.text) == merge::key(&rule.text));
        if request.purpose == Purpose::TurnPrefix && (whole || request.previous.is_some_and(|told| told.contains(&inline(&rule.text, 300))))
        {
            continue;
        }
        if rule.strength < 2 && passed_over > 0 {
            passed_over -= 1;
            continue;
        }
        n += 1;
        out.add(
            Section::Rules,
            item(format!("- “{}”", inline(&rule.text, 300)), u64::from(rule.strength) * 1_000 + n.min(99), NEW + n, &[rule.entry]),
        );
    }
}

/// What is being worked on, and what stands in the way.
fn unfinished(request: &Request<'_>, notes: &Notes, out: &mut Candidates) {
    for (n, task) in notes.todo.tasks.iter().enumerate() {
        let n = n as u64;
        let line = |lead: &str| format!("- {lead}: {}", closed(&inline(&clean(&task.text), 200)));
        let (section, text, value) = match task.state {
            State::Done => (Section::Done, line("Finished"), 60),
            State::Active => (Section::Active, line("Doing"), 2_000),
            State::Blocked => (Section::Blocked, line("Waiting"), 1_500),
            State::Open => (Section::Next, line("To do"), 1_000 - n.min(500)),
            State::Dropped => continue,
        };
        let order = if task.state == State::Done { CARRIED * 2 + n } else { NEW + n };
        out.add(section, item(text, value, order, &[task.entry]));
    }
    for (n, task) in notes.todo.finished.iter().enumerate() {
        out.add(
            Section::Done,
            item(format!("- Finished: {}", closed(&inline(&clean(&task.text), 200))), 50, CARRIED * 2 - 1_000 + n as u64, &[task.entry]),
        );
    }
    if let Some(turn) = notes
        .turns
        .last()
        .filter(|t| t.answer.is_none() && !(t.ask.is_empty() && t.steps.iter().all(|s| s.say.chars().count() < 12 || s.say == "User")))
    {
        let last = turn.steps.iter().rev().find(|s| s.say.chars().count() > 12);
        let said = last.map(|s| closed(&inline(&s.say, 160)));
        let text = match (said, request.purpose == Purpose::TurnPrefix || !is_request(&turn.ask)) {
            (Some(said), true) => Some(format!("- Stood at: {said}")),
            (None, true) => None,
            (Some(said), false) => Some(format!("- Working on “{}”, last said: {said}", text::one_line(&turn.ask, 120))),
            (None, false) => Some(format!("- Working on “{}”.", text::one_line(&turn.ask, 120))),
        };
        let sources: Vec<Ix> = std::iter::once(turn.entry).chain(last.map(|s| s.entry)).collect();
        if let Some(text) = text {
            out.add(Section::Active, item(text, 3_000, NEW + 1_000, &sources));
        }
        if request.purpose == Purpose::TurnPrefix {
            let steps = turn.steps.iter().rev().filter(|s| s.say.chars().count() > 12 && !words::is_chatter(&s.say)).skip(1).take(4);
            for (n, step) in steps.enumerate() {
                out.add(
                    Section::Active,
                    item(
                        format!("- Before that: {}", closed(&inline(&step.say, 160))),
                        500 - n as u64,
                        NEW + 900 - n as u64,
                        &[step.entry],
                    ),
                );
            }
        }
    }
    for (n, (_, call)) in notes.pending.iter().enumerate() {
        out.add(
            Section::Blocked,
            item(format!("- No result came for the call {}.", call.what), 1_200 + n as u64, NEW + 500 + n as u64, &[call.entry]),
        );
    }
    let now = u64::from(notes.facts.texts.max(1));
    for (n, failure) in notes.failures.values().enumerate() {
        let shown = if failure.shown.starts_with('`') { failure.shown.clone() } else { format!("`{}`", failure.shown) };
        let error =
            if failure.error.is_empty() { String::new() } else { format!(": `{}`", text::one_line(&failure.error, 140).replace('`', "'")) };
        match failure.fixed {
            None => {
                let age = now - u64::from(failure.at).min(now);
                let code = failure.code.map(|c| format!(" (exit {c})")).unwrap_or_default();
                let times = if failure.times > 1 { format!(" {} times", failure.times) } else { String::new() };
                let value = 1_000 * (now - age) / now;
                // What failed in the first half and never came up again was most likely given up.
                if age * 2 < now || notes.failures.len() < 4 {
                    out.add(
                        Section::Blocked,
                        item(format!("- {shown} failed{times}{code}{error} — not fixed yet"), value, NEW + n as u64, &[failure.entry]),
                    );
                }
            }
            Some(fixed) if failure.times > 1 || !failure.error.is_empty() => {
                out.add(
                    Section::Done,
                    item(fixed_line(&shown, &failure.error), 24, done::order(notes.turns.len(), n), &[failure.entry, fixed]),
                );
            }
            Some(_) => {}
        }
    }
}

fn fixed_line(shown: &str, error: &str) -> String {
    let error = error.trim_end_matches([':', '.']).replace('`', "'");
    if error.is_empty() {
        format!("- Fixed: {shown} failed, passes now.")
    } else {
        format!("- Fixed: {shown} passes now; it failed with “{error}”.")
    }
}

/// What comes next.
fn plans(request: &Request<'_>, notes: &Notes, out: &mut Candidates) {
    for (n, next) in notes.nexts.iter().enumerate() {
        out.add(
            Section::Next,
            item(format!("- Announced: {}", closed(&inline(&next.text, 220))), 900 - n as u64, NEW + 100 + n as u64, &[next.entry]),
        );
    }
    // The question that the kept part, or the user, has yet to answer.
    if let Some(last) = notes.last_say.as_ref().filter(|_| !notes.open) {
        let sentences = words::sentences(&last.text);
        let question = sentences.iter().rev().take(3).find(|s| s.ends_with(['?', '？']));
        if let Some(question) = question {
            out.add(
                Section::Next,
                item(format!("- Asked the user: {}", quote(request, question, request.budget / 12)), 1_800, NEW + 300, &[last.entry]),
            );
        }
    }
}

/// Carries over what the earlier summary said and nothing new has replaced.
fn carry(notes: &mut Notes, old: &[Old], out: &mut Candidates, focus: &dyn Fn(&str) -> u64) {
    let replaced_list = !notes.todo.tasks.is_empty();
    let went_on = !notes.turns.is_empty();
    let mut finished: Vec<Vec<String>> = notes.claims.iter().map(|(_, words)| words.clone()).collect();
    finished.extend(notes.turns.iter().flat_map(|t| &t.steps).flat_map(|s| &s.commits).map(|(_, _, m)| words::content_words(m)));
    finished.extend(
        notes.todo.tasks.iter().chain(&notes.todo.finished).filter(|t| t.state == State::Done).map(|t| words::content_words(&t.text)),
    );
    let is_finished = |text: &str| {
        let words = words::content_words(text);
        finished.iter().any(|claim| words::covers(claim, &words))
    };
    let went_far = notes.turns.len() >= 3;
    let talked: Vec<Vec<String>> = notes
        .turns
        .iter()
        .flat_map(|t| std::iter::once(&t.ask).chain(t.steps.iter().map(|s| &s.say)))
        .map(|said| words::content_words(said))
        .collect();
    let is_mentioned = |text: &str| {
        let words = words::content_words(text);
        talked.iter().any(|said| words::covers(said, &words))
    };
    let passes = |text: &str| {
        notes.checks.iter().chain(&notes.later_checks).any(|(key, check)| {
            !check.last.failed && (text.contains(&format!("`{}`", check.shown)) || key.contains(' ') && text.contains(key.as_str()))
        })
    };
    let fails = |text: &str| notes.failures.values().any(|f| f.fixed.is_none() && text.contains(&f.shown));
    let count = |section: Section| old.iter().filter(|o| o.section == section).count() as u64;
    let mut at = 0;
    let mut facts: Vec<&Old> = Vec::new();
    for old in old {
        at += 1;
        let text = old.text.trim();
        let n = count(old.section).max(1);
        let here = at.min(n);
        // Of what is carried, the newer half counts more; all of it less than what is new.
        let fade = |value: u64| value * (n + here) / (3 * n) * focus(text);
        let line = |lead: &str| format!("- {lead}{}", closed(&inline(text, 400)));
        match old.section {
            Section::Goal | Section::Rules => {}
            Section::Done => {
                let worth = if text.contains("committed") || text.contains('→') { 60 } else { 40 };
                out.add(Section::Done, item(line(""), fade(worth), CARRIED + at, &[]));
            }
            Section::Active | Section::Next => {
                let leads = ["Doing: ", "To do: ", "Announced: ", "Before that: ", UNMENTIONED, UNMENTIONED_BEFORE];
                let bare = leads.iter().fold(text, |t, lead| t.strip_prefix(lead).unwrap_or(t));
                if text.starts_with("Asked the user") || (text.starts_with("Before that") || text.starts_with("Stood at")) && went_on {
                } else if text.starts_with("Working on") {
                    let again =
                        merge::quoted(text).is_some_and(|ask| notes.turns.iter().any(|t| t.ask.starts_with(ask.trim_end_matches('…'))));
                    if !went_on {
                        out.add(old.section, item(line(""), 500, CARRIED + at, &[]));
                    } else if !again && let Some(ask) = merge::quoted(text) {
                        out.add(Section::Done, item(format!("- Worked on “{}”", inline(ask, 160)), fade(30), CARRIED + at, &[]));
                    }
                } else if is_finished(bare) || passes(bare) {
                    out.add(Section::Done, item(format!("- Finished: {}", closed(&inline(bare, 300))), 60, CARRIED * 2 + at, &[]));
                } else if (text.starts_with("Doing: ") || text.starts_with("To do: ")) && replaced_list
                    || text.starts_with("Announced: ") && !notes.nexts.is_empty()
                {
                } else if let Some(bare) = text.strip_prefix(UNMENTIONED).or_else(|| text.strip_prefix(UNMENTIONED_BEFORE)) {
                    // Twice carried without a word about it: given up, or done without a word.
                    if !went_far || is_mentioned(bare) {
                        out.add(old.section, item(line(""), fade(400), CARRIED + at, &[]));
                    }
                } else if went_far && !is_mentioned(bare) {
                    out.add(Section::Next, item(format!("- {UNMENTIONED}{}", closed(&inline(bare, 300))), fade(400), CARRIED + at, &[]));
                } else {
                    out.add(old.section, item(line(""), fade(600), CARRIED + at, &[]));
                }
            }
            Section::Blocked => {
                if text.starts_with("No result came") && went_on || fails(text) {
                } else if passes(text) || is_finished(text) {
                    let bare = text.split(" — not fixed yet").next().unwrap_or(text);
                    let line = match bare.split_once(": `") {
                        Some((_, error)) => {
                            let shown = bare.split('`').nth(1).map(|shown| format!("`{shown}`")).unwrap_or_default();
                            fixed_line(&shown, &inline(error.trim_end_matches('`'), 200))
                        }
                        None => format!("- Fixed: {}", closed(&inline(bare, 260))),
                    };
                    out.add(Section::Done, item(line, 30, CARRIED * 2 + at, &[]));
                } else {
                    out.add(Section::Blocked, item(line(""), fade(500), CARRIED + at, &[]));
                }
            }
            Section::Decisions => out.add(Section::Decisions, item(line(""), fade(180), CARRIED + at, &[])),
            Section::Context => {
                let checked = text.strip_prefix("Check with `").and_then(|rest| rest.split('`').next());
                if checked.is_some_and(|shown| notes.checks.values().any(|check| check.shown == shown)) {
                } else if merge::is_fact_line(text) {
                    facts.push(old);
                } else {
                    out.add(Section::Context, item(line(""), fade(200), CARRIED + at, &[]));
                }
            }
        }
    }
    let mut place = merge::Place::default();
    for old in facts {
        merge::take_facts(notes, &old.text, &mut place);
    }
}
