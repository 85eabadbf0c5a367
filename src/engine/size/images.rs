//! Images as notes: what the image was, in a text block where it stood, so that a model still knows that there was one and a
//! person can find it again.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::records::decoded;
use super::{Images, SizeSettings};
use crate::session::edit::member;
use crate::session::images::{blob_hash, decode, placeholder};
use crate::session::{Ix, Session};

/// What comes in the place of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dropped {
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
        let (data, stated) = (string(block, "data"), string(block, "mimeType"));
        let Some(Images::Extract(folder)) = self.images else {
            return Ok(Dropped { note: placeholder(&data, &stated, "dropped"), file: None });
        };
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
        Ok(Dropped { note: placeholder(&data, &stated, &format!("moved to {place}")), file: Some(file) })
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

/// The text block that stands for an image.
pub(super) fn text_block(note: &str) -> String {
    serde_json::json!({"type": "text", "text": note}).to_string()
}

fn string(block: &str, key: &str) -> String {
    member(block, key).and_then(|range| block.get(range)).map(decoded).unwrap_or_default().into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use data_encoding::BASE64;

    use super::*;

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
    fn a_file_is_named_by_hash_and_by_what_the_bytes_are() {
        let images = Images::Extract("pictures/".to_owned());
        let chosen = Chosen { images: Some(&images), kept: HashMap::new() };
        let bytes = png(1, 1);
        let name = format!("{}.png", HEXLOWER.encode(&Sha256::digest(&bytes)));
        let dropped = chosen.drop(&block(&bytes, "image/jpeg"), &|_| false).unwrap();
        assert_eq!(dropped.file.unwrap(), name);
        assert!(
            dropped.note.starts_with(&format!("[Image moved to pictures/{name}: image/png, 1 x 1 pixels, 29 bytes, sha256 ")),
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
