//! A sink over a writer, and a reader that copies its input.

use std::fs::File;
use std::io::{ErrorKind as IoKind, Write};

use tamis_json::error::Error;
use tamis_json::sink::Sink;

use super::file::FileReader;

/// Size of the buffer.
const BUFFER: usize = 64 << 10;

/// A [`Sink`] that writes to a [`Write`]r.
///
/// Small pieces are buffered. After an error of the writer all further output is dropped; [`flush`](Self::flush) returns that error.
///
/// ```
/// use tamis::{Sink, WriteSink};
///
/// let mut sink = WriteSink::new(Vec::new());
/// sink.write(b"abc");
/// sink.flush()?;
/// assert_eq!(sink.get_ref(), b"abc");
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
pub struct WriteSink<W> {
    writer: W,
    buffer: Vec<u8>,
    error: Option<std::io::Error>,
    closed: bool,
}

impl<W: Write> WriteSink<W> {
    /// Creates a sink that writes to `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer, buffer: Vec::new(), error: None, closed: false }
    }

    /// Writes all buffered output and flushes the writer.
    ///
    /// # Errors
    /// [`ErrorKind::Write`](crate::ErrorKind::Write): the first error of the writer, once.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.hand_on();
        if !self.closed
            && let Err(error) = self.writer.flush()
        {
            self.fail(error);
        }
        match self.error.take() {
            Some(error) => Err(Error::write(error)),
            None => Ok(()),
        }
    }

    /// Returns the first error of the writer, once, without writing what is buffered.
    #[doc(hidden)]
    pub fn check(&mut self) -> Result<(), Error> {
        self.error.take().map_or(Ok(()), |error| Err(Error::write(error)))
    }

    /// Returns the writer.
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// Consumes the sink and returns the writer. Buffered output is lost: call [`flush`](Self::flush) first.
    pub fn into_inner(self) -> W {
        self.writer
    }

    fn hand_on(&mut self) {
        if !self.buffer.is_empty() {
            if !self.closed
                && let Err(error) = self.writer.write_all(&self.buffer)
            {
                self.fail(error);
            }
            self.buffer.clear();
        }
    }

    fn fail(&mut self, error: std::io::Error) {
        self.closed = true;
        self.error.get_or_insert(error);
    }
}

impl<W: Write> Sink for WriteSink<W> {
    fn write(&mut self, bytes: &[u8]) {
        if self.closed {
            return;
        }
        if self.buffer.len() + bytes.len() > BUFFER {
            self.hand_on();
        }
        if bytes.len() >= BUFFER {
            if let Err(error) = self.writer.write_all(bytes) {
                self.fail(error);
            }
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn is_closed(&self) -> bool {
        self.closed
    }
}

/// A reader that copies everything it reads to a writer first: an audit record of the unfiltered document.
///
/// The record contains everything that the filter has seen. It is unredacted: store it only where the document itself may be stored.
///
/// ```
/// use tamis::{Program, Spec, TeeReader, filter_reader};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let mut record = Vec::new();
/// let document = &br#"{"id": 1, "x": 2}"#[..];
/// filter_reader(&program, TeeReader::new(document, &mut record), std::io::sink())?;
/// assert_eq!(record, document);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
pub struct TeeReader<R, W> {
    reader: R,
    record: W,
}

impl<R, W> TeeReader<R, W> {
    /// Creates a reader over `reader` that copies to `record`.
    pub fn new(reader: R, record: W) -> Self {
        Self { reader, record }
    }
}

impl<R: FileReader, W: Write> FileReader for TeeReader<R, W> {
    fn file(&mut self) -> &mut File {
        self.reader.file()
    }
}

impl<R: std::io::Read, W: Write> std::io::Read for TeeReader<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let read = buffer.get(..count).unwrap_or_default();
        let recorded =
            if read.is_empty() { self.record.flush() } else { self.record.write_all(read) };
        recorded.map_err(|error| {
            // An interrupted write must not look like an interrupted read: the bytes would be read twice.
            let kind =
                if error.kind() == IoKind::Interrupted { IoKind::Other } else { error.kind() };
            std::io::Error::new(kind, format!("cannot write the copy of the input: {error}"))
        })?;
        Ok(count)
    }
}
