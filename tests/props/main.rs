//! Random sessions, damaged and whole, against what must hold for every one of them.
//!
//! The number of cases is small, so that the suite stays quick; `PROPTEST_CASES=5000` asks for more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    unreachable_pub,
    clippy::print_stderr
)]

mod compact;
mod context;
mod cut;
mod extreme;
mod generate;
mod growth;
mod naive;
mod reader;
#[path = "../common/sessions.rs"]
mod sessions;
mod size;

use epitome::session::{Ix, Session, Source};
use proptest::prelude::ProptestConfig;

/// The configuration of a property: `cases` times, unless the environment asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 4096, ..ProptestConfig::default() }
}

fn open(bytes: &[u8]) -> Session {
    Session::open(Source::memory(bytes)).unwrap()
}

fn ids(session: &Session, entries: &[Ix]) -> Vec<String> {
    entries.iter().map(|ix| session.id(*ix).to_owned()).collect()
}
