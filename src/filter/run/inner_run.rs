//! A run that another run feeds: the rules inside a string, and those after `json_strings`.
//!
//! The stage on strings knows only this trait, so that it does not import the run that it is a part of.

use std::fmt;

use tamis_json::error::Error;
use tamis_json::limits::Meter;
use tamis_json::sink::Sink;

use super::payload::PayloadStage;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::report::Report;

/// Creates a run over a stream.
pub(super) type NewRun = fn(&Program, &CallOptions) -> Box<dyn InnerRun>;

/// A run inside another one. The methods are those of a `FilterRun`.
pub(super) trait InnerRun: fmt::Debug + Send {
    /// Begins a new document and reuses the allocations.
    fn restart(&mut self);

    /// Reads the next bytes of the document.
    fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error>;

    /// Ends the document.
    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error>;

    /// Exchanges the meter, for a step that charges that of the outer run.
    fn swap_meter(&mut self, meter: &mut Meter);

    /// Accounts for an error of a stage before this run, whose output it reads.
    fn fail_before(&mut self);

    /// Returns whether further input is ignored.
    fn is_done(&self) -> bool;

    /// Returns the number of bytes read, up to the offset at which the run stopped.
    fn consumed(&self) -> u64;

    /// Returns whether the program has rules that apply.
    fn applies(&self) -> bool;

    /// Returns the report without the plan.
    fn tally(&self) -> Report;

    /// Returns the plan of the branch that was chosen, or that of the program.
    fn plan(&self) -> Vec<String>;

    /// Returns the stage on the payload.
    fn items(&self) -> Option<&PayloadStage>;

    /// Returns the steps of all machines.
    #[cfg(test)]
    fn steps(&self) -> u64;
}
