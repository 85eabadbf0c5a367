//! The form of the text that is printed on frames: sections in a fixed order, long values cut in their middle.

use std::borrow::Cow;

use super::{Form, clean, ran};
use crate::session::message::Call;
use crate::session::{Block, Json, Message, Role};
use crate::text;

/// What the text on frames keeps of long values, in UTF-16 units, as archives count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budgets {
    /// Of a tool result.
    pub result: usize,
    /// Of one argument of a call.
    pub arg: usize,
    /// Of all arguments of a call.
    pub call: usize,
    /// Share that is kept from the start, 0 to 1; the rest is kept from the end.
    pub head_ratio: f64,
    /// Whether tool results are printed gray.
    pub dim: bool,
}

impl Default for Budgets {
    fn default() -> Self {
        Budgets { result: 2_000, arg: 500, call: 2_000, head_ratio: 0.6, dim: true }
    }
}

impl Budgets {
    fn cut<'a>(&self, content: &'a str, most: usize) -> Cow<'a, str> {
        text::cut::middle_units(content, most, self.head_ratio)
    }
}

/// The blocks of text that one message gives: one section each for what the model thought, said and called, in this order, and no images.
pub(super) fn parts(message: &Message<'_>, form: Form, budgets: &Budgets, tells_call: impl Fn(&str) -> bool) -> Vec<String> {
    let joined = |texts: Vec<&str>, between: &str| (!texts.is_empty()).then(|| clean(&texts.join(between)));
    let texts = |between: &str| {
        let texts = message.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_ref()),
            _ => None,
        });
        joined(texts.collect(), between)
    };
    let mut parts = Vec::new();
    match message.role {
        Role::ToolResult => {
            let body = clean(&message.text());
            let body = budgets.cut(&body, budgets.result);
            parts.push(if budgets.dim { format!("[Tool Result]: \u{e}{body}\u{f}") } else { format!("[Tool Result]: {body}") });
        }
        Role::BashExecution | Role::PythonExecution => {
            parts.push(format!("[User]: {}", ran(message, form, |output| budgets.cut(output, budgets.result).into_owned())));
        }
        Role::Assistant => {
            let thoughts = message.blocks.iter().filter_map(|block| match block {
                Block::Thinking { text, .. } if form.thinking => Some(text.as_ref()),
                _ => None,
            });
            parts.extend(joined(thoughts.collect(), "\n").map(|text| format!("[Think]: {text}")));
            parts.extend(texts("\n").map(|text| format!("[Assistant]: {text}")));
            let calls: Vec<String> = message.calls().filter(|call| tells_call(&call.id)).map(|call| told_call(call, budgets)).collect();
            if !calls.is_empty() {
                parts.push(format!("[Tool Call]: {}", calls.join("; ")));
            }
        }
        _ => parts.extend(texts("").filter(|text| !text.is_empty()).map(|text| format!("[User]: {text}"))),
    }
    parts
}

fn told_call(call: &Call<'_>, budgets: &Budgets) -> String {
    let arg = |(key, value): &(Cow<'_, str>, Json<'_>)| {
        let value = clean(&value.to_text());
        format!("{}={}", clean(key), budgets.cut(&value, budgets.arg))
    };
    let args: Vec<String> = call.args.members().iter().map(arg).collect();
    let args = args.join(", ");
    format!("{}({})", clean(&call.name), budgets.cut(&args, budgets.call))
}
