//! Session text made fit for a summary, before anything of it is measured or cut.

use std::borrow::Cow;

use crate::engine::serialize::WRAPPERS;
use crate::text;

/// Text of the session as a summary may hold it: data URLs noted, control sequences gone, secrets masked, and tags of
/// ours unable to act. Masking comes before anything is measured or cut, so that no half of a secret survives.
pub(super) fn clean(content: &str) -> Cow<'_, str> {
    fn then<'a>(text: Cow<'a, str>, step: impl for<'x> Fn(&'x str) -> Cow<'x, str>) -> Cow<'a, str> {
        match text {
            Cow::Borrowed(text) => step(text),
            Cow::Owned(text) => Cow::Owned(step(&text).into_owned()),
        }
    }
    let noted = then(text::elide_data_urls(content), elide_encoded);
    let stripped = then(noted, text::strip);
    let masked = then(stripped, text::masked);
    then(masked, |text| text::neutralize_tags(text, WRAPPERS))
}

/// Chars of a run without any separator from which on it is encoded data, whatever it is: twice a SHA-512 in hex is 256, and
/// no name is as long.
const ENCODED: usize = 257;

/// Replaces long runs of base64 that stand in the text without a data URL by a note of their length.
fn elide_encoded(content: &str) -> Cow<'_, str> {
    let encoded = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    let bytes = content.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at + ENCODED <= bytes.len() {
        // A run of this length covers every place that is a multiple of it; where that place is no part of one, skip.
        let probe = at + ENCODED - 1;
        if !bytes.get(probe).is_some_and(encoded) {
            at = probe + 1;
            continue;
        }
        let back = bytes.get(at..=probe).map_or(0, |window| window.iter().rev().take_while(|b| encoded(b)).count());
        let start = probe + 1 - back;
        let len = back + bytes.get(probe + 1..).map_or(0, |rest| rest.iter().take_while(|b| encoded(b)).count());
        if len >= ENCODED {
            out.push_str(content.get(copied..start).unwrap_or_default());
            out.push_str(&format!("[{len} encoded characters]"));
            copied = start + len;
        }
        at = start + len;
    }
    if copied == 0 {
        return Cow::Borrowed(content);
    }
    out.push_str(content.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}
