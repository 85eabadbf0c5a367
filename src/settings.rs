//! Settings: each a flag, an environment variable and a config key, with the place its value came from.
//!
//! One table names them all. Values of all three places go through the same parsing, and an error names the place.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use crate::engine::prune::{PruneSettings, Share};
use crate::engine::replace::ReplaceSettings;
use crate::engine::tokens::Tokenizer;
use crate::engine::trigger::{Limits, Threshold};
use crate::hooks::Event;
use crate::models::Catalogue;
use crate::summarize::choice::{Choice, duration};
use crate::text::Own;

mod catalogue;
mod redact;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag(&'static str),
    /// An environment variable.
    Env(&'static str),
    /// The config file.
    File(PathBuf, u32),
    /// The default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(f, "{flag}"),
            Origin::Env(name) => write!(f, "{name}"),
            Origin::File(path, line) => write!(f, "{}:{line}", path.display()),
            Origin::Default => write!(f, "default"),
        }
    }
}

/// One setting's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The config key.
    pub key: &'static str,
    /// The flag.
    pub flag: &'static str,
    /// The environment variable.
    pub env: &'static str,
    /// The default as it would be typed; empty for "not set".
    pub default: &'static str,
}

const fn name(key: &'static str, flag: &'static str, env: &'static str, default: &'static str) -> Name {
    Name { key, flag, env, default }
}

/// All settings.
pub const NAMES: &[Name] = &[
    name("context_window", "--context-window", "EPITOME_CONTEXT_WINDOW", ""),
    name("reserve_tokens", "--reserve-tokens", "EPITOME_RESERVE_TOKENS", ""),
    name("keep_recent_tokens", "--keep-recent-tokens", "EPITOME_KEEP_RECENT_TOKENS", "20000"),
    name("threshold", "--threshold", "EPITOME_THRESHOLD", ""),
    name("tokenizer", "--tokenizer", "EPITOME_TOKENIZER", "o200k"),
    name("model", "--model", "EPITOME_MODEL", ""),
    name("enabled", "--enabled", "EPITOME_ENABLED", "true"),
    name("summary_tokens", "--summary-tokens", "EPITOME_SUMMARY_TOKENS", "4096"),
    name("blob_dir", "--blob-dir", "EPITOME_BLOB_DIR", ""),
    name("archive_dir", "--archive-dir", "EPITOME_ARCHIVE_DIR", ""),
    name("branch.token_budget", "--token-budget", "EPITOME_BRANCH_TOKEN_BUDGET", ""),
    name("replace.context_limit", "--context-limit", "EPITOME_REPLACE_CONTEXT_LIMIT", "20000"),
    name("replace.relevance", "--relevance", "EPITOME_REPLACE_RELEVANCE", "false"),
    name("replace.relevance_threshold", "--relevance-threshold", "EPITOME_REPLACE_RELEVANCE_THRESHOLD", "0.5"),
    name("prune.protect_tokens", "--protect-tokens", "EPITOME_PRUNE_PROTECT_TOKENS", "40000"),
    name("prune.min_savings", "--min-savings", "EPITOME_PRUNE_MIN_SAVINGS", "20000"),
    name("prune.min_result_tokens", "--min-result-tokens", "EPITOME_PRUNE_MIN_RESULT_TOKENS", "50"),
    name("prune.stale_suffix_tokens", "--stale-suffix-tokens", "EPITOME_PRUNE_STALE_SUFFIX_TOKENS", "8000"),
    name("prune.stale_idle_minutes", "--stale-idle-minutes", "EPITOME_PRUNE_STALE_IDLE_MINUTES", "30"),
    name("snapcompact.shape", "--shape", "EPITOME_SNAPCOMPACT_SHAPE", "auto"),
    name("snapcompact.max_frames", "--max-frames", "EPITOME_SNAPCOMPACT_MAX_FRAMES", ""),
    name("online.summarizer", "--summarizer", "EPITOME_SUMMARIZER", "offline"),
    name("online.model", "--summarizer-model", "EPITOME_SUMMARIZER_MODEL", ""),
    name("online.base_url", "--base-url", "EPITOME_BASE_URL", ""),
    name("online.endpoint", "--endpoint", "EPITOME_ENDPOINT", ""),
    name("online.command", "--summarizer-command", "EPITOME_SUMMARIZER_COMMAND", ""),
    name("online.timeout", "--timeout", "EPITOME_ONLINE_TIMEOUT", "120s"),
    name("online.idle_timeout", "--idle-timeout", "EPITOME_ONLINE_IDLE_TIMEOUT", "60s"),
    name("online.retries", "--retries", "EPITOME_ONLINE_RETRIES", "3"),
    name("online.max_requests", "--max-requests", "EPITOME_ONLINE_MAX_REQUESTS", "100"),
    name("online.max_input_tokens", "--max-input-tokens", "EPITOME_ONLINE_MAX_INPUT_TOKENS", ""),
    name("hooks.timeout", "--hook-timeout", "EPITOME_HOOKS_TIMEOUT", "30s"),
    name("hooks.session_before_compact", "--hook", "EPITOME_HOOK_SESSION_BEFORE_COMPACT", ""),
    name("hooks.session.compacting", "--hook", "EPITOME_HOOK_SESSION_COMPACTING", ""),
    name("hooks.session_compact", "--hook", "EPITOME_HOOK_SESSION_COMPACT", ""),
    name("hooks.session_before_tree", "--hook", "EPITOME_HOOK_SESSION_BEFORE_TREE", ""),
    name("export.redact_email", "--redact-email", "EPITOME_EXPORT_REDACT_EMAIL", "false"),
];

/// The settings, typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Tokens of the model's window; `None` means the model's own.
    pub context_window: Option<u64>,
    /// Tokens kept free for the answer; `None` means the default rule.
    pub reserve_tokens: Option<u64>,
    /// Tokens that stay as they are.
    pub keep_recent_tokens: u64,
    /// When a context is to be compacted.
    pub threshold: Threshold,
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// `provider/id`; `None` means the session's latest.
    pub model: Option<String>,
    /// Whether `--trigger auto` may act.
    pub enabled: bool,
    /// Most tokens of a summary.
    pub summary_tokens: u64,
    /// Folder of externalized image data; `None` means one beside the agent's data.
    pub blob_dir: Option<PathBuf>,
    /// Folder of archives; `None` means beside each session.
    pub archive_dir: Option<PathBuf>,
    /// Tokens of a branch that its summary sees; `None` means the window less what the answer needs.
    pub branch_budget: Option<u64>,
    /// What a replacement history may be; what the command line alone can say is at its default.
    pub replace: ReplaceSettings,
    /// When to prune what.
    pub prune: PruneSettings,
    /// How little must stand after a result, and how long nobody must have worked, for the per-turn pass: tokens, minutes.
    pub stale: (u64, u64),
    /// The shape of frames: a name, `auto` or `legible`.
    pub shape: String,
    /// Most frames of an archive; `None` means 8, or what the provider takes.
    pub max_frames: Option<usize>,
    /// What is known about models: the rows of the config, `[[models]]` and `[[promotion]]`, over those that are compiled in.
    pub catalogue: Arc<Catalogue>,
    /// Who writes summaries.
    pub summarizer: Choice,
    /// Commands by event, one an event.
    pub hooks: Vec<(Event, String)>,
    /// The longest that a hook may take.
    pub hook_timeout: Duration,
    /// Whether exports mask e-mail addresses.
    pub redact_email: bool,
    /// What exports mask beside what everybody's exports do: the `[[redact]]` tables of the config.
    pub redact: Vec<Own>,
    /// Each setting with its value as typed (empty: not set) and where it came from, in the table's order.
    pub shown: Vec<(Name, String, Origin)>,
}

/// What is wrong with a setting.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The config file cannot be read.
    #[error("{path}: cannot read the config", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The config file is broken.
    #[error("{path}:{line}: {what}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: u32,
        /// What is wrong, with the key.
        what: String,
    },
    /// A value from a flag or the environment is wrong.
    #[error("{origin}: {what}")]
    Value {
        /// Where it came from.
        origin: Origin,
        /// What is wrong.
        what: String,
    },
}

impl Settings {
    /// Brings flags, environment, config file and defaults together, in this order.
    ///
    /// # Errors
    /// When the file cannot be read or any value is wrong; also one that a stronger place overrides.
    pub fn resolve(
        flags: &[(&'static str, String)],
        env: impl Fn(&str) -> Option<String>,
        config: Option<&Path>,
    ) -> Result<Settings, SettingsError> {
        let Read { rows: file, catalogue, own } = match config {
            Some(path) => read_file(path)?,
            None => Read::default(),
        };
        let mut settings = Settings {
            context_window: None,
            reserve_tokens: None,
            keep_recent_tokens: 0,
            threshold: Threshold::Window,
            tokenizer: Tokenizer::O200k,
            model: None,
            enabled: true,
            summary_tokens: 0,
            blob_dir: None,
            archive_dir: None,
            branch_budget: None,
            replace: ReplaceSettings::default(),
            prune: PruneSettings::default(),
            stale: (0, 0),
            shape: "auto".to_owned(),
            max_frames: None,
            catalogue: Arc::new(catalogue),
            summarizer: Choice::default(),
            hooks: Vec::new(),
            hook_timeout: Duration::ZERO,
            redact_email: false,
            redact: own,
            shown: Vec::new(),
        };
        for name in NAMES {
            let mut value = (name.default.to_owned(), Origin::Default);
            let in_file = file
                .iter()
                .find(|(key, ..)| key == name.key)
                .map(|(_, text, line)| (text.clone(), Origin::File(config.unwrap_or(Path::new("")).to_owned(), *line)));
            let in_env = env(name.env).filter(|text| !text.is_empty()).map(|text| (text, Origin::Env(name.env)));
            let flag = flags.iter().find(|(key, _)| *key == name.key).map(|(_, text)| (text.clone(), Origin::Flag(name.flag)));
            for (text, origin) in [in_file, in_env, flag].into_iter().flatten() {
                settings.set(name.key, &text).map_err(|what| match &origin {
                    Origin::File(path, line) => {
                        SettingsError::File { path: path.clone(), line: *line, what: format!("{}: {what}", name.key) }
                    }
                    origin => SettingsError::Value { origin: origin.clone(), what },
                })?;
                value = (text, origin);
            }
            if !value.0.is_empty() {
                settings.set(name.key, &value.0).map_err(|what| SettingsError::Value { origin: value.1.clone(), what })?;
            }
            settings.shown.push((*name, value.0, value.1));
        }
        Ok(settings)
    }

    /// What is set about the window.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            window: self.context_window,
            threshold: self.threshold,
            reserve: self.reserve_tokens,
            model: self.model.clone(),
            catalogue: Arc::clone(&self.catalogue),
        }
    }

    fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "context_window" => self.context_window = Some(at_least(1, amount(text)?)?),
            "reserve_tokens" => self.reserve_tokens = Some(amount(text)?),
            "keep_recent_tokens" => self.keep_recent_tokens = at_least(1, amount(text)?)?,
            "threshold" => self.threshold = threshold(text)?,
            "tokenizer" => {
                self.tokenizer = Tokenizer::of(text).ok_or_else(|| format!("'{text}' is no tokenizer; use o200k, cl100k or heuristic"))?
            }
            "model" => {
                if text.split_once('/').is_none_or(|(provider, id)| provider.is_empty() || id.is_empty()) {
                    return Err(format!("'{text}' is no model; use provider/id, such as anthropic/claude-sonnet-4-5"));
                }
                self.model = Some(text.to_owned());
            }
            "enabled" => self.enabled = switch(text)?,
            "summary_tokens" => {
                let tokens = amount(text)?;
                if !(300..=16_384).contains(&tokens) {
                    return Err(format!("{text} is out of range; use 300 to 16384"));
                }
                self.summary_tokens = tokens;
            }
            "blob_dir" => self.blob_dir = Some(PathBuf::from(text)),
            "archive_dir" => self.archive_dir = Some(PathBuf::from(text)),
            "branch.token_budget" => self.branch_budget = Some(at_least(1, amount(text)?)?),
            "replace.context_limit" => self.replace.context_limit = at_least(1, amount(text)?)?,
            "replace.relevance" => self.replace.relevance = switch(text)?,
            "replace.relevance_threshold" => {
                let score = text.trim().parse::<f64>().ok().filter(|score| (0.0..=1.0).contains(score));
                self.replace.threshold = score.ok_or_else(|| format!("'{text}' is out of range; use 0 to 1"))?;
            }
            "prune.protect_tokens" => self.prune.protect_tokens = share(text)?,
            "prune.min_savings" => self.prune.min_savings = share(text)?,
            "prune.min_result_tokens" => self.prune.min_result_tokens = share(text)?,
            "prune.stale_suffix_tokens" => self.stale.0 = amount(text)?,
            "export.redact_email" => self.redact_email = switch(text)?,
            "prune.stale_idle_minutes" => self.stale.1 = amount(text)?,
            "snapcompact.shape" => {
                crate::run::snapcompact::Wanted::of(text)?;
                self.shape = text.to_owned();
            }
            "snapcompact.max_frames" => {
                self.max_frames = Some(usize::try_from(at_least(1, amount(text)?)?).unwrap_or(usize::MAX));
            }
            "hooks.timeout" => self.hook_timeout = duration(text)?,
            _ => {
                if let Some(key) = key.strip_prefix("online.") {
                    self.summarizer.set(key, text)?;
                }
                if let Some(event) = key.strip_prefix("hooks.").and_then(Event::of) {
                    self.hooks.retain(|(known, _)| *known != event);
                    self.hooks.push((event, text.to_owned()));
                }
            }
        }
        Ok(())
    }
}

fn at_least(least: u64, value: u64) -> Result<u64, String> {
    if value < least { Err(format!("{value} is out of range; use at least {least}")) } else { Ok(value) }
}

/// A number of tokens or bytes: `20000`, `20_000`, `20k`, `1.5M`.
///
/// # Errors
/// When the text is no such number.
pub fn amount(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no amount; use a number such as 20000, 20k or 1.5M");
    let plain: String = text.trim().chars().filter(|c| *c != '_').collect();
    let (number, unit) = match plain.char_indices().last() {
        Some((at, 'k' | 'K')) => (plain.get(..at).unwrap_or_default(), 1_000_u64),
        Some((at, 'm' | 'M')) => (plain.get(..at).unwrap_or_default(), 1_000_000),
        Some((at, 'g' | 'G')) => (plain.get(..at).unwrap_or_default(), 1_000_000_000),
        _ => (plain.as_str(), 1),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 || (!fraction.is_empty() && unit == 1) {
        return Err(wrong());
    }
    let scale = 10_u64.pow(u32::try_from(fraction.len()).map_err(|_| wrong())?);
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| wrong())? };
    whole.checked_mul(unit).and_then(|w| w.checked_add(part.saturating_mul(unit) / scale)).ok_or_else(wrong)
}

fn threshold(text: &str) -> Result<Threshold, String> {
    if let Some(percent) = text.trim().strip_suffix('%') {
        let percent: f64 = percent.trim().parse().map_err(|_| format!("'{text}' is no percentage"))?;
        return if (1.0..=99.0).contains(&percent) {
            Ok(Threshold::Percent(percent))
        } else {
            Err(format!("{text} is out of range; use 1% to 99%"))
        };
    }
    Ok(Threshold::Tokens(at_least(1, amount(text)?)?))
}

fn share(text: &str) -> Result<Share, String> {
    let Some(percent) = text.trim().strip_suffix('%') else { return amount(text).map(Share::Tokens) };
    match percent.trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Share::Percent(percent)),
        Ok(_) => Err(format!("{text} is out of range; use 0% to 100%")),
        Err(_) => Err(format!("'{text}' is no percentage")),
    }
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(format!("'{text}' is no switch; use true or false")),
    }
}

/// A key of the config file, its value as typed, and its line.
type Row = (String, String, u32);

/// What a config file says.
#[derive(Default)]
struct Read {
    /// The settings.
    rows: Vec<Row>,
    /// What it says about models.
    catalogue: Catalogue,
    /// What exports mask besides.
    own: Vec<Own>,
}

fn read_file(path: &Path) -> Result<Read, SettingsError> {
    let text = std::fs::read_to_string(path).map_err(|source| SettingsError::Read { path: path.to_owned(), source })?;
    let line_at = |offset: usize| 1 + text.bytes().take(offset).filter(|b| *b == b'\n').count() as u32;
    let broken = |line, what: String| SettingsError::File { path: path.to_owned(), line, what };
    let table = DeTable::parse(&text).map_err(|e| broken(line_at(e.span().map_or(0, |s| s.start)), e.message().to_owned()))?;
    let catalogue = catalogue::read(table.get_ref()).map_err(|(offset, what)| broken(line_at(offset), what))?;
    let mut found = Vec::new();
    let own = redact::read(table.get_ref()).map_err(|(offset, what)| broken(line_at(offset), what))?;
    let mut open = vec![(String::new(), table.get_ref())];
    while let Some((prefix, table)) = open.pop() {
        for (key, value) in table {
            let line = line_at(key.span().start);
            let name = format!("{prefix}{}", key.get_ref());
            let text = match value.get_ref() {
                _ if prefix.is_empty() && (name == redact::TABLE || catalogue::is_table(&name)) => continue,
                DeValue::Table(inner) if NAMES.iter().any(|n| n.key.starts_with(&format!("{name}."))) => {
                    open.push((format!("{name}."), inner));
                    continue;
                }
                _ if !NAMES.iter().any(|n| n.key == name) => {
                    let near = NAMES.iter().map(|n| n.key).find(|k| k.starts_with(name.get(..name.len().min(8)).unwrap_or(&name)));
                    let hint = near.map_or_else(String::new, |k| format!("; did you mean '{k}'?"));
                    return Err(broken(line, format!("'{name}' is no setting{hint}")));
                }
                value => plain(value).ok_or_else(|| broken(line, format!("{name}: a plain value is wanted")))?,
            };
            found.push((name, text, line));
        }
    }
    Ok(Read { rows: found, catalogue, own })
}

/// A plain value as it was typed.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(on) => Some(on.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn amounts_take_units() {
        let rows = [
            ("20000", Some(20_000)),
            ("20k", Some(20_000)),
            ("1.5M", Some(1_500_000)),
            ("20_000", Some(20_000)),
            ("0", Some(0)),
            ("1.5", None),
            ("k", None),
            ("-1", None),
            ("", None),
            ("99999999999999999999", None),
            ("1e3", None),
        ];
        for (text, want) in rows {
            assert_eq!(amount(text).ok(), want, "{text}");
        }
    }

    #[test]
    fn the_stronger_place_wins_and_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, "# mine\nkeep_recent_tokens = \"10k\"\nthreshold = \"80%\"\ntokenizer = \"heuristic\"\n").unwrap();
        let env = |name: &str| (name == "EPITOME_TOKENIZER").then(|| "cl100k".to_owned());
        let settings = Settings::resolve(&[("threshold", "90%".to_owned())], env, Some(&file)).unwrap();
        assert_eq!((settings.keep_recent_tokens, settings.tokenizer), (10_000, Tokenizer::Cl100k));
        assert_eq!(settings.threshold, Threshold::Percent(90.0));
        let origins: Vec<String> = settings.shown.iter().map(|(_, _, origin)| origin.to_string()).collect();
        assert_eq!(origins.get(2).unwrap(), &format!("{}:2", file.display()));
        assert_eq!(origins.get(3..5).unwrap(), ["--threshold", "EPITOME_TOKENIZER"]);
    }

    #[test]
    fn models_and_promotions_are_read_beside_the_model_to_use() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let text = "[[models]]\npattern = \"my/\"\nwindow = \"1.5M\"\nvision = true\napi = \"openai\"\nimages = 12\n\n\
            [[models]]\npattern = \"my/small\"\nwindow = 4096\n\n[[promotion]]\nfrom = \"gpt\"\nto = \"my/own\"\n";
        std::fs::write(&file, text).unwrap();
        let settings = Settings::resolve(&[], |_| None, Some(&file)).unwrap();
        let catalogue = &settings.catalogue;
        assert_eq!((catalogue.window("my/own"), catalogue.window("my/small-1")), (Some(1_500_000), Some(4_096)));
        let facts = catalogue.facts("my/small-1", None);
        assert_eq!((facts.vision, facts.api.name(), facts.images), (Some(true), "openai", 12));
        assert_eq!(catalogue.promotion(Some("openai/gpt-5"), 400_000, 1), Some(("my/own", 1_500_000)));
        assert_eq!(settings.limits().window(Some("my/own")).tokens, 1_500_000);
        std::fs::write(&file, "model = \"openai/gpt-5\"\n").unwrap();
        assert_eq!(Settings::resolve(&[], |_| None, Some(&file)).unwrap().model.as_deref(), Some("openai/gpt-5"));
    }

    #[test]
    fn a_broken_config_names_file_line_and_key() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let rows = [
            ("\nkeep_recent_tokens = \"many\"\n", ":2: keep_recent_tokens: 'many' is no amount"),
            ("keep_recent = 3\n", ":1: 'keep_recent' is no setting; did you mean 'keep_recent_tokens'?"),
            ("threshold = 80%\n", ":1: "),
            ("summary_tokens = 10\n", ":1: summary_tokens: 10 is out of range"),
            ("tokenizer = [1]\n", ":1: tokenizer: a plain value is wanted"),
            ("models = \"gpt-5\"\n", ":1: "),
            ("\n[[models]]\npattern = \"mine\"\nwindow = \"wide\"\n", ":4: models.window: 'wide' is no amount"),
            ("[[models]]\npattern = \"mine\"\nwindow = 0\n", ":3: models.window: 0 is out of range"),
            (
                "[[models]]\npattern = \"mine\"\nwindows = 1\n",
                ":3: 'models.windows' is no setting; use pattern, window, vision, api, images",
            ),
            ("[[models]]\npattern = \"mine\"\nvision = 2\n", ":3: models.vision: '2' is no switch"),
            ("[[models]]\npattern = \"mine\"\napi = \"soap\"\n", ":3: models.api: 'soap' is no family"),
            ("[[models]]\nwindow = 1000\n", ":1: models.pattern: which models? a beginning of their ids is wanted"),
            ("[[promotion]]\nfrom = \"mine\"\n", ":1: promotion.to: the model to switch to is wanted, provider/id"),
            ("[[promotion]]\nto = \"gpt-5\"\n", ":2: promotion.to: 'gpt-5' names no provider"),
            ("[[promotion]]\nto = \"my/own\"\n", ":2: promotion.to: the window of 'my/own' is not known"),
            ("[promotion]\nto = \"my/own\"\n", ":1: promotion: a list of tables is wanted"),
        ];
        for (text, want) in rows {
            std::fs::write(&file, text).unwrap();
            let error = Settings::resolve(&[], |_| None, Some(&file)).unwrap_err().to_string();
            assert!(error.contains(&format!("config.toml{want}")), "{error}");
        }
    }
}
