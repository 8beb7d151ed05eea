//! The members that matter, by their place in a history.
//!
//! Only names; the survey interprets them. Sources: opencode's session format (`parts`, `state`); OpenAI's Chat Completions
//! (`tool_calls`, `tool_call_id`) and Responses (`function_call_output`); Anthropic's Messages (`tool_use`, `tool_result`); the AI
//! SDK's messages (`tool-call`, `tool-result`) and its messages for interfaces (`tool-NAME`, `dynamic-tool`: the types of `ai` 6);
//! Gemini's `functionCall`, `functionResponse` and `codeExecutionResult`, in both spellings (google-genai 3); Bedrock's `toolUse` and
//! `toolResult` (the models of botocore 1.44); LangChain's messages with a `type` in place of a role (langchain-core 1.8). The other
//! items of Responses and blocks of Anthropic are those in the types of openai 3.57 and anthropic 2.14. `data` and `kwargs` are what
//! `messages_to_dict` and `dumpd` of langchain-core 1.8 write, and the `toJSON` of @langchain/core 1.4; `tool-invocation` and
//! `toolInvocations` are in the types of ai 4.3; `inputs` in the types of mistralai's conversations; `part_kind` in what
//! `ModelMessagesTypeAdapter` of pydantic-ai 2.68 writes; `chat_history` and `tool_results` in the types of cohere 7.3 (its first API).

use std::sync::LazyLock;

use tamis_json::path::trie::{NameTable, NodeId};

/// A container that is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The document, if it is an object.
    Document,
    Messages,
    Message,
    Info,
    Metadata,
    MetadataTime,
    ToolCalls,
    ToolCall,
    ToolFunction,
    /// The `content` of a message, if it is a list; then an element of it.
    Content,
    Block,
    /// The `content` of a `tool_result`, or an `output`, if it is a list; then an element of it.
    Pieces,
    Piece,
    /// The `output` of a `tool-result`.
    ToolOutput,
    Parts,
    Part,
    State,
    StateTime,
    FunctionCall,
    FunctionResponse,
    /// The `response` in it.
    Response,
    /// Bedrock: the only member of a block.
    ToolUse,
    ToolResult,
    /// Gemini: the output of code that the model ran.
    CodeResult,
    /// LangChain: the names of modules and, last, the class of a message.
    ClassPath,
    /// The AI SDK up to 4: calls with results, in a message; then one of them.
    Invocations,
    Invocation,
    /// OpenAI's Responses: `outputs` or `results` of an item; then an element, whose texts are the result.
    Outputs,
    Output,
    /// Cohere's first API: the `tool_results` of a message; then one of them.
    NamedResults,
    NamedResult,
}

/// A member by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Attachments,
    CallId,
    ChatHistory,
    CodeResult,
    Compacted,
    Content,
    Contents,
    /// The members of a message, in an object of LangChain's.
    Data,
    Experimental,
    Function,
    FunctionCall,
    FunctionResponse,
    Id,
    Info,
    Input,
    Inputs,
    Invocation,
    Invocations,
    Kind,
    Messages,
    Metadata,
    Name,
    Output,
    Outputs,
    PartKind,
    Parts,
    Response,
    Result,
    Role,
    State,
    /// A text of a result that has several, such as an output of a shell.
    Stream,
    Summary,
    Text,
    Time,
    Tool,
    ToolCallId,
    ToolCalls,
    ToolName,
    ToolResult,
    ToolResults,
    ToolUse,
    Type,
    Value,
    Values,
}

const MEMBERS: [Member; 44] = [
    Member::Attachments,
    Member::CallId,
    Member::ChatHistory,
    Member::CodeResult,
    Member::Compacted,
    Member::Content,
    Member::Contents,
    Member::Data,
    Member::Experimental,
    Member::Function,
    Member::FunctionCall,
    Member::FunctionResponse,
    Member::Id,
    Member::Info,
    Member::Input,
    Member::Inputs,
    Member::Invocation,
    Member::Invocations,
    Member::Kind,
    Member::Messages,
    Member::Metadata,
    Member::Name,
    Member::Output,
    Member::Outputs,
    Member::PartKind,
    Member::Parts,
    Member::Response,
    Member::Result,
    Member::Role,
    Member::State,
    Member::Stream,
    Member::Summary,
    Member::Text,
    Member::Time,
    Member::Tool,
    Member::ToolCallId,
    Member::ToolCalls,
    Member::ToolName,
    Member::ToolResult,
    Member::ToolResults,
    Member::ToolUse,
    Member::Type,
    Member::Value,
    Member::Values,
];

impl Member {
    pub(super) fn of(id: NodeId) -> Option<Self> {
        MEMBERS.get(id as usize).copied()
    }
}

impl Frame {
    fn members(self) -> &'static [(&'static str, Member)] {
        use Member as M;
        match self {
            Self::Document => &[
                ("messages", M::Messages),
                ("input", M::Input),
                ("inputs", M::Inputs),
                ("contents", M::Contents),
                ("values", M::Values),
                ("chat_history", M::ChatHistory),
            ],
            Self::Message => &[
                ("role", M::Role),
                ("content", M::Content),
                ("parts", M::Parts),
                ("metadata", M::Metadata),
                ("tool_call_id", M::ToolCallId),
                ("tool_calls", M::ToolCalls),
                ("name", M::Name),
                ("tool_name", M::ToolName),
                ("type", M::Type),
                ("call_id", M::CallId),
                ("output", M::Output),
                ("info", M::Info),
                ("summary", M::Summary),
                ("id", M::Id),
                ("data", M::Data),
                ("kwargs", M::Data),
                ("outputs", M::Outputs),
                ("results", M::Outputs),
                ("result", M::Result),
                ("toolInvocations", M::Invocations),
                ("kind", M::Kind),
                ("tool_results", M::ToolResults),
            ],
            Self::Info => &[("role", M::Role), ("summary", M::Summary)],
            Self::Metadata => &[("toolName", M::ToolName), ("time", M::Time)],
            Self::MetadataTime | Self::StateTime => &[("compacted", M::Compacted)],
            Self::ToolCall => &[
                ("id", M::Id),
                ("name", M::Name),
                ("function", M::Function),
                ("custom", M::Function),
            ],
            Self::ToolFunction => &[("name", M::Name)],
            Self::Block => &[
                ("type", M::Type),
                ("id", M::Id),
                ("name", M::Name),
                ("tool_use_id", M::CallId),
                ("toolCallId", M::ToolCallId),
                ("toolName", M::ToolName),
                ("content", M::Content),
                ("output", M::Output),
                ("result", M::Result),
                ("experimental_content", M::Experimental),
                ("text", M::Text),
                ("toolUse", M::ToolUse),
                ("toolResult", M::ToolResult),
            ],
            Self::Piece => &[("text", M::Text), ("stdout", M::Stream), ("stderr", M::Stream)],
            Self::Output => &[("text", M::Stream), ("logs", M::Stream)],
            Self::Invocation => {
                &[("toolCallId", M::ToolCallId), ("toolName", M::ToolName), ("result", M::Result)]
            }
            Self::Part => &[
                ("type", M::Type),
                ("tool", M::Tool),
                ("callID", M::CallId),
                ("state", M::State),
                ("functionCall", M::FunctionCall),
                ("function_call", M::FunctionCall),
                ("functionResponse", M::FunctionResponse),
                ("function_response", M::FunctionResponse),
                ("codeExecutionResult", M::CodeResult),
                ("code_execution_result", M::CodeResult),
                ("toolCallId", M::ToolCallId),
                ("toolName", M::ToolName),
                ("output", M::Output),
                ("toolInvocation", M::Invocation),
                ("part_kind", M::PartKind),
                ("tool_call_id", M::ToolCallId),
                ("tool_name", M::ToolName),
                ("content", M::Content),
            ],
            Self::ToolOutput => &[("type", M::Type), ("value", M::Value)],
            Self::State => {
                &[("output", M::Output), ("attachments", M::Attachments), ("time", M::Time)]
            }
            Self::ToolUse => &[("toolUseId", M::Id), ("name", M::Name)],
            Self::ToolResult => &[("toolUseId", M::CallId), ("content", M::Content)],
            Self::NamedResult => &[("call", M::Function), ("outputs", M::Content)],
            Self::CodeResult => &[("output", M::Output)],
            Self::FunctionCall => &[("id", M::Id), ("name", M::Name)],
            Self::FunctionResponse => {
                &[("id", M::Id), ("name", M::Name), ("response", M::Response)]
            }
            Self::Messages
            | Self::ToolCalls
            | Self::Content
            | Self::Pieces
            | Self::Parts
            | Self::Response
            | Self::ClassPath
            | Self::Invocations
            | Self::Outputs
            | Self::NamedResults => &[],
        }
    }

    /// Returns whether the presence of other members matters.
    pub(super) fn is_counted(self) -> bool {
        matches!(self, Self::Metadata | Self::MetadataTime | Self::State | Self::StateTime)
    }

    /// Returns the names of the members that matter; `None` if all children do.
    pub(super) fn names(self) -> Option<&'static NameTable> {
        static NAMES: LazyLock<Vec<Option<NameTable>>> = LazyLock::new(|| {
            FRAMES
                .iter()
                .map(|frame| {
                    let members = frame.members().iter();
                    let names: Vec<_> =
                        members.map(|(name, member)| ((*name).into(), *member as NodeId)).collect();
                    (!names.is_empty()).then(|| NameTable::new(names))
                })
                .collect()
        });
        NAMES.get(self as usize)?.as_ref()
    }
}

/// Length of the longest name in bytes.
pub(super) fn longest_name() -> usize {
    FRAMES.iter().flat_map(|frame| frame.members()).map(|(name, _)| name.len()).max().unwrap_or(0)
}

const FRAMES: [Frame; 31] = [
    Frame::Document,
    Frame::Messages,
    Frame::Message,
    Frame::Info,
    Frame::Metadata,
    Frame::MetadataTime,
    Frame::ToolCalls,
    Frame::ToolCall,
    Frame::ToolFunction,
    Frame::Content,
    Frame::Block,
    Frame::Pieces,
    Frame::Piece,
    Frame::ToolOutput,
    Frame::Parts,
    Frame::Part,
    Frame::State,
    Frame::StateTime,
    Frame::FunctionCall,
    Frame::FunctionResponse,
    Frame::Response,
    Frame::ToolUse,
    Frame::ToolResult,
    Frame::CodeResult,
    Frame::ClassPath,
    Frame::Invocations,
    Frame::Invocation,
    Frame::Outputs,
    Frame::Output,
    Frame::NamedResults,
    Frame::NamedResult,
];

#[cfg(test)]
mod tests {
    use super::{FRAMES, MEMBERS, Member, longest_name};

    #[test]
    fn tables_are_in_order() {
        assert!(FRAMES.iter().enumerate().all(|(number, frame)| *frame as usize == number));
        assert!(MEMBERS.iter().enumerate().all(|(number, member)| *member as usize == number));
        for frame in FRAMES {
            for (name, member) in frame.members() {
                let found = frame.names().and_then(|names| names.get(name.as_bytes()));
                assert_eq!(found.and_then(Member::of), Some(*member));
            }
        }
        assert_eq!(longest_name(), "code_execution_result".len());
    }
}
