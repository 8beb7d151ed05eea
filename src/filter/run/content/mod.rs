//! Runs that take a document as a whole: it is forwarded unchanged, or its content is extracted.
//!
//! A final newline is dropped.

#[cfg(feature = "content")]
mod cleaner;
#[cfg(feature = "content")]
mod content_run;
#[cfg(feature = "content")]
mod fields;

#[cfg(feature = "content")]
use std::sync::Arc;

#[cfg(feature = "content")]
use content_run::ContentRun;

use crate::error::Error;
use crate::filter::compile::content::WholeRules;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::report::Report;
use crate::sink::Sink;

/// The warning of a run without a filter.
const NO_FILTER: &str =
    "the registry has no filter of a known type for this tool: its response passes unfiltered";

#[derive(Debug)]
pub(super) struct WholeDocument {
    run: WholeRun,
    /// The last byte was a newline, which is not written yet.
    newline: bool,
}

#[derive(Debug)]
enum WholeRun {
    Pass {
        warns: bool,
    },
    #[cfg(feature = "content")]
    Content(Box<ContentRun>),
}

impl WholeDocument {
    /// Returns the run of a program that takes documents as a whole.
    #[cfg_attr(
        not(feature = "content"),
        expect(unused_variables, reason = "a document that passes has no options")
    )]
    pub(super) fn new(program: &Program, options: &CallOptions) -> Option<Self> {
        let compiled = program.compiled();
        let rules = compiled.whole.as_ref()?;
        let run = match rules {
            WholeRules::Pass { warns } => WholeRun::Pass { warns: *warns },
            #[cfg(feature = "content")]
            WholeRules::Content(rules) => {
                WholeRun::Content(Box::new(ContentRun::new(&Arc::clone(compiled), rules, options)))
            }
        };
        Some(Self { run, newline: false })
    }

    pub(super) fn restart(&mut self) {
        self.newline = false;
        match &mut self.run {
            WholeRun::Pass { .. } => {}
            #[cfg(feature = "content")]
            WholeRun::Content(run) => run.restart(),
        }
    }

    pub(super) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { run, newline } = self;
        let mut sink = FinalNewlineSink { sink, newline };
        match run {
            WholeRun::Pass { .. } => sink.write(chunk),
            #[cfg(feature = "content")]
            WholeRun::Content(run) => run.write(chunk, &mut sink)?,
        }
        Ok(())
    }

    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { run, newline } = self;
        let mut sink = FinalNewlineSink { sink, newline };
        match run {
            WholeRun::Pass { .. } => _ = &mut sink,
            #[cfg(feature = "content")]
            WholeRun::Content(run) => run.end(&mut sink)?,
        }
        Ok(())
    }

    pub(super) fn report(&self, report: &mut Report) {
        match &self.run {
            WholeRun::Pass { warns } => {
                report.filter_applied = false;
                if *warns && report.error.is_none() {
                    report.filter_error = Some(NO_FILTER.to_owned());
                }
            }
            #[cfg(feature = "content")]
            WholeRun::Content(run) => run.report(report),
        }
    }
}

/// Holds a newline back until more output follows.
struct FinalNewlineSink<'a> {
    sink: &'a mut dyn Sink,
    newline: &'a mut bool,
}

impl Sink for FinalNewlineSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        let Some((last, before)) = bytes.split_last() else { return };
        if std::mem::take(self.newline) {
            self.sink.write(b"\n");
        }
        *self.newline = *last == b'\n';
        self.sink.write(if *self.newline { before } else { bytes });
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}
