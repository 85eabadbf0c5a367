//! Size repair of random trees: whatever measures are taken together, the file stays sound, what is not meant stays as it is,
//! and what is told is what happened.

use std::collections::{BTreeMap, HashMap};

use epitome::engine::prune::{self, PrunePlan, PruneSettings, Share};
use epitome::engine::size::{Images, Order, SizePlan, SizeSettings, plan};
use epitome::engine::tokens::{Counter, Effort, Tokenizer};
use epitome::session::edit::Edit;
use epitome::session::{Ix, Session, problems};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::generate::{Builder, Kept, Step, steps};
use crate::{config, ids, open, sessions as s};

/// A tree in which there is something for every measure.
fn laden(steps: &[Step]) -> Vec<u8> {
    let mut lines = Builder::of(steps).lines;
    for (n, line) in lines.iter_mut().enumerate() {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        if entry["message"]["role"] == "toolResult" {
            match n % 4 {
                0 => entry["message"]["details"] = json!({"log": s::words(400), "n": 1.0}),
                1 => entry["message"]["content"] = json!([s::tx(&s::words(700))]),
                2 => entry["message"]["content"] = json!([s::tx(&s::words(700)), s::image(400), {"type": "other", "x": n}]),
                _ => {}
            }
        } else if entry["message"]["role"] == "assistant" {
            for block in entry["message"]["content"].as_array_mut().into_iter().flatten().filter(|b| b["type"] == "toolCall") {
                if n % 2 == 0 {
                    block["name"] = json!("write");
                    block["arguments"] = json!({"path": "a", "content": s::words_from(n, 3_000)});
                }
            }
        } else if entry["type"] == "custom" {
            entry["data"] = json!({"long": s::words(300), "n": 1});
        } else if entry["message"]["role"] == "user" && n % 3 == 0 {
            entry["message"]["content"] = json!([s::image(400), s::tx("see")]);
        } else {
            continue;
        }
        *line = entry.to_string();
    }
    s::file(&lines)
}

fn settings() -> impl Strategy<Value = (SizeSettings, u64, bool)> {
    let images = prop_oneof![Just(None), Just(Some(Images::Drop)), (0..4_u64).prop_map(|n| Some(Images::KeepLast(n)))];
    let max = prop_oneof![2 => Just(None), 1 => (50..120_u64).prop_map(Some)];
    (any::<[bool; 6]>(), images, max, prop_oneof![Just(0_u64), Just(500), Just(40_000)], any::<bool>()).prop_map(
        |([details, args, custom, dead_branches, summarized, dedupe], images, max_result, protect, prunes)| {
            let custom = if custom { vec!["state".to_owned()] } else { Vec::new() };
            (SizeSettings { details, images, args, custom, max_result, dead_branches, summarized, dedupe }, protect, prunes)
        },
    )
}

fn planned(session: &Session, settings: &SizeSettings, protect: u64, prunes: bool) -> (SizePlan, PrunePlan, Edit) {
    let path = session.active_path().entries;
    let mut counter = Counter::new(session, Tokenizer::Heuristic, Effort::Exact);
    let mut results = PrunePlan::default();
    if prunes {
        let all = PruneSettings { protect_tokens: Share::Tokens(protect), min_savings: Share::Tokens(0), ..PruneSettings::default() };
        results = prune::plan(&mut counter, &path, &all, &|_| false).unwrap();
    }
    let order =
        Order { settings, paths: &[path], prune: &results, protect_tokens: protect, stays: &|_| false, has_blob: &|_| false, now_ms: 5 };
    let mut plan = plan(&mut counter, session.migration().unwrap(), &order).unwrap();
    let edit = session.with_copies(std::mem::take(&mut plan.edit)).unwrap();
    (plan, results, edit)
}

fn context(session: &Session, path: &[Ix]) -> (Vec<(String, String)>, i64, Vec<String>) {
    let context = session.context(path).unwrap();
    let mut counter = Counter::new(session, Tokenizer::Heuristic, Effort::Exact);
    let items = context.items.iter().map(|i| (session.id(i.entry).to_owned(), i.role.name().to_owned())).collect();
    let tokens = context.items.iter().map(|item| counter.item(&context, item).unwrap() as i64).sum();
    let texts = context.items.iter().map(|item| session.with_item(&context, item, |m| format!("{:?}", m.blocks)).unwrap()).collect();
    (items, tokens, texts)
}

fn found(session: &Session) -> BTreeMap<&'static str, usize> {
    let mut count = BTreeMap::new();
    for problem in problems::find(session, &session.active_path(), None).unwrap() {
        *count.entry(problem.code.name()).or_insert(0) += 1;
    }
    count
}

/// Takes measures over a tree; whatever they are, the file stays sound and what is told is what happened.
fn check(list: &[Step], settings: &SizeSettings, protect: u64, prunes: bool) -> Result<(), TestCaseError> {
    let bytes = laden(list);
    let before = open(&bytes);
    let (plan, results, edit) = planned(&before, settings, protect, prunes);
    let mut out = Vec::new();
    before.write_edited(&edit, &mut out).unwrap();
    prop_assert_eq!(before.edited_len(&edit).unwrap(), out.len() as u64);
    prop_assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    let after = open(&out);

    // Nothing is worse than before, and the file ends where it ended.
    let (old, new) = (found(&before), found(&after));
    for (code, count) in &new {
        prop_assert!(old.get(code).unwrap_or(&0) >= count, "{}: {:?} -> {:?}", code, old, new);
    }
    prop_assert_eq!(before.leaf().map(|ix| before.id(ix)), after.leaf().map(|ix| after.id(ix)));

    // Lines that were not meant are the same, in the same order.
    let old_lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    let mut at = old_lines.iter();
    for line in out.split(|b| *b == b'\n') {
        let entry: Value = serde_json::from_slice(line).unwrap_or_default();
        let touched = entry["id"]
            .as_str()
            .and_then(|id| before.by_id(id))
            .is_some_and(|ix| edit.spliced.contains_key(&ix) || edit.replaced.contains_key(&ix));
        prop_assert!(touched || at.any(|old| old == &line), "{}", String::from_utf8_lossy(line));
    }

    // The context has the same messages, and as many tokens less as was told.
    let path = before.active_path().entries;
    let (items, tokens, texts) = context(&before, &path);
    let (now, tokens_now, texts_now) = context(&after, &after.active_path().entries);
    prop_assert_eq!(&items, &now);
    let told: i64 = plan.freed.iter().map(|f| f.tokens).sum();
    // Where ids of calls come again, a result that went may have been all that answered a later call of its id, which readers
    // then leave out.
    let partial = |session: &Session| {
        let context = session.context(&session.active_path().entries).unwrap();
        context.items.iter().map(|item| item.partial).collect::<Vec<bool>>()
    };
    let same_calls = partial(&before) == partial(&after);
    prop_assert!(same_calls || settings.summarized);
    if results.results.is_empty() && same_calls {
        prop_assert_eq!(tokens - tokens_now, told);
    }
    let changes_text =
        !same_calls || settings.images.is_some() || settings.args || settings.max_result.is_some() || settings.dedupe || prunes;
    if !changes_text {
        prop_assert_eq!(texts, texts_now);
    }

    // A result that another one stands for in the context has it there.
    // Every leaf that is left sees what it saw.
    let parents: HashMap<Ix, Ix> = after.nodes().filter_map(|(ix, _)| Some((after.parent(ix)?, ix))).collect();
    for (leaf, _) in after.nodes().filter(|(ix, _)| !parents.contains_key(ix)) {
        let was = before.by_id(after.id(leaf)).unwrap();
        let had_children = before.nodes().any(|(ix, _)| before.parent(ix) == Some(was));
        if !settings.dead_branches && !had_children {
            prop_assert_eq!(context(&before, &before.path(was).entries).0, context(&after, &after.path(leaf).entries).0);
        }
    }

    // A second run finds nothing.
    let (again, results, edit) = planned(&after, settings, protect, prunes);
    prop_assert!(again.freed.iter().all(|f| f.changes.is_empty()), "{:?}", again.freed);
    prop_assert!(
        results.results.is_empty() || edit.is_empty() || prunes,
        "{:?}",
        ids(&after, &results.results.iter().map(|r| r.entry).collect::<Vec<_>>())
    );
    Ok(())
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn any_measures_leave_a_sound_file_and_tell_what_they_did(list in steps(60), (settings, protect, prunes) in settings()) {
        check(&list, &settings, protect, prunes)?;
    }
}

/// A label of a dead branch stays for what it names, and hangs elsewhere afterwards; it needs none of its history.
#[test]
fn a_name_of_a_dead_branch_needs_no_history() {
    let user = || Step::User { size: 0, image: false };
    let calls = || Step::Assistant { size: 0, calls: 1, stop: 0, usage: None, flavour: 0 };
    let compaction = |from| Step::Compaction { kept: Kept::From(from), size: 0, system: false, replay: None };
    let results = Step::Results { count: 9, reversed: false, size: 0, error: false, useless: false };
    let mut list = vec![calls(), calls(), results, compaction(5), user(), calls()];
    list.extend((0..8).map(|_| user()));
    list.extend([compaction(13), Step::Label { back: 6 }, Step::Branch { back: 3 }, user()]);
    let settings = SizeSettings { dead_branches: true, summarized: true, ..SizeSettings::default() };
    check(&list, &settings, 0, false).unwrap();
}
