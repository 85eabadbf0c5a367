//! Updating a summary again and again.

use super::build::{Ask, Build, TOKENIZER, section, summary};

const RULES: [&str; 5] = [
    "Never push to the release branch.",
    "Always run the linter before a commit.",
    "Don't use any new dependency.",
    "Only write tests with vitest.",
    "All public functions must have a doc comment.",
];

#[test]
fn fifty_rounds_keep_goal_and_rules_and_stay_in_the_budget() {
    let mut previous: Option<String> = None;
    for round in 0..50 {
        let mut b = Build::new();
        if round == 0 {
            b.user(&format!("GOAL: rebuild the billing service in Rust. {}", RULES.join(" ")));
            b.says("I start with the ledger.");
            b.call("t", "", "todo_write", r#"{"todos":[{"content":"Port the invoice renderer","status":"in_progress"},{"content":"Port the mail queue","status":"pending"}]}"#);
            b.result("t", "todo_write", "ok", false);
        } else {
            b.user(&format!("Go on with module number {round}, and tell me what you find in it"));
        }
        for n in 0..12 {
            b.edit(
                &format!("Now part {n} of module {round}"),
                &format!("crates/billing/src/module_{round}/part_{n}.rs"),
                &format!("pub fn handle_part_{round}_{n}() {{ LedgerEntry{round}x{n}::new() }}"),
            );
        }
        b.bash("", "cargo test -p billing", &format!("test result: ok. {} passed; 0 failed", round + 3), false);
        if round == 20 {
            b.says("The invoice renderer is ported: port of the invoice renderer is finished and done.");
        } else {
            b.says(&format!("Module {round} is ported. We decided to keep the old table {round} because migrations are slow."));
        }
        let ask = Ask { previous: previous.as_deref(), ..Ask::default() };
        let text = summary(&b, &ask).text();
        assert!(TOKENIZER.count(&text) <= 2_000);
        assert!(text.contains("GOAL: rebuild the billing service in Rust."), "round {round}: {text}");
        for rule in RULES {
            assert!(section(&text, "## Constraints & Preferences").join("\n").contains(rule), "round {round}, {rule}: {text}");
        }
        let open = section(&text, "### In Progress").join("\n");
        assert_eq!(open.contains("invoice renderer"), round < 20, "round {round}: {text}");
        if round == 20 {
            assert!(section(&text, "### Done").join("\n").contains("invoice renderer"), "{text}");
        }
        let mut lines: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
        let all = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), all, "round {round}: {text}");
        // What was done lately is told, not only what was carried over.
        assert!(
            section(&text, "### Done").join("\n").contains(&format!("part_{}.rs", 0))
                || text.contains(&format!("module number {round}"))
                || round == 0,
            "{text}"
        );
        previous = Some(text);
    }
}

#[test]
fn pi_markdown_is_merged() {
    let previous = "## Goal\nMove the parser to the new token type.\n\n## Constraints & Preferences\n- Keep Node 18 working\n\n## Progress\n### Done\n- [x] Token type added in `src/token.ts`\n\n### In Progress\n- [ ] Port the printer module\n- [ ] Port the linter rules\n\n### Blocked\n- (none)\n\n## Key Decisions\n- **Tokens are values**: they are compared by content\n\n## Next Steps\n1. Write the changelog\n\n## Critical Context\n- The grammar lives in `grammar/main.peg`\n\n<read-files>\nsrc/a.ts\n</read-files>";
    let mut b = Build::new();
    b.user("go on, please finish the printer").edit("", "src/printer.ts", "export class TokenPrinter {}");
    b.says("The port of the printer module is done.");
    let text = summary(&b, &Ask { previous: Some(previous), ..Ask::default() }).text();
    assert!(section(&text, "## Goal").join("\n").contains("Move the parser to the new token type."), "{text}");
    assert!(section(&text, "## Constraints & Preferences").join("\n").contains("Keep Node 18 working"), "{text}");
    let done = section(&text, "### Done").join("\n");
    assert!(done.contains("Token type added in `src/token.ts`") && done.contains("Port the printer module"), "{text}");
    let active = section(&text, "### In Progress").join("\n");
    assert!(active.contains("Port the linter rules") && !active.contains("printer"), "{text}");
    assert!(section(&text, "## Key Decisions").join("\n").contains("Tokens are values: they are compared by content"), "{text}");
    assert!(section(&text, "## Next Steps").join("\n").contains("Write the changelog"), "{text}");
    assert!(text.contains("grammar/main.peg"), "{text}");
    assert!(!text.contains("read-files") && !text.contains("(none)"), "{text}");
}

#[test]
fn free_text_is_merged() {
    let previous = "We are building a crawler for the archive. The robots rules must never be ignored. The fetcher is finished. We decided to use a queue because hosts are slow.";
    let mut b = Build::new();
    b.user("now the parser of the pages").says("The parser reads pages.");
    let text = summary(&b, &Ask { previous: Some(previous), ..Ask::default() }).text();
    assert!(section(&text, "## Goal").join("\n").contains("building a crawler"), "{text}");
    assert!(section(&text, "## Constraints & Preferences").join("\n").contains("must never be ignored"), "{text}");
}

#[test]
fn a_failure_of_before_that_passes_now_is_fixed() {
    let mut b = Build::new();
    b.user("make it pass").bash("", "npm test", "Error: the port 8080 is in use", true);
    let first = summary(&b, &Ask::default()).text();
    assert!(section(&first, "### Blocked").join("\n").contains("`npm test` failed"), "{first}");
    let mut b = Build::new();
    b.user("try again").bash("", "npm test", "8 passed", false).says("The tests pass.");
    let second = summary(&b, &Ask { previous: Some(&first), ..Ask::default() }).text();
    assert!(!second.contains("### Blocked"), "{second}");
    assert!(section(&second, "### Done").join("\n").contains("npm test"), "{second}");
}

#[test]
fn an_update_without_anything_new_stays_the_same_in_size() {
    let mut b = Build::new();
    b.user("Always be brief. Write the readme").edit("", "README.md", "# Title").says("The readme is written.");
    let mut text = summary(&b, &Ask::default()).text();
    let size = TOKENIZER.count(&text);
    for _ in 0..10 {
        let mut b = Build::new();
        b.says("Nothing new.");
        text = summary(&b, &Ask { previous: Some(&text), ..Ask::default() }).text();
        assert!(TOKENIZER.count(&text) <= size + 40, "{text}");
        assert!(text.contains("Write the readme") && text.contains("Always be brief."), "{text}");
    }
}

#[test]
fn history_on_pictures_is_read_as_the_transcript_it_is() {
    let previous = "[Summary of earlier history] ## Goal\n- Port the ledger\n\n## Constraints & Preferences\n- Keep Node 18 working\n\
        [User]: /mode\n[User]: Port user-message-selector.ts to the theme. Never use RGB indices in a theme.\n\
        [Assistant]: I read the theme and the selectors first.\n\
        [Tool Call]: read(path=\"src/theme/theme.ts\")\n[Tool Result]: 9: const markdown = new Markdown(.\n## Color Tokens\n- must stay\n\
        [Assistant]: The selector is ported to the theme. We decided to keep dark.json because the light one derives from it.\n";
    let mut b = Build::new();
    b.user("Now port the footer as well.");
    b.says("The footer is ported.");
    let ask = Ask { previous: Some(previous), ..Ask::default() };
    let text = summary(&b, &ask).text();
    assert!(text.contains("Port user-message-selector.ts to the theme.") && text.contains("Now port the footer as well."), "{text}");
    let rules = section(&text, "## Constraints & Preferences").join("\n");
    assert!(rules.contains("Never use RGB indices in a theme.") && rules.contains("Keep Node 18 working"), "{text}");
    assert!(section(&text, "## Goal").join("\n").contains("Port the ledger"), "{text}");
    assert!(text.contains("keep dark.json because"), "{text}");
    for junk in ["[User]", "[Assistant]", "[Tool", "Markdown(.", "must stay"] {
        assert!(!text.contains(junk), "{junk}: {text}");
    }
}
