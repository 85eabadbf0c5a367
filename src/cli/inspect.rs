//! `epitome inspect`.

use std::io;

use serde_json::{Value, json};

use super::args::{FailOn, Inspect, Show};
use super::batch::{self, Item, Output, Said};
use super::{Status, Usage, json as out, output, show};
use crate::engine::trigger::Window;
use crate::export;
use crate::run::inspect::Report;
use crate::run::{InspectJob, RunError, Wanted};
use crate::session::{Code, Ix, Json, Kind, Problem, Severity};
use crate::settings::Settings;
use crate::summarize::offline::Offline;
use crate::text::{Redactor, Share};

/// Runs the command.
pub(super) fn run(args: &Inspect) -> anyhow::Result<Status> {
    let common = &args.common;
    let settings = super::settings(common, Vec::new())?;
    super::now(common)?;
    let shows = shows(args);
    if shows == [Show::Settings] && common.sessions.is_empty() && common.files_from.is_none() {
        let text = if common.json {
            out::line([("schema".to_owned(), 1.into()), ("settings".to_owned(), out::settings(&settings))].into_iter().collect())
        } else {
            let mut text = String::new();
            show::settings(&mut text, &settings);
            text
        };
        io::Write::write_all(&mut output::stdout(common), text.as_bytes())?;
        return Ok(Status::Done);
    }
    if args.list && !args.check && !args.needs_compaction {
        return Err(Usage::new("--list needs a question", "add --needs-compaction or --check"));
    }
    let allowed: Vec<Code> = args
        .allow
        .iter()
        .flat_map(|list| list.split(','))
        .map(|name| Code::of(name).ok_or_else(|| unknown_code(name)))
        .collect::<Result<_, _>>()?;
    let items = batch::items(common)?;
    if items.several && args.frames_dir.is_some() {
        return Err(Usage::new("--frames-dir takes the frames of one session", "name one session, or leave it out"));
    }
    let files = args.report.is_some() || args.chart.is_some();
    if files && items.several {
        return Err(Usage::new("--report and --chart are about one session", "name one session file, or - for standard input"));
    }
    let mut wanted = wanted(&shows);
    if files {
        let all = args.report.is_some();
        wanted = Wanted {
            overview: true,
            cut: true,
            curve: Some(CHART),
            sizes: wanted.sizes || all,
            prune: wanted.prune || all,
            problems: wanted.problems || all,
            ..wanted
        };
    }
    let counts = wanted.overview || wanted.context || wanted.cut || wanted.sizes || wanted.summary || wanted.prune;
    let _loading = if counts { settings.tokenizer.preload() } else { None };
    let look = Look { args, settings: &settings, shows: &shows, wanted, allowed: &allowed };
    let status = batch::run(common, &items, |item| look.one(item))?;
    // No session at all is none that asks.
    Ok(if args.needs_compaction && items.list.is_empty() { Status::Nothing } else { status })
}

fn unknown_code(name: &str) -> anyhow::Error {
    let all: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    Usage::new(format!("--allow: '{name}' is no problem code"), format!("the codes are {}", all.join(", ")))
}

/// What to show, in the order of the list, each once.
fn shows(args: &Inspect) -> Vec<Show> {
    if args.check {
        return vec![Show::Problems];
    }
    if args.needs_compaction {
        return vec![Show::Triggers];
    }
    let mut shows = args.show.clone();
    if shows.contains(&Show::All) {
        shows = vec![
            Show::Overview,
            Show::Tree,
            Show::Path,
            Show::Context,
            Show::Transcript,
            Show::Cut,
            Show::Triggers,
            Show::Sizes,
            Show::Prune,
            Show::Files,
            Show::Summary,
            Show::Frames,
            Show::Revisions,
            Show::Problems,
            Show::Settings,
        ];
    }
    if shows.is_empty() {
        shows.push(Show::Overview);
    }
    let mut seen = Vec::new();
    shows.retain(|show| {
        !seen.contains(show) && {
            seen.push(*show);
            true
        }
    });
    shows
}

fn wanted(shows: &[Show]) -> Wanted {
    let has = |show: Show| shows.contains(&show);
    let overview = has(Show::Overview);
    Wanted {
        overview,
        context: has(Show::Context),
        cut: has(Show::Cut) || overview,
        files: has(Show::Files),
        summary: has(Show::Summary),
        sizes: has(Show::Sizes),
        problems: has(Show::Problems) || overview,
        prune: has(Show::Prune),
        revisions: has(Show::Revisions),
        frames: has(Show::Frames),
        triggers: has(Show::Triggers),
        curve: overview.then_some(SPARK),
    }
}

/// Bars of the sparkline.
const SPARK: usize = 48;
/// Points of a chart: about one for two pixels.
const CHART: usize = 480;

struct Look<'a> {
    args: &'a Inspect,
    settings: &'a Settings,
    shows: &'a [Show],
    wanted: Wanted,
    allowed: &'a [Code],
}

impl Look<'_> {
    fn one(&self, item: &Item) -> Result<Output, RunError> {
        let common = &self.args.common;
        let settings = self.settings;
        let progress = super::progress(common);
        progress("reading");
        let job = InspectJob {
            input: item.input.clone(),
            leaf: common.leaf.clone(),
            wanted: self.wanted,
            tokenizer: settings.tokenizer,
            exact: self.args.exact,
            keep_recent: settings.keep_recent_tokens,
            keep_from: self.args.keep_from.clone(),
            summary_tokens: settings.summary_tokens,
            blobs: settings.blob_dir.clone(),
            archive_dir: settings.archive_dir.clone(),
            prune: settings.prune.clone(),
            limits: settings.limits(),
        };
        let mut report = crate::run::inspect(&job, &Offline)?;
        progress("");
        if let Some(problems) = report.problems.as_mut().filter(|_| self.args.check) {
            problems.retain(|p| !self.allowed.contains(&p.code));
        }
        if let (Some(dir), Some(list)) = (&self.args.frames_dir, &report.frames) {
            crate::run::snapcompact::write_views(list, dir)?;
        }
        let name = item.input.name();
        let asks = settings.enabled && report.triggers.as_ref().is_some_and(|asked| asked.reason.is_some());
        let failing = self.args.check && report.problems.as_deref().is_some_and(|list| fails(list, self.args.fail_on));
        let status = match (self.args.needs_compaction, failing) {
            (true, _) if !asks => Status::Nothing,
            (_, true) => Status::Problems,
            _ => Status::Done,
        };
        if self.args.list {
            let out = if asks || failing { batch::listed(common, &item.input) } else { Vec::new() };
            return Ok(Output { out, raw: true, err: String::new(), status, tally: None });
        }
        let window = settings.limits().window(report.overview.as_ref().and_then(|o| o.model.as_deref()));
        let err = self.files(item, &name, &mut report, &window)?;
        let out = if common.json {
            self.object(&name, &report, &window)?
        } else if self.args.needs_compaction {
            report.triggers.as_ref().filter(|_| asks).map_or_else(String::new, |asked| show::asks(&name, asked))
        } else {
            show::report(&name, &report, self.shows, settings, &window)?
        };
        Ok(Said { out, err, status }.into())
    }

    /// Writes the report and the chart where they are asked for; returns what is said of them.
    fn files(&self, item: &Item, name: &str, report: &mut Report, window: &Window) -> Result<String, RunError> {
        let args = self.args;
        let mut said = String::new();
        if args.report.is_none() && args.chart.is_none() {
            return Ok(said);
        }
        let settings = self.settings;
        let share = Share { email: settings.redact_email, home: std::env::var("HOME").ok(), own: settings.redact.clone() };
        let redactor = Redactor::share(share);
        let page = args.report.as_deref().map(|path| (path, export::report::page(name, report, window, &redactor)));
        let chart = args.chart.as_deref().map(|path| (path, export::report::chart(report, window, &redactor)));
        for (path, text) in [page, chart].into_iter().flatten() {
            crate::run::export::write_beside(&item.input, path, args.overwrite, text.as_bytes())?;
            if !args.common.quiet {
                said.push_str(&format!("epitome: {}: written\n", crate::text::one_line(&path.display().to_string(), 400)));
            }
        }
        // What was wanted for the files alone is not printed.
        let has = |show: Show| self.shows.contains(&show);
        report.sizes = report.sizes.take().filter(|_| has(Show::Sizes));
        report.prune = report.prune.take().filter(|_| has(Show::Prune));
        report.problems = report.problems.take().filter(|_| has(Show::Problems) || has(Show::Overview));
        report.cut = report.cut.take().filter(|_| has(Show::Cut) || has(Show::Overview));
        report.overview = report.overview.take().filter(|_| has(Show::Overview));
        Ok(said)
    }

    fn object(&self, name: &str, report: &Report, window: &Window) -> io::Result<String> {
        let session = &report.session;
        let mut object = out::head(name);
        let has = |show: Show| self.shows.contains(&show);
        if let Some(overview) = &report.overview {
            let estimate = &overview.estimate;
            let tokens = json!({
                "tokenizer": self.settings.tokenizer.name(), "context": estimate.context, "reported": estimate.reported, "counted": estimate.counted.tokens,
                "window": window.tokens, "threshold": window.threshold, "estimated": estimate.counted.estimated,
            });
            out::overview(&mut object, report, overview, tokens, |ix| timestamp(report, ix));
        }
        if has(Show::Tree) {
            let on_path: std::collections::HashSet<Ix> = report.path.entries.iter().copied().collect();
            let rows = crate::run::inspect::tree_rows(session);
            let rows: io::Result<Vec<Value>> = rows
                .iter()
                .map(|row| {
                    let mut value = self.entry(report, row.entry)?;
                    if let Value::Object(map) = &mut value {
                        map.insert("depth".to_owned(), row.depth.into());
                        map.insert("on_path".to_owned(), on_path.contains(&row.entry).into());
                    }
                    Ok(value)
                })
                .collect();
            object.insert("tree".to_owned(), rows?.into());
        }
        if has(Show::Path) {
            let rows: io::Result<Vec<Value>> = report.path.entries.iter().map(|ix| self.entry(report, *ix)).collect();
            object.insert("path_list".to_owned(), rows?.into());
        }
        if let Some((context, tokens)) = &report.context {
            object.insert("context".to_owned(), out::context(session, context, tokens));
        }
        if has(Show::Transcript) {
            let shown = report.path.entries.iter().copied().filter(|ix| session[*ix].is_message() || session[*ix].kind == Kind::Compaction);
            let rows: io::Result<Vec<Value>> = shown
                .map(|ix| {
                    let text = session.with_message(ix, show::said)?;
                    Ok(json!({"id": session.id(ix), "type": session.type_name(ix), "role": session[ix].role.name(), "text": text}))
                })
                .collect();
            object.insert("transcript".to_owned(), rows?.into());
        }
        if let Some(found) = report.cut.as_ref() {
            let found = found.as_ref().map(|found| (&found.cut, &found.amounts)).map_err(|nothing| nothing.code());
            out::cut(&mut object, session, &report.path.entries, found);
        }
        if let Some(asked) = &report.triggers {
            object.insert("triggers".to_owned(), out::asked(asked, self.settings.enabled));
        }
        if let Some(sizes) = &report.sizes {
            object.insert("sizes".to_owned(), out::sizes(session, sizes));
        }
        if let Some(files) = &report.files {
            object.insert("files".to_owned(), out::files(files));
        }
        if let Some(found) = &report.summary {
            object.insert("summary".to_owned(), out::summary(session, found.as_ref()));
        }
        if let Some(plan) = &report.prune {
            object.insert("prune".to_owned(), out::prune(session, plan, plan.worth_it, None, &[]));
        }
        if let Some(list) = &report.frames {
            object.insert("frames".to_owned(), list.iter().map(|view| out::frame(session, view)).collect());
        }
        if let Some((list, _)) = &report.revisions {
            object.insert("revisions".to_owned(), out::revisions(list));
        }
        if let Some(list) = &report.problems {
            object.insert("problems".to_owned(), out::problems(list));
        }
        if has(Show::Settings) {
            object.insert("settings".to_owned(), out::settings(self.settings));
        }
        Ok(out::line(object))
    }

    fn entry(&self, report: &Report, ix: Ix) -> io::Result<Value> {
        let session = &report.session;
        let entry = &session[ix];
        let parent = match entry.parent {
            crate::session::Parent::Root => Value::Null,
            crate::session::Parent::Id(id) => session.name(id).into(),
        };
        let role = if entry.is_message() { entry.role.name().into() } else { Value::Null };
        Ok(
            json!({"id": session.id(ix), "parent_id": parent, "type": session.type_name(ix), "role": role, "line": entry.line, "text": show::snippet(session, ix)?}),
        )
    }
}

fn timestamp(report: &Report, ix: Ix) -> Option<String> {
    let payload = report.session.read(ix).ok()?;
    Json::parse(&payload.text()).ok()?.get("timestamp").str().map(str::to_owned)
}

fn fails(list: &[Problem], from: FailOn) -> bool {
    let least = match from {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
    };
    list.iter().any(|p| p.severity >= least)
}
