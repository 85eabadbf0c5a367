//! How much a part of a record matters to what comes next, as a model sees it.

use super::fold::{LEAST_ROOM, take};
use super::{Online, THINKING_ROOM, prompt};
use crate::engine::serialize::{Form, Selection, units};
use crate::engine::tokens::Tokenizer;
use crate::session::{Ix, Role, Session};
use crate::summarize::SummarizeError;
use crate::text;

/// Tokens of a question about relevance beside the part that it is about, generously.
const FRAME: u64 = 1_000;

/// Characters of the latest request that such a question quotes.
const ASKED_CHARS: usize = 600;

/// Answers whose mean is the relevance of a part.
const SAMPLES: u8 = 3;

impl Online<'_> {
    /// How likely somebody who goes on with what was asked last on a path needs a part of it, 0 to 1: the mean of three answers.
    pub(super) fn score(&self, session: &Session, path: &[Ix], messages: &Selection) -> Result<f64, SummarizeError> {
        let count = |text: &str| Tokenizer::default().count(text);
        let form = Form { mask: self.mask, ..Form::transcript() };
        let room = self.limit.get().saturating_sub(FRAME).max(LEAST_ROOM);
        let (part, _) = take(&[units(session, messages, form)?.join("\n")], room, &count);
        let last = path.iter().rev().copied().find(|ix| session[*ix].role == Role::User && session[*ix].is_message());
        let asked =
            last.map(|ix| session.with_message(ix, |message| text::one_line(&form.clean(&message.text()), ASKED_CHARS))).transpose()?;
        let user = prompt::relevance(&self.masked(&part), &self.masked(&asked.unwrap_or_default()));
        let mut sum = 0.0;
        for _ in 0..SAMPLES {
            let words = self.ask(&user, THINKING_ROOM, &count)?;
            let score = words.trim().trim_end_matches('.').parse::<f64>().ok().filter(|score| (0.0..=1.0).contains(score));
            sum += score.ok_or_else(|| self.unusable("it is no number between 0 and 1"))?;
        }
        Ok(sum / f64::from(SAMPLES))
    }
}
