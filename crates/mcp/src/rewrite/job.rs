//! Rewrites one message, without the session.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use tamis_store::Store;
use tamis_store::calls::{ShownBy, TextSize};

use super::arguments;
use super::delta::{self, Compared};
use super::invisible::clean;
use super::listing;
use super::outcome::{Action, DropReason, Outcome};
use super::resource;
use super::result;
use super::result_parts::Rewritten;
use super::retrieve;
use super::shown;
use super::task::{Context, Element, Record, Task, Work};
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::splice::{Piece, Splice, cut_members};
use crate::jsonrpc::{Id, reply, text};
use crate::policy::allowed::{Envelope, Redaction};
use crate::policy::failure::{self, Failure, MESSAGE_WITHHELD, STATUS_WITHHELD, TooLong};
use crate::policy::memory::Memory;
use crate::policy::tool_call::ToolCall;
use crate::record::{CallOutcome, CallRecord, RuleSource};
use crate::rules::ToolFilter;
use crate::spool::Spool;

/// The work that a message needs before it can be sent.
#[derive(Debug)]
pub struct Job(JobKind);

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a job is always in a box")]
enum JobKind {
    One(Work),
    Batch(Vec<(Range<u64>, Element)>),
}

/// The outcome for one message.
#[derive(Debug)]
enum Done {
    /// It is sent unchanged.
    Original,
    /// New bytes were written.
    Written,
    /// New bytes were written, for the sender of the message.
    Answered,
    Dropped(DropReason),
}

impl Job {
    pub(crate) fn one(work: Work) -> Self {
        Self(JobKind::One(work))
    }

    pub(crate) fn batch(elements: Vec<(Range<u64>, Element)>) -> Self {
        Self(JobKind::Batch(elements))
    }

    /// Returns whether the job may wait for the disk or the network even if the message is short.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        let slow = |work: &Work| {
            let is_remote = work.context.proxy.store().is_some_and(Store::is_remote);
            is_remote
                || matches!(
                    work.task,
                    Task::Retrieve { .. } | Task::EditArguments { check: Some(_), .. }
                )
        };
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
    let of_work = |element: &Element| match element {
        Element::Work(work) => {
            Some((work.context.proxy.limits().spool, Arc::clone(&work.context.memory)))
        }
        _ => None,
    };
    let (limits, memory) = elements.iter().find_map(|(_, element)| of_work(element)).unzip();
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
        Err(_) => {
            // The client gets none of the results.
            if let Some(mut earlier) = memory.as_deref().and_then(Memory::earlier) {
                earlier.forget_all();
            }
            Action::Drop(DropReason::TooComplex)
        }
    }
}

impl Work {
    /// Writes what is sent instead of the message to the end of `out`.
    fn run(self, message: &Spool, out: &mut Spool, records: &mut Vec<CallRecord>) -> Done {
        let Self { span, mut task, mut context } = self;
        let subject = Subject::of(&task);
        let mut record = Record::new(&subject.tool, Instant::now());
        record.bytes_in = span.end - span.start;
        let start = out.len();
        let limits = context.proxy.limits().spool;
        let tool = subject.filter.is_some().then_some(&*subject.tool);
        // A message that cannot be copied is read as it is.
        let cleaned =
            context.proxy.removes_invisible(tool).then(|| clean(message, &span, &mut task, limits));
        let cleaned = cleaned.and_then(Result::ok).flatten();
        let original = message;
        record.invisible = cleaned.as_ref().map_or(0, |cleaned| cleaned.count);
        context.is_cleaned = record.invisible > 0;
        let (message, cleaned_span) = match &cleaned {
            Some(cleaned) => (&cleaned.message, 0..cleaned.message.len()),
            None => (message, span.clone()),
        };
        let done = subject.run(task, message, cleaned_span, &context, out, &mut record);
        let done = done.unwrap_or_else(|failure| {
            out.truncate(start);
            subject.fail(failure, &span, &context, out, &mut record)
        });
        let done = match (done, &cleaned) {
            (Done::Original, Some(cleaned)) => {
                let text = &cleaned.message;
                match text.each_chunk(0..text.len(), |chunk| out.push(chunk)) {
                    Ok(()) => Done::Written,
                    Err(_) => Done::Dropped(DropReason::TooComplex),
                }
            }
            (done, _) => done,
        };
        let id = Id::parse(&context.raw_id);
        if let (Some(full), Some(id), Some(mut earlier)) =
            (record.full.take(), id, context.memory.earlier())
        {
            earlier.keep(&full, &id);
        }
        if subject.filter.is_some() || record.is_wanted {
            record.bytes_out = match done {
                Done::Original => record.bytes_in,
                _ => out.len().saturating_sub(start),
            };
            if record.outcome == CallOutcome::Filtered && matches!(done, Done::Original) {
                record.outcome = CallOutcome::Unchanged;
            }
            if matches!(record.outcome, CallOutcome::Inserted | CallOutcome::Refused) {
                // Nothing was saved: the result is still to come, or nothing was sent.
                record.bytes_in = record.bytes_out;
            } else {
                record.shown = shown_sizes(original, &span, out, start, &done, &context);
                record.in_script = subject.in_script;
            }
            let source = subject.filter.map(|filter| filter.source);
            let client = context.client.clone();
            records.push(record.finish(source, client, context.arrived));
        }
        done
    }
}

/// Returns the sizes of what an agent would have shown of the result, and of what it shows. Other clients are not measured.
fn shown_sizes(
    message: &Spool,
    span: &Range<u64>,
    out: &Spool,
    start: u64,
    done: &Done,
    context: &Context,
) -> Option<[TextSize; 2]> {
    context.client.as_deref().and_then(ShownBy::of_client)?;
    let before = || shown::shown(message, span.clone(), context.reads);
    match done {
        Done::Original => before().map(|size| [size; 2]),
        // The client asked for it, and got no result of the server.
        Done::Answered => shown::shown(out, start..out.len(), context.reads)
            .map(|size| [TextSize::default(), size]),
        Done::Written => {
            let after = shown::shown(out, start..out.len(), context.reads)?;
            Some([before().unwrap_or_default(), after])
        }
        Done::Dropped(_) => None,
    }
}

/// The tool that a task is about.
struct Subject {
    /// Its name. Empty if the message has no output of a tool.
    tool: Arc<str>,
    /// The filter of its output.
    filter: Option<Arc<ToolFilter>>,
    /// Whether the message is the result of the tool.
    is_result: bool,
    /// Whether a script called the tool.
    in_script: bool,
}

impl Subject {
    fn of(task: &Task) -> Self {
        let (tool, filter) = match task {
            Task::Result { call, .. }
            | Task::Nested { call, .. }
            | Task::Resource { call, .. }
            | Task::Error { call, .. } => (Arc::clone(&call.tool), Some(Arc::clone(&call.filter))),
            Task::Withhold { tool, .. } => (Arc::clone(tool), None),
            _ => ("".into(), None),
        };
        let is_result = matches!(task, Task::Result { .. } | Task::Withhold { .. });
        let in_script = matches!(task, Task::Result { call, .. } if call.in_script);
        Self { tool, filter, is_result, in_script }
    }

    /// Whether the message may be forwarded unfiltered.
    fn only_saves(&self) -> bool {
        self.filter.as_ref().is_some_and(|filter| !filter.removes_for_safety)
    }

    /// Carries the task out, and leaves only known members of what is sent if the filter removes for safety.
    fn run(
        &self,
        task: Task,
        message: &Spool,
        span: Range<u64>,
        context: &Context,
        out: &mut Spool,
        record: &mut Record,
    ) -> Result<Done, Failure> {
        let (start, envelope) = (out.len(), task.envelope());
        let mut done = task.run(message, span.clone(), context, out, record)?;
        if let Some(envelope) = envelope {
            let rule = self.filter.as_ref().and_then(|filter| filter.redacts.as_ref());
            let redact = rule.map(|rule| Redaction { rule, marks: context.memory.marks() });
            done = strip(envelope, redact, message, span, done, out, start)?;
        }
        match out.error() {
            Some(_) => Err(Failure::TOO_COMPLEX),
            None => Ok(done),
        }
    }

    /// Writes what is sent after a failure, and records it. `span` is the place of the original message.
    fn fail(
        &self,
        failure: Failure,
        span: &Range<u64>,
        context: &Context,
        out: &mut Spool,
        record: &mut Record,
    ) -> Done {
        record.reason = Some(failure.0);
        (record.handle, record.full) = (None, None);
        let is_too_long = context.is_too_long(span);
        if self.only_saves() && !is_too_long {
            record.outcome = CallOutcome::FailedOpen;
            return Done::Original;
        }
        record.outcome = CallOutcome::FailedClosed;
        if context.raw_id.is_empty() {
            // Nobody waits for a response to a notification.
            return Done::Dropped(DropReason::FailedClosed);
        }
        let (id, is_modern) = (&context.raw_id, context.is_modern);
        let bytes = if is_too_long && (self.only_saves() || failure == Failure::TOO_LONG) {
            let too_long = TooLong {
                tool: &self.tool,
                is_result: self.is_result,
                is_by_profile: !self.filter.as_ref().is_some_and(|filter| filter.is_own()),
                size: span.end - span.start,
                limit: context.proxy.limits().output,
            };
            too_long.response(id, is_modern)
        } else if self.is_result {
            failure::withheld(id, &self.tool, failure, is_modern)
        } else {
            failure::refused(id, "the response", failure)
        };
        match out.push(&bytes) {
            Ok(()) => Done::Written,
            Err(_) => Done::Dropped(DropReason::FailedClosed),
        }
    }
}

/// Returns a result that says that the output of a tool is withheld, and the record of the call.
pub(crate) fn withheld_call(tool: &str, reason: &'static str) -> (Vec<u8>, CallRecord) {
    let mut record = Record::new(tool, Instant::now());
    record.outcome = CallOutcome::FailedClosed;
    record.reason = Some(reason);
    let result = failure::withheld_result(tool, Failure(reason), false);
    (result.into_bytes(), record.finish(Some(RuleSource::Manifest), None, None))
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
            Self::EditArguments { cuts, values: mut splice, check } => {
                if let Some(check) = check {
                    match arguments::check(message, &check, context) {
                        Ok(inserted) if inserted.values.is_empty() => {}
                        Ok(inserted) => {
                            record.note_arguments(&check.tool, CallOutcome::Inserted);
                            record.handle = inserted.handle;
                            for (range, value) in inserted.values {
                                splice.remove_within(&range);
                                splice.replace(range, Piece::Bytes(value));
                            }
                        }
                        Err(why) => {
                            record.note_arguments(&check.tool, CallOutcome::Refused);
                            out.push(&failure::not_sent(&context.raw_id, &why, context.is_modern))?;
                            return Ok(Done::Answered);
                        }
                    }
                    if splice.is_empty() && cuts.is_empty() {
                        return Ok(Done::Original);
                    }
                }
                for (arguments, members) in &cuts {
                    cut_members(message, arguments, members, &mut splice)?;
                }
                splice.write(message, span, &nothing, out)?;
                Ok(Done::Written)
            }
            Self::Deny { tool, answer } => {
                record.note_arguments(&tool, CallOutcome::Refused);
                out.push(&answer)?;
                Ok(Done::Answered)
            }
            Self::Ping => {
                let head = br#"{"jsonrpc":"2.0","id":"#;
                out.push(&[head.as_slice(), &context.raw_id, br#","method":"ping"}"#].concat())?;
                Ok(Done::Written)
            }
            Self::Retrieve { arguments, is_answer } => {
                record.is_wanted = true;
                record.outcome = CallOutcome::Retrieved;
                context.proxy.retrieval_tool().clone_into(&mut record.tool);
                retrieve::answer(context, &arguments, out)?;
                Ok(if is_answer { Done::Answered } else { Done::Written })
            }
            Self::Listing { result, is_first, offers_retrieval } => {
                let splice = listing::rewrite(
                    message,
                    result,
                    &context.proxy,
                    is_first,
                    offers_retrieval,
                    &mut record.listed,
                )?;
                record.outcome = CallOutcome::Listed;
                record.is_wanted = !record.listed.is_empty();
                if splice.is_empty() {
                    return Ok(Done::Original);
                }
                splice.write(message, span, &nothing, out)?;
                Ok(Done::Written)
            }
            Self::Clean { .. } => Ok(Done::Original),
            Self::Result { call, result } => {
                let mut rewritten = result::rewrite(message, &result, &call, context, record)?;
                record.redacted = std::mem::take(&mut rewritten.redacted);
                let start = out.len();
                let done = finish_result(rewritten, message, span.clone(), context, out)?;
                shorten_to_delta(done, &call, message, span, context, out, start, record)
            }
            Self::Nested { call, result, error, status, failure, .. } => {
                let closed = call.filter.removes_for_safety;
                if let Some(failure) = failure.filter(|_| closed) {
                    return Err(failure);
                }
                let is_object = |found: &Found| found.kind == ValueKind::Object;
                if closed && !result.as_ref().is_none_or(is_object) {
                    return Err(Failure::UNKNOWN_FORM);
                }
                let mut rewritten = match result {
                    Some(found) => result::rewrite(message, &found.span, &call, context, record)?,
                    None => Rewritten::nothing(),
                };
                record.redacted = std::mem::take(&mut rewritten.redacted);
                if closed && !call.filter.keeps_error_text {
                    if let Some(error) = error {
                        withhold_error(message, &mut rewritten.splice, &error, None)?;
                    }
                    if let Some(status) = status {
                        let sentence = text::quoted(STATUS_WITHHELD).into_bytes();
                        rewritten.splice.replace(status.span, Piece::Bytes(sentence));
                    }
                }
                finish_result(rewritten, message, span, context, out)
            }
            Self::Strip(_) => Ok(Done::Original),
            Self::Resource { call, contents, items, texts, is_complete } => {
                if !is_complete && call.filter.removes_for_safety {
                    return Err(Failure::UNKNOWN_FORM);
                }
                let contents = contents.as_ref();
                let mut rewritten =
                    resource::rewrite(message, &call, contents, &items, &texts, context)?;
                record.redacted = std::mem::take(&mut rewritten.redacted);
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

/// Shortens a result that is about to be sent to what has changed since an earlier one, if the user wants that.
#[expect(clippy::too_many_arguments, reason = "it is a step of `Task::run`, which has them")]
fn shorten_to_delta(
    done: Done,
    call: &ToolCall,
    message: &Spool,
    span: Range<u64>,
    context: &Context,
    out: &mut Spool,
    start: u64,
    record: &mut Record,
) -> Result<Done, Failure> {
    let is_cut = record.handle.is_some() || record.reason.is_some();
    let nothing = Spool::from_vec(Vec::new());
    let written = start..out.len();
    let compared = match done {
        Done::Original => delta::compare(message, span.clone(), call, context, is_cut),
        Done::Written => delta::compare(out, written.clone(), call, context, is_cut),
        Done::Answered | Done::Dropped(_) => return Ok(done),
    };
    let delta = match compared {
        Compared::Full(text) => {
            record.full = text;
            return Ok(done);
        }
        Compared::Shorter(delta) => delta,
    };
    record.handle = Some(delta.handle);
    if matches!(done, Done::Original) {
        delta.splice.write(message, span, &nothing, out)?;
        return Ok(Done::Written);
    }
    let mut shorter = Spool::new(out.limits());
    delta.splice.write(out, written, &nothing, &mut shorter)?;
    out.truncate(start);
    shorter.each_chunk(0..shorter.len(), |chunk| out.push(chunk))?;
    Ok(Done::Written)
}

/// Leaves only known members of what is sent, without what `redact` looks for in names and messages.
fn strip(
    envelope: Envelope,
    redact: Option<Redaction<'_>>,
    message: &Spool,
    span: Range<u64>,
    done: Done,
    out: &mut Spool,
    start: u64,
) -> Result<Done, Failure> {
    let mut scratch = Spool::new(out.limits());
    match done {
        Done::Original => {
            let changes = envelope.changes(message, &span, redact, &mut scratch)?;
            if changes.is_empty() {
                return Ok(Done::Original);
            }
            changes.write(message, span, &scratch, out)?;
            Ok(Done::Written)
        }
        Done::Written => {
            let written = start..out.len();
            let changes = envelope.changes(out, &written, redact, &mut scratch)?;
            if !changes.is_empty() {
                let mut stripped = Spool::new(out.limits());
                changes.write(out, written, &scratch, &mut stripped)?;
                out.truncate(start);
                stripped.each_chunk(0..stripped.len(), |chunk| out.push(chunk))?;
            }
            Ok(Done::Written)
        }
        done @ (Done::Answered | Done::Dropped(_)) => Ok(done),
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
    let Rewritten { splice, scratch, .. } = rewritten;
    if splice.is_empty() {
        if context.is_too_long(&span) {
            return Err(Failure::TOO_LONG);
        }
        return Ok(Done::Original);
    }
    let start = out.len();
    splice.write(message, span, &scratch, out)?;
    if context.limits_output && out.len() - start > context.proxy.limits().output {
        return Err(Failure::TOO_LONG);
    }
    Ok(Done::Written)
}
