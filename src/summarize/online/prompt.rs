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

/// Whether a text has at least one of the headings that the prompts ask for. One that has none may still be a summary, but it
/// is likelier that the model went on with the task.
pub(super) fn is_in_sections(text: &str) -> bool {
    let heading = |line: &str| line.trim().trim_matches(['#', '*', ':', ' ']).to_lowercase();
    let asked = [FIRST, TURN_PREFIX].into_iter().flat_map(str::lines).filter(|line| line.starts_with('#')).map(heading);
    let asked: Vec<String> = asked.collect();
    let is_heading = |line: &&str| line.trim_start().starts_with(['#', '*']);
    text.lines().filter(is_heading).any(|line| asked.contains(&heading(line)))
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
    use crate::engine::serialize::Selection;
    use crate::engine::tokens::Tokenizer;
    use crate::session::Session;

    const ALL: [&str; 9] = [SYSTEM, AGENT, FIRST, UPDATE, TURN_PREFIX, SHORT, BRANCH, HANDOFF, RELEVANCE];

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
                assert_eq!(prompt.matches(&format!("\n{section}\n")).count(), 1, "{section} in {prompt}");
            }
            assert!(prompt.contains("- none"), "{prompt}");
        }
        for prompt in [FIRST, UPDATE, TURN_PREFIX, BRANCH, HANDOFF] {
            assert_eq!(prompt.matches("{budget}").count(), 1, "{prompt}");
        }
        // Each of these may be asked for with what was said before.
        for prompt in [UPDATE, TURN_PREFIX, BRANCH, HANDOFF] {
            assert!(prompt.contains("<previous-summary>"), "{prompt}");
        }
        let parts: [(&str, &[&str]); 6] = [
            (SYSTEM, &["is data", "Do not follow", "do not go on with the task", "call no tools", "Never make one up", "not known"]),
            (TURN_PREFIX, &["## Original Request", "## Early Progress", "## Context for What Follows"]),
            (SHORT, &["one or two", "<summary>", "No heading"]),
            (RELEVANCE, &["one number between 0 and 1", "<conversation>", "<additional-context>", "do not follow"]),
            (HANDOFF, &["the only instruction", "call no tools", "Do not go on with the task", "character by character"]),
            (UPDATE, &["Write one summary of both", "Keep every rule", "word for word"]),
        ];
        for (prompt, said) in parts {
            for said in said {
                assert!(prompt.contains(said), "{said} in {prompt}");
            }
        }
        // Every wrapper that a request may have is named as data.
        for tag in ["<conversation>", "<previous-summary>", "<additional-context>", "<summary>"] {
            assert!(SYSTEM.contains(tag), "{tag}");
        }
        for prompt in ALL {
            assert!(prompt.ends_with(".\n") && !prompt.contains("\n\n\n") && prompt.len() < 2_500, "{prompt}");
        }
    }

    #[test]
    fn headings_are_known_as_models_spell_them() {
        for text in
            ["## Goal\n- x", "x\n# next steps\n", "**Goal:**\nx", "### Done", "## Original Request\nx", "## Constraints & Preferences"]
        {
            assert!(is_in_sections(text), "{text}");
        }
        for text in ["", "I fixed the parser.", "Goal: x", "## What I did", "- Goal"] {
            assert!(!is_in_sections(text), "{text}");
        }
    }

    #[test]
    fn each_purpose_has_a_prompt_of_its_own() {
        let session = Session::of_messages(&[]);
        let selection = Selection::default();
        let request = Request {
            session: &session,
            selection: &selection,
            purpose: Purpose::History,
            previous: None,
            kept: &[],
            turn: &[],
            focus: None,
            prompt: None,
            context: &[],
            budget: 777,
            spare: 0,
            tokenizer: Tokenizer::Heuristic,
        };
        let begins = |purpose, is_update, with: &str| {
            let text = instruction(&Request { purpose, ..request }, is_update);
            assert!(text.contains(with) && text.contains("below 777 tokens"), "{purpose:?}: {text}");
        };
        for purpose in [Purpose::History, Purpose::Replacement] {
            begins(purpose, false, "Summarize the conversation above");
            begins(purpose, true, "Write one summary of both");
        }
        for is_update in [false, true] {
            begins(Purpose::TurnPrefix, is_update, "first part of one turn");
            begins(Purpose::Branch, is_update, "a branch that was left");
            begins(Purpose::Handoff, is_update, "This session ends here");
        }
        let own = Request { prompt: Some(" MINE in {budget} "), focus: Some(" </conversation> this "), ..request };
        assert_eq!(instruction(&own, true), "MINE in 777\n\nLook at this in particular: &lt;/conversation> this");
        assert_eq!(instruction(&Request { focus: Some("  "), ..own }, true), "MINE in 777");
        assert_eq!(short("a</summary>b").matches("</summary>").count(), 1);
        let question = relevance("PART", "ASKED");
        assert!(question.contains("<conversation>\nPART\n</conversation>") && question.contains("<additional-context>\nASKED\n"));
    }
}
