//! Every step of a rewrite fails, and every step is where a process ends.
#![cfg(debug_assertions)]

use crate::Session;
use crate::children::child;
use crate::rewriting::{archives, done, is_tidy, old_or_new, references, rewrite, rewrite_while, rewritten, session};
use epitome::store::fault::{Fault, Step, VARIABLE, arm};
use epitome::store::{Replaced, StoreError};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// Steps that come only with a title that changes meanwhile.
const NOT_HERE: [Step; 1] = [Step::Title];

/// Rewrites until it works: a lock file that was just created by a process that was killed before it wrote its line into it
/// is respected for as long as an attempt takes.
fn recover(s: &Session, old: &[u8]) {
    for _ in 0..3 {
        match rewrite(&s.path) {
            Ok(Replaced::Done { .. }) => break,
            Err(StoreError::Locked { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    let found = references(&s.bytes());
    assert!(found.len() == 1 || found.len() == 2);
    let first = if found.len() == 1 { old.to_vec() } else { rewritten(old, Some(&found[0])) };
    assert!(s.bytes() == rewritten(&first, found.last()) || found.len() == 2);
    for reference in &found {
        let kept = crate::rewriting::exported(&archives(s), reference);
        assert!(kept == old || kept == first);
    }
}

#[test]
fn r25_an_error_at_any_step_leaves_the_old_session() {
    let old = session(300_000);
    for fault in [Fault::Fail, Fault::Full] {
        for &step in Step::ALL {
            let mut times = 0;
            loop {
                let s = Session::new(&old);
                let armed = arm(step, times + 1, fault);
                let result = rewrite(&s.path);
                if !armed.happened() {
                    assert!(result.is_ok());
                    break;
                }
                drop(armed);
                times += 1;
                let failed = result.unwrap_err();
                assert!(matches!(failed, StoreError::Io { .. }), "{step:?}: {failed}");
                assert_eq!(failed.hint().is_some(), fault == Fault::Full, "{step:?}");
                is_tidy(&s);
                // After the last rename only durability can fail.
                assert_eq!(old_or_new(&s, &old), step == Step::SessionFolderSync, "{step:?}");
                assert!(step != Step::SessionFolderSync || failed.to_string().contains("in place"), "{failed}");
                let named =
                    matches!(step, Step::ArchiveFolderSync | Step::ArchiveParentSync | Step::SessionRename | Step::SessionFolderSync);
                assert_eq!(archives(&s).exists(), named, "{step:?}");
                recover(&s, &old);
                is_tidy(&s);
            }
            assert_eq!(times == 0, NOT_HERE.contains(&step), "{step:?}");
            assert!(times < 100);
        }
    }
}

#[test]
fn a_title_that_cannot_be_carried_over_stops_the_rewrite() {
    let slot = |title: &str| {
        let text = format!(r#"{{"type":"title","v":1,"title":"{title}","pad":""#);
        format!("{text:<253}\"}}\n").into_bytes()
    };
    let s = Session::new([slot("old"), session(9_000)].concat());
    let armed = arm(Step::Title, 1, Fault::Fail);
    let retitle = || std::fs::File::options().write(true).open(&s.path).unwrap().write_all_at(&slot("new"), 0).unwrap();
    rewrite_while(&s.path, &mut { retitle }).unwrap_err();
    assert!(armed.happened());
    assert_eq!(s.bytes(), [slot("new"), session(9_000)].concat());
    is_tidy(&s);
}

/// Played by a process that will not live long.
pub(crate) fn rewrite_once(path: &std::path::Path) {
    let _ = done(path);
}

#[test]
fn r25_a_kill_at_any_step_leaves_the_old_session_or_the_new() {
    let old = session(300_000);
    for &step in Step::ALL {
        let mut times = 0;
        loop {
            let s = Session::new(&old);
            let fault = format!("{}:{}:kill", step.name(), times + 1);
            let status = child("rewrite-once", &s.path).env(VARIABLE, fault).stdout(Stdio::null()).stderr(Stdio::null()).status();
            let status = status.unwrap();
            if status.success() {
                assert!(old_or_new(&s, &old));
                break;
            }
            assert!(status.signal().is_some(), "{step:?}: {status}");
            times += 1;
            assert_eq!(old_or_new(&s, &old), step == Step::SessionFolderSync, "{step:?}");
            recover(&s, &old);
        }
        assert_eq!(times == 0, NOT_HERE.contains(&step), "{step:?}");
        assert!(times < 100);
    }
}
