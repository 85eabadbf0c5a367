//! The table of what counts as a secret by its shape. Prefixes and lengths are those that the
//! providers document or hand out; where a length is not fixed, the pattern asks for less than
//! the shortest seen and `accept` for the look of a random token.

use super::value::{dense, filled_up, has_digit, interleaved, irregular, is_placeholder};
use super::{Hit, assign, pem, person};

/// One kind of secret.
#[derive(Debug)]
pub(super) struct Rule {
    /// Stands in the mask and in the counts. Empty: the finder decides.
    pub(super) kind: &'static str,
    /// Literals (lower case when `any_case`) at which the rule is tried.
    pub(super) anchors: &'static [&'static str],
    pub(super) any_case: bool,
    /// The anchor must not continue a word: `task-runner` holds no `sk-`.
    pub(super) word_start: bool,
    pub(super) finder: Finder,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Finder {
    /// Matched at the anchor; masks the group `secret` or the whole match if `accept` agrees.
    Regex { pattern: &'static str, accept: fn(&str) -> bool },
    /// Text, offset of the anchor, end of the text already masked.
    Function(fn(&str, usize, usize) -> Option<Hit>),
}

impl Rule {
    /// Whether `rest` starts with one of the anchors.
    pub(super) fn anchored(&self, rest: &str) -> bool {
        let bytes = rest.as_bytes();
        self.anchors.iter().any(|anchor| match bytes.get(..anchor.len()) {
            Some(head) if self.any_case => head.eq_ignore_ascii_case(anchor.as_bytes()),
            Some(head) => head == anchor.as_bytes(),
            None => false,
        })
    }
}

const fn token(kind: &'static str, anchors: &'static [&'static str], pattern: &'static str, accept: fn(&str) -> bool) -> Rule {
    Rule { kind, anchors, any_case: false, word_start: true, finder: Finder::Regex { pattern, accept } }
}

const fn header(kind: &'static str, anchors: &'static [&'static str], pattern: &'static str, accept: fn(&str) -> bool) -> Rule {
    Rule { kind, anchors, any_case: true, word_start: true, finder: Finder::Regex { pattern, accept } }
}

/// Keys and tokens, never paths. The first rule that agrees at a place wins.
pub(super) const SECRETS: &[Rule] = &[
    token("anthropic-key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{16,}", random),
    token("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], r"sk-[a-z]+-[A-Za-z0-9_-]{16,}", random),
    token("api-key", &["sk-"], r"sk-[A-Za-z0-9_-]{16,}", dense),
    token("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"], r"[a-z]+_(?:live_|test_)?[A-Za-z0-9]{16,}", random),
    token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[a-z]_[A-Za-z0-9]{20,}", not_placeholder),
    token("github-token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{20,}", not_placeholder),
    token("gitlab-token", &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-"], r"gl[a-z]+-[A-Za-z0-9_.-]{18,}", random),
    token(
        "slack-token",
        &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe.xoxp-", "xapp-"],
        r"x[a-z.]+-[A-Za-z0-9-]{10,}",
        random,
    ),
    token("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows)/(?<secret>[A-Za-z0-9/_-]{16,})", random),
    token("aws-key-id", &["AKIA", "ASIA"], r"A[KS]IA[A-Z0-9]{16}(?-u:\b)", not_placeholder),
    token("google-key", &["AIza"], r"AIza[A-Za-z0-9_-]{30,}", not_placeholder),
    token("google-token", &["ya29.", "GOCSPX-"], r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}", random),
    token("huggingface-token", &["hf_"], r"hf_[A-Za-z0-9]{24,}", not_placeholder),
    token("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{30,}", not_placeholder),
    token("pypi-token", &["pypi-"], r"pypi-[A-Za-z0-9_-]{32,}", dense),
    token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{32,}", not_placeholder),
    token("sendgrid-key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", not_placeholder),
    token("api-key", &["xai-", "gsk_", "pplx-", "tvly-", "r8_", "fw_", "csk-"], r"[a-z0-9]+[-_][A-Za-z0-9-]{20,}", dense),
    token(
        "api-key",
        &["dckr_pat_", "lin_api_", "glsa_", "sntrys_", "shpat_", "shpss_", "PMAK-", "ATATT3x", "hvs."],
        r"[A-Za-z]+[-_.3]?(?:pat_|api_)?[A-Za-z0-9_=-]{20,}",
        random,
    ),
    token("age-key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[A-Z0-9]{40,}", not_placeholder),
    token("jwt", &["eyJ"], r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}", not_placeholder),
    token("telegram-token", &["bot"], r"bot(?<secret>[0-9]{6,12}:[A-Za-z0-9_-]{30,})", not_placeholder),
    token(
        "url-signature",
        &["X-Amz-Signature=", "X-Amz-Security-Token=", "X-Goog-Signature="],
        r"X-[A-Za-z-]+=(?<secret>[A-Za-z0-9%/+=._-]{16,})",
        not_placeholder,
    ),
    // Words of a command line, up to what ends it.
    token(
        "command-password",
        &["-u", "--user", "--proxy-user"],
        r#"-(?:u|-user|-proxy-user)[ =]?\\*["']?[A-Za-z0-9._@+-]+:(?<secret>[^\s"'\\/\[][^\s"'\\]{3,})"#,
        spoken,
    ),
    token("command-password", &["sshpass"], r#"sshpass[ \t]+-p[ \t]*\\*["']?(?<secret>[^\s"'\\\[][^\s"'\\]{2,})"#, spoken),
    token("command-password", &["login"], r#"login[^\n\\|;&]{0,120}?[ \t]-p[ =]\\*["']?(?<secret>[^\s"'\\\[][^\s"'\\]{3,})"#, spoken),
    token(
        "command-password",
        &["redis-cli"],
        r#"redis-cli[^\n\\|;&]{0,120}?[ \t]-a[ \t]+\\*["']?(?<secret>[^\s"'\\\[][^\s"'\\]{3,})"#,
        spoken,
    ),
    token(
        "command-password",
        &["mysql", "mariadb"],
        r#"(?:mysql|mariadb)[a-z-]*[ \t](?:[^\n\\|;&]{0,120}?[ \t])??-p\\*["']?(?<secret>[^\s"'\\\[][^\s"'\\]{3,})"#,
        spoken,
    ),
    token(
        "netrc-password",
        &["machine"],
        r"machine[ \t]+\S+(?:\s|\\[nt])+login(?:\s|\\[nt])+\S+?(?:\s|\\[nt])+password[ \t]+(?<secret>[^\s\\\[][^\s\\]{3,})",
        not_placeholder,
    ),
    header("element-password", &["<password>", "<passwd>"], r"(?i-u:<passw(?:or)?d>)(?<secret>[^<\s\[][^<\s]{3,})</", not_placeholder),
    header(
        "cookie",
        &["cookie", "set-cookie"],
        r#"(?i-u:(?:set-)?cookie)\\*["']?[ \t]*[:=][ \t]*\\*["']?(?<secret>[^\s=;"'\\\[]+=[^\s;"'\\]{12,}(?:;[ \t]*[^\s=;"'\\]+(?:=[^\s;"'\\]*)?)*)"#,
        baked,
    ),
    Rule { kind: "private-key", anchors: &["-----BEGIN "], any_case: false, word_start: false, finder: Finder::Function(pem::find) },
    Rule { kind: "url-password", anchors: &["://"], any_case: false, word_start: false, finder: Finder::Function(assign::url_password) },
    header(
        "authorization",
        &["authorization"],
        r#"(?i-u:authorization)\\*["']?[ \t]*(?:[:=]|=>)[ \t]*\\*["'`]?(?i-u:basic|bearer|token|digest|negotiate|apikey|bot)[ \t]+(?<secret>[A-Za-z0-9._~+/=:|-]{6,})"#,
        mixed,
    ),
    header(
        "authorization",
        &["authorization"],
        r#"(?i-u:authorization)\\*["']?[ \t]*(?:[:=]|=>)[ \t]*\\*["'`]?(?<secret>[A-Za-z0-9._~+/=:|-]{8,})"#,
        credential,
    ),
    header("bearer-token", &["bearer"], r"(?i-u:bearer)(?:[ \t]+|%20)(?<secret>[A-Za-z0-9._~+/=|-]{12,})", credential),
    Rule {
        kind: "",
        anchors: &["pass", "pwd", "secret", "token", "key", "credential"],
        any_case: true,
        word_start: false,
        finder: Finder::Function(assign::find),
    },
];

/// Names of people in paths.
pub(super) const PERSON: &[Rule] = &[Rule {
    kind: person::HOME,
    anchors: &["/home/", "/Users/", "\\Users\\", "-home-", "-Users-", "%2Fhome%2F", "%2FUsers%2F"],
    any_case: false,
    word_start: false,
    finder: Finder::Function(person::home),
}];

/// Addresses of people; masked only on request, because they are also in licences and package files.
pub(super) const EMAIL: &[Rule] =
    &[Rule { kind: "email", anchors: &["@"], any_case: false, word_start: false, finder: Finder::Function(person::email) }];

/// Not a row of one character, and not only words: a digit or letters in no order.
fn random(token: &str) -> bool {
    not_placeholder(token) && (has_digit(token) || irregular(token))
}

/// Behind a header's name and scheme little else can stand: letters and digits, or letters in no
/// order.
fn mixed(token: &str) -> bool {
    let letters = token.bytes().any(|b| b.is_ascii_alphabetic());
    !is_placeholder(token) && (letters && has_digit(token) || irregular(token))
}

/// What a command takes for a password: no number, no flag, no variable.
fn spoken(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_alphabetic()) && !word.starts_with(['-', '$', '<', '{', '%', '*']) && !is_placeholder(word)
}

/// The first value of a cookie looks like a token.
fn baked(cookies: &str) -> bool {
    let value = cookies.split(';').next().and_then(|first| first.split_once('=')).map_or("", |(_, value)| value);
    not_placeholder(value) && (has_digit(value) || irregular(value))
}

/// In looser surroundings, where prose could stand too.
fn credential(token: &str) -> bool {
    !is_placeholder(token) && (dense(token) || interleaved(token) || irregular(token))
}

/// Not filled up with one character, as in `ghp_xxxxxxxxxxxx`.
fn not_placeholder(token: &str) -> bool {
    !filled_up(token)
}
