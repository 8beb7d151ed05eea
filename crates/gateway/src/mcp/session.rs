//! Where a message goes: one client's requests, and the responses to them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::call::{self, RequestedCall};
use super::exchange::Exchange;
use super::failure::{self, Failure};
use super::headers;
use super::job::{Context, Element, Job, Task, Work};
use super::memory::{Memory, Named, Recalled};
use super::open_calls::{Expected, OpenCall, OpenCalls, Refused, ToolCall};
use super::proxy::Proxy;
use super::retrieve;
use super::route::{DropReason, Route};
use crate::jsonrpc::find::{FindError, ValueKind};
use crate::jsonrpc::head::{self, BatchPart, MessageForm, MessagePart, Parts, short_text};
use crate::jsonrpc::{Id, reply};
use crate::rules::ToolFilter;
use crate::transport::spool::Spool;

/// The protocol state of one client.
///
/// On standard input and output there is one for the connection. Over HTTP there is one for each `Mcp-Session-Id`, and
/// one for each request without it. The session of the request with `initialize` becomes that of the `Mcp-Session-Id`
/// in its response.
///
/// ```
/// use tamis_gateway::mcp::{Exchange, Proxy, ProxyOptions, Route, Session};
/// use tamis_gateway::rules::{Profile, Rules};
/// use tamis_gateway::transport::spool::Spool;
///
/// let rules = Rules::new(Profile::Standard)?;
/// let mut session = Session::new(&Proxy::new(ProxyOptions::new(rules)));
/// let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list"}}"#;
/// let route = session.from_client(&Spool::from_vec(request.to_vec()), &mut Exchange::stdio());
/// assert!(matches!(route, Route::Forward));
///
/// let response = br#"{"result":{"content":[{"type":"text","text":"[1, 2]"}]},"jsonrpc":"2.0","id":1}"#;
/// let response = Spool::from_vec(response.to_vec());
/// let Route::Run(job) = session.from_server(&response, &Exchange::stdio()) else { panic!() };
/// let outcome = job.run(&response);
/// # use tamis_gateway::mcp::Action;
/// let Action::Send(message) = outcome.action else { panic!() };
/// assert!(message.as_slice().unwrap().windows(7).any(|text| text == br#""[1,2]""#));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    proxy: Arc<Proxy>,
    memory: Arc<Memory>,
    pub(super) calls: OpenCalls,
    client: Option<String>,
    /// Whether the server said that it has no tools.
    has_no_tools: bool,
}

/// What is done with one message, which may be an element of a batch.
#[derive(Debug)]
enum Step {
    Forward,
    Work(Box<Work>),
    Answer(Vec<u8>),
    Reject(Vec<u8>),
    Drop(DropReason),
}

impl Session {
    /// Creates the state of a new client.
    #[must_use]
    pub fn new(proxy: &Arc<Proxy>) -> Self {
        Self {
            proxy: Arc::clone(proxy),
            memory: Arc::new(Memory::new(proxy.limits().remembered)),
            calls: OpenCalls::default(),
            client: None,
            has_no_tools: false,
        }
    }

    /// Returns the number of open requests.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.calls.len()
    }

    /// Decides about a message of the client: a line, or the body of an HTTP request. Notes in `exchange` which request
    /// it carries.
    pub fn from_client(&mut self, message: &Spool, exchange: &mut Exchange) -> Route {
        if head::is_batch(message) {
            return self.batch_from_client(message, exchange);
        }
        route(self.client_message(message, 0..message.len(), exchange, false))
    }

    /// Decides about a message of the server: a line, the body of an HTTP response, or the data of an event.
    pub fn from_server(&mut self, message: &Spool, exchange: &Exchange) -> Route {
        if head::is_batch(message) {
            return self.batch_from_server(message, exchange);
        }
        route(self.server_message(message, 0..message.len(), exchange))
    }

    /// Returns an error for each open request, after the server has ended.
    pub fn upstream_ended(&mut self, status: &str) -> Vec<Vec<u8>> {
        let message = format!("upstream exited ({status})");
        let calls = self.calls.drain();
        let error =
            |call: &OpenCall| reply::error(Some(&call.raw_id), reply::INTERNAL_ERROR, &message);
        calls.iter().map(error).collect()
    }

    /// Returns what to send for the requests of an HTTP exchange that got no response: `why` is a clause such as `the
    /// connection to the server ended`. Returns `None` if nothing is owed.
    pub fn exchange_ended(&mut self, exchange: &Exchange, why: &str) -> Option<Vec<u8>> {
        let open = exchange.requests.iter().filter_map(|raw| Id::parse(raw));
        let calls: Vec<OpenCall> = open
            .filter(|id| self.calls.is_open(id))
            .collect::<Vec<_>>()
            .iter()
            .filter_map(|id| self.calls.take(id, None))
            .collect();
        let replies: Vec<Vec<u8>> = calls.iter().map(|call| unanswered(call, why)).collect();
        match replies.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some([b"[".as_slice(), &several.join(&b","[..]), b"]"].concat()),
        }
    }

    /// Returns whether a message of the server that is too long to be looked at may be sent on: no response that is
    /// waited for is filtered for safety.
    #[must_use]
    pub fn may_forward_unseen(&self) -> bool {
        !self.proxy.may_remove_for_safety || self.calls.all().all(|call| call.expected.only_saves())
    }

    // Messages of the client.

    fn client_message(
        &mut self,
        message: &Spool,
        span: Range<u64>,
        exchange: &mut Exchange,
        in_batch: bool,
    ) -> Step {
        let parts = match Parts::<MessagePart>::find(message, span.clone()) {
            Ok(parts) => parts,
            // The server says so.
            Err(FindError::NotJson) => return Step::Forward,
            Err(FindError::Limit | FindError::Io) => {
                return refuse(None, "the message is too long, too deep, or has too many parts");
            }
        };
        match parts.form() {
            MessageForm::Request => self.request(message, span, &parts, exchange, in_batch),
            MessageForm::Notification => {
                if parts.repeats(&[MessagePart::Method]) {
                    return Step::Drop(DropReason::Ambiguous);
                }
                self.notification(message, &parts);
                Step::Forward
            }
            MessageForm::Response | MessageForm::Other => Step::Forward,
            MessageForm::Ambiguous => refuse(
                unique_id(message, &parts).as_deref(),
                "a request has no result and no error",
            ),
        }
    }

    fn notification(&mut self, message: &Spool, parts: &Parts<MessagePart>) {
        let is_cancellation =
            parts.text(message, MessagePart::Method).as_deref() == Some("notifications/cancelled");
        if is_cancellation && let Some(found) = parts.last(MessagePart::RequestId) {
            let raw = message.to_vec(found.span.clone(), crate::jsonrpc::LONGEST_ID);
            if let Some(id) = raw.ok().and_then(|raw| Id::parse(&raw)) {
                self.calls.cancel(&id, self.proxy.limits().closed_requests);
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
        let asked = match self.expected(message, parts, &method, exchange) {
            Ok(asked) => asked,
            Err((code, why)) => return Step::Answer(reply::error(Some(&raw), code, why)),
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
                return refuse(Some(&raw), "the id belongs to a request that was cancelled");
            }
            Err(Refused::Full) => {
                let why = "too many requests are open";
                return Step::Answer(reply::error(Some(&raw), reply::INTERNAL_ERROR, why));
            }
        }
        if is_retrieval {
            // The response to the ping is replaced, so that the answer comes in the batch of the responses.
            return self.work(span, Task::Ping, exchange, raw.into(), is_modern, None);
        }
        if asked.cuts.is_empty() {
            return Step::Forward;
        }
        let task = Task::CutArguments(asked.cuts);
        self.work(span, task, exchange, raw.into(), is_modern, None)
    }

    /// Returns what the response to a request will be, or the code and the message of an error.
    fn expected(
        &self,
        message: &Spool,
        parts: &Parts<MessagePart>,
        method: &str,
        exchange: &Exchange,
    ) -> Result<RequestedCall, (i32, &'static str)> {
        let is_modern = parts.has(MessagePart::Version);
        let memory = self.memory(exchange, is_modern);
        Ok(match method {
            "initialize" | "server/discover" => Expected::Greeting.into(),
            "tools/list" => {
                let cursor = parts.last(MessagePart::Cursor);
                let is_first = cursor.is_none_or(|cursor| cursor.kind == ValueKind::Null);
                Expected::Listing { is_first }.into()
            }
            "tools/call" => {
                let Some(tool) = parts.text(message, MessagePart::Name) else {
                    return Err((reply::INVALID_PARAMS, "the name of the tool must be a string"));
                };
                if tool == retrieve::TOOL && self.proxy.store().is_some() {
                    let arguments = parts.last(MessagePart::Arguments);
                    return retrieve::arguments(message, arguments)
                        .map(|arguments| Expected::Retrieved { arguments }.into())
                        .ok_or((reply::INVALID_PARAMS, "the arguments are too long"));
                }
                match self.proxy.filter(&tool) {
                    Some(filter) => call::requested(&self.proxy, message, parts, &tool, filter)?,
                    None => Expected::Other.into(),
                }
            }
            "tasks/result" | "tasks/get" => {
                let task = parts.text(message, MessagePart::TaskId).unwrap_or_default();
                let call = match memory.recall(Named::Task, &exchange.scope, &task) {
                    Recalled::Call(call) => *call,
                    Recalled::Unknown | Recalled::Forgotten => match self.unknown_call() {
                        Some(call) => call,
                        None => return Ok(Expected::Other.into()),
                    },
                };
                match method {
                    "tasks/get" => Expected::Task(call).into(),
                    _ => Expected::ToolResult(call).into(),
                }
            }
            "resources/read" => {
                let uri = parts.text(message, MessagePart::Uri).unwrap_or_default();
                match memory.recall(Named::Resource, &exchange.scope, &uri) {
                    Recalled::Call(call) => Expected::Resource(*call).into(),
                    Recalled::Unknown => Expected::Other.into(),
                    Recalled::Forgotten => {
                        let why = "tamis: too many resources were named by results that are filtered for safety; \
                                   this one may be one of them";
                        return Err((reply::INTERNAL_ERROR, why));
                    }
                }
            }
            _ => Expected::Other.into(),
        })
    }

    /// Returns the call of a task that is not known.
    fn unknown_call(&self) -> Option<ToolCall> {
        let filter = if self.proxy.may_remove_for_safety {
            Arc::new(ToolFilter::refusing(Failure::UNKNOWN_CALL.0))
        } else {
            self.proxy.filter("")?
        };
        Some(ToolCall { tool: "".into(), filter, options: tamis::CallOptions::new() })
    }

    fn batch_from_client(&mut self, message: &Spool, exchange: &mut Exchange) -> Route {
        let parts = match Parts::<BatchPart>::find(message, 0..message.len()) {
            Ok(parts) => parts,
            Err(FindError::NotJson) => return Route::Forward,
            Err(FindError::Limit | FindError::Io) => {
                return route(refuse(None, "the batch is too long or has too many parts"));
            }
        };
        let before = exchange.requests.len();
        let mut elements = Vec::new();
        let mut refused = None;
        for found in parts.all(BatchPart::Element) {
            match self.client_message(message, found.span.clone(), exchange, true) {
                Step::Forward => elements.push((found.span.clone(), Element::Copy)),
                Step::Work(work) => elements.push((found.span.clone(), Element::Work(work))),
                Step::Drop(_) => elements.push((found.span.clone(), Element::Cut)),
                Step::Answer(answer) | Step::Reject(answer) => refused = Some(answer),
            }
        }
        let Some(refused) = refused else { return batch_route(elements) };
        // One bad request refuses the batch: its other responses would come in another message.
        let mut answers = vec![refused];
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

    // Messages of the server.

    fn server_message(&mut self, message: &Spool, span: Range<u64>, exchange: &Exchange) -> Step {
        let parts = match Parts::<MessagePart>::find(message, span.clone()) {
            Ok(parts) => parts,
            Err(FindError::NotJson) => return Step::Drop(DropReason::NotJson),
            Err(FindError::Limit | FindError::Io) => return self.unreadable(exchange),
        };
        match parts.form() {
            MessageForm::Response => self.response(message, span, &parts, exchange),
            MessageForm::Request | MessageForm::Notification | MessageForm::Ambiguous
                if !self.proxy.may_remove_for_safety =>
            {
                self.from_server_unasked(message, span, &parts, exchange)
            }
            MessageForm::Ambiguous => self.ambiguous(message, &parts, exchange),
            MessageForm::Request | MessageForm::Notification => {
                if parts.repeats(&[MessagePart::Method, MessagePart::Params]) {
                    return Step::Drop(DropReason::Ambiguous);
                }
                self.from_server_unasked(message, span, &parts, exchange)
            }
            MessageForm::Other if self.proxy.may_remove_for_safety => {
                Step::Drop(DropReason::UnknownResponse)
            }
            MessageForm::Other => Step::Forward,
        }
    }

    /// A request or a notification. Only a notification about a task can have the result of a tool.
    fn from_server_unasked(
        &self,
        message: &Spool,
        span: Range<u64>,
        parts: &Parts<MessagePart>,
        exchange: &Exchange,
    ) -> Step {
        let method = parts.text(message, MessagePart::Method).unwrap_or_default();
        let has_outcome =
            parts.has(MessagePart::ParamsResult) || parts.has(MessagePart::ParamsError);
        if !method.starts_with("notifications/tasks") || !has_outcome {
            return Step::Forward;
        }
        let task = parts.text(message, MessagePart::TaskId).unwrap_or_default();
        let memory = self.memory(exchange, true);
        let call = match memory.recall(Named::Task, &exchange.scope, &task) {
            Recalled::Call(call) => Some(*call),
            Recalled::Unknown | Recalled::Forgotten => self.unknown_call(),
        };
        let Some(call) = call else { return Step::Forward };
        let task = Task::notification(call, parts);
        self.work(span, task, exchange, Box::default(), true, None)
    }

    fn response(
        &mut self,
        message: &Spool,
        span: Range<u64>,
        parts: &Parts<MessagePart>,
        exchange: &Exchange,
    ) -> Step {
        if parts.repeats(&DECISIVE_IN_RESPONSES) && self.proxy.may_remove_for_safety {
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
        let task = match expected {
            Expected::Greeting => {
                self.has_no_tools = parts.has(MessagePart::Capabilities)
                    && !parts.has(MessagePart::ToolsCapability);
                return Step::Forward;
            }
            Expected::Other => return Step::Forward,
            Expected::Retrieved { arguments } => Task::Retrieve { arguments, is_answer: false },
            Expected::Listing { is_first } => {
                let Some(result) = parts.last(MessagePart::Result) else { return Step::Forward };
                let offers = is_first && self.proxy.store().is_some() && !self.has_no_tools;
                Task::Listing { result: result.span.clone(), offers_retrieval: offers }
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
            Expected::Task(call) => Task::task(call, parts),
            Expected::Resource(call) => Task::resource(call, parts),
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

    /// Answers the request of an HTTP exchange in place of a message that is withheld. Elsewhere nobody can be
    /// answered, and the message is dropped.
    fn withhold(&mut self, exchange: &Exchange, failure: Failure, reason: DropReason) -> Step {
        let open = exchange.requests.iter().filter_map(|raw| Id::parse(raw));
        let open = open.into_iter().find(|id| exchange.is_http && self.calls.is_open(id));
        match open.and_then(|id| self.calls.take(&id, None)) {
            Some(call) => Step::Answer(withheld(&call, failure)),
            None => Step::Drop(reason),
        }
    }

    fn batch_from_server(&mut self, message: &Spool, exchange: &Exchange) -> Route {
        let parts = match Parts::<BatchPart>::find(message, 0..message.len()) {
            Ok(parts) => parts,
            Err(FindError::NotJson) => return Route::Drop(DropReason::NotJson),
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

    // Shared.

    /// Returns where tasks and resources of a client are remembered. Clients without sessions share a memory, in which
    /// their scope tells them apart.
    fn memory(&self, exchange: &Exchange, is_modern: bool) -> &Arc<Memory> {
        if exchange.is_http && (is_modern || !exchange.has_session_id) {
            &self.proxy.memory
        } else {
            &self.memory
        }
    }

    fn work(
        &self,
        span: Range<u64>,
        task: Task,
        exchange: &Exchange,
        raw_id: Box<[u8]>,
        is_modern: bool,
        arrived: Option<Instant>,
    ) -> Step {
        let context = Context {
            proxy: Arc::clone(&self.proxy),
            memory: Arc::clone(self.memory(exchange, is_modern)),
            scope: exchange.scope.clone(),
            limits_output: exchange.limits_output(),
            is_modern,
            reads: self.proxy.client_reads(self.client.as_deref()),
            raw_id,
            arrived,
        };
        Step::Work(Box::new(Work { span, task, context }))
    }
}

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

/// Returns what is done with the response to a call. `None`: it passes as it came.
fn tool_result(message: &Spool, parts: &Parts<MessagePart>, call: ToolCall) -> Option<Task> {
    let closed = call.filter.removes_for_safety;
    let withhold =
        |call: ToolCall, failure| closed.then_some(Task::Withhold { tool: call.tool, failure });
    let Some(result) = parts.last(MessagePart::Result) else {
        return closed.then(|| Task::error(call, parts));
    };
    let has_output = parts.has(MessagePart::Content) || parts.has(MessagePart::Structured);
    let kind = parts.last(MessagePart::ResultType);
    match kind.map(|found| short_text(message, found).unwrap_or_default()).as_deref() {
        None if parts.has(MessagePart::LegacyTask) && !has_output => None,
        None | Some("complete") => {
            if result.kind != ValueKind::Object {
                return withhold(call, Failure::UNKNOWN_FORM);
            }
            Some(Task::Result { call, result: result.span.clone() })
        }
        // A question to the client, or a task that was started: no output yet.
        Some("input_required" | "task") if !has_output => None,
        Some(_) => withhold(call, Failure::UNKNOWN_FORM),
    }
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

/// Returns what the client gets in place of a response that is withheld.
pub(super) fn withheld(call: &OpenCall, failure: Failure) -> Vec<u8> {
    match &call.expected {
        Expected::ToolResult(tool) => {
            failure::withheld(&call.raw_id, &tool.tool, failure, call.is_modern)
        }
        _ => failure::refused(&call.raw_id, "the response", failure),
    }
}

/// Returns what the client gets if no response came.
fn unanswered(call: &OpenCall, why: &str) -> Vec<u8> {
    let Expected::ToolResult(_) = &call.expected else {
        return reply::error(Some(&call.raw_id), reply::INTERNAL_ERROR, &format!("tamis: {why}"));
    };
    let sentence = format!(
        "[tamis: {why} before the result of the tool came. The tool may have run; calling it again may repeat what it did.]"
    );
    let kind = if call.is_modern { "\"resultType\":\"complete\"," } else { "" };
    let text = crate::jsonrpc::text::quoted(&sentence);
    let result =
        format!("{{{kind}\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"isError\":true}}");
    reply::result(&call.raw_id, &result)
}

fn route(step: Step) -> Route {
    match step {
        Step::Forward => Route::Forward,
        Step::Work(work) => Route::Run(Box::new(Job::one(*work))),
        Step::Answer(answer) => Route::Answer(answer),
        Step::Reject(body) => Route::Reject { status: 400, body },
        Step::Drop(reason) => Route::Drop(reason),
    }
}

fn batch_route(elements: Vec<(Range<u64>, Element)>) -> Route {
    if elements.iter().all(|(_, element)| matches!(element, Element::Copy)) {
        return Route::Forward;
    }
    if elements.iter().all(|(_, element)| matches!(element, Element::Cut)) {
        return Route::Drop(DropReason::UnknownResponse);
    }
    Route::Run(Box::new(Job::batch(elements)))
}
