//! What is printed reads back, whatever it is and however it is printed; and what is changed does not.

use epitome::frames::font::{Face, Lens, Pen};
use epitome::frames::layout::{DIM_OFF, DIM_ON, finish, pages, sheet};
use epitome::frames::normalize::normalize;
use epitome::frames::read::{Pixels, ReadError, compare, decode, read, verify};
use epitome::frames::render::{draw, picture};
use epitome::frames::shape::{SHAPES, Shape};
use proptest::prelude::*;

fn small(shape: &Shape) -> Shape {
    Shape { edge: 30 * shape.cell.0.max(shape.cell.1), ..*shape }
}

/// Prints a text in full and reads every page back, knowing what is on it; returns what is read without knowing it.
fn round_trip(text: &str, shape: &Shape) -> String {
    let lens = Lens::of(shape.pen());
    let mut made = pages(text, shape, shape.grid().rows);
    finish(&mut made, shape);
    let mut out = String::new();
    for page in &made {
        let sheet = sheet(page, shape);
        let png = picture(&sheet, shape).unwrap().png;
        verify(&png, &sheet, shape, &lens).unwrap_or_else(|e| panic!("{}: {e}\n{page}", shape.name));
        let raster = match decode(&png).unwrap() {
            Pixels::Raster(raster) => raster,
            Pixels::Full(_) => draw(&sheet, shape),
        };
        let reading = read(&raster, shape, &lens);
        assert_eq!(reading.unknown, 0, "{}: {page}", shape.name);
        out.push_str(&reading.text);
        out.push('|');
    }
    out
}

/// A text as a reader can know it: each character the smallest that looks like it, two where both halves of a wide one look
/// like narrow ones, and no blanks that pages swallow.
fn known(text: &str, shape: &Shape, lens: &Lens) -> String {
    let pen = shape.pen();
    let halves = |c: char| {
        let rows = pen.wide(c).filter(|_| pen.cells(c) == 2)?;
        let left = lens.narrow(&rows.map(|row| row & (u32::MAX << (32 - pen.cell.0))))?;
        Some([left, lens.narrow(&rows.map(|row| row << pen.cell.0))?])
    };
    let plain = text.chars().filter(|c| !matches!(*c, DIM_ON | DIM_OFF | ' ' | '\n' | '█' | '|'));
    plain.flat_map(|c| halves(c).unwrap_or([lens.look(c), ' '])).filter(|c| !matches!(c, ' ' | '|')).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]
    #[test]
    fn any_text_reads_back_in_every_shape(text in "(\\PC|[ -~]|\\n|\u{e}[a-z ]{1,9}\u{f}|[\\p{Han}\\p{Hangul}\\p{Cyrillic}]){0,200}") {
        for shape in SHAPES {
            let shape = small(shape);
            let printable = normalize(&text, &shape.pen());
            let lens = Lens::of(shape.pen());
            // Where ideographs have to be shrunk, two of them side by side may look like others.
            let read = round_trip(&printable.text, &shape);
            if shape.pen().cell.1 >= 16 || !shape.pen().draws_wide() {
                prop_assert_eq!(known(&read, &shape, &lens), known(&printable.text, &shape, &lens), "{}", shape.name);
            }
        }
    }
}

#[test]
fn every_glyph_of_every_face_reads_back() {
    for face in Face::ALL {
        let shape = SHAPES.iter().find(|shape| shape.face == face && !shape.scaled && shape.columns == 1).unwrap();
        let pen = shape.pen();
        let all: String = pen.own_chars().filter(|c| *c != '█' && !c.is_whitespace()).collect();
        let shape = Shape { edge: 1568, ..*shape };
        round_trip(&all, &shape);
    }
}

#[test]
fn ideographs_read_back_where_they_are_drawn_whole() {
    let shape = Shape { edge: 1568, ..Shape::of("8on16-bw").unwrap() };
    let all: String = ('\u{4e00}'..='\u{9fff}').step_by(7).chain(('가'..='힣').step_by(11)).chain('ぁ'..='ん').collect();
    let printable = normalize(&all, &shape.pen());
    assert_eq!(printable.unreadable, 0);
    let lens = Lens::of(shape.pen());
    assert_eq!(known(&round_trip(&printable.text, &shape), &shape, &lens), known(&printable.text, &shape, &lens));
}

/// The left half of a vowel sign is a modifier letter, its right half is empty.
#[test]
fn half_a_wide_character_may_be_all_of_it() {
    let shape = Shape { edge: 320, ..Shape::of("8on16-bw").unwrap() };
    let lens = Lens::of(shape.pen());
    for text in ["\u{1a77}h", "\u{81d}q"] {
        let read = round_trip(text, &shape);
        assert_ne!(read.chars().next(), text.chars().next());
        assert_eq!(known(&read, &shape, &lens), known(text, &shape, &lens));
    }
}

/// A blank and the left half of the digit, or of the mark, look like another character.
#[test]
fn a_blank_before_a_wide_character_is_a_blank() {
    for (shape, text) in [("8x13-bw", "a \u{1a90}"), ("8on16-bw", "a \u{1a7f}")] {
        let shape = Shape { edge: 416, ..Shape::of(shape).unwrap() };
        let lens = Lens::of(shape.pen());
        let read = round_trip(text, &shape);
        assert_eq!(read.trim_end_matches('|'), text.chars().map(|c| lens.look(c)).collect::<String>());
    }
}

#[test]
fn one_pixel_more_or_less_is_found() {
    for shape in SHAPES.iter().filter(|shape| !shape.scaled) {
        let shape = small(shape);
        let lens = Lens::of(shape.pen());
        let mut made = pages("The quick brown fox. It jumps█over 0 and O, the lazy dog. Then rests.", &shape, shape.grid().rows);
        finish(&mut made, &shape);
        let sheet = sheet(&made[0], &shape);
        let raster = draw(&sheet, &shape);
        compare(&raster, &sheet, &shape, &lens).unwrap();
        let mut state = 7_usize;
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) % (raster.width * raster.height);
            let mut spoilt = raster.clone();
            spoilt.pixels[at] = if spoilt.pixels[at] == 0 { 7 } else { 0 };
            assert!(compare(&spoilt, &sheet, &shape, &lens).is_err(), "{}: pixel {at}", shape.name);
        }
        // Another colour is another meaning.
        let coloured = raster.pixels.iter().position(|pixel| *pixel == 7 || *pixel == 1).unwrap();
        let mut spoilt = raster.clone();
        spoilt.pixels[coloured] = 9;
        assert!(compare(&spoilt, &sheet, &shape, &lens).is_err(), "{}", shape.name);
    }
}

#[test]
fn a_whole_character_in_another_ink_is_found() {
    let shape = small(&Shape::of("8on16-bw").unwrap());
    let lens = Lens::of(shape.pen());
    let sheet = sheet("ab", &shape);
    let mut raster = draw(&sheet, &shape);
    let width = raster.width;
    for (at, pixel) in raster.pixels.iter_mut().enumerate().filter(|(_, pixel)| **pixel != 0) {
        *pixel = if at % width < 8 { 9 } else { *pixel };
    }
    assert!(matches!(compare(&raster, &sheet, &shape, &lens), Err(ReadError::Differs { row: 1, col: 1, .. })));
}

#[test]
fn a_picture_of_another_height_is_found() {
    let shape = small(&Shape::of("8on16-bw").unwrap());
    let lens = Lens::of(shape.pen());
    let blanks = " ".repeat(shape.grid().cols as usize + 1);
    let (one, two) = (sheet("a", &shape), sheet(&format!("a{blanks}"), &shape));
    for (drawn, wanted) in [(&one, &two), (&two, &one)] {
        let png = picture(drawn, &shape).unwrap().png;
        assert!(matches!(verify(&png, wanted, &shape, &lens), Err(ReadError::Size(..))));
    }
}

#[test]
fn a_scaled_picture_that_was_changed_is_found() {
    let shape = small(&Shape::of("6x6u-sent").unwrap());
    let lens = Lens::of(shape.pen());
    let sheet = sheet("One two. Three!", &shape);
    let png = picture(&sheet, &shape).unwrap().png;
    verify(&png, &sheet, &shape, &lens).unwrap();
    let mut image = image::load_from_memory(&png).unwrap().to_rgb8();
    image.get_pixel_mut(3, 3).0[1] ^= 1;
    let mut changed = std::io::Cursor::new(Vec::new());
    image.write_to(&mut changed, image::ImageFormat::Png).unwrap();
    assert!(matches!(verify(changed.get_ref(), &sheet, &shape, &lens), Err(ReadError::Stray(_))));
}

#[test]
fn s02_characters_that_are_confused_differ() {
    for face in Face::ALL {
        let pen = Pen { face, cell: face.size(), slashed_zero: true };
        let apart = |a: char, b: char| {
            let (a, b) = (pen.narrow(a).unwrap(), pen.narrow(b).unwrap());
            a.iter().zip(&b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
        };
        for group in ["0Oo", "1lI|", "5S", "8B", ".,:;", "'`\""] {
            for (n, a) in group.chars().enumerate() {
                for b in group.chars().skip(n + 1) {
                    let least = if matches!(face, Face::X5x8 | Face::X6x12) { 1 } else { 2 };
                    assert!(apart(a, b) >= least, "{}: {a} and {b} differ in {} pixels", face.name(), apart(a, b));
                }
            }
        }
    }
    // Without its slash a zero is closer to the letter.
    let zero = |slashed_zero: bool| Pen { face: Face::X8x13, cell: (8, 13), slashed_zero }.narrow('0');
    assert_ne!(zero(true), zero(false));
}

#[test]
fn s01_ideographs_have_pictures_of_their_own() {
    for name in ["6x12-dim", "8x13-bw", "8on16-bw", "11on16-bw", "wide16-bw"] {
        let pen = Shape::of(name).unwrap().pen();
        let rows = |c: char| pen.wide(c).or_else(|| pen.narrow(c)).unwrap();
        assert_ne!(rows('日'), rows('本'), "{name}");
        assert!(rows('日').iter().any(|row| *row != 0));
    }
    let pen = Shape::of("8on16-bw").unwrap().pen();
    let text: String = "中文字漢字かなカナ한글日本語".chars().cycle().take(2_000).collect();
    let made = normalize(&text, &pen);
    assert_eq!((made.unreadable, made.wide), (0, 2_000));
}

#[test]
fn s18_the_same_text_gives_the_same_file() {
    for shape in SHAPES {
        let shape = small(shape);
        let sheet = sheet("Again. And█again!", &shape);
        let (a, b) = (picture(&sheet, &shape).unwrap().png, picture(&sheet, &shape).unwrap().png);
        assert_eq!(a, b);
        let decoded = image::load_from_memory(&a).unwrap();
        assert_eq!(decoded.width(), shape.edge);
        // Nothing but what a picture needs: no time, no text.
        let mut at = 8;
        while at < a.len() {
            let len = u32::from_be_bytes(a[at..at + 4].try_into().unwrap()) as usize;
            let name = std::str::from_utf8(&a[at + 4..at + 8]).unwrap();
            assert!(["IHDR", "PLTE", "IDAT", "IEND"].contains(&name), "{name}");
            at += len + 12;
        }
    }
}

#[test]
fn s16_a_frame_is_no_higher_than_its_text() {
    for name in ["6x12-dim", "8on16-bw", "doc-8on16-sent-dim"] {
        let shape = Shape::of(name).unwrap();
        let page = &pages("one█two█three", &shape, shape.grid().rows)[0];
        assert!(picture(&sheet(page, &shape), &shape).unwrap().height < 100);
    }
}
