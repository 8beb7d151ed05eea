//! Files: read ahead where a stream would have to hold the document until its branch or its payload is found.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::SystemTime;

use super::{each_chunk, pump};
use crate::error::{Error, ErrorKind};
use crate::filter::{CallOptions, Filter, FirstPass, Lookahead, Program};
use crate::io::sinks::WriteSink;
use crate::report::Report;

/// Reads ahead, as often as there is something to find out, and goes back to where the file was. `ahead`: what was found,
/// before an error as well.
fn read_ahead(
    file: &mut File,
    program: &Program,
    options: &CallOptions,
    ahead: &mut Lookahead,
) -> Result<(), Error> {
    let begin = file.stream_position().map_err(Error::read)?;
    while let Some(scout) = FirstPass::new(program, options, *ahead) {
        let found = look(file, scout);
        file.seek(SeekFrom::Start(begin)).map_err(Error::read)?;
        *ahead = found?;
    }
    Ok(())
}

fn look(file: &mut File, mut scout: FirstPass) -> Result<Lookahead, Error> {
    each_chunk(file, |chunk| scout.write(chunk).map(|enough| !enough))?;
    scout.end()
}

/// Filters a file into `writer`, from where the file is.
///
/// A regular file is read ahead where a stream would have to wait for its branch or its payload, never mapped and never slurped; so
/// nothing of it is held for that. Anything else is read once, as by [`filter_reader`](crate::filter_reader).
///
/// The report that comes with an error says what the run did until then. `around` wraps the reader of the second pass,
/// for a tee or a progress bar: `|reader| reader` does nothing.
///
/// # Errors
/// As for [`filter_reader`](crate::filter_reader); [`ErrorKind::Read`] also if the file changed between the two passes.
///
/// ```
/// use std::io::{Seek, Write};
/// use tamis::{CallOptions, Program, Spec, filter_file};
///
/// let mut file = tempfile::tempfile()?;
/// file.write_all(br#"{"total": 1, "data": [{"id": 1, "x": 2}]}"#)?;
/// file.rewind()?;
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let mut output = Vec::new();
/// let (report, result) = filter_file(&program, &CallOptions::new(), file, &mut output, |reader| reader);
/// result?;
/// assert_eq!(output, br#"{"total":1,"data":[{"id":1}]}"#);
/// assert_eq!(report.root.as_deref(), Some("/data"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn filter_file<W: Write>(
    program: &Program,
    options: &CallOptions,
    mut file: File,
    writer: W,
    around: impl FnOnce(Box<dyn Read>) -> Box<dyn Read>,
) -> (Report, Result<(), Error>) {
    let regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let before = if regular { stamp(&file) } else { None };
    let mut ahead = Lookahead::default();
    if regular && let Err(error) = read_ahead(&mut file, program, options, &mut ahead) {
        // Whoever wraps the reader sees what a run would have read of it.
        let read = error.offset().map_or(0, |offset| offset.saturating_add(1));
        _ = std::io::copy(&mut around(Box::new(file)).take(read), &mut std::io::sink());
        let mut filter = Filter::scouted(program, options, Vec::new(), ahead, false);
        return (filter.fail(&error), Err(error));
    }
    let twice = ahead.is_known();
    let mut filter = Filter::scouted(program, options, WriteSink::new(writer), ahead, false);
    let again = if twice { file.try_clone().ok() } else { None };
    let mut result = pump(&mut filter, around(Box::new(file))).map(|_| ());
    if result.is_ok() && twice && again.is_none_or(|file| stamp(&file) != before) {
        result = Err(Error::new(ErrorKind::Read, "the file changed while it was read twice"));
    }
    let report = match &result {
        Err(error) => filter.fail(error),
        Ok(()) => filter.report(),
    };
    (report, result)
}

/// What changes when a file does.
pub(super) fn stamp(file: &File) -> Option<(u64, SystemTime)> {
    let metadata = file.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}
