//! The transcript as Markdown, for notes, issues and wikis.
//!
//! What people and models say is Markdown already and stays that; but it is put so that it cannot end what it stands in: its
//! headings are set two levels below ours, its tags are text, a fence that it opens is closed. Output of tools stands in
//! fences longer than any run of backticks inside.

use std::fmt::Write;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::diff::Line;
use super::model::{Part, Shown, What};
use super::pictures::Picture;
use super::{About, title_of};

/// Lines of output above which it is folded.
const FOLD: usize = 24;
/// Characters up to which an argument stands on one line.
const SMALL: usize = 200;

/// The first lines.
#[must_use]
pub fn head(about: &About) -> String {
    let mut out = format!("# {}\n\n", inline(&about.title));
    for (name, value) in about.rows() {
        let _ = writeln!(out, "- {name}: {}", inline(&value));
    }
    out.push('\n');
    out
}

/// One entry; `folder` is where pictures are put, as a link says it.
#[must_use]
pub fn entry(shown: &Shown, folder: Option<&str>) -> String {
    let title = inline(&title_of(shown));
    let label = shown.label.as_ref().map(|label| format!(" · **{}**", inline(label))).unwrap_or_default();
    let branch = if shown.on_path { "" } else { " · another branch" };
    let time = if shown.time.is_empty() { String::new() } else { format!(" · {}", inline(&shown.time)) };
    let mut out = match &shown.what {
        What::Note | What::Reset => {
            let said: Vec<String> =
                shown.parts.iter().map(|part| if let Part::Note(note) = part { inline(note) } else { String::new() }).collect();
            return format!("*{title}{}*{label}\n\n", said.join(" "));
        }
        What::Compaction { .. } => {
            let mut out = format!("---\n\n**{title}**{time}{label}{branch}\n\n");
            let inside: String = shown.parts.iter().map(|part| self::part(part, folder)).collect();
            if !inside.is_empty() {
                let _ = write!(out, "<details><summary>Summary</summary>\n\n{inside}</details>\n\n---\n\n");
            }
            return out;
        }
        // A result belongs to the answer above it.
        What::Result { .. } => format!("**{title}**{label}{branch}\n\n"),
        _ => format!("## {title}{time}{label}{branch}\n\n"),
    };
    for part in &shown.parts {
        out.push_str(&self::part(part, folder));
    }
    out
}

fn part(part: &Part, folder: Option<&str>) -> String {
    match part {
        Part::Text(text) => format!("{}\n\n", contained(text)),
        Part::Thinking(text) => format!("<details><summary>Thinking</summary>\n\n{}\n\n</details>\n\n", contained(text)),
        Part::Output(output) => folded("Output", &output.text, if output.is_diff { "diff" } else { "" }),
        Part::Command(command) => format!("{}\n", fenced(command, "sh")),
        Part::Failure(why) => format!("> **Failed:** {}\n\n", inline(why)),
        Part::Note(note) => format!("*{}*\n\n", inline(note)),
        Part::Picture(picture) => match (picture.file_name(), folder) {
            (Some(name), Some(folder)) => format!("![{}]({folder}/{name})\n\n", inline(picture.note().trim_matches(['[', ']']))),
            _ => format!("*{}*\n\n", inline(&picture.note())),
        },
        Part::Call(call) => {
            let about = if call.about.is_empty() { String::new() } else { format!(" {}", code(&call.about)) };
            let mut out = format!("→ **{}**{about}\n\n", inline(&call.tool));
            if !call.diff.is_empty() {
                let lines = call.diff.iter().map(|line| match line {
                    Line::Same(text) => format!(" {text}\n"),
                    Line::Gone(text) => format!("-{text}\n"),
                    Line::New(text) => format!("+{text}\n"),
                });
                out.push_str(&folded("Change", &lines.collect::<String>(), "diff"));
            }
            let (long, small): (Vec<_>, Vec<_>) = call
                .args
                .iter()
                .filter(|(_, value)| *value != call.about)
                .partition(|(_, value)| value.contains('\n') || value.chars().nth(SMALL).is_some());
            for (key, value) in &small {
                let _ = writeln!(out, "- {}: {}", inline(key), code(value));
            }
            if !small.is_empty() {
                out.push('\n');
            }
            for (key, value) in long {
                let _ = write!(out, "{}:\n\n{}", inline(key), folded(key, value, ""));
            }
            out
        }
    }
}

/// A block that is folded when it is long.
fn folded(name: &str, text: &str, language: &str) -> String {
    let lines = text.lines().count();
    if lines <= FOLD {
        return format!("{}\n", fenced(text, language));
    }
    format!("<details><summary>{}, {lines} lines</summary>\n\n{}\n</details>\n\n", inline(name), fenced(text, language))
}

/// A block of code in a fence that nothing inside can close.
fn fenced(text: &str, language: &str) -> String {
    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// A code span that nothing inside can close.
fn code(text: &str) -> String {
    let text = text.replace('\n', " ");
    let marks = "`".repeat(longest_run(&text, '`') + 1);
    let space = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) || text.is_empty() { " " } else { "" };
    format!("{marks}{space}{text}{space}{marks}")
}

fn longest_run(text: &str, mark: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == mark { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Text on one line in which no character is a mark.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' | '>' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Levels by which headings of content are set below ours.
const BELOW: usize = 2;
/// How often text is read anew before it is shown as it is written.
const MOST_ROUNDS: usize = 20;

/// Markdown that cannot end what it stands in.
#[must_use]
pub fn contained(text: &str) -> String {
    let mut text = text.trim_end().to_owned();
    // What follows a tag that has become text is read anew, so this goes on until there is no tag.
    for round in 0.. {
        match without_tags(&text) {
            None => break,
            Some(_) if round == MOST_ROUNDS => return fenced(&text, "").trim_end().to_owned(),
            Some(escaped) => text = escaped,
        }
    }
    let mut changes: Vec<(usize, &str)> = Vec::new();
    let mut close = String::new();
    let mut inside = 0_usize;
    for (event, range) in Parser::new(&text).into_offset_iter() {
        let Some(source) = text.get(range.clone()) else { continue };
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let indent = source.len() - source.trim_start_matches([' ', '>', '\t']).len();
                if source.get(indent..).is_some_and(|s| s.starts_with('#')) {
                    let deeper = BELOW.min(6 - (level as usize).min(6));
                    changes.push((range.start + indent, "##".get(..deeper).unwrap_or_default()));
                } else if let Some(at) = source.trim_end().rfind('\n') {
                    // The line that makes a heading of the one above it.
                    let line = source.get(at + 1..).unwrap_or_default();
                    let mark = line.find(['=', '-']).unwrap_or(0);
                    changes.push((range.start + at + 1 + mark, "\\"));
                }
            }
            // In a list or a quotation a fence ends with that.
            Event::Start(Tag::List(_) | Tag::BlockQuote(_)) => inside += 1,
            Event::End(TagEnd::List(_) | TagEnd::BlockQuote(_)) => inside = inside.saturating_sub(1),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if inside == 0 && range.end >= text.len() => {
                close = closing_fence(source)
            }
            _ => {}
        }
    }
    for (at, with) in changes.into_iter().rev() {
        if text.is_char_boundary(at) {
            text.insert_str(at, with);
        }
    }
    if !close.is_empty() {
        text.push('\n');
        text.push_str(&close);
    }
    text
}

/// The fence that a block at the end of a text still needs.
fn closing_fence(source: &str) -> String {
    let open = source.trim_start();
    let mark = open.chars().next().unwrap_or('`');
    let run = open.chars().take_while(|c| *c == mark).count();
    let last = source.lines().skip(1).last().unwrap_or_default().trim_matches([' ', '>', '\t']);
    let closed = last.chars().count() >= run && last.chars().all(|c| c == mark);
    if closed { String::new() } else { mark.to_string().repeat(run) }
}

/// The text with every `<` that opens a tag or a comment as text; `None` when there is none.
fn without_tags(text: &str) -> Option<String> {
    let mut at = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        if matches!(event, Event::Html(_) | Event::InlineHtml(_)) {
            let source = text.get(range.clone()).unwrap_or_default();
            at.extend(source.match_indices('<').map(|(i, _)| range.start + i));
        }
    }
    if at.is_empty() {
        return None;
    }
    at.sort_unstable();
    at.dedup();
    let mut out = String::with_capacity(text.len() + at.len() * 3);
    let mut done = 0;
    for place in at {
        out.push_str(text.get(done..place)?);
        out.push_str("&lt;");
        done = place + 1;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// Whether a picture of an entry is put beside the file.
#[must_use]
pub fn pictures(shown: &Shown) -> Vec<Picture> {
    let of = |part: &Part| match part {
        Part::Picture(picture) => Some(picture.clone()),
        _ => None,
    };
    shown.parts.iter().filter_map(of).filter(|p| p.file_name().is_some()).collect()
}
