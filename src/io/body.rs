//! Bodies of HTTP messages: filtered frames of data, trailers as they came.
//!
//! Knows http-body's frames; nothing of heads, which have to say another length and perhaps another type than they did
//! (`FilterLayer` sees to that).

use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};

use super::steps::{Next, Steps, unreadable};
use super::transform::{Outcome, Transform};
use crate::error::Error;

/// A [`Body`] as it leaves a filter; for hyper, axum, tower-http, tonic, and what else takes bodies.
///
/// Frames come as the output is there, little ones when the inner body has nothing more for the moment; long runs that are kept
/// are parts of the frame that came in, without a copy. The inner body is asked while less than 8 KiB of output wait, and dropped
/// when the filter needs no more of it. Trailers are kept, but for those that are a digest of a body that is gone (RFC 9530, RFC
/// 3230).
///
/// An error is the last frame, behind the output that came before it; a server ends such a response without its end, and does not
/// use the connection again. The inner body's own has the kind [`Read`](crate::ErrorKind::Read), and is its source.
///
/// What is said at [`filter_async`](crate::filter_async) of the disk, of long steps and of dropping holds here, too. It is
/// `Send`, not `Sync`: the box for it is `http_body_util`'s `UnsyncBoxBody`, axum's or tonic's own.
///
/// ```
/// use http_body_util::{BodyExt, Full};
/// use tamis::{FilterBody, Program, Spec};
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
    /// In a box, so that a body may move after its first output was waited for.
    inner: Option<Pin<Box<B>>>,
    /// There if the body is filtered.
    steps: Option<Steps>,
    /// Taken already, and not yet asked for.
    first: Option<Bytes>,
    trailers: Option<Frame<Bytes>>,
    /// It is in place of another, whose length is not told.
    in_place: bool,
}

impl<B> FilterBody<B> {
    /// The body, filtered.
    pub fn new(transform: impl Into<Transform>, body: B) -> Self {
        let steps = Some(Steps::new(transform.into()));
        Self { steps, ..Self::untouched(body) }
    }

    /// The body as it is.
    pub fn untouched(body: B) -> Self {
        Self { inner: Some(Box::pin(body)), ..Self::full(Bytes::new()) }
    }

    /// These bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let first = Some(bytes.into()).filter(|bytes| !bytes.is_empty());
        Self { inner: None, steps: None, first, trailers: None, in_place: false }
    }

    /// Nothing, where the head is that of another answer, whose length is not known.
    #[cfg(feature = "tower")]
    pub(super) fn none() -> Self {
        Self { in_place: true, ..Self::full(Bytes::new()) }
    }

    /// What the run did so far. `None` while a step of it is under way on another thread, and of a body that is not filtered.
    pub fn outcome(&self) -> Option<Outcome> {
        self.steps.as_ref().and_then(Steps::outcome)
    }
}

impl<B> FilterBody<B>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Waits until the first output is there, or nothing more can come, or an error: until then another response can be
    /// sent instead. What was waited for is not lost.
    ///
    /// # Errors
    /// That of the run, if no output came before, or none that was taken: the body is over then.
    #[cfg(feature = "tower")]
    pub(super) fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.steps.is_none() || self.first.is_some() {
            return Poll::Ready(Ok(()));
        }
        let first = ready!(Pin::new(&mut *self).poll_frame(cx)).transpose()?;
        if let Some(first) = first {
            match first.into_data() {
                Ok(data) => self.first = Some(data),
                Err(trailers) => self.trailers = Some(trailers),
            }
        }
        // An error that is known is told while there is time.
        match self.steps.as_mut().and_then(Steps::take_error) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(())),
        }
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
        loop {
            match ready!(steps.poll_next(cx)) {
                Ok(Next::Output(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                Ok(Next::Over) => {
                    this.inner = None;
                    return Poll::Ready(this.trailers.take().map(Ok));
                }
                Ok(Next::Input) => {
                    let Some(inner) = &mut this.inner else {
                        steps.finish();
                        continue;
                    };
                    match inner.as_mut().poll_frame(cx) {
                        Poll::Pending => {
                            return ready!(steps.take(cx)).map_or(Poll::Pending, |piece| {
                                // The inner body wakes whoever asks for more.
                                Poll::Ready(Some(Ok(Frame::data(piece))))
                            });
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
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        if self.first.is_some() || self.trailers.is_some() {
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
            // Over HTTP/1.1 trailers follow no body whose length was said.
            _ if self.trailers.is_some() => at_least(first),
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

/// A frame's data in one piece; most bodies' are, and that costs nothing.
fn bytes<D: Buf>(mut data: D) -> Bytes {
    data.copy_to_bytes(data.remaining())
}

/// Trailers without those that are no longer true.
fn still_true(frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
    let mut trailers = frame.into_trailers().ok()?;
    for name in DIGESTS {
        trailers.remove(name);
    }
    (!trailers.is_empty()).then(|| Frame::trailers(trailers))
}

/// Fields that tell what a body's bytes are.
pub(super) const DIGESTS: [&str; 4] = ["content-digest", "content-md5", "digest", "repr-digest"];
