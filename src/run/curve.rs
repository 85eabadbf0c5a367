//! How the context grew along a path: what a chart and a sparkline draw.

use std::io;

use crate::session::{Ix, Json, Kind, Message, Role, Session};

/// Tokens of the context along a path.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Position on the path and tokens, in order.
    pub points: Vec<(usize, u64)>,
    /// Compactions by position, with their tokens before and after as far as they are known.
    pub compactions: Vec<(usize, Option<u64>, Option<u64>)>,
    /// Entries of the path.
    pub length: usize,
    /// No provider reported tokens: they are bytes of messages by four.
    pub estimated: bool,
}

/// Follows the context along a path; at most `most` messages are read, evenly spaced.
///
/// # Errors
/// When an entry cannot be read.
pub fn curve(session: &Session, path: &[Ix], most: usize) -> io::Result<Curve> {
    let mut curve = Curve { length: path.len(), ..Curve::default() };
    for (at, ix) in path.iter().enumerate().filter(|(_, ix)| session[**ix].kind == Kind::Compaction) {
        let payload = session.read(*ix)?;
        let text = payload.text();
        let record = Json::parse(&text).unwrap_or(Json::Null);
        curve.compactions.push((at, record.get("tokensBefore").amount(), record.get("tokensAfter").amount()));
    }
    let reported: Vec<usize> = (0..path.len())
        .filter(|at| path.get(*at).is_some_and(|ix| session[*ix].role == Role::Assistant && session[*ix].flags.has_usage()))
        .collect();
    let step = reported.len().div_ceil(most.max(1)).max(1);
    let last = reported.last().copied();
    for at in reported.iter().copied().enumerate().filter(|(n, at)| n % step == 0 || Some(*at) == last).map(|(_, at)| at) {
        let Some(ix) = path.get(at).copied() else { continue };
        let payload = session.read(ix)?;
        let text = payload.text();
        let record = Json::parse(&text).unwrap_or(Json::Null);
        let usage = Message::of(session[ix].kind, &record).filter(|m| !m.stop.failed()).and_then(|m| m.usage);
        curve.points.extend(usage.map(|usage| (at, usage.context_tokens())).filter(|(_, tokens)| *tokens > 0));
    }
    if curve.points.len() < 2 {
        curve.points = by_bytes(session, path, most);
        curve.estimated = true;
    }
    Ok(curve)
}

/// The same from the sizes of messages: images and details, which no model reads as text, left out.
fn by_bytes(session: &Session, path: &[Ix], most: usize) -> Vec<(usize, u64)> {
    let tokens = |ix: Ix| u64::from(session[ix].len.saturating_sub(session[ix].bulk)) / 4;
    let mut sum = 0;
    let mut points = Vec::new();
    for (at, ix) in path.iter().copied().enumerate() {
        match session[ix].kind {
            Kind::ResetBoundary => sum = 0,
            Kind::Compaction => {
                let kept = session[ix].target.and_then(|kept| path.iter().take(at).rposition(|k| session[*k].id == Some(kept)));
                let rest = path.get(kept.unwrap_or(at)..at).unwrap_or_default();
                sum = tokens(ix) + rest.iter().filter(|k| session[**k].is_message()).map(|k| tokens(*k)).sum::<u64>();
            }
            _ if session[ix].is_message() => sum += tokens(ix),
            _ => continue,
        }
        points.push((at, sum));
    }
    let step = points.len().div_ceil(most.max(1)).max(1);
    let last = points.len().saturating_sub(1);
    points.into_iter().enumerate().filter(|(n, _)| n % step == 0 || *n == last).map(|(_, point)| point).collect()
}

/// The curve in a row of `width` bars, for a terminal; `None` when there is nothing to follow.
#[must_use]
pub fn sparkline(curve: &Curve, width: usize) -> Option<String> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = curve.points.iter().map(|(_, tokens)| *tokens).max().filter(|most| *most > 0)?;
    if curve.points.len() < 3 {
        return None;
    }
    let width = width.min(curve.points.len());
    let bars = (0..width).filter_map(|column| {
        let (from, to) = (column * curve.points.len() / width, (column + 1) * curve.points.len() / width);
        let tokens = curve.points.get(from..to)?.iter().map(|(_, tokens)| *tokens).max()?;
        let level = usize::try_from(tokens * (BARS.len() as u64 - 1) / highest).unwrap_or(0);
        BARS.get(level)
    });
    Some(bars.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_has_the_height_of_the_curve() {
        let of = |tokens: &[u64]| Curve { points: tokens.iter().copied().enumerate().collect(), ..Curve::default() };
        assert_eq!(sparkline(&of(&[0, 50, 100]), 40).as_deref(), Some("▁▄█"));
        assert_eq!(sparkline(&of(&[7, 7, 7, 7]), 2).as_deref(), Some("██"));
        assert_eq!(sparkline(&of(&[10, 80, 20, 30]), 2).as_deref(), Some("█▃"));
        assert_eq!(sparkline(&of(&[1, 2]), 40), None);
        assert_eq!(sparkline(&of(&[0, 0, 0]), 40), None);
    }
}
