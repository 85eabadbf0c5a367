//! `epitome compact`.

use super::args::{Compact, Strategy, When};
use super::batch::{self, Item, Output, Said, Tally};
use super::making::{self, Maker};
use super::{Status, Usage, Writer, json as out, output, show};
use crate::engine::replace::ReplaceSettings;
use crate::hooks::Hooks;
use crate::run::snapcompact::FramesJob;
use crate::run::{self, Action, CompactJob, RunError, Services, Trigger};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(args: &Compact) -> anyhow::Result<Status> {
    let common = &args.common;
    let settings = super::settings(common, args.given())?;
    let now = super::now(common)?;
    let items = batch::items(common)?;
    let writer = Writer::of(&args.write, &items)?;
    check(args)?;
    let context = match &args.context_file {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|e| anyhow::Error::new(e).context(format!("{}: cannot read the context file", file.display())))?;
            text.lines().map(str::to_owned).filter(|line| !line.trim().is_empty()).collect()
        }
        None => Vec::new(),
    };
    let frames = (args.strategy == Some(Strategy::Snapcompact)).then(|| super::snapcompact::job(args, &settings)).transpose()?;
    if items.several && frames.as_ref().is_some_and(|frames| frames.dir.is_some()) {
        return Err(Usage::new("--frames-dir takes the frames of one session", "name one session, or leave it out"));
    }
    let maker = Maker::new(&args.summarizing, &settings, common)?;
    let hooks = making::hooks(&args.hooking, &settings)?;
    let _loading = settings.tokenizer.preload();
    let work = Work {
        args,
        writer: &writer,
        settings: &settings,
        now: &now,
        several: items.several,
        context: &context,
        maker: &maker,
        frames,
        hooks: &hooks,
    };
    let status = batch::write(common, &items, &writer, |item| work.one(item))?;
    Ok(making::with_hooks(status, &args.hooking, &hooks))
}

/// What the flags mean together.
fn check(args: &Compact) -> anyhow::Result<()> {
    if args.strategy == Some(Strategy::Replace) {
        for (given, flag) in [(args.keep_from.is_some(), "--keep-from"), (args.allow_growth, "--allow-growth")] {
            if given {
                return Err(Usage::new(
                    format!("{flag} is not for --strategy replace"),
                    "a replaced history keeps only instructions and reminders, and --context-limit is its size test",
                ));
            }
        }
    } else if args.replace.drop_branches || !args.replace.retain_custom.is_empty() {
        let flag = if args.replace.drop_branches { "--drop-branches" } else { "--retain-custom" };
        return Err(Usage::new(format!("{flag} is for --strategy replace"), "other strategies leave branches and messages where they are"));
    }
    Ok(())
}

struct Work<'a> {
    args: &'a Compact,
    writer: &'a Writer<'a>,
    settings: &'a Settings,
    now: &'a str,
    several: bool,
    context: &'a [String],
    maker: &'a Maker,
    frames: Option<FramesJob>,
    hooks: &'a Hooks,
}

impl Work<'_> {
    fn one(&self, item: &Item) -> Result<Output, RunError> {
        let (args, settings) = (self.args, self.settings);
        let common = &args.common;
        self.writer.check(&item.input)?;
        let target = self.writer.target(&item.input);
        let progress = super::progress(common);
        let job = CompactJob {
            input: item.input.clone(),
            target,
            leaf: common.leaf.clone(),
            trigger: self.trigger(),
            strategy: self.strategy(),
            keep_recent: settings.keep_recent_tokens,
            keep_from: args.keep_from.clone(),
            tokenizer: settings.tokenizer,
            summary_tokens: settings.summary_tokens,
            focus: args.instructions.clone(),
            context: self.context.to_vec(),
            allow_growth: args.allow_growth,
            auto_continue: args.auto_continue,
            prune: args.prune.then(|| settings.prune.clone()),
            limits: settings.limits(),
            archive_dir: settings.archive_dir.clone(),
        };
        let name = item.input.name();
        let note = making::note(common, &name);
        let summarizer = self.maker.make(&note);
        let services =
            Services { now: self.now.to_owned(), summarizer: summarizer.as_ref(), progress: &progress, hooks: self.hooks, note: &note };
        let done = run::compact(&job, &services)?;
        progress("");
        let mut err = String::new();
        if !common.quiet && !common.json {
            for warning in &done.receipt.warnings {
                err.push_str(&format!("{}: {}\n", output::error_text(&name, None), crate::text::strip(warning)));
            }
        }
        let status = if args.write.exit_code && !matches!(done.receipt.action, Action::Compacted | Action::Promoted | Action::Pruned) {
            Status::Nothing
        } else {
            Status::Done
        };
        let out = if common.json {
            let mut object = out::head(&name);
            out::compaction(&mut object, &done);
            object.insert("output".to_owned(), self.writer.output(&item.input));
            out::line(object)
        } else if common.quiet {
            String::new()
        } else {
            show::compaction(&self.writer.name(&item.input), &done, common.verbose > 0)
        };
        let receipt = &done.receipt;
        let changed = matches!(receipt.action, Action::Compacted | Action::Promoted | Action::Pruned);
        let saved = receipt.counted.0.zip(receipt.counted.1).filter(|_| matches!(receipt.action, Action::Compacted | Action::Pruned));
        let tokens = saved.map_or(0, |(before, after)| before.saturating_sub(after));
        Ok(Said { out, err, status }.tallied(Tally { action: receipt.action.name(), changed, tokens, bytes: 0 }))
    }

    fn strategy(&self) -> run::Strategy {
        if let Some(frames) = &self.frames {
            return run::Strategy::Snapcompact(Box::new(frames.clone()));
        }
        match self.args.strategy {
            None | Some(Strategy::ContextFull | Strategy::Snapcompact) => run::Strategy::ContextFull,
            Some(Strategy::Replace) => run::Strategy::Replace(ReplaceSettings {
                retain_custom: self.args.replace.retain_custom.clone(),
                drop_branches: self.args.replace.drop_branches,
                ..self.settings.replace.clone()
            }),
            Some(Strategy::Handoff) => run::Strategy::Handoff,
            Some(Strategy::Off) => run::Strategy::Off,
        }
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
