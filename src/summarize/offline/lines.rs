//! Lines of facts: the names that the work was about, each with what it belongs to (`map`), commands worth running again,
//! addresses, and what was found out about things with a name.
//!
//! A name is only told with what it belongs to: a list of names says nothing to a reader, whatever is on it.

use std::collections::{BTreeMap, HashSet};

use super::facts::Fact;
use super::map::{Map, NAMES_A_LINE, and};
use super::names::{self, Shape};
use super::notes::Said;
use super::outcome::Weight;
use super::pool::Pool;
use super::select::{Chosen, Item, Section};
use super::{done, words};
use crate::session::Ix;
use crate::text;

/// Findings that are weighed; the newest.
const FINDINGS_WEIGHED: usize = 400;

/// What a statement of the last answer is worth beside its names.
const LAST_ANSWER: u64 = 2_048;

/// Commands that are told as worth running again.
const MOST_COMMANDS: usize = 4;

/// Places of the kinds of lines: findings, commands, files, the rest.
const ORDER: u64 = 1 << 41;

/// Takes the lines that are worth most until `room` is used up.
pub(super) fn fill(pool: &mut Pool<'_>, chosen: &mut Chosen, room: u64) -> Map {
    let floor = chosen.left().saturating_sub(room);
    let take = |pool: &mut Pool<'_>, chosen: &mut Chosen, item: Item, share: u64| {
        let left = chosen.left().saturating_sub(floor + room * (100 - share) / 100);
        let text = item.text.clone();
        if chosen.take(Section::Context, item, left) {
            pool.tell(&text);
            return true;
        }
        false
    };
    for item in commands(pool) {
        take(pool, chosen, item, 15);
    }
    let mut map = Map::new(pool);
    let mut misses = 0;
    while misses < 12
        && let Some(item) = map.next(pool)
    {
        if take(pool, chosen, item.clone(), 96) {
            map.opened(pool, &item);
        } else {
            map.missed(&item);
            misses += 1;
        }
    }
    for item in map.rest(pool) {
        take(pool, chosen, item, 98);
    }
    for item in addresses(pool) {
        take(pool, chosen, item, 100);
    }
    findings(pool, &mut |pool, item| take(pool, chosen, item, 100));
    map
}

/// Takes further lines about files for the case that there is room for them.
pub(super) fn spare(pool: &mut Pool<'_>, map: &mut Map, chosen: &mut Chosen) {
    map.again(pool);
    let mut misses = 0;
    while misses < 6
        && let Some(item) = map.next(pool)
    {
        let text = item.text.clone();
        if chosen.take_spare(Section::Context, item.clone()) {
            pool.tell(&text);
            map.opened(pool, &item);
        } else {
            misses += 1;
        }
    }
}

/// Checks that were run more than once, with how they ended last.
fn commands(pool: &Pool<'_>) -> Vec<Item> {
    let mut checks: Vec<_> = pool
        .notes
        .checks
        .values()
        .filter(|check| check.weight == Weight::Check && check.passed + check.failed >= 2 && check.shown.chars().count() < 90)
        .collect();
    checks.sort_by_key(|check| (std::cmp::Reverse((check.passed + check.failed).min(8)), std::cmp::Reverse(check.entry)));
    let mut out = Vec::new();
    for check in checks.into_iter().take(MOST_COMMANDS) {
        let times = check.passed + check.failed;
        let counts = check.last.counts.as_ref().map(|c| format!(" ({c})")).unwrap_or_default();
        let last = if check.last.failed { "fails" } else { "passes" };
        let failed = match check.failed {
            0 => String::new(),
            _ if check.last.failed => String::new(),
            n => format!(", {n} failed"),
        };
        let text = format!("- Check with `{}`: {last}{counts} after {times} runs{failed}.", check.shown);
        out.push(Item {
            text,
            value: 2_000_000 + u64::from(times),
            order: ORDER + (1 << 30) + out.len() as u64,
            sources: vec![check.entry],
            ..Item::default()
        });
    }
    out
}

/// Addresses that the user gave or a call used, and hashes that were worked with.
fn addresses(pool: &Pool<'_>) -> Vec<Item> {
    let wanted = |name: &str, fact: &Fact| match fact.shape {
        Shape::Url => (fact.by_user || fact.in_call) && ["http", "ws", "ssh", "git"].iter().any(|scheme| name.starts_with(scheme)),
        Shape::Hash => fact.in_call && fact.texts >= 2 || fact.by_user,
        _ => false,
    };
    let mut ranked: Vec<(u64, &str, Fact)> = pool
        .all()
        .filter(|(n, worth)| worth.value > 0 && wanted(worth.name, worth.fact) && !pool.is_told(*n) && !pool.text.contains(worth.name))
        .map(|(_, worth)| (worth.value, worth.name, *worth.fact))
        .collect();
    ranked.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut kinds: BTreeMap<&str, Vec<(String, Ix)>> = BTreeMap::new();
    for (_, name, fact) in ranked {
        let lead = match (fact.shape, fact.by_user) {
            (Shape::Url, true) => "The user named",
            (Shape::Url, false) => "Commands used",
            (_, true) => "The user asked about",
            _ => "Commands looked at",
        };
        let told = pool.notes.facts.hashes.get(name).map_or(name, |told| told);
        kinds.entry(lead).or_default().push((told.to_owned(), fact.entry));
    }
    let mut out = Vec::new();
    for (lead, listed) in kinds {
        let a_line = if lead.ends_with("named") || lead.ends_with("used") { 2 } else { NAMES_A_LINE };
        for chunk in listed.chunks(a_line).take(3) {
            let names: Vec<String> = chunk.iter().map(|(told, _)| told.clone()).collect();
            let mut sources: Vec<Ix> = chunk.iter().map(|(_, ix)| *ix).collect();
            sources.sort_unstable();
            sources.dedup();
            let n = out.len() as u64;
            let text = format!("- {lead} {}.", and(&names));
            out.push(Item { text, value: 500_000 - n, order: ORDER + (3 << 30) + n, sources, ..Item::default() });
        }
    }
    out
}

/// Statements of the assistant, those first that tell the most names which are likely needed again and stand nowhere yet.
fn findings(pool: &mut Pool<'_>, take: &mut dyn FnMut(&mut Pool<'_>, Item) -> bool) {
    let all = &pool.notes.findings;
    let newest = all.get(all.len().saturating_sub(FINDINGS_WEIGHED)..).unwrap_or_default();
    let first = all.len() - newest.len();
    // What opens an answer or a step is told as such.
    let turns = &pool.notes.turns;
    let leads = turns.iter().flat_map(|t| t.answer.iter().map(|(_, said)| said).chain(t.steps.iter().map(|s| &s.say)));
    let leads: HashSet<String> = leads.map(|said| text::one_line(said, 60)).collect();
    let newest: Vec<&Said> = newest.iter().filter(|said| !leads.contains(&text::one_line(&said.text, 60))).collect();
    let mut queue: Vec<(u64, usize, &Said)> =
        newest.iter().enumerate().map(|(n, said)| (worth(pool, said, n, newest.len()), n, *said)).collect();
    queue.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut misses = 0;
    // The worth of those that are left only falls while others are taken, so the best is found by looking again at the top.
    while let Some((known, n, said)) = queue.pop() {
        if known == 0 || misses > 8 {
            break;
        }
        let now = worth(pool, said, n, newest.len());
        if now < known && queue.last().is_some_and(|(next, _, _)| *next > now) {
            let at = queue.partition_point(|(value, other, _)| (*value, *other) < (now, n));
            queue.insert(at, (now, n, said));
            continue;
        }
        let line = format!("- {}", done::closed(&text::quote_headings(&text::one_line(&said.text, 240))));
        let item = Item { text: line, value: now, order: ORDER + (first + n) as u64, sources: vec![said.entry], ..Item::default() };
        if !take(pool, item) {
            misses += 1;
        }
    }
}

/// What a finding is worth for each char; nothing when it tells no name, or is told already.
fn worth(pool: &Pool<'_>, said: &Said, n: usize, all: usize) -> u64 {
    let opening = text::one_line(&said.text, 60);
    if pool.text.contains(opening.trim_end_matches('…')) {
        return 0;
    }
    let mut sum = 0;
    let mut seen: Vec<usize> = Vec::new();
    names::scan(&said.text, |name| {
        let Some(at) = pool.find(pool.notes.facts.short(name.text)) else { return };
        if !seen.contains(&at) && seen.len() < NAMES_A_LINE {
            seen.push(at);
            sum += pool.gain(at);
        }
    });
    let talk = words::content_words(&said.text).len() as u64;
    // What the last answer found is worth telling whatever names it has.
    if pool.notes.last_say.as_ref().is_some_and(|last| last.entry == said.entry) {
        sum += LAST_ANSWER;
    }
    // Newer ones count up to three times as much as the oldest.
    sum * (all + 2 * n) as u64 / all.max(1) as u64 * talk.min(8) / (said.text.len() as u64 + 20)
}
