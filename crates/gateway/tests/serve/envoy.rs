//! A client that plays Envoy's part: one stream of `ext_proc` for each request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue};
use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::processing_mode::BodySendMode;
use envoy_types::pb::envoy::service::ext_proc::v3::body_mutation::Mutation;
use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_client::ExternalProcessorClient;
use envoy_types::pb::envoy::service::ext_proc::v3::processing_request::Request as Message;
use envoy_types::pb::envoy::service::ext_proc::v3::processing_response::Response as Reply;
use envoy_types::pb::envoy::service::ext_proc::v3::{
    HeaderMutation, HttpBody, HttpHeaders, HttpTrailers, ProcessingRequest, ProcessingResponse,
    ProtocolConfiguration,
};
use futures_util::Stream;
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::transport::Channel;
use tonic::{Status, Streaming};
use tower::util::MapRequest;

/// Longer than any test may wait for one message.
const LONG: Duration = Duration::from_secs(20);

/// One stream.
pub(crate) struct Exchange {
    sender: Option<mpsc::Sender<ProcessingRequest>>,
    replies: Streaming<ProcessingResponse>,
    /// Whether the stream ends with a reset.
    resets: Arc<AtomicBool>,
}

/// The messages to the server. Their end is a reset with the code `INTERNAL_ERROR` if the flag is set.
struct MaybeReset {
    body: Body,
    resets: Arc<AtomicBool>,
}

impl http_body::Body for MaybeReset {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() && self.resets.load(Ordering::Acquire) {
            return Poll::Ready(Some(Err(Status::internal("reset"))));
        }
        Poll::Ready(frame)
    }
}

/// The response that a client would get.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Received {
    pub(crate) status: Option<String>,
    pub(crate) set: Vec<(String, String)>,
    pub(crate) removed: Vec<String>,
    pub(crate) body: String,
    pub(crate) ended: bool,
    pub(crate) trailers: bool,
    /// The response came from the server itself.
    pub(crate) immediate: bool,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.set.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn map(headers: &[(&str, &str)]) -> Option<HeaderMap> {
    let header = |(key, value): &(&str, &str)| HeaderValue {
        key: (*key).to_owned(),
        raw_value: value.as_bytes().to_vec(),
        ..HeaderValue::default()
    };
    Some(HeaderMap { headers: headers.iter().map(header).collect() })
}

fn messages(
    receiver: mpsc::Receiver<ProcessingRequest>,
) -> impl Stream<Item = ProcessingRequest> + Send {
    futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|message| (message, receiver))
    })
}

impl Exchange {
    /// Begins a stream with the headers of a request.
    pub(crate) async fn begin(
        channel: &Channel,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        over: bool,
    ) -> Self {
        let all = [&[(":method", method), (":path", path), (":scheme", "http")], headers].concat();
        let message = HttpHeaders { headers: map(&all), end_of_stream: over, ..Default::default() };
        Self::begin_with(channel, Message::RequestHeaders(message)).await
    }

    /// Begins a stream of a gateway that sends the bodies of responses in this mode.
    pub(crate) async fn begin_in_mode(channel: &Channel, mode: BodySendMode) -> Self {
        let all = [(":method", "GET"), (":path", "/users"), (":scheme", "http")];
        let asked = HttpHeaders { headers: map(&all), end_of_stream: true, ..Default::default() };
        let config =
            ProtocolConfiguration { response_body_mode: mode.into(), ..Default::default() };
        Self::begin_of(
            channel,
            ProcessingRequest {
                request: Some(Message::RequestHeaders(asked)),
                protocol_config: Some(config),
                ..Default::default()
            },
        )
        .await
    }

    /// Begins a stream with the headers of a response, as for one that Envoy makes itself.
    pub(crate) async fn begin_at_response(channel: &Channel, headers: &[(&str, &str)]) -> Self {
        let message = HttpHeaders { headers: map(headers), ..Default::default() };
        Self::begin_with(channel, Message::ResponseHeaders(message)).await
    }

    async fn begin_with(channel: &Channel, message: Message) -> Self {
        let message = ProcessingRequest { request: Some(message), ..Default::default() };
        Self::begin_of(channel, message).await
    }

    async fn begin_of(channel: &Channel, message: ProcessingRequest) -> Self {
        let (sender, receiver) = mpsc::channel(64);
        _ = sender.send(message).await;
        let resets = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&resets);
        let resetting = MapRequest::new(channel.clone(), move |request: http::Request<Body>| {
            request.map(|body| Body::new(MaybeReset { body, resets: Arc::clone(&flag) }))
        });
        let mut client = ExternalProcessorClient::new(resetting);
        let replies = client.process(messages(receiver)).await.unwrap().into_inner();
        Self { sender: Some(sender), replies, resets }
    }

    async fn send(&self, message: Message) {
        let message = ProcessingRequest { request: Some(message), ..Default::default() };
        _ = self.sender.as_ref().unwrap().send(message).await;
    }

    pub(crate) async fn request_body(&self, body: &str, over: bool) {
        let body = HttpBody { body: body.into(), end_of_stream: over, ..Default::default() };
        self.send(Message::RequestBody(body)).await;
    }

    pub(crate) async fn response(&self, headers: &[(&str, &str)], over: bool) {
        let headers =
            HttpHeaders { headers: map(headers), end_of_stream: over, ..Default::default() };
        self.send(Message::ResponseHeaders(headers)).await;
    }

    pub(crate) async fn body(&self, body: impl Into<Vec<u8>>, over: bool) {
        let body = HttpBody { body: body.into(), end_of_stream: over, ..Default::default() };
        self.send(Message::ResponseBody(body)).await;
    }

    pub(crate) async fn trailers(&self, headers: &[(&str, &str)]) {
        self.send(Message::ResponseTrailers(HttpTrailers { trailers: map(headers) })).await;
    }

    pub(crate) async fn request_trailers(&self, headers: &[(&str, &str)]) {
        self.send(Message::RequestTrailers(HttpTrailers { trailers: map(headers) })).await;
    }

    /// Ends the stream, as Envoy does after a response or when a client is gone.
    pub(crate) fn end(&mut self) {
        self.sender = None;
    }

    /// Ends the stream with a reset, as Envoy 1.40 does also after a complete response.
    pub(crate) fn reset(&mut self) {
        self.resets.store(true, Ordering::Release);
        self.sender = None;
    }

    /// Waits for the next message. `None` at the end of the stream.
    pub(crate) async fn reply(&mut self) -> Result<Option<Reply>, Status> {
        let message = timeout(LONG, self.replies.message()).await.expect("a reply in time")?;
        Ok(message.and_then(|message| message.response))
    }

    /// Waits for the reply to the headers of the request, and returns its changes.
    pub(crate) async fn request_headers(&mut self) -> Received {
        let mut received = Received::default();
        match self.reply().await.unwrap() {
            Some(Reply::RequestHeaders(reply)) => {
                received.change(reply.response.and_then(|common| common.header_mutation));
            }
            other => panic!("expected a reply to the headers of the request: {other:?}"),
        }
        received
    }

    /// Collects the body of the request as it would be sent to the server.
    pub(crate) async fn sent_body(&mut self) -> String {
        let mut all = Vec::new();
        loop {
            let Some(Reply::RequestBody(reply)) = self.reply().await.unwrap() else { panic!() };
            let Some(Mutation::StreamedResponse(piece)) =
                reply.response.unwrap().body_mutation.unwrap().mutation
            else {
                panic!()
            };
            all.extend(piece.body);
            if piece.end_of_stream {
                return String::from_utf8(all).unwrap();
            }
        }
    }

    /// Collects the body of the request, which ends with the reply to its trailers.
    pub(crate) async fn sent_body_before_trailers(&mut self) -> String {
        let mut all = Vec::new();
        loop {
            match self.reply().await.unwrap() {
                Some(Reply::RequestBody(reply)) => {
                    let mutation = reply.response.unwrap().body_mutation.unwrap().mutation;
                    let Some(Mutation::StreamedResponse(piece)) = mutation else { panic!() };
                    assert!(!piece.end_of_stream);
                    all.extend(piece.body);
                }
                Some(Reply::RequestTrailers(_)) => return String::from_utf8(all).unwrap(),
                other => panic!("expected the body of the request: {other:?}"),
            }
        }
    }

    /// Collects the response until its end. An error is that of the stream.
    pub(crate) async fn received(&mut self) -> Result<Received, Status> {
        let mut received = Received::default();
        let mut all = Vec::new();
        while !(received.ended || received.trailers) {
            match self.reply().await? {
                Some(Reply::ResponseHeaders(reply)) => {
                    received.change(reply.response.and_then(|common| common.header_mutation));
                }
                Some(Reply::ResponseBody(reply)) => {
                    let mutation = reply.response.unwrap().body_mutation.unwrap().mutation;
                    let Some(Mutation::StreamedResponse(piece)) = mutation else { panic!() };
                    assert!(piece.body.len() <= 64 << 10);
                    all.extend(piece.body);
                    received.ended = piece.end_of_stream;
                }
                Some(Reply::ResponseTrailers(_)) => received.trailers = true,
                Some(Reply::ImmediateResponse(reply)) => {
                    received.status = reply.status.map(|status| status.code.to_string());
                    received.change(reply.headers);
                    all.extend(reply.body);
                    received.immediate = true;
                    received.ended = true;
                }
                other => panic!("unexpected {other:?}"),
            }
        }
        received.body = String::from_utf8(all).unwrap();
        Ok(received)
    }
}

impl Received {
    fn change(&mut self, mutation: Option<HeaderMutation>) {
        let Some(mutation) = mutation else { return };
        self.removed.extend(mutation.remove_headers);
        for header in mutation.set_headers.into_iter().filter_map(|option| option.header) {
            let value = String::from_utf8(header.raw_value).unwrap();
            if header.key == ":status" {
                self.status = Some(value);
            } else {
                self.set.push((header.key, value));
            }
        }
    }
}
