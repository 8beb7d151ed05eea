//! Finds out whether a document has what a program extracts, where it need not (the response of a failed call; SPEC §3).
//!
//! The document waits until that is certain. Writes nothing.

use super::document::Scope;
use super::hold::Hold;
use super::options::CallOptions;
use super::program::Program;
use super::stage::{Engine, Stage, With, config, failed};
use crate::error::Error;
use crate::json::{Halt, Handler, Interest, ValueKind, ValueSlot};
use crate::sink::Sink;

/// The search in one document after another.
#[derive(Debug)]
pub(super) struct Seeking {
    /// The program that runs if the value is there.
    pub(super) program: Program,
    pub(super) engine: Engine,
    seeker: Seeker,
    /// The document, until it is certain.
    pub(super) hold: Hold,
    /// It is certain.
    pub(super) done: bool,
}

#[derive(Debug)]
struct Seeker {
    scope: Scope,
    /// Whether it is there, and the offset of the byte that made it certain.
    found: Option<(bool, u64)>,
}

impl Seeking {
    /// The line of a plan.
    pub(super) const PLAN: &str = "extract: hold the document until it is certain to have that value, or not (limits held, \
                                   spill)";

    /// `None`: the document must have what is extracted, or nothing is.
    pub(super) fn new(program: &Program, options: &CallOptions) -> Option<Self> {
        let compiled = program.compiled();
        if !compiled.may_lack_extract {
            return None;
        }
        let config = config(&compiled.spec, options.limits_ref(), false);
        let scope = Scope::new(compiled, false);
        Some(Self {
            program: program.clone(),
            engine: Engine::new(config, options.scanner()),
            seeker: Seeker { scope, found: None },
            hold: Hold::default(),
            done: false,
        })
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self, options: &CallOptions) {
        let config = config(&self.program.compiled().spec, options.limits_ref(), false);
        self.engine.restart(config);
        self.seeker.scope.restart();
        (self.seeker.found, self.hold, self.done) = (None, Hold::default(), false);
    }

    /// Whether it is there, if that is certain, and the offset of the byte that made it so.
    pub(super) fn found(&self) -> Option<(bool, u64)> {
        self.seeker.found
    }

    pub(super) fn watch(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Self { engine, seeker, .. } = self;
        let fed = engine.feed(seeker, chunk, &mut Vec::new());
        fed.map(|_| ()).map_err(|failure| failed(failure, &engine.machine))
    }

    /// The document is complete.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        let Self { engine, seeker, .. } = self;
        let ended = engine.end(seeker, &mut Vec::new());
        ended.map_err(|failure| failed(failure, &engine.machine))
    }
}

impl Stage for Seeker {
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for With<'_, Seeker> {
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Halt> {
        let Seeker { scope, found, .. } = &mut *self.stage;
        if found.is_some() {
            return Ok(Interest::SkipRest);
        }
        match scope.find(&mut slot, kind) {
            Ok(Some(interest)) => return Ok(interest),
            Ok(None) => *found = Some((true, offset)),
            // All that can be wrong here: a scalar is on the way.
            Err(_) => *found = Some((false, offset)),
        }
        Ok(Interest::Stop)
    }

    fn close(&mut self, offset: u64) -> Result<(), Halt> {
        // The first container that ends is one on the way, which does not have it.
        self.stage.found.get_or_insert((false, offset));
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}

    fn takes_long_keys(&self, limit: usize) -> bool {
        self.stage.scope.takes_long_keys(limit)
    }
}
