//! What all sessions of a run share: the connection, the key, and what keeps requests from multiplying.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::OnlineError;
use super::http::{self, Call, Client, Failure, Reply};
use crate::summarize::choice::{Choice, Kind};
use crate::summarize::keys::{Keys, get};

/// Requests that are under way side by side when nothing else is said.
const SIDE_BY_SIDE: usize = 2;

/// The longest pause that is made because a server asks for it; the agents' users rather get an error.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Who is asked, for a whole run.
pub struct Provider {
    pub(super) choice: Choice,
    key: Option<String>,
    /// All keys of the environment: none of them may come back in words.
    keys: Keys,
    client: Client,
    /// Requests so far.
    sent: AtomicU64,
    /// Free places for requests.
    free: Mutex<usize>,
    freed: Condvar,
    /// Nobody sends before this time: a server that is busy is so for all.
    resume: Mutex<Option<Instant>>,
}

/// What is wrong with the settings of a provider, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Unfit {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

fn unfit(message: impl Into<String>, hint: &str) -> Unfit {
    Unfit { message: message.into(), hint: hint.to_owned() }
}

impl Provider {
    /// A provider from settings; `env` gives the keys, and `jobs` is how many requests may be under way side by side.
    ///
    /// # Errors
    /// When something is missing that every request needs.
    pub fn new(choice: &Choice, env: impl Fn(&str) -> Option<String>, jobs: Option<usize>) -> Result<Provider, Unfit> {
        let kind = choice.kind;
        let name = kind.name();
        if kind.is_http() && cfg!(not(feature = "online")) {
            return Err(unfit(
                format!("this build has no summarizer {name}"),
                "build it with the feature online, or use offline or command",
            ));
        }
        match kind {
            Kind::Endpoint if choice.endpoint.is_none() => {
                return Err(unfit("--summarizer endpoint needs --endpoint", "give its address, such as http://localhost:8080/summarize"));
            }
            Kind::Command if choice.command.is_none() => {
                return Err(unfit(
                    "--summarizer command needs --summarizer-command",
                    "give a program that reads a prompt and prints a summary",
                ));
            }
            Kind::Openai | Kind::OpenaiCompact | Kind::Anthropic if choice.model.is_none() => {
                return Err(unfit(format!("--summarizer {name} needs --summarizer-model"), "give the provider's own name of the model"));
            }
            _ => {}
        }
        let key = key(choice, &env);
        if key.is_none() && kind != Kind::Endpoint && kind.is_http() && choice.base_url.is_none() {
            let names = if kind == Kind::Anthropic { "ANTHROPIC_API_KEY" } else { "OPENAI_API_KEY" };
            return Err(unfit(format!("--summarizer {name} needs a key"), &format!("set {names} or EPITOME_API_KEY in the environment")));
        }
        let client =
            Client::new().map_err(|why| unfit(format!("no connection can be made: {why}"), "see the certificates of this machine"))?;
        Ok(Provider {
            choice: choice.clone(),
            key,
            keys: Keys::of(env),
            client,
            sent: AtomicU64::new(0),
            free: Mutex::new(jobs.unwrap_or(SIDE_BY_SIDE).max(1)),
            freed: Condvar::new(),
            resume: Mutex::new(None),
        })
    }

    /// The address of a request.
    pub(super) fn url(&self, path: &str) -> String {
        let own = if self.choice.kind == Kind::Anthropic { "https://api.anthropic.com/v1" } else { "https://api.openai.com/v1" };
        let base = match (&self.choice.base_url, self.choice.kind) {
            (Some(base), Kind::Anthropic) if !base.ends_with("/v1") => format!("{base}/v1"),
            (Some(base), _) => base.clone(),
            (None, _) => own.to_owned(),
        };
        format!("{base}{path}")
    }

    /// Whether requests go to OpenAI itself.
    pub(super) fn is_openai(&self) -> bool {
        http::host(&self.url("")) == "api.openai.com"
    }

    /// Headers that say who asks.
    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let key = self.key.as_ref();
        match self.choice.kind {
            Kind::Anthropic => {
                let version = ("anthropic-version", "2023-06-01".to_owned());
                key.map(|key| ("x-api-key", key.clone())).into_iter().chain([version]).collect()
            }
            _ => key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect(),
        }
    }

    /// A text that may have come from outside, without keys.
    pub(super) fn without_key(&self, text: &str) -> String {
        self.keys.hide(text).into_owned()
    }

    /// Sends a request, again where that may help: only the status decides, never what the body says. `sending` is told
    /// before each try.
    pub(super) fn send(&self, call: &Call, sending: &mut dyn FnMut()) -> Result<Reply, OnlineError> {
        let host = http::host(&call.url).to_owned();
        let mut tries = 0;
        loop {
            let result = {
                let _place = self.place();
                self.pause();
                self.count()?;
                sending();
                tries += 1;
                self.client.post(call, self.choice.timeout, self.choice.idle_timeout)
            };
            let failure = match result {
                Ok(reply) => return Ok(Reply { body: self.without_key(&reply.body), ..reply }),
                Err(failure) => self.masked(failure),
            };
            let asked = match &failure {
                Failure::Status { code: 408 | 429 | 500..=599, retry_after, .. } => {
                    retry_after.as_deref().and_then(|value| http::retry_after(value, jiff::Timestamp::now()))
                }
                Failure::Dropped(_) => None,
                _ => return Err(OnlineError::of(&failure, &host, tries)),
            };
            if tries > self.choice.retries {
                return Err(OnlineError::of(&failure, &host, tries));
            }
            let wait = asked.unwrap_or_else(|| Duration::from_secs(1 << (tries - 1).min(5)));
            if wait > LONGEST_PAUSE {
                let busy = OnlineError::of(&failure, &host, tries);
                return Err(OnlineError::new(format!("{busy}; it asks to wait {} s", wait.as_secs()), Some("run again after that time")));
            }
            let mut resume = self.resume.lock().unwrap_or_else(PoisonError::into_inner);
            *resume = (*resume).max(Some(Instant::now() + scaled(wait)));
        }
    }

    /// Counts a request that is about to be made.
    pub(super) fn count(&self) -> Result<(), OnlineError> {
        let most = self.choice.max_requests;
        if self.sent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sent| (sent < most).then_some(sent + 1)).is_err() {
            let hint = Some("raise it with --max-requests, or summarize less at once");
            return Err(OnlineError::new(format!("the limit of {most} requests for this run is reached"), hint));
        }
        Ok(())
    }

    /// Waits for a free place, and gives it back when the result is dropped.
    pub(super) fn place(&self) -> Place<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Place(self)
    }

    /// Waits as long as somebody was asked to wait; others may be asked meanwhile.
    fn pause(&self) {
        let left = || {
            let until = *self.resume.lock().unwrap_or_else(PoisonError::into_inner);
            until.and_then(|until| until.checked_duration_since(Instant::now())).filter(|left| !left.is_zero())
        };
        while let Some(left) = left() {
            thread::sleep(left);
        }
    }

    fn masked(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Status { code, reason, retry_after, body } => {
                Failure::Status { code, reason, retry_after, body: self.without_key(&body) }
            }
            Failure::Dropped(why) => Failure::Dropped(self.without_key(&why)),
            Failure::Connect(why) => Failure::Connect(self.without_key(&why)),
            other => other,
        }
    }
}

/// A request's place among those that are under way.
pub(super) struct Place<'a>(&'a Provider);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

/// The key: the program's own variable, or the provider's. A provider's key goes to another server only over a connection
/// that nobody can listen to, or within this machine.
fn key(choice: &Choice, env: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let get = |name: &str| get(env, name);
    let own = match choice.kind {
        Kind::Openai | Kind::OpenaiCompact => "OPENAI_API_KEY",
        Kind::Anthropic => "ANTHROPIC_API_KEY",
        _ => return get("EPITOME_API_KEY"),
    };
    let is_safe = choice.base_url.as_deref().is_none_or(|base| {
        let host = http::host(base);
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        base.starts_with("https://") || matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    });
    get("EPITOME_API_KEY").or_else(|| get(own).filter(|_| is_safe))
}

/// Debug builds can be told to wait less than they should, so that tests do not take minutes: thousandths of a wait.
pub(super) fn scaled(wait: Duration) -> Duration {
    #[cfg(debug_assertions)]
    if let Some(thousandths) = std::env::var("EPITOME_TEST_WAIT_THOUSANDTHS").ok().and_then(|n| n.parse::<u32>().ok()) {
        return wait * thousandths / 1_000;
    }
    wait
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn keys_go_only_where_they_belong() {
        let env = |name: &str| match name {
            "OPENAI_API_KEY" => Some(" o ".to_owned()),
            "ANTHROPIC_API_KEY" => Some("a".to_owned()),
            _ => None,
        };
        let own = |name: &str| (name == "EPITOME_API_KEY").then(|| "e".to_owned()).or_else(|| env(name));
        let with = |kind, base: Option<&str>| Choice { kind, base_url: base.map(str::to_owned), ..Choice::default() };
        let rows = [
            (Kind::Openai, None, Some("o")),
            (Kind::OpenaiCompact, Some("https://proxy.example/v1"), Some("o")),
            (Kind::Openai, Some("http://127.0.0.1:80/v1"), Some("o")),
            (Kind::Openai, Some("http://proxy.example/v1"), None),
            (Kind::Openai, Some("http://localhost.example:80/v1"), None),
            (Kind::Anthropic, None, Some("a")),
            (Kind::Endpoint, None, None),
            (Kind::Command, None, None),
        ];
        for (kind, base, want) in rows {
            assert_eq!(key(&with(kind, base), &env).as_deref(), want, "{kind:?} {base:?}");
            assert_eq!(key(&with(kind, base), &own).as_deref(), Some("e"), "{kind:?} {base:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said_before_anything_is_sent() {
        let fit = |choice: Choice, env: &dyn Fn(&str) -> Option<String>| Provider::new(&choice, env, None).err().map(|e| e.message);
        let none = |_: &str| None;
        let of = |kind| Choice { kind, ..Choice::default() };
        for kind in [Kind::Endpoint, Kind::Command, Kind::Openai, Kind::OpenaiCompact, Kind::Anthropic] {
            assert!(fit(of(kind), &none).unwrap().contains("needs"), "{kind:?}");
        }
        let with_model = Choice { model: Some("m".to_owned()), ..of(Kind::Openai) };
        assert!(fit(with_model.clone(), &none).unwrap().contains("a key"));
        assert_eq!(fit(with_model.clone(), &|_| Some("k".to_owned())), None);
        assert_eq!(fit(Choice { base_url: Some("http://localhost/v1".to_owned()), ..with_model }, &none), None);
    }

    #[test]
    fn addresses_are_joined() {
        let url = |kind, base: Option<&str>| {
            let choice = Choice { kind, model: Some("m".to_owned()), base_url: base.map(str::to_owned), ..Choice::default() };
            Provider::new(&choice, |_| Some("k".to_owned()), None).unwrap().url("/x")
        };
        assert_eq!(url(Kind::Openai, None), "https://api.openai.com/v1/x");
        assert_eq!(url(Kind::Openai, Some("http://h/api")), "http://h/api/x");
        assert_eq!(url(Kind::Anthropic, None), "https://api.anthropic.com/v1/x");
        assert_eq!(url(Kind::Anthropic, Some("http://h")), "http://h/v1/x");
        assert_eq!(url(Kind::Anthropic, Some("http://h/v1")), "http://h/v1/x");
    }
}
