//! What tool arguments say: commands, text, and the names that a change brings in.

use super::clean::clean;
use super::{facts, names};
use crate::session::Json;
use crate::text;

/// A command given as a list of words.
pub(super) fn argv(json: &Json<'_>) -> Option<String> {
    let words: Vec<&str> = json.items().iter().filter_map(Json::str).collect();
    match words.as_slice() {
        [] => None,
        ["bash" | "sh" | "zsh", flag, script] if flag.starts_with('-') => Some((*script).to_owned()),
        words => Some(words.join(" ")),
    }
}

/// Names that a change brings in: those that it defines, else those of its first lines. The old text is no news.
pub(super) fn changed_names(args: &Json<'_>) -> Vec<String> {
    let text = |key: &str| args.get(key).str();
    let new = ["newText", "new_string", "new_str", "content", "file_text", "patch", "input", "diff"].iter().find_map(|key| text(key));
    let edits = args.get("edits").items().first().and_then(|edit| edit.get("new_string").str().or(edit.get("newText").str()));
    let Some(new) = new.or(edits) else { return Vec::new() };
    let new = clean(text::clip(new, 8 << 10)).into_owned();
    let old = ["oldText", "old_string", "old_str"].iter().find_map(|key| text(key)).unwrap_or_default();
    let mut defined = Vec::new();
    let mut used = Vec::new();
    names::scan(&new, |name| {
        if name.shape == names::Shape::Ident && name.text.len() < 40 && !name.text.starts_with("this.") && !old.contains(name.text) {
            let list = if facts::is_defined(&new, name.at) { &mut defined } else { &mut used };
            if list.len() < 3 && !list.iter().any(|known| known == name.text) {
                list.push(name.text.to_owned());
            }
        }
    });
    defined.extend(used);
    defined.dedup();
    defined.truncate(3);
    defined
}

/// All strings of the arguments, a line each.
pub(super) fn strings(json: &Json<'_>, out: &mut String, depth: u8) {
    match json {
        Json::Str(s) => {
            out.push_str(s);
            out.push('\n');
        }
        Json::Array(items) if depth < 8 => items.iter().for_each(|item| strings(item, out, depth + 1)),
        Json::Object(members) if depth < 8 => members.iter().for_each(|(_, value)| strings(value, out, depth + 1)),
        _ => {}
    }
}
