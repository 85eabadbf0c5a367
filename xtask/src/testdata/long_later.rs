//! The second and third day of `sessions/long.jsonl`: server errors, one endless turn over forty port files, a client
//! on Windows, and a question that nobody has answered yet.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::long::{ISSUE, STATIONS, bash, commit, cycle, todo};
use super::small::thought;
use super::story::{GPT, SONNET, Story};
use super::texts::{diff, hash, log, module, number, numbered, test_run};
use crate::sessions::{call, image_block, png, tx};

/// Port file, display name, the zone it names, the zone it should name.
const PORTS: [(&str, &str, &str, &str); 20] = [
    ("yokohama", "横浜港", "JST", "Asia/Tokyo"),
    ("kobe", "神戸港", "JST", "Asia/Tokyo"),
    ("busan", "부산항", "KST", "Asia/Seoul"),
    ("shanghai", "上海港", "CST", "Asia/Shanghai"),
    ("rotterdam", "Rotterdam", "CET", "Europe/Amsterdam"),
    ("hamburg", "Hamburg", "CET", "Europe/Berlin"),
    ("goeteborg", "Göteborg", "CET", "Europe/Stockholm"),
    ("gdansk", "Gdańsk", "CET", "Europe/Warsaw"),
    ("lisboa", "Lisboa", "WET", "Europe/Lisbon"),
    ("halifax", "Halifax", "AST", "America/Halifax"),
    ("oakland", "Oakland", "PST", "America/Los_Angeles"),
    ("santos", "Santos", "BRT", "America/Sao_Paulo"),
    ("valparaiso", "Valparaíso", "CLT", "America/Santiago"),
    ("durban", "Durban", "SAST", "Africa/Johannesburg"),
    ("mombasa", "Mombasa", "EAT", "Africa/Nairobi"),
    ("mumbai", "मुंबई", "IST", "Asia/Kolkata"),
    ("colombo", "කොළඹ", "IST", "Asia/Colombo"),
    ("fremantle", "Fremantle", "AWST", "Australia/Perth"),
    ("auckland", "Auckland", "NZST", "Pacific/Auckland"),
    ("reykjavik", "Reykjavík", "GMT", "Atlantic/Reykjavik"),
];

pub(crate) fn tuesday(s: &mut Story) {
    s.wait(23 * 3600);
    s.push("session_info", json!({"name": "harbor: export and 503s"}));
    s.user("Good morning. Since last night the server answers 503 now and then, about 1 in 19 requests, always after 250 ms. Logs are in /var/log/harbor/. Find out why; change nothing before you know. And commit the release note.");
    s.tool(
        "The note first, then the logs.",
        "bash",
        bash("cargo fmt && git commit -am 'Release note for the export'"),
        &format!("[main {}] Release note for the export\n 1 file changed, 6 insertions(+)\n", commit(2)),
    );
    s.parallel(
        vec![thought("503 after exactly 250 ms smells like a timeout of ours. Who waits 250 ms? busy_timeout of SQLite perhaps.", 51), tx("Three windows of the log at once, and the place where 250 is set.")],
        vec![
            ("bash", bash("sed -n 1,60p /var/log/harbor/http.log"), log(60, 3_600)),
            ("bash", bash("sed -n 4000,4060p /var/log/harbor/http.log"), log(60, 30_000)),
            ("bash", bash("sed -n 9000,9060p /var/log/harbor/http.log"), log(60, 61_000)),
            ("grep", json!({"pattern": "250", "path": "src"}), "src/store.rs:88:    connection.busy_timeout(Duration::from_millis(250))?;\nsrc/tariff.rs:12:pub const NIGHT_RATE: u32 = 250;\n".to_owned()),
        ],
    );
    s.tool_with("", "grep", json!({"pattern": "SQLITE_LOCKED", "path": "/var/log/harbor"}), "No matches found", json!({"useless": true}));
    s.tool(
        "",
        "bash",
        bash("grep -c SQLITE_BUSY /var/log/harbor/store.log; grep SQLITE_BUSY /var/log/harbor/store.log | tail -30"),
        &format!("417\n{}", log(30, 66_000).replace("INFO harbor::http", "WARN harbor::store: SQLITE_BUSY (5) after 250 ms")),
    );
    s.say("417 times SQLITE_BUSY: a writer holds the database for longer than the busy timeout of 250 ms (src/store.rs:88), readers give up, the route turns that into 503. It began when the export went live, because the export reads for up to 900 ms and in rollback-journal mode a reader blocks the writer, and the writer the next readers. Two ways: a longer timeout (hides it) or WAL (readers and the writer no longer block each other).");
    s.user("WAL then. But remember the rule: no new file in migrations/.");
    s.assistant(json!([
        thought("journal_mode=WAL is persistent in the file, can be set by a pragma when the connection opens; no migration needed. The network share? /srv/harbor is a local disk, checked in AGENTS.md? Check with df.", 52),
        tx("No migration is needed: `PRAGMA journal_mode=WAL` on connect is enough, it is stored in the database file. I keep the busy timeout at 250 ms, since with WAL only two writers can collide."),
    ]));
    s.tool("WAL must not lie on a network share.", "bash", bash("df -T /srv/harbor"), "Filesystem     Type 1K-blocks     Used Available Use% Mounted on\n/dev/nvme0n1p3 ext4 244506940 88120444 143892360  38% /srv/harbor\n");
    cycle(
        s,
        "Local ext4, good.",
        "src/store.rs",
        21,
        (
            "    connection.busy_timeout(Duration::from_millis(250))?;",
            "    connection.busy_timeout(Duration::from_millis(250))?;\n    connection.pragma_update(None, \"journal_mode\", \"WAL\")?;",
        ),
        55,
    );
    s.failing_tool("", "bash", bash("cargo test --test concurrent 2>&1"), &test_run(20, "concurrent", &["one_writer"], &[("export_while_booking", "thread 'export_while_booking' panicked at tests/concurrent.rs:71:\nassertion `left == right` failed\n  left: 503\n right: 200")]));
    cycle(
        s,
        "The pool opens its connections before the pragma runs on the first one. The pragma belongs in the pool's initializer.",
        "src/store/pool.rs",
        22,
        ("    Pool::new(manager)", "    Pool::builder().connection_customizer(Box::new(Wal)).build(manager)"),
        56,
    );
    s.tool(
        "",
        "bash",
        bash("cargo test --test concurrent 2>&1"),
        &test_run(20, "concurrent", &["one_writer", "export_while_booking"], &[]),
    );
    s.tool(
        "",
        "bash",
        bash("cargo fmt && git commit -am 'Let readers and the writer work at the same time'"),
        &format!(
            "[main {}] Let readers and the writer work at the same time\n 3 files changed, 31 insertions(+), 4 deletions(-)\n",
            commit(3)
        ),
    );
    s.say(&format!("Fixed in {}: WAL by pragma in the pool's initializer, tests/concurrent.rs covers it. The 250 ms stay.", commit(3)));
    s.push("model_change", json!({"model": "openai/gpt-5.1", "role": "default"}));
    s.model = GPT;
    s.push("thinking_level_change", json!({"thinkingLevel": "low"}));
    endless_turn(s);
}

/// Twenty files, each read and changed: forty calls without a word of the user.
fn endless_turn(s: &mut Story) {
    s.wait(2400);
    s.user(&format!("Next: the port files. ports/*.toml name their zone by abbreviations (JST, CET, IST …), and IST is two different zones. Replace each by its IANA name, look up the station at {STATIONS} where in doubt. There are 20 files; go through all of them, don't stop until done, must not change anything but the zone line."));
    let mut kept = String::new();
    for (index, (port, name, old, new)) in PORTS.iter().enumerate() {
        let path = format!("ports/{port}.toml");
        let say = match index {
            0 => "One file after the other: read, change the line, next.",
            3 => "CST is China here, not Central Time: the station is 9437000-CN.",
            16 => "IST again, but Colombo is Asia/Colombo (+05:30, other history than Kolkata).",
            _ => "",
        };
        let read = s.tool(say, "read", json!({ "path": path }), &numbered(&port_file(name, old, index)));
        if index == 15 {
            kept = read;
        }
        let (old_line, new_line) = (format!("zone = \"{old}\""), format!("zone = \"{new}\""));
        s.tool("", "edit", json!({"path": path, "oldText": old_line, "newText": new_line}), &diff(&path, 4, &old_line, &new_line));
    }
    s.say("All 20 port files name IANA zones now; only the zone lines changed. Two abbreviations were ambiguous: IST (Mumbai: Asia/Kolkata, Colombo: Asia/Colombo) and CST (Shanghai: Asia/Shanghai).");
    s.compact(
        &format!("## Goal\nServe GET /v1/export/occupancy.csv ({ISSUE}), then end the 503s, then IANA zones in ports/*.toml.\n\n## Constraints & Preferences\n- Never touch migrations/ (Brandt owns the schema).\n- Always run cargo fmt before committing.\n- At most 4096 rows an answer; the server listens on 8473.\n\n## Progress\n### Done\n- [x] CSV export, committed as {}\n- [x] Release note, committed as {}\n- [x] 503s: SQLITE_BUSY after 250 ms, cured by WAL in the pool's initializer, committed as {}\n### In Progress\n- [ ] Zones in the 20 port files\n\n## Key Decisions\n- **Whole percent**: `3.12` was read as a date.\n- **WAL by pragma**: no migration needed; the busy timeout stays at 250 ms.\n\n## Next Steps\n1. Finish the port files.\n\n---\n\n**Turn Context (split turn):**\n\n## Original Request\nReplace the zone abbreviation of each of the 20 files in ports/*.toml by its IANA name, nothing else; look up the station at {STATIONS} where in doubt.\n\n## Early Progress\n- Read and changed 15 files, yokohama.toml to mombasa.toml\n- CST is China here (station 9437000-CN)\n\n## Context for Suffix\n- Five files are left; IST is ambiguous.\n\n<files>\n# ports/\nbusan.toml (RW)\nyokohama.toml (RW)\n… (13 more files omitted)\n# src/\nexport.rs (RW)\nstore.rs (RW)\n## store/\npool.rs (RW)\n</files>", commit(1), commit(2), commit(3)),
        "Export, 503s and most port files are done; five port files were left.",
        &kept,
        json!({"readFiles": ["src/tariff.rs"], "modifiedFiles": PORTS.iter().take(15).map(|(port, ..)| format!("ports/{port}.toml")).chain(["src/export.rs".into(), "src/store.rs".into(), "src/store/pool.rs".into()]).collect::<Vec<_>>()}),
    );
}

fn port_file(name: &str, zone: &str, seed: usize) -> String {
    let mut out = format!("[port]\nname = \"{name}\"\nid = {}\nzone = \"{zone}\"\nsill_cm = {}\n", 100 + seed, 180 + number(seed, 140));
    for berth in 1..=14 {
        let _ = write!(
            out,
            "\n[[berth]]\nnumber = {berth}\nlength_m = {}\ndepth_cm = {}\ncrane = {}\n",
            90 + number(seed * 40 + berth, 260),
            600 + number(seed * 41 + berth, 900),
            number(seed + berth, 2) == 0
        );
    }
    out
}

pub(crate) fn wednesday(s: &mut Story) {
    s.wait(22 * 3600);
    s.push("mode_change", json!({"mode": "none"}));
    s.user("Commit the port files. Then: Ms Ito writes from Yokohama: 「横浜港の潮位が九時間ずれています。昨日までは正しく表示されていました。」 So since yesterday her tides are nine hours off. Our change?");
    s.tool(
        "",
        "bash",
        bash("cargo fmt && git add ports && git commit -m 'Name time zones by their IANA names'"),
        &format!("[main {}] Name time zones by their IANA names\n 20 files changed, 20 insertions(+), 20 deletions(-)\n", commit(4)),
    );
    s.parallel(
        vec![thought("Nine hours is the offset of Japan. Either applied twice or not at all. The desk client is on Windows and parses the zone itself.", 61), tx("九時間 is exactly Japan's offset: it is now applied twice, or not at all. The client is the suspect, it reads the zone on its own.")],
        vec![
            ("read", json!({"path": "C:\\code\\harbor-desk\\sync.toml"}), numbered("[server]\nurl = \"http://harbor.example:8473\"\ncache = 'C:\\Users\\ito\\AppData\\Local\\harbor\\cache'\n\n[zone]\nfallback = \"UTC\"\n")),
            ("read", json!({"path": "C:\\code\\harbor-desk\\src\\sync.rs:40-120"}), numbered(&module("sync", 31, 34))),
            ("grep", json!({"pattern": "\"JST\"", "path": "C:\\code\\harbor-desk\\src"}), "C:\\code\\harbor-desk\\src\\zone.rs:17:        \"JST\" => Some(9 * 60),\nC:\\code\\harbor-desk\\src\\zone.rs:44:            assert_eq!(offset(\"JST\"), Some(540));\n".to_owned()),
        ],
    );
    s.say("Found: C:\\code\\harbor-desk\\src\\zone.rs:17 knows eleven abbreviations and nothing else; `Asia/Tokyo` falls back to UTC (sync.toml), hence nine hours. Yesterday's change of the port files broke every client older than today.");
    dead_ends(s);
    chart(s);
    fix_client(s);
    ending(s);
}

/// Two short branches that end nowhere: an aborted answer, and a `/clear` that was taken back.
fn dead_ends(s: &mut Story) {
    let fork = s.leaf.clone().unwrap_or_default();
    s.user("Revert the port files then.");
    s.answer(json!([thought("Reverting brings IST back.", 62), tx("Reverting now would")]), "aborted", Some("Request was aborted"));
    s.go_to(&fork);
    s.push("reset_boundary", json!({}));
    s.user("Which clients are older than today?");
    s.say("I can't see any client list from here.");
    s.go_to(&fork);
    s.user("No revert: IST must not come back. Teach the client IANA names, but old clients need to work until they are updated. Ideas? Numbers, please: how many clients, how often do they sync?");
    s.tool(
        "Counting in the access log.",
        "bash",
        bash("awk '/desk/ {print $7}' /var/log/harbor/access.log | sort | uniq -c | sort -rn | head -20"),
        &(0..20).fold(String::new(), |mut out, index| {
            let _ = writeln!(out, "{:>7} harbor-desk/0.{}.{} {}", 9_000 / (index + 1), 4 + index % 3, index, hash(900 + index as u64, 12));
            out
        }),
    );
    s.answer(json!([]), "error", Some("Connection error."));
    s.say("37 clients, 31 of them are 0.5 or older, each syncs every 15 minutes. Decision I'd propose: the server sends both, `zone` (abbreviation, as before) and `zone_iana`, until the last 0.5 client is gone. Reason: old clients never see a name they don't know, new ones prefer `zone_iana`; a version switch by User-Agent would break the three that sit behind the proxy.");
}

fn chart(s: &mut Story) {
    s.user("Both fields it is. Make sure the tide chart is right for Yokohama afterwards.");
    todo(
        s,
        "",
        "Zones",
        &[
            ("Send zone and zone_iana", "in_progress"),
            ("Client: prefer zone_iana", "pending"),
            ("Check the chart of Yokohama", "pending"),
            ("Tell Ms Ito", "pending"),
        ],
    );
    cycle(
        s,
        "The server first.",
        "src/http/ports.rs",
        41,
        ("    pub zone: String,", "    pub zone: String,\n    pub zone_iana: String,"),
        58,
    );
    cycle(
        s,
        "The abbreviations go into one table, by port, so that IST stays unambiguous.",
        "src/zones.rs",
        42,
        ("pub const ABBREVIATIONS: [(&str, &str); 0] = [];", "pub const ABBREVIATIONS: [(&str, &str); 20] = include!(\"zones.in\");"),
        60,
    );
    let id = s.call_id();
    s.assistant(json!([
        tx("And the chart, as the client draws it now."),
        call(&id, "read", json!({"path": "target/charts/yokohama.png"}))
    ]));
    s.result_blocks(
        &id,
        "read",
        json!([tx("Read image target/charts/yokohama.png (640x240)"), image_block(&png(640, 240), "image/png")]),
        json!({}),
    );
    s.push(
        "custom",
        json!({"customType": "user_todo_edit", "data": {"phases": [{"name": "Zones", "tasks": [
            {"content": "Send zone and zone_iana", "status": "completed"},
            {"content": "Client: prefer zone_iana", "status": "in_progress"},
            {"content": "Check the chart of Yokohama", "status": "pending"},
            {"content": "Tell Ms Ito", "status": "pending"},
            {"content": "Remove `zone` when no 0.5 client is left", "status": "pending"},
        ]}]}}),
    );
    s.say("High water is drawn at 05:12, the table says 05:12 for 2026-03-04. The server's side is right ✅");
}

fn fix_client(s: &mut Story) {
    s.push("model_change", json!({"model": "anthropic/claude-sonnet-4-5", "role": "default"}));
    s.model = SONNET;
    s.user("Now the client. It is built on Windows, use cargo xwin; don't change its wire format otherwise.");
    let path = "C:\\code\\harbor-desk\\src\\zone.rs";
    s.tool("", "read", json!({"path": format!("{path}:raw")}), &module("zone", 43, 30));
    s.tool(
        "",
        "edit",
        json!({"path": path, "oldText": "        _ => None,", "newText": "        name => iana_offset(name),"}),
        &diff(path, 28, "        _ => None,", "        name => iana_offset(name),"),
    );
    s.failing_tool("", "bash", bash("cargo xwin test --manifest-path 'C:\\code\\harbor-desk\\Cargo.toml'"), "error: linking with `lld-link` failed: exit code: 1\n  = note: lld-link: error: could not open 'C:\\Program Files\\Windows Kits\\10\\lib\\um\\x64\\kernel32.lib': No such file or directory\n\nCommand exited with code 101\n");
    s.failing_tool(
        "The kit is not where xwin looks. Its cache may be incomplete.",
        "bash",
        bash("cargo xwin cache xwin --xwin-arch x86_64"),
        "error: unable to fetch manifest: https://aka.ms/vs/17/release/channel: operation timed out\n\nCommand exited with code 1\n",
    );
    s.tool("", "bash", bash("ls ~/.cache/cargo-xwin/xwin; XWIN_CACHE_DIR=/srv/cache/xwin cargo xwin test --manifest-path 'C:\\code\\harbor-desk\\Cargo.toml'"), &("DONE  crt  sdk\n".to_owned() + &test_run(31, "zones", &["asia_tokyo_is_540", "colombo_is_330", "jst_still_works"], &[])));
    s.say("The shared cache in /srv/cache/xwin is complete; with XWIN_CACHE_DIR set, 31 unit tests and 3 zone tests of the client pass.");
    s.user("Put that variable into .cargo/config.toml of harbor-desk, then commit both repositories.");
    let calls: Vec<(&str, Value, String)> = vec![
        (
            "write",
            json!({"path": "C:\\code\\harbor-desk\\.cargo\\config.toml", "content": "[env]\nXWIN_CACHE_DIR = \"/srv/cache/xwin\"\n"}),
            "Wrote C:\\code\\harbor-desk\\.cargo\\config.toml (2 lines)".to_owned(),
        ),
        (
            "bash",
            bash("cargo fmt && git commit -am 'Send zone and zone_iana'"),
            format!("[main {}] Send zone and zone_iana\n 3 files changed, 64 insertions(+), 3 deletions(-)\n", commit(5)),
        ),
    ];
    s.parallel(vec![], calls);
    s.tool(
        "",
        "bash",
        bash("cd /home/dev/projects/harbor-desk && cargo fmt && git add -A && git commit -m 'Read zone_iana when the server sends it'"),
        &format!("[main {}] Read zone_iana when the server sends it\n 2 files changed, 41 insertions(+), 2 deletions(-)\n", commit(6)),
    );
    s.say(&format!("Server {}, client {}. Nothing is pushed, migrations/ is untouched.", commit(5), commit(6)));
}

fn ending(s: &mut Story) {
    s.user("Load test before we tell Ms Ito: 37 clients at once, p99 must stay under 250 ms.");
    s.tool("", "bash", bash("oha -z 60s -c 37 http://localhost:8473/v1/ports/yokohama"), &format!("Summary:\n  Success rate: 100.00%\n  Total: 60.0021 secs\n  Requests/sec: 2214.7\n\nLatency distribution:\n  50.00% in 0.0121 secs\n  99.00% in 0.1874 secs\n  99.99% in 0.2402 secs\n\n{}", log(120, 54_000)));
    cycle(
        s,
        "p99 is 187 ms, under the limit but not by much. One query per berth shows in the log; a join would help.",
        "src/http/ports.rs",
        44,
        ("    for berth in port.berths() {", "    for berth in port.berths_with_bookings() {"),
        61,
    );
    s.tool(
        "",
        "bash",
        bash("oha -z 60s -c 37 http://localhost:8473/v1/ports/yokohama"),
        "Summary:\n  Success rate: 100.00%\n  Requests/sec: 5108.2\n\nLatency distribution:\n  99.00% in 0.0633 secs\n",
    );
    s.tool(
        "",
        "bash",
        bash("cargo fmt && git commit -am 'Read the bookings of a port in one query'"),
        &format!("[main {}] Read the bookings of a port in one query\n 1 file changed, 12 insertions(+), 19 deletions(-)\n", commit(7)),
    );
    let answer = s.say(&format!("p99 went from 187 ms to 63 ms with 37 clients, committed as {}. Left: tell Ms Ito (draft: 「本日の更新で直ります。ご不便をおかけしました。」), and remove `zone` when no 0.5 client is left.", commit(7)));
    s.push("label", json!({"targetId": answer, "label": "ready to release 🚢"}));
    s.wait(600);
    s.user(&format!("Before I send it: will client 0.5 survive if a port has no abbreviation at all (Colombo used to say IST), or does zone.rs panic on an empty `zone`? And is {} safe to cherry-pick onto the 0.6 branch without {}?", commit(5), commit(4)));
}
