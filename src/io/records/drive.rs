//! Filters records from readers into writers.

use std::io::{Read, Write};

use tamis_json::error::Error;

use super::documents::Documents;
use super::{Events, Lines, RecordForm, Records};
use crate::filter::Call;
use crate::io::failed_run::{FailedRun, RunResult};
use crate::io::push::read_all;
use crate::io::sinks::WriteSink;
use crate::report::Report;

/// Filters newline-delimited JSON (NDJSON, JSON Lines) from `reader` into `writer`.
///
/// Rules, limits and misses are per line. Empty lines and lines of white space are skipped. Lines end with `\n` or `\r\n`; the last
/// line needs no newline. Each line of input becomes one line of output, which is written when the line is complete. A bad line
/// emits nothing and does not end the run: `on_bad_line` is called with its number, from 1, and the error, whose offset is that in
/// the whole input.
///
/// The report sums over all lines. Sizes and lengths are added up; those of items exclude bad lines, which emit none, and those of
/// budgets include only lines that a budget made shorter. `partial_miss` is the union and `held_peak_bytes` the maximum.
/// `root` is present if it is the same in all lines. `error` is that of the first bad line; `fallback` and `compact_error` are
/// those of the first line that has one.
///
/// Memory: as for one line, and each line's output up to [`Limits::held`](crate::Limits::held), then a temporary file up to
/// [`Limits::spill`](crate::Limits::spill). Time: linear in the input, plus the number of lines times the number of paths in
/// `select`, patches and tests.
///
/// # Errors
/// After all lines were read: the error of the first bad line. Immediately, and without a call of `on_bad_line`:
/// [`ErrorKind::Read`](crate::ErrorKind::Read) and [`ErrorKind::Write`](crate::ErrorKind::Write).
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
/// assert_eq!(report.result_bytes, 16);
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

/// Filters JSON documents that follow each other from `reader` into `writer`.
///
/// Documents may span lines, as `go list -json` prints them, and need no white space between them, as in `{"id":1}{"id":2}`. Each
/// one becomes a line of output, which is written when the document is complete. Otherwise this is [`filter_ndjson`]: a bad
/// document emits nothing and does not end the run, and `on_bad_document` is called with its number, from 1, and the error.
///
/// Documents are separated by their brackets and quotes. After a document that is cut off, so that its brackets or quotes do not
/// match, the run goes on at the next line that begins with `{`, `[` or a record separator (U+001E, RFC 7464). If a rule [removes for
/// safety](crate::Spec::removes_for_safety), the run ends at the first document that is not valid JSON: a part of what follows might be
/// taken for a document of its own, to which the rule does not apply. A record separator before a document is white space.
///
/// The report's sizes do not include the white space between documents.
///
/// # Errors
/// As for [`filter_ndjson`].
///
/// ```
/// use tamis::{Error, Program, Spec, filter_documents};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let input = &b"{\n  \"id\": 1,\n  \"x\": 2\n}\n{\n  \"id\": 2\n}{\"id\":3}"[..];
/// let mut output = Vec::new();
/// let report = filter_documents(&program, input, &mut output, |_, _: &Error| {})?;
/// assert_eq!(output, b"{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
/// assert_eq!(report.result_bytes, 24);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_documents<'a, R: Read, W: Write>(
    call: impl Into<Call<'a>>,
    reader: R,
    writer: W,
    on_bad_document: impl FnMut(u64, &Error),
) -> RunResult<Report> {
    drive(Documents::new(&call.into(), WriteSink::new(writer), on_bad_document), reader)
}

/// Filters the documents of an event stream (server-sent events, `text/event-stream`) from `reader` into `writer`.
///
/// Events are parsed as in [WHATWG HTML §9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html), with line ends LF,
/// CRLF or CR. The `data` lines of an event, joined by LF, are one JSON document. Rules, limits and misses are per event. Each
/// event is written at the empty line that ends it, in three parts:
///
/// 1. its other lines (`event`, `id`, `retry`, comments), unchanged and in their order;
/// 2. the filtered document, each of its lines as a line `data: …` with the first line end of the event;
/// 3. the empty line. It ends with a CR if a LF would be read as part of the line end before it.
///
/// Events without a document are written unchanged, except for such an empty line: those without `data` or with only white space
/// in it, and those whose data is exactly `[DONE]`, which ends the streams of OpenAI. A byte order mark at the start is kept. A
/// comment between events is written at once, because it keeps the connection alive.
///
/// Lines with any other field name, which clients ignore, are removed and not counted. So input that is not an event stream, or
/// lacks a `data:`, does not leak through.
///
/// A bad event emits nothing, not even its other lines, and does not end the run. `on_bad_event` is called with its number, from 1,
/// and the error. An event starts with a line that is not a comment and ends with an empty line. The offset of an error is that in
/// the whole stream if it lies in the event's first `data` line. Otherwise it is the offset of the event's data, and the message
/// names the byte of the data, if there is one. If too much of the other lines would have to be held, it is the offset of the
/// event.
///
/// If the input ends inside an event, the event counts if its document is complete. Its last line is ended if another line follows
/// or if it is data; nothing else is added.
///
/// A filter whose output is text ([`Program::is_text`](crate::Program::is_text)) is applied, too: the text becomes lines of `data`.
///
/// The report sums over documents, as that of [`filter_ndjson`] over lines. Unfiltered events are not counted.
///
/// Memory: as for one document, and each event's output and other lines, both up to [`Limits::held`](crate::Limits::held), then a
/// temporary file up to [`Limits::spill`](crate::Limits::spill). An event is held as a whole while it may have no document. Time: as
/// for [`filter_ndjson`].
///
/// # Errors
/// After all events were read: the error of the first bad event. Immediately, and without a call of `on_bad_event`:
/// [`ErrorKind::Read`](crate::ErrorKind::Read) and [`ErrorKind::Write`](crate::ErrorKind::Write).
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
/// assert_eq!(report.result_bytes, 8);
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
