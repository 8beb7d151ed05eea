//! The last stages: text filters, budgets and summaries of the filtered document.
//!
//! ```text
//! items ─▶ lines ─▶ fit ─▶ summary ─▶ sink
//! ```
//!
//! Each stage is there if the spec or the call asks for it, reads valid JSON, and writes valid JSON; none knows the rules
//! that made it. Where the payload is, the stage on items has decided before the first byte comes here.

mod budget;
mod chars;
mod fit;
mod fitting;
mod forms;
mod lexer;
#[cfg(feature = "text")]
mod lines;
mod mark;
mod notes;
mod policy;
#[cfg(feature = "template")]
mod summary;
#[cfg(test)]
mod tests;
mod way;

#[cfg(feature = "template")]
use std::sync::Arc;

use super::length::Length;
use super::options::CallOptions;
use super::program::Compiled;
use super::root::Payload;
use super::stage::{Engine, config, failed};
use crate::allowance::Allowance;
use crate::error::{Error, ErrorKind};
use crate::json::machine::Config;
use crate::limits::{Limits, Meter};
use crate::report::Report;
use crate::scan::Scanner;
use crate::sink::Sink;
#[cfg(feature = "template")]
use crate::spec::Compact;
use crate::spec::{Budget, OnOver, Spec, Whitespace};
#[cfg(feature = "template")]
use crate::template::{TemplateError, TemplatePart, Templates, Totals};
#[cfg(feature = "text")]
use crate::text::TextProgram;
#[cfg(feature = "text")]
use crate::text::rule_ops::RuleOperations;
#[cfg(feature = "tokens")]
use crate::tokens::Counter;
use fit::Fit;
#[cfg(feature = "text")]
use lines::Lines;
pub(super) use policy::Policy;
#[cfg(feature = "template")]
use summary::{Rendered, Summary};
use way::Place;

/// Bytes that are handled at once.
const PIECE: usize = 64 << 10;
/// Bytes that a token has, where tokens are not counted.
#[cfg(not(feature = "tokens"))]
const BYTES_PER_TOKEN: u64 = 4;

/// The rules for the filtered document that are compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct TailRules {
    #[cfg(feature = "text")]
    text: Option<TextProgram>,
    #[cfg(feature = "template")]
    compact: Option<Arc<Templates>>,
}

#[derive(Debug)]
pub(super) struct Tail {
    limits: Limits,
    config: Config,
    scanner: Scanner,
    policy: Policy,
    /// Whether something is done to the size of the document.
    fits: bool,
    length: Length,
    /// Those of the document that has begun.
    stages: Option<Stages>,
    /// Engines of earlier documents, to be used again.
    spare: Vec<Engine>,
    failed: bool,
}

#[derive(Debug)]
struct Stages {
    #[cfg(feature = "text")]
    lines: Option<(Engine, Lines)>,
    rest: Rest,
}

/// The stages behind the text filter.
#[derive(Debug)]
struct Rest {
    fit: Option<(Engine, Fit)>,
    last: Last,
    /// Bytes that came here: the size of the filtered document.
    bytes: u64,
}

/// The stages behind the budget.
#[derive(Debug)]
struct Last {
    #[cfg(feature = "template")]
    summary: Option<(Engine, Summary)>,
    meter: Meter,
    policy: Policy,
    /// The size of the output: of what came here, or of that with a summary in it.
    size: Size,
    /// The output is longer than its budget.
    exceeded: bool,
    error: Option<String>,
}

/// The size of a text, in what its budget is counted in.
#[derive(Debug)]
struct Size {
    bytes: u64,
    /// Counts the tokens, and how many those were.
    #[cfg(feature = "tokens")]
    counter: Option<Counter>,
    #[cfg(feature = "tokens")]
    counted: Option<u64>,
}

impl TailRules {
    /// Compiles what a spec says of the filtered document.
    pub(super) fn compile(spec: &Spec, allowance: &mut Allowance) -> Result<Self, Error> {
        #[cfg(not(any(feature = "text", feature = "template")))]
        let _ = allowance;
        if spec.whitespace == Whitespace::Keep && spec.shapes_output() {
            let message = "`whitespace: keep` goes with no text_filter, budget, compact or omitted: mark: what those write is minified";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        for (there, rule, feature) in [
            (spec.text_filter.is_some() && !cfg!(feature = "text"), "text_filter", "text"),
            (spec.compact.is_some() && !cfg!(feature = "template"), "compact", "template"),
        ] {
            if there {
                let message = format!("`{rule}` needs tamis built with the feature `{feature}`");
                return Err(Error::new(ErrorKind::Spec, message));
            }
        }
        Ok(Self {
            #[cfg(feature = "text")]
            text: match &spec.text_filter {
                None => None,
                Some(filter) => {
                    Some(TextProgram::compile_with(filter, &RuleOperations::default(), allowance)?)
                }
            },
            #[cfg(feature = "template")]
            compact: match &spec.compact {
                None => None,
                Some(compact) => Some(Arc::new(compile_compact(compact, spec.foreign, allowance)?)),
            },
        })
    }
}

impl TailRules {
    /// The same without a summary of items.
    #[cfg_attr(
        not(any(feature = "text", feature = "template")),
        expect(clippy::unused_self, reason = "a budget needs nothing compiled")
    )]
    pub(super) fn without_compact(&self) -> Self {
        Self {
            #[cfg(feature = "text")]
            text: self.text.clone(),
            #[cfg(feature = "template")]
            compact: None,
        }
    }
}

#[cfg(feature = "manifest")]
impl TailRules {
    /// A name in a header or a footer that never has a value.
    pub(super) fn unknown_name(&self, spec: &Spec) -> Option<Error> {
        let unknown = self.compact.as_ref()?.unknown()?;
        let compact = spec.compact.as_ref()?;
        Some(in_compact(&unknown, compact))
    }
}

impl Tail {
    /// The stages of a program, with the call's budget instead of its own. `None`: there are none.
    pub(super) fn new(program: &Compiled, options: &CallOptions) -> Option<Self> {
        let spec = &program.spec;
        let policy = Policy::new(spec, options);
        if !policy.applies(spec) && !spec.shapes_output() {
            return None;
        }
        let limits = options.limits_ref();
        Some(Self {
            limits: limits.clone(),
            // Stages pass minified text to each other, even if the spec of a call with a budget keeps white space.
            config: Config { keep_white: false, ..config(spec, limits, false) },
            scanner: options.scanner(),
            policy,
            fits: policy.applies(spec),
            length: Length::default(),
            stages: None,
            spare: Vec::new(),
            failed: false,
        })
    }

    /// A document begins, whose payload is known.
    pub(super) fn begin(&mut self, program: &Compiled, payload: Option<Payload>) {
        let Self { limits, config, scanner, policy, fits, length, stages, spare, failed } = self;
        *failed = false;
        length.reset();
        if let Some(earlier) = stages.take() {
            earlier.leave_engines(spare);
        }
        let mut engine = || match spare.pop() {
            Some(mut engine) => {
                engine.restart(config.clone());
                engine
            }
            None => Engine::new(config.clone(), *scanner),
        };
        let place = Place::new(&program.items.root, payload, program.items.keep_siblings);
        #[cfg(feature = "text")]
        let lines = program.tail.text.as_ref();
        #[cfg(feature = "template")]
        let has_summary = program.tail.compact.is_some();
        #[cfg(not(feature = "template"))]
        let has_summary = false;
        // A document that is too long may fit as a summary. Only the size of the output decides.
        let fit_policy =
            if has_summary { Policy { on_over: OnOver::Warn, ..*policy } } else { *policy };
        let fit = fits.then(|| (engine(), Fit::new(place.clone(), fit_policy, length, limits)));
        let last = Last {
            #[cfg(feature = "template")]
            summary: program.tail.compact.as_ref().map(|templates| {
                let summary =
                    Summary::new(templates.clone(), place.clone(), config.clone(), limits.clone());
                (engine(), summary)
            }),
            meter: Meter::default(),
            policy: *policy,
            size: Size::new(policy.budget),
            exceeded: false,
            error: None,
        };
        *stages = Some(Stages {
            #[cfg(feature = "text")]
            lines: lines.map(|text| (engine(), Lines::new(text.clone(), limits.clone()))),
            rest: Rest { fit, last, bytes: 0 },
        });
    }

    /// Text that is about to be dropped is held for a moment, at most one piece of it.
    fn write(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        bytes.chunks(PIECE).try_for_each(|piece| self.write_piece(piece, sink))
    }

    fn write_piece(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(stages) = &mut self.stages else { return Ok(()) };
        #[cfg(feature = "text")]
        if let Some((engine, lines)) = &mut stages.lines {
            let mut out = Behind { stage: &mut stages.rest, sink, error: None };
            let fed = engine.feed(lines, bytes, &mut out);
            return out.result(fed.map_err(|failure| failed(failure, &engine.machine)));
        }
        stages.rest.take(bytes, sink)
    }

    /// Where the stage in front says how long the payload is.
    pub(super) fn length(&self) -> &Length {
        &self.length
    }

    /// The document is complete: `kept` items of `original` came.
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

    /// Whether a stage failed: then what the stages in front saw depends on chunks.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Steps of all machines, and bytes that were looked at to cut strings.
    #[cfg(test)]
    pub(super) fn steps(&self) -> (u64, u64) {
        let Some(stages) = &self.stages else { return (0, 0) };
        let mut steps = 0;
        #[cfg(feature = "text")]
        {
            steps += stages.lines.as_ref().map_or(0, |(engine, _)| engine.steps());
        }
        #[cfg(feature = "template")]
        {
            steps += stages.rest.last.summary.as_ref().map_or(0, |(engine, _)| engine.steps());
        }
        match &stages.rest.fit {
            Some((engine, fit)) => (steps + engine.steps(), fit.work()),
            None => (steps, 0),
        }
    }

    pub(super) fn report(&self, report: &mut Report) {
        let Some(Stages { rest: Rest { fit, last, bytes, .. }, .. }) = &self.stages else { return };
        report.held_peak_bytes += last.meter.peak();
        if let Some((_, fit)) = fit {
            report.held_peak_bytes += fit.held_peak();
        }
        if self.failed || report.error.is_some() {
            // Nothing was decided.
            return;
        }
        report.filter_result_bytes = *bytes;
        report.compact_error.clone_from(&last.error);
        let (Some((_, fit)), Some(budget)) = (fit, self.policy.budget) else { return };
        if let Some(kept) = fit.kept() {
            report.items_kept = Some(kept);
        }
        report.budget_exceeded = last.exceeded;
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

impl Stages {
    /// The document is complete.
    fn end(&mut self, kept: u64, original: u64, sink: &mut dyn Sink) -> Result<(), Error> {
        #[cfg(feature = "text")]
        if let Some((engine, lines)) = &mut self.lines {
            let mut out = Behind { stage: &mut self.rest, sink, error: None };
            let ended = engine.end(lines, &mut out);
            out.result(ended.map_err(|failure| failed(failure, &engine.machine)))?;
        }
        self.rest.end(kept, original, sink)
    }

    fn leave_engines(self, spare: &mut Vec<Engine>) {
        #[cfg(feature = "text")]
        spare.extend(self.lines.map(|(engine, _)| engine));
        spare.extend(self.rest.fit.map(|(engine, _)| engine));
        #[cfg(feature = "template")]
        spare.extend(self.rest.last.summary.map(|(engine, _)| engine));
    }
}

/// Compiles templates. `foreign`: they are another system's, where a name that is not known is no error.
#[cfg(feature = "template")]
fn compile_compact(
    compact: &Compact,
    foreign: bool,
    allowance: &mut Allowance,
) -> Result<Templates, Error> {
    let Compact { header, item, footer } = compact;
    let compiled = Templates::compile_within(header.as_deref(), item, footer.as_deref(), allowance);
    let known = compiled.and_then(|templates| match templates.unknown().filter(|_| !foreign) {
        Some(unknown) => Err(unknown),
        None => Ok(templates),
    });
    known.map_err(|error| in_compact(&error, compact))
}

/// The error of a spec with these templates.
#[cfg(feature = "template")]
fn in_compact(error: &TemplateError, compact: &Compact) -> Error {
    let template = match error.part() {
        TemplatePart::Header => compact.header.as_deref(),
        TemplatePart::Item => Some(compact.item.as_str()),
        TemplatePart::Footer => compact.footer.as_deref(),
    };
    error.in_spec(template.unwrap_or_default())
}

/// Takes what a stage in front writes.
trait Takes {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error>;
}

impl Takes for Tail {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        self.write(bytes, sink)
    }
}

impl Takes for Rest {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        let Some((engine, fit)) = &mut self.fit else { return self.last.take(bytes, sink) };
        let mut out = Behind { stage: &mut self.last, sink, error: None };
        let fed = engine.feed(fit, bytes, &mut out);
        let held = fit.failed();
        out.result(held.and(fed.map_err(|failure| failed(failure, &engine.machine))))
    }
}

impl Rest {
    fn end(&mut self, kept: u64, original: u64, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut kept = kept;
        if let Some((engine, fit)) = &mut self.fit {
            let mut out = Behind { stage: &mut self.last, sink: &mut *sink, error: None };
            let ended = engine.end(fit, &mut out);
            let held = fit.finish(&mut out);
            out.result(held.and(ended.map_err(|failure| failed(failure, &engine.machine))))?;
            self.last.exceeded = fit.is_exceeded();
            kept = fit.kept().unwrap_or(kept);
        }
        self.last.size.end();
        let fit = self.fit.as_ref().map(|(_, fit)| fit);
        self.last.end(kept, original, fit, self.bytes, sink)
    }
}

impl Takes for Last {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        self.size.write(bytes);
        #[cfg(feature = "template")]
        if let Some((_, summary)) = &mut self.summary {
            return summary.write(bytes, &mut self.meter);
        }
        sink.write(bytes);
        Ok(())
    }
}

impl Last {
    /// The filtered document, which has so many bytes, is complete.
    #[cfg(feature = "template")]
    fn end(
        &mut self,
        kept: u64,
        original: u64,
        fit: Option<&Fit>,
        bytes: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let Self { summary: Some((engine, summary)), meter, policy, size, exceeded, error } = self
        else {
            return self.policy.check(self.exceeded, bytes);
        };
        if let Some(place) = fit.and_then(Fit::place) {
            summary.move_to(place);
        }
        let mark = fit.and_then(Fit::mark);
        let counts = summary::Counts { totals: Totals::new(kept, original), items: kept, mark };
        let mut rendered = summary.render(engine, counts, meter)?;
        if let (Some(budget), Rendered::Text(text)) = (policy.budget, &mut rendered) {
            *size = Size::new(Some(budget));
            summary.swap(engine, text, counts, size)?;
            size.end();
            *exceeded = size.exceeds(budget);
        }
        policy.check(*exceeded, bytes)?;
        *error = summary.finish(engine, rendered, counts, meter, sink)?;
        Ok(())
    }

    #[cfg(not(feature = "template"))]
    fn end(
        &mut self,
        _: u64,
        _: u64,
        _: Option<&Fit>,
        bytes: u64,
        _: &mut dyn Sink,
    ) -> Result<(), Error> {
        self.policy.check(self.exceeded, bytes)
    }
}

impl Size {
    fn new(budget: Option<Budget>) -> Self {
        #[cfg(not(feature = "tokens"))]
        let _ = budget;
        Self {
            bytes: 0,
            #[cfg(feature = "tokens")]
            counter: matches!(budget, Some(Budget::Tokens(_))).then(Counter::default),
            #[cfg(feature = "tokens")]
            counted: None,
        }
    }

    /// The text is complete.
    #[cfg_attr(not(feature = "tokens"), expect(clippy::unused_self, reason = "bytes are counted"))]
    fn end(&mut self) {
        #[cfg(feature = "tokens")]
        {
            self.counted = self.counter.as_mut().map(Counter::finish);
        }
    }

    /// Whether the text is longer than its budget.
    #[cfg(feature = "template")]
    fn exceeds(&self, budget: Budget) -> bool {
        match budget {
            Budget::Bytes(limit) => self.bytes > limit,
            #[cfg(feature = "tokens")]
            Budget::Tokens(limit) => self.counted.is_some_and(|tokens| tokens > limit),
            #[cfg(not(feature = "tokens"))]
            Budget::Tokens(limit) => self.bytes.div_ceil(BYTES_PER_TOKEN) > limit,
        }
    }
}

impl Sink for Size {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        #[cfg(feature = "tokens")]
        if let Some(counter) = &mut self.counter {
            counter.push(bytes);
        }
    }
}

/// A stage as the sink of the one in front. The first error is kept; nothing is written behind it.
struct Behind<'a, T> {
    stage: &'a mut T,
    sink: &'a mut dyn Sink,
    error: Option<Error>,
}

impl<T> Behind<'_, T> {
    /// The error of this stage, which has read only what came before one of the stage in front; else that.
    fn result<R>(self, fed: Result<R, Error>) -> Result<(), Error> {
        match self.error {
            Some(error) => Err(error),
            None => fed.map(|_| ()),
        }
    }
}

impl<T: Takes> Sink for Behind<'_, T> {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.stage.take(bytes, self.sink).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some() || self.sink.is_closed()
    }
}

/// Runs `step` with the tail, if there is one, in front of the sink.
pub(super) fn in_front<R>(
    tail: &mut Option<Tail>,
    sink: &mut dyn Sink,
    step: impl FnOnce(&mut dyn Sink) -> Result<R, Error>,
) -> Result<R, Error> {
    let Some(tail) = tail else { return step(sink) };
    let mut out = Behind { stage: &mut *tail, sink, error: None };
    let done = step(&mut out);
    match out.error {
        Some(error) => {
            tail.failed = true;
            Err(error.in_filtered())
        }
        None => done,
    }
}
