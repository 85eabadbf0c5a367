//! The rules once more, as plainly as they can be put: every question walks over whole parsed records, nothing is indexed,
//! remembered or shared with the library. Slow and obvious; the library has to agree with it.

use serde_json::Value;

/// All records of a file in their order.
pub struct Naive {
    pub records: Vec<Value>,
}

impl Naive {
    pub fn of(bytes: &[u8]) -> Naive {
        let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        Naive { records: lines.filter_map(|line| serde_json::from_slice(line).ok()).collect() }
    }

    /// The entries from a root to the last entry of the file.
    pub fn path(&self) -> Vec<&Value> {
        let nodes: Vec<&Value> = self.records.iter().filter(|r| kind(r) != "session" && r["id"].is_string()).collect();
        let Some(mut at) = nodes.last().copied() else { return Vec::new() };
        let mut path = vec![at];
        while let Some(parent) = nodes.iter().rev().find(|r| r["id"] == at["parentId"]) {
            if path.iter().any(|r| r["id"] == parent["id"]) {
                break;
            }
            path.insert(0, parent);
            at = parent;
        }
        path
    }
}

pub fn kind(entry: &Value) -> &str {
    entry["type"].as_str().unwrap_or("")
}

pub fn id(entry: &Value) -> &str {
    entry["id"].as_str().unwrap_or("")
}

pub fn role(entry: &Value) -> &str {
    match kind(entry) {
        "message" => entry["message"]["role"].as_str().unwrap_or("unknown"),
        "custom_message" => "custom",
        "branch_summary" => "branchSummary",
        "compaction" => "compactionSummary",
        _ => "none",
    }
}

pub fn is_message(entry: &Value) -> bool {
    matches!(kind(entry), "message" | "custom_message" | "branch_summary")
}

fn is_result(entry: &Value) -> bool {
    kind(entry) == "message" && role(entry) == "toolResult"
}

/// The turn failed, was stopped, or was made only to recover.
pub fn is_left_out(entry: &Value) -> bool {
    role(entry) == "assistant"
        && (matches!(entry["message"]["stopReason"].as_str(), Some("error" | "aborted")) || entry["message"]["retryRecovery"] == true)
}

pub fn is_excluded(entry: &Value) -> bool {
    entry["message"]["excludeFromContext"] == true
}

pub fn is_useless(entry: &Value) -> bool {
    is_result(entry) && entry["message"]["useless"] == true && entry["message"]["isError"] != true
}

pub fn calls(entry: &Value) -> Vec<&str> {
    if role(entry) != "assistant" {
        return Vec::new();
    }
    let blocks = entry["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter(|b| b["type"] == "toolCall").filter_map(|b| b["id"].as_str()).collect()
}

/// Position of the call that the result at `at` answers: the nearest one before it with that id.
pub fn call_of(path: &[&Value], at: usize) -> Option<usize> {
    if !is_result(path[at]) {
        return None;
    }
    let call = path[at]["message"]["toolCallId"].as_str()?;
    (0..at).rev().find(|n| calls(path[*n]).contains(&call))
}

/// The result at `at` answers a call of a turn that is left out.
pub fn answers_failed(path: &[&Value], at: usize) -> bool {
    call_of(path, at).is_some_and(|call| is_left_out(path[call]))
}

// ---- counting: bytes of each fragment divided by 4, rounded up

fn fragment(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

fn content(content: &Value) -> u64 {
    if let Some(text) = content.as_str() {
        return fragment(text);
    }
    let text = |block: &Value, key: &str| block[key].as_str().map_or(0, fragment);
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    blocks
        .iter()
        .map(|block| match block["type"].as_str().unwrap_or("") {
            "text" => text(block, "text"),
            "thinking" => text(block, "thinking") + text(block, "thinkingSignature"),
            "redactedThinking" => text(block, "data"),
            "toolCall" => text(block, "name") + fragment(&block["arguments"].to_string()),
            "image" => 1200,
            _ => 0,
        })
        .sum()
}

/// Tokens of an entry as it is stored.
pub fn tokens(entry: &Value) -> u64 {
    let message = &entry["message"];
    match (kind(entry), role(entry)) {
        ("custom_message", _) => content(&entry["content"]),
        ("branch_summary", _) => content(&entry["summary"]),
        ("message", "bashExecution" | "pythonExecution") => {
            let all = ["command", "code", "output"].iter().map(|key| content(&message[*key])).sum();
            if is_excluded(entry) { 0 } else { all }
        }
        ("message", "branchSummary" | "compactionSummary") => content(&message["summary"]),
        ("message", "system") => {
            let sections = message["sections"].as_object().map_or(0, |s| s.values().map(content).sum());
            let tools = message["toolsAdded"].as_array().map_or(0, |t| t.iter().map(|t| fragment(&t.to_string())).sum::<u64>());
            content(&message["content"]) + sections + tools
        }
        ("message", _) => content(&message["content"]),
        _ => 0,
    }
}

// ---- the context

/// The context of a path: role and id of each message.
pub fn context(path: &[&Value]) -> Vec<(String, String)> {
    let reset = path.iter().rposition(|e| kind(e) == "reset_boundary");
    let compaction = path.iter().rposition(|e| kind(e) == "compaction").filter(|c| reset.is_none_or(|r| r < *c));
    let mut out = Vec::new();
    let mut selected: Vec<usize> = Vec::new();
    match compaction {
        Some(c) => {
            let new_prompt = path[c]["systemMessage"].is_object();
            if new_prompt {
                out.push(("system".to_owned(), id(path[c]).to_owned()));
            }
            out.push(("compactionSummary".to_owned(), id(path[c]).to_owned()));
            let kept = (0..c).rev().find(|n| path[*n]["id"] == path[c]["firstKeptEntryId"]);
            if let Some(kept) = kept {
                selected.extend((kept..c).filter(|n| reset.is_none_or(|r| *n > r)).filter(|n| !(new_prompt && role(path[*n]) == "system")));
            }
            selected.extend(c + 1..path.len());
        }
        None => selected.extend(reset.map_or(0, |r| r + 1)..path.len()),
    }
    for at in selected.iter().copied() {
        let entry = path[at];
        if !is_message(entry) || is_excluded(entry) || is_left_out(entry) {
            continue;
        }
        if answers_failed(path, at) {
            continue;
        }
        let edit = edit_of(path, at);
        if is_omitted(path, at) {
            continue;
        }
        if role(entry) == "assistant" && edit.is_none() {
            let answers = |n: usize, call: &str| is_result(path[n]) && path[n]["message"]["toolCallId"] == call && !answers_failed(path, n);
            let answered = |call: &str| (0..path.len()).any(|n| answers(n, call));
            let open: Vec<&str> = calls(entry).into_iter().filter(|call| !answered(call)).collect();
            let left = entry["message"]["content"].as_array().map_or(0, |blocks| {
                let stays = |b: &&Value| match b["type"].as_str() {
                    Some("toolCall") => !open.contains(&b["id"].as_str().unwrap_or("")),
                    Some("redactedThinking") => open.is_empty(),
                    _ => true,
                };
                blocks.iter().filter(stays).count()
            });
            if !open.is_empty() && left == 0 {
                continue;
            }
        }
        out.push((role(entry).to_owned(), id(entry).to_owned()));
    }
    out
}

// ---- the cut

/// Where the cut is, by positions on the path.
#[derive(Debug, PartialEq)]
pub struct Cut {
    pub window: usize,
    pub first_kept: usize,
    pub first_message: usize,
    pub turn_start: Option<usize>,
    pub budget: u64,
    pub candidates: Vec<usize>,
}

pub fn may_start(entry: &Value) -> bool {
    matches!(kind(entry), "custom_message" | "branch_summary")
        || kind(entry) == "message"
            && matches!(
                role(entry),
                "user" | "assistant" | "bashExecution" | "hookMessage" | "custom" | "branchSummary" | "compactionSummary"
            )
}

fn starts_turn(entry: &Value) -> bool {
    matches!(kind(entry), "custom_message" | "branch_summary")
        || kind(entry) == "message" && matches!(role(entry), "user" | "bashExecution")
}

/// Start of the window, and whether something is new in it.
pub fn window(path: &[&Value]) -> (usize, bool) {
    let after_reset = path.iter().rposition(|e| kind(e) == "reset_boundary").map_or(0, |r| r + 1);
    let Some(c) = path.iter().rposition(|e| kind(e) == "compaction").filter(|c| *c >= after_reset) else {
        return (after_reset, path[after_reset..].iter().any(|e| is_message(e)));
    };
    let before = |wanted: &Value| (0..c).rev().find(|n| path[*n]["id"] == *wanted);
    let start = if path[c]["preserveData"]["openaiRemoteCompaction"].is_null() {
        before(&path[c]["firstKeptEntryId"]).unwrap_or(c + 1)
    } else {
        before(&path[c]["providerReplayThroughEntryId"]).unwrap_or(c) + 1
    };
    (start.max(after_reset), path[c + 1..].iter().any(|e| is_message(e)))
}

fn budget(path: &[&Value], window: usize, keep: u64) -> u64 {
    let amount = |usage: &Value, key: &str| usage[key].as_u64().unwrap_or(0);
    let good = |e: &&&Value| {
        role(e) == "assistant"
            && e["message"]["usage"].is_object()
            && !matches!(e["message"]["stopReason"].as_str(), Some("error" | "aborted"))
    };
    let Some(newest) = path.iter().rev().find(good) else { return keep };
    let usage = &newest["message"]["usage"];
    let parts = amount(usage, "input") + amount(usage, "cacheRead") + amount(usage, "cacheWrite");
    let context = match (amount(usage, "contextTokens"), amount(usage, "totalTokens")) {
        (0, 0) => parts + amount(usage, "output"),
        (0, total) => total,
        (context, _) => context,
    };
    let prompt = match (amount(usage, "contextTokens"), parts) {
        (0, 0) => context,
        (0, parts) => parts,
        (context, _) => context,
    };
    let counted: u64 = path[window..].iter().map(|e| tokens(e)).sum();
    if counted == 0 || prompt <= counted {
        return keep;
    }
    ((keep as f64 / (prompt as f64 / counted as f64)).floor() as u64).max(1)
}

/// Whether a result at or after `at` answers a call before it.
pub fn splits(path: &[&Value], at: usize) -> bool {
    (at..path.len()).any(|n| call_of(path, n).is_some_and(|call| call < at))
}

/// Chooses the cut, or says why there is none.
pub fn cut(path: &[&Value], keep: u64) -> Result<Cut, &'static str> {
    let (window, new) = window(path);
    if !new {
        return Err("nothing new");
    }
    let budget = budget(path, window, keep);
    let has_message_before = |at: usize| path[window..at].iter().any(|e| is_message(e));
    let starts: Vec<usize> = (window..path.len()).filter(|at| may_start(path[*at])).collect();
    let fits = |at: usize| path[at..].iter().map(|e| tokens(e)).sum::<u64>() <= budget;
    let Some(chosen) = starts.iter().copied().find(|at| fits(*at)).or(starts.last().copied()) else { return Err("fits") };
    if !has_message_before(chosen) {
        return Err("fits");
    }
    let candidates: Vec<usize> = starts.into_iter().filter(|at| has_message_before(*at) && !splits(path, *at)).collect();
    let Some(first_message) = candidates.iter().rev().copied().find(|at| *at <= chosen) else { return Err("no safe cut") };
    Ok(at(path, window, first_message, budget, candidates))
}

/// The cut at a given message.
pub fn at(path: &[&Value], window: usize, first_message: usize, budget: u64, candidates: Vec<usize>) -> Cut {
    let mut first_kept = first_message;
    while first_kept > window && !is_message(path[first_kept - 1]) && !matches!(kind(path[first_kept - 1]), "compaction" | "reset_boundary")
    {
        first_kept -= 1;
    }
    let turn_start = match starts_turn(path[first_message]) {
        true => None,
        false => (window..first_message).rev().find(|n| starts_turn(path[*n])),
    };
    Cut { window, first_kept, first_message, turn_start, budget, candidates }
}

/// The edit that counts for an entry of a path.
fn edit_of<'a>(path: &[&'a Value], at: usize) -> Option<&'a Value> {
    path.iter().rev().copied().find(|e| kind(e) == "context_edit" && e["targetId"] == path[at]["id"])
}

/// Whether an edit takes an entry out of the context.
pub(crate) fn is_omitted(path: &[&Value], at: usize) -> bool {
    edit_of(path, at).is_some_and(|e| e["replacement"].is_null())
}
