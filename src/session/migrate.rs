//! Files of versions 1 and 2 as version 3: what a command that must write makes of them.
//!
//! Version 1 is a plain list: entries get the ids that the index derived for them and follow one another; a compaction gets
//! the id of the entry that it counted to. Version 2 calls the messages of extensions `hookMessage`. Everything else stays
//! byte for byte.

use std::io;

use super::edit::{Edit, Splice, bytes_with_splices, first_members, member, member_of, plain};
use super::entry::{Ix, Kind, Parent, Role};
use super::index::Session;

impl Session {
    /// Whether the file is of a version that the agents would migrate before they write to it.
    #[must_use]
    pub fn is_old(&self) -> bool {
        matches!(self.version(), Some(0..=2))
    }

    /// The edit that makes a file of version 1 or 2 one of version 3; it does nothing to any other.
    ///
    /// # Errors
    /// When a record cannot be read or edited.
    pub fn migration(&self) -> io::Result<Edit> {
        let mut edit = Edit::default();
        if !self.is_old() {
            return Ok(edit);
        }
        for (ix, entry) in self.all() {
            let changes =
                entry.kind == Kind::Header || entry.flags.made_id() || entry.flags.no_parent_key() || entry.role == Role::HookMessage;
            if !changes || (entry.kind != Kind::Header && !entry.is_node()) {
                continue;
            }
            let record = self.read(ix)?.into_bytes();
            let plain = plain(&record);
            let splices = if entry.kind == Kind::Header { header(&plain) } else { self.entry_as_three(ix, &plain) };
            let record = splices.and_then(|splices| bytes_with_splices(&record, &splices));
            edit.replaced.insert(ix, record.ok_or_else(|| io::Error::other(format!("line {} cannot be migrated", entry.line)))?);
        }
        Ok(edit)
    }

    /// What changes in an entry.
    fn entry_as_three(&self, ix: Ix, record: &str) -> Option<Vec<Splice>> {
        let entry = &self[ix];
        let mut keys = String::new();
        if entry.flags.made_id() {
            keys.push_str(&format!("\"id\":{},", serde_json::to_string(self.id(ix)).ok()?));
        }
        if entry.flags.no_parent_key() {
            let parent = match entry.parent {
                Parent::Root => None,
                Parent::Id(id) => Some(self.name(id)),
            };
            keys.push_str(&format!("\"parentId\":{},", serde_json::to_string(&parent).ok()?));
        }
        if entry.kind == Kind::Compaction
            && member(record, "firstKeptEntryId").is_none()
            && let Some(kept) = entry.target
        {
            keys.push_str(&format!("\"firstKeptEntryId\":{},", serde_json::to_string(self.name(kept)).ok()?));
        }
        let mut splices = vec![first_members(record, &keys)?];
        if entry.role == Role::HookMessage {
            let role = member_of(record, "message", "role");
            splices.extend(role.map(|range| Splice { range, text: "\"custom\"".to_owned() }));
        }
        Some(splices)
    }
}

/// What changes in the header of version 3.
fn header(record: &str) -> Option<Vec<Splice>> {
    Some(vec![match member(record, "version") {
        Some(range) => Splice { range, text: "3".to_owned() },
        None => first_members(record, "\"version\":3,")?,
    }])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::session::Source;

    fn migrated(text: &str) -> (Session, String) {
        let session = Session::open(Source::memory(text.as_bytes())).unwrap();
        let mut out = Vec::new();
        session.write_edited(&session.migration().unwrap(), &mut out).unwrap();
        (session, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_list_becomes_a_tree_with_the_ids_of_its_view() {
        let list = "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\"},\"n\":1.0}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"b\"}}\n{\"type\":\"compaction\",\"summary\":\"S\",\"firstKeptEntryIndex\":2}\n";
        let (old, text) = migrated(list);
        let new = Session::open(Source::memory(text.as_bytes())).unwrap();
        assert_eq!(new.version(), Some(3));
        let view = |session: &Session| -> Vec<(String, Parent)> {
            session.active_path().entries.iter().map(|ix| (session.id(*ix).to_owned(), session[*ix].parent)).collect()
        };
        assert_eq!(view(&old).len(), 3);
        assert_eq!(view(&old).iter().map(|(id, _)| id).collect::<Vec<_>>(), view(&new).iter().map(|(id, _)| id).collect::<Vec<_>>());
        let kept = |s: &Session| s[s.leaf().unwrap()].target.map(|t| s.name(t).to_owned());
        assert_eq!(kept(&old), kept(&new));
        assert!(kept(&new).is_some() && text.contains("\"n\":1.0"));
        assert!(new.migration().unwrap().replaced.is_empty());
    }

    #[test]
    fn hook_messages_are_custom_in_version_three() {
        let two = "{\"type\":\"session\",\"version\":2}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"hookMessage\",\"content\":\"x\"}}\n";
        let (_, text) = migrated(two);
        assert_eq!(
            text,
            "{\"type\":\"session\",\"version\":3}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"custom\",\"content\":\"x\"}}\n"
        );
    }
}
