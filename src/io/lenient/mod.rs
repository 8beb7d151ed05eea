//! JSON with comments and trailing commas: struson removes them, and the clean text is filtered.
//!
//! ```text
//! reader ─▶ Source ─▶ struson reader ─▶ struson writer ─▶ Cleaned ─▶ Front ─▶ Filter
//!             └───── before it waits for more: filter what is clean ────┘
//! ```
//!
//! This module does not depend on rules. struson holds only names and numbers, and both have a limit here.

mod flaw;

use std::cell::RefCell;
use std::io::{ErrorKind as IoKind, Read, Write};

use struson::reader::{JsonReader, JsonStreamReader, ReaderSettings, ValueType};
use struson::writer::{JsonStreamWriter, JsonWriter};

use flaw::LenientFlaw;
use tamis_json::error::{Error, LimitName};
use tamis_json::limits::Limits;

use super::WriteSink;
use super::failed_run::{FailedRun, RunResult};
use super::push::CHUNK;
use crate::filter::{Call, Filter};
use crate::report::{FailureReport, Report};

/// Filters JSON with comments (`// …`, `/* … */`) and trailing commas.
///
/// Both are removed while the text streams, and the rest is filtered as by [`filter_reader`](crate::filter_reader).
/// Numbers keep their text; escapes in strings may be respelled (`\u0041` becomes `A`). Offsets in errors and sizes in
/// the report are those of the text without comments and white space, and the errors say so. Errors in the original
/// text have a line and a column instead.
///
/// Some documents are rejected that are accepted without comments: those with lone surrogate escapes, names longer than
/// [`Limits::key`] or numbers longer than [`Limits::item`], anywhere in the document.
///
/// Memory: as for the filter, one name or number, and 64 KiB. Time: linear; an order of magnitude slower than strict
/// JSON.
///
/// # Errors
/// As for [`filter_reader`](crate::filter_reader).
///
/// ```
/// use tamis::{Program, Spec, filter_lenient};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let input = &br#"[ {"id": 1.10, "x": 2}, /* the rest */ {"id": 3,}, ]"#[..];
/// let mut output = Vec::new();
/// let report = filter_lenient(&program, input, &mut output)?;
/// assert_eq!(output, br#"[{"id":1.10},{"id":3}]"#);
/// assert_eq!(report.items_kept, Some(2));
///
/// let error = filter_lenient(&program, &b"[1,\n /* "[..], std::io::sink()).unwrap_err();
/// assert_eq!(error.to_string(), "line 2, column 5: unterminated comment, expected `*/`");
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_lenient<'a, R: Read, W: Write>(
    call: impl Into<Call<'a>>,
    reader: R,
    writer: W,
) -> RunResult<Report> {
    let call = call.into();
    let limits = call.options().limits();
    let filter = Filter::new(call.clone(), WriteSink::new(writer));
    let front = RefCell::new(Front { filter, clean: Vec::new(), end: None });
    let cleaned = clean(&front, StrusonInput::new(reader, &front), limits);

    let mut front = front.into_inner();
    // The clean text before an error is filtered first: the filter may find an earlier error, or be done.
    front.hand_on();
    let result = match (front.end.take(), cleaned) {
        (Some(EarlyEnd::Error(error)), _) => Err(error),
        (Some(EarlyEnd::Done), _) | (None, Ok(())) => front.finish(),
        (None, Err(LenientFlaw(error))) => Err(error),
    };
    let mut report = front.filter.report();
    if let Err(error) = &result {
        report = front.filter.fail(error);
        report.error = Some(FailureReport::from(error));
    }
    FailedRun::join(result, report)
}

/// The filter and the clean text that was not filtered yet.
struct Front<W> {
    filter: Filter<WriteSink<W>>,
    clean: Vec<u8>,
    end: Option<EarlyEnd>,
}

/// Why the run ends before the input does.
enum EarlyEnd {
    Error(Error),
    /// The filter stopped early.
    Done,
}

impl<W: Write> Front<W> {
    /// Filters the clean text. Returns false if the run is over.
    fn hand_on(&mut self) -> bool {
        if self.end.is_none() && !self.clean.is_empty() {
            let fed = self.filter.write(&self.clean).map_err(in_clean_text);
            self.clean.clear();
            let flushed = self.filter.sink_mut().flush();
            self.end = match flushed.and(fed) {
                Err(error) => Some(EarlyEnd::Error(error)),
                Ok(()) => self.filter.is_done().then_some(EarlyEnd::Done),
            };
        }
        self.end.is_none()
    }

    fn finish(&mut self) -> Result<(), Error> {
        let ended = self.filter.end().map(|_| ()).map_err(in_clean_text);
        self.filter.sink_mut().flush().and(ended)
    }
}

/// Adds to the message which text the offset belongs to.
fn in_clean_text(error: Error) -> Error {
    match error.offset() {
        None => error,
        Some(offset) => {
            let message = format!("{} (in the text without comments)", error.message());
            error.moved(message, offset)
        }
    }
}

/// The output of struson.
struct Cleaned<'a, W>(&'a RefCell<Front<W>>);

impl<W: Write> Write for Cleaned<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut front = self.0.borrow_mut();
        front.clean.extend_from_slice(bytes);
        if front.clean.len() >= CHUNK && !front.hand_on() {
            return Err(IoKind::Other.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The input of struson. Filters clean text before it waits for more, skips a byte order mark, and ends the input if
/// too much would have to be held.
struct StrusonInput<'a, R, W> {
    reader: R,
    front: &'a RefCell<Front<W>>,
    chunk: Vec<u8>,
    at: usize,
    filled: usize,
    begun: bool,
    /// Bytes that may be read for the value that is being held.
    allowance: Option<usize>,
    /// The allowance was exceeded.
    over: bool,
}

/// The byte order mark that a text may begin with.
const BOM: &[u8] = b"\xEF\xBB\xBF";

impl<'a, R: Read, W: Write> StrusonInput<'a, R, W> {
    fn new(reader: R, front: &'a RefCell<Front<W>>) -> Self {
        let chunk = vec![0; CHUNK];
        Self { reader, front, chunk, at: 0, filled: 0, begun: false, allowance: None, over: false }
    }

    /// Reads the next chunk after the last one was consumed.
    fn refill(&mut self) -> std::io::Result<()> {
        if !self.front.borrow_mut().hand_on() {
            return Err(IoKind::Other.into());
        }
        (self.at, self.filled) = (0, 0);
        self.fill()?;
        if !self.begun {
            self.begun = true;
            while self.filled < BOM.len() && BOM.starts_with(self.seen()) && self.fill()? {}
            if self.seen().starts_with(BOM) {
                self.at = BOM.len();
                if self.filled == BOM.len() {
                    self.fill()?;
                }
            }
        }
        Ok(())
    }

    /// Appends to the chunk. Returns false at the end of the input.
    fn fill(&mut self) -> std::io::Result<bool> {
        loop {
            match self.reader.read(self.chunk.get_mut(self.filled..).unwrap_or_default()) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) => {
                    self.front.borrow_mut().end = Some(EarlyEnd::Error(Error::read(error)));
                    return Err(IoKind::Other.into());
                }
            }
        }
    }

    fn seen(&self) -> &[u8] {
        self.chunk.get(..self.filled).unwrap_or_default()
    }
}

impl<R: Read, W: Write> Read for StrusonInput<'_, R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.filled {
            self.refill()?;
        }
        let ready = self.chunk.get(self.at..self.filled).unwrap_or_default();
        let count = ready.len().min(buffer.len());
        if let Some(allowance) = &mut self.allowance {
            self.over = count > *allowance;
            if self.over {
                return Err(IoKind::Other.into());
            }
            *allowance -= count;
        }
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), ready.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}

/// Maximum number of bytes that struson reads ahead.
const LOOK_AHEAD: usize = 2 << 10;

/// Copies the text from `source` to `front`, without comments and trailing commas.
///
/// Replaces [`JsonReader::transfer_to`], which holds names and numbers of any length.
fn clean<R: Read, W: Write>(
    front: &RefCell<Front<W>>,
    source: StrusonInput<'_, R, W>,
    limits: &Limits,
) -> Result<(), LenientFlaw> {
    let settings = ReaderSettings {
        allow_comments: true,
        allow_trailing_comma: true,
        allow_multiple_top_level: false,
        // Would hold names of any length, one per level.
        track_path: false,
        // One level more than the engine accepts, so that the engine reports where the limit was exceeded.
        max_nesting_depth: u32::try_from(limits.depth().saturating_add(1)).ok(),
        restrict_number_values: false,
    };
    let mut reader = JsonStreamReader::new_custom(source, settings);
    let mut writer = JsonStreamWriter::new(Cleaned(front));
    let mut open = Vec::new();
    loop {
        match open.last() {
            None => {}
            Some(container) if !reader.has_next()? => {
                if *container == ValueType::Object {
                    reader.end_object()?;
                    writer.end_object()?;
                } else {
                    reader.end_array()?;
                    writer.end_array()?;
                }
                open.pop();
                if open.is_empty() {
                    break;
                }
                continue;
            }
            Some(ValueType::Object) => Bound::name(limits).guard(&mut reader, |reader| {
                let name = reader.next_name()?;
                writer.name(name)?;
                Ok(name.len())
            })?,
            Some(_) => {}
        }
        let value = reader.peek()?;
        match value {
            ValueType::Array => {
                reader.begin_array()?;
                writer.begin_array()?;
                open.push(value);
                continue;
            }
            ValueType::Object => {
                reader.begin_object()?;
                writer.begin_object()?;
                open.push(value);
                continue;
            }
            ValueType::Number => Bound::number(limits).guard(&mut reader, |reader| {
                let number = reader.next_number_as_str()?;
                writer.number_value_from_string(number)?;
                Ok(number.len())
            })?,
            ValueType::String | ValueType::Boolean | ValueType::Null => {
                reader.transfer_to(&mut writer)?;
            }
        }
        if open.is_empty() {
            break;
        }
    }
    Ok(reader.consume_trailing_whitespace()?)
}

/// The limit of a value that struson holds while reading it.
struct Bound {
    what: &'static str,
    /// The limit's name.
    name: LimitName,
    limit: usize,
    /// Maximum number of bytes of input per byte of the value.
    spelling: usize,
}

impl Bound {
    /// Names: `\u0041` is one byte.
    fn name(limits: &Limits) -> Self {
        Self { what: "name", name: LimitName::Key, limit: limits.key(), spelling: 6 }
    }

    fn number(limits: &Limits) -> Self {
        let limit = usize::try_from(limits.item()).unwrap_or(usize::MAX);
        Self { what: "number", name: LimitName::Item, limit, spelling: 1 }
    }

    /// Runs `copy`, which returns the length of what it copied.
    fn guard<R: Read, W: Write>(
        &self,
        reader: &mut JsonStreamReader<StrusonInput<'_, R, W>>,
        copy: impl FnOnce(&mut JsonStreamReader<StrusonInput<'_, R, W>>) -> Result<usize, LenientFlaw>,
    ) -> Result<(), LenientFlaw> {
        let place = reader.current_position(false);
        let allowance = self.limit.saturating_mul(self.spelling).saturating_add(LOOK_AHEAD);
        reader.reader_mut().allowance = Some(allowance);
        let length = copy(reader);
        let source = reader.reader_mut();
        source.allowance = None;
        if source.over || matches!(length, Ok(length) if length > self.limit) {
            let Self { what, name, limit, .. } = self;
            let message = format!("a {what} in lenient input has more than {limit} bytes");
            return Err(LenientFlaw::limit(&place, *name, &message));
        }
        length.map(|_| ())
    }
}
