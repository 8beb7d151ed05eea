//! The error of a `gateway.yaml`, with the place in the file.

use std::fmt;
use std::ops::Range;

use serde_saphyr::options::DuplicateKeyPolicy;

use super::places::{Place, PlacedError};

/// The most characters of a source line that are shown.
const SHOWN: usize = 120;

/// A problem of a `gateway.yaml`: line, column, message and the line itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteError {
    file: String,
    /// Line and column, both from 1. `None` if the whole file is meant.
    place: Option<(usize, usize)>,
    message: String,
    source_line: String,
}

impl RouteError {
    /// Returns the line, from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.map(|(line, _)| line)
    }

    /// Returns the column in characters, from 1.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.place.map(|(_, column)| column)
    }

    /// Returns what was found and what was expected.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            message: message.into(),
            source_line: String::new(),
        }
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((line, column)) = self.place else {
            return write!(f, "{}: {}", self.file, self.message);
        };
        write!(f, "{}:{line}:{column}: {}", self.file, self.message)?;
        let start = column.saturating_sub(1);
        // A long line is cut before the place.
        let from = start.saturating_sub(SHOWN / 2);
        let shown: String = self.source_line.chars().skip(from).take(SHOWN).collect();
        write!(f, "\n  {shown}\n  {}^", " ".repeat(start - from))
    }
}

impl std::error::Error for RouteError {}

/// The text of a file, which finds the line of a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceText<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl SourceText<'_> {
    /// Returns an error at a place of the file.
    pub(super) fn error(&self, at: Place, message: impl Into<String>) -> RouteError {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (line, column) = (number(at.line), number(at.column));
        if line == 0 {
            return RouteError::of_file(self.file, message);
        }
        let source = self.text.lines().nth(line - 1).unwrap_or_default();
        RouteError {
            file: self.file.to_owned(),
            place: Some((line, column.clamp(1, source.chars().count() + 1))),
            message: message.into(),
            source_line: source.replace('\t', " "),
        }
    }

    /// Converts an error about a value.
    pub(super) fn of_value(&self, error: PlacedError) -> RouteError {
        self.error(error.at.unwrap_or(Place::UNKNOWN), error.message)
    }

    /// Converts an error of the parser.
    pub(super) fn of_syntax(&self, error: &serde_saphyr::Error) -> RouteError {
        let error = error.without_snippet();
        let message = match error {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("the key `{key}` is written twice")
            }
            serde_saphyr::Error::DuplicateMappingKey { .. } => "a key is written twice".to_owned(),
            serde_saphyr::Error::MultipleDocuments { .. } => {
                "expected one document, so no line `---` after the first key".to_owned()
            }
            serde_saphyr::Error::Eof { .. } => {
                "the file is empty or incomplete, expected `version: 1`".to_owned()
            }
            serde_saphyr::Error::UnknownAnchor { .. } => {
                "an alias (`*NAME`) without its anchor (`&NAME`)".to_owned()
            }
            serde_saphyr::Error::InvalidBooleanStrict { .. } => {
                "expected `true` or `false`".to_owned()
            }
            serde_saphyr::Error::InvalidScalar { ty, .. } => match *ty {
                "bool" => "expected `true` or `false`".to_owned(),
                "f32" | "f64" => "expected a number".to_owned(),
                _ => "expected a whole number".to_owned(),
            },
            serde_saphyr::Error::NullIntoString { .. } => {
                "expected a text, not an empty value".to_owned()
            }
            _ => plain(&error.to_string()),
        };
        match error.location() {
            Some(at) => self.error(at.into(), message),
            None => RouteError::of_file(self.file, message),
        }
    }
}

/// How the file is parsed.
pub(super) fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    }
}

/// Returns the first line of the parser's message, without the place.
fn plain(text: &str) -> String {
    let first = text.lines().next().unwrap_or("it cannot be read");
    let marks = [" at line ", " (line "];
    let end = marks.iter().filter_map(|mark| first.find(mark)).min().unwrap_or(first.len());
    let cut: Range<usize> = 0..end;
    first.get(cut).unwrap_or(first).chars().take(400).collect()
}
