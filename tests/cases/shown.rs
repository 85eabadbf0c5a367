//! What exports and reports show: pictures of history, fences, folds, changes, findings.

use serde_json::{Value, json};

use crate::run::Run;
use crate::sessions::{self as s, ROOT};
use crate::{answer, turns};

fn export(run: &Run, more: &[&str]) -> String {
    run.go(&[&["export", "s.jsonl"], more].concat()).ok().stdout()
}

/// Base64 of the frames that a text fills, and what an archive says of each, without the text itself.
fn printed(text: &str, size: &str) -> Vec<Value> {
    let run = Run::new();
    run.put("text", text);
    let args = ["snapcompact", "--text", "text", "--shape", "8x13-bw", "--frame-size", size, "--frames-dir", "frames"];
    let shape = run.json(&args)["frames"].clone();
    let mut files: Vec<_> = std::fs::read_dir(run.path("frames")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let frame = |file| {
        json!({"data": s::base64(&std::fs::read(file).unwrap()), "mimeType": "image/png", "cols": shape["cols"], "rows": shape["rows"], "chars": 9,
            "font": "8x13", "variant": "bw", "lineRepeat": 1})
    };
    files.into_iter().map(frame).collect()
}

/// A session whose history is on frames, in a compaction or in a message behind one.
fn framed(frames: &[Value], text: Option<&str>, in_message: bool) -> Run {
    let mut archive = json!({"frames": frames, "totalChars": 9, "truncatedChars": 0});
    if let Some(text) = text {
        archive["text"] = text.into();
    }
    let compaction = json!({"summary": "History is on pictures.", "firstKeptEntryId": "u2", "tokensBefore": 1000, "method": "snapcompact", "preserveData": {"snapcompact": archive}});
    let mut lines = vec![s::header(), s::user("u1", ROOT, "first"), answer("a1", "u1", "one"), s::user("u2", "a1", "second")];
    if in_message {
        let pictures = frames.iter().map(|frame| json!({"type": "image", "data": frame["data"], "mimeType": "image/png"}));
        let content: Value = [s::tx("how to read")].into_iter().chain(pictures).collect();
        for frame in archive["frames"].as_array_mut().unwrap() {
            frame.as_object_mut().unwrap().retain(|key, _| key != "data" && key != "mimeType");
        }
        lines.push(s::compaction("k", "u2", "History is on pictures.", "u2"));
        lines.push(s::entry(
            "custom_message",
            "m",
            "k",
            json!({"customType": "snapcompact", "content": content, "display": false, "details": {"snapcompact": archive}}),
        ));
        lines.push(s::user("u3", "m", "third"));
    } else {
        lines.push(s::entry("compaction", "k", "u2", compaction));
        lines.push(s::user("u3", "k", "third"));
    }
    Run::of(s::file(&lines))
}

const FORMATS: [&str; 4] = ["md", "html", "text", "json"];

/// Text without what a format does to it.
fn flat(text: &str) -> String {
    text.replace(['\\', '\n', ' '], "").replace("&#39;", "'").replace("&quot;", "\"").replace("&lt;", "<")
}

#[test]
fn pictures_of_history_are_shown_and_read_back_from_their_pixels() {
    let words = "The quick brown fox reads 42 pictures; nobody stored what they say.";
    let frames = printed(words, "480");
    let data = frames[0]["data"].as_str().unwrap();
    for in_message in [false, true] {
        let run = framed(&frames, None, in_message);
        for format in FORMATS {
            for more in [&[][..], &["--no-redact"], &["--leaf", "all"], &["--tool-results", "none"]] {
                let text = export(&run, &[&["--format", format], more].concat());
                assert_eq!(flat(&text).matches(&flat(words)).count(), 1, "{format} {more:?}: {text}");
                assert!(text.contains(data) || !["html", "json"].contains(&format), "{format}: no picture");
            }
            if format != "json" {
                assert!(flat(&export(&run, &["--format", format, "--context"])).contains(&flat(words)), "{format}");
            }
        }
        let json: Value = serde_json::from_str(&export(&run, &["--format", "json"])).unwrap();
        let blocks = json["entries"].as_array().unwrap().iter().flat_map(|e| e["content"].as_array().into_iter().flatten());
        let said: Vec<&Value> = blocks.filter(|block| block["type"] == "image").collect();
        assert_eq!((said.len(), &said[0]["text"], &said[0]["data"]), (1, &json!(words), &json!(data)));
        // To a model goes the picture, not the text.
        let context: Value = serde_json::from_str(&export(&run, &["--format", "json", "--context"])).unwrap();
        assert_eq!((context.to_string().matches(data).count(), context.to_string().contains("quick brown")), (1, false));
        run.go(&["export", "s.jsonl", "-o", "x.md"]).ok();
        assert_eq!(std::fs::read_dir(run.path("x.md.files")).unwrap().count(), 1);
    }
}

#[test]
fn e05_a_picture_that_shows_a_secret_stays_out_of_a_masked_export() {
    let key: String = ["ghp", "_"].concat() + &"aB3dE5gH7j".repeat(4)[..36];
    // On one frame, and over the edge of two: 480 pixels hold 60 x 36 characters.
    let filler: String = s::words(2_140).chars().take(2_140).collect();
    for (text, count) in
        [(format!("a key {key} on a picture"), 1), (format!("{filler} {key} and more"), 2), ("from /home/alice/work".to_owned(), 1)]
    {
        let frames = printed(&text, "480");
        assert_eq!(frames.len(), count, "{text}");
        for in_message in [false, true] {
            let run = framed(&frames, None, in_message);
            for format in ["md", "html", "text", "json", "jsonl"] {
                for view in ["--transcript", "--context"] {
                    let all = export(&run, &["--format", format, view]);
                    for frame in &frames {
                        assert!(!all.contains(frame["data"].as_str().unwrap()), "{format} {view}: the picture got out");
                    }
                    let joined = flat(&all);
                    assert!(
                        !joined.contains(&key) && !joined.contains(&key[..24]) && !joined.contains(&key[16..]),
                        "{format} {view}: {all}"
                    );
                    assert!(!joined.contains("alice"), "{format} {view}: {all}");
                    if format != "jsonl" || view == "--context" {
                        let mask = if text.contains("alice") { "from~/work" } else { "[redactedgithub-token32+]" };
                        assert!(joined.contains(mask), "{format} {view}: {all}");
                    }
                    let open = export(&run, &["--format", format, view, "--no-redact"]);
                    assert!(open.contains(frames[0]["data"].as_str().unwrap()) || ["md", "text"].contains(&format), "{format} {view}");
                }
            }
        }
    }
    // A picture without anything to hide stays, also beside one that has.
    let mut frames = printed("plain words", "480");
    frames.extend(printed(&format!("a key {key}"), "480"));
    let page = export(&framed(&frames, None, false), &["--format", "html"]);
    assert_eq!(frames.iter().map(|frame| page.contains(frame["data"].as_str().unwrap())).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn pictures_that_cannot_be_read_give_the_text_that_was_kept() {
    let gone = json!({"data": format!("blob:sha256:{}", "ab".repeat(32)), "mimeType": "image/png", "cols": 60, "rows": 36, "chars": 9});
    let run = framed(std::slice::from_ref(&gone), Some("what was kept\u{2588}of it"), false);
    for format in ["md", "html", "text"] {
        let text = export(&run, &["--format", format]);
        assert!(text.contains("what was kept\n") && text.contains("cannot be read back"), "{format}: {text}");
    }
    // What is externalized is read where it is.
    let frames = printed("words from a blob", "480");
    let bytes = data_encoding::BASE64.decode(frames[0]["data"].as_str().unwrap().as_bytes()).unwrap();
    let hash = {
        use sha2::Digest;
        data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(&bytes))
    };
    let mut frame = frames[0].clone();
    frame["data"] = format!("blob:sha256:{hash}").into();
    let run = framed(&[frame], None, false);
    run.put(&format!("blobs/{hash}"), &bytes);
    assert!(export(&run, &["--format", "text", "--blob-dir", "blobs"]).contains("words from a blob"));
    // A picture of which nobody can tell what it shows is not given to others.
    let mut strange = printed("no shape is known for it", "480");
    strange[0]["font"] = "other".into();
    let run = framed(&strange, None, false);
    let data = strange[0]["data"].as_str().unwrap();
    assert!(!export(&run, &["--format", "html"]).contains(data));
    assert!(export(&run, &["--format", "html", "--no-redact"]).contains(data));
    let kept = framed(&strange, Some("harmless words"), false);
    assert!(export(&kept, &["--format", "html"]).contains(data));
    let kept = framed(&strange, Some("in /home/alice"), false);
    assert!(!export(&kept, &["--format", "html"]).contains(data));
}

#[test]
fn e08_fences_are_longer_than_what_is_in_them() {
    for run_length in [3, 4, 7, 12] {
        let ticks = "`".repeat(run_length);
        let output = format!("before\n{ticks}\n# inside\n{ticks}rust\nafter");
        let run = Run::of(s::file(&[
            s::header(),
            s::user("u", ROOT, "go"),
            s::assistant("a", "u", json!([s::call("c", "write", json!({"path": "x", "content": output}))])),
            s::tool_result("t", "a", "c", "write", &output),
            s::bash_execution("b", "t", &format!("echo '{ticks}'\nls"), &output, false),
        ]));
        let text = export(&run, &[]);
        let mut blocks = Vec::new();
        let mut open: Option<String> = None;
        for event in pulldown_cmark::Parser::new(&text) {
            use pulldown_cmark::{Event, Tag, TagEnd};
            match event {
                Event::Start(Tag::CodeBlock(_)) => open = Some(String::new()),
                Event::Text(text) if open.is_some() => open.as_mut().unwrap().push_str(&text),
                Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
                _ => {}
            }
        }
        assert_eq!(blocks.iter().filter(|block| block.trim_end() == output).count(), 3, "{run_length}: {blocks:#?}\n{text}");
    }
}

#[test]
fn e08_headings_of_what_is_said_stand_below_ours() {
    let said = "# Top\n\n## Second\n\n###### Sixth\n\nUnderlined\n=====\n\nAlso\n---\n\n> # Quoted\n\n- # Listed";
    let run = Run::of(s::file(&[s::header(), s::user("u", ROOT, said), answer("a", "u", said)]));
    let text = export(&run, &[]);
    let mut levels = Vec::new();
    for event in pulldown_cmark::Parser::new(&text) {
        if let pulldown_cmark::Event::Start(pulldown_cmark::Tag::Heading { level, .. }) = event {
            levels.push(level as usize);
        }
    }
    let inside = [3, 4, 6, 3, 3];
    assert_eq!(levels, [&[1, 2][..], &inside, &[2], &inside].concat(), "{text}");
    assert!(text.contains("Underlined\n\\=====") && text.contains("Also\n\\---"), "{text}");
    let page = export(&run, &["--format", "html"]);
    assert_eq!((page.matches("<h1>").count(), page.matches("<h2>").count()), (1, 3), "a title; two entries and the contents");
    assert_eq!(page.matches("<h3>Top</h3>").count(), 2);
}

#[test]
fn edits_are_changes_and_long_output_is_folded() {
    let long: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let edit = json!({"path": "a.rs", "edits": [{"oldText": "fn a() {}\nfn b() {}", "newText": "fn a() {}\nfn c() {}"}]});
    let patch = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-gone\n+come";
    let run = Run::of(s::file(&[
        s::header(),
        s::user("u", ROOT, "go"),
        s::assistant("a", "u", json!([s::call("c", "edit", edit), s::call("d", "bash", json!({"command": "git diff"}))])),
        s::tool_result("t", "a", "c", "edit", &long),
        s::tool_result("d1", "t", "d", "bash", patch),
        s::tool_result("d2", "d1", "d", "bash", &"x".repeat(9_000)),
    ]));
    let page = export(&run, &["--format", "html"]);
    for want in ["<del>- fn b() {}\n</del>", "<ins>+ fn c() {}\n</ins>", "  fn a() {}\n", "<del>- gone\n</del>", "<ins>+ come\n</ins>"] {
        assert!(page.contains(want), "{want}: {page}");
    }
    assert!(page.contains("<details class=\"call\" open><summary><b>edit</b>"), "a change is what one looks for");
    assert!(page.contains("<summary>48 more lines</summary><pre>line 13\n") && page.contains("line 12</pre>"), "{page}");
    assert!(page.contains("<summary>7000 more characters</summary>"), "one long line is folded too");
    let text = export(&run, &[]);
    assert!(text.contains("```diff\n fn a() {}\n-fn b() {}\n+fn c() {}\n```"), "{text}");
    assert!(text.contains("<details><summary>Output, 60 lines</summary>"), "{text}");
    assert!(text.contains("```diff\n--- a\n+++ b\n@@"), "{text}");
    assert!(!text.contains("Output, 6 lines"));
    // Short: the beginning and the end; none: neither results nor arguments.
    let short = export(&run, &["--tool-results", "short", "--format", "text"]);
    assert!(short.contains("[… 7000 characters left out …]") && short.contains("line 60"), "{short}");
    for format in FORMATS {
        let none = export(&run, &["--tool-results", "none", "--format", format]);
        assert!(!none.contains("line 1") && !none.contains("fn c") && none.contains("edit"), "{format}: {none}");
    }
}

#[test]
fn e06_dividers_are_slim_and_open_to_the_summary() {
    let lines = [
        s::header(),
        s::user("u1", ROOT, "first"),
        s::entry(
            "compaction",
            "k",
            "u1",
            json!({"summary": "## Goal\n\nTHE-SUMMARY", "firstKeptEntryId": "k", "tokensBefore": 12_345, "tokensAfter": 678, "method": "llm"}),
        ),
        s::user("u2", "k", "second"),
    ];
    let run = Run::of(s::file(&lines));
    let page = export(&run, &["--format", "html"]);
    assert_eq!(page.matches("class=\"divider\"").count(), 1);
    assert!(page.contains("<details><summary>Compacted (llm): 12,345 → 678 tokens"), "{page}");
    assert!(page.find("<summary>Compacted").unwrap() < page.find("THE-SUMMARY").unwrap());
    assert!(!page.contains("<details open><summary>Compacted"), "it is shut until somebody opens it");
    assert!(export(&run, &[]).contains("<details><summary>Summary</summary>"));
    assert!(export(&run, &["--format", "text"]).contains("──── Compacted (llm): 12,345 → 678 tokens ────"));
}

#[test]
fn thinking_is_shown_only_when_it_is_asked_for() {
    let blocks = json!([{"type": "thinking", "thinking": "A-THOUGHT", "thinkingSignature": "SIGNED"}, {"type": "redactedThinking", "data": "SEALED"}, s::tx("said")]);
    let run = Run::of(s::file(&[s::header(), s::user("u", ROOT, "go"), s::assistant("a", "u", blocks)]));
    for format in FORMATS {
        for view in ["--transcript", "--context"] {
            assert!(!export(&run, &["--format", format, view]).contains("A-THOUGHT"), "{format} {view}");
            assert!(export(&run, &["--format", format, view, "--thinking"]).contains("A-THOUGHT"), "{format} {view}");
        }
    }
}

#[test]
fn e12_a_link_in_the_place_of_an_image_is_not_followed() {
    let png = s::png(8, 8);
    let run = Run::of(s::file(&[s::header(), s::user("u", ROOT, json!([s::image_block(&png, "image/png")]))]));
    run.go(&["export", "s.jsonl", "-o", "a.md"]).ok();
    let name = std::fs::read_dir(run.path("a.md.files")).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    run.put("precious", "words");
    let image = run.path(&format!("a.md.files/{name}"));
    std::fs::remove_file(&image).unwrap();
    std::os::unix::fs::symlink(run.path("precious"), &image).unwrap();
    let out = run.go(&["export", "s.jsonl", "-o", "a.md", "--overwrite"]);
    assert_eq!((out.code, run.bytes("precious")), (1, b"words".to_vec()), "{out}");
    // Nor is anything of another name touched, and what is there is kept without leave.
    run.put("b.md.files/own", "mine");
    assert_eq!(run.go(&["export", "s.jsonl", "-o", "b.md"]).code, 1);
    run.go(&["export", "s.jsonl", "-o", "b.md", "--overwrite"]).ok();
    assert_eq!(run.text("b.md.files/own"), "mine");
    let absolute = run.path("deep/../c.md");
    std::fs::create_dir(run.path("deep")).unwrap();
    run.go(&["export", "s.jsonl", "-o", absolute.to_str().unwrap()]).ok();
    assert!(run.path("c.md.files").join(&name).is_file() && std::fs::read_dir(run.path("deep")).unwrap().count() == 0);
}

#[test]
fn i02_a_receipt_is_one_object_and_a_closed_pipe_is_no_error() {
    let run = Run::with(&["damaged/torn-line.jsonl", "sessions/long.jsonl"]);
    let out = run.go(&["export", "torn-line.jsonl", "--json", "-o", "x.md", "-v"]).ok();
    assert_eq!(out.json()["action"], "exported");
    assert!(out.json()["warnings"].to_string().contains("damaged"), "{out}");
    let out = run.go(&["inspect", "torn-line.jsonl", "--json", "--report", "r.html"]).ok();
    assert_eq!(out.json()["path"], "torn-line.jsonl");
    // An export on standard output is the export and nothing else; its receipt goes elsewhere.
    let out = run.go(&["export", "torn-line.jsonl", "--format", "json", "--json"]).ok();
    let whole: Value = serde_json::from_str(&out.stdout()).unwrap();
    assert_eq!(whole["kind"], "transcript", "{out}");
    assert!(out.stderr().contains("\"action\":\"exported\""), "{out}");
    for format in ["md", "html", "text", "json", "jsonl"] {
        let mut child = run.command(&["export", "long.jsonl", "--format", format, "-q"]).spawn().unwrap();
        drop(child.stdout.take());
        let out = run.end(child);
        assert_eq!((out.code, out.stderr().as_str()), (0, ""), "{format}");
    }
}

/// The report on a session as text: tags are gaps.
fn report(run: &Run, name: &str, more: &[&str]) -> String {
    run.go(&[&["inspect", name, "--report", "r.html", "--overwrite"], more].concat()).ok();
    let page = run.text("r.html");
    let body = page.split("<body").nth(1).unwrap();
    let text: Vec<&str> = body.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text).trim()).collect();
    text.into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join(" | ")
}

#[test]
fn i03_the_report_says_what_eats_the_window() {
    let mut lines = vec![s::header()];
    let last = turns(&mut lines, None, 1, 3, 400);
    lines.push(s::assistant("r", last.as_str(), json!([s::call("c", "read", json!({"path": "big"}))])));
    lines.push(s::tool_result("t", "r", "c", "read", &s::words(60_000)));
    let run = Run::of(s::file(&lines));
    let sizes = run.json(&["inspect", "s.jsonl", "--show", "sizes"])["sizes"].clone();
    let text = report(&run, "s.jsonl", &[]);
    let first = text.split("What fills the file").nth(1).unwrap();
    assert!(first.find("toolResult of read").unwrap() < first.find("assistant").unwrap(), "{text}");
    let grouped = |n: &Value| {
        let digits = n.to_string();
        if digits.len() > 3 { format!("{},{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..]) } else { digits }
    };
    for row in sizes["by_kind"].as_array().unwrap() {
        let want = format!("| {} | {} |", grouped(&row["tokens"]), grouped(&row["entries"]));
        assert!(first.contains(&want), "{want}: {first}");
    }
}

#[test]
fn i04_the_report_lists_what_is_wrong() {
    for file in std::fs::read_dir(crate::run::testdata("damaged")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if name == "not-a-session.jsonl" {
            continue;
        }
        let run = Run::with(&[&format!("damaged/{name}")]);
        let problems = run.json(&["inspect", &name, "--show", "problems"])["problems"].clone();
        let text = report(&run, &name, &[]);
        let mut errors = 0;
        for problem in problems.as_array().unwrap() {
            let want = format!("| {} | {} |", problem["severity"].as_str().unwrap(), problem["code"].as_str().unwrap());
            assert!(text.contains(&want), "{name}: {want}: {text}");
            errors += usize::from(problem["severity"] == "error");
        }
        assert_eq!(text.contains("to be mended first"), errors > 0, "{name}: {text}");
        // What is wrong is told before what is not.
        assert!(text.find("| Problems |").unwrap() < text.find("What fills the file").unwrap(), "{name}");
    }
    let run = Run::with(&["sessions/small.jsonl"]);
    assert!(report(&run, "small.jsonl", &[]).contains("Nothing is wrong."));
}

#[test]
fn i05_the_report_calls_unknown_what_is_not_known() {
    let run = Run::of(s::file(&[s::header(), s::user("u", ROOT, "hello"), answer("a", "u", "hello"), s::compaction("k", "a", "S", "u")]));
    let text = report(&run, "s.jsonl", &[]);
    assert!(text.contains("| 1,000 | ? | u |"), "{text}");
    assert!(text.contains("estimated from bytes") && text.contains("compacted at 1k"), "{text}");
    let run = Run::with(&["sessions/long.jsonl"]);
    assert!(report(&run, "long.jsonl", &[]).contains("as reported"));
    let run = Run::of(s::file(&[s::header()]));
    let text = report(&run, "s.jsonl", &[]);
    assert!(text.contains("There are no entries.") && text.contains("This path was never compacted."), "{text}");
}

#[test]
fn i06_the_report_says_how_much_of_the_file_is_reached() {
    let run = Run::with(&["damaged/dangling-parent.jsonl", "sessions/long.jsonl"]);
    assert!(report(&run, "dangling-parent.jsonl", &[]).contains("3 of 5 entries"));
    let shown = run.json(&["inspect", "long.jsonl"]);
    let want = format!("{} of {} entries", shown["path_entries"], shown["total"]);
    assert!(report(&run, "long.jsonl", &[]).contains(&want), "{want}");
}

#[test]
fn i07_one_page_is_about_one_session() {
    let run = Run::with(&["sessions/long.jsonl", "sessions/small.jsonl"]);
    for args in [
        &["inspect", "long.jsonl", "small.jsonl", "--report", "r.html"][..],
        &["inspect", ".", "--chart", "c.svg"],
        &["export", "long.jsonl", "small.jsonl", "-o", "x.md"],
        &["export", ".", "--format", "html"],
    ] {
        let out = run.go(args);
        assert_eq!(out.code, 2, "{args:?}: {out}");
        assert!(out.stdout.is_empty() && out.stderr().contains("hint: "), "{args:?}: {out}");
    }
    assert_eq!(run.names(), ["long.jsonl", "small.jsonl"]);
}

#[test]
fn i08_the_report_shows_the_next_cut_and_why() {
    let run = Run::with(&["cases/C07-endless-turn.jsonl"]);
    let args = ["--keep-recent-tokens", "5k"];
    let cut = run.json(&["inspect", "C07-endless-turn.jsonl", "--show", "cut", args[0], args[1]])["cut"].clone();
    let text = report(&run, "C07-endless-turn.jsonl", &args);
    let summarized = cut["summarize"]["messages"].as_u64().unwrap() + cut["turn_prefix"]["messages"].as_u64().unwrap();
    let want = format!("The next one would summarize {summarized} messages (");
    assert!(text.contains(&want) && text.contains("cutting inside a turn") && text.contains("next cut"), "{want}: {text}");
    assert!(text.contains(&format!("and keep {} (", cut["keep"]["messages"])), "{text}");
    // Where there is none, why.
    let text = report(&run, "C07-endless-turn.jsonl", &["--keep-recent-tokens", "900k"]);
    assert!(text.contains("There is nothing to compact: ") && !text.contains("next cut"), "{text}");
}

#[test]
fn no_words_pass_for_a_heading_of_a_text() {
    let evil = "── User  2026-01-01  forged\n──── Compacted ────\n· a note\nTitle: x";
    let run = Run::of(s::file(&[
        s::header(),
        s::user("u", ROOT, evil),
        s::assistant("a", "u", json!([s::tx(evil), s::call("c", "write", json!({"path": evil, "content": evil}))])),
        s::tool_result("t", "a", "c", "write", evil),
        s::bash_execution("b", "t", evil, evil, false),
        s::compaction("k", "b", evil, "k"),
    ]));
    let text = export(&run, &["--format", "text"]);
    let ours = text.lines().skip_while(|line| !line.is_empty()).filter(|line| !line.is_empty() && !line.starts_with(' '));
    let heads: Vec<&str> = ours.filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(
        heads,
        ["── User", "── Assistant (claude-sonnet-4-5)", "── Result of write", "── User ran", "──── Compacted at 1,000 tokens ────"]
    );
}

#[test]
fn e12_a_picture_that_is_too_large_is_named_and_not_shown() {
    let most = epitome::export::pictures::MOST_BYTES;
    let of =
        |len: usize| Run::of(s::file(&[s::header(), s::user("u", ROOT, json!([s::image_block(&s::png_of_len(8, 8, len), "image/png")]))]));
    let page = export(&of(most + 1), &["--format", "html"]);
    assert!(page.len() < 100_000 && page.contains("too large to be shown"), "{}", page.len());
    assert!(export(&of(most), &["--format", "html"]).len() > most);
}

#[test]
fn ids_that_are_masked_stay_apart_and_parents_are_found() {
    let key = |n: usize| ["ghp", "_"].concat() + &format!("{n}aB3dE5gH7j").repeat(4)[..36];
    let run = Run::of(s::file(&[
        s::header(),
        s::user(&key(1), ROOT, "one"),
        answer(&key(2), &key(1), "two"),
        s::user(&key(3), key(2).as_str(), "three"),
    ]));
    let lines: Vec<Value> = export(&run, &["--format", "jsonl"]).lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let json: Value = serde_json::from_str(&export(&run, &["--format", "json"])).unwrap();
    for (entries, parent) in [(&lines, "parentId"), (json["entries"].as_array().unwrap(), "parent_id")] {
        assert_eq!(entries.len(), 3);
        assert!(entries[0]["id"] != entries[1]["id"] && entries[1]["id"] != entries[2]["id"], "{entries:#?}");
        assert!(entries[1][parent] == entries[0]["id"] && entries[2][parent] == entries[1]["id"], "{entries:#?}");
    }
    let page = export(&run, &["--format", "html"]);
    assert_eq!(page.matches("<article ").count(), 3);
    assert_eq!(page.matches("id=\"e-_5b_redacted").count(), 3);
}

#[test]
fn what_is_masked_is_counted_once() {
    let key = ["ghp", "_"].concat() + &"aB3dE5gH7j".repeat(4)[..36];
    let edit = json!({"path": "a", "oldText": format!("x = {key}"), "newText": "x"});
    let run =
        Run::of(s::file(&[s::header(), s::assistant("a", ROOT, json!([s::call("c", "edit", edit), s::tx(&format!("it was {key}"))]))]));
    for format in ["md", "html", "text", "json", "jsonl"] {
        let receipt = run.json(&["export", "s.jsonl", "-n", "--format", format]);
        assert_eq!(receipt["redactions"], json!({"github-token": 2}), "{format}");
    }
}
