//! Filters of the output of commands as transforms of bodies.

use tamis::Limits;
use tamis::http::parts::{BodyFilter, GatherSink, Pace};
use tamis::http::{Outcome, Transform};
use tamis::parts::PushFilter;
use tamis_json::error::Error;
use tamis_json::limits::SpillGate;

use crate::{CommandFilter, CommandLine, CommandReport, OutputFilterRegistry};

impl OutputFilterRegistry {
    /// Creates a transform over the output of a command. `exit_code` is `None` if it is not known.
    ///
    /// A user's [`OutputFilter`](crate::OutputFilter) runs on the pool for blocking work.
    #[must_use]
    pub fn transform(
        &self,
        command: &CommandLine,
        exit_code: Option<i32>,
        limits: &Limits,
    ) -> Transform {
        let mut filter = self.start(command, limits, GatherSink::default());
        filter.set_exit_code(exit_code);
        let pace = if filter.is_custom() { Pace::Work } else { Pace::Match };
        let filter = CommandBody { filter, report: CommandReport::default() };
        Transform::of(filter, pace, SpillGate::default()).without_input()
    }
}

/// A filter and its report.
struct CommandBody {
    filter: CommandFilter<GatherSink>,
    report: CommandReport,
}

impl PushFilter for CommandBody {
    type Sink = GatherSink;

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.filter.write(chunk)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.report = self.filter.end()?;
        Ok(())
    }

    fn fail(&mut self, _: &Error) {}

    fn sink_mut(&mut self) -> &mut GatherSink {
        self.filter.sink_mut()
    }
}

impl BodyFilter for CommandBody {
    fn held_peak(&self) -> u64 {
        0
    }

    fn outcome(&self) -> Outcome {
        Outcome::other(self.report.clone())
    }

    fn sink(&self) -> &GatherSink {
        self.filter.sink()
    }
}
