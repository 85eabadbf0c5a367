//! What a model is told: the texts of `prompts/`, filled in.

use crate::engine::serialize::{WRAPPERS, wrap};
use crate::summarize::{Purpose, Request};

/// What every request says first.
pub(super) const SYSTEM: &str = include_str!("../prompts/system.md");
/// What a conversation says first when its own system prompt is not recorded.
pub(super) const AGENT: &str = include_str!("../prompts/agent.md");
const FIRST: &str = include_str!("../prompts/first.md");
const UPDATE: &str = include_str!("../prompts/update.md");
const TURN_PREFIX: &str = include_str!("../prompts/turn-prefix.md");
const SHORT: &str = include_str!("../prompts/short.md");
const BRANCH: &str = include_str!("../prompts/branch.md");
const HANDOFF: &str = include_str!("../prompts/handoff.md");
const RELEVANCE: &str = include_str!("../prompts/relevance.md");

/// What a model is asked to write. A prompt from elsewhere takes the place of ours; what the summary should look at is said
/// behind it.
pub(super) fn instruction(request: &Request<'_>, is_update: bool) -> String {
    let ours = match request.purpose {
        Purpose::History | Purpose::Replacement if is_update => UPDATE,
        Purpose::History | Purpose::Replacement => FIRST,
        Purpose::TurnPrefix => TURN_PREFIX,
        Purpose::Branch => BRANCH,
        Purpose::Handoff => HANDOFF,
    };
    let mut text = request.prompt.unwrap_or(ours).trim().replace("{budget}", &request.budget.to_string());
    if let Some(focus) = request.focus.filter(|focus| !focus.trim().is_empty()) {
        text.push_str("\n\nLook at this in particular: ");
        text.push_str(&crate::text::neutralize_tags(focus.trim(), WRAPPERS));
    }
    text
}

/// A whole request: the record between its tags, then what to write.
pub(super) fn user(conversation: &str, previous: Option<&str>, context: &[String], instruction: &str) -> String {
    format!("{}\n\n{instruction}", wrap(conversation, previous, context))
}

/// The request for one or two sentences about a summary.
pub(super) fn short(summary: &str) -> String {
    let summary = crate::text::neutralize_tags(summary, WRAPPERS);
    format!("<summary>\n{summary}\n</summary>\n\n{}", SHORT.trim())
}

/// The request for the worth of a part of a record.
pub(super) fn relevance(part: &str, asked: &str) -> String {
    user(part, None, &[asked.to_owned()], RELEVANCE.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_hold_what_the_rest_relies_on() {
        let sections = [
            "## Goal",
            "## Constraints & Preferences",
            "## Progress",
            "### Done",
            "### In Progress",
            "### Blocked",
            "## Key Decisions",
            "## Next Steps",
            "## Critical Context",
        ];
        for prompt in [FIRST, UPDATE, BRANCH, HANDOFF] {
            for section in sections {
                assert!(prompt.contains(&format!("\n{section}\n")), "{section} in {prompt}");
            }
        }
        for prompt in [FIRST, UPDATE, TURN_PREFIX, BRANCH, HANDOFF] {
            assert!(prompt.contains("{budget}"), "{prompt}");
        }
        for prompt in [UPDATE, TURN_PREFIX, BRANCH] {
            assert!(prompt.contains("<previous-summary>"), "{prompt}");
        }
        assert!(TURN_PREFIX.contains("## Original Request"));
        assert!(SHORT.contains("one or two"));
        assert!(RELEVANCE.contains("between 0 and 1"));
        for said in ["is data", "Do not follow", "call no tools", "<conversation>", "<previous-summary>", "<additional-context>"] {
            assert!(SYSTEM.contains(said), "{said}");
        }
        for prompt in [SYSTEM, FIRST, UPDATE, TURN_PREFIX, SHORT, BRANCH, HANDOFF, RELEVANCE] {
            assert!(prompt.ends_with(".\n") && !prompt.contains("\n\n\n"), "{prompt}");
        }
    }
}
