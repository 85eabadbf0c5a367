//! What image data really is: base64 or a reference to a blob, of the stated type, of a size that providers take.

use std::borrow::Cow;

use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest, Sha256};

/// What is known about the data of one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// A reference into a blob folder: the 64 hex digits of the blob's SHA-256.
    Blob(String),
    /// Data that decodes.
    Data {
        /// Decoded bytes.
        bytes: u64,
        /// The media type that the bytes show, when they show one.
        mime: Option<&'static str>,
        /// Width and height in pixels, when the bytes tell.
        size: Option<(u64, u64)>,
    },
    /// Data that does not decode, and why.
    Bad(&'static str),
}

/// Width or height above which providers refuse an image.
pub const MOST_PIXELS: u64 = 8_000;
/// The same in requests with many images.
pub const MOST_PIXELS_OF_MANY: u64 = 2_000;
/// How many images of a session count as many: a context keeps several of them for long.
pub const MANY: u64 = 10;
/// Decoded bytes above which providers refuse an image.
pub const MOST_BYTES: u64 = 5_000_000;

/// Looks at the `data` of an image block.
#[must_use]
pub fn look(data: &str) -> Image {
    if let Some(hash) = blob_hash(data) {
        return Image::Blob(hash.to_owned());
    }
    if data.starts_with("blob:") {
        return Image::Bad("the reference to a blob is not of the form blob:sha256:<64 hex digits>");
    }
    let bytes = match decode(data) {
        Ok(bytes) => bytes,
        Err(why) => return Image::Bad(why),
    };
    let size = imagesize::blob_size(&bytes).ok().map(|size| (size.width as u64, size.height as u64));
    Image::Data { bytes: bytes.len() as u64, mime: mime(&bytes), size }
}

/// The bytes behind base64 data.
///
/// # Errors
/// Says why there are none.
pub fn decode(data: &str) -> Result<Vec<u8>, &'static str> {
    let data = data.trim();
    if data.is_empty() {
        return Err("the data is empty");
    }
    let padded = match data.len() % 4 {
        1 => return Err("the data is no base64: its length is 4n + 1"),
        // Unpadded base64 is common and decodes everywhere.
        n if n > 1 && !data.ends_with('=') => Cow::Owned(format!("{data}{}", "=".repeat(4 - n))),
        _ => Cow::Borrowed(data),
    };
    BASE64.decode(padded.as_bytes()).map_err(|_| "the data is no base64")
}

/// The hash of a blob reference; anything but 64 lower-case hex digits is none, so that no path is ever made of it.
#[must_use]
pub fn blob_hash(data: &str) -> Option<&str> {
    data.strip_prefix("blob:sha256:")
        .filter(|hash| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

/// The media type that the first bytes of an image show, when they show one that providers take.
#[must_use]
pub fn mime(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Why a provider would refuse an image, when it would. `many` tells that the session holds many images.
#[must_use]
pub fn fault(data: &str, stated: &str, many: bool) -> Option<String> {
    match look(data) {
        Image::Blob(_) => None,
        Image::Bad(why) => Some(why.to_owned()),
        Image::Data { bytes, mime, size } => {
            if let Some((width, height)) = size {
                let side = width.max(height);
                if side > MOST_PIXELS {
                    return Some(format!("the image has {width} x {height} pixels; providers refuse more than {MOST_PIXELS} on a side"));
                }
                if many && side > MOST_PIXELS_OF_MANY {
                    return Some(format!(
                        "the image has {width} x {height} pixels; providers refuse more than {MOST_PIXELS_OF_MANY} on a side in requests with many images"
                    ));
                }
            }
            if bytes > MOST_BYTES {
                return Some(format!("the image has {bytes} bytes; providers refuse more than {MOST_BYTES}"));
            }
            match mime {
                None => Some("the data is no PNG, JPEG, GIF or WebP image".to_owned()),
                Some(mime) if !stated.is_empty() && mime != stated && !(mime == "image/jpeg" && stated == "image/jpg") => {
                    Some(format!("the data is {mime} and is called {stated}"))
                }
                Some(_) => None,
            }
        }
    }
}

/// The media type of image data that only its stated type is wrong with.
#[must_use]
pub fn true_type(data: &str, many: bool) -> Option<&'static str> {
    match look(data) {
        Image::Data { mime: Some(mime), .. } if fault(data, mime, many).is_none() => Some(mime),
        _ => None,
    }
}

/// The text that stands in the place of an image that was `done` with (dropped, moved to a file): its type, width and height,
/// bytes, and the beginning of its SHA-256, as far as its data tells.
#[must_use]
pub fn placeholder(data: &str, stated: &str, done: &str) -> String {
    let stated = crate::text::one_line(stated, 40);
    let kind = if stated.is_empty() { "unknown type" } else { stated.as_str() };
    let digest = |bytes: &[u8]| HEXLOWER.encode(&Sha256::digest(bytes)).chars().take(SHORT_HASH).collect::<String>();
    match look(data) {
        Image::Blob(hash) => format!("[Image {done}: {kind}, blob {hash}]"),
        Image::Bad(why) => format!("[Image {done}: {kind}, {} characters; {why}; sha256 {}]", data.len(), digest(data.as_bytes())),
        Image::Data { bytes, mime, size } => {
            let size = size.map(|(width, height)| format!(", {width} x {height} pixels")).unwrap_or_default();
            let hash = decode(data).map(|bytes| digest(&bytes)).unwrap_or_default();
            format!("[Image {done}: {}{size}, {bytes} bytes, sha256 {hash}]", mime.unwrap_or(kind))
        }
    }
}

/// Whether a text is a [`placeholder`]: it stands for an image and is no text of its message.
#[must_use]
pub fn is_placeholder(text: &str) -> bool {
    (text.starts_with("[Image dropped: ") || text.starts_with("[Image moved to ")) && text.ends_with(']')
}

/// Hex digits of a hash that a placeholder shows: enough to find the image among files that are named by their hash.
const SHORT_HASH: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 2, 0, 0, 0]);
        BASE64.encode(&bytes)
    }

    #[test]
    fn p15_a_placeholder_tells_type_dimensions_bytes_and_hash() {
        let data = png(2_162, 322);
        let hash = HEXLOWER.encode(&Sha256::digest(decode(&data).unwrap_or_default()));
        let want = format!("[Image dropped: image/png, 2162 x 322 pixels, 29 bytes, sha256 {}]", hash.chars().take(12).collect::<String>());
        assert_eq!(placeholder(&data, "image/png", "dropped"), want);
        // The bytes tell the type, not the label.
        assert_eq!(placeholder(&data, "image/jpeg", "dropped"), want);
        let blob = "0123456789abcdef".repeat(4);
        assert_eq!(placeholder(&format!("blob:sha256:{blob}"), "image/gif", "dropped"), format!("[Image dropped: image/gif, blob {blob}]"));
        let bad = placeholder("abcde", "", "dropped");
        assert!(
            bad.starts_with("[Image dropped: unknown type, 5 characters; the data is no base64: its length is 4n + 1; sha256 "),
            "{bad}"
        );
        assert!(is_placeholder(&want) && is_placeholder(&bad) && !is_placeholder("[Image dropped"));
    }

    #[test]
    fn p15_images_that_providers_refuse_are_named() {
        assert_eq!(fault(&png(100, 50), "image/png", true), None);
        assert!(fault(&png(9_000, 10), "image/png", false).is_some_and(|f| f.contains("9000 x 10")));
        assert_eq!(fault(&png(2_162, 322), "image/png", false), None);
        assert!(fault(&png(2_162, 322), "image/png", true).is_some_and(|f| f.contains("many images")));
    }

    #[test]
    fn p21_undecodable_and_mistyped_data_is_named() {
        assert!(fault("", "image/png", false).is_some_and(|f| f.contains("empty")));
        assert!(fault("abcde", "image/png", false).is_some_and(|f| f.contains("4n + 1")));
        assert!(fault("a*bc", "image/png", false).is_some_and(|f| f.contains("no base64")));
        assert!(fault(&BASE64.encode(b"\xff\xd8\xff\xe0 jpeg"), "image/png", false).is_some_and(|f| f.contains("image/jpeg")));
        assert!(fault(&BASE64.encode(b"hello"), "image/png", false).is_some());
        assert_eq!(fault(png(1, 1).trim_end_matches('='), "image/png", false), None);
    }

    #[test]
    fn r28_only_a_whole_lower_case_hash_is_a_blob() {
        let hash = "0123456789abcdef".repeat(4);
        assert_eq!(look(&format!("blob:sha256:{hash}")), Image::Blob(hash.clone()));
        for bad in
            [format!("blob:sha256:{}", hash.to_uppercase()), "blob:sha256:../../etc/passwd".to_owned(), format!("blob:sha256:{hash}0")]
        {
            assert!(matches!(look(&bad), Image::Bad(_)), "{bad}");
        }
    }
}
