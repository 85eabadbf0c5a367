//! The transcript as plain text: what everybody can read, search and print. What was said is indented, headings of ours are
//! not, so no text of a session can pass for one.

use std::fmt::Write;

use super::diff::Line;
use super::model::{Part, Shown, What};
use super::{About, title_of};

/// The first lines.
#[must_use]
pub fn head(about: &About) -> String {
    let mut out = format!("{}\n", about.title);
    for (name, value) in about.rows() {
        let _ = writeln!(out, "{name}: {value}");
    }
    out.push('\n');
    out
}

/// One entry.
#[must_use]
pub fn entry(shown: &Shown) -> String {
    let title = title_of(shown);
    if matches!(shown.what, What::Note | What::Reset) {
        let said = shown.parts.iter().map(|part| if let Part::Note(note) = part { note.as_str() } else { "" });
        return format!("· {title}{}\n\n", said.collect::<Vec<_>>().join(" "));
    }
    let mut heading = if matches!(shown.what, What::Compaction { .. }) {
        format!("──── {title} ────")
    } else {
        format!("── {title}")
    };
    if !shown.time.is_empty() {
        let _ = write!(heading, "  {}", shown.time);
    }
    let _ = write!(heading, "  {}", shown.id);
    if let Some(label) = &shown.label {
        let _ = write!(heading, "  [{label}]");
    }
    if !shown.on_path {
        heading.push_str("  (another branch)");
    }
    let mut out = format!("{heading}\n");
    for part in &shown.parts {
        for line in said(part).lines() {
            let line = format!("  {line}");
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out.push('\n');
    out
}

/// A part in words.
fn said(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking(text) => format!("(thinking)\n{text}\n(end of thinking)"),
        Part::Output(output) => output.text.clone(),
        Part::Command(command) => format!("$ {command}"),
        Part::Failure(why) => format!("(failed) {why}"),
        Part::Note(note) => format!("({note})"),
        Part::Picture(picture) => picture.note(),
        Part::Call(call) => {
            let mut out = format!("→ {}", call.tool);
            if call.args.len() <= 1 && call.diff.is_empty() && call.args.iter().all(|(_, v)| *v == call.about) {
                let _ = write!(out, " {}", call.about);
                return out;
            }
            for (key, value) in &call.args {
                let separator = if value.contains('\n') { "\n" } else { " " };
                let _ = write!(out, "\n    {key}:{separator}{}", value.replace('\n', "\n      "));
            }
            for line in &call.diff {
                let _ = match line {
                    Line::Same(text) => write!(out, "\n      {text}"),
                    Line::Gone(text) => write!(out, "\n    - {text}"),
                    Line::New(text) => write!(out, "\n    + {text}"),
                };
            }
            out
        }
    }
}
