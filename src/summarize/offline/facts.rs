//! The names of a session and what is known of them: how often, where first, in which file.
//!
//! The pool is bounded: when it is full, names that came up once and long ago go.

use std::hash::BuildHasherDefault;

use indexmap::IndexMap;

use super::args::definition;
use super::names::{self, Shape};
use crate::session::Ix;

type Table<T> = IndexMap<Box<str>, T, BuildHasherDefault<Fnv>>;

/// A hash without keys, so that nothing depends on the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl std::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        // The table takes the top bits, which a short name hardly reaches.
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().rev().fold(0, |word, b| (word << 8) | u64::from(*b));
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

/// No file.
pub(super) const NOWHERE: u32 = u32::MAX;

/// What is known of a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fact {
    /// What it is.
    pub shape: Shape,
    /// In how many texts.
    pub texts: u32,
    /// How often, over all texts.
    pub times: u32,
    /// How often in what calls asked for or wrote.
    pub calls: u32,
    /// In how many turns.
    pub turns: u32,
    /// The turn it was last seen in.
    turn: u32,
    /// What a change did with it.
    pub change: Change,
    /// The text it was last seen in.
    pub last: u32,
    /// The file it belongs to, or [`NOWHERE`].
    pub home: u32,
    /// The command that printed it first, a place in [`Facts::places`], or [`NOWHERE`].
    pub place: u32,
    /// The definition it stands in, a place in [`Facts::owners`], or [`NOWHERE`].
    pub owner: u32,
    /// Files and definitions in them that it stands in: the first ones, and the latest. Outside of all definitions the second
    /// is [`NOWHERE`].
    pub among: [(u32, u32); MOST_AMONG],
    /// Whether it was seen called.
    pub called: bool,
    /// For numbers: whether it is a line of its file.
    pub line: bool,
    /// Whether a definition of it was seen there.
    pub defined: bool,
    /// Whether a tool printed it.
    pub in_result: bool,
    /// Whether a call asked for it.
    pub in_call: bool,
    /// Whether the assistant said it.
    pub said: bool,
    /// Whether the user said it.
    pub by_user: bool,
    /// Where it was first seen.
    pub entry: Ix,
}

/// What the session's own changes did with a name; the stronger one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// Nothing.
    None,
    /// New text holds it.
    Used,
    /// What it defines was changed.
    Touched,
    /// It was added.
    Added,
}

/// What was done with a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileFact {
    /// Times it was read.
    pub reads: u32,
    /// Times it was edited.
    pub edits: u32,
    /// Times it was written whole.
    pub writes: u32,
    /// The text in which it was last touched.
    pub last: u32,
    /// The entry that touched it last.
    pub entry: Ix,
    /// Whether the user named it.
    pub by_user: bool,
}

/// The pool.
#[derive(Debug)]
pub(super) struct Facts {
    /// The working folder with a slash behind it, or nothing.
    folder: String,
    /// Names.
    pub names: Table<Fact>,
    /// Files.
    pub files: Table<FileFact>,
    /// Definitions that other names stand in.
    pub owners: Table<()>,
    /// For hashes: the hash with the word beside it, as printed or said first.
    pub hashes: Table<Box<str>>,
    /// Commands that printed names.
    pub places: Table<Ix>,
    /// The command whose output is being taken in, or [`NOWHERE`].
    pub place: u32,
    /// How many texts were scanned.
    pub texts: u32,
    /// The number of the turn.
    pub turn: u32,
}

/// Definitions of one file that a name is known to stand in.
const MOST_AMONG: usize = 12;

/// Commands whose output is remembered as the place of a name.
const MOST_PLACES: usize = 2_000;

/// Names that are kept at most; about 4 MB.
const MOST_NAMES: usize = 24_000;

/// Files that are kept at most.
const MOST_FILES: usize = 6_000;

/// Definitions that are kept.
const MOST_OWNERS: usize = 12_000;

/// Hashes whose word is kept.
const MOST_HASHES: usize = 2_000;

/// Bytes of one text whose names count: what stands in the middle of a longer one was hardly read by anyone.
const SCAN_HEAD: usize = 96 << 10;
const SCAN_TAIL: usize = 16 << 10;

/// How a text came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// The user said it.
    User,
    /// The assistant said it.
    Assistant,
    /// It is what a call asked for or changed.
    Call,
    /// It is what a tool printed.
    Result,
}

impl Fact {
    fn new(shape: Shape, home: u32, entry: Ix) -> Fact {
        Fact {
            shape,
            texts: 0,
            times: 0,
            calls: 0,
            turns: 0,
            turn: 0,
            place: NOWHERE,
            change: Change::None,
            last: 0,
            home,
            owner: NOWHERE,
            among: [(NOWHERE, NOWHERE); MOST_AMONG],
            called: false,
            line: false,
            defined: false,
            in_result: false,
            in_call: false,
            said: false,
            by_user: false,
            entry,
        }
    }
}

impl Facts {
    pub(super) fn new(folder: &str) -> Self {
        let folder = folder.trim_end_matches(['/', '\\']);
        let folder = if folder.len() < 2 { String::new() } else { format!("{folder}/") };
        Facts {
            folder,
            names: Table::default(),
            files: Table::default(),
            owners: Table::default(),
            hashes: Table::default(),
            places: Table::default(),
            place: NOWHERE,
            texts: 0,
            turn: 0,
        }
    }

    /// A path without the working folder before it: shorter, and still what the session says.
    pub(super) fn short<'p>(&self, path: &'p str) -> &'p str {
        let rest = if self.folder.is_empty() { path } else { path.strip_prefix(self.folder.as_str()).unwrap_or(path) };
        rest.strip_prefix("./").unwrap_or(rest)
    }

    /// Notes that a call touches a file; gives its number.
    pub(super) fn touch(&mut self, path: &str, entry: Ix, change: impl FnOnce(&mut FileFact)) -> u32 {
        let path = self.short(path).to_owned();
        if path.is_empty() || path.len() > 300 {
            return NOWHERE;
        }
        if self.files.len() >= MOST_FILES && !self.files.contains_key(path.as_str()) {
            return NOWHERE;
        }
        let texts = self.texts;
        let by_user = self.is_named_by_user(&path);
        let slot = self.files.entry(path.into());
        let number = slot.index();
        let fact = slot.or_insert(FileFact { reads: 0, edits: 0, writes: 0, last: texts, entry, by_user });
        fact.by_user |= by_user;
        fact.last = texts;
        fact.entry = entry;
        change(fact);
        u32::try_from(number).unwrap_or(NOWHERE)
    }

    /// Whether the user named a file, whole or by its last part.
    fn is_named_by_user(&self, path: &str) -> bool {
        let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
        [path, last].iter().any(|name| self.names.get(*name).is_some_and(|fact| fact.by_user))
    }

    /// Notes that an earlier summary told a name with the file and the definition it stands in.
    pub(super) fn stand(&mut self, name: &str, home: u32, owner: u32, called: bool) {
        let Some(fact) = self.names.get_mut(name).filter(|_| home != NOWHERE) else { return };
        fact.called |= called;
        let known = fact.among.iter_mut().find(|(file, other)| *file == home && *other == NOWHERE);
        if let Some(slot) = known {
            slot.1 = owner;
        }
    }

    /// Notes what an earlier summary said of a file; gives its number.
    pub(super) fn recall(&mut self, path: &str, entry: Ix, change: impl FnOnce(&mut FileFact)) -> u32 {
        // A summary may have told it by its end.
        let mut ends =
            self.files.keys().filter(|known| known.strip_suffix(path).is_some_and(|head| head.is_empty() || head.ends_with(['/', '\\'])));
        let path = match (ends.next(), ends.next()) {
            (Some(known), None) => known.to_string(),
            _ => path.to_owned(),
        };
        let last = self.files.get(path.as_str()).map(|file| (file.last, file.entry));
        let number = self.touch(&path, entry, change);
        if let Some((_, file)) = self.files.get_index_mut(number as usize) {
            (file.last, file.entry) = last.unwrap_or((0, entry));
        }
        number
    }

    /// Notes that a line of file `home` was asked for.
    pub(super) fn asked_line(&mut self, line: u64, home: u32, entry: Ix) {
        if line < 100 {
            return;
        }
        let texts = self.texts;
        let fact = self.names.entry(line.to_string().into()).or_insert(Fact::new(Shape::Number, home, entry));
        fact.line = true;
        fact.in_call = true;
        fact.last = texts;
        fact.texts += 1;
        fact.times += 1;
        if !fact.among.iter().any(|(file, _)| *file == home)
            && let Some(free) = fact.among.iter_mut().find(|(file, _)| *file == NOWHERE)
        {
            *free = (home, NOWHERE);
        }
    }

    /// Notes that a change of file `home` is about a name.
    pub(super) fn mark(&mut self, name: &str, change: Change, home: u32, entry: Ix) {
        let (texts, turn) = (self.texts, self.turn);
        let fact = self.names.entry(name.into()).or_insert(Fact { last: texts, ..Fact::new(Shape::Ident, home, entry) });
        if fact.turns == 0 || fact.turn != turn {
            fact.turns += 1;
            fact.turn = turn;
        }
        if change > Change::Used && fact.change < change || fact.home == NOWHERE {
            fact.home = home;
            fact.entry = entry;
        }
        fact.change = fact.change.max(change);
        fact.texts = fact.texts.max(1);
    }

    /// The definition of a file in which most of these names were seen, when it is the only one with as many.
    pub(super) fn around(&self, names: &[String], home: u32) -> Option<String> {
        let mut seen: Vec<(usize, u32)> = Vec::new();
        let facts = names.iter().filter_map(|name| self.names.get(name.as_str())).filter(|fact| fact.home == home);
        let among = facts.flat_map(|fact| fact.among).filter(|(file, owner)| *file == home && *owner != NOWHERE);
        for owner in among.map(|(_, owner)| owner) {
            match seen.iter_mut().find(|(_, known)| *known == owner) {
                Some((times, _)) => *times += 1,
                None => seen.push((1, owner)),
            }
        }
        seen.sort_unstable_by(|a, b| b.cmp(a));
        let (times, owner) = seen.first().copied()?;
        if seen.get(1).is_some_and(|(other, _)| *other == times) {
            return None;
        }
        self.owners.get_index(owner as usize).map(|(owner, _)| owner.to_string())
    }

    /// The number of a definition.
    pub(super) fn owner(&mut self, defined: &str) -> u32 {
        if self.owners.len() >= MOST_OWNERS && !self.owners.contains_key(defined) {
            return NOWHERE;
        }
        let slot = self.owners.entry(defined.into());
        let number = slot.index();
        slot.or_insert(());
        u32::try_from(number).unwrap_or(NOWHERE)
    }

    /// The shortest end of a file's path that no other file has: its name, mostly.
    pub(super) fn shortest(&self, number: u32) -> &str {
        let Some((path, _)) = self.files.get_index(number as usize) else { return "" };
        let ends = path.rmatch_indices(['/', '\\']).map(|(at, _)| path.get(at + 1..).unwrap_or(path));
        let alone = |end: &&str| {
            end.len() > 2
                && self
                    .files
                    .keys()
                    .filter(|other| other.strip_suffix(*end).is_some_and(|head| head.is_empty() || head.ends_with(['/', '\\'])))
                    .count()
                    == 1
        };
        ends.take(3).find(alone).unwrap_or(path)
    }

    /// Takes in what a command printed: a name that stands in no file is told with it.
    pub(super) fn take_printed(&mut self, text: &str, command: &str, entry: Ix) {
        self.place = if self.places.len() < MOST_PLACES || self.places.contains_key(command) {
            let slot = self.places.entry(command.into());
            let number = slot.index();
            *slot.or_insert(entry) = entry;
            u32::try_from(number).unwrap_or(NOWHERE)
        } else {
            NOWHERE
        };
        self.take(text, Voice::Result, NOWHERE, entry);
        self.place = NOWHERE;
    }

    /// Takes in the names of a text. `home` is the file that the text is from.
    pub(super) fn take(&mut self, text: &str, voice: Voice, home: u32, entry: Ix) {
        self.texts += 1;
        if text.len() <= SCAN_HEAD + SCAN_TAIL {
            self.scan(text, voice, home, entry);
        } else {
            self.scan(crate::text::clip(text, SCAN_HEAD), voice, home, entry);
            self.scan(crate::text::tail(text, SCAN_TAIL), voice, home, entry);
        }
        if self.names.len() > MOST_NAMES {
            let old = self.texts.saturating_sub(self.texts / 4);
            self.names.retain(|_, fact| fact.texts > 1 || fact.by_user || fact.change > Change::None || fact.last >= old);
            let floor = if self.names.len() > MOST_NAMES / 4 * 3 { 2 } else { 0 };
            self.names.retain(|_, fact| fact.texts > floor || fact.by_user);
        }
    }

    fn scan(&mut self, text: &str, voice: Voice, home: u32, entry: Ix) {
        let (now, turn, place) = (self.texts, self.turn, self.place);
        let folder = std::mem::take(&mut self.folder);
        let mut line_file = NOWHERE;
        let mut diff_file = NOWHERE;
        let mut line_end = 0;
        let mut known: Option<(usize, usize)> = None;
        let mut owner = NOWHERE;
        let mut read = 0;
        names::scan(text, |name| {
            let mut said = name.text;
            if name.shape == Shape::Path {
                if !folder.is_empty() {
                    said = said.strip_prefix(folder.as_str()).unwrap_or(said);
                }
                // In the text of a file it is relative to that file, and says so.
                if home == NOWHERE {
                    said = said.strip_prefix("./").unwrap_or(said);
                }
                if said.len() < 3 {
                    return;
                }
            }
            if name.at >= line_end {
                line_file = diff_file;
                line_end = memchr::memchr(b'\n', text.as_bytes().get(name.at..).unwrap_or_default()).map_or(text.len(), |n| name.at + n);
                // A line that begins with a file tells of it, as search tools print.
                if name.shape == Shape::Path && home == NOWHERE && text.as_bytes().get(name.at + name.text.len()) == Some(&b':') {
                    line_file = self.files.get_index_of(said).and_then(|n| u32::try_from(n).ok()).unwrap_or(NOWHERE);
                }
                // In a diff all that follows is of the file in its heading.
                if name.shape == Shape::Path && home == NOWHERE && text.get(..name.at).is_some_and(|before| before.ends_with("+++ ")) {
                    let file = said.strip_prefix("b/").unwrap_or(said);
                    diff_file = self.files.get_index_of(file).and_then(|n| u32::try_from(n).ok()).unwrap_or(NOWHERE);
                    line_file = diff_file;
                }
            }
            // Of a file's text it matters in which definition a name stands.
            if home != NOWHERE && read < line_end {
                for line in text.get(read..line_end).unwrap_or_default().lines() {
                    if let Some(defined) = definition(line) {
                        owner = self.owner(defined);
                    }
                }
                read = line_end;
            }
            let at_home = if line_file == NOWHERE { home } else { line_file };
            let defined = voice != Voice::User && name.shape == Shape::Ident && is_defined(text, name.at);
            // The same name often comes twice in a row.
            if known.is_some_and(|(at, len)| text.get(at..at + len) == Some(said)) {
                return;
            }
            let fact = match self.names.get_mut(said) {
                Some(fact) => fact,
                None => self.names.entry(said.into()).or_insert(Fact { place, ..Fact::new(name.shape, at_home, entry) }),
            };
            known = Some((name.at, name.text.len()));
            fact.times = fact.times.saturating_add(1);
            fact.calls = fact.calls.saturating_add(u32::from(voice == Voice::Call));
            if fact.last != now {
                fact.texts += 1;
                fact.last = now;
            }
            if fact.turns == 0 || fact.turn != turn {
                fact.turns += 1;
                fact.turn = turn;
            }
            if name.shape == Shape::Hash
                && voice != Voice::Call
                && self.hashes.len() < MOST_HASHES
                && !self.hashes.contains_key(said)
                && let Some(told) = beside(text, name.at, name.text)
            {
                self.hashes.insert(said.into(), told.into());
            }
            fact.by_user |= voice == Voice::User;
            fact.in_call |= voice == Voice::Call;
            fact.in_result |= voice == Voice::Result;
            fact.said |= voice == Voice::Assistant;
            if at_home != NOWHERE && (fact.home == NOWHERE || defined && !fact.defined) {
                fact.home = at_home;
            }
            fact.defined |= defined;
            fact.line |= name.shape == Shape::Number && at_home != NOWHERE && is_line(text, name.at, name.text.len());
            if at_home != NOWHERE && !fact.among.contains(&(at_home, owner)) {
                let free = fact.among.iter().position(|(file, _)| *file == NOWHERE).unwrap_or(MOST_AMONG - 1);
                if let Some(slot) = fact.among.get_mut(free) {
                    *slot = (at_home, owner);
                }
            }
            if owner != NOWHERE && at_home == fact.home && (fact.owner == NOWHERE || voice == Voice::Call) {
                fact.owner = owner;
            }
            fact.called |= text.as_bytes().get(name.at + name.text.len()) == Some(&b'(');
            if voice == Voice::User
                && name.shape == Shape::Path
                && let Some(file) = self.files.get_mut(said)
            {
                file.by_user = true;
            }
        });
        self.folder = folder;
    }
}

/// A name with the word before or behind it: what it is of.
fn beside(text: &str, at: usize, name: &str) -> Option<String> {
    let end = at + name.len();
    let word_start = |from: &str| from.len() - from.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '_').len();
    let before = text.get(at.saturating_sub(24)..at)?;
    let gap = before.trim_end_matches([' ', ':', '=', '#', '"', '(']);
    let word = word_start(gap);
    if gap.len() < before.len() && before.len() - gap.len() <= 3 && word >= 3 {
        return gap.get(gap.len() - word..).map(|word| format!("{word} {name}"));
    }
    let behind = text.get(end..(end + 24).min(text.len())).or_else(|| text.get(end..(end + 21).min(text.len())))?;
    let word = behind.strip_prefix(' ')?;
    let len = word.len() - word.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    if len >= 3 { word.get(..len).map(|word| format!("{name} {word}")) } else { None }
}

/// Whether a number is that of a line, as search tools print it before a colon and diffs in their headings.
fn is_line(text: &str, at: usize, len: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let opens = before.is_empty() || before.ends_with(['\n', ':']);
    let searched = opens && matches!(text.as_bytes().get(at + len), Some(b':' | b'-'));
    searched
        || before.ends_with("@@ -")
        || before.ends_with(" +") && text.get(at..).is_some_and(|rest| rest.lines().next().is_some_and(|line| line.contains(" @@")))
}

/// Whether the word before the name makes this its definition.
fn is_defined(text: &str, at: usize) -> bool {
    let before = text.get(at.saturating_sub(12)..at).or_else(|| text.get(at.saturating_sub(10)..at)).unwrap_or_default();
    let Some(before) = before.strip_suffix(' ') else { return false };
    let word = before.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    matches!(
        word,
        "class"
            | "interface"
            | "function"
            | "fn"
            | "def"
            | "type"
            | "struct"
            | "enum"
            | "trait"
            | "func"
            | "module"
            | "const"
            | "async"
            | "get"
            | "set"
            | "private"
            | "public"
            | "static"
    )
}
