//! The way back: what the pixels of a frame say.
//!
//! A frame is only written when its cells, matched one by one against the font, say what was to be printed. The same
//! reading shows the frames of any session as text. It is exact up to characters that share their pixels.

use super::font::{Lens, NEWLINE, ROWS, Rows};
use super::layout::{Sheet, ink};
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

/// Decodes a PNG.
///
/// # Errors
/// When it is no PNG, of a kind that frames are not, or larger than any frame.
pub fn decode(file: &[u8]) -> Result<Pixels, ReadError> {
    let wrong = |error: png::DecodingError| ReadError::Decode(error.to_string());
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    let (width, height, depth, colour) = (info.width as usize, info.height as usize, info.bit_depth as usize, info.color_type);
    if width.saturating_mul(height) > MOST_PIXELS {
        return Err(ReadError::Size(width, height));
    }
    let palette: Option<Vec<u8>> = info.palette.as_ref().map(|palette| palette.to_vec());
    let size = reader.output_buffer_size().ok_or(ReadError::Size(width, height))?;
    let mut bytes = vec![0; size];
    let frame = reader.next_frame(&mut bytes).map_err(wrong)?;
    match (colour, palette) {
        (png::ColorType::Indexed, Some(palette)) => {
            let colours = palette.as_chunks().0.iter().map(|colour| ink::COLOURS.iter().position(|known| known == colour));
            let numbers: Option<Vec<u8>> = colours.map(|number| number.map(|n| n as u8)).collect();
            let numbers = numbers.ok_or(ReadError::FullColour)?;
            unpack(&bytes, frame.line_size, width, height, depth, &numbers).map(Pixels::Raster)
        }
        (png::ColorType::Rgb, _) if depth == 8 => Ok(Pixels::Full(Rgb { width, height, bytes })),
        _ => Err(ReadError::Decode(format!("colour type {colour:?} with {depth} bits is not what frames are"))),
    }
}

fn unpack(bytes: &[u8], stride: usize, width: usize, height: usize, depth: usize, numbers: &[u8]) -> Result<Raster, ReadError> {
    if !matches!(depth, 1 | 2 | 4 | 8) {
        return Err(ReadError::Decode(format!("{depth} bits a pixel")));
    }
    // What each byte of packed pixels stands for; pixels of a colour that is not in the palette are strays.
    let each = 8 / depth;
    let mask = (1_usize << depth) - 1;
    let number = |at: usize| numbers.get(at).copied().unwrap_or(u8::MAX >> 1);
    let table: Vec<[u8; 8]> = (0..256_usize)
        .map(|byte| {
            let mut pixels = [0; 8];
            pixels.iter_mut().take(each).enumerate().for_each(|(n, pixel)| *pixel = number(byte >> (8 - depth * (n + 1)) & mask));
            pixels
        })
        .collect();
    let mut raster = Raster::white(width, height);
    for (row, packed) in bytes.chunks(stride.max(1)).take(height).enumerate() {
        let line = raster.pixels.get_mut(row * width..(row + 1) * width).unwrap_or_default();
        for (pixels, byte) in line.chunks_mut(each).zip(packed) {
            if let Some(from) = table.get(usize::from(*byte)).and_then(|known| known.get(..pixels.len())) {
                pixels.copy_from_slice(from);
            }
        }
    }
    Ok(raster)
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
        Places { cell: (width as usize, height as usize), pitch: (height * shape.repeat) as usize }
    }

    fn look(&self, raster: &Raster, row: usize, col: usize, span: usize) -> Option<Seen> {
        look(raster, (col * self.cell.0, row * self.pitch), (span * self.cell.0, self.cell.1))
    }
}

/// Reads every cell that a sheet has on a raster and compares, then looks for pixels that belong to none.
///
/// # Errors
/// [`ReadError`] for the first difference.
pub fn compare(raster: &Raster, sheet: &Sheet, shape: &Shape, lens: &Lens) -> Result<(), ReadError> {
    let places = Places::of(shape);
    if raster.height != sheet.rows as usize * places.pitch {
        return Err(ReadError::Size(raster.width, raster.height));
    }
    let mut looks: [Option<char>; 128] = [None; 128];
    let mut coloured = 0;
    for cell in &sheet.cells {
        let seen = places.look(raster, usize::from(cell.row), usize::from(cell.col), usize::from(cell.span));
        let read = seen.as_ref().and_then(|seen| match (seen.is_newline(), cell.span) {
            (true, _) => Some(NEWLINE),
            (false, 1) => lens.narrow(&seen.rows),
            (false, _) => lens.wide(&seen.rows),
        });
        let printed = match looks.get_mut(cell.c as usize) {
            Some(known) => *known.get_or_insert_with(|| lens.look(cell.c)),
            None => lens.look(cell.c),
        };
        let same_ink = seen.as_ref().is_some_and(|seen| seen.ink == cell.ink || seen.count == 0);
        if read != Some(printed) || !same_ink {
            return Err(ReadError::Differs {
                row: usize::from(cell.row) + 1,
                col: usize::from(cell.col) + 1,
                printed: cell.c,
                read: read.unwrap_or(UNKNOWN),
            });
        }
        coloured += seen.map_or(0, |seen| seen.count);
    }
    let width = raster.width.max(1);
    let mut found = 0;
    let mut rows = raster.pixels.chunks_exact(width);
    for row in 0..sheet.rows {
        let first: Vec<&[u8]> = rows.by_ref().take(places.cell.1).collect();
        found += first.iter().map(|line| line.iter().filter(|pixel| **pixel != ink::WHITE).count()).sum::<usize>();
        for _ in 1..shape.repeat {
            // A copy says the same, on its band.
            let same = |a: &u8, b: &u8| *b == if *a == ink::WHITE { ink::BAND } else { *a };
            for line in &first {
                if !rows.next().is_some_and(|copy| line.iter().zip(copy).all(|(a, b)| same(a, b))) {
                    return Err(ReadError::Stray(format!("the copy of row {} differs from it", row + 1)));
                }
            }
        }
    }
    if found != coloured {
        return Err(ReadError::Stray(format!("{coloured} belong to characters, {found} are coloured")));
    }
    Ok(())
}

/// Decodes a picture that was made of a sheet and reads it back.
///
/// # Errors
/// [`ReadError`] when it does not say exactly, up to look-alikes, what was printed.
pub fn verify(png: &[u8], sheet: &Sheet, shape: &Shape, lens: &Lens) -> Result<(), ReadError> {
    match decode(png)? {
        Pixels::Raster(raster) if !shape.scaled => {
            if raster.width != shape.edge as usize {
                return Err(ReadError::Size(raster.width, raster.height));
            }
            compare(&raster, sheet, shape, lens)
        }
        Pixels::Full(full) if shape.scaled => {
            // Scaled cells hold no glyphs, so the unscaled picture is read, and what it says, drawn again and scaled, has to
            // be what the file holds.
            let raster = render::draw(sheet, shape);
            compare(&raster, sheet, shape, lens)?;
            let mut again = sheet.clone();
            again.cells.iter_mut().for_each(|cell| cell.c = lens.look(cell.c));
            if render::scaled(&render::draw(&again, shape), shape) == full {
                Ok(())
            } else {
                Err(ReadError::Stray("the scaled picture is not the one that was drawn".to_owned()))
            }
        }
        Pixels::Raster(raster) => Err(ReadError::Size(raster.width, raster.height)),
        Pixels::Full(full) => Err(ReadError::Size(full.width, full.height)),
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
        let seen = places.look(raster, row, left + col, 1)?;
        if seen.is_newline() { Some(NEWLINE) } else { lens.narrow(&seen.rows) }
    };
    let wide = |col: usize| places.look(raster, row, left + col, 2).and_then(|seen| lens.wide(&seen.rows));
    let cells: Vec<Option<char>> = (0..cols).map(narrow).collect();
    // From the end, what each place is best read as: with the fewest unknown cells after it. Half an ideograph may look like
    // a character, a whole one hardly like two; and a blank with half of one may look like another.
    let mut best: Vec<(usize, Option<char>)> = vec![(0, None); cols + 1];
    for col in (0..cols).rev() {
        let unknown = |at: usize| best.get(at).map_or(usize::MAX, |(unknown, _)| *unknown);
        let here = cells.get(col).copied().flatten();
        let (alone, pair) = (unknown(col + 1) + usize::from(here.is_none()), unknown(col + 2));
        let halves = here.is_none() || cells.get(col + 1).is_some_and(Option::is_none);
        let both = if halves && pair <= alone { wide(col) } else { None };
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
