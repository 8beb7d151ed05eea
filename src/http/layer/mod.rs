//! A tower layer that filters the responses of HTTP services.
//!
//! This module handles tower services, and decides when headers may be sent. [`head`] changes the headers,
//! [`FilterBody`](super::FilterBody) filters the body. Invariants: a response for which there is a filter is never
//! forwarded unfiltered. A failure before the first byte of output becomes another response; after it, the body ends in
//! an error.

mod choice;
mod future;
mod head;
#[cfg(not(feature = "tracing"))]
mod no_trace;
#[cfg(feature = "tracing")]
mod trace;
mod version;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, header, request, response};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::body::FilterBody;
use super::decode::DecodeOptions;
use super::transform::Transform;
pub use choice::Choice;
pub use future::FilterFuture;
#[cfg(not(feature = "tracing"))]
use no_trace as trace;
use tamis_json::error::Error;
use version::RulesVersion;

/// A tower [`Layer`] that filters the responses of a service.
///
/// A function chooses the [`Transform`] for each response by the headers of request and response; `None` forwards the
/// response unfiltered. [`Transform::for_media_type`] chooses one for JSON, newline-delimited JSON or events by the
/// `Content-Type`. For other types, [`Transform::json`] reads the body as a document and rejects it if it is not one,
/// so that nothing passes by its type only.
///
/// # Headers
/// In filtered responses
///
/// - `Content-Length` is that of the output if it is known before the headers are sent and there are no trailers;
///   otherwise it is removed, as is `Transfer-Encoding`;
/// - a strong `ETag` becomes a weak one (RFC 9110 §8.8.1), so that `If-None-Match` still works;
/// - `Accept-Ranges` and digests of the body (RFC 9530, RFC 3230) are removed;
/// - `Content-Type` changes if the output is of another type.
///
/// The same applies to responses without a body (to `HEAD`, 204, 205, 304). If such a response has one nevertheless, it
/// is dropped.
///
/// Responses that cannot be filtered are rejected: partial ones (206), those with a `Content-Encoding` that is not to be
/// [decoded](Self::with_decoding), and those that switch to another protocol (101, 2xx to `CONNECT`). To forward them, the function has to
/// return `None`. [`deciding`](Self::deciding) takes a function that names what happens to every response instead.
///
/// # Unfiltered content
/// If `select` finds nothing, the document is forwarded as it is, unless the spec has
/// [`OnError::Closed`](crate::spec::OnError::Closed): error responses have another shape than those that the rules are written for.
///
/// # Failures
/// The headers are sent with the first byte of output. A failure before that becomes a response of its own: 502 for a document that
/// is malformed or exceeds the [`Limits`](crate::Limits), 500 for anything else, with a body that contains no details.
/// [`with_on_error`](Self::with_on_error) replaces that response. After the first byte, a failure ends the body with an error, which the
/// receiver can detect; the connection is then closed. For [lines](Transform::ndjson) and [events](Transform::events) the headers are
/// sent at once (unless the output of the program is text, which lines reject). An empty body is forwarded.
///
/// Cost: the headers of the request are cloned, because the function is called when the response has arrived.
///
/// # Tracing
/// With the feature `tracing`, each filtered response has a span `filter_response` of the target `tamis::http`, from the
/// choice of the filter to the end of the body. It ends with an event: `response filtered` (debug) or `response not
/// filtered` (warn) with the kind of the error. `response refused` (debug) records [`Choice::Refuse`]. Fields are the
/// method, the status and sizes, never data.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::{BodyExt, Full};
/// use tamis::http::{FilterLayer, Transform};
/// use tamis::{Program, Spec};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let layer = FilterLayer::new(move |request, response| {
///     if !request.uri.path().starts_with("/repos") {
///         return None;
///     }
///     let media_type = response.headers.get("content-type").and_then(|it| it.to_str().ok());
///     let transform = Transform::for_media_type(media_type.unwrap_or_default(), &program);
///     // Any other type is read as a document, and rejected if it is not one.
///     Some(transform.unwrap_or_else(|| Transform::json(&program)))
/// });
/// let service = ServiceBuilder::new().layer(layer).service_fn(async |_: Request<()>| {
///     let response = Response::builder().header("content-type", "application/json").header("etag", "\"a\"");
///     response.body(Full::<Bytes>::from(r#"[{"id": 1, "name": "x"}]"#))
/// });
/// let response = service.oneshot(Request::get("/repos").body(())?).await?;
/// assert_eq!(response.headers()["etag"], "W/\"a\"");
/// assert_eq!(response.headers()["content-length"], "10");
/// assert_eq!(response.into_body().collect().await?.to_bytes(), r#"[{"id":1}]"#);
/// # Ok(())
/// # }
/// ```
pub struct FilterLayer<F> {
    rules: Arc<LayerRules<F>>,
}

/// The configuration of a layer.
struct LayerRules<F> {
    choose: Arc<F>,
    answer: ErrorResponder,
    decoding: Option<DecodeOptions>,
    version: Option<RulesVersion>,
    vary: Vec<HeaderName>,
}

/// Creates the response that replaces one that could not be filtered; `None` for the default response.
type ErrorResponder = Arc<dyn Fn(&request::Parts, &Error) -> Option<Response<Bytes>> + Send + Sync>;

impl<F> FilterLayer<F>
where
    F: Fn(&request::Parts, &response::Parts) -> Option<Transform>,
{
    /// Creates a layer that calls `choose` for the filter of each response.
    pub fn new(choose: F) -> Self {
        Self::of(choose)
    }
}

impl<F> FilterLayer<F>
where
    F: Fn(&request::Parts, &response::Parts) -> Choice,
{
    /// Creates a layer that calls `choose` for each response. The function must name a [`Choice`] for every response, so
    /// that none is forwarded unfiltered because nobody thought of it.
    ///
    /// ```
    /// use http::StatusCode;
    /// use tamis::http::{Choice, FilterLayer, Transform};
    /// use tamis::{Program, Spec};
    ///
    /// let program = Program::compile(&Spec::new().exclude("ssn"))?;
    /// let layer = FilterLayer::deciding(move |request, _| match request.uri.path() {
    ///     "/health" => Choice::Pass,
    ///     path if path.starts_with("/users") => Transform::json(&program).into(),
    ///     _ => Choice::Refuse(StatusCode::FORBIDDEN),
    /// });
    /// # _ = layer;
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn deciding(choose: F) -> Self {
        Self::of(choose)
    }
}

impl<F> FilterLayer<F> {
    fn of(choose: F) -> Self {
        let answer = Arc::new(|_: &request::Parts, _: &Error| None);
        Self {
            rules: Arc::new(LayerRules {
                choose: Arc::new(choose),
                answer,
                decoding: None,
                version: None,
                vary: Vec::new(),
            }),
        }
    }

    /// Sets the version of the rules, such as a hash of their file. Responses that were cached under other rules are not
    /// valid any more.
    ///
    /// An `ETag` then contains the version (a strong one becomes weak), and `Last-Modified` is removed. In requests, tags
    /// of other versions are removed from `If-None-Match`, as are `If-Modified-Since`, `If-Range` and `Range`. Without
    /// this, a service may respond "not modified" although the rules have changed.
    #[must_use]
    pub fn with_version(self, version: &str) -> Self {
        self.with(|rules| rules.version = Some(RulesVersion::new(version)))
    }

    /// Adds the request headers that the choice depends on to `Vary` of all responses, so that a cache does not send the
    /// response to one tenant to another. Responses that are forwarded unfiltered have it as well.
    #[must_use]
    pub fn with_vary(self, names: impl IntoIterator<Item = HeaderName>) -> Self {
        self.with(|rules| rules.vary.extend(names))
    }

    /// Decodes responses with a `Content-Encoding` of gzip, br or zstd before they are filtered, and forwards them
    /// unencoded. Without this they are rejected.
    #[cfg(feature = "decode")]
    #[must_use]
    pub fn with_decoding(self, decoding: DecodeOptions) -> Self {
        self.with(|rules| rules.decoding = Some(decoding))
    }

    /// Sets the function that creates the response if one could not be filtered, from the request's headers and the
    /// error.
    ///
    /// [`Fault::status`](crate::Fault::status) returns the default status for an error's [`fault`](Error::fault). `None` stands for the
    /// default response, for a function that only logs the error.
    ///
    /// ### Caveat
    /// Error messages contain JSON paths. Do not forward them to clients that must not see those fields.
    #[must_use]
    pub fn with_on_error(
        self,
        answer: impl Fn(&request::Parts, &Error) -> Option<Response<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        self.with(|rules| rules.answer = Arc::new(answer))
    }

    fn with(mut self, change: impl FnOnce(&mut LayerRules<F>)) -> Self {
        // Clones of the layer are not changed.
        change(Arc::make_mut(&mut self.rules));
        self
    }
}

impl<F> Clone for LayerRules<F> {
    fn clone(&self) -> Self {
        Self {
            choose: Arc::clone(&self.choose),
            answer: Arc::clone(&self.answer),
            decoding: self.decoding.clone(),
            version: self.version.clone(),
            vary: self.vary.clone(),
        }
    }
}

/// Returns the response for [`Choice::Refuse`].
fn refused_by_choice(status: StatusCode) -> Response<Bytes> {
    let text = r#"{"error":"the response is refused","kind":"refused"}"#;
    json_of(status, Bytes::from_static(text.as_bytes()))
}

/// Returns the default response for an error. It does not contain the place of the error, which names fields that may
/// be removed.
fn refusal(error: &Error) -> Response<Bytes> {
    let kind = error.kind().as_str();
    let text = format!(r#"{{"error":"the response could not be filtered","kind":"{kind}"}}"#);
    let status = StatusCode::from_u16(error.fault().status());
    json_of(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), Bytes::from(text))
}

fn json_of(status: StatusCode, text: Bytes) -> Response<Bytes> {
    let mut answer = Response::new(text);
    *answer.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
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

/// A service with filtered responses, created by [`FilterLayer`].
///
/// If its future is spawned as a part of another, a body whose error is `Box<dyn Error + Send + Sync>` itself may not
/// compile ("implementation of `From` is not general enough", a limitation of the compiler). Any error type of its own
/// does.
pub struct FilterService<F, S> {
    rules: Arc<LayerRules<F>>,
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

impl<F, C, S, A, B> Service<Request<A>> for FilterService<F, S>
where
    F: Fn(&request::Parts, &response::Parts) -> C,
    C: Into<Choice>,
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
        let (mut head, body) = request.into_parts();
        let asked = head.clone();
        if let Some(version) = &self.rules.version {
            version.asked(&asked.method, &mut head.headers);
        }
        let answer = self.inner.call(Request::from_parts(head, body));
        FilterFuture::new(Arc::clone(&self.rules), asked, answer)
    }
}
