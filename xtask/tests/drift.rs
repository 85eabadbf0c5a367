//! Everything that is generated and committed, generated anew and compared byte for byte: a flag, a help text or an
//! output that changes without its page fails here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const AGAIN: &str = "run `cargo run -p xtask -- all` and commit what changes";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Runs a command of xtask that writes to `out`.
fn generate(command: &str, out: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg(command).arg(out).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

fn same_folder(command: &str) {
    let dir = tempfile::tempdir().unwrap();
    generate(command, dir.path());
    let (ours, committed) = (files(dir.path()), files(&root().join(command)));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&committed), "{AGAIN}");
    for (name, bytes) in &ours {
        assert!(committed.get(name) == Some(bytes), "{command}/{name} is out of date: {AGAIN}");
    }
}

#[test]
fn manual_pages_are_up_to_date() {
    same_folder("man");
}

#[test]
fn completions_are_up_to_date() {
    same_folder("completions");
}

#[test]
fn the_help_in_the_readme_is_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("README.md");
    fs::copy(root().join("README.md"), &copy).unwrap();
    generate("readme", &copy);
    assert!(fs::read(&copy).unwrap() == fs::read(root().join("README.md")).unwrap(), "README.md is out of date: {AGAIN}");
}

#[test]
fn the_picture_is_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("overview.svg");
    generate("picture", &copy);
    let (ours, committed) = (fs::read_to_string(&copy).unwrap(), fs::read_to_string(root().join("assets/overview.svg")).unwrap());
    assert!(ours == committed, "assets/overview.svg is out of date: {AGAIN}\n{ours}");
}

#[test]
fn a_readme_without_markers_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("README.md");
    fs::write(&file, "# nothing\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("readme").arg(&file).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("is missing"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "# nothing\n");
}

/// Derives the glyph files anew where the packages are: below `EPITOME_FONT_ROOT`, else installed; the Python module is named
/// by `EPITOME_UNSCII`.
#[test]
fn glyph_files_are_derived_from_their_packages() {
    let root = PathBuf::from(std::env::var_os("EPITOME_FONT_ROOT").unwrap_or_else(|| "/".into()));
    let module = std::env::var_os("EPITOME_UNSCII").map(PathBuf::from).filter(|module| module.is_file());
    let there = ["usr/share/fonts/X11/misc/8x13.pcf.gz", "usr/share/unifont/unifont.hex"].iter().all(|file| root.join(file).is_file());
    let Some(module) = module.filter(|_| there) else {
        println!("skipped: the packages with the fonts are not all here");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("fonts")
        .arg(dir.path())
        .arg("--root")
        .arg(&root)
        .arg("--unscii")
        .arg(&module)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (name, bytes) in files(dir.path()) {
        // What zstd makes of them may change with its version; what they hold may not.
        let committed = fs::read(root_file(&name)).unwrap();
        assert!(zstd::decode_all(bytes.as_slice()).unwrap() == zstd::decode_all(committed.as_slice()).unwrap(), "{name}");
    }
}

fn root_file(name: &str) -> PathBuf {
    root().join("assets/fonts").join(name)
}
