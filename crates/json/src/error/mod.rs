//! Errors: what failed, where in the input, and who can do something about it.
//!
//! This module uses no other module. [`Error`] is the type that callers see. [`Raise`] is an error without a place: a
//! stage raises it, and the code that knows the place turns it into an [`Error`].
//!
//! # Ownership of the offset
//!
//! Every offset is an absolute byte of the input of one run, counted from 0. These values are kept during a run:
//!
//! | value | owner | advances | used for |
//! |---|---|---|---|
//! | `Machine::offset` | `json::machine` | by a chunk, after the chunk was handled | places of errors; offsets that handlers receive |
//! | `Lookahead::mark` | `filter`, each probe | not at all: it is the first byte that the probe reads | the place of the error if the decision of the probe needs more bytes than may be held |
//! | the run's count of consumed bytes | `filter`, the run | by a chunk, or to the offset where the run stopped | `original_bytes` in the report; never an error |
//!
//! Bytes before a document (a byte order mark, white space before a first pass) are not fed to the machine.
//! `Machine::skip_prefix` adds them, so that offsets stay absolute. While a chunk is handled, positions (`at`, `pos`)
//! are relative to the chunk; only `Machine::fail` adds `Machine::offset` to them.
//!
//! # Places of errors
//!
//! | phase | place of an error |
//! |---|---|
//! | reading the document | the first byte that no valid document has there; its length if it ended too early |
//! | a handler refuses a value | the first byte of the value, or the second byte of a string if that decides what it is |
//! | the JSON in a string (`json_strings`) | the end of the string; the message has the place in its text |
//! | a captured value is replayed | the end of the value in the document, wherever inside the value the replay fails |
//! | a limit on held bytes (`held`, `spill`) | the first byte that did not fit, so that the place does not depend on chunks |
//! | a second pass over held bytes | as in the first pass: the machine starts at offset 0 with the same prefix |
//! | rules after `json_strings`, items after `extract`, `retain` or `patches` | a byte of the output of these rules; the message says so, and `Error::is_elsewhere` is true |
//! | `text_filter`, `budget`, `compact` | a byte of the filtered document; the message says so |
//! | a content coding | a byte of the encoded body; the message says so |
//! | a stream of documents | a byte of the stream: the driver adds the start of the record |
//! | compiling a spec, reading, writing, a lost task | none |
//!
//! Within the machine a failed walk has four qualifiers (`WalkError`): `inside` extends the path to the current member
//! or element, `in_string` says how to settle the bytes before the error, `before` moves the place one byte back, to
//! the opening quote of a string that an earlier chunk ended with.

mod kind;
mod limit_name;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;

pub use kind::{ErrorKind, Fault};
pub use limit_name::LimitName;
use limit_name::LimitNames;

/// The error of a failed run, or of a spec that cannot be compiled.
///
/// The fields are private. Use [`kind`](Error::kind) to match on the class, [`fault`](Error::fault) to pick a status,
/// [`offset`](Error::offset) and [`path`](Error::path) for the place, and [`limit`](Error::limit) for the name of a
/// reached limit. `Display` prints the place, the message and the name of the limit on one line; its alternate form
/// (`{:#}`) leaves the name of the limit out.
///
/// ```
/// use tamis::{ErrorKind, Fault, Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new())?;
/// let error = filter_slice(&program, br#"{"a":[1,2,}"#).unwrap_err().error;
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
    cause: Cause,
    /// The rule of a spec that the error is about.
    rule: Option<RulePlace>,
    /// The place is not in the input, and the message says so.
    elsewhere: bool,
}

/// Data about the reason of an error.
#[derive(Clone, Debug, Default)]
enum Cause {
    #[default]
    None,
    Limit(LimitName),
    /// Shared, because a raised error is cloned.
    Io(Arc<io::Error>),
}

impl Cause {
    fn limits(&self) -> &'static [&'static str] {
        match self {
            Self::Limit(name) => name.names(),
            Self::None | Self::Io(_) => &[],
        }
    }
}

/// The place of an error in a spec. A manifest maps it to a place in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// The name of the field.
    pub rule: &'static str,
    /// The entry of the field, counted from 0.
    pub entry: usize,
    /// The error is about the key of the entry, not about its path.
    pub is_key: bool,
    /// The byte of the path or pattern.
    pub at: usize,
    /// The message without the place.
    pub message: String,
}

impl Error {
    /// Creates an error without a place.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(ErrorDetails {
            kind,
            offset: None,
            path: String::new(),
            message: message.into(),
            excerpt: None,
            cause: Cause::None,
            rule: None,
            elsewhere: false,
        }))
    }

    /// Places a raised error at a byte of the input, in the value at `path`.
    pub fn at(raise: Raise, offset: u64, path: String) -> Self {
        let mut error = Self::from(raise);
        error.0.offset = Some(offset);
        error.0.path = path;
        error
    }

    /// Creates an error with the cause that the system named.
    pub fn io(kind: ErrorKind, message: &'static str, source: io::Error) -> Self {
        let mut error = Self::new(kind, message);
        error.0.cause = Cause::Io(Arc::new(source));
        error
    }

    /// The error with another message and offset, for a driver that embeds the document in a longer text.
    pub fn moved(&self, message: String, offset: u64) -> Self {
        let raise = Raise { message: message.into(), ..self.to_raise() };
        Self::at(raise, offset, self.path().to_owned())
    }

    /// The error without its place, to be raised again by a stage that knows another place.
    pub fn to_raise(&self) -> Raise {
        let ErrorDetails { kind, message, cause, .. } = &*self.0;
        Raise { kind: *kind, message: message.clone(), cause: cause.clone() }
    }

    /// Adds the refused text with a caret below the refused character.
    pub fn with_excerpt(mut self, excerpt: String) -> Self {
        self.0.excerpt = Some(excerpt);
        self
    }

    /// Creates the error of a driver that cannot open or read its input.
    ///
    /// ```
    /// use tamis::{Error, ErrorKind, Fault};
    ///
    /// let error = Error::read(std::io::Error::from(std::io::ErrorKind::NotFound));
    /// assert_eq!((error.kind(), error.fault()), (ErrorKind::Read, Fault::Input));
    /// assert_eq!(error.to_string(), "cannot read the input: entity not found");
    /// ```
    #[must_use]
    pub fn read(source: io::Error) -> Self {
        Self::io(ErrorKind::Read, "cannot read the input", source)
    }

    /// Creates the error of a driver that cannot create or write its output.
    ///
    /// ```
    /// use tamis::{Error, ErrorKind, Fault};
    ///
    /// let error = Error::write(std::io::Error::from(std::io::ErrorKind::StorageFull));
    /// assert_eq!((error.kind(), error.fault()), (ErrorKind::Write, Fault::Sink));
    /// ```
    #[must_use]
    pub fn write(source: io::Error) -> Self {
        Self::io(ErrorKind::Write, "cannot write the output", source)
    }

    /// Creates the error of a program that has no spec to run, or an invalid one.
    ///
    /// ```
    /// let error = tamis::Error::spec("there are 3 filters; name one");
    /// assert_eq!(error.kind(), tamis::ErrorKind::Spec);
    /// ```
    #[must_use]
    pub fn spec(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Spec, message.into())
    }

    /// Adds the place in the spec.
    pub fn in_rule(mut self, place: RulePlace) -> Self {
        self.0.rule = Some(place);
        self
    }

    /// Renames the rule in message and place, for a rule that the spec spells as another one.
    pub fn renamed(mut self, from: &str, to: &'static str) -> Self {
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

    /// Returns the place in the spec, if the error is about a rule.
    pub fn rule(&self) -> Option<&RulePlace> {
        self.0.rule.as_ref()
    }

    /// Notes that offset and path belong to the output of the stage on the document.
    pub fn in_what_was_left(self) -> Self {
        self.placed_in("what the rules on the document left")
    }

    /// Adds the branch of `when` that contains the refused rule.
    pub fn in_branch(mut self, entry: usize, name: &str) -> Self {
        let place = self.0.rule.take();
        let message = place.as_ref().map_or(self.message(), |place| &place.message);
        let (rule, message) = ("when", format!("{name}: {message}"));
        self.0.rule = Some(RulePlace { rule, entry, is_key: false, at: 0, message });
        self.0.message = format!("{name}: {}", self.0.message).into();
        self
    }

    /// Adds the entry of `json_strings` that contains the refused rule.
    pub fn in_json_string(mut self, entry: usize, at: &str) -> Self {
        let place = self.0.rule.take();
        let message = place.as_ref().map_or(self.message(), |place| &place.message);
        let name = format!("json_strings at `{at}`");
        let (rule, message) = ("json_strings", format!("{name}: {message}"));
        self.0.rule = Some(RulePlace { rule, entry, is_key: false, at: 0, message });
        self.0.message = format!("{name}: {}", self.0.message).into();
        self
    }

    /// The error of a text inside a string, to be raised for the string. Its place becomes part of the message.
    pub fn to_raise_of_string(&self) -> Raise {
        let message = format!("json_strings: {self:#} (place in the text of the string)").into();
        Raise { message, ..self.to_raise() }
    }

    /// Notes that offset and path belong to the output of the rules on items.
    pub fn in_filtered(self) -> Self {
        self.placed_in("the filtered document")
    }

    /// Creates the error of an encoded body, at a byte of that body.
    pub fn in_encoded(kind: ErrorKind, message: String, offset: u64) -> Self {
        Self::at(Raise::new(kind, message), offset, String::new()).placed_in("the encoded body")
    }

    /// Replaces the path, and the message if there is another one.
    pub fn rephrased(mut self, path: String, message: Option<String>) -> Self {
        self.0.path = path;
        if let Some(message) = message {
            self.0.message = message.into();
        }
        self
    }

    /// Only the first call has an effect: it is made by the stage that failed, later ones by the stages before it.
    fn placed_in(mut self, text: &str) -> Self {
        if !std::mem::replace(&mut self.0.elsewhere, true) {
            self.0.message = format!("{} (place in {text})", self.0.message).into();
        }
        self
    }

    /// Whether offset and path belong to another text than the input.
    pub fn is_elsewhere(&self) -> bool {
        self.0.elsewhere
    }

    /// Returns the class of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the input byte at which the run failed, counted from 0: the first byte that makes the document invalid,
    /// or the document's length if it ended too early. `None` for errors that have no place in a document.
    ///
    /// An error of the rules on items after `extract`, `retain` or `patches` has its place in the output of these
    /// rules. An error of a text filter, budget or compact summary has it in the filtered document, and an error of a
    /// body's content coding in the encoded body. The message says so in each case.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns the JSON Pointer (RFC 6901) of the value in which the run failed; `""` is the document itself. Names
    /// longer than 256 bytes are shortened.
    ///
    /// The path may contain keys that a rule would have removed. Do not show it to receivers that must not see them.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns the message without the place and without the name of the limit.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the refused text of a rule, and on a second line a caret under the character. Programs that talk to
    /// people print this below the error.
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

    /// Returns the party that has to act.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self.0.kind {
            ErrorKind::Syntax
            | ErrorKind::UnexpectedEnd
            | ErrorKind::Encoding
            | ErrorKind::Miss
            | ErrorKind::Duplicate
            | ErrorKind::Patch
            | ErrorKind::Restore
            | ErrorKind::Read => Fault::Input,
            ErrorKind::Spec => Fault::Spec,
            ErrorKind::Limit | ErrorKind::Budget | ErrorKind::Spill => Fault::Limit,
            ErrorKind::Write => Fault::Sink,
            ErrorKind::Failed => Fault::Caller,
            ErrorKind::Internal => Fault::Bug,
        }
    }

    /// Returns the name of the reached limit: the name of the accessor of [`Limits`](crate::Limits) that returns it,
    /// such as `"depth"` or `"held"`. `None` unless the kind is [`ErrorKind::Limit`].
    ///
    /// If `held` and `spill` were reached together, this is `"held"`; [`limits`](Self::limits) returns both. Limits of
    /// decoding are `"max_bytes"` and `"max_ratio"`; that of [`ValuePaths`](crate::ValuePaths) is `"max_values"`.
    ///
    /// ```
    /// use tamis::{CallOptions, Limits, Program, Spec, filter_slice};
    ///
    /// let options = CallOptions::new().with_limits(Limits::new().with_depth(2));
    /// let program = Program::compile(&Spec::new())?;
    /// let error = filter_slice(program.with_options(&options), b"[[[]]]").unwrap_err().error;
    /// assert_eq!(error.limit(), Some("depth"));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        self.limits().first().copied()
    }

    /// Returns the names of the limits that were reached together: `"held"` and `"spill"` for bytes that are held in
    /// memory first and then in a temporary file, otherwise one name. Empty unless the kind is [`ErrorKind::Limit`].
    #[must_use]
    pub fn limits(&self) -> &'static [&'static str] {
        self.0.cause.limits()
    }

    /// Returns the message with the names of the limits and the error of the operating system.
    pub fn full_message(&self) -> String {
        let (message, names) = (&self.0.message, LimitNames(self.limits()));
        match self.io_error() {
            Some(cause) => format!("{message}{names}: {cause}"),
            None => format!("{message}{names}"),
        }
    }

    /// Returns the error of the operating system that caused a [`Read`](ErrorKind::Read), [`Write`](ErrorKind::Write)
    /// or [`Spill`](ErrorKind::Spill) error.
    #[must_use]
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.0.cause {
            Cause::Io(error) => Some(error),
            _ => None,
        }
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
        if f.alternate() && !self.limits().is_empty() {
            return f.write_str(&self.0.message);
        }
        f.write_str(&self.full_message())
    }
}

/// Displays a path on one line; the middle of a long path is replaced by an ellipsis.
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
        self.io_error().map(|error| error as _)
    }
}

/// An error without a place. A stage raises it; the code that knows the place turns it into an [`Error`] by
/// [`Error::at`].
#[derive(Clone, Debug)]
pub struct Raise {
    /// The class of the error.
    pub kind: ErrorKind,
    /// The message without the place.
    pub message: Cow<'static, str>,
    cause: Cause,
}

impl Raise {
    /// Creates an error that has no place yet.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into(), cause: Cause::None }
    }

    /// A limit was reached. `Display` of the error adds its name to the message.
    pub fn limit(name: LimitName, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: ErrorKind::Limit, message: message.into(), cause: Cause::Limit(name) }
    }

    /// The error with a name before the message.
    pub fn named(self, name: &str) -> Self {
        Self { message: format!("{name}: {}", self.message).into(), ..self }
    }

    /// The temporary file failed.
    pub fn spill(message: &'static str, error: io::Error) -> Self {
        Self { kind: ErrorKind::Spill, message: message.into(), cause: Cause::Io(Arc::new(error)) }
    }
}

impl PartialEq for Raise {
    fn eq(&self, other: &Self) -> bool {
        let limits = |raise: &Self| raise.cause.limits();
        (self.kind, &self.message, limits(self)) == (other.kind, &other.message, limits(other))
    }
}

impl Eq for Raise {}

impl From<Raise> for Error {
    /// An error without a place.
    fn from(raise: Raise) -> Self {
        let mut error = Self::new(raise.kind, raise.message);
        error.0.cause = raise.cause;
        error
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Error, ErrorKind, Fault, LimitName, Raise};

    #[test]
    fn a_limit_has_a_name() {
        let error = Error::at(Raise::limit(LimitName::Item, "too many bytes"), 7, String::new());
        assert_eq!(error.limit(), Some("item"));
        assert_eq!((error.kind(), error.fault()), (ErrorKind::Limit, Fault::Limit));
        assert_eq!(error.to_string(), "byte 7: too many bytes (limit `item`)");
        assert_eq!(format!("{error:#}"), "byte 7: too many bytes");
        let held = Error::from(Raise::limit(LimitName::HeldAndSpill, "too many bytes"));
        assert_eq!((held.limit(), held.limits()), (Some("held"), &["held", "spill"][..]));
        assert_eq!(held.message(), "too many bytes");
        assert_eq!(held.to_string(), "too many bytes (limits `held` and `spill`)");
        assert_eq!(Error::from(held.to_raise()).limits(), held.limits());
    }

    #[test]
    fn a_full_disk_keeps_its_cause() {
        let cause = io::Error::from(io::ErrorKind::StorageFull);
        let text = cause.to_string();
        let error = Error::from(Raise::spill("the temporary file cannot be written", cause));
        assert_eq!((error.kind(), error.fault()), (ErrorKind::Spill, Fault::Limit));
        assert_eq!(error.io_error().map(io::Error::kind), Some(io::ErrorKind::StorageFull));
        assert!(std::error::Error::source(&error).is_some());
        assert_eq!(error.limit(), None);
        assert_eq!(error.to_string(), format!("the temporary file cannot be written: {text}"));
    }

    #[test]
    fn a_bug_is_the_fault_of_nobody_else() {
        let error = Error::new(ErrorKind::Internal, "worker task panicked or was cancelled");
        assert_eq!((error.kind().as_str(), error.fault()), ("internal", Fault::Bug));
        assert_eq!(error.offset(), None);
    }
}
