//! `epitome branch-summary`.

use super::args::BranchSummary;
use super::batch::{self, Item, Said};
use super::making::{self, Maker};
use super::{Status, Usage, Writer, json as out, output, show};
use crate::hooks::Hooks;
use crate::run::{BranchJob, BranchesDone, RunError, Services};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(args: &BranchSummary) -> anyhow::Result<Status> {
    let common = &args.common;
    let settings = super::settings(common, args.given())?;
    let now = super::now(common)?;
    if !args.all && (args.from.is_none() || args.to.is_none()) {
        return Err(Usage::new(
            "a branch has two ends, --from and --to",
            "name the leaf that was left and the entry to go on from, or use --all for every branch that was left",
        ));
    }
    let items = batch::items(common)?;
    if items.several {
        return Err(Usage::new("a branch is one session's", "name one session file, or - for standard input"));
    }
    let writer = Writer::of(&args.write, &items)?;
    let _loading = settings.tokenizer.preload();
    let maker = Maker::new(&args.summarizing, &settings, common)?;
    let hooks = making::hooks(&args.hooking, &settings)?;
    let made = (&maker, &hooks);
    let status = batch::write(common, &items, &writer, |item| one(args, &settings, &now, &writer, made, item))?;
    Ok(making::with_hooks(status, &args.hooking, &hooks))
}

fn one(
    args: &BranchSummary,
    settings: &Settings,
    now: &str,
    writer: &Writer<'_>,
    (maker, hooks): (&Maker, &Hooks),
    item: &Item,
) -> Result<Said, RunError> {
    let common = &args.common;
    writer.check(&item.input)?;
    let progress = super::progress(common);
    let job = BranchJob {
        input: item.input.clone(),
        target: writer.target(&item.input),
        from: args.from.clone().unwrap_or_default(),
        to: args.to.clone().unwrap_or_default(),
        token_budget: settings.branch_budget,
        limits: settings.limits(),
        tokenizer: settings.tokenizer,
        summary_tokens: settings.summary_tokens,
        focus: args.instructions.clone(),
        archive_dir: settings.archive_dir.clone(),
    };
    let name = item.input.name();
    let note = making::note(common, &name);
    let summarizer = maker.make(&note);
    let services = Services { now: now.to_owned(), summarizer: summarizer.as_ref(), progress: &progress, hooks, note: &note };
    if args.all {
        let done = crate::run::branch_summaries(&job, &services)?;
        progress("");
        return Ok(all(args, item, writer, &done));
    }
    let done = crate::run::branch_summary(&job, &services)?;
    progress("");
    let mut err = String::new();
    if !common.quiet && !common.json {
        for warning in &done.warnings {
            err.push_str(&format!("{}: {}\n", output::error_text(&name, None), crate::text::strip(warning)));
        }
    }
    let status = if args.write.exit_code && done.summary.is_none() && !done.unknown { Status::Nothing } else { Status::Done };
    let out = if common.json {
        let mut object = out::head(&name);
        out::branch(&mut object, &done);
        object.insert("output".to_owned(), writer.output(&item.input));
        out::line(object)
    } else if common.quiet {
        String::new()
    } else {
        show::branch(&writer.name(&item.input), &done, common.verbose > 0)
    };
    Ok(Said { out, err, status })
}

/// What is said of all branches together.
fn all(args: &BranchSummary, item: &Item, writer: &Writer<'_>, done: &BranchesDone) -> Said {
    let common = &args.common;
    let name = &item.input.name();
    let mut err = String::new();
    if !common.quiet && !common.json {
        for warning in done.branches.iter().flat_map(|branch| &branch.warnings).chain(&done.warnings) {
            err.push_str(&format!("{}: {}\n", output::error_text(name, None), crate::text::strip(warning)));
        }
    }
    let status = if args.write.exit_code && done.branches.is_empty() { Status::Nothing } else { Status::Done };
    let out = if common.json {
        let mut object = out::head(name);
        out::branches(&mut object, done);
        object.insert("output".to_owned(), writer.output(&item.input));
        out::line(object)
    } else if common.quiet {
        String::new()
    } else if done.branches.is_empty() {
        format!("{}: nothing to do: no branch was left that has no summary\n", crate::text::one_line(name, 400))
    } else {
        done.branches.iter().map(|branch| show::branch(&writer.name(&item.input), branch, common.verbose > 0)).collect()
    };
    Said { out, err, status }
}
