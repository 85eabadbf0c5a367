//! What is known about models: how large their windows are, whether they read pictures, how many of them and at what price.
//!
//! The figures stand in `models.toml`, which is compiled in, and rows of the config win over them. Of an id that no row knows
//! nothing is claimed: the caller falls back on the default window, and says so.

use std::sync::LazyLock;

use serde::Deserialize;

/// Tokens of a window when nothing is known about the model.
pub const DEFAULT_WINDOW: u64 = 200_000;

/// Pictures of one request that every known provider takes.
pub const DEFAULT_IMAGES: u32 = 5;

/// The family of interfaces that carries a request: what a picture costs depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Anthropic's messages, also by way of Bedrock.
    Anthropic,
    /// OpenAI's completions and responses, and everything that speaks them.
    OpenAi,
    /// Google's.
    Google,
    /// Not known; billed as Anthropic's, the dearest for small pictures.
    #[default]
    Unknown,
}

impl Api {
    /// The family of an interface by the name that sessions give it (`openai-responses`, …), or by the family's own.
    #[must_use]
    pub fn of(name: &str) -> Api {
        match name {
            "anthropic" | "anthropic-messages" | "bedrock-converse-stream" => Api::Anthropic,
            "openai" | "openai-completions" | "openai-responses" | "openai-codex-responses" | "azure-openai-responses" => Api::OpenAi,
            "google" | "google-generative-ai" | "google-gemini-cli" | "google-vertex" => Api::Google,
            _ => Api::Unknown,
        }
    }

    /// The family's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Api::Anthropic => "anthropic",
            Api::OpenAi => "openai",
            Api::Google => "google",
            Api::Unknown => "unknown",
        }
    }

    /// Tokens that a picture of `edge` by `edge` pixels is billed; a cropped one is billed as the square that it was cut from.
    #[must_use]
    pub fn frame_tokens(self, edge: u32) -> u64 {
        // Patches of so many pixels, at most so many of them, and a price in percent of a token.
        let (patch, most, percent) = match self {
            Api::Google => return 1_120,
            Api::OpenAi => (32, 10_000, 120),
            Api::Anthropic | Api::Unknown => (28, 4_784, 105),
        };
        let side = u64::from(edge.div_ceil(patch));
        (side * side).min(most).saturating_mul(percent).div_ceil(100)
    }

    /// Pictures of one request, when the provider is not named.
    fn images(self) -> u32 {
        match self {
            Api::Anthropic => 90,
            Api::OpenAi | Api::Google => 200,
            Api::Unknown => DEFAULT_IMAGES,
        }
    }
}

#[derive(Deserialize)]
struct Tables {
    model: Vec<BuiltIn>,
    provider: Vec<Provider>,
}

#[derive(Deserialize)]
struct BuiltIn {
    pattern: String,
    window: u64,
    vision: bool,
    #[serde(default)]
    api: Api,
}

#[derive(Deserialize)]
struct Provider {
    name: String,
    api: Api,
    images: u32,
}

static TABLES: LazyLock<Tables> =
    LazyLock::new(|| toml::from_str::<Tables>(include_str!("models.toml")).unwrap_or(Tables { model: Vec::new(), provider: Vec::new() }));

/// What the config says about the models whose ids begin with a pattern; what it leaves out stays as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelRow {
    /// How the id begins; with a provider, `provider/id`.
    pub pattern: String,
    /// Tokens of the window.
    pub window: Option<u64>,
    /// Whether pictures can be read.
    pub vision: Option<bool>,
    /// The family that carries requests to it.
    pub api: Option<Api>,
    /// Pictures of one request.
    pub images: Option<u32>,
}

/// A model to switch to before a compaction is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promotion {
    /// How the ids begin that it is for; `None` means every model.
    pub from: Option<String>,
    /// `provider/id`.
    pub to: String,
}

/// What is known about one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Tokens of the window.
    pub window: Option<u64>,
    /// Whether pictures can be read.
    pub vision: Option<bool>,
    /// The family that carries requests to it.
    pub api: Api,
    /// Pictures of one request.
    pub images: u32,
}

/// The models: those that are compiled in, under those of the config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    rows: Vec<ModelRow>,
    promotions: Vec<Promotion>,
}

impl Catalogue {
    /// A catalogue with rows of the config.
    #[must_use]
    pub fn new(rows: Vec<ModelRow>, promotions: Vec<Promotion>) -> Catalogue {
        Catalogue { rows, promotions }
    }

    /// Tokens of a model's window, when it is known. `model` is `provider/id` or an id.
    #[must_use]
    pub fn window(&self, model: &str) -> Option<u64> {
        self.facts(model, None).window
    }

    /// What is known about a model. `api` is the interface that carries its requests, as a session or a flag names it; it
    /// counts before what the model and its provider suggest.
    #[must_use]
    pub fn facts(&self, model: &str, api: Option<&str>) -> Facts {
        let known = best(&TABLES.model, model, |row| &row.pattern);
        let named = model.split_once('/').map(|(provider, _)| provider);
        let provider = named.and_then(|name| TABLES.provider.iter().find(|row| row.name.eq_ignore_ascii_case(name)));
        let own = |value: fn(&ModelRow) -> bool| best(self.rows.iter().filter(|row| value(row)), model, |row| &row.pattern);
        let family = api
            .map(Api::of)
            .or_else(|| own(|row| row.api.is_some()).and_then(|row| row.api))
            .or_else(|| provider.map(|row| row.api))
            .or_else(|| known.map(|row| row.api))
            .unwrap_or_default();
        let cap = match (provider, named) {
            (Some(row), _) => row.images,
            (None, Some(_)) => DEFAULT_IMAGES,
            (None, None) => family.images(),
        };
        Facts {
            window: own(|row| row.window.is_some()).and_then(|row| row.window).or_else(|| known.map(|row| row.window)),
            vision: own(|row| row.vision.is_some()).and_then(|row| row.vision).or_else(|| known.map(|row| row.vision)),
            api: family,
            images: own(|row| row.images.is_some()).and_then(|row| row.images).unwrap_or(cap),
        }
    }

    /// The model to switch to from `model`, whose window has `window` tokens, with the tokens of its own: the first listed one
    /// whose window is larger and holds `needed` tokens.
    #[must_use]
    pub fn promotion(&self, model: Option<&str>, window: u64, needed: u64) -> Option<(&str, u64)> {
        let applies = |promotion: &&Promotion| match (&promotion.from, model) {
            (None, _) => true,
            (Some(from), Some(model)) => begins(model, from),
            (Some(_), None) => false,
        };
        let other = self.promotions.iter().filter(applies).filter(|promotion| model != Some(promotion.to.as_str()));
        other
            .filter_map(|promotion| Some((promotion.to.as_str(), self.window(&promotion.to)?)))
            .find(|(_, tokens)| *tokens > window && *tokens > needed)
    }
}

/// The row with the longest pattern that a model's id begins with; of equal ones the later, so that a config can be added to.
fn best<'a, T>(rows: impl IntoIterator<Item = &'a T>, model: &str, pattern: impl Fn(&T) -> &str) -> Option<&'a T> {
    rows.into_iter().filter(|row| begins(model, pattern(row))).max_by_key(|row| pattern(row).len())
}

/// Whether a model's id begins with a pattern. An id begins where the whole begins, after a provider (`openrouter/openai/gpt-5`),
/// and after a vendor's prefix (`us.anthropic.claude-…`). A number ends where the pattern's number ends: `o3` is not `o30`.
fn begins(model: &str, pattern: &str) -> bool {
    let (model, pattern) = (model.as_bytes(), pattern.as_bytes());
    let starts = (0..model.len()).filter(|at| {
        let before = at.checked_sub(1).and_then(|at| model.get(at));
        before.is_none_or(|b| *b == b'/' || (*b == b'.' && model.get(*at).is_some_and(u8::is_ascii_alphabetic)))
    });
    let same = |a: u8, p: u8| a.eq_ignore_ascii_case(&p) || (p == b'.' && matches!(a, b'-' | b'_'));
    let ends = |next: Option<&u8>| !(pattern.last().is_some_and(u8::is_ascii_digit) && next.is_some_and(u8::is_ascii_digit));
    starts.filter_map(|at| model.get(at..)).any(|id| {
        id.len() >= pattern.len() && !pattern.is_empty() && id.iter().zip(pattern).all(|(a, p)| same(*a, *p)) && ends(id.get(pattern.len()))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_row_is_read_and_matches_itself() {
        assert!(TABLES.model.len() > 90, "{}", TABLES.model.len());
        assert!(TABLES.provider.len() > 10);
        for row in &TABLES.model {
            let found = best(&TABLES.model, &row.pattern, |row| &row.pattern).unwrap();
            assert_eq!(found.pattern, row.pattern);
            assert!((8_000..=10_000_000).contains(&row.window), "{}", row.pattern);
        }
    }

    #[test]
    fn the_longest_pattern_counts() {
        let rows: &[(&str, Option<u64>)] = &[
            ("anthropic/claude-sonnet-4-5", Some(200_000)),
            ("claude-sonnet-4.6", Some(1_000_000)),
            ("us.anthropic.claude-opus-4-6-v1:0", Some(1_000_000)),
            ("anthropic/claude-fable-5:high", Some(1_000_000)),
            ("openrouter/openai/gpt-4.1-mini", Some(1_047_576)),
            ("openai/gpt-4-0613", Some(8_192)),
            ("gpt-4-1106-preview", Some(128_000)),
            ("openai/gpt-5.1-codex", Some(400_000)),
            ("GLM-4.6", Some(200_000)),
            ("o30", None),
            ("solo3", None),
            ("local/unheard-of", None),
            ("", None),
        ];
        for (model, want) in rows {
            assert_eq!(Catalogue::default().window(model), *want, "{model}");
        }
    }

    #[test]
    fn pictures_are_billed_by_family_and_edge() {
        let rows = [
            (Api::Anthropic, [3_293, 5_000, 5_024, 5_024]),
            (Api::Unknown, [3_293, 5_000, 5_024, 5_024]),
            (Api::OpenAi, [2_882, 4_466, 4_916, 7_874]),
            (Api::Google, [1_120; 4]),
        ];
        for (api, want) in rows {
            assert_eq!([1568, 1932, 2048, 2576].map(|edge| api.frame_tokens(edge)), want, "{}", api.name());
        }
        assert_eq!(Api::OpenAi.frame_tokens(u32::MAX), 12_000);
    }

    #[test]
    fn s04_providers_take_so_many_pictures() {
        let rows = [
            ("anthropic/claude-opus-4-5", None, Api::Anthropic, 90),
            ("claude-opus-4-5", None, Api::Anthropic, 90),
            ("openai/gpt-5", None, Api::OpenAi, 200),
            ("google/gemini-3-pro", None, Api::Google, 200),
            ("umans/umans-coder", None, Api::Anthropic, 10),
            ("openrouter/anthropic/claude-opus-4-5", None, Api::OpenAi, 8),
            // Who carries a request decides about its price, not who made the model.
            ("openrouter/anthropic/claude-opus-4-5", Some("anthropic-messages"), Api::Anthropic, 8),
            ("somebody/claude-opus-4-5", None, Api::Anthropic, 5),
            ("gpt-5", Some("cursor-agent"), Api::Unknown, 5),
            ("nobody/nothing", None, Api::Unknown, 5),
            ("nothing", None, Api::Unknown, 5),
        ];
        for (model, api, family, images) in rows {
            let facts = Catalogue::default().facts(model, api);
            assert_eq!((facts.api, facts.images), (family, images), "{model} {api:?}");
        }
        assert_eq!(Catalogue::default().facts("kimi-k2-thinking", None).vision, Some(false));
        assert_eq!(Catalogue::default().facts("kimi-k2.5", None).vision, Some(true));
        assert_eq!(Catalogue::default().facts("unheard-of", None).vision, None);
    }

    #[test]
    fn rows_of_the_config_win_key_by_key() {
        let row = |pattern: &str| ModelRow { pattern: pattern.to_owned(), ..ModelRow::default() };
        let catalogue = Catalogue::new(
            vec![
                ModelRow { window: Some(50_000), ..row("claude") },
                ModelRow { vision: Some(false), images: Some(3), ..row("anthropic/claude-opus") },
                ModelRow { api: Some(Api::Google), ..row("mine/") },
            ],
            Vec::new(),
        );
        let facts = catalogue.facts("anthropic/claude-opus-4-8", None);
        assert_eq!(facts, Facts { window: Some(50_000), vision: Some(false), api: Api::Anthropic, images: 3 });
        assert_eq!(catalogue.facts("claude-opus-4-8", None).vision, Some(true));
        assert_eq!(catalogue.facts("mine/gpt-5", None).api, Api::Google);
        assert_eq!(catalogue.facts("mine/gpt-5", Some("openai-responses")).api, Api::OpenAi);
    }

    #[test]
    fn promotions_go_to_the_first_window_that_is_larger_and_large_enough() {
        let to = |from: Option<&str>, to: &str| Promotion { from: from.map(str::to_owned), to: to.to_owned() };
        let catalogue = Catalogue::new(
            Vec::new(),
            vec![to(Some("gpt-"), "openai/gpt-4.1"), to(None, "openai/gpt-5"), to(None, "x/unheard-of"), to(None, "a/claude-opus-4-8")],
        );
        let target = |model, window, needed| catalogue.promotion(model, window, needed).map(|(to, _)| to);
        assert_eq!(target(Some("openai/gpt-5"), 400_000, 1), Some("openai/gpt-4.1"));
        assert_eq!(target(Some("claude-opus-4-5"), 200_000, 210_000), Some("openai/gpt-5"));
        assert_eq!(target(Some("claude-opus-4-5"), 200_000, 410_000), Some("a/claude-opus-4-8"));
        assert_eq!(target(Some("claude-opus-4-5"), 200_000, 1_000_000), None);
        assert_eq!(target(Some("a/claude-opus-4-8"), 200_000, 500_000), None);
        assert_eq!(target(None, 200_000, 1), Some("openai/gpt-5"));
        assert_eq!(Catalogue::default().promotion(Some("gpt-5"), 1, 1), None);
    }
}
