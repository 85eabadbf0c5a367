//! What people look at: the transcript or the model's context as Markdown, HTML, text, JSON or JSON Lines.
//!
//! An export goes out of the house, so it is masked unless a person says otherwise ([`mask`]). Entries are read, masked and
//! written one after the other on several threads and joined in order: memory is bounded by a few batches, however large the
//! session is, and the same session gives the same bytes.
//!
//! - [`model`]: what a reader sees of one entry; [`markdown`], [`html`], [`text`]: three ways to write that
//! - [`contents`]: the tree beside a page
//! - [`json`]: the same for programs, and messages as a model takes them; [`records`]: the session's own lines
//! - [`pictures`]: which images may be shown, and under which names; [`diff`]: what edits changed

pub mod chart;
pub mod contents;
pub mod diff;
mod frames;
pub mod html;
pub mod json;
pub mod markdown;
mod markup;
pub mod mask;
pub mod model;
mod parallel;
pub mod pictures;
pub mod records;
pub mod report;
pub mod text;
mod tree;

use std::io::{self, Write};
use std::path::Path as FsPath;

use crate::session::{Context, Ix, Path, Session};
use crate::text::{Redactor, grouped};

pub use mask::Counts;
use mask::Mask;
use model::{Known, Model, Part, Shown, What};
use pictures::Picture;
pub use tree::{path_rows, tree_rows};

/// How it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Markdown.
    Markdown,
    /// One HTML page.
    Html,
    /// Plain text.
    Text,
    /// One JSON object.
    Json,
    /// JSON Lines.
    Jsonl,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Everything that was said, with a divider where each compaction fired.
    Transcript,
    /// What the model sees.
    Context,
}

/// How much of calls and their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// All.
    Full,
    /// The beginning and the end of long ones.
    Short,
    /// Calls on one line, no results.
    None,
}

/// How to export.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How it is written.
    pub format: Format,
    /// What is written.
    pub view: View,
    /// All branches instead of one path.
    pub branches: bool,
    /// With what the model thought.
    pub thinking: bool,
    /// How much of results.
    pub results: Results,
}

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The session.
    pub session: &'a Session,
    /// The path to its leaf.
    pub path: &'a Path,
    /// The folder of externalized image data.
    pub blobs: Option<&'a FsPath>,
}

/// An entry and its place.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The entry.
    pub entry: Ix,
    /// Branches above it.
    pub depth: usize,
    /// Whether it stands on the path.
    pub on_path: bool,
    /// Entries of the branch that begins with it; 0 where none begins.
    pub begins: usize,
}

/// What was exported.
#[derive(Debug, Default)]
pub struct Done {
    /// Entries or messages that were written.
    pub entries: u64,
    /// What was masked.
    pub counts: Counts,
    /// Images that could not be shown.
    pub missing: u64,
}

/// What stands at the head of an export, masked.
#[derive(Debug, Default)]
pub struct About {
    /// A title for people.
    pub title: String,
    /// The title that the session has.
    pub title_given: Option<String>,
    /// The session's id.
    pub session_id: Option<String>,
    /// The working folder.
    pub cwd: Option<String>,
    /// When the session began.
    pub timestamp: Option<String>,
    /// The agent.
    pub owner: &'static str,
    /// The version of the file.
    pub version: Option<u64>,
    /// The leaf.
    pub leaf: Option<String>,
    /// `transcript` or `context`.
    pub kind: &'static str,
    /// Whether secrets are masked.
    pub redacted: bool,
    /// Entries of the path and of the whole session.
    pub entries: (u64, u64),
}

impl About {
    fn of(subject: &Subject<'_>, options: &Options, mask: &Mask<'_>) -> io::Result<About> {
        let session = subject.session;
        let header = session.header()?;
        let title_given = header.title.as_deref().map(|t| mask.line(t, 200)).filter(|t| !t.is_empty());
        Ok(About {
            title: title_given
                .clone()
                .or_else(|| header.id.as_deref().map(|id| format!("Session {}", mask.line(id, 80))))
                .unwrap_or_else(|| "Session".to_owned()),
            title_given,
            session_id: header.id.as_deref().map(|id| mask.whole(id)),
            cwd: header.cwd.as_deref().map(|cwd| mask.line(cwd, 400)),
            timestamp: header.timestamp.as_deref().map(|t| mask.line(t, 40)),
            owner: session.owner().name(),
            version: session.version(),
            leaf: subject.path.leaf().map(|leaf| mask.whole(session.id(leaf))),
            kind: match options.view {
                View::Transcript => "transcript",
                View::Context => "context",
            },
            redacted: mask.is_on(),
            entries: (subject.path.entries.len() as u64, session.nodes().count() as u64),
        })
    }

    /// What is worth a line each.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        let mut row = |name, value: Option<&String>| rows.extend(value.map(|value| (name, value.clone())));
        row("Session", self.session_id.as_ref());
        row("Folder", self.cwd.as_ref());
        row("Begun", self.timestamp.as_ref());
        let shown = match self.kind {
            "context" => "what the model sees".to_owned(),
            _ => format!("{} of {} entries, to {}", self.entries.0, self.entries.1, self.leaf.as_deref().unwrap_or("nothing")),
        };
        rows.push(("Shown", shown));
        if self.redacted {
            rows.push(("Masked", "keys, tokens, passwords and home folders".to_owned()));
        }
        rows
    }
}

/// The heading of an entry.
#[must_use]
pub fn title_of(shown: &Shown) -> String {
    match &shown.what {
        What::User => "User".to_owned(),
        What::Assistant(Some(model)) => format!("Assistant ({model})"),
        What::Assistant(None) => "Assistant".to_owned(),
        What::Instructions(role) => format!("Instructions ({role})"),
        What::Result { tool, failed, pruned } => {
            format!("Result of {tool}{}{}", if *failed { ", failed" } else { "" }, if *pruned { ", pruned" } else { "" })
        }
        What::Execution(excluded) => format!("User ran{}", if *excluded { " (kept from the model)" } else { "" }),
        What::Extension(name) => format!("Extension {name}"),
        What::BranchSummary => "Summary of a branch that was left".to_owned(),
        What::Compaction { method, before, after } => {
            let how = method.as_ref().map(|m| format!(" ({m})")).unwrap_or_default();
            let change = match (before, after) {
                (Some(before), Some(after)) => format!(": {} → {} tokens", grouped(*before), grouped(*after)),
                (Some(before), None) => format!(" at {} tokens", grouped(*before)),
                _ => String::new(),
            };
            format!("Compacted{how}{change}")
        }
        What::Reset => "The context was cleared".to_owned(),
        What::Note => String::new(),
    }
}

/// What one batch gave.
#[derive(Default)]
struct Batch {
    text: String,
    entries: u64,
    counts: Counts,
    pictures: Vec<Picture>,
    contents: Vec<contents::Content>,
    missing: u64,
}

/// Where pictures go: the folder as links say it, and what takes each of them.
pub struct Beside<'a> {
    /// The folder as links in the export say it.
    pub link: String,
    /// Puts one there.
    pub put: &'a mut dyn FnMut(&Picture) -> io::Result<()>,
}

/// Writes an export. `rows` are the entries in their order; `pictures` says where Markdown puts images.
///
/// # Errors
/// When reading or writing fails.
pub fn export(
    subject: &Subject<'_>,
    options: &Options,
    rows: &[Row],
    redactor: Option<&Redactor>,
    mut pictures: Option<Beside<'_>>,
    out: &mut dyn Write,
) -> io::Result<Done> {
    if options.format == Format::Jsonl && options.view == View::Transcript {
        let (entries, counts) = records::write(subject, options, rows, redactor, out)?;
        return Ok(Done { entries, counts, missing: 0 });
    }
    let session = subject.session;
    let mask = Mask::new(session, redactor);
    let about = About::of(subject, options, &mask)?;
    let known = Known::of(session, &mask)?;
    let context = match options.view {
        View::Context => session.context(&subject.path.entries)?,
        View::Transcript => Context::default(),
    };
    let mut done = Done { counts: mask.counts(), ..Done::default() };
    let list = if options.view == View::Context { "messages" } else { "entries" };
    out.write_all(
        match options.format {
            Format::Markdown => markdown::head(&about),
            Format::Html => html::head(&about),
            Format::Text => text::head(&about),
            Format::Json => json::head(&about, list),
            Format::Jsonl => String::new(),
        }
        .as_bytes(),
    )?;
    let folder = pictures.as_ref().map(|beside| beside.link.clone());
    let model = Model { subject, options, known: &known };
    let sizes: Vec<u64> = match options.view {
        View::Transcript => rows.iter().map(|row| u64::from(session[row.entry].len)).collect(),
        View::Context => context.items.iter().map(|item| u64::from(session[item.entry].len)).collect(),
    };
    let job = Job { model, rows, context: &context, redactor, folder: folder.as_deref() };
    let mut first = true;
    let mut contents = Vec::new();
    parallel::in_order(&parallel::batches(&sizes), |range| job.batch(range), &mut |batch: Batch| {
        let text = match options.format {
            // Records of a list are parted by commas; a batch knows only its own.
            Format::Json if !first && !batch.text.is_empty() => format!(",{}", batch.text),
            _ => batch.text,
        };
        first = first && text.is_empty();
        out.write_all(text.as_bytes())?;
        done.entries += batch.entries;
        done.missing += batch.missing;
        contents.extend(batch.contents);
        for (kind, count) in batch.counts {
            *done.counts.entry(kind).or_default() += count;
        }
        if let Some(beside) = &mut pictures {
            for picture in &batch.pictures {
                (beside.put)(picture)?;
            }
        }
        Ok(())
    })?;
    match options.format {
        Format::Json => out.write_all(json::tail(&done.counts).as_bytes())?,
        Format::Html => out.write_all(html::tail(done.entries, &contents).as_bytes())?,
        _ => {}
    }
    Ok(done)
}

struct Job<'a> {
    model: Model<'a>,
    rows: &'a [Row],
    context: &'a Context,
    redactor: Option<&'a Redactor>,
    folder: Option<&'a str>,
}

impl Job<'_> {
    fn batch(&self, range: std::ops::Range<usize>) -> io::Result<Batch> {
        let Model { subject, options, .. } = &self.model;
        let mask = Mask::new(subject.session, self.redactor);
        let mut batch = Batch::default();
        for at in range {
            let text = match options.format {
                Format::Json | Format::Jsonl => self.value(at, &mask)?,
                _ => self.words(at, &mask, &mut batch)?,
            };
            let Some(text) = text else { continue };
            match options.format {
                Format::Json => {
                    batch.text.push_str(if batch.text.is_empty() { "\n" } else { ",\n" });
                    batch.text.push_str(&text);
                }
                Format::Jsonl => {
                    batch.text.push_str(&text);
                    batch.text.push('\n');
                }
                _ => batch.text.push_str(&text),
            }
            batch.entries += 1;
        }
        batch.counts = mask.counts();
        Ok(batch)
    }

    fn value(&self, at: usize, mask: &Mask<'_>) -> io::Result<Option<String>> {
        let Model { subject, options, .. } = &self.model;
        match options.view {
            View::Context => match self.context.items.get(at) {
                Some(item) => json::message(subject, options, self.context, item, mask).map(Some),
                None => Ok(None),
            },
            View::Transcript => match self.rows.get(at) {
                Some(row) => json::entry(subject, options, row, mask),
                None => Ok(None),
            },
        }
    }

    fn words(&self, at: usize, mask: &Mask<'_>, batch: &mut Batch) -> io::Result<Option<String>> {
        let shown = match self.model.options.view {
            View::Context => match self.context.items.get(at) {
                Some(item) => self.model.item(self.context, item, mask)?,
                None => None,
            },
            View::Transcript => match self.rows.get(at) {
                Some(row) => self.model.entry(row, mask)?,
                None => None,
            },
        };
        let Some(shown) = shown else { return Ok(None) };
        batch.missing += shown.parts.iter().filter(|part| matches!(part, Part::Picture(Picture::Gone(_)))).count() as u64;
        Ok(Some(match self.model.options.format {
            Format::Markdown => {
                batch.pictures.extend(markdown::pictures(&shown).into_iter().filter(|_| self.folder.is_some()));
                markdown::entry(&shown, self.folder)
            }
            Format::Html => {
                batch.contents.extend(contents::of(&shown));
                html::entry(&shown)
            }
            _ => text::entry(&shown),
        }))
    }
}
