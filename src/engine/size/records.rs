//! What changes inside one line. All measures that concern a line look at its bytes as they are and name the stretches that
//! give way; none of them sees what another one made.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use super::images::{self, Chosen};
use super::{Making, Measure, changes};
use crate::engine::files::is_write;
use crate::engine::prune::block_kind;
use crate::engine::tokens::{IMAGE_TOKENS, Tokenizer};
use crate::session::edit::{Splice, member, parts, without};
use crate::session::images::is_placeholder;
use crate::session::places::Places;
use crate::session::{Context, Ix, Json, Kind, Role};
use crate::text::{cursor, middle};

/// Bytes of `details` that are worth taking out. Shorter ones hold an exit code or a flag that agents show.
pub(super) const LEAST_DETAILS: u64 = 256;

/// Characters above which a string in the arguments of a write or edit is cut, and those that are left of it.
const ARG_CHARS: (usize, usize) = (1_000, 500);

/// Bytes above which a value in an extension's data is emptied; shorter ones are names and states.
const CUSTOM_VALUE: usize = 64;

/// What is wanted of one record.
pub(super) struct Wants<'a> {
    /// Another parent; `Some(None)` means a root.
    pub parent: Option<Option<&'a str>>,
    /// A notice in the place of its text, and whether that is ordinary pruning.
    pub notice: Option<(&'a str, bool)>,
    pub details: bool,
    pub images: bool,
    pub args: bool,
    pub custom: bool,
    /// Most tokens of a result.
    pub max_result: Option<u64>,
}

impl<'a> Wants<'a> {
    pub(super) fn nothing(&self) -> bool {
        self.notice.is_none() && self.nothing_but_a_notice()
    }

    fn nothing_but_a_notice(&self) -> bool {
        self.parent.is_none() && self.max_result.is_none() && !(self.details || self.images || self.args || self.custom)
    }

    /// The notice of ordinary pruning, when that is all that is wanted.
    pub(super) fn only_pruning(&self) -> Option<&'a str> {
        self.notice.filter(|(_, is_pruning)| *is_pruning && self.nothing_but_a_notice()).map(|(notice, _)| notice)
    }
}

/// The stretches of one record, each measure's with what it frees.
struct Changes<'l> {
    line: &'l str,
    tokenizer: Tokenizer,
    all: Vec<Splice>,
    by_measure: Vec<(Measure, i64, i64)>,
}

impl Changes<'_> {
    /// Adds the stretches of one measure; `tokens` is what they free in a context.
    fn add(&mut self, measure: Measure, splices: Vec<Splice>, tokens: i64) {
        if splices.is_empty() {
            return;
        }
        let bytes: i64 = splices.iter().map(|s| s.range.len() as i64 - s.text.len() as i64).sum();
        self.all.extend(splices);
        match self.by_measure.iter_mut().find(|(known, ..)| *known == measure) {
            Some(known) => {
                known.1 += bytes;
                known.2 += tokens;
            }
            None => self.by_measure.push((measure, bytes, tokens)),
        }
    }

    fn tokens(&self, text: &str) -> i64 {
        i64::try_from(self.tokenizer.count(text)).unwrap_or(i64::MAX)
    }

    fn text(&self, range: &Range<usize>) -> &str {
        self.line.get(range.clone()).unwrap_or_default()
    }
}

/// Plans what changes in the record of `ix`; `seen` is the context when the entry is in it.
pub(super) fn change(
    making: &mut Making<'_, '_>,
    tokenizer: Tokenizer,
    ix: Ix,
    wants: &Wants<'_>,
    images: &Chosen<'_>,
    seen: Option<&Context>,
) -> io::Result<()> {
    let session = making.session;
    let payload = session.read(ix)?;
    let base = making.base.replaced.get(&ix).cloned();
    let Ok(line) = std::str::from_utf8(base.as_deref().unwrap_or(payload.bytes())) else {
        let what = if session[ix].role == Role::ToolResult { "result" } else { "entry" };
        making.plan.warnings.push(format!("{what} {} stays: its line cannot be edited", session.id(ix)));
        return Ok(());
    };
    let mut changed = Changes { line, tokenizer, all: Vec::new(), by_measure: Vec::new() };
    let kind = session[ix].kind;
    let places = if kind == Kind::Message { Places::of(line) } else { None };
    let content = match kind {
        Kind::CustomMessage => member(line, "content"),
        _ => places.as_ref().map(|places| places.content.clone()),
    };
    let mut whole_content_gone = false;
    if let Some((notice, is_pruning)) = wants.notice {
        match (&content, places.as_ref().and_then(|places| changes(line, places, notice, making.order.now_ms))) {
            (Some(content), Some(splices)) => {
                whole_content_gone = splices.iter().any(|splice| splice.range == *content);
                if is_pruning {
                    making.plan.pruned.insert(ix);
                    changed.all.extend(splices);
                } else {
                    let before: i64 = texts(line, content).iter().map(|(_, text)| changed.tokens(text)).sum();
                    changed.add(Measure::Dedupe, splices, before - changed.tokens(notice));
                }
            }
            _ => making.plan.warnings.push(format!("result {} stays: its line cannot be edited", session.id(ix))),
        }
    }
    if let (Some(most), Some(content), None) = (wants.max_result, &content, wants.notice) {
        max_result(&mut changed, content, most);
    }
    if let Some(content) = content.as_ref().filter(|_| wants.images && !whole_content_gone) {
        let found = blocks(line, content, "image");
        for (nth, (block, range)) in found.iter().cloned().enumerate() {
            if images.keeps(ix, found.len() - nth) {
                continue;
            }
            let dropped = match images.drop(changed.text(&range), making.order.has_blob) {
                Ok(dropped) => dropped,
                Err(why) => {
                    making.plan.warnings.push(format!("an image of entry {} stays: {why}", session.id(ix)));
                    continue;
                }
            };
            let freed = i64::try_from(IMAGE_TOKENS).unwrap_or(0) - changed.tokens(&dropped.note);
            changed.add(Measure::Images, vec![Splice { range, text: images::text_block(&dropped.note) }], freed);
            making.plan.extracted.extend(dropped.file.map(|file| super::Extracted { entry: ix, block, file }));
        }
    }
    if let Some(content) = content.as_ref().filter(|_| wants.args) {
        args(&mut changed, content, &|call| seen.is_some_and(|context| context.is_answered(session, call)));
    }
    if wants.details {
        details(&mut changed);
    }
    if wants.custom {
        custom(&mut changed, &making.order.settings.custom);
    }
    if let Some(parent) = wants.parent {
        let value = serde_json::to_string(&parent)?;
        let range = member(line, "parentId").ok_or_else(|| io::Error::other("an entry could not be given another parent"))?;
        changed.all.push(Splice { range, text: value });
    }
    let Changes { all, by_measure, .. } = changed;
    for (measure, bytes, tokens) in by_measure {
        making.count(measure, ix, bytes, if seen.is_some() { tokens } else { 0 });
    }
    if !all.is_empty() {
        making.put(ix, all)?;
    }
    Ok(())
}

/// The blocks of one type in a content that stands at a range of its line: their numbers and places.
pub(super) fn blocks(line: &str, content: &Range<usize>, name: &str) -> Vec<(usize, Range<usize>)> {
    let inner = line.get(content.clone()).unwrap_or_default();
    let all = parts(inner).unwrap_or_default().into_iter().enumerate();
    all.filter(|(_, part)| inner.get(part.value.clone()).and_then(block_kind).as_deref() == Some(name))
        .map(|(n, part)| (n, part.value.start + content.start..part.value.end + content.start))
        .collect()
}

/// The texts of a content with the places of their JSON strings.
fn texts<'l>(line: &'l str, content: &Range<usize>) -> Vec<(Range<usize>, Cow<'l, str>)> {
    let inner = line.get(content.clone()).unwrap_or_default();
    if inner.starts_with('"') {
        return vec![(content.clone(), decoded(inner))];
    }
    let found = blocks(line, content, "text").into_iter().filter_map(|(_, block)| {
        let text = member(line.get(block.clone())?, "text")?;
        let range = block.start + text.start..block.start + text.end;
        let raw = line.get(range.clone())?;
        raw.starts_with('"').then(|| (range, decoded(raw)))
    });
    found.collect()
}

/// The text of a JSON string as it is written, quotes included; empty for any other value.
pub(super) fn decoded(written: &str) -> Cow<'_, str> {
    cursor::decoded(cursor::unquoted(written).unwrap_or_default())
}

/// `details` of a result go: no model sees them.
fn details(changed: &mut Changes<'_>) {
    let line = changed.line;
    let Some(message) = member(line, "message") else { return };
    let all = parts(line.get(message.clone()).unwrap_or_default()).unwrap_or_default();
    let bytes: usize = all.iter().filter(|part| part.key == "details").map(|part| part.value.len()).sum();
    if (bytes as u64) < LEAST_DETAILS {
        return;
    }
    let mut splices = without(&all, |_, part| part.key == "details");
    for splice in &mut splices {
        splice.range = splice.range.start + message.start..splice.range.end + message.start;
    }
    changed.add(Measure::Details, splices, 0);
}

/// Long strings in the arguments of writes and edits are cut in the middle; names of files are whole. Calls without a result
/// are in no context.
fn args(changed: &mut Changes<'_>, content: &Range<usize>, is_answered: &dyn Fn(&str) -> bool) {
    let line = changed.line;
    for (_, block) in blocks(line, content, "toolCall") {
        let text = changed.text(&block).to_owned();
        let name = member(&text, "name").and_then(|range| text.get(range)).map(decoded).unwrap_or_default().into_owned();
        // A provider's signature may cover the call.
        if !is_write(&name) || member(&text, "thoughtSignature").is_some() {
            continue;
        }
        let Some(arguments) = member(&text, "arguments") else { continue };
        let arguments = block.start + arguments.start..block.start + arguments.end;
        let mut splices = Vec::new();
        cut_strings(line, arguments.clone(), 0, &mut splices);
        if splices.is_empty() {
            continue;
        }
        let count = |text: &str| Json::parse(text).map_or(0, |args| changed.tokens(&args.to_text()));
        let before = changed.text(&arguments);
        let inside: Vec<Splice> = splices
            .iter()
            .map(|s| Splice { range: s.range.start - arguments.start..s.range.end - arguments.start, text: s.text.clone() })
            .collect();
        let after = crate::session::edit::with_splices(before, &inside).unwrap_or_default();
        let id = member(&text, "id").and_then(|range| text.get(range)).map(decoded).unwrap_or_default();
        let freed = if is_answered(&id) { count(before) - count(&after) } else { 0 };
        changed.add(Measure::Args, splices, freed);
    }
}

fn cut_strings(line: &str, value: Range<usize>, depth: u8, splices: &mut Vec<Splice>) {
    const NAMES: [&str; 3] = ["path", "file_path", "notebook_path"];
    let raw = line.get(value.clone()).unwrap_or_default();
    if raw.starts_with('"') {
        if raw.len() <= ARG_CHARS.0 {
            return;
        }
        let text = decoded(raw);
        if text.chars().nth(ARG_CHARS.0).is_some() {
            let cut = middle(&text, ARG_CHARS.1, 0.5, cut_note);
            splices.extend(serde_json::to_string(&cut).ok().map(|text| Splice { range: value, text }));
        }
        return;
    }
    if depth > 8 || raw.len() <= ARG_CHARS.0 {
        return;
    }
    for part in parts(raw).unwrap_or_default() {
        if !NAMES.contains(&part.key.as_str()) {
            cut_strings(line, value.start + part.value.start..value.start + part.value.end, depth + 1, splices);
        }
    }
}

/// What stands where the middle of a text was cut out.
fn cut_note(characters: usize) -> String {
    format!("\n[… {characters} characters cut …]\n")
}

/// The texts of a result are cut in the middle, each by its share.
fn max_result(changed: &mut Changes<'_>, content: &Range<usize>, most: u64) {
    let line = changed.line;
    let found = texts(line, content).into_iter().filter(|(_, text)| !is_placeholder(text));
    let found: Vec<(Range<usize>, Cow<'_, str>, u64)> = found
        .map(|(range, text)| {
            let tokens = changed.tokenizer.count(&text);
            (range, text, tokens)
        })
        .collect();
    let all: u64 = found.iter().map(|(.., tokens)| tokens).sum();
    if all <= most {
        return;
    }
    for (range, text, tokens) in found {
        let share = u64::try_from(u128::from(most) * u128::from(tokens) / u128::from(all.max(1))).unwrap_or(0);
        let cut = fitted(&text, tokens, share, changed.tokenizer);
        let freed = i64::try_from(tokens).unwrap_or(i64::MAX) - changed.tokens(&cut);
        let Ok(value) = serde_json::to_string(&cut) else { continue };
        if value.len() < range.len() {
            changed.add(Measure::MaxResult, vec![Splice { range, text: value }], freed);
        }
    }
}

/// The head and tail of a text, `most` tokens at most; the note between them alone when not even that has room.
fn fitted(text: &str, tokens: u64, most: u64, tokenizer: Tokenizer) -> String {
    let chars = text.chars().count() as u64;
    let share = |room: u64, of: u64| u64::try_from(u128::from(chars) * u128::from(room) / u128::from(of.max(1))).unwrap_or(0);
    let mut room = share(most, tokens);
    loop {
        let cut = middle(text, usize::try_from(room).unwrap_or(usize::MAX), 0.6, cut_note);
        let now = tokenizer.count(&cut);
        if now <= most || room == 0 {
            return cut.into_owned();
        }
        // Down by what is too much, and a little more, so that it ends.
        room = (room.saturating_mul(most) / now).min(room.saturating_sub(1 + room / 50));
    }
}

/// The data of an extension is emptied: its keys stay, and whatever is short.
fn custom(changed: &mut Changes<'_>, types: &[String]) {
    let line = changed.line;
    let custom_type = member(line, "customType").and_then(|range| line.get(range)).map(decoded).unwrap_or_default();
    if !types.iter().any(|wanted| *wanted == custom_type) {
        return;
    }
    let Some(data) = member(line, "data") else { return };
    let raw = line.get(data.clone()).unwrap_or_default();
    let mut splices = Vec::new();
    if raw.starts_with('{') {
        for part in parts(raw).unwrap_or_default() {
            let value = raw.get(part.value.clone()).unwrap_or_default();
            splices.extend(
                emptied(value)
                    .map(|text| Splice { range: data.start + part.value.start..data.start + part.value.end, text: text.to_owned() }),
            );
        }
    } else {
        splices.extend(emptied(raw).map(|text| Splice { range: data, text: text.to_owned() }));
    }
    changed.add(Measure::Custom, splices, 0);
}

/// What stands for a value of some length: an empty one of its kind.
fn emptied(value: &str) -> Option<&'static str> {
    let empty = match value.as_bytes().first()? {
        b'"' => "\"\"",
        b'[' => "[]",
        b'{' => "{}",
        _ => return None,
    };
    (value.len() > CUSTOM_VALUE).then_some(empty)
}
