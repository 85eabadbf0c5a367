//! Where the parts of a message stand in its line.
//!
//! An edit names stretches of a line by their places. Asking for one member after the other would parse the line once for
//! each; lines of results are long, and a session has thousands of them.

use std::ops::Range;

use super::edit::{member, member_of};
use crate::text::cursor::{Cursor, unquoted};

/// The places of what edits change in the record of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The message.
    pub message: Range<usize>,
    /// The content of the message.
    pub content: Range<usize>,
    /// There may be images in the content.
    pub images: bool,
}

impl Places {
    /// The places in a line; of equal keys the last, which readers take. `None` when it holds no message with a content.
    #[must_use]
    pub fn of(line: &str) -> Option<Places> {
        quick(line).or_else(|| {
            let content = member_of(line, "message", "content")?;
            Some(Places { message: member(line, "message")?, content, images: true })
        })
    }
}

/// What stands in the content of a message, as it is written.
pub(crate) enum Part<'l> {
    /// The content is a text: what stands between its quotes.
    Text(&'l str),
    /// A block: its type and its text, each between its quotes, where they are strings.
    Block { kind: Option<&'l str>, text: Option<&'l str> },
}

fn quick(line: &str) -> Option<Places> {
    let found = content_of(line, |cursor| blocks(cursor, &mut |_| Some(())))?;
    found.map(|Content { message, content, read: images }| Places { message, content, images })
}

/// The content of the message in a line, and what was read of it.
pub(crate) struct Content<T> {
    pub(crate) message: Range<usize>,
    pub(crate) content: Range<usize>,
    pub(crate) read: T,
}

/// Walks through a line that is sound JSON to the content of its message, which `read` passes over; of equal keys the last
/// counts. None when the line holds no message with a content; `None` when it takes a reader that decodes to tell, or `read`
/// says so.
pub(crate) fn content_of<'l, T>(line: &'l str, mut read: impl FnMut(&mut Cursor<'l>) -> Option<T>) -> Option<Option<Content<T>>> {
    let mut cursor = Cursor::new(line);
    if !cursor.object()? {
        return None;
    }
    let mut found = None;
    while let Some(key) = cursor.plain_key()? {
        if key != "message" {
            cursor.value()?;
            continue;
        }
        cursor.peek()?;
        let start = cursor.at();
        if !cursor.object()? {
            return None;
        }
        let mut content = None;
        while let Some(key) = cursor.plain_key()? {
            if key != "content" {
                cursor.value()?;
                continue;
            }
            cursor.peek()?;
            let start = cursor.at();
            let read = read(&mut cursor)?;
            content = Some((start..cursor.at(), read));
        }
        let message = start..cursor.at();
        found = content.map(|(content, read)| Content { message, content, read });
    }
    // What follows a record on its line is no part of it.
    if cursor.peek().is_some() { None } else { Some(found) }
}

/// Passes over a content and shows `see` its parts; tells whether one of its blocks may be an image.
pub(crate) fn blocks<'l>(cursor: &mut Cursor<'l>, see: &mut dyn FnMut(Part<'l>) -> Option<()>) -> Option<bool> {
    if !cursor.array()? {
        if let Some(text) = unquoted(cursor.value()?) {
            see(Part::Text(text))?;
        }
        return Some(false);
    }
    let mut images = false;
    while cursor.item()? {
        if !cursor.object()? {
            cursor.value()?;
            continue;
        }
        let (mut kind, mut text) = (None, None);
        while let Some(key) = cursor.plain_key()? {
            let value = cursor.value()?;
            match key {
                "type" => kind = unquoted(value),
                "text" => text = unquoted(value),
                _ => {}
            }
        }
        see(Part::Block { kind, text })?;
        images |= kind.is_some_and(|kind| kind == "image" || kind.contains('\\'));
    }
    Some(images)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Members in any order and number, some of them twice, keys with escapes, values of any type.
        #[test]
        fn one_walk_finds_what_a_parser_finds(
            members in proptest::collection::vec((0..4_usize, 0..8_usize), 0..4),
            inner in proptest::collection::vec((0..4_usize, 0..8_usize), 0..4),
            blanks in any::<bool>(),
        ) {
            let blank = if blanks { " " } else { "" };
            let object = |members: &[(usize, usize)], keys: [&str; 4], values: [&str; 8]| {
                let members = members.iter().filter_map(|(key, value)| Some(format!("\"{}\"{blank}:{blank}{}", keys.get(*key)?, values.get(*value)?)));
                format!("{{{blank}{}{blank}}}", members.collect::<Vec<_>>().join(&format!("{blank},{blank}")))
            };
            let values = [
                "[]", "\"te\\\"xt\"", "[{\"type\":\"text\",\"text\":\"]}\"},7]", "[{\"type\":\"image\"}]",
                "[{\"type\":\"i\\u006dage\"}]", "null", "{\"content\":[]}", "[{\"ty\\u0070e\":\"image\"}]",
            ];
            let message = object(&inner, ["content", "details", "con\\u0074ent", "x"], values);
            let other = r#"{"content":"other"}"#;
            let line = object(&members, ["message", "id", "content", "m\\u0065ssage"], [&message, other, "\"}\"", "[1]", &message, other, &message, "{}"]);
            let slow = member_of(&line, "message", "content").map(|content| (member(&line, "message").unwrap(), content));
            if let Some(places) = quick(&line) {
                prop_assert_eq!(Some((places.message, places.content.clone())), slow.clone(), "{}", line);
                let content: Result<Vec<serde_json::Value>, _> = serde_json::from_str(line.get(places.content).unwrap());
                let images = content.unwrap_or_default().iter().any(|block| block.get("type").is_some_and(|kind| kind == "image"));
                prop_assert_eq!(places.images, images, "{}", line);
            }
            prop_assert_eq!(Places::of(&line).map(|places| (places.message, places.content)), slow, "{}", line);
        }
    }

    #[test]
    fn lines_as_agents_write_them_take_one_walk() {
        let line = r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[{"type":"text","text":"x"}],"details":{"content":1}},"z":0}"#;
        let places = quick(line).unwrap();
        assert_eq!(line.get(places.content.clone()).unwrap(), r#"[{"type":"text","text":"x"}]"#);
        assert!(line.get(places.message).unwrap().ends_with(r#""details":{"content":1}}"#));
        assert!(!places.images);
        assert_eq!((Places::of("{}"), Places::of(""), Places::of(r#"{"message":[]}"#)), (None, None, None));
        assert_eq!(Places::of(&format!("{line}{line}")), None);
    }
}
