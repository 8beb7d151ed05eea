//! The stage on strings that hold JSON (`json_strings`; SPEC §8.2): reads the input, extracts the document, and filters
//! the text of the strings at the pointers. It comes before all other rules, which read what it writes.
//!
//! ```text
//! input ─▶ machine ─▶ JsonStringHandler ────────────────────────▶ next stage: a run of all other rules
//!                        │ a string at a pointer           ▲
//!                        └─▶ decode ─▶ InnerRun ──▶ encode ┘
//! ```

mod handler;
mod string_run;

use std::sync::Arc;

use tamis_json::error::Error;

use super::output::facts::OutputFacts;
use super::pipe::{NewRun, Next, Stage, StageText};
use super::stage::{StageMachine, machine_config};
use crate::filter::compile::program::CompiledProgram;
use crate::filter::options::CallOptions;
use crate::report::Report;
use handler::JsonStringHandler;

/// The stage.
#[derive(Debug)]
pub(super) struct JsonStringStage {
    program: Arc<CompiledProgram>,
    options: CallOptions,
    engine: StageMachine,
    handler: Box<JsonStringHandler>,
}

impl JsonStringStage {
    pub(super) fn new(
        program: &Arc<CompiledProgram>,
        options: &CallOptions,
        new_run: NewRun,
    ) -> Self {
        let config = machine_config(&program.spec, options.limits(), false);
        Self {
            program: program.clone(),
            options: options.clone(),
            engine: StageMachine::new(config, options.scanner()),
            handler: Box::new(JsonStringHandler::new(program, options, new_run)),
        }
    }
}

impl Stage for JsonStringStage {
    fn writes(&self) -> StageText {
        StageText::Left
    }

    fn restart(&mut self) {
        self.engine.restart(machine_config(&self.program.spec, self.options.limits(), false));
        self.handler.restart();
    }

    fn skip_prefix(&mut self, bytes: u64) {
        self.engine.machine.skip_prefix(bytes);
    }

    /// The strings and the rules inside them charge the meter of the run.
    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        let Self { engine, handler, .. } = self;
        handler.meter = std::mem::take(next.meter);
        let fed = engine.feed(&mut **handler, bytes, next);
        *next.meter = std::mem::take(&mut handler.meter);
        fed.map(drop)
    }

    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        let Self { engine, handler, .. } = self;
        handler.meter = std::mem::take(next.meter);
        let ended = engine.end(&mut **handler, next);
        *next.meter = std::mem::take(&mut handler.meter);
        ended
    }

    fn report(&self, report: &mut Report, _: &OutputFacts) {
        report.held_peak_bytes += self.handler.held_peak();
        report.inner = self.handler.reports();
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        self.engine.steps() + self.handler.steps()
    }
}
