//! Frames as the reference draws them, as they read back, and as sessions carry them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice, clippy::print_stdout)]

mod corpus;
mod golden;
mod newer;
mod reading;
mod seed;
