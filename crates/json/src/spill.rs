//! Bytes in an anonymous temporary file, whose end is gathered in memory.
//!
//! The file has no name and disappears with the process. It is created when more than a piece was gathered, so that few bytes
//! do not need a file, and small chunks do not cost a system call each. Reading does not move the end of the file.
//!
//! ```text
//! 0                written                len()
//! ├───────────────────┼─────────────────────┤
//! │       file        │      gathered       │
//! ```

use std::fs::File;
use std::io;
use std::ops::Range;

use crate::test_work::{WorkKind, count, words};

/// The most bytes that are gathered before they are written, and that are read at once.
pub const PIECE: usize = 64 << 10;

/// Bytes that are appended, and read at any place.
#[derive(Debug, Default)]
pub struct Spill {
    file: Option<File>,
    /// Bytes in `file`.
    written: u64,
    gathered: Vec<u8>,
}

impl Spill {
    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.written + self.gathered.len() as u64
    }

    /// Returns whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The file cannot be created or written. None of the bytes counts then.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.gathered.len() + bytes.len() <= PIECE {
            self.gather(bytes);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        count(WorkKind::Hold, words(self.gathered.len() + bytes.len()));
        write_all_at(file, &self.gathered, self.written)?;
        let end = self.written + self.gathered.len() as u64;
        write_all_at(file, bytes, end)?;
        self.written = end + bytes.len() as u64;
        self.gathered.clear();
        Ok(())
    }

    /// Appends bytes, and does not use the disk, whatever their number.
    pub fn gather(&mut self, bytes: &[u8]) {
        count(WorkKind::Hold, words(bytes.len()));
        self.gathered.extend_from_slice(bytes);
    }

    /// Removes all bytes after the first `len`.
    pub fn truncate(&mut self, len: u64) {
        let gathered = len.saturating_sub(self.written);
        self.gathered.truncate(usize::try_from(gathered).unwrap_or(usize::MAX));
        self.written = self.written.min(len);
    }

    /// Calls `take` with the bytes of a range, in order and in pieces, until it returns `false`. A range beyond the end is cut
    /// off. `failed` turns an error of the file into that of the caller. Returns what `take` returned last.
    ///
    /// # Errors
    /// `take` fails, or the file cannot be read.
    pub fn each_chunk<E>(
        &self,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
        failed: impl FnOnce(io::Error) -> E,
    ) -> Result<bool, E> {
        let mut at = range.start;
        let end = range.end.min(self.written);
        if let Some(file) = self.file.as_ref().filter(|_| at < end) {
            let mut piece = vec![0; PIECE];
            while at < end {
                let length = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
                let part = piece.get_mut(..length).unwrap_or_default();
                if let Err(error) = read_exact_at(file, part, at) {
                    return Err(failed(error));
                }
                count(WorkKind::Hold, words(length));
                if !take(part)? {
                    return Ok(false);
                }
                at += length as u64;
            }
        }
        let place =
            |at: u64| usize::try_from(at.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let end = place(range.end).min(self.gathered.len());
        match self.gathered.get(place(range.start)..end) {
            None | Some([]) => Ok(true),
            Some(gathered) => {
                count(WorkKind::Hold, words(gathered.len()));
                take(gathered)
            }
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

/// Other systems have no such calls in the standard library, or they move the position, too.
#[cfg(not(unix))]
fn read_exact_at(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    use std::io::{Read as _, Seek as _};

    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(bytes)
}

#[cfg(not(unix))]
fn write_all_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek as _, Write as _};

    file.seek(io::SeekFrom::Start(at))?;
    file.write_all(bytes)
}
