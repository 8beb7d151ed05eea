//! The stage that measures the output, and refuses one that is too long.

use tamis_json::error::Error;
use tamis_json::sink::Sink;

use super::facts::OutputFacts;
use super::size::OutputSize;
use crate::filter::compile::size_policy::{BYTES_PER_TOKEN, SizePolicy};
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::root_path::RootPath;
use crate::report::Report;
use crate::spec::Budget;

/// The stage. It passes all bytes on; the sizes are in the [`OutputFacts`].
#[derive(Debug)]
pub(super) struct SizeStage {
    policy: SizePolicy,
    /// A stage before this one applies the budget, and has counted the bytes of the filtered document.
    fits: bool,
    /// A stage after this one writes another form, which it measures itself.
    has_form: bool,
    /// The payload of the document is located.
    begun: bool,
}

impl SizeStage {
    pub(super) fn new(policy: SizePolicy, fits: bool, has_form: bool) -> Self {
        Self { policy, fits, has_form, begun: false }
    }
}

impl Stage for SizeStage {
    fn restart(&mut self) {
        self.begun = false;
    }

    fn begin(&mut self, _: &RootPath, facts: &mut OutputFacts) {
        self.begun = true;
        *facts = OutputFacts {
            written: facts.written,
            size: OutputSize::new(&self.policy),
            ..OutputFacts::default()
        };
    }

    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        if !self.fits {
            next.facts.filtered += bytes.len() as u64;
        }
        next.facts.size.write(bytes);
        next.write(bytes);
        Ok(())
    }

    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        next.facts.size.end();
        if self.has_form {
            return Ok(());
        }
        self.policy.check(next.facts.exceeded, next.facts.filtered)
    }

    fn report(&self, report: &mut Report, facts: &OutputFacts) {
        // After an error nothing was decided.
        if !self.begun || report.error.is_some() {
            return;
        }
        report.result_bytes = facts.filtered;
        let Some(budget) = self.policy.budget else { return };
        report.budget_exceeded = facts.exceeded;
        // A budget that left everything in is not reported.
        if !report.budget_applied {
            return;
        }
        match budget {
            Budget::Tokens(limit) => {
                report.tokens_limit = Some(limit);
                report.tokens_result = facts.size.counted;
                if self.policy.tokens.is_none() {
                    report.tokens_original = Some(facts.filtered.div_ceil(BYTES_PER_TOKEN));
                    report.tokens_result = Some(facts.size.bytes.div_ceil(BYTES_PER_TOKEN));
                    report.tokens_estimated = true;
                }
            }
            Budget::Bytes(limit) => report.budget_limit = Some(limit),
        }
        report.budget_original_bytes = Some(facts.filtered);
        report.budget_result_bytes = Some(facts.size.bytes);
    }
}
