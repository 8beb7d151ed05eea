//! Reads lines of a bounded length.

use std::io::{self, BufRead, ErrorKind};

/// The most bytes of a line. Longer lines are skipped: the longest that agents write have the text of an image.
pub(crate) const LONGEST: usize = 32 << 20;

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Its bytes, without the end of the line.
    Bytes(&'a [u8]),
    /// It is too long.
    TooLong,
}

/// The lines of a reader, with one buffer for all.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    bytes: u64,
    longest: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), bytes: 0, longest: LONGEST }
    }

    /// Returns how many bytes were read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the next line.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        // A rare long line does not keep its memory.
        self.buffer.clear();
        self.buffer.shrink_to(1 << 20);
        let mut is_long = false;
        let mut read = 0_u64;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            is_long |= self.buffer.len() + part.len() > self.longest;
            if !is_long {
                self.buffer.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            read += used as u64;
            if end.is_some() {
                break;
            }
        }
        self.bytes += read;
        Ok(match (read, is_long) {
            (0, _) => None,
            (_, true) => Some(Line::TooLong),
            _ => Some(Line::Bytes(&self.buffer)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{Line, Lines};

    #[test]
    fn long_lines_are_skipped_and_the_next_one_is_read() {
        let text = format!("a\n{}\n\nlast", "x".repeat(1000));
        for buffer in [1, 7, 4096] {
            let mut lines = Lines::new(BufReader::with_capacity(buffer, text.as_bytes()));
            lines.longest = 100;
            assert_eq!(lines.next().unwrap(), Some(Line::Bytes(b"a")));
            assert_eq!(lines.next().unwrap(), Some(Line::TooLong));
            assert_eq!(lines.next().unwrap(), Some(Line::Bytes(b"")));
            assert_eq!(lines.next().unwrap(), Some(Line::Bytes(b"last")));
            assert_eq!(lines.next().unwrap(), None);
            assert_eq!(lines.bytes(), text.len() as u64);
        }
    }
}
