//! Receipts of writing commands, for people.

use std::fmt::Write;
use std::io;

use super::super::output::{bytes, counted, dim, number};
use super::{entry_line, pruned_results};
use crate::engine::prune::PrunePlan;
use crate::engine::size::Change;
use crate::run::{Action, BranchDone, Done, PruneDone};
use crate::session::repair::Mend;
use crate::text;

/// The receipt of a pruning or a restore. A dry run lists what would go; what measures free is always told.
pub(in crate::cli) fn pruning(name: &str, done: &PruneDone, verbose: bool) -> io::Result<String> {
    let name = text::one_line(name, 400);
    let mut out = String::new();
    let archived = done.revision.map(|revision| format!("; the file as it was is revision {revision}")).unwrap_or_default();
    if let Some(restored) = done.restored {
        let verb = if done.dry_run { "would be restored" } else { "restored" };
        let _ = writeln!(out, "{name}: {verb}: revision {restored}, {} → {}{archived}", bytes(done.bytes.0), bytes(done.bytes.1));
        return Ok(out);
    }
    if let Some(mended) = &done.mended {
        repair(&mut out, &name, mended, done, &archived);
        return Ok(out);
    }
    let none = PrunePlan::default();
    let plan = done.plan.as_ref().unwrap_or(&none);
    let results = plan.results.len() as u64;
    let by_measures: i64 = done.freed.iter().map(|freed| freed.tokens).sum();
    let saved = plan.saved.saturating_sub(plan.kept_image_tokens()).saturating_add_signed(by_measures);
    if results > 0 && (done.dry_run || verbose) {
        pruned_results(&mut out, &done.session, plan)?;
    }
    if !done.freed.is_empty() {
        measures(&mut out, done, verbose)?;
    }
    let (from, to) = (bytes(done.bytes.0), bytes(done.bytes.1));
    let _ = match (done.changed, done.reason) {
        (true, _) => {
            let verb = if done.dry_run { "would be pruned" } else { "pruned" };
            let what = if done.freed.is_empty() || results > 0 { format!("{}, ", counted(results, "result")) } else { String::new() };
            let appended =
                done.edits.as_ref().map(|edits| format!("; {} appended", counted(edits.len() as u64, "edit"))).unwrap_or_default();
            writeln!(out, "{name}: {verb}: {what}{} tokens saved; {from} → {to}{archived}{appended}", number(saved))
        }
        (false, Some("no_gain")) => writeln!(out, "{name}: nothing to do: neither the file nor the context would get smaller"),
        (false, _) if results > 0 => writeln!(
            out,
            "{name}: nothing to do: {} would save {} tokens, less than pruning must save",
            counted(results, "result"),
            number(plan.saved)
        ),
        (false, _) if !done.freed.is_empty() => writeln!(out, "{name}: nothing to do: there is nothing that the measures could free"),
        (false, _) => writeln!(out, "{name}: nothing to do: no result can be pruned"),
    };
    Ok(out)
}

/// What each measure frees, one a line. A dry run also tells the entries in which it frees most, and with `verbose` all.
fn measures(out: &mut String, done: &PruneDone, verbose: bool) -> io::Result<()> {
    let freed = &done.freed;
    let signed = |n: i64, show: fn(u64) -> String| format!("{}{}", if n < 0 { "-" } else { "" }, show(n.unsigned_abs()));
    let _ = writeln!(out, "{}", dim(&format!("{:<14} {:>9} {:>11} {:>15}", "measure", "entries", "bytes", "context tokens")));
    for row in freed {
        let (entries, size, tokens) = (number(row.changes.len() as u64), signed(row.bytes, bytes), signed(row.tokens, number));
        let _ = writeln!(out, "{:<14} {entries:>9} {size:>11} {tokens:>15}", row.measure.name());
    }
    if !done.dry_run && !verbose {
        return Ok(());
    }
    for row in freed.iter().filter(|row| !row.changes.is_empty()) {
        let _ = writeln!(out, "{}", dim(row.measure.name()));
        let mut changes: Vec<&Change> = row.changes.iter().collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.bytes));
        let shown = if verbose { changes.len() } else { changes.len().min(LARGEST) };
        for change in changes.iter().take(shown) {
            let (size, tokens) = (signed(change.bytes, bytes), signed(change.tokens, number));
            let _ = writeln!(out, "{size:>9} {tokens:>9}  {}", entry_line(&done.session, change.entry)?);
        }
        if changes.len() > shown {
            let _ = writeln!(out, "{:>9} {:>9}  … and {} more: -v lists them", "", "", number((changes.len() - shown) as u64));
        }
    }
    Ok(())
}

/// Entries that a dry run lists of each measure.
const LARGEST: usize = 10;

/// What a repair mended.
fn repair(out: &mut String, name: &str, mended: &[Mend], done: &PruneDone, archived: &str) {
    if mended.is_empty() {
        let _ = writeln!(out, "{name}: nothing to do: there is nothing to mend");
        return;
    }
    let verb = if done.dry_run { "would be repaired" } else { "repaired" };
    let (from, to) = (bytes(done.bytes.0), bytes(done.bytes.1));
    let _ = writeln!(out, "{name}: {verb}: {}; {from} → {to}{archived}", counted(mended.len() as u64, "mend"));
    for mend in mended {
        let line = mend.line.map(|line| format!("line {line}")).unwrap_or_default();
        let id = mend.id.as_deref().map(|id| format!("{}: ", text::one_line(id, 40))).unwrap_or_default();
        let _ = writeln!(out, "  {line:<10} {:<16} {id}{}", mend.code.name(), text::one_line(&mend.what, 300));
    }
}

/// The receipt of a branch summary.
pub(in crate::cli) fn branch(name: &str, done: &BranchDone, verbose: bool) -> String {
    let name = text::one_line(name, 400);
    let plan = &done.plan;
    let mut out = String::new();
    if done.cancelled {
        let _ = writeln!(out, "{name}: refused: a hook cancelled it");
        return out;
    }
    if done.unknown {
        let messages = counted(plan.messages.len() as u64, "message");
        let _ = writeln!(out, "{name}: branch would be summarized: {messages} ({} tokens); nothing was sent", number(plan.tokens));
        return out;
    }
    let Some((summary, tokens)) = &done.summary else {
        let _ = writeln!(out, "{name}: nothing to do: no message stands between the two");
        return out;
    };
    let verb = if done.dry_run { "branch would be summarized" } else { "branch summarized" };
    let entry = done.entry_id.as_deref().map(|id| format!("; entry {id}")).unwrap_or_default();
    let _ = writeln!(
        out,
        "{name}: {verb}: {} of {} ({} tokens) in {} tokens{entry}",
        counted(plan.messages.len() as u64, "message"),
        counted(plan.entries.len() as u64, "entry"),
        number(plan.tokens),
        number(*tokens)
    );
    if done.dry_run || verbose {
        let _ = writeln!(out, "\n{}\n{}", text::strip(&summary.text()), text::strip(&plan.files.tag()));
    }
    out
}

/// The line of a handoff.
fn handed_off(out: &mut String, name: &str, done: &Done) {
    let receipt = &done.receipt;
    let about = if receipt.estimated { "≈ " } else { "" };
    let verb = if receipt.dry_run { "would be handed off" } else { "handed off" };
    let file = done.new_session.as_ref().and_then(|new| new.path.as_ref());
    let file = file.map_or_else(|| "standard output".to_owned(), |path| text::one_line(&path.display().to_string(), 400));
    let after = receipt.counted.1.map_or_else(|| "?".to_owned(), number);
    let _ = writeln!(out, "{name}: {verb}: {about}{} → {after} tokens; the work goes on in {file}", number(receipt.counted.0.unwrap_or(0)));
}

/// The line of a replaced history.
fn replaced(out: &mut String, name: &str, done: &Done) {
    let receipt = &done.receipt;
    let Some(replacement) = &done.replacement else { return };
    let about = if receipt.estimated { "≈ " } else { "" };
    let verb = if receipt.dry_run { "would be replaced" } else { "replaced" };
    let archived = receipt.archive_revision.map(|revision| format!("; the file as it was is revision {revision}")).unwrap_or_default();
    let _ = writeln!(
        out,
        "{name}: {verb}: {about}{} → {} tokens; {} and {} kept, {} summarized{}; entry {}; {} → {}{archived}",
        number(receipt.counted.0.unwrap_or(0)),
        number(receipt.counted.1.unwrap_or(0)),
        counted(replacement.instructions as u64, "instruction"),
        counted(replacement.reminders as u64, "reminder"),
        counted(receipt.summarized_messages as u64, "message"),
        match replacement.other_branches {
            0 => String::new(),
            gone => format!(", {} of other branches left behind", counted(gone as u64, "entry")),
        },
        receipt.entry_id.as_deref().unwrap_or_default(),
        bytes(receipt.bytes.0),
        bytes(receipt.bytes.1.unwrap_or(0)),
    );
}

/// The receipt of a compaction.
pub(in crate::cli) fn compaction(name: &str, done: &Done, verbose: bool) -> String {
    let receipt = &done.receipt;
    let name = text::one_line(name, 400);
    let mut out = String::new();
    let about = if receipt.estimated { "≈ " } else { "" };
    match receipt.action {
        Action::Compacted if done.new_session.is_some() => handed_off(&mut out, &name, done),
        Action::Compacted if done.replacement.is_some() => replaced(&mut out, &name, done),
        Action::Compacted => {
            let before = receipt.counted.0.unwrap_or(0);
            let after = receipt.counted.1.map_or_else(|| "unknown".to_owned(), number);
            let verb = if receipt.dry_run { "would be compacted" } else { "compacted" };
            let asked = receipt.trigger.filter(|reason| *reason != "manual").map(|reason| format!(" ({reason})")).unwrap_or_default();
            let pruned = match receipt.pruned_results as u64 {
                0 => String::new(),
                n => format!("{} pruned, ", counted(n, "result")),
            };
            let next = receipt.continue_id.as_deref().map(|id| format!("; goes on with {id}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "{name}: {verb}{asked}: {about}{} → {after} tokens; {pruned}{} summarized, {} kept; {}{next}",
                number(before),
                counted(receipt.summarized_messages as u64, "message"),
                number(receipt.kept_messages as u64),
                receipt.entry_id.as_deref().map_or_else(|| "nothing was sent".to_owned(), |id| format!("entry {id}"))
            );
        }
        Action::Promoted => {
            let verb = if receipt.dry_run { "the model would be switched" } else { "the model was switched" };
            if let Some(promoted) = &receipt.promotion {
                let _ = writeln!(
                    out,
                    "{name}: {verb} instead of compacting ({}): {} → {}, window {} tokens; entry {}",
                    receipt.trigger.unwrap_or_default(),
                    text::one_line(promoted.from.as_deref().unwrap_or("none"), 200),
                    text::one_line(&promoted.to, 200),
                    number(promoted.window),
                    receipt.entry_id.as_deref().unwrap_or_default()
                );
            }
        }
        Action::Pruned => {
            let verb = if receipt.dry_run { "would only be pruned" } else { "only pruned" };
            let revision = receipt.archive_revision.map(|n| format!("; the file as it was is revision {n}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "{name}: {verb}: {}, {about}{} → {} tokens; then {}{revision}",
                counted(receipt.pruned_results as u64, "result"),
                number(receipt.counted.0.unwrap_or(0)),
                number(receipt.counted.1.unwrap_or(0)),
                receipt.why.as_deref().unwrap_or_default(),
            );
        }
        Action::Nothing | Action::Refused => {
            let verb = if receipt.action == Action::Refused { "refused" } else { "nothing to do" };
            let _ = writeln!(out, "{name}: {verb}: {}", receipt.why.as_deref().unwrap_or_default());
        }
    }
    if let Some(frames) = &receipt.frames {
        let _ = writeln!(out, "  {}", super::super::snapcompact::line(frames));
    }
    if let Some((summary, tokens)) = done.summary.as_ref().filter(|_| receipt.dry_run || verbose) {
        let tag = done
            .plan
            .as_ref()
            .map(|plan| plan.files.tag())
            .filter(|tag| !tag.is_empty())
            .map(|tag| format!("\n\n{tag}"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "\n{}{}\n\n{}",
            text::strip(&summary.text()),
            text::strip(&tag),
            dim(&format!("{} tokens of summary", number(*tokens)))
        );
    }
    out
}
