//! Tokens over time as an SVG picture: the context's size along the path, every compaction, and where the next would cut.

use std::fmt::Write;

use super::html::escaped;
use crate::run::curve::Curve;
use crate::text::grouped;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 300.0;
/// Room for the axes: left, right, top, bottom.
const ROOM: (f64, f64, f64, f64) = (64.0, 16.0, 28.0, 34.0);

/// What is drawn beside the curve.
#[derive(Debug, Clone, Copy, Default)]
pub struct Marks {
    /// Tokens above which a context is compacted.
    pub threshold: u64,
    /// Where the next compaction would begin and cut, by position.
    pub cut: Option<(usize, usize)>,
}

/// The chart. Alone it has a white ground; in a page it takes the page's colours.
#[must_use]
pub fn svg(curve: &Curve, marks: Marks, title: &str, alone: bool) -> String {
    let highest = curve.points.iter().map(|(_, tokens)| *tokens).chain(curve.compactions.iter().filter_map(|c| c.1)).max().unwrap_or(0);
    // A threshold far above would flatten the curve.
    let in_reach = highest * 5 / 2 >= marks.threshold;
    let top = nice(if in_reach { highest.max(marks.threshold) } else { highest });
    let (left, right, above, below) = ROOM;
    let x = |at: usize| left + (WIDTH - left - right) * at as f64 / (curve.length.saturating_sub(1).max(1)) as f64;
    let y = |tokens: u64| HEIGHT - below - (HEIGHT - above - below) * tokens as f64 / top.max(1) as f64;
    let mut out = String::new();
    let about =
        format!("{} entries, at most {} tokens, {} compactions", grouped(curve.length as u64), grouped(highest), curve.compactions.len());
    let ink = if alone { "color=\"#1f2328\" " } else { "" };
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" {ink}role=\"img\" aria-label=\"{}\" font-family=\"system-ui,sans-serif\" font-size=\"12\" fill=\"currentColor\"><title>{}</title>",
        escaped(&about),
        escaped(title)
    );
    if alone {
        let _ = write!(out, "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>");
    }
    for line in 0..=4_u64 {
        let tokens = top / 4 * line;
        let _ = write!(
            out,
            "<line x1=\"{left}\" x2=\"{:.0}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#8888\" stroke-width=\".5\"/><text x=\"{2:.0}\" y=\"{3:.1}\" text-anchor=\"end\" opacity=\".7\">{4}</text>",
            WIDTH - right,
            y(tokens),
            left - 8.0,
            y(tokens) + 4.0,
            short(tokens)
        );
    }
    if let Some((from, to)) = marks.cut.filter(|(from, to)| from < to) {
        let _ = write!(
            out,
            "<rect x=\"{:.1}\" y=\"{above}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#d97706\" opacity=\".13\"/>",
            x(from),
            x(to) - x(from),
            HEIGHT - above - below
        );
    }
    let mut area = format!("M{:.1} {:.1}", x(curve.points.first().map_or(0, |p| p.0)), y(0));
    let mut line = String::new();
    for (n, (at, tokens)) in curve.points.iter().enumerate() {
        let _ = write!(area, "L{:.1} {:.1}", x(*at), y(*tokens));
        let _ = write!(line, "{}{:.1} {:.1}", if n == 0 { 'M' } else { 'L' }, x(*at), y(*tokens));
    }
    let _ = write!(area, "L{:.1} {:.1}Z", x(curve.points.last().map_or(0, |p| p.0)), y(0));
    let _ = write!(
        out,
        "<path d=\"{area}\" fill=\"#3b82f6\" opacity=\".18\"/><path d=\"{line}\" fill=\"none\" stroke=\"#3b82f6\" stroke-width=\"1.8\" stroke-linejoin=\"round\"/>"
    );
    if in_reach {
        let _ = write!(
            out,
            "<line x1=\"{left}\" x2=\"{0:.0}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#dc2626\" stroke-dasharray=\"6 4\"/><text x=\"{0:.0}\" y=\"{2:.1}\" text-anchor=\"end\" class=\"t\" fill=\"#b91c1c\">threshold {3}</text>",
            WIDTH - right,
            y(marks.threshold),
            y(marks.threshold) - 5.0,
            grouped(marks.threshold)
        );
    }
    for (at, before, after) in &curve.compactions {
        let change = match (before, after) {
            (Some(before), Some(after)) => format!("{} → {}", short(*before), short(*after)),
            (Some(before), None) => format!("at {}", short(*before)),
            _ => String::new(),
        };
        let (x, anchor) = (x(*at), if x(*at) > WIDTH - 140.0 { "end" } else { "start" });
        let _ = write!(
            out,
            "<g><title>compacted {change}</title><line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{above}\" y2=\"{0:.1}\" stroke=\"#7c3aed\" stroke-width=\"1.5\"/><text x=\"{1:.1}\" y=\"18\" text-anchor=\"{anchor}\" class=\"k\" fill=\"#6d28d9\">compacted {change}</text></g>",
            HEIGHT - below,
            x + if anchor == "end" { -4.0 } else { 4.0 }
        );
    }
    if let Some((_, to)) = marks.cut {
        let (x, anchor) = (x(to), if x(to) > WIDTH / 2.0 { "end" } else { "start" });
        let _ = write!(
            out,
            "<g><title>the next compaction would cut here</title><line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{above}\" y2=\"{0:.1}\" stroke=\"#d97706\" stroke-width=\"1.5\" stroke-dasharray=\"3 3\"/><text x=\"{1:.1}\" y=\"{2:.1}\" text-anchor=\"{anchor}\" class=\"n\" fill=\"#92400e\">next cut; what is shaded would be summarized</text></g>",
            HEIGHT - below,
            x + if anchor == "end" { -4.0 } else { 4.0 },
            HEIGHT - below - 6.0
        );
    }
    let how = if curve.estimated { "tokens of the context, estimated from bytes" } else { "tokens of the context, as reported" };
    let _ = write!(
        out,
        "<text x=\"{left}\" y=\"{0:.0}\" opacity=\".7\">first entry</text><text x=\"{1:.0}\" y=\"{0:.0}\" text-anchor=\"middle\" opacity=\".7\">{how}</text><text x=\"{2:.0}\" y=\"{0:.0}\" text-anchor=\"end\" opacity=\".7\">entry {3}</text></svg>",
        HEIGHT - 10.0,
        WIDTH / 2.0,
        WIDTH - right,
        grouped(curve.length as u64)
    );
    out
}

/// The next number of the form 4, 8, 20 … above: an axis of four steps has round marks.
fn nice(most: u64) -> u64 {
    let mut unit = 4;
    loop {
        for factor in [1, 2, 3, 5] {
            if unit * factor >= most {
                return unit * factor;
            }
        }
        let Some(next) = u64::checked_mul(unit, 10).filter(|next| *next < u64::MAX / 10) else { return most };
        unit = next;
    }
}

/// A number of tokens in little room: 850, 12k, 1.2M.
fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..10_000 if tokens % 1_000 >= 100 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}
