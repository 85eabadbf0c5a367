//! Where a compaction cuts.
//!
//! The newest part of the window that fits a budget is kept as it is; what is older is summarized. A cut never stands
//! between a tool call and its result: a provider refuses every later request of a context that holds one without the
//! other.

use std::io;

use super::tokens::{Count, Counter};
use super::usage;
use super::window::{Window, window};
use crate::session::{Ix, Kind, Role, Session};

/// Why there is nothing to compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {
    /// The path has no message.
    Empty,
    /// There is no message after the latest compaction.
    JustCompacted,
    /// The whole window fits the budget.
    Fits,
    /// Every place to cut would part a tool call from its result.
    NoSafeCut,
}

impl Nothing {
    /// The reason in JSON.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Nothing::Empty => "empty",
            Nothing::JustCompacted => "just_compacted",
            Nothing::Fits => "fits",
            Nothing::NoSafeCut => "no_safe_cut",
        }
    }

    /// The reason in words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Nothing::Empty => "there is no message on the path",
            Nothing::JustCompacted => "there is no message after the latest compaction",
            Nothing::Fits => "nothing stands before the part that is kept",
            Nothing::NoSafeCut => "every place to cut would part a tool call from its result",
        }
    }
}

/// Why a place on the path can or cannot be a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legality {
    /// It can.
    Legal,
    /// A tool result never starts the kept part.
    ToolResult,
    /// A result at or after it answers a call before it.
    SplitsPair,
    /// Nothing would be summarized.
    NothingBefore,
}

/// A cut through the window of a path. Positions count on the path.
#[derive(Debug, Clone)]
pub struct Cut {
    /// Start of the window.
    pub window_start: usize,
    /// The latest compaction, whose summary is updated.
    pub previous: Option<usize>,
    /// The first entry that is kept: entries without a message right before the first kept message stay with it.
    pub first_kept: usize,
    /// The first message that is kept.
    pub first_message: usize,
    /// Where the turn begins that the cut splits.
    pub turn_start: Option<usize>,
    /// Tokens that were to be kept, after the correction by reported usage.
    pub budget: u64,
    /// Every message at which `--keep-from` may cut.
    pub candidates: Vec<usize>,
    /// End of the path.
    pub end: usize,
}

impl Cut {
    /// The messages whose text goes into the summary of the history.
    #[must_use]
    pub fn summarized(&self, session: &Session, path: &[Ix]) -> Vec<Ix> {
        messages(session, path, self.window_start, self.turn_start.unwrap_or(self.first_message))
    }

    /// The messages of the split turn that stand before the cut.
    #[must_use]
    pub fn turn_prefix(&self, session: &Session, path: &[Ix]) -> Vec<Ix> {
        self.turn_start.map_or_else(Vec::new, |turn| messages(session, path, turn, self.first_message))
    }

    /// The messages that are kept as they are.
    #[must_use]
    pub fn kept(&self, session: &Session, path: &[Ix]) -> Vec<Ix> {
        messages(session, path, self.first_message, self.end)
    }
}

fn messages(session: &Session, path: &[Ix], from: usize, to: usize) -> Vec<Ix> {
    path.get(from..to).unwrap_or_default().iter().copied().filter(|ix| session[*ix].is_message()).collect()
}

/// What decides a cut.
#[derive(Debug, Clone, Copy)]
pub struct CutSettings<'a> {
    /// Tokens to keep.
    pub keep_recent: u64,
    /// The id of the message to keep from, instead of a budget.
    pub keep_from: Option<&'a str>,
}

/// Why no cut was made.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// An entry could not be read.
    #[error("cannot read the session: {0}")]
    Read(#[from] io::Error),
    /// `--keep-from` names no place to cut.
    #[error("cannot cut at '{id}': {why}")]
    NoCandidate {
        /// What was asked for.
        id: String,
        /// Why it cannot be.
        why: &'static str,
        /// The nearest candidates, the earlier one first.
        nearest: Vec<String>,
    },
}

/// Roles at which a kept part may start.
fn may_start(session: &Session, ix: Ix) -> bool {
    let entry = &session[ix];
    match entry.kind {
        Kind::CustomMessage | Kind::BranchSummary => entry.is_node(),
        Kind::Message => matches!(
            entry.role,
            Role::User
                | Role::Assistant
                | Role::BashExecution
                | Role::HookMessage
                | Role::Custom
                | Role::BranchSummary
                | Role::CompactionSummary
        ),
        _ => false,
    }
}

/// Whether a turn begins at the entry: a request, or something that stands for one.
#[must_use]
pub fn starts_turn(session: &Session, ix: Ix) -> bool {
    let entry = &session[ix];
    match entry.kind {
        Kind::CustomMessage | Kind::BranchSummary => true,
        Kind::Message => matches!(entry.role, Role::User | Role::BashExecution),
        _ => false,
    }
}

/// For each position of the path: whether a cut there would part a result from its call, the nearest earlier one with its
/// id.
fn parted(session: &Session, path: &[Ix]) -> Vec<bool> {
    // By interned id: a list, because a large path has tens of thousands of calls.
    let mut calls: Vec<Option<usize>> = vec![None; session.names()];
    let mut change = vec![0_i64; path.len() + 2];
    for (at, ix) in path.iter().copied().enumerate() {
        let entry = &session[ix];
        for call in session.calls(ix) {
            if let Some(place) = calls.get_mut(call.0 as usize) {
                *place = Some(at);
            }
        }
        let call = entry.target.filter(|_| entry.role == Role::ToolResult).and_then(|call| calls.get(call.0 as usize).copied().flatten());
        if let Some(call) = call {
            for (place, by) in [(call + 1, 1), (at + 1, -1)] {
                if let Some(change) = change.get_mut(place) {
                    *change += by;
                }
            }
        }
    }
    let mut open = 0;
    change
        .iter()
        .map(|by| {
            open += by;
            open > 0
        })
        .take(path.len())
        .collect()
}

/// Whether each entry of the window can be a cut, in path order from the window's start; entries without a message are left out.
#[must_use]
pub fn legality(session: &Session, path: &[Ix], window: &Window) -> Vec<(usize, Legality)> {
    let parted = parted(session, path);
    let first = path.iter().skip(window.start).position(|ix| session[*ix].is_message()).map(|n| n + window.start);
    path.iter()
        .copied()
        .enumerate()
        .skip(window.start)
        .filter(|(_, ix)| session[*ix].is_message())
        .filter_map(|(at, ix)| {
            let verdict = if Some(at) == first {
                Legality::NothingBefore
            } else if session[ix].role == Role::ToolResult {
                Legality::ToolResult
            } else if !may_start(session, ix) {
                return None;
            } else if parted.get(at) == Some(&true) {
                Legality::SplitsPair
            } else {
                Legality::Legal
            };
            Some((at, verdict))
        })
        .collect()
}

/// Chooses the cut of a path.
///
/// # Errors
/// When an entry cannot be read, or `keep_from` names no candidate.
pub fn cut(counter: &mut Counter<'_>, path: &[Ix], settings: CutSettings<'_>) -> Result<Result<Cut, Nothing>, CutError> {
    let session = counter.session();
    let window = window(session, path)?;
    if window.nothing_new {
        return Ok(Err(if window.previous.is_some() { Nothing::JustCompacted } else { Nothing::Empty }));
    }
    let budget = budget(counter, path, &window, settings.keep_recent)?;
    let legality = legality(session, path, &window);
    let candidates: Vec<usize> = legality.iter().filter(|(_, l)| *l == Legality::Legal).map(|(at, _)| *at).collect();
    let chosen = match settings.keep_from {
        Some(id) => keep_from(session, path, &candidates, &legality, id)?,
        None => {
            // By budget over all starts first, whatever they would part; then back to one that parts nothing.
            let starts: Vec<usize> =
                (window.start..path.len()).filter(|at| path.get(*at).is_some_and(|ix| may_start(session, *ix))).collect();
            let Some(by_budget) = by_budget(counter, path, &starts, budget)? else {
                return Ok(Err(Nothing::Fits));
            };
            let first_start = legality.first().map(|(at, _)| *at);
            if first_start == Some(by_budget) || first_start.is_none() {
                return Ok(Err(Nothing::Fits));
            }
            match candidates.iter().rev().find(|at| **at <= by_budget) {
                Some(at) => *at,
                None => return Ok(Err(Nothing::NoSafeCut)),
            }
        }
    };
    Ok(Ok(at(session, path, &window, chosen, budget, candidates)))
}

fn at(session: &Session, path: &[Ix], window: &Window, chosen: usize, budget: u64, candidates: Vec<usize>) -> Cut {
    // Model changes, labels and the like right before the cut describe what is kept.
    let stays = |at: &usize| {
        path.get(*at).is_some_and(|ix| !session[*ix].is_message() && !matches!(session[*ix].kind, Kind::Compaction | Kind::ResetBoundary))
    };
    let first_kept = (window.start..chosen).rev().take_while(stays).last().unwrap_or(chosen);
    let turn_start = if path.get(chosen).is_some_and(|ix| starts_turn(session, *ix)) {
        None
    } else {
        (window.start..chosen).rev().find(|at| path.get(*at).is_some_and(|ix| starts_turn(session, *ix)))
    };
    Cut {
        window_start: window.start,
        previous: window.previous,
        first_kept,
        first_message: chosen,
        turn_start,
        budget,
        candidates,
        end: path.len(),
    }
}

/// The budget, made smaller when a provider reported more tokens for the context than are counted in the window: what is
/// kept is to have the wanted size by the provider's measure.
fn budget(counter: &mut Counter<'_>, path: &[Ix], window: &Window, keep: u64) -> io::Result<u64> {
    // Of a context that was made smaller since, the ratio would only say by how much.
    let usage = if counter.session().usage_is_stale() { None } else { usage::newest(counter.session(), path)? };
    let Some((_, usage)) = usage else {
        return Ok(keep);
    };
    let prompt = usage.prompt_tokens();
    let entries = path.get(window.start..).unwrap_or_default();
    match counter.reaches(entries, prompt)? {
        // Counted at least what was reported: no correction, and no need to count on.
        Ok(()) => Ok(keep),
        Err(0) => Ok(keep),
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the rule is a ratio of doubles, rounded down"
        )]
        Err(counted) => Ok(((keep as f64 / (prompt as f64 / counted as f64)) as u64).max(1)),
    }
}

/// The oldest start from which everything to the end fits the budget; the newest one even when it does not fit.
fn by_budget(counter: &mut Counter<'_>, path: &[Ix], starts: &[usize], budget: u64) -> io::Result<Option<usize>> {
    let mut chosen = None;
    let mut sum = 0;
    let mut end = path.len();
    for start in starts.iter().rev().copied() {
        for ix in path.get(start..end).unwrap_or_default() {
            sum += counter.entry(*ix)?;
        }
        if chosen.is_some() && sum > budget {
            break;
        }
        chosen = Some(start);
        end = start;
        if sum > budget {
            break;
        }
    }
    Ok(chosen)
}

fn keep_from(session: &Session, path: &[Ix], candidates: &[usize], legality: &[(usize, Legality)], id: &str) -> Result<usize, CutError> {
    let matches: Vec<usize> =
        candidates.iter().copied().filter(|at| path.get(*at).is_some_and(|ix| session.id(*ix).starts_with(id))).collect();
    let exact = matches.iter().find(|at| path.get(**at).is_some_and(|ix| session.id(*ix) == id));
    match (exact, matches.as_slice()) {
        (Some(at), _) => return Ok(*at),
        (None, [at]) => return Ok(*at),
        _ => {}
    }
    let place = path.iter().position(|ix| session.id(*ix) == id);
    let why = match (place, legality.iter().find(|(at, _)| Some(*at) == place).map(|(_, l)| *l)) {
        _ if matches.len() > 1 => "more than one candidate begins so",
        (_, Some(Legality::ToolResult)) => "a tool result cannot start the kept part",
        (_, Some(Legality::SplitsPair)) => "a later result answers a call before it",
        (_, Some(Legality::NothingBefore)) => "there is nothing before it to summarize",
        (Some(_), _) => "it is no message that a kept part can start with",
        (None, _) => "it is not on the path",
    };
    let near = place.unwrap_or(path.len());
    // One on each side; two of the same where the other has none.
    let after = candidates.partition_point(|at| *at < near);
    let first = after.saturating_sub(1).min(candidates.len().saturating_sub(2));
    let nearest = candidates.iter().skip(first).take(2).filter_map(|at| path.get(*at)).map(|ix| session.id(*ix).to_owned()).collect();
    Err(CutError::NoCandidate { id: id.to_owned(), why, nearest })
}

/// Messages of a part and their tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Amount {
    /// Messages.
    pub messages: usize,
    /// Their tokens.
    pub count: Count,
}

/// What a cut means in numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Amounts {
    /// What is summarized.
    pub summarize: Amount,
    /// What of the split turn is summarized.
    pub turn_prefix: Amount,
    /// What stays.
    pub keep: Amount,
}

impl Amounts {
    /// Counts the parts of a cut.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn of(counter: &mut Counter<'_>, path: &[Ix], cut: &Cut) -> io::Result<Amounts> {
        let session = counter.session();
        let mut amount =
            |entries: &[Ix]| -> io::Result<Amount> { Ok(Amount { messages: entries.len(), count: counter.entries(entries)? }) };
        // The kept part first: it was counted to find the cut, and the rest is extrapolated from it in a large session.
        let keep = amount(&cut.kept(session, path))?;
        let turn_prefix = amount(&cut.turn_prefix(session, path))?;
        Ok(Amounts { summarize: amount(&cut.summarized(session, path))?, turn_prefix, keep })
    }

    /// Whether any of the numbers was extrapolated.
    #[must_use]
    pub fn estimated(&self) -> bool {
        [self.summarize, self.turn_prefix, self.keep].iter().any(|amount| amount.count.estimated)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::engine::tokens::{Effort, Tokenizer};

    #[test]
    fn what_fits_the_budget_exactly_is_kept() {
        let message = format!(r#"{{"role":"user","content":"{}"}}"#, "word".repeat(10));
        let session = Session::of_messages(&[message.as_str(); 6]);
        let path = session.active_path().entries;
        // Each message counts 10 tokens.
        for (keep, first) in [(1, 5), (19, 5), (20, 4), (29, 4), (30, 3), (31, 3), (50, 1)] {
            let mut counter = Counter::new(&session, Tokenizer::Heuristic, Effort::Exact);
            let cut = cut(&mut counter, &path, CutSettings { keep_recent: keep, keep_from: None }).unwrap().unwrap();
            assert_eq!(cut.first_message, first, "{keep}");
        }
        let mut counter = Counter::new(&session, Tokenizer::Heuristic, Effort::Exact);
        let all = cut(&mut counter, &path, CutSettings { keep_recent: 60, keep_from: None }).unwrap();
        assert_eq!(all.err(), Some(Nothing::Fits));
    }
}
