//! When to act: the threshold of a context window, and the errors that say that a context is too long.

use std::io;
use std::sync::{Arc, LazyLock};

use regex::RegexSet;

use super::tokens::Counter;
use super::usage;
use crate::models::{self, Catalogue};
use crate::session::{Ix, Json, Kind, Message, Owner, Role, Session, Stop};

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
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the rule is a percentage, rounded down"
)]
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
    if wanted >= window || (reserve.is_none() && too_much) { share.max(1) } else { wanted }
}

/// What is set about the window, before a session's model is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// Tokens of the window; `None` means the model's.
    pub window: Option<u64>,
    /// When a context is to be compacted.
    pub threshold: Threshold,
    /// Tokens kept free; `None` means the default rule.
    pub reserve: Option<u64>,
    /// The model; `None` means the session's.
    pub model: Option<String>,
    /// What is known about models.
    pub catalogue: Arc<Catalogue>,
}

/// The window that a session's context is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Tokens of the window.
    pub tokens: u64,
    /// Tokens above which a context is compacted.
    pub threshold: u64,
    /// Neither the settings nor the model told the window.
    pub assumed: bool,
}

impl Limits {
    /// The window of a session that is on `model`: as set, else the model's, else the default.
    #[must_use]
    pub fn window(&self, model: Option<&str>) -> Window {
        let known = self.window.or_else(|| self.model.as_deref().or(model).and_then(|model| self.catalogue.window(model)));
        let tokens = known.unwrap_or(models::DEFAULT_WINDOW);
        Window { tokens, threshold: threshold_tokens(tokens, self.threshold, self.reserve), assumed: known.is_none() }
    }

    /// The window of the model that a path is on.
    ///
    /// # Errors
    /// When an entry cannot be read.
    pub fn window_of(&self, session: &Session, path: &[Ix]) -> io::Result<Window> {
        Ok(self.window(current_model(session, path)?.as_deref()))
    }
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

/// What asks for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The person did.
    Manual,
    /// The last request was longer than the model's context.
    Overflow,
    /// The last answer ran into its limit.
    Incomplete,
    /// The context is above the threshold.
    Threshold,
    /// The same, asked for while nobody works.
    Idle,
}

impl Reason {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Manual => "manual",
            Reason::Overflow => "overflow",
            Reason::Incomplete => "incomplete",
            Reason::Threshold => "threshold",
            Reason::Idle => "idle",
        }
    }

    /// Whether the agent makes the turn again after the compaction; the failing turn then leaves the path.
    #[must_use]
    pub fn will_retry(self) -> bool {
        matches!(self, Reason::Overflow | Reason::Incomplete)
    }
}

/// A model with a larger window, to switch to instead of compacting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promoted {
    /// The model that the path is on.
    pub from: Option<String>,
    /// `provider/id`.
    pub to: String,
    /// Tokens of its window.
    pub window: u64,
}

/// What a path asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What asks for a compaction, if anything does.
    pub reason: Option<Reason>,
    /// Entries of the path that are compacted: without the turn that is made again.
    pub end: usize,
    /// The model that the path is on.
    pub model: Option<String>,
    /// What the context is measured against.
    pub window: Window,
    /// The model to switch to instead.
    pub promotion: Option<Promoted>,
}

/// What a path asks for: the conditions in their order, the first that holds.
///
/// Tokens are counted only as far as the answer hangs on them.
///
/// # Errors
/// When an entry cannot be read.
pub fn check(counter: &mut Counter<'_>, path: &[Ix], limits: &Limits, idle: bool) -> io::Result<Asked> {
    let session = counter.session();
    let model = current_model(session, path)?;
    let window = limits.window(model.as_deref());
    let mut asked = Asked { reason: None, end: path.len(), model, window, promotion: None };
    let fresh = usage::fresh_from(session, path);
    let answers = path.iter().skip(fresh).rposition(|ix| session[*ix].kind == Kind::Message && session[*ix].role == Role::Assistant);
    let Some((at, last)) = answers.and_then(|n| Some((n + fresh, path.get(n + fresh).copied()?))) else { return Ok(asked) };
    let stop = session[last].stop;
    // The turn that is made again goes off the path, unless somebody spoke after it: what they said must stay.
    let is_said = |ix: &Ix| session[*ix].is_message() && session[*ix].role != Role::ToolResult;
    let without = if path.iter().skip(at + 1).any(is_said) { path.len() } else { at };
    let (model, too_long, reported) = session.with_message(last, |message: &Message<'_>| {
        (message.model.clone(), message.error.as_deref().is_some_and(is_overflow), message.usage.map_or(0, |u| u.prompt_tokens()))
    })?;
    let same_model = model.is_none() || asked.model == model;
    if stop == Stop::Error && same_model && (too_long || reported > window.tokens) {
        asked.reason = Some(Reason::Overflow);
        asked.end = without;
    } else if stop == Stop::Length && same_model {
        asked.reason = Some(Reason::Incomplete);
        asked.end = without;
    } else if !stop.failed() && stop != Stop::Length {
        let context = session.context(path)?;
        if usage::exceeds(counter, path, &context, window.threshold)? {
            asked.reason = Some(if idle { Reason::Idle } else { Reason::Threshold });
        }
    }
    if matches!(asked.reason, Some(Reason::Overflow | Reason::Incomplete | Reason::Threshold)) {
        asked.promotion = promotion(counter, path.get(..asked.end).unwrap_or_default(), limits, &asked)?;
    }
    Ok(asked)
}

/// The listed model that holds the context of a path where the present one does not.
fn promotion(counter: &mut Counter<'_>, path: &[Ix], limits: &Limits, asked: &Asked) -> io::Result<Option<Promoted>> {
    let catalogue = &limits.catalogue;
    let model = limits.model.as_deref().or(asked.model.as_deref());
    let window = asked.window.tokens;
    if catalogue.promotion(model, window, 0).is_none() {
        return Ok(None);
    }
    let context = counter.session().context(path)?;
    let needed = usage::estimate(counter, path, &context)?.context;
    let to = catalogue.promotion(model, window, needed).filter(|(to, _)| asked.model.as_deref() != Some(*to));
    Ok(to.map(|(to, window)| Promoted { from: asked.model.clone(), to: to.to_owned(), window }))
}

/// The change of a path's model as one line with its line end, in the form of the session's owner, and its id.
///
/// # Errors
/// When it cannot be put into JSON.
pub fn model_change(session: &Session, path: &[Ix], promoted: &Promoted, now: &str) -> io::Result<(String, Vec<u8>)> {
    let parent = path.last().map(|ix| session.id(*ix));
    let id = session.new_id(parent, promoted.to.as_bytes());
    let mut entry = serde_json::Map::new();
    let mut put = |key: &str, value: serde_json::Value| entry.insert(key.to_owned(), value);
    put("type", "model_change".into());
    put("id", id.clone().into());
    put("parentId", parent.into());
    put("timestamp", now.into());
    let owner = session.owner();
    // Where nothing tells the owner, readers of both forms find theirs.
    if matches!(owner, Owner::Omp | Owner::Unknown) {
        put("model", promoted.to.as_str().into());
    }
    if let Some((provider, model)) = promoted.to.split_once('/').filter(|_| owner != Owner::Omp) {
        put("provider", provider.into());
        put("modelId", model.into());
    }
    let mut line = serde_json::to_vec(&entry).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok((id, line))
}

/// The model that a path is on: the latest that was chosen or that answered, `provider/id`.
///
/// # Errors
/// When an entry cannot be read.
pub fn current_model(session: &Session, path: &[Ix]) -> io::Result<Option<String>> {
    for ix in path.iter().rev().copied() {
        let entry = &session[ix];
        let model = match entry.kind {
            Kind::Message if entry.role == Role::Assistant => session.with_message(ix, |message| message.model.clone())?,
            Kind::ModelChange => {
                let payload = session.read(ix)?;
                let text = payload.text();
                let record = Json::parse(&text).unwrap_or(Json::Null);
                // oh-my-pi keeps models for other roles beside the one that talks.
                if record.get("role").str().is_some_and(|role| role != "default") {
                    continue;
                }
                match (record.get("model").str(), record.get("provider").str(), record.get("modelId").str()) {
                    (Some(model), ..) => Some(model.to_owned()),
                    (None, Some(provider), Some(id)) => Some(format!("{provider}/{id}")),
                    (None, None, Some(id)) => Some(id.to_owned()),
                    _ => None,
                }
            }
            _ => None,
        };
        if model.is_some() {
            return Ok(model);
        }
    }
    Ok(None)
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
