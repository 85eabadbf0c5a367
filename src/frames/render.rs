//! Pages become pixels, and pixels PNG files.
//!
//! A frame holds at most ten colours, so its pixels are palette numbers, one byte each, until they are packed. A scaled
//! shape is drawn at its font's size and then resampled in full colour.

use std::io;

use super::font::{NEWLINE, ROWS, Rows};
use super::layout::{Cell, Sheet, ink};
use super::shape::Shape;

/// A picture whose pixels are numbers of colours, see [`ink`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Row after row, and [`Raster::SPARE`] more, so that eight pixels can be taken at once anywhere.
    pub pixels: Vec<u8>,
}

/// A picture in full colour: red, green and blue of each pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rgb {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Three bytes a pixel.
    pub bytes: Vec<u8>,
}

/// A byte of bits as eight bytes, 0xff where a bit is set; the highest bit is the first byte.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse a bad index")]
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut bits = 0;
    while bits < 256 {
        let mut at = 0;
        while at < 8 {
            if bits >> (7 - at) & 1 == 1 {
                table[bits] |= 0xff << (8 * at);
            }
            at += 1;
        }
        bits += 1;
    }
    table
};

/// One byte of each eight.
pub(super) const ONES: u64 = 0x0101_0101_0101_0101;

impl Raster {
    /// Bytes after the last pixel.
    pub const SPARE: usize = 8;

    /// A white picture.
    #[must_use]
    pub fn white(width: usize, height: usize) -> Raster {
        Raster { width, height, pixels: vec![ink::WHITE; width * height + Raster::SPARE] }
    }

    /// Eight pixels of row `y` from `x` on.
    #[must_use]
    pub fn eight(&self, x: usize, y: usize) -> u64 {
        let at = y * self.width + x;
        self.pixels.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    /// Colours the pixels of row `y` from `x` on where `bits` has ones, its highest bit first.
    fn put(&mut self, x: usize, y: usize, mut bits: u32, ink: u8) {
        let mut at = y * self.width + x;
        while bits != 0 {
            let mask = SPREAD.get((bits >> 24) as usize).copied().unwrap_or(0);
            if let Some(eight) = self.pixels.get_mut(at..at + 8)
                && let Ok(old) = <[u8; 8]>::try_from(&*eight)
            {
                let new = u64::from_le_bytes(old) & !mask | (mask & (ONES * u64::from(ink)));
                eight.copy_from_slice(&new.to_le_bytes());
            }
            bits <<= 8;
            at += 8;
        }
    }

    /// Colours whole rows.
    fn fill_rows(&mut self, rows: std::ops::Range<usize>, colour: u8) {
        if let Some(pixels) = self.pixels.get_mut(rows.start * self.width..rows.end * self.width) {
            pixels.fill(colour);
        }
    }
}

/// The pixels of one cell's character; nothing where no font has it.
pub(super) fn glyph(shape: &Shape, cell: &Cell) -> Rows {
    let pen = shape.pen();
    let rows = if cell.span == 2 { pen.wide(cell.c) } else { pen.narrow(cell.c) };
    rows.unwrap_or([0; ROWS])
}

/// Draws a sheet at its font's size. The picture is as wide as the frame, or as the cells where it is scaled later.
#[must_use]
pub fn draw(sheet: &Sheet, shape: &Shape) -> Raster {
    let pitch = pitch(shape);
    let mut raster = Raster::white(width(shape), sheet.rows as usize * pitch);
    for (row, cells) in sheet.by_row().enumerate() {
        draw_row(&mut raster, row * pitch, cells, shape);
    }
    raster
}

/// Pixels across.
fn width(shape: &Shape) -> usize {
    if shape.scaled { (shape.grid().cols * shape.pen().cell.0) as usize } else { shape.edge as usize }
}

/// Pixels down that a row of text takes, its copies included.
pub(super) fn pitch(shape: &Shape) -> usize {
    (shape.pen().cell.1 * shape.repeat) as usize
}

/// Draws one row of text, and its copies, on white.
fn draw_row(raster: &mut Raster, top: usize, cells: &[Cell], shape: &Shape) {
    let pen = shape.pen();
    let (cell_w, cell_h, repeat) = (pen.cell.0 as usize, pen.cell.1 as usize, shape.repeat as usize);
    raster.fill_rows(top + cell_h..top + repeat * cell_h, ink::BAND);
    for cell in cells {
        let x = usize::from(cell.col) * cell_w;
        for y in (0..repeat).map(|copy| top + copy * cell_h) {
            if cell.c == NEWLINE {
                let bits = u32::MAX << (32 - pen.cell.0.min(31));
                (y..y + cell_h).for_each(|y| raster.put(x, y, bits, ink::BLACK));
                continue;
            }
            for (down, bits) in glyph(shape, cell).into_iter().enumerate().take(cell_h) {
                raster.put(x, y + down, bits, cell.ink);
            }
        }
    }
}

/// A finished frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The PNG file.
    pub png: Vec<u8>,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// Draws and encodes a sheet.
///
/// # Errors
/// When the encoder refuses, which it does for no picture that is made here.
pub fn picture(sheet: &Sheet, shape: &Shape) -> io::Result<Picture> {
    picture_with(sheet, shape, &|_, _| ())
}

/// The same, with a hand in what is drawn: `touch` gets pixels and how many of the picture stand before them.
///
/// # Errors
/// As [`picture`].
pub(super) fn picture_with(sheet: &Sheet, shape: &Shape, touch: &dyn Fn(&mut Raster, usize)) -> io::Result<Picture> {
    let (png, width, height) = if shape.scaled {
        let mut raster = draw(sheet, shape);
        touch(&mut raster, 0);
        let rgb = scaled(&raster, shape);
        (encode_rgb(&rgb)?, rgb.width, rgb.height)
    } else {
        (encode(sheet, shape, touch)?, width(shape), sheet.rows as usize * pitch(shape))
    };
    Ok(Picture { png, width: width as u32, height: height as u32 })
}

/// An indexed PNG: only the colours that are used, in as few bits as they need, no filter. It is drawn and packed one row of
/// text after the other, so that never more than that is there in pixels of a byte.
fn encode(sheet: &Sheet, shape: &Shape, touch: &dyn Fn(&mut Raster, usize)) -> io::Result<Vec<u8>> {
    let (width, pitch) = (width(shape), pitch(shape));
    let used = used_colours(sheet, shape);
    let mut numbers = [0_u8; 16];
    let mut palette = Vec::new();
    for ((number, used), colour) in numbers.iter_mut().zip(used).zip(ink::COLOURS) {
        if used {
            *number = (palette.len() / 3) as u8;
            palette.extend(colour);
        }
    }
    let (bits, depth) = match palette.len() / 3 {
        0..=2 => (1, png::BitDepth::One),
        3..=4 => (2, png::BitDepth::Two),
        _ => (4, png::BitDepth::Four),
    };
    let height = sheet.rows as usize * pitch;
    let mut packed = Vec::with_capacity(height * (width * bits).div_ceil(8));
    let mut band = Raster::white(width, pitch);
    for (row, cells) in sheet.by_row().enumerate() {
        band.pixels.fill(ink::WHITE);
        draw_row(&mut band, 0, cells, shape);
        touch(&mut band, row * pitch * width);
        for line in band.pixels.chunks_exact(width.max(1)).take(pitch) {
            pack_line(line, bits, &numbers, &mut packed);
        }
    }
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(depth);
    encoder.set_palette(palette);
    encoder.set_filter(png::Filter::NoFilter);
    encoder.set_deflate_compression(png::DeflateCompression::Level(if bits == 4 { LEVEL_OF_MANY } else { LEVEL_OF_FEW }));
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&packed).and_then(|()| writer.finish()))
        .map_err(io::Error::other)?;
    Ok(out)
}

/// How hard the packer looks for repeats. With few colours more than this takes half as long again and saves 1.5 %; with six
/// hues the next lower one would take half the time and 5 % more room.
const LEVEL_OF_FEW: u8 = 5;
const LEVEL_OF_MANY: u8 = 6;

/// Which colours have a pixel.
fn used_colours(sheet: &Sheet, shape: &Shape) -> [bool; ink::COLOURS.len()] {
    let (cell_w, cell_h) = shape.pen().cell;
    let mut used = [false; ink::COLOURS.len()];
    let mut black = 0;
    for cell in &sheet.cells {
        black += u64::from(cell.c == NEWLINE);
        let ink = if cell.c == NEWLINE { ink::BLACK } else { cell.ink };
        if let Some(used) = used.get_mut(usize::from(ink)).filter(|used| !**used) {
            *used = cell.c == NEWLINE || glyph(shape, cell).iter().take(cell_h as usize).any(|row| *row != 0);
        }
    }
    // Only line ends fill their cells.
    let is_free = black * u64::from(cell_w) < width(shape) as u64 * u64::from(sheet.rows);
    for (colour, is_used) in [(ink::WHITE, is_free), (ink::BAND, is_free && shape.repeat > 1)] {
        if let Some(used) = used.get_mut(usize::from(colour)) {
            *used = is_used;
        }
    }
    used
}

fn pack_line(line: &[u8], bits: usize, numbers: &[u8; 16], packed: &mut Vec<u8>) {
    let (whole, rest) = line.as_chunks::<8>();
    for eight in whole {
        pack(eight, bits, numbers, packed);
    }
    if !rest.is_empty() {
        let mut eight = [u8::MAX; 8];
        eight.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let end = packed.len() + (rest.len() * bits).div_ceil(8);
        pack(&eight, bits, numbers, packed);
        packed.truncate(end);
    }
}

/// Packs eight pixels; one that is no colour is padding.
fn pack(eight: &[u8; 8], bits: usize, numbers: &[u8; 16], out: &mut Vec<u8>) {
    let mut word = 0_u32;
    // White is the first number, and most of a page is white.
    if u64::from_le_bytes(*eight) != 0 {
        for pixel in eight {
            word = word << bits | u32::from(numbers.get(usize::from(*pixel & 15)).copied().unwrap_or(0));
        }
    }
    match bits {
        1 => out.push(word as u8),
        2 => out.extend_from_slice(&(word as u16).to_be_bytes()),
        _ => out.extend_from_slice(&word.to_be_bytes()),
    }
}

fn encode_rgb(rgb: &Rgb) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, rgb.width as u32, rgb.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_filter(png::Filter::Adaptive);
    encoder.set_deflate_compression(png::DeflateCompression::Level(LEVEL_OF_MANY));
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&rgb.bytes).and_then(|()| writer.finish()))
        .map_err(io::Error::other)?;
    Ok(out)
}

/// Scales a drawn sheet to the shape's cells and puts it on a frame.
#[must_use]
pub fn scaled(raster: &Raster, shape: &Shape) -> Rgb {
    let natural = shape.face.size();
    let to = |pixels: usize, from: u32, to: u32| pixels / from as usize * to as usize;
    let (width, height) = (to(raster.width, natural.0, shape.cell.0), to(raster.height, natural.1, shape.cell.1));
    let across = Taps::new(raster.width, width);
    let down = Taps::new(raster.height, height);
    let edge = shape.edge as usize;
    let mut bytes = vec![255; 3 * edge * height];
    // Rows of the source, resampled across, wait until the rows that need them are done.
    let mut waiting: std::collections::VecDeque<Vec<f32>> = std::collections::VecDeque::new();
    let mut first = 0;
    for (row, (from, weights)) in down.0.iter().enumerate() {
        while first < *from && waiting.pop_front().is_some() {
            first += 1;
        }
        for at in first + waiting.len()..from + weights.len() {
            waiting.push_back(across.row(raster, at, width));
        }
        let mut sums = vec![0_f32; 3 * width];
        for (line, weight) in waiting.iter().skip(from - first).zip(weights) {
            sums.iter_mut().zip(line).for_each(|(sum, value)| *sum += value * weight);
        }
        let to = bytes.iter_mut().skip(3 * edge * row);
        to.zip(sums).for_each(|(byte, sum)| *byte = sum.round().clamp(0.0, 255.0) as u8);
    }
    Rgb { width: edge, height, bytes }
}

/// For each pixel of the result the first pixel that it is made of, and the weights of that and the next ones.
struct Taps(Vec<(usize, Vec<f32>)>);

impl Taps {
    /// Lanczos with three lobes, widened when the picture shrinks.
    fn new(from: usize, to: usize) -> Taps {
        let scale = from as f64 / to.max(1) as f64;
        let wide = scale.max(1.0);
        let tap = |at: usize| {
            let centre = (at as f64 + 0.5) * scale;
            let first = (centre - 3.0 * wide).max(0.0) as usize;
            let last = ((centre + 3.0 * wide).ceil() as usize).min(from);
            let weights: Vec<f64> = (first..last).map(|n| lanczos((n as f64 + 0.5 - centre) / wide)).collect();
            let sum: f64 = weights.iter().sum();
            (first, weights.into_iter().map(|weight| (weight / sum) as f32).collect())
        };
        Taps((0..to).map(tap).collect())
    }

    /// One row, resampled.
    fn row(&self, raster: &Raster, y: usize, width: usize) -> Vec<f32> {
        let mut out = Vec::with_capacity(3 * width);
        let source = raster.pixels.get(y * raster.width..(y + 1) * raster.width).unwrap_or_default();
        for (from, weights) in &self.0 {
            let mut sum = [0_f32; 3];
            for (pixel, weight) in source.iter().skip(*from).zip(weights) {
                let colour = ink::COLOURS.get(usize::from(*pixel)).unwrap_or(&ink::COLOURS[0]);
                sum.iter_mut().zip(colour).for_each(|(sum, part)| *sum += f32::from(*part) * weight);
            }
            out.extend(sum);
        }
        out
    }
}

fn lanczos(x: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) };
    if x.abs() < 3.0 { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}
