//! Makes an array of a document that is none (seed: AIOS's `field`; SPEC §9.4).
//!
//! Knows the first byte of what the stage on items writes, and when that is complete.

use crate::filter::compile::program::Program;
use crate::sink::Sink;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrap {
    /// The document stays as it is.
    No,
    /// That is not known yet.
    Unless,
    /// It was opened.
    Open,
}

impl Wrap {
    pub(super) fn new(program: &Program) -> Self {
        if program.spec().wrap { Self::Unless } else { Self::No }
    }

    /// The document stays as it is, if that is so before anything of it was written.
    pub(super) fn unless(&mut self, so: bool) {
        if so && *self == Self::Unless {
            *self = Self::No;
        }
    }

    /// Writes to the sink through this.
    pub(super) fn around<'a>(&'a mut self, sink: &'a mut dyn Sink) -> Wrapped<'a> {
        Wrapped { wrap: self, sink }
    }
}

pub(super) struct Wrapped<'a> {
    wrap: &'a mut Wrap,
    sink: &'a mut dyn Sink,
}

impl Wrapped<'_> {
    /// The document is complete.
    pub(super) fn end(&mut self) {
        if *self.wrap == Wrap::Open {
            self.sink.write(b"]");
            *self.wrap = Wrap::No;
        }
    }
}

impl Sink for Wrapped<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if *self.wrap == Wrap::Unless
            && let Some(first) = bytes.first()
        {
            *self.wrap = if *first == b'[' { Wrap::No } else { Wrap::Open };
            if *self.wrap == Wrap::Open {
                self.sink.write(b"[");
            }
        }
        self.sink.write(bytes);
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}
