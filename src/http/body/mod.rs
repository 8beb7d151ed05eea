//! Filters the bodies of HTTP messages: data frames are filtered, trailers are kept.
//!
//! The body handles the frames of http-body, but no headers. The headers of a filtered response have another length and
//! perhaps another type; `FilterLayer` sets them.

#[cfg(feature = "tower")]
mod of_layer;

use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use tamis_json::error::Error;

use super::steps::of_body::Pause;
use super::steps::{NextAction, Steps, unreadable};
use super::transform::{Outcome, Transform};

/// How long a server gets to send what precedes an error.
const FLUSH: Duration = Duration::from_millis(20);

/// A filtered [`Body`], for hyper, axum, tower-http, tonic and anything else that takes bodies.
///
/// Output is returned as it becomes available, in small frames only if the inner body has nothing more for the moment.
/// Long runs of kept bytes are slices of the input frame, not copies. The inner body is polled while less than 8 KiB of
/// output is pending, and dropped when the filter needs no more of it. Trailers are kept, except digests of the
/// unfiltered body (RFC 9530, RFC 3230).
///
/// An error is the last frame, after the output before it. A server aborts such a response and closes the connection.
/// hyper drops what it has not flushed by then. It flushes when the body is not ready, over HTTP/2 in another task. So an
/// error that would follow output at once waits: for 20 ms on a runtime of tokio, otherwise for one poll.
/// An error of the inner body has the kind [`Read`](crate::ErrorKind::Read) and is its source.
///
/// Disk access, long steps and dropping are as for [`filter_async`](crate::filter_async). The body is `Send` but not
/// `Sync`: box it with `http_body_util`'s `UnsyncBoxBody`, or axum's or tonic's own.
///
/// ```
/// use http_body_util::{BodyExt, Full};
/// use tamis::http::FilterBody;
/// use tamis::{Program, Spec};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tamis::Error> {
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let body = Full::<bytes::Bytes>::from(r#"[{"id": 1, "name": "x"}]"#);
/// let filtered = FilterBody::new(&program, body).collect().await?;
/// assert_eq!(filtered.to_bytes(), r#"[{"id":1}]"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FilterBody<B> {
    /// Boxed, so that a body may be moved after its first output was awaited.
    inner: Option<Pin<Box<B>>>,
    /// `None` if the body is not filtered.
    steps: Option<Steps>,
    /// Output that was awaited but not returned yet.
    first: Option<Bytes>,
    trailers: Option<Frame<Bytes>>,
    /// Headers or output were returned, and the receiver may not have sent them yet.
    is_unsent: bool,
    /// An error that waits until the output before it was sent.
    error: Option<Error>,
    /// The time for which the error waits.
    pause: Option<Pause>,
    /// The body replaces another one, whose length is unknown.
    in_place: bool,
}

impl<B> FilterBody<B> {
    /// Creates a body that filters `body`.
    pub fn new(transform: impl Into<Transform>, body: B) -> Self {
        let steps = Some(Steps::new(transform.into()));
        Self { steps, ..Self::untouched(body) }
    }

    /// Creates a body that forwards `body` unfiltered.
    pub fn untouched(body: B) -> Self {
        Self { inner: Some(Box::pin(body)), ..Self::full(Bytes::new()) }
    }

    /// Creates a body of these bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let first = Some(bytes.into()).filter(|bytes| !bytes.is_empty());
        let (inner, steps, trailers, error, pause) = (None, None, None, None, None);
        let (is_unsent, in_place) = (false, false);
        Self { inner, steps, first, trailers, is_unsent, error, pause, in_place }
    }

    /// Returns the report so far. `None` while a step runs on another thread, and if the body is not filtered.
    pub fn outcome(&self) -> Option<Outcome> {
        self.steps.as_ref().and_then(Steps::outcome)
    }
}

impl<B> Body for FilterBody<B>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            this.is_unsent = true;
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let Some(steps) = &mut this.steps else {
            let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
            let frame = ready!(inner.as_mut().poll_frame(cx));
            return Poll::Ready(frame.map(|frame| match frame {
                Ok(frame) => Ok(frame.map_data(bytes)),
                Err(error) => Err(unreadable(error)),
            }));
        };
        if let Some(pause) = &mut this.pause {
            ready!(pause.poll(cx));
            this.pause = None;
        }
        if let Some(error) = this.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        loop {
            match ready!(steps.poll_next(cx)) {
                Ok(NextAction::Output(piece)) => {
                    this.is_unsent = true;
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                Ok(NextAction::Over) => {
                    this.inner = None;
                    return Poll::Ready(this.trailers.take().map(Ok));
                }
                Ok(NextAction::Input) => {
                    let Some(inner) = &mut this.inner else {
                        steps.finish();
                        continue;
                    };
                    match inner.as_mut().poll_frame(cx) {
                        Poll::Pending => {
                            let piece = ready!(steps.take(cx));
                            this.is_unsent = piece.is_some();
                            // The inner body wakes the task that polls for more.
                            let Some(piece) = piece else { return Poll::Pending };
                            return Poll::Ready(Some(Ok(Frame::data(piece))));
                        }
                        Poll::Ready(Some(Ok(frame))) => match frame.map_data(bytes).into_data() {
                            Ok(data) => steps.feed(data, inner.is_end_stream()),
                            Err(frame) => {
                                this.trailers = still_true(frame);
                                steps.feed(Bytes::new(), false);
                            }
                        },
                        Poll::Ready(Some(Err(error))) => steps.fail(unreadable(error)),
                        Poll::Ready(None) => steps.finish(),
                    }
                }
                Err(error) => {
                    this.inner = None;
                    this.trailers = None;
                    if std::mem::take(&mut this.is_unsent) {
                        this.error = Some(error);
                        this.pause = Pause::start(FLUSH);
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        if self.first.is_some() || self.trailers.is_some() || self.error.is_some() {
            return false;
        }
        match (&self.steps, &self.inner) {
            (Some(steps), _) => steps.is_over(),
            (None, Some(inner)) => inner.is_end_stream(),
            (None, None) => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, Bytes::len) as u64;
        match (&self.steps, &self.inner) {
            (Some(steps), _) if !steps.is_over() => at_least(first),
            // Over HTTP/1.1, a body with a known length has no trailers.
            _ if self.trailers.is_some() || self.error.is_some() => at_least(first),
            (None, None) if self.in_place => SizeHint::new(),
            (None, Some(inner)) => inner.size_hint(),
            _ => SizeHint::with_exact(first),
        }
    }
}

fn at_least(bytes: u64) -> SizeHint {
    let mut hint = SizeHint::new();
    hint.set_lower(bytes);
    hint
}

/// Returns a frame's data in one piece. Most bodies have it in one piece already, which costs nothing.
fn bytes<D: Buf>(mut data: D) -> Bytes {
    data.copy_to_bytes(data.remaining())
}

/// Returns the trailers without digests of the unfiltered body.
fn still_true(frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
    let mut trailers = frame.into_trailers().ok()?;
    for name in DIGESTS {
        trailers.remove(name);
    }
    (!trailers.is_empty()).then(|| Frame::trailers(trailers))
}

/// Fields with a digest of the body.
pub(super) const DIGESTS: [&str; 4] = ["content-digest", "content-md5", "digest", "repr-digest"];
