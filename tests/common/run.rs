//! Runs the built program in a folder of its own, away from the settings of the machine and its user, and keeps all that
//! came of it as one value: what a caller of the program can see is what these tests are about.
#![allow(dead_code, unreachable_pub, reason = "included by several test crates; none uses all of it")]

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

/// The time of every run, so that equal runs give equal bytes.
pub const NOW: &str = "2026-01-31T12:00:00Z";

/// A file under `testdata/`.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// A folder in which the program runs.
pub struct Run {
    dir: tempfile::TempDir,
}

impl Run {
    /// An empty folder.
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A folder that holds copies of files under `testdata/`, by their last names.
    pub fn with(names: &[&str]) -> Self {
        let run = Self::new();
        for name in names {
            run.copy(name);
        }
        run
    }

    /// A folder with one session, `s.jsonl`.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        let run = Self::new();
        run.put("s.jsonl", bytes);
        run
    }

    /// Copies a file under `testdata/` into the folder; gives its last name.
    pub fn copy(&self, name: &str) -> String {
        let last = name.rsplit('/').next().unwrap().to_owned();
        self.put(&last, fs::read(testdata(name)).unwrap());
        last
    }

    /// Writes a file, and the folders that it needs.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// The lines of a session as JSON; every one of them must be that.
    pub fn lines(&self, name: &str) -> Vec<Value> {
        self.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The last line of a session as JSON; those before it may be damaged.
    pub fn last(&self, name: &str) -> Value {
        let bytes = self.bytes(name);
        let line = bytes.strip_suffix(b"\n").unwrap().rsplit(|b| *b == b'\n').next().unwrap();
        serde_json::from_slice(line).unwrap()
    }

    /// Names of the files in the folder, sorted, without the sidecars of locks, which are never deleted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.ends_with(".lock.os"));
        names.sort();
        names
    }

    /// The program with exactly these arguments.
    pub fn bare(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.args(args).current_dir(self.dir.path()).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("HOME", self.path("home")).env("XDG_CONFIG_HOME", self.path("home/config"));
        command
    }

    /// The program with a fixed clock and no config file.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.args(["--no-config", "--now", NOW]);
        command
    }

    /// Runs to the end.
    pub fn go(&self, args: &[&str]) -> Out {
        self.end(self.command(args).spawn().unwrap())
    }

    /// Runs with exactly these arguments.
    pub fn go_bare(&self, args: &[&str]) -> Out {
        self.end(self.bare(args).spawn().unwrap())
    }

    /// Runs with more in the environment.
    pub fn go_env(&self, args: &[&str], env: &[(&str, &str)]) -> Out {
        self.end(self.command(args).envs(env.iter().copied()).spawn().unwrap())
    }

    /// Runs with something on standard input.
    pub fn feed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Out {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A program that fails early reads nothing.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        self.end(child)
    }

    /// Runs with `--json`; gives the object of the only session.
    pub fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        self.go(&all).json()
    }

    /// Starts the program with a summarizer that takes its time, and comes back while that is at work.
    pub fn summarizing(&self, args: &[&str], ms: u32) -> Working<'_> {
        let mut command = self.command(args);
        command.args(["--progress", "always"]).env("EPITOME_TEST_SUMMARIZER_DELAY_MS", ms.to_string());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.ends_with("summarizing\n") {
            let read = stderr.read_line(&mut said).unwrap();
            assert!(read > 0, "the program ended before it summarized: {said}");
        }
        Working { run: self, child, stderr }
    }

    /// Waits for a program.
    pub fn end(&self, child: Child) -> Out {
        let output = child.wait_with_output().unwrap();
        let code = output.status.code().unwrap_or(-1);
        Out { stdout: output.stdout, stderr: output.stderr, code, dir: self.dir.path().to_owned() }
    }
}

/// A program whose summarizer is at work.
pub struct Working<'a> {
    run: &'a Run,
    pub child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Working<'_> {
    /// Waits for the end; what was said on standard error before the summary is not kept.
    pub fn end(mut self) -> Out {
        let mut stderr = Vec::new();
        self.stderr.read_to_end(&mut stderr).unwrap();
        Out { stderr, ..self.run.end(self.child) }
    }
}

/// All that came of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Out {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// The exit code; −1 when a signal ended the program.
    pub code: i32,
    dir: PathBuf,
}

impl Out {
    pub fn stdout(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.stderr.clone()).unwrap()
    }

    /// Fails unless the program succeeded.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self}");
        self
    }

    /// The objects on standard output, one a line.
    pub fn jsons(&self) -> Vec<Value> {
        self.stdout().lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
    }

    /// The only object on standard output.
    pub fn json(&self) -> Value {
        let mut all = self.jsons();
        assert_eq!(all.len(), 1, "{self}");
        all.pop().unwrap()
    }

    /// The run as a text in which JSON is laid out.
    pub fn pretty(&self) -> String {
        let stdout: String = self.jsons().iter().map(|value| format!("{value:#}\n")).collect();
        Out { stdout: stdout.into_bytes(), stderr: self.stderr.clone(), code: self.code, dir: self.dir.clone() }.to_string()
    }
}

impl fmt::Display for Out {
    /// One text for snapshots: the exit code, and each stream that is not empty; the folder's own path is `[DIR]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit code {}", self.code)?;
        for (name, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !bytes.is_empty() {
                let text = String::from_utf8_lossy(bytes).replace(&self.dir.display().to_string(), "[DIR]");
                writeln!(f, "──── {name}\n{}", text.strip_suffix('\n').unwrap_or(&format!("{text}⏎ missing")))?;
            }
        }
        Ok(())
    }
}

/// The ids of a list of objects, or of a list of ids.
pub fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|v| v.as_str().or_else(|| v["id"].as_str()).unwrap()).collect()
}

/// Problem codes of a run with `--show problems --json` or `--check --json`, in their order.
pub fn codes(report: &Value) -> Vec<&str> {
    report["problems"].as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect()
}
