//! Sessions are live files: an agent may append to, retitle or replace the one we are working on. Work is
//! done without a lock, so a writer needs a proof, taken when the file was opened, that what it is about to
//! commit still fits what is there.
//!
//! The proof is device, inode, size and modification time, the first 256 bytes and the last 4 KiB of what
//! was read. A digest of the whole file would be certain but costs a second read of a file that can pass a
//! gigabyte, while an agent waits for the lock.
//!
//! Detected: the file is gone or another file has its name; it is shorter; the bytes at the end of what was
//! read differ; its beginning differs; it was rewritten in place with the same size (by the modification
//! time). Allowed and reported as growth: bytes after those that were read. Allowed: oh-my-pi overwriting
//! its title slot, the 256-byte first line that it changes in place.
//!
//! Not detected: bytes changed in the middle by a program that also put the modification time back, or
//! within the same tick of the file system's clock, or together with an append or a new title. No agent
//! does the like: they append, overwrite the slot, or rename a new file into place.

use super::StoreError;
use super::paths;
use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Length in bytes of oh-my-pi's title slot, newline included, and of the remembered beginning.
pub const HEAD: usize = 256;

/// Bytes remembered from the end of what was read: several whole entries as a rule, one page to read.
pub const TAIL: usize = 4096;

/// How a title slot begins; oh-my-pi writes its keys in this order.
const SLOT_START: &[u8] = br#"{"type":"title""#;

/// How long a `write` in progress gets to show its whole effect: far longer than one takes, far shorter
/// than the 500 ms that an agent waits for the lock.
const SETTLE: Duration = Duration::from_millis(10);

const IN_PLACE: &str = "it was rewritten in place (same size, another modification time)";

/// What a session file was when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// The real file: absolute, symbolic links resolved.
    pub path: PathBuf,
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes at the moment of opening. A reader reads this far and no further.
    pub size: u64,
    /// Modification time: seconds since 1970 and nanoseconds.
    pub mtime: (i64, i64),
    /// The first bytes, at most [`HEAD`].
    pub head: Vec<u8>,
    /// The last bytes before `size`, at most [`TAIL`].
    pub tail: Vec<u8>,
}

/// What became of a file since its fingerprint was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// What was read is what is there. The title slot may hold another title: see
    /// [`Fingerprint::retitled`].
    Same,
    /// What was read is still there and others have appended.
    Grown {
        /// All bytes after those that were read. They begin in the middle of a line when what was read did
        /// not end in a newline, and may end so when another program is just writing.
        new_bytes: Vec<u8>,
    },
    /// It is another file now; the text says how, to complete "changed while working: …".
    Changed(String),
}

/// Opens a session for reading and takes its fingerprint.
///
/// Symbolic links are followed. The handle stays good for the bytes up to `size` even when another file
/// takes the name. Nothing is created and nothing written.
///
/// # Errors
/// [`StoreError::Io`] when the path is missing or may not be read, [`StoreError::NotAFile`] for a folder, a
/// named pipe (without waiting for its writer) and the like, [`StoreError::Changed`] when it shrinks while
/// it is being opened.
pub fn open(path: &Path) -> Result<(File, Fingerprint), StoreError> {
    let real = std::fs::canonicalize(path).map_err(StoreError::io(path, "open"))?;
    // Asked before opening too: a socket cannot be opened at all, and opening a device can have effects.
    let meta = std::fs::metadata(&real).map_err(StoreError::io(path, "open"))?;
    paths::must_be_file(&real, &meta)?;
    let file = paths::open_real(&real, OFlags::RDONLY, Mode::empty()).map_err(StoreError::io(path, "open"))?;
    let meta = file.metadata().map_err(StoreError::io(path, "read"))?;
    paths::must_be_file(&real, &meta)?;

    let size = meta.len();
    let (head, tail) = ends(&file, size)
        .map_err(StoreError::io(path, "read"))?
        .ok_or_else(|| StoreError::Changed { path: real.clone(), what: "it became shorter while it was opened".to_owned() })?;
    let print = Fingerprint { dev: meta.dev(), ino: meta.ino(), size, mtime: mtime(&meta), head, tail, path: real };
    Ok((file, print))
}

impl Fingerprint {
    /// Compares with the file as it is now.
    ///
    /// `file` is to be opened anew by [`Fingerprint::path`] and under the lock: the handle the session was
    /// read from would show the old file after a rename.
    ///
    /// A program that takes no lock may be in the middle of a `write`: the file then has its new
    /// modification time but not its new size, or only a part of the new line. What looks like that is
    /// looked at a second time, 10 ms later.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the file cannot be read.
    pub fn compare(&self, file: &File) -> Result<State, StoreError> {
        self.look_twice(file, || std::thread::sleep(SETTLE))
    }

    fn look_twice(&self, file: &File, pause: impl FnOnce()) -> Result<State, StoreError> {
        let first = self.look(file)?;
        let unsettled = match &first {
            State::Grown { new_bytes } => new_bytes.last() != Some(&b'\n'),
            State::Changed(why) => why == IN_PLACE,
            State::Same => false,
        };
        if !unsettled {
            return Ok(first);
        }
        pause();
        self.look(file)
    }

    fn look(&self, file: &File) -> Result<State, StoreError> {
        let reading = || StoreError::io(&self.path, "read");
        let meta = file.metadata().map_err(reading())?;
        if (meta.dev(), meta.ino()) != (self.dev, self.ino) {
            return Ok(State::Changed("another file has its name".to_owned()));
        }
        let now = meta.len();
        let shorter = |now: u64| Ok(State::Changed(format!("it has {now} bytes, fewer than the {} that were read", self.size)));
        if now < self.size {
            return shorter(now);
        }
        let Some((head, tail)) = ends(file, self.size).map_err(reading())? else {
            return shorter(file.metadata().map_err(reading())?.len());
        };

        let slot = is_title_slot(&self.head) && is_title_slot(&head);
        let new_head = head != self.head;
        if new_head && !slot {
            return Ok(State::Changed("its first bytes were rewritten".to_owned()));
        }
        // In a short file the remembered end reaches into the slot, which may differ.
        let start = self.size.saturating_sub(self.tail.len() as u64);
        let skip = if slot { HEAD.saturating_sub(usize::try_from(start).unwrap_or(usize::MAX)) } else { 0 };
        if self.tail.get(skip..) != tail.get(skip..) {
            return Ok(State::Changed("the last bytes of what was read were rewritten".to_owned()));
        }
        if now > self.size {
            let len = usize::try_from(now - self.size).unwrap_or(usize::MAX);
            return match paths::read_at(file, self.size, len).map_err(reading())? {
                Some(new_bytes) => Ok(State::Grown { new_bytes }),
                None => Ok(State::Changed("it is becoming shorter".to_owned())),
            };
        }
        // A new title explains a new modification time; without one, somebody wrote we know not where.
        if mtime(&meta) != self.mtime && !new_head {
            return Ok(State::Changed(IN_PLACE.to_owned()));
        }
        Ok(State::Same)
    }

    /// The title slot as it is now (256 bytes, newline included) when it is not the one that was read.
    /// Whoever rewrites the file must put it in, or the session gets its old title back.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the file cannot be read.
    pub fn retitled(&self, file: &File) -> Result<Option<Vec<u8>>, StoreError> {
        if !is_title_slot(&self.head) {
            return Ok(None);
        }
        let head = paths::read_at(file, 0, HEAD).map_err(StoreError::io(&self.path, "read"))?;
        Ok(head.filter(|head| is_title_slot(head) && *head != self.head))
    }

    /// Whether what was read ends in a newline, or is empty: whether a line may follow as it is.
    #[must_use]
    pub fn ends_in_newline(&self) -> bool {
        self.tail.last().is_none_or(|&b| b == b'\n')
    }
}

/// Whether these are exactly the 256 bytes of a title slot. A title line of another length is never
/// overwritten in place, so it gets no exception.
pub(crate) fn is_title_slot(head: &[u8]) -> bool {
    head.len() == HEAD && head.starts_with(SLOT_START) && memchr::memchr(b'\n', head) == Some(HEAD - 1)
}

/// The first and the last bytes of the first `size` bytes; `None` when there are fewer.
fn ends(file: &File, size: u64) -> std::io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let up_to = |max: usize| usize::try_from(size).map_or(max, |size| size.min(max));
    let tail_len = up_to(TAIL);
    let Some(head) = paths::read_at(file, 0, up_to(HEAD))? else {
        return Ok(None);
    };
    let tail = paths::read_at(file, size - tail_len as u64, tail_len)?;
    Ok(tail.map(|tail| (head, tail)))
}

fn mtime(meta: &Metadata) -> (i64, i64) {
    (meta.mtime(), meta.mtime_nsec())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::{FileExt, symlink};
    use std::time::SystemTime;

    fn slot(title: &str) -> Vec<u8> {
        let start = format!(r#"{{"type":"title","v":1,"title":"{title}","pad":""#);
        let mut line = start.into_bytes();
        line.resize(HEAD - 3, b' ');
        line.extend_from_slice(b"\"}\n");
        line
    }

    fn now(print: &Fingerprint) -> State {
        print.compare(&File::open(&print.path).unwrap()).unwrap()
    }

    /// Far enough from the present that no clock tick can hide the change.
    fn touch(path: &Path) {
        let file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }

    fn why(state: State) -> String {
        match state {
            State::Changed(why) => why,
            other => panic!("{other:?}"),
        }
    }

    fn file_with(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, bytes).unwrap();
        (dir, path)
    }

    #[test]
    fn an_untouched_file_is_the_same_whatever_its_size() {
        for size in [0, 1, 255, 256, 257, 4095, 4096, 4097, 20_000] {
            let (_dir, path) = file_with(&vec![b'x'; size]);
            let (_file, print) = open(&path).unwrap();
            assert_eq!(print.size, size as u64);
            assert_eq!(print.tail.len(), size.min(TAIL));
            assert_eq!(now(&print), State::Same);
        }
    }

    #[test]
    fn r17_growth_gives_the_new_bytes() {
        let (_dir, path) = file_with(b"one\ntwo\n");
        let (_file, print) = open(&path).unwrap();
        fs::write(&path, b"one\ntwo\nthree\nfo").unwrap();
        let new_bytes = b"three\nfo".to_vec();
        assert_eq!(now(&print), State::Grown { new_bytes });
    }

    #[test]
    fn shorter_replaced_and_rewritten_files_are_changed() {
        let (dir, path) = file_with(b"one\ntwo\n");
        let (_file, print) = open(&path).unwrap();
        fs::write(&path, b"one\n").unwrap();
        assert!(why(now(&print)).contains("fewer than the 8"));

        fs::write(&path, b"one\ntwO\nthree\n").unwrap();
        assert!(why(now(&print)).contains("rewritten"));

        fs::write(&path, b"one\ntwo\n").unwrap();
        touch(&path);
        assert!(why(now(&print)).contains("in place"));

        fs::write(dir.path().join("new"), b"one\ntwo\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert!(why(now(&print)).contains("another file"));
    }

    #[test]
    fn the_end_is_compared_in_a_long_file_that_grew() {
        let mut bytes = vec![b'x'; 10_000];
        let (_dir, path) = file_with(&bytes);
        let (_file, print) = open(&path).unwrap();
        bytes[9_000] = b'y';
        bytes.extend_from_slice(b"more\n");
        fs::write(&path, &bytes).unwrap();
        assert!(why(now(&print)).contains("last bytes"));
    }

    #[test]
    fn a_title_slot_may_be_overwritten_in_place() {
        for rest in [0, 10, 5_000] {
            let mut bytes = slot("old");
            bytes.extend(std::iter::repeat_n(b'x', rest));
            let (_dir, path) = file_with(&bytes);
            let (_file, print) = open(&path).unwrap();
            let handle = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
            assert_eq!(print.retitled(&handle).unwrap(), None);
            handle.write_all_at(&slot("new"), 0).unwrap();
            touch(&path);
            assert_eq!(now(&print), State::Same, "{rest}");
            assert_eq!(print.retitled(&handle).unwrap(), Some(slot("new")));

            // Together with growth, as when an agent goes on.
            handle.write_all_at(b"more\n", bytes.len() as u64).unwrap();
            let new_bytes = b"more\n".to_vec();
            assert_eq!(now(&print), State::Grown { new_bytes });

            // The exception covers the slot only.
            if rest > 0 {
                handle.write_all_at(b"!", bytes.len() as u64 - 1).unwrap();
                assert!(why(now(&print)).contains("last bytes"));
            }
        }
    }

    #[test]
    fn a_first_line_that_is_no_slot_has_no_exception() {
        let mut unpadded = br#"{"type":"title","v":1,"title":"a"}"#.to_vec();
        unpadded.resize(300, b' ');
        for mut bytes in [vec![b'x'; 300], unpadded] {
            let (_dir, path) = file_with(&bytes);
            let (_file, print) = open(&path).unwrap();
            bytes[40] = b'!';
            fs::write(&path, &bytes).unwrap();
            assert!(why(now(&print)).contains("first bytes"));
        }
        // A slot that another kind of line took the place of is none either.
        let (_dir, path) = file_with(&slot("old"));
        let (_file, print) = open(&path).unwrap();
        fs::write(&path, vec![b'x'; HEAD]).unwrap();
        assert!(why(now(&print)).contains("first bytes"));
    }

    #[test]
    fn a_new_time_without_a_new_title_is_a_change() {
        let mut bytes = slot("old");
        bytes.extend_from_slice(b"{}\n");
        let (_dir, path) = file_with(&bytes);
        let (_file, print) = open(&path).unwrap();
        touch(&path);
        assert!(why(now(&print)).contains("in place"));
    }

    #[test]
    fn r08_what_is_no_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let missing = open(&dir.path().join("none")).unwrap_err();
        assert!(matches!(&missing, StoreError::Io { source, .. }
            if source.kind() == std::io::ErrorKind::NotFound));
        assert!(!dir.path().join("none").exists());
        let folder = open(dir.path()).unwrap_err();
        assert!(folder.to_string().contains("a folder"), "{folder}");
        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let fifo = open(&fifo).unwrap_err();
        assert!(fifo.to_string().contains("a named pipe"), "{fifo}");
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(open(&socket).unwrap_err().to_string().contains("a socket"));
    }

    #[test]
    fn r23_links_are_followed_to_the_real_file() {
        let (dir, path) = file_with(b"one\n");
        let link = dir.path().join("link");
        symlink("s.jsonl", &link).unwrap();
        let (_file, print) = open(&link).unwrap();
        assert_eq!(print.path, path.canonicalize().unwrap());
        assert!(print.ends_in_newline());
    }

    #[test]
    fn a_write_in_progress_is_waited_for() {
        let (_dir, path) = file_with(b"one\n");
        let (_file, print) = open(&path).unwrap();
        // The new time shows before the new size does.
        touch(&path);
        let file = File::open(&print.path).unwrap();
        let state = print.look_twice(&file, || fs::write(&path, b"one\ntwo\n").unwrap());
        let state = state.unwrap();
        let new_bytes = b"two\n".to_vec();
        assert_eq!(state, State::Grown { new_bytes });
        // Half a line first, then the whole of it.
        fs::write(&path, b"one\ntw").unwrap();
        let state = print.look_twice(&file, || fs::write(&path, b"one\ntwo\n").unwrap());
        let new_bytes = b"two\n".to_vec();
        assert_eq!(state.unwrap(), State::Grown { new_bytes });
        // What has settled is not waited for.
        let settled = print.look_twice(&file, || panic!("waited"));
        assert!(matches!(settled.unwrap(), State::Grown { .. }));
    }

    proptest! {
        /// Any appended bytes are growth, and any other byte changed near the ends is a change.
        #[test]
        fn growth_and_change_are_told_apart(
            old in proptest::collection::vec(any::<u8>(), 1..600),
            new in proptest::collection::vec(any::<u8>(), 1..600),
            at in any::<prop::sample::Index>(),
        ) {
            let (_dir, path) = file_with(&old);
            let (_file, print) = open(&path).unwrap();
            let mut all = old.clone();
            all.extend_from_slice(&new);
            fs::write(&path, &all).unwrap();
            prop_assert_eq!(now(&print), State::Grown { new_bytes: new });
            let at = at.index(old.len());
            all[at] ^= 1;
            fs::write(&path, &all).unwrap();
            prop_assert!(matches!(now(&print), State::Changed(_)));
        }
    }
}
