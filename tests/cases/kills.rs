//! Runs that are killed, at moments spread over all of their time and what follows: what is left is the old session or the
//! new one, whole, and everything that it refers to is there.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::prune::ALL;
use crate::revisions::{content, references};
use crate::rewrites::{content_of_newest, rich};
use crate::run::Run;

const FOLDER: &str = "s.jsonl.archive";

/// Kills of one kind of rewrite, at least.
const KILLS: u32 = 300;

/// Kills between two measurements of what a run takes: the machine has others to serve, now more and now less.
const ROUND: u32 = 15;

/// The moments lie between the start of a run and so many times its length.
const SPREAD: f64 = 1.5;

/// What there was before, and what an undisturbed run makes of it.
struct Rewrite<'a> {
    args: &'a [&'a str],
    old: &'a [u8],
    new: Vec<u8>,
}

impl Rewrite<'_> {
    /// How long a run takes that nobody kills.
    fn takes(&self) -> Duration {
        let run = Run::of(self.old);
        let begun = Instant::now();
        run.go(self.args).ok();
        let taken = begun.elapsed();
        assert!(run.bytes("s.jsonl") == self.new, "the same run made another session");
        taken
    }

    /// Whether the session is the new one; fails when it is neither, or when something else is there than may be.
    fn old_or_new(&self, run: &Run) -> bool {
        let is_temp = |name: &str| name.starts_with('.') && name.ends_with(".tmp");
        for name in run.names() {
            assert!(["s.jsonl", FOLDER, ".s.jsonl.lock"].contains(&name.as_str()) || is_temp(&name), "{name}");
        }
        for entry in std::fs::read_dir(run.path(FOLDER)).into_iter().flatten() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.ends_with(".epa") || is_temp(&name), "{name}");
        }
        let is = run.bytes("s.jsonl");
        if is == self.old {
            return false;
        }
        assert!(is == self.new, "the session is neither the old one nor the new one");
        let all = references(run, "s.jsonl");
        assert_eq!(all.len(), 1);
        assert!(content(&run.path(FOLDER), &all[&1]) == self.old, "the archive holds another session");
        true
    }

    /// The next run does the work, whatever the killed one left, and a repair clears that away.
    fn goes_on(&self, run: &Run) {
        // A lock file into which its process had written nothing yet is respected for as long as an attempt takes.
        let code = (0..4).map(|_| run.go(self.args).code).find(|code| *code != 5);
        assert_eq!(code, Some(0));
        assert!(content_of_newest(run) == self.old);
        let check = run.json(&["inspect", "--check", "s.jsonl"])["problems"].to_string();
        assert!(!check.contains("missing-archive") && !check.contains("bad-archive") && !check.contains("\"error\""), "{check}");
        run.go(&["prune", "s.jsonl", "--repair=stray-temp"]).ok();
        // The lock of a process that is gone is in nobody's way; who writes takes it away.
        let restored = || run.go(&["prune", "s.jsonl", "--restore", "1"]).code;
        assert!(!run.names().contains(&".s.jsonl.lock".to_owned()) || restored() == 0);
        assert_eq!(run.names(), ["s.jsonl", FOLDER]);
    }

    fn killed(&self) {
        let (mut before, mut after, mut news, mut rounds) = (0, 0, 0, 0_u32);
        // On a machine that is suddenly quicker or slower, some rounds more make up for those that went wrong.
        while before + after < KILLS || (before + after < 4 * KILLS && before.min(after) * 5 < before + after) {
            let takes = self.takes();
            for n in 0..ROUND {
                // No two rounds share their moments.
                let share = (f64::from(n) + f64::from(rounds * 7 % 20) / 20.0) / f64::from(ROUND);
                let run = Run::of(self.old);
                let mut child = run.command(self.args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                std::thread::sleep(takes.mul_f64(SPREAD * share));
                child.kill().unwrap();
                let status = child.wait().unwrap();
                let ended = status.signal().is_none();
                assert!(!ended || status.success(), "{status}");
                let new = self.old_or_new(&run);
                assert!(new || !ended, "a run that ended well left the old session");
                (before, after, news) = (before + u32::from(!ended), after + u32::from(ended), news + u32::from(new));
                if n % 5 == 4 {
                    self.goes_on(&run);
                }
            }
            rounds += 1;
        }
        let all = before + after;
        println!("{all} kills in {rounds} rounds: {before} before the end, {after} after it; {news} new sessions");
        assert!(before * 5 >= all && after * 5 >= all, "{before} before the end and {after} after it");
    }
}

fn killed(old: &[u8], args: &[&str]) {
    let run = Run::of(old);
    run.go(args).ok();
    let new = run.bytes("s.jsonl");
    assert!(new != old);
    Rewrite { args, old, new }.killed();
}

#[test]
fn r25_a_prune_that_is_killed_leaves_the_old_session_or_the_new() {
    killed(&rich(), &[&["prune", "s.jsonl", "--details", "--images", "drop"], ALL].concat());
}

#[test]
fn r25_a_repair_that_is_killed_leaves_the_old_session_or_the_new() {
    killed(&rich(), &["prune", "s.jsonl", "--repair"]);
}
