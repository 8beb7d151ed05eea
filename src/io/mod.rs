//! Drivers that run filters over readers, writers, slices, files and streams of documents, and block meanwhile.
//!
//! Filters are push-based and perform no I/O except spilling; the drivers call them. This module knows I/O errors, retries and
//! buffers, but no rules and no JSON.

mod failed_run;
mod file;
#[cfg(feature = "lenient")]
mod lenient;
mod pretty;
pub(crate) mod push;
pub(crate) mod records;
mod sinks;
#[cfg(test)]
mod tests;

/// Parts of the drivers, for filters of other packages of the workspace.
#[doc(hidden)]
pub mod parts {
    pub use super::file::{FileStamp, changed};
    pub use super::push::{PushFilter, each_chunk, read_all};
}

use std::io::{Read, Write};

use crate::filter::{Call, DocumentFacts, Filter, FirstPass};
use crate::report::Report;

pub use failed_run::{FailedRun, RunResult};
pub use file::{FileReader, filter_file};
#[cfg(feature = "lenient")]
pub use lenient::filter_lenient;
pub use pretty::PrettyWriter;
pub use records::{filter_documents, filter_events, filter_ndjson};
pub use sinks::{TeeReader, WriteSink};

/// Filters the document read from `reader` into `writer`, as it arrives.
///
/// `call` is a [`&Program`](crate::Program), or a program [with options](crate::Program::with_options). Output is written after
/// each read, so a slow reader does not delay output that is ready. Nothing is written after an error. Interrupted reads are
/// retried.
///
/// # Errors
/// Malformed input, a reached limit, a miss under `on_error: closed`, and errors of the reader or the writer.
///
/// ```
/// use tamis::{Program, Spec, filter_reader};
///
/// let program = Program::compile(&Spec::new().exclude("secret"))?;
/// let mut output = Vec::new();
/// let report = filter_reader(&program, &b"{\"id\": 1, \"secret\": 2}"[..], &mut output)?;
/// assert_eq!(output, b"{\"id\":1}");
/// assert_eq!(report.original_bytes, 22);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_reader<'a, R: Read, W: Write>(
    call: impl Into<Call<'a>>,
    reader: R,
    writer: W,
) -> RunResult<Report> {
    let mut filter = Filter::new(call, WriteSink::new(writer));
    let result = push::read_all(&mut filter, reader);
    FailedRun::join(result, filter.report())
}

/// The length of documents that are held where a decision needs it: that takes less time than a pass of its own.
const SHORT: usize = 4096;

/// Filters a document that is in memory and returns the output with the report.
///
/// A slice can be read twice, so nothing of one over 4 KiB is held to decide on a branch or the payload's root, or to wait for the
/// first hit.
/// (Item rules after `retain` or `patches` read the output of those, which is a stream and may be held.)
///
/// # Errors
/// As for [`Filter`], without I/O errors.
///
/// ```
/// use tamis::{Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().retain("/user/name"))?;
/// let (output, _) = filter_slice(&program, br#"{"user": {"name": "Ada", "ssn": "1"}}"#)?;
/// assert_eq!(output, br#"{"user":{"name":"Ada"}}"#);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_slice<'a>(
    call: impl Into<Call<'a>>,
    document: &[u8],
) -> RunResult<(Vec<u8>, Report), Report> {
    let call = call.into();
    let mut facts = DocumentFacts::default();
    let limits = call.options().limits();
    let is_short = document.len() <= SHORT && document.len() as u64 <= limits.held();
    while !is_short && let Some(mut first_pass) = FirstPass::new(&call, facts) {
        let found = first_pass.write(document).and_then(|_| first_pass.end());
        facts = found.map_err(|error| {
            let report = Filter::with_facts(&call, Vec::new(), facts, true).fail(&error);
            FailedRun::new(error, report)
        })?;
    }
    let output = Vec::with_capacity(document.len().min(SHORT));
    let mut filter = Filter::with_facts(&call, output, facts, !is_short);
    match filter.write(document).and_then(|()| filter.end()) {
        Ok(report) => Ok((filter.into_sink(), report)),
        Err(error) => Err(FailedRun::new(error, filter.report())),
    }
}
