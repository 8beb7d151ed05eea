//! Sends a filtered response to the gateway.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, SizeHint};
use tonic::Status;

use super::headers;
use super::reply::{Replies, Side};

/// The most bytes of a response that is sent instead of one of the server.
const WHOLE: usize = 1 << 20;

/// The response of the server, as the gateway has it.
#[derive(Debug)]
pub(super) struct Original {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// The headers were the end: the gateway expects no body.
    pub(super) is_over: bool,
}

/// Sends a response in place of the original.
pub(super) async fn response<B>(
    replies: &Replies,
    original: &Original,
    response: Response<B>,
) -> Result<(), Status>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let (parts, body) = response.into_parts();
    let mut body = std::pin::pin!(body);
    if is_replaced(original, parts.status, &body.size_hint()) {
        let body = whole(body).await?;
        return replies.immediate(Response::from_parts(parts, body)).await;
    }
    if original.is_over && !body.is_end_stream() {
        let body = whole(body).await?;
        if !body.is_empty() {
            return replies.immediate(Response::from_parts(parts, body)).await;
        }
        return send_headers(replies, original, parts.status, &parts.headers).await;
    }
    send_headers(replies, original, parts.status, &parts.headers).await?;
    if original.is_over {
        return Ok(());
    }
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let frame = frame.map_err(|error| {
            // The headers were sent.
            replies.log.cut_off(&error.to_string());
            failed()
        })?;
        match frame.into_data() {
            Ok(data) => {
                let last = body.is_end_stream();
                if !data.is_empty() || last {
                    replies.data(Side::Response, data, last).await?;
                }
                if last {
                    return Ok(());
                }
            }
            Err(frame) => {
                // The gateway waits for a response to the trailers, which are the end.
                let new = frame.into_trailers().unwrap_or_default();
                return replies.trailers(Side::Response, Some(kept_trailers(&new))).await;
            }
        }
    }
    replies.data(Side::Response, Bytes::new(), true).await
}

/// Returns whether a response of our own is sent, instead of a filtered one. The gateway then has to forget that of the
/// server: it keeps headers such as `upgrade`, which a change of headers cannot remove.
fn is_replaced(original: &Original, status: StatusCode, size: &SizeHint) -> bool {
    status != original.status && size.exact().is_some_and(|size| size <= WHOLE as u64)
}

/// Returns the change that removes trailers with digests of the unfiltered body.
fn kept_trailers(
    kept: &HeaderMap,
) -> envoy_types::pb::envoy::service::ext_proc::v3::HeaderMutation {
    let digests = ["content-digest", "content-md5", "digest", "repr-digest"];
    let removed = digests.iter().filter(|name| !kept.contains_key(**name));
    envoy_types::pb::envoy::service::ext_proc::v3::HeaderMutation {
        remove_headers: removed.map(|name| (*name).to_owned()).collect(),
        ..Default::default()
    }
}

async fn send_headers(
    replies: &Replies,
    original: &Original,
    status: StatusCode,
    new: &HeaderMap,
) -> Result<(), Status> {
    replies.log.status(status);
    let mut mutation = headers::mutation(&original.headers, new);
    if status != original.status {
        headers::set_status(&mut mutation, status);
    }
    replies.headers(Side::Response, Some(mutation)).await
}

/// Collects a response that is sent instead of one of the server.
pub(super) async fn whole<B>(body: B) -> Result<Bytes, Status>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut body = std::pin::pin!(body);
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_error| failed())?.into_data() else { continue };
        if all.len() + data.len() > WHOLE {
            return Err(failed());
        }
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

/// The status that makes a gateway reset the response. It has no details of the body.
fn failed() -> Status {
    Status::internal("the response could not be filtered")
}
