//! Drivers over readers, writers, slices and files. The filter knows none of them.
//!
//! Knows I/O errors, retries and buffers; no rule, no JSON.

#[cfg(feature = "http-body")]
mod body;
#[cfg(feature = "decode")]
mod decode;
mod file;
#[cfg(feature = "tokio")]
mod gather;
mod history;
#[cfg(feature = "tower")]
mod layer;
#[cfg(feature = "lenient")]
mod lenient;
#[cfg(feature = "manifest")]
mod manifest;
mod pretty;
mod records;
#[cfg(feature = "command")]
mod rules;
mod sinks;
#[cfg(feature = "tokio")]
mod steps;
#[cfg(test)]
mod tests;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(feature = "tokio")]
mod transform;

use std::io::{ErrorKind as IoKind, Read, Write};

use crate::error::{Error, ErrorKind};
use crate::filter::{CallOptions, Filter, FirstPass, Lookahead, Program};
use crate::report::Report;

#[cfg(feature = "tokio")]
pub use self::tokio::{FilterStream, filter_async, transform_async};
#[cfg(feature = "http-body")]
pub use body::FilterBody;
#[cfg(feature = "decode")]
pub use decode::{Coding, Decoding};
pub use file::filter_file;
pub use history::{prune_file, prune_reader, prune_slice};
#[cfg(feature = "tower")]
pub use layer::{FilterFuture, FilterLayer, FilterService};
#[cfg(feature = "lenient")]
pub use lenient::filter_lenient;
pub use pretty::Pretty;
pub use records::{filter_events, filter_ndjson};
pub use sinks::{Tee, WriteSink};
#[cfg(feature = "tokio")]
pub use transform::{Outcome, Transform};

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

impl Error {
    /// The error of a driver whose input cannot be read, or opened.
    ///
    /// ```
    /// use tamis::{Error, ErrorKind, Fault};
    ///
    /// let error = Error::read(std::io::Error::from(std::io::ErrorKind::NotFound));
    /// assert_eq!((error.kind(), error.fault()), (ErrorKind::Read, Fault::Input));
    /// assert_eq!(error.to_string(), "cannot read the input: entity not found");
    /// ```
    #[must_use]
    pub fn read(source: std::io::Error) -> Self {
        Self::io(ErrorKind::Read, "cannot read the input", source)
    }

    /// The error of a driver whose output cannot be written, or created.
    ///
    /// ```
    /// use tamis::{Error, ErrorKind, Fault};
    ///
    /// let error = Error::write(std::io::Error::from(std::io::ErrorKind::StorageFull));
    /// assert_eq!((error.kind(), error.fault()), (ErrorKind::Write, Fault::Sink));
    /// ```
    #[must_use]
    pub fn write(source: std::io::Error) -> Self {
        Self::io(ErrorKind::Write, "cannot write the output", source)
    }
}

/// Filters what `reader` gives into `writer`, as it arrives.
///
/// Output is written after each read, so a slow reader delays none of it; nothing is written behind an error. Reads that
/// are interrupted are tried again; short reads are as good as long ones.
///
/// # Errors
/// Malformed input, limits, misses under `on_error: closed`, and errors of the reader or the writer.
///
/// ```
/// use tamis::{Program, Spec, filter_reader};
///
/// let program = Program::compile(&Spec::new().exclude("secret"))?;
/// let mut output = Vec::new();
/// let report = filter_reader(&program, &b"{\"id\": 1, \"secret\": 2}"[..], &mut output)?;
/// assert_eq!(output, b"{\"id\":1}");
/// assert_eq!(report.filter_original_bytes, 22);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_reader<R: Read, W: Write>(
    program: &Program,
    reader: R,
    writer: W,
) -> Result<Report, Error> {
    let mut filter = Filter::new(program, WriteSink::new(writer));
    pump(&mut filter, reader)
}

/// Filters a document that is in memory.
///
/// Nothing of it is held for a branch, the payload's root or the first hit: it is read twice where a stream would have to wait.
/// (Rules on items behind `retain` or `patches` read what those leave, which is a stream.)
///
/// # Errors
/// As for [`Filter`], without those of I/O.
///
/// ```
/// use tamis::{Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().retain("/user/name"))?;
/// let (output, _) = filter_slice(&program, br#"{"user": {"name": "Ada", "ssn": "1"}}"#)?;
/// assert_eq!(output, br#"{"user":{"name":"Ada"}}"#);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_slice(program: &Program, document: &[u8]) -> Result<(Vec<u8>, Report), Error> {
    filter_slice_with(program, &CallOptions::new(), document)
}

/// [`filter_slice`] for one call.
///
/// # Errors
/// As there.
pub fn filter_slice_with(
    program: &Program,
    options: &CallOptions,
    document: &[u8],
) -> Result<(Vec<u8>, Report), Error> {
    let mut ahead = Lookahead::default();
    while let Some(mut scout) = FirstPass::new(program, options, ahead) {
        scout.write(document)?;
        ahead = scout.end()?;
    }
    let mut filter = Filter::scouted(program, options, Vec::new(), ahead, true);
    filter.write(document)?;
    let report = filter.end()?;
    Ok((filter.into_sink(), report))
}

/// Reads until the end, or until `take` wants no more. Reads that are interrupted are tried again.
fn each_chunk(
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

/// Feeds a filter from a reader until either ends.
///
/// # Errors
/// As for [`filter_reader`].
pub fn pump<R: Read, W: Write>(
    filter: &mut Filter<WriteSink<W>>,
    reader: R,
) -> Result<Report, Error> {
    let result = pump_all(filter, reader);
    if let Err(error) = &result {
        // An error of the reader or the writer ends the run as one of the filter's own does.
        filter.fail(error);
    }
    result
}

fn pump_all<R: Read, W: Write>(
    filter: &mut Filter<WriteSink<W>>,
    mut reader: R,
) -> Result<Report, Error> {
    let mut chunk = vec![0; CHUNK];
    while !filter.is_done() {
        let count = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == IoKind::Interrupted => continue,
            Err(error) => {
                filter.sink_mut().flush()?;
                return Err(Error::read(error));
            }
        };
        let fed = filter.write(chunk.get(..count).unwrap_or_default());
        filter.sink_mut().flush()?;
        fed?;
    }
    let ended = filter.end();
    filter.sink_mut().flush()?;
    ended
}
