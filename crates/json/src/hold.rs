//! The only place where bytes wait for a decision: in memory first, then in an anonymous temporary file ([`Spill`]), then
//! an error.
//!
//! The file is created only when memory is full, and never if the limit `spill` is 0. Drivers whose thread must not block on the disk prevent its use for one step at a time by a gate in
//! the [`Limits`]. Bytes for the file then stay in memory. If the limits have a pool for all responses and its memory is
//! exhausted, the file is used earlier.
//!
//! ```text
//! 0                                 limits.held()        len()   limits.held() + limits.spill()
//! ├───────┬───────┬───────┬──────────┼─────────┬──────────┼───────┤
//! │ PIECE │ PIECE │ PIECE │ the last │ written │ gathered │ free  │
//! └───────┴───────┴───────┴──────────┼─────────┼──────────┴───────┘
//! │            memory                │  file   │
//! ```
//!
//! Example with `held` = 100 and `spill` = 50: of three texts of 80, 40 and 40 bytes, the first one fills memory up to
//! 80. The second one is split: 20 bytes for memory, 20 for the file. The third one exceeds the sum of 150 and is an
//! error.

use crate::error::{Error, LimitName, Raise};
use crate::limits::{Limits, Meter, PoolShare};
use crate::spill::{PIECE, Spill};
use crate::test_work::{WorkKind, count, words};

/// Held bytes: first `memory`, then `spilled`.
#[derive(Debug, Default)]
pub struct Hold {
    /// Pieces of [`PIECE`] bytes; only the last one may be shorter. Apart from the first one, a piece is not moved
    /// when bytes are added.
    memory: Vec<Vec<u8>>,
    /// Bytes in `memory`.
    in_memory: u64,
    /// The bytes for the file. All further ones go there once there is one, to keep the order.
    spilled: Spill,
    /// The share of a pool that these bytes take, if the limits have one.
    share: PoolShare,
}

impl Hold {
    /// Returns the number of held bytes.
    pub fn len(&self) -> u64 {
        self.in_memory + self.spilled.len()
    }

    /// Returns the number of bytes that `limits` allow to be held.
    pub fn capacity(limits: &Limits) -> u64 {
        limits.held().saturating_add(limits.spill())
    }

    /// Returns the error of a run that would have to hold more.
    pub fn overflow(limits: &Limits) -> Raise {
        let capacity = Self::capacity(limits);
        Raise::limit(LimitName::HeldAndSpill, format!("buffer limit of {capacity} bytes exceeded"))
    }

    /// Places the error of a text that is too long to be held. The offset does not depend on chunks.
    pub fn place(limits: &Limits, raise: Raise) -> Error {
        Error::at(raise, Self::capacity(limits), String::new())
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// They exceed the limits, or the file cannot be written. Then only a part of the bytes may have been stored.
    pub fn push(&mut self, bytes: &[u8], limits: &Limits, meter: &mut Meter) -> Result<(), Raise> {
        if self.len().saturating_add(bytes.len() as u64) > Self::capacity(limits) {
            return Err(Self::overflow(limits));
        }
        let room = limits.held().saturating_sub(self.in_memory);
        let room = if self.spilled.is_empty() { room } else { 0 };
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let room = self.share.take_memory(limits, bytes.len().min(room));
        let (memory, file) = bytes.split_at(bytes.len().min(room));
        if !memory.is_empty() {
            meter.charge(LimitName::Held, limits.held(), self.in_memory, memory.len() as u64)?;
            self.remember(memory);
        }
        if !file.is_empty() {
            let (name, bytes) = (LimitName::HeldAndSpill, file.len() as u64);
            meter.charge(name, limits.spill(), self.spilled.len(), bytes)?;
            self.share.take_disk(limits, bytes)?;
            self.spill(file, limits)
                .map_err(|error| Raise::spill("cannot write the temporary file", error))?;
        }
        Ok(())
    }

    /// Appends bytes to `memory`.
    fn remember(&mut self, mut bytes: &[u8]) {
        self.in_memory += bytes.len() as u64;
        while !bytes.is_empty() {
            let full = self.memory.last().is_none_or(|piece| piece.len() == PIECE);
            if full {
                // The first piece grows as needed. Further pieces are allocated in full.
                let room = if self.memory.is_empty() { 0 } else { PIECE };
                self.memory.push(Vec::with_capacity(room));
            }
            let Some(piece) = self.memory.last_mut() else { return };
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - piece.len()));
            count(WorkKind::Hold, words(now.len()));
            piece.extend_from_slice(now);
            bytes = later;
        }
    }

    /// Appends bytes to the file. They stay in memory while the driver does not allow the disk.
    ///
    /// # Errors
    /// The file cannot be created or written.
    fn spill(&mut self, bytes: &[u8], limits: &Limits) -> std::io::Result<()> {
        if limits.allow_disk() {
            return self.spilled.push(bytes);
        }
        self.spilled.gather(bytes);
        Ok(())
    }

    /// Passes the bytes on, in order and in pieces, and forgets them. Ends early when `take` returns `false`. Memory
    /// is released piece by piece, so the users of the bytes may hold them again. `failed` turns an error of the file
    /// into that of the caller.
    ///
    /// # Errors
    /// `take` fails, or the file cannot be read. The rest of the bytes is lost.
    pub fn drain<E>(
        &mut self,
        meter: &mut Meter,
        mut take: impl FnMut(&mut Meter, &[u8]) -> Result<bool, E>,
        failed: impl FnOnce(Raise) -> E,
    ) -> Result<(), E> {
        let Self { memory, spilled, mut share, .. } = std::mem::take(self);
        let mut more = true;
        for piece in memory {
            count(WorkKind::Hold, words(piece.len()));
            more = more && take(meter, &piece)?;
            meter.release(piece.len() as u64);
            share.release_memory(piece.len());
        }
        if more {
            let all = 0..spilled.len();
            spilled.each_chunk(
                all,
                |piece| take(meter, piece),
                |error| failed(unreadable(error)),
            )?;
        }
        meter.release(spilled.len());
        Ok(())
    }

    /// Passes the bytes on, in order and in pieces, and keeps them. Ends early when `take` returns `false`. May be
    /// called again, and then begins with the first byte.
    ///
    /// # Errors
    /// `take` fails, or the file cannot be read.
    pub fn visit<E>(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
        failed: impl FnOnce(Raise) -> E,
    ) -> Result<(), E> {
        for piece in &self.memory {
            count(WorkKind::Hold, words(piece.len()));
            if !take(piece)? {
                return Ok(());
            }
        }
        let all = 0..self.spilled.len();
        self.spilled.each_chunk(all, take, |error| failed(unreadable(error)))?;
        Ok(())
    }

    /// Replaces `into` with the bytes from offset `at` on: as many as are stored contiguously. Empty if `at` is the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_at(&mut self, at: u64, into: &mut Vec<u8>) -> Result<(), Raise> {
        self.read_part(at, PIECE, into)
    }

    /// Like [`read_at`](Self::read_at), but for at most `most` bytes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_part(&self, at: u64, most: usize, into: &mut Vec<u8>) -> Result<(), Raise> {
        into.clear();
        self.append_part(at, most, into)
    }

    /// Like [`read_part`](Self::read_part), but appends the bytes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn append_part(&self, at: u64, most: usize, into: &mut Vec<u8>) -> Result<(), Raise> {
        let most = most.min(PIECE);
        if let Some(at) = at.checked_sub(self.in_memory) {
            let copy = |piece: &[u8]| {
                into.extend_from_slice(piece);
                Ok(false)
            };
            return self.spilled.each_chunk(at..at + most as u64, copy, unreadable).map(|_| ());
        }
        // All pieces but the last are full.
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let piece = self.memory.get(at / PIECE).and_then(|piece| piece.get(at % PIECE..));
        let piece = piece.unwrap_or_default();
        let piece = piece.get(..most).unwrap_or(piece);
        into.extend_from_slice(piece);
        count(WorkKind::Hold, words(piece.len()));
        Ok(())
    }

    /// Forgets the bytes.
    pub fn clear(&mut self, meter: &mut Meter) {
        meter.release(self.len());
        *self = Self::default();
    }
}

/// Returns the error of a file that cannot be read.
fn unreadable(error: std::io::Error) -> Raise {
    Raise::spill("cannot read the temporary file", error)
}
