//! Walking through JSON text that is known to be sound.
//!
//! A line of a session is parsed when the file is indexed. Whoever then wants to know where one value of it stands, or how
//! long one text is, need not pay for parsing it again: it is enough to find the ends of strings, which takes a fraction of
//! the time. Nothing is decoded on the way, and a long value is passed over once. Text that is not sound gives wrong places
//! or none, never a panic.

use super::json::{escapes, string_body_len};

/// A place in JSON text.
#[derive(Debug, Clone)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// The beginning of a text.
    #[must_use]
    pub fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    /// Bytes before the place.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
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

    fn enter(&mut self, open: u8) -> Option<bool> {
        let is_open = self.peek()? == open;
        self.at += usize::from(is_open);
        Some(is_open)
    }

    /// Enters an object; false, and nothing happens, when the next value is none.
    pub fn object(&mut self) -> Option<bool> {
        self.enter(b'{')
    }

    /// Enters an array; false, and nothing happens, when the next value is none.
    pub fn array(&mut self) -> Option<bool> {
        self.enter(b'[')
    }

    /// The next key of the object that was entered, whose value comes next; `Some(None)` when the object ends here. `None` also
    /// for a key with an escape: only a reader that decodes knows what it says.
    pub fn key(&mut self) -> Option<Option<&'t str>> {
        loop {
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(None);
                }
                b'"' => {
                    let key = unquoted(self.value()?)?;
                    if key.contains('\\') || self.peek()? != b':' {
                        return None;
                    }
                    self.at += 1;
                    return Some(Some(key));
                }
                _ => return None,
            }
        }
    }

    /// Whether there is another item in the array that was entered; it comes next.
    pub fn item(&mut self) -> Option<bool> {
        loop {
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(false);
                }
                _ => return Some(true),
            }
        }
    }

    /// Passes over the next value, whatever it is; gives it as it is written.
    pub fn value(&mut self) -> Option<&'t str> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => self.string()?,
            b'{' | b'[' => self.nested()?,
            _ => {
                let rest = self.text.as_bytes().get(start..)?;
                let ends = |b: &u8| matches!(b, b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\n' | b'\r');
                let len = rest.iter().position(ends).unwrap_or(rest.len());
                self.at += len.max(1);
            }
        }
        self.text.get(start..self.at)
    }

    /// Goes from the opening quote of a string behind its closing one.
    fn string(&mut self) -> Option<()> {
        let body = self.text.as_bytes().get(self.at + 1..)?;
        self.at += string_body_len(body)? + 2;
        Some(())
    }

    /// Goes from the opening bracket of an object or array behind its closing one.
    fn nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let next = rest.iter().position(|b| matches!(b, b'"' | b'{' | b'}' | b'[' | b']'))?;
            self.at += next;
            match rest.get(next)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                _ => depth = depth.saturating_sub(1),
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

/// What stands between the quotes of a string as it is written; `None` for any other value.
#[must_use]
pub fn unquoted(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
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
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;
    use proptest::prelude::*;

    fn json() -> impl Strategy<Value = serde_json::Value> {
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
        assert_eq!((cursor.peek(), cursor.at()), (None, text.len()));
        Some(all)
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
        fn what_is_not_sound_ends_all_the_same(text in "[{}\\[\\]\",:\\\\ua0 é]{0,40}") {
            let mut cursor = Cursor::new(&text);
            while cursor.value().is_some() {}
            let mut out = String::new();
            decode(&text, &mut out);
            prop_assert_eq!(decoded_len(&text), out.len());
        }
    }

    #[test]
    fn a_key_with_an_escape_is_for_others_to_read() {
        let mut cursor = Cursor::new(r#"{"a":1,"b\u0063":2}"#);
        assert_eq!((cursor.object(), cursor.key(), cursor.value(), cursor.key()), (Some(true), Some(Some("a")), Some("1"), None));
    }
}
