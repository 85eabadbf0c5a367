//! Damaged bytes: whatever stands in a file, reading it neither panics nor points outside of it.

use std::fs;
use std::io::Write;

use crate::context::context;
use crate::generate::{Builder, steps};
use crate::{config, sessions as s};
use epitome::engine::compaction;
use epitome::engine::cut::CutSettings;
use epitome::engine::tokens::{Counter, Effort, Tokenizer};
use epitome::session::{Parent, Problem, Session, SessionError, Source, problems};
use proptest::prelude::*;
use proptest::sample::Index;

/// One piece of damage.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Delete(Index, usize),
    Truncate(Index),
    Duplicate(Index, usize, Index),
    Zeroes(Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let snippets: Vec<&'static [u8]> = vec![
        b"\n",
        b"\r\n",
        b"\0\0\0",
        b"\xff\xfe\x80",
        b"\\ud83d",
        b"\\udc00x",
        b"\\",
        b"\"",
        b"{\"type\":",
        b"}{",
        b"[[[[",
        b"]",
        b"null",
        b"\xef\xbb\xbf",
        b"\"id\":\"10000002\",",
        b"\"parentId\":\"10000003\",",
        b"\"role\":\"toolResult\",",
        b"1e999",
        b"\xed\xa0\x80",
    ];
    prop_oneof![
        4 => (any::<Index>(), 1..=255_u8).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        4 => (any::<Index>(), prop::sample::select(snippets)).prop_map(|(at, bytes)| Damage::Insert(at, bytes.to_vec())),
        1 => (any::<Index>(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        3 => (any::<Index>(), 1..300_usize).prop_map(|(at, len)| Damage::Delete(at, len)),
        1 => any::<Index>().prop_map(Damage::Truncate),
        2 => (any::<Index>(), 1..2000_usize, any::<Index>()).prop_map(|(from, len, to)| Damage::Duplicate(from, len, to)),
        1 => (any::<Index>(), 1..400_usize).prop_map(|(at, len)| Damage::Zeroes(at, len)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let end = |at: usize, len: usize| (at + len).min(bytes.len());
    match damage {
        Damage::Flip(at, bits) => {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        Damage::Insert(at, more) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, more.iter().copied());
        }
        Damage::Delete(at, len) => {
            let at = at.index(bytes.len());
            bytes.drain(at..end(at, *len));
        }
        Damage::Truncate(at) => bytes.truncate(at.index(bytes.len())),
        Damage::Duplicate(from, len, to) => {
            let from = from.index(bytes.len());
            let slice = bytes[from..end(from, *len)].to_vec();
            let to = to.index(bytes.len());
            bytes.splice(to..to, slice);
        }
        Damage::Zeroes(at, len) => {
            let at = at.index(bytes.len());
            let end = end(at, *len);
            bytes[at..end].fill(0);
        }
    }
}

/// Everything that is asked of a session by the commands that only look.
fn look(bytes: &[u8]) -> Result<(), TestCaseError> {
    let session = match Session::open(Source::memory(bytes)) {
        Ok(session) => session,
        Err(SessionError::NotASession) => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    let len = bytes.len() as u64;
    prop_assert_eq!(u64::from(session.lines()), bytes.split_inclusive(|b| *b == b'\n').count() as u64);
    let mut end = 0;
    for (ix, entry) in session.all() {
        prop_assert!(entry.offset >= end, "records overlap");
        end = entry.offset + u64::from(entry.len);
        prop_assert!(end <= len && entry.line >= 1 && entry.line <= session.lines());
        let payload = session.read(ix).unwrap();
        prop_assert_eq!(payload.bytes(), &bytes[entry.offset as usize..end as usize]);
        // The line number and the offset name the same place.
        let before = bytes[..entry.offset as usize].iter().filter(|b| **b == b'\n').count();
        prop_assert_eq!(entry.line as usize, before + 1);
    }
    let leaves = session.shape(&session.active_path()).leaves;
    let paths = leaves.iter().take(3).map(|leaf| session.path(leaf.entry)).chain([session.active_path()]);
    for path in paths {
        for problem in problems::find(&session, &path, None).unwrap() {
            let Problem { line, offset, .. } = &problem;
            prop_assert!(line.is_none_or(|line| line >= 1 && line <= session.lines()), "{problem:?}");
            prop_assert!(offset.is_none_or(|offset| offset <= len), "{problem:?}");
        }
        problems::forbids_append(&session, &path).unwrap();
        let context = session.context(&path.entries).unwrap();
        let mut counter = Counter::new(&session, Tokenizer::Heuristic, Effort::Exact);
        counter.context(&context).unwrap();
        for keep_recent in [1, 500] {
            let planned = compaction::plan(&mut counter, &path.entries, CutSettings { keep_recent, keep_from: None });
            if let Ok(Ok(plan)) = planned {
                let parts = plan.history.told.len() + plan.history.left_out.len() + plan.prefix.told.len() + plan.prefix.left_out.len();
                prop_assert!(parts > 0 && !plan.kept.is_empty());
                for selection in [&plan.history, &plan.prefix] {
                    epitome::engine::serialize::serialize(&session, selection, Default::default()).unwrap();
                }
            }
        }
    }
    session.header().unwrap();
    Ok(())
}

/// All that an index knows, with names instead of positions.
fn facts(session: &Session) -> Vec<String> {
    let mut facts: Vec<String> = session
        .all()
        .map(|(ix, e)| {
            let parent = match e.parent {
                Parent::Root => None,
                Parent::Id(id) => Some(session.name(id)),
            };
            let calls: Vec<&str> = session.calls(ix).iter().map(|c| session.name(*c)).collect();
            let names = (e.target.map(|t| session.name(t)), e.tool.map(|t| session.name(t)), session.type_name(ix));
            let flags = (e.flags, e.images, e.bulk, e.stop);
            format!(
                "{} {} {} {} {parent:?} {names:?} {:?} {:?} {calls:?} {flags:?}",
                e.offset,
                e.len,
                e.line,
                session.id(ix),
                e.kind,
                e.role
            )
        })
        .collect();
    let path = session.active_path();
    facts.push(format!("{:?}", problems::find(session, &path, None).unwrap()));
    facts.push(format!("{:?}", context(session)));
    facts.push(format!("{} {:?} {:?} {:?}", session.lines(), session.version(), session.owner(), session.header().unwrap()));
    facts
}

fn testdata() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in ["sessions", "damaged", "cases"] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            files.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

/// The start of what a session says twice over, as if it had been opened before it grew.
fn check_growth(bytes: &[u8], at: usize) -> Result<(), TestCaseError> {
    // What is appended begins a line of its own.
    let at = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    let (Ok(whole), Ok(part)) = (Session::open(Source::memory(bytes)), Session::open(Source::memory(&bytes[..at]))) else {
        return Ok(());
    };
    let grown = part.with_appended(&bytes[at..]).unwrap();
    prop_assert_eq!(facts(&grown), facts(&whole), "cut at {}", at);
    Ok(())
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn damaged_sessions_are_read(steps in steps(25), damages in prop::collection::vec(damage(), 0..6)) {
        let mut bytes = Builder::of(&steps).bytes();
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        look(&bytes)?;
    }

    #[test]
    fn damaged_test_sessions_are_read(file in any::<Index>(), damages in prop::collection::vec(damage(), 0..6)) {
        let files: Vec<_> = testdata().into_iter().filter(|(_, bytes)| bytes.len() < 100_000).collect();
        let (_, mut bytes) = file.get(&files).clone();
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        look(&bytes)?;
    }

    #[test]
    fn noise_is_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        look(&bytes)?;
    }

    #[test]
    fn a_session_that_grew_is_the_session_opened_whole(steps in steps(30), damages in prop::collection::vec(damage(), 0..3), at in any::<Index>()) {
        let mut bytes = Builder::of(&steps).bytes();
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        if !bytes.is_empty() {
            check_growth(&bytes, at.index(bytes.len()))?;
        }
    }

    #[test]
    fn a_test_session_that_grew_is_the_session_opened_whole(file in any::<Index>(), at in any::<Index>()) {
        let files: Vec<_> = testdata().into_iter().filter(|(_, bytes)| !bytes.is_empty() && bytes.len() < 100_000).collect();
        let (_, bytes) = file.get(&files);
        check_growth(bytes, at.index(bytes.len()))?;
    }
}

/// About `size` bytes of a session with damage of every kind, built by repetition with new ids.
fn large(size: usize) -> Vec<u8> {
    let mut bytes = s::file(&[s::header()]);
    let mut last = None;
    for n in 0.. {
        if bytes.len() > size {
            break;
        }
        let (a, b, c) = (format!("u{n}"), format!("a{n}"), format!("t{n}"));
        let lines = [
            s::user(&a, last.as_deref(), format!("question {n} {}", s::words_from(n, n % 3000))),
            s::assistant(
                &b,
                a.as_str(),
                serde_json::json!([s::tx("let us see"), s::call(&format!("c{n}"), "read", serde_json::json!({"path": "a"}))]),
            ),
            s::tool_result(&c, b.as_str(), &format!("c{n}"), "read", &s::words_from(n, n * 7 % 9000)),
        ];
        bytes.extend(s::file(&lines));
        match n % 40 {
            3 => bytes.extend(b"{broken\n\n  \r\n"),
            9 => bytes.extend(b"\0\0\0\0\n"),
            13 => bytes.extend(b"{\"type\":\"custom\",\"id\":\"g\",\"parentId\":null,\"timestamp\":\"x\"}{\"type\":\"custom\",\"id\":\"h\",\"parentId\":null,\"timestamp\":\"x\"}\n"),
            21 => bytes.extend(b"{\"type\":\"custom\",\"id\":\"\xff\\ud800\",\"parentId\":null}\n"),
            _ => {}
        }
        last = Some(c);
    }
    bytes.extend(b"{\"type\":\"message\",\"id\":\"to");
    bytes
}

#[test]
fn several_threads_read_what_one_reads() {
    let bytes = large(11 << 20);
    let whole = Session::open(Source::memory(bytes.clone())).unwrap();
    // Parts of less than 4 MiB are read by one thread.
    let mut single = Session::open(Source::memory(&bytes[..0])).unwrap();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let at = rest.len().min(3 << 20);
        let at = rest[..at].iter().rposition(|b| *b == b'\n').map_or(rest.len(), |n| n + 1);
        let (part, behind) = rest.split_at(at);
        single = single.with_appended(part).unwrap();
        rest = behind;
    }
    assert!(facts(&single) == facts(&whole));
    // Every record of an undamaged line is where a plain reader finds it.
    let mut offset = 0;
    let mut records = whole.all().peekable();
    for (n, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        if serde_json::from_slice::<serde_json::Value>(line).is_ok() {
            while records.peek().is_some_and(|(_, e)| e.offset < offset) {
                records.next();
            }
            let (_, entry) = records.next().unwrap();
            assert_eq!((entry.offset, entry.line as usize), (offset, n + 1));
        }
        offset += line.len() as u64;
    }
    // A file is read as memory is, twice the same.
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let from_file = Session::open(Source::file(file, bytes.len() as u64)).unwrap();
    assert!(facts(&from_file) == facts(&whole));
}
