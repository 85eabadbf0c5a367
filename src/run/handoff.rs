//! `compact --strategy handoff`: a new session that begins with what the next agent has to know. The old one stays as it is.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::compact::{CompactJob, Done};
use super::hooked::{self, Asking, Verdict, WholeHistory};
use super::open::Opened;
use super::receipt::{Action, Receipt};
use super::rewrite::write_to;
use super::words::{extra_of, masked_lines, note_of, test_delay};
use super::{RunError, Services, Target};
use crate::engine::replace::{Earlier, earlier};
use crate::engine::serialize::select;
use crate::engine::tokens::{Counter, Effort};
use crate::engine::{compaction, files, handoff, usage};
use crate::hooks::Compacting;
use crate::session::{Ix, Kind, Session, Source};
use crate::store::{Fingerprint, State, StoreError};
use crate::summarize::{Purpose, Request, SummarizeError, Summary};

/// The session in which the work goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: String,
    /// Its file; none when it went to standard output.
    pub path: Option<PathBuf>,
}

/// How an attempt ended.
pub(super) enum Tried {
    /// The new session is there, or would be, or was before.
    Done(Box<Done>),
    /// The old session grew meanwhile.
    Grown,
    /// There is nothing to tell.
    NoDocument,
}

/// One pass of the loop for this strategy.
pub(super) fn attempt(
    job: &CompactJob,
    services: &Services<'_>,
    opened: &Opened,
    path: &[Ix],
    receipt: &Receipt,
) -> Result<Tried, RunError> {
    let session = &opened.session;
    let mut receipt = receipt.clone();
    (services.progress)("planning");
    let id = successor_id(session, path, job.focus.as_deref())?;
    let beside = opened.print.as_ref().map(|print| beside(print, &services.now, &id));
    if let (Some(print), Target::InPlace | Target::Nowhere) = (&opened.print, &job.target)
        && let Some(there) = successor(print, &id)?
    {
        receipt.reason = Some("handed_off");
        receipt.why = Some(format!("it was handed off already, to {}", there.display()));
        receipt.bytes.1 = Some(receipt.bytes.0);
        let new_session = Some(NewSession { id, path: Some(there) });
        return Ok(Tried::Done(Box::new(Done { new_session, ..Done::without_plan(receipt, session.clone()) })));
    }
    let mut counter = Counter::new(session, job.tokenizer, Effort::Receipt);
    let context = session.context(path)?;
    let estimate = usage::estimate(&mut counter, path, &context)?;
    let messages: Vec<Ix> = context.items.iter().map(|item| item.entry).filter(|ix| session[*ix].kind != Kind::Compaction).collect();
    let Earlier { summary: previous, covered, warnings } = earlier(session, path, &context)?;
    let mut selection = select(session, path, &messages)?;
    selection.covered = covered.into_iter().filter(|ix| selection.told.contains(ix)).collect();
    receipt.warnings.extend(warnings);
    receipt.estimate(&estimate);
    receipt.summarized_messages = messages.len();
    receipt.drop(session, &selection.left_out);
    receipt.summarizer = Some(services.summarizer.name());
    if selection.told.is_empty() && previous.is_none() {
        return Ok(Tried::NoDocument);
    }
    let mut touched = files::of_compaction(session, context.compaction, &messages)?;
    touched.fit(job.summary_tokens, job.tokenizer);
    let name = job.input.name();
    let asking = Asking::of(job, session, &name, &receipt);
    let preparation = || {
        asking.whole(&WholeHistory {
            path,
            told: &selection,
            kept: Vec::new(),
            tokens_before: estimate.before(),
            previous: previous.as_deref(),
            files: touched.clone(),
        })
    };
    let verdict = asking.before_compact(preparation, services)?;
    if let Verdict::Cancel = verdict {
        receipt.cancelled();
        return Ok(Tried::Done(Box::new(Done::without_plan(receipt, session.clone()))));
    }
    if receipt.dry_run && services.summarizer.sends() {
        receipt.action = Action::Compacted;
        let new_session = Some(NewSession { id, path: beside });
        return Ok(Tried::Done(Box::new(Done { new_session, ..Done::without_plan(receipt, session.clone()) })));
    }

    (services.progress)("summarizing");
    test_delay();
    let asked = match &verdict {
        Verdict::GoOn => asking.compacting(preparation, services)?,
        _ => Compacting::default(),
    };
    let lines = masked_lines(&[job.context.as_slice(), &asked.context].concat());
    let request = Request {
        session,
        selection: &selection,
        purpose: Purpose::Handoff,
        previous: previous.as_deref(),
        kept: &[],
        turn: &[],
        focus: job.focus.as_deref().or(asked.prompt.as_deref().filter(|_| !services.summarizer.sends())),
        prompt: asked.prompt.as_deref(),
        context: &lines,
        budget: compaction::text_budget(job.summary_tokens, job.tokenizer, &touched),
        spare: 0,
        tokenizer: job.tokenizer,
    };
    let (summary, extra) = match verdict {
        Verdict::Given(given) => {
            receipt.summarizer = Some("hook");
            hooked::given_whole(*given)?
        }
        Verdict::GoOn | Verdict::Cancel => {
            let summary = match services.summarizer.summarize(&request) {
                Err(SummarizeError::Empty) => Summary::default(),
                other => other?,
            };
            let account = services.summarizer.account();
            receipt.made_by(services.summarizer.name(), &account);
            (summary, extra_of(account))
        }
    };
    let document = files::strip_tags(&summary.text());
    if document.trim().is_empty() {
        return Ok(Tried::NoDocument);
    }
    let content = handoff::document(&document, &touched);
    let mut origin = Map::new();
    extra.put_details(&mut origin, note_of(receipt.summarizer, &extra));
    let (entry, bytes) = file(session, opened.print.as_ref(), &id, (&content, origin), &services.now)?;
    check(&bytes, &entry).map_err(RunError::Unsound)?;
    let counted = job.tokenizer.count(&content);
    receipt.counted.1 = Some(counted);
    receipt.tokens.1 = Some(counted);

    (services.progress)("writing");
    if let Some(print) = &opened.print {
        match print.compare(&File::open(&print.path)?)? {
            State::Same => {}
            State::Grown { .. } => return Ok(Tried::Grown),
            State::Changed(what) => return Err(StoreError::Changed { path: print.path.clone(), what }.into()),
        }
    }
    let target = match (&job.target, &beside) {
        (Target::InPlace, Some(path)) => Target::File { path: path.clone(), overwrite: false },
        (other, _) => other.clone(),
    };
    receipt.bytes.1 = Some(write_to(&target, &mut |out| out.write_all(&bytes))?);
    receipt.action = Action::Compacted;
    receipt.entry_id = Some(entry);
    let path = match target {
        Target::File { path, .. } => Some(path),
        Target::Nowhere => beside,
        Target::InPlace | Target::Stdout => None,
    };
    if !receipt.dry_run {
        let shown = path.as_ref().map(|path| path.display().to_string());
        receipt.warnings.extend(hooked::handed_off(services, &name, (&id, shown.as_deref()), extra.from_extension));
    }
    let tokens = job.tokenizer.count(&summary.text());
    let new_session = Some(NewSession { id, path });
    Ok(Tried::Done(Box::new(Done { summary: Some((summary, tokens)), new_session, ..Done::without_plan(receipt, session.clone()) })))
}

/// The id of the session that goes on from this point of this one: the same for the same question, so that a session is
/// handed off once however often that is asked for. It has the form of a UUID whose content is somebody's own.
fn successor_id(session: &Session, path: &[Ix], focus: Option<&str>) -> io::Result<String> {
    let leaf = path.last().map_or("", |ix| session.id(*ix));
    let id = session.header()?.id.unwrap_or_default();
    let mut seed = Sha256::new();
    for part in ["handoff", id.as_str(), leaf, focus.unwrap_or_default()] {
        seed.update((part.len() as u64).to_le_bytes());
        seed.update(part);
    }
    let digest: [u8; 32] = seed.finalize().into();
    let mut number = u128::from_be_bytes(std::array::from_fn(|at| digest.get(at).copied().unwrap_or_default()));
    number = (number & !(0xf << 76)) | (0x8 << 76);
    number = (number & !(0x3 << 62)) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    Ok([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}

/// The file beside the old one, named as agents name theirs: when it began, and its id.
fn beside(print: &Fingerprint, now: &str, id: &str) -> PathBuf {
    folder(print).join(format!("{}_{id}.jsonl", now.replace([':', '.'], "-")))
}

fn folder(print: &Fingerprint) -> &Path {
    print.path.parent().unwrap_or(Path::new(""))
}

/// The file of a handoff that was made before.
fn successor(print: &Fingerprint, id: &str) -> io::Result<Option<PathBuf>> {
    let end = format!("_{id}.jsonl");
    let folder = if folder(print).as_os_str().is_empty() { Path::new(".") } else { folder(print) };
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.ends_with(&end)) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// The new session: the id of its message, and its bytes. `message` is what the message says, and what else its entry does.
fn file(
    old: &Session,
    print: Option<&Fingerprint>,
    id: &str,
    (content, origin): (&str, Map<String, Value>),
    now: &str,
) -> io::Result<(String, Vec<u8>)> {
    let header = old.header()?;
    let parent = match print {
        Some(print) => Some(std::fs::canonicalize(&print.path)?.display().to_string()),
        None => header.id,
    };
    let mut first = json!({"type": "session", "version": 3, "id": id, "timestamp": now, "cwd": header.cwd.unwrap_or_default()});
    if let (Some(object), Some(parent)) = (first.as_object_mut(), parent) {
        object.insert("parentSession".to_owned(), parent.into());
    }
    let digest = Sha256::new().chain_update(id).chain_update(content).finalize();
    let entry: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let mut message = json!({
        "type": "custom_message", "id": entry, "parentId": null, "timestamp": now, "customType": handoff::CUSTOM_TYPE, "content": content,
        "display": true,
    });
    if let Some(message) = message.as_object_mut() {
        message.extend(origin);
    }
    Ok((entry, format!("{first}\n{message}\n").into_bytes()))
}

/// Reads the new session as an agent would: one message, the document.
fn check(bytes: &[u8], entry: &str) -> Result<(), String> {
    let session = Session::open(Source::memory(bytes.to_vec())).map_err(|e| e.to_string())?;
    let context = session.context(&session.active_path().entries).map_err(|e| e.to_string())?;
    match context.items.as_slice() {
        [only] if session.id(only.entry) == entry => Ok(()),
        _ => Err("the new session does not begin with the document".to_owned()),
    }
}
