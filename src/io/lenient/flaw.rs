//! Converts struson's errors.
//!
//! A flaw does not depend on the text or on rules. Places are lines and columns of the original text.

use struson::reader::{JsonReaderPosition, ReaderError, SyntaxErrorKind, TransferError};
use struson::writer::JsonNumberError;

use tamis_json::error::{Error, ErrorKind, LimitName, Raise};

/// Why the text cannot be cleaned. If the front has an error, that one is the reason.
pub(super) struct LenientFlaw(pub(super) Error);

impl LenientFlaw {
    pub(super) fn at(place: &JsonReaderPosition, kind: ErrorKind, message: &str) -> Self {
        let message = match place.line_pos {
            Some(at) => format!("line {}, column {}: {message}", at.line + 1, at.column + 1),
            None => message.to_owned(),
        };
        Self(Error::new(kind, message))
    }

    pub(super) fn limit(place: &JsonReaderPosition, name: LimitName, message: &str) -> Self {
        let Self(placed) = Self::at(place, ErrorKind::Limit, message);
        Self(Raise::limit(name, placed.message().to_owned()).into())
    }
}

impl From<ReaderError> for LenientFlaw {
    fn from(error: ReaderError) -> Self {
        match error {
            ReaderError::SyntaxError(error) => {
                let (kind, message) = describe(error.kind);
                Self::at(&error.location, kind, message)
            }
            ReaderError::MaxNestingDepthExceeded { location, .. } => {
                Self::limit(&location, LimitName::Depth, "too many containers are open")
            }
            // The front has the errors of the source.
            ReaderError::IoError { location, .. } => {
                Self::at(&location, ErrorKind::Encoding, "invalid UTF-8")
            }
            error => Self(Error::new(ErrorKind::Syntax, error.to_string())),
        }
    }
}

impl From<std::io::Error> for LenientFlaw {
    /// The writer fails only if the front has an error.
    fn from(error: std::io::Error) -> Self {
        Self(Error::write(error))
    }
}

impl From<TransferError> for LenientFlaw {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::ReaderError(error) => error.into(),
            TransferError::WriterError(error) => error.into(),
        }
    }
}

impl From<JsonNumberError> for LenientFlaw {
    fn from(error: JsonNumberError) -> Self {
        match error {
            JsonNumberError::InvalidNumber(message) => Self(Error::new(ErrorKind::Syntax, message)),
            JsonNumberError::IoError(error) => error.into(),
        }
    }
}

/// Returns the message for an error of struson.
fn describe(kind: SyntaxErrorKind) -> (ErrorKind, &'static str) {
    use SyntaxErrorKind as Kind;
    let message = match kind {
        Kind::IncompleteDocument => {
            return (ErrorKind::UnexpectedEnd, "unexpected end of the document");
        }
        Kind::BlockCommentNotClosed => {
            return (ErrorKind::UnexpectedEnd, "unterminated comment, expected `*/`");
        }
        Kind::IncompleteComment => "invalid comment, expected `//` or `/*`",
        Kind::InvalidLiteral | Kind::TrailingDataAfterLiteral => {
            "expected `true`, `false` or `null`"
        }
        Kind::UnexpectedClosingBracket => "unexpected closing bracket",
        Kind::UnexpectedComma => "unexpected `,`",
        Kind::MissingComma => "expected `,` or a closing bracket",
        Kind::UnexpectedColon => "unexpected `:`",
        Kind::MissingColon => "expected `:`",
        Kind::MalformedNumber | Kind::TrailingDataAfterNumber => "invalid number",
        Kind::ExpectingMemberNameOrObjectEnd => "expected a key in quotes or `}`",
        Kind::MalformedJson => "expected a value",
        Kind::NotEscapedControlCharacter => "unescaped control character",
        Kind::UnknownEscapeSequence | Kind::MalformedEscapeSequence => "invalid escape sequence",
        Kind::UnpairedSurrogatePairEscapeSequence => {
            "lone surrogate escape, which is supported only without comments"
        }
        Kind::TrailingData => "trailing characters after the document",
        _ => "invalid JSON with comments",
    };
    (ErrorKind::Syntax, message)
}
