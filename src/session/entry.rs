//! Entries as the index knows them: their place in the file and the few facts that trees, cuts and pairings need.

use std::fmt;

/// Position of an entry in its [`Session`](super::Session), in file order.
///
/// Only the session hands these out, and its entries never go away, so looking one up cannot fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ix(pub(crate) u32);

/// An interned string: an entry's id, a tool call's id, a type name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sym(pub(crate) u32);

/// What an entry says of its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// `null`, or no `parentId` at all.
    Root,
    /// The id of another entry, which may or may not be in the file.
    Id(Sym),
}

/// The entry types that the rules tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The session header.
    Header,
    /// oh-my-pi's title slot.
    Title,
    /// A message.
    Message,
    /// A compaction.
    Compaction,
    /// The summary of an abandoned branch.
    BranchSummary,
    /// A message of an extension, which the model sees.
    CustomMessage,
    /// Data of an extension, which the model does not see.
    Custom,
    /// `/clear`: the context starts after it.
    ResetBoundary,
    /// pi 1.x: omits or replaces another entry's content.
    ContextEdit,
    /// A reference of ours to an archive of what the file was before a rewrite.
    Archive,
    /// Another model.
    ModelChange,
    /// Settings, labels and whatever else: kept, never interpreted.
    Other,
}

impl Kind {
    pub(crate) fn of(name: &str) -> Kind {
        match name {
            "session" => Kind::Header,
            "title" => Kind::Title,
            "message" => Kind::Message,
            "compaction" => Kind::Compaction,
            "branch_summary" => Kind::BranchSummary,
            "custom_message" => Kind::CustomMessage,
            "custom" => Kind::Custom,
            "reset_boundary" => Kind::ResetBoundary,
            "context_edit" => Kind::ContextEdit,
            "model_change" => Kind::ModelChange,
            _ => Kind::Other,
        }
    }

    /// Whether entries of this type stand in the model's context as themselves.
    #[must_use]
    pub fn is_message(self) -> bool {
        matches!(self, Kind::Message | Kind::CustomMessage | Kind::BranchSummary)
    }
}

/// Message roles, and the roles that other entries take in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The person.
    User,
    /// Instructions of the agent.
    Developer,
    /// The system prompt (pi 1.x stores it).
    System,
    /// The model.
    Assistant,
    /// What a tool call gave back.
    ToolResult,
    /// A shell command of the person.
    BashExecution,
    /// Code that the person ran.
    PythonExecution,
    /// A message of an extension.
    Custom,
    /// The same in files of version 2.
    HookMessage,
    /// The summary of an abandoned branch.
    BranchSummary,
    /// The summary of a compaction.
    CompactionSummary,
    /// Any role that is not known.
    Unknown,
}

impl Role {
    pub(crate) fn of(name: &str) -> Role {
        match name {
            "user" => Role::User,
            "developer" => Role::Developer,
            "system" => Role::System,
            "assistant" => Role::Assistant,
            "toolResult" => Role::ToolResult,
            "bashExecution" => Role::BashExecution,
            "pythonExecution" => Role::PythonExecution,
            "custom" => Role::Custom,
            "hookMessage" => Role::HookMessage,
            "branchSummary" => Role::BranchSummary,
            "compactionSummary" => Role::CompactionSummary,
            _ => Role::Unknown,
        }
    }

    /// The name as it stands in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Developer => "developer",
            Role::System => "system",
            Role::Assistant => "assistant",
            Role::ToolResult => "toolResult",
            Role::BashExecution => "bashExecution",
            Role::PythonExecution => "pythonExecution",
            Role::Custom => "custom",
            Role::HookMessage => "hookMessage",
            Role::BranchSummary => "branchSummary",
            Role::CompactionSummary => "compactionSummary",
            Role::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why an assistant message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It said all it wanted, or did not say.
    Stop,
    /// It ran into the limit of its output.
    Length,
    /// It waits for tools.
    ToolUse,
    /// The request failed.
    Error,
    /// The person stopped it.
    Aborted,
}

impl Stop {
    pub(crate) fn of(name: Option<&str>) -> Stop {
        match name {
            Some("length") => Stop::Length,
            Some("toolUse") => Stop::ToolUse,
            Some("error") => Stop::Error,
            Some("aborted") => Stop::Aborted,
            _ => Stop::Stop,
        }
    }

    /// Whether the turn failed: readers leave it out of the context.
    #[must_use]
    pub fn failed(self) -> bool {
        matches!(self, Stop::Error | Stop::Aborted)
    }
}

/// Yes-or-no facts of an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u16);

macro_rules! flags {
    ($($bit:literal $name:ident $doc:literal),* $(,)?) => {
        impl Flags {
            $(#[doc = $doc]
            #[must_use]
            pub fn $name(self) -> bool {
                self.0 & (1 << $bit) != 0
            })*
        }
        /// The bits behind [`Flags`], for the index to set.
        #[allow(non_upper_case_globals, dead_code)]
        pub(crate) mod flag {
            $(pub(crate) const $name: u16 = 1 << $bit;)*
        }
    };
}

flags! {
    0 has_usage "The message reports token usage.",
    1 is_error "The tool call failed.",
    2 useless "The tool said that its result does not matter.",
    3 pruned "The result was pruned before.",
    4 excluded "An execution that the person kept from the model.",
    5 retry_recovery "A turn that the agent made only to recover.",
    6 lenient "The bytes need mending before a strict reader takes them.",
    7 made_id "The id is derived: the file has none.",
    8 no_parent_key "The record does not say anything about a parent.",
    9 reads "One of its calls goes to a tool that shows a file.",
}

impl Flags {
    pub(crate) fn set(&mut self, bit: u16, on: bool) {
        if on {
            self.0 |= bit;
        }
    }
}

/// Whether a tool of this name shows a file, so that a later call of it makes what an earlier one showed superfluous.
#[must_use]
pub fn is_read_tool(name: &str) -> bool {
    matches!(name, "read" | "Read" | "read_file")
}

/// One record of the file. About 64 bytes each; everything else is read when it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Where the record starts, bytes from the start of the file.
    pub offset: u64,
    /// Length of the record in bytes, without its line end.
    pub len: u32,
    /// Line number, from 1. Several records may stand on one damaged line.
    pub line: u32,
    /// The id; `None` means that the record is no part of the tree.
    pub id: Option<Sym>,
    /// The parent.
    pub parent: Parent,
    /// The one other thing that the record names: a result its call, a compaction its first kept entry, a context edit or
    /// label its target, a branch summary the leaf that was left.
    pub target: Option<Sym>,
    /// Of a tool result: the tool.
    pub tool: Option<Sym>,
    pub(crate) first_call: u32,
    pub(crate) calls: u16,
    /// Image blocks in the content.
    pub images: u16,
    /// Bytes of image data and `details`, which no model reads as text.
    pub bulk: u32,
    pub(crate) type_name: u16,
    /// The type.
    pub kind: Kind,
    /// The role, also of entries that become a message of the context.
    pub role: Role,
    /// How an assistant message ended.
    pub stop: Stop,
    /// Yes-or-no facts.
    pub flags: Flags,
}

impl Entry {
    /// Whether the entry is a node of the tree.
    #[must_use]
    pub fn is_node(&self) -> bool {
        self.id.is_some() && !matches!(self.kind, Kind::Header | Kind::Title)
    }

    /// Whether a context can hold the entry: a message, an extension's message, or a branch summary.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.is_node() && self.kind.is_message()
    }
}
