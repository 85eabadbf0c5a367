//! The summary that is to be updated, read back into items: ours, the agents' own Markdown, or free text.
//!
//! Nothing is pasted. Items that the session has finished since move on, names go back into the pool where new ones
//! compete with them, and what is left is older, so it fades first.

use super::facts::{Change, NOWHERE, Voice};
use super::names;
use super::notes::Notes;
use super::select::Section;
use super::words;
use crate::session::Ix;

/// One item of an earlier summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Old {
    /// Where it stood.
    pub section: Section,
    /// Its text without mark; quoted lines behind it are joined on.
    pub text: String,
}

/// Bytes of an earlier summary that are read; ours are far smaller.
const MOST_BYTES: usize = 256 << 10;

/// Items of one earlier summary that are read.
const MOST_ITEMS: usize = 800;

/// Reads a summary.
pub(super) fn parse(previous: &str) -> Vec<Old> {
    let mut out: Vec<Old> = Vec::new();
    let mut section = Section::Context;
    let mut seen_heading = false;
    let mut fenced = false;
    let mut in_files = false;
    let mut checked = None;
    for line in crate::text::clip(previous, MOST_BYTES).lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if trimmed.is_empty() || out.len() >= MOST_ITEMS {
            continue;
        }
        if let Some(tag) = trimmed.strip_prefix("&lt;").or(trimmed.strip_prefix('<')) {
            let name = tag.trim_start_matches('/');
            in_files = ["files>", "read-files>", "modified-files>"].iter().any(|f| name.starts_with(f)) && !tag.starts_with('/');
            continue;
        }
        if in_files {
            continue;
        }
        if fenced {
            let code = trimmed.trim_start_matches(['/', '#', '*', ' ']);
            if code.len() > 8 && trimmed.len() < 160 && section == Section::Context {
                push(&mut out, section, format!("Noted `{}`", trimmed.replace('`', "'")));
            }
            continue;
        }
        if let Some(title) = heading(trimmed) {
            if let Some(named) = section_of(title) {
                section = named;
            } else if !seen_heading || trimmed.starts_with("# ") || trimmed.starts_with("## ") {
                section = if trimmed.starts_with("# ") && !seen_heading { Section::Goal } else { Section::Context };
                if trimmed.starts_with("# ") && !seen_heading {
                    push(&mut out, section, title.to_owned());
                    section = Section::Context;
                }
            }
            seen_heading = true;
            continue;
        }
        if matches!(trimmed, "---" | "***" | "(none)" | "None" | "- None" | "- (none)" | "- none" | "N/A")
            || trimmed.starts_with("|--")
            || trimmed.starts_with("|:-")
        {
            continue;
        }
        if let Some(quoted) = trimmed.strip_prefix('>') {
            let quoted = quoted.trim();
            match out.last_mut().filter(|last| last.section == section && last.text.ends_with([':', '”'])) {
                Some(last) if last.text.ends_with(':') => last.text.push_str(&format!(" “{quoted}”")),
                Some(last) => {
                    last.text.pop();
                    last.text.push_str(&format!(" {quoted}”"));
                }
                None => push(&mut out, section, format!("“{quoted}”")),
            }
            continue;
        }
        let listed = ["- ", "* ", "+ ", "• "].iter().any(|mark| trimmed.starts_with(mark)) || words::unmark(trimmed) != trimmed;
        let body = words::unmark(trimmed).trim();
        if body.is_empty() {
            continue;
        }
        if listed || !seen_heading {
            checked = if trimmed.contains("[x]") || trimmed.contains("[X]") || trimmed.contains('✅') {
                Some(true)
            } else if trimmed.contains("[ ]") {
                Some(false)
            } else {
                None
            };
        }
        let target = match (section, checked) {
            (Section::Active | Section::Next, Some(true)) if listed => Section::Done,
            (Section::Done, Some(false)) if listed => Section::Active,
            _ => section,
        };
        if listed && !line.starts_with(' ') && !line.starts_with('\t') || !listed && !line.starts_with(' ') {
            if !seen_heading {
                for sentence in words::sentences(line) {
                    let target = free_section(sentence, out.is_empty());
                    push(&mut out, target, words::plain(sentence).into_owned());
                }
                continue;
            }
            let body = if trimmed.starts_with('|') { row(trimmed) } else { body.to_owned() };
            push(&mut out, target, body);
        } else if listed {
            push(&mut out, target, body.to_owned());
        } else {
            match out.last_mut().filter(|last| last.section == target) {
                Some(last) if last.text.len() < 600 => {
                    last.text.push(' ');
                    last.text.push_str(body);
                }
                _ => push(&mut out, target, body.to_owned()),
            }
        }
    }
    out
}

fn push(out: &mut Vec<Old>, section: Section, text: String) {
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ").replace("**", "");
    if text.chars().count() >= 3 && !out.iter().any(|old| old.section == section && old.text == text) {
        out.push(Old { section, text });
    }
}

fn heading(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        return Some(line.trim_matches('#').trim());
    }
    let bold = line.strip_prefix("**")?.trim_end_matches(':').strip_suffix("**")?;
    (bold.len() < 60).then_some(bold.trim_end_matches(':'))
}

/// Words of headings, in the order in which they decide.
const TITLES: &[(&str, Section)] = &[
    ("next", Section::Next),
    ("todo", Section::Next),
    ("remaining", Section::Next),
    ("pending", Section::Next),
    ("decision", Section::Decisions),
    ("finding", Section::Decisions),
    ("learn", Section::Decisions),
    ("in progress", Section::Active),
    ("current", Section::Active),
    ("blocked", Section::Blocked),
    ("blocker", Section::Blocked),
    ("issue", Section::Blocked),
    ("problem", Section::Blocked),
    ("error", Section::Blocked),
    ("constraint", Section::Rules),
    ("preference", Section::Rules),
    ("rule", Section::Rules),
    ("instruction", Section::Rules),
    ("done", Section::Done),
    ("completed", Section::Done),
    ("progress", Section::Done),
    ("finished", Section::Done),
    ("accomplish", Section::Done),
    ("goal", Section::Goal),
    ("objective", Section::Goal),
    ("request", Section::Goal),
    ("task", Section::Goal),
    ("context", Section::Context),
    ("file", Section::Context),
    ("command", Section::Context),
    ("note", Section::Context),
    ("reference", Section::Context),
    ("branch", Section::Context),
];

fn section_of(title: &str) -> Option<Section> {
    let lower = title.to_lowercase();
    TITLES.iter().find(|(word, _)| lower.contains(word)).map(|(_, section)| *section)
}

/// Where a sentence of free text belongs.
fn free_section(sentence: &str, first: bool) -> Section {
    if first {
        Section::Goal
    } else if words::rule_strength(sentence) >= 2 {
        Section::Rules
    } else if words::says_next(sentence) {
        Section::Next
    } else if words::says_done(sentence) {
        Section::Done
    } else if words::decision_strength(sentence) >= 2 {
        Section::Decisions
    } else {
        Section::Context
    }
}

/// A row of a table as a line.
fn row(line: &str) -> String {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).filter(|c| !c.is_empty()).collect();
    cells.join(" – ")
}

/// A text without anything but letters and digits, for finding duplicates.
pub(super) fn key(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The first text in quotation marks.
pub(super) fn quoted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('“')?;
    rest.rsplit_once('”').map(|(inner, _)| inner)
}

/// What the lines about files of an earlier summary were about last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The file.
    home: u32,
    /// The definition in it.
    owner: u32,
}

impl Default for Place {
    fn default() -> Self {
        Place { home: NOWHERE, owner: NOWHERE }
    }
}

/// Whether a line tells what was done with a file, or what a definition in it calls and uses.
pub(super) fn is_fact_line(text: &str) -> bool {
    let file = ["Edited", "Wrote", "Read"].iter().any(|lead| text.starts_with(lead)) && text.contains('`') && text.ends_with(['.', '`']);
    let mut words = text.split(' ');
    let (first, second, third) = (words.next().unwrap_or_default(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let deed = |word: &str| matches!(word, "calls" | "uses" | "has" | "names");
    file || text.ends_with('.')
        && (first == "It"
            && (deed(second) || second == "also" && deed(third) || text.starts_with("It refers to ") || text.starts_with(LINES))
            || deed(second) && names::shape(first.trim_matches('`')).is_some()
            || first.starts_with('`') && first.ends_with('`') && (deed(second) || second == "works"))
}

/// Opening of a line that tells lines of a file.
pub(super) const LINES: &str = "It was looked at near lines ";

/// Gives names of an earlier summary back to the pool, where they compete with new ones; `place` is what the line before was about.
pub(super) fn take_facts(notes: &mut Notes, text: &str, place: &mut Place) {
    let entry = Ix(0);
    if ["Edited", "Wrote", "Read"].iter().any(|lead| text.starts_with(lead)) {
        place.owner = NOWHERE;
        file_facts(notes, text, place, entry);
        return;
    }
    let subject = text.split(' ').next().unwrap_or_default().trim_matches('`');
    if subject != "It" {
        place.owner = notes.facts.owner(subject);
    } else if !text.starts_with("It also ") {
        place.owner = NOWHERE;
    }
    // It was said before, so it may be said again.
    notes.facts.take(text, Voice::Assistant, place.home, entry);
    if let Some(lines) = text.strip_prefix(LINES) {
        for line in lines.split([' ', ',', '.']) {
            notes.facts.asked_line(line.parse().unwrap_or(0), place.home, entry);
        }
    } else {
        stand(notes, text, subject, place);
    }
}

/// Notes that the names in what was told of `subject` stand there.
fn stand(notes: &mut Notes, told: &str, subject: &str, place: &Place) {
    for part in told.split("; ") {
        let called = part.contains("calls ");
        for name in part.split([' ', ',']).map(|name| name.trim_end_matches('.').trim_matches('`')).filter(|name| *name != subject) {
            notes.facts.stand(name, place.home, place.owner, called);
        }
    }
}

fn file_facts(notes: &mut Notes, text: &str, place: &mut Place, entry: Ix) {
    let mut words = text.split('`');
    let lead = words.next().unwrap_or_default();
    let Some(first) = words.next() else { return };
    let times: u32 = lead.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(1);
    place.home = notes.facts.recall(first, entry, |file| match lead.split(' ').next() {
        Some("Edited") => file.edits += times,
        Some("Wrote") => file.writes += 1,
        _ => file.reads += times,
    });
    notes.facts.take(text, Voice::Assistant, place.home, entry);
    let told = text.split_once("`, where ").or(text.split_once("`, which "));
    if let Some((_, told)) = told {
        let owner = if text.contains("`, where ") { told.split(' ').next() } else { None };
        let owner = owner.map(|owner| owner.trim_matches('`'));
        place.owner = owner.map_or(NOWHERE, |owner| notes.facts.owner(owner));
        stand(notes, told, owner.unwrap_or_default(), place);
        return;
    }
    let Some((_, told)) = text.split_once("`:") else {
        // Files with nothing more to tell share a line.
        for path in words.skip(1).step_by(2) {
            notes.facts.recall(path, entry, |file| file.edits += 1);
        }
        return;
    };
    for part in told.split(';') {
        let part = part.trim_start();
        let (how, names) = match part.split_once(' ') {
            Some(("added", names)) => (Change::Added, names),
            Some(("changed", names)) => (Change::Touched, names),
            _ => continue,
        };
        for name in names.split([' ', ',']).map(|name| name.trim_matches(['`', '.'])).filter(|name| name.len() > 2 && *name != "and") {
            notes.facts.mark(name, how, place.home, entry);
        }
    }
}
