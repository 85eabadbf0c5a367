//! Who writes summaries and which hooks are asked, from flags and settings.

use std::io::Write;

use super::args::{Common, Hooking, Summarizing};
use super::{Status, Usage, output};
use crate::hooks::{Event, Hooks};
use crate::settings::Settings;
use crate::summarize::Summarizer;
use crate::summarize::choice::Kind;
use crate::summarize::offline::Offline;
use crate::summarize::truncate::Truncate;

/// The hooks: those of the settings, but for events that the command line names anew.
pub(super) fn hooks(args: &Hooking, settings: &Settings) -> anyhow::Result<Hooks> {
    let mut commands = Vec::new();
    for given in &args.hook {
        let names = || format!("events are {}", Event::ALL.map(Event::name).join(", "));
        let (event, command) = given.split_once('=').ok_or_else(|| Usage::new("--hook: EVENT=CMD is wanted", names()))?;
        let event = Event::of(event).ok_or_else(|| Usage::new(format!("--hook: '{event}' is no event"), names()))?;
        commands.push((event, command.to_owned()));
    }
    let given: Vec<Event> = commands.iter().map(|(event, _)| *event).collect();
    commands.extend(settings.hooks.iter().filter(|(event, _)| !given.contains(event)).cloned());
    commands.retain(|(_, command)| !command.trim().is_empty());
    Ok(Hooks::new(commands, settings.hook_timeout))
}

/// The status of a run whose hooks may have failed after the write.
pub(super) fn with_hooks(status: Status, args: &Hooking, hooks: &Hooks) -> Status {
    if args.strict_hooks && hooks.failed() { Status::of_all(&[status, Status::Failed]) } else { status }
}

/// Prints a line about one session to standard error.
pub(super) fn note<'a>(common: &'a Common, name: &'a str) -> impl Fn(&str) + use<'a> {
    move |line: &str| {
        if !common.quiet {
            let _ = writeln!(output::stderr(common), "{}", output::error_text(&format!("{name}: {line}"), None));
        }
    }
}

/// Who makes the summaries of a run.
pub(super) struct Maker {
    kind: Kind,
}

impl Maker {
    /// From the settings and flags, checked before any session is opened.
    pub(super) fn new(_args: &Summarizing, settings: &Settings) -> anyhow::Result<Maker> {
        let kind = settings.summarizer.kind;
        if !matches!(kind, Kind::Offline | Kind::Truncate) {
            return Err(Usage::new(format!("the summarizer {} is not there yet", kind.name()), "use offline or truncate"));
        }
        Ok(Maker { kind })
    }

    /// For one session.
    pub(super) fn make<'a>(&'a self, _note: &'a dyn Fn(&str)) -> Box<dyn Summarizer + 'a> {
        match self.kind {
            Kind::Truncate => Box::new(Truncate),
            _ => Box::new(Offline),
        }
    }
}
