//! Counting a tool result in its line as it stands.
//!
//! Pruning counts every result of a session, and all that it wants of each is one number. Decoding whole records for that
//! takes longer than everything else that pruning does.

use super::{IMAGE_TOKENS, Tokenizer};
use crate::session::places::{Content, Part, Places, blocks, content_of};
use crate::text::cursor::{decode, decoded_len};

/// Tokens of the tool result in a line, which is sound JSON, and the places of its parts; `text` is room for decoding. `None`
/// when it takes a decoded record to tell.
pub(super) fn of_result(tokenizer: Tokenizer, line: &str, text: &mut String) -> Option<(u64, Option<Places>)> {
    let mut count = |raw: &str| match tokenizer {
        Tokenizer::Heuristic => (decoded_len(raw) as u64).div_ceil(4),
        _ if raw.contains('\\') => {
            decode(raw, text);
            tokenizer.count(text)
        }
        _ => tokenizer.count(raw),
    };
    let found = content_of(line, |cursor| {
        let mut tokens = 0;
        let images = blocks(cursor, &mut |part| {
            tokens += match part {
                Part::Text(text) => count(text),
                Part::Block { kind: Some("text"), text } => text.map_or(0, &mut count),
                Part::Block { kind: Some("image"), .. } => IMAGE_TOKENS,
                // Blocks that results do not have.
                Part::Block { kind: Some("thinking" | "redactedThinking" | "toolCall"), .. } => return None,
                Part::Block { kind: Some(kind), .. } if kind.contains('\\') => return None,
                Part::Block { .. } => 0,
            };
            Some(())
        })?;
        Some((tokens, images))
    })?;
    Some(match found {
        Some(Content { message, content, read: (tokens, images) }) => (tokens, Some(Places { message, content, images })),
        None => (0, None),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::engine::tokens::of_message;
    use crate::session::{Json, Kind, Message};
    use proptest::prelude::*;

    fn decoded(tokenizer: Tokenizer, line: &str) -> u64 {
        let record = Json::parse(line).unwrap();
        of_message(tokenizer, &Message::of(Kind::Message, &record).unwrap())
    }

    /// Lines of results: keys in any order, some of them twice, values of any type.
    fn line() -> impl Strategy<Value = String> {
        let text = prop_oneof![any::<String>(), "[a-z \n\"\\\\é😀]{0,30}"].prop_map(|text| serde_json::to_string(&text).unwrap());
        let value =
            prop_oneof![text, Just("null".to_owned()), Just("[1,{\"text\":\"x\"}]".to_owned()), Just("{\"type\":\"text\"}".to_owned())];
        let kind = prop_oneof![4 => Just("\"text\""), 1 => Just("\"image\""), 1 => Just("\"other\""), 1 => Just("\"thinking\""), 1 => Just("\"te\\u0078t\""), 1 => Just("null")];
        let block = proptest::collection::vec((prop_oneof![Just("text"), Just("data"), Just("type")], value.clone(), kind), 0..4).prop_map(
            |members| {
                let members = members.into_iter().map(|(key, value, kind)| match key {
                    "type" => format!("\"type\":{kind}"),
                    _ => format!(" \"{key}\" : {value}"),
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            },
        );
        let block = prop_oneof![4 => block, 1 => value.clone()];
        let content = prop_oneof![4 => proptest::collection::vec(block, 0..4).prop_map(|blocks| format!("[{}]", blocks.join(" ,"))), 1 => value.clone()];
        let message =
            proptest::collection::vec((prop_oneof![3 => Just("content"), 1 => Just("details"), 1 => Just("con\\u0074ent")], content), 0..3)
                .prop_map(|members| {
                    let members = members.into_iter().map(|(key, value)| format!("\"{key}\":{value}"));
                    format!("{{\"role\":\"toolResult\",{}\"isError\":false}}", members.map(|m| m + ",").collect::<String>())
                });
        (message.clone(), message, value, 0..3_u8).prop_map(|(one, other, value, which)| match which {
            0 => format!("{{\"message\":{one}}}"),
            1 => format!("{{\"content\":{value},\"message\":{one},\"message\":{other},\"id\":\"x\"}}"),
            _ => format!("{{ \"id\" : 1.0 , \"message\" : {one} }}"),
        })
    }

    proptest! {
        #[test]
        fn a_line_counts_what_its_message_counts(line in line()) {
            let mut text = String::new();
            for tokenizer in [Tokenizer::Heuristic, Tokenizer::O200k] {
                if let Some((tokens, places)) = of_result(tokenizer, &line, &mut text) {
                    prop_assert_eq!(places, Places::of(&line), "{}", line);
                    prop_assert_eq!(tokens, decoded(tokenizer, &line), "{}", line);
                }
            }
        }
    }

    #[test]
    fn plain_results_need_no_decoded_record() {
        let block = r#"{"type":"text","text":"a\nb\u00e9"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"x"},7"#;
        let line =
            format!(r#"{{"type":"message","id":"a","message":{{"role":"toolResult","content":[{block}],"details":{{"content":"no"}}}}}}"#);
        let (heuristic, places) = of_result(Tokenizer::Heuristic, &line, &mut String::new()).unwrap();
        assert_eq!(heuristic, 2 + IMAGE_TOKENS);
        assert!(places.unwrap().images);
        assert_eq!(decoded(Tokenizer::Heuristic, &line), 2 + IMAGE_TOKENS);
        let line = r#"{"message":{"content":"12345","role":"toolResult"}}"#;
        assert_eq!(of_result(Tokenizer::Heuristic, line, &mut String::new()).unwrap().0, 2);
        assert_eq!(of_result(Tokenizer::Heuristic, r#"{"message":{"content":[{"type":"toolCall"}]}}"#, &mut String::new()), None);
    }
}
