//! Output that is held until no operation can fail.
//!
//! It holds output from the start of a document, or not at all, and is released once.

use crate::error::{Error, Raise};
use crate::filter::run::hold::Hold;
use crate::limits::{Limits, Meter};
use crate::sink::Sink;

#[derive(Debug)]
pub(super) struct HeldOutput {
    shut: bool,
    waiting: HeldBytes,
}

/// The output held so far.
#[derive(Debug)]
struct HeldBytes {
    hold: Hold,
    limits: Limits,
    meter: Meter,
    failed: Option<Raise>,
}

impl HeldOutput {
    pub(super) fn new(shut: bool, limits: &Limits) -> Self {
        let waiting = HeldBytes {
            hold: Hold::default(),
            limits: limits.clone(),
            meter: Meter::default(),
            failed: None,
        };
        Self { shut, waiting }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self, shut: bool) {
        *self = Self::new(shut, &self.waiting.limits);
    }

    /// Returns where output goes now.
    #[inline]
    pub(super) fn through<'a>(&'a mut self, sink: &'a mut dyn Sink) -> &'a mut dyn Sink {
        if self.shut { &mut self.waiting } else { sink }
    }

    /// Releases the held output, unless some of it could not be held.
    pub(super) fn open(&mut self, sink: &mut dyn Sink) {
        if self.waiting.failed.is_some() {
            return;
        }
        self.shut = false;
        let mut hold = std::mem::take(&mut self.waiting.hold);
        let drained = hold.drain(
            &mut self.waiting.meter,
            |_, piece| {
                sink.write(piece);
                Ok(!sink.is_closed())
            },
            |raise| raise,
        );
        self.waiting.failed = drained.err();
    }

    /// Returns the error of output that exceeds the limit.
    pub(super) fn error(&self) -> Option<Error> {
        let raise = self.waiting.failed.clone()?;
        Some(Hold::place(&self.waiting.limits, raise))
    }

    /// Returns the largest number of bytes held.
    pub(super) fn peak(&self) -> u64 {
        self.waiting.meter.peak()
    }
}

impl Sink for HeldBytes {
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.hold.push(bytes, &self.limits, &mut self.meter).err();
        }
    }
}
