//! A layer for services that answer over HTTP: it filters the answers.
//!
//! Knows tower's services, and when a head may be sent; what the head says is [`head`]'s, the body's
//! [`FilterBody`](super::FilterBody)'s to know. Invariants: an answer for which there is a filter never leaves unfiltered; until the first
//! byte of output is there a failure becomes another answer, behind it the body ends in an error.

mod future;
mod head;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header, request, response};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::body::FilterBody;
#[cfg(feature = "decode")]
use super::decode::DecodeOptions;
use super::transform::Transform;
use crate::error::{Error, Fault};
pub use future::FilterFuture;

/// Filters the answers of a service: a [`Layer`] of tower.
///
/// A function is asked with the heads of request and answer for the [`Transform`] that the answer goes through; `None` leaves it
/// untouched. [`Transform::for_media_type`] takes the one for JSON, lines of JSON, or events by the answer's `Content-Type`;
/// where that says nothing of the kind, [`Transform::json`] reads it as a document, or refuses it: nothing passes by its name alone.
///
/// # The head
/// Of a filtered answer `Content-Length` is that of the output if that is known when the head leaves and no trailers follow, else
/// gone, as is `Transfer-Encoding`; a strong `ETag` becomes a weak one (RFC 9110 §8.8.1), so that `If-None-Match` still works; `Accept-Ranges` and
/// digests of the body (RFC 9530, RFC 3230) go; `Content-Type` changes where the output is of another type. So do the heads of answers
/// that have no body (to `HEAD`, 204, 205, 304); if there is one in spite of that, it is dropped. An answer that cannot be filtered is
/// refused: a part of one (206), one with a `Content-Encoding` that is not to be [decoded](Self::decode), and one behind
/// which the connection is another protocol's (101, 2xx to `CONNECT`): for these the function has to say `None`.
///
/// # What a filter lets pass
/// A select that finds nothing lets a document pass as it came, unless the spec says otherwise
/// ([`OnError::Closed`](crate::OnError::Closed)): answers that are errors are of another shape than those that the select is for.
///
/// # Failures
/// The head waits for the first byte of output, and until then what fails becomes an answer of its own:
/// 502 for a document that is malformed, or too large for the [`Limits`](crate::Limits), 500 else, and a body that says no more than
/// that; [`on_error`](Self::on_error) makes another of it. Behind the first byte the body ends in an error: the receiver can tell, and the
/// connection is not used again. The heads of [lines](Transform::ndjson) and [events](Transform::events) do not wait
/// (unless the filter makes text, which lines refuse). An answer whose body is empty is no document, and passes.
///
/// Costs: the request's head is cloned, for the function is asked when the answer is there.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::{BodyExt, Full};
/// use tamis::{CallOptions, FilterLayer, Program, Spec, Transform};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let layer = FilterLayer::new(move |request, answer| {
///     if !request.uri.path().starts_with("/repos") {
///         return None;
///     }
///     let media_type = answer.headers.get("content-type").and_then(|it| it.to_str().ok());
///     let told = Transform::for_media_type(media_type.unwrap_or_default(), &program);
///     // What does not say that it is lines or events is read as a document, and refused if it is none.
///     Some(told.unwrap_or_else(|| Transform::json(&program)))
/// });
/// let service = ServiceBuilder::new().layer(layer).service_fn(async |_: Request<()>| {
///     let answer = Response::builder().header("content-type", "application/json").header("etag", "\"a\"");
///     answer.body(Full::<Bytes>::from(r#"[{"id": 1, "name": "x"}]"#))
/// });
/// let answer = service.oneshot(Request::get("/repos").body(())?).await?;
/// assert_eq!(answer.headers()["etag"], "W/\"a\"");
/// assert_eq!(answer.headers()["content-length"], "10");
/// assert_eq!(answer.into_body().collect().await?.to_bytes(), r#"[{"id":1}]"#);
/// # Ok(())
/// # }
/// ```
pub struct FilterLayer<F> {
    rules: Arc<Rules<F>>,
}

/// What applies to all answers.
struct Rules<F> {
    choose: Arc<F>,
    answer: Answer,
    #[cfg(feature = "decode")]
    decoding: Option<DecodeOptions>,
}

/// The answer in place of one that could not be filtered; `None`: the usual one.
type Answer = Arc<dyn Fn(&request::Parts, &Error) -> Option<Response<Bytes>> + Send + Sync>;

impl<F> FilterLayer<F>
where
    F: Fn(&request::Parts, &response::Parts) -> Option<Transform>,
{
    /// A layer that asks `choose` for the filter of each answer.
    pub fn new(choose: F) -> Self {
        let answer = Arc::new(|_: &request::Parts, _: &Error| None);
        Self {
            rules: Arc::new(Rules {
                choose: Arc::new(choose),
                answer,
                #[cfg(feature = "decode")]
                decoding: None,
            }),
        }
    }

    /// Decodes answers with a `Content-Encoding` of gzip, br or zstd before they are filtered; they leave as they are then,
    /// unencoded. Without this they are refused.
    #[cfg(feature = "decode")]
    #[must_use]
    pub fn decode(self, decoding: DecodeOptions) -> Self {
        self.with(|rules| rules.decoding = Some(decoding))
    }

    /// Makes the answer in place of one that could not be filtered, by the request's head and the error; its
    /// [`fault`](Error::fault) says whose it is, and [`Fault::status`] gives the usual status. `None`: the usual answer, where the
    /// error is to be known and no more. An error names the place of what is wrong: what is kept from the receiver should not
    /// leave by that.
    #[must_use]
    pub fn on_error(
        self,
        answer: impl Fn(&request::Parts, &Error) -> Option<Response<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        self.with(|rules| rules.answer = Arc::new(answer))
    }

    fn with(mut self, change: impl FnOnce(&mut Rules<F>)) -> Self {
        // Of a layer that was cloned the others stay as they are.
        change(Arc::make_mut(&mut self.rules));
        self
    }
}

impl<F> Clone for Rules<F> {
    fn clone(&self) -> Self {
        Self {
            choose: Arc::clone(&self.choose),
            answer: Arc::clone(&self.answer),
            #[cfg(feature = "decode")]
            decoding: self.decoding.clone(),
        }
    }
}

impl Fault {
    /// The status of an answer that a gateway gives in place of one that it could not filter: 502 (Bad Gateway) if the sender of the
    /// document is at fault, or the document is larger or deeper than allowed; 500 (Internal Server Error) else. From RFC 9110
    /// §15.6.
    ///
    /// ```
    /// assert_eq!(tamis::Fault::Input.status(), 502);
    /// assert_eq!(tamis::Fault::Spec.status(), 500);
    /// ```
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Input | Self::Limit => StatusCode::BAD_GATEWAY,
            Self::Spec | Self::Sink | Self::Caller | Self::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// What is told of an error where nothing else is said: not where it is, for that names what is to be kept away.
fn refusal(error: &Error) -> Response<Bytes> {
    let kind = error.kind().as_str();
    let text = format!(r#"{{"error":"the answer could not be filtered","kind":"{kind}"}}"#);
    let mut answer = Response::new(Bytes::from(text));
    *answer.status_mut() = error.fault().status();
    let json = header::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

impl<F> Clone for FilterLayer<F> {
    fn clone(&self) -> Self {
        Self { rules: Arc::clone(&self.rules) }
    }
}

impl<F> fmt::Debug for FilterLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterLayer").finish_non_exhaustive()
    }
}

impl<F, S> Layer<S> for FilterLayer<F> {
    type Service = FilterService<F, S>;

    fn layer(&self, inner: S) -> Self::Service {
        FilterService { rules: Arc::clone(&self.rules), inner }
    }
}

/// A service whose answers are filtered: what [`FilterLayer`] makes of one.
///
/// Where its future is spawned as a part of another, a body whose error is `Box<dyn Error + Send + Sync>` itself may not compile
/// ("implementation of `From` is not general enough", a limit of the compiler's); any error type of its own does.
pub struct FilterService<F, S> {
    rules: Arc<Rules<F>>,
    inner: S,
}

impl<F, S: Clone> Clone for FilterService<F, S> {
    fn clone(&self) -> Self {
        Self { rules: Arc::clone(&self.rules), inner: self.inner.clone() }
    }
}

impl<F, S: fmt::Debug> fmt::Debug for FilterService<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterService").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<F, S, A, B> Service<Request<A>> for FilterService<F, S>
where
    F: Fn(&request::Parts, &response::Parts) -> Option<Transform>,
    S: Service<Request<A>, Response = Response<B>>,
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = Response<FilterBody<B>>;
    type Error = S::Error;
    type Future = FilterFuture<F, S::Future, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (head, body) = request.into_parts();
        let asked = head.clone();
        let answer = self.inner.call(Request::from_parts(head, body));
        FilterFuture::new(Arc::clone(&self.rules), asked, answer)
    }
}
