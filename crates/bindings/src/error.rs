//! The one error of both packages, made of the errors of the library.

use std::fmt;
use std::ops::Deref;

use tamis::{Error, ErrorKind, FailedRun, Fault};
use tamis_manifest::{Diagnostic, ManifestError, ManifestErrorKind};

/// A failure, boxed because results carry it. Its members are those of [`ErrorMembers`].
#[derive(Debug, Default)]
pub struct BindingError(Box<ErrorMembers>);

/// A failure, as the attributes of an exception.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ErrorMembers {
    /// The class: a kind of [`tamis::ErrorKind`], or of a manifest: `manifest`, `unknown_tool`,
    /// `unknown_service`, `ambiguous`, `read`.
    pub kind: &'static str,
    /// The party that has to act: `input`, `spec`, `limit`, `sink`, `caller` or `bug`.
    pub fault: &'static str,
    /// The byte of the input at which the run failed.
    pub offset: Option<u64>,
    /// The JSON Pointer of the value in which the run failed.
    pub path: String,
    /// The name of the reached limit.
    pub limit: Option<&'static str>,
    /// The text without the place.
    pub message: String,
    /// The text with the place, on one line.
    pub display: String,
    /// The output of the failed call before it failed. Empty where a run writes nothing before it succeeds.
    pub output: Vec<u8>,
    /// The report of the failed run, as JSON.
    pub report: Option<String>,
    /// The problems of a manifest.
    pub problems: Vec<ManifestProblem>,
}

/// One problem of a manifest, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestProblem {
    /// The name of the file.
    pub file: String,
    /// The line, counted from 1; 0 if there is none.
    pub line: usize,
    /// The column in characters, counted from 1; 0 if there is none.
    pub column: usize,
    /// The message: what was found and what was expected.
    pub message: String,
}

impl From<&Diagnostic> for ManifestProblem {
    fn from(problem: &Diagnostic) -> Self {
        Self {
            file: problem.file().to_owned(),
            line: problem.line(),
            column: problem.column(),
            message: problem.message().to_owned(),
        }
    }
}

impl BindingError {
    /// The error of options that cannot be read.
    pub(crate) fn options(error: &serde_json::Error) -> Self {
        let full = error.to_string();
        // The place is one of the JSON text, which the caller has not written.
        let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(text, _)| text);
        let message = plain(message);
        let message = &corrected(&message).unwrap_or(message);
        Self::from(ErrorMembers {
            kind: "spec",
            fault: "spec",
            message: message.to_owned(),
            display: message.to_owned(),
            ..ErrorMembers::default()
        })
    }

    /// The error of a call after the end of a run.
    pub(crate) fn over(message: &str, report: String) -> Self {
        Self::from(ErrorMembers {
            kind: ErrorKind::Failed.as_str(),
            fault: "caller",
            message: message.to_owned(),
            display: message.to_owned(),
            report: Some(report),
            ..ErrorMembers::default()
        })
    }

    /// The error with what the call wrote before it, and the report.
    pub(crate) fn of_run(error: &Error, output: Vec<u8>, report: Option<String>) -> Self {
        let mut failed = Self::from(error);
        failed.0.output = output;
        failed.0.report = report;
        failed
    }

    /// Creates an error of the reader or the writer that the caller passed. `kind` is `read` or `write`.
    #[must_use]
    pub fn io(kind: &'static str, error: std::io::Error) -> Self {
        Self::from(&match kind {
            "read" => Error::read(error),
            _ => Error::write(error),
        })
    }
}

/// The names of Rust's types in messages, and plain words for them.
const TYPES: [(&str, &str); 6] = [
    ("struct Spec", "an object with rules"),
    ("struct CallMembers", "an object with options"),
    ("u64", "a whole number"),
    ("usize", "a whole number"),
    ("a sequence", "an array"),
    ("a map", "an object"),
];

/// Returns the error of serde about an unknown member with the member that was probably meant, in place of the list of all.
fn corrected(message: &str) -> Option<String> {
    let (unknown, known) = message.split_once(", expected ")?;
    let word = unknown.strip_prefix("unknown field `")?.strip_suffix('`')?;
    let known = known.split('`').skip(1).step_by(2);
    let closest = tamis_manifest::suggest::closest(word, known)?;
    Some(format!("{unknown}; did you mean `{closest}`?"))
}

/// Replaces the name of the type that was expected.
fn plain(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let known = TYPES.iter().find(|(name, _)| *name == expected).map(|(_, words)| *words);
    let other = if expected.starts_with("struct ") { "an object" } else { expected };
    format!("{found}, expected {}", known.unwrap_or(other))
}

impl BindingError {
    /// Returns the members, to be moved into an exception.
    #[must_use]
    pub fn into_members(self) -> ErrorMembers {
        *self.0
    }
}

impl From<ErrorMembers> for BindingError {
    fn from(members: ErrorMembers) -> Self {
        Self(Box::new(members))
    }
}

impl Deref for BindingError {
    type Target = ErrorMembers;

    fn deref(&self) -> &ErrorMembers {
        &self.0
    }
}

impl From<&Error> for BindingError {
    fn from(error: &Error) -> Self {
        Self::from(ErrorMembers {
            kind: error.kind().as_str(),
            fault: match error.fault() {
                Fault::Input => "input",
                Fault::Spec => "spec",
                Fault::Limit => "limit",
                Fault::Sink => "sink",
                Fault::Caller => "caller",
                _ => "bug",
            },
            offset: error.offset(),
            path: error.path().to_owned(),
            limit: error.limit(),
            message: error.message().to_owned(),
            display: error.to_string(),
            ..ErrorMembers::default()
        })
    }
}

impl<R: serde::Serialize> From<FailedRun<R>> for BindingError {
    fn from(failed: FailedRun<R>) -> Self {
        let report = serde_json::to_string(&failed.report).ok();
        Self::of_run(&failed.error, Vec::new(), report)
    }
}

impl From<ManifestError> for BindingError {
    fn from(error: ManifestError) -> Self {
        let (kind, fault) = match error.kind() {
            ManifestErrorKind::Read => ("read", "spec"),
            ManifestErrorKind::UnknownTool => ("unknown_tool", "caller"),
            ManifestErrorKind::Ambiguous => ("ambiguous", "spec"),
            ManifestErrorKind::UnknownService => ("unknown_service", "caller"),
            _ => ("manifest", "spec"),
        };
        let problems = error.problems().iter().map(ManifestProblem::from);
        let text = error.to_string();
        Self::from(ErrorMembers {
            kind,
            fault,
            problems: problems.collect(),
            message: text.clone(),
            display: text,
            ..ErrorMembers::default()
        })
    }
}

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

impl std::error::Error for BindingError {}
