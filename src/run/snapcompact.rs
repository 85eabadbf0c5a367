//! `snapcompact`: the history of a plan on frames in place of words.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::RunError;
use crate::engine::compaction::{Draft, Extra, Plan};
use crate::engine::serialize::{Budgets, Form, LeftOut, Selection, serialize};
use crate::engine::tokens::Tokenizer;
use crate::engine::trigger;
use crate::frames::archive::{self, Composed, MOST_FRAMES, MOST_UNREADABLE, Order, compose};
use crate::frames::guide;
use crate::frames::print::PrintError;
use crate::frames::render::Picture;
use crate::frames::shape::{self, Choice, Shape};
use crate::models::{Api, Facts};
use crate::session::frames::{self, Archive, Frame};
use crate::session::{Ix, Json, Owner, Role, Session};
use crate::settings::Settings;
use crate::summarize::{Line, Summary};

mod pictures;

pub(super) use pictures::frames_of;
pub use pictures::{FrameView, TextDone, print_text, write_pictures, write_views};

/// Which shape is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The one of a table for the model.
    Table(Choice),
    /// This one.
    Named(Shape),
}

impl Wanted {
    /// What `--shape` says.
    ///
    /// # Errors
    /// When there is no such shape; the message lists all of them.
    pub fn of(name: &str) -> Result<Wanted, String> {
        match name {
            "auto" => Ok(Wanted::Table(Choice::Auto)),
            "legible" => Ok(Wanted::Table(Choice::Legible)),
            name => Shape::of(name).map(Wanted::Named).ok_or_else(|| {
                let names: Vec<&str> = shape::SHAPES.iter().map(|shape| shape.name).collect();
                format!("'{name}' is no shape; use auto, legible, {}", names.join(", "))
            }),
        }
    }
}

/// How frames reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Carrier {
    /// As the owner of the session reads them.
    #[default]
    Auto,
    /// In the compaction's `preserveData`.
    PreserveData,
    /// In a message behind the compaction.
    Message,
}

/// What is set about frames.
#[derive(Debug, Clone, PartialEq)]
pub struct FramesJob {
    /// The shape.
    pub wanted: Wanted,
    /// Edge of a frame in pixels, in place of the shape's.
    pub edge: Option<u32>,
    /// Draw the zero without its slash.
    pub plain_zero: bool,
    /// The interface that carries the requests, in place of what the session tells.
    pub api: Option<String>,
    /// The model, in place of the session's latest.
    pub model: Option<String>,
    /// What is known about models.
    pub catalogue: std::sync::Arc<crate::models::Catalogue>,
    /// Most frames, in place of the budget.
    pub max_frames: Option<usize>,
    /// What is kept of long values.
    pub budgets: Budgets,
    /// Print even what is mostly unreadable.
    pub allow_unreadable: bool,
    /// Where the new frames are written as files, too.
    pub dir: Option<PathBuf>,
    /// How frames reach the model.
    pub carrier: Carrier,
    /// Summarize when the model is known not to see.
    pub fall_back: bool,
}

impl FramesJob {
    /// What the settings say; flags that are no settings are as when they are not given.
    ///
    /// # Errors
    /// When the shape's name is none.
    pub fn new(settings: &Settings) -> Result<FramesJob, String> {
        Ok(FramesJob {
            wanted: Wanted::of(&settings.shape)?,
            edge: None,
            plain_zero: false,
            api: None,
            model: settings.model.clone(),
            catalogue: std::sync::Arc::clone(&settings.catalogue),
            max_frames: settings.max_frames,
            budgets: Budgets::default(),
            allow_unreadable: false,
            dir: None,
            carrier: Carrier::Auto,
            fall_back: false,
        })
    }

    fn shape(&self, model: &str, api: Api) -> Shape {
        let shape = match self.wanted {
            Wanted::Table(choice) => shape::choose(choice, model, api),
            Wanted::Named(shape) => shape,
        };
        Shape { edge: self.edge.unwrap_or(shape.edge), slashed_zero: !self.plain_zero, ..shape }
    }
}

/// What the receipt tells of frames.
#[derive(Debug, Clone, Default)]
pub struct FramesReport {
    /// The shape's name.
    pub shape: &'static str,
    /// Width of a frame, pixels.
    pub edge: u32,
    /// Cells across (of one column) and rows.
    pub grid: (u32, u32),
    /// Cells of a frame.
    pub capacity: u64,
    /// Rows that are used, fewer where a picture would be too large.
    pub rows_used: u32,
    /// Frames: all, those carried on, those that went.
    pub frames: (usize, usize, usize),
    /// Tokens that are billed for all frames.
    pub billed_tokens: u64,
    /// Tokens of the text that the new frames hold.
    pub text_tokens: u64,
    /// Characters of the new text, and those that are unreadable.
    pub chars: (u64, u64),
    /// Characters that are missing by now.
    pub truncated_chars: u64,
    /// Characters of the text tail.
    pub tail_chars: u64,
    /// Base64 characters of all frames.
    pub base64_chars: u64,
    /// `preserve-data` or `message`.
    pub carrier: &'static str,
}

/// A plan's history on frames.
#[derive(Debug)]
pub struct Printed {
    /// The entry's words and data.
    pub draft: Draft,
    /// What stands in a message behind the entry, when frames are carried so.
    pub message: Option<Value>,
    /// What the receipt tells.
    pub report: FramesReport,
    /// The new pictures.
    pub pictures: Vec<Picture>,
    /// What should be known.
    pub warnings: Vec<String>,
}

impl From<PrintError> for RunError {
    fn from(error: PrintError) -> RunError {
        match error {
            PrintError::Draw(error) => RunError::Read(error),
            PrintError::TooLarge { .. } => {
                RunError::Refused { message: error.to_string(), hint: Some("use another --shape, or a smaller --frame-size".to_owned()) }
            }
            PrintError::Unread { .. } | PrintError::Thread => RunError::Unsound(error.to_string()),
        }
    }
}

/// The model of a path and what is known about it.
///
/// # Errors
/// When an entry cannot be read.
pub(super) fn model_of(session: &Session, path: &[Ix], job: &FramesJob) -> io::Result<(String, Facts)> {
    let model = match &job.model {
        Some(model) => Some(model.clone()),
        None => trigger::current_model(session, path)?,
    };
    let model = model.unwrap_or_default();
    let api = match &job.api {
        Some(api) => Some(api.clone()),
        // What carried the last answer carries the next one, unless another model is asked for.
        None if job.model.is_none() => latest_api(session, path)?,
        None => None,
    };
    let facts = job.catalogue.facts(&model, api.as_deref());
    Ok((model, facts))
}

fn latest_api(session: &Session, path: &[Ix]) -> io::Result<Option<String>> {
    let Some(ix) = path.iter().rev().copied().find(|ix| session[*ix].role == Role::Assistant) else { return Ok(None) };
    let payload = session.read(ix)?;
    let text = payload.text();
    Ok(Json::parse(&text).ok().and_then(|record| record.get("message").get("api").str().map(str::to_owned)))
}

/// Puts the history of a plan on frames.
///
/// # Errors
/// When an entry cannot be read, too much of the text is unreadable, or a frame does not read back.
pub(super) fn print(
    session: &Session,
    plan: &Plan,
    job: &FramesJob,
    (model, facts): (&str, Facts),
    tokenizer: Tokenizer,
) -> Result<Printed, RunError> {
    let shape = job.shape(model, facts.api);
    check(&shape)?;
    let form = Form { frames: Some(job.budgets), ..Form::default() };
    let part = |selection: &Selection| serialize(session, selection, form);
    let parts = [part(&plan.history)?, part(&plan.prefix)?];
    let text = parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n");
    let before = previous(session, plan)?;
    let previous_summary = match before.told {
        true => None,
        false => plan.previous.as_ref().map(|p| p.summary.clone()).filter(|summary| !summary.trim().is_empty()),
    };
    // Pictures that stay in the context count against what the provider takes.
    let pictures: usize = plan.kept.iter().map(|ix| usize::from(session[*ix].images)).sum();
    let room = (facts.images as usize).saturating_sub(pictures).max(1);
    let max_frames = job.max_frames.unwrap_or(MOST_FRAMES.min(room));
    let order = Order {
        text,
        previous: before.archive,
        previous_summary,
        shape,
        flexible: matches!(job.wanted, Wanted::Table(_)),
        api: facts.api,
        max_frames,
    };
    let composed = compose(order)?;
    let mut warnings = Vec::new();
    let share = composed.printable.unreadable_share();
    if share > MOST_UNREADABLE && !job.allow_unreadable {
        return Err(RunError::Illegible {
            message: format!(
                "{:.1} % of the text ({} of {} characters) cannot be drawn in the shape {} and would read as '?'",
                share * 100.0,
                composed.printable.unreadable,
                composed.printable.printed,
                composed.shape.unwrap_or(shape).name
            ),
            hint:
                "use a shape with higher cells, such as --shape 8on16-bw, say --allow-unreadable, or --fallback context-full for a summary"
                    .to_owned(),
        });
    }
    let shape = composed.shape.unwrap_or(shape);
    if shape.edge > KIMI_EDGE && model.to_ascii_lowercase().contains("kimi") {
        warnings
            .push(format!("frames are {} pixels wide; kimi scales pictures above {KIMI_EDGE} pixels down, which blurs them", shape.edge));
    }
    if composed.archive.truncated_chars > 0 {
        warnings.push(format!(
            "{} characters of history did not fit and are on no frame; the entry keeps them as text",
            composed.archive.truncated_chars
        ));
    }
    let by_message = match job.carrier {
        Carrier::Auto => matches!(session.owner(), Owner::Pi | Owner::Openclaw),
        Carrier::PreserveData => false,
        Carrier::Message => true,
    };
    let report = report(&composed, &shape, tokenizer, by_message);
    let pictures = composed.pictures.clone();
    let (draft, message) = draft(&composed, job.budgets.dim, by_message);
    Ok(Printed { draft, message, report, pictures, warnings })
}

/// Pixels above which one family's processor scales pictures down.
const KIMI_EDGE: u32 = 1_792;

fn check(shape: &Shape) -> Result<(), RunError> {
    let grid = shape.grid();
    if shape.edge > shape::LARGEST_EDGE || grid.rows == 0 || grid.cols < 2 {
        return Err(RunError::Refused {
            message: format!(
                "no cell of {} x {} pixels fits on a frame of {} pixels, or the frame is too large",
                shape.cell.0, shape.cell.1, shape.edge
            ),
            hint: Some(format!("use --frame-size with something like 1568, at most {}", shape::LARGEST_EDGE)),
        });
    }
    Ok(())
}

/// What was archived before.
struct Before {
    archive: Option<Archive>,
    /// The summary before only told how to read frames.
    told: bool,
}

/// The archive that the latest compaction carries: in its own data, or in the message behind it when that is summarized now.
/// A message that stays in the context stays as it is.
fn previous(session: &Session, plan: &Plan) -> io::Result<Before> {
    let record = |ix: Ix| session.read(ix).map(|payload| payload.text().into_owned());
    let entry = plan.cut.previous.and_then(|at| plan.path.get(at)).copied();
    let entry = entry.map(record).transpose()?;
    let entry = entry.as_deref().and_then(|text| Json::parse(text).ok());
    let own = entry.as_ref().and_then(|record| Archive::parse(record.get("preserveData")));
    let by_message =
        entry.as_ref().is_some_and(|record| record.get("preserveData").get(frames::KEY).get("carrier").str() == Some("message"));
    let mut carried = None;
    for (ix, _) in plan.history.left_out.iter().chain(&plan.prefix.left_out).filter(|(_, why)| *why == LeftOut::Frames) {
        let text = record(*ix)?;
        carried = Json::parse(&text).ok().and_then(|record| Archive::carried(&record)).or(carried);
    }
    if let Some(mut archive) = carried {
        archive.text = own.and_then(|own| own.text);
        return Ok(Before { archive: Some(archive), told: true });
    }
    Ok(Before { told: own.is_some() || by_message, archive: own.filter(|_| !by_message) })
}

fn report(composed: &Composed, shape: &Shape, tokenizer: Tokenizer, by_message: bool) -> FramesReport {
    let archive = &composed.archive;
    let grid = shape.grid();
    FramesReport {
        shape: shape.name,
        edge: shape.edge,
        grid: (grid.cols, grid.rows),
        capacity: grid.capacity() as u64,
        rows_used: composed.rows,
        frames: (archive.frames.len(), composed.kept, composed.evicted),
        billed_tokens: composed.billed(),
        text_tokens: composed.pages.iter().map(|page| tokenizer.count(&frames::plain(page))).sum(),
        chars: (composed.printable.printed, composed.printable.unreadable),
        truncated_chars: archive.truncated_chars,
        tail_chars: archive::tail_chars(archive),
        base64_chars: archive.frames.iter().map(|frame| frame.data.len() as u64).sum(),
        carrier: if by_message { "message" } else { "preserve-data" },
    }
}

/// The entry's words and data, and the message behind it when frames are carried so.
fn draft(composed: &Composed, dims_results: bool, by_message: bool) -> (Draft, Option<Value>) {
    let guide = guide::text(composed, dims_results);
    let archive = &composed.archive;
    let said = if by_message { CARRIED.to_owned() } else { guide.clone() };
    let lines = said.lines().map(|text| Line { text: text.to_owned(), sources: Vec::new() }).collect();
    let summary = Summary { lines, short: guide::short(archive), ..Summary::default() };
    let mut extra = Extra::default();
    let stored = if by_message {
        let bare = Archive { frames: Vec::new(), text_tail: None, ..archive.clone() };
        let mut stored = bare.to_json(true);
        if let Some(members) = stored.as_object_mut() {
            members.insert("carrier".to_owned(), "message".into());
        }
        stored
    } else {
        archive.to_json(true)
    };
    extra.preserve.insert(frames::KEY.to_owned(), stored);
    let message = by_message.then(|| {
        let text = |text: &str| json!({"type": "text", "text": text});
        let mut content = vec![text(&guide)];
        let image = |frame: &Frame| match &frame.detail {
            Some(detail) => json!({"type": "image", "data": frame.data, "mimeType": frame.mime, "detail": detail}),
            None => json!({"type": "image", "data": frame.data, "mimeType": frame.mime}),
        };
        content.extend(archive.frames.iter().map(image));
        content.extend(archive.text_tail.as_deref().map(|tail| text(&frames::plain(tail))));
        let notes = Archive { text: None, ..archive.clone() }.to_json(false);
        json!({"customType": frames::KEY, "content": content, "display": false, "details": {frames::KEY: notes}})
    });
    (Draft { history: Some(summary), extra, ..Draft::default() }, message)
}

/// The summary of a compaction whose history stands in the message behind it.
const CARRIED: &str = "The earlier history of this session stands in the next message, printed on pictures.";

/// The line of the message behind entry `parent`, with its line end, and its id.
///
/// # Errors
/// When the message cannot be written as JSON.
pub(super) fn carrier(session: &Session, parent: &str, message: &Value, now: &str) -> io::Result<(String, Vec<u8>)> {
    let id = session.new_id(Some(parent), message.to_string().as_bytes());
    let mut entry = serde_json::Map::new();
    for (key, value) in [("type", "custom_message"), ("id", &id), ("parentId", parent), ("timestamp", now)] {
        entry.insert(key.to_owned(), value.into());
    }
    entry.extend(message.as_object().cloned().unwrap_or_default());
    let mut line = serde_json::to_vec(&entry).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok((id, line))
}
