//! Counting tokens.
//!
//! Counting is the slowest thing the tool does (a vocabulary takes tens of milliseconds to load and then runs at some
//! 25 MB/s), so it is lazy: the vocabulary loads on its own thread while the file is indexed, an entry is counted once,
//! and what is merely reported may be extrapolated from the part that was counted.

mod pieces;
mod raw;
mod vocabulary;

use std::io;
use std::thread::JoinHandle;

use crate::session::places::Places;
use crate::session::{Block, Context, Item, Ix, Map, Message, Role, Session};
use crate::threads;

/// How text is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tokenizer {
    /// OpenAI's o200k vocabulary.
    #[default]
    O200k,
    /// OpenAI's cl100k vocabulary.
    Cl100k,
    /// UTF-8 bytes of each fragment divided by 4, rounded up: what oh-my-pi does for models without a known vocabulary.
    Heuristic,
}

impl Tokenizer {
    /// The name in settings and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tokenizer::O200k => "o200k",
            Tokenizer::Cl100k => "cl100k",
            Tokenizer::Heuristic => "heuristic",
        }
    }

    /// The tokenizer of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Tokenizer> {
        [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Heuristic].into_iter().find(|t| t.name() == name)
    }

    /// Begins to load the vocabulary on a thread of its own, so that it is there when the file is indexed.
    #[must_use]
    pub fn preload(self) -> Option<JoinHandle<()>> {
        if self == Tokenizer::Heuristic {
            return None;
        }
        std::thread::Builder::new()
            .spawn(move || {
                let _ = self.vocabulary();
            })
            .ok()
    }

    fn vocabulary(self) -> Option<&'static bpe_openai::Tokenizer> {
        match self {
            Tokenizer::O200k => Some(&*vocabulary::O200K),
            Tokenizer::Cl100k => Some(&*vocabulary::CL100K),
            Tokenizer::Heuristic => None,
        }
    }

    /// Tokens of one fragment of text, in time linear in its length. Text that looks like a special token is ordinary text.
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        match self {
            Tokenizer::O200k => pieces::o200k(text),
            Tokenizer::Cl100k => pieces::cl100k(text),
            Tokenizer::Heuristic => (text.len() as u64).div_ceil(4),
        }
    }
}

/// Tokens that an image counts, whatever its size: what oh-my-pi takes.
pub const IMAGE_TOKENS: u64 = 1_200;

/// Counts the fragments of one message; executions that the person kept from the model count nothing.
#[must_use]
pub fn of_message(tokenizer: Tokenizer, message: &Message<'_>) -> u64 {
    measure(message, |text| tokenizer.count(text))
}

/// The sum over the fragments of a message; `text` measures those that are text.
fn measure(message: &Message<'_>, text: impl Fn(&str) -> u64) -> u64 {
    if message.excluded {
        return 0;
    }
    let mut sum = message.command.as_deref().map_or(0, &text) + message.output.as_deref().map_or(0, &text);
    for block in &message.blocks {
        sum += match block {
            Block::Text(t) | Block::Redacted(t) => text(t),
            Block::Thinking { text: thought, signature } => text(thought) + signature.as_deref().map_or(0, &text),
            Block::Call(call) => text(&call.name) + text(&call.args.to_text()),
            Block::Image { .. } => IMAGE_TOKENS,
            Block::Frame { tokens, .. } => *tokens,
            Block::Other => 0,
        };
    }
    sum
}

/// A number of tokens, and whether a part of it was extrapolated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Tokens.
    pub tokens: u64,
    /// Part of it was extrapolated from bytes.
    pub estimated: bool,
}

impl std::ops::Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { tokens: self.tokens + other.tokens, estimated: self.estimated || other.estimated }
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Count>>(counts: I) -> Count {
        counts.fold(Count::default(), std::ops::Add::add)
    }
}

/// Entries below which a thread of its own costs more than it saves.
const FEWEST_A_THREAD: usize = 64;

/// Counts entries of one session, each once.
#[derive(Debug)]
pub struct Counter<'s> {
    session: &'s Session,
    tokenizer: Tokenizer,
    known: Map<Ix, u64>,
    /// Where the parts of results stand that were counted: who prunes them next need not walk through their lines again.
    places: Map<Ix, Places>,
    /// Tokens and text bytes of what was counted: the rate for extrapolation.
    counted: (u64, u64),
    /// Text bytes that may still be counted for numbers that are merely reported.
    allowance: u64,
}

/// How much is counted for numbers that are merely reported; what decides something is always counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A look: as much as costs no more than loading the vocabulary does.
    Glance,
    /// A receipt: exact for all but huge contexts.
    Receipt,
    /// Everything.
    Exact,
}

impl Effort {
    /// Bytes of text.
    fn allowance(self, tokenizer: Tokenizer) -> u64 {
        match (self, tokenizer) {
            (Effort::Exact, _) => u64::MAX,
            (Effort::Glance, Tokenizer::Heuristic) => 2 << 20,
            (Effort::Glance, _) => 256 << 10,
            (Effort::Receipt, _) => 4 << 20,
        }
    }
}

impl<'s> Counter<'s> {
    /// A counter that extrapolates what `effort` does not allow to count.
    #[must_use]
    pub fn new(session: &'s Session, tokenizer: Tokenizer, effort: Effort) -> Counter<'s> {
        Counter {
            session,
            tokenizer,
            known: Map::default(),
            places: Map::default(),
            counted: (0, 0),
            allowance: effort.allowance(tokenizer),
        }
    }

    /// The session that is counted.
    #[must_use]
    pub fn session(&self) -> &'s Session {
        self.session
    }

    /// How text is counted.
    #[must_use]
    pub fn tokenizer(&self) -> Tokenizer {
        self.tokenizer
    }

    /// Tokens of an entry as it is stored, exactly.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn entry(&mut self, ix: Ix) -> io::Result<u64> {
        if !self.session[ix].is_message() {
            return Ok(0);
        }
        if let Some(known) = self.known.get(&ix) {
            return Ok(*known);
        }
        let (tokens, places) = of_entry(self.session, self.tokenizer, ix, &mut Room::default())?;
        self.learn(ix, tokens, places);
        Ok(tokens)
    }

    /// Where the parts of a result stand that was counted; `None` when it was not, or when they are not known.
    pub(super) fn places(&self, ix: Ix) -> Option<&Places> {
        self.places.get(&ix)
    }

    fn learn(&mut self, ix: Ix, tokens: u64, places: Option<Places>) {
        self.known.insert(ix, tokens);
        self.places.extend(places.map(|places| (ix, places)));
        let text = text_bytes(self.session, ix);
        let images = u64::from(self.session[ix].images) * IMAGE_TOKENS;
        self.counted.0 += tokens.saturating_sub(images);
        self.counted.1 += text;
        self.allowance = self.allowance.saturating_sub(text);
    }

    /// Counts entries that will be asked for in any case, on all cores.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn prefetch(&mut self, entries: &[Ix]) -> io::Result<()> {
        let (session, tokenizer) = (self.session, self.tokenizer);
        let wanted: Vec<Ix> = entries.iter().copied().filter(|ix| session[*ix].is_message() && !self.known.contains_key(ix)).collect();
        let counted = threads::map(&wanted, FEWEST_A_THREAD, Room::default, |room, _, ix| of_entry(session, tokenizer, *ix, room))?;
        let counted: Vec<(u64, Option<Places>)> = counted.into_iter().collect::<io::Result<_>>()?;
        self.known.reserve(wanted.len());
        self.places.reserve(wanted.len());
        for (ix, (tokens, places)) in wanted.into_iter().zip(counted) {
            self.learn(ix, tokens, places);
        }
        Ok(())
    }

    /// Tokens of the entries together: exact while the allowance lasts, the newest first, and extrapolated beyond it.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn entries(&mut self, entries: &[Ix]) -> io::Result<Count> {
        let mut exact = 0;
        let mut bytes = 0;
        for ix in entries.iter().rev().copied() {
            if self.allowance > 0 || self.known.contains_key(&ix) {
                exact += self.entry(ix)?;
            } else if self.session[ix].is_message() && !self.session[ix].flags.excluded() {
                bytes += text_bytes(self.session, ix);
                exact += u64::from(self.session[ix].images) * IMAGE_TOKENS;
            }
        }
        let (tokens, per) = self.counted;
        let more = u128::from(bytes) * u128::from(tokens.max(1)) / u128::from(per.max(1));
        Ok(Count { tokens: exact + u64::try_from(more).unwrap_or(u64::MAX), estimated: bytes > 0 })
    }

    /// Whether the entries count at least `bound` tokens together; counts no more of them, newest first, than it takes.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn reaches(&mut self, entries: &[Ix], bound: u64) -> io::Result<Result<(), u64>> {
        let mut sum = 0;
        for ix in entries.iter().rev().copied() {
            if sum >= bound {
                break;
            }
            sum += self.entry(ix)?;
        }
        Ok(if sum >= bound { Ok(()) } else { Err(sum) })
    }

    /// Tokens of one message of a context, as the model gets it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn item(&mut self, context: &Context, item: &Item) -> io::Result<u64> {
        if item.edit.is_none() && !item.partial && self.session[item.entry].is_message() {
            return self.entry(item.entry);
        }
        let tokenizer = self.tokenizer;
        self.session.with_item(context, item, |message| of_message(tokenizer, message))
    }

    /// Tokens that one message of a context has at most, without counting: every token is a byte of text at least. A message
    /// that the file's index knows all about is not even read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn most(&mut self, context: &Context, item: &Item) -> io::Result<u64> {
        if item.edit.is_none() && self.session[item.entry].is_message() {
            let known = self.known.get(&item.entry).filter(|_| !item.partial).copied();
            // A byte that is no UTF-8 is read as a character of three.
            let bytes =
                || text_bytes(self.session, item.entry).saturating_mul(if self.session[item.entry].flags.lenient() { 3 } else { 1 });
            let images = u64::from(self.session[item.entry].images) * IMAGE_TOKENS;
            return Ok(known.unwrap_or_else(|| bytes().saturating_add(images)));
        }
        self.session.with_item(context, item, |message| measure(message, |text| text.len() as u64))
    }

    /// Tokens of a whole context: exact while the allowance lasts, and extrapolated beyond it.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn context(&mut self, context: &Context) -> io::Result<Count> {
        let mut plain = Vec::new();
        let mut special = 0;
        for item in &context.items {
            if item.edit.is_some() || item.partial || !self.session[item.entry].is_message() {
                special += self.item(context, item)?;
            } else {
                plain.push(item.entry);
            }
        }
        Ok(self.entries(&plain)? + Count { tokens: special, estimated: false })
    }
}

/// Room for the line and the text that are being counted.
#[derive(Default)]
struct Room {
    line: Vec<u8>,
    text: String,
}

/// Tokens of an entry as it is stored; of a result the places of its parts too.
fn of_entry(session: &Session, tokenizer: Tokenizer, ix: Ix, room: &mut Room) -> io::Result<(u64, Option<Places>)> {
    let entry = &session[ix];
    if entry.role == Role::ToolResult && !entry.flags.lenient() {
        session.read_into(ix, &mut room.line)?;
        let counted = std::str::from_utf8(&room.line).ok().and_then(|line| raw::of_result(tokenizer, line, &mut room.text));
        if let Some(counted) = counted {
            return Ok(counted);
        }
    }
    Ok((session.with_message(ix, |message| of_message(tokenizer, message))?, None))
}

/// Bytes of a record that may be text for a model.
fn text_bytes(session: &Session, ix: Ix) -> u64 {
    let entry = &session[ix];
    u64::from(entry.len.saturating_sub(entry.bulk))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_heuristic_is_a_quarter_of_the_bytes_rounded_up() {
        for (text, want) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本", 2)] {
            assert_eq!(Tokenizer::Heuristic.count(text), want, "{text}");
        }
    }

    #[test]
    fn special_tokens_are_ordinary_text() {
        assert_eq!(Tokenizer::O200k.count("<|endoftext|>"), 7);
    }

    #[test]
    fn endless_runs_are_counted_in_linear_time() {
        for run in ["a", " ", "/", "日", "\n"] {
            assert!(Tokenizer::O200k.count(&run.repeat(500_000)) > 1_000, "{run}");
        }
    }

    proptest! {
        // OpenAI's own code is the oracle: what counts here is what is billed there.
        #[test]
        fn both_vocabularies_count_as_openai_does(text in "([a-zA-Z0-9 .,;:(){}=_/\\n\\t'-]|\\PC){0,300}") {
            prop_assert_eq!(Tokenizer::O200k.count(&text), tiktoken_rs::o200k_base_singleton().count_ordinary(&text) as u64);
            prop_assert_eq!(Tokenizer::Cl100k.count(&text), tiktoken_rs::cl100k_base_singleton().count_ordinary(&text) as u64);
        }
    }
}
