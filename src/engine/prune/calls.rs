//! The calls of a path as far as pruning cares: which file each of them reads.

use std::collections::HashMap;
use std::io;

use crate::engine::files::{has_scheme, split_selector};
use crate::session::entry::is_read_tool;
use crate::session::places::content_of;
use crate::session::{Block, Ix, Json, Map, Message, Role, Session, Sym};
use crate::text::cursor::{self, Cursor, unquoted};

/// A call as far as pruning cares.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallFacts {
    pub(super) is_read: bool,
    pub(super) path: Option<String>,
    range: Option<String>,
}

impl CallFacts {
    /// The facts of a call of `name`, from the arguments that tell them.
    fn of(name: &str, args: &dyn Fn(&str) -> Option<String>, number: &dyn Fn(&str) -> Option<String>) -> CallFacts {
        let written = args("path").or_else(|| args("file_path"));
        let (path, selector) = written.map_or((None, None), |written| {
            let (path, selector) = if has_scheme(&written) { (written.as_str(), None) } else { split_selector(&written) };
            (Some(path.to_owned()), selector.map(str::to_owned))
        });
        let range = match (selector, number("offset"), number("limit")) {
            (Some(selector), ..) => Some(selector),
            (None, None, None) => None,
            (None, offset, limit) => Some(format!("offset={} limit={}", offset.unwrap_or_default(), limit.unwrap_or_default())),
        };
        CallFacts { is_read: is_read_tool(name), path, range }
    }
}

/// What each call of a path is about; with `reads_only`, what those are about that read a file, and perhaps others. Their
/// messages are few and short beside those that write files.
///
/// # Errors
/// When an entry cannot be read.
pub(super) fn call_facts(session: &Session, path: &[Ix], reads_only: bool) -> io::Result<Map<Sym, CallFacts>> {
    let mut facts = Map::default();
    let mut line = Vec::new();
    let wanted = |ix: &Ix| !session.calls(*ix).is_empty() && (!reads_only || session[*ix].flags.reads());
    for ix in path.iter().copied().filter(wanted) {
        let mut keep = |id: &str, call: CallFacts| {
            if let Some(sym) = session.sym_of(id) {
                facts.insert(sym, call);
            }
        };
        session.read_into(ix, &mut line)?;
        let text = std::str::from_utf8(&line).ok().filter(|_| !session[ix].flags.lenient());
        match text.and_then(walked) {
            Some(calls) => calls.into_iter().for_each(|(id, call)| keep(&id, call)),
            None => session.with_message(ix, |message| decoded(message).into_iter().for_each(|(id, call)| keep(&id, call)))?,
        }
    }
    Ok(facts)
}

/// The calls of a message, each with its id.
fn decoded(message: &Message<'_>) -> Vec<(String, CallFacts)> {
    let calls = message.blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        _ => None,
    });
    let facts = calls.map(|call| {
        let text = |key: &str| call.args.get(key).str().map(str::to_owned);
        let number = |key: &str| match call.args.get(key) {
            Json::Null => None,
            value => Some(value.to_text()),
        };
        (call.id.clone().into_owned(), CallFacts::of(&call.name, &text, &number))
    });
    facts.collect()
}

/// The same from a line that is sound JSON, without decoding what the calls write; `None` when it takes a decoded record.
fn walked(line: &str) -> Option<Vec<(String, CallFacts)>> {
    let found = content_of(line, |cursor| {
        let mut calls = Vec::new();
        if !cursor.array()? {
            cursor.value()?;
            return Some(calls);
        }
        while cursor.item()? {
            calls.extend(block(cursor)?);
        }
        Some(calls)
    })?;
    Some(found.map_or_else(Vec::new, |found| found.read))
}

/// The call that a block is, if it is one.
fn block(cursor: &mut Cursor<'_>) -> Option<Option<(String, CallFacts)>> {
    if !cursor.object()? {
        cursor.value()?;
        return Some(None);
    }
    let (mut kind, mut id, mut name, mut arguments) = (None, None, None, None);
    while let Some(key) = cursor.plain_key()? {
        let value = cursor.value()?;
        match key {
            "type" => kind = unquoted(value),
            "id" => id = unquoted(value),
            "name" => name = unquoted(value),
            "arguments" => arguments = Some(value),
            _ => {}
        }
    }
    let Some(kind) = kind else { return Some(None) };
    if kind.contains('\\') {
        return None;
    }
    if kind != "toolCall" {
        return Some(None);
    }
    let mut args: [(&str, Option<&str>); 4] = [("path", None), ("file_path", None), ("offset", None), ("limit", None)];
    let mut inner = Cursor::new(arguments.unwrap_or("null"));
    if inner.object()? {
        while let Some(key) = inner.plain_key()? {
            let value = inner.value()?;
            if let Some(arg) = args.iter_mut().find(|(name, _)| *name == key) {
                arg.1 = Some(value);
            }
        }
    }
    let arg = |key: &str| args.iter().find(|(name, _)| *name == key).and_then(|(_, value)| *value);
    let owned = |raw| cursor::decoded(raw).into_owned();
    let text = |key: &str| arg(key).and_then(unquoted).map(owned);
    let number = |key: &str| match Json::parse(arg(key)?) {
        Ok(Json::Null) | Err(_) => None,
        Ok(value) => Some(value.to_text()),
    };
    let name = name.map(owned).unwrap_or_default();
    Some(Some((id.map(owned).unwrap_or_default(), CallFacts::of(&name, &text, &number))))
}

/// Reads that worked: for each file the position of the latest without a range, and of the latest with each range.
#[derive(Default)]
pub(super) struct LaterReads {
    whole: HashMap<String, usize>,
    ranges: HashMap<(String, String), usize>,
}

impl LaterReads {
    pub(super) fn supersedes(&self, at: usize, facts: &CallFacts) -> bool {
        let Some(path) = facts.path.as_ref().filter(|path| facts.is_read && !has_scheme(path)) else { return false };
        let whole = self.whole.get(path).is_some_and(|later| *later > at);
        let same =
            facts.range.as_ref().is_some_and(|range| self.ranges.get(&(path.clone(), range.clone())).is_some_and(|later| *later > at));
        whole || same
    }
}

/// The reads of a path that worked and of which something is left.
pub(super) fn later_reads(session: &Session, path: &[Ix], calls: &Map<Sym, CallFacts>, is_gone: &dyn Fn(Ix) -> bool) -> LaterReads {
    let mut reads = LaterReads::default();
    for (at, ix) in path.iter().enumerate() {
        let entry = &session[*ix];
        if entry.role != Role::ToolResult || entry.flags.is_error() || is_gone(*ix) {
            continue;
        }
        let Some(facts) = entry.target.and_then(|call| calls.get(&call)).filter(|facts| facts.is_read) else { continue };
        let Some(path) = &facts.path else { continue };
        match &facts.range {
            None => reads.whole.insert(path.clone(), at),
            Some(range) => reads.ranges.insert((path.clone(), range.clone()), at),
        };
    }
    reads
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::session::Kind;
    use proptest::prelude::*;

    #[test]
    fn messages_that_read_a_file_are_known_without_a_look_at_their_calls() {
        let read = |id: &str, name: &str| format!(r#"{{"type":"toolCall","id":"{id}","name":"{name}","arguments":{{"path":"{id}"}}}}"#);
        let bash = r#"{"type":"toolCall","id":"b","name":"bash","arguments":{"path":"read"}}"#;
        let message = |id: &str, content: &str| {
            format!("{{\"type\":\"message\",\"id\":\"{id}\",\"message\":{{\"role\":\"assistant\",\"content\":{content}}}}}\n")
        };
        let lines = [
            message("1", &format!("[{},{bash}]", read("r1", "read"))),
            message("2", &format!("[{bash},{}]", read("r2", "Read"))),
            message("3", &format!("[{}],\"content\":[{}]", read("gone", "bash"), read("r3", "read_file"))),
            message("4", &format!("[{}]", read("r4", "r\\u0065ad"))),
            message("5", &format!("[{bash},{{\"type\":\"text\",\"name\":\"read\"}}]")),
            message("6", &format!("[{}]", read("r6", "reads"))),
        ];
        let session = Session::open(crate::session::Source::memory(lines.concat().into_bytes())).unwrap();
        let path: Vec<Ix> = session.nodes().map(|(ix, _)| ix).collect();
        let named = |reads_only: bool| {
            let mut names: Vec<String> =
                call_facts(&session, &path, reads_only).unwrap().into_keys().map(|id| session.name(id).to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(named(false), ["b", "r1", "r2", "r3", "r4", "r6"]);
        assert_eq!(named(true), ["b", "r1", "r2", "r3", "r4"]);
        let reads = |reads_only: bool| call_facts(&session, &path, reads_only).unwrap().values().filter(|call| call.is_read).count();
        assert_eq!((reads(false), reads(true)), (4, 4));
    }

    proptest! {
        #[test]
        fn a_walk_finds_what_a_decoded_message_tells(
            blocks in proptest::collection::vec((proptest::collection::vec((0..6_usize, 0..8_usize), 0..5), 0..5_usize, any::<bool>()), 0..4),
            twice in any::<bool>(),
        ) {
            let block = |(args, kind, odd): (Vec<(usize, usize)>, usize, bool)| {
                let keys = ["path", "file_path", "offset", "limit", "content", "p\\u0061th"];
                let values = ["\"a/b:5-9\"", "\"f\\u0069le\"", "10", "1.50", "null", "\"skill://x\"", "{\"path\":1}", "[\"]\",{}]"];
                let args = args.iter().filter_map(|(key, value)| Some(format!("\"{}\":{}", keys.get(*key)?, values.get(*value)?)));
                let args = args.collect::<Vec<_>>().join(",");
                match kind {
                    0 => format!("{{\"type\":\"text\",\"text\":\"toolCall\",\"arguments\":{{{args}}}}}"),
                    1 => "7".to_owned(),
                    2 if odd => "{\"type\":\"tool\\u0043all\",\"id\":\"x\",\"name\":\"read\",\"arguments\":{}}".to_owned(),
                    3 if odd => "{\"type\":\"toolCall\",\"arguments\":\"none\"}".to_owned(),
                    _ => format!("{{ \"id\" : \"c\\u0031\" ,\"type\":\"toolCall\",\"name\":\"read\",\"arguments\":{{{args}}} }}"),
                }
            };
            let content = format!("[{}]", blocks.into_iter().map(block).collect::<Vec<_>>().join(" , "));
            let first = if twice { "\"content\":[{\"type\":\"toolCall\",\"id\":\"gone\"}]," } else { "" };
            let line = format!("{{\"type\":\"message\",\"message\":{{\"role\":\"assistant\",{first}\"content\":{content}}},\"id\":\"a\"}}");
            let record = Json::parse(&line).unwrap();
            let want = decoded(&Message::of(Kind::Message, &record).unwrap());
            if let Some(found) = walked(&line) {
                prop_assert_eq!(found, want, "{}", line);
            } else {
                prop_assert!(line.contains("\\u0061") || line.contains("\\u0043"), "{}", line);
            }
        }
    }
}
