//! History that was put on pictures comes back as the transcript that was printed on them. It is no summary: what was said in
//! it is read like the messages that it was made of, as far as their form is left.

/// Who speaks in a part of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// A summary of what came before.
    Summary,
    User,
    Assistant,
    Thought,
    Call,
    Result,
}

/// How parts begin, each on a line of its own.
const LABELS: [(&str, Who); 6] = [
    ("[Summary of earlier history] ", Who::Summary),
    ("[User]: ", Who::User),
    ("[Assistant]: ", Who::Assistant),
    ("[Think]: ", Who::Thought),
    ("[Tool Call]: ", Who::Call),
    ("[Tool Result]: ", Who::Result),
];

/// The parts of a transcript in their order; `None` for a text that begins like none.
pub(super) fn parts(text: &str) -> Option<Vec<(Who, &str)>> {
    let label = |line: &str| LABELS.iter().find(|(label, _)| line.starts_with(label)).map(|(label, who)| (label.len(), *who));
    let text = text.trim_start();
    label(text)?;
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        starts.extend(label(line).map(|(len, who)| (at, at + len, who)));
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, ..)| *start).chain([text.len()]);
    Some(starts.iter().zip(ends).map(|((_, body, who), end)| (*who, text.get(*body..end).unwrap_or_default().trim())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_told_from_a_summary() {
        let text = "[Summary of earlier history] ## Goal\n- x\n[User]: do it\nnow\n[Think]: hm\n[Assistant]: yes\n\n[Tool Call]: a(b=\"[User]: c\")\n[Tool Result]: d\n";
        let want = [
            (Who::Summary, "## Goal\n- x"),
            (Who::User, "do it\nnow"),
            (Who::Thought, "hm"),
            (Who::Assistant, "yes"),
            (Who::Call, "a(b=\"[User]: c\")"),
            (Who::Result, "d"),
        ];
        assert_eq!(parts(text).as_deref(), Some(&want[..]));
        for text in ["", "## Goal\n[User]: x", "Free text.", "- [User]: x"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
