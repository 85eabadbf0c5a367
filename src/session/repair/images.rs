//! Mends of image data that providers refuse.

use std::io;
use std::path::Path as FsPath;

use serde_json::json;

use super::{Editable, Mend, Step, Wanted};
use crate::session::images::{self, MANY};
use crate::session::index::Session;
use crate::session::json::Json;
use crate::session::problems::Code;
use crate::session::shrink::{Shrunk, shrunk};

/// Bytes of new data after which the next step goes on: a session can hold thousands of large images.
const MOST_BYTES_OF_A_STEP: usize = 32 << 20;

/// Where an image block stands.
#[derive(Clone, Copy)]
struct Place {
    ix: crate::session::Ix,
    at: usize,
}

/// Images of another type than they are said to be get the right one, and too large ones are made smaller; others that no
/// provider takes, and blobs that are not there, give way to a text that says what they were.
pub(super) fn images(session: &Session, wanted: &Wanted, blobs: Option<&FsPath>) -> io::Result<Step> {
    let mut step = Step::default();
    if !wanted.has(Code::BadImage) && !wanted.has(Code::MissingBlob) {
        return Ok(step);
    }
    let count: u64 = session.nodes().map(|(_, e)| u64::from(e.images)).sum();
    let many = count >= MANY;
    let (mut gone, mut of_many) = (0, Vec::new());
    let mut room = MOST_BYTES_OF_A_STEP;
    for (ix, _) in session.nodes().filter(|(_, e)| e.images > 0) {
        let Some(editable) = Editable::of(session, ix)? else { continue };
        for (at, (_, block)) in editable.blocks().into_iter().enumerate() {
            let Some((data, mime)) = image(block) else { continue };
            let is_blob = images::blob_hash(&data).is_some();
            let is_bad = if let Some(hash) = images::blob_hash(&data) {
                wanted.has(Code::MissingBlob) && !blobs.is_some_and(|folder| folder.join(hash).is_file())
            } else {
                wanted.has(Code::BadImage) && images::fault(&data, &mime, many).is_some()
            };
            if !is_bad {
                continue;
            }
            let place = Place { ix, at };
            if !is_blob && rename(&editable, place, &data, many, &mut step) {
                continue;
            }
            if let Some(small) = Some(&data).filter(|_| !is_blob).and_then(|data| shrunk(data)) {
                room = room.saturating_sub(small.data.len());
                replace_data(&editable, place, small, &mut step);
                if room == 0 {
                    return Ok(step);
                }
            } else if !is_blob && images::fault(&data, &mime, false).is_none() {
                of_many.push(place);
            } else {
                gone += 1;
                give_up(&editable, place, &mut step);
            }
        }
    }
    // Beside fewer images the large ones are taken again: only as many go as must, the oldest first.
    let too_many = usize::try_from((count - count.min(gone) + 1).saturating_sub(MANY)).unwrap_or(usize::MAX);
    for place in of_many.into_iter().take(too_many) {
        if let Some(editable) = Editable::of(session, place.ix)? {
            give_up(&editable, place, &mut step);
        }
    }
    Ok(step)
}

/// The type of an image that has the wrong one is put right; whether that was all.
fn rename(editable: &Editable<'_>, place: Place, data: &str, many: bool, step: &mut Step) -> bool {
    let Some(truth) = images::true_type(data, many) else { return false };
    let value = json!(truth).to_string();
    put(editable, place, "mimeType", value, format!("the image is called {truth}, which it is"), step)
}

fn replace_data(editable: &Editable<'_>, place: Place, small: Shrunk, step: &mut Step) {
    let Shrunk { data, from, to, bytes } = small;
    let what =
        format!("the image of {} x {} pixels in {} bytes is made smaller: {} x {} in {}", from.0, from.1, bytes.0, to.0, to.1, bytes.1);
    put(editable, place, "data", json!(data).to_string(), what, step);
}

/// Gives a member of an image block another value; `false` when it has no such member.
fn put(editable: &Editable<'_>, place: Place, key: &str, value: String, what: String, step: &mut Step) -> bool {
    let Some((range, block)) = editable.blocks().into_iter().nth(place.at) else { return false };
    let Some(member) = crate::session::edit::member(block, key) else { return false };
    step.patches.push(editable.patch(range.start + member.start..range.start + member.end, value));
    step.mends.push(mend(editable, Code::BadImage, what));
    true
}

/// An image gives way to a text that says what it was.
fn give_up(editable: &Editable<'_>, place: Place, step: &mut Step) {
    let Some((range, block)) = editable.blocks().into_iter().nth(place.at) else { return };
    let Some((data, mime)) = image(block) else { return };
    let code = if images::blob_hash(&data).is_some() { Code::MissingBlob } else { Code::BadImage };
    let text = images::placeholder(&data, &mime, "dropped");
    step.patches.push(editable.patch(range, json!({"type": "text", "text": text}).to_string()));
    step.mends.push(mend(editable, code, format!("the image gives way to the text {text}")));
}

fn mend(editable: &Editable<'_>, code: Code, what: String) -> Mend {
    Mend { code, line: Some(editable.entry.line), id: Some(editable.id.clone()), what }
}

/// Data and stated type of an image block.
fn image(block: &str) -> Option<(String, String)> {
    let json = Json::parse(block).ok()?;
    let text = |key: &str| json.get(key).str().unwrap_or_default().to_owned();
    (json.get("type").str() == Some("image")).then(|| (text("data"), text("mimeType")))
}
