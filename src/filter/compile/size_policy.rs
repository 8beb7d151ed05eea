//! The size of the output, as a spec and a call ask for it.

use super::call::CallPolicy;
use crate::error::{Error, ErrorKind, Raise};
use crate::spec::{self, Omitted, OnOver, Spec};

/// The budget, and what goes with it.
#[derive(Clone, Copy, Debug)]
pub(in crate::filter) struct SizePolicy {
    pub(in crate::filter) budget: Option<spec::Budget>,
    /// Items that stay, whatever the budget.
    pub(in crate::filter) min_items: u64,
    /// `None`: what a budget leaves out is marked, what `max_items` leaves out is not.
    pub(in crate::filter) omitted: Option<Omitted>,
    pub(in crate::filter) on_over: OnOver,
}

impl SizePolicy {
    /// Returns the policy of the spec, as far as the call does not replace it.
    pub(in crate::filter) fn new(spec: &Spec, call: CallPolicy) -> Self {
        Self {
            budget: call.budget.or(spec.budget),
            min_items: call.min_items.or(spec.min_items).unwrap_or(1),
            omitted: call
                .omitted
                .or(spec.omitted)
                .or_else(|| spec.foreign.then_some(Omitted::Silent)),
            on_over: call.on_over.or(spec.on_over).unwrap_or_default(),
        }
    }

    /// Whether the size of the output matters, or something is said in it.
    pub(in crate::filter) fn applies(&self, spec: &Spec) -> bool {
        self.budget.is_some() || self.marks_max_items(spec)
    }

    /// The error of an output that is longer than its budget, if that is one. The filtered document has so many bytes.
    pub(in crate::filter) fn check(&self, exceeded: bool, bytes: u64) -> Result<(), Error> {
        if !exceeded || self.on_over == OnOver::Warn {
            return Ok(());
        }
        let message = "the output is longer than its budget, and nothing more can be left out";
        Err(Error::at(Raise::new(ErrorKind::Budget, message), bytes, String::new()))
    }

    /// Whether a mark says what `max_items` left out.
    pub(in crate::filter) fn marks_max_items(&self, spec: &Spec) -> bool {
        self.omitted == Some(Omitted::Mark) && spec.max_items > 0
    }
}
