//! Documents that follow each other: with white space between them or without it, each over any number of lines.
//!
//! The end of a document is found only by its brackets and quotes. So a document that is invalid inside does not hide
//! the ones after it, unless its brackets or quotes do not match. Then the run goes on at the next line that begins with
//! a bracket.
//!
//! ```text
//! {"a":[1]} {"b":"}"}[2]3 "x"
//! └───────┘ └───────┘└─┘│ └─┘     the ends: the last bracket, the byte before the next value, the last quote
//! ```
//!
//! A value may be taken for a document of its own after a document that was cut off, and rules that name its place would
//! not apply to it. So if a rule removes for safety, the run ends at the first document that is not valid JSON. A
//! [`FramingCheck`] then reads every document to its end, also after its filter failed for another reason.
//!
//! A record separator (U+001E, RFC 7464) before a document is white space.

use tamis_json::bom::BOM;
use tamis_json::error::Error;
use tamis_json::sink::Sink;

use super::framing::FramingCheck;
use super::{Record, RecordFlaw, RecordForm, Records, is_malformed};
use crate::filter::Call;

/// A filter over documents.
pub(crate) type Documents<S, F> = Records<DocumentForm, S, F>;

/// The separator of RFC 7464.
const SEPARATOR: u8 = 0x1e;

/// The position in the documents.
pub(crate) struct DocumentForm {
    place: DocumentPlace,
    /// The current document failed. The rest of it is skipped.
    bad: bool,
    /// The current document failed because it is not valid JSON. Its end may not be where its brackets match.
    malformed: bool,
    /// Present if a rule removes for safety.
    framing: Option<FramingCheck>,
    number: u64,
    /// Offset of the current document, or of the bytes before the next one.
    start: u64,
    /// Bytes since then.
    length: u64,
}

/// The position relative to the current document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentPlace {
    /// Before a document.
    Between,
    /// In a number, a literal, or anything that is not a value.
    Scalar,
    /// After this many bytes of a byte order mark.
    Mark(usize),
    /// In this many containers.
    Container(u64),
    /// In this many containers, after a line break.
    NewLine(u64),
    /// In a string, in this many containers.
    InString(u64),
    /// After a backslash in a string.
    Escaped(u64),
    /// After a document whose end is not known, and before a line that begins one. Whether a line begins here.
    Lost(bool),
}

/// Why a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanEnd {
    /// The bytes are used up.
    Bytes,
    /// The document ends here.
    Document,
    /// The last byte is a bracket that begins a line inside the document. A new document begins with it if this one is
    /// malformed.
    Line,
    /// The last byte is a line break in a string, which no document has.
    Broken,
}

impl DocumentPlace {
    /// Returns the number of bytes up to the end of the scan, and why it ended. Begins inside a document and leaves the
    /// place unchanged at its end.
    fn scan(&mut self, bytes: &[u8]) -> (usize, ScanEnd) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            *self = match *self {
                Self::Between | Self::Lost(_) => return (at, ScanEnd::Document),
                Self::Scalar => match byte {
                    b' ' | b'\t' | b'\r' | b'\n' | b'{' | b'[' | b'"' | SEPARATOR => {
                        return (at, ScanEnd::Document);
                    }
                    _ => Self::Scalar,
                },
                Self::Mark(seen) => match byte {
                    _ if BOM.get(seen) == Some(&byte) => Self::Mark(seen + 1),
                    b' ' | b'\t' | b'\r' | b'\n' if seen == BOM.len() => Self::Mark(seen),
                    b'{' | b'[' if seen == BOM.len() => Self::Container(1),
                    b'"' if seen == BOM.len() => Self::InString(0),
                    _ => Self::Scalar,
                },
                Self::Escaped(_) if byte == b'\n' => return (at + 1, ScanEnd::Broken),
                Self::Escaped(depth) => Self::InString(depth),
                Self::InString(depth) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let Some(found) = memchr::memchr3(b'"', b'\\', b'\n', rest) else {
                        return (bytes.len(), ScanEnd::Bytes);
                    };
                    at += found;
                    match (bytes.get(at), depth) {
                        (Some(b'\\'), _) => Self::Escaped(depth),
                        (Some(b'\n'), _) => return (at + 1, ScanEnd::Broken),
                        (_, 0) => return (at + 1, ScanEnd::Document),
                        _ => Self::Container(depth),
                    }
                }
                Self::NewLine(depth) if matches!(byte, b'{' | b'[') => {
                    *self = Self::Container(depth + 1);
                    return (at + 1, ScanEnd::Line);
                }
                Self::Container(depth) | Self::NewLine(depth) => match byte {
                    b'"' => Self::InString(depth),
                    b'{' | b'[' => Self::Container(depth + 1),
                    b'}' | b']' if depth <= 1 => return (at + 1, ScanEnd::Document),
                    b'}' | b']' => Self::Container(depth - 1),
                    b'\n' => Self::NewLine(depth),
                    _ => Self::Container(depth),
                },
            };
            at += 1;
        }
        (bytes.len(), ScanEnd::Bytes)
    }
}

impl RecordForm for DocumentForm {
    const RECORD: &'static str = "document";
    const MAY_DROP: bool = true;

    fn new(call: &Call<'_>) -> Self {
        let is_safe = call.program().spec().removes_for_safety();
        Self {
            place: DocumentPlace::Between,
            bad: false,
            malformed: false,
            framing: is_safe.then(|| FramingCheck::new(call)),
            number: 1,
            start: 0,
            length: 0,
        }
    }

    fn refusal(call: &Call<'_>) -> Option<Error> {
        let program = call.program();
        program.is_text().then(|| {
            Error::spec(
                "documents in sequence: the output of this filter is text, which may have any number of lines",
            )
        }).or_else(|| super::refuse_form(program))
    }

    fn write<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        chunk: &[u8],
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        let mut rest = chunk;
        while !rest.is_empty() && !record.is_full() {
            rest = match self.place {
                DocumentPlace::Between => self.skip_white(rest, record),
                DocumentPlace::Lost(begins) => self.skip_lost(rest, begins, record),
                _ => self.inside(rest, record)?,
            };
        }
        Ok(())
    }

    fn end<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        let is_outside = matches!(self.place, DocumentPlace::Between | DocumentPlace::Lost(_));
        if is_outside || record.is_full() {
            return Ok(());
        }
        self.end_document(record)
    }
}

impl DocumentForm {
    /// Skips the white space before a document and takes the first byte of it. Returns the bytes after it.
    fn skip_white<'a, S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        bytes: &'a [u8],
        record: &mut Record<S, F>,
    ) -> &'a [u8] {
        let white = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | &SEPARATOR);
        let at = bytes.iter().position(|byte| !white(byte)).unwrap_or(bytes.len());
        self.start += at as u64;
        self.begin(bytes.get(at..).unwrap_or_default(), record)
    }

    /// Skips bytes up to a line that begins a document. Returns the bytes after them.
    fn skip_lost<'a, S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        bytes: &'a [u8],
        begins: bool,
        record: &mut Record<S, F>,
    ) -> &'a [u8] {
        if begins && matches!(bytes.first(), Some(b'{' | b'[' | &SEPARATOR)) {
            self.place = DocumentPlace::Between;
            return bytes;
        }
        let line = memchr::memchr(b'\n', bytes).map(|at| at + 1);
        let (skipped, rest) = bytes.split_at(line.unwrap_or(bytes.len()));
        self.place = DocumentPlace::Lost(line.is_some());
        self.start += skipped.len() as u64;
        record.sum.add_bad_bytes(skipped.len() as u64);
        rest
    }

    /// Takes bytes of the document up to its end. Returns the bytes after them.
    fn inside<'a, S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        bytes: &'a [u8],
        record: &mut Record<S, F>,
    ) -> Result<&'a [u8], Error> {
        let (length, end) = self.place.scan(bytes);
        let (piece, mut rest) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
        self.piece(piece, record);
        if record.is_full() {
            return Ok(&[]);
        }
        match end {
            ScanEnd::Document => self.end_document(record)?,
            ScanEnd::Broken => {
                self.end_document(record)?;
                self.place = DocumentPlace::Lost(true);
            }
            ScanEnd::Line if self.malformed && self.framing.is_none() => {
                self.length -= 1;
                rest = bytes.get(length - 1..).unwrap_or_default();
                self.end_document(record)?;
            }
            ScanEnd::Line | ScanEnd::Bytes => {}
        }
        Ok(rest)
    }

    /// Takes the first byte of a document, and returns the others.
    fn begin<'a, S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        bytes: &'a [u8],
        record: &mut Record<S, F>,
    ) -> &'a [u8] {
        let Some((first, behind)) = bytes.split_at_checked(1) else { return &[] };
        self.place = match first {
            b"{" | b"[" => DocumentPlace::Container(1),
            b"\"" => DocumentPlace::InString(0),
            _ if BOM.starts_with(first) => DocumentPlace::Mark(1),
            _ => DocumentPlace::Scalar,
        };
        self.piece(first, record);
        behind
    }

    /// Takes a part of the document.
    fn piece<S: Sink, F: FnMut(u64, &Error)>(&mut self, bytes: &[u8], record: &mut Record<S, F>) {
        self.length += bytes.len() as u64;
        if bytes.is_empty() {
            return;
        }
        let flaw = if self.bad { None } else { record.feed(bytes).err() };
        self.bad |= flaw.is_some();
        let broken = self.framing.as_mut().and_then(|framing| {
            framing.write(bytes);
            framing.take_error(self.bad)
        });
        self.judge(flaw, broken, record);
    }

    /// Ends the document and writes its output.
    fn end_document<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        // A filter that failed or stopped early does not know whether the document is complete.
        let broken = self.framing.as_mut().and_then(|framing| {
            framing.end();
            let is_unknown = self.bad || record.filter.is_done();
            is_unknown.then(|| framing.take_error(self.bad)).flatten()
        });
        self.bad |= broken.is_some();
        let completed = if self.bad { Ok(()) } else { record.complete(self.number, 0) };
        if completed.is_ok() && !self.bad {
            record.write_line()?;
            record.restart();
        }
        self.bad |= completed.is_err();
        let framing = self.framing.as_mut().filter(|_| self.bad);
        let broken = broken.or_else(|| framing.and_then(|framing| framing.take_error(true)));
        self.judge(completed.err(), broken, record);
        if self.bad && !record.is_full() {
            record.sum.add_bad_bytes(self.length);
        }
        if let Some(framing) = &mut self.framing {
            framing.restart();
        }
        self.place = DocumentPlace::Between;
        self.bad = false;
        self.malformed = false;
        self.number += 1;
        self.start += self.length;
        self.length = 0;
        Ok(())
    }

    /// Reports what is wrong with the document. `flaw`: its filter failed. `broken`: its end is not certain and a rule removes
    /// for safety, so the run ends.
    fn judge<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        flaw: Option<RecordFlaw>,
        broken: Option<Error>,
        record: &mut Record<S, F>,
    ) {
        let flaw = flaw.map(|flaw| self.placed(flaw));
        let broken = broken.map(|error| self.placed(RecordFlaw::Document(error)));
        // Such a document may end elsewhere than at its last bracket.
        self.malformed |= flaw.as_ref().is_some_and(is_malformed);
        let Some(broken) = broken else {
            if let Some(flaw) = flaw {
                record.bad(self.number, &flaw);
            }
            return;
        };
        let last = match flaw {
            // The same flaw.
            Some(flaw) if broken.offset() <= flaw.offset() => flaw,
            Some(flaw) => {
                record.bad(self.number, &flaw);
                broken
            }
            None => broken,
        };
        let message = format!("{}; {ENDS}", last.message());
        let offset = last.offset().unwrap_or(self.start);
        record.bad(self.number, &last.moved(message, offset));
        record.sum.add_bad_bytes(offset.saturating_sub(self.start));
        record.stop();
    }

    /// Returns the error with its place in the stream.
    fn placed(&self, flaw: RecordFlaw) -> Error {
        match flaw {
            RecordFlaw::Output(raise) => Error::at(raise, self.start, String::new()),
            RecordFlaw::Document(error) => {
                let offset = self.start + error.offset().unwrap_or(0);
                error.moved(error.message().to_owned(), offset)
            }
        }
    }
}

/// Why the run ends at a document.
const ENDS: &str = "the rest is not read, because the next document may begin anywhere and a rule removes for safety";
