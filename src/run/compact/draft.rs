//! What a compaction says: words, frames, or what a hook gave.

use super::job::CompactJob;
use crate::engine::compaction::{Draft, Extra, Plan};
use crate::engine::window::OPENAI_REPLAY;
use crate::hooks::Given;
use crate::models::Facts;
use crate::run::framing::print;
use crate::run::hooked::{self, Asking};
use crate::run::receipt::Receipt;
use crate::run::snapcompact::FramesJob;
use crate::run::words::{Words, extra_of, test_delay, words};
use crate::run::{RunError, Services};

/// What the words and frames of a compaction come from, when they are not made here.
pub(super) struct Basis<'j> {
    /// What a hook answered.
    pub(super) answer: Option<Box<Given>>,
    /// The frames that were asked for, with the model that is to read them.
    pub(super) framing: Option<(&'j FramesJob, String, Facts)>,
}

/// A draft, and what belongs to it outside its entry.
pub(super) struct Made {
    pub(super) draft: Draft,
    /// The message with the frames that readers get who know none in a compaction.
    pub(super) message: Option<serde_json::Value>,
    /// The new frames.
    pub(super) pictures: Vec<crate::frames::render::Picture>,
}

/// Makes what the entry of a plan says. `None` in a dry run in which only a provider could tell.
pub(super) fn draft(
    job: &CompactJob,
    services: &Services<'_>,
    asking: &Asking<'_>,
    plan: &Plan,
    basis: Basis<'_>,
    receipt: &mut Receipt,
) -> Result<Option<Made>, RunError> {
    let session = asking.session;
    let printed = match basis.framing.filter(|_| basis.answer.is_none()) {
        Some(framing) => {
            (services.progress)("printing");
            print(session, plan, framing, job.tokenizer, receipt)?
        }
        None => None,
    };
    receipt.summarizer = printed.is_none().then(|| services.summarizer.name());
    if receipt.dry_run && printed.is_none() && services.summarizer.sends() {
        return Ok(None);
    }
    if printed.is_none() {
        (services.progress)("summarizing");
    }
    test_delay();
    let of_words = |draft| Made { draft, message: None, pictures: Vec::new() };
    if let Some(answer) = basis.answer {
        receipt.summarizer = Some("hook");
        return Ok(Some(of_words(hooked::given_draft(*answer))));
    }
    if let Some(printed) = printed {
        receipt.warnings.extend(printed.warnings);
        receipt.frames = Some(printed.report);
        return Ok(Some(Made { draft: printed.draft, message: printed.message, pictures: printed.pictures }));
    }
    let asked = asking.compacting(|| asking.preparation(plan), services)?;
    let context = [job.context.as_slice(), &asked.context].concat();
    let words_of = Words {
        tokenizer: job.tokenizer,
        summary_tokens: job.summary_tokens,
        focus: job.focus.as_deref(),
        prompt: asked.prompt.as_deref(),
        context: &context,
    };
    let draft = words(session, plan, services.summarizer, &words_of)?;
    let account = services.summarizer.account();
    receipt.made_by(services.summarizer.name(), &account);
    let replay_through = account.preserve.contains_key(OPENAI_REPLAY).then(|| plan.cut.first_kept.checked_sub(1)).flatten();
    let replay_through = replay_through.and_then(|at| plan.path.get(at)).map(|ix| session.id(*ix).to_owned());
    let mut extra = Extra { replay_through, ..extra_of(account) };
    extra.preserve.extend(asked.preserve_data);
    receipt.put_fallback(&mut extra);
    Ok(Some(of_words(Draft { extra, ..draft })))
}
