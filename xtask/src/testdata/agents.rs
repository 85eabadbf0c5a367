//! Sessions of other agents and other times: pi, openclaw, format versions 1, 2 and one that does not exist yet.

use serde_json::json;

use super::small::{SCHEDULE, thought};
use super::story::{SONNET, Story};
use super::texts::numbered;
use crate::sessions::{call, file, tx};

/// A session that pi owns: system messages with sections, context edits, usage records.
pub(crate) fn pi() -> Vec<u8> {
    let mut s = Story::new(3, "2026-04-11T09:30:00.000Z", SONNET);
    s.line(json!({"type": "session", "version": 3, "id": "0196240c-77aa-7e02-b7c4-9a1f0d5c2b10", "timestamp": s.iso(), "cwd": "/home/dev/projects/harbor"}).to_string());
    s.push("model_change", json!({"provider": "anthropic", "modelId": "claude-sonnet-4-5"}));
    s.push("thinking_level_change", json!({"thinkingLevel": "medium"}));
    s.message(json!({
        "role": "system", "content": "You are a coding agent in /home/dev/projects/harbor.",
        "sections": {"base": "You are a coding agent.", "project": "harbor: a berth booking server.", "skills": "deploy: how to release."},
        "toolsAdded": ["read", "bash", "edit", "write"], "toolsRemoved": [],
    }));
    s.push("session_info", json!({"name": "Tariffs at night"}));
    s.user("The night tariff (22:00 to 06:00) is charged by the begin of a stay only. It must be by the hour. Where is that computed?");
    let big = s.call_id();
    s.assistant(json!([thought("src/tariff.rs, I think.", 71), call(&big, "bash", json!({"command": "grep -rn tariff src | head"}))]));
    let grep = s.result(
        &big,
        "bash",
        "src/tariff.rs:12:pub const NIGHT_RATE: u32 = 250;\nsrc/tariff.rs:40:pub fn charge(booking: &Booking) -> u32 {\n",
        json!({}),
    );
    let read = s.call_id();
    s.assistant(json!([call(&read, "read", json!({"path": "src/schedule.rs", "offset": 1, "limit": 400}))]));
    let listing = s.result(&read, "read", &numbered(SCHEDULE), json!({}));
    s.say("`charge` in src/tariff.rs:40 looks at `booking.from` only. It should add up the hours that lie between 22:00 and 06:00.");
    s.push("usage", json!({"source": "extension", "model": "anthropic/claude-haiku-4-5", "usage": {"input": 640, "output": 31, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 671}}));
    s.push("context_edit", json!({"targetId": listing, "replacement": {"content": [tx("[schedule.rs was read here; 177 lines]")]}}));
    s.push("context_edit", json!({"targetId": grep, "replacement": null}));
    s.user("Yes. Do it, with a test for a stay from 21:00 to 07:00: two day hours, eight night hours.");
    s.tool(
        "",
        "edit",
        json!({"path": "src/tariff.rs", "edits": [{"oldText": "if is_night(booking.from)", "newText": "night_minutes(booking)"}]}),
        "Successfully replaced 1 block(s) in src/tariff.rs.",
    );
    s.tool(
        "",
        "bash",
        json!({"command": "cargo test tariff"}),
        "running 6 tests\ntest result: ok. 6 passed; 0 failed; 0 ignored; 0 measured; 182 filtered out; finished in 0.01s\n",
    );
    let kept = s.say("Charged by the hour now; 6 tariff tests pass, the one you asked for among them (2 × 180 + 8 × 250 = 2360).");
    s.message(json!({
        "role": "system", "content": "Skill deploy was unloaded.",
        "sections": {"skills": null, "project": "harbor: a berth booking server. Releases are frozen until 20 April."},
        "toolsAdded": ["grep"], "toolsRemoved": ["write"],
    }));
    let summary = "## Goal\nCharge the night tariff (22:00 to 06:00, rate 250) by the hour.\n\n## Progress\n### Done\n- [x] src/tariff.rs: `night_minutes`, 6 tests pass\n\n<read-files>\nsrc/schedule.rs\n</read-files>\n\n<modified-files>\nsrc/tariff.rs\n</modified-files>";
    s.push("compaction", json!({
        "summary": summary, "firstKeptEntryId": kept, "tokensBefore": s.context_tokens(),
        "details": {"readFiles": ["src/schedule.rs"], "modifiedFiles": ["src/tariff.rs"]}, "fromHook": false,
        "systemMessage": {"role": "system", "content": "You are a coding agent in /home/dev/projects/harbor.",
            "sections": {"base": "You are a coding agent.", "project": "harbor: a berth booking server. Releases are frozen until 20 April."},
            "toolsAdded": ["read", "bash", "edit", "grep"], "toolsRemoved": []},
    }));
    s.push("usage", json!({"source": "compaction", "model": "anthropic/claude-sonnet-4-5", "usage": {"input": 5120, "output": 240, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 5360}}));
    s.message(json!({"role": "bashExecution", "command": "git diff --stat", "output": " src/tariff.rs | 31 ++++++++++++++++++++++++-------\n", "exitCode": 0, "cancelled": false, "truncated": false}));
    let question = s.user("What does a stay of two weeks cost now? Compute it, don't guess.");
    s.push("label", json!({"targetId": question, "label": "two weeks"}));
    s.push("custom", json!({"customType": "presets", "data": {"active": "careful"}}));
    s.tool(
        "",
        "bash",
        json!({"command": "cargo run -q -- charge --from 0 --until 20160"}),
        "14 days: 224 day hours, 112 night hours: 68320\n",
    );
    s.say("68,320: 224 day hours at 180 and 112 night hours at 250.");
    file(&s.lines)
}

/// A session in the manner of openclaw: plain pi entries, its own custom types, results as strings.
pub(crate) fn openclaw() -> Vec<u8> {
    let model = super::story::Model {
        provider: "openclaw-gateway",
        name: "gateway-large",
        api: "openai-completions",
        input_price: 0,
        output_price: 0,
    };
    let mut s = Story::new(4, "2026-05-06T18:00:00.000Z", model);
    s.line(
        json!({"type": "session", "id": "harbor-desk-chat", "version": 3, "timestamp": s.iso(), "cwd": "/srv/agents/harbor-desk"})
            .to_string(),
    );
    s.push("model_change", json!({"provider": "openclaw-gateway", "modelId": "gateway-large"}));
    s.push("thinking_level_change", json!({"thinkingLevel": "low"}));
    s.push("custom", json!({"customType": "model-snapshot", "data": {"timestamp": 1_778_090_400_000_u64, "provider": "openclaw-gateway", "modelApi": "openai-completions", "modelId": "gateway-large"}}));
    s.push("custom", json!({"customType": "ui_state", "data": {"phase": "idle"}}));
    s.push("custom_message", json!({"customType": "openclaw.runtime-context", "content": "Channel: harbour office. Reply in short sentences.", "display": false, "details": {"source": "openclaw-runtime-context"}}));
    s.user("[message_id: 5512] Is berth 7 free on Saturday?");
    let id = s.call_id();
    s.assistant(json!([
        tx("Let me look."),
        call(&id, "run_terminal", json!({"command": "harbor slots --berth 7 --day saturday", "cwd": "/srv/agents/harbor-desk"}))
    ]));
    s.message(json!({"role": "toolResult", "toolCallId": id, "toolName": "run_terminal", "content": "00:00-06:00\n20:00-24:00\n", "isError": false}));
    s.say("Berth 7 is free until 06:00 and from 20:00 on Saturday.");
    s.push("custom", json!({"customType": "ui_state", "data": {"phase": "answered"}}));
    s.push("custom_message", json!({"customType": "openclaw.runtime-context", "content": "[media attached: quay.jpg]", "display": false, "details": {"source": "openclaw-runtime-context"}}));
    s.user("[message_id: 5513] Book 20:00 to 23:00 for Petrel, please.");
    s.tool(
        "",
        "run_terminal",
        json!({"command": "harbor book --berth 7 --vessel Petrel --from 20:00 --until 23:00"}),
        "booking 5514 taken\n",
    );
    s.say("Done: booking 5514.");
    file(&s.lines)
}

/// Version 1: no ids; the compaction counts all lines, the header being line 0.
pub(crate) fn v1() -> Vec<u8> {
    let stamp = |minute: u32| format!("2025-09-14T10:{minute:02}:00.000Z");
    let user = |minute: u32, text: &str| {
        json!({"type": "message", "timestamp": stamp(minute), "message": {"role": "user", "content": [tx(text)], "timestamp": 1_757_844_000_000_u64 + u64::from(minute) * 60_000}}).to_string()
    };
    let answer = |minute: u32, blocks: serde_json::Value| {
        json!({"type": "message", "timestamp": stamp(minute), "message": {"role": "assistant", "content": blocks, "api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5", "usage": {"input": 900, "output": 40, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 940}, "stopReason": "stop", "timestamp": 1_757_844_000_000_u64 + u64::from(minute) * 60_000}}).to_string()
    };
    file(&[
        json!({"type": "session", "id": "3f0c2d58-1b7e-4a35-9d0e-6f2a8b41c7d9", "timestamp": stamp(0), "cwd": "/home/dev/projects/harbor", "provider": "anthropic", "modelId": "claude-sonnet-4-5", "thinkingLevel": "off"}).to_string(),
        user(1, "List the berths that are longer than 200 m."),
        answer(2, json!([call("toolu_01v1list", "bash", json!({"command": "harbor berths --longer 200"}))])),
        json!({"type": "message", "timestamp": stamp(3), "message": {"role": "toolResult", "toolCallId": "toolu_01v1list", "toolName": "bash", "content": [tx("7 (240 m)\n9 (310 m)\n")], "isError": false, "timestamp": 1_757_844_180_000_u64}}).to_string(),
        answer(4, json!([tx("Berths 7 and 9.")])),
        json!({"type": "thinking_level_change", "timestamp": stamp(5), "thinkingLevel": "high"}).to_string(),
        user(6, "And which of them has a crane?"),
        answer(7, json!([tx("Only berth 9.")])),
        json!({"type": "compaction", "timestamp": stamp(8), "summary": "The user asked for long berths: 7 (240 m) and 9 (310 m, with a crane).", "firstKeptEntryIndex": 6, "tokensBefore": 940}).to_string(),
        user(9, "Book berth 9 for Aurelia tomorrow, 06:00 to 14:00."),
        answer(10, json!([tx("I cannot book from here; run `harbor book --berth 9 --vessel Aurelia`.")])),
    ])
}

/// Version 2: a tree, and hook messages under their old role.
pub(crate) fn v2() -> Vec<u8> {
    let mut s = Story::new(5, "2025-11-20T12:00:00.000Z", SONNET);
    s.line(json!({"type": "session", "version": 2, "id": "7c3e9a60-52d4-4a0f-8a54-1f6f0c9be2d3", "timestamp": s.iso(), "cwd": "/home/dev/projects/harbor"}).to_string());
    s.push("model_change", json!({"provider": "anthropic", "modelId": "claude-sonnet-4-5"}));
    s.user("What did the last deployment change?");
    s.message(
        json!({"role": "hookMessage", "customType": "git-context", "content": "HEAD is v0.5.9, deployed on 18 November.", "display": true}),
    );
    s.tool("", "bash", json!({"command": "git log --oneline v0.5.8..v0.5.9"}), "b41f00d Show the tide in the berth list\n");
    let fork = s.say("One commit: the tide in the berth list.");
    s.user("Roll it back.");
    s.say("I'd need your go for that.");
    s.go_to(&fork);
    s.user("Fine. Who asked for it?");
    file(&s.lines)
}

/// A version and entry types of the future. Written by hand: spellings of numbers and escapes that a rewrite through
/// a JSON library would change.
pub(crate) fn future() -> Vec<u8> {
    file(&[
        r#"{"type":"session","version":9,"id":"f0000000-0000-4000-8000-000000000009","timestamp":"2031-01-01T00:00:00.000Z","cwd":"\/home\/dev\/projects\/harbor","flags":{"sealed":1.0}}"#,
        r#"{"type":"model_change","id":"9a000001","parentId":null,"timestamp":"2031-01-01T00:00:01.000Z","model":"anthropic/claude-9"}"#,
        r#"{"type":"message","id":"9a000002","parentId":"9a000001","timestamp":"2031-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"text","text":"How deep is berth 7\u003f \u00e9\/\u65E5"}],"timestamp":1924992002000.0,"mood":{"b":1,"a":2}}}"#,
        r#"{"type":"thought_graph","id":"9a000003","parentId":"9a000002","timestamp":"2031-01-01T00:00:03.000Z","nodes":[12345678901234567890,-0,-0.0,1E3,1e-07,0.10,100000000000000000000000000000000],"edges":{"b":[],"a":{}},"path":"C:\\work\\\u0061.txt"}"#,
        r#"{ "type" : "message", "id":"9a000004",	"parentId":"9a000003", "timestamp":"2031-01-01T00:00:04.000Z", "message":{"role":"assistant","content":[{"type":"text","text":"12.50 m"},{"type":"hologram","data":"\ud83d\udea2"}],"provider":"anthropic","model":"claude-9","usage":{"input":1.2e3,"output":8,"cacheRead":0,"cacheWrite":0,"totalTokens":1208.0},"stopReason":"stop","timestamp":1924992004000} }"#,
        r#"{"type":"message","id":"9a000005","parentId":"9a000004","timestamp":"2031-01-01T00:00:05.000Z","message":{"role":"oracle","content":"a role nobody knows","timestamp":1924992005000}}"#,
        r#"{"type":"future_thing","note":"no id: never a leaf, never a parent"}"#,
        r#"{"type":"message","id":"9a000006","parentId":"9a000005","timestamp":"2031-01-01T00:00:06.000Z","message":{"role":"user","content":"Thanks.","timestamp":1924992006000}}"#,
    ])
}
