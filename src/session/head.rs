//! The typed head of one record: what the index keeps of a line without decoding its payload.
//!
//! One pass of `serde_json` over the line, with everything of no interest skipped unread, runs at more than a gigabyte a
//! second; that pass is the whole cost of opening a session.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::entry::is_read_tool;
use super::json::Key;

/// Visitor methods that answer any scalar with the same value.
macro_rules! scalars {
    ($value:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

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

impl<'de> Deserialize<'de> for Head<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeadVisitor)
    }
}

struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = Head<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head<'de>, A::Error> {
        let mut head = Head::default();
        while let Some(Key(key)) = map.next_key()? {
            match key.as_ref() {
                "type" => head.kind = text(&mut map)?,
                "id" => head.id = text(&mut map)?,
                "parentId" => {
                    head.parent = match map.next_value::<Scalar<'de>>()? {
                        Scalar::Text(id) => Parent::Id(id),
                        Scalar::Null => Parent::Root,
                        _ => Parent::Absent,
                    }
                }
                "timestamp" => {
                    map.next_value::<IgnoredAny>()?;
                    head.has_timestamp = true;
                }
                "message" => {
                    if let Some(message) = map.next_value::<Maybe<MessageHead<'de>>>()?.0 {
                        head.has_message = true;
                        head.message = message;
                    }
                }
                "firstKeptEntryId" | "targetId" | "fromId" => head.target = text(&mut map)?,
                "customType" => head.custom_type = text(&mut map)?,
                "model" => head.model_is_path = text(&mut map)?.is_some_and(|m| m.contains('/')),
                "provider" => {
                    map.next_value::<IgnoredAny>()?;
                    head.has_provider = true;
                }
                // The content of a custom_message stands on the entry itself.
                "content" => content(&mut map, &mut head.message)?,
                "details" => head.message.bulk += map.next_value::<&RawValue>()?.get().len() as u64,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(head)
    }
}

impl<'de> Deserialize<'de> for MessageHead<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = MessageHead<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MessageHead<'de>, A::Error> {
        let mut head = MessageHead::default();
        while let Some(Key(key)) = map.next_key()? {
            match key.as_ref() {
                "role" => head.role = text(&mut map)?,
                "stopReason" => head.stop = text(&mut map)?,
                "toolCallId" => head.call_id = text(&mut map)?,
                "toolName" => head.tool = text(&mut map)?,
                "content" => content(&mut map, &mut head)?,
                "details" => head.bulk += map.next_value::<&RawValue>()?.get().len() as u64,
                "usage" => head.has_usage = matches!(map.next_value::<Scalar<'de>>()?, Scalar::Other),
                "isError" => head.is_error = flag(&mut map)?,
                "useless" => head.useless = flag(&mut map)?,
                "excludeFromContext" => head.excluded = flag(&mut map)?,
                "retryRecovery" => head.retry_recovery = !matches!(map.next_value::<Scalar<'de>>()?, Scalar::Null | Scalar::Bool(false)),
                "prunedAt" => head.pruned = !matches!(map.next_value::<Scalar<'de>>()?, Scalar::Null),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(head)
    }
}

/// Adds what the content blocks tell to `head`.
fn content<'de, A: MapAccess<'de>>(map: &mut A, head: &mut MessageHead<'de>) -> Result<(), A::Error> {
    #[derive(Default)]
    struct Blocks<'de> {
        calls: Vec<Cow<'de, str>>,
        reads: bool,
        images: u32,
        bulk: u64,
    }
    impl<'de> Deserialize<'de> for Blocks<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(BlocksVisitor)
        }
    }
    struct BlocksVisitor;
    impl<'de> Visitor<'de> for BlocksVisitor {
        type Value = Blocks<'de>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("content")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut all = Blocks::default();
            while let Some(Maybe(block)) = seq.next_element::<Maybe<BlockHead<'de>>>()? {
                let Some(block) = block else { continue };
                match block.kind.as_deref() {
                    Some("toolCall") => {
                        all.calls.extend(block.id);
                        all.reads |= block.name.as_deref().is_some_and(is_read_tool);
                    }
                    Some("image") => {
                        all.images += 1;
                        all.bulk += block.data;
                    }
                    _ => {}
                }
            }
            Ok(all)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Blocks::default())
        }
        scalars!(Blocks::default());
    }
    let all: Blocks<'de> = map.next_value()?;
    head.calls.extend(all.calls);
    head.reads |= all.reads;
    head.images += all.images;
    head.bulk += all.bulk;
    Ok(())
}

#[derive(Default)]
struct BlockHead<'a> {
    kind: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    data: u64,
}

impl<'de> Deserialize<'de> for BlockHead<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = BlockHead<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a block")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut head = BlockHead::default();
                while let Some(Key(key)) = map.next_key()? {
                    match key.as_ref() {
                        "type" => head.kind = text(&mut map)?,
                        "id" => head.id = text(&mut map)?,
                        "name" => head.name = text(&mut map)?,
                        "data" => head.data = map.next_value::<&RawValue>()?.get().len() as u64,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(head)
            }
        }
        deserializer.deserialize_map(V)
    }
}

fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Cow<'de, str>>, A::Error> {
    Ok(match map.next_value()? {
        Scalar::Text(text) => Some(text),
        _ => None,
    })
}

fn flag<'de, A: MapAccess<'de>>(map: &mut A) -> Result<bool, A::Error> {
    Ok(matches!(map.next_value()?, Scalar::Bool(true)))
}

/// A value of any type: text and flags are read, numbers and containers skipped.
enum Scalar<'a> {
    Text(Cow<'a, str>),
    Null,
    Bool(bool),
    Other,
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Scalar<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_borrowed_str<E>(self, s: &'de str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Borrowed(s)))
            }
            fn visit_str<E>(self, s: &str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Owned(s.to_owned())))
            }
            fn visit_bool<E>(self, b: bool) -> Result<Self::Value, E> {
                Ok(Scalar::Bool(b))
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Scalar::Null)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Scalar::Other)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Scalar::Other)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Scalar::Other)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }
        }
        deserializer.deserialize_any(V)
    }
}

/// An object of the wanted kind, or nothing where the value is of another type: a strange field must not lose a line.
struct Maybe<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Maybe<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(|t| Maybe(Some(t)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Maybe(None))
            }
            scalars!(Maybe(None));
        }
        deserializer.deserialize_any(V(std::marker::PhantomData))
    }
}
