//! Waiting as one protocol: a probe reads the input before the rules do, and decides how they have to read it.
//!
//! ```text
//!               ┌── undecided: the bytes are held ──┐
//!               ▼                                   │
//! input ────▶ probe ────────────────────────────────┘
//!               │ │
//!               │ └── an error, or too many bytes ──▶ the run fails; the rules have written nothing
//!               │
//!               └── decided ──▶ the rules read the held bytes, then the rest of the input
//! ```
//!
//! A decision that needs more bytes than may be held is an error, even if they arrived in one chunk and nothing had to
//! be held. This way the result does not depend on chunks. Input that can be read again is not held, and has no such
//! limit. Until the decision every byte is read at most twice: by the probe and by the rules.
//!
//! Users: the search for `extract` ([`extract_search`](super::extract_search)), the branch of `when`
//! ([`choose`](super::choose)), the check of patches ([`document`](super::document)), the root of the payload
//! ([`root`](super::root)) and the first hit of a select ([`items`](super::items)).

use tamis_json::Handler;
use tamis_json::error::Error;
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::machine::{Machine, MachineConfig};
use tamis_json::scan::Scanner;

use super::stage::{DiscardSink, StageHandler, StageMachine, StageState};

/// The size of the first piece that a probe reads. Most decisions depend on the first bytes. Each further piece is
/// twice as long.
const FIRST_PIECE: usize = 256;

/// A handler that decides something about the input. Its output is discarded.
pub(super) trait Probe: StageState {
    /// The result of the probe, such as a branch or the place of the payload.
    type Decision: Copy;

    /// Returns the decision once no later byte can change it, with the offset of the byte that made it certain.
    fn decided(&self) -> Option<(Self::Decision, u64)>;

    /// Returns the offset of the last byte that the probe had to see before it could read as far as it did.
    fn needed(&self) -> u64 {
        0
    }
}

/// Where the rules read the input of a probe from.
#[derive(Debug)]
pub(super) enum Input {
    /// The input comes once and is held.
    Once(Hold),
    /// The input can be read again.
    Again,
}

/// Reads input with a probe, and holds it until the probe has decided.
#[derive(Debug)]
pub(super) struct Lookahead<P> {
    /// The machine of the probe, in addition to that of the rules.
    engine: StageMachine,
    probe: P,
    input: Input,
    /// The offset of the first byte that the probe reads.
    mark: u64,
    /// The size of the next piece.
    piece: usize,
    /// The input was invalid before the decision.
    failed: bool,
}

/// A decision, and what the rules have to read after it.
pub(super) struct Decided<D> {
    pub(super) decision: D,
    /// The offset of the byte that made it certain.
    pub(super) at: u64,
    /// The input before the current chunk.
    pub(super) held: HeldInput,
    /// The number of bytes of the current chunk that the probe has read.
    pub(super) read: usize,
    /// An error after the decision. The rules usually find it again.
    pub(super) later: Result<(), Error>,
}

/// Input that the rules have not read yet.
pub(super) struct HeldInput {
    hold: Hold,
    mark: u64,
}

impl Input {
    /// Returns input that comes once, of which nothing is held yet.
    pub(super) fn once() -> Self {
        Self::Once(Hold::default())
    }
}

impl<P: Probe> Lookahead<P>
where
    for<'a> StageHandler<'a, P>: Handler,
{
    pub(super) fn new(config: MachineConfig, scanner: Scanner, probe: P, input: Input) -> Self {
        let engine = StageMachine::new(config, scanner);
        Self { engine, probe, input, mark: 0, piece: FIRST_PIECE, failed: false }
    }

    /// Begins a new document. The caller restarts the probe.
    pub(super) fn restart(&mut self, config: MachineConfig, input: Input) {
        self.engine.restart(config);
        (self.input, self.mark, self.piece) = (input, 0, FIRST_PIECE);
        self.failed = false;
    }

    /// Begins in the middle of a document, in the state of the machine of the rules.
    pub(super) fn begin_at(&mut self, machine: &Machine, input: Input) {
        self.mark = machine.offset();
        self.engine.continue_from(machine);
        (self.input, self.piece, self.failed) = (input, FIRST_PIECE, false);
    }

    /// Sets the number of bytes before the document.
    pub(super) fn skip_prefix(&mut self, bytes: u64) {
        self.mark = bytes;
        self.engine.machine.skip_prefix(bytes);
    }

    /// Sets that the input can be read again, so that nothing is held.
    pub(super) fn read_again(&mut self) {
        self.input = Input::Again;
    }

    /// Returns the offset of the first byte that the probe has not read.
    pub(super) fn offset(&self) -> u64 {
        self.engine.machine.offset() + self.probe.waiting()
    }

    pub(super) fn probe(&self) -> &P {
        &self.probe
    }

    pub(super) fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    /// Returns the steps of the machine.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.engine.steps()
    }

    /// Returns whether the run failed because the probe did, and not because too much had to be held.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Reads the next bytes. Returns the decision if they contain it. Otherwise they are held.
    ///
    /// # Errors
    /// Fails if the input is invalid before the decision, or if the decision needs more bytes than may be held.
    pub(super) fn write(
        &mut self,
        chunk: &[u8],
        limits: &Limits,
        meter: &mut Meter,
    ) -> Result<Option<Decided<P::Decision>>, Error> {
        // Pieces of growing size: little of a chunk is read after the decision, and thus twice.
        let mut read = 0;
        let mut fed = Ok(());
        while fed.is_ok() && self.probe.decided().is_none() && read < chunk.len() {
            let end = chunk.len().min(read.saturating_add(self.piece));
            fed = self.watch(chunk.get(read..end).unwrap_or_default());
            self.piece = self.piece.saturating_mul(2);
            read = end;
        }
        // Both a decision and an error count only if they are within the limit, measured from the first byte of the
        // probe.
        let decided = self.probe.decided();
        let failed_at = fed.as_ref().err().and_then(Error::offset);
        let failed_at = failed_at.map(|at| at.max(self.probe.needed()));
        let at = decided.map(|(_, at)| at).or(failed_at);
        let at = at.unwrap_or(self.offset());
        let holds = matches!(self.input, Input::Once(_));
        if holds && at.saturating_sub(self.mark) > Hold::capacity(limits) {
            return Err(self.overflow(limits));
        }
        if let Some((decision, at)) = decided {
            return Ok(Some(Decided { decision, at, held: self.take_held(), read, later: fed }));
        }
        self.failed = fed.is_err();
        fed?;
        if let Input::Once(hold) = &mut self.input {
            let held = hold.push(chunk, limits, meter);
            held.map_err(|raise| self.engine.machine.place(raise))?;
        }
        Ok(None)
    }

    /// Reads bytes without holding them. For probes that watch the input after their decision.
    pub(super) fn watch(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.probe.feed(&mut self.engine, bytes, &mut DiscardSink).map(|_| ())
    }

    /// Finishes the input. Returns the decision if the end of the document makes it certain.
    ///
    /// # Errors
    /// Fails if the document is incomplete.
    pub(super) fn end(&mut self) -> Result<Option<Decided<P::Decision>>, Error> {
        self.probe.end(&mut self.engine, &mut DiscardSink)?;
        let decided = self.probe.decided();
        Ok(decided.map(|(decision, at)| Decided {
            decision,
            at,
            held: self.take_held(),
            read: 0,
            later: Ok(()),
        }))
    }

    /// Returns the error of a decision that needs more bytes than may be held.
    fn overflow(&self, limits: &Limits) -> Error {
        let at = self.mark.saturating_add(Hold::capacity(limits));
        Error::at(Hold::overflow(limits), at, String::new())
    }

    /// Takes the held input if the probe ends undecided.
    pub(super) fn take_held(&mut self) -> HeldInput {
        let hold = match &mut self.input {
            Input::Once(hold) => std::mem::take(hold),
            Input::Again => Hold::default(),
        };
        HeldInput { hold, mark: self.mark }
    }
}

impl HeldInput {
    /// Passes the input on, in order and in pieces. Ends early when `take` returns `false`, which must end the run: the
    /// rules cannot continue after a gap. They also read on for a sink that needs no more output.
    pub(super) fn replay(
        mut self,
        meter: &mut Meter,
        take: impl FnMut(&mut Meter, &[u8]) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mark = self.mark;
        self.hold.drain(meter, take, |raise| Error::at(raise, mark, String::new()))
    }
}

#[cfg(test)]
mod tests {
    use tamis_json::error::{ErrorKind, Raise};
    use tamis_json::sink::Sink;
    use tamis_json::{Interest, ValueKind, ValueSlot};

    use super::*;

    const CONFIG: MachineConfig = MachineConfig {
        depth: 9,
        key: 9,
        longest_key: 9,
        structure: false,
        keep_white: false,
        detect_empty_strings: false,
    };

    /// Looks for the first literal `true` or `false`.
    #[derive(Debug, Default)]
    struct BoolProbe(Option<u64>);

    impl StageState for BoolProbe {
        fn flush(&mut self, _: &mut dyn Sink) {}
    }

    impl Probe for BoolProbe {
        type Decision = ();

        fn decided(&self) -> Option<((), u64)> {
            self.0.map(|at| ((), at))
        }
    }

    impl Handler for StageHandler<'_, BoolProbe> {
        fn value(
            &mut self,
            _: ValueSlot<'_>,
            kind: ValueKind,
            offset: u64,
        ) -> Result<Interest, Raise> {
            Ok(match kind {
                ValueKind::Bool => {
                    self.stage.0 = Some(offset);
                    Interest::Stop
                }
                ValueKind::Array | ValueKind::Object => Interest::Inspect,
                _ => Interest::Skip,
            })
        }

        fn close(&mut self, _: u64) -> Result<(), Raise> {
            Ok(())
        }

        fn raw(&mut self, _: &[u8]) {}
    }

    /// Returns the offset of the decision and the replayed input, or the error.
    fn run(
        text: &[u8],
        chunk: usize,
        input: Input,
        capacity: u64,
    ) -> Result<(u64, Vec<u8>), Error> {
        let limits = Limits::new().with_held(capacity).with_spill(0);
        let mut meter = Meter::default();
        let mut ahead = Lookahead::new(CONFIG, Scanner::new(), BoolProbe::default(), input);
        ahead.skip_prefix(3);
        for chunk in text.chunks(chunk) {
            let Some(decided) = ahead.write(chunk, &limits, &mut meter)? else { continue };
            let mut replayed = Vec::new();
            decided.held.replay(&mut meter, |_, piece| {
                replayed.extend_from_slice(piece);
                Ok(true)
            })?;
            replayed.extend_from_slice(chunk);
            return Ok((decided.at, replayed));
        }
        ahead.end().map(|_| (0, Vec::new()))
    }

    #[test]
    fn the_result_does_not_depend_on_chunks() {
        let text = b"[0, [1, 2], \"x\", true, 3]";
        for chunk in 1..=text.len() {
            let (at, replayed) = run(text, chunk, Input::once(), 100).unwrap();
            assert_eq!(at, 3 + 17, "chunks of {chunk}");
            assert!(text.starts_with(&replayed) && replayed.len() > 17, "chunks of {chunk}");
            // The byte that decides need not be held.
            assert!(run(text, chunk, Input::once(), 17).is_ok(), "chunks of {chunk}");
            let error = run(text, chunk, Input::once(), 16).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Limit, Some(3 + 16)));
            assert!(run(text, text.len(), Input::Again, 0).is_ok());
        }
    }

    #[test]
    fn an_error_counts_only_before_the_decision() {
        for chunk in 1..20 {
            assert_eq!(run(b"[1, true, ?]", chunk, Input::once(), 100).unwrap().0, 3 + 4);
            let error = run(b"[1, ?, true]", chunk, Input::once(), 100).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Syntax, Some(3 + 4)));
            let error = run(b"[1, ?, true]", chunk, Input::once(), 3).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Limit, Some(3 + 3)));
        }
    }
}
