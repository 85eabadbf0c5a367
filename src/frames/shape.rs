//! Shapes: which font in which cells on which frame, what a frame holds, and what a provider bills for it.
//!
//! The dense shapes hold more text a token, the wide ones are easier to read. `auto` takes the densest that the model's
//! family was seen to read, `legible` the ones that keep line numbers and indentation readable.

use super::font::{Face, Pen};
use crate::models::Api;

/// What the letters of a frame are drawn in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ink {
    /// Black.
    Black,
    /// Six hues, the next one with each sentence.
    Sentences,
}

impl Ink {
    /// The name in archives.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ink::Black => "bw",
            Ink::Sentences => "sent",
        }
    }
}

/// One way to print text on frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Its name in `--shape`.
    pub name: &'static str,
    /// The font.
    pub face: Face,
    /// Width and height of a cell on the frame, pixels.
    pub cell: (u32, u32),
    /// Cells are not the glyphs' size, and the picture is scaled to them.
    pub scaled: bool,
    /// What is drawn in which colour.
    pub ink: Ink,
    /// Stopwords are gray.
    pub dims_stopwords: bool,
    /// 1, or 2 columns of wrapped words.
    pub columns: u32,
    /// How often each row is printed.
    pub repeat: u32,
    /// Width of a frame, pixels; also its greatest height.
    pub edge: u32,
    /// Whether the zero has a slash.
    pub slashed_zero: bool,
}

/// Edge of a frame when nothing else is said: what most models take without scaling it down.
pub const EDGE: u32 = 1568;

/// Largest edge that the renderer takes.
pub const LARGEST_EDGE: u32 = 16_384;

const fn shape(name: &'static str, face: Face, cell: (u32, u32), ink: Ink) -> Shape {
    Shape { name, face, cell, scaled: false, ink, dims_stopwords: false, columns: 1, repeat: 1, edge: EDGE, slashed_zero: true }
}

/// The shape that draws every script whole: glyphs of 8x13, and room for those of Unifont.
const PLAIN: Shape = shape("8on16-bw", Face::X8x13, (8, 16), Ink::Black);

/// Every shape that can be asked for by name.
pub const SHAPES: &[Shape] = &[
    Shape { repeat: 2, ..shape("8x8r-bw", Face::Unscii, (8, 8), Ink::Black) },
    Shape { repeat: 2, ..shape("8x8r-sent", Face::Unscii, (8, 8), Ink::Sentences) },
    shape("8x8u-bw", Face::Unscii, (8, 8), Ink::Black),
    shape("8x8u-sent", Face::Unscii, (8, 8), Ink::Sentences),
    Shape { scaled: true, ..shape("6x6u-bw", Face::Unscii, (6, 6), Ink::Black) },
    Shape { scaled: true, ..shape("6x6u-sent", Face::Unscii, (6, 6), Ink::Sentences) },
    Shape { edge: 2576, ..shape("5x8-bw", Face::X5x8, (5, 8), Ink::Black) },
    Shape { edge: 2576, ..shape("5x8-sent", Face::X5x8, (5, 8), Ink::Sentences) },
    Shape { dims_stopwords: true, ..shape("6x12-dim", Face::X6x12, (6, 12), Ink::Black) },
    shape("8x13-bw", Face::X8x13, (8, 13), Ink::Black),
    PLAIN,
    shape("8on22-bw", Face::X8x13, (8, 22), Ink::Black),
    shape("11on16-bw", Face::X8x13, (11, 16), Ink::Black),
    Shape { columns: 2, ..shape("doc-8on16-bw", Face::X8x13, (8, 16), Ink::Black) },
    Shape { columns: 2, ..shape("doc-8on16-sent", Face::X8x13, (8, 16), Ink::Sentences) },
    Shape { columns: 2, dims_stopwords: true, ..shape("doc-8on16-sent-dim", Face::X8x13, (8, 16), Ink::Sentences) },
    // One cell for every character: for text that is mostly ideographs.
    shape("wide16-bw", Face::Unifont, (16, 16), Ink::Black),
];

impl Shape {
    /// The shape of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Shape> {
        SHAPES.iter().find(|shape| shape.name == name).copied()
    }

    /// The pen that draws it, before any scaling.
    #[must_use]
    pub fn pen(&self) -> Pen {
        let cell = if self.scaled { self.face.size() } else { self.cell };
        Pen { face: self.face, cell, slashed_zero: self.slashed_zero }
    }

    /// What a frame holds.
    #[must_use]
    pub fn grid(&self) -> Grid {
        let across = self.edge / self.cell.0.max(1);
        let rows = self.edge / self.cell.1.max(1) / self.repeat.max(1);
        let cols = if self.columns == 2 { across.saturating_sub(GUTTER) / 2 } else { across };
        Grid { cols, rows, columns: self.columns }
    }
}

/// Cells between the columns of two.
pub const GUTTER: u32 = 3;

/// Cells of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Cells of a row; of one column's row where there are two.
    pub cols: u32,
    /// Rows of text.
    pub rows: u32,
    /// 1 or 2.
    pub columns: u32,
}

impl Grid {
    /// Cells of a frame.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.columns as usize * self.cols as usize * self.rows as usize
    }

    /// Lines of a frame.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.columns as usize * self.rows as usize
    }
}

/// The hint that makes a provider look at every pixel, where it has one.
#[must_use]
pub fn detail(api: Api) -> Option<&'static str> {
    (api == Api::OpenAi).then_some("original")
}

/// Which of the two tables is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Dense.
    Auto,
    /// Easy to read.
    Legible,
}

/// The shape for a model. `model` is `provider/id` or an id; the first rule that its id matches counts, else the
/// family that carries its requests.
#[must_use]
pub fn choose(choice: Choice, model: &str, api: Api) -> Shape {
    let id = model.to_ascii_lowercase();
    let has = |part: &str| id.contains(part);
    let (name, edge) = match choice {
        Choice::Auto => match () {
            () if has("claude") && (has("fable") || has("mythos") || is_late_opus(&id)) => ("6x12-dim", 1932),
            () if has("claude") => ("6x12-dim", EDGE),
            () if has("gemini") => ("doc-8on16-sent-dim", 2048),
            () if has("gpt") || has("codex") || has("kimi") || has("glm") => ("8on16-bw", EDGE),
            () => match api {
                Api::Anthropic | Api::Unknown => ("6x12-dim", EDGE),
                Api::Google => ("doc-8on16-sent-dim", EDGE),
                Api::OpenAi => ("8on16-bw", EDGE),
            },
        },
        Choice::Legible => match () {
            () if has("claude") && (has("fable") || has("mythos") || is_late_opus(&id)) => ("11on16-bw", 1932),
            () if has("claude") => ("11on16-bw", EDGE),
            () if has("gemini") => ("8on22-bw", 2048),
            () if has("gpt") || has("codex") || has("kimi") => ("8on22-bw", EDGE),
            () if has("glm") => ("8on16-bw", EDGE),
            () if api == Api::Anthropic => ("11on16-bw", EDGE),
            () => ("8on22-bw", EDGE),
        },
    };
    Shape { edge, ..Shape::of(name).unwrap_or(PLAIN) }
}

/// Opus 4.7 or later: the version is parsed, so that 4.10 and 5 are later too.
fn is_late_opus(id: &str) -> bool {
    let Some((_, after)) = id.split_once("opus") else { return false };
    let mut numbers = after.trim_start_matches(['-', '.']).split(['-', '.', '@', ':']);
    let mut next = || numbers.next().filter(|n| n.len() < 4).and_then(|n| n.parse::<u32>().ok());
    let (Some(major), minor) = (next(), next()) else { return false };
    (major, minor.unwrap_or(0)) >= (4, 7)
}

/// Share of wide characters above which a shape with low cells gives way to one that draws them whole.
const WIDE_SHARE: f64 = 0.02;

/// The shape that takes the place of `shape` for text with many wide characters.
#[must_use]
pub fn for_wide(shape: Shape, share: f64) -> Shape {
    if share <= WIDE_SHARE || shape.cell.1 >= 13 {
        return shape;
    }
    Shape { edge: shape.edge, slashed_zero: shape.slashed_zero, ..PLAIN }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn grids_are_the_known_ones() {
        let grid = |name: &str, edge: u32| {
            let grid = Shape { edge, ..Shape::of(name).unwrap() }.grid();
            (grid.cols, grid.rows, grid.capacity())
        };
        assert_eq!(grid("6x12-dim", 1568), (261, 130, 33_930));
        assert_eq!(grid("6x12-dim", 1932), (322, 161, 51_842));
        assert_eq!(grid("8on16-bw", 1568), (196, 98, 19_208));
        assert_eq!(grid("8on22-bw", 1568), (196, 71, 13_916));
        assert_eq!(grid("8on22-bw", 2048), (256, 93, 23_808));
        assert_eq!(grid("11on16-bw", 1568), (142, 98, 13_916));
        assert_eq!(grid("11on16-bw", 1932), (175, 120, 21_000));
        assert_eq!(grid("8x13-bw", 1568), (196, 120, 23_520));
        assert_eq!(grid("8x8r-bw", 1568), (196, 98, 19_208));
        assert_eq!(grid("8x8u-sent", 1568), (196, 196, 38_416));
        assert_eq!(grid("6x6u-bw", 1568), (261, 261, 68_121));
        assert_eq!(grid("5x8-bw", 2576), (515, 322, 165_830));
        assert_eq!(grid("doc-8on16-bw", 1568), (96, 98, 18_816));
        assert_eq!(grid("doc-8on16-sent-dim", 2048), (126, 128, 32_256));
    }

    #[test]
    fn the_model_chooses_the_shape() {
        let both = |model: &str, api: Api| {
            [Choice::Auto, Choice::Legible].map(|choice| {
                let shape = choose(choice, model, api);
                format!("{}@{}", shape.name, shape.edge)
            })
        };
        let anthropic = Api::Anthropic;
        for late in [
            "claude-opus-4-7",
            "anthropic/claude-opus-4.8",
            "claude-opus-4-10",
            "Claude-Opus-5",
            "claude-fable-1",
            "claude-opus-4-9-20270101",
        ] {
            assert_eq!(both(late, anthropic), ["6x12-dim@1932", "11on16-bw@1932"], "{late}");
        }
        for other in ["claude-opus-4-6", "claude-sonnet-4-7", "claude-opus-4-20250514", "anthropic/claude-opus-4", "claude-3-opus-20240229"]
        {
            assert_eq!(both(other, anthropic), ["6x12-dim@1568", "11on16-bw@1568"], "{other}");
        }
        assert_eq!(both("google/gemini-3-pro", Api::Google), ["doc-8on16-sent-dim@2048", "8on22-bw@2048"]);
        assert_eq!(both("openai/gpt-5.1", Api::OpenAi), ["8on16-bw@1568", "8on22-bw@1568"]);
        assert_eq!(both("o9-codex", Api::OpenAi), ["8on16-bw@1568", "8on22-bw@1568"]);
        assert_eq!(both("moonshot/kimi-k3", Api::OpenAi), ["8on16-bw@1568", "8on22-bw@1568"]);
        assert_eq!(both("zai/glm-5", Api::OpenAi), ["8on16-bw@1568", "8on16-bw@1568"]);
        assert_eq!(both("x/unheard", Api::Google), ["doc-8on16-sent-dim@1568", "8on22-bw@1568"]);
        assert_eq!(both("x/unheard", Api::OpenAi), ["8on16-bw@1568", "8on22-bw@1568"]);
        assert_eq!(both("", Api::Unknown), ["6x12-dim@1568", "8on22-bw@1568"]);
    }

    #[test]
    fn text_in_ideographs_gets_cells_that_draw_them_whole() {
        let dense = Shape::of("6x12-dim").unwrap();
        assert_eq!(for_wide(dense, 0.02).name, "6x12-dim");
        assert_eq!(for_wide(dense, 0.021).name, "8on16-bw");
        assert_eq!(for_wide(Shape::of("11on16-bw").unwrap(), 1.0).name, "11on16-bw");
    }
}
