//! One pass over the messages, which notes what a summary may say. Messages are let go after they are read; what is noted
//! is bounded.

use std::borrow::Cow;
use std::io;

use indexmap::IndexMap;

use super::args::{Changed, argv, changed, strings};
use super::clean::clean;
use super::facts::{Change, Facts, NOWHERE, Voice};
use super::notes::{Ask, Check, Failure, Kind, Notes, Pending, Run, Said, Step, Turn};
use super::outcome::{self, Command, Outcome, Weight};
use super::todo;
use super::transcript::{self, Who};
use super::words;
use crate::engine::cut::starts_turn;
use crate::engine::files::Files;
use crate::session::message::Call;
use crate::session::{Block, Ix, Kind as EntryKind, Message, Role};
use crate::summarize::{Purpose, Request};
use crate::text;

/// Turns that are kept at most; the oldest after the first go.
const MOST_TURNS: usize = 512;
/// Steps of one turn.
const MOST_STEPS: usize = 256;
/// Sentences of one kind.
const MOST_SAID: usize = 256;
/// Chars of a request.
const ASK_CHARS: usize = 12_000;

/// The pass.
pub(super) struct Reader<'r> {
    request: &'r Request<'r>,
    notes: Notes,
}

impl<'r> Reader<'r> {
    pub(super) fn new(request: &'r Request<'r>, folder: &str) -> Self {
        Reader { request, notes: Notes::new(Facts::new(folder)) }
    }

    /// Reads every message that is told.
    pub(super) fn read(mut self) -> io::Result<Notes> {
        let request = self.request;
        if request.purpose != Purpose::TurnPrefix {
            self.transcript();
        }
        for ix in request.selection.told.iter().copied() {
            request.selection.with_told(request.session, ix, |message| self.message(ix, message))?;
        }
        self.turn_told_apart()?;
        // A result may stand in the part that is kept.
        for ix in request.turn.iter().chain(request.kept).copied() {
            if let Some(call) = request.session[ix].target {
                self.notes.pending.shift_remove(request.session.name(call));
            }
        }
        Ok(self.notes)
    }

    /// Reads the transcript that history on pictures is; a summary is read elsewhere.
    fn transcript(&mut self) {
        let session = self.request.session;
        let Some(parts) = self.request.previous.and_then(transcript::parts) else { return };
        // The entry that carries the pictures stands for what is on them.
        let carrier = session.nodes().rev().find(|(_, entry)| entry.kind == EntryKind::Compaction).map(|(ix, _)| ix);
        let Some(ix) = carrier.or(self.request.selection.told.first().copied()) else { return };
        for (n, (who, said)) in parts.iter().enumerate() {
            let text = clean(said);
            match who {
                Who::User if !text.trim().is_empty() => {
                    self.notes.facts.take(&text, Voice::User, NOWHERE, ix);
                    self.ask(ix, &text);
                }
                Who::Assistant => {
                    let calls = parts.get(n + 1).is_some_and(|(next, _)| *next == Who::Call);
                    self.say(ix, said, !calls);
                }
                Who::Call => self.notes.facts.take(&text, Voice::Assistant, NOWHERE, ix),
                Who::Result => self.notes.facts.take(&text, Voice::Result, NOWHERE, ix),
                Who::User | Who::Thought | Who::Summary => {}
            }
        }
    }

    /// What counts of the turn that is told apart: its names, and which failures it put right.
    fn turn_told_apart(&mut self) -> io::Result<()> {
        let facts = std::mem::replace(&mut self.notes.facts, Facts::new(""));
        let mut apart = Reader { request: self.request, notes: Notes::new(facts) };
        for ix in self.request.turn.iter().copied() {
            apart.request.selection.with_told(apart.request.session, ix, |message| apart.message(ix, message))?;
        }
        for (key, failure) in self.notes.failures.iter_mut().filter(|(_, failure)| failure.fixed.is_none()) {
            failure.fixed = apart.notes.checks.get(key).filter(|check| !check.last.failed).map(|check| check.entry);
        }
        self.notes.later_checks = apart.notes.checks;
        self.notes.facts = apart.notes.facts;
        Ok(())
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
        let talk = without_pasted(&told);
        for sentence in words::sentences(&talk) {
            let strength = words::rule_strength(sentence);
            if strength > 0 {
                push_bounded(&mut self.notes.rules, Said { entry: ix, text: words::plain(sentence).into_owned(), strength });
            }
            if words::decision_strength(sentence) >= 3 {
                push_bounded(&mut self.notes.decisions, Said { entry: ix, text: format!("User: {}", words::plain(sentence)), strength: 2 });
            }
        }
        self.turn(ix, text::one_line(&told, 200));
        // The first request is kept for good, so a command of the agent itself must not take its place.
        if self.notes.asks.len() == 1 && is_request(&told) && !self.notes.asks.iter().any(|ask| is_request(&ask.text)) {
            self.notes.asks.clear();
        }
        self.notes.asks.push(Ask { entry: ix, text: told });
        if self.notes.asks.len() > 64 {
            self.notes.asks.remove(1);
        }
        self.notes.open = true;
    }

    fn turn(&mut self, entry: Ix, ask: String) {
        self.notes.facts.turn += 1;
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
        let calls = message.calls().any(|call| self.request.selection.tells_call(self.request.session, ix, &call.id));
        for block in &message.blocks {
            match block {
                Block::Text(said) if !said.trim().is_empty() => self.say(ix, said, !calls),
                Block::Call(call) if self.request.selection.tells_call(self.request.session, ix, &call.id) => self.call(ix, call),
                _ => {}
            }
        }
    }

    fn say(&mut self, ix: Ix, said: &str, last: bool) {
        let content = clean(said);
        self.notes.facts.take(&content, Voice::Assistant, NOWHERE, ix);
        let sentences = words::sentences(&content);
        // What is said in sentences tells more than the first point of a list.
        let listed = |line: &str| {
            line.trim_start().starts_with(['-', '*', '#', '•', '|', '+']) || line.trim_start().starts_with(|c: char| c.is_ascii_digit())
        };
        let prose: Vec<&str> = content.lines().map(|line| if listed(line) { "" } else { line }).collect();
        let prose = prose.join("\n");
        let lead = words::first_telling(&words::sentences(&prose))
            .or_else(|| words::first_telling(&sentences))
            .map(|s| text::one_line(&words::plain(s), 220))
            .unwrap_or_default();
        let mut in_next = false;
        let mut nexts = Vec::new();
        for line in content.lines() {
            let whole = words::unmark(line.trim());
            // The heading of a list may stand behind the last sentence of the text.
            let behind = whole.trim_end_matches([':', '：']).rfind(['.', '。', '!', '！']).filter(|_| whole.ends_with([':', '：']));
            let tail = behind.and_then(|at| whole.get(at..)).unwrap_or_default().trim_start_matches(['.', '。', '!', '！', ' ']);
            let bare = if words::says_next(tail) { tail } else { whole };
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
            } else if words::is_statement(sentence) {
                push_bounded(&mut self.notes.findings, Said { entry: ix, text: words::plain(sentence).into_owned(), strength: 1 });
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
            kind = Kind::File(false);
            for key in ["offset", "start_line", "line", "view_range"] {
                let asked = call.args.get(key);
                for line in std::iter::once(asked).chain(asked.items().iter()) {
                    if let Some(line) = line.amount() {
                        self.notes.facts.asked_line(line, home, ix);
                    }
                }
            }
        }
        let whole = matches!(call.name.as_ref(), "write" | "Write" | "write_file") || call.args.get("command").str() == Some("create");
        let mut about = if files.modified.is_empty() { Changed::default() } else { changed(&call.args) };
        for path in files.modified.iter() {
            let path = clean(path);
            home = self.notes.facts.touch(&path, ix, |file| if whole { file.writes += 1 } else { file.edits += 1 });
            what = format!("`{name}` of `{}`", self.notes.facts.short(&path));
            kind = Kind::File(true);
            // An edit that shows no definition stands in the one where its names were read.
            if about.added.is_empty() && about.touched.is_empty() {
                about.touched.extend(self.notes.facts.around(&about.near, home));
            }
            if let Some(step) = self.step(ix) {
                let change = step.changes.entry(home).or_default();
                change.times += 1;
                for name in about.telling(3) {
                    if change.names.len() < 3 && !change.names.contains(name) {
                        change.names.push(name.clone());
                    }
                }
            }
            for (names, how) in [(&about.added, Change::Added), (&about.touched, Change::Touched), (&about.used, Change::Used)] {
                for name in names {
                    self.notes.facts.mark(name, how, home, ix);
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
                // Many agents read files by commands.
                if let Some(path) = &command.file {
                    home = self.notes.facts.touch(path, ix, |file| file.reads += 1);
                }
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
        self.notes.pending.insert(call.id.to_string(), Pending { entry: ix, what, home, kind });
    }

    fn result(&mut self, ix: Ix, message: &Message<'_>) {
        let pending = message.call_id.as_deref().and_then(|id| self.notes.pending.shift_remove(id));
        let content = message.text();
        let content = clean(&content);
        let home = pending.as_ref().map_or(NOWHERE, |pending| pending.home);
        // Logs of checks name every test and every crate; what they say of failures is all that anyone goes back to.
        match &pending {
            Some(Pending { kind: Kind::Run(command), what, .. }) if command.weight >= Weight::Check => {
                self.notes.facts.take(&outcome::failing_lines(&content), Voice::Result, NOWHERE, ix);
                self.notes.facts.take_printed(&outcome::commands_echoed(&content), what, ix);
            }
            Some(pending) if home == NOWHERE && !pending.what.is_empty() => self.notes.facts.take_printed(&content, &pending.what, ix),
            _ => self.notes.facts.take(&content, Voice::Result, home, ix),
        }
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
            Kind::File(true) | Kind::Other if message.is_error => {
                let error = outcome::decisive_line(&content).unwrap_or_default();
                self.failed(pending.what.clone(), pending.what, None, error, ix);
            }
            Kind::File(true) | Kind::Other => self.passed(&pending.what.clone(), ix),
            Kind::File(false) => {}
        }
    }

    fn execution(&mut self, ix: Ix, message: &Message<'_>) {
        let line = clean(message.command.as_deref().unwrap_or_default());
        let output = clean(message.output.as_deref().unwrap_or_default());
        let command = outcome::command(&line);
        self.turn(ix, String::new());
        self.notes.facts.take(&line, Voice::User, NOWHERE, ix);
        self.notes.facts.take_printed(&output, &format!("`{}`", command.shown), ix);
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
            weight: command.weight,
            entry: ix,
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

/// A request without lines that are pasted output, and without those right behind or before one: output is wrapped.
fn without_pasted(told: &str) -> String {
    let lines: Vec<&str> = told.lines().collect();
    let pasted = |n: Option<usize>| n.and_then(|n| lines.get(n)).is_some_and(|line| words::looks_like_output(line.trim()));
    let talk = lines.iter().enumerate().filter(|(n, line)| {
        let listed = line.trim_start().starts_with(['-', '*', '•']);
        !pasted(Some(*n)) && (listed || !pasted(n.checked_sub(1)) && !pasted(Some(n + 1)))
    });
    talk.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
}

/// Whether a message of the user asks for something, and is neither a command of the agent itself nor a word or two.
pub(super) fn is_request(text: &str) -> bool {
    !(text.starts_with('/') && text.split_whitespace().count() <= 2) && text.chars().count() > 3
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
