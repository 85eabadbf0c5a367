//! Pages become verified PNG files, several at once, in their order.

use std::io;

use super::font::Lens;
use super::layout::sheet;
use super::read::{self, ReadError};
use super::render::{self, Picture, Press};
use super::shape::Shape;
use crate::threads;

/// Why pages were not printed.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// A frame does not say what was printed on it: a fault of ours, found before anything was written.
    #[error("frame {page} does not read back and was not written: {error}")]
    Unread {
        /// The page, from 1.
        page: usize,
        /// What is wrong.
        #[source]
        error: ReadError,
    },
    /// A picture could not be made.
    #[error("a frame cannot be drawn: {0}")]
    Draw(#[from] io::Error),
    /// A thread failed.
    #[error("a thread that draws frames failed")]
    Thread,
    /// Not even one row of text makes a picture that is small enough.
    #[error("one row of {shape} makes a picture of {size} base64 characters; readers cut what has more than {most}")]
    TooLarge {
        /// The shape.
        shape: &'static str,
        /// Base64 characters of the picture.
        size: usize,
        /// The limit.
        most: usize,
    },
}

/// Draws, encodes and reads back every page.
///
/// # Errors
/// [`PrintError`] for the first page that fails.
pub fn print(pages: &[String], shape: &Shape) -> Result<Vec<Picture>, PrintError> {
    let lens = Lens::of(shape.pen());
    let made = threads::map(pages, 1, Press::new, |press, at, page| one(press, page, at, shape, &lens));
    made.map_err(|_| PrintError::Thread)?.into_iter().collect()
}

fn one(press: &mut Press, page: &str, at: usize, shape: &Shape, lens: &Lens) -> Result<Picture, PrintError> {
    let sheet = sheet(page, shape);
    let picture = render::picture_with(press, &sheet, shape, spoilt(at))?;
    read::verify(&picture.png, &sheet, shape, lens).map_err(|error| PrintError::Unread { page: at + 1, error })?;
    Ok(picture)
}

/// The pixel that debug builds change when asked to (`EPITOME_TEST_FLIP_PIXEL=page:pixel`, both from 0), so that tests can show
/// that the run then stops.
#[cfg_attr(not(debug_assertions), allow(unused_variables))]
fn spoilt(page: usize) -> Option<usize> {
    #[cfg(debug_assertions)]
    if let Ok(asked) = std::env::var("EPITOME_TEST_FLIP_PIXEL")
        && let Some((wanted, pixel)) = asked.split_once(':')
        && wanted.parse() == Ok(page)
    {
        return pixel.parse().ok();
    }
    None
}
