//! Patterns of a person's own: the names of customers, ticket numbers, hosts, which no table of ours can know.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Redactor, person};

/// A pattern with the name of what it masks.
#[derive(Debug, Clone)]
pub struct Own {
    kind: &'static str,
    regex: Regex,
}

impl PartialEq for Own {
    fn eq(&self, other: &Own) -> bool {
        (self.kind, self.regex.as_str()) == (other.kind, other.regex.as_str())
    }
}

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// The name would not stand in a mask.
    #[error("'{0}' is no kind; use small letters, digits and dashes")]
    Kind(String),
    /// The expression is broken.
    #[error("{0}")]
    Pattern(#[from] regex::Error),
    /// The expression would mask everything.
    #[error("the pattern matches the empty text")]
    Empty,
}

/// A mask as it stands in text: what is inside is not looked at again.
static MASKS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[redacted [a-z0-9-]+(?: (?:<8|[0-9]+\+))?\]").ok());

impl Own {
    /// A pattern; where it has a group `secret`, only that is masked.
    ///
    /// # Errors
    /// See [`OwnError`].
    pub fn new(kind: &str, pattern: &str) -> Result<Own, OwnError> {
        let named = !kind.is_empty() && kind.len() <= 40 && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !named {
            return Err(OwnError::Kind(kind.to_owned()));
        }
        let regex = Regex::new(pattern)?;
        if regex.is_match("") {
            return Err(OwnError::Empty);
        }
        // Kinds are few, come from one config file, and are counted until the end of the run.
        Ok(Own { kind: kind.to_owned().leak(), regex })
    }

    /// The home folder of this machine, where it is not one that the table knows anyway.
    pub(super) fn home(folder: &str) -> Option<Own> {
        let folder = folder.trim_end_matches('/');
        let deep = folder.starts_with('/') && folder.len() > 2;
        let pattern = format!(r"(?:^|[^A-Za-z0-9_./~-])(?<secret>{})(?:$|[^A-Za-z0-9_.-])", regex::escape(folder));
        let regex = Regex::new(&pattern).ok().filter(|_| deep)?;
        Some(Own { kind: person::HOME, regex })
    }

    /// The text with the pattern masked; `None` when it does not occur.
    pub(super) fn pass(&self, s: &str, redactor: &Redactor, counts: &mut BTreeMap<&'static str, usize>) -> Option<String> {
        self.regex.find(s)?;
        let masks: Vec<(usize, usize)> = MASKS.as_ref()?.find_iter(s).map(|m| (m.start(), m.end())).collect();
        let mut out = String::new();
        let mut done = 0;
        let mut from = 0;
        let mut masks = masks.into_iter().peekable();
        while let Some(found) = self.regex.captures_at(s, from) {
            let hit = found.name("secret").or_else(|| found.get(0))?;
            let whole = found.get(0)?;
            while masks.next_if(|(_, end)| *end <= hit.start()).is_some() {}
            if let Some((start, end)) = masks.peek().filter(|(start, _)| *start < hit.end()) {
                from = (*end).max(*start + 1);
                continue;
            }
            if hit.is_empty() {
                if whole.end() >= s.len() {
                    break;
                }
                from = s.ceil_char_boundary(whole.end().max(whole.start() + 1));
                continue;
            }
            out.push_str(s.get(done..hit.start())?);
            out.push_str(&redactor.mask(self.kind, hit.as_str()));
            *counts.entry(self.kind).or_default() += 1;
            done = hit.end();
            from = done;
        }
        if done == 0 {
            return None;
        }
        out.push_str(s.get(done..)?);
        Some(out)
    }
}
