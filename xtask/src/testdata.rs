//! The project's own test sessions: `testdata/`, generated so that every byte has a reason and none is anyone's
//! session.
//!
//! The files are committed. A test regenerates them and compares, so the generator and the files cannot drift apart.

mod agents;
mod cases;
mod compaction_cases;
mod content_cases;
mod damaged;
mod long;
mod long_later;
mod small;
mod story;
mod texts;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// One generated file.
pub(crate) struct File {
    /// Below `testdata/`, with `/`.
    path: String,
    bytes: Vec<u8>,
    /// What it shows, for the table in the README.
    about: String,
}

impl File {
    fn new(path: &str, bytes: Vec<u8>, about: &str) -> File {
        File { path: path.to_owned(), bytes, about: about.to_owned() }
    }
}

/// Replaces every `from` in bytes that need not be UTF-8.
fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(from) {
            out.extend_from_slice(to);
            rest = after;
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    out
}

/// Writes all files below `dir`; returns how many there are.
///
/// # Errors
/// When a folder or a file cannot be written.
pub(crate) fn write(dir: &Path) -> Result<usize> {
    let files = files();
    for file in &files {
        let path = dir.join(&file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        fs::write(&path, &file.bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(files.len())
}

/// Everything that belongs below `testdata/`.
fn files() -> Vec<File> {
    let mut files = vec![
        File::new(
            "sessions/small.jsonl",
            small::session(),
            "omp: one bug in a small Rust project, found, fixed, committed; the session of the README",
        ),
        File::new(
            "sessions/long.jsonl",
            long::session(),
            "omp: three days, two compactions (the second cuts a turn of 40 calls), four leaves, an abandoned branch with its summary, retries, images, CJK, Windows paths, a last question without an answer",
        ),
        File::new(
            "sessions/pi.jsonl",
            agents::pi(),
            "pi: system messages with sections, context edits, usage records, a compaction with its system message",
        ),
        File::new("sessions/openclaw.jsonl", agents::openclaw(), "openclaw: its own custom types, results as plain strings"),
        File::new("sessions/v1.jsonl", agents::v1(), "format 1: no version, no ids, `firstKeptEntryIndex`"),
        File::new("sessions/v2.jsonl", agents::v2(), "format 2: a tree with a `hookMessage`"),
        File::new(
            "sessions/v4-future.jsonl",
            agents::future(),
            "format 9: unknown entries, roles and blocks, odd spellings of numbers and escapes",
        ),
        File::new("sessions/empty.jsonl", Vec::new(), "no bytes"),
        File::new("sessions/header-only.jsonl", crate::sessions::header().into_bytes(), "a header without a newline"),
        File::new("sessions/blank-lines.jsonl", b"\n\n\n\n".to_vec(), "only newlines"),
    ];
    files.extend(damaged::files());
    files.extend(cases::files());
    files.extend(compaction_cases::files());
    files.extend(content_cases::files());
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let readme = readme(&files);
    files.push(File::new("README.md", readme.into_bytes(), ""));
    // Line ends and NUL bytes are content here.
    files.push(File::new(".gitattributes", b"* -text\n".to_vec(), ""));
    files
}

fn readme(files: &[File]) -> String {
    let mut out = String::from(
        "# Test sessions\n\nWritten by `cargo run -p xtask -- testdata`; a test compares them with the generator, so change that and run it \
         again. All text is made up. Tests that need another session build it with `tests/common/sessions.rs`.\n",
    );
    let parts = [
        ("sessions", "Whole sessions of several agents and format versions."),
        ("damaged", "One file a kind of damage, named after the problem code that `inspect` reports."),
        ("cases", "Small sessions for faults that users of such tools reported, named after the case that a test covers."),
    ];
    for (folder, about) in parts {
        let _ = write!(out, "\n## {folder}/\n\n{about}\n\n| file | bytes | lines | what it shows |\n|---|---:|---:|---|\n");
        for file in files {
            let Some(name) = file.path.strip_prefix(folder).and_then(|name| name.strip_prefix('/')) else {
                continue;
            };
            let lines = file.bytes.iter().filter(|byte| **byte == b'\n').count();
            let about = file.about.replace('|', "\\|");
            let _ = writeln!(out, "| {name} | {} | {lines} | {about} |", file.bytes.len());
        }
    }
    out.push_str(
        "\nToo large to be files, built by their tests: single lines of many MB, files of many GB, arguments nested 100,000 deep.\n",
    );
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

    use std::collections::{BTreeMap, BTreeSet, HashMap};
    use std::path::PathBuf;

    use serde_json::Value;

    use super::*;

    fn committed() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
    }

    fn below(dir: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![dir.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(dir).unwrap().to_str().unwrap().replace('\\', "/");
                    found.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        found
    }

    fn get(path: &str) -> Vec<u8> {
        files().into_iter().find(|file| file.path == path).unwrap().bytes
    }

    fn entries(path: &str) -> Vec<Value> {
        get(path).split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    #[test]
    fn the_committed_files_are_what_the_generator_writes() {
        let fresh = tempfile::tempdir().unwrap();
        write(fresh.path()).unwrap();
        let (fresh, mut committed) = (below(fresh.path()), below(&committed()));
        // Answers that were recorded, not generated; the tests of triggers read them.
        assert!(committed.remove("triggers.json").is_some());
        // What the summarizer made of ten sessions; its own tests compare them.
        committed.retain(|name, _| !name.starts_with("summaries/"));
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&fresh), names(&committed), "run `cargo run -p xtask -- testdata`");
        for (name, bytes) in &fresh {
            assert!(*bytes == committed[name], "{name} differs: run `cargo run -p xtask -- testdata`");
        }
    }

    #[test]
    fn no_two_files_have_one_name() {
        let files = files();
        let names: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names.len(), files.len());
    }

    #[test]
    fn all_files_together_stay_small() {
        assert!(files().iter().map(|file| file.bytes.len()).sum::<usize>() < 1_500_000);
        assert!((60_000..100_000).contains(&get("sessions/small.jsonl").len()));
        assert!((200_000..600_000).contains(&get("sessions/long.jsonl").len()));
    }

    #[test]
    fn sessions_are_whole_trees() {
        for path in ["small", "long", "pi", "openclaw", "v2", "v4-future"] {
            let path = format!("sessions/{path}.jsonl");
            let mut seen: HashMap<String, String> = HashMap::new();
            let mut calls = BTreeSet::new();
            for entry in entries(&path).iter().filter(|entry| entry["type"] != "session") {
                let Some(id) = entry["id"].as_str() else {
                    continue;
                };
                if let Some(parent) = entry["parentId"].as_str() {
                    assert!(seen.contains_key(parent), "{path}: {id} has no parent {parent}");
                }
                let known = seen.insert(id.to_owned(), entry["type"].to_string());
                assert_eq!(known, None, "{path}: {id} is there twice");
                for key in ["targetId", "firstKeptEntryId", "fromId"] {
                    if let Some(target) = entry[key].as_str() {
                        assert!(seen.contains_key(target), "{path}: {key} {target} is unknown");
                    }
                }
                for block in entry["message"]["content"].as_array().into_iter().flatten() {
                    if block["type"] == "toolCall" {
                        assert!(calls.insert(block["id"].as_str().unwrap().to_owned()));
                    }
                }
                if let Some(call) = entry["message"]["toolCallId"].as_str() {
                    assert!(calls.contains(call), "{path}: result {id} answers nothing");
                }
            }
        }
    }

    #[test]
    fn title_slots_are_256_bytes() {
        for path in ["sessions/small.jsonl", "sessions/long.jsonl", "cases/R09-title-slot.jsonl"] {
            assert_eq!(get(path).iter().position(|byte| *byte == b'\n'), Some(255), "{path}");
        }
    }

    #[test]
    fn the_long_session_holds_what_its_table_line_says() {
        let entries = entries("sessions/long.jsonl");
        let tree: Vec<&Value> = entries.iter().filter(|entry| entry.get("parentId").is_some()).collect();
        let parents: BTreeSet<&str> = tree.iter().filter_map(|entry| entry["parentId"].as_str()).collect();
        let leaves = tree.iter().filter(|entry| !parents.contains(entry["id"].as_str().unwrap())).count();
        let of = |kind: &str| tree.iter().filter(|entry| entry["type"] == kind).count();
        assert_eq!((leaves, of("compaction"), of("branch_summary")), (4, 2, 1));
        assert!((250..350).contains(&tree.len()), "{}", tree.len());
        assert_eq!(tree.last().unwrap()["message"]["role"], "user");
    }

    #[test]
    fn fillers_have_the_length_they_are_asked_for() {
        use crate::sessions::{image, png_of_len, words};
        assert_eq!(words(2000).len(), 2000);
        assert_eq!(image(4000)["data"].as_str().unwrap().len(), 4000);
        assert_eq!(png_of_len(8, 8, 5000).len(), 5000);
    }
}
