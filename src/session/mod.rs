//! What is there: a session file as an index over its raw lines.
//!
//! The bytes of the file are the truth. The index knows where each record stands and the few facts that trees, cuts and
//! pairings need ([`Entry`]); payloads are decoded when someone asks ([`Session::read`]). Nothing here knows settings or
//! writes.
//!
//! - [`source`]: the bytes, from a file or memory, with lines to be appended behind them
//! - `scan`, `head`: the one pass that builds the index, and what damage does to lines
//! - [`entry`]: one record's facts; [`json`], [`message`]: decoded payloads
//! - [`tree`]: parents, leaves, paths; [`context`]: what a model sees of a path
//! - [`edit`]: the same bytes with a few lines changed; [`places`]: where in a line the parts of a message stand
//! - `migrate`: versions 1 and 2 as version 3
//! - [`problems`]: everything that is wrong, each with code, line and offset
//! - [`frames`]: history on pictures, as entries carry it
//! - [`repair`]: mends for it, as changes to bytes
//! - [`owner`]: which agent the file belongs to; [`images`]: what image data really is;
//!   `shrink`: too large images made smaller

pub mod context;
pub mod edit;
pub mod entry;
pub mod frames;
mod head;
pub mod images;
mod index;
pub mod json;
pub mod message;
mod migrate;
pub mod owner;
pub mod places;
pub mod problems;
mod protos;
pub mod repair;
mod scan;
mod shrink;
pub mod source;
mod strings;
pub mod tree;

pub use context::{Context, Item};
pub use entry::{Entry, Ix, Kind, Parent, Role, Stop, Sym};
pub use index::{Header, Payload, REDACTED_TYPE, Session, SessionError};
pub use json::Json;
pub use message::{Block, Message, Usage, unix_ms};
pub use owner::Owner;
pub use problems::{Code, Problem, Severity};

pub use source::Source;
pub use strings::{Fx, Map, Set};
pub use tree::Path;
