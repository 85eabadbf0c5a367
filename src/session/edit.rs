//! Changed sessions: a few lines changed, removed or put in, every other byte as it is.
//!
//! An edited line has only the changed value spliced into its bytes, so unknown fields, key order and the spelling of numbers
//! stay. Lines that were not meant are copied from the source, damaged ones too.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;

use serde_json::value::RawValue;

use super::entry::{Ix, Kind, Parent};
use super::index::Session;
use super::source::Source;
use crate::text::mend_surrogates;

/// What is to change.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// Records with new bytes.
    pub replaced: BTreeMap<Ix, Vec<u8>>,
    /// Records in which stretches of bytes give way to others, in order: what is left of a long line is copied and need not
    /// be in memory. A record that is also replaced is only that.
    pub spliced: BTreeMap<Ix, Vec<Splice>>,
    /// Records that go, with their lines.
    pub removed: BTreeSet<Ix>,
    /// Lines (without their line ends) that come before a record, on lines of their own.
    pub inserted: BTreeMap<Ix, String>,
    /// A whole line with its line end that comes last.
    pub appended: Option<Vec<u8>>,
}

/// A stretch of a record's bytes and what comes in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go; empty where something is only put in.
    pub range: Range<usize>,
    /// What comes there.
    pub text: String,
}

impl Edit {
    /// Gives a record new bytes, whatever was to change in it before.
    pub fn replace(&mut self, ix: Ix, record: Vec<u8>) {
        self.spliced.remove(&ix);
        self.replaced.insert(ix, record);
    }

    /// Whether nothing is to change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty()
            && self.spliced.is_empty()
            && self.removed.is_empty()
            && self.inserted.is_empty()
            && self.appended.is_none()
    }
}

/// The text with all splices done, which are in order and do not overlap.
#[must_use]
pub fn with_splices(text: &str, splices: &[Splice]) -> Option<String> {
    String::from_utf8(bytes_with_splices(text.as_bytes(), splices)?).ok()
}

/// The same for a record whose bytes are perhaps no text.
#[must_use]
pub fn bytes_with_splices(record: &[u8], splices: &[Splice]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(record.len());
    let mut at = 0;
    for splice in splices {
        out.extend_from_slice(record.get(at..splice.range.start)?);
        out.extend_from_slice(splice.text.as_bytes());
        at = splice.range.end;
    }
    out.extend_from_slice(record.get(at..)?);
    Some(out)
}

/// One member of an object, or one item of an array, by its places in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The key of a member; empty for an item.
    pub key: String,
    /// All of it, the key included.
    pub whole: Range<usize>,
    /// Its value.
    pub value: Range<usize>,
}

/// The members of an object or the items of an array in their order, equal keys each for itself; `None` when the text is
/// neither.
#[must_use]
pub fn parts(text: &str) -> Option<Vec<Part>> {
    let values: Vec<(String, &RawValue)> = match text.trim_start().as_bytes().first()? {
        b'{' => serde_json::from_str::<Members<'_>>(text).ok()?.0,
        b'[' => serde_json::from_str::<Vec<&RawValue>>(text).ok()?.into_iter().map(|value| (String::new(), value)).collect(),
        _ => return None,
    };
    let mut after = text.find(['{', '['])? + 1;
    let mut all = Vec::with_capacity(values.len());
    for (key, value) in values {
        let start = (value.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        let value = start..start + value.get().len();
        let between = text.get(after..value.start)?;
        let skipped = between.len() - between.trim_start_matches([' ', '\t', '\r', '\n', ',']).len();
        all.push(Part { key, whole: after + skipped..value.end, value: value.clone() });
        after = value.end;
    }
    Some(all)
}

/// What to splice so that the chosen parts of an object or array go, with their commas.
#[must_use]
pub fn without(all: &[Part], goes: impl Fn(usize, &Part) -> bool) -> Vec<Splice> {
    let mut splices: Vec<Splice> = Vec::new();
    let mut kept_end: Option<usize> = None;
    let mut open: Option<Range<usize>> = None;
    for (n, part) in all.iter().enumerate() {
        if goes(n, part) {
            let start = open.as_ref().map_or(kept_end.unwrap_or(part.whole.start), |open| open.start);
            open = Some(start..part.whole.end);
        } else {
            if let Some(gone) = open.take() {
                // Before the first that stays, what goes takes the comma behind it along.
                let end = if kept_end.is_none() { part.whole.start } else { gone.end };
                splices.push(Splice { range: gone.start..end, text: String::new() });
            }
            kept_end = Some(part.whole.end);
        }
    }
    splices.extend(open.map(|range| Splice { range, text: String::new() }));
    splices
}

/// Members in their written order, none lost to an equal key.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> serde::de::Visitor<'de> for All {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    all.push((key, value));
                }
                Ok(Members(all))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Where the value of a member stands in an object's text; of equal keys the last, which readers take.
#[must_use]
pub fn member(object: &str, key: &str) -> Option<Range<usize>> {
    let value = members(object)?.get(key)?.get();
    let start = (value.as_ptr() as usize).checked_sub(object.as_ptr() as usize)?;
    Some(start..start + value.len())
}

fn members(object: &str) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
    serde_json::from_str(object).ok()
}

/// Whether [`member`] can look into a record: not when a key of it holds half of a surrogate pair.
#[must_use]
pub fn has_members(record: &str) -> bool {
    members(record).is_some()
}

/// The same for a member of a member.
#[must_use]
pub fn member_of(object: &str, outer: &str, inner: &str) -> Option<Range<usize>> {
    let outer = member(object, outer)?;
    let inner = member(object.get(outer.clone())?, inner)?;
    Some(outer.start + inner.start..outer.start + inner.end)
}

/// The record with another parent.
#[must_use]
pub fn with_parent(record: &str, parent: Option<&str>) -> Option<String> {
    String::from_utf8(bytes_with_parent(record.as_bytes(), parent)?).ok()
}

/// The same for a record whose bytes need mending before they are text; they stay what they are.
#[must_use]
pub fn bytes_with_parent(record: &[u8], parent: Option<&str>) -> Option<Vec<u8>> {
    let plain = plain(record);
    let value = serde_json::to_string(&parent).ok()?;
    match member(&plain, "parentId") {
        Some(range) if plain.get(range.clone()) == Some(value.as_str()) => Some(record.to_vec()),
        Some(range) => bytes_with_splices(record, &[Splice { range, text: value }]),
        None => bytes_with_splices(record, &[first_members(&plain, &format!("\"parentId\":{value},"))?]),
    }
}

/// The parent that a record names.
#[must_use]
pub fn parent_of(record: &[u8]) -> Option<String> {
    let plain = plain(record);
    serde_json::from_str(plain.get(member(&plain, "parentId")?)?).ok()
}

/// A text with a character for a character of a record's ASCII and a byte for a byte, so that places in it are places in the
/// record, whatever else may be wrong with that.
#[must_use]
pub fn plain(record: &[u8]) -> String {
    let mut plain = String::with_capacity(record.len());
    for chunk in record.utf8_chunks() {
        plain.extend(chunk.valid().chars().map(|c| if c.is_ascii_control() { ' ' } else { c }));
        plain.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    match mend_surrogates(&plain) {
        Cow::Owned(mended) => mended,
        Cow::Borrowed(_) => plain,
    }
}

/// The splice that puts more members before those of an object; `members` ends in a comma.
#[must_use]
pub fn first_members(object: &str, members: &str) -> Option<Splice> {
    let open = object.find('{')? + 1;
    let is_empty = object.get(open..)?.trim_start().starts_with('}');
    Some(Splice { range: open..open, text: if is_empty { members.trim_end_matches(',') } else { members }.to_owned() })
}

impl Session {
    /// Writes the session with `edit` done.
    ///
    /// # Errors
    /// When reading or writing fails.
    pub fn write_edited(&self, edit: &Edit, out: &mut dyn Write) -> io::Result<()> {
        let mut touched: Vec<Ix> =
            edit.replaced.keys().chain(edit.spliced.keys()).chain(&edit.removed).chain(edit.inserted.keys()).copied().collect();
        touched.sort_by_key(|ix| self[*ix].offset);
        touched.dedup();
        let mut source = Copier::new(self.source());
        let mut at = 0;
        for ix in touched {
            let entry = &self[ix];
            let (start, end) = (entry.offset, entry.offset + u64::from(entry.len));
            source.copy(at, start, out)?;
            if let Some(line) = edit.inserted.get(&ix) {
                if start > 0 && self.byte(start - 1)? != Some(b'\n') {
                    out.write_all(b"\n")?;
                }
                out.write_all(line.as_bytes())?;
                out.write_all(b"\n")?;
            }
            at = end;
            if let Some(record) = edit.replaced.get(&ix) {
                out.write_all(record)?;
            } else if edit.removed.contains(&ix) {
                at = self.line_end(ix)?;
            } else {
                let mut from = start;
                for splice in edit.spliced.get(&ix).into_iter().flatten() {
                    source.copy(from, start + splice.range.start as u64, out)?;
                    out.write_all(splice.text.as_bytes())?;
                    from = start + splice.range.end as u64;
                }
                source.copy(from, end, out)?;
            }
        }
        source.copy(at, self.source().len(), out)?;
        if let Some(line) = &edit.appended {
            if !self.ends_in_newline()? {
                out.write_all(b"\n")?;
            }
            out.write_all(line)?;
        }
        Ok(())
    }

    /// Bytes of the session with `edit` done, without writing it.
    ///
    /// # Errors
    /// When reading fails.
    pub fn edited_len(&self, edit: &Edit) -> io::Result<u64> {
        let mut len = self.source().len();
        for (ix, record) in &edit.replaced {
            len = (len + record.len() as u64).saturating_sub(u64::from(self[*ix].len));
        }
        for (_, splice) in
            edit.spliced.iter().filter(|(ix, _)| !edit.replaced.contains_key(ix)).flat_map(|(ix, s)| s.iter().map(move |s| (ix, s)))
        {
            len = (len + splice.text.len() as u64).saturating_sub(splice.range.len() as u64);
        }
        for ix in edit.removed.iter().filter(|ix| !edit.replaced.contains_key(ix)) {
            len = len.saturating_sub(self.line_end(*ix)? - self[*ix].offset);
        }
        for (ix, line) in &edit.inserted {
            let start = self[*ix].offset;
            let own_line = start == 0 || self.byte(start - 1)? == Some(b'\n');
            len += line.len() as u64 + 1 + u64::from(!own_line);
        }
        if let Some(line) = &edit.appended {
            len += line.len() as u64 + u64::from(!self.ends_in_newline()?);
        }
        Ok(len)
    }

    /// Where the bytes of a record end that go with it when it is removed: its line end too, when it is alone on the line.
    fn line_end(&self, ix: Ix) -> io::Result<u64> {
        let entry = &self[ix];
        let mut end = entry.offset + u64::from(entry.len);
        let alone = entry.offset == 0 || self.byte(entry.offset - 1)? == Some(b'\n');
        if alone && self.byte(end)? == Some(b'\r') {
            end += 1;
        }
        if alone && self.byte(end)? == Some(b'\n') {
            end += 1;
        }
        Ok(end)
    }

    /// Writes the session with some of its bytes changed; the patches are in order.
    ///
    /// # Errors
    /// When reading or writing fails.
    pub fn write_patched(&self, patches: &[super::repair::Patch], out: &mut dyn Write) -> io::Result<()> {
        let mut source = Copier::new(self.source());
        let mut at = 0;
        for patch in patches {
            source.copy(at, patch.start, out)?;
            out.write_all(&patch.bytes)?;
            at = patch.end.max(at);
        }
        source.copy(at, self.source().len(), out)
    }

    fn byte(&self, at: u64) -> io::Result<Option<u8>> {
        if at >= self.source().len() {
            return Ok(None);
        }
        let mut byte = [0];
        self.source().read_exact(at, &mut byte)?;
        Ok(byte.first().copied())
    }

    /// A record as it is when `edit` is done.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn record(&self, edit: &Edit, ix: Ix) -> io::Result<Vec<u8>> {
        if let Some(record) = edit.replaced.get(&ix) {
            return Ok(record.clone());
        }
        let record = self.read(ix)?.into_bytes();
        let Some(splices) = edit.spliced.get(&ix) else { return Ok(record) };
        bytes_with_splices(&record, splices).ok_or_else(|| io::Error::other("a record could not be edited"))
    }

    /// The same edit done to every copy of a record that stands in the file more than once with the same bytes: copies that
    /// differ would be two entries with one id.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn with_copies(&self, mut edit: Edit) -> io::Result<Edit> {
        for (ix, entry) in self.all().filter(|(_, e)| e.is_node()) {
            let Some(latest) = entry.id.and_then(|id| self.find(id)).filter(|latest| *latest != ix) else { continue };
            let (record, splices) = (edit.replaced.get(&latest).cloned(), edit.spliced.get(&latest).cloned());
            if (record.is_none() && splices.is_none()) || self.read(ix)?.bytes() != self.read(latest)?.bytes() {
                continue;
            }
            edit.replaced.extend(record.map(|record| (ix, record)));
            edit.spliced.extend(splices.map(|splices| (ix, splices)));
        }
        Ok(edit)
    }

    /// The edit that takes references to archives out as well: a copy of a session has no archives. What hangs on one hangs
    /// on the nearest entry above it that stays.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn without_archives(&self, mut edit: Edit) -> io::Result<Edit> {
        let archives: Vec<Ix> = self.all().filter(|(_, e)| e.kind == Kind::Archive).map(|(ix, _)| ix).collect();
        if archives.is_empty() {
            return Ok(edit);
        }
        edit.removed.extend(&archives);
        for (ix, _) in self.all().filter(|(_, e)| e.is_node()) {
            if edit.removed.contains(&ix) {
                continue;
            }
            let changed = edit.replaced.contains_key(&ix) || edit.spliced.contains_key(&ix);
            let record = if changed { Some(self.record(&edit, ix)?) } else { None };
            let parent = match &record {
                Some(record) => parent_of(record).and_then(|id| self.by_id(&id)),
                None => self.parent(ix),
            };
            let Some(archive) = parent.filter(|parent| self[*parent].kind == Kind::Archive) else { continue };
            let record = record.map_or_else(|| self.record(&edit, ix), Ok)?;
            let record = bytes_with_parent(&record, self.parent_that_stays(archive, &edit.removed))
                .ok_or_else(|| io::Error::other("a record could not be edited"))?;
            edit.replace(ix, record);
        }
        Ok(edit)
    }

    /// The id that an entry's child names when the entry and others above it are removed: that of the nearest one above that
    /// stays, or the one that is not in the file; none when nothing stands above.
    #[must_use]
    pub fn parent_that_stays(&self, ix: Ix, removed: &BTreeSet<Ix>) -> Option<&str> {
        let mut ix = ix;
        // A chain that leads back into itself ends after as many steps as there are entries.
        for _ in 0..self.all().len() {
            match (self[ix].parent, self.parent(ix)) {
                (Parent::Root, _) => return None,
                (Parent::Id(_), Some(parent)) if removed.contains(&parent) => ix = parent,
                (Parent::Id(id), _) => return Some(self.name(id)),
            }
        }
        None
    }
}

/// Bytes read at once to be copied.
const COPIED: u64 = 512 << 10;

/// Copies stretches of a source, most of which lie close behind one another: what was read of it stays at hand.
struct Copier<'s> {
    source: &'s Source,
    start: u64,
    held: Vec<u8>,
}

impl<'s> Copier<'s> {
    fn new(source: &'s Source) -> Copier<'s> {
        Copier { source, start: 0, held: Vec::new() }
    }

    /// Copies the bytes from `from` to `to`.
    fn copy(&mut self, mut from: u64, to: u64, out: &mut dyn Write) -> io::Result<()> {
        while from < to {
            let at = from.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
            match at.and_then(|at| self.held.get(at..)).filter(|held| !held.is_empty()) {
                Some(held) => {
                    let len = usize::try_from(to - from).unwrap_or(usize::MAX).min(held.len());
                    out.write_all(held.get(..len).unwrap_or_default())?;
                    from += len as u64;
                }
                None => {
                    let len = self.source.len().saturating_sub(from).min(COPIED);
                    if len == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.held.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
                    self.source.read_exact(from, &mut self.held)?;
                    self.start = from;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_new_parent_changes_nothing_else() {
        let rows = [
            (r#"{"id":"a","parentId":"x","n":1.0,"s":"\/"}"#, r#"{"id":"a","parentId":"y","n":1.0,"s":"\/"}"#),
            (r#"{ "id" : "a" , "parentId" : null }"#, r#"{ "id" : "a" , "parentId" : "y" }"#),
            (r#"{"id":"a"}"#, r#"{"parentId":"y","id":"a"}"#),
            (r#"{"parentId":"old","parentId":"x"}"#, r#"{"parentId":"old","parentId":"y"}"#),
        ];
        for (from, want) in rows {
            assert_eq!(with_parent(from, Some("y")).unwrap(), want);
        }
    }

    #[test]
    fn parts_go_with_their_commas() {
        let rows = [
            (r#"{"a":1,"b":2,"c":3}"#, "a", r#"{"b":2,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, "b", r#"{"a":1,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, "c", r#"{"a":1,"b":2}"#),
            (r#"{ "a" : 1 , "b" : [2, {"b":1}] }"#, "a", r#"{ "b" : [2, {"b":1}] }"#),
            (r#"{ "a" : 1 , "b" : [2, {"b":1}] }"#, "b", r#"{ "a" : 1 }"#),
            (r#"{"a":1,"a":2,"b":3,"a":4}"#, "a", r#"{"b":3}"#),
            (r#"{"b":3,"a":1,"c":0,"a":4,"a":5}"#, "a", r#"{"b":3,"c":0}"#),
            (r#"{"a":1}"#, "a", "{}"),
        ];
        for (text, key, want) in rows {
            let splices = without(&parts(text).unwrap(), |_, part| part.key == key);
            assert_eq!(with_splices(text, &splices).unwrap(), want, "{text}");
        }
        let list = r#"[ {"n":0}, 1 ,"two" ]"#;
        let values: Vec<&str> = parts(list).unwrap().into_iter().map(|part| list.get(part.value).unwrap()).collect();
        assert_eq!(values, [r#"{"n":0}"#, "1", r#""two""#]);
        assert_eq!(with_splices(list, &without(&parts(list).unwrap(), |n, _| n < 2)).unwrap(), r#"[ "two" ]"#);
        assert_eq!((parts("[]"), parts("1"), parts("{broken")), (Some(Vec::new()), None, None));
    }

    #[test]
    fn stretches_of_a_record_give_way_and_the_rest_is_copied() {
        let text = "{\"type\":\"session\",\"version\":3}\n{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null,\"data\":\"long\"}\n{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null,\"data\":\"long\"}\n";
        let session = Session::open(Source::memory(text.as_bytes())).unwrap();
        let a = session.by_id("a").unwrap();
        let splices = vec![
            Splice { range: 1..1, text: "\"new\":1,".to_owned() },
            Splice { range: member(text.lines().nth(1).unwrap(), "data").unwrap(), text: "0".to_owned() },
        ];
        let edit = Edit { spliced: [(a, splices)].into(), ..Edit::default() };
        let want = r#"{"new":1,"type":"custom","id":"a","parentId":null,"data":0}"#;
        assert_eq!(session.record(&edit, a).unwrap(), want.as_bytes());
        let mut out = Vec::new();
        session.write_edited(&session.with_copies(edit.clone()).unwrap(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("{}\n{want}\n{want}\n", text.lines().next().unwrap()));
        let mut edit = edit;
        edit.replace(a, b"{}".to_vec());
        assert_eq!((session.record(&edit, a).unwrap(), edit.spliced.len()), (b"{}".to_vec(), 0));
    }

    #[test]
    fn a_new_parent_leaves_damaged_bytes_alone() {
        let rows: [(&[u8], &[u8]); 3] = [
            (b"{\"a\":\"\x80\xff\",\"parentId\":\"x\",\"b\":\"\xe2\x82\"}", b"{\"a\":\"\x80\xff\",\"parentId\":\"y\",\"b\":\"\xe2\x82\"}"),
            (b"{\"a\":\"\\ud83d\",\"parentId\":null}", b"{\"a\":\"\\ud83d\",\"parentId\":\"y\"}"),
            (b"{\"a\":\"x\ty\x01\",\"parentId\":\"y\"}", b"{\"a\":\"x\ty\x01\",\"parentId\":\"y\"}"),
        ];
        for (from, want) in rows {
            assert_eq!(bytes_with_parent(from, Some("y")).unwrap(), want);
        }
    }

    #[test]
    fn what_is_not_edited_is_copied() {
        let text = "{\"type\":\"session\",\"version\":3}\r\n{broken\n\n{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null}\n{\"type\":\"custom\",\"id\":\"b\",\"parentId\":\"a\"}";
        let session = Session::open(Source::memory(text.as_bytes())).unwrap();
        let written = |edit: &Edit| {
            let mut out = Vec::new();
            session.write_edited(edit, &mut out).unwrap();
            assert_eq!(session.edited_len(edit).unwrap(), out.len() as u64);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&Edit::default()), text);
        let (a, b) = (session.by_id("a").unwrap(), session.by_id("b").unwrap());
        let edit = Edit {
            replaced: [(b, b"{}".to_vec())].into(),
            inserted: [(b, "new".to_owned())].into(),
            removed: [a].into(),
            ..Edit::default()
        };
        assert_eq!(written(&edit), "{\"type\":\"session\",\"version\":3}\r\n{broken\n\nnew\n{}");
    }
}
