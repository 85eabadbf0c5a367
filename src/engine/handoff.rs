//! The document with which a session goes on that was handed off: made, and known again when that session is compacted in
//! its turn, so that what it tells is taken on like any earlier summary.

use super::files::{Files, strip_tags};
use crate::session::{Message, Role};
use crate::text;

/// The type by which agents know the message.
pub const CUSTOM_TYPE: &str = "handoff";

/// What stands before the document; by it a document of ours is known again.
const INTRO: &str = "This session goes on with the work of an earlier one, which was handed off. What has to be known of it:";

/// The content of the message around a summary; holds no secrets.
#[must_use]
pub fn document(summary: &str, files: &Files) -> String {
    let tag = files.tag();
    let parts: Vec<&str> = [INTRO, summary.trim(), &tag].into_iter().filter(|part| !part.is_empty()).collect();
    text::masked(&parts.join("\n\n")).into_owned()
}

/// The summary in a message, when it is a document of ours.
#[must_use]
pub fn summary_of(message: &Message<'_>) -> Option<String> {
    if message.role != Role::Custom || message.custom_type.as_deref() != Some(CUSTOM_TYPE) {
        return None;
    }
    let text = message.text();
    Some(strip_tags(text.strip_prefix(INTRO)?).trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::session::Block;

    #[test]
    fn a_document_is_known_again_without_its_files() {
        let mut files = Files::default();
        files.add_details(&crate::session::Json::parse(r#"{"modifiedFiles":["src/a.rs"]}"#).unwrap());
        let content = document("## Goal\n- mend it\n", &files);
        assert!(content.starts_with(INTRO) && content.contains("a.rs (Write)"), "{content}");
        let message = |kind: &str, text: String| Message {
            custom_type: Some(kind.to_owned().into()),
            blocks: vec![Block::Text(text.into())],
            ..Message::empty(Role::Custom)
        };
        assert_eq!(summary_of(&message(CUSTOM_TYPE, content.clone())).unwrap(), "## Goal\n- mend it");
        assert_eq!(summary_of(&message("note", content)), None);
        assert_eq!(summary_of(&message(CUSTOM_TYPE, "of another program".to_owned())), None);
    }
}
