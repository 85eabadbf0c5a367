//! Sessions in memory, and summaries of them.

use std::collections::HashSet;
use std::fmt::Write;

use crate::engine::serialize::select;
use crate::engine::tokens::Tokenizer;
use crate::session::{Ix, Session, Source};
use crate::summarize::offline::Offline;
use crate::summarize::offline::pool::Pool;
use crate::summarize::offline::read::Reader;
use crate::summarize::{Purpose, Request, Summarizer, Summary};

/// A session that is written line by line.
pub(super) struct Build {
    lines: String,
    n: usize,
}

pub(super) fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

impl Build {
    pub(super) fn new() -> Self {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/srv/app"}"#;
        Build { lines: format!("{header}\n"), n: 0 }
    }

    fn entry(&mut self, message: &str) -> &mut Self {
        let parent = if self.n == 0 { "null".to_owned() } else { format!("\"m{}\"", self.n) };
        self.n += 1;
        let _ = writeln!(self.lines, r#"{{"type":"message","id":"m{}","parentId":{parent},"message":{message}}}"#, self.n);
        self
    }

    pub(super) fn user(&mut self, text: &str) -> &mut Self {
        self.entry(&format!(r#"{{"role":"user","content":{},"timestamp":1}}"#, json(text)))
    }

    /// Text of the assistant that ends a turn.
    pub(super) fn says(&mut self, text: &str) -> &mut Self {
        self.entry(&format!(r#"{{"role":"assistant","content":[{{"type":"text","text":{}}}],"stopReason":"stop"}}"#, json(text)))
    }

    pub(super) fn call(&mut self, id: &str, said: &str, tool: &str, args: &str) -> &mut Self {
        let text = if said.is_empty() { String::new() } else { format!(r#"{{"type":"text","text":{}}},"#, json(said)) };
        self.entry(&format!(
            r#"{{"role":"assistant","content":[{text}{{"type":"toolCall","id":"{id}","name":"{tool}","arguments":{args}}}],"stopReason":"toolUse"}}"#
        ))
    }

    pub(super) fn result(&mut self, id: &str, tool: &str, text: &str, error: bool) -> &mut Self {
        self.entry(&format!(
            r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"{tool}","content":[{{"type":"text","text":{}}}],"isError":{error}}}"#,
            json(text)
        ))
    }

    /// A command with its result.
    pub(super) fn bash(&mut self, said: &str, command: &str, output: &str, error: bool) -> &mut Self {
        let id = format!("c{}", self.n);
        self.call(&id, said, "bash", &format!(r#"{{"command":{}}}"#, json(command)));
        self.result(&id, "bash", output, error)
    }

    /// An edit with its result.
    pub(super) fn edit(&mut self, said: &str, path: &str, new: &str) -> &mut Self {
        let id = format!("c{}", self.n);
        self.call(&id, said, "edit", &format!(r#"{{"path":{},"oldText":"","newText":{}}}"#, json(path), json(new)));
        self.result(&id, "edit", "Successfully replaced text", false)
    }

    pub(super) fn raw(&mut self, message: &str) -> &mut Self {
        self.entry(message)
    }

    pub(super) fn text(&self) -> &str {
        &self.lines
    }

    pub(super) fn session(&self) -> Session {
        Session::open(Source::memory(self.lines.clone().into_bytes())).unwrap()
    }
}

/// How a summary is asked for.
pub(super) struct Ask<'a> {
    pub(super) purpose: Purpose,
    pub(super) previous: Option<&'a str>,
    pub(super) focus: Option<&'a str>,
    pub(super) context: &'a [String],
    pub(super) budget: u64,
    pub(super) spare: u64,
    /// How many of the last messages stay word for word.
    pub(super) kept: usize,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Ask { purpose: Purpose::History, previous: None, focus: None, context: &[], budget: 2_000, spare: 0, kept: 0 }
    }
}

pub(super) const TOKENIZER: Tokenizer = Tokenizer::O200k;

pub(super) fn summary(build: &Build, ask: &Ask<'_>) -> Summary {
    summary_of(&build.session(), ask)
}

pub(super) fn summary_of(session: &Session, ask: &Ask<'_>) -> Summary {
    let summary = asked(session, ask, |request| Offline.summarize(request).unwrap());
    assert!(TOKENIZER.count(&summary.text()) <= ask.budget, "{} > {}", TOKENIZER.count(&summary.text()), ask.budget);
    assert!(summary.short.chars().count() <= 200);
    summary
}

/// What is noted of a session, and its names with what each is worth.
pub(super) fn weighed(build: &Build, then: impl FnOnce(&Pool<'_>)) {
    let notes = asked(&build.session(), &Ask::default(), |request| Reader::new(request, "/srv/app").read().unwrap());
    then(&Pool::new(&notes, &HashSet::new(), &|_| 1, TOKENIZER));
}

/// Makes the request that asks so, about the messages of the active path.
fn asked<T>(session: &Session, ask: &Ask<'_>, then: impl FnOnce(&Request<'_>) -> T) -> T {
    let path = session.active_path().entries;
    let messages: Vec<Ix> = path.iter().copied().filter(|ix| session[*ix].is_message()).collect();
    let (messages, kept) = messages.split_at(messages.len() - ask.kept);
    then(&Request {
        session,
        selection: &select(session, &path, messages).unwrap(),
        purpose: ask.purpose,
        previous: ask.previous,
        kept,
        turn: &[],
        focus: ask.focus,
        prompt: None,
        context: ask.context,
        budget: ask.budget,
        spare: ask.spare,
        tokenizer: TOKENIZER,
    })
}

pub(super) fn told(build: &Build) -> String {
    summary(build, &Ask::default()).text()
}

/// The lines of a section.
pub(super) fn section<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let level = heading.bytes().take_while(|b| *b == b'#').count();
    text.lines()
        .skip_while(|line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('#') || line.bytes().take_while(|b| *b == b'#').count() > level)
        .filter(|line| !line.is_empty())
        .collect()
}
