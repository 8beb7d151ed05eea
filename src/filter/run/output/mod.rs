//! The last stages: text filters, budgets and summaries of the filtered document.
//!
//! ```text
//! items ─▶ lines ─▶ omit ─▶ paths ─▶ secrets ─▶ factor or fit ─▶ size ─▶ summary, encode or elements ─▶ sink
//! ```
//!
//! | stage | rule | code | what it holds |
//! |---|---|---|---|
//! | lines | `text_filter` | [`RawTextStage`] | what its text filter holds |
//! | omit | `omit_base64_over` | [`OmitBase64Stage`] | a string while it may be base64 |
//! | paths | `redact` with paths | [`RedactPathsStage`] | nothing |
//! | secrets | `redact` with secrets | [`SecretsStage`] | up to 72 KiB, in a buffer with room for up to twice as much |
//! | factor | `factor`, and `budget` with it | [`FactorStage`] | the document, and the factored text |
//! | fit | `budget`, or marks for `max_items` | [`ItemSplitter`] | with a budget: as much as the budget allows |
//! | size | any of these | [`SizeStage`] | nothing |
//! | summary | `compact` | `SummaryStage` | the document, and the rendered text |
//! | encode | `encode` | [`EncodeStage`] | the document, then its tree and the encoded text |
//! | elements | lines, an option of the call | [`ElementStage`] | nothing |
//!
//! Each reads and writes valid JSON, and does not depend on the rules before it. The stage on items has located the
//! payload before the first byte arrives here. Each stage finds it again by its [`RootPath`].
//!
//! # The budget
//!
//! [`ItemSplitter`] divides the document into the *items* of the payload and the *frame*, which is everything around
//! them. [`ItemBudget`](budget::ItemBudget) receives the bytes of both and decides what is kept. It never parses JSON.
//!
//! ```text
//! collect items and frame ── the array is too long ──▶ collect the frame; further items are not read
//! collect (both)          ── the end ──▶ fit
//! collect (both)          ── the frame and `min_items` are too long ──▶ shorter forms
//! fit                     ── the longest prefix that fits with its mark ──▶ sink
//! fit                     ── none fits ──▶ shorter forms
//! shorter forms           ── the end: the first form that fits ──▶ sink
//! shorter forms           ── none fits ──▶ `on_over: warn`: the shortest form streams; `error`: nothing is written
//! ```
//!
//! Example with a budget of 100 bytes, `min_items: 1`, and three items of 30 bytes in a frame of 22:
//! ```text
//! {"total":3,"items":[ITEM,ITEM,ITEM]}                                    114 bytes
//! {"total":3,"items":[ITEM,ITEM],"_omitted":{"items":1,"of":3}}           113 bytes: the mark counts, too
//! {"total":3,"items":[ITEM],"_omitted":{"items":2,"of":3}}                 82 bytes: written
//! ```
//!
//! If the frame and the one item had more than 100 bytes, strings would become shorter next, then containers
//! (`shorten.rs`). Each shorter form is made from the previous one, so that at most the budget is held. Each byte is
//! read at most once for each of the 17 forms.
//!
//! A budget in tokens is first enforced as the largest number of bytes that these can have. The tokens are counted when the
//! document is complete. Without a vocabulary a token is estimated as four bytes.

mod binary_text;
mod budget;
mod chars;
mod elements;
mod encoding;
mod factor_stage;
pub(super) mod facts;
mod information;
mod item_prefix;
mod json_stage;
mod notes;
pub(super) mod omission;
mod omit_base64;
#[cfg(feature = "text")]
mod raw_text;
mod redact_paths;
mod secrets;
mod shorten;
mod shorten_lexer;
pub(super) mod size;
mod size_stage;
mod split_items;
mod summary;
mod summary_stage;
#[cfg(test)]
mod tests;

use tamis_json::limits::Limits;
use tamis_json::machine::MachineConfig;
use tamis_json::scan::Scanner;
use tamis_text::words::Query;

use super::payload_length::PayloadLength;
use super::pipe::Stage;
use super::stage::machine_config;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::compile::stages::StageKind;
use crate::filter::options::CallOptions;
use crate::spec::{Encode, OnOver, Prefer};
use elements::ElementStage;
use encoding::EncodeStage;
use factor_stage::FactorStage;
use information::{InformationStage, LastScored};
use json_stage::JsonStage;
use omit_base64::OmitBase64Stage;
#[cfg(feature = "text")]
use raw_text::RawTextStage;
use redact_paths::RedactPathsStage;
use secrets::SecretsStage;
use size_stage::SizeStage;
use split_items::ItemSplitter;
use summary_stage::SummaryStage;

/// Returns a stage on the filtered document, or `None` for any other kind. `length`: counters that the stage on items
/// sets.
pub(super) fn output_stage(
    kind: StageKind,
    program: &CompiledProgram,
    options: &CallOptions,
    length: &PayloadLength,
) -> Option<Box<dyn Stage>> {
    let spec = &program.spec;
    let limits = options.limits().clone();
    let scanner = options.scanner();
    let policy = SizePolicy::new(spec, options.policy());
    // The stages pass minified text to each other, even if the spec keeps white space.
    let config = MachineConfig { keep_white: false, ..machine_config(spec, &limits, false) };
    let has_form = spec.compact.is_some() || spec.encode != Encode::Json;
    let redact = program.output.redact.clone();
    let secrets = redact.as_ref().and_then(|redact| redact.secrets.clone());
    let secrets = secrets.map(|rules| rules.with_marks(options.marks()));
    let (length, query) = (length.clone(), options.query().clone());
    Some(match kind {
        #[cfg(feature = "text")]
        StageKind::TextFilter => {
            let text = program.output.text.clone()?;
            JsonStage::boxed(config, scanner, move |_| {
                RawTextStage::new(text.clone(), limits.clone(), secrets.clone())
            })
        }
        StageKind::OmitBase64 => {
            let over = spec.omit_base64_over;
            JsonStage::boxed(config, scanner, move |_| OmitBase64Stage::new(over, limits.clone()))
        }
        StageKind::RedactPaths => {
            let rules = redact?;
            JsonStage::boxed(config, scanner, move |place| {
                RedactPathsStage::new(rules.clone(), place.clone(), length.clone())
            })
        }
        StageKind::RedactSecrets => Box::new(SecretsStage::new(secrets?)),
        StageKind::Fit => {
            // A document that is too long may fit in another form. Only the size of the output is decisive, so the
            // budget must not fail before that exists.
            let on_over = if has_form { OnOver::Warn } else { policy.on_over };
            let policy = SizePolicy { on_over, ..policy };
            FitStages { policy, query, length, limits, config, scanner, last: None }.stage()
        }
        StageKind::Factor => {
            let stage = FactorStage::new(limits.clone(), policy);
            if policy.applies(spec) {
                let last = Some(LastScored::default());
                let create = move |budget| {
                    // Only the size of the factored document is decisive.
                    let policy = SizePolicy { on_over: OnOver::Warn, budget, ..policy };
                    let (query, length, limits) = (query.clone(), length.clone(), limits.clone());
                    let (config, last) = (config.clone(), last.clone());
                    FitStages { policy, query, length, limits, config, scanner, last }.stage()
                };
                return Some(Box::new(stage.with_fit(Box::new(create))));
            }
            Box::new(stage)
        }
        StageKind::Size => {
            let fits = policy.applies(spec) || program.factors(&policy);
            Box::new(SizeStage::new(policy, fits, has_form))
        }
        StageKind::Compact => {
            let templates = program.output.compact.clone()?;
            Box::new(SummaryStage::new(templates, config, scanner, limits, policy))
        }
        StageKind::Encode => Box::new(EncodeStage::new(spec.encode, limits, policy)),
        StageKind::Lines => {
            JsonStage::boxed(config, scanner, |place| ElementStage::new(place.clone()))
        }
        _ => return None,
    })
}

/// The parts of a stage that fits a document into a budget.
#[derive(Clone)]
struct FitStages {
    policy: SizePolicy,
    query: Query,
    length: PayloadLength,
    limits: Limits,
    config: MachineConfig,
    scanner: Scanner,
    /// The last document, if it is fitted into several budgets.
    last: Option<LastScored>,
}

impl FitStages {
    fn stage(self) -> Box<dyn Stage> {
        if self.policy.prefer != Prefer::Information || self.policy.budget.is_none() {
            return self.order();
        }
        let Self { policy, query, length, limits, last, .. } = self.clone();
        let create_order = Box::new(move || self.clone().order());
        Box::new(InformationStage::new(policy, query, length, &limits, create_order, last))
    }

    fn order(self) -> Box<dyn Stage> {
        let Self { policy, length, limits, config, scanner, .. } = self;
        JsonStage::boxed(config, scanner, move |place| {
            ItemSplitter::new(place.clone(), policy, &length, &limits)
        })
    }
}
