//! Where a message goes: one client's requests, and the responses to them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::exchange::Exchange;
use super::open_calls::{Expected, OpenCall, OpenCalls};
use super::target::Route;
use crate::jsonrpc::{Id, head, reply, text};
use crate::policy::failure::{self, Failure};
use crate::policy::memory::Memory;
use crate::policy::proxy::Proxy;
use crate::rewrite::DropReason;
use crate::rewrite::job::Job;
use crate::rewrite::task::{Context, Element, Task, Work};
use crate::spool::Spool;

/// The protocol state of one client.
///
/// On standard input and output there is one for the connection. Over HTTP there is one for each `Mcp-Session-Id`, and
/// one for each request without it. The session of the request with `initialize` becomes that of the `Mcp-Session-Id`
/// in its response.
///
/// ```
/// use tamis_mcp::{Exchange, Proxy, ProxyOptions, Route, Session};
/// use tamis_mcp::rules::{Profile, Rules};
/// use tamis_mcp::spool::Spool;
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
/// # use tamis_mcp::Action;
/// let Action::Send(message) = outcome.action else { panic!() };
/// assert!(message.as_slice().unwrap().windows(7).any(|text| text == br#""[1,2]""#));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) calls: OpenCalls,
    /// The name that the client gave itself.
    pub(crate) client: Option<String>,
    /// Whether the server said that it has no tools.
    pub(crate) has_no_tools: bool,
}

/// The step for one message, which may be an element of a batch.
#[derive(Debug)]
pub(crate) enum Step {
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
            memory: Arc::new(Memory::of_session(proxy.limits().remembered)),
            calls: OpenCalls::default(),
            client: None,
            has_no_tools: false,
        }
    }

    /// Notes that the session of an exchange has ended: nobody can read what is stored for it any more.
    pub fn session_ended(&mut self, exchange: &Exchange) {
        if let Some(store) = self.proxy.store() {
            store.end_session(&exchange.scope);
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
        if !exchange.is_http {
            // One exchange stands for the whole connection, and need not remember more than one message.
            exchange.requests.clear();
        }
        exchange.checked = None;
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

    /// Notes that the job of the last message of the client in an exchange has responded to it: the server will not.
    pub fn responded(&mut self, exchange: &mut Exchange) {
        if let Some(id) = exchange.checked.take().and_then(|raw| Id::parse(&raw)) {
            self.calls.take(&id, None);
        }
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

    /// Returns whether a filter of the manifests removes for safety.
    #[must_use]
    pub fn may_remove_for_safety(&self) -> bool {
        self.proxy.may_remove_for_safety
    }

    /// Returns whether a message of the server that is too long to be looked at may be sent on: no response that is
    /// waited for is filtered for safety.
    #[must_use]
    pub fn may_forward_unseen(&self) -> bool {
        !self.proxy.is_strict() || self.calls.all().all(|call| call.expected.only_saves())
    }

    /// Returns where tasks and resources of a client are remembered. Clients without sessions share a memory, in which
    /// their scope tells them apart.
    pub(crate) fn memory(&self, exchange: &Exchange, is_modern: bool) -> &Arc<Memory> {
        if exchange.is_http && (is_modern || !exchange.has_session_id) {
            &self.proxy.memory
        } else {
            &self.memory
        }
    }

    pub(crate) fn work(
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
            is_cleaned: false,
            client: self.client.as_deref().map(Arc::from),
            reads: self.proxy.client_reads(self.client.as_deref()),
            client_limit: self.proxy.client_limit(self.client.as_deref(), span.end - span.start),
            factors: self.proxy.factors(self.client.as_deref()),
            raw_id,
            arrived,
        };
        Step::Work(Box::new(Work { span, task, context }))
    }
}

/// Returns what the client gets in place of a response that is withheld.
pub(crate) fn withheld(call: &OpenCall, failure: Failure) -> Vec<u8> {
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
    let text = text::quoted(&sentence);
    let result =
        format!("{{{kind}\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"isError\":true}}");
    reply::result(&call.raw_id, &result)
}

pub(crate) fn route(step: Step) -> Route {
    match step {
        Step::Forward => Route::Forward,
        Step::Work(work) => Route::Run(Box::new(Job::one(*work))),
        Step::Answer(answer) => Route::Answer(answer),
        Step::Reject(body) => Route::Reject { status: 400, body },
        Step::Drop(reason) => Route::Drop(reason),
    }
}

pub(crate) fn batch_route(elements: Vec<(Range<u64>, Element)>) -> Route {
    if elements.iter().all(|(_, element)| matches!(element, Element::Copy)) {
        return Route::Forward;
    }
    if elements.iter().all(|(_, element)| matches!(element, Element::Cut)) {
        return Route::Drop(DropReason::UnknownResponse);
    }
    Route::Run(Box::new(Job::batch(elements)))
}
