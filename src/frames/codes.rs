//! DEFLATE's blocks: tokens written with prefix codes that are made for them.

/// Bits that go out, the lowest first.
pub(super) struct Bits {
    out: Vec<u8>,
    word: u64,
    count: u32,
}

impl Bits {
    /// A zlib stream of about `size` bytes, which begins with its header: a window of 32 KB, no preset.
    pub(super) fn new(size: usize) -> Bits {
        let mut out = Vec::with_capacity(size);
        out.extend([0x78, 0x9c]);
        Bits { out, word: 0, count: 0 }
    }

    /// Writes the lowest `count` bits of a value that has no others, 32 at most.
    #[inline(always)]
    fn put(&mut self, value: u32, count: u32) {
        self.word |= u64::from(value) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.count -= 32;
        }
    }

    /// The bytes, the last one filled up.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.out.extend(self.word.to_le_bytes().iter().take(self.count.div_ceil(8) as usize));
        self.out
    }
}

/// A symbol with bits of its own that follow its code.
#[derive(Clone, Copy)]
struct Symbol {
    number: usize,
    extra: u32,
    bits: u32,
}

/// Lengths of matches are numbered with literals; the end of a block stands between them.
const END: usize = 256;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const LONGEST: usize = 258;

/// The symbol of a number: numbers fall into groups that double with every `1 << fine` symbols.
#[inline(always)]
fn symbol(value: u32, fine: u32) -> Symbol {
    let extra = (value | 1).ilog2().saturating_sub(fine);
    Symbol { number: ((extra << fine) + (value >> extra)) as usize, extra, bits: value & ((1 << extra) - 1) }
}

#[inline(always)]
fn of_length(len: u32) -> Symbol {
    let symbol = if len as usize == LONGEST { Symbol { number: 28, extra: 0, bits: 0 } } else { symbol(len.saturating_sub(3), 2) };
    Symbol { number: END + 1 + symbol.number, ..symbol }
}

#[inline(always)]
fn of_distance(distance: u32) -> Symbol {
    symbol(distance.saturating_sub(1), 1)
}

/// Writes a block of tokens: bytes, or matches with their length (3 to 258) above 16 bits of distance.
pub(super) fn block(tokens: &[u32], bits: &mut Bits, is_last: bool) {
    let (mut literals, mut lengths, mut distances) = ([0; LITERALS], [0_u32; LONGEST + 1], [0; DISTANCES]);
    let count = |all: &mut [u32], at: usize| all.get_mut(at).into_iter().for_each(|count| *count += 1);
    for token in tokens {
        match (token >> 16, token & 0xffff) {
            (0, byte) => count(&mut literals, byte as usize),
            (len, distance) => {
                count(&mut lengths, len as usize);
                count(&mut distances, of_distance(distance).number);
            }
        }
    }
    for (len, count) in (0..).zip(lengths).filter(|(_, count)| *count > 0) {
        literals.get_mut(of_length(len).number).into_iter().for_each(|sum| *sum += count);
    }
    literals[END] = 1;
    let (literals, distances) = (Codes::new(&literals, 15), Codes::new(&distances, 15));
    bits.put(u32::from(is_last) | 2 << 1, 3);
    header(&literals, &distances, bits);
    let lengths: [(u32, u32); LONGEST + 1] = std::array::from_fn(|len| literals.of(of_length(len as u32)));
    for token in tokens {
        match (token >> 16, token & 0xffff) {
            (0, byte) => literals.put(byte as usize, bits),
            (len, distance) => {
                let (code, count) = lengths.get(len as usize).copied().unwrap_or_default();
                bits.put(code, count);
                let (code, count) = distances.of(of_distance(distance));
                bits.put(code, count);
            }
        }
    }
    literals.put(END, bits);
}

/// A prefix code of each symbol, as the bits go out, and its length; no length where the symbol does not occur.
struct Codes<const N: usize>([(u32, u32); N]);

impl<const N: usize> Codes<N> {
    /// The best codes for symbols that occur so often, none longer than `most`.
    fn new(counts: &[u32; N], most: u32) -> Self {
        let lengths = lengths(counts, most);
        let mut next = [0_u32; 16];
        let mut first = 0;
        for (len, next) in next.iter_mut().enumerate().skip(1) {
            *next = first;
            first = (first + lengths.iter().filter(|other| **other as usize == len).count() as u32) << 1;
        }
        let mut codes = Codes([(0, 0); N]);
        for (code, len) in codes.0.iter_mut().zip(lengths).filter(|(_, len)| *len > 0) {
            if let Some(next) = next.get_mut(len as usize) {
                *code = (next.reverse_bits() >> (u32::BITS - len), len);
                *next += 1;
            }
        }
        codes
    }

    #[inline(always)]
    fn put(&self, symbol: usize, bits: &mut Bits) {
        let (code, len) = self.0.get(symbol).copied().unwrap_or_default();
        bits.put(code, len);
    }

    /// A symbol's code and its own bits in one.
    #[inline(always)]
    fn of(&self, symbol: Symbol) -> (u32, u32) {
        let (code, len) = self.0.get(symbol.number).copied().unwrap_or_default();
        (code | symbol.bits << len, len + symbol.extra)
    }

    /// The lengths up to the last symbol that occurs, and `least` of them at least.
    fn lengths(&self, least: usize) -> Vec<u32> {
        let count = self.0.iter().rposition(|(_, len)| *len > 0).map_or(0, |last| last + 1).max(least);
        self.0.iter().take(count).map(|(_, len)| *len).collect()
    }
}

/// Lengths of the best codes (Huffman) for symbols that occur so often. While one is longer than `most`, all of them are made
/// again for counts that differ less.
fn lengths<const N: usize>(counts: &[u32; N], most: u32) -> [u32; N] {
    let mut used: Vec<(u32, usize)> = counts.iter().zip(0..).filter(|(count, _)| **count > 0).map(|(count, at)| (*count, at)).collect();
    used.sort_unstable();
    let mut depths = depths(&used);
    while depths.iter().any(|depth| *depth > most) {
        used.iter_mut().for_each(|(count, _)| *count = *count / 2 + 1);
        depths = self::depths(&used);
    }
    let mut lengths = [0; N];
    for ((_, at), depth) in used.iter().zip(depths) {
        lengths.get_mut(*at).into_iter().for_each(|len| *len = depth);
    }
    lengths
}

/// How deep each leaf lies when the two lightest trees become one until there is one; leaves come from the lightest on.
fn depths(leaves: &[(u32, usize)]) -> Vec<u32> {
    if leaves.len() < 2 {
        return vec![1; leaves.len()];
    }
    // Trees are made in the order of their weights, so the lightest is the next leaf, or the next of them.
    let mut weights: Vec<u32> = leaves.iter().map(|(count, _)| *count).collect();
    let mut parents = vec![0; 2 * leaves.len() - 1];
    let (mut leaf, mut tree) = (0, leaves.len());
    while weights.len() < parents.len() {
        let parent = weights.len();
        let mut sum = 0;
        for _ in 0..2 {
            let lighter = |leaf: &(u32, usize)| weights.get(tree).is_none_or(|tree| leaf.0 <= *tree);
            let next = if leaves.get(leaf).is_some_and(lighter) { &mut leaf } else { &mut tree };
            sum += weights.get(*next).copied().unwrap_or(0);
            parents.get_mut(*next).into_iter().for_each(|of| *of = parent);
            *next += 1;
        }
        weights.push(sum);
    }
    let mut depths = vec![0; parents.len()];
    for (at, parent) in parents.iter().enumerate().rev().skip(1) {
        let above = depths.get(*parent).copied().unwrap_or(0);
        depths.get_mut(at).into_iter().for_each(|depth| *depth = above + 1);
    }
    depths.truncate(leaves.len());
    depths
}

/// The order in which the lengths of the codes for lengths are said.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Writes the lengths of both codes, with a code of their own, and runs of the same length in short.
fn header(literals: &Codes<LITERALS>, distances: &Codes<DISTANCES>, bits: &mut Bits) {
    let mut all = literals.lengths(END + 1);
    let ahead = all.len();
    all.extend(distances.lengths(1));
    // Symbols, with the bits that follow them: lengths, 3 to 6 times the last one, or many zeros.
    let mut said: Vec<Symbol> = Vec::new();
    for run in all.chunk_by(|a, b| a == b) {
        let (len, mut left) = (run.first().copied().unwrap_or(0), run.len());
        if len > 0 {
            said.push(Symbol { number: len as usize, extra: 0, bits: 0 });
            left -= 1;
        }
        while left > 0 {
            let (count, symbol, least, extra) = match (len, left) {
                (0, 11..) => (left.min(138), 18, 11, 7),
                (0, 3..) => (left, 17, 3, 3),
                (1.., 3..) => (left.min(6), 16, 3, 2),
                _ => (1, len as usize, 1, 0),
            };
            said.push(Symbol { number: symbol, extra, bits: (count - least) as u32 });
            left -= count;
        }
    }
    let mut counts = [0; ORDER.len()];
    for symbol in &said {
        counts.get_mut(symbol.number).into_iter().for_each(|count| *count += 1);
    }
    let codes = Codes::new(&counts, 7);
    let len = |symbol: &usize| codes.0.get(*symbol).map_or(0, |(_, len)| *len);
    let told = ORDER.iter().rposition(|symbol| len(symbol) > 0).map_or(4, |last| (last + 1).max(4));
    bits.put((ahead - END - 1) as u32 | ((all.len() - ahead - 1) << 5 | (told - 4) << 10) as u32, 14);
    ORDER.iter().take(told).for_each(|symbol| bits.put(len(symbol), 3));
    for symbol in said {
        let (code, count) = codes.of(symbol);
        bits.put(code, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes leave no room and take none twice, however unlike the counts are.
    #[test]
    fn codes_are_as_long_as_allowed_and_complete() {
        let mut last = (0, 1);
        let fibonacci: [u32; 40] = std::array::from_fn(|_| {
            last = (last.1, last.0 + last.1);
            last.0
        });
        for most in [7, 15] {
            let lengths = lengths(&fibonacci, most);
            assert_eq!(lengths.iter().max(), Some(&most));
            assert_eq!(lengths.iter().map(|len| 1_u32 << (most - len)).sum::<u32>(), 1 << most);
            assert!(lengths.is_sorted_by(|a, b| a >= b), "what occurs more often has a shorter code: {lengths:?}");
        }
        assert_eq!(lengths(&[0, 5, 0], 15), [0, 1, 0]);
        assert_eq!(lengths(&[0; 3], 15), [0; 3]);
        assert_eq!(lengths(&[8, 4, 2, 1, 1], 15), [1, 2, 3, 4, 4]);
    }

    #[test]
    fn lengths_and_distances_have_the_symbols_of_the_format() {
        let length = |len| (of_length(len).number, of_length(len).extra, of_length(len).bits);
        assert_eq!(
            [3, 10, 11, 18, 19, 257, 258].map(length),
            [(257, 0, 0), (264, 0, 0), (265, 1, 0), (268, 1, 1), (269, 2, 0), (284, 5, 30), (285, 0, 0)]
        );
        let distance = |far| (of_distance(far).number, of_distance(far).extra, of_distance(far).bits);
        assert_eq!(
            [1, 4, 5, 6, 7, 785, 32_768].map(distance),
            [(0, 0, 0), (3, 0, 0), (4, 1, 0), (4, 1, 1), (5, 1, 0), (19, 8, 16), (29, 13, 8_191)]
        );
    }
}
