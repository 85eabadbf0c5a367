//! OpenAI's own compaction, and chat completions of the same model where it fails.

use serde_json::{Value, json};

use crate::clients::{COMPACT, Client, GOOD, compacted, go, growing, long, side_by_side, split_turn};
use crate::run::Run;
use crate::server::{Answer, Got, Server, json as ok, status};
use crate::sessions as s;
use crate::turns;

fn args(server: &Server) -> Vec<String> {
    let base = format!("{}/v1", server.address);
    ["--summarizer", "openai-compact", "--summarizer-model", "m-1", "--base-url", &base].map(str::to_owned).to_vec()
}

/// Every output has its call before it, and every call its output.
fn paired(got: &Got) {
    let items = got.body["input"].as_array().unwrap();
    let ids = |kind: &str| -> Vec<&str> {
        items.iter().filter(|item| item["type"] == kind).map(|item| item["call_id"].as_str().unwrap()).collect()
    };
    assert_eq!(ids("function_call"), ids("function_call_output"), "{}", got.raw);
    assert!(!got.raw.contains("src/two.rs"), "a useless call is told");
}

#[test]
fn a_providers_own_compaction_is_kept_for_it() {
    let server = Server::new(vec![compacted()]);
    let run = Run::of(long());
    let receipt = go(&run, COMPACT, &args(&server), &[("OPENAI_API_KEY", "k-1")]).ok().json();
    let got = server.got();
    assert_eq!((got.len(), got[0].path.as_str()), (1, "/v1/responses/compact"));
    assert_eq!((got[0].header("authorization"), &got[0].body["model"]), (Some("Bearer k-1"), &json!("m-1")));
    paired(&got[0]);
    let entry = run.last("s.jsonl");
    let kept = &entry["preserveData"]["openaiRemoteCompaction"];
    assert_eq!((&kept["provider"], &kept["compactionItem"]["encrypted_content"]), (&json!("openai"), &json!("OPAQUE")));
    assert_eq!(kept["replacementHistory"].as_array().unwrap().len(), 2);
    // The words are there for everybody else.
    assert!(entry["summary"].as_str().unwrap().contains("## Goal"), "{entry}");
    assert_eq!((&receipt["summarizer"], &receipt["requests"]), (&json!("openai-compact"), &json!(1)));
    assert_eq!((&entry["details"]["summarizer"], &entry["usage"]["totalTokens"]), (&json!("openai-compact"), &json!(75)));
    // What the provider replays ends before the first entry that stays.
    let kept_id = entry["firstKeptEntryId"].as_str().unwrap();
    let lines = run.lines("s.jsonl");
    let at = lines.iter().position(|line| line["id"] == kept_id).unwrap();
    assert_eq!(entry["providerReplayThroughEntryId"], lines[at - 1]["id"]);
    assert_eq!(run.go(&["inspect", "--check", "s.jsonl"]).code, 0);
    // The next compaction begins behind it, and a text of ours replaces it.
    let mut more = vec![run.text("s.jsonl").trim_end().to_owned()];
    turns(&mut more, entry["id"].as_str(), 20, 4, 2_000);
    run.put("s.jsonl", s::file(&more));
    run.go(COMPACT).ok();
    assert!(run.last("s.jsonl").get("preserveData").is_none());
}

#[test]
fn its_failure_is_answered_by_the_same_model_and_said() {
    let rows: Vec<(&str, Answer, usize, &str)> = vec![
        ("404", status(404, "{}"), 1, "404"),
        ("503 for ever", status(503, ""), 4, "503"),
        ("dropped", Answer::Drop, 4, "dropped"),
        ("never answers", Answer::Never, 1, "did not finish"),
        ("slow body", Answer::Slow, 1, "did not finish"),
        ("400 with 503 in the text", status(400, r#"{"error":{"message":"503"}}"#), 1, "400"),
        ("too long", status(400, r#"{"error":{"code":"context_length_exceeded"}}"#), 1, "400"),
        ("HTML", Answer::Whole(200, Vec::new(), "text/html", "<html>".to_owned()), 1, "no JSON"),
        ("no compaction in it", ok(&json!({"output": [{"type": "message"}]})), 1, "no compaction"),
        ("wrong schema", ok(&json!({"summary": "x"})), 1, "another shape"),
    ];
    side_by_side(rows, |(what, bad, tries, said)| {
        let server = Server::with(move |_, got| match got.path.ends_with("/compact") {
            true => bad.clone(),
            false => Client::Openai.says(GOOD, "stop"),
        });
        let run = Run::of(long());
        let out = {
            // Short only where that is looked at: a busy machine is slow.
            let time = if said == "did not finish" { "2s" } else { "60s" };
            go(&run, &[COMPACT, &["--timeout", time]].concat(), &args(&server), &[("OPENAI_API_KEY", "k-1")]).ok()
        };
        let got = server.got();
        let chats: Vec<&Got> = got.iter().filter(|got| got.path == "/v1/chat/completions").collect();
        assert_eq!((got.len() - chats.len(), chats.len()), (tries, 2), "{what}: {out}");
        assert!(chats.iter().all(|got| got.body["model"] == "m-1" && got.header("authorization") == Some("Bearer k-1")));
        let entry = run.last("s.jsonl");
        assert!(entry["summary"].as_str().unwrap().contains("MODEL-WORDS") && entry.get("preserveData").is_none(), "{what}");
        assert_eq!((&entry["details"]["summarizer"], &entry["details"]["fallback"]["to"]), (&json!("openai"), &json!("openai")));
        assert!(entry["details"]["fallback"]["reason"].as_str().unwrap().contains(said), "{what}: {entry}");
        assert!(out.stderr().contains("chat completions of the same model take over"), "{what}: {out}");
        assert_eq!((&out.json()["summarizer"], &out.json()["requests"]), (&json!("openai"), &json!(tries + 2)));
    });
}

#[test]
fn when_both_fail_nothing_is_written_unless_offline_was_asked_for() {
    for (flags, code) in [(&[][..], 1), (&["--fallback", "offline"][..], 0)] {
        let server = Server::new(vec![status(404, "{}")]);
        let run = Run::of(long());
        let out = go(&run, &[COMPACT, flags].concat(), &args(&server), &[]);
        assert_eq!((out.code, server.got().len()), (code, 2), "{out}");
        if code == 1 {
            assert!(run.bytes("s.jsonl") == long());
        } else {
            let entry = run.last("s.jsonl");
            assert_eq!((&entry["details"]["fallback"]["to"], entry.get("preserveData")), (&json!("offline"), None));
        }
    }
}

#[test]
fn a_split_turn_is_replayed_whole() {
    let server = Server::new(vec![compacted()]);
    let run = Run::of(split_turn());
    let out = go(&run, &["compact", "s.jsonl", "--keep-recent-tokens", "700", "--json"], &args(&server), &[]).ok();
    assert_eq!((&out.json()["cut"]["is_split_turn"], server.got().len()), (&json!(true), 2));
    // The second request goes on from what the first one gave.
    let input: &Value = &server.got()[1].body["input"];
    assert_eq!(input[1]["encrypted_content"], "OPAQUE");
    assert!(input.to_string().contains("OPENING-REQUEST"));
    server.got().iter().for_each(paired);
}

#[test]
fn a_session_that_grows_meanwhile_is_compacted_anew() {
    let run = Run::of(long());
    let server = growing(&run, compacted);
    let receipt = go(&run, COMPACT, &args(&server), &[("OPENAI_API_KEY", "k-1")]).ok().json();
    let got = server.got();
    assert_eq!((got.len(), &receipt["requests"], &run.last("s.jsonl")["parentId"]), (2, &json!(2), &json!("late")));
    // What the first plan gave is not what the second one goes on from.
    assert!(got.iter().all(|got| !got.raw.contains("OPAQUE")));
    // What both took is recorded.
    assert_eq!(run.last("s.jsonl")["usage"]["totalTokens"], 150);
}

#[test]
fn a_conversation_that_is_larger_than_a_request_may_be_is_told_in_parts() {
    let server = Server::new(vec![Client::Openai.says(GOOD, "stop")]);
    let run = Run::of(long());
    let out = go(&run, &[COMPACT, &["--max-input-tokens", "4000"]].concat(), &args(&server), &[]).ok();
    let got = server.got();
    assert!(got.len() > 3 && got.iter().all(|got| got.path.ends_with("/chat/completions")), "{out}");
    let fallback = run.last("s.jsonl")["details"]["fallback"].clone();
    assert_eq!(fallback["to"], "openai");
    assert!(fallback["reason"].as_str().unwrap().contains("a request may have 4000"), "{fallback}");
}

/// A session to be replaced: turns with calls, and reminders.
fn replaceable() -> Vec<u8> {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 0, 3, 1_500);
    lines.push(s::user("rem", last.as_str(), "<system-reminder>\nKEPT-REMINDER\n</system-reminder>"));
    lines.push(crate::read("r1", "rem", "call-1", "src/one.rs"));
    lines.push(s::tool_result("t1", "r1", "call-1", "read", "GROUP-RESULT"));
    turns(&mut lines, Some("t1"), 5, 2, 1_500);
    s::file(&lines)
}

const REPLACE: &[&str] = &["compact", "s.jsonl", "--strategy", "replace", "--json"];

#[test]
fn answers_about_a_replaced_history_are_asked_for_again_and_then_in_halves() {
    let bad = || Client::Openai.says("<think>no</think>", "stop");
    let good = |n: usize| Client::Openai.says(&format!("## Goal\n- ANSWER-{n}"), "stop");
    // How many answers are bad, and how many requests that takes; none where nothing comes of it.
    for (bads, want) in [(0, Some(1)), (2, Some(3)), (3, Some(5)), (5, Some(7)), (6, None)] {
        let server = Server::with(move |at, _| if at < bads { bad() } else { good(at) });
        let run = Run::of(replaceable());
        let out = go(&run, REPLACE, &Client::Openai.args(&server), &[]);
        let got = server.got();
        match want {
            Some(requests) => {
                assert_eq!((out.code, got.len()), (0, requests), "{bads}: {out}");
                let text = run.last("s.jsonl")["message"].to_string();
                assert!(text.contains("ANSWER-"), "{text}");
                assert_eq!(text.contains("# Part 1 of 2") && text.contains("# Part 2 of 2"), bads >= 3, "{bads}: {text}");
            }
            None => {
                assert_eq!((out.code, got.len()), (1, 6), "{bads}: {out}");
                assert!(run.bytes("s.jsonl") == replaceable());
            }
        }
        assert!(got[0].raw.contains("Function call (call-1): read(") && got[0].raw.contains("Function call output (call-1): GROUP-RESULT"));
    }
    // The second half knows the first, and its failure discards that; nine requests at most.
    let server = Server::with(move |at, _| if at == 5 { good(at) } else { bad() });
    let run = Run::of(replaceable());
    let out = go(&run, REPLACE, &Client::Openai.args(&server), &[]);
    assert_eq!((out.code, server.got().len()), (1, 9), "{out}");
    assert!(server.got()[6].raw.contains("ANSWER-5") && run.bytes("s.jsonl") == replaceable());
    // Of a history in parts, only the part that failed is asked for again.
    let server = Server::with(move |at, _| if at == 1 { bad() } else { good(at) });
    let out = go(&Run::of(replaceable()), &[REPLACE, &["--max-input-tokens", "2400"]].concat(), &Client::Openai.args(&server), &[]).ok();
    let got = server.got();
    assert!(got.len() > 3 && got[1].raw == got[2].raw && got[2].raw != got[3].raw, "{} requests: {out}", got.len());
    assert!(got[3].raw.contains("ANSWER-2") && out.json()["requests"] == got.len());
    // Other errors are not asked about again.
    let server = Server::new(vec![status(400, "{}")]);
    assert_eq!(go(&Run::of(replaceable()), REPLACE, &Client::Openai.args(&server), &[]).code, 1);
    assert_eq!(server.got().len(), 1);
    // A dry run asks nobody.
    let run = Run::of(replaceable());
    go(&run, &[REPLACE, &["-n", "--relevance"]].concat(), &Client::Openai.args(&server), &[]).ok();
    assert_eq!(server.got().len(), 1);
    assert!(run.bytes("s.jsonl") == replaceable());
}

#[test]
fn relevance_is_the_mean_of_three_answers() {
    // The part with the result is worth 0.3, everything else 0.9; summaries are summaries.
    let server = Server::with(|at, got| {
        let asks = got.raw.contains("one number between 0 and 1");
        let text = match (asks, got.raw.contains("GROUP-RESULT")) {
            (true, true) => ["0", "0.4", "0.5"][at % 3],
            (true, false) => "0.9",
            (false, _) => GOOD,
        };
        Client::Openai.says(text, "stop")
    });
    let run = Run::of(replaceable());
    let args = [REPLACE, &["--relevance"]].concat();
    let receipt = go(&run, &args, &Client::Openai.args(&server), &[]).ok().json();
    let got = server.got();
    let (asked, told): (Vec<_>, Vec<_>) = got.iter().partition(|got| got.raw.contains("one number between 0 and 1"));
    assert_eq!((asked.len() % 3, told.len()), (0, 1));
    assert!(asked.len() >= 9 && !told[0].raw.contains("GROUP-RESULT") && told[0].raw.contains("KEPT-REMINDER"), "{receipt}");
    // Who cannot tell drops nothing.
    let server = Server::with(|_, got| match got.raw.contains("one number between 0 and 1") {
        true => Client::Openai.says("perhaps", "stop"),
        false => Client::Openai.says(GOOD, "stop"),
    });
    let run = Run::of(replaceable());
    let out = go(&run, &args, &Client::Openai.args(&server), &[]).ok();
    assert!(server.got().last().unwrap().raw.contains("GROUP-RESULT"));
    assert!(out.stderr().contains("the relevance of a part is not known"), "{out}");
}
