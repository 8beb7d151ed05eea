//! Filters of texts and of the output of commands as [`PushFilter`]s.

use super::Outcome;
#[cfg(feature = "command")]
use crate::command::{CommandFilter, CommandReport};
use crate::error::Error;
use crate::io::gather::GatherSink;
use crate::io::push::PushFilter;
use crate::text::{TextFilter, TextReport};

/// A filter of text with the report of its end, once it has ended. It never fails before that.
pub(super) enum TextPush {
    Text(Box<TextFilter<GatherSink>>, TextReport),
    #[cfg(feature = "command")]
    Command(Box<CommandFilter<GatherSink>>, CommandReport),
}

impl PushFilter for TextPush {
    type Sink = GatherSink;

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        match self {
            Self::Text(filter, _) => filter.write(chunk),
            #[cfg(feature = "command")]
            Self::Command(filter, _) => filter.write(chunk),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        match self {
            Self::Text(filter, report) => *report = filter.end()?,
            #[cfg(feature = "command")]
            Self::Command(filter, report) => *report = filter.end()?,
        }
        Ok(())
    }

    fn fail(&mut self, _: &Error) {}

    fn held_peak(&self) -> u64 {
        0
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Text(_, report) => Outcome::Text(*report),
            #[cfg(feature = "command")]
            Self::Command(_, report) => Outcome::Command(report.clone()),
        }
    }

    fn sink(&self) -> &GatherSink {
        match self {
            Self::Text(filter, _) => filter.sink(),
            #[cfg(feature = "command")]
            Self::Command(filter, _) => filter.sink(),
        }
    }

    fn sink_mut(&mut self) -> &mut GatherSink {
        match self {
            Self::Text(filter, _) => filter.sink_mut(),
            #[cfg(feature = "command")]
            Self::Command(filter, _) => filter.sink_mut(),
        }
    }
}
