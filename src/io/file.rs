//! Filters files. A regular file is read ahead where a stream would hold the document until its branch or its payload is found.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::SystemTime;

use tamis_json::error::{Error, ErrorKind};

use super::failed_run::{FailedRun, RunResult};
use super::push::{each_chunk, read_all};
use crate::filter::{Call, DocumentFacts, Filter, FirstPass};
use crate::io::sinks::WriteSink;
use crate::report::Report;

/// The input of [`filter_file`] and `prune_file`: a file, from its current position on, or a reader around a file.
///
/// A [`File`] is one. A reader around a file is for a caller who wants to see the bytes that are read, for a copy or a progress
/// bar. Each byte of the document is read through it once. A second pass reads
/// [`file`](Self::file).
///
/// ```
/// use std::io::{Seek, Write};
/// use tamis::{Program, Spec, TeeReader, filter_file};
///
/// let mut file = tempfile::tempfile()?;
/// file.write_all(br#"{"data": [{"id": 1, "x": 2}]}"#)?;
/// file.rewind()?;
/// let mut record = Vec::new();
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// filter_file(&program, TeeReader::new(file, &mut record), std::io::sink())?;
/// assert_eq!(record, br#"{"data": [{"id": 1, "x": 2}]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait FileReader: Read {
    /// Returns the file, at the position up to which this reader has read it. A driver moves the position, and the reader
    /// continues there.
    fn file(&mut self) -> &mut File;
}

impl FileReader for File {
    fn file(&mut self) -> &mut File {
        self
    }
}

impl<R: FileReader + ?Sized> FileReader for &mut R {
    fn file(&mut self) -> &mut File {
        (**self).file()
    }
}

/// Filters a file into `writer`.
///
/// `call` is a [`&Program`](crate::Program), or a program [with options](crate::Program::with_options). `source` is a [`File`], which
/// is read from its current position on, or a [reader around one](FileReader).
///
/// A regular file is read twice where a stream would have to be held until its branch or its payload is found, so nothing is held
/// for that. It is neither mapped nor loaded into memory. Any other file is read once, as by
/// [`filter_reader`](crate::filter_reader).
///
/// # Errors
/// As for [`filter_reader`](crate::filter_reader), and [`ErrorKind::Read`] if the file changed between the two passes.
///
/// ```
/// use std::io::{Seek, Write};
/// use tamis::{Program, Spec, filter_file};
///
/// let mut file = tempfile::tempfile()?;
/// file.write_all(br#"{"total": 1, "data": [{"id": 1, "x": 2}]}"#)?;
/// file.rewind()?;
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let mut output = Vec::new();
/// let report = filter_file(&program, file, &mut output)?;
/// assert_eq!(output, br#"{"total":1,"data":[{"id":1}]}"#);
/// assert_eq!(report.root.as_ref().map(|root| root.as_str()), Some("/data"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn filter_file<'a, W: Write>(
    call: impl Into<Call<'a>>,
    mut source: impl FileReader,
    writer: W,
) -> RunResult<Report> {
    let call = call.into();
    let file = source.file();
    let regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let before = if regular { FileStamp::of(file) } else { None };
    let mut facts = DocumentFacts::default();
    if regular && let Err(error) = read_ahead(file, &call, &mut facts) {
        // The caller's reader sees the bytes up to the error, as in a run that reads once.
        let read = error.offset().map_or(0, |offset| offset.saturating_add(1));
        _ = std::io::copy(&mut source.take(read), &mut std::io::sink());
        let mut filter = Filter::with_facts(&call, Vec::new(), facts, false);
        let report = filter.fail(&error);
        return Err(FailedRun::new(error, report));
    }
    let twice = facts.is_known();
    let mut filter = Filter::with_facts(&call, WriteSink::new(writer), facts, false);
    let mut result = read_all(&mut filter, &mut source);
    if result.is_ok() && twice && FileStamp::of(source.file()) != before {
        let error = changed();
        filter.fail(&error);
        result = Err(error);
    }
    FailedRun::join(result, filter.report())
}

/// Reads ahead as often as there is something to find out, and returns to where the file was.
///
/// `facts` receives the findings, including those before an error.
fn read_ahead(file: &mut File, call: &Call<'_>, facts: &mut DocumentFacts) -> Result<(), Error> {
    let begin = file.stream_position().map_err(Error::read)?;
    while let Some(first_pass) = FirstPass::new(call, *facts) {
        let found = read_first(file, first_pass);
        file.seek(SeekFrom::Start(begin)).map_err(Error::read)?;
        *facts = found?;
    }
    Ok(())
}

fn read_first(file: &mut File, mut first_pass: FirstPass) -> Result<DocumentFacts, Error> {
    each_chunk(file, |chunk| first_pass.write(chunk).map(|enough| !enough))?;
    first_pass.end()
}

/// Returns the error for a file whose [stamp](FileStamp) is another after the second pass.
#[doc(hidden)]
pub fn changed() -> Error {
    Error::new(ErrorKind::Read, "the file changed while it was read twice")
}

/// The length and the modification time of a file, which change when its content does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct FileStamp {
    length: u64,
    modified: SystemTime,
}

impl FileStamp {
    /// Returns `None` if the system does not provide them.
    #[doc(hidden)]
    pub fn of(file: &File) -> Option<Self> {
        let metadata = file.metadata().ok()?;
        Some(Self { length: metadata.len(), modified: metadata.modified().ok()? })
    }
}
