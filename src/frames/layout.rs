//! Where text stands: pages of a text, and the cells of a page.
//!
//! Text comes normalised: line ends are [`NEWLINE`] cells, and what is gray stands between [`DIM_ON`] and [`DIM_OFF`], which
//! take no cell. Pages keep those marks, so that a page can be drawn without the ones before it.

use super::font::{NEWLINE, Pen};
use super::shape::{GUTTER, Ink, Shape};

/// From here on text is gray.
pub const DIM_ON: char = '\u{e}';
/// From here on it is not.
pub const DIM_OFF: char = '\u{f}';

/// Whether a character only switches the ink.
#[must_use]
pub fn is_toggle(c: char) -> bool {
    matches!(c, DIM_ON | DIM_OFF)
}

/// White space as the reference splits words: what JavaScript calls so.
#[must_use]
pub fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

/// Colours by their place in the palette.
pub mod ink {
    /// The page.
    pub const WHITE: u8 = 0;
    /// The first of six hues.
    pub const HUES: u8 = 1;
    /// Letters in black, and line ends.
    pub const BLACK: u8 = 7;
    /// Behind repeated rows.
    pub const BAND: u8 = 8;
    /// Tool output and stopwords.
    pub const DIM: u8 = 9;
    /// Red, green and blue of each.
    pub const COLOURS: [[u8; 3]; 10] = [
        [255, 255, 255],
        [109, 2, 2],
        [109, 53, 2],
        [24, 109, 2],
        [2, 109, 109],
        [2, 32, 109],
        [75, 2, 109],
        [0, 0, 0],
        [255, 247, 194],
        [128, 128, 128],
    ];
}

/// One character in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The character.
    pub c: char,
    /// Its colour, see [`ink`].
    pub ink: u8,
    /// Cells it takes: 1 or 2.
    pub span: u8,
    /// The column of cells it starts in, counted over the whole width.
    pub col: u16,
    /// The row of text.
    pub row: u16,
}

/// A page laid out.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    /// What stands on it, row by row.
    pub cells: Vec<Cell>,
    /// Rows that are used, at least 1.
    pub rows: u32,
}

/// Lays one page out. What does not fit is left out; a page made by [`pages`] fits.
#[must_use]
pub fn sheet(page: &str, shape: &Shape) -> Sheet {
    let (pen, grid) = (shape.pen(), shape.grid());
    let mut sheet = Sheet { cells: Vec::with_capacity(page.len()), rows: 1 };
    let (mut dim, mut sentences) = (false, 0_u8);
    let (mut line, mut col) = (0, 0);
    let mut chars = page.chars().peekable();
    while let Some(c) = chars.next() {
        if is_toggle(c) {
            dim = c == DIM_ON;
            continue;
        }
        if c == '\n' && shape.columns == 2 {
            (line, col) = (line + 1, 0);
            continue;
        }
        let ink = match (c, dim, shape.ink) {
            (NEWLINE, _, _) => ink::BLACK,
            (_, true, _) => ink::DIM,
            (_, false, Ink::Black) => ink::BLACK,
            (_, false, Ink::Sentences) => ink::HUES + sentences,
        };
        if matches!(c, '.' | '!' | '?')
            && chars.peek().is_some_and(|next| matches!(*next, ' ' | NEWLINE) || (*next == '\n' && shape.columns == 2))
        {
            sentences = (sentences + 1) % 6;
        }
        let span = pen.cells(c).max(1);
        if shape.columns == 1 && col + span > grid.cols {
            (line, col) = (line + 1, 0);
        }
        let fits = (line as usize) < grid.lines() && col + span <= grid.cols;
        if fits {
            let (column, row) = (line / grid.rows.max(1), line % grid.rows.max(1));
            let left = column * (grid.cols + GUTTER) + col;
            sheet.cells.push(Cell { c, ink, span: span as u8, col: left as u16, row: row as u16 });
            sheet.rows = sheet.rows.max(row + 1);
        } else if shape.columns == 1 {
            break;
        }
        col += span;
    }
    if shape.columns == 2 {
        // Empty lines are used too.
        sheet.rows = sheet.rows.max((line + 1).clamp(1, grid.rows.max(1)));
        sheet.cells.sort_by_key(|cell| cell.row);
    }
    sheet
}

impl Sheet {
    /// The cells of each row, from the first on.
    pub fn by_row(&self) -> impl Iterator<Item = &[Cell]> {
        let mut rest = self.cells.as_slice();
        (0..self.rows).map(move |row| {
            let (cells, after) = rest.split_at_checked(rest.partition_point(|cell| u32::from(cell.row) <= row)).unwrap_or((rest, &[]));
            rest = after;
            cells
        })
    }
}

/// Cuts a text into the pages that frames of a shape hold, with `rows` rows of text at most.
#[must_use]
pub fn pages(text: &str, shape: &Shape, rows: u32) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    if shape.columns == 2 { doc_pages(text, shape, rows) } else { grid_pages(text, shape, rows) }
}

/// Page after page as many cells as there are; a wide character that would stand across the edge leaves a cell free.
fn grid_pages(text: &str, shape: &Shape, rows: u32) -> Vec<String> {
    let (pen, grid) = (shape.pen(), shape.grid());
    let cols = grid.cols.max(2);
    let mut pages = Vec::new();
    let mut page = String::new();
    let (mut row, mut col) = (0, 0);
    for c in text.chars() {
        let span = if is_toggle(c) { 0 } else { pen.cells(c).max(1) };
        if span > 0 && col + span > cols {
            (row, col) = (row + 1, 0);
            if row >= rows {
                pages.push(std::mem::take(&mut page));
                row = 0;
            }
        }
        page.push(c);
        col += span;
    }
    pages.push(page);
    pages
}

/// Words wrapped greedily at the column's width; a longer word is cut.
fn doc_pages(text: &str, shape: &Shape, rows: u32) -> Vec<String> {
    let (pen, grid) = (shape.pen(), shape.grid());
    let width = grid.cols.max(2);
    let mut lines: Vec<String> = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        let len = cells(&pen, word);
        if used > 0 && used + 1 + len > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        } else if !line.is_empty() {
            // Only toggles so far: the blank between them and the word says nothing.
            used = 0;
        }
        for c in word.chars() {
            let span = if is_toggle(c) { 0 } else { pen.cells(c).max(1) };
            if used + span > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += span;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines.chunks((2 * rows.max(1)) as usize).map(|page| page.join("\n")).collect()
}

/// Cells that a text takes.
#[must_use]
pub fn cells(pen: &Pen, text: &str) -> u32 {
    text.chars().map(|c| if is_toggle(c) { 0 } else { pen.cells(c).max(1) }).sum()
}

/// Characters that a page shows, counted as archives count them: UTF-16 units without toggles and wraps.
#[must_use]
pub fn shown(page: &str, shape: &Shape) -> u64 {
    page.chars().filter(|c| !is_toggle(*c) && (*c != '\n' || shape.columns == 1)).map(|c| c.len_utf16() as u64).sum()
}

/// Finishes pages in their order: what was gray at the end of a page stays gray on the next, and stopwords turn gray where
/// the shape says so. Returns whether the text after the last page is gray.
pub fn finish(pages: &mut [String], shape: &Shape) -> bool {
    let mut open = false;
    for page in pages {
        let carried = open;
        open = page.chars().rev().find(|c| is_toggle(*c)).map_or(carried, |last| last == DIM_ON);
        if carried {
            page.insert(0, DIM_ON);
        }
        if shape.dims_stopwords {
            *page = dim_stopwords(page);
        }
    }
    open
}

/// Words that carry little: a model reads past them when they are gray.
const STOPWORDS: &str = " a about after also an and are as at be been before between but by could during each for from had has have he her his in into is it its more most not of on only or other over same she should so some such than that the their them then there these they this those to under was were when where which while who whom will with would ";

fn is_stopword(word: &str) -> bool {
    if word.len() > 7 || !word.is_ascii() {
        return false;
    }
    let mut padded = [b' '; 9];
    for (at, byte) in padded.iter_mut().skip(1).zip(word.bytes()) {
        *at = byte.to_ascii_lowercase();
    }
    let found = padded.get(..word.len() + 2).unwrap_or_default();
    memchr::memmem::find(STOPWORDS.as_bytes(), found).is_some()
}

/// Letters of which stopwords are made; anything else ends a word, so that the a of a1 counts.
fn is_letter(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | 'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ÿ')
}

fn dim_stopwords(page: &str) -> String {
    let mut out = String::with_capacity(page.len() + page.len() / 4);
    let mut dim = false;
    let mut rest = page;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(if end == 0 { c.len_utf8() } else { end }).unwrap_or((rest, ""));
        if end == 0 {
            dim = if is_toggle(c) { c == DIM_ON } else { dim };
            out.push(c);
        } else if !dim && is_stopword(word) {
            out.push(DIM_ON);
            out.push_str(word);
            out.push(DIM_OFF);
        } else {
            out.push_str(word);
        }
        rest = after;
    }
    out
}
