//! Filters of every kind as one that a driver calls.

use super::{Outcome, Run};
#[cfg(feature = "command")]
use crate::command::{CommandFilter, CommandReport};
use crate::error::Error;
use crate::filter::Filter;
use crate::history::PruneRun;
use crate::io::gather::Gather;
use crate::io::records::{Form, Records};
#[cfg(feature = "text")]
use crate::text::{TextFilter, TextReport};

impl Run for Filter<Gather> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        Self::write(self, chunk)
    }

    fn end(&mut self) -> Result<(), Error> {
        Self::end(self).map(|_| ())
    }

    fn fail(&mut self, error: &Error) {
        Self::fail(self, error);
    }

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn held_peak(&self) -> u64 {
        Self::held_peak(self)
    }

    fn outcome(&self) -> Outcome {
        Outcome::Filter(Box::new(self.report()))
    }

    fn gather(&self) -> &Gather {
        self.sink()
    }

    fn gather_mut(&mut self) -> &mut Gather {
        self.sink_mut()
    }
}

impl Run for PruneRun<Gather> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        Self::write(self, chunk)
    }

    fn end(&mut self) -> Result<(), Error> {
        Self::end(self).map(|_| ())
    }

    fn fail(&mut self, error: &Error) {
        Self::fail(self, error);
    }

    fn held_peak(&self) -> u64 {
        Self::held_peak(self)
    }

    fn outcome(&self) -> Outcome {
        Outcome::Prune(Box::new(self.report()))
    }

    fn gather(&self) -> &Gather {
        self.sink()
    }

    fn gather_mut(&mut self) -> &mut Gather {
        self.sink_mut()
    }
}

impl<C, F> Run for Records<C, Gather, F>
where
    C: Form + Send,
    F: FnMut(u64, &Error) + Send,
{
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        Self::write(self, chunk)
    }

    fn end(&mut self) -> Result<(), Error> {
        Self::end(self).1
    }

    fn fail(&mut self, error: &Error) {
        Self::fail(self, error);
    }

    fn held_peak(&self) -> u64 {
        Self::held_peak(self)
    }

    fn outcome(&self) -> Outcome {
        Outcome::Filter(Box::new(self.report()))
    }

    fn gather(&self) -> &Gather {
        self.sink()
    }

    fn gather_mut(&mut self) -> &mut Gather {
        self.sink_mut()
    }
}

/// A filter that gives its report, and its sink back, when it ends.
#[cfg(feature = "text")]
pub(super) trait Ends: Send {
    type Report: Clone + Default + Into<Outcome> + Send;
    fn write(&mut self, chunk: &[u8]);
    fn end(self) -> (Gather, Self::Report);
    fn sink(&self) -> &Gather;
    fn sink_mut(&mut self) -> &mut Gather;
}

/// The same as one that a driver calls. It never fails by itself.
#[cfg(feature = "text")]
pub(super) struct Ending<R: Ends> {
    /// Until it ends.
    run: Option<R>,
    gather: Gather,
    report: R::Report,
}

#[cfg(feature = "text")]
impl<R: Ends> Ending<R> {
    pub(super) fn new(run: R) -> Self {
        Self { run: Some(run), gather: Gather::default(), report: R::Report::default() }
    }
}

#[cfg(feature = "text")]
impl<R: Ends> Run for Ending<R> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if let Some(run) = &mut self.run {
            run.write(chunk);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        if let Some(run) = self.run.take() {
            (self.gather, self.report) = run.end();
        }
        Ok(())
    }

    fn fail(&mut self, _: &Error) {}

    fn held_peak(&self) -> u64 {
        0
    }

    fn outcome(&self) -> Outcome {
        self.report.clone().into()
    }

    fn gather(&self) -> &Gather {
        self.run.as_ref().map_or(&self.gather, R::sink)
    }

    fn gather_mut(&mut self) -> &mut Gather {
        self.run.as_mut().map_or(&mut self.gather, R::sink_mut)
    }
}

#[cfg(feature = "text")]
impl Ends for TextFilter<Gather> {
    type Report = TextReport;

    fn write(&mut self, chunk: &[u8]) {
        // Fails only after the end, and `Ending` writes nothing then.
        _ = Self::write(self, chunk);
    }

    fn end(mut self) -> (Gather, TextReport) {
        let report = Self::end(&mut self).unwrap_or_default();
        (self.into_sink(), report)
    }

    fn sink(&self) -> &Gather {
        Self::sink(self)
    }

    fn sink_mut(&mut self) -> &mut Gather {
        Self::sink_mut(self)
    }
}

/// The output of a command, and how that ended.
#[cfg(feature = "command")]
pub(super) struct Command {
    pub(super) run: CommandFilter<Gather>,
    pub(super) exit_code: Option<i32>,
}

#[cfg(feature = "command")]
impl Ends for Command {
    type Report = CommandReport;

    fn write(&mut self, chunk: &[u8]) {
        // Fails only after the end, and `Ending` writes nothing then.
        _ = self.run.write(chunk);
    }

    fn end(mut self) -> (Gather, CommandReport) {
        self.run.set_exit_code(self.exit_code);
        let report = self.run.end().unwrap_or_default();
        (self.run.into_sink(), report)
    }

    fn sink(&self) -> &Gather {
        self.run.sink()
    }

    fn sink_mut(&mut self) -> &mut Gather {
        self.run.sink_mut()
    }
}
