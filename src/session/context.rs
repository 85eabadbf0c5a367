//! What a model sees of a path: the rules by which the agents rebuild a context.

use std::io;

use super::entry::{Ix, Kind, Role, Sym};
use super::index::{Payload, Session};
use super::json::Json;
use super::message::Message;
use super::strings::{Map, Set};

/// One message of a context.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// The entry it comes from.
    pub entry: Ix,
    /// Its role in the context.
    pub role: Role,
    /// The `context_edit` whose content stands in its place.
    pub edit: Option<Ix>,
    /// Some of its calls have no result and are left out.
    pub partial: bool,
}

/// The context of a path.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The messages, in the model's order.
    pub items: Vec<Item>,
    /// The compaction whose summary opens it.
    pub compaction: Option<Ix>,
    answered: Set<Sym>,
}

/// Where the context of a path begins.
#[derive(Debug, Clone, Copy, Default)]
pub struct Boundary {
    /// Position of the latest compaction on the path, unless a later reset makes it void.
    pub compaction: Option<usize>,
    /// Position of the first entry that the compaction keeps: found before it and after the latest reset.
    pub first_kept: Option<usize>,
    /// Position of the latest reset.
    pub reset: Option<usize>,
}

impl Session {
    /// Finds the latest compaction and reset of a path, and what the compaction keeps.
    #[must_use]
    pub fn boundary(&self, path: &[Ix]) -> Boundary {
        let last = |kind: Kind| path.iter().rposition(|ix| self[*ix].kind == kind);
        let reset = last(Kind::ResetBoundary);
        let compaction = last(Kind::Compaction).filter(|c| reset.is_none_or(|r| r < *c));
        let first_kept = compaction.and_then(|c| {
            let target = path.get(c).and_then(|ix| self[*ix].target)?;
            path.iter().take(c).rposition(|ix| self[*ix].id == Some(target))
        });
        Boundary { compaction, first_kept: first_kept.map(|f| f.max(reset.map_or(0, |r| r + 1))), reset }
    }

    /// The context of a path.
    ///
    /// # Errors
    /// When a `context_edit` cannot be read.
    pub fn context(&self, path: &[Ix]) -> io::Result<Context> {
        let boundary = self.boundary(path);
        let mut selected: Vec<Ix> = Vec::new();
        let start = match (boundary.compaction, boundary.reset) {
            (Some(c), _) => {
                selected.extend(path.get(boundary.first_kept.unwrap_or(c)..c).unwrap_or_default());
                c + 1
            }
            (None, Some(reset)) => reset + 1,
            (None, None) => 0,
        };
        selected.extend(path.get(start..).unwrap_or_default());
        let compaction = boundary.compaction.and_then(|c| path.get(c)).copied();
        let kept = boundary.first_kept.zip(boundary.compaction).map_or(0, |(from, to)| to.saturating_sub(from));
        self.assemble(path, compaction, &selected, kept)
    }

    /// The context that `selected` entries of `path` make behind the summary of `compaction`; the first `kept` of them stand
    /// before it in the file.
    fn assemble(&self, path: &[Ix], compaction: Option<Ix>, selected: &[Ix], kept: usize) -> io::Result<Context> {
        let edits = self.edits(path)?;
        let answers_left_out = self.answers_left_out(path);
        let answered = self.answered(path);
        let mut items = Vec::new();
        let mut has_system = false;
        if let Some(compaction) = compaction {
            let item = Item { entry: compaction, role: Role::CompactionSummary, edit: None, partial: false };
            // pi 1.x: the system prompt at that point, complete; it stands for the system messages of the kept range.
            has_system = self.has_system_message(compaction)?;
            if has_system {
                items.push(Item { role: Role::System, ..item });
            }
            items.push(item);
        }
        for (at, ix) in selected.iter().copied().enumerate() {
            let entry = &self[ix];
            let replaced = has_system && at < kept && entry.role == Role::System;
            if !entry.is_message() || self.is_left_out(ix) || entry.flags.excluded() || replaced {
                continue;
            }
            let edit = match entry.id.and_then(|id| edits.get(&id)) {
                Some(Edit::Omit) => continue,
                Some(Edit::Replace(edit)) => Some(*edit),
                None => None,
            };
            let mut partial = false;
            match entry.role {
                Role::Assistant => {
                    let calls = self.calls(ix);
                    partial = calls.iter().any(|call| !answered.contains(call));
                    if partial && edit.is_none() && self.is_empty_without_calls(ix, &answered)? {
                        continue;
                    }
                }
                // A result goes with the turn that made its call.
                Role::ToolResult if answers_left_out.contains(&ix) => continue,
                _ => {}
            }
            items.push(Item { entry: ix, role: entry.role, edit, partial });
        }
        Ok(Context { items, compaction, answered })
    }

    fn has_system_message(&self, compaction: Ix) -> io::Result<bool> {
        let payload = self.read(compaction)?;
        Ok(memchr::memmem::find(payload.bytes(), b"\"systemMessage\"").is_some()
            && Json::parse(&payload.text()).is_ok_and(|record| record.get("systemMessage").is_some()))
    }

    /// Turns that readers leave out of a context whole: failed ones, and those made only to recover.
    #[must_use]
    pub fn is_left_out(&self, ix: Ix) -> bool {
        let entry = &self[ix];
        entry.role == Role::Assistant && entry.kind == Kind::Message && (entry.stop.failed() || entry.flags.retry_recovery())
    }

    /// Whether an entry is a message that carries frames behind a compaction.
    #[must_use]
    pub fn carries_frames(&self, ix: Ix) -> bool {
        self[ix].kind == Kind::CustomMessage
            && self.read(ix).is_ok_and(|payload| {
                memchr::memmem::find(payload.bytes(), super::frames::KEY.as_bytes()).is_some()
                    && Json::parse(&payload.text()).is_ok_and(|record| super::frames::Archive::carried(&record).is_some())
            })
    }

    /// For each result of a path the message that made its call: the nearest one before it whose call has its id. Ids come
    /// again where an agent counts them anew, and what is cut apart goes by the same rule.
    #[must_use]
    pub fn callers(&self, path: &[Ix]) -> Map<Ix, Ix> {
        let mut calls: Map<Sym, Ix> = Map::default();
        let mut callers = Map::default();
        for ix in path.iter().copied() {
            let entry = &self[ix];
            calls.extend(self.calls(ix).iter().map(|call| (*call, ix)));
            if entry.role == Role::ToolResult
                && let Some(caller) = entry.target.and_then(|call| calls.get(&call))
            {
                callers.insert(ix, *caller);
            }
        }
        callers
    }

    /// The results of a path that answer a call of a turn that is left out.
    #[must_use]
    pub fn answers_left_out(&self, path: &[Ix]) -> Set<Ix> {
        self.callers(path).into_iter().filter(|(_, caller)| self.is_left_out(*caller)).map(|(result, _)| result).collect()
    }

    /// The calls of a path that have a result on it which stays in a context.
    #[must_use]
    pub fn answered(&self, path: &[Ix]) -> Set<Sym> {
        let left_out = self.answers_left_out(path);
        let results = path.iter().filter(|ix| self[**ix].role == Role::ToolResult && !left_out.contains(ix));
        results.filter_map(|ix| self[*ix].target).collect()
    }

    fn is_empty_without_calls(&self, ix: Ix, answered: &Set<Sym>) -> io::Result<bool> {
        if self.calls(ix).iter().any(|call| answered.contains(call)) {
            return Ok(false);
        }
        let payload = self.read(ix)?;
        let text = payload.text();
        let record = Json::parse(&text).unwrap_or(Json::Null);
        let Some(mut message) = Message::of(self[ix].kind, &record) else {
            return Ok(true);
        };
        message.drop_unanswered(|_| false);
        Ok(message.blocks.is_empty())
    }

    /// The entries of a path that a `context_edit` changes: with the edit whose content stands in their place, or with none
    /// where they are left out.
    ///
    /// # Errors
    /// When a `context_edit` cannot be read.
    pub fn edited(&self, path: &[Ix]) -> io::Result<Map<Ix, Option<Ix>>> {
        let edits = self.edits(path)?;
        let edit_of = |ix: &Ix| match self[*ix].id.and_then(|id| edits.get(&id))? {
            Edit::Omit => Some((*ix, None)),
            Edit::Replace(edit) => Some((*ix, Some(*edit))),
        };
        Ok(path.iter().filter(|ix| self[**ix].is_message()).filter_map(edit_of).collect())
    }

    /// The latest `context_edit` of a path for each entry that has one.
    fn edits(&self, path: &[Ix]) -> io::Result<Map<Sym, Edit>> {
        let mut edits = Map::default();
        for ix in path.iter().copied().filter(|ix| self[*ix].kind == Kind::ContextEdit) {
            let Some(target) = self[ix].target else {
                continue;
            };
            let payload = self.read(ix)?;
            let text = payload.text();
            let record = Json::parse(&text).unwrap_or(Json::Null);
            edits.insert(target, if record.get("replacement").is_some() { Edit::Replace(ix) } else { Edit::Omit });
        }
        Ok(edits)
    }

    /// Reads an item of `context` and passes its message to `then`, as the model gets it.
    ///
    /// # Errors
    /// When reading fails.
    pub fn with_item<T>(&self, context: &Context, item: &Item, then: impl FnOnce(&Message<'_>) -> T) -> io::Result<T> {
        let payload = self.read(item.entry)?;
        let edit: Option<Payload> = item.edit.map(|edit| self.read(edit)).transpose()?;
        let text = payload.text();
        let edit = edit.as_ref().map(Payload::text);
        let record = Json::parse(&text).unwrap_or(Json::Null);
        let kind = self[item.entry].kind;
        let mut message = match (kind, item.role) {
            (Kind::Compaction, Role::System) => Message::stored(record.get("systemMessage")),
            _ => Message::of(kind, &record).unwrap_or_else(|| Message::empty(item.role)),
        };
        let replacement;
        if let Some(edit) = &edit {
            replacement = Json::parse(edit).unwrap_or(Json::Null);
            message.replace_content(replacement.get("replacement").get("content"));
        }
        if item.partial {
            message.drop_unanswered(|call| context.is_answered(self, call));
        }
        Ok(then(&message))
    }

    /// Reads an entry and passes its message, whole, to `then`; an entry without a message gives an empty one.
    ///
    /// # Errors
    /// When reading fails.
    pub fn with_message<T>(&self, ix: Ix, then: impl FnOnce(&Message<'_>) -> T) -> io::Result<T> {
        self.with_edited(ix, None, then)
    }

    /// The same with the content that a `context_edit` gave it.
    ///
    /// # Errors
    /// When reading fails.
    pub fn with_edited<T>(&self, ix: Ix, edit: Option<Ix>, then: impl FnOnce(&Message<'_>) -> T) -> io::Result<T> {
        let item = Item { entry: ix, role: self[ix].role, edit, partial: false };
        self.with_item(&Context::default(), &item, then)
    }
}

impl Context {
    /// Whether a tool call of the path has a result.
    #[must_use]
    pub fn is_answered(&self, session: &Session, call: &str) -> bool {
        session.sym_of(call).is_some_and(|call| self.answered.contains(&call))
    }
}

enum Edit {
    Omit,
    Replace(Ix),
}
