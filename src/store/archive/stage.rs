//! Writing an archive: first under a temporary name, without the lock and in full, then its name, under the lock and at
//! once.

use super::super::fault::{self, Step};
use super::super::temp::{self, TempFile, Tracked};
use super::super::{Fingerprint, MAKE_ARCHIVES, StoreError, fingerprint, paths, space};
use super::{DIGEST, HEADER, Kind, MAGIC, PIECE, Reference, Section, VERSION, ZSTD, file_name, folder, list, pour, verify};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, chown, fchown};
use std::path::{Path, PathBuf};

/// Level of compression. An agent's text takes 1.3 times the room that it takes at zstd's own default (3), and two thirds
/// of the time; levels below 1 save hardly any more time.
const LEVEL: i32 = 1;

/// Bytes that are compressed by themselves, as one frame. What lies in memory as a whole is compressed faster than a
/// stream, and windows do not grow with the file.
const FRAME: usize = 1 << 20;

/// Bytes of an archive after which the free space is looked at again.
const SPACE_STEP: u64 = 4 << 20;

/// Attempts to put a file into the folder; another run of ours that gives up removes the empty folder it made.
const ATTEMPTS: usize = 5;

/// What is to be known of a session for its archive.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// What the file is replaced by.
    pub kind: Kind,
    /// The generation of the new file.
    pub generation: u64,
    /// How many entries the file has.
    pub entries: u64,
    /// The highest revision that the session refers to, 0 for none. The archive gets the one after it, or after the highest
    /// in the folder.
    pub newest: u64,
    /// The id in the session's header.
    pub session_id: Option<&'a str>,
    /// A folder for the archives of many sessions; it must exist. Without it they lie beside the session.
    pub archive_dir: Option<&'a Path>,
}

/// An archive that has its place and revision, and nothing in it yet. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(in crate::store) struct Staging {
    // Before the folder, which can only be removed when it is empty.
    temp: TempFile,
    folder: Folder,
    /// Without the digest, which takes a look at the whole file.
    reference: Reference,
    /// Whether it lies on the session's disk.
    beside: bool,
}

/// An archive that is complete and durable, but for its name. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(in crate::store) struct Staged {
    temp: TempFile,
    folder: Folder,
    reference: Reference,
}

/// The folder of archives; removed with the last hand on it if it was made here and is empty.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    made: Option<Tracked>,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.made.is_some() {
            // Refused, as it should be, when there is anything in it.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl Staging {
    /// Makes a place for the archive of the first bytes of `session`, as many as `print` tells.
    ///
    /// `reserve`: bytes that will be needed on the session's disk afterwards and must stay free.
    pub(in crate::store) fn new(print: &Fingerprint, session: &File, plan: &Plan<'_>, reserve: u64) -> Result<Self, StoreError> {
        let path = folder(&print.path, plan.session_id, plan.archive_dir);
        let failed = |doing| StoreError::io(&path, doing);
        let owner = session.metadata().map_err(StoreError::io(&print.path, "read"))?;
        let before = list(&path).map_err(failed("read the folder of archives"))?.newest();
        let revision = before.max(plan.newest).checked_add(1);
        let revision = revision.ok_or(io::ErrorKind::InvalidData).map_err(|k| failed("number the next archive")(k.into()))?;
        let file = file_name(revision, plan.kind);

        let (folder, temp) = place(&path, &file, &owner)?;
        let beside = fs::metadata(&path).is_ok_and(|m| m.dev() == print.dev);
        space::must_have(&path, if beside { reserve } else { 0 })?;
        let reference = Reference {
            revision,
            generation: plan.generation,
            kind: plan.kind,
            sha256: String::new(),
            bytes: print.size,
            entries: plan.entries,
            file,
            session_id: plan.session_id.map(str::to_owned),
        };
        Ok(Self { temp, folder, reference, beside })
    }

    /// What the new session is to hold, when the session has this digest.
    pub(in crate::store) fn reference(&self, sha256: String) -> Reference {
        Reference { sha256, ..self.reference.clone() }
    }

    /// Writes the archive, makes it durable, and reads it back as the reader will, on whom everything depends later.
    ///
    /// * `reserve`: bytes that are still needed on the session's disk.
    /// * `reference`: gives what [`Staging::reference`] gave, `None` when that cannot be had any more. Asked when the archive
    ///   is written.
    pub(in crate::store) fn fill(
        &self,
        print: &Fingerprint,
        session: &File,
        reserve: &dyn Fn() -> u64,
        reference: &mut dyn FnMut() -> Option<Reference>,
    ) -> Result<(), StoreError> {
        fill(&self.temp, print, session, &|| if self.beside { reserve() } else { 0 })?;
        space::must_have(paths::folder(&print.path), reserve())?;
        // Whoever was to give it tells what went wrong.
        let Some(reference) = reference() else { return Ok(()) };
        let failed = || StoreError::io(&self.folder.path, "read back the archive");
        fault::at(Step::ArchiveRead).map_err(failed())?;
        let file = File::open(self.temp.path()).map_err(failed())?;
        let len = file.metadata().map_err(failed())?.len();
        verify(file, len, &reference).map(drop).map_err(|fault| {
            failed()(match fault {
                super::Fault::Bad(what) => io::Error::new(io::ErrorKind::InvalidData, what),
                super::Fault::Io(e) => e,
            })
        })
    }

    /// The archive, which [`Staging::fill`] has written.
    pub(in crate::store) fn staged(self, reference: Reference) -> Staged {
        Staged { temp: self.temp, folder: self.folder, reference }
    }
}

impl Staged {
    /// Whether no archive of this or a later revision has come meanwhile. To be asked under the lock.
    pub(in crate::store) fn is_next(&self) -> Result<bool, StoreError> {
        let listing = list(&self.folder.path).map_err(StoreError::io(&self.folder.path, "read the folder of archives"))?;
        Ok(listing.newest() < self.reference.revision)
    }

    /// Gives the archive its name and makes that durable. `None`: another file has the name, as when a copy of the session,
    /// which has a lock of its own, is rewritten at the same moment with the same `archive_dir`.
    pub(in crate::store) fn commit(self) -> Result<Option<Reference>, StoreError> {
        let Self { temp, folder, reference } = self;
        let target = folder.path.join(&reference.file);
        // An earlier run may have been stopped before it got there.
        let is_first = list(&folder.path).is_ok_and(|l| l.archives.is_empty());
        let named = fault::at(Step::ArchiveRename).and_then(|()| temp.persist(&target, false));
        match named {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            named => named.map_err(StoreError::io(&target, "give the archive its name"))?,
        }
        let synced = fault::at(Step::ArchiveFolderSync).and_then(|()| paths::sync_folder(&folder.path)).and_then(|()| {
            if is_first {
                fault::at(Step::ArchiveParentSync)?;
                paths::sync_folder(paths::folder(&folder.path))?;
            }
            Ok(())
        });
        synced.map_err(StoreError::io(&target, "sync the folder of the archive"))?;
        Ok(Some(reference))
    }
}

/// Makes the folder when it is not there, private whatever the umask, and a temporary file in it. Both belong to whom the
/// session belongs, as far as this process may give them away.
fn place(path: &Path, file: &str, owner: &fs::Metadata) -> Result<(Folder, TempFile), StoreError> {
    let making = || StoreError::io(path, MAKE_ARCHIVES);
    let mut attempt = 1;
    loop {
        fault::at(Step::ArchiveFolder).map_err(making())?;
        let made = match temp::track(|| DirBuilder::new().mode(0o700).create(path).map(|()| ((), path.to_owned()))) {
            Ok(((), tracked)) => {
                let _ = chown(path, Some(owner.uid()), Some(owner.gid()));
                Some(tracked)
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => None,
            Err(e) => return Err(making()(e)),
        };
        let folder = Folder { path: path.to_owned(), made };
        match fault::at(Step::ArchiveCreate).and_then(|()| TempFile::beside(&path.join(file))) {
            Ok(temp) => {
                let _ = fchown(temp.file(), Some(owner.uid()), Some(owner.gid()));
                return Ok((folder, temp));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
            Err(e) => return Err(StoreError::io(path, "create an archive in it")(e)),
        }
    }
}

/// Writes all of the archive and makes it durable.
fn fill(temp: &TempFile, print: &Fingerprint, session: &File, reserve: &dyn Fn() -> u64) -> Result<(), StoreError> {
    let writing = || StoreError::io(temp.path(), "write the archive");
    let place = paths::folder(temp.path());

    // The header is written again when the length is known.
    let mut file = temp.file();
    file.write_all(&[0; HEADER]).map_err(writing())?;
    let mut out = Metered::new(temp, place, reserve);
    let mut compressor = zstd::bulk::Compressor::new(LEVEL).map_err(writing())?;
    let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(piece_len(print, FRAME)));
    copy(print, session, FRAME, &mut |piece| {
        frame.clear();
        compressor.compress_to_buffer(piece, &mut frame).map_err(writing())?;
        out.write_all(&frame).map_err(|e| out.error(e))
    })?;
    drop((compressor, frame));
    let mut payload = out.written;
    let mut flags = ZSTD;
    if payload >= print.size {
        // It cannot be made smaller, as images and short files cannot.
        file.set_len(HEADER as u64).and_then(|()| file.seek(SeekFrom::Start(HEADER as u64))).map_err(writing())?;
        out = Metered::new(temp, place, reserve);
        copy(print, session, FRAME, &mut |piece| out.write_all(piece).map_err(|e| out.error(e)))?;
        payload = out.written;
        flags = 0;
    }

    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&VERSION.to_be_bytes());
    header.extend_from_slice(&flags.to_be_bytes());
    header.extend_from_slice(&payload.to_be_bytes());
    fault::at(Step::ArchiveWrite).and_then(|()| file.write_all_at(&header, 0)).map_err(writing())?;
    let mut all = Sha256::new();
    pour(&mut Section { file, at: 0, end: HEADER as u64 + payload }, &mut |piece| {
        all.update(piece);
        Ok(())
    })
    .map_err(writing())?;
    let digest: [u8; DIGEST] = all.finalize().into();
    out.write_all(&digest).map_err(|e| out.error(e))?;
    fault::at(Step::ArchiveSync).and_then(|()| file.sync_all()).map_err(writing())
}

/// SHA-256 in hex of the session as it was when its fingerprint was taken.
pub(in crate::store) fn digest_of(print: &Fingerprint, session: &File) -> Result<String, StoreError> {
    let mut hash = Sha256::new();
    copy(print, session, PIECE, &mut |piece| {
        hash.update(piece);
        Ok(())
    })?;
    Ok(HEXLOWER.encode(&hash.finalize()))
}

/// Bytes of the pieces that [`copy`] hands on, but for the last.
fn piece_len(print: &Fingerprint, most: usize) -> usize {
    usize::try_from(print.size).map_or(most, |size| size.clamp(1, most))
}

/// Hands on the session as it was when its fingerprint was taken: up to that size, with the title it had. All pieces but the
/// last have the same length, however the system reads.
fn copy(print: &Fingerprint, session: &File, most: usize, to: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let reading = |e: io::Error| match e.kind() {
        io::ErrorKind::UnexpectedEof => StoreError::Changed { path: print.path.clone(), what: "it became shorter".to_owned() },
        _ => StoreError::io(&print.path, "read")(e),
    };
    let mut buffer = vec![0; piece_len(print, most)];
    let mut filled = 0;
    if fingerprint::is_title_slot(&print.head)
        && let Some(start) = buffer.get_mut(..print.head.len())
    {
        start.copy_from_slice(&print.head);
        filled = print.head.len();
    }
    let mut section = Section { file: session, at: filled as u64, end: print.size };
    loop {
        let n = match section.read(buffer.get_mut(filled..).unwrap_or_default()) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            n => n.map_err(reading)?,
        };
        filled += n;
        let whole = filled == buffer.len();
        if filled > 0 && (whole || n == 0) {
            to(buffer.get(..filled).unwrap_or_default())?;
            filled = 0;
        }
        if section.at == section.end && filled == 0 {
            return Ok(());
        }
    }
}

/// Counts what is written, and stops while others still have space.
struct Metered<'a> {
    writer: fault::Writer<&'a File>,
    temp: &'a Path,
    folder: &'a Path,
    reserve: &'a dyn Fn() -> u64,
    written: u64,
    next_look: u64,
    no_space: Option<StoreError>,
}

impl<'a> Metered<'a> {
    fn new(temp: &'a TempFile, folder: &'a Path, reserve: &'a dyn Fn() -> u64) -> Self {
        let writer = fault::Writer { inner: temp.file(), step: Step::ArchiveWrite };
        Self { writer, temp: temp.path(), folder, reserve, written: 0, next_look: SPACE_STEP, no_space: None }
    }

    /// The error of a write that failed.
    fn error(&mut self, e: io::Error) -> StoreError {
        self.no_space.take().unwrap_or_else(|| StoreError::io(self.temp, "write the archive")(e))
    }
}

impl Write for Metered<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written >= self.next_look {
            self.next_look = self.written + SPACE_STEP;
            if let Err(e) = space::must_have(self.folder, (self.reserve)()) {
                self.no_space = Some(e);
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        let n = self.writer.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
