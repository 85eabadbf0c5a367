//! Summaries by a model: over HTTP, or by a program on this machine.
//!
//! The record goes out as text between tags, with its secrets masked. What is longer than one request takes is summarized in
//! parts, each updating the summary of those before it, and when a provider says that a request was too long the parts become
//! smaller (`fold`). Where a provider can take the conversation as what it is, it gets it so (`whole`). An answer that is no
//! summary is an error, and an error is said: nothing is written, and nobody else makes the words unless a person asked for
//! that.

mod answer;
mod error;
mod fold;
#[cfg_attr(not(feature = "online"), allow(dead_code, reason = "what only requests need"))]
mod http;
mod native;
mod prompt;
mod provider;
mod relevance;
mod whole;
mod wire;

use std::cell::{Cell, RefCell};

use serde_json::{Value, json};

pub use error::OnlineError;
pub use provider::{Provider, Unfit};

use http::Call;
use wire::Ask;

use super::choice::{Kind, LEAST_INPUT};
use super::offline::Offline;
use super::{Account, Line, Purpose, Request, SummarizeError, Summarizer, Summary};
use crate::engine::serialize::{Form, Selection};
use crate::engine::window::OPENAI_REPLAY;
use crate::process;
use crate::session::{Ix, Session};
use crate::text;

/// Tokens of a request when nothing is known about the model.
const INPUT: u64 = 100_000;

/// Bytes that a program may print.
const MOST_OUTPUT: usize = 4 * 1024 * 1024;

/// Characters of a short summary.
const SHORT_CHARS: usize = 240;

/// Tokens of an answer that a model may use for thinking before it writes.
const THINKING_ROOM: u64 = 2_048;

/// A summarizer that is a model, for one session.
pub struct Online<'a> {
    provider: &'a Provider,
    /// Told what is sent, before it is.
    say: &'a dyn Fn(&str),
    /// Whether secrets are masked.
    mask: bool,
    /// Whether the offline summarizer may take its place.
    falls_back: bool,
    /// Tokens of one request.
    limit: Cell<u64>,
    /// Whether that limit was set or is known, and not only assumed.
    limit_is_known: bool,
    /// Whether the provider's own compaction is asked first.
    compacts: Cell<bool>,
    account: RefCell<Account>,
}

impl<'a> Online<'a> {
    /// For one session. `window` is what is known of the model's, in tokens.
    #[must_use]
    pub fn new(provider: &'a Provider, window: Option<u64>, say: &'a dyn Fn(&str), mask: bool, falls_back: bool) -> Online<'a> {
        // A fifth of the window is left for the answer and for tokens that are counted otherwise there.
        let known = provider.choice.max_input_tokens.or_else(|| window.map(|window| window * 8 / 10));
        let account = RefCell::new(Account { model: provider.choice.model.clone(), ..Account::default() });
        Online {
            provider,
            say,
            mask,
            falls_back,
            limit: Cell::new(known.unwrap_or(INPUT).max(LEAST_INPUT)),
            limit_is_known: known.is_some(),
            compacts: Cell::new(provider.choice.kind == Kind::OpenaiCompact),
            account,
        }
    }

    fn kind(&self) -> Kind {
        self.provider.choice.kind
    }

    /// Anthropic's models refuse text that quotes thinking, whoever hands it to them.
    fn form(&self) -> Form {
        let model = self.provider.choice.model.as_deref().unwrap_or_default().to_ascii_lowercase();
        let is_anthropic = self.kind() == Kind::Anthropic || model.contains("claude") || model.contains("anthropic");
        Form { thinking: !is_anthropic, mask: self.mask, ..Form::default() }
    }

    /// A replaced history is told as its transcript.
    fn form_of(&self, purpose: Purpose) -> Form {
        match purpose {
            Purpose::Replacement => Form { mask: self.mask, ..Form::transcript() },
            _ => self.form(),
        }
    }

    fn who(&self) -> String {
        let choice = &self.provider.choice;
        match choice.kind {
            Kind::Command => "the command".to_owned(),
            Kind::Endpoint => http::host(choice.endpoint.as_deref().unwrap_or_default()).to_owned(),
            _ => http::host(&self.provider.url("")).to_owned(),
        }
    }

    fn masked(&self, text: &str) -> String {
        if self.mask { text::masked(text).into_owned() } else { text.to_owned() }
    }

    fn unusable(&self, what: &str) -> OnlineError {
        OnlineError::unusable(&self.who(), what)
    }

    /// Counts a request that is about to be sent, and says how large it is.
    fn sending(&self, tokens: u64, bytes: usize) {
        self.account.borrow_mut().requests += 1;
        (self.say)(&format!("sending {tokens} tokens ({bytes} bytes) to {}", self.who()));
    }

    /// Asks once, and gives words that are a summary. `most` is how many tokens they may take.
    fn ask(&self, user: &str, most: u64, count: &dyn Fn(&str) -> u64) -> Result<String, OnlineError> {
        let tokens = count(prompt::SYSTEM) + count(user);
        let text = self.request(user, most, tokens)?;
        answer::words(&text).map_err(|what| self.unusable(what))
    }

    /// One request, with what the transport sends again.
    fn request(&self, user: &str, most: u64, tokens: u64) -> Result<String, OnlineError> {
        let provider = self.provider;
        let choice = &provider.choice;
        let system = prompt::SYSTEM.trim();
        if choice.kind == Kind::Command {
            let prompt = format!("{system}\n\n{user}");
            let prompt = if self.mask { provider.without_key(&prompt) } else { prompt };
            let _place = provider.place();
            provider.count()?;
            self.sending(tokens, prompt.len());
            let command = choice.command.as_deref().unwrap_or_default();
            let note = |line: &str| (self.say)(&provider.without_key(line));
            let out = process::run(command, prompt.as_bytes(), choice.timeout, MOST_OUTPUT, &note).map_err(|e| OnlineError::command(&e))?;
            let text = String::from_utf8(out).map_err(|_| self.unusable("it is no text in UTF-8"))?;
            return Ok(provider.without_key(&text));
        }
        let model = choice.model.as_deref().unwrap_or_default();
        if choice.kind == Kind::Endpoint {
            let url = choice.endpoint.clone().unwrap_or_default();
            return self.post(url, &json!({"systemPrompt": system, "prompt": user, "maxTokens": most}), tokens, wire::endpoint_words);
        }
        let ask = Ask { model, system, messages: vec![wire::user(user)], tools: Vec::new(), most };
        self.talk(&self.talk_body(&ask), tokens)
    }

    /// The body of a conversation as Anthropic or OpenAI takes it; its messages and tools are in that form already.
    fn talk_body(&self, ask: &Ask<'_>) -> Value {
        if self.kind() == Kind::Anthropic { wire::anthropic_body(ask) } else { wire::openai_body(ask, self.provider.is_openai()) }
    }

    /// Sends such a body and reads the answer.
    fn talk(&self, body: &Value, tokens: u64) -> Result<String, OnlineError> {
        let (path, read): (_, wire::Read) = match self.kind() {
            Kind::Anthropic => ("/messages", wire::anthropic_words),
            _ => ("/chat/completions", wire::openai_words),
        };
        self.post(self.provider.url(path), body, tokens, read)
    }

    /// A request with this body, in which no key stands that a session may hold.
    fn call(&self, url: String, body: &Value) -> Call {
        let body = body.to_string();
        let body = if self.mask { self.provider.without_key(&body) } else { body };
        Call { url, headers: self.provider.headers(), body }
    }

    /// Sends a body and reads the answer; what it took is added up even when it cannot be used.
    fn post(&self, url: String, body: &Value, tokens: u64, read: wire::Read) -> Result<String, OnlineError> {
        let call = self.call(url, body);
        let reply = self.provider.send(&call, &mut || self.sending(tokens, call.body.len()))?;
        let mut usage = None;
        let text = read(&reply, &mut usage);
        self.used(usage);
        text.map_err(|what| self.unusable(&what))
    }

    /// Adds up what the provider reports.
    fn used(&self, usage: Option<super::Usage>) {
        if let Some(usage) = usage {
            self.account.borrow_mut().usage.get_or_insert_default().add(usage);
        }
    }

    /// The offline summarizer in place of this one, and why.
    fn offline(&self, request: &Request<'_>, why: String) -> Result<Summary, SummarizeError> {
        let mut account = self.account.borrow_mut();
        account.fell_back = Some((Kind::Offline.name(), why));
        account.model = None;
        account.preserve.clear();
        account.warnings.clear();
        drop(account);
        Offline.summarize(request)
    }

    /// One or two sentences about a summary. They are for lists only, so an answer that cannot be had is no failure.
    fn short(&self, summary: &str, request: &Request<'_>) -> String {
        let count = |text: &str| request.tokenizer.count(text);
        match self.ask(&prompt::short(&self.masked(summary)), 200 + THINKING_ROOM, &count) {
            Ok(short) => text::one_line(&short, SHORT_CHARS),
            Err(error) => {
                (self.say)(&format!("there is no short summary from the model, so its first line is taken: {error}"));
                first_line(summary)
            }
        }
    }
}

/// The first words of a summary that are not a heading.
fn first_line(summary: &str) -> String {
    let line = summary.lines().map(|line| line.trim_start_matches(['-', '*', ' '])).find(|line| !line.is_empty() && !line.starts_with('#'));
    text::one_line(line.unwrap_or_default(), SHORT_CHARS)
}

impl Summarizer for Online<'_> {
    fn name(&self) -> &'static str {
        self.kind().name()
    }

    fn summarize(&self, request: &Request<'_>) -> Result<Summary, SummarizeError> {
        // Once it failed, what else there is to say is not asked of it again.
        let failed = self.account.borrow().fell_back.clone().filter(|(to, _)| *to == Kind::Offline.name());
        if let Some((_, why)) = failed {
            return self.offline(request, why);
        }
        if self.compacts.get() && matches!(request.purpose, Purpose::History | Purpose::TurnPrefix) {
            match self.compact(request) {
                Ok(()) => return Offline.summarize(request),
                Err(SummarizeError::Online(error)) => {
                    // A half of it would replay a history with a gap.
                    self.compacts.set(false);
                    (self.say)(&format!("{error}; chat completions of the same model take over"));
                    let mut account = self.account.borrow_mut();
                    account.preserve.remove(OPENAI_REPLAY);
                    account.fell_back = Some((Kind::Openai.name(), error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        let words = match request.purpose {
            Purpose::Replacement => self.replacement(request),
            Purpose::Handoff => self.handoff(request).and_then(|words| words.map_or_else(|| self.words(request), Ok)),
            _ => self.words(request),
        };
        let text = match words {
            Ok(text) => text,
            Err(error @ (SummarizeError::Online(_) | SummarizeError::Empty)) if self.falls_back => {
                (self.say)(&format!("{error}; the offline summarizer takes over"));
                return self.offline(request, self.provider.without_key(&error.to_string()));
            }
            Err(error) => return Err(error),
        };
        if request.prompt.is_none() && !prompt::is_in_sections(&text) {
            let warning = "the model's answer has none of the headings that were asked for; look at it before you rely on it";
            let warnings = &mut self.account.borrow_mut().warnings;
            if !warnings.iter().any(|known| known == warning) {
                warnings.push(warning.to_owned());
            }
        }
        let short = if request.purpose == Purpose::History { self.short(&text, request) } else { first_line(&text) };
        let lines = text.lines().map(|line| Line { text: line.to_owned(), sources: Vec::new() }).collect();
        Ok(Summary { lines, short, ..Summary::default() })
    }

    fn sends(&self) -> bool {
        true
    }

    fn account(&self) -> Account {
        self.account.borrow().clone()
    }

    fn relevance(&self, session: &Session, path: &[Ix], messages: &Selection) -> Option<f64> {
        match self.score(session, path, messages) {
            Ok(score) => Some(score),
            Err(error) => {
                (self.say)(&format!("the relevance of a part is not known: {error}"));
                None
            }
        }
    }
}
