//! Counts tokens of inputs and outputs, for `--stats`.
//!
//! This module must not depend on their content. Nothing is counted, and the vocabulary is not loaded, unless
//! requested.

use std::cell::RefCell;
use std::fmt;
use std::io::{Read, Result, Write};
use std::rc::Rc;

use indicatif::HumanCount;
use tamis::tokens::{TokenCount, TokenCounter};

/// A number of tokens. Displayed with a leading `~` if it may be too large by a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    tokens: u64,
    exact: bool,
}

impl From<TokenCount> for Tokens {
    fn from(count: TokenCount) -> Self {
        Self { tokens: count.tokens, exact: count.exact }
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.exact { "" } else { "~" };
        write!(f, "{about}{}", HumanCount(self.tokens))
    }
}

/// Counts the bytes that pass through it, if counting is on. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Option<Rc<RefCell<Count>>>);

#[derive(Debug)]
struct Count {
    counter: TokenCounter,
    /// The last bytes. They are counted when more arrive, or when the number of consumed bytes is known.
    last: Vec<u8>,
    /// Number of bytes before `last`.
    before: u64,
}

impl Count {
    fn new() -> Self {
        Self { counter: tamis_tokens::counter(), last: Vec::new(), before: 0 }
    }
}

impl Tally {
    /// Creates a tally, which counts only if `counts` is true.
    pub(crate) fn new(counts: bool) -> Self {
        Self(counts.then(|| Rc::new(RefCell::new(Count::new()))))
    }

    /// Adds more of the text.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let Some(count) = &self.0 else { return };
        if bytes.is_empty() {
            return;
        }
        let mut count = count.borrow_mut();
        let Count { counter, last, before } = &mut *count;
        counter.push(last);
        *before += last.len() as u64;
        last.clear();
        last.extend_from_slice(bytes);
    }

    /// Wraps `reader` to count the text that is read.
    pub(crate) fn around<'a>(&self, reader: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
        match &self.0 {
            None => reader,
            Some(_) => Box::new(Counted { inner: reader, tally: self.clone() }),
        }
    }

    /// Wraps `writer` to count the text that is written.
    pub(crate) fn through<W>(&self, writer: W) -> Counted<W> {
        Counted { inner: writer, tally: self.clone() }
    }

    /// Returns the tokens of the whole text.
    pub(crate) fn all(&self) -> Option<Tokens> {
        self.first(u64::MAX)
    }

    /// Returns the tokens of the text without a final newline.
    pub(crate) fn without_newline(&self) -> Option<Tokens> {
        self.first(self.bytes()?)
    }

    /// Returns the number of bytes without a final newline.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let count = self.0.as_ref()?.borrow();
        let newline = u64::from(count.last.ends_with(b"\n"));
        Some(count.before + count.last.len() as u64 - newline)
    }

    /// Returns the tokens of the first `bytes` bytes. A run that stops early has read more than it consumed.
    pub(crate) fn first(&self, bytes: u64) -> Option<Tokens> {
        let mut count = self.0.as_ref()?.replace(Count::new());
        let wanted = bytes.checked_sub(count.before);
        let wanted = wanted.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let last = count.last.get(..wanted.unwrap_or(0).min(count.last.len()));
        count.counter.push(last.unwrap_or_default());
        let tokens = Tokens::from(count.counter.end());
        // Fewer bytes were consumed than were already counted, so the count is not exact.
        Some(Tokens { exact: tokens.exact && wanted.is_some(), ..tokens })
    }
}

/// A reader or writer whose text is counted.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    inner: T,
    tally: Tally,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.inner.read(buffer)?;
        self.tally.push(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = self.inner.write(bytes)?;
        self.tally.push(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::Tally;

    #[test]
    fn tokens_are_counted_up_to_the_consumed_bytes() {
        let text = "hello world, and more of it";
        let tally = Tally::new(true);
        let mut read = String::new();
        tally.around(Box::new(text.as_bytes())).read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
        assert_eq!(tally.first(11).unwrap().to_string(), "2");
        let tally = Tally::new(true);
        tally.through(Vec::new()).write_all(b"hello world").unwrap();
        assert_eq!(tally.all().unwrap().to_string(), "2");
        let tally = Tally::new(true);
        tally.push(b"hello ");
        tally.push(b"world");
        assert_eq!(tally.first(3).unwrap().to_string(), "~2");
        assert_eq!(Tally::new(false).all(), None);
    }
}
