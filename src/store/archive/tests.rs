#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
use super::*;
use proptest::prelude::*;
use serde_json::json;

fn reference(revision: u64) -> Reference {
    let file = file_name(revision, Kind::Prune);
    Reference {
        revision,
        generation: 3,
        kind: Kind::Prune,
        sha256: "0a".repeat(32),
        bytes: 5,
        entries: 2,
        file,
        session_id: Some("s".to_owned()),
    }
}

#[test]
fn a_reference_has_fixed_keys_and_comes_back() {
    let data = reference(7).to_json();
    let expected = json!({"revision":7,"generation":3,"kind":"prune","sha256":"0a".repeat(32),"bytes":5,"entries":2,"file":"7-prune.epa","sessionId":"s"});
    assert_eq!(serde_json::to_string(&data).unwrap(), serde_json::to_string(&expected).unwrap());
    assert_eq!(Reference::from_json(&data), Ok(reference(7)));
}

#[test]
fn a_reference_that_could_lead_elsewhere_is_refused() {
    for (key, value) in [
        ("file", json!("../7-prune.epa")),
        ("file", json!("/etc/passwd")),
        ("file", json!("8-prune.epa")),
        ("file", json!("7-repair.epa")),
        ("kind", json!("other")),
        ("sha256", json!("0A".repeat(32))),
        ("sha256", json!("0a".repeat(31))),
        ("sha256", json!("é".repeat(32))),
        ("bytes", json!(-1)),
        ("bytes", json!("5")),
        ("revision", json!(7.5)),
        ("generation", json!(null)),
    ] {
        let mut data = reference(7).to_json();
        data[key] = value.clone();
        assert!(Reference::from_json(&data).is_err(), "{key} {value}");
    }
    for data in [json!(null), json!([]), json!({})] {
        assert!(Reference::from_json(&data).is_err());
    }
}

#[test]
fn an_archive_has_one_name() {
    assert_eq!(parse_name("12-compact.epa"), Some((12, Kind::Compact)));
    for other in
        ["012-compact.epa", "+1-compact.epa", "1-compact", "1-.epa", "-prune.epa", "1-prune.epa.bak", "18446744073709551616-prune.epa"]
    {
        assert_eq!(parse_name(other), None, "{other}");
    }
}

#[test]
fn sessions_of_one_name_have_folders_of_their_own() {
    let at = |path: &str, id: Option<&str>, dir: Option<&str>| folder(Path::new(path), id, dir.map(Path::new));
    assert_eq!(at("/a/s.jsonl", Some("x"), None), Path::new("/a/s.jsonl.archive"));
    assert_eq!(at("/a/s.jsonl", Some("0199-ab_C"), Some("/r")), Path::new("/r/0199-ab_C.archive"));
    // Moved, it still has them.
    assert_eq!(at("/a/s.jsonl", Some("x"), Some("/r")), at("/b/t.jsonl", Some("x"), Some("/r")));
    assert_ne!(at("/a/s.jsonl", Some("x"), Some("/r")), at("/a/s.jsonl", Some("y"), Some("/r")));
    assert_ne!(at("/a/s.jsonl", None, Some("/r")), at("/b/s.jsonl", None, Some("/r")));
    for id in ["", ".", "..", "a/b", "../x", "ä", &"x".repeat(65)] {
        let folder = at("/a/s.jsonl", Some(id), Some("/r"));
        assert_eq!(folder.parent(), Some(Path::new("/r")));
        assert!(folder.file_name().unwrap().to_str().unwrap().starts_with("sha256-"), "{id}");
    }
}

#[test]
fn a_listing_holds_archives_and_strays_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(list(&dir.path().join("none")).unwrap(), Listing::default());
    for (name, len) in [("10-prune.epa", 3), ("9-compact.epa", 4), ("note.txt", 9), (".11-prune.epa.abc.tmp", 1), ("01-prune.epa", 9)] {
        fs::write(dir.path().join(name), vec![0; len]).unwrap();
    }
    let listing = list(dir.path()).unwrap();
    let names: Vec<_> = listing.archives.iter().map(|a| (a.revision, a.kind, a.file.as_str(), a.bytes)).collect();
    assert_eq!(names, [(9, Kind::Compact, "9-compact.epa", 4), (10, Kind::Prune, "10-prune.epa", 3)]);
    assert_eq!((listing.newest(), listing.bytes()), (10, 7));
    assert_eq!(listing.strays, [".11-prune.epa.abc.tmp"]);
}

proptest! {
    /// Whatever lies in the place of an archive, reading it ends and is refused.
    #[test]
    fn anything_else_is_refused(
        start in prop_oneof![Just(MAGIC.to_vec()), Just(b"EPITOMEA\0\x01\0\x01\0\0\0\0\0\0\0\x04".to_vec()), Just(Vec::new())],
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("7-prune.epa"), [start, bytes].concat()).unwrap();
        let refused = open(dir.path(), &reference(7), Some("s")).unwrap_err();
        prop_assert!(matches!(refused, ArchiveError::Bad { .. }), "{refused}");
    }

    /// Data from a session never panics and never names a file outside the folder.
    #[test]
    fn references_are_read_or_refused(file in ".{0,20}", revision in any::<u64>(), sha in "[0-9a-f]{60,64}") {
        let mut data = reference(7).to_json();
        data["file"] = json!(file);
        data["revision"] = json!(revision);
        data["sha256"] = json!(sha);
        if let Ok(reference) = Reference::from_json(&data) {
            prop_assert!(!reference.file.contains('/'));
        }
    }
}
