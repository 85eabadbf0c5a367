//! A session that grows and is compacted again and again: nothing gets lost on the way.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::compact::{File, job, run};
use crate::generate::{Builder, plain_steps};
use crate::naive::{self, Naive};
use crate::{config, ids, open};
use epitome::engine::compaction;
use epitome::engine::serialize::{Form, serialize};
use epitome::run::Action;
use epitome::summarize::{Line, Request, SummarizeError, Summarizer, Summary};
use proptest::prelude::*;

/// Remembers what it was given: each message's id, and the text.
#[derive(Default)]
struct Witness {
    told: RefCell<Vec<String>>,
    text: RefCell<String>,
}

impl Summarizer for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn summarize(&self, request: &Request<'_>) -> Result<Summary, SummarizeError> {
        self.told.borrow_mut().extend(ids(request.session, &request.selection.told));
        self.text.borrow_mut().push_str(&serialize(request.session, request.selection, Form::default())?);
        Ok(Summary { lines: vec![Line { text: "so far so good".to_owned(), sources: Vec::new() }], ..Summary::default() })
    }
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn five_compactions_in_a_row_lose_no_message(
        rounds in prop::collection::vec((plain_steps(25), 1..1200_u64), 5),
    ) {
        let mut builder = Builder::new();
        // How often each message was given to a summarizer.
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (steps, keep) in &rounds {
            builder.extend(steps);
            let bytes = builder.bytes();
            let file = File::new(&bytes);
            let witness = Witness::default();
            let done = run(&job(&file.path, *keep, true), &witness);
            let done = match done {
                Ok(done) => done,
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            let naive = Naive::of(&bytes);
            let path = naive.path();
            let messages: Vec<&str> = path.iter().filter(|e| naive::is_message(e)).map(|e| naive::id(e)).collect();
            if done.receipt.action != Action::Compacted {
                continue;
            }
            let (told, text) = (witness.told.take(), witness.text.take());
            // What is left out of the text is named in the plan.
            let plan = done.plan.as_ref().unwrap();
            let left_out: Vec<_> = compaction::dropped(plan).into_iter().map(|(ix, _)| ix).collect();
            let left_out = ids(&done.session, &left_out);
            for id in told.iter().chain(&left_out) {
                *seen.entry(id.clone()).or_default() += 1;
            }
            let kept = ids(&done.session, &plan.kept);
            for id in &messages {
                let times = seen.get(*id).copied().unwrap_or(0);
                let is_kept = kept.iter().any(|kept| kept == id);
                prop_assert_eq!(times + usize::from(is_kept), 1, "{} was summarized {} times, kept: {}", id, times, is_kept);
            }
            // Each mark of a message that was told stands in the text that was told.
            for id in &told {
                let entry = path.iter().find(|e| naive::id(e) == id).unwrap();
                let stored = entry.to_string();
                if let Some(mark) = stored.find("mk").and_then(|at| stored[at..].split_once("k ")).map(|(mark, _)| format!("{mark}k ")) {
                    prop_assert!(text.contains(&mark), "{mark} of {id} is not in the text");
                }
            }
            // The session goes on behind the compaction.
            let now = file.bytes();
            let line = String::from_utf8(now[bytes.len()..].to_vec()).unwrap();
            builder.adopt(&line, &done.receipt.entry_id.unwrap());
            prop_assert!(builder.bytes() == now);
            let after = open(&now);
            let found = epitome::session::problems::find(&after, &after.active_path(), None).unwrap();
            let before = epitome::session::problems::find(&open(&bytes), &open(&bytes).active_path(), None).unwrap();
            // A result that came behind an earlier compaction, without its call, may be gone; nothing new may be wrong.
            for problem in found {
                prop_assert!(before.contains(&problem), "the compaction made a problem: {problem:?}");
            }
        }
    }
}
