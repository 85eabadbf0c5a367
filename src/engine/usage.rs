//! What providers reported, and when that is stale.

use std::collections::HashSet;
use std::io;

use super::tokens::{Count, Counter};
use crate::session::{Context, Item, Ix, Kind, Role, Session, Usage};

/// The newest usage on a path that came from a request that worked.
///
/// # Errors
/// When an entry cannot be read.
pub fn newest(session: &Session, path: &[Ix]) -> io::Result<Option<(usize, Usage)>> {
    for (at, ix) in path.iter().copied().enumerate().rev() {
        let entry = &session[ix];
        if entry.kind != Kind::Message || entry.role != Role::Assistant || !entry.flags.has_usage() || entry.stop.failed() {
            continue;
        }
        if let Some(usage) = session.with_message(ix, |message| message.usage)? {
            return Ok(Some((at, usage)));
        }
    }
    Ok(None)
}

/// What is known about the size of a context.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate {
    /// Reported context tokens of the newest answer that is not stale.
    pub reported: Option<u64>,
    /// Tokens counted in the stored context.
    pub counted: Count,
    /// Tokens of the context: what was reported plus what came after it, never less than what is counted.
    pub context: u64,
}

impl Estimate {
    /// Tokens of the context as an agent knows them: what was reported, else what is estimated.
    #[must_use]
    pub fn before(&self) -> u64 {
        self.reported.unwrap_or(self.context)
    }
}

/// Position on the path from which usage counts: after the latest compaction, reset, context edit, or rewrite of ours.
///
/// An answer before it reported a context that no longer exists; taken at its word, a session that was just compacted would
/// look full again.
///
/// A reference to an archive stands right before the entry that was the last one when the file was rewritten.
#[must_use]
pub fn fresh_from(session: &Session, path: &[Ix]) -> usize {
    let stale_until = |(at, ix): (usize, &Ix)| match session[*ix].kind {
        Kind::Compaction | Kind::ResetBoundary | Kind::ContextEdit => Some(at + 1),
        Kind::Archive => Some(at + 2),
        _ => None,
    };
    path.iter().enumerate().rev().find_map(stale_until).map_or(0, |at| at.min(path.len()))
}

/// Reported context tokens of the newest answer that is not stale, and its position.
fn reported(session: &Session, path: &[Ix]) -> io::Result<Option<(usize, u64)>> {
    let fresh = if session.usage_is_stale() { path.len() } else { fresh_from(session, path) };
    let newest = newest(session, path.get(fresh..).unwrap_or_default())?;
    Ok(newest.map(|(at, usage)| (fresh + at, usage.context_tokens())).filter(|(_, tokens)| *tokens > 0))
}

/// Estimates the context of a path.
///
/// # Errors
/// When an entry cannot be read.
pub fn estimate(counter: &mut Counter<'_>, path: &[Ix], context: &Context) -> io::Result<Estimate> {
    let session = counter.session();
    let counted = counter.context(context)?;
    let reported = reported(session, path)?;
    let mut estimate = Estimate { reported: reported.map(|(_, tokens)| tokens), counted, context: counted.tokens };
    if let Some((at, tokens)) = reported {
        let after: HashSet<Ix> = path.iter().skip(at + 1).copied().collect();
        let later: Vec<Ix> = context.items.iter().map(|item| item.entry).filter(|ix| after.contains(ix)).collect();
        estimate.context = (tokens + counter.entries(&later)?.tokens).max(counted.tokens);
    }
    Ok(estimate)
}

/// Whether the estimate of a context is above `limit`.
///
/// The answer is that of [`estimate`] with everything counted, and mostly needs no counting: what was reported decides, or the
/// bytes are too few for so many tokens. Else the largest messages are counted until it is certain.
///
/// # Errors
/// When an entry cannot be read.
pub fn exceeds(counter: &mut Counter<'_>, path: &[Ix], context: &Context, limit: u64) -> io::Result<bool> {
    let session = counter.session();
    let reported = reported(session, path)?;
    if let Some((at, tokens)) = reported {
        let after: HashSet<Ix> = path.iter().skip(at + 1).copied().collect();
        // As an agent has them in memory, which adds its own counts to what was reported.
        let later = context.items.iter().filter(|item| after.contains(&item.entry) && session[item.entry].is_message());
        let later: Vec<Item> = later.map(|item| Item { edit: None, partial: false, ..*item }).collect();
        if tokens > limit || sum_exceeds(counter, context, &later, tokens, limit)? {
            return Ok(true);
        }
    }
    sum_exceeds(counter, context, &context.items, 0, limit)
}

/// Whether `base` and the tokens of some items are more than `limit` together.
fn sum_exceeds(counter: &mut Counter<'_>, context: &Context, items: &[Item], base: u64, limit: u64) -> io::Result<bool> {
    let mut open: Vec<(u64, &Item)> = items.iter().map(|item| Ok((counter.most(context, item)?, item))).collect::<io::Result<_>>()?;
    let mut most = open.iter().fold(base, |sum, (most, _)| sum.saturating_add(*most));
    let mut least = base;
    open.sort_by_key(|(most, _)| *most);
    while most > limit && least <= limit {
        let Some((bound, item)) = open.pop() else { break };
        let tokens = counter.item(context, item)?;
        least = least.saturating_add(tokens);
        most = most.saturating_sub(bound).saturating_add(tokens);
    }
    Ok(least > limit)
}
