//! The README as a new user reads it: every command in it is run, its tables are compared with the code, its links lead
//! somewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice, clippy::print_stdout)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a test cannot run: it would run itself, install something, or take minutes. Whole lines, each with its reason.
const NOT_RUN: &[&str] = &[
    "cargo test --workspace",
    "cargo install --path .",
    "python3 benches/whole.py --epitome target/release/epitome --source testdata/sessions/long.jsonl",
    "python3 benches/frames.py speed --epitome target/release/epitome\npython3 benches/frames.py legibility --epitome target/release/epitome",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The `sh` blocks with the line that each begins on.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        if line == "```sh" {
            found.push((at + 2, String::new()));
            inside = true;
        } else if line.starts_with("```") {
            inside = false;
        } else if inside {
            let block = &mut found.last_mut().unwrap().1;
            block.push_str(line);
            block.push('\n');
        }
    }
    found
}

/// A block as a script that stops at the first command whose exit code is not what the README says: 0, or `# exit N`.
fn script(block: &str) -> String {
    let mut out = String::new();
    for line in block.lines() {
        let line = line.replace("cargo run --release -- ", "epitome ");
        match line.split_once("# exit ") {
            Some((command, code)) => out.push_str(&format!("code=0; {command} || code=$?; test \"$code\" -eq {}\n", code.trim())),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).unwrap();
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// A clone with the sessions, a home with an agent's sessions, and the program on the PATH.
fn machine() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    copy(&root().join("testdata"), &at("clone/testdata"));
    copy(&root().join("assets/hooks"), &at("clone/assets/hooks"));
    copy(&root().join("testdata/sessions"), &at("home/.omp/agent/sessions/project"));
    for old in ["v1.jsonl", "v2.jsonl"] {
        fs::remove_file(at("home/.omp/agent/sessions/project").join(old)).unwrap();
    }
    fs::create_dir_all(at("clone/target")).unwrap();
    fs::create_dir_all(at("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_epitome"), at("bin/epitome")).unwrap();
    dir
}

#[test]
fn every_command_does_what_the_readme_says() {
    let jq = Command::new("jq").arg("--version").output().is_ok_and(|output| output.status.success());
    let machine = machine();
    let mut not_run: Vec<&str> = NOT_RUN.to_vec();
    let mut run = 0;
    for (line, block) in blocks(&readme()) {
        if let Some(at) = not_run.iter().position(|command| block.trim() == *command) {
            not_run.remove(at);
            continue;
        }
        if !jq && block.contains("jq ") {
            println!("skipped: README.md:{line} (jq is not installed)");
            continue;
        }
        let path = format!("{}:{}", machine.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &script(&block)])
            .current_dir(machine.path().join("clone"))
            .env_clear()
            .env("PATH", path)
            .env("HOME", machine.path().join("home"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "README.md:{line}: {}\n{block}{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        run += 1;
    }
    assert!(run >= if jq { 10 } else { 6 }, "only {run} blocks were run");
    assert!(not_run.is_empty(), "no longer in the README: {not_run:?}");
}

#[test]
fn a_command_that_fails_is_noticed() {
    let fails = |block: &str| !Command::new("bash").args(["-euo", "pipefail", "-c", &script(block)]).status().unwrap().success();
    assert!(fails("false | cat\n"));
    assert!(fails("true    # exit 4\n"));
    assert!(!fails("(exit 4)    # exit 4\n"));
}

#[test]
fn the_settings_table_is_that_of_the_code() {
    let text = readme();
    let (_, rest) = text.split_once("<!-- settings:").unwrap();
    let (table, _) = rest.split_once("<!-- end of settings -->").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), epitome::settings::NAMES.len());
    for (row, name) in rows.iter().zip(epitome::settings::NAMES) {
        let begin = format!("| `{}` | `{}` | `{}` | ", name.key, name.flag, name.env);
        assert!(row.starts_with(&begin), "{row}\nis not\n{begin}…");
        let default = match name.default.parse::<u64>() {
            Ok(n @ 1_000..) => format!("{},{:03} ", n / 1000, n % 1000),
            Ok(n) => format!("{n} "),
            Err(_) => format!("`{}`", name.default),
        };
        assert!(name.default.is_empty() || row[begin.len()..].starts_with(&default), "{row}: the default is {}", name.default);
    }
}

#[test]
fn every_link_leads_somewhere() {
    for page in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        for target in targets.filter(|target| !target.starts_with("http") && !target.starts_with('#')) {
            assert!(root().join(target).exists(), "{page}: {target} is not there");
        }
    }
}
