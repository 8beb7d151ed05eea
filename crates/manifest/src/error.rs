//! Errors of manifests and of lookups in them: each problem has its file, line, column, source line and caret.
//!
//! Errors do not depend on a format. Text from a file is shown with its control characters escaped and its long lines
//! clipped.

use std::fmt::{self, Write as _};
use std::sync::Arc;

/// The most problems that one error lists; the rest is counted.
const SHOWN: usize = 20;

/// Why a manifest could not be read, or why it has no filter for a tool.
///
/// An error has at least one [`Diagnostic`]. `Display` shows each on lines of its own: `FILE:LINE:COLUMN: message`, the
/// source line, and a caret.
///
/// ```
/// use tamis_manifest::{Manifest, ManifestErrorKind};
///
/// let text = "version: 1\nfilters:\n  list:\n    slect: [id]\n";
/// let error = Manifest::parse("tools.yaml", text).unwrap_err();
/// assert_eq!(error.kind(), ManifestErrorKind::Invalid);
/// assert_eq!((error.problems()[0].line(), error.problems()[0].column()), (4, 5));
/// assert_eq!(
///     error.to_string(),
///     "tools.yaml:4:5: list: unknown key `slect`; did you mean `select`?\n      slect: [id]\n      ^"
/// );
/// ```
#[derive(Clone, Debug)]
pub struct ManifestError {
    kind: ManifestErrorKind,
    problems: Vec<Diagnostic>,
    /// How many more problems were found than `problems` holds.
    more: usize,
}

/// The class of a [`ManifestError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ManifestErrorKind {
    /// A file could not be read.
    Read,
    /// A manifest is invalid: its YAML, its keys, its rules, or a name that two manifests have.
    Invalid,
    /// No filter matches the name of the tool.
    UnknownTool,
    /// Two patterns match the name of the tool equally well, or several services have a tool of this name.
    Ambiguous,
    /// No artifact applies to the service.
    UnknownService,
}

/// One error or warning, with its place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    file: Arc<str>,
    line: usize,
    column: usize,
    message: String,
    /// The source line as it is displayed, and the column of the caret in it.
    shown: Option<(String, usize)>,
}

impl ManifestError {
    #[doc(hidden)]
    pub fn new(kind: ManifestErrorKind, problems: impl Into<Problems>) -> Self {
        let Problems { shown, more } = problems.into();
        Self { kind, problems: shown, more }
    }

    /// Creates the error of a driver that cannot read the manifest `name`.
    ///
    /// ```
    /// use std::io::{Error, ErrorKind};
    /// use tamis_manifest::ManifestError;
    ///
    /// let error = ManifestError::read("tools.yaml", &Error::from(ErrorKind::NotFound));
    /// assert_eq!(error.to_string(), "tools.yaml: cannot be read: entity not found");
    /// ```
    #[must_use]
    pub fn read(name: &str, error: &std::io::Error) -> Self {
        let problem = Diagnostic::nowhere(name, format!("cannot be read: {error}"));
        Self::new(ManifestErrorKind::Read, problem)
    }

    /// Returns the class of this error.
    #[must_use]
    pub fn kind(&self) -> ManifestErrorKind {
        self.kind
    }

    /// Returns the problems: at least one, at most 20.
    #[must_use]
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Returns how many problems were found in addition to [`problems`](Self::problems).
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }
}

impl Diagnostic {
    /// Creates a problem without a place in the file.
    #[doc(hidden)]
    pub fn nowhere(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: 0, column: 0, message: message.into(), shown: None }
    }

    /// Returns the name of the file, or an empty string if the problem concerns no single file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line, counted from 1, or 0 if the problem has no place in the file.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the column in characters, counted from 1, or 0 if the problem has no place in the file.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the message: what was found and what was expected, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns a problem with another message at the same place.
    #[doc(hidden)]
    pub fn with_message(mut self, message: String) -> Self {
        self.message = message;
        self
    }

    /// Returns line and column.
    #[doc(hidden)]
    pub fn position(&self) -> (usize, usize) {
        (self.line, self.column)
    }

    /// Returns `FILE:LINE:COLUMN`, as far as it is known.
    #[doc(hidden)]
    pub fn place(&self) -> String {
        let file = Clean(&self.file);
        if self.line == 0 {
            file.to_string()
        } else {
            format!("{file}:{}:{}", self.line, self.column)
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.place())?;
        }
        write!(f, "{}", Clean(&self.message))?;
        if let Some((line, column)) = &self.shown {
            write!(f, "\n  {line}\n  {:column$}^", "")?;
        }
        Ok(())
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                f.write_char('\n')?;
            }
            write!(f, "{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n{more} more problems"),
        }
    }
}

impl std::error::Error for ManifestError {}

impl From<ManifestError> for tamis::Error {
    /// Converts to a [`Spec`](tamis::ErrorKind::Spec) error with the same text, for callers with one error type.
    fn from(error: ManifestError) -> Self {
        Self::new(tamis::ErrorKind::Spec, error.to_string())
    }
}

/// Escapes a text for display on one line: control characters, and characters that change the direction of writing.
struct Clean<'a>(&'a str);

impl fmt::Display for Clean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            if is_unprintable(char) {
                write!(f, "{}", char.escape_default())?;
            } else {
                f.write_char(char)?;
            }
        }
        Ok(())
    }
}

fn is_unprintable(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The text of a manifest, with the offsets of its lines.
#[derive(Debug)]
pub struct Text<'a> {
    name: Arc<str>,
    pub text: &'a str,
    lines: Vec<usize>,
    /// The number of characters before every multiple of `STEP` bytes, so that a column in a long line is found without
    /// counting from its beginning.
    chars: Vec<usize>,
}

impl<'a> Text<'a> {
    /// The number of characters displayed on either side of the caret.
    const AROUND: usize = 60;
    /// The number of bytes between two entries of the character counts.
    const STRIDE: usize = 1024;

    pub fn new(name: &str, text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut lines = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            // `\r\n` is one line break.
            if bytes.get(at) == Some(&b'\r') && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            lines.push(at + 1);
        }
        let mut chars = vec![0];
        let mut count = 0;
        for piece in bytes.chunks(Self::STRIDE) {
            count += starts(piece);
            chars.push(count);
        }
        Self { name: name.into(), text, lines, chars }
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the byte at a line and a column, both counted from 1.
    pub fn byte(&self, line: usize, column: usize) -> usize {
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        let rest = self.text.get(start..).unwrap_or_default();
        let inside =
            rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
        start + inside
    }

    /// Returns the line of a byte, counted from 1.
    pub fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).max(1)
    }

    /// Returns the number of characters before a byte.
    fn chars_before(&self, at: usize) -> usize {
        let piece = at / Self::STRIDE;
        let counted = self.chars.get(piece).copied().unwrap_or(0);
        let rest = self.text.as_bytes().get(piece * Self::STRIDE..at).unwrap_or_default();
        counted + starts(rest)
    }

    /// Creates a problem at a byte.
    pub fn problem(&self, at: usize, message: impl Into<String>) -> Diagnostic {
        let at = at.min(self.text.len());
        let line = self.line(at);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let column = self.chars_before(at) - self.chars_before(start) + 1;
        Diagnostic {
            file: self.name.clone(),
            line,
            column,
            message: message.into(),
            shown: self.shown(start, at, column - 1),
        }
    }

    /// Returns the displayed part of the line around a byte, which is `before` characters into it, and the byte's
    /// place in that part.
    fn shown(&self, start: usize, at: usize, before: usize) -> Option<(String, usize)> {
        let after = self.text.get(at..)?.chars().take_while(|char| !matches!(char, '\n' | '\r'));
        let in_front = self.text.get(start..at)?.chars().rev();
        // The indentation of a line shows where in the file it is, so it is only left out of long lines.
        let clips = before > Self::AROUND + 20;
        let kept = if clips { Self::AROUND } else { before };
        let mut shown: Vec<char> = in_front.take(kept).collect();
        if clips {
            shown.push('…');
        }
        shown.reverse();
        let caret = shown.len();
        let mut after = after.peekable();
        shown.extend(after.by_ref().take(Self::AROUND));
        if after.next().is_some() {
            shown.push('…');
        }
        if shown.iter().all(|char| char.is_whitespace()) {
            return None;
        }
        // Each character becomes one column, so that the caret is below the right one.
        let plain = |char| match char {
            '\t' => ' ',
            char if is_unprintable(char) => '\u{fffd}',
            char => char,
        };
        Some((shown.into_iter().map(plain).collect(), caret))
    }
}

/// Counts the characters that begin in these bytes.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Collects problems: the first are kept, the others are counted.
#[derive(Debug, Default)]
pub struct Problems {
    shown: Vec<Diagnostic>,
    more: usize,
}

impl Problems {
    pub fn push(&mut self, problem: impl FnOnce() -> Diagnostic) {
        if self.shown.len() < SHOWN {
            self.shown.push(problem());
        } else {
            self.more += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns whether the next problem is kept.
    pub fn lists_more(&self) -> bool {
        self.shown.len() < SHOWN
    }

    /// Returns the number of problems, including those that are only counted.
    pub fn count(&self) -> usize {
        self.shown.len() + self.more
    }

    /// Returns the error with its problems in the order of their places.
    pub fn in_order(mut self) -> Self {
        self.shown.sort_by_key(|problem| (problem.line, problem.column));
        self
    }
}

impl From<Diagnostic> for Problems {
    fn from(problem: Diagnostic) -> Self {
        Self { shown: vec![problem], more: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnostic, Problems, SHOWN};

    /// Suggestions are only computed for the problems that are listed, not for those that are counted.
    #[test]
    fn problems_that_are_not_shown_are_not_made() {
        let (mut problems, mut made) = (Problems::default(), 0);
        for _ in 0..1000 {
            problems.push(|| {
                made += 1;
                Diagnostic::nowhere("x.yaml", "wrong")
            });
        }
        assert_eq!((made, problems.shown.len(), problems.more), (SHOWN, SHOWN, 1000 - SHOWN));
    }
}
