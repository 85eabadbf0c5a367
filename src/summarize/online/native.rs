//! A conversation in providers' own forms, for requests that hand it over as what it is.
//!
//! Providers refuse a result without its call, a call without its result, and a result that does not stand right behind its
//! call. So each call carries its result here, and what has no partner is left out.

use std::collections::HashMap;
use std::io;

use serde_json::{Map, Value, json};

use crate::engine::serialize::{Form, RESULT_CHARS, Selection};
use crate::session::{Block, Ix, Role, Session};
use crate::text;

/// What one side said, and what it called.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Turn {
    pub(super) is_assistant: bool,
    pub(super) text: String,
    pub(super) calls: Vec<Called>,
}

/// A call with its result.
#[derive(Debug, PartialEq)]
pub(super) struct Called {
    id: String,
    name: String,
    args: Value,
    result: Option<String>,
}

/// The messages of a selection; results keep their first 2,000 characters.
///
/// # Errors
/// When an entry cannot be read.
pub(super) fn turns(session: &Session, selection: &Selection, form: Form) -> io::Result<Vec<Turn>> {
    let mut turns: Vec<Turn> = Vec::new();
    // Where each call that waits for its result stands.
    let mut waiting: HashMap<String, (usize, usize)> = HashMap::new();
    for ix in selection.told.iter().copied() {
        session.with_message(ix, |message| match message.role {
            Role::ToolResult => {
                let id = message.call_id.as_deref().unwrap_or_default();
                let place = waiting.remove(id).and_then(|(turn, call)| turns.get_mut(turn)?.calls.get_mut(call));
                if let Some(call) = place {
                    call.result = Some(clipped(&form.clean(&message.text())));
                }
            }
            Role::Assistant => {
                let mut turn = Turn { is_assistant: true, ..Turn::default() };
                for block in &message.blocks {
                    match block {
                        Block::Text(said) if !said.trim().is_empty() => join(&mut turn.text, &form.clean(said)),
                        Block::Call(call) if selection.tells_call(session, ix, &call.id) => {
                            waiting.insert(call.id.clone().into_owned(), (turns.len(), turn.calls.len()));
                            let args = serde_json::from_str(&form.clean(&call.args.to_text())).unwrap_or(Value::Null);
                            let args = if args.is_object() { args } else { Value::Object(Map::new()) };
                            turn.calls.push(Called { id: call.id.clone().into_owned(), name: form.clean(&call.name), args, result: None });
                        }
                        _ => {}
                    }
                }
                turns.push(turn);
            }
            Role::BashExecution | Role::PythonExecution => {
                let command = form.clean(message.command.as_deref().unwrap_or_default());
                let output = clipped(&form.clean(message.output.as_deref().unwrap_or_default()));
                turns.push(Turn { text: format!("Ran `{command}`\n{output}"), ..Turn::default() });
            }
            _ => turns.push(Turn { text: form.clean(&message.text()), ..Turn::default() }),
        })?;
    }
    for turn in &mut turns {
        turn.calls.retain(|call| call.result.is_some());
    }
    turns.retain(|turn| !turn.text.trim().is_empty() || !turn.calls.is_empty());
    Ok(turns)
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

fn clipped(result: &str) -> String {
    let clipped = text::clip_chars(result, RESULT_CHARS);
    match clipped.left_out {
        0 => clipped.head.to_owned(),
        more => format!("{}\n\n[... {more} more characters truncated]", clipped.head),
    }
}

/// Items of OpenAI's responses.
pub(super) fn responses(turns: &[Turn]) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in turns {
        let (role, kind) = if turn.is_assistant { ("assistant", "output_text") } else { ("user", "input_text") };
        if !turn.text.is_empty() {
            items.push(json!({"type": "message", "role": role, "content": [{"type": kind, "text": turn.text}]}));
        }
        for call in &turn.calls {
            items.push(json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.args.to_string()}));
            items.push(json!({"type": "function_call_output", "call_id": call.id, "output": call.result}));
        }
    }
    items
}

/// Messages of chat completions.
pub(super) fn chat(turns: &[Turn]) -> Vec<Value> {
    let mut messages = Vec::new();
    for turn in turns {
        if !turn.is_assistant {
            messages.push(json!({"role": "user", "content": turn.text}));
            continue;
        }
        let content = if turn.text.is_empty() { Value::Null } else { turn.text.as_str().into() };
        let mut message = json!({"role": "assistant", "content": content});
        if let (Value::Object(message), false) = (&mut message, turn.calls.is_empty()) {
            let call = |call: &Called| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args.to_string()}});
            message.insert("tool_calls".to_owned(), turn.calls.iter().map(call).collect());
        }
        messages.push(message);
        messages.extend(turn.calls.iter().map(|call| json!({"role": "tool", "tool_call_id": call.id, "content": call.result})));
    }
    messages
}

/// Anthropic's messages, which begin with a person's and take turns.
pub(super) fn anthropic(turns: &[Turn]) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    if turns.first().is_some_and(|turn| turn.is_assistant) {
        messages.push(("user", vec![json!({"type": "text", "text": "(What came before is not shown.)"})]));
    }
    let mut put = |role: &'static str, blocks: Vec<Value>| match messages.last_mut() {
        Some((last, known)) if *last == role => known.extend(blocks),
        _ => messages.push((role, blocks)),
    };
    for turn in turns {
        let role = if turn.is_assistant { "assistant" } else { "user" };
        let mut blocks: Vec<Value> = Vec::new();
        if !turn.text.is_empty() {
            blocks.push(json!({"type": "text", "text": turn.text}));
        }
        blocks.extend(turn.calls.iter().map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.args})));
        put(role, blocks);
        if !turn.calls.is_empty() {
            let result = |call: &Called| json!({"type": "tool_result", "tool_use_id": call.id, "content": call.result});
            put("user", turn.calls.iter().map(result).collect());
        }
    }
    messages.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

/// The tools that a conversation calls, by name; what they take is not recorded, so anything is allowed.
pub(super) fn tools(turns: &[Turn]) -> Vec<&str> {
    let mut names: Vec<&str> = turns.iter().flat_map(|turn| &turn.calls).map(|call| call.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The system prompt of a path: the text of its system messages, the latest of each kind.
///
/// # Errors
/// When an entry cannot be read.
pub(super) fn system(session: &Session, path: &[Ix], form: Form) -> io::Result<String> {
    let mut text = String::new();
    for ix in path.iter().copied().filter(|ix| session[*ix].role == Role::System) {
        session.with_message(ix, |message| {
            let said = form.clean(&message.text());
            if !said.trim().is_empty() {
                join(&mut text, &said);
            }
        })?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::engine::serialize::select;

    fn told(messages: &[&str]) -> Vec<Turn> {
        let session = Session::of_messages(messages);
        let path = session.active_path().entries;
        turns(&session, &select(&session, &path, &path), Form::default()).unwrap()
    }

    const CALLS: &[&str] = &[
        r#"{"role":"toolResult","toolCallId":"lost","content":[{"type":"text","text":"orphan"}]}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"look"},{"type":"toolCall","id":"c","name":"read","arguments":{"p":1}},{"type":"toolCall","id":"d","name":"bash","arguments":{}},{"type":"toolCall","id":"open","name":"bash","arguments":{}}]}"#,
        r#"{"role":"user","content":"in between"}"#,
        r#"{"role":"toolResult","toolCallId":"d","content":[{"type":"text","text":"two"}]}"#,
        r#"{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"one"}]}"#,
        r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{"p":2}}]}"#,
        r#"{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"again"}]}"#,
    ];

    #[test]
    fn results_stand_behind_their_calls_and_nothing_stands_alone() {
        let turns = told(CALLS);
        let chat = chat(&turns);
        let roles: Vec<&str> = chat.iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["assistant", "tool", "tool", "user", "assistant", "tool"]);
        assert_eq!((&chat[1]["content"], &chat[5]["content"]), (&json!("one"), &json!("again")));
        assert_eq!(chat[0]["tool_calls"].as_array().unwrap().len(), 2);
        let all = json!([chat, responses(&turns), anthropic(&turns)]).to_string();
        assert!(!all.contains("orphan") && !all.contains("\"open\""), "{all}");
        let items = responses(&turns);
        let kinds: Vec<&str> = items.iter().map(|m| m["type"].as_str().unwrap()).collect();
        let (call, output) = ("function_call", "function_call_output");
        assert_eq!(kinds, ["message", call, output, call, output, "message", call, output]);
    }

    #[test]
    fn anthropics_messages_begin_with_a_person_and_take_turns() {
        let turns = told(CALLS);
        let messages = anthropic(&turns);
        let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
        let kinds: Vec<&str> = messages[2]["content"].as_array().unwrap().iter().map(|b| b["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
        assert_eq!(tools(&turns), ["bash", "read"]);
    }
}
