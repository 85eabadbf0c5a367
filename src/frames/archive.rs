//! History on frames: what is carried on from before, what is printed now, and what stays text.
//!
//! Frames are made once and carried on as they are. The first one is pinned, because it holds the task; when there are too
//! many, the oldest of the others go. What is newest and found no frame stays text, and is printed by the next run.

use data_encoding::BASE64;

use super::font::{Lens, NEWLINE};
use super::layout::{self, DIM_ON, finish, pages, shown};
use super::normalize::{Printable, normalize};
use super::print::{PrintError, print};
use super::read::{Pixels, ReadError, decode, read};
use super::render::Picture;
use super::shape::{self, SHAPES, Shape};
use crate::models::Api;
use crate::session::frames::{Archive, Frame};
use crate::text::cut::middle_units;

/// Frames of one archive when the provider takes as many.
pub const MOST_FRAMES: usize = 8;
/// Base64 characters of one frame: readers cut longer strings when they save.
pub const MOST_FRAME_CHARS: usize = 500_000;
/// Base64 characters of all frames: what requests can carry.
pub const MOST_CHARS: usize = 3_000_000;
/// Share of unreadable characters above which frames would mislead.
pub const MOST_UNREADABLE: f64 = 0.05;
/// Share of a text tail that is kept from its start.
const TAIL_HEAD: f64 = 0.6;

/// What is to be put on frames.
#[derive(Debug, Clone)]
pub struct Order {
    /// The new history as text, not yet normalised.
    pub text: String,
    /// What is carried on.
    pub previous: Option<Archive>,
    /// The text summary before, when there is no archive before.
    pub previous_summary: Option<String>,
    /// How it is printed.
    pub shape: Shape,
    /// Whether the shape may give way to one that draws many ideographs whole.
    pub flexible: bool,
    /// Who bills it.
    pub api: Api,
    /// Most frames, those that are carried on included.
    pub max_frames: usize,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Composed {
    /// The archive.
    pub archive: Archive,
    /// How the new frames are printed.
    pub shape: Option<Shape>,
    /// Frames that were carried on.
    pub kept: usize,
    /// Frames that went.
    pub evicted: usize,
    /// Rows of a frame, fewer where a picture would be too large.
    pub rows: u32,
    /// The pages that were printed.
    pub pages: Vec<String>,
    /// Their pictures.
    pub pictures: Vec<Picture>,
    /// Characters of the new text that are printed, wide and unreadable.
    pub printable: Printable,
    /// The first frame opens with a summary of what came before.
    pub has_digest: bool,
}

impl Composed {
    /// Tokens that are billed for all frames.
    #[must_use]
    pub fn billed(&self) -> u64 {
        self.archive.frames.iter().map(Frame::tokens).sum()
    }
}

/// Makes the frames of an order, each read back.
///
/// # Errors
/// [`PrintError`] when a frame does not read back, or not even one row makes a picture that is small enough.
pub fn compose(order: Order) -> Result<Composed, PrintError> {
    let Order { text, previous, previous_summary, mut shape, flexible, api, max_frames } = order;
    let mut printable = normalize(&text, &shape.pen());
    if flexible {
        let roomy = shape::for_wide(shape, printable.wide_share());
        if roomy != shape {
            shape = roomy;
            printable = normalize(&text, &shape.pen());
        }
    }
    let mut source = std::mem::take(&mut printable.text);
    let known = previous.as_ref().and_then(text_of);
    let has_previous = previous.is_some();
    // Newer writers print their text anew each time; theirs is taken over as text.
    let anew = previous.as_ref().is_some_and(|p| p.text_head.is_some() || p.frames.is_empty());
    let mut previous = previous.unwrap_or_default();
    let mut has_digest = false;
    if anew {
        let before = renewed(known.as_deref().unwrap_or_default(), &shape);
        source = joined(&before, &source);
        previous.frames.clear();
    } else if let Some(summary) = previous_summary.filter(|_| !has_previous) {
        let head = format!("[Summary of earlier history] {}", normalize(&summary, &shape.pen()).text);
        source = if source.is_empty() { head } else { format!("{head} [Recent conversation] {source}") };
        has_digest = true;
    }
    let whole = match (&known, has_previous) {
        (Some(known), true) if !anew => {
            let fresh = joined(&renewed(known, &shape), &source);
            Some(fresh)
        }
        _ => Some(source.clone()),
    };
    if let Some(tail) = previous.text_tail.take().filter(|_| !anew) {
        source = joined(&tail, &source);
    }

    let budget = max_frames.max(1);
    let mut rows = shape.grid().rows;
    let mut room = budget;
    let mut composed = loop {
        let attempt = fill(&source, &previous, &shape, api, (rows, room, anew))?;
        let largest = attempt.archive.frames.iter().skip(attempt.kept).map(|frame| frame.data.len()).max().unwrap_or(0);
        if largest >= MOST_FRAME_CHARS {
            if rows == 1 {
                return Err(PrintError::TooLarge { shape: shape.name, size: largest, most: MOST_FRAME_CHARS });
            }
            rows = (rows as usize * (MOST_FRAME_CHARS / 20 * 19) / largest).clamp(1, rows as usize - 1) as u32;
            continue;
        }
        let sum: usize = attempt.archive.frames.iter().map(|frame| frame.data.len()).sum();
        if sum >= MOST_CHARS && room > 1 {
            let frames = attempt.archive.frames.len();
            room = (frames * MOST_CHARS / sum).clamp(1, frames.saturating_sub(1).max(1));
            continue;
        }
        break attempt;
    };
    composed.archive.text = whole.filter(|text| !text.is_empty());
    composed.shape = Some(shape);
    composed.rows = rows;
    composed.printable = printable;
    composed.has_digest = has_digest;
    Ok(composed)
}

/// Text that was normalised before, perhaps for another font.
fn renewed(text: &str, shape: &Shape) -> String {
    normalize(&text.replace(NEWLINE, "\n"), &shape.pen()).text
}

/// Two texts with a line end between, where both say something.
fn joined(before: &str, after: &str) -> String {
    let parts = [before, after].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(NEWLINE.encode_utf8(&mut [0; 4]))
}

/// Fills the frames that there is room for.
fn fill(source: &str, previous: &Archive, shape: &Shape, api: Api, (rows, room, anew): (u32, usize, bool)) -> Result<Composed, PrintError> {
    let mut all = pages(source, shape, rows);
    let mut truncated = previous.truncated_chars;
    let mut skipped = Vec::new();
    if anew && all.len() > room {
        // The first page and the newest ones; the whole text stays beside them.
        let from = all.len() - (room - 1);
        skipped = all.drain(1..from).collect();
        if room == 1 {
            all.truncate(1);
        }
    }
    truncated += skipped.iter().map(|page| shown(page, shape)).sum::<u64>();
    let (kept, evicted) = survivors(&previous.frames, all.len(), room);
    truncated += evicted.iter().map(|frame| frame.chars).sum::<u64>();
    let evicted = evicted.len();
    let rest = all.split_off(all.len().min(room - kept.len()));
    let open = finish(&mut all, shape);
    let pictures = print(&all, shape)?;
    let (tail, lost) = tail(&rest, shape, open);
    truncated += lost;
    let kept_count = kept.len();
    let mut frames = kept;
    frames.extend(all.iter().zip(&pictures).map(|(page, picture)| frame(page, picture, shape, api)));
    let archive = Archive {
        total_chars: frames.iter().map(|frame| frame.chars).sum(),
        truncated_chars: truncated,
        frames,
        text: None,
        text_head: None,
        text_tail: tail,
    };
    Ok(Composed { archive, kept: kept_count, evicted, pages: all, pictures, ..Composed::default() })
}

/// Which frames stay beside `new` pages when there is room for `room`, and which go: the first is pinned, of the others the
/// newest stay.
fn survivors(frames: &[Frame], new: usize, room: usize) -> (Vec<Frame>, Vec<Frame>) {
    if frames.len() + new <= room {
        return (frames.to_vec(), Vec::new());
    }
    let pinned = usize::from(room >= 2 && !frames.is_empty());
    let stay = (frames.len() - pinned).min(room.saturating_sub(new + pinned));
    let gone = pinned..frames.len() - stay;
    let (evicted, kept): (Vec<_>, Vec<_>) = frames.iter().enumerate().partition(|(at, _)| gone.contains(at));
    let plain = |list: Vec<(usize, &Frame)>| list.into_iter().map(|(_, frame)| frame.clone()).collect();
    (plain(kept), plain(evicted))
}

/// Pages that found no frame, as text of at most two frames, and how many of their characters were left out.
fn tail(pages: &[String], shape: &Shape, open: bool) -> (Option<String>, u64) {
    let text =
        if shape.columns == 2 { pages.iter().map(|page| page.replace('\n', " ")).collect::<Vec<_>>().join(" ") } else { pages.concat() };
    if text.is_empty() {
        return (None, 0);
    }
    let most = 2 * shape.grid().capacity();
    let units: usize = text.chars().map(char::len_utf16).sum();
    let cut = middle_units(&text, most, TAIL_HEAD);
    let cut = if open { format!("{DIM_ON}{cut}") } else { cut.into_owned() };
    (Some(cut), units.saturating_sub(most) as u64)
}

fn frame(page: &str, picture: &Picture, shape: &Shape, api: Api) -> Frame {
    let grid = shape.grid();
    Frame {
        data: BASE64.encode(&picture.png),
        mime: "image/png".to_owned(),
        cols: grid.cols,
        rows: grid.rows,
        chars: shown(page, shape).min(grid.capacity() as u64),
        font: shape.face.name().to_owned(),
        variant: shape.ink.name().to_owned(),
        line_repeat: shape.repeat,
        columns: shape.columns,
        stopword_dim: shape.dims_stopwords,
        detail: shape::detail(api).map(str::to_owned),
        billed: Some(api.frame_tokens(shape.edge)),
    }
}

/// The shape that a stored frame was printed in; `None` when it is none that is known.
#[must_use]
pub fn shape_of(frame: &Frame) -> Option<Shape> {
    let edge = frame.edge()?;
    let same = |shape: &Shape| {
        let grid = shape.grid();
        (shape.face.name(), shape.ink.name(), shape.repeat, shape.columns, shape.dims_stopwords, grid.cols, grid.rows)
            == (frame.font.as_str(), frame.variant.as_str(), frame.line_repeat, frame.columns, frame.stopword_dim, frame.cols, frame.rows)
    };
    SHAPES.iter().map(|shape| Shape { edge, ..*shape }).find(same)
}

/// Reads a stored frame back to text.
///
/// # Errors
/// When its data is elsewhere or no picture, or its shape is not known.
pub fn read_frame(frame: &Frame) -> Result<super::read::Reading, ReadError> {
    let shape = shape_of(frame).ok_or_else(|| ReadError::Decode("the data is elsewhere, or of a shape that is not known".to_owned()))?;
    let file = BASE64.decode(frame.data.as_bytes()).map_err(|_| ReadError::Decode("the data is no base64".to_owned()))?;
    match decode(&file)? {
        Pixels::Raster(raster) if !shape.scaled => Ok(read(&raster, &shape, &Lens::of(shape.pen()))),
        _ => Err(ReadError::FullColour),
    }
}

/// All text of an archive: its source where it was kept, else what its frames say and the text beside them.
#[must_use]
pub fn text_of(archive: &Archive) -> Option<String> {
    if let Some(text) = &archive.text {
        return Some(text.clone());
    }
    let mut parts: Vec<String> = archive.text_head.iter().cloned().collect();
    parts.extend(archive.frames.iter().map(|frame| match read_frame(frame) {
        Ok(reading) => reading.text,
        Err(_) => format!("[a frame with {} characters that cannot be read back]", frame.chars),
    }));
    parts.extend(archive.text_tail.iter().cloned());
    Some(parts.join("\n")).filter(|text| !text.is_empty())
}

/// Characters of a text tail, in UTF-16 units, without marks of gray.
#[must_use]
pub fn tail_chars(archive: &Archive) -> u64 {
    let tail = archive.text_tail.as_deref().unwrap_or_default();
    tail.chars().filter(|c| !layout::is_toggle(*c)).map(|c| c.len_utf16() as u64).sum()
}
