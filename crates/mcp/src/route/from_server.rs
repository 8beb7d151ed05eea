//! Messages of the server: the requests they belong to, and whether they have to be filtered.

use std::ops::Range;

use super::exchange::Exchange;
use super::open_calls::{Expected, OpenCall};
use super::overflow::OverflowScan;
use super::session::{Session, Step, batch_route, route, withheld};
use super::target::Route;
use crate::jsonrpc::Id;
use crate::jsonrpc::find::{FindError, ValueKind};
use crate::jsonrpc::head::{BatchPart, MessageForm, MessagePart, Parts, short_text};
use crate::policy::allowed::Envelope;
use crate::policy::failure::Failure;
use crate::policy::memory::{Named, Recalled};
use crate::policy::tool_call::ToolCall;
use crate::rewrite::DropReason;
use crate::rewrite::task::{Element, Task};
use crate::spool::Spool;

/// Members of a response that readers would disagree on if they occurred twice.
const DECISIVE_IN_RESPONSES: [MessagePart; 11] = [
    MessagePart::Id,
    MessagePart::Result,
    MessagePart::Error,
    MessagePart::ResultType,
    MessagePart::ResultTaskId,
    MessagePart::LegacyTask,
    MessagePart::LegacyTaskId,
    MessagePart::InnerResult,
    MessagePart::InnerError,
    MessagePart::Contents,
    MessagePart::ErrorCode,
];

impl Session {
    pub(crate) fn server_message(
        &mut self,
        message: &Spool,
        span: Range<u64>,
        exchange: &Exchange,
    ) -> Step {
        let parts = match Parts::<MessagePart>::find(message, span.clone()) {
            Ok(parts) => parts,
            Err(FindError::NotJson) => {
                let forwards = self.may_forward_unseen();
                return self.not_json(message, span, exchange, forwards);
            }
            // No client can read it.
            Err(FindError::Incomplete) => return self.not_json(message, span, exchange, false),
            Err(FindError::Limit | FindError::Io) => return self.unreadable(exchange),
        };
        match parts.form() {
            MessageForm::Response => self.response(message, span, &parts, exchange),
            MessageForm::Request | MessageForm::Notification | MessageForm::Ambiguous
                if !self.proxy.may_remove_for_safety =>
            {
                self.unasked(message, span, &parts, exchange)
            }
            MessageForm::Ambiguous => self.ambiguous(message, &parts, exchange),
            MessageForm::Request | MessageForm::Notification => {
                if parts.repeats(&[MessagePart::Method, MessagePart::Params]) {
                    return Step::Drop(DropReason::Ambiguous);
                }
                self.unasked(message, span, &parts, exchange)
            }
            MessageForm::Other if self.proxy.may_remove_for_safety => {
                Step::Drop(DropReason::UnknownResponse)
            }
            MessageForm::Other => Step::Forward,
        }
    }

    /// A request or a notification. Only a notification about a task can have the result of a tool, or its messages.
    fn unasked(
        &self,
        message: &Spool,
        span: Range<u64>,
        parts: &Parts<MessagePart>,
        exchange: &Exchange,
    ) -> Step {
        let method = parts.text(message, MessagePart::Method).unwrap_or_default();
        let has_outcome =
            parts.has(MessagePart::ParamsResult) || parts.has(MessagePart::ParamsError);
        if !method.starts_with("notifications/tasks")
            || !(has_outcome || self.proxy.may_remove_for_safety)
        {
            return Step::Forward;
        }
        let task = parts.text(message, MessagePart::TaskId).unwrap_or_default();
        let memory = self.memory(exchange, true);
        let call = match memory.recall(Named::Task, &exchange.scope, &task) {
            Recalled::Call(call) => Some(*call),
            Recalled::Unknown | Recalled::Forgotten => self.unknown_call(),
        };
        let Some(call) = call.filter(|call| has_outcome || call.filter.removes_for_safety) else {
            return Step::Forward;
        };
        let task = Task::notification(call, message, parts);
        self.work(span, task, exchange, Box::default(), true, None)
    }

    fn response(
        &mut self,
        message: &Spool,
        span: Range<u64>,
        parts: &Parts<MessagePart>,
        exchange: &Exchange,
    ) -> Step {
        if parts.repeats(&DECISIVE_IN_RESPONSES) && self.proxy.is_strict() {
            return self.ambiguous(message, parts, exchange);
        }
        for part in [MessagePart::ServerName, MessagePart::ModernServerName] {
            if let Some(server) = parts.text(message, part) {
                self.proxy.learn_server(server);
            }
        }
        let may_come_again = exchange.is_http && exchange.has_session_id;
        let keep = may_come_again.then_some(self.proxy.limits().closed_requests);
        let id = parts.id(message);
        let Some(call) = id.as_ref().and_then(|(id, _)| self.calls.take(id, keep)) else {
            return self.unknown_response(parts, exchange, id.is_some());
        };
        let OpenCall { raw_id, expected, is_modern, arrived } = call;
        let safe = expected.only_saves();
        let has_both = parts.has(MessagePart::Result) && parts.has(MessagePart::Error);
        let is_unfiltered = match expected {
            Expected::Shown => true,
            Expected::ToolResult(_) | Expected::Task(_) | Expected::Resource(_) => {
                safe && (has_both || !parts.has(MessagePart::Result))
            }
            _ => false,
        };
        if is_unfiltered && self.proxy.removes_invisible(None) {
            let output = [MessagePart::Result, MessagePart::Error];
            let output = output.into_iter().flat_map(|part| parts.all(part)).cloned().collect();
            let task = Task::Clean { output };
            return self.work(span, task, exchange, raw_id, is_modern, Some(arrived));
        }
        let task = match expected {
            Expected::Greeting => {
                self.has_no_tools = parts.has(MessagePart::Capabilities)
                    && !parts.has(MessagePart::ToolsCapability);
                return Step::Forward;
            }
            Expected::Shown | Expected::Other => return Step::Forward,
            Expected::Retrieved { arguments } => Task::Retrieve { arguments, is_answer: false },
            Expected::Listing { is_first, .. } => {
                let Some(result) = parts.last(MessagePart::Result) else { return Step::Forward };
                let offers = is_first && self.proxy.has_retrieval() && !self.has_no_tools;
                Task::Listing { result: result.span.clone(), is_first, offers_retrieval: offers }
            }
            Expected::ToolResult(call) | Expected::Task(call) | Expected::Resource(call)
                if has_both =>
            {
                if safe {
                    return Step::Forward;
                }
                Task::Withhold { tool: call.tool, failure: Failure::AMBIGUOUS }
            }
            Expected::ToolResult(call) => {
                self.remember_task(message, parts, exchange, is_modern, &call);
                match tool_result(message, parts, call) {
                    Some(task) => task,
                    None => return Step::Forward,
                }
            }
            Expected::Task(call) | Expected::Resource(call)
                if !safe && !parts.has(MessagePart::Result) =>
            {
                Task::error(call, parts)
            }
            Expected::Task(call) => Task::nested(call, message, parts),
            Expected::TaskList => Task::Strip(Envelope::TaskList),
            Expected::Resource(call) => Task::resource(call, message, parts),
        };
        self.work(span, task, exchange, raw_id, is_modern, Some(arrived))
    }

    /// A response may start a task, whose result comes later.
    fn remember_task(
        &self,
        message: &Spool,
        parts: &Parts<MessagePart>,
        exchange: &Exchange,
        is_modern: bool,
        call: &ToolCall,
    ) {
        let memory = self.memory(exchange, is_modern);
        for part in [MessagePart::ResultTaskId, MessagePart::LegacyTaskId] {
            if let Some(task) = parts.text(message, part) {
                memory.add(Named::Task, &exchange.scope, &task, call);
            }
        }
    }

    fn unknown_response(
        &mut self,
        parts: &Parts<MessagePart>,
        exchange: &Exchange,
        has_id: bool,
    ) -> Step {
        let is_like_a_result = [
            MessagePart::Content,
            MessagePart::Structured,
            MessagePart::Contents,
            MessagePart::InnerResult,
        ];
        let suspicious = is_like_a_result.into_iter().any(|part| parts.has(part))
            || (self.proxy.may_remove_for_safety && (parts.has(MessagePart::Result) || has_id));
        if !suspicious {
            return Step::Forward;
        }
        self.withhold(exchange, Failure::UNKNOWN_CALL, DropReason::UnknownResponse)
    }

    fn ambiguous(
        &mut self,
        message: &Spool,
        parts: &Parts<MessagePart>,
        exchange: &Exchange,
    ) -> Step {
        if !parts.repeats(&[MessagePart::Id])
            && let Some((id, _)) = parts.id(message)
            && let Some(call) = self.calls.take(&id, None)
        {
            return Step::Answer(withheld(&call, Failure::AMBIGUOUS));
        }
        self.withhold(exchange, Failure::AMBIGUOUS, DropReason::Ambiguous)
    }

    /// A message that is not valid JSON, such as a line with `NaN` or with bytes that are not UTF-8.
    ///
    /// If it is a response, its request would stay open. `forwards`: whether it is forwarded, because some clients accept
    /// such a response, and the filters only save.
    fn not_json(
        &mut self,
        message: &Spool,
        span: Range<u64>,
        exchange: &Exchange,
        forwards: bool,
    ) -> Step {
        let mut scan = OverflowScan::of(message, span);
        if !scan.is_response() {
            return Step::Drop(DropReason::NotJson);
        }
        let call = match scan.id() {
            Some((id, _)) => self.calls.take(&id, None),
            None if !exchange.is_http && self.calls.len() == 1 => self.calls.drain().pop(),
            None => None,
        };
        match call {
            Some(_) if forwards => Step::Forward,
            Some(call) => Step::Answer(withheld(&call, Failure::NOT_JSON)),
            None => self.withhold(exchange, Failure::NOT_JSON, DropReason::NotJson),
        }
    }

    /// A message that is JSON as far as it was read, but not to its end.
    fn unreadable(&mut self, exchange: &Exchange) -> Step {
        if self.may_forward_unseen() {
            return Step::Forward;
        }
        if !exchange.is_http && self.calls.len() == 1 {
            let calls = self.calls.drain();
            if let Some(call) = calls.first() {
                return Step::Answer(withheld(call, Failure::TOO_COMPLEX));
            }
        }
        self.withhold(exchange, Failure::TOO_COMPLEX, DropReason::TooComplex)
    }

    /// Responds to the request of an HTTP exchange in place of a message that is withheld. In other cases the request is
    /// not known, and the message is dropped.
    fn withhold(&mut self, exchange: &Exchange, failure: Failure, reason: DropReason) -> Step {
        let open = exchange.requests.iter().filter_map(|raw| Id::parse(raw));
        let open = open.into_iter().find(|id| exchange.is_http && self.calls.is_open(id));
        match open.and_then(|id| self.calls.take(&id, None)) {
            Some(call) => Step::Answer(withheld(&call, failure)),
            None => Step::Drop(reason),
        }
    }

    pub(crate) fn batch_from_server(&mut self, message: &Spool, exchange: &Exchange) -> Route {
        let parts = match Parts::<BatchPart>::find(message, 0..message.len()) {
            Ok(parts) => parts,
            Err(FindError::NotJson | FindError::Incomplete) => {
                return Route::Drop(DropReason::NotJson);
            }
            Err(FindError::Limit | FindError::Io) => return route(self.unreadable(exchange)),
        };
        let mut elements = Vec::new();
        for found in parts.all(BatchPart::Element) {
            let element = match self.server_message(message, found.span.clone(), exchange) {
                Step::Forward => Element::Copy,
                Step::Work(work) => Element::Work(work),
                Step::Answer(answer) | Step::Reject(answer) => Element::Bytes(answer),
                Step::Drop(_) => Element::Cut,
            };
            elements.push((found.span.clone(), element));
        }
        batch_route(elements)
    }
}

/// Returns the task for the response to a call. `None`: it is forwarded unchanged.
fn tool_result(message: &Spool, parts: &Parts<MessagePart>, call: ToolCall) -> Option<Task> {
    let closed = call.filter.removes_for_safety;
    let withhold =
        |call: ToolCall, failure| closed.then_some(Task::Withhold { tool: call.tool, failure });
    let strip = |envelope| closed.then_some(Task::Strip(envelope));
    let Some(result) = parts.last(MessagePart::Result) else {
        return closed.then(|| Task::error(call, parts));
    };
    let has_output = parts.has(MessagePart::Content) || parts.has(MessagePart::Structured);
    let kind = parts.last(MessagePart::ResultType);
    match kind.map(|found| short_text(message, found).unwrap_or_default()).as_deref() {
        None if parts.has(MessagePart::LegacyTask) && !has_output => strip(Envelope::TaskStarted),
        None | Some("complete") => {
            if result.kind != ValueKind::Object || (closed && !has_output) {
                return withhold(call, Failure::UNKNOWN_FORM);
            }
            Some(Task::Result { call, result: result.span.clone() })
        }
        // A question to the client, or a task that was started: no output yet.
        Some("input_required") if !has_output => strip(Envelope::InputRequired),
        Some("task") if !has_output => strip(Envelope::TaskStarted),
        Some(_) => withhold(call, Failure::UNKNOWN_FORM),
    }
}
