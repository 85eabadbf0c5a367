//! Lenient reading of raw JSON strings and values.
//!
//! The agents are written in JavaScript, whose strings may hold half a surrogate pair; strict
//! decoders reject the whole line for one. Session lines are kept as raw bytes, and what is
//! needed of them is decoded here: nothing fails, damage becomes U+FFFD.

use std::borrow::Cow;
use std::ops::Range;

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// How many escapes of half a surrogate pair a raw JSON string or line holds. A pair counts as
/// none, and so does `\\ud83d`, which is an escaped backslash and text.
pub fn lone_surrogates(raw: &[u8]) -> usize {
    LoneSurrogates { raw, from: 0 }.count()
}

/// Where the escapes of half a surrogate pair begin; each has [`LONE_LEN`] bytes.
pub fn lone_surrogate_offsets(raw: &[u8]) -> impl Iterator<Item = usize> {
    LoneSurrogates { raw, from: 0 }
}

/// Replaces every escape of half a surrogate pair by `\ufffd`, which has the same length.
pub fn mend_surrogates(raw: &str) -> Cow<'_, str> {
    let mut mended: Option<String> = None;
    for at in (LoneSurrogates { raw: raw.as_bytes(), from: 0 }) {
        mended.get_or_insert_with(|| raw.to_owned()).replace_range(at..at + LONE_LEN, r"\ufffd");
    }
    mended.map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// Bytes of an escape such as `\ud83d`.
pub const LONE_LEN: usize = 6;

/// Where the escapes of half a surrogate pair begin.
struct LoneSurrogates<'a> {
    raw: &'a [u8],
    from: usize,
}

impl Iterator for LoneSurrogates<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let raw = self.raw;
        while let Some(offset) = raw.get(self.from..).and_then(|rest| memchr::memmem::find(rest, br"\u")) {
            let at = self.from + offset;
            self.from = at + 2;
            // Searched text never reaches back before an escape already judged, so each run of
            // backslashes is counted once.
            let before = raw.get(..at).unwrap_or_default();
            let backslashes = before.iter().rev().take_while(|b| **b == b'\\').count();
            if backslashes % 2 == 1 {
                continue;
            }
            if let Some(unit) = hex4(raw.get(self.from..).unwrap_or_default()) {
                self.from += 4;
                match unit {
                    0xd800..=0xdbff if low_surrogate(raw.get(self.from..).unwrap_or_default()).is_some() => self.from += LONE_LEN,
                    0xd800..=0xdfff => return Some(at),
                    _ => {}
                }
            }
        }
        None
    }
}

/// Appends a raw JSON value as JavaScript's `JSON.stringify` writes the parsed value, which is
/// the form in which models see it and tokens are counted: no blanks, printable characters
/// unescaped, numbers in their shortest form. Keys keep their order, also when repeated.
///
/// Needs no stack for nesting. What does not read as JSON is copied as it is, up to the end.
pub fn compact(raw: &[u8], out: &mut String) {
    let mut pos = 0;
    // Two scalars without a comma are malformed; without the blank they would become one.
    let mut after_scalar = false;
    loop {
        let rest = raw.get(pos..).unwrap_or_default();
        let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count();
        let token = rest.get(blanks..).unwrap_or_default();
        let Some(&first) = token.first() else { return };
        let structural = matches!(first, b'{' | b'}' | b'[' | b']' | b':' | b',');
        let len = match first {
            _ if structural => {
                out.push(char::from(first));
                Some(1)
            }
            _ if after_scalar => None,
            b'"' => compact_string(token, out),
            b'-' | b'0'..=b'9' => compact_number(token, out),
            _ => ["true", "false", "null"].iter().find(|word| token.starts_with(word.as_bytes())).map(|word| {
                out.push_str(word);
                word.len()
            }),
        };
        let Some(len) = len else {
            out.push_str(&String::from_utf8_lossy(rest));
            return;
        };
        after_scalar = !structural;
        pos += blanks + len;
    }
}

/// Writes the string at the start of `token`; its length with both quotes, or `None` if it does
/// not end.
fn compact_string(token: &[u8], out: &mut String) -> Option<usize> {
    let body = token.get(1..)?;
    let len = string_body_len(body)?;
    out.push('"');
    for piece in Pieces::new(body.get(..len)?) {
        match piece {
            Piece::Raw(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                if text.bytes().fold(false, |any, b| any | (b < 0x20)) {
                    text.chars().for_each(|c| push_escaped(c, out));
                } else {
                    out.push_str(&text);
                }
            }
            Piece::Char(c) => push_escaped(c, out),
            Piece::Lone(unit) => push_unit(unit, out),
        }
    }
    out.push('"');
    Some(len + 2)
}

/// Bytes before the quote that ends a string; `body` begins behind the one that opens it.
fn string_body_len(body: &[u8]) -> Option<usize> {
    let mut pos = 0;
    loop {
        pos += memchr::memchr2(b'"', b'\\', body.get(pos..)?)?;
        if body.get(pos) == Some(&b'"') {
            return Some(pos);
        }
        pos += 2;
    }
}

/// Writes the number at the start of `token`; its length, or `None` if it is not JSON's.
fn compact_number(token: &[u8], out: &mut String) -> Option<usize> {
    let is_number = |b: &&u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let len = token.iter().take_while(is_number).count();
    let text = std::str::from_utf8(token.get(..len)?).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let integer = digits.bytes().take_while(u8::is_ascii_digit).count();
    let leading_zero = integer > 1 && digits.starts_with('0');
    if integer == 0 || leading_zero {
        return None;
    }
    // Up to 15 digits every integer is exact in a double and printed as it stands.
    if integer == digits.len() && integer <= 15 {
        out.push_str(if digits == "0" { "0" } else { text });
        return Some(len);
    }
    let rest = digits.get(integer..)?;
    let (fraction, exponent) = rest.split_once(['e', 'E']).map_or((rest, None), |(f, e)| (f, Some(e)));
    let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let fraction_ok = fraction.is_empty() || fraction.strip_prefix('.').is_some_and(all_digits);
    let exponent_ok = exponent.is_none_or(|e| all_digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    if !fraction_ok || !exponent_ok {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    if value.is_finite() {
        out.push_str(ryu_js::Buffer::new().format_finite(value));
    } else {
        // JSON.parse reads it as Infinity, for which JSON.stringify has no number.
        out.push_str("null");
    }
    Some(len)
}

fn push_escaped(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\u{1f}' => push_unit(u32::from(c), out),
        _ => out.push(c),
    }
}

fn push_unit(unit: u32, out: &mut String) {
    out.push_str(&format!("\\u{unit:04x}"));
}

/// A stretch of a JSON string: bytes without a backslash, or one decoded escape.
enum Piece<'a> {
    Raw(&'a [u8]),
    Char(char),
    /// Half a surrogate pair, as its UTF-16 unit.
    Lone(u32),
}

struct Pieces<'a> {
    rest: &'a [u8],
    /// `rest` starts with the character of an unknown escape.
    literal: bool,
}

impl<'a> Pieces<'a> {
    fn new(raw: &'a [u8]) -> Self {
        Self { rest: raw, literal: false }
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, &[]));
        self.rest = rest;
        head
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            if self.rest.first() != Some(&b'\\') || self.literal {
                self.literal = false;
                let len = memchr::memchr(b'\\', self.rest).unwrap_or(self.rest.len());
                let raw = self.take(len);
                return (!raw.is_empty()).then_some(Piece::Raw(raw));
            }
            if let Some(c) = self.rest.get(1).map_or(Some('\\'), |c| simple_escape(*c)) {
                self.take(2);
                return Some(Piece::Char(c));
            }
            if let Some(unit) = self.rest.strip_prefix(b"\\u").and_then(hex4) {
                self.take(6);
                if let Some(c) = char::from_u32(unit) {
                    return Some(Piece::Char(c));
                }
                if let (0xd800..=0xdbff, Some(low)) = (unit, low_surrogate(self.rest)) {
                    self.take(6);
                    let c = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    return Some(Piece::Char(char::from_u32(c).unwrap_or(REPLACEMENT)));
                }
                return Some(Piece::Lone(unit));
            }
            self.take(1);
            self.literal = true;
        }
    }
}

/// The escapes of a JSON string, what stands between its quotes, each with its place and its character. Half a surrogate pair
/// is U+FFFD; a backslash that begins no escape is passed over.
pub(super) fn escapes(raw: &str) -> impl Iterator<Item = (Range<usize>, char)> {
    let bytes = raw.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + memchr::memchr(b'\\', bytes.get(from..)?)?;
            if let Some(c) = simple_escape(*bytes.get(at + 1)?) {
                from = at + 2;
                return Some((at..from, c));
            }
            let mut pieces = Pieces::new(bytes.get(at..)?);
            from = at + 1;
            let c = match pieces.next()? {
                Piece::Char(c) => c,
                Piece::Lone(_) => REPLACEMENT,
                Piece::Raw(_) => continue,
            };
            from = bytes.len() - pieces.rest.len();
            return Some((at..from, c));
        }
    })
}

/// Whether a backslash and one character are an escape.
pub(super) fn is_simple_escape(escaped: u8) -> bool {
    simple_escape(escaped).is_some()
}

/// What a backslash and one character stand for.
fn simple_escape(escaped: u8) -> Option<char> {
    Some(match escaped {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' | b'\\' | b'/' => char::from(escaped),
        _ => return None,
    })
}

fn low_surrogate(bytes: &[u8]) -> Option<u32> {
    let unit = hex4(bytes.strip_prefix(b"\\u")?)?;
    (0xdc00..=0xdfff).contains(&unit).then_some(unit)
}

/// The four hexadecimal digits at the start of `bytes`.
pub(super) fn hex4(bytes: &[u8]) -> Option<u32> {
    bytes.get(..4)?.iter().try_fold(0, |n, b| Some(n * 16 + char::from(*b).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use proptest::prelude::*;

    fn compacted(raw: impl AsRef<[u8]>) -> String {
        let mut out = String::new();
        compact(raw.as_ref(), &mut out);
        out
    }

    #[test]
    fn r20_lone_surrogates_are_replaced_and_counted() {
        for (raw, mended) in [
            (r"ok \ud83d end", r"ok \ufffd end"),
            (r"\ud83d\ude00", r"\ud83d\ude00"),
            (r"\ude00\ud83d", r"\ufffd\ufffd"),
            (r"\ud83d\ud83d\ude00\ud83d", r"\ufffd\ud83d\ude00\ufffd"),
        ] {
            assert_eq!(mend_surrogates(raw), mended);
        }
        for (raw, count) in [
            (r#"{"text":"ok \ud83d end"}"#, 1),
            (r"\ud83d\ude00", 0),
            (r"\uD83D", 1),
            (r"\udfff\ud800", 2),
            (r"\\ud83d", 0),
            (r"\\\ud83d", 1),
            (r"\ud83d\\ude00", 1),
            (r"\ud83d\ude", 1),
            (r"\ud83", 0),
            (r"\u0041\ud83d\ud83d\ude00", 1),
            (r"\u", 0),
            (r"\\\\u\ud83d", 1),
        ] {
            assert_eq!(lone_surrogates(raw.as_bytes()), count, "{raw}");
        }
    }

    #[test]
    fn values_are_written_as_javascript_does() {
        for (raw, expected) in [
            (r#" { "b" : [ 1 , true , null ] , "a" : "x" , "b" : { } } "#, r#"{"b":[1,true,null],"a":"x","b":{}}"#),
            (r#""\/\u00e9\u2028\u007f""#, "\"/é\u{2028}\u{7f}\""),
            (r#""\u0008\u000C\n\r\t\u001F\u0000\"\\""#, r#""\b\f\n\r\t\u001f\u0000\"\\""#),
            (r#""\uD83D \uDE00 \uD83D\uDE00""#, r#""\ud83d \ude00 😀""#),
            ("1.0", "1"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1e21", "1e+21"),
            ("1E-7", "1e-7"),
            ("0.1e1", "1"),
            ("12345678901234567890", "12345678901234567000"),
            ("-123456789012345", "-123456789012345"),
            ("123456789012345678", "123456789012345680"),
            ("1e400", "null"),
            ("5e-324", "5e-324"),
            ("100000000000000000000", "100000000000000000000"),
            ("0.000001", "0.000001"),
            ("-1.50", "-1.5"),
        ] {
            assert_eq!(compacted(raw), expected, "{raw}");
        }
    }

    #[test]
    fn malformed_values_are_copied() {
        for raw in ["1 2", "\"torn \\u00", "[1, ?x ]", "01", "1.", "-", "+1", "1e", "nul", "\u{feff}{}", "\"\\"] {
            let out = compacted(raw);
            assert_eq!(out.replace(' ', ""), raw.replace(' ', ""), "{raw}");
        }
        assert_eq!(compacted("1 2"), "1 2");
        assert_eq!(compacted(b"[\"\xff\", \xff ]"), "[\"\u{fffd}\", \u{fffd} ]");
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(compacted(&deep), deep);
    }

    fn arb_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            (-999_999_999_999_999i64..=999_999_999_999_999).prop_map(Into::into),
            any::<String>().prop_map(Into::into),
            "[\\x00-\\x7f\u{80}\u{2028}😀]{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
                proptest::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn compact_agrees_with_serde(value in arb_json()) {
            let expected = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(compacted(serde_json::to_string_pretty(&value).unwrap()), expected.clone());
            prop_assert_eq!(compacted(&expected), expected);
        }

        #[test]
        fn what_is_whole_is_not_mended(s in any::<String>(), ascii in any::<bool>()) {
            let mut json = serde_json::to_string(&s).unwrap();
            if ascii {
                let units = s.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
                json = format!("\"{}\"", units.collect::<String>());
            }
            prop_assert_eq!(lone_surrogates(json.as_bytes()), 0);
            prop_assert_eq!(mend_surrogates(&json), json.as_str());
        }

        #[test]
        fn any_bytes_are_accepted(
            raw in proptest::collection::vec(prop_oneof![
                any::<u8>().prop_map(|b| vec![b]),
                Just(b"\\".to_vec()), Just(b"\\u".to_vec()), Just(b"d83d".to_vec()), Just(b"\\ude00".to_vec()),
                Just(b"\"".to_vec()), Just(b"[1 , ".to_vec()), Just(b"-1.5e".to_vec()),
            ], 0..40)
        ) {
            let raw = raw.concat();
            let lone = Pieces::new(&raw).filter(|p| matches!(p, Piece::Lone(_))).count();
            prop_assert_eq!(lone_surrogates(&raw), lone);
            compacted(&raw);
        }

        #[test]
        fn compact_is_idempotent(raw in "(\\[|\\]|,|\"a\\\\u00e9\"|1\\.50|true| |\\{|\\}|:|-0|x){0,20}") {
            let once = compacted(&raw);
            prop_assert_eq!(compacted(&once), once);
        }
    }
}
