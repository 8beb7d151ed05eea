//! The members of a message that decide its destination and its handling.
//!
//! One pass over a message finds all of them, wherever they stand: the TypeScript SDK writes the id after the result.
//! Duplicates stay visible. Parsers take the last one and scanners the first, so a message whose decisive members are
//! not unique means different things to different readers, and is never trusted.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use smallvec::SmallVec;

use super::find::{FindError, Found, Paths, ValueKind, find};
use super::id::{Id, LONGEST_ID};
use super::text;
use crate::spool::Spool;

/// The longest name, cursor or method that is read; longer ones are treated as unknown.
const LONGEST_NAME: u64 = 16 << 10;

/// Declares the members that are looked for, each with its path.
macro_rules! parts {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $part:ident = $path:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$doc])* $part,)* }

        impl Part for $name {
            fn paths() -> &'static Paths {
                static PATHS: OnceLock<Paths> = OnceLock::new();
                PATHS.get_or_init(|| Paths::new(&[$($path),*]))
            }

            fn number(self) -> usize {
                self as usize
            }

            const COUNT: usize = [$($path),*].len();
        }
    };
}

/// A member that is looked for.
pub(crate) trait Part: Copy + 'static {
    /// The number of parts.
    const COUNT: usize;

    /// Returns the paths of all parts, in their order.
    fn paths() -> &'static Paths;

    /// Returns the position of this part.
    fn number(self) -> usize;
}

parts! {
    /// The routing members of a message in either direction.
    MessagePart {
        Id = "id",
        Method = "method",
        Params = "params",
        Result = "result",
        Error = "error",
        Name = "params.name",
        Arguments = "params.arguments",
        Cursor = "params.cursor",
        Uri = "params.uri",
        TaskId = "params.taskId",
        RequestId = "params.requestId",
        ClientName = "params.clientInfo.name",
        Meta = "params._meta",
        CallId = "params._meta.callId",
        Version = "params._meta[\"io.modelcontextprotocol/protocolVersion\"]",
        ModernClientName = "params._meta[\"io.modelcontextprotocol/clientInfo\"].name",
        OutputMode = "params.arguments._output_mode",
        Budget = "params.arguments._budget",
        ParamsResult = "params.result",
        ParamsError = "params.error",
        ParamsStatusMessage = "params.statusMessage",
        ServerName = "result.serverInfo.name",
        ModernServerName = "result._meta[\"io.modelcontextprotocol/serverInfo\"].name",
        ToolsCapability = "result.capabilities.tools",
        Capabilities = "result.capabilities",
        ResultType = "result.resultType",
        TaskStatus = "result.status",
        ParamsTaskStatus = "params.status",
        ResultTaskId = "result.taskId",
        LegacyTask = "result.task",
        LegacyTaskId = "result.task.taskId",
        InnerResult = "result.result",
        InnerError = "result.error",
        StatusMessage = "result.statusMessage",
        Content = "result.content",
        Structured = "result.structuredContent",
        Contents = "result.contents",
        ContentsItem = "result.contents[]",
        ContentsText = "result.contents[].text",
        ErrorCode = "error.code",
    }
}

parts! {
    /// The members of a result of a tool.
    ResultPart {
        Content = "content",
        Block = "content[]",
        Kind = "content[].type",
        Text = "content[].text",
        Resource = "content[].resource",
        ResourceText = "content[].resource.text",
        ResourceUri = "content[].resource.uri",
        LinkUri = "content[].uri",
        Data = "content[].data",
        DataType = "content[].mimeType",
        Blob = "content[].resource.blob",
        BlobType = "content[].resource.mimeType",
        Structured = "structuredContent",
        IsError = "isError",
        Meta = "_meta",
        ResultType = "resultType",
        /// A member of the result of `tasks/get`.
        Inner = "result",
        /// A member of the result of `resources/read`.
        Contents = "contents",
    }
}

parts! {
    /// The members of a response that a client may show.
    ShownPart {
        Content = "result.content",
        Text = "result.content[].text",
        ResourceText = "result.content[].resource.text",
        Structured = "result.structuredContent",
        IsError = "result.isError",
    }
}

parts! {
    /// The members of a list of tools.
    ListPart {
        Tools = "tools",
        Tool = "tools[]",
        Name = "tools[].name",
        OutputSchema = "tools[].outputSchema",
        InputSchema = "tools[].inputSchema",
        Properties = "tools[].inputSchema.properties",
        OwnOutputMode = "tools[].inputSchema.properties._output_mode",
        OwnBudget = "tools[].inputSchema.properties._budget",
        NextCursor = "nextCursor",
    }
}

parts! {
    /// The elements of a batch.
    BatchPart {
        Element = "[]",
    }
}

/// The parts that were found in a document, by what they are.
pub(crate) struct Parts<P> {
    found: Vec<SmallVec<[Found; 1]>>,
    of: std::marker::PhantomData<P>,
}

impl<P: Part> Parts<P> {
    /// Looks for the parts in a range of a message, which is one JSON document.
    pub(crate) fn find(message: &Spool, range: Range<u64>) -> Result<Self, FindError> {
        let mut parts: Vec<SmallVec<[Found; 1]>> = Vec::new();
        parts.resize_with(P::COUNT, SmallVec::new);
        for found in find(P::paths(), message, range)? {
            if let Some(part) = parts.get_mut(found.path) {
                part.push(found);
            }
        }
        Ok(Self { found: parts, of: std::marker::PhantomData })
    }

    /// Returns all values of a part, in document order.
    pub(crate) fn all(&self, part: P) -> &[Found] {
        self.found.get(part.number()).map_or(&[], |found| found)
    }

    /// Returns the last value of a part, which is the one that parsers take.
    pub(crate) fn last(&self, part: P) -> Option<&Found> {
        self.all(part).last()
    }

    /// Returns whether there is a value of the part.
    pub(crate) fn has(&self, part: P) -> bool {
        !self.all(part).is_empty()
    }

    /// Returns whether a part without wildcards occurs twice.
    pub(crate) fn repeats(&self, parts: &[P]) -> bool {
        parts.iter().any(|part| self.all(*part).len() > 1)
    }

    /// Returns the characters of a part that is a short string.
    pub(crate) fn text(&self, message: &Spool, part: P) -> Option<String> {
        self.last(part).and_then(|found| short_text(message, found))
    }
}

/// Returns the characters of a value if it is a short string without lone surrogates.
pub(crate) fn short_text(message: &Spool, found: &Found) -> Option<String> {
    if found.kind != ValueKind::String || found.span.end - found.span.start > LONGEST_NAME {
        return None;
    }
    text::decode(&message.to_vec(found.span.clone(), LONGEST_NAME as usize).ok()?)
}

impl Parts<MessagePart> {
    /// Returns the id, and its bytes.
    pub(crate) fn id(&self, message: &Spool) -> Option<(Id, Vec<u8>)> {
        let found = self.last(MessagePart::Id)?;
        let raw = message.to_vec(found.span.clone(), LONGEST_ID).ok()?;
        Some((Id::parse(&raw)?, raw))
    }

    /// Returns the form of the message.
    pub(crate) fn form(&self) -> MessageForm {
        let answers = self.has(MessagePart::Result) || self.has(MessagePart::Error);
        match (self.has(MessagePart::Method), answers, self.has(MessagePart::Id)) {
            (true, true, _) => MessageForm::Ambiguous,
            (true, false, true) => MessageForm::Request,
            (true, false, false) => MessageForm::Notification,
            (false, true, _) => MessageForm::Response,
            (false, false, _) => MessageForm::Other,
        }
    }
}

/// The kind of a message, by its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageForm {
    /// It has a method and an id.
    Request,
    /// It has a method and no id.
    Notification,
    /// It has a result or an error.
    Response,
    /// It has a method, and a result or an error: readers disagree on what it is.
    Ambiguous,
    /// It has none of these.
    Other,
}

/// Shows how often each part was found.
impl<P> fmt::Debug for Parts<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<usize> = self.found.iter().map(SmallVec::len).collect();
        f.debug_tuple("Parts").field(&counts).finish()
    }
}

/// Returns whether a document is an array, which is a batch. Its first byte decides.
pub(crate) fn is_batch(message: &Spool) -> bool {
    let start = message.to_vec(0..64, 64).unwrap_or_default();
    let first = start.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    first == Some(&b'[')
}

#[cfg(test)]
mod tests {
    use super::{BatchPart, ListPart, MessagePart, Part, ResultPart};

    #[test]
    fn all_paths_compile() {
        let all =
            [MessagePart::paths(), ResultPart::paths(), ListPart::paths(), BatchPart::paths()];
        assert!(all.iter().all(|paths| paths.are_valid()));
    }
}
