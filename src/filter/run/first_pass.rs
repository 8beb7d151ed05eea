//! Reads a document before the run to find its branch and its payload, so that the run need not hold the document.
//!
//! A first pass writes and holds nothing. The run finds errors of the document again, except those before the value
//! that decides.
//!
//! Drivers repeat passes while [`FirstPass::new`] returns one. At most two are needed: the payload can only be looked
//! for once the branch is known.
//!
//! ```text
//! pass 1   facts {}                    reads until the branch is certain         facts {branch}
//! pass 2   facts {branch}              reads until the payload is certain        facts {branch, payload}
//! run      facts {branch, payload}     reads the whole document, holds nothing for either of them
//! ```

use tamis_json::error::Error;

use super::filter_run::FilterRun;
use super::root::Payload;
use super::run_mode::RunMode;
use crate::filter::compile::when::Branch;
use crate::filter::options::Call;

/// Facts about a document that are known before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentFacts {
    /// The branch of `when`. `None` if it is unknown, or if the program has no branches.
    pub(in crate::filter) branch: Option<Branch>,
    /// The place of the payload. `None` if it is unknown, or if it needs no search.
    pub(in crate::filter) payload: Option<Payload>,
}

impl DocumentFacts {
    /// Returns whether a first pass has found anything.
    pub(crate) fn is_known(self) -> bool {
        self != Self::default()
    }
}

/// One reading of a document.
#[derive(Debug)]
pub(crate) struct FirstPass {
    /// A run that writes nothing.
    core: FilterRun,
    /// The facts before this pass.
    facts: DocumentFacts,
}

impl FirstPass {
    /// Creates the pass for what is still unknown. Returns `None` if everything is known.
    pub(crate) fn new(call: &Call<'_>, facts: DocumentFacts) -> Option<Self> {
        let core = FilterRun::new(call.program(), call.options(), facts, RunMode::FirstPass);
        core.looks_beyond(facts).then_some(Self { core, facts })
    }

    /// Reads the next bytes. Returns `true` once they suffice. An error before that point is the run's error, and
    /// there is no output. The run finds later errors again.
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<bool, Error> {
        let result = self.core.write(chunk, &mut Vec::new());
        if self.core.found() == DocumentFacts::default() {
            result.map(|()| false)
        } else {
            Ok(true)
        }
    }

    /// Finishes the pass, at the end of the document or when enough was read. Returns the facts before this pass
    /// together with those that it has found.
    ///
    /// # Errors
    /// The document is incomplete, or no branch applies to it.
    pub(crate) fn end(mut self) -> Result<DocumentFacts, Error> {
        if self.core.found() == DocumentFacts::default() {
            self.core.end(&mut Vec::new())?;
        }
        let found = self.core.found();
        Ok(DocumentFacts {
            branch: self.facts.branch.or(found.branch),
            payload: self.facts.payload.or(found.payload),
        })
    }
}
