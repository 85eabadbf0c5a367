//! Images that are too large for providers, made as small as they take them: a smaller picture still shows what a note about
//! it only names. Only formats that tools really write are read, PNG and JPEG.

use std::io::Cursor;

use data_encoding::BASE64;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::images::{MOST_BYTES, MOST_PIXELS_OF_MANY, decode, mime};

/// Bytes that the pixels of one image may take. It is the largest thing that a repair holds, and photographs of 48 megapixels
/// have their place in it.
const MOST_MEMORY: u64 = 256 << 20;

/// Pixels on a side below which nothing can be seen on a picture of a screen: one that is still too many bytes is given up.
const LEAST_SIDE: u32 = 64;

/// An image that was made smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shrunk {
    /// The new data, base64.
    pub(super) data: String,
    /// Width and height before, in pixels.
    pub(super) from: (u32, u32),
    /// Width and height now.
    pub(super) to: (u32, u32),
    /// Bytes before and now, decoded.
    pub(super) bytes: (usize, usize),
}

/// Image data, base64, made smaller in its own format: at most as many pixels on a side as providers take in requests with
/// many images, so that it stays good when more come, and no more bytes than they take. `None` when it cannot be read.
#[must_use]
pub(super) fn shrunk(data: &str) -> Option<Shrunk> {
    let bytes = decode(data).ok()?;
    let format = match mime(&bytes)? {
        "image/png" => ImageFormat::Png,
        "image/jpeg" => ImageFormat::Jpeg,
        _ => return None,
    };
    let mut reader = ImageReader::with_format(Cursor::new(&bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    // What a camera notes about how it was held is lost with the rest of its notes.
    let orientation = decoder.orientation().ok()?;
    let mut picture = DynamicImage::from_decoder(decoder).ok()?;
    picture.apply_orientation(orientation);
    let from = (picture.width(), picture.height());
    let mut side = from.0.max(from.1).min(u32::try_from(MOST_PIXELS_OF_MANY).unwrap_or(u32::MAX));
    while side >= LEAST_SIDE.min(from.0.max(from.1)) {
        let small = if side < from.0.max(from.1) { picture.thumbnail(side, side) } else { picture.clone() };
        let mut written = Vec::new();
        // JPEG knows no transparency and eight bits only, which is what it was read as.
        let small = if format == ImageFormat::Jpeg { DynamicImage::ImageRgb8(small.into_rgb8()) } else { small };
        small.write_to(&mut Cursor::new(&mut written), format).ok()?;
        if written.len() as u64 <= MOST_BYTES {
            let to = (small.width(), small.height());
            return Some(Shrunk { data: BASE64.encode(&written), from, to, bytes: (bytes.len(), written.len()) });
        }
        side = side / 5 * 4;
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use image::RgbImage;

    use super::*;
    use crate::session::images::fault;

    fn written(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        picture.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    /// Pixels that do not compress.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 7_u64;
        DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let [a, b, c, ..] = (state >> 33).to_le_bytes();
            image::Rgb([a, b, c])
        }))
    }

    #[test]
    fn p15_an_image_of_too_many_pixels_keeps_its_shape_and_format() {
        for (format, mime) in [(ImageFormat::Png, "image/png"), (ImageFormat::Jpeg, "image/jpeg")] {
            let picture = DynamicImage::ImageRgb8(RgbImage::from_fn(2_400, 60, |x, _| {
                if x < 1_200 { image::Rgb([250, 0, 0]) } else { image::Rgb([0, 0, 250]) }
            }));
            let data = BASE64.encode(&written(&picture, format));
            assert!(fault(&data, mime, true).is_some());
            let small = shrunk(&data).unwrap();
            assert_eq!((small.from, small.to), ((2_400, 60), (2_000, 50)));
            assert_eq!(fault(&small.data, mime, true), None);
            assert_eq!(small.bytes.1, decode(&small.data).unwrap().len());
            let read = image::load_from_memory(&decode(&small.data).unwrap()).unwrap().into_rgb8();
            assert!(read.get_pixel(10, 25).0[0] > 200 && read.get_pixel(1_990, 25).0[2] > 200);
            assert_eq!(shrunk(&data), Some(small), "the same bytes again");
        }
    }

    #[test]
    fn p15_a_photograph_stands_as_its_camera_was_held() {
        let picture = DynamicImage::ImageRgb8(RgbImage::new(2_400, 60));
        let mut bytes = written(&picture, ImageFormat::Jpeg);
        // A quarter turn, noted as cameras do.
        let note = b"\xff\xe1\x00\x22Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        bytes.splice(2..2, *note);
        let small = shrunk(&BASE64.encode(&bytes)).unwrap();
        assert_eq!((small.from, small.to), ((60, 2_400), (50, 2_000)));
    }

    #[test]
    fn p15_an_image_of_too_many_bytes_is_made_smaller_until_it_fits() {
        let bytes = written(&noise(1_500, 1_200), ImageFormat::Png);
        assert!(bytes.len() as u64 > MOST_BYTES);
        let small = shrunk(&BASE64.encode(&bytes)).unwrap();
        assert_eq!(small.from, (1_500, 1_200));
        assert!(small.bytes.1 as u64 <= MOST_BYTES && small.to.0 < 1_500, "{:?}", (small.to, small.bytes));
        assert_eq!(fault(&small.data, "image/png", true), None);
    }

    #[test]
    fn p21_what_cannot_be_read_is_not_shrunk() {
        let whole = written(&noise(2_100, 20), ImageFormat::Png);
        assert!(shrunk(&BASE64.encode(&whole)).is_some());
        assert_eq!(shrunk(&BASE64.encode(whole.get(..200).unwrap())), None, "half an image");
        assert_eq!(shrunk(&BASE64.encode(b"GIF89a and so on")), None);
        assert_eq!(shrunk("abcde"), None);
        // A header that promises gigabytes is not believed.
        let mut huge = whole;
        huge.splice(16..24, [0, 1, 0, 0, 0, 1, 0, 0]);
        assert_eq!(shrunk(&BASE64.encode(&huge)), None);
    }
}
