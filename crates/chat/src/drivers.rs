//! Drivers that prune histories: slices and regular files are read twice, any other input is held.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use tamis::parts::{FileStamp, PushFilter, changed, each_chunk, read_all};
use tamis::{FailedRun, FailureReport, FileReader, RunResult, WriteSink};
use tamis_json::error::Error;
use tamis_json::sink::Sink;

use crate::{PruneFilter, PruneProgram, PruneReport, PruneScan, PruneWriter};

/// Prunes a history that is in memory and returns the output with the report.
///
/// # Errors
/// Malformed input, a reached limit.
///
/// ```
/// use tamis_chat::{PruneProgram, PruneSpec, prune_slice};
///
/// let program = PruneProgram::compile(&PruneSpec::new().keep_turns(1).placeholder("[{tool}: {bytes} bytes]"))?;
/// let request = br#"{"model": "m", "messages": [
///   {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "grep", "input": {}}]},
///   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "200 matches"}]},
///   {"role": "user", "content": "and the first?"}]}"#;
/// let (pruned, report) = prune_slice(&program, request)?;
/// assert!(String::from_utf8_lossy(&pruned).contains(r#""content": "[grep: 11 bytes]"}"#));
/// assert_eq!((report.user_turns, report.results_pruned), (1, 1));
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn prune_slice(
    program: &PruneProgram,
    history: &[u8],
) -> RunResult<(Vec<u8>, PruneReport), PruneReport> {
    let mut scan = PruneScan::new(program);
    if let Err(error) = scan.write(history) {
        let report = scan.failure(&error);
        return Err(FailedRun::new(error, report));
    }
    let (mut report, writer) = scan.end();
    let length = report.bytes.saturating_add_signed(-report.bytes_saved);
    let mut output = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    match writer.and_then(|mut writer| writer.write(history, &mut output)) {
        Ok(()) => Ok((output, report)),
        Err(error) => {
            report.error.get_or_insert_with(|| FailureReport::from(&error));
            Err(FailedRun::new(error, report))
        }
    }
}

/// Prunes the history read from `reader` into `writer`.
///
/// The history is held until it is complete: see [`PruneFilter`]. Nothing is written if the run fails.
///
/// # Errors
/// Malformed input, a reached limit, and errors of the reader or the writer.
///
/// ```
/// use tamis_chat::{PruneProgram, PruneSpec, prune_reader};
///
/// let program = PruneProgram::compile(&PruneSpec::new())?;
/// let mut output = Vec::new();
/// let report = prune_reader(&program, &b"[ ]"[..], &mut output)?;
/// assert_eq!((output, report.messages), (b"[ ]".to_vec(), 0));
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn prune_reader<R: Read, W: Write>(
    program: &PruneProgram,
    reader: R,
    writer: W,
) -> RunResult<PruneReport> {
    let mut filter = PruneFilter::new(program, WriteSink::new(writer));
    let result = read_all(&mut filter, reader);
    FailedRun::join(result, filter.report())
}

/// Prunes a file into `writer`.
///
/// `source` is a [`File`], which is read from its current position on, or a [reader around
/// one](FileReader). A regular file is read twice; it is
/// neither mapped nor loaded into memory. Any other file is held, as by [`prune_reader`].
///
/// # Errors
/// As for [`prune_reader`], and [`ErrorKind::Read`](tamis::ErrorKind::Read) if the file changed between the two passes.
///
/// ```
/// use std::io::{Seek, Write};
/// use tamis_chat::{PruneProgram, PruneSpec, prune_file};
///
/// let mut file = tempfile::tempfile()?;
/// file.write_all(br#"[{"role": "user", "content": "hello"}]"#)?;
/// file.rewind()?;
/// let program = PruneProgram::compile(&PruneSpec::new())?;
/// let mut output = Vec::new();
/// let report = prune_file(&program, file, &mut output)?;
/// assert_eq!(output, br#"[{"role": "user", "content": "hello"}]"#);
/// assert_eq!(report.user_turns, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prune_file<W: Write>(
    program: &PruneProgram,
    mut source: impl FileReader,
    writer: W,
) -> RunResult<PruneReport> {
    if !source.file().metadata().is_ok_and(|metadata| metadata.is_file()) {
        return prune_reader(program, source, writer);
    }
    let before = FileStamp::of(source.file());
    let mut scan = PruneScan::new(program);
    let (mut report, decided) = match first_pass(&mut scan, &mut source) {
        Ok(()) => scan.end(),
        Err(error) => (scan.failure(&error), Err(error)),
    };
    let result = decided.and_then(|decided| {
        second_pass(decided, source.file(), report.bytes, writer)?;
        if FileStamp::of(source.file()) == before { Ok(()) } else { Err(changed()) }
    });
    if let Err(error) = &result {
        report.error.get_or_insert_with(|| FailureReport::from(error));
    }
    FailedRun::join(result, report)
}

/// Scans the file, and returns to where it was.
fn first_pass(scan: &mut PruneScan, source: &mut impl FileReader) -> Result<(), Error> {
    let begin = source.file().stream_position().map_err(Error::read)?;
    each_chunk(&mut *source, |chunk| scan.write(chunk).map(|()| true))?;
    source.file().seek(SeekFrom::Start(begin)).map_err(Error::read)?;
    Ok(())
}

/// Reads the same `bytes` again, and writes what is kept of them and the placeholders.
fn second_pass<W: Write>(
    mut decided: PruneWriter,
    file: &mut File,
    bytes: u64,
    writer: W,
) -> Result<(), Error> {
    let mut sink = WriteSink::new(writer);
    let mut read = 0;
    let copied = each_chunk(file.take(bytes), |chunk| {
        read += chunk.len() as u64;
        decided.write(chunk, &mut sink)?;
        sink.check().map(|()| true)
    });
    sink.flush()?;
    copied?;
    if read < bytes { Err(changed()) } else { Ok(()) }
}

impl<S: Sink> PushFilter for PruneFilter<S> {
    type Sink = S;

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        Self::write(self, chunk)
    }

    fn end(&mut self) -> Result<(), Error> {
        Self::end(self).map(drop)
    }

    fn fail(&mut self, error: &Error) {
        Self::fail(self, error);
    }

    fn sink_mut(&mut self) -> &mut S {
        Self::sink_mut(self)
    }
}

impl<W: Write> PruneFilter<WriteSink<W>> {
    /// Reads the history from `reader` until it ends, then writes the pruned history.
    ///
    /// # Errors
    /// As for [`prune_reader`](prune_reader). [`report`](Self::report) then returns the report with the error.
    pub fn read_from(&mut self, reader: impl Read) -> Result<PruneReport, Error> {
        read_all(self, reader)?;
        Ok(self.report())
    }
}
