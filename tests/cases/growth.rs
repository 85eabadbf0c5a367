//! A session grows by turns such as agents write, and is kept usable by `compact --trigger auto` alone: through every
//! strategy, an overflow, a cut-off answer, branches, and into the session that goes on after a handoff. After each step the
//! file is sound, and asking again at once changes nothing.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;

use serde_json::{Value, json};

use crate::run::{Run, codes};
use crate::sessions as s;

/// An agent that works on a session.
struct Agent {
    run: Run,
    file: String,
    turn: usize,
    leaf: Option<String>,
    steps: usize,
}

impl Agent {
    fn append(&mut self, id: &str, line: &str) {
        let mut file = OpenOptions::new().append(true).open(self.run.path(&self.file)).unwrap();
        writeln!(file, "{line}").unwrap();
        self.leaf = Some(id.to_owned());
    }

    /// A request, a call with its result, and an answer that reports what the context takes.
    fn work(&mut self) {
        self.turn += 1;
        let n = self.turn;
        let (u, a, t, z) = (format!("u{n:03}"), format!("a{n:03}"), format!("t{n:03}"), format!("z{n:03}"));
        let line = s::user(&u, self.leaf.as_deref(), format!("Step {n}: please look into module{n}.rs and mend what is wrong there"));
        self.append(&u, &line);
        let tool = if n.is_multiple_of(3) { "edit" } else { "read" };
        let call = s::call(&format!("call{n}"), tool, json!({"path": format!("src/module{n}.rs")}));
        self.append(&a, &s::assistant(&a, u.as_str(), json!([s::tx("Looking."), call])));
        self.append(&t, &s::tool_result(&t, a.as_str(), &format!("call{n}"), tool, &s::words_from(n * 5_000, 6_000)));
        self.answer(&z, json!({}), &format!("Module {n} is fine now. {}", s::words_from(n * 5_000 + 2_500, 800)));
    }

    fn answer(&mut self, id: &str, extra: Value, text: &str) {
        let parent = self.leaf.clone();
        self.append(id, &s::assistant_with(id, parent.as_deref(), json!([s::tx(text)]), extra));
    }

    fn compact(&self, strategy: &[&str]) -> Value {
        let all = ["--context-window", "16k", "--threshold", "6k", "--keep-recent-tokens", "2500", "--summary-tokens", "900"];
        self.run.json(&[&["compact", &self.file, "--trigger", "auto"], strategy, &all].concat())
    }

    /// One automatic run, after which asking again changes nothing and the file is sound.
    fn maintain(&mut self, strategy: &[&str]) -> Value {
        let receipt = self.compact(strategy);
        assert!(receipt.get("error").is_none(), "{receipt}");
        if let Some(path) = receipt["new_session"]["path"].as_str() {
            // Asked again, the session that was left has been handed off.
            assert_eq!(self.compact(strategy)["reason"], "handed_off");
            self.file = std::path::Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
        }
        if receipt["action"] == "compacted" {
            self.leaf = receipt["entry_id"].as_str().map(str::to_owned);
        }
        let before = self.run.bytes(&self.file);
        let again = self.compact(strategy);
        assert_eq!((&again["action"], &again["reason"]), (&json!("nothing"), &json!("no_trigger")), "{again}");
        assert!(self.run.bytes(&self.file) == before);
        let checked = self.run.json(&["inspect", "--check", &self.file]);
        assert!(codes(&checked).is_empty(), "{checked}");
        self.keep();
        receipt
    }

    /// Leaves the session as it is now for those who load it with other programs, when they named a folder.
    fn keep(&mut self) {
        self.steps += 1;
        if let Some(folder) = std::env::var_os("EPITOME_TEST_STEPS") {
            let folder = std::path::PathBuf::from(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{:03}.jsonl", self.steps)), self.run.bytes(&self.file)).unwrap();
        }
    }

    /// Works until a run compacts.
    fn until_compacted(&mut self, strategy: &[&str]) -> Value {
        for _ in 0..12 {
            self.work();
            let receipt = self.maintain(strategy);
            if receipt["action"] != "nothing" {
                return receipt;
            }
        }
        panic!("nothing asked for a compaction");
    }
}

#[test]
fn a_growing_session_stays_usable_through_every_strategy() {
    let run = Run::of(s::file(&[s::header()]));
    let mut agent = Agent { run, file: "s.jsonl".to_owned(), turn: 0, leaf: None, steps: 0 };
    let full: &[&str] = &["--strategy", "context-full"];
    let replace: &[&str] = &["--strategy", "replace", "--drop-branches"];
    let handoff: &[&str] = &["--strategy", "handoff"];
    let mut seen = BTreeSet::new();
    let mut compactions = 0;
    let mut note = |receipt: &Value| {
        assert_eq!(receipt["action"], "compacted", "{receipt}");
        let (strategy, reason) = (receipt["strategy"].as_str().unwrap(), receipt["triggers"]["reason"].as_str().unwrap());
        assert!(receipt["counted_after"].as_u64() < receipt["counted_before"].as_u64(), "{receipt}");
        compactions += 1;
        seen.insert(format!("{strategy} {reason}"));
    };
    note(&agent.until_compacted(full));
    note(&agent.until_compacted(full));

    // An overflow: the failing turn leaves the path and stays as a dead branch.
    for _ in 0..2 {
        agent.work();
    }
    agent.answer("overflow", json!({"stopReason": "error", "errorMessage": "prompt is too long: 17000 tokens > 16000 maximum"}), "");
    note(&agent.maintain(handoff));
    note(&agent.until_compacted(replace));

    // A branch is left and told where the work goes on.
    agent.work();
    let fork = agent.leaf.clone();
    agent.work();
    agent.leaf = fork;
    agent.work();
    let told = agent.run.json(&["branch-summary", &agent.file, "--all"]);
    assert_eq!((&told["action"], told["branches"].as_array().unwrap().len()), (&json!("summarized"), 1), "{told}");
    agent.leaf = told["entry_id"].as_str().map(str::to_owned);
    note(&agent.until_compacted(full));

    note(&agent.until_compacted(handoff));
    assert_ne!(agent.file, "s.jsonl");
    note(&agent.until_compacted(full));

    // A cut-off answer.
    agent.work();
    agent.answer("cut", json!({"stopReason": "length"}), "and then the");
    note(&agent.maintain(full));

    // Another branch; its summary is what the work goes on from.
    let fork = agent.leaf.clone();
    agent.work();
    agent.leaf = fork;
    agent.work();
    assert_eq!(agent.run.json(&["branch-summary", &agent.file, "--all"])["action"], "summarized");
    agent.leaf = agent.run.last(&agent.file)["id"].as_str().map(str::to_owned);
    note(&agent.until_compacted(replace));
    note(&agent.until_compacted(replace));
    note(&agent.until_compacted(handoff));

    assert!(compactions >= 10, "{compactions}");
    for wanted in ["context-full threshold", "context-full overflow", "context-full incomplete", "replace threshold", "handoff threshold"] {
        assert!(seen.contains(wanted), "{wanted}: {seen:?}");
    }
    // What was asked first is still told at the end.
    let last = agent.run.last(&agent.file);
    assert!(last["content"].as_str().unwrap().contains("Step 1: please look into module1.rs"), "{last}");
}
