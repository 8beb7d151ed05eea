//! Replaces ranges of a message, and copies everything between them byte for byte.

use std::ops::Range;

use tamis::Sink as _;

use super::find::Found;
use crate::spool::{Spool, SpoolError};
use tamis::json::StringEncoder;

/// New bytes for a range.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Nothing.
    Cut,
    /// These bytes.
    Bytes(Vec<u8>),
    /// A range of the message itself.
    Message(Range<u64>),
    /// A range of the second spool that [`Splice::write`] is given.
    Scratch(Range<u64>),
    /// A range of the second spool, as the content of a JSON string.
    Quoted(Range<u64>),
}

/// Replacements in a message. Ranges may be added in any order and must not overlap.
#[derive(Debug, Default)]
pub(crate) struct Splice(Vec<(Range<u64>, Piece)>);

impl Splice {
    /// Replaces a range. An empty range inserts before its position; of several at one position, the first added comes
    /// first.
    pub(crate) fn replace(&mut self, range: Range<u64>, piece: Piece) {
        self.0.push((range, piece));
    }

    /// Inserts bytes.
    pub(crate) fn insert(&mut self, at: u64, bytes: Vec<u8>) {
        self.replace(at..at, Piece::Bytes(bytes));
    }

    /// Removes the replacements within a range that is replaced as a whole.
    pub(crate) fn remove_within(&mut self, range: &Range<u64>) {
        self.0.retain(|(inner, _)| inner.start < range.start || inner.end > range.end);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the length of the result for a message of this length, not counting escapes that strings need.
    pub(crate) fn length(&self, message: u64) -> u64 {
        let removed: u64 = self.0.iter().map(|(range, _)| range.end - range.start).sum();
        let added = self.0.iter().map(|(_, piece)| match piece {
            Piece::Cut => 0,
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Message(range) | Piece::Scratch(range) | Piece::Quoted(range) => {
                range.end - range.start
            }
        });
        message.saturating_sub(removed) + added.sum::<u64>()
    }

    /// Writes a range of a message with its replacements to `out`.
    pub(crate) fn write(
        mut self,
        message: &Spool,
        range: Range<u64>,
        scratch: &Spool,
        out: &mut Spool,
    ) -> Result<(), SpoolError> {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut at = range.start;
        for (replaced, piece) in self.0 {
            if replaced.start > at {
                message.each_chunk(at..replaced.start, |chunk| out.push(chunk))?;
            }
            match piece {
                Piece::Cut => {}
                Piece::Bytes(bytes) => out.push(&bytes)?,
                Piece::Message(range) => message.each_chunk(range, |chunk| out.push(chunk))?,
                Piece::Scratch(range) => scratch.each_chunk(range, |chunk| out.push(chunk))?,
                Piece::Quoted(range) => {
                    let mut encoder = StringEncoder::new(&mut *out);
                    scratch.each_chunk(range, |chunk| {
                        encoder.write(chunk);
                        Ok::<_, SpoolError>(())
                    })?;
                }
            }
            at = at.max(replaced.end);
        }
        message.each_chunk(at..range.end.max(at), |chunk| out.push(chunk))
    }
}

/// The white space and commas around the members of an object or the elements of an array, for cutting some of them.
///
/// ```text
/// { "a" : 1 , "b" : 2 , "c" : 3 }
///            └─────────┘            cut b: from its name to the next member
///           └─────────────────┘     cut b and c: from the comma before b to the end of c
/// ```
pub(crate) fn cut_members<'a>(
    message: &Spool,
    container: &Range<u64>,
    members: impl IntoIterator<Item = &'a Found>,
    splice: &mut Splice,
) -> Result<(), SpoolError> {
    let mut spans: Vec<Range<u64>> =
        members.into_iter().map(|found| found.start..found.span.end).collect();
    spans.sort_by_key(|span| span.start);
    let mut spans = spans.into_iter().peekable();
    while let Some(Range { start, mut end }) = spans.next() {
        // Neighbours are cut together, so that no comma is counted twice.
        let mut next = after_comma(message, end, container.end)?;
        while let Some(neighbour) = spans.next_if(|span| Some(span.start) == next) {
            end = neighbour.end;
            next = after_comma(message, end, container.end)?;
        }
        let cut = match next {
            Some(next) => start..next,
            None => before_comma(message, container.start, start)?.unwrap_or(start)..end,
        };
        splice.replace(cut, Piece::Cut);
    }
    Ok(())
}

/// Returns the start of what follows the comma after `at`. Returns `None` if there is no comma.
fn after_comma(message: &Spool, at: u64, end: u64) -> Result<Option<u64>, SpoolError> {
    let mut comma = false;
    let mut position = at;
    let mut place = None;
    // White space between tokens is rarely longer than one piece, so the rest is rarely read.
    while position < end && place.is_none() {
        let piece = message.to_vec(position..end.min(position + 256), 256)?;
        for byte in &piece {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b',' if !comma => comma = true,
                _ => {
                    place = Some(position);
                    break;
                }
            }
            position += 1;
        }
        if piece.is_empty() {
            break;
        }
    }
    Ok(place.filter(|_| comma))
}

/// Returns the position of the comma before `at`. Returns `None` if there is none.
fn before_comma(message: &Spool, start: u64, at: u64) -> Result<Option<u64>, SpoolError> {
    let mut position = at;
    while position > start {
        let from = position.saturating_sub(256).max(start);
        let piece = message.to_vec(from..position, 256)?;
        for byte in piece.iter().rev() {
            position -= 1;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b',' => return Ok(Some(position)),
                _ => return Ok(None),
            }
        }
        if piece.is_empty() {
            break;
        }
    }
    Ok(None)
}

/// Returns where to insert a last member or element, and whether a comma has to come before it.
pub(crate) fn end_of(message: &Spool, container: &Range<u64>) -> Result<(u64, bool), SpoolError> {
    let close = container.end.saturating_sub(1);
    let mut position = close;
    while position > container.start {
        let from = position.saturating_sub(256).max(container.start);
        let piece = message.to_vec(from..position, 256)?;
        for byte in piece.iter().rev() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => position -= 1,
                // The bracket that opens the container is its first byte.
                _ => return Ok((position, position > container.start + 1)),
            }
        }
        if piece.is_empty() {
            break;
        }
    }
    Ok((close, false))
}

#[cfg(test)]
mod tests {
    use super::{Piece, Splice, cut_members, end_of};
    use crate::jsonrpc::find::{Paths, find};
    use crate::spool::{Spool, SpoolLimits};

    /// Cuts the members `x`, `y` and `z`.
    fn cut(text: &str) -> String {
        let message = Spool::from_vec(text.as_bytes().to_vec());
        let found = find(&Paths::new(&["x", "y", "z"]), &message, 0..message.len()).unwrap();
        let mut splice = Splice::default();
        cut_members(&message, &(0..message.len()), &found, &mut splice).unwrap();
        let mut out = Spool::new(SpoolLimits::default());
        splice.write(&message, 0..message.len(), &Spool::from_vec(Vec::new()), &mut out).unwrap();
        String::from_utf8(out.into_vec().unwrap()).unwrap()
    }

    #[test]
    fn members_are_cut_with_one_comma_each() {
        let wide = format!("{{\"a\":1{0},{0}\"x\"{0}:1{0}}}", " ".repeat(1000));
        for (text, expected) in [
            ("{}", "{}"),
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"x":1}"#, "{}"),
            (r#"{ "x" : 1 }"#, "{  }"),
            (r#"{"x":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":2 , "x":1}"#, r#"{"a":2 }"#),
            (r#"{"a":2,"x":1,"b":3}"#, r#"{"a":2,"b":3}"#),
            (r#"{"a":2,"x":1,"y":3}"#, r#"{"a":2}"#),
            (r#"{"x":1,"y":[1,{"x":2}]}"#, "{}"),
            (r#"{"x":1, "y":3 ,"a":2}"#, r#"{"a":2}"#),
            (r#"{"x":1,"a":2,"y":3,"b":4,"x":5,"\u0079":","}"#, r#"{"a":2,"b":4}"#),
            (r#"{"z":",","a":"x","y":"}"}"#, r#"{"a":"x"}"#),
            (&wide, &format!("{{\"a\":1{0}{0}}}", " ".repeat(1000))),
        ] {
            assert_eq!(cut(text), expected);
        }
    }

    #[test]
    fn the_end_of_a_container_is_found() {
        for (text, expected) in [
            ("{}", (1, false)),
            ("[ ]", (1, false)),
            ("[1]", (2, true)),
            ("[1 \n ]", (2, true)),
            (r#"{"a":{}}"#, (7, true)),
        ] {
            let message = Spool::from_vec(text.as_bytes().to_vec());
            assert_eq!(end_of(&message, &(0..message.len())).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn pieces_come_in_order() {
        let message = Spool::from_vec(b"abcdef".to_vec());
        let scratch = Spool::from_vec(b"0123".to_vec());
        let mut splice = Splice::default();
        splice.insert(4, b"[".to_vec());
        splice.replace(4..5, Piece::Scratch(1..3));
        splice.replace(1..2, Piece::Cut);
        splice.insert(6, b"!".to_vec());
        let mut out = Spool::new(SpoolLimits::default());
        assert_eq!(splice.length(message.len()), 8);
        splice.write(&message, 0..6, &scratch, &mut out).unwrap();
        assert_eq!(out.as_slice(), Some(&b"acd[12f!"[..]));
    }
}
