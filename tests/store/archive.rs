use crate::rewriting::{ID, archives, done, exported, references, rewrite, session};
use crate::{Session, mode, names};
use epitome::store::archive::{self, ArchiveError, Kind, Plan, Reference, check, open};
use epitome::store::{self, Rewrite, WAIT};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn bad(folder: &Path, reference: &Reference) -> String {
    match open(folder, reference, Some(ID)) {
        Err(ArchiveError::Bad { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

/// Archives these bytes, and gives the folder's only archive.
fn archived(bytes: &[u8]) -> (Session, Reference, Vec<u8>) {
    let s = Session::new(bytes);
    let (_file, print) = store::open(&s.path).unwrap();
    let plan = Plan { kind: Kind::Repair, generation: 0, entries: 0, newest: 0, session_id: Some(ID), archive_dir: None };
    let rewrite = Rewrite { print: &print, archive: Some(plan), room: 0, wait: WAIT };
    let done = store::replace(&rewrite, &mut |out, _| out.write_all(b"new"), &mut |_| Ok(())).unwrap();
    let store::Replaced::Done { bytes: 3, archive: Some(reference), late: 0 } = done else { panic!("{done:?}") };
    let archive = fs::read(archives(&s).join(&reference.file)).unwrap();
    (s, reference, archive)
}

#[test]
fn the_layout_is_exact_and_has_52_bytes_besides_the_payload() {
    let (s, reference, archive) = archived(b"abc");
    assert_eq!(archive.len() as u64, 3 + archive::OVERHEAD);
    assert_eq!(archive.len(), 55);
    assert_eq!(&archive[..23], b"EPITOMEA\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03abc");
    assert_eq!(archive[23..], Sha256::digest(&archive[..23])[..]);
    assert_eq!(reference.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!((reference.bytes, reference.revision, reference.file.as_str()), (3, 1, "1-repair.epa"));
    assert_eq!(exported(&archives(&s), &reference), b"abc");
    assert_eq!(mode(&archives(&s)), 0o700);
    assert_eq!(mode(&archives(&s).join("1-repair.epa")), 0o600);
}

#[test]
fn what_compresses_is_compressed_and_the_rest_is_not() {
    let random: Vec<u8> = (0..20_000u32).flat_map(|i| <[u8; 32]>::from(Sha256::digest(i.to_le_bytes()))).collect();
    for (bytes, compressed) in [(Vec::new(), false), (b"x".repeat(3_000_000), true), (random, false), (session(1_000_000), true)] {
        let (s, reference, archive) = archived(&bytes);
        assert_eq!(archive[11], u8::from(compressed));
        assert_eq!(archive.len() as u64 - archive::OVERHEAD < bytes.len() as u64, compressed);
        assert!(exported(&archives(&s), &reference) == bytes);
    }
}

#[test]
fn one_flipped_bit_anywhere_is_an_error() {
    for bytes in [b"abc".to_vec(), b"{\"id\":\"a\"}\n".repeat(40)] {
        let (s, reference, archive) = archived(&bytes);
        let path = archives(&s).join(&reference.file);
        for at in 0..archive.len() {
            for bit in 0..8 {
                let mut flipped = archive.clone();
                flipped[at] ^= 1 << bit;
                fs::write(&path, &flipped).unwrap();
                bad(&archives(&s), &reference);
            }
        }
        fs::write(&path, &archive).unwrap();
        assert_eq!(exported(&archives(&s), &reference), bytes);
    }
}

#[test]
fn one_byte_more_or_less_is_an_error() {
    let (s, reference, archive) = archived(&b"{\"id\":\"a\"}\n".repeat(40));
    let path = archives(&s).join(&reference.file);
    for len in 0..archive.len() {
        fs::write(&path, &archive[..len]).unwrap();
        assert!(bad(&archives(&s), &reference).contains("incomplete"));
    }
    for byte in [0, b'\n', 0xff] {
        fs::write(&path, [&archive[..], &[byte]].concat()).unwrap();
        assert!(bad(&archives(&s), &reference).contains("follow"));
    }
}

/// An archive with a right digest around anything.
fn sealed(flags: u8, len: u64, payload: &[u8]) -> Vec<u8> {
    let mut archive = [&b"EPITOMEA\0\x01\0"[..], &[flags], &len.to_be_bytes(), payload].concat();
    archive.extend(Sha256::digest(&archive));
    archive
}

#[test]
fn a_right_digest_around_the_wrong_content_is_an_error() {
    let (s, reference, _) = archived(b"abc");
    let path = archives(&s).join(&reference.file);
    let bomb = zstd::encode_all(&vec![0u8; 50_000_000][..], 3).unwrap();
    for (archive, what) in [
        (sealed(0, 3, b"abd"), "digest"),
        (sealed(0, 4, b"abcd"), "3 bytes"),
        (sealed(0, 2, b"ab"), "3 bytes"),
        (sealed(1, 3, b"abc"), "cannot be read"),
        (sealed(2, 3, b"abc"), "flags"),
        (sealed(1, bomb.len() as u64, &bomb), "3 bytes"),
        (sealed(0, u64::MAX, b"abc"), "incomplete"),
        (sealed(0, u64::MAX - 51, b"abc"), "incomplete"),
    ] {
        fs::write(&path, archive).unwrap();
        let found = bad(&archives(&s), &reference);
        assert!(found.contains(what), "{found}");
    }
    fs::write(&path, sealed(0, 3, b"abc")).unwrap();
    assert_eq!(exported(&archives(&s), &reference), b"abc");
}

#[test]
fn swapped_archives_are_errors_on_both_sides() {
    let (one, two) = (Session::new(session(5_000)), Session::new(session(9_000)));
    let references = [done(&one.path), done(&two.path)];
    let path = |s: &Session| archives(s).join(&references[0].file);
    let swap = one.beside("swap");
    fs::rename(path(&one), &swap).unwrap();
    fs::rename(path(&two), path(&one)).unwrap();
    fs::rename(&swap, path(&two)).unwrap();
    bad(&archives(&one), &references[0]);
    bad(&archives(&two), &references[1]);
    let checked = check(&one.path, &references[..1], Some(ID), None).unwrap();
    assert!(matches!(checked.references[..], [Err(ArchiveError::Bad { .. })]));
    assert!(checked.unreferenced.is_empty());
}

#[test]
fn what_is_not_there_is_missing_and_what_is_no_file_is_bad() {
    let s = Session::new(session(5_000));
    let reference = done(&s.path);
    let (folder, path) = (archives(&s), archives(&s).join(&reference.file));
    assert!(open(&folder, &reference, None).is_ok());
    let other = open(&folder, &reference, Some("another")).unwrap_err();
    assert!(other.to_string().contains("of the session 0199-s, not of another"), "{other}");

    fs::rename(&path, s.beside("kept")).unwrap();
    assert!(matches!(open(&folder, &reference, Some(ID)), Err(ArchiveError::Missing { .. })));
    symlink(s.beside("kept"), &path).unwrap();
    assert!(bad(&folder, &reference).contains("symbolic link"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(bad(&folder, &reference).contains("folder"));
    fs::remove_dir(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(bad(&folder, &reference).contains("pipe"));
    fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(open(&folder, &reference, Some(ID)), Err(ArchiveError::Missing { .. })));
    // A session copied without its archives.
    let checked = check(&s.path, &[reference], Some(ID), None).unwrap();
    assert!(matches!(checked.references[..], [Err(ArchiveError::Missing { .. })]));
    assert_eq!((checked.unreferenced.len(), checked.bytes), (0, 0));
}

#[test]
fn twelve_rewrites_make_twelve_archives_that_all_come_back() {
    let s = Session::new(session(20_000));
    let mut before = Vec::new();
    for n in 1..=12 {
        before.push(s.bytes());
        let reference = done(&s.path);
        assert_eq!((reference.revision, reference.generation), (n, n));
        crate::append_to(&s.path, format!("{{\"id\":\"n{n}\",\"drop\":true}}\n{{\"id\":\"l{n}\"}}\n").as_bytes()).unwrap();
    }
    let found = references(&s.bytes());
    assert_eq!(found.len(), 12);
    for (reference, before) in found.iter().zip(&before) {
        assert!(exported(&archives(&s), reference) == *before);
    }
    let checked = check(&s.path, &found, Some(ID), None).unwrap();
    assert!(checked.references.iter().all(Result::is_ok) && checked.unreferenced.is_empty());
    let on_disk: u64 = names(&archives(&s)).iter().map(|n| fs::metadata(archives(&s).join(n)).unwrap().len()).sum();
    assert_eq!(checked.bytes, on_disk);
}

#[test]
fn revisions_only_grow_and_what_nothing_refers_to_is_told() {
    let s = Session::new(session(5_000));
    fs::create_dir(archives(&s)).unwrap();
    fs::write(archives(&s).join("7-compact.epa"), "left by a run that was killed").unwrap();
    fs::write(archives(&s).join(".8-prune.epa.x.tmp"), "likewise").unwrap();
    assert_eq!(done(&s.path).revision, 8);
    // The archives are gone; the session knows how far it was.
    fs::remove_dir_all(archives(&s)).unwrap();
    assert_eq!(done(&s.path).revision, 9);
    fs::write(archives(&s).join("7-compact.epa"), "abc").unwrap();
    fs::write(archives(&s).join(".8-prune.epa.x.tmp"), "likewise").unwrap();
    let checked = check(&s.path, &references(&s.bytes()), Some(ID), None).unwrap();
    assert!(matches!(checked.references[..], [Err(ArchiveError::Missing { .. }), Ok(())]));
    let unreferenced: Vec<_> = checked.unreferenced.iter().map(|a| (a.revision, a.kind, a.bytes)).collect();
    assert_eq!(unreferenced, [(7, Kind::Compact, 3)]);
    assert_eq!(checked.strays, [".8-prune.epa.x.tmp"]);
}

#[test]
fn the_last_revision_of_all_has_none_after_it() {
    let s = Session::new(session(1_000));
    let data = serde_json::json!({"revision":u64::MAX,"generation":1,"kind":"prune","sha256":"0".repeat(64),"bytes":1,"entries":1,
        "file":format!("{}-prune.epa", u64::MAX),"sessionId":ID});
    let line = format!("{{\"customType\":\"{}\",\"data\":{data}}}\n{{\"id\":\"last\"}}\n", archive::CUSTOM_TYPE);
    crate::append_to(&s.path, line.as_bytes()).unwrap();
    let before = s.bytes();
    assert!(rewrite(&s.path).unwrap_err().to_string().contains("number"));
    assert_eq!(s.bytes(), before);
}
