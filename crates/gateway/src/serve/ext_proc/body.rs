//! The body of a message whose pieces arrive as messages of the gateway.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;

use super::hook;
use crate::transport::http::body::{BodyError, broken};

/// Pieces that wait for the filter. The gateway has to wait after that.
const PIECES: usize = 2;

/// A piece of a body.
#[derive(Debug)]
pub(super) enum Piece {
    Data(Bytes),
    /// The last data.
    Last(Bytes),
    /// The body has ended, and these follow it.
    Trailers(HeaderMap),
}

/// A body whose pieces are pushed into a channel. If the channel closes before the last piece, the body fails.
#[derive(Debug)]
pub(super) struct PieceBody {
    pieces: Option<mpsc::Receiver<Piece>>,
    /// For tests: see [`hook`].
    panics_after: Option<u64>,
}

impl PieceBody {
    /// Creates a body, and the end into which its pieces are pushed.
    pub(super) fn channel() -> (mpsc::Sender<Piece>, Self) {
        let (sender, pieces) = mpsc::channel(PIECES);
        (sender, Self { pieces: Some(pieces), panics_after: None })
    }

    /// Makes the reader of the body panic after some bytes, for tests.
    pub(super) fn with_panic(mut self, after: Option<u64>) -> Self {
        self.panics_after = after;
        self
    }

    /// Creates a body without bytes.
    pub(super) fn empty() -> Self {
        Self { pieces: None, panics_after: None }
    }
}

impl Body for PieceBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(pieces) = &mut self.pieces else { return Poll::Ready(None) };
        let piece = std::task::ready!(pieces.poll_recv(cx));
        if let Some(Piece::Data(data) | Piece::Last(data)) = &piece {
            hook::count(&mut self.panics_after, data.len());
        }
        let frame = match piece {
            Some(Piece::Data(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
            Some(Piece::Last(data)) if data.is_empty() => None,
            Some(Piece::Last(data)) => Some(Ok(Frame::data(data))),
            Some(Piece::Trailers(trailers)) => Some(Ok(Frame::trailers(trailers))),
            None => Some(Err(broken("the gateway closed the stream within the body"))),
        };
        self.pieces = None;
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_none()
    }
}
