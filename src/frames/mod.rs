//! History as pictures: text printed in pixel fonts on frames that a vision model reads back.
//!
//! Local and deterministic: no model, no key, no network. Every frame is read back before it is written anywhere, by
//! matching its pixels against the font, so that what a frame says is known and not hoped for.
//!
//! - [`font`]: glyphs, and what pixels say
//! - [`shape`]: fonts, cells, frame sizes, and what providers bill
//! - [`layout`]: pages, and where each character stands
//! - [`normalize`](mod@normalize): text as the fonts can print it
//! - [`render`]: pixels and PNG files
//! - `pack` and `codes`: pixels of many hues as a zlib stream
//! - [`read`]: the way back
//! - `exact`: the same, in short, for rows of which nothing is wrong
//! - [`print`](mod@print): pages as verified files
//! - [`archive`]: history on frames: what is carried on, what is new, what stays text
//! - [`guide`]: how a model is told to read them

pub mod archive;
mod codes;
mod exact;
pub mod font;
pub mod guide;
pub mod layout;
pub mod normalize;
mod pack;
pub mod print;
pub mod read;
pub mod render;
pub mod shape;
