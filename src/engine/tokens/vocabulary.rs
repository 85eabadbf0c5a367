//! The vocabularies of tokens, made by the build script.

use std::sync::LazyLock;

use bpe_openai::Tokenizer;

/// Both vocabularies take blanks before the end of the text or of a word apart from the last one, which begins the word: the
/// first pattern looks one character ahead, which the second does without.
const BLANKS: [(&str, bool); 2] = [(r"\s+\s", true), (r"\s+", false)];

/// OpenAI's o200k.
pub(super) static O200K: LazyLock<Tokenizer> = LazyLock::new(|| {
    load(
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k")),
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+$",
        ),
    )
});

/// OpenAI's cl100k.
pub(super) static CL100K: LazyLock<Tokenizer> = LazyLock::new(|| {
    load(
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k")),
        concat!(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}", r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+$",),
    )
});

/// Both parts are constants, so that neither can fail where the tests passed.
#[expect(clippy::expect_used)]
fn load(encoding: &[u8], pieces: &str) -> Tokenizer {
    let encoding = rmp_serde::from_slice(encoding).expect("the build script wrote it");
    let [blanks, last] = BLANKS;
    Tokenizer::new_lookahead(encoding, &[(pieces, false), blanks, last], false).expect("a regular expression")
}
