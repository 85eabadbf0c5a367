//! Whole runs on files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::context::context;
use crate::generate::{Builder, Step, plain_steps, steps};
use crate::naive::{self, Naive};
use crate::{config, ids, open};
use epitome::engine::compaction::{self, Plan};
use epitome::engine::cut::CutSettings;
use epitome::engine::tokens::{Counter, Effort, Tokenizer};
use epitome::engine::usage;
use epitome::run::{Action, CompactJob, Done, Input, RunError, Services, Strategy, Target, Trigger, compact};
use epitome::session::Session;
use epitome::summarize::truncate::Truncate;
use epitome::summarize::{Line, Request, SummarizeError, Summarizer, Summary};
use proptest::prelude::*;

/// A session file in a folder of its own.
pub(crate) struct File {
    _dir: tempfile::TempDir,
    pub path: PathBuf,
}

impl File {
    pub(crate) fn new(bytes: &[u8]) -> File {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, bytes).unwrap();
        File { _dir: dir, path }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }
}

pub(crate) fn job(path: &Path, keep_recent: u64, allow_growth: bool) -> CompactJob {
    CompactJob {
        input: Input::File(path.to_owned()),
        target: Target::InPlace,
        leaf: None,
        trigger: Trigger::Manual,
        strategy: Strategy::ContextFull,
        keep_recent,
        keep_from: None,
        tokenizer: Tokenizer::Heuristic,
        summary_tokens: 4096,
        focus: None,
        context: Vec::new(),
        allow_growth,
        auto_continue: false,
        prune: None,
        limits: epitome::engine::trigger::Limits::default(),
        archive_dir: None,
    }
}

pub(crate) fn run(job: &CompactJob, summarizer: &dyn Summarizer) -> Result<Done, RunError> {
    let now = "2026-02-03T04:05:06.789Z".to_owned();
    compact(job, &Services { now, summarizer, progress: &|_| {}, hooks: &epitome::hooks::Hooks::default(), note: &|_| {} })
}

fn plan(session: &Session, keep_recent: u64) -> Option<Plan> {
    let path = session.active_path();
    let settings = CutSettings { keep_recent, keep_from: None };
    compaction::plan(&mut Counter::new(session, Tokenizer::Heuristic, Effort::Exact), &path.entries, settings).unwrap().ok()
}

/// Sessions that a compaction may be appended to.
fn not_refused(result: Result<Done, RunError>) -> Result<Option<Done>, TestCaseError> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(error) => {
            prop_assert!(false, "{error}");
            Ok(None)
        }
    }
}

proptest! {
    #![proptest_config(config(250))]

    #[test]
    fn a_compaction_adds_one_line_and_the_context_is_the_predicted_one(
        steps in steps(50), keep in 1..1500_u64, ended in prop::bool::weighted(0.9), growth in any::<bool>(),
    ) {
        let mut bytes = Builder::of(&steps).bytes();
        if !ended {
            bytes.pop();
        }
        let before = open(&bytes);
        let file = File::new(&bytes);
        let Some(done) = not_refused(run(&job(&file.path, keep, growth), &Truncate))? else { return Ok(()) };
        let now = file.bytes();
        if done.receipt.action != Action::Compacted {
            prop_assert!(now == bytes, "the file was changed by {:?}", done.receipt);
            let (was, is) = done.receipt.counted;
            prop_assert!(done.receipt.action != Action::Refused || (!growth && is >= was), "{:?}", done.receipt);
            prop_assert_eq!(done.receipt.action == Action::Nothing, plan(&before, keep).is_none());
            return Ok(());
        }
        // The old bytes stand as they were, and one line more.
        let newline = usize::from(!ended);
        prop_assert!(now.starts_with(&bytes));
        prop_assert_eq!(now.iter().filter(|b| **b == b'\n').count(), bytes.iter().filter(|b| **b == b'\n').count() + 1 + newline);
        prop_assert!(now.ends_with(b"\n"));
        prop_assert_eq!(done.receipt.bytes, (bytes.len() as u64, Some(now.len() as u64)));
        let (was, is) = done.receipt.counted;
        prop_assert!(growth || is < was, "it grew: {:?}", done.receipt);

        // It reads back as it was predicted: the new summary, the kept messages of the old context in their order, no more.
        let after = open(&now);
        let plan = plan(&before, keep).unwrap();
        let kept = ids(&before, &plan.kept);
        let id = done.receipt.entry_id.clone().unwrap();
        let mut want: Vec<(String, String)> = vec![("compactionSummary".to_owned(), id.clone())];
        want.extend(context(&before).into_iter().filter(|(role, entry)| role != "system" && kept.contains(entry)));
        let got: Vec<(String, String)> = context(&after).into_iter().filter(|(role, _)| role != "system").collect();
        prop_assert_eq!(&got, &want);
        let naive = Naive::of(&now);
        prop_assert_eq!(context(&after), naive::context(&naive.path()));
        let has_system = naive.path().iter().any(|e| naive::role(e) == "system" || e["systemMessage"].is_object());
        prop_assert_eq!(context(&after).first().is_some_and(|(role, _)| role == "system"), has_system);
        prop_assert_eq!(context(&after).iter().filter(|(role, _)| role == "system").count(), usize::from(has_system));
        prop_assert_eq!(done.receipt.kept_messages, kept.len());

        // What the providers reported before is stale now; the estimate is the count, and the count is the receipt's.
        let mut counter = Counter::new(&after, Tokenizer::Heuristic, Effort::Exact);
        let path = after.active_path();
        let estimate = usage::estimate(&mut counter, &path.entries, &after.context(&path.entries).unwrap()).unwrap();
        prop_assert_eq!(estimate.reported, None);
        prop_assert_eq!(estimate.context, estimate.counted.tokens);
        prop_assert_eq!(Some(estimate.context), is);
        let stored = naive.records.last().unwrap()["tokensAfter"].as_u64();
        prop_assert_eq!(stored, is);

        // Nothing is left to do.
        let again = not_refused(run(&job(&file.path, keep, growth), &Truncate))?.unwrap();
        prop_assert_eq!(again.receipt.action, Action::Nothing);
        prop_assert!(file.bytes() == now);
    }

    #[test]
    fn equal_runs_write_equal_bytes(steps in plain_steps(40), keep in 1..800_u64) {
        let bytes = Builder::of(&steps).bytes();
        let (one, two, dry) = (File::new(&bytes), File::new(&bytes), File::new(&bytes));
        let first = not_refused(run(&job(&one.path, keep, true), &Truncate))?.unwrap();
        not_refused(run(&job(&two.path, keep, true), &Truncate))?;
        prop_assert!(one.bytes() == two.bytes());
        // A dry run says the same and writes nothing.
        let said = not_refused(run(&CompactJob { target: Target::Nowhere, ..job(&dry.path, keep, true) }, &Truncate))?.unwrap();
        prop_assert!(dry.bytes() == bytes);
        prop_assert_eq!(said.receipt.action, first.receipt.action);
        prop_assert_eq!(said.receipt.entry_id, first.receipt.entry_id);
        prop_assert_eq!(said.receipt.counted, first.receipt.counted);
        prop_assert_eq!(said.receipt.bytes, first.receipt.bytes);
    }

    #[test]
    fn a_summary_that_is_larger_than_what_it_replaces_is_refused(sizes in prop::collection::vec(0..9_u16, 2..8)) {
        let steps: Vec<Step> = sizes.iter().map(|size| Step::User { size: *size, image: false }).collect();
        let bytes = Builder::of(&steps).bytes();
        let file = File::new(&bytes);
        struct Long;
        impl Summarizer for Long {
            fn name(&self) -> &'static str {
                "long"
            }
            fn summarize(&self, _: &Request<'_>) -> Result<Summary, SummarizeError> {
                Ok(Summary { lines: vec![Line { text: "a long summary ".repeat(40), sources: Vec::new() }], ..Summary::default() })
            }
        }
        let done = not_refused(run(&job(&file.path, 1, false), &Long))?.unwrap();
        prop_assert_eq!(done.receipt.action, Action::Refused);
        prop_assert_eq!(done.receipt.reason, Some("no_gain"));
        prop_assert!(file.bytes() == bytes);
        let done = not_refused(run(&job(&file.path, 1, true), &Long))?.unwrap();
        prop_assert_eq!(done.receipt.action, Action::Compacted);
    }
}
