//! Output that is held until no operation can fail.
//!
//! It holds output from the start of a document, or not at all, and is released once. [`StreamPatcher`] sends all that
//! it writes through here, so that the rest of its code does not depend on whether output waits.
//!
//! ```text
//! new(true) ──▶ shut ── open: the last required value was found ──▶ open: writes pass directly
//!                └───── end of the document ──▶ dropped: an operation has failed
//! new(false) ─▶ open
//! ```
//!
//! [`StreamPatcher`]: super::patcher::StreamPatcher

use tamis_json::error::{Error, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;

/// A switch before the sink: output either waits or passes.
#[derive(Debug)]
pub(super) struct HeldOutput {
    /// Output waits. Never set again within a document once it is cleared.
    shut: bool,
    /// The output so far, empty unless `shut` is or was set.
    waiting: HeldBytes,
}

/// The output held so far.
#[derive(Debug)]
struct HeldBytes {
    /// In memory up to the limit `held`, then in a temporary file up to `spill`.
    hold: Hold,
    limits: Limits,
    meter: Meter,
    /// The first error of holding or releasing. [`Sink::write`] cannot return it.
    failed: Option<Raise>,
}

impl HeldOutput {
    /// Creates the output of one document. `shut`: it waits for [`open`](Self::open).
    pub(super) fn new(shut: bool, limits: &Limits) -> Self {
        let waiting = HeldBytes {
            hold: Hold::default(),
            limits: limits.clone(),
            meter: Meter::default(),
            failed: None,
        };
        Self { shut, waiting }
    }

    /// Begins a new document and drops output of the previous one that was never released.
    pub(super) fn restart(&mut self, shut: bool) {
        *self = Self::new(shut, &self.waiting.limits);
    }

    /// Returns the sink for output: the held bytes while shut, otherwise `sink`. Called for each write, so it is cheap.
    #[inline]
    pub(super) fn through<'a>(&'a mut self, sink: &'a mut dyn Sink) -> &'a mut dyn Sink {
        if self.shut { &mut self.waiting } else { sink }
    }

    /// Releases the held output, unless some of it could not be held. Has no effect the second time.
    pub(super) fn open(&mut self, sink: &mut dyn Sink) {
        if self.waiting.failed.is_some() {
            // It stays shut: output with a gap must not be written. The caller reports the error.
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

    /// Returns the error of output that exceeds the limit, or that could not be stored. It is placed at an offset that
    /// does not depend on chunks.
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
    /// Holds bytes. After the first error all further bytes are ignored.
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.hold.push(bytes, &self.limits, &mut self.meter).err();
        }
    }
}
