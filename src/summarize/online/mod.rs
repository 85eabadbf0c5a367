//! Summaries by a model: over HTTP, or by a program on this machine.
//!
//! The record goes out as text between tags, with its secrets masked. What is longer than one request takes is summarized in
//! parts, each updating the summary of those before it, and when a provider says that a request was too long the parts become
//! smaller. An answer that is no summary is an error, and an error is said: nothing is written, and nobody else makes the
//! words unless a person asked for that.

mod answer;
mod error;
#[cfg_attr(not(feature = "online"), allow(dead_code, reason = "what only requests need"))]
mod http;
mod native;
mod prompt;
mod provider;
mod wire;

use std::cell::{Cell, RefCell};
use std::time::Duration;

use serde_json::{Value, json};

pub use error::OnlineError;
pub use provider::{Provider, Unfit};

use error::Sort;
use http::Call;
use wire::{Ask, Words};

use super::choice::{Kind, LEAST_INPUT};
use super::offline::Offline;
use super::{Account, Line, Purpose, Request, SummarizeError, Summarizer, Summary};
use crate::engine::serialize::{Form, Selection, units};
use crate::engine::tokens::Tokenizer;
use crate::process;
use crate::session::{Ix, Role, Session};
use crate::text;
use crate::text::Redactor;

/// Tokens of a request when nothing is known about the model.
const INPUT: u64 = 100_000;

/// Bytes that a program may print.
const MOST_OUTPUT: usize = 4 * 1024 * 1024;

/// Characters of a short summary.
const SHORT_CHARS: usize = 240;

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
    /// Whether the provider's own compaction is asked first.
    compacts: Cell<bool>,
    account: RefCell<Account>,
}

impl<'a> Online<'a> {
    /// For one session. `window` is what is known of the model's, in tokens.
    #[must_use]
    pub fn new(provider: &'a Provider, window: Option<u64>, say: &'a dyn Fn(&str), mask: bool, falls_back: bool) -> Online<'a> {
        // A tenth of the window is left for the answer and for tokens that are counted otherwise there.
        let limit = provider.choice.max_input_tokens.or_else(|| window.map(|window| window * 8 / 10)).unwrap_or(INPUT).max(LEAST_INPUT);
        let account = RefCell::new(Account { model: provider.choice.model.clone(), ..Account::default() });
        Online {
            provider,
            say,
            mask,
            falls_back,
            limit: Cell::new(limit),
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

    /// The words of a model for a request, folded where it is too long for one.
    fn words(&self, request: &Request<'_>) -> Result<String, SummarizeError> {
        // Where a turn has a prefix, what stands before it is told elsewhere.
        let is_update = matches!(request.purpose, Purpose::History | Purpose::Replacement);
        let mut previous = request.previous.filter(|_| is_update).map(str::to_owned);
        let mut selection = request.selection.clone();
        if previous.is_some() {
            // Summaries that the previous one has taken up are not told twice.
            selection.told.retain(|ix| !request.selection.covered.contains(ix));
        }
        let units = units(request.session, &selection, self.form_of(request.purpose))?;
        if units.is_empty() {
            return previous.ok_or(SummarizeError::Empty);
        }
        let count = |text: &str| request.tokenizer.count(text);
        let most = request.budget + request.budget / 2 + THINKING_ROOM;
        let mut rest = units.as_slice();
        while !rest.is_empty() {
            let instruction = self.masked(&prompt::instruction(request, previous.is_some()));
            let frame = count(prompt::SYSTEM) + count(&prompt::user("", previous.as_deref(), request.context, &instruction)) + SEAMS;
            let room = self.limit.get().saturating_sub(frame);
            if room < LEAST_ROOM {
                let message = format!("a request of {} tokens has no room for the conversation", self.limit.get());
                return Err(OnlineError::new(message, Some("raise --max-input-tokens, or lower --summary-tokens")).into());
            }
            let (part, taken) = take(rest, room, &count);
            let conversation = self.masked(&part);
            let user = prompt::user(&conversation, previous.as_deref(), request.context, &instruction);
            match self.ask(&user, most, &count) {
                Ok(text) => {
                    previous = Some(text);
                    rest = rest.get(taken..).unwrap_or_default();
                }
                Err(error) if error.sort == Sort::TooLong => {
                    let sent = count(prompt::SYSTEM) + count(&user);
                    let smaller = frame + (sent.min(self.limit.get()).saturating_sub(frame)) / 2;
                    if smaller < frame + LEAST_ROOM {
                        return Err(error.into());
                    }
                    (self.say)(&format!("{}; trying parts of at most {smaller} tokens", "that was too long for the model"));
                    self.limit.set(smaller);
                }
                Err(error) => return Err(error.into()),
            }
        }
        previous.ok_or(SummarizeError::Empty)
    }

    fn masked(&self, text: &str) -> String {
        if self.mask { Redactor::secrets().redact(text).text.into_owned() } else { text.to_owned() }
    }

    /// Asks once, and gives words that are a summary.
    fn ask(&self, user: &str, most: u64, count: &dyn Fn(&str) -> u64) -> Result<String, OnlineError> {
        let tokens = count(prompt::SYSTEM) + count(user);
        let words = self.request(user, most, tokens)?;
        answer::words(&words.text).map_err(|what| OnlineError::unusable(&self.who(), what))
    }

    /// One request, with what the transport sends again.
    fn request(&self, user: &str, most: u64, tokens: u64) -> Result<Words, OnlineError> {
        let provider = self.provider;
        let choice = &provider.choice;
        let who = self.who();
        let mut sending = |bytes: usize| {
            self.account.borrow_mut().requests += 1;
            (self.say)(&format!("sending {tokens} tokens ({bytes} bytes) to {who}"));
        };
        if choice.kind == Kind::Command {
            let prompt = format!("{}\n\n{user}", prompt::SYSTEM.trim());
            let _place = provider.place();
            provider.count()?;
            sending(prompt.len());
            let command = choice.command.as_deref().unwrap_or_default();
            let note = |line: &str| (self.say)(&provider.without_key(line));
            let out = process::run(command, prompt.as_bytes(), choice.timeout, MOST_OUTPUT, &note).map_err(|e| OnlineError::command(&e))?;
            let text = provider.without_key(&String::from_utf8_lossy(&out));
            return Ok(Words { text, usage: None });
        }
        let model = choice.model.as_deref().unwrap_or_default();
        let ask = || Ask { model, system: prompt::SYSTEM.trim(), messages: vec![wire::user(user)], tools: Vec::new(), most };
        let (url, body) = match choice.kind {
            Kind::Endpoint => {
                let body = json!({"systemPrompt": prompt::SYSTEM.trim(), "prompt": user, "maxTokens": most});
                (choice.endpoint.clone().unwrap_or_default(), body)
            }
            Kind::Anthropic => (provider.url("/messages"), wire::anthropic_body(&ask())),
            _ => (provider.url("/chat/completions"), wire::openai_body(&ask(), provider.is_openai())),
        };
        let words = match choice.kind {
            Kind::Endpoint => wire::endpoint_words,
            Kind::Anthropic => wire::anthropic_words,
            _ => wire::openai_words,
        };
        self.post(url, &body, &mut sending, words)
    }

    /// Sends a body and reads the answer; what it took is added up even when it cannot be used.
    fn post(&self, url: String, body: &Value, sending: &mut dyn FnMut(usize), read: wire::Read) -> Result<Words, OnlineError> {
        let call = Call { url, headers: self.provider.headers(), body: body.to_string() };
        let reply = self.provider.send(&call, &mut || sending(call.body.len()))?;
        let words = read(&reply).map_err(|what| OnlineError::unusable(&self.who(), &what))?;
        if let Some(usage) = words.usage {
            self.account.borrow_mut().usage.get_or_insert_default().add(usage);
        }
        Ok(words)
    }

    /// The words for a replaced history, with more patience: an answer that is no summary is asked for again, and when that
    /// does not help, each half of the groups is summarized for itself, the second with the first one's summary before it.
    fn replacement(&self, request: &Request<'_>) -> Result<String, SummarizeError> {
        let error = match self.patient(request) {
            Err(SummarizeError::Online(error)) if error.sort == Sort::Unusable => error,
            other => return other,
        };
        let groups = &request.selection.groups;
        let first: usize = groups.iter().take(groups.len().div_ceil(2)).sum();
        let Some((head, tail)) = request.selection.told.split_at_checked(first).filter(|(head, tail)| !head.is_empty() && !tail.is_empty())
        else {
            return Err(error.into());
        };
        (self.say)(&format!("{error}; trying the two halves apart"));
        let half = |told: &[Ix]| {
            let mut selection = request.selection.clone();
            selection.told = told.to_vec();
            selection
        };
        let (head, tail) = (half(head), half(tail));
        let first = self.patient(&Request { selection: &head, ..*request })?;
        let second = self.patient(&Request { selection: &tail, previous: Some(&first), ..*request })?;
        Ok(format!("# Part 1 of 2\n\n{first}\n\n# Part 2 of 2\n\n{second}"))
    }

    /// The words for a request, asked for up to three times when an answer is no summary.
    fn patient(&self, request: &Request<'_>) -> Result<String, SummarizeError> {
        let mut waits = [1, 2].into_iter();
        loop {
            match (self.words(request), waits.next()) {
                (Err(SummarizeError::Online(error)), Some(wait)) if error.sort == Sort::Unusable => {
                    (self.say)(&format!("{error}; asking again"));
                    std::thread::sleep(provider::scaled(Duration::from_secs(wait)));
                }
                (result, _) => return result,
            }
        }
    }

    /// OpenAI's own compaction of what a request is about, behind what it made of the part before. It is kept for the provider
    /// alone: nobody else can read it, so the words are made offline.
    fn compact(&self, request: &Request<'_>) -> Result<(), SummarizeError> {
        let provider = self.provider;
        let turns = native::turns(request.session, request.selection, self.form())?;
        let mut input = match self.account.borrow().preserve.get(REPLAYED).and_then(|kept| kept.get("replacementHistory")) {
            Some(Value::Array(before)) => before.clone(),
            _ => Vec::new(),
        };
        if let Some(previous) = request.previous.filter(|_| request.purpose == Purpose::History) {
            let text = self.masked(previous);
            input.push(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("Summary of what came before:\n\n{text}")}]}));
        }
        input.extend(native::responses(&turns));
        let body = json!({"model": provider.choice.model, "input": input, "instructions": prompt::SYSTEM.trim()});
        let call = Call { url: provider.url("/responses/compact"), headers: provider.headers(), body: body.to_string() };
        let tokens = request.tokenizer.count(&call.body);
        let who = self.who();
        let reply = provider.send(&call, &mut || {
            self.account.borrow_mut().requests += 1;
            (self.say)(&format!("sending {tokens} tokens ({} bytes) to {who}", call.body.len()));
        })?;
        let (history, item, usage) = wire::compact_output(&reply).map_err(|what| OnlineError::unusable(&who, &what))?;
        let mut account = self.account.borrow_mut();
        if let Some(usage) = usage {
            account.usage.get_or_insert_default().add(usage);
        }
        let kept = json!({"provider": "openai", "replacementHistory": history, "compactionItem": item});
        account.preserve.insert(REPLAYED.to_owned(), kept);
        Ok(())
    }

    /// The document with which a new session begins, from the conversation itself: its system prompt, its messages, the tools
    /// that it names, and the request as the last message.
    fn handoff(&self, request: &Request<'_>) -> Result<Option<String>, SummarizeError> {
        let kind = self.kind();
        let Some(model) = self.provider.choice.model.as_deref().filter(|_| kind != Kind::Command && kind != Kind::Endpoint) else {
            return Ok(None);
        };
        let form = self.form();
        let turns = native::turns(request.session, request.selection, form)?;
        let path = request.session.active_path().entries;
        let system = native::system(request.session, &path, form)?;
        let system = if system.is_empty() { prompt::SYSTEM.trim().to_owned() } else { self.masked(&system) };
        let mut instruction = self.masked(&prompt::instruction(request, false));
        if !request.context.is_empty() {
            instruction = format!("Carry these lines on:\n{}\n\n{instruction}", request.context.join("\n"));
        }
        if let Some(previous) = request.previous {
            instruction = format!("The conversation began with this summary:\n{}\n\n{instruction}", self.masked(previous));
        }
        let anything = json!({"type": "object"});
        let most = request.budget + request.budget / 2 + THINKING_ROOM;
        let (url, body, read): (String, Value, wire::Read) = if kind == Kind::Anthropic {
            let mut messages = native::anthropic(&turns);
            messages.push(wire::user(&instruction));
            let tools = native::tools(&turns).into_iter().map(|name| json!({"name": name, "input_schema": anything})).collect();
            let ask = Ask { model, system: &system, messages, tools, most };
            (self.provider.url("/messages"), wire::anthropic_body(&ask), wire::anthropic_words)
        } else {
            let mut messages = native::chat(&turns);
            messages.push(wire::user(&instruction));
            let tool = |name| json!({"type": "function", "function": {"name": name, "parameters": anything}});
            let tools = native::tools(&turns).into_iter().map(tool).collect();
            let ask = Ask { model, system: &system, messages, tools, most };
            (self.provider.url("/chat/completions"), wire::openai_body(&ask, self.provider.is_openai()), wire::openai_words)
        };
        let tokens = request.tokenizer.count(&body.to_string());
        if tokens > self.limit.get() {
            return Ok(None);
        }
        let who = self.who();
        let mut sending = |bytes: usize| {
            self.account.borrow_mut().requests += 1;
            (self.say)(&format!("sending {tokens} tokens ({bytes} bytes) to {who}"));
        };
        match self.post(url, &body, &mut sending, read) {
            // A conversation that does not fit is told in parts instead.
            Err(error) if error.sort == Sort::TooLong => Ok(None),
            Err(error) => Err(error.into()),
            Ok(words) => answer::words(&words.text).map(Some).map_err(|what| OnlineError::unusable(&self.who(), what).into()),
        }
    }

    /// How likely somebody who goes on with what was asked last needs a part of a record, 0 to 1: the mean of three answers.
    fn score(&self, session: &Session, messages: &Selection) -> Result<f64, SummarizeError> {
        let count = |text: &str| Tokenizer::default().count(text);
        let form = Form { mask: self.mask, ..Form::transcript() };
        let room = self.limit.get().saturating_sub(RELEVANCE_FRAME).max(LEAST_ROOM);
        let (part, _) = take(&[units(session, messages, form)?.join("\n")], room, &count);
        let path = session.active_path().entries;
        let last = path.iter().rev().copied().find(|ix| session[*ix].role == Role::User && session[*ix].is_message());
        let asked =
            last.map(|ix| session.with_message(ix, |message| text::one_line(&form.clean(&message.text()), ASKED_CHARS))).transpose()?;
        let user = prompt::relevance(&self.masked(&part), &self.masked(&asked.unwrap_or_default()));
        let mut sum = 0.0;
        for _ in 0..SAMPLES {
            let words = self.ask(&user, THINKING_ROOM, &count)?;
            let score = words.trim().trim_end_matches('.').parse::<f64>().ok().filter(|score| (0.0..=1.0).contains(score));
            sum += score.ok_or_else(|| OnlineError::unusable(&self.who(), "it is no number between 0 and 1"))?;
        }
        Ok(sum / f64::from(SAMPLES))
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

/// Tokens of a question about relevance beside the part that it is about, generously.
const RELEVANCE_FRAME: u64 = 1_000;

/// Characters of the latest request that such a question quotes.
const ASKED_CHARS: usize = 600;

/// Answers whose mean is the relevance of a part.
const SAMPLES: u8 = 3;

/// Where an entry keeps what OpenAI replays; the agents look for it there.
const REPLAYED: &str = "openaiRemoteCompaction";

/// Tokens of an answer that a model may use for thinking before it writes.
const THINKING_ROOM: u64 = 2_048;

/// Tokens of what joins the parts of a request, generously.
const SEAMS: u64 = 64;

/// Tokens of a conversation below which a request is not worth sending.
const LEAST_ROOM: u64 = 200;

/// The first words of a summary that are not a heading.
fn first_line(summary: &str) -> String {
    let line = summary.lines().map(|line| line.trim_start_matches(['-', '*', ' '])).find(|line| !line.is_empty() && !line.starts_with('#'));
    text::one_line(line.unwrap_or_default(), SHORT_CHARS)
}

/// As many units as fit, at least one, and how many they are; one that is too large alone is cut in its middle.
fn take(units: &[String], room: u64, count: &dyn Fn(&str) -> u64) -> (String, usize) {
    let (mut part, mut used, mut taken) = (String::new(), 0, 0);
    for unit in units {
        let tokens = count(unit) + 2;
        if used + tokens > room {
            break;
        }
        if taken > 0 {
            part.push_str("\n\n");
        }
        part.push_str(unit);
        used += tokens;
        taken += 1;
    }
    if taken > 0 {
        return (part, taken);
    }
    let Some(unit) = units.first() else { return (part, 0) };
    let mut chars = unit.chars().count();
    loop {
        chars = chars * 3 / 4;
        let cut = text::middle(unit, chars, 0.6, |left_out| format!("\n[… {left_out} characters left out …]\n")).into_owned();
        if chars < 100 || count(&cut) <= room {
            return (cut, 1);
        }
    }
}

impl Summarizer for Online<'_> {
    fn name(&self) -> &'static str {
        self.kind().name()
    }

    fn summarize(&self, request: &Request<'_>) -> Result<Summary, SummarizeError> {
        let offline = |why: String| {
            let mut account = self.account.borrow_mut();
            account.fell_back = Some(("offline", why));
            account.model = None;
            account.preserve.clear();
            drop(account);
            Offline.summarize(request)
        };
        // Once it failed, what else there is to say is not asked of it again.
        let failed = self.account.borrow().fell_back.clone().filter(|(to, _)| *to == "offline");
        if let Some((_, why)) = failed {
            return offline(why);
        }
        if self.compacts.get() && matches!(request.purpose, Purpose::History | Purpose::TurnPrefix) {
            match self.compact(request) {
                Ok(()) => return Offline.summarize(request),
                Err(SummarizeError::Online(error)) => {
                    // A half of it would replay a history with a gap.
                    self.compacts.set(false);
                    (self.say)(&format!("{error}; chat completions of the same model take over"));
                    let mut account = self.account.borrow_mut();
                    account.preserve.remove(REPLAYED);
                    account.fell_back = Some(("openai", error.to_string()));
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
                return offline(self.provider.without_key(&error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let short = if request.purpose == Purpose::History { self.short(&text, request) } else { first_line(&text) };
        let lines = text.lines().map(|line| Line { text: line.to_owned(), sources: Vec::new() }).collect();
        Ok(Summary { lines, short })
    }

    fn sends(&self) -> bool {
        true
    }

    fn account(&self) -> Account {
        self.account.borrow().clone()
    }

    fn relevance(&self, session: &Session, messages: &Selection) -> Option<f64> {
        match self.score(session, messages) {
            Ok(score) => Some(score),
            Err(error) => {
                (self.say)(&format!("the relevance of a part is not known: {error}"));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_between_units_and_a_large_one_is_cut() {
        let units: Vec<String> = ["aaaa", "bbbb", "cccc"].map(str::to_owned).to_vec();
        let count = |text: &str| text.chars().count() as u64;
        assert_eq!(take(&units, 100, &count), ("aaaa\n\nbbbb\n\ncccc".to_owned(), 3));
        assert_eq!(take(&units, 12, &count), ("aaaa\n\nbbbb".to_owned(), 2));
        assert_eq!(take(&units, 6, &count), ("aaaa".to_owned(), 1));
        let large = ["x".repeat(5_000)];
        let (part, taken) = take(&large, 1_000, &count);
        assert!(taken == 1 && part.chars().count() <= 1_000 && part.chars().count() > 500);
    }
}
