//! Pages become verified PNG files, several at once, in their order.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::font::Lens;
use super::layout::sheet;
use super::read::{self, ReadError};
use super::render::{self, Picture};
use super::shape::Shape;

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
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(page) = pages.get(at) else { return done };
            done.push((at, one(page, at, shape, &lens)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(pages.len());
    let mut done = Vec::with_capacity(pages.len());
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        done.extend(work());
        for helper in helpers {
            done.extend(helper.join().map_err(|_| PrintError::Thread)?);
        }
        Ok::<_, PrintError>(())
    })?;
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, made)| made).collect()
}

fn one(page: &str, at: usize, shape: &Shape, lens: &Lens) -> Result<Picture, PrintError> {
    let sheet = sheet(page, shape);
    let picture = render::picture_with(&sheet, shape, &|pixels, before| spoil(pixels, at, before))?;
    read::verify(&picture.png, &sheet, shape, lens).map_err(|error| PrintError::Unread { page: at + 1, error })?;
    Ok(picture)
}

/// Debug builds change one pixel when asked to (`EPITOME_TEST_FLIP_PIXEL=page:pixel`, both from 0), so that tests can show
/// that the run then stops. `before` pixels of the picture stand before those that are passed in.
#[cfg_attr(not(debug_assertions), allow(unused_variables, clippy::ptr_arg))]
fn spoil(raster: &mut render::Raster, page: usize, before: usize) {
    #[cfg(debug_assertions)]
    if let Ok(asked) = std::env::var("EPITOME_TEST_FLIP_PIXEL")
        && let Some((wanted, pixel)) = asked.split_once(':')
        && wanted.parse() == Ok(page)
        && let Some(at) = pixel.parse().ok().and_then(|pixel: usize| pixel.checked_sub(before))
        && at < raster.width * raster.height
        && let Some(pixel) = raster.pixels.get_mut(at)
    {
        *pixel = if *pixel == 0 { 7 } else { 0 };
    }
}
