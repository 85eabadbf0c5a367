//! Small sessions for reported faults of such tools, one or two a fault. The reading and writing of files is here, the
//! faults of compaction are in `compaction_cases`.

use serde_json::json;

use super::{File, replace};
use crate::sessions::{ROOT, assistant, call, entry, file, header, label, title_slot, tool_result, tx, user};

fn case(name: &str, bytes: Vec<u8>, about: &str) -> File {
    File::new(&format!("cases/{name}.jsonl"), bytes, about)
}

fn a(id: &str, parent: &str, text: &str) -> String {
    assistant(id, parent, json!([tx(text)]))
}

/// Entries with the given ids, each below the one before, user and assistant in turn.
fn chain(ids: &[String]) -> Vec<String> {
    let mut lines = vec![header()];
    let mut parent: Option<&str> = None;
    for (index, id) in ids.iter().enumerate() {
        let text = format!("text of {id}");
        lines.push(if index % 2 == 0 { user(id, parent, text) } else { assistant(id, parent, json!([tx(&text)])) });
        parent = Some(id);
    }
    lines
}

fn letters(count: u8) -> Vec<String> {
    (b'a'..).take(usize::from(count)).map(|letter| char::from(letter).to_string()).collect()
}

pub(crate) fn files() -> Vec<File> {
    let mut all = lines();
    all.extend(trees());
    all
}

fn lines() -> Vec<File> {
    let third = user("c", "b", "three");
    let start = file(&[header(), user("a", ROOT, "one"), a("b", "a", "two")]);
    let torn: Vec<u8> = start.iter().copied().chain(third.bytes().take(40)).collect();
    let whole: Vec<u8> = start.iter().copied().chain(third.bytes()).collect();

    let mut bad_middle = chain(&letters(6));
    if let Some(line) = bad_middle.get_mut(3) {
        *line = r#"{"type":"custom","id":"x","da"#.to_owned();
    }

    // Written raw: what splits a line is 0x0A, nothing else.
    let separators = file(&[header(), user("a", ROOT, "x\u{2028}y\u{2029}z\u{85}w")]);
    let crlf = replace(&separators, b"\n", b"\r\n");

    let surrogates = file(&[
        header(),
        user("a", ROOT, "run both"),
        assistant("b", "a", json!([call("c1", "bash", json!({"command": "one"})), call("c2", "bash", json!({"command": "two"}))])),
        tool_result("c", "b", "c1", "bash", "ok LONE end"),
        tool_result("d", "c", "c2", "bash", "PAIR"),
    ]);
    let surrogates = replace(&replace(&surrogates, b"LONE", br"\ud83d"), b"PAIR", br"\ud83d\ude00");

    let future = r#"{"type":"future_thing","id":"z","parentId":"a","n":12345678901234567890,"f":1.0,"s":"\/"}"#;
    let unknown = file(&[header(), user("a", ROOT, "one"), future.to_owned(), a("b", "z", "two")]);

    let title = title_slot("Tides", "2026-01-01T00:00:00.000Z");
    vec![
        case("R01-torn", torn, "2 entries, then the first 40 bytes of a third, no newline: 1 warning"),
        case("R01-no-final-newline", whole, "3 entries, the last line is whole but has no newline: no warning"),
        case("R02-bad-line-in-the-middle", file(&bad_middle), "line 4 of a chain of six entries cannot be read"),
        case("R06-separators-lf", separators, "U+2028, U+2029 and U+0085 raw inside a string: 1 entry"),
        case("R06-separators-crlf", crlf, "the same with CRLF line ends"),
        case(
            "R09-title-slot",
            file(&[title, header(), user("a", ROOT, "one"), a("b", "a", "two")]),
            "256 bytes of title slot before the header",
        ),
        case("R20-surrogates", surrogates, "a lone surrogate in `c`, a valid pair in `d`"),
        case("R22-unknown-entry", unknown, "an unknown entry with a 20-digit integer, `1.0` and `\\/`"),
        case("R26-empty", Vec::new(), "no bytes"),
        case("R26-header-only", file(&[header()]), "only a header"),
        case("R26-newlines", b"\n\n\n".to_vec(), "only newlines"),
    ]
}

fn trees() -> Vec<File> {
    let twenty = chain(&letters(20));
    let (first, rest) = twenty.split_at(6);
    let doubled: Vec<String> = first.iter().chain(first.iter().skip(1)).chain(rest).cloned().collect();
    let mut differs = first.to_vec();
    differs.push(user("c", "b", "another text of c"));
    differs.extend_from_slice(rest);

    let two = [header(), user("a", "b", "one"), a("b", "a", "two")];
    let own = [header(), user("a", "a", "one"), a("b", "a", "two")];
    let above = [header(), user("a", "b", "one"), a("b", "a", "two"), user("c", "b", "three"), a("d", "c", "four")];

    let roots = [
        header(),
        user("a", ROOT, "first chain"),
        a("b", "a", "its answer"),
        user("c", ROOT, "second chain"),
        a("d", "c", "its answer"),
        entry("custom", "e", "d", json!({"customType": "note", "data": 1})),
        label("f", "e", "b"),
    ];
    vec![
        case("R11-identical", file(&doubled), "a chain of 20 entries with lines 2 to 6 written twice"),
        case("R11-differs", file(&differs), "the same chain where a second `c` has another text"),
        case("R12-two", file(&two), "`a` and `b` are each other's parent"),
        case("R12-self", file(&own), "`a` is its own parent"),
        case("R12-above-the-leaf", file(&above), "a cycle two hops above the leaf"),
        case("R14-two-roots", file(&roots), "two chains in one file, the second is active"),
    ]
}
