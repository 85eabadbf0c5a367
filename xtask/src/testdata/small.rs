//! `sessions/small.jsonl`: one bug, found and fixed. The session of the README.

use serde_json::{Value, json};

use super::story::{SONNET, Story};
use super::texts::{build, diff, hash, numbered, test_run};
use crate::sessions::{base64, file, noise, th, title_slot, tx};

pub(crate) const SCHEDULE: &str = include_str!("../../assets/schedule.rs.txt");
pub(crate) const TIDE: &str = include_str!("../../assets/tide.rs.txt");
const OVERLAP: &str = include_str!("../../assets/overlap.rs.txt");

const TESTS: [&str; 7] = [
    "a_rejected_booking_changes_nothing",
    "a_stay_inside_another_is_rejected",
    "arrival_in_the_last_minute_of_a_day_is_taken",
    "back_to_back_at_midnight_is_taken",
    "back_to_back_is_taken",
    "same_time_other_berth_is_taken",
    "same_time_same_berth_is_rejected",
];

const OLD_OVERLAP: &str = "        self.berth == other.berth && self.from <= other.until && other.from <= self.until";
const NEW_OVERLAP: &str = "        self.berth == other.berth && self.from < other.until && other.from < self.until";
const OLD_WINDOW: &str = "            windows.push(Window { opens: start, closes: (day + 1) * DAY - 1 });";
const NEW_WINDOW: &str = "            windows.push(Window { opens: start, closes: (day + 1) * DAY });";

/// A signed thinking block; the signature is noise of the usual length.
pub(crate) fn thought(text: &str, seed: u64) -> Value {
    th(text, &base64(&noise(seed, 180)))
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "oldText": old, "newText": new})
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

fn passing_but(names: &[&str]) -> Vec<&'static str> {
    TESTS.iter().copied().filter(|test| !names.contains(test)).collect()
}

fn failure(test: &str, line: usize, message: &str) -> String {
    format!(
        "thread '{test}' panicked at tests/overlap.rs:{line}:\n{message}\nstack backtrace:\n   0: __rustc::rust_begin_unwind\n   1: core::panicking::panic_fmt\n   2: core::result::unwrap_failed\n   3: overlap::{test}\nnote: run with `RUST_BACKTRACE=full` for a verbose backtrace"
    )
}

pub(crate) fn session() -> Vec<u8> {
    let mut s = Story::new(1, "2026-03-02T08:14:05.120Z", SONNET);
    s.line(title_slot("Back-to-back bookings", &s.iso()));
    s.line(
        json!({
            "type": "session", "version": 3, "id": "0195565e-1a40-7c11-9d52-5b0c6e1f7a10", "timestamp": s.iso(),
            "cwd": "/home/dev/projects/harbor", "title": "Back-to-back bookings", "titleSource": "auto",
        })
        .to_string(),
    );
    s.push("model_change", json!({"model": "anthropic/claude-sonnet-4-5", "role": "default"}));
    s.push("thinking_level_change", json!({"thinkingLevel": "medium"}));
    s.user(
        "The harbour office cannot book two vessels back to back: Aurelia leaves berth 7 at 14:00, Nordlys should \
         arrive at 14:00, and the server answers 409 with \"berth 7 is taken\". Please find and fix it. Don't change \
         the public API of harbor::schedule (the desk client links against it), and always run cargo fmt and clippy \
         before you say you are done. tests/overlap.rs already has failing tests for it.",
    );
    find(&mut s);
    fix(&mut s);
    finish(&mut s);
    file(&s.lines)
}

fn find(s: &mut Story) {
    let read = s.call_id();
    s.assistant(json!([
        thought("Back to back means until of one equals from of the next. The comparison in the schedule is probably closed on both ends. Look at the code first, then at the tests.", 11),
        tx("I'll start with the schedule itself."),
        crate::sessions::call(&read, "read", json!({"path": "src/schedule.rs"})),
    ]));
    s.result(&read, "read", &numbered(SCHEDULE), json!({}));

    let midnight = failure(
        "back_to_back_at_midnight_is_taken",
        55,
        "called `Result::unwrap()` on an `Err` value: Overlap(Booking { vessel: VesselId(\"Aurelia\"), berth: BerthId(7), from: 1080, until: 1440, draught: Draught(640) })",
    );
    let noon = failure(
        "back_to_back_is_taken",
        48,
        "called `Result::unwrap()` on an `Err` value: Overlap(Booking { vessel: VesselId(\"Aurelia\"), berth: BerthId(7), from: 360, until: 840, draught: Draught(640) })",
    );
    let last = failure(
        "arrival_in_the_last_minute_of_a_day_is_taken",
        61,
        "called `Result::unwrap()` on an `Err` value: TooShallow(Some(Window { opens: 1440, closes: 2879 }))",
    );
    let failed = [
        ("arrival_in_the_last_minute_of_a_day_is_taken", last.as_str()),
        ("back_to_back_at_midnight_is_taken", midnight.as_str()),
        ("back_to_back_is_taken", noon.as_str()),
    ];
    let names = failed.map(|(name, _)| name);
    let run = build("harbor", 24) + &test_run(188, "overlap", &passing_but(&names), &failed);
    let (tests, cargo) = (s.call_id(), s.call_id());
    s.assistant(json!([
        tx("`overlaps` compares with `<=` on both sides, so a stay still holds its berth in the minute of its departure. Let me see what the tests expect, and run them before I change anything."),
        crate::sessions::call(&tests, "read", json!({"path": "tests/overlap.rs"})),
        crate::sessions::call(&cargo, "bash", bash("cargo test 2>&1")),
    ]));
    s.result(&tests, "read", &numbered(OVERLAP), json!({}));
    s.result(&cargo, "bash", &run, json!({"isError": true, "details": {"exitCode": 101}}));

    s.tool(
        "Three fail, and the third for another reason (TooShallow). First who wrote the `<=`, in case it was on purpose.",
        "bash",
        bash("git log -4 -p --format='%h %an %ad %s' --date=short -- src/schedule.rs | head -80"),
        &format!(
            "{} M. Brandt 2026-02-19 Say in the rejection who holds the berth\n\n-    Overlap,\n+    Overlap(Booking),\n\n{} M. Brandt 2026-02-11 Compare stays inclusively so that equal begins collide\n\n-        self.berth == other.berth && self.from < other.until && other.from < self.until\n+        self.berth == other.berth && self.from <= other.until && other.from <= self.until\n\n{} I. Okafor 2026-01-30 Reject stays of no length\n\n+        if booking.length() == 0 {{\n+            return Err(Rejection::Empty);\n+        }}\n\n{} I. Okafor 2026-01-22 Schedule: bookings by berth\n",
            hash(21, 7),
            hash(22, 7),
            hash(23, 7),
            hash(24, 7)
        ),
    );
}

fn fix(s: &mut Story) {
    s.tool(
        &format!(
            "Commit {} made the comparison inclusive so that two stays with the same begin collide; but those collide with `<` too, because stays of no length are rejected since January. Half-open intervals are right here, and `free_slots` already assumes them. I decided against a special case for equal ends because it would leave the two functions disagreeing.",
            hash(22, 7)
        ),
        "edit",
        edit("src/schedule.rs", OLD_OVERLAP, NEW_OVERLAP),
        &diff("src/schedule.rs", 45, OLD_OVERLAP, NEW_OVERLAP),
    );
    let last = failure(
        "arrival_in_the_last_minute_of_a_day_is_taken",
        61,
        "called `Result::unwrap()` on an `Err` value: TooShallow(Some(Window { opens: 1440, closes: 2879 }))",
    );
    let name = "arrival_in_the_last_minute_of_a_day_is_taken";
    s.failing_tool(
        "",
        "bash",
        bash("cargo test 2>&1"),
        &(build("harbor", 0) + &test_run(188, "overlap", &passing_but(&[name]), &[(name, &last)])),
    );
    s.tool(
        "Both back-to-back tests pass. What is left: arriving at 23:59 is called too shallow although the water is deep all week. The window it names closes at 2879, one minute before midnight.",
        "read",
        json!({"path": "src/tide.rs"}),
        &numbered(TIDE),
    );
    let call = s.call_id();
    s.assistant(json!([
        thought("windows() cuts an open window at the end of the day with closes = (day+1)*DAY - 1. contains() is half-open: minute < closes. So the last minute of each day belongs to no window. Fix: closes = (day+1)*DAY. Does anyone print closes? Rejection prints opens only.", 12),
        tx("Same kind of mistake: `contains` is half-open, but a window cut at midnight closes at `DAY - 1`, so minute 1439 lies in no window. It must close at `DAY`."),
        crate::sessions::call(&call, "edit", edit("src/tide.rs", OLD_WINDOW, NEW_WINDOW)),
    ]));
    s.result(&call, "edit", &diff("src/tide.rs", 112, OLD_WINDOW, NEW_WINDOW), json!({}));
    s.tool("", "bash", bash("cargo test 2>&1"), &(build("harbor", 0) + &test_run(188, "overlap", &TESTS, &[])));
}

fn finish(s: &mut Story) {
    s.failing_tool(
        "All green. Now the formatter and clippy, as you asked.",
        "bash",
        bash("cargo fmt --check && cargo clippy --all-targets -- -D warnings"),
        &format!(
            "Diff in /home/dev/projects/harbor/src/schedule.rs:43:\n     /// Whether the two stays need the same berth at the same time.\n     pub fn overlaps(&self, other: &Booking) -> bool {{\n-{NEW_OVERLAP}\n+        self.berth == other.berth\n+            && self.from < other.until\n+            && other.from < self.until\n     }}\n\nCommand exited with code 1"
        ),
    );
    s.tool(
        "",
        "bash",
        bash("cargo fmt && cargo clippy --all-targets -- -D warnings && git diff --stat"),
        "    Checking harbor v0.6.2 (/home/dev/projects/harbor)\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in 3.02s\n src/schedule.rs | 4 +++-\n src/tide.rs     | 2 +-\n 2 files changed, 4 insertions(+), 2 deletions(-)\n",
    );
    s.say(
        "Fixed, in two places:\n\n- `src/schedule.rs`: stays are half-open now (`from < other.until`), so a vessel may arrive in the minute in which the other leaves.\n- `src/tide.rs`: a window that is open at midnight closes at `DAY`, not one minute earlier; arrivals at 23:59 were refused.\n\nAll 188 unit tests and the 7 tests of tests/overlap.rs pass, cargo fmt and clippy are clean, the public API is unchanged.",
    );
    s.wait(540);
    s.user(
        "Great. Add a regression test with the real case (berth 7, Aurelia until 14:00, Nordlys from 14:00, and a third \
         one 13:59 that must still be rejected), a line in CHANGELOG.md, and commit. Never push, I do that.",
    );
    let added = "#[test]\nfn berth_7_on_2_march() {\n    let mut schedule = schedule();\n    let aurelia = booking(\"Aurelia\", BERTH_7, at(0, 6, 0), at(0, 14, 0));\n    schedule.insert(aurelia.clone()).unwrap();\n    schedule.insert(booking(\"Nordlys\", BERTH_7, at(0, 14, 0), at(0, 20, 0))).unwrap();\n    let early = booking(\"Petrel\", BERTH_7, at(0, 13, 59), at(0, 14, 30));\n    assert_eq!(schedule.insert(early), Err(Rejection::Overlap(aurelia)));\n}";
    let anchor = "    assert_eq!(schedule.iter().count(), 1);\n}";
    let change = "- Bookings may follow each other without a gap; arrivals at 23:59 are no longer called too shallow.";
    s.parallel(
        vec![tx("Both edits at once, they do not depend on each other.")],
        vec![
            ("edit", edit("tests/overlap.rs", anchor, &format!("{anchor}\n\n{added}")), diff("tests/overlap.rs", 79, "", added)),
            ("edit", edit("CHANGELOG.md", "## Unreleased\n", &format!("## Unreleased\n\n{change}\n")), diff("CHANGELOG.md", 5, "", change)),
        ],
    );
    let mut names = TESTS.to_vec();
    names.insert(4, "berth_7_on_2_march");
    s.tool("", "bash", bash("cargo fmt --check && cargo test 2>&1"), &(build("harbor", 0) + &test_run(188, "overlap", &names, &[])));
    s.tool(
        "",
        "bash",
        bash("git add -A && git commit -m 'Let bookings follow each other without a gap' && git status -sb"),
        &format!("[main {}] Let bookings follow each other without a gap\n 4 files changed, 16 insertions(+), 2 deletions(-)\n## main...origin/main [ahead 1]\n", hash(31, 7)),
    );
    s.say(&format!("Committed as {} on main, not pushed. 8 of 8 tests in tests/overlap.rs pass.", hash(31, 7)));
    s.wait(95);
    s.user("One more thing before I push: does occupancy() count the minute of departure twice now when stays touch?");
}
