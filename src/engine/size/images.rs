//! Images as notes: what the image was, in a text block where it stood, so that a model still knows that there was one and a
//! person can find it again.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::records::{blocks, decoded};
use super::{Images, SizeSettings};
use crate::session::edit::{Splice, member, member_of};
use crate::session::images::{Image, blob_hash, decode, fault, look};
use crate::session::{Ix, Kind, Session};

/// Hex digits of a hash that a note shows: enough to find the image among files that are named by their hash.
const SHORT: usize = 12;

/// What comes in the place of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The note.
    pub note: String,
    /// The file that it goes to.
    pub file: Option<String>,
}

/// Which images go.
pub(super) struct Chosen<'s> {
    images: Option<&'s Images>,
    /// Of entries that keep images: how many, the last of its content.
    kept: HashMap<Ix, usize>,
}

impl<'s> Chosen<'s> {
    pub(super) fn of(session: &Session, settings: &'s SizeSettings, path: &[Ix]) -> Chosen<'s> {
        let mut kept = HashMap::new();
        if let Some(Images::KeepLast(most)) = settings.images {
            let mut left = most;
            for ix in path.iter().rev().copied().filter(|ix| session[*ix].is_message()) {
                let here = left.min(u64::from(session[ix].images));
                if here > 0 {
                    kept.insert(ix, usize::try_from(here).unwrap_or(usize::MAX));
                }
                left -= here;
            }
        }
        Chosen { images: settings.images.as_ref(), kept }
    }

    pub(super) fn any(&self) -> bool {
        self.images.is_some()
    }

    /// Whether an image stays that is the so many-th from the end of its entry, counted from 1.
    pub(super) fn keeps(&self, ix: Ix, from_end: usize) -> bool {
        self.kept.get(&ix).is_some_and(|kept| from_end <= *kept)
    }

    /// What comes in the place of an image block, or why it has to stay.
    pub(super) fn drop(&self, block: &str, has_blob: &dyn Fn(&str) -> bool) -> Result<Dropped, String> {
        let Some(Images::Extract(folder)) = self.images else { return Ok(Dropped { note: placeholder(block, "dropped"), file: None }) };
        let (data, stated) = (string(block, "data"), string(block, "mimeType"));
        let (hash, extension) = match blob_hash(&data) {
            Some(hash) if has_blob(hash) => (hash.to_owned(), extension(None, &stated)),
            Some(hash) => return Err(format!("blob {hash} is not there")),
            None => {
                let bytes = decode(&data).map_err(|why| format!("{why}; --images drop takes it out"))?;
                (HEXLOWER.encode(&Sha256::digest(&bytes)), extension(crate::session::images::mime(&bytes), &stated))
            }
        };
        let file = format!("{hash}.{extension}");
        let place = format!("{}/{file}", folder.trim_end_matches('/'));
        Ok(Dropped { note: placeholder(block, &format!("moved to {place}")), file: Some(file) })
    }
}

/// The ending of a file of that media type: what the bytes show, else what is stated.
fn extension(shown: Option<&str>, stated: &str) -> &'static str {
    match shown.unwrap_or(stated) {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => "bin",
    }
}

/// The note for an image block that was `done` with: its type, width and height, bytes, and the beginning of its SHA-256.
#[must_use]
pub fn placeholder(block: &str, done: &str) -> String {
    let (data, stated) = (string(block, "data"), string(block, "mimeType"));
    let stated = if stated.is_empty() { "unknown type".to_owned() } else { crate::text::one_line(&stated, 40) };
    let short = |hash: &str| hash.get(..SHORT).unwrap_or(hash).to_owned();
    let digest = |bytes: &[u8]| short(&HEXLOWER.encode(&Sha256::digest(bytes)));
    match look(&data) {
        Image::Blob(hash) => format!("[Image {done}: {stated}, sha256 {}]", short(&hash)),
        Image::Data { bytes, mime, size } => {
            let size = size.map(|(width, height)| format!(", {width} x {height}")).unwrap_or_default();
            let hash = decode(&data).map(|bytes| digest(&bytes)).unwrap_or_default();
            format!("[Image {done}: {}{size}, {bytes} bytes, sha256 {hash}]", mime.unwrap_or(&stated))
        }
        Image::Bad(why) => format!("[Image {done}: {stated}, {why}, sha256 {}]", digest(data.as_bytes())),
    }
}

/// Whether a text is such a note. It stands for an image and is no text of the result that holds it.
pub(super) fn is_note(text: &str) -> bool {
    (text.starts_with("[Image dropped: ") || text.starts_with("[Image moved to ")) && text.ends_with(']')
}

/// The text block that stands for an image.
pub(super) fn text_block(note: &str) -> String {
    serde_json::json!({"type": "text", "text": note}).to_string()
}

fn string(block: &str, key: &str) -> String {
    member(block, key).and_then(|range| block.get(range)).map(decoded).unwrap_or_default().into_owned()
}

/// What changes in a record so that no provider refuses its images: one that only has the wrong type gets the right one, any
/// other that [`fault`] names gives way to a note. `many` as there. Blobs are left alone. Empty when nothing is wrong.
#[must_use]
pub fn mended(line: &str, kind: Kind, many: bool) -> Vec<Splice> {
    let content = match kind {
        Kind::CustomMessage => member(line, "content"),
        Kind::Message => member_of(line, "message", "content"),
        _ => None,
    };
    let Some(content) = content else { return Vec::new() };
    let mut splices = Vec::new();
    for (_, range) in blocks(line, &content, "image") {
        let block = line.get(range.clone()).unwrap_or_default();
        let (data, stated) = (string(block, "data"), string(block, "mimeType"));
        if fault(&data, &stated, many).is_none() {
            continue;
        }
        let right = match look(&data) {
            Image::Data { mime: Some(mime), .. } if fault(&data, mime, many).is_none() => {
                member(block, "mimeType").map(|place| (place, mime))
            }
            _ => None,
        };
        splices.push(match right {
            Some((place, mime)) => Splice { range: range.start + place.start..range.start + place.end, text: format!("\"{mime}\"") },
            None => Splice { range, text: text_block(&placeholder(block, "dropped")) },
        });
    }
    splices
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use data_encoding::BASE64;

    use super::*;
    use crate::session::edit::with_splices;

    fn block(bytes: &[u8], mime: &str) -> String {
        format!(r#"{{"type":"image","data":"{}","mimeType":"{mime}"}}"#, BASE64.encode(bytes))
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 2, 0, 0, 0]);
        bytes
    }

    #[test]
    fn p15_a_note_tells_type_dimensions_bytes_and_hash() {
        let bytes = png(2_162, 322);
        let hash = HEXLOWER.encode(&Sha256::digest(&bytes));
        let want = format!("[Image dropped: image/png, 2162 x 322, 29 bytes, sha256 {}]", &hash.get(..12).unwrap());
        assert_eq!(placeholder(&block(&bytes, "image/png"), "dropped"), want);
        // The bytes tell the type, not the label.
        assert_eq!(placeholder(&block(&bytes, "image/jpeg"), "dropped"), want);
        let blob = format!(r#"{{"type":"image","data":"blob:sha256:{}","mimeType":"image/gif"}}"#, "0123456789abcdef".repeat(4));
        assert_eq!(placeholder(&blob, "dropped"), "[Image dropped: image/gif, sha256 0123456789ab]");
        let bad = placeholder(r#"{"type":"image","data":"abcde"}"#, "dropped");
        assert!(bad.starts_with("[Image dropped: unknown type, the data is no base64: its length is 4n + 1, sha256 "), "{bad}");
    }

    #[test]
    fn p21_a_wrong_type_is_corrected_and_what_cannot_be_shown_gives_way() {
        let line = |blocks: &str| format!(r#"{{"message":{{"role":"user","content":[{{"type":"text","text":"t"}},{blocks}]}}}}"#);
        let mend = |blocks: &str, many| {
            let line = line(blocks);
            with_splices(&line, &mended(&line, Kind::Message, many)).unwrap()
        };
        let right = block(&png(10, 10), "image/png");
        assert_eq!(mend(&right, true), line(&right));
        assert_eq!(mend(&block(&png(10, 10), "image/jpeg"), true), line(&right));
        let large = block(&png(9_000, 10), "image/jpeg");
        let note = format!(r#"{{"type":"text","text":"{}"}}"#, placeholder(&large, "dropped"));
        assert_eq!(mend(&format!("{large},{right}"), false), line(&format!("{note},{right}")));
        let wide = block(&png(2_162, 322), "image/png");
        assert_eq!(mend(&wide, false), line(&wide));
        assert!(mend(&wide, true).contains("[Image dropped: image/png, 2162 x 322"));
        let blob = format!(r#"{{"type":"image","data":"blob:sha256:{}"}}"#, "0".repeat(64));
        assert_eq!(mend(&blob, true), line(&blob));
        assert!(mend(r#"{"type":"image","data":""}"#, true).contains("the data is empty"));
    }

    #[test]
    fn a_file_is_named_by_hash_and_by_what_the_bytes_are() {
        let images = Images::Extract("pictures/".to_owned());
        let chosen = Chosen { images: Some(&images), kept: HashMap::new() };
        let bytes = png(1, 1);
        let name = format!("{}.png", HEXLOWER.encode(&Sha256::digest(&bytes)));
        let dropped = chosen.drop(&block(&bytes, "image/jpeg"), &|_| false).unwrap();
        assert_eq!(dropped.file.unwrap(), name);
        assert!(
            dropped.note.starts_with(&format!("[Image moved to pictures/{name}: image/png, 1 x 1, 29 bytes, sha256 ")),
            "{}",
            dropped.note
        );
        // A media type of the session makes no path.
        assert!(chosen.drop(&block(b"hello", "image/../../x"), &|_| false).unwrap().file.unwrap().ends_with(".bin"));
        assert!(chosen.drop(r#"{"type":"image","data":"abcde"}"#, &|_| false).is_err());
        let hash = "0".repeat(64);
        let blob = format!(r#"{{"type":"image","data":"blob:sha256:{hash}","mimeType":"image/gif"}}"#);
        assert!(chosen.drop(&blob, &|_| false).is_err());
        assert_eq!(chosen.drop(&blob, &|_| true).unwrap().file.unwrap(), format!("{hash}.gif"));
    }
}
