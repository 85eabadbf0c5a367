//! One page that tells how a session stands: how its context grew, where it was and would be compacted, what fills the file,
//! what pruning would free, and what is wrong. It is meant to be understood in a minute, and to be passed on, so it is masked.

use askama::Template;

use super::chart::{self, Marks};
use super::html::{STYLE, policy};
use super::mask::Mask;
use crate::engine::trigger::Window;
use crate::run::inspect::Report;
use crate::session::{Severity, Source};
use crate::text::{Redactor, bytes, counted, grouped};

/// Rows of a table; more are counted.
const MOST_ROWS: usize = 20;
const OWN_STYLE: &str = include_str!("../../assets/report/report.css");

#[derive(Template)]
#[template(path = "report.html", config = "assets/report/askama.toml")]
struct Page {
    policy: String,
    style: String,
    title: String,
    rows: Vec<(&'static str, String)>,
    facts: Vec<Fact>,
    chart: String,
    verdict: String,
    tables: Vec<Table>,
}

struct Fact {
    class: &'static str,
    value: String,
    name: &'static str,
    more: String,
}

struct Table {
    title: &'static str,
    none: &'static str,
    heads: Vec<&'static str>,
    rows: Vec<Row>,
    more: String,
}

struct Row {
    class: &'static str,
    share: Option<u64>,
    cells: Vec<String>,
}

impl Table {
    fn new(title: &'static str, none: &'static str, heads: &[&'static str]) -> Table {
        Table { title, none, heads: heads.to_vec(), rows: Vec::new(), more: String::new() }
    }

    fn cut(mut self) -> Table {
        if let Some(more) = self.rows.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
            self.rows.truncate(MOST_ROWS);
            self.more = format!("… and {more} more");
        }
        self
    }
}

/// The chart of a report as a picture of its own.
#[must_use]
pub fn chart(report: &Report, window: &Window, redactor: &Redactor) -> String {
    let mask = Mask::new(&report.session, Some(redactor));
    drawn(report, window, &title(report, &mask), true)
}

fn drawn(report: &Report, window: &Window, title: &str, alone: bool) -> String {
    let cut = report.cut.as_ref().and_then(|cut| cut.as_ref().ok()).map(|found| (found.cut.window_start, found.cut.first_message));
    let curve = report.curve.clone().unwrap_or_default();
    chart::svg(&curve, Marks { threshold: window.threshold, cut }, title, alone)
}

fn title(report: &Report, mask: &Mask<'_>) -> String {
    let header = report.overview.as_ref().map(|o| &o.header);
    let given = header.and_then(|h| h.title.as_deref()).map(|t| mask.line(t, 200)).filter(|t| !t.is_empty());
    let id = header.and_then(|h| h.id.as_deref()).map(|id| format!("Session {}", mask.line(id, 80)));
    given.or(id).unwrap_or_else(|| "Session".to_owned())
}

/// The page.
#[must_use]
pub fn page(name: &str, report: &Report, window: &Window, redactor: &Redactor) -> String {
    let mask = Mask::new(&report.session, Some(redactor));
    let title = title(report, &mask);
    let style = format!("{STYLE}{OWN_STYLE}");
    let mut tables =
        vec![kinds(report, &mask), prune(report, &mask), compactions(report, &mask), branches(report, &mask), largest(report, &mask)];
    // What is wrong comes first, that nothing is wrong last.
    let wrong = report.problems.as_ref().is_some_and(|list| !list.is_empty());
    tables.insert(if wrong { 0 } else { tables.len() }, problems(report, &mask));
    let page = Page {
        policy: policy(&style, ""),
        rows: about(name, report, &mask),
        facts: facts(report, window),
        chart: drawn(report, window, &title, false),
        verdict: verdict(report, window),
        tables,
        title,
        style,
    };
    page.render().unwrap_or_default()
}

fn about(name: &str, report: &Report, mask: &Mask<'_>) -> Vec<(&'static str, String)> {
    let mut rows = vec![("File", mask.line(name, 300))];
    if let Some(overview) = &report.overview {
        rows.extend(overview.header.cwd.as_deref().map(|cwd| ("Folder", mask.line(cwd, 300))));
        rows.extend(overview.header.timestamp.as_deref().map(|t| ("Begun", mask.line(t, 40))));
        let leaf = report.path.leaf().map_or_else(|| "nothing".to_owned(), |leaf| mask.whole(report.session.id(leaf)));
        let (path, total) = (report.path.entries.len() as u64, overview.shape.total as u64);
        rows.push(("Path", format!("{} of {} entries, to {leaf}", grouped(path), grouped(total))));
        rows.extend(overview.model.as_deref().map(|model| ("Model", mask.line(model, 80))));
    }
    rows.push(("Agent", report.session.owner().name().to_owned()));
    rows
}

fn facts(report: &Report, window: &Window) -> Vec<Fact> {
    let mut out = Vec::new();
    if let Some(overview) = &report.overview {
        let (tokens, estimated) = (overview.estimate.context, overview.estimate.counted.estimated);
        let class = if tokens > window.threshold { "bad" } else { "" };
        let percent = tokens.saturating_mul(100) / window.tokens.max(1);
        let about = if estimated { "≈ " } else { "" };
        out.push(Fact {
            class,
            value: format!("{about}{}", grouped(tokens)),
            name: "tokens in the context",
            more: format!("{percent} % of {}; threshold {}", grouped(window.tokens), grouped(window.threshold)),
        });
        let times = overview.compactions.len();
        let more = overview
            .compactions
            .last()
            .and_then(|c| Some(format!("the latest from {} tokens", grouped(c.tokens_before?))))
            .unwrap_or_default();
        out.push(Fact { class: "", value: times.to_string(), name: if times == 1 { "compaction" } else { "compactions" }, more });
    }
    let source: &Source = report.session.source();
    let entries = report.overview.as_ref().map_or(0, |o| o.shape.total);
    out.push(Fact {
        class: "",
        value: bytes(source.len()),
        name: "on disk",
        more: format!("{} entries, {} lines", grouped(entries as u64), grouped(report.session.lines().into())),
    });
    if let Some(plan) = &report.prune {
        let more = match (plan.worth_it, plan.saved) {
            (true, _) => format!("from {} results", plan.results.len()),
            (false, 0) => "there is nothing to prune".to_owned(),
            (false, _) => "less than pruning must save".to_owned(),
        };
        out.push(Fact { class: "", value: grouped(plan.saved), name: "tokens that prune would free", more });
    }
    if let Some(list) = &report.problems {
        let errors = list.iter().filter(|p| p.severity == Severity::Error).count();
        let (class, value) = match (errors, list.len()) {
            (0, 0) => ("", "none".to_owned()),
            (0, n) => ("warn", n.to_string()),
            (_, n) => ("bad", n.to_string()),
        };
        let count = |n: usize, what: &str| counted(n as u64, what);
        let more = if list.is_empty() {
            "nothing is wrong".to_owned()
        } else {
            format!("{}, {}", count(errors, "error"), count(list.len() - errors, "warning"))
        };
        out.push(Fact { class, value, name: if list.len() == 1 { "problem" } else { "problems" }, more });
    }
    out
}

fn verdict(report: &Report, window: &Window) -> String {
    let tokens = report.overview.as_ref().map_or(0, |o| o.estimate.context);
    let state = match window.threshold.checked_sub(tokens) {
        Some(room) => format!("{} tokens are left before a compaction is due.", grouped(room)),
        None => format!("A compaction is due: the context is {} tokens above the threshold.", grouped(tokens - window.threshold)),
    };
    let next = match &report.cut {
        Some(Ok(found)) => format!(
            " The next one would summarize {} messages ({} tokens) and keep {} ({} tokens){}.",
            grouped((found.amounts.summarize.messages + found.amounts.turn_prefix.messages) as u64),
            grouped(found.amounts.summarize.count.tokens + found.amounts.turn_prefix.count.tokens),
            grouped(found.amounts.keep.messages as u64),
            grouped(found.amounts.keep.count.tokens),
            if found.cut.turn_start.is_some() { ", cutting inside a turn" } else { "" }
        ),
        Some(Err(nothing)) => format!(" There is nothing to compact: {}.", nothing.text()),
        None => String::new(),
    };
    let errors = report.problems.iter().flatten().filter(|p| p.severity == Severity::Error).count();
    let wrong = match errors {
        0 => "",
        1 => " One error is to be mended first: see Problems.",
        _ => " Some errors are to be mended first: see Problems.",
    };
    format!("{state}{next}{wrong}")
}

fn kinds(report: &Report, mask: &Mask<'_>) -> Table {
    let mut table =
        Table::new("What fills the file", "The file is empty.", &["share", "kind", "bytes", "tokens", "entries", "images and details"]);
    let Some(sizes) = &report.sizes else { return table };
    let all = report.session.source().len().max(1);
    table.rows.extend(sizes.by_kind.iter().map(|row| Row {
        class: "",
        share: Some(row.bytes.saturating_mul(100) / all),
        cells: vec![
                row.tool
                    .as_ref()
                    .map_or_else(|| mask.line(&row.kind, 40), |tool| format!("{} of {}", mask.line(&row.kind, 40), mask.line(tool, 40))),
                bytes(row.bytes),
                grouped(row.tokens),
                grouped(row.entries),
                if row.bulk > 0 { bytes(row.bulk) } else { String::new() },
            ],
    }));
    table.cut()
}

fn prune(report: &Report, mask: &Mask<'_>) -> Table {
    let mut table = Table::new("What prune would free", "There is nothing to prune.", &["result", "tool", "why", "tokens", "freed"]);
    let Some(plan) = &report.prune else { return table };
    let mut rows: Vec<_> = plan.results.iter().collect();
    rows.sort_by_key(|r| std::cmp::Reverse(r.saved));
    table.rows.extend(rows.into_iter().map(|r| Row {
        class: "",
        share: None,
        cells: vec![
            mask.whole(report.session.id(r.entry)),
            report.session[r.entry].tool.map_or_else(String::new, |tool| mask.line(report.session.name(tool), 40)),
            r.reason.name().to_owned(),
            grouped(r.tokens),
            grouped(r.saved),
        ],
    }));
    table.cut()
}

fn compactions(report: &Report, mask: &Mask<'_>) -> Table {
    let mut table =
        Table::new("Compactions", "This path was never compacted.", &["entry", "method", "tokens before", "tokens after", "keeps from"]);
    let amount = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), grouped);
    let list = report.overview.iter().flat_map(|o| o.compactions.iter().rev());
    table.rows.extend(list.map(|c| Row {
        class: "",
        share: None,
        cells: vec![
            mask.whole(&c.id),
            c.method.as_deref().map_or_else(String::new, |m| mask.line(m, 40)),
            amount(c.tokens_before),
            amount(c.tokens_after),
            c.first_kept_id.as_deref().map_or_else(String::new, |id| mask.whole(id)),
        ],
    }));
    table.cut()
}

fn branches(report: &Report, mask: &Mask<'_>) -> Table {
    let mut table = Table::new("Branches", "There are no entries.", &["leaf", "entries to it", ""]);
    let leaf = report.path.leaf();
    let list = report.overview.iter().flat_map(|o| o.shape.leaves.iter().rev());
    table.rows.extend(list.map(|l| Row {
        class: "",
        share: None,
        cells: vec![
            mask.whole(report.session.id(l.entry)),
            grouped(l.depth as u64),
            if Some(l.entry) == leaf { "the path shown above".to_owned() } else { "another branch".to_owned() },
        ],
    }));
    table.cut()
}

fn problems(report: &Report, mask: &Mask<'_>) -> Table {
    let mut table = Table::new("Problems", "Nothing is wrong.", &["severity", "code", "line", "what"]);
    table.rows.extend(report.problems.iter().flatten().map(|p| Row {
        class: if p.severity == Severity::Error { "error" } else { "" },
        share: None,
        cells: vec![
            p.severity.name().to_owned(),
            p.code.name().to_owned(),
            p.line.map_or_else(String::new, |line| grouped(line.into())),
            mask.line(&p.message, 300),
        ],
    }));
    table.cut()
}

fn largest(report: &Report, mask: &Mask<'_>) -> Table {
    let mut table = Table::new("Largest entries", "There are no entries.", &["entry", "kind", "line", "bytes"]);
    table.rows.extend(report.sizes.iter().flat_map(|s| &s.largest).map(|(ix, size)| Row {
        class: "",
        share: None,
        cells: vec![
            mask.whole(report.session.id(*ix)),
            mask.line(report.session.type_name(*ix), 40),
            grouped(report.session[*ix].line.into()),
            bytes(*size),
        ],
    }));
    table.cut()
}
