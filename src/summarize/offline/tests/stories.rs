//! Ten short sessions of different kinds, each with the summary that came of it: `testdata/summaries`. They were read as an
//! agent would that has to go on from them; whoever changes the summarizer reads them again.

use std::collections::HashSet;

use super::build::{Ask, Build, summary};
use super::quality::{has_verb, names_in, own_words};
use crate::summarize::Purpose;

/// Compares a summary with the one in the test data, and checks how it reads.
fn reads_well(name: &str, build: &Build, ask: &Ask<'_>) -> String {
    let text = summary(build, ask).text();
    insta::with_settings!({ snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/summaries"), prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let distinct: HashSet<&str> = lines.iter().copied().collect();
    assert_eq!(distinct.len(), lines.len(), "{name}: a line stands twice in\n{text}");
    let own: Vec<String> = lines.iter().map(|line| own_words(line)).filter(|own| own.split(char::is_whitespace).count() > 4).collect();
    let mute: Vec<&String> = own.iter().filter(|own| !has_verb(own)).collect();
    assert!(mute.len() * 10 <= own.len(), "{name}: no verb in {mute:#?}\n{text}");
    let input = format!("{}{}", build.text().replace("\\\"", "\"").replace("\\n", "\n"), ask.previous.unwrap_or_default());
    for line in &lines {
        assert!(names_in(&own_words(line)).len() <= 6, "{name}: too many names in {line}");
        assert!(!line.contains("\":") && !line.contains("\\n"), "{name}: raw text in {line}");
    }
    for told in names_in(&own.join("\n")) {
        let told = told.trim_end_matches('…');
        assert!(input.contains(told), "{name}: {told} stands nowhere in the session\n{text}");
    }
    let number = |word: &&str| word.len() > 2 && word.bytes().all(|b| b.is_ascii_digit());
    for number in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(number) {
        assert!(input.contains(number), "{name}: {number}");
    }
    text
}

fn read(b: &mut Build, path: &str, text: &str) {
    let id = format!("r{}", path.len() + text.len());
    b.call(&id, "", "read", &format!(r#"{{"path":"{path}"}}"#)).result(&id, "read", text, false);
}

#[test]
fn a_bug_that_was_found_and_fixed() {
    let mut b = Build::new();
    b.user("Invoices of customers in Norway show 0 % VAT since the last release. Find out why. Never change the tax tables themselves, they are signed.");
    b.bash("I look where the rate is chosen.", "rg -n vatRate src/", "src/tax/rate.ts:118:export function vatRate(country: string): number {\nsrc/tax/rate.ts:131:  const row = table.find(r => r.country === normalizeCountry(country));\nsrc/invoice/build.ts:204:  const rate = vatRate(order.billing.country);", false);
    read(
        &mut b,
        "src/tax/rate.ts",
        "import { loadTable } from './table';\n\nexport function normalizeCountry(country: string): string {\n  return country.trim().toUpperCase().slice(0, 2);\n}\n\nexport function vatRate(country: string): number {\n  const row = loadTable().find(r => r.country === normalizeCountry(country));\n  return row ? row.rate : 0;\n}\n",
    );
    b.bash("", "npm test -- rate", "FAIL src/tax/rate.test.ts\n  AssertionError: expected 0 to equal 25\n1 failed, 11 passed", true);
    b.bash("The root cause is that normalizeCountry cuts \"NOR\" to \"NO\" but leaves \"Norway\" as \"NO\" only by luck; order.billing.country is now \"NORGE\".", "git log --oneline -3 -- src/invoice/build.ts", "9c41f7e Take country names from the address book\n", false);
    b.edit("I map names to codes before the look-up.", "src/tax/rate.ts", "export function countryCode(name: string): string {\n  return COUNTRY_CODES[name.trim().toLowerCase()] ?? normalizeCountry(name);\n}\n");
    b.bash("", "npm test -- rate", "12 passed", false);
    b.bash(
        "",
        "git commit -am \"Look countries up by name before cutting them to a code\"",
        "[fix/vat-norway 5d20b1c] Look countries up by name before cutting them to a code\n 2 files changed",
        false,
    );
    b.says("Norway gets 25 % again. We decided to keep unknown countries at 0 % because the tax tables throw for them in production.");
    b.user("Good. Does the same happen for Sweden?");
    let text = reads_well("bug-fix", &b, &Ask { budget: 1_000, ..Ask::default() });
    for must in
        ["Does the same happen for Sweden?", "Never change the tax tables", "5d20b1c", "countryCode", "because the tax tables throw"]
    {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
}

#[test]
fn a_refactoring_over_many_files() {
    let mut b = Build::new();
    b.user("Replace the callback style of src/store with promises. Keep the public names. Always run npm run check after each file.");
    for (n, name) in ["reader", "writer", "cursor", "journal", "snapshot", "mirror"].iter().enumerate() {
        read(
            &mut b,
            &format!("src/store/{name}.ts"),
            &format!(
                "export class {name}Store {{\n  open{n}(path: string, done: Callback) {{\n    fs.open(path, (err, fd) => done(err, this.wrap{n}(fd)));\n  }}\n}}\n"
            ),
        );
        b.edit(&format!("The {name} comes next."), &format!("src/store/{name}.ts"), &format!("  async open{n}(path: string): Promise<Handle> {{\n    const fd = await fs.promises.open(path);\n    return this.wrap{n}(fd);\n  }}\n"));
        b.bash("", "npm run check", "Found 0 errors", false);
    }
    b.bash("", "git commit -am \"Await files in the store\"", "[main 81cc0da] Await files in the store\n 6 files changed", false);
    b.says("The six classes return promises now. Next steps:\n- Port the callers in src/server\n- Delete the Callback type");
    b.user("Go on with the callers");
    b.edit("I start with the upload handler.", "src/server/upload.ts", "const handle = await this.readerStore.open0(path);\n");
    let text = reads_well("refactoring", &b, &Ask { budget: 1_400, ..Ask::default() });
    for must in ["Go on with the callers", "Always run npm run check", "81cc0da", "Delete the Callback type", "upload.ts"] {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
}

#[test]
fn research_without_any_change() {
    let mut b = Build::new();
    b.user("Which of our services still speak TLS 1.1? Only look, don't change anything.");
    b.bash("", "rg -l \"TLSv1_1\" deploy/", "deploy/gateway/nginx.conf\ndeploy/mail/postfix.cf", false);
    read(&mut b, "deploy/gateway/nginx.conf", "ssl_protocols TLSv1_1 TLSv1_2;\nserver_name gw.example.net;\n");
    read(&mut b, "deploy/mail/postfix.cf", "smtpd_tls_protocols = !TLSv1\n");
    b.bash("", "openssl s_client -connect gw.example.net:443 -tls1_1", "error: 140770FC:SSL routines:unknown protocol", true);
    b.says("Two configurations name it. The gateway lists `TLSv1_1` in `deploy/gateway/nginx.conf`, but its OpenSSL build refuses it. Postfix excludes only TLSv1, so it still accepts TLS 1.1. Should I write this up for the security team?");
    let text = reads_well("research", &b, &Ask { budget: 900, ..Ask::default() });
    for must in ["don't change anything", "Should I write this up for the security team?", "nginx.conf"] {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
}

#[test]
fn a_session_in_chinese() {
    let mut b = Build::new();
    b.user("登录接口在高并发下返回 500,请找出原因并修复。不要修改数据库结构。");
    b.bash("我先看日志。", "grep -n ERROR logs/app.log", "2291:ERROR pool exhausted: maxConnections=20", false);
    b.edit("原因是连接池没有释放连接。现在在 finally 中释放。", "src/auth/login.ts", "export async function loginUser(req) {\n  const conn = await pool.acquire();\n  try { return await verifyPassword(conn, req); } finally { pool.release(conn); }\n}\n");
    b.bash("", "npm test", "34 passed", false);
    b.says("登录接口已修复,压测 1000 并发没有再出现 500。下一步:\n- 为连接池加监控");
    b.user("很好,请继续加监控,指标名用 auth_pool_in_use");
    let text = reads_well("chinese", &b, &Ask { budget: 900, ..Ask::default() });
    for must in ["不要修改数据库结构", "auth_pool_in_use", "login.ts", "连接池"] {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
}

#[test]
fn a_session_in_russian() {
    let mut b = Build::new();
    b.user("Перенеси отчёты с cron на очередь задач. Никогда не запускай миграции на боевой базе.");
    b.edit(
        "Сначала обработчик очереди.",
        "reports/worker.py",
        "def run_report(job):\n    report = load_report(job.report_id)\n    return render_pdf(report)\n",
    );
    b.bash(
        "",
        "pytest reports",
        "FAILED reports/test_worker.py::test_retry - TimeoutError: broker at 10.0.3.7:5672 did not answer\n1 failed, 17 passed",
        true,
    );
    b.says("Обработчик готов. Тест test_retry падает, потому что брокер недоступен.");
    b.user("Брокер теперь на 10.0.3.9, попробуй ещё раз");
    let text = reads_well("russian", &b, &Ask { budget: 900, ..Ask::default() });
    for must in ["Никогда не запускай миграции", "10.0.3.9", "worker.py", "`pytest reports` failed"] {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
}

#[test]
fn work_along_a_task_list() {
    let mut b = Build::new();
    b.user("Add dark mode to the settings page. Plan first.");
    b.call("t1", "", "todo_write", r#"{"todos":[{"content":"Add the theme tokens","status":"in_progress"},{"content":"Switch in the settings page","status":"pending"},{"content":"Store the choice","status":"pending"}]}"#).result("t1", "todo_write", "ok", false);
    b.edit("The tokens come first.", "web/theme/tokens.css", ":root[data-theme=dark] { --surface-base: #101418; --text-base: #e6e1d8; }\n");
    b.call("t2", "", "todo_write", r#"{"todos":[{"content":"Add the theme tokens","status":"completed"},{"content":"Switch in the settings page","status":"in_progress"},{"content":"Store the choice","status":"pending"}]}"#).result("t2", "todo_write", "ok", false);
    b.edit("Now the switch.", "web/pages/settings.tsx", "export function ThemeSwitch() {\n  const { themeName, setThemeName } = useTheme();\n  return <Toggle checked={themeName === 'dark'} onChange={setThemeName} />;\n}\n");
    let text = reads_well("task-list", &b, &Ask { budget: 900, ..Ask::default() });
    for must in ["- Doing: Switch in the settings page.", "- To do: Store the choice.", "- Finished: Add the theme tokens.", "ThemeSwitch"]
    {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
}

#[test]
fn a_build_that_still_fails() {
    let mut b = Build::new();
    b.user("Get the workspace to build on the new compiler. Do not pin the old one.");
    b.bash("", "cargo build --workspace", "error[E0277]: the trait bound `Frame: Pod` is not satisfied\n  --> crates/codec/src/frame.rs:212:18\nerror: could not compile `codec`", true);
    b.edit(
        "The derive moved to another crate.",
        "crates/codec/src/frame.rs",
        "use bytemuck_derive::Pod;\n#[derive(Clone, Copy, Pod)]\npub struct Frame {\n    stride: u32,\n}\n",
    );
    b.bash("", "cargo build --workspace", "error[E0599]: no method named `cast_slice_mut` found for struct `PixelBuffer`\n  --> crates/codec/src/pixels.rs:88:9\nerror: could not compile `codec`", true);
    b.bash("", "cargo clippy -p wire", "warning: 2 warnings emitted", false);
    let text = reads_well("open-failure", &b, &Ask { budget: 900, ..Ask::default() });
    for must in ["Do not pin the old one.", "`cargo build --workspace` failed 2 times", "cast_slice_mut", "frame.rs"] {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
}

#[test]
fn tools_of_another_agent() {
    let mut b = Build::new();
    b.user("Rename the package to harbour-client and fix the imports");
    b.call("1", "", "shell", r#"{"command":["bash","-lc","sed -n 1,40p packages/client/package.json"]}"#).result(
        "1",
        "shell",
        "{\n  \"name\": \"dock-client\",\n  \"version\": \"3.4.1\"\n}",
        false,
    );
    b.call("2", "", "apply_patch", r#"{"input":"*** Begin Patch\n*** Update File: packages/client/package.json\n@@\n-  \"name\": \"dock-client\",\n+  \"name\": \"harbour-client\",\n*** End Patch"}"#).result("2", "apply_patch", "Done", false);
    b.call("3", "", "MultiEdit", r#"{"file_path":"apps/web/api.ts","edits":[{"old_string":"import { DockClient } from 'dock-client'","new_string":"import { HarbourClient } from 'harbour-client'"}]}"#).result("3", "MultiEdit", "ok", false);
    b.call("4", "", "Bash", r#"{"command":"pnpm -r test"}"#).result("4", "Bash", "58 passed", false);
    b.call("5", "", "WebFetch", r#"{"url":"https://registry.example.org/harbour-client"}"#).result("5", "WebFetch", "404 not found", false);
    b.says("The package is renamed and all imports are fixed. The name is free in the registry.");
    let text = reads_well("other-tools", &b, &Ask { budget: 900, ..Ask::default() });
    for must in ["apps/web/api.ts", "HarbourClient", "`pnpm -r test` passed (58 passed)", "package.json"] {
        assert!(text.contains(must.rsplit('/').next().unwrap()), "{must} is not in\n{text}");
    }
}

#[test]
fn the_first_part_of_an_endless_turn() {
    let mut b = Build::new();
    b.user("Migrate all 40 fixtures to the new schema, one by one, and do not ask me in between.");
    for n in 0..40 {
        read(
            &mut b,
            &format!("fixtures/case_{n:02}.json"),
            &format!("{{\"schema_version\": 3, \"case_id\": \"case_{n:02}\", \"payload_kind\": \"legacy\"}}"),
        );
        b.edit(
            &format!("Fixture {n} has the new form."),
            &format!("fixtures/case_{n:02}.json"),
            &format!("{{\"schema_version\": 4, \"case_id\": \"case_{n:02}\", \"payload\": {{}}}}"),
        );
        if n % 10 == 9 {
            b.bash("", "python3 check.py fixtures", &format!("{} passed", n + 1), false);
        }
    }
    let text = reads_well("endless-turn", &b, &Ask { budget: 900, purpose: Purpose::TurnPrefix, ..Ask::default() });
    for must in ["do not ask me in between", "Fixture 39 has the new form", "`python3 check.py fixtures` (40 passed)"] {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
}

#[test]
fn an_update_of_a_summary_by_an_agent() {
    let previous = "## Goal\nShip the offline mode of the reader app.\n\n## Constraints & Preferences\n- Never store article text unencrypted\n- Support Android 10 and later\n\n## Progress\n### Done\n- [x] Encrypted article store in `app/store/ArticleVault.kt`\n\n### In Progress\n- [ ] Sync queue for read marks\n\n### Blocked\n- `./gradlew connectedCheck` failed: no device attached\n\n## Key Decisions\n- **SQLite over Realm**: Realm needs its own process\n\n## Next Steps\n1. Write the migration guide\n\n## Critical Context\n- The vault key is derived in `KeyProvider.deriveKey`\n";
    let mut b = Build::new();
    b.user("The device is attached now, finish the sync queue");
    b.edit("The queue keeps marks until the server has them.", "app/sync/MarkQueue.kt", "class MarkQueue(private val vault: ArticleVault) {\n    fun enqueueMark(articleId: Long) {\n        vault.pendingMarks.add(articleId)\n    }\n}\n");
    b.bash("", "./gradlew connectedCheck", "BUILD SUCCESSFUL\n23 tests passed", false);
    b.says("The sync queue for read marks is done and tested on the device.");
    let text = reads_well("update", &b, &Ask { budget: 1_000, previous: Some(previous), ..Ask::default() });
    for must in [
        "Ship the offline mode of the reader app.",
        "Never store article text unencrypted",
        "Write the migration guide",
        "MarkQueue",
        "Realm needs its own process",
    ] {
        assert!(text.contains(must), "{must} is not in\n{text}");
    }
    assert!(!text.contains("### In Progress") && !text.contains("### Blocked"), "{text}");
}

#[test]
fn hardly_anything() {
    let mut b = Build::new();
    b.user("hi");
    b.says("Hello! What can I do?");
    reads_well("hardly-anything", &b, &Ask { budget: 300, ..Ask::default() });
}
