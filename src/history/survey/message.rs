//! What is known of the message that is open, and of what is open in it.
//!
//! State alone; `finish.rs` says what it comes to.

use super::super::log::{Act, Edit};
use super::super::text::Found;
use super::shape::Member;
use super::value::{Text, Value};
use crate::json::ValueKind;

/// All places of an output: more than one where its member comes again.
pub(super) type Values = Vec<Value>;

#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) from: u64,
    pub(super) role: Option<Role>,
    pub(super) info_role: Option<Role>,
    /// It has an `info`, as opencode's messages have.
    pub(super) info: bool,
    pub(super) summary: bool,
    pub(super) item: Option<Item>,
    /// OpenAI: `call_id` of Responses, `tool_call_id` of Chat Completions.
    pub(super) call_id: Option<Id>,
    pub(super) tool_call_id: Option<Id>,
    pub(super) name: Option<String>,
    pub(super) metadata: Stamp,
    pub(super) metadata_tool: Option<u32>,
    pub(super) content: Values,
    pub(super) output: Values,
    /// Elements of `content`, and those that are results.
    pub(super) blocks: u64,
    pub(super) block_results: u64,
    pub(super) has_parts: bool,
    /// Elements of `parts`, and those that are responses of functions.
    pub(super) parts: u64,
    pub(super) response_parts: u64,
    /// Results are inside.
    pub(super) results_inside: bool,
    /// Results that wait for its end, in the order of the document.
    pub(super) waiting: Vec<PendingResult>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    Tool,
    Function,
    Other,
}

impl Role {
    pub(super) fn of(text: Option<&[u8]>) -> Self {
        match text {
            Some(b"user") => Self::User,
            Some(b"assistant") => Self::Assistant,
            Some(b"tool") => Self::Tool,
            Some(b"function") => Self::Function,
            _ => Self::Other,
        }
    }
}

/// An item of OpenAI's Responses that is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Call,
    Output,
}

impl Item {
    pub(super) fn of(text: Option<&[u8]>) -> Option<Self> {
        match text? {
            b"function_call" | b"custom_tool_call" => Some(Self::Call),
            b"function_call_output" | b"custom_tool_call_output" => Some(Self::Output),
            _ => None,
        }
    }
}

/// A result that was read, and where its parts are beside its outputs.
#[derive(Debug)]
pub(super) struct PendingResult {
    pub(super) values: Values,
    pub(super) origin: Origin,
    /// It is one only in a message of a tool: in that of an assistant the AI SDK has what a provider ran, which it reads again.
    pub(super) of_tool: bool,
}

/// What a result is of.
#[derive(Debug, Default)]
pub(super) struct Origin {
    pub(super) tool: u32,
    pub(super) id: Option<Id>,
    /// The time of pruning that is added.
    pub(super) mark: Option<Edit>,
    /// Files that go with it.
    pub(super) attachments: Vec<Edit>,
    pub(super) compacted: bool,
}

/// The id of a call: its hashes, and as much of it as a placeholder may show.
#[derive(Clone, Debug, Default)]
pub(super) struct Id {
    pub(super) hash: (u64, u64),
    pub(super) shown: String,
}

/// A call: its id and its tool.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) id: Option<Id>,
    pub(super) tool: Option<u32>,
    /// Gemini: what the function answered.
    pub(super) values: Values,
}

/// An element of a message's `content`.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) kind: Option<BlockKind>,
    pub(super) call: Call,
    /// The call that it is the result of; the AI SDK's own, whose members have other names.
    pub(super) call_id: Option<Id>,
    pub(super) sdk_id: Option<Id>,
    pub(super) sdk_tool: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    ToolUse,
    ToolResult,
    /// The AI SDK's.
    SdkCall,
    SdkResult,
}

impl BlockKind {
    pub(super) fn of(text: Option<&[u8]>) -> Option<Self> {
        match text? {
            b"tool_use" => Some(Self::ToolUse),
            b"tool_result" => Some(Self::ToolResult),
            b"tool-call" => Some(Self::SdkCall),
            b"tool-result" => Some(Self::SdkResult),
            _ => None,
        }
    }
}

/// An element of a message's `parts`.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// opencode: it is a call of a tool, with its result.
    pub(super) is_tool: bool,
    pub(super) tool: Option<u32>,
    pub(super) call_id: Option<Id>,
    pub(super) values: Values,
    /// opencode: lists of files, which go with the output.
    pub(super) attachments: Vec<Edit>,
    pub(super) state: Stamp,
    /// Gemini: it has the response of a function.
    pub(super) response: bool,
}

/// A list of parts, or an object, that may be an output.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) from: u64,
    /// The member that it is the value of.
    pub(super) member: Option<Member>,
    /// Results of tools are in it.
    pub(super) has_results: bool,
    /// The AI SDK: its types, and whether the last says that its value is a text.
    pub(super) types: u64,
    pub(super) is_text: bool,
    pub(super) children: u64,
    /// The last text of it.
    pub(super) text: Option<Text>,
    pub(super) texts: u64,
    /// Tokens of the texts, if they were counted, and their bytes.
    pub(super) counted: (u64, u64),
}

impl List {
    pub(super) fn at(from: u64, member: Member) -> Self {
        Self { from, member: Some(member), ..Self::default() }
    }

    pub(super) fn text(&mut self, at: u64, found: Found, text: Option<&[u8]>) {
        self.texts += 1;
        if let Some(tokens) = found.tokens {
            self.counted.0 += tokens;
            self.counted.1 += found.raw;
        }
        self.text = Some(Text::new(at, found, text));
    }

    /// Its only child, if that is a text.
    pub(super) fn only(&mut self) -> Option<Text> {
        self.text.take().filter(|_| self.children == 1 && self.texts == 1)
    }
}

/// Where a value is that holds the time of pruning, or would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    #[default]
    Absent,
    /// It begins here.
    Null(u64),
    /// Its closing bracket is here; whether there is something in front of that.
    Object { close: u64, members: bool },
    /// It holds no members.
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
    /// It says that it is not.
    Not(u64, u64),
    Yes,
}

impl Compacted {
    /// What a value says that is a scalar: null, false, nothing and zero say no, also as text.
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
    /// A member of `time`, or of what that is in.
    pub(super) fn has_member(&mut self, in_time: bool) {
        let place = if in_time { &mut self.time } else { &mut self.whole };
        if let Place::Object { members, .. } = place {
            *members = true;
        }
    }

    /// `time`, or what that is in, ends.
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

    /// The change that sets it; `end` is the closing bracket of what it is in. What holds no members is left as it is.
    pub(super) fn edit(&self, end: u64) -> Option<Edit> {
        let null = "null".len() as u64;
        let (from, to, act) = match (self.whole, self.time) {
            (Place::Absent, _) => (end, end, Act::AddMetadata),
            (Place::Null(at), _) => (at, at + null, Act::NowInMetadata),
            (Place::Object { close, members }, Place::Absent) => {
                (close, close, if members { Act::AddTime } else { Act::AddFirstTime })
            }
            (Place::Object { .. }, Place::Null(at)) => (at, at + null, Act::NowInTime),
            (Place::Object { .. }, Place::Object { close, members }) => match self.compacted {
                Compacted::Absent if members => (close, close, Act::AddCompacted),
                Compacted::Absent => (close, close, Act::AddFirstCompacted),
                Compacted::Not(from, to) => (from, to, Act::Now),
                Compacted::Yes => return None,
            },
            _ => return None,
        };
        Some(Edit { from, to, act })
    }
}
