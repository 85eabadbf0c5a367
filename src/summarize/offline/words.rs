//! Sentences, and what a sentence is: a rule of the user, a decision, a plan, or chatter.
//!
//! Nobody can list every way to give an order, so the lists hold the common forms of a dozen languages; a sentence that
//! matches none is still carried as part of its request when there is room.

use std::borrow::Cow;

use super::phrases::{
    ALTERNATIVES, CAUSES, CHATTER, CHOICES, DECISIONS, DONE, HEDGES, NEXT, NO_ORDER, OPENERS, ORDERS, POINTING, REASONS, REPORTS, STRONG,
    VERBS, WISHES,
};

/// Bytes of a text that are looked at for sentences: more is a pasted file, not talk.
const TALK_BYTES: usize = 64 << 10;

/// The sentences of a text: split at line ends and after closing punctuation, list marks and emphasis taken off. Code
/// fences, tables and quotations are passed over.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut fenced = false;
    for line in crate::text::clip(text, TALK_BYTES).lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced || trimmed.starts_with('|') || trimmed.starts_with("> ") {
            continue;
        }
        split_line(unmark(trimmed), &mut out);
    }
    out
}

/// Takes list marks, heading marks and check boxes off the start of a line.
pub(super) fn unmark(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let before = rest;
        rest = rest.trim_start_matches('#').trim_start();
        for mark in ["- ", "* ", "+ ", "• ", "[x] ", "[X] ", "[ ] ", "[~] ", "☐ ", "☑ ", "✓ ", "✅ ", "❌ "] {
            rest = rest.strip_prefix(mark).unwrap_or(rest).trim_start();
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if (1..=3).contains(&digits)
            && let Some((_, tail)) = rest.split_at_checked(digits)
            && let Some(tail) = tail.strip_prefix(". ").or_else(|| tail.strip_prefix(") "))
        {
            rest = tail.trim_start();
        }
        if rest == before {
            return rest;
        }
    }
}

fn split_line<'t>(line: &'t str, out: &mut Vec<&'t str>) {
    let mut start = 0;
    let mut push = |from: usize, to: usize| {
        let sentence = line.get(from..to).unwrap_or_default().trim();
        if sentence.chars().nth(1).is_some() {
            out.push(sentence);
        }
    };
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let wide = matches!(c, '。' | '！' | '？');
        let closes =
            matches!(c, '.' | '!' | '?') && chars.peek().is_none_or(|(_, next)| next.is_whitespace()) && !abbreviates(line, start, at);
        if wide || closes {
            push(start, end);
            start = end;
        }
    }
    push(start, line.len());
}

/// Whether the dot at `at` belongs to a short form and ends no sentence.
fn abbreviates(line: &str, start: usize, at: usize) -> bool {
    let before = line.get(start..at).unwrap_or_default();
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf" | "z.B" | "bzw" | "Dr" | "Mr" | "Ms" | "No" | "approx")
        || word.chars().all(|c| c.is_ascii_digit())
}

/// Characters of scripts that are written without blanks between words.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{0e00}'..='\u{0e7f}' | '\u{20000}'..='\u{3ffff}')
}

/// How much a sentence of the user is a standing rule: 0 is not, 1 a wish, 2 an order, 3 a rule in so many words.
pub(super) fn rule_strength(sentence: &str) -> u8 {
    let chars = sentence.chars().count();
    let wide = sentence.chars().any(is_unspaced);
    if chars > 400 || chars < if wide { 4 } else { 8 } || looks_like_output(sentence) {
        return 0;
    }
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let lower = without_asides(&lower);
    let question = lower.trim_end().ends_with(['?', '？']);
    // What the user saw or thinks is no order, whatever words it has.
    let bare = OPENERS.split('|').fold(lower.trim_start(), |rest, lead| rest.strip_prefix(lead).unwrap_or(rest).trim_start());
    if REPORTS.split('|').any(|lead| bare.starts_with(lead)) {
        return 0;
    }
    if STRONG.is_in(&lower) {
        return if question { 1 } else { 3 };
    }
    // A nod with a remark behind it answers what the assistant said before, which nobody will see.
    if question || lower.starts_with("yes") || lower.starts_with("no, ") {
        return 0;
    }
    let excused = NO_ORDER.split('|').any(|word| lower.contains(word));
    let clauses = lower.split([',', ';', ':', '(']).map(str::trim_start);
    let ordered = clauses
        .map(|clause| {
            ["and ", "also ", "but ", "please ", "ok ", "so ", "then "]
                .iter()
                .fold(clause, |c, lead| c.strip_prefix(lead).unwrap_or(c).trim_start())
        })
        .any(|clause| {
            ORDERS.split('|').any(|order| {
                clause
                    .strip_prefix(order)
                    .is_some_and(|rest| order.ends_with(' ') || !rest.starts_with(|c: char| c.is_alphanumeric() && !is_unspaced(c)))
            })
        });
    if ordered && !excused {
        return 2;
    }
    u8::from(!excused && WISHES.is_in(&lower))
}

/// A text without what stands in parentheses.
fn without_asides(text: &str) -> String {
    let mut depth = 0_u32;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    if depth == 0 { out } else { text.to_owned() }
}

/// Whether a line is more likely pasted output than talk.
pub(super) fn looks_like_output(line: &str) -> bool {
    let odd = line.chars().filter(|c| matches!(c, '{' | '}' | '[' | ']' | ';' | '=' | '<' | '>' | '|' | '\\' | '│' | '─' | '"')).count();
    let chars = line.chars().count();
    let begins = ["+ ", "at ", "$ ", "> ", "➜", "%", "Error: ", "error: ", "error[", "npm ", "warning: ", "Traceback", "File \""]
        .iter()
        .any(|start| line.starts_with(start));
    let numbered = line.trim_start_matches(['+', '-', ' ']).starts_with(|c: char| c.is_ascii_digit()) && line.contains("  ");
    // Escaped line ends come from pasted JSON.
    odd * 8 > chars || begins || numbered || line.contains("\\n") || line.contains("\":")
}

/// How much a sentence tells a decision or a cause: 0 is none. A choice counts with its reason or with what it was chosen
/// over; without either it is an announcement.
pub(super) fn decision_strength(sentence: &str) -> u8 {
    let chars = sentence.chars().count();
    let wide = sentence.chars().any(is_unspaced);
    if chars > 320 || chars < if wide { 8 } else { 28 } || looks_like_output(sentence) || sentence.ends_with([':', '?', '：', '？']) {
        return 0;
    }
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    if HEDGES.is_in(&lower) {
        return 0;
    }
    let (decided, reason, other) = (DECISIONS.is_in(&lower), REASONS.is_in(&lower), ALTERNATIVES.is_in(&lower));
    match (decided, reason || other) {
        (true, true) => 3,
        (false, true) if other && CHOICES.is_in(&lower) && !is_pointing(&lower) => 2,
        // A cause is a reason by itself.
        _ if CAUSES.is_in(&lower) => 2,
        _ => 0,
    }
}

/// Whether a sentence can stand alone as a finding: it says something, of something with a name, and neither points at what
/// stood before it nor announces what the assistant was about to do.
pub(super) fn is_statement(sentence: &str) -> bool {
    let sentence = sentence.trim();
    let bare = sentence.replace("**", "");
    let chars = bare.chars().count();
    let opens = bare.starts_with(|c: char| c.is_uppercase() || c == '`' || is_unspaced(c));
    let paired = bare.matches('`').count().is_multiple_of(2) && bare.matches('(').count() == bare.matches(')').count();
    if !(30..=220).contains(&chars) || !opens || !paired || looks_like_output(&bare) || is_chatter(&bare) {
        return false;
    }
    if bare.ends_with([':', '?', '：', '？', ',']) || bare.contains(['✅', '❌', '→', '│']) {
        return false;
    }
    let lower = bare.to_lowercase().replace('\u{2019}', "'");
    // “Added them to the type” is about something that was named before.
    if lower.split_whitespace().take(3).any(|word| matches!(word, "it" | "them" | "this" | "that" | "these" | "those")) {
        return false;
    }
    !is_pointing(&lower) && !HEDGES.is_in(&lower) && has_verb(&without_asides(&lower))
}

/// Whether a sentence, in lower case, leans on one before it, lacks its subject or gives an instruction.
fn is_pointing(lower: &str) -> bool {
    let bare = lower.trim_start_matches(['*', '_', ' ']);
    POINTING.split('|').any(|lead| bare.starts_with(lead))
}

/// Whether a text, in lower case, has a verb or tells an outcome. Forms of other languages than English are not listed, so a
/// text with other letters counts as having one.
pub(super) fn has_verb(lower: &str) -> bool {
    let prose: String = lower.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    VERBS.is_in(&prose)
        || prose.chars().any(|c| c.is_alphabetic() && !c.is_ascii())
        || prose.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
            word.len() > 4 && word.ends_with("ed") && !matches!(word, "speed" | "embed" | "hundred" | "indeed" | "exceed" | "proceed")
        })
}

/// Whether a sentence says that something is finished.
pub(super) fn says_done(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    DONE.is_in(&lower)
        && !["not done", "not yet", "isn't", "not finished", "not complete", "once", "when ", "if ", "todo", "noch nicht"]
            .iter()
            .any(|no| lower.contains(no))
}

/// Whether a sentence, or the heading of a list, tells what comes next.
pub(super) fn says_next(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let lower = lower.trim_matches(['*', ' ']);
    NEXT.split('|').any(|word| lower.starts_with(word))
        || (lower.ends_with(':') && lower.len() < 60 && NEXT.split('|').any(|word| lower.contains(word.trim_end_matches([':', ',']))))
}

/// Whether a sentence is nothing but politeness or an announcement.
pub(super) fn is_chatter(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let bare = lower.trim_end_matches(['.', '!', ':', ',', ' ', '…']);
    CHATTER.split('|').any(|c| c == bare)
        || bare.chars().count() < 3
        || CHATTER.split('|').any(|c| bare.strip_prefix(c).is_some_and(|rest| rest.starts_with(['!', '.', ',']) && rest.len() < 12))
        || [
            "let me ",
            "i'll ",
            "now let me",
            "i will ",
            "let's ",
            "now i ",
            "i see",
            "i need to ",
            "now let's ",
            "first, let me",
            "would you like",
            "want me to",
            "shall i",
            "is there anything",
            "here's ",
            "here is ",
            "here are ",
        ]
        .iter()
        .any(|lead| bare.starts_with(lead))
}

/// The first sentence that is not chatter.
pub(super) fn first_telling<'t>(sentences: &[&'t str]) -> Option<&'t str> {
    let telling = |s: &&str| !is_chatter(s) && !looks_like_output(s);
    let whole = |s: &&str| !s.trim_end_matches('*').ends_with([':', '：']) && (s.chars().count() >= 16 || s.chars().any(is_unspaced));
    sentences.iter().copied().find(|s| telling(s) && whole(s))
}

/// A sentence as part of a line: emphasis marks off, blanks collapsed, no closing colon.
pub(super) fn plain(sentence: &str) -> Cow<'_, str> {
    let sentence = sentence.trim().trim_end_matches([':', '：']).trim_end();
    if sentence.contains("**") || sentence.contains("  ") || sentence.contains(['\n', '\t', '\r']) {
        let joined: Vec<&str> = sentence.split_whitespace().collect();
        return Cow::Owned(joined.join(" ").replace("**", ""));
    }
    Cow::Borrowed(sentence)
}

/// Words of a sentence that say what it is about, lower case, for comparing two sentences.
pub(super) fn content_words(sentence: &str) -> Vec<String> {
    const EMPTY: &[&str] = &[
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "from",
        "into",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "not",
        "but",
        "you",
        "your",
        "our",
        "all",
        "now",
        "also",
        "then",
        "done",
        "fixed",
        "finished",
        "completed",
        "implemented",
        "added",
        "still",
        "will",
        "should",
        "can",
        "its",
        "it's",
        "der",
        "die",
        "das",
        "und",
        "ist",
        "les",
        "des",
        "est",
        "que",
        "los",
        "las",
        "working",
        "progress",
    ];
    let lower = sentence.to_lowercase();
    let mut words: Vec<String> = Vec::new();
    for word in lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.'))) {
        let word = word.trim_matches(['.', '-', '/']);
        if word.chars().any(is_unspaced) {
            let chars: Vec<char> = word.chars().collect();
            words.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if word.len() >= 3 && !EMPTY.contains(&word) {
            words.push(word.to_owned());
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// Whether most of what `item` is about comes up in `claim`, by their [`content_words`].
pub(super) fn covers(claim: &[String], item: &[String]) -> bool {
    let hits = item.iter().filter(|word| claim.binary_search(word).is_ok()).count();
    !item.is_empty() && hits * 5 >= item.len() * 3 && (hits >= 2 || item.len() == 1)
}
