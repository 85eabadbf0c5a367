//! What makes a damaged session whole: one named mend for each kind of damage, as changes to bytes.
//!
//! A repair is a row of steps. Each looks at the session as the step before left it and mends one kind of damage, because
//! one kind hides another: records that stand glued on a line have parents only when they were told apart. The first step
//! that finds something to do is the next one; when none does, the session is as whole as it can be made.

mod header;
mod images;
mod lines;
mod tree;

use std::io;
use std::path::Path as FsPath;

use super::edit::{has_members, member, member_of};
use super::entry::{Entry, Ix};
use super::index::Session;
use super::problems::Code;

pub use header::{Known, salvage};

/// Whether a kind of damage can be mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mending {
    /// Whenever a repair is asked for.
    Always,
    /// Only when it is asked for by name: what it does is a choice, not the only way to read the file.
    WhenNamed,
    /// Never, and why.
    Never(&'static str),
}

impl Code {
    /// Whether a repair mends it.
    #[must_use]
    pub fn mending(self) -> Mending {
        match self {
            Code::TornLine
            | Code::MalformedLine
            | Code::GluedLines
            | Code::NulBytes
            | Code::InvalidUtf8
            | Code::LoneSurrogate
            | Code::MissingHeader
            | Code::DuplicateId
            | Code::ParentCycle
            | Code::OrphanResult
            | Code::MissingKeptId
            | Code::BadImage
            | Code::StrayTemp => Mending::Always,
            // Each brings back or gives up something that may have been left on purpose.
            Code::DanglingParent | Code::StrayLeaf | Code::MissingBlob | Code::MissingArchive | Code::BadArchive => Mending::WhenNamed,
            Code::UnknownVersion => Mending::Never("nobody knows yet what a later version means; its bytes are kept"),
            Code::UnansweredCall => Mending::Never("a call stays: readers leave it out, and its result may still come"),
            Code::HugeLine => Mending::Never("the line is sound; measures that make results and images smaller are for it"),
            Code::UnreferencedArchive => Mending::Never("archives are never removed; remove the file if it is not needed"),
        }
    }
}

/// What is to be mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All that needs no name.
    Usual,
    /// These.
    Named(Vec<Code>),
}

impl Wanted {
    /// Whether damage of this kind is to be mended.
    #[must_use]
    pub fn has(&self, code: Code) -> bool {
        match self {
            Wanted::Usual => code.mending() == Mending::Always,
            Wanted::Named(codes) => codes.contains(&code),
        }
    }
}

/// One mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mend {
    /// What was wrong.
    pub code: Code,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The entry.
    pub id: Option<String>,
    /// What was done.
    pub what: String,
}

/// Bytes that stand in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Where the old bytes start.
    pub start: u64,
    /// Where they end.
    pub end: u64,
    /// The new bytes.
    pub bytes: Vec<u8>,
    /// The line that `start` is on, from 1.
    line: u32,
    /// Line ends among the old bytes.
    line_ends: u32,
    /// The line after the patch begins right behind it.
    whole_lines: bool,
}

impl Patch {
    /// A change within a line.
    fn within(line: u32, start: u64, end: u64, bytes: impl Into<Vec<u8>>) -> Patch {
        Patch { start, end, bytes: bytes.into(), line, line_ends: 0, whole_lines: false }
    }

    fn added(&self) -> i64 {
        memchr::memchr_iter(b'\n', &self.bytes).count() as i64
    }
}

/// What one step does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// What is mended.
    pub mends: Vec<Mend>,
    /// How; from the start of the file to its end, none in another.
    pub patches: Vec<Patch>,
    /// The mends need a session whose entries say their ids and parents: one of an old version is migrated first.
    pub of_the_tree: bool,
}

impl Step {
    fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    fn sorted(mut self) -> Step {
        self.patches.sort_by_key(|patch| (patch.start, patch.end));
        self
    }

    /// The line in the file before the step, of a line after it.
    #[must_use]
    pub fn line_before(&self, line: u32) -> u32 {
        let new = i64::from(line);
        let mut grown = 0;
        for patch in &self.patches {
            let first = i64::from(patch.line) + grown;
            let added = patch.added();
            if new < first {
                break;
            }
            if new <= first + added - i64::from(patch.whole_lines) {
                return patch.line;
            }
            grown += added - i64::from(patch.line_ends);
        }
        u32::try_from(new - grown).unwrap_or(1).max(1)
    }
}

/// The next step of a repair; an empty one when there is nothing left to do. `blobs` is the folder of externalized data.
///
/// # Errors
/// When the session cannot be read.
pub fn next(session: &Session, wanted: &Wanted, known: &Known, blobs: Option<&FsPath>) -> io::Result<Step> {
    let steps: [&dyn Fn() -> io::Result<Step>; 5] = [
        &|| lines::encoding(session, wanted),
        &|| lines::records(session, wanted),
        &|| header::header(session, wanted, known),
        &|| tree::next(session, wanted),
        &|| images::images(session, wanted, blobs),
    ];
    for step in steps {
        let step = step()?;
        if !step.is_empty() {
            return Ok(step.sorted());
        }
    }
    Ok(Step::default())
}

/// The step that takes references to archives out of a session; the archives stay where they are.
///
/// # Errors
/// When the session cannot be read.
pub fn forget(session: &Session, references: &[(Code, String)]) -> io::Result<Step> {
    tree::forget(session, references).map(Step::sorted)
}

/// An entry whose line can be changed in single members.
struct Editable<'s> {
    entry: &'s Entry,
    id: String,
    record: String,
}

impl<'s> Editable<'s> {
    /// `None` for a record that is no UTF-8, or has half of a surrogate pair in a key: its encoding is mended first.
    fn of(session: &'s Session, ix: Ix) -> io::Result<Option<Editable<'s>>> {
        let record = String::from_utf8(session.read(ix)?.into_bytes()).ok().filter(|record| has_members(record));
        Ok(record.map(|record| Editable { entry: &session[ix], id: session.id(ix).to_owned(), record }))
    }

    fn patch(&self, range: std::ops::Range<usize>, bytes: impl Into<Vec<u8>>) -> Patch {
        let at = |n: usize| self.entry.offset + n as u64;
        Patch::within(self.entry.line, at(range.start), at(range.end), bytes)
    }

    /// The member with another value, which is JSON.
    fn with(&self, key: &str, value: &str) -> Option<Patch> {
        match member(&self.record, key) {
            Some(range) => Some(self.patch(range, value)),
            None => {
                let open = self.record.find('{')? + 1;
                let comma = if self.record.get(open..)?.trim_start().starts_with('}') { "" } else { "," };
                Some(self.patch(open..open, format!("{}:{value}{comma}", serde_json::to_string(key).ok()?)))
            }
        }
    }

    /// The content blocks, each with its place in the record.
    fn blocks(&self) -> Vec<(std::ops::Range<usize>, &str)> {
        let content = member_of(&self.record, "message", "content").or_else(|| member(&self.record, "content"));
        let blocks = content
            .and_then(|range| self.record.get(range))
            .and_then(|content| serde_json::from_str::<Vec<&serde_json::value::RawValue>>(content).ok());
        let place = |block: &'_ serde_json::value::RawValue| {
            let start = (block.get().as_ptr() as usize).checked_sub(self.record.as_ptr() as usize)?;
            let range = start..start + block.get().len();
            Some((range.clone(), self.record.get(range)?))
        };
        blocks.into_iter().flatten().filter_map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use crate::session::Source;
    use proptest::prelude::*;

    /// The bytes with a step's patches done.
    pub(super) fn patched(bytes: &[u8], step: &Step) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at = 0;
        for patch in &step.patches {
            let start = usize::try_from(patch.start).unwrap();
            assert!(start >= at, "patches overlap: {:?}", step.patches);
            out.extend_from_slice(&bytes[at..start]);
            out.extend_from_slice(&patch.bytes);
            at = usize::try_from(patch.end).unwrap();
        }
        out.extend_from_slice(&bytes[at..]);
        out
    }

    pub(super) fn open(bytes: &[u8]) -> Session {
        Session::open(Source::memory(bytes)).unwrap()
    }

    /// Repairs to the end; gives the new bytes and each mend as `code line id`, the line that of the original.
    pub(super) fn repaired(bytes: &[u8], wanted: &Wanted) -> (Vec<u8>, Vec<String>) {
        let mut bytes = bytes.to_vec();
        let (mut told, mut steps) = (Vec::new(), Vec::<Step>::new());
        let known = Known::new(&open(&bytes), None, "2026-01-31T12:00:00.000Z").unwrap();
        for _ in 0..40 {
            let step = next(&open(&bytes), wanted, &known, None).unwrap();
            if step.is_empty() {
                return (bytes, told);
            }
            for mend in &step.mends {
                let line = mend.line.map(|line| steps.iter().rev().fold(line, |line, step| step.line_before(line)));
                told.push(format!("{} {} {}", mend.code.name(), line.unwrap_or(0), mend.id.as_deref().unwrap_or("-")));
            }
            bytes = patched(&bytes, &step);
            steps.push(step);
        }
        panic!("no end: {told:?}");
    }

    #[test]
    fn lines_are_told_as_they_were() {
        let line =
            |line, line_ends, bytes: &str, whole_lines| Patch { start: 0, end: 0, bytes: bytes.into(), line, line_ends, whole_lines };
        // Line 2 goes, line 4 becomes two, lines 6 and 7 become one.
        let patches = vec![line(2, 1, "", true), line(4, 0, "a\nb", false), line(6, 1, "c", false)];
        let step = Step { patches, ..Step::default() };
        let before: Vec<u32> = (1..=7).map(|n| step.line_before(n)).collect();
        assert_eq!(before, [1, 3, 4, 4, 5, 6, 8]);
        let step = Step { patches: vec![line(1, 0, "header\n", true)], ..Step::default() };
        assert_eq!((step.line_before(1), step.line_before(2), step.line_before(3)), (1, 1, 2));
    }

    #[test]
    fn every_code_is_mended_or_says_why_not() {
        for code in Code::ALL {
            let usual = Wanted::Usual.has(*code);
            assert_eq!(usual, code.mending() == Mending::Always, "{code:?}");
            assert!(Wanted::Named(vec![*code]).has(*code));
        }
    }

    #[test]
    fn a_lost_parent_is_found_again_below_a_circle_that_stays() {
        let line = |id: &str, parent: &str| format!(r#"{{"type":"custom","id":"{id}","parentId":"{parent}","customType":"x","data":1}}"#);
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
        let bytes = [header, &line("a", "b"), &line("b", "a"), &line("c", "b"), &line("d", "gone")].join("\n") + "\n";
        let (after, told) = repaired(bytes.as_bytes(), &Wanted::Named(vec![Code::DanglingParent]));
        assert_eq!(told, ["dangling-parent 5 d"]);
        assert_eq!(String::from_utf8(after).unwrap(), bytes.replace("gone", "c"));
    }

    #[test]
    fn a_parent_cannot_be_changed_where_a_key_is_no_text() {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
        let line = r#"{"type":"custom","id":"b","parentId":"gone","customType":"x","\ud83dx":1}"#;
        let bytes = [header, line].join("\n") + "\n";
        let (after, told) = repaired(bytes.as_bytes(), &Wanted::Named(vec![Code::DanglingParent]));
        assert_eq!((after, told), (bytes.clone().into_bytes(), vec![]));
        let (_, told) = repaired(bytes.as_bytes(), &Wanted::Named(vec![Code::LoneSurrogate, Code::DanglingParent]));
        assert_eq!(told, ["lone-surrogate 2 b", "dangling-parent 2 b"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever is done to the bytes of a session, a repair comes to an end, and then finds nothing to do.
        #[test]
        fn any_damage_is_mended_for_good(
            cuts in proptest::collection::vec((0usize..4000, 0usize..60, proptest::sample::select(vec![
                &b""[..], b"\n", b"\0\0", b"\xff", b"\\ud83d", b"{", b"\"}\n{\"type\":", b"\"b\"", b"\r\n\r\n", b"\"parentId\":\"d\"",
            ])), 0..6)
        ) {
            let mut bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/damaged/lone-surrogate.jsonl")).unwrap();
            for (at, len, new) in cuts {
                let at = at % (bytes.len() + 1);
                let end = (at + len).min(bytes.len());
                bytes.splice(at..end, new.iter().copied());
            }
            if let Ok(before) = Session::open(Source::memory(bytes.clone())) && before.nodes().count() > 0 {
                // These alone leave others that are in their way.
                repaired(&bytes, &Wanted::Named(vec![Code::DanglingParent, Code::StrayLeaf]));
                let (after, _) = repaired(&bytes, &Wanted::Usual);
                let (again, mends) = repaired(&after, &Wanted::Usual);
                prop_assert!(again == after && mends.is_empty());
                let left = crate::session::problems::find(&open(&after), &open(&after).active_path(), None).unwrap();
                for problem in left {
                    prop_assert!(problem.code.mending() != Mending::Always || problem.code == Code::OrphanResult, "{problem:?}");
                }
            }
        }
    }
}
