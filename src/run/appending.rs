//! What every command that appends looks at: whether the path can bear it, what should be known, and whether the plan still
//! holds when others appended meanwhile.

use super::RunError;
use crate::session::{Ix, Path, Session};
use crate::text::amount::counted;

/// Refuses what appending would make worse; a dry run is refused likewise, or it would promise what cannot be done.
pub(super) fn may_append(session: &Session, path: &Path) -> Result<(), RunError> {
    if let Some(problem) = crate::session::problems::forbids_append(session, path)? {
        return Err(RunError::Damaged {
            code: problem.code.name(),
            line: problem.line,
            message: problem.message,
            hint: "nothing was written; inspect --check lists everything that is wrong with the file, prune --repair mends it".to_owned(),
        });
    }
    Ok(())
}

/// What should be known before something is appended to a path, whose leaf was named or is the file's own.
pub(super) fn before_appending(session: &Session, path: &Path, named: bool) -> Vec<String> {
    let mut warnings = of_the_path(session, path);
    if named && path.leaf() != session.leaf() {
        warnings.push("the leaf is not the last entry of the file: its branch becomes the active one for every reader".to_owned());
    }
    warnings.extend(of_damaged_lines(session));
    if let Some(leaf) = path.leaf() {
        let calls = session.calls(leaf);
        if !calls.is_empty() {
            warnings.push(format!("the path ends in a tool call without a result ({}); the agent may still be working", session.id(leaf)));
        }
    }
    warnings
}

/// What should be known of a path that begins in the middle.
pub(super) fn of_the_path(session: &Session, path: &Path) -> Vec<String> {
    if !path.dangling {
        return Vec::new();
    }
    let total = session.nodes().count();
    let first = path.entries.first().map_or("", |ix| session.id(*ix));
    let on_it = path.entries.len();
    vec![format!("the path starts at {first}, whose parent is not in the file: {on_it} of {total} entries are on it")]
}

/// What should be known of lines that nobody can read.
pub(super) fn of_damaged_lines(session: &Session) -> Option<String> {
    let damaged = session.damaged_lines() as u64;
    let are =
        if damaged == 1 { "is left as it is; inspect --check tells which" } else { "are left as they are; inspect --check lists them" };
    (damaged > 0).then(|| format!("{} {are}", counted(damaged, "damaged line")))
}

/// Whether a plan that ends at `leaf` still holds when others appended `new`: the leaf has no child, and the ids of the new
/// entries are free.
pub(super) fn holds_still(session: &Session, leaf: Ix, new: &[u8], ids: &[&String]) -> bool {
    // What was read ended in the middle of a line: the line has gone on, and the plan did not see it.
    if !matches!(session.ends_in_newline(), Ok(true)) {
        return false;
    }
    let Ok(grown) = session.with_appended(new) else { return false };
    let first = session.all().len();
    let leaf_id = session.id(leaf);
    grown.all().skip(first).all(|(ix, entry)| {
        !entry.is_node() || (ids.iter().all(|id| grown.id(ix) != *id) && grown.id(ix) != leaf_id && !descends(&grown, ix, leaf_id))
    })
}

fn descends(session: &Session, ix: Ix, ancestor: &str) -> bool {
    session.path(ix).entries.iter().any(|ix| session.id(*ix) == ancestor)
}
