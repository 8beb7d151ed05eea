//! The parts that all stages share: a machine with its scan window, and the state of its handler.
//!
//! The state of a stage lives as long as the run. The sink is borrowed for one call. Together they are a
//! [`StageHandler`], which implements [`Handler`] for one call of the machine.
//!
//! ```text
//!           ┌──────── StageMachine ────────┐   events   ┌── StageHandler ──┐   bytes
//! chunk ──▶ │ Scanner ─▶ Window ─▶ Machine │ ─────────▶ │ stage, sink      │ ────────▶ sink
//!           └──────────────────────────────┘ ◀───────── └──────────────────┘
//!                                             interests
//! ```

use tamis_json::Handler;
use tamis_json::error::Error;
use tamis_json::limits::Limits;
use tamis_json::machine::{FeedResult, Machine, MachineConfig};
use tamis_json::scan::Scanner;
use tamis_json::sink::Sink;

use crate::spec::{Spec, Validation, Whitespace};

/// The state of a handler between chunks.
pub(super) trait StageState {
    /// Whether the machine is compiled for this stage. The others share one, which makes a virtual call for each event:
    /// they have few, or do more work for each than a call takes. A machine of its own takes 50 KiB and a second of the
    /// build.
    const OWN_MACHINE: bool = false;

    /// Writes the buffered output.
    fn flush(&mut self, sink: &mut dyn Sink);

    /// Feeds the machine of this stage. A stage that reads its input ahead of the machine does so here.
    ///
    /// # Errors
    /// As for [`StageMachine::feed`].
    #[inline]
    fn feed(
        &mut self,
        engine: &mut StageMachine,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<FeedResult, Error>
    where
        Self: Sized,
        for<'a> StageHandler<'a, Self>: Handler,
    {
        engine.feed(self, chunk, sink)
    }

    /// Ends the document in the machine of this stage.
    ///
    /// # Errors
    /// As for [`StageMachine::end`].
    fn end(&mut self, engine: &mut StageMachine, sink: &mut dyn Sink) -> Result<(), Error>
    where
        Self: Sized,
        for<'a> StageHandler<'a, Self>: Handler,
    {
        engine.end(self, sink)
    }

    /// Returns the number of bytes that the stage was given and the machine has not read.
    #[inline]
    fn waiting(&self) -> u64 {
        0
    }
}

/// A stage's state with its sink. Together they handle the machine's events.
pub(super) struct StageHandler<'a, S> {
    /// The state, which outlives the call.
    pub(super) stage: &'a mut S,
    /// Receives the output of this call.
    pub(super) sink: &'a mut dyn Sink,
}

/// A machine with its scanner.
pub(super) struct StageMachine {
    /// A search begins with a copy of it, and the stages read its offset.
    pub(super) machine: Machine,
    scanner: Scanner,
    /// Steps on earlier documents.
    #[cfg(test)]
    earlier: u64,
}

impl StageMachine {
    pub(super) fn new(config: MachineConfig, scanner: Scanner) -> Self {
        Self {
            machine: Machine::new(config),
            scanner,
            #[cfg(test)]
            earlier: 0,
        }
    }

    pub(super) fn scanner(&self) -> Scanner {
        self.scanner
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self, config: MachineConfig) {
        #[cfg(test)]
        {
            self.earlier += self.machine.steps();
        }
        self.machine.restart(config);
    }

    /// Continues where another machine has stopped, with its state and its offset. The window keeps nothing between
    /// calls, so it needs no copy.
    pub(super) fn continue_from(&mut self, other: &Machine) {
        #[cfg(test)]
        {
            // The other machine counts its own steps.
            let both = self.earlier.wrapping_add(self.machine.steps());
            self.earlier = both.wrapping_sub(other.steps());
        }
        self.machine.copy_from(other);
    }

    /// Returns the steps on all documents.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.earlier.wrapping_add(self.machine.steps())
    }

    /// Feeds the machine and writes the buffered output, also after an error: the output before it is part of the result.
    /// Returns `Stopped` if the handler has stopped the machine; the rest of the chunk was not read.
    ///
    /// # Errors
    /// The input is invalid, or the handler fails.
    #[inline]
    pub(super) fn feed<S: StageState>(
        &mut self,
        stage: &mut S,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<FeedResult, Error>
    where
        for<'a> StageHandler<'a, S>: Handler,
    {
        let mut handler = StageHandler { stage, sink };
        let (machine, scanner) = (&mut self.machine, self.scanner);
        let fed = if S::OWN_MACHINE {
            machine.feed(scanner, chunk, &mut handler)
        } else {
            machine.feed::<dyn Handler>(scanner, chunk, &mut handler)
        };
        let StageHandler { stage, sink } = handler;
        stage.flush(sink);
        fed
    }

    /// Ends the document and writes the buffered output.
    ///
    /// # Errors
    /// The document is not complete, or the handler fails.
    pub(super) fn end<S: StageState>(
        &mut self,
        stage: &mut S,
        sink: &mut dyn Sink,
    ) -> Result<(), Error>
    where
        for<'a> StageHandler<'a, S>: Handler,
    {
        let mut handler = StageHandler { stage, sink };
        let ended = self.machine.end::<dyn Handler>(&mut handler);
        let StageHandler { stage, sink } = handler;
        stage.flush(sink);
        ended
    }
}

impl std::fmt::Debug for StageMachine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StageMachine").field("machine", &self.machine).finish_non_exhaustive()
    }
}

/// Returns the machine's configuration for a spec and its limits. `detect_empty_strings`: a rule depends on `""`, so
/// the machine reads the second byte of a string before the event.
pub(super) fn machine_config(
    spec: &Spec,
    limits: &Limits,
    detect_empty_strings: bool,
) -> MachineConfig {
    MachineConfig {
        depth: limits.depth(),
        key: limits.key(),
        longest_key: limits.longest_key(),
        structure: spec.validation == Validation::Structure,
        keep_white: spec.whitespace == Whitespace::Keep,
        detect_empty_strings,
    }
}

/// A sink that discards everything written to it.
pub(super) struct DiscardSink;

impl Sink for DiscardSink {
    fn write(&mut self, _: &[u8]) {}
}
