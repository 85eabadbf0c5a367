//! The way back: what the pixels of a frame say.
//!
//! A frame is only written when its cells, matched one by one against the font, say what was to be printed. The same
//! reading shows the frames of any session as text. It is exact up to characters that share their pixels.

use std::io;

use super::exact::Exact;
use super::font::{Lens, NEWLINE, ROWS, Rows};
use super::layout::{Cell, Sheet, ink};
use super::render::{self, ONES, Raster, Rgb};
use super::shape::{GUTTER, Shape};

/// Why a picture cannot be read, or does not say what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is no PNG, or none of the kind that frames are.
    #[error("the picture cannot be decoded: {0}")]
    Decode(String),
    /// It has colours that no frame has.
    #[error("the picture is in full colour, as scaled frames are, and has no cells to read")]
    FullColour,
    /// It has another size than its shape makes.
    #[error("the picture has {0} x {1} pixels, which no frame of its shape has")]
    Size(usize, usize),
    /// A cell does not say what it should.
    #[error("row {row}, column {col} of a frame reads {read:?} where {printed:?} was printed")]
    Differs {
        /// The row, from 1.
        row: usize,
        /// The column of cells, from 1.
        col: usize,
        /// What was printed.
        printed: char,
        /// What is read; U+FFFD for what is no character.
        read: char,
    },
    /// Pixels are coloured where nothing was printed.
    #[error("a frame has pixels that belong to no character: {0}")]
    Stray(String),
}

/// What a picture is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pixels {
    /// Only colours of frames.
    Raster(Raster),
    /// Any colours.
    Full(Rgb),
}

/// Most pixels that are decoded: more than any frame has.
const MOST_PIXELS: usize = 64 << 20;

/// What stands for pixels that are no character.
const UNKNOWN: char = char::REPLACEMENT_CHARACTER;

/// A PNG whose head was read.
struct Opened<'a> {
    reader: png::Reader<io::Cursor<&'a [u8]>>,
    width: usize,
    height: usize,
    /// How its pixels are packed; `None` for full colour.
    packing: Option<Packing>,
}

/// What each byte of packed pixels stands for.
struct Packing {
    /// Pixels of a byte.
    each: usize,
    /// The inks of the palette, by their numbers.
    inks: Vec<u8>,
    table: Vec<[u8; 8]>,
}

fn wrong(error: png::DecodingError) -> ReadError {
    ReadError::Decode(error.to_string())
}

fn open(file: &[u8]) -> Result<Opened<'_>, ReadError> {
    let mut decoder = png::Decoder::new(io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::IDENTITY);
    let reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    let (width, height, depth, colour) = (info.width as usize, info.height as usize, info.bit_depth as usize, info.color_type);
    if width.saturating_mul(height) > MOST_PIXELS {
        return Err(ReadError::Size(width, height));
    }
    let packing = match (colour, &info.palette) {
        (png::ColorType::Indexed, Some(palette)) => {
            let colours = palette.as_chunks().0.iter().map(|colour| ink::COLOURS.iter().position(|known| known == colour));
            let numbers: Option<Vec<u8>> = colours.map(|number| number.map(|n| n as u8)).collect();
            Some(Packing::new(depth, numbers.ok_or(ReadError::FullColour)?)?)
        }
        (png::ColorType::Rgb, _) if depth == 8 => None,
        _ => return Err(ReadError::Decode(format!("colour type {colour:?} with {depth} bits is not what frames are"))),
    };
    Ok(Opened { reader, width, height, packing })
}

impl Packing {
    fn new(depth: usize, inks: Vec<u8>) -> Result<Packing, ReadError> {
        if !matches!(depth, 1 | 2 | 4 | 8) {
            return Err(ReadError::Decode(format!("{depth} bits a pixel")));
        }
        // Pixels of a colour that is not in the palette are strays.
        let each = 8 / depth;
        let mask = (1_usize << depth) - 1;
        let number = |at: usize| inks.get(at).copied().unwrap_or(u8::MAX >> 1);
        let pixels = |byte: usize| {
            let mut pixels = [0; 8];
            pixels.iter_mut().take(each).enumerate().for_each(|(n, pixel)| *pixel = number(byte >> (8 - depth * (n + 1)) & mask));
            pixels
        };
        let table = (0..256).map(pixels).collect();
        Ok(Packing { each, inks, table })
    }

    fn unpack(&self, packed: &[u8], line: &mut [u8]) {
        match self.each {
            8 => self.unpack_by::<8>(packed, line),
            4 => self.unpack_by::<4>(packed, line),
            2 => self.unpack_by::<2>(packed, line),
            _ => self.unpack_by::<1>(packed, line),
        }
    }

    /// With the number of pixels known to the compiler, which makes no call of each small copy.
    fn unpack_by<const EACH: usize>(&self, packed: &[u8], line: &mut [u8]) {
        let known = |byte: u8| self.table.get(usize::from(byte)).and_then(|known| known.first_chunk::<EACH>());
        let (whole, rest) = line.as_chunks_mut::<EACH>();
        for (pixels, byte) in whole.iter_mut().zip(packed) {
            if let Some(known) = known(*byte) {
                *pixels = *known;
            }
        }
        if let Some(known) = packed.get(whole.len()).and_then(|byte| known(*byte)) {
            rest.iter_mut().zip(known).for_each(|(pixel, from)| *pixel = *from);
        }
    }
}

impl Opened<'_> {
    /// The next `rows` rows of packed pixels, and eight bytes more.
    fn rows(&mut self, packed: &mut Vec<u8>, rows: usize) -> Result<(), ReadError> {
        packed.clear();
        for _ in 0..rows {
            let row = self.reader.next_row().map_err(wrong)?.ok_or(ReadError::Size(self.width, self.height))?;
            packed.extend_from_slice(row.data());
        }
        packed.extend([0; 8]);
        Ok(())
    }

    /// Reads to the end, so that what is wrong with the file shows.
    fn end(mut self) -> Result<(), ReadError> {
        self.reader.finish().map_err(wrong)
    }
}

/// Decodes a PNG.
///
/// # Errors
/// When it is no PNG, of a kind that frames are not, or larger than any frame.
pub fn decode(file: &[u8]) -> Result<Pixels, ReadError> {
    let mut opened = open(file)?;
    let (width, height) = (opened.width, opened.height);
    let Some(packing) = opened.packing.take() else {
        let mut bytes = vec![0; opened.reader.output_buffer_size().ok_or(ReadError::Size(width, height))?];
        opened.reader.next_frame(&mut bytes).map_err(wrong)?;
        return Ok(Pixels::Full(Rgb { width, height, bytes }));
    };
    let (mut raster, mut packed) = (Raster::white(width, height), Vec::new());
    for line in raster.pixels.chunks_exact_mut(width.max(1)).take(height) {
        opened.rows(&mut packed, 1)?;
        packing.unpack(&packed, line);
    }
    opened.end()?;
    Ok(Pixels::Raster(raster))
}

/// The pixels of some cells.
struct Seen {
    rows: Rows,
    /// Their colour; [`ink::WHITE`] when there are none.
    ink: u8,
    /// How many pixels are coloured.
    count: usize,
    /// Whether all of them are.
    full: bool,
}

/// Looks at a box of `width` times `height` pixels; `None` when it has several colours, or pixels below the rows of a glyph.
fn look(raster: &Raster, (x, y): (usize, usize), (width, height): (usize, usize)) -> Option<Seen> {
    let mut seen = Seen { rows: [0; ROWS], ink: ink::WHITE, count: 0, full: true };
    let mut below = false;
    for down in 0..height {
        let mut row = 0_u32;
        for part in (0..width).step_by(8) {
            let mut eight = raster.eight(x + part, y + down);
            if width - part < 8 {
                eight &= (1 << (8 * (width - part))) - 1;
            }
            if eight == 0 {
                continue;
            }
            let set = ((eight + 0x7f * ONES) >> 7) & ONES;
            if seen.ink == ink::WHITE {
                seen.ink = (eight >> (eight.trailing_zeros() & !7)) as u8;
            }
            if eight != set * u64::from(seen.ink) {
                return None;
            }
            // Gathers the lowest bits of the eight bytes, the first byte's as the highest.
            row |= (((set.wrapping_mul(0x8040_2010_0804_0201) >> 56) as u32) << 24) >> part;
        }
        seen.count += row.count_ones() as usize;
        seen.full &= row.count_ones() as usize == width;
        match seen.rows.get_mut(down) {
            Some(to) => *to = row,
            None => below |= row != 0,
        }
    }
    if below && !seen.full {
        return None;
    }
    Some(seen)
}

impl Seen {
    fn is_newline(&self) -> bool {
        self.full && self.ink == ink::BLACK
    }
}

/// Where the cells of a frame are, in pixels of its raster.
struct Places {
    cell: (usize, usize),
    pitch: usize,
}

impl Places {
    fn of(shape: &Shape) -> Places {
        let (width, height) = shape.pen().cell;
        Places { cell: (width as usize, height as usize), pitch: render::pitch(shape) }
    }

    /// The cells of a row whose pixels begin at `top`.
    fn look(&self, raster: &Raster, top: usize, col: usize, span: usize) -> Option<Seen> {
        look(raster, (col * self.cell.0, top), (span * self.cell.0, self.cell.1))
    }
}

/// Reads every cell that a sheet has on a raster and compares, then looks for pixels that belong to none.
///
/// # Errors
/// [`ReadError`] for the first difference.
pub fn compare(raster: &Raster, sheet: &Sheet, shape: &Shape, lens: &Lens) -> Result<(), ReadError> {
    let mut comparison = Comparison::new(shape, lens);
    let pitch = comparison.places.pitch;
    if raster.height != sheet.rows as usize * pitch {
        return Err(ReadError::Size(raster.width, raster.height));
    }
    sheet.by_row().enumerate().try_for_each(|(row, cells)| comparison.row(raster, row * pitch, row, cells))
}

/// A comparison of what was drawn with what was to be printed.
struct Comparison<'a> {
    lens: &'a Lens,
    places: Places,
    repeat: u32,
    /// Of ASCII characters what they look like, and their pixels.
    known: [Option<(char, Rows)>; 128],
}

impl<'a> Comparison<'a> {
    fn new(shape: &Shape, lens: &'a Lens) -> Self {
        Comparison { lens, places: Places::of(shape), repeat: shape.repeat, known: [None; 128] }
    }

    /// Reads the cells of a row, whose pixels begin at `top`, and looks for pixels that belong to none.
    fn row(&mut self, raster: &Raster, top: usize, row: usize, cells: &[Cell]) -> Result<(), ReadError> {
        let (lens, places) = (self.lens, &self.places);
        let mut coloured = 0;
        for cell in cells {
            let seen = places.look(raster, top, usize::from(cell.col), usize::from(cell.span));
            let (printed, pixels) = match self.known.get_mut(cell.c as usize) {
                Some(known) => *known.get_or_insert_with(|| (lens.look(cell.c), lens.pixels(cell.c))),
                None => (lens.look(cell.c), lens.pixels(cell.c)),
            };
            let read = seen.as_ref().and_then(|seen| match (seen.is_newline(), cell.span) {
                (true, _) => Some(NEWLINE),
                // What has the very pixels of a character looks like it.
                (false, 1) if seen.rows == pixels => Some(printed),
                (false, 1) => lens.narrow(&seen.rows),
                (false, _) => lens.wide(&seen.rows),
            });
            let same_ink = seen.as_ref().is_some_and(|seen| seen.ink == cell.ink || seen.count == 0);
            if read != Some(printed) || !same_ink {
                return Err(ReadError::Differs {
                    row: row + 1,
                    col: usize::from(cell.col) + 1,
                    printed: cell.c,
                    read: read.unwrap_or(UNKNOWN),
                });
            }
            coloured += seen.map_or(0, |seen| seen.count);
        }
        let width = raster.width.max(1);
        let mut lines = raster.pixels.chunks_exact(width).skip(top);
        let first: Vec<&[u8]> = lines.by_ref().take(places.cell.1).collect();
        let found: usize = first.iter().map(|line| count_coloured(line)).sum();
        for _ in 1..self.repeat {
            // A copy says the same, on its band.
            let same = |a: &u8, b: &u8| *b == if *a == ink::WHITE { ink::BAND } else { *a };
            for line in &first {
                if !lines.next().is_some_and(|copy| line.iter().zip(copy).all(|(a, b)| same(a, b))) {
                    return Err(ReadError::Stray(format!("the copy of row {} differs from it", row + 1)));
                }
            }
        }
        if found != coloured {
            return Err(ReadError::Stray(format!("in row {}, {coloured} belong to characters, {found} are coloured", row + 1)));
        }
        Ok(())
    }
}

fn count_coloured(line: &[u8]) -> usize {
    let (words, rest) = line.as_chunks::<8>();
    let in_word = |word: &[u8; 8]| (((u64::from_le_bytes(*word) + 0x7f * ONES) >> 7) & ONES).count_ones() as usize;
    words.iter().map(in_word).sum::<usize>() + rest.iter().filter(|pixel| **pixel != ink::WHITE).count()
}

/// Decodes a picture that was made of a sheet and reads it back.
///
/// # Errors
/// [`ReadError`] when it does not say exactly, up to look-alikes, what was printed.
pub fn verify(png: &[u8], sheet: &Sheet, shape: &Shape, lens: &Lens) -> Result<(), ReadError> {
    let mut opened = open(png)?;
    let size = ReadError::Size(opened.width, opened.height);
    match opened.packing.take() {
        Some(packing) if !shape.scaled => {
            let mut comparison = Comparison::new(shape, lens);
            let pitch = comparison.places.pitch;
            if opened.width != shape.edge as usize || opened.height != sheet.rows as usize * pitch {
                return Err(size);
            }
            let bits = 8 / packing.each;
            let stride = (opened.width * bits).div_ceil(8);
            let mut exact = Exact::new(shape, lens, bits, &packing.inks);
            let (mut band, mut packed) = (Raster::white(opened.width, pitch), Vec::new());
            for (row, cells) in sheet.by_row().enumerate() {
                opened.rows(&mut packed, pitch)?;
                if exact.as_mut().is_some_and(|exact| exact.is_row(&mut packed, stride, cells)) {
                    continue;
                }
                for (line, packed) in band.pixels.chunks_exact_mut(opened.width.max(1)).zip(packed.chunks_exact(stride.max(1))).take(pitch)
                {
                    packing.unpack(packed, line);
                }
                comparison.row(&band, 0, row, cells)?;
            }
            opened.end()
        }
        None if shape.scaled => {
            // Scaled cells hold no glyphs, so the unscaled picture is read, and what it says, drawn again and scaled, has to
            // be what the file holds.
            let raster = render::draw(sheet, shape);
            compare(&raster, sheet, shape, lens)?;
            let mut again = sheet.clone();
            again.cells.iter_mut().for_each(|cell| cell.c = lens.look(cell.c));
            match decode(png)? {
                Pixels::Full(full) if render::scaled(&render::draw(&again, shape), shape) == full => Ok(()),
                _ => Err(ReadError::Stray("the scaled picture is not the one that was drawn".to_owned())),
            }
        }
        _ => Err(size),
    }
}

/// What a frame says, and how many of its cells are no character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The text; line ends as they were, wraps of two columns as blanks.
    pub text: String,
    /// Cells that match no glyph; each is U+FFFD in the text.
    pub unknown: usize,
}

/// Reads a frame without knowing what was printed on it.
#[must_use]
pub fn read(raster: &Raster, shape: &Shape, lens: &Lens) -> Reading {
    let (places, grid) = (Places::of(shape), shape.grid());
    let rows = (raster.height / places.pitch.max(1)).min(grid.rows as usize);
    let mut reading = Reading::default();
    let mut gap = false;
    for column in 0..grid.columns as usize {
        for row in 0..rows {
            let line = read_line(raster, &places, lens, (row, column * (grid.cols + GUTTER) as usize), grid.cols as usize);
            if grid.columns == 1 {
                reading.text.push_str(&line.text);
            } else {
                let words = line.text.trim_end();
                if gap && !words.is_empty() && !reading.text.ends_with([' ', NEWLINE]) {
                    reading.text.push(' ');
                }
                // A line that is full may have been cut within a word.
                gap = words.chars().count() < grid.cols as usize;
                reading.text.push_str(words);
            }
            reading.unknown += line.unknown;
        }
    }
    reading.text.truncate(reading.text.trim_end_matches(' ').len());
    reading.text = reading.text.replace(NEWLINE, "\n");
    reading
}

fn read_line(raster: &Raster, places: &Places, lens: &Lens, (row, left): (usize, usize), cols: usize) -> Reading {
    let narrow = |col: usize| {
        let seen = places.look(raster, row * places.pitch, left + col, 1)?;
        if seen.is_newline() { Some(NEWLINE) } else { lens.narrow(&seen.rows) }
    };
    let wide = |col: usize| places.look(raster, row * places.pitch, left + col, 2).and_then(|seen| lens.wide(&seen.rows));
    let cells: Vec<Option<char>> = (0..cols).map(narrow).collect();
    // From the end, what each place is best read as: with the fewest unknown cells after it, and as itself where that does
    // not matter, for a blank and half an ideograph may look like another one.
    let mut best: Vec<(usize, Option<char>)> = vec![(0, None); cols + 1];
    for col in (0..cols).rev() {
        let unknown = |at: usize| best.get(at).map_or(usize::MAX, |(unknown, _)| *unknown);
        let here = cells.get(col).copied().flatten();
        let (alone, pair) = (unknown(col + 1) + usize::from(here.is_none()), unknown(col + 2));
        let halves = here.is_none() || cells.get(col + 1).is_some_and(Option::is_none);
        let both = if halves && pair.saturating_add(usize::from(here.is_some())) <= alone { wide(col) } else { None };
        if let Some(to) = best.get_mut(col) {
            *to = if both.is_some() { (pair, both) } else { (alone, None) };
        }
    }
    let mut line = Reading { unknown: best.first().map_or(0, |(unknown, _)| *unknown), ..Reading::default() };
    let mut col = 0;
    while let (Some(here), Some((_, both))) = (cells.get(col), best.get(col)) {
        line.text.push(both.or(*here).unwrap_or(UNKNOWN));
        col += if both.is_some() { 2 } else { 1 };
    }
    line
}
