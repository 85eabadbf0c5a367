//! `epitome compact`.

use super::args::{Compact, Strategy, SummarizerName, When};
use super::batch::{self, Item, Said};
use super::{Status, Writer, json as out, output, show};
use crate::run::{Action, CompactJob, RunError, Services, Trigger};
use crate::settings::Settings;
use crate::summarize::Summarizer;
use crate::summarize::offline::Offline;
use crate::summarize::truncate::Truncate;

/// Runs the command.
pub(super) fn run(args: &Compact) -> anyhow::Result<Status> {
    let common = &args.common;
    let settings = super::settings(common, Vec::new())?;
    let now = super::now(common)?;
    let items = batch::items(common)?;
    let writer = Writer(&args.write);
    writer.check(&items)?;
    let context = match &args.context_file {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|e| anyhow::Error::new(e).context(format!("{}: cannot read the context file", file.display())))?;
            text.lines().map(str::to_owned).filter(|line| !line.trim().is_empty()).collect()
        }
        None => Vec::new(),
    };
    let summarizer: &(dyn Summarizer + Sync) = match args.summarizer {
        SummarizerName::Offline => &Offline,
        SummarizerName::Truncate => &Truncate,
    };
    let _loading = settings.tokenizer.preload();
    let to_stderr = writer.to_stdout(&items);
    let work = Work { args, writer, settings: &settings, now: &now, several: items.several, context: &context, summarizer };
    batch::run(common, &items, to_stderr, |item| work.one(item))
}

struct Work<'a> {
    args: &'a Compact,
    writer: Writer<'a>,
    settings: &'a Settings,
    now: &'a str,
    several: bool,
    context: &'a [String],
    summarizer: &'a (dyn Summarizer + Sync),
}

impl Work<'_> {
    fn one(&self, item: &Item) -> Result<Said, RunError> {
        let (args, settings) = (self.args, self.settings);
        let common = &args.common;
        let target = self.writer.target(&item.input);
        let progress = super::progress(common);
        let job = CompactJob {
            input: item.input.clone(),
            target,
            leaf: common.leaf.clone(),
            trigger: self.trigger(),
            off: args.strategy == Strategy::Off,
            keep_recent: settings.keep_recent_tokens,
            keep_from: args.keep_from.clone(),
            tokenizer: settings.tokenizer,
            summary_tokens: settings.summary_tokens,
            focus: args.instructions.clone(),
            context: self.context.to_vec(),
            allow_growth: args.allow_growth,
            archive_dir: settings.archive_dir.clone(),
        };
        let services = Services { now: self.now.to_owned(), summarizer: self.summarizer, progress: &progress };
        let done = crate::run::compact(&job, &services)?;
        progress("");
        let name = item.input.name();
        let mut err = String::new();
        if !common.quiet && !common.json {
            for warning in &done.receipt.warnings {
                err.push_str(&format!("{}: {}\n", output::error_text(&name, None), crate::text::strip(warning)));
            }
        }
        let status = if args.write.exit_code && done.receipt.action != Action::Compacted { Status::Nothing } else { Status::Done };
        let out = if common.json {
            let mut object = out::head(&name);
            out::compaction(&mut object, &done);
            out::line(object)
        } else if common.quiet {
            String::new()
        } else {
            show::compaction(&name, &done, common.verbose > 0)
        };
        Ok(Said { out, err, status })
    }

    fn trigger(&self) -> Trigger {
        let when = self.args.trigger.unwrap_or(if self.several { When::Auto } else { When::Manual });
        match when {
            When::Manual => Trigger::Manual,
            When::Auto | When::Idle if !self.settings.enabled => Trigger::Off,
            When::Auto | When::Idle => Trigger::Auto { idle: when == When::Idle, limits: self.settings.limits() },
        }
    }
}
