//! `epitome snapcompact`: `compact --strategy snapcompact`, and any text on frames.

use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::{CarrierName, Compact, Fallback, Snapcompact, Strategy};
use super::{Status, Usage, json as out, output};
use crate::frames::archive::MOST_UNREADABLE;
use crate::run::snapcompact::{Carrier, FramesJob, FramesReport, print_text};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(args: &mut Snapcompact) -> anyhow::Result<Status> {
    args.compact.strategy.get_or_insert(Strategy::Snapcompact);
    match &args.text {
        Some(text) => print(&args.compact, text),
        None => super::compact::run(&args.compact),
    }
}

/// What the flags and settings say about frames.
pub(super) fn job(args: &Compact, settings: &Settings) -> anyhow::Result<FramesJob> {
    let flags = &args.framing;
    let mut job =
        FramesJob::new(settings).map_err(|what| Usage::new(format!("--shape: {what}"), "epitome snapcompact --help tells more"))?;
    job.edge = flags.frame_size;
    job.plain_zero = flags.plain_zero;
    job.api.clone_from(&flags.api);
    job.allow_unreadable = flags.allow_unreadable;
    job.dir.clone_from(&flags.frames_dir);
    job.carrier = match flags.carrier {
        CarrierName::Auto => Carrier::Auto,
        CarrierName::PreserveData => Carrier::PreserveData,
        CarrierName::Message => Carrier::Message,
    };
    job.fall_back = args.summarizing.fallback.contains(&Fallback::ContextFull);
    let budgets = &mut job.budgets;
    budgets.result = flags.tool_result_chars.unwrap_or(budgets.result);
    budgets.arg = flags.tool_arg_chars.unwrap_or(budgets.arg);
    budgets.call = flags.tool_call_chars.unwrap_or(budgets.call);
    budgets.head_ratio = flags.head_ratio.unwrap_or(budgets.head_ratio);
    budgets.dim = !flags.no_dim;
    Ok(job)
}

fn print(args: &Compact, file: &Path) -> anyhow::Result<Status> {
    let common = &args.common;
    let settings = super::settings(common, args.given())?;
    let mut job = job(args, &settings)?;
    if args.write.dry_run {
        job.dir = None;
    }
    let from = |error: io::Error| anyhow::Error::new(error).context(format!("{}: cannot read the text", file.display()));
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map_err(from)?;
    } else {
        bytes = std::fs::read(file).map_err(from)?;
    }
    let lost: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    let text = String::from_utf8_lossy(&bytes);
    let done = print_text(&text, &job, settings.tokenizer, args.write.overwrite)?;
    let report = &done.report;
    let (printed, unreadable) = report.chars;
    let name = file.display().to_string();
    let mut warnings = Vec::new();
    if lost > 0 {
        let lost = output::counted(lost as u64, "byte");
        warnings.push(format!("{lost} of the text that are no UTF-8 read as '?'; convert it first, such as with iconv"));
    }
    warnings.extend(
        (unreadable as f64 > MOST_UNREADABLE * printed as f64)
            .then(|| format!("{unreadable} of {printed} characters cannot be drawn in the shape {} and read as '?'", report.shape)),
    );
    for warning in warnings.iter().filter(|_| !common.quiet && !common.json) {
        writeln!(output::stderr(common), "{}", output::error_text(&format!("{name}: {warning}"), None))?;
    }
    let said = if common.json {
        let mut object: Map<String, Value> = out::head(&name);
        object.insert("frames".to_owned(), frames(report));
        object.insert("written".to_owned(), done.files.iter().map(|path| json!(path.display().to_string())).collect());
        object.insert("dry_run".to_owned(), args.write.dry_run.into());
        object.insert("warnings".to_owned(), json!(warnings));
        out::line(object)
    } else if common.quiet {
        String::new()
    } else {
        format!("{name}: {}\n", line(report))
    };
    Write::write_all(&mut output::stdout(common), said.as_bytes())?;
    Ok(Status::Done)
}

/// `frames` of a receipt.
pub(super) fn frames(report: &FramesReport) -> Value {
    json!({
        "shape": report.shape, "edge": report.edge, "cols": report.grid.0, "rows": report.grid.1, "capacity": report.capacity,
        "rows_used": report.rows_used, "frames": report.frames.0, "carried": report.frames.1, "evicted": report.frames.2,
        "billed_tokens": report.billed_tokens, "text_tokens": report.text_tokens, "chars": report.chars.0, "unreadable": report.chars.1,
        "truncated_chars": report.truncated_chars, "tail_chars": report.tail_chars, "base64_chars": report.base64_chars,
        "carrier": report.carrier,
    })
}

/// The same in a line for people.
pub(super) fn line(report: &FramesReport) -> String {
    let (all, carried, evicted) = report.frames;
    let number = |n: usize| output::number(n as u64);
    let mut text = format!(
        "{} of {} x {} cells ({}, {} pixels wide), {} tokens billed",
        output::counted(all as u64, "frame"),
        report.grid.0,
        report.grid.1,
        report.shape,
        report.edge,
        output::number(report.billed_tokens),
    );
    text.push_str(&format!("; the new ones hold {} tokens of text", output::number(report.text_tokens)));
    if carried > 0 {
        text.push_str(&format!("; {} carried on", number(carried)));
    }
    if evicted > 0 {
        text.push_str(&format!("; {} dropped", number(evicted)));
    }
    if report.chars.1 > 0 {
        let share = report.chars.1 as f64 * 100.0 / report.chars.0.max(1) as f64;
        text.push_str(&format!("; {share:.1} % unreadable"));
    }
    if report.tail_chars > 0 {
        text.push_str(&format!("; {} more characters as text", output::number(report.tail_chars)));
    }
    text
}
