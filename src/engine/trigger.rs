//! When to act: the threshold of a context window, and the errors that say that a context is too long.

use std::sync::LazyLock;

use regex::RegexSet;

/// How far a context may grow before it is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Threshold {
    /// The window less the reserve.
    #[default]
    Window,
    /// A number of tokens.
    Tokens(u64),
    /// Percent of the window.
    Percent(f64),
}

/// Tokens that are kept free for the answer when nothing else is said.
pub const RESERVE_TOKENS: u64 = 16_384;

/// Tokens above which a context is to be compacted.
///
/// `reserve` is `None` when the setting was left at its default; the default gives way to 15 % of the window when the window
/// is too small for it.
#[must_use]
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the rule is a percentage, rounded down")]
pub fn threshold_tokens(window: u64, threshold: Threshold, reserve: Option<u64>) -> u64 {
    let most = window.saturating_sub(1);
    match threshold {
        Threshold::Tokens(tokens) if tokens > 0 => tokens.max(1).min(most),
        Threshold::Percent(percent) if percent > 0.0 => (window as f64 * percent.clamp(1.0, 99.0) / 100.0).floor() as u64,
        _ => window.saturating_sub(reserve_of(window, reserve)).min(most),
    }
}

fn reserve_of(window: u64, reserve: Option<u64>) -> u64 {
    let share = u64::try_from(u128::from(window) * 15 / 100).unwrap_or(u64::MAX);
    let wanted = share.max(reserve.unwrap_or(RESERVE_TOKENS));
    let too_much = u128::from(wanted) * 100 >= u128::from(window) * 85;
    if wanted > window || (reserve.is_none() && too_much) { share.max(1) } else { wanted }
}

/// What providers say when a request is longer than the model's context, one row for each wording.
const OVERFLOW: &[&str] = &[
    r"prompt is too long",
    r"input is too long for",
    r"exceeds? the (model's )?context (window|length)",
    r"exceeds the available context size",
    r"context[_ ]length[_ ]exceeded",
    r"context[_ ]window[_ ]exceeded",
    r"context window exceeds limit",
    r"maximum (context|prompt) length",
    r"greater than the context length",
    r"reduce the length of the messages",
    r"input token count .*exceeds the maximum",
    r"prompt token count .*exceeds the limit",
    r"input tokens exceed",
    r"exceeded model token limit",
    r"^4(00|13) status code \(no body\)$",
];

/// Texts that name tokens and limits and mean something else: a rate, an image, the length of the answer.
const NO_OVERFLOW: &[&str] = &[r"throttl", r"rate limit", r"too many requests", r"overloaded", r"number of output tokens"];

static OVERFLOW_SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| set(OVERFLOW));
static NO_OVERFLOW_SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| set(NO_OVERFLOW));

fn set(rows: &[&str]) -> Option<RegexSet> {
    RegexSet::new(rows.iter().map(|row| format!("(?i){row}"))).ok()
}

/// Whether a provider's error says that the context or the prompt is too long.
#[must_use]
pub fn is_overflow(error: &str) -> bool {
    let matches = |set: &Option<RegexSet>| set.as_ref().is_some_and(|set| set.is_match(error.trim()));
    matches(&OVERFLOW_SET) && !matches(&NO_OVERFLOW_SET)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::Value;

    use super::*;

    fn table(name: &str) -> Vec<Value> {
        let text = include_str!("../../testdata/triggers.json");
        serde_json::from_str::<Value>(text).unwrap().get(name).unwrap().as_array().unwrap().clone()
    }

    #[test]
    fn thresholds_follow_the_table() {
        let rows = table("threshold");
        assert!(rows.len() > 50, "{} rows", rows.len());
        for row in rows {
            let number = |key: &str| row.get(key).and_then(Value::as_u64);
            let threshold = match (number("thresholdTokens").filter(|t| *t > 0), row.get("thresholdPercent").and_then(Value::as_f64)) {
                (Some(tokens), _) => Threshold::Tokens(tokens),
                (None, Some(percent)) => Threshold::Percent(percent),
                (None, None) => Threshold::Window,
            };
            let got = threshold_tokens(number("window").unwrap(), threshold, number("reserveTokens"));
            assert_eq!(Some(got), number("threshold"), "{row}");
        }
    }

    #[test]
    fn overflow_is_told_from_other_errors() {
        let rows = table("overflow");
        assert!(rows.len() > 30, "{} rows", rows.len());
        for row in rows {
            assert_eq!(Some(is_overflow(row.get("text").unwrap().as_str().unwrap())), row.get("expected").unwrap().as_bool(), "{row}");
        }
    }
}
