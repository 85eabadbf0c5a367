//! The transcript as one HTML file that needs nothing else: no network, no other files, and no script to be read.
//!
//! Whatever a session holds is text on the page. Every byte of it goes through `escape`, addresses are taken only with
//! schemes that do nothing, images only as the four kinds that cannot act, and the content policy allows no style and no
//! script but ours, told by their hashes. Long output is folded, and a browser lays out only what is looked at, so pages of
//! many megabytes open at once.

use std::fmt::Write;

use askama::Template;
use data_encoding::BASE64;
use sha2::{Digest, Sha256};

use super::contents::{self, Content};
use super::diff::Line;
use super::markup;
use super::model::{Call, Output, Part, Shown, What, diff_line};
use super::pictures::Picture;
use super::{About, title_of};
use crate::text::{self, counted};

/// The style of both pages.
pub(super) const STYLE: &str = include_str!("../../assets/report/page.css");
const SCRIPT: &str = include_str!("../../assets/report/transcript.js");

/// Lines of output that are shown before the rest is folded, and how many there must be for that.
const SHOWN: usize = 12;
const FOLD: usize = 18;
/// Bytes of them.
const SHOWN_BYTES: usize = 2_000;
/// Deepest branch that is set in further.
const DEEPEST: usize = 4;

#[derive(Template)]
#[template(path = "transcript_head.html", config = "assets/report/askama.toml")]
struct Head<'a> {
    policy: String,
    about: &'a About,
    rows: Vec<(&'static str, String)>,
    style: &'static str,
}

#[derive(Template)]
#[template(path = "transcript_tail.html", config = "assets/report/askama.toml")]
struct Tail {
    entries: u64,
    contents: String,
    script: &'static str,
}

/// The content policy of a page with this style and script: nothing is loaded from anywhere, nothing else runs.
#[must_use]
pub(super) fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| BASE64.encode(&Sha256::digest(text));
    let script = if script.is_empty() { "'none'".to_owned() } else { format!("'sha256-{}'", hash(script)) };
    format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src {script}; base-uri 'none'; form-action 'none'",
        hash(style)
    )
}

/// The page up to its first entry.
#[must_use]
pub fn head(about: &About) -> String {
    Head { policy: policy(STYLE, SCRIPT), about, rows: about.rows(), style: STYLE }.render().unwrap_or_default()
}

/// The page from its last entry on.
#[must_use]
pub fn tail(entries: u64, contents: &[Content]) -> String {
    Tail { entries, contents: contents::list(contents), script: SCRIPT }.render().unwrap_or_default()
}

/// Writes text so that it is nothing but text, also inside of an attribute.
pub(super) fn escape(text: &str, out: &mut String) {
    // Sixteen bytes at a time, most of which hold nothing to be told apart.
    let special = |byte: &u8| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'');
    let mut done = 0;
    for (number, chunk) in text.as_bytes().chunks(16).enumerate() {
        if !chunk.iter().fold(false, |found, byte| found | special(byte)) {
            continue;
        }
        for (offset, byte) in chunk.iter().enumerate() {
            let entity = match byte {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                b'\'' => "&#39;",
                _ => continue,
            };
            let at = number * 16 + offset;
            out.push_str(text.get(done..at).unwrap_or_default());
            out.push_str(entity);
            done = at + 1;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
}

/// Text as text.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    escape(text, &mut out);
    out
}

/// The anchor of an entry: its id, every character that is no letter or digit spelled out, so two ids are never one anchor.
#[must_use]
pub fn anchor(id: &str) -> String {
    let mut out = "e-".to_owned();
    for c in id.chars() {
        if c.is_ascii_alphanumeric() || c == '-' {
            out.push(c);
        } else {
            let _ = write!(out, "_{:x}_", u32::from(c));
        }
    }
    out
}

/// One entry.
#[must_use]
pub fn entry(shown: &Shown) -> String {
    let mut out = String::new();
    let id = anchor(&shown.id);
    let place = place(shown);
    if shown.begins > 0 {
        let entries = counted(shown.begins as u64, "entry");
        let _ = writeln!(out, "<p class=\"fork{place}\">A branch that was left: {entries}</p>");
    }
    match &shown.what {
        What::Note | What::Reset => {
            let _ = write!(out, "<p class=\"note{place}\" id=\"{id}\">{}", escaped(&title_of(shown)));
            for part in &shown.parts {
                if let Part::Note(note) = part {
                    escape(note, &mut out);
                }
            }
            out.push_str("</p>\n");
        }
        What::Compaction { .. } => {
            let _ = write!(out, "<section class=\"divider{place}\" id=\"{id}\" aria-label=\"Compaction\">");
            let title = escaped(&title_of(shown));
            if shown.parts.is_empty() {
                let _ = write!(out, "<header>{title}</header>");
            } else {
                let _ = write!(out, "<details><summary>{title}{}</summary><div class=\"said\">", at(shown, false));
                parts(&shown.parts, &mut out);
                out.push_str("</div></details>");
            }
            out.push_str("</section>\n");
        }
        what => {
            let class = match what {
                What::User => "user",
                What::Assistant(_) => "assistant",
                What::Result { failed: true, .. } => "result failed",
                What::Result { .. } => "result",
                What::Execution(_) => "user run",
                What::BranchSummary => "branch",
                _ => "other",
            };
            let _ = write!(out, "<article class=\"{class}{place}\" id=\"{id}\"><header><h2>{}</h2>", heading(shown));
            if let Some(label) = &shown.label {
                let _ = write!(out, "<span class=\"label\">{}</span>", escaped(label));
            }
            let _ = write!(out, "{}</header>", at(shown, true));
            let quiet = matches!(what, What::Extension(_) | What::Instructions(_));
            if quiet {
                out.push_str("<details class=\"think\"><summary>Show</summary>");
            }
            out.push_str("<div class=\"said\">");
            parts(&shown.parts, &mut out);
            out.push_str("</div>");
            if quiet {
                out.push_str("</details>");
            }
            out.push_str("</article>\n");
        }
    }
    out
}

/// Classes that say where an entry stands.
fn place(shown: &Shown) -> String {
    let mut out = String::new();
    if !shown.on_path {
        out.push_str(" off");
    }
    if shown.depth > 0 {
        let _ = write!(out, " d{}", shown.depth.min(DEEPEST));
    }
    out
}

fn heading(shown: &Shown) -> String {
    match &shown.what {
        What::Assistant(Some(model)) => format!("Assistant <small>{}</small>", escaped(model)),
        What::Result { tool, failed, pruned } => {
            let more = match (failed, pruned) {
                (true, _) => " failed",
                (_, true) => " pruned",
                _ => "",
            };
            format!("↳ {}{more}", escaped(tool))
        }
        _ if shown.on_path => escaped(&title_of(shown)),
        _ => format!("{} <small>another branch</small>", escaped(&title_of(shown))),
    }
}

/// The time, which is also the link to the entry.
fn at(shown: &Shown, link: bool) -> String {
    let time = escaped(&shown.time);
    let short = shown.time.get(..16).map_or_else(|| escaped(&shown.time), |t| escaped(&t.replace('T', " ")));
    let known = shown.time.len() >= 20 && shown.time.is_ascii();
    let text = match (known, short.is_empty()) {
        (true, _) => format!("<time datetime=\"{time}\">{short}</time>"),
        (false, false) => short,
        (false, true) => "#".to_owned(),
    };
    if link {
        format!("<a class=\"at\" href=\"#{}\" title=\"Line {}\">{text}</a>", anchor(&shown.id), shown.line)
    } else {
        format!(" · {text}")
    }
}

fn parts(parts: &[Part], out: &mut String) {
    for part in parts {
        match part {
            Part::Text(text) => markup::write(text, out),
            Part::Thinking(text) => {
                out.push_str("<details class=\"think\"><summary>Thinking</summary><div>");
                markup::write(text, out);
                out.push_str("</div></details>");
            }
            Part::Output(Output { text, is_diff: true }) => change(&text.lines().map(diff_line).collect::<Vec<_>>(), out),
            Part::Output(Output { text, is_diff: false }) => folded(text, out),
            Part::Command(command) => {
                let _ = write!(out, "<pre><code>$ {}</code></pre>", escaped(command));
            }
            Part::Failure(why) => {
                let _ = write!(out, "<p class=\"failure\">Failed: {}</p>", escaped(why));
            }
            Part::Note(note) => {
                let _ = write!(out, "<p class=\"note\">{}</p>", escaped(note));
            }
            Part::Picture(picture) => image(picture, out),
            Part::Call(call) => self::call(call, out),
        }
    }
}

fn image(picture: &Picture, out: &mut String) {
    let note = escaped(&picture.note());
    match picture {
        Picture::Here { mime, bytes } => {
            let _ = write!(out, "<figure><img loading=\"lazy\" alt=\"{note}\" src=\"data:{mime};base64,");
            BASE64.encode_append(bytes, out);
            let _ = write!(out, "\"><figcaption>{note}</figcaption></figure>");
        }
        Picture::Gone(_) => {
            let _ = write!(out, "<p class=\"note\">{note}</p>");
        }
    }
}

fn call(call: &Call, out: &mut String) {
    let title = format!("<b>{}</b><code>{}</code>", escaped(&call.tool), escaped(&call.about));
    let plain = call.diff.is_empty() && call.args.iter().all(|(_, value)| *value == call.about);
    if plain {
        let _ = write!(out, "<div class=\"line\">{title}</div>");
        return;
    }
    let open = if call.diff.is_empty() { "" } else { " open" };
    let _ = write!(out, "<details class=\"call\"{open}><summary>{title}</summary><div>");
    if !call.diff.is_empty() {
        change(&call.diff, out);
    }
    let rest: Vec<_> = call.args.iter().filter(|(_, value)| call.diff.is_empty() || *value != call.about).collect();
    if !rest.is_empty() {
        out.push_str("<dl class=\"args\">");
        for (key, value) in rest {
            let _ = write!(out, "<dt>{}</dt><dd>", escaped(key));
            if value.contains('\n') || value.len() > 200 {
                folded(value, out);
            } else {
                let _ = write!(out, "<code>{}</code>", escaped(value));
            }
            out.push_str("</dd>");
        }
        out.push_str("</dl>");
    }
    out.push_str("</div></details>");
}

/// Output whose rest is folded when it is long.
pub(super) fn folded(text: &str, out: &mut String) {
    let text = text.trim_end();
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
    let head = memchr::memchr_iter(b'\n', text.as_bytes()).nth(SHOWN - 1).unwrap_or(text.len());
    let head = text::floor_boundary(text, head.min(SHOWN_BYTES));
    let (first, rest) = text.split_at_checked(head).unwrap_or((text, ""));
    if (lines <= FOLD && text.len() <= SHOWN_BYTES * 2) || rest.trim().is_empty() {
        let _ = write!(out, "<pre>{}</pre>", escaped(text));
        return;
    }
    let more = memchr::memchr_iter(b'\n', rest.trim_start_matches('\n').as_bytes()).count() + 1;
    let more = if more > 1 { format!("{more} more lines") } else { format!("{} more characters", rest.chars().count()) };
    let _ = write!(out, "<div class=\"fold\"><pre>{}</pre><details><summary>{more}</summary><pre>", escaped(first));
    // A line end right behind the tag would be dropped.
    escape(rest.strip_prefix('\n').unwrap_or(rest), out);
    out.push_str("</pre></details></div>");
}

/// A change in colours; signs stay, so it reads without them.
fn change(lines: &[Line], out: &mut String) {
    let long = lines.len() > FOLD * 2;
    if long {
        let (gone, new) = (count(lines, |l| matches!(l, Line::Gone(_))), count(lines, |l| matches!(l, Line::New(_))));
        let _ = write!(out, "<details><summary>−{gone} +{new} lines</summary>");
    }
    out.push_str("<pre class=\"diff\">");
    for line in lines {
        let (open, text, close) = match line {
            Line::Same(text) => ("  ", text, "\n"),
            Line::Gone(text) => ("<del>- ", text, "\n</del>"),
            Line::New(text) => ("<ins>+ ", text, "\n</ins>"),
        };
        out.push_str(open);
        escape(text, out);
        out.push_str(close);
    }
    out.push_str("</pre>");
    if long {
        out.push_str("</details>");
    }
}

fn count(lines: &[Line], is: impl Fn(&Line) -> bool) -> usize {
    lines.iter().filter(|line| is(line)).count()
}
