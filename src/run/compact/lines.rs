//! The lines that a compaction appends: its entry, the message with its frames, and the one that makes the agent go on.

use std::io;

use super::draft::Made;
use crate::engine::compaction::{self, Plan, Stamp};
use crate::engine::tokens::{Counter, of_message};
use crate::run::words::{count_after, note_of};
use crate::run::{RunError, snapcompact};
use crate::session::Session;

/// An entry's id, and its line with the line end.
pub(super) type Line = (String, Vec<u8>);

/// The lines, each of which hangs on the one before.
pub(super) struct Lines {
    pub(super) compaction: Line,
    /// Readers that know no frames in a compaction get them as a message behind it.
    carrier: Option<Line>,
    pub(super) go_on: Option<Line>,
    /// Tokens of the context behind them.
    pub(super) tokens: u64,
}

impl Lines {
    /// The ids of the entries.
    pub(super) fn ids(&self) -> Vec<&String> {
        let behind = [&self.carrier, &self.go_on].into_iter().flatten();
        std::iter::once(&self.compaction).chain(behind).map(|(id, _)| id).collect()
    }

    /// All of them, for one write: a reader never sees the one without the other.
    pub(super) fn all(&self) -> Vec<u8> {
        let behind = [&self.carrier, &self.go_on].into_iter().flatten();
        std::iter::once(&self.compaction).chain(behind).flat_map(|(_, line)| line.iter().copied()).collect()
    }
}

/// Makes the lines of a plan and reads them back: behind them the context has to be the one that was planned.
///
/// # Errors
/// When it is not, or the session cannot be read.
pub(super) fn lines(
    counter: &mut Counter<'_>,
    plan: &Plan,
    made: &Made,
    summarizer: Option<&'static str>,
    goes_on: bool,
    now: &str,
) -> Result<Lines, RunError> {
    let (session, tokenizer) = (counter.session(), counter.tokenizer());
    let note = note_of(summarizer, &made.draft.extra);
    let entry = |tokens_after: Option<u64>| compaction::entry(session, plan, &made.draft, Stamp { now, tokens_after, note });
    let (id, line) = entry(None)?;
    let mut after = session.with_appended(&line)?;
    let context = compaction::verify(session, plan, &after, &id)?.map_err(RunError::Unsound)?;
    let mut tokens = count_after(counter, session, &after, &context)?;
    let carrier = made.message.as_ref().map(|message| snapcompact::carrier(&after, &id, message, now)).transpose()?;
    if let Some((id, line)) = &carrier {
        after = after.with_appended(line)?;
        let entry = after.by_id(id).ok_or_else(|| RunError::Unsound("the message with the frames cannot be found".to_owned()))?;
        tokens += after.with_message(entry, |message| of_message(tokenizer, message))?;
    }
    // The entry says what it comes to, which its id does not depend on.
    let compaction = entry(Some(tokens))?;
    let end = carrier.as_ref().map_or(&id, |(id, _)| id);
    // The agent goes on by itself only where nobody waits for a retry or has gone away.
    let go_on = goes_on.then(|| go_on(&after, end, now)).transpose()?;
    tokens += go_on.as_ref().map_or(0, |_| tokenizer.count(GO_ON));
    Ok(Lines { compaction, carrier, go_on, tokens })
}

/// What the agent is told where it should go on by itself.
const GO_ON: &str = "The conversation so far was compacted; its summary stands above. Go on with the task from where it stopped. \
    If everything that was asked for is done, say so and stop.";

/// The message behind compaction `parent` that makes the agent go on: its id, and one line with its line end.
fn go_on(session: &Session, parent: &str, now: &str) -> io::Result<(String, Vec<u8>)> {
    let id = session.new_id(Some(parent), GO_ON.as_bytes());
    let entry = serde_json::json!({
        "type": "custom_message", "id": id, "parentId": parent, "timestamp": now, "customType": "auto-continue",
        "content": GO_ON, "display": false, "attribution": "agent",
    });
    let mut line = serde_json::to_vec(&entry).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok((id, line))
}
