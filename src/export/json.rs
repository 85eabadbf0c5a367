//! The transcript and the context for programs: JSON with fixed keys, and messages as a model takes them.

use serde_json::{Map, Value, json};
use std::io;

use super::frames::Pages;
use super::mask::Mask;
use super::pictures::Picture;
use super::{About, Options, Results, Row, Subject};
use crate::session::{Block, Context, Item, Json, Kind, Message, Parent, Role};
use crate::text;

/// The part of the object that stands before its list; the list's name is `list`.
#[must_use]
pub fn head(about: &About, list: &str) -> String {
    let session = json!({
        "id": about.session_id, "title": about.title_given, "cwd": about.cwd, "timestamp": about.timestamp, "owner": about.owner, "version": about.version,
    });
    format!(
        "{{\"schema\":1,\"kind\":\"{}\",\"session\":{session},\"leaf\":{},\"redacted\":{},\"{list}\":[",
        about.kind,
        json!(about.leaf),
        about.redacted
    )
}

/// The end of the object.
#[must_use]
pub fn tail(counts: &super::Counts) -> String {
    format!("\n],\"redactions\":{}}}\n", json!(counts))
}

/// A value of a session as one of `serde_json`.
fn value(json: &Json<'_>) -> Value {
    // What is masked or borrowed is written once and read again: values are small beside the messages that hold them.
    serde_json::from_str(&json.to_text()).unwrap_or_else(|_| Value::String(json.to_text()))
}

/// One entry of the transcript.
///
/// # Errors
/// When it cannot be read.
pub fn entry(subject: &Subject<'_>, options: &Options, row: &Row, mask: &Mask<'_>) -> io::Result<Option<String>> {
    let session = subject.session;
    let entry = &session[row.entry];
    if matches!(entry.kind, Kind::Header | Kind::Title | Kind::Archive)
        || (mask.is_on() && session.type_name(row.entry) == "credential_pin")
        || (entry.role == Role::ToolResult && options.results == Results::None)
    {
        return Ok(None);
    }
    let payload = session.read(row.entry)?;
    let text = payload.text();
    let record = Json::parse(&text).unwrap_or(Json::Null);
    let parent = match entry.parent {
        Parent::Root => Value::Null,
        Parent::Id(id) => mask.exact_id(session.name(id)).into(),
    };
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    put("id", mask.exact_id(session.id(row.entry)).into());
    put("parent_id", parent);
    put("type", mask.exact(session.type_name(row.entry)).into());
    put("line", entry.line.into());
    put("timestamp", record.get("timestamp").str().map_or(Value::Null, |t| mask.exact(t).into()));
    put("on_path", row.on_path.into());
    match Message::of(entry.kind, &record) {
        Some(message) => {
            put("role", message.role.name().into());
            let pages = Pages::of(&record, subject.blobs, mask);
            put("content", message.blocks.iter().filter_map(|b| block(b, subject, options, (&message, &pages), mask)).collect());
            let stored = record.get("message");
            let own = if stored.is_some() { stored } else { &record };
            for (key, name) in FACTS {
                let fact = own.get(key);
                let wanted = options.results == Results::Full || *key != "details";
                if fact.is_some() && wanted {
                    put(name, value(&masked(mask, key, fact)));
                }
            }
            if let Some(output) = message.output.as_deref().filter(|_| options.results != Results::None) {
                put("output", clipped(&mask.exact(output), options).into());
            }
        }
        None => {
            let members = record.members().iter().filter(|(key, _)| !matches!(key.as_ref(), "type" | "id" | "parentId" | "timestamp"));
            put("data", value(&mask.json(&Json::Object(members.cloned().collect()))));
        }
    }
    Ok(Some(Value::Object(out).to_string()))
}

/// A member by its name: some names say that their value is secret.
fn masked<'j>(mask: &Mask<'_>, key: &str, fact: &Json<'j>) -> Json<'j> {
    let one = Json::Object(vec![(key.to_owned().into(), fact.clone())]);
    mask.json(&one).members().first().map_or(Json::Null, |(_, value)| value.clone())
}

/// Members of messages and summaries, and the keys that they get.
const FACTS: &[(&str, &str)] = &[
    ("toolCallId", "call_id"),
    ("toolName", "tool"),
    ("isError", "is_error"),
    ("prunedAt", "pruned_at"),
    ("useless", "useless"),
    ("details", "details"),
    ("command", "command"),
    ("code", "command"),
    ("exitCode", "exit_code"),
    ("cancelled", "cancelled"),
    ("excludeFromContext", "excluded"),
    ("provider", "provider"),
    ("model", "model"),
    ("stopReason", "stop_reason"),
    ("errorMessage", "error"),
    ("usage", "usage"),
    ("customType", "custom_type"),
    ("display", "display"),
    ("fromId", "from_id"),
    ("shortSummary", "short_summary"),
    ("firstKeptEntryId", "first_kept_id"),
    ("tokensBefore", "tokens_before"),
    ("tokensAfter", "tokens_after"),
    ("method", "method"),
    ("preserveData", "preserve_data"),
];

fn clipped(whole: &str, options: &Options) -> String {
    match options.results {
        Results::Short => super::model::short(whole),
        _ => whole.to_owned(),
    }
}

type Whole<'m, 'j> = (&'m Message<'j>, &'m Pages);

fn block(block: &Block<'_>, subject: &Subject<'_>, options: &Options, (message, pages): Whole<'_, '_>, mask: &Mask<'_>) -> Option<Value> {
    Some(match block {
        Block::Text(text) if message.role == Role::ToolResult => json!({"type": "text", "text": clipped(&mask.exact(text), options)}),
        Block::Text(text) => json!({"type": "text", "text": mask.exact(text)}),
        Block::Thinking { text, .. } if options.thinking => json!({"type": "thinking", "text": mask.exact(text)}),
        Block::Redacted(_) if options.thinking => json!({"type": "redacted_thinking"}),
        Block::Thinking { .. } | Block::Redacted(_) => return None,
        Block::Call(call) => {
            let mut out = json!({"type": "call", "id": mask.exact_id(&call.id), "name": mask.exact(&call.name)});
            if options.results != Results::None
                && let Value::Object(map) = &mut out
            {
                let args = mask.json(&call.args);
                let args = if options.results == Results::Short { shortened(&args) } else { value(&args) };
                map.insert("arguments".to_owned(), args);
            }
            out
        }
        Block::Image { mime, data } => image(data, mime, subject, mask),
        Block::Frame { mime, data, .. } => {
            let page = pages.of_data(data);
            let mut out = match page.and_then(|page| page.hidden) {
                Some(why) => json!({"type": "image", "mime": mask.line(mime, 40), "missing": why}),
                None => image(data, mime, subject, mask),
            };
            if let (Some(Ok(text)), Value::Object(map)) = (page.map(|page| &page.text), &mut out) {
                map.insert("text".to_owned(), text.clone().into());
            }
            out
        }
        Block::Other => json!({"type": "other"}),
    })
}

/// Arguments with long strings cut.
fn shortened(args: &Json<'_>) -> Value {
    match args {
        Json::Str(s) => super::model::short(s).into(),
        Json::Array(items) => items.iter().map(shortened).collect(),
        Json::Object(members) => members.iter().map(|(k, v)| (k.clone().into_owned(), shortened(v))).collect::<Map<_, _>>().into(),
        other => value(other),
    }
}

fn image(data: &str, mime: &str, subject: &Subject<'_>, mask: &Mask<'_>) -> Value {
    match Picture::of(data, &mask.line(mime, 40), subject.blobs) {
        Picture::Here { mime, bytes } => json!({"type": "image", "mime": mime, "data": data_encoding::BASE64.encode(&bytes)}),
        Picture::Gone(why) => json!({"type": "image", "mime": mask.line(mime, 40), "missing": why}),
    }
}

/// One message of the context as a model takes it: no facts of an agent's own, summaries as requests.
///
/// # Errors
/// When it cannot be read.
pub fn message(subject: &Subject<'_>, options: &Options, context: &Context, item: &Item, mask: &Mask<'_>) -> io::Result<String> {
    let session = subject.session;
    let payload = session.read(item.entry)?;
    let text = payload.text();
    let pages = Pages::of(&Json::parse(&text).unwrap_or(Json::Null), subject.blobs, mask);
    let shown = session.with_item(context, item, |message| {
        let blocks =
            || -> Vec<Value> { message.blocks.iter().filter_map(|b| sent(b, subject, options, (message, &pages), mask)).collect() };
        let mut out = match message.role {
            Role::BashExecution | Role::PythonExecution => {
                json!({"role": "user", "content": [{"type": "text", "text": ran(message, options, mask)}]})
            }
            Role::CompactionSummary => {
                let about = "The conversation before this was compacted. This is what happened:";
                // Behind the summary stand history on pictures and the text beside them.
                let mut content = vec![json!({"type": "text", "text": summary(about, message, mask)})];
                content.extend(message.blocks.iter().skip(1).filter_map(|b| sent(b, subject, options, (message, &pages), mask)));
                json!({"role": "user", "content": content})
            }
            Role::BranchSummary => {
                let text = summary("Another line of this conversation was tried and left. This is what came of it:", message, mask);
                json!({"role": "user", "content": [{"type": "text", "text": text}]})
            }
            Role::Custom | Role::HookMessage => json!({"role": "developer", "content": blocks()}),
            Role::Unknown => json!({"role": "user", "content": blocks()}),
            role => json!({"role": role.name(), "content": blocks()}),
        };
        if let Value::Object(map) = &mut out
            && message.role == Role::ToolResult
        {
            map.insert("toolCallId".to_owned(), mask.exact_id(message.call_id.as_deref().unwrap_or_default()).into());
            map.insert("toolName".to_owned(), mask.exact(message.tool.as_deref().unwrap_or_default()).into());
            map.insert("isError".to_owned(), message.is_error.into());
        }
        out
    })?;
    Ok(shown.to_string())
}

fn sent(block: &Block<'_>, subject: &Subject<'_>, options: &Options, (message, pages): Whole<'_, '_>, mask: &Mask<'_>) -> Option<Value> {
    let text = |s: &str| json!({"type": "text", "text": s});
    Some(match block {
        Block::Text(s) if message.role == Role::ToolResult => match options.results {
            Results::None => text("[result left out]"),
            _ => text(&clipped(&mask.exact(s), options)),
        },
        Block::Text(s) => text(&mask.exact(s)),
        Block::Thinking { text, signature } if options.thinking => match signature {
            Some(signature) if !mask.is_on() => json!({"type": "thinking", "thinking": text, "thinkingSignature": signature}),
            _ => json!({"type": "thinking", "thinking": mask.exact(text)}),
        },
        Block::Redacted(data) if options.thinking && !mask.is_on() => json!({"type": "redactedThinking", "data": data}),
        Block::Thinking { .. } | Block::Redacted(_) | Block::Other => return None,
        Block::Call(call) => {
            json!({"type": "toolCall", "id": mask.exact_id(&call.id), "name": mask.exact(&call.name), "arguments": value(&mask.json(&call.args))})
        }
        Block::Image { mime, data } => picture(data, mime, subject, mask),
        // A model that does not get the picture gets what it says.
        Block::Frame { mime, data, .. } => match pages.of_data(data).map(|page| (page.hidden, &page.text)) {
            Some((Some(_), Ok(said))) => text(said),
            Some((Some(why), Err(_))) => text(&format!("[{why}]")),
            _ => picture(data, mime, subject, mask),
        },
    })
}

fn picture(data: &str, mime: &str, subject: &Subject<'_>, mask: &Mask<'_>) -> Value {
    match Picture::of(data, &mask.line(mime, 40), subject.blobs) {
        Picture::Here { mime, bytes } => json!({"type": "image", "data": data_encoding::BASE64.encode(&bytes), "mimeType": mime}),
        gone @ Picture::Gone(_) => json!({"type": "text", "text": gone.note()}),
    }
}

fn summary(about: &str, message: &Message<'_>, mask: &Mask<'_>) -> String {
    let first = message.blocks.first().map_or("", |block| if let Block::Text(text) = block { text } else { "" });
    let words = mask.exact(first);
    format!("{about}\n\n<summary>\n{}\n</summary>", text::neutralize_tags(&words, &["summary"]))
}

fn ran(message: &Message<'_>, options: &Options, mask: &Mask<'_>) -> String {
    let mut out = format!("Ran `{}`", mask.exact(message.command.as_deref().unwrap_or_default()));
    if let Some(output) = message.output.as_deref().filter(|o| !o.is_empty() && options.results != Results::None) {
        out.push('\n');
        out.push_str(&clipped(&mask.exact(output), options));
    }
    if let Some(code) = message.exit_code.filter(|code| *code != 0) {
        out.push_str(&format!("\n(exit code {code})"));
    }
    out
}
