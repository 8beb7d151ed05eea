//! The last stages: text filters, budgets and summaries of the filtered document.
//!
//! ```text
//! items ─▶ lines ─▶ omit ─▶ paths ─▶ secrets ─▶ fit ─▶ summary, encode or elements ─▶ sink
//! ```
//!
//! | stage | rule | code | what it holds |
//! |---|---|---|---|
//! | lines | `text_filter` | [`RawTextStage`] | what its text filter holds |
//! | paths | `redact` with paths | `RedactPathsStage` | nothing |
//! | secrets | `redact` with secrets | `SecretSearch` | up to 24 KiB |
//! | omit | `omit_base64_over` | [`OmitBase64Stage`] | a string while it may be base64 |
//! | fit | `budget`, or marks for `max_items` | [`ItemSplitter`] | with a budget: as much as the budget allows |
//! | summary | `compact` | `SummaryStage` | the document, and the rendered text |
//! | encode | `encode` | [`EncodeStage`] | the document, then its tree and the encoded text |
//! | elements | lines, an option of the call | [`ElementStage`] | nothing |
//!
//! Each stage exists only if the spec or the call needs it. Each reads and writes valid JSON, and does not depend on the
//! rules before it. The stage on items has located the payload before the first byte arrives here. Each stage finds
//! it again by its [`RootPath`]. A stage is the sink of the one before it ([`StageSink`]). No bytes wait between them.
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
//! document is complete. Without the feature `tokens` a token is estimated as four bytes.
//!
//! # Errors
//!
//! A stage may fail while the stage before it writes. [`StageSink`] keeps the first error. It is reported instead of an
//! error of the stage before it, because the bytes that caused it came first. Its offset refers to the filtered
//! document.

mod binary_text;
mod budget;
mod chars;
mod elements;
mod encoding;
mod item_prefix;
mod notes;
mod omission;
mod omit_base64;
#[cfg(feature = "text")]
mod raw_text;
mod redact;
mod redact_paths;
mod shorten;
mod shorten_lexer;
mod size;
mod split_items;
mod stage_sink;
#[cfg(feature = "template")]
mod summary;
#[cfg(test)]
mod tests;

use tamis_json::limits::{Limits, Meter};
use tamis_json::machine::MachineConfig;
use tamis_json::scan::Scanner;
use tamis_json::{Error, Sink};

use super::payload_length::PayloadLength;
use super::root::Payload;
use super::root_path::RootPath;
use super::stage::{StageMachine, machine_config};
use crate::encode::SkipReason;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::options::CallOptions;
use crate::report::Report;
use crate::spec::{Budget, Encode, OnOver};
use elements::ElementStage;
use encoding::EncodeStage;
use omit_base64::OmitBase64Stage;
#[cfg(feature = "text")]
use raw_text::RawTextStage;
use redact::RedactStages;
#[cfg(not(feature = "tokens"))]
use size::BYTES_PER_TOKEN;
use size::{OutputSize, PIECE};
use split_items::ItemSplitter;
use stage_sink::{ByteStage, StageSink};
#[cfg(feature = "template")]
use summary::{RenderedItems, SummaryCounts, SummaryStage};
#[cfg(feature = "template")]
use tamis_template::Totals;

/// The output stages of a run, for one document after the other.
#[derive(Debug)]
pub(super) struct OutputStages {
    /// The limits of the call.
    limits: Limits,
    /// The settings of all machines here.
    config: MachineConfig,
    scanner: Scanner,
    /// The budget of the call or of the spec.
    policy: SizePolicy,
    /// The output is limited or marked.
    fits: bool,
    /// Counters that the stage on items sets and the budget reads.
    length: PayloadLength,
    /// The stages of the current document. `None` before its payload is located.
    stages: Option<OutputPipeline>,
    /// Machines of earlier documents, for reuse.
    spare: Vec<StageMachine>,
    /// A stage failed on the current document.
    failed: bool,
}

/// The stages of one document, in order.
#[derive(Debug)]
struct OutputPipeline {
    /// Filters the text of a response that is plain text in JSON.
    #[cfg(feature = "text")]
    lines: Option<(StageMachine, RawTextStage)>,
    /// Reads what `lines` writes, or the document itself.
    rest: AfterText,
}

/// The stages after the text filter.
#[derive(Debug)]
struct AfterText {
    /// Leaves out long strings of base64. It comes after the text filter, which would take its marks for the tool's.
    omit: Option<(StageMachine, OmitBase64Stage)>,
    /// Reads what `omit` writes.
    redact: RedactStages,
    rest: AfterRedact,
}

/// The stages after `redact`.
#[derive(Debug)]
struct AfterRedact {
    /// Applies the budget and writes marks.
    fit: Option<(StageMachine, ItemSplitter)>,
    /// Reads what `fit` writes.
    last: AfterBudget,
    /// The number of bytes read: the size of the filtered document.
    bytes: u64,
}

/// The stages after the budget.
#[derive(Debug)]
struct AfterBudget {
    /// Replaces the payload. It holds everything until the end.
    #[cfg(feature = "template")]
    summary: Option<(StageMachine, SummaryStage)>,
    /// Writes another form than JSON. It holds everything until the end.
    encode: Option<EncodeStage>,
    /// Writes the elements of the payload as lines. Only without the two stages above.
    elements: Option<(StageMachine, ElementStage)>,
    /// Charged for what the summary holds.
    meter: Meter,
    /// The policy of the run. That of `fit` may be more lenient.
    policy: SizePolicy,
    /// The size of the output: of the text read, or of the text with the summary in it.
    size: OutputSize,
    /// The output is longer than its budget. Known at the end.
    exceeded: bool,
    /// The reason why the document was not summarized.
    error: Option<String>,
}

impl OutputStages {
    /// Creates the output stages of a program for a call, or returns `None` if there are none.
    pub(super) fn new(program: &CompiledProgram, options: &CallOptions) -> Option<Self> {
        let spec = &program.spec;
        let policy = SizePolicy::new(spec, options.policy());
        if !policy.applies(spec) && !policy.lines && !spec.shapes_output() {
            return None;
        }
        let limits = options.limits();
        Some(Self {
            limits: limits.clone(),
            // The stages pass minified text to each other, even if the spec keeps white space.
            config: MachineConfig { keep_white: false, ..machine_config(spec, limits, false) },
            scanner: options.scanner(),
            policy,
            fits: policy.applies(spec),
            length: PayloadLength::default(),
            stages: None,
            spare: Vec::new(),
            failed: false,
        })
    }

    /// Starts a document whose payload is known. Machines of the previous document are reused, because the window of
    /// each takes some 13 KiB.
    pub(super) fn begin(&mut self, program: &CompiledProgram, payload: Option<Payload>) {
        let Self { limits, config, scanner, policy, fits, length, stages, spare, failed } = self;
        *failed = false;
        length.reset();
        length.set_missed(false);
        if let Some(earlier) = stages.take() {
            earlier.leave_engines(spare);
        }
        let mut engine = || match spare.pop() {
            Some(mut engine) => {
                engine.restart(config.clone());
                engine
            }
            None => StageMachine::new(config.clone(), *scanner),
        };
        let place = RootPath::new(&program.items.root, payload, program.items.keep_siblings);
        #[cfg(feature = "text")]
        let lines = program.output.text.as_ref();
        #[cfg(feature = "template")]
        let has_summary = program.output.compact.is_some();
        #[cfg(not(feature = "template"))]
        let has_summary = false;
        // A document that is too long may fit as a summary. Only the size of the output is decisive.
        // So the budget must not fail before the summary exists.
        let has_form = program.spec.encode != Encode::Json;
        let fit_policy = if has_summary || has_form {
            SizePolicy { on_over: OnOver::Warn, ..*policy }
        } else {
            *policy
        };
        let fit =
            fits.then(|| (engine(), ItemSplitter::new(place.clone(), fit_policy, length, limits)));
        let last = AfterBudget {
            #[cfg(feature = "template")]
            summary: program.output.compact.as_ref().map(|templates| {
                let summary = SummaryStage::new(
                    templates.clone(),
                    place.clone(),
                    config.clone(),
                    limits.clone(),
                );
                (engine(), summary)
            }),
            encode: has_form
                .then(|| EncodeStage::new(program.spec.encode, place.clone(), limits.clone())),
            elements: (policy.lines && !has_summary && !has_form)
                .then(|| (engine(), ElementStage::new(place.clone()))),
            meter: Meter::default(),
            policy: *policy,
            size: OutputSize::new(policy.budget),
            exceeded: false,
            error: None,
        };
        let rest = AfterRedact { fit, last, bytes: 0 };
        let redact = program.output.redact.as_ref();
        let (paths, secrets) = redact::stages(redact, &place, length);
        let paths = paths.map(|paths| (engine(), paths));
        let over = program.spec.omit_base64_over;
        let omit = (over > 0).then(|| (engine(), OmitBase64Stage::new(over, limits.clone())));
        *stages = Some(OutputPipeline {
            #[cfg(feature = "text")]
            lines: lines.map(|text| {
                let secrets = redact.and_then(|redact| redact.secrets.clone());
                (engine(), RawTextStage::new(text.clone(), limits.clone(), secrets))
            }),
            rest: AfterText { omit, redact: RedactStages { paths, secrets }, rest },
        });
    }

    /// Reads bytes of the filtered document. Text that is about to be dropped is held briefly, so it is limited to one
    /// piece at a time.
    fn write(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        bytes.chunks(PIECE).try_for_each(|piece| self.write_piece(piece, sink))
    }

    /// Passes at most [`PIECE`] bytes to the first stage.
    fn write_piece(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(stages) = &mut self.stages else { return Ok(()) };
        #[cfg(feature = "text")]
        if let Some((engine, lines)) = &mut stages.lines {
            let mut out = StageSink { stage: &mut stages.rest, sink, error: None };
            let fed = engine.feed(lines, bytes, &mut out);
            return out.result(fed);
        }
        stages.rest.take(bytes, sink)
    }

    /// Returns the counters in which the stage on items publishes the length of the payload.
    pub(super) fn length(&self) -> &PayloadLength {
        &self.length
    }

    /// Leaves the document JSON: it is that of a total miss.
    pub(super) fn keep_json(&mut self) {
        let stages = self.stages.as_mut();
        let last = stages.map(|stages| &mut stages.rest.rest.last);
        if let Some(encode) = last.and_then(|last| last.encode.as_mut()) {
            encode.is_off = true;
        }
    }

    /// Finishes the document, of whose `original` items `kept` arrived.
    ///
    /// # Errors
    /// A stage fails at the end, or the output exceeds its budget and `on_over` is `error`.
    pub(super) fn end(
        &mut self,
        kept: u64,
        original: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let Some(stages) = &mut self.stages else { return Ok(()) };
        let ended = stages.end(kept, original, sink);
        self.failed |= ended.is_err();
        ended.map_err(Error::in_filtered)
    }

    /// Returns whether a stage failed. The reports of the stages before it then depend on chunks.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Returns the steps of all machines, and the bytes read to shorten strings.
    #[cfg(test)]
    pub(super) fn steps(&self) -> (u64, u64) {
        let Some(stages) = &self.stages else { return (0, 0) };
        let steps = 0;
        #[cfg(feature = "text")]
        let steps = steps + stages.lines.as_ref().map_or(0, |(engine, _)| engine.steps());
        let AfterText { omit, redact, rest } = &stages.rest;
        let steps = steps + omit.as_ref().map_or(0, |(engine, _)| engine.steps());
        let steps = steps + redact.paths.as_ref().map_or(0, |(engine, _)| engine.steps());
        #[cfg(feature = "template")]
        let steps = steps + rest.last.summary.as_ref().map_or(0, |(engine, _)| engine.steps());
        match &rest.fit {
            Some((engine, fit)) => (steps + engine.steps(), fit.work()),
            None => (steps, 0),
        }
    }

    /// Adds the sizes and counts of the current document to the report.
    pub(super) fn report(&self, report: &mut Report) {
        let Some(stages) = &self.stages else { return };
        let AfterText { omit, redact, rest } = &stages.rest;
        let AfterRedact { fit, last, bytes } = rest;
        if let Some((_, omit)) = omit {
            omit.report_held(report);
        }
        report.held_peak_bytes += last.meter.peak();
        if let Some((_, fit)) = fit {
            report.held_peak_bytes += fit.held_peak();
        }
        if self.failed || report.error.is_some() {
            // The run ended before anything was decided.
            return;
        }
        // The size of the filtered document, before the budget and the summary.
        report.filter_result_bytes = *bytes;
        if let Some((_, omit)) = omit {
            omit.report_omitted(report);
        }
        redact.report(report);
        #[cfg(feature = "text")]
        if let Some((_, lines)) = &stages.lines {
            crate::report::add_counts(&mut report.redacted, &lines.redacted);
        }
        report.compact_error.clone_from(&last.error);
        let skipped = last.encode.as_ref().and_then(|encode| encode.skipped);
        report.encode_skipped = skipped.map(SkipReason::as_str);
        let (Some((_, fit)), Some(budget)) = (fit, self.policy.budget) else { return };
        if let Some(kept) = fit.kept() {
            report.items_kept = Some(kept);
        }
        report.budget_exceeded = last.exceeded;
        // A budget that left everything in is not reported.
        if !fit.has_cut() {
            return;
        }
        report.budget_applied = true;
        match budget {
            Budget::Tokens(limit) => {
                report.tokens_limit = Some(limit);
                #[cfg(feature = "tokens")]
                {
                    report.tokens_result = last.size.counted;
                }
                #[cfg(not(feature = "tokens"))]
                {
                    report.tokens_original = Some(bytes.div_ceil(BYTES_PER_TOKEN));
                    report.tokens_result = Some(last.size.bytes.div_ceil(BYTES_PER_TOKEN));
                    report.tokens_estimated = true;
                }
            }
            Budget::Bytes(limit) => report.budget_limit = Some(limit),
        }
        report.budget_original_bytes = Some(*bytes);
        report.budget_result_bytes = Some(last.size.bytes);
    }
}

impl OutputPipeline {
    /// Ends the stages in order. Each one may still write to the next.
    fn end(&mut self, kept: u64, original: u64, sink: &mut dyn Sink) -> Result<(), Error> {
        #[cfg(feature = "text")]
        if let Some((engine, lines)) = &mut self.lines {
            let mut out = StageSink { stage: &mut self.rest, sink: &mut *sink, error: None };
            let ended = engine.end(lines, &mut out);
            out.result(ended)?;
        }
        self.rest.end(kept, original, sink)
    }

    /// Keeps the machines for the next document.
    fn leave_engines(self, spare: &mut Vec<StageMachine>) {
        #[cfg(feature = "text")]
        spare.extend(self.lines.map(|(engine, _)| engine));
        let AfterText { omit, redact, rest } = self.rest;
        spare.extend(omit.map(|(engine, _)| engine));
        spare.extend(redact.paths.map(|(engine, _)| engine));
        spare.extend(rest.fit.map(|(engine, _)| engine));
        #[cfg(feature = "template")]
        spare.extend(rest.last.summary.map(|(engine, _)| engine));
        spare.extend(rest.last.elements.map(|(engine, _)| engine));
    }
}

impl ByteStage for OutputStages {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        self.write(bytes, sink)
    }
}

impl ByteStage for AfterText {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let mut rest = self.redact.then(&mut self.rest);
        let Some((engine, omit)) = &mut self.omit else { return rest.take(bytes, sink) };
        let mut out = StageSink { stage: &mut rest, sink, error: None };
        let fed = engine.feed(omit, bytes, &mut out);
        out.result(fed)
    }
}

impl AfterText {
    /// Ends the stages in order. Each one may still write to the next.
    fn end(&mut self, kept: u64, original: u64, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut rest = self.redact.then(&mut self.rest);
        if let Some((engine, omit)) = &mut self.omit {
            let mut out = StageSink { stage: &mut rest, sink: &mut *sink, error: None };
            let ended = engine.end(omit, &mut out);
            out.result(ended)?;
        }
        rest.end(sink)?;
        self.rest.end(kept, original, sink)
    }
}

impl ByteStage for AfterRedact {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        let Some((engine, fit)) = &mut self.fit else { return self.last.take(bytes, sink) };
        let mut out = StageSink { stage: &mut self.last, sink, error: None };
        let fed = engine.feed(fit, bytes, &mut out);
        let held = fit.failed();
        out.result(held.and(fed))
    }
}

impl AfterRedact {
    /// Ends the budget and then the stages after it, which get the number of items that the budget kept.
    fn end(&mut self, kept: u64, original: u64, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut kept = kept;
        if let Some((engine, fit)) = &mut self.fit {
            let mut out = StageSink { stage: &mut self.last, sink: &mut *sink, error: None };
            // The machine only ends the document. `finish` then writes what fits.
            let ended = engine.end(fit, &mut out);
            let held = fit.finish(&mut out);
            out.result(held.and(ended))?;
            self.last.exceeded = fit.is_exceeded();
            kept = fit.kept().unwrap_or(kept);
        }
        if let Some((engine, elements)) = &mut self.last.elements {
            engine.end(elements, sink)?;
        }
        // All bytes of the stage before the summary have been measured.
        self.last.size.end();
        let AfterBudget { encode, policy, size, exceeded, meter, .. } = &mut self.last;
        if let Some(encode) = encode {
            if let Some(measured) = encode.measure(policy.budget)? {
                (*size, *exceeded) = measured;
            }
            policy.check(*exceeded, self.bytes)?;
            return encode.finish(meter, sink);
        }
        let fit = self.fit.as_ref().map(|(_, fit)| fit);
        self.last.end(kept, original, fit, self.bytes, sink)
    }
}

impl ByteStage for AfterBudget {
    /// Measures the bytes and passes them on. A summary holds them until the end.
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        self.size.write(bytes);
        #[cfg(feature = "template")]
        if let Some((_, summary)) = &mut self.summary {
            return summary.write(bytes, &mut self.meter);
        }
        if let Some(encode) = &mut self.encode {
            return encode.write(bytes, &mut self.meter);
        }
        if let Some((engine, elements)) = &mut self.elements {
            return engine.feed(elements, bytes, sink).map(drop);
        }
        sink.write(bytes);
        Ok(())
    }
}

impl AfterBudget {
    /// Finishes the filtered document. `bytes`: its size.
    ///
    /// The order matters: a summary is rendered, measured, and checked against the budget before its first byte is
    /// written, so that an error leaves no output.
    #[cfg(feature = "template")]
    fn end(
        &mut self,
        kept: u64,
        original: u64,
        fit: Option<&ItemSplitter>,
        bytes: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let Self { summary: Some((engine, summary)), meter, policy, size, exceeded, error, .. } =
            self
        else {
            return self.policy.check(self.exceeded, bytes);
        };
        // A shorter form may have fewer children before the payload.
        if let Some(place) = fit.and_then(ItemSplitter::place) {
            summary.move_to(place);
        }
        let mark = fit.and_then(ItemSplitter::mark);
        let counts = SummaryCounts { totals: Totals::new(kept, original), items: kept, mark };
        let mut rendered = summary.render(engine, counts, meter)?;
        // The budget applies to the document with the summary in place of the payload. That document is measured by
        // writing it to a sink that only counts.
        if let (Some(budget), RenderedItems::Text(text)) = (policy.budget, &mut rendered) {
            *size = OutputSize::new(Some(budget));
            summary.swap(engine, text, counts, size)?;
            size.end();
            *exceeded = size.exceeds(budget);
        }
        policy.check(*exceeded, bytes)?;
        *error = summary.finish(engine, rendered, policy.only_summary, counts, meter, sink)?;
        Ok(())
    }

    /// Finishes the filtered document, which was written already. `bytes`: its size.
    #[cfg(not(feature = "template"))]
    fn end(
        &mut self,
        _: u64,
        _: u64,
        _: Option<&ItemSplitter>,
        bytes: u64,
        _: &mut dyn Sink,
    ) -> Result<(), Error> {
        self.policy.check(self.exceeded, bytes)
    }
}

/// Runs `step` with a sink that leads through the output stages, if there are any.
///
/// # Errors
/// That of an output stage, placed in the filtered document, or else that of `step`.
pub(super) fn in_front<R>(
    tail: &mut Option<OutputStages>,
    sink: &mut dyn Sink,
    step: impl FnOnce(&mut dyn Sink) -> Result<R, Error>,
) -> Result<R, Error> {
    let Some(tail) = tail else { return step(sink) };
    let mut out = StageSink { stage: &mut *tail, sink, error: None };
    let done = step(&mut out);
    match out.error {
        Some(error) => {
            tail.failed = true;
            Err(error.in_filtered())
        }
        None => done,
    }
}
