//! Records from readers into writers.
//!
//! Knows I/O errors and when to flush; no record.

use std::io::{Read, Write};

use super::{Events, Lines, RecordForm, Records};
use crate::error::Error;
use crate::filter::Call;
use crate::io::failed_run::{FailedRun, RunResult};
use crate::io::push::read_all;
use crate::io::sinks::WriteSink;
use crate::report::Report;

/// Filters a document a line (NDJSON, JSON Lines) from `reader` into `writer`.
///
/// Rules, limits and misses are per line. Lines that are empty or white space are skipped; `\r\n` ends a line as `\n`
/// does; the last line needs no newline. The output of a line is one line, and is written when the line is complete: a
/// bad line emits nothing. It is told to `on_bad_line`, with its number, from 1, and the error, whose offset is the one
/// in the whole input; then the run goes on with the next line.
///
/// The report sums over lines: sizes and lengths are added (those of items without the bad lines, which emit none),
/// those of budgets over the lines that one made shorter; `filter_partial_miss` is the union, `held_peak_bytes` the largest, `root` is there if it is the same in all lines,
/// and `error` is that of the first bad line, `filter_error` and `compact_error` those of the first line that has one.
///
/// Memory: as for one line, and each line's output up to [`Limits::held`](crate::Limits::held), then a temporary file up to
/// [`Limits::spill`](crate::Limits::spill). Time: linear in the input, and in the lines times the paths of `select`, patches and
/// tests, of which each line tells anew whether it has them.
///
/// # Errors
/// When all lines were read: the error of the first bad line, if there was one. At once, and with nothing told to
/// `on_bad_line`: [`ErrorKind::Read`](crate::ErrorKind::Read) and
/// [`ErrorKind::Write`](crate::ErrorKind::Write).
///
/// ```
/// use tamis::{Error, FailedRun, Program, Spec, filter_ndjson};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let input = &b"{\"id\": 1, \"x\": 2}\n{\"id\": oops}\n\n{\"id\": 3}"[..];
/// let (mut output, mut bad) = (Vec::new(), Vec::new());
/// let on_bad = |line, error: &Error| bad.push((line, error.offset()));
/// let (report, result) = FailedRun::split(filter_ndjson(&program, input, &mut output, on_bad));
/// assert_eq!(output, b"{\"id\":1}\n{\"id\":3}\n");
/// assert_eq!(bad, [(2, Some(25))]);
/// assert_eq!(result.unwrap_err().offset(), Some(25));
/// assert_eq!(report.filter_result_bytes, 16);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_ndjson<'a, R: Read, W: Write>(
    call: impl Into<Call<'a>>,
    reader: R,
    writer: W,
    on_bad_line: impl FnMut(u64, &Error),
) -> RunResult<Report> {
    drive(Lines::new(&call.into(), WriteSink::new(writer), on_bad_line), reader)
}

/// Filters the documents of an event stream (server-sent events, `text/event-stream`) from `reader` into `writer`.
///
/// Events are read as [WHATWG HTML §9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html) has them, with
/// line ends LF, CRLF or CR. The `data` lines of an event, joined by LF, are one JSON document; rules, limits and misses are
/// per event. One event in, one out, at the empty line that ends it: its other lines (`event`, `id`, `retry`, comments) as
/// they came, in their order; then the filtered document, each of its lines as a line `data: …` with the event's
/// first line end; then the empty line, which ends with a CR if a LF would be taken for the rest of the line end before it.
///
/// What has no document passes as it came, but for such an empty line: events without `data`, or with white space for data;
/// those whose data is exactly `[DONE]`, by which OpenAI's streams end; and a byte order mark in front of all. A comment between
/// events passes at once, since it keeps the connection alive.
///
/// Lines with any other name, which a client ignores, are left out wherever they are, and not counted: what is no stream, or one
/// whose sender forgot a `data:`, does not leak through them.
///
/// A bad event emits nothing, its other lines neither. It is told to `on_bad_event`, with its number, from 1, and the error;
/// then the run goes on with the next event. What is counted begins with a line that is no comment, and ends with an empty
/// line. The offset of an error is the one in the whole stream where it is in the event's first `data` line; else that where
/// the event's data begins, and the message says which byte of the data it is, if it has a place there. That of other lines,
/// of which too much would have to wait, is where the event begins.
///
/// Where the input ends inside an event, the event counts if its document is complete. Its last line gets a line end if
/// another follows, or if it is data; nothing else is added.
///
/// A filter whose output is text ([`Program::is_text`]) is applied as well: the text becomes lines of `data`.
///
/// The report sums over documents, as that of [`filter_ndjson`] over lines. What passes is not counted.
///
/// Memory: as for one document, and each event's output and its other lines, both up to
/// [`Limits::held`](crate::Limits::held), then a temporary file up to [`Limits::spill`](crate::Limits::spill). An event that
/// may have to pass as it came waits so as a whole. Time: as that of [`filter_ndjson`].
///
/// # Errors
/// When all events were read: the error of the first bad event, if there was one. At once, and with nothing told to
/// `on_bad_event`: [`ErrorKind::Read`](crate::ErrorKind::Read) and
/// [`ErrorKind::Write`](crate::ErrorKind::Write).
///
/// ```
/// use tamis::{Error, FailedRun, Program, Spec, filter_events};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let input = &b"id: 7\ndata: {\"id\": 1,\ndata:  \"x\": 2}\n\n: ping\n\ndata: oops\n\ndata: [DONE]\n\n"[..];
/// let (mut output, mut bad) = (Vec::new(), Vec::new());
/// let on_bad = |event, error: &Error| bad.push((event, error.offset()));
/// let (report, result) = FailedRun::split(filter_events(&program, input, &mut output, on_bad));
/// assert_eq!(output, b"id: 7\ndata: {\"id\":1}\n\n: ping\n\ndata: [DONE]\n\n");
/// assert_eq!(bad, [(2, Some(52))]);
/// assert_eq!(result.unwrap_err().to_string(), "byte 52: event 2: expected a value");
/// assert_eq!(report.filter_result_bytes, 8);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_events<'a, R: Read, W: Write>(
    call: impl Into<Call<'a>>,
    reader: R,
    writer: W,
    on_bad_event: impl FnMut(u64, &Error),
) -> RunResult<Report> {
    drive(Events::new(&call.into(), WriteSink::new(writer), on_bad_event), reader)
}

fn drive<C: RecordForm, W: Write, F: FnMut(u64, &Error)>(
    mut records: Records<C, WriteSink<W>, F>,
    reader: impl Read,
) -> RunResult<Report> {
    // Nothing is read if the output of the program does not fit the form.
    let result = records.write(&[]).and_then(|()| read_all(&mut records, reader));
    FailedRun::join(result, records.report())
}
