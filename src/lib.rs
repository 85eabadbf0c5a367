//! epitome keeps coding-agent sessions usable: it looks into the JSONL session trees of the pi family (pi, oh-my-pi,
//! openclaw), shows where a compaction would cut, and appends one, offline and without losing a byte.
//!
//! # One flow
//!
//! ```text
//!             ┌─────────────────────── run: the one loop ───────────────────────┐
//! file ──► session ──► engine::plan ──► summarize ──► engine: judge ──► store ──► receipt
//!          what is     what to do       with words    does it help?     the only
//!          there                                      is it sound?      writer
//! ```
//!
//! Plans, drafts and receipts are plain data; only a finished line reaches the store, and a dry run stops before it.
//!
//! # Where everything lives
//!
//! | room | what for |
//! |---|---|
//! | [`session`] | what is there: the index over raw lines, the tree, the context a model sees, everything that is wrong |
//! | [`engine`] | the rules: counting, triggers, the window, the cut, files, the text for a summarizer, the entry |
//! | [`frames`] | the pictures: fonts, shapes, layout, PNG files |
//! | [`summarize`] | the words: the offline summarizer and the stub |
//! | [`store`] | the only writer: fingerprints, locks, appends, new files, rewrites with their archives |
//! | [`export`] | transcripts and contexts for people and programs, masked |
//! | [`run`] | the loop that brings them together, one file a kind of job |
//! | [`text`] | pure text surgery: cuts, cleaning, escaping, masking secrets |
//! | [`hooks`], [`process`] | commands of a person that are asked before a write and told after it, and how commands are run |
//! | [`settings`], [`models`] | values with the place they came from; what is known about models |
//! | [`cli`] | parsing and printing; the only room that knows clap, terminals and exit codes |
//!
//! # What everything rests on
//!
//! - Raw lines are the truth. A session is an index over bytes; lines that are not meant to change are never rewritten.
//! - Memory is bounded by the index, the largest line, and what is being made.
//! - The same input gives the same bytes: the clock is passed in, ids come from content, parallel work is joined in order.
//! - Counting is lazy; what was extrapolated says so.

pub mod cli;
pub mod engine;
pub mod export;
pub mod frames;
pub mod hooks;
pub mod models;
pub mod process;
pub mod run;
pub mod session;
pub mod settings;
pub mod store;
pub mod summarize;
pub mod text;
mod threads;
