//! Writing an archive: first under a temporary name, without the lock and in full, then its name, under the lock and at
//! once.

use super::super::fault::{self, Inherited, Step};
use super::super::sums::Sums;
use super::super::temp::{self, TempFile, Tracked};
use super::super::{Fingerprint, MAKE_ARCHIVES, StoreError, fingerprint, paths, space};
use super::{DIGEST, HEADER, Kind, MAGIC, PIECE, Reference, VERSION, ZSTD, file_name, folder, list, pour};
use crate::threads;
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

/// Frames of an archive from which on a second thread packs them sooner.
const FRAMES_WORTH_A_THREAD: usize = 4;

/// What fails where an archive cannot be written.
const WRITING: &str = "write the archive";

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

impl Plan<'_> {
    /// What will be said of the archive of the session at `path`, which has so many bytes; without the digest, which takes a look
    /// at all of it.
    ///
    /// # Errors
    /// When the folder of archives cannot be read, or holds the last revision there can be.
    pub fn reference(&self, path: &Path, bytes: u64) -> Result<Reference, StoreError> {
        let path = folder(path, self.session_id, self.archive_dir);
        let failed = |doing| StoreError::io(&path, doing);
        let before = list(&path).map_err(failed("read the folder of archives"))?.newest();
        let revision = before.max(self.newest).checked_add(1);
        let revision = revision.ok_or(io::ErrorKind::InvalidData).map_err(|k| failed("number the next archive")(k.into()))?;
        Ok(Reference {
            revision,
            generation: self.generation,
            kind: self.kind,
            sha256: String::new(),
            bytes,
            entries: self.entries,
            file: file_name(revision, self.kind),
            session_id: self.session_id.map(str::to_owned),
        })
    }
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
        let owner = session.metadata().map_err(StoreError::io(&print.path, "read"))?;
        let reference = plan.reference(&print.path, print.size)?;

        let (folder, temp) = place(&path, &reference.file, &owner)?;
        let beside = fs::metadata(&path).is_ok_and(|m| m.dev() == print.dev);
        space::must_have(&path, if beside { reserve } else { 0 })?;
        Ok(Self { temp, folder, reference, beside })
    }

    /// What the new session is to hold, when the session has this digest.
    pub(in crate::store) fn reference(&self, sha256: String) -> Reference {
        Reference { sha256, ..self.reference.clone() }
    }

    /// Writes the archive, reads it back, since everything depends on it later, and makes it durable.
    ///
    /// `reserve`: bytes that are still needed on the session's disk.
    pub(in crate::store) fn fill(&self, print: &Fingerprint, session: &File, reserve: &(dyn Fn() -> u64 + Sync)) -> Result<(), StoreError> {
        fill(&self.temp, print, session, &|| if self.beside { reserve() } else { 0 })?;
        space::must_have(paths::folder(&print.path), reserve())?;
        fault::at(Step::ArchiveSync).and_then(|()| self.temp.file().sync_all()).map_err(StoreError::io(self.temp.path(), WRITING))
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

/// Writes all of the archive and reads back what it wrote.
///
/// That it gives the session back is known when three things are: each frame was unpacked again as soon as it was packed and
/// gave the bytes that it was made of; what stands in the file are those frames; and the digest is that of what stands there.
fn fill(temp: &TempFile, print: &Fingerprint, session: &File, reserve: &(dyn Fn() -> u64 + Sync)) -> Result<(), StoreError> {
    let writing = || StoreError::io(temp.path(), WRITING);
    let place = paths::folder(temp.path());

    // The header is written again when the length is known.
    let mut file = temp.file();
    file.write_all(&[0; HEADER]).map_err(writing())?;
    let mut out = Metered::new(temp, place, reserve);
    pack(print, session, &|e| writing()(e), &mut |frame| out.write_all(frame).map_err(|e| out.error(e)))?;
    let mut flags = ZSTD;
    if out.written >= print.size {
        // It cannot be made smaller, as images and short files cannot.
        file.set_len(HEADER as u64).and_then(|()| file.seek(SeekFrom::Start(HEADER as u64))).map_err(writing())?;
        out = Metered::new(temp, place, reserve);
        copy(print, session, FRAME, &mut |piece| out.write_all(piece).map_err(|e| out.error(e)))?;
        flags = 0;
    }

    let payload = out.written;
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&VERSION.to_be_bytes());
    header.extend_from_slice(&flags.to_be_bytes());
    header.extend_from_slice(&payload.to_be_bytes());
    fault::at(Step::ArchiveWrite).and_then(|()| file.write_all_at(&header, 0)).map_err(writing())?;
    let digest = read_back(temp.path(), &header, &out.sums).map_err(StoreError::io(place, "read back the archive"))?;
    out.write_all(&digest).map_err(|e| out.error(e))?;
    Ok(())
}

/// Reads back what is written of an archive, its header and a payload of these sums; gives the digest of both.
fn read_back(temp: &Path, header: &[u8], written: &Sums) -> io::Result<[u8; DIGEST]> {
    fault::at(Step::ArchiveRead)?;
    let mut file = File::open(temp)?;
    let mut found = [0; HEADER];
    file.read_exact(&mut found)?;
    let (mut digest, mut sums) = (Sha256::new_with_prefix(found), Sums::default());
    pour(&mut file, &mut |piece| {
        digest.update(piece);
        sums.update(piece);
        Ok(())
    })?;
    if found != *header || sums.all() != written.all() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds other bytes than were written"));
    }
    Ok(digest.finalize().into())
}

/// Packs pieces of a session, and proves each time that they can be had back.
struct Packer {
    packer: io::Result<zstd::bulk::Compressor<'static>>,
    unpacker: io::Result<zstd::bulk::Decompressor<'static>>,
    piece: Vec<u8>,
    frame: Vec<u8>,
    again: Vec<u8>,
}

impl Packer {
    fn new() -> Packer {
        let (packer, unpacker) = (zstd::bulk::Compressor::new(LEVEL), zstd::bulk::Decompressor::new());
        Packer { packer, unpacker, piece: Vec::new(), frame: Vec::new(), again: Vec::new() }
    }

    /// Makes the frame of the piece.
    fn pack(&mut self) -> io::Result<()> {
        self.frame.clear();
        self.frame.reserve(zstd::zstd_safe::compress_bound(self.piece.len()));
        ready(&mut self.packer)?.compress_to_buffer(&self.piece, &mut self.frame)?;
        if self.gives_back()? {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "what was packed does not give the session back"))
    }

    /// Whether the frame unpacks to the piece. Both are still near the processor, which makes this much cheaper than later.
    fn gives_back(&mut self) -> io::Result<bool> {
        self.again.clear();
        self.again.reserve(self.piece.len());
        ready(&mut self.unpacker)?.decompress_to_buffer(&self.frame, &mut self.again)?;
        Ok(self.again == self.piece)
    }
}

/// What could be made, or why it could not.
fn ready<T>(made: &mut io::Result<T>) -> io::Result<&mut T> {
    made.as_mut().map_err(|e| io::Error::new(e.kind(), e.to_string()))
}

/// Packs the session as it was when its fingerprint was taken, on all cores, and hands the frames on in their order.
fn pack(
    print: &Fingerprint,
    session: &File,
    failed: &(dyn Fn(io::Error) -> StoreError + Sync),
    to: &mut (dyn FnMut(&[u8]) -> Result<(), StoreError> + Send),
) -> Result<(), StoreError> {
    let frames = usize::try_from(print.size.div_ceil(FRAME as u64)).unwrap_or(usize::MAX);
    let inherited = Inherited::here();
    let room = || {
        inherited.clone().adopt();
        Packer::new()
    };
    threads::in_turn(
        threads::cores().min(frames.div_ceil(FRAMES_WORTH_A_THREAD)),
        frames,
        room,
        |packer, number| {
            let start = number as u64 * FRAME as u64;
            packer.piece.resize(piece_len(print.size - start, FRAME), 0);
            read_piece(print, session, start, &mut packer.piece)?;
            packer.pack().map_err(failed)
        },
        |packer, _| to(&packer.frame),
    )
    .map_err(|thread| failed(thread.into()))?
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

/// Bytes of the next piece when so many are left.
fn piece_len(left: u64, most: usize) -> usize {
    usize::try_from(left).map_or(most, |left| left.min(most))
}

/// Hands on the session as it was when its fingerprint was taken. All pieces but the last have the same length.
fn copy(print: &Fingerprint, session: &File, most: usize, to: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let mut buffer = Vec::new();
    let mut at = 0;
    while at < print.size {
        buffer.resize(piece_len(print.size - at, most), 0);
        read_piece(print, session, at, &mut buffer)?;
        to(&buffer)?;
        at += buffer.len() as u64;
    }
    Ok(())
}

/// Fills `piece` with what stands in the session from `at` on, with the title that it had when its fingerprint was taken.
fn read_piece(print: &Fingerprint, session: &File, at: u64, piece: &mut [u8]) -> Result<(), StoreError> {
    session.read_exact_at(piece, at).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => StoreError::Changed { path: print.path.clone(), what: "it became shorter".to_owned() },
        _ => StoreError::io(&print.path, "read")(e),
    })?;
    if at == 0 && fingerprint::is_title_slot(&print.head) {
        piece.iter_mut().zip(&print.head).for_each(|(byte, then)| *byte = *then);
    }
    Ok(())
}

/// Counts and sums up what is written, and stops while others still have space.
struct Metered<'a> {
    writer: fault::Writer<&'a File>,
    temp: &'a Path,
    folder: &'a Path,
    reserve: &'a (dyn Fn() -> u64 + Sync),
    written: u64,
    sums: Sums,
    next_look: u64,
    no_space: Option<StoreError>,
}

impl<'a> Metered<'a> {
    fn new(temp: &'a TempFile, folder: &'a Path, reserve: &'a (dyn Fn() -> u64 + Sync)) -> Self {
        let writer = fault::Writer { inner: temp.file(), step: Step::ArchiveWrite };
        Self { writer, temp: temp.path(), folder, reserve, written: 0, sums: Sums::default(), next_look: SPACE_STEP, no_space: None }
    }

    /// The error of a write that failed.
    fn error(&mut self, e: io::Error) -> StoreError {
        self.no_space.take().unwrap_or_else(|| StoreError::io(self.temp, WRITING)(e))
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
        self.sums.update(bytes.get(..n).unwrap_or(bytes));
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::super::whole;
    use super::*;

    /// Text of some length that can be packed, or cannot.
    fn bytes(len: usize, seed: u64, packs: bool) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..len).map(|_| if packs { next() & 1 } else { next() }).collect()
    }

    #[test]
    fn what_was_packed_is_unpacked_and_compared() {
        for len in [0, 1, 1_000, FRAME] {
            let mut packer = Packer::new();
            packer.piece = bytes(len, 1, true);
            packer.pack().unwrap();
            assert!(packer.gives_back().unwrap(), "{len}");
            for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|at| *at < len) {
                packer.piece[at] ^= 1;
                assert!(!packer.gives_back().unwrap(), "{len} {at}");
                packer.piece[at] ^= 1;
            }
            packer.piece.push(b'x');
            assert!(!packer.gives_back().unwrap(), "{len}");
            packer.frame.pop();
            assert!(!packer.gives_back().unwrap_or(false), "{len}");
        }
    }

    #[test]
    fn an_archive_of_other_bytes_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        for packs in [true, false] {
            for len in [0, 1, FRAME - 1, FRAME, FRAME + 1, 6 * FRAME + 5] {
                fs::write(&path, bytes(len, 1, packs)).unwrap();
                let (session, print) = fingerprint::open(&path).unwrap();
                let temp = TempFile::beside(&dir.path().join("1-prune.epa")).unwrap();
                fill(&temp, &print, &session, &|| 0).unwrap();
                let size = temp.file().metadata().unwrap().len();
                let archive = whole(File::open(temp.path()).unwrap(), size, print.size).map_err(|_| ()).unwrap();
                assert_eq!(archive.zstd, packs && len > 1, "{len}");
                let mut content = Vec::new();
                archive.content().unwrap().read_to_end(&mut content).unwrap();
                assert_eq!(content, fs::read(&path).unwrap(), "{len}");

                // What is read back before the digest is written: all but that.
                let written = fs::read(temp.path()).unwrap();
                let (written, digest) = written.split_at(written.len() - DIGEST);
                let (header, payload) = written.split_at(HEADER);
                let mut sums = Sums::default();
                sums.update(payload);
                let reads = |bytes: &[u8]| {
                    fs::write(dir.path().join("other"), bytes).unwrap();
                    read_back(&dir.path().join("other"), header, &sums)
                };
                assert_eq!(reads(written).unwrap(), digest, "{len}");
                for at in [0, HEADER - 1, HEADER, written.len() / 2, written.len() - 1].into_iter().filter(|at| *at < written.len()) {
                    let mut other = written.to_vec();
                    other[at] ^= 1;
                    assert!(reads(&other).is_err(), "{len} {at}");
                }
                assert!(reads(&[written, b"x"].concat()).is_err() && reads(&written[..written.len() - 1]).is_err(), "{len}");
            }
        }
    }
}
