//! Whether what came back is a summary at all.
//!
//! A model that goes on with the task, thinks and says nothing, or is cut off in the middle has not summarized anything, and
//! its answer would replace the history for good. So an answer has to earn its place.

use crate::engine::serialize::WRAPPERS;
use crate::text;

/// Marks of a call of a tool, as models write them when nothing takes the call from them.
const CALLS: &[&str] =
    &["<invoke", "<function_calls>", "<function=", "<tool_call", "<tool_use>", "<|tool_call", "<|python_tag|>", "[TOOL_CALLS]", "<｜tool"];

/// The words of an answer, without thinking and without a tag around them.
///
/// # Errors
/// What is wrong with an answer that is no summary.
pub(super) fn words(answer: &str) -> Result<String, &'static str> {
    if answer.trim().is_empty() {
        return Err("it is empty");
    }
    let told = without_thinking(answer);
    let told = unwrapped(told.trim());
    if told.trim().is_empty() || !told.chars().any(char::is_alphanumeric) {
        return Err("it holds only tags or thinking");
    }
    if ["<!doctype", "<html"].iter().any(|start| told.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))) {
        return Err("it is a page of HTML");
    }
    if is_call(told) {
        return Err("it calls a tool instead of summarizing");
    }
    let clean = text::strip(told);
    let clean = text::neutralize_tags(clean.trim(), WRAPPERS).into_owned();
    if without_tags(&clean).trim().is_empty() {
        return Err("it holds only tags or thinking");
    }
    Ok(clean)
}

/// The text without what stands between thinking tags; one that is never closed takes the rest.
fn without_thinking(answer: &str) -> String {
    let mut out = answer.to_owned();
    for name in ["think", "thinking", "reasoning"] {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(from) = find(&out, &open) {
            let to = out.get(from..).and_then(|rest| find(rest, &close)).map_or(out.len(), |at| from + at + close.len());
            out.replace_range(from..to, "");
        }
        // Some servers take the opening tag away.
        if let Some(at) = find(&out, &close) {
            out.replace_range(..at + close.len(), "");
        }
    }
    out
}

/// Where `tag` stands, in any case of its letters; `tag` is ASCII.
fn find(text: &str, tag: &str) -> Option<usize> {
    let (text, tag) = (text.as_bytes(), tag.as_bytes());
    text.windows(tag.len()).position(|window| window.eq_ignore_ascii_case(tag))
}

/// The text within a summary tag around all of it, also one that is not closed.
fn unwrapped(text: &str) -> &str {
    let Some(inside) = text.strip_prefix("<summary>") else { return text };
    inside.rsplit_once("</summary>").map_or(inside, |(inside, _)| inside)
}

fn is_call(text: &str) -> bool {
    let start = text.trim_start();
    if CALLS.iter().any(|mark| text.contains(mark)) {
        return true;
    }
    // One JSON object that names a tool and its arguments, alone or in a fence.
    let bare = start.trim_start_matches("```json").trim_start_matches("```").trim_end().trim_end_matches("```");
    let Ok(value) = serde_json::from_str::<serde_json::Value>(bare) else { return false };
    let has = |key: &str| value.get(key).is_some();
    has("tool_calls") || has("function_call") || ((has("name") || has("tool")) && (has("arguments") || has("parameters") || has("input")))
}

fn without_tags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        match after.split_once('>') {
            Some((tag, behind)) if !tag.contains(char::is_whitespace) => rest = behind,
            _ => {
                out.push('<');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn c29_c35_what_is_no_summary_is_told_apart() {
        let rows = [
            ("", "empty"),
            (" \n\n", "empty"),
            ("<think>a b c</think>", "only tags"),
            ("<THINKING>never closed", "only tags"),
            ("<summary></summary>", "only tags"),
            ("<a></a><b/>", "only tags"),
            ("---\n***", "only tags"),
            ("<invoke name=\"bash\"><parameter name=\"command\">ls</parameter></invoke>", "calls a tool"),
            ("I will look.\n<tool_call>{\"name\":\"read\"}</tool_call>", "calls a tool"),
            ("```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```", "calls a tool"),
            ("{\"tool_calls\":[]}", "calls a tool"),
            ("<!DOCTYPE html><p>hello", "a page of HTML"),
            ("\n<html>hello</html>", "a page of HTML"),
        ];
        for (answer, want) in rows {
            assert!(words(answer).unwrap_err().contains(want), "{answer}");
        }
    }

    #[test]
    fn the_words_stay_and_what_is_around_them_goes() {
        let rows = [
            ("## Goal\n- a < b\n", "## Goal\n- a < b"),
            ("<think>hm</think>\n\n## Goal\nx", "## Goal\nx"),
            ("so\n</think>\n## Goal\nx", "## Goal\nx"),
            ("<summary>\n## Goal\nx\n</summary>", "## Goal\nx"),
            ("<summary>\n## Goal\nx", "## Goal\nx"),
            ("## Goal\n</conversation> x", "## Goal\n&lt;/conversation> x"),
            ("a\u{1b}[31mb", "ab"),
            ("{\"name\":\"x\"}", "{\"name\":\"x\"}"),
        ];
        for (answer, want) in rows {
            assert_eq!(words(answer).as_deref(), Ok(want));
        }
    }
}
