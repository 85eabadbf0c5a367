//! History that was printed on pictures: shown as it is, and as the text that its pixels say.
//!
//! A picture cannot be masked. So what it says is read back first, and where that holds something to be masked, or cannot be
//! told, the picture stays out of a masked export and its masked text stands alone.

use std::path::Path;

use super::mask::Mask;
use crate::frames::archive::read_frame;
use crate::session::Json;
use crate::session::frames::{Archive, plain};

/// What stands in place of a picture.
pub(super) const HIDDEN: &str = "a picture of earlier history, left out because it shows what is masked";
/// The same where nobody can tell what it shows.
const UNREAD: &str = "a picture of earlier history, left out because what it shows cannot be told";

/// One frame.
#[derive(Debug)]
pub(super) struct Page {
    /// The data as it is stored, which tells frames apart.
    data: String,
    /// What its pixels say, masked; or why that is not known.
    pub(super) text: Result<String, String>,
    /// What stands in place of the picture, when it is not to be shown.
    pub(super) hidden: Option<&'static str>,
}

/// The frames of one record.
#[derive(Debug, Default)]
pub(super) struct Pages {
    list: Vec<Page>,
    /// The text that was kept beside them, masked, when not all can be read.
    pub(super) kept: Option<String>,
}

impl Pages {
    /// Reads the frames that a record carries. What may not be shown is known to `mask` from then on.
    pub(super) fn of(record: &Json<'_>, blobs: Option<&Path>, mask: &Mask<'_>) -> Pages {
        let Some(archive) = Archive::parse(record.get("preserveData")).or_else(|| Archive::carried(record)) else {
            return Pages::default();
        };
        let mut read: Vec<Result<String, String>> = Vec::new();
        for frame in &archive.frames {
            let text = match read_frame(&frame.with_data(blobs)) {
                Ok(reading) => Ok(reading.text),
                Err(error) => Err(error.to_string()),
            };
            read.push(text);
        }
        let kept = archive.text.as_deref().map(plain);
        let unread = match &kept {
            // What was kept is the text of all frames.
            Some(text) if mask.leaves(text) => None,
            Some(_) => Some(HIDDEN),
            None if mask.is_on() => Some(UNREAD),
            None => None,
        };
        let joined = joined(&mut read, mask);
        let all_read = read.iter().all(Result::is_ok) && !read.is_empty();
        let list = archive.frames.iter().zip(read).zip(joined);
        let list: Vec<Page> = list
            .map(|((frame, text), joined)| {
                let hidden = match &text {
                    Ok(text) => (joined || !mask.leaves(text)).then_some(HIDDEN),
                    Err(_) => unread,
                };
                if hidden.is_some() {
                    mask.hide(&frame.data);
                }
                Page { data: frame.data.clone(), text: text.map(|text| mask.text(&text)), hidden }
            })
            .collect();
        Pages { list, kept: kept.filter(|_| !all_read).map(|text| mask.text(&text)) }
    }

    /// The frame with this data.
    pub(super) fn of_data(&self, data: &str) -> Option<&Page> {
        self.list.iter().find(|page| page.data == data)
    }
}

/// Puts the text of a frame to that of the next one where the end of one and the beginning of the other are one secret; tells
/// which frames that concerns.
fn joined(read: &mut [Result<String, String>], mask: &Mask<'_>) -> Vec<bool> {
    let mut joined = vec![false; read.len()];
    for at in 1..read.len() {
        let (before, from) = read.split_at_mut(at);
        let (Some(Ok(one)), Some(Ok(two))) = (before.last_mut(), from.first_mut()) else { continue };
        let both = format!("{one}{two}");
        if mask.finds(&both) > mask.finds(one) + mask.finds(two) {
            *two = both;
            one.clear();
            joined.iter_mut().skip(at - 1).take(2).for_each(|joined| *joined = true);
        }
    }
    joined
}
