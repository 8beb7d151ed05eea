//! The state of the open message and its open parts.
//!
//! Only data; `finish.rs` evaluates it.

use tamis_json::ValueKind;

use super::super::findings::{Edit, EditKind};
use super::super::text::ValueFacts;
use super::shape::Member;
use super::value::{Text, Value};

/// All places of an output: more than one if its member is repeated.
pub(super) type Values = Vec<Value>;

#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) from: u64,
    pub(super) role: Option<MessageRole>,
    pub(super) info_role: Option<MessageRole>,
    /// The message has an `info`, as in opencode.
    pub(super) info: bool,
    pub(super) summary: bool,
    pub(super) item: Option<Item>,
    /// The tool of an item that names none.
    pub(super) item_tool: Option<&'static str>,
    /// LangChain: the role, in the member `type`, or as the class of the message.
    pub(super) type_role: Option<MessageRole>,
    pub(super) class_role: Option<MessageRole>,
    /// pydantic-ai: the role, in the member `kind` of a message with parts.
    pub(super) kind_role: Option<MessageRole>,
    /// OpenAI: `call_id` of Responses, `tool_call_id` of Chat Completions.
    pub(super) call_id: Option<Id>,
    pub(super) tool_call_id: Option<Id>,
    pub(super) name: Option<String>,
    pub(super) metadata: Stamp,
    pub(super) metadata_tool: Option<u32>,
    pub(super) content: Values,
    pub(super) output: Values,
    /// Number of elements of `content`, and of results among them.
    pub(super) blocks: u64,
    pub(super) block_results: u64,
    pub(super) has_parts: bool,
    /// Number of elements of `parts`, and of results among them.
    pub(super) parts: u64,
    pub(super) response_parts: u64,
    /// There are results inside.
    pub(super) results_inside: bool,
    /// Results held until the end of the message, in document order.
    pub(super) waiting: Vec<PendingResult>,
    /// Its calls, in document order, until its end.
    pub(super) calls: Vec<PendingCall>,
}

/// A call by the hashes of its id, and its tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingCall {
    pub(super) id: (u64, u64),
    pub(super) tool: u32,
    /// It is in a list that is the result if the message is one. That is certain only at the end of the message.
    pub(super) in_result: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageRole {
    User,
    Assistant,
    Tool,
    Function,
    System,
    /// That of Gemini's responses.
    Model,
    Other,
}

impl Message {
    /// Returns the role, wherever it is written.
    pub(super) fn any_role(&self) -> Option<MessageRole> {
        let of_kind = self.kind_role.filter(|_| self.has_parts);
        self.role.or(self.info_role).or(self.type_role).or(self.class_role).or(of_kind)
    }
}

impl MessageRole {
    /// Returns the role that LangChain writes as a type. Other types are those of items.
    pub(super) fn of_type(text: Option<&[u8]>) -> Option<Self> {
        match text? {
            b"human" => Some(Self::User),
            b"ai" => Some(Self::Assistant),
            b"tool" => Some(Self::Tool),
            b"system" => Some(Self::System),
            _ => None,
        }
    }

    /// Returns the role of a message by the name of LangChain's class.
    pub(super) fn of_class(text: Option<&[u8]>) -> Option<Self> {
        let class = text?;
        match class.strip_suffix(b"Chunk").unwrap_or(class) {
            b"HumanMessage" => Some(Self::User),
            b"AIMessage" => Some(Self::Assistant),
            b"ToolMessage" => Some(Self::Tool),
            b"FunctionMessage" => Some(Self::Function),
            b"SystemMessage" => Some(Self::System),
            _ => None,
        }
    }

    /// Returns the role that pydantic-ai writes as a kind.
    pub(super) fn of_kind(text: Option<&[u8]>) -> Option<Self> {
        match text? {
            b"request" => Some(Self::User),
            b"response" => Some(Self::Assistant),
            _ => None,
        }
    }

    pub(super) fn of(text: Option<&[u8]>) -> Self {
        match text {
            // The capital letters are those of Cohere's first API.
            Some(b"user" | b"USER") => Self::User,
            Some(b"assistant" | b"CHATBOT") => Self::Assistant,
            Some(b"tool" | b"TOOL") => Self::Tool,
            Some(b"function") => Self::Function,
            Some(b"system" | b"developer" | b"SYSTEM") => Self::System,
            Some(b"model") => Self::Model,
            _ => Self::Other,
        }
    }

    /// Returns the name of the role in the figures of a chat.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant | Self::Model => "assistant",
            Self::Tool | Self::Function => "tool",
            Self::System => "system",
            Self::Other => "other",
        }
    }
}

/// An item of OpenAI's Responses that is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Call,
    Output,
}

impl Item {
    pub(super) fn of(text: Option<&[u8]>) -> Option<Self> {
        match text? {
            // The last is Mistral's, as is `function.result`.
            b"function_call" | b"custom_tool_call" | b"function.call" => Some(Self::Call),
            // The calls that a provider runs have their results.
            b"function_call_output"
            | b"custom_tool_call_output"
            | b"local_shell_call_output"
            | b"shell_call_output"
            | b"apply_patch_call_output"
            | b"code_interpreter_call"
            | b"file_search_call"
            | b"function.result"
            | b"mcp_call" => Some(Self::Output),
            _ => None,
        }
    }

    /// Returns the tool of an item that names none.
    pub(super) fn tool_of(text: Option<&[u8]>) -> Option<&'static str> {
        match text? {
            b"local_shell_call_output" => Some("local_shell"),
            b"shell_call_output" => Some("shell"),
            b"code_interpreter_call" => Some("code_interpreter"),
            b"file_search_call" => Some("file_search"),
            b"apply_patch_call_output" => Some("apply_patch"),
            _ => None,
        }
    }
}

/// A result that was read, and the places of its parts other than its outputs.
#[derive(Debug)]
pub(super) struct PendingResult {
    pub(super) values: Values,
    pub(super) origin: Origin,
    /// It counts only in a message of a tool. In an assistant's, the AI SDK has results of provider-executed tools,
    /// which it reads.
    pub(super) of_tool: bool,
    /// It is the result of a call that has not been looked up: the number of the message's calls before it.
    pub(super) after: Option<usize>,
}

/// The call that a result belongs to.
#[derive(Debug, Default)]
pub(super) struct Origin {
    pub(super) tool: u32,
    pub(super) id: Option<Id>,
    /// The time of pruning, which is added.
    pub(super) mark: Option<Edit>,
    /// Files that are removed together with it.
    pub(super) attachments: Vec<Edit>,
    pub(super) compacted: bool,
}

/// The id of a call: its hashes, and the part of it that a placeholder may show.
#[derive(Clone, Debug, Default)]
pub(super) struct Id {
    pub(super) hash: (u64, u64),
    pub(super) shown: String,
}

/// The id and the tool of a call.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) id: Option<Id>,
    pub(super) tool: Option<u32>,
    /// Gemini: the response of the function.
    pub(super) values: Values,
}

/// An element of a message's `content`.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) kind: Option<BlockKind>,
    pub(super) call: Call,
    /// The call of a result; the AI SDK's results have members of other names.
    pub(super) call_id: Option<Id>,
    pub(super) sdk_id: Option<Id>,
    pub(super) sdk_tool: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    ToolUse,
    ToolResult,
    /// A tool call in the format of the AI SDK.
    SdkCall,
    SdkResult,
}

impl BlockKind {
    pub(super) fn of(text: Option<&[u8]>) -> Option<Self> {
        match text? {
            b"tool_use" | b"mcp_tool_use" => Some(Self::ToolUse),
            b"tool_result" | b"mcp_tool_result" => Some(Self::ToolResult),
            b"tool-call" => Some(Self::SdkCall),
            b"tool-result" => Some(Self::SdkResult),
            _ => None,
        }
    }
}

/// An element of a message's `parts`.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// opencode: the call of a tool, with its result.
    pub(super) is_tool: bool,
    pub(super) tool: Option<u32>,
    pub(super) call_id: Option<Id>,
    pub(super) values: Values,
    /// opencode: lists of files, which are removed together with the output.
    pub(super) attachments: Vec<Edit>,
    pub(super) state: Stamp,
    /// Gemini: the part has the response of a function.
    pub(super) response: bool,
    /// The AI SDK's messages for interfaces: the call of a tool, with its output.
    pub(super) is_shown_tool: bool,
    pub(super) shown_tool: Option<u32>,
    pub(super) shown_id: Option<Id>,
    pub(super) output: Values,
    /// Gemini: the part has the output of code, which is in the findings already.
    pub(super) has_code_result: bool,
    /// pydantic-ai: the part is a result, or the request to call a tool once more.
    pub(super) is_return: bool,
    pub(super) is_retry: bool,
    pub(super) content: Values,
}

/// A list of parts, or an object, that may be an output.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) from: u64,
    /// The member whose value it is.
    pub(super) member: Option<Member>,
    /// It contains tool results.
    pub(super) has_results: bool,
    /// The number of the message's calls before it.
    pub(super) calls: usize,
    /// Its elements have texts that are outputs of their own.
    pub(super) has_streams: bool,
    /// The AI SDK: its types, and whether the last one declares the value a text.
    pub(super) types: u64,
    pub(super) is_text: bool,
    pub(super) children: u64,
    /// The last text in it.
    pub(super) text: Option<Text>,
    pub(super) texts: u64,
    /// Tokens of the texts, if they were counted, and their bytes.
    pub(super) counted: (u64, u64),
}

impl List {
    pub(super) fn at(from: u64, member: Member) -> Self {
        Self { from, member: Some(member), ..Self::default() }
    }

    pub(super) fn text(&mut self, at: u64, found: ValueFacts, text: Option<&[u8]>) {
        self.texts += 1;
        if let Some(tokens) = found.tokens {
            self.counted.0 += tokens;
            self.counted.1 += found.raw;
        }
        self.text = Some(Text::new(at, found, text));
    }

    /// Returns the only child, if it is a text.
    pub(super) fn only(&mut self) -> Option<Text> {
        self.text.take().filter(|_| self.children == 1 && self.texts == 1)
    }
}

/// The place of the value that has the time of pruning, or to which it can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    #[default]
    Absent,
    /// The offset of its first byte.
    Null(u64),
    /// The offset of its closing bracket, and whether it has members.
    Object { close: u64, members: bool },
    /// The value cannot have members.
    Other,
}

impl Place {
    pub(super) fn of(kind: ValueKind, offset: u64) -> Self {
        match kind {
            ValueKind::Null => Self::Null(offset),
            ValueKind::Object => Self::Object { close: offset, members: false },
            _ => Self::Other,
        }
    }
}

/// The time of pruning, in `metadata.time.compacted` or in `state.time.compacted`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    /// `metadata`, or `state`.
    pub(super) whole: Place,
    pub(super) time: Place,
    pub(super) compacted: Compacted,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Compacted {
    #[default]
    Absent,
    /// The value says that the result is not pruned.
    Not(u64, u64),
    Yes,
}

impl Compacted {
    /// Evaluates a scalar. Null, false, zero and an empty text mean "not pruned", also as text.
    pub(super) fn of(text: Option<&[u8]>, from: u64, to: u64) -> Self {
        let is_zero = |text: &[u8]| {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
            number == Some(0.0)
        };
        match text {
            Some(b"null" | b"false" | b"") => Self::Not(from, to),
            Some(text) if is_zero(text) => Self::Not(from, to),
            _ => Self::Yes,
        }
    }
}

impl Stamp {
    /// Takes a member of `time`, or of the object that contains it.
    pub(super) fn has_member(&mut self, in_time: bool) {
        let place = if in_time { &mut self.time } else { &mut self.whole };
        if let Place::Object { members, .. } = place {
            *members = true;
        }
    }

    /// Ends `time`, or the object that contains it.
    pub(super) fn close(&mut self, is_time: bool, at: u64) {
        let place = if is_time { &mut self.time } else { &mut self.whole };
        if let Place::Object { close, .. } = place {
            *close = at;
        }
    }

    pub(super) fn is_set(&self) -> bool {
        matches!((self.whole, self.time), (Place::Object { .. }, Place::Object { .. }))
            && self.compacted == Compacted::Yes
    }

    /// Returns the change that sets the time; `end` is the closing bracket of the container. A value without members is
    /// kept.
    pub(super) fn edit(&self, end: u64) -> Option<Edit> {
        let null = "null".len() as u64;
        let (from, to, act) = match (self.whole, self.time) {
            (Place::Absent, _) => (end, end, EditKind::AddMetadata),
            (Place::Null(at), _) => (at, at + null, EditKind::NowInMetadata),
            (Place::Object { close, members }, Place::Absent) => {
                (close, close, if members { EditKind::AddTime } else { EditKind::AddFirstTime })
            }
            (Place::Object { .. }, Place::Null(at)) => (at, at + null, EditKind::NowInTime),
            (Place::Object { .. }, Place::Object { close, members }) => match self.compacted {
                Compacted::Absent if members => (close, close, EditKind::AddCompacted),
                Compacted::Absent => (close, close, EditKind::AddFirstCompacted),
                Compacted::Not(from, to) => (from, to, EditKind::Now),
                Compacted::Yes => return None,
            },
            _ => return None,
        };
        Some(Edit { from, to, act })
    }
}
