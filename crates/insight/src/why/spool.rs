//! A document that is read several times: in memory up to a limit, then in an anonymous temporary file.

use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use tempfile::SpooledTempFile;

use tamis_json::error::{Error, ErrorKind};
use tamis_json::limits::Limits;

/// The number of bytes that a cursor reads at once.
const PAGE: usize = 64 << 10;

/// A complete document.
#[derive(Debug)]
pub(super) struct Spool {
    file: RefCell<SpooledTempFile>,
    len: u64,
    /// The largest length.
    capacity: u64,
    /// The document is longer than `capacity`.
    is_full: bool,
    /// The first error of a cursor, which then sees the end of the document.
    failed: RefCell<Option<io::Error>>,
}

impl Spool {
    /// Creates an empty document that may be as long as a run may hold.
    pub(super) fn new(limits: &Limits) -> Self {
        let in_memory = usize::try_from(limits.held()).unwrap_or(usize::MAX);
        Self {
            file: RefCell::new(SpooledTempFile::new(in_memory)),
            len: 0,
            capacity: limits.held().saturating_add(limits.spill()),
            is_full: false,
            failed: RefCell::new(None),
        }
    }

    /// Returns the length in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the error of a document that was too long or could not be written, instead of the error of the run that
    /// wrote it.
    pub(super) fn blame(&self, error: Error) -> Error {
        if !self.is_full {
            return error;
        }
        let message = format!(
            "a document between two rules exceeds the buffer limit of {} bytes (raise held or spill)",
            self.capacity
        );
        Error::new(ErrorKind::Limit, message)
    }

    /// Returns the error of the cursors, if one of them failed.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.failed.borrow_mut().take().map_or(Ok(()), |error| Err(Error::read(error)))
    }

    /// Reads bytes from an offset into `page`, which becomes empty at the end of the document.
    fn load(&self, from: u64, page: &mut Vec<u8>) {
        page.clear();
        let mut file = self.file.borrow_mut();
        let read = file
            .seek(SeekFrom::Start(from))
            .and_then(|_| (&mut *file).take(PAGE as u64).read_to_end(page));
        if let Err(error) = read {
            page.clear();
            self.failed.borrow_mut().get_or_insert(error);
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.len.saturating_add(bytes.len() as u64) > self.capacity {
            self.is_full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = self.file.get_mut().write(bytes)?;
        self.len += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A position in a document that was written by a filter, and so is valid JSON without white space.
///
/// Methods that expect another document than there is read to its end: the caller finds that the lengths disagree.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    spool: &'a Spool,
    page: Vec<u8>,
    /// The offset of the page.
    start: u64,
    /// The position in the page.
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the first byte.
    pub(super) fn new(spool: &'a Spool) -> Self {
        Self { spool, page: Vec::new(), start: 0, at: 0 }
    }

    /// Returns the offset of the next byte.
    pub(super) fn pos(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Moves to an offset.
    pub(super) fn seek(&mut self, pos: u64) {
        let inside = pos.checked_sub(self.start).filter(|at| *at < self.page.len() as u64);
        match inside {
            Some(at) => self.at = at as usize,
            None => {
                self.page.clear();
                (self.start, self.at) = (pos, 0);
            }
        }
    }

    /// Returns the next byte without moving.
    pub(super) fn peek(&mut self) -> Option<u8> {
        if let Some(byte) = self.page.get(self.at) {
            return Some(*byte);
        }
        let pos = self.pos();
        if pos >= self.spool.len {
            return None;
        }
        self.spool.load(pos, &mut self.page);
        (self.start, self.at) = (pos, 0);
        self.page.first().copied()
    }

    /// Moves over the next byte, and returns it.
    pub(super) fn bump(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Moves over the next byte if it is this one.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Passes the bytes of a range to `read`, in parts. Does not keep the position.
    pub(super) fn visit(&mut self, range: Range<u64>, mut read: impl FnMut(&[u8])) {
        self.seek(range.start);
        let mut left = range.end.saturating_sub(range.start);
        while left > 0 && self.peek().is_some() {
            let rest = self.page.get(self.at..).unwrap_or_default();
            let part = rest.get(..usize::try_from(left).unwrap_or(usize::MAX)).unwrap_or(rest);
            read(part);
            let count = part.len();
            self.at += count;
            left -= count as u64;
        }
    }
}
