//! Drivers over asynchronous readers and writers, and over streams of chunks.
//!
//! This module implements the traits of tokio and futures-core; [`steps`](super::steps) runs the filter.

use std::error::Error as StdError;
use std::future::poll_fn;
use std::io::ErrorKind as IoKind;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use pin_project_lite::pin_project;
use tamis_json::error::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::steps::{NextAction, Steps, unreadable};
use super::transform::{Outcome, Transform};
use crate::filter::Call;
use crate::io::push::CHUNK;
use crate::io::{FailedRun, RunResult};
use crate::report::{FailureReport, Report};

/// Filters the document read from `reader` into `writer`, as it arrives: [`filter_reader`](crate::filter_reader) for
/// tasks.
///
/// Output is written when 8 KiB are pending or the reader is not ready, and flushed when the reader is not ready. A
/// slow writer slows the reader. The writer is not shut down.
///
/// No step blocks the task's thread: long ones, and those that need the disk because the limit `held` is exceeded, run
/// on tokio's pool for blocking work. Outside a tokio runtime all steps run where the future is polled.
///
/// # Errors
/// As for [`filter_reader`](crate::filter_reader).
///
/// # Cancel safety
/// Dropping the future leaves no task and no file behind, but bytes that were read and written are lost. It cannot be
/// resumed.
///
/// ```
/// use tamis::{Program, Spec, filter_async};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tamis::Error> {
/// let program = Program::compile(&Spec::new().exclude("secret"))?;
/// let mut output = Vec::new();
/// let report = filter_async(&program, &b"{\"id\": 1, \"secret\": 2}"[..], &mut output).await?;
/// assert_eq!(output, b"{\"id\":1}");
/// assert_eq!(report.original_bytes, 22);
/// # Ok(())
/// # }
/// ```
pub fn filter_async<'a, R, W>(
    call: impl Into<Call<'a>>,
    reader: R,
    writer: W,
) -> impl Future<Output = RunResult<Report>>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    let run = transform_async(Transform::json(call), reader, writer);
    async {
        let (outcome, result) = FailedRun::split(run.await);
        FailedRun::join(result, outcome.into_report().unwrap_or_default())
    }
}

/// Runs any [`Transform`] over the bytes read from `reader`, and writes the output to `writer`.
///
/// # Errors
/// Those of the filter, the reader and the writer.
///
/// # Cancel safety
/// As for [`filter_async`].
pub async fn transform_async<R, W>(
    transform: impl Into<Transform>,
    reader: R,
    writer: W,
) -> RunResult<Outcome>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    let mut steps = Steps::new(transform.into());
    let result = pump(&mut steps, reader, writer).await;
    let outcome = steps.outcome().unwrap_or_else(|| {
        // The last step was lost with the runtime.
        let error = result.as_ref().err().map(FailureReport::from);
        Outcome::Filter(Box::new(Report { error, ..Report::default() }))
    });
    FailedRun::join(result, outcome)
}

async fn pump<R, W>(steps: &mut Steps, reader: R, writer: W) -> Result<(), Error>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    let mut reader = pin!(reader);
    let mut writer = pin!(writer);
    let mut buffer = BytesMut::new();
    let mut flushed = true;
    loop {
        match poll_fn(|cx| steps.poll_next(cx)).await {
            Ok(NextAction::Output(piece)) => {
                flushed = false;
                written(steps, writer.write_all(&piece).await)?;
            }
            Ok(NextAction::Over) => return written(steps, writer.flush().await),
            Ok(NextAction::Input) => {
                buffer.reserve(CHUNK);
                let read =
                    |cx: &mut Context<'_>| read(steps, reader.as_mut(), &mut buffer, !flushed, cx);
                if let Some(piece) = poll_fn(read).await {
                    flushed = true;
                    written(steps, writer.write_all(&piece).await)?;
                    written(steps, writer.flush().await)?;
                }
            }
            Err(error) => {
                // The output before the error is valid. An error of the flush is ignored, because the first error
                // counts.
                _ = writer.flush().await;
                return Err(error);
            }
        }
    }
}

/// Feeds the next bytes of the reader. If it is not ready, returns the pending output, to be written and flushed. That
/// is empty if output was `written` but not flushed.
fn read<R: AsyncRead>(
    steps: &mut Steps,
    mut reader: Pin<&mut R>,
    buffer: &mut BytesMut,
    written: bool,
    cx: &mut Context<'_>,
) -> Poll<Option<Bytes>> {
    let polled = pin!(reader.read_buf(buffer)).poll(cx);
    match polled {
        Poll::Pending => {
            let piece = ready!(steps.take(cx)).or(written.then(Bytes::new));
            return piece.map_or(Poll::Pending, |piece| Poll::Ready(Some(piece)));
        }
        Poll::Ready(Ok(0)) => steps.finish(),
        Poll::Ready(Ok(_)) => steps.feed(buffer.split().freeze(), false),
        Poll::Ready(Err(error)) if error.kind() == IoKind::Interrupted => {
            steps.feed(Bytes::new(), false);
        }
        Poll::Ready(Err(error)) => steps.fail(Error::read(error)),
    }
    Poll::Ready(None)
}

/// Converts an error of the writer, which ends the run.
fn written(steps: &mut Steps, result: std::io::Result<()>) -> Result<(), Error> {
    result.map_err(|error| {
        let error = Error::write(error);
        steps.give_up(&error);
        error
    })
}

pin_project! {
    /// A [`Stream`] of filtered chunks.
    ///
    /// Output is returned as it becomes available, in chunks of any size. Long runs of kept bytes are slices of the
    /// input chunk, not copies. The source is polled while less than 8 KiB of output is pending, and dropped when the
    /// filter needs no more of it (`stop_early`). An error is the last item, after the output before it. An error of
    /// the source has the kind [`Read`](crate::ErrorKind::Read) and is its source.
    ///
    /// Disk access, long steps and dropping are as for [`filter_async`].
    ///
    /// ```
    /// use bytes::Bytes;
    /// use tamis::http::{FilterStream, Transform};
    /// use tamis::{Program, Spec};
    /// use tokio_stream::StreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tamis::Error> {
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let chunks = [r#"[{"id": 1, "na"#, r#"me": "x"}, {"i"#, r#"d": 2}]"#];
    /// let source = tokio_stream::iter(chunks.map(|chunk| Ok::<_, std::io::Error>(Bytes::from(chunk))));
    /// let mut filtered = FilterStream::new(Transform::json(&program), source);
    /// let mut output = Vec::new();
    /// while let Some(chunk) = filtered.try_next().await? {
    ///     output.extend_from_slice(&chunk);
    /// }
    /// assert_eq!(output, br#"[{"id":1},{"id":2}]"#);
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct FilterStream<S> {
        #[pin]
        source: Option<S>,
        steps: Steps,
    }
}

impl<S> FilterStream<S> {
    /// Creates a stream that filters the chunks of `source`.
    pub fn new(transform: impl Into<Transform>, source: S) -> Self {
        Self { source: Some(source), steps: Steps::new(transform.into()) }
    }

    /// Returns the report so far. `None` while a step runs on another thread, which is never the case after the last
    /// item.
    pub fn outcome(&self) -> Option<Outcome> {
        self.steps.outcome()
    }
}

impl<S, E> Stream for FilterStream<S>
where
    S: Stream<Item = Result<Bytes, E>>,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    type Item = Result<Bytes, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        loop {
            match ready!(this.steps.poll_next(cx)) {
                Ok(NextAction::Output(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(NextAction::Over) => {
                    this.source.set(None);
                    return Poll::Ready(None);
                }
                Ok(NextAction::Input) => match this.source.as_mut().as_pin_mut() {
                    None => this.steps.finish(),
                    Some(source) => match source.poll_next(cx) {
                        Poll::Pending => {
                            return ready!(this.steps.take(cx)).map_or(Poll::Pending, |piece| {
                                // The source wakes the task that polls for more.
                                Poll::Ready(Some(Ok(piece)))
                            });
                        }
                        Poll::Ready(Some(Ok(chunk))) => this.steps.feed(chunk, false),
                        Poll::Ready(Some(Err(error))) => this.steps.fail(unreadable(error)),
                        Poll::Ready(None) => {
                            this.source.set(None);
                            this.steps.finish();
                        }
                    },
                },
                Err(error) => {
                    this.source.set(None);
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}
