//! Text as the fonts can print it: one line, line ends as cells, and only characters that have a glyph.
//!
//! What no font has is folded to ASCII that says the same; only what has no such form becomes `?`, and is counted.

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::font::{NEWLINE, Pen};
use super::layout::{is_space, is_toggle};
use crate::text;

/// A text ready to be printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printable {
    /// The text: no line ends, no control characters but the toggles.
    pub text: String,
    /// Characters of it that are printed.
    pub printed: u64,
    /// Those that take two cells.
    pub wide: u64,
    /// Those that could not be read and became `?`.
    pub unreadable: u64,
}

impl Printable {
    /// Share of the characters that became `?`, 0 to 1.
    #[must_use]
    pub fn unreadable_share(&self) -> f64 {
        self.unreadable as f64 / self.printed.max(1) as f64
    }

    /// Share of the characters that take two cells, 0 to 1.
    #[must_use]
    pub fn wide_share(&self) -> f64 {
        self.wide as f64 / self.printed.max(1) as f64
    }
}

/// Makes a text printable with a pen.
#[must_use]
pub fn normalize(content: &str, pen: &Pen) -> Printable {
    let content = text::clean::strip_sequences(content);
    if content.is_ascii() || is_nfc_quick(content.chars()) == IsNormalized::Yes {
        return print(content.chars(), content.len(), pen);
    }
    print(content.nfc(), content.len(), pen)
}

fn print(chars: impl Iterator<Item = char>, len: usize, pen: &Pen) -> Printable {
    let mut out = Printable { text: String::with_capacity(len), ..Printable::default() };
    // What a run of white space and of invisible characters comes to; leading runs come to nothing.
    let mut gap = Gap::default();
    for c in chars {
        if is_space(c) || is_invisible(c) {
            gap.take(c);
            continue;
        }
        gap.flush(&mut out);
        match c {
            ' '..='~' => out.push(c, 1),
            NEWLINE => out.push('#', 1),
            c if is_toggle(c) => out.text.push(c),
            c if c.is_control() || is_dropped_mark(c) => {}
            c => match pen.cells(c) {
                0 => fold(c, pen, &mut out),
                cells => out.push(c, cells),
            },
        }
    }
    out
}

#[derive(Default)]
struct Gap {
    spaces: bool,
    breaks: bool,
}

impl Gap {
    fn take(&mut self, c: char) {
        self.breaks |= matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
        self.spaces |= !is_invisible(c);
    }

    /// One line end, one blank, or nothing.
    fn flush(&mut self, out: &mut Printable) {
        let gap = std::mem::take(self);
        if out.text.is_empty() {
            return;
        }
        if gap.breaks {
            out.push(NEWLINE, 1);
        } else if gap.spaces {
            out.push(' ', 1);
        }
    }
}

impl Printable {
    fn push(&mut self, c: char, cells: u32) {
        self.text.push(c);
        self.printed += 1;
        self.wide += u64::from(cells == 2);
    }

    fn push_str(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c, 1));
    }
}

/// Unicode's format characters (Cf): they have no shape of their own.
fn is_invisible(c: char) -> bool {
    matches!(c as u32,
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2 | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e
        | 0x2060..=0x2064 | 0x2066..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0x110bd | 0x110cd | 0x13430..=0x1343f
        | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0001 | 0xe0020..=0xe007f)
}

/// Marks that go: accents that no single character holds, and variation selectors. Vowel signs of other scripts stay, each
/// in cells of its own, because words are misread without them.
fn is_dropped_mark(c: char) -> bool {
    matches!(c as u32,
        0x300..=0x36f | 0x483..=0x489 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f
        | 0x1f3fb..=0x1f3ff | 0xe0100..=0xe01ef)
        || (c as u32 > 0xffff && is_combining_mark(c))
}

fn fold(c: char, pen: &Pen, out: &mut Printable) {
    if let Some(text) = folded(c) {
        return out.push_str(text);
    }
    match c as u32 {
        // Flags are spelled with the letters of their country.
        flag @ 0x1f1e6..=0x1f1ff => return out.push((b'A' + (flag - 0x1f1e6) as u8) as char, 1),
        0x2500..=0x257f => return out.push('+', 1),
        _ => {}
    }
    let plain: Vec<char> = std::iter::once(c).nfkd().filter(|c| !is_combining_mark(*c)).collect();
    if !plain.is_empty() && plain.iter().all(|p| *p != c && (p.is_ascii_graphic() || *p == ' ' || pen.cells(*p) == 1)) {
        return plain.into_iter().for_each(|p| out.push(p, 1));
    }
    out.push('?', 1);
    out.unreadable += 1;
}

/// ASCII that says what a character says.
fn folded(c: char) -> Option<&'static str> {
    Some(match c {
        '‘' | '’' | '‚' | '‛' | '′' | '‹' | '›' => "'",
        '“' | '”' | '„' | '‟' | '″' => "\"",
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '─' | '━' => "-",
        '│' | '┃' => "|",
        '…' | '⋯' => "...",
        '⁄' | '∕' => "/",
        '•' | '●' | '■' | '▪' | '◦' | '○' | '▸' | '▶' | '★' | '☆' => "*",
        '←' => "<-",
        '→' => "->",
        '↑' => "^",
        '↓' => "v",
        '↔' => "<->",
        '⇐' => "<=",
        '⇒' => "=>",
        '⇔' => "<=>",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '✓' | '✔' => "v",
        '✗' | '✘' => "x",
        '✅' => "[ok]",
        '❌' | '❎' => "[x]",
        '⚠' => "[!]",
        'ℹ' => "[i]",
        '⛔' | '🚫' => "[no]",
        '⏳' | '⌛' => "[wait]",
        '✨' => "[new]",
        '🔴' => "[red]",
        '🟠' => "[orange]",
        '🟡' => "[yellow]",
        '🟢' => "[green]",
        '🔵' => "[blue]",
        '🟣' => "[purple]",
        '🚀' => "[rocket]",
        '🎉' => "[party]",
        '🎯' => "[target]",
        '🐛' => "[bug]",
        '🔥' => "[fire]",
        '💡' => "[idea]",
        '📝' => "[memo]",
        '📦' => "[package]",
        '📁' | '📂' => "[folder]",
        '📄' => "[page]",
        '📊' | '📈' | '📉' => "[chart]",
        '🔍' | '🔎' => "[search]",
        '🔧' | '🛠' => "[tool]",
        '🔒' | '🔐' => "[lock]",
        '🔑' => "[key]",
        '🔗' => "[link]",
        '🧪' => "[test]",
        '🧹' => "[clean]",
        '🤖' => "[robot]",
        '🤔' => "[thinking]",
        '🛑' => "[stop]",
        '👀' => "[eyes]",
        '👋' => "[wave]",
        '👍' => "[+1]",
        '👎' => "[-1]",
        '🙏' => "[thanks]",
        '💥' => "[boom]",
        '😀' | '😁' | '😃' | '😄' | '😊' | '🙂' => ":)",
        '😢' | '😞' | '🙁' => ":(",
        '😂' | '🤣' => ":D",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::font::Face;

    fn pen(face: Face) -> Pen {
        Pen { face, cell: face.size(), slashed_zero: true }
    }

    fn printed(content: &str) -> String {
        normalize(content, &pen(Face::X8x13)).text
    }

    #[test]
    fn white_space_comes_to_one_cell() {
        assert_eq!(printed("  a\t b \r\n\r\n c\u{a0}d  \n"), "a b█c d");
        assert_eq!(printed("a\u{200b}\u{200b} b"), "a b");
        assert_eq!(printed("a \u{200b}\n b"), "a█b");
        assert_eq!(printed("a\u{200b}b\u{ad}c\u{feff}d"), "abcd");
        assert_eq!(printed("\u{feff}\n x \n"), "x");
        assert_eq!(printed("a\u{85}b\u{0}c\u{7}d"), "abcd");
        assert_eq!(printed("a\u{2028}b"), "a█b");
    }

    #[test]
    fn toggles_stop_a_run_and_trimming() {
        assert_eq!(printed("\u{e}X\u{f}"), "\u{e}X\u{f}");
        assert_eq!(printed("a\n\u{e}\nb\u{f}"), "a█\u{e}█b\u{f}");
    }

    #[test]
    fn s11_colours_titles_and_zero_width_go_whole() {
        assert_eq!(printed("\x1b[31mred\x1b[0m \x1b]0;t\x07 a\u{200b}b"), "red ab");
    }

    #[test]
    fn s17_what_a_font_has_stays_and_the_rest_is_folded() {
        let made = normalize("✅ ⚠ ┌─┐ ﬁ ½ 🚀 🇩🇪 𝐀", &pen(Face::X8x13));
        assert_eq!((made.text.as_str(), made.unreadable), ("✅ ⚠ ┌─┐ ﬁ ½ [rocket] DE A", 0));
        let made = normalize("✅ ⚠ ﬃ ½ ⅔ Ａ", &pen(Face::X5x8));
        assert_eq!((made.unreadable, made.wide), (0, 0));
        assert!(made.text.starts_with("[ok] [!] ffi ½ "), "{}", made.text);
    }

    #[test]
    fn s01_what_nothing_can_draw_is_counted() {
        let made = normalize("日本語 한국어 中文", &pen(Face::X8x13));
        assert_eq!((made.text.as_str(), made.unreadable, made.wide), ("日本語 한국어 中文", 0, 8));
        let made = normalize("日本x", &pen(Face::X5x8));
        assert_eq!((made.text.as_str(), made.unreadable, made.printed), ("??x", 2, 3));
    }

    #[test]
    fn accents_are_composed_and_else_dropped() {
        assert_eq!(printed("e\u{301} x\u{301}"), "é x");
        assert_eq!(printed("ท\u{e35}่"), "ท\u{e35}่");
    }

    #[test]
    fn the_newline_cell_stays_unambiguous() {
        assert_eq!(printed("a█b"), "a#b");
    }
}
