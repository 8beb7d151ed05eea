//! Explains the stages on the filtered document.

use super::stage::{HoldExplanation, StageAction, StageExplanation};
use crate::filter::compile::size_policy::SizePolicy;
use crate::spec::{Encode, Omitted, Spec};

/// Returns the stages on the filtered document: the text filter, what leaves out base64, the budget and the
/// summary.
pub(super) fn output_stages(spec: &Spec, policy: &SizePolicy) -> Vec<StageExplanation> {
    let Spec { omit_base64_over, text_filter, redact, compact, encode, .. } = spec;
    let omit = (*omit_base64_over > 0).then(|| {
        let string = HoldExplanation {
            what: "a string that may be base64",
            until: "it ends, or has another character",
            limits: &["held", "spill"],
            instead: None,
        };
        let does = StageAction::OmitBase64Over { over: *omit_base64_over };
        StageExplanation::new(does, vec![string])
    });
    let text =
        text_filter.as_ref().map(|_| StageExplanation::new(StageAction::TextFilter, Vec::new()));
    let mark = policy.budget.is_none() && policy.marks_max_items(spec);
    let mark = mark.then(|| StageExplanation::new(StageAction::Mark, Vec::new()));
    let compact = compact.as_ref().map(|_| {
        let document = HoldExplanation {
            what: "the filtered document, then its text,",
            until: "the last item is rendered",
            limits: &["held", "spill"],
            instead: None,
        };
        let item = HoldExplanation {
            what: "an item",
            until: "it is rendered",
            limits: &["item"],
            instead: None,
        };
        StageExplanation::new(StageAction::Compact, vec![document, item])
    });
    let encode = (*encode != Encode::Json).then(|| {
        let document = HoldExplanation {
            what: "the filtered document",
            until: "it ends",
            limits: &["held", "spill", "item"],
            instead: None,
        };
        StageExplanation::new(StageAction::Encode { form: *encode }, vec![document])
    });
    let redact = redact.as_ref().filter(|redact| !redact.is_nothing());
    let redact = redact.map(|redact| {
        let string = HoldExplanation {
            what: "a string of up to 4 KiB with a secret",
            until: "it ends",
            limits: &[],
            instead: None,
        };
        let holds = if redact.searches() { vec![string] } else { Vec::new() };
        StageExplanation::new(StageAction::Redact { redact: redact.clone() }, holds)
    });
    [text, omit, redact, budget_stage(policy), mark, compact, encode]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the stage that applies a budget, if there is one.
fn budget_stage(policy: &SizePolicy) -> Option<StageExplanation> {
    let SizePolicy { budget, min_items, omitted, on_over, lines: _, only_summary: _ } = *policy;
    let holds = HoldExplanation {
        what: "what fits",
        until: "the document ends",
        limits: &["held", "spill"],
        instead: None,
    };
    let omitted = omitted.unwrap_or(Omitted::Mark);
    budget.map(|budget| {
        StageExplanation::new(
            StageAction::Budget { budget, min_items, omitted, on_over },
            vec![holds],
        )
    })
}
