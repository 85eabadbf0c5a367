//! The index itself: building it, asking it, and extending it by lines that are not written yet.

use std::borrow::Cow;
use std::io;

use sha2::{Digest, Sha256};

use super::entry::{Entry, Ix, Kind, Parent, Sym, flag};
use super::json::Json;
use super::owner::{Marks, Owner};
use super::protos::{Proto, Protos};
use super::scan::{self, Chunk, Fault};
use super::source::Source;
use super::strings::Strings;

/// Why a session cannot be opened or read on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Reading failed.
    #[error("cannot read the session: {0}")]
    Read(#[from] io::Error),
    /// Neither a header nor a message entry.
    #[error("this is no session: it has neither a session header nor a message entry")]
    NotASession,
    /// An export for reading: what it holds is masked, and going on from it would make the masks part of a session.
    #[error("this is a redacted export, no session")]
    Redacted,
}

/// The type of the first record of a redacted export; no agent takes it for a session either.
pub const REDACTED_TYPE: &str = "redacted_session";

/// A session: an index over a [`Source`].
#[derive(Debug, Clone)]
pub struct Session {
    source: Source,
    entries: Vec<Entry>,
    strings: Strings,
    types: Strings,
    calls: Vec<Sym>,
    /// The entry of each interned id: the later of duplicates.
    by_id: Vec<Option<Ix>>,
    header: Option<Ix>,
    version: Version,
    owner: Owner,
    marks: Marks,
    faults: Vec<Fault>,
    lines: u32,
    /// Whether what providers reported is of another context than this one.
    usage_is_stale: bool,
}

/// The header's `version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// No header at all.
    None,
    Number(u64),
    /// Something that is no whole number.
    Strange,
}

/// What the header says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// The session's id.
    pub id: Option<String>,
    /// Title from the title slot, else the header's, else the latest name given in the session.
    pub title: Option<String>,
    /// The working folder.
    pub cwd: Option<String>,
    /// When the session began, as written.
    pub timestamp: Option<String>,
}

/// One record's bytes as text that a strict reader takes.
#[derive(Debug)]
pub struct Payload {
    bytes: Vec<u8>,
    lenient: bool,
}

impl Payload {
    /// The text of the record; undecodable bytes and lone surrogates are U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        if self.lenient {
            return scan::lenient(&self.bytes);
        }
        // Nearly all is valid, which is told much faster than it is decoded.
        std::str::from_utf8(&self.bytes).map_or_else(|_| String::from_utf8_lossy(&self.bytes), Cow::Borrowed)
    }

    /// The same, given away.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The record's bytes as they stand in the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Session {
    /// Reads the whole source once.
    ///
    /// # Errors
    /// [`SessionError::Read`]; [`SessionError::NotASession`] when there are records but neither a header nor a message.
    /// An empty source is an empty session.
    pub fn open(source: Source) -> Result<Session, SessionError> {
        let mut session = Session {
            source: source.clone(),
            entries: Vec::new(),
            strings: Strings::default(),
            types: Strings::default(),
            calls: Vec::new(),
            by_id: Vec::new(),
            header: None,
            version: Version::None,
            owner: Owner::Unknown,
            marks: Marks::default(),
            faults: Vec::new(),
            lines: 0,
            usage_is_stale: false,
        };
        session.extend(scan::scan::<Protos>(&source, 0)?, 0)?;
        if session.entries.first().is_some_and(|_| session.type_name(Ix(0)) == REDACTED_TYPE) {
            return Err(SessionError::Redacted);
        }
        let empty = session.entries.is_empty() && session.faults.is_empty();
        let known = session.header.is_some() || session.entries.iter().any(Entry::is_message);
        if empty || known { Ok(session) } else { Err(SessionError::NotASession) }
    }

    /// The session as it will be when `lines` (whole lines, each with its line end) stand behind it.
    ///
    /// # Errors
    /// When reading fails.
    pub fn with_appended(&self, lines: &[u8]) -> Result<Session, SessionError> {
        let mut session = self.clone();
        let start = self.source.len();
        let mut joined = Vec::with_capacity(lines.len() + 1);
        if !self.ends_in_newline()? {
            joined.push(b'\n');
        }
        joined.extend_from_slice(lines);
        session.source = self.source.with_appended(&joined);
        let offset = start + (joined.len() - lines.len()) as u64;
        let chunks = scan::scan::<Protos>(&session.source, offset)?;
        session.extend(chunks, self.lines)?;
        Ok(session)
    }

    /// Whether the last byte is a line end (or there is none); what is appended must begin a line of its own.
    ///
    /// # Errors
    /// When reading fails.
    pub fn ends_in_newline(&self) -> io::Result<bool> {
        let Some(last) = self.source.len().checked_sub(1) else {
            return Ok(true);
        };
        let mut byte = [0];
        self.source.read_exact(last, &mut byte)?;
        Ok(byte == *b"\n")
    }

    fn extend(&mut self, chunks: Vec<Chunk<Protos>>, mut line: u32) -> Result<(), SessionError> {
        let first = self.entries.len();
        self.entries.reserve(chunks.iter().map(|c| c.sink.protos.len()).sum());
        // Ids of entries and calls are new texts, nearly all others are among them.
        self.strings.reserve(chunks.iter().map(|c| c.sink.protos.len() + c.sink.calls.len()).sum());
        for chunk in chunks {
            for fault in chunk.faults {
                self.faults.push(Fault { line: fault.line + line, ..fault });
            }
            self.marks.add(&chunk.sink.marks);
            for proto in &chunk.sink.protos {
                let entry = self.intern(&chunk.sink, proto, line);
                self.entries.push(entry);
            }
            line += chunk.lines;
        }
        self.lines = line;
        if self.header.is_none() {
            self.header = self
                .entries
                .iter()
                .enumerate()
                .take_while(|(_, e)| matches!(e.kind, Kind::Title | Kind::Header))
                .find(|(_, e)| e.kind == Kind::Header)
                .map(|(n, _)| Ix(n as u32));
            self.version = match self.header {
                Some(ix) => version(Json::parse(&self.read(ix)?.text()).unwrap_or(Json::Null).get("version")),
                None => Version::None,
            };
        }
        if self.is_plain_list() {
            self.make_ids(first)?;
        }
        for (n, entry) in self.entries.iter().enumerate().skip(first) {
            if let Some(Sym(id)) = entry.id.filter(|_| entry.is_node()) {
                let id = id as usize;
                if self.by_id.len() <= id {
                    self.by_id.resize(self.strings.len().max(id + 1), None);
                }
                if let Some(place) = self.by_id.get_mut(id) {
                    *place = Some(Ix(n as u32));
                }
            }
        }
        self.owner = self.marks.owner();
        Ok(())
    }

    fn intern(&mut self, sink: &Protos, proto: &Proto, line: u32) -> Entry {
        let first_call = self.calls.len() as u32;
        for call in sink.calls.get(proto.calls.0 as usize..proto.calls.1 as usize).unwrap_or_default() {
            let call = self.sym(sink.text(*call));
            self.calls.push(call);
        }
        let mut entry = proto.entry;
        entry.line += line;
        entry.first_call = first_call;
        entry.calls = u16::try_from(self.calls.len() - first_call as usize).unwrap_or(u16::MAX);
        entry.id = proto.id.map(|span| self.sym(sink.text(span)));
        entry.parent = proto.parent.map_or(Parent::Root, |span| Parent::Id(self.sym(sink.text(span))));
        entry.target = proto.target.map(|span| self.sym(sink.text(span)));
        entry.tool = proto.tool.map(|span| self.sym(sink.text(span)));
        entry.type_name = u16::try_from(self.types.intern(sink.text(proto.type_name))).unwrap_or(u16::MAX);
        entry
    }

    fn sym(&mut self, text: &str) -> Sym {
        Sym(self.strings.intern(text))
    }

    /// Version 1: entries follow one another and have no ids. They get ids that depend on position and content only.
    fn make_ids(&mut self, first: usize) -> Result<(), SessionError> {
        let mut previous = self.entries.iter().take(first).rev().find(|e| e.is_node()).and_then(|e| e.id);
        for n in first..self.entries.len() {
            let Some(mut entry) = self.entries.get(n).copied() else {
                break;
            };
            if matches!(entry.kind, Kind::Header | Kind::Title) {
                continue;
            }
            if entry.id.is_none() {
                let payload = self.read(Ix(n as u32))?;
                let seed = Sha256::new().chain_update((n as u64).to_le_bytes()).chain_update(payload.bytes());
                entry.id = Some(self.fresh_id(seed));
                entry.flags.set(flag::made_id, true);
                entry.flags.set(flag::no_parent_key, true);
                if entry.kind == Kind::Compaction && entry.target.is_none() {
                    // The index counts all lines that a reader parses, the header included.
                    let text = payload.text();
                    let kept = Json::parse(&text).unwrap_or(Json::Null).get("firstKeptEntryIndex").amount();
                    entry.target = kept.and_then(|k| self.entries.get(usize::try_from(k).ok()?)).filter(|e| e.is_node()).and_then(|e| e.id);
                }
            }
            if entry.flags.no_parent_key() {
                entry.parent = previous.map_or(Parent::Root, Parent::Id);
            }
            previous = entry.id;
            if let Some(place) = self.entries.get_mut(n) {
                *place = entry;
            }
        }
        Ok(())
    }

    /// Interns an id of 8 hex digits made from `seed` that no entry has.
    fn fresh_id(&mut self, seed: Sha256) -> Sym {
        let id = derive_id(seed, |id| self.strings.find(id).is_some());
        self.sym(&id)
    }

    /// An id for a new entry: 8 hex digits from what it says and where it goes, that nothing in the file uses.
    #[must_use]
    pub fn new_id(&self, parent: Option<&str>, content: &[u8]) -> String {
        let seed = Sha256::new()
            .chain_update((self.entries.len() as u64).to_le_bytes())
            .chain_update(parent.unwrap_or_default())
            .chain_update([0])
            .chain_update(content);
        derive_id(seed, |id| self.strings.find(id).is_some())
    }

    /// Whether entries follow one another without a tree (version 1).
    #[must_use]
    pub fn is_plain_list(&self) -> bool {
        matches!(self.version, Version::Number(0 | 1))
    }

    /// Where the bytes come from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// All records in file order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = (Ix, &Entry)> + ExactSizeIterator {
        self.entries.iter().enumerate().map(|(n, e)| (Ix(n as u32), e))
    }

    /// The tree's entries in file order: records with an id, of duplicates only the later one.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (Ix, &Entry)> {
        self.all().filter(|(ix, e)| e.is_node() && e.id.and_then(|id| self.find(id)) == Some(*ix))
    }

    /// The entry with an interned id.
    #[must_use]
    pub fn find(&self, id: Sym) -> Option<Ix> {
        self.by_id.get(id.0 as usize).copied().flatten()
    }

    /// The entry with this id.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<Ix> {
        self.find(self.sym_of(id)?)
    }

    /// How many strings are interned: ids of entries and calls, and tool names.
    pub(crate) fn names(&self) -> usize {
        self.strings.len()
    }

    pub(crate) fn sym_of(&self, text: &str) -> Option<Sym> {
        self.strings.find(text).map(Sym)
    }

    /// The text of an interned string.
    #[must_use]
    pub fn name(&self, sym: Sym) -> &str {
        self.strings.get(sym.0)
    }

    /// The id of an entry, empty when it has none.
    #[must_use]
    pub fn id(&self, ix: Ix) -> &str {
        self[ix].id.map_or("", |id| self.name(id))
    }

    /// The type of an entry as written.
    #[must_use]
    pub fn type_name(&self, ix: Ix) -> &str {
        self.types.get(self[ix].type_name.into())
    }

    /// The ids of the tool calls that an assistant message makes, in order.
    #[must_use]
    pub fn calls(&self, ix: Ix) -> &[Sym] {
        let entry = &self[ix];
        let first = entry.first_call as usize;
        self.calls.get(first..first + usize::from(entry.calls)).unwrap_or_default()
    }

    /// The same, each with its place among the calls of all entries, of which there are [`Session::count_of_calls`].
    pub(crate) fn placed_calls(&self, ix: Ix) -> impl Iterator<Item = (usize, Sym)> {
        (self[ix].first_call as usize..).zip(self.calls(ix).iter().copied())
    }

    pub(crate) fn count_of_calls(&self) -> usize {
        self.calls.len()
    }

    /// Reads one record.
    ///
    /// # Errors
    /// When reading fails, or the file has become shorter.
    pub fn read(&self, ix: Ix) -> io::Result<Payload> {
        let entry = &self[ix];
        let mut bytes = vec![0; entry.len as usize];
        self.source.read_exact(entry.offset, &mut bytes)?;
        Ok(Payload { bytes, lenient: entry.flags.lenient() })
    }

    /// Reads one record's bytes into a buffer, which they fill; for those who go through many.
    ///
    /// # Errors
    /// Those of [`Session::read`].
    pub(crate) fn read_into(&self, ix: Ix, buffer: &mut Vec<u8>) -> io::Result<()> {
        let entry = &self[ix];
        buffer.resize(entry.len as usize, 0);
        self.source.read_exact(entry.offset, buffer)
    }

    /// The same session, of which is known that what providers reported was of a larger context: it was changed since.
    #[must_use]
    pub fn with_stale_usage(mut self) -> Session {
        self.usage_is_stale = true;
        self
    }

    pub(crate) fn usage_is_stale(&self) -> bool {
        self.usage_is_stale
    }

    /// Physical lines, blank and damaged ones included.
    #[must_use]
    pub fn lines(&self) -> u32 {
        self.lines
    }

    /// The header's record, when the file begins with one (a title slot may stand before it).
    #[must_use]
    pub fn header_entry(&self) -> Option<Ix> {
        self.header
    }

    /// The version that the header gives; a header without one means 1.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        match self.version {
            Version::Number(n) => Some(n),
            Version::None | Version::Strange => None,
        }
    }

    /// Whether the version is one that the rules were written for.
    #[must_use]
    pub fn version_is_known(&self) -> bool {
        matches!(self.version, Version::None | Version::Number(1..=3))
    }

    /// Which agent's file this is.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Whether pi 1.x wrote to the file: versions before it leave no system messages, context edits and usage records.
    #[must_use]
    pub fn is_pi_1x(&self) -> bool {
        self.owner == Owner::Pi && self.marks.is_pi_1x()
    }

    pub(crate) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Lines that hold no whole record, or more than one.
    #[must_use]
    pub fn damaged_lines(&self) -> usize {
        use scan::FaultKind;
        let lines =
            self.faults.iter().filter(|f| matches!(f.kind, FaultKind::Torn | FaultKind::Malformed | FaultKind::Glued | FaultKind::Nul));
        lines.map(|f| f.line).collect::<std::collections::BTreeSet<_>>().len()
    }

    /// What the header, the title slot and the latest naming say.
    ///
    /// # Errors
    /// When reading fails.
    pub fn header(&self) -> io::Result<Header> {
        let mut header = Header::default();
        let mut named = None;
        for (ix, entry) in self.all() {
            let naming = entry.kind == Kind::Other && matches!(self.type_name(ix), "session_info" | "title_change");
            if !(entry.kind == Kind::Title || naming || Some(ix) == self.header) {
                continue;
            }
            let payload = self.read(ix)?;
            let text = payload.text();
            let Ok(json) = Json::parse(&text) else {
                continue;
            };
            let text = |key: &str| json.get(key).str().filter(|s| !s.trim().is_empty()).map(str::to_owned);
            match entry.kind {
                Kind::Title => header.title = text("title").or(header.title),
                Kind::Header => {
                    header.id = text("id");
                    header.cwd = text("cwd");
                    header.timestamp = text("timestamp");
                    header.title = header.title.or(text("title"));
                }
                _ => named = text("name").or(text("title")).or(named),
            }
        }
        header.title = header.title.or(named);
        Ok(header)
    }
}

#[cfg(test)]
impl Session {
    /// A session of these messages, one after the other; the ids of their entries are their numbers from 0.
    pub(crate) fn of_messages(messages: &[&str]) -> Session {
        let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n".to_owned();
        for (n, message) in messages.iter().enumerate() {
            let parent = n.checked_sub(1).map_or_else(|| "null".to_owned(), |n| format!("\"{n}\""));
            text.push_str(&format!("{{\"type\":\"message\",\"id\":\"{n}\",\"parentId\":{parent},\"message\":{message}}}\n"));
        }
        #[expect(clippy::unwrap_used, reason = "only tests call this")]
        Session::open(Source::memory(text.into_bytes())).unwrap()
    }
}

impl std::ops::Index<Ix> for Session {
    type Output = Entry;

    #[expect(clippy::indexing_slicing, reason = "only the session makes positions, and its entries never go away")]
    fn index(&self, ix: Ix) -> &Entry {
        &self.entries[ix.0 as usize]
    }
}

/// The first 8 hex digits of the digest that `taken` does not know; the seed is hashed again until one is free.
fn derive_id(seed: Sha256, taken: impl Fn(&str) -> bool) -> String {
    let mut digest = seed.finalize();
    loop {
        let id = data_encoding::HEXLOWER.encode(digest.get(..4).unwrap_or_default());
        if !taken(&id) {
            return id;
        }
        digest = Sha256::digest(digest);
    }
}

fn version(json: &Json<'_>) -> Version {
    match json {
        Json::Null => Version::Number(1),
        Json::Str(s) => s.trim().parse().map_or(Version::Strange, Version::Number),
        other => other.amount().map_or(Version::Strange, Version::Number),
    }
}
