//! The error of a template that cannot be compiled or rendered.

use std::fmt;

use tamis_json::error::{Error, ErrorKind, RulePlace};
use tamis_json::excerpt::Excerpt;

use super::lex::TemplateFault;

/// One of the three templates of `compact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemplatePart {
    /// The text before the items.
    Header,
    /// The text of each item.
    Item,
    /// The text after the items.
    Footer,
}

impl TemplatePart {
    /// Returns the name of the part in a manifest.
    ///
    /// ```
    /// assert_eq!(tamis::template::TemplatePart::Header.as_str(), "header");
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
    /// The template is not valid.
    Parse,
    /// The template cannot be rendered for this data: `index` out of range, a comparison of a number with text.
    Render,
    /// The item is not JSON.
    Data,
    /// The text, the work, the template or the item is larger or deeper than allowed.
    Limit,
}

/// A template that cannot be compiled or rendered.
///
/// `Display` writes one line, such as `item:1:12: there is no function "upper"`.
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
        // Names and texts of the template may have line breaks.
        let message = message.into().replace(['\n', '\r'], " ");
        Self { kind, part, place: None, message }
    }

    /// Adds the place: a byte of the template.
    pub(super) fn at(mut self, template: &str, at: usize) -> Self {
        let before = template.get(..at).unwrap_or(template);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.place = Some((line, column));
        self
    }

    pub(super) fn fault(part: TemplatePart, template: &str, fault: TemplateFault) -> Self {
        let kind = if fault.is_limit { TemplateErrorKind::Limit } else { TemplateErrorKind::Parse };
        Self::new(kind, part, fault.message).at(template, fault.at)
    }

    /// Returns the error of a spec that has this template, with the place in the template.
    pub fn in_spec(&self, template: &str) -> Error {
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

    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> TemplateErrorKind {
        self.kind
    }

    /// Returns the template that failed.
    #[must_use]
    pub fn part(&self) -> TemplatePart {
        self.part
    }

    /// Returns the line of the template, counted from 1, if the error has a place in it.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.map(|(line, _)| line)
    }

    /// Returns the character of that line, counted from 1.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.place.map(|(_, column)| column)
    }

    /// Returns the message without the place.
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
