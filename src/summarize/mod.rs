//! With which words: what makes a summary out of messages.
//!
//! The offline summarizer is the default: deterministic, no network, no clock. Everything it says has a source in the
//! session, and every line knows which.

pub mod choice;
pub mod keys;
pub mod offline;
pub mod online;
pub mod truncate;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use serde_json::{Map, Value, json};

use crate::engine::serialize::Selection;
use crate::engine::tokens::Tokenizer;
use crate::session::{Ix, Session};

/// What the summary is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The history before a cut; updates the previous summary when there is one.
    History,
    /// The part of a split turn before the cut: what was asked, what has been done, where it stands.
    TurnPrefix,
    /// An abandoned branch: why it was opened, what it learnt.
    Branch,
    /// A document from which the next session goes on.
    Handoff,
    /// The reminder that stands for all of a replaced history. What is sent away or cut is its transcript.
    Replacement,
}

/// What is to be summarized.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The session.
    pub session: &'a Session,
    /// The messages, in path order, without those that are left out.
    pub selection: &'a Selection,
    /// What the summary is for.
    pub purpose: Purpose,
    /// The summary that is to be updated, without file tags. For a turn prefix: the summary of the history, which stands before
    /// it and need not be said again.
    pub previous: Option<&'a str>,
    /// The messages that stay verbatim behind the summary; what is near to them matters more.
    pub kept: &'a [Ix],
    /// For the history before a split turn: the messages of that turn, which are told apart. What the work is about is said
    /// once for both, so names in them count; nothing else of them is said.
    pub turn: &'a [Ix],
    /// What the user asked the summary to look at.
    pub focus: Option<&'a str>,
    /// What a summarizer that is a model is told in place of our own prompt; others look at it as at `focus`.
    pub prompt: Option<&'a str>,
    /// Lines of context from elsewhere that the summary should carry.
    pub context: &'a [String],
    /// Most tokens of the summary's text.
    pub budget: u64,
    /// Tokens of further lines that may be added when what else has to stand beside the summary leaves room for them.
    pub spare: u64,
    /// How they are counted.
    pub tokenizer: Tokenizer,
}

/// A summary, line by line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Its lines; joined by line ends they are the text.
    pub lines: Vec<Line>,
    /// One or two sentences for lists.
    pub short: String,
    /// Lines that may be added, those first that are worth most, each with its place among all lines, these included.
    pub spare: Vec<(usize, Line)>,
}

/// A line of a summary and the entries it was taken from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The text, Markdown.
    pub text: String,
    /// The entries; none for headings, blank lines and what a previous summary said.
    pub sources: Vec<Ix>,
}

impl Summary {
    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Adds of the spare lines what fits into `room` tokens; those stay out that `told` has already.
    pub fn fill(&mut self, mut room: u64, tokenizer: Tokenizer, told: &str) {
        let told: HashSet<&str> = told.lines().collect();
        let spare = std::mem::take(&mut self.spare);
        let taken: HashSet<usize> = spare.iter().map(|(at, _)| *at).collect();
        let mut whole: BTreeMap<usize, Line> = (0..).filter(|at| !taken.contains(at)).zip(std::mem::take(&mut self.lines)).collect();
        // A line about what is in a file needs the line of that file.
        let inner = |line: &Line| line.text.starts_with(' ');
        let outer: BTreeSet<usize> =
            whole.iter().chain(spare.iter().map(|(at, line)| (at, line))).filter(|(_, line)| !inner(line)).map(|(at, _)| *at).collect();
        for (at, line) in spare {
            let cost = tokenizer.count(&format!("{}\n", line.text));
            let opened = !inner(&line) || outer.range(..at).next_back().is_some_and(|file| whole.contains_key(file));
            if cost <= room && opened && !told.contains(line.text.as_str()) {
                room -= cost;
                whole.insert(at, line);
            }
        }
        self.lines = whole.into_values().collect();
    }
}

/// Something that makes summaries.
pub trait Summarizer {
    /// Its name in settings and receipts.
    fn name(&self) -> &'static str;

    /// Makes a summary.
    ///
    /// # Errors
    /// When the session cannot be read, or no summary came of it.
    fn summarize(&self, request: &Request<'_>) -> Result<Summary, SummarizeError>;

    /// Whether it sends what it summarizes to somebody else, so that a dry run must not ask it.
    fn sends(&self) -> bool {
        false
    }

    /// What its summaries took and left so far.
    fn account(&self) -> Account {
        Account::default()
    }

    /// How much some messages of a path matter to what comes next, from 0 to 1; `None` when it cannot tell.
    fn relevance(&self, _session: &Session, _path: &[Ix], _messages: &Selection) -> Option<f64> {
        None
    }
}

/// What making words took, and what it left beside them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Account {
    /// Requests that were sent, those that failed included.
    pub requests: u64,
    /// Tokens as the provider reports them.
    pub usage: Option<Usage>,
    /// The model.
    pub model: Option<String>,
    /// Why another one made the words: its name, and what went wrong.
    pub fell_back: Option<(&'static str, String)>,
    /// What the entry keeps for the provider.
    pub preserve: Map<String, Value>,
    /// What should be known of the words.
    pub warnings: Vec<String>,
}

impl Account {
    /// The same without what was there `before`: what one of several summaries took.
    #[must_use]
    pub fn since(self, before: &Account) -> Account {
        let usage = match (self.usage, before.usage) {
            (Some(all), Some(earlier)) => Some(all.less(earlier)).filter(|usage| *usage != Usage::default()),
            (all, _) => all,
        };
        let warnings = self.warnings.into_iter().skip(before.warnings.len()).collect();
        Account { requests: self.requests.saturating_sub(before.requests), usage, warnings, ..self }
    }

    /// Members of the entry's `details`.
    #[must_use]
    pub fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        if let Some(model) = &self.model {
            details.insert("model".to_owned(), model.as_str().into());
        }
        if let Some((to, why)) = &self.fell_back {
            details.insert("fallback".to_owned(), json!({"to": to, "reason": why}));
        }
        details
    }

    /// What should be known of the words, also when `asked` was asked for them and another one made them.
    #[must_use]
    pub fn warnings(&self, asked: &str) -> Vec<String> {
        let fell_back = self.fell_back.iter();
        let fell_back = fell_back.map(|(to, why)| format!("the summarizer {asked} failed, so {to} made the words: {why}"));
        fell_back.chain(self.warnings.iter().cloned()).collect()
    }
}

/// Tokens of requests, as the provider reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens that were read, without those from a cache.
    pub input: u64,
    /// Tokens that were written.
    pub output: u64,
    /// Tokens that came from a cache.
    pub cache_read: u64,
    /// Tokens that were put into one.
    pub cache_write: u64,
}

impl Usage {
    /// Adds those of another request.
    pub fn add(&mut self, other: Usage) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
    }

    fn less(self, other: Usage) -> Usage {
        Usage {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
        }
    }

    /// The form in which agents store it; they add up the cost, which is not known here.
    #[must_use]
    pub fn to_json(self) -> Value {
        json!({
            "input": self.input, "output": self.output, "cacheRead": self.cache_read, "cacheWrite": self.cache_write,
            "totalTokens": self.input + self.output + self.cache_read + self.cache_write,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
        })
    }
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum SummarizeError {
    /// The session could not be read.
    #[error("cannot read the session: {0}")]
    Read(#[from] io::Error),
    /// The answer was empty.
    #[error("the summarizer gave an empty summary")]
    Empty,
    /// An online summarizer failed.
    #[error(transparent)]
    Online(#[from] online::OnlineError),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;

    fn line(text: &str) -> Line {
        Line { text: text.to_owned(), sources: Vec::new() }
    }

    /// A file with a line of its own, and two that may be added: one about it, one about a file that may be added too.
    fn summary() -> Summary {
        let spare = vec![(2, line("  - It uses alphaOne.")), (3, line("- Read `b.ts`.")), (4, line("  - It uses betaTwo."))];
        Summary { lines: vec![line("## Critical Context"), line("- Read `a.ts`."), line("- Last.")], spare, ..Summary::default() }
    }

    #[test]
    fn spare_lines_stand_where_they_belong() {
        let mut summary = summary();
        summary.fill(100, Tokenizer::O200k, "");
        let want = "## Critical Context\n- Read `a.ts`.\n  - It uses alphaOne.\n- Read `b.ts`.\n  - It uses betaTwo.\n- Last.";
        assert_eq!(summary.text(), want);
    }

    #[test]
    fn spare_lines_keep_to_the_room() {
        for room in 0..40 {
            let mut summary = summary();
            let before = Tokenizer::O200k.count(&summary.text());
            summary.fill(room, Tokenizer::O200k, "");
            assert!(Tokenizer::O200k.count(&summary.text()) <= before + room, "{room}");
        }
    }

    #[test]
    fn a_spare_line_about_a_file_needs_the_line_of_the_file() {
        let mut summary = summary();
        summary.fill(100, Tokenizer::O200k, "- Read `b.ts`.");
        assert_eq!(summary.text(), "## Critical Context\n- Read `a.ts`.\n  - It uses alphaOne.\n- Last.");
    }
}
