//! Flags of those who write summaries, and of hooks.

use clap::{Args, ValueEnum};

/// Who writes the summary, and how it is asked
#[derive(Debug, Args)]
#[command(next_help_heading = "Summarizer")]
pub struct Summarizing {
    /// Who writes the summary: offline, truncate, endpoint, openai, openai-compact, anthropic, command [default: offline]
    #[arg(long, value_name = "NAME")]
    pub summarizer: Option<String>,
    /// The model that writes it [default: none; openai and anthropic need one]
    #[arg(long, value_name = "MODEL")]
    pub summarizer_model: Option<String>,
    /// Where openai or anthropic is, such as http://localhost:8080/v1 [default: the provider's own]
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// With --summarizer endpoint: where {systemPrompt, prompt} is posted for {summary} [default: none]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// With --summarizer command: a program that gets the prompt on standard input and prints the summary [default: none]
    #[arg(long, value_name = "CMD")]
    pub summarizer_command: Option<String>,
    /// The longest that one request may take: 120, 90s, 5m [default: 120s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// The longest that an answer may pause once it has begun [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub idle_timeout: Option<String>,
    /// How often a request is sent again after 408, 429, 5xx or a dropped connection [default: 3]
    #[arg(long, value_name = "N")]
    pub retries: Option<String>,
    /// Most requests of the whole run, those that are sent again included [default: 100]
    #[arg(long, value_name = "N")]
    pub max_requests: Option<String>,
    /// Most tokens of one request; what is longer is summarized in parts [default: what the model's window takes]
    #[arg(long, value_name = "TOKENS")]
    pub max_input_tokens: Option<String>,
    /// Send keys and tokens of the session as they are, instead of masked [default: off]
    #[arg(long)]
    pub no_redact: bool,
    /// What may be done when what was asked for fails: offline, context-full [default: nothing, the run fails]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…", hide_possible_values = true)]
    pub fallback: Vec<Fallback>,
}

/// What may be done when what was asked for fails
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fallback {
    /// The offline summarizer in place of an online one
    Offline,
    /// A summary in place of frames
    ContextFull,
}

impl Summarizing {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("online.summarizer", &self.summarizer),
            ("online.model", &self.summarizer_model),
            ("online.base_url", &self.base_url),
            ("online.endpoint", &self.endpoint),
            ("online.command", &self.summarizer_command),
            ("online.timeout", &self.timeout),
            ("online.idle_timeout", &self.idle_timeout),
            ("online.retries", &self.retries),
            ("online.max_requests", &self.max_requests),
            ("online.max_input_tokens", &self.max_input_tokens),
        ];
        all.into_iter().filter_map(|(key, value)| value.clone().map(|value| (key, value))).collect()
    }
}

/// Commands that are asked before a write and told after it
#[derive(Debug, Args)]
#[command(next_help_heading = "Hooks")]
pub struct Hooking {
    /// Run CMD at an event: session_before_compact, session.compacting, session_compact, session_before_tree; may be given
    /// more than once, and replaces what the config says for that event [default: none]
    #[arg(long, value_name = "EVENT=CMD")]
    pub hook: Vec<String>,
    /// The longest that a hook may take [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub hook_timeout: Option<String>,
    /// Exit code 1 when a hook fails that was told of what was written [default: off, a warning]
    #[arg(long)]
    pub strict_hooks: bool,
}

impl Hooking {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        self.hook_timeout.clone().map(|value| ("hooks.timeout", value)).into_iter().collect()
    }
}
