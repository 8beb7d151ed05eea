//! The response of a filtered service: waits for the inner response, then for its first output.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Response, StatusCode, header, request, response};
use http_body::Body;
use pin_project_lite::pin_project;

use super::{LayerRules, head, refusal};
use crate::error::{Error, ErrorKind};
use crate::io::body::FilterBody;
#[cfg(feature = "decode")]
use crate::io::decode::ContentCoding;
use crate::io::transform::Transform;

pin_project! {
    /// The future of a [`FilterService`](super::FilterService).
    pub struct FilterFuture<F, T, B> {
        rules: Arc<LayerRules<F>>,
        asked: request::Parts,
        #[pin]
        state: State<T, B>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<T, B> {
        Calling {
            #[pin]
            answer: T,
        },
        // Waits for the first output.
        Waiting {
            answer: Option<Response<FilterBody<B>>>,
        },
    }
}

impl<F, T, B> FilterFuture<F, T, B> {
    pub(super) fn new(rules: Arc<LayerRules<F>>, asked: request::Parts, answer: T) -> Self {
        Self { rules, asked, state: State::Calling { answer } }
    }
}

impl<F, T, B> std::fmt::Debug for FilterFuture<F, T, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FilterFuture").finish_non_exhaustive()
    }
}

impl<F, T, B, E> Future for FilterFuture<F, T, B>
where
    F: Fn(&request::Parts, &response::Parts) -> Option<Transform>,
    T: Future<Output = Result<Response<B>, E>>,
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Output = Result<Response<FilterBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProjection::Calling { answer } => {
                    let (head, body) = ready!(answer.poll(cx))?.into_parts();
                    match filtered(this.rules, this.asked, head, body) {
                        (answer, false) => return Poll::Ready(Ok(answer)),
                        (answer, true) => this.state.set(State::Waiting { answer: Some(answer) }),
                    }
                }
                StateProjection::Waiting { answer: waiting } => {
                    let Some(mut answer) = waiting.take() else {
                        // A future must not be polled after its end.
                        return Poll::Pending;
                    };
                    let first = match answer.body_mut().poll_first(cx) {
                        Poll::Ready(first) => first,
                        Poll::Pending => {
                            *waiting = Some(answer);
                            return Poll::Pending;
                        }
                    };
                    return Poll::Ready(Ok(match first {
                        Err(error) => refused(this.rules, this.asked, &error),
                        Ok(()) => {
                            let length = answer.body().size_hint().exact();
                            head::set_length(answer.headers_mut(), length);
                            answer
                        }
                    }));
                }
            }
        }
    }
}

/// Returns the filtered response, and whether to wait for its first output.
fn filtered<F, B>(
    rules: &LayerRules<F>,
    asked: &request::Parts,
    mut head: response::Parts,
    body: B,
) -> (Response<FilterBody<B>>, bool)
where
    F: Fn(&request::Parts, &response::Parts) -> Option<Transform>,
    B: Body,
{
    let Some(mut transform) = (rules.choose)(asked, &head) else {
        return (Response::from_parts(head, FilterBody::untouched(body)), false);
    };
    if head::is_tunnel(&asked.method, head.status) {
        let message = "cannot filter a response that switches protocols";
        let error = Error::new(ErrorKind::Syntax, message);
        return (refused(rules, asked, &error), false);
    }
    let endless = transform.is_endless();
    let media_type = transform.media_type().filter(|_| head.status != StatusCode::NOT_MODIFIED);
    let has_no_body = head::has_no_body(&asked.method, head.status);
    if has_no_body {
        // These headers describe the response to another request. The body, which must not exist, is dropped: not every server does
        // that (hyper: neither over HTTP/2, nor with 205).
        head::filtered(&mut head.headers, media_type);
        return (Response::from_parts(head, FilterBody::none()), false);
    }
    if body.is_end_stream() && transform.needs_input() {
        head::filtered(&mut head.headers, media_type);
        transform.report_end(Ok(()));
        return (Response::from_parts(head, FilterBody::full("")), false);
    }
    let transform = match rules.readable(transform, &head) {
        Ok(transform) => transform,
        Err(error) => return (refused(rules, asked, &error), false),
    };
    head::filtered(&mut head.headers, media_type);
    (Response::from_parts(head, FilterBody::new(transform.unless_empty(), body)), !endless)
}

fn refused<F, B>(
    rules: &LayerRules<F>,
    asked: &request::Parts,
    error: &Error,
) -> Response<FilterBody<B>> {
    let answer = (rules.answer)(asked, error).unwrap_or_else(|| refusal(error));
    answer.map(FilterBody::full)
}

impl<F> LayerRules<F> {
    /// Returns the filter for a body with the `Content-Encoding` of these headers.
    ///
    /// # Errors
    /// A partial response, or a coding that cannot be decoded.
    fn readable(&self, transform: Transform, head: &response::Parts) -> Result<Transform, Error> {
        if head.status == StatusCode::PARTIAL_CONTENT {
            let message = "cannot filter a partial response (206)";
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        let mut codings = head.headers.get_all(header::CONTENT_ENCODING).iter();
        let (Some(coding), more) = (codings.next(), codings.next()) else { return Ok(transform) };
        let coding = coding.to_str().ok().filter(|_| more.is_none()).unwrap_or("several codings");
        self.decoded(transform, coding)
    }

    #[cfg(feature = "decode")]
    fn decoded(&self, transform: Transform, coding: &str) -> Result<Transform, Error> {
        match (ContentCoding::from_content_encoding(coding)?, &self.decoding) {
            (None, _) => Ok(transform),
            (Some(coding), Some(decoding)) => Ok(transform.with_decoding(coding, decoding)),
            (Some(_), None) => Err(encoded(coding)),
        }
    }

    #[cfg(not(feature = "decode"))]
    fn decoded(&self, transform: Transform, coding: &str) -> Result<Transform, Error> {
        match coding.trim() {
            "" | "identity" => Ok(transform),
            _ => Err(encoded(coding)),
        }
    }
}

fn encoded(coding: &str) -> Error {
    let message = format!("cannot filter an encoded response ({coding}): decoding is not enabled");
    Error::new(ErrorKind::Encoding, message)
}
