//! `prune --append`: an edit behind the path says what a result gives way to, and no line changes.
//!
//! Only an agent that applies such edits gains by them, so it is asked first whose session it is. Every byte that was there
//! stays where it is, so there is nothing to archive.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::RunError;
use super::appending::{before_appending, holds_still, may_append};
use super::open::Opened;
use super::prune::{PruneDone, PruneJob};
use super::rewrite::{append, write_unchanged};
use crate::engine::prune::{self, PrunePlan, PruneSettings};
use crate::engine::tokens::{Counter, Effort};
use crate::session::{Ix, Owner, Path, Session};

/// One pass of the loop; `None` when the file grew so that the plan no longer holds.
pub(super) fn attempt(job: &PruneJob<'_>, opened: Opened) -> Result<Option<PruneDone>, RunError> {
    let session = &opened.session;
    let path = opened.path(job.leaf.as_deref())?;
    let unsure = understood(session)?;
    may_append(session, &path)?;
    let mut counter = Counter::new(session, job.tokenizer, Effort::Exact);
    let window = job.limits.window_of(session, &path.entries)?.tokens;
    let settings = PruneSettings { window, ..job.settings.clone() };
    let mut plan = prune::plan(&mut counter, &path.entries, &settings, job.is_protected)?;
    let made = contents(session, &path, &plan)?;
    plan.retain(&settings, |ix| made.contains_key(&ix));
    let edits = if plan.worth_it { edits(session, &path, &plan, &made, &job.now) } else { Edits::default() };
    let changed = !edits.ids.is_empty();
    let mut done = PruneDone {
        plan: Some(plan),
        reason: (!changed).then_some("nothing_to_prune"),
        changed,
        edits: Some(Vec::new()),
        ..PruneDone::unchanged(session, &job.target)
    };
    let Some(leaf) = path.leaf().filter(|_| changed) else {
        write_unchanged(&job.target, session)?;
        return Ok(Some(done));
    };
    done.warnings.extend(unsure);
    done.warnings.extend(before_appending(session, &path, job.leaf.is_some()));
    check(session, &path, &edits)?;
    let ids: Vec<&String> = edits.ids.iter().map(|(_, id)| id).collect();
    let mut holds = |new: &[u8]| holds_still(session, leaf, new, &ids);
    let Some(written) = append(&opened, Some(&edits.lines), &job.target, job.archiving.folder(), &job.now, &mut holds)? else {
        return Ok(None);
    };
    done.wrote(written);
    done.edits = Some(edits.ids.into_iter().map(|(_, id)| id).collect());
    Ok(Some(done))
}

/// Whether the agent that owns a session applies edits; what should be known when that is likely and no more.
fn understood(session: &Session) -> Result<Option<String>, RunError> {
    let why = match session.owner() {
        Owner::Pi if session.is_old() => "it is of a version before pi 1.0, which does not read context edits".to_owned(),
        Owner::Pi if session.is_pi_1x() => return Ok(None),
        Owner::Pi => {
            let unsure = "nothing in the session shows that pi 1.x works on it; pi before 1.0 passes over context edits";
            return Ok(Some(unsure.to_owned()));
        }
        Owner::Omp => "it is a session of oh-my-pi, which does not read context edits".to_owned(),
        Owner::Openclaw => "it is a session of openclaw, which does not read context edits".to_owned(),
        Owner::Unknown => "nothing in it shows that its agent is pi 1.x, and others do not read context edits".to_owned(),
    };
    Err(RunError::Refused {
        message: format!("--append does not suit this session: {why}"),
        hint: Some("leave --append out: then results give way in place, and the file as it was is archived".to_owned()),
    })
}

/// The new content of each result that a model sees: what it does not see needs no edit.
fn contents(session: &Session, path: &Path, plan: &PrunePlan) -> Result<BTreeMap<Ix, String>, RunError> {
    let mut made = BTreeMap::new();
    if !plan.worth_it {
        return Ok(plan.results.iter().map(|pruned| (pruned.entry, String::new())).collect());
    }
    let seen: HashSet<Ix> = session.context(&path.entries)?.items.iter().map(|item| item.entry).collect();
    for pruned in plan.results.iter().filter(|pruned| seen.contains(&pruned.entry)) {
        let payload = session.read(pruned.entry)?;
        if let Some(content) = prune::replacement(&payload.text(), &pruned.notice) {
            made.insert(pruned.entry, content);
        }
    }
    Ok(made)
}

/// Edits that are not written yet.
#[derive(Default)]
struct Edits {
    /// Whole lines.
    lines: Vec<u8>,
    /// For each line the entry that it edits and its own id.
    ids: Vec<(Ix, String)>,
}

/// One edit a result, each behind the one before it.
fn edits(session: &Session, path: &Path, plan: &PrunePlan, made: &BTreeMap<Ix, String>, now: &str) -> Edits {
    let mut edits = Edits::default();
    let Some(leaf) = path.leaf() else { return edits };
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let mut parent = session.id(leaf).to_owned();
    let mut taken: HashSet<String> = HashSet::new();
    for pruned in &plan.results {
        let Some(content) = made.get(&pruned.entry) else { continue };
        let target = session.id(pruned.entry);
        let mut seed = format!("{target}\n{content}");
        let mut id = session.new_id(Some(&parent), seed.as_bytes());
        // The session does not know those of this run.
        while !taken.insert(id.clone()) {
            seed.push('\n');
            id = session.new_id(Some(&parent), seed.as_bytes());
        }
        let (quoted, above, now, target) = (json(&id), json(&parent), json(now), json(target));
        edits.lines.extend_from_slice(
            format!(
                "{{\"type\":\"context_edit\",\"id\":{quoted},\"parentId\":{above},\"timestamp\":{now},\"targetId\":{target},\"replacement\":{{\"content\":{content}}}}}\n"
            )
            .as_bytes(),
        );
        parent.clone_from(&id);
        edits.ids.push((pruned.entry, id));
    }
    edits
}

/// Reads the session as it will be: the edits end the path, each is the one that counts for its result, and the context is
/// the same otherwise.
fn check(session: &Session, path: &Path, edits: &Edits) -> Result<(), RunError> {
    let after = session.with_appended(&edits.lines)?;
    let unsound = |what: &str| RunError::Unsound(what.to_owned());
    let leaf = edits.ids.last().and_then(|(_, id)| after.by_id(id)).ok_or_else(|| unsound("a new entry cannot be found"))?;
    let grown = after.path(leaf);
    if grown.entries.len() != path.entries.len() + edits.ids.len() || !grown.entries.starts_with(&path.entries) {
        return Err(unsound("the new entries do not stand at the end of the path"));
    }
    let planned: HashMap<Ix, Ix> = edits.ids.iter().filter_map(|(ix, id)| Some((*ix, after.by_id(id)?))).collect();
    let (before, context) = (session.context(&path.entries)?, after.context(&grown.entries)?);
    let same = before.items.len() == context.items.len()
        && before.items.iter().zip(&context.items).all(|(old, new)| {
            (old.entry, old.role, old.partial) == (new.entry, new.role, new.partial)
                && new.edit == planned.get(&new.entry).copied().or(old.edit)
        });
    let edited = context.items.iter().filter(|item| planned.contains_key(&item.entry)).count();
    if !same || edited != planned.len() {
        return Err(unsound("the edits would change the context in another way"));
    }
    Ok(())
}
