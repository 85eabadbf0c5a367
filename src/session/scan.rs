//! From bytes to records: the one pass over a session file.
//!
//! The file is read in chunks that end at a line end; several threads take chunks in turn and the results are joined in
//! order. A line usually is one record. What damage makes of lines is told here, with line and offset, and never ends the
//! pass: a line that cannot be read is left out, as the agents do, and stays in the file as it is.

use std::borrow::Cow;
use std::io;
use std::sync::Mutex;

use memchr::{memchr, memchr_iter, memmem, memrchr};

use super::head::Head;
use super::source::Source;
use crate::text::cursor::Cursor;
use crate::text::json::{lone_surrogates, mend_surrogates};
use crate::threads;

/// Bytes read at a time; a longer line makes its chunk as long as itself.
const CHUNK: usize = 2 << 20;
/// Threads beyond this many only wait for the disk.
const MOST_THREADS: usize = 4;
/// Below this many bytes a thread costs more than it saves.
const WORTH_THREADS: u64 = 4 << 20;

/// What is wrong with bytes, before anyone knows what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    Torn,
    Malformed,
    Glued,
    Nul,
    InvalidUtf8,
    LoneSurrogate(u32),
    Huge,
}

#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub kind: FaultKind,
    /// Line number, from 1.
    pub line: u32,
    pub offset: u64,
}

/// One record: its place and what its head said, handed to the index while the line is in memory.
pub(crate) struct Record<'h, 'a> {
    pub line: u32,
    pub offset: u64,
    pub len: u32,
    /// The bytes are not what a strict reader takes: they need [`lenient`] before they are decoded.
    pub lenient: bool,
    pub head: &'h Head<'a>,
}

/// Takes the records of one chunk; lines count from the chunk's start.
pub(crate) trait Sink: Send + Sized {
    fn new() -> Self;
    fn record(&mut self, record: Record<'_, '_>);
}

/// The result for one chunk.
pub(crate) struct Chunk<S> {
    pub sink: S,
    pub lines: u32,
    pub faults: Vec<Fault>,
}

/// Reads `source` from `start` on and returns the chunks in order.
///
/// # Errors
/// When reading fails, or a line is longer than 4 GiB.
pub(crate) fn scan<S: Sink>(source: &Source, start: u64) -> io::Result<Vec<Chunk<S>>> {
    let feeder = Mutex::new(Feeder { source, position: start, carry: Vec::new(), next: 0 });
    let done = Mutex::new(Vec::new());
    let work = || -> io::Result<()> {
        let mut buffer = Buffer::default();
        loop {
            let fed = match feeder.lock() {
                Ok(mut feeder) => feeder.feed(&mut buffer)?,
                Err(_) => return Err(io::Error::other("a reading thread failed")),
            };
            let Some(fed) = fed else {
                return Ok(());
            };
            let bytes = buffer.bytes.get(..buffer.len).unwrap_or_default();
            let chunk = read_chunk::<S>(bytes, fed.offset, fed.whole)?;
            if let Ok(mut done) = done.lock() {
                done.push((fed.number, chunk));
            }
        }
    };
    let wanted = if source.len().saturating_sub(start) < WORTH_THREADS { 1 } else { threads::cores().min(MOST_THREADS) };
    threads::crew(wanted, work)?.into_iter().collect::<io::Result<()>>()?;
    let mut chunks = done.into_inner().map_err(|_| io::Error::other("a reading thread failed"))?;
    chunks.sort_unstable_by_key(|(number, _)| *number);
    Ok(chunks.into_iter().map(|(_, chunk)| chunk).collect())
}

struct Feeder<'s> {
    source: &'s Source,
    position: u64,
    carry: Vec<u8>,
    next: usize,
}

/// A buffer that keeps its length, so that reading into it again clears nothing.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    len: usize,
}

/// A piece of the file that ends at a line end.
struct Fed {
    number: usize,
    offset: u64,
    /// The last line is ended; the end of the file may not be.
    whole: bool,
}

impl Feeder<'_> {
    /// Fills `buffer` with the next whole lines.
    fn feed(&mut self, buffer: &mut Buffer) -> io::Result<Option<Fed>> {
        let offset = self.position - self.carry.len() as u64;
        let end = self.source.len();
        let mut len = self.carry.len();
        if buffer.bytes.len() < len + CHUNK {
            buffer.bytes.resize(len + CHUNK, 0);
        }
        if let Some(start) = buffer.bytes.get_mut(..len) {
            start.copy_from_slice(&self.carry);
        }
        self.carry.clear();
        loop {
            let wanted = usize::try_from(end - self.position).unwrap_or(usize::MAX).min(CHUNK);
            if buffer.bytes.len() < len + wanted {
                // A line longer than all before: growing by doubling keeps it linear.
                buffer.bytes.resize((len + wanted).max(buffer.bytes.len() * 2), 0);
            }
            let fresh = buffer.bytes.get_mut(len..len + wanted).unwrap_or_default();
            self.source.read_exact(self.position, fresh)?;
            self.position += wanted as u64;
            let newline = memrchr(b'\n', fresh);
            if let Some(newline) = newline {
                self.carry.extend_from_slice(fresh.get(newline + 1..).unwrap_or_default());
                len += newline + 1;
            } else {
                len += wanted;
                if wanted > 0 {
                    continue;
                }
            }
            buffer.len = len;
            let fed = Fed { number: self.next, offset, whole: newline.is_some() };
            self.next += 1;
            return Ok((len > 0).then_some(fed));
        }
    }
}

fn read_chunk<S: Sink>(bytes: &[u8], offset: u64, whole: bool) -> io::Result<Chunk<S>> {
    let mut chunk = Chunk { sink: S::new(), lines: 0, faults: Vec::new() };
    let mut start = 0;
    for newline in memchr_iter(b'\n', bytes) {
        read_line(&mut chunk, bytes.get(start..newline).unwrap_or_default(), offset + start as u64, true)?;
        start = newline + 1;
    }
    match bytes.get(start..) {
        Some(rest) if !rest.is_empty() => read_line(&mut chunk, rest, offset + start as u64, whole)?,
        _ => {}
    }
    Ok(chunk)
}

/// A line longer than this is told: a provider's limit for one string is 10,485,760 characters.
pub(crate) const HUGE_LINE: usize = 10 << 20;

fn read_line<S: Sink>(chunk: &mut Chunk<S>, bytes: &[u8], offset: u64, ended: bool) -> io::Result<()> {
    chunk.lines += 1;
    let line = chunk.lines;
    if u32::try_from(bytes.len()).is_err() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("the line at byte {offset} is longer than 4 GiB")));
    }
    // Nearly every line is one sound record, and then this is all there is to it.
    let sound = bytes.trim_ascii_end();
    if sound.first() == Some(&b'{')
        && sound.len() <= HUGE_LINE
        && let Ok(text) = std::str::from_utf8(sound)
        && let mut cursor = Cursor::new(text)
        && let Some(head) = Head::at(&mut cursor)
        && cursor.peek().is_none()
        && !(cursor.saw_escaped_units() && lone_surrogates(sound) > 0)
    {
        chunk.sink.record(Record { line, offset, len: sound.len() as u32, lenient: false, head: &head });
        return Ok(());
    }
    let mut fault = |kind, at: usize| chunk.faults.push(Fault { kind, line, offset: offset + at as u64 });
    if bytes.len() > HUGE_LINE {
        fault(FaultKind::Huge, 0);
    }
    let mut skipped = 0;
    let mut rest = bytes;
    if let Some(nul) = memchr(0, bytes) {
        // A power cut leaves zeroes where a record should be, now and then with a whole record behind them.
        fault(FaultKind::Nul, nul);
        let blank = |b: &u8| *b == 0 || b.is_ascii_whitespace();
        skipped = bytes.iter().take_while(|b| blank(b)).count();
        let behind = bytes.iter().rev().take_while(|b| blank(b)).count();
        rest = bytes.get(skipped..bytes.len().saturating_sub(behind)).unwrap_or_default();
    }
    let blank = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    skipped += blank;
    rest = rest.get(blank..).unwrap_or_default().trim_ascii_end();
    if line == 1
        && offset == 0
        && let Some(behind) = rest.strip_prefix(b"\xef\xbb\xbf")
    {
        skipped += 3;
        rest = behind;
    }
    if rest.is_empty() {
        return Ok(());
    }
    let surrogates = lone_surrogates(rest);
    if surrogates > 0 {
        fault(FaultKind::LoneSurrogate(u32::try_from(surrogates).unwrap_or(u32::MAX)), skipped);
    }
    let text = match std::str::from_utf8(rest) {
        Ok(text) => Some(text),
        Err(error) => {
            fault(FaultKind::InvalidUtf8, skipped + error.valid_up_to());
            None
        }
    };
    let record = |from: usize, len: usize, lenient: bool, head: &Head<'_>, sink: &mut S| {
        let place = Record { line, offset: offset + (skipped + from) as u64, len: len as u32, lenient, head };
        sink.record(place);
    };
    let needs_mending = surrogates > 0 || text.is_none();
    if let Some(head) = text.and_then(Head::of) {
        record(0, rest.len(), needs_mending, &head, &mut chunk.sink);
        return Ok(());
    }
    if needs_mending {
        let mended = lenient(rest);
        if let Some(head) = Head::of(&mended) {
            record(0, rest.len(), true, &head, &mut chunk.sink);
            return Ok(());
        }
    }
    // Not one record. Several, each whole, with no line end between them? Or the rest of a torn one before a whole one?
    let mut glued = 0_u32;
    let mut whole_so_far = true;
    if let Some(text) = text {
        let mut at = 0;
        while let Some(behind) = text.get(at..) {
            let mut cursor = Cursor::new(behind);
            if cursor.peek().is_none() {
                break;
            }
            match Head::at(&mut cursor) {
                Some(head) if whole_so_far || is_entry(&head) && ends_well(behind.get(cursor.at()..)) => {
                    let len = cursor.at();
                    record(at, len, needs_mending, &head, &mut chunk.sink);
                    glued += 1;
                    at += len + behind.get(len..).unwrap_or_default().bytes().take_while(|b| *b == 0 || b.is_ascii_whitespace()).count();
                    whole_so_far = true;
                }
                _ => {
                    // `{"type":` is how every agent begins a record; a nested block begins so too, hence the tests above.
                    whole_so_far = false;
                    match behind.get(1..).and_then(|b| memmem::find(b.as_bytes(), b"{\"type\":")) {
                        Some(next) => at += next + 1,
                        None => break,
                    }
                }
            }
        }
    }
    let kind = match (glued, ended) {
        (0, false) => FaultKind::Torn,
        (0, true) => FaultKind::Malformed,
        _ => FaultKind::Glued,
    };
    fault_of(chunk, kind, line, offset + skipped as u64);
    if glued > 0 && !whole_so_far {
        fault_of(chunk, if ended { FaultKind::Malformed } else { FaultKind::Torn }, line, offset + skipped as u64);
    }
    Ok(())
}

fn fault_of<S>(chunk: &mut Chunk<S>, kind: FaultKind, line: u32, offset: u64) {
    chunk.faults.push(Fault { kind, line, offset });
}

/// A record that stands in a session by itself, not a block out of a torn one.
fn is_entry(head: &Head<'_>) -> bool {
    head.kind.is_some()
        && head.id.is_some()
        && head.has_timestamp
        && (head.parent != super::head::Parent::Absent || head.kind.as_deref() == Some("session"))
}

/// What follows a recovered record is nothing, or another record.
fn ends_well(rest: Option<&str>) -> bool {
    rest.is_none_or(|rest| {
        let rest = rest.trim_start_matches(|c: char| c == '\0' || c.is_ascii_whitespace());
        rest.is_empty() || rest.starts_with("{\"type\":")
    })
}

/// Bytes as a strict JSON reader takes them: what is no UTF-8 becomes U+FFFD, and so does an escaped lone surrogate,
/// which JavaScript writes without complaint and the agents read.
pub(crate) fn lenient(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => mend_surrogates(text),
        Cow::Owned(text) => Cow::Owned(mend_surrogates(&text).into_owned()),
    }
}
