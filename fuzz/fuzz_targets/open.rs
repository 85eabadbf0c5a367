//! Any bytes as a session: opening it, listing what is wrong, rebuilding contexts and cutting never panic, and what is
//! reported lies inside the bytes.
#![no_main]

use epitome::engine::compaction;
use epitome::engine::cut::CutSettings;
use epitome::engine::serialize::{Form, serialize};
use epitome::engine::tokens::{Counter, Effort, Tokenizer};
use epitome::session::{Session, Source, problems};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(session) = Session::open(Source::memory(bytes)) else { return Corpus::Reject };
    let len = bytes.len() as u64;
    for (ix, entry) in session.all() {
        assert!(entry.offset + u64::from(entry.len) <= len);
        assert!(entry.line >= 1 && entry.line <= session.lines());
        session.read(ix).expect("the bytes are in memory");
    }
    let active = session.active_path();
    let leaves = session.shape(&active).leaves;
    for path in leaves.iter().take(4).map(|leaf| session.path(leaf.entry)).chain([active]) {
        for problem in problems::find(&session, &path, None).expect("the bytes are in memory") {
            assert!(problem.line.is_none_or(|line| line >= 1 && line <= session.lines()), "{problem:?}");
            assert!(problem.offset.is_none_or(|offset| offset <= len), "{problem:?}");
        }
        let context = session.context(&path.entries).expect("the bytes are in memory");
        let mut counter = Counter::new(&session, Tokenizer::Heuristic, Effort::Exact);
        counter.context(&context).expect("the bytes are in memory");
        for keep_recent in [1, 100] {
            let Ok(Ok(plan)) = compaction::plan(&mut counter, &path.entries, CutSettings { keep_recent, keep_from: None }) else {
                continue;
            };
            assert!(!plan.kept.is_empty());
            for selection in [&plan.history, &plan.prefix] {
                serialize(&session, selection, Form::default()).expect("the bytes are in memory");
            }
        }
    }
    // Opened before its last line was there, it is the same session.
    let at = bytes.strip_suffix(b"\n").unwrap_or(bytes).iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    if let Some((before, last)) = bytes.split_at_checked(at)
        && let Ok(part) = Session::open(Source::memory(before))
    {
        let grown = part.with_appended(last).expect("the bytes are in memory");
        assert_eq!(grown.lines(), session.lines());
        let ids = |s: &Session| s.all().map(|(ix, e)| (e.offset, e.len, e.line, s.id(ix).to_owned())).collect::<Vec<_>>();
        assert_eq!(ids(&grown), ids(&session));
    }
    Corpus::Keep
});
