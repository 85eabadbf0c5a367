//! One file a kind of damage, named after the code that `inspect` reports for it.

use serde_json::json;

use super::texts::hash;
use super::{File, replace};
use crate::sessions::{
    ROOT, assistant, base64, call, compaction, entry, file, header, image, image_block, label, png, tool_result, tool_result_with, tx, user,
};

/// Header, a question (`a`) and an answer (`b`).
fn opening() -> Vec<String> {
    vec![header(), user("a", ROOT, "Where is the tide table read?"), assistant("b", "a", json!([tx("In src/tide.rs.")]))]
}

/// [`opening`] with more lines after it.
fn opened(more: Vec<String>) -> Vec<u8> {
    let mut lines = opening();
    lines.extend(more);
    file(&lines)
}

/// The first `len` bytes of a line.
fn torn(line: &str, len: usize) -> Vec<u8> {
    line.as_bytes().iter().take(len).copied().collect()
}

pub(crate) fn files() -> Vec<File> {
    let mut all = broken_lines();
    all.extend(broken_tree());
    all.extend(broken_content());
    all.push(File::new(
        "damaged/not-a-session.jsonl",
        file(&[r#"{"type":"event","data":1}"#; 3]),
        "JSON Lines, but no session: `inspect` fails, writers leave it alone",
    ));
    all
}

fn broken_lines() -> Vec<File> {
    let third = user("c", "b", "And who wrote it?");
    let fourth = assistant("d", "c", json!([tx("I. Okafor.")]));

    let mut torn_line = file(&opening());
    torn_line.extend(torn(&third, 40));

    // The raw line breaks stand inside the string, which no reader can undo without guessing.
    let raw = tool_result("t", "b", "c1", "bash", "first line\nsecond line\nthird line").replace("\\n", "\n");
    let malformed = opened(vec![raw, user("e", "b", "Go on."), assistant("f", "e", json!([tx("Going on.")]))]);

    let mut glued = file(&[header(), opening().split_off(1).concat(), third.clone()]);
    glued.extend(torn(&fourth, 40));
    glued.extend(file(&[&fourth]));

    let mut nuls = file(&opening());
    nuls.extend([0; 300]);
    nuls.push(b'\n');
    nuls.extend([0; 50]);
    nuls.extend(file(&[&third, &fourth]));

    let bytes = opened(vec![user("c", "b", "The log says BYTES, what is that?")]);
    let surrogates = file(&[
        header(),
        user("a", ROOT, "What does the log say?"),
        assistant("b", "a", json!([call("c1", "bash", json!({"command": "cat emoji.log"}))])),
        tool_result("c", "b", "c1", "bash", "ok LONE end"),
        assistant("d", "c", json!([tx("A ship: PAIR")])),
    ]);
    let surrogates = replace(&surrogates, b"LONE", br"\ud83d");

    let body = [third.clone(), fourth.clone()];
    let mut headless = vec!["{broken".to_owned(), user("b", ROOT, "Still here?")];
    headless.extend(body.clone());
    let mut dropped = opening().split_off(1);
    dropped.extend(body);
    let unknown = replace(&opened(vec![third]), br#""version":3"#, br#""version":9"#);

    vec![
        File::new("damaged/torn-line.jsonl", torn_line, "the last line is the first 40 bytes of a record, without a newline"),
        File::new("damaged/malformed-line.jsonl", malformed, "a tool result broken over lines 4 to 6 by raw line breaks in its text"),
        File::new("damaged/glued-lines.jsonl", glued, "two whole records on line 2; 40 bytes of a record and then a whole one on line 4"),
        File::new("damaged/nul-bytes.jsonl", nuls, "line 4 is 300 NUL bytes; line 5 has 50 of them before a whole record"),
        File::new("damaged/invalid-utf8.jsonl", replace(&bytes, b"BYTES", b"\x80\x81\xff"), "the bytes 80 81 ff in the text of entry `c`"),
        File::new(
            "damaged/lone-surrogate.jsonl",
            replace(&surrogates, b"PAIR", br"\ud83d\udea2"),
            "a lone `\\ud83d` in `c`, a valid pair in `d`",
        ),
        File::new("damaged/missing-header.jsonl", file(&headless), "the header line is `{broken`; three good messages follow"),
        File::new("damaged/missing-header-dropped.jsonl", file(&dropped), "no header line at all; four good messages"),
        File::new("damaged/unknown-version.jsonl", unknown, "`\"version\":9` with entries of today"),
    ]
}

fn broken_tree() -> Vec<File> {
    let chain = |ids: &[&str]| -> Vec<String> {
        ids.iter()
            .enumerate()
            .map(|(index, id)| {
                let parent = index.checked_sub(1).and_then(|at| ids.get(at)).copied();
                if index % 2 == 0 {
                    user(id, parent, format!("Question {id}?"))
                } else {
                    assistant(id, parent, json!([tx(&format!("Answer {id}."))]))
                }
            })
            .collect()
    };
    let with_header = |lines: &[String]| {
        let mut all = vec![header()];
        all.extend_from_slice(lines);
        file(&all)
    };
    let good = chain(&["a", "b", "c", "d", "e", "f"]);

    let (early, late) = good.split_at(3);
    let identical = [early, early, late].concat();
    let differs = [early, &[user("c", "b", "Another question with the id c?")], late].concat();
    let cycle = [
        user("a", "b", "Question a?"),
        assistant("b", "a", json!([tx("Answer b.")])),
        user("c", "b", "Question c?"),
        assistant("d", "c", json!([tx("Answer d.")])),
    ];
    let own = [user("a", "a", "Question a?"), assistant("b", "a", json!([tx("Answer b.")]))];
    let dangling: Vec<String> = good.iter().filter(|line| !line.contains(r#""id":"c""#)).cloned().collect();
    let stray = opened(vec![label("e0", ROOT, "b")]);
    let kept = opened(vec![compaction("k", "b", "The tide table is read in src/tide.rs.", "gone"), user("c", "k", "And who wrote it?")]);

    vec![
        File::new(
            "damaged/duplicate-id.jsonl",
            with_header(&identical),
            "`a`, `b` and `c` stand in the file twice, the copies are identical",
        ),
        File::new("damaged/duplicate-id-differs.jsonl", with_header(&differs), "a second `c` has another text: the later line wins"),
        File::new("damaged/parent-cycle.jsonl", with_header(&cycle), "`a` and `b` are each other's parent, two hops above the leaf `d`"),
        File::new("damaged/parent-cycle-self.jsonl", with_header(&own), "`a` is its own parent"),
        File::new("damaged/dangling-parent.jsonl", with_header(&dangling), "a chain `a` to `f` without `c`: 3 of 5 entries are reachable"),
        File::new("damaged/missing-kept-id.jsonl", kept, "a compaction keeps from an entry `gone` that is not in the file"),
        File::new("damaged/stray-leaf.jsonl", stray, "the last entry is a label with no parent: the active path holds no message"),
    ]
}

fn broken_content() -> Vec<File> {
    let orphan = opened(vec![tool_result("t", "b", "never-called", "bash", "output of nobody"), user("c", "t", "Go on.")]);
    let unanswered = file(&[
        header(),
        user("a", ROOT, "Run the tests."),
        assistant("b", "a", json!([tx("Running them."), call("c1", "bash", json!({"command": "cargo test"}))])),
        user("c", "b", "Well?"),
        assistant("d", "c", json!([tx("I have no output to show.")])),
    ]);
    let blob = format!("blob:sha256:{}", hash(8, 64));
    let missing_blob = file(&[
        header(),
        user("a", ROOT, json!([tx("What is on the photo?"), {"type": "image", "mimeType": "image/jpeg", "data": blob}])),
        assistant("b", "a", json!([tx("The quay at berth 7.")])),
    ]);
    let cut: String = base64(&png(16, 16)).chars().take(93).collect();
    let jpeg: &[u8] = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9";
    let png_block = |data: &str| json!({"type": "image", "mimeType": "image/png", "data": data});
    let images = file(&[
        header(),
        user("a", ROOT, json!([tx("4k+1 characters of base64"), png_block(&cut)])),
        user("b", "a", json!([tx("JPEG bytes, said to be a PNG"), image_block(jpeg, "image/png")])),
        assistant("c", "b", json!([call("c1", "read", json!({"path": "empty.png"}))])),
        tool_result_with("d", "c", "c1", "read", json!([tx("nothing at all"), png_block("")]), json!({})),
        user("e", "d", json!([tx("9000 pixels wide"), image_block(&png(9000, 10), "image/png")])),
        user("f", "e", json!([tx("and a good one"), image(400)])),
        entry("custom", "g", "f", json!({"customType": "gallery", "data": {"count": 5}})),
    ]);
    vec![
        File::new("damaged/orphan-result.jsonl", orphan, "the result `t` answers a call that is nowhere"),
        File::new("damaged/unanswered-call.jsonl", unanswered, "the call in `b` has no result"),
        File::new("damaged/missing-blob.jsonl", missing_blob, "an image that is a reference into a blob folder"),
        File::new(
            "damaged/bad-image.jsonl",
            images,
            "base64 of length 4k+1, JPEG bytes typed `image/png`, no data, a PNG of 9000 × 10; `f` is good",
        ),
    ]
}
