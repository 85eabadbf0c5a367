//! Whether a plan's history goes on frames, and what is done where it cannot: a summary, if that was allowed.

use super::RunError;
use super::receipt::Receipt;
use super::snapcompact::{self, FramesJob, Printed};
use crate::engine::compaction::Plan;
use crate::engine::tokens::Tokenizer;
use crate::models::Facts;
use crate::session::{Ix, Session};

/// The plan's history on frames; `None`, said aloud, where it cannot be read on them and words may be made after all.
///
/// # Errors
/// When it cannot be printed.
pub(super) fn print(
    session: &Session,
    plan: &Plan,
    (frames, model, facts): (&FramesJob, String, Facts),
    tokenizer: Tokenizer,
    receipt: &mut Receipt,
) -> Result<Option<Printed>, RunError> {
    match snapcompact::print(session, plan, frames, (&model, facts), tokenizer) {
        Err(RunError::Illegible { message, .. }) if frames.fall_back => {
            receipt.no_frames(message);
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// The frames job with the model that it is for; `None`, said aloud, where words are made after all.
///
/// # Errors
/// When the model is known not to see, and nothing else is allowed.
pub(super) fn framing<'j>(
    session: &Session,
    entries: &[Ix],
    frames: &'j FramesJob,
    focus: Option<&str>,
    receipt: &mut Receipt,
) -> Result<Option<(&'j FramesJob, String, Facts)>, RunError> {
    if focus.is_some() {
        receipt.strategy = "context-full";
        receipt.warnings.push("instructions ask for a directed text, so a summary is made and no frames".to_owned());
        return Ok(None);
    }
    let (model, facts) = snapcompact::model_of(session, entries, frames)?;
    if facts.vision == Some(false) {
        if !frames.fall_back {
            return Err(RunError::Refused {
                message: format!("the model {model} reads no pictures, so it could not read frames"),
                hint: Some(
                    "use --strategy context-full, --fallback context-full, or --model for the model that is to read them".to_owned(),
                ),
            });
        }
        receipt.no_frames(format!("the model {model} reads no pictures"));
        return Ok(None);
    }
    Ok(Some((frames, model, facts)))
}
