//! What is declared for pages and other text: which text is taken, and how much of it.
//!
//! Data alone; `content` does it. Field names are AIOS's (seed 004: `extract`, `max_tokens`), and SPEC §10's (`format`).

use serde::{Deserialize, Serialize};

use super::is_default;

/// The content of a document: the main text of an HTML page, fields of a JSON answer, or plain text as it is; cut behind a
/// paragraph, a sentence or a word. The output is text, not JSON. Feature `content` does it.
///
/// ```
/// use tamis::{Content, ContentFormat, Spec};
///
/// let content = Content::new().extract("title").extract("text").max_tokens(2000).format(ContentFormat::Markdown);
/// let same: Spec = serde_json::from_str(
///     r#"{"content": {"extract": ["title", "text"], "max_tokens": 2000, "format": "markdown"}}"#,
/// ).unwrap();
/// assert_eq!(same, Spec::new().content(content));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Content {
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) extract: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) format: ContentFormat,
}

/// What the text of a page is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentFormat {
    /// Text: links are their text, code is indented.
    #[default]
    Text,
    /// Markdown: headings, links, images, code, tables and quotes are marked.
    Markdown,
}

impl Content {
    /// All of the content, as text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Of a JSON answer, takes the value at `path`, as in [`Spec::select`](crate::Spec::select), of the document, or of each
    /// of its elements if it is an array. Repeat it for more; they come in the order in which they are declared. Where none
    /// of them is there, or none is declared, the first of `content`, `text` and `body` that has text counts.
    ///
    /// A document that begins as JSON and is broken or cut off is an error, if a path is declared; else it is kept as text, and
    /// the report says so.
    #[must_use]
    pub fn extract(mut self, path: impl Into<String>) -> Self {
        self.extract.push(path.into());
        self
    }

    /// At most so many tokens are left, and a line that says how many were left out. 0 is no limit.
    #[must_use]
    pub fn max_tokens(mut self, count: u64) -> Self {
        self.max_tokens = count;
        self
    }

    /// What the text of a page is written as. Default: [`ContentFormat::Text`].
    #[must_use]
    pub fn format(mut self, format: ContentFormat) -> Self {
        self.format = format;
        self
    }
}
