//! Builders for session files, so that a test says what its session *is* and not how a line is spelled.
//!
//! One function a kind of line, each returning one line of JSON without its newline; [`file()`] joins lines into the
//! bytes of a session. The committed files under `testdata/` are made with the same functions (the generator includes
//! this file by path), hence a test that builds a session at run time and one that reads a file agree on the format.
//! Everything is deterministic: equal arguments give equal bytes.
#![allow(dead_code, unreachable_pub, reason = "included by several test crates and by xtask; none uses all of it")]

use serde_json::{Map, Value, json};

/// The parent of a root entry (`"parentId":null`).
pub const ROOT: Option<&str> = None;

/// The entry timestamp that the shorthand builders write; tests that need another use [`entry_at`].
pub const STAMP: &str = "2026-01-01T00:00:00.000Z";

/// Every role that a message is known to have.
pub const ROLES: [&str; 11] = [
    "user",
    "developer",
    "system",
    "assistant",
    "toolResult",
    "bashExecution",
    "pythonExecution",
    "custom",
    "hookMessage",
    "branchSummary",
    "compactionSummary",
];

/// Every type of entry that agents are known to write beside messages, and one that they may write some day.
pub const KINDS: [&str; 19] = [
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "model_change",
    "thinking_level_change",
    "service_tier_change",
    "mode_change",
    "session_init",
    "session_info",
    "label",
    "title_change",
    "ttsr_injection",
    "credential_pin",
    "usage",
    "model_usage",
    "reset_boundary",
    "context_edit",
    "future_type",
];

/// Joins lines into a session file, every line ended by `\n`.
pub fn file<L: AsRef<str>>(lines: &[L]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines {
        out.extend_from_slice(line.as_ref().as_bytes());
        out.push(b'\n');
    }
    out
}

/// The header line of a version 3 session with id `s1` in `/w`.
pub fn header() -> String {
    json!({"type": "session", "version": 3, "id": "s1", "timestamp": STAMP, "cwd": "/w"}).to_string()
}

/// omp's title slot: exactly 255 bytes, 256 with the newline, because omp overwrites it in place.
///
/// `title` must leave room for the padding (about 150 bytes); a longer one gives a longer line.
pub fn title_slot(title: &str, updated_at: &str) -> String {
    let mut slot = json!({"type": "title", "v": 1, "title": title, "source": "auto", "updatedAt": updated_at, "pad": ""});
    let missing = 255_usize.saturating_sub(slot.to_string().len());
    if let Some(pad) = slot.get_mut("pad") {
        *pad = Value::String(" ".repeat(missing));
    }
    slot.to_string()
}

/// Any entry: `type`, `id`, `parentId`, [`STAMP`], then the members of the object `fields` in their order.
pub fn entry<'a>(kind: &str, id: &str, parent: impl Into<Option<&'a str>>, fields: Value) -> String {
    entry_at(kind, id, parent, STAMP, fields)
}

/// [`entry`] with its own ISO timestamp.
pub fn entry_at<'a>(kind: &str, id: &str, parent: impl Into<Option<&'a str>>, timestamp: &str, fields: Value) -> String {
    let mut object = Map::new();
    object.insert("type".into(), kind.into());
    object.insert("id".into(), id.into());
    object.insert("parentId".into(), parent.into().map_or(Value::Null, Value::from));
    object.insert("timestamp".into(), timestamp.into());
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object).to_string()
}

/// A `message` entry around any message object.
pub fn message<'a>(id: &str, parent: impl Into<Option<&'a str>>, message: Value) -> String {
    entry("message", id, parent, json!({ "message": message }))
}

/// A user message; `content` is a string or a content array.
pub fn user<'a>(id: &str, parent: impl Into<Option<&'a str>>, content: impl Into<Value>) -> String {
    let content: Value = content.into();
    message(id, parent, json!({"role": "user", "content": content, "timestamp": 1}))
}

/// An assistant message without `usage` that ended with `stop`.
pub fn assistant<'a>(id: &str, parent: impl Into<Option<&'a str>>, blocks: Value) -> String {
    assistant_with(id, parent, blocks, json!({}))
}

/// [`assistant`] with more or other message members, such as `usage`, `stopReason`, `errorMessage`.
pub fn assistant_with<'a>(id: &str, parent: impl Into<Option<&'a str>>, blocks: Value, extra: Value) -> String {
    let mut body = json!({
        "role": "assistant", "content": blocks, "api": "anthropic-messages", "provider": "anthropic",
        "model": "claude-sonnet-4-5", "stopReason": "stop", "timestamp": 1,
    });
    merge(&mut body, extra);
    message(id, parent, body)
}

/// A tool result with one text block and `isError: false`.
pub fn tool_result<'a>(id: &str, parent: impl Into<Option<&'a str>>, call: &str, name: &str, text: &str) -> String {
    tool_result_with(id, parent, call, name, json!([tx(text)]), json!({}))
}

/// [`tool_result`] with any content and more or other message members, such as `isError`, `details`, `useless`.
pub fn tool_result_with<'a>(id: &str, parent: impl Into<Option<&'a str>>, call: &str, name: &str, content: Value, extra: Value) -> String {
    let mut body = json!({
        "role": "toolResult", "toolCallId": call, "toolName": name, "content": content, "isError": false,
        "timestamp": 1,
    });
    merge(&mut body, extra);
    message(id, parent, body)
}

/// A compaction entry with `tokensBefore` 1000.
pub fn compaction<'a>(id: &str, parent: impl Into<Option<&'a str>>, summary: &str, first_kept: &str) -> String {
    let fields = json!({"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": 1000});
    entry("compaction", id, parent, fields)
}

/// A branch summary of the branch that ended in `from`.
pub fn branch_summary<'a>(id: &str, parent: impl Into<Option<&'a str>>, from: &str, summary: &str) -> String {
    entry("branch_summary", id, parent, json!({"fromId": from, "summary": summary}))
}

/// A label `mark` on `target`.
pub fn label<'a>(id: &str, parent: impl Into<Option<&'a str>>, target: &str) -> String {
    entry("label", id, parent, json!({"targetId": target, "label": "mark"}))
}

/// omp's `reset_boundary` (`/clear`).
pub fn reset<'a>(id: &str, parent: impl Into<Option<&'a str>>) -> String {
    entry("reset_boundary", id, parent, json!({}))
}

/// A user shell command and its output.
pub fn bash_execution<'a>(id: &str, parent: impl Into<Option<&'a str>>, command: &str, output: &str, excluded: bool) -> String {
    let mut body = json!({
        "role": "bashExecution", "command": command, "output": output, "exitCode": 0, "cancelled": false,
        "truncated": false, "timestamp": 1,
    });
    if excluded {
        merge(&mut body, json!({"excludeFromContext": true}));
    }
    message(id, parent, body)
}

/// An extension's message to the model.
pub fn custom_message<'a>(id: &str, parent: impl Into<Option<&'a str>>, custom_type: &str, content: &str) -> String {
    entry("custom_message", id, parent, json!({"customType": custom_type, "content": content, "display": true}))
}

/// A text block.
pub fn tx(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A thinking block with its signature.
pub fn th(thinking: &str, signature: &str) -> Value {
    json!({"type": "thinking", "thinking": thinking, "thinkingSignature": signature})
}

/// A tool call block.
pub fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments})
}

/// An image block around any bytes, with the type the writer claims for them.
pub fn image_block(bytes: &[u8], mime_type: &str) -> Value {
    json!({"type": "image", "mimeType": mime_type, "data": base64(bytes)})
}

/// A PNG image block with exactly `chars` characters of base64, rounded up to a multiple of four; fewer than 128 give
/// the 112 that the smallest such PNG takes.
pub fn image(chars: usize) -> Value {
    image_block(&png_of_len(8, 8, chars.div_ceil(4) * 3), "image/png")
}

/// `chars` characters of filler: numbered words (`alpha1 beta2 gamma3 …`), so that every slice is unique and can be
/// searched for.
pub fn words(chars: usize) -> String {
    words_from(1, chars)
}

/// [`words`] that start counting at `first`: fillers of one session do not repeat each other.
pub fn words_from(first: usize, chars: usize) -> String {
    const NAMES: [&str; 8] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];
    let mut out = String::with_capacity(chars + 16);
    for (number, name) in (first..).zip(NAMES.iter().cycle()) {
        if out.len() >= chars {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(name);
        out.push_str(&number.to_string());
    }
    out.truncate(chars);
    out
}

/// `len` bytes that look random and are the same for the same `seed` (a linear congruential generator; nothing here
/// needs more than "not compressible by eye").
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes().first().copied().unwrap_or(0)
        })
        .collect()
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (i, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let symbol = ALPHABET.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
            out.push(char::from(if i <= chunk.len() { symbol } else { b'=' }));
        }
    }
    out
}

/// A valid 1-bit grey PNG of `width` × `height` pixels with a diagonal pattern. Its data is a stored (uncompressed)
/// deflate stream: no compressor, no dependence on a compressor's version.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    png_with(width, height, None)
}

/// [`png`] padded by a private chunk to `len` bytes in all, where it is not longer already.
pub fn png_of_len(width: u32, height: u32, len: usize) -> Vec<u8> {
    let chunk_frame = 12;
    match len.checked_sub(png(width, height).len() + chunk_frame) {
        Some(padding) => png_with(width, height, Some(padding)),
        None => png(width, height),
    }
}

fn png_with(width: u32, height: u32, padding: Option<usize>) -> Vec<u8> {
    let mut raw = Vec::new();
    for y in 0..height {
        raw.push(0); // filter: none
        raw.extend((0..width.div_ceil(8)).map(|x| 0xF0_u8.rotate_right((x + y) % 8)));
    }
    let mut zlib = vec![0x78, 0x01];
    let mut blocks = raw.chunks(0xFFFF).peekable();
    while let Some(block) = blocks.next() {
        let len = u16::try_from(block.len()).unwrap_or(u16::MAX);
        zlib.push(u8::from(blocks.peek().is_none()));
        zlib.extend(len.to_le_bytes());
        zlib.extend((!len).to_le_bytes());
        zlib.extend_from_slice(block);
    }
    zlib.extend(adler32(&raw).to_be_bytes());

    let mut ihdr = Vec::with_capacity(13);
    ihdr.extend(width.to_be_bytes());
    ihdr.extend(height.to_be_bytes());
    ihdr.extend([1, 0, 0, 0, 0]); // depth 1, grey, deflate, adaptive filters, not interlaced
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    png_chunk(&mut out, b"IHDR", &ihdr);
    if let Some(padding) = padding {
        png_chunk(&mut out, b"paDd", &noise(7, padding));
    }
    png_chunk(&mut out, b"IDAT", &zlib);
    png_chunk(&mut out, b"IEND", &[]);
    out
}

fn png_chunk(out: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    out.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    let body: Vec<u8> = name.iter().chain(data).copied().collect();
    out.extend_from_slice(&body);
    out.extend(crc32(&body).to_be_bytes());
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    b << 16 | a
}

fn merge(target: &mut Value, extra: Value) {
    if let (Value::Object(target), Value::Object(extra)) = (target, extra) {
        target.extend(extra);
    }
}
