//! Documents that follow each other: with white space between them or without it, each over any number of lines.
//!
//! The end of a document is found only by its brackets and quotes. So a document that is invalid inside does not hide
//! the ones after it, unless its brackets do not match.
//!
//! ```text
//! {"a":[1]} {"b":"}"}[2]3 "x"
//! └───────┘ └───────┘└─┘│ └─┘     the ends: the last bracket, the byte before the next value, the last quote
//! ```

use super::{Record, RecordFlaw, RecordForm, Records};
use crate::error::Error;
use crate::filter::Program;
use crate::json::bom::BOM;
use crate::limits::Limits;
use crate::sink::Sink;

/// A filter over documents.
pub(crate) type Documents<S, F> = Records<DocumentForm, S, F>;

/// The position in the documents.
pub(crate) struct DocumentForm {
    place: DocumentPlace,
    /// The current document failed. The rest of it is skipped.
    bad: bool,
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
    /// In a string, in this many containers.
    InString(u64),
    /// After a backslash in a string.
    Escaped(u64),
}

impl DocumentPlace {
    /// Returns the number of bytes up to the end of the current document, and whether it ends there. Begins inside a
    /// document and leaves the place unchanged at its end.
    fn scan(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            *self = match *self {
                Self::Between => return (at, true),
                Self::Scalar => match byte {
                    b' ' | b'\t' | b'\r' | b'\n' | b'{' | b'[' | b'"' => return (at, true),
                    _ => Self::Scalar,
                },
                Self::Mark(seen) => match byte {
                    _ if BOM.get(seen) == Some(&byte) => Self::Mark(seen + 1),
                    b' ' | b'\t' | b'\r' | b'\n' if seen == BOM.len() => Self::Mark(seen),
                    b'{' | b'[' if seen == BOM.len() => Self::Container(1),
                    b'"' if seen == BOM.len() => Self::InString(0),
                    _ => Self::Scalar,
                },
                Self::Escaped(depth) => Self::InString(depth),
                Self::InString(depth) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                        return (bytes.len(), false);
                    };
                    at += found;
                    match (bytes.get(at), depth) {
                        (Some(b'\\'), _) => Self::Escaped(depth),
                        (_, 0) => return (at + 1, true),
                        _ => Self::Container(depth),
                    }
                }
                Self::Container(depth) => match byte {
                    b'"' => Self::InString(depth),
                    b'{' | b'[' => Self::Container(depth + 1),
                    b'}' | b']' if depth <= 1 => return (at + 1, true),
                    b'}' | b']' => Self::Container(depth - 1),
                    _ => Self::Container(depth),
                },
            };
            at += 1;
        }
        (bytes.len(), false)
    }
}

impl RecordForm for DocumentForm {
    const RECORD: &'static str = "document";
    const MAY_DROP: bool = true;

    fn new(_: &Limits) -> Self {
        Self { place: DocumentPlace::Between, bad: false, number: 1, start: 0, length: 0 }
    }

    fn refusal(program: &Program) -> Option<Error> {
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
            if self.place == DocumentPlace::Between {
                let white = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
                let Some(at) = rest.iter().position(|byte| !white(byte)) else {
                    self.start += rest.len() as u64;
                    return Ok(());
                };
                self.start += at as u64;
                rest = rest.get(at..).unwrap_or_default();
                rest = self.begin(rest, record);
                continue;
            }
            let (length, ended) = self.place.scan(rest);
            let (piece, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            self.piece(piece, record);
            if ended {
                self.end_document(record)?;
            }
            rest = behind;
        }
        Ok(())
    }

    fn end<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        if self.place == DocumentPlace::Between {
            return Ok(());
        }
        self.end_document(record)
    }
}

impl DocumentForm {
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
        if bytes.is_empty() || self.bad {
            return;
        }
        if let Err(flaw) = record.feed(bytes) {
            self.fail(flaw, record);
        }
    }

    /// Ends the document and writes its output.
    fn end_document<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        if !self.bad {
            match record.complete(self.number, 0) {
                Ok(()) => {
                    record.write_line()?;
                    record.restart();
                }
                Err(flaw) => self.fail(flaw, record),
            }
        }
        if self.bad {
            record.sum.add_bad_bytes(self.length);
        }
        self.place = DocumentPlace::Between;
        self.bad = false;
        self.number += 1;
        self.start += self.length;
        self.length = 0;
        Ok(())
    }

    fn fail<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        flaw: RecordFlaw,
        record: &mut Record<S, F>,
    ) {
        let error = match flaw {
            RecordFlaw::Output(raise) => Error::at(raise, self.start, String::new()),
            RecordFlaw::Document(error) => {
                let offset = self.start + error.offset().unwrap_or(0);
                error.moved(error.message().to_owned(), offset)
            }
        };
        record.bad(self.number, &error);
        self.bad = true;
    }
}
