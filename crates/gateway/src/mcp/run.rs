//! Runs the programs of a filter over a part of a message.

use std::ops::Range;

use tamis::{CallOptions, ErrorKind, Filter, Program, Report, Sink};

use super::failure::Failure;
use crate::jsonrpc::find::Found;
use crate::rules::ToolFilter;
use crate::transport::spool::{Spool, SpoolError};
use tamis::json::StringDecoder;

/// A part of a message that a filter reads.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A JSON value.
    Value(Range<u64>),
    /// The characters of a JSON string, whose quotes are in the range.
    Characters(Range<u64>),
}

impl Source {
    /// Returns the characters of a string.
    pub(super) fn characters(found: &Found) -> Self {
        Self::Characters(found.span.clone())
    }

    /// Returns the number of bytes in the message.
    pub(super) fn len(&self) -> u64 {
        let (Self::Value(range) | Self::Characters(range)) = self;
        range.end - range.start
    }
}

/// Why a source could not be read or filtered.
#[derive(Debug)]
pub(super) enum RunError {
    /// It is text, but not one JSON value.
    NotJson,
    Failed(Failure),
}

impl From<SpoolError> for RunError {
    fn from(error: SpoolError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<tamis::Error> for RunError {
    fn from(error: tamis::Error) -> Self {
        match error.kind() {
            ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding => Self::NotJson,
            _ => Self::Failed(Failure::of(&error)),
        }
    }
}

/// Calls `take` with a source in chunks.
///
/// # Errors
/// [`RunError::NotJson`] for a string with a lone surrogate, which stands for no text.
pub(super) fn read(
    message: &Spool,
    source: &Source,
    mut take: impl FnMut(&[u8]) -> Result<(), RunError>,
) -> Result<(), RunError> {
    match source {
        Source::Value(range) => message.each_chunk(range.clone(), take),
        Source::Characters(range) => {
            let content = range.start + 1..range.end.saturating_sub(1);
            let mut decoder = StringDecoder::new();
            let mut text = Vec::new();
            message.each_chunk(content, |chunk| {
                for window in chunk.chunks(64 << 10) {
                    text.clear();
                    decoder.write(window, &mut text).map_err(|_lone| RunError::NotJson)?;
                    take(&text)?;
                }
                Ok::<_, RunError>(())
            })?;
            decoder.end().map_err(|_lone| RunError::NotJson)
        }
    }
}

/// Returns whether the characters of a string begin like a JSON object or array.
pub(super) fn looks_like_json(message: &Spool, source: &Source) -> bool {
    let mut first = None;
    // The error ends the reading.
    _ = read(message, source, |text| {
        first = text.iter().copied().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if first.is_some() { Err(RunError::NotJson) } else { Ok(()) }
    });
    matches!(first, Some(b'{' | b'['))
}

/// The output of a filter.
#[derive(Debug)]
pub(super) struct JsonRun {
    /// Its place in the scratch spool.
    pub(super) output: Range<u64>,
    pub(super) report: Report,
    /// Bytes of the source, after unescaping.
    pub(super) bytes_in: u64,
}

impl JsonRun {
    pub(super) fn len(&self) -> u64 {
        self.output.end - self.output.start
    }
}

/// Filters a JSON value, and writes the output to the end of `scratch`. After an error, `scratch` is as before.
pub(super) fn json(
    message: &Spool,
    source: &Source,
    filter: &ToolFilter,
    options: &CallOptions,
    scratch: &mut Spool,
) -> Result<JsonRun, RunError> {
    let start = scratch.len();
    let run = run_all(message, source, &filter.programs, options, scratch);
    let failed = scratch.error().is_some().then_some(Failure::TOO_COMPLEX);
    match (run, failed) {
        (Ok((report, bytes_in)), None) => {
            Ok(JsonRun { output: start..scratch.len(), report, bytes_in })
        }
        (run, failed) => {
            scratch.truncate(start);
            Err(run.err().unwrap_or(RunError::Failed(failed.unwrap_or(Failure::IO))))
        }
    }
}

fn run_all(
    message: &Spool,
    source: &Source,
    programs: &[Program],
    options: &CallOptions,
    scratch: &mut Spool,
) -> Result<(Report, u64), RunError> {
    let Some((last, others)) = programs.split_last() else {
        return Err(RunError::Failed(Failure("it has no rules")));
    };
    let mut between: Option<Spool> = None;
    let mut bytes_in = None;
    for program in others {
        let mut out = Spool::new(scratch.limits());
        let (message, source) = step(message, source, between.as_ref());
        let (_, bytes) = run_one(message, &source, program, options, &mut out)?;
        bytes_in.get_or_insert(bytes);
        if out.error().is_some() {
            return Err(RunError::Failed(Failure::TOO_COMPLEX));
        }
        between = Some(out);
    }
    let (message, source) = step(message, source, between.as_ref());
    let (report, bytes) = run_one(message, &source, last, options, scratch)?;
    Ok((report, bytes_in.unwrap_or(bytes)))
}

/// Returns what a program reads: the output of the one before it, if there is one.
fn step<'a>(
    message: &'a Spool,
    source: &Source,
    between: Option<&'a Spool>,
) -> (&'a Spool, Source) {
    match between {
        None => (message, source.clone()),
        Some(between) => (between, Source::Value(0..between.len())),
    }
}

fn run_one(
    message: &Spool,
    source: &Source,
    program: &Program,
    options: &CallOptions,
    out: &mut Spool,
) -> Result<(Report, u64), RunError> {
    let mut filter = Filter::new(program.with_options(options), out);
    let mut bytes_in = 0;
    read(message, source, |chunk| {
        bytes_in += chunk.len() as u64;
        Ok(filter.write(chunk)?)
    })?;
    Ok((filter.end()?, bytes_in))
}

/// Returns the size of a JSON value without white space between its tokens.
pub(super) fn minified(message: &Spool, source: &Source) -> Option<u64> {
    let program = Program::compile(&tamis::Spec::new()).ok()?;
    length(message, source, &program, &CallOptions::new())
}

/// Returns the size of the output of a program. `None`: it fails.
pub(super) fn length(
    message: &Spool,
    source: &Source,
    program: &Program,
    options: &CallOptions,
) -> Option<u64> {
    let mut count = Count(0);
    let mut filter = Filter::new(program.with_options(options), &mut count);
    read(message, source, |chunk| Ok(filter.write(chunk)?)).ok()?;
    filter.end().ok()?;
    Some(count.0)
}

/// Counts bytes.
struct Count(u64);

impl Sink for Count {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}
