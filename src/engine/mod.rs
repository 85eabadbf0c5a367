//! The rules: what to count, when to act, where to cut, what to say.
//!
//! Everything here is a pure function of a session and of settings; nothing reads a clock, prints, or writes.
//!
//! - [`tokens`]: counting, exact or by the heuristic, only as far as someone needs it
//! - [`usage`]: what providers reported, and when that is stale
//! - [`trigger`]: thresholds, and which errors mean that the context is too long
//! - [`window`], [`cut`]: what a compaction may take, and where it cuts
//! - [`branch`]: what an abandoned branch learnt
//! - [`files`]: the files that a session read and changed, and the tag that tells them
//! - [`prune`]: which tool results a model no longer needs
//! - [`replace`]: what a replacement history keeps, and what of the rest is summarized
//! - [`size`]: what makes a file small: details, images, long arguments, branches and entries that nobody needs
//! - [`handoff`]: the document with which another session goes on
//! - [`serialize`]: messages as text for a summarizer
//! - [`compaction`]: the plan of a compaction, the entry it writes, and whether that is worth it

pub mod branch;
pub mod compaction;
pub mod cut;
pub mod files;
pub mod handoff;
pub mod prune;
pub mod replace;
pub mod serialize;
pub mod size;
pub mod tokens;
pub mod trigger;
pub mod usage;
pub mod window;
