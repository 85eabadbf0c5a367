//! Masking of secrets in everything that is generated: a key that a tool printed once would
//! otherwise be copied into summaries, exports and requests for good.
//!
//! Two kinds of evidence are used: the shape of a token (module `rules`) and a name that says secret
//! (module `assign`). Paths, hashes, UUIDs, prose and placeholders are left alone, because a summary
//! with its identifiers shredded is worth nothing.
//!
//! Two profiles share these rules: [`Redactor::secrets`] for what is generated, and [`Redactor::share`] for what is given
//! to others, which also takes home folders, on request e-mail addresses, and the patterns of a person's own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use regex::Regex;

mod assign;
mod own;
mod pem;
mod person;
mod rules;
#[cfg(test)]
mod tests;
mod value;

pub use own::{Own, OwnError};

use rules::{Finder, Rule};

/// How far from its anchor a token is matched, in bytes: longer than any that is handed out (JWTs
/// with many claims), and short enough that adversarial text does not cost the square of its size.
const WINDOW: usize = 16 * 1024;
/// The same for headers, whose looser patterns may run over anything. A longer token is masked to
/// its end all the same.
const HEADER_WINDOW: usize = 1024;

/// A text with its secrets masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text, borrowed when nothing was masked. A mask reads `[redacted KIND]`, in the profile for sharing
    /// `[redacted KIND 16+]` with the length class; a home folder reads `~`.
    pub text: Cow<'a, str>,
    /// How many secrets of each kind were masked.
    pub counts: BTreeMap<&'static str, usize>,
}

/// A compiled table of rules.
#[derive(Debug)]
pub struct Redactor {
    /// Finds every place where a rule could apply; `None` never happens with the built-in table,
    /// whose expressions a test compiles.
    anchors: Option<Regex>,
    rules: Vec<Compiled>,
    /// Which rules have an anchor that starts with this byte, in either case.
    by_byte: Vec<Vec<usize>>,
    /// A person's own patterns, and the home folder of this machine.
    own: Vec<Own>,
    /// Whether a mask tells the length class of what it stands for.
    lengths: bool,
}

/// What the profile for sharing takes beside keys and tokens.
#[derive(Debug, Clone, Default)]
pub struct Share {
    /// E-mail addresses too.
    pub email: bool,
    /// The home folder of this machine, which may lie elsewhere than home folders usually do.
    pub home: Option<String>,
    /// A person's own patterns.
    pub own: Vec<Own>,
}

#[derive(Debug)]
struct Compiled {
    rule: &'static Rule,
    /// Most runs meet few kinds of secrets, so each expression is compiled when first needed.
    regex: OnceLock<Option<Regex>>,
}

/// A stretch to mask, as byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hit {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// A text with its secrets masked.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    Redactor::secrets().redact(text).text
}

impl Redactor {
    /// The profile for everything generated: keys, tokens, passwords; never paths. Compiled once.
    pub fn secrets() -> &'static Redactor {
        static SECRETS: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(rules::SECRETS.iter().collect()));
        &SECRETS
    }

    /// The profile for what is given to others: secrets, the names of home folders, and what `share` asks for.
    #[must_use]
    pub fn share(share: Share) -> Redactor {
        let email = rules::EMAIL.iter().filter(|_| share.email);
        let mut redactor = Redactor::new(rules::SECRETS.iter().chain(rules::PERSON).chain(email).collect());
        redactor.lengths = true;
        redactor.own = share.own;
        redactor.own.extend(share.home.as_deref().and_then(Own::home));
        redactor
    }

    fn new(table: Vec<&'static Rule>) -> Self {
        let mut by_byte = vec![Vec::new(); 256];
        for (index, rule) in table.iter().enumerate() {
            for anchor in rule.anchors {
                let Some(first) = anchor.bytes().next() else {
                    continue;
                };
                let mut cases = vec![first];
                if rule.any_case && first.is_ascii_alphabetic() {
                    cases.push(first.to_ascii_uppercase());
                }
                for case in cases {
                    if let Some(list) = by_byte.get_mut(usize::from(case))
                        && !list.contains(&index)
                    {
                        list.push(index);
                    }
                }
            }
        }
        let alternatives = table.iter().flat_map(|rule| {
            rule.anchors.iter().map(move |anchor| {
                let flags = if rule.any_case { "(?i-u:" } else { "(?:" };
                format!("{flags}{})", regex::escape(anchor))
            })
        });
        let anchors = Regex::new(&alternatives.collect::<Vec<_>>().join("|")).ok();
        let compiled = |rule| Compiled { rule, regex: OnceLock::new() };
        Self { anchors, rules: table.into_iter().map(compiled).collect(), by_byte, own: Vec::new(), lengths: false }
    }

    /// The kind of secret that `value` is because of the name it is stored under, as `password` in JSON.
    #[must_use]
    pub fn named(&self, name: &str, value: &str) -> Option<&'static str> {
        assign::named(name, value)
    }

    /// What stands in place of a secret.
    #[must_use]
    pub fn mask(&self, kind: &str, secret: &str) -> String {
        if kind == person::HOME {
            return "~".to_owned();
        }
        if !self.lengths {
            return format!("[redacted {kind}]");
        }
        let class = [128, 64, 32, 16, 8].into_iter().find(|least| secret.chars().nth(least - 1).is_some());
        match class {
            Some(least) => format!("[redacted {kind} {least}+]"),
            None => format!("[redacted {kind} <8]"),
        }
    }

    /// Masks the secrets of `s`. What names a secret stays: the name of an assignment, the scheme
    /// of an `Authorization` header, user and host of a URL. Idempotent.
    pub fn redact<'a>(&self, s: &'a str) -> Redacted<'a> {
        let mut counts = BTreeMap::new();
        let mut text = Cow::Borrowed(s);
        // A mask changes what stands beside it, which may free or form a match there; repeated
        // until nothing is found, masking twice is the same as once. It ends because masks are
        // never matched again, so each round uses up original text.
        while let Some(masked) = self.pass(&text, &mut counts) {
            text = Cow::Owned(masked);
        }
        for own in &self.own {
            if let Some(masked) = own.pass(&text, self, &mut counts) {
                text = Cow::Owned(masked);
            }
        }
        Redacted { text, counts }
    }

    fn pass(&self, s: &str, counts: &mut BTreeMap<&'static str, usize>) -> Option<String> {
        let anchors = self.anchors.as_ref()?;
        let mut out = String::new();
        let mut done = 0;
        let mut pos = 0;
        while let Some(anchor) = anchors.find_at(s, pos) {
            pos = anchor.start() + 1;
            let Some(hit) = self.hit(s, anchor.start(), done) else {
                continue;
            };
            out.push_str(s.get(done..hit.start)?);
            out.push_str(&self.mask(hit.kind, s.get(hit.start..hit.end)?));
            *counts.entry(hit.kind).or_default() += 1;
            done = hit.end;
            pos = pos.max(done);
        }
        if done == 0 {
            return None;
        }
        out.push_str(s.get(done..)?);
        Some(out)
    }

    /// The secret whose evidence has its anchor at `at`; text before `floor` is masked already.
    fn hit(&self, s: &str, at: usize, floor: usize) -> Option<Hit> {
        let rest = s.get(at..)?;
        let first = rest.bytes().next()?;
        let candidates = self.by_byte.get(usize::from(first))?;
        candidates.iter().filter_map(|index| self.rules.get(*index)).find_map(|compiled| {
            let word_start = !compiled.rule.word_start || at == floor || !follows_word(s, at);
            if !word_start || !compiled.rule.anchored(rest) {
                return None;
            }
            let hit = match compiled.rule.finder {
                Finder::Regex { pattern, accept } => {
                    let (start, end) = compiled.find(pattern, rest)?;
                    let kind = compiled.rule.kind;
                    let hit = Hit { start: at + start, end: at + end, kind };
                    accept(s.get(hit.start..hit.end)?).then_some(hit)
                }
                Finder::Function(find) => find(s, at, floor)
                    .map(|hit| Hit { kind: if compiled.rule.kind.is_empty() { hit.kind } else { compiled.rule.kind }, ..hit }),
            }?;
            // An assigned value with a known shape is counted as what it is.
            let shape = || self.shape_kind(s.get(hit.start..hit.end)?);
            let kind = if compiled.rule.kind.is_empty() { shape().unwrap_or(hit.kind) } else { hit.kind };
            (hit.start >= floor && hit.end > hit.start).then_some(Hit { kind, ..hit })
        })
    }

    fn shape_kind(&self, value: &str) -> Option<&'static str> {
        let first = value.bytes().next()?;
        let candidates = self.by_byte.get(usize::from(first))?;
        candidates.iter().filter_map(|index| self.rules.get(*index)).find_map(|compiled| {
            let Finder::Regex { pattern, accept } = compiled.rule.finder else {
                return None;
            };
            let (start, end) = compiled.rule.anchored(value).then(|| compiled.find(pattern, value))??;
            (start == 0 && accept(value.get(..end)?)).then_some(compiled.rule.kind)
        })
    }
}

impl Compiled {
    /// The stretch to mask: the group `secret` if the pattern has one, else the match.
    fn find(&self, pattern: &str, rest: &str) -> Option<(usize, usize)> {
        let compile = || Regex::new(&format!(r"\A(?:{pattern})")).ok();
        let regex = self.regex.get_or_init(compile).as_ref()?;
        let reach = if self.rule.any_case { HEADER_WINDOW } else { WINDOW };
        let window = rest.get(..rest.floor_char_boundary(reach))?;
        let found = if pattern.contains("(?<secret>") { regex.captures(window)?.name("secret")? } else { regex.find(window)? };
        let mut end = found.end();
        if end == window.len() {
            let more = rest.as_bytes().get(end..)?.iter();
            end += more.take_while(|b| b.is_ascii_alphanumeric() || b"_.~+/=-".contains(b)).count();
        }
        Some((found.start(), end))
    }
}

fn follows_word(s: &str, at: usize) -> bool {
    let previous = at.checked_sub(1).and_then(|i| s.as_bytes().get(i));
    let Some(&byte) = previous else { return false };
    if byte == b'n' || byte == b't' || byte == b'r' {
        // `\n` of a JSON text inside the text is a boundary, not a letter.
        let escape = at.checked_sub(2).and_then(|i| s.as_bytes().get(i));
        return escape != Some(&b'\\');
    }
    if byte == b'-' {
        // At the start of a line it is the mark of a line that a diff takes out.
        return at.checked_sub(2).and_then(|i| s.as_bytes().get(i)).is_some_and(|before| *before != b'\n');
    }
    byte.is_ascii_alphanumeric() || byte == b'_'
}
