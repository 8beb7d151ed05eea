//! Bodies of HTTP messages, from spools and from streams.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use tamis_mcp::spool::Spool;

/// Bytes of a spool that are read from its file at once.
const PIECE: usize = 64 << 10;

/// The error of a body. It ends the connection, so that the receiver does not take the part for the whole.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of every request and response of the proxy.
pub(crate) type ProxyBody = UnsyncBoxBody<Bytes, BodyError>;

/// Returns a body without bytes.
pub(crate) fn empty() -> ProxyBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// Returns a body of bytes in memory.
pub(crate) fn full(bytes: impl Into<Bytes>) -> ProxyBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Returns the body of a message that hyper received.
pub(crate) fn of_incoming(body: Incoming) -> ProxyBody {
    body.map_err(|error| Box::new(error) as BodyError).boxed_unsync()
}

/// Returns a body with the bytes of a spool. Its length is known.
pub(crate) fn of_spool(spool: Spool) -> ProxyBody {
    RequestBody::of(spool).once()
}

/// The bytes of a request, which may be sent several times: the server may redirect it. Clones share them.
#[derive(Clone)]
pub(crate) enum RequestBody {
    Memory(Bytes),
    File(Arc<Spool>),
    /// The bytes cannot be read.
    Failed(Arc<str>),
}

impl RequestBody {
    /// Returns the bytes of a spool.
    pub(crate) fn of(spool: Spool) -> Self {
        if spool.as_slice().is_none() {
            return Self::File(Arc::new(spool));
        }
        match spool.into_vec() {
            Ok(bytes) => Self::Memory(Bytes::from(bytes)),
            Err(error) => Self::Failed(error.to_string().into()),
        }
    }

    /// Returns no bytes.
    pub(crate) fn nothing() -> Self {
        Self::Memory(Bytes::new())
    }

    /// Returns a body, whose length is known.
    pub(crate) fn once(&self) -> ProxyBody {
        match self {
            Self::Memory(bytes) if bytes.is_empty() => empty(),
            Self::Memory(bytes) => full(bytes.clone()),
            Self::File(spool) => SpoolBody { spool: Arc::clone(spool), at: 0 }.boxed_unsync(),
            Self::Failed(why) => of_frames(stream::iter([Err(broken(why))])),
        }
    }
}

/// Returns a body of frames that are made one after the other.
pub(crate) fn of_frames(
    frames: impl Stream<Item = Result<Frame<Bytes>, BodyError>> + Send + 'static,
) -> ProxyBody {
    StreamBody::new(frames).boxed_unsync()
}

/// The bytes of a spool whose file is read piece by piece.
///
/// The reads block. They rarely wait for the disk: the file was written just before.
struct SpoolBody {
    spool: Arc<Spool>,
    at: u64,
}

impl Body for SpoolBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let at = self.at;
        let until = self.spool.len().min(at + PIECE as u64);
        if at == until {
            return Poll::Ready(None);
        }
        let piece = self.spool.to_vec(at..until, PIECE);
        self.at = until;
        Poll::Ready(Some(match piece {
            Ok(piece) => Ok(Frame::data(Bytes::from(piece))),
            Err(error) => Err(Box::new(error)),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.at == self.spool.len()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.spool.len() - self.at)
    }
}

/// Returns the error of a stream that the server ended before its message was complete.
pub(crate) fn broken(why: impl std::fmt::Display) -> BodyError {
    Box::new(io::Error::other(why.to_string()))
}
