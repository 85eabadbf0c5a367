//! Cuts that leave no debris: never half a character, half a control sequence (the rest of which
//! would be printed, or would swallow what follows), half a data URL (megabytes that decode to
//! nothing) or half a line end.

use std::borrow::Cow;

use super::{ansi, clean, data_url};

/// How far from a planned cut a line end or blank is still preferred to it, in characters: about
/// half a line, so that the text kept stays close to what was asked for.
const SNAP_REACH: usize = 40;

/// The largest safe cut at or below `max_bytes`, as a byte offset into `s`. Linear.
pub fn floor_boundary(s: &str, max_bytes: usize) -> usize {
    let mut cut = s.floor_char_boundary(max_bytes);
    while let Some((start, _)) = unbreakable_around(s, cut) {
        cut = start;
    }
    cut
}

/// The smallest safe cut at or above `min_bytes` (at most `s.len()`), as a byte offset. Linear.
pub fn ceil_boundary(s: &str, min_bytes: usize) -> usize {
    let mut cut = s.ceil_char_boundary(min_bytes.min(s.len()));
    while let Some((_, end)) = unbreakable_around(s, cut) {
        cut = s.ceil_char_boundary(end);
    }
    cut
}

/// The longest safe head of at most `max_bytes` bytes.
pub fn clip(s: &str, max_bytes: usize) -> &str {
    s.get(..floor_boundary(s, max_bytes)).unwrap_or_default()
}

/// The longest safe tail of at most `max_bytes` bytes.
pub fn tail(s: &str, max_bytes: usize) -> &str {
    let start = ceil_boundary(s, s.len().saturating_sub(max_bytes));
    s.get(start..).unwrap_or_default()
}

/// A safe head and how much was left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clipped<'a> {
    /// The text kept.
    pub head: &'a str,
    /// Characters (Unicode scalar values) after `head`; 0 when everything was kept.
    pub left_out: usize,
}

/// The longest safe head of at most `max_chars` characters (Unicode scalar values).
pub fn clip_chars(s: &str, max_chars: usize) -> Clipped<'_> {
    let cut = floor_boundary(s, char_offset(s, max_chars));
    let (head, rest) = s.split_at_checked(cut).unwrap_or((s, ""));
    Clipped { head, left_out: rest.chars().count() }
}

/// Cuts the middle out of a text of more than `max_chars` characters. `head_ratio` (0 to 1) of
/// the characters kept are from its start, the others from its end; between them stands what
/// `marker` makes of the number of characters left out.
///
/// Line ends, else blanks, within 40 characters of a cut are preferred to it. The result has at
/// most `max_chars` characters and the marker.
pub fn middle(s: &str, max_chars: usize, head_ratio: f32, marker: impl Fn(usize) -> String) -> Cow<'_, str> {
    if s.len() <= max_chars || s.chars().count() <= max_chars {
        return Cow::Borrowed(s);
    }
    #[allow(clippy::cast_possible_truncation, reason = "float casts saturate, and min bounds it")]
    let head_chars = ((max_chars as f64 * f64::from(head_ratio)).round() as usize).min(max_chars);
    let tail_chars = max_chars - head_chars;
    let head_end = snap_back(s, floor_boundary(s, char_offset(s, head_chars)), head_chars);
    let from_end = tail_chars.checked_sub(1).and_then(|n| s.char_indices().rev().nth(n));
    let tail_start = ceil_boundary(s, from_end.map_or(s.len(), |(i, _)| i));
    let tail_start = snap_forward(s, tail_start, tail_chars);
    let head = s.get(..head_end).unwrap_or_default();
    let tail = s.get(tail_start..).unwrap_or_default();
    let left_out = s.get(head_end..tail_start).unwrap_or_default().chars().count();
    Cow::Owned(format!("{head}{}{tail}", marker(left_out)))
}

/// Cuts the middle out of a text of more than `most` UTF-16 units, exactly where `head_ratio` says, between a marker that tells
/// how many were left out. What history on pictures is cut by, so that its lengths are those that other readers reckon with; no
/// character is split.
pub fn middle_units(s: &str, most: usize, head_ratio: f64) -> Cow<'_, str> {
    let units = |s: &str| s.chars().map(char::len_utf16).sum::<usize>();
    if s.len() <= most || units(s) <= most {
        return Cow::Borrowed(s);
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, and min bounds it")]
    let head = ((most as f64 * head_ratio.clamp(0.0, 1.0)).round() as usize).min(most);
    let offset = |chars: &mut dyn Iterator<Item = char>, most: usize| {
        let mut used = 0;
        chars
            .take_while(|c| {
                used += c.len_utf16();
                used <= most
            })
            .map(char::len_utf8)
            .sum::<usize>()
    };
    let start = floor_boundary(s, offset(&mut s.chars(), head));
    let end = ceil_boundary(s, s.len() - offset(&mut s.chars().rev(), most - head));
    let (head, rest) = s.split_at_checked(start).unwrap_or((s, ""));
    let (middle, tail) = rest.split_at_checked(end.saturating_sub(start)).unwrap_or((rest, ""));
    Cow::Owned(format!("{head} [... {} chars elided ...] {tail}", units(middle)))
}

/// One cleaned line of at most `max_chars` characters: no control sequences, data URLs as notes,
/// runs of white space as one blank. A longer text is cut at a word boundary, where there is one
/// in its second half, and ends in `…`.
pub fn one_line(s: &str, max_chars: usize) -> String {
    // A title needs the first few hundred bytes of what may be megabytes. A safe cut makes the
    // cleaned head a head of the cleaned whole.
    let enough = max_chars.saturating_mul(8).saturating_add(1024);
    let head = clip(s, enough);
    let mut line = collapse(head, max_chars);
    if head.len() < s.len() && line.chars().nth(max_chars).is_none() {
        line = collapse(s, max_chars);
    }
    let Some((end, _)) = line.char_indices().nth(max_chars) else {
        return line;
    };
    let Some(room) = max_chars.checked_sub(1) else {
        return String::new();
    };
    let cut = char_offset(&line, room);
    let kept = line.get(..cut).unwrap_or_default();
    let at_word_end = line.get(cut..end).is_some_and(|next| next.starts_with(' '));
    let word_end = kept.rfind(' ').filter(|i| !at_word_end && *i >= kept.len() / 2);
    line.truncate(word_end.unwrap_or(cut));
    line.truncate(line.trim_end().len());
    line.push('…');
    line
}

/// Cleaned text with collapsed white space, up to one character more than `max_chars`.
fn collapse(s: &str, max_chars: usize) -> String {
    let elided = clean::elide_data_urls(s);
    let cleaned = clean::strip(&elided);
    let mut out = String::new();
    let mut len = 0;
    for word in cleaned.split_whitespace() {
        let blank = (len > 0).then_some(' ');
        for c in blank.into_iter().chain(word.chars()) {
            out.push(c);
            len += 1;
            if len > max_chars {
                return out;
            }
        }
    }
    out
}

/// Byte offset of the character number `chars`, or the length.
fn char_offset(s: &str, chars: usize) -> usize {
    if s.len() <= chars {
        return s.len();
    }
    s.char_indices().nth(chars).map_or(s.len(), |(i, _)| i)
}

/// The piece that must stay whole and lies on both sides of `cut`.
fn unbreakable_around(s: &str, cut: usize) -> Option<(usize, usize)> {
    let bytes = s.as_bytes();
    let next = *bytes.get(cut)?;
    let previous = *bytes.get(cut.checked_sub(1)?)?;
    if (previous, next) == (b'\r', b'\n') {
        return Some((cut - 1, cut + 1));
    }
    let url = data_url::around(bytes, cut).map(|url| (url.start, url.end));
    url.or_else(|| ansi::sequence_around(bytes, cut))
}

fn snap_back(s: &str, cut: usize, budget: usize) -> usize {
    let (head, rest) = s.split_at_checked(cut).unwrap_or((s, ""));
    if head.is_empty() || head.ends_with('\n') || rest.starts_with(['\n', '\r']) {
        return cut;
    }
    let reach = SNAP_REACH.min(budget / 2);
    let window = || head.char_indices().rev().take(reach);
    let line = window().find(|(_, c)| *c == '\n').map(|(i, _)| i + 1);
    let blank = || {
        if rest.starts_with(char::is_whitespace) {
            return None;
        }
        window().find(|(_, c)| c.is_whitespace()).map(|(i, _)| i)
    };
    line.or_else(blank).filter(|i| *i > 0 && floor_boundary(s, *i) == *i).unwrap_or(cut)
}

fn snap_forward(s: &str, cut: usize, budget: usize) -> usize {
    let (head, rest) = s.split_at_checked(cut).unwrap_or((s, ""));
    if rest.is_empty() || head.ends_with(['\n', '\r']) {
        return cut;
    }
    let reach = SNAP_REACH.min(budget / 2);
    let window = || rest.char_indices().take(reach);
    let line = window().find(|(_, c)| *c == '\n').map(|(i, _)| cut + i + 1);
    let blank = || {
        if head.ends_with(char::is_whitespace) {
            return None;
        }
        let (i, c) = window().find(|(_, c)| c.is_whitespace())?;
        Some(cut + i + c.len_utf8())
    };
    line.or_else(blank).filter(|i| *i < s.len() && ceil_boundary(s, *i) == *i).unwrap_or(cut)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_and_line_ends_stay_whole() {
        assert_eq!(clip("aé", 2), "a");
        assert_eq!(clip("a\r\nb", 2), "a");
        assert_eq!(clip("a\r\nb", 3), "a\r\n");
        assert_eq!(clip("ab", 9), "ab");
        assert_eq!(tail("éa", 2), "a");
        assert_eq!(tail("a\r\nb", 2), "b");
        assert_eq!(tail("a\r\nb", 3), "\r\nb");
        assert_eq!(tail("ab", 0), "");
    }

    #[test]
    fn escape_sequences_stay_whole() {
        let s = "ab\x1b[31mred\x1b]0;a b\x07z";
        for cut in 3..7 {
            assert_eq!(floor_boundary(s, cut), 2, "{cut}");
            assert_eq!(ceil_boundary(s, cut), 7, "{cut}");
        }
        assert_eq!(clip(s, 7), "ab\x1b[31m");
        assert_eq!(clip(s, 15), "ab\x1b[31mred");
        assert_eq!(tail(s, 3), "z");
        assert_eq!(clip("a\u{9b}31mb", 4), "a");
        assert_eq!(clip("a\x1b]0;torn\nnext", 6), "a");
        assert_eq!(clip("a\x1b]0;torn\nnext", 11), "a\x1b]0;torn\nn");
    }

    #[test]
    fn data_urls_stay_whole() {
        let url = "data:image/png;base64,AAAABBBB==";
        let s = format!("see {url}, ok");
        for cut in 5..4 + url.len() {
            assert_eq!(clip(&s, cut), "see ", "{cut}");
            assert_eq!(tail(&s, s.len() - cut), ", ok", "{cut}");
        }
        assert_eq!(clip(&s, 4 + url.len()), format!("see {url}"));
        assert_eq!(clip("key:data, x;base64,AAAA", 21), "key:data, x;base64,AA");
        let link = format!("\x1b]8;;{url}\x07text");
        assert_eq!(clip(&link, 20), "");
        assert_eq!(tail(&link, link.len() - 20), "text");
    }

    #[test]
    fn long_payloads_are_seen_from_far_inside() {
        let s = format!("x data:a/b;base64,{} y", "A".repeat(1 << 20));
        assert_eq!(clip(&s, 900_000), "x ");
        assert_eq!(tail(&s, 900_000), " y");
    }

    #[test]
    fn clip_chars_counts_scalar_values() {
        assert_eq!(clip_chars("äöü", 2), Clipped { head: "äö", left_out: 1 });
        assert_eq!(clip_chars("äöü", 3), Clipped { head: "äöü", left_out: 0 });
        assert_eq!(clip_chars("", 0), Clipped { head: "", left_out: 0 });
        let long = "x".repeat(2_500);
        assert_eq!(clip_chars(&long, 2_000).left_out, 500);
    }

    #[test]
    fn middle_prefers_line_ends_then_blanks() {
        let note = |n: usize| format!("[{n}]");
        assert_eq!(middle("short", 5, 0.5, note), "short");
        let lines = (0..40).map(|i| format!("line number {i}\n")).collect::<String>();
        let cut = middle(&lines, 200, 0.5, |n| format!("[{n} more]\n"));
        assert!(cut.lines().all(|l| l.starts_with("line number ") || l.starts_with('[')), "{cut}");
        let words = "word ".repeat(100);
        let cut = middle(&words, 103, 0.5, note);
        assert!(cut.starts_with("word word") && cut.contains("word[") && cut.contains("]word"), "{cut}");
        let solid = "x".repeat(100);
        assert_eq!(middle(&solid, 10, 0.7, note), format!("{}[90]xxx", "x".repeat(7)));
        assert_eq!(middle(&solid, 0, f32::NAN, note), "[100]");
        assert_eq!(middle(&solid, 4, 7.0, note), "xxxx[96]");
        assert_eq!(middle(&solid, 4, -1.0, note), "[96]xxxx");
    }

    #[test]
    fn units_are_cut_where_the_ratio_says() {
        assert_eq!(middle_units("abcdefghij", 10, 0.6), "abcdefghij");
        assert_eq!(middle_units("abcdefghijk", 5, 0.6), "abc [... 6 chars elided ...] jk");
        assert_eq!(middle_units("abcdefghijk", 5, 7.0), "abcde [... 6 chars elided ...] ");
        assert_eq!(middle_units("😀😀😀😀", 5, 0.6), "😀 [... 4 chars elided ...] 😀");
        assert_eq!(middle_units("ab", 0, 0.6), " [... 2 chars elided ...] ");
        let s = format!("see data:image/png;base64,{} there", "A".repeat(100));
        assert_eq!(middle_units(&s, 60, 0.6), "see  [... 122 chars elided ...]  there");
    }

    #[test]
    fn one_line_is_clean_short_and_ends_at_a_word() {
        assert_eq!(one_line("  a\n\n b\t\x1b[1mc\x1b[0m ", 80), "a b c");
        assert_eq!(one_line("fix the failing parser test", 16), "fix the failing…");
        assert_eq!(one_line("fix the failing parser test", 17), "fix the failing…");
        assert_eq!(one_line("abcdefghij", 5), "abcd…");
        assert_eq!(one_line("ab", 2), "ab");
        assert_eq!(one_line("abc", 1), "…");
        assert_eq!(one_line("abc", 0), "");
        assert_eq!(one_line(&" ".repeat(5_000), 10), "");
        assert_eq!(one_line(&format!("{}end", " \n".repeat(5_000)), 10), "end");
    }

    proptest! {
        #[test]
        fn cuts_are_safe_and_bounded(
            s in "(\\x1b\\[3|1m|\\x1b\\]0;|\\x07|\u{9b}|\r|\n|data:|a/b;base64,|AAAA|é|👩| ){0,30}",
            max in 0usize..200,
        ) {
            let head = clip(&s, max);
            let end = tail(&s, max);
            prop_assert!(head.len() <= max && s.starts_with(head));
            prop_assert!(end.len() <= max && s.ends_with(end));
            prop_assert_eq!(unbreakable_around(&s, head.len()), None);
            prop_assert_eq!(unbreakable_around(&s, s.len() - end.len()), None);
            let cleaned = clean::strip(&s).into_owned();
            prop_assert!(cleaned.starts_with(clean::strip(head).trim_end_matches('\n')));
        }

        #[test]
        fn counts_add_up(s in any::<String>(), max in 0usize..60, ratio in 0f32..1.0) {
            let clipped = clip_chars(&s, max);
            let total = s.chars().count();
            prop_assert_eq!(clipped.head.chars().count() + clipped.left_out, total);
            prop_assert!(clipped.head.chars().count() <= max);
            let cut = middle(&s, max, ratio, |n| format!("<{n}>"));
            prop_assert!(cut.chars().count() <= max + 2 + total.to_string().len());
            let line = one_line(&s, max);
            prop_assert!(line.chars().count() <= max && !line.contains('\n'));
        }
    }
}
