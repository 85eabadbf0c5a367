//! Values whose name says that they are secret: environment variables, configuration in any
//! syntax, command line options, and passwords in URLs.
//!
//! A name alone proves nothing (`token: string`, `password = read_password()`), so the value has
//! to look like a literal. How much is asked of it depends on how sure the name and the syntax
//! make it.

use super::Hit;
use super::value::{has_digit, irregular, is_numbered_name, is_path, is_placeholder, is_uuid, is_words};

/// Longest name looked at, in bytes.
const MAX_NAME: usize = 80;
/// Longest value looked at, in bytes: keeps adversarial text from costing the square of its size.
const MAX_VALUE: usize = 8 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Chosen by people: may be short and look like a word.
    Password,
    /// A word that also means other things (`pass`): only believed as a literal.
    Weak,
    /// Made by machines: long and random.
    Token,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syntax {
    /// `NAME=value` with an upper-case name, as in `.env` files and shells.
    Env,
    /// A string literal or a quoted JSON or YAML value.
    Quoted,
    /// Anything else: YAML, INI, headers, query strings, options; and code.
    Bare,
}

/// The value assigned to the name that has a secret-saying word at `at`.
pub(super) fn find(s: &str, at: usize, floor: usize) -> Option<Hit> {
    let bytes = s.as_bytes();
    let after = bytes.get(at..)?.iter().take(MAX_NAME).take_while(|b| is_name(**b)).count();
    let name_end = at + after;
    let mut pos = name_end;
    let slashes = count(bytes, pos, |b| b == b'\\');
    if matches!(bytes.get(pos + slashes), Some(b'"' | b'\'')) {
        pos += slashes + 1;
        pos += usize::from(bytes.get(pos) == Some(&b']'));
    }
    let before_blanks = pos;
    pos += count(bytes, pos, is_blank);
    let sign = pos;
    pos += match bytes.get(pos..)? {
        [b'=', b'=' | b'~', ..] | [b':', b':', ..] => return None,
        [b'=', b'>', ..] | [b':', b'=', ..] => 2,
        [b'=' | b':', ..] => 1,
        _ => 0,
    };
    let no_sign = pos == sign;
    if no_sign && sign == before_blanks {
        return None;
    }
    let name = name_before(bytes, at, floor)..name_end;
    let option = s.get(name.clone())?.starts_with("--");
    if no_sign && !option {
        return None;
    }
    let (class, kind) = classify(s.get(name)?)?;
    let value_at = pos + count(bytes, pos, is_blank);
    let tight = bytes.get(sign) == Some(&b'=') && before_blanks == sign && value_at == pos;
    let upper = !s.get(at..name_end)?.bytes().any(|b| b.is_ascii_lowercase());
    let colon = bytes.get(sign) == Some(&b':');
    let (start, end, syntax) = value_span(s, value_at, tight && upper, colon)?;
    let value = s.get(start..end)?;
    is_secret(value, class, syntax).then_some(Hit { start, end, kind })
}

/// The kind of secret that a whole value is because of its name: a member of an object, an entry of an environment, the
/// word after an option.
pub(super) fn named(name: &str, value: &str) -> Option<&'static str> {
    let bare = name.trim_start_matches('-');
    let header =
        ["authorization", "cookie"].into_iter().find(|header| bare.len() <= MAX_NAME && bare.to_ascii_lowercase().ends_with(header));
    if let Some(kind) = header {
        let random = value.len() >= 8 && (has_digit(value) || irregular(value));
        return (random && !is_placeholder(value)).then_some(if kind == "cookie" { "cookie" } else { "authorization" });
    }
    let (class, kind) = classify(bare.get(bare.floor_char_boundary(bare.len().saturating_sub(MAX_NAME))..)?)?;
    // What people choose as a password may hold blanks; a sentence is a description of one.
    let spaced = class == Class::Password && value.len() < 64 && has_digit(value);
    let joined = if spaced { value.replace(' ', "") } else { value.to_owned() };
    is_secret(&joined, class, Syntax::Quoted).then_some(kind)
}

/// The password, or the token that stands alone, in the userinfo of the URL whose `://` is at `at`.
pub(super) fn url_password(s: &str, at: usize, _floor: usize) -> Option<Hit> {
    let start = at + 3;
    let rest = window(s, start)?;
    let stop = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\' | ')');
    let span = rest.get(..rest.find(stop).unwrap_or(rest.len()))?;
    let authority = span.get(..span.find(['/', '?', '#']).unwrap_or(span.len()))?;
    // A password that holds an unescaped `/` ends the authority early; it is told from a port
    // (`localhost:4873/@scope`) by not being a number.
    let host = authority.rfind('@').or_else(|| {
        let (_, password) = authority.split_once(':')?;
        let port = password.is_empty() || password.bytes().all(|b| b.is_ascii_digit());
        let first = span.find('@')?;
        let end = span.get(first..)?.find('/').map_or(span.len(), |i| first + i);
        let last = span.get(..end)?.rfind('@')?;
        (!port && !authority.starts_with('[')).then_some(last)
    })?;
    let userinfo = span.get(..host)?;
    let secret_at = match userinfo.find(':') {
        Some(colon) => colon + 1,
        None if userinfo.len() >= 20 && has_digit(userinfo) => 0,
        None => return None,
    };
    let secret = userinfo.get(secret_at..)?;
    let placeholder = secret.is_empty()
        || secret.starts_with(['$', '{', '[', '%', '*']) && !secret.trim_start_matches('%').starts_with(|c: char| c.is_ascii_digit())
        || secret.contains("${")
        || secret.bytes().all(|b| matches!(b, b'x' | b'X' | b'*' | b'.'));
    (!placeholder).then_some(Hit { start: start + secret_at, end: start + host, kind: "url-password" })
}

/// What a name says about its value.
fn classify(name: &str) -> Option<(Class, &'static str)> {
    // Where several values of a kind live side by side.
    const SUFFIXES: &[&str] = &["_base64", "_b64", "_prod", "_dev", "_live", "_test", "_staging"];
    // Keys that find things instead of opening them.
    const OPEN_KEYS: &str = "public pub primary foreign sort cache partition routing range hash index row \
        object map shift hot dict idempotency dedupe group translation registry lookup \
        known host press arrow event unique query i18n file sub parent child item record \
        ctrl alt";
    const CLOSED_KEYS: &str = "api access secret private auth encryption signing signature master service \
        account subscription license deploy admin webhook client app hmac aes jwt session \
        shared security role anon write consumer";
    let name = name.trim_start_matches('-');
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let bare = if bare.len() < name.len() { bare.trim_end_matches(['_', '-']) } else { name };
    let mut lower = bare.to_ascii_lowercase();
    if let Some(short) = SUFFIXES.iter().find_map(|suffix| lower.strip_suffix(suffix)) {
        lower.truncate(short.len());
    }
    if matches!(lower.as_str(), "pwd" | "oldpwd") && !bare.bytes().any(|b| b.is_ascii_lowercase()) {
        return None;
    }
    // The word must be a word of the name: set off by a separator or a capital.
    let apart = |rest: &str| {
        let capital = bare.as_bytes().get(rest.len()).is_some_and(u8::is_ascii_uppercase);
        let small = rest.len().checked_sub(1).and_then(|i| bare.as_bytes().get(i));
        rest.is_empty()
            || rest.ends_with(['_', '-', '.'])
            || (capital && small.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
    };
    for (word, class, kind) in [
        ("password", Class::Password, "password"),
        ("passwd", Class::Password, "password"),
        ("passphrase", Class::Password, "password"),
        ("secret", Class::Password, "secret"),
        ("token", Class::Token, "token"),
        ("credential", Class::Token, "secret"),
        ("credentials", Class::Token, "secret"),
    ] {
        if lower.ends_with(word) {
            return Some((class, kind));
        }
    }
    let upper = !bare.bytes().any(|b| b.is_ascii_lowercase());
    if let Some(rest) = lower.strip_suffix("pass").or_else(|| lower.strip_suffix("pwd")) {
        let class = if upper && rest.ends_with('_') { Class::Password } else { Class::Weak };
        return apart(rest).then_some((class, "password"));
    }
    let rest = lower.strip_suffix("key")?;
    let separated = apart(rest);
    let owner = rest.trim_end_matches(['_', '-', '.']);
    let last = owner.rsplit(['_', '-', '.']).next().unwrap_or_default();
    let env = separated && rest.ends_with('_') && upper;
    let mut closed_keys = CLOSED_KEYS.split(' ');
    let closed = closed_keys.any(|word| if separated { last.ends_with(word) } else { last == word });
    let open = OPEN_KEYS.split(' ').any(|word| word == last);
    (!open && (closed || (env && !last.is_empty()))).then_some((Class::Token, "key"))
}

/// Start, end and syntax of the value at `at`. `env`: it follows `NAME=`; `colon`: it follows a
/// colon, where `&` and `|` separate nothing.
fn value_span(s: &str, at: usize, env: bool, colon: bool) -> Option<(usize, usize, Syntax)> {
    let bytes = s.as_bytes();
    let mut pos = at;
    if let [b'b' | b'r' | b'f' | b'B' | b'R' | b'F', b'"' | b'\'', ..] = bytes.get(pos..)? {
        pos += 1;
    }
    let slashes = count(bytes, pos, |b| b == b'\\');
    if let Some(quote @ (b'"' | b'\'' | b'`')) = bytes.get(pos + slashes).copied() {
        let syntax = if env { Syntax::Env } else { Syntax::Quoted };
        let start = pos + slashes + 1;
        return Some((start, quoted_end(bytes, start, quote, slashes)?, syntax));
    }
    let rest = window(s, at)?;
    let stop = rest.char_indices().find(|(i, c)| {
        let next = rest.as_bytes().get(i + 1);
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '<' | '>' | ';')
            || *c == '\\' && next.is_some_and(|b| b"nrt\"'\\".contains(b))
            || !env && matches!(c, ',' | '(' | ')' | '[' | ']' | '{' | '}')
            || !env && !colon && matches!(c, '&' | '|')
    });
    let len = stop.map_or(rest.len(), |(i, _)| i);
    if stop.is_none() && rest.len() < s.len() - at {
        return None;
    }
    if env {
        return Some((at, at + len, Syntax::Env));
    }
    // `name: type = "value"`, and calls, subscripts and literals of code, which are no values.
    let typed_at = at + len + count(bytes, at + len, is_blank);
    if bytes.get(typed_at) == Some(&b'=') {
        let start = typed_at + 1 + count(bytes, typed_at + 1, is_blank);
        if let Some(quote @ (b'"' | b'\'' | b'`')) = bytes.get(start).copied() {
            let end = quoted_end(bytes, start + 1, quote, 0)?;
            return Some((start + 1, end, Syntax::Quoted));
        }
    }
    let code = matches!(bytes.get(at + len), Some(b'(' | b'[' | b'{' | b'<'));
    (!code).then_some((at, at + len, Syntax::Bare))
}

/// The text from `at` on, as far as a value is looked for.
fn window(s: &str, at: usize) -> Option<&str> {
    let rest = s.get(at..)?;
    rest.get(..rest.floor_char_boundary(MAX_VALUE))
}

/// Where a string that was opened by `slashes` backslashes and `quote` ends; at the latest at the
/// end of its line, as a torn string has no other.
fn quoted_end(bytes: &[u8], start: usize, quote: u8, slashes: usize) -> Option<usize> {
    let mut escapes = 0;
    for (i, byte) in bytes.get(start..)?.iter().take(MAX_VALUE).enumerate() {
        let bare = if slashes == 0 { escapes % 2 == 0 } else { escapes <= slashes };
        if *byte == quote && bare {
            return Some(start + i - if slashes > 0 { escapes } else { 0 });
        }
        if *byte == b'\n' {
            return Some(start + i);
        }
        escapes = if *byte == b'\\' { escapes + 1 } else { 0 };
    }
    (bytes.len() - start < MAX_VALUE).then_some(bytes.len())
}

fn is_secret(value: &str, class: Class, syntax: Syntax) -> bool {
    if is_placeholder(value) || is_path(value) || value.contains(char::is_whitespace) {
        return false;
    }
    let letters = value.bytes().any(|b| b.is_ascii_alphabetic());
    let random = (letters && has_digit(value)) || irregular(value) || !is_words(value);
    let upper_name = !value.bytes().any(|b| b.is_ascii_lowercase()) && value.contains('_') && !has_digit(value);
    match (class, syntax) {
        _ if upper_name => false,
        (_, Syntax::Env) if is_call(value) => false,
        (Class::Password, Syntax::Env) => value.len() >= 3,
        (Class::Token, Syntax::Env) => value.len() >= 8 && (letters || value.len() >= 16),
        (Class::Password, Syntax::Quoted) => value.len() >= if random { 4 } else { 6 } && !names_itself(value),
        (Class::Weak, Syntax::Env | Syntax::Quoted) => value.len() >= 6 && random,
        (Class::Weak, Syntax::Bare) => false,
        (_, Syntax::Bare) if is_dotted_name(value) => false,
        (Class::Password, Syntax::Bare) => {
            let slug = value.contains(['-', '_', '/']) && is_numbered_name(value);
            value.len() >= 5 && letters && random && !slug
        }
        (Class::Token, _) if is_uuid(value) || is_numbered_name(value) => false,
        (Class::Token, Syntax::Quoted | Syntax::Bare) => value.len() >= 8 && letters && random,
    }
}

/// `"password": "password"` is a label or a field name, not a value.
fn names_itself(value: &str) -> bool {
    is_words(value) && classify(value).is_some()
}

/// `read_secret(…` after an upper-case name is code.
fn is_call(value: &str) -> bool {
    value.split_once('(').is_some_and(|(callee, _)| !callee.is_empty() && callee.bytes().all(|b| is_name(b) || b == b'.' || b == b':'))
}

/// `config2.apiKey`: names joined by dots, as code reads a value from somewhere.
fn is_dotted_name(value: &str) -> bool {
    let name = |part: &str| {
        part.len() < 20
            && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'?' || b == b'!')
    };
    value.contains('.') && value.split('.').all(name)
}

/// Where the name that reaches into `at` starts.
fn name_before(bytes: &[u8], at: usize, floor: usize) -> usize {
    let lowest = floor.max(at.saturating_sub(MAX_NAME));
    let before = bytes.get(lowest..at).unwrap_or_default();
    let len = before.iter().rev().take_while(|b| is_name(**b) || **b == b'.').count();
    let start = at - len;
    // The `n` of an escaped line end before the name is not its first letter.
    let escaped = start > floor && bytes.get(start - 1) == Some(&b'\\') && len > 0;
    if escaped { start + 1 } else { start }
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

fn is_blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

fn count(bytes: &[u8], from: usize, accept: impl Fn(u8) -> bool) -> usize {
    bytes.get(from..).unwrap_or_default().iter().take_while(|b| accept(**b)).count()
}
