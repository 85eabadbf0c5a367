//! The short texts of a session (ids, names of tools, types), each kept once, one behind the other, and a number for each: a
//! session has some hundred thousand of them, and each in memory of its own would take as long as reading the file.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashTable;

/// Maps and sets of what the session numbers: no key comes from anybody who could choose it to be slow.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fx>>;

/// See [`Map`].
pub type Set<K> = HashSet<K, BuildHasherDefault<Fx>>;

/// Texts by number and numbers by text.
#[derive(Debug, Clone, Default)]
pub(super) struct Strings {
    all: String,
    /// Where each text ends in `all`, in bytes; it begins where the one before it ends.
    ends: Vec<usize>,
    numbers: HashTable<u32>,
}

impl Strings {
    /// Makes room for so many more texts.
    pub(super) fn reserve(&mut self, more: usize) {
        let Self { all, ends, numbers } = self;
        ends.reserve(more);
        numbers.reserve(more, |number| hash(text_of(all, ends, *number)));
    }

    /// The number of a text, which enters when it is new.
    pub(super) fn intern(&mut self, text: &str) -> u32 {
        let Self { all, ends, numbers } = self;
        let place = numbers.entry(hash(text), |number| text_of(all, ends, *number) == text, |number| hash(text_of(all, ends, *number)));
        *place
            .or_insert_with(|| {
                let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
                all.push_str(text);
                ends.push(all.len());
                number
            })
            .get()
    }

    /// The number of a text that is there.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.numbers.find(hash(text), |number| self.get(*number) == text).copied()
    }

    /// The text of a number, empty for one that was never given.
    pub(super) fn get(&self, number: u32) -> &str {
        text_of(&self.all, &self.ends, number)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

fn text_of<'a>(all: &'a str, ends: &[usize], number: u32) -> &'a str {
    let at = number as usize;
    let start = at.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied());
    start.zip(ends.get(at).copied()).and_then(|(start, end)| all.get(start..end)).unwrap_or_default()
}

fn hash(text: &str) -> u64 {
    let mut fx = Fx::default();
    fx.write(text.as_bytes());
    fx.finish()
}

/// A fast hash for short ids and numbers; order and contents of the index do not depend on it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fx(u64);

impl Fx {
    fn add(&mut self, word: u64) {
        // Both halves of the product: the low one knows nothing of the high bits, which are all that differs in counted ids.
        let product = u128::from(self.0.rotate_left(5) ^ word) * 0x517c_c1b7_2722_0a95;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for Fx {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            self.add(rest.iter().rev().fold(0, |word, b| word << 8 | u64::from(*b)));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_text_has_one_number(texts in proptest::collection::vec("[ab\\x00é]{0,12}", 0..200)) {
            let mut strings = Strings::default();
            let mut first: Vec<&str> = Vec::new();
            for text in &texts {
                let known = first.iter().position(|known| known == text);
                prop_assert_eq!(strings.find(text), known.map(|at| at as u32));
                let number = strings.intern(text);
                prop_assert_eq!(number as usize, known.unwrap_or(first.len()));
                if known.is_none() {
                    first.push(text);
                }
            }
            prop_assert_eq!(strings.len(), first.len());
            for (number, text) in first.iter().enumerate() {
                prop_assert_eq!(strings.get(number as u32), *text);
            }
            prop_assert_eq!(strings.get(first.len() as u32), "");
        }
    }

    #[test]
    fn nearly_all_ids_have_places_of_their_own() {
        let places: HashSet<u64> = (0..10_000).map(|n| hash(&format!("{n:08x}")) % (1 << 16)).collect();
        assert!(places.len() > 9_000, "{}", places.len());
        let numbers: HashSet<u64> = (0..10_000_u32)
            .map(|n| {
                let mut fx = Fx::default();
                fx.write_u32(n);
                fx.finish() % (1 << 16)
            })
            .collect();
        assert!(numbers.len() > 9_000, "{}", numbers.len());
    }
}
