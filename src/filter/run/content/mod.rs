//! Runs that take a document as a whole: it is forwarded unchanged, or its content is extracted.
//!
//! The chain has only this one stage then: the rules on JSON do not apply, and input and output may be any text.
//!
//! | spec | run | output |
//! |---|---|---|
//! | passes every document (`spec.pass`) | `Pass` | the bytes of the document, at once |
//! | `content` | `Content` | the text of a page, of JSON fields or of plain text |
//!
//! A final newline is dropped, because it counts nowhere and drivers add their own. A newline can only be known as the
//! last one at the end, so the most recent one is held back:
//!
//! ```text
//! written    "a\n"    "\n"    "b\n"    end
//! passed     "a"      "\n"    "\nb"
//! held       "\n"     "\n"    "\n"     dropped
//! ```

mod cleaner;
mod content_run;
mod fields;

use std::sync::Arc;

use content_run::ContentRun;

use tamis_json::error::Error;
use tamis_json::sink::Sink;
use tamis_text::secrets::{SecretRules, SecretSearch, TextForm};

use super::output::facts::OutputFacts;
use super::pipe::{Next, Stage};
use crate::filter::compile::nested::WholeRules;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::report::{Report, add_counts};

/// The warning of a run without a filter.
const NO_FILTER: &str =
    "the registry has no filter of a known type for this tool: its response passes unfiltered";

/// The only stage of a program with [`WholeRules`].
#[derive(Debug)]
pub(super) struct WholeDocument {
    /// Reads the document.
    run: WholeRun,
    /// The last byte of the output so far was a newline, which is not written yet. Reset for each document.
    newline: bool,
}

/// The work of the stage.
#[derive(Debug)]
enum WholeRun {
    /// Every byte is forwarded when it arrives. Cannot fail.
    Pass {
        /// The report warns that no filter applies.
        warns: bool,
        /// Replaces credentials.
        secrets: Option<Box<PassedSecrets>>,
    },
    /// The content is extracted. Boxed, because it is much larger than the other variant.
    Content(Box<ContentRun>),
}

impl WholeDocument {
    /// Returns the run of a program that takes documents as a whole, or `None` for all other programs.
    pub(super) fn new(program: &Program, options: &CallOptions) -> Option<Self> {
        let compiled = program.compiled();
        let rules = compiled.whole.as_ref()?;
        let run = match rules {
            WholeRules::Pass { warns } => {
                let redact = compiled.output.redact.as_ref();
                let rules = redact.and_then(|redact| redact.secrets.clone());
                let rules = rules.map(|rules| rules.with_marks(options.marks()));
                let secrets = rules.map(|rules| Box::new(PassedSecrets { rules, search: None }));
                WholeRun::Pass { warns: *warns, secrets }
            }
            WholeRules::Content(rules) => {
                WholeRun::Content(Box::new(ContentRun::new(&Arc::clone(compiled), rules, options)))
            }
        };
        Some(Self { run, newline: false })
    }
}

impl Stage for WholeDocument {
    fn restart(&mut self) {
        self.newline = false;
        match &mut self.run {
            WholeRun::Pass { secrets, .. } => {
                if let Some(secrets) = secrets {
                    secrets.search = None;
                }
            }
            WholeRun::Content(run) => run.restart(),
        }
    }

    fn write(&mut self, chunk: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        let Self { run, newline } = self;
        let mut sink = FinalNewlineSink { sink: next, newline };
        match run {
            WholeRun::Pass { secrets: None, .. } => sink.write(chunk),
            WholeRun::Pass { secrets: Some(secrets), .. } => secrets.write(chunk, &mut sink),
            WholeRun::Content(run) => run.write(chunk, &mut sink)?,
        }
        Ok(())
    }

    /// Writes text that was held until the end.
    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        let Self { run, newline } = self;
        let mut sink = FinalNewlineSink { sink: next, newline };
        match run {
            WholeRun::Pass { secrets, .. } => {
                if let Some(secrets) = secrets {
                    secrets.end(&mut sink);
                }
            }
            WholeRun::Content(run) => run.end(&mut sink)?,
        }
        Ok(())
    }

    /// Adds to the report. A document that passes unfiltered counts as not filtered, with a warning if `warns` is set.
    fn report(&self, report: &mut Report, facts: &OutputFacts) {
        match &self.run {
            WholeRun::Pass { warns, secrets } => {
                if let Some(search) = secrets.as_ref().and_then(|passed| passed.search.as_ref()) {
                    add_counts(&mut report.redacted, &search.found());
                }
                report.applied = false;
                if *warns && report.error.is_none() {
                    report.fallback = Some(NO_FILTER.to_owned());
                }
            }
            WholeRun::Content(run) => run.report(report),
        }
        report.budget_result_bytes = report.budget_applied.then_some(facts.written);
    }
}

/// Replaces credentials in a document that is forwarded. Whether it is JSON is known at its first character.
#[derive(Debug)]
struct PassedSecrets {
    rules: SecretRules,
    search: Option<SecretSearch>,
}

impl PassedSecrets {
    fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        let Self { rules, search } = self;
        if search.is_none() {
            let begin = chunk.iter().position(|byte| !byte.is_ascii_whitespace());
            let Some(first) = begin.and_then(|begin| chunk.get(begin)) else {
                return sink.write(chunk);
            };
            let is_json = matches!(first, b'{' | b'[' | b'"');
            let form = if is_json { TextForm::Json } else { TextForm::Plain };
            *search = Some(rules.filter(form));
        }
        if let Some(search) = search {
            search.write(chunk, sink);
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        if let Some(search) = &mut self.search {
            search.end(sink);
        }
    }
}

/// Holds a newline back until more output follows.
struct FinalNewlineSink<'a> {
    /// The sink of the run.
    sink: &'a mut dyn Sink,
    /// The state between two calls, which the stage keeps.
    newline: &'a mut bool,
}

impl Sink for FinalNewlineSink<'_> {
    /// Writes the newline that was held back, then `bytes` without a newline at their end.
    fn write(&mut self, bytes: &[u8]) {
        let Some((last, before)) = bytes.split_last() else { return };
        if std::mem::take(self.newline) {
            self.sink.write(b"\n");
        }
        *self.newline = *last == b'\n';
        self.sink.write(if *self.newline { before } else { bytes });
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}
