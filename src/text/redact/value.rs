//! What a secret looks like, and what only stands where one would: placeholders, references,
//! identifiers, paths.

/// Whether it has an ASCII digit.
pub(super) fn has_digit(s: &str) -> bool {
    s.bytes().any(|b| b.is_ascii_digit())
}

/// Whether a run of one filler shows that it was filled up by hand, as in `ghp_xxxxxxxx`.
pub(super) fn filled_up(s: &str) -> bool {
    let mut run = 0;
    let mut last = 0;
    s.bytes().any(|b| {
        run = if b.eq_ignore_ascii_case(&last) { run + 1 } else { 1 };
        last = b;
        run >= 6 && matches!(b, b'x' | b'X' | b'*' | b'.' | b'-' | b'_') || run >= 10 && b == b'0'
    })
}

/// Whether one unbroken run of letters and digits is as long as a token's: 12 with both or with
/// letters in no order, or 32 of any, longer than words get. Separates `sk-4f…` from `sk-learn-0-24-user-guide`.
pub(super) fn dense(s: &str) -> bool {
    let is_dense = |part: &str| {
        let letters = part.bytes().any(|b| b.is_ascii_alphabetic());
        part.len() >= 32 || part.len() >= 12 && letters && (has_digit(part) || irregular(part))
    };
    !filled_up(s) && s.split(|c: char| !c.is_ascii_alphanumeric()).any(is_dense)
}

/// Whether letters and digits alternate at least three times without a separator between them, as
/// in `s3cr3t` and not in `oauth2` or `token-based-auth-v2`.
pub(super) fn interleaved(s: &str) -> bool {
    let changes = s.as_bytes().windows(2).filter(|pair| {
        matches!(pair, [a, b] if a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()
            && a.is_ascii_digit() != b.is_ascii_digit())
    });
    changes.count() >= 3
}

/// Whether letters follow each other as in no word or identifier (`dXNlcjpw`): not lower case,
/// upper case, capitalized or camel-case words.
pub(super) fn irregular(s: &str) -> bool {
    s.split(|c: char| !c.is_ascii_alphabetic()).any(|part| {
        let mut odd = 0;
        let mut capitals = 0;
        let mut total_capitals = 0;
        for b in part.bytes() {
            if b.is_ascii_uppercase() {
                capitals += 1;
                total_capitals += 1;
            } else {
                // Two capitals before a small letter start a word after an acronym (`HTTPServer`).
                odd += usize::from(capitals > 1);
                capitals = 0;
            }
        }
        part.len() >= 8 && total_capitals < part.len() && (odd >= 2 || total_capitals * 5 > part.len() * 2)
    })
}

/// Whether the text is words or an identifier: no digits to speak of, letters as words have them,
/// joined by the usual separators.
pub(super) fn is_words(s: &str) -> bool {
    let joined = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '?');
    !has_digit(s) && s.chars().all(joined) && !irregular(s)
}

/// Whether it is a name made of words with a short number here and there: `token1`,
/// `my-app-tls-v2`.
pub(super) fn is_numbered_name(s: &str) -> bool {
    let part = |part: &str| {
        let base = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() - base.len() <= 2 && base.bytes().all(|b| b.is_ascii_alphabetic()) && !irregular(base)
    };
    s.split(['-', '_', '.', '/', ':']).all(part)
}

/// Whether a value stands for a secret that is elsewhere, or for none.
pub(super) fn is_placeholder(s: &str) -> bool {
    const OPENERS: &[char] = &['$', '<', '{', '[', '(', '%', '&', '*', '!', '@'];
    // Words that documentation puts where the value belongs.
    const WORDS: &str = "your example changeme change placeholder dummy redacted replace replaceme insert \
        todo fixme sample fake here xxx null none nil true false undefined string str \
        required optional number any bool boolean int text empty unset hidden masked";
    // References to where the value comes from, in the usual languages.
    const SOURCES: &str = "process.env os.environ os.getenv import.meta env. env: env[ secrets. vault: \
        config. settings. self. this. req. request. args. opts. options. var. op:// ssm: \
        file: arn:";
    let lower = s.to_ascii_lowercase();
    let word = |part: &str| WORDS.split(' ').any(|word| word == part) && !part.is_empty();
    s.is_empty()
        // Only an opener that its pair or a name follows: a password may start with a sign.
        || (s.starts_with(OPENERS) && is_reference(s))
        || s.contains("${") || s.contains("{{") || s.contains("$(") || s.contains("[redacted")
        || s.contains("...") || s.contains('…') || s.contains("***")
        || is_version_range(s)
        || filled_up(s)
        || repeats_one(&lower)
        || lower.contains("xxxx")
        || SOURCES.split(' ').any(|source| lower.starts_with(source))
        || (!irregular(s) && lower.split(|c: char| !c.is_ascii_alphanumeric()).any(word))
}

/// `$NAME`, `<name>`, `%NAME%`, `&anchor`, `*alias`, `!tag`, `@file`, or a bracket.
fn is_reference(s: &str) -> bool {
    let mut chars = s.chars();
    match chars.next() {
        Some('<') => s.ends_with('>') || !has_digit(s),
        Some('%') => s.ends_with('%') || !has_digit(s),
        Some('{' | '[' | '(') => true,
        Some('$') => chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '{' | '}')),
        _ => !has_digit(s),
    }
}

/// `^1.2.3-beta.1`: packages are named `…-token` too.
fn is_version_range(s: &str) -> bool {
    let version = s.trim_start_matches(['^', '~', '>', '<', '=']);
    version.len() < s.len() && version.starts_with(|c: char| c.is_ascii_digit()) && s.contains('.')
}

fn repeats_one(s: &str) -> bool {
    let mut chars = s.chars();
    let first = chars.next();
    chars.all(|c| Some(c) == first)
}

/// Whether it is a path or a file name: those say where a key lies, not what it is.
pub(super) fn is_path(s: &str) -> bool {
    const EXTENSIONS: &str = ".pem .key .crt .cer .pub .json .txt .yaml .yml .toml .env .rs .ts .js .py .go \
        .p12 .pfx .jks .asc .gpg .png .html .md";
    let base64 = s.contains(['+', '=']);
    let drive = s.as_bytes().get(1..3).is_some_and(|b| b == b":\\" || b == b":/");
    drive
        || s.starts_with("./")
        || s.starts_with("../")
        || s.starts_with("~/")
        || (s.starts_with('/') && !base64)
        || EXTENSIONS.split(' ').any(|extension| s.ends_with(extension))
}

/// Whether it is a UUID in its usual form.
pub(super) fn is_uuid(s: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = s.split('-');
    let hex = |part: &str, len: usize| part.len() == len && part.bytes().all(|b| b.is_ascii_hexdigit());
    lengths.iter().all(|len| parts.next().is_some_and(|part| hex(part, *len))) && parts.next().is_none()
}
