//! Who writes summaries and which hooks are asked, from flags and settings.

use std::io::Write;

use super::args::{Common, Fallback, Hooking, Summarizing};
use super::{Status, Usage, output};
use crate::hooks::{Event, Hooks};
use crate::settings::Settings;
use crate::summarize::Summarizer;
use crate::summarize::choice::Kind;
use crate::summarize::keys::Keys;
use crate::summarize::offline::Offline;
use crate::summarize::online::{Online, Provider};
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
    Ok(Hooks::new(commands, settings.hook_timeout).hiding(Keys::of(|name| std::env::var(name).ok())))
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
    provider: Option<Provider>,
    window: Option<u64>,
    mask: bool,
    falls_back: bool,
}

impl Maker {
    /// From the settings and flags, checked before any session is opened.
    pub(super) fn new(args: &Summarizing, settings: &Settings, common: &Common) -> anyhow::Result<Maker> {
        let choice = &settings.summarizer;
        let provider = match choice.kind {
            Kind::Offline | Kind::Truncate => None,
            _ => {
                let jobs = common.jobs.map(usize::from);
                let provider = Provider::new(choice, |name| std::env::var(name).ok(), jobs);
                Some(provider.map_err(|unfit| Usage::new(unfit.message, unfit.hint))?)
            }
        };
        if args.no_redact && provider.is_some() && !common.quiet {
            let line = "--no-redact: keys and tokens of the session are sent as they are";
            let _ = writeln!(output::stderr(common), "{}", output::error_text(line, None));
        }
        Ok(Maker {
            kind: choice.kind,
            provider,
            window: choice.model.as_deref().and_then(|model| settings.catalogue.window(model)),
            mask: !args.no_redact,
            falls_back: args.fallback.contains(&Fallback::Offline),
        })
    }

    /// For one session; `note` is told what is sent.
    pub(super) fn make<'a>(&'a self, note: &'a dyn Fn(&str)) -> Box<dyn Summarizer + 'a> {
        match &self.provider {
            Some(provider) => Box::new(Online::new(provider, self.window, note, self.mask, self.falls_back)),
            None if self.kind == Kind::Truncate => Box::new(Truncate),
            None => Box::new(Offline),
        }
    }
}
