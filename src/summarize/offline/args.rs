//! What tool arguments say: commands, text, and what a change adds to a file and changes in it.

use std::collections::HashSet;

use super::clean::clean;
use super::names;
use crate::session::Json;
use crate::text;

/// A command given as a list of words.
pub(super) fn argv(json: &Json<'_>) -> Option<String> {
    let words: Vec<&str> = json.items().iter().filter_map(Json::str).collect();
    match words.as_slice() {
        [] => None,
        ["bash" | "sh" | "zsh", flag, script] if flag.starts_with('-') => Some((*script).to_owned()),
        words => Some(words.join(" ")),
    }
}

/// What a change is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Definitions that the new text has and the old one has not.
    pub added: Vec<String>,
    /// Definitions around lines that differ.
    pub touched: Vec<String>,
    /// Names in lines that differ.
    pub near: Vec<String>,
    /// Other names that only the new text holds.
    pub used: Vec<String>,
}

/// Names of one kind that one change tells at most; a file that is written whole has many.
const MOST_NAMES: usize = 12;

/// Edits of one call that are looked at.
const MOST_EDITS: usize = 24;

/// Bytes of a change that are looked at.
const CHANGE_BYTES: usize = 24 << 10;

impl Changed {
    /// The names that say most, at most `most`.
    pub(super) fn telling(&self, most: usize) -> impl Iterator<Item = &String> {
        self.added.iter().chain(&self.touched).chain(&self.used).take(most)
    }

    fn compare(&mut self, old: &str, new: &str) {
        let known: HashSet<&str> = old.lines().map(str::trim).collect();
        let defined: HashSet<&str> = old.lines().filter_map(definition).collect();
        let mut around = None;
        for line in new.lines() {
            let here = definition(line);
            around = here.or(around);
            if known.contains(line.trim()) {
                continue;
            }
            match (here, around) {
                (Some(name), _) if !defined.contains(name) => put(&mut self.added, name),
                (_, Some(name)) => put(&mut self.touched, name),
                _ => {}
            }
            names::scan(line, |name| {
                if name.shape == names::Shape::Ident && name.text.len() < 40 {
                    put(&mut self.near, name.text);
                }
                if name.shape == names::Shape::Ident && name.text.len() < 40 && !old.contains(name.text) {
                    put(&mut self.used, name.text);
                }
            });
        }
    }
}

fn put(list: &mut Vec<String>, name: &str) {
    if list.len() < MOST_NAMES && !list.iter().any(|known| known == name) {
        list.push(name.to_owned());
    }
}

/// What the arguments of a call that edits or writes change.
pub(super) fn changed(args: &Json<'_>) -> Changed {
    let mut out = Changed::default();
    let edits = args.get("edits");
    for edit in std::iter::once(args).chain(edits.items().iter().take(MOST_EDITS)) {
        let text = |keys: &[&str]| keys.iter().find_map(|key| edit.get(key).str().map(|t| clean(text::clip(t, CHANGE_BYTES)).into_owned()));
        let Some(new) = text(&["newText", "new_string", "new_str", "content", "file_text", "patch", "input", "diff"]) else { continue };
        let old = text(&["oldText", "old_string", "old_str"]).unwrap_or_default();
        if old.is_empty() && (new.contains("*** Begin Patch") || new.contains("@@ ")) {
            let side = |mark: char, other: char| {
                let lines: Vec<&str> =
                    new.lines().filter(|l| !l.starts_with(other)).map(|l| l.strip_prefix([mark, ' ']).unwrap_or(l)).collect();
                lines.join("\n")
            };
            out.compare(&side('-', '+'), &side('+', '-'));
        } else {
            out.compare(&old, &new);
        }
    }
    out.touched.retain(|name| !out.added.contains(name));
    out.used.retain(|name| !out.added.contains(name) && !out.touched.contains(name));
    out
}

/// Words before the name of a definition that say nothing of its kind.
const MODIFIERS: &[&str] = &[
    "pub",
    "pub(crate)",
    "pub(super)",
    "export",
    "default",
    "declare",
    "async",
    "static",
    "private",
    "public",
    "protected",
    "internal",
    "abstract",
    "readonly",
    "override",
    "unsafe",
    "final",
    "virtual",
    "get",
    "set",
];

/// Words that open a definition.
const OPENINGS: &[&str] = &["fn", "function", "class", "def", "struct", "enum", "trait", "interface", "type", "func", "fun", "module"];

/// The name that a line of code defines, by the common forms of common languages; names of less than three chars are none.
pub(super) fn definition(line: &str) -> Option<&str> {
    let line = unnumbered(line);
    let mut words = line.split_whitespace().skip_while(|word| MODIFIERS.contains(word)).peekable();
    let modified = line.split_whitespace().next().is_some_and(|first| MODIFIERS.contains(&first));
    let first = words.next()?;
    let identifier = |word: &str| word.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$')).count();
    let name = if OPENINGS.contains(&first) {
        let next = words.next()?.trim_start_matches('*');
        let len = identifier(next);
        let rest = next.get(len..).unwrap_or_default();
        // Prose has such words too.
        let opens = rest.starts_with(['(', '<', '{', ':', '=', ';']);
        let next_opens =
            words.peek().is_none_or(|w| w.starts_with(['{', '(', '=', '<', ':']) || matches!(*w, "extends" | "implements" | "where"));
        (opens || rest.is_empty() && next_opens).then(|| next.get(..len))??
    } else if matches!(first, "const" | "let" | "var") && (modified || !line.starts_with(char::is_whitespace)) {
        let next = words.next()?;
        let next = if next == "mut" { words.next()? } else { next };
        next.get(..identifier(next))?
    } else {
        let len = identifier(first);
        let called = first.get(len..).is_some_and(|rest| rest.starts_with(['(', '<']));
        let opens = line.trim_end().ends_with('{') && line.starts_with(char::is_whitespace);
        let keyword =
            matches!(first.get(..len)?, "if" | "for" | "while" | "switch" | "catch" | "match" | "return" | "function" | "constructor");
        if !(called && opens) || keyword {
            return None;
        }
        // A call that opens a block is no definition: `describe("…", () => {`.
        let arrow = line.contains("=>") || line.contains("('") || line.contains("(\"");
        if arrow { None } else { first.get(..len) }?
    };
    ((3..40).contains(&name.len()) && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).then_some(name)
}

/// A line without the number that tools print before it.
fn unnumbered(line: &str) -> &str {
    let rest = line.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let behind = rest.get(digits..).unwrap_or_default();
    if digits == 0 {
        return line;
    }
    ["\t", "→", "|", ":"].iter().find_map(|mark| behind.strip_prefix(mark)).unwrap_or(line)
}

/// All strings of the arguments, a line each.
pub(super) fn strings(json: &Json<'_>, out: &mut String, depth: u8) {
    match json {
        Json::Str(s) => {
            out.push_str(s);
            out.push('\n');
        }
        Json::Array(items) if depth < 8 => items.iter().for_each(|item| strings(item, out, depth + 1)),
        Json::Object(members) if depth < 8 => members.iter().for_each(|(_, value)| strings(value, out, depth + 1)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
    use super::*;

    #[test]
    fn definitions_of_common_languages_are_found() {
        for (line, name) in [
            ("    pub fn overlaps(&self, other: &Booking) -> bool {", Some("overlaps")),
            ("export class ThemeSelector extends Container {", Some("ThemeSelector")),
            ("\tprivate async handleBash(cmd: string): Promise<void> {", Some("handleBash")),
            ("def load_all(path):", Some("load_all")),
            ("export const DEFAULT_PORT = 8473;", Some("DEFAULT_PORT")),
            ("  44\t    pub fn overlaps(&self) -> bool {", Some("overlaps")),
            ("    if (ready) {", None),
            ("    describe(\"x\", () => {", None),
            ("the type of a value", None),
            ("    return call(x);", None),
        ] {
            assert_eq!(definition(line), name, "{line}");
        }
    }

    #[test]
    fn a_change_tells_what_it_adds_and_what_it_changes() {
        let args = r#"{"oldText":"fn overlaps() {\n  a <= b\n}","newText":"fn overlaps() {\n  a < b\n}\nfn free_slots() {\n}"}"#;
        let changed = changed(&Json::parse(args).unwrap());
        assert_eq!((changed.added, changed.touched), (vec!["free_slots".to_owned()], vec!["overlaps".to_owned()]));
    }
}
