//! What entries carry of history that was printed on pictures ("frames").
//!
//! Two carriers: `preserveData.snapcompact` of a compaction, which oh-my-pi puts back behind the summary, and one
//! `custom_message` behind the compaction, for readers that know no such data but send every message's images.

use std::borrow::Cow;
use std::path::Path;

use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::images;
use super::json::Json;
use super::message::{Block, blocks};
use crate::models::Api;

/// `customType` of a message that carries frames, and the key of the data in a compaction.
pub const KEY: &str = "snapcompact";

/// One page of history as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// Base64, or `blob:sha256:…`.
    pub data: String,
    /// The media type.
    pub mime: String,
    /// Cells of a row; of one column's row where there are two.
    pub cols: u32,
    /// Rows that a full frame has.
    pub rows: u32,
    /// Characters that are printed, in UTF-16 units.
    pub chars: u64,
    /// The font's name.
    pub font: String,
    /// `bw` or `sent`.
    pub variant: String,
    /// How often each row is printed.
    pub line_repeat: u32,
    /// 1 or 2.
    pub columns: u32,
    /// Whether stopwords are gray.
    pub stopword_dim: bool,
    /// A hint for the provider.
    pub detail: Option<String>,
    /// Tokens that are billed, where the writer noted them.
    pub billed: Option<u64>,
}

/// All frames of an entry, and the text beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive {
    /// The frames, oldest first.
    pub frames: Vec<Frame>,
    /// Characters on them.
    pub total_chars: u64,
    /// Characters that were left out over time.
    pub truncated_chars: u64,
    /// The whole normalised source, where it was kept.
    pub text: Option<String>,
    /// Text that comes before the frames.
    pub text_head: Option<String>,
    /// Text that comes after them.
    pub text_tail: Option<String>,
}

/// The edge that is taken for a frame whose picture does not tell it.
const USUAL_EDGE: u32 = 1568;

impl Frame {
    /// A stored frame; `None` when a reader would not take it for one.
    fn parse(json: &Json<'_>) -> Option<Frame> {
        let number = |key: &str| json.get(key).amount();
        let text = |key: &str| json.get(key).str().map(str::to_owned);
        Some(Frame {
            data: text("data").filter(|data| !data.is_empty())?,
            mime: text("mimeType")?,
            cols: u32::try_from(number("cols")?).ok()?,
            rows: u32::try_from(number("rows")?).ok()?,
            chars: number("chars")?,
            // Before these were stored there was one kind only.
            font: text("font").unwrap_or_else(|| "5x8".to_owned()),
            variant: text("variant").unwrap_or_else(|| "sent".to_owned()),
            line_repeat: number("lineRepeat").and_then(|n| u32::try_from(n).ok()).unwrap_or(1).max(1),
            columns: if number("columns") == Some(2) { 2 } else { 1 },
            stopword_dim: json.get("stopwordDim").is_true(),
            detail: text("detail"),
            billed: number("billedTokens"),
        })
    }

    fn to_json(&self, with_data: bool) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
        if with_data {
            put("data", self.data.clone().into());
        }
        put("mimeType", self.mime.clone().into());
        put("cols", self.cols.into());
        put("rows", self.rows.into());
        put("chars", self.chars.into());
        put("font", self.font.clone().into());
        put("variant", self.variant.clone().into());
        put("lineRepeat", self.line_repeat.into());
        if self.columns == 2 {
            put("columns", 2.into());
        }
        if self.stopword_dim {
            put("stopwordDim", true.into());
        }
        if let Some(detail) = &self.detail {
            put("detail", detail.clone().into());
        }
        if let Some(billed) = self.billed {
            put("billedTokens", billed.into());
        }
        out.into()
    }

    /// The frame with the bytes that its data names, where they are externalized, there, and whole.
    #[must_use]
    pub fn with_data(&self, blobs: Option<&Path>) -> Frame {
        let named = images::blob_hash(&self.data).zip(blobs);
        let bytes = named.and_then(|(hash, folder)| {
            let bytes = std::fs::read(folder.join(hash)).ok()?;
            (HEXLOWER.encode(&Sha256::digest(&bytes)) == hash).then_some(bytes)
        });
        match bytes {
            Some(bytes) => Frame { data: BASE64.encode(&bytes), ..self.clone() },
            None => self.clone(),
        }
    }

    /// Width of the picture in pixels, when the data is a PNG.
    #[must_use]
    pub fn edge(&self) -> Option<u32> {
        let head = BASE64.decode(self.data.get(..32)?.as_bytes()).ok()?;
        let width = head.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?.first_chunk()?;
        Some(u32::from_be_bytes(*width))
    }

    /// Tokens that are billed for it: as noted, else by the hint that only one family knows, else as the dearest family does.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let api = if self.detail.as_deref() == Some("original") { Api::OpenAi } else { Api::Anthropic };
        self.billed.unwrap_or_else(|| api.frame_tokens(self.edge().unwrap_or(USUAL_EDGE)))
    }
}

impl Archive {
    /// The archive of a compaction's `preserveData`; `None` when there is none, or nothing in it that a reader would take.
    #[must_use]
    pub fn parse(preserve_data: &Json<'_>) -> Option<Archive> {
        let json = preserve_data.get(KEY);
        let frames: Vec<Frame> = json.get("frames").items().iter().filter_map(Frame::parse).collect();
        Archive::with(frames, json)
    }

    fn with(frames: Vec<Frame>, json: &Json<'_>) -> Option<Archive> {
        let text = |key: &str| json.get(key).str().filter(|text| !text.is_empty()).map(str::to_owned);
        let archive = Archive {
            frames,
            total_chars: json.get("totalChars").amount().unwrap_or(0),
            truncated_chars: json.get("truncatedChars").amount().unwrap_or(0),
            text: text("text"),
            text_head: text("textHead"),
            text_tail: text("textTail"),
        };
        (!archive.frames.is_empty() || archive.text.is_some() || archive.text_head.is_some()).then_some(archive)
    }

    /// The archive that a message behind a compaction carries; `None` when the message carries none.
    #[must_use]
    pub fn carried(record: &Json<'_>) -> Option<Archive> {
        let json = record.get("details").get(KEY);
        if record.get("customType").str() != Some(KEY) || !json.is_some() {
            return None;
        }
        let pictures = blocks(record.get("content"));
        let pictures = pictures.iter().filter_map(|block| match block {
            Block::Image { data, mime } => Some((data, mime)),
            _ => None,
        });
        let notes = json.get("frames").items().iter();
        let frames = notes.zip(pictures).filter_map(|(note, (data, mime))| {
            let mut note = note.clone();
            if let Json::Object(members) = &mut note {
                members.push(("data".into(), Json::Str(data.clone())));
                members.push(("mimeType".into(), Json::Str(mime.clone())));
            }
            Frame::parse(&note)
        });
        Archive::with(frames.collect(), json)
    }

    /// The archive as JSON; without the frames' data where that stands in the blocks of a message.
    #[must_use]
    pub fn to_json(&self, with_data: bool) -> Value {
        let mut out = Map::new();
        out.insert("frames".to_owned(), self.frames.iter().map(|frame| frame.to_json(with_data)).collect());
        out.insert("totalChars".to_owned(), self.total_chars.into());
        out.insert("truncatedChars".to_owned(), self.truncated_chars.into());
        for (key, text) in [("text", &self.text), ("textHead", &self.text_head), ("textTail", &self.text_tail)] {
            if let Some(text) = text {
                out.insert(key.to_owned(), text.clone().into());
            }
        }
        out.into()
    }
}

/// Text of an archive as a person and a model read it: line ends as such, no marks of gray.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\u{e}' | '\u{f}')).map(|c| if c == '\u{2588}' { '\n' } else { c }).collect()
}

/// What stands behind the summary of a compaction: the text before the frames, the frames, the text after them.
pub(super) fn of_summary<'a>(record: &Json<'a>) -> Vec<Block<'a>> {
    let Some(archive) = Archive::parse(record.get("preserveData")) else { return Vec::new() };
    let text = |text: &Option<String>| text.as_deref().map(plain);
    let mut out: Vec<Block<'a>> = text(&archive.text_head).map(|head| Block::Text(head.into())).into_iter().collect();
    out.extend(archive.frames.iter().map(block));
    // The first writers put the tail into the summary as well.
    let summary = record.get("summary").str().unwrap_or_default();
    let shown = summary.split("<files>").next().unwrap_or_default().trim_end();
    out.extend(text(&archive.text_tail).filter(|tail| !shown.ends_with(tail.trim_end())).map(|tail| Block::Text(tail.into())));
    out
}

/// The blocks of a message that carries frames; `None` when it carries none.
pub(super) fn of_carrier<'a>(record: &Json<'a>) -> Option<Vec<Block<'a>>> {
    let archive = Archive::carried(record)?;
    let mut frames = archive.frames.iter().map(block);
    let with_tokens = |old: Block<'a>| match old {
        Block::Image { .. } => frames.next().unwrap_or(old),
        old => old,
    };
    Some(blocks(record.get("content")).into_iter().map(with_tokens).collect())
}

fn block<'a>(frame: &Frame) -> Block<'a> {
    Block::Frame { mime: Cow::Owned(frame.mime.clone()), data: Cow::Owned(frame.data.clone()), tokens: frame.tokens() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::session::{Kind, Message};

    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAABiAAAAAQAQMAAAA=";

    fn message(kind: Kind, text: &str) -> String {
        let json = Json::parse(text).unwrap();
        let blocks = Message::of(kind, &json).unwrap().blocks;
        let said = blocks.iter().map(|block| match block {
            Block::Text(text) => text.to_string(),
            Block::Frame { tokens, .. } => format!("<{tokens}>"),
            other => format!("{other:?}"),
        });
        said.collect::<Vec<_>>().join("|")
    }

    fn compaction(archive: &str) -> String {
        message(
            Kind::Compaction,
            &format!(r#"{{"summary":"S\n\nold\nTAIL\n\n<files>\na (Read)\n</files>","preserveData":{{"snapcompact":{archive}}}}}"#),
        )
    }

    #[test]
    fn frames_stand_behind_the_summary_and_cost_what_is_billed() {
        let frame = format!(r#"{{"data":"{PNG}","mimeType":"image/png","cols":261,"rows":130,"chars":9"#);
        let summary = "S\n\nold\nTAIL\n\n<files>\na (Read)\n</files>";
        assert_eq!(compaction(&format!(r#"{{"frames":[{frame}}}]}}"#)), format!("{summary}|<3293>"));
        assert_eq!(compaction(&format!(r#"{{"frames":[{frame},"detail":"original"}}]}}"#)), format!("{summary}|<2882>"));
        assert_eq!(compaction(&format!(r#"{{"frames":[{frame},"billedTokens":1120}}]}}"#)), format!("{summary}|<1120>"));
        let texts = r#""textHead":"a█b","textTail":"\u000ec\u000f█d""#;
        assert_eq!(compaction(&format!(r#"{{"frames":[{frame}}}],{texts}}}"#)), format!("{summary}|a\nb|<3293>|c\nd"));
        // A tail that the summary ends in is not shown twice.
        assert_eq!(compaction(&format!(r#"{{"frames":[{frame}}}],"textTail":"old█TAIL"}}"#)), format!("{summary}|<3293>"));
    }

    #[test]
    fn what_no_reader_takes_for_a_frame_is_none() {
        for bad in [r#"{"data":"","mimeType":"image/png","cols":1,"rows":1,"chars":1}"#, r#"{"data":"x","cols":1,"rows":1,"chars":1}"#, "7"]
        {
            let json = format!(r#"{{"snapcompact":{{"frames":[{bad}],"textTail":"gone with it"}}}}"#);
            assert_eq!(Archive::parse(&Json::parse(&json).unwrap()), None, "{bad}");
        }
    }

    #[test]
    fn s10_references_to_blobs_are_data_like_any() {
        let json = format!(
            r#"{{"snapcompact":{{"frames":[{{"data":"blob:sha256:{}","mimeType":"image/png","cols":1,"rows":1,"chars":1}}]}}}}"#,
            "ab".repeat(32)
        );
        let archive = Archive::parse(&Json::parse(&json).unwrap()).unwrap();
        assert_eq!((archive.frames[0].edge(), archive.frames[0].tokens()), (None, 3_293));
    }

    #[test]
    fn an_archive_comes_back_as_it_was_written_by_both_carriers() {
        let frame = Frame {
            data: PNG.to_owned(),
            mime: "image/png".to_owned(),
            cols: 96,
            rows: 98,
            chars: 12,
            font: "8x13".to_owned(),
            variant: "sent".to_owned(),
            line_repeat: 1,
            columns: 2,
            stopword_dim: true,
            detail: Some("original".to_owned()),
            billed: Some(2_882),
        };
        let archive = Archive {
            frames: vec![frame],
            total_chars: 12,
            truncated_chars: 3,
            text: Some("t".to_owned()),
            text_head: None,
            text_tail: Some("z".to_owned()),
        };
        let stored = format!(r#"{{"snapcompact":{}}}"#, archive.to_json(true));
        assert_eq!(Archive::parse(&Json::parse(&stored).unwrap()), Some(archive.clone()));
        let carried = format!(
            r#"{{"customType":"snapcompact","content":[{{"type":"text","text":"how to read"}},{{"type":"image","data":"{PNG}","mimeType":"image/png"}}],"details":{{"snapcompact":{}}}}}"#,
            archive.to_json(false)
        );
        assert_eq!(Archive::carried(&Json::parse(&carried).unwrap()), Some(archive));
        assert_eq!(message(Kind::CustomMessage, &carried), "how to read|<2882>");
        // Any other message of an extension stays what it is.
        assert_eq!(message(Kind::CustomMessage, r#"{"customType":"snapcompact","content":"x"}"#), "x");
    }
}
