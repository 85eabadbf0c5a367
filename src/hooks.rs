//! Hooks: commands of a person that are asked before something is written, and told after it.
//!
//! A hook gets one JSON object on standard input and answers with one on standard output; nothing at all means that it has
//! nothing to say. Before a write, a hook that fails, takes too long or answers nonsense stops the run: whoever set it
//! relies on being asked. An answer is nonsense also where it has a member that no one reads, because a misspelt `cancel`
//! would otherwise be a yes. Hooks run while nothing is locked, and never in a dry run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::process;
use crate::summarize::keys::Keys;

/// Bytes that a hook may answer: far more than any summary, and too few to fill the memory.
const MOST_ANSWER: usize = 4 * 1024 * 1024;

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Before a compaction: may cancel it, or give it.
    BeforeCompact,
    /// Before its summary is made: may give the prompt, lines of context, and data to keep.
    Compacting,
    /// After a compaction, or after the history was replaced.
    Compacted,
    /// Before the summary of a branch: may cancel it, or give it.
    BeforeTree,
}

impl Event {
    /// All of them.
    pub const ALL: [Event; 4] = [Event::BeforeCompact, Event::Compacting, Event::Compacted, Event::BeforeTree];

    /// The name on the command line, in settings and in the JSON that a hook gets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Event::BeforeCompact => "session_before_compact",
            Event::Compacting => "session.compacting",
            Event::Compacted => "session_compact",
            Event::BeforeTree => "session_before_tree",
        }
    }

    /// The event of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }
}

/// Why a hook stopped the run.
#[derive(Debug, thiserror::Error)]
#[error("the hook {event} failed: {what}")]
pub struct HookError {
    /// Its event.
    pub event: &'static str,
    /// What is wrong.
    pub what: String,
}

/// The hooks of a run.
#[derive(Debug, Default)]
pub struct Hooks {
    commands: Vec<(Event, String)>,
    timeout: Duration,
    /// What no hook gets, and what goes no further when one says it.
    keys: Keys,
    /// Whether a hook failed after something was written.
    failed: AtomicBool,
}

impl Hooks {
    /// Hooks by event, in the order in which they run.
    #[must_use]
    pub fn new(commands: Vec<(Event, String)>, timeout: Duration) -> Hooks {
        Hooks { commands, timeout, ..Hooks::default() }
    }

    /// The same, with the keys that are taken out of what they get and say.
    #[must_use]
    pub fn hiding(self, keys: Keys) -> Hooks {
        Hooks { keys, ..self }
    }

    /// Whether an event has a hook.
    #[must_use]
    pub fn has(&self, event: Event) -> bool {
        self.commands.iter().any(|(known, _)| *known == event)
    }

    /// Whether a hook failed after something was written.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Asks the hooks of an event, in order, as long as `goes_on` says so of each answer.
    ///
    /// # Errors
    /// When one fails, takes too long, or answers nonsense.
    fn ask<T: DeserializeOwned + Default>(
        &self,
        event: Event,
        payload: &Value,
        note: &dyn Fn(&str),
        mut take: impl FnMut(T) -> bool,
    ) -> Result<(), HookError> {
        let payload = payload.to_string();
        let input = self.keys.hide(&payload);
        for (_, command) in self.commands.iter().filter(|(known, _)| *known == event) {
            let failed = |what: String| HookError { event: event.name(), what };
            let said = |line: &str| note(&format!("{}: {}", event.name(), self.keys.hide(line)));
            let out = process::run(command, input.as_bytes(), self.timeout, MOST_ANSWER, &said).map_err(|e| failed(e.to_string()))?;
            let out = String::from_utf8_lossy(&out);
            if !take(parse(self.keys.hide(&out).as_bytes()).map_err(|what| failed(format!("its answer cannot be used: {what}")))?) {
                break;
            }
        }
        Ok(())
    }

    /// Asks before a compaction; the first hook that cancels it or gives it decides.
    ///
    /// # Errors
    /// When a hook fails, takes too long, or answers nonsense.
    pub fn before_compact(&self, payload: &Value, note: &dyn Fn(&str)) -> Result<BeforeCompact, HookError> {
        let mut result = BeforeCompact::default();
        self.ask(Event::BeforeCompact, payload, note, |answer: BeforeCompact| {
            result = answer;
            !result.cancel && result.compaction.is_none()
        })?;
        if let Some(given) = result.compaction.as_ref().filter(|_| !result.cancel) {
            worded(Event::BeforeCompact, &given.summary)?;
        }
        Ok(result)
    }

    /// Asks before a summary is made; context adds up, and of the rest the last answer counts.
    ///
    /// # Errors
    /// When a hook fails, takes too long, or answers nonsense.
    pub fn compacting(&self, payload: &Value, note: &dyn Fn(&str)) -> Result<Compacting, HookError> {
        let mut result = Compacting::default();
        self.ask(Event::Compacting, payload, note, |answer: Compacting| {
            result.prompt = answer.prompt.filter(|prompt| !prompt.trim().is_empty()).or(result.prompt.take());
            result.context.extend(answer.context);
            result.preserve_data.extend(answer.preserve_data);
            true
        })?;
        Ok(result)
    }

    /// Asks before the summary of a branch; the first hook that cancels it or gives it decides.
    ///
    /// # Errors
    /// When a hook fails, takes too long, or answers nonsense.
    pub fn before_tree(&self, payload: &Value, note: &dyn Fn(&str)) -> Result<BeforeTree, HookError> {
        let mut result = BeforeTree::default();
        self.ask(Event::BeforeTree, payload, note, |answer: BeforeTree| {
            result = answer;
            !result.cancel && result.summary.is_none()
        })?;
        if let Some(given) = result.summary.as_ref().filter(|_| !result.cancel) {
            worded(Event::BeforeTree, &given.summary)?;
        }
        Ok(result)
    }

    /// Tells the hooks what was written; each of them, whatever the others did. Gives what went wrong, for warnings.
    #[must_use]
    pub fn compacted(&self, payload: &Value, note: &dyn Fn(&str)) -> Vec<String> {
        let mut wrong = Vec::new();
        for command in self.commands.iter().filter(|(event, _)| *event == Event::Compacted) {
            let only = Hooks::new(vec![command.clone()], self.timeout).hiding(self.keys.clone());
            if let Err(error) = only.ask(Event::Compacted, payload, note, |_: Silence| true) {
                self.failed.store(true, Ordering::Relaxed);
                wrong.push(error.to_string());
            }
        }
        wrong
    }
}

/// A summary that a hook gives must say something.
fn worded(event: Event, summary: &str) -> Result<(), HookError> {
    if summary.trim().is_empty() {
        return Err(HookError { event: event.name(), what: "its answer cannot be used: the summary is empty".to_owned() });
    }
    Ok(())
}

/// An answer: one object, or nothing at all.
fn parse<T: DeserializeOwned + Default>(out: &[u8]) -> Result<T, String> {
    let text = out.trim_ascii();
    match text.first() {
        None => Ok(T::default()),
        Some(b'{') => serde_json::from_slice(text).map_err(|e| e.to_string()),
        Some(_) => Err("it is no JSON object".to_owned()),
    }
}

/// What a hook says before a compaction.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BeforeCompact {
    /// Write nothing.
    pub cancel: bool,
    /// Write this.
    pub compaction: Option<Given>,
}

/// What a hook says before the summary of a branch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BeforeTree {
    /// Write nothing.
    pub cancel: bool,
    /// Write this.
    pub summary: Option<GivenSummary>,
}

/// A compaction from a hook.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Given {
    /// The summary.
    pub summary: String,
    /// One or two sentences for lists.
    #[serde(default)]
    pub short_summary: Option<String>,
    /// The first entry that stays; one of the cut's candidates.
    #[serde(default)]
    pub first_kept_entry_id: Option<String>,
    /// Accepted, because agents' own hooks give it; what is stored is counted.
    #[serde(default)]
    pub tokens_before: Option<Value>,
    /// Stored as it is.
    #[serde(default)]
    pub details: Option<Map<String, Value>>,
    /// Stored on the entry.
    #[serde(default)]
    pub preserve_data: Map<String, Value>,
}

/// A branch's summary from a hook.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenSummary {
    /// The summary.
    pub summary: String,
    /// Stored as it is.
    #[serde(default)]
    pub details: Option<Map<String, Value>>,
}

/// What a hook says before a summary is made.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Compacting {
    /// The prompt in place of ours.
    pub prompt: Option<String>,
    /// Lines of context for the summary.
    pub context: Vec<String>,
    /// Stored on the entry.
    pub preserve_data: Map<String, Value>,
}

/// What a hook says that was only told: any object will do.
#[derive(Debug, Default, Deserialize)]
struct Silence {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    fn hooks(commands: &[(Event, &str)]) -> Hooks {
        Hooks::new(commands.iter().map(|(event, command)| (*event, (*command).to_owned())).collect(), Duration::from_secs(20))
    }

    #[test]
    fn answers_are_objects_whose_members_are_known() {
        let rows = [
            ("", true),
            (" \n", true),
            ("{}", true),
            (r#"{"cancel":false}"#, true),
            (r#"{"compaction":{"summary":"s","tokensBefore":3}}"#, true),
            (r#"{"cancle":true}"#, false),
            (r#"{"cancel":"yes"}"#, false),
            (r#"{"compaction":{"summary":"s","firstKept":"x"}}"#, false),
            (r#"{"compaction":{}}"#, false),
            (r#"{"cancel":true} {"cancel":true}"#, false),
            ("[true]", false),
            ("true", false),
            ("cancelled", false),
        ];
        for (text, good) in rows {
            assert_eq!(parse::<BeforeCompact>(text.as_bytes()).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn the_first_that_decides_ends_the_asking() {
        let both = hooks(&[
            (Event::BeforeCompact, "true"),
            (Event::BeforeCompact, r#"echo '{"cancel":true}'"#),
            (Event::BeforeCompact, "exit 9"),
            (Event::BeforeTree, "exit 8"),
        ]);
        assert!(both.before_compact(&json!({}), &|_| {}).unwrap().cancel);
        assert!(both.has(Event::BeforeTree) && !both.has(Event::Compacting));
        let error = both.before_tree(&json!({}), &|_| {}).unwrap_err().to_string();
        assert_eq!(error, "the hook session_before_tree failed: it ended with exit code 8");
        let empty = hooks(&[(Event::BeforeCompact, r#"echo '{"compaction":{"summary":" "}}'"#)]);
        assert!(empty.before_compact(&json!({}), &|_| {}).unwrap_err().to_string().ends_with("the summary is empty"));
    }

    #[test]
    fn context_adds_up_and_the_last_prompt_counts() {
        let two = hooks(&[
            (Event::Compacting, r#"echo '{"prompt":"one","context":["a"],"preserveData":{"k":1,"l":1}}'"#),
            (Event::Compacting, r#"echo '{"prompt":" ","context":["b"],"preserveData":{"k":2}}'"#),
        ]);
        let answer = two.compacting(&json!({}), &|_| {}).unwrap();
        assert_eq!((answer.prompt.as_deref(), answer.context), (Some("one"), vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(Value::Object(answer.preserve_data), json!({"k": 2, "l": 1}));
    }

    #[test]
    fn keys_neither_go_in_nor_come_out() {
        let keys = || Keys::of(|name| (name == "OPENAI_API_KEY").then(|| "PLANTED-0123".to_owned()));
        let echo =
            hooks(&[(Event::Compacting, "grep -c PLANTED >&2; echo '{\"context\":[\"it is PLANTED-0123\"]}'; echo PLANTED-0123 >&2")]);
        let notes = std::cell::RefCell::new(Vec::new());
        let note = |line: &str| notes.borrow_mut().push(line.to_owned());
        let answer = echo.hiding(keys()).compacting(&json!({"x": "PLANTED-0123"}), &note).unwrap();
        assert_eq!(answer.context, ["it is [redacted key]"]);
        assert_eq!(notes.borrow().as_slice(), ["session.compacting: 0", "session.compacting: [redacted key]"]);
        let after = hooks(&[(Event::Compacted, "grep -c PLANTED >&2; true")]).hiding(keys());
        notes.borrow_mut().clear();
        assert!(after.compacted(&json!({"x": "PLANTED-0123"}), &note).is_empty());
        assert_eq!(notes.into_inner(), ["session_compact: 0"]);
    }

    #[test]
    fn every_hook_is_told_and_failures_are_kept() {
        let two = hooks(&[(Event::Compacted, "exit 3"), (Event::Compacted, "cat >&2; echo '{\"any\":1}'")]);
        let notes = std::cell::RefCell::new(Vec::new());
        let wrong = two.compacted(&json!({"x": 1}), &|line| notes.borrow_mut().push(line.to_owned()));
        assert_eq!(wrong, ["the hook session_compact failed: it ended with exit code 3"]);
        assert!(two.failed());
        assert_eq!(notes.into_inner(), ["session_compact: {\"x\":1}"]);
    }
}
