//! The entries of an export in the order in which they are read.
//!
//! Where a conversation forks, the branches that were left come first, each set in, and then what was gone on with: so the
//! path reads from top to bottom without a turn, and a branch stands where it left it.

use std::collections::HashSet;

use super::Row;
use crate::session::{Ix, Kind, Path, Session};

/// The entries of a path.
#[must_use]
pub fn path_rows(path: &Path) -> Vec<Row> {
    path.entries.iter().map(|ix| Row { entry: *ix, depth: 0, on_path: true, begins: 0 }).collect()
}

/// All entries of a tree, each after its parent; entries of cycles come last.
#[must_use]
pub fn tree_rows(session: &Session, path: &Path) -> Vec<Row> {
    let on_path: HashSet<Ix> = path.entries.iter().copied().collect();
    let children = session.children();
    let mut rows: Vec<Row> = Vec::new();
    let mut walk: Vec<Row> = Vec::new();
    // What is gone on with: the path, elsewhere what was written last.
    let fork = |walk: &mut Vec<Row>, list: &[Ix], depth: usize| {
        let on = list.iter().copied().find(|ix| on_path.contains(ix)).or(list.last().copied());
        let row = |entry: Ix, depth, begins| Row { entry, depth, on_path: on_path.contains(&entry), begins };
        walk.extend(on.map(|entry| row(entry, depth, 0)));
        walk.extend(list.iter().rev().filter(|ix| Some(**ix) != on).map(|ix| row(*ix, depth + 1, 1)));
    };
    fork(&mut walk, children.roots(), 0);
    while let Some(row) = walk.pop() {
        rows.push(row);
        fork(&mut walk, children.of(row.entry), row.depth);
    }
    let seen: HashSet<Ix> = rows.iter().map(|row| row.entry).collect();
    let rest = session.nodes().map(|(entry, _)| entry).filter(|entry| !seen.contains(entry));
    rows.extend(rest.map(|entry| Row { entry, depth: 0, on_path: on_path.contains(&entry), begins: 0 }));
    count(&mut rows);
    said(session, &mut rows);
    rows
}

/// Moves the count of a branch to the first of its entries that says something: labels and settings are no beginning.
fn said(session: &Session, rows: &mut [Row]) {
    let says = |row: &Row| session[row.entry].is_message() || matches!(session[row.entry].kind, Kind::Compaction | Kind::BranchSummary);
    let first: Vec<(usize, usize, usize)> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.begins > 0 && !says(row))
        .filter_map(|(at, row)| {
            let mut inside = rows.get(at..at + row.begins)?.iter().enumerate();
            let (skip, _) = inside.find(|(_, other)| other.depth == row.depth && says(other))?;
            Some((at, at + skip, row.begins))
        })
        .collect();
    for (from, to, begins) in first {
        for (at, count) in [(from, 0), (to, begins)] {
            if let Some(row) = rows.get_mut(at) {
                row.begins = count;
            }
        }
    }
}

/// Counts the entries of each branch: those from its first one on, until it or one above it ends.
fn count(rows: &mut [Row]) {
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut ends: Vec<(usize, usize)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        while let Some((first, depth)) = open.last().copied() {
            if row.depth > depth || (row.depth == depth && row.begins == 0) {
                break;
            }
            ends.push((first, at));
            open.pop();
        }
        if row.begins > 0 {
            open.push((at, row.depth));
        }
    }
    ends.extend(open.into_iter().map(|(first, _)| (first, rows.len())));
    for (first, end) in ends {
        if let Some(row) = rows.get_mut(first) {
            row.begins = end - first;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::session::Source;

    /// The rows of a tree of `id parent` pairs, as `id depth path? (begins)`; a capital is a message.
    fn rows(pairs: &str, leaf: &str) -> String {
        let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"\",\"cwd\":\"/\"}\n".to_owned();
        for pair in pairs.split(", ") {
            let (id, parent) = pair.split_once(' ').unwrap();
            let parent = if parent == "-" { "null".to_owned() } else { format!("\"{parent}\"") };
            let kind = match id.starts_with(char::is_uppercase) {
                true => "\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}",
                false => "\"type\":\"custom\"",
            };
            text.push_str(&format!("{{{kind},\"id\":\"{id}\",\"parentId\":{parent}}}\n"));
        }
        let session = Session::open(Source::memory(text.into_bytes())).unwrap();
        let path = session.path(session.by_id(leaf).unwrap());
        let shown = tree_rows(&session, &path).into_iter().map(|row| {
            format!(
                "{}{}{}{}",
                session.id(row.entry),
                row.depth,
                if row.on_path { "*" } else { "" },
                match row.begins {
                    0 => String::new(),
                    n => format!("({n})"),
                }
            )
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_branch_stands_where_it_left_the_path() {
        assert_eq!(rows("a -, b a, c b", "c"), "a0* b0* c0*");
        assert_eq!(rows("a -, b a, c b, d a, e d", "e"), "a0* b1(2) c1 d0* e0*");
        // The same tree, another leaf.
        assert_eq!(rows("a -, b a, c b, d a, e d", "c"), "a0* d1(2) e1 b0* c0*");
        // Branches of a branch: what was written last is gone on with.
        assert_eq!(rows("a -, b a, c b, d b, e d, f a", "f"), "a0* b1(4) c2(1) d1 e1 f0*");
        // Two beside each other, and another root.
        assert_eq!(rows("a -, b a, c a, d a, x -, y x", "d"), "x1(2) y1 a0* b1(1) c1(1) d0*");
        // What says nothing is no beginning; a branch within is another one.
        assert_eq!(rows("a -, b a, C b, D a", "D"), "a0* b1 C1(2) D0*");
        assert_eq!(rows("a -, b a, C b, d b, E a", "E"), "a0* b1(3) C2(1) d1 E0*");
        assert_eq!(rows("a -, b c, c b", "a"), "a0* b0 c0", "a cycle is shown once");
    }
}
