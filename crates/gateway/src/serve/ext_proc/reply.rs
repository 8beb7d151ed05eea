//! Messages to the gateway, and the channel on which they are sent.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use envoy_types::pb::envoy::service::ext_proc::v3::body_mutation::Mutation;
use envoy_types::pb::envoy::service::ext_proc::v3::processing_response::Response as Reply;
use envoy_types::pb::envoy::service::ext_proc::v3::{
    BodyMutation, BodyResponse, CommonResponse, HeaderMutation, HeadersResponse, ImmediateResponse,
    ProcessingResponse, StreamedBodyResponse, TrailersResponse,
};
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use futures_util::Stream;
use http::Response;
use tokio::sync::mpsc;
use tonic::Status;

use super::headers;
use crate::serve::failures::ResponseLog;

/// The most bytes of a piece of a body.
const PIECE: usize = 64 << 10;

/// Messages that wait for the gateway.
const WAITING: usize = 4;

/// One of the two directions of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

/// Sends messages to the gateway.
#[derive(Clone, Debug)]
pub(super) struct Replies {
    sender: mpsc::Sender<Result<ProcessingResponse, Status>>,
    complete: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    pub(super) log: ResponseLog,
}

/// The stream of messages to the gateway.
///
/// A stream that ends with the status OK lets the rest of a response pass unfiltered. So the end is an error unless the
/// exchange was declared [complete](Replies::complete): also if a task panics and its end of the channel is dropped.
#[derive(Debug)]
pub(crate) struct ReplyStream {
    receiver: mpsc::Receiver<Result<ProcessingResponse, Status>>,
    complete: Arc<AtomicBool>,
    is_over: bool,
}

impl Replies {
    pub(super) fn channel(log: ResponseLog) -> (Self, ReplyStream) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let complete = Arc::new(AtomicBool::new(false));
        let stream = ReplyStream { receiver, complete: Arc::clone(&complete), is_over: false };
        (Self { sender, complete, sent: Arc::default(), log }, stream)
    }

    /// Returns how many messages were sent, to see whether there is progress.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Allows the stream to end without an error.
    pub(super) fn complete(&self) {
        self.complete.store(true, Ordering::Release);
    }

    /// Ends the stream with an error.
    pub(super) async fn fail(&self, status: Status) {
        // The gateway may have left.
        _ = self.sender.send(Err(status)).await;
    }

    async fn send(&self, reply: Reply) -> Result<(), Status> {
        let message = ProcessingResponse { response: Some(reply), ..ProcessingResponse::default() };
        let sent = self.sender.send(Ok(message)).await;
        self.sent.fetch_add(1, Ordering::Relaxed);
        sent.map_err(|_closed| Status::cancelled("the gateway closed the stream"))
    }

    pub(super) async fn headers(
        &self,
        side: Side,
        mutation: Option<HeaderMutation>,
    ) -> Result<(), Status> {
        let response = CommonResponse { header_mutation: mutation, ..CommonResponse::default() };
        let response = HeadersResponse { response: Some(response) };
        self.send(match side {
            Side::Request => Reply::RequestHeaders(response),
            Side::Response => Reply::ResponseHeaders(response),
        })
        .await
    }

    /// Sends a body, in pieces.
    pub(super) async fn data(&self, side: Side, mut data: Bytes, last: bool) -> Result<(), Status> {
        loop {
            let piece = data.split_to(data.len().min(PIECE));
            let is_last = data.is_empty();
            let streamed = StreamedBodyResponse {
                body: piece.into(),
                end_of_stream: last && is_last,
                ..StreamedBodyResponse::default()
            };
            let mutation = Some(Mutation::StreamedResponse(streamed));
            self.body(side, Some(BodyMutation { mutation })).await?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Responds to a message with a body.
    pub(super) async fn body(
        &self,
        side: Side,
        body_mutation: Option<BodyMutation>,
    ) -> Result<(), Status> {
        let response = CommonResponse { body_mutation, ..CommonResponse::default() };
        let response = BodyResponse { response: Some(response) };
        self.send(match side {
            Side::Request => Reply::RequestBody(response),
            Side::Response => Reply::ResponseBody(response),
        })
        .await
    }

    pub(super) async fn trailers(
        &self,
        side: Side,
        mutation: Option<HeaderMutation>,
    ) -> Result<(), Status> {
        let response = TrailersResponse { header_mutation: mutation };
        self.send(match side {
            Side::Request => Reply::RequestTrailers(response),
            Side::Response => Reply::ResponseTrailers(response),
        })
        .await
    }

    /// Sends a response to the client, instead of one of the server.
    pub(super) async fn immediate(&self, response: Response<Bytes>) -> Result<(), Status> {
        let (parts, body) = response.into_parts();
        self.log.status(parts.status);
        let mutation = headers::mutation(&http::HeaderMap::new(), &parts.headers);
        self.send(Reply::ImmediateResponse(ImmediateResponse {
            status: Some(HttpStatus { code: i32::from(parts.status.as_u16()) }),
            headers: Some(mutation),
            body: body.into(),
            ..ImmediateResponse::default()
        }))
        .await
    }
}

impl Stream for ReplyStream {
    type Item = Result<ProcessingResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let next = std::task::ready!(self.receiver.poll_recv(cx));
        self.is_over = !matches!(next, Some(Ok(_)));
        if next.is_none() && !self.complete.load(Ordering::Acquire) {
            return Poll::Ready(Some(Err(Status::internal("the filter failed"))));
        }
        Poll::Ready(next)
    }
}
