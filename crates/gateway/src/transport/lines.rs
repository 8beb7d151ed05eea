//! Messages as lines: the framing of MCP over standard input and output.
//!
//! A line ends with LF. A CR before it belongs to the message, for which it is white space. The last line may lack its
//! end: the process that wrote it was perhaps killed, so the reader reports that.

use std::io::{self, ErrorKind, IoSlice, Read, Write};

use tamis_mcp::OverflowScan;
use tamis_mcp::spool::{Spool, SpoolError, SpoolLimits};

/// Bytes that are read at once: as many as a pipe holds.
const BUFFER: usize = 64 << 10;

/// A line that was read.
pub enum Line {
    /// A line within the limits, without its end.
    Message {
        /// The bytes.
        spool: Spool,
        /// Whether the line had an end. Only the last line may lack it.
        ended: bool,
    },
    /// A line beyond the limits. It was read to its end, and only the routing members that the scan found were kept.
    TooLong(OverflowScan),
}

/// Reads lines of any length in constant memory.
pub struct LineReader<R> {
    input: R,
    buffer: Box<[u8]>,
    /// The bytes of `buffer` that were read and not returned.
    start: usize,
    end: usize,
    limits: SpoolLimits,
}

impl<R: Read> LineReader<R> {
    /// Creates a reader. `limits` apply to each line.
    pub fn new(input: R, limits: SpoolLimits) -> Self {
        Self { input, buffer: vec![0; BUFFER].into_boxed_slice(), start: 0, end: 0, limits }
    }

    /// Reads a line. Returns `None` at the end of the input.
    ///
    /// # Errors
    /// The error of the input. A temporary file that cannot be written is not an error: the line is too long then.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut line = Collecting::Message(Spool::new(self.limits));
        let mut any = false;
        loop {
            if self.start == self.end && !self.fill()? {
                return Ok(any.then(|| line.finish(false)));
            }
            let read = self.buffer.get(self.start..self.end).unwrap_or_default();
            let found = memchr::memchr(b'\n', read);
            let piece = found.map_or(read, |at| read.split_at(at).0);
            line.push(piece);
            any = true;
            self.start += piece.len() + usize::from(found.is_some());
            if found.is_some() {
                return Ok(Some(line.finish(true)));
            }
        }
    }

    /// Reads the next bytes. Returns whether there were any.
    fn fill(&mut self) -> io::Result<bool> {
        self.start = 0;
        self.end = 0;
        loop {
            match self.input.read(&mut self.buffer) {
                Ok(count) => {
                    self.end = count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A message while its bytes arrive: collected up to the limits, and scanned for its routing members beyond them.
///
/// ```text
///              limit exceeded,
///              or the disk is full
///   Message ───────────────────────▶ TooLong
/// ```
#[derive(Debug)]
pub(crate) enum Collecting {
    Message(Spool),
    TooLong(OverflowScan),
}

impl Collecting {
    /// Adds bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Message(spool) => {
                if spool.push(bytes).is_err() {
                    let mut scan = scan_of(spool);
                    scan.write(bytes);
                    *self = Self::TooLong(scan);
                }
            }
            Self::TooLong(scan) => scan.write(bytes),
        }
    }

    fn finish(self, ended: bool) -> Line {
        match self {
            Self::Message(spool) => Line::Message { spool, ended },
            Self::TooLong(scan) => Line::TooLong(scan),
        }
    }
}

/// Begins the scan of a message with the bytes that were collected.
pub(crate) fn scan_of(spool: &Spool) -> OverflowScan {
    let mut scan = OverflowScan::new();
    // A part that cannot be read back is missing in the scan: its members are not found, and the message is refused.
    _ = spool.each_chunk(0..spool.len(), |chunk| {
        scan.write(chunk);
        Ok::<_, SpoolError>(())
    });
    scan
}

/// Writes a message and the end of its line. A short message takes a single system call.
///
/// # Errors
/// The error of the output, or of the temporary file of the message.
pub fn write_line(output: &mut impl Write, message: &Spool) -> io::Result<()> {
    if let Some(bytes) = message.as_slice() {
        return write_both(output, bytes, b"\n");
    }
    write_spool(output, message)?;
    output.write_all(b"\n")
}

/// Writes a message without an end of line.
///
/// # Errors
/// The error of the output, or of the temporary file of the message.
pub fn write_spool(output: &mut impl Write, message: &Spool) -> io::Result<()> {
    let written = message
        .each_chunk(0..message.len(), |chunk| output.write_all(chunk).map_err(SpoolError::Io));
    written.map_err(|error| match error {
        SpoolError::Io(error) => error,
        other => io::Error::other(other),
    })
}

/// Writes two slices as if they were one.
fn write_both(output: &mut impl Write, first: &[u8], second: &[u8]) -> io::Result<()> {
    loop {
        match output.write_vectored(&[IoSlice::new(first), IoSlice::new(second)]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                output.write_all(first.get(count..).unwrap_or_default())?;
                let rest = count.saturating_sub(first.len());
                return output.write_all(second.get(rest..).unwrap_or_default());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::{BUFFER, Line, LineReader, write_line};
    use tamis_mcp::spool::{Spool, SpoolLimits};

    /// Returns the bytes in pieces of a fixed size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(into.len()).min(self.0.len());
            let (piece, rest) = self.0.split_at(count);
            into[..count].copy_from_slice(piece);
            self.0 = rest;
            Ok(count)
        }
    }

    /// The lines of an input: `None` for one that is too long, and the flag for its end.
    fn lines(input: &[u8], piece: usize, limits: SpoolLimits) -> Vec<Option<(Vec<u8>, bool)>> {
        let mut reader = LineReader::new(Pieces(input, piece), limits);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            lines.push(match line {
                Line::Message { spool, ended } => Some((spool.into_vec().unwrap(), ended)),
                Line::TooLong(_) => None,
            });
        }
        lines
    }

    #[test]
    fn lines_end_at_lf_only() {
        let cases: [(&str, &[(&str, bool)]); 6] = [
            ("", &[]),
            ("\n", &[("", true)]),
            ("a\nb", &[("a", true), ("b", false)]),
            ("a\r\n\r\nb\r", &[("a\r", true), ("\r", true), ("b\r", false)]),
            ("\u{85}\u{2028}\u{b}\u{c}\n", &[("\u{85}\u{2028}\u{b}\u{c}", true)]),
            ("a\n\n", &[("a", true), ("", true)]),
        ];
        for (input, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(line, end)| Some((line.as_bytes().to_vec(), *end))).collect();
            for piece in 1..=input.len().max(1) {
                let found = lines(input.as_bytes(), piece, SpoolLimits::default());
                assert_eq!(found, expected, "{input:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_skipped_and_the_next_is_read() {
        let limits = SpoolLimits { held: 3, spill: 4 };
        for piece in 1..30 {
            let found = lines(b"1234567\n12345678\nnext\n123456789", piece, limits);
            let kept = |line: &str| Some((line.as_bytes().to_vec(), true));
            assert_eq!(found, [kept("1234567"), None, kept("next"), None], "{piece}");
        }
    }

    #[test]
    fn long_lines_are_exact_around_the_size_of_the_buffer() {
        for length in [BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER] {
            let mut input = vec![b'x'; length];
            input.push(b'\n');
            input.extend_from_slice(b"tail\n");
            let found = lines(&input, usize::MAX, SpoolLimits { held: 1000, spill: 1 << 20 });
            assert_eq!(found.len(), 2);
            assert_eq!(found[0].as_ref().unwrap().0.len(), length);
            assert_eq!(found[1].as_ref().unwrap().0, b"tail");
        }
    }

    /// Accepts a fixed number of bytes at once.
    struct Slow(Vec<u8>, usize);

    impl io::Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.1);
            self.0.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
            let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            self.write(&all)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn short_writes_lose_nothing() {
        for held in [0, 3, 100] {
            for count in 1..8 {
                let mut spool = Spool::new(SpoolLimits { held, spill: 100 });
                spool.push(b"message").unwrap();
                let mut output = Slow(Vec::new(), count);
                write_line(&mut output, &spool).unwrap();
                assert_eq!(output.0, b"message\n");
            }
        }
    }
}
