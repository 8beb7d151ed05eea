//! Newline-delimited JSON: one document per line.
//!
//! Lines are split while they arrive and filtered unchanged, because white space around a document is valid JSON.

use tamis_json::error::Error;
use tamis_json::sink::Sink;

use super::{HeldOutput, Record, RecordFlaw, RecordForm, Records, is_malformed};
use crate::filter::{BadLines, Call};

/// A filter over lines.
pub(crate) type Lines<S, F> = Records<LineForm, S, F>;

/// The position in the lines.
pub(crate) struct LineForm {
    state: LineState,
    /// The line has only white space so far.
    blank: bool,
    number: u64,
    /// Offset of the line's first byte.
    start: u64,
    /// Bytes of the line so far.
    length: u64,
    bad_lines: BadLines,
    /// The line as it was read, if it is written when it is bad.
    raw: Option<HeldOutput>,
}

/// The state of the current line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    None,
    Open,
    /// It failed; the rest of it is skipped.
    Bad,
    /// It is not JSON, and is written as it was read.
    Passed,
}

impl RecordForm for LineForm {
    const RECORD: &'static str = "line";
    const MAY_DROP: bool = true;

    fn new(call: &Call<'_>) -> Self {
        let bad_lines = call.options().bad_lines();
        Self {
            state: LineState::None,
            blank: true,
            number: 1,
            start: 0,
            length: 0,
            bad_lines,
            raw: (bad_lines == BadLines::Pass).then(|| HeldOutput::new(call.options().limits())),
        }
    }

    fn refusal(call: &Call<'_>) -> Option<Error> {
        let program = call.program();
        if call.options().bad_lines() == BadLines::Pass && program.spec().removes_for_safety() {
            return Some(Error::spec(
                "bad lines cannot pass: a rule removes for safety, and a line that is not JSON is not filtered",
            ));
        }
        program.is_text().then(|| {
            Error::spec(
                "newline-delimited JSON: the output of this filter is text, which may have any number of lines",
            )
        }).or_else(|| super::refuse_form(program))
    }

    fn write<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        chunk: &[u8],
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        if record.is_full() {
            return Ok(());
        }
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(end);
            self.piece(line, record);
            self.end_line(record)?;
            self.start += self.length + 1;
            self.length = 0;
            self.number += 1;
            rest = behind.get(1..).unwrap_or_default();
            if record.is_full() {
                return Ok(());
            }
        }
        self.piece(rest, record);
        Ok(())
    }

    fn end<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        self.end_line(record)
    }
}

impl LineForm {
    /// Takes a part of the line.
    fn piece<S: Sink, F: FnMut(u64, &Error)>(&mut self, bytes: &[u8], record: &mut Record<S, F>) {
        self.length += bytes.len() as u64;
        if bytes.is_empty() {
            return;
        }
        if let Some(raw) = &mut self.raw {
            raw.write(bytes);
        }
        if matches!(self.state, LineState::Bad | LineState::Passed) {
            return;
        }
        self.blank &= bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        self.state = LineState::Open;
        if let Err(flaw) = record.feed(bytes) {
            self.bad(flaw, record);
        }
    }

    /// Ends the line and writes its output.
    fn end_line<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        let blank = std::mem::replace(&mut self.blank, true);
        if self.state == LineState::Open {
            if !blank {
                match record.complete(self.number, 0) {
                    Ok(()) => record.write_line()?,
                    Err(flaw) => self.bad(flaw, record),
                }
            }
            record.restart();
        }
        if matches!(self.state, LineState::Bad | LineState::Passed) {
            record.sum.add_bad_bytes(self.length);
        }
        if let Some(raw) = &mut self.raw {
            if self.state == LineState::Passed {
                write_raw(raw, self.number, self.start, record)?;
            }
            raw.clear();
        }
        self.state = LineState::None;
        Ok(())
    }

    fn bad<S: Sink, F: FnMut(u64, &Error)>(&mut self, flaw: RecordFlaw, record: &mut Record<S, F>) {
        let error = match flaw {
            RecordFlaw::Output(raise) => Error::at(raise, self.start, String::new()),
            RecordFlaw::Document(error) => {
                let offset = self.start + error.offset().unwrap_or(0);
                error.moved(error.message().to_owned(), offset)
            }
        };
        self.state = LineState::Bad;
        match self.bad_lines {
            BadLines::Skip | BadLines::Pass if is_malformed(&error) => {
                record.not_json(self.number, &error);
                if self.raw.is_some() {
                    self.state = LineState::Passed;
                }
            }
            _ => record.bad(self.number, &error),
        }
    }
}

/// Writes a line as it was read. It is bad if it was too long to be held.
fn write_raw<S: Sink, F: FnMut(u64, &Error)>(
    raw: &mut HeldOutput,
    number: u64,
    start: u64,
    record: &mut Record<S, F>,
) -> Result<(), Error> {
    if let Some(raise) = raw.error.take() {
        record.bad(number, &Error::at(raise, start, String::new()));
        return Ok(());
    }
    let sink = &mut record.sink;
    raw.drain_into(|piece| {
        sink.write(piece);
        !sink.is_closed()
    })?;
    sink.write(b"\n");
    Ok(())
}
