//! A template, run by gtmpl-ng: the one file that knows it runs anything.
//!
//! gtmpl-ng 1.0 (MIT, no `unsafe` of its own; brings gtmpl_value_ng, anyhow, thiserror, lazy_static and
//! unicode-general-category) parses and walks Go templates. It gets them as `rewrite` spells them and calls what `functions` registers. Here its limits are set and its errors
//! brought back to the places of the template as written.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gtmpl_ng::{Context, ExecError, Limits, ParseError, Value};

use super::error::{TemplateError, TemplateErrorKind, TemplatePart};
use super::functions;
use super::meter::{Metered, keep};
use super::reads::Reads;
use super::rewrite::{Rewritten, rewrite};
use crate::regex_budget::RegexBudget;

/// Turns of loops and calls of templates in one rendering.
const MAX_TURNS: usize = 1_000_000;
/// What one function may return.
const MAX_RESULT: usize = 64 << 20;

/// What a template reads: its `.`.
pub(super) struct Data(Context);

impl Data {
    pub(super) fn new(value: Value) -> Self {
        Self(Context::from(value))
    }
}

/// A compiled template. What renders it is the implementation's affair.
pub(super) trait Template: Send + Sync {
    /// Appends the text of `data`, at most `room` bytes of it. On an error `out` is as it was.
    fn render(&self, data: &Data, room: usize, out: &mut Vec<u8>) -> Result<(), TemplateError>;

    /// It names `Original` or `Omitted`.
    fn names_cut(&self) -> bool;

    /// The members of its data that it can read.
    fn reads(&self) -> &Reads;

    /// A header or a footer names what it does not have: that always prints as no value.
    fn names_unknown(&self) -> Option<TemplateError>;
}

/// A template that gtmpl-ng runs.
pub(super) struct Engine {
    part: TemplatePart,
    source: String,
    rewritten: Rewritten,
    template: gtmpl_ng::Template,
}

impl Engine {
    pub(super) fn compile(
        part: TemplatePart,
        source: &str,
        allowance: &mut RegexBudget,
    ) -> Result<Self, TemplateError> {
        let rewritten =
            rewrite(source).map_err(|fault| TemplateError::fault(part, source, fault))?;
        allowance.take_template(rewritten.memory).map_err(|message| {
            TemplateError::new(TemplateErrorKind::Limit, part, message).at(source, 0)
        })?;
        let limits = Limits::unlimited()
            .with_iterations(MAX_TURNS)
            .with_total_iterations(MAX_TURNS)
            .with_function_output(MAX_RESULT);
        let mut template = gtmpl_ng::Template::with_limits(limits);
        functions::register(&mut template);
        // The parser is not ours, and starts a thread, which a system may refuse: no panic of it shall be one of ours.
        let parsed = catch_unwind(AssertUnwindSafe(|| template.parse(rewritten.text.as_str())));
        let engine = Self { part, source: source.to_owned(), rewritten, template };
        match parsed {
            Ok(Ok(())) => Ok(engine),
            Ok(Err(error)) => Err(engine.refused(&error)),
            Err(_) => Err(engine.error(TemplateErrorKind::Parse, "the template cannot be read")),
        }
    }

    fn error(&self, kind: TemplateErrorKind, message: impl Into<String>) -> TemplateError {
        TemplateError::new(kind, self.part, message)
    }

    fn placed(&self, error: TemplateError, line: usize, column: usize) -> TemplateError {
        error.at(&self.source, self.rewritten.origin(line, column))
    }

    fn refused(&self, error: &ParseError) -> TemplateError {
        match error {
            ParseError::WithContext(context, message) => {
                let error = self.error(TemplateErrorKind::Parse, message.as_str());
                self.placed(error, context.line, context.col)
            }
            other => self.error(TemplateErrorKind::Parse, other.to_string()),
        }
    }

    fn failed(&self, error: &ExecError) -> TemplateError {
        let Some(error) = error.as_structured() else {
            return self.error(TemplateErrorKind::Render, error.to_string());
        };
        let message = &error.message;
        // The engine has only its words left for which of its limits it was.
        let is_limit = ["exceeded the maximum", "the render would run more", "range over "]
            .iter()
            .any(|start| message.starts_with(start))
            || message.starts_with("a function produced a value");
        let kind = if is_limit { TemplateErrorKind::Limit } else { TemplateErrorKind::Render };
        self.placed(self.error(kind, message.as_str()), error.context.line, error.context.col)
    }
}

impl Template for Engine {
    fn render(&self, data: &Data, room: usize, out: &mut Vec<u8>) -> Result<(), TemplateError> {
        let before = out.len();
        let metered = Metered::start();
        let mut bounded = Bounded { out, room, is_full: false };
        let run = catch_unwind(AssertUnwindSafe(|| self.template.execute(&mut bounded, &data.0)));
        let is_full = bounded.is_full;
        let error = match run {
            Ok(Ok(())) => return Ok(()),
            _ if is_full => self.error(
                TemplateErrorKind::Limit,
                format!("the rendered text has more than the {room} bytes that are left for it"),
            ),
            Ok(Err(error)) if metered.is_exceeded() => self.failed(&error).into_limit(
                "the template copies too much; name the members that it needs, not what holds them",
            ),
            Ok(Err(error)) => self.failed(&error),
            Err(_) => self.error(TemplateErrorKind::Render, "the template cannot be rendered"),
        };
        out.truncate(before);
        Err(error)
    }

    fn names_cut(&self) -> bool {
        self.rewritten.names_cut
    }

    fn reads(&self) -> &Reads {
        &self.rewritten.reads
    }

    fn names_unknown(&self) -> Option<TemplateError> {
        let (named, more) = match self.part {
            TemplatePart::Header => (&self.rewritten.other, ""),
            TemplatePart::Footer => (&self.rewritten.unknown, ", .Remaining"),
            TemplatePart::Item => return None,
        };
        let (at, name) = named.as_ref()?;
        let part = self.part.as_str();
        let message =
            format!("a {part} has no `.{name}`; it has .Total, .Count, .Original, .Omitted{more}");
        Some(self.error(TemplateErrorKind::Parse, message).at(&self.source, *at))
    }
}

/// Takes text until there is no room.
struct Bounded<'o> {
    out: &'o mut Vec<u8>,
    room: usize,
    is_full: bool,
}

impl io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.room.checked_sub(bytes.len()) {
            // Text and copies together are what is in memory.
            Some(_) if !keep(bytes.len() as u64) => Err(io::ErrorKind::StorageFull.into()),
            Some(room) => {
                self.room = room;
                self.out.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            None => {
                self.is_full = true;
                Err(io::ErrorKind::StorageFull.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
