//! The events of a session, the same for all agents.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use tamis_agents::agent::Agent;

use crate::cost::Usage;

/// Something that a transcript recorded, in the order in which the model received or wrote it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// A session begins. All state of the one before it ends.
    Session(&'a SessionStart),
    /// A text that neither the model nor a tool wrote.
    Other(&'a str),
    /// A text that the model wrote: to the user, or as reasoning.
    Model(&'a str),
    /// A call of a tool.
    Call(&'a Call),
    /// The tokens of one request to the model.
    Request(&'a Request),
    /// The result of a call.
    Result(&'a ToolResult),
    /// The history was replaced by a summary: earlier results are no longer sent.
    Compacted,
}

/// The beginning of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionStart {
    pub(crate) agent: Agent,
    /// The version of the agent, empty if it is not recorded.
    pub(crate) version: String,
}

/// A call of a tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// The name of the tool, as the agent calls it.
    pub(crate) tool: String,
    /// The command line, for tools that run commands.
    pub(crate) command: Option<String>,
    /// The strings of its arguments, each on lines of its own.
    pub(crate) text: String,
    /// The texts that an edit replaces.
    pub(crate) replaced: String,
}

/// The tokens of a request, as the API reported them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) model: String,
    pub(crate) usage: Usage,
    /// The usage that was reported for the same request before. It no longer counts.
    pub(crate) replaces: Option<Usage>,
}

/// The result of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolResult {
    pub(crate) call: Call,
    /// The text that the model received.
    pub(crate) received: String,
    /// The output of the tool before the agent shortened it. `None`: it is the received text.
    pub(crate) full: Option<String>,
    /// Whether `full` has everything.
    pub(crate) is_complete: bool,
    /// Whether the received text names the file with the full output.
    pub(crate) is_kept: bool,
    pub(crate) is_error: bool,
    /// The exit code of a command.
    pub(crate) exit_code: Option<i32>,
    pub(crate) kind: ToolKind,
}

/// How tamis meets a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolKind {
    /// Runs commands.
    Shell,
    /// A tool of an MCP server.
    Mcp,
    /// A tool of the agent itself.
    #[default]
    Native,
}

/// Entries that could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Lines, rows or documents that are not valid, or beyond a limit.
    pub malformed: u64,
    /// Results without a call, and results whose call was in another file, too.
    pub repeated: u64,
}

/// Gets the events of a transcript.
pub(crate) trait Events {
    /// Says where the next events are in the transcript: the number of a line, or of a part of a session.
    fn at(&mut self, place: u64);
    fn event(&mut self, event: Event<'_>);
}

/// A transcript that cannot be read.
#[derive(Debug)]
pub struct TranscriptError {
    path: String,
    error: String,
}

impl TranscriptError {
    pub(crate) fn new(path: &Path, error: impl fmt::Display) -> Self {
        Self { path: path.display().to_string(), error: error.to_string() }
    }
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.error)
    }
}

impl std::error::Error for TranscriptError {}
