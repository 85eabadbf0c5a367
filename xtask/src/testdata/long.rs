//! `sessions/long.jsonl`: three days on one project, with everything that a session of omp may hold.
//!
//! Rules, numbers, hashes and names come back over the days on purpose: what a summary must not lose can be looked up
//! in what is asked later.

use serde_json::{Value, json};

use super::long_later;
use super::small::thought;
use super::story::{SONNET, Story};
use super::texts::{build, diff, hash, module, numbered, test_run};
use crate::sessions::{call, file, image_block, png, title_slot, tx};

/// The commits of the story, by number.
pub(crate) fn commit(number: u64) -> String {
    hash(700 + number, 7)
}

pub(crate) const ISSUE: &str = "https://tracker.harbor.example/issues/2214";
pub(crate) const STATIONS: &str = "https://tides.example.org/api/v2/stations";

pub(crate) fn session() -> Vec<u8> {
    let mut s = Story::new(2, "2026-03-02T07:58:11.000Z", SONNET);
    s.line(title_slot("Occupancy export, 503s, port files 🚢", "2026-03-04T07:02:41.907Z"));
    s.line(
        json!({
            "type": "session", "version": 3, "id": "01955650-4d2e-7a90-8c1f-2e9b7f0a6d44", "timestamp": s.iso(),
            "cwd": "/home/dev/projects/harbor", "title": "Occupancy export, 503s, port files 🚢",
            "titleSource": "auto", "additionalDirectories": ["/home/dev/projects/harbor-desk"],
            "providerPromptCacheKey": "harbor-01955650",
        })
        .to_string(),
    );
    s.push("credential_pin", json!({"provider": "anthropic", "hash": hash(3, 16)}));
    s.push("model_change", json!({"model": "anthropic/claude-sonnet-4-5", "role": "default"}));
    s.push("thinking_level_change", json!({"thinkingLevel": "high", "configured": "auto"}));
    s.push("service_tier_change", json!({"serviceTier": {"anthropic": "default"}}));
    s.push(
        "session_init",
        json!({"systemPrompt": "You work on the harbor server.", "task": "", "tools": ["read", "edit", "write", "bash", "grep", "todo"]}),
    );
    monday(&mut s);
    long_later::tuesday(&mut s);
    long_later::wednesday(&mut s);
    file(&s.lines)
}

pub(crate) fn bash(command: &str) -> Value {
    json!({ "command": command })
}

/// The `todo` tool with a list of (task, status).
pub(crate) fn todo(s: &mut Story, say: &str, phase: &str, tasks: &[(&str, &str)]) {
    let list: Vec<Value> = tasks.iter().map(|(task, status)| json!({"content": task, "status": status})).collect();
    let text: String = tasks.iter().map(|(task, status)| format!("- [{status}] {task}\n")).collect();
    let details = json!({"details": {"phases": [{"name": phase, "tasks": list}], "storage": "session"}});
    let arguments =
        json!({"ops": [{"op": "init", "list": [{"phase": phase, "items": tasks.iter().map(|(task, _)| *task).collect::<Vec<_>>()}]}]});
    s.tool_with(say, "todo", arguments, &format!("{phase}\n{text}"), details);
}

/// Read a module, change one place, run the tests.
pub(crate) fn cycle(s: &mut Story, say: &str, path: &str, seed: usize, (old, new): (&str, &str), tests: usize) {
    let name = path.trim_start_matches("src/").trim_end_matches(".rs");
    s.tool(say, "read", json!({ "path": path }), &numbered(&module(name, seed, 15)));
    s.tool("", "edit", json!({"path": path, "oldText": old, "newText": new}), &diff(path, 20 + seed, old, new));
    s.tool("", "bash", bash("cargo test --lib 2>&1 | tail -60"), &test_run(tests, "overlap", &["back_to_back_is_taken"], &[]));
}

fn monday(s: &mut Story) {
    s.push(
        "custom_message",
        json!({
            "customType": "project-notes", "display": false, "attribution": "agent",
            "content": "AGENTS.md: harbor is a berth booking server (axum, rusqlite). Port 8473. Tests: cargo test. Releases are made by M. Brandt.",
            "details": {"source": "/home/dev/projects/harbor/AGENTS.md"},
        }),
    );
    s.user(&format!(
        "Two standing rules for everything we do here: never touch migrations/ (Brandt owns the schema), and always run cargo fmt before committing. Now the task, {ISSUE}: the office needs GET /v1/export/occupancy.csv, one row a berth and day, columns berth;day;percent;minutes. At most 4096 rows an answer, the server listens on 8473 as always."
    ));
    todo(
        s,
        "I'll plan this first.",
        "Export",
        &[
            ("Read the routes and the store", "in_progress"),
            ("Write src/export.rs with the row type", "pending"),
            ("Add the route and the limit of 4096 rows", "pending"),
            ("Tests with a week of bookings", "pending"),
        ],
    );
    let start = s.parallel(
        vec![
            thought("Three modules matter. They do not depend on each other, so read them at once.", 41),
            tx("Reading the three modules that are involved."),
        ],
        vec![
            ("read", json!({"path": "src/http/routes.rs"}), numbered(&module("http::routes", 1, 10))),
            ("read", json!({"path": "src/store.rs:1-120"}), numbered(&module("store", 2, 9))),
            ("read", json!({"path": "src/occupancy.rs"}), numbered(&module("occupancy", 3, 8))),
        ],
    );
    s.push("label", json!({"targetId": start, "label": "before the export"}));
    s.tool_with(
        "Is there any CSV writing yet?",
        "grep",
        json!({"pattern": "csv::Writer", "path": "src"}),
        "No matches found",
        json!({"useless": true}),
    );
    cycle(
        s,
        "There is none, so src/export.rs is new ground. First the percent helper that both sides share.",
        "src/occupancy.rs",
        3,
        ("    taken * 100 / DAY", "    percent(taken, DAY)"),
        44,
    );
    s.tool("", "write", json!({"path": "src/export.rs", "content": module("export", 5, 4)}), "Wrote src/export.rs (96 lines)");
    cycle(
        s,
        "Now the route.",
        "src/http/routes.rs",
        4,
        (
            "        .route(\"/v1/berths\", get(berths))",
            "        .route(\"/v1/berths\", get(berths))\n        .route(\"/v1/export/occupancy.csv\", get(export::occupancy))",
        ),
        45,
    );
    s.failing_tool("", "bash", bash("cargo build 2>&1"), &(build("harbor", 19) + "error[E0308]: mismatched types\n  --> src/export.rs:41:24\n   |\n41 |     writer.serialize(row.berth)?;\n   |            --------- ^^^^^^^^^ expected `&OccupancyRow`, found `BerthId`\n\nerror: could not compile `harbor` (lib) due to 1 previous error\n\nCommand exited with code 101\n"));
    cycle(
        s,
        "The writer wants the whole row.",
        "src/export.rs",
        5,
        ("    writer.serialize(row.berth)?;", "    writer.serialize(&row)?;"),
        46,
    );
    errors_and_retries(s);
    screenshot(s);
    s.message(json!({"role": "bashExecution", "command": "curl -s localhost:8473/v1/export/occupancy.csv | head -3", "output": "berth;day;percent;minutes\n7;0;58;840\n7;1;33;480\n", "exitCode": 0, "cancelled": false, "truncated": false}));
    s.message(json!({"role": "bashExecution", "command": "cat ~/private/shopping.txt", "output": "PRIVATE-LIST: bread, coffee, a new kettle\n", "exitCode": 0, "cancelled": false, "truncated": false, "excludeFromContext": true}));
    abandoned_streaming(s);
    finish_export(s);
    compact_monday(s);
}

fn errors_and_retries(s: &mut Story) {
    s.wait(30);
    s.answer(json!([]), "error", Some("529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"));
    s.push("custom", json!({"customType": "auto_retry", "data": {"attempt": 1, "delayMs": 2000}}));
    s.answer(json!([]), "error", Some("529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"));
    s.push("custom", json!({"customType": "auto_retry", "data": {"attempt": 2, "delayMs": 4000}}));
    s.say("The export builds and 46 unit tests pass. What is missing is the limit of 4096 rows. I would cut in SQL (LIMIT 4097, to see whether there is more) rather than after reading, because the table grows by 30 rows a day and berth.");
    s.push("ttsr_injection", json!({"injectedRules": ["no-unwrap-in-routes"]}));
    s.push("model_usage", json!({"model": "anthropic/claude-haiku-4-5", "purpose": "title", "usage": {"input": 812, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 821}}));
}

fn screenshot(s: &mut Story) {
    s.wait(900);
    s.user_blocks(json!([
        tx("Yes, LIMIT 4097. And this is how the sheet shows it on Ms Ito's machine: the column percent turns into dates. Decimal comma or quotes? 📉"),
        image_block(&png(320, 200), "image/png"),
    ]));
    s.assistant(json!([
        thought("A value such as 3.12 is read as a date in a German or Japanese locale. Whole percent has no separator at all. So: integers.", 42),
        tx("The sheet reads `3.12` as 3 December. I'll write whole percent (integers have no separator that a locale could misread) and keep `minutes` for those who need it exactly. No quotes: the office's importer does not strip them."),
    ]));
    cycle(s, "", "src/export.rs", 6, ("    pub percent: f32,", "    pub percent: u32,"), 47);
    cycle(
        s,
        "Now the limit.",
        "src/store.rs",
        7,
        (
            "        .prepare(\"SELECT * FROM booking ORDER BY berth, begins\")?;",
            "        .prepare(\"SELECT * FROM booking ORDER BY berth, begins LIMIT 4097\")?;",
        ),
        48,
    );
}

/// The user asks for streaming, it fails, and the session goes back to before the question.
fn abandoned_streaming(s: &mut Story) {
    let fork = s.say("Done: 4096 rows, and a 413 with a hint when there are more.");
    s.push("label", json!({"targetId": fork, "label": "limit works"}));
    s.user("Could we stream instead of limiting? Try axum's Body::from_stream with the rows as they come.");
    s.tool("I'll try it on the side.", "bash", bash("git switch -c streaming-export"), "Switched to a new branch 'streaming-export'\n");
    s.tool("", "read", json!({"path": "src/http/stream.rs"}), &numbered(&module("http::stream", 9, 9)));
    s.tool(
        "",
        "write",
        json!({"path": "src/http/stream.rs", "content": module("http::stream", 10, 6)}),
        "Wrote src/http/stream.rs (131 lines)",
    );
    s.failing_tool("", "bash", bash("cargo test --test export_stream 2>&1"), "error: future cannot be sent between threads safely\n  --> src/http/stream.rs:58:5\n   |\n   = help: within `Statement<'_>`, the trait `Sync` is not implemented for `*mut ffi::sqlite3_stmt`\n\nCommand exited with code 101\n");
    s.tool("", "bash", bash("cargo tree -i rusqlite"), "rusqlite v0.37.0\n└── harbor v0.6.2 (/home/dev/projects/harbor)\n");
    let leaf = s.say("Streaming does not work as asked: a rusqlite statement may not cross an await (it is not Sync), so every row would go through a channel from a blocking thread. That is 60 more lines for answers that are at most 130 kB.");
    s.go_to(&fork);
    s.push(
        "branch_summary",
        json!({
            "fromId": leaf,
            "summary": "The user explored a different branch before returning here.\n\n## Goal\nStream the CSV export with Body::from_stream instead of limiting it to 4096 rows.\n\n## Key Decisions\n- **Dropped**: a rusqlite statement is not Sync and may not be held across an await; a channel from a blocking thread costs 60 lines for answers of at most 130 kB.\n\n<files>\n# src/http/\nstream.rs (RW)\n</files>",
            "details": {"readFiles": [], "modifiedFiles": ["src/http/stream.rs"]},
        }),
    );
}

fn finish_export(s: &mut Story) {
    s.user("OK, forget streaming, the limit is fine. Finish with tests over a week of bookings and commit.");
    cycle(s, "Tests first.", "src/export.rs", 11, ("mod tests {", "mod tests {\n    const WEEK: u32 = 7;"), 52);
    cycle(s, "One more for the 413.", "src/http/routes.rs", 12, ("        StatusCode::OK", "        StatusCode::PAYLOAD_TOO_LARGE"), 54);
    s.failing_tool(
        "",
        "bash",
        bash("git commit -am 'Export the occupancy as CSV'"),
        "pre-commit: cargo fmt --check failed: src/export.rs:17\n\nCommand exited with code 1\n",
    );
    s.tool(
        "The rule was there for a reason: fmt first.",
        "bash",
        bash("cargo fmt && git commit -am 'Export the occupancy as CSV'"),
        &format!("[main {}] Export the occupancy as CSV\n 4 files changed, 214 insertions(+), 9 deletions(-)\n", commit(1)),
    );
    todo(
        s,
        "",
        "Export",
        &[
            ("Read the routes and the store", "completed"),
            ("Write src/export.rs with the row type", "completed"),
            ("Add the route and the limit of 4096 rows", "completed"),
            ("Tests with a week of bookings", "completed"),
        ],
    );
    s.say(&format!("Committed as {}: GET /v1/export/occupancy.csv, whole percent, at most 4096 rows (413 above), 54 unit tests pass. migrations/ is untouched.", commit(1)));
}

fn compact_monday(s: &mut Story) {
    let kept = s.user("Thanks. Write the release note for it, three sentences, for the office staff.");
    s.tool("", "read", json!({"path": "docs/releases.md:1-40"}), &numbered("# Releases\n\n## 0.6.2\n\nThe desk shows who holds a berth when a booking is refused.\n\n## 0.6.1\n\nTide tables may have comments.\n"));
    s.tool(
        "",
        "edit",
        json!({"path": "docs/releases.md", "oldText": "# Releases\n", "newText": "# Releases\n\n## Next\n"}),
        &diff("docs/releases.md", 1, "# Releases", "# Releases\n\n## Next\n\nThe occupancy of all berths can be downloaded as a table."),
    );
    s.say("\"The occupancy of all berths can be downloaded as a table (Berths, Download). Percentages are whole numbers, so that spreadsheets no longer take them for dates. A download holds at most 4096 rows; choose a shorter period if you are told so.\"");
    let details = json!({"readFiles": ["docs/releases.md", "src/http/routes.rs"], "modifiedFiles": ["src/export.rs", "src/http/routes.rs", "src/occupancy.rs", "src/store.rs"]});
    s.compact(
        &format!("## Goal\nServe GET /v1/export/occupancy.csv for the port office ({ISSUE}).\n\n## Constraints & Preferences\n- Never touch migrations/ (Brandt owns the schema).\n- Always run cargo fmt before committing.\n- At most 4096 rows an answer; the server listens on 8473.\n\n## Progress\n### Done\n- [x] src/export.rs, the route, the limit (LIMIT 4097 in SQL, 413 above), 54 unit tests\n- [x] Committed as {}\n### In Progress\n- [ ] Release note in docs/releases.md\n\n## Key Decisions\n- **Whole percent**: `3.12` was read as a date by Ms Ito's spreadsheet.\n- **No streaming**: a rusqlite statement is not Sync.\n\n## Next Steps\n1. Release note.\n\n<files>\n# docs/\nreleases.md (Read)\n# src/\nexport.rs (RW)\noccupancy.rs (RW)\nstore.rs (RW)\n## http/\nroutes.rs (RW)\n</files>", commit(1)),
        "Built and committed the CSV export of the occupancy; the release note is left.",
        &kept,
        details,
    );
    let id = s.call_id();
    s.assistant(json!([tx("One last check that the note is in place."), call(&id, "bash", bash("git status --short"))]));
    s.result(&id, "bash", " M docs/releases.md\n", json!({}));
    s.say("docs/releases.md is changed and not committed yet.");
}
