//! The words of a plan: who is asked for which part, with which share of the budget, and what the result counts.

use std::io;

use super::RunError;
use crate::engine::compaction::{self, Draft, Extra, Plan};
use crate::engine::tokens::{Counter, Tokenizer, of_message};
use crate::session::{Context, Ix, Role, Session};
use crate::summarize::{Account, Purpose, Request, Summarizer, Summary, Usage};
use crate::text;

/// What the words of a plan depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    /// How tokens are counted.
    pub(super) tokenizer: Tokenizer,
    /// Most tokens of the whole summary.
    pub(super) summary_tokens: u64,
    /// What the summary is to look at.
    pub(super) focus: Option<&'a str>,
    /// What a model is told in place of our own prompt.
    pub(super) prompt: Option<&'a str>,
    /// Lines of context from elsewhere.
    pub(super) context: &'a [String],
}

/// Tokens of the budget that the first part of a split turn gets: its share of the text, within bounds that leave room for
/// both parts. What the work of both is about is told with the history.
fn prefix_share(session: &Session, plan: &Plan, budget: u64) -> u64 {
    let bytes = |messages: &[Ix]| messages.iter().map(|ix| u64::from(session[*ix].len)).sum::<u64>();
    let (history, prefix) = (bytes(&plan.history.told), bytes(&plan.prefix.told));
    (budget.saturating_mul(prefix) / (history + prefix).max(1)).clamp(budget * 8 / 100, budget * 30 / 100)
}

/// Lines of context without secrets. Lines of one file may be lines of one key, so they are masked together.
pub(super) fn masked_lines(lines: &[String]) -> Vec<String> {
    text::masked(&lines.join("\n")).lines().map(str::to_owned).collect()
}

/// Makes the words of a plan.
///
/// # Errors
/// When the session cannot be read, or no summary came of it.
pub(super) fn words(session: &Session, plan: &Plan, summarizer: &dyn Summarizer, words: &Words<'_>) -> Result<Draft, RunError> {
    let budget = compaction::text_budget(words.summary_tokens, words.tokenizer, &plan.files);
    let previous = plan.previous.as_ref().map(|p| p.summary.as_str()).filter(|s| !s.trim().is_empty());
    let split = plan.cut.turn_start.is_some();
    // Where a turn is split at the very start there is no history to tell.
    let has_history = !split || !plan.history.told.is_empty() || previous.is_some();
    let prefix_budget = match (split, has_history) {
        (false, _) => 0,
        (true, true) => prefix_share(session, plan, budget),
        (true, false) => budget,
    };
    let context = masked_lines(words.context);
    let request = Request {
        session,
        selection: &plan.history,
        purpose: Purpose::History,
        previous,
        kept: &plan.kept,
        turn: if split { &plan.prefix.told } else { &[] },
        // Who cannot be told how to write can at least look at what the prompt names.
        focus: words.focus.or(words.prompt.filter(|_| !summarizer.sends())),
        prompt: words.prompt,
        context: &context,
        budget: budget - prefix_budget,
        spare: prefix_budget,
        tokenizer: words.tokenizer,
    };
    let mut history = has_history.then(|| summarizer.summarize(&request)).transpose()?;
    // What the history did not need goes to the turn; what it says need not be said again there.
    let told = history.as_ref().map(Summary::text);
    let used = told.as_deref().map_or(0, |text| words.tokenizer.count(text));
    let prefix = Request {
        selection: &plan.prefix,
        purpose: Purpose::TurnPrefix,
        previous: told.as_deref(),
        turn: &[],
        budget: budget.saturating_sub(used).max(prefix_budget),
        spare: 0,
        ..request
    };
    let prefix = split.then(|| summarizer.summarize(&prefix)).transpose()?;
    // And the other way round.
    if let Some(history) = &mut history {
        let turn = prefix.as_ref().map(Summary::text).unwrap_or_default();
        history.fill(budget.saturating_sub(used + words.tokenizer.count(&turn)), words.tokenizer, &turn);
    }
    Ok(Draft { history, prefix, ..Draft::default() })
}

/// What an entry says of the words that a summarizer made.
pub(super) fn extra_of(account: Account) -> Extra {
    Extra { details: account.details(), usage: account.usage.map(Usage::to_json), preserve: account.preserve, ..Extra::default() }
}

/// The summarizer that an entry names: one other than the default, or the default in place of another.
pub(super) fn note_of(summarizer: Option<&'static str>, extra: &Extra) -> Option<&'static str> {
    summarizer.filter(|_| !extra.from_extension).filter(|name| *name != "offline" || extra.details.contains_key("fallback"))
}

/// Tokens of the predicted context; what is kept was mostly counted before.
pub(super) fn count_after(counter: &mut Counter<'_>, before: &Session, after: &Session, context: &Context) -> io::Result<u64> {
    let mut sum = 0;
    for item in &context.items {
        let known = (item.edit.is_none() && !item.partial && item.role != Role::CompactionSummary && item.role != Role::System)
            .then(|| before.by_id(after.id(item.entry)))
            .flatten();
        sum += match known {
            Some(ix) => counter.entry(ix)?,
            None => {
                let tokenizer = counter.tokenizer();
                after.with_item(context, item, |message| of_message(tokenizer, message))?
            }
        };
    }
    Ok(sum)
}

/// Debug builds wait here when asked to, so that tests can show what others may do meanwhile.
pub(super) fn test_delay() {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("EPITOME_TEST_SUMMARIZER_DELAY_MS").ok().and_then(|ms| ms.parse().ok()) {
        std::thread::sleep(std::time::Duration::from_millis(ms));
    }
}
