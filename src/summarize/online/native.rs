//! A conversation in providers' own forms, for requests that hand it over as what it is.
//!
//! Providers refuse a result without its call, a call without its result, and a result that does not stand right behind its
//! call. So each call carries its result here, and what has no partner is left out.

use std::collections::HashMap;
use std::io;

use serde_json::{Map, Value, json};

use crate::engine::compaction;
use crate::engine::serialize::{Form, Selection, clip_result, execution};
use crate::export::mask::Mask;
use crate::session::{Block, Ix, Json, Message, Role, Session};
use crate::text::{self, Redactor};

/// What one side said, and what it called.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Turn {
    is_assistant: bool,
    text: String,
    calls: Vec<Called>,
}

impl Turn {
    pub(super) fn of_person(text: String) -> Turn {
        Turn { text, ..Turn::default() }
    }
}

/// A call with its result.
#[derive(Debug, PartialEq)]
struct Called {
    /// Ours: sessions name calls twice, and in characters that some providers do not take.
    id: String,
    name: String,
    args: Value,
    result: Option<String>,
}

/// The messages of a selection; results keep their first `form.result_chars` characters.
///
/// # Errors
/// When an entry cannot be read.
pub(super) fn turns(session: &Session, selection: &Selection, form: Form) -> io::Result<Vec<Turn>> {
    let mut turns: Vec<Turn> = Vec::new();
    // Where each call that waits for its result stands.
    let mut waiting: HashMap<String, (usize, usize)> = HashMap::new();
    let mut calls = 0;
    let mask = Mask::new(session, form.mask.then(Redactor::secrets));
    for ix in selection.told.iter().copied() {
        selection.with_told(session, ix, |message| match message.role {
            Role::ToolResult => {
                let id = message.call_id.as_deref().unwrap_or_default();
                let place = waiting.remove(id).and_then(|(turn, call)| turns.get_mut(turn)?.calls.get_mut(call));
                if let Some(call) = place {
                    call.result = Some(clip_result(&told(message, form), form.result_chars));
                }
            }
            Role::Assistant => {
                let mut turn = Turn { is_assistant: true, ..Turn::default() };
                for block in &message.blocks {
                    match block {
                        Block::Text(said) if !said.trim().is_empty() => join(&mut turn.text, &form.told(said)),
                        Block::Call(call) if selection.tells_call(session, ix, &call.id) => {
                            waiting.insert(call.id.clone().into_owned(), (turns.len(), turn.calls.len()));
                            calls += 1;
                            let (id, name) = (format!("call_{calls}"), tool_name(&form.told(&call.name)));
                            turn.calls.push(Called { id, name, args: args(&call.args, &mask), result: None });
                        }
                        _ => {}
                    }
                }
                turns.push(turn);
            }
            Role::BashExecution | Role::PythonExecution => turns.push(Turn::of_person(execution(message, form))),
            _ => turns.push(Turn::of_person(told(message, form))),
        })?;
    }
    for turn in &mut turns {
        turn.calls.retain(|call| call.result.is_some());
    }
    turns.retain(|turn| !turn.text.trim().is_empty() || !turn.calls.is_empty());
    Ok(turns)
}

/// The text of a message, its images by their types.
fn told(message: &Message<'_>, form: Form) -> String {
    let mut text = form.told(&message.text());
    for block in &message.blocks {
        if let Block::Image { mime, .. } = block {
            join(&mut text, &format!("[Image: {mime}]"));
        }
    }
    text
}

/// The arguments of a call without secrets and data URLs: value by value, so that they stay what they are.
fn args(args: &Json<'_>, mask: &Mask<'_>) -> Value {
    fn short(value: Value) -> Value {
        match value {
            Value::String(text) => text::elide_data_urls(&text).into_owned().into(),
            Value::Array(items) => items.into_iter().map(short).collect(),
            Value::Object(members) => members.into_iter().map(|(key, value)| (key, short(value))).collect(),
            other => other,
        }
    }
    let masked = mask.json(args).to_text();
    match serde_json::from_str(&masked).map(short) {
        Ok(Value::Object(members)) => Value::Object(members),
        _ => Value::Object(Map::new()),
    }
}

/// A tool's name as providers take it.
fn tool_name(name: &str) -> String {
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = name.chars().map(|c| if is_good(c) { c } else { '_' }).take(64).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
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

/// A tool that a conversation may have called.
#[derive(Debug, PartialEq)]
pub(super) struct Tool {
    name: String,
    description: Option<String>,
    /// What it takes; where that is not recorded, anything.
    schema: Value,
}

impl Tool {
    /// As chat completions know it.
    pub(super) fn chat(self) -> Value {
        let mut function = Map::new();
        function.insert("name".to_owned(), self.name.into());
        function.extend(self.description.map(|text| ("description".to_owned(), text.into())));
        function.insert("parameters".to_owned(), self.schema);
        json!({"type": "function", "function": function})
    }

    /// As Anthropic knows it.
    pub(super) fn anthropic(self) -> Value {
        let mut tool = Map::new();
        tool.insert("name".to_owned(), self.name.into());
        tool.extend(self.description.map(|text| ("description".to_owned(), text.into())));
        tool.insert("input_schema".to_owned(), self.schema);
        tool.into()
    }
}

/// The tools of a conversation by name: those that its system prompt records, and those that it calls.
pub(super) fn tools(turns: &[Turn], recorded: &[Value]) -> Vec<Tool> {
    let anything = || json!({"type": "object"});
    let of_record = recorded.iter().filter_map(|tool| {
        let text = |key: &str| tool.get(key).and_then(Value::as_str);
        let name = tool_name(text("name").or(tool.as_str())?);
        let schema = ["parameters", "inputSchema", "input_schema"].iter().find_map(|key| tool.get(key)).filter(|schema| schema.is_object());
        Some(Tool { name, description: text("description").map(str::to_owned), schema: schema.cloned().unwrap_or_else(anything) })
    });
    let called = turns.iter().flat_map(|turn| &turn.calls);
    let called = called.map(|call| Tool { name: call.name.clone(), description: None, schema: anything() });
    let mut tools: Vec<Tool> = Vec::new();
    for tool in of_record.chain(called) {
        if tools.iter().all(|known| known.name != tool.name) {
            tools.push(tool);
        }
    }
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

/// What a path records of the system prompt.
#[derive(Debug, Default)]
pub(super) struct System {
    /// Its text.
    pub(super) text: String,
    /// The tools, as they are recorded.
    pub(super) tools: Vec<Value>,
}

/// The system prompt at the end of a path, as readers rebuild it.
///
/// # Errors
/// When an entry cannot be read.
pub(super) fn system(session: &Session, path: &[Ix], form: Form) -> io::Result<System> {
    let Some(message) = compaction::system_message(session, path, "")? else { return Ok(System::default()) };
    let mut text = form.told(message.get("content").and_then(Value::as_str).unwrap_or_default());
    for section in message.get("sections").and_then(Value::as_object).into_iter().flatten() {
        if let Some(section) = section.1.as_str().filter(|section| !section.trim().is_empty()) {
            join(&mut text, &form.told(section));
        }
    }
    let tools = message.get("toolsAdded").map(Value::to_string).unwrap_or_default();
    let mask = Mask::new(session, form.mask.then(Redactor::secrets));
    let tools = Json::parse(&tools).map(|tools| mask.json(&tools).to_text()).unwrap_or_default();
    let tools = serde_json::from_str(&tools).unwrap_or_default();
    Ok(System { text, tools })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::engine::serialize::select;

    fn told(messages: &[&str]) -> Vec<Turn> {
        let session = Session::of_messages(messages);
        let path = session.active_path().entries;
        turns(&session, &select(&session, &path, &path).unwrap(), Form::default()).unwrap()
    }

    fn of_assistant(calls: &[(&str, Value)]) -> Vec<Turn> {
        let call = |(name, args): &(&str, Value)| json!({"type": "toolCall", "id": "c", "name": name, "arguments": args}).to_string();
        let calls: Vec<String> = calls.iter().map(call).collect();
        let one = format!("{{\"role\":\"assistant\",\"content\":[{}]}}", calls.join(","));
        told(&[&one, r#"{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"ok"}]}"#])
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
        assert!(!all.contains("orphan") && !all.contains("call_3") && all.contains("call_1"), "{all}");
        // Ids are ours, because sessions use one twice.
        assert_ne!(chat[0]["tool_calls"][0]["id"], chat[4]["tool_calls"][0]["id"]);
        assert_eq!(chat[1]["tool_call_id"], chat[0]["tool_calls"][0]["id"]);
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
        let names: Vec<String> = tools(&turns, &[]).into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["bash", "read"]);
    }

    #[test]
    fn arguments_are_masked_value_by_value_and_stay_objects() {
        let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let url = format!("data:image/png;base64,{}", "A".repeat(4_000));
        let args = json!({"command": format!("curl -H \"Authorization: Bearer {token}\" x"), "password": "hunter2pass",
            "env": [{"name": "API_KEY", "value": "zq81kk20vv"}], "url": url, "n": 1.5, "text": "said \"so\""});
        let turns = of_assistant(&[("mcp/fetch:it", args.clone())]);
        let call = &turns[0].calls[0];
        let sent = call.args.to_string();
        for secret in [token.as_str(), "hunter2pass", "zq81kk20vv"] {
            assert!(!sent.contains(secret), "{sent}");
        }
        assert!(sent.len() < 1_000 && call.args["command"].as_str().unwrap().starts_with("curl"), "{sent}");
        assert_eq!((&call.args["n"], &call.args["text"], call.name.as_str()), (&args["n"], &args["text"], "mcp_fetch_it"));
        // What is no object is none.
        assert_eq!(of_assistant(&[("t", json!("text"))])[0].calls[0].args, json!({}));
    }

    #[test]
    fn tools_are_those_of_the_prompt_and_those_that_are_called() {
        let recorded = [
            json!({"name": "read", "description": "reads", "parameters": {"type": "object", "properties": {"path": {}}}}),
            json!("plain"),
            json!({"name": "odd", "inputSchema": 3}),
            json!(7),
        ];
        let tools = tools(&told(CALLS), &recorded);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["bash", "odd", "plain", "read"]);
        let read = tools.into_iter().nth(3).unwrap();
        assert_eq!((read.description.as_deref(), &read.schema["properties"]), (Some("reads"), &json!({"path": {}})));
        assert_eq!(read.anthropic()["input_schema"]["type"], "object");
    }
}
