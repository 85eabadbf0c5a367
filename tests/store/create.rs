use crate::{mode, names, set_mode};
use epitome::store::{StoreError, create};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn put(target: &Path, overwrite: bool, text: &str) -> Result<u64, StoreError> {
    create(target, overwrite, &mut |w| w.write_all(text.as_bytes()))
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out.md");
    (dir, target)
}

#[test]
fn e11_a_new_file_is_private() {
    let (dir, target) = folder();
    assert_eq!(put(&target, false, "hello").unwrap(), 5);
    assert_eq!(fs::read(&target).unwrap(), b"hello");
    assert_eq!(mode(&target), 0o600);
    assert_eq!(names(dir.path()), ["out.md"]);
}

#[test]
fn e11_a_file_that_is_there_is_replaced_only_when_asked_and_keeps_its_mode() {
    let (dir, target) = folder();
    fs::write(&target, "old").unwrap();
    set_mode(&target, 0o644);
    let refused = create(&target, false, &mut |_| panic!("asked for content in vain"));
    let refused = refused.unwrap_err();
    assert!(matches!(refused, StoreError::Exists { .. }), "{refused}");
    assert!(refused.hint().unwrap().contains("--overwrite"));
    assert_eq!(fs::read(&target).unwrap(), b"old");

    put(&target, true, "new").unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"new");
    assert_eq!(mode(&target), 0o644);
    assert_eq!(names(dir.path()), ["out.md"]);
}

#[test]
fn e11_a_file_that_appears_meanwhile_is_not_replaced() {
    let (dir, target) = folder();
    let refused = create(&target, false, &mut |w| {
        fs::write(&target, "theirs")?;
        w.write_all(b"ours")
    });
    assert!(matches!(refused, Err(StoreError::Exists { .. })));
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
    assert_eq!(names(dir.path()), ["out.md"]);
}

#[test]
fn e11_a_failure_half_way_leaves_nothing() {
    let (dir, target) = folder();
    let half = &mut |w: &mut dyn Write| {
        w.write_all(&vec![b'x'; 300_000])?;
        Err(io::Error::other("lost"))
    };
    let failed = create(&target, false, half).unwrap_err();
    assert!(matches!(failed, StoreError::Io { doing: "write", .. }));
    assert!(names(dir.path()).is_empty());

    fs::write(&target, "old").unwrap();
    create(&target, true, half).unwrap_err();
    assert_eq!(fs::read(&target).unwrap(), b"old");
    assert_eq!(names(dir.path()), ["out.md"]);

    let panicking = std::panic::catch_unwind(|| create(&target, true, &mut |_| panic!("bug")));
    assert!(panicking.is_err());
    assert_eq!(names(dir.path()), ["out.md"]);
}

#[test]
fn r23_a_link_stays_and_its_file_is_written() {
    let (dir, link) = folder();
    fs::create_dir(dir.path().join("sub")).unwrap();
    symlink("sub/real", &link).unwrap();
    put(&link, false, "one").unwrap();
    let refused = put(&link, false, "two").unwrap_err();
    assert!(matches!(refused, StoreError::Exists { .. }), "{refused}");
    put(&link, true, "two").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(dir.path().join("sub/real")).unwrap(), b"two");
    assert_eq!(names(dir.path()), ["out.md", "sub"]);
    assert_eq!(names(&dir.path().join("sub")), ["real"]);
}

#[test]
fn what_must_not_be_replaced_is_refused() {
    let (dir, target) = folder();
    let refused = put(dir.path(), true, "x").unwrap_err();
    assert!(matches!(refused, StoreError::NotAFile { .. }), "{refused}");
    let refused = put(Path::new("/dev/null"), true, "x").unwrap_err();
    assert!(matches!(refused, StoreError::NotAFile { .. }), "{refused}");

    fs::write(&target, "old").unwrap();
    set_mode(&target, 0o444);
    let refused = put(&target, true, "x").unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    set_mode(&target, 0o600);
    fs::hard_link(&target, dir.path().join("two")).unwrap();
    let refused = put(&target, true, "x").unwrap_err();
    assert!(matches!(refused, StoreError::HardLinked { .. }));
    assert_eq!(fs::read(&target).unwrap(), b"old");
    assert_eq!(names(dir.path()), ["out.md", "two"]);
}

#[test]
fn r08_a_missing_folder_is_not_made() {
    let (dir, _) = folder();
    let failed = put(&dir.path().join("none/out.md"), false, "x").unwrap_err();
    assert!(matches!(failed, StoreError::Io { .. }), "{failed}");
    assert!(names(dir.path()).is_empty());
}
