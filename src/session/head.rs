//! The typed head of one record: what the index keeps of a line without decoding its payload.
//!
//! One walk over the line, with everything of no interest passed over unread; that walk is the whole cost of opening a
//! session.

use std::borrow::Cow;

use super::entry::is_read_tool;
use crate::text::cursor::{Cursor, decoded, unquoted};

/// What a record says of itself. Text borrows from the line where it holds no escapes.
#[derive(Default, Debug)]
pub(crate) struct Head<'a> {
    pub kind: Option<Cow<'a, str>>,
    pub id: Option<Cow<'a, str>>,
    pub parent: Parent<'a>,
    /// `firstKeptEntryId`, `targetId` or `fromId`: the one other entry that a record of this type names.
    pub target: Option<Cow<'a, str>>,
    pub has_timestamp: bool,
    pub has_message: bool,
    pub message: MessageHead<'a>,
    /// `customType`, `model`, `provider` and the like decide who owns the file.
    pub custom_type: Option<Cow<'a, str>>,
    pub model_is_path: bool,
    pub has_provider: bool,
}

/// `parentId`: three states that mean different things.
#[derive(Default, Debug, PartialEq)]
pub(crate) enum Parent<'a> {
    #[default]
    Absent,
    Root,
    Id(Cow<'a, str>),
}

/// The facts of a message that the tree, the cut and the pairing of calls need.
#[derive(Default, Debug)]
pub(crate) struct MessageHead<'a> {
    pub role: Option<Cow<'a, str>>,
    pub stop: Option<Cow<'a, str>>,
    pub call_id: Option<Cow<'a, str>>,
    pub tool: Option<Cow<'a, str>>,
    pub calls: Vec<Cow<'a, str>>,
    /// Whether one of the calls shows a file.
    pub reads: bool,
    pub images: u32,
    /// Bytes of image data and of `details`, which no model reads as text.
    pub bulk: u64,
    pub has_usage: bool,
    pub is_error: bool,
    pub useless: bool,
    pub pruned: bool,
    pub excluded: bool,
    pub retry_recovery: bool,
}

impl<'a> Head<'a> {
    /// The head of a text that is one record and nothing else; `None` when it is none, or no sound JSON. Half a surrogate pair
    /// is no fault here.
    pub(crate) fn of(text: &'a str) -> Option<Head<'a>> {
        let mut cursor = Cursor::new(text);
        let head = Head::at(&mut cursor)?;
        cursor.peek().is_none().then_some(head)
    }

    /// The head of the record that begins at the cursor, which goes behind it. A field of a strange type must not lose a line:
    /// it is passed over. Of equal keys the last counts.
    pub(crate) fn at(cursor: &mut Cursor<'a>) -> Option<Head<'a>> {
        if !cursor.object()? {
            return None;
        }
        let mut head = Head::default();
        while let Some(key) = cursor.key()? {
            match decoded(key).as_ref() {
                "type" => head.kind = text(cursor)?,
                "id" => head.id = text(cursor)?,
                "parentId" => {
                    let value = cursor.value()?;
                    head.parent = match unquoted(value) {
                        Some(id) => Parent::Id(decoded(id)),
                        None if value == "null" => Parent::Root,
                        None => Parent::Absent,
                    }
                }
                "timestamp" => {
                    cursor.value()?;
                    head.has_timestamp = true;
                }
                "message" if cursor.object()? => {
                    head.has_message = true;
                    head.message = MessageHead::at(cursor)?;
                }
                "firstKeptEntryId" | "targetId" | "fromId" => head.target = text(cursor)?,
                "customType" => head.custom_type = text(cursor)?,
                "model" => head.model_is_path = text(cursor)?.is_some_and(|m| m.contains('/')),
                "provider" => {
                    cursor.value()?;
                    head.has_provider = true;
                }
                // The content of a custom_message stands on the entry itself.
                "content" => head.message.content(cursor)?,
                "details" => head.message.bulk += cursor.value()?.len() as u64,
                _ => drop(cursor.value()?),
            }
        }
        Some(head)
    }
}

impl<'a> MessageHead<'a> {
    /// The head of a message; its object was entered.
    fn at(cursor: &mut Cursor<'a>) -> Option<MessageHead<'a>> {
        let mut head = MessageHead::default();
        while let Some(key) = cursor.key()? {
            match decoded(key).as_ref() {
                "role" => head.role = text(cursor)?,
                "stopReason" => head.stop = text(cursor)?,
                "toolCallId" => head.call_id = text(cursor)?,
                "toolName" => head.tool = text(cursor)?,
                "content" => head.content(cursor)?,
                "details" => head.bulk += cursor.value()?.len() as u64,
                "usage" => head.has_usage = !cursor.value()?.starts_with(['"', 't', 'f', 'n']),
                "isError" => head.is_error = cursor.value()? == "true",
                "useless" => head.useless = cursor.value()? == "true",
                "excludeFromContext" => head.excluded = cursor.value()? == "true",
                "retryRecovery" => head.retry_recovery = !matches!(cursor.value()?, "null" | "false"),
                "prunedAt" => head.pruned = cursor.value()? != "null",
                _ => drop(cursor.value()?),
            }
        }
        Some(head)
    }

    /// Adds what the blocks of a content tell.
    fn content(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        if !cursor.array()? {
            return cursor.value().map(drop);
        }
        while cursor.item()? {
            if !cursor.object()? {
                cursor.value()?;
                continue;
            }
            let (mut kind, mut id, mut name, mut data) = (None, None, None, 0);
            while let Some(key) = cursor.key()? {
                match decoded(key).as_ref() {
                    "type" => kind = text(cursor)?,
                    "id" => id = text(cursor)?,
                    "name" => name = text(cursor)?,
                    "data" => data = cursor.value()?.len() as u64,
                    _ => drop(cursor.value()?),
                }
            }
            match kind.as_deref() {
                Some("toolCall") => {
                    self.calls.extend(id);
                    self.reads |= name.as_deref().is_some_and(is_read_tool);
                }
                Some("image") => {
                    self.images += 1;
                    self.bulk += data;
                }
                _ => {}
            }
        }
        Some(())
    }
}

/// The next value, if it is a string.
fn text<'a>(cursor: &mut Cursor<'a>) -> Option<Option<Cow<'a, str>>> {
    Some(cursor.text()?.map(decoded))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// Any value, often one that a reader of heads looks for.
    fn value() -> impl Strategy<Value = Value> {
        let name = prop_oneof![
            Just("type"),
            Just("id"),
            Just("name"),
            Just("data"),
            Just("content"),
            Just("details"),
            Just("role"),
            Just("message"),
            Just("usage"),
            Just("toolCallId"),
            Just("toolName"),
            Just("stopReason"),
            Just("isError"),
            Just("useless"),
            Just("excludeFromContext"),
            Just("retryRecovery"),
            Just("prunedAt"),
            Just("parentId"),
            Just("timestamp"),
            Just("targetId"),
            Just("customType"),
            Just("model"),
            Just("provider"),
            Just("tÿ\"pe"),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Into::into),
            (-5..5_i64).prop_map(Into::into),
            prop_oneof![Just("toolCall"), Just("image"), Just("read"), Just("a/b"), Just("tex\"t\n\u{1f}é")].prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 60, 8, move |inner| {
            prop_oneof![
                1 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                4 => proptest::collection::vec((name.clone(), inner), 0..8)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
            ]
        })
    }

    fn blocks(content: &Value, kind: &str) -> Vec<Value> {
        let all = content.as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|block| block["type"] == kind).collect()
    }

    /// A value as a line has it, with escapes where a writer needs none when `escaped`.
    fn written(value: &Value, escaped: bool) -> String {
        let line = value.to_string();
        if escaped { line.replace("ype", "\\u0079pe").replace("oolCall", "\\u006folCall").replace("ead\"", "\\u0065ad\"") } else { line }
    }

    /// The same from what a parser makes of it, field by field.
    fn assert_facts(record: &Value, escaped: bool, head: &Head<'_>) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let own = |field: &Option<Cow<'_, str>>| field.as_deref().map(str::to_owned);
        assert_eq!(own(&head.kind), text(&record["type"]));
        assert_eq!(own(&head.id), text(&record["id"]));
        assert_eq!(own(&head.target), text(&record["targetId"]));
        assert_eq!(own(&head.custom_type), text(&record["customType"]));
        assert_eq!(head.has_timestamp, record.get("timestamp").is_some());
        assert_eq!(head.has_provider, record.get("provider").is_some());
        assert_eq!(head.model_is_path, text(&record["model"]).is_some_and(|model| model.contains('/')));
        let parent = match record.get("parentId") {
            Some(Value::Null) => Parent::Root,
            Some(Value::String(id)) => Parent::Id(id.into()),
            _ => Parent::Absent,
        };
        assert_eq!(head.parent, parent);
        assert_eq!(head.has_message, record["message"].is_object());
        let message = if head.has_message { &record["message"] } else { &Value::Null };
        let found = &head.message;
        assert_eq!(own(&found.role), text(&message["role"]));
        assert_eq!(own(&found.stop), text(&message["stopReason"]));
        assert_eq!(own(&found.call_id), text(&message["toolCallId"]));
        assert_eq!(own(&found.tool), text(&message["toolName"]));
        assert_eq!(found.has_usage, matches!(message["usage"], Value::Object(_) | Value::Array(_) | Value::Number(_)));
        let is = |key: &str| message[key] == true;
        assert_eq!(
            (found.is_error, found.useless, found.excluded, found.pruned, found.retry_recovery),
            (
                is("isError"),
                is("useless"),
                is("excludeFromContext"),
                !message["prunedAt"].is_null(),
                !matches!(message["retryRecovery"], Value::Null | Value::Bool(false))
            )
        );
        let content = if head.has_message { &message["content"] } else { &record["content"] };
        let calls = blocks(content, "toolCall");
        let ids: Vec<String> = calls.iter().filter_map(|call| text(&call["id"])).collect();
        assert_eq!(found.calls.iter().map(|id| id.clone().into_owned()).collect::<Vec<_>>(), ids);
        assert_eq!(found.reads, calls.iter().any(|call| call["name"] == "read"));
        let images = blocks(content, "image");
        assert_eq!(u64::from(found.images), images.len() as u64);
        let len = |value: Option<&Value>| value.map_or(0, |value| written(value, escaped).len() as u64);
        let bulk: u64 = images.iter().map(|image| len(image.get("data"))).sum();
        let details = if head.has_message { message.get("details") } else { record.get("details") };
        assert_eq!(found.bulk, bulk + len(details));
    }

    proptest! {
        #[test]
        fn a_head_says_what_a_parser_finds(mut record in value(), escaped in any::<bool>()) {
            if let Some(members) = record.as_object_mut().filter(|members| members.get("message").is_some_and(Value::is_object)) {
                // No agent writes these beside a message.
                members.retain(|key, _| key != "content" && key != "details");
            }
            let mut line = written(&record, escaped);
            match Head::of(&line) {
                Some(head) => assert_facts(&record, escaped, &head),
                None => prop_assert!(!record.is_object(), "{}", line),
            }
            line.push_str(" 1");
            prop_assert!(Head::of(&line).is_none());
        }
    }

    #[test]
    fn of_equal_keys_the_last_counts_and_strange_values_lose_no_line() {
        let head = Head::of(r#"{"id":"a","message":{"role":"user"},"id":"b","message":7,"type":{"x":[]}}"#).unwrap();
        assert_eq!((head.id.as_deref(), head.message.role.as_deref(), head.kind, head.has_message), (Some("b"), Some("user"), None, true));
        assert!(Head::of(r#"[{"id":"a"}]"#).is_none() && Head::of("").is_none() && Head::of(r#"{"id":"a"}{}"#).is_none());
    }
}
