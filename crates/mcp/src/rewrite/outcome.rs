//! The message to send after a [`Job`](super::Job), and its records.

use crate::record::CallRecord;
use crate::spool::Spool;

/// The result of a [`Job`](super::Job).
#[derive(Debug)]
pub struct Outcome {
    /// The message to send.
    pub action: Action,
    /// One for each result of a tool in the message, for the log and the metrics.
    pub records: Vec<CallRecord>,
}

/// The message to send after a [`Job`](super::Job).
#[derive(Debug)]
pub enum Action {
    /// The message, as the bytes that came: nothing had to change, or a filter that only saves failed.
    Original,
    /// These bytes instead, in the same direction.
    Send(Spool),
    /// This message, back to the client. Nothing is forwarded.
    Answer(Spool),
    /// Nothing.
    Drop(DropReason),
}

/// Why a message is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// It is not JSON. The line of a server is noise, such as a log line on standard output.
    NotJson,
    /// It nests too deeply, or has too many parts.
    TooComplex,
    /// It is a response to no open request, and has the result of a tool.
    UnknownResponse,
    /// It has a member twice that decides what it means.
    Ambiguous,
    /// It is a call of a tool without an id. No rule would apply to it, and nobody waits for a response.
    CallWithoutId,
    /// A filter that removes for safety failed, and nobody waits for a response.
    FailedClosed,
}

impl DropReason {
    /// Returns the word for this reason in logs and metrics.
    ///
    /// ```
    /// assert_eq!(tamis_mcp::DropReason::NotJson.as_str(), "not_json");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::TooComplex => "too_complex",
            Self::UnknownResponse => "unknown_response",
            Self::Ambiguous => "ambiguous",
            Self::CallWithoutId => "call_without_id",
            Self::FailedClosed => "failed_closed",
        }
    }
}
