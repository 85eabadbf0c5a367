//! Mends of image data that providers refuse.

use std::io;
use std::path::Path as FsPath;

use serde_json::json;

use super::{Editable, Mend, Step, Wanted};
use crate::session::images::{self, MANY};
use crate::session::index::Session;
use crate::session::json::Json;
use crate::session::problems::Code;

/// An image block that is to change.
struct Bad {
    ix: crate::session::Ix,
    at: usize,
    /// Only too large beside so many others.
    of_many: bool,
}

/// Images of another type than they are said to be get the right one; others that no provider takes, and blobs that are not
/// there, give way to a text that says what they were.
pub(super) fn images(session: &Session, wanted: &Wanted, blobs: Option<&FsPath>) -> io::Result<Step> {
    let mut step = Step::default();
    if !wanted.has(Code::BadImage) && !wanted.has(Code::MissingBlob) {
        return Ok(step);
    }
    let count: u64 = session.nodes().map(|(_, e)| u64::from(e.images)).sum();
    let mut bad: Vec<Bad> = Vec::new();
    for (ix, _) in session.nodes().filter(|(_, e)| e.images > 0) {
        let Some(editable) = Editable::of(session, ix)? else { continue };
        for (at, (_, block)) in editable.blocks().into_iter().enumerate() {
            let Some((data, mime)) = image(block) else { continue };
            let is_bad = if let Some(hash) = images::blob_hash(&data) {
                wanted.has(Code::MissingBlob) && !blobs.is_some_and(|folder| folder.join(hash).is_file())
            } else {
                wanted.has(Code::BadImage) && images::fault(&data, &mime, count >= MANY).is_some()
            };
            if is_bad {
                let of_many = images::blob_hash(&data).is_none() && images::fault(&data, &mime, false).is_none();
                bad.push(Bad { ix, at, of_many });
            }
        }
    }
    // Beside fewer images the large ones are taken again: only as many go as must, the oldest first.
    let alone = bad.iter().filter(|bad| !bad.of_many).count() as u64;
    let mut too_many = (count - alone.min(count) + 1).saturating_sub(MANY);
    bad.retain(|bad| {
        let goes = !bad.of_many || too_many > 0;
        too_many = too_many.saturating_sub(u64::from(goes && bad.of_many));
        goes
    });
    for Bad { ix, at, .. } in bad {
        let Some(editable) = Editable::of(session, ix)? else { continue };
        let Some((range, block)) = editable.blocks().into_iter().nth(at) else { continue };
        let Some((data, mime)) = image(block) else { continue };
        let id = Some(session.id(ix).to_owned());
        let line = Some(session[ix].line);
        let blob = images::blob_hash(&data).is_some();
        let code = if blob { Code::MissingBlob } else { Code::BadImage };
        let truth = images::true_type(&data, count >= MANY);
        if let (false, Some(truth)) = (blob, truth)
            && let Some(place) = crate::session::edit::member(block, "mimeType")
        {
            let place = range.start + place.start..range.start + place.end;
            step.mends.push(Mend { code, line, id, what: format!("the image is called {truth}, which it is") });
            step.patches.push(editable.patch(place, json!(truth).to_string()));
            continue;
        }
        let text = images::placeholder(&data, &mime, "dropped");
        step.patches.push(editable.patch(range, json!({"type": "text", "text": text}).to_string()));
        step.mends.push(Mend { code, line, id, what: format!("the image gives way to the text {text}") });
    }
    Ok(step)
}

/// Data and stated type of an image block.
fn image(block: &str) -> Option<(String, String)> {
    let json = Json::parse(block).ok()?;
    let text = |key: &str| json.get(key).str().unwrap_or_default().to_owned();
    (json.get("type").str() == Some("image")).then(|| (text("data"), text("mimeType")))
}
