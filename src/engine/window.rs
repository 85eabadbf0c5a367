//! What a compaction may take: only what is new since the latest one, and what that one kept.
//!
//! Starting right after the latest compaction would drop the messages that it kept from the context without any summary
//! ever having seen them; so the window starts where its kept range starts.

use std::io;

use crate::session::{Ix, Json, Kind, Session};

/// The part of a path that a compaction may take.
#[derive(Debug, Clone)]
pub struct Window {
    /// Position of its first entry on the path.
    pub start: usize,
    /// Position of the latest compaction, when it is the one whose summary the next one updates.
    pub previous: Option<usize>,
    /// There is no message after the latest compaction.
    pub nothing_new: bool,
}

/// Finds the window of a path.
///
/// # Errors
/// When the latest compaction cannot be read.
pub fn window(session: &Session, path: &[Ix]) -> io::Result<Window> {
    let boundary = session.boundary(path);
    let after_reset = boundary.reset.map_or(0, |r| r + 1);
    let Some(compaction) = boundary.compaction else {
        let nothing_new = !path.iter().skip(after_reset).any(|ix| session[*ix].is_message());
        return Ok(Window { start: after_reset, previous: None, nothing_new });
    };
    let replay = match path.get(compaction) {
        Some(ix) => provider_replay(session, *ix)?,
        None => None,
    };
    let start = match replay {
        // The provider replays everything up to this entry by itself.
        Some(through) => {
            through.and_then(|id| path.iter().rposition(|ix| session.id(*ix) == id)).map_or(compaction, |at| at.min(compaction)) + 1
        }
        None => boundary.first_kept.unwrap_or(compaction + 1),
    };
    let nothing_new = !path.iter().skip(compaction + 1).any(|ix| session[*ix].is_message());
    Ok(Window { start: start.max(after_reset), previous: Some(compaction), nothing_new })
}

/// Where an entry keeps what OpenAI replays in place of what was summarized; the agents look for it there.
pub const OPENAI_REPLAY: &str = "openaiRemoteCompaction";

/// Whether a compaction carries a payload that the provider replays; if so, the entry through which it does.
fn provider_replay(session: &Session, compaction: Ix) -> io::Result<Option<Option<String>>> {
    debug_assert_eq!(session[compaction].kind, Kind::Compaction);
    let payload = session.read(compaction)?;
    let text = payload.text();
    let record = Json::parse(&text).unwrap_or(Json::Null);
    if !record.get("preserveData").get(OPENAI_REPLAY).is_some() {
        return Ok(None);
    }
    Ok(Some(record.get("providerReplayThroughEntryId").str().map(str::to_owned)))
}
