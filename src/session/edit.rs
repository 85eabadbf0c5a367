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

/// What is to change.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// Records with new bytes.
    pub replaced: BTreeMap<Ix, String>,
    /// Records that go, with their lines.
    pub removed: BTreeSet<Ix>,
    /// Lines (without their line ends) that come before a record, on lines of their own.
    pub inserted: BTreeMap<Ix, String>,
    /// A whole line with its line end that comes last.
    pub appended: Option<Vec<u8>>,
}

/// Where the value of a member stands in an object's text; of equal keys the last, which readers take.
#[must_use]
pub fn member(object: &str, key: &str) -> Option<Range<usize>> {
    let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(object).ok()?;
    let value = members.get(key)?.get();
    let start = (value.as_ptr() as usize).checked_sub(object.as_ptr() as usize)?;
    Some(start..start + value.len())
}

/// The same for a member of a member.
#[must_use]
pub fn member_of(object: &str, outer: &str, inner: &str) -> Option<Range<usize>> {
    let outer = member(object, outer)?;
    let inner = member(object.get(outer.clone())?, inner)?;
    Some(outer.start + inner.start..outer.start + inner.end)
}

/// The text with `value` in place of a range.
#[must_use]
pub fn spliced(text: &str, range: Range<usize>, value: &str) -> Option<String> {
    Some(format!("{}{value}{}", text.get(..range.start)?, text.get(range.end..)?))
}

/// The record with another parent.
#[must_use]
pub fn with_parent(record: &str, parent: Option<&str>) -> Option<String> {
    let value = serde_json::to_string(&parent).ok()?;
    match member(record, "parentId") {
        Some(range) => spliced(record, range, &value),
        None => {
            let open = record.find('{')? + 1;
            let comma = if record.get(open..)?.trim_start().starts_with('}') { "" } else { "," };
            spliced(record, open..open, &format!("\"parentId\":{value}{comma}"))
        }
    }
}

impl Session {
    /// Writes the session with `edit` done.
    ///
    /// # Errors
    /// When reading or writing fails.
    pub fn write_edited(&self, edit: &Edit, out: &mut dyn Write) -> io::Result<()> {
        let mut touched: Vec<Ix> = edit.replaced.keys().chain(&edit.removed).chain(edit.inserted.keys()).copied().collect();
        touched.sort_by_key(|ix| self[*ix].offset);
        touched.dedup();
        let mut at = 0;
        for ix in touched {
            let entry = &self[ix];
            let (start, end) = (entry.offset, entry.offset + u64::from(entry.len));
            self.copy(at, start, out)?;
            if let Some(line) = edit.inserted.get(&ix) {
                if start > 0 && self.byte(start - 1)? != Some(b'\n') {
                    out.write_all(b"\n")?;
                }
                out.write_all(line.as_bytes())?;
                out.write_all(b"\n")?;
            }
            at = end;
            if let Some(record) = edit.replaced.get(&ix) {
                out.write_all(record.as_bytes())?;
            } else if edit.removed.contains(&ix) {
                // The whole line goes when the record is all there is on it.
                let alone = start == 0 || self.byte(start - 1)? == Some(b'\n');
                if alone && self.byte(at)? == Some(b'\r') {
                    at += 1;
                }
                if alone && self.byte(at)? == Some(b'\n') {
                    at += 1;
                }
            } else {
                self.copy(start, end, out)?;
            }
        }
        self.copy(at, self.source().len(), out)?;
        if let Some(line) = &edit.appended {
            if !self.ends_in_newline()? {
                out.write_all(b"\n")?;
            }
            out.write_all(line)?;
        }
        Ok(())
    }

    fn byte(&self, at: u64) -> io::Result<Option<u8>> {
        if at >= self.source().len() {
            return Ok(None);
        }
        let mut byte = [0];
        self.source().read_exact(at, &mut byte)?;
        Ok(byte.first().copied())
    }

    /// Copies the bytes from `from` to `to`.
    fn copy(&self, mut from: u64, to: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX).min(1 << 20)];
        while from < to {
            let len = usize::try_from(to - from).unwrap_or(usize::MAX).min(buffer.len());
            let part = buffer.get_mut(..len).unwrap_or_default();
            self.source().read_exact(from, part)?;
            out.write_all(part)?;
            from += len as u64;
        }
        Ok(())
    }

    /// The same edit done to every copy of a record that stands in the file more than once with the same bytes: copies that
    /// differ would be two entries with one id.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn with_copies(&self, mut edit: Edit) -> io::Result<Edit> {
        for (ix, entry) in self.all().filter(|(_, e)| e.is_node()) {
            let Some(latest) = entry.id.and_then(|id| self.find(id)).filter(|latest| *latest != ix) else { continue };
            let Some(record) = edit.replaced.get(&latest) else { continue };
            if self.read(ix)?.bytes() == self.read(latest)?.bytes() {
                edit.replaced.insert(ix, record.clone());
            }
        }
        Ok(edit)
    }

    /// The edit that takes references to archives out: a copy of a session has no archives.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn without_archives(&self) -> io::Result<Edit> {
        let mut edit = Edit { removed: self.all().filter(|(_, e)| e.kind == Kind::Archive).map(|(ix, _)| ix).collect(), ..Edit::default() };
        if edit.removed.is_empty() {
            return Ok(edit);
        }
        for (ix, entry) in self.all().filter(|(_, e)| e.is_node() && e.kind != Kind::Archive) {
            let mut parent = self.parent(ix);
            if parent.is_none_or(|p| self[p].kind != Kind::Archive) {
                continue;
            }
            let mut last = entry.parent;
            while let Some(archive) = parent.filter(|p| self[*p].kind == Kind::Archive) {
                last = self[archive].parent;
                parent = self.parent(archive);
            }
            let id = match last {
                Parent::Root => None,
                Parent::Id(id) => Some(self.name(id)),
            };
            let payload = self.read(ix)?;
            let record = with_parent(&payload.text(), id).ok_or_else(|| io::Error::other("a record could not be edited"))?;
            edit.replaced.insert(ix, record);
        }
        Ok(edit)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::session::Source;

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
    fn what_is_not_edited_is_copied() {
        let text = "{\"type\":\"session\",\"version\":3}\r\n{broken\n\n{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null}\n{\"type\":\"custom\",\"id\":\"b\",\"parentId\":\"a\"}";
        let session = Session::open(Source::memory(text.as_bytes())).unwrap();
        let written = |edit: &Edit| {
            let mut out = Vec::new();
            session.write_edited(edit, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&Edit::default()), text);
        let (a, b) = (session.by_id("a").unwrap(), session.by_id("b").unwrap());
        let edit =
            Edit { replaced: [(b, "{}".to_owned())].into(), inserted: [(b, "new".to_owned())].into(), removed: [a].into(), appended: None };
        assert_eq!(written(&edit), "{\"type\":\"session\",\"version\":3}\r\n{broken\n\nnew\n{}");
    }
}
