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

use super::document_facts::DocumentFacts;
use super::filter_run::FilterRun;
use super::run_mode::RunMode;
use crate::filter::call::Call;

/// One reading of a document.
#[derive(Debug)]
pub(crate) struct FirstPass {
    /// A run that writes nothing.
    run: FilterRun,
    /// The facts before this pass.
    facts: DocumentFacts,
}

impl FirstPass {
    /// Creates the pass for what is still unknown. Returns `None` if everything is known.
    pub(crate) fn new(call: &Call<'_>, facts: DocumentFacts) -> Option<Self> {
        let run = FilterRun::new(call.program(), call.options(), facts, RunMode::FirstPass);
        run.looks_beyond(facts).then_some(Self { run, facts })
    }

    /// Reads the next bytes. Returns `true` once they suffice. An error before that point is the run's error, and
    /// there is no output. The run finds later errors again.
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<bool, Error> {
        let result = self.run.write(chunk, &mut Vec::new());
        if self.run.found() == DocumentFacts::default() { result.map(|()| false) } else { Ok(true) }
    }

    /// Finishes the pass, at the end of the document or when enough was read. Returns the facts before this pass
    /// together with those that it has found.
    ///
    /// # Errors
    /// The document is incomplete, or no branch applies to it.
    pub(crate) fn end(mut self) -> Result<DocumentFacts, Error> {
        if self.run.found() == DocumentFacts::default() {
            self.run.end(&mut Vec::new())?;
        }
        let found = self.run.found();
        Ok(DocumentFacts {
            branch: self.facts.branch.or(found.branch),
            payload: self.facts.payload.or(found.payload),
            is_factored: found.is_factored,
        })
    }
}
