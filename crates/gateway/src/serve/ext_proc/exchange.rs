//! One exchange: a request of a client and its response, as messages of one stream.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::processing_mode::BodySendMode;
use envoy_types::pb::envoy::service::ext_proc::v3::processing_request::Request as Message;
use envoy_types::pb::envoy::service::ext_proc::v3::{
    HttpBody, HttpHeaders, ProcessingRequest, ProtocolConfiguration,
};
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Request, Response, request};
use http_body_util::BodyExt;
use tamis::http::FilterLayer;
use tamis_mcp::spool::Spool;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};
use tower::{Layer, ServiceExt, service_fn};

use super::body::{Piece, PieceBody};
use super::emit::{self, Original};
use super::reply::{Replies, Side};
use super::{headers, hook, recalled, refusal};
use crate::serve::choose::Plan;
use crate::serve::table::Table;
use crate::serve::trace::{self, ExchangeSpan};
use crate::transport::http::body::{ProxyBody, of_spool};
use crate::transport::http::front::Relay;

/// The response of the server, on its way to the task that filters it.
type Arriving = oneshot::Sender<(Original, Response<PieceBody>)>;

/// How long a task may take to end after its last message.
const ENDING: Duration = Duration::from_secs(1);

/// How the two bodies are handled.
struct Modes {
    request_is_streamed: bool,
}

/// The error with which a stream ends.
pub(super) struct Ended {
    pub(super) status: Status,
    /// Whether the client did not get the response for which the exchange was.
    pub(super) is_failure: bool,
}

impl From<Status> for Ended {
    fn from(status: Status) -> Self {
        let is_failure = status.code() != Code::Cancelled;
        Self { status, is_failure }
    }
}

/// Reads the messages of a stream until the gateway ends it.
pub(super) async fn run(
    mut inbound: Streaming<ProcessingRequest>,
    replies: Replies,
    table: Arc<Table>,
) -> Result<(), Ended> {
    let Some(first) = inbound.message().await? else { return Ok(()) };
    if first.observability_mode {
        let why = "observability_mode cannot filter anything";
        return Err(Status::failed_precondition(why).into());
    }
    let modes = modes(first.protocol_config.as_ref())?;
    let asked = match first.request {
        Some(Message::RequestHeaders(asked)) => asked,
        Some(Message::ResponseHeaders(head)) => {
            replies.immediate(refusal::without_request(&head)).await?;
            return Ok(until_end(inbound).await?);
        }
        _ => {
            let why = "expected request headers (request_header_mode: SEND)";
            return Err(Status::failed_precondition(why).into());
        }
    };
    let mut exchange = Exchange::begin(&asked, replies, table, modes).await?;
    loop {
        let deadline = exchange.deadline();
        let message = tokio::select! {
            message = inbound.message() => match message {
                Ok(message) => message,
                Err(status) => {
                    let is_failure = status.code() != Code::Cancelled && !exchange.was_complete().await;
                    return Err(Ended { status, is_failure });
                }
            },
            ended = task_end(&mut exchange.task) => {
                exchange.task = None;
                ended?;
                // Everything was sent. The client may take its time to read it.
                exchange.deadline = None;
                exchange.request_sent = None;
                continue;
            }
            () = until_sent(&mut exchange.request_sent) => {
                exchange.request_sent = None;
                continue;
            }
            () = idle(deadline, &exchange.replies) => {
                return Err(Status::deadline_exceeded("no progress").into());
            }
        };
        let Some(message) = message else { return Ok(exchange.over().await?) };
        match message.request {
            Some(message) => exchange.message(message).await?,
            None => return Err(Status::unimplemented("a message of an unknown kind").into()),
        }
    }
}

/// Waits for the end of the task that filters. Never ends without one.
async fn task_end(task: &mut Option<Task>) -> Result<(), Status> {
    match task {
        None => std::future::pending().await,
        Some(task) => match (&mut task.0).await {
            Ok(ended) => ended,
            Err(_) => Err(Status::internal("the filter failed")),
        },
    }
}

/// Waits until the task has sent a request. Never ends without one.
async fn until_sent(request: &mut Option<oneshot::Receiver<()>>) {
    match request {
        None => std::future::pending().await,
        // An error means that the task has ended.
        Some(request) => _ = request.await,
    }
}

/// Ends when nothing was sent for a while. Never ends without a deadline.
async fn idle(deadline: Option<Duration>, replies: &Replies) {
    let Some(deadline) = deadline else { return std::future::pending().await };
    loop {
        let sent = replies.sent();
        tokio::time::sleep(deadline).await;
        if replies.sent() == sent {
            return;
        }
    }
}

/// Checks how the gateway sends bodies.
fn modes(config: Option<&ProtocolConfiguration>) -> Result<Modes, Status> {
    // Gateways before Envoy 1.33 do not say it.
    let Some(config) = config else { return Ok(Modes { request_is_streamed: true }) };
    if config.response_body_mode != BodySendMode::FullDuplexStreamed as i32 {
        return Err(Status::failed_precondition(
            "expected response_body_mode: FULL_DUPLEX_STREAMED",
        ));
    }
    let streamed = config.request_body_mode == BodySendMode::FullDuplexStreamed as i32;
    Ok(Modes { request_is_streamed: streamed })
}

/// The task that filters. It ends with the exchange.
struct Task(JoinHandle<Result<(), Status>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The state of an exchange.
struct Exchange {
    replies: Replies,
    modes: Modes,
    /// The idle time after which the exchange fails, while a body is on its way.
    limit: Duration,
    /// The idle time for the response, once it has arrived.
    deadline: Option<Duration>,
    task: Option<Task>,
    /// Where the response of the server goes. `None` if responses pass.
    arriving: Option<Arriving>,
    is_filtered: bool,
    /// The request headers that `Vary` of a response that passes has to name.
    vary: Vec<HeaderName>,
    request: RequestSide,
    /// Resolves when the task has sent the request that it reads. `None` after that.
    request_sent: Option<oneshot::Receiver<()>>,
    response: Option<mpsc::Sender<Piece>>,
    response_is_over: bool,
}

/// The handling of the request's body.
enum RequestSide {
    /// It is sent back as it comes.
    Echo,
    /// It is read by the task, which needs to know how it ended to send it.
    Read(mpsc::Sender<Piece>, oneshot::Sender<RequestEnd>),
    /// It has ended: Envoy may repeat the end.
    Over,
}

/// The message with which a request ended. Envoy waits for a reply of the same kind.
enum RequestEnd {
    Body,
    Trailers,
}

impl Exchange {
    /// Handles the headers of the request.
    async fn begin(
        asked: &HttpHeaders,
        replies: Replies,
        table: Arc<Table>,
        modes: Modes,
    ) -> Result<Self, Status> {
        let Some(request) = headers::request(asked) else {
            return Err(Status::invalid_argument("expected a method and a path"));
        };
        let (parts, ()) = request.into_parts();
        let over = asked.end_of_stream;
        let mut exchange = Self {
            replies,
            modes,
            limit: table.config.idle(),
            deadline: None,
            task: None,
            arriving: None,
            is_filtered: false,
            vary: Vec::new(),
            request: if over { RequestSide::Over } else { RequestSide::Echo },
            request_sent: None,
            response: None,
            response_is_over: false,
        };
        exchange.replies.log.asked(&parts);
        match table.plan(&parts, &exchange.replies.log) {
            Plan::Pass => {
                exchange.vary = table.config.vary();
                exchange.replies.headers(Side::Request, None).await?;
            }
            Plan::Refuse(status) => {
                table.metrics.event("refused_request");
                let mut refused = refusal::of(status);
                headers::vary(refused.headers_mut(), &table.config.vary());
                exchange.replies.immediate(refused).await?;
            }
            Plan::Recall => {
                let mut recalled = recalled::respond(&table, &parts).await;
                headers::vary(recalled.headers_mut(), &table.config.vary());
                exchange.replies.immediate(recalled).await?;
            }
            Plan::Ask(found) => exchange.filter(parts, found, table).await?,
            Plan::Mcp(route) => {
                let relay = table.relay(route).cloned();
                let relay = relay.ok_or_else(|| Status::internal("the route has no relay"))?;
                let name = table.config.routes().get(route).map(|route| route.name().to_owned());
                exchange.mcp(parts, over, relay, name.unwrap_or_default())?;
            }
        }
        Ok(exchange)
    }

    /// Filters the response with the layer, which sees Envoy as its service.
    async fn filter(
        &mut self,
        parts: request::Parts,
        found: Vec<usize>,
        table: Arc<Table>,
    ) -> Result<(), Status> {
        let (arriving, arrived) = oneshot::channel();
        let (answered, is_answered) = oneshot::channel();
        self.arriving = Some(arriving);
        self.is_filtered = true;
        let replies = self.replies.clone();
        let log = replies.log.clone();
        let span = ExchangeSpan::new(&parts);
        let work = async move {
            let original = Arc::new(Mutex::new(None));
            let (chosen, vary) = (Arc::clone(&table), table.config.vary());
            let layer = FilterLayer::deciding(move |_, head| chosen.choose(&found, head, &log))
                .with_decoding(table.decoding.clone())
                .with_version(table.config.version())
                .with_vary(vary);
            let mut once = Some(EnvoyCall {
                before: parts.headers.clone(),
                replies: replies.clone(),
                answered,
                arrived,
                original: Arc::clone(&original),
            });
            let envoy = service_fn(move |request: Request<()>| {
                let call = once.take();
                async move { call.ok_or_else(cancelled)?.send(request).await }
            });
            let response = layer.layer(envoy).oneshot(Request::from_parts(parts, ())).await?;
            let original = original.lock().unwrap_or_else(PoisonError::into_inner).take();
            let original = original.ok_or_else(cancelled)?;
            emit::response(&replies, &original, response).await
        };
        self.task = Some(Task(tokio::spawn(span.around(work))));
        // The body of the request must not be sent back before its headers.
        _ = is_answered.await;
        Ok(())
    }

    /// Reads the request and filters the response with the relay of the MCP proxy.
    fn mcp(
        &mut self,
        parts: request::Parts,
        over: bool,
        relay: Arc<Relay>,
        route: String,
    ) -> Result<(), Status> {
        if !over && !self.modes.request_is_streamed {
            return Err(Status::failed_precondition(
                "expected request_body_mode: FULL_DUPLEX_STREAMED for a route of MCP",
            ));
        }
        let (arriving, arrived) = oneshot::channel();
        self.arriving = Some(arriving);
        self.is_filtered = true;
        let (body, ended) = if over {
            (PieceBody::empty(), None)
        } else {
            let (sender, body) = PieceBody::channel();
            let (end, ended) = oneshot::channel();
            self.request = RequestSide::Read(sender, end);
            (body, Some(ended))
        };
        let (sent, request_sent) = oneshot::channel();
        self.request_sent = Some(request_sent);
        let replies = self.replies.clone();
        let span = ExchangeSpan::new(&parts);
        let work = async move {
            trace::route(&route);
            let mut read = match relay.read(&parts, body.boxed_unsync()).await {
                Ok(read) => read,
                Err(refused) => {
                    replies.log.refused(None);
                    let (head, body) = refused.into_parts();
                    let body = emit::whole(body).await?;
                    return replies.immediate(Response::from_parts(head, body)).await;
                }
            };
            let message = std::mem::replace(&mut read.message, Spool::from_vec(Vec::new()));
            let mut wanted = parts.headers.clone();
            wanted.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            let mutation = headers::mutation(&parts.headers, &wanted);
            replies.headers(Side::Request, Some(mutation)).await?;
            if let Some(ended) = ended {
                // The relay does not read a body that its method does not need.
                let end = ended.await.map_err(|_closed| cancelled())?;
                send_body(&replies, of_spool(message), end).await?;
            }
            _ = sent.send(());
            let (original, response) = arrived.await.map_err(|_closed| cancelled())?;
            let response = response.map(|body| -> ProxyBody { body.boxed_unsync() });
            let filtered = relay.respond(&parts, response, read).await;
            emit::response(&replies, &original, filtered).await
        };
        self.task = Some(Task(tokio::spawn(span.around(work))));
        Ok(())
    }

    /// Returns the idle time after which the exchange fails now: while the request is read and sent, and while the
    /// response is. The time in between is that of the server.
    fn deadline(&self) -> Option<Duration> {
        if self.request_sent.is_some() { Some(self.limit) } else { self.deadline }
    }

    /// Handles a message after the first.
    async fn message(&mut self, message: Message) -> Result<(), Status> {
        match message {
            Message::RequestHeaders(_) => Err(Status::invalid_argument("request headers again")),
            Message::RequestBody(body) => self.request_body(body).await,
            Message::RequestTrailers(trailers) => {
                let trailers = headers::trailers(trailers.trailers.as_ref());
                match std::mem::replace(&mut self.request, RequestSide::Over) {
                    RequestSide::Read(sender, end) => {
                        // The task replies to them after the body. It may have responded already.
                        _ = sender.send(Piece::Trailers(trailers)).await;
                        _ = end.send(RequestEnd::Trailers);
                        Ok(())
                    }
                    _ => self.replies.trailers(Side::Request, None).await,
                }
            }
            Message::ResponseHeaders(head) => self.response_headers(&head).await,
            Message::ResponseBody(body) => {
                let (data, last) = (Bytes::from(body.body), body.end_of_stream);
                if !self.is_filtered {
                    return self.replies.data(Side::Response, data, last).await;
                }
                self.response_is_over |= last;
                self.push(if last { Piece::Last(data) } else { Piece::Data(data) }).await
            }
            Message::ResponseTrailers(trailers) => {
                if !self.is_filtered {
                    return self.replies.trailers(Side::Response, None).await;
                }
                self.response_is_over = true;
                self.push(Piece::Trailers(headers::trailers(trailers.trailers.as_ref()))).await
            }
        }
    }

    async fn request_body(&mut self, body: HttpBody) -> Result<(), Status> {
        let (data, last) = (Bytes::from(body.body), body.end_of_stream);
        let ended = match &self.request {
            RequestSide::Over => return Ok(()),
            RequestSide::Echo if self.modes.request_is_streamed => {
                self.replies.data(Side::Request, data, last).await
            }
            RequestSide::Echo => self.replies.body(Side::Request, None).await,
            RequestSide::Read(sender, _) => {
                let piece = if last { Piece::Last(data) } else { Piece::Data(data) };
                // The task may have responded already.
                _ = sender.send(piece).await;
                Ok(())
            }
        };
        if last
            && let RequestSide::Read(_, end) =
                std::mem::replace(&mut self.request, RequestSide::Over)
        {
            _ = end.send(RequestEnd::Body);
        }
        ended
    }

    async fn response_headers(&mut self, head: &HttpHeaders) -> Result<(), Status> {
        if !self.is_filtered && self.vary.is_empty() {
            return self.replies.headers(Side::Response, None).await;
        }
        let Some(response) = headers::response(head) else {
            return Err(Status::invalid_argument("expected a status"));
        };
        if !self.is_filtered {
            let mut varied = response.headers().clone();
            headers::vary(&mut varied, &self.vary);
            let mutation = headers::mutation(response.headers(), &varied);
            return self.replies.headers(Side::Response, Some(mutation)).await;
        }
        let arriving = self.arriving.take();
        let arriving =
            arriving.ok_or_else(|| Status::invalid_argument("response headers again"))?;
        let original = Original {
            status: response.status(),
            headers: response.headers().clone(),
            is_over: head.end_of_stream,
        };
        let body = if head.end_of_stream {
            self.response_is_over = true;
            PieceBody::empty()
        } else {
            let (sender, body) = PieceBody::channel();
            self.response = Some(sender);
            body.with_panic(hook::panic_after(response.headers()))
        };
        if !is_endless(response.headers()) {
            self.deadline = Some(self.limit);
        }
        let response = response.map(|()| body);
        arriving.send((original, response)).map_err(|_lost| Status::internal("the filter failed"))
    }

    /// Gives a piece to the filter, which may have ended before the body.
    async fn push(&mut self, piece: Piece) -> Result<(), Status> {
        if self.arriving.is_some() {
            // Nothing may be sent of a body whose headers have passed.
            let why = "expected response headers (response_header_mode: SEND)";
            return Err(Status::failed_precondition(why));
        }
        let Some(sender) = &self.response else { return Ok(()) };
        match self.deadline {
            None => _ = sender.send(piece).await,
            Some(limit) => {
                let mut pushed = std::pin::pin!(sender.send(piece));
                loop {
                    let sent = self.replies.sent();
                    match timeout(limit, pushed.as_mut()).await {
                        Ok(_) => break,
                        Err(_) if self.replies.sent() != sent => {}
                        Err(_) => return Err(Status::deadline_exceeded("no progress")),
                    }
                }
            }
        }
        if self.response_is_over {
            self.response = None;
        }
        Ok(())
    }

    /// Ends the exchange after the gateway has ended its side of the stream. Should it still wait for us, an end without
    /// an error would let the rest of the response pass, so the task has to end first.
    async fn over(mut self) -> Result<(), Status> {
        self.finish().await
    }

    /// Returns whether everything was sent before the gateway reset the stream, as Envoy does also after a complete response.
    async fn was_complete(mut self) -> bool {
        // The task may be about to end: its last message was sent.
        matches!(timeout(ENDING, self.finish()).await, Ok(Ok(())))
    }

    /// Waits for the task, which gets no more messages.
    async fn finish(&mut self) -> Result<(), Status> {
        self.response = None;
        self.arriving = None;
        self.request = RequestSide::Over;
        match self.task {
            None => Ok(()),
            Some(_) => task_end(&mut self.task).await,
        }
    }
}

/// Sends the body of a request that was read. Its trailers are not changed.
async fn send_body(replies: &Replies, mut body: ProxyBody, end: RequestEnd) -> Result<(), Status> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_error| Status::internal("the request could not be read"))?;
        if let Ok(data) = frame.into_data() {
            replies.data(Side::Request, data, false).await?;
        }
    }
    match end {
        RequestEnd::Body => replies.data(Side::Request, Bytes::new(), true).await,
        RequestEnd::Trailers => replies.trailers(Side::Request, None).await,
    }
}

/// Returns whether a body may have pauses of any length.
fn is_endless(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.starts_with("text/event-stream") || value.contains("ndjson") || value.contains("jsonl")
}

fn cancelled() -> Status {
    Status::cancelled("the gateway closed the stream")
}

/// Waits until the gateway ends a stream to which everything was sent.
async fn until_end(mut inbound: Streaming<ProcessingRequest>) -> Result<(), Status> {
    // A reset is an end as well.
    while let Ok(Some(_)) = inbound.message().await {}
    Ok(())
}

/// The call of the server that Envoy makes for us.
struct EnvoyCall {
    /// The headers of the request as Envoy has them.
    before: HeaderMap,
    replies: Replies,
    answered: oneshot::Sender<()>,
    arrived: oneshot::Receiver<(Original, Response<PieceBody>)>,
    original: Arc<Mutex<Option<Original>>>,
}

impl EnvoyCall {
    async fn send(self, request: Request<()>) -> Result<Response<PieceBody>, Status> {
        let mut wanted = request.into_parts().0.headers;
        wanted.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mutation = headers::mutation(&self.before, &wanted);
        self.replies.headers(Side::Request, Some(mutation)).await?;
        // The body of the request may follow.
        _ = self.answered.send(());
        let (original, response) = self.arrived.await.map_err(|_closed| cancelled())?;
        *self.original.lock().unwrap_or_else(PoisonError::into_inner) = Some(original);
        Ok(response)
    }
}
