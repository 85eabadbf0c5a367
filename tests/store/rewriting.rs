//! What the tests of rewriting share: a session with something to drop, its rewrite, and the look at what is left.

use crate::{Session, names};
use epitome::store::archive::{self, CUSTOM_TYPE, Kind, Plan, Reference};
use epitome::store::{self, Replaced, Rewrite, StoreError, WAIT, temp};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) const ID: &str = "0199-s";

/// A session of about `bytes` bytes, half of which do not compress, most of which a rewrite drops.
pub(crate) fn session(bytes: usize) -> Vec<u8> {
    let mut out = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{ID}\"}}\n{{\"id\":\"a\"}}\n").into_bytes();
    let mut state = 1u64;
    while out.len() < bytes {
        let mut pad = String::new();
        for _ in 0..100 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            pad.push_str(&format!("{:016x}{}", state ^ (state >> 29), "y".repeat(16)));
        }
        out.extend(format!("{{\"id\":\"{:x}\",\"drop\":true,\"pad\":\"{pad}\"}}\n", out.len()).into_bytes());
    }
    out.extend(b"{\"id\":\"last\"}\n");
    out
}

/// The rewritten session: without what may go, with the reference before the last line.
pub(crate) fn rewritten(old: &[u8], reference: Option<&Reference>) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = old.split_inclusive(|b| *b == b'\n').filter(|l| !contains(l, b"\"drop\":true")).collect();
    let entry = reference.map(|r| format!("{{\"type\":\"custom\",\"customType\":\"{CUSTOM_TYPE}\",\"data\":{}}}\n", r.to_json()));
    if let Some(entry) = &entry {
        lines.insert(lines.len() - 1, entry.as_bytes());
    }
    lines.concat()
}

fn contains(line: &[u8], what: &[u8]) -> bool {
    line.windows(what.len()).any(|w| w == what)
}

/// The references in a session, oldest first.
pub(crate) fn references(bytes: &[u8]) -> Vec<Reference> {
    bytes
        .split(|b| *b == b'\n')
        .filter(|l| contains(l, CUSTOM_TYPE.as_bytes()))
        .map(|l| Reference::from_json(&serde_json::from_slice::<serde_json::Value>(l).unwrap()["data"]).unwrap())
        .collect()
}

pub(crate) fn plan(old: &[u8]) -> Plan<'static> {
    let found = references(old);
    let newest = found.iter().map(|r| r.revision).max().unwrap_or(0);
    let entries = old.iter().filter(|b| **b == b'\n').count() as u64;
    Plan { kind: Kind::Prune, generation: found.len() as u64 + 1, entries, newest, session_id: Some(ID), archive_dir: None }
}

/// Opens and rewrites, letting `meddle` do something while the new file is being written.
pub(crate) fn rewrite_while(path: &Path, meddle: &mut dyn FnMut()) -> Result<Replaced, StoreError> {
    let (_file, print) = store::open(path)?;
    let old = fs::read(path).unwrap();
    let old = &old[..usize::try_from(print.size).unwrap().min(old.len())];
    let rewrite = Rewrite { print: &print, archive: Some(plan(old)), room: 1000, wait: WAIT };
    let write = &mut |out: &mut dyn Write, reference: Option<&Reference>| {
        meddle();
        out.write_all(&rewritten(old, Some(reference.unwrap())))
    };
    store::replace(&rewrite, write, &mut |temp| match fs::read(temp) {
        Ok(bytes) if references(&bytes).len() == references(old).len() + 1 => Ok(()),
        other => Err(format!("{other:?}")),
    })
}

pub(crate) fn rewrite(path: &Path) -> Result<Replaced, StoreError> {
    rewrite_while(path, &mut || {})
}

/// Rewrites, and gives the reference to the archive of the old file.
pub(crate) fn done(path: &Path) -> Reference {
    match rewrite(path) {
        Ok(Replaced::Done { bytes, archive: Some(reference), late: 0 }) => {
            assert_eq!(bytes, fs::metadata(path).unwrap().len());
            reference
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn archives(s: &Session) -> PathBuf {
    s.beside("s.jsonl.archive")
}

/// The file that a reference stands for.
pub(crate) fn exported(folder: &Path, reference: &Reference) -> Vec<u8> {
    let archive = archive::open(folder, reference, Some(ID)).unwrap();
    let mut bytes = Vec::new();
    assert_eq!(archive.copy(&mut bytes).unwrap(), reference.bytes);
    assert_eq!(archive.bytes(), reference.bytes);
    bytes
}

/// The session is the old one or the rewritten one, whole, and its archive gives back the old one. Whether it is new.
pub(crate) fn old_or_new(s: &Session, old: &[u8]) -> bool {
    let bytes = s.bytes();
    for name in names(s.dir.path()) {
        let ours = matches!(name.as_str(), "s.jsonl" | "s.jsonl.archive" | ".s.jsonl.lock" | ".s.jsonl.lock.os");
        assert!(ours || name.starts_with(".s.jsonl.") && name.ends_with(temp::SUFFIX), "{name}");
    }
    if bytes == old {
        return false;
    }
    let found = references(&bytes);
    assert_eq!(found.len(), 1);
    assert!(bytes == rewritten(old, Some(&found[0])));
    assert!(exported(&archives(s), &found[0]) == old);
    true
}

/// Nothing temporary is left, no lock is held, and no empty folder.
pub(crate) fn is_tidy(s: &Session) {
    for name in names(s.dir.path()) {
        assert!(matches!(name.as_str(), "s.jsonl" | "s.jsonl.archive" | ".s.jsonl.lock.os"), "{name}");
    }
    if archives(s).exists() {
        let held = names(&archives(s));
        assert!(!held.is_empty() && held.iter().all(|n| n.ends_with(".epa")), "{held:?}");
    }
}
