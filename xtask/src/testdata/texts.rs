//! Texts that tools print, made to measure: test runs, builds, logs, source listings.

use std::fmt::Write as _;

use crate::sessions::noise;

fn pick<'a>(list: &[&'a str], number: usize) -> &'a str {
    list.get(number % list.len().max(1)).copied().unwrap_or("")
}

/// A number in `0..below` that depends on `seed` only.
pub(crate) fn number(seed: usize, below: usize) -> usize {
    let value = noise(seed as u64 * 31 + 17, 3).iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    value % below.max(1)
}

/// Hexadecimal digits that look like a hash.
pub(crate) fn hash(seed: u64, digits: usize) -> String {
    let mut text: String = noise(seed, digits.div_ceil(2)).iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(digits);
    text
}

/// A listing with line numbers from 1, as a `read` tool shows a file.
pub(crate) fn numbered(text: &str) -> String {
    let mut out = String::new();
    for (index, line) in text.lines().enumerate() {
        let _ = writeln!(out, "{:>4}\t{line}", index + 1);
    }
    out
}

const CRATES: [&str; 24] = [
    "unicode-ident 1.0.22",
    "proc-macro2 1.0.103",
    "quote 1.0.42",
    "libc 0.2.178",
    "cfg-if 1.0.4",
    "memchr 2.7.6",
    "itoa 1.0.15",
    "serde_core 1.0.228",
    "syn 2.0.111",
    "serde 1.0.228",
    "ryu 1.0.20",
    "bytes 1.11.0",
    "pin-project-lite 0.2.16",
    "mio 1.1.1",
    "tokio 1.48.0",
    "http 1.4.0",
    "hyper 1.8.1",
    "tower 0.5.2",
    "axum 0.8.7",
    "rusqlite 0.37.0",
    "csv 1.4.0",
    "tracing 0.1.43",
    "thiserror 2.0.17",
    "anyhow 1.0.100",
];

/// What cargo prints while it builds `package` from nothing.
pub(crate) fn build(package: &str, crates: usize) -> String {
    let mut out = String::new();
    for name in CRATES.iter().take(crates) {
        let (name, version) = name.split_once(' ').unwrap_or((name, "0.0.0"));
        let _ = writeln!(out, "   Compiling {name} v{version}");
    }
    let _ = writeln!(out, "   Compiling {package} v0.6.2 (/home/dev/projects/{package})");
    out
}

const MODULES: [&str; 8] = ["schedule", "tide", "vessel", "berth", "tariff", "import::csv", "http::routes", "store"];
const DOES: [&str; 8] = ["rejects", "accepts", "keeps", "rounds", "orders", "merges", "reads_back", "reports"];
const WHAT: [&str; 9] = [
    "an_empty_stay",
    "a_stay_past_midnight",
    "two_vessels_with_one_name",
    "a_negative_height",
    "the_last_line",
    "a_duplicate_key",
    "an_unknown_berth",
    "times_in_order",
    "a_missing_column",
];

/// The run of `count` unit tests, each on its own line, and then of the integration tests in `failed` and `passed`.
pub(crate) fn test_run(count: usize, suite: &str, passed: &[&str], failed: &[(&str, &str)]) -> String {
    let mut out = String::from("    Finished `test` profile [unoptimized + debuginfo] target(s) in 4.81s\n");
    let _ = writeln!(out, "     Running unittests src/lib.rs (target/debug/deps/harbor-{})\n", hash(count as u64, 16));
    let _ = writeln!(out, "running {count} tests");
    for index in 0..count {
        let (module, does, what) = (pick(&MODULES, index / 27), pick(&DOES, index % 8), pick(&WHAT, index / 3));
        let _ = writeln!(out, "test {module}::tests::{does}_{what}_{index} ... ok");
    }
    let _ = writeln!(out, "\ntest result: ok. {count} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.42s\n");
    let _ = writeln!(out, "     Running tests/{suite}.rs (target/debug/deps/{suite}-{})\n", hash(91, 16));
    let _ = writeln!(out, "running {} tests", passed.len() + failed.len());
    for name in passed {
        let _ = writeln!(out, "test {name} ... ok");
    }
    for (name, _) in failed {
        let _ = writeln!(out, "test {name} ... FAILED");
    }
    if !failed.is_empty() {
        out.push_str("\nfailures:\n");
        for (name, why) in failed {
            let _ = write!(out, "\n---- {name} stdout ----\n\n{why}\n");
        }
        out.push_str("\nfailures:\n");
        for (name, _) in failed {
            let _ = writeln!(out, "    {name}");
        }
    }
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    let _ = writeln!(
        out,
        "\ntest result: {verdict}. {} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.03s",
        passed.len(),
        failed.len()
    );
    if !failed.is_empty() {
        let _ = writeln!(out, "\nerror: test failed, to rerun pass `--test {suite}`\n\nCommand exited with code 101");
    }
    out
}

/// Log lines of a server, `count` of them, from second `start` of a day.
pub(crate) fn log(count: usize, start: usize) -> String {
    const PATHS: [&str; 7] = [
        "GET /v1/berths",
        "GET /v1/berths/7/slots",
        "POST /v1/bookings",
        "GET /v1/tides/today",
        "GET /healthz",
        "GET /v1/export/occupancy.csv",
        "DELETE /v1/bookings/5512",
    ];
    let mut out = String::new();
    for index in 0..count {
        let second = start + index * 7 + number(index, 5);
        let status = if number(start + index, 19) == 0 { 503 } else { 200 };
        let _ = writeln!(
            out,
            "2026-03-02T{:02}:{:02}:{:02}Z  INFO harbor::http: {} -> {status} in {} ms, request {}",
            second / 3600 % 24,
            second / 60 % 60,
            second % 60,
            pick(&PATHS, number(start + index * 3, 64)),
            2 + number(start * 5 + index, 240),
            hash((start + index) as u64, 8),
        );
    }
    out
}

const NOUNS: [&str; 10] = ["berth", "vessel", "window", "tariff", "pilot", "tug", "notice", "cargo", "quay", "station"];
const VERBS: [&str; 8] = ["load", "store", "merge", "check", "count", "rank", "split", "print"];

/// A Rust module of `items` functions that looks like someone's code; `seed` makes it a different one.
pub(crate) fn module(name: &str, seed: usize, items: usize) -> String {
    let mut out = format!(
        "//! {name}: part of the harbor server.\n\nuse std::collections::BTreeMap;\n\nuse crate::error::{{Error, Result}};\nuse crate::schedule::{{BerthId, Booking, DAY}};\n\n"
    );
    for item in 0..items {
        let at = seed * 13 + item;
        let (noun, verb) = (pick(&NOUNS, at * 7 + item), pick(&VERBS, at * 3 + seed));
        let limit = 16 + number(at, 4_000);
        let _ = match number(at, 4) {
            0 => writeln!(
                out,
                "/// At most this many {noun}s in one answer.\npub const MAX_{}_{item}: usize = {limit};\n\n/// Gives the {noun}s of a berth, newest first.\npub fn {verb}_{noun}s_{item}(all: &BTreeMap<BerthId, Vec<Booking>>, berth: BerthId) -> Vec<&Booking> {{\n    let mut found: Vec<&Booking> = all.get(&berth).into_iter().flatten().collect();\n    found.sort_by_key(|booking| std::cmp::Reverse(booking.from));\n    found.truncate({limit});\n    found\n}}\n",
                noun.to_uppercase()
            ),
            1 => writeln!(
                out,
                "/// Reads one {noun} from a row of the table.\npub fn {verb}_{noun}_{item}(row: &[String]) -> Result<(u32, String)> {{\n    let minute = row.first().ok_or(Error::MissingColumn(\"{noun}\"))?;\n    let minute: u32 = minute.trim().parse().map_err(|_| Error::NotANumber(minute.clone()))?;\n    if minute >= {limit} * DAY {{\n        return Err(Error::OutOfRange {{ field: \"{noun}\", value: minute }});\n    }}\n    Ok((minute, row.get(1).cloned().unwrap_or_default()))\n}}\n"
            ),
            2 => writeln!(
                out,
                "#[derive(Debug, Clone, PartialEq)]\npub struct {}{}{item} {{\n    pub id: u32,\n    pub name: String,\n    /// Minutes since the first day of the schedule.\n    pub since: u32,\n    pub limit: usize, // {limit} unless the port says otherwise\n}}\n",
                capital(verb),
                capital(noun)
            ),
            _ => writeln!(
                out,
                "pub fn {verb}_{noun}_{item}(bookings: &[Booking], day: u32) -> usize {{\n    bookings\n        .iter()\n        .filter(|booking| booking.from / DAY <= day && booking.until / DAY >= day)\n        .filter(|booking| booking.length() > {limit} / 60)\n        .count()\n}}\n"
            ),
        };
    }
    out
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}

/// The unified diff of one changed place, as an `edit` tool reports it.
pub(crate) fn diff(path: &str, line: usize, old: &str, new: &str) -> String {
    let mut out = format!("Updated {path}\n\n@@ line {line} @@\n");
    for (sign, text) in [('-', old), ('+', new)] {
        for line in text.lines() {
            let _ = writeln!(out, "{sign}{line}");
        }
    }
    out
}
