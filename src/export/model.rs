//! What a reader of a transcript sees of one entry: words, calls, outputs, pictures, already masked and cleaned.
//!
//! Markdown, HTML and plain text are written from this one form, so that none of them can forget to mask, to cut, or to keep
//! the order in which things were said.

use std::collections::HashMap;
use std::io;

use super::diff;
use super::frames::{Page, Pages};
use super::mask::{self, Mask};
use super::pictures::Picture;
use super::{Options, Results, Row, Subject, View};
use crate::session::{Block, Context, Item, Ix, Json, Kind, Message, Role, Session};
use crate::text;

/// Characters of a result or an argument that `--tool-results short` shows.
const SHORT: usize = 2_000;
/// Characters of a call's headline.
const HEADLINE: usize = 120;

/// One entry as it is shown.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Its id, masked like everything else.
    pub id: String,
    /// Its line in the file.
    pub line: u32,
    /// Its time as written.
    pub time: String,
    /// Branches above it.
    pub depth: usize,
    /// Whether it stands on the path of the leaf.
    pub on_path: bool,
    /// Entries of the branch that begins with it; 0 where none begins.
    pub begins: usize,
    /// What it is.
    pub what: What,
    /// A label that somebody put on it.
    pub label: Option<String>,
    /// What it says, in its order.
    pub parts: Vec<Part>,
}

/// What an entry is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum What {
    /// A request.
    User,
    /// An answer; the model.
    Assistant(Option<String>),
    /// Instructions: system or developer.
    Instructions(&'static str),
    /// What a tool gave back.
    Result {
        /// The tool.
        tool: String,
        /// The call failed.
        failed: bool,
        /// It was pruned.
        pruned: bool,
    },
    /// Something that the person ran; kept from the model.
    Execution(bool),
    /// An extension's message; its type.
    Extension(String),
    /// The summary of a branch that was left.
    BranchSummary,
    /// A compaction: how it was made, tokens before and after.
    Compaction {
        /// How it was made.
        method: Option<String>,
        /// Tokens before.
        before: Option<u64>,
        /// Tokens after.
        after: Option<u64>,
    },
    /// The context was cleared.
    Reset,
    /// A setting or another record: a line.
    #[default]
    Note,
}

/// A piece of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Markdown, as people and models write it.
    Text(String),
    /// What the model thought.
    Thinking(String),
    /// A tool call.
    Call(Call),
    /// Output of a tool or a command.
    Output(Output),
    /// A picture.
    Picture(Picture),
    /// A command or code that was run.
    Command(String),
    /// Why a turn failed.
    Failure(String),
    /// A remark of ours.
    Note(String),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// The argument that says most.
    pub about: String,
    /// The arguments.
    pub args: Vec<(String, String)>,
    /// What it would change, for an edit.
    pub diff: Vec<diff::Line>,
}

/// Output of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The text.
    pub text: String,
    /// Whether it is a unified diff.
    pub is_diff: bool,
}

/// What is known of the whole session before its entries are shown.
#[derive(Debug, Default)]
pub struct Known {
    labels: HashMap<String, String>,
}

impl Known {
    /// Gathers the labels.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn of(session: &Session, mask: &Mask<'_>) -> io::Result<Known> {
        let mut labels = HashMap::new();
        for (ix, _) in session.nodes().filter(|(ix, e)| e.kind == Kind::Other && session.type_name(*ix) == "label") {
            let payload = session.read(ix)?;
            let text = payload.text();
            let record = Json::parse(&text).unwrap_or(Json::Null);
            let Some(target) = record.get("targetId").str() else { continue };
            match record.get("label").str() {
                Some(label) if !label.trim().is_empty() => labels.insert(target.to_owned(), mask.line(label, 80)),
                // An empty label takes the earlier one away.
                _ => labels.remove(target),
            };
        }
        Ok(Known { labels })
    }
}

/// Shows entries of one session.
pub struct Model<'a> {
    /// What is exported.
    pub subject: &'a Subject<'a>,
    /// How.
    pub options: &'a Options,
    /// What is known beforehand.
    pub known: &'a Known,
}

impl Model<'_> {
    /// One entry of the transcript; `None` when a reader does not see it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn entry(&self, row: &Row, mask: &Mask<'_>) -> io::Result<Option<Shown>> {
        let session = self.subject.session;
        let entry = &session[row.entry];
        if entry.role == Role::ToolResult && self.options.results == Results::None {
            return Ok(None);
        }
        let payload = session.read(row.entry)?;
        let text = payload.text();
        let record = Json::parse(&text).unwrap_or(Json::Null);
        let Some(what) = what(session, row.entry, &record, mask) else { return Ok(None) };
        let mut shown = self.about(row.entry, &record, mask);
        shown.depth = row.depth;
        shown.on_path = row.on_path;
        shown.begins = row.begins;
        shown.what = what;
        shown.parts = match Message::of(entry.kind, &record) {
            Some(message) => self.parts(&message, &record, mask),
            None => note(session, row.entry, &record, mask).map(Part::Note).into_iter().collect(),
        };
        Ok(Some(shown).filter(|shown| !(shown.what == What::Note && shown.parts.is_empty())))
    }

    /// One message of the context.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn item(&self, context: &Context, item: &Item, mask: &Mask<'_>) -> io::Result<Option<Shown>> {
        let session = self.subject.session;
        if item.role == Role::ToolResult && self.options.results == Results::None {
            return Ok(None);
        }
        let payload = session.read(item.entry)?;
        let text = payload.text();
        let record = Json::parse(&text).unwrap_or(Json::Null);
        let mut shown = self.about(item.entry, &record, mask);
        shown.on_path = true;
        shown.what = match item.role {
            Role::System => What::Instructions("system"),
            _ => what(session, item.entry, &record, mask).unwrap_or_default(),
        };
        shown.parts = session.with_item(context, item, |message| self.parts(message, &record, mask))?;
        Ok(Some(shown))
    }

    fn about(&self, ix: Ix, record: &Json<'_>, mask: &Mask<'_>) -> Shown {
        let session = self.subject.session;
        let id = session.id(ix);
        Shown {
            id: mask.whole(id),
            line: session[ix].line,
            time: mask.line(record.get("timestamp").str().unwrap_or_default(), 40),
            label: self.known.labels.get(id).cloned(),
            ..Shown::default()
        }
    }

    fn parts(&self, message: &Message<'_>, record: &Json<'_>, mask: &Mask<'_>) -> Vec<Part> {
        let mut parts = Vec::new();
        let pages = Pages::of(record, self.subject.blobs, mask);
        if let Some(command) = &message.command {
            parts.push(Part::Command(mask.text(command)));
        }
        if let Some(output) = message.output.as_deref().filter(|o| !o.trim().is_empty()) {
            self.output(output, mask, &mut parts);
        }
        for block in &message.blocks {
            match block {
                Block::Text(text) if text.trim().is_empty() => {}
                Block::Text(text) if message.role == Role::ToolResult => self.output(text, mask, &mut parts),
                Block::Text(text) => parts.push(Part::Text(mask.text(text))),
                Block::Thinking { text, .. } if self.options.thinking && !text.trim().is_empty() => {
                    parts.push(Part::Thinking(mask.text(text)));
                }
                Block::Call(call) => parts.push(Part::Call(self.call(&call.name, &call.args, mask))),
                Block::Image { mime, data } => parts.push(Part::Picture(self.picture(data, mime, mask))),
                Block::Frame { mime, data, .. } => self.frame(pages.of_data(data), data, mime, mask, &mut parts),
                Block::Redacted(_) if self.options.thinking => {
                    parts.push(Part::Note("thinking that only the provider can read".to_owned()));
                }
                Block::Other => parts.push(Part::Note("a block of a kind that is not known".to_owned())),
                Block::Thinking { .. } | Block::Redacted(_) => {}
            }
        }
        parts.extend(pages.kept.map(|text| Part::Output(Output { text, is_diff: false })));
        if let Some(diff) = record.get("message").get("details").get("diff").str()
            && self.options.results == Results::Full
            && self.options.view == View::Transcript
            && message.role == Role::ToolResult
        {
            parts.push(Part::Output(Output { text: mask.text(diff), is_diff: true }));
        }
        match (message.cancelled, message.exit_code) {
            (true, _) => parts.push(Part::Note("stopped by the person".to_owned())),
            (false, Some(code)) if code != 0 => parts.push(Part::Note(format!("exit code {code}"))),
            _ => {}
        }
        if let Some(error) = message.error.as_deref().filter(|e| !e.trim().is_empty()) {
            parts.push(Part::Failure(mask.text(error)));
        } else if message.stop.failed() {
            let how = if message.stop == crate::session::Stop::Aborted { "stopped by the person" } else { "the request failed" };
            parts.push(Part::Failure(how.to_owned()));
        }
        parts
    }

    fn output(&self, text: &str, mask: &Mask<'_>, parts: &mut Vec<Part>) {
        let whole = mask.text(text);
        match self.options.results {
            Results::None => {}
            Results::Full => parts.push(Part::Output(Output { is_diff: is_diff(&whole), text: whole })),
            Results::Short => parts.push(Part::Output(Output { is_diff: is_diff(&whole), text: short(&whole) })),
        }
    }

    fn call(&self, tool: &str, args: &Json<'_>, mask: &Mask<'_>) -> Call {
        let json = mask.json(args);
        let masked = mask::members(&json);
        let main = ["path", "file_path", "command", "cmd", "query", "pattern", "url", "description", "prompt"];
        let about = main.iter().find_map(|name| masked.iter().find(|(key, value)| key == name && !value.is_empty()));
        let about = about.or_else(|| masked.first()).map_or_else(String::new, |(_, value)| text::one_line(value, HEADLINE));
        let diff = if self.options.results == Results::None { Vec::new() } else { change(&json) };
        let told: &[&str] = if diff.is_empty() { &[] } else { EDITS };
        let args = masked.into_iter().filter(|(key, _)| !told.contains(&key.as_str()));
        let args = match self.options.results {
            Results::None => Vec::new(),
            Results::Full => args.collect(),
            Results::Short => args.map(|(key, value)| (key, short(&value))).collect(),
        };
        Call { tool: mask.line(tool, 80), about, args, diff }
    }

    fn picture(&self, data: &str, stated: &str, mask: &Mask<'_>) -> Picture {
        Picture::of(data, &mask.line(stated, 40), self.subject.blobs)
    }

    /// A frame: its picture, and what it says.
    fn frame(&self, page: Option<&Page>, data: &str, stated: &str, mask: &Mask<'_>, parts: &mut Vec<Part>) {
        match page.and_then(|page| page.hidden) {
            Some(why) => parts.push(Part::Note(why.to_owned())),
            None => parts.push(Part::Picture(self.picture(data, stated, mask))),
        }
        match page.map(|page| &page.text) {
            Some(Ok(text)) if text.is_empty() => {}
            Some(Ok(text)) => parts.push(Part::Output(Output { text: text.clone(), is_diff: false })),
            Some(Err(why)) => parts.push(Part::Note(format!("what the picture says cannot be read back: {why}"))),
            None => {}
        }
    }
}

pub(super) fn short(whole: &str) -> String {
    text::middle(whole, SHORT, 0.7, |left_out| format!("\n[… {left_out} characters left out …]\n")).into_owned()
}

/// Arguments that a diff shows.
const EDITS: &[&str] =
    &["oldText", "newText", "old_string", "new_string", "old_str", "new_str", "old_text", "new_text", "edits", "patch", "diff"];

/// What a call would change, where its masked arguments tell.
fn change(masked: &Json<'_>) -> Vec<diff::Line> {
    let clean = |text: &str| text::strip(text).into_owned();
    let pairs = [("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text")];
    let of = |value: &Json<'_>| {
        pairs.iter().find_map(|(old, new)| Some(diff::lines(&clean(value.get(old).str()?), &clean(value.get(new).str()?))))
    };
    if let Some(change) = of(masked) {
        return change;
    }
    let changes: Vec<diff::Line> = masked.get("edits").items().iter().filter_map(of).flatten().collect();
    if !changes.is_empty() {
        return changes;
    }
    let patch = ["patch", "diff", "input"].iter().find_map(|key| masked.get(key).str()).filter(|p| is_patch(p));
    patch.map_or_else(Vec::new, |patch| clean(patch).lines().map(diff_line).collect())
}

fn is_patch(text: &str) -> bool {
    text.starts_with("*** Begin Patch") || is_diff(text)
}

/// Whether output is a unified diff: it has a hunk, and its first lines say what changed.
fn is_diff(text: &str) -> bool {
    let opens = text.starts_with("diff --git ") || text.starts_with("--- ") || text.starts_with("Index: ") || text.starts_with("@@ ");
    opens && text.lines().take(40).any(|line| line.starts_with("@@ "))
}

/// A line of a diff by its mark.
#[must_use]
pub fn diff_line(line: &str) -> diff::Line {
    match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => diff::Line::New(line.get(1..).unwrap_or_default().to_owned()),
        Some(b'-') if !line.starts_with("---") => diff::Line::Gone(line.get(1..).unwrap_or_default().to_owned()),
        Some(b' ') => diff::Line::Same(line.get(1..).unwrap_or_default().to_owned()),
        _ => diff::Line::Same(line.to_owned()),
    }
}

/// What an entry is; `None` for records that nobody sees.
fn what(session: &Session, ix: Ix, record: &Json<'_>, mask: &Mask<'_>) -> Option<What> {
    let entry = &session[ix];
    Some(match entry.kind {
        Kind::Message => match entry.role {
            Role::User => What::User,
            Role::Assistant => {
                let message = record.get("message");
                let model = message.get("model").str().or_else(|| message.get("provider").str());
                What::Assistant(model.map(|m| mask.line(m, 60)))
            }
            Role::System => What::Instructions("system"),
            Role::Developer => What::Instructions("developer"),
            Role::ToolResult => What::Result {
                tool: mask.line(record.get("message").get("toolName").str().unwrap_or("tool"), 80),
                failed: entry.flags.is_error(),
                pruned: entry.flags.pruned(),
            },
            Role::BashExecution | Role::PythonExecution => What::Execution(entry.flags.excluded()),
            Role::BranchSummary => What::BranchSummary,
            Role::CompactionSummary => What::Compaction { method: None, before: None, after: None },
            Role::Custom | Role::HookMessage | Role::Unknown => {
                let message = record.get("message");
                let name = message.get("customType").str().or_else(|| message.get("role").str());
                What::Extension(mask.line(name.unwrap_or("unknown"), 60))
            }
        },
        Kind::CustomMessage => What::Extension(mask.line(record.get("customType").str().unwrap_or("extension"), 60)),
        Kind::BranchSummary => What::BranchSummary,
        Kind::Compaction => What::Compaction {
            method: record.get("method").str().map(|m| mask.line(m, 40)),
            before: record.get("tokensBefore").amount(),
            after: record.get("tokensAfter").amount(),
        },
        Kind::ResetBoundary => What::Reset,
        Kind::ModelChange | Kind::Other | Kind::ContextEdit => What::Note,
        Kind::Header | Kind::Title | Kind::Custom | Kind::Archive => return None,
    })
}

/// A setting in words; records that only programs read say nothing.
fn note(session: &Session, ix: Ix, record: &Json<'_>, mask: &Mask<'_>) -> Option<String> {
    let text = |key: &str| record.get(key).str().map(|s| mask.line(s, 200)).filter(|s| !s.is_empty());
    match session.type_name(ix) {
        "model_change" => {
            let model =
                text("model").or_else(|| Some([text("provider"), text("modelId")].into_iter().flatten().collect::<Vec<_>>().join("/")))?;
            Some(format!("model: {model}"))
        }
        "thinking_level_change" => text("thinkingLevel").map(|level| format!("thinking: {level}")),
        "mode_change" => text("mode").map(|mode| format!("mode: {mode}")),
        "service_tier_change" => text("serviceTier").map(|tier| format!("service tier: {tier}")),
        "session_info" => text("name").map(|name| format!("named: {name}")),
        "title_change" => text("title").map(|title| format!("title: {title}")),
        "context_edit" => text("targetId").map(|target| match record.get("replacement").is_some() {
            true => format!("the content of {target} was replaced in the model's context"),
            false => format!("{target} was taken out of the model's context"),
        }),
        _ => None,
    }
}
