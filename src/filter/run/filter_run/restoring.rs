//! The input of a run that is a factored document: it is restored before any rule reads it.
//!
//! Rules name members of the document, and a factored document has some of them elsewhere. So the first bytes decide
//! whether the input is one. It is then held until it ends. White space before the document decides nothing and is not
//! held.
//!
//! ```text
//!               no                              the end
//! Beginning ─────────▶ passes    Factored ──────────────▶ restored, then read from its first byte
//!      └───── yes ─────────────────▲              └─────▶ not restorable: an error if a rule removes for safety;
//!                                                         else it passes unchanged
//! ```

use smallvec::SmallVec;
use tamis_factor::restore::restore;
use tamis_json::error::{Error, ErrorKind, LimitName, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;

use super::{DocumentFacts, FilterRun, RunMode, RunPhase, build_pipe, new_inner};
use crate::filter::compile::program::Program;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::options::CallOptions;
use crate::filter::run::factored_start::{Decision, decision};
use crate::spec::rules::Spec;

/// The bytes of an input that are held before they are charged, while it is not known to be factored.
const SHORT: usize = 256;
/// The bytes that are read at once.
const PIECE: usize = 64 << 10;

/// The input while it may be a factored document, or is one.
#[derive(Debug, Default)]
pub(super) struct FactoredInput {
    /// The first bytes, without white space before the first name.
    first: SmallVec<[u8; 64]>,
    /// The bytes that were read to decide.
    undecided: u64,
    is_factored: bool,
    /// The input so far, while it is short.
    beginning: Vec<u8>,
    /// The input so far, if it is long or factored. `beginning` is then empty.
    held: Hold,
}

impl FactoredInput {
    /// Returns the input of a program that has rules, or fails if a document lacks its root or a
    /// required path.
    pub(super) fn of(program: &Program, options: &CallOptions) -> Option<Self> {
        let compiled = program.compiled();
        let has_budget = SizePolicy::new(&compiled.spec, options.policy()).budget.is_some();
        let requires = !compiled.spec.requires.is_empty();
        let reads = compiled.spec.has_rules() || has_budget || requires || !compiled.items.idle;
        (reads && !program.is_text() && !options.is_restored()).then(Self::default)
    }

    /// Returns whether the input is known to be a factored document.
    pub(super) fn is_factored(&self) -> bool {
        self.is_factored
    }

    /// Reads the next bytes. `None`: they were held. Otherwise the input is not factored, and the bytes that were held are
    /// the beginning.
    fn write(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
        meter: &mut Meter,
    ) -> Result<Option<Self>, Error> {
        if !self.is_factored {
            match self.decide(bytes, limits) {
                Some(Decision::Open)
                    if self.held.len() == 0 && self.beginning.len() + bytes.len() <= SHORT =>
                {
                    self.beginning.extend_from_slice(bytes);
                    return Ok(None);
                }
                Some(Decision::Open) => {}
                Some(Decision::Factored) => self.is_factored = true,
                Some(Decision::Other) => return Ok(Some(std::mem::take(self))),
                // Where the input is split makes no difference, although what decides need not be held.
                None => return Err(Hold::place(limits, Hold::overflow(limits))),
            }
        }
        let held = self.held.push(&self.beginning, limits, meter);
        let held = held.and_then(|()| self.held.push(bytes, limits, meter));
        self.beginning.clear();
        held.map_err(|raise| Hold::place(limits, raise))?;
        Ok(None)
    }

    /// Returns the kind of the input, or `None` if there is too much white space before the first name.
    fn decide(&mut self, bytes: &[u8], limits: &Limits) -> Option<Decision> {
        let most = Hold::capacity(limits).max(SHORT as u64);
        for byte in bytes {
            self.undecided += 1;
            if self.undecided > most {
                return None;
            }
            if self.first.len() < 2 && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                continue;
            }
            self.first.push(*byte);
            match decision(&self.first) {
                Decision::Open => {}
                decided => return Some(decided),
            }
        }
        Some(Decision::Open)
    }
}

/// Receives what a run that only validates writes.
struct Discarded;

impl Sink for Discarded {
    fn write(&mut self, _: &[u8]) {}
}

impl FilterRun {
    /// Reads bytes of the input, which may be a factored document. Returns the offset at which the stages stopped.
    pub(super) fn read_input(
        &mut self,
        bytes: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<Option<u64>, Error> {
        let mut bytes = bytes;
        if self.restoring.as_ref().is_some_and(|input| input.first.is_empty()) {
            let is_white = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let count = bytes.iter().take_while(is_white).count();
            let (white, rest) = bytes.split_at(count);
            if !white.is_empty()
                && let Some(stopped) = self.read(white, sink)?
            {
                return Ok(Some(stopped));
            }
            bytes = rest;
            if bytes.is_empty() {
                return Ok(None);
            }
        }
        let Some(input) = &mut self.restoring else { return self.read(bytes, sink) };
        let Some(mut beginning) = input.write(bytes, self.options.limits(), &mut self.meter)?
        else {
            // A first pass finds out nothing about it.
            let is_first_pass = self.mode == RunMode::FirstPass && input.is_factored;
            return Ok(is_first_pass.then_some(0));
        };
        self.restoring = None;
        if !beginning.beginning.is_empty()
            && let Some(stopped) = self.read(&beginning.beginning, sink)?
        {
            return Ok(Some(stopped));
        }
        if beginning.held.len() == 0 {
            return self.read(bytes, sink);
        }
        match self.read_held(&mut beginning.held, sink)? {
            None => self.read(bytes, sink),
            stopped => Ok(stopped),
        }
    }

    /// Reads what was held. Returns the offset at which the stages stopped.
    fn read_held(&mut self, held: &mut Hold, sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let mut stopped = None;
        let mut meter = std::mem::take(&mut self.meter);
        let read = held.drain(
            &mut meter,
            |_, piece| {
                stopped = self.read(piece, sink)?;
                Ok(stopped.is_none())
            },
            |raise: Raise| Error::at(raise, 0, String::new()),
        );
        self.meter.absorb(&meter);
        read?;
        Ok(stopped)
    }

    /// Ends the input: restores the document that was held, and reads it. A longer one than an item may have is not restored.
    pub(super) fn end_input(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(mut input) = self.restoring.take() else { return Ok(()) };
        if input.is_factored && input.held.len() > self.options.limits().item() {
            self.pass(self.too_long())?;
            if self.read_held(&mut input.held, sink)?.is_some() {
                self.phase = RunPhase::Stopped;
            }
            return Ok(());
        }
        let mut text = std::mem::take(&mut input.beginning);
        input.held.visit(
            |piece| {
                text.extend_from_slice(piece);
                Ok(true)
            },
            |raise: Raise| Error::at(raise, 0, String::new()),
        )?;
        let document = if input.is_factored {
            input.held.clear(&mut self.meter);
            self.restored(text)?
        } else {
            // It ended before that was known.
            text
        };
        for piece in document.chunks(PIECE) {
            if self.read(piece, sink)?.is_some() {
                self.phase = RunPhase::Stopped;
                break;
            }
        }
        Ok(())
    }

    /// Returns the restored document, and prepares the run to read it.
    fn restored(&mut self, text: Vec<u8>) -> Result<Vec<u8>, Error> {
        let limits = self.options.limits();
        let options = CallOptions::new().with_limits(limits.clone());
        let validating = Program::compile(&Spec::new())?;
        let mut run = Self::new(&validating, &options, DocumentFacts::default(), RunMode::Stream);
        run.write(&text, &mut Discarded)?;
        run.end(&mut Discarded)?;
        // A short text may stand for a very long document.
        let most = limits.clone().with_held(limits.item()).with_spill(0);
        let mut document = Vec::new();
        match restore(&text, &most, |piece| document.extend_from_slice(piece)) {
            Ok(()) => {}
            Err(error) => {
                let is_too_long = error.kind() == ErrorKind::Limit;
                self.pass(if is_too_long { self.too_long() } else { error })?;
                return Ok(text);
            }
        }
        (self.mode, self.facts, self.prefix) = (RunMode::Stream, DocumentFacts::default(), 0);
        if self.seeking.is_none() {
            self.begin();
        }
        Ok(document)
    }

    /// Prepares the run to pass a document that cannot be restored: the rules do not apply to it.
    ///
    /// # Errors
    /// A rule removes for safety.
    fn pass(&mut self, error: Error) -> Result<(), Error> {
        let mut level = Some(&self.program);
        while let Some(program) = level {
            if program.compiled().spec.removes_for_safety() {
                return Err(error);
            }
            level = program.compiled().fallback.as_ref();
        }
        (self.mode, self.facts, self.prefix) = (RunMode::Stream, DocumentFacts::default(), 0);
        self.passes = Some(std::mem::take(&mut self.applies));
        let validating = Program::compile(&Spec::new())?;
        let pipe = build_pipe(&validating, &self.options, None, new_inner);
        (self.pipe, self.phase) = (Some(pipe), RunPhase::Running);
        Ok(())
    }

    fn too_long(&self) -> Error {
        let most = self.options.limits().item();
        let message = format!("a document to be restored has more than {most} bytes");
        Error::at(Raise::limit(LimitName::Item, message), most, String::new())
    }
}
