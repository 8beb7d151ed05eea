//! Readers and writers in trouble. They know no filter.

use std::cell::Cell;
use std::io::{ErrorKind as IoKind, Read, Result, Write};
use std::rc::Rc;

/// The failure of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It fails, once and for all.
    Fails(IoKind),
    /// It was interrupted, and goes on.
    Interrupted,
    /// It does less than it was asked for.
    Short,
    /// It takes nothing; for a reader that is the end of the input, in the middle.
    Nothing,
}

impl Trouble {
    pub(crate) const ALL: [Self; 6] = [
        Self::Fails(IoKind::BrokenPipe),
        Self::Fails(IoKind::WouldBlock),
        Self::Fails(IoKind::Other),
        Self::Interrupted,
        Self::Short,
        Self::Nothing,
    ];

    /// Whether whoever reads or writes cannot go on.
    pub(crate) fn is_fatal(self) -> bool {
        matches!(self, Self::Fails(_) | Self::Nothing)
    }
}

/// A reader or a writer that is in trouble at one of its calls; flushes are calls, too.
pub(crate) struct Troubled<T> {
    inner: T,
    trouble: Trouble,
    /// Calls until then.
    calls: usize,
    /// Bytes that a call moves at most.
    size: usize,
    met: Rc<Cell<bool>>,
    over: bool,
}

impl<T> Troubled<T> {
    pub(crate) fn new(inner: T, trouble: Trouble, calls: usize, size: usize) -> Self {
        Self { inner, trouble, calls, size, met: Rc::default(), over: false }
    }

    /// Whether the call has come.
    pub(crate) fn met(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.met)
    }

    /// Returns whether this call fails, or comes after one that failed.
    fn meets(&mut self) -> bool {
        let now = self.calls == 0;
        self.calls = self.calls.wrapping_sub(1);
        self.met.set(self.met.get() | now);
        self.over |= now && self.trouble.is_fatal();
        now || self.over
    }

    /// How many bytes the call moves, or its error.
    fn call(&mut self, asked: usize) -> Result<usize> {
        let usual = asked.min(self.size);
        if !self.meets() {
            return Ok(usual);
        }
        match self.trouble {
            Trouble::Fails(kind) => Err(kind.into()),
            Trouble::Interrupted => Err(IoKind::Interrupted.into()),
            Trouble::Short => Ok(usual.min(1)),
            Trouble::Nothing => Ok(0),
        }
    }
}

impl<T: Read> Read for Troubled<T> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.call(buffer.len())?;
        self.inner.read(&mut buffer[..count])
    }
}

impl<T: Write> Write for Troubled<T> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = self.call(bytes.len())?;
        self.inner.write(&bytes[..count])
    }

    fn flush(&mut self) -> Result<()> {
        let met = self.meets();
        match self.trouble {
            Trouble::Fails(kind) if met => Err(kind.into()),
            _ => self.inner.flush(),
        }
    }
}

/// A reader or a writer that is interrupted at every other call, and moves one byte at each of the rest.
pub(crate) struct Halting<T> {
    inner: T,
    goes_on: bool,
}

impl<T> Halting<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, goes_on: false }
    }

    fn call(&mut self) -> Result<()> {
        self.goes_on = !self.goes_on;
        if self.goes_on { Err(IoKind::Interrupted.into()) } else { Ok(()) }
    }
}

impl<T: Read> Read for Halting<T> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.call()?;
        let count = buffer.len().min(1);
        self.inner.read(&mut buffer[..count])
    }
}

impl<T: Write> Write for Halting<T> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.call()?;
        self.inner.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }
}

/// A writer that accepts all bytes and fails at one of its flushes and at all later ones.
pub(crate) struct Unflushed<T> {
    pub(crate) inner: T,
    pub(crate) kind: IoKind,
    /// Flushes until then.
    pub(crate) flushes: usize,
    pub(crate) met: bool,
}

impl<T: Write> Write for Unflushed<T> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        if self.flushes == 0 {
            self.met = true;
            return Err(self.kind.into());
        }
        self.flushes -= 1;
        self.inner.flush()
    }
}
