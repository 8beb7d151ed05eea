//! Runs one document through the asynchronous drivers: readers and writers, streams, bodies.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tamis::http::{FilterBody, FilterStream, Outcome, Transform, transform_async};
use tamis::{Error, ErrorKind, FailedRun, Limits};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_stream::{Stream, StreamExt};

use crate::drivers::{Fault, Run, Subject, same};
use crate::prng::Prng;

/// A reader, a stream, a body and a writer that are often not ready and that transfer few bytes at a time.
pub struct Hesitant {
    pieces: VecDeque<Bytes>,
    prng: Prng,
}

impl Hesitant {
    pub fn new(document: &[u8], cuts: impl IntoIterator<Item = usize>, seed: u64) -> Self {
        let document = Bytes::copy_from_slice(document);
        let mut begin = 0;
        let mut pieces = VecDeque::new();
        for end in cuts.into_iter().chain([document.len()]) {
            pieces.push_back(document.slice(begin..end));
            begin = end;
        }
        Self { pieces, prng: Prng::new(seed) }
    }

    fn hesitates(&mut self, cx: &mut Context<'_>) -> bool {
        let now = self.prng.one_in(3);
        if now {
            cx.waker().wake_by_ref();
        }
        now
    }
}

impl Stream for Hesitant {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.hesitates(cx) {
            return Poll::Pending;
        }
        Poll::Ready(self.pieces.pop_front().map(Ok))
    }
}

impl Body for Hesitant {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.poll_next(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }
}

impl AsyncRead for Hesitant {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.hesitates(cx) {
            return Poll::Pending;
        }
        if self.prng.one_in(5) {
            return Poll::Ready(Err(std::io::ErrorKind::Interrupted.into()));
        }
        while let Some(mut piece) = self.pieces.pop_front() {
            if piece.is_empty() {
                // A reader would take an empty chunk for the end.
                continue;
            }
            into.put_slice(&piece.split_to(piece.len().min(into.remaining())));
            if !piece.is_empty() {
                self.pieces.push_front(piece);
            }
            break;
        }
        Poll::Ready(Ok(()))
    }
}

/// Takes a few bytes at a time.
struct Slow {
    output: Vec<u8>,
    prng: Prng,
}

impl AsyncWrite for Slow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        if self.prng.one_in(3) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = if self.prng.one_in(2) { 5 } else { 3000 };
        let count = (1 + self.prng.below(most)).min(bytes.len());
        self.output.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn run(output: Vec<u8>, outcome: Option<Outcome>, result: Result<(), Error>) -> Run {
    let report = outcome.and_then(|outcome| outcome.report().cloned());
    let last = report.clone().unwrap_or_default();
    Run::new(Some(output), result.map(|()| last), report)
}

impl Subject<'_> {
    fn transform(&self) -> Transform {
        Transform::json(self.program.with_options(self.options))
    }

    /// The runs through each adapter, by name.
    pub async fn adapters(&self, seed: u64) -> [(&'static str, Run); 3] {
        let mut prng = Prng::new(seed);
        let mut source = || {
            let cuts = prng.cuts(self.document.len());
            Hesitant::new(self.document, cuts, seed)
        };

        let mut writer = Slow { output: Vec::new(), prng: Prng::new(seed) };
        let ended = transform_async(self.transform(), source(), &mut writer).await;
        let (outcome, result) = FailedRun::split(ended);
        let written = run(writer.output, Some(outcome), result);

        let mut stream = FilterStream::new(self.transform(), source());
        let (mut output, mut result) = (Vec::new(), Ok(()));
        while let Some(item) = stream.next().await {
            match item {
                Ok(piece) => output.extend_from_slice(&piece),
                Err(error) => result = Err(error),
            }
        }
        let streamed = run(output, stream.outcome(), result);

        let mut body = FilterBody::new(self.transform(), source());
        let (mut output, mut result) = (Vec::new(), Ok(()));
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => output.extend_from_slice(frame.data_ref().expect("no trailers")),
                Err(error) => result = Err(error),
            }
        }
        assert!(body.is_end_stream(), "a body is over behind its last frame");
        let framed = run(output, body.outcome(), result);

        [("filter_async", written), ("FilterStream", streamed), ("FilterBody", framed)]
    }
}

/// Compares the asynchronous drivers with the others: with the given limits, and with no memory for held bytes, so that all of
/// these are written to disk on another thread.
pub fn agree_adapters(
    subject: Subject<'_>,
    seed: u64,
    whole: &Run,
    base: &Limits,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let through = |subject: Subject<'_>, what: &str| {
        let runs = runtime.block_on(subject.adapters(seed));
        runs.iter().try_for_each(|(driver, run)| same(&format!("{driver}{what}"), whole, run, true))
    };
    through(subject, "")?;
    let limited = |fault: &Fault| fault.kind == ErrorKind::Limit;
    if base.spill() > 0 && !whole.fault.as_ref().is_some_and(limited) {
        let options = subject.options.clone().with_limits(base.clone().with_held(0));
        through(Subject { options: &options, ..subject }, ", spilled")?;
    }
    Ok(())
}
