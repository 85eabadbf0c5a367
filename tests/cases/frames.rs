//! History on pictures: what they hold, what they may cost, and what becomes of them.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::run::Run;
use crate::sessions as s;
use crate::{answer, turns};

/// A session with `count` turns of `chars` characters a message, and a large one that stays.
fn session(count: usize, chars: usize) -> Vec<u8> {
    let mut lines = vec![s::header()];
    turns(&mut lines, None, 0, count, chars);
    s::file(&lines)
}

const PRINT: &[&str] = &["snapcompact", "s.jsonl", "--keep-recent-tokens", "300", "--tokenizer", "heuristic"];

/// Prints, whether or not the context shrinks; gives the receipt and the new entry.
fn printed(run: &Run, more: &[&str]) -> (Value, Value) {
    let receipt = run.json(&[PRINT, &["--allow-growth"], more].concat());
    assert_eq!(receipt["action"], "compacted", "{receipt}");
    run.go(&["inspect", "s.jsonl", "--check"]).ok();
    let id = receipt["entry_id"].as_str().unwrap();
    let entry = run.lines("s.jsonl").into_iter().find(|line| line["id"] == id).unwrap();
    (receipt, entry)
}

fn archive(entry: &Value) -> &Value {
    &entry["preserveData"]["snapcompact"]
}

fn texts(run: &Run) -> Vec<String> {
    let shown = run.json(&["inspect", "s.jsonl", "--show", "frames"]);
    shown["frames"].as_array().unwrap().iter().map(|frame| frame["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Text with every run of white space as one blank.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn s01_cjk_becomes_no_question_marks() {
    let chars: String = "中文字符日本語かなカナ한국어".chars().cycle().take(2_000).collect();
    let mut lines = vec![s::header(), s::user("u", s::ROOT, chars.as_str()), answer("a", "u", "好")];
    turns(&mut lines, Some("a"), 1, 3, 400);
    let run = Run::of(s::file(&lines));
    let (receipt, entry) = printed(&run, &[]);
    assert_eq!(receipt["frames"]["unreadable"], 0);
    // The dense cells would not draw ideographs whole.
    assert_eq!(receipt["frames"]["shape"], "8on16-bw");
    assert!(texts(&run).concat().replace('\n', "").contains(&chars));
    assert!(archive(&entry)["text"].as_str().unwrap().contains(&chars));
    // Cells that cannot draw them are refused, with the share; and not in silence when that is wanted.
    let run = Run::of(s::file(&lines));
    let out = run.go(&[PRINT, &["--shape", "5x8-bw"]].concat());
    assert_eq!(out.code, 1, "{out}");
    assert!(out.stderr().contains("cannot be drawn in the shape 5x8-bw") && out.stderr().contains("--allow-unreadable"), "{out}");
    let receipt = run.json(&[PRINT, &["--shape", "5x8-bw", "--allow-unreadable", "--allow-growth"]].concat());
    assert!(receipt["frames"]["unreadable"].as_u64().unwrap() >= 2_000, "{receipt}");
}

#[test]
fn s03_no_frame_is_cut_when_it_is_saved() {
    let noise: String = s::noise(7, 400_000).iter().map(|byte| (b'!' + byte % 94) as char).collect();
    let mut lines = vec![s::header(), s::user("u", s::ROOT, noise.as_str()), answer("a", "u", "yes")];
    turns(&mut lines, Some("a"), 1, 3, 400);
    let run = Run::of(s::file(&lines));
    let (receipt, entry) = printed(&run, &["--shape", "5x8-sent"]);
    let frames = archive(&entry)["frames"].as_array().unwrap();
    assert!(frames.len() > 2, "{}", receipt["frames"]);
    assert!(receipt["frames"]["rows_used"].as_u64() < receipt["frames"]["rows"].as_u64(), "{}", receipt["frames"]);
    for frame in frames {
        let data = frame["data"].as_str().unwrap();
        assert!(data.len() < 500_000);
        assert!(data.starts_with("iVBORw0KGgo"));
    }
    assert!(flat(&texts(&run).concat()).replace(' ', "").contains(&noise[..200_000]));
}

#[test]
fn s04_no_more_frames_than_the_provider_takes() {
    let run = Run::of(session(40, 2_000));
    let (receipt, entry) = printed(&run, &["--model", "nobody/knows", "--frame-size", "320"]);
    assert_eq!(archive(&entry)["frames"].as_array().unwrap().len(), 5, "an unknown provider takes five");
    assert!(archive(&entry)["textTail"].as_str().unwrap().len() > 1_000);
    assert!(receipt["frames"]["truncated_chars"].as_u64().unwrap() > 0);
    assert!(receipt["warnings"].to_string().contains("did not fit"), "{receipt}");
    for (model, most, want) in [("anthropic/claude-sonnet-4-5", "", 8), ("anthropic/claude-sonnet-4-5", "3", 3), ("nobody/knows", "12", 12)]
    {
        let run = Run::of(session(40, 2_000));
        let more = ["--max-frames", most];
        let more = if most.is_empty() { &[][..] } else { &more };
        let (_, entry) = printed(&run, &[&["--model", model, "--frame-size", "320"], more].concat());
        assert_eq!(archive(&entry)["frames"].as_array().unwrap().len(), want, "{model} {most}");
    }
}

#[test]
fn s05_all_frames_together_stay_below_what_a_request_carries() {
    let noise: String = s::noise(3, 640_000).iter().map(|byte| (b'!' + byte % 94) as char).collect();
    let mut lines = vec![s::header()];
    let mut parent = None;
    for n in 0..10 {
        let id = format!("n{n}");
        lines.push(s::user(&id, parent.as_deref(), &noise[n * 64_000..(n + 1) * 64_000]));
        parent = Some(id);
    }
    turns(&mut lines, parent.as_deref(), 1, 3, 400);
    let run = Run::of(s::file(&lines));
    let (receipt, entry) = printed(&run, &["--shape", "8x8u-sent", "--frame-size", "2048", "--max-frames", "12"]);
    let sum: usize = archive(&entry)["frames"].as_array().unwrap().iter().map(|frame| frame["data"].as_str().unwrap().len()).sum();
    assert!((2_000_000..3_000_000).contains(&sum), "{sum}");
    assert_eq!(receipt["frames"]["base64_chars"], sum);
}

#[test]
fn s06_what_saves_nothing_is_refused() {
    let run = Run::of(session(3, 400));
    let before = run.bytes("s.jsonl");
    let receipt = run.json(PRINT);
    assert_eq!((&receipt["action"], &receipt["reason"]), (&json!("refused"), &json!("no_gain")), "{receipt}");
    assert!(receipt["counted_after"].as_u64().unwrap() > 3_293, "the picture costs more than the text: {receipt}");
    assert_eq!(run.bytes("s.jsonl"), before);
}

#[test]
fn s07_a_model_that_cannot_see_gets_no_pictures() {
    let run = Run::of(session(12, 2_000));
    let before = run.bytes("s.jsonl");
    let out = run.go(&[PRINT, &["--model", "openai/gpt-3.5-turbo"]].concat());
    assert_eq!(out.code, 1, "{out}");
    assert!(out.stderr().contains("reads no pictures") && out.stderr().contains("--fallback context-full"), "{out}");
    assert_eq!(run.bytes("s.jsonl"), before);
    let receipt = run.json(&[PRINT, &["--model", "openai/gpt-3.5-turbo", "--fallback", "context-full"]].concat());
    assert_eq!((&receipt["action"], &receipt["strategy"], &receipt["frames"]), (&json!("compacted"), &json!("context-full"), &Value::Null));
    assert!(receipt["warnings"].to_string().contains("reads no pictures"));
    // Instructions ask for a directed text.
    let run = Run::of(session(12, 2_000));
    let receipt = run.json(&[PRINT, &["--instructions", "look at the tests"]].concat());
    assert_eq!(receipt["strategy"], "context-full");
    assert!(receipt["warnings"].to_string().contains("instructions"), "{receipt}");
}

#[test]
fn s08_what_falls_out_is_counted_and_kept_as_text() {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 0, 20, 4_000);
    lines.push(s::user("order", last.as_str(), "USER-ORDER: never touch the vendor folder"));
    turns(&mut lines, Some("order"), 30, 20, 4_000);
    let run = Run::of(s::file(&lines));
    let (receipt, entry) = printed(&run, &["--frame-size", "320"]);
    let dropped = receipt["frames"]["truncated_chars"].as_u64().unwrap();
    assert!(dropped > 50_000);
    assert_eq!(archive(&entry)["truncatedChars"], dropped);
    assert!(archive(&entry)["text"].as_str().unwrap().contains("USER-ORDER: never touch"));
    assert!(entry["summary"].as_str().unwrap().contains("right after the first picture"));
}

#[test]
fn s09_a_text_summary_folds_the_archive_and_drops_it() {
    let mut lines = vec![s::header(), s::user("u", s::ROOT, "begin")];
    let mut compaction: Value = serde_json::from_str(&s::compaction("k", "u", "how to read", "u")).unwrap();
    compaction["preserveData"] = json!({
        "snapcompact": {"frames": [], "totalChars": 4, "truncatedChars": 0, "text": "[User]: the ARCH-7731 migration must never run twice"},
        "openaiRemoteCompaction": {"x": 1}, "mine": {"y": 2},
    });
    lines.push(compaction.to_string());
    turns(&mut lines, Some("k"), 1, 6, 2_000);
    let run = Run::of(s::file(&lines));
    run.go(&["compact", "s.jsonl", "--keep-recent-tokens", "300", "--allow-growth"]).ok();
    let entry = run.last("s.jsonl");
    assert!(entry["summary"].as_str().unwrap().contains("ARCH-7731"), "{entry}");
    assert_eq!(entry["preserveData"], json!({"mine": {"y": 2}}));
    // The other way round: the archive takes it over, and the stale payload goes.
    let run = Run::of(s::file(&lines));
    let (_, entry) = printed(&run, &[]);
    assert!(archive(&entry)["text"].as_str().unwrap().starts_with("[User]: the ARCH-7731 migration"));
    assert!(texts(&run)[0].starts_with("[User]: the ARCH-7731 migration"));
    assert_eq!((&entry["preserveData"]["mine"]["y"], entry["preserveData"].get("openaiRemoteCompaction")), (&json!(2), None));
}

/// A session whose latest compaction has its history in an archive, and the ids of what follows.
fn archived(archive: &Value) -> Vec<String> {
    let mut lines = vec![s::header(), s::user("u", s::ROOT, "begin")];
    let mut compaction: Value = serde_json::from_str(&s::compaction("k", "u", "HOW-TO-READ", "k")).unwrap();
    compaction["preserveData"] = json!({ "snapcompact": archive });
    lines.push(compaction.to_string());
    turns(&mut lines, Some("k"), 1, 6, 2_000);
    lines
}

#[test]
fn s09_every_summarizer_and_strategy_is_told_what_the_frames_say() {
    let archive =
        json!({"frames": [], "totalChars": 4, "truncatedChars": 0, "text": "[User]: the ARCH-7731 migration█\u{e}gray words\u{f}"});
    let lines = archived(&archive);
    let command = ["--summarizer", "command", "--summarizer-command", "cat >> asked; echo '## Goal'; echo '- done'"];
    for (strategy, summarizer) in [
        (&["--keep-recent-tokens", "300", "--allow-growth"][..], &command[..]),
        (&["--keep-recent-tokens", "300", "--allow-growth"], &["--summarizer", "truncate"]),
        (&["--strategy", "replace"], &["--summarizer", "truncate"]),
        (&["--strategy", "replace"], &["--summarizer", "offline"]),
        (&["--strategy", "replace"], &command),
        (&["--strategy", "handoff"], &["--summarizer", "truncate"]),
        (&["--strategy", "handoff"], &["--summarizer", "offline"]),
        (&["--strategy", "handoff"], &command),
    ] {
        let run = Run::of(s::file(&lines));
        run.go(&[&["compact", "s.jsonl"], strategy, summarizer].concat()).ok();
        let by_command = summarizer.len() > 2;
        let files = run.names().into_iter().filter(|name| run.path(name).is_file() && (name == "asked") == by_command);
        let all: String = files.map(|name| run.text(&name)).collect();
        // What was there already stands in the file still, but for a history that is replaced.
        let told = if by_command { all } else { all.replace(&lines[2], "") };
        assert!(told.contains("the ARCH-7731 migration"), "{strategy:?} {summarizer:?}: {told}");
        assert!(!told.contains("HOW-TO-READ") && !told.contains('█') && !told.contains("u000e"), "{strategy:?} {summarizer:?}: {told}");
    }
}

#[test]
fn what_an_edit_put_in_the_place_of_a_message_is_told() {
    let mut lines = vec![
        s::header(),
        s::user("u", s::ROOT, "begin with OLD-WORDING-88"),
        answer("a", "u", "yes"),
        s::user("o", "a", "an OMITTED-99 request"),
        s::assistant("c", "o", json!([s::call("c1", "bash", json!({"command": "make"}))])),
        s::tool_result("r", "c", "c1", "bash", "RAW-OUTPUT-77 of make"),
        s::entry("context_edit", "e1", "r", json!({"targetId": "u", "replacement": {"content": [s::tx("begin with NEW-WORDING-88")]}})),
        s::entry("context_edit", "e2", "e1", json!({"targetId": "o", "replacement": null})),
        s::entry("context_edit", "e3", "e2", json!({"targetId": "r", "replacement": {"content": "first cut"}})),
        s::entry("context_edit", "e4", "e3", json!({"targetId": "r", "replacement": {"content": "CUT-OUTPUT-77"}})),
    ];
    turns(&mut lines, Some("e4"), 1, 6, 2_000);
    let command = ["--summarizer", "command", "--summarizer-command", "cat >> asked; echo '## Goal'; echo '- done'"];
    for more in [&["--strategy", "snapcompact"][..], &["--summarizer", "truncate"], &["--summarizer", "offline"], &command] {
        let run = Run::of(s::file(&lines));
        let receipt = run.json(&[&["compact", "s.jsonl", "--allow-growth", "--keep-recent-tokens", "300"], more].concat());
        assert!(receipt["dropped"].as_array().unwrap().contains(&json!({"id": "o", "why": "omitted"})), "{receipt}");
        let told = if more.len() > 2 {
            run.text("asked")
        } else {
            run.text("s.jsonl").replace(&s::file(&lines).iter().map(|b| *b as char).collect::<String>(), "")
        };
        for (words, is_told) in
            [("NEW-WORDING-88", true), ("OLD-WORDING-88", false), ("OMITTED-99", false), ("RAW-OUTPUT-77", false), ("first cut", false)]
        {
            assert_eq!(told.contains(words), is_told, "{more:?}: {words}: {told}");
        }
    }
}

#[test]
fn s09_frames_without_their_text_are_read_back_for_a_summary() {
    let run = Run::of(session(12, 2_000));
    let (_, entry) = printed(&run, &[]);
    let word = archive(&entry)["text"].as_str().unwrap().split_whitespace().nth(1).unwrap().to_owned();
    // As the first writers left it: no text beside the frames.
    let mut lines = run.lines("s.jsonl");
    lines.last_mut().unwrap()["preserveData"]["snapcompact"].as_object_mut().unwrap().remove("text");
    let mut file: Vec<String> = lines.iter().map(Value::to_string).collect();
    let id = entry["id"].as_str().unwrap().to_owned();
    turns(&mut file, Some(&id), 100, 6, 2_000);
    run.put("s.jsonl", s::file(&file));
    let (_, entry) = printed(&run, &[]);
    assert!(archive(&entry)["text"].as_str().unwrap().starts_with(&format!("[User]: {word}")), "{entry}");
    run.put("s.jsonl", s::file(&file));
    let out = run.go(&["compact", "s.jsonl", "--keep-recent-tokens", "300", "--allow-growth"]).ok();
    assert!(!out.stderr().contains("cannot be read back"), "{out}");
    assert!(run.last("s.jsonl")["summary"].as_str().unwrap().contains(&word));
}

#[test]
fn s10_frames_that_are_stored_elsewhere_are_carried_as_they_are() {
    let run = Run::of(session(12, 2_000));
    printed(&run, &[]);
    let mut lines = run.lines("s.jsonl");
    let (png, hash) = {
        let frame = &mut lines.last_mut().unwrap()["preserveData"]["snapcompact"]["frames"][0];
        let png = data_encoding::BASE64.decode(frame["data"].as_str().unwrap().as_bytes()).unwrap();
        let hash = data_encoding::HEXLOWER.encode(&Sha256::digest(&png));
        frame["data"] = format!("blob:sha256:{hash}").into();
        (png, hash)
    };
    let file: Vec<String> = lines.iter().map(Value::to_string).collect();
    run.put("s.jsonl", s::file(&file));
    let shown = run.json(&["inspect", "s.jsonl", "--show", "frames"]);
    assert_eq!((&shown["frames"][0]["text"], &shown["frames"][0]["bytes"]), (&Value::Null, &Value::Null));
    assert!(shown["frames"][0]["error"].as_str().unwrap().contains("elsewhere"));
    // Where the folder is known, the picture is read, if it is the one that is named.
    let args = ["inspect", "s.jsonl", "--show", "frames", "--blob-dir", "blobs"];
    let mut other = png.clone();
    other.push(0);
    run.put(&format!("blobs/{hash}"), other);
    assert_eq!(run.json(&args)["frames"][0]["text"], Value::Null);
    run.put(&format!("blobs/{hash}"), png);
    let shown = run.json(&args);
    assert!(shown["frames"][0]["text"].as_str().unwrap().starts_with("[User]: "), "{shown}");
}

#[test]
fn s11_s15_what_is_no_text_is_not_printed() {
    let url = format!("data:image/png;base64,{}", s::base64(&s::noise(1, 7_500)));
    let body = format!("\u{1b}[31mred\u{1b}[0m \u{1b}]0;t\u{7} a\u{200b}b\n{url}\nend");
    let mut lines = vec![
        s::header(),
        s::user("u", s::ROOT, "look"),
        s::assistant("c", "u", json!([s::call("c1", "read", json!({"path": "a.png"}))])),
        s::tool_result("r", "c", "c1", "read", &body),
    ];
    turns(&mut lines, Some("r"), 1, 4, 600);
    let run = Run::of(s::file(&lines));
    let (_, entry) = printed(&run, &[]);
    let text = archive(&entry)["text"].as_str().unwrap();
    assert!(text.contains("\u{e}red ab█[image/png, 7500 bytes]█end\u{f}"), "{}", &text[..200]);
    assert!(!text.contains("base64"));
}

#[test]
fn s13_lines_stay_lines() {
    let code = "def f(x):\n    if x:\n        return 1\n    return 2\n\nprint(f(0))";
    let mut lines = vec![s::header(), s::user("u", s::ROOT, code), answer("a", "u", "ok")];
    turns(&mut lines, Some("a"), 1, 4, 600);
    let run = Run::of(s::file(&lines));
    printed(&run, &[]);
    let want: Vec<&str> = code.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let read = texts(&run)[0].clone();
    let read: Vec<&str> = read.strip_prefix("[User]: ").unwrap().lines().take(want.len()).collect();
    assert_eq!(read, want);
}

#[test]
fn s14_each_group_of_frames_has_its_grid() {
    let run = Run::of(session(12, 2_000));
    let (_, first) = printed(&run, &["--shape", "doc-8on16-sent-dim"]);
    let mut file: Vec<String> = run.lines("s.jsonl").iter().map(Value::to_string).collect();
    turns(&mut file, first["id"].as_str(), 100, 6, 2_000);
    run.put("s.jsonl", s::file(&file));
    let (receipt, entry) = printed(&run, &["--shape", "6x12-dim"]);
    let summary = entry["summary"].as_str().unwrap();
    assert!(summary.contains("261 columns x 130 rows") && summary.contains("two columns of 96 x 98 cells"), "{summary}");
    let shown = run.json(&["inspect", "s.jsonl", "--show", "frames"]);
    let shapes: Vec<&str> = shown["frames"].as_array().unwrap().iter().map(|frame| frame["shape"].as_str().unwrap()).collect();
    assert_eq!((shapes.first(), shapes.last()), (Some(&"doc-8on16-sent-dim"), Some(&"6x12-dim")));
    assert!(receipt["frames"]["carried"].as_u64().unwrap() > 0);
    // The first frame is the same file as before.
    assert_eq!(archive(&entry)["frames"][0]["data"], archive(&first)["frames"][0]["data"]);
}

#[test]
fn s18_the_same_run_gives_the_same_bytes() {
    let twice = [(); 2].map(|()| {
        let run = Run::of(session(12, 2_000));
        printed(&run, &[]);
        run.bytes("s.jsonl")
    });
    assert!(twice[0] == twice[1]);
}

#[test]
fn a_frame_that_does_not_read_back_stops_the_run() {
    for carrier in ["preserve-data", "message"] {
        for pixel in ["0:0", "0:12345", "1:777"] {
            let run = Run::of(session(16, 4_000));
            let before = run.bytes("s.jsonl");
            let out = run.go_env(&[PRINT, &["--carrier", carrier, "--shape", "8on16-bw"]].concat(), &[("EPITOME_TEST_FLIP_PIXEL", pixel)]);
            assert_eq!(out.code, 1, "{out}");
            assert!(out.stderr().contains("does not read back and was not written"), "{pixel}: {out}");
            assert_eq!(run.bytes("s.jsonl"), before);
        }
    }
}

#[test]
fn pi_gets_its_frames_in_a_message_that_the_next_run_takes_over() {
    let mut lines = vec![s::header(), s::entry("session_info", "i", s::ROOT, json!({"name": "x"}))];
    turns(&mut lines, Some("i"), 0, 12, 2_000);
    let run = Run::of(s::file(&lines));
    let (receipt, entry) = printed(&run, &[]);
    assert_eq!(receipt["frames"]["carrier"], "message");
    let message = run.last("s.jsonl");
    assert_eq!(
        (&message["type"], &message["customType"], &message["parentId"]),
        (&json!("custom_message"), &json!("snapcompact"), &entry["id"])
    );
    let blocks = message["content"].as_array().unwrap();
    assert!(
        blocks[0]["text"].as_str().unwrap().contains("oldest first")
            || blocks[0]["text"].as_str().unwrap().contains("the picture that follows")
    );
    assert_eq!(blocks[1]["type"], "image");
    assert_eq!(archive(&entry)["frames"], json!([]));
    // What is counted is what the next look counts.
    let look = run.json(&["inspect", "s.jsonl", "--tokenizer", "heuristic", "--exact"]);
    assert_eq!(look["tokens"]["counted"], receipt["counted_after"], "{look}");
    let text = texts(&run)[0].clone();
    let mut file: Vec<String> = run.lines("s.jsonl").iter().map(Value::to_string).collect();
    turns(&mut file, message["id"].as_str(), 100, 6, 2_000);
    run.put("s.jsonl", s::file(&file));
    let (receipt, entry) = printed(&run, &[]);
    let dropped = receipt["dropped"].as_array().unwrap();
    assert!(dropped.contains(&json!({"id": message["id"], "why": "frames"})), "{receipt}");
    assert_eq!(receipt["frames"]["carried"], 2);
    let again = run.last("s.jsonl");
    assert_eq!(again["content"][1]["data"], message["content"][1]["data"]);
    let whole = archive(&entry)["text"].as_str().unwrap().replace('█', "\n");
    let common = whole.chars().zip(text.chars()).take_while(|(a, b)| a == b).count();
    assert_eq!(&whole[..20], &text[..20]);
    assert!(common + 1 >= text.trim_end().chars().count(), "{:?} {:?}", whole.get(common..common + 40), text.get(common..common + 40));
    // A text summary after it tells what the frames said, and nothing of how to read them.
    run.put("s.jsonl", s::file(&file));
    run.go(&["compact", "s.jsonl", "--keep-recent-tokens", "300", "--allow-growth"]).ok();
    let last = run.last("s.jsonl");
    assert!(!last["summary"].as_str().unwrap().contains("pixels"), "{last}");
    assert_eq!(last.get("preserveData"), None);
}

#[test]
fn counts_of_a_context_with_frames_agree() {
    let run = Run::of(session(12, 2_000));
    let (receipt, entry) = printed(&run, &[]);
    let look = run.json(&["inspect", "s.jsonl", "--tokenizer", "heuristic", "--exact"]);
    assert_eq!(look["tokens"]["counted"], receipt["counted_after"]);
    assert_eq!(entry["tokensAfter"], receipt["counted_after"]);
    assert_eq!(receipt["frames"]["billed_tokens"], 3_293 * receipt["frames"]["frames"].as_u64().unwrap());
}

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let run = Run::of(session(12, 2_000));
    let before = (run.bytes("s.jsonl"), run.names());
    let out = run.go(&[PRINT, &["-n", "--frames-dir", "out"]].concat()).ok();
    for said in ["would be compacted", "6x12-dim", "tokens billed", "tokens of text"] {
        assert!(out.stdout().contains(said), "{said}: {out}");
    }
    assert_eq!((run.bytes("s.jsonl"), run.names()), before);
}

#[test]
fn any_text_is_printed_into_a_folder_and_toggles_in_it_are_honoured() {
    let run = Run::new();
    run.put("t.txt", "plain \u{e}gray\u{f}\n\nnext");
    run.go(&["snapcompact", "--text", "t.txt", "--frames-dir", "out", "--shape", "8on16-bw", "--frame-size", "320"]).ok();
    let png = run.bytes("out/001-8on16-bw.png");
    let image = image::load_from_memory(&png).unwrap().to_rgb8();
    assert_eq!((image.width(), image.height()), (320, 16));
    let colours: std::collections::BTreeSet<[u8; 3]> = image.pixels().map(|pixel| pixel.0).collect();
    assert_eq!(colours.into_iter().collect::<Vec<_>>(), [[0, 0, 0], [128, 128, 128], [255, 255, 255]]);
    // What is there is not written over.
    let out = run.go(&["snapcompact", "--text", "t.txt", "--frames-dir", "out", "--shape", "8on16-bw"]);
    assert_eq!(out.code, 1, "{out}");
    assert_eq!(run.bytes("out/001-8on16-bw.png"), png);
    // Nor is a half of several written beside it.
    run.put("long.txt", "words ".repeat(400));
    run.put("many/002-8on16-bw.png", "mine");
    let out = run.go(&["snapcompact", "--text", "long.txt", "--frames-dir", "many", "--shape", "8on16-bw", "--frame-size", "320"]);
    assert!(out.code == 1 && out.stderr().contains("002-8on16-bw.png"), "{out}");
    assert_eq!(run.bytes("many/002-8on16-bw.png"), b"mine");
    assert_eq!([1, 2, 3, 4].map(|n| run.path(&format!("many/00{n}-8on16-bw.png")).exists()), [false, true, false, false]);
    assert_eq!(run.go(&["snapcompact", "--text", "t.txt", "--shape", "8on16-bw"]).code, 2);
    assert_eq!(run.go(&["snapcompact", "--text", "t.txt", "--frames-dir", "x", "--shape", "9x9"]).code, 2);
}

#[test]
fn frames_of_a_session_are_written_out_and_read() {
    let run = Run::of(session(12, 2_000));
    printed(&run, &["--frames-dir", "made"]);
    let out = run.go(&["inspect", "s.jsonl", "--show", "frames", "--frames-dir", "shown"]).ok();
    assert!(out.stdout().contains("[User]: ") && out.stdout().contains("look alike"), "{out}");
    assert_eq!(run.bytes("made/001-6x12-dim.png"), run.bytes("shown/001-6x12-dim.png"));
    let out = run.go(&["inspect", "s.jsonl", "--show", "frames", "--frames-dir", "shown"]);
    assert!(out.code == 1 && out.stderr().contains("001-6x12-dim.png"), "{out}");
}
