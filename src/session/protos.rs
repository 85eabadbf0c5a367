//! What a chunk of a session gives before it is joined with the others: chunks are read side by side, so none of them can know
//! the interned strings of the whole.

use super::entry::{Entry, Flags, Kind, Parent, Role, Stop, flag};
use super::head;
use super::owner::Marks;
use super::scan::{Record, Sink};

/// What one chunk gives: entries whose strings are still spans of the chunk's own text.
pub(super) struct Protos {
    pub(super) protos: Vec<Proto>,
    pub(super) calls: Vec<Span>,
    text: String,
    pub(super) marks: Marks,
}

/// A place in the chunk's text: start and end in bytes.
pub(super) type Span = (u32, u32);

/// An entry that nothing is interned of yet.
pub(super) struct Proto {
    pub(super) entry: Entry,
    pub(super) id: Option<Span>,
    pub(super) parent: Option<Span>,
    pub(super) target: Option<Span>,
    pub(super) tool: Option<Span>,
    pub(super) type_name: Span,
    pub(super) calls: (u32, u32),
}

impl Protos {
    pub(super) fn text(&self, span: Span) -> &str {
        self.text.get(span.0 as usize..span.1 as usize).unwrap_or_default()
    }

    fn keep(&mut self, text: &str) -> Span {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        (start, self.text.len() as u32)
    }
}

impl Sink for Protos {
    fn new() -> Self {
        Protos { protos: Vec::new(), calls: Vec::new(), text: String::new(), marks: Marks::default() }
    }

    fn record(&mut self, record: Record<'_, '_>) {
        let head = record.head;
        let message = &head.message;
        let name = head.kind.as_deref().unwrap_or_default();
        let mut kind = Kind::of(name);
        if kind == Kind::Message && !head.has_message {
            kind = Kind::Other;
        }
        if kind == Kind::Custom && head.custom_type.as_deref() == Some(crate::store::archive::CUSTOM_TYPE) {
            kind = Kind::Archive;
        }
        self.marks.see(head);
        let role = match kind {
            Kind::Message => message.role.as_deref().map_or(Role::Unknown, Role::of),
            Kind::CustomMessage => Role::Custom,
            Kind::BranchSummary => Role::BranchSummary,
            Kind::Compaction => Role::CompactionSummary,
            _ => Role::Unknown,
        };
        let mut flags = Flags::default();
        flags.set(flag::has_usage, message.has_usage);
        flags.set(flag::is_error, message.is_error);
        flags.set(flag::useless, message.useless);
        flags.set(flag::pruned, message.pruned);
        flags.set(flag::excluded, message.excluded);
        flags.set(flag::retry_recovery, message.retry_recovery);
        flags.set(flag::lenient, record.lenient);
        flags.set(flag::no_parent_key, head.parent == head::Parent::Absent);
        flags.set(flag::reads, role == Role::Assistant && message.reads);
        let first = self.calls.len() as u32;
        if role == Role::Assistant {
            for call in &message.calls {
                let span = self.keep(call);
                self.calls.push(span);
            }
        }
        let calls = (first, self.calls.len() as u32);
        let id = head.id.as_deref().map(|id| self.keep(id));
        let parent = match &head.parent {
            head::Parent::Id(parent) => Some(self.keep(parent)),
            head::Parent::Absent | head::Parent::Root => None,
        };
        let target = if role == Role::ToolResult { message.call_id.as_deref() } else { head.target.as_deref() };
        let target = target.map(|target| self.keep(target));
        let tool = message.tool.as_deref().filter(|_| role == Role::ToolResult).map(|tool| self.keep(tool));
        let type_name = self.keep(name);
        let entry = Entry {
            offset: record.offset,
            len: record.len,
            line: record.line,
            id: None,
            parent: Parent::Root,
            target: None,
            tool: None,
            first_call: 0,
            calls: 0,
            images: u16::try_from(message.images).unwrap_or(u16::MAX),
            bulk: u32::try_from(message.bulk).unwrap_or(u32::MAX),
            type_name: 0,
            kind,
            role,
            stop: Stop::of(message.stop.as_deref()),
            flags,
        };
        self.protos.push(Proto { entry, id, parent, target, tool, type_name, calls });
    }
}
