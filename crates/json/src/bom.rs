//! The byte order mark at the beginning of a document. It is skipped even if chunks split it, and counts for offsets.

use crate::error::{Error, ErrorKind, Raise};

/// The byte order mark in UTF-8.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The number of bytes of the mark that were seen, while nothing else was; `None` once the document or its lack is
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BomSkipper(Option<usize>);

impl BomSkipper {
    /// For a document that may begin with a mark.
    pub fn new() -> Self {
        Self(Some(0))
    }

    /// For a text whose mark is not skipped.
    pub fn settled() -> Self {
        Self(None)
    }

    /// Returns the chunk without bytes of the mark. Once it is known where the document begins, also returns the number
    /// of bytes before it.
    pub fn skip<'a>(&mut self, chunk: &'a [u8]) -> Result<(&'a [u8], Option<u64>), Error> {
        let Some(seen) = self.0 else { return Ok((chunk, None)) };
        let wanted = BOM.get(seen..).unwrap_or_default();
        let same = chunk.iter().zip(wanted).take_while(|(byte, mark)| byte == mark).count();
        let document = chunk.get(same..).unwrap_or_default();
        let seen = seen + same;
        if seen == BOM.len() || (seen == 0 && !document.is_empty()) {
            self.0 = None;
            return Ok((document, Some(seen as u64)));
        }
        if !document.is_empty() {
            let raise = Raise::new(ErrorKind::Syntax, "expected a value");
            return Err(Error::at(raise, seen as u64, String::new()));
        }
        self.0 = Some(seen);
        Ok((document, None))
    }

    /// Ends the document.
    ///
    /// # Errors
    /// The document is an incomplete mark.
    pub fn end(self) -> Result<(), Error> {
        let Some(seen @ 1..) = self.0 else { return Ok(()) };
        let raise = Raise::new(ErrorKind::UnexpectedEnd, "the document is empty");
        Err(Error::at(raise, seen as u64, String::new()))
    }
}
