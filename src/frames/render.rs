//! Pages become pixels, and pixels PNG files.
//!
//! A frame holds at most ten colours, so its pixels are palette numbers, and drawn where they stand in the file. A scaled
//! shape is drawn at its font's size and then resampled in full colour.

use std::io;

use super::font::{NEWLINE, ROWS, Rows};
use super::layout::{Cell, Sheet, ink};
use super::pack::{CELL, Packer};
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

/// By the bits that a pixel takes (1, 2 or 4): eight bits as eight pixels, of which all bits are set where theirs is, from the
/// highest bit on.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse a bad index")]
static SPREAD: [[u32; 256]; 3] = {
    let mut tables = [[0; 256]; 3];
    let mut table = 0;
    while table < 3 {
        let (each, mut bits) = (1 << table, 0);
        while bits < 256 {
            let mut at = 0;
            while at < 8 {
                if bits >> (7 - at) & 1 == 1 {
                    tables[table][bits] |= (u32::MAX << (32 - each)) >> (each * at);
                }
                at += 1;
            }
            bits += 1;
        }
        table += 1;
    }
    tables
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
    let colours = Colours { numbers: std::array::from_fn(|ink| ink as u8), palette: Vec::new(), bits: 4 };
    let mut rows = Vec::new();
    paint(&mut rows, sheet, shape, &colours);
    let width = width(shape).max(1);
    let mut raster = Raster::white(width, sheet.rows as usize * pitch(shape));
    for (line, row) in raster.pixels.chunks_exact_mut(width).zip(rows.chunks_exact(stride(shape, colours.bits))) {
        for (two, byte) in line.chunks_mut(2).zip(row.iter().skip(1)) {
            two.iter_mut().zip([byte >> 4, byte & 15]).for_each(|(pixel, number)| *pixel = number);
        }
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

/// Bytes of a row of pixels in a PNG: one for the filter, and as many as pixels of so many bits need.
fn stride(shape: &Shape, bits: usize) -> usize {
    1 + (width(shape) * bits).div_ceil(8)
}

/// What colours are in a file.
struct Colours {
    /// The number of each [`ink`] that is used.
    numbers: [u8; ink::COLOURS.len()],
    palette: Vec<u8>,
    /// Bits of a pixel: 1, 2 or 4.
    bits: usize,
}

impl Colours {
    /// Only those that a sheet uses, in as few bits as they need.
    fn of(sheet: &Sheet, shape: &Shape) -> Colours {
        let mut colours = Colours { numbers: [0; ink::COLOURS.len()], palette: Vec::new(), bits: 4 };
        for ((number, used), colour) in colours.numbers.iter_mut().zip(used_colours(sheet, shape)).zip(ink::COLOURS) {
            if used {
                *number = (colours.palette.len() / 3) as u8;
                colours.palette.extend(colour);
            }
        }
        colours.bits = match colours.palette.len() / 3 {
            0..=2 => 1,
            3..=4 => 2,
            _ => 4,
        };
        colours
    }

    /// 32 bits of pixels in one ink.
    fn solid(&self, ink: u8) -> u32 {
        u32::MAX / ((1 << self.bits) - 1) * u32::from(self.numbers.get(usize::from(ink)).copied().unwrap_or(0))
    }
}

/// Draws a sheet in rows of pixels as they stand in a PNG: a byte for the filter, which is none, and the packed pixels.
fn paint(rows: &mut Vec<u8>, sheet: &Sheet, shape: &Shape, colours: &Colours) {
    /// Bytes behind the last row, so that eight can be taken at once anywhere.
    const SPARE: usize = 8;
    let (pen, bits, stride) = (shape.pen(), colours.bits, stride(shape, colours.bits));
    let (cell_w, cell_h) = (pen.cell.0 as usize, pen.cell.1 as usize);
    let spread = SPREAD.get(bits.ilog2() as usize).unwrap_or(&SPREAD[0]);
    // White is the first number, and most of a page is white.
    let size = sheet.rows as usize * pitch(shape) * stride;
    rows.clear();
    rows.resize(size + SPARE, 0);
    let mut put = |line: usize, x: usize, mut glyph: u32, colour: u32| {
        let mut bit = x * bits;
        while glyph != 0 {
            let mask = spread.get((glyph >> 24) as usize).copied().unwrap_or(0);
            let (at, shift) = (line * stride + 1 + bit / 8, 32 - bit % 8);
            if let Some(eight) = rows.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                let old = u64::from_be_bytes(*eight);
                *eight = (old & !(u64::from(mask) << shift) | u64::from(mask & colour) << shift).to_be_bytes();
            }
            glyph <<= 8;
            bit += 8 * bits;
        }
    };
    let mut known: [Option<Rows>; 128] = [None; 128];
    for (row, cells) in sheet.by_row().enumerate() {
        let top = row * pitch(shape);
        for line in top + cell_h..top + pitch(shape) {
            (0..width(shape)).step_by(8).for_each(|x| put(line, x, u32::MAX << (32 - (width(shape) - x).min(8)), colours.solid(ink::BAND)));
        }
        for cell in cells {
            let x = usize::from(cell.col) * cell_w;
            let (glyph, colour) = match known.get_mut(cell.c as usize) {
                _ if cell.c == NEWLINE => ([u32::MAX << (32 - pen.cell.0.min(31)); ROWS], colours.solid(ink::BLACK)),
                Some(known) => (*known.get_or_insert_with(|| glyph(shape, cell)), colours.solid(cell.ink)),
                None => (glyph(shape, cell), colours.solid(cell.ink)),
            };
            for top in (top..top + pitch(shape)).step_by(cell_h.max(1)) {
                // A line end fills cells that are higher than glyphs, too.
                let below = if cell.c == NEWLINE { glyph.first().copied() } else { None };
                let lines = glyph.into_iter().chain(std::iter::repeat(below.unwrap_or(0)));
                (top..top + cell_h).zip(lines).for_each(|(line, bits)| put(line, x, bits, colour));
            }
        }
    }
    rows.truncate(size);
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

/// What one picture leaves for the next one: rooms that need not be made again.
pub(super) struct Press {
    packer: Packer,
    /// Rows of pixels as they stand in a PNG.
    rows: Vec<u8>,
}

impl Press {
    pub(super) fn new() -> Press {
        Press { packer: Packer::new(), rows: Vec::new() }
    }
}

/// Draws and encodes a sheet.
///
/// # Errors
/// When the encoder refuses, which it does for no picture that is made here.
pub fn picture(sheet: &Sheet, shape: &Shape) -> io::Result<Picture> {
    picture_with(&mut Press::new(), sheet, shape, None)
}

/// The same with rooms that are there already, and one pixel spoilt for a test.
///
/// # Errors
/// As [`picture`].
pub(super) fn picture_with(press: &mut Press, sheet: &Sheet, shape: &Shape, spoilt: Option<usize>) -> io::Result<Picture> {
    let (png, width, height) = if shape.scaled {
        let mut raster = draw(sheet, shape);
        spoilt.and_then(|at| raster.pixels.get_mut(at)).into_iter().for_each(|pixel| *pixel ^= 7);
        let rgb = scaled(&raster, shape);
        (encode_rgb(&rgb)?, rgb.width, rgb.height)
    } else {
        (encode(press, sheet, shape, spoilt)?, width(shape), sheet.rows as usize * pitch(shape))
    };
    Ok(Picture { png, width: width as u32, height: height as u32 })
}

/// An indexed PNG: only the colours that are used, in as few bits as they need, no filter.
fn encode(press: &mut Press, sheet: &Sheet, shape: &Shape, spoilt: Option<usize>) -> io::Result<Vec<u8>> {
    let (width, height) = (width(shape), sheet.rows as usize * pitch(shape));
    let colours = Colours::of(sheet, shape);
    let (bits, stride) = (colours.bits, stride(shape, colours.bits));
    paint(&mut press.rows, sheet, shape, &colours);
    if let Some(at) = spoilt {
        let (line, bit) = (at / width.max(1), at % width.max(1) * bits);
        press.rows.get_mut(line * stride + 1 + bit / 8).into_iter().for_each(|byte| *byte ^= 0x80 >> (bit % 8 + bits - 1));
    }
    let packed = if bits * shape.pen().cell.0 as usize == 8 * CELL {
        press.packer.zlib(&press.rows, stride)
    } else {
        general(&press.rows, if bits == 4 { LEVEL_OF_MANY } else { LEVEL_OF_FEW })?
    };
    let mut out = Vec::with_capacity(packed.len() + 256);
    let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(match bits {
        1 => png::BitDepth::One,
        2 => png::BitDepth::Two,
        _ => png::BitDepth::Four,
    });
    encoder.set_palette(colours.palette);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_chunk(png::chunk::IDAT, &packed).and_then(|()| writer.finish()))
        .map_err(io::Error::other)?;
    Ok(out)
}

/// How hard a general encoder looks for repeats. With few colours more than this takes half as long again and saves 1.5 %.
const LEVEL_OF_FEW: u8 = 5;
const LEVEL_OF_MANY: u8 = 6;

/// A zlib stream by an encoder for anything.
pub(super) fn general(rows: &[u8], level: u8) -> io::Result<Vec<u8>> {
    let mut out = vec![0; zlib_rs::compress_bound(rows.len())];
    let (packed, result) = zlib_rs::compress_slice(&mut out, rows, zlib_rs::DeflateConfig::new(level.into()));
    let size = packed.len();
    if result != zlib_rs::ReturnCode::Ok {
        return Err(io::Error::other(format!("zlib: {result:?}")));
    }
    out.truncate(size);
    Ok(out)
}

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

/// Rows of pixels as they stand in the file of a sheet, the palette, and the bits of a pixel.
#[cfg(test)]
pub(super) fn rows_of(sheet: &Sheet, shape: &Shape) -> (Vec<u8>, Vec<u8>, usize) {
    let (mut rows, colours) = (Vec::new(), Colours::of(sheet, shape));
    paint(&mut rows, sheet, shape, &colours);
    (rows, colours.palette, colours.bits)
}
