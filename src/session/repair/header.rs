//! A header for a session that has lost its own, from all that is known of it.

use std::io;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Mend, Patch, Step, Wanted};
use crate::session::entry::{Ix, Kind};
use crate::session::index::Session;
use crate::session::problems::Code;

/// Bytes at the start of a file in which the rest of a broken header is looked for.
const START: u64 = 64 << 10;

/// What is known of a session apart from its entries.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// What the broken header still says, else what the file's name and its archives say.
    id: Option<String>,
    timestamp: Option<String>,
    cwd: Option<String>,
    now: String,
}

impl Known {
    /// Gathers it. `name`: that of the file, without its folder. `now`: the time of the run, RFC 3339, for a session of
    /// which no entry tells one.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn new(session: &Session, name: Option<&str>, now: &str) -> io::Result<Known> {
        let broken = if session.header_entry().is_none() { salvage(session)? } else { None }.unwrap_or_default();
        let text = |key: &str| broken.iter().find(|(k, _)| *k == key).map(|(_, value)| value.clone());
        let id = text("id").or_else(|| name.and_then(uuid_of));
        Ok(Known { id, timestamp: text("timestamp"), cwd: text("cwd"), now: now.to_owned() })
    }

    /// The same with the id that something else than the file tells, where the file tells none.
    #[must_use]
    pub fn or_id(mut self, id: Option<String>) -> Known {
        self.id = self.id.or(id);
        self
    }
}

/// What a broken header at the start of the file still says: its members with text that are whole.
///
/// # Errors
/// When the session cannot be read.
pub fn salvage(session: &Session) -> io::Result<Option<Vec<(&'static str, String)>>> {
    let len = session.source().len().min(START);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    session.source().read_exact(0, &mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().take(3).filter(|line| serde_json::from_str::<Value>(line).is_err());
    let Some(broken) = lines.find(|line| line.replace(": ", ":").contains("\"type\":\"session\"")) else { return Ok(None) };
    let member = |key: &'static str| {
        let start = broken.find(&format!("\"{key}\""))? + key.len() + 2;
        let value = broken.get(start..)?.trim_start().strip_prefix(':')?.trim_start();
        let text = serde_json::Deserializer::from_str(value).into_iter::<String>().next()?.ok()?;
        (!text.is_empty()).then_some((key, text))
    };
    Ok(Some(["id", "timestamp", "cwd"].into_iter().filter_map(member).collect()))
}

/// The UUID in the name of a file, which is where the agents write it.
fn uuid_of(name: &str) -> Option<String> {
    let lens = [8, 4, 4, 4, 12];
    let is_uuid = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        parts.len() == lens.len()
            && parts.iter().zip(lens).all(|(part, len)| part.len() == len && part.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let starts = (0..name.len().saturating_sub(35)).rev();
    starts.filter_map(|at| name.get(at..at + 36)).find(|text| is_uuid(text)).map(str::to_owned)
}

/// An id in the form of a UUID, made from the first entry: the same file gives the same one.
fn derived(first: &[u8]) -> String {
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(first));
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    // The version that is kept for ids of one's own making.
    format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

/// Puts a header where there is none: the session's own when it stands elsewhere, else a new one.
pub(super) fn header(session: &Session, wanted: &Wanted, known: &Known) -> io::Result<Step> {
    let mut step = Step::default();
    let first = session.nodes().next().map(|(ix, _)| ix);
    let (Some(first), None, true) = (first, session.header_entry(), wanted.has(Code::MissingHeader)) else { return Ok(step) };
    let misplaced = session.all().find(|(_, entry)| entry.kind == Kind::Header).map(|(ix, _)| ix);
    let (line, what) = match misplaced {
        Some(ix) => (moved(session, ix, &mut step)?, format!("the header is moved up from line {}", session[ix].line)),
        None => made(session, first, known)?,
    };
    let mut bytes = line.into_bytes();
    bytes.push(b'\n');
    // A title slot stays where its owner overwrites it.
    let title = session.all().next().filter(|(_, entry)| entry.kind == Kind::Title && entry.line == 1);
    let (at, before) = match title {
        Some((_, title)) => (title.offset + u64::from(title.len), 2),
        None => (0, 1),
    };
    let at = match title {
        Some(_) => {
            let mut byte = [0];
            let mut at = at;
            while at < session.source().len() {
                session.source().read_exact(at, &mut byte)?;
                at += 1;
                if byte == *b"\n" {
                    break;
                }
            }
            at
        }
        None => at,
    };
    step.mends.push(Mend { code: Code::MissingHeader, line: Some(1), id: None, what });
    step.patches.push(Patch { start: at, end: at, bytes, line: before, line_ends: 0, whole_lines: true });
    Ok(step)
}

/// Takes the header from where it stands.
fn moved(session: &Session, ix: Ix, step: &mut Step) -> io::Result<String> {
    let entry = &session[ix];
    let record = session.read(ix)?.text().into_owned();
    let end = entry.offset + u64::from(entry.len);
    step.patches.push(super::tree::without_line(session, entry, end)?);
    Ok(record)
}

fn made(session: &Session, first: Ix, known: &Known) -> io::Result<(String, String)> {
    let mut timestamp = known.timestamp.clone();
    for (ix, _) in session.nodes().take(100) {
        if timestamp.is_some() {
            break;
        }
        let payload = session.read(ix)?;
        let record: Value = serde_json::from_str(&payload.text()).unwrap_or_default();
        timestamp = record.get("timestamp").and_then(Value::as_str).map(str::to_owned);
    }
    let id = match &known.id {
        Some(id) => id.clone(),
        None => derived(session.read(first)?.bytes()),
    };
    let mut header = json!({"type": "session", "version": 3, "id": id, "timestamp": timestamp.unwrap_or_else(|| known.now.clone())});
    if let (Some(cwd), Some(members)) = (&known.cwd, header.as_object_mut()) {
        members.insert("cwd".to_owned(), cwd.as_str().into());
    }
    let source = if known.id.is_some() { "" } else { ", with an id made from the first entry" };
    Ok((header.to_string(), format!("a new header for the session {id}{source}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::super::tests::{open, patched, repaired};
    use super::*;

    const ENTRY: &str =
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T00:00:00Z","message":{"role":"user","content":"x"}}"#;
    const UUID: &str = "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

    fn first_line(text: &str, name: Option<&str>) -> Value {
        let session = open(text.as_bytes());
        let known = Known::new(&session, name, "2026-03-01T00:00:00Z").unwrap();
        let step = header(&session, &Wanted::Usual, &known).unwrap();
        let bytes = patched(text.as_bytes(), &step);
        assert!(bytes.ends_with(text.as_bytes()));
        assert!(open(&bytes).header_entry().is_some());
        serde_json::from_str(std::str::from_utf8(&bytes).unwrap().lines().next().unwrap()).unwrap()
    }

    #[test]
    fn r07_r10_a_header_from_what_is_known() {
        let made = first_line(&format!("{ENTRY}\n"), None);
        assert_eq!((&made["type"], &made["version"], &made["timestamp"]), (&json!("session"), &json!(3), &json!("2026-01-02T00:00:00Z")));
        let id = made["id"].as_str().unwrap();
        assert!(uuid_of(id).is_some(), "{id}");
        assert_eq!(first_line(&format!("{ENTRY}\n"), None)["id"], id, "the same file gives the same id");
        assert!(made.get("cwd").is_none());
        let name = format!("2026-01-02T00-00-00-000Z_{UUID}.jsonl");
        assert_eq!(first_line(&format!("{ENTRY}\n"), Some(&name))["id"], UUID);
        let torn = r#"{"type":"session","version":3,"id":"own","timestamp":"2025","cwd":"/home/a \"b\"","ti"#;
        let made = first_line(&format!("{torn}\n{ENTRY}\n"), Some(&name));
        assert_eq!(made, json!({"type": "session", "version": 3, "id": "own", "timestamp": "2025", "cwd": "/home/a \"b\""}));
        let bare = ENTRY.replace(r#""timestamp":"2026-01-02T00:00:00Z","#, "");
        assert_eq!(first_line(&format!("{bare}\n"), None)["timestamp"], "2026-03-01T00:00:00Z");
        // A torn message is no header.
        let torn = r#"{"type":"message","id":"other","timestamp":"#;
        assert_ne!(first_line(&format!("{torn}\n{ENTRY}\n"), None)["id"], "other");
    }

    #[test]
    fn a_header_that_stands_elsewhere_is_moved_up() {
        let header = r#"{"type":"session","version":3,"id":"s","x":1.0}"#;
        let (bytes, mends) = repaired(format!("{ENTRY}\n{header}\n").as_bytes(), &Wanted::Usual);
        assert_eq!(bytes, format!("{header}\n{ENTRY}\n").as_bytes());
        assert_eq!(mends, ["missing-header 1 -"]);
    }

    #[test]
    fn r09_a_title_slot_stays_in_front() {
        let title = format!("{:<253}\"}}", r#"{"type":"title","v":1,"title":"T","pad":""#);
        let (bytes, mends) = repaired(format!("{title}\n{{broken\n{ENTRY}\n").as_bytes(), &Wanted::Usual);
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (3, title.as_str(), ENTRY));
        assert!(lines[1].starts_with(r#"{"type":"session""#));
        assert_eq!(mends, ["malformed-line 2 -", "missing-header 1 -"]);
    }
}
