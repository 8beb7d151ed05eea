//! The sink of the asynchronous adapters: output as [`Bytes`], without a copy if it is a run of the input chunk.
//!
//! The sink does not depend on filters. Invariant: a piece that shares memory with the chunk is a large part of it, so
//! pending output keeps alive at most [`SHARE`] times its size in chunks. (A chunk that is a slice of something larger
//! keeps all of that alive; its owner decides how much arrives at once.)

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use tamis_json::sink::Sink;

/// The shortest run that is not copied.
const RUN: usize = 2 << 10;
/// A run must also be at least this part of its chunk. Copying less is cheap compared to reading the chunk, and frees
/// it.
const SHARE: usize = 2;
/// Maximum size of a piece of copied output, so that pending output takes little more memory than it has bytes.
const PIECE: usize = 8 << 10;

/// The output of a filter, in pieces.
#[derive(Debug, Default)]
pub struct GatherSink {
    /// The chunk that is being filtered.
    chunk: Bytes,
    ready: VecDeque<Bytes>,
    ready_bytes: usize,
    /// Output after `ready`.
    tail: BytesMut,
    /// Output after `tail`: a run of the chunk, which may grow.
    run: Range<usize>,
}

impl GatherSink {
    /// Sets the chunk that the following output comes from.
    pub(super) fn begin(&mut self, chunk: Bytes) {
        self.chunk = chunk;
    }

    /// Drops the chunk after it was filtered.
    pub(super) fn forget(&mut self) {
        self.settle();
        self.chunk = Bytes::new();
    }

    /// Returns the size of the pending output in bytes.
    pub(super) fn len(&self) -> usize {
        self.ready_bytes + self.tail.len() + self.run.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next piece of the output.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        self.settle();
        match self.ready.pop_front() {
            Some(piece) => {
                self.ready_bytes -= piece.len();
                Some(piece)
            }
            None if self.tail.is_empty() => None,
            None => Some(self.cut()),
        }
    }

    /// Returns the range of `bytes` in the chunk, if they are a part of it.
    fn place(&self, bytes: &[u8]) -> Option<Range<usize>> {
        let begin = bytes.as_ptr().addr().checked_sub(self.chunk.as_ptr().addr())?;
        let end = begin.checked_add(bytes.len())?;
        (end <= self.chunk.len()).then_some(begin..end)
    }

    /// Ends the run: appends it to the output, as a slice or a copy.
    fn settle(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run.is_empty() {
            return;
        }
        if run.len() < RUN || run.len() < self.chunk.len() / SHARE {
            let chunk = self.chunk.clone();
            self.copy(chunk.get(run).unwrap_or_default());
            return;
        }
        if !self.tail.is_empty() {
            let tail = self.cut();
            self.push(tail);
        }
        self.push(self.chunk.slice(run));
    }

    fn copy(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.tail.len() >= PIECE {
                let tail = self.cut();
                self.push(tail);
                // A full piece is likely to be followed by another one.
                self.tail.reserve(PIECE);
            }
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - self.tail.len()));
            self.tail.extend_from_slice(now);
            bytes = later;
        }
    }

    /// Takes the tail as a piece that occupies at most twice its size.
    fn cut(&mut self) -> Bytes {
        let tail = std::mem::take(&mut self.tail);
        if tail.len() < tail.capacity() / 2 { Bytes::copy_from_slice(&tail) } else { tail.freeze() }
    }

    fn push(&mut self, piece: Bytes) {
        self.ready_bytes += piece.len();
        self.ready.push_back(piece);
    }
}

impl Sink for GatherSink {
    fn write(&mut self, bytes: &[u8]) {
        match self.place(bytes) {
            Some(place) if place.start == self.run.end && !self.run.is_empty() => {
                self.run.end = place.end;
            }
            Some(place) => {
                self.settle();
                self.run = place;
            }
            None => {
                self.settle();
                self.copy(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use tamis_json::sink::Sink;

    use super::{GatherSink, PIECE, RUN};

    #[test]
    fn copied_bytes_are_gathered_in_pieces() {
        let bytes: Vec<u8> = (0..PIECE * 3 + 5).map(|at| (at % 251) as u8).collect();
        let mut gather = GatherSink::default();
        for part in bytes.chunks(1000) {
            gather.write(part);
        }
        assert_eq!(gather.len(), bytes.len());
        let pieces: Vec<Bytes> = std::iter::from_fn(|| gather.take()).collect();
        assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [PIECE, PIECE, PIECE, 5]);
        assert_eq!(pieces.concat(), bytes);
        assert_eq!(gather.len(), 0);
    }

    #[test]
    fn a_long_run_of_the_chunk_is_not_copied() {
        let chunk = Bytes::from(vec![b'x'; 4 * RUN]);
        let mut gather = GatherSink::default();
        gather.begin(chunk.clone());
        gather.write(b"head");
        gather.write(&chunk[RUN..2 * RUN - 9]);
        gather.write(&chunk[2 * RUN - 9..3 * RUN]);
        gather.write(&chunk[..RUN - 1]);
        gather.write(&vec![b'y'; RUN]);
        assert_eq!(gather.len(), 4 + 2 * RUN + RUN - 1 + RUN);
        assert_eq!(gather.take().as_deref(), Some(&b"head"[..]));
        let run = gather.take().unwrap();
        assert_eq!((run.as_ptr(), run.len()), (chunk[RUN..].as_ptr(), 2 * RUN));
        assert_eq!(gather.take().map(|tail| tail.len()), Some(2 * RUN - 1), "the others are");
        assert_eq!((gather.take(), gather.len()), (None, 0));
    }

    #[test]
    fn a_small_part_of_a_large_chunk_does_not_hold_it() {
        let chunk = Bytes::from(vec![b'x'; 64 * RUN]);
        let mut gather = GatherSink::default();
        gather.begin(chunk.clone());
        gather.write(&chunk[..2 * RUN]);
        gather.forget();
        assert!(chunk.is_unique());
    }
}
