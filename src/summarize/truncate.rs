//! The deterministic stub: the first bytes of the text that would have been summarized. It tests wiring and makes no
//! claim to keep what matters.

use super::{Line, Purpose, Request, SummarizeError, Summarizer, Summary};
use crate::engine::serialize::{Form, serialize};
use crate::text;

/// Bytes that the stub keeps at most.
const BYTES: usize = 2_000;

/// The stub.
#[derive(Debug, Clone, Copy)]
pub struct Truncate;

impl Summarizer for Truncate {
    fn name(&self) -> &'static str {
        "truncate"
    }

    fn summarize(&self, request: &Request<'_>) -> Result<Summary, SummarizeError> {
        let is_replacement = request.purpose == Purpose::Replacement;
        let form = if is_replacement { Form::transcript() } else { Form::default() };
        let told = serialize(request.session, request.selection, form)?;
        let all = match request.previous {
            Some(previous) if !previous.is_empty() && matches!(request.purpose, Purpose::History | Purpose::Handoff) => {
                format!("{previous}\n\n{told}")
            }
            _ => told,
        };
        let quoted = if is_replacement { all.into() } else { text::escape::quote_headings(&all) };
        let mut kept = text::cut::clip(&quoted, BYTES);
        while !kept.is_empty() && request.tokenizer.count(kept) > request.budget {
            kept = text::cut::clip(kept, kept.len() * 7 / 8);
        }
        let sources = request.selection.told.clone();
        let lines = kept.lines().map(|line| Line { text: line.to_owned(), sources: sources.clone() }).collect();
        Ok(Summary { lines, short: text::cut::one_line(kept, 160), ..Summary::default() })
    }
}
