//! The recorded runs of the reference's archive, one after the other, each from the archive that the one before left.

use epitome::engine::serialize::{Budgets, Form, select, serialize};
use epitome::frames::archive::{Order, compose};
use epitome::frames::guide;
use epitome::frames::shape::Shape;
use epitome::models::Api;
use epitome::session::frames::Archive;
use epitome::session::{Session, Source};
use serde_json::{Value, json};

/// The recorded input as text: messages are serialized, a plain text is one request.
fn text_of(run: &Value) -> String {
    let messages = match &run["input"] {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::Array(messages) => messages.clone(),
        text => vec![json!({"role": "user", "content": text})],
    };
    let mut lines = vec![json!({"type": "session", "version": 3, "id": "s"}).to_string()];
    for (n, message) in messages.iter().enumerate() {
        let parent = n.checked_sub(1).map(|p| p.to_string());
        lines.push(json!({"type": "message", "id": n.to_string(), "parentId": parent, "message": message}).to_string());
    }
    let session = Session::open(Source::memory((lines.join("\n") + "\n").into_bytes())).unwrap();
    let path = session.active_path().entries;
    let dim = !run["name"].as_str().unwrap().contains("dimToolResults false");
    let form = Form { frames: Some(Budgets { dim, ..Budgets::default() }), ..Form::default() };
    serialize(&session, &select(&session, &path, &path).unwrap(), form).unwrap()
}

#[test]
fn the_recorded_runs_come_out_the_same() {
    let runs: Vec<Value> = serde_json::from_str(include_str!("compact_seed.json")).unwrap();
    assert_eq!(runs.len(), 17);
    let mut previous: Option<Archive> = None;
    for run in &runs {
        let name = run["name"].as_str().unwrap();
        let first_of_its_kind = ["A1", "B1", "C1", "D1", "D2", "D3", "E1", "F1", "F2"].iter().any(|first| name.starts_with(first));
        let edge = u32::try_from(run["frameSize"].as_u64().unwrap()).unwrap();
        let text = text_of(run);
        if let Some(serialized) = run["serialized"].as_str().filter(|_| name.starts_with("F1")) {
            assert_eq!(text, serialized, "{name}");
        }
        let made = compose(Order {
            text,
            previous: previous.take().filter(|_| !first_of_its_kind),
            previous_summary: run["previousSummary"].as_str().map(str::to_owned),
            shape: Shape { edge, ..Shape::of(run["shape"].as_str().unwrap()).unwrap() },
            flexible: false,
            api: Api::Anthropic,
            max_frames: run["maxFrames"].as_u64().map_or(8, |n| n as usize),
        })
        .unwrap();
        let archive = &made.archive;
        let chars: Vec<u64> = archive.frames.iter().map(|frame| frame.chars).collect();
        let recorded: Vec<u64> = run["frames"].as_array().unwrap().iter().map(|frame| frame["chars"].as_u64().unwrap()).collect();
        if name.starts_with("F1") {
            // The marks around gray text take no cell here: the reference left a cell blank for each, so its first page holds
            // three characters fewer, and its second those three more.
            assert_eq!(chars, [1_458, 1_347], "{name}");
            assert_eq!(archive.total_chars, run["totalChars"].as_u64().unwrap(), "{name}");
            previous = Some(made.archive);
            continue;
        }
        assert_eq!(chars, recorded, "{name}");
        let pages: Vec<&str> = run["renderedPages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap()).collect();
        assert_eq!(made.pages, pages, "{name}");
        for (ours, theirs) in archive.frames.iter().zip(run["frames"].as_array().unwrap()) {
            let one = Archive { frames: vec![ours.clone()], ..Archive::default() }.to_json(true);
            let stored = one["frames"][0].as_object().unwrap();
            for (key, value) in theirs.as_object().unwrap() {
                assert_eq!(&stored[key], value, "{name}: {key}");
            }
            // Nothing but the picture and its price is stored beside what the reference stores.
            let more: Vec<&String> = stored.keys().filter(|key| theirs.get(key.as_str()).is_none()).collect();
            assert_eq!(more, ["data", "billedTokens"], "{name}");
        }
        assert_eq!(archive.total_chars, run["totalChars"].as_u64().unwrap(), "{name}");
        assert_eq!(archive.truncated_chars, run["truncatedChars"].as_u64().unwrap(), "{name}");
        assert_eq!(archive.text_tail.as_deref(), run["textTail"].as_str(), "{name}");
        let facts = &run["summaryFacts"];
        let said = guide::text(&made, facts["dimToolOutput"] == true);
        for (fact, words) in [
            ("isEmptyNotice", "nothing was archived"),
            ("mentionsTruncation", "characters did not fit"),
            ("mentionsMixedShapes", "Older pictures have other cells"),
            ("mentionsDigest", "opens with a summary"),
            ("hasTextTailSection", guide::TAIL_HEADING),
            ("doc", "two columns of"),
            ("sentenceInk", "through six hues"),
            ("stopwordDim", "Function words"),
            ("dimToolOutput", "Output of tools is gray"),
        ] {
            // Where frames of several kinds are mixed, the grids of the older ones are told too.
            if !(name.starts_with("E2") && fact == "doc") {
                assert_eq!(said.contains(words), facts[fact] == true, "{name}: {fact}");
            }
        }
        previous = Some(made.archive);
    }
}
