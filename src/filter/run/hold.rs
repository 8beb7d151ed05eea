//! The one place where bytes wait for a decision: memory first, then an anonymous temporary file, then an error.
//!
//! Knows nothing of what the bytes are. The file has no name and goes with the process; it is made only when memory is
//! full, and never if the limit `spill` is 0. Drivers whose thread must not wait for the disk keep away from it for one step
//! at a time, through [`off_disk`].

#[cfg(feature = "tokio")]
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use crate::error::{Error, LimitName, Raise};
use crate::limits::{Limits, Meter};
use crate::test_work::{WorkKind, count, words};

/// Bytes that are kept, and read back, in one piece: memory grows by no more than it needs.
const PIECE: usize = 64 << 10;

#[derive(Debug, Default)]
pub(crate) struct Hold {
    memory: Vec<Vec<u8>>,
    in_memory: u64,
    file: Option<File>,
    in_file: u64,
    /// The last of them, on their way to the file, which takes no small pieces.
    gathered: Vec<u8>,
}

impl Hold {
    /// Bytes that wait.
    pub(crate) fn len(&self) -> u64 {
        self.in_memory + self.in_file
    }

    /// All that `limits` allow to wait.
    pub(crate) fn capacity(limits: &Limits) -> u64 {
        limits.held().saturating_add(limits.spill())
    }

    /// The error of a run that would have to hold more.
    pub(crate) fn overflow(limits: &Limits) -> Raise {
        let capacity = Self::capacity(limits);
        Raise::limit(
            LimitName::HeldAndSpill,
            format!("more than {capacity} bytes would have to wait"),
        )
    }

    /// Places the error of a text of which more would have to wait: which byte is too much does not depend on chunks.
    pub(crate) fn place(limits: &Limits, raise: Raise) -> Error {
        Error::at(raise, Self::capacity(limits), String::new())
    }

    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
        meter: &mut Meter,
    ) -> Result<(), Raise> {
        if self.len().saturating_add(bytes.len() as u64) > Self::capacity(limits) {
            return Err(Self::overflow(limits));
        }
        // Once a file is there, all goes to it: the order must stay.
        let room = limits.held().saturating_sub(self.in_memory);
        let room =
            if self.file.is_some() { 0 } else { usize::try_from(room).unwrap_or(usize::MAX) };
        let (memory, file) = bytes.split_at(bytes.len().min(room));
        if !memory.is_empty() {
            meter.charge(LimitName::Held, limits.held(), self.in_memory, memory.len() as u64)?;
            self.remember(memory);
        }
        if !file.is_empty() {
            meter.charge(
                LimitName::HeldAndSpill,
                limits.spill(),
                self.in_file,
                file.len() as u64,
            )?;
            self.spill(file)
                .map_err(|error| Raise::spill("the temporary file cannot be written", error))?;
        }
        Ok(())
    }

    fn remember(&mut self, mut bytes: &[u8]) {
        self.in_memory += bytes.len() as u64;
        while !bytes.is_empty() {
            let full = self.memory.last().is_none_or(|piece| piece.len() == PIECE);
            if full {
                // The first piece grows as needed; more than one is much anyway.
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

    fn spill(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.in_file += bytes.len() as u64;
        count(WorkKind::Hold, words(bytes.len()));
        if is_off_disk() {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        if self.gathered.len() + bytes.len() > PIECE {
            count(WorkKind::Hold, words(self.gathered.len()));
            file.write_all(&self.gathered)?;
            self.gathered.clear();
        }
        if bytes.len() >= PIECE {
            file.write_all(bytes)?;
        } else {
            self.gathered.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Hands the bytes on, in order and in pieces, and forgets them. Ends early when `take` says so by `false`.
    pub(crate) fn drain<E>(
        &mut self,
        meter: &mut Meter,
        mut take: impl FnMut(&mut Meter, &[u8]) -> Result<bool, E>,
        failed: impl FnOnce(Raise) -> E,
    ) -> Result<(), E> {
        let Self { memory, file, in_file, gathered, .. } = std::mem::take(self);
        let mut more = true;
        count(WorkKind::Hold, words(gathered.len()));
        for piece in memory {
            count(WorkKind::Hold, words(piece.len()));
            more = more && take(meter, &piece)?;
            meter.release(piece.len() as u64);
        }
        if let Some(mut file) = file
            && more
        {
            more = read_all(&mut file, |piece| take(meter, piece), failed)?;
        }
        if more && !gathered.is_empty() {
            take(meter, &gathered)?;
        }
        meter.release(in_file);
        Ok(())
    }

    /// Shows the bytes, in order and in pieces, and keeps them. Ends early when `take` says so by `false`.
    pub(crate) fn visit<E>(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
        failed: impl FnOnce(Raise) -> E,
    ) -> Result<(), E> {
        count(WorkKind::Hold, words(self.gathered.len()));
        for piece in &self.memory {
            count(WorkKind::Hold, words(piece.len()));
            if !take(piece)? {
                return Ok(());
            }
        }
        if let Some(file) = &mut self.file
            && !read_all(file, &mut take, failed)?
        {
            return Ok(());
        }
        if !self.gathered.is_empty() {
            take(&self.gathered)?;
        }
        Ok(())
    }

    /// Reads some of the bytes, from the one at `at` on, in place of what is in `into`: as many as lie together, none behind
    /// the last. They stay. Nothing may be pushed after that.
    pub(crate) fn read_at(&mut self, at: u64, into: &mut Vec<u8>) -> Result<(), Raise> {
        into.clear();
        let written = self.in_file - self.gathered.len() as u64;
        match (at.checked_sub(self.in_memory), &mut self.file) {
            (None, _) => {
                // All pieces in front of the last are full.
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                let piece = self.memory.get(at / PIECE).and_then(|piece| piece.get(at % PIECE..));
                into.extend_from_slice(piece.unwrap_or_default());
            }
            (Some(at), Some(file)) if at < written => {
                file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
                let piece = (written - at).min(PIECE as u64);
                file.take(piece).read_to_end(into).map_err(unreadable)?;
            }
            (Some(at), _) => {
                let at = usize::try_from(at - written).unwrap_or(usize::MAX);
                into.extend_from_slice(self.gathered.get(at..).unwrap_or_default());
            }
        }
        count(WorkKind::Hold, words(into.len()));
        Ok(())
    }

    /// Forgets the bytes.
    pub(crate) fn clear(&mut self, meter: &mut Meter) {
        meter.release(self.len());
        *self = Self::default();
    }
}

/// Whether this thread keeps away from the disk.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Disk {
    Open,
    Closed,
    /// Closed, and something would have gone there.
    Wanted,
}

#[cfg(feature = "tokio")]
thread_local! {
    static DISK: Cell<Disk> = const { Cell::new(Disk::Open) };
}

/// Runs `step` without touching the disk: what would go there stays in memory, for now. Tells whether anything did; then the
/// next step has to be where a thread may wait. What was written by a step without this must be read by one without it.
#[cfg(feature = "tokio")]
pub(crate) fn off_disk<T>(step: impl FnOnce() -> T) -> (T, bool) {
    /// Opens it again, whatever becomes of the step.
    struct Opens;
    impl Drop for Opens {
        fn drop(&mut self) {
            DISK.set(Disk::Open);
        }
    }
    let opens = Opens;
    DISK.set(Disk::Closed);
    let done = step();
    let wanted = DISK.get() == Disk::Wanted;
    drop(opens);
    (done, wanted)
}

/// Whether the disk is closed to this thread; that it was wanted is remembered.
#[cfg(feature = "tokio")]
fn is_off_disk() -> bool {
    let closed = DISK.get() != Disk::Open;
    if closed {
        DISK.set(Disk::Wanted);
    }
    closed
}

/// Without drivers that ask for it, no thread keeps away from the disk.
#[cfg(not(feature = "tokio"))]
const fn is_off_disk() -> bool {
    false
}

/// Hands on a file from its beginning. False if `take` wanted no more.
fn read_all<E>(
    file: &mut File,
    mut take: impl FnMut(&[u8]) -> Result<bool, E>,
    failed: impl FnOnce(Raise) -> E,
) -> Result<bool, E> {
    let mut piece = vec![0; PIECE];
    count(WorkKind::Hold, words(PIECE));
    if let Err(error) = file.seek(SeekFrom::Start(0)) {
        return Err(failed(unreadable(error)));
    }
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(true),
            Ok(length) => {
                count(WorkKind::Hold, words(length));
                if !take(piece.get(..length).unwrap_or_default())? {
                    return Ok(false);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(unreadable(error))),
        }
    }
}

fn unreadable(error: std::io::Error) -> Raise {
    Raise::spill("the temporary file cannot be read", error)
}
