//! Which entries go whole: those off the path, and those that a compaction summarized away.
//!
//! Nothing goes that the context of a path holds, that a file-wide setting rests on, or that something names which stays:
//! then a reader finds less history, and everything that it looks up.

use std::collections::{BTreeMap, HashMap};
use std::io;

use super::{Measure, SizeSettings};
use crate::session::{Ix, Kind, Map, Role, Session, Set};

/// The entries that go, and the measure that takes each.
pub(super) fn plan(session: &Session, settings: &SizeSettings, paths: &[Vec<Ix>]) -> io::Result<BTreeMap<Ix, Measure>> {
    let mut gone: BTreeMap<Ix, Measure> = BTreeMap::new();
    if !settings.dead_branches && !settings.summarized {
        return Ok(gone);
    }
    let active = session.active_path();
    let living: Set<Ix> = paths.iter().flatten().copied().chain(active.entries.iter().copied()).collect();
    if settings.dead_branches {
        for (ix, entry) in session.nodes().filter(|(ix, _)| !living.contains(ix)) {
            if entry.kind != Kind::Archive {
                gone.insert(ix, Measure::DeadBranches);
            }
        }
        for last in last_settings(session) {
            gone.remove(&last);
        }
        // A name that somebody gave to an entry that stays.
        gone.retain(|ix, _| !(is_label(session, *ix) && target(session, *ix).is_some_and(|named| living.contains(&named))));
    }
    if settings.summarized {
        // What stays of a dead branch, a name or a setting, does so without its path.
        let stays = |ix: Ix| !gone.contains_key(&ix) && (!settings.dead_branches || living.contains(&ix));
        let needed = needed(session, &stays, paths);
        for ix in paths.iter().flatten().copied().filter(|ix| !needed.contains(ix)) {
            let entry = &session[ix];
            let told = entry.is_message() || matches!(entry.kind, Kind::Compaction | Kind::ContextEdit);
            // System messages are settings: later ones change parts of them.
            if told && entry.role != Role::System {
                gone.entry(ix).or_insert(Measure::Summarized);
            }
        }
    }
    keep_what_is_named(session, &mut gone)?;
    while keep_edges(session, &mut gone) {
        keep_what_is_named(session, &mut gone)?;
    }
    Ok(gone)
}

/// Takes back entries at the edge of a gap, whose parent is not in the file, when several that stay hang below: each would
/// hang in the gap itself, and one fault would become many. Returns whether there were any.
fn keep_edges(session: &Session, gone: &mut BTreeMap<Ix, Measure>) -> bool {
    // The uppermost of the entries that go above one, as far as they follow each other.
    let mut upmost: Map<Ix, Ix> = Map::default();
    let mut hanging: BTreeMap<Ix, usize> = BTreeMap::new();
    let above = |ix: Ix| session.parent(ix).filter(|parent| gone.contains_key(parent));
    for first in session.nodes().filter(|(ix, _)| !gone.contains_key(ix)).filter_map(|(ix, _)| above(ix)) {
        let (mut at, mut passed) = (first, Vec::new());
        let top = loop {
            if let Some(top) = upmost.get(&at) {
                break *top;
            }
            passed.push(at);
            match above(at) {
                // Longer than all there are: a cycle.
                Some(parent) if passed.len() <= gone.len() => at = parent,
                _ => break at,
            }
        };
        upmost.extend(passed.into_iter().map(|ix| (ix, top)));
        *hanging.entry(top).or_default() += 1;
    }
    let before = gone.len();
    for (ix, _) in hanging.into_iter().filter(|(ix, count)| *count > 1 && session.is_dangling(*ix)) {
        gone.remove(&ix);
    }
    gone.len() < before
}

fn is_label(session: &Session, ix: Ix) -> bool {
    session[ix].kind == Kind::Other && session.type_name(ix) == "label"
}

fn target(session: &Session, ix: Ix) -> Option<Ix> {
    session[ix].target.and_then(|id| session.find(id))
}

/// The last entry of each type of setting, which readers take from anywhere in the file.
fn last_settings(session: &Session) -> Vec<Ix> {
    let mut last: HashMap<&str, Ix> = HashMap::new();
    for (ix, entry) in session.nodes() {
        if matches!(entry.kind, Kind::Other | Kind::ModelChange) && !is_label(session, ix) {
            last.insert(session.type_name(ix), ix);
        }
    }
    last.into_values().collect()
}

/// The entries that the path of some leaf needs: what follows the start of the range that its latest compaction keeps. Leaves
/// that go need nothing.
fn needed(session: &Session, stays: &dyn Fn(Ix) -> bool, paths: &[Vec<Ix>]) -> Set<Ix> {
    let mut parents: Set<Ix> = Set::default();
    parents.extend(session.nodes().filter(|(ix, _)| stays(*ix)).filter_map(|(ix, _)| session.parent(ix)));
    let mut needed = Set::default();
    let leaves = session.nodes().map(|(ix, _)| ix).filter(|ix| stays(*ix) && !parents.contains(ix));
    for path in leaves.map(|leaf| session.path(leaf).entries).chain(paths.iter().cloned()) {
        let compaction = path.iter().rposition(|ix| session[*ix].kind == Kind::Compaction);
        let start = compaction.map_or(0, |at| {
            let kept = path.get(at).and_then(|ix| session[*ix].target);
            path.iter().take(at).rposition(|ix| kept.is_some() && session[*ix].id == kept).unwrap_or(at)
        });
        needed.extend(path.into_iter().skip(start));
    }
    needed
}

/// Takes back what something that stays names, until nothing more is named: targets of labels, edits, compactions and branch
/// summaries; the call of a result and the results of a call; and the parent of a record that cannot be given another one.
fn keep_what_is_named(session: &Session, gone: &mut BTreeMap<Ix, Measure>) -> io::Result<()> {
    let (callers, results) = pairs(session);
    let mut work: Vec<Ix> = session.nodes().map(|(ix, _)| ix).filter(|ix| !gone.contains_key(ix)).collect();
    while let Some(ix) = work.pop() {
        let entry = &session[ix];
        let mut named: Vec<Ix> = Vec::new();
        if entry.role != Role::ToolResult {
            named.extend(target(session, ix));
        }
        named.extend(callers.get(&ix));
        named.extend(results.get(&ix).into_iter().flatten());
        if let Some(parent) = session.parent(ix).filter(|parent| gone.contains_key(parent))
            && entry.flags.lenient()
            && std::str::from_utf8(session.read(ix)?.bytes()).is_err()
        {
            named.push(parent);
        }
        for ix in named {
            if gone.remove(&ix).is_some() {
                work.push(ix);
            }
        }
    }
    Ok(())
}

/// For each result of the tree the message that made its call, the nearest above it; and the other way round.
fn pairs(session: &Session) -> (Map<Ix, Ix>, Map<Ix, Vec<Ix>>) {
    let (mut callers, mut results) = (Map::default(), Map::<Ix, Vec<Ix>>::default());
    session.walk(&mut |ix, above| {
        let entry = &session[ix];
        if entry.role == Role::ToolResult
            && let Some(caller) = entry.target.and_then(|call| above.caller(call))
        {
            callers.insert(ix, caller);
            results.entry(caller).or_default().push(ix);
        }
    });
    (callers, results)
}
