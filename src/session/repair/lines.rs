//! Mends of bytes: what is no text, and lines that are not one record each.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::{Mend, Patch, Step, Wanted};
use crate::session::head::Head;
use crate::session::index::Session;
use crate::session::problems::Code;
use crate::session::scan::FaultKind;
use crate::text::json::{LONE_LEN, lone_surrogate_offsets};

/// Bytes read at a time where lines are looked for.
const PIECE: usize = 1 << 20;

/// Bytes that joining broken lines may look at, for each byte of them: text that is full of braces must not take for ever.
const LOOKS: usize = 16;

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    number: u32,
    start: u64,
    /// Without its line end.
    end: u64,
    ended: bool,
}

impl Line {
    /// Where the next line begins.
    fn next(self) -> u64 {
        self.end + u64::from(self.ended)
    }
}

/// The places of some lines, in order.
fn places(session: &Session, wanted: &BTreeSet<u32>) -> io::Result<Vec<Line>> {
    let mut found = Vec::with_capacity(wanted.len());
    let Some(last) = wanted.last() else { return Ok(found) };
    let len = session.source().len();
    let (mut number, mut start, mut at) = (1_u32, 0, 0);
    let mut buffer = vec![0; PIECE];
    while at < len && number <= *last {
        let size = usize::try_from(len - at).unwrap_or(PIECE).min(PIECE);
        let piece = buffer.get_mut(..size).unwrap_or_default();
        session.source().read_exact(at, piece)?;
        for newline in memchr::memchr_iter(b'\n', piece) {
            let end = at + newline as u64;
            if wanted.contains(&number) {
                found.push(Line { number, start, end, ended: true });
            }
            number += 1;
            start = end + 1;
        }
        at += size as u64;
    }
    if start < len && wanted.contains(&number) {
        found.push(Line { number, start, end: len, ended: false });
    }
    Ok(found)
}

fn read(session: &Session, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)];
    session.source().read_exact(start, &mut bytes)?;
    Ok(bytes)
}

/// What is known of the faults of each line.
fn faults(session: &Session, wanted: &dyn Fn(FaultKind) -> bool) -> BTreeMap<u32, Vec<FaultKind>> {
    let mut lines: BTreeMap<u32, Vec<FaultKind>> = BTreeMap::new();
    for fault in session.faults().iter().filter(|fault| wanted(fault.kind)) {
        lines.entry(fault.line).or_default().push(fault.kind);
    }
    lines
}

/// NUL bytes go; bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD, as every reader shows them.
pub(super) fn encoding(session: &Session, wanted: &Wanted) -> io::Result<Step> {
    let mut step = Step::default();
    let faulty = faults(session, &|kind| match kind {
        FaultKind::Nul => wanted.has(Code::NulBytes),
        FaultKind::InvalidUtf8 => wanted.has(Code::InvalidUtf8),
        FaultKind::LoneSurrogate(_) => wanted.has(Code::LoneSurrogate),
        _ => false,
    });
    let ids = ids_of_lines(session, &faulty);
    for line in places(session, &faulty.keys().copied().collect())? {
        let bytes = read(session, line.start, line.end)?;
        let mut put = |code: Code, what: String| {
            let id = ids.get(&line.number).cloned().flatten();
            step.mends.push(Mend { code, line: Some(line.number), id, what });
        };
        let within = |at: usize, len: usize, new: &str| {
            let start = line.start + at as u64;
            Patch::within(line.number, start, start + len as u64, new)
        };
        let kinds = faulty.get(&line.number).cloned().unwrap_or_default();
        if kinds.contains(&FaultKind::Nul) {
            let count = memchr::memchr_iter(0, &bytes).count();
            if bytes.iter().all(|b| *b == 0 || b.is_ascii_whitespace()) {
                put(Code::NulBytes, format!("the line of {count} NUL bytes is taken out"));
                step.patches.push(without(line, line));
                continue;
            }
            put(Code::NulBytes, format!("{count} NUL bytes are taken out"));
            step.patches.extend(runs(&bytes, 0).into_iter().map(|(at, len)| within(at, len, "")));
        }
        if kinds.contains(&FaultKind::InvalidUtf8) {
            let (mut at, mut count) = (0, 0);
            for chunk in bytes.utf8_chunks() {
                at += chunk.valid().len();
                let bad = chunk.invalid().len();
                if bad > 0 {
                    step.patches.push(within(at, bad, "\u{fffd}"));
                    count += bad;
                }
                at += bad;
            }
            put(Code::InvalidUtf8, format!("{count} bytes that are not UTF-8 become U+FFFD"));
        }
        if kinds.iter().any(|kind| matches!(kind, FaultKind::LoneSurrogate(_))) {
            let lone: Vec<usize> = lone_surrogate_offsets(&bytes).collect();
            put(Code::LoneSurrogate, halves(lone.len()));
            step.patches.extend(lone.into_iter().map(|at| within(at, LONE_LEN, "\\ufffd")));
        }
    }
    Ok(step)
}

fn halves(count: usize) -> String {
    match count {
        1 => "1 half of a surrogate pair becomes U+FFFD".to_owned(),
        _ => format!("{count} halves of surrogate pairs become U+FFFD"),
    }
}

/// Runs of a byte: where each begins, and how long it is.
fn runs(bytes: &[u8], byte: u8) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for at in memchr::memchr_iter(byte, bytes) {
        match found.last_mut() {
            Some((start, len)) if *start + *len == at => *len += 1,
            _ => found.push((at, 1)),
        }
    }
    found
}

/// The id of the only entry on each line.
fn ids_of_lines(session: &Session, lines: &BTreeMap<u32, Vec<FaultKind>>) -> BTreeMap<u32, Option<String>> {
    let mut ids: BTreeMap<u32, Option<String>> = BTreeMap::new();
    for (ix, entry) in session.all().filter(|(_, e)| e.is_node() && lines.contains_key(&e.line)) {
        ids.entry(entry.line).and_modify(|id| *id = None).or_insert_with(|| Some(session.id(ix).to_owned()));
    }
    ids
}

/// Takes whole lines out.
fn without(first: Line, last: Line) -> Patch {
    Patch {
        start: first.start,
        end: last.next(),
        bytes: Vec::new(),
        line: first.number,
        line_ends: last.number - first.number + u32::from(last.ended),
        whole_lines: last.ended,
    }
}

/// Records on one line get lines of their own; a record that raw line breaks in a string have spread over lines becomes one
/// line again; what is no record and cannot become one is taken out.
pub(super) fn records(session: &Session, wanted: &Wanted) -> io::Result<Step> {
    let is_broken = |kind| match kind {
        FaultKind::Malformed => wanted.has(Code::MalformedLine),
        FaultKind::Torn => wanted.has(Code::TornLine),
        FaultKind::Glued => wanted.has(Code::GluedLines),
        _ => false,
    };
    let faulty = faults(session, &is_broken);
    if faulty.is_empty() {
        return Ok(Step::default());
    }
    let mut on_line: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (_, entry) in session.all() {
        taken.insert(entry.line);
        if faulty.contains_key(&entry.line) {
            on_line.entry(entry.line).or_default().push((entry.offset, entry.offset + u64::from(entry.len)));
        }
    }
    taken.extend(session.faults().iter().map(|fault| fault.line));
    let mut step = Step::default();
    let mut run: Vec<Line> = Vec::new();
    for line in places(session, &faulty.keys().copied().collect())? {
        let kinds = faulty.get(&line.number).map(Vec::as_slice).unwrap_or_default();
        if let Some(records) = on_line.get(&line.number) {
            apart(session, line, records, kinds, &mut step)?;
            continue;
        }
        // Blank lines are no faults, and a text that raw line breaks have spread may hold some.
        if let Some(last) = run.last()
            && taken.range(last.number + 1..line.number).next().is_some()
        {
            joined(session, &run, &mut step)?;
            run.clear();
        }
        run.push(line);
    }
    joined(session, &run, &mut step)?;
    Ok(step)
}

/// A line with records and other things on it.
fn apart(session: &Session, line: Line, records: &[(u64, u64)], kinds: &[FaultKind], step: &mut Step) -> io::Result<()> {
    let split = kinds.contains(&FaultKind::Glued);
    // The rest of a record before a whole one is told as glued, and is no record all the same.
    let told = |kind| session.faults().iter().any(|fault| fault.line == line.number && fault.kind == kind);
    let fragments = match kinds {
        _ if kinds.contains(&FaultKind::Torn) => Some(Code::TornLine),
        _ if kinds.contains(&FaultKind::Malformed) => Some(Code::MalformedLine),
        _ if split && !told(FaultKind::Torn) && !told(FaultKind::Malformed) => Some(Code::GluedLines),
        _ => None,
    };
    let bytes = read(session, line.start, line.end)?;
    let ending: &[u8] = if bytes.ends_with(b"\r") { b"\r" } else { b"" };
    let part = |from: u64, to: u64| {
        let at = |n: u64| usize::try_from(n.saturating_sub(line.start)).unwrap_or(usize::MAX);
        let part = bytes.get(at(from)..at(to)).unwrap_or_default();
        let blank = |b: &u8| *b == 0 || b.is_ascii_whitespace();
        let start = part.iter().take_while(|b| blank(b)).count();
        let end = part.iter().rev().take_while(|b| blank(b)).count();
        part.get(start..part.len().saturating_sub(end)).unwrap_or_default()
    };
    let mut parts: Vec<&[u8]> = Vec::new();
    let (mut at, mut gone) = (line.start, 0);
    for (start, end) in records.iter().copied().chain([(line.end, line.end)]) {
        let between = part(at, start);
        if fragments.is_none() && !between.is_empty() {
            parts.push(between);
        } else {
            gone += between.len();
        }
        if end > start {
            parts.push(part(start, end));
        }
        at = end;
    }
    let separator: &[u8] = match (split, ending) {
        (false, _) => b"",
        (true, b"\r") => b"\r\n",
        (true, _) => b"\n",
    };
    let mut new = parts.join(separator);
    new.extend_from_slice(ending);
    if new == bytes {
        return Ok(());
    }
    if split && records.len() > 1 {
        let what = format!("{} records get a line each", records.len());
        step.mends.push(Mend { code: Code::GluedLines, line: Some(line.number), id: None, what });
    }
    if let Some(code) = fragments.filter(|_| gone > 0) {
        let what = format!("{gone} bytes beside a record, which are none, are taken out");
        step.mends.push(Mend { code, line: Some(line.number), id: None, what });
    }
    if split && records.len() == 1 && fragments.is_none() {
        let what = "a record and what is none get a line each".to_owned();
        step.mends.push(Mend { code: Code::GluedLines, line: Some(line.number), id: None, what });
    }
    step.patches.push(Patch::within(line.number, line.start, line.end, new));
    Ok(())
}

/// Broken lines that follow one another: each stretch that joins to a record becomes it, the others go.
fn joined(session: &Session, run: &[Line], step: &mut Step) -> io::Result<()> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
    let bytes = read(session, first.start, last.end)?;
    let text = |from: Line, to: Line| {
        let at = |n: u64| usize::try_from(n.saturating_sub(first.start)).unwrap_or(usize::MAX);
        bytes.get(at(from.start)..at(to.end)).unwrap_or_default()
    };
    let mut looks = bytes.len().saturating_mul(LOOKS);
    let mut gone: Option<(Line, Line)> = None;
    let mut at = 0;
    while let Some(line) = run.get(at).copied() {
        let found = closing(text(line, *last), &mut looks).and_then(|len| {
            // The record ends where a line does, and stands for more than one.
            let close = line.start + len as u64;
            let (n, end) = run.iter().enumerate().skip(at + 1).find(|(_, end)| end.start < close && close <= end.end)?;
            let record = escaped(text(line, *end))?;
            let id = Head::of(&record).filter(|head| head.kind.is_some())?.id?.into_owned();
            session.by_id(&id).is_none().then_some((n, *end, record, id))
        });
        match found {
            Some((n, end, record, id)) => {
                take_out(&mut gone, step);
                let what = format!("lines {} to {} are one record again: raw line breaks in a string are escaped", line.number, end.number);
                step.mends.push(Mend { code: Code::MalformedLine, line: Some(line.number), id: Some(id), what });
                let line_ends = end.number - line.number;
                let bytes = record.into_bytes();
                step.patches.push(Patch { line_ends, ..Patch::within(line.number, line.start, end.end, bytes) });
                at = n + 1;
            }
            None => {
                gone = Some((gone.map_or(line, |(first, _)| first), line));
                at += 1;
            }
        }
    }
    take_out(&mut gone, step);
    Ok(())
}

fn take_out(gone: &mut Option<(Line, Line)>, step: &mut Step) {
    let Some((first, last)) = gone.take() else { return };
    let bytes = last.end - first.start;
    let what = match last.number - first.number {
        0 => format!("{bytes} bytes that are no record are taken out"),
        _ => format!("lines {} to {}, which are no records, are taken out", first.number, last.number),
    };
    let code = if last.ended { Code::MalformedLine } else { Code::TornLine };
    step.mends.push(Mend { code, line: Some(first.number), id: None, what });
    step.patches.push(without(first, last));
}

/// Where the object that a text begins with is closed, line breaks in its strings or not; takes what it looks at from `looks`.
fn closing(text: &[u8], looks: &mut usize) -> Option<usize> {
    let (mut depth, mut quoted, mut escape) = (0_usize, false, false);
    if text.first() != Some(&b'{') {
        return None;
    }
    for (at, byte) in text.iter().take(*looks).enumerate() {
        match byte {
            _ if escape => escape = false,
            b'\\' if quoted => escape = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    *looks = looks.saturating_sub(at);
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    *looks = looks.saturating_sub(text.len());
    None
}

/// Several lines as one record: control characters in its strings are escaped. `None` when that gives no JSON object.
fn escaped(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let mut out = String::with_capacity(text.len() + 16);
    let (mut quoted, mut escape) = (false, false);
    for c in text.chars() {
        match c {
            '\n' if quoted => out.push_str("\\n"),
            '\r' if quoted => out.push_str("\\r"),
            '\t' if quoted => out.push_str("\\t"),
            '\0'..='\u{1f}' if quoted => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            '\n' | '\r' => {}
            _ => out.push(c),
        }
        (quoted, escape) = match c {
            _ if escape => (quoted, false),
            '\\' if quoted => (true, true),
            '"' => (!quoted, false),
            _ => (quoted, false),
        };
    }
    Head::of(&out).is_some().then_some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::super::tests::repaired;
    use super::*;

    const HEAD: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/w\"}\n";

    fn user(id: &str, parent: Option<&str>, text: &str) -> String {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{},\"timestamp\":\"t\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}",
            serde_json::to_string(&parent).unwrap()
        )
    }

    fn all(text: impl AsRef<[u8]>) -> (String, Vec<String>) {
        let (bytes, mends) = repaired(text.as_ref(), &Wanted::Usual);
        (String::from_utf8(bytes).unwrap(), mends)
    }

    #[test]
    fn r01_a_torn_line_goes_and_a_whole_one_stays() {
        let (a, b) = (user("a", None, "one"), user("b", Some("a"), "two"));
        let (text, mends) = all(format!("{HEAD}{a}\n{}", &b[..40]));
        assert_eq!((text, mends), (format!("{HEAD}{a}\n"), vec!["torn-line 3 -".to_owned()]));
        let whole = format!("{HEAD}{a}\n{b}");
        assert_eq!(all(&whole), (whole, vec![]));
    }

    #[test]
    fn r04_nul_bytes_go() {
        let (a, b) = (user("a", None, "one"), user("b", Some("a"), "t\0w\0\0o"));
        let nuls = "\0".repeat(300);
        let (text, mends) = all(format!("{HEAD}{nuls}\n{nuls}{a}\n{b}\n"));
        assert_eq!(text, format!("{HEAD}{a}\n{}\n", user("b", Some("a"), "two")));
        assert_eq!(mends, ["nul-bytes 2 -", "nul-bytes 3 a", "nul-bytes 4 -"]);
    }

    #[test]
    fn r05_a_string_with_raw_line_breaks_is_one_line_again() {
        let (a, c) = (user("a", None, "one"), user("c", Some("b"), "three"));
        for (raw, want) in [
            ("x\ny", "x\\ny"),
            ("x\n\n\ny\n", "x\\n\\n\\ny\\n"),
            ("\r\n\\\"{\n}\t", "\\r\\n\\\"{\\n}\\t"),
            ("if (a) {\n  b\n}\n", "if (a) {\\n  b\\n}\\n"),
        ] {
            let (text, mends) = all(format!("{HEAD}{a}\n{}\n{c}\n", user("b", Some("a"), raw)));
            assert_eq!(text, format!("{HEAD}{a}\n{}\n{c}\n", user("b", Some("a"), want)), "{raw:?}");
            assert_eq!(mends, ["malformed-line 3 b"], "{raw:?}");
        }
        // Behind a fragment, before one, and as the last line without its end.
        let b = user("b", Some("a"), "x\ny");
        let (text, mends) = all(format!("{HEAD}{a}\n{{\"ty\n{b}\nrest\n{c}"));
        assert_eq!(text, format!("{HEAD}{a}\n{}\n{c}", user("b", Some("a"), "x\\ny")));
        assert_eq!(mends, ["malformed-line 3 -", "malformed-line 4 b", "malformed-line 6 -"]);
        let (text, _) = all(format!("{HEAD}{a}\n{b}"));
        assert_eq!(text, format!("{HEAD}{a}\n{}", user("b", Some("a"), "x\\ny")));
        // A record whose id stands elsewhere would change what readers take.
        let (text, mends) = all(format!("{HEAD}{a}\n{}\n{c}\n{}\n", b, user("b", Some("a"), "good")));
        assert!(text.contains("good") && !text.contains("x\\ny"), "{text}");
        assert_eq!(mends, ["malformed-line 3 -"]);
    }

    #[test]
    fn joining_text_full_of_braces_does_not_take_for_ever() {
        let junk = "{\"a\": {\n".repeat(20_000);
        let (text, mends) = all(format!("{HEAD}{}\n{junk}", user("a", None, "one")));
        assert_eq!((text.lines().count(), mends.len()), (2, 1));
    }

    #[test]
    fn glued_records_get_a_line_each() {
        let (a, b, c) = (user("a", None, "one"), user("b", Some("a"), "two"), user("c", Some("b"), "three"));
        let (text, mends) = all(format!("{HEAD}{a}{b}\r\n{}{c}", &b[..50]));
        assert_eq!(text, format!("{HEAD}{a}\r\n{b}\r\n{c}"));
        assert_eq!(mends, ["glued-lines 2 -", "glued-lines 3 -"]);
        // Told apart only, what is no record is kept.
        let named = Wanted::Named(vec![Code::GluedLines]);
        let (bytes, mends) = repaired(format!("{HEAD}{c}{}\n", &b[..50]).as_bytes(), &named);
        assert_eq!(bytes, format!("{HEAD}{c}\n{}\n", &b[..50]).as_bytes());
        assert_eq!(mends, ["glued-lines 2 -"]);
        let named = Wanted::Named(vec![Code::MalformedLine]);
        let (bytes, _) = repaired(format!("{HEAD}{c}{}\n{a}{b}\n", &b[..50]).as_bytes(), &named);
        assert_eq!(bytes, format!("{HEAD}{c}\n{a}{b}\n").as_bytes());
    }

    #[test]
    fn r20_r21_only_what_is_no_text_changes() {
        let text = format!("{HEAD}{}\n", user("a", None, r"BYTES \ud83d \\ud83d \ud83d\ude00 \/"));
        let at = text.find("BYTES").unwrap();
        let mut bytes = text.clone().into_bytes();
        bytes.splice(at..at + 5, *b"\x80\xe2\x82\xff");
        let (mended, mends) = all(bytes);
        assert_eq!(mended, text.replacen("BYTES \\ud83d", "\u{fffd}\u{fffd}\u{fffd} \\ufffd", 1));
        assert_eq!(mends, ["invalid-utf8 2 a", "lone-surrogate 2 a"]);
    }
}
