//! What each name is worth, and which are told already.
//!
//! A name is worth the chance that it comes up again, by how often it stood in the session and how lately. One that stands
//! in the summary, or in the part that is kept word for word, is worth nothing any more; so a name is told once, and a
//! dotted name tells the shorter names inside it too.

use std::collections::HashSet;

use super::facts::Fact;
use super::names::{self, Shape};
use super::notes::Notes;
use crate::engine::tokens::Tokenizer;

/// Parts of a name with dots or slashes that are looked up in it; a deeper path is told by its ends.
const MOST_PARTS: usize = 8;

/// Chance, in 1/4096, from which on a file is told by its whole path even where the list behind the summary has it in parts:
/// commands take it whole, and it costs about as much as the next name would that is half as likely.
const WHOLE_PATH: u64 = 512;

/// Files that the list behind a summary names at most.
const MOST_LISTED: usize = 20;

/// A name and what it is worth.
#[derive(Debug)]
pub(super) struct Worth<'f> {
    /// The name.
    pub name: &'f str,
    /// What is known of it.
    pub fact: &'f Fact,
    /// The chance that it comes up again, in 1/4096.
    pub value: u64,
    /// About how many tokens it takes in a line, in quarters.
    pub cost: u64,
    /// Shorter names inside it.
    within: Vec<u32>,
}

/// The names of a session while lines are chosen.
pub(super) struct Pool<'f> {
    /// The session's notes.
    pub notes: &'f Notes,
    names: Vec<Worth<'f>>,
    told: Vec<bool>,
    /// The paths that the list of files behind the summary has, as far as is known here.
    listed: HashSet<&'f str>,
    /// What the summary says already.
    pub text: String,
}

impl<'f> Pool<'f> {
    /// Weighs all names; those of `kept`, the part that stays, are told already.
    pub(super) fn new(notes: &'f Notes, kept: &HashSet<String>, focus: &dyn Fn(&str) -> u64, tokenizer: Tokenizer) -> Self {
        let table = &notes.facts.names;
        let mut names: Vec<Worth<'f>> = Vec::with_capacity(table.len());
        let mut told = Vec::with_capacity(table.len());
        for (name, fact) in table {
            let is_kept = kept.contains(&**name);
            let value = if is_kept || !is_plain(name) { 0 } else { chance(notes, focus, name, fact) };
            let mut within = Vec::new();
            if value > 0 {
                parts(name, |part| within.extend(table.get_index_of(part).and_then(|n| u32::try_from(n).ok())));
            }
            // Each name has a comma; marks around it cost as much as another.
            let marks = if is_marked(name) && fact.shape != Shape::Number { 6 } else { 0 };
            let cost = if value > 0 { tokenizer.count(&format!(" {name}")) * 4 } else { 0 } + 4 + marks;
            names.push(Worth { name, fact, value, cost, within });
            told.push(is_kept);
        }
        let mut paths: Vec<&str> = notes.facts.files.keys().map(|path| &**path).collect();
        paths.sort_unstable();
        let listed = paths.into_iter().take(MOST_LISTED).collect();
        Pool { notes, names, told, listed, text: String::new() }
    }

    /// A file's path, or only its end where the list of files behind the summary has all of it.
    pub(super) fn shown(&self, number: u32) -> Option<&'f str> {
        let (path, _) = self.notes.facts.files.get_index(number as usize)?;
        let wanted = self.find(path).and_then(|n| self.names.get(n)).is_some_and(|worth| worth.value >= WHOLE_PATH);
        Some(if self.listed.contains(&**path) && !wanted { self.notes.facts.shortest(number) } else { path })
    }

    /// All names, in the order in which they came up.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &Worth<'f>)> {
        self.names.iter().enumerate()
    }

    pub(super) fn get(&self, n: usize) -> Option<&Worth<'f>> {
        self.names.get(n)
    }

    /// The place of a name in the pool.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.notes.facts.names.get_index_of(name)
    }

    pub(super) fn is_told(&self, n: usize) -> bool {
        self.told.get(n).copied().unwrap_or(true)
    }

    /// What telling a name adds: its own worth and that of the names inside it which are not told yet.
    pub(super) fn gain(&self, n: usize) -> u64 {
        let Some(worth) = self.names.get(n).filter(|_| !self.is_told(n)) else { return 0 };
        let inner = worth.within.iter().filter(|inner| !self.is_told(**inner as usize));
        worth.value + inner.filter_map(|inner| self.names.get(*inner as usize)).map(|inner| inner.value).sum::<u64>()
    }

    /// Notes that a text is part of the summary.
    pub(super) fn tell(&mut self, text: &str) {
        let run = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '\\' | ':' | '@' | '~' | '$'));
        for word in text.split(run).map(|word| word.trim_end_matches(['.', ':', '-'])).filter(|word| word.len() >= 3) {
            let told = &mut self.told;
            let mut tell = |part: &str| {
                if let Some(told) = self.notes.facts.names.get_index_of(part).and_then(|n| told.get_mut(n)) {
                    *told = true;
                }
            };
            tell(word);
            parts(word, tell);
        }
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// Calls `found` for every shorter name inside a dotted one or a path.
fn parts(name: &str, mut found: impl FnMut(&str)) {
    let joint = |c: char| matches!(c, '.' | '/' | ':' | '-');
    let mut bounds: Vec<(usize, usize)> = Vec::new();
    let mut start = 0;
    for (at, _) in name.match_indices(joint).chain(std::iter::once((name.len(), ""))) {
        if at > start {
            bounds.push((start, at));
        }
        start = at + 1;
    }
    if bounds.len() < 2 {
        return;
    }
    let bounds = bounds.get(bounds.len().saturating_sub(MOST_PARTS)..).unwrap_or_default();
    for (n, (from, _)) in bounds.iter().enumerate() {
        for (_, to) in bounds.iter().skip(n) {
            if let Some(part) = name.get(*from..*to).filter(|part| part.len() >= 3 && part.len() < name.len()) {
                found(part);
            }
        }
    }
}

/// The chance that a name comes up again, in 1/4096. Fitted to what real sessions named in the 150 messages after a cut: the
/// odds grow with how often the name stood there (to the power of 3/4) and in how many texts (1/2); they fall with how long
/// ago that was (1/2), and with how often it was the agent that wrote it (3/4): what it wrote is done. Each power may be off by
/// a quarter without a loss. Integers, so that every machine ranks alike.
fn chance(notes: &Notes, focus: &dyn Fn(&str) -> u64, name: &str, fact: &Fact) -> u64 {
    let times = 1 + u64::from(fact.times.min(10_000));
    let texts = 1 + u64::from(fact.texts.min(10_000));
    let age = u64::from(notes.facts.texts.saturating_sub(fact.last));
    let written = 1 + u64::from(fact.calls.min(10_000));
    // times^0.75 · 256, then the root of the rest, also · 256.
    let grown = ((times << 16).isqrt() * (times << 32).isqrt().isqrt()) >> 8;
    let rest = ((texts << 32) / ((2 + age) / 2 * written * written.isqrt())).isqrt() >> 8;
    let mut odds = grown * rest;
    if fact.by_user {
        odds *= 2;
    }
    let even = 8 << 16;
    let chance = (odds << 12) / (odds + even);
    let chance = match fact.shape {
        Shape::Kebab => chance / 2,
        // Every program calls its language's own library.
        _ if names::is_common(name) => chance / 2,
        // Imports name files by where the importing one stands, which helps nobody to find them.
        Shape::Path if name.starts_with("../") => chance / 3,
        _ => chance,
    };
    chance * focus(name)
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_graphic()) && !name.contains(['`', '|', '<', '>'])
}

/// Whether a name stands between marks: where Markdown, or a reader, would take it for something else. Paths and names of
/// code are known by their shape.
fn is_marked(name: &str) -> bool {
    let opens = name.strip_prefix(['~', '@', '.']).unwrap_or(name).trim_start_matches("./").trim_start_matches('/');
    let plain = opens.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.ends_with(['_', '/']) && !name.contains("__");
    let shaped = name.contains(['.', ':', '_', '/', '-']) || name.chars().skip(1).any(|c| c.is_ascii_uppercase());
    !(plain
        && shaped
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b':' | b'_' | b'/' | b'-' | b'@' | b'~' | b'$')))
}

/// A name as it stands in a line.
pub(super) fn marked(name: &str) -> String {
    if is_marked(name) && !name.bytes().all(|b| b.is_ascii_digit()) { format!("`{name}`") } else { name.to_owned() }
}
