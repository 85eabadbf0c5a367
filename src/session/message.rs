//! A decoded message: one shape for everything that a context can hold.

use std::borrow::Cow;

use super::entry::{Kind, Role, Stop};
use super::frames;
use super::json::Json;

/// A message, an extension's message, or a summary, decoded from its record.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The role.
    pub role: Role,
    /// Content in its stored order; the text of a summary is one text block.
    pub blocks: Vec<Block<'a>>,
    /// Of a tool result: the id of its call.
    pub call_id: Option<Cow<'a, str>>,
    /// Of a tool result: the tool.
    pub tool: Option<Cow<'a, str>>,
    /// Of an execution: what was run.
    pub command: Option<Cow<'a, str>>,
    /// Of an execution: what it printed.
    pub output: Option<Cow<'a, str>>,
    /// Of an execution: its exit code.
    pub exit_code: Option<i64>,
    /// Of an execution: whether the person stopped it.
    pub cancelled: bool,
    /// Of an execution: kept from the model.
    pub excluded: bool,
    /// Of a tool result: the call failed.
    pub is_error: bool,
    /// Of a tool result: it does not matter.
    pub useless: bool,
    /// Of a tool result: pruned before.
    pub pruned: bool,
    /// Of an assistant message: how it ended.
    pub stop: Stop,
    /// Of a failed assistant message: why.
    pub error: Option<Cow<'a, str>>,
    /// Of an assistant message: the reported usage.
    pub usage: Option<Usage>,
    /// Of an assistant message: `provider/model`, or the model alone.
    pub model: Option<String>,
    /// The message's own time, Unix ms.
    pub timestamp: Option<u64>,
    /// Of an extension's message: its type.
    pub custom_type: Option<Cow<'a, str>>,
}

/// One block of content.
#[derive(Debug, Clone)]
pub enum Block<'a> {
    /// Plain text.
    Text(Cow<'a, str>),
    /// What the model thought, with the provider's signature.
    Thinking {
        /// The text.
        text: Cow<'a, str>,
        /// The signature, when the block is signed.
        signature: Option<Cow<'a, str>>,
    },
    /// Thinking that only the provider can read.
    Redacted(Cow<'a, str>),
    /// A tool call.
    Call(Call<'a>),
    /// An image: base64, or a reference to a blob.
    Image {
        /// The media type as stated.
        mime: Cow<'a, str>,
        /// Base64, or `blob:sha256:…`.
        data: Cow<'a, str>,
    },
    /// A page of history, printed on a picture.
    Frame {
        /// The media type as stated.
        mime: Cow<'a, str>,
        /// Base64, or `blob:sha256:…`.
        data: Cow<'a, str>,
        /// Tokens that are billed for it.
        tokens: u64,
    },
    /// A block of a type that is not known; it counts nothing and is never shown.
    Other,
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The call's id.
    pub id: Cow<'a, str>,
    /// The tool.
    pub name: Cow<'a, str>,
    /// The arguments.
    pub args: Json<'a>,
}

/// Unix ms of a time as entries have it, RFC 3339; `None` when it is no time.
#[must_use]
pub fn unix_ms(time: &str) -> Option<i64> {
    Some(time.parse::<jiff::Timestamp>().ok()?.as_millisecond())
}

/// Token usage that a provider reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens that were not cached.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
    /// The provider's total.
    pub total: Option<u64>,
    /// The size of the context, where an agent stores it.
    pub context: Option<u64>,
}

impl Usage {
    fn parse(json: &Json<'_>) -> Option<Usage> {
        let amount = |key: &str| json.get(key).amount();
        json.members().first()?;
        Some(Usage {
            input: amount("input").unwrap_or(0),
            output: amount("output").unwrap_or(0),
            cache_read: amount("cacheRead").unwrap_or(0),
            cache_write: amount("cacheWrite").unwrap_or(0),
            total: amount("totalTokens").filter(|t| *t > 0),
            context: amount("contextTokens").filter(|t| *t > 0),
        })
    }

    /// Tokens of the whole context after the answer: the stored context size, else the provider's total, else the sum of
    /// its parts. This order is the agents'.
    #[must_use]
    pub fn context_tokens(&self) -> u64 {
        self.context.or(self.total).unwrap_or_else(|| self.sum(self.output))
    }

    /// Tokens of the prompt alone: the stored context size, else the prompt's parts, else all there is.
    #[must_use]
    pub fn prompt_tokens(&self) -> u64 {
        self.context.unwrap_or_else(|| match self.sum(0) {
            0 => self.context_tokens(),
            prompt => prompt,
        })
    }

    fn sum(&self, output: u64) -> u64 {
        [self.input, output, self.cache_read, self.cache_write].into_iter().fold(0, u64::saturating_add)
    }
}

impl<'a> Message<'a> {
    /// Decodes the message of a record of type `kind`; `None` when the record holds none.
    #[must_use]
    pub fn of(kind: Kind, record: &Json<'a>) -> Option<Message<'a>> {
        match kind {
            Kind::Message => Some(Self::stored(record.get("message"))),
            Kind::CustomMessage => Some(Message {
                custom_type: record.get("customType").cow(),
                blocks: frames::of_carrier(record).unwrap_or_else(|| blocks(record.get("content"))),
                ..Message::empty(Role::Custom)
            }),
            Kind::Compaction => Some(Self::summary(Role::CompactionSummary, record)),
            Kind::BranchSummary => Some(Self::summary(Role::BranchSummary, record)),
            _ => None,
        }
    }

    /// A message that holds nothing.
    #[must_use]
    pub fn empty(role: Role) -> Message<'a> {
        Message {
            role,
            blocks: Vec::new(),
            call_id: None,
            tool: None,
            command: None,
            output: None,
            exit_code: None,
            cancelled: false,
            excluded: false,
            is_error: false,
            useless: false,
            pruned: false,
            stop: Stop::Stop,
            error: None,
            usage: None,
            model: None,
            timestamp: None,
            custom_type: None,
        }
    }

    fn summary(role: Role, record: &Json<'a>) -> Message<'a> {
        let mut blocks: Vec<Block<'a>> = record.get("summary").cow().map(Block::Text).into_iter().collect();
        blocks.extend(frames::of_summary(record));
        Message { blocks, ..Message::empty(role) }
    }

    pub(crate) fn stored(json: &Json<'a>) -> Message<'a> {
        let role = json.get("role").str().map_or(Role::Unknown, Role::of);
        let mut message = Message { timestamp: json.get("timestamp").amount(), ..Message::empty(role) };
        match role {
            Role::BranchSummary | Role::CompactionSummary => {
                return Message { timestamp: message.timestamp, ..Self::summary(role, json) };
            }
            Role::BashExecution | Role::PythonExecution => {
                message.command = json.get("command").cow().or_else(|| json.get("code").cow());
                message.output = json.get("output").cow();
                message.exit_code = match json.get("exitCode") {
                    Json::Int(i) => i64::try_from(*i).ok(),
                    _ => None,
                };
                message.cancelled = json.get("cancelled").is_true();
                message.excluded = json.get("excludeFromContext").is_true();
                return message;
            }
            Role::ToolResult => {
                message.call_id = json.get("toolCallId").cow();
                message.tool = json.get("toolName").cow();
                message.is_error = json.get("isError").is_true();
                message.useless = json.get("useless").is_true() && !message.is_error;
                message.pruned = json.get("prunedAt").is_some();
            }
            Role::Assistant => {
                message.stop = Stop::of(json.get("stopReason").str());
                message.error = json.get("errorMessage").cow();
                message.usage = Usage::parse(json.get("usage"));
                message.model = json.get("model").str().map(|model| match json.get("provider").str() {
                    Some(provider) => format!("{provider}/{model}"),
                    None => model.to_owned(),
                });
            }
            _ => message.custom_type = json.get("customType").cow(),
        }
        message.blocks = blocks(json.get("content"));
        if role == Role::System {
            // pi 1.x: named sections and tools are part of the prompt.
            message.blocks.extend(json.get("sections").members().iter().filter_map(|(_, text)| text.cow()).map(Block::Text));
            message.blocks.extend(json.get("toolsAdded").items().iter().map(|tool| Block::Text(Cow::Owned(tool.to_text()))));
        }
        message
    }

    /// The text blocks, joined by line ends.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_ref()),
            _ => None,
        });
        let Some(first) = texts.next() else {
            return Cow::Borrowed("");
        };
        texts.fold(Cow::Borrowed(first), |all, text| Cow::Owned(format!("{all}\n{text}")))
    }

    /// The tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call<'a>> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        })
    }

    /// How many images the message holds.
    #[must_use]
    pub fn images(&self) -> usize {
        self.blocks.iter().filter(|block| matches!(block, Block::Image { .. })).count()
    }

    /// Leaves out what readers leave out of an assistant turn when calls of it have no result: those calls, thinking that
    /// only the provider can read, and signatures, which would no longer fit.
    pub fn drop_unanswered(&mut self, answered: impl Fn(&str) -> bool) {
        let before = self.blocks.len();
        self.blocks.retain(|block| !matches!(block, Block::Call(call) if !answered(&call.id)));
        if self.blocks.len() == before {
            return;
        }
        self.blocks.retain(|block| !matches!(block, Block::Redacted(_)));
        for block in &mut self.blocks {
            if let Block::Thinking { signature, .. } = block {
                *signature = None;
            }
        }
    }

    /// Replaces the content, as a `context_edit` does.
    pub fn replace_content(&mut self, content: &Json<'a>) {
        self.blocks = blocks(content);
    }
}

pub(super) fn blocks<'a>(content: &Json<'a>) -> Vec<Block<'a>> {
    if let Some(text) = content.cow() {
        return vec![Block::Text(text)];
    }
    content.items().iter().map(block).collect()
}

fn block<'a>(json: &Json<'a>) -> Block<'a> {
    let text = |key: &str| json.get(key).cow().unwrap_or_default();
    match json.get("type").str() {
        Some("text") => Block::Text(text("text")),
        Some("thinking") => Block::Thinking { text: text("thinking"), signature: json.get("thinkingSignature").cow() },
        Some("redactedThinking") => Block::Redacted(text("data")),
        Some("toolCall") => Block::Call(Call { id: text("id"), name: text("name"), args: json.get("arguments").clone() }),
        Some("image") => Block::Image { mime: text("mimeType"), data: text("data") },
        _ => Block::Other,
    }
}
