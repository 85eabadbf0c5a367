//! Tells a session the way an agent writes it: each entry hangs below the one before, time goes on, ids are fresh,
//! and the `usage` of an answer follows from what stands in the context at that moment.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::sessions::{base64, call, entry_at, noise, tx};

/// A model as entries name it, with the price of a million tokens (input, output) in dollars.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    pub(crate) api: &'static str,
    pub(crate) provider: &'static str,
    pub(crate) name: &'static str,
    pub(crate) input_price: u32,
    pub(crate) output_price: u32,
}

pub(crate) const SONNET: Model =
    Model { api: "anthropic-messages", provider: "anthropic", name: "claude-sonnet-4-5", input_price: 3, output_price: 15 };

pub(crate) const GPT: Model = Model { api: "openai-responses", provider: "openai", name: "gpt-5.1", input_price: 2, output_price: 10 };

/// Tokens of system prompt and tool definitions, which no entry shows but every request pays for.
const PROMPT_TOKENS: usize = 3_800;

struct Node {
    parent: Option<String>,
    /// Characters that the entry adds to the context.
    chars: usize,
    /// For a compaction: the first entry that it keeps.
    first_kept: Option<String>,
}

pub(crate) struct Story {
    pub(crate) lines: Vec<String>,
    pub(crate) leaf: Option<String>,
    pub(crate) model: Model,
    seed: u64,
    now_ms: i64,
    nodes: HashMap<String, Node>,
    cached: usize,
    calls: u64,
}

impl Story {
    /// `seed` makes the ids of different sessions differ; `start` is an ISO timestamp.
    pub(crate) fn new(seed: u64, start: &str, model: Model) -> Story {
        let now_ms = start.parse::<Timestamp>().map_or(0, Timestamp::as_millisecond);
        Story { lines: Vec::new(), leaf: None, model, seed, now_ms, nodes: HashMap::new(), cached: 0, calls: 0 }
    }

    pub(crate) fn iso(&self) -> String {
        Timestamp::from_millisecond(self.now_ms).map_or_else(|_| String::new(), |now| format!("{now:.3}"))
    }

    pub(crate) fn wait(&mut self, seconds: i64) {
        self.now_ms += seconds * 1000;
    }

    /// Adds a line that is no tree entry, such as the header.
    pub(crate) fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Adds an entry below the leaf, makes it the leaf and returns its id.
    pub(crate) fn push(&mut self, kind: &str, fields: Value) -> String {
        self.push_sized(kind, fields, 0)
    }

    fn push_sized(&mut self, kind: &str, fields: Value, chars: usize) -> String {
        // Not one step a second: gaps that look like work.
        self.now_ms += 700 + i64::from(noise(self.now_ms.unsigned_abs(), 1).first().copied().unwrap_or(0)) * 37;
        let id: String = noise(self.seed * 100_003 + self.lines.len() as u64, 4).iter().map(|byte| format!("{byte:02x}")).collect();
        let first_kept = fields.get("firstKeptEntryId").and_then(Value::as_str).map(str::to_owned);
        self.lines.push(entry_at(kind, &id, self.leaf.as_deref(), &self.iso(), fields));
        let node = Node { parent: self.leaf.take(), chars, first_kept };
        let known = self.nodes.insert(id.clone(), node);
        debug_assert!(known.is_none(), "entry ids must be unique");
        self.leaf = Some(id.clone());
        id
    }

    /// Goes on below an older entry: a new branch.
    pub(crate) fn go_to(&mut self, id: &str) {
        self.leaf = Some(id.to_owned());
    }

    pub(crate) fn message(&mut self, mut message: Value) -> String {
        let chars = message.get("content").map_or(0, count) + message.get("output").map_or(0, count);
        if let Some(object) = message.as_object_mut() {
            object.insert("timestamp".into(), self.now_ms.into());
        }
        self.push_sized("message", json!({ "message": message }), chars)
    }

    pub(crate) fn user(&mut self, text: &str) -> String {
        self.user_blocks(json!([tx(text)]))
    }

    pub(crate) fn user_blocks(&mut self, blocks: Value) -> String {
        self.message(json!({"role": "user", "content": blocks}))
    }

    /// An answer; its stop reason is `toolUse` when it holds a call, else `stop`.
    pub(crate) fn assistant(&mut self, blocks: Value) -> String {
        let uses_tools = blocks.as_array().is_some_and(|blocks| blocks.iter().any(|block| block.get("type") == Some(&json!("toolCall"))));
        self.answer(blocks, if uses_tools { "toolUse" } else { "stop" }, None)
    }

    pub(crate) fn say(&mut self, text: &str) -> String {
        self.assistant(json!([tx(text)]))
    }

    /// An answer that ended in any way; `error` becomes its `errorMessage`.
    pub(crate) fn answer(&mut self, blocks: Value, stop_reason: &str, error: Option<&str>) -> String {
        let usage = self.usage(count(&blocks), stop_reason == "error");
        let mut message = json!({
            "role": "assistant", "content": blocks, "api": self.model.api, "provider": self.model.provider,
            "model": self.model.name, "usage": usage, "stopReason": stop_reason,
        });
        if let (Some(error), Some(object)) = (error, message.as_object_mut()) {
            object.insert("errorMessage".into(), error.into());
        }
        self.message(message)
    }

    /// A fresh call id in the provider's style.
    pub(crate) fn call_id(&mut self) -> String {
        self.calls += 1;
        let tail: String = base64(&noise(self.seed * 7_919 + self.calls, 15)).replace(['+', '/'], "x");
        if self.model.provider == "anthropic" { format!("toolu_01{tail}") } else { format!("call_{tail}") }
    }

    pub(crate) fn result(&mut self, call: &str, tool: &str, text: &str, extra: Value) -> String {
        self.result_blocks(call, tool, json!([tx(text)]), extra)
    }

    pub(crate) fn result_blocks(&mut self, call: &str, tool: &str, blocks: Value, extra: Value) -> String {
        let mut message = json!({
            "role": "toolResult", "toolCallId": call, "toolName": tool, "content": blocks, "isError": false,
        });
        if let (Some(object), Value::Object(extra)) = (message.as_object_mut(), extra) {
            object.extend(extra);
        }
        self.message(message)
    }

    /// An answer with one call and the call's result. Returns the id of the answer.
    pub(crate) fn tool(&mut self, say: &str, tool: &str, arguments: Value, result: &str) -> String {
        self.tool_with(say, tool, arguments, result, json!({}))
    }

    pub(crate) fn failing_tool(&mut self, say: &str, tool: &str, arguments: Value, result: &str) -> String {
        self.tool_with(say, tool, arguments, result, json!({"isError": true}))
    }

    pub(crate) fn tool_with(&mut self, say: &str, tool: &str, arguments: Value, result: &str, extra: Value) -> String {
        let id = self.call_id();
        let block = call(&id, tool, arguments);
        let answer = if say.is_empty() { self.assistant(json!([block])) } else { self.assistant(json!([tx(say), block])) };
        self.result(&id, tool, result, extra);
        answer
    }

    /// An answer with several calls at once, then their results in the order of the calls.
    pub(crate) fn parallel(&mut self, first: Vec<Value>, calls: Vec<(&str, Value, String)>) -> String {
        let ids: Vec<String> = calls.iter().map(|_| self.call_id()).collect();
        let mut blocks = first;
        for (id, (tool, arguments, _)) in ids.iter().zip(&calls) {
            blocks.push(call(id, tool, arguments.clone()));
        }
        let answer = self.assistant(Value::Array(blocks));
        for (id, (tool, _, result)) in ids.iter().zip(&calls) {
            self.result(id, tool, result, json!({}));
        }
        answer
    }

    /// A compaction of the current path, in omp's form.
    pub(crate) fn compact(&mut self, summary: &str, short: &str, first_kept: &str, details: Value) -> String {
        let before = self.context_tokens();
        let kept = self.kept_chars(first_kept);
        let after = PROMPT_TOKENS + (summary.len() + kept) / 4;
        self.cached = PROMPT_TOKENS;
        let fields = json!({
            "summary": summary, "shortSummary": short, "firstKeptEntryId": first_kept, "tokensBefore": before,
            "tokensAfter": after, "method": "llm", "details": details,
        });
        self.push_sized("compaction", fields, summary.len())
    }

    /// Tokens of the context at the leaf, at four characters a token.
    pub(crate) fn context_tokens(&self) -> usize {
        let mut chars = 0;
        let mut cursor = self.leaf.as_deref();
        while let Some((id, node)) = cursor.and_then(|id| self.nodes.get_key_value(id)) {
            chars += node.chars;
            if let Some(first_kept) = &node.first_kept {
                chars += self.chars_between(id, first_kept);
                break;
            }
            cursor = node.parent.as_deref();
        }
        PROMPT_TOKENS + chars / 4
    }

    fn kept_chars(&self, first_kept: &str) -> usize {
        let leaf = self.leaf.as_deref().unwrap_or_default();
        self.nodes.get(leaf).map_or(0, |node| node.chars) + self.chars_between(leaf, first_kept)
    }

    /// Characters of the entries before `end` back to `first`, both on the path.
    fn chars_between(&self, end: &str, first: &str) -> usize {
        let mut chars = 0;
        let mut cursor = self.nodes.get(end).and_then(|node| node.parent.as_deref());
        while let Some(node) = cursor.and_then(|id| self.nodes.get(id)) {
            chars += node.chars;
            if cursor == Some(first) {
                break;
            }
            cursor = node.parent.as_deref();
        }
        chars
    }

    fn usage(&mut self, answer_chars: usize, failed: bool) -> Value {
        if failed {
            return usage_of([0; 4], self.model);
        }
        let prompt = self.context_tokens();
        let output = (answer_chars / 4).max(12);
        let read = self.cached.min(prompt);
        let written = (prompt - read).saturating_sub(4);
        self.cached = prompt;
        usage_of([prompt - read - written, output, read, written], self.model)
    }
}

fn usage_of([input, output, read, written]: [usize; 4], model: Model) -> Value {
    // Hundredths of a millionth of a dollar, so that the sums are exact before the one division.
    let price = |tokens: usize, per_million: u32, percent: usize| tokens * per_million as usize * percent;
    let parts = [
        price(input, model.input_price, 100),
        price(output, model.output_price, 100),
        price(read, model.input_price, 10),
        price(written, model.input_price, 125),
    ];
    let dollars = |amount: usize| amount as f64 / 100_000_000.0;
    let [cost_in, cost_out, cost_read, cost_written] = parts.map(dollars);
    json!({
        "input": input, "output": output, "cacheRead": read, "cacheWrite": written,
        "totalTokens": input + output + read + written,
        "cost": {
            "input": cost_in, "output": cost_out, "cacheRead": cost_read, "cacheWrite": cost_written,
            "total": dollars(parts.iter().sum()),
        },
    })
}

/// Characters of a content that reach the model; an image counts like 1,200 tokens, whatever the length of its data.
fn count(content: &Value) -> usize {
    match content {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) if fields.get("type") == Some(&json!("image")) => 4_800,
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}
