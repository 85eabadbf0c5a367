//! Pictures of a session: what may be shown, and under which name a copy is put.
//!
//! Only the four kinds that providers take are ever shown, told by their bytes and not by what they are called; anything else
//! (SVG holds scripts) is a note. Names come from the content, so no name in a session leads out of the chosen folder.

use std::path::Path;

use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest, Sha256};

use crate::session::images;

/// Decoded bytes above which an image is not put into a page.
pub const MOST_BYTES: usize = 12_000_000;

/// An image of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// One that can be shown.
    Here {
        /// The media type that the bytes show.
        mime: &'static str,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// One that cannot, and why.
    Gone(String),
}

impl Picture {
    /// Decodes the data of an image block; `blobs` is the folder of externalized data.
    #[must_use]
    pub fn of(data: &str, stated: &str, blobs: Option<&Path>) -> Picture {
        let stated = if stated.is_empty() { "image" } else { stated };
        if let Some(hash) = images::blob_hash(data) {
            let bytes = blobs.and_then(|folder| std::fs::read(folder.join(hash)).ok());
            return match bytes {
                None => Picture::Gone(format!("{stated}, its data is not here: blob sha256:{hash}")),
                Some(bytes) if HEXLOWER.encode(&Sha256::digest(&bytes)) != hash => {
                    Picture::Gone(format!("{stated}, its data is damaged: blob sha256:{hash}"))
                }
                Some(bytes) => Picture::shown(bytes, stated),
            };
        }
        match images::look(data) {
            images::Image::Data { mime: Some(_), .. } => {
                let data = data.trim();
                let padding = (4 - data.len() % 4) % 4;
                match BASE64.decode(format!("{data}{}", "=".repeat(padding)).as_bytes()) {
                    Ok(bytes) => Picture::shown(bytes, stated),
                    Err(_) => Picture::Gone(format!("{stated}, the data is no base64")),
                }
            }
            images::Image::Data { bytes, .. } => Picture::Gone(format!("{stated}, {bytes} bytes that are no PNG, JPEG, GIF or WebP")),
            images::Image::Bad(why) => Picture::Gone(format!("{stated}, {why}")),
            images::Image::Blob(hash) => Picture::Gone(format!("{stated}, blob sha256:{hash}")),
        }
    }

    fn shown(bytes: Vec<u8>, stated: &str) -> Picture {
        match images::mime(&bytes) {
            Some(mime) if bytes.len() <= MOST_BYTES => Picture::Here { mime, bytes },
            Some(mime) => Picture::Gone(format!("{mime}, {} bytes: too large to be shown", bytes.len())),
            None => Picture::Gone(format!("{stated}, {} bytes that are no PNG, JPEG, GIF or WebP", bytes.len())),
        }
    }

    /// The name of a copy: from the content, so equal images are one file.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        let Picture::Here { mime, bytes } = self else { return None };
        let hash = HEXLOWER.encode(Sha256::digest(bytes).get(..8).unwrap_or_default());
        Some(format!("{hash}.{}", mime.strip_prefix("image/").unwrap_or("bin").replace("jpeg", "jpg")))
    }

    /// What stands for the image where it cannot be seen.
    #[must_use]
    pub fn note(&self) -> String {
        match self {
            Picture::Here { mime, bytes } => {
                let size = imagesize::blob_size(bytes).map(|s| format!(", {} × {}", s.width, s.height)).unwrap_or_default();
                format!("[{mime}{size}, {} bytes]", bytes.len())
            }
            Picture::Gone(why) => format!("[{why}]"),
        }
    }
}
