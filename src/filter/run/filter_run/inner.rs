//! A run as a stage of another one: that of the rules after `json_strings`, or of the rules inside a string.

use tamis_json::error::Error;
use tamis_json::limits::Meter;
use tamis_json::nearest::ComparisonBudget;
use tamis_json::sink::Sink;

use super::FilterRun;
use crate::filter::run::output::facts::OutputFacts;
use crate::filter::run::pipe::{InnerRun, Next, Pipe, Stage};
use crate::report::{PlanStep, Report};

impl Stage for FilterRun {
    fn restart(&mut self) {
        Self::restart(self);
    }

    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        Self::write(self, bytes, next)?;
        if self.is_done() {
            next.facts.stopped = Some(self.consumed);
        }
        Ok(())
    }

    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        Self::end(self, next)
    }

    fn fail_before(&mut self) {
        if let Some(first) = self.pipe.as_mut().and_then(Pipe::first_mut) {
            first.fail_before();
        }
    }

    /// The report of the outer run becomes that of this one, except for what the outer run read.
    fn report(&self, report: &mut Report, _: &OutputFacts) {
        let outer = std::mem::take(report);
        let inner = self.tally();
        *report = Report {
            applied: outer.applied && (inner.applied || !self.applies),
            original_bytes: outer.original_bytes,
            skipped: outer.skipped.or(inner.skipped),
            held_peak_bytes: outer.held_peak_bytes + inner.held_peak_bytes,
            branch: outer.branch.or(inner.branch),
            error: outer.error,
            inner: outer.inner,
            ..inner
        };
    }

    fn correction(&self, path: &str, pairs: &mut ComparisonBudget) -> Option<String> {
        self.pipe.as_ref()?.correction(path, pairs)
    }

    fn plan(&self) -> Option<Vec<PlanStep>> {
        Some(self.whole_plan())
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        Self::steps(self)
    }
}

impl InnerRun for FilterRun {
    fn write_inner(
        &mut self,
        text: &[u8],
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        std::mem::swap(&mut self.meter, meter);
        let written = self.write(text, sink);
        std::mem::swap(&mut self.meter, meter);
        written
    }

    fn end_inner(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Error> {
        std::mem::swap(&mut self.meter, meter);
        let ended = self.end(sink);
        std::mem::swap(&mut self.meter, meter);
        ended
    }

    fn tally(&self) -> Report {
        Self::tally(self)
    }
}
