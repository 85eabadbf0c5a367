//! A rewrite takes bytes out of a session. So that none is lost, the whole previous file is first kept beside it, compressed
//! and with a digest, and the rewritten file refers to it: what was taken out can be exported and restored, and a session
//! never refers to an archive that was not durable before.
//!
//! # The file
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the magic `EPITOMEA` |
//! | 2 | version, big endian: 1 |
//! | 2 | flags, big endian: bit 0 says that the payload is a zstd stream, of one frame or several |
//! | 8 | length of the payload, big endian |
//! | … | the payload: the whole previous file |
//! | 32 | SHA-256 of everything before |
//!
//! # Where
//!
//! Beside the real session file in `<file name>.archive/`, as `<revision>-<kind>.epa`. In a folder that the user names,
//! archives of many sessions come together, and sessions of different folders can have one name; there the subfolder is
//! named after the session's id, which stays the same when the session is moved or renamed (see [`folder`]).
//!
//! # Reading
//!
//! Everything is checked before the first byte is handed out, and each fault is final: what an archive does not give back
//! byte for byte it does not give back at all. Archives are never removed here.

mod stage;

pub use stage::Plan;
pub(super) use stage::{Staged, Staging, digest_of};

use super::paths;
use data_encoding::HEXLOWER;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

/// `customType` of the `custom` entry by which a session refers to an archive.
pub const CUSTOM_TYPE: &str = "epitome.archive";

/// How every archive begins.
pub const MAGIC: &[u8; 8] = b"EPITOMEA";

/// The version of the layout.
pub const VERSION: u16 = 1;

/// Flag: the payload is compressed.
const ZSTD: u16 = 1;

/// Bytes before the payload.
const HEADER: usize = 20;

/// Bytes after it.
const DIGEST: usize = 32;

/// Bytes that an archive has besides its payload.
pub const OVERHEAD: u64 = (HEADER + DIGEST) as u64;

/// Bytes read and written at once.
const PIECE: usize = 128 * 1024;

/// Ends the name of a session's folder of archives.
const FOLDER_SUFFIX: &str = ".archive";

/// Ends the name of an archive.
const SUFFIX: &str = ".epa";

/// What an archived file was replaced by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A replacement history.
    Compact,
    /// A smaller file of the same entries, or a restored one.
    Prune,
    /// A file without the faults.
    Repair,
    /// The same in a newer version of the format.
    Migrate,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Compact, Self::Prune, Self::Repair, Self::Migrate];

    /// The word in file names and references.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Prune => "prune",
            Self::Repair => "repair",
            Self::Migrate => "migrate",
        }
    }
}

/// What a session tells about one of its archives: the `data` of a `custom` entry with [`CUSTOM_TYPE`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The number of the archive, from 1, one more with each rewrite.
    pub revision: u64,
    /// How many replacement histories the session has behind it.
    pub generation: u64,
    /// What the archived file was replaced by.
    pub kind: Kind,
    /// SHA-256 of the previous file itself, not of the archive, in 64 lowercase hexadecimal digits.
    pub sha256: String,
    /// Size of the previous file in bytes.
    pub bytes: u64,
    /// How many entries it had.
    pub entries: u64,
    /// The name of the archive in its folder.
    pub file: String,
    /// The id in its header, if it had one.
    pub session_id: Option<String>,
}

impl Reference {
    /// The `data` of the entry; keys in a fixed order.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Reads the `data` of an entry. Anyone can write into a session, so nothing is taken on trust: the file must be a
    /// bare name, or reading an archive could be led anywhere.
    ///
    /// # Errors
    /// What is wrong with it, to complete "the reference …".
    pub fn from_json(data: &serde_json::Value) -> Result<Self, String> {
        let reference = Self::deserialize(data).map_err(|e| format!("cannot be read: {e}"))?;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if reference.sha256.len() != 2 * DIGEST || !reference.sha256.bytes().all(hex) {
            return Err("has no SHA-256 of 64 lowercase hexadecimal digits".to_owned());
        }
        if reference.file != file_name(reference.revision, reference.kind) {
            return Err(format!("names the file {:?}, not {}", reference.file, file_name(reference.revision, reference.kind)));
        }
        Ok(reference)
    }
}

/// `<revision>-<kind>.epa`.
fn file_name(revision: u64, kind: Kind) -> String {
    format!("{revision}-{}{SUFFIX}", kind.name())
}

/// The folder of a session's archives; it need not exist.
///
/// * `session`: the real file.
/// * `archive_dir`: a folder for the archives of many sessions. In it each session has the subfolder `<id>.archive`. An id
///   that is not made of up to 64 letters, digits, `-` and `_` is replaced by `sha256-` and its digest; without an id the
///   digest is that of the session's path. Copies of a session share the folder, and their archives get different
///   revisions in it.
#[must_use]
pub fn folder(session: &Path, session_id: Option<&str>, archive_dir: Option<&Path>) -> PathBuf {
    let Some(dir) = archive_dir else {
        let mut name = OsString::from(session.file_name().unwrap_or_default());
        name.push(FOLDER_SUFFIX);
        return paths::folder(session).join(name);
    };
    let digest = |bytes: &[u8]| format!("sha256-{}", HEXLOWER.encode(&Sha256::digest(bytes)));
    let plain = |id: &str| (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let name = match session_id {
        Some(id) if plain(id) => id.to_owned(),
        Some(id) => digest(id.as_bytes()),
        None => digest(session.as_os_str().as_bytes()),
    };
    dir.join(name + FOLDER_SUFFIX)
}

/// An archive that is there, by its name; what is in it was not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// From the name.
    pub revision: u64,
    /// From the name.
    pub kind: Kind,
    /// The name.
    pub file: String,
    /// Size of the archive in bytes.
    pub bytes: u64,
}

/// What a folder of archives holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The archives, by revision.
    pub archives: Vec<Present>,
    /// Names of what an interrupted run left over, sorted.
    pub strays: Vec<String>,
}

impl Listing {
    /// The highest revision, 0 when there is none.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.archives.last().map_or(0, |a| a.revision)
    }

    /// Size of all archives in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.archives.iter().map(|a| a.bytes).sum()
    }
}

/// Lists a folder of archives; one that is not there holds nothing. Files of other names are not ours and passed over.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(listing),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(file) = entry.file_name().into_string() else { continue };
        if let Some((revision, kind)) = parse_name(&file) {
            let bytes = entry.metadata().map_or(0, |m| m.len());
            listing.archives.push(Present { revision, kind, file, bytes });
        } else if file.starts_with('.') && file.ends_with(super::temp::SUFFIX) {
            listing.strays.push(file);
        }
    }
    listing.archives.sort_by(|a, b| (a.revision, &a.file).cmp(&(b.revision, &b.file)));
    listing.strays.sort();
    Ok(listing)
}

fn parse_name(file: &str) -> Option<(u64, Kind)> {
    let (revision, kind) = file.strip_suffix(SUFFIX)?.split_once('-')?;
    let kind = Kind::ALL.into_iter().find(|k| k.name() == kind)?;
    let revision = revision.parse().ok()?;
    // Not `007` nor `+7`: a revision has one name.
    (file_name(revision, kind) == file).then_some((revision, kind))
}

/// Why an archive does not give back a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It is not there: the session was copied or moved without it, or it was removed.
    #[error("{}: the archive is not there", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// It is there and is not what the session refers to.
    #[error("{}: bad archive: {what}", path.display())]
    Bad {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The operating system refused.
    #[error("{}: cannot read the archive", path.display())]
    Io {
        /// The archive.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

/// An archive that was checked from its first to its last byte.
#[derive(Debug)]
pub struct Archive {
    file: File,
    payload: u64,
    zstd: bool,
    bytes: u64,
}

/// Opens the archive that a session refers to and checks all of it: that it is a regular file with the right magic,
/// version and length, that its digest is right and nothing follows it, that what is in it has the digest and size of the
/// reference, and that the reference is of this session.
///
/// The memory needed does not depend on its size; the time is that of reading it twice.
///
/// * `folder`: of [`folder`].
/// * `session_id`: of the session that refers to it; with none, or none in the reference, ids are not compared.
///
/// # Errors
/// [`ArchiveError`]; only [`ArchiveError::Missing`] means that there is no such file.
pub fn open(folder: &Path, expected: &Reference, session_id: Option<&str>) -> Result<Archive, ArchiveError> {
    let path = folder.join(&expected.file);
    let bad = |what: String| ArchiveError::Bad { path: path.clone(), what };
    if parse_name(&expected.file).is_none() {
        return Err(ArchiveError::Bad { path: folder.to_owned(), what: format!("{:?} is no name of an archive", expected.file) });
    }
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => ArchiveError::Missing { path: path.clone() },
        _ => ArchiveError::Io { path: path.clone(), source },
    };
    let is_file = |meta: &fs::Metadata| {
        paths::must_be_file(&path, meta).map_err(|e| match e {
            super::StoreError::NotAFile { kind, .. } => bad(format!("it is {kind}, not a file")),
            other => bad(other.to_string()),
        })
    };
    is_file(&fs::symlink_metadata(&path).map_err(failed)?)?;
    let file = paths::open_real(&path, OFlags::RDONLY, Mode::empty()).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    is_file(&meta)?;
    if let (Some(theirs), Some(ours)) = (&expected.session_id, session_id)
        && theirs != ours
    {
        return Err(bad(format!("it is of the session {theirs}, not of {ours}")));
    }
    verify(file, meta.len(), expected).map_err(|fault| match fault {
        Fault::Bad(what) => bad(what),
        Fault::Io(source) => ArchiveError::Io { path: path.clone(), source },
    })
}

/// What [`verify`] finds.
enum Fault {
    Bad(String),
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            // Only by a program that shortens it while it is read.
            io::ErrorKind::UnexpectedEof => Self::Bad("it is incomplete".to_owned()),
            _ => Self::Io(e),
        }
    }
}

/// Checks an open archive of `len` bytes against its reference.
fn verify(file: File, len: u64, expected: &Reference) -> Result<Archive, Fault> {
    let bad = |what: &str| Err(Fault::Bad(what.to_owned()));
    let archive = whole(file, len, expected.bytes)?;
    let (bytes, sha256) = archive.measure().map_err(|e| match e.raw_os_error() {
        Some(_) => Fault::Io(e),
        None => Fault::Bad(format!("its content cannot be read: {e}")),
    })?;
    if bytes != expected.bytes {
        return bad(&format!("its content does not have the {} bytes that the session tells", expected.bytes));
    }
    if sha256 != expected.sha256 {
        return bad("its content does not have the digest that the session tells");
    }
    Ok(archive)
}

/// Checks an open archive of `len` bytes as far as it can be without knowing its content, which is to have `bytes`.
fn whole(file: File, len: u64, bytes: u64) -> Result<Archive, Fault> {
    let bad = |what: &str| Err(Fault::Bad(what.to_owned()));
    let mut header = [0; HEADER];
    if len < OVERHEAD {
        return bad("it is incomplete");
    }
    file.read_exact_at(&mut header, 0)?;
    let Some((magic, version, flags, payload)) = split_header(&header) else {
        return bad("it is incomplete");
    };
    if magic != *MAGIC {
        return bad("it does not begin like an archive");
    }
    if version != VERSION {
        return bad(&format!("its version {version} is unknown"));
    }
    if flags & !ZSTD != 0 {
        return bad("it has unknown flags");
    }
    match payload.checked_add(OVERHEAD) {
        Some(needed) if needed == len => {}
        Some(needed) if needed < len => return bad("bytes follow its end"),
        _ => return bad("it is incomplete"),
    }
    let mut section = Section { file: &file, at: 0, end: HEADER as u64 + payload };
    let mut digest = [0; DIGEST];
    file.read_exact_at(&mut digest, section.end)?;
    let mut hash = Sha256::new();
    pour(&mut section, &mut |piece| {
        hash.update(piece);
        Ok(())
    })?;
    if hash.finalize().as_slice() != digest {
        return bad("its digest is wrong");
    }
    Ok(Archive { payload, zstd: flags & ZSTD != 0, bytes, file })
}

fn split_header(header: &[u8; HEADER]) -> Option<([u8; 8], u16, u16, u64)> {
    let (magic, rest) = header.split_first_chunk::<8>()?;
    let (version, rest) = rest.split_first_chunk::<2>()?;
    let (flags, rest) = rest.split_first_chunk::<2>()?;
    let (payload, _) = rest.split_first_chunk::<8>()?;
    Some((*magic, u16::from_be_bytes(*version), u16::from_be_bytes(*flags), u64::from_be_bytes(*payload)))
}

impl Archive {
    /// Size of the archived file in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the archived file out and returns its size in bytes.
    ///
    /// # Errors
    /// Those of reading and of `to`.
    pub fn copy(&self, to: &mut dyn Write) -> io::Result<u64> {
        pour(&mut self.content()?, &mut |piece| to.write_all(piece))
    }

    /// The archived file's bytes, one after the other; never more than the reference tells.
    ///
    /// # Errors
    /// When the decompressor cannot be set up.
    pub fn content(&self) -> io::Result<Box<dyn Read + '_>> {
        self.content_up_to(self.bytes)
    }

    fn content_up_to(&self, limit: u64) -> io::Result<Box<dyn Read + '_>> {
        let section = self.section();
        if self.zstd {
            let section = BufReader::with_capacity(PIECE, section);
            return Ok(Box::new(zstd::stream::read::Decoder::with_buffer(section)?.take(limit)));
        }
        Ok(Box::new(section.take(limit)))
    }

    /// The payload as it is stored.
    fn section(&self) -> Section<'_> {
        let start = HEADER as u64;
        Section { file: &self.file, at: start, end: start + self.payload }
    }

    /// Size and digest of the content, which is read to one byte after the expected end at most.
    fn measure(&self) -> io::Result<(u64, String)> {
        let mut content = self.content_up_to(self.bytes.saturating_add(1))?;
        if self.bytes >= WORTH_A_THREAD {
            return beside(&mut content);
        }
        let mut hash = Sha256::new();
        let bytes = pour(&mut content, &mut |piece| {
            hash.update(piece);
            Ok(())
        })?;
        Ok((bytes, HEXLOWER.encode(&hash.finalize())))
    }
}

/// Bytes of content from which on hashing them gets a thread of its own: decompressing and hashing take about as long.
const WORTH_A_THREAD: u64 = 4 << 20;

/// Pieces on their way between the thread that reads and the one that hashes.
const PIECES: usize = 4;

/// Size and digest in hex of all that a reader gives, hashed on another thread than it is read on.
fn beside(from: &mut dyn Read) -> io::Result<(u64, String)> {
    std::thread::scope(|scope| {
        let (to_hash, filled) = sync_channel::<Vec<u8>>(PIECES);
        let (give_back, empty) = sync_channel::<Vec<u8>>(PIECES);
        for _ in 0..PIECES {
            let _ = give_back.send(Vec::with_capacity(PIECE));
        }
        let hashing = std::thread::Builder::new().spawn_scoped(scope, move || {
            let mut hash = Sha256::new();
            for piece in filled {
                hash.update(&piece);
                let _ = give_back.send(piece);
            }
            HEXLOWER.encode(&hash.finalize())
        })?;
        let failed = || io::Error::other("the thread that hashes failed");
        let mut total = 0;
        loop {
            let mut piece = empty.recv().map_err(|_| failed())?;
            piece.clear();
            match (&mut *from).take(PIECE as u64).read_to_end(&mut piece)? {
                0 => break,
                n => total += n as u64,
            }
            to_hash.send(piece).map_err(|_| failed())?;
        }
        drop(to_hash);
        Ok((total, hashing.join().map_err(|_| failed())?))
    })
}

/// A part of a file, read by position.
struct Section<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..left).unwrap_or_default();
        if buffer.is_empty() {
            return Ok(0);
        }
        match self.file.read_at(buffer, self.at)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => {
                self.at += n as u64;
                Ok(n)
            }
        }
    }
}

/// Hands all bytes of a reader on, piece by piece, and counts them.
pub(super) fn pour(from: &mut dyn Read, to: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<u64> {
    let mut buffer = vec![0; PIECE];
    let mut total = 0;
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            n => n?,
        };
        to(buffer.get(..n).unwrap_or_default())?;
        total += n as u64;
    }
}

/// The state of a session's archives.
#[derive(Debug)]
pub struct Checked {
    /// For every reference, in the order given, whether its archive gives the file back.
    pub references: Vec<Result<(), ArchiveError>>,
    /// Archives that no reference names, by revision: left by a rewrite that was not committed, or of a copy of the session.
    pub unreferenced: Vec<Present>,
    /// Names of what an interrupted run left over in the folder.
    pub strays: Vec<String>,
    /// Size of all archives in the folder in bytes.
    pub bytes: u64,
}

/// Checks all archives of a session.
///
/// * `session`: symbolic links are followed to the real file.
/// * `references`: all that the session holds.
///
/// # Errors
/// When the session's path or the folder of archives cannot be read. What is wrong with an archive is a finding.
pub fn check(session: &Path, references: &[Reference], session_id: Option<&str>, archive_dir: Option<&Path>) -> io::Result<Checked> {
    let folder = folder(&paths::resolve(session)?, session_id, archive_dir);
    let listing = list(&folder)?;
    let bytes = listing.bytes();
    let is_named = |file: &str| references.iter().any(|r| r.file == file);
    Ok(Checked {
        references: references.iter().map(|r| open(&folder, r, session_id).map(drop)).collect(),
        unreferenced: listing.archives.into_iter().filter(|a| !is_named(&a.file)).collect(),
        strays: listing.strays,
        bytes,
    })
}

#[cfg(test)]
mod tests;
