//! The stages of a program in order: the document, the items of its payload, and the output. Each stage reads what
//! the previous one writes.
//!
//! ```text
//! input ─▶ document: extract, retain, patches ─▶ payload: root, items ─▶ output: text_filter, budget, compact ─▶ sink
//! input ─▶ whole: content, or a document that is taken as a whole ─▶ sink
//! input ─▶ strings: extract, json_strings ─▶ a run of the other rules ─▶ sink
//! ```
//!
//! A stage without rules is left out, unless no other stage is left. Each stage has a machine of its own, so a document
//! with rules of two kinds is scanned twice.
//!
//! | the program has rules on | `document` | `items` |
//! |---|---|---|
//! | the document only | reads the input and writes the output | – |
//! | items or the output only | – | reads the input and writes the output |
//! | both | reads the input | reads what `document` writes |
//! | neither | copies the input | – |
//!
//! Example: `extract: /result`, `select: id` and `{"result":[{"id":1,"x":2}]}`. The document stage writes
//! `[{"id":1,"x":2}]` piece by piece. Each piece is fed to the payload stage at once, which writes `[{"id":1}]`.
//! Errors of the payload stage have offsets in the text between the two stages, and they note that.

use tamis_json::error::Error;
use tamis_json::limits::Meter;
use tamis_json::sink::Sink;

use super::content::WholeDocument;
use super::document::DocumentStage;
use super::inner_run::{InnerRun, NewRun};
use super::json_strings::JsonStringChain;
use super::output::OutputStages;
use super::payload::PayloadStage;
use super::root::Payload;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::report::Report;

/// The stages of one run. The output stages are part of `items`.
#[derive(Debug)]
pub(super) struct StageChain {
    /// Present if the program has rules on the document, or no other stage.
    document: Option<DocumentStage>,
    /// Present if a rule applies to items or to the output.
    items: Option<PayloadStage>,
    /// Used instead of the other two: the document is taken as a whole.
    whole: Option<WholeDocument>,
    /// Used instead of all others: JSON in strings is filtered before the other rules.
    strings: Option<Box<JsonStringChain>>,
}

impl StageChain {
    /// Creates the stages for one call. `payload` is the place of the payload, if a first pass has found it.
    pub(super) fn new(
        program: &Program,
        options: &CallOptions,
        payload: Option<Payload>,
        new_run: NewRun,
    ) -> Self {
        if let Some(whole) = WholeDocument::new(program, options) {
            return Self { document: None, items: None, whole: Some(whole), strings: None };
        }
        if let Some(strings) = JsonStringChain::new(program, options, new_run) {
            let strings = Some(Box::new(strings));
            return Self { document: None, items: None, whole: None, strings };
        }
        let compiled = program.compiled();
        let scanner = options.scanner();
        let limits = options.limits();
        let tail = OutputStages::new(compiled, options);
        let items = (!compiled.items.idle || tail.is_some())
            .then(|| PayloadStage::new(program, options, scanner, payload, tail));
        let rules = compiled.retain.is_some() || compiled.patches.is_some();
        let extracts = compiled.extract.is_some();
        let document = (rules || extracts || items.is_none())
            .then(|| DocumentStage::new(compiled, limits, scanner));
        Self { document, items, whole: None, strings: None }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        if let Some(document) = &mut self.document {
            document.restart();
        }
        if let Some(items) = &mut self.items {
            items.restart();
        }
        if let Some(whole) = &mut self.whole {
            whole.restart();
        }
        if let Some(strings) = &mut self.strings {
            strings.restart();
        }
    }

    /// Accounts for bytes before the document, which only count for offsets.
    pub(super) fn skip_prefix(&mut self, bytes: u64) {
        if let Some(strings) = &mut self.strings {
            return strings.skip_prefix(bytes);
        }
        match (&mut self.document, &mut self.items) {
            (Some(document), _) => document.skip_prefix(bytes),
            (None, Some(items)) => items.skip_prefix(bytes),
            (None, None) => {}
        }
    }

    /// Returns the stage on the payload if it is the first one. Only then can it read the document twice.
    pub(super) fn first_items(&mut self) -> Option<&mut PayloadStage> {
        if self.document.is_some() { None } else { self.items.as_mut() }
    }

    /// Returns whether the stage that reads the document still looks for its payload. Only then can a first pass find
    /// the payload.
    pub(super) fn looks_first(&self) -> bool {
        self.document.is_none() && self.items.as_ref().is_some_and(PayloadStage::is_looking)
    }

    /// Returns the stage on the payload.
    pub(super) fn items(&self) -> Option<&PayloadStage> {
        match &self.strings {
            Some(strings) => strings.rest()?.items(),
            None => self.items.as_ref(),
        }
    }

    /// Reads the next bytes. Returns the offset at which the stages stopped, if they did. If both stages are present,
    /// the offset is that in the output of the document stage, and so is the size in the report.
    ///
    /// # Errors
    /// The input is invalid, a rule fails, or too much has to be held. An error of the payload stage precedes one of
    /// the document stage in the same chunk, because it has only read what was written before that.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<Option<u64>, Error> {
        let Self { document, items, whole, strings } = self;
        if let Some(whole) = whole {
            return whole.write(bytes, sink).map(|()| None);
        }
        if let Some(strings) = strings {
            return strings.write(bytes, meter, sink);
        }
        match (document, items) {
            // Not reached: without a payload stage there is a document stage.
            (None, None) => Ok(None),
            (None, Some(items)) => {
                items.write(bytes, meter, sink)?;
                Ok(items.is_stopped().then(|| items.offset()))
            }
            (Some(document), None) => document.write(bytes, sink).map(|()| None),
            (Some(document), Some(items)) => {
                let mut behind = ItemsSink { items, meter, sink, error: None };
                let fed = document.write(bytes, &mut behind);
                // The second stage has only read what came before the first one's error.
                if let Some(error) = behind.error {
                    return Err(error.in_what_was_left());
                }
                if items.is_stopped() {
                    return Ok(Some(items.offset()));
                }
                fed.map(|()| None).inspect_err(|_| items.fail_before())
            }
        }
    }

    /// Ends the document in each stage, in their order. The end of the first stage may still write, so the second one
    /// ends after it.
    ///
    /// # Errors
    /// The document is incomplete, or a rule fails at its end.
    pub(super) fn end(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { document, items, whole, strings } = self;
        if let Some(whole) = whole {
            return whole.end(sink);
        }
        if let Some(strings) = strings {
            return strings.end(meter, sink);
        }
        match (document, items) {
            (None, None) => Ok(()),
            (None, Some(items)) => items.end(meter, sink),
            (Some(document), None) => document.end(sink),
            (Some(document), Some(items)) => {
                let mut behind = ItemsSink { items, meter, sink, error: None };
                let ended = document.end(&mut behind);
                let ItemsSink { items, meter, sink, error } = behind;
                if let Some(error) = error {
                    return Err(error.in_what_was_left());
                }
                ended.inspect_err(|_| items.fail_before())?;
                items.end(meter, sink).map_err(Error::in_what_was_left)
            }
        }
    }

    /// Accounts for an error of a stage before this chain.
    pub(super) fn fail_before(&mut self) {
        if let Some(items) = self.first_items() {
            items.fail_before();
        }
    }

    /// Returns the run of the rules after `json_strings`.
    pub(super) fn after_strings(&self) -> Option<&dyn InnerRun> {
        self.strings.as_ref()?.rest()
    }

    /// Adds to the report. `written`: bytes of the output.
    pub(super) fn report(&self, report: &mut Report, written: u64) {
        if let Some(strings) = &self.strings {
            return strings.report(report);
        }
        if let Some(whole) = &self.whole {
            whole.report(report);
            report.budget_result_bytes = report.budget_applied.then_some(written);
        }
        if let Some(document) = &self.document {
            document.report(report);
        }
        // A failure of the patches is reported even if the rules on items miss as well.
        let passed = report.filter_error.take();
        if let Some(items) = &self.items {
            items.report(report);
        }
        report.filter_error = match (passed, report.filter_error.take()) {
            (Some(passed), Some(missed)) => Some(format!("{passed}; {missed}")),
            (passed, missed) => passed.or(missed),
        };
    }

    /// Returns the steps of all machines.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        let document = self.document.as_ref().map_or(0, DocumentStage::steps)
            + self.strings.as_ref().map_or(0, |strings| strings.steps());
        document + self.items.as_ref().map_or(0, PayloadStage::steps)
    }
}

/// The stage on the payload as the sink of the stage on the document. After an error of that stage further bytes are
/// ignored, and the sink is closed, so that the first stage may stop.
struct ItemsSink<'a> {
    items: &'a mut PayloadStage,
    meter: &'a mut Meter,
    sink: &'a mut dyn Sink,
    /// The first error of the payload stage. A sink cannot return it, so the chain does after the call.
    error: Option<Error>,
}

impl Sink for ItemsSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.items.write(bytes, self.meter, self.sink).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some() || self.items.is_stopped()
    }
}
