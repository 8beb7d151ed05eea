//! The response of a filtered service: waits for the inner response, then for its first output.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode, request, response};
use http_body::Body;
use pin_project_lite::pin_project;
use tamis_json::error::{Error, ErrorKind};

use super::choice::Choice;
use super::{LayerRules, head, refusal, refused_by_choice, trace};
use crate::http::body::FilterBody;
use crate::http::decode::{ContentCoding, DecodeOptions};
use crate::http::transform::Transform;

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

impl<F, C, T, B, E> Future for FilterFuture<F, T, B>
where
    F: Fn(&request::Parts, &response::Parts) -> C,
    C: Into<Choice>,
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
fn filtered<F, C, B>(
    rules: &LayerRules<F>,
    asked: &request::Parts,
    mut head: response::Parts,
    body: B,
) -> (Response<FilterBody<B>>, bool)
where
    F: Fn(&request::Parts, &response::Parts) -> C,
    C: Into<Choice>,
    B: Body,
{
    let mut transform = match (rules.choose)(asked, &head).into() {
        Choice::Filter(transform) => trace::filtered(transform, asked, &head),
        Choice::Pass => {
            rules.vary(&mut head.headers);
            return (Response::from_parts(head, FilterBody::untouched(body)), false);
        }
        Choice::Refuse(status) => {
            trace::refused(asked, status);
            let mut answer = refused_by_choice(status);
            rules.vary(answer.headers_mut());
            return (answer.map(FilterBody::full), false);
        }
    };
    if head::is_tunnel(&asked.method, head.status) {
        let message = "cannot filter a response that switches protocols";
        let error = Error::new(ErrorKind::Syntax, message);
        transform.report_end(Err(&error));
        return (refused(rules, asked, &error), false);
    }
    let endless = transform.is_endless();
    let media_type = transform.media_type().filter(|_| head.status != StatusCode::NOT_MODIFIED);
    let has_no_body = head::has_no_body(&asked.method, head.status);
    if has_no_body {
        // These headers describe the response to another request. The body, which must not exist, is dropped: not every server does
        // that (hyper: neither over HTTP/2, nor with 205).
        rules.mark(&mut head.headers, media_type);
        transform.report_end(Ok(()));
        return (Response::from_parts(head, FilterBody::none()), false);
    }
    if body.is_end_stream() && transform.needs_input {
        rules.mark(&mut head.headers, media_type);
        transform.report_end(Ok(()));
        return (Response::from_parts(head, FilterBody::full("")), false);
    }
    let decoding = match rules.readable(&head) {
        Ok(decoding) => decoding,
        Err(error) => {
            transform.report_end(Err(&error));
            return (refused(rules, asked, &error), false);
        }
    };
    let mut transform = decoding.of(transform);
    rules.mark(&mut head.headers, media_type);
    // The head of a response without a body need not say so.
    transform.may_be_empty = true;
    let mut body = FilterBody::new(transform, body);
    if endless {
        body.follow_headers();
    }
    (Response::from_parts(head, body), !endless)
}

fn refused<F, B>(
    rules: &LayerRules<F>,
    asked: &request::Parts,
    error: &Error,
) -> Response<FilterBody<B>> {
    let mut answer = (rules.answer)(asked, error).unwrap_or_else(|| refusal(error));
    rules.vary(answer.headers_mut());
    answer.map(FilterBody::full)
}

impl<F> LayerRules<F> {
    /// Changes the headers of a filtered response.
    fn mark(&self, fields: &mut HeaderMap, media_type: Option<&'static str>) {
        head::filtered(fields, media_type);
        if let Some(version) = &self.version {
            // A date does not change with the rules.
            fields.remove(header::LAST_MODIFIED);
            if let Some(tag) = fields.remove(header::ETAG)
                && let Some(tag) = version.tag(&tag)
            {
                fields.insert(header::ETAG, tag);
            }
        }
        self.vary(fields);
    }

    /// Names the request headers that the choice depends on. Responses that are forwarded have to name them as well, or a
    /// cache could send one to a caller whose responses are filtered.
    fn vary(&self, fields: &mut HeaderMap) {
        for name in &self.vary {
            fields.append(header::VARY, HeaderValue::from(name.clone()));
        }
    }

    /// Returns how a body with the `Content-Encoding` of these headers is decoded.
    ///
    /// # Errors
    /// A partial response, or a coding that cannot be decoded.
    fn readable(&self, head: &response::Parts) -> Result<Decoding<'_>, Error> {
        if head.status == StatusCode::PARTIAL_CONTENT {
            let message = "cannot filter a partial response (206)";
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        let mut codings = head.headers.get_all(header::CONTENT_ENCODING).iter();
        let (Some(coding), more) = (codings.next(), codings.next()) else {
            return Ok(Decoding::default());
        };
        let coding = coding.to_str().ok().filter(|_| more.is_none()).unwrap_or("several codings");
        self.decoding(coding)
    }

    fn decoding(&self, coding: &str) -> Result<Decoding<'_>, Error> {
        match (ContentCoding::from_content_encoding(coding)?, &self.decoding) {
            (None, _) => Ok(Decoding::default()),
            (Some(coding), Some(options)) => Ok(Decoding(Some((coding, options)))),
            (Some(_), None) => Err(encoded(coding)),
        }
    }
}

/// How a body is decoded before it is filtered.
#[derive(Default)]
struct Decoding<'a>(Option<(ContentCoding, &'a DecodeOptions)>);

impl Decoding<'_> {
    fn of(self, transform: Transform) -> Transform {
        match self.0 {
            Some((coding, options)) => transform.with_decoding(coding, options),
            None => transform,
        }
    }
}

fn encoded(coding: &str) -> Error {
    let message = format!("cannot filter an encoded response ({coding}): decoding is not enabled");
    Error::new(ErrorKind::Encoding, message)
}
