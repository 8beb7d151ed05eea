//! Drivers that prune histories: slices and regular files are read twice, everything else is held.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use super::file::stamp;
use super::{WriteSink, each_chunk};
use crate::error::{Error, ErrorKind};
use crate::history::{Decided, PruneProgram, PruneReport, PruneRun, Scan};
use crate::report::FailureReport;

/// Prunes a history that is in memory.
///
/// # Errors
/// Malformed input, limits.
///
/// ```
/// use tamis::{Prune, PruneProgram, prune_slice};
///
/// let program = PruneProgram::compile(&Prune::new().keep_turns(1).placeholder("[{tool}: {bytes} bytes]"))?;
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
) -> Result<(Vec<u8>, PruneReport), Error> {
    let mut scan = Scan::new(program);
    scan.write(history)?;
    let (report, decided) = scan.end();
    let length = report.bytes.saturating_add_signed(-report.bytes_saved);
    let mut output = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    decided?.write(history, &mut output)?;
    Ok((output, report))
}

/// Prunes the history that `reader` gives into `writer`.
///
/// The history waits until it is complete: see [`PruneRun`](crate::PruneRun). Nothing is written if the run fails.
///
/// # Errors
/// Malformed input, limits, and errors of the reader or the writer.
///
/// ```
/// use tamis::{Prune, PruneProgram, prune_reader};
///
/// let program = PruneProgram::compile(&Prune::new())?;
/// let mut output = Vec::new();
/// let report = prune_reader(&program, &b"[ ]"[..], &mut output)?;
/// assert_eq!((output, report.messages), (b"[ ]".to_vec(), 0));
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn prune_reader<R: Read, W: Write>(
    program: &PruneProgram,
    reader: R,
    writer: W,
) -> Result<PruneReport, Error> {
    let (report, result) = pump(program, reader, writer);
    result.map(|()| report)
}

/// Prunes a file into `writer`, from where the file is.
///
/// A regular file is read twice, never mapped and never slurped; anything else as by [`prune_reader`]. The report that comes
/// with an error says what was found until then. `around` wraps the reader of the first reading, for a progress bar:
/// `|reader| reader` does nothing.
///
/// # Errors
/// As for [`prune_reader`]; [`ErrorKind::Read`] also if the file changed between the two readings.
///
/// ```
/// use std::io::{Seek, Write};
/// use tamis::{Prune, PruneProgram, prune_file};
///
/// let mut file = tempfile::tempfile()?;
/// file.write_all(br#"[{"role": "user", "content": "hello"}]"#)?;
/// file.rewind()?;
/// let program = PruneProgram::compile(&Prune::new())?;
/// let mut output = Vec::new();
/// let (report, result) = prune_file(&program, file, &mut output, |reader| reader);
/// result?;
/// assert_eq!(output, br#"[{"role": "user", "content": "hello"}]"#);
/// assert_eq!(report.user_turns, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prune_file<W: Write>(
    program: &PruneProgram,
    mut file: File,
    writer: W,
    around: impl FnOnce(Box<dyn Read>) -> Box<dyn Read>,
) -> (PruneReport, Result<(), Error>) {
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return pump(program, around(Box::new(file)), writer);
    }
    let before = stamp(&file);
    let mut scan = Scan::new(program);
    let result = scanned(&mut scan, &mut file, around);
    let (mut report, decided) = match result {
        Ok(()) => scan.end(),
        Err(error) => (scan.failure(&error), Err(error)),
    };
    let result = decided.and_then(|decided| {
        splice(decided, &mut file, report.bytes, writer)?;
        if stamp(&file) != before {
            return Err(changed());
        }
        Ok(())
    });
    if let Err(error) = &result {
        report.error.get_or_insert_with(|| FailureReport::from(error));
    }
    (report, result)
}

/// Reads the file once, and goes back to where it was.
fn scanned(
    scan: &mut Scan,
    file: &mut File,
    around: impl FnOnce(Box<dyn Read>) -> Box<dyn Read>,
) -> Result<(), Error> {
    let begin = file.stream_position().map_err(Error::read)?;
    let same = file.try_clone().map_err(Error::read)?;
    each_chunk(around(Box::new(same)), |chunk| scan.write(chunk).map(|()| true))?;
    file.seek(SeekFrom::Start(begin)).map_err(Error::read)?;
    Ok(())
}

/// Reads it again, and writes.
fn splice<W: Write>(
    mut decided: Decided,
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

fn changed() -> Error {
    Error::new(ErrorKind::Read, "the file changed while it was read twice")
}

fn pump<R: Read, W: Write>(
    program: &PruneProgram,
    reader: R,
    writer: W,
) -> (PruneReport, Result<(), Error>) {
    let mut run = PruneRun::new(program, WriteSink::new(writer));
    let read = each_chunk(reader, |chunk| run.write(chunk).map(|()| true));
    let result = read.and_then(|()| run.end().map(|_| ()));
    let result = result.and_then(|()| run.sink_mut().flush());
    let result = result.inspect_err(|error| run.fail(error));
    (run.report(), result)
}
