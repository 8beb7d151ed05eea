//! Windows: the part of an entry that a read asks for.
//!
//! A model that reads "112 of 137 items left out" rarely needs all of them. It asks for a value, for items, for lines, or
//! for the lines around a match, and gets at most 16 KiB of that, with the offset of the rest.
//!
//! The parts of a window apply in this order. Each one streams, so memory does not grow with the entry:
//!
//! ```text
//! entry ─▶ pointer ─▶ items, select ─▶ text view ─▶ lines ─▶ grep ─▶ offset, limit ─▶ marks ─▶ out
//!          └──── tamis engine ────┘    string: its characters
//!                                      other JSON: indented
//! ```
//!
//! - The text view is used if the window has `lines` or `grep`. A string at `pointer` is always read as its characters.
//! - Offsets count the bytes of the window, so they lead on from one read to the next with the same other parts.
//! - Lines of a text that imitate a notice of tamis are marked as the tool's, as in filtered text. Offsets do not count
//!   these marks.

mod grep;
mod items;
mod lines;
mod output;
mod report;
mod run;
mod stage;
mod string_text;
mod text_view;

use std::fmt;
use std::io;

use regex::bytes::{Regex, RegexBuilder};
use tamis::{Program, Spec};

pub use report::WindowReport;
pub use report::replaced;

/// The default of [`Window::with_limit`].
const LIMIT: u64 = 16 << 10;
/// The longest pattern, in bytes.
const LONGEST_PATTERN: usize = 1_000;
/// The largest compiled pattern, in bytes.
const COMPILED_PATTERN: usize = 1 << 20;
/// The most lines of context around a match.
const MOST_CONTEXT: u32 = 100;

/// The part of an entry that a read asks for: by default its first 16 KiB.
///
/// ```
/// use tamis_store::Window;
///
/// let window = Window::new().with_pointer("/issues")?.with_items("25-49")?.with_select("title")?;
/// let log = Window::new().with_grep("error|panicked")?.with_context(3)?.with_limit(Some(4096));
/// assert!(Window::new().with_lines("0-10").is_err());
/// # Ok::<(), tamis_store::WindowError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Window {
    pointer: Option<String>,
    select: Vec<(Option<String>, String)>,
    items: Option<WindowRange>,
    lines: Option<WindowRange>,
    grep: Option<Regex>,
    context: u32,
    offset: u64,
    limit: Option<u64>,
}

impl Default for Window {
    fn default() -> Self {
        Self::new()
    }
}

impl Window {
    /// The default of [`with_limit`](Self::with_limit): 16 KiB.
    pub const LIMIT: u64 = LIMIT;

    /// Creates the window of the first 16 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pointer: None,
            select: Vec::new(),
            items: None,
            lines: None,
            grep: None,
            context: 0,
            offset: 0,
            limit: Some(LIMIT),
        }
    }

    /// Sets the value to read: a JSON Pointer such as `/issues/3/body`, or a dot path without wildcards. An empty text
    /// is the whole entry. A string is read as its characters.
    ///
    /// # Errors
    /// The text is not such a path.
    pub fn with_pointer(mut self, path: &str) -> Result<Self, WindowError> {
        if path.is_empty() {
            self.pointer = None;
            return Ok(self);
        }
        Program::compile(&Spec::new().extract(path))
            .map_err(|error| WindowError(error.message().replacen("extract: ", "", 1)))?;
        self.pointer = Some(path.to_owned());
        Ok(self)
    }

    /// Keeps of each item the value at a path, as `select` in a spec. May be called several times. Without a pointer it
    /// applies to the items of the entry, otherwise to the elements of the array or to the object at the pointer.
    ///
    /// # Errors
    /// The text is not a path, or its output key is in use.
    pub fn with_select(self, path: &str) -> Result<Self, WindowError> {
        self.with_selected(None, path)
    }

    /// Keeps of each item the value at a path, under another key.
    ///
    /// # Errors
    /// The text is not a path, or the key is in use.
    pub fn with_select_as(self, key: &str, path: &str) -> Result<Self, WindowError> {
        self.with_selected(Some(key.to_owned()), path)
    }

    fn with_selected(mut self, key: Option<String>, path: &str) -> Result<Self, WindowError> {
        self.select.push((key, path.to_owned()));
        Program::compile(&self.selecting(Spec::new()))
            .map_err(|error| WindowError(error.message().to_owned()))?;
        Ok(self)
    }

    /// Adds the selected paths to a spec.
    fn selecting(&self, spec: Spec) -> Spec {
        self.select.iter().fold(spec, |spec, (key, path)| match key {
            Some(key) => spec.select_as(key, path),
            None => spec.select(path),
        })
    }

    /// Sets which items to read: `25-49`, counted from 0 and inclusive; `25-` for all from there on; or `25`. The items
    /// are those of the entry, or the elements of the array at the pointer.
    ///
    /// # Errors
    /// The text is not a range.
    pub fn with_items(mut self, range: &str) -> Result<Self, WindowError> {
        self.items = Some(WindowRange::parse("items", range)?);
        Ok(self)
    }

    /// Sets which lines to read: `100-180`, counted from 1 and inclusive; `100-` for all from there on; or `100`.
    ///
    /// # Errors
    /// The text is not a range, or begins at 0.
    pub fn with_lines(mut self, range: &str) -> Result<Self, WindowError> {
        let lines = WindowRange::parse("lines", range)?;
        if lines.first == 0 {
            return Err(WindowError(String::from("lines: expected a range from 1, such as 1-80")));
        }
        self.lines = Some(lines);
        Ok(self)
    }

    /// Reads only lines that match a regular expression, each with its number.
    ///
    /// A line longer than 64 KiB is searched in pieces of that length, which the report counts. A line
    /// longer than 4 KiB is shortened to the text around its first match.
    ///
    /// # Errors
    /// The pattern is not a regular expression, or too large.
    pub fn with_grep(mut self, pattern: &str) -> Result<Self, WindowError> {
        if pattern.len() > LONGEST_PATTERN {
            let message = format!("grep: the pattern is longer than {LONGEST_PATTERN} bytes");
            return Err(WindowError(message));
        }
        let mut builder = RegexBuilder::new(pattern);
        builder.size_limit(COMPILED_PATTERN).dfa_size_limit(COMPILED_PATTERN);
        self.grep = Some(builder.build().map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => WindowError("grep: the pattern is too large".into()),
            // The last line says what is wrong; those before it point at the place.
            error => {
                let text = error.to_string();
                let why = text.lines().last().unwrap_or_default();
                WindowError(format!("grep: {}", why.strip_prefix("error: ").unwrap_or(why)))
            }
        })?);
        Ok(self)
    }

    /// Sets how many lines before and after a match are read, too: at most 100.
    ///
    /// # Errors
    /// The number is too large.
    pub fn with_context(mut self, lines: u32) -> Result<Self, WindowError> {
        if lines > MOST_CONTEXT {
            return Err(WindowError(format!("context: expected at most {MOST_CONTEXT} lines")));
        }
        self.context = lines;
        Ok(self)
    }

    /// Sets how many bytes of the window are skipped: the `next_offset` of an earlier read.
    #[must_use]
    pub fn with_offset(mut self, bytes: u64) -> Self {
        self.offset = bytes;
        self
    }

    /// Sets how many bytes are written at most. No character is cut in two, and at least one is written. `None` is no
    /// limit.
    ///
    /// ### Default
    /// [`LIMIT`](Self::LIMIT).
    #[must_use]
    pub fn with_limit(mut self, bytes: Option<u64>) -> Self {
        self.limit = bytes;
        self
    }
}

/// A range of items or lines, inclusive. Without a last one it goes to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WindowRange {
    first: u64,
    last: Option<u64>,
}

impl WindowRange {
    fn parse(name: &str, text: &str) -> Result<Self, WindowError> {
        let number = |text: &str| {
            let text = text.trim();
            // `parse` accepts a sign.
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
        };
        let range = match text.split_once('-') {
            None => number(text).map(|only| Self { first: only, last: Some(only) }),
            Some((first, last)) if last.trim().is_empty() => {
                number(first).map(|first| Self { first, last: None })
            }
            Some((first, last)) => number(first)
                .zip(number(last))
                .filter(|(first, last)| first <= last)
                .map(|(first, last)| Self { first, last: Some(last) }),
        };
        range.ok_or_else(|| {
            let text = text.escape_debug();
            WindowError(format!(
                "{name}: expected a range such as 25-49, 25- or 25, found `{text}`"
            ))
        })
    }
}

/// The error of a window that an entry cannot have. Its [`Display`](fmt::Display) is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowError(String);

impl WindowError {
    pub(crate) fn new(why: String) -> Self {
        Self(why)
    }
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WindowError {}

/// The error of an entry that was not read.
#[derive(Debug)]
pub enum ReadError {
    /// There is no such entry for this caller. The error does not reveal whether it never existed, is expired, or belongs
    /// to another scope.
    Unknown,
    /// The entry has no such part.
    Window(WindowError),
    /// An error of the folder.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown or expired; call the tool again"),
            Self::Window(error) => error.fmt(f),
            Self::Io(error) => write!(f, "cannot read the store: {error}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<WindowError> for ReadError {
    fn from(error: WindowError) -> Self {
        Self::Window(error)
    }
}

#[cfg(test)]
mod tests {
    use super::{Window, WindowRange};

    #[test]
    fn ranges_are_parsed() {
        for (text, expected) in [
            ("25-49", Some((25, Some(49)))),
            ("0-0", Some((0, Some(0)))),
            (" 1 - 2 ", Some((1, Some(2)))),
            ("7", Some((7, Some(7)))),
            ("7-", Some((7, None))),
            ("18446744073709551615", Some((u64::MAX, Some(u64::MAX)))),
            ("18446744073709551616", None),
            ("", None),
            ("-", None),
            ("-3", None),
            ("+3", None),
            ("5-3", None),
            ("1-2-3", None),
            ("a-b", None),
            ("1–2", None),
        ] {
            let range = WindowRange::parse("items", text).ok();
            assert_eq!(range.map(|range| (range.first, range.last)), expected, "{text}");
        }
    }

    #[test]
    fn windows_that_no_entry_has_are_refused() {
        for (window, message) in [
            (Window::new().with_lines("0-3"), "lines: expected a range from 1, such as 1-80"),
            (
                Window::new().with_items("x"),
                "items: expected a range such as 25-49, 25- or 25, found `x`",
            ),
            (Window::new().with_grep("(a"), "grep: unclosed group"),
            (
                Window::new().with_grep(&"a".repeat(1_001)),
                "grep: the pattern is longer than 1000 bytes",
            ),
            (Window::new().with_grep(r"(\w{100}){100}"), "grep: the pattern is too large"),
            (Window::new().with_context(101), "context: expected at most 100 lines"),
        ] {
            assert_eq!(window.err().map(|error| error.to_string()).as_deref(), Some(message));
        }
        for path in ["a..b", "/a~2", "a[].b"] {
            assert!(Window::new().with_pointer(path).is_err(), "{path}");
        }
        for path in ["", "a..b", "a|b"] {
            assert!(Window::new().with_select(path).is_err(), "{path}");
        }
    }
}
