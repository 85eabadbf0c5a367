//! Lines of facts: for each file what was done with it and the names in it that are likely needed again.
//!
//! Names are chosen one by one, then told file by file. A name is worth the chance that it comes up again, by how many
//! texts it stood in and how lately, over the tokens it takes; one that already stands in the summary, or in the part that
//! is kept word for word, is worth nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::facts::{Fact, FileFact, NOWHERE};
use super::names::{self, Shape};
use super::notes::Notes;
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
    let mut ranked = rank(&pool);
    let mut shown = Shown::default();
    // Tokens of lines are known only when they are made, so a second and third round spend what the first left.
    for _ in 0..4 {
        chosen.recount();
        let left = chosen.left().saturating_sub(floor);
        if left < 16 {
            return;
        }
        pool.told = chosen.told();
        pool.told.push_str(before);
        let picked = pick(&pool, chosen, left, &mut ranked);
        if picked.is_empty() {
            return;
        }
        for (home, line) in tell(&pool, picked, &shown) {
            let left = chosen.left().saturating_sub(floor);
            let lines = shown.lines.get(&home).copied().unwrap_or(0);
            let under = line.text.starts_with("  ");
            if under && lines == 0 {
                continue;
            }
            let next = shown.lines.len() as u64;
            let place = *shown.places.entry(home).or_insert(next);
            let line = Item { order: (1 << 41) + u64::from(home == NOWHERE) * (1 << 50) + (place << 16) + lines, ..line };
            if chosen.take(Section::Context, line, left) {
                shown.lines.insert(home, lines + 1);
            }
        }
    }
}

/// Which files have lines already.
#[derive(Default)]
struct Shown {
    lines: BTreeMap<u32, u64>,
    places: BTreeMap<u32, u64>,
}

/// Names that may be told, best first.
fn rank<'f>(pool: &Pool<'f>) -> Vec<Candidate<'f>> {
    let mut all: Vec<Candidate<'f>> = pool
        .notes
        .facts
        .names
        .iter()
        .filter(|(name, fact)| usable(name, fact) && !pool.kept.contains(&***name))
        .map(|(name, fact)| Candidate { name, fact: *fact, value: chance(pool, name, fact) * 1_000 / (name.len() as u64 / 4 + 2), cost: 0 })
        .collect();
    all.sort_unstable_by(|a, b| b.value.cmp(&a.value).then(a.name.cmp(b.name)));
    all.truncate(4 * CANDIDATES);
    all
}

/// Chooses names whose lines take about `room` tokens, and takes them out of those that are ranked.
fn pick<'f>(pool: &Pool<'f>, chosen: &Chosen, room: u64, ranked: &mut Vec<Candidate<'f>>) -> Vec<Candidate<'f>> {
    ranked.retain(|c| !pool.told.contains(c.name));
    let mut best: Vec<Candidate<'f>> = ranked.iter().take(CANDIDATES).cloned().collect();
    for candidate in &mut best {
        candidate.cost = chosen.cost(candidate.name);
        candidate.value = chance(pool, candidate.name, &candidate.fact) * 1_000 / (candidate.cost + 1);
    }
    best.sort_unstable_by(|a, b| b.value.cmp(&a.value).then(a.name.cmp(b.name)));
    let mut picked: Vec<Candidate<'f>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut homes: HashSet<u32> = HashSet::new();
    let mut said = String::new();
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
        if said.contains(candidate.name) {
            continue;
        }
        said.push_str(candidate.name);
        said.push('\n');
        // The longer of two names says the shorter one too.
        let inside = beginnings(candidate.name).find_map(|part| places.remove(part));
        if let Some(inside) = inside
            && let Some(known) = picked.get_mut(inside)
        {
            used += candidate.cost.saturating_sub(known.cost);
            known.name = candidate.name;
            known.cost = candidate.cost;
            places.insert(candidate.name, inside);
            continue;
        }
        used += cost;
        homes.insert(home);
        places.insert(candidate.name, picked.len());
        picked.push(candidate);
    }
    let taken: HashSet<&str> = picked.iter().map(|c| c.name).collect();
    ranked.retain(|c| !taken.contains(c.name));
    picked
}

/// The dotted names that a dotted name begins or ends with.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    let heads = name.rmatch_indices('.').filter_map(|(at, _)| name.get(..at));
    let tails = name.match_indices('.').filter_map(|(at, _)| name.get(at + 1..));
    heads.chain(tails)
}

fn usable(name: &str, fact: &Fact) -> bool {
    let plain = name.bytes().all(|b| b.is_ascii_graphic()) && !name.contains(['`', '|', '<', '>']);
    let enough = match fact.shape {
        // Tools print numbers with everything; those that someone said, or that stand in several texts, mean something.
        Shape::Number => name.len() <= 6 && (fact.by_user || fact.said || fact.texts >= 3),
        Shape::Kebab => fact.texts >= 2 || fact.by_user,
        Shape::Hash => fact.by_user || fact.texts >= 2,
        // Members of one-letter variables are most often those of squeezed code in a stack trace.
        Shape::Ident => fact.texts >= 2 || fact.by_user || !name.split('.').any(|part| part.len() == 1),
        Shape::Path | Shape::Url | Shape::Version => true,
    };
    plain && enough
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
        // Imports name files by where the importing one stands, which helps nobody to find them.
        Shape::Path if name.starts_with("../") => chance / 3,
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

/// Makes lines of the names that were picked, those of the files that matter most first; a line that begins with blanks
/// stands under the one before it.
fn tell(pool: &Pool<'_>, picked: Vec<Candidate<'_>>, shown: &Shown) -> Vec<(u32, Item)> {
    let mut by_home: BTreeMap<u32, Vec<Candidate<'_>>> = BTreeMap::new();
    for candidate in picked {
        by_home.entry(home(pool.notes, &candidate)).or_default().push(candidate);
    }
    let mut loose: Vec<Candidate<'_>> = by_home.remove(&NOWHERE).unwrap_or_default();
    let mut files: Vec<(u64, u32, Vec<Candidate<'_>>)> = Vec::new();
    for (home, names) in by_home {
        let Some((path, fact)) = path_of(pool.notes, home) else { continue };
        let touched = fact.edits + fact.writes + fact.reads;
        let itself = names.iter().any(|c| c.name == path);
        // A line for a single name of a file that matters little says more about the file than about the name.
        if names.len() < 2 && !itself && touched < 3 && !shown.lines.contains_key(&home) {
            loose.extend(names);
            continue;
        }
        files.push((names.iter().map(|c| c.value * c.cost).sum(), home, names));
    }
    files.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut lines = Vec::new();
    for (_, home, names) in files {
        let names: Vec<Candidate<'_>> =
            names.into_iter().filter(|c| path_of(pool.notes, home).is_none_or(|(path, _)| path != c.name)).collect();
        file_lines(pool, home, &names, shown.lines.contains_key(&home), &mut lines);
    }
    loose.sort_by(|a, b| b.value.cmp(&a.value).then(a.name.cmp(b.name)));
    loose_lines(pool, &loose, &mut lines);
    lines
}

fn file_lines(pool: &Pool<'_>, home: u32, names: &[Candidate<'_>], has_line: bool, lines: &mut Vec<(u32, Item)>) {
    let Some((path, fact)) = path_of(pool.notes, home) else { return };
    let did = match (fact.writes, fact.edits, fact.reads) {
        (0, 0, 0 | 1) => "Read".to_owned(),
        (0, 0, n) => format!("Read {n}×"),
        (_, 0, _) => "Wrote".to_owned(),
        (_, 1, _) => "Edited".to_owned(),
        (_, n, _) => format!("Edited {n}×"),
    };
    let known = pool.told.contains(path);
    let shown = if known && !names.is_empty() { pool.notes.facts.shortest(home) } else { path };
    let lead = if known && !names.is_empty() { format!("- `{shown}`") } else { format!("- {did} `{path}`") };
    let value = names.iter().map(|c| c.value).max().unwrap_or(1);
    if names.is_empty() {
        if !has_line {
            lines.push((home, Item { text: lead, value, sources: vec![fact.entry], ..Item::default() }));
        }
        return;
    }
    let (first, rest) = if has_line { names.split_at(0) } else { names.split_at(names.len().min(NAMES_A_LINE - 1)) };
    let colon = if known { "" } else { ":" };
    if !first.is_empty() {
        let text = format!("{lead}{colon} {} {}", verb(first), list(first));
        lines.push((home, Item { text, value, sources: sources(first, Some(fact.entry)), ..Item::default() }));
    }
    for chunk in rest.chunks(NAMES_A_LINE) {
        let text = format!("  - {} {}", verb(chunk), list(chunk));
        let value = chunk.first().map_or(1, |c| c.value);
        lines.push((home, Item { text, value, sources: sources(chunk, None), ..Item::default() }));
    }
}

/// Names that belong to no file, by kind, so that a reader knows what they are.
fn loose_lines(pool: &Pool<'_>, names: &[Candidate<'_>], lines: &mut Vec<(u32, Item)>) {
    let kinds: [(&str, &[Shape], usize); 6] = [
        ("Seen files:", &[Shape::Path], 4),
        ("Used addresses:", &[Shape::Url], 2),
        ("Came up:", &[Shape::Ident, Shape::Kebab], NAMES_A_LINE),
        ("Seen hashes:", &[Shape::Hash], 4),
        ("Seen versions:", &[Shape::Version], NAMES_A_LINE),
        // Each number stands with a word.
        ("Noted", &[Shape::Number], NAMES_A_LINE / 2),
    ];
    for (lead, shapes, most) in kinds {
        let mine: Vec<Candidate<'_>> = names.iter().filter(|c| shapes.contains(&c.fact.shape)).cloned().collect();
        for chunk in mine.chunks(most) {
            let listed = if shapes.contains(&Shape::Number) {
                let told: Vec<&str> = chunk.iter().map(|c| pool.notes.facts.numbers.get(c.name).map_or(c.name, |told| told)).collect();
                told.join(", ")
            } else {
                list(chunk)
            };
            let value = chunk.first().map_or(1, |c| c.value);
            lines.push((NOWHERE, Item { text: format!("- {lead} {listed}"), value, sources: sources(chunk, None), ..Item::default() }));
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
