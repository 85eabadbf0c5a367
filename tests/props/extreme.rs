//! Records of a shape that only programs write: very deep, very long, all escapes.

use crate::sessions as s;
use crate::{ids, open};
use epitome::engine::compaction;
use epitome::engine::cut::CutSettings;
use epitome::engine::serialize::{Form, serialize};
use epitome::engine::tokens::{Counter, Effort, Tokenizer};
use epitome::session::{Session, problems};
use serde_json::json;

/// Looks at a session in every way and returns the tokens of its context.
fn look(session: &Session) -> u64 {
    let path = session.active_path();
    problems::find(session, &path, None).unwrap();
    let mut counter = Counter::new(session, Tokenizer::Heuristic, Effort::Exact);
    let context = session.context(&path.entries).unwrap();
    let tokens = counter.context(&context).unwrap().tokens;
    let plan = compaction::plan(&mut counter, &path.entries, CutSettings { keep_recent: 1, keep_from: None }).unwrap().unwrap();
    for selection in [&plan.history, &plan.prefix] {
        serialize(session, selection, Form::default()).unwrap();
    }
    tokens
}

/// A session in which the assistant calls a tool with `arguments`, JSON as it stands.
fn with_arguments(arguments: &str) -> Vec<u8> {
    let call = s::assistant("b", "a", json!([s::tx("so"), s::call("c", "write", json!("ARGUMENTS"))])).replace("\"ARGUMENTS\"", arguments);
    s::file(&[
        s::header(),
        s::user("a", s::ROOT, "do it"),
        call,
        s::tool_result("d", "b", "c", "write", "done"),
        s::user("e", "d", "and now"),
    ])
}

#[test]
fn deep_nesting_needs_no_stack_and_loses_nothing() {
    for (open_with, close_with) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [100, 127, 128, 129, 1000, 100_000] {
            let arguments = format!("{}1{}", open_with.repeat(depth), close_with.repeat(depth));
            let session = open(&with_arguments(&arguments));
            assert_eq!(ids(&session, &session.active_path().entries), ["a", "b", "d", "e"]);
            let tokens = look(&session);
            let want = (arguments.len() as u64).div_ceil(4);
            assert!(tokens >= want, "{depth} levels of {open_with}: {tokens} tokens, at least {want} are there");
        }
    }
}

#[test]
fn deep_nesting_anywhere_else_hides_no_message() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = "words that count";
    let places = [
        s::tool_result_with("b", "a", "c", "read", json!([s::tx(text)]), json!({"details": "DEEP"})),
        s::tool_result_with("b", "a", "c", "read", json!([s::tx(text), "DEEP"]), json!({})),
        s::message("b", "a", json!({"role": "user", "content": text, "of_tomorrow": "DEEP"})),
        s::entry("custom_message", "b", "a", json!({"customType": "x", "content": text, "display": true, "data": "DEEP"})),
        s::entry("branch_summary", "b", "a", json!({"fromId": "a", "summary": text, "details": "DEEP"})),
    ];
    for line in places {
        let bytes = s::file(&[s::header(), s::user("a", s::ROOT, "go"), line.replace("\"DEEP\"", &deep), s::user("e", "b", "end")]);
        let session = open(&bytes);
        look(&session);
        let found = session.with_message(session.by_id("b").unwrap(), |message| message.text().into_owned()).unwrap();
        assert_eq!(found, text, "{}", line);
    }
}

#[test]
fn a_run_of_backslashes_is_read() {
    for count in [1 << 16, (1 << 16) + 2] {
        let text = "\\".repeat(count);
        let session = open(&s::file(&[s::header(), s::user("a", s::ROOT, text.as_str()), s::user("b", "a", text.as_str())]));
        assert!(look(&session) >= count as u64 / 2);
        let read = session.with_message(session.by_id("a").unwrap(), |m| m.text().len()).unwrap();
        assert_eq!(read, count);
    }
    // An odd one escapes the quote that should end the string: the line is damaged, and told.
    let odd = format!("{{\"type\":\"custom\",\"id\":\"x\",\"data\":\"{}\"}}", "\\".repeat((1 << 16) + 1));
    let session = open(&s::file(&[s::header(), s::user("a", s::ROOT, "one"), odd, s::user("b", "a", "two")]));
    assert_eq!(session.damaged_lines(), 1);
    look(&session);
}

#[test]
fn a_line_of_50_megabytes_is_read() {
    let text = "0123456789abcde\n".repeat((50 << 20) / 16);
    let session = open(&s::file(&[s::header(), s::user("a", s::ROOT, text.as_str()), s::user("b", "a", "two")]));
    assert_eq!(ids(&session, &session.active_path().entries), ["a", "b"]);
    let codes: Vec<&str> = problems::find(&session, &session.active_path(), None).unwrap().iter().map(|p| p.code.name()).collect();
    assert_eq!(codes, ["huge-line"]);
    assert!(look(&session) > 50 << 18);
}
