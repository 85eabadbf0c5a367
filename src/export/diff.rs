//! What an edit changed, line by line.

/// A line of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// In both.
    Same(String),
    /// Only before.
    Gone(String),
    /// Only after.
    New(String),
}

/// Pairs of lines that are compared; a larger change is shown as all of the old, then all of the new.
const MOST_PAIRS: usize = 250_000;

/// The change from one text to another: the longest common subsequence of lines stays.
#[must_use]
pub fn lines(old: &str, new: &str) -> Vec<Line> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (rest.0.get(..rest.0.len() - tail).unwrap_or_default(), rest.1.get(..rest.1.len() - tail).unwrap_or_default());
    let same = |lines: &[&str]| lines.iter().map(|l| Line::Same((*l).to_owned())).collect::<Vec<_>>();
    let mut out = same(old.get(..head).unwrap_or_default());
    between(a, b, &mut out);
    out.extend(same(rest.0.get(rest.0.len() - tail..).unwrap_or_default()));
    out
}

fn between(a: &[&str], b: &[&str], out: &mut Vec<Line>) {
    let gone = |l: &&str| Line::Gone((*l).to_owned());
    let new = |l: &&str| Line::New((*l).to_owned());
    if a.len().saturating_mul(b.len()) > MOST_PAIRS {
        out.extend(a.iter().map(gone).chain(b.iter().map(new)));
        return;
    }
    // Lengths of common subsequences of the ends, row by row.
    let width = b.len() + 1;
    let mut table = vec![0_u32; (a.len() + 1) * width];
    let at = |table: &[u32], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or(0);
    for (i, left) in a.iter().enumerate().rev() {
        for (j, right) in b.iter().enumerate().rev() {
            let best = if left == right { at(&table, i + 1, j + 1) + 1 } else { at(&table, i + 1, j).max(at(&table, i, j + 1)) };
            if let Some(cell) = table.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    loop {
        match (a.get(i), b.get(j)) {
            (Some(left), Some(right)) if left == right => {
                out.push(Line::Same((*left).to_owned()));
                i += 1;
                j += 1;
            }
            (Some(left), Some(_)) if at(&table, i + 1, j) >= at(&table, i, j + 1) => {
                out.push(gone(left));
                i += 1;
            }
            (Some(left), None) => {
                out.push(gone(left));
                i += 1;
            }
            (_, Some(right)) => {
                out.push(new(right));
                j += 1;
            }
            (None, None) => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn side(change: &[Line], old: bool) -> String {
        let lines = change.iter().filter_map(|line| match line {
            Line::Same(l) => Some(l),
            Line::Gone(l) if old => Some(l),
            Line::New(l) if !old => Some(l),
            _ => None,
        });
        lines.map(|l| format!("{l}\n")).collect()
    }

    #[test]
    fn common_lines_stay() {
        let change = lines("a\nb\nc\nd", "a\nc\nx\nd");
        let marks: String = change
            .iter()
            .map(|l| match l {
                Line::Same(l) => format!(" {l}"),
                Line::Gone(l) => format!("-{l}"),
                Line::New(l) => format!("+{l}"),
            })
            .collect();
        assert_eq!(marks, " a-b c+x d");
    }

    proptest! {
        #[test]
        fn both_sides_come_back(old in "([ab]{0,2}\n){0,12}", new in "([ab]{0,2}\n){0,12}") {
            let change = lines(&old, &new);
            prop_assert_eq!(side(&change, true), old);
            prop_assert_eq!(side(&change, false), new);
        }
    }
}
