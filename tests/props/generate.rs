//! Random session trees.
//!
//! A tree is built from a list of steps, each a few small numbers, so that a failing list shrinks to the few entries that
//! matter. Every message holds a mark of its own (`mk7k`), by which its text can be found again wherever it went.

use crate::sessions as s;
use proptest::prelude::*;
use serde_json::{Value, json};

/// How an assistant turn ends.
const STOPS: [&str; 5] = ["stop", "toolUse", "length", "error", "aborted"];

/// One thing that happens in a session. Counts that name an earlier entry count back from the end of the file.
#[derive(Debug, Clone)]
pub enum Step {
    User {
        size: u16,
        image: bool,
    },
    Developer {
        size: u16,
    },
    Assistant {
        size: u16,
        calls: u8,
        stop: u8,
        usage: Option<u32>,
        flavour: u8,
    },
    /// Answers `count` of the open calls, from the newest on when `reversed`.
    Results {
        count: u8,
        reversed: bool,
        size: u16,
        error: bool,
        useless: bool,
    },
    /// Answers a call that was answered before, or one that nobody made.
    StrayResult {
        again: bool,
        size: u16,
    },
    Bash {
        excluded: bool,
        size: u16,
    },
    Python {
        excluded: bool,
        size: u16,
    },
    CustomMessage {
        size: u16,
    },
    BranchSummary {
        back: u8,
        size: u16,
    },
    /// A message whose stored role is a summary's or an extension's.
    StoredRole {
        which: u8,
        size: u16,
    },
    Custom,
    Label {
        back: u8,
    },
    ModelChange,
    Unknown,
    Compaction {
        kept: Kept,
        size: u16,
        system: bool,
        replay: Option<Option<u8>>,
    },
    Reset,
    ContextEdit {
        back: u8,
        replacement: Option<u16>,
    },
    System {
        name: u8,
        remove: bool,
    },
    /// What follows descends from an earlier entry.
    Branch {
        back: u8,
    },
    NewRoot,
    Dangling,
}

/// What a compaction keeps.
#[derive(Debug, Clone)]
pub enum Kept {
    From(u8),
    Own,
    Missing,
}

fn size() -> impl Strategy<Value = u16> {
    prop_oneof![4 => 0..60_u16, 4 => 60..800_u16, 1 => 800..6000_u16]
}

fn usage() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![6 => Just(None), 2 => (1..3000_u32).prop_map(Some), 2 => (50_000..900_000_u32).prop_map(Some), 1 => Just(Some(0))]
}

/// Steps that end nothing and start nothing anew: an ordinary session that grows.
pub fn plain_step() -> BoxedStrategy<Step> {
    prop_oneof![
        6 => (size(), prop::bool::weighted(0.05)).prop_map(|(size, image)| Step::User { size, image }),
        1 => size().prop_map(|size| Step::Developer { size }),
        10 => (size(), prop_oneof![3 => Just(0_u8), 4 => Just(1), 2 => 2..5_u8], prop_oneof![8 => 0..2_u8, 1 => Just(2), 2 => 3..5_u8], usage(), 0..14_u8)
            .prop_map(|(size, calls, stop, usage, flavour)| Step::Assistant { size, calls, stop, usage, flavour }),
        10 => (prop_oneof![3 => Just(9_u8), 2 => 1..3_u8], any::<bool>(), size(), prop::bool::weighted(0.2), prop::bool::weighted(0.15))
            .prop_map(|(count, reversed, size, error, useless)| Step::Results { count, reversed, size, error, useless }),
        1 => (any::<bool>(), size()).prop_map(|(again, size)| Step::StrayResult { again, size }),
        2 => (prop::bool::weighted(0.4), size()).prop_map(|(excluded, size)| Step::Bash { excluded, size }),
        1 => (prop::bool::weighted(0.4), size()).prop_map(|(excluded, size)| Step::Python { excluded, size }),
        1 => size().prop_map(|size| Step::CustomMessage { size }),
        1 => (1..9_u8, size()).prop_map(|(back, size)| Step::BranchSummary { back, size }),
        1 => (0..4_u8, size()).prop_map(|(which, size)| Step::StoredRole { which, size }),
        1 => Just(Step::Custom),
        2 => (1..9_u8).prop_map(|back| Step::Label { back }),
        2 => Just(Step::ModelChange),
        1 => Just(Step::Unknown),
    ]
    .boxed()
}

/// All steps.
pub fn step() -> BoxedStrategy<Step> {
    prop_oneof![
        45 => plain_step(),
        2 => (
            prop_oneof![5 => (1..25_u8).prop_map(Kept::From), 1 => Just(Kept::Own), 1 => Just(Kept::Missing)],
            size(),
            prop::bool::weighted(0.2),
            prop_oneof![8 => Just(None), 1 => prop::option::of(0..4_u8).prop_map(Some)],
        )
            .prop_map(|(kept, size, system, replay)| Step::Compaction { kept, size, system, replay }),
        1 => Just(Step::Reset),
        2 => (1..12_u8, prop::option::of(size())).prop_map(|(back, replacement)| Step::ContextEdit { back, replacement }),
        1 => (0..3_u8, any::<bool>()).prop_map(|(name, remove)| Step::System { name, remove }),
        2 => (1..20_u8).prop_map(|back| Step::Branch { back }),
        1 => Just(Step::NewRoot),
        1 => Just(Step::Dangling),
    ]
    .boxed()
}

/// Lists of up to `most` steps of any kind.
pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..most)
}

/// Lists of up to `most` steps on one branch, without compactions, edits and resets.
pub fn plain_steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(plain_step(), 1..most)
}

/// Builds lines from steps; may be given more steps later.
#[derive(Debug, Clone)]
pub struct Builder {
    pub lines: Vec<String>,
    ids: Vec<String>,
    leaf: Option<String>,
    open: Vec<String>,
    answered: Vec<String>,
    calls: usize,
}

impl Builder {
    pub fn new() -> Builder {
        Builder { lines: vec![s::header()], ids: Vec::new(), leaf: None, open: Vec::new(), answered: Vec::new(), calls: 0 }
    }

    pub fn of(steps: &[Step]) -> Builder {
        let mut builder = Builder::new();
        builder.extend(steps);
        builder
    }

    pub fn extend(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        s::file(&self.lines)
    }

    /// Continues behind an entry that was written by someone else.
    pub fn adopt(&mut self, line: &str, id: &str) {
        self.lines.push(line.trim_end().to_owned());
        self.ids.push(id.to_owned());
        self.leaf = Some(id.to_owned());
    }

    fn back(&self, back: u8) -> String {
        let at = self.ids.len().checked_sub(usize::from(back).max(1)).or(self.ids.len().checked_sub(1));
        at.map_or_else(|| "nobody".to_owned(), |at| self.ids[at].clone())
    }

    fn text(&self, size: u16) -> String {
        let n = self.ids.len();
        let filler = s::words_from(n * 1000, usize::from(size));
        if n.is_multiple_of(5) { format!("mk{n}k é漢🙂 {filler}") } else { format!("mk{n}k {filler}") }
    }

    fn step(&mut self, step: &Step) {
        let id = format!("{:08x}", 0x1000_0000 + self.ids.len());
        let parent = self.leaf.clone();
        let parent = parent.as_deref();
        let line = match step {
            Step::User { size, image } => {
                let mut blocks = vec![s::tx(&self.text(*size))];
                if *image {
                    blocks.push(s::image(200));
                }
                if self.ids.len().is_multiple_of(2) && !image {
                    s::user(&id, parent, self.text(*size))
                } else {
                    s::user(&id, parent, blocks)
                }
            }
            Step::Developer { size } => s::message(&id, parent, json!({"role": "developer", "content": self.text(*size), "timestamp": 1})),
            Step::Assistant { size, calls, stop, usage, flavour } => self.assistant(&id, parent, *size, *calls, *stop, *usage, *flavour),
            Step::Results { count, reversed, size, error, useless } => {
                self.results(*count, *reversed, *size, *error, *useless);
                return;
            }
            Step::StrayResult { again, size } => {
                let call = self.answered.last().filter(|_| *again).cloned().unwrap_or_else(|| "call-of-nobody".to_owned());
                s::tool_result(&id, parent, &call, "read", &self.text(*size))
            }
            Step::Bash { excluded, size } => s::bash_execution(&id, parent, "ls", &self.text(*size), *excluded),
            Step::Python { excluded, size } => s::message(
                &id,
                parent,
                json!({"role": "pythonExecution", "code": "print(1)", "output": self.text(*size), "exitCode": 1, "excludeFromContext": excluded, "timestamp": 1}),
            ),
            Step::CustomMessage { size } => s::custom_message(&id, parent, "note", &self.text(*size)),
            Step::BranchSummary { back, size } => s::branch_summary(&id, parent, &self.back(*back), &self.text(*size)),
            Step::StoredRole { which, size } => {
                let message = match which {
                    0 => json!({"role": "custom", "customType": "x", "content": self.text(*size)}),
                    1 => json!({"role": "hookMessage", "customType": "x", "content": [s::tx(&self.text(*size))]}),
                    2 => json!({"role": "branchSummary", "summary": self.text(*size)}),
                    _ => json!({"role": "compactionSummary", "summary": self.text(*size)}),
                };
                s::message(&id, parent, message)
            }
            Step::Custom => s::entry("custom", &id, parent, json!({"customType": "state", "data": {"n": [1, 2.5, null]}})),
            Step::Label { back } => s::label(&id, parent, &self.back(*back)),
            Step::ModelChange => s::entry("model_change", &id, parent, json!({"model": "anthropic/claude-sonnet-4-5"})),
            Step::Unknown => s::entry("from_the_future", &id, parent, json!({"message": "no object", "content": 7})),
            Step::Compaction { kept, size, system, replay } => {
                let kept = match kept {
                    Kept::From(back) => self.back(*back),
                    Kept::Own => id.clone(),
                    Kept::Missing => "gone".to_owned(),
                };
                let mut fields = json!({"summary": self.text(*size), "firstKeptEntryId": kept, "tokensBefore": 1000});
                if *system {
                    fields["systemMessage"] = json!({"role": "system", "content": "You help.", "timestamp": 1});
                }
                if let Some(through) = replay {
                    fields["preserveData"] = json!({"openaiRemoteCompaction": {"x": 1}, "ours": {"n": 1}});
                    // What the provider replays ends right before what is kept, or later.
                    let first = self.ids.iter().position(|id| fields["firstKeptEntryId"] == *id).unwrap_or(self.ids.len());
                    if let Some(more) = through
                        && let Some(id) = self.ids.get((first + usize::from(*more)).saturating_sub(1))
                    {
                        fields["providerReplayThroughEntryId"] = id.clone().into();
                    }
                }
                s::entry("compaction", &id, parent, fields)
            }
            Step::Reset => s::reset(&id, parent),
            Step::ContextEdit { back, replacement } => {
                let replacement = replacement.map_or(Value::Null, |size| json!({"content": [s::tx(&self.text(size))]}));
                s::entry("context_edit", &id, parent, json!({"targetId": self.back(*back), "replacement": replacement}))
            }
            Step::System { name, remove } => {
                let section = if *remove { Value::Null } else { Value::String(self.text(30)) };
                let message = json!({"role": "system", "content": "", "sections": {format!("s{name}"): section},
                    "toolsAdded": [{"name": format!("t{name}")}], "timestamp": 1});
                s::message(&id, parent, message)
            }
            Step::Branch { back } => {
                if !self.ids.is_empty() {
                    self.leaf = Some(self.back(*back));
                }
                return;
            }
            Step::NewRoot => s::user(&id, s::ROOT, self.text(20)),
            Step::Dangling => s::user(&id, "a0a0a0a0", self.text(20)),
        };
        self.push(id, line);
    }

    fn push(&mut self, id: String, line: String) {
        self.lines.push(line);
        self.leaf = Some(id.clone());
        self.ids.push(id);
    }

    #[allow(clippy::too_many_arguments)]
    fn assistant(&mut self, id: &str, parent: Option<&str>, size: u16, calls: u8, stop: u8, usage: Option<u32>, flavour: u8) -> String {
        let mut blocks = Vec::new();
        if flavour != 1 || calls == 0 {
            blocks.push(s::tx(&self.text(size)));
        }
        match flavour {
            2 => blocks.insert(0, s::th("hm, let us see", "c2lnbmF0dXJl")),
            3 => blocks.insert(0, json!({"type": "redactedThinking", "data": "cmVkYWN0ZWQ="})),
            4 => blocks.push(json!({"type": "of_tomorrow", "x": 1})),
            _ => {}
        }
        for n in 0..calls {
            // Some agents count calls from 0 in every turn, so ids come again.
            let call = if flavour == 5 { format!("call-{n}") } else { format!("c{}", self.calls) };
            self.calls += 1;
            let name = ["read", "edit", "bash"][usize::from(n) % 3];
            blocks.push(s::call(&call, name, json!({"path": format!("src/m{}.rs", self.ids.len()), "n": size})));
            self.open.push(call);
        }
        let stop = STOPS[usize::from(stop).min(4)];
        let mut extra = json!({"stopReason": stop});
        if stop == "error" {
            extra["errorMessage"] = "overloaded".into();
        }
        if flavour == 6 {
            extra["retryRecovery"] = true.into();
        }
        if let Some(tokens) = usage {
            extra["usage"] = match flavour % 3 {
                0 => json!({"input": tokens, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens + 5}),
                1 => json!({"input": 1, "output": 5, "cacheRead": tokens, "cacheWrite": 0, "contextTokens": tokens}),
                _ => json!({"input": 0, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens}),
            };
        }
        s::assistant_with(id, parent, Value::Array(blocks), extra)
    }

    fn results(&mut self, count: u8, reversed: bool, size: u16, error: bool, useless: bool) {
        for n in 0..count {
            if self.open.is_empty() {
                return;
            }
            let call = if reversed { self.open.pop().unwrap() } else { self.open.remove(0) };
            let id = format!("{:08x}", 0x1000_0000 + self.ids.len());
            let mut extra = json!({"isError": error, "details": {"raw": s::words_from(5, 40)}});
            if useless && n == 0 {
                extra["useless"] = true.into();
            }
            let content = json!([s::tx(&self.text(size))]);
            let parent = self.leaf.clone();
            let line = s::tool_result_with(&id, parent.as_deref(), &call, "read", content, extra);
            self.answered.push(call);
            self.push(id, line);
        }
    }
}
