//! Why an online summarizer gave nothing.

use super::http::Failure;
use crate::process::{CommandError, seconds};
use crate::text;

/// What follows from an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// The request was longer than the model's context; a shorter one may do.
    TooLong,
    /// The answer is no summary.
    Unusable,
    /// Anything else.
    Other,
}

/// An error of an online summarizer, in words that hold no key and no password.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct OnlineError {
    message: String,
    /// What to do.
    pub hint: Option<String>,
    pub(super) sort: Sort,
}

impl OnlineError {
    pub(super) fn new(message: impl Into<String>, hint: Option<&str>) -> OnlineError {
        OnlineError { message: message.into(), hint: hint.map(str::to_owned), sort: Sort::Other }
    }

    /// An answer that is no summary.
    pub(super) fn unusable(who: &str, what: &str) -> OnlineError {
        let mut error =
            OnlineError::new(format!("the answer of {who} cannot be used: {what}"), Some("nothing was written; another model may do"));
        error.sort = Sort::Unusable;
        error
    }

    pub(super) fn command(error: &CommandError) -> OnlineError {
        OnlineError::new(format!("the command that summarizes failed: {error}"), Some("see --summarizer-command; nothing was written"))
    }

    /// A failed request to `host`, after `tries` of them.
    pub(super) fn of(failure: &Failure, host: &str, tries: u32) -> OnlineError {
        let times = if tries > 1 { format!(", {tries} times") } else { String::new() };
        match failure {
            Failure::Status { code, reason, body, .. } => {
                let said = said(body);
                let message = format!("{host} answered {code} {reason}{times}{}{said}", if said.is_empty() { "" } else { ": " });
                let hint = match code {
                    401 | 403 => "is the right key in OPENAI_API_KEY, ANTHROPIC_API_KEY or EPITOME_API_KEY?",
                    404 | 405 => "are --base-url, --endpoint and --summarizer-model right?",
                    300..=399 => "redirections are not followed; give the address that it leads to",
                    408 | 429 | 500.. => "the server is busy; run again later, or with more --retries",
                    _ => "nothing was written",
                };
                let mut error = OnlineError::new(message.trim_end(), Some(hint));
                if *code == 413 || (*code == 400 && crate::engine::trigger::is_overflow(body)) {
                    error.sort = Sort::TooLong;
                }
                error
            }
            Failure::Connect(why) => {
                OnlineError::new(format!("cannot connect to {host}: {why}"), Some("is the server running, and the address right?"))
            }
            Failure::Dropped(why) => OnlineError::new(format!("{host} dropped the connection{times}: {why}"), Some("run again later")),
            Failure::Timeout(total) => OnlineError::new(
                format!("{host} did not finish its answer within {}", seconds(*total)),
                Some("give it more time with --timeout"),
            ),
            Failure::Idle(idle) => {
                OnlineError::new(format!("{host} stopped in the middle of its answer for {}", seconds(*idle)), Some("see --idle-timeout"))
            }
            Failure::TooLarge => OnlineError::new(format!("the answer of {host} is too large"), None),
            Failure::NotBuilt => OnlineError::new("this build makes no requests", Some("build it with the feature online")),
        }
    }
}

/// What an error's body says, in short: its message where it is JSON.
fn said(body: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let message = ["/error/message", "/error", "/message", "/detail"].iter().find_map(|at| value.pointer(at)?.as_str());
    text::one_line(&text::strip(message.unwrap_or(body)), 300)
}
