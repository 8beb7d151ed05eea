//! Newline-delimited JSON: one document per line.
//!
//! Lines are split while they arrive and filtered unchanged, because white space around a document is valid JSON.

use tamis_json::error::Error;
use tamis_json::sink::Sink;

use super::{Record, RecordFlaw, RecordForm, Records};
use crate::filter::{Call, Program};

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
}

/// The state of the current line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    None,
    Open,
    /// It failed; the rest of it is skipped.
    Bad,
}

impl RecordForm for LineForm {
    const RECORD: &'static str = "line";
    const MAY_DROP: bool = true;

    fn new(_: &Call<'_>) -> Self {
        Self { state: LineState::None, blank: true, number: 1, start: 0, length: 0 }
    }

    fn refusal(program: &Program) -> Option<Error> {
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
        if bytes.is_empty() || self.state == LineState::Bad {
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
        if self.state == LineState::Bad {
            record.sum.add_bad_bytes(self.length);
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
        record.bad(self.number, &error);
        self.state = LineState::Bad;
    }
}
