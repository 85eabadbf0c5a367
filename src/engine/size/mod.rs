//! What makes a session file small: measures that take out what no model reads, or what the user can do without.
//!
//! Each measure is asked for by itself and works on the whole file, because the file's size is what it is about; the context
//! of the path decides only what counts as context and what is recent. Everything is planned as stretches of lines that give
//! way ([`Splice`]) and lines that go, so that gigabytes of images need no memory. The plan also holds the changes of ordinary
//! pruning: a line can be touched by both.

mod dedupe;
mod gone;
mod images;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::prune::{PrunePlan, changes, changes_at};
use super::tokens::Counter;
use crate::session::edit::{Edit, Splice, bytes_with_splices};
use crate::session::{Ix, Kind, Role, Session, Set};

/// One way to make a session smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// `details` of results go.
    Details,
    /// Images give way to notes.
    Images,
    /// Long arguments of old writes and edits are cut.
    Args,
    /// Data of extensions is emptied.
    Custom,
    /// Long results are cut.
    MaxResult,
    /// Entries off the path go.
    DeadBranches,
    /// Entries before the latest compaction go.
    Summarized,
    /// Results that a later one repeats give way to a notice.
    Dedupe,
}

impl Measure {
    /// The name in JSON and of the flag.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Measure::Details => "details",
            Measure::Images => "images",
            Measure::Args => "args",
            Measure::Custom => "custom",
            Measure::MaxResult => "max-result",
            Measure::DeadBranches => "dead-branches",
            Measure::Summarized => "summarized",
            Measure::Dedupe => "dedupe",
        }
    }

    /// Whether entries go whole; other measures change something within them.
    #[must_use]
    pub fn takes_entries(self) -> bool {
        matches!(self, Measure::DeadBranches | Measure::Summarized)
    }
}

/// What happens to images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Images {
    /// All go.
    Drop,
    /// All go but the newest of the path, so many.
    KeepLast(u64),
    /// All are moved to files in the folder that is named so.
    Extract(String),
}

/// Which measures are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SizeSettings {
    /// [`Measure::Details`].
    pub details: bool,
    /// [`Measure::Images`].
    pub images: Option<Images>,
    /// [`Measure::Args`].
    pub args: bool,
    /// [`Measure::Custom`]: the types.
    pub custom: Vec<String>,
    /// [`Measure::MaxResult`]: tokens.
    pub max_result: Option<u64>,
    /// [`Measure::DeadBranches`].
    pub dead_branches: bool,
    /// [`Measure::Summarized`].
    pub summarized: bool,
    /// [`Measure::Dedupe`].
    pub dedupe: bool,
}

impl SizeSettings {
    /// The measures that are asked for, in the order in which they are told.
    #[must_use]
    pub fn measures(&self) -> Vec<Measure> {
        let all = [
            (self.details, Measure::Details),
            (self.images.is_some(), Measure::Images),
            (self.args, Measure::Args),
            (!self.custom.is_empty(), Measure::Custom),
            (self.max_result.is_some(), Measure::MaxResult),
            (self.dead_branches, Measure::DeadBranches),
            (self.summarized, Measure::Summarized),
            (self.dedupe, Measure::Dedupe),
        ];
        all.into_iter().filter_map(|(on, measure)| on.then_some(measure)).collect()
    }
}

/// What one measure frees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freed {
    /// The measure.
    pub measure: Measure,
    /// The entries whose bytes it changes, or that go, in the order of the file.
    pub changes: Vec<Change>,
    /// Bytes of the file that it frees; negative when what it writes is longer.
    pub bytes: i64,
    /// Tokens of the context that it frees; what is not in the context counts nothing. Negative as above.
    pub tokens: i64,
}

/// What a measure frees in one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The entry.
    pub entry: Ix,
    /// Bytes, as in [`Freed`].
    pub bytes: i64,
    /// Tokens, as in [`Freed`].
    pub tokens: i64,
}

/// An image that goes to a file before its line changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    /// The entry that holds it.
    pub entry: Ix,
    /// Its place among the blocks of the content.
    pub block: usize,
    /// The name of its file: the SHA-256 of its bytes, and what they are.
    pub file: String,
}

/// All changes of one run.
#[derive(Debug, Clone, Default)]
pub struct SizePlan {
    /// The changes.
    pub edit: Edit,
    /// What each measure frees, in the order of [`SizeSettings::measures`].
    pub freed: Vec<Freed>,
    /// The results of the pruning plan whose lines change.
    pub pruned: BTreeSet<Ix>,
    /// Images that go to files.
    pub extracted: Vec<Extracted>,
    /// What should be known.
    pub warnings: Vec<String>,
}

/// What a plan is made for.
pub struct Order<'a> {
    /// The measures.
    pub settings: &'a SizeSettings,
    /// The paths that are pruned; the first is the one whose context counts. It ends in the leaf that was asked for.
    pub paths: &'a [Vec<Ix>],
    /// Ordinary pruning that is done as well.
    pub prune: &'a PrunePlan,
    /// Tokens of the newest messages of a path whose calls keep their arguments.
    pub protect_tokens: u64,
    /// Results that no measure may change.
    pub stays: &'a dyn Fn(Ix) -> bool,
    /// Whether a blob is there, by its hash.
    pub has_blob: &'a dyn Fn(&str) -> bool,
    /// The time that a pruned result is marked with, Unix ms.
    pub now_ms: u64,
}

/// Plans all changes. `base` holds those that have to be made anyway, such as a migration.
///
/// # Errors
/// When an entry cannot be read.
pub fn plan(counter: &mut Counter<'_>, base: Edit, order: &Order<'_>) -> io::Result<SizePlan> {
    let session = counter.session();
    let settings = order.settings;
    let path = order.paths.first().map(Vec::as_slice).unwrap_or_default();
    let gone = gone::plan(session, settings, order.paths)?;
    // Only what measures free is told by the context.
    let context = if settings.measures().is_empty() { None } else { Some(session.context(path)?) };
    let items = context.iter().flat_map(|context| &context.items);
    let in_context: Set<Ix> = items.filter(|item| item.edit.is_none()).map(|item| item.entry).collect();
    let pruned: BTreeMap<Ix, &str> = order.prune.results.iter().map(|r| (r.entry, r.notice.as_str())).collect();
    let notices = if settings.dedupe {
        let skip = |ix: Ix| pruned.contains_key(&ix) || gone.contains_key(&ix) || (order.stays)(ix);
        dedupe::notices(session, order.paths, &in_context, &skip)?
    } else {
        BTreeMap::new()
    };
    let recent = if settings.args { recent(counter, order)? } else { Set::default() };
    let images = images::Chosen::of(session, settings, path);

    let removed: BTreeSet<Ix> = gone.keys().copied().collect();
    let mut making = Making { session, order, base, plan: SizePlan::default(), tally: BTreeMap::new() };
    for (ix, measure) in &gone {
        let entry = &session[*ix];
        making.count(*measure, *ix, i64::from(entry.len) + 1, 0);
        making.plan.edit.removed.insert(*ix);
    }
    // Copies of what goes would stand for it.
    for (ix, entry) in session.all().filter(|(_, e)| e.is_node()) {
        if entry.id.and_then(|id| session.find(id)).is_some_and(|latest| removed.contains(&latest)) {
            making.plan.edit.removed.insert(ix);
        }
    }
    for (ix, entry) in session.nodes() {
        if removed.contains(&ix) {
            continue;
        }
        let new_parent =
            session.parent(ix).filter(|parent| removed.contains(parent)).map(|parent| session.parent_that_stays(parent, &removed));
        let stays = (order.stays)(ix);
        let wants = records::Wants {
            parent: new_parent,
            notice: pruned.get(&ix).copied().map(|n| (n, true)).or_else(|| notices.get(&ix).map(|n| (n.as_str(), false))),
            details: settings.details && !stays && entry.role == Role::ToolResult && u64::from(entry.bulk) >= records::LEAST_DETAILS,
            images: entry.images > 0 && entry.kind.is_message() && !stays && images.any(),
            args: settings.args && !session.calls(ix).is_empty() && !recent.contains(&ix),
            custom: entry.kind == Kind::Custom && !settings.custom.is_empty(),
            max_result: settings
                .max_result
                .filter(|most| entry.role == Role::ToolResult && !stays && u64::from(entry.len.saturating_sub(entry.bulk)) > *most),
        };
        if wants.nothing() {
            continue;
        }
        if let (Some(notice), Some(places)) = (wants.only_pruning(), counter.places(ix))
            && !making.base.replaced.contains_key(&ix)
            && let Some(splices) = changes_at(places, notice, order.now_ms)
        {
            making.plan.pruned.insert(ix);
            making.put(ix, splices)?;
            continue;
        }
        let seen = context.as_ref().filter(|_| in_context.contains(&ix));
        records::change(&mut making, counter.tokenizer(), ix, &wants, &images, seen)?;
    }
    Ok(making.done(settings))
}

/// The entries whose calls keep their arguments: those of the newest messages of each path.
fn recent(counter: &mut Counter<'_>, order: &Order<'_>) -> io::Result<Set<Ix>> {
    let mut recent = Set::default();
    for path in order.paths {
        let mut newer = 0;
        for ix in path.iter().rev().copied() {
            if newer >= order.protect_tokens {
                break;
            }
            recent.insert(ix);
            newer += counter.entry(ix)?;
        }
    }
    Ok(recent)
}

/// A plan in the making.
struct Making<'s, 'o> {
    session: &'s Session,
    order: &'o Order<'o>,
    base: Edit,
    plan: SizePlan,
    tally: BTreeMap<Measure, Freed>,
}

impl Making<'_, '_> {
    fn count(&mut self, measure: Measure, entry: Ix, bytes: i64, tokens: i64) {
        let freed = self.tally.entry(measure).or_insert(Freed { measure, changes: Vec::new(), bytes: 0, tokens: 0 });
        freed.changes.push(Change { entry, bytes, tokens });
        freed.bytes += bytes;
        freed.tokens += tokens;
    }

    /// Puts the changes of one record into the edit; they come in any order and do not overlap.
    fn put(&mut self, ix: Ix, mut splices: Vec<Splice>) -> io::Result<()> {
        splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
        match self.base.replaced.remove(&ix) {
            None => {
                self.plan.edit.spliced.insert(ix, splices);
            }
            Some(record) => {
                let record = bytes_with_splices(&record, &splices).ok_or_else(|| io::Error::other("a record could not be edited"))?;
                self.plan.edit.replaced.insert(ix, record);
            }
        }
        Ok(())
    }

    fn done(self, settings: &SizeSettings) -> SizePlan {
        let Making { base, mut plan, mut tally, .. } = self;
        for (ix, record) in base.replaced {
            if !plan.edit.removed.contains(&ix) {
                plan.edit.replaced.entry(ix).or_insert(record);
            }
        }
        plan.edit.removed.extend(base.removed);
        plan.edit.inserted.extend(base.inserted);
        plan.edit.appended = plan.edit.appended.or(base.appended);
        let none = |measure| Freed { measure, changes: Vec::new(), bytes: 0, tokens: 0 };
        plan.freed = settings.measures().into_iter().map(|m| tally.remove(&m).unwrap_or_else(|| none(m))).collect();
        plan
    }
}
