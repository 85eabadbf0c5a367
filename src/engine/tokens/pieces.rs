//! Counting by a vocabulary, a piece at a time.
//!
//! A text is first split into words, numbers and the like, and each of these pieces becomes tokens by itself. Two things make
//! that slow: the split by a regular expression that knows all of Unicode, and that words come again and again. So plain
//! ASCII is split by hand, by the same rules, and short pieces whose tokens were counted before are looked up.

use std::cell::RefCell;

use super::vocabulary;

/// Bytes of a piece that is remembered at most; nearly all are shorter.
const LONGEST: usize = 15;

/// Pieces that are remembered at once, a power of two: 512 KiB a thread, most of which stays in the processor's cache.
const REMEMBERED: usize = 1 << 14;

/// A piece packed into a number, its length in the lowest byte, and its tokens. No piece is empty, so 0 stands for none.
type Known = (u128, u32);

thread_local! {
    static O200K: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
    static CL100K: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

/// Tokens of a text by o200k.
pub(super) fn o200k(text: &str) -> u64 {
    let vocabulary = &*vocabulary::O200K;
    O200K.with_borrow_mut(|known| {
        let mut sum = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let len = match plain_piece(rest.as_bytes()) {
                Some(len) => len,
                // Something that only the whole rules tell.
                None => vocabulary.split(rest).next().map_or(rest.len(), str::len),
            };
            let Some((piece, behind)) = rest.split_at_checked(len.max(1)) else { break };
            sum += count(vocabulary, known, piece.as_bytes());
            rest = behind;
        }
        sum
    })
}

/// Tokens of a text by cl100k.
pub(super) fn cl100k(text: &str) -> u64 {
    let vocabulary = &*vocabulary::CL100K;
    CL100K.with_borrow_mut(|known| vocabulary.split(text).map(|piece| count(vocabulary, known, piece.as_bytes())).sum())
}

fn count(vocabulary: &bpe_openai::Tokenizer, known: &mut Vec<Known>, piece: &[u8]) -> u64 {
    let whole = || vocabulary.bpe.count(piece) as u64;
    if piece.len() > LONGEST {
        return whole();
    }
    if known.is_empty() {
        known.resize(REMEMBERED, (0, 0));
    }
    let mut packed = [0; LONGEST + 1];
    if let Some(room) = packed.get_mut(1..=piece.len()) {
        room.copy_from_slice(piece);
    }
    let packed = u128::from_le_bytes(packed) | piece.len() as u128;
    let (low, high) = (packed as u64, (packed >> 64) as u64);
    let mixed = (low ^ high.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let Some(place) = known.get_mut(mixed as usize % REMEMBERED) else { return whole() };
    if place.0 != packed {
        *place = (packed, u32::try_from(whole()).unwrap_or(u32::MAX));
    }
    u64::from(place.1)
}

/// What o200k's rules tell apart, in ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    Newline,
    Blank,
    /// Anything else in ASCII.
    Mark,
    /// Not ASCII.
    Beyond,
}

fn class(byte: u8) -> Class {
    match byte {
        b'A'..=b'Z' => Class::Upper,
        b'a'..=b'z' => Class::Lower,
        b'0'..=b'9' => Class::Digit,
        b'\r' | b'\n' => Class::Newline,
        b' ' | b'\t' | 0x0b | 0x0c => Class::Blank,
        0x80.. => Class::Beyond,
        _ => Class::Mark,
    }
}

/// Bytes of the first piece of a text that is not empty, by the rules of o200k; `None` when a character that is not ASCII has a
/// say in it.
fn plain_piece(text: &[u8]) -> Option<usize> {
    let at = |n: usize| text.get(n).map(|b| class(*b));
    let first = at(0)?;
    let is_letter = |class| matches!(class, Class::Upper | Class::Lower);
    // A word, with one character before it that is no letter, digit or line end.
    let word = match first {
        Class::Upper | Class::Lower => Some(0),
        Class::Blank | Class::Mark => match at(1) {
            Some(Class::Upper | Class::Lower) => Some(1),
            Some(Class::Beyond) => return None,
            _ => None,
        },
        Class::Digit | Class::Newline => None,
        Class::Beyond => return None,
    };
    if let Some(start) = word {
        let upper = run(text, start, |class| class == Class::Upper)?;
        let end = if at(upper).is_some_and(is_letter) { run(text, upper, |class| class == Class::Lower)? } else { upper };
        return contraction(text.get(end..).unwrap_or_default()).map(|len| end + len);
    }
    match first {
        Class::Digit => {
            let digits = text.iter().take(3).take_while(|b| b.is_ascii_digit()).count();
            (digits == 3 || at(digits) != Some(Class::Beyond)).then_some(digits)
        }
        Class::Blank | Class::Newline => {
            if text.first() == Some(&b' ') && at(1) == Some(Class::Mark) {
                return marks(text, 1);
            }
            let end = run(text, 0, |class| matches!(class, Class::Blank | Class::Newline))?;
            let blanks = text.get(..end).unwrap_or_default();
            if let Some(newline) = blanks.iter().rposition(|b| class(*b) == Class::Newline) {
                return Some(newline + 1);
            }
            // The last blank goes with what follows.
            Some(if end == text.len() || end == 1 { end } else { end - 1 })
        }
        _ => marks(text, 0),
    }
}

/// The end of a stretch of ASCII from a place on; `None` when something else follows, by which nobody knows here how the
/// stretch goes on.
fn run(text: &[u8], from: usize, is: impl Fn(Class) -> bool) -> Option<usize> {
    let len = text.get(from..).unwrap_or_default().iter().take_while(|b| is(class(**b))).count();
    (text.get(from + len).map(|b| class(*b)) != Some(Class::Beyond)).then_some(from + len)
}

/// The end of the marks from a place on, with the line ends and slashes behind them.
fn marks(text: &[u8], from: usize) -> Option<usize> {
    let end = run(text, from, |class| class == Class::Mark)?;
    let behind = text.get(end..).unwrap_or_default();
    Some(end + behind.iter().take_while(|b| matches!(b, b'\r' | b'\n' | b'/')).count())
}

/// Bytes of what is left of a shortened word (`'s`, `'re`) behind another; `None` when a character that is not ASCII may be
/// the same in small letters.
fn contraction(behind: &[u8]) -> Option<usize> {
    let small = |n: usize| behind.get(n).map(u8::to_ascii_lowercase);
    if small(0) != Some(b'\'') {
        return Some(0);
    }
    match (small(1), small(2)) {
        (Some(b's' | b't' | b'm' | b'd'), _) => Some(2),
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => Some(3),
        (Some(0x80..), _) => None,
        (Some(b'r' | b'v' | b'l'), Some(0x80..)) => None,
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn by_hand(text: &str) -> Vec<&str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let whole = bpe_openai::o200k_base().split(rest).next().unwrap();
            let len = plain_piece(rest.as_bytes()).unwrap_or(whole.len());
            let (piece, behind) = rest.split_at(len);
            pieces.push(piece);
            rest = behind;
        }
        pieces
    }

    proptest! {
        #[test]
        fn ascii_is_split_as_by_the_rules(text in "[aZbQ019 \\t\\n\\r\\x0b\\x1c\\x7f.,'/_(\\-]{0,40}") {
            let whole: Vec<&str> = bpe_openai::o200k_base().split(&text).collect();
            prop_assert_eq!(by_hand(&text), whole);
            let mut rest = text.as_str();
            while !rest.is_empty() {
                rest = rest.split_at(plain_piece(rest.as_bytes()).unwrap()).1;
            }
        }

        #[test]
        fn shortened_words_are_split_as_by_the_rules(text in "([a-z]{0,2}['’][sStTrReEvVmMlLdDſK]{0,3}[ x]?){0,6}") {
            let whole: Vec<&str> = bpe_openai::o200k_base().split(&text).collect();
            prop_assert_eq!(by_hand(&text), whole);
        }

        #[test]
        fn what_is_not_ascii_has_its_say(text in "([a-zA-Z]{0,3}|[0-9]{0,4}|[ \\t\\n]{0,3}|[.,/'-]{0,3}|[éÉ日\u{301}\u{a0}\u{2028}²Ⅷ’😀ǅʰ])([a-z]{0,2}|[é\u{a0}\\n²]?){0,12}") {
            let whole: Vec<&str> = bpe_openai::o200k_base().split(&text).collect();
            prop_assert_eq!(by_hand(&text), whole);
        }

        #[test]
        fn what_was_counted_before_counts_the_same(texts in proptest::collection::vec("[a-zéA-Z0-9 .'\\n日]{0,40}", 1..20)) {
            for text in texts.iter().chain(&texts) {
                prop_assert_eq!(o200k(text), bpe_openai::o200k_base().count(text) as u64);
                prop_assert_eq!(cl100k(text), bpe_openai::cl100k_base().count(text) as u64);
            }
        }
    }

    #[test]
    fn pieces_that_differ_in_length_only_are_told_apart() {
        for text in ["\0", "\0\0", "\0\0\0\0", "a\0", "a"] {
            assert_eq!(o200k(text), bpe_openai::o200k_base().count(text) as u64, "{text:?}");
        }
    }
}
