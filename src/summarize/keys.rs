//! Keys of providers: where they come from, and that they go nowhere but to them.
//!
//! What a model, a program or a hook says may hold a key of the environment, in a form that no rule about secrets knows. The
//! values are known here, so they can be taken out of everything that is kept or said.

use std::borrow::Cow;

/// The variables that hold keys; no others are looked at.
pub const NAMES: [&str; 3] = ["EPITOME_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"];

/// What stands where a key stood.
const MASK: &str = "[redacted key]";

/// The keys of an environment.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<String>);

impl Keys {
    /// The keys that an environment holds. Words that local servers are satisfied with (`none`, `ollama`) are no secrets, and
    /// to take them out would shred the text: a key is long, or it holds a digit and is not short.
    #[must_use]
    pub fn of(env: impl Fn(&str) -> Option<String>) -> Keys {
        let is_key = |key: &str| key.len() >= 16 || (key.len() >= 8 && key.bytes().any(|b| b.is_ascii_digit()));
        let mut keys: Vec<String> = NAMES.iter().filter_map(|name| get(&env, name)).filter(|key| is_key(key)).collect();
        // One key may be the beginning of another.
        keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
        keys.dedup();
        Keys(keys)
    }

    /// A text without them, also where it is JSON that spells a key with escapes.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for key in &self.0 {
            let spelled = serde_json::Value::from(key.as_str()).to_string();
            let spelled = spelled.trim_matches('"');
            for form in [key.as_str(), spelled] {
                if text.contains(form) {
                    text = Cow::Owned(text.replace(form, MASK));
                }
            }
        }
        text
    }
}

/// A variable that is set to more than blanks.
pub(super) fn get(env: &impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    env(name).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_out_and_words_are_not() {
        let keys = Keys::of(|name| match name {
            "EPITOME_API_KEY" => Some(" none ".to_owned()),
            "OPENAI_API_KEY" => Some("PLANTED-1".to_owned()),
            "ANTHROPIC_API_KEY" => Some("PLANTED-1\"tail".to_owned()),
            "OTHER_API_KEY" => Some("another-secret-0123".to_owned()),
            _ => None,
        });
        let rows = [
            ("- none", "- none"),
            ("x PLANTED-1 y PLANTED-1", "x [redacted key] y [redacted key]"),
            ("PLANTED-1\"tail", "[redacted key]"),
            (r#"{"k":"PLANTED-1\"tail"}"#, r#"{"k":"[redacted key]"}"#),
            ("another-secret-0123", "another-secret-0123"),
        ];
        for (text, want) in rows {
            assert_eq!(keys.hide(text), want);
        }
        for (key, is_one) in [("abcdefg", false), ("abcdefgh", false), ("abcdefg1", true), ("abcdefghijklmnop", true), ("1234567", false)] {
            assert_eq!(Keys::of(|_| Some(key.to_owned())).hide(key) == MASK, is_one, "{key}");
        }
    }
}
