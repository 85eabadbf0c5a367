//! `epitome export`.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::args::{Export, ExportFormat, ToolResults};
use super::batch::{self, Item, Said};
use super::{Status, Usage, json as out, output};
use crate::export::{Format, Options, Results, View};
use crate::run::{ExportDone, ExportJob, Input, RunError, Target};
use crate::settings::Settings;
use crate::text::{Redactor, Share};

/// Runs the command.
pub(super) fn run(args: &Export) -> anyhow::Result<Status> {
    let common = &args.common;
    let settings = super::settings(common, args.given())?;
    super::now(common)?;
    let items = batch::items(common)?;
    if items.several {
        return Err(Usage::new("an export is one session's", "name one session file, or - for standard input"));
    }
    let raw = args.revision.is_some() && args.format.is_none();
    if raw && (args.context || args.thinking || args.tool_results.is_some() || args.redact || args.redact_email || common.leaf.is_some()) {
        return Err(Usage::new("--revision without --format gives the file as it was", "add --format for anything else"));
    }
    let options = options(args);
    if options.format == Format::Jsonl && options.view == View::Transcript && args.tool_results.is_some() {
        return Err(Usage::new("--format jsonl gives whole records", "leave --tool-results out, or use --format json"));
    }
    let share = Share { email: settings.redact_email, home: std::env::var("HOME").ok(), own: settings.redact.clone() };
    let redactor = (!args.no_redact).then(|| Redactor::share(share));
    let work = Work { args, settings: &settings, options: (!raw).then_some(options), redactor: redactor.as_ref() };
    let to_stdout = !args.dry_run && args.output.as_deref().is_none_or(|path| path == Path::new("-"));
    batch::export(common, &items, to_stdout, |item| work.one(item, to_stdout))
}

fn options(args: &Export) -> Options {
    Options {
        format: match args.format.unwrap_or(ExportFormat::Md) {
            ExportFormat::Md => Format::Markdown,
            ExportFormat::Html => Format::Html,
            ExportFormat::Text => Format::Text,
            ExportFormat::Json => Format::Json,
            ExportFormat::Jsonl => Format::Jsonl,
        },
        view: if args.context { View::Context } else { View::Transcript },
        branches: args.common.leaf.as_deref() == Some("all"),
        thinking: args.thinking,
        results: match args.tool_results.unwrap_or(ToolResults::Full) {
            ToolResults::Full => Results::Full,
            ToolResults::Short => Results::Short,
            ToolResults::None => Results::None,
        },
    }
}

struct Work<'a> {
    args: &'a Export,
    settings: &'a Settings,
    options: Option<Options>,
    redactor: Option<&'a Redactor>,
}

impl Work<'_> {
    fn one(&self, item: &Item, to_stdout: bool) -> Result<Said, RunError> {
        let (args, common) = (self.args, &self.args.common);
        let target = match &args.output {
            Some(path) if path.as_os_str() != "-" => Target::File { path: path.clone(), overwrite: args.overwrite },
            _ => Target::Stdout,
        };
        let progress = super::progress(common);
        progress("exporting");
        let job = ExportJob {
            input: item.input.clone(),
            target,
            dry_run: args.dry_run,
            leaf: common.leaf.clone().filter(|leaf| leaf != "all"),
            options: self.options,
            redactor: self.redactor,
            revision: args.revision,
            archive_dir: self.settings.archive_dir.clone(),
            blobs: self.settings.blob_dir.clone(),
        };
        let done = crate::run::export(&job);
        progress("");
        let done = done?;
        let name = item.input.name();
        let mut err = String::new();
        if !common.quiet && !common.json {
            for warning in &done.warnings {
                err.push_str(&format!("{}: {}\n", output::error_text(&name, None), crate::text::strip(warning)));
            }
        }
        let nothing = done.entries == Some(0);
        let status = if args.exit_code && nothing { Status::Nothing } else { Status::Done };
        let out = if common.json {
            out::line(self.receipt(&name, &done))
        } else if common.quiet {
            String::new()
        } else {
            self.said(item, &done, to_stdout)
        };
        Ok(Said { out, err, status })
    }

    fn receipt(&self, name: &str, done: &ExportDone) -> serde_json::Map<String, serde_json::Value> {
        let args = self.args;
        let mut object = out::head(name);
        let nothing = done.entries == Some(0);
        let format = match self.options.map(|o| o.format) {
            None => "raw",
            Some(Format::Markdown) => "md",
            Some(Format::Html) => "html",
            Some(Format::Text) => "text",
            Some(Format::Json) => "json",
            Some(Format::Jsonl) => "jsonl",
        };
        let rows = [
            ("action", if nothing { "nothing" } else { "exported" }.into()),
            ("reason", if nothing { "nothing_to_export".into() } else { serde_json::Value::Null }),
            ("format", format.into()),
            ("view", json!(self.options.map(|o| if o.view == View::Context { "context" } else { "transcript" }))),
            ("output", json!(args.output.as_ref().filter(|p| p.as_os_str() != "-").map(|p| p.display().to_string()))),
            ("revision", json!(args.revision)),
            ("entries", json!(done.entries)),
            ("images", done.pictures.into()),
            ("bytes_before", done.bytes.0.into()),
            ("bytes_after", done.bytes.1.into()),
            ("redacted", (self.redactor.is_some() && self.options.is_some()).into()),
            ("redactions", json!(done.counts)),
            ("dry_run", args.dry_run.into()),
            ("warnings", json!(done.warnings)),
        ];
        object.extend(rows.map(|(key, value)| (key.to_owned(), value)));
        object
    }

    /// One line of what was written, one of what was masked.
    fn said(&self, item: &Item, done: &ExportDone, to_stdout: bool) -> String {
        let name = if item.input == Input::Stdin { "-".to_owned() } else { item.input.name() };
        let name = crate::text::one_line(&name, 400);
        let mut text = String::new();
        if done.entries == Some(0) {
            let _ = writeln!(text, "{name}: nothing to export");
        } else if !to_stdout {
            let what = done.entries.map_or_else(|| "the revision".to_owned(), |entries| output::counted(entries, "entry"));
            let to = self.args.output.as_ref().map(|path| format!(" to {}", path.display())).unwrap_or_default();
            let dry = if self.args.dry_run { "would export" } else { "exported" };
            let images = if done.pictures > 0 { format!(" and {}", output::counted(done.pictures, "image")) } else { String::new() };
            let _ = writeln!(text, "{name}: {dry} {what}{images}{to}, {}", output::bytes(done.bytes.1));
        }
        if !done.counts.is_empty() {
            let kinds: Vec<String> = done.counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let _ = writeln!(text, "{name}: masked {}", kinds.join(", "));
        }
        text
    }
}
