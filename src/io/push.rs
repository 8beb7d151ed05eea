//! The interface of filters that chunks are pushed into, and the loop that feeds one from a reader.
//!
//! This module handles I/O errors, retries and flushes, and does not depend on the filters.

use std::io::{ErrorKind as IoKind, Read, Write};

use tamis_json::error::Error;
use tamis_json::sink::Sink;

use super::records::{RecordForm, Records};
use super::sinks::WriteSink;

use crate::filter::Filter;
use crate::report::Report;

/// Bytes that are read at once.
pub(crate) const CHUNK: usize = 64 << 10;

/// A filter of any kind, as a driver sees it.
pub trait PushFilter {
    /// The receiver of the output.
    type Sink;

    /// Takes the next bytes.
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error>;

    /// Completes the output. Called once.
    fn end(&mut self) -> Result<(), Error>;

    /// Records an error of the driver, which ends the run.
    fn fail(&mut self, error: &Error);

    /// Returns whether further input is ignored.
    fn is_done(&self) -> bool {
        false
    }

    /// Returns the sink.
    fn sink_mut(&mut self) -> &mut Self::Sink;
}

/// Implements [`PushFilter`] for a type that has its methods, and more of them where `extra` says so.
macro_rules! push_filter {
    (impl[$($generics:tt)*] $name:ty, $sink:ty $(, $extra:item)*) => {
        impl<$($generics)*> PushFilter for $name {
            type Sink = $sink;

            fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
                Self::write(self, chunk)
            }

            fn end(&mut self) -> Result<(), Error> {
                Self::end(self).map(drop)
            }

            fn fail(&mut self, error: &Error) {
                Self::fail(self, error);
            }

            fn sink_mut(&mut self) -> &mut $sink {
                Self::sink_mut(self)
            }

            $($extra)*
        }
    };
}

push_filter! {
    impl[S: Sink] Filter<S>, S,
    fn is_done(&self) -> bool {
        Self::is_done(self)
    }
}
push_filter! {
    impl[C: RecordForm, S: Sink, F: FnMut(u64, &Error)] Records<C, S, F>, S,
    fn is_done(&self) -> bool {
        Self::is_done(self)
    }
}

impl<W: Write> Filter<WriteSink<W>> {
    /// Reads the document from `reader` until it ends or [no more is needed](Self::is_done), then ends the filter.
    ///
    /// Output is written after each read. Interrupted reads are retried.
    ///
    /// # Errors
    /// As for [`filter_reader`](crate::filter_reader). [`report`](Self::report) then returns the report with the error.
    ///
    /// ```
    /// use tamis::{Filter, Program, Spec, WriteSink};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let mut filter = Filter::new(&program, WriteSink::new(Vec::new()));
    /// filter.read_from(&b"[{\"id\": 1, \"x\": 2}]"[..])?;
    /// assert_eq!(filter.into_sink().into_inner(), b"[{\"id\":1}]");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn read_from(&mut self, reader: impl Read) -> Result<Report, Error> {
        read_all(self, reader)?;
        Ok(self.report())
    }
}

/// Feeds `filter` from `reader` until either ends, and ends it. Output is flushed after each read.
///
/// Errors of the reader and the writer are recorded by [`PushFilter::fail`]. An error of the writer takes precedence
/// over one of the filter in the same chunk.
pub fn read_all<P, W>(filter: &mut P, mut reader: impl Read) -> Result<(), Error>
where
    P: PushFilter<Sink = WriteSink<W>>,
    W: Write,
{
    let mut chunk = vec![0; CHUNK];
    while !filter.is_done() {
        let count = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == IoKind::Interrupted => continue,
            Err(error) => {
                let error = Error::read(error);
                filter.fail(&error);
                return Err(error);
            }
        };
        let written = filter.write(chunk.get(..count).unwrap_or_default());
        flush(filter)?;
        written?;
    }
    let ended = filter.end();
    flush(filter)?;
    ended
}

fn flush<P, W>(filter: &mut P) -> Result<(), Error>
where
    P: PushFilter<Sink = WriteSink<W>>,
    W: Write,
{
    let flushed = filter.sink_mut().flush();
    if let Err(error) = &flushed {
        filter.fail(error);
    }
    flushed
}

/// Calls `take` with each chunk of `reader` until it ends or `take` returns false. Interrupted reads are retried.
pub fn each_chunk(
    mut reader: impl Read,
    mut take: impl FnMut(&[u8]) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                if !take(chunk.get(..count).unwrap_or_default())? {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == IoKind::Interrupted => {}
            Err(error) => return Err(Error::read(error)),
        }
    }
}
