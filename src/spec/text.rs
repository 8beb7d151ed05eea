//! What is declared for plain text: operations on lines.
//!
//! Data alone; `text` compiles and runs it. Field names are kimbap's (`text_filter`).

use serde::{Deserialize, Serialize};

use super::is_default;

/// Operations on the lines of a text, for output that is not JSON. They run in the order of the methods below, whatever
/// the order in which they were declared.
///
/// Build it in code, or deserialise it: field names are those of the methods. Feature `text` compiles and runs it.
///
/// ```
/// use tamis::TextFilter;
///
/// let filter = TextFilter::new()
///     .strip_ansi(true)
///     .strip_lines_matching("^npm warn")
///     .dedup(true)
///     .max_lines(100)
///     .on_empty("nothing to report");
/// let same: TextFilter = serde_json::from_str(
///     r#"{"strip_ansi": true, "strip_lines_matching": ["^npm warn"], "dedup": true, "max_lines": 100,
///         "on_empty": "nothing to report"}"#,
/// ).unwrap();
/// assert_eq!(same, filter);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TextFilter {
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) strip_ansi: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strip_lines_matching: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_lines_matching: Option<Vec<String>>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) dedup: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) max_lines: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_empty: Option<String>,
}

impl TextFilter {
    /// No operations: the text as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves what a terminal would show: escape sequences (ECMA-48: CSI, OSC, DCS, SOS, PM, APC and the short ones) go,
    /// and of a line that was written over after a carriage return the last text stays: `10 %\r100 %` is `100 %`.
    ///
    /// A sequence that is not closed ends at the end of its line at the latest. Carriage returns in front of a line feed
    /// are the end of the line: `\r\n` stays. 8-bit controls (C1) are no sequences: in UTF-8 they are parts of characters.
    #[must_use]
    pub fn strip_ansi(mut self, yes: bool) -> Self {
        self.strip_ansi = yes;
        self
    }

    /// Removes the lines that `pattern` matches somewhere. Repeat it for more.
    ///
    /// Patterns are those of the crate [regex](https://docs.rs/regex/1/regex/#syntax), without flags: `^` and `$` are the
    /// ends of the line, whose line end is not part of what is matched. What is not UTF-8 matches no character class. All patterns
    /// of a list may compile to 10 MiB, and those of all lists of a spec or a file to 24 MiB.
    #[must_use]
    pub fn strip_lines_matching(mut self, pattern: impl Into<String>) -> Self {
        self.strip_lines_matching.get_or_insert_default().push(pattern.into());
        self
    }

    /// Once used, of the lines that are left only those stay that one of these patterns matches somewhere.
    #[must_use]
    pub fn keep_lines_matching(mut self, pattern: impl Into<String>) -> Self {
        self.keep_lines_matching.get_or_insert_default().push(pattern.into());
        self
    }

    /// Makes equal lines in a row one, with their number: `line (x3)`; only where that is shorter.
    #[must_use]
    pub fn dedup(mut self, yes: bool) -> Self {
        self.dedup = yes;
        self
    }

    /// Cuts the text behind its first `count` lines, and says in one more how many were left out: `... 12 lines left out`.
    /// 0 is no limit.
    #[must_use]
    pub fn max_lines(mut self, count: u64) -> Self {
        self.max_lines = count;
        self
    }

    /// What stands for a text of which nothing is left, as it is: no line end is added.
    #[must_use]
    pub fn on_empty(mut self, text: impl Into<String>) -> Self {
        self.on_empty = Some(text.into());
        self
    }
}
