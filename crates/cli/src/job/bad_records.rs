//! Reports lines and documents of an input that are bad: the first ones each, and how many there are.
//!
//! This module must not depend on how they are found.

use std::fmt::Display;

use tamis::{BadLines, Error, ErrorKind};

use crate::console::Console;
use crate::console::remedies::{InDocument, InEvent, InLine, advised};
use crate::files::head::{self, Head};

/// The number of bad records that are reported one by one.
const REPORTED: u64 = 20;

/// The bad records of an input.
pub(crate) struct BadRecords<'a> {
    console: &'a Console,
    name: String,
    head: Head,
    treatment: BadLines,
    failed: u64,
    /// The number of lines that were skipped or passed, and the number of the first one.
    not_json: u64,
    first: u64,
}

impl<'a> BadRecords<'a> {
    /// Creates the reports about the input `name`, which begins with `head`.
    pub(crate) fn new(console: &'a Console, name: String, head: Head, treatment: BadLines) -> Self {
        Self { console, name, head, treatment, failed: 0, not_json: 0, first: 0 }
    }

    /// Takes the error of a line.
    pub(crate) fn line(&mut self, number: u64, error: &Error) {
        let is_json = !matches!(
            error.kind(),
            ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding
        );
        if self.treatment == BadLines::Fail || is_json {
            self.report(InLine(number, error), Some(error));
            return;
        }
        if self.not_json == 0 {
            self.first = number;
        }
        self.not_json += 1;
    }

    /// Takes the error of a document.
    pub(crate) fn document(&mut self, number: u64, error: &Error) {
        self.report(InDocument(number, error), Some(error));
    }

    /// Takes the error of an event.
    pub(crate) fn event(&mut self, number: u64, error: &Error) {
        self.report(InEvent(number, error), None);
    }

    /// Reports a bad record. `error`: the first bytes of the input may explain it.
    fn report(&mut self, message: impl Display, error: Option<&Error>) {
        self.failed += 1;
        if self.failed > REPORTED {
            return;
        }
        let is_explained = self.failed == 1 && error.is_some_and(head::explains);
        let advice = self.head.advice().filter(|_| is_explained);
        match advice {
            Some(advice) => self.console.say(&self.name, advised(message, advice)),
            None => self.console.say(&self.name, message),
        }
    }

    /// Reports how many records were not reported one by one.
    pub(crate) fn conclude(&self, unit: &str) {
        if let Some(more) = self.failed.checked_sub(REPORTED).filter(|more| *more > 0) {
            let s = if more == 1 { "" } else { "s" };
            // Events and documents that follow each other cannot be skipped.
            let advice = if unit == "line" {
                " (--bad-lines skip leaves them out, pass keeps them)"
            } else {
                ""
            };
            self.console.say(&self.name, format_args!("{more} more bad {unit}{s}{advice}"));
        }
        let what = if self.treatment == BadLines::Pass { "passed" } else { "skipped" };
        let first = self.first;
        match self.not_json {
            0 => {}
            1 => self.console.warn(&self.name, format_args!("line {first} is not JSON: {what}")),
            count => self.console.warn(
                &self.name,
                format_args!("{count} lines are not JSON, the first of them line {first}: {what}"),
            ),
        }
    }
}
