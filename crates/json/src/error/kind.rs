//! The classes of errors, and whose fault they are.

/// The class of an [`Error`](crate::Error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The document is not valid JSON (RFC 8259).
    Syntax,
    /// The document, or the encoded body that contains it, ended too early or is empty.
    UnexpectedEnd,
    /// The document is not valid UTF-8, or the body that contains it cannot be decoded.
    Encoding,
    /// A limit was reached; [`Error::limit`](crate::Error::limit) returns its name.
    Limit,
    /// No selected path was found and the spec says `on_error: closed`; the document has no value where the spec
    /// extracts one; or no branch of `when` applies and the spec makes that an error.
    Miss,
    /// An object has two members of one name, and the spec says `duplicate_keys: reject` or selects a branch by that
    /// member.
    Duplicate,
    /// An operation of `patches` cannot be applied.
    Patch,
    /// A factored document cannot be restored: it was changed, or cut in the middle.
    Restore,
    /// The output exceeds its budget, and the spec or the call says `on_over: error`.
    Budget,
    /// The spec cannot be compiled.
    Spec,
    /// The reader failed, or its file changed while it was read.
    Read,
    /// The writer failed.
    Write,
    /// The temporary file for held bytes cannot be created, written or read. [`Error::io_error`](crate::Error::io_error) returns the cause.
    Spill,
    /// The filter was used after it had failed or ended.
    Failed,
    /// A bug in tamis, or a worker task that panicked or was cancelled.
    Internal,
}

impl ErrorKind {
    /// Returns the kind in lower-case words, as in a report.
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
            Self::Restore => "restore",
            Self::Budget => "budget",
            Self::Spec => "spec",
            Self::Read => "read",
            Self::Write => "write",
            Self::Spill => "spill",
            Self::Failed => "failed",
            Self::Internal => "internal",
        }
    }
}

/// The party that has to act on an [`Error`](crate::Error). A gateway picks its status from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The sender of the document: it is malformed or truncated, or not what the spec expects.
    Input,
    /// The author of the spec.
    Spec,
    /// The host that sets the limits: the document is larger or deeper than allowed, does not fit its budget, or does
    /// not fit the folder of temporary files.
    Limit,
    /// The receiver of the output.
    Sink,
    /// The caller: the filter was used after it had failed or ended.
    Caller,
    /// tamis itself: a bug, or a worker task that was lost.
    Bug,
}

impl Fault {
    /// Returns the status code of the response that replaces one that could not be filtered (RFC 9110 §15.6).
    ///
    /// 502 (Bad Gateway) if the sender of the document is at fault or the document exceeds a limit, otherwise 500
    /// (Internal Server Error).
    ///
    /// ```
    /// assert_eq!(tamis::Fault::Input.status(), 502);
    /// assert_eq!(tamis::Fault::Spec.status(), 500);
    /// ```
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::Input | Self::Limit => 502,
            Self::Spec | Self::Sink | Self::Caller | Self::Bug => 500,
        }
    }
}
