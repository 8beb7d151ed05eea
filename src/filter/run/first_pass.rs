//! Reads a document ahead, where a run over it would have to wait: for the branch that applies, then for the payload.
//!
//! Writes and holds nothing. What is wrong with the document is met again by the run, unless it comes before what is looked
//! for.

use super::filter_run::{FilterRun, RunMode};
use super::root::Payload;
use crate::error::Error;
use crate::filter::compile::when::Branch;
use crate::filter::options::Call;

/// What is known of a document before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookahead {
    pub(in crate::filter) branch: Option<Branch>,
    pub(in crate::filter) payload: Option<Payload>,
}

impl Lookahead {
    /// Whether the document was read for it.
    pub(crate) fn is_known(self) -> bool {
        self != Self::default()
    }
}

/// One reading of a document.
#[derive(Debug)]
pub(crate) struct FirstPass {
    core: FilterRun,
    ahead: Lookahead,
}

impl FirstPass {
    /// What is to be found out next. `None`: nothing.
    pub(crate) fn new(call: &Call<'_>, ahead: Lookahead) -> Option<Self> {
        let core = FilterRun::new(call.program(), call.options(), ahead, RunMode::FirstPass);
        core.looks_beyond(ahead).then_some(Self { core, ahead })
    }

    /// Takes the next bytes; true when they suffice. What is wrong before that is the run's error, which then has no
    /// output; what is wrong behind it the run finds again.
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<bool, Error> {
        let result = self.core.write(chunk, &mut Vec::new());
        if self.core.found() == Lookahead::default() { result.map(|()| false) } else { Ok(true) }
    }

    /// The document is complete, or enough of it was read.
    pub(crate) fn end(mut self) -> Result<Lookahead, Error> {
        if self.core.found() == Lookahead::default() {
            self.core.end(&mut Vec::new())?;
        }
        let found = self.core.found();
        Ok(Lookahead {
            branch: self.ahead.branch.or(found.branch),
            payload: self.ahead.payload.or(found.payload),
        })
    }
}
