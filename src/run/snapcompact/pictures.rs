//! Pictures beside a session: those of a text that is none, and those that a session carries.

use std::io;
use std::path::{Path as FsPath, PathBuf};

use super::{FramesJob, FramesReport, Wanted, check};
use crate::engine::tokens::Tokenizer;
use crate::frames::archive;
use crate::frames::layout;
use crate::frames::normalize::normalize;
use crate::frames::print::{self, PrintError};
use crate::frames::render::Picture;
use crate::frames::shape;
use crate::run::RunError;
use crate::session::frames::{self, Archive, Frame};
use crate::session::{Ix, Json, Kind, Session};
use crate::store::{self, StoreError};
use crate::threads;

/// Threads that write files: each file is synced before it gets its name, and a disk syncs several as fast as one.
const WRITERS: usize = 8;

/// Writes pictures into a folder, as `001-<shape>.png` and so on.
///
/// # Errors
/// When the folder or a file cannot be made, or, without `overwrite`, a file is there already; none is written then.
pub fn write_pictures(pictures: &[Picture], shape: &str, dir: &FsPath, overwrite: bool) -> Result<Vec<PathBuf>, RunError> {
    let files: Vec<(PathBuf, &[u8])> =
        pictures.iter().enumerate().map(|(n, picture)| (file(dir, n, shape), picture.png.as_slice())).collect();
    write_files(dir, &files, overwrite)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// Writes the pictures of a session into a folder, as `001-<shape>.png` and so on; those whose data is elsewhere are left out.
///
/// # Errors
/// As [`write_pictures`] without `overwrite`.
pub fn write_views(views: &[FrameView], dir: &FsPath) -> Result<(), RunError> {
    let there =
        views.iter().enumerate().filter_map(|(n, view)| Some((file(dir, n, view.shape.unwrap_or("unknown")), view.png.as_deref()?)));
    write_files(dir, &there.collect::<Vec<_>>(), false)
}

/// The name of the n-th picture, counted from 0.
fn file(dir: &FsPath, n: usize, shape: &str) -> PathBuf {
    dir.join(format!("{:03}-{shape}.png", n + 1))
}

/// Writes files into a folder, which is made; several at once.
fn write_files(dir: &FsPath, files: &[(PathBuf, &[u8])], overwrite: bool) -> Result<(), RunError> {
    std::fs::create_dir_all(dir).map_err(|source| StoreError::Io { path: dir.to_owned(), doing: "create the folder", source })?;
    if let Some((path, _)) = files.iter().find(|(path, _)| !overwrite && path.exists()) {
        return Err(StoreError::Exists { path: path.clone() }.into());
    }
    let write = |(): &mut (), _: usize, (path, bytes): &(PathBuf, &[u8])| store::create(path, overwrite, &mut |out| out.write_all(bytes));
    let written = threads::map_on(WRITERS, files, || (), write).map_err(|failed| RunError::Output(failed.into()))?;
    Ok(written.into_iter().try_for_each(|written| written.map(drop))?)
}

/// What came of printing a text that is no session.
#[derive(Debug)]
pub struct TextDone {
    /// The frames.
    pub pictures: Vec<Picture>,
    /// What is told of them.
    pub report: FramesReport,
    /// Where they were written; empty in a dry run.
    pub files: Vec<PathBuf>,
}

/// Prints any text; all of it, whatever a provider takes.
///
/// # Errors
/// When a frame does not read back or a file cannot be written.
pub fn print_text(text: &str, job: &FramesJob, tokenizer: Tokenizer, overwrite: bool) -> Result<TextDone, RunError> {
    let model = job.model.clone().unwrap_or_default();
    let facts = job.catalogue.facts(&model, job.api.as_deref());
    let mut shape = job.shape(&model, facts.api);
    check(&shape)?;
    let mut printable = normalize(text, &shape.pen());
    if matches!(job.wanted, Wanted::Table(_)) {
        let roomy = shape::for_wide(shape, printable.wide_share());
        if roomy != shape {
            shape = roomy;
            printable = normalize(text, &shape.pen());
        }
    }
    let mut pages = layout::pages(&printable.text, &shape, shape.grid().rows);
    if let Some(most) = job.max_frames {
        pages.truncate(most);
    }
    layout::finish(&mut pages, &shape);
    drop(std::mem::take(&mut printable.text));
    let both = threads::beside(|| tokenizer.count(text), || print::print(&pages, &shape));
    let (text_tokens, pictures) = both.map_err(|_| PrintError::Thread)?;
    let pictures = pictures?;
    let grid = shape.grid();
    let report = FramesReport {
        shape: shape.name,
        edge: shape.edge,
        grid: (grid.cols, grid.rows),
        capacity: grid.capacity() as u64,
        rows_used: grid.rows,
        frames: (pictures.len(), 0, 0),
        billed_tokens: facts.api.frame_tokens(shape.edge) * pictures.len() as u64,
        text_tokens,
        chars: (printable.printed, printable.unreadable),
        base64_chars: pictures.iter().map(|picture| picture.png.len().div_ceil(3) as u64 * 4).sum(),
        carrier: "files",
        ..FramesReport::default()
    };
    let files = match &job.dir {
        Some(dir) => write_pictures(&pictures, shape.name, dir, overwrite)?,
        None => Vec::new(),
    };
    Ok(TextDone { pictures, report, files })
}

/// One frame of a session, read back.
#[derive(Debug, Clone)]
pub struct FrameView {
    /// The entry that carries it.
    pub entry: Ix,
    /// The shape, when it is known.
    pub shape: Option<&'static str>,
    /// The frame as it is stored.
    pub frame: Frame,
    /// The picture, when the data is here.
    pub png: Option<Vec<u8>>,
    /// What it says; an error tells why that is not known.
    pub text: Result<String, String>,
}

/// All frames that entries of a path carry, each once, read back.
///
/// # Errors
/// When an entry cannot be read.
pub(in crate::run) fn frames_of(session: &Session, path: &[Ix], blobs: Option<&FsPath>) -> io::Result<Vec<FrameView>> {
    let mut views: Vec<FrameView> = Vec::new();
    for ix in path.iter().copied() {
        let kind = session[ix].kind;
        if !matches!(kind, Kind::Compaction | Kind::CustomMessage) {
            continue;
        }
        let payload = session.read(ix)?;
        if memchr::memmem::find(payload.bytes(), frames::KEY.as_bytes()).is_none() {
            continue;
        }
        let text = payload.text();
        let Ok(record) = Json::parse(&text) else { continue };
        let archive = if kind == Kind::Compaction { Archive::parse(record.get("preserveData")) } else { Archive::carried(&record) };
        for mut frame in archive.map(|archive| archive.frames).unwrap_or_default() {
            frame = frame.with_data(blobs);
            // Frames are carried on from compaction to compaction.
            if views.iter().any(|view| view.frame.data == frame.data) {
                continue;
            }
            let png = data_encoding::BASE64.decode(frame.data.as_bytes()).ok();
            let read = archive::read_frame(&frame).map(|reading| reading.text).map_err(|error| error.to_string());
            views.push(FrameView { entry: ix, shape: archive::shape_of(&frame).map(|shape| shape.name), text: read, png, frame });
        }
    }
    Ok(views)
}
