//! `export`: a session, or a revision of it, goes into a file for people or programs. The session itself is only read.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::inspect::blob_folder;
use super::open::{Input, Opened, open};
use super::rewrite::{Archiving, open_revision, write_to};
use super::{RunError, Target};
use crate::export::{self as out, Beside, Counts, Format, Options, Subject, View};
use crate::session::{Path as TreePath, Session, SessionError, Source};
use crate::store;
use crate::text::{Redactor, counted};

/// What is to be exported.
#[derive(Debug)]
pub struct ExportJob<'a> {
    /// The session.
    pub input: Input,
    /// Where it goes: a file or standard output.
    pub target: Target,
    /// Nothing is written; what would be is told, and refused where it would be.
    pub dry_run: bool,
    /// The end of the path; the file's own when none is named.
    pub leaf: Option<String>,
    /// How; `None` gives a revision's bytes as they were.
    pub options: Option<Options>,
    /// What masks; nothing does when there is none.
    pub redactor: Option<&'a Redactor>,
    /// An archived revision instead of the session.
    pub revision: Option<u64>,
    /// The folder of archives, when they do not lie beside the session.
    pub archive_dir: Option<PathBuf>,
    /// The folder of externalized image data.
    pub blobs: Option<PathBuf>,
}

impl ExportJob<'_> {
    fn writes_to(&self) -> &Target {
        if self.dry_run { &Target::Nowhere } else { &self.target }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub struct ExportDone {
    /// Entries or messages written; none for bytes as they were.
    pub entries: Option<u64>,
    /// Bytes of the session (or revision) and of the export.
    pub bytes: (u64, u64),
    /// What was masked.
    pub counts: Counts,
    /// Images that were put beside the file.
    pub pictures: u64,
    /// What should be known.
    pub warnings: Vec<String>,
}

/// Exports one session.
///
/// # Errors
/// See [`RunError`]; then the target is what it was.
pub fn export(job: &ExportJob<'_>) -> Result<ExportDone, RunError> {
    let opened = open(&job.input)?;
    let print = opened.print.clone();
    if let Target::File { path, overwrite } = &job.target {
        keep_off_sessions(path, print.as_ref().map(|print| print.path.as_path()))?;
        if job.dry_run {
            store::may_create(path, *overwrite)?;
        }
    }
    run(job, opened).map_err(|error| super::cause(error, print.as_ref()))
}

fn run(job: &ExportJob<'_>, opened: Opened) -> Result<ExportDone, RunError> {
    let blobs = job.blobs.clone().or_else(|| opened.print.as_ref().and_then(|print| blob_folder(&print.path)));
    let Some(revision) = job.revision else {
        let Some(options) = &job.options else { return Err(refused("what to export was not said", None)) };
        let path = opened.path(job.leaf.as_deref())?;
        return shown(job, options, &opened.session, &path, blobs.as_deref());
    };
    let archive = open_revision(&opened, revision, &Archiving::To(job.archive_dir.clone()))?;
    let Some(options) = &job.options else {
        let bytes = write_to(job.writes_to(), &mut |out| archive.copy(out).map(drop))?;
        let warnings = vec![format!("revision {revision} as it was: nothing is masked")];
        return Ok(ExportDone { bytes: (archive.bytes(), bytes), warnings, ..ExportDone::default() });
    };
    let mut spool = tempfile::tempfile()?;
    let len = io::copy(&mut io::BufReader::new(archive.content()?), &mut spool)?;
    let old = Opened { session: Session::open(Source::file(spool, len))?, print: None, past: None };
    let path = old.path(job.leaf.as_deref())?;
    shown(job, options, &old.session, &path, blobs.as_deref())
}

fn shown(job: &ExportJob<'_>, options: &Options, session: &Session, path: &TreePath, blobs: Option<&Path>) -> Result<ExportDone, RunError> {
    let subject = Subject { session, path, blobs };
    let rows = match options.branches {
        true => out::tree_rows(session, path),
        false => out::path_rows(path),
    };
    let mut warnings = Vec::new();
    if session.header_entry().is_none() && !session.source().is_empty() {
        warnings.push("the session has no readable header".to_owned());
    }
    match session.damaged_lines() {
        0 => {}
        1 => warnings.push("1 line is damaged; what cannot be read is not in the export".to_owned()),
        n => warnings.push(format!("{n} lines are damaged; what cannot be read is not in the export")),
    }
    if path.dangling && options.view == View::Transcript {
        warnings.push("the path starts at an entry whose parent is missing; --leaf all exports the rest too".to_owned());
    }
    let bytes = session.source().len();
    if session.nodes().next().is_none() && options.format != Format::Jsonl {
        return Ok(ExportDone { entries: Some(0), bytes: (bytes, 0), warnings, ..ExportDone::default() });
    }
    let folder = match (&job.target, options.format) {
        (Target::File { path, overwrite }, Format::Markdown) => Some(Folder::beside(path, *overwrite)?),
        _ => None,
    };
    let mut pictures = 0;
    let mut failure = None;
    let mut done = out::Done::default();
    let bytes = write_to(job.writes_to(), &mut |target: &mut dyn Write| {
        let mut put = |picture: &out::pictures::Picture| {
            let Some(folder) = &folder else { return Ok(()) };
            pictures += 1;
            if job.dry_run {
                return Ok(());
            }
            folder.put(picture).map_err(|error| {
                let text = error.to_string();
                failure = Some(error);
                io::Error::other(text)
            })
        };
        let beside = folder.as_ref().map(|folder| Beside { link: folder.link(), put: &mut put });
        done = out::export(&subject, options, &rows, job.redactor, beside, target)?;
        Ok(())
    });
    let bytes = match (bytes, failure) {
        (_, Some(error)) => return Err(error.into()),
        (bytes, None) => bytes?,
    };
    if done.missing > 0 {
        let images = counted(done.missing, "image");
        warnings.push(format!("{images} cannot be shown; a note stands in each place"));
    }
    Ok(ExportDone { entries: Some(done.entries), bytes: (session.source().len(), bytes), counts: done.counts, pictures, warnings })
}

fn refused(message: impl Into<String>, hint: Option<&str>) -> RunError {
    RunError::Refused { message: message.into(), hint: hint.map(str::to_owned) }
}

/// Writes a file about a session; never over one.
///
/// # Errors
/// When the target is a session, is there and may not be replaced, or cannot be written.
pub fn write_beside(input: &Input, target: &Path, overwrite: bool, bytes: &[u8]) -> Result<(), RunError> {
    keep_off_sessions(target, input.path())?;
    store::create(target, overwrite, &mut |out| out.write_all(bytes))?;
    Ok(())
}

/// How an export as JSON begins.
const EXPORT: &[u8; 19] = b"{\"schema\":1,\"kind\":";

/// How a page begins; no line of a session does.
const PAGE: &[u8] = b"<!doctype html>";

/// An export never takes the place of a session, asked or not.
fn keep_off_sessions(target: &Path, input: Option<&Path>) -> Result<(), RunError> {
    let Ok(meta) = fs::metadata(target) else { return Ok(()) };
    let same = input.and_then(|input| fs::metadata(input).ok()).is_some_and(|i| (i.dev(), i.ino()) == (meta.dev(), meta.ino()));
    let session = || {
        let Ok((file, print)) = store::open(target) else { return false };
        // A line of a transcript in JSON may look like one of a session, and a page is large.
        let mut begin = [0; EXPORT.len()];
        if file.read_exact_at(&mut begin, 0).is_ok() && (begin == *EXPORT || begin.starts_with(PAGE)) {
            return false;
        }
        match Session::open(Source::file(file, print.size)) {
            Ok(session) => session.all().len() > 0,
            Err(SessionError::Redacted | SessionError::NotASession | SessionError::Read(_)) => false,
        }
    };
    if same || (meta.is_file() && session()) {
        let message = format!("{} is a session: an export never replaces one", target.display());
        return Err(refused(message, Some("name another file")));
    }
    Ok(())
}

/// The folder beside an export that takes its images: `FILE.files`.
struct Folder {
    path: PathBuf,
    overwrite: bool,
}

impl Folder {
    fn beside(file: &Path, overwrite: bool) -> Result<Folder, RunError> {
        let mut name = file.as_os_str().to_owned();
        name.push(".files");
        let path = PathBuf::from(name);
        match fs::symlink_metadata(&path) {
            // A link could lead anywhere.
            Ok(meta) if !meta.is_dir() => Err(refused(
                format!("{} is no folder: images cannot be put there", path.display()),
                Some("move it away, or name another file"),
            )),
            Ok(_) if !overwrite => Err(store::StoreError::Exists { path }.into()),
            _ => Ok(Folder { path, overwrite }),
        }
    }

    /// The folder as a link in the file says it.
    fn link(&self) -> String {
        let name = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
        name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
    }

    fn put(&self, picture: &out::pictures::Picture) -> Result<(), store::StoreError> {
        let (Some(name), out::pictures::Picture::Here { bytes, .. }) = (picture.file_name(), picture) else { return Ok(()) };
        let making = |source| store::StoreError::Io { path: self.path.clone(), doing: "create the folder of images", source };
        match fs::DirBuilder::new().mode(0o700).create(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(making(error)),
            _ => {}
        }
        let path = self.path.join(name);
        // The name is the content's: what is there already is this image, or was put there by somebody.
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) && fs::read(&path).is_ok_and(|there| there == *bytes) {
            return Ok(());
        }
        // A link would be followed, to wherever it leads.
        if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            let source = io::Error::other("what is in its place is no file");
            return Err(store::StoreError::Io { path, doing: "write the image", source });
        }
        store::create(&path, self.overwrite, &mut |out| out.write_all(bytes)).map(drop)
    }
}
