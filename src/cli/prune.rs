//! `epitome prune`.

use std::ffi::OsString;
use std::path::Path;

use super::args::Prune;
use super::batch::{self, Item, Output, Said, Tally};
use super::making;
use super::{Status, Usage, Writer, json as out, output, show};
use crate::engine::prune::{PruneSettings, Stale};
use crate::engine::size::{Images, SizeSettings};
use crate::hooks::Hooks;
use crate::run::prune::ALL_LEAVES;
use crate::run::{Archiving, PruneJob, RunError};
use crate::session::Code;
use crate::session::repair::{Mending, Wanted};
use crate::settings::{Settings, amount};
use crate::store::archive::CUSTOM_TYPE;

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
    let repair = args.repair.as_deref().map(wanted).transpose()?;
    let protect = Protect::of(&args.protect)?;
    let now_ms = crate::run::prune::pruned_at(&now);
    let prune = PruneSettings {
        superseded: !args.no_superseded,
        useless: !args.no_useless,
        stale: args.stale.then_some(Stale { suffix_tokens: settings.stale.0, idle_ms: settings.stale.1.saturating_mul(60_000), now_ms }),
        protected_tools: protect.tools.clone(),
        protects_files: !protect.paths.is_empty(),
        keep_errors: args.keep_errors,
        protect_last_turn: args.protect_last_turn,
        ..settings.prune.clone()
    };
    let size = size(args)?;
    let hooks = making::hooks(&args.hooking, &settings)?;
    let _loading = settings.tokenizer.preload();
    let work = Work { args, settings: &settings, prune, size, repair, protect: &protect, now, writer: &writer, hooks: &hooks };
    let status = batch::write(common, &items, &writer, |item| work.one(item))?;
    Ok(making::with_hooks(status, &args.hooking, &hooks))
}

/// The measures that the flags ask for.
fn size(args: &Prune) -> anyhow::Result<SizeSettings> {
    let images = args.images.as_deref().map(|what| match what.split_once('=') {
        None if what == "drop" => Ok(Images::Drop),
        Some(("extract", folder)) if !folder.is_empty() => Ok(Images::Extract(folder.to_owned())),
        Some(("keep-last", number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => number
            .parse()
            .map(Images::KeepLast)
            .map_err(|_| Usage::new(format!("--images: '{number}' is too large"), "give a smaller number")),
        _ => Err(Usage::new(format!("--images: '{what}' is none of its values"), "use drop, extract=DIR or keep-last=N")),
    });
    let max_result = args.max_result.as_deref().map(|text| match amount(text) {
        Ok(tokens) if tokens >= LEAST_RESULT => Ok(tokens),
        Ok(_) => Err(Usage::new(
            format!("--max-result: {text} is too little to show anything of a result"),
            format!("give at least {LEAST_RESULT}"),
        )),
        Err(what) => Err(Usage::new(format!("--max-result: {what}"), "the value is a number of tokens")),
    });
    if args.custom.iter().any(|name| name == CUSTOM_TYPE) {
        return Err(Usage::new(
            format!("--custom: {CUSTOM_TYPE} entries refer to the archives of the session"),
            "name the type of an extension",
        ));
    }
    if args.append && args.common.leaf.as_deref() == Some(ALL_LEAVES) {
        return Err(Usage::new(
            "--append with --leaf all: edits stand at the end of one path",
            "name one leaf, or leave one of the two out",
        ));
    }
    if args.dead_branches && args.common.leaf.as_deref() == Some(ALL_LEAVES) {
        return Err(Usage::new("--dead-branches with --leaf all: then no branch is dead", "leave one of them out"));
    }
    Ok(SizeSettings {
        details: args.details,
        images: images.transpose()?,
        args: args.args,
        custom: args.custom.clone(),
        max_result: max_result.transpose()?,
        dead_branches: args.dead_branches,
        summarized: args.summarized,
        dedupe: args.dedupe,
    })
}

/// Tokens of a result below which its ends and the note between them tell nothing.
const LEAST_RESULT: u64 = 50;

/// What `--repair` names.
fn wanted(codes: &[String]) -> anyhow::Result<Wanted> {
    let codes: Vec<&str> = codes.iter().map(String::as_str).filter(|code| !code.is_empty()).collect();
    let mendable = || {
        let names = Code::ALL.iter().filter(|code| !matches!(code.mending(), Mending::Never(_))).map(|code| code.name());
        format!("these can be mended: {}", names.collect::<Vec<_>>().join(", "))
    };
    let mut named = Vec::new();
    for name in &codes {
        let Some(code) = Code::of(name) else {
            return Err(Usage::new(format!("--repair: there is no problem with the code '{name}'"), mendable()));
        };
        if let Mending::Never(why) = code.mending() {
            return Err(Usage::new(format!("--repair: {name} cannot be mended: {why}"), mendable()));
        }
        named.push(code);
    }
    Ok(if named.is_empty() { Wanted::Usual } else { Wanted::Named(named) })
}

/// `--repair CODE` as `--repair=CODE`: a word behind the flag is taken for codes only when it is made of nothing else, so that
/// `--repair SESSION` names a session.
pub(super) fn joined(args: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(args.len());
    let mut open = true;
    for arg in args {
        let codes = arg.to_str().filter(|text| text.split(',').all(|code| Code::of(code).is_some()));
        match (joined.last_mut(), codes) {
            (Some(last), Some(codes)) if open && last == "--repair" => {
                last.push("=");
                last.push(codes);
            }
            _ => {
                open &= arg != "--";
                joined.push(arg);
            }
        }
    }
    joined
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
    size: SizeSettings,
    repair: Option<Wanted>,
    protect: &'a Protect,
    now: String,
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
        self.writer.check(&item.input)?;
        let job = PruneJob {
            input: item.input.clone(),
            target: self.writer.target(&item.input),
            leaf: common.leaf.clone(),
            settings: self.prune.clone(),
            results: self.size.measures().is_empty() || args.prunes_results(),
            appends: args.append,
            size: self.size.clone(),
            limits: self.settings.limits(),
            blobs: self.settings.blob_dir.clone(),
            is_protected: &is_protected,
            tokenizer: self.settings.tokenizer,
            archiving,
            restore: args.restore,
            repair: self.repair.clone(),
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
            object.insert("output".to_owned(), self.writer.output(&item.input));
            out::line(object)
        } else if common.quiet {
            String::new()
        } else {
            show::pruning(&self.writer.name(&item.input), &done, common.verbose > 0)?
        };
        let tokens = done.plan.as_ref().filter(|_| done.changed).map_or(0, |plan| {
            let by_measures: i64 = done.freed.iter().map(|freed| freed.tokens).sum();
            plan.saved.saturating_sub(plan.kept_image_tokens()).saturating_add_signed(by_measures)
        });
        let action = match (done.changed, done.restored, &done.mended) {
            (false, ..) => "nothing",
            (true, Some(_), _) => "restored",
            (true, None, Some(_)) => "repaired",
            (true, None, None) => "pruned",
        };
        let bytes = done.bytes.0.saturating_sub(done.bytes.1);
        Ok(Said { out, err, status }.tallied(Tally { action, changed: done.changed, tokens, bytes }))
    }
}
