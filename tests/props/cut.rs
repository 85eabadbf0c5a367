//! The cut: against the plain form of its rule, and what must hold wherever it is.

use std::collections::BTreeSet;

use crate::generate::{Builder, steps};
use crate::naive::{self, Naive};
use crate::{config, ids, open};
use epitome::engine::compaction::{self, Plan};
use epitome::engine::cut::{CutError, CutSettings, Nothing, cut};
use epitome::engine::serialize::LeftOut;
use epitome::engine::tokens::{Counter, Effort, Tokenizer};
use epitome::session::Session;
use proptest::prelude::*;
use serde_json::Value;

fn settings(keep_recent: u64, keep_from: Option<&str>) -> CutSettings<'_> {
    CutSettings { keep_recent, keep_from }
}

fn plan(session: &Session, settings: CutSettings<'_>) -> Result<Result<Plan, Nothing>, CutError> {
    let path = session.active_path();
    compaction::plan(&mut Counter::new(session, Tokenizer::Heuristic, Effort::Exact), &path.entries, settings)
}

/// What must hold of any plan.
fn check(session: &Session, path: &[&Value], plan: &Plan) -> Result<(), TestCaseError> {
    let cut = &plan.cut;
    // Each message of the window is in exactly one part.
    let history = plan.history.told.iter().chain(plan.history.left_out.iter().map(|(ix, _)| ix));
    let prefix = plan.prefix.told.iter().chain(plan.prefix.left_out.iter().map(|(ix, _)| ix));
    let mut parts: Vec<_> = history.chain(prefix).chain(&plan.kept).copied().collect();
    let count = parts.len();
    parts.sort();
    parts.dedup();
    prop_assert_eq!(count, parts.len(), "a message is in two parts");
    let window: Vec<_> = plan.path[cut.window_start..].iter().copied().filter(|ix| session[*ix].is_message()).collect();
    let (window, parts): (BTreeSet<_>, BTreeSet<_>) = (window.into_iter().collect(), parts.into_iter().collect());
    prop_assert_eq!(window, parts, "the parts are not the window");
    prop_assert!(!plan.kept.is_empty() && count > plan.kept.len(), "an empty part");

    // No result is kept whose call is summarized.
    prop_assert!(!naive::splits(path, cut.first_message), "the cut splits a pair");
    prop_assert!(cut.candidates.contains(&cut.first_message));
    prop_assert!(cut.first_kept <= cut.first_message);

    // What is left out of the text is of the three kinds, and what is of the first two is left out.
    for selection in [&plan.history, &plan.prefix] {
        for (ix, why) in &selection.left_out {
            let at = plan.path.iter().position(|p| p == ix).unwrap();
            let right = match why {
                LeftOut::FailedTurn => naive::is_left_out(path[at]) || naive::answers_failed(path, at),
                LeftOut::Excluded => naive::is_excluded(path[at]),
                LeftOut::Useless => naive::is_useless(path[at]),
                LeftOut::Omitted => naive::is_omitted(path, at),
                // No generated session has such messages, and a cut knows no such reasons.
                LeftOut::Frames | LeftOut::OldReminder | LeftOut::Irrelevant => false,
            };
            prop_assert!(right, "{} is left out as {}", path[at], why.code());
        }
        for ix in &selection.told {
            let at = plan.path.iter().position(|p| p == ix).unwrap();
            let entry = path[at];
            prop_assert!(!naive::is_left_out(entry) && !naive::is_excluded(entry) && !naive::is_useless(entry), "{entry} is told");
            prop_assert!(!naive::is_omitted(path, at), "{entry} is omitted and told");
            prop_assert!(!naive::answers_failed(path, at), "{entry} answers a failed turn and is told");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(800))]

    #[test]
    fn the_cut_agrees_with_the_plain_rule(steps in steps(60), keep in prop_oneof![1..200_u64, 200..3000_u64, Just(20_000_u64)]) {
        let bytes = Builder::of(&steps).bytes();
        let session = open(&bytes);
        let naive = Naive::of(&bytes);
        let path = naive.path();
        if path.is_empty() {
            return Ok(());
        }
        let entries = session.active_path().entries;
        let found = cut(&mut Counter::new(&session, Tokenizer::Heuristic, Effort::Exact), &entries, settings(keep, None)).unwrap();
        let found = found.map_err(|nothing| match nothing {
            Nothing::Empty | Nothing::JustCompacted => "nothing new",
            Nothing::Fits => "fits",
            Nothing::NoSafeCut => "no safe cut",
        });
        let found = found.map(|c| naive::Cut {
            window: c.window_start,
            first_kept: c.first_kept,
            first_message: c.first_message,
            turn_start: c.turn_start,
            budget: c.budget,
            candidates: c.candidates,
        });
        prop_assert_eq!(found, naive::cut(&path, keep));
    }

    #[test]
    fn each_message_of_the_window_is_in_exactly_one_part(steps in steps(60), keep in prop_oneof![1..200_u64, 200..3000_u64]) {
        let bytes = Builder::of(&steps).bytes();
        let session = open(&bytes);
        let naive = Naive::of(&bytes);
        let path = naive.path();
        let Ok(plan) = plan(&session, settings(keep, None)).unwrap() else { return Ok(()) };
        check(&session, &path, &plan)?;
        // What is kept fits the budget, or goes back no farther than the newest group that a cut may start at, and from
        // there no farther than to the next place that parts no pair.
        let kept: u64 = path[plan.cut.first_message..].iter().map(|e| naive::tokens(e)).sum();
        if kept > plan.cut.budget {
            let fits = |at: &usize| path[*at..].iter().map(|e| naive::tokens(e)).sum::<u64>() <= plan.cut.budget;
            let oldest = (plan.cut.window_start..path.len()).find(|at| fits(at) && naive::may_start(path[*at]));
            let newest = (plan.cut.window_start..path.len()).rev().find(|at| naive::may_start(path[*at]));
            let chosen = oldest.or(newest).unwrap();
            let between = plan.cut.first_message + 1..=chosen;
            for at in between.filter(|at| naive::may_start(path[*at])) {
                prop_assert!(naive::splits(&path, at), "{} is nearer and parts no pair", at);
            }
        }
    }

    #[test]
    fn every_candidate_can_be_kept_from_and_nothing_else(steps in steps(40), keep in 1..2000_u64) {
        let bytes = Builder::of(&steps).bytes();
        let session = open(&bytes);
        let naive = Naive::of(&bytes);
        let path = naive.path();
        let (window, new) = if path.is_empty() { (0, false) } else { naive::window(&path) };
        if !new {
            return Ok(());
        }
        let entries = session.active_path().entries;
        let all = ids(&session, &entries);
        // The candidates are known from any cut that works; where none does there must be none.
        let found = plan(&session, settings(keep, None)).unwrap();
        let candidates: Vec<usize> = match &found {
            Ok(plan) => plan.cut.candidates.clone(),
            Err(_) => (window..path.len()).filter(|at| plan(&session, settings(keep, Some(&all[*at]))).is_ok_and(|p| p.is_ok())).collect(),
        };
        for (at, id) in all.iter().enumerate() {
            match plan(&session, settings(keep, Some(id))) {
                Ok(Ok(plan)) => {
                    prop_assert!(candidates.contains(&at), "{id} is no candidate and was taken");
                    prop_assert_eq!(plan.cut.first_message, at);
                    check(&session, &path, &plan)?;
                }
                Ok(Err(nothing)) => prop_assert!(false, "{id}: {}", nothing.code()),
                Err(CutError::NoCandidate { nearest, id: named, .. }) => {
                    prop_assert!(!candidates.contains(&at), "{id} is a candidate and was refused");
                    prop_assert_eq!(&named, id);
                    // One on each side; two of the same where the other has none.
                    let (before, after): (Vec<usize>, Vec<usize>) = candidates.iter().partition(|c| **c < at);
                    let want = match (before.as_slice(), after.as_slice()) {
                        ([.., last], [first, ..]) => vec![*last, *first],
                        ([], after) => after.iter().copied().take(2).collect(),
                        (before, []) => before[before.len().saturating_sub(2)..].to_vec(),
                    };
                    let want: Vec<&str> = want.into_iter().map(|c| all[c].as_str()).collect();
                    prop_assert_eq!(nearest, want);
                }
                Err(CutError::Read(error)) => prop_assert!(false, "{error}"),
            }
        }
        let unknown = plan(&session, settings(keep, Some("no such entry")));
        let refused = matches!(unknown, Err(CutError::NoCandidate { .. }));
        prop_assert!(refused);
    }
}
