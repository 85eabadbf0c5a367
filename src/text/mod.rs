//! Pure text surgery: no I/O, no clock, no state.
//!
//! Everything that a person, a model or a file gets to read from this program has passed through
//! here, because session text is written by tools and strangers: it holds terminal control
//! sequences, half surrogate pairs, secrets, megabytes of base64 and tags that imitate our own.
//! One place decides how such text is cut ([`cut`], [`errors`]), cleaned ([`clean`]), kept from acting as
//! markup ([`escape`]), decoded from raw JSON ([`json`], [`cursor`]) and relieved of secrets ([`redact`]).
//!
//! All functions are total: no input panics, every result is valid UTF-8, and the work is linear
//! in the input. Text that needs no change is borrowed.
//!
//! Order for text from a session: [`elide_data_urls`], [`strip`], [`masked`], then
//! [`neutralize_tags`] or [`quote_headings`], and the cut last, so that no later step can
//! assemble what an earlier one took apart and no secret survives as a half.

pub mod amount;
mod ansi;
pub mod clean;
pub mod cursor;
pub mod cut;
mod data_url;
pub mod errors;
pub mod escape;
pub mod json;
pub mod redact;

pub use amount::{bytes, counted, grouped};
pub use clean::{elide_data_urls, strip};
pub use cut::{Clipped, ceil_boundary, clip, clip_chars, floor_boundary, middle, one_line, tail};
pub use escape::{neutralize_tags, quote_headings};
pub use json::{compact, lone_surrogates, mend_surrogates};
pub use redact::{Own, OwnError, Redacted, Redactor, Share, masked};
