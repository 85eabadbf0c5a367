//! What providers are sent and what they answer: bodies, and the words in their answers, streamed or whole.

use serde_json::{Value, json};

use super::http::Reply;
use crate::summarize::Usage;

/// What a model is asked.
pub(super) struct Ask<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    /// The conversation in the provider's own form; the last message is the request.
    pub(super) messages: Vec<Value>,
    /// Tools that the conversation names, in the provider's own form; none may be called.
    pub(super) tools: Vec<Value>,
    /// Most tokens of the answer.
    pub(super) most: u64,
}

/// Reads the words of an answer, or says what is wrong with it; puts down what it took in either case.
pub(super) type Read = fn(&Reply, &mut Option<Usage>) -> Result<String, String>;

/// One message of a person.
pub(super) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The body of a chat completion. OpenAI's own models know only the new name of the limit, other servers only the old one.
pub(super) fn openai_body(ask: &Ask<'_>, is_openai: bool) -> Value {
    let mut messages = vec![json!({"role": "system", "content": ask.system})];
    messages.extend(ask.messages.iter().cloned());
    let mut body = json!({"model": ask.model, "messages": messages, "stream": true, "stream_options": {"include_usage": true}});
    if let Value::Object(body) = &mut body {
        body.insert(if is_openai { "max_completion_tokens" } else { "max_tokens" }.to_owned(), ask.most.into());
        if !ask.tools.is_empty() {
            body.insert("tools".to_owned(), ask.tools.clone().into());
            body.insert("tool_choice".to_owned(), "none".into());
        }
    }
    body
}

/// The body of a message.
pub(super) fn anthropic_body(ask: &Ask<'_>) -> Value {
    let mut body = json!({"model": ask.model, "system": ask.system, "messages": ask.messages, "max_tokens": ask.most, "stream": true});
    if let Value::Object(body) = &mut body
        && !ask.tools.is_empty()
    {
        body.insert("tools".to_owned(), ask.tools.clone().into());
        body.insert("tool_choice".to_owned(), json!({"type": "none"}));
    }
    body
}

const NO_JSON: &str = "it is no JSON";
const OTHER_SHAPE: &str = "it has another shape than this kind of server gives";
const CUT_OFF: &str = "it was cut off at the limit of its length";
const NO_END: &str = "the stream ended before the answer did";
const CALLS: &str = "it calls a tool instead of summarizing";

/// The words of a chat completion.
///
/// # Errors
/// What is wrong with it.
pub(super) fn openai_words(reply: &Reply, usage: &mut Option<Usage>) -> Result<String, String> {
    let Some(events) = events(reply)? else {
        let value: Value = serde_json::from_str(&reply.body).map_err(|_| NO_JSON)?;
        said_error(&value)?;
        *usage = value.get("usage").and_then(openai_usage);
        let choice = value.pointer("/choices/0").ok_or(OTHER_SHAPE)?;
        let message = choice.get("message").ok_or(OTHER_SHAPE)?;
        let text = content(message.get("content").unwrap_or(&Value::Null)).ok_or(OTHER_SHAPE)?;
        openai_end(choice.get("finish_reason").and_then(Value::as_str), calls(message))?;
        return Ok(text);
    };
    let (mut text, mut ended, mut done, mut called) = (String::new(), None, false, false);
    for event in events {
        let value = match event {
            Event::Done => {
                done = true;
                break;
            }
            Event::Data(value) => value,
        };
        said_error(&value)?;
        *usage = value.get("usage").and_then(openai_usage).or(*usage);
        let Some(choice) = value.pointer("/choices/0") else { continue };
        if let Some(delta) = choice.get("delta") {
            text.push_str(&content(delta.get("content").unwrap_or(&Value::Null)).ok_or(OTHER_SHAPE)?);
            called |= calls(delta);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            ended = Some(reason.to_owned());
        }
    }
    openai_end(ended.as_deref(), called)?;
    if ended.is_none() && !done {
        return Err(NO_END.to_owned());
    }
    Ok(text)
}

fn openai_end(reason: Option<&str>, called: bool) -> Result<(), String> {
    match reason {
        Some("length") => Err(CUT_OFF.to_owned()),
        Some("tool_calls" | "function_call") => Err(CALLS.to_owned()),
        _ if called => Err(CALLS.to_owned()),
        None | Some("stop" | "eos" | "end_turn") => Ok(()),
        Some(other) => Err(format!("it ended with '{}'", crate::text::one_line(other, 40))),
    }
}

fn calls(message: &Value) -> bool {
    let listed = message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    listed || message.get("function_call").is_some_and(|call| !call.is_null())
}

/// Text, or the text blocks of a list; null is none of it.
fn content(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => Some(
            blocks
                .iter()
                .filter(|block| matches!(block.get("type").and_then(Value::as_str), Some("text" | "output_text")))
                .filter_map(|block| block.get("text").and_then(Value::as_str))
                .collect(),
        ),
        _ => None,
    }
}

fn openai_usage(usage: &Value) -> Option<Usage> {
    let number = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let input = number("/prompt_tokens").or_else(|| number("/input_tokens"))?;
    let cached = number("/prompt_tokens_details/cached_tokens").or_else(|| number("/input_tokens_details/cached_tokens")).unwrap_or(0);
    let output = number("/completion_tokens").or_else(|| number("/output_tokens")).unwrap_or(0);
    Some(Usage { input: input.saturating_sub(cached), output, cache_read: cached, cache_write: 0 })
}

/// The words of a message.
///
/// # Errors
/// What is wrong with it.
pub(super) fn anthropic_words(reply: &Reply, usage: &mut Option<Usage>) -> Result<String, String> {
    let Some(events) = events(reply)? else {
        let value: Value = serde_json::from_str(&reply.body).map_err(|_| NO_JSON)?;
        said_error(&value)?;
        *usage = value.get("usage").map(anthropic_usage);
        let blocks = value.get("content").and_then(Value::as_array).ok_or(OTHER_SHAPE)?;
        let called = blocks.iter().any(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"));
        anthropic_end(value.get("stop_reason").and_then(Value::as_str), called)?;
        return content(&Value::Array(blocks.clone())).ok_or(OTHER_SHAPE.to_owned());
    };
    let (mut text, mut reason, mut ended, mut called) = (String::new(), None, false, false);
    let mut any = false;
    for event in events {
        let Event::Data(value) = event else { continue };
        said_error(&value)?;
        match value.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                any = true;
                *usage = value.pointer("/message/usage").map(anthropic_usage);
            }
            Some("content_block_start") => {
                called |= value.pointer("/content_block/type").and_then(Value::as_str) == Some("tool_use");
                text.push_str(value.pointer("/content_block/text").and_then(Value::as_str).unwrap_or_default());
            }
            Some("content_block_delta") => text.push_str(value.pointer("/delta/text").and_then(Value::as_str).unwrap_or_default()),
            Some("message_delta") => {
                reason = value.pointer("/delta/stop_reason").and_then(Value::as_str).map(str::to_owned).or(reason);
                if let (Some(usage), Some(output)) = (usage.as_mut(), value.pointer("/usage/output_tokens").and_then(Value::as_u64)) {
                    usage.output = output;
                }
            }
            Some("message_stop") => ended = true,
            _ => {}
        }
    }
    if !any {
        return Err(OTHER_SHAPE.to_owned());
    }
    anthropic_end(reason.as_deref(), called)?;
    if !ended {
        return Err(NO_END.to_owned());
    }
    Ok(text)
}

fn anthropic_end(reason: Option<&str>, called: bool) -> Result<(), String> {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Err(CUT_OFF.to_owned()),
        Some("tool_use") => Err(CALLS.to_owned()),
        _ if called => Err(CALLS.to_owned()),
        None | Some("end_turn" | "stop_sequence") => Ok(()),
        Some(other) => Err(format!("it ended with '{}'", crate::text::one_line(other, 40))),
    }
}

fn anthropic_usage(usage: &Value) -> Usage {
    let number = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        input: number("input_tokens"),
        output: number("output_tokens"),
        cache_read: number("cache_read_input_tokens"),
        cache_write: number("cache_creation_input_tokens"),
    }
}

/// The words of a server that takes `{systemPrompt, prompt}`.
///
/// # Errors
/// What is wrong with them.
pub(super) fn endpoint_words(reply: &Reply, usage: &mut Option<Usage>) -> Result<String, String> {
    let value: Value = serde_json::from_str(&reply.body).map_err(|_| NO_JSON)?;
    said_error(&value)?;
    *usage = value.get("usage").and_then(openai_usage);
    let text = value.get("summary").and_then(Value::as_str).ok_or("it has no summary: {\"summary\": \"…\"} is wanted")?;
    match value.get("finish_reason").or_else(|| value.get("stop_reason")).and_then(Value::as_str) {
        Some("length" | "max_tokens") => return Err(CUT_OFF.to_owned()),
        Some("tool_calls" | "tool_use") => return Err(CALLS.to_owned()),
        _ => {}
    }
    Ok(text.to_owned())
}

/// What a provider's own compaction left: the history that it replays.
///
/// # Errors
/// What is wrong with it.
pub(super) fn compact_output(reply: &Reply, usage: &mut Option<Usage>) -> Result<(Vec<Value>, Value), String> {
    let value: Value = serde_json::from_str(&reply.body).map_err(|_| NO_JSON)?;
    said_error(&value)?;
    *usage = value.get("usage").and_then(openai_usage);
    let output = value.get("output").and_then(Value::as_array).ok_or(OTHER_SHAPE)?;
    let is_item = |item: &&Value| {
        let kind = item.get("type").and_then(Value::as_str);
        (kind == Some("compaction") && item.get("encrypted_content").is_some_and(Value::is_string)) || kind == Some("compaction_summary")
    };
    let item = output.iter().rev().find(is_item).ok_or("it holds no compaction")?;
    Ok((output.clone(), item.clone()))
}

/// A provider may answer an error with a good status, or in the middle of a stream.
fn said_error(value: &Value) -> Result<(), String> {
    let Some(error) = value.get("error").filter(|error| !error.is_null()) else { return Ok(()) };
    let message = error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
    Err(format!("it is an error: {}", crate::text::one_line(&message, 300)))
}

enum Event {
    Data(Value),
    Done,
}

/// The events of a stream; `None` when the answer is none.
fn events(reply: &Reply) -> Result<Option<Vec<Event>>, String> {
    let is_stream = reply.content_type.starts_with("text/event-stream")
        || (!reply.content_type.contains("json") && ["data:", "event:", ":"].iter().any(|mark| reply.body.trim_start().starts_with(mark)));
    if !is_stream {
        return Ok(None);
    }
    let mut events = Vec::new();
    let body = reply.body.replace("\r\n", "\n").replace('\r', "\n");
    // An event ends with a blank line; one that the connection cut off is none.
    let whole = body.rfind("\n\n").map_or("", |end| body.get(..end).unwrap_or_default());
    for block in whole.split("\n\n") {
        let data: Vec<&str> =
            block.lines().filter_map(|line| line.strip_prefix("data:")).map(|data| data.strip_prefix(' ').unwrap_or(data)).collect();
        match data.join("\n").trim() {
            "" => {}
            "[DONE]" => events.push(Event::Done),
            data => events.push(Event::Data(serde_json::from_str(data).map_err(|_| "an event of its stream is no JSON")?)),
        }
    }
    Ok(Some(events))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn reply(kind: &str, body: &str) -> Reply {
        Reply { content_type: kind.to_owned(), body: body.to_owned() }
    }

    fn openai(reply: &Reply) -> (Result<String, String>, Option<Usage>) {
        let mut usage = None;
        (openai_words(reply, &mut usage), usage)
    }

    fn anthropic(reply: &Reply) -> (Result<String, String>, Option<Usage>) {
        let mut usage = None;
        (anthropic_words(reply, &mut usage), usage)
    }

    fn stream(events: &[Value], end: &str) -> Reply {
        let mut body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        body.push_str(end);
        reply("text/event-stream; charset=utf-8", &body)
    }

    #[test]
    fn chat_completions_are_read_whole_and_streamed() {
        let usage = json!({"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}});
        let want = (Ok("ab".to_owned()), Some(Usage { input: 10, output: 3, cache_read: 2, cache_write: 0 }));
        let whole = json!({"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}], "usage": usage});
        assert_eq!(openai(&reply("application/json", &whole.to_string())), want);
        let parts = [
            json!({"choices": [{"delta": {"role": "assistant", "content": "a"}, "finish_reason": null}]}),
            json!({"choices": [{"delta": {"content": "b"}, "finish_reason": null}], "usage": null}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": usage}),
        ];
        assert_eq!(openai(&stream(&parts, "data: [DONE]\n\n")), want);
        assert_eq!(openai(&stream(&parts, "")), want);
        assert_eq!(openai(&stream(&parts[..2], "")).0, Err(NO_END.to_owned()));
        assert_eq!(openai(&stream(&parts[..2], "data: [DONE]")).0, Err(NO_END.to_owned()));
        assert_eq!(openai(&stream(&parts[..2], "data: [DONE]\n\n")).0.unwrap(), "ab");
    }

    #[test]
    fn answers_that_are_none_are_told_apart() {
        let choice = |choice: Value| reply("application/json", &json!({"choices": [choice]}).to_string());
        let rows = [
            (reply("text/html", "<html>"), "no JSON"),
            (reply("application/json", r#"{"id":1}"#), "another shape"),
            (reply("application/json", r#"{"choices":[]}"#), "another shape"),
            (reply("application/json", r#"{"error":{"message":"no such model"}}"#), "no such model"),
            (choice(json!({"message": {"content": "a"}, "finish_reason": "length"})), "cut off"),
            (choice(json!({"message": {"content": null, "tool_calls": [{"id": "1"}]}, "finish_reason": "stop"})), "calls a tool"),
            (choice(json!({"message": {"content": "a"}, "finish_reason": "content_filter"})), "content_filter"),
            (stream(&[json!({"error": {"message": "overloaded"}})], ""), "overloaded"),
            (reply("text/event-stream", "data: {nonsense\n\n"), "no JSON"),
        ];
        for (reply, want) in rows {
            assert!(openai(&reply).0.unwrap_err().contains(want), "{reply:?}");
        }
    }

    #[test]
    fn messages_are_read_whole_and_streamed() {
        let whole = json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ab"}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 7}});
        let (text, usage) = anthropic(&reply("application/json", &whole.to_string()));
        assert_eq!((text.as_deref(), usage.unwrap().cache_read), (Ok("ab"), 7));
        let parts = [
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "ab"}}),
            json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "no"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ];
        let (text, usage) = anthropic(&stream(&parts, ""));
        assert_eq!((text.as_deref(), usage.unwrap().output), (Ok("ab"), 9));
        assert_eq!(anthropic(&stream(&parts[..5], "")).0, Err(NO_END.to_owned()));
        for (reason, want) in [("max_tokens", "cut off"), ("tool_use", "calls a tool"), ("refusal", "refusal")] {
            let mut parts = parts.clone();
            parts[4] = json!({"type": "message_delta", "delta": {"stop_reason": reason}});
            assert!(anthropic(&stream(&parts, "")).0.unwrap_err().contains(want), "{reason}");
        }
        assert!(anthropic(&reply("application/json", "{}")).0.unwrap_err().contains("another shape"));
        assert!(anthropic(&stream(&[json!({"x": 1})], "")).0.unwrap_err().contains("another shape"));
    }

    #[test]
    fn a_compaction_must_be_in_what_compacts() {
        let good = json!({"output": [{"type": "message"}, {"type": "compaction", "encrypted_content": "x"}], "usage": {"input_tokens": 3}});
        let mut usage = None;
        let (output, item) = compact_output(&reply("application/json", &good.to_string()), &mut usage).unwrap();
        assert_eq!((output.len(), &item["encrypted_content"], usage.unwrap().input), (2, &json!("x"), 3));
        let none = reply("application/json", r#"{"output":[{"type":"message"}],"usage":{"input_tokens":4}}"#);
        assert!(compact_output(&none, &mut usage).is_err() && usage.unwrap().input == 4);
    }

    #[test]
    fn what_an_answer_took_is_known_even_when_it_is_no_good() {
        let usage = json!({"prompt_tokens": 12, "completion_tokens": 3});
        let cut = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "length"}], "usage": usage});
        let (text, took) = openai(&reply("application/json", &cut.to_string()));
        assert!(text.is_err() && took.unwrap().input == 12);
        let mut took = None;
        let cut = json!({"summary": "a", "finish_reason": "length", "usage": usage});
        assert!(endpoint_words(&reply("application/json", &cut.to_string()), &mut took).unwrap_err().contains("cut off"));
        assert_eq!(took.unwrap().output, 3);
        let cut = json!({"content": [], "stop_reason": "max_tokens", "usage": {"input_tokens": 7}});
        let (text, took) = anthropic(&reply("application/json", &cut.to_string()));
        assert!(text.is_err() && took.unwrap().input == 7);
    }

    #[test]
    fn an_endpoint_gives_a_summary_or_says_why_not() {
        let read = |body: &str| endpoint_words(&reply("application/json", body), &mut None);
        assert_eq!(read(r#"{"summary":"a"}"#).as_deref(), Ok("a"));
        for (body, want) in [
            (r#"{"error":{"message":"no room"}}"#, "no room"),
            (r#"{"error":"no room"}"#, "no room"),
            (r#"{"summary":7}"#, "it has no summary"),
            ("[]", "it has no summary"),
            ("<html>", "no JSON"),
            (r#"{"summary":"a","stop_reason":"tool_use"}"#, "calls a tool"),
        ] {
            assert!(read(body).unwrap_err().contains(want), "{body}");
        }
    }
}
