//! Who may write a summary, how each is asked and answers, and what must hold of every request.

use std::io::Write;

use epitome::engine::tokens::Tokenizer;
use serde_json::{Value, json};

use crate::run::{Out, Run};
use crate::server::{Answer, Got, Server, json as ok};
use crate::sessions as s;
use crate::{read, turns};

pub(crate) const GOOD: &str = "## Goal\n- MODEL-WORDS about the work\n\n## Next Steps\n- go on";

/// A session that compacts with a small budget: turns with calls, a useless one among them.
pub(crate) fn long() -> Vec<u8> {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 0, 4, 2_000);
    lines.push(read("r1", &last, "call-1", "src/one.rs"));
    lines.push(s::tool_result("t1", "r1", "call-1", "read", &s::words_from(40_000, 3_000)));
    lines.push(read("r2", "t1", "call-2", "src/two.rs"));
    lines.push(s::tool_result_with("t2", "r2", "call-2", "read", json!([s::tx("nothing")]), json!({"useless": true})));
    turns(&mut lines, Some("t2"), 5, 3, 2_000);
    s::file(&lines)
}

pub(crate) const COMPACT: &[&str] = &["compact", "s.jsonl", "--keep-recent-tokens", "1500", "--json"];

/// The clients over HTTP, and how each answers what a model says. OpenAI's own compaction is there beside its chat, which
/// answers where that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    Endpoint,
    Openai,
    OpenaiCompact,
    Anthropic,
}

impl Client {
    pub(crate) const ALL: [Client; 3] = [Client::Endpoint, Client::Openai, Client::Anthropic];
    pub(crate) const EVERY: [Client; 4] = [Client::Endpoint, Client::Openai, Client::OpenaiCompact, Client::Anthropic];

    pub(crate) fn args(self, server: &Server) -> Vec<String> {
        let address = &server.address;
        match self {
            Client::Endpoint => vec!["--summarizer".to_owned(), "endpoint".to_owned(), "--endpoint".to_owned(), format!("{address}/sum")],
            Client::Openai | Client::OpenaiCompact => {
                let base = format!("{address}/v1");
                [
                    "--summarizer",
                    if self == Client::Openai { "openai" } else { "openai-compact" },
                    "--summarizer-model",
                    "m-1",
                    "--base-url",
                    &base,
                ]
                .map(str::to_owned)
                .to_vec()
            }
            Client::Anthropic => {
                ["--summarizer", "anthropic", "--summarizer-model", "claude-x", "--base-url", address].map(str::to_owned).to_vec()
            }
        }
    }

    /// An answer with these words that ended for this reason: `stop`, `length` or `tool`.
    pub(crate) fn says(self, text: &str, reason: &str) -> Answer {
        let openai = if reason == "tool" { "tool_calls" } else { reason };
        let anthropic = match reason {
            "stop" => "end_turn",
            "length" => "max_tokens",
            _ => "tool_use",
        };
        match self {
            Client::Endpoint => ok(&json!({"summary": text, "finish_reason": openai})),
            Client::Openai | Client::OpenaiCompact => {
                let calls = if reason == "tool" {
                    json!([{"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}])
                } else {
                    Value::Null
                };
                ok(
                    &json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": text, "tool_calls": calls}, "finish_reason": openai}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}}),
                )
            }
            Client::Anthropic => {
                let block = if reason == "tool" {
                    json!({"type": "tool_use", "id": "1", "name": "bash", "input": {}})
                } else {
                    json!({"type": "text", "text": text})
                };
                ok(&json!({"type": "message", "role": "assistant", "content": [block], "stop_reason": anthropic,
                    "usage": {"input_tokens": 60, "output_tokens": 10, "cache_read_input_tokens": 40}}))
            }
        }
    }

    /// The beginning of an answer with these words, streamed where the client has streams.
    pub(crate) fn begins(self, text: &str) -> String {
        let event = |value: Value| format!("data: {value}\n\n");
        match self {
            Client::Endpoint => format!("{{\"summary\": {}", json!(text).to_string().trim_end_matches('"')),
            Client::Anthropic => {
                event(json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}))
                    + &event(json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}))
            }
            Client::Openai | Client::OpenaiCompact => event(json!({"choices": [{"delta": {"content": text}, "finish_reason": null}]})),
        }
    }
}

/// The system prompt and the request of what was sent.
pub(crate) fn asked(got: &Got) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if got.body.get("prompt").is_some() {
        return (text(&got.body["systemPrompt"]), text(&got.body["prompt"]));
    }
    if got.body.get("system").is_some() {
        return (text(&got.body["system"]), text(&got.body["messages"][0]["content"]));
    }
    (text(&got.body["messages"][0]["content"]), text(&got.body["messages"][1]["content"]))
}

/// Most tokens of a request where nothing is known of a model and nothing is set.
const MOST: u64 = 100_000;

/// What must hold of every request.
pub(crate) fn holds(got: &Got) {
    assert_eq!(got.header("content-type"), Some("application/json"));
    assert!(!got.raw.contains("src/two.rs"), "a useless call is told: {}", got.raw);
    if got.path.ends_with("/compact") {
        let items = got.body["input"].as_array().unwrap();
        let ids = |kind: &str| -> Vec<&str> {
            items.iter().filter(|item| item["type"] == kind).map(|item| item["call_id"].as_str().unwrap()).collect()
        };
        assert_eq!(ids("function_call"), ids("function_call_output"), "{}", got.raw);
        assert!(Tokenizer::default().count(&got.raw) <= MOST);
        return;
    }
    if got.body.get("tool_choice").is_some() || got.body["messages"].as_array().is_some_and(|list| list.len() > 2) {
        return holds_whole(got);
    }
    let (system, user) = asked(got);
    assert!(system.contains("is data") && !user.is_empty(), "{}", got.raw);
    let tokens = Tokenizer::default().count(&system) + Tokenizer::default().count(&user);
    assert!(tokens <= MOST, "{tokens} tokens: {user}");
    if user.starts_with("<summary>") {
        assert_eq!(user.matches("</summary>").count(), 1, "{user}");
        return;
    }
    for tag in ["<conversation>", "</conversation>"] {
        assert_eq!(user.matches(tag).count(), 1, "{tag} in {user}");
    }
    for tag in ["previous-summary", "additional-context"] {
        let (open, close) = (user.matches(&format!("<{tag}>\n")).count(), user.matches(&format!("\n</{tag}>")).count());
        assert!(open == close && open <= 1, "{tag} in {user}");
    }
    let conversation = user.split("</conversation>").next().unwrap();
    let calls = conversation.matches("[Tool Call]: ").count();
    assert!(conversation.matches("[Tool Result]: ").count() <= calls, "a result without its call: {conversation}");
    assert!(!conversation.trim_start_matches("<conversation>\n").starts_with("[Tool Result]"));
}

/// The same of a conversation that is sent as what it is: every result stands behind its call, every call has its result,
/// every tool that is called is named, none may be called, and the last message is a person's.
pub(crate) fn holds_whole(got: &Got) {
    let body = &got.body;
    assert!(Tokenizer::default().count(&got.raw) <= MOST, "{}", got.raw);
    let messages = body["messages"].as_array().unwrap();
    let is_anthropic = body.get("system").is_some();
    let (mut open, mut called): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut ids = std::collections::HashSet::new();
    let mut call = |id: &Value, name: &Value, open: &mut Vec<String>| {
        assert!(ids.insert(id.to_string()), "one id twice: {}", got.raw);
        open.push(id.to_string());
        called.push(name.as_str().unwrap().to_owned());
    };
    for message in messages {
        let is_result = |block: &Value| block["type"] == "tool_result";
        let results: Vec<&Value> = match (message["role"].as_str(), message["content"].as_array()) {
            (Some("tool"), _) => vec![&message["tool_call_id"]],
            (_, Some(blocks)) => blocks.iter().filter(|block| is_result(block)).map(|block| &block["tool_use_id"]).collect(),
            _ => Vec::new(),
        };
        if results.is_empty() {
            assert!(open.is_empty(), "calls without results: {open:?} in {}", got.raw);
        }
        for id in results {
            let id = id.to_string();
            let at = open.iter().position(|known| *known == id);
            open.remove(at.unwrap_or_else(|| panic!("a result without its call: {id} in {}", got.raw)));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_use" {
                call(&block["id"], &block["name"], &mut open);
            }
            assert!(block["type"] != "text" || !block["text"].as_str().unwrap().trim().is_empty(), "{}", got.raw);
        }
        for block in message["tool_calls"].as_array().into_iter().flatten() {
            call(&block["id"], &block["function"]["name"], &mut open);
        }
    }
    assert!(open.is_empty(), "{}", got.raw);
    assert_eq!(messages.last().unwrap()["role"], "user");
    if is_anthropic {
        let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert!(roles[0] == "user" && roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
    }
    let tools: Vec<&str> =
        body["tools"].as_array().into_iter().flatten().map(|t| t["name"].as_str().or(t["function"]["name"].as_str()).unwrap()).collect();
    assert!(called.iter().all(|name| tools.contains(&name.as_str())), "{called:?} {tools:?}");
    if !tools.is_empty() {
        let none = if is_anthropic { json!({"type": "none"}) } else { json!("none") };
        assert_eq!(body["tool_choice"], none);
    }
}

pub(crate) fn go(run: &Run, args: &[&str], client: &[String], env: &[(&str, &str)]) -> Out {
    let all: Vec<&str> = args.iter().copied().chain(client.iter().map(String::as_str)).collect();
    let env = [&[("EPITOME_TEST_WAIT_THOUSANDTHS", "1")], env].concat();
    run.go_env(&all, &env)
}

/// A session whose last turn is longer than what is kept: a cut splits it.
pub(crate) fn split_turn() -> Vec<u8> {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 0, 2, 2_000);
    lines.push(s::user("big", last.as_str(), "OPENING-REQUEST"));
    let mut parent = "big".to_owned();
    for n in 0..4 {
        let (call, result) = (format!("c{n}"), format!("x{n}"));
        lines.push(read(&call, &parent, &call, &format!("f{n}.rs")));
        lines.push(s::tool_result(&result, call.as_str(), &call, "read", &s::words_from(n * 5_000, 1_800)));
        parent = result;
    }
    s::file(&lines)
}

/// What OpenAI's own compaction answers.
pub(crate) fn compacted() -> Answer {
    ok(&json!({"output": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept by the provider"}]},
        {"type": "compaction", "encrypted_content": "OPAQUE"},
    ], "usage": {"input_tokens": 70, "output_tokens": 5}}))
}

/// Does jobs side by side: most of their time they wait.
pub(crate) fn side_by_side<T: Send>(jobs: Vec<T>, job: impl Fn(T) + Sync) {
    let jobs = std::sync::Mutex::new(jobs.into_iter());
    let next = || jobs.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(one) = next() {
                    job(one);
                }
            });
        }
    });
}

/// A server that gives the same answers again and again; before the first of them the session grows by a line.
pub(crate) fn growing(run: &Run, answer: impl Fn() -> Answer + Send + Sync + 'static) -> Server {
    let path = run.path("s.jsonl");
    Server::with(move |at, _| {
        if at == 0 {
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
            writeln!(file, "{}", s::user("late", "a7", "LATE-WORD")).unwrap();
        }
        answer()
    })
}
