//! One pass over the messages, which notes what a summary may say. Messages are let go after they are read; what is noted
//! is bounded.

use std::borrow::Cow;
use std::io;

use indexmap::IndexMap;

use super::facts::{self, Facts, NOWHERE, Voice};
use super::names;
use super::outcome::{self, Command, Outcome, Weight};
use super::todo::{self, Todo};
use super::words;
use crate::engine::cut::starts_turn;
use crate::engine::files::Files;
use crate::engine::serialize::WRAPPERS;
use crate::session::message::Call;
use crate::session::{Block, Ix, Json, Message, Role};
use crate::summarize::Request;
use crate::text;

/// A sentence that someone said.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// The entry.
    pub entry: Ix,
    /// The sentence.
    pub text: String,
    /// How much it is what it was taken for.
    pub strength: u8,
}

/// A request of the user.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    /// The entry.
    pub entry: Ix,
    /// What was asked, cleaned; a very long one has lost its middle.
    pub text: String,
}

/// A command that was run, or a call that failed.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// The entry of the result.
    pub entry: Ix,
    /// The command.
    pub command: Command,
    /// How it ended; `None` while no result has come.
    pub outcome: Option<Outcome>,
}

/// What the assistant said and did until it spoke again.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The entry.
    pub entry: Ix,
    /// What it said first.
    pub say: String,
    /// Files it changed.
    pub changes: IndexMap<u32, Change>,
    /// Commands it ran.
    pub runs: Vec<Run>,
    /// Commits: branch, hash, message; branch and hash are empty when git's answer was not seen.
    pub commits: Vec<(String, String, String)>,
    /// Other tools it called, with what for.
    pub calls: Vec<String>,
}

/// What a step changed in a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    /// How often.
    pub times: u32,
    /// Names that the new text defines or uses first.
    pub names: Vec<String>,
}

/// A request and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// The entry that opened it.
    pub entry: Ix,
    /// What was asked, short.
    pub ask: String,
    /// The steps.
    pub steps: Vec<Step>,
    /// The first telling sentence of the last answer, when the turn ended with one.
    pub answer: Option<(Ix, String)>,
}

/// A call whose result has not come yet.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// The entry of the call.
    pub entry: Ix,
    /// The tool and what it was called with, short.
    pub what: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Run(Command),
    File(u32, bool),
    Todo,
    Other,
}

/// A command that keeps failing, or failed and was put right.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// How it is shown.
    pub shown: String,
    /// The exit code.
    pub code: Option<i64>,
    /// The line that says why.
    pub error: String,
    /// How often it failed in a row.
    pub times: u32,
    /// Where it failed last.
    pub entry: Ix,
    /// The text counter then.
    pub at: u32,
    /// Where it passed.
    pub fixed: Option<Ix>,
}

/// A check and its latest result.
#[derive(Debug, Clone)]
pub(super) struct Check {
    /// How it is shown.
    pub shown: String,
    /// Times it passed and failed.
    pub passed: u32,
    /// Times it failed.
    pub failed: u32,
    /// The latest result.
    pub last: Outcome,
    /// Its entry.
    pub entry: Ix,
    /// What kind of command it is.
    pub weight: Weight,
}

/// All that was noted.
#[derive(Debug)]
pub(super) struct Notes {
    /// Requests in order: the first, and the latest.
    pub asks: Vec<Ask>,
    /// Rules in order.
    pub rules: Vec<Said>,
    /// Turns in order.
    pub turns: Vec<Turn>,
    /// The task list.
    pub todo: Todo,
    /// Decisions and causes.
    pub decisions: Vec<Said>,
    /// Announced next steps of the latest answers.
    pub nexts: Vec<Said>,
    /// Sentences that say that something is finished.
    pub claims: Vec<(Ix, Vec<String>)>,
    /// Failures by command.
    pub failures: IndexMap<String, Failure>,
    /// Checks by command.
    pub checks: IndexMap<String, Check>,
    /// Calls without a result.
    pub pending: IndexMap<String, Pending>,
    /// Summaries of branches that stand among the messages.
    pub summaries: Vec<(Ix, String)>,
    /// What the assistant said last, whole.
    pub last_say: Option<Ask>,
    /// Whether the latest request has no answer yet.
    pub open: bool,
    /// Names and files.
    pub facts: Facts,
}

/// Turns that are kept at most; the oldest after the first go.
const MOST_TURNS: usize = 512;
/// Steps of one turn.
const MOST_STEPS: usize = 256;
/// Sentences of one kind.
const MOST_SAID: usize = 256;
/// Chars of a request.
const ASK_CHARS: usize = 12_000;

pub(super) struct Reader<'r> {
    request: &'r Request<'r>,
    notes: Notes,
}

impl<'r> Reader<'r> {
    pub(super) fn new(request: &'r Request<'r>, folder: &str) -> Self {
        let notes = Notes {
            asks: Vec::new(),
            rules: Vec::new(),
            turns: Vec::new(),
            todo: Todo::default(),
            decisions: Vec::new(),
            nexts: Vec::new(),
            claims: Vec::new(),
            failures: IndexMap::new(),
            checks: IndexMap::new(),
            pending: IndexMap::new(),
            summaries: Vec::new(),
            last_say: None,
            open: false,
            facts: Facts::new(folder),
        };
        Reader { request, notes }
    }

    /// Reads every message that is told.
    pub(super) fn read(mut self) -> io::Result<Notes> {
        let request = self.request;
        for ix in request.selection.told.iter().copied() {
            request.session.with_message(ix, |message| self.message(ix, message))?;
        }
        // A result may stand in the part that is kept.
        for ix in request.kept.iter().copied() {
            if let Some(call) = request.session[ix].target {
                self.notes.pending.shift_remove(request.session.name(call));
            }
        }
        Ok(self.notes)
    }

    fn message(&mut self, ix: Ix, message: &Message<'_>) {
        match message.role {
            Role::ToolResult => self.result(ix, message),
            Role::Assistant => self.assistant(ix, message),
            Role::BashExecution | Role::PythonExecution => self.execution(ix, message),
            Role::BranchSummary | Role::CompactionSummary => {
                let text = message.text();
                let text = clean(&text);
                self.notes.facts.take(&text, Voice::Assistant, NOWHERE, ix);
                self.notes.summaries.push((ix, text.into_owned()));
            }
            _ => {
                let content = message.text();
                if content.trim().is_empty() && message.images() == 0 {
                    return;
                }
                let mut content = clean(&content);
                if content.trim().is_empty() {
                    content = Cow::Owned(format!("({} images)", message.images()));
                }
                let by_person = message.role == Role::User && !content.trim_start().starts_with("&lt;system-reminder");
                self.notes.facts.take(&content, if by_person { Voice::User } else { Voice::Result }, NOWHERE, ix);
                if by_person {
                    self.ask(ix, &content);
                } else if starts_turn(self.request.session, ix) || self.notes.turns.is_empty() {
                    self.turn(ix, text::one_line(&content, 90));
                }
            }
        }
    }

    fn ask(&mut self, ix: Ix, content: &str) {
        let told = text::middle(content.trim(), ASK_CHARS, 0.6, |n| format!(" [… {n} characters …] ")).into_owned();
        for sentence in words::sentences(&told) {
            let strength = words::rule_strength(sentence);
            if strength > 0 {
                push_bounded(&mut self.notes.rules, Said { entry: ix, text: words::plain(sentence).into_owned(), strength });
            }
            if words::decision_strength(sentence) >= 2 {
                push_bounded(&mut self.notes.decisions, Said { entry: ix, text: format!("User: {}", words::plain(sentence)), strength: 2 });
            }
        }
        self.turn(ix, text::one_line(&told, 200));
        self.notes.asks.push(Ask { entry: ix, text: told });
        if self.notes.asks.len() > 64 {
            self.notes.asks.remove(1);
        }
        self.notes.open = true;
    }

    fn turn(&mut self, entry: Ix, ask: String) {
        self.notes.turns.push(Turn { entry, ask, steps: Vec::new(), answer: None });
        if self.notes.turns.len() > MOST_TURNS {
            self.notes.turns.remove(1);
        }
    }

    fn step(&mut self, entry: Ix) -> Option<&mut Step> {
        if self.notes.turns.is_empty() {
            self.turn(entry, String::new());
        }
        let turn = self.notes.turns.last_mut()?;
        if turn.steps.is_empty() {
            turn.steps.push(new_step(entry, String::new()));
        }
        turn.steps.last_mut()
    }

    fn assistant(&mut self, ix: Ix, message: &Message<'_>) {
        let calls = message.calls().any(|call| self.request.selection.tells_call(self.request.session, &call.id));
        for block in &message.blocks {
            match block {
                Block::Text(said) if !said.trim().is_empty() => self.say(ix, said, !calls),
                Block::Call(call) if self.request.selection.tells_call(self.request.session, &call.id) => self.call(ix, call),
                _ => {}
            }
        }
    }

    fn say(&mut self, ix: Ix, said: &str, last: bool) {
        let content = clean(said);
        self.notes.facts.take(&content, Voice::Assistant, NOWHERE, ix);
        let sentences = words::sentences(&content);
        let lead = words::first_telling(&sentences).map(|s| text::one_line(&words::plain(s), 220)).unwrap_or_default();
        let mut in_next = false;
        let mut nexts = Vec::new();
        for line in content.lines() {
            let bare = words::unmark(line.trim());
            if words::says_next(bare) {
                in_next = true;
                let rest = bare.split_once(':').map_or("", |(_, rest)| rest.trim().trim_matches('*').trim());
                let whole = if rest.is_empty() { bare } else { rest };
                if !whole.trim_end_matches('*').ends_with(':') && !line.trim_start().starts_with('#') && whole.chars().count() > 14 {
                    nexts.push(Said { entry: ix, text: words::plain(whole).into_owned(), strength: 2 });
                }
                continue;
            }
            if in_next && nexts.len() < 8 {
                let listed = line.trim_start().starts_with(['-', '*', '•']) || line.trim_start().starts_with(|c: char| c.is_ascii_digit());
                if listed && bare.chars().count() > 4 && !bare.starts_with("```") {
                    nexts.push(Said { entry: ix, text: words::plain(bare).into_owned(), strength: 2 });
                } else if !line.trim().is_empty() {
                    in_next = false;
                }
            }
        }
        if !nexts.is_empty() || last {
            self.notes.nexts = nexts;
        }
        for sentence in &sentences {
            let strength = words::decision_strength(sentence);
            if strength > 0 {
                push_bounded(&mut self.notes.decisions, Said { entry: ix, text: words::plain(sentence).into_owned(), strength });
            }
            if words::says_done(sentence) {
                self.notes.claims.push((ix, words::content_words(sentence)));
                if self.notes.claims.len() > MOST_SAID {
                    self.notes.claims.remove(0);
                }
            }
        }
        if self.notes.turns.is_empty() {
            self.turn(ix, String::new());
        }
        let Some(turn) = self.notes.turns.last_mut() else { return };
        if last {
            turn.answer = Some((ix, lead));
            self.notes.open = false;
            self.notes.last_say = Some(Ask { entry: ix, text: content.into_owned() });
            return;
        }
        turn.answer = None;
        turn.steps.push(new_step(ix, lead));
        if turn.steps.len() > MOST_STEPS {
            let idle = turn.steps.iter().position(|s| s.commits.is_empty()).unwrap_or(0);
            turn.steps.remove(idle);
        }
    }

    fn call(&mut self, ix: Ix, call: &Call<'_>) {
        let name = text::one_line(&clean(&call.name), 40);
        let mut files = Files::default();
        files.add_call(call);
        let mut kind = Kind::Other;
        let mut what = String::new();
        let mut home = NOWHERE;
        for path in files.read.iter() {
            let path = clean(path);
            home = self.notes.facts.touch(&path, ix, |file| file.reads += 1);
            what = format!("`{name}` of `{}`", self.notes.facts.short(&path));
            kind = Kind::File(home, false);
        }
        let whole = matches!(call.name.as_ref(), "write" | "Write" | "write_file") || call.args.get("command").str() == Some("create");
        let new_names = if files.modified.is_empty() { Vec::new() } else { changed_names(&call.args) };
        for path in files.modified.iter() {
            let path = clean(path);
            home = self.notes.facts.touch(&path, ix, |file| if whole { file.writes += 1 } else { file.edits += 1 });
            what = format!("`{name}` of `{}`", self.notes.facts.short(&path));
            kind = Kind::File(home, true);
            if let Some(step) = self.step(ix) {
                let change = step.changes.entry(home).or_default();
                change.times += 1;
                for name in &new_names {
                    if change.names.len() < 3 && !change.names.contains(name) {
                        change.names.push(name.clone());
                    }
                }
            }
        }
        if todo::is_todo_tool(&call.name) {
            self.notes.todo.call(&call.args, ix);
            kind = Kind::Todo;
            what = format!("`{name}`");
        } else if files.read.is_empty() && files.modified.is_empty() {
            let line = ["command", "cmd", "script", "code"]
                .iter()
                .find_map(|key| call.args.get(key).str().map(str::to_owned).or_else(|| argv(call.args.get(key))));
            if let Some(line) = line {
                let line = clean(&line);
                let command = outcome::command(&line);
                what = format!("`{}`", command.shown);
                if let (Some(message), Some(step)) = (outcome::commit_message(&line).map(|m| text::one_line(m, 120)), self.step(ix)) {
                    step.commits.push((String::new(), String::new(), message));
                }
                if let Some(step) = self.step(ix)
                    && step.runs.len() < 64
                {
                    step.runs.push(Run { entry: ix, command: command.clone(), outcome: None });
                }
                self.notes.facts.take(&line, Voice::Call, NOWHERE, ix);
                kind = Kind::Run(command);
            } else {
                let first = call.args.members().iter().find_map(|(_, value)| value.str().filter(|s| !s.trim().is_empty()));
                let first = text::one_line(&clean(first.unwrap_or_default()), 80).replace('`', "'");
                what = if first.is_empty() { format!("`{name}`") } else { format!("`{name}` with “{first}”") };
                let line = what.clone();
                if let Some(step) = self.step(ix)
                    && step.calls.len() < 16
                    && !step.calls.contains(&line)
                {
                    step.calls.push(line);
                }
            }
        }
        if !matches!(kind, Kind::Run(_)) {
            let mut said = String::new();
            strings(&call.args, &mut said, 0);
            let said = clean(&said);
            self.notes.facts.take(&said, Voice::Call, home, ix);
        }
        if let Some(turn) = self.notes.turns.last_mut() {
            turn.answer = None;
        }
        self.notes.pending.insert(call.id.to_string(), Pending { entry: ix, what, kind });
    }

    fn result(&mut self, ix: Ix, message: &Message<'_>) {
        let pending = message.call_id.as_deref().and_then(|id| self.notes.pending.shift_remove(id));
        let content = message.text();
        let content = clean(&content);
        let home = match &pending {
            Some(Pending { kind: Kind::File(home, _), .. }) => *home,
            _ => NOWHERE,
        };
        self.notes.facts.take(&content, Voice::Result, home, ix);
        let Some(pending) = pending else { return };
        match pending.kind {
            Kind::Run(command) => {
                let outcome = outcome::outcome(&content, message.is_error, None, command.weight);
                self.ended(ix, command, outcome, &content);
            }
            Kind::Todo => {
                if !message.is_error {
                    self.notes.todo.printed(&content, ix);
                }
            }
            Kind::File(_, true) | Kind::Other if message.is_error => {
                let error = outcome::decisive_line(&content).unwrap_or_default();
                self.failed(pending.what.clone(), pending.what, None, error, ix);
            }
            Kind::File(_, true) | Kind::Other => self.passed(&pending.what.clone(), ix),
            Kind::File(_, false) => {}
        }
    }

    fn execution(&mut self, ix: Ix, message: &Message<'_>) {
        let line = clean(message.command.as_deref().unwrap_or_default());
        let output = clean(message.output.as_deref().unwrap_or_default());
        let command = outcome::command(&line);
        self.turn(ix, String::new());
        self.notes.facts.take(&line, Voice::User, NOWHERE, ix);
        self.notes.facts.take(&output, Voice::Result, NOWHERE, ix);
        let outcome = outcome::outcome(&output, message.cancelled, message.exit_code, command.weight.max(Weight::Act));
        let command = Command { weight: command.weight.max(Weight::Act), ..command };
        if let Some(step) = self.step(ix) {
            step.say = "User".to_owned();
            step.runs.push(Run { entry: ix, command: command.clone(), outcome: None });
        }
        self.ended(ix, command, outcome, &output);
    }

    /// A command has ended.
    fn ended(&mut self, ix: Ix, command: Command, outcome: Outcome, output: &str) {
        let made = if outcome.failed { None } else { outcome::commit_made(output) };
        let made = made.map(|(branch, hash, message)| (branch.to_owned(), hash.to_owned(), text::one_line(message, 120)));
        for turn in self.notes.turns.iter_mut().rev().take(2) {
            let run = turn
                .steps
                .iter_mut()
                .rev()
                .take(8)
                .flat_map(|step| step.runs.iter_mut().rev())
                .find(|run| run.outcome.is_none() && run.command == command);
            if let Some(run) = run {
                run.outcome = Some(outcome.clone());
                run.entry = ix;
                break;
            }
        }
        if let Some(step) = self.step(ix) {
            if let Some((branch, hash, message)) = made {
                match step.commits.last_mut().filter(|(_, known, _)| known.is_empty()) {
                    Some(commit) => *commit = (branch, hash, message),
                    None => step.commits.push((branch, hash, message)),
                }
            } else if outcome.failed && command.weight == Weight::Effect && step.commits.last().is_some_and(|(_, hash, _)| hash.is_empty())
            {
                step.commits.pop();
            }
        }
        if command.weight == Weight::Look || command.key.is_empty() {
            return;
        }
        let check = self.notes.checks.entry(command.key.clone()).or_insert_with(|| Check {
            shown: command.shown.clone(),
            passed: 0,
            failed: 0,
            last: Outcome::default(),
            entry: ix,
            weight: command.weight,
        });
        check.passed += u32::from(!outcome.failed);
        check.failed += u32::from(outcome.failed);
        check.last = outcome.clone();
        check.shown.clone_from(&command.shown);
        check.entry = ix;
        if self.notes.checks.len() > MOST_SAID {
            self.notes.checks.shift_remove_index(0);
        }
        if outcome.failed {
            self.failed(command.key, command.shown, outcome.code, outcome.error.unwrap_or_default(), ix);
        } else {
            self.passed(&command.key, ix);
        }
    }

    fn failed(&mut self, key: String, shown: String, code: Option<i64>, error: String, ix: Ix) {
        let at = self.notes.facts.texts;
        let before = self.notes.failures.shift_remove(&key).filter(|f| f.fixed.is_none()).map_or(0, |f| f.times);
        self.notes.failures.insert(key, Failure { shown, code, error, times: before + 1, entry: ix, at, fixed: None });
        if self.notes.failures.len() > MOST_SAID {
            self.notes.failures.shift_remove_index(0);
        }
    }

    fn passed(&mut self, key: &str, ix: Ix) {
        if let Some(failure) = self.notes.failures.get_mut(key).filter(|f| f.fixed.is_none()) {
            failure.fixed = Some(ix);
        }
    }
}

/// Text of the session as a summary may hold it: data URLs noted, control sequences gone, secrets masked, and tags of
/// ours unable to act. Masking comes before anything is measured or cut, so that no half of a secret survives.
pub(super) fn clean(content: &str) -> Cow<'_, str> {
    fn then<'a>(text: Cow<'a, str>, step: impl for<'x> Fn(&'x str) -> Cow<'x, str>) -> Cow<'a, str> {
        match text {
            Cow::Borrowed(text) => step(text),
            Cow::Owned(text) => Cow::Owned(step(&text).into_owned()),
        }
    }
    let noted = then(text::elide_data_urls(content), elide_encoded);
    let stripped = then(noted, text::strip);
    let masked = then(stripped, |text| text::Redactor::secrets().redact(text).text);
    then(masked, |text| text::neutralize_tags(text, WRAPPERS))
}

/// Chars of a run without any separator from which on it is encoded data, whatever it is: twice a SHA-512 in hex is 256, and
/// no name is as long.
const ENCODED: usize = 257;

/// Replaces long runs of base64 that stand in the text without a data URL by a note of their length.
fn elide_encoded(content: &str) -> Cow<'_, str> {
    let encoded = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    let bytes = content.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at + ENCODED <= bytes.len() {
        // A run of this length covers every place that is a multiple of it; where that place is no part of one, skip.
        let probe = at + ENCODED - 1;
        if !bytes.get(probe).is_some_and(encoded) {
            at = probe + 1;
            continue;
        }
        let back = bytes.get(at..=probe).map_or(0, |window| window.iter().rev().take_while(|b| encoded(b)).count());
        let start = probe + 1 - back;
        let len = back + bytes.get(probe + 1..).map_or(0, |rest| rest.iter().take_while(|b| encoded(b)).count());
        if len >= ENCODED {
            out.push_str(content.get(copied..start).unwrap_or_default());
            out.push_str(&format!("[{len} encoded characters]"));
            copied = start + len;
        }
        at = start + len;
    }
    if copied == 0 {
        return Cow::Borrowed(content);
    }
    out.push_str(content.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

fn new_step(entry: Ix, say: String) -> Step {
    Step { entry, say, changes: IndexMap::new(), runs: Vec::new(), commits: Vec::new(), calls: Vec::new() }
}

/// Keeps the newest, and of those the weakest goes first.
fn push_bounded(list: &mut Vec<Said>, said: Said) {
    if list.iter().any(|known| known.text == said.text) {
        return;
    }
    list.push(said);
    if list.len() > MOST_SAID {
        let weakest = list.iter().map(|s| s.strength).min().unwrap_or(0);
        let at = list.iter().position(|s| s.strength == weakest).unwrap_or(0);
        list.remove(at);
    }
}

/// A command given as a list of words.
fn argv(json: &Json<'_>) -> Option<String> {
    let words: Vec<&str> = json.items().iter().filter_map(Json::str).collect();
    match words.as_slice() {
        [] => None,
        ["bash" | "sh" | "zsh", flag, script] if flag.starts_with('-') => Some((*script).to_owned()),
        words => Some(words.join(" ")),
    }
}

/// Names that a change brings in: those that it defines, else those of its first lines. The old text is no news.
fn changed_names(args: &Json<'_>) -> Vec<String> {
    let text = |key: &str| args.get(key).str();
    let new = ["newText", "new_string", "new_str", "content", "file_text", "patch", "input", "diff"].iter().find_map(|key| text(key));
    let edits = args.get("edits").items().first().and_then(|edit| edit.get("new_string").str().or(edit.get("newText").str()));
    let Some(new) = new.or(edits) else { return Vec::new() };
    let new = clean(text::clip(new, 8 << 10)).into_owned();
    let old = ["oldText", "old_string", "old_str"].iter().find_map(|key| text(key)).unwrap_or_default();
    let mut defined = Vec::new();
    let mut used = Vec::new();
    names::scan(&new, |name| {
        if name.shape == names::Shape::Ident && name.text.len() < 40 && !name.text.starts_with("this.") && !old.contains(name.text) {
            let list = if facts::is_defined(&new, name.at) { &mut defined } else { &mut used };
            if list.len() < 3 && !list.iter().any(|known| known == name.text) {
                list.push(name.text.to_owned());
            }
        }
    });
    defined.extend(used);
    defined.dedup();
    defined.truncate(3);
    defined
}

/// All strings of the arguments, a line each.
fn strings(json: &Json<'_>, out: &mut String, depth: u8) {
    match json {
        Json::Str(s) => {
            out.push_str(s);
            out.push('\n');
        }
        Json::Array(items) if depth < 8 => items.iter().for_each(|item| strings(item, out, depth + 1)),
        Json::Object(members) if depth < 8 => members.iter().for_each(|(_, value)| strings(value, out, depth + 1)),
        _ => {}
    }
}
