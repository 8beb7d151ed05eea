//! The byte order mark that a document may begin with: it is skipped, wherever it is cut, and counts for offsets.

use crate::error::{Error, ErrorKind, Raise};

pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How much of the mark was seen, and nothing else; `None` when that is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BomSkipper(Option<usize>);

impl BomSkipper {
    /// A document begins, which may have one.
    pub(crate) fn new() -> Self {
        Self(Some(0))
    }

    /// A text begins that is taken as it is.
    pub(crate) fn settled() -> Self {
        Self(None)
    }

    /// The chunk without what belongs to the mark; and, once that is settled, how many bytes are in front of the document.
    pub(crate) fn skip<'a>(&mut self, chunk: &'a [u8]) -> Result<(&'a [u8], Option<u64>), Error> {
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

    /// The document is complete.
    ///
    /// # Errors
    /// It is a part of a mark.
    pub(crate) fn end(self) -> Result<(), Error> {
        let Some(seen @ 1..) = self.0 else { return Ok(()) };
        let raise = Raise::new(ErrorKind::UnexpectedEnd, "the document is empty");
        Err(Error::at(raise, seen as u64, String::new()))
    }
}
