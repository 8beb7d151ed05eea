//! Splits an event stream into lines and finds the data lines (WHATWG HTML §9.2, "Interpreting an event stream").
//!
//! Chunks may be cut anywhere. The result are pieces: parts of one line, or its end, which together are the stream,
//! byte for byte. Only the position in a field's name is kept, as a number. This module does not depend on events: one
//! reader of its pieces filters the data as it arrives, another one collects it.

use crate::bom::BOM;

/// The start of a data line that has a value and a space before it.
const DATA: &[u8] = b"data: ";
/// The length of the name in it.
const NAME: usize = 4;
/// The other field names, no two with the same first letter.
const NAMES: [&[u8]; 3] = [b"event", b"id", b"retry"];

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// An empty line, which ends an event.
    Empty,
    /// A comment.
    Comment,
    /// A line of the data.
    Data,
    /// Another known field.
    Other,
    /// A line that clients ignore.
    Unknown,
}

/// A part of a line, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamPiece<'a> {
    /// The byte order mark at the start of the stream.
    Mark,
    /// The start of a line that is not empty; has no bytes.
    Begin(LineKind),
    /// The part of a data line before its value.
    Name(&'static [u8]),
    /// Part of the value of a data line, or of any other line.
    Text(LineKind, &'a [u8]),
    /// The end of the line, LF or CR.
    End(LineKind, &'static [u8]),
    /// The LF that belongs to the CR before it.
    Feed(LineKind),
}

impl<'a> StreamPiece<'a> {
    /// Returns the kind of its line.
    pub fn line(self) -> Option<LineKind> {
        match self {
            Self::Mark => None,
            Self::Name(_) => Some(LineKind::Data),
            Self::Begin(line) | Self::Text(line, _) | Self::End(line, _) | Self::Feed(line) => {
                Some(line)
            }
        }
    }

    /// Returns the bytes of the stream.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Mark => BOM,
            Self::Begin(_) => b"",
            Self::Name(bytes) | Self::End(_, bytes) => bytes,
            Self::Text(_, bytes) => bytes,
            Self::Feed(_) => b"\n",
        }
    }
}

/// Splits a stream.
#[derive(Debug)]
pub struct FieldSplitter {
    at: FieldPosition,
    /// The last byte was a CR that ended a line.
    cr: Option<LineKind>,
}

#[derive(Clone, Copy, Debug)]
enum FieldPosition {
    /// At the start of the stream, after this many bytes of a byte order mark.
    Mark(usize),
    /// At the start of a line.
    Begin,
    /// After this many bytes of `data: `.
    Name(usize),
    /// After this many bytes of another name.
    Other(&'static [u8], usize),
    /// The line has begun. The piece has not been returned yet.
    Owed(LineKind, &'static [u8]),
    In(LineKind),
}

impl FieldSplitter {
    /// Creates a splitter for the start of a stream.
    pub fn new() -> Self {
        Self { at: FieldPosition::Mark(0), cr: None }
    }

    /// Creates a splitter for lines within a stream.
    pub fn inside() -> Self {
        Self { at: FieldPosition::Begin, cr: None }
    }

    /// Returns the kind of the open line.
    pub fn line(&self) -> Option<LineKind> {
        match self.at {
            FieldPosition::In(line) | FieldPosition::Owed(line, _) => Some(line),
            FieldPosition::Mark(_)
            | FieldPosition::Begin
            | FieldPosition::Name(_)
            | FieldPosition::Other(..) => None,
        }
    }

    /// Returns the next piece and removes it from `rest`. Takes all of `rest` if there is none.
    pub fn next<'a>(&mut self, rest: &mut &'a [u8]) -> Option<StreamPiece<'a>> {
        loop {
            if let FieldPosition::Owed(line, bytes) = self.at {
                self.at = FieldPosition::In(line);
                let name = line == LineKind::Data;
                return Some(if name {
                    StreamPiece::Name(bytes)
                } else {
                    StreamPiece::Text(line, bytes)
                });
            }
            let (&byte, after) = rest.split_first()?;
            if let Some(line) = self.cr.take()
                && byte == b'\n'
            {
                *rest = after;
                return Some(StreamPiece::Feed(line));
            }
            match self.at {
                FieldPosition::Mark(seen) if BOM.get(seen) == Some(&byte) => {
                    *rest = after;
                    if seen + 1 == BOM.len() {
                        self.at = FieldPosition::Begin;
                        return Some(StreamPiece::Mark);
                    }
                    self.at = FieldPosition::Mark(seen + 1);
                }
                FieldPosition::Mark(0) => self.at = FieldPosition::Begin,
                FieldPosition::Name(seen @ ..NAME) | FieldPosition::Name(seen @ 5)
                    if DATA.get(seen) == Some(&byte) =>
                {
                    *rest = after;
                    self.at = FieldPosition::Name(seen + 1);
                }
                FieldPosition::Name(NAME) if byte == b':' => {
                    *rest = after;
                    self.at = FieldPosition::Name(NAME + 1);
                }
                FieldPosition::Other(name, seen) if name.get(seen) == Some(&byte) => {
                    *rest = after;
                    self.at = FieldPosition::Other(name, seen + 1);
                }
                FieldPosition::Name(seen @ NAME) if !matches!(byte, b'\n' | b'\r') => {
                    return Some(self.owe(LineKind::Unknown, DATA, seen));
                }
                FieldPosition::Other(name, seen) if !matches!(byte, b':' | b'\n' | b'\r') => {
                    return Some(self.owe(LineKind::Unknown, name, seen));
                }
                FieldPosition::Mark(_) | FieldPosition::Name(_) | FieldPosition::Other(..) => {
                    return self.settle();
                }
                FieldPosition::Begin => match byte {
                    b'\n' | b'\r' => return Some(self.end(LineKind::Empty, rest)),
                    b':' => return Some(self.begin(LineKind::Comment)),
                    b'd' => {
                        *rest = after;
                        self.at = FieldPosition::Name(1);
                    }
                    _ => match NAMES.iter().find(|name| name.first() == Some(&byte)) {
                        Some(name) => {
                            *rest = after;
                            self.at = FieldPosition::Other(name, 1);
                        }
                        None => return Some(self.begin(LineKind::Unknown)),
                    },
                },
                FieldPosition::In(line) => {
                    let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    let (text, after) = rest.split_at(end);
                    if text.is_empty() {
                        return Some(self.end(line, rest));
                    }
                    *rest = after;
                    return Some(StreamPiece::Text(line, text));
                }
                FieldPosition::Owed(..) => {}
            }
        }
    }

    /// Returns the pending piece when nothing can be added to it, because the line or the stream ends here or the next
    /// byte does not belong to it. [`next`](Self::next) returns the pieces after it.
    pub fn settle<'a>(&mut self) -> Option<StreamPiece<'a>> {
        match self.at {
            FieldPosition::Mark(seen @ 1..) => Some(self.owe(LineKind::Unknown, BOM, seen)),
            FieldPosition::Name(seen @ ..NAME) => Some(self.owe(LineKind::Unknown, DATA, seen)),
            FieldPosition::Name(seen) => Some(self.owe(LineKind::Data, DATA, seen)),
            FieldPosition::Other(name, seen) if seen < name.len() => {
                Some(self.owe(LineKind::Unknown, name, seen))
            }
            FieldPosition::Other(name, seen) => Some(self.owe(LineKind::Other, name, seen)),
            _ => None,
        }
    }

    fn owe<'a>(&mut self, line: LineKind, text: &'static [u8], seen: usize) -> StreamPiece<'a> {
        self.at = FieldPosition::Owed(line, text.get(..seen).unwrap_or(text));
        StreamPiece::Begin(line)
    }

    fn begin<'a>(&mut self, line: LineKind) -> StreamPiece<'a> {
        self.at = FieldPosition::In(line);
        StreamPiece::Begin(line)
    }

    fn end<'a>(&mut self, line: LineKind, rest: &mut &'a [u8]) -> StreamPiece<'a> {
        let cr = rest.first() == Some(&b'\r');
        *rest = rest.get(1..).unwrap_or_default();
        self.at = FieldPosition::Begin;
        self.cr = cr.then_some(line);
        StreamPiece::End(line, if cr { b"\r" } else { b"\n" })
    }
}
