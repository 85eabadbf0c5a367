//! Everything that an export says passes through here: control sequences go, secrets are masked, and what was masked is
//! counted.
//!
//! JSON is masked as values, not as text, so that the result stays JSON and a value can be told by the name it is stored
//! under: `{"password":"…"}`, `{"name":"API_KEY","value":"…"}`, `["--token","…"]`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use sha2::{Digest, Sha256};

use crate::session::{Json, Session, images};
use crate::text::{self, Redactor};

/// How many secrets of each kind were masked.
pub type Counts = BTreeMap<&'static str, u64>;

/// Masks, or only cleans, the text of one session.
#[derive(Debug)]
pub struct Mask<'a> {
    session: &'a Session,
    redactor: Option<&'a Redactor>,
    counts: RefCell<Counts>,
    /// Digests of image data that shows what is masked.
    hidden: RefCell<HashSet<[u8; 32]>>,
}

impl<'a> Mask<'a> {
    /// Without a redactor nothing is masked.
    #[must_use]
    pub fn new(session: &'a Session, redactor: Option<&'a Redactor>) -> Self {
        Mask { session, redactor, counts: RefCell::default(), hidden: RefCell::default() }
    }

    /// Whether anything is masked at all.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.redactor.is_some()
    }

    /// What was masked so far.
    #[must_use]
    pub fn counts(self) -> Counts {
        self.counts.into_inner()
    }

    /// Text for people: no control sequences, base64 as a note, secrets masked. The whole text is masked before anybody
    /// shortens it, so no secret is left as a half.
    #[must_use]
    pub fn text(&self, s: &str) -> String {
        let noted = text::elide_data_urls(s);
        let clean = text::strip(&noted);
        match self.redacted(&clean) {
            Some(masked) => masked,
            None => clean.into_owned(),
        }
    }

    /// A name or an id on one line.
    #[must_use]
    pub fn line(&self, s: &str, chars: usize) -> String {
        text::one_line(&self.whole(s), chars)
    }

    /// An id, or a whole string that might be one: two ids that are masked stay two.
    #[must_use]
    pub fn whole(&self, s: &str) -> String {
        let masked = self.text(s);
        match self.session.sym_of(s) {
            Some(sym) if masked != s && self.is_on() => format!("{masked}#{}", sym.0),
            _ => masked,
        }
    }

    /// Text for a program: as it is, unless something is to be masked.
    #[must_use]
    pub fn exact(&self, s: &str) -> String {
        if self.is_on() { self.text(s) } else { s.to_owned() }
    }

    /// An id for a program: as it is, unless something is to be masked.
    #[must_use]
    pub fn exact_id(&self, s: &str) -> String {
        if self.is_on() { self.whole(s) } else { s.to_owned() }
    }

    /// How many things of a text would be masked.
    #[must_use]
    pub fn finds(&self, s: &str) -> usize {
        self.redactor.map_or(0, |redactor| redactor.redact(&text::strip(s)).counts.values().sum())
    }

    /// Whether nothing of a text is masked.
    #[must_use]
    pub fn leaves(&self, s: &str) -> bool {
        self.finds(s) == 0
    }

    /// Keeps image data out from now on: it shows what is masked.
    pub fn hide(&self, data: &str) {
        self.hidden.borrow_mut().insert(Sha256::digest(data).into());
    }

    /// Whether image data is kept out.
    #[must_use]
    pub fn hides(&self, data: &str) -> bool {
        let hidden = self.hidden.borrow();
        !hidden.is_empty() && hidden.contains::<[u8; 32]>(&Sha256::digest(data).into())
    }

    fn redacted(&self, s: &str) -> Option<String> {
        let redacted = self.redactor?.redact(s);
        if redacted.counts.is_empty() {
            return None;
        }
        let mut counts = self.counts.borrow_mut();
        for (kind, count) in redacted.counts {
            *counts.entry(kind).or_default() += count as u64;
        }
        Some(redacted.text.into_owned())
    }

    fn count(&self, kind: &'static str) {
        *self.counts.borrow_mut().entry(kind).or_default() += 1;
    }

    /// A value for a program: the same value where nothing is masked.
    #[must_use]
    pub fn json<'j>(&self, value: &Json<'j>) -> Json<'j> {
        if self.is_on() { self.value(None, value) } else { value.clone() }
    }

    fn value<'j>(&self, name: Option<&str>, value: &Json<'j>) -> Json<'j> {
        match value {
            Json::Str(s) => self.string(name, s),
            Json::Int(i) => match name.and_then(|name| self.redactor?.named(name, &i.to_string())) {
                Some("password") => self.masked("password", &i.to_string()),
                _ => value.clone(),
            },
            Json::Array(items) => {
                let mut before: Option<&str> = None;
                let items = items.iter().map(|item| {
                    let option = before.filter(|b| b.starts_with('-') && !b.contains('=')).or(name);
                    before = item.str();
                    self.value(option, item)
                });
                Json::Array(items.collect())
            }
            Json::Object(members) => self.object(members, value),
            Json::Raw(raw) => self.redacted(raw).map_or_else(|| value.clone(), |masked| Json::Str(masked.into())),
            _ => value.clone(),
        }
    }

    fn object<'j>(&self, members: &[(Cow<'j, str>, Json<'j>)], whole: &Json<'j>) -> Json<'j> {
        let text = |key: &str| whole.get(key).str();
        let is_image = text("type") == Some("image") || (text("data").is_some() && text("mimeType").is_some());
        // Environments and headers as lists: the name is a value of its own.
        let named = text("name").or_else(|| text("key")).filter(|_| members.len() <= 4);
        let members = members.iter().map(|(key, value)| {
            let masked = match (key.as_ref(), value) {
                ("data", Json::Str(data)) if is_image && self.hides(data) => Json::Str("[redacted picture]".into()),
                ("data", Json::Str(data)) if is_image && is_picture(data) => value.clone(),
                ("value", _) => self.value(named.or(Some(key)), value),
                _ => self.value(Some(key), value),
            };
            (self.redacted(&text::strip(key)).map_or_else(|| key.clone(), Cow::Owned), masked)
        });
        Json::Object(members.collect())
    }

    fn string<'j>(&self, name: Option<&str>, s: &Cow<'j, str>) -> Json<'j> {
        let clean = text::strip(s);
        if let Some(masked) = self.redacted(&clean) {
            return Json::Str(match self.session.sym_of(s) {
                Some(sym) => format!("{masked}#{}", sym.0).into(),
                None => masked.into(),
            });
        }
        match name.and_then(|name| self.redactor?.named(name, &clean)) {
            Some(kind) => self.masked(kind, &clean),
            None if clean == *s => Json::Str(s.clone()),
            None => Json::Str(Cow::Owned(clean.into_owned())),
        }
    }

    fn masked<'j>(&self, kind: &'static str, secret: &str) -> Json<'j> {
        self.count(kind);
        Json::Str(self.redactor.map_or_else(String::new, |redactor| redactor.mask(kind, secret)).into())
    }
}

/// Whether image data is what it says; anything else is text that could hold anything.
fn is_picture(data: &str) -> bool {
    matches!(images::look(data), images::Image::Blob(_) | images::Image::Data { mime: Some(_), .. })
}

/// The members of a masked object for people: strings as they read, anything else as JSON.
pub(super) fn members(masked: &Json<'_>) -> Vec<(String, String)> {
    let shown = |value: &Json<'_>| match value {
        Json::Str(s) => text::strip(&text::elide_data_urls(s)).into_owned(),
        other => text::strip(&text::elide_data_urls(&other.to_text())).into_owned(),
    };
    match masked {
        Json::Object(members) => members.iter().map(|(key, value)| (text::one_line(key, 80), shown(value))).collect(),
        Json::Null => Vec::new(),
        other => vec![(String::new(), shown(other))],
    }
}
