//! Names in text: paths, identifiers, URLs, hashes, versions and numbers, found in one pass over the bytes.
//!
//! A session is mostly tool output, so this runs over nearly every byte of it; a regular expression for the same shapes
//! takes several times as long.

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// A file or folder.
    Path,
    /// An address with a scheme.
    Url,
    /// A name of code: `camelCase`, `snake_case`, `a.b`, `A::b`.
    Ident,
    /// Words with hyphens, as packages and branches have them.
    Kebab,
    /// A commit, a digest, a UUID.
    Hash,
    /// A version.
    Version,
    /// A number of at least three digits.
    Number,
}

/// A name and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name<'t> {
    /// The text, as written.
    pub text: &'t str,
    /// What it is.
    pub shape: Shape,
    /// Its offset, bytes.
    pub at: usize,
}

/// Longest name that is taken, bytes: longer ones are data.
const LONGEST: usize = 120;

/// What a byte can be in a name; 0 ends it.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDER: u8 = 8;
const JOIN: u8 = 16;
/// A colon; together with a slash it may be an address.
const COLON: u8 = 32;
const SLASH: u8 = 64;

static CLASS: [u8; 256] = classes();

#[allow(clippy::indexing_slicing, reason = "both run below 256")]
const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut b = 0_u8;
    loop {
        table[b as usize] = match b {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDER,
            b'.' | b'-' | b'@' | b'~' | b'\\' => JOIN,
            b':' => COLON,
            b'/' => SLASH,
            _ => 0,
        };
        if b == u8::MAX {
            return table;
        }
        b += 1;
    }
}

fn class(b: u8) -> u8 {
    CLASS.get(usize::from(b)).copied().unwrap_or(0)
}

fn is_word(b: u8) -> bool {
    class(b) & (LOWER | UPPER | DIGIT | UNDER) != 0
}

/// Calls `found` for every name in the text.
pub(super) fn scan<'t>(text: &'t str, mut found: impl FnMut(Name<'t>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(skip) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| class(*b) != 0)) {
        let start = at + skip;
        let first = bytes.get(start).map_or(0, |b| class(*b));
        let mut later = 0;
        let mut len = 1;
        while let Some(kind) = bytes.get(start + len).map(|b| class(*b)).filter(|kind| *kind != 0) {
            later |= kind;
            len += 1;
        }
        at = start + len;
        // Plain words, capitalized or not, are most of any text.
        if len < 3 || later == LOWER && first & (LOWER | UPPER) != 0 || later == UPPER && first == UPPER {
            // A word between marks is a name to who wrote it.
            let marked = len >= 3 && start > 0 && bytes.get(start - 1) == Some(&b'`') && bytes.get(at) == Some(&b'`');
            if let Some(word) = if marked { text.get(start..at) } else { None } {
                found(Name { text: word, shape: Shape::Ident, at: start });
            }
            continue;
        }
        let Some(run) = text.get(start..at) else { continue };
        if let Some(scheme) = if later & COLON != 0 && later & SLASH != 0 { run.find("://") } else { None } {
            let from = run.get(..scheme).map_or(0, |s| s.rfind(|c: char| !c.is_ascii_alphabetic()).map_or(0, |n| n + 1));
            let end =
                bytes.get(start + from..).map_or(at, |rest| start + from + rest.iter().position(|b| ends_url(*b)).unwrap_or(rest.len()));
            let url = text.get(start + from..end).unwrap_or_default().trim_end_matches(['.', ',', ';', ':', '!', '?', '*']);
            if from < scheme && url.len() > scheme - from + 6 && url.len() <= 300 {
                found(Name { text: url, shape: Shape::Url, at: start + from });
            }
            at = end.max(at);
            continue;
        }
        split_run(run, start, &mut found);
    }
}

fn ends_url(b: u8) -> bool {
    b <= b' ' || b >= 0x80 || matches!(b, b'"' | b'\'' | b'<' | b'>' | b')' | b']' | b'}' | b'`' | b'|' | b'\\' | b',')
}

/// Cuts a run at single colons and backslashes that part names, and classifies the pieces.
fn split_run<'t>(run: &'t str, start: usize, found: &mut impl FnMut(Name<'t>)) {
    if run.len() < 2 * LONGEST && is_windows(run) {
        let end = run.char_indices().skip(2).find(|(_, c)| *c == ':').map_or(run.len(), |(n, _)| n);
        if let Some(path) = run.get(..end) {
            found(Name { text: path.trim_end_matches(['.', '\\']), shape: Shape::Path, at: start });
        }
        return;
    }
    let bytes = run.as_bytes();
    let mut from = 0;
    let mut n = 0;
    while n <= bytes.len() {
        let here = bytes.get(n).copied();
        let double = here == Some(b':') && bytes.get(n + 1) == Some(&b':') && n > from;
        if double {
            n += 2;
            continue;
        }
        if matches!(here, None | Some(b':' | b'\\')) {
            if let Some(piece) = run.get(from..n) {
                let lead = piece.len() - piece.trim_start_matches([':', '-']).len();
                let piece = trim(piece);
                if let Some(shape) = shape(piece) {
                    found(Name { text: piece, shape, at: start + from + lead });
                }
            }
            // Source code and JSON write line ends and tabs as `\n` and `\t`; the letter is no part of the name behind it.
            if here == Some(b'\\') && matches!(bytes.get(n + 1), Some(b'n' | b't' | b'r')) {
                n += 1;
            }
            from = n + 1;
        }
        n += 1;
    }
}

fn is_windows(run: &str) -> bool {
    matches!(run.as_bytes(), [drive, b':', b'\\', first, ..] if drive.is_ascii_alphabetic() && is_word(*first))
}

fn trim(piece: &str) -> &str {
    let piece = piece.trim_end_matches(['.', ':', '-', '@', '~']).trim_start_matches([':', '-']);
    let piece =
        if piece.starts_with("./") || piece.starts_with("../") || is_dotfile(piece) { piece } else { piece.trim_start_matches('.') };
    if piece.contains('/') || piece.starts_with('@') && piece.contains('/') { piece } else { piece.trim_start_matches(['@', '~']) }
}

fn is_dotfile(piece: &str) -> bool {
    matches!(piece, ".env" | ".gitignore" | ".npmrc" | ".dockerignore" | ".eslintrc" | ".prettierrc" | ".editorconfig")
        || piece.starts_with(".env.")
        || (piece.starts_with('.') && piece.contains('/'))
}

/// Ends of file names that make a bare `name.end` a file, sorted.
const ENDS: &[&str] = &[
    "bash", "c", "cc", "cfg", "cjs", "clj", "conf", "cpp", "cs", "css", "csv", "dart", "diff", "env", "erl", "ex", "exs", "gif", "go",
    "gradle", "gz", "h", "hpp", "hs", "html", "ini", "ipynb", "java", "jl", "jpeg", "jpg", "js", "json", "json5", "jsonl", "jsx", "kt",
    "lock", "log", "lua", "md", "mdx", "mjs", "nix", "patch", "pdf", "php", "png", "proto", "ps1", "py", "r", "rb", "rs", "rst", "scala",
    "scss", "sh", "sql", "svelte", "svg", "swift", "tf", "toml", "ts", "tsv", "tsx", "txt", "vue", "wasm", "xml", "yaml", "yml", "zig",
    "zip", "zsh",
];

/// Whether a bare name ends as files do.
pub(super) fn is_file_name(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end.len() <= 6 && ENDS.binary_search(&end).is_ok())
}

/// What a piece of text is, if a name.
pub(super) fn shape(piece: &str) -> Option<Shape> {
    let bytes = piece.as_bytes();
    let len = bytes.len();
    if !(3..=LONGEST).contains(&len) {
        return None;
    }
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    if digits == len {
        return (len <= 12).then_some(Shape::Number);
    }
    if bytes.contains(&b'/') {
        return is_path(piece).then_some(Shape::Path);
    }
    if is_uuid(bytes)
        || (7..=64).contains(&len)
            && digits > 0
            && digits * 10 >= len
            && bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
    {
        return Some(Shape::Hash);
    }
    if is_version(piece) {
        return Some(Shape::Version);
    }
    if is_file_name(piece) {
        return Some(Shape::Path);
    }
    let first = *bytes.first()?;
    if first.is_ascii_digit() || looks_random(bytes, digits) || bytes.iter().any(|b| matches!(b, b'@' | b'~')) {
        return None;
    }
    let mut upper_after_lower = false;
    let mut snake = false;
    let mut dotted = false;
    let mut hyphen = false;
    let mut pairs = bytes.iter().zip(bytes.iter().skip(1)).enumerate();
    for (n, (a, b)) in &mut pairs {
        upper_after_lower |= (a.is_ascii_lowercase() || a.is_ascii_digit()) && b.is_ascii_uppercase();
        snake |= *b == b'_' && n + 2 < len && a.is_ascii_alphanumeric();
        dotted |= matches!(b, b'.' | b':') && n + 2 < len;
        hyphen |= *b == b'-' && n + 2 < len;
    }
    let pascal = first.is_ascii_uppercase() && upper_after_lower;
    if hyphen && !upper_after_lower && !dotted {
        return (len >= 6 && bytes.iter().filter(|b| **b == b'-').count() <= 4 && !snake).then_some(Shape::Kebab);
    }
    if hyphen {
        return None;
    }
    if dotted {
        let parts = piece.split(['.', ':']).filter(|p| !p.is_empty());
        let good = parts.clone().all(|p| p.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
        let longest = parts.clone().map(str::len).max().unwrap_or(0);
        let capital = |p: &str| matches!(p.as_bytes(), [first, second, ..] if first.is_ascii_uppercase() && second.is_ascii_lowercase());
        let sentence = parts.clone().skip(1).any(capital) && !piece.contains("::") && !upper_after_lower;
        return (good && longest >= 3 && !sentence && parts.count() >= 2).then_some(Shape::Ident);
    }
    (pascal || upper_after_lower || snake).then_some(Shape::Ident)
}

/// Whether a dotted name is of a language's own library, as every program has it.
pub(super) fn is_common(name: &str) -> bool {
    const OWNERS: &[&str] =
        &["Array", "Date", "JSON", "Math", "Number", "Object", "Option", "Promise", "Result", "Some", "String", "Vec", "console"];
    let owner = name.split(['.', ':']).next().unwrap_or_default();
    const METHODS: &[&str] = &[
        "clone",
        "endsWith",
        "equal",
        "filter",
        "find",
        "get",
        "includes",
        "indexOf",
        "insert",
        "iter",
        "join",
        "len",
        "length",
        "map",
        "match",
        "ok",
        "pop",
        "push",
        "replace",
        "slice",
        "some",
        "sort",
        "split",
        "startsWith",
        "strictEqual",
        "strip",
        "substring",
        "toFixed",
        "toLowerCase",
        "trim",
        "unwrap",
    ];
    let plain = name.split_once('.').is_some_and(|(owner, method)| {
        !matches!(owner, "self" | "this") && owner.starts_with(|c: char| c.is_ascii_lowercase()) && METHODS.binary_search(&method).is_ok()
    });
    plain || owner.len() < name.len() && OWNERS.binary_search(&owner).is_ok() || name.starts_with("std::") || name.starts_with("core::")
}

fn is_path(piece: &str) -> bool {
    let slashes = piece.bytes().filter(|b| *b == b'/').count();
    let last = piece.rsplit('/').next().unwrap_or_default();
    let segments = piece.split('/').filter(|s| !s.is_empty()).count();
    let letters = piece.bytes().filter(u8::is_ascii_alphabetic).count();
    let rooted =
        piece.starts_with('/') || piece.starts_with("~/") || piece.starts_with("./") || piece.starts_with("../") || piece.starts_with('@');
    letters >= 3
        && segments >= 1
        && !piece.contains("//")
        && !piece.split('/').any(|s| s.len() > 80 || looks_random(s.as_bytes(), s.bytes().filter(u8::is_ascii_digit).count()))
        && (is_file_name(last)
            || (rooted && segments >= 2)
            || slashes >= 2 && piece.split('/').all(|s| s.len() != 1)
            || first_is_folder(piece))
}

fn first_is_folder(piece: &str) -> bool {
    let first = piece.split('/').next().unwrap_or_default();
    matches!(
        first,
        "src"
            | "lib"
            | "docs"
            | "doc"
            | "test"
            | "tests"
            | "packages"
            | "crates"
            | "apps"
            | "scripts"
            | "bin"
            | "cmd"
            | "internal"
            | "pkg"
            | "examples"
            | "config"
            | "dist"
            | "origin"
            | "feature"
            | "fix"
            | "feat"
    )
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(n, b)| if matches!(n, 8 | 13 | 18 | 23) { *b == b'-' } else { b.is_ascii_hexdigit() })
}

fn is_version(piece: &str) -> bool {
    let body = piece.strip_prefix('v').unwrap_or(piece);
    let core = body.split(['-', '+']).next().unwrap_or_default();
    let mut parts = 0;
    for part in core.split('.') {
        if part.is_empty() || part.len() > 6 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return false;
        }
        parts += 1;
    }
    (3..=4).contains(&parts) && body.len() < 40
}

/// Whether letters and digits alternate as in keys and encoded data.
fn looks_random(bytes: &[u8], digits: usize) -> bool {
    if bytes.len() < 20 || bytes.iter().any(|b| matches!(b, b'_' | b'.' | b'-' | b':')) && bytes.len() < 40 {
        return false;
    }
    let lower = bytes.iter().filter(|b| b.is_ascii_lowercase()).count();
    let upper = bytes.iter().filter(|b| b.is_ascii_uppercase()).count();
    digits * 12 > bytes.len() && lower > 2 && upper > 2
}
