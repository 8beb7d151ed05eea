//! A message, in memory while it is short and otherwise in an anonymous temporary file.
//!
//! Whether a message may be forwarded can depend on its last bytes: the id may be its last member, and a filter may fail
//! at its last item. So a message is collected first, and written to its receiver when everything is decided. A
//! [`Spool`] bounds the memory that this takes.

mod spare;

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use tamis::Sink;
use tamis_json::spill::Spill;

/// How much one message may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolLimits {
    /// Bytes in memory.
    pub held: u64,
    /// Bytes in the temporary file, in addition. With 0, the disk is never used.
    pub spill: u64,
}

impl Default for SpoolLimits {
    /// 4 MiB in memory, 1 GiB on disk.
    fn default() -> Self {
        Self { held: 4 << 20, spill: 1 << 30 }
    }
}

/// Bytes that are written once, in order, and read any number of times, at any place.
///
/// ```
/// use tamis_mcp::spool::{Spool, SpoolError, SpoolLimits};
///
/// let mut spool = Spool::new(SpoolLimits { held: 4, spill: 100 });
/// spool.push(b"in memory, ")?;
/// spool.push(b"then in a file")?;
/// assert_eq!(spool.to_vec(3..9, 100)?, b"memory");
/// assert_eq!(spool.as_slice(), None);
/// # Ok::<(), SpoolError>(())
/// ```
pub struct Spool {
    limits: SpoolLimits,
    memory: Vec<u8>,
    spilled: Spill,
    /// The first error of a write through [`Sink`].
    error: Option<SpoolError>,
}

impl Spool {
    /// Creates an empty spool.
    #[must_use]
    pub fn new(limits: SpoolLimits) -> Self {
        Self { limits, memory: Vec::new(), spilled: Spill::default(), error: None }
    }

    /// Wraps bytes that are in memory already, whatever their number. Nothing can be added.
    #[must_use]
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        let mut spool = Self::new(SpoolLimits { held: bytes.len() as u64, spill: 0 });
        spool.memory = bytes;
        spool
    }

    /// Returns how much the spool may take.
    #[must_use]
    pub fn limits(&self) -> SpoolLimits {
        self.limits
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.memory.len() as u64 + self.spilled.len()
    }

    /// Returns whether there is no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all bytes, if none of them is on disk.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[u8]> {
        self.is_in_memory().then_some(&self.memory)
    }

    fn is_in_memory(&self) -> bool {
        self.spilled.is_empty()
    }

    /// Returns the first error of a write through [`Sink`], which cannot report it.
    #[must_use]
    pub fn error(&self) -> Option<&SpoolError> {
        self.error.as_ref()
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`SpoolError::Full`] if the limits do not allow that many, and [`SpoolError::Io`] if the file cannot be written.
    /// None of the bytes counts then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        let room = self.limits.held.saturating_sub(self.memory.len() as u64);
        let room =
            if self.is_in_memory() { usize::try_from(room).unwrap_or(usize::MAX) } else { 0 };
        let (memory, file) = bytes.split_at(bytes.len().min(room));
        if !file.is_empty() {
            if self.spilled.len().saturating_add(file.len() as u64) > self.limits.spill {
                return Err(SpoolError::Full { limit: self.limits.held + self.limits.spill });
            }
            self.spilled.push(file).map_err(SpoolError::Io)?;
        }
        self.make_room(memory.len());
        self.memory.extend_from_slice(memory);
        Ok(())
    }

    /// Makes room for further bytes in memory, in a buffer of an earlier message if there is one.
    fn make_room(&mut self, more: usize) {
        let wanted = self.memory.len() + more;
        if wanted > self.memory.capacity() && wanted > spare::SMALLEST {
            let mut larger = spare::take(wanted);
            larger.extend_from_slice(&self.memory);
            spare::give(std::mem::replace(&mut self.memory, larger));
        }
    }

    /// Returns the bytes in memory, to append at most `more`. `None`: that many would not stay in memory.
    pub(crate) fn memory_for(&mut self, more: u64) -> Option<&mut Vec<u8>> {
        let fits = self.memory.len() as u64 + more <= self.limits.held;
        if !self.is_in_memory() || !fits {
            return None;
        }
        self.make_room(usize::try_from(more).ok()?);
        Some(&mut self.memory)
    }

    /// Removes all bytes after the first `len`, and forgets an error of a write.
    pub fn truncate(&mut self, len: u64) {
        self.spilled.truncate(len.saturating_sub(self.memory.len() as u64));
        self.memory.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        self.error = None;
    }

    /// Calls `take` with the bytes of a range, in order and in pieces of any size. A range beyond the end is cut off.
    ///
    /// # Errors
    /// The error of `take`, or [`SpoolError::Io`] if the file cannot be read.
    pub fn each_chunk<E: From<SpoolError>>(
        &self,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let memory = slice(&self.memory, &range);
        if !memory.is_empty() {
            take(memory)?;
        }
        let before = self.memory.len() as u64;
        let range = range.start.saturating_sub(before)..range.end.saturating_sub(before);
        let take = |piece: &[u8]| take(piece).map(|()| true);
        self.spilled.each_chunk(range, take, |error| SpoolError::Io(error).into()).map(|_| ())
    }

    /// Copies a range.
    ///
    /// # Errors
    /// [`SpoolError::Full`] if the range has more than `at_most` bytes, and [`SpoolError::Io`] if the file cannot be
    /// read.
    pub fn to_vec(&self, range: Range<u64>, at_most: usize) -> Result<Vec<u8>, SpoolError> {
        let range = range.start..range.end.min(self.len());
        let length = range.end.saturating_sub(range.start);
        if length > at_most as u64 {
            return Err(SpoolError::Full { limit: at_most as u64 });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        self.each_chunk(range, |chunk| {
            bytes.extend_from_slice(chunk);
            Ok::<_, SpoolError>(())
        })?;
        Ok(bytes)
    }

    /// Returns all bytes.
    ///
    /// # Errors
    /// [`SpoolError::Io`] if the file cannot be read.
    pub fn into_vec(mut self) -> Result<Vec<u8>, SpoolError> {
        if self.is_in_memory() {
            return Ok(std::mem::take(&mut self.memory));
        }
        self.to_vec(0..self.len(), usize::MAX)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        spare::give(std::mem::take(&mut self.memory));
    }
}

impl Sink for Spool {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.push(bytes).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some()
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Shows sizes only: messages are data.
impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool")
            .field("len", &self.len())
            .field("on_disk", &(!self.is_in_memory()))
            .finish_non_exhaustive()
    }
}

/// The reason why a [`Spool`] took or returned no bytes.
#[derive(Debug)]
pub enum SpoolError {
    /// The message is longer than the limits allow.
    Full {
        /// The largest number of bytes.
        limit: u64,
    },
    /// The temporary file cannot be created, written or read.
    Io(io::Error),
}

impl fmt::Display for SpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { limit } => write!(f, "limit of {limit} bytes exceeded"),
            Self::Io(error) => write!(f, "cannot use a temporary file: {error}"),
        }
    }
}

impl std::error::Error for SpoolError {}

/// Returns the part of `bytes` that is in `range`.
fn slice<'a>(bytes: &'a [u8], range: &Range<u64>) -> &'a [u8] {
    let clamp = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    bytes.get(clamp(range.start)..clamp(range.end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tamis_json::spill::PIECE;

    use super::{Spool, SpoolError, SpoolLimits};

    fn filled(held: u64, pieces: &[usize]) -> (Spool, Vec<u8>) {
        let mut spool = Spool::new(SpoolLimits { held, spill: 1 << 20 });
        let mut all = Vec::new();
        for (number, size) in pieces.iter().enumerate() {
            let piece = vec![b'a' + number as u8 % 26; *size];
            spool.push(&piece).unwrap();
            all.extend_from_slice(&piece);
        }
        (spool, all)
    }

    #[test]
    fn ranges_are_the_same_in_memory_and_on_disk() {
        let sizes = [1, 5, PIECE - 3, 7, PIECE, PIECE + 1, 100];
        for held in [0, 1, 3, 6, PIECE as u64, PIECE as u64 + 9, 1 << 20] {
            let (spool, all) = filled(held, &sizes);
            assert_eq!(spool.len(), all.len() as u64);
            assert_eq!(spool.as_slice().is_some(), held >= all.len() as u64);
            for start in [0, 1, 4, 6, PIECE, PIECE + 4, 2 * PIECE, all.len() - 1, all.len()] {
                for end in [start, start + 1, start + PIECE, all.len(), all.len() + 5] {
                    let expected = &all[start..end.clamp(start, all.len())];
                    let range = start as u64..end as u64;
                    assert_eq!(spool.to_vec(range, usize::MAX).unwrap(), expected);
                }
            }
            assert_eq!(spool.into_vec().unwrap(), all);
        }
    }

    #[test]
    fn a_cut_spool_can_be_continued() {
        for held in [0, 3, 1 << 20] {
            for cut in [0, 2, 3, 4, 10, PIECE, PIECE + 12] {
                let (mut spool, mut all) = filled(held, &[10, PIECE, 20]);
                spool.truncate(cut as u64);
                all.truncate(cut);
                spool.push(b"end").unwrap();
                all.extend_from_slice(b"end");
                assert_eq!(spool.to_vec(0..u64::MAX, usize::MAX).unwrap(), all, "{held} {cut}");
            }
        }
    }

    #[test]
    fn limits_hold() {
        let mut spool = Spool::new(SpoolLimits { held: 4, spill: 4 });
        spool.push(b"12345678").unwrap();
        assert!(matches!(spool.push(b"9"), Err(SpoolError::Full { limit: 8 })));
        assert_eq!(spool.to_vec(0..9, 9).unwrap(), b"12345678");
        assert!(matches!(spool.to_vec(0..9, 7), Err(SpoolError::Full { limit: 7 })));
        tamis::Sink::write(&mut spool, b"9");
        assert!(spool.error().is_some());
        spool.truncate(1);
        assert!(spool.error().is_none());
    }
}
