//! Rewrites one message, without the session.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::failure::{self, Failure};
use super::listing;
use super::memory::Memory;
use super::open_calls::ToolCall;
use super::proxy::Proxy;
use super::record::{CallOutcome, CallRecord, RuleSource};
use super::resource;
use super::result::{self, Rewritten};
use super::retrieve;
use super::route::{Action, DropReason, Outcome};
use super::{clients::ClientReads, failure::MESSAGE_WITHHELD};
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::{MessagePart, Parts};
use crate::jsonrpc::splice::{Piece, Splice, cut_members};
use crate::jsonrpc::{reply, text};
use crate::store::Scope;
use crate::transport::spool::Spool;

/// The work that a message needs before it can be sent.
#[derive(Debug)]
pub struct Job(JobKind);

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a job is always in a box")]
enum JobKind {
    One(Work),
    Batch(Vec<(Range<u64>, Element)>),
}

/// What becomes of an element of a batch.
#[derive(Debug)]
pub(super) enum Element {
    Copy,
    Cut,
    Bytes(Vec<u8>),
    Work(Box<Work>),
}

/// The work for one message.
#[derive(Debug)]
pub(super) struct Work {
    /// The message, which may be an element of a batch.
    pub(super) span: Range<u64>,
    pub(super) task: Task,
    pub(super) context: Context,
}

/// What a task needs to know besides the message.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) proxy: Arc<Proxy>,
    pub(super) memory: Arc<Memory>,
    pub(super) scope: Scope,
    /// Whether clients limit the size of one message.
    pub(super) limits_output: bool,
    pub(super) is_modern: bool,
    pub(super) reads: ClientReads,
    /// The JSON text of the id of the request. Empty for notifications.
    pub(super) raw_id: Box<[u8]>,
    pub(super) arrived: Option<Instant>,
}

/// What has to be done with a message.
#[derive(Debug)]
pub(super) enum Task {
    /// Cut our parameters out of the arguments of a call.
    CutArguments(Vec<(Range<u64>, Vec<Found>)>),
    /// Read from the store.
    Retrieve {
        arguments: Vec<u8>,
        /// Whether the result goes back instead of the message being forwarded.
        is_answer: bool,
    },
    /// Send a ping instead of a call of `tamis_retrieve` in a batch.
    Ping,
    /// Rewrite a page of the list of tools.
    Listing { result: Range<u64>, offers_retrieval: bool },
    /// Filter the result of a tool.
    Result { call: ToolCall, result: Range<u64> },
    /// Filter the result inside of a task, and withhold its messages.
    Nested {
        call: ToolCall,
        result: Option<Found>,
        error: Option<Found>,
        status: Option<Found>,
        /// Whether a member occurs twice.
        is_ambiguous: bool,
    },
    /// Filter the contents of a resource.
    Resource { call: ToolCall, contents: Option<Found>, items: Vec<Found>, texts: Vec<Found> },
    /// Withhold the message of an error of the protocol.
    Error { call: ToolCall, error: Option<Found>, code: Option<Found> },
    /// Send a result that says that the output is withheld.
    Withhold { tool: Arc<str>, failure: Failure },
}

impl Task {
    /// Returns the task for a response to `tasks/get`.
    pub(super) fn nested(call: ToolCall, parts: &Parts<MessagePart>) -> Self {
        Self::Nested {
            call,
            result: parts.last(MessagePart::InnerResult).cloned(),
            error: parts.last(MessagePart::InnerError).cloned(),
            status: parts.last(MessagePart::StatusMessage).cloned(),
            is_ambiguous: parts.repeats(&[MessagePart::StatusMessage]),
        }
    }

    /// Returns the task for a notification about a task.
    pub(super) fn notification(call: ToolCall, parts: &Parts<MessagePart>) -> Self {
        let places =
            [MessagePart::ParamsResult, MessagePart::ParamsError, MessagePart::ParamsStatusMessage];
        Self::Nested {
            call,
            result: parts.last(MessagePart::ParamsResult).cloned(),
            error: parts.last(MessagePart::ParamsError).cloned(),
            status: parts.last(MessagePart::ParamsStatusMessage).cloned(),
            is_ambiguous: parts.repeats(&places) || parts.repeats(&[MessagePart::TaskId]),
        }
    }

    /// Returns the task for the contents of a resource.
    pub(super) fn resource(call: ToolCall, parts: &Parts<MessagePart>) -> Self {
        Self::Resource {
            call,
            items: parts.all(MessagePart::ContentsItem).to_vec(),
            texts: parts.all(MessagePart::ContentsText).to_vec(),
            contents: parts.last(MessagePart::Contents).cloned(),
        }
    }

    /// Returns the task for an error of the protocol in place of a result.
    pub(super) fn error(call: ToolCall, parts: &Parts<MessagePart>) -> Self {
        Self::Error {
            call,
            error: parts.last(MessagePart::Error).cloned(),
            code: parts.last(MessagePart::ErrorCode).cloned(),
        }
    }
}

/// What became of one message.
#[derive(Debug)]
enum Done {
    /// It is sent as it came.
    Original,
    /// New bytes were written.
    Written,
    /// New bytes were written, for the sender of the message.
    Answered,
    Dropped(DropReason),
}

impl Job {
    pub(super) fn one(work: Work) -> Self {
        Self(JobKind::One(work))
    }

    pub(super) fn batch(elements: Vec<(Range<u64>, Element)>) -> Self {
        Self(JobKind::Batch(elements))
    }

    /// Returns whether the job may wait for the disk even if the message is short.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        let slow = |work: &Work| matches!(work.task, Task::Retrieve { .. });
        match &self.0 {
            JobKind::One(work) => slow(work),
            JobKind::Batch(elements) => elements
                .iter()
                .any(|(_, element)| matches!(element, Element::Work(work) if slow(work))),
        }
    }

    /// Rewrites `message`, for which the job was made.
    #[must_use]
    pub fn run(self: Box<Self>, message: &Spool) -> Outcome {
        let mut records = Vec::new();
        let action = match self.0 {
            JobKind::One(work) => {
                let mut out = Spool::new(work.context.proxy.limits().spool);
                match work.run(message, &mut out, &mut records) {
                    Done::Original => Action::Original,
                    Done::Written => Action::Send(out),
                    Done::Answered => Action::Answer(out),
                    Done::Dropped(reason) => Action::Drop(reason),
                }
            }
            JobKind::Batch(elements) => batch(elements, message, &mut records),
        };
        Outcome { action, records }
    }
}

fn batch(
    elements: Vec<(Range<u64>, Element)>,
    message: &Spool,
    records: &mut Vec<CallRecord>,
) -> Action {
    let limits = elements.iter().find_map(|(_, element)| match element {
        Element::Work(work) => Some(work.context.proxy.limits().spool),
        _ => None,
    });
    let mut out = Spool::new(limits.unwrap_or_default());
    let write = |out: &mut Spool| {
        out.push(b"[")?;
        for (span, element) in elements {
            let before = out.len();
            if before > 1 {
                out.push(b",")?;
            }
            match element {
                Element::Copy => message.each_chunk(span, |chunk| out.push(chunk))?,
                Element::Bytes(bytes) => out.push(&bytes)?,
                Element::Cut => out.truncate(before),
                Element::Work(work) => match work.run(message, out, records) {
                    Done::Original => message.each_chunk(span, |chunk| out.push(chunk))?,
                    Done::Written | Done::Answered => {}
                    Done::Dropped(_) => out.truncate(before),
                },
            }
        }
        out.push(b"]")
    };
    match write(&mut out) {
        Ok(()) if out.len() > 2 => Action::Send(out),
        Ok(()) => Action::Drop(DropReason::UnknownResponse),
        Err(_) => Action::Drop(DropReason::TooComplex),
    }
}

impl Work {
    /// Writes what is sent instead of the message to the end of `out`.
    fn run(self, message: &Spool, out: &mut Spool, records: &mut Vec<CallRecord>) -> Done {
        let Self { span, task, context } = self;
        let started = Instant::now();
        let start = out.len();
        let tool = match &task {
            Task::Result { call, .. }
            | Task::Nested { call, .. }
            | Task::Resource { call, .. }
            | Task::Error { call, .. } => Some((Arc::clone(&call.tool), Arc::clone(&call.filter))),
            _ => None,
        };
        let withheld_tool = match &task {
            Task::Withhold { tool, .. } => Arc::clone(tool),
            _ => tool.as_ref().map_or_else(|| "".into(), |(tool, _)| Arc::clone(tool)),
        };
        let is_result = matches!(task, Task::Result { .. } | Task::Withhold { .. });
        let is_notification = context.raw_id.is_empty();
        let is_filtered = tool.is_some();
        let mut record = Record::new(&withheld_tool, started);
        record.bytes_in = span.end - span.start;
        let done = task.run(message, span, &context, out, &mut record);
        let done = done.and_then(|done| match out.error() {
            Some(_) => Err(Failure::TOO_COMPLEX),
            None => Ok(done),
        });
        let done = match done {
            Ok(done) => done,
            Err(failure) => {
                out.truncate(start);
                let saves = tool.as_ref().is_some_and(|(_, filter)| !filter.removes_for_safety);
                record.reason = Some(failure.0);
                record.handle = None;
                if saves {
                    record.outcome = CallOutcome::FailedOpen;
                    Done::Original
                } else {
                    record.outcome = CallOutcome::FailedClosed;
                    if is_notification {
                        Done::Dropped(DropReason::FailedClosed)
                    } else {
                        let bytes = if is_result {
                            let modern = context.is_modern;
                            failure::withheld(&context.raw_id, &withheld_tool, failure, modern)
                        } else {
                            failure::refused(&context.raw_id, "the response", failure)
                        };
                        match out.push(&bytes) {
                            Ok(()) => Done::Written,
                            Err(_) => Done::Dropped(DropReason::FailedClosed),
                        }
                    }
                }
            }
        };
        if is_filtered || record.is_wanted {
            record.bytes_out = match done {
                Done::Original => record.bytes_in,
                _ => out.len().saturating_sub(start),
            };
            if record.outcome == CallOutcome::Filtered && matches!(done, Done::Original) {
                record.outcome = CallOutcome::Unchanged;
            }
            let source = tool.map(|(_, filter)| filter.source);
            records.push(record.finish(source, context.arrived));
        }
        done
    }
}

/// Returns a result that says that the output of a tool is withheld, and the record of the call.
pub(crate) fn withheld_call(tool: &str, reason: &'static str) -> (Vec<u8>, CallRecord) {
    let mut record = Record::new(tool, Instant::now());
    record.outcome = CallOutcome::FailedClosed;
    record.reason = Some(reason);
    let result = failure::withheld_result(tool, Failure(reason), false);
    (result.into_bytes(), record.finish(Some(RuleSource::Manifest), None))
}

/// A record in the making.
pub(super) struct Record {
    tool: String,
    bytes_in: u64,
    bytes_out: u64,
    pub(super) handle: Option<String>,
    pub(super) outcome: CallOutcome,
    reason: Option<&'static str>,
    /// Whether the message is recorded although no tool was called.
    pub(super) is_wanted: bool,
    started: Instant,
}

impl Record {
    fn new(tool: &str, started: Instant) -> Self {
        Self {
            tool: text::short(tool, 128),
            bytes_in: 0,
            bytes_out: 0,
            handle: None,
            outcome: CallOutcome::Filtered,
            reason: None,
            is_wanted: false,
            started,
        }
    }

    fn finish(self, source: Option<RuleSource>, arrived: Option<Instant>) -> CallRecord {
        let duration = self.started.elapsed();
        CallRecord {
            tool: self.tool,
            source: source.unwrap_or(RuleSource::Profile),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            handle: self.handle,
            outcome: self.outcome,
            reason: self.reason,
            duration,
            latency: arrived.map(|arrived| arrived.elapsed()),
        }
    }
}

impl Task {
    fn run(
        self,
        message: &Spool,
        span: Range<u64>,
        context: &Context,
        out: &mut Spool,
        record: &mut Record,
    ) -> Result<Done, Failure> {
        let nothing = Spool::from_vec(Vec::new());
        match self {
            Self::CutArguments(cuts) => {
                let mut splice = Splice::default();
                for (arguments, members) in &cuts {
                    cut_members(message, arguments, members, &mut splice)?;
                }
                splice.write(message, span, &nothing, out)?;
                Ok(Done::Written)
            }
            Self::Ping => {
                let head = br#"{"jsonrpc":"2.0","id":"#;
                out.push(&[head.as_slice(), &context.raw_id, br#","method":"ping"}"#].concat())?;
                Ok(Done::Written)
            }
            Self::Retrieve { arguments, is_answer } => {
                record.is_wanted = true;
                record.outcome = CallOutcome::Retrieved;
                retrieve::TOOL.clone_into(&mut record.tool);
                retrieve::answer(context, &arguments, out)?;
                Ok(if is_answer { Done::Answered } else { Done::Written })
            }
            Self::Listing { result, offers_retrieval } => {
                let splice = listing::rewrite(message, result, &context.proxy, offers_retrieval)?;
                if splice.is_empty() {
                    return Ok(Done::Original);
                }
                splice.write(message, span, &nothing, out)?;
                Ok(Done::Written)
            }
            Self::Result { call, result } => {
                let rewritten = result::rewrite(message, &result, &call, context, record)?;
                finish_result(rewritten, message, span, context, out)
            }
            Self::Nested { call, result, error, status, is_ambiguous, .. } => {
                let closed = call.filter.removes_for_safety;
                if is_ambiguous && closed {
                    return Err(Failure::AMBIGUOUS);
                }
                let is_object = |found: &Found| found.kind == ValueKind::Object;
                if closed && !result.as_ref().is_none_or(is_object) {
                    return Err(Failure::UNKNOWN_FORM);
                }
                let mut rewritten = match result {
                    Some(found) => result::rewrite(message, &found.span, &call, context, record)?,
                    None => Rewritten::nothing(),
                };
                if closed && !call.filter.keeps_error_text {
                    if let Some(error) = error {
                        withhold_error(message, &mut rewritten.splice, &error, None)?;
                    }
                    if let Some(status) = status {
                        let sentence = text::quoted(MESSAGE_WITHHELD).into_bytes();
                        rewritten.splice.replace(status.span, Piece::Bytes(sentence));
                    }
                }
                finish_result(rewritten, message, span, context, out)
            }
            Self::Resource { call, contents, items, texts } => {
                let contents = contents.as_ref();
                let rewritten =
                    resource::rewrite(message, &call, contents, &items, &texts, context)?;
                finish_result(rewritten, message, span, context, out)
            }
            Self::Error { call, error, code } => {
                let Some(error) = error.filter(|_| !call.filter.keeps_error_text) else {
                    return Ok(Done::Original);
                };
                let mut splice = Splice::default();
                withhold_error(message, &mut splice, &error, code.as_ref())?;
                splice.write(message, span, &nothing, out)?;
                Ok(Done::Written)
            }
            Self::Withhold { failure, .. } => {
                record.is_wanted = true;
                Err(failure)
            }
        }
    }
}

/// Replaces an error of the protocol by one with the same code, and without anything else of it: no rule covers its
/// text.
fn withhold_error(
    message: &Spool,
    splice: &mut Splice,
    error: &Found,
    code: Option<&Found>,
) -> Result<(), Failure> {
    let code = code.filter(|code| code.kind == ValueKind::Number);
    let code = match code {
        Some(code) => message.to_vec(code.span.clone(), 32)?,
        None => reply::INTERNAL_ERROR.to_string().into_bytes(),
    };
    let sentence = text::quoted(MESSAGE_WITHHELD);
    let tail = format!(",\"message\":{sentence}}}");
    let bytes = [br#"{"code":"#.as_slice(), &code, tail.as_bytes()].concat();
    splice.replace(error.span.clone(), Piece::Bytes(bytes));
    Ok(())
}

fn finish_result(
    rewritten: Rewritten,
    message: &Spool,
    span: Range<u64>,
    context: &Context,
    out: &mut Spool,
) -> Result<Done, Failure> {
    let Rewritten { splice, scratch } = rewritten;
    if splice.is_empty() {
        return Ok(Done::Original);
    }
    let start = out.len();
    splice.write(message, span, &scratch, out)?;
    if context.limits_output && out.len() - start > context.proxy.limits().output {
        return Err(Failure::TOO_LONG);
    }
    Ok(Done::Written)
}
