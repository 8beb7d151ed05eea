//! The stages of a program in the order in which they run. A run builds its pipe from this list, and `explain` prints it.

use smallvec::{SmallVec, smallvec};

use super::program::CompiledProgram;
use super::size_policy::SizePolicy;
use crate::report::FactorSkip;
use crate::spec::{Encode, Whitespace};

/// A stage of a program. Those from `Extract` to `Validate` that a program has are one stage of its pipe: they read the
/// document in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) enum StageKind {
    /// Takes the document as a whole. It is then the only stage.
    Whole,
    /// The value at `extract` becomes the document.
    Extract,
    /// JSON in strings. A run of its own has all stages after it.
    JsonStrings,
    /// The search for the paths of `requires`. A document that lacks one has another program.
    Requires,
    Retain,
    Patches,
    /// The choice of a branch, whose stages follow.
    When,
    /// No rule applies: the document is only validated.
    Validate,
    /// The rules on the payload and its items.
    Items,
    TextFilter,
    OmitBase64,
    RedactPaths,
    RedactSecrets,
    /// Writes what items share once, and applies the budget and the marks for `max_items` together with that.
    Factor,
    /// The budget, or the marks for `max_items`.
    Fit,
    /// Measures the output before it takes another form.
    Size,
    Compact,
    Encode,
    /// Writes the elements of the payload as lines.
    Lines,
}

impl CompiledProgram {
    /// Returns the stages of this program for a call with this policy.
    pub(in crate::filter) fn stages(&self, policy: &SizePolicy) -> SmallVec<[StageKind; 8]> {
        if self.whole.is_some() {
            return smallvec![StageKind::Whole];
        }
        let spec = &self.spec;
        let output = self.shapes_output(policy);
        let has_form = spec.compact.is_some() || spec.encode != Encode::Json;
        let redact = self.output.redact.as_deref();
        let stages = [
            (StageKind::Extract, self.extract.is_some()),
            (StageKind::JsonStrings, self.json_strings.is_some()),
            (StageKind::Requires, self.requires.is_some()),
            (StageKind::Retain, self.retain.is_some()),
            (StageKind::Patches, self.patches.is_some()),
            (StageKind::When, self.when.is_some()),
            (StageKind::Items, !self.items.idle || output),
            (StageKind::TextFilter, spec.text_filter.is_some()),
            (StageKind::OmitBase64, spec.omit_base64_over > 0),
            (StageKind::RedactPaths, redact.is_some_and(|rules| !rules.source_paths.is_empty())),
            (StageKind::RedactSecrets, redact.is_some_and(|rules| rules.secrets.is_some())),
            // It fits what it factors.
            (StageKind::Factor, self.factors(policy)),
            (StageKind::Fit, policy.applies(spec) && !self.factors(policy)),
            (StageKind::Size, output),
            (StageKind::Compact, spec.compact.is_some()),
            (StageKind::Encode, spec.encode != Encode::Json),
            (StageKind::Lines, policy.lines && !has_form),
        ];
        let stages = stages.into_iter().filter(|(_, is_used)| *is_used).map(|(stage, _)| stage);
        let mut stages: SmallVec<[StageKind; 8]> = stages.collect();
        // The search for a shape ends before the pipe begins.
        if stages.iter().all(|stage| *stage == StageKind::Requires) {
            stages.push(StageKind::Validate);
        }
        stages
    }

    /// Returns whether what items share is written once.
    pub(in crate::filter) fn factors(&self, policy: &SizePolicy) -> bool {
        policy.factor && self.factor_skip(policy).is_none()
    }

    /// Returns whether only `factor` reads the payload: no rule on items does, and no other later stage.
    pub(in crate::filter) fn only_factors(&self, policy: &SizePolicy) -> bool {
        let has_others = policy.applies(&self.spec) || policy.lines || self.spec.shapes_output();
        self.items.idle && self.factors(policy) && !has_others
    }

    /// Returns the reason why no document of a call is factored.
    pub(in crate::filter) fn factor_skip(&self, policy: &SizePolicy) -> Option<FactorSkip> {
        let spec = &self.spec;
        let reasons = [
            (FactorSkip::StopEarly, spec.stop_early),
            (FactorSkip::Encode, spec.encode != Encode::Json),
            (FactorSkip::Compact, spec.compact.is_some()),
            (FactorSkip::Lines, policy.lines),
            (FactorSkip::Strings, policy.only_summary),
            (FactorSkip::Whitespace, spec.whitespace == Whitespace::Keep),
        ];
        reasons.into_iter().find(|(_, applies)| *applies).map(|(reason, _)| reason)
    }

    /// Returns whether stages follow that on the items.
    fn shapes_output(&self, policy: &SizePolicy) -> bool {
        policy.applies(&self.spec)
            || policy.lines
            || self.spec.shapes_output()
            || self.factors(policy)
    }
}
