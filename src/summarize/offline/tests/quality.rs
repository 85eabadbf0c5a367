//! Whether summaries of whole sessions read well: measured on the sessions of the test data.

use std::collections::HashSet;
use std::path::Path;

use super::build::{Ask, summary_of};
use crate::session::{Json, Session, Source};
use crate::summarize::Purpose;
use crate::summarize::offline::args::strings;
use crate::summarize::offline::names::{self, Shape};

/// Verbs and outcomes, apart from those that end in “ed”; names between marks and quotations do not count.
const VERBS: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "do", "does", "can", "must", "should", "will", "would", "did", "pass", "passes",
    "fail", "fails", "ran", "run", "read", "wrote", "finish", "serve", "replace", "send", "prefer", "check", "tell", "add", "fix", "calls",
    "works", "see", "sees", "break", "leave", "leaves", "left", "came", "found", "takes", "keeps", "made", "knows", "falls", "put", "find",
    "commit", "stays", "use", "get", "gives", "tells", "meets", "set", "holds", "go", "goes", "stands", "begins", "starts", "ends",
    "needs", "need", "uses", "refers", "printed", "working", "doing", "ship", "write", "keep", "port", "delete", "excludes", "accepts",
];

fn session(name: &str) -> (Session, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/sessions").join(name);
    let bytes = std::fs::read(path).unwrap();
    let mut input = String::new();
    for line in String::from_utf8_lossy(&bytes).lines() {
        if let Ok(json) = Json::parse(line) {
            strings(&json, &mut input, 0);
            // Numbers that are no strings, and lines of arguments that are.
            input.push_str(line);
            input.push('\n');
        }
    }
    (Session::open(Source::memory(bytes)).unwrap(), input)
}

/// A line without what stands between quotation marks.
pub(super) fn own_words(line: &str) -> String {
    let mut quoted = 0_i32;
    let mut out = String::new();
    for c in line.chars() {
        match c {
            '“' => quoted += 1,
            '”' => quoted -= 1,
            c if quoted <= 0 => out.push(c),
            _ => {}
        }
    }
    out
}

pub(super) fn has_verb(line: &str) -> bool {
    let prose: Vec<&str> = line.split('`').step_by(2).collect();
    let prose = prose.join(" ").to_lowercase();
    let ends = |word: &str| word.len() > 4 && word.ends_with("ed");
    // Forms of other languages are not listed.
    prose.chars().any(|c| c.is_alphabetic() && !c.is_ascii())
        || prose.split(|c: char| !c.is_alphabetic()).any(|word| VERBS.contains(&word) || ends(word))
}

pub(super) fn names_in(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    names::scan(line, |name| {
        if !matches!(name.shape, Shape::Number | Shape::Kebab | Shape::Version) {
            all.push(name.text.to_owned());
        }
    });
    all
}

#[test]
fn summaries_of_sessions_read_well() {
    for file in ["small.jsonl", "long.jsonl"] {
        let (session, input) = session(file);
        for (budget, purpose) in [
            (700, Purpose::History),
            (2_000, Purpose::History),
            (4_096, Purpose::History),
            (2_000, Purpose::Branch),
            (1_000, Purpose::TurnPrefix),
        ] {
            let text = summary_of(&session, &Ask { budget, purpose, ..Ask::default() }).text();
            let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
            let distinct: HashSet<&str> = lines.iter().copied().collect();
            assert_eq!(distinct.len(), lines.len(), "{file}: a line stands twice in\n{text}");

            // A line that is a quotation with a word or two before it is the user's.
            let own: Vec<String> =
                lines.iter().map(|line| own_words(line)).filter(|own| own.split(char::is_whitespace).count() > 4).collect();
            let mute: Vec<&String> = own.iter().filter(|line| !has_verb(line)).collect();
            assert!(
                mute.len() * 10 <= own.len(),
                "{file}, {budget}: {} of {} lines without a verb: {mute:#?}\n{text}",
                mute.len(),
                own.len()
            );

            let context = text.split("## Critical Context\n").nth(1).unwrap_or_default();
            for line in context.lines() {
                assert!(names_in(line).len() <= 6, "{file}: too many names in {line}");
                assert!(!line.trim_start().starts_with("- {") && !line.contains("\":"), "{file}: {line}");
                for lead in ["Came up", "Seen ", "Noted "] {
                    assert!(!line.contains(lead), "{file}: {line}");
                }
            }
            for name in names_in(&own.join("\n")) {
                let name = name.trim_end_matches('…');
                assert!(input.contains(name), "{file}: {name} stands nowhere in the session\n{text}");
            }
            let number = |word: &&str| word.len() > 2 && word.bytes().all(|b| b.is_ascii_digit());
            for number in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(number) {
                assert!(input.contains(number), "{file}: {number}");
            }
        }
    }
}

#[test]
fn names_that_only_a_test_log_printed_are_not_told() {
    let (session, _) = session("small.jsonl");
    let text = summary_of(&session, &Ask { budget: 4_096, ..Ask::default() }).text();
    for log in ["schedule::tests::", "tide::tests::", "core::panicking", "RUST_BACKTRACE", "serde_core"] {
        assert!(!text.contains(log), "{log} in\n{text}");
    }
}
