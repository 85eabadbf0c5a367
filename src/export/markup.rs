//! Markdown as HTML that can do nothing: tags in it are text, addresses lead only where a click is harmless, and images of
//! other places are named, not loaded.

use std::fmt::Write;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::html::{escape, escaped, folded};

/// Headings of content stand below those of the page, which has two levels.
const BELOW: usize = 2;

/// Writes Markdown as HTML.
pub(super) fn write(text: &str, out: &mut String) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut code: Option<String> = None;
    let mut links: Vec<bool> = Vec::new();
    let mut picture: Option<String> = None;
    let mut in_head = false;
    for event in Parser::new_ext(text, options) {
        if let (Some(code), Event::Text(text)) = (&mut code, &event) {
            code.push_str(text);
            continue;
        }
        match event {
            Event::Start(tag) => match tag {
                Tag::Paragraph => out.push_str("<p>"),
                Tag::Heading { level, .. } => {
                    let _ = write!(out, "<h{}>", (level as usize + BELOW).min(6));
                }
                Tag::BlockQuote(_) => out.push_str("<blockquote>"),
                Tag::CodeBlock(_) => code = Some(String::new()),
                Tag::List(Some(1)) => out.push_str("<ol>"),
                Tag::List(Some(start)) => {
                    let _ = write!(out, "<ol start=\"{start}\">");
                }
                Tag::List(None) => out.push_str("<ul>"),
                Tag::Item => out.push_str("<li>"),
                Tag::Emphasis => out.push_str("<em>"),
                Tag::Strong => out.push_str("<strong>"),
                Tag::Strikethrough => out.push_str("<s>"),
                Tag::Link { dest_url, .. } => {
                    let safe = harmless(&dest_url);
                    if safe {
                        let _ = write!(out, "<a rel=\"noreferrer noopener nofollow\" href=\"{}\">", escaped(&dest_url));
                    }
                    links.push(safe);
                }
                Tag::Image { dest_url, .. } => {
                    out.push_str("[image: ");
                    picture = Some(dest_url.into_string());
                }
                Tag::Table(_) => out.push_str("<table>"),
                Tag::TableHead => {
                    in_head = true;
                    out.push_str("<thead><tr>");
                }
                Tag::TableRow => out.push_str("<tr>"),
                Tag::TableCell => out.push_str(if in_head { "<th>" } else { "<td>" }),
                _ => {}
            },
            Event::End(tag) => match tag {
                TagEnd::Paragraph => out.push_str("</p>\n"),
                TagEnd::Heading(level) => {
                    let _ = writeln!(out, "</h{}>", (level as usize + BELOW).min(6));
                }
                TagEnd::BlockQuote(_) => out.push_str("</blockquote>\n"),
                TagEnd::CodeBlock => folded(&code.take().unwrap_or_default(), out),
                TagEnd::List(true) => out.push_str("</ol>\n"),
                TagEnd::List(false) => out.push_str("</ul>\n"),
                TagEnd::Item => out.push_str("</li>\n"),
                TagEnd::Emphasis => out.push_str("</em>"),
                TagEnd::Strong => out.push_str("</strong>"),
                TagEnd::Strikethrough => out.push_str("</s>"),
                TagEnd::Link => out.push_str(if links.pop() == Some(true) { "</a>" } else { "" }),
                TagEnd::Image => {
                    let _ = write!(out, " {}]", escaped(&picture.take().unwrap_or_default()));
                }
                TagEnd::Table => out.push_str("</tbody></table>\n"),
                TagEnd::TableHead => {
                    in_head = false;
                    out.push_str("</tr></thead><tbody>");
                }
                TagEnd::TableRow => out.push_str("</tr>"),
                TagEnd::TableCell => out.push_str(if in_head { "</th>" } else { "</td>" }),
                _ => {}
            },
            Event::Text(text) => escape(&text, out),
            Event::Code(text) => {
                let _ = write!(out, "<code>{}</code>", escaped(&text));
            }
            Event::Html(text) | Event::InlineHtml(text) => escape(&text, out),
            Event::SoftBreak => out.push('\n'),
            Event::HardBreak => out.push_str("<br>"),
            Event::Rule => out.push_str("<hr>"),
            Event::TaskListMarker(done) => out.push_str(if done { "☑ " } else { "☐ " }),
            _ => {}
        }
    }
}

/// Whether a click on an address does nothing but go there.
fn harmless(address: &str) -> bool {
    let lower = address.trim_start().to_ascii_lowercase();
    lower.starts_with("https://") || lower.starts_with("http://") || lower.starts_with("mailto:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut out = String::new();
        write(text, &mut out);
        out
    }

    #[test]
    fn markdown_becomes_html() {
        assert_eq!(html("# A\n\nb *c* `d`"), "<h3>A</h3>\n<p>b <em>c</em> <code>d</code></p>\n");
        assert_eq!(html("```rust\nfn a() {}\n```"), "<pre>fn a() {}</pre>");
        assert_eq!(html("- a\n- [x] b"), "<ul><li>a</li>\n<li>☑ b</li>\n</ul>\n");
        assert_eq!(html("|a|\n|-|\n|b|"), "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>\n");
    }

    #[test]
    fn what_could_act_is_text() {
        for (text, want) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("[a](javascript:alert(1))", "<p>a</p>\n"),
            ("[a](JaVaScRiPt:alert(1))", "<p>a</p>\n"),
            ("[a](data:text/html,x)", "<p>a</p>\n"),
            ("[a](//host/x)", "<p>a</p>\n"),
            ("![x](https://host/pixel.png)", "<p>[image: x https://host/pixel.png]</p>\n"),
            ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
            ("a <b onclick='x'>b</b>", "<p>a &lt;b onclick=&#39;x&#39;&gt;b&lt;/b&gt;</p>\n"),
            ("`<i>`", "<p><code>&lt;i&gt;</code></p>\n"),
            (
                "[\"><x](https://h/\"><script>)",
                "<p><a rel=\"noreferrer noopener nofollow\" href=\"https://h/&quot;&gt;&lt;script&gt;\">&quot;&gt;&lt;x</a></p>\n",
            ),
        ] {
            assert_eq!(html(text).trim_end(), want.trim_end(), "{text}");
        }
        assert!(html("[a](https://h/?a=1&b=\"2\")").contains("href=\"https://h/?a=1&amp;b=&quot;2&quot;\""));
    }
}
