//! Who writes summaries, as a person sets it.

use std::time::Duration;

/// Who writes summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Extracts what matters; no model, no network.
    #[default]
    Offline,
    /// The first 2,000 bytes, to test wiring.
    Truncate,
    /// Any server that takes a prompt and gives a summary.
    Endpoint,
    /// Chat completions, at OpenAI or any server that speaks as it does.
    Openai,
    /// OpenAI's own compaction, with chat completions behind it.
    OpenaiCompact,
    /// Anthropic's messages.
    Anthropic,
    /// A program on this machine.
    Command,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 7] =
        [Kind::Offline, Kind::Truncate, Kind::Endpoint, Kind::Openai, Kind::OpenaiCompact, Kind::Anthropic, Kind::Command];

    /// The name in settings, receipts and entries.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Offline => "offline",
            Kind::Truncate => "truncate",
            Kind::Endpoint => "endpoint",
            Kind::Openai => "openai",
            Kind::OpenaiCompact => "openai-compact",
            Kind::Anthropic => "anthropic",
            Kind::Command => "command",
        }
    }

    /// Whether it makes requests over HTTP.
    #[must_use]
    pub fn is_http(self) -> bool {
        matches!(self, Kind::Endpoint | Kind::Openai | Kind::OpenaiCompact | Kind::Anthropic)
    }
}

/// What is set about those who write summaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Who.
    pub kind: Kind,
    /// The model.
    pub model: Option<String>,
    /// Where a provider is, without a slash at the end; `None` means its own place.
    pub base_url: Option<String>,
    /// Where `endpoint` is.
    pub endpoint: Option<String>,
    /// What `command` runs.
    pub command: Option<String>,
    /// The longest that one request may take.
    pub timeout: Duration,
    /// The longest that an answer may pause.
    pub idle_timeout: Duration,
    /// How often a request is sent again.
    pub retries: u32,
    /// Most requests of the whole run.
    pub max_requests: u64,
    /// Most tokens of one request; `None` means what the model's window takes.
    pub max_input_tokens: Option<u64>,
}

impl Default for Choice {
    fn default() -> Self {
        Choice {
            kind: Kind::Offline,
            model: None,
            base_url: None,
            endpoint: None,
            command: None,
            timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(60),
            retries: 3,
            max_requests: 100,
            max_input_tokens: None,
        }
    }
}

impl Choice {
    /// Sets what `key` names, without the `online.` before it.
    ///
    /// # Errors
    /// When the value is wrong.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let whole = |text: &str| text.trim().parse::<u32>().map_err(|_| format!("'{text}' is no number; use one such as 3"));
        match key {
            "summarizer" => {
                let names = Kind::ALL.map(Kind::name).join(", ");
                let known = Kind::ALL.into_iter().find(|kind| kind.name() == text);
                self.kind = known.ok_or_else(|| format!("'{text}' is no summarizer; use {names}"))?;
            }
            "model" => self.model = Some(text.to_owned()),
            "base_url" => self.base_url = Some(url(text)?),
            "endpoint" => self.endpoint = Some(url(text)?),
            "command" => self.command = Some(text.to_owned()),
            "timeout" => self.timeout = duration(text)?,
            "idle_timeout" => self.idle_timeout = duration(text)?,
            "retries" => self.retries = whole(text)?,
            "max_requests" => self.max_requests = u64::from(whole(text)?.max(1)),
            "max_input_tokens" => {
                let tokens = crate::settings::amount(text)?;
                if tokens < LEAST_INPUT {
                    return Err(format!("{text} is out of range; use at least {LEAST_INPUT}"));
                }
                self.max_input_tokens = Some(tokens);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Tokens of a request below which prompt and previous summary leave no room for a conversation.
pub const LEAST_INPUT: u64 = 2_000;

/// The address of a server; what is wrong with it must not be quoted, because it may hold a password.
fn url(text: &str) -> Result<String, String> {
    let text = text.trim();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') && !text.contains(char::is_whitespace) => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err("this is no address; use one such as http://localhost:8080/v1".to_owned()),
    }
}

/// A time: seconds (`30`, `0.5`), or with a unit (`500ms`, `90s`, `5m`).
///
/// # Errors
/// When the text is no time, or none at all.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, unit) = [("ms", 0.001), ("s", 1.0), ("m", 60.0)]
        .into_iter()
        .find_map(|(unit, size)| text.strip_suffix(unit).map(|number| (number, size)))
        .unwrap_or((text, 1.0));
    let is_plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds = number.parse::<f64>().ok().filter(|_| is_plain).map(|number| number * unit);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero() && *time <= Duration::from_secs(86_400))
        .ok_or_else(|| format!("'{text}' is no time; use seconds, such as 30, 0.5, 90s or 5m, up to a day"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_take_units() {
        let rows = [("30", Some(30_000)), ("0.5", Some(500)), ("500ms", Some(500)), ("90s", Some(90_000)), ("5m", Some(300_000))];
        for (text, want) in rows {
            assert_eq!(duration(text).ok().map(|t| t.as_millis()), want, "{text}");
        }
        for text in ["", "0", "-1", "s", "1h", "inf", "1e3", "100000", "1.2.3"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_are_checked_and_never_quoted() {
        assert_eq!(url("http://localhost:8080/v1/").unwrap(), "http://localhost:8080/v1");
        for text in ["localhost:8080", "ftp://x", "https://", "http:///v1", "http://a b"] {
            assert!(url(text).is_err(), "{text}");
        }
        assert!(!url("user:hunter2@host").unwrap_err().contains("hunter2"));
    }

    #[test]
    fn every_name_is_one() {
        let mut choice = Choice::default();
        for kind in Kind::ALL {
            choice.set("summarizer", kind.name()).unwrap();
            assert_eq!(choice.kind, kind);
        }
        assert!(choice.set("summarizer", "gpt").unwrap_err().contains("openai-compact"));
    }
}
