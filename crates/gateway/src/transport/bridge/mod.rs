//! A client on standard input and output, and a server over streamable HTTP.
//!
//! Each message of the client becomes a POST, and each message in a response becomes a line. The bridge
//! also keeps the state that HTTP needs: the id of a legacy session and the version that it uses, the headers that repeat members of a modern
//! request, the stream for messages that the server begins, and the resumption of streams that break.
//!
//! ```text
//!   standard input ──▶ thread ──▶ loop ──▶ one task per request ──▶ POST
//!                                  └─────▶ notifications, in order ─▶ POST
//!   standard output ◀── thread ◀────────── responses and events ◀── POST, GET
//! ```

mod envelope;
mod responses;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode};
use tamis_mcp::spool::{Spool, SpoolLimits};
use tamis_mcp::{Action, Exchange};
use tamis_store::Scope;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::http::body::RequestBody;
use super::http::headers::{METHOD, NAME, PROTOCOL_VERSION, SESSION_ID};
use super::http::sessions::SharedHandler;
use super::http::upstream::Upstream;
use super::lines::{Line, LineReader, write_line};
use super::shutdown::Shutdown;
use super::{HandlerFactory, jobs, pipe};
use crate::observe::{Direction, Observer};
use crate::report::report;
use envelope::{ClientMessage, ParameterHeaders};

/// Requests at once. Further ones wait, and with them the client.
const REQUESTS: usize = 1_000;

/// Messages that wait between the threads and the loop.
const WAITING: usize = 16;

/// How long a notification may take. Later messages wait for it, so that they do not overtake it.
const NOTIFICATION: Duration = Duration::from_secs(10);

/// How long open requests may take after the client closed its side.
const GRACE: Duration = Duration::from_secs(1);

/// How long the end of a session may take, after everything else.
const GOODBYE: Duration = Duration::from_millis(400);

/// Tools whose headers are remembered.
const TOOLS: usize = 4_096;

/// Connects a client on standard input and output with a server over HTTP.
pub struct HttpBridge {
    upstream: Upstream,
    limits: SpoolLimits,
    observer: Arc<Observer>,
    scope: Scope,
}

impl HttpBridge {
    /// Creates a bridge to a server. `limits` apply to each message.
    #[must_use]
    pub fn new(upstream: Upstream, limits: SpoolLimits, observer: Arc<Observer>) -> Self {
        Self { upstream, limits, observer, scope: Scope::process() }
    }

    /// Sets who may read a stored result. Default: this process.
    #[must_use]
    pub fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Forwards messages until the client closes its side or a signal arrives. Returns the exit code.
    pub async fn run(self, handlers: &HandlerFactory, mut shutdown: Shutdown) -> u8 {
        let (to_client, lines) = channel(WAITING);
        let (received, mut input) = channel(WAITING);
        let written = start_writer(lines);
        start_reader(received, self.limits);
        let bridge = Arc::new(Bridge {
            upstream: self.upstream,
            handler: SharedHandler::new(handlers),
            state: Mutex::default(),
            to_client,
            observer: self.observer,
            limits: self.limits,
            scope: self.scope,
        });
        let mut requests = Requests::new();
        let code = loop {
            tokio::select! {
                line = input.recv() => match line {
                    Some(line) => {
                        // A server that does not respond must not keep the proxy from ending.
                        let handled = bridge.handle(line, &mut requests);
                        tokio::select! {
                            () = handled => {}
                            code = shutdown.requested() => break code,
                        }
                    }
                    None => break 0,
                },
                // The client does not read any more.
                () = bridge.to_client.closed() => break 0,
                code = shutdown.requested() => break code,
                Some(_) = requests.tasks.join_next(), if !requests.tasks.is_empty() => {}
            }
        };
        if code == 0 && !bridge.to_client.is_closed() {
            _ = timeout(GRACE, requests.all_done()).await;
        }
        requests.abort();
        _ = timeout(GOODBYE, bridge.end_session()).await;
        drop(bridge);
        // Written by now, unless the client does not read.
        _ = timeout(GOODBYE, written).await;
        code
    }
}

/// Starts the thread that reads standard input. It is not joined: only the end of the process ends a read.
fn start_reader(received: Sender<Line>, limits: SpoolLimits) {
    thread::spawn(move || {
        let mut lines = match pipe::standard_input() {
            Ok(input) => LineReader::new(input, limits),
            Err(error) => return report(format_args!("cannot read standard input: {error}")),
        };
        loop {
            match lines.next_line() {
                Ok(Some(line)) => {
                    if received.blocking_send(line).is_err() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => return report(format_args!("cannot read standard input: {error}")),
            }
        }
    });
}

/// Starts the thread that writes to standard output. The receiver is notified when everything is written.
fn start_writer(mut lines: Receiver<Spool>) -> oneshot::Receiver<()> {
    let (finished, done) = oneshot::channel();
    thread::spawn(move || {
        let output = pipe::standard_output();
        let Ok(mut output) = output else { return };
        while let Some(message) = lines.blocking_recv() {
            if let Err(error) = write_line(&mut output, &message) {
                if error.kind() != std::io::ErrorKind::BrokenPipe {
                    report(format_args!("cannot write to standard output: {error}"));
                }
                return;
            }
        }
        _ = finished.send(());
    });
    done
}

/// The requests that wait for a response.
struct Requests {
    tasks: JoinSet<()>,
    permits: Arc<Semaphore>,
    /// The tasks of modern requests by id, which are aborted to cancel the request.
    modern: HashMap<String, AbortHandle>,
    /// The task for messages that the server begins.
    listening: Option<AbortHandle>,
}

impl Requests {
    fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            permits: Arc::new(Semaphore::new(REQUESTS)),
            modern: HashMap::new(),
            listening: None,
        }
    }

    /// Waits until all requests are done.
    async fn all_done(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
        while self.tasks.join_next().await.is_some() {}
    }

    fn abort(&mut self) {
        self.tasks.abort_all();
    }

    /// Cancels a modern request: the server learns it from the end of the connection.
    fn cancel(&mut self, id: &str) {
        if let Some(task) = self.modern.remove(id) {
            task.abort();
        }
    }

    fn remember(&mut self, id: &str, task: AbortHandle) {
        if self.modern.len() >= REQUESTS {
            self.modern.retain(|_, task| !task.is_finished());
        }
        self.modern.insert(String::from(id), task);
    }
}

/// The state that all tasks share.
struct Bridge {
    upstream: Upstream,
    handler: SharedHandler,
    state: Mutex<SessionState>,
    to_client: Sender<Spool>,
    observer: Arc<Observer>,
    limits: SpoolLimits,
    scope: Scope,
}

/// Values of earlier responses that requests repeat.
#[derive(Default)]
struct SessionState {
    /// The `Mcp-Session-Id` of a legacy session.
    id: Option<HeaderValue>,
    /// The version of a legacy session.
    version: Option<HeaderValue>,
    /// The headers that tools want for their arguments.
    tools: HashMap<String, ParameterHeaders>,
}

impl Bridge {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message to the client. Without a client, the main loop ends the process.
    async fn deliver(&self, message: Spool) {
        _ = self.to_client.send(message).await;
    }

    /// Handles a line of the client: begins its request, or waits until its notification was received.
    async fn handle(self: &Arc<Self>, line: Line, requests: &mut Requests) {
        let message = match line {
            Line::Message { spool, .. } if spool.is_empty() => return,
            Line::Message { spool, .. } => spool,
            Line::TooLong(scan) => {
                self.observer.too_long(Direction::FromClient);
                let response = self.handler.lock().from_client_overflow(scan);
                return self.deliver(Spool::from_vec(response)).await;
            }
        };
        self.observer.message(Direction::FromClient, message.len());
        let envelope = ClientMessage::of(&message);
        let mut exchange = self.exchange(&envelope);
        let Some(message) = self.route(message, &mut exchange).await else { return };
        let modern = envelope.modern_version().is_some() || self.state().version.is_none();
        if let Some(id) = envelope.cancelled().filter(|_| modern) {
            return requests.cancel(id);
        }
        let headers = self.headers(&envelope, &message);
        let method = envelope.method.clone().unwrap_or_default();
        let Some(id) = envelope.request_id().map(String::from) else {
            let sent = self.notify(message, headers);
            match timeout(NOTIFICATION, sent).await {
                Ok(true) if method == "notifications/initialized" => self.listen(requests),
                Ok(_) => {}
                Err(_) => report("the server does not respond to a notification"),
            }
            return;
        };
        let Ok(permit) = Arc::clone(&requests.permits).acquire_owned().await else { return };
        let bridge = Arc::clone(self);
        let task = {
            let (id, method) = (id.clone(), method.clone());
            async move {
                bridge.request(&id, &method, message, headers, exchange).await;
                drop(permit);
            }
        };
        if method == "initialize" {
            // Later messages need what it returns.
            return task.await;
        }
        let task = requests.tasks.spawn(task);
        if envelope.modern_version().is_some() {
            requests.remember(&id, task);
        }
    }

    /// Returns the description of a request for the handler, with the headers that it will have.
    fn exchange(&self, envelope: &ClientMessage) -> Exchange {
        let modern = envelope.modern_version();
        let name = modern.and(envelope.name()).and_then(envelope::header_text);
        Exchange::http()
            .with_scope(self.scope.clone())
            .with_session_id(self.state().id.is_some())
            .with_version_header(modern)
            .with_method_header(modern.and(envelope.method.as_deref()))
            .with_name_header(name.as_deref())
            // The limit of a line is that of an event.
            .with_event_stream(true)
    }

    /// Asks the handler about a message. Returns what is to be sent to the server.
    async fn route(&self, message: Spool, exchange: &mut Exchange) -> Option<Spool> {
        let route = self.handler.lock().from_client(&message, exchange);
        match jobs::follow(route, message, &self.observer).await {
            (Action::Original, message) | (Action::Send(message), _) => return Some(message),
            (Action::Answer(response), _) => {
                self.handler.lock().responded(exchange);
                self.deliver(response).await;
            }
            (Action::Drop(reason), _) => self.observer.dropped(reason.as_str()),
        }
        None
    }

    /// Returns the headers of a request: those of the session, or those that repeat members of a modern message.
    fn headers(&self, envelope: &ClientMessage, message: &Spool) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accepted);
        let Some(version) = envelope.modern_version() else {
            self.add_session(&mut headers);
            return headers;
        };
        let mut add = |name: HeaderName, text: &str| {
            let text = envelope::header_text(text);
            if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(name, value);
            }
        };
        add(PROTOCOL_VERSION, version);
        add(METHOD, envelope.method.as_deref().unwrap_or_default());
        let Some(name) = envelope.name() else { return headers };
        add(NAME, name);
        let wanted = self.state().tools.get(name).cloned().unwrap_or_default();
        if envelope.method.as_deref() == Some("tools/call") && !wanted.is_empty() {
            for (name, value) in envelope::parameter_values(message, &wanted) {
                if let Ok(name) = HeaderName::try_from(name) {
                    add(name, &value);
                }
            }
        }
        headers
    }

    fn add_session(&self, headers: &mut HeaderMap) {
        let state = self.state();
        for (name, value) in [(SESSION_ID, &state.id), (PROTOCOL_VERSION, &state.version)] {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
    }

    /// Sends a notification, or a response to the server. Returns whether the server accepted it.
    async fn notify(&self, message: Spool, headers: HeaderMap) -> bool {
        let sent = self.upstream.send(Method::POST, None, &headers, RequestBody::of(message)).await;
        match sent {
            Ok(response) if response.status().is_success() => true,
            Ok(response) => {
                self.observer.failure("refused");
                let status = response.status().as_u16();
                report(format_args!("the server refused a notification with status {status}"));
                false
            }
            Err(error) => {
                self.observer.failure("unreachable");
                self.upstream.unreachable(&error);
                false
            }
        }
    }

    /// Begins to receive the messages that the server of a legacy session begins, once.
    fn listen(self: &Arc<Self>, requests: &mut Requests) {
        if self.state().version.is_some() && requests.listening.is_none() {
            let bridge = Arc::clone(self);
            requests.listening =
                Some(requests.tasks.spawn(async move { bridge.listening().await }));
        }
    }

    /// Ends a legacy session at the server, which otherwise keeps it for a time.
    async fn end_session(&self) {
        if self.state().id.is_none() {
            return;
        }
        let mut headers = HeaderMap::new();
        self.add_session(&mut headers);
        let ended =
            self.upstream.send(Method::DELETE, None, &headers, RequestBody::nothing()).await;
        // 405: the server does not let clients end sessions.
        if ended.is_ok_and(|response| response.status() == StatusCode::OK) {
            self.state().id = None;
        }
    }

    /// Remembers the headers that tools want.
    fn remember_tools(&self, message: &Spool) {
        for (tool, headers) in envelope::tools_with_headers(message) {
            let mut state = self.state();
            if state.tools.len() < TOOLS || state.tools.contains_key(&tool) {
                state.tools.insert(tool, headers);
            }
        }
    }
}
