//! The rules of choosing, packing and merging, one by one.

use super::build::{Ask, Build, section, summary, told, weighed};
use super::quality::names_in;
use crate::summarize::Purpose;
use crate::summarize::offline::merge::parse;
use crate::summarize::offline::select::Section;

fn read(b: &mut Build, path: &str, text: &str) {
    let id = format!("r{}", b.text().len());
    b.call(&id, "", "read", &format!(r#"{{"path":"{path}"}}"#)).result(&id, "read", text, false);
}

fn done(text: &str) -> Vec<&str> {
    section(text, "### Done")
}

#[test]
fn ticked_items_are_done_wherever_they_stand() {
    let old = parse("## In Progress\n- [x] Port the parser\n- [ ] Port the printer\n## Done\n- [ ] Port the docs\n- [x] Port the tests\n");
    let stand: Vec<(Section, &str)> = old.iter().map(|old| (old.section, old.text.as_str())).collect();
    assert_eq!(
        stand,
        [
            (Section::Done, "Port the parser"),
            (Section::Active, "Port the printer"),
            (Section::Active, "Port the docs"),
            (Section::Done, "Port the tests")
        ]
    );
}

#[test]
fn lists_of_files_are_no_items_of_an_earlier_summary() {
    let old = parse("## Goal\n- Port it\n\n<files>\n- src/a.rs\n</files>\n<read-files>\nsrc/b.rs\n</read-files>\n");
    assert_eq!(old.iter().map(|old| old.text.as_str()).collect::<Vec<_>>(), ["Port it"]);
}

#[test]
fn an_item_that_stands_twice_is_read_once() {
    assert_eq!(parse("## Done\n- Ported the parser\n- Ported the parser\n").len(), 1);
}

#[test]
fn what_an_earlier_summary_said_of_a_file_goes_on() {
    let previous = "## Goal\n- Port it\n\n## Critical Context\n- Edited 3× `src/pay/charge.ts`, where chargeCard calls readLedger and retryLater.\n  - It also uses paymentState and cardLimit.\n";
    let mut b = Build::new();
    b.user("Go on.").edit("I round.", "src/pay/charge.ts", "roundCents(sum);\n").says("It rounds now.");
    let text = summary(&b, &Ask { previous: Some(previous), ..Ask::default() }).text();
    assert!(text.contains("Edited 4× `src/pay/charge.ts`"), "{text}");
    let told = "`src/pay/charge.ts`, where chargeCard calls readLedger and retryLater; uses paymentState and cardLimit.";
    assert!(text.contains(told), "{text}");
}

#[test]
fn lines_of_a_file_are_told_in_order_and_not_without_end() {
    let mut b = Build::new();
    b.user("Look around in the parser.");
    for n in [30, 3, 21, 12, 8, 25, 17, 5, 28, 14, 10, 19, 23, 6, 16, 27, 11, 29, 7, 20] {
        let id = format!("r{n}");
        b.call(&id, "", "read", &format!(r#"{{"path":"src/parser.ts","offset":{},"limit":40}}"#, n * 100));
        b.result(&id, "read", "const a = 1;", false);
    }
    b.says("I looked around.");
    let text = told(&b);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("near lines")).collect();
    assert!((1..=2).contains(&lines.len()), "{text}");
    for line in lines {
        let numbers: Vec<u32> = line.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
        assert!(numbers.len() > 1 && numbers.is_sorted(), "{line}");
    }
}

#[test]
fn a_line_has_no_two_names_of_which_one_says_the_other_and_few_numbers() {
    let mut b = Build::new();
    b.user("Read the importer.");
    let code = "function importAll() {\n  parseRow(a); parseRows(b); parseRowsTwice(c); checkTotal(4711, 8150); checkTotals(9001, 7331);\n  wait(2718, 3141, 1618);\n}\n";
    read(&mut b, "src/import.ts", code);
    read(&mut b, "src/import.ts", code);
    b.says("I read it.");
    let text = told(&b);
    assert!(text.contains("parseRowsTwice"), "{text}");
    for line in section(&text, "## Critical Context") {
        let names = names_in(line);
        let inside = |a: &String| names.iter().any(|b| a != b && b.contains(a.as_str()));
        assert!(!names.iter().any(inside), "{line}");
        let numbers =
            line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| w.len() > 2 && w.bytes().all(|b| b.is_ascii_digit())).count();
        assert!(numbers <= 2, "{line}");
    }
}

#[test]
fn names_of_what_stays_word_for_word_are_not_told() {
    let mut b = Build::new();
    b.user("Read the ledger.");
    read(&mut b, "src/ledger.ts", "function total(path) {\n  openLedger(path); closeLedger(path); sumEntries(all); roundCents(sum);\n}\n");
    b.says("I read it.");
    b.user("Does closeLedger flush, and sumEntries round?").says("closeLedger flushes; sumEntries does not round.");
    let context = |kept| {
        let text = summary(&b, &Ask { kept, ..Ask::default() }).text();
        section(&text, "## Critical Context").join("\n")
    };
    assert!(context(0).contains("openLedger") && context(2).contains("openLedger"), "{}", context(2));
    assert!(!context(2).contains("closeLedger") && !context(2).contains("sumEntries"), "{}", context(2));
}

#[test]
fn names_are_worth_more_where_a_user_said_them_and_less_as_plain_words() {
    let mut b = Build::new();
    b.user("Mind givenName.");
    b.bash("", "rg -l .", "givenName otherName given-name-too otherNameToo", false);
    b.bash("", "rg -l .", "givenName otherName given-name-too otherNameToo", false);
    weighed(&b, |pool| {
        let value = |name: &str| pool.get(pool.find(name).unwrap()).unwrap().value;
        assert!(value("givenName") > value("otherName") * 3 / 2, "{} {}", value("givenName"), value("otherName"));
        assert_eq!(value("given-name-too"), value("otherNameToo") / 2);
    });
}

#[test]
fn each_commit_ends_a_line_and_is_told_once() {
    let mut b = Build::new();
    b.user("Fix both, in a commit each.");
    b.edit("First the parser.", "src/parser.ts", "parseRow();\n");
    b.bash("", "git commit -am 'Fix the parser'", "[main 1a2b3c4] Fix the parser\n 1 file changed", false);
    b.edit("Then the printer.", "src/printer.ts", "printRow();\n");
    b.bash("", "git commit -am 'Fix the printer'", "[main 2b3c4d5] Fix the printer\n 1 file changed", false);
    b.says("Both are fixed.");
    let text = told(&b);
    let lines: Vec<&str> = done(&text).into_iter().filter(|line| line.contains("committed")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].contains("parser.ts") && lines[0].contains("1a2b3c4") && !lines[0].contains("2b3c4d5"), "{text}");
    assert_eq!(text.matches("committed “Fix the printer”").count(), 1, "{text}");
}

#[test]
fn a_commit_that_was_amended_is_told_once() {
    let mut b = Build::new();
    b.user("Fix the parser.").edit("I fix it.", "src/parser.ts", "parseRow();\n");
    let printed = "[main 1a2b3c4] Fix the parser\n 1 file changed\n[main 2b3c4d5] Fix the parser\n 1 file changed";
    b.bash("", "git commit -am 'Fix the parser' && git commit --amend --no-edit", printed, false).says("It is fixed.");
    let text = told(&b);
    assert_eq!(text.matches("committed “Fix the parser”").count(), 1, "{text}");
}

#[test]
fn what_was_done_lately_comes_before_what_was_more() {
    let mut b = Build::new();
    for n in 0..24 {
        b.user(&format!("Please mend part number {n} of the tool now."));
        b.edit("I mend it.", &format!("src/part{n}.ts"), "run();\n");
        if n < 4 {
            b.edit("And that.", &format!("src/more{n}.ts"), "run();\n").edit("And that.", &format!("src/most{n}.ts"), "run();\n");
        }
        b.says("It is mended.");
    }
    let text = summary(&b, &Ask { budget: 400, ..Ask::default() }).text();
    let done = done(&text).join("\n");
    assert!(done.contains("part number 22 ") && !done.contains("part number 0 "), "{text}");
}

#[test]
fn what_was_done_before_and_since_share_the_room() {
    let mut previous = "## Goal\n- Mend the tool\n\n## Progress\n\n### Done\n".to_owned();
    for n in 0..60 {
        previous.push_str(&format!("- Mended the old part number {n} in `old{n}.ts` for good.\n"));
    }
    let mut b = Build::new();
    for n in 0..30 {
        b.user(&format!("Please mend part number {n} of the tool now."));
        b.edit("I mend it.", &format!("src/part{n}.ts"), "run();\n").says("It is mended.");
    }
    let text = summary(&b, &Ask { previous: Some(&previous), budget: 500, ..Ask::default() }).text();
    let done = done(&text);
    let before = done.iter().filter(|line| line.contains("old part")).count();
    assert!(before >= 1 && done.len() - before >= 2, "{before} of {}\n{text}", done.len());
}

#[test]
fn a_handoff_tells_more_of_what_comes_next() {
    let mut b = Build::new();
    b.user("Mend the tool, part by part.");
    let todo: Vec<String> =
        (0..40).map(|n| format!(r#"{{"content":"Mend part number {n} of the tool and oil its wheel","status":"pending"}}"#)).collect();
    b.call("t1", "", "todo", &format!(r#"{{"todos":[{}]}}"#, todo.join(","))).result("t1", "todo", "ok", false);
    for n in 0..40 {
        read(&mut b, &format!("src/part{n}.ts"), &format!("function turn{n}() {{ holdLever{n}(); turnWheel{n}(); oilAxle{n}(); }}\n"));
    }
    b.says("I have a plan.");
    let next = |purpose| section(&summary(&b, &Ask { purpose, budget: 900, ..Ask::default() }).text(), "## Next Steps").len();
    assert!(next(Purpose::Handoff) > next(Purpose::History), "{} {}", next(Purpose::Handoff), next(Purpose::History));
}

#[test]
fn the_prefix_of_a_turn_repeats_no_name_of_the_history() {
    let mut b = Build::new();
    b.user("Read the ledger.");
    read(&mut b, "src/ledger.ts", "function sum() { openLedger(a); closeLedger(b); sumEntries(c); roundCents(d); }\n");
    let before = "## Critical Context\n- Read `src/book.ts`, where sum calls openLedger and closeLedger.\n";
    let text = summary(&b, &Ask { previous: Some(before), purpose: Purpose::TurnPrefix, ..Ask::default() }).text();
    assert!(text.contains("sumEntries") && !text.contains("openLedger"), "{text}");
}
