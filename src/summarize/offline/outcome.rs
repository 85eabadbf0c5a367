//! Commands and how they ended.
//!
//! Agents report a failed command in different ways (a flag, a line at the end, a test runner's count), and the line
//! that says why may stand anywhere in megabytes of output.

use std::sync::LazyLock;

use regex::Regex;

use super::names::{self, Shape};
use crate::text::errors::{ERRORS, rank as rank_error};

/// What a command is to a reader of the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// It only looks: `ls`, `grep`, `git status`.
    Look,
    /// It does something.
    Act,
    /// It checks: tests, builds, linters.
    Check,
    /// It changes what others see: commits, pushes, releases, installs.
    Effect,
}

/// A command line, made short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// What tells it from others: program and verb.
    pub key: String,
    /// How it is shown: without the change of folder before it and the filters behind it.
    pub shown: String,
    /// What it is.
    pub weight: Weight,
    /// The file that it looks at, when that is just one.
    pub file: Option<String>,
}

const LOOKS: &[&str] = &[
    "ls", "cat", "grep", "rg", "find", "fd", "head", "tail", "sed", "awk", "wc", "pwd", "echo", "which", "tree", "stat", "file", "du",
    "df", "ps", "env", "type", "less", "sort", "jq", "diff", "printf", "date", "whoami", "true", "test", "sleep", "cd", "export", "mkdir",
    "touch", "nl", "cut", "uniq", "xargs", "open", "code", "man", "uname", "id", "hexdump", "xxd", "kill", "pkill",
];

const CHECKS: &[&str] = &[
    "test",
    "tests",
    "check",
    "build",
    "lint",
    "clippy",
    "typecheck",
    "tsc",
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "eslint",
    "biome",
    "mypy",
    "ruff",
    "fmt",
    "verify",
    "ci",
    "compile",
    "ctest",
    "rspec",
    "phpunit",
    "tsgo",
    "vet",
    "nextest",
    "bench",
    "check-types",
    "type-check",
    "e2e",
];

/// Reads a command line.
pub(super) fn command(line: &str) -> Command {
    let flat: String = line.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).take(12).collect::<Vec<_>>().join("; ");
    let mut best: Option<(Weight, &str)> = None;
    for part in split_chain(&flat) {
        let weight = weigh(part);
        // Of several checks the tests are the one whose counts are printed.
        let tests = |part: &str| weight == Weight::Check && part.contains("test");
        if best.is_none_or(|(known, other)| weight > known || weight == known && tests(part) && !tests(other)) {
            best = Some((weight, part));
        }
    }
    let (weight, part) = best.unwrap_or((Weight::Look, flat.as_str()));
    let shown = unfilter(part);
    let file = if weight == Weight::Look { only_file(shown).map(str::to_owned) } else { None };
    Command { key: key(shown), shown: crate::text::one_line(&shown.replace('`', "'"), 100), weight, file }
}

/// The commands of a chain, in order; quotes are respected.
fn split_chain(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut quote = None;
    let mut start = 0;
    let mut escaped = false;
    let bytes = line.as_bytes();
    let mut n = 0;
    while let Some(b) = bytes.get(n).copied() {
        match (quote, b) {
            _ if escaped => escaped = false,
            (_, b'\\') => escaped = true,
            (Some(q), _) if q == b => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(b),
            (None, b';') | (None, b'&' | b'|') if b == b';' || bytes.get(n + 1) == Some(&b) => {
                out.push(line.get(start..n).unwrap_or_default().trim());
                n += usize::from(b != b';');
                start = n + 1;
            }
            _ => {}
        }
        n += 1;
    }
    out.push(line.get(start..).unwrap_or_default().trim());
    out.retain(|part| !part.is_empty());
    out
}

/// The words of a command without assignments and wrappers before it.
fn words(part: &str) -> impl Iterator<Item = &str> + Clone {
    part.trim_start_matches('(').split_whitespace().skip_while(|w| {
        (w.contains('=') && !w.starts_with('-'))
            || matches!(*w, "sudo" | "time" | "env" | "nohup" | "timeout" | "exec" | "command")
            || w.bytes().all(|b| b.is_ascii_digit())
    })
}

fn weigh(part: &str) -> Weight {
    let mut words = words(part);
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    if !program.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !program.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'+'))
    {
        return Weight::Look;
    }
    let verb = words.clone().find(|w| !w.starts_with('-')).unwrap_or_default();
    match program {
        "git" | "gh" | "hg" | "jj" => match verb {
            "commit" | "push" | "merge" | "rebase" | "tag" | "checkout" | "switch" | "revert" | "reset" | "cherry-pick" | "pr"
            | "release" | "mv" | "rm" | "stash" | "init" | "clone" | "pull" => Weight::Effect,
            _ => Weight::Look,
        },
        _ if LOOKS.contains(&program) && !(program == "sed" && part.contains(" -i")) => Weight::Look,
        _ if CHECKS.contains(&program) => Weight::Check,
        "npm" | "pnpm" | "yarn" | "bun" | "cargo" | "go" | "make" | "just" | "npx" | "dotnet" | "mvn" | "gradle" | "gradlew" | "mix"
        | "rake" | "uv" | "poetry" | "deno" | "turbo" | "nx" | "zig" | "stack" | "cabal" | "bazel" | "python" | "python3" | "docker" => {
            let mut rest = words.filter(|w| !w.starts_with('-')).take(4);
            let first = rest.clone().next().unwrap_or_default();
            if matches!(first, "install" | "add" | "publish" | "remove" | "uninstall" | "release" | "version" | "deploy") {
                Weight::Effect
            } else if rest.any(|w| w.split([':', '-', '_']).any(|piece| CHECKS.contains(&piece))) {
                Weight::Check
            } else {
                Weight::Act
            }
        }
        "kubectl" | "terraform" | "helm" | "pip" | "pip3" | "brew" | "apt" | "apt-get" | "rm" | "mv" | "cp" | "chmod" | "ln" => {
            Weight::Effect
        }
        _ => Weight::Act,
    }
}

/// The file that a command looks at, when it names just one.
fn only_file(shown: &str) -> Option<&str> {
    let mut files = words(shown)
        .skip(1)
        .map(|word| word.trim_matches(['"', '\'']))
        .filter(|word| names::shape(word) == Some(Shape::Path) && word.rsplit(['/', '\\']).next().is_some_and(names::is_file_name));
    files.next().filter(|_| files.next().is_none())
}

/// A command without the filters behind it.
fn unfilter(part: &str) -> &str {
    let mut quote = None;
    for (at, c) in part.char_indices() {
        match (quote, c) {
            (Some(q), _) if q == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '|') => return part.get(..at).unwrap_or(part).trim().trim_end_matches("2>&1").trim(),
            _ => {}
        }
    }
    part.trim_end_matches("2>&1").trim()
}

fn key(shown: &str) -> String {
    let kept: Vec<&str> = words(shown)
        .take_while(|w| !w.starts_with(['"', '\'']))
        .filter(|w| !w.starts_with('-') && !w.starts_with('>') && !w.starts_with("2>"))
        .take(3)
        .collect();
    kept.join(" ")
}

/// The message of a `git commit`, its first line.
pub(super) fn commit_message(line: &str) -> Option<&str> {
    let at = line.find("commit ")?;
    let rest = line.get(at..)?;
    let mark = rest.find("-m ").map(|n| n + 3).or_else(|| rest.find("-am ").map(|n| n + 4))?;
    let rest = rest.get(mark..)?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let body = rest.get(1..)?;
    let body = body.strip_prefix("$(cat <<").map_or(body, |b| b.split_once('\n').map_or(b, |(_, b)| b));
    let first = body.split('\n').next().unwrap_or_default();
    let first = first.split(quote).next().unwrap_or_default().trim();
    (!first.is_empty()).then_some(first)
}

/// What git says of a commit that it made: branch, short hash, message.
pub(super) fn commit_made(output: &str) -> Option<(&str, &str, &str)> {
    output.lines().rev().take(400).find_map(|line| {
        let inner = line.trim().strip_prefix('[')?;
        let (head, message) = inner.split_once("] ")?;
        let mut words = head.split(' ');
        let branch = words.next()?;
        let hash = words.next_back()?;
        let is_hash = hash.len() >= 7 && hash.len() <= 40 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        (is_hash && !branch.is_empty()).then_some((branch, hash, message.trim()))
    })
}

/// How a command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Whether it failed.
    pub failed: bool,
    /// The exit code, where one is stated and not zero.
    pub code: Option<i64>,
    /// The counts of a test runner, as printed.
    pub counts: Option<String>,
    /// The line that says why it failed.
    pub error: Option<String>,
}

static COUNTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?-u:\b)[0-9]+ (?:tests? |specs? |examples? |checks? )?(?:passed|failed|failing|passing|failures?)(?-u:\b)[^\n]{0,60}|test result: \w+[^\n]{0,80}|(?-u:\b)ok \([0-9]+ tests?[^\n]{0,20}\)|(?-u:\b)ran [0-9]+ tests? in [^\n]{0,20}|(?-u:\b)found [0-9]+ (?:errors?|warnings?)[^\n]{0,30}",
    )
    .ok()
});

static FAILED_COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)[1-9][0-9]* (?:tests? |specs? )?(?:failed|failing|failures?)(?-u:\b)|test result: FAILED|(?-u:\b)FAILED \(")
        .ok()
});

static EXIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:exited with(?: exit)? code|exit(?:ed)?(?: with)?(?: code| status)?[:=]?|exit code:?) ?([0-9]{1,3})(?-u:\b)").ok()
});

/// Bytes at the end of an output where an exit code is looked for.
const EXIT_TAIL: usize = 400;

/// Judges a result.
pub(super) fn outcome(output: &str, is_error: bool, code: Option<i64>, weight: Weight) -> Outcome {
    let tail = crate::text::tail(output, EXIT_TAIL);
    let stated = || {
        let last = EXIT.as_ref()?.captures_iter(tail).last()?;
        last.get(1)?.as_str().parse::<i64>().ok()
    };
    let code = code.or_else(stated).filter(|c| *c != 0);
    let counts =
        if weight >= Weight::Act { COUNTS.as_ref().and_then(|r| r.find_iter(crate::text::tail(output, 16 << 10)).last()) } else { None };
    let failing = counts.is_some_and(|m| FAILED_COUNT.as_ref().is_some_and(|r| r.is_match(m.as_str())));
    let counts = counts.map(|m| counted(m.as_str()));
    let failed = is_error || code.is_some() || failing;
    // That a command ended with a code says nothing of why.
    let error = if failed { decisive_line(output).filter(|line| !EXIT.as_ref().is_some_and(|r| r.is_match(line))) } else { None };
    Outcome { failed, code, counts, error }
}

/// What a test runner counted: of a line of Cargo's only the counts that are not zero, others as printed.
fn counted(line: &str) -> String {
    if let Some(rest) = line.trim_start().strip_prefix("test result:") {
        let parts: Vec<&str> = rest
            .split([';', '.'])
            .map(str::trim)
            .filter(|part| part.starts_with(|c: char| matches!(c, '1'..='9')) && (part.ends_with("passed") || part.ends_with("failed")))
            .collect();
        return if parts.is_empty() { "no tests ran".to_owned() } else { parts.join(", ") };
    }
    let line = line.split(" (").next().filter(|l| l.len() > 3).unwrap_or(line);
    crate::text::one_line(line.trim_end_matches([';', ',', ' ', '=']), 60)
}

/// Lines of a log that are kept for their names.
const MOST_FAILING: usize = 40;

/// The lines of a log that tell failures, joined.
pub(super) fn failing_lines(output: &str) -> String {
    let Some(errors) = ERRORS.as_ref() else { return String::new() };
    let lines = output.lines().filter(|line| line.len() < 400 && errors.is_match(line) && rank_error(line) >= 3);
    lines.take(MOST_FAILING).collect::<Vec<_>>().join("\n")
}

/// Bytes at the start of a log that are looked at for the commands it echoes.
const ECHO_BYTES: usize = 8 << 10;

/// The lines by which runners of scripts print the commands that a check is made of, joined: they come again with each run.
pub(super) fn commands_echoed(output: &str) -> String {
    let lines = crate::text::clip(output, ECHO_BYTES).lines();
    let echoed = lines.filter(|line| line.len() < 300 && ["> ", "$ ", "+ "].iter().any(|mark| line.starts_with(mark)));
    echoed.take(MOST_FAILING).collect::<Vec<_>>().join("\n")
}

/// The line of an output that best says what went wrong. All of the output is looked at: compilers print the cause early,
/// test runners late.
pub(super) fn decisive_line(output: &str) -> Option<String> {
    let errors = ERRORS.as_ref()?;
    let mut best: Option<(u8, &str)> = None;
    let mut from = 0;
    while let Some(hit) = errors.find_at(output, from) {
        let start = output.get(..hit.start()).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
        let end = output.get(hit.end()..).and_then(|t| t.find('\n')).map_or(output.len(), |n| hit.end() + n);
        let line = output.get(start..end).unwrap_or_default().trim();
        let rank = rank_error(line);
        // Of equals the first one counts, but the message of an exception stands behind its trace.
        let later = rank == 4
            && best.is_some_and(|(known, first)| {
                known == 4 && first.contains("rror: ") && line.contains("rror: ") && first.starts_with("Traceback")
            });
        if rank > 0 && (best.is_none_or(|(known, _)| rank > known) || later) {
            best = Some((rank, line));
        }
        if rank >= 5 {
            break;
        }
        from = end.max(hit.end());
    }
    let line = best
        .map(|(_, line)| line)
        .or_else(|| output.lines().rev().map(str::trim).find(|l| l.chars().filter(|c| c.is_alphanumeric()).count() > 3))?;
    Some(crate::text::one_line(line, 220))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_a_check_echoes_are_found() {
        let log = "\n> web@1.2.0 check\n> tsgo --noEmit\n\ntest tide::tests::high ... ok\n+ cargo fmt\n";
        assert_eq!(commands_echoed(log), "> web@1.2.0 check\n> tsgo --noEmit\n+ cargo fmt");
    }
}
