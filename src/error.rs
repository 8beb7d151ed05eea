//! What went wrong, where, and who can do something about it.
//!
//! A leaf: knows no other module. Two types: [`Error`] is what callers see; `Raise` is what a stage that does not know
//! its place in the document hands to the one that does.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// Why a run failed, or a spec was refused.
///
/// Opaque: ask for the [`kind`](Error::kind), the [`offset`](Error::offset), the [`path`](Error::path) and the
/// [`fault`](Error::fault). `Display` gives all of them in one line.
///
/// ```
/// use tamis::{ErrorKind, Fault, Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new())?;
/// let error = filter_slice(&program, br#"{"a":[1,2,}"#).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Syntax);
/// assert_eq!(error.fault(), Fault::Input);
/// assert_eq!(error.offset(), Some(10));
/// assert_eq!(error.path(), "/a/2");
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct Error(Box<ErrorDetails>);

struct ErrorDetails {
    kind: ErrorKind,
    offset: Option<u64>,
    path: String,
    message: Cow<'static, str>,
    excerpt: Option<String>,
    source: Option<io::Error>,
    /// Which rule of a spec it is about.
    rule: Option<RulePlace>,
    /// Its place is not one of the input, and the message says so.
    elsewhere: bool,
}

/// Where in a spec an error is, for who knows where the spec is from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "manifest"), allow(dead_code, reason = "manifests place errors by it"))]
pub(crate) struct RulePlace {
    /// The field.
    pub(crate) rule: &'static str,
    /// Which of its entries, counted from 0.
    pub(crate) entry: usize,
    /// It is about the entry's key, not its path.
    pub(crate) is_key: bool,
    /// The byte of the path.
    pub(crate) at: usize,
    /// What is wrong, without that place.
    pub(crate) message: String,
}

/// The class of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The document is not JSON (RFC 8259).
    Syntax,
    /// The document, or the encoded body that it is in, ended too early, or there was none.
    UnexpectedEnd,
    /// The document is not UTF-8, or the body that it is in cannot be decoded.
    Encoding,
    /// A named limit of [`Limits`](crate::Limits), or of what a body may decode to, was reached.
    Limit,
    /// No selected path was found, and the spec says `on_error: closed`; or nothing was where the spec extracts;
    /// or no branch of `when` holds, and that is an error.
    Miss,
    /// A member came twice, and the spec says `duplicate_keys: reject`, or a branch was chosen by it.
    Duplicate,
    /// An operation of the spec's `patches` cannot be applied.
    Patch,
    /// The output is longer than its budget, and the spec or the call says `on_over: error`.
    Budget,
    /// The spec cannot be compiled.
    Spec,
    /// The reader failed, or its file changed while it was read.
    Read,
    /// The writer failed.
    Write,
    /// The filter had failed before; it stays failed.
    Failed,
}

impl ErrorKind {
    /// The kind in lower-case words, as the report prints it.
    ///
    /// ```
    /// assert_eq!(tamis::ErrorKind::UnexpectedEnd.as_str(), "unexpected_end");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::UnexpectedEnd => "unexpected_end",
            Self::Encoding => "encoding",
            Self::Limit => "limit",
            Self::Miss => "miss",
            Self::Duplicate => "duplicate",
            Self::Patch => "patch",
            Self::Budget => "budget",
            Self::Spec => "spec",
            Self::Read => "read",
            Self::Write => "write",
            Self::Failed => "failed",
        }
    }
}

/// Who has to act on an [`Error`]: a gateway picks its status from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The sender of the document: malformed, truncated, or not what the spec expects.
    Input,
    /// The author of the spec.
    Spec,
    /// Whoever sets the limits: the document is larger or deeper than allowed, or does not fit its budget.
    Limit,
    /// The receiver of the output.
    Sink,
    /// The caller: the filter was used after it had failed.
    Caller,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(ErrorDetails {
            kind,
            offset: None,
            path: String::new(),
            message: message.into(),
            excerpt: None,
            source: None,
            rule: None,
            elsewhere: false,
        }))
    }

    pub(crate) fn at(raise: Raise, offset: u64, path: String) -> Self {
        Self(Box::new(ErrorDetails {
            kind: raise.kind,
            offset: Some(offset),
            path,
            message: raise.message,
            excerpt: None,
            source: None,
            rule: None,
            elsewhere: false,
        }))
    }

    pub(crate) fn io(kind: ErrorKind, message: &'static str, source: io::Error) -> Self {
        let mut error = Self::new(kind, message);
        error.0.source = Some(source);
        error
    }

    /// Shows the text that is wrong, on lines of its own.
    pub(crate) fn with_excerpt(mut self, excerpt: String) -> Self {
        self.0.excerpt = Some(excerpt);
        self
    }

    /// The error of a driver that has no spec to run, or one that is wrong.
    ///
    /// ```
    /// let error = tamis::Error::spec("there are 3 filters; name one");
    /// assert_eq!(error.kind(), tamis::ErrorKind::Spec);
    /// ```
    #[must_use]
    pub fn spec(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Spec, message.into())
    }

    /// Says which rule of the spec is wrong.
    pub(crate) fn in_rule(mut self, place: RulePlace) -> Self {
        self.0.rule = Some(place);
        self
    }

    /// The same, of a rule that was written as another.
    #[cfg(feature = "content")]
    pub(crate) fn renamed(mut self, from: &str, to: &'static str) -> Self {
        let renamed = |text: &str| match text.strip_prefix(from) {
            Some(rest) => format!("{to}{rest}"),
            None => text.to_owned(),
        };
        self.0.message = renamed(&self.0.message).into();
        if let Some(place) = &mut self.0.rule {
            place.rule = to;
            place.message = renamed(&place.message);
        }
        self
    }

    /// Which rule of the spec is wrong, if one is.
    #[cfg(feature = "manifest")]
    pub(crate) fn rule(&self) -> Option<&RulePlace> {
        self.0.rule.as_ref()
    }

    /// Says that offset and path are those of the text that the stage on the document left.
    pub(crate) fn in_what_was_left(self) -> Self {
        self.placed_in("what the rules on the document left")
    }

    /// Says in which branch of `when` a rule is wrong.
    pub(crate) fn in_branch(mut self, entry: usize, name: &str) -> Self {
        let place = self.0.rule.take();
        let message = place.as_ref().map_or(self.message(), |place| &place.message);
        let (rule, message) = ("when", format!("{name}: {message}"));
        self.0.rule = Some(RulePlace { rule, entry, is_key: false, at: 0, message });
        self.0.message = format!("{name}: {}", self.0.message).into();
        self
    }

    /// Says that offset and path are those of what the rules on items made.
    pub(crate) fn in_filtered(self) -> Self {
        self.placed_in("the filtered document")
    }

    /// What is wrong with an encoded body, at a byte of that.
    #[cfg(feature = "decode")]
    pub(crate) fn in_encoded(kind: ErrorKind, message: String, offset: u64) -> Self {
        Self::at(Raise::new(kind, message), offset, String::new()).placed_in("the encoded body")
    }

    /// The stage that failed knows best: what those in front of it add does not count.
    fn placed_in(mut self, text: &str) -> Self {
        if !std::mem::replace(&mut self.0.elsewhere, true) {
            self.0.message = format!("{} (place in {text})", self.0.message).into();
        }
        self
    }

    /// Whether offset and path are those of another text than the input.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.0.elsewhere
    }

    /// The class of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The input byte at which the run failed, counted from 0: the first byte that no valid document could have there,
    /// or the document's length if it ended too early. `None` for errors that have no place in a document. What the
    /// rules on items find wrong behind `extract`, `retain` or `patches` has its place in what that left, what is wrong in a
    /// text filter, budget or compact has it in the filtered document, and what is wrong with a body's content coding has it
    /// in the encoded body; the message says so.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The JSON Pointer (RFC 6901) of the value in which the run failed; `""` is the document itself. Names longer than
    /// 256 bytes are shortened.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The text of a rule that is wrong, and on a second line a caret under the character: to be shown below the error
    /// where lines are read by people.
    ///
    /// ```
    /// use tamis::{Program, Spec};
    ///
    /// let error = Program::compile(&Spec::new().select("a..b")).unwrap_err();
    /// assert!(error.to_string().ends_with("(character 3 of `a..b`)"));
    /// assert_eq!(error.excerpt(), Some("a..b\n  ^"));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn excerpt(&self) -> Option<&str> {
        self.0.excerpt.as_deref()
    }

    /// Who has to act.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self.0.kind {
            ErrorKind::Syntax
            | ErrorKind::UnexpectedEnd
            | ErrorKind::Encoding
            | ErrorKind::Miss
            | ErrorKind::Duplicate
            | ErrorKind::Patch
            | ErrorKind::Read => Fault::Input,
            ErrorKind::Spec => Fault::Spec,
            ErrorKind::Limit | ErrorKind::Budget => Fault::Limit,
            ErrorKind::Write => Fault::Sink,
            ErrorKind::Failed => Fault::Caller,
        }
    }

    /// The operating system's error behind a [`Read`](ErrorKind::Read) or [`Write`](ErrorKind::Write) error.
    #[must_use]
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.source.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(offset) = self.0.offset {
            write!(f, "byte {offset}")?;
            if !self.0.path.is_empty() {
                write!(f, " at {}", ShortenedPath(&self.0.path))?;
            }
            write!(f, ": ")?;
        }
        f.write_str(&self.0.message)?;
        match &self.0.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

/// A path on one line of bearable length: the middle of a long one is left out.
struct ShortenedPath<'a>(&'a str);

impl ShortenedPath<'_> {
    const HEAD: usize = 120;
    const TAIL: usize = 60;
}

impl fmt::Display for ShortenedPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chars = self.0.chars().count();
        if chars <= Self::HEAD + Self::TAIL {
            return write!(f, "{}", self.0.escape_debug());
        }
        let head: String = self.0.chars().take(Self::HEAD).collect();
        let tail: String = self.0.chars().skip(chars - Self::TAIL).collect();
        write!(f, "{}…{}", head.escape_debug(), tail.escape_debug())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}, {self})", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

/// An error without its place: raised by stages, placed by the driver of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raise {
    pub(crate) kind: ErrorKind,
    pub(crate) message: Cow<'static, str>,
}

impl Raise {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into() }
    }
}
