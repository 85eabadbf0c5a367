#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod build;
mod content;
mod quality;
mod rounds;
mod rules;
mod stories;
