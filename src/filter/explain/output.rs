//! Explains the stages on the filtered document.

use super::stage::{HELD, HoldExplanation, ITEM, StageAction, StageExplanation};
use crate::filter::compile::size_policy::SizePolicy;
use crate::spec::{Omitted, Prefer, Spec};

pub(super) fn omit_base64(spec: &Spec) -> StageExplanation {
    let until = "it ends, or has another character";
    let string = HoldExplanation::new("a string that may be base64", until, HELD);
    let does = StageAction::OmitBase64Over { over: spec.omit_base64_over };
    StageExplanation::new(does, vec![string])
}

pub(super) fn redact(spec: &Spec) -> StageExplanation {
    let redact = spec.redact.clone().unwrap_or_default();
    let string = HoldExplanation::new("a string of up to 4 KiB with a secret", "it ends", &[]);
    let holds = if redact.searches() { vec![string] } else { Vec::new() };
    StageExplanation::new(StageAction::Redact { redact }, holds)
}

/// Explains the budget, or the marks without one.
pub(super) fn fit(policy: &SizePolicy) -> StageExplanation {
    let SizePolicy {
        budget,
        tokens: _,
        min_items,
        omitted,
        on_over,
        prefer,
        lines: _,
        only_summary: _,
        factor: _,
    } = *policy;
    let Some(budget) = budget else {
        let text = "a member `_omitted` says how many items are missing";
        return StageExplanation::plain("mark", text);
    };
    let omitted = omitted.unwrap_or(Omitted::Mark);
    StageExplanation::new(
        StageAction::Budget { budget, min_items, omitted, on_over, prefer },
        vec![match prefer {
            Prefer::Information => {
                HoldExplanation::new("the filtered document", "it ends", &["held"])
            }
            _ => HoldExplanation::new("what fits", "the document ends", HELD),
        }],
    )
}

pub(super) fn factor() -> StageExplanation {
    let document = HoldExplanation::new("the filtered document, then its text,", "it ends", HELD);
    let text = "what items share is written once, if the document is then shorter; nothing is lost";
    StageExplanation::new(StageAction::Plain { name: "factor", text }, vec![document])
}

pub(super) fn compact() -> StageExplanation {
    let what = "the filtered document, then its text,";
    let document = HoldExplanation::new(what, "the last item is rendered", HELD);
    let item = HoldExplanation::new("an item", "it is rendered", ITEM);
    let text = "an array of items becomes text rendered by templates; an object is kept";
    StageExplanation::new(StageAction::Plain { name: "compact", text }, vec![document, item])
}

pub(super) fn encode(spec: &Spec) -> StageExplanation {
    let limits = &["held", "spill", "item"];
    let document = HoldExplanation::new("the filtered document", "it ends", limits);
    StageExplanation::new(StageAction::Encode { form: spec.encode }, vec![document])
}
