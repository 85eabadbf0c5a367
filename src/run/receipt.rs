//! What a writer tells at the end: one receipt a session.

use serde_json::json;

use super::rewrite::Rewritten;
use super::snapcompact::FramesReport;
use crate::engine::compaction::{self, Extra, Plan};
use crate::engine::serialize::LeftOut;
use crate::engine::trigger::Promoted;
use crate::engine::usage::Estimate;
use crate::session::{Ix, Session};
use crate::summarize::Account;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Action {
    /// A compaction was appended.
    Compacted,
    /// The model was changed instead, to one with a larger window.
    Promoted,
    /// Only results were pruned: that was enough, or there is nothing to compact.
    Pruned,
    /// There was nothing to do.
    #[default]
    Nothing,
    /// It would not have helped.
    Refused,
}

impl Action {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Action::Compacted => "compacted",
            Action::Promoted => "promoted",
            Action::Pruned => "pruned",
            Action::Nothing => "nothing",
            Action::Refused => "refused",
        }
    }
}

/// The receipt. What is not known is `None`.
#[derive(Debug, Clone, Default)]
pub struct Receipt {
    /// What was done.
    pub action: Action,
    /// Why: a code.
    pub reason: Option<&'static str>,
    /// The same in words.
    pub why: Option<String>,
    /// The new entry.
    pub entry_id: Option<String>,
    /// The strategy.
    pub strategy: &'static str,
    /// Who made the words.
    pub summarizer: Option<&'static str>,
    /// What asked for it.
    pub trigger: Option<&'static str>,
    /// Whether the agent makes the turn again.
    pub will_retry: bool,
    /// The model that is switched to instead.
    pub promotion: Option<Promoted>,
    /// The message behind the new entry that makes the agent go on.
    pub continue_id: Option<String>,
    /// Tokens counted in the context before and after, by the same ruler.
    pub counted: (Option<u64>, Option<u64>),
    /// Tokens of the context before, as an agent knows them, and of the rebuilt context.
    pub tokens: (Option<u64>, Option<u64>),
    /// Some of these numbers were extrapolated.
    pub estimated: bool,
    /// Results that were pruned before.
    pub pruned_results: usize,
    /// Bytes of the session before and after.
    pub bytes: (u64, Option<u64>),
    /// Messages whose text went into the summary.
    pub summarized_messages: usize,
    /// Messages that stay.
    pub kept_messages: usize,
    /// Messages that were left out of the summarized text.
    pub dropped: Vec<(String, LeftOut)>,
    /// The frames, when history was put on them.
    pub frames: Option<FramesReport>,
    /// Why there are none although they were asked for.
    pub no_frames: Option<String>,
    /// Requests that were sent to a provider.
    pub requests: u64,
    /// The archive of the file that a migration replaced.
    pub archive_revision: Option<u64>,
    /// Nothing was written because nothing was to be.
    pub dry_run: bool,
    /// What should be known.
    pub warnings: Vec<String>,
}

impl Receipt {
    /// Takes down what was written.
    pub(super) fn wrote(&mut self, written: Rewritten) {
        self.bytes.1 = Some(written.bytes);
        self.archive_revision = written.revision;
        self.warnings.extend(written.warnings);
    }

    /// Takes down that a summary is made and no frames, which was allowed, and why.
    pub(super) fn no_frames(&mut self, why: String) {
        self.strategy = "context-full";
        self.warnings.push(format!("{why}, so a summary is made and no frames"));
        self.no_frames = Some(why);
    }

    /// Puts down in an entry that its strategy is not the one that was asked for.
    pub(super) fn put_fallback(&self, extra: &mut Extra) {
        let Some(why) = &self.no_frames else { return };
        let mut fallback = json!({"to": "context-full", "reason": why});
        if let (Some(of_words), Some(fallback)) = (extra.details.remove("fallback"), fallback.as_object_mut()) {
            fallback.insert("summarizer".to_owned(), of_words);
        }
        extra.details.insert("fallback".to_owned(), fallback);
    }

    /// Takes down that there is nothing to do: a code and words.
    pub(super) fn nothing(&mut self, reason: &'static str, why: &str) {
        self.stays(Action::Nothing, reason, why.to_owned());
    }

    /// Takes down that it is not done: a code and words.
    pub(super) fn refused(&mut self, reason: &'static str, why: String) {
        self.stays(Action::Refused, reason, why);
    }

    /// Takes down that a hook does not want it.
    pub(super) fn cancelled(&mut self) {
        self.refused("cancelled", "a hook cancelled it".to_owned());
    }

    fn stays(&mut self, action: Action, reason: &'static str, why: String) {
        self.bytes.1 = Some(self.bytes.0);
        self.action = action;
        self.reason = Some(reason);
        self.why = Some(why);
    }

    /// Takes down what a plan says of the session it was made for.
    pub(super) fn planned(&mut self, session: &Session, plan: &Plan) {
        let dropped = compaction::dropped(plan);
        self.warnings.extend(plan.previous.as_ref().and_then(|previous| previous.warning.clone()));
        self.summarized_messages = plan.history.told.len() + plan.prefix.told.len() + dropped.len();
        self.kept_messages = plan.kept.len();
        self.drop(session, &dropped);
        self.estimate(&plan.estimate);
    }

    /// Takes down what is left out of the text for the summarizer, and why.
    pub(super) fn drop(&mut self, session: &Session, left_out: &[(Ix, LeftOut)]) {
        self.dropped = left_out.iter().map(|(ix, why)| (session.id(*ix).to_owned(), *why)).collect();
    }

    /// Takes down the tokens of the context before.
    pub(super) fn estimate(&mut self, estimate: &Estimate) {
        self.counted.0 = Some(estimate.counted.tokens);
        self.tokens.0 = Some(estimate.before());
        self.estimated = estimate.counted.estimated;
    }

    /// Takes down who made the words, when `asked` was asked for them.
    pub(super) fn made_by(&mut self, asked: &str, account: &Account) {
        self.requests = account.requests;
        if let Some((to, _)) = &account.fell_back {
            self.summarizer = Some(to);
        }
        self.warnings.extend(account.warnings(asked));
    }
}
