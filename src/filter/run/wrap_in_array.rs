//! Wraps a document that is not an array in an array (seed: AIOS's `field`; SPEC §9.4).
//!
//! The first byte that the stage on items writes decides.
//!
//! ```text
//!        ┌── first byte is `[`, or a miss ──▶ No
//! Unless ┤
//!        └── any other first byte ──▶ Open, after writing `[` ──end──▶ No, after writing `]`
//! ```
//!
//! So `{"a":1}` becomes `[{"a":1}]`, `[1]` is unchanged, and so is a document that passes after a miss.

use tamis_json::sink::Sink;

use crate::filter::compile::program::Program;

/// Whether the output of a document is wrapped. Created again for each document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayWrap {
    /// The document stays unchanged.
    No,
    /// Not decided yet.
    Unless,
    /// The bracket was written.
    Open,
}

impl ArrayWrap {
    pub(super) fn new(program: &Program) -> Self {
        if program.spec().wrap { Self::Unless } else { Self::No }
    }

    /// Leaves the document unchanged if `so`, unless something was written already.
    pub(super) fn unless(&mut self, so: bool) {
        if so && *self == Self::Unless {
            *self = Self::No;
        }
    }

    /// Returns a sink that wraps the output.
    pub(super) fn around<'a>(&'a mut self, sink: &'a mut dyn Sink) -> ArrayWrapSink<'a> {
        ArrayWrapSink { wrap: self, sink }
    }
}

/// A sink that adds the brackets. Made for one call; the decision is kept in [`ArrayWrap`].
pub(super) struct ArrayWrapSink<'a> {
    wrap: &'a mut ArrayWrap,
    sink: &'a mut dyn Sink,
}

impl ArrayWrapSink<'_> {
    /// The document is complete. Writes the closing bracket if the opening one was written.
    pub(super) fn end(&mut self) {
        if *self.wrap == ArrayWrap::Open {
            self.sink.write(b"]");
            *self.wrap = ArrayWrap::No;
        }
    }
}

impl Sink for ArrayWrapSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if *self.wrap == ArrayWrap::Unless
            && let Some(first) = bytes.first()
        {
            *self.wrap = if *first == b'[' { ArrayWrap::No } else { ArrayWrap::Open };
            if *self.wrap == ArrayWrap::Open {
                self.sink.write(b"[");
            }
        }
        self.sink.write(bytes);
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}
