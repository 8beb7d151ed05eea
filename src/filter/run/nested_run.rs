//! A [`FilterRun`] as the run inside another one.

use tamis_json::error::Error;
use tamis_json::limits::Meter;
use tamis_json::sink::Sink;

use super::filter_run::FilterRun;
use super::first_pass::DocumentFacts;
use super::inner_run::InnerRun;
use super::payload::PayloadStage;
use super::run_mode::RunMode;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::report::Report;

/// Creates a run over a stream, inside another run.
pub(super) fn new_inner(program: &Program, options: &CallOptions) -> Box<dyn InnerRun> {
    Box::new(FilterRun::new(program, options, DocumentFacts::default(), RunMode::Stream))
}

// Each method has the name of the one that it calls.
impl InnerRun for FilterRun {
    fn restart(&mut self) {
        Self::restart(self);
    }

    fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        Self::write(self, chunk, sink)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        Self::end(self, sink)
    }

    fn swap_meter(&mut self, meter: &mut Meter) {
        Self::swap_meter(self, meter);
    }

    fn fail_before(&mut self) {
        Self::fail_before(self);
    }

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn consumed(&self) -> u64 {
        Self::consumed(self)
    }

    fn applies(&self) -> bool {
        Self::applies(self)
    }

    fn tally(&self) -> Report {
        Self::tally(self)
    }

    fn plan(&self) -> Vec<String> {
        Self::plan(self)
    }

    fn items(&self) -> Option<&PayloadStage> {
        Self::items(self)
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        Self::steps(self)
    }
}
