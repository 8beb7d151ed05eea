//! The work that a message needs, and the facts that it needs.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use tamis::CallOptions;
use tamis_store::Scope;
use tamis_store::calls::TextSize;

use super::replaced::Replaced;
use super::text_cut::TextRoom;
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::{MessagePart, Parts, short_text};
use crate::jsonrpc::splice::Splice;
use crate::jsonrpc::text;
use crate::policy::allowed::Envelope;
use crate::policy::clients::ClientReads;
use crate::policy::earlier_results::FullText;
use crate::policy::failure::Failure;
use crate::policy::memory::Memory;
use crate::policy::proxy::Proxy;
use crate::policy::tool_call::ToolCall;
use crate::record::{CallOutcome, CallRecord, RuleSource};
use crate::rules::ToolFilter;
use crate::spool::Spool;

/// The outcome for an element of a batch.
#[derive(Debug)]
pub(crate) enum Element {
    Copy,
    Cut,
    Bytes(Vec<u8>),
    Work(Box<Work>),
}

/// The work for one message.
#[derive(Debug)]
pub(crate) struct Work {
    /// The message, which may be an element of a batch.
    pub(crate) span: Range<u64>,
    pub(crate) task: Task,
    pub(crate) context: Context,
}

/// The facts that a task needs in addition to the message.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) scope: Scope,
    /// Whether clients limit the size of one message.
    pub(crate) limits_output: bool,
    pub(crate) is_modern: bool,
    /// Whether invisible characters were removed from the message.
    pub(crate) is_cleaned: bool,
    pub(crate) reads: ClientReads,
    /// The name that the client gave itself.
    pub(crate) client: Option<Arc<str>>,
    /// The most bytes that it shows whole, if they are known.
    pub(crate) client_limit: Option<u64>,
    /// Whether profiles write once what items share.
    pub(crate) factors: bool,
    /// The JSON text of the id of the request. Empty for notifications.
    pub(crate) raw_id: Box<[u8]>,
    pub(crate) arrived: Option<Instant>,
}

impl Context {
    /// Returns whether a message of the server is longer than the client accepts.
    pub(crate) fn is_too_long(&self, span: &Range<u64>) -> bool {
        self.limits_output && span.end.saturating_sub(span.start) > self.proxy.limits().output
    }

    /// Returns the most bytes of a result of a filter with a profile's limit: the least of that, of what the client shows and of what
    /// the call asks for.
    pub(crate) fn limit(&self, filter: &ToolFilter, options: &CallOptions) -> Option<u64> {
        let limit = bytes_of(filter.max_tokens?);
        let asked = options.budget().and_then(TextRoom::of_budget).map(TextRoom::bytes);
        [self.client_limit, asked].into_iter().flatten().chain([limit]).min()
    }
}

/// Returns about how many bytes tokens have.
pub(crate) fn bytes_of(tokens: u64) -> u64 {
    tokens.saturating_mul(4)
}

/// Arguments that have to be checked.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentCheck {
    pub(crate) tool: Arc<str>,
    pub(crate) arguments: Range<u64>,
    /// Ranges of the message that are cut from it.
    pub(crate) cuts: Vec<Range<u64>>,
}

/// The work that a message needs.
#[derive(Debug)]
pub(crate) enum Task {
    /// Cut our parameters out of the arguments of a call, put values back into them, and insert values by handle.
    EditArguments {
        cuts: Vec<(Range<u64>, Vec<Found>)>,
        values: Splice,
        check: Option<ArgumentCheck>,
    },
    /// Send the error for an unknown tool, because clients may not call this one.
    Deny { tool: String, answer: Vec<u8> },
    /// Read from the store.
    Retrieve {
        arguments: Vec<u8>,
        /// Whether the result goes back instead of the message being forwarded.
        is_answer: bool,
    },
    /// Send a ping instead of a call of `tamis_retrieve` in a batch.
    Ping,
    /// Rewrite a page of the list of tools.
    Listing { result: Range<u64>, is_first: bool, offers_retrieval: bool },
    /// Filter the result of a tool.
    Result { call: ToolCall, result: Range<u64> },
    /// Filter the result inside of a task, and withhold its messages.
    Nested {
        call: ToolCall,
        result: Option<Found>,
        error: Option<Found>,
        status: Option<Found>,
        /// Why nothing of it may be sent, if the filter removes for safety.
        failure: Option<Failure>,
        envelope: Envelope,
    },
    /// Filter the contents of a resource.
    Resource {
        call: ToolCall,
        contents: Option<Found>,
        items: Vec<Found>,
        texts: Vec<Found>,
        /// Whether the result is the last one, rather than a question to the client.
        is_complete: bool,
    },
    /// Remove invisible characters from what a model reads, and nothing else.
    Clean { output: Vec<Found> },
    /// Send only the known members of a message that has no output of a tool.
    Strip(Envelope),
    /// Withhold the message of an error of the protocol.
    Error { call: ToolCall, error: Option<Found>, code: Option<Found> },
    /// Send a result that says that the output is withheld.
    Withhold { tool: Arc<str>, failure: Failure },
}

impl Task {
    /// Returns the task for a response to `tasks/get`.
    pub(crate) fn nested(call: ToolCall, message: &Spool, parts: &Parts<MessagePart>) -> Self {
        let is_object = |found: &Found| found.kind == ValueKind::Object;
        let failure = if parts.repeats(&[MessagePart::StatusMessage, MessagePart::TaskStatus]) {
            Some(Failure::AMBIGUOUS)
        } else if !parts.last(MessagePart::Result).is_some_and(is_object) {
            Some(Failure::UNKNOWN_FORM)
        } else {
            None
        };
        let waits = waits(message, parts, MessagePart::TaskStatus);
        Self::Nested {
            call,
            result: parts.last(MessagePart::InnerResult).cloned(),
            error: parts.last(MessagePart::InnerError).cloned(),
            status: parts.last(MessagePart::StatusMessage).cloned(),
            failure,
            envelope: if waits { Envelope::WaitingTask } else { Envelope::Task },
        }
    }

    /// Returns the task for a notification about a task.
    pub(crate) fn notification(
        call: ToolCall,
        message: &Spool,
        parts: &Parts<MessagePart>,
    ) -> Self {
        let places = [
            MessagePart::ParamsResult,
            MessagePart::ParamsError,
            MessagePart::ParamsStatusMessage,
            MessagePart::ParamsTaskStatus,
            MessagePart::TaskId,
        ];
        let waits = waits(message, parts, MessagePart::ParamsTaskStatus);
        Self::Nested {
            call,
            result: parts.last(MessagePart::ParamsResult).cloned(),
            error: parts.last(MessagePart::ParamsError).cloned(),
            status: parts.last(MessagePart::ParamsStatusMessage).cloned(),
            failure: parts.repeats(&places).then_some(Failure::AMBIGUOUS),
            envelope: match waits {
                true => Envelope::WaitingTaskNotification,
                false => Envelope::TaskNotification,
            },
        }
    }

    /// Returns the task for the contents of a resource.
    pub(crate) fn resource(call: ToolCall, message: &Spool, parts: &Parts<MessagePart>) -> Self {
        let kind = parts.last(MessagePart::ResultType);
        let kind = kind.map(|found| short_text(message, found));
        Self::Resource {
            is_complete: kind.is_none_or(|kind| kind.as_deref() == Some("complete")),
            call,
            items: parts.all(MessagePart::ContentsItem).to_vec(),
            texts: parts.all(MessagePart::ContentsText).to_vec(),
            contents: parts.last(MessagePart::Contents).cloned(),
        }
    }

    /// Returns the members that the message may have if the filter removes for safety.
    pub(crate) fn envelope(&self) -> Option<Envelope> {
        let (call, envelope) = match self {
            Self::Strip(envelope) => return Some(*envelope),
            Self::Result { call, .. } | Self::Error { call, .. } => (call, Envelope::ToolResult),
            Self::Nested { call, envelope, .. } => (call, *envelope),
            Self::Resource { call, .. } => (call, Envelope::Contents),
            _ => return None,
        };
        call.filter.removes_for_safety.then_some(envelope)
    }

    /// Returns the task for an error of the protocol in place of a result.
    pub(crate) fn error(call: ToolCall, parts: &Parts<MessagePart>) -> Self {
        Self::Error {
            call,
            error: parts.last(MessagePart::Error).cloned(),
            code: parts.last(MessagePart::ErrorCode).cloned(),
        }
    }
}

/// Returns whether a task waits for input of the client.
fn waits(message: &Spool, parts: &Parts<MessagePart>, status: MessagePart) -> bool {
    parts.text(message, status).as_deref() == Some("input_required")
}

/// A record in the making.
pub(crate) struct Record {
    pub(crate) tool: String,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) handle: Option<String>,
    pub(crate) outcome: CallOutcome,
    pub(crate) reason: Option<&'static str>,
    pub(crate) invisible: u64,
    pub(crate) redacted: Replaced,
    pub(crate) shown: Option<[TextSize; 2]>,
    pub(crate) in_script: bool,
    /// The tools of a list, with the bytes of their descriptions.
    pub(crate) listed: Vec<(String, u64)>,
    /// Whether the message is recorded although no tool was called.
    pub(crate) is_wanted: bool,
    /// The text of the result, to be remembered if it is sent.
    pub(crate) full: Option<FullText>,
    pub(crate) started: Instant,
}

impl Record {
    pub(crate) fn new(tool: &str, started: Instant) -> Self {
        Self {
            tool: text::short(tool, 128),
            bytes_in: 0,
            bytes_out: 0,
            handle: None,
            outcome: CallOutcome::Filtered,
            reason: None,
            invisible: 0,
            redacted: Replaced::default(),
            shown: None,
            in_script: false,
            listed: Vec::new(),
            is_wanted: false,
            full: None,
            started,
        }
    }

    /// Notes that the record is about the arguments of a call.
    pub(crate) fn note_arguments(&mut self, tool: &str, outcome: CallOutcome) {
        self.tool = text::short(tool, 128);
        self.outcome = outcome;
        self.is_wanted = true;
    }

    pub(crate) fn finish(
        self,
        source: Option<RuleSource>,
        client: Option<Arc<str>>,
        arrived: Option<Instant>,
    ) -> CallRecord {
        let duration = self.started.elapsed();
        CallRecord {
            tool: self.tool,
            client,
            shown: self.shown,
            in_script: self.in_script,
            source: source.unwrap_or(RuleSource::Profile),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            handle: self.handle,
            outcome: self.outcome,
            reason: self.reason,
            invisible: self.invisible,
            redacted: self.redacted.into_kinds(),
            listed: self.listed,
            duration,
            latency: arrived.map(|arrived| arrived.elapsed()),
        }
    }
}
