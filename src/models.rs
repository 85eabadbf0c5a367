//! What is known about models: how large their windows are.
//!
//! The figures stand in `models.toml`, which is compiled in. An id that no row knows gets the default window, and the
//! answer says so.

use std::sync::LazyLock;

use serde::Deserialize;

/// Tokens of a window when nothing is known about the model.
pub const DEFAULT_WINDOW: u64 = 200_000;

#[derive(Deserialize)]
struct Table {
    model: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    pattern: String,
    window: u64,
}

static TABLE: LazyLock<Vec<Row>> =
    LazyLock::new(|| toml::from_str::<Table>(include_str!("models.toml")).map(|table| table.model).unwrap_or_default());

/// Tokens of a model's window, when the model is known. `model` is `provider/id` or an id.
#[must_use]
pub fn window(model: &str) -> Option<u64> {
    let id = model.rsplit('/').next().unwrap_or(model);
    TABLE.iter().filter(|row| id.starts_with(&row.pattern)).max_by_key(|row| row.pattern.len()).map(|row| row.window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pattern_counts() {
        assert!(TABLE.len() > 8);
        assert_eq!(window("anthropic/claude-sonnet-4-5"), Some(200_000));
        assert_eq!(window("openrouter/openai/gpt-4.1-mini"), Some(1_047_576));
        assert_eq!(window("openai/gpt-5.1-codex"), Some(400_000));
        assert_eq!(window("local/unheard-of"), None);
    }
}
