//! Rules for pages and other text: which text is extracted, and how much of it.
//!
//! Contains data only; `content` compiles and runs it. Field names are AIOS's (seed 004: `extract`, `max_tokens`), and
//! SPEC §10's (`format`).

use serde::{Deserialize, Serialize};

use tamis_text::fields::is_default;

/// The content of a document: the main text of an HTML page, fields of a JSON response, or plain text. It may be cut
/// after a paragraph, a sentence or a word. The output is text, not JSON. Needs feature `content`.
///
/// ```
/// use tamis::Spec;
/// use tamis::content::{Content, ContentFormat};
///
/// let content = Content::new().extract("title").extract("text").max_tokens(2000).format(ContentFormat::Markdown);
/// let same: Spec = serde_json::from_str(
///     r#"{"content": {"extract": ["title", "text"], "max_tokens": 2000, "format": "markdown"}}"#,
/// ).unwrap();
/// assert_eq!(same, Spec::new().content(content));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = r#"options of pages such as {"format": "text"}"#)]
pub struct Content {
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[doc(hidden)]
    pub extract: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub format: ContentFormat,
}

/// The format in which the text of a page is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentFormat {
    /// Plain text: links become their text, code is indented.
    #[default]
    Text,
    /// Markdown: headings, links, images, code, tables and quotes are marked.
    Markdown,
}

impl Content {
    /// Creates a spec that keeps all of the content, as text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Extracts the value at `path` from a JSON response, with paths as in [`Spec::select`](crate::Spec::select): from
    /// the document, or from each of its elements if it is an array. Repeat it for more values, which are written in
    /// the order of declaration. If no path is declared, or the document has none of them, the first of `content`,
    /// `text` and `body` that contains text is used.
    ///
    /// If a path is declared, it is an error if a document begins as JSON and is invalid or incomplete. Otherwise such
    /// a document is kept as text, and the report says so.
    #[must_use]
    pub fn extract(mut self, path: impl Into<String>) -> Self {
        self.extract.push(path.into());
        self
    }

    /// Limits the text to this number of tokens and adds a line with the number of omitted ones. 0 means no limit.
    #[must_use]
    pub fn max_tokens(mut self, count: u64) -> Self {
        self.max_tokens = count;
        self
    }

    /// Sets the format in which the text of a page is written. Default: [`ContentFormat::Text`].
    #[must_use]
    pub fn format(mut self, format: ContentFormat) -> Self {
        self.format = format;
        self
    }
}
