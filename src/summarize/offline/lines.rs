//! Lines of facts: for each file that matters what was done with it and which names in it are likely needed again, commands
//! worth running again, addresses, and what was found out about things with a name.
//!
//! A name is worth the chance that it comes up again, by how many texts it stood in and how lately; one that already stands
//! in the summary, or in the part that is kept word for word, is worth nothing. A name is only told with what it belongs to:
//! a list of names says nothing to a reader, whatever is on it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::facts::{Change, Fact, FileFact, NOWHERE};
use super::names::{self, Shape};
use super::notes::{Notes, Said};
use super::outcome::Weight;
use super::select::{Chosen, Item, Section};
use super::{done, words};
use crate::session::Ix;
use crate::text;

/// Names on one line, the file included: more is a list that nobody reads.
const NAMES_A_LINE: usize = 6;

/// Names of a file that was only read.
const NAMES_OF_READ: usize = 3;

/// Definitions of one changed file that are told.
const LINES_A_FILE: usize = 20;

/// Lines that one definition gets.
const LINES_A_DEFINITION: usize = 2;

/// Names of one file that are weighed against each other.
const NAMES_WEIGHED: usize = 240;

/// Findings that are weighed; the newest.
const FINDINGS_WEIGHED: usize = 400;

/// Commands that are told as worth running again.
const MOST_COMMANDS: usize = 4;

/// Places of the kinds of lines: findings, commands, files, the rest.
const ORDER: u64 = 1 << 41;

/// What is known while lines are chosen.
pub(super) struct Pool<'f> {
    notes: &'f Notes,
    /// Names of the part that is kept.
    kept: &'f HashSet<String>,
    /// Text that stands before the summary.
    before: &'f str,
    focus: &'f dyn Fn(&str) -> u64,
    /// What the summary says already.
    told: String,
    /// Names of code by the file they belong to.
    of_file: HashMap<u32, Vec<(&'f str, &'f Fact)>>,
}

impl<'f> Pool<'f> {
    pub(super) fn new(notes: &'f Notes, kept: &'f HashSet<String>, before: &'f str, focus: &'f dyn Fn(&str) -> u64) -> Self {
        let mut of_file: HashMap<u32, Vec<(&'f str, &'f Fact)>> = HashMap::new();
        for (name, fact) in &notes.facts.names {
            if fact.home != NOWHERE && (fact.shape == Shape::Ident || fact.shape == Shape::Kebab && fact.by_user) {
                of_file.entry(fact.home).or_default().push((name, fact));
            }
        }
        Pool { notes, kept, before, focus, told: String::new(), of_file }
    }
}

/// Takes the lines that are worth most until `room` is used up.
pub(super) fn fill(pool: &mut Pool<'_>, chosen: &mut Chosen, room: u64) {
    let floor = chosen.left().saturating_sub(room);
    pool.told = chosen.told();
    pool.told.push_str(pool.before);
    let take = |pool: &mut Pool<'_>, chosen: &mut Chosen, item: Item, share: u64| {
        let left = chosen.left().saturating_sub(floor + room * (100 - share) / 100);
        let text = item.text.clone();
        if chosen.take(Section::Context, item, left) {
            pool.told.push_str(&text);
            pool.told.push('\n');
            return true;
        }
        false
    };
    for item in commands(pool) {
        take(pool, chosen, item, 15);
    }
    // Half of the files go first, so that findings do not tell of a file what its own line would.
    let files = ranked_files(pool);
    let most = usize::try_from(room / 40).unwrap_or(0).clamp(2, 20);
    let (mut shown, mut misses) = (0, 0);
    let (mut told, mut bare) = (Vec::new(), Vec::new());
    for (place, number) in files.into_iter().enumerate() {
        if shown >= most || misses > 4 {
            break;
        }
        let Some(item) = file_line(pool, number, place as u64) else { continue };
        if item.sources.len() == 1 && !item.text.contains(": ") && item.text.starts_with("- Edited") {
            bare.push(number);
            continue;
        }
        if take(pool, chosen, item, 65) {
            shown += 1;
            told.push((place as u64, number));
        } else {
            misses += 1;
        }
    }
    let mut inner: Vec<Item> = Vec::new();
    for (rank, (place, number)) in told.iter().enumerate() {
        // Most of the room is for the file that the work is about; of many files, two lines each are enough to find one's way.
        let lines = match (rank, told.len()) {
            (0, 1) => LINES_A_FILE,
            (0, _) => 14,
            (1 | 2, _) => 8,
            _ => 3,
        };
        inner.extend(inner_lines(pool, *number, *place, lines));
    }
    inner.sort_by(|a, b| b.value.cmp(&a.value).then(a.order.cmp(&b.order)));
    for item in inner.into_iter().take(3 * most) {
        take(pool, chosen, item, 85);
    }
    for item in bare.chunks(NAMES_A_LINE - 1).take(2).enumerate().filter_map(|(n, files)| bare_line(pool, files, n)).collect::<Vec<_>>() {
        take(pool, chosen, item, 88);
    }
    for item in addresses(pool) {
        take(pool, chosen, item, 90);
    }
    findings(pool, &mut |pool, item| take(pool, chosen, item, 100));
}

/// The chance that a name comes up again, in 1/4096. Fitted to what real sessions named in the 150 messages after a cut:
/// it grows with the texts a name stood in (to the power of 1.5) and falls with the square root of how long ago that was;
/// what only a call said, never a result, was often gone by then. Integers, so that every machine ranks alike.
fn chance(pool: &Pool<'_>, name: &str, fact: &Fact) -> u64 {
    let texts = u64::from(fact.texts.clamp(1, 4_000));
    let age = u64::from(pool.notes.facts.texts.saturating_sub(fact.last));
    // 256 · texts^1.5 / (64 · √(1 + age/30)), that is in quarters
    let mut odds = texts * (texts << 16).isqrt() / (4_096 + (age << 12) / 30).isqrt();
    odds *= 64;
    if !fact.in_result {
        odds /= 3;
    }
    if fact.said {
        odds = odds * 5 / 3;
    }
    if fact.by_user {
        odds *= 2;
    }
    if fact.defined {
        odds = odds * 5 / 4;
    }
    let even = 2 * 4 * 64;
    let chance = (odds << 12) / (odds + even);
    let chance = match fact.shape {
        Shape::Kebab | Shape::Number => chance / 2,
        // Imports name files by where the importing one stands, which helps nobody to find them.
        Shape::Path if name.starts_with("../") => chance / 3,
        _ => chance,
    };
    chance * (pool.focus)(name)
}

/// Whether a name is more than something that a tool printed once: it came up in several turns, was asked for and printed,
/// was said, or stands in a change.
fn recurs(fact: &Fact) -> bool {
    fact.turns >= 2 || fact.said || fact.by_user || fact.change > Change::Used || fact.in_call && fact.in_result
}

/// Whether a file is what the work was about last, or what the user named.
fn is_near(pool: &Pool<'_>, file: &FileFact) -> bool {
    file.by_user || u64::from(file.last) * 10 >= u64::from(pool.notes.facts.texts) * 9
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_graphic()) && !name.contains(['`', '|', '<', '>'])
}

fn path_of(notes: &Notes, home: u32) -> Option<(&str, &FileFact)> {
    notes.facts.files.get_index(home as usize).filter(|_| home != NOWHERE).map(|(path, fact)| (&**path, fact))
}

/// The files that matter, first the one that matters most: changed ones before read ones, those of the latest part and those
/// that the user named before others.
fn ranked_files(pool: &Pool<'_>) -> Vec<u32> {
    let now = u64::from(pool.notes.facts.texts.max(1));
    let mut files: Vec<(u64, u32)> = Vec::new();
    for (n, (path, fact)) in pool.notes.facts.files.iter().enumerate() {
        let changes = u64::from(fact.edits + fact.writes);
        let use_ = 60 * changes.min(1) + 12 * changes.min(12) + 6 * u64::from(fact.reads.min(6));
        let user = if fact.by_user { 2 } else { 1 };
        let worth = use_ * user * (now + 2 * u64::from(fact.last)) / now * (pool.focus)(path);
        files.push((worth, u32::try_from(n).unwrap_or(NOWHERE)));
    }
    files.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    files.into_iter().map(|(_, number)| number).collect()
}

/// A name of a file.
type Ranked<'f> = (u64, &'f str, Fact);

/// Names that belong to a file and may come up again, best first.
fn names_of<'f>(pool: &Pool<'f>, number: u32) -> Vec<Ranked<'f>> {
    let near = path_of(pool.notes, number).is_some_and(|(_, file)| is_near(pool, file));
    let mut names: Vec<Ranked<'f>> = pool
        .of_file
        .get(&number)
        .into_iter()
        .flatten()
        .filter(|(_, fact)| recurs(fact) || near && fact.owner != NOWHERE)
        .filter(|(name, _)| is_plain(name) && !pool.kept.contains(*name) && !names::is_common(name))
        .map(|(name, fact)| (chance(pool, name, fact) * if fact.change > Change::Used { 3 } else { 1 }, *name, **fact))
        .collect();
    names.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    names.truncate(2 * NAMES_WEIGHED);
    // What was changed is worth saying twice: in what was done, and of the file.
    names.retain(|(_, name, fact)| fact.change > Change::Used || !has_word(&pool.told, name));
    names.truncate(NAMES_WEIGHED);
    names
}

/// Whether a name stands in a text, not as part of a longer one.
fn has_word(told: &str, name: &str) -> bool {
    let inner = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    told.match_indices(name).any(|(at, _)| {
        !inner(told.get(..at).and_then(|t| t.chars().next_back())) && !inner(told.get(at + name.len()..).and_then(|t| t.chars().next()))
    })
}

fn file_line(pool: &Pool<'_>, number: u32, place: u64) -> Option<Item> {
    let (path, fact) = path_of(pool.notes, number).filter(|(path, _)| is_plain(path))?;
    let changed = fact.edits + fact.writes > 0;
    let did = match (fact.writes, fact.edits, fact.reads) {
        (0, 0, 0 | 1) => "Read".to_owned(),
        (0, 0, n) => format!("Read {n}×"),
        (_, 0, _) => "Wrote".to_owned(),
        (_, 1, _) => "Edited".to_owned(),
        (_, n, _) => format!("Edited {n}×"),
    };
    let most = if changed { NAMES_A_LINE - 1 } else { NAMES_OF_READ };
    let mut added = Vec::new();
    let mut touched = Vec::new();
    let mut other = Vec::new();
    let mut sources = vec![fact.entry];
    let (own, others): (Vec<Ranked<'_>>, Vec<Ranked<'_>>) =
        names_of(pool, number).into_iter().partition(|(_, _, known)| known.change > Change::Used);
    let room = if others.is_empty() { most } else { most - 1 };
    for (_, name, known) in own.into_iter().take(room).chain(others) {
        if added.len() + touched.len() + other.len() >= most {
            break;
        }
        let list = match known.change {
            Change::Added => &mut added,
            Change::Touched => &mut touched,
            _ => &mut other,
        };
        // The longer of two dotted names says the shorter one too.
        if list.iter().any(|known: &String| known.contains(name)) {
            continue;
        }
        list.push(format!("`{name}`"));
        sources.push(known.entry);
    }
    if !changed && other.is_empty() && added.is_empty() && fact.reads < 2 && !is_near(pool, fact) {
        return None;
    }
    let mut parts = Vec::new();
    if !added.is_empty() {
        parts.push(format!("added {}", and(&added)));
    }
    if !touched.is_empty() {
        parts.push(format!("changed {}", and(&touched)));
    }
    if !other.is_empty() {
        parts.push(match (parts.is_empty(), changed) {
            (false, _) => format!("also has {}", and(&other)),
            (true, true) => format!("it has {}", and(&other)),
            (true, false) => format!("it has {}", and(&other)),
        });
    }
    let colon = if parts.is_empty() { "" } else { ": " };
    let text = format!("- {did} `{path}`{colon}{}.", parts.join("; "));
    sources.sort_unstable();
    sources.dedup();
    Some(Item { text, value: 1_000_000 - place.min(900_000), order: ORDER + (2 << 30) + (place << 16), sources, ..Item::default() })
}

/// Changed files of which nothing more is known.
fn bare_line(pool: &Pool<'_>, files: &[u32], n: usize) -> Option<Item> {
    let files = files.iter().filter_map(|number| path_of(pool.notes, *number));
    let (paths, sources): (Vec<String>, Vec<Ix>) = files.map(|(path, fact)| (format!("`{path}`"), fact.entry)).unzip();
    let text = format!("- Edited {}.", and(&paths));
    let order = ORDER + (2 << 30) + (1 << 29) + n as u64;
    (!paths.is_empty()).then(|| Item { text, value: 100_000 - n as u64, order, sources, ..Item::default() })
}

/// What the definitions of a file call and work with, a line each.
fn inner_lines(pool: &Pool<'_>, number: u32, place: u64, most_lines: usize) -> Vec<Item> {
    let Some((_, file)) = path_of(pool.notes, number) else { return Vec::new() };
    let (changed, near) = (file.edits + file.writes > 0, is_near(pool, file));
    let mut owners: BTreeMap<u32, Vec<Ranked<'_>>> = BTreeMap::new();
    for ranked in names_of(pool, number) {
        if ranked.2.owner != NOWHERE {
            owners.entry(ranked.2.owner).or_default().push(ranked);
        }
    }
    let most = if changed || near { NAMES_A_LINE - 1 } else { NAMES_OF_READ };
    let mut lines = Vec::new();
    for (owner, names) in owners {
        let Some((owner, _)) = pool.notes.facts.owners.get_index(owner as usize) else { continue };
        let mut apart: Vec<Ranked<'_>> = Vec::new();
        for ranked in names {
            // The longer of two dotted names says the shorter one too.
            if ranked.1 != &**owner && ranked.2.change <= Change::Used && !apart.iter().any(|(_, known, _)| known.contains(ranked.1)) {
                apart.push(ranked);
            }
        }
        let changed = pool.notes.facts.names.get(owner).is_some_and(|fact| fact.change > Change::Used && fact.home == number);
        let lines_before = lines.len();
        lines.extend(apart.chunks(most).take(LINES_A_DEFINITION).filter_map(|chunk| inner_line(owner, chunk)));
        // What was changed is gone back to more often than what stood beside it.
        if changed {
            lines.iter_mut().skip(lines_before).for_each(|line| line.value *= 2);
        }
    }
    lines.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.text.cmp(&b.text)));
    lines.truncate(if changed || near { most_lines } else { 1 });
    for (n, line) in lines.iter_mut().enumerate() {
        line.order = ORDER + (2 << 30) + (place << 16) + 1 + n as u64;
    }
    lines
}

fn inner_line(owner: &str, names: &[Ranked<'_>]) -> Option<Item> {
    if names.len() < 2 {
        return None;
    }
    let listed = |called: bool| names.iter().filter(|n| n.2.called == called).map(|n| marked(n.1)).collect::<Vec<_>>();
    let text = match (listed(true).as_slice(), listed(false).as_slice()) {
        (calls, []) => format!("calls {}", and(calls)),
        ([], others) => format!("works with {}", and(others)),
        (calls, others) => format!("calls {}; works with {}", and(calls), and(others)),
    };
    let text = format!("  - `{owner}` {text}.");
    let mut sources: Vec<Ix> = names.iter().map(|n| n.2.entry).collect();
    sources.sort_unstable();
    sources.dedup();
    let value = names.iter().map(|n| n.0).sum::<u64>() * 100 / (text.len() as u64 + 20);
    Some(Item { text, value, sources, ..Item::default() })
}

/// A name, between marks where Markdown or a reader would take it for something else.
fn marked(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.ends_with('_') && !name.contains("__");
    let shaped = name.contains(['.', ':', '_']) || name.chars().skip(1).any(|c| c.is_ascii_uppercase());
    if plain && shaped && !names::is_file_name(name) { name.to_owned() } else { format!("`{name}`") }
}

/// Names in a row, the last with an “and”.
fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
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
    let mut ranked: Vec<Ranked<'_>> = pool
        .notes
        .facts
        .names
        .iter()
        .filter(|(name, fact)| match fact.shape {
            Shape::Url => (fact.by_user || fact.in_call) && ["http", "ws", "ssh", "git"].iter().any(|scheme| name.starts_with(scheme)),
            Shape::Hash => fact.in_call && fact.texts >= 2 || fact.by_user,
            _ => false,
        })
        .filter(|(name, _)| is_plain(name) && !pool.kept.contains(&***name) && !pool.told.contains(&***name))
        .map(|(name, fact)| (chance(pool, name, fact), &**name, *fact))
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
    if pool.told.contains(opening.trim_end_matches('…')) {
        return 0;
    }
    let mut sum = 0;
    let mut seen: Vec<&str> = Vec::new();
    names::scan(&said.text, |name| {
        let short = pool.notes.facts.short(name.text);
        let Some(fact) = pool.notes.facts.names.get(short) else { return };
        if seen.contains(&short) || seen.len() >= NAMES_A_LINE || pool.kept.contains(short) || pool.told.contains(short) {
            return;
        }
        seen.push(short);
        sum += chance(pool, short, fact);
    });
    let talk = words::content_words(&said.text).len() as u64;
    // Newer ones count up to three times as much as the oldest.
    sum * (all + 2 * n) as u64 / all.max(1) as u64 * talk.min(8) / (said.text.len() as u64 + 20)
}
