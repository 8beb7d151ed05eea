//! The sizes of the messages and tool results of a chat, and what pruning would remove of them.
//!
//! The survey of pruning records them while it reads. Sizes are bytes of the document, with the white space inside values.

use std::collections::BTreeMap;

use super::report::PruneReport;

/// Messages after this many are counted by role only.
const MOST_MESSAGES: usize = 10_000;

/// The sizes of a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatSizes {
    /// The report of pruning it.
    pub report: PruneReport,
    /// Messages in the order of the document, up to 10,000.
    pub messages: Vec<ChatMessage>,
    /// Messages by role, without the tool results in them. Calls and results that are messages of their own have the roles
    /// `calls` and `tool`.
    pub roles: BTreeMap<&'static str, ChatSize>,
    /// Tool results by tool. The name of an unknown tool is empty.
    pub tools: BTreeMap<String, ChatSize>,
}

/// A number of messages or results and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatSize {
    /// Number of messages or results.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that pruning would remove, after subtracting the placeholders.
    pub removed: u64,
}

/// A message of a chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatMessage {
    /// Its first byte.
    pub offset: u64,
    /// Its role.
    pub role: &'static str,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes of the tool results in it.
    pub results: u64,
    /// Bytes that pruning would remove from it.
    pub removed: u64,
}

/// Records sizes while a history is read.
#[derive(Debug, Default)]
pub(super) struct SizeRecorder {
    sizes: ChatSizes,
    /// Results by the number of their tool.
    tools: Vec<ChatSize>,
    /// Bytes of the results in the open message.
    open: u64,
}

impl SizeRecorder {
    /// Records a result. The number of its tool is that of the calls.
    pub(super) fn result(&mut self, tool: u32, bytes: u64) {
        let number = tool as usize;
        if self.tools.len() <= number {
            self.tools.resize(number + 1, ChatSize::default());
        }
        if let Some(size) = self.tools.get_mut(number) {
            size.count += 1;
            size.bytes += bytes;
        }
        self.open += bytes;
    }

    /// Records a message. The results in it were recorded before.
    pub(super) fn message(&mut self, role: &'static str, offset: u64, bytes: u64) {
        let results = std::mem::take(&mut self.open);
        let size = self.sizes.roles.entry(role).or_default();
        size.count += 1;
        size.bytes += bytes.saturating_sub(results);
        if self.sizes.messages.len() < MOST_MESSAGES {
            let message = ChatMessage { offset, role, bytes, results, removed: 0 };
            self.sizes.messages.push(message);
        }
    }

    /// Records that pruning would remove bytes of a result.
    pub(super) fn removed(&mut self, tool: u32, offset: u64, bytes: i64) {
        let bytes = u64::try_from(bytes).unwrap_or(0);
        if let Some(size) = self.tools.get_mut(tool as usize) {
            size.removed += bytes;
        }
        let messages = &mut self.sizes.messages;
        let after = messages.partition_point(|message| message.offset <= offset);
        let message = after.checked_sub(1).and_then(|at| messages.get_mut(at));
        if let Some(message) = message.filter(|message| offset < message.offset + message.bytes) {
            message.removed += bytes;
        }
    }

    /// Returns the sizes. `name` returns the name of a tool.
    pub(super) fn end<'a>(self, report: PruneReport, name: impl Fn(u32) -> &'a str) -> ChatSizes {
        let Self { mut sizes, tools, .. } = self;
        sizes.report = report;
        for (number, size) in (0..).zip(tools).filter(|(_, size)| size.count > 0) {
            sizes.tools.insert(name(number).to_owned(), size);
        }
        sizes
    }
}
