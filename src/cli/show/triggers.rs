//! What asks for a compaction, for people.

use std::fmt::Write;

use super::super::output::number;
use crate::engine::trigger::{Asked, Promoted, Reason};
use crate::text;

/// What asks for a compaction, with what it is measured against.
pub(super) fn triggers(out: &mut String, asked: &Asked, enabled: bool) {
    let mut row = |label: &str, value: String| {
        let _ = writeln!(out, "{label:<10} {value}");
    };
    row("asks", asked.reason.map_or_else(|| "nothing asks for a compaction".to_owned(), |reason| why(reason).to_owned()));
    let assumed = if asked.window.assumed { ", assumed" } else { "" };
    row("window", format!("{} tokens{assumed}; compacted above {}", number(asked.window.tokens), number(asked.window.threshold)));
    if asked.reason.is_some_and(Reason::will_retry) {
        row("retry", "the last turn leaves the path, and the agent makes it again".to_owned());
    }
    if let Some(promoted) = &asked.promotion {
        row("promotion", switch(promoted));
    }
    if !enabled {
        row("off", "automatic compaction is switched off".to_owned());
    }
}

/// One line about a session that asks for a compaction.
pub(in crate::cli) fn asks(name: &str, asked: &Asked) -> String {
    let (name, why) = (text::one_line(name, 400), asked.reason.map_or("", why));
    match &asked.promotion {
        Some(promoted) => format!("{name}: {why}; {}\n", switch(promoted)),
        None => format!("{name}: {why}\n"),
    }
}

fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Overflow => "overflow: the last request was longer than the model's context",
        Reason::Incomplete => "incomplete: the last answer ran into its limit",
        Reason::Threshold => "threshold: the context is above it",
        Reason::Idle => "idle: the context is above the threshold",
        Reason::Manual => "manual",
    }
}

fn switch(promoted: &Promoted) -> String {
    let from = promoted.from.as_deref().map(|from| format!(" from {}", text::one_line(from, 200))).unwrap_or_default();
    format!("switches{from} to {}, {} tokens", text::one_line(&promoted.to, 200), number(promoted.window))
}
