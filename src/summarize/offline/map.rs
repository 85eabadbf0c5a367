//! Which names the work was about, each told with what it belongs to: for every file that matters what was done with it, for
//! its definitions what they call and use, for commands what they printed.
//!
//! Lines compete by the worth of the names that they would add, for each token they take. A name that stands in several
//! definitions is told in the one whose line it completes; once told it adds nothing to the others, so lines of few names
//! are hardly ever taken.

use std::collections::{BTreeMap, BinaryHeap};

use super::facts::{Change, FileFact, NOWHERE};
use super::names::Shape;
use super::pool::{Pool, marked};
use super::select::Item;
use crate::session::Ix;

/// Names on one line, with the file, definition or command that it is about: more is a list that nobody reads.
pub(super) const NAMES_A_LINE: usize = 6;

/// Changed definitions that the line of their file names.
const NAMES_OF_FILE: usize = 2;

/// Lines about changed files of which nothing more is known.
const BARE_LINES: usize = 3;

/// Numbers on one line: alone they say little.
const NUMBERS_A_LINE: usize = 2;

/// Names of one group that are weighed against each other.
const NAMES_WEIGHED: usize = 240;

/// Lines about one definition or command.
const LINES_A_GROUP: u32 = 24;

/// Lines that tell lines of a file: they move with the next edit.
const LINES_OF_LINES: u32 = 2;

/// Place of these lines among those of their section.
const ORDER: u64 = (1 << 41) + (2 << 30);

/// Tokens of a line beside its names, in quarters: mark, verb, full stop.
const LINE_COST: u64 = 20;

/// Tokens of a second verb in a line, in quarters.
const SECOND_VERB: u64 = 8;

/// Times from which on one name alone is worth a line.
const OFTEN: u32 = 8;

/// What a line can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A file and what was done with it.
    File(u32),
    /// A definition in a file; without one, what stands outside of all.
    Inner(u32, u32),
    /// Files and packages that a file refers to.
    Refers(u32),
    /// Lines of a file that were looked for.
    Lines(u32),
    /// What else stands in a file, told when there is room for all that says more.
    Rest(u32),
    /// What a command printed.
    Printed(u32),
    /// What the user named.
    User,
    /// What commands named that stands in no file.
    Commands,
    /// What else was talked about.
    Talk,
}

/// A line that could be taken now.
struct Draft {
    gain: u64,
    cost: u64,
    names: Vec<usize>,
    /// For a file: what of its content the names are about, when the same line tells that.
    with: Option<Key>,
}

impl Draft {
    /// Worth for each token.
    fn rate(&self) -> u64 {
        (self.gain << 8) / self.cost.max(1)
    }
}

/// The choice of lines.
pub(super) struct Map {
    groups: BTreeMap<Key, Vec<usize>>,
    /// What commands printed in one text only, told when there is room for all that says more.
    once: BTreeMap<Key, Vec<usize>>,
    /// Definitions that were added or changed, by file, those first that are worth most.
    changed: BTreeMap<u32, Vec<usize>>,
    heap: BinaryHeap<(u64, std::cmp::Reverse<Key>)>,
    taken: BTreeMap<Key, u32>,
    /// What lines were about that had no room.
    missed: Vec<Key>,
    lines: u64,
    /// Whether what is left of the files and of what was printed was let in.
    loose: bool,
}

impl Map {
    pub(super) fn new(pool: &Pool<'_>) -> Map {
        let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        let mut once: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        let mut changed: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (n, worth) in pool.all().filter(|(_, worth)| worth.value > 0 || worth.fact.change > Change::Used) {
            let fact = worth.fact;
            if fact.change > Change::Used && fact.home != NOWHERE {
                changed.entry(fact.home).or_default().push(n);
            }
            if worth.value == 0 {
                continue;
            }
            match (fact.shape, fact.home) {
                (Shape::Url | Shape::Hash | Shape::Version, _) => {}
                (Shape::Number, _) if fact.line => {
                    for (file, _) in fact.among.iter().filter(|(file, _)| *file != NOWHERE) {
                        groups.entry(Key::Lines(*file)).or_default().push(n);
                    }
                }
                (Shape::Number, _) if fact.times < 2 => {}
                (Shape::Number, NOWHERE) => {}
                (_, NOWHERE) if fact.place != NOWHERE => {
                    let groups = if recurs(pool, n) { &mut groups } else { &mut once };
                    groups.entry(Key::Printed(fact.place)).or_default().push(n);
                }
                (_, NOWHERE) if fact.by_user || !recurs(pool, n) => {}
                (_, NOWHERE) if fact.in_call => groups.entry(Key::Commands).or_default().push(n),
                (_, NOWHERE) if fact.said => groups.entry(Key::Talk).or_default().push(n),
                (_, NOWHERE) => {}
                (Shape::Ident | Shape::Number, _) => {
                    for (file, owner) in fact.among.iter().filter(|(file, _)| *file != NOWHERE) {
                        let rest = groups.entry(Key::Rest(*file)).or_default();
                        if rest.last() != Some(&n) {
                            rest.push(n);
                        }
                        // What stands in a definition is told with it.
                        let inside = *owner != NOWHERE || !fact.among.iter().any(|(other, owner)| other == file && *owner != NOWHERE);
                        if inside {
                            groups.entry(Key::Inner(*file, *owner)).or_default().push(n);
                        }
                    }
                }
                _ => {
                    let mut files: Vec<u32> = fact.among.iter().map(|(file, _)| *file).filter(|file| *file != NOWHERE).collect();
                    files.sort_unstable();
                    files.dedup();
                    // What a file says of itself is its name.
                    let itself =
                        |file: &u32| pool.notes.facts.files.get_index(*file as usize).is_some_and(|(path, _)| path.ends_with(worth.name));
                    for file in files.into_iter().filter(|file| !itself(file)) {
                        groups.entry(Key::Refers(file)).or_default().push(n);
                    }
                }
            }
            if fact.by_user && fact.shape != Shape::Number {
                groups.entry(Key::User).or_default().push(n);
            }
        }
        for names in groups.values_mut().chain(once.values_mut()) {
            names.sort_by_key(|n| std::cmp::Reverse(pool.get(*n).map_or(0, |worth| (worth.value << 8) / worth.cost)));
            names.truncate(NAMES_WEIGHED);
        }
        for names in changed.values_mut() {
            names.sort_by_key(|n| std::cmp::Reverse(pool.get(*n).map_or(0, |worth| worth.value)));
        }
        let mut map =
            Map { groups, once, changed, heap: BinaryHeap::new(), taken: BTreeMap::new(), missed: Vec::new(), lines: 0, loose: false };
        let files: Vec<u32> = (0..u32::try_from(pool.notes.facts.files.len()).unwrap_or(0)).collect();
        for key in files.into_iter().map(Key::File).chain(map.others()) {
            map.push(pool, key);
        }
        map
    }

    fn others(&self) -> Vec<Key> {
        self.groups.keys().copied().filter(|key| matches!(key, Key::Printed(_) | Key::User | Key::Commands | Key::Talk)).collect()
    }

    fn push(&mut self, pool: &Pool<'_>, key: Key) {
        if let Some(rate) = self.rate(pool, key).filter(|rate| *rate > 0) {
            self.heap.push((rate, std::cmp::Reverse(key)));
        }
    }

    /// What a key's next line is worth for each token. A file opens the lines about what is in it, so the best of these count.
    fn rate(&self, pool: &Pool<'_>, key: Key) -> Option<u64> {
        let draft = self.draft(pool, key)?;
        let Key::File(number) = key else { return Some(draft.rate()) };
        let mut inner: Vec<Draft> = self.inside(number).filter_map(|key| self.draft(pool, key)).collect();
        inner.sort_by_key(|draft| std::cmp::Reverse(draft.rate()));
        // Of some files nothing is known but that they were changed; they share a line.
        if draft.names.is_empty() && inner.is_empty() {
            return None;
        }
        // The best may be told with the file already.
        let told = usize::from(draft.with.is_some());
        let (gain, cost) = inner.iter().take(2).skip(told).fold((draft.gain, draft.cost), |(gain, cost), d| (gain + d.gain, cost + d.cost));
        Some((gain << 8) / cost.max(1))
    }

    fn inside(&self, number: u32) -> impl Iterator<Item = Key> {
        let inner = self.groups.range(Key::Inner(number, 0)..=Key::Inner(number, NOWHERE)).map(|(key, _)| *key);
        inner.chain([Key::Refers(number), Key::Lines(number)].into_iter().filter(|key| self.groups.contains_key(key)))
    }

    fn draft(&self, pool: &Pool<'_>, key: Key) -> Option<Draft> {
        self.draft_within(pool, key, NAMES_A_LINE)
    }

    /// The best line of a key with at most `limit` names.
    fn draft_within(&self, pool: &Pool<'_>, key: Key, limit: usize) -> Option<Draft> {
        let facts = &pool.notes.facts;
        let told_before = self.taken.get(&key).copied().unwrap_or(0);
        if told_before >= if matches!(key, Key::Lines(_)) { LINES_OF_LINES } else { LINES_A_GROUP } {
            return None;
        }
        let (opening, extra, most) = match key {
            Key::File(number) => return self.file_draft(pool, number, told_before),
            Key::Lines(_) => ("", 24, limit),
            Key::Inner(_, NOWHERE) | Key::Refers(_) | Key::Rest(_) | Key::User | Key::Commands | Key::Talk => ("", 4, limit),
            Key::Inner(..) if told_before > 0 => ("", 8, limit),
            Key::Inner(_, owner) => (facts.owners.get_index(owner as usize).map(|(owner, _)| &**owner)?, 8, limit - 1),
            Key::Printed(place) => (facts.places.get_index(place as usize).map(|(shown, _)| &**shown)?, 4, limit),
        };
        let own = pool.find(opening);
        let names = self.groups.get(&key)?;
        // A line says what is called, what is used, or both.
        let kinds: &[Option<bool>] = if matches!(key, Key::Inner(..)) { &[None, Some(true), Some(false)] } else { &[None] };
        let drafts = kinds.iter().map(|kind| {
            let mut draft = Draft {
                gain: own.map_or(0, |n| pool.gain(n)),
                cost: LINE_COST + extra + opening.len() as u64,
                names: Vec::new(),
                with: None,
            };
            choose(pool, names, own, *kind, most, &mut draft);
            let mut kinds = draft.names.iter().filter_map(|n| pool.get(*n)).map(|worth| worth.fact.called);
            if let Some(first) = kinds.next().filter(|_| matches!(key, Key::Inner(..)))
                && kinds.any(|called| called != first)
            {
                draft.cost += SECOND_VERB;
            }
            draft
        });
        let tells = |draft: &Draft| match draft.names.as_slice() {
            [] => false,
            // One name is worth a line when it stands everywhere.
            [one] => {
                matches!(key, Key::Inner(_, owner) if owner != NOWHERE) && pool.get(*one).is_some_and(|worth| worth.fact.times >= OFTEN)
            }
            // Numbers alone say nothing.
            names => {
                matches!(key, Key::Lines(_)) || names.iter().any(|n| pool.get(*n).is_some_and(|worth| worth.fact.shape != Shape::Number))
            }
        };
        drafts.filter(tells).max_by_key(Draft::rate)
    }

    /// The line of a file. Where no definition was changed it tells with it what matters most of what is in it.
    fn file_draft(&self, pool: &Pool<'_>, number: u32, told_before: u32) -> Option<Draft> {
        let mut draft = file_draft(pool, self.changed.get(&number).map_or(&[], Vec::as_slice), number, told_before)?;
        if !draft.names.is_empty() {
            return Some(draft);
        }
        let inner = self.inside(number).filter(|key| matches!(key, Key::Inner(..) | Key::Refers(_)));
        let drafts = inner.filter_map(|key| Some((key, self.draft_within(pool, key, NAMES_A_LINE - 1)?)));
        if let Some((key, best)) = drafts.max_by_key(|(key, draft)| (draft.rate(), std::cmp::Reverse(*key))) {
            draft.gain += best.gain;
            draft.cost += best.cost - LINE_COST.min(best.cost) + 8;
            draft.names = best.names;
            draft.with = Some(key);
        }
        Some(draft)
    }

    /// The best line that is left, as an item with the names that it tells.
    pub(super) fn next(&mut self, pool: &Pool<'_>) -> Option<Item> {
        while let Some((known, std::cmp::Reverse(key))) = self.heap.pop() {
            let Some(now) = self.rate(pool, key).filter(|now| *now > 0) else { continue };
            // Others were told since; the rate only falls, so the best is found by looking again at the top.
            if now < known && self.heap.peek().is_some_and(|(next, _)| *next > now) {
                self.heap.push((now, std::cmp::Reverse(key)));
                continue;
            }
            let Some(draft) = self.draft(pool, key) else { continue };
            let Some(mut item) = line(pool, key, self.taken.contains_key(&key), &draft) else { continue };
            let told = *self.taken.entry(key).and_modify(|n| *n += 1).or_insert(1);
            self.lines += 1;
            item.value = 1_000_000 - self.lines.min(900_000);
            item.order = place(key, told);
            return Some(item);
        }
        if std::mem::replace(&mut self.loose, true) {
            return None;
        }
        let files: Vec<Key> = self.taken.keys().copied().filter(|key| matches!(key, Key::File(_))).collect();
        for key in files {
            if let Key::File(number) = key {
                self.push(pool, Key::Rest(number));
            }
        }
        for (key, names) in std::mem::take(&mut self.once) {
            self.groups.entry(key).or_default().extend(names);
            self.push(pool, key);
        }
        self.next(pool)
    }

    /// Changed files without a line of their own.
    pub(super) fn rest(&self, pool: &Pool<'_>) -> Vec<Item> {
        bare_lines(pool, &self.taken)
    }

    /// Opens what follows a line that was taken: further lines of the same group, and of a file those about what is in it.
    pub(super) fn opened(&mut self, pool: &Pool<'_>, item: &Item) {
        let Some(key) = self.key(item) else { return };
        if let Key::File(number) = key {
            let inside: Vec<Key> = self.inside(number).collect();
            for key in inside {
                self.push(pool, key);
            }
        } else {
            self.push(pool, key);
        }
    }

    /// Takes note that a line had no room; it comes again after [`Map::again`].
    pub(super) fn missed(&mut self, item: &Item) {
        let Some(key) = self.key(item) else { return };
        match self.taken.get_mut(&key) {
            Some(told) if *told > 1 => *told -= 1,
            _ => drop(self.taken.remove(&key)),
        }
        self.missed.push(key);
    }

    /// Lets lines in again that had no room.
    pub(super) fn again(&mut self, pool: &Pool<'_>) {
        for key in std::mem::take(&mut self.missed) {
            self.push(pool, key);
        }
    }

    fn key(&self, item: &Item) -> Option<Key> {
        self.taken.iter().find(|(key, told)| place(**key, **told) == item.order).map(|(key, _)| *key)
    }
}

/// Where a line stands: files in the order in which they came up, in each its definitions in the order of its text.
fn place(key: Key, told: u32) -> u64 {
    let (kind, first, second) = match key {
        Key::File(number) => (0, number, 0),
        Key::Refers(number) => (0, number, 1),
        Key::Lines(number) => (0, number, 20_000),
        Key::Rest(number) => (0, number, 20_001),
        Key::Inner(number, NOWHERE) => (0, number, 2),
        Key::Inner(number, owner) => (0, number, 3 + owner.min(16_000)),
        Key::Printed(place) => (1, place, 0),
        Key::User => (2, 0, 0),
        Key::Commands => (2, 1, 0),
        Key::Talk => (2, 2, 0),
    };
    ORDER + (kind << 34) + (u64::from(first) << 20) + (u64::from(second) << 4) + u64::from(told)
}

/// Whether a name that stands in no file is more than something that a command printed once.
fn recurs(pool: &Pool<'_>, n: usize) -> bool {
    pool.get(n).is_some_and(|worth| worth.fact.texts >= 2 || worth.fact.in_call || worth.fact.said)
}

/// Adds the names that are worth most for their length, each only for what it adds to those before it.
fn choose(pool: &Pool<'_>, names: &[usize], own: Option<usize>, called: Option<bool>, most: usize, draft: &mut Draft) {
    let mut told: Vec<&str> = Vec::new();
    let mut numbers = 0;
    for n in names {
        if draft.names.len() >= most {
            return;
        }
        let Some(worth) = pool.get(*n).filter(|_| Some(*n) != own) else { continue };
        let gain = pool.gain(*n);
        if called.is_some_and(|called| called != worth.fact.called) {
            continue;
        }
        if worth.fact.shape == Shape::Number && !worth.fact.line {
            if numbers >= NUMBERS_A_LINE {
                continue;
            }
            numbers += usize::from(gain > 0);
        }
        // The longer of two dotted names says the shorter one too.
        if gain == 0 || told.iter().any(|known| known.contains(worth.name) || worth.name.contains(*known)) {
            continue;
        }
        draft.gain += gain;
        draft.cost += worth.cost;
        draft.names.push(*n);
        told.push(worth.name);
    }
}

fn file_draft(pool: &Pool<'_>, changed_names: &[usize], number: u32, told_before: u32) -> Option<Draft> {
    let (_, file) = pool.notes.facts.files.get_index(number as usize).filter(|_| told_before == 0)?;
    let changed = file.edits + file.writes > 0;
    let shown = pool.shown(number)?;
    let own = pool.find(shown);
    let mut draft = Draft {
        // That a file was changed is worth telling by itself, as much as a name of middling chance.
        gain: own.map_or(0, |n| pool.gain(n)) + if changed { 300 } else { 0 } + if file.by_user { 2_048 } else { 0 },
        cost: LINE_COST + 8 + shown.len() as u64,
        names: Vec::new(),
        with: None,
    };
    for n in changed_names.iter().copied() {
        let Some(worth) = pool.get(n).filter(|_| draft.names.len() < NAMES_OF_FILE) else { break };
        // What was changed is worth saying twice: in what was done, and of the file.
        draft.gain += pool.gain(n).max(worth.value / 4);
        draft.cost += worth.cost + 8;
        draft.names.push(n);
    }
    Some(draft)
}

fn line(pool: &Pool<'_>, key: Key, again: bool, draft: &Draft) -> Option<Item> {
    let facts = &pool.notes.facts;
    let text = match key {
        Key::File(number) => file_line(pool, number, draft)?,
        Key::Inner(number, NOWHERE) => format!("  - It {}.", holds(pool, number, &draft.names)),
        Key::Inner(_, _) if again => format!("  - It also {}.", deeds(pool, &draft.names)),
        Key::Inner(_, owner) => {
            format!("  - {} {}.", marked(facts.owners.get_index(owner as usize)?.0), deeds(pool, &draft.names))
        }
        Key::Refers(_) => format!("  - It refers to {}.", and(&listed(pool, &draft.names))),
        Key::Rest(_) => format!("  - It also has {}.", and(&listed(pool, &draft.names))),
        Key::Lines(_) => {
            let mut lines = listed(pool, &draft.names);
            lines.sort_unstable_by_key(|line| line.parse::<u64>().unwrap_or(u64::MAX));
            format!("  - It was looked at near lines {}.", and(&lines))
        }
        Key::Printed(place) => format!("- {} printed {}.", facts.places.get_index(place as usize)?.0, and(&listed(pool, &draft.names))),
        Key::User => format!("- The user named {}.", and(&listed(pool, &draft.names))),
        Key::Commands => format!("- Commands worked on {}.", and(&listed(pool, &draft.names))),
        Key::Talk => format!("- The talk was about {}.", and(&listed(pool, &draft.names))),
    };
    let mut sources: Vec<Ix> = draft.names.iter().filter_map(|n| pool.get(*n)).map(|worth| worth.fact.entry).collect();
    match key {
        Key::File(number) => sources.push(facts.files.get_index(number as usize)?.1.entry),
        Key::Printed(place) => sources.push(*facts.places.get_index(place as usize)?.1),
        _ => {}
    }
    sources.sort_unstable();
    sources.dedup();
    Some(Item { text, sources, ..Item::default() })
}

/// What a definition does with names: those that are called, then the others.
fn deeds(pool: &Pool<'_>, names: &[usize]) -> String {
    let (calls, uses): (Vec<usize>, Vec<usize>) = names.iter().partition(|n| pool.get(**n).is_some_and(|worth| worth.fact.called));
    let (calls, uses) = (listed(pool, &calls), listed(pool, &uses));
    match (calls.is_empty(), uses.is_empty()) {
        (false, true) => format!("calls {}", and(&calls)),
        (true, _) => format!("uses {}", and(&uses)),
        (false, false) => format!("calls {}; uses {}", and(&calls), and(&uses)),
    }
}

/// Ends of files that hold data or prose, sorted; what is in them is not called or used there.
const TEXTS: &[&str] = &[
    "cfg", "conf", "csv", "env", "ini", "json", "json5", "jsonl", "lock", "log", "md", "mdx", "rst", "toml", "tsv", "txt", "xml", "yaml",
    "yml",
];

/// What a file does with names that stand outside of its definitions.
fn holds(pool: &Pool<'_>, number: u32, names: &[usize]) -> String {
    let path = pool.notes.facts.files.get_index(number as usize).map_or("", |(path, _)| path);
    match path.rsplit_once('.') {
        Some((_, end)) if TEXTS.binary_search(&end).is_ok() => format!("names {}", and(&listed(pool, names))),
        _ => deeds(pool, names),
    }
}

fn listed(pool: &Pool<'_>, names: &[usize]) -> Vec<String> {
    names.iter().filter_map(|n| pool.get(*n)).map(|worth| marked(worth.name)).collect()
}

fn file_line(pool: &Pool<'_>, number: u32, draft: &Draft) -> Option<String> {
    let (path, fact) = pool.notes.facts.files.get_index(number as usize)?;
    let path = pool.shown(number).unwrap_or(path);
    let path = path.replace('`', "'");
    let of = |change: Change| {
        let names = draft.names.iter().filter_map(|n| pool.get(*n)).filter(|worth| worth.fact.change == change);
        names.map(|worth| marked(worth.name)).collect::<Vec<_>>()
    };
    let mut parts = Vec::new();
    for (verb, names) in [("added", of(Change::Added)), ("changed", of(Change::Touched))] {
        if !names.is_empty() {
            parts.push(format!("{verb} {}", and(&names)));
        }
    }
    let did = did(fact);
    Some(match draft.with {
        Some(Key::Inner(number, NOWHERE)) => format!("- {did} `{path}`, which {}.", holds(pool, number, &draft.names)),
        Some(Key::Inner(_, owner)) => {
            let owner = marked(pool.notes.facts.owners.get_index(owner as usize)?.0);
            format!("- {did} `{path}`, where {owner} {}.", deeds(pool, &draft.names))
        }
        Some(_) => format!("- {did} `{path}`, which refers to {}.", and(&listed(pool, &draft.names))),
        None if parts.is_empty() => format!("- {did} `{path}`."),
        None => format!("- {did} `{path}`: {}.", parts.join("; ")),
    })
}

/// What was done with a file.
fn did(fact: &FileFact) -> String {
    match (fact.writes, fact.edits, fact.reads) {
        (0, 0, 0 | 1) => "Read".to_owned(),
        (0, 0, n) => format!("Read {n}×"),
        (_, 0, _) => "Wrote".to_owned(),
        (_, 1, _) => "Edited".to_owned(),
        (_, n, _) => format!("Edited {n}×"),
    }
}

/// Changed files that stand nowhere in the summary yet, a line for every few; `told` are those with a line of their own.
fn bare_lines(pool: &Pool<'_>, told: &BTreeMap<Key, u32>) -> Vec<Item> {
    let mut files: Vec<(u32, &str, Ix)> = Vec::new();
    for (n, (_, fact)) in pool.notes.facts.files.iter().enumerate() {
        let number = u32::try_from(n).unwrap_or(NOWHERE);
        let Some(path) = pool.shown(number).filter(|path| !path.contains('`') && !pool.text.contains(&format!("`{path}`"))) else {
            continue;
        };
        if fact.edits + fact.writes > 0 && !told.contains_key(&Key::File(number)) {
            files.push((fact.last, path, fact.entry));
        }
    }
    files.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut out = Vec::new();
    for (n, chunk) in files.chunks(NAMES_A_LINE).take(BARE_LINES).enumerate() {
        let paths: Vec<String> = chunk.iter().map(|(_, path, _)| format!("`{path}`")).collect();
        let text = format!("- Edited {}.", and(&paths));
        let order = ORDER + (1 << 33) + n as u64;
        out.push(Item { text, value: 100_000 - n as u64, order, sources: chunk.iter().map(|(_, _, ix)| *ix).collect(), ..Item::default() });
    }
    out
}

/// Names in a row, the last with an “and”.
pub(super) fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}
