//! Archives of newer writers (18.2.3): text before and behind the frames, frames of two shapes, the dense ones in the middle.
//!
//! What differs here from what such a writer makes of its own archive, and why:
//! - it prints all anew each time, with fine frames at both ends and dense ones between; here all are of one shape, so that
//!   a guide describes one grid, and what was printed once is carried on as it is from then on;
//! - it keeps a frame's worth of text at both ends out of the frames; here all of it is printed, because text that is sent
//!   as text costs more than frames do;
//! - where there are too many pages it drops the oldest dense ones and cuts them out of the source; here the first page and
//!   the newest ones stay, and the source is kept whole.

use epitome::frames::archive::{Composed, Order, compose, read_frame};
use epitome::frames::shape::Shape;
use epitome::models::Api;
use epitome::session::frames::Archive;

fn shape(name: &str) -> Shape {
    Shape { edge: 176, ..Shape::of(name).unwrap() }
}

fn composed(text: &str, previous: Option<Archive>, name: &str, max_frames: usize) -> Composed {
    let order = Order {
        text: text.to_owned(),
        previous,
        previous_summary: None,
        shape: shape(name),
        flexible: false,
        api: Api::Anthropic,
        max_frames,
    };
    compose(order).unwrap()
}

/// As a newer writer leaves it, in its parts.
fn newer() -> Archive {
    let fine = composed("MIDDLE1 of the work.", None, "11on16-bw", 8).archive.frames;
    let dense = composed("MIDDLE2 of the work.", None, "8on16-bw", 8).archive.frames;
    let text = ["¶user:HEAD of it", "MIDDLE1 of the work.", "MIDDLE2 of the work.", "TAIL of \u{e}it\u{f}"].join("█");
    Archive {
        frames: [fine, dense].concat(),
        total_chars: 60,
        truncated_chars: 5,
        text: Some(text),
        text_head: Some("¶user:HEAD of it".to_owned()),
        text_tail: Some("TAIL of \u{e}it\u{f}".to_owned()),
    }
}

fn read(made: &Composed) -> String {
    made.archive.frames.iter().map(|frame| read_frame(frame).unwrap().text + "\n").collect()
}

fn in_order(text: &str, words: &[&str]) {
    let places: Vec<Option<usize>> = words.iter().map(|word| text.find(word)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{words:?} {places:?}: {text}");
    for word in words {
        assert_eq!(text.matches(word).count(), 1, "{word}: {text}");
    }
}

#[test]
fn all_parts_of_a_newer_archive_are_printed_anew() {
    let all = ["HEAD", "MIDDLE1", "MIDDLE2", "TAIL", "NEW"];
    let bare = Archive { text: None, ..newer() };
    let only_text = Archive { frames: Vec::new(), text_head: None, text_tail: None, ..newer() };
    let only_ends = Archive { frames: Vec::new(), text: None, ..newer() };
    for (archive, words) in [(newer(), &all[..]), (bare, &all), (only_text, &all), (only_ends, &["HEAD", "TAIL", "NEW"])] {
        let made = composed("[User]: NEW words", Some(archive), "6x12-dim", 8);
        assert_eq!((made.kept, made.evicted, made.archive.truncated_chars), (0, 0, 5));
        assert_eq!((made.archive.text_head.as_deref(), made.archive.text_tail.as_deref()), (None, None));
        in_order(&read(&made), words);
        in_order(made.archive.text.as_deref().unwrap(), words);
        assert_eq!(made.archive.frames[0].font, "6x12");
        // From then on its frames are carried on as they are.
        let again = composed("[User]: LATER words", Some(made.archive.clone()), "6x12-dim", 8);
        assert_eq!(again.kept, made.archive.frames.len());
        assert_eq!(again.archive.frames[0], made.archive.frames[0]);
        in_order(&read(&again), &[words, &["LATER"]].concat());
        in_order(again.archive.text.as_deref().unwrap(), &[words, &["LATER"]].concat());
    }
}

#[test]
fn of_too_many_pages_the_first_and_the_newest_are_printed_and_all_is_kept() {
    let middle = "filling of the middle ".repeat(80);
    let source = format!("HEAD of it {middle}");
    let archive = Archive { text: Some(source.clone()), ..newer() };
    let made = composed("[User]: NEW words", Some(archive), "8on16-bw", 3);
    assert_eq!(made.archive.frames.len(), 3);
    in_order(&read(&made), &["HEAD", "NEW"]);
    assert_eq!(made.archive.text.as_deref(), Some(format!("{}█[User]: NEW words", source.trim_end()).as_str()));
    // Every character of the source is printed or counted as missing.
    let whole = made.archive.text.as_deref().unwrap().chars().count() as u64;
    assert_eq!(made.archive.total_chars + made.archive.truncated_chars, whole + 5);
    let one = composed("[User]: NEW words", Some(Archive { text: Some(source), ..newer() }), "8on16-bw", 1);
    assert_eq!(one.archive.frames.len(), 1);
    in_order(&read(&one), &["HEAD"]);
}
