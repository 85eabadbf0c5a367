//! The history of real and random sessions, printed and read back.
//!
//! Every session takes part, and every shape; which session is printed in which shape goes round. With
//! `EPITOME_EVERY_FRAME=1` every session is printed whole and in every shape, which takes an optimized build.

use std::path::{Path, PathBuf};

use epitome::engine::serialize::{Budgets, Form, select, serialize};
use epitome::frames::normalize::normalize;
use epitome::frames::print::print;
use epitome::frames::shape::SHAPES;
use epitome::frames::{layout, read};
use epitome::session::{Session, Source};

/// Characters of a session that are printed when not everything is.
const SOME: usize = 60_000;

fn sessions() -> Vec<PathBuf> {
    let shared = std::env::var_os("EPITOME_SHARED").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let mut files: Vec<PathBuf> = [shared.join("corpus"), shared.join("corpus/synth")]
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

/// The history of a session's active path as it is printed; nothing for files that are no session.
fn history(file: &Path) -> String {
    let Ok(session) = Session::open(Source::memory(std::fs::read(file).unwrap())) else { return String::new() };
    let path = session.active_path().entries;
    let messages: Vec<_> = path.iter().copied().filter(|ix| session[*ix].is_message()).collect();
    let form = Form { frames: Some(Budgets::default()), ..Form::default() };
    serialize(&session, &select(&session, &path, &messages).unwrap(), form).unwrap()
}

#[test]
fn the_history_of_every_session_reads_back_in_every_shape() {
    let files = sessions();
    if files.is_empty() {
        println!("skipped: no sessions beside the project");
        return;
    }
    let whole = std::env::var_os("EPITOME_EVERY_FRAME").is_some();
    let (mut texts, mut frames) = (0, 0);
    let mut unread = vec![true; SHAPES.len()];
    for file in &files {
        let mut text = history(file);
        if !whole && let Some((end, _)) = text.char_indices().nth(SOME) {
            text.truncate(end);
        }
        if text.is_empty() {
            continue;
        }
        for (n, shape) in SHAPES.iter().enumerate().filter(|(n, _)| whole || *n == texts % SHAPES.len()) {
            let printable = normalize(&text, &shape.pen());
            let mut pages = layout::pages(&printable.text, shape, shape.grid().rows);
            layout::finish(&mut pages, shape);
            // Each is read back cell by cell as it is printed.
            let pictures = print(&pages, shape).unwrap_or_else(|e| panic!("{} {}: {e}", file.display(), shape.name));
            assert_eq!(pictures.len(), pages.len());
            // And without knowing what stands there, by who has nothing but the picture.
            for (picture, page) in pictures.iter().zip(&pages).filter(|_| !shape.scaled) {
                let read::Pixels::Raster(raster) = read::decode(&picture.png).unwrap() else { panic!("{}: full colour", shape.name) };
                let reading = read::read(&raster, shape, &epitome::frames::font::Lens::of(shape.pen()));
                assert_eq!(reading.unknown, 0, "{} {}: {page}", file.display(), shape.name);
            }
            frames += pictures.len();
            unread[n] = false;
        }
        texts += 1;
    }
    println!("{frames} frames of {texts} sessions");
    assert!(texts < SHAPES.len() || !unread.contains(&true), "a shape was left out");
}
