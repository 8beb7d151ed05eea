//! Where bytes come from and go to, bit by bit: sources and receivers for tasks, which do what their script says.
//!
//! They know no filter.

use std::collections::VecDeque;
use std::io::{Error as IoError, ErrorKind as IoKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_stream::Stream;

use super::super::input::Choose;
use crate::prng::Choices;

/// A trailer that is forwarded unchanged.
pub(super) const KEPT: &str = "x-kept";

/// The result of one poll of a source.
#[derive(Debug)]
enum Step {
    Piece(Bytes),
    NotYet,
    /// Only used for readers.
    Interrupted,
    Fail,
}

/// The steps of a source, and whether a body ends with trailers.
#[derive(Debug)]
pub(super) struct Script {
    steps: VecDeque<Step>,
    pub(super) trailers: bool,
    /// Whether the trailers were taken.
    pub(super) taken: Arc<AtomicBool>,
}

impl Script {
    pub(super) fn new(choices: &mut Choose<'_>, pieces: &[Bytes], fails: bool) -> Self {
        let mut steps = VecDeque::new();
        for piece in pieces {
            for _ in 0..choices.below(3) {
                steps.push_back(if choices.one_in(4) { Step::Interrupted } else { Step::NotYet });
            }
            steps.push_back(Step::Piece(piece.clone()));
        }
        if fails {
            steps.push_back(Step::Fail);
        }
        Self { steps, trailers: choices.one_in(3), taken: Arc::default() }
    }

    /// The next step, for sources that are not interrupted. `None`: it is over.
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, IoError>>> {
        match self.steps.pop_front() {
            Some(Step::Piece(piece)) => Poll::Ready(Some(Ok(piece))),
            Some(Step::NotYet | Step::Interrupted) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Fail) => Poll::Ready(Some(Err(IoKind::ConnectionReset.into()))),
            None => Poll::Ready(None),
        }
    }
}

impl Stream for Script {
    type Item = Result<Bytes, IoError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.step(cx)
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = IoError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, IoError>>> {
        let piece = std::task::ready!(self.step(cx));
        if piece.is_none() && std::mem::take(&mut self.trailers) {
            self.taken.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Ok(trailers())));
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }
}

/// One that stays, and one that says something of a body that is gone.
fn trailers() -> Frame<Bytes> {
    let mut names = Frame::<Bytes>::trailers(Default::default()).into_trailers().expect("trailers");
    for name in [KEPT, "content-digest"] {
        names.insert(name, "1".parse().expect("a value"));
    }
    Frame::trailers(names)
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        loop {
            if matches!(self.steps.front(), Some(Step::Interrupted)) {
                self.steps.pop_front();
                return Poll::Ready(Err(IoKind::Interrupted.into()));
            }
            match std::task::ready!(self.step(cx)).transpose()? {
                // To a reader an empty piece would be the end.
                Some(piece) if piece.is_empty() => {}
                Some(mut piece) => {
                    into.put_slice(&piece.split_to(piece.len().min(into.remaining())));
                    if !piece.is_empty() {
                        self.steps.push_front(Step::Piece(piece));
                    }
                    return Poll::Ready(Ok(()));
                }
                None => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// A writer that accepts a few bytes at a time, and sometimes none. It fails once it has accepted a number of bytes, or
/// at the flush after them.
pub(super) struct Slow<'a> {
    pub(super) output: &'a mut Vec<u8>,
    pub(super) takes: usize,
    pub(super) waits: bool,
    /// Bytes until it fails.
    pub(super) room: usize,
    pub(super) fails_at_flush: bool,
}

impl Slow<'_> {
    fn is_late(&mut self, cx: &Context<'_>) -> bool {
        self.waits = !self.waits;
        if self.waits {
            cx.waker().wake_by_ref();
        }
        self.waits
    }
}

impl AsyncWrite for Slow<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        if self.is_late(cx) {
            return Poll::Pending;
        }
        let count = self.takes.min(bytes.len()).min(self.room);
        if count == 0 && !bytes.is_empty() && !self.fails_at_flush {
            return Poll::Ready(Err(IoKind::BrokenPipe.into()));
        }
        // One that fails when it is flushed takes everything until then.
        let count = if self.fails_at_flush { self.takes.min(bytes.len()) } else { count };
        self.room -= count.min(self.room);
        self.output.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        if self.is_late(cx) {
            return Poll::Pending;
        }
        Poll::Ready(match self.room {
            0 if self.fails_at_flush => Err(IoKind::StorageFull.into()),
            _ => Ok(()),
        })
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
