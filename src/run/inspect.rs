//! `inspect`: everything that can be known about a session, gathered as plain data. Nothing is written.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path as FsPath, PathBuf};

use super::RunError;
use super::curve::{self, Curve};
use super::open::{Input, Opened, open};
use super::rewrite::{Revision, archive_problems, revisions};
use super::snapcompact::{FrameView, frames_of};
use crate::engine::compaction;
use crate::engine::cut::{self, Amounts, Cut, CutSettings, Nothing};
use crate::engine::files::Files;
use crate::engine::prune::{self, PrunePlan, PruneSettings};
use crate::engine::tokens::{Counter, Effort, Tokenizer};
use crate::engine::trigger::{self, Asked, Limits};
use crate::engine::usage::{self, Estimate};
use crate::session::tree::Shape;
use crate::session::{Context, Header, Ix, Json, Kind, Path, Problem, Session, problems};
use crate::summarize::{Summarizer, Summary};

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// The session at a glance.
    pub overview: bool,
    /// The messages of the context, each counted.
    pub context: bool,
    /// Where a compaction would cut.
    pub cut: bool,
    /// Files that it would record.
    pub files: bool,
    /// The summary that it would write.
    pub summary: bool,
    /// Bytes and tokens by kind.
    pub sizes: bool,
    /// Everything that is wrong.
    pub problems: bool,
    /// What pruning would do.
    pub prune: bool,
    /// The archived revisions.
    pub revisions: bool,
    /// The frames, read back.
    pub frames: bool,
    /// How the context grew: at most so many points.
    pub curve: Option<usize>,
    /// What asks for a compaction.
    pub triggers: bool,
}

/// How to look.
#[derive(Debug, Clone)]
pub struct InspectJob {
    /// The session.
    pub input: Input,
    /// The end of the path.
    pub leaf: Option<String>,
    /// What is asked for.
    pub wanted: Wanted,
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// Count everything.
    pub exact: bool,
    /// Tokens that a compaction keeps.
    pub keep_recent: u64,
    /// The message to keep from.
    pub keep_from: Option<String>,
    /// Most tokens of a summary.
    pub summary_tokens: u64,
    /// The folder of externalized image data.
    pub blobs: Option<PathBuf>,
    /// The folder of archives, when they do not lie beside the session.
    pub archive_dir: Option<PathBuf>,
    /// When pruning would touch what.
    pub prune: PruneSettings,
    /// What is set about the window, which percentages mean.
    pub limits: Limits,
}

/// What was found.
#[derive(Debug)]
pub struct Report {
    /// The session.
    pub session: Session,
    /// The path that was looked at.
    pub path: Path,
    /// The session at a glance.
    pub overview: Option<Overview>,
    /// The messages of the context and their tokens.
    pub context: Option<(Context, Vec<u64>)>,
    /// The cut.
    pub cut: Option<Result<CutReport, Nothing>>,
    /// The files.
    pub files: Option<Files>,
    /// The summary and its tokens.
    pub summary: Option<Option<(Summary, u64)>>,
    /// Bytes and tokens.
    pub sizes: Option<Sizes>,
    /// What is wrong.
    pub problems: Option<Vec<Problem>>,
    /// What pruning would do.
    pub prune: Option<PrunePlan>,
    /// The archived revisions, newest first, and the bytes of all archives.
    pub revisions: Option<(Vec<Revision>, u64)>,
    /// The frames that entries of the path carry, oldest first, each once.
    pub frames: Option<Vec<FrameView>>,
    /// How the context grew.
    pub curve: Option<Curve>,
    /// What asks for a compaction.
    pub triggers: Option<Asked>,
}

/// The session at a glance.
#[derive(Debug)]
pub struct Overview {
    /// What the header says.
    pub header: Header,
    /// Leaves and counts.
    pub shape: Shape,
    /// The size of the context.
    pub estimate: Estimate,
    /// The model that the path is on.
    pub model: Option<String>,
    /// The compactions of the path, oldest first.
    pub compactions: Vec<CompactionInfo>,
}

/// A compaction as it is stored.
#[derive(Debug, Clone, Default)]
pub struct CompactionInfo {
    /// Its id.
    pub id: String,
    /// How it was made, when it says.
    pub method: Option<String>,
    /// The first entry that it keeps.
    pub first_kept_id: Option<String>,
    /// Tokens before.
    pub tokens_before: Option<u64>,
    /// Tokens after.
    pub tokens_after: Option<u64>,
}

/// A cut and what it means.
#[derive(Debug)]
pub struct CutReport {
    /// The cut.
    pub cut: Cut,
    /// What it means.
    pub amounts: Amounts,
}

/// Bytes and tokens.
#[derive(Debug, Default)]
pub struct Sizes {
    /// By kind and tool, largest first.
    pub by_kind: Vec<SizeRow>,
    /// The largest records: position, bytes.
    pub largest: Vec<(Ix, u64)>,
}

/// One row of [`Sizes`].
#[derive(Debug, Clone, Default)]
pub struct SizeRow {
    /// Message role, or entry type.
    pub kind: String,
    /// The tool, for results.
    pub tool: Option<String>,
    /// Bytes of the records.
    pub bytes: u64,
    /// Bytes of image data and details among them.
    pub bulk: u64,
    /// Tokens of the messages.
    pub tokens: u64,
    /// Records.
    pub entries: u64,
}

/// Looks at one session.
///
/// # Errors
/// When it cannot be opened or read, or `keep_from` or `leaf` name nothing.
pub fn inspect(job: &InspectJob, summarizer: &dyn Summarizer) -> Result<Report, RunError> {
    let opened = open(&job.input)?;
    let path = opened.path(job.leaf.as_deref())?;
    let wanted = job.wanted;
    let session = &opened.session;
    let effort = match (job.exact, wanted.sizes || wanted.summary) {
        (true, _) => Effort::Exact,
        (false, true) => Effort::Receipt,
        (false, false) => Effort::Glance,
    };
    let mut counter = Counter::new(session, job.tokenizer, effort);
    let context = wanted.context.then(|| context(&mut counter, &path)).transpose()?;
    let settings = CutSettings { keep_recent: job.keep_recent, keep_from: job.keep_from.as_deref() };
    let mut cut = None;
    let mut files = None;
    let mut summary = None;
    if wanted.cut || wanted.files || wanted.summary {
        match cut::cut(&mut counter, &path.entries, settings)? {
            Ok(found) => {
                if wanted.files {
                    files = Some(compaction::files_of(session, &path.entries, &found)?);
                }
                if wanted.summary {
                    summary = Some(summarize(&mut counter, &path, job, summarizer)?);
                }
                if wanted.cut {
                    cut = Some(Ok(cut_report(&mut counter, &path, found)?));
                }
            }
            Err(nothing) => {
                files = wanted.files.then(Files::default);
                summary = wanted.summary.then_some(None);
                cut = wanted.cut.then_some(Err(nothing));
            }
        }
    }
    let overview = wanted.overview.then(|| overview(&mut counter, &path)).transpose()?;
    let sizes = wanted.sizes.then(|| sizes(&mut counter)).transpose()?;
    let blobs = job.blobs.clone().or_else(|| opened.print.as_ref().and_then(|print| blob_folder(&print.path)));
    let problems = wanted.problems.then(|| problems::find(session, &path, blobs.as_deref())).transpose()?;
    let file = opened.print.as_ref().map(|print| print.path.as_path());
    let dir = job.archive_dir.as_deref();
    let problems = match (problems, file) {
        (Some(mut list), Some(file)) => {
            list.extend(problems::beside(file));
            list.extend(archive_problems(session, file, dir)?);
            Some(list)
        }
        (problems, _) => problems,
    };
    let prune = match wanted.prune {
        true => {
            let window = job.limits.window_of(session, &path.entries)?.tokens;
            Some(prune::plan(&mut counter, &path.entries, &PruneSettings { window, ..job.prune.clone() }, &|_| false)?)
        }
        false => None,
    };
    let frames = wanted.frames.then(|| frames_of(session, &path.entries, blobs.as_deref())).transpose()?;
    let revisions = wanted.revisions.then(|| revisions(session, file, dir)).transpose()?;
    let triggers = wanted.triggers.then(|| trigger::check(&mut counter, &path.entries, &job.limits, false)).transpose()?;
    let curve = wanted.curve.map(|most| curve::curve(session, &path.entries, most)).transpose()?;
    let Opened { session, .. } = opened;
    Ok(Report { session, path, overview, context, cut, files, summary, sizes, problems, prune, revisions, frames, triggers, curve })
}

/// oh-my-pi keeps externalized data in `blobs`, beside the folder of its sessions.
pub(super) fn blob_folder(session: &FsPath) -> Option<PathBuf> {
    session.ancestors().skip(1).take(4).map(|folder| folder.join("blobs")).find(|folder| folder.is_dir())
}

fn context(counter: &mut Counter<'_>, path: &Path) -> io::Result<(Context, Vec<u64>)> {
    let context = counter.session().context(&path.entries)?;
    let tokens = context.items.iter().map(|item| counter.item(&context, item)).collect::<io::Result<_>>()?;
    Ok((context, tokens))
}

fn cut_report(counter: &mut Counter<'_>, path: &Path, cut: Cut) -> io::Result<CutReport> {
    let amounts = Amounts::of(counter, &path.entries, &cut)?;
    Ok(CutReport { cut, amounts })
}

fn summarize(
    counter: &mut Counter<'_>,
    path: &Path,
    job: &InspectJob,
    summarizer: &dyn Summarizer,
) -> Result<Option<(Summary, u64)>, RunError> {
    let session = counter.session();
    let settings = CutSettings { keep_recent: job.keep_recent, keep_from: job.keep_from.as_deref() };
    let Ok(mut plan) = compaction::plan(counter, &path.entries, settings)? else { return Ok(None) };
    plan.files.fit(job.summary_tokens, job.tokenizer);
    let words = super::words::words(
        session,
        &plan,
        summarizer,
        &super::words::Words { tokenizer: job.tokenizer, summary_tokens: job.summary_tokens, focus: None, prompt: None, context: &[] },
    )?;
    let summary = words.whole();
    let tokens = job.tokenizer.count(&summary.text());
    Ok(Some((summary, tokens)))
}

fn overview(counter: &mut Counter<'_>, path: &Path) -> io::Result<Overview> {
    let session = counter.session();
    let context = session.context(&path.entries)?;
    let mut compactions = Vec::new();
    for ix in path.entries.iter().copied().filter(|ix| session[*ix].kind == Kind::Compaction) {
        let payload = session.read(ix)?;
        let text = payload.text();
        let record = Json::parse(&text).unwrap_or(Json::Null);
        compactions.push(CompactionInfo {
            id: session.id(ix).to_owned(),
            method: record.get("method").str().map(str::to_owned),
            first_kept_id: session[ix].target.map(|kept| session.name(kept).to_owned()),
            tokens_before: record.get("tokensBefore").amount(),
            tokens_after: record.get("tokensAfter").amount(),
        });
    }
    Ok(Overview {
        header: session.header()?,
        shape: session.shape(path),
        estimate: usage::estimate(counter, &path.entries, &context)?,
        model: trigger::current_model(session, &path.entries)?,
        compactions,
    })
}

/// How many of the largest records are named.
const LARGEST: usize = 10;

fn sizes(counter: &mut Counter<'_>) -> io::Result<Sizes> {
    let session = counter.session();
    let mut rows: BTreeMap<(String, Option<String>), (SizeRow, Vec<Ix>)> = BTreeMap::new();
    let mut largest: Vec<(Ix, u64)> = Vec::new();
    let mut recorded = 0;
    for (ix, entry) in session.all() {
        let kind = if entry.kind == Kind::Message { entry.role.name().to_owned() } else { session.type_name(ix).to_owned() };
        let tool = entry.tool.map(|tool| session.name(tool).to_owned());
        let (row, members) =
            rows.entry((kind.clone(), tool.clone())).or_insert_with(|| (SizeRow { kind, tool, ..SizeRow::default() }, Vec::new()));
        let bytes = u64::from(entry.len);
        recorded += bytes;
        row.bytes += bytes;
        row.bulk += u64::from(entry.bulk);
        row.entries += 1;
        members.push(ix);
        largest.push((ix, bytes));
        if largest.len() > LARGEST * 64 {
            keep_largest(&mut largest);
        }
    }
    keep_largest(&mut largest);
    let mut by_kind = Vec::new();
    for (mut row, members) in rows.into_values() {
        row.tokens = counter.entries(&members)?.tokens;
        by_kind.push(row);
    }
    by_kind.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| (&a.kind, &a.tool).cmp(&(&b.kind, &b.tool))));
    let rest = session.source().len().saturating_sub(recorded);
    if rest > 0 {
        // Line ends, blank lines and lines that hold no record, so that the sum is the file.
        by_kind.push(SizeRow { kind: "between_records".to_owned(), bytes: rest, ..SizeRow::default() });
    }
    Ok(Sizes { by_kind, largest })
}

fn keep_largest(list: &mut Vec<(Ix, u64)>) {
    list.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    list.truncate(LARGEST);
}

/// One row of the whole tree.
#[derive(Debug, Clone, Copy)]
pub struct TreeRow {
    /// The entry.
    pub entry: Ix,
    /// Branches above it: a chain stays at one depth, a fork begins new ones.
    pub depth: usize,
}

/// All entries of the tree, each after its parent, in file order among siblings; entries of cycles come last.
#[must_use]
pub fn tree_rows(session: &Session) -> Vec<TreeRow> {
    let children = session.children();
    let mut walk: Vec<TreeRow> = children.roots().iter().rev().map(|entry| TreeRow { entry: *entry, depth: 0 }).collect();
    let mut rows = Vec::new();
    while let Some(row) = walk.pop() {
        rows.push(row);
        let below = children.of(row.entry);
        let depth = row.depth + usize::from(below.len() > 1);
        walk.extend(below.iter().rev().map(|ix| TreeRow { entry: *ix, depth }));
    }
    let seen: std::collections::HashSet<Ix> = rows.iter().map(|row| row.entry).collect();
    rows.extend(session.nodes().map(|(entry, _)| TreeRow { entry, depth: 0 }).filter(|row| !seen.contains(&row.entry)));
    rows
}
