//! Filters of texts and of the output of commands as [`PushFilter`]s.

use super::Outcome;
#[cfg(feature = "command")]
use crate::command::{CommandReport, CommandRun};
use crate::error::Error;
use crate::io::gather::Gather;
use crate::io::push::PushFilter;
use crate::text::{TextReport, TextRun};

/// A filter of text, which returns its sink and its report when it ends. It never fails.
pub(super) enum TextPush {
    Text(Box<TextRun<Gather>>),
    /// With the exit code of the command, if it is known.
    #[cfg(feature = "command")]
    Command(Box<CommandRun<Gather>>, Option<i32>),
    Ended(Gather, Outcome),
}

impl PushFilter for TextPush {
    type Sink = Gather;

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        match self {
            Self::Text(filter) => filter.write(chunk),
            #[cfg(feature = "command")]
            Self::Command(filter, _) => filter.write(chunk),
            Self::Ended(..) => {}
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        let ended = Self::Ended(Gather::default(), self.outcome());
        *self = match std::mem::replace(self, ended) {
            Self::Text(filter) => {
                let (gather, report) = filter.end();
                Self::Ended(gather, Outcome::Text(report))
            }
            #[cfg(feature = "command")]
            Self::Command(filter, exit_code) => {
                let (gather, report) = filter.end(exit_code, None);
                Self::Ended(gather, Outcome::Command(report))
            }
            ended @ Self::Ended(..) => ended,
        };
        Ok(())
    }

    fn fail(&mut self, _: &Error) {}

    fn held_peak(&self) -> u64 {
        0
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Text(_) => Outcome::Text(TextReport::default()),
            #[cfg(feature = "command")]
            Self::Command(..) => Outcome::Command(CommandReport::default()),
            Self::Ended(_, outcome) => outcome.clone(),
        }
    }

    fn sink(&self) -> &Gather {
        match self {
            Self::Text(filter) => filter.sink(),
            #[cfg(feature = "command")]
            Self::Command(filter, _) => filter.sink(),
            Self::Ended(gather, _) => gather,
        }
    }

    fn sink_mut(&mut self) -> &mut Gather {
        match self {
            Self::Text(filter) => filter.sink_mut(),
            #[cfg(feature = "command")]
            Self::Command(filter, _) => filter.sink_mut(),
            Self::Ended(gather, _) => gather,
        }
    }
}
