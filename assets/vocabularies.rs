//! The build script: takes the vocabularies of tokens out of the crate `bpe-openai` and leaves out what counting never asks.
//!
//! The crate keeps three automata a vocabulary, and a table of all tokens by their hashes, for ways of encoding that this
//! project does not use. Without two of the automata and the table a vocabulary takes a third of the memory and of the time
//! to load. What is left counts as before, which the tests of `engine::tokens` compare.

#![expect(clippy::print_stdout, reason = "a build script speaks to cargo")]

use std::collections::HashMap;
use std::path::Path;
use std::{env, fs};

use bpe_openai::byte_pair_encoding::BytePairEncoding;
use serde_bytes::ByteBuf;

type Error = Box<dyn std::error::Error>;

/// The fields of a [`BytePairEncoding`] in their order.
type Fields = (
    Vec<u8>,                  // the bytes of all tokens
    Vec<u32>,                 // where each of them begins
    HashMap<u32, u32>,        // hash of a token -> token
    Vec<(u32, u32)>,          // the two tokens that each was merged from
    HashMap<(u32, u32), u32>, // two tokens -> what they merge to
    ByteBuf,                  // finds the longest token
    ByteBuf,                  // finds all tokens
    ByteBuf,                  // finds all tokens from behind
    Vec<u32>,                 // the longest token that each begins with
    u64,                      // of the hashes
);

fn fields(encoding: &BytePairEncoding) -> Result<Fields, Error> {
    Ok(rmp_serde::from_slice(&rmp_serde::to_vec(encoding)?)?)
}

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=assets/vocabularies.rs");
    let none = fields(&BytePairEncoding::from_dictionary([b"a".to_vec()], None))?;
    let out = env::var("OUT_DIR")?;
    for (name, whole) in [("o200k", bpe_openai::o200k_base()), ("cl100k", bpe_openai::cl100k_base())] {
        let mut slim = fields(&whole.bpe)?;
        slim.2.clone_from(&none.2);
        slim.6.clone_from(&none.6);
        slim.7.clone_from(&none.7);
        fs::write(Path::new(&out).join(name), rmp_serde::to_vec(&slim)?)?;
    }
    Ok(())
}
