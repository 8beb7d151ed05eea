//! Splits an event stream into lines and finds the data lines (WHATWG HTML §9.2, "Interpreting an event stream").
//!
//! Chunks may be cut anywhere. The result are pieces: parts of one line, or its end, which together are the stream, byte for byte.
//! Only the position in a field's name is kept, as a number. Knows no events.

use crate::json::bom::BOM;

/// The start of a data line that has a value and a space before it.
const DATA: &[u8] = b"data: ";
/// The length of the name in it.
const NAME: usize = 4;
/// The other field names, no two with the same first letter.
const NAMES: [&[u8]; 3] = [b"event", b"id", b"retry"];

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Empty,
    Comment,
    Data,
    /// Another known field.
    Other,
    /// A line that clients ignore.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// The byte order mark at the start of the stream.
    Mark,
    /// The start of a line that is not empty; has no bytes.
    Begin(Line),
    /// The part of a data line before its value.
    Name(&'static [u8]),
    /// Part of the value of a data line, or of any other line.
    Text(Line, &'a [u8]),
    /// The end of the line, LF or CR.
    End(Line, &'static [u8]),
    /// The LF that belongs to the CR before it.
    Feed(Line),
}

impl<'a> Piece<'a> {
    /// The kind of its line.
    pub(super) fn line(self) -> Option<Line> {
        match self {
            Self::Mark => None,
            Self::Name(_) => Some(Line::Data),
            Self::Begin(line) | Self::Text(line, _) | Self::End(line, _) | Self::Feed(line) => {
                Some(line)
            }
        }
    }

    /// The bytes of the stream.
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Mark => BOM,
            Self::Begin(_) => b"",
            Self::Name(bytes) | Self::End(_, bytes) => bytes,
            Self::Text(_, bytes) => bytes,
            Self::Feed(_) => b"\n",
        }
    }
}

#[derive(Debug)]
pub(super) struct Fields {
    at: At,
    /// The last byte was a CR that ended a line.
    cr: Option<Line>,
}

#[derive(Clone, Copy, Debug)]
enum At {
    /// At the start of the stream, after this many bytes of a byte order mark.
    Mark(usize),
    /// At the start of a line.
    Begin,
    /// After this many bytes of `data: `.
    Name(usize),
    /// After this many bytes of another name.
    Other(&'static [u8], usize),
    /// The line has begun. The piece has not been returned yet.
    Owed(Line, &'static [u8]),
    In(Line),
}

impl Fields {
    /// The start of a stream.
    pub(super) fn new() -> Self {
        Self { at: At::Mark(0), cr: None }
    }

    /// The start of the lines in it.
    pub(super) fn inside() -> Self {
        Self { at: At::Begin, cr: None }
    }

    /// Returns the kind of the open line.
    pub(super) fn line(&self) -> Option<Line> {
        match self.at {
            At::In(line) | At::Owed(line, _) => Some(line),
            At::Mark(_) | At::Begin | At::Name(_) | At::Other(..) => None,
        }
    }

    /// Returns the next piece and removes it from `rest`. Takes all of `rest` if there is none.
    pub(super) fn next<'a>(&mut self, rest: &mut &'a [u8]) -> Option<Piece<'a>> {
        loop {
            if let At::Owed(line, bytes) = self.at {
                self.at = At::In(line);
                let name = line == Line::Data;
                return Some(if name { Piece::Name(bytes) } else { Piece::Text(line, bytes) });
            }
            let (&byte, behind) = rest.split_first()?;
            if let Some(line) = self.cr.take()
                && byte == b'\n'
            {
                *rest = behind;
                return Some(Piece::Feed(line));
            }
            match self.at {
                At::Mark(seen) if BOM.get(seen) == Some(&byte) => {
                    *rest = behind;
                    if seen + 1 == BOM.len() {
                        self.at = At::Begin;
                        return Some(Piece::Mark);
                    }
                    self.at = At::Mark(seen + 1);
                }
                At::Mark(0) => self.at = At::Begin,
                At::Name(seen @ ..NAME) | At::Name(seen @ 5) if DATA.get(seen) == Some(&byte) => {
                    *rest = behind;
                    self.at = At::Name(seen + 1);
                }
                At::Name(NAME) if byte == b':' => {
                    *rest = behind;
                    self.at = At::Name(NAME + 1);
                }
                At::Other(name, seen) if name.get(seen) == Some(&byte) => {
                    *rest = behind;
                    self.at = At::Other(name, seen + 1);
                }
                At::Name(seen @ NAME) if !matches!(byte, b'\n' | b'\r') => {
                    return Some(self.owe(Line::Unknown, DATA, seen));
                }
                At::Other(name, seen) if !matches!(byte, b':' | b'\n' | b'\r') => {
                    return Some(self.owe(Line::Unknown, name, seen));
                }
                At::Mark(_) | At::Name(_) | At::Other(..) => return self.settle(),
                At::Begin => match byte {
                    b'\n' | b'\r' => return Some(self.end(Line::Empty, rest)),
                    b':' => return Some(self.begin(Line::Comment)),
                    b'd' => {
                        *rest = behind;
                        self.at = At::Name(1);
                    }
                    _ => match NAMES.iter().find(|name| name.first() == Some(&byte)) {
                        Some(name) => {
                            *rest = behind;
                            self.at = At::Other(name, 1);
                        }
                        None => return Some(self.begin(Line::Unknown)),
                    },
                },
                At::In(line) => {
                    let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    let (text, behind) = rest.split_at(end);
                    if text.is_empty() {
                        return Some(self.end(line, rest));
                    }
                    *rest = behind;
                    return Some(Piece::Text(line, text));
                }
                At::Owed(..) => {}
            }
        }
    }

    /// Returns the pending piece when nothing can be added to it, because the line or the stream ends here or the next byte does
    /// not belong to it. [`next`](Self::next) returns the pieces after it.
    pub(super) fn settle<'a>(&mut self) -> Option<Piece<'a>> {
        match self.at {
            At::Mark(seen @ 1..) => Some(self.owe(Line::Unknown, BOM, seen)),
            At::Name(seen @ ..NAME) => Some(self.owe(Line::Unknown, DATA, seen)),
            At::Name(seen) => Some(self.owe(Line::Data, DATA, seen)),
            At::Other(name, seen) if seen < name.len() => Some(self.owe(Line::Unknown, name, seen)),
            At::Other(name, seen) => Some(self.owe(Line::Other, name, seen)),
            _ => None,
        }
    }

    fn owe<'a>(&mut self, line: Line, text: &'static [u8], seen: usize) -> Piece<'a> {
        self.at = At::Owed(line, text.get(..seen).unwrap_or(text));
        Piece::Begin(line)
    }

    fn begin<'a>(&mut self, line: Line) -> Piece<'a> {
        self.at = At::In(line);
        Piece::Begin(line)
    }

    fn end<'a>(&mut self, line: Line, rest: &mut &'a [u8]) -> Piece<'a> {
        let cr = rest.first() == Some(&b'\r');
        *rest = rest.get(1..).unwrap_or_default();
        self.at = At::Begin;
        self.cr = cr.then_some(line);
        Piece::End(line, if cr { b"\r" } else { b"\n" })
    }
}
