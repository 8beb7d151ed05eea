//! Why a template was refused, or a rendering failed, and where in the template.

use std::fmt;

use super::lex::Fault;
use crate::error::{Error, ErrorKind, RulePlace};
use crate::excerpt::Excerpt;

/// One of the three templates of `compact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemplatePart {
    /// What stands in front of the items.
    Header,
    /// What each item becomes.
    Item,
    /// What stands behind the items.
    Footer,
}

impl TemplatePart {
    /// The part as a manifest names it.
    ///
    /// ```
    /// assert_eq!(tamis::TemplatePart::Header.as_str(), "header");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Item => "item",
            Self::Footer => "footer",
        }
    }
}

/// The class of a [`TemplateError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TemplateErrorKind {
    /// The template is not one.
    Parse,
    /// The template does with the data what cannot be done: `index` past an end, a comparison of a number with text.
    Render,
    /// The item is not JSON.
    Data,
    /// The text, the work, the template or the item is larger or deeper than allowed.
    Limit,
}

/// Why a template was refused, or a rendering failed.
///
/// `Display` gives one line, `item:1:12: there is no function "upper"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    kind: TemplateErrorKind,
    part: TemplatePart,
    place: Option<(usize, usize)>,
    message: String,
}

impl TemplateError {
    pub(super) fn new(
        kind: TemplateErrorKind,
        part: TemplatePart,
        message: impl Into<String>,
    ) -> Self {
        // One line, whatever the engine says.
        let message = message.into().replace(['\n', '\r'], " ");
        Self { kind, part, place: None, message }
    }

    /// At a byte of the template.
    pub(super) fn at(mut self, template: &str, at: usize) -> Self {
        let before = template.get(..at).unwrap_or(template);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.place = Some((line, column));
        self
    }

    /// At the same place, the limit that was behind it.
    pub(super) fn into_limit(self, message: &str) -> Self {
        Self { kind: TemplateErrorKind::Limit, message: message.to_owned(), ..self }
    }

    pub(super) fn fault(part: TemplatePart, template: &str, fault: Fault) -> Self {
        let kind = if fault.is_limit { TemplateErrorKind::Limit } else { TemplateErrorKind::Parse };
        Self::new(kind, part, fault.message).at(template, fault.at)
    }

    /// The error of a spec that has this template, with its place in it.
    pub(crate) fn in_spec(&self, template: &str) -> Error {
        let line = self.line().unwrap_or(1);
        let begin: usize =
            template.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let text = template.get(begin..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let before = text.chars().take(self.column().unwrap_or(1).saturating_sub(1));
        let inside = before.map(char::len_utf8).sum();
        let rule = self.part.as_str();
        let message = format!("{rule}: {}", self.message);
        let place = RulePlace { rule, entry: 0, is_key: false, at: begin + inside, message };
        let error = Error::new(ErrorKind::Spec, format!("compact: {self}"));
        error.with_excerpt(Excerpt::new(text, inside).caret()).in_rule(place)
    }

    /// The class.
    #[must_use]
    pub fn kind(&self) -> TemplateErrorKind {
        self.kind
    }

    /// The template that it is about.
    #[must_use]
    pub fn part(&self) -> TemplatePart {
        self.part
    }

    /// The line of the template, counted from 1, if the error has a place in it.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.map(|(line, _)| line)
    }

    /// The character of that line, counted from 1.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.place.map(|(_, column)| column)
    }

    /// What is wrong, without its place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.part.as_str())?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for TemplateError {}
