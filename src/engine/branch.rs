//! What an abandoned branch learnt: which of its entries a summary sees, and the entry that keeps it.

use std::collections::HashSet;
use std::io;

use serde_json::{Map, Value};

use super::compaction::{Extra, Stamp};
use super::files::{self, Files};
use super::serialize::{RESULT_CHARS, Selection, select};
use super::tokens::{Counter, of_message};
use crate::session::{Block, Ix, Json, Kind, Message, Role, Session};
use crate::summarize::Summary;
use crate::text;

/// Tokens that a summary's answer keeps free of the window: what the agents keep.
pub const RESERVE_TOKENS: u64 = 16_384;

/// What of a branch is summarized.
#[derive(Debug, Clone)]
pub struct BranchPlan {
    /// The deepest entry that both paths share; none when they have other roots.
    pub ancestor: Option<Ix>,
    /// The entries of the branch, from the ancestor to the leaf that was left.
    pub entries: Vec<Ix>,
    /// The messages that fit the budget, in order.
    pub messages: Vec<Ix>,
    /// Their tokens.
    pub tokens: u64,
    /// What of them is told.
    pub selection: Selection,
    /// The files of the whole branch.
    pub files: Files,
    /// The request that opened the branch.
    pub request: Option<String>,
}

/// Plans the summary of the branch that ends at `from` for someone who goes on at `to`.
///
/// # Errors
/// When an entry cannot be read.
pub fn plan(counter: &mut Counter<'_>, from: Ix, to: Ix, budget: u64) -> io::Result<BranchPlan> {
    let session = counter.session();
    let old = session.path(from).entries;
    let target: HashSet<Ix> = session.path(to).entries.into_iter().collect();
    let shared = old.iter().rposition(|ix| target.contains(ix));
    let entries: Vec<Ix> = old.get(shared.map_or(0, |at| at + 1)..).unwrap_or_default().to_vec();
    let mut files = Files::default();
    for ix in entries.iter().copied() {
        add_files(session, ix, &mut files)?;
    }
    let (messages, tokens) = fitting(counter, &entries, budget)?;
    // Useless results count nothing and are no messages, but with them their calls go.
    let told: Vec<Ix> = entries.iter().copied().skip_while(|ix| Some(ix) != messages.first()).filter(|ix| enters(session, *ix)).collect();
    let first = entries.iter().copied().find(|ix| session[*ix].role == Role::User && session[*ix].kind == Kind::Message);
    let request = first.map(|ix| session.with_message(ix, |m| m.text().into_owned())).transpose()?.filter(|r| !r.trim().is_empty());
    Ok(BranchPlan {
        ancestor: shared.and_then(|at| old.get(at)).copied(),
        selection: select(session, &old, &told)?,
        entries,
        messages,
        tokens,
        files,
        request,
    })
}

fn add_files(session: &Session, ix: Ix, files: &mut Files) -> io::Result<()> {
    if !session.calls(ix).is_empty() {
        return session.with_message(ix, |message| files.add_message(message));
    }
    if session[ix].kind != Kind::BranchSummary {
        return Ok(());
    }
    // A compaction's lists are not added: its entries are in the branch themselves.
    let payload = session.read(ix)?;
    let text = payload.text();
    let record = Json::parse(&text).unwrap_or(Json::Null);
    if !record.get("fromExtension").is_true() && !record.get("fromHook").is_true() {
        files.add_details(record.get("details"));
    }
    Ok(())
}

/// Whether an entry can be told: messages, and compactions by their summary.
fn enters(session: &Session, ix: Ix) -> bool {
    session[ix].is_message() || session[ix].kind == Kind::Compaction
}

/// The newest messages that fit the budget, and their tokens. A summary that is the first not to fit is taken all the same
/// while less than nine tenths are used: it stands for all that is older.
fn fitting(counter: &mut Counter<'_>, entries: &[Ix], budget: u64) -> io::Result<(Vec<Ix>, u64)> {
    let session = counter.session();
    let mut messages = Vec::new();
    let mut sum = 0_u64;
    for ix in entries.iter().rev().copied() {
        let entry = &session[ix];
        let is_summary = matches!(entry.kind, Kind::Compaction | Kind::BranchSummary);
        let is_useless = entry.role == Role::ToolResult && entry.flags.useless() && !entry.flags.is_error();
        if !enters(session, ix) || is_useless {
            continue;
        }
        let tokens = session.with_message(ix, |message| told_tokens(counter, message))?;
        if sum + tokens > budget {
            if is_summary && sum * 10 < budget * 9 {
                messages.push(ix);
                sum += tokens;
            }
            break;
        }
        messages.push(ix);
        sum += tokens;
    }
    messages.reverse();
    Ok((messages, sum))
}

/// Tokens of a message as a summarizer gets it: results cut, without their images.
fn told_tokens(counter: &Counter<'_>, message: &Message<'_>) -> u64 {
    let tokenizer = counter.tokenizer();
    if message.role != Role::ToolResult {
        return of_message(tokenizer, message);
    }
    let all: String =
        message.blocks.iter().filter_map(|block| if let Block::Text(text) = block { Some(text.as_ref()) } else { None }).collect();
    tokenizer.count(&super::serialize::clip_result(&all, RESULT_CHARS))
}

/// The entry as one line with its line end, and its id. `ends` are the leaf that was left and the target.
///
/// # Errors
/// When it cannot be encoded.
pub fn entry(
    session: &Session,
    plan: &BranchPlan,
    ends: (Ix, Ix),
    summary: &Summary,
    extra: &Extra,
    stamp: Stamp<'_>,
) -> io::Result<(String, Vec<u8>)> {
    let (from, to) = ends;
    let (mut text, tag) = match extra.from_extension {
        true => (summary.text(), String::new()),
        false => (format!("{}\n\n{}", preamble(plan), files::strip_tags(&summary.text())), plan.files.tag()),
    };
    if !tag.is_empty() {
        text.push_str("\n\n");
        text.push_str(&tag);
    }
    let text = text::masked(&text).into_owned();
    let id = session.new_id(Some(session.id(to)), text.as_bytes());
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    put("type", "branch_summary".into());
    put("id", id.clone().into());
    put("parentId", session.id(to).into());
    put("timestamp", stamp.now.into());
    put("fromId", session.id(from).into());
    put("summary", text.into());
    put("details", extra.details(&plan.files, stamp.note));
    extra.put_origin(&mut entry);
    let mut line = serde_json::to_vec(&entry).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok((id, line))
}

/// Chars of the opening request that the preamble quotes.
const REQUEST_CHARS: usize = 600;

/// Tells the model what it reads: another branch's history, and what that branch was for.
fn preamble(plan: &BranchPlan) -> String {
    let mut text = "Another branch of this conversation was left. What it tried and found, in short:".to_owned();
    if let Some(request) = &plan.request {
        let clean = text::strip(request);
        let masked = text::masked(&clean);
        text.push_str(&format!(
            "\n\nThe branch was opened with: “{}”",
            text::neutralize_tags(&text::one_line(&masked, REQUEST_CHARS), super::serialize::WRAPPERS)
        ));
    }
    text
}
