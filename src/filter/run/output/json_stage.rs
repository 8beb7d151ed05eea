//! A stage on the filtered document that is a machine with a handler.

use std::fmt;

use tamis_json::Handler;
use tamis_json::error::Error;
use tamis_json::machine::MachineConfig;
use tamis_json::scan::Scanner;

use super::facts::OutputFacts;
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::root_path::RootPath;
use crate::filter::run::stage::{StageHandler, StageMachine, StageState};
use crate::report::Report;

/// The state of a handler on the filtered document. One per document.
pub(super) trait OutputState: StageState + fmt::Debug + Send {
    /// The stage reads the filtered document as it is measured.
    const MEASURES: bool = false;

    /// Takes the error of an event that cannot fail.
    fn error(&mut self) -> Option<Error> {
        None
    }

    /// Finishes the document, which the machine has ended.
    fn finish(&mut self, _: &mut Next<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Adds to the report.
    fn report(&self, _: &mut Report) {}

    /// Returns the bytes read to shorten strings.
    #[cfg(test)]
    fn work(&self) -> u64 {
        0
    }
}

/// The stage. Its machine is kept for the next document.
pub(super) struct JsonStage<S> {
    config: MachineConfig,
    scanner: Scanner,
    /// Creates the state for a document whose payload is at a place.
    create: Box<dyn Fn(&RootPath) -> S + Send>,
    engine: Option<StageMachine>,
    /// `None` before the payload of the document is located.
    state: Option<S>,
}

impl<S: OutputState + 'static> JsonStage<S>
where
    for<'a> StageHandler<'a, S>: Handler,
{
    pub(super) fn boxed(
        config: MachineConfig,
        scanner: Scanner,
        create: impl Fn(&RootPath) -> S + Send + 'static,
    ) -> Box<dyn Stage> {
        Box::new(Self { config, scanner, create: Box::new(create), engine: None, state: None })
    }
}

impl<S: OutputState> Stage for JsonStage<S>
where
    for<'a> StageHandler<'a, S>: Handler,
{
    fn restart(&mut self) {
        self.state = None;
    }

    fn begin(&mut self, place: &RootPath, _: &mut OutputFacts) {
        match &mut self.engine {
            Some(engine) => engine.restart(self.config.clone()),
            None => self.engine = Some(StageMachine::new(self.config.clone(), self.scanner)),
        }
        self.state = Some((self.create)(place));
    }

    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        let Self { engine: Some(engine), state: Some(state), .. } = self else { return Ok(()) };
        if S::MEASURES {
            next.facts.filtered += bytes.len() as u64;
        }
        let fed = engine.feed(state, bytes, next);
        state.error().map_or(fed.map(drop), Err)
    }

    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        let Self { engine: Some(engine), state: Some(state), .. } = self else { return Ok(()) };
        let ended = engine.end(state, next);
        state.finish(next).and(ended)
    }

    fn report(&self, report: &mut Report, _: &OutputFacts) {
        if let Some(state) = &self.state {
            state.report(report);
        }
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        self.engine.as_ref().map_or(0, StageMachine::steps)
    }

    #[cfg(test)]
    fn work(&self) -> u64 {
        self.state.as_ref().map_or(0, OutputState::work)
    }
}

impl<S: fmt::Debug> fmt::Debug for JsonStage<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonStage").field("state", &self.state).finish_non_exhaustive()
    }
}
