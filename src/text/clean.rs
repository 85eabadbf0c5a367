//! Removal of what a reader cannot see or must not execute: terminal control sequences, control
//! characters, characters that reorder or hide text, and base64 that was pasted as text.
//!
//! A tool's raw output can retitle a terminal, write its clipboard or make a line read backwards;
//! what is shown and what is generated must be inert.

use std::borrow::Cow;

use super::{ansi, data_url};

/// Shortest payload worth a note: shorter ones are about as long as the note that replaces them.
const MIN_ELIDED_PAYLOAD: usize = 64;

/// Removes control sequences (CSI, OSC, DCS, APC, PM, SOS, two-byte escapes; also in their 8-bit
/// forms), control characters other than `\n` and `\t`, bidi overrides, isolates and marks, and
/// zero-width characters. `\r\n` and a lone `\r` become `\n`.
///
/// A control string without its end is dropped up to the end of its line. The joiners U+200C and
/// U+200D stay: scripts and emoji are spelled with them. Idempotent; borrowed when nothing
/// changes.
pub fn strip(s: &str) -> Cow<'_, str> {
    let bytes = s.as_bytes();
    let Some(first) = next_removable(bytes, 0) else {
        return Cow::Borrowed(s);
    };
    let mut out = String::with_capacity(s.len());
    let mut kept = 0;
    let mut at = Some(first);
    while let Some(pos) = at {
        out.push_str(s.get(kept..pos).unwrap_or_default());
        let rest = bytes.get(pos..).unwrap_or_default();
        kept = pos
            + match rest {
                [b'\r', b'\n', ..] => {
                    out.push('\n');
                    2
                }
                [b'\r', ..] => {
                    out.push('\n');
                    1
                }
                _ => ansi::sequence_len(rest).max(removable_len(rest)).max(1),
            };
        at = next_removable(bytes, kept);
    }
    out.push_str(s.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// Removes control sequences alone; every other character stays, also those that only control. Borrowed when there is none.
pub fn strip_sequences(s: &str) -> Cow<'_, str> {
    let bytes = s.as_bytes();
    let mut out = String::new();
    let (mut kept, mut from) = (0, 0);
    while let Some(pos) = bytes.get(from..).and_then(|rest| memchr::memchr2(0x1b, 0xc2, rest)).map(|at| from + at) {
        match ansi::sequence_len(bytes.get(pos..).unwrap_or_default()) {
            0 => from = pos + 1,
            len => {
                out.push_str(s.get(kept..pos).unwrap_or_default());
                kept = pos + len;
                from = kept;
            }
        }
    }
    if kept == 0 {
        return Cow::Borrowed(s);
    }
    out.push_str(s.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// Replaces base64 data URLs by a note of media type and decoded length, `[image/png, 7500 bytes]`,
/// when their payload has at least 64 characters. Idempotent; borrowed when there is none.
pub fn elide_data_urls(s: &str) -> Cow<'_, str> {
    let bytes = s.as_bytes();
    let mut out = String::new();
    let mut kept = 0;
    let mut from = 0;
    while let Some(url) = data_url::next(bytes, from) {
        if url.end - url.payload < MIN_ELIDED_PAYLOAD {
            from = url.payload;
            continue;
        }
        out.push_str(s.get(kept..url.start).unwrap_or_default());
        let len = url.decoded_len(bytes);
        out.push_str(&format!("[{}, {len} bytes]", url.media_type(s)));
        kept = url.end;
        from = url.end;
    }
    if kept == 0 {
        return Cow::Borrowed(s);
    }
    out.push_str(s.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// Offset of the next character that cannot stay, from `from` on.
fn next_removable(bytes: &[u8], from: usize) -> Option<usize> {
    // Whole blocks are tested without branches, which compiles to vector instructions; only a
    // block with a suspect byte is looked at byte by byte.
    const BLOCK: usize = 64;
    let mut pos = from;
    for block in bytes.get(from..)?.chunks(BLOCK) {
        if block.iter().fold(false, |any, b| any | is_suspect(*b)) {
            for (i, byte) in block.iter().enumerate() {
                if is_suspect(*byte) && removable_len(bytes.get(pos + i..)?) > 0 {
                    return Some(pos + i);
                }
            }
        }
        pos += block.len();
    }
    None
}

fn is_suspect(b: u8) -> bool {
    (b < 0x20) & (b != b'\n') & (b != b'\t') | (b == 0x7f) | (b == 0xc2) | (b == 0xe2) | (b == 0xef)
}

/// Bytes of the single character at the start of `bytes` if it is one that cannot stay, else 0.
fn removable_len(bytes: &[u8]) -> usize {
    match bytes {
        [b'\n' | b'\t', ..] => 0,
        [0..=0x1f | 0x7f, ..] => 1,
        [0xc2, 0x80..=0x9f, ..] => 2,
        // U+200B, U+200E, U+200F, U+202A..=U+202E
        [0xe2, 0x80, 0x8b | 0x8e | 0x8f | 0xaa..=0xae, ..] => 3,
        // U+2060, U+2066..=U+2069
        [0xe2, 0x81, 0xa0 | 0xa6..=0xa9, ..] => 3,
        // U+FEFF
        [0xef, 0xbb, 0xbf, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn e04_control_sequences_are_inert() {
        let dirty = "\x1b[2J\x1b]52;c;AAAA\x07 real\rSPOOF\u{202e}";
        assert_eq!(strip(dirty), " real\nSPOOF");
    }

    #[test]
    fn sequences_alone_go_when_the_rest_is_wanted() {
        assert_eq!(strip_sequences("\u{e}\x1b[1mé\x1b[0m\u{f}\u{9b}31mb\u{a0}\x07\x1b"), "\u{e}é\u{f}b\u{a0}\x07");
        assert_eq!(strip_sequences("\u{e}é\u{f}\x07"), "\u{e}é\u{f}\x07");
    }

    #[test]
    fn s11_colours_titles_and_zero_width_go_whole() {
        assert_eq!(strip("\x1b[31mred\x1b[0m \x1b]0;t\x07 a\u{200b}b"), "red  ab");
    }

    #[test]
    fn every_kind_of_sequence_goes_whole() {
        for sequence in [
            "\x1b[38;5;12m",
            "\x1b[?25h",
            "\x1b[ q",
            "\x1b]8;;http://x\x1b\\",
            "\x1bPq#0\x1b\\",
            "\x1b_Gf=100;AAAA\x1b\\",
            "\x1b^x\x1b\\",
            "\x1bXx\u{9c}",
            "\x1b(B",
            "\x1bc",
            "\x1b7",
            "\u{9b}31m",
            "\u{9d}0;t\u{9c}",
            "\u{90}q\x07",
            "\u{85}",
            "\x00",
            "\x08",
            "\x7f",
            "\u{feff}",
            "\u{2060}",
            "\u{2066}",
            "\u{2069}",
            "\u{200e}",
            "\u{200f}",
            "\u{202a}",
        ] {
            assert_eq!(strip(&format!("a{sequence}b")), "ab", "{sequence:?}");
        }
    }

    #[test]
    fn torn_sequences_do_not_eat_the_next_line() {
        assert_eq!(strip("a\x1b]0;title\nnext"), "a\nnext");
        assert_eq!(strip("a\x1bPdata\r\nnext"), "a\nnext");
        assert_eq!(strip("a\x1b[31\nnext"), "a\nnext");
        assert_eq!(strip("a\x1b[31é"), "aé");
        assert_eq!(strip("a\x1b]0;t\x1b[1mb\x1b[0m"), "ab");
        assert_eq!(strip("a\x1b"), "a");
        assert_eq!(strip("a\x1b\nb"), "a\nb");
    }

    #[test]
    fn wrongly_decoded_quotes_do_not_eat_text() {
        assert_eq!(strip("\u{e2}\u{80}\u{9d} and \u{e2}\u{80}\u{9c}b"), "\u{e2} and \u{e2}b");
        assert_eq!(strip("\u{9d}0 unfinished"), "0 unfinished");
    }

    #[test]
    fn joiners_and_clean_text_stay() {
        for clean in ["", "a\tb\n", "👩\u{200d}👩\u{200d}👧", "می\u{200c}خواهم", "“q” … € ﬁ ①", "¡Ü"] {
            assert!(matches!(strip(clean), Cow::Borrowed(_)), "{clean:?}");
            assert_eq!(strip(clean), clean);
        }
    }

    #[test]
    fn line_ends_become_line_feeds() {
        assert_eq!(strip("a\r\nb\rc\r\r\nd"), "a\nb\nc\n\nd");
    }

    #[test]
    fn s15_data_urls_become_a_note() {
        let payload = "A".repeat(10_000);
        let text = format!("see data:image/png;base64,{payload} end");
        assert_eq!(elide_data_urls(&text), "see [image/png, 7500 bytes] end");
        let padded = format!("(DATA:application/x-a;name=\"b.c\";base64,{}AA==)", "_-".repeat(40));
        assert_eq!(elide_data_urls(&padded), "([application/x-a, 61 bytes])");
        let bare = format!("data:;base64,{}", "A".repeat(64));
        assert_eq!(elide_data_urls(&bare), "[text/plain, 48 bytes]");
        let twice = format!("data:a/b;base64,data:c/d;base64,{}", "A".repeat(64));
        assert_eq!(elide_data_urls(&twice), "data:a/b;base64,[c/d, 48 bytes]");
    }

    #[test]
    fn short_and_false_data_urls_stay() {
        for text in ["data:image/png;base64,AAAA", "x;base64,", "data: x;base64,", ";base64,"] {
            assert!(matches!(elide_data_urls(text), Cow::Borrowed(_)), "{text}");
        }
        let no_scheme = format!("image/png;base64,{}", "A".repeat(99));
        assert_eq!(elide_data_urls(&no_scheme), no_scheme);
    }

    proptest! {
        #[test]
        fn strip_is_idempotent_and_clean(
            s in "(\\x1b|\\[|\\]|P|\\\\|\\x07|\u{9b}|\u{9d}|\u{9c}|\u{200b}|\u{202e}|\r|\n|0|;|m|é|\\PC){0,40}"
        ) {
            let once = strip(&s).into_owned();
            prop_assert_eq!(next_removable(once.as_bytes(), 0), None);
            prop_assert_eq!(strip(&once).into_owned(), once);
        }

        #[test]
        fn elide_is_idempotent(s in "(data:|;base64,|image/png|A{70}|,|=| |é){0,12}") {
            let once = elide_data_urls(&s).into_owned();
            prop_assert_eq!(elide_data_urls(&once).into_owned(), once);
        }

        #[test]
        fn any_text_is_accepted(s in any::<String>()) {
            strip(&s);
            elide_data_urls(&s);
        }
    }
}
