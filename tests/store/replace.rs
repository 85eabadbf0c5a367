use crate::rewriting::{ID, archives, done, exported, is_tidy, old_or_new, references, rewrite, rewrite_while, rewritten, session};
use crate::{Session, append_to, mode, names, set_mode};
use epitome::store::archive::{self, Kind, Plan, Reference};
use epitome::store::{self, Appended, Replaced, Rewrite, StoreError, WAIT, space};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, chown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A rewrite that is refused leaves everything as it was.
fn refused(s: &Session, meddle: &mut dyn FnMut()) -> StoreError {
    let before = s.bytes();
    let refused = rewrite_while(&s.path, meddle).unwrap_err();
    assert_eq!(s.bytes(), before);
    is_tidy(s);
    refused
}

#[test]
fn the_new_session_refers_to_an_archive_of_the_old_one() {
    let old = session(50_000);
    let s = Session::new(&old);
    set_mode(&s.path, 0o640);
    let reference = done(&s.path);
    assert!(old_or_new(&s, &old));
    is_tidy(&s);
    assert_eq!(mode(&s.path), 0o640);
    assert_eq!(names(&archives(&s)), ["1-prune.epa"]);
    assert_eq!((reference.kind, reference.session_id.as_deref()), (Kind::Prune, Some(ID)));
    let last = s.bytes();
    assert!(last.ends_with(b"{\"id\":\"last\"}\n"));
}

#[test]
fn r23_link_mode_and_owner_stay() {
    let old = session(9_000);
    let s = Session::new(&old);
    let far = tempfile::tempdir().unwrap();
    let link = far.path().join("link.jsonl");
    symlink(&s.path, &link).unwrap();
    set_mode(&s.path, 0o604);
    let owned = chown(&s.path, Some(4711), Some(4712)).is_ok();
    done(&link);
    assert!(old_or_new(&s, &old));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(names(far.path()), ["link.jsonl"]);
    assert_eq!(mode(&s.path), 0o604);
    assert_eq!(mode(&archives(&s).join("1-prune.epa")), 0o600);
    if !owned {
        eprintln!("r23: owners not tested, only root gives files away");
        return;
    }
    for path in [s.path.clone(), archives(&s), archives(&s).join("1-prune.epa")] {
        let meta = fs::metadata(&path).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (4711, 4712), "{path:?}");
    }
}

#[test]
fn r17_growth_before_or_during_is_stale() {
    let s = Session::new(session(9_000));
    let theirs = b"{\"id\":\"theirs\"}\n";
    let (_file, print) = store::open(&s.path).unwrap();
    append_to(&s.path, theirs).unwrap();
    let before = s.bytes();
    let rewrite = Rewrite { print: &print, archive: None, room: 0, wait: WAIT };
    let stale = store::replace(&rewrite, &mut |_, _| panic!("in vain"), &mut |_| Ok(()));
    assert_eq!(stale.unwrap(), Replaced::Stale);
    assert_eq!(s.bytes(), before);

    let stale = rewrite_while(&s.path, &mut || {
        append_to(&s.path, theirs).unwrap();
    });
    assert_eq!(stale.unwrap(), Replaced::Stale);
    assert_eq!(s.bytes(), [&before[..], theirs].concat());
    is_tidy(&s);
    assert!(!archives(&s).exists());
    let old = s.bytes();
    done(&s.path);
    assert!(old_or_new(&s, &old));
}

#[test]
fn r17_any_other_change_is_a_conflict() {
    let s = Session::new(session(9_000));
    let other = session(9_000);
    let replaced = rewrite_while(&s.path, &mut || {
        fs::write(s.beside(".s.jsonl.other.tmp"), &other).unwrap();
        fs::rename(s.beside(".s.jsonl.other.tmp"), &s.path).unwrap();
    });
    assert!(replaced.unwrap_err().is_conflict());
    let shorter = rewrite_while(&s.path, &mut || OpenOptions::new().write(true).open(&s.path).unwrap().set_len(100).unwrap());
    assert!(shorter.unwrap_err().is_conflict());
    assert_eq!(s.bytes(), other[..100]);
    let gone = rewrite_while(&s.path, &mut || fs::remove_file(&s.path).unwrap());
    assert!(gone.unwrap_err().is_conflict());
    assert_eq!(names(s.dir.path()), [".s.jsonl.lock.os"]);
}

#[test]
fn a_title_and_a_mode_set_meanwhile_are_kept() {
    let slot = |title: &str| {
        let text = format!(r#"{{"type":"title","v":1,"title":"{title}","pad":""#);
        format!("{text:<253}\"}}\n").into_bytes()
    };
    let rest = session(9_000);
    let old = [slot("old"), rest.clone()].concat();
    let s = Session::new(&old);
    rewrite_while(&s.path, &mut || {
        OpenOptions::new().write(true).open(&s.path).unwrap().write_all_at(&slot("new"), 0).unwrap();
        set_mode(&s.path, 0o660);
    })
    .unwrap();
    let found = references(&s.bytes());
    assert_eq!(s.bytes(), [slot("new"), rewritten(&rest, Some(&found[0]))].concat());
    assert_eq!(mode(&s.path), 0o660);
    // The archive holds what the plan was made for.
    assert_eq!(exported(&archives(&s), &found[0]), old);
    is_tidy(&s);
}

#[test]
fn a_revision_that_appears_meanwhile_is_stale() {
    let old = session(9_000);
    let s = Session::new(&old);
    let stale = rewrite_while(&s.path, &mut || fs::write(archives(&s).join("1-repair.epa"), "theirs").unwrap());
    assert_eq!(stale.unwrap(), Replaced::Stale);
    assert_eq!(s.bytes(), old);
    assert_eq!(names(&archives(&s)), ["1-repair.epa"]);
    assert_eq!(done(&s.path).revision, 2);
}

#[test]
fn a_new_session_that_is_not_sound_is_thrown_away() {
    let old = session(9_000);
    let s = Session::new(&old);
    let (_file, print) = store::open(&s.path).unwrap();
    let rewrite = Rewrite { print: &print, archive: Some(crate::rewriting::plan(&old)), room: 0, wait: WAIT };
    let unsound = store::replace(&rewrite, &mut |out, _| out.write_all(b"new"), &mut |temp| {
        assert_eq!(fs::read(temp).unwrap(), b"new");
        Err("the leaf moved".to_owned())
    });
    let unsound = unsound.unwrap_err();
    assert!(unsound.to_string().ends_with("the leaf moved"), "{unsound}");
    let half = store::replace(
        &rewrite,
        &mut |out, _| {
            out.write_all(&vec![b'x'; 300_000])?;
            Err(io::Error::other("lost"))
        },
        &mut |_| panic!("in vain"),
    );
    assert!(matches!(half, Err(StoreError::Io { .. })));
    assert_eq!(s.bytes(), old);
    is_tidy(&s);
    assert!(!archives(&s).exists());
}

#[test]
fn what_must_not_be_replaced_is_refused() {
    let s = Session::new(session(9_000));
    set_mode(&s.path, 0o444);
    assert!(matches!(refused(&s, &mut || panic!("in vain")), StoreError::ReadOnly { .. }));
    set_mode(&s.path, 0o600);
    let link = tempfile::tempdir_in(s.dir.path().parent().unwrap()).unwrap();
    fs::hard_link(&s.path, link.path().join("two")).unwrap();
    assert!(matches!(refused(&s, &mut || panic!("in vain")), StoreError::HardLinked { .. }));
    fs::remove_file(link.path().join("two")).unwrap();
    let late = refused(&s, &mut || fs::hard_link(&s.path, link.path().join("two")).unwrap());
    assert!(matches!(late, StoreError::HardLinked { .. }));
}

#[test]
fn r16_a_held_lock_is_a_conflict_and_leaves_nothing() {
    let s = Session::new(session(9_000));
    let held = store::acquire(&s.path, WAIT).unwrap();
    let before = s.bytes();
    let refused = rewrite(&s.path).unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    drop(held);
    assert_eq!(s.bytes(), before);
    is_tidy(&s);
    assert!(!archives(&s).exists());
}

/// Rewrites with the archives of all sessions in one folder.
fn rewrite_into(path: &Path, dir: Option<&Path>) -> Result<Option<Reference>, StoreError> {
    let (_file, print) = store::open(path)?;
    let old = fs::read(path).unwrap();
    let plan = dir.map(|dir| Plan { archive_dir: Some(dir), ..crate::rewriting::plan(&old) });
    let rewrite = Rewrite { print: &print, archive: plan, room: 0, wait: WAIT };
    let replaced = store::replace(&rewrite, &mut |out, r| out.write_all(&rewritten(&old, r)), &mut |_| Ok(()))?;
    let Replaced::Done { archive, .. } = replaced else { panic!("{replaced:?}") };
    Ok(archive)
}

#[test]
fn archives_can_lie_elsewhere_or_not_be_made() {
    let old = session(9_000);
    let (one, two) = (Session::new(&old), Session::new(&old));
    let dir = tempfile::tempdir().unwrap();
    // Two copies of one session share a folder and take nothing from each other.
    let first = rewrite_into(&one.path, Some(dir.path())).unwrap().unwrap();
    let second = rewrite_into(&two.path, Some(dir.path())).unwrap().unwrap();
    assert_eq!((first.revision, second.revision), (1, 2));
    let folder = archive::folder(&one.path, Some(ID), Some(dir.path()));
    assert_eq!(exported(&folder, &first), old);
    assert_eq!(exported(&folder, &second), old);
    assert_eq!(mode(&folder), 0o700);
    assert!(!archives(&one).exists());

    let before = one.bytes();
    assert!(rewrite_into(&one.path, Some(&dir.path().join("none"))).is_err());
    assert_eq!(one.bytes(), before);
    assert!(!dir.path().join("none").exists());
    assert_eq!(rewrite_into(&one.path, None).unwrap(), None);
    is_tidy(&one);
}

#[test]
fn a_disk_without_space_is_told_before_anything_is_written() {
    let s = Session::new(session(9_000));
    let before = s.bytes();
    let (_file, print) = store::open(&s.path).unwrap();
    let rewrite = Rewrite { print: &print, archive: Some(crate::rewriting::plan(&before)), room: u64::MAX / 2, wait: WAIT };
    let refused = store::replace(&rewrite, &mut |_, _| panic!("in vain"), &mut |_| Ok(())).unwrap_err();
    assert!(matches!(refused, StoreError::NoSpace { needed, .. } if needed == u64::MAX / 2 + space::MARGIN), "{refused}");
    assert!(refused.hint().unwrap().contains("space"));
    assert_eq!(s.bytes(), before);
    assert_eq!(names(s.dir.path()), ["s.jsonl"]);
}

#[test]
fn r16_rewriters_and_writers_at_once_lose_nothing() {
    const APPENDS: usize = 60;
    let s = Session::new(session(30_000));
    let original = s.bytes();
    let finished = AtomicBool::new(false);
    let rewrites = std::thread::scope(|scope| {
        let rewriters: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut count = 0;
                    while !finished.load(Ordering::Relaxed) {
                        match rewrite(&s.path) {
                            Ok(Replaced::Done { .. }) => count += 1,
                            Ok(Replaced::Stale) => {}
                            Err(e) if e.is_conflict() => {}
                            Err(e) => panic!("{e:?}"),
                        }
                    }
                    count
                })
            })
            .collect();
        for n in 0..APPENDS {
            loop {
                match append_to(&s.path, format!("{{\"id\":\"n{n}\"}}\n").as_bytes()) {
                    Ok(Appended::Written { .. }) => break,
                    Err(e) if e.is_conflict() => {}
                    other => panic!("{other:?}"),
                }
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        finished.store(true, Ordering::Relaxed);
        rewriters.into_iter().map(|r| r.join().unwrap()).sum::<usize>()
    });
    is_tidy(&s);
    let bytes = s.bytes();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    for n in 0..APPENDS {
        assert_eq!(text.matches(&format!("\"n{n}\"")).count(), 1, "{n}");
    }
    let found = references(&bytes);
    assert!(rewrites > 0);
    assert_eq!(found.len(), rewrites);
    let mut revisions: Vec<_> = found.iter().map(|r| r.revision).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=rewrites as u64).collect::<Vec<_>>());
    for reference in &found {
        let old = exported(&archives(&s), reference);
        assert!(reference.revision > 1 || old.starts_with(&original));
    }
    assert_eq!(names(&archives(&s)).len(), rewrites);
}

/// Played by a process without rights.
pub(crate) fn in_a_read_only_folder(path: &Path) {
    let refused = rewrite(path).unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused:?}");
    assert_eq!(refused.path(), path.parent().unwrap());
    println!("refused");
}

#[test]
fn r24_a_read_only_folder_is_refused() {
    use std::os::unix::process::CommandExt;
    let s = Session::new(session(9_000));
    let before = s.bytes();
    let mut command = crate::children::child("read-only-folder", &s.path);
    if chown(&s.path, Some(65534), Some(65534)).is_ok() {
        command.uid(65534).gid(65534);
    }
    set_mode(s.dir.path(), 0o555);
    let Ok(out) = command.output() else {
        eprintln!("r24: skipped, this program cannot be run as another user");
        return;
    };
    set_mode(s.dir.path(), 0o755);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("refused"), "{text}");
    assert_eq!(s.bytes(), before);
    assert_eq!(names(s.dir.path()), ["s.jsonl"]);
}
