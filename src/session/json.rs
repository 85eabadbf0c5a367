//! A JSON value that borrows from its line.
//!
//! Payloads are decoded only when someone asks for them, and then mostly to measure or to copy text. Borrowing strings
//! makes that several times as fast as an owned value, keeps the order of keys (which token counts depend on), and
//! takes what JavaScript takes: duplicate keys, where the last one wins, and numbers beyond all bounds. Half a surrogate pair
//! is U+FFFD.

use std::borrow::Cow;

use crate::text::cursor::{Cursor, decoded, unquoted};
use crate::text::json::compact;

/// A decoded JSON value; strings without escapes borrow from the text they were read from.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer without fraction or exponent that fits 64 bits.
    Int(i128),
    /// Any other number, as JavaScript would hold it.
    Float(f64),
    /// A string.
    Str(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object: keys in their written order; of equal keys the first place and the last value, as in JavaScript.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
    /// A value that nests too deep to be decoded, as it is written: nobody looks into it, but it counts and is shown.
    Raw(&'a str),
}

/// The text is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not one whole JSON value")]
pub struct NoJson;

/// Levels that are decoded. What lies deeper stays raw, so that no nesting can exhaust the stack or hide the message
/// around it.
const DEEPEST: u8 = 100;

static NULL: Json<'static> = Json::Null;

impl<'a> Json<'a> {
    /// Decodes one value.
    ///
    /// # Errors
    /// When the text is no JSON.
    pub fn parse(text: &'a str) -> Result<Self, NoJson> {
        let mut cursor = Cursor::new(text);
        let value = value(&mut cursor, 0).ok_or(NoJson)?;
        if cursor.peek().is_none() { Ok(value) } else { Err(NoJson) }
    }

    /// The member `key` of an object, [`Json::Null`] when there is none.
    #[must_use]
    pub fn get(&self, key: &str) -> &Json<'a> {
        match self {
            Json::Object(members) => members.iter().find(|(k, _)| k == key).map_or_else(null, |(_, v)| v),
            _ => null(),
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn str(&self) -> Option<&str> {
        match self {
            Json::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The text of a string, shared with the line where it needs no decoding.
    #[must_use]
    pub fn cow(&self) -> Option<Cow<'a, str>> {
        match self {
            Json::Str(s) => Some(s.clone()),
            _ => None,
        }
    }

    /// The items of an array; none for anything else.
    #[must_use]
    pub fn items(&self) -> &[Json<'a>] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    /// The members of an object; none for anything else.
    #[must_use]
    pub fn members(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        match self {
            Json::Object(members) => members,
            _ => &[],
        }
    }

    /// A number that is a whole, not negative amount.
    #[must_use]
    pub fn amount(&self) -> Option<u64> {
        match self {
            Json::Int(i) => u64::try_from(*i).ok(),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is right for a token count")]
            Json::Float(f) if f.is_finite() && *f >= 0.0 => Some(*f as u64),
            _ => None,
        }
    }

    /// Whether the value is there and not `null`.
    #[must_use]
    pub fn is_some(&self) -> bool {
        !matches!(self, Json::Null)
    }

    /// Whether the value is `true`.
    #[must_use]
    pub fn is_true(&self) -> bool {
        matches!(self, Json::Bool(true))
    }

    /// Writes the value as JavaScript's `JSON.stringify` does: no blanks, printable characters unescaped, key order
    /// kept, numbers in JavaScript's spelling. Tool arguments are counted and shown in this form.
    pub fn stringify(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Int(i) if i.unsigned_abs() < 1 << 53 => {
                use std::fmt::Write;
                let _ = write!(out, "{i}");
            }
            #[expect(clippy::cast_precision_loss, reason = "JavaScript holds every number as a double")]
            Json::Int(i) => push_number(*i as f64, out),
            Json::Float(f) => push_number(*f, out),
            Json::Str(s) => push_string(s, out),
            Json::Array(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    item.stringify(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (n, (key, value)) in members.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    push_string(key, out);
                    out.push(':');
                    value.stringify(out);
                }
                out.push('}');
            }
            Json::Raw(raw) => compact(raw.as_bytes(), out),
        }
    }

    /// [`Json::stringify`] into a new string.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.stringify(&mut out);
        out
    }
}

fn null<'s, 'a>() -> &'s Json<'a> {
    &NULL
}

fn push_number(f: f64, out: &mut String) {
    if f.is_finite() { out.push_str(ryu_js::Buffer::new().format(f)) } else { out.push_str("null") }
}

fn push_string(s: &str, out: &mut String) {
    // serde_json escapes exactly what JSON.stringify escapes in text without lone surrogates.
    match serde_json::to_string(s) {
        Ok(quoted) => out.push_str(&quoted),
        Err(_) => out.push_str("\"\""),
    }
}

/// A value inside of `level` others.
fn value<'a>(cursor: &mut Cursor<'a>, level: u8) -> Option<Json<'a>> {
    if level == DEEPEST {
        return cursor.value().map(Json::Raw);
    }
    if cursor.object()? {
        return members(cursor, level).map(Json::Object);
    }
    if cursor.array()? {
        let mut items = Vec::new();
        while cursor.item()? {
            items.push(value(cursor, level + 1)?);
        }
        return Some(Json::Array(items));
    }
    let written = cursor.value()?;
    Some(match (unquoted(written), written) {
        (Some(raw), _) => Json::Str(decoded(raw)),
        (None, "null") => Json::Null,
        (None, "true") => Json::Bool(true),
        (None, "false") => Json::Bool(false),
        (None, number) => match number.parse::<i64>().map(i128::from).or_else(|_| number.parse::<u64>().map(i128::from)) {
            Ok(whole) => Json::Int(whole),
            // What is too large is infinite, as in JavaScript.
            Err(_) => Json::Float(number.parse().ok()?),
        },
    })
}

/// Up to this many members are compared one by one.
const FEW: usize = 32;

fn members<'a>(cursor: &mut Cursor<'a>, level: u8) -> Option<Vec<(Cow<'a, str>, Json<'a>)>> {
    let mut members: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
    // Objects are small, so looking through them is cheapest; a set keeps a huge one from taking quadratic time.
    let mut seen = std::collections::HashSet::new();
    while let Some(key) = cursor.key()? {
        let (key, value) = (decoded(key), value(cursor, level + 1)?);
        if members.len() == FEW {
            seen.extend(members.iter().map(|(k, _)| k.clone()));
        }
        let known = if members.len() < FEW { members.iter().any(|(k, _)| *k == key) } else { !seen.insert(key.clone()) };
        match members.iter_mut().find(|(k, _)| known && *k == key) {
            Some(member) => member.1 = value,
            None => members.push((key, value)),
        }
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stringify_writes_what_javascript_writes() {
        let rows = [
            (r#"{ "b" : 1.0 , "a" : [ 1e3 , -0.0 ] }"#, r#"{"b":1,"a":[1000,0]}"#),
            (r#"{"s":"\/\u00e9\u0001\t\"\\"}"#, "{\"s\":\"/é\\u0001\\t\\\"\\\\\"}"),
            (r"[12345678901234567890, 9007199254740993]", "[12345678901234567000,9007199254740992]"),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#""\ud83d\ude00""#, "\"😀\""),
            (
                r#"["\ud83d",-0,-1,9223372036854775808,-9223372036854775809]"#,
                "[\"\u{fffd}\",0,-1,9223372036854776000,-9223372036854776000]",
            ),
            ("[1e400,-1e400,18446744073709551616]", "[null,null,18446744073709552000]"),
        ];
        for (from, want) in rows {
            assert_eq!(Json::parse(from).unwrap().to_text(), want, "{from}");
        }
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let value = Json::parse(r#"{"k":"first","k":"second"}"#).unwrap();
        assert_eq!(value.get("k").str(), Some("second"));
        let many: String = (0..100).map(|n| format!("\"k{}\":{n},", n % 50)).collect();
        let value = Json::parse(&format!("{{{}\"z\":0}}", many)).unwrap().to_text();
        assert!(value.starts_with("{\"k0\":50,\"k1\":51,") && value.ends_with("\"k49\":99,\"z\":0}"), "{value}");
    }

    #[test]
    fn what_nests_too_deep_stays_as_it_is_written() {
        for depth in [1, 99, 100, 101, 127, 128, 200_000] {
            let (open, close) = ("[ ".repeat(depth), "]".repeat(depth));
            let text = format!("{{\"deep\":{open}1.0{close},\"after\":\"seen\"}}");
            let value = Json::parse(&text).unwrap();
            assert_eq!(value.get("after").str(), Some("seen"));
            assert_eq!(value.to_text(), format!("{{\"deep\":{}1{close},\"after\":\"seen\"}}", "[".repeat(depth)));
        }
        assert!(Json::parse(&"[".repeat(200_000)).is_err());
    }

    proptest! {
        #[test]
        fn what_a_parser_reads_is_read(value in crate::text::cursor::tests::json(), pretty in any::<bool>(), more in "[ ,}1]{0,2}") {
            let mut text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            text.push_str(&more);
            let parsed = serde_json::from_str::<serde_json::Value>(&text);
            let read = Json::parse(&text);
            // serde_json refuses to read a number that is too large, but it is one.
            prop_assert_eq!(read.is_ok(), serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
            if let (Ok(read), Ok(parsed)) = (read, parsed) {
                // Both are written as JavaScript writes them.
                let mut want = String::new();
                compact(parsed.to_string().as_bytes(), &mut want);
                prop_assert_eq!(read.to_text(), want);
            }
        }
    }

    #[test]
    fn plain_strings_borrow() {
        let value = Json::parse(r#"["plain","esc\naped"]"#).unwrap();
        assert!(matches!(value.items(), [Json::Str(Cow::Borrowed(_)), Json::Str(Cow::Owned(_))]));
    }
}
