//! How the model that gets the frames is told to read them.
//!
//! A frame is read well only by a reader who knows its grid, what its marks and colours mean, and what is missing.

use super::archive::{Composed, tail_chars};
use super::shape::{Ink, Shape};
use crate::session::frames::{Archive, Frame};
use crate::text::grouped;

/// What a reader is told of blanks and line ends.
const NEWLINE_NOTE: &str = "Runs of blanks are one blank; a black cell is the end of a line, whatever the indentation after it was.";

/// What stands before a text tail.
pub const TAIL_HEADING: &str = "[History continued as text]";

/// The text that stands before the frames. `dims_results` tells whether tool output is gray.
#[must_use]
pub fn text(composed: &Composed, dims_results: bool) -> String {
    let archive = &composed.archive;
    let Some(shape) = composed.shape.filter(|_| !archive.frames.is_empty()) else {
        return "There is no earlier history on frames: nothing was archived.".to_owned();
    };
    let count = archive.frames.len();
    let mut lines = vec![format!(
        "The earlier history of this session stands on the {} that {}, oldest first. Read {} as text: everything on {} was said and done before what comes next.",
        if count == 1 { "picture".to_owned() } else { format!("{count} pictures") },
        if count == 1 { "follows" } else { "follow" },
        if count == 1 { "it" } else { "them" },
        if count == 1 { "it" } else { "them" },
    )];
    lines.push(format!("How to read {}:", if composed.kept > 0 { "the newest ones" } else { "them" }));
    lines.extend(rules(&shape, dims_results).into_iter().map(|rule| format!("- {rule}")));
    if archive.frames.iter().take(composed.kept).any(|frame| differs(frame, &shape)) {
        lines.push("- Older pictures have other cells or columns; each is read by its own grid:".to_owned());
        lines.extend(groups(archive).into_iter().map(|group| format!("  - {group}")));
    }
    if composed.has_digest {
        lines.push("- The first picture opens with a summary of what came before it, under [Summary of earlier history].".to_owned());
    }
    if archive.truncated_chars > 0 {
        lines.push(format!(
            "- {} characters did not fit and are missing; the gap is right after the first picture.",
            grouped(archive.truncated_chars)
        ));
    }
    lines.push(format!(
        "The pictures hold {} characters. Where something cannot be read, look it up again in the workspace instead of guessing: the files are the truth, and what is on the pictures may have changed since.",
        grouped(archive.total_chars)
    ));
    if archive.text_tail.is_some() {
        lines.push(format!("The newest part of the history found no place on them and follows behind them as text: {TAIL_HEADING}"));
    }
    lines.join("\n")
}

fn rules(shape: &Shape, dims_results: bool) -> Vec<String> {
    let grid = shape.grid();
    let (width, height) = shape.cell;
    let mut rules = vec![if grid.columns == 2 {
        format!(
            "Cells of {width}x{height} pixels in two columns of {} x {} cells each; read the left column down, then the right one. Words are wrapped at the column's edge.",
            grid.cols, grid.rows
        )
    } else {
        format!(
            "Cells of {width}x{height} pixels, {} columns x {} rows; read each row from left to right, the rows from top to bottom. Words are not wrapped: one that meets the right edge goes on in the next row.",
            grid.cols, grid.rows
        )
    }];
    rules.push(NEWLINE_NOTE.to_owned());
    rules.push(match shape.ink {
        Ink::Sentences => "The ink changes with each sentence, through six hues; the hue itself means nothing.".to_owned(),
        Ink::Black => "Text is printed in plain black.".to_owned(),
    });
    if shape.dims_stopwords {
        rules.push("Function words (the, of, and, ...) are gray.".to_owned());
    }
    if dims_results {
        rules.push("Output of tools is gray.".to_owned());
    }
    if shape.repeat > 1 {
        rules.push("Each line is printed twice; the copy stands below it on pale yellow.".to_owned());
    }
    rules.push("Who speaks is told by tags: [User]: the person, [Assistant]: what you said, [Think]: what you thought, [Tool Call]: tools you called, [Tool Result]: what they gave back.".to_owned());
    rules
}

fn differs(frame: &Frame, shape: &Shape) -> bool {
    let grid = shape.grid();
    (frame.cols, frame.rows, frame.variant.as_str(), frame.line_repeat, frame.columns, frame.stopword_dim)
        != (grid.cols, grid.rows, shape.ink.name(), shape.repeat, shape.columns, shape.dims_stopwords)
}

/// The grids of the frames, runs of equal ones together.
fn groups(archive: &Archive) -> Vec<String> {
    let grid = |frame: &Frame| {
        let ink = if frame.variant == "sent" { "six hues" } else { "black" };
        let columns = if frame.columns == 2 { "two columns of " } else { "" };
        format!("{columns}{} x {} cells, {ink}{}", frame.cols, frame.rows, if frame.line_repeat > 1 { ", each line twice" } else { "" })
    };
    let mut groups: Vec<(usize, usize, String)> = Vec::new();
    for (at, frame) in archive.frames.iter().enumerate() {
        match groups.last_mut() {
            Some((_, to, same)) if *same == grid(frame) => *to = at + 1,
            _ => groups.push((at + 1, at + 1, grid(frame))),
        }
    }
    let name = |(from, to, grid): (usize, usize, String)| {
        if from == to { format!("picture {from}: {grid}") } else { format!("pictures {from} to {to}: {grid}") }
    };
    groups.into_iter().map(name).collect()
}

/// One line for lists.
#[must_use]
pub fn short(archive: &Archive) -> String {
    let frames = archive.frames.len();
    let mut text = format!(
        "{} characters of history on {} {}",
        grouped(archive.total_chars),
        grouped(frames as u64),
        if frames == 1 { "picture" } else { "pictures" }
    );
    if archive.text_tail.is_some() {
        text.push_str(&format!(", {} more as text", grouped(tail_chars(archive))));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::frames::archive::{Order, compose};
    use crate::models::Api;

    fn composed(name: &str, previous: Option<Archive>, text: &str, max_frames: usize) -> Composed {
        let shape = Shape { edge: 328, ..Shape::of(name).unwrap() };
        let order =
            Order { text: text.to_owned(), previous, previous_summary: None, shape, flexible: false, api: Api::Anthropic, max_frames };
        compose(order).unwrap()
    }

    #[test]
    fn every_element_that_a_reader_needs_is_told() {
        let long = "one two three. four! ".repeat(40);
        let made = composed("8on16-bw", None, &long, 8);
        let guide = text(&made, true);
        for needed in [
            "2 pictures that follow, oldest first",
            "8x16 pixels",
            "41 columns x 20 rows",
            "left to right",
            "top to bottom",
            "not wrapped",
            "blanks",
            "black",
            "end of a line",
            "plain black",
            "Output of tools is gray",
            "[User]:",
            "[Assistant]:",
            "[Think]:",
            "[Tool Call]:",
            "[Tool Result]:",
            "839 characters",
            "workspace",
        ] {
            assert!(guide.contains(needed), "{needed}: {guide}");
        }
        for not in
            ["two columns", "six hues", "Function words", "twice", "Older pictures", "summary of what came before", "missing", TAIL_HEADING]
        {
            assert!(!guide.contains(not), "{not}: {guide}");
        }
        assert!(!text(&made, false).contains("Output of tools"));
        assert_eq!(short(&made.archive), "839 characters of history on 2 pictures");
    }

    #[test]
    fn columns_hues_copies_and_gray_words_are_told_where_they_are() {
        let doc = text(&composed("doc-8on16-sent-dim", None, "a b. c d.", 8), true);
        for needed in
            ["two columns of 19 x 20 cells", "left column down, then the right", "six hues", "Function words", "the picture that follows"]
        {
            assert!(doc.contains(needed), "{needed}: {doc}");
        }
        assert!(text(&composed("8x8r-bw", None, "a b", 8), true).contains("printed twice"));
    }

    #[test]
    fn s14_older_frames_are_read_by_their_own_grid() {
        let old = composed("doc-8on16-sent-dim", None, "a b. c d.", 8).archive;
        let guide = text(&composed("6x12-dim", Some(old), &"x ".repeat(3_000), 8), true);
        assert!(guide.contains("54 columns x 27 rows"), "{guide}");
        assert!(guide.contains("picture 1: two columns of 19 x 20 cells, six hues"), "{guide}");
        assert!(guide.contains("pictures 2 to 6: 54 x 27 cells, black"), "{guide}");
    }

    #[test]
    fn what_is_missing_and_what_follows_is_told() {
        let made = composed("8on16-bw", None, &"word ".repeat(2_000), 2);
        let guide = text(&made, true);
        assert!(guide.contains("characters did not fit"), "{guide}");
        assert!(guide.contains("right after the first picture") && guide.contains(TAIL_HEADING), "{guide}");
        assert!(short(&made.archive).contains("more as text"));
        assert!(text(&composed("8on16-bw", None, "", 2), true).contains("nothing was archived"));
    }
}
