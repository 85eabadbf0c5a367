//! What is found, as JSON: the keys that scripts rely on.

use serde_json::{Map, Value, json};

use crate::engine::branch::BranchPlan;
use crate::engine::cut::{Amount, Amounts, Cut};
use crate::engine::prune::PrunePlan;
use crate::engine::size::Freed;
use crate::engine::trigger::{Asked, Promoted, Reason};
use crate::run::inspect::{Overview, Report, Sizes};
use crate::run::rewrite::Revision;
use crate::run::snapcompact::FrameView;
use crate::run::{BranchDone, BranchesDone, Done, PruneDone, RunError};
use crate::session::{Context, Ix, Problem, Session};
use crate::settings::Settings;
use crate::summarize::Summary;
use crate::text;

/// One object as one line.
pub(super) fn line(object: Map<String, Value>) -> String {
    let mut text = Value::Object(object).to_string();
    text.push('\n');
    text
}

/// The object of a session that failed.
pub(super) fn error(path: &str, error: &RunError, message: &str) -> String {
    let masked = |text: &str| text::masked(text).into_owned();
    let error = json!({"code": error.code(), "message": masked(message), "line": error.line(), "hint": error.hint().map(|h| masked(&h))});
    let mut object = head(path);
    object.insert("error".to_owned(), error);
    line(object)
}

/// What every object begins with.
pub(super) fn head(path: &str) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("schema".to_owned(), 1.into());
    object.insert("path".to_owned(), path.into());
    object
}

fn id(session: &Session, ix: Option<&Ix>) -> Value {
    ix.map_or(Value::Null, |ix| session.id(*ix).into())
}

/// `session`, `leaf`, `tokens`, `compactions` and the counts of the tree.
pub(super) fn overview(
    object: &mut Map<String, Value>,
    report: &Report,
    found: &Overview,
    tokens: Value,
    timestamp: impl Fn(Ix) -> Option<String>,
) {
    let session = &report.session;
    let leaves: Vec<Value> = found
        .shape
        .leaves
        .iter()
        .map(|leaf| json!({"id": session.id(leaf.entry), "entries": leaf.depth, "last_timestamp": timestamp(leaf.entry)}))
        .collect();
    let about = json!({
        "id": found.header.id, "version": session.version(), "title": found.header.title, "cwd": found.header.cwd, "owner": session.owner().name(),
        "bytes": session.source().len(), "lines": session.lines(), "entries": found.shape.total, "leaves": leaves,
    });
    object.insert("session".to_owned(), about);
    object.insert("leaf".to_owned(), id(session, report.path.entries.last()));
    object.insert("path_entries".to_owned(), report.path.entries.len().into());
    object.insert("reachable".to_owned(), found.shape.reachable.into());
    object.insert("total".to_owned(), found.shape.total.into());
    object.insert("tokens".to_owned(), tokens);
    let compactions = found.compactions.iter().map(|c| json!({"id": c.id, "method": c.method, "first_kept_id": c.first_kept_id, "tokens_before": c.tokens_before, "tokens_after": c.tokens_after}));
    object.insert("compactions".to_owned(), compactions.collect());
}

/// `cut` and `cut_reason`.
pub(super) fn cut(object: &mut Map<String, Value>, session: &Session, path: &[Ix], found: Result<(&Cut, &Amounts), &str>) {
    let at = |position: usize| id(session, path.get(position));
    let amount = |a: &Amount| json!({"messages": a.messages, "tokens": a.count.tokens});
    let value = found.ok().map(|(cut, amounts)| {
        json!({
            "first_kept_id": at(cut.first_kept), "first_kept_message_id": at(cut.first_message), "is_split_turn": cut.turn_start.is_some(),
            "turn_start_id": cut.turn_start.map_or(Value::Null, at), "keep_recent_tokens": cut.budget, "window_start_id": at(cut.window_start),
            "previous_compaction_id": cut.previous.map_or(Value::Null, at),
            "summarize": amount(&amounts.summarize), "turn_prefix": amount(&amounts.turn_prefix), "keep": amount(&amounts.keep),
            "estimated": amounts.estimated(), "candidates": cut.candidates.iter().map(|c| at(*c)).collect::<Vec<_>>(),
        })
    });
    object.insert("cut".to_owned(), value.unwrap_or_default());
    object.insert("cut_reason".to_owned(), found.err().filter(|reason| !reason.is_empty()).map_or(Value::Null, Value::from));
}

/// `files`.
pub(super) fn files(files: &crate::engine::files::Files) -> Value {
    json!({"read": files.only_read(), "modified": files.changed(), "tag": files.tag()})
}

/// `summary`.
pub(super) fn summary(session: &Session, found: Option<&(Summary, u64)>) -> Value {
    let Some((summary, tokens)) = found else { return Value::Null };
    let lines: Vec<Value> = summary
        .lines
        .iter()
        .map(|line| json!({"text": line.text, "sources": line.sources.iter().map(|ix| session.id(*ix)).collect::<Vec<_>>()}))
        .collect();
    json!({"text": summary.text(), "short": summary.short, "tokens": tokens, "lines": lines})
}

/// `sizes`.
pub(super) fn sizes(session: &Session, sizes: &Sizes) -> Value {
    let rows = sizes
        .by_kind
        .iter()
        .map(|r| json!({"kind": r.kind, "tool": r.tool, "bytes": r.bytes, "tokens": r.tokens, "entries": r.entries, "bulk": r.bulk}));
    let largest = sizes.largest.iter().map(|(ix, bytes)| {
        let entry = &session[*ix];
        json!({"id": entry.id.map(|_| session.id(*ix)), "line": entry.line, "kind": session.type_name(*ix), "bytes": bytes})
    });
    json!({"by_kind": rows.collect::<Vec<_>>(), "largest": largest.collect::<Vec<_>>()})
}

/// `problems`.
pub(super) fn problems(list: &[Problem]) -> Value {
    let rows = list.iter().map(|p| json!({"code": p.code.name(), "severity": p.severity.name(), "line": p.line, "offset": p.offset, "id": p.id, "message": p.message}));
    rows.collect()
}

/// `settings`.
pub(super) fn settings(settings: &Settings) -> Value {
    let rows = settings.shown.iter().map(|(name, value, origin)| {
        // A command or an address may hold a password.
        let value = if value.is_empty() { Value::Null } else { text::masked(value).into() };
        json!({"key": name.key, "value": value, "source": origin.to_string()})
    });
    rows.collect()
}

/// `triggers` of a receipt: what asked for a compaction.
fn triggers(reason: Option<&str>, will_retry: bool, promotion: Option<&Promoted>) -> Value {
    let fired = |name: &str| reason == Some(name);
    json!({
        "overflow": fired("overflow"), "incomplete": fired("incomplete"), "threshold": fired("threshold"), "idle": fired("idle"),
        "fired": reason.is_some(), "reason": reason, "will_retry": will_retry,
        "promotion": promotion.map(|promoted| json!({"from": promoted.from, "to": promoted.to, "window": promoted.window})),
    })
}

/// `triggers` of a look: what asks for a compaction, and whether `--trigger auto` may act on it. What is above the threshold
/// would be compacted by `--trigger idle` too.
pub(super) fn asked(asked: &Asked, enabled: bool) -> Value {
    let mut value = triggers(asked.reason.map(Reason::name), asked.reason.is_some_and(Reason::will_retry), asked.promotion.as_ref());
    if let Value::Object(map) = &mut value {
        map.insert("idle".to_owned(), (asked.reason == Some(Reason::Threshold)).into());
        if !enabled {
            map.insert("fired".to_owned(), false.into());
            map.insert("reason".to_owned(), Value::Null);
        }
    }
    value
}

/// The receipt of a compaction, with its cut and files.
pub(super) fn compaction(object: &mut Map<String, Value>, done: &Done) {
    let receipt = &done.receipt;
    let path = done.plan.as_ref().map(|plan| plan.path.as_slice()).unwrap_or_default();
    let found = match (&done.plan, &done.amounts) {
        (Some(plan), Some(amounts)) => Ok((&plan.cut, amounts)),
        _ => Err(receipt.reason.unwrap_or_default()),
    };
    cut(object, &done.session, path, found);
    object.insert("files".to_owned(), done.plan.as_ref().map_or(Value::Null, |plan| files(&plan.files)));
    let triggers = triggers(receipt.trigger, receipt.will_retry, receipt.promotion.as_ref());
    object.insert("triggers".to_owned(), triggers);
    let rows = [
        ("action", receipt.action.name().into()),
        ("reason", receipt.reason.map_or(Value::Null, Value::from)),
        ("entry_id", json!(receipt.entry_id)),
        ("continue_id", json!(receipt.continue_id)),
        ("strategy", receipt.strategy.into()),
        ("summarizer", json!(receipt.summarizer)),
        ("counted_before", json!(receipt.counted.0)),
        ("counted_after", json!(receipt.counted.1)),
        ("tokens_before", json!(receipt.tokens.0)),
        ("tokens_after", json!(receipt.tokens.1)),
        ("estimated", receipt.estimated.into()),
        ("bytes_before", receipt.bytes.0.into()),
        ("bytes_after", json!(receipt.bytes.1)),
        ("summarized_messages", receipt.summarized_messages.into()),
        ("kept_messages", receipt.kept_messages.into()),
        ("dropped", receipt.dropped.iter().map(|(id, why)| json!({"id": id, "why": why.code()})).collect()),
        ("pruned_results", receipt.pruned_results.into()),
        ("archive_revision", json!(receipt.archive_revision)),
        ("frames", receipt.frames.as_ref().map_or(Value::Null, super::snapcompact::frames)),
        ("requests", receipt.requests.into()),
        ("dry_run", receipt.dry_run.into()),
        ("warnings", json!(receipt.warnings)),
        ("summary", summary(&done.session, done.summary.as_ref())),
    ];
    object.extend(rows.map(|(key, value)| (key.to_owned(), value)));
    if let Some(new) = &done.new_session {
        let path = new.path.as_ref().map(|path| path.display().to_string());
        object.insert("new_session".to_owned(), json!({"id": new.id, "path": path}));
    }
    if let Some(r) = &done.replacement {
        let about = json!({"instructions": r.instructions, "reminders": r.reminders, "tokens": r.tokens, "limit": r.limit, "other_branches": r.other_branches});
        object.insert("replacement".to_owned(), about);
    }
}

/// `prune`: what pruning does or would do; `saved_bytes` is known only when the lines were made, `size` only when measures
/// were asked for.
pub(super) fn prune(session: &Session, plan: &PrunePlan, would_prune: bool, saved_bytes: Option<u64>, freed: &[Freed]) -> Value {
    let rows = plan.results.iter().map(
        |r| json!({"id": session.id(r.entry), "reason": r.reason.name(), "tokens": r.tokens, "saved": r.saved, "kept_images": r.images}),
    );
    let by_measures: i64 = freed.iter().map(|f| f.tokens).sum();
    let mut object = json!({
        "would_prune": would_prune, "saved_tokens": plan.saved.saturating_add_signed(by_measures), "saved_bytes": saved_bytes,
        "kept_image_tokens": plan.kept_image_tokens(), "results": rows.collect::<Vec<_>>(),
    });
    if let (false, Value::Object(object)) = (freed.is_empty(), &mut object) {
        let rows = freed.iter().map(|f| {
            let changes = f.changes.iter().map(|c| json!({"id": session.id(c.entry), "bytes": c.bytes, "tokens": c.tokens}));
            json!({
                "measure": f.measure.name(), "entries": f.changes.len(), "bytes": f.bytes, "tokens": f.tokens,
                "changes": changes.collect::<Vec<_>>(),
            })
        });
        object.insert("size".to_owned(), rows.collect());
    }
    object
}

/// One of `frames`: a frame of a session, read back; `error` tells why the text is not known.
pub(super) fn frame(session: &Session, view: &FrameView) -> Value {
    let frame = &view.frame;
    let text = view.text.as_ref().ok().map(|text| text::masked(text).into_owned());
    json!({
        "id": session.id(view.entry), "shape": view.shape, "cols": frame.cols, "rows": frame.rows, "chars": frame.chars,
        "bytes": view.png.as_ref().map(Vec::len), "billed_tokens": frame.tokens(), "text": text, "error": view.text.as_ref().err(),
    })
}

/// `revisions`.
pub(super) fn revisions(list: &[Revision]) -> Value {
    let rows = list.iter().map(|r| {
        let about = &r.reference;
        json!({
            "revision": about.revision, "generation": about.generation, "kind": about.kind.name(), "sha256": about.sha256,
            "bytes": about.bytes, "file": about.file, "state": r.state,
        })
    });
    rows.collect()
}

/// The receipt of a pruning.
pub(super) fn pruning(object: &mut Map<String, Value>, done: &PruneDone) {
    let saved_bytes = done.bytes.0.checked_sub(done.bytes.1);
    object.insert(
        "prune".to_owned(),
        done.plan.as_ref().map_or(Value::Null, |plan| prune(&done.session, plan, done.changed, saved_bytes, &done.freed)),
    );
    let pruned = done.plan.as_ref().filter(|_| done.changed).map_or(0, |plan| plan.results.len());
    let reason = match (done.restored, done.changed) {
        (Some(_), _) => json!("restored"),
        (None, true) => Value::Null,
        (None, false) => json!(done.reason),
    };
    let action = match (done.changed, &done.mended) {
        (true, Some(_)) => "repaired",
        (true, None) => "pruned",
        (false, _) => "nothing",
    };
    if let Some(mended) = &done.mended {
        let rows = mended.iter().map(|m| json!({"code": m.code.name(), "line": m.line, "id": m.id, "what": m.what}));
        object.insert("mended".to_owned(), rows.collect());
    }
    if let Some(edits) = &done.edits {
        object.insert("entry_id".to_owned(), json!(edits.last()));
        object.insert("entry_ids".to_owned(), json!(edits));
    }
    let gone = done.freed.iter().filter(|freed| done.changed && freed.measure.takes_entries());
    let dropped = gone.flat_map(|f| f.changes.iter().map(|c| json!({"id": done.session.id(c.entry), "why": f.measure.name()})));
    let rows = [
        ("action", action.into()),
        ("reason", reason),
        ("bytes_before", done.bytes.0.into()),
        ("bytes_after", done.bytes.1.into()),
        ("dropped", dropped.collect()),
        ("pruned_results", pruned.into()),
        ("archive_revision", json!(done.revision)),
        ("restored_revision", json!(done.restored)),
        ("dry_run", done.dry_run.into()),
        ("warnings", json!(done.warnings)),
    ];
    object.extend(rows.map(|(key, value)| (key.to_owned(), value)));
}

/// The receipt of the summaries of all branches.
pub(super) fn branches(object: &mut Map<String, Value>, done: &BranchesDone) {
    let session = &done.session;
    let rows = done.branches.iter().map(|branch| {
        let plan = &branch.plan;
        json!({
            "from_id": session.id(branch.from), "entry_id": branch.entry_id, "branch": about_branch(session, plan),
            "files": files(&plan.files), "summary": summary(session, branch.summary.as_ref()),
        })
    });
    object.insert("branches".to_owned(), rows.collect());
    let nothing = done.branches.is_empty();
    let warnings: Vec<&String> = done.branches.iter().flat_map(|branch| &branch.warnings).chain(&done.warnings).collect();
    let rows = [
        ("action", if nothing { "nothing" } else { "summarized" }.into()),
        ("reason", if nothing { "nothing_to_summarize".into() } else { Value::Null }),
        ("entry_id", json!(done.branches.last().and_then(|branch| branch.entry_id.as_ref()))),
        ("bytes_before", done.bytes.0.into()),
        ("bytes_after", done.bytes.1.into()),
        ("summarized_messages", done.branches.iter().map(|branch| branch.plan.messages.len()).sum::<usize>().into()),
        ("archive_revision", json!(done.revision)),
        ("requests", done.branches.iter().map(|branch| branch.requests).sum::<u64>().into()),
        ("dry_run", done.dry_run.into()),
        ("warnings", json!(warnings)),
    ];
    object.extend(rows.map(|(key, value)| (key.to_owned(), value)));
}

fn about_branch(session: &Session, plan: &BranchPlan) -> Value {
    let entries: Vec<&str> = plan.entries.iter().map(|ix| session.id(*ix)).collect();
    json!({"common_ancestor_id": id(session, plan.ancestor.as_ref()), "entry_ids": entries, "messages": plan.messages.len(), "tokens": plan.tokens})
}

/// The receipt of a branch summary, with the branch and its files.
pub(super) fn branch(object: &mut Map<String, Value>, done: &BranchDone) {
    let (session, plan) = (&done.session, &done.plan);
    object.insert("branch".to_owned(), about_branch(session, plan));
    object.insert("files".to_owned(), files(&plan.files));
    let summarized = done.summary.is_some() || done.unknown;
    let (action, reason) = match (done.cancelled, summarized) {
        (true, _) => ("refused", "cancelled".into()),
        (false, true) => ("summarized", Value::Null),
        (false, false) => ("nothing", "nothing_to_summarize".into()),
    };
    let rows = [
        ("action", action.into()),
        ("reason", reason),
        ("entry_id", json!(done.entry_id)),
        ("bytes_before", done.bytes.0.into()),
        ("bytes_after", done.bytes.1.into()),
        ("summarized_messages", plan.messages.len().into()),
        ("archive_revision", json!(done.revision)),
        ("requests", done.requests.into()),
        ("dry_run", done.dry_run.into()),
        ("warnings", json!(done.warnings)),
        ("summary", summary(session, done.summary.as_ref())),
    ];
    object.extend(rows.map(|(key, value)| (key.to_owned(), value)));
}

/// `context`.
pub(super) fn context(session: &Session, context: &Context, tokens: &[u64]) -> Value {
    let rows = context.items.iter().zip(tokens);
    rows.map(|(item, tokens)| json!({"role": item.role.name(), "id": session.id(item.entry), "tokens": tokens})).collect()
}
