//! Pixels packed as a zlib stream, where most of the time of printing would go otherwise.
//!
//! With few colours a general encoder serves. With six hues a cell is four bytes wide, and a general encoder, which looks for
//! repeats from every byte on, takes twice as long as [`Packer`] does, for 2 % less. Printed text repeats from cell to cell:
//! the same letters stand elsewhere in the row of pixels, in the row above it and in the last rows of text. So repeats are
//! looked for where cells begin, and then extended to both sides.

use super::codes::{Bits, block};

/// Bytes of a cell that is eight pixels wide, with four bits a pixel.
pub(super) const CELL: usize = 4;
/// Longest match, and how far back one may lie: what DEFLATE can say. Places are kept for each cell of the window.
const MOST: usize = 258;
const WINDOW: usize = 32_768;
const PLACES: usize = WINDOW / CELL;
/// Farther than this nothing is looked for: a match begins up to three bytes before its cell.
const FARTHEST: usize = WINDOW - CELL;
/// Places that are tried, newest first: half as many again take 0.4 % less room and 3 % more time.
const TRIES: usize = 8;
/// A match that is as long as this ends the search; without an end it takes 4 % more time for 0.3 % less room.
const GOOD: usize = 128;
/// A match of three cells or less may be beaten by the last place of two cells, or of one.
const SHORT: usize = 16;
/// Tokens of a block. Each has codes of its own: more of them follow the text, and take room themselves.
const BLOCK: usize = 6_000;

const BITS_OF_THREE: u32 = 13;
const BITS_OF_TWO: u32 = 13;
const BITS_OF_ONE: u32 = 11;

/// Where cells were seen, as the lowest 16 bits of their place. One that is older than that leads to a wrong guess, which
/// costs a comparison.
struct Seen {
    /// By the hash of three cells the last place, and by place the one before it with the same hash.
    three: [u16; 1 << BITS_OF_THREE],
    before: [u16; PLACES],
    /// By the hashes of two cells and of one the last place.
    two: [u16; 1 << BITS_OF_TWO],
    one: [u16; 1 << BITS_OF_ONE],
}

const NOTHING_SEEN: Seen =
    Seen { three: [0; 1 << BITS_OF_THREE], before: [0; PLACES], two: [0; 1 << BITS_OF_TWO], one: [0; 1 << BITS_OF_ONE] };

/// Packs rows of cells; keeps what it needs for the next picture.
pub(super) struct Packer {
    seen: Box<Seen>,
    /// How far back the match lay that stands for each cell, in the last row of pixels: the letters go on below.
    above: Vec<u16>,
    /// Literals, and matches as their length and distance.
    tokens: Vec<u32>,
}

/// A match for the bytes from a cell on, and up to three before it.
#[derive(Clone, Copy, Default)]
struct Match {
    len: usize,
    back: usize,
    distance: usize,
    score: usize,
}

impl Packer {
    pub(super) fn new() -> Packer {
        Packer { seen: Box::new(NOTHING_SEEN), above: Vec::new(), tokens: Vec::new() }
    }

    /// Packs rows of `stride` bytes: a first one, and then cells.
    pub(super) fn zlib(&mut self, rows: &[u8], stride: usize) -> Vec<u8> {
        *self.seen = NOTHING_SEEN;
        self.above.clear();
        self.above.resize(stride.div_ceil(CELL), 0);
        // Text takes a tenth of its pixels.
        let mut bits = Bits::new(rows.len() / 8);
        self.rows(rows, stride.max(1), &mut bits);
        let mut out = bits.end();
        out.extend(zlib_rs::adler32::adler32(1, rows).to_be_bytes());
        out
    }

    fn rows(&mut self, rows: &[u8], stride: usize, bits: &mut Bits) {
        // What tokens stand for, the row of pixels that it ends in, and the next cell to be remembered.
        let (mut done, mut row) = (0, 0);
        let (mut known, mut row_of_known) = (1, 0);
        loop {
            while done >= row + stride {
                row += stride;
            }
            let column = (done - row + CELL - 2) / CELL * CELL + 1;
            let place = row + if column < stride { column } else { stride + 1 };
            while known < place {
                self.seen.add(rows, known);
                known += CELL;
                if known >= row_of_known + stride {
                    row_of_known += stride;
                    known = row_of_known + 1;
                }
            }
            let Some(cells) = three_cells(rows, place) else { break };
            let cell = if column < stride { column / CELL } else { 0 };
            let near = [CELL, stride, self.above.get(cell).copied().unwrap_or(0).into()];
            let found = self.find(&Wanted { rows, place, open: place - done, cells }, near);
            let (start, end) = if found.len > 0 { (place - found.back, place + found.len) } else { (place + CELL, place + CELL) };
            self.tokens.extend(rows.get(done..start).unwrap_or_default().iter().map(|byte| u32::from(*byte)));
            if found.len > 0 {
                self.tokens.push(((found.len + found.back) << 16 | found.distance) as u32);
                let to = (cell + found.len.div_ceil(CELL)).min(self.above.len());
                if let Some(above) = self.above.get_mut(cell..to) {
                    above.fill(found.distance as u16);
                }
            }
            done = end;
            if self.tokens.len() >= BLOCK {
                block(&self.tokens, bits, false);
                self.tokens.clear();
            }
        }
        self.tokens.extend(rows.get(done..).unwrap_or_default().iter().map(|byte| u32::from(*byte)));
        block(&self.tokens, bits, true);
        self.tokens.clear();
    }

    /// The best match for a cell, of those so `near`, and of those seen.
    #[inline(never)]
    fn find(&self, wanted: &Wanted, near: [usize; 3]) -> Match {
        let seen = &self.seen;
        let mut best = Match::default();
        for distance in near {
            if distance > 0 && wanted.reaches(distance) && wanted.offer(&mut best, distance) {
                return best;
            }
        }
        let mut last = seen.three.get(wanted.cells.three()).copied().unwrap_or(0);
        let mut nearest = 0;
        for _ in 0..TRIES {
            let distance = wanted.distance(last);
            // What is no farther than the one before is not of this chain any more.
            if distance <= nearest || !wanted.reaches(distance) || wanted.offer(&mut best, distance) {
                break;
            }
            nearest = distance;
            last = seen.before.get((wanted.place - distance) / CELL % PLACES).copied().unwrap_or(0);
        }
        if best.len < SHORT {
            for last in [seen.two.get(wanted.cells.two()), seen.one.get(wanted.cells.one())] {
                let distance = wanted.distance(last.copied().unwrap_or(0));
                if distance > 0 && wanted.reaches(distance) {
                    wanted.offer(&mut best, distance);
                }
            }
        }
        best
    }
}

impl Seen {
    #[inline(always)]
    fn add(&mut self, rows: &[u8], place: usize) {
        let Some(cells) = three_cells(rows, place) else { return };
        let now = place as u16;
        if let Some(one) = self.one.get_mut(cells.one()) {
            *one = now;
        }
        if let Some(two) = self.two.get_mut(cells.two()) {
            *two = now;
        }
        if let (Some(last), Some(before)) = (self.three.get_mut(cells.three()), self.before.get_mut(place / CELL % PLACES)) {
            *before = *last;
            *last = now;
        }
    }
}

/// Three cells: two, and the next one.
#[derive(Clone, Copy)]
struct Cells(u64, u32);

#[inline(always)]
fn three_cells(rows: &[u8], place: usize) -> Option<Cells> {
    let bytes: &[u8; 3 * CELL] = rows.get(place..)?.first_chunk()?;
    Some(Cells(u64::from_le_bytes(*bytes.first_chunk()?), u32::from_le_bytes(*bytes.last_chunk()?)))
}

/// Nobody chooses cells to collide: hashes that multiply are enough.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Cells {
    fn one(self) -> usize {
        (self.0 as u32).wrapping_mul(FACTOR as u32) as usize >> (32 - BITS_OF_ONE)
    }
    fn two(self) -> usize {
        (self.0.wrapping_mul(FACTOR) >> (64 - BITS_OF_TWO)) as usize
    }
    fn three(self) -> usize {
        ((self.0.wrapping_mul(FACTOR) ^ u64::from(self.1)).rotate_left(29).wrapping_mul(FACTOR) >> (64 - BITS_OF_THREE)) as usize
    }
}

/// A cell that a match is looked for.
struct Wanted<'a> {
    rows: &'a [u8],
    place: usize,
    /// Bytes before it that no token stands for.
    open: usize,
    cells: Cells,
}

impl Wanted<'_> {
    /// How far back a place is of which the lowest 16 bits are known.
    fn distance(&self, place: u16) -> usize {
        usize::from((self.place as u16).wrapping_sub(place))
    }

    /// Whether a cell so far back, and what stands before it, can be part of a match.
    fn reaches(&self, distance: usize) -> bool {
        distance <= FARTHEST && distance + CELL <= self.place
    }

    /// Takes a match when it is better; tells whether it is so good that nothing else needs to be tried.
    #[inline(always)]
    fn offer(&self, best: &mut Match, distance: usize) -> bool {
        let (rows, place) = (self.rows, self.place);
        let other = place - distance;
        // Only a longer one can be better than one that leaves no byte open, so its end is looked at first.
        if best.len >= 4 && best.back == self.open {
            let end = |at: usize| rows.get(at + best.len - 3..at + best.len + 1);
            if end(other) != end(place) {
                return false;
            }
        }
        let len = common(rows, other, place);
        if len < 3 {
            return false;
        }
        let four = |at: usize| rows.get(at - CELL..at).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes);
        let back = if self.open == 0 { 0 } else { self.open.min((four(place) ^ four(other)).leading_zeros() as usize / 8) };
        let len = len.min(MOST - back);
        // In bits, as they are on average: 2 for each byte that need not be said later, 5 for a literal, and a distance as many
        // as it has.
        let score = 64 + 2 * len + 5 * back - (usize::BITS - distance.leading_zeros()) as usize;
        if score > best.score {
            *best = Match { len, back, distance, score };
        }
        len >= GOOD && back == self.open
    }
}

/// How many bytes are the same from two places on, [`MOST`] at most.
#[inline(always)]
fn common(rows: &[u8], earlier: usize, later: usize) -> usize {
    let (Some(a), Some(b)) = (rows.get(earlier..), rows.get(later..)) else { return 0 };
    let mut len = 0;
    for (a, b) in a.as_chunks().0.iter().zip(b.as_chunks().0) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return MOST.min(len + differ.trailing_zeros() as usize / 8);
        }
        len += 8;
        if len >= MOST {
            break;
        }
    }
    len.min(MOST)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::frames::layout::{finish, pages, sheet};
    use crate::frames::normalize::normalize;
    use crate::frames::render::{general, rows_of};
    use crate::frames::shape::Shape;
    use proptest::prelude::*;

    fn unpacked(packed: &[u8], size: usize) -> Vec<u8> {
        let mut out = vec![0; size + 1];
        let (read, result) = zlib_rs::decompress_slice(&mut out, packed, zlib_rs::InflateConfig::default());
        assert_eq!(result, zlib_rs::ReturnCode::Ok);
        read.to_vec()
    }

    /// Rows of text in a font of few glyphs and inks, as a picture has them.
    fn pictures() -> impl Strategy<Value = (Vec<u8>, usize)> {
        let glyphs = prop::collection::vec(prop::array::uniform4(any::<u8>()), 1..12);
        let text = prop::collection::vec((0..12_usize, 1..4_u8), 1..400);
        (glyphs, text, 1..50_usize).prop_map(|(glyphs, text, across)| {
            let mut rows = Vec::new();
            for line in text.chunks(across) {
                for down in 0..6 {
                    rows.push(0);
                    let cell =
                        |at: usize| line.get(at).map_or([0; CELL], |(c, ink)| glyphs[(c + down) % glyphs.len()].map(|b| (b & 0x11) * ink));
                    (0..across).for_each(|at| rows.extend(cell(at)));
                }
            }
            (rows, 1 + across * CELL)
        })
    }

    proptest! {
        #[test]
        fn pictures_come_back(all in prop::collection::vec(pictures(), 1..4)) {
            let mut used = Packer::new();
            for (rows, stride) in all {
                let packed = used.zlib(&rows, stride);
                prop_assert_eq!(unpacked(&packed, rows.len()), rows.clone());
                // What was packed before leaves no trace, so that it does not matter which thread packs which page.
                prop_assert_eq!(&packed, &Packer::new().zlib(&rows, stride));
                prop_assert!(packed.len() < rows.len() + 64);
            }
        }

        #[test]
        fn any_bytes_come_back(rows in prop::collection::vec(any::<u8>(), 0..9_000), stride in 0..300_usize, few in 1..=255_u8) {
            for rows in [rows.clone(), rows.iter().map(|byte| byte % few).collect()] {
                let packed = Packer::new().zlib(&rows, stride);
                prop_assert_eq!(unpacked(&packed, rows.len()), rows);
            }
        }

        #[test]
        fn repeats_at_the_edge_of_the_window_come_back(cells in 8_180..8_200_usize, seed in any::<u64>()) {
            let mut state = seed | 1;
            let mut byte = || { state = state.wrapping_mul(FACTOR).rotate_left(17) + 1; state as u8 };
            let block: Vec<u8> = (0..cells * CELL).map(|_| byte()).collect();
            let rows: Vec<u8> = [0].iter().chain(&block).chain(&block).chain(&block).copied().collect();
            let packed = Packer::new().zlib(&rows, rows.len());
            prop_assert_eq!(unpacked(&packed, rows.len()), rows);
            let is_near = cells * CELL <= FARTHEST;
            prop_assert_eq!(packed.len() < block.len() * 11 / 10, is_near, "{}", packed.len());
        }
    }

    #[test]
    fn a_page_takes_hardly_more_room_than_by_a_general_encoder() {
        let shape = Shape::of("doc-8on16-sent-dim").unwrap();
        let text = normalize(concat!(include_str!("pack.rs"), include_str!("font.rs"), include_str!("render.rs")), &shape.pen()).text;
        let mut pages = pages(&text, &shape, shape.grid().rows);
        finish(&mut pages, &shape);
        let (rows, ..) = rows_of(&sheet(&pages[0], &shape), &shape);
        let (ours, general) = (Packer::new().zlib(&rows, 785).len(), general(&rows, 6).unwrap().len());
        assert!(ours * 100 < general * 103, "{ours} {general}");
    }

    #[test]
    fn long_runs_are_few_tokens() {
        let rows = vec![0; 785 * 1_568];
        let packed = Packer::new().zlib(&rows, 785);
        assert_eq!(unpacked(&packed, rows.len()), rows);
        assert!(packed.len() < rows.len() / 500, "{}", packed.len());
    }
}
