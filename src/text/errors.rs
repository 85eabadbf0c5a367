//! Lines that tell what went wrong: compilers print the cause early, test runners late, and in between stand megabytes that
//! nobody needs. Summaries quote the one line that decides; a shortened log keeps its ends and all such lines.

use std::sync::LazyLock;

use regex::Regex;

use super::cut;

/// Words that stand in lines about errors; a line without one of them tells of none.
pub(crate) static ERRORS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i-u:error|fail|panic|exception|fatal|traceback|cannot|can't|could not|denied|not found|undefined|unresolved|enoent|refused|timed? ?out|segfault|segmentation|not ok|no such|invalid|✗|✖|×|assert)").ok()
});

/// How much a line tells of an error. 0: no error line; 5: names the cause in a compiler's or runner's own form.
#[must_use]
pub fn rank(line: &str) -> u8 {
    let lower = line.to_lowercase();
    if ["0 error", "no error", "0 fail", "without error", "errors: 0", "failed: 0", "failures: 0"].iter().any(|none| lower.contains(none))
        || line.len() > 2_000
    {
        return 0;
    }
    let coded = line.contains("error[")
        || line.contains("error TS")
        || line.contains("panicked at")
        || lower.starts_with("error:")
        || lower.contains(": error:")
        || lower.contains(" error: ") && !lower.contains("npm");
    let thrown = line.split(": ").next().is_some_and(|head| {
        !head.contains(' ') && (head.ends_with("Error") || head.ends_with("Exception")) || head.starts_with("Uncaught")
    });
    let fatal = lower.starts_with("fatal")
        || lower.starts_with("assertionerror")
        || lower.contains("assertion") && lower.contains("fail")
        || line.contains("ENOENT")
        || line.starts_with("E   ");
    if coded || thrown || fatal {
        return 5;
    }
    if line.starts_with("FAIL")
        || line.contains("FAILED")
        || lower.starts_with("failed")
        || ['✗', '✖', '×'].iter().any(|c| line.starts_with(*c))
        || lower.contains("not ok ")
    {
        return 4;
    }
    if ["npm err", "command exited", "exit code", "traceback", "lifecycle script"].iter().any(|weak| lower.contains(weak)) {
        return 1;
    }
    if ["cannot", "could not", "not found", "denied", "no such", "undefined", "refused", "unresolved", "timed out"]
        .iter()
        .any(|m| lower.contains(m))
    {
        return 3;
    }
    2
}

/// Characters of a shortened log's first and last lines, and of the lines between that tell of errors.
const ROOM: [usize; 3] = [300, 900, 1_200];

/// Characters of one line of a shortened log.
const LINE: usize = 300;

/// The rank from which a line between the ends is kept: one that names what failed.
const DECISIVE: u8 = 3;

/// A log shortened to its first and last lines and the lines between that tell what failed, about 2,400 characters at most;
/// what was cut is told where it stood. A log that is no longer than that is returned whole.
#[must_use]
pub fn excerpt(log: &str) -> String {
    if log.chars().nth(ROOM.iter().sum()).is_none() {
        return log.to_owned();
    }
    let lines: Vec<&str> = log.lines().collect();
    let mut kept = vec![false; lines.len()];
    let cost = |n: usize| lines.get(n).map_or(0, |line| line.chars().take(LINE).count() + 1);
    let mut take = |order: &mut dyn Iterator<Item = usize>, room: usize, all: bool| {
        let mut left = room;
        for n in order {
            match kept.get_mut(n) {
                Some(kept) if !*kept && cost(n) <= left => {
                    *kept = true;
                    left -= cost(n);
                }
                Some(kept) if *kept || all => {}
                _ => break,
            }
        }
    };
    let [head, tail, errors] = ROOM;
    take(&mut (0..lines.len()), head, false);
    take(&mut (0..lines.len()).rev(), tail, false);
    let mut ranked: Vec<(u8, usize)> = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let told = ERRORS.as_ref().is_some_and(|errors| errors.is_match(line)).then(|| rank(line)).filter(|rank| *rank >= DECISIVE);
        ranked.extend(told.map(|rank| (rank, n)));
    }
    ranked.sort_by_key(|(rank, n)| (std::cmp::Reverse(*rank), *n));
    take(&mut ranked.into_iter().map(|(_, n)| n), errors, true);

    let mut out = String::new();
    let mut cut = 0;
    for (line, kept) in lines.iter().zip(&kept) {
        if !kept {
            cut += 1;
            continue;
        }
        push_cut(&mut out, &mut cut);
        out.push_str(&cut::middle(line, LINE, 0.5, |n| format!(" [… {n} characters cut …] ")));
        out.push('\n');
    }
    push_cut(&mut out, &mut cut);
    out.truncate(out.trim_end().len());
    out
}

fn push_cut(out: &mut String, cut: &mut usize) {
    match std::mem::take(cut) {
        0 => {}
        1 => out.push_str("[… 1 line cut …]\n"),
        n => out.push_str(&format!("[… {n} lines cut …]\n")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn p05_a_shortened_log_keeps_its_ends_and_the_lines_that_tell_the_error() {
        let log: String = (0..5_000)
            .map(|n| match n {
                4_500 => "error[E0308]: mismatched types\n".to_owned(),
                n => format!("   Compiling crate-{n} v0.1.{n}\n"),
            })
            .collect();
        let short = excerpt(&log);
        assert!(short.len() < 2_600, "{}", short.len());
        assert!(short.starts_with("   Compiling crate-0 ") && short.ends_with("crate-4999 v0.1.4999"), "{short}");
        assert!(short.contains("lines cut …]\nerror[E0308]: mismatched types\n[… "), "{short}");
        assert_eq!(excerpt(&short), short);
        assert_eq!(excerpt("short"), "short");
        let one = "x".repeat(100_000);
        assert!(excerpt(&one).chars().count() < 400);
        // A log of nothing but errors is cut as well.
        assert!(excerpt(&"error: no\n".repeat(10_000)).len() < 2_600);
    }
}
