//! Which files a session read and changed, and the tag that tells them at the end of a summary.

use std::collections::BTreeSet;
use std::io;

use super::tokens::Tokenizer;
use crate::session::message::Call;
use crate::session::{Block, Ix, Json, Kind, Message, Role, Session};

/// Files that were read and files that were changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Every path that was read.
    pub read: BTreeSet<String>,
    /// Every path that was written or edited.
    pub modified: BTreeSet<String>,
    /// How many of those that the tag can name it leaves out, because there is no room.
    unnamed: usize,
}

/// How a tool touches a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Modify,
}

/// The tools of the agents, and the argument that names the file. The first three are pi's and oh-my-pi's; the others
/// come from sessions that were imported from elsewhere.
const TOOLS: &[(&str, Access, &str)] = &[
    ("read", Access::Read, "path"),
    ("write", Access::Modify, "path"),
    ("edit", Access::Modify, "path"),
    ("Read", Access::Read, "file_path"),
    ("Write", Access::Modify, "file_path"),
    ("Edit", Access::Modify, "file_path"),
    ("MultiEdit", Access::Modify, "file_path"),
    ("NotebookEdit", Access::Modify, "notebook_path"),
    ("read_file", Access::Read, "path"),
    ("write_file", Access::Modify, "path"),
    ("edit_file", Access::Modify, "path"),
];

/// The tools that change a file by what stands in their arguments, by other names.
const REPLACERS: &[&str] = &["str_replace", "str_replace_editor", "str_replace_based_edit_tool"];

/// Whether a tool writes what its arguments hold into one file that an argument names.
#[must_use]
pub fn is_write(tool: &str) -> bool {
    REPLACERS.contains(&tool) || TOOLS.iter().any(|(name, access, _)| *name == tool && *access == Access::Modify)
}

impl Files {
    /// Adds what a tool call touches.
    pub fn add_call(&mut self, call: &Call<'_>) {
        if REPLACERS.contains(&call.name.as_ref()) {
            let looks = call.args.get("command").str() == Some("view");
            if let Some(path) = call.args.get("path").str() {
                self.add(if looks { Access::Read } else { Access::Modify }, path);
            }
            return;
        }
        if call.name == "apply_patch" {
            let patch = call.args.get("patch").str().or(call.args.get("input").str()).unwrap_or_default();
            for line in patch.lines() {
                let path = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "]
                    .iter()
                    .find_map(|mark| line.strip_prefix(mark));
                if let Some(path) = path {
                    self.add(Access::Modify, path.trim());
                }
            }
            return;
        }
        for (tool, access, argument) in TOOLS {
            if call.name == *tool
                && let Some(path) = call.args.get(argument).str()
            {
                self.add(*access, path);
            }
        }
    }

    /// Adds the calls of a message.
    pub fn add_message(&mut self, message: &Message<'_>) {
        if message.role != Role::Assistant {
            return;
        }
        for block in &message.blocks {
            if let Block::Call(call) = block {
                self.add_call(call);
            }
        }
    }

    /// Adds the lists of an earlier summary's `details`.
    pub fn add_details(&mut self, details: &Json<'_>) {
        let list = |key: &str| details.get(key).items().iter().filter_map(Json::str).map(str::to_owned).collect::<Vec<_>>();
        self.read.extend(list("readFiles"));
        self.modified.extend(list("modifiedFiles"));
    }

    fn add(&mut self, access: Access, path: &str) {
        if path.is_empty() || has_scheme(path) {
            return;
        }
        match access {
            Access::Read => {
                let path = strip_selector(path);
                if !path.is_empty() {
                    self.read.insert(path.to_owned());
                }
            }
            Access::Modify => {
                self.modified.insert(path.to_owned());
            }
        }
    }

    /// Paths that were read and never changed, sorted.
    #[must_use]
    pub fn only_read(&self) -> Vec<&str> {
        self.read.difference(&self.modified).map(String::as_str).collect()
    }

    /// Paths that were changed, sorted.
    #[must_use]
    pub fn changed(&self) -> Vec<&str> {
        self.modified.iter().map(String::as_str).collect()
    }

    /// Lets the tag name fewer files until it takes no more than half of a summary of so many tokens.
    pub fn fit(&mut self, summary_tokens: u64, tokenizer: Tokenizer) {
        self.unnamed = 0;
        while self.unnamed < MOST_FILES && tokenizer.count(&self.tag()) > summary_tokens / 2 {
            self.unnamed += 1;
        }
    }

    /// The `<files>` tag, empty when there are no files.
    #[must_use]
    pub fn tag(&self) -> String {
        let all: BTreeSet<&str> = self.read.iter().chain(&self.modified).map(String::as_str).collect();
        if all.is_empty() {
            return String::new();
        }
        let mut root = Folder::default();
        let named = all.len().min(MOST_FILES).saturating_sub(self.unnamed);
        for path in all.iter().take(named) {
            let mark = match (self.read.contains(*path), self.modified.contains(*path)) {
                (true, true) => "RW",
                (false, true) => "Write",
                _ => "Read",
            };
            root.insert(path, mark);
        }
        let mut lines = Vec::new();
        root.render(&mut lines, 0, "");
        if all.len() > named {
            // In the agents' words, whatever the number.
            lines.push(format!("… ({} more files omitted)", all.len() - named));
        }
        format!("<files>\n{}\n</files>", lines.join("\n"))
    }
}

/// Files that the tag names; the full lists stand in the entry's `details`.
const MOST_FILES: usize = 20;

/// A folder of the tag's tree. Order is the order of insertion, which is sorted.
#[derive(Default)]
struct Folder {
    files: Vec<(String, &'static str)>,
    folders: Vec<(String, Folder)>,
}

impl Folder {
    fn insert(&mut self, path: &str, mark: &'static str) {
        // Inside the tag a backslash separates folders like a slash, and a leading slash belongs to the first heading.
        let path = path.replace('\\', "/");
        let (lead, rest) = match path.strip_prefix('/') {
            Some(rest) => ("/", rest),
            None => ("", path.as_str()),
        };
        let mut parts: Vec<String> = rest.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let Some(name) = parts.pop() else { return };
        match parts.first_mut() {
            Some(first) => first.insert_str(0, lead),
            None if !lead.is_empty() => parts.push(String::new()),
            None => {}
        }
        let mut folder = self;
        for part in parts {
            let at = folder.folders.iter().position(|(name, _)| *name == part).unwrap_or_else(|| {
                folder.folders.push((part, Folder::default()));
                folder.folders.len() - 1
            });
            match folder.folders.get_mut(at) {
                Some((_, next)) => folder = next,
                None => return,
            }
        }
        folder.files.push((name, mark));
    }

    fn render(&self, lines: &mut Vec<String>, depth: usize, prefix: &str) {
        if !prefix.is_empty() {
            if let ([], [(name, only)]) = (self.files.as_slice(), self.folders.as_slice()) {
                // A folder with nothing but one folder in it is told together with that one.
                return only.render(lines, depth, &format!("{prefix}{name}/"));
            }
            lines.push(format!("{} {prefix}", "#".repeat(depth)));
        }
        for (name, mark) in &self.files {
            lines.push(format!("{name} ({mark})"));
        }
        for (name, folder) in &self.folders {
            folder.render(lines, depth + 1, &format!("{name}/"));
        }
    }
}

/// Whether a path is a URL-like name: `https://…`, `skill://…`, `artifact://…`.
#[must_use]
pub fn has_scheme(path: &str) -> bool {
    path.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Takes a trailing selector off a path that was read: `:50`, `:50-200`, `:5-16,960-973`, `:raw`, `:conflicts`, and two of
/// them together (`:1-50:raw`). `C:10` is a drive with a file named 10.
#[must_use]
pub fn strip_selector(path: &str) -> &str {
    split_selector(path).0
}

/// A path and its selector.
#[must_use]
pub fn split_selector(path: &str) -> (&str, Option<&str>) {
    let mut rest = path;
    for _ in 0..2 {
        match rest.rsplit_once(':') {
            Some((head, selector)) if is_selector(selector) && !is_drive(head) && !head.is_empty() => rest = head,
            _ => break,
        }
    }
    let selector = path.get(rest.len() + 1..).filter(|s| !s.is_empty());
    (rest, selector)
}

fn is_drive(head: &str) -> bool {
    head.len() == 1 && head.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn is_selector(text: &str) -> bool {
    let number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let range = |s: &str| match s.split_once(['-', '+']) {
        Some((from, to)) => number(from) && (to.is_empty() || number(to)),
        None => number(s),
    };
    matches!(text, "raw" | "conflicts") || (!text.is_empty() && text.split(',').all(range))
}

/// The files of a compaction: what its messages touched, and what the latest compaction's `details` list.
///
/// # Errors
/// When an entry cannot be read.
pub fn of_compaction(session: &Session, previous: Option<Ix>, messages: &[Ix]) -> io::Result<Files> {
    let mut files = Files::default();
    if let Some(previous) = previous.filter(|ix| session[*ix].kind == Kind::Compaction) {
        let payload = session.read(previous)?;
        let text = payload.text();
        let record = Json::parse(&text).unwrap_or(Json::Null);
        // An extension's lists mean what the extension wants them to mean.
        if !record.get("fromExtension").is_true() && !record.get("fromHook").is_true() {
            files.add_details(record.get("details"));
        }
    }
    for ix in messages.iter().copied().filter(|ix| !session.calls(*ix).is_empty()) {
        session.with_message(ix, |message| files.add_message(message))?;
    }
    Ok(files)
}

/// Takes older file tags out of a summary that is carried on.
#[must_use]
pub fn strip_tags(summary: &str) -> String {
    let mut text = summary.to_owned();
    for name in ["files", "read-files", "modified-files"] {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(start) = text.find(&open) {
            let end = text.get(start..).and_then(|rest| rest.find(&close)).map_or(start + open.len(), |at| start + at + close.len());
            text.replace_range(start..end, "");
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_ranges_and_not_part_of_the_name() {
        let rows = [
            ("src/a.ts:50", "src/a.ts"),
            ("src/a.ts:50-200", "src/a.ts"),
            ("src/a.ts:5-16,960-973", "src/a.ts"),
            ("src/a.ts:raw", "src/a.ts"),
            ("src/a.ts:1-50:raw", "src/a.ts"),
            ("src/a.ts:conflicts", "src/a.ts"),
            ("src/a.ts", "src/a.ts"),
            ("src/a.ts:main", "src/a.ts:main"),
            (r"C:\w\a.rs:10-20", r"C:\w\a.rs"),
            (r"C:\w\a.rs", r"C:\w\a.rs"),
            ("C:10", "C:10"),
            (":50", ":50"),
        ];
        for (path, want) in rows {
            assert_eq!(strip_selector(path), want, "{path}");
        }
    }

    #[test]
    fn the_tag_is_a_folded_tree() {
        let mut files = Files::default();
        for path in [
            "packages/agent/src/compaction/compaction.ts",
            "packages/agent/src/compaction/utils.ts",
            "/etc/hosts",
            "Cargo.toml",
            r"C:\desk\notes.txt",
        ] {
            files.add(Access::Read, path);
        }
        for path in ["packages/agent/src/compaction/prompts/file-operations.md", "packages/agent/src/compaction/utils.ts"] {
            files.add(Access::Modify, path);
        }
        let want = "<files>\nCargo.toml (Read)\n# /etc/\nhosts (Read)\n# C:/desk/\nnotes.txt (Read)\n# packages/agent/src/compaction/\ncompaction.ts (Read)\nutils.ts (RW)\n## prompts/\nfile-operations.md (Write)\n</files>";
        assert_eq!(files.tag(), want);
        assert_eq!(files.changed(), ["packages/agent/src/compaction/prompts/file-operations.md", "packages/agent/src/compaction/utils.ts"]);
        assert_eq!(files.only_read(), ["/etc/hosts", r"C:\desk\notes.txt", "Cargo.toml", "packages/agent/src/compaction/compaction.ts"]);
    }

    #[test]
    fn a_tag_takes_half_of_a_summary_at_most() {
        let path = |n: usize| format!("crates/engine/of/the/whole/project/src/module_{n}/implementation.rs");
        let mut files = Files { modified: (0..25).map(path).collect(), ..Files::default() };
        for (summary, is_whole) in [(4_096, true), (300, false), (120, false), (4_096, true)] {
            files.fit(summary, Tokenizer::Heuristic);
            let tag = files.tag();
            assert!(Tokenizer::Heuristic.count(&tag) <= summary / 2, "{tag}");
            let of_tag = tag.matches("(Write)").count();
            assert_eq!(of_tag == 20, is_whole, "{tag}");
            assert!(tag.contains(&format!("… ({} more files omitted)", 25 - of_tag)), "{tag}");
        }
    }

    #[test]
    fn tags_of_earlier_versions_are_taken_out() {
        let summary = "Goal\n\n<read-files>\na\n</read-files>\n<modified-files>\nb\n</modified-files>\n<files>\nc (Read)\n</files>\n";
        assert_eq!(strip_tags(summary), "Goal");
    }
}
