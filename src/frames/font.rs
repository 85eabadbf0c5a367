//! The fonts: which characters can be drawn in a cell, and with which pixels.
//!
//! A face draws what it has in one cell; what it has not comes from GNU Unifont and takes two cells. Every glyph lies
//! inside its cells, so glyphs never touch and a frame can be read back cell by cell.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A bitmap font that sets the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Face {
    /// X.Org misc-fixed 5x8.
    X5x8,
    /// X.Org misc-fixed 6x12.
    X6x12,
    /// X.Org misc-fixed 8x13.
    X8x13,
    /// unscii-8.
    Unscii,
    /// GNU Unifont, each character in a cell as wide as an ideograph.
    Unifont,
}

/// Rows of a glyph; bit 31 is the leftmost pixel of its cells.
pub type Rows = [u32; ROWS];

/// Rows of the highest glyph.
pub const ROWS: usize = 16;

/// Lowest cell in which a glyph of Unifont can still be told from others.
const LOWEST_WIDE: u32 = 12;

impl Face {
    /// All faces.
    pub const ALL: [Face; 5] = [Face::X5x8, Face::X6x12, Face::X8x13, Face::Unscii, Face::Unifont];

    /// The name in archives.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Face::X5x8 => "5x8",
            Face::X6x12 => "6x12",
            Face::X8x13 => "8x13",
            Face::Unscii => "8x8",
            Face::Unifont => "unifont",
        }
    }

    /// The face of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Face> {
        Face::ALL.into_iter().find(|face| face.name() == name)
    }

    /// Width and height of its glyphs in pixels.
    #[must_use]
    pub fn size(self) -> (u32, u32) {
        match self {
            Face::X5x8 => (5, 8),
            Face::X6x12 => (6, 12),
            Face::X8x13 => (8, 13),
            Face::Unscii => (8, 8),
            Face::Unifont => (16, 16),
        }
    }

    fn glyphs(self) -> &'static Glyphs {
        static LOADED: [OnceLock<Glyphs>; 4] = [const { OnceLock::new() }; 4];
        let (at, packed): (usize, &[u8]) = match self {
            Face::X5x8 => (0, include_bytes!("../../assets/fonts/5x8.glyphs.zst")),
            Face::X6x12 => (1, include_bytes!("../../assets/fonts/6x12.glyphs.zst")),
            Face::X8x13 => (2, include_bytes!("../../assets/fonts/8x13.glyphs.zst")),
            Face::Unifont => return unifont(),
            Face::Unscii => (3, include_bytes!("../../assets/fonts/8x8.glyphs.zst")),
        };
        LOADED.get(at).unwrap_or(&LOADED[0]).get_or_init(|| Glyphs::load(packed))
    }

    /// The rows that make a zero unlike the letter O, from the first that differs. The other faces have such a zero already.
    fn slashed_zero(self) -> (usize, &'static [u8]) {
        match self {
            Face::X5x8 => (3, &[0b0111_0000]),
            Face::X6x12 => (6, &[0b0111_1000]),
            Face::X8x13 => (5, &[0b0100_1010, 0b0101_0010, 0b0110_0010]),
            Face::Unscii | Face::Unifont => (0, &[]),
        }
    }
}

fn unifont() -> &'static Glyphs {
    static LOADED: OnceLock<Glyphs> = OnceLock::new();
    LOADED.get_or_init(|| Glyphs::load(include_bytes!("../../assets/fonts/unifont.glyphs.zst")))
}

/// The glyphs of one file.
#[derive(Debug, Default)]
struct Glyphs {
    /// Per code point of the BMP the number of its glyph plus one; 0 means none.
    numbers: Vec<u16>,
    /// Width of each glyph and its rows, bit 15 the leftmost pixel.
    glyphs: Vec<(u8, [u16; ROWS])>,
}

impl Glyphs {
    /// Decodes a glyph file; what is not one holds no glyph, which the tests would see.
    fn load(packed: &[u8]) -> Glyphs {
        let mut all = Glyphs { numbers: vec![0; 1 << 16], glyphs: Vec::new() };
        let bytes = zstd::decode_all(packed).unwrap_or_default();
        let mut rest = bytes.as_slice();
        while let Some(([width, height, count @ ..], after)) = rest.split_first_chunk::<6>() {
            let count = u32::from_le_bytes(*count) as usize;
            let (stride, high) = (usize::from(*width).div_ceil(8), usize::from(*height));
            let Some((codes, after)) = after.split_at_checked(2 * count) else { break };
            let Some((bitmaps, after)) = after.split_at_checked(count * stride * high) else { break };
            for (code, bitmap) in codes.as_chunks().0.iter().zip(bitmaps.chunks(stride * high)) {
                let mut rows = [0_u16; ROWS];
                for (row, bytes) in rows.iter_mut().zip(bitmap.chunks(stride)) {
                    *row = bytes.iter().rev().fold(0, |row, byte| row >> 8 | u16::from(*byte) << 8);
                }
                let ink: u32 = rows.iter().map(|row| row.count_ones()).sum();
                if ink == u32::from(*width) * u32::from(*height) && *code != (NEWLINE as u16).to_le_bytes() {
                    // A black box is a line end and nothing else.
                    continue;
                }
                all.glyphs.push((*width, rows));
                if let Some(number) = all.numbers.get_mut(usize::from(u16::from_le_bytes(*code))) {
                    *number = u16::try_from(all.glyphs.len()).unwrap_or(0);
                }
            }
            rest = after;
        }
        all
    }

    fn has(&self, c: char) -> bool {
        self.numbers.get(c as usize).is_some_and(|number| *number > 0)
    }

    /// Width and rows of a glyph.
    fn get(&self, c: char) -> Option<(u32, Rows)> {
        let number = *self.numbers.get(c as usize)?;
        let (width, rows) = self.glyphs.get(usize::from(number).checked_sub(1)?)?;
        Some((u32::from(*width), rows.map(|row| u32::from(row) << 16)))
    }

    fn chars(&self) -> impl Iterator<Item = char> + '_ {
        self.numbers.iter().enumerate().filter(|(_, n)| **n > 0).filter_map(|(code, _)| char::from_u32(code as u32))
    }
}

/// A face in cells of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pen {
    /// The face.
    pub face: Face,
    /// Width and height of a cell in pixels, before any scaling.
    pub cell: (u32, u32),
    /// Whether the zero has a slash.
    pub slashed_zero: bool,
}

/// The cell that stands for a line end: all black, so no glyph may look like it.
pub const NEWLINE: char = '\u{2588}';

impl Pen {
    /// Cells that a character takes: 0 when no font can draw it.
    #[must_use]
    pub fn cells(&self, c: char) -> u32 {
        if c == NEWLINE || self.face.glyphs().has(c) {
            1
        } else if self.draws_wide() && unifont().has(c) {
            2
        } else {
            0
        }
    }

    /// Whether cells are high enough for glyphs of Unifont.
    #[must_use]
    pub fn draws_wide(&self) -> bool {
        self.face != Face::Unifont && self.cell.1 >= LOWEST_WIDE
    }

    /// The pixels of a character of the face itself, in one cell.
    #[must_use]
    pub fn narrow(&self, c: char) -> Option<Rows> {
        let (_, mut rows) = self.face.glyphs().get(c)?;
        if c == '0' && self.slashed_zero {
            let (from, slashed) = self.face.slashed_zero();
            for (row, bits) in rows.iter_mut().skip(from).zip(slashed) {
                *row = u32::from(*bits) << 24;
            }
        }
        Some(rows)
    }

    /// The pixels of a character of Unifont, in two cells: at their top, centred, and where the cells are too small, with
    /// the rows and columns merged that are most alike.
    #[must_use]
    pub fn wide(&self, c: char) -> Option<Rows> {
        if !self.draws_wide() {
            return None;
        }
        let (mut width, mut rows) = unifont().get(c)?;
        let (room, high) = (self.cell.0 * 2, self.cell.1.min(ROWS as u32));
        merge_rows(&mut rows, ROWS, high as usize);
        if width > room {
            let mut columns = transposed(&rows);
            merge_rows(&mut columns, width as usize, room as usize);
            rows = transposed(&columns);
            width = room;
        }
        let left = (room - width) / 2;
        Some(rows.map(|row| row >> left))
    }

    /// The characters of the face.
    pub fn own_chars(&self) -> impl Iterator<Item = char> + use<> {
        self.face.glyphs().chars()
    }
}

/// Merges neighbouring rows, each time the two that differ least, until `want` of the first `have` are left.
fn merge_rows(rows: &mut Rows, have: usize, want: usize) {
    for left in (want + 1..=have.min(ROWS)).rev() {
        let differ = |at: usize| match (rows.get(at), rows.get(at + 1)) {
            (Some(a), Some(b)) => (a ^ b).count_ones(),
            _ => u32::MAX,
        };
        let at = (0..left - 1).min_by_key(|at| differ(*at)).unwrap_or(0);
        if let Some([a, b]) = rows.get_mut(at..at + 2).and_then(|two| <&mut [u32; 2]>::try_from(two).ok()) {
            *a |= *b;
        }
        for n in at + 1..ROWS {
            let next = rows.get(n + 1).copied().unwrap_or(0);
            if let Some(row) = rows.get_mut(n) {
                *row = next;
            }
        }
    }
}

/// Columns as rows: bit 31 of row n is the pixel of column n in row 0.
fn transposed(rows: &Rows) -> Rows {
    let mut columns = [0; ROWS];
    for (n, column) in columns.iter_mut().enumerate() {
        *column = rows.iter().enumerate().fold(0, |bits, (at, row)| bits | ((row << n) & 1 << 31) >> at);
    }
    columns
}

/// Pixels are looked up millions of times, and nobody chooses them to collide: a hash that multiplies is enough.
#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

fn mixed(rows: &Rows) -> u64 {
    BuildHasherDefault::<Mix>::default().hash_one(rows)
}

type Table<K> = HashMap<K, char, BuildHasherDefault<Mix>>;

/// What pixels say: the other direction of a [`Pen`].
///
/// Many characters share their pixels (Latin A, Greek Alpha, Cyrillic A). A lens knows only the smallest of each such class,
/// so that what it reads is exact up to look-alikes.
#[derive(Debug)]
pub struct Lens {
    pen: Pen,
    narrow: Table<Rows>,
    /// By a hash of the pixels, which are compared again: the pixels of all would take many times the room.
    wide: OnceLock<Table<u64>>,
}

impl Lens {
    /// The lens for a pen, made once: the table of ideographs takes a while.
    #[must_use]
    pub fn of(pen: Pen) -> Arc<Lens> {
        static MADE: Mutex<Vec<(Pen, Arc<Lens>)>> = Mutex::new(Vec::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, lens)) = made.iter().find(|(other, _)| *other == pen) {
            return Arc::clone(lens);
        }
        let lens = Arc::new(Lens::new(pen));
        made.push((pen, Arc::clone(&lens)));
        lens
    }

    /// A lens for glyphs that a pen drew. It reads zeros of both kinds.
    fn new(pen: Pen) -> Lens {
        let mut narrow = Table::default();
        for c in pen.own_chars().filter(|c| *c != NEWLINE) {
            narrow.entry(pen.narrow(c).unwrap_or_default()).or_insert(c);
        }
        let other = Pen { slashed_zero: !pen.slashed_zero, ..pen };
        narrow.entry(other.narrow('0').unwrap_or_default()).or_insert('0');
        Lens { pen, narrow, wide: OnceLock::new() }
    }

    /// The smallest character that looks like the pixels of one cell.
    #[must_use]
    pub fn narrow(&self, rows: &Rows) -> Option<char> {
        self.narrow.get(rows).copied()
    }

    /// The smallest character that looks like the pixels of two cells.
    #[must_use]
    pub fn wide(&self, rows: &Rows) -> Option<char> {
        let drawn = || {
            let mut all = Table::default();
            for c in unifont().chars().filter(|c| self.pen.cells(*c) == 2) {
                all.entry(mixed(&self.pen.wide(c).unwrap_or_default())).or_insert(c);
            }
            all
        };
        if *rows == [0; ROWS] {
            return Some(' ');
        }
        let c = self.wide.get_or_init(drawn).get(&mixed(rows)).copied()?;
        (self.pen.wide(c).as_ref() == Some(rows)).then_some(c)
    }

    /// The pixels of a character of the face itself; none when it has no glyph there.
    #[must_use]
    pub fn pixels(&self, c: char) -> Rows {
        self.pen.narrow(c).unwrap_or_default()
    }

    /// The smallest character that looks like `c`: all that a reader can know of it.
    #[must_use]
    pub fn look(&self, c: char) -> char {
        match self.pen.cells(c) {
            _ if c == NEWLINE => NEWLINE,
            1 => self.pen.narrow(c).and_then(|rows| self.narrow(&rows)).unwrap_or(c),
            2 => self.pen.wide(c).and_then(|rows| self.wide(&rows)).unwrap_or(c),
            _ => c,
        }
    }
}
