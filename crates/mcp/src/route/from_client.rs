//! Messages of the client: which requests they carry, and what the responses will be.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::call::{self, Refusal, RequestedCall, refusal};
use super::exchange::Exchange;
use super::headers;
use super::open_calls::{Expected, OpenCall, Refused};
use super::overflow::OverflowScan;
use super::session::{Session, Step, batch_route, route};
use super::target::Route;
use crate::jsonrpc::find::{FindError, ValueKind};
use crate::jsonrpc::head::{BatchPart, MessageForm, MessagePart, Parts};
use crate::jsonrpc::similar::has_similar_name;
use crate::jsonrpc::{Id, reply, text};
use crate::policy::failure::Failure;
use crate::policy::memory::{Named, Recalled};
use crate::policy::tool_call::{ListedSchema, ToolCall};
use crate::rewrite::DropReason;
use crate::rewrite::retrieve;
use crate::rewrite::task::{Element, Task};
use crate::rules::{LONGEST_TOOL_NAME, ToolFilter};
use crate::spool::Spool;

/// Members of a request that readers would disagree on if they occurred twice.
const DECISIVE_IN_REQUESTS: [MessagePart; 10] = [
    MessagePart::Id,
    MessagePart::Method,
    MessagePart::Params,
    MessagePart::Name,
    MessagePart::Arguments,
    MessagePart::Cursor,
    MessagePart::Uri,
    MessagePart::TaskId,
    MessagePart::Meta,
    MessagePart::Version,
];

/// The names of decisive members of a request.
const NAMES: [&str; 5] = ["id", "method", "params", "result", "error"];

/// The names of decisive members of its `params`.
const PARAMETERS: [&str; 6] = ["name", "arguments", "cursor", "uri", "taskId", "_meta"];

impl Session {
    pub(crate) fn client_message(
        &mut self,
        message: &Spool,
        span: Range<u64>,
        exchange: &mut Exchange,
        in_batch: bool,
    ) -> Step {
        let parts = match Parts::<MessagePart>::find(message, span.clone()) {
            Ok(parts) => parts,
            Err(FindError::Incomplete) if is_blank(message) => return Step::Forward,
            Err(FindError::NotJson | FindError::Incomplete) => {
                return Step::Reject(self.parse_error(message));
            }
            Err(FindError::Limit | FindError::Io) => {
                return refuse(None, "the message is too long, too deep, or has too many parts");
            }
        };
        if self.proxy.is_strict() && has_similar_names(message, &span, &parts) {
            let why = "the name of a member differs from a known one only in case";
            return refuse(unique_id(message, &parts).as_deref(), why);
        }
        match parts.form() {
            MessageForm::Request => self.request(message, span, &parts, exchange, in_batch),
            MessageForm::Notification => {
                if parts.repeats(&[MessagePart::Method]) {
                    return Step::Drop(DropReason::Ambiguous);
                }
                let method = parts.text(message, MessagePart::Method);
                if method.as_deref() == Some("tools/call") {
                    return Step::Drop(DropReason::CallWithoutId);
                }
                self.notification(message, &parts, method.as_deref());
                Step::Forward
            }
            MessageForm::Response | MessageForm::Other => Step::Forward,
            MessageForm::Ambiguous => refuse(
                unique_id(message, &parts).as_deref(),
                "a request has no result and no error",
            ),
        }
    }

    /// Returns the response to a message that is not valid JSON.
    ///
    /// It is not forwarded. A lenient server would run the request, and the proxy would not know its response.
    fn parse_error(&self, message: &Spool) -> Vec<u8> {
        let mut scan = OverflowScan::of(message, 0..message.len());
        let id = scan.id().filter(|(id, _)| scan.is_request() && !self.calls.is_open(id));
        let raw = id.as_ref().map(|(_, raw)| raw.as_slice());
        reply::error(raw, reply::PARSE_ERROR, "tamis: the message is not valid JSON")
    }

    fn notification(&mut self, message: &Spool, parts: &Parts<MessagePart>, method: Option<&str>) {
        let is_cancellation = method == Some("notifications/cancelled");
        if is_cancellation && let Some(found) = parts.last(MessagePart::RequestId) {
            let raw = message.to_vec(found.span.clone(), crate::jsonrpc::LONGEST_ID);
            if let Some(id) = raw.ok().and_then(|raw| Id::parse(&raw)) {
                self.calls.cancel(&id, self.proxy.limits().closed_requests);
                self.memory.cancel(&id);
            }
        }
    }

    fn request(
        &mut self,
        message: &Spool,
        span: Range<u64>,
        parts: &Parts<MessagePart>,
        exchange: &mut Exchange,
        in_batch: bool,
    ) -> Step {
        let raw = unique_id(message, parts);
        if parts.repeats(&DECISIVE_IN_REQUESTS) {
            return refuse(raw.as_deref(), "a member that has to be unique occurs twice");
        }
        let Some((id, raw)) = parts.id(message) else {
            return refuse(None, "the id must be a string or an integer");
        };
        let method = parts.text(message, MessagePart::Method).unwrap_or_default();
        let is_modern = parts.has(MessagePart::Version);
        exchange.is_modern |= is_modern;
        exchange.requests.push(raw.clone());
        if exchange.is_http && is_modern && !headers_agree(message, parts, exchange, &method) {
            let why = "the headers of the request differ from its body";
            return Step::Reject(reply::error(Some(&raw), reply::HEADER_MISMATCH, why));
        }
        let client =
            if is_modern { MessagePart::ModernClientName } else { MessagePart::ClientName };
        if let Some(client) = parts.text(message, client) {
            self.client = Some(client);
        }
        let asked = match self.expected(message, parts, &method, exchange, in_batch) {
            Ok(asked) => asked,
            Err((code, why)) => {
                let answer = reply::error(Some(&raw), code, &why);
                let tool =
                    parts.text(message, MessagePart::Name).filter(|_| method == "tools/call");
                let Some(tool) = tool.filter(|tool| !in_batch && !self.proxy.allows(tool)) else {
                    return Step::Answer(answer);
                };
                let task = Task::Deny { tool, answer };
                return self.work(span, task, exchange, raw.into(), is_modern, None);
            }
        };
        if let Expected::Retrieved { arguments } = &asked.expected
            && !in_batch
        {
            if self.calls.is_open(&id) {
                return refuse(Some(&raw), "a request with this id is open");
            }
            let task = Task::Retrieve { arguments: arguments.clone(), is_answer: true };
            return self.work(span, task, exchange, raw.into(), is_modern, None);
        }
        let is_retrieval = matches!(asked.expected, Expected::Retrieved { .. });
        let call = OpenCall {
            raw_id: raw.clone().into(),
            expected: asked.expected,
            is_modern,
            arrived: Instant::now(),
        };
        match self.calls.add(id, call, self.proxy.limits().open_requests) {
            Ok(()) => {}
            Err(Refused::Open) => return refuse(Some(&raw), "a request with this id is open"),
            Err(Refused::Closed) => {
                return refuse(
                    Some(&raw),
                    "the id belongs to a request that was cancelled or has its response",
                );
            }
            Err(Refused::Full) => {
                let why = "too many requests are open";
                return Step::Answer(reply::error(Some(&raw), reply::INTERNAL_ERROR, why));
            }
        }
        if is_retrieval {
            // The response to the ping is replaced, so that our response is in the batch of the responses.
            return self.work(span, Task::Ping, exchange, raw.into(), is_modern, None);
        }
        if asked.cuts.is_empty() && asked.values.is_empty() && asked.check.is_none() {
            return Step::Forward;
        }
        exchange.checked = asked.check.is_some().then(|| raw.clone());
        let task =
            Task::EditArguments { cuts: asked.cuts, values: asked.values, check: asked.check };
        self.work(span, task, exchange, raw.into(), is_modern, None)
    }

    /// Returns what the response to a request will be, or the code and the message of an error.
    fn expected(
        &self,
        message: &Spool,
        parts: &Parts<MessagePart>,
        method: &str,
        exchange: &Exchange,
        in_batch: bool,
    ) -> Result<RequestedCall, Refusal> {
        let is_modern = parts.has(MessagePart::Version);
        let memory = self.memory(exchange, is_modern);
        if matches!(method, "tools/call" | "tasks/result" | "tasks/get")
            && let Some(mut earlier) = memory.earlier()
        {
            earlier.count();
        }
        Ok(match method {
            "initialize" | "server/discover" => Expected::Greeting.into(),
            "tools/list" => {
                let cursor = parts.last(MessagePart::Cursor);
                let is_first = cursor.is_none_or(|cursor| cursor.kind == ValueKind::Null);
                Expected::Listing { is_first, hides: self.proxy.hides_tools() }.into()
            }
            "tools/call" => {
                let Some(tool) = parts.text(message, MessagePart::Name) else {
                    return Err(refusal("the name of the tool must be a string"));
                };
                if tool.len() > LONGEST_TOOL_NAME {
                    return Err(refusal("the name of the tool is too long"));
                }
                if self.proxy.has_retrieval() && tool == self.proxy.retrieval_tool() {
                    let arguments = parts.last(MessagePart::Arguments);
                    return retrieve::arguments(message, arguments)
                        .map(|arguments| Expected::Retrieved { arguments }.into())
                        .ok_or_else(|| refusal("the arguments are too long"));
                }
                if !self.proxy.allows(&tool) {
                    let name = text::short(&tool, 128);
                    return Err((reply::INVALID_PARAMS, format!("Unknown tool: {name}").into()));
                }
                let marks = memory.marks();
                let asked = match self.proxy.filter(&tool) {
                    Some(filter) => {
                        call::requested(&self.proxy, message, parts, &tool, filter, marks)?
                    }
                    None => Expected::Other.into(),
                };
                let asked = asked.with_values(&self.proxy, message, parts, &tool, marks)?;
                asked.with_check(&self.proxy, message, parts, &tool, in_batch)?
            }
            "tasks/list" if self.proxy.may_remove_for_safety => Expected::TaskList.into(),
            "tasks/result" | "tasks/get" | "tasks/cancel" | "tasks/update" => {
                let task = parts.text(message, MessagePart::TaskId).unwrap_or_default();
                let call = match memory.recall(Named::Task, &exchange.scope, &task) {
                    Recalled::Call(call) => *call,
                    Recalled::Unknown | Recalled::Forgotten => match self.unknown_call() {
                        Some(call) => call,
                        None => return Ok(Expected::Other.into()),
                    },
                };
                match method {
                    // Asking again for the result of a task does not run the tool again, so it is sent whole.
                    "tasks/result" => {
                        let delta = call.delta.map(|(key, _)| (key, 0));
                        Expected::ToolResult(ToolCall { delta, ..call }).into()
                    }
                    "tasks/get" => Expected::Task(call).into(),
                    // These have no result, but the state of the task.
                    _ if call.filter.removes_for_safety => Expected::Task(call).into(),
                    _ => Expected::Other.into(),
                }
            }
            "resources/read" => {
                let uri = parts.text(message, MessagePart::Uri).unwrap_or_default();
                match memory.recall(Named::Resource, &exchange.scope, &uri) {
                    Recalled::Call(call) => Expected::Resource(*call).into(),
                    Recalled::Unknown => Expected::Shown.into(),
                    Recalled::Forgotten => {
                        let why = "tamis: too many resources were named by results that are filtered for safety; \
                                   this one may be one of them";
                        return Err((reply::INTERNAL_ERROR, why.into()));
                    }
                }
            }
            "prompts/get" => Expected::Shown.into(),
            _ => Expected::Other.into(),
        })
    }

    /// Returns the call of a task that is not known.
    pub(crate) fn unknown_call(&self) -> Option<ToolCall> {
        let filter = if self.proxy.may_remove_for_safety {
            Arc::new(ToolFilter::refusing(Failure::UNKNOWN_CALL.0))
        } else {
            self.proxy.filter("")?
        };
        let query = tamis_text::cut::Query::default();
        Some(ToolCall {
            tool: "".into(),
            filter,
            options: tamis::CallOptions::new(),
            query,
            delta: None,
            listed: ListedSchema::Nothing,
            in_script: false,
        })
    }

    pub(crate) fn batch_from_client(&mut self, message: &Spool, exchange: &mut Exchange) -> Route {
        let parts = match Parts::<BatchPart>::find(message, 0..message.len()) {
            Ok(parts) => parts,
            Err(FindError::NotJson | FindError::Incomplete) => {
                return route(Step::Reject(self.parse_error(message)));
            }
            Err(FindError::Limit | FindError::Io) => {
                return route(refuse(None, "the batch is too long or has too many parts"));
            }
        };
        let before = exchange.requests.len();
        let mut elements = Vec::new();
        let mut answers = Vec::new();
        for found in parts.all(BatchPart::Element) {
            match self.client_message(message, found.span.clone(), exchange, true) {
                Step::Forward => elements.push((found.span.clone(), Element::Copy)),
                Step::Work(work) => elements.push((found.span.clone(), Element::Work(work))),
                Step::Drop(_) => elements.push((found.span.clone(), Element::Cut)),
                Step::Answer(answer) | Step::Reject(answer) => answers.push(answer),
            }
        }
        if answers.is_empty() {
            return batch_route(elements);
        }
        // One bad request refuses the batch: its other responses would come in another message.
        for raw in exchange.requests.drain(before..) {
            if let Some(id) = Id::parse(&raw)
                && self.calls.is_open(&id)
            {
                self.calls.take(&id, None);
                let why = "another request of the batch is not valid";
                answers.push(reply::error(Some(&raw), reply::INVALID_REQUEST, why));
            }
        }
        Route::Answer([b"[".as_slice(), &answers.join(&b","[..]), b"]"].concat())
    }
}

/// Returns whether a line has nothing in it.
fn is_blank(message: &Spool) -> bool {
    const LONGEST: usize = 16;
    let bytes = message.to_vec(0..message.len(), LONGEST).unwrap_or_default();
    message.len() <= LONGEST as u64 && bytes.trim_ascii().is_empty()
}

/// Returns whether a server may take another member for a decisive one.
fn has_similar_names(message: &Spool, span: &Range<u64>, parts: &Parts<MessagePart>) -> bool {
    let params = parts.last(MessagePart::Params);
    let params = params.filter(|params| params.kind == ValueKind::Object);
    let inner = params.map(|params| has_similar_name(message, &params.span, &PARAMETERS));
    let outer = has_similar_name(message, span, &NAMES);
    outer.unwrap_or(true) || inner.is_some_and(|inner| inner.unwrap_or(true))
}

fn headers_agree(
    message: &Spool,
    parts: &Parts<MessagePart>,
    exchange: &Exchange,
    method: &str,
) -> bool {
    let name = match method {
        "tools/call" | "prompts/get" => Some(MessagePart::Name),
        "resources/read" => Some(MessagePart::Uri),
        _ => None,
    };
    let name = name.map(|part| parts.text(message, part).unwrap_or_default());
    let version = parts.text(message, MessagePart::Version);
    headers::agrees(exchange.method_header.as_deref(), Some(method))
        && (name.is_none() || headers::agrees(exchange.name_header.as_deref(), name.as_deref()))
        && headers::agrees(exchange.version_header.as_deref(), version.as_deref())
}

/// Returns the JSON text of the id, if there is exactly one and it is valid.
fn unique_id(message: &Spool, parts: &Parts<MessagePart>) -> Option<Vec<u8>> {
    let is_unique = !parts.repeats(&[MessagePart::Id]);
    parts.id(message).filter(|_| is_unique).map(|(_, raw)| raw)
}

fn refuse(id: Option<&[u8]>, why: &str) -> Step {
    Step::Answer(reply::error(id, reply::INVALID_REQUEST, why))
}
