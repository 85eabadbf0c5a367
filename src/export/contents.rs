//! The contents beside a page, as a tree: requests, what marks the way (compactions, labels), and the branches that were
//! left, each folded below the place where it left.

use std::fmt::Write;

use super::html::{anchor, escape};
use super::model::{Part, Shown, What};
use super::title_of;
use crate::text::{self, counted};

/// Characters of a request.
const MOST: usize = 110;
/// Branches that are set in further; a tree that is deeper is not easier to read.
const DEEPEST: usize = 12;

/// A line of the contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Where it leads.
    pub anchor: String,
    /// How it looks.
    pub class: &'static str,
    /// What it says.
    pub text: String,
    /// Branches above it.
    pub depth: usize,
    /// Entries of the branch that begins with it; 0 where none begins.
    pub begins: usize,
}

/// The line that an entry gets.
#[must_use]
pub fn of(shown: &Shown) -> Option<Content> {
    let words = || {
        let said = shown.parts.iter().find_map(|part| match part {
            Part::Text(text) => Some(text::one_line(text, MOST)),
            Part::Command(text) => Some(format!("$ {}", text::one_line(text, MOST))),
            _ => None,
        });
        said.filter(|said| !said.is_empty())
    };
    let class = if shown.on_path { "ask" } else { "off" };
    let row = match &shown.what {
        What::User => Some((class, words().unwrap_or_else(|| "(no words)".to_owned()))),
        What::Execution(_) => words().map(|words| (class, words)),
        What::Compaction { .. } | What::BranchSummary | What::Reset => Some(("mark", title_of(shown))),
        _ => shown.label.clone().map(|label| ("mark", label)),
    };
    // A branch has a line even when an answer begins it.
    let begun = || (shown.begins > 0).then(|| (class, words().unwrap_or_else(|| title_of(shown))));
    let (class, text) = row.or_else(begun)?;
    Some(Content { anchor: anchor(&shown.id), class, text, depth: shown.depth, begins: shown.begins })
}

/// The list as HTML.
#[must_use]
pub(super) fn list(contents: &[Content]) -> String {
    let mut out = "<ol>\n".to_owned();
    // The depth of each branch that is open.
    let mut open: Vec<usize> = Vec::new();
    let close = |open: &mut Vec<usize>, out: &mut String| {
        open.pop();
        out.push_str("</ol></details></li>\n");
    };
    for row in contents {
        let depth = row.depth.min(DEEPEST);
        while open.last().is_some_and(|at| *at > depth || (*at == depth && row.begins > 0)) {
            close(&mut open, &mut out);
        }
        // What begins a branch may not be shown; the branch is there all the same.
        if depth > open.last().copied().unwrap_or(0) {
            let about = match row.begins {
                0 => String::new(),
                n => format!(", {}", counted(n as u64, "entry")),
            };
            let _ = writeln!(out, "<li class=\"branch\"><details><summary>Branch{about}</summary><ol>");
            open.push(depth);
        }
        let _ = write!(out, "<li class=\"{}\"><a href=\"#{}\"><span>", row.class, row.anchor);
        escape(&row.text, &mut out);
        out.push_str("</span></a></li>\n");
    }
    while !open.is_empty() {
        close(&mut open, &mut out);
    }
    out.push_str("</ol>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(depth: usize, begins: usize, text: &str) -> Content {
        Content { anchor: format!("e-{text}"), class: "ask", text: text.to_owned(), depth, begins }
    }

    /// The list with its tags as brackets.
    fn shape(rows: &[Content]) -> String {
        let html = list(rows).replace('\n', "");
        let mut out = String::new();
        for piece in html.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
            match tag {
                "ol" => out.push('('),
                "/ol" => out.push(')'),
                _ => {}
            }
            out.push_str(text);
        }
        out
    }

    #[test]
    fn branches_are_lists_in_the_list() {
        assert_eq!(shape(&[]), "()");
        assert_eq!(shape(&[row(0, 0, "a"), row(1, 2, "b"), row(1, 0, "c"), row(0, 0, "d")]), "(aBranch, 2 entries(bc)d)");
        // Two branches beside each other, one within another, one that ends with the list.
        let rows = [row(0, 0, "a"), row(1, 1, "b"), row(1, 3, "c"), row(2, 1, "d"), row(1, 0, "e")];
        assert_eq!(shape(&rows), "(aBranch, 1 entry(b)Branch, 3 entries(cBranch, 1 entry(d)e))");
        // What begins the branch is not shown.
        assert_eq!(shape(&[row(0, 0, "a"), row(2, 0, "x"), row(0, 0, "b")]), "(aBranch(x)b)");
    }

    #[test]
    fn text_is_text() {
        assert!(list(&[row(0, 0, "<b>&\"")]).contains("<span>&lt;b&gt;&amp;&quot;</span>"));
    }
}
