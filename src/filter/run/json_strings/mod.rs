//! The stage on strings that hold JSON (`json_strings`; SPEC §8.2): reads the input, extracts the document, and filters
//! the text of the strings at the pointers. It comes before all other rules, which read what it writes.
//!
//! ```text
//! input ─▶ machine ─▶ JsonStringStage ─────────────────────────▶ rest: an InnerRun, or the sink
//!                        │ a string at a pointer           ▲
//!                        └─▶ decode ─▶ InnerRun ──▶ encode ┘
//! ```

mod handler;
mod string_run;

use std::sync::Arc;

use super::inner_run::{InnerRun, NewRun};
use super::output::OutputStages;
use super::stage::{StageMachine, machine_config};
use crate::filter::compile::program::{CompiledProgram, Program};
use crate::filter::options::CallOptions;
use crate::report::Report;
use handler::JsonStringStage;
use tamis_json::error::Error;
use tamis_json::limits::Meter;
use tamis_json::sink::Sink;

/// The stage, and the run of the rules after it.
#[derive(Debug)]
pub(super) struct JsonStringChain {
    program: Arc<CompiledProgram>,
    options: CallOptions,
    engine: StageMachine,
    stage: Box<JsonStringStage>,
    /// Absent if no other rule applies.
    rest: Option<Box<dyn InnerRun>>,
}

impl JsonStringChain {
    /// Returns `None` if the program has no `json_strings`.
    pub(super) fn new(program: &Program, options: &CallOptions, new_run: NewRun) -> Option<Self> {
        let compiled = program.compiled();
        compiled.json_strings.as_ref()?;
        let config = machine_config(&compiled.spec, options.limits(), false);
        let rest = program.after_strings();
        let rest = has_stages(rest.compiled(), options).then(|| new_run(rest, options));
        Some(Self {
            program: compiled.clone(),
            options: options.clone(),
            engine: StageMachine::new(config, options.scanner()),
            stage: Box::new(JsonStringStage::new(compiled, options, new_run)),
            rest,
        })
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.engine.restart(machine_config(&self.program.spec, self.options.limits(), false));
        self.stage.restart();
        if let Some(rest) = &mut self.rest {
            rest.restart();
        }
    }

    /// Accounts for bytes before the document, which only count for offsets.
    pub(super) fn skip_prefix(&mut self, bytes: u64) {
        self.engine.machine.skip_prefix(bytes);
    }

    /// Returns the run of the rules after the strings.
    pub(super) fn rest(&self) -> Option<&dyn InnerRun> {
        self.rest.as_deref()
    }

    /// Reads the next bytes. Returns the offset at which the rules after the strings stopped, if they did.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<Option<u64>, Error> {
        self.step(meter, sink, |engine, stage, sink| engine.feed(stage, bytes, sink).map(|_| ()))
    }

    /// Ends the document.
    pub(super) fn end(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Error> {
        let stopped = self.step(meter, sink, |engine, stage, sink| engine.end(stage, sink))?;
        match &mut self.rest {
            Some(rest) if stopped.is_none() => rest.end(sink).map_err(Error::in_what_was_left),
            _ => Ok(()),
        }
    }

    /// Runs a step of the machine, whose output the rest of the rules reads.
    fn step(
        &mut self,
        meter: &mut Meter,
        sink: &mut dyn Sink,
        step: impl FnOnce(&mut StageMachine, &mut JsonStringStage, &mut dyn Sink) -> Result<(), Error>,
    ) -> Result<Option<u64>, Error> {
        let Self { engine, stage, rest, .. } = self;
        // The strings and the rules inside them share the meter of the run.
        std::mem::swap(&mut stage.meter, meter);
        let result = match rest {
            None => step(engine, stage, sink).map(|()| None),
            Some(rest) => {
                let mut behind = RestSink { rest: &mut **rest, sink, error: None };
                let stepped = step(engine, stage, &mut behind);
                let RestSink { rest, error, .. } = behind;
                // The rest has only read what came before the error of this stage.
                match (error, stepped) {
                    (Some(error), _) => Err(error.in_what_was_left()),
                    (None, _) if rest.is_done() => Ok(Some(rest.consumed())),
                    (None, Ok(())) => Ok(None),
                    (None, Err(error)) => {
                        rest.fail_before();
                        Err(error)
                    }
                }
            }
        };
        std::mem::swap(&mut stage.meter, meter);
        result
    }

    /// Adds to the report what the strings and the rest of the rules did.
    pub(super) fn report(&self, report: &mut Report) {
        if let Some(rest) = &self.rest {
            let run = std::mem::take(report);
            let rest_applies = rest.applies();
            let rest = rest.tally();
            *report = Report {
                filter_applied: run.filter_applied && (rest.filter_applied || !rest_applies),
                filter_original_bytes: run.filter_original_bytes,
                filter_skipped: run.filter_skipped.or(rest.filter_skipped),
                held_peak_bytes: run.held_peak_bytes + rest.held_peak_bytes,
                branch: run.branch.or(rest.branch),
                error: run.error,
                ..rest
            };
        }
        report.held_peak_bytes += self.stage.held_peak();
        report.inner = self.stage.reports();
    }

    /// Returns the steps of all machines.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        let rest = self.rest.as_ref().map_or(0, |rest| rest.steps());
        self.engine.steps() + self.stage.steps() + rest
    }
}

/// Returns whether a program does more than to validate and minify.
fn has_stages(program: &Arc<CompiledProgram>, options: &CallOptions) -> bool {
    program.when.is_some()
        || program.retain.is_some()
        || program.patches.is_some()
        || program.whole.is_some()
        || !program.items.idle
        || OutputStages::new(program, options).is_some()
}

/// The run of the rules after the strings, as a sink.
struct RestSink<'a> {
    rest: &'a mut dyn InnerRun,
    sink: &'a mut dyn Sink,
    error: Option<Error>,
}

impl Sink for RestSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.rest.write(bytes, self.sink).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some() || self.rest.is_done()
    }
}
