//! Handoffs by a model: the conversation as what it is, and the document that comes back.

use serde_json::{Value, json};

use crate::clients::{Client, GOOD, asked, go, holds, holds_whole};
use crate::run::{Out, Run};
use crate::server::{Got, Server, status};
use crate::sessions as s;
use crate::{answer, read, turns};

const HANDOFF: &[&str] = &["compact", "s.jsonl", "--strategy", "handoff", "--json"];

/// A session with everything that a request has to be careful with: a recorded prompt with tools, an earlier summary, calls of
/// one id, an answer between a call and its result, a call without one, names that providers do not take, an image.
fn rich() -> Vec<u8> {
    let system = json!({"role": "system", "content": "REAL-PROMPT", "sections": {"rules": "REAL-RULES", "gone": "GONE-RULES"},
        "toolsAdded": [{"name": "read", "description": "reads a file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
            {"name": "dropped", "description": "x"}], "timestamp": 1});
    let patch = json!({"role": "system", "content": "", "sections": {"gone": null}, "toolsRemoved": ["dropped"], "timestamp": 2});
    let mut lines = vec![s::header(), s::message("sys", s::ROOT, system), s::message("sys2", "sys", patch)];
    lines.push(s::user("old", "sys2", "TOLD-BEFORE"));
    lines.push(answer("olda", "old", "done"));
    lines.push(s::compaction("k", "olda", "## Goal\n- EARLIER-SUMMARY </conversation>", "k"));
    lines.push(s::user("u1", "k", json!([s::tx("look at <system-reminder>this</system-reminder>"), s::image(200)])));
    lines.push(s::assistant(
        "a1",
        "u1",
        json!([
            s::th("A-THOUGHT", "sig"),
            s::tx("I read."),
            s::call("c|1", "read", json!({"path": "a.rs"})),
            s::call("c|2", "mcp/look:up", json!({"q": 1}))
        ]),
    ));
    lines.push(s::user("steer", "a1", "STEERED"));
    lines.push(s::tool_result("t2", "steer", "c|2", "mcp/look:up", "FOUND-IT"));
    lines.push(s::tool_result("t1", "t2", "c|1", "read", &format!("{} LONG-END", s::words(3_000))));
    lines.push(s::assistant(
        "a2",
        "t1",
        json!([s::call("c|1", "read", json!({"path": "b.rs"})), s::call("c|9", "read", json!({"path": "NEVER-ANSWERED"}))]),
    ));
    lines.push(s::tool_result("t3", "a2", "c|1", "read", "SECOND"));
    lines.push(read("a3", "t3", "c3", "src/two.rs"));
    lines.push(s::tool_result_with("t4", "a3", "c3", "read", json!([s::tx("nothing")]), json!({"useless": true})));
    lines.push(s::bash_execution("b", "t4", "make", "BUILD-OUTPUT", false));
    lines.push(s::bash_execution("p", "b", "secret", "PRIVATE-OUTPUT", true));
    lines.push(s::assistant_with(
        "bad",
        "p",
        json!([s::call("c4", "read", json!({}))]),
        json!({"stopReason": "error", "errorMessage": "overloaded"}),
    ));
    lines.push(s::user("u2", "bad", "LATEST-REQUEST"));
    s::file(&lines)
}

fn handoff(run: &Run, client: Client, server: &Server, more: &[&str]) -> Out {
    go(run, &[HANDOFF, more].concat(), &client.args(server), &[("EPITOME_API_KEY", "k-1")])
}

/// The message with which the new session begins.
fn message(run: &Run, out: &Out) -> Value {
    let path = out.json()["new_session"]["path"].as_str().unwrap().to_owned();
    run.last(std::path::Path::new(&path).file_name().unwrap().to_str().unwrap())
}

#[test]
fn a_model_gets_the_conversation_itself() {
    for client in Client::EVERY.into_iter().filter(|client| *client != Client::Endpoint) {
        let server = Server::new(vec![client.says(&format!("<think>hm</think>{GOOD}"), "stop")]);
        let run = Run::of(rich());
        std::fs::write(run.path("more.txt"), "CARRY-THIS\n").unwrap();
        let out = handoff(&run, client, &server, &["--instructions", "THE-FOCUS", "--context-file", "more.txt"]).ok();
        let got = server.got();
        assert_eq!((got.len(), &out.json()["requests"]), (1, &json!(1)), "{client:?}");
        holds_whole(&got[0]);
        assert!(!got[0].path.ends_with("/compact"));
        let body = &got[0].body;
        let system = body["system"].as_str().or(body["messages"][0]["content"].as_str()).unwrap();
        assert!(system.contains("REAL-PROMPT") && system.contains("REAL-RULES") && !system.contains("GONE-RULES"), "{system}");
        let tools: Vec<String> = body["tools"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(tools.len(), 2, "{tools:?}");
        assert!(tools[0].contains("\"mcp_look_up\"") && tools[1].contains("reads a file") && tools[1].contains("\"path\""), "{tools:?}");
        let all = body["messages"].to_string();
        for told in [
            "EARLIER-SUMMARY",
            "look at <system-reminder>this</system-reminder>",
            "[Image: image/png]",
            "I read.",
            "FOUND-IT",
            "LONG-END",
            "STEERED",
            "SECOND",
            "BUILD-OUTPUT",
            "LATEST-REQUEST",
        ] {
            assert_eq!(all.matches(told).count(), 1, "{client:?}: {told} in {all}");
        }
        for untold in ["TOLD-BEFORE", "NEVER-ANSWERED", "A-THOUGHT", "PRIVATE-OUTPUT", "c|1", "characters truncated"] {
            assert!(!all.contains(untold), "{client:?}: {untold} in {all}");
        }
        // Our request is the end of the last message.
        let last = body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        for said in
            ["This session ends here", "LATEST-REQUEST", "Look at this in particular: THE-FOCUS", "Carry these lines on:\\nCARRY-THIS"]
        {
            let is_anthropics = said == "LATEST-REQUEST" && client != Client::Anthropic;
            assert_eq!(last.contains(said), !is_anthropics, "{client:?}: {said} in {last}");
        }
        // What it wrote is the document, and what that took is recorded.
        let entry = message(&run, &out);
        let document = entry["content"].as_str().unwrap();
        assert!(document.contains("MODEL-WORDS") && document.contains("<files>") && !document.contains("hm"), "{document}");
        let details = &entry["details"];
        assert_eq!((&details["summarizer"], &details["model"]), (&json!(client.args(&server)[1]), &json!(client.args(&server)[3])));
        assert_eq!(
            (&entry["usage"]["input"], &entry["usage"]["cacheRead"], &entry["usage"]["output"]),
            (&json!(60), &json!(40), &json!(10))
        );
        assert!(run.bytes("s.jsonl") == rich());
        assert_eq!(run.go(&["inspect", "--check", out.json()["new_session"]["path"].as_str().unwrap()]).code, 0);
    }
}

#[test]
fn without_a_recorded_prompt_and_tools_ours_say_what_it_is() {
    for client in [Client::Openai, Client::Anthropic] {
        let server = Server::new(vec![client.says(GOOD, "stop")]);
        let mut lines = vec![s::header()];
        turns(&mut lines, None, 0, 3, 500);
        handoff(&Run::of(s::file(&lines)), client, &server, &[]).ok();
        let body = server.got()[0].body.clone();
        let system = body["system"].as_str().or(body["messages"][0]["content"].as_str()).unwrap();
        assert!(system.starts_with("You are a coding agent.") && !system.contains("<conversation>"), "{system}");
        assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{body}");
    }
}

#[test]
fn a_prompt_of_another_branch_is_not_told() {
    let prompt = |id: &str, parent: &str, text: &str| s::message(id, parent, json!({"role": "system", "content": text, "timestamp": 1}));
    let mut lines = vec![s::header(), s::user("root", s::ROOT, "begin"), prompt("p1", "root", "PROMPT-ONE")];
    let one = turns(&mut lines, Some("p1"), 0, 2, 400);
    lines.push(prompt("p2", "root", "PROMPT-TWO"));
    turns(&mut lines, Some("p2"), 5, 2, 400);
    let server = Server::new(vec![Client::Openai.says(GOOD, "stop")]);
    let run = Run::of(s::file(&lines));
    handoff(&run, Client::Openai, &server, &["--leaf", &one]).ok();
    handoff(&run, Client::Openai, &server, &[]).ok();
    let systems: Vec<Value> = server.got().iter().map(|got| got.body["messages"][0]["content"].clone()).collect();
    assert_eq!(systems, ["PROMPT-ONE", "PROMPT-TWO"]);
}

#[test]
fn what_does_not_fit_is_cut_and_then_told_in_parts() {
    let mut lines = vec![s::header()];
    let mut parent = turns(&mut lines, None, 0, 1, 300);
    for n in 0..6 {
        let (call, result) = (format!("r{n}"), format!("t{n}"));
        lines.push(read(&call, &parent, &call, "big.rs"));
        lines.push(s::tool_result(&result, call.as_str(), &call, "read", &s::words_from(n * 9_000, 9_000)));
        parent = result;
    }
    let session = s::file(&lines);
    // Whole, with results cut, in parts: the limits lie around the sizes of the first two.
    for (limit, requests, cut) in [("100k", 1, false), ("12k", 1, true), ("3500", 2, true)] {
        let server = Server::new(vec![Client::Anthropic.says(&format!("{GOOD}\n- PART"), "stop")]);
        let run = Run::of(&session);
        let out = handoff(&run, Client::Anthropic, &server, &["--max-input-tokens", limit]).ok();
        let got = server.got();
        got.iter().for_each(holds);
        assert!(if requests == 1 { got.len() == 1 } else { got.len() >= requests }, "{limit}: {} requests", got.len());
        assert_eq!(out.json()["requests"], got.len());
        assert_eq!(got[0].raw.contains("more characters truncated"), cut, "{limit}");
        assert_eq!(got[0].raw.contains("<conversation>"), requests > 1, "{limit}");
        for pair in got.windows(2) {
            assert!(asked(&pair[1]).1.contains("<previous-summary>") && pair[1].raw.contains("PART"), "{}", pair[1].raw);
        }
        assert!(message(&run, &out)["content"].as_str().unwrap().contains("PART"));
    }
    // The provider knows better: the whole is too long for it, and the parts are smaller.
    let server = Server::with(|_, got: &Got| match got.raw.len() {
        ..=14_000 => Client::Openai.says(GOOD, "stop"),
        _ => status(400, r#"{"error":{"code":"context_length_exceeded"}}"#),
    });
    let run = Run::of(&session);
    let out = handoff(&run, Client::Openai, &server, &[]).ok();
    let sizes: Vec<usize> = server.got().iter().map(|got| got.raw.len()).collect();
    assert!(sizes.len() >= 3 && *sizes.last().unwrap() <= 14_000 && sizes[0] > 40_000, "{sizes:?}");
    assert_eq!(out.json()["requests"], sizes.len());
    // A limit of requests that is too small: nothing is left.
    let server = Server::new(vec![Client::Openai.says(GOOD, "stop")]);
    let run = Run::of(&session);
    let out = handoff(&run, Client::Openai, &server, &["--max-input-tokens", "3500", "--max-requests", "1"]);
    assert_eq!((out.code, server.got().len(), run.names()), (1, 1, vec!["s.jsonl".to_owned()]), "{out}");
    assert!(out.json()["error"]["message"].as_str().unwrap().contains("limit of 1 requests"), "{out}");
}

#[test]
fn those_who_take_text_get_the_earlier_summary_too() {
    let server = Server::new(vec![Client::Endpoint.says(GOOD, "stop")]);
    let run = Run::of(rich());
    handoff(&run, Client::Endpoint, &server, &[]).ok();
    holds(&server.got()[0]);
    let (_, user) = asked(&server.got()[0]);
    assert!(user.contains("<previous-summary>\n## Goal\n- EARLIER-SUMMARY") && user.contains("This session ends here"), "{user}");
    assert!(user.contains("LATEST-REQUEST") && !user.contains("TOLD-BEFORE"));
    let run = Run::of(rich());
    let program = ["--summarizer", "command", "--summarizer-command", "cat > asked; echo '## Goal'; echo '- x'"].map(str::to_owned);
    go(&run, HANDOFF, &program, &[]).ok();
    assert!(run.text("asked").contains("- EARLIER-SUMMARY") && run.text("asked").contains("This session ends here"));
    // A replaced history is its own earlier summary; it is told once.
    let run = Run::of(rich());
    run.go(&["compact", "s.jsonl", "--strategy", "replace"]).ok();
    let server = Server::new(vec![Client::Openai.says(GOOD, "stop")]);
    handoff(&run, Client::Openai, &server, &[]).ok();
    assert_eq!(server.got()[0].raw.matches("EARLIER-SUMMARY").count(), 1, "{}", server.got()[0].raw);
}

#[test]
fn a_dry_run_asks_nobody_and_a_handoff_is_asked_for_once() {
    for client in Client::EVERY {
        let server = Server::new(vec![client.says(GOOD, "stop")]);
        let run = Run::of(rich());
        let receipt = handoff(&run, client, &server, &["-n"]).ok().json();
        assert_eq!((&receipt["action"], &receipt["requests"], &receipt["counted_after"]), (&json!("compacted"), &json!(0), &Value::Null));
        assert_eq!((server.got().len(), run.names()), (0, vec!["s.jsonl".to_owned()]));
        handoff(&run, client, &server, &[]).ok();
        assert_eq!(handoff(&run, client, &server, &[]).ok().json()["reason"], "handed_off");
        assert_eq!(server.got().len(), 1, "{client:?}");
    }
}

#[test]
fn secrets_in_arguments_of_calls_are_masked_unless_that_is_said() {
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let mut lines = vec![s::header(), s::user("u", s::ROOT, "go")];
    let args = json!({"command": format!("curl -H \"Authorization: Bearer {token}\" https://u:p4ssw0rd@h/x"), "password": "hunter2pass"});
    lines.push(s::assistant("a", "u", json!([s::call("c", "bash", args)])));
    lines.push(s::tool_result("t", "a", "c", "bash", "ok"));
    turns(&mut lines, Some("t"), 0, 4, 2_000);
    let session = s::file(&lines);
    let strategies: [&[&str]; 3] = [crate::clients::COMPACT, HANDOFF, &["compact", "s.jsonl", "--strategy", "replace", "--json"]];
    for client in Client::EVERY {
        for strategy in strategies {
            for (flags, sent) in [(&[][..], false), (&["--no-redact"][..], true)] {
                let server = Server::new(vec![client.says(GOOD, "stop")]);
                let run = Run::of(&session);
                let out = go(&run, &[strategy, flags].concat(), &client.args(&server), &[("EPITOME_API_KEY", "k-1")]).ok();
                for secret in [token.as_str(), "p4ssw0rd", "hunter2pass"] {
                    let raw = &server.got()[0].raw;
                    assert_eq!(raw.contains(secret), sent, "{client:?} {strategy:?} {flags:?}: {secret} in {raw}");
                }
                assert_eq!(out.stderr().contains("--no-redact"), sent);
            }
        }
    }
}
