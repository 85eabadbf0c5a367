//! What is found, for people. Text of a session is cleaned before it reaches a terminal.

use std::fmt::Write;
use std::io;

use super::args::Show;
use super::output::{bold, bytes, counted, dim, number, red, yellow};
use crate::engine::cut::{Legality, Nothing, legality};
use crate::engine::prune::PrunePlan;
use crate::engine::trigger::Window;
use crate::engine::window::window;
use crate::run::inspect::{CutReport, Overview, Report, Sizes};
use crate::run::rewrite::Revision;
use crate::run::snapcompact::FrameView;
use crate::session::{Block, Ix, Kind, Message, Problem, Role, Session, Severity};
use crate::settings::Settings;
use crate::text;

mod receipts;
mod triggers;

pub(super) use receipts::{branch, compaction, pruning};
pub(super) use triggers::asks;
use triggers::triggers;

/// Bars of the context over time.
const SPARK: usize = 40;
/// Chars of an entry's text in lists.
const SNIPPET: usize = 72;

/// What an entry says, on one line.
pub(super) fn snippet(session: &Session, ix: Ix) -> io::Result<String> {
    let entry = &session[ix];
    if !entry.is_message() && entry.kind != Kind::Compaction {
        return Ok(String::new());
    }
    session.with_message(ix, snippet_of)
}

/// What a message says, on one line.
fn snippet_of(message: &Message<'_>) -> String {
    let mut text = String::new();
    if let Some(command) = &message.command {
        let _ = write!(text, "$ {command}");
    }
    if message.role == Role::ToolResult {
        let _ = write!(text, "{}: ", message.tool.as_deref().unwrap_or("tool"));
    }
    text.push_str(&message.text());
    for call in message.calls() {
        let _ = write!(text, " → {}({})", call.name, argument(call));
    }
    if message.images() > 0 {
        let _ = write!(text, " [{}]", counted(message.images() as u64, "image"));
    }
    if text.trim().is_empty() && message.blocks.iter().any(|b| matches!(b, Block::Thinking { .. })) {
        text.push_str("(thinking)");
    }
    mask(&text, SNIPPET)
}

/// The argument of a call that says most.
fn argument(call: &crate::session::message::Call<'_>) -> String {
    let keys = ["path", "file_path", "command", "pattern", "query", "url", "name"];
    let value = keys.iter().find_map(|key| call.args.get(key).str());
    value.map_or_else(|| call.args.members().first().map_or_else(String::new, |(_, value)| value.to_text()), str::to_owned)
}

/// Text of a session on one line: no secrets, no control sequences, no data URLs.
fn mask(text: &str, chars: usize) -> String {
    let head = text::clip(text, chars.saturating_mul(16).max(4096));
    let noted = text::elide_data_urls(head);
    let clean = text::strip(&noted);
    text::one_line(&text::masked(&clean), chars)
}

/// Everything that was asked for.
pub(super) fn report(name: &str, report: &Report, wanted: &[Show], settings: &Settings, window: &Window) -> io::Result<String> {
    let mut out = String::new();
    for show in wanted {
        if !out.is_empty() {
            out.push('\n');
        }
        match show {
            Show::Overview => overview(&mut out, name, report, window, settings.model.as_deref())?,
            Show::Tree => tree(&mut out, report)?,
            Show::Path => list(&mut out, &report.session, &report.path.entries)?,
            Show::Context => context(&mut out, report)?,
            Show::Transcript => transcript(&mut out, report)?,
            Show::Cut => {
                if let Some(found) = &report.cut {
                    cut(&mut out, report, found)?;
                }
            }
            Show::Sizes => {
                if let Some(found) = &report.sizes {
                    sizes(&mut out, &report.session, found);
                }
            }
            Show::Files => {
                let tag = report.files.as_ref().map(crate::engine::files::Files::tag).unwrap_or_default();
                let _ = writeln!(out, "{}", if tag.is_empty() { "no files" } else { &tag });
            }
            Show::Summary => match &report.summary {
                Some(Some((summary, tokens))) => {
                    let _ = writeln!(out, "{}\n\n{}", text::strip(&summary.text()), dim(&format!("{} tokens", number(*tokens))));
                }
                _ => out.push_str("nothing to summarize\n"),
            },
            Show::Problems => problems(&mut out, name, report.problems.as_deref().unwrap_or_default()),
            Show::Triggers => {
                if let Some(asked) = &report.triggers {
                    triggers(&mut out, asked, settings.enabled);
                }
            }
            Show::Prune => {
                if let Some(plan) = &report.prune {
                    prune(&mut out, &report.session, plan)?;
                }
            }
            Show::Frames => frames(&mut out, &report.session, report.frames.as_deref().unwrap_or_default()),
            Show::Revisions => {
                if let Some((list, bytes)) = &report.revisions {
                    revisions(&mut out, list, *bytes);
                }
            }
            Show::Settings => self::settings(&mut out, settings),
            Show::All => {}
        }
    }
    Ok(out)
}

fn overview(out: &mut String, name: &str, report: &Report, window: &Window, set: Option<&str>) -> io::Result<()> {
    let Some(Overview { header, shape, estimate, model, compactions }) = &report.overview else { return Ok(()) };
    let session = &report.session;
    let title = header.title.as_deref().map(|t| format!("  {}", mask(t, 60))).unwrap_or_default();
    let _ = writeln!(out, "{}{title}", bold(&text::one_line(name, 200)));
    let version = match session.version() {
        Some(version) => format!("version {version}"),
        None if session.header_entry().is_none() => "no header".to_owned(),
        None => "strange version".to_owned(),
    };
    let mut row = |label: &str, value: String| {
        let _ = writeln!(out, "  {label:<11} {value}");
    };
    row(
        "session",
        format!("{}, {version}, {}, {}", session.owner().name(), bytes(session.source().len()), counted(session.lines().into(), "line")),
    );
    match report.path.leaf() {
        None => row("path", "0 entries".to_owned()),
        Some(leaf) => {
            let mut text = format!(
                "{} of {} to {}",
                number(report.path.entries.len() as u64),
                counted(shape.total as u64, "entry"),
                text::one_line(session.id(leaf), 40)
            );
            if shape.leaves.len() > 1 {
                let _ = write!(text, ", {} leaves", shape.leaves.len());
            }
            if report.path.dangling {
                let _ =
                    write!(text, "; {}", yellow(&format!("starts at a missing parent, {} of {} reachable", shape.reachable, shape.total)));
            }
            row("path", text);
        }
    }
    let of_session = model.as_deref().map(|model| text::one_line(model, 80));
    match (set, of_session) {
        (Some(set), None) => row("model", format!("{} (as set)", text::one_line(set, 80))),
        (Some(set), Some(own)) if set != own => row("model", format!("{} (as set; the session's is {own})", text::one_line(set, 80))),
        (_, Some(own)) => row("model", own),
        (None, None) => {}
    }
    let about = if estimate.counted.estimated { "≈ " } else { "" };
    let percent = estimate.context.saturating_mul(100) / window.tokens.max(1);
    row(
        "context",
        format!(
            "{about}{} of {} tokens ({percent} %), threshold {}{}",
            number(estimate.context),
            number(window.tokens),
            number(window.threshold),
            if window.assumed { " (the model's window is not known)" } else { "" }
        ),
    );
    if let Some(reported) = estimate.reported {
        row("", dim(&format!("{} reported by the provider, {about}{} counted", number(reported), number(estimate.counted.tokens))));
    }
    if let Some(last) = compactions.last() {
        let times = counted(compactions.len() as u64, "compaction");
        let change = match (last.tokens_before, last.tokens_after) {
            (Some(before), Some(after)) => format!(", {} → {} tokens", number(before), number(after)),
            (Some(before), None) => format!(", from {} tokens", number(before)),
            _ => String::new(),
        };
        row("compacted", format!("{times}, the latest {}{change}", text::one_line(&last.id, 40)));
    }
    if let Some(bars) = report.curve.as_ref().and_then(|curve| crate::run::curve::sparkline(curve, SPARK)) {
        row("over time", bars);
    }
    match &report.cut {
        Some(Ok(found)) => row("next cut", cut_line(report, found)),
        Some(Err(nothing)) => row("next cut", format!("none: {}", nothing.text())),
        None => {}
    }
    if let Some(list) = &report.problems {
        let errors = list.iter().filter(|p| p.severity == Severity::Error).count() as u64;
        let warnings = list.len() as u64 - errors;
        let text = match (errors, warnings) {
            (0, 0) => "none".to_owned(),
            (0, _) => yellow(&counted(warnings, "warning")),
            (_, 0) => red(&counted(errors, "error")),
            _ => format!("{}, {}", red(&counted(errors, "error")), yellow(&counted(warnings, "warning"))),
        };
        let more = if list.is_empty() { "" } else { "; inspect --check lists them" };
        row("problems", format!("{text}{more}"));
    }
    Ok(())
}

fn cut_line(report: &Report, found: &CutReport) -> String {
    let at = report.path.entries.get(found.cut.first_message).map_or("", |ix| report.session.id(*ix));
    let about = if found.amounts.summarize.count.estimated { "≈ " } else { "" };
    let summarized = found.amounts.summarize.messages + found.amounts.turn_prefix.messages;
    let tokens = found.amounts.summarize.count.tokens + found.amounts.turn_prefix.count.tokens;
    let split = if found.cut.turn_start.is_some() { ", inside a turn" } else { "" };
    format!(
        "summarize {} ({about}{} tokens), keep {} ({} tokens) from {}{split}",
        counted(summarized as u64, "message"),
        number(tokens),
        counted(found.amounts.keep.messages as u64, "message"),
        number(found.amounts.keep.count.tokens),
        text::one_line(at, 40)
    )
}

/// The place of an entry in lists: id, role or type, text.
fn entry_line(session: &Session, ix: Ix) -> io::Result<String> {
    let entry = &session[ix];
    let kind = if entry.kind == Kind::Message { entry.role.name().to_owned() } else { text::one_line(session.type_name(ix), 24) };
    let mut line = format!("{}  {kind:<16}", text::one_line(session.id(ix), 40));
    let snippet = snippet(session, ix)?;
    if !snippet.is_empty() {
        let _ = write!(line, "  {snippet}");
    }
    if entry.stop.failed() {
        line.push_str(&red("  (failed)"));
    }
    Ok(line.trim_end().to_owned())
}

fn list(out: &mut String, session: &Session, entries: &[Ix]) -> io::Result<()> {
    for ix in entries {
        let _ = writeln!(out, "{}", entry_line(session, *ix)?);
    }
    if entries.is_empty() {
        out.push_str("0 entries\n");
    }
    Ok(())
}

/// The tree: a branch is indented, a chain is not.
fn tree(out: &mut String, report: &Report) -> io::Result<()> {
    let session = &report.session;
    let on_path: std::collections::HashSet<Ix> = report.path.entries.iter().copied().collect();
    for row in crate::run::inspect::tree_rows(session) {
        let mark = if on_path.contains(&row.entry) { "●" } else { "○" };
        let _ = writeln!(out, "{}{mark} {}", "│ ".repeat(row.depth.min(40)), entry_line(session, row.entry)?);
    }
    if report.path.entries.is_empty() {
        out.push_str("0 entries\n");
    }
    Ok(())
}

fn context(out: &mut String, report: &Report) -> io::Result<()> {
    let session = &report.session;
    let Some((context, tokens)) = &report.context else { return Ok(()) };
    for (item, tokens) in context.items.iter().zip(tokens) {
        let _ = writeln!(
            out,
            "{:>9}  {}  {:<16}  {}",
            number(*tokens),
            text::one_line(session.id(item.entry), 40),
            item.role.name(),
            // As the model gets it, which an edit may have changed.
            session.with_item(context, item, snippet_of)?
        );
    }
    let messages = counted(context.items.len() as u64, "message");
    let _ = writeln!(out, "{:>9}  {}", number(tokens.iter().sum()), bold(&format!("tokens in {messages}")));
    Ok(())
}

/// The path as a person saw it: everything, with a divider where each compaction fired.
fn transcript(out: &mut String, report: &Report) -> io::Result<()> {
    let session = &report.session;
    for ix in report.path.entries.iter().copied() {
        let entry = &session[ix];
        if entry.kind == Kind::Compaction {
            let _ = writeln!(out, "{}\n", dim(&format!("── compacted · {} ──", session.id(ix))));
            continue;
        }
        if !entry.is_message() {
            continue;
        }
        let text = session.with_message(ix, said)?;
        let _ = writeln!(out, "{}\n{}\n", bold(&format!("{} {}", entry.role.name(), text::one_line(session.id(ix), 40))), text.trim_end());
    }
    Ok(())
}

/// Lines of a tool result that a transcript shows.
const RESULT_LINES: usize = 12;

/// A message in words.
pub(super) fn said(message: &Message<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(command) = &message.command {
        parts.push(format!("$ {command}"));
    }
    if let Some(output) = &message.output {
        parts.push(fold(output));
    }
    for block in &message.blocks {
        match block {
            Block::Text(text) if message.role == Role::ToolResult => parts.push(fold(text)),
            Block::Text(text) => parts.push(text.clone().into_owned()),
            Block::Thinking { text, .. } if !text.trim().is_empty() => parts.push(format!("(thinking) {}", text::one_line(text, 200))),
            Block::Call(call) => parts.push(format!("→ {}({})", call.name, text::one_line(&argument(call), 160))),
            Block::Image { mime, .. } => parts.push(format!("[{mime}]")),
            _ => {}
        }
    }
    if let Some(error) = &message.error {
        parts.push(format!("(failed) {error}"));
    }
    let all = parts.join("\n");
    let noted = text::elide_data_urls(&all);
    let clean = text::strip(&noted);
    text::masked(&clean).into_owned()
}

fn fold(text: &str) -> String {
    let lines = text.lines().count();
    if lines <= RESULT_LINES {
        return text.to_owned();
    }
    let head: Vec<&str> = text.lines().take(RESULT_LINES).collect();
    format!("{}\n… {} more lines", head.join("\n"), lines - RESULT_LINES)
}

fn cut(out: &mut String, report: &Report, found: &Result<CutReport, Nothing>) -> io::Result<()> {
    let session = &report.session;
    let found = match found {
        Ok(found) => found,
        Err(nothing) => {
            let _ = writeln!(out, "nothing to compact: {}", nothing.text());
            return Ok(());
        }
    };
    let _ = writeln!(out, "{}", cut_line(report, found));
    let _ = writeln!(out, "{}", dim(&format!("budget {} tokens; each place with its verdict, ● the cut", number(found.cut.budget))));
    let places = legality(session, &report.path.entries, &window(session, &report.path.entries)?);
    let cut = places.iter().position(|(at, _)| *at == found.cut.first_message).unwrap_or(0);
    let earlier = cut.saturating_sub(PLACES);
    if earlier > 0 {
        let _ = writeln!(out, "{}", dim(&format!("… {} earlier", counted(earlier as u64, "place"))));
    }
    for (at, legality) in places.iter().skip(earlier) {
        let Some(ix) = report.path.entries.get(*at).copied() else { continue };
        let (mark, why) = match legality {
            _ if *at == found.cut.first_message => ("●", String::new()),
            Legality::Legal => ("○", String::new()),
            Legality::ToolResult => ("✗", format!("  (result of {})", session[ix].target.map_or("", |call| session.name(call)))),
            Legality::SplitsPair => ("✗", "  (parts a call from its result)".to_owned()),
            Legality::NothingBefore => ("·", String::new()),
        };
        let _ = writeln!(out, "{mark} {}{}", entry_line(session, ix)?, dim(&text::one_line(&why, 80)));
    }
    Ok(())
}

/// Places before the cut that are listed; JSON names every candidate.
const PLACES: usize = 200;

fn sizes(out: &mut String, session: &Session, sizes: &Sizes) {
    let _ = writeln!(out, "{}", bold(&format!("{:>10} {:>12} {:>8}  kind", "bytes", "tokens", "entries")));
    for row in &sizes.by_kind {
        let tool = row.tool.as_deref().map(|tool| format!(" {}", text::one_line(tool, 40))).unwrap_or_default();
        let bulk = if row.bulk > 0 { dim(&format!("  ({} of it images and details)", bytes(row.bulk))) } else { String::new() };
        let _ = writeln!(
            out,
            "{:>10} {:>12} {:>8}  {}{tool}{bulk}",
            bytes(row.bytes),
            number(row.tokens),
            number(row.entries),
            text::one_line(&row.kind, 40)
        );
    }
    let _ = writeln!(out, "\n{}", bold("largest"));
    for (ix, size) in &sizes.largest {
        let _ = writeln!(
            out,
            "{:>10}  line {}  {}  {}",
            bytes(*size),
            session[*ix].line,
            text::one_line(session.type_name(*ix), 40),
            text::one_line(session.id(*ix), 40)
        );
    }
}

/// The results of a plan, one a line: tokens, tokens saved, reason, entry.
fn pruned_results(out: &mut String, session: &Session, plan: &PrunePlan) -> io::Result<()> {
    for pruned in &plan.results {
        let _ = writeln!(
            out,
            "{:>9} {:>9}  {:<10}  {}",
            number(pruned.tokens),
            number(pruned.saved),
            pruned.reason.name(),
            entry_line(session, pruned.entry)?
        );
    }
    Ok(())
}

fn prune(out: &mut String, session: &Session, plan: &PrunePlan) -> io::Result<()> {
    pruned_results(out, session, plan)?;
    let results = counted(plan.results.len() as u64, "result");
    let _ = match (plan.results.is_empty(), plan.worth_it) {
        (true, _) => writeln!(out, "nothing to prune"),
        (false, true) => writeln!(out, "{}", bold(&format!("{results}, {} tokens saved", number(plan.saved)))),
        (false, false) => writeln!(out, "{results}, {} tokens: less than pruning must save", number(plan.saved)),
    };
    Ok(())
}

fn frames(out: &mut String, session: &Session, list: &[FrameView]) {
    if list.is_empty() {
        out.push_str("no frames\n");
    }
    for (n, view) in list.iter().enumerate() {
        let frame = &view.frame;
        let about = format!(
            "frame {} of {} in {}: {}, {} x {} cells, {}, {} tokens billed",
            n + 1,
            list.len(),
            session.id(view.entry),
            view.shape.unwrap_or("an unknown shape"),
            frame.cols,
            frame.rows,
            counted(frame.chars, "character"),
            number(frame.tokens()),
        );
        let _ = writeln!(out, "{}", dim(&about));
        match &view.text {
            Ok(said) => {
                let said = text::masked(&text::strip(said)).into_owned();
                let _ = writeln!(out, "{said}\n");
            }
            Err(why) => {
                let _ = writeln!(out, "{}\n", yellow(&format!("not read: {why}")));
            }
        }
    }
    if !list.is_empty() {
        let _ = writeln!(out, "{}", dim("exact up to characters that look alike"));
    }
}

fn revisions(out: &mut String, list: &[Revision], all_bytes: u64) {
    for revision in list {
        let about = &revision.reference;
        let state = match revision.state {
            "ok" => "ok".to_owned(),
            other => red(other),
        };
        let _ = writeln!(
            out,
            "{:>6}  {:<8} {:>10}  {state:<8} {}",
            about.revision,
            about.kind.name(),
            bytes(about.bytes),
            text::one_line(&about.file, 80)
        );
    }
    if list.is_empty() {
        out.push_str("no archived revisions\n");
    } else {
        let _ = writeln!(out, "{}", dim(&format!("{} in archives", bytes(all_bytes))));
    }
}

/// One finding a line, as compilers print them.
pub(super) fn problems(out: &mut String, name: &str, list: &[Problem]) {
    for problem in list {
        let place = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        let offset = problem.offset.map_or_else(String::new, |offset| dim(&format!(" (byte {offset})")));
        let severity = if problem.severity == Severity::Error { red("error") } else { yellow("warning") };
        let _ = writeln!(
            out,
            "{}{place}: {severity}[{}]: {}{offset}",
            text::one_line(name, 400),
            problem.code.name(),
            text::strip(&problem.message)
        );
    }
    if list.is_empty() {
        let _ = writeln!(out, "{}: no problems", text::one_line(name, 400));
    }
}

pub(super) fn settings(out: &mut String, settings: &Settings) {
    for (name, value, origin) in &settings.shown {
        let value = if value.is_empty() { "-" } else { value };
        // A command or an address may hold a password.
        let value = text::masked(value);
        let _ = writeln!(out, "{:<29} {:<24} {}", name.key, text::one_line(&value, 200), dim(&origin.to_string()));
    }
}
