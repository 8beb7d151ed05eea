//! Runs that take a document as a whole, whatever it is: it passes, or its content is taken.
//!
//! Knows no JSON. A final newline counts nowhere: it is left out.

#[cfg(feature = "content")]
use std::sync::Arc;

#[cfg(feature = "content")]
use super::content::{ContentRules, ContentRun};
use super::options::CallOptions;
#[cfg(feature = "content")]
use super::program::Compiled;
use super::program::Program;
use crate::error::{Error, ErrorKind};
use crate::report::Report;
use crate::sink::Sink;
use crate::spec::{Content, Spec};

/// The warning of a run without a filter.
const NO_FILTER: &str =
    "the registry has no filter of a known type for this tool: its full response passes";

/// What a spec says of the document as a whole, compiled.
#[derive(Debug)]
pub(super) enum WholeRules {
    /// The document passes. `warns`: for there is no filter, which is worth a warning.
    Pass { warns: bool },
    #[cfg(feature = "content")]
    Content(Box<ContentRules>),
}

#[derive(Debug)]
pub(super) struct Whole {
    run: Run,
    /// A newline came, and nothing behind it.
    newline: bool,
}

#[derive(Debug)]
enum Run {
    Pass {
        warns: bool,
    },
    #[cfg(feature = "content")]
    Content(Box<ContentRun>),
}

impl WholeRules {
    /// `None`: the document is JSON, and has parts.
    pub(super) fn compile(spec: &Spec) -> Result<Option<Self>, Error> {
        if spec.pass {
            return Ok(Some(Self::Pass { warns: true }));
        }
        let Some(content) = &spec.content else { return Ok(None) };
        let alone = Spec::new().content(content.clone());
        let alone = Spec {
            allow_raw: spec.allow_raw,
            on_error: spec.on_error,
            validation: spec.validation,
            whitespace: spec.whitespace,
            foreign: spec.foreign,
            ..alone
        };
        if *spec != alone {
            let message =
                "`content` goes with no other rule: its output is text; leave the others out";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        Self::content(content).map(Some)
    }

    #[cfg(feature = "content")]
    fn content(content: &Content) -> Result<Self, Error> {
        Ok(Self::Content(Box::new(ContentRules::compile(content)?)))
    }

    #[cfg(not(feature = "content"))]
    fn content(_: &Content) -> Result<Self, Error> {
        let message = "`content` needs tamis built with the feature `content`";
        Err(Error::new(ErrorKind::Spec, message))
    }
}

#[cfg(feature = "content")]
impl Compiled {
    pub(super) fn content_rules(&self) -> Option<&ContentRules> {
        match &self.whole {
            Some(WholeRules::Content(rules)) => Some(rules),
            _ => None,
        }
    }
}

impl Program {
    /// Whether the document may be any text, and the output is text too: the program takes a document's
    /// [`Content`](crate::Content), or lets it pass as it is. All others read and write JSON.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.compiled().whole.is_some()
    }
}

impl Whole {
    /// The run of a program that takes documents as a whole.
    #[cfg_attr(
        not(feature = "content"),
        expect(unused_variables, reason = "a document that passes has no options")
    )]
    pub(super) fn new(program: &Program, options: &CallOptions) -> Option<Self> {
        let compiled = program.compiled();
        let rules = compiled.whole.as_ref()?;
        let run = match rules {
            WholeRules::Pass { warns } => Run::Pass { warns: *warns },
            #[cfg(feature = "content")]
            WholeRules::Content(rules) => {
                Run::Content(Box::new(ContentRun::new(&Arc::clone(compiled), rules, options)))
            }
        };
        Some(Self { run, newline: false })
    }

    pub(super) fn restart(&mut self) {
        self.newline = false;
        match &mut self.run {
            Run::Pass { .. } => {}
            #[cfg(feature = "content")]
            Run::Content(run) => run.restart(),
        }
    }

    pub(super) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { run, newline } = self;
        let mut sink = Unended { sink, newline };
        match run {
            Run::Pass { .. } => sink.write(chunk),
            #[cfg(feature = "content")]
            Run::Content(run) => run.write(chunk, &mut sink)?,
        }
        Ok(())
    }

    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { run, newline } = self;
        let mut sink = Unended { sink, newline };
        match run {
            Run::Pass { .. } => _ = &mut sink,
            #[cfg(feature = "content")]
            Run::Content(run) => run.end(&mut sink)?,
        }
        Ok(())
    }

    pub(super) fn report(&self, report: &mut Report) {
        match &self.run {
            Run::Pass { warns } => {
                report.filter_applied = false;
                if *warns && report.error.is_none() {
                    report.filter_error = Some(NO_FILTER.to_owned());
                }
            }
            #[cfg(feature = "content")]
            Run::Content(run) => run.report(report),
        }
    }
}

/// Keeps a newline until something follows.
struct Unended<'a> {
    sink: &'a mut dyn Sink,
    newline: &'a mut bool,
}

impl Sink for Unended<'_> {
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
