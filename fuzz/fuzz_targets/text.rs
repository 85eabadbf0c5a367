//! Any text: every function of text surgery is total, and those that clean are done after one time.
#![no_main]

use epitome::text::{self, Redactor};
use libfuzzer_sys::fuzz_target;

const TAGS: &[&str] = &["conversation", "previous-summary", "files"];

fuzz_target!(|bytes: &[u8]| {
    let Some((&size, raw)) = bytes.split_first() else { return };
    let lossy = String::from_utf8_lossy(raw);
    let s = lossy.as_ref();
    let size = usize::from(size);

    let once = text::strip(s);
    assert_eq!(text::strip(&once), once, "strip");
    let once = text::elide_data_urls(s);
    assert_eq!(text::elide_data_urls(&once), once, "elide_data_urls");
    let once = text::neutralize_tags(s, TAGS);
    assert_eq!(text::neutralize_tags(&once, TAGS), once, "neutralize_tags");
    let once = text::quote_headings(s);
    assert_eq!(text::quote_headings(&once), once, "quote_headings");
    let once = Redactor::secrets().redact(s).text;
    assert_eq!(Redactor::secrets().redact(&once).text, once, "redact");

    let head = text::clip(s, size);
    assert!(s.starts_with(head) && head.len() <= size);
    let tail = text::tail(s, size);
    assert!(s.ends_with(tail) && tail.len() <= size);
    let clipped = text::clip_chars(s, size);
    assert!(clipped.head.chars().count() <= size);
    assert_eq!(clipped.head.chars().count() + clipped.left_out, s.chars().count());
    let middle = text::middle(s, size, 0.6, |n| format!("[{n}]"));
    assert!(middle.chars().count() <= size + 22);
    let line = text::one_line(s, size);
    assert!(line.chars().count() <= size && !line.contains('\n'));

    text::lone_surrogates(raw);
    let mended = text::json::mend_surrogates(s);
    assert_eq!(text::lone_surrogates(mended.as_bytes()), 0, "mend_surrogates");
    let mut compact = String::new();
    text::compact(raw, &mut compact);
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(raw) {
        let again: serde_json::Value = serde_json::from_str(&compact).expect("compacted JSON is JSON");
        let mut twice = String::new();
        text::compact(compact.as_bytes(), &mut twice);
        assert_eq!(twice, compact, "compact");
        // Numbers may have lost what JavaScript loses.
        assert_eq!(shape(&again), shape(&value), "compact");
    }
});

/// A value with its numbers left out.
fn shape(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(_) | Value::Null => Value::Null,
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(members) => Value::Object(members.iter().map(|(key, value)| (key.clone(), shape(value))).collect()),
        other => other.clone(),
    }
}
