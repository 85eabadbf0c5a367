//! `epitome prune`.

use std::path::Path;

use super::args::Prune;
use super::batch::{self, Item, Output, Said, Tally};
use super::making;
use super::{Status, Usage, Writer, json as out, output, show};
use crate::engine::prune::{PruneSettings, Stale};
use crate::hooks::Hooks;
use crate::run::{Archiving, PruneJob, RunError};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(args: &Prune) -> anyhow::Result<Status> {
    let common = &args.common;
    let settings = super::settings(common, args.given())?;
    let now = super::now(common)?;
    if args.no_archive && !args.yes {
        return Err(Usage::new("--no-archive gives up the file as it was", "add --yes if that is meant"));
    }
    let items = batch::items(common)?;
    let writer = Writer::of(&args.write, &items)?;
    let protect = Protect::of(&args.protect)?;
    let now_ms = now.parse::<jiff::Timestamp>().map_or(0, |t| u64::try_from(t.as_millisecond()).unwrap_or(0));
    let prune = PruneSettings {
        superseded: !args.no_superseded,
        useless: !args.no_useless,
        stale: args.stale.then_some(Stale { suffix_tokens: settings.stale.0, idle_ms: settings.stale.1.saturating_mul(60_000), now_ms }),
        protected_tools: protect.tools.clone(),
        protect_last_turn: args.protect_last_turn,
        ..settings.prune.clone()
    };
    let hooks = making::hooks(&args.hooking, &settings)?;
    let _loading = settings.tokenizer.preload();
    let work = Work { args, settings: &settings, prune, protect: &protect, now: (now, now_ms), writer: &writer, hooks: &hooks };
    let status = batch::write(common, &items, &writer, |item| work.one(item))?;
    Ok(making::with_hooks(status, &args.hooking, &hooks))
}

/// What `--protect` names.
struct Protect {
    tools: Vec<String>,
    paths: globset::GlobSet,
}

impl Protect {
    fn of(list: &[String]) -> anyhow::Result<Protect> {
        let mut tools = Vec::new();
        let mut globs = globset::GlobSetBuilder::new();
        for what in list {
            match what.split_once(':') {
                Some(("tool", name)) if !name.is_empty() => tools.push(name.to_owned()),
                Some(("path", glob)) if !glob.is_empty() => {
                    let glob = globset::Glob::new(glob)
                        .map_err(|e| Usage::new(format!("--protect: {e}"), "globs are those of .gitignore, such as path:docs/**"))?;
                    globs.add(glob);
                }
                _ => return Err(Usage::new(format!("--protect: '{what}' names nothing"), "use tool:NAME or path:GLOB")),
            }
        }
        Ok(Protect { tools, paths: globs.build()? })
    }
}

struct Work<'a> {
    args: &'a Prune,
    settings: &'a Settings,
    prune: PruneSettings,
    protect: &'a Protect,
    now: (String, u64),
    writer: &'a Writer<'a>,
    hooks: &'a Hooks,
}

impl Work<'_> {
    fn one(&self, item: &Item) -> Result<Output, RunError> {
        let args = self.args;
        let common = &args.common;
        let is_protected = |path: &str| self.protect.paths.is_match(Path::new(path));
        let folder = self.settings.archive_dir.clone();
        let archiving = if args.no_archive { Archiving::Never(folder) } else { Archiving::To(folder) };
        let name = item.input.name();
        let note = making::note(common, &name);
        let job = PruneJob {
            input: item.input.clone(),
            target: self.writer.target(&item.input),
            leaf: common.leaf.clone(),
            settings: self.prune.clone(),
            is_protected: &is_protected,
            tokenizer: self.settings.tokenizer,
            archiving,
            restore: args.restore,
            now: self.now.clone(),
            hooks: self.hooks,
            note: &note,
        };
        let done = crate::run::prune(&job)?;
        let mut err = String::new();
        if !common.quiet && !common.json {
            for warning in &done.warnings {
                err.push_str(&format!("{}: {}\n", output::error_text(&name, None), crate::text::strip(warning)));
            }
        }
        let status = if args.write.exit_code && !done.changed { Status::Nothing } else { Status::Done };
        let out = if common.json {
            let mut object = out::head(&name);
            out::pruning(&mut object, &done);
            out::line(object)
        } else if common.quiet {
            String::new()
        } else {
            show::pruning(&name, &done)
        };
        let tokens = done.plan.as_ref().filter(|_| done.changed).map_or(0, |plan| plan.saved);
        let action = if done.changed { "pruned" } else { "nothing" };
        let bytes = done.bytes.0.saturating_sub(done.bytes.1);
        Ok(Said { out, err, status }.tallied(Tally { action, changed: done.changed, tokens, bytes }))
    }
}
