//! The README's picture: what the commands really print for a bundled session, laid out as a terminal in SVG.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// What is typed, one after another, in a folder that holds a copy of the bundled session.
const TYPED: &[&str] = &[
    "epitome inspect small.jsonl --keep-recent-tokens 2k",
    "epitome compact small.jsonl --keep-recent-tokens 2k",
    "epitome inspect small.jsonl",
    "epitome inspect small.jsonl --show context",
];

/// The time of the run: nothing that is shown depends on it, and nothing that is drawn may.
const NOW: &str = "2026-03-02T12:00:00Z";

/// Width of a character, height of a line, margins and the bar of the window, in units of the drawing.
const CHAR: f32 = 7.8;
const LINE: f32 = 19.0;
const MARGIN: f32 = 18.0;
const BAR: f32 = 30.0;

/// Runs the commands and draws what they print.
///
/// # Errors
/// When a command fails or the file cannot be written.
pub(crate) fn write(file: &Path) -> Result<()> {
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/sessions/small.jsonl");
    let folder = std::env::temp_dir().join(format!("epitome-picture-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::copy(&session, folder.join("small.jsonl")).with_context(|| format!("cannot copy {}", session.display()))?;
    let lines = run(&folder);
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(file, draw(&lines?)).with_context(|| format!("cannot write {}", file.display()))
}

/// A line of the picture: runs of text, each in one style.
type Line = Vec<(Style, String)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Prompt,
    Bold,
    Dim,
    Red,
    Yellow,
}

impl Style {
    fn class(self) -> &'static str {
        match self {
            Style::Plain => "p",
            Style::Prompt => "c",
            Style::Bold => "b",
            Style::Dim => "d",
            Style::Red => "r",
            Style::Yellow => "y",
        }
    }
}

fn run(folder: &Path) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for typed in TYPED {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.push(vec![(Style::Prompt, "$ ".to_owned()), (Style::Bold, (*typed).to_owned())]);
        let output = Command::new(std::env::current_exe()?)
            .args(typed.split(' '))
            .args(["--color", "always", "--no-config", "--now", NOW])
            .current_dir(folder)
            .env_clear()
            .output()
            .with_context(|| format!("cannot run {typed}"))?;
        ensure!(output.status.success(), "{typed}: {}", String::from_utf8_lossy(&output.stderr));
        lines.extend(String::from_utf8(output.stdout)?.lines().map(styled));
    }
    Ok(lines)
}

/// Takes the colours out of a line. Only those that the commands use are known; others count as plain.
fn styled(line: &str) -> Line {
    let mut out = Line::new();
    let mut style = Style::Plain;
    for (at, part) in line.split("\x1b[").enumerate() {
        let text = match part.split_once('m') {
            Some((code, text)) if at > 0 => {
                style = match code {
                    "1" => Style::Bold,
                    "2" => Style::Dim,
                    "31" => Style::Red,
                    "33" => Style::Yellow,
                    _ => Style::Plain,
                };
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            out.push((style, text.to_owned()));
        }
    }
    out
}

/// Every run of text stands at its column and is as wide as its characters: the picture holds whatever font is there.
#[expect(clippy::cast_precision_loss, reason = "lines and columns are few")]
fn draw(lines: &[Line]) -> String {
    let columns = lines.iter().map(|line| line.iter().map(|(_, text)| text.chars().count()).sum::<usize>()).max().unwrap_or(0);
    let width = columns as f32 * CHAR + 2.0 * MARGIN;
    let height = lines.len() as f32 * LINE + BAR + MARGIN;
    let mut out = String::new();
    let _ = write!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="epitome inspects and compacts a session">
<style>
text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d6dae0; white-space: pre }}
.c {{ fill: #7ee0a2 }} .b {{ font-weight: bold; fill: #ffffff }} .d {{ fill: #98a1ae }} .r {{ fill: #ff8f87 }} .y {{ fill: #f2cc60 }}
</style>
<rect x="0.5" y="0.5" width="{:.0}" height="{:.0}" rx="8" fill="#171b21" stroke="#57606a"/>
<circle cx="20" cy="16" r="5" fill="#ff5f57"/><circle cx="38" cy="16" r="5" fill="#febc2e"/><circle cx="56" cy="16" r="5" fill="#28c840"/>
"##,
        width - 1.0,
        height - 1.0
    );
    for (row, line) in lines.iter().enumerate() {
        let y = BAR + (row as f32 + 0.75) * LINE;
        let mut column = 0;
        for (style, text) in line {
            let long = text.chars().count();
            // Leading blanks are a matter of where the run begins.
            let shown = text.trim();
            let begin = column + text.chars().take_while(|c| c.is_whitespace()).count();
            column += long;
            if shown.is_empty() {
                continue;
            }
            let x = MARGIN + begin as f32 * CHAR;
            let run = shown.chars().count() as f32 * CHAR;
            let _ = writeln!(
                out,
                r#"<text class="{}" xml:space="preserve" x="{x:.1}" y="{y:.1}" textLength="{run:.1}" lengthAdjust="spacingAndGlyphs">{}</text>"#,
                style.class(),
                shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
            );
        }
    }
    out.push_str("</svg>\n");
    out
}
