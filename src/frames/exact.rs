//! Rows of text of which every pixel is as it should be, told without taking pixels apart.
//!
//! Nearly all rows of a frame that was just made are such, and each frame is read back before it is written. A row that is
//! not, for whatever reason, is read cell by cell instead, which finds out what is wrong, or that nothing is.

use super::font::{Lens, NEWLINE, ROWS};
use super::layout::{Cell, ink};
use super::shape::Shape;

/// Widest cells, in bits: so many can be taken with eight bytes from any bit of the first one on.
const WIDEST: usize = 56;

/// Packed pixels of a cell, row by row, from the highest bit on: all bits of each pixel that is coloured.
type Packed = [u64; ROWS];

/// Looks at rows of a file that packs pixels in some way.
pub(super) struct Exact<'a> {
    lens: &'a Lens,
    /// Width and height of a cell in pixels.
    cell: (usize, usize),
    /// Bits of a pixel.
    bits: usize,
    /// The number of each ink in the palette of the file.
    numbers: [Option<usize>; ink::COLOURS.len()],
    /// What ASCII characters look like.
    known: Vec<Option<Packed>>,
}

impl<'a> Exact<'a> {
    /// For a file with so many bits a pixel, whose palette has these inks; `None` where pixels have to be taken apart.
    pub(super) fn new(shape: &Shape, lens: &'a Lens, bits: usize, palette: &[u8]) -> Option<Exact<'a>> {
        let cell = (shape.pen().cell.0 as usize, shape.pen().cell.1 as usize);
        let is_plain = shape.repeat == 1 && bits * cell.0 <= WIDEST && palette.first() == Some(&ink::WHITE);
        let numbers = std::array::from_fn(|ink| palette.iter().position(|known| usize::from(*known) == ink));
        is_plain.then(|| Exact { lens, cell, bits, numbers, known: vec![None; 128] })
    }

    /// Whether rows of `stride` bytes, and eight spare ones, have the very pixels of each cell's character in its ink, and no
    /// others. They are left as they are, or cleared.
    pub(super) fn is_row(&mut self, rows: &mut [u8], stride: usize, cells: &[Cell]) -> bool {
        let mut end = 0;
        let can_tell = |cell: &Cell| {
            // Two cells in one place might hide each other.
            let is_free = usize::from(cell.col) >= end;
            end = usize::from(cell.col) + 1;
            let ink = self.numbers.get(usize::from(cell.ink)).copied().flatten();
            is_free && cell.span == 1 && end * self.cell.0 * self.bits <= 8 * stride && ink.is_some_and(|number| number > 0)
        };
        if !cells.iter().all(can_tell) {
            return false;
        }
        self.flip(rows, stride, cells);
        let is_exact = rows.iter().fold(0, |all, byte| all | byte) == 0;
        if !is_exact {
            self.flip(rows, stride, cells);
        }
        is_exact
    }

    /// Flips all bits that cells should have set: then those that are set are wrong.
    fn flip(&mut self, rows: &mut [u8], stride: usize, cells: &[Cell]) {
        for cell in cells {
            let bit = usize::from(cell.col) * self.cell.0 * self.bits;
            let number = self.numbers.get(usize::from(cell.ink)).copied().flatten().unwrap_or(0);
            let colour = u64::MAX / ((1 << self.bits) - 1) * number as u64;
            let (looks, below) = self.looks(cell.c);
            let mut flip = |line: usize, pixels: u64| {
                if let Some(eight) = rows.get_mut(line * stride + bit / 8..).and_then(|rest| rest.first_chunk_mut()) {
                    *eight = (u64::from_be_bytes(*eight) ^ (pixels & colour) >> (bit % 8)).to_be_bytes();
                }
            };
            looks.iter().take(self.cell.1).enumerate().for_each(|(line, pixels)| flip(line, *pixels));
            (ROWS..self.cell.1).for_each(|line| flip(line, below));
        }
    }

    /// What a character looks like, and what stands below the highest glyphs: nothing, but a line end fills its cell.
    fn looks(&mut self, c: char) -> (Packed, u64) {
        if c == NEWLINE {
            let all = self.packed(u32::MAX);
            return ([all; ROWS], all);
        }
        let look = |this: &Self| this.lens.pixels(c).map(|row| this.packed(row));
        match self.known.get(c as usize) {
            Some(Some(known)) => (*known, 0),
            Some(None) => {
                let looks = look(self);
                self.known.get_mut(c as usize).into_iter().for_each(|known| *known = Some(looks));
                (looks, 0)
            }
            None => (look(self), 0),
        }
    }

    /// A row of a glyph, whose pixels are bits from the highest on.
    fn packed(&self, row: u32) -> u64 {
        let pixel = (u64::MAX << (64 - self.bits), 1 << 31);
        (0..self.cell.0).filter(|x| row & pixel.1 >> x != 0).fold(0, |all, x| all | pixel.0 >> (x * self.bits))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::frames::layout::{Sheet, finish, pages, sheet};
    use crate::frames::read::verify;
    use crate::frames::render::{Press, picture_with, pitch, rows_of};
    use crate::frames::shape::SHAPES;

    /// Shapes that are read so, on small frames.
    fn shapes() -> impl Iterator<Item = Shape> {
        let small = |shape: &Shape| Shape { edge: shape.pen().cell.0 * 37 + 3, ..*shape };
        SHAPES.iter().filter(|shape| !shape.scaled && shape.repeat == 1).map(small)
    }

    fn printed(shape: &Shape) -> Sheet {
        let text = "The quick brown fox. It jumps█over 0 and O, the lazy dog! Ünd é ─ rests. Again? Yes. So. On. To█";
        let mut made = pages(text, shape, shape.grid().rows);
        finish(&mut made, shape);
        sheet(&made[0], shape)
    }

    /// The bits of a pixel, the bytes of a row of pixels, the inks of the palette, and the rows of each row of text.
    fn packed(sheet: &Sheet, shape: &Shape) -> (usize, usize, Vec<u8>, Vec<Vec<u8>>) {
        let (rows, palette, bits) = rows_of(sheet, shape);
        let inks = palette.chunks(3).map(|colour| ink::COLOURS.iter().position(|known| known == colour).unwrap() as u8).collect();
        let stride = (shape.edge as usize * bits).div_ceil(8);
        let of_text = |rows: &[u8]| rows.chunks(stride + 1).flat_map(|row| row[1..].to_vec()).chain([0; 8]).collect();
        (bits, stride, inks, rows.chunks((stride + 1) * pitch(shape)).map(of_text).collect())
    }

    #[test]
    fn a_row_is_exact_until_any_bit_of_it_changes() {
        for shape in shapes() {
            let (sheet, lens) = (printed(&shape), Lens::of(shape.pen()));
            let (bits, stride, inks, rows) = packed(&sheet, &shape);
            let mut exact = Exact::new(&shape, &lens, bits, &inks).unwrap();
            for (cells, row) in sheet.by_row().zip(rows).filter(|(cells, _)| cells.iter().all(|cell| cell.span == 1)) {
                assert!(exact.is_row(&mut row.clone(), stride, cells), "{}", shape.name);
                for at in (0..(row.len() - 8) * 8).step_by(7) {
                    let mut spoilt = row.clone();
                    spoilt[at / 8] ^= 0x80 >> (at % 8);
                    let before = spoilt.clone();
                    assert!(!exact.is_row(&mut spoilt, stride, cells), "{}: bit {at}", shape.name);
                    assert_eq!(spoilt, before, "what is not exact is left for those who look closer");
                }
                // One character, or one ink, that is another.
                for at in 0..cells.len() {
                    let mut other = cells.to_vec();
                    other[at].c = if other[at].c == 'x' { 'y' } else { 'x' };
                    assert!(!exact.is_row(&mut row.clone(), stride, &other), "{}: cell {at}", shape.name);
                }
                if let Some(at) = cells.iter().position(|cell| cell.c.is_alphanumeric()) {
                    for ink in [ink::WHITE, ink::HUES + 5, ink::BAND, ink::DIM].into_iter().filter(|ink| *ink != cells[at].ink) {
                        let mut other = cells.to_vec();
                        other[at].ink = ink;
                        assert!(!exact.is_row(&mut row.clone(), stride, &other), "{}: ink {ink}", shape.name);
                    }
                }
            }
        }
    }

    #[test]
    fn cells_in_one_place_do_not_hide_each_other() {
        let shape = shapes().find(|shape| shape.name == "8on16-bw").unwrap();
        let lens = Lens::of(shape.pen());
        let (bits, stride, inks, rows) = packed(&sheet("ab", &shape), &shape);
        let mut exact = Exact::new(&shape, &lens, bits, &inks).unwrap();
        let mut cells = sheet("ab", &shape).cells;
        assert!(exact.is_row(&mut rows[0].clone(), stride, &cells));
        cells.extend(vec![Cell { c: 'c', ..cells[1] }; 2]);
        assert!(!exact.is_row(&mut rows[0].clone(), stride, &cells));
        assert!(!exact.is_row(&mut rows[0].clone(), stride, &[Cell { span: 2, ..cells[0] }, cells[1]]));
        // A letter in white would say nothing.
        assert!(!exact.is_row(&mut vec![0; rows[0].len()], stride, &[Cell { ink: ink::WHITE, ..cells[0] }]));
        assert!(!exact.is_row(&mut rows[0].clone(), stride, &[cells[0], cells[1], Cell { col: 4_000, ..cells[0] }]));
    }

    /// What has to be looked at pixel by pixel: repeated rows, and files in which the first number is not white.
    #[test]
    fn other_files_are_none_of_its() {
        let shape = Shape::of("8x8r-bw").unwrap();
        assert!(Exact::new(&shape, &Lens::of(shape.pen()), 2, &[ink::WHITE, ink::BLACK, ink::BAND]).is_none());
        let shape = Shape::of("8on16-bw").unwrap();
        assert!(Exact::new(&shape, &Lens::of(shape.pen()), 1, &[ink::BLACK, ink::WHITE]).is_none());
        assert!(Exact::new(&shape, &Lens::of(shape.pen()), 1, &[ink::WHITE, ink::BLACK]).is_some());
    }

    #[test]
    fn a_file_with_one_pixel_spoilt_is_found() {
        for shape in SHAPES.iter().filter(|shape| !shape.scaled).map(|shape| Shape { edge: shape.pen().cell.0 * 37 + 3, ..*shape }) {
            let (sheet, lens, mut press) = (printed(&shape), Lens::of(shape.pen()), Press::new());
            let mut made = |spoilt| verify(&picture_with(&mut press, &sheet, &shape, spoilt).unwrap().png, &sheet, &shape, &lens);
            assert_eq!(made(None), Ok(()), "{}", shape.name);
            let pixels = shape.edge as usize * sheet.rows as usize * pitch(&shape);
            for at in (0..pixels).step_by(997).chain([pixels - 1]) {
                assert!(made(Some(at)).is_err(), "{}: pixel {at}", shape.name);
            }
        }
    }
}
