//! Requests that hand the conversation over as what it is: a handoff, and OpenAI's own compaction.

use serde_json::{Value, json};

use super::error::Sort;
use super::native::{self, Turn};
use super::wire::Ask;
use super::{Online, OnlineError, THINKING_ROOM, answer, prompt, wire};
use crate::engine::serialize::RESULT_CHARS;
use crate::engine::window::OPENAI_REPLAY;
use crate::session::Ix;
use crate::summarize::choice::Kind;
use crate::summarize::{Purpose, Request, SummarizeError};

/// What stands before an earlier summary where it is told as a message.
const EARLIER: &str = "Summary of what came before:\n\n";

impl Online<'_> {
    /// The turns of a request behind the earlier summary, whole, or with results cut to `result_chars`.
    fn turns(&self, request: &Request<'_>, result_chars: usize) -> Result<Vec<Turn>, SummarizeError> {
        let fresh = request.previous.is_some().then(|| request.selection.fresh());
        let form = crate::engine::serialize::Form { result_chars, ..self.form() };
        Ok(native::turns(request.session, fresh.as_ref().unwrap_or(request.selection), form)?)
    }

    fn earlier(&self, previous: &str) -> Turn {
        Turn::of_person(format!("{EARLIER}{}", self.masked(previous)))
    }

    /// The first of two bodies that one request takes: the one with whole results, else the one with results cut short.
    fn fitting(
        &self,
        request: &Request<'_>,
        limit: u64,
        body: impl Fn(usize) -> Result<Value, SummarizeError>,
    ) -> Result<Result<(Value, u64), u64>, SummarizeError> {
        let mut tokens = 0;
        for result_chars in [usize::MAX, RESULT_CHARS] {
            let body = body(result_chars)?;
            tokens = request.tokenizer.count(&body.to_string());
            if tokens <= limit {
                return Ok(Ok((body, tokens)));
            }
        }
        Ok(Err(tokens))
    }

    /// OpenAI's own compaction of what a request is about, behind what it made of the part before. It is kept for the provider
    /// alone: nobody else can read it, so the words are made offline.
    pub(super) fn compact(&self, request: &Request<'_>) -> Result<(), SummarizeError> {
        let provider = self.provider;
        // A turn goes on from its history; everything else begins anew, also where a session is planned once more.
        let goes_on = request.purpose == Purpose::TurnPrefix && request.previous.is_some();
        if !goes_on {
            self.account.borrow_mut().preserve.remove(OPENAI_REPLAY);
        }
        let before = match self.account.borrow().preserve.get(OPENAI_REPLAY).and_then(|kept| kept.get("replacementHistory")) {
            Some(Value::Array(before)) => before.clone(),
            _ => Vec::new(),
        };
        let previous = request.previous.filter(|_| request.purpose == Purpose::History);
        let limit = if self.limit_is_known { self.limit.get() } else { u64::MAX };
        let fits = self.fitting(request, limit, |result_chars| {
            let mut turns: Vec<Turn> = previous.map(|previous| self.earlier(previous)).into_iter().collect();
            turns.extend(self.turns(request, result_chars)?);
            let input = [before.as_slice(), &native::responses(&turns)].concat();
            Ok(json!({"model": provider.choice.model, "input": input, "instructions": prompt::SYSTEM.trim()}))
        })?;
        let (body, tokens) = fits.map_err(|tokens| {
            OnlineError::new(
                format!("the conversation has {tokens} tokens, and a request may have {limit}"),
                Some("see --max-input-tokens"),
            )
        })?;
        let call = self.call(provider.url("/responses/compact"), &body);
        let reply = provider.send(&call, &mut || self.sending(tokens, call.body.len()))?;
        let mut usage = None;
        let output = wire::compact_output(&reply, &mut usage);
        self.used(usage);
        let (history, item) = output.map_err(|what| self.unusable(&what))?;
        let kept = json!({"provider": "openai", "replacementHistory": history, "compactionItem": item});
        self.account.borrow_mut().preserve.insert(OPENAI_REPLAY.to_owned(), kept);
        Ok(())
    }

    /// The document with which a new session begins, from the conversation itself: its system prompt, its tools, its messages,
    /// and the request as the last of them. `None` where that cannot be asked for so, and the record has to be told as text.
    pub(super) fn handoff(&self, request: &Request<'_>) -> Result<Option<String>, SummarizeError> {
        let kind = self.kind();
        let Some(model) = self.provider.choice.model.as_deref().filter(|_| kind != Kind::Command && kind != Kind::Endpoint) else {
            return Ok(None);
        };
        let session = request.session;
        let path: Vec<Ix> = request.selection.told.last().map(|last| session.path(*last).entries).unwrap_or_default();
        let recorded = native::system(session, &path, self.form())?;
        let system = if recorded.text.trim().is_empty() { prompt::AGENT.trim() } else { recorded.text.as_str() };
        let mut instruction = prompt::instruction(request, request.previous.is_some());
        if !request.context.is_empty() {
            instruction = format!("Carry these lines on:\n{}\n\n{instruction}", request.context.join("\n"));
        }
        let instruction = self.masked(&instruction);
        let most = request.budget + request.budget / 2 + THINKING_ROOM;
        let fits = self.fitting(request, self.limit.get(), |result_chars| {
            let mut turns: Vec<Turn> = request.previous.map(|previous| self.earlier(previous)).into_iter().collect();
            turns.extend(self.turns(request, result_chars)?);
            let tools = native::tools(&turns, &recorded.tools);
            turns.push(Turn::of_person(instruction.clone()));
            let (messages, tools) = match kind {
                Kind::Anthropic => (native::anthropic(&turns), tools.into_iter().map(native::Tool::anthropic).collect()),
                _ => (native::chat(&turns), tools.into_iter().map(native::Tool::chat).collect()),
            };
            Ok(self.talk_body(&Ask { model, system, messages, tools, most }))
        })?;
        // A conversation that does not fit is told in parts instead.
        let Ok((body, tokens)) = fits else { return Ok(None) };
        match self.talk(&body, tokens) {
            Err(error) if error.sort == Sort::TooLong => Ok(None),
            Err(error) => Err(error.into()),
            Ok(text) => answer::words(&text).map(Some).map_err(|what| self.unusable(what).into()),
        }
    }
}
