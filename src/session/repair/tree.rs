//! Mends of the tree: ids, parents, and what entries say of one another.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Editable, Mend, Patch, Step, Wanted};
use crate::session::entry::{Entry, Ix, Kind, Parent};
use crate::session::index::Session;
use crate::session::problems::{self, Code, Problem};

/// `customType` of a record of ours that stands in the place of a last entry that went, so that the leaf stays where it was.
const PLACE: &str = "epitome.place";

/// The next mend of the tree.
pub(super) fn next(session: &Session, wanted: &Wanted) -> io::Result<Step> {
    let steps: [&dyn Fn() -> io::Result<Step>; 5] =
        [&|| duplicates(session, wanted), &|| cycles(session, wanted), &|| links(session, wanted), &|| orphans(session, wanted), &|| {
            kept_ids(session, wanted)
        }];
    for step in steps {
        let step = step()?;
        if !step.is_empty() {
            return Ok(Step { of_the_tree: true, ..step });
        }
    }
    Ok(Step::default())
}

fn mend(session: &Session, ix: Ix, code: Code, what: String) -> Mend {
    Mend { code, line: Some(session[ix].line), id: Some(session.id(ix).to_owned()), what }
}

/// The problems of some kinds.
fn found(session: &Session, codes: &[Code]) -> io::Result<Vec<Problem>> {
    let mut list = problems::of_structure(session, &session.active_path())?;
    list.retain(|problem| codes.contains(&problem.code));
    Ok(list)
}

fn entry_of(session: &Session, problem: &Problem) -> Option<Ix> {
    session.by_id(problem.id.as_deref()?)
}

/// Copies go; of entries that differ the later keeps the id, as readers take it, and the earlier get new ones.
fn duplicates(session: &Session, wanted: &Wanted) -> io::Result<Step> {
    let mut step = Step::default();
    if !wanted.has(Code::DuplicateId) {
        return Ok(step);
    }
    let mut groups: BTreeMap<Ix, Vec<Ix>> = BTreeMap::new();
    for (ix, entry) in session.all().filter(|(_, e)| e.is_node()) {
        if let Some(latest) = entry.id.and_then(|id| session.find(id)).filter(|latest| *latest != ix) {
            groups.entry(latest).or_default().push(ix);
        }
    }
    let mut made: HashSet<String> = HashSet::new();
    for (latest, earlier) in groups {
        let mut seen: HashSet<Vec<u8>> = HashSet::from([digest(session, latest)?]);
        for ix in earlier.into_iter().rev() {
            let Some(editable) = Editable::of(session, ix)? else { continue };
            let line = session[latest].line;
            if !seen.insert(digest(session, ix)?) {
                step.mends.push(mend(session, ix, Code::DuplicateId, format!("the copy of line {line} is taken out")));
                step.patches.push(without_line(session, editable.entry, end_of(editable.entry))?);
                continue;
            }
            let mut content = editable.record.as_bytes().to_vec();
            let id = loop {
                let id = session.new_id(None, &content);
                if made.insert(id.clone()) {
                    break id;
                }
                content.push(0);
            };
            let Some(patch) = editable.with("id", &json!(id).to_string()) else { continue };
            step.mends.push(mend(session, ix, Code::DuplicateId, format!("the entry gets the id {id}; line {line} keeps its own")));
            step.patches.push(patch);
        }
    }
    Ok(step)
}

fn digest(session: &Session, ix: Ix) -> io::Result<Vec<u8>> {
    Ok(Sha256::digest(session.read(ix)?.bytes()).to_vec())
}

fn end_of(entry: &Entry) -> u64 {
    entry.offset + u64::from(entry.len)
}

/// Takes a record out that ends at `end`, with its line when nothing else stands on it.
pub(super) fn without_line(session: &Session, entry: &Entry, end: u64) -> io::Result<Patch> {
    let byte = |at: u64| -> io::Result<Option<u8>> {
        if at >= session.source().len() {
            return Ok(None);
        }
        let mut byte = [0];
        session.source().read_exact(at, &mut byte)?;
        Ok(byte.first().copied())
    };
    let alone = entry.offset == 0 || byte(entry.offset - 1)? == Some(b'\n');
    let mut after = end;
    while alone && matches!(byte(after)?, Some(b' ' | b'\t' | b'\r')) {
        after += 1;
    }
    let whole = alone && byte(after)? == Some(b'\n');
    let patch = Patch::within(entry.line, entry.offset, end, "");
    Ok(if whole { Patch { end: after + 1, line_ends: 1, whole_lines: true, ..patch } } else { patch })
}

/// Where a chain of parents comes to its first entry again, that entry becomes a root. Readers of the active path cut it
/// there, so they see what they saw.
fn cycles(session: &Session, wanted: &Wanted) -> io::Result<Step> {
    let mut step = Step::default();
    if !wanted.has(Code::ParentCycle) {
        return Ok(step);
    }
    let path = session.active_path();
    let active = path.entries.first().copied().filter(|_| path.cycle);
    let round = |start: Ix| {
        let mut members = vec![start];
        while let Some(parent) = members.last().and_then(|ix| session.parent(*ix)).filter(|parent| !members.contains(parent)) {
            members.push(parent);
        }
        members
    };
    for repeat in session.cycles() {
        let members = round(repeat);
        let root = active.filter(|root| members.contains(root)).unwrap_or(repeat);
        let Some(patch) = Editable::of(session, root)?.and_then(|e| e.with("parentId", "null")) else { continue };
        step.mends.push(mend(
            session,
            root,
            Code::ParentCycle,
            "the entry at which its parents lead in a circle becomes a root".to_owned(),
        ));
        step.patches.push(patch);
    }
    Ok(step)
}

/// An entry whose parent is gone, or the beginning of a path on which nothing is said, goes on from the entry before it in
/// the file.
fn links(session: &Session, wanted: &Wanted) -> io::Result<Step> {
    let mut step = Step::default();
    let codes: Vec<Code> = [Code::DanglingParent, Code::StrayLeaf].into_iter().filter(|code| wanted.has(*code)).collect();
    if codes.is_empty() {
        return Ok(step);
    }
    let mut linked: HashMap<Ix, Ix> = HashMap::new();
    for problem in found(session, &codes)? {
        let start = match problem.code {
            Code::StrayLeaf => session.active_path().entries.first().copied(),
            _ => entry_of(session, &problem),
        };
        let Some(start) = start.filter(|start| !linked.contains_key(start)) else { continue };
        // Parents may lead in a circle where that is not to be mended.
        let descends = |mut ix: Ix| {
            let mut seen = HashSet::new();
            while ix != start {
                match linked.get(&ix).copied().or_else(|| session.parent(ix)).filter(|parent| seen.insert(*parent)) {
                    Some(parent) => ix = parent,
                    None => return false,
                }
            }
            true
        };
        let mut earlier = session.nodes().rev().map(|(ix, _)| ix).filter(|ix| *ix < start && session[*ix].kind != Kind::Archive);
        let before = earlier.find(|ix| !descends(*ix));
        let Some(editable) = Editable::of(session, start)? else { continue };
        let (value, what) = match before {
            Some(before) => {
                linked.insert(start, before);
                let id = session.id(before);
                (json!(id).to_string(), format!("the entry goes on from {id}, the one before it in the file"))
            }
            None => ("null".to_owned(), "the entry becomes a root: none stands before it".to_owned()),
        };
        let Some(patch) = editable.with("parentId", &value) else { continue };
        step.mends.push(mend(session, start, problem.code, what));
        step.patches.push(patch);
    }
    Ok(step)
}

/// Results without a call go. One whose call a compaction has cut off stays: the compaction keeps from that call on.
fn orphans(session: &Session, wanted: &Wanted) -> io::Result<Step> {
    if !wanted.has(Code::OrphanResult) {
        return Ok(Step::default());
    }
    let mut step = Step::default();
    let mut gone: BTreeMap<Ix, Code> = BTreeMap::new();
    let active = session.active_path();
    let boundary = session.boundary(&active.entries);
    let callers = session.callers(&active.entries);
    let mut earliest: Option<usize> = None;
    for problem in found(session, &[Code::OrphanResult])? {
        let Some(ix) = entry_of(session, &problem) else { continue };
        if let (Some(caller), Some(compaction)) = (callers.get(&ix), boundary.compaction) {
            let at = active.entries.iter().position(|other| other == caller);
            if let Some(at) = at.filter(|at| *at < compaction && boundary.reset.is_none_or(|reset| *at > reset)) {
                earliest = Some(earliest.map_or(at, |other| other.min(at)));
                continue;
            }
        }
        // What was lost with the parent may come back with it, and the call is there.
        let call = session[ix].target.filter(|call| session.nodes().any(|(other, _)| session.calls(other).contains(call)));
        if call.is_some() && session.path(ix).dangling {
            continue;
        }
        gone.insert(ix, Code::OrphanResult);
    }
    if let (Some(at), Some(compaction)) = (earliest, boundary.compaction.and_then(|at| active.entries.get(at)).copied())
        && let Some(kept) = active.entries.get(at).map(|ix| session.id(*ix))
        && let Some(patch) = Editable::of(session, compaction)?.and_then(|e| e.with("firstKeptEntryId", &json!(kept).to_string()))
    {
        let what = format!("the compaction keeps from {kept} on, so that results keep their calls");
        step.mends.push(mend(session, compaction, Code::OrphanResult, what));
        step.patches.push(patch);
        return Ok(step);
    }
    without(session, &gone, "the result without a call is taken out")
}

/// Takes references to archives out.
pub(super) fn forget(session: &Session, references: &[(Code, String)]) -> io::Result<Step> {
    let gone = references.iter().filter_map(|(code, id)| Some((session.by_id(id)?, *code))).collect();
    let step = without(session, &gone, "the reference to the archive is taken out")?;
    Ok(Step { of_the_tree: true, ..step })
}

/// Takes entries out: their children hang on what they hung on, and what named them names what comes next.
fn without(session: &Session, gone: &BTreeMap<Ix, Code>, what: &str) -> io::Result<Step> {
    let mut step = Step::default();
    // Of records that are no text nothing can hang elsewhere; their encoding is mended first.
    let gone: BTreeMap<Ix, Code> = gone.iter().filter(|(ix, _)| !session[**ix].flags.lenient()).map(|(ix, code)| (*ix, *code)).collect();
    if gone.is_empty() {
        return Ok(step);
    }
    // Labels and edits of what goes say nothing any more.
    let names = |entry: &Entry| entry.target.and_then(|target| session.find(target));
    let speaks_of = |ix: Ix, entry: &Entry| {
        (entry.kind == Kind::ContextEdit || session.type_name(ix) == "label")
            && names(entry).is_some_and(|target| gone.contains_key(&target))
    };
    let along: BTreeSet<Ix> = session.nodes().filter(|(ix, e)| !e.flags.lenient() && speaks_of(*ix, e)).map(|(ix, _)| ix).collect();
    let goes = |ix: Ix| gone.contains_key(&ix) || along.contains(&ix);
    let above = |start: Ix| {
        let mut at = start;
        let mut seen = HashSet::new();
        loop {
            match session.parent(at).filter(|parent| goes(*parent) && seen.insert(*parent)) {
                Some(parent) => at = parent,
                None => break session[at].parent,
            }
        }
    };
    let spelled = |parent: Parent| match parent {
        Parent::Root => "null".to_owned(),
        Parent::Id(id) => json!(session.name(id)).to_string(),
    };
    let last = session.nodes().next_back().map(|(ix, _)| ix);
    let stays_last = session.nodes().rev().map(|(ix, _)| ix).find(|ix| !goes(*ix));
    for (ix, entry) in session.nodes() {
        if goes(ix) {
            let parent = above(ix);
            let moves = Some(ix) == last && stays_last.is_some_and(|leaf| session[leaf].id.map(Parent::Id) != Some(parent));
            if let Some(code) = gone.get(&ix) {
                step.mends.push(mend(session, ix, *code, what.to_owned()));
            }
            if moves && let Some(place) = place_of(session, ix, &spelled(parent))? {
                step.patches.push(place);
            } else {
                step.patches.push(without_line(session, entry, end_of(entry))?);
            }
            continue;
        }
        let mut changes: Vec<(&str, String)> = Vec::new();
        if session.parent(ix).is_some_and(&goes) {
            changes.push(("parentId", spelled(above(ix))));
        }
        match (entry.kind, names(entry).filter(|target| goes(*target))) {
            (Kind::Compaction, Some(target)) => {
                changes.push(("firstKeptEntryId", json!(next_kept(session, ix, target, &goes)).to_string()))
            }
            (Kind::BranchSummary, Some(target)) => changes.push(("fromId", spelled(above(target)))),
            _ => {}
        }
        if changes.is_empty() {
            continue;
        }
        let Some(editable) = Editable::of(session, ix)? else { continue };
        step.patches.extend(changes.iter().filter_map(|(key, value)| editable.with(key, value)));
    }
    Ok(step)
}

/// What a compaction keeps from when the entry it kept from goes: the next one on its path.
fn next_kept<'s>(session: &'s Session, compaction: Ix, target: Ix, goes: &dyn Fn(Ix) -> bool) -> &'s str {
    let path = session.path(compaction).entries;
    let behind = path.iter().skip_while(|ix| **ix != target).find(|ix| !goes(**ix));
    session.id(behind.copied().unwrap_or(compaction))
}

/// The last entry of the file without what it said: who reads the file goes on from its parent, not from whatever entry
/// stands before it.
fn place_of(session: &Session, ix: Ix, parent: &str) -> io::Result<Option<Patch>> {
    let payload = session.read(ix)?;
    let record: Value = serde_json::from_str(&payload.text()).unwrap_or_default();
    let parent: Value = serde_json::from_str(parent).unwrap_or_default();
    let timestamp = record.get("timestamp").cloned().unwrap_or_default();
    let place =
        json!({"type": "custom", "id": session.id(ix), "parentId": parent, "timestamp": timestamp, "customType": PLACE, "data": {}});
    let entry = &session[ix];
    Ok(Some(Patch::within(entry.line, entry.offset, end_of(entry), place.to_string())))
}

/// A compaction that keeps from an entry which is not before it keeps nothing, and then says so by its own id.
fn kept_ids(session: &Session, wanted: &Wanted) -> io::Result<Step> {
    let mut step = Step::default();
    if !wanted.has(Code::MissingKeptId) {
        return Ok(step);
    }
    for problem in found(session, &[Code::MissingKeptId])? {
        let Some(ix) = entry_of(session, &problem) else { continue };
        let value = json!(session.id(ix)).to_string();
        let Some(patch) = Editable::of(session, ix)?.and_then(|e| e.with("firstKeptEntryId", &value)) else { continue };
        step.mends.push(mend(
            session,
            ix,
            Code::MissingKeptId,
            "the compaction names itself: nothing before it is kept, as now".to_owned(),
        ));
        step.patches.push(patch);
    }
    Ok(step)
}
