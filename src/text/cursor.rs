//! Walking through JSON text strictly, without decoding it.
//!
//! Opening a session means walking through all of it, and whoever then wants to know where one value of a line stands, or how
//! long one text is, walks through that line again. Hence a walk that finds the ends of values as fast as bytes can be
//! compared. It takes what RFC 8259 calls JSON and nothing else, as `serde_json` does, which is the oracle of its tests;
//! nesting needs no stack. Text that is not sound gives `None`, never a panic.

use std::borrow::Cow;

use super::json::{escapes, hex4, is_simple_escape};

/// Bytes up to which a string is looked at one by one, which is faster than to begin comparing many at once.
const SHORT: usize = 24;

/// Bytes of a long string that are compared at once.
const PIECE: usize = 256;

/// A place in JSON text.
#[derive(Debug, Clone)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
    /// An object or array was entered and nothing of it was read.
    fresh: bool,
    escaped_units: bool,
}

impl<'t> Cursor<'t> {
    /// The beginning of a text.
    #[must_use]
    pub fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0, fresh: false, escaped_units: false }
    }

    /// Bytes before the place.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether a string on the way held an escaped UTF-16 unit (`\u`): half a surrogate pair may be among them.
    #[must_use]
    pub fn saw_escaped_units(&self) -> bool {
        self.escaped_units
    }

    /// The next byte that is no blank; `None` at the end.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Goes on by one byte if it is the next that is no blank.
    fn takes(&mut self, wanted: u8) -> Option<bool> {
        let is_next = self.peek()? == wanted;
        self.at += usize::from(is_next);
        Some(is_next)
    }

    fn enter(&mut self, open: u8) -> Option<bool> {
        let enters = self.takes(open)?;
        self.fresh |= enters;
        Some(enters)
    }

    /// Enters an object; false, and nothing happens, when the next value is none.
    pub fn object(&mut self) -> Option<bool> {
        self.enter(b'{')
    }

    /// Enters an array; false, and nothing happens, when the next value is none.
    pub fn array(&mut self) -> Option<bool> {
        self.enter(b'[')
    }

    /// Whether something follows in what was entered, which ends with `close`.
    fn more(&mut self, close: u8) -> Option<bool> {
        let fresh = std::mem::take(&mut self.fresh);
        if self.takes(close)? {
            return Some(false);
        }
        (fresh || self.takes(b',')?).then_some(true)
    }

    /// The next key of the object that was entered, as it is written between its quotes; its value comes next. `Some(None)` when
    /// the object ends here.
    pub fn key(&mut self) -> Option<Option<&'t str>> {
        if !self.more(b'}')? {
            return Some(None);
        }
        self.a_key().map(Some)
    }

    /// The same; `None` also for a key with an escape, which only a reader that decodes knows.
    pub fn plain_key(&mut self) -> Option<Option<&'t str>> {
        let key = self.key()?;
        if key.is_some_and(|key| key.contains('\\')) { None } else { Some(key) }
    }

    fn a_key(&mut self) -> Option<&'t str> {
        if self.peek()? != b'"' {
            return None;
        }
        let key = self.string()?;
        self.takes(b':')?.then_some(key)
    }

    /// Whether there is another item in the array that was entered; it comes next.
    pub fn item(&mut self) -> Option<bool> {
        self.more(b']')
    }

    /// Passes over the next value, whatever it is; gives it as it is written.
    pub fn value(&mut self) -> Option<&'t str> {
        self.fresh = false;
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'{' | b'[' => self.nested()?,
            _ => self.scalar(first)?,
        }
        self.text.get(start..self.at)
    }

    /// Passes over the next value; gives what stands between its quotes when it is a string.
    pub fn text(&mut self) -> Option<Option<&'t str>> {
        self.fresh = false;
        if self.peek()? == b'"' { self.string().map(Some) } else { self.value().map(|_| None) }
    }

    fn scalar(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.string().map(drop),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let is_next = self.text.as_bytes().get(self.at..)?.starts_with(word.as_bytes());
        self.at += word.len();
        is_next.then_some(())
    }

    fn number(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        let is = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|b| wanted.contains(b));
        // The end of one digit or more.
        let digits = |from: usize| {
            let len = bytes.get(from..)?.iter().take_while(|b| b.is_ascii_digit()).count();
            (len > 0).then_some(from + len)
        };
        let mut at = self.at + usize::from(is(self.at, b"-"));
        at = if is(at, b"0") { at + 1 } else { digits(at)? };
        if is(at, b".") {
            at = digits(at + 1)?;
        }
        if is(at, b"eE") {
            at = digits(at + 1 + usize::from(is(at + 1, b"+-")))?;
        }
        self.at = at;
        Some(())
    }

    /// Goes from the opening quote of a string behind its closing one; gives what stands between them.
    fn string(&mut self) -> Option<&'t str> {
        let start = self.at + 1;
        let rest = self.text.as_bytes().get(start..)?;
        // Keys and ids are short and plain, and most strings are keys.
        let is_plain = |b: &&u8| !matches!(**b, b'"' | b'\\' | ..b' ');
        let plain = rest.iter().take(SHORT).take_while(is_plain).count();
        let len = if rest.get(plain) == Some(&b'"') { plain } else { self.long_string(rest)? };
        self.at = start + len + 1;
        self.text.get(start..start + len)
    }

    /// Bytes before the quote that ends a string, which begins behind the one that opens it.
    fn long_string(&mut self, rest: &[u8]) -> Option<usize> {
        let mut len = 0;
        loop {
            len += memchr::memchr(b'"', rest.get(len..)?)?;
            let backslashes = rest.get(..len)?.iter().rev().take_while(|b| **b == b'\\').count();
            if backslashes % 2 == 0 {
                break;
            }
            len += 1;
        }
        self.sound(rest.get(..len)?)?;
        Some(len)
    }

    /// Whether what stands between the quotes of a string is sound.
    fn sound(&mut self, body: &[u8]) -> Option<()> {
        if body.last().is_some_and(|last| *last < b' ') {
            return None;
        }
        let mut at = 0;
        while let Some(rest) = body.get(at..).filter(|rest| !rest.is_empty()) {
            let piece = rest.get(..PIECE).unwrap_or(rest);
            // Texts are full of line ends and tabs. Without an early end, many bytes are compared at once: is there anything
            // but the commonest escapes? Behind an escaped backslash that may be said of a letter that is none.
            let odd = |first: u8, second: u8| {
                (first < b' ') | (first == b'\\') & (second != b'n') & (second != b't') & (second != b'"') & (second != b'\\')
            };
            let next = rest.get(1..).unwrap_or_default();
            if !piece.iter().zip(next).fold(false, |any, (first, second)| any | odd(*first, *second)) {
                let backslashes = piece.iter().rev().take_while(|b| **b == b'\\').count();
                at += piece.len() + backslashes % 2;
                continue;
            }
            let end = at + piece.len();
            while at < end {
                match body.get(at)? {
                    b'\\' if body.get(at + 1) == Some(&b'u') => {
                        self.escaped_units = true;
                        hex4(body.get(at + 2..)?)?;
                        at += 6;
                    }
                    b'\\' if body.get(at + 1).is_some_and(|c| is_simple_escape(*c)) => at += 2,
                    b'\\' | ..b' ' => return None,
                    _ => at += 1,
                }
            }
        }
        Some(())
    }

    /// Goes from the opening bracket of an object or array behind its closing one.
    fn nested(&mut self) -> Option<()> {
        let mut around = Brackets::default();
        loop {
            // Here begins a value.
            let first = self.peek()?;
            if let b'{' | b'[' = first {
                let is_object = first == b'{';
                self.at += 1;
                if !self.takes(if is_object { b'}' } else { b']' })? {
                    around.push(is_object);
                    if is_object {
                        self.a_key()?;
                    }
                    continue;
                }
            } else {
                self.scalar(first)?;
            }
            // Here one has ended.
            loop {
                let Some(is_object) = around.last() else { return Some(()) };
                if self.takes(b',')? {
                    if is_object {
                        self.a_key()?;
                    }
                    break;
                }
                if !self.takes(if is_object { b'}' } else { b']' })? {
                    return None;
                }
                around.pop();
            }
        }
    }
}

/// Which brackets are open, a bit each: set for an object's.
#[derive(Default)]
struct Brackets {
    outer: Vec<u64>,
    inner: u64,
    depth: usize,
}

impl Brackets {
    fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.inner);
        }
        self.inner = (self.inner << 1) | u64::from(is_object);
        self.depth += 1;
    }

    fn last(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.inner & 1 == 1)
    }

    fn pop(&mut self) {
        self.inner >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
    }
}

/// What stands between the quotes of a string as it is written; `None` for any other value.
#[must_use]
pub fn unquoted(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

/// The text of a string; `raw` is what stands between its quotes.
#[must_use]
pub fn decoded(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    decode(raw, &mut out);
    Cow::Owned(out)
}

/// Bytes of UTF-8 that a string has when it is decoded; `raw` is what stands between its quotes.
#[must_use]
pub fn decoded_len(raw: &str) -> usize {
    escapes(raw).fold(raw.len(), |len, (place, c)| len - place.len() + c.len_utf8())
}

/// Decodes a string into `out`, which is emptied first; `raw` is what stands between its quotes.
pub fn decode(raw: &str, out: &mut String) {
    out.clear();
    let mut at = 0;
    for (place, c) in escapes(raw) {
        out.push_str(raw.get(at..place.start).unwrap_or_default());
        out.push(c);
        at = place.end;
    }
    out.push_str(raw.get(at..).unwrap_or_default());
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<f64>().prop_filter("a number", |f| f.is_finite()).prop_map(Into::into),
            any::<String>().prop_map(Into::into),
            "[{}\\[\\]\",:\\\\ \n😀é]{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
                proptest::collection::vec(("[a-z{}\\[\\]:,]{0,3}", inner), 0..6)
                    .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    /// All values at the first level of an object or array, each by itself.
    fn split(text: &str) -> Option<Vec<(Option<String>, String)>> {
        let mut cursor = Cursor::new(text);
        let mut all = Vec::new();
        if cursor.object()? {
            while let Some(key) = cursor.key()? {
                all.push((Some(key.to_owned()), cursor.value()?.to_owned()));
            }
        } else if cursor.array()? {
            while cursor.item()? {
                all.push((None, cursor.value()?.to_owned()));
            }
        } else {
            all.push((None, cursor.value()?.to_owned()));
        }
        cursor.peek().is_none().then_some(all)
    }

    proptest! {
        #[test]
        fn values_stand_where_a_parser_finds_them(value in json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let found = split(&text).unwrap();
            let parsed: Vec<(Option<String>, serde_json::Value)> =
                found.into_iter().map(|(key, raw)| (key, serde_json::from_str(&raw).unwrap())).collect();
            let want = match value {
                serde_json::Value::Object(members) => members.into_iter().map(|(key, value)| (Some(key), value)).collect(),
                serde_json::Value::Array(items) => items.into_iter().map(|item| (None, item)).collect(),
                other => vec![(None, other)],
            };
            prop_assert_eq!(parsed, want);
        }

        #[test]
        fn strings_are_decoded_as_a_parser_does(text in any::<String>(), ascii in any::<bool>()) {
            let mut json = serde_json::to_string(&text).unwrap();
            if ascii {
                let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
                json = format!("\"{}\"", units.collect::<String>());
            }
            let raw = unquoted(&json).unwrap();
            let mut out = "before".to_owned();
            decode(raw, &mut out);
            prop_assert_eq!(&out, &text);
            prop_assert_eq!(decoded_len(raw), text.len());
        }

        #[test]
        fn what_a_parser_takes_is_taken_and_nothing_else(
            value in json(),
            pretty in any::<bool>(),
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), 0..3_u8, "[{}\\[\\]\",:\\\\ \t\n\u{1}tfnulse0179.eE+-é]{1,3}"), 0..3),
        ) {
            let mut text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            for (at, kind, new) in changes {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
                let n = at.index(places.len());
                let (start, next) = (places[n], places.get(n + 1).copied().unwrap_or(text.len()));
                match kind {
                    0 => text.insert_str(start, &new),
                    1 => text.replace_range(start..next, ""),
                    _ => text.replace_range(start..next, &new),
                }
            }
            prop_assert_eq!(sound(&text), serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
        }

        #[test]
        fn long_strings_are_sound_where_a_parser_says_so(
            pieces in proptest::collection::vec(
                prop_oneof![
                    "[a-z é]{0,90}",
                    Just("\\n\\t".to_owned()),
                    Just("\\\\".to_owned()),
                    Just("\\\"".to_owned()),
                    Just("\\u00e9".to_owned()),
                    "\\\\{0,5}[nrtbf/\"\\\\]",
                ],
                0..30,
            ),
            (at, odd) in (0..30_usize, prop_oneof![
                4 => Just(""), 1 => Just("\\"), 1 => Just("\t"), 1 => Just("\u{0}"), 1 => Just("\\u12"), 1 => Just("\\x"), 1 => Just("\\ud83d"),
            ]),
        ) {
            let mut pieces = pieces;
            pieces.insert(at.min(pieces.len()), odd.to_owned());
            let text = format!("\"{}\"", pieces.concat());
            prop_assert_eq!(sound(&text), serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
            let mut cursor = Cursor::new(&text);
            if cursor.value() == Some(text.as_str()) {
                let units = text.replace("\\\\", "").contains("\\u");
                prop_assert_eq!(cursor.saw_escaped_units(), units, "{}", text);
            }
        }

        #[test]
        fn what_is_not_sound_ends_all_the_same(text in "[{}\\[\\]\",:\\\\ua0 é]{0,40}") {
            let mut cursor = Cursor::new(&text);
            while cursor.value().is_some() {}
            let mut out = String::new();
            decode(&text, &mut out);
            prop_assert_eq!(decoded_len(&text), out.len());
            prop_assert_eq!(decoded(&text), out);
        }
    }

    /// Whether a text is one value.
    fn sound(text: &str) -> bool {
        let mut cursor = Cursor::new(text);
        let steps = cursor.value().is_some() && cursor.peek().is_none();
        // Step by step it is the same.
        assert_eq!(split(text).is_some(), steps, "{text}");
        steps
    }

    #[test]
    fn what_is_taken_is_json() {
        let sound_ones = ["0", "-0.5e+7", " [ ] ", "{\"a\" : [1, {}]}\n", "[true,false,null]", "\"\\/\\b\\f\\r\\u00e9\"", "1E400"];
        let others = [
            "",
            " ",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "1e",
            "[1,]",
            "[,1]",
            "{,}",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{\"a\":}",
            "{a:1}",
            "[1 2]",
            "{\"a\":1]",
            "[",
            "[1",
            "{\"a\"",
            "nul",
            "truex",
            "NaN",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\t\"",
            "\"a",
            "\"\\\"",
            "[\"\u{0}\"]",
            "{}{}",
            "1 1",
            "[]]",
        ];
        for (text, is_sound) in sound_ones.iter().map(|text| (text, true)).chain(others.iter().map(|text| (text, false))) {
            assert_eq!((sound(text), serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()), (is_sound, is_sound), "{text}");
        }
    }

    #[test]
    fn escapes_are_whole_wherever_a_piece_ends() {
        for before in PIECE - 8..PIECE + 8 {
            let start = "a".repeat(before);
            for (escape, is_sound) in
                [(r"\\x", true), (r"\\\\x", true), (r"\\\x", false), (r"\x", false), (r"\u00e9x", true), (r"\u00gx", false)]
            {
                for after in ["", "b", &"b\\n".repeat(PIECE)] {
                    let text = format!("\"{start}{escape}{after}\"");
                    assert_eq!(sound(&text), is_sound, "{before} {escape}");
                }
            }
        }
    }

    #[test]
    fn nesting_needs_no_stack_and_every_bracket_its_own() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 200, 100_000] {
            let open: String = (0..depth).map(|n| if n % 3 == 0 { "{\"a\":" } else { "[" }).collect();
            let close: String = (0..depth).rev().map(|n| if n % 3 == 0 { "}" } else { "]" }).collect();
            assert!(sound(&format!("{open}1{close}")), "{depth}");
            for at in [0, depth / 2, depth - 1] {
                let mut wrong = close.clone().into_bytes();
                wrong[at] = if wrong[at] == b'}' { b']' } else { b'}' };
                assert!(!sound(&format!("{open}1{}", String::from_utf8(wrong).unwrap())), "{depth} {at}");
            }
        }
    }

    #[test]
    fn a_key_with_an_escape_is_for_others_to_read() {
        let mut cursor = Cursor::new(r#"{"a":1,"b\u0063":2}"#);
        assert_eq!((cursor.object(), cursor.plain_key(), cursor.value()), (Some(true), Some(Some("a")), Some("1")));
        assert_eq!((cursor.clone().plain_key(), cursor.key()), (None, Some(Some("b\\u0063"))));
        assert!(cursor.saw_escaped_units());
    }
}
