//! The context of a path, against the plain form of its rules.

use crate::generate::{Builder, steps};
use crate::naive::{self, Naive};
use crate::{config, ids, open};
use epitome::engine::tokens::{Counter, Effort, Tokenizer};
use epitome::engine::usage;
use epitome::session::Session;
use proptest::prelude::*;

/// Role and id of each message of the active context.
pub(crate) fn context(session: &Session) -> Vec<(String, String)> {
    let path = session.active_path();
    let context = session.context(&path.entries).unwrap();
    context.items.iter().map(|item| (item.role.name().to_owned(), session.id(item.entry).to_owned())).collect()
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn paths_and_contexts_agree_with_the_plain_rules(steps in steps(50)) {
        let bytes = Builder::of(&steps).bytes();
        let session = open(&bytes);
        let naive = Naive::of(&bytes);
        let path = naive.path();
        let want: Vec<&str> = path.iter().map(|e| naive::id(e)).collect();
        prop_assert_eq!(ids(&session, &session.active_path().entries), want);
        prop_assert_eq!(context(&session), naive::context(&path));
    }

    #[test]
    fn every_entry_counts_what_the_plain_rules_count(steps in steps(50)) {
        let bytes = Builder::of(&steps).bytes();
        let session = open(&bytes);
        let naive = Naive::of(&bytes);
        let mut counter = Counter::new(&session, Tokenizer::Heuristic, Effort::Exact);
        let path = session.active_path();
        for (ix, entry) in path.entries.iter().zip(naive.path()) {
            prop_assert_eq!(counter.entry(*ix).unwrap(), naive::tokens(entry), "{}", entry);
        }
    }

    #[test]
    fn what_is_decided_with_little_counting_is_what_counting_all_decides(steps in steps(50), near in -3..4_i64, cl100k: bool) {
        let bytes = Builder::of(&steps).bytes();
        let session = open(&bytes);
        let path = session.active_path().entries;
        let context = session.context(&path).unwrap();
        for tokenizer in [Tokenizer::Heuristic, if cl100k { Tokenizer::Cl100k } else { Tokenizer::O200k }] {
            let estimate = usage::estimate(&mut Counter::new(&session, tokenizer, Effort::Exact), &path, &context).unwrap();
            let mut counter = Counter::new(&session, tokenizer, Effort::Glance);
            for item in &context.items {
                let most = counter.most(&context, item).unwrap();
                prop_assert!(counter.item(&context, item).unwrap() <= most, "{}", session.id(item.entry));
            }
            for limit in [estimate.context.saturating_add_signed(near), estimate.counted.tokens.saturating_add_signed(near), 0, u64::MAX] {
                let mut counter = Counter::new(&session, tokenizer, Effort::Glance);
                let found = usage::exceeds(&mut counter, &path, &context, limit).unwrap();
                prop_assert_eq!(found, estimate.context > limit, "{:?} against {}", estimate, limit);
            }
        }
    }
}
