//! A record that is longer than one request takes, told in parts; and the patience that a replaced history asks for.

use std::time::Duration;

use super::error::Sort;
use super::{LEAST_INPUT, Online, OnlineError, THINKING_ROOM, prompt, provider};
use crate::engine::serialize::units;
use crate::summarize::{Purpose, Request, SummarizeError};
use crate::text;

/// Tokens of what joins the parts of a request, generously.
const SEAMS: u64 = 64;

/// Tokens of a conversation below which a request is not worth sending.
pub(super) const LEAST_ROOM: u64 = 200;

/// Seconds before an answer that was no summary is asked for again.
const WAITS: [u64; 2] = [1, 2];

impl Online<'_> {
    /// The words of a model for a request, folded where it is too long for one.
    pub(super) fn words(&self, request: &Request<'_>) -> Result<String, SummarizeError> {
        // Where a turn has a prefix, what stands before it is told elsewhere.
        let is_told_elsewhere = request.purpose == Purpose::TurnPrefix;
        let mut previous = request.previous.filter(|_| !is_told_elsewhere).map(str::to_owned);
        // Summaries that the previous one has taken up are not told twice.
        let fresh = previous.is_some().then(|| request.selection.fresh());
        let units = units(request.session, fresh.as_ref().unwrap_or(request.selection), self.form_of(request.purpose))?;
        if units.is_empty() {
            return previous.ok_or(SummarizeError::Empty);
        }
        let count = |text: &str| request.tokenizer.count(text);
        let most = request.budget + request.budget / 2 + THINKING_ROOM;
        let mut rest = units.as_slice();
        while !rest.is_empty() {
            let instruction = self.masked(&prompt::instruction(request, previous.is_some()));
            let frame = count(prompt::SYSTEM) + count(&prompt::user("", previous.as_deref(), request.context, &instruction)) + SEAMS;
            let room = self.limit.get().saturating_sub(frame);
            if room < LEAST_ROOM {
                let message = format!("a request of {} tokens has no room for the conversation", self.limit.get());
                return Err(OnlineError::new(message, Some("raise --max-input-tokens, or lower --summary-tokens")).into());
            }
            let (part, taken) = take(rest, room, &count);
            let conversation = self.masked(&part);
            let user = prompt::user(&conversation, previous.as_deref(), request.context, &instruction);
            match self.patient(&user, most, &count, request.purpose) {
                Ok(text) => {
                    previous = Some(text);
                    rest = rest.get(taken..).unwrap_or_default();
                }
                Err(error) if error.sort == Sort::TooLong => {
                    let sent = count(prompt::SYSTEM) + count(&user);
                    let smaller = frame + (sent.min(self.limit.get()).saturating_sub(frame)) / 2;
                    if smaller < frame + LEAST_ROOM {
                        return Err(error.into());
                    }
                    (self.say)(&format!("that was too long for the model; trying parts of at most {smaller} tokens"));
                    self.limit.set(smaller);
                }
                Err(error) => return Err(error.into()),
            }
        }
        previous.ok_or(SummarizeError::Empty)
    }

    /// Asks; for a replaced history, which nothing else tells of, up to three times when an answer is no summary.
    fn patient(&self, user: &str, most: u64, count: &dyn Fn(&str) -> u64, purpose: Purpose) -> Result<String, OnlineError> {
        let mut waits = WAITS.iter().filter(|_| purpose == Purpose::Replacement);
        loop {
            match (self.ask(user, most, count), waits.next()) {
                (Err(error), Some(wait)) if error.sort == Sort::Unusable => {
                    (self.say)(&format!("{error}; asking again"));
                    std::thread::sleep(provider::scaled(Duration::from_secs(*wait)));
                }
                (result, _) => return result,
            }
        }
    }

    /// The words for a replaced history, with more patience: when asking again does not help, each half of the groups is
    /// summarized for itself, the second with the first one's summary before it.
    pub(super) fn replacement(&self, request: &Request<'_>) -> Result<String, SummarizeError> {
        let error = match self.words(request) {
            Err(SummarizeError::Online(error)) if error.sort == Sort::Unusable => error,
            other => return other,
        };
        let Some((head, tail)) = request.selection.halves() else { return Err(error.into()) };
        (self.say)(&format!("{error}; trying the two halves apart"));
        let first = self.words(&Request { selection: &head, ..*request })?;
        let second = self.words(&Request { selection: &tail, previous: Some(&first), ..*request })?;
        Ok(format!("# Part 1 of 2\n\n{first}\n\n# Part 2 of 2\n\n{second}"))
    }
}

/// As many units as fit, at least one, and how many they are; one that is too large alone is cut in its middle.
pub(super) fn take(units: &[String], room: u64, count: &dyn Fn(&str) -> u64) -> (String, usize) {
    let (mut part, mut used, mut taken) = (String::new(), 0, 0);
    for unit in units {
        let tokens = count(unit) + 2;
        if used + tokens > room {
            break;
        }
        if taken > 0 {
            part.push_str("\n\n");
        }
        part.push_str(unit);
        used += tokens;
        taken += 1;
    }
    if taken > 0 {
        return (part, taken);
    }
    let Some(unit) = units.first() else { return (part, 0) };
    let mut chars = unit.chars().count();
    loop {
        chars = chars * 3 / 4;
        let cut = text::middle(unit, chars, 0.6, |left_out| format!("\n[… {left_out} characters left out …]\n")).into_owned();
        if chars < 100 || count(&cut) <= room {
            return (cut, 1);
        }
    }
}

const _: () = assert!(LEAST_INPUT > LEAST_ROOM + SEAMS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_between_units_and_a_large_one_is_cut() {
        let units: Vec<String> = ["aaaa", "bbbb", "cccc"].map(str::to_owned).to_vec();
        let count = |text: &str| text.chars().count() as u64;
        assert_eq!(take(&units, 100, &count), ("aaaa\n\nbbbb\n\ncccc".to_owned(), 3));
        assert_eq!(take(&units, 12, &count), ("aaaa\n\nbbbb".to_owned(), 2));
        assert_eq!(take(&units, 6, &count), ("aaaa".to_owned(), 1));
        let large = ["x".repeat(5_000)];
        let (part, taken) = take(&large, 1_000, &count);
        assert!(taken == 1 && part.chars().count() <= 1_000 && part.chars().count() > 500);
    }
}
