//! Lines of facts: for each file what was done with it and the names in it that are likely needed again.
//!
//! Names are chosen one by one, then told file by file. A name is worth the chance that it comes up again, by how many
//! texts it stood in and how lately, over the tokens it takes; one that already stands in the summary, or in the part that
//! is kept word for word, is worth nothing.

use std::collections::{BTreeMap, HashSet};

use super::facts::{Fact, FileFact, NOWHERE};
use super::names::{self, Shape};
use super::read::Notes;
use super::select::{Chosen, Item, Section};
use crate::session::Ix;

/// Names on one line, the file included: more is a list that nobody reads.
const NAMES_A_LINE: usize = 6;

/// Names that are weighed against each other.
const CANDIDATES: usize = 1_500;

/// A name that may be told.
#[derive(Clone)]
struct Candidate<'f> {
    name: &'f str,
    fact: Fact,
    /// Worth for each token, in thousandths.
    value: u64,
    cost: u64,
}

/// What a round of choosing knows.
struct Pool<'f> {
    notes: &'f Notes,
    /// What the summary says already, and what stands before it.
    told: String,
    kept: &'f HashSet<String>,
    focus: &'f dyn Fn(&str) -> u64,
}

/// Takes the lines of names that are worth most until `room` is used up; `before` is text that stands before the summary.
pub(super) fn fill(notes: &Notes, kept: &HashSet<String>, before: &str, chosen: &mut Chosen, room: u64, focus: &dyn Fn(&str) -> u64) {
    let floor = chosen.left().saturating_sub(room);
    let mut pool = Pool { notes, told: String::new(), kept, focus };
    let mut done: HashSet<&str> = HashSet::new();
    let mut order = 1 << 41;
    // Tokens of lines are known only when they are made, so a second and third round spend what the first left.
    for _ in 0..4 {
        chosen.recount();
        let left = chosen.left().saturating_sub(floor);
        if left < 16 {
            return;
        }
        pool.told = chosen.told();
        pool.told.push_str(before);
        let picked = pick(&pool, chosen, left, &done);
        if picked.is_empty() {
            return;
        }
        done.extend(picked.iter().map(|c| c.name));
        let mut lines = tell(&pool, picked, &mut order);
        // A line that stands under another comes after it in any case.
        lines.sort_by(|a, b| b.value.cmp(&a.value).then(a.order.cmp(&b.order)));
        for line in lines {
            let left = chosen.left().saturating_sub(floor);
            chosen.take(Section::Context, line, left);
        }
    }
}

/// Chooses names whose lines take about `room` tokens.
fn pick<'f>(pool: &Pool<'f>, chosen: &Chosen, room: u64, done: &HashSet<&str>) -> Vec<Candidate<'f>> {
    let facts = &pool.notes.facts;
    let wanted = |name: &str| !pool.kept.contains(name) && !done.contains(name) && !pool.told.contains(name);
    let mut all: Vec<Candidate<'f>> = facts
        .names
        .iter()
        .filter(|(name, fact)| usable(name, fact, !done.is_empty()))
        .map(|(name, fact)| Candidate { name, fact: *fact, value: chance(pool, name, fact) * 1_000 / (name.len() as u64 / 4 + 2), cost: 0 })
        .collect();
    all.sort_by(|a, b| b.value.cmp(&a.value).then(a.name.cmp(b.name)));
    let mut best: Vec<Candidate<'f>> = all.into_iter().filter(|c| wanted(c.name)).take(CANDIDATES).collect();
    for candidate in &mut best {
        candidate.cost = chosen.cost(candidate.name);
        candidate.value = chance(pool, candidate.name, &candidate.fact) * 1_000 / (candidate.cost + 1);
    }
    best.sort_by(|a, b| b.value.cmp(&a.value).then(a.name.cmp(b.name)));
    let mut picked: Vec<Candidate<'f>> = Vec::new();
    let mut homes: HashSet<u32> = HashSet::new();
    let mut used = 0;
    for candidate in best {
        // A file's own line costs its path once; other lines share their lead.
        let home = home(pool.notes, &candidate);
        let opening = match path_of(pool.notes, home).filter(|_| !homes.contains(&home)) {
            Some((path, _)) if pool.told.contains(path) => 5,
            Some((path, _)) => 5 + path.len() as u64 / 4,
            None => 0,
        };
        let cost = candidate.cost + 2 + opening / 2;
        if used + cost > room {
            if used * 20 > room * 19 {
                break;
            }
            continue;
        }
        if let Some(inside) = picked.iter_mut().find(|known| known.name.contains(candidate.name) || candidate.name.contains(known.name)) {
            // The longer of two names says the shorter one too.
            if candidate.name.len() > inside.name.len() && candidate.value * 4 > inside.value {
                used += candidate.cost.saturating_sub(inside.cost);
                inside.name = candidate.name;
                inside.cost = candidate.cost;
            }
            continue;
        }
        used += cost;
        homes.insert(home);
        picked.push(candidate);
    }
    picked
}

fn usable(name: &str, fact: &Fact, generous: bool) -> bool {
    let plain = name.bytes().all(|b| b.is_ascii_graphic()) && !name.contains(['`', '|', '<', '>']);
    let enough = match fact.shape {
        Shape::Number => fact.texts >= 2 && name.len() <= 6,
        Shape::Kebab => fact.texts >= 2 || fact.by_user,
        Shape::Hash => fact.by_user || fact.texts >= 2,
        _ => true,
    };
    plain && (enough || generous)
}

/// The chance that a name comes up again, in 1/4096. Fitted to what real sessions named in the 150 messages after a cut:
/// it grows with the texts a name stood in (to the power of 1.5) and falls with the square root of how long ago that was;
/// what only a call said, never a result, was often gone by then. Integers, so that every machine ranks alike.
fn chance(pool: &Pool<'_>, name: &str, fact: &Fact) -> u64 {
    let texts = u64::from(fact.texts.clamp(1, 4_000));
    let age = u64::from(pool.notes.facts.texts.saturating_sub(fact.last));
    let mut odds = texts * (texts << 16).isqrt() / (4_096 + (age << 12) / 30).isqrt();
    // odds: 256 · texts^1.5 / (64 · √(1 + age/30)), that is in quarters
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
        _ => chance,
    };
    chance * (pool.focus)(name)
}

fn path_of(notes: &Notes, home: u32) -> Option<(&str, &FileFact)> {
    notes.facts.files.get_index(home as usize).filter(|_| home != NOWHERE).map(|(path, fact)| (&**path, fact))
}

/// The file under which a name is told: a file under itself.
fn home(notes: &Notes, candidate: &Candidate<'_>) -> u32 {
    match candidate.fact.shape {
        Shape::Number | Shape::Url | Shape::Hash | Shape::Version => NOWHERE,
        Shape::Path => notes.facts.files.get_index_of(candidate.name).and_then(|n| u32::try_from(n).ok()).unwrap_or(NOWHERE),
        _ => candidate.fact.home,
    }
}

/// Makes lines of the names that were picked.
fn tell(pool: &Pool<'_>, picked: Vec<Candidate<'_>>, order: &mut u64) -> Vec<Item> {
    let mut by_home: BTreeMap<u32, Vec<Candidate<'_>>> = BTreeMap::new();
    for candidate in picked {
        by_home.entry(home(pool.notes, &candidate)).or_default().push(candidate);
    }
    let mut lines = Vec::new();
    let mut loose: Vec<Candidate<'_>> = by_home.remove(&NOWHERE).unwrap_or_default();
    for (home, mut names) in by_home {
        let Some((path, fact)) = path_of(pool.notes, home) else { continue };
        let touched = fact.edits + fact.writes + fact.reads;
        let itself = names.iter().position(|c| c.name == path);
        if let Some(itself) = itself {
            names.remove(itself);
        }
        // A line for a single name of a file that matters little says more about the file than about the name.
        if names.len() < 2 && itself.is_none() && (touched < 3 || pool.told.contains(path)) {
            loose.extend(names);
            continue;
        }
        file_lines(pool, path, fact, &names, order, &mut lines);
    }
    loose.sort_by(|a, b| b.value.cmp(&a.value).then(a.name.cmp(b.name)));
    loose_lines(pool, &loose, order, &mut lines);
    lines
}

fn file_lines(pool: &Pool<'_>, path: &str, fact: &FileFact, names: &[Candidate<'_>], order: &mut u64, lines: &mut Vec<Item>) {
    let did = match (fact.writes, fact.edits, fact.reads) {
        (0, 0, 0 | 1) => "Read".to_owned(),
        (0, 0, n) => format!("Read {n}×"),
        (_, 0, _) => "Wrote".to_owned(),
        (_, 1, _) => "Edited".to_owned(),
        (_, n, _) => format!("Edited {n}×"),
    };
    let short = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let known = pool.told.contains(path);
    let lead = if known && !names.is_empty() { format!("- `{short}`") } else { format!("- {did} `{path}`") };
    *order += 1;
    let top = names.first().map_or(1, |c| c.value) + 1_000;
    if names.is_empty() {
        lines.push(Item { text: lead, value: top, order: *order << 8, sources: vec![fact.entry], cost: 0 });
        return;
    }
    let (first, rest) = names.split_at(names.len().min(NAMES_A_LINE - 1));
    for (n, chunk) in std::iter::once(first).chain(rest.chunks(NAMES_A_LINE)).enumerate() {
        let colon = if known || n > 0 { "" } else { ":" };
        let text =
            if n == 0 { format!("{lead}{colon} {} {}", verb(chunk), list(chunk)) } else { format!("  - {} {}", verb(chunk), list(chunk)) };
        // Falls within a file, so that a further line is never taken before the one it stands under.
        let value = (top - n as u64).max(1);
        lines.push(Item { text, value, order: (*order << 8) + n as u64, sources: sources(chunk, Some(fact.entry)), cost: 0 });
    }
}

/// Names that belong to no file, by kind, so that a reader knows what they are.
fn loose_lines(pool: &Pool<'_>, names: &[Candidate<'_>], order: &mut u64, lines: &mut Vec<Item>) {
    let kinds: [(&str, &[Shape], usize); 6] = [
        ("Seen files:", &[Shape::Path], 4),
        ("Used addresses:", &[Shape::Url], 2),
        ("Came up:", &[Shape::Ident, Shape::Kebab], NAMES_A_LINE),
        ("Seen hashes:", &[Shape::Hash], 4),
        ("Seen versions:", &[Shape::Version], NAMES_A_LINE),
        ("Noted", &[Shape::Number], NAMES_A_LINE),
    ];
    for (lead, shapes, most) in kinds {
        let mine: Vec<Candidate<'_>> = names.iter().filter(|c| shapes.contains(&c.fact.shape)).cloned().collect();
        for chunk in mine.chunks(most) {
            *order += 1;
            let listed = if shapes.contains(&Shape::Number) {
                let told: Vec<&str> = chunk.iter().map(|c| pool.notes.facts.numbers.get(c.name).map_or(c.name, |told| told)).collect();
                told.join(", ")
            } else {
                list(chunk)
            };
            let value = chunk.first().map_or(1, |c| c.value);
            lines.push(Item {
                text: format!("- {lead} {listed}"),
                value,
                order: (*order << 8) + (1 << 62),
                sources: sources(chunk, None),
                cost: 0,
            });
        }
    }
}

fn verb(chunk: &[Candidate<'_>]) -> &'static str {
    if chunk.iter().all(|c| c.fact.defined) { "defines" } else { "uses" }
}

/// Names one after the other; marks only where Markdown would read them as something else.
fn list(chunk: &[Candidate<'_>]) -> String {
    let names: Vec<String> = chunk.iter().map(|c| if needs_marks(c) { format!("`{}`", c.name) } else { c.name.to_owned() }).collect();
    names.join(", ")
}

fn needs_marks(candidate: &Candidate<'_>) -> bool {
    let name = candidate.name;
    candidate.fact.shape == Shape::Path
        || name.starts_with(['_', '*', '#', '@', '~'])
        || name.ends_with('_')
        || name.contains("__")
        || names::is_file_name(name)
}

fn sources(chunk: &[Candidate<'_>], own: Option<Ix>) -> Vec<Ix> {
    let mut sources: Vec<Ix> = chunk.iter().map(|c| c.fact.entry).chain(own).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}
