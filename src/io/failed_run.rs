//! The result of a driver: the report, on failure too.

use std::fmt;

use tamis_json::error::Error;

/// The result of a driver: `T`, or the error together with the report so far, of type `R`. `T` is the report, or the output
/// and the report.
///
/// In a function that returns [`Error`], `?` drops the report. [`FailedRun::split`] keeps it in both cases.
pub type RunResult<T, R = T> = Result<T, FailedRun<R>>;

/// The error that ended a run, and the report of what the run did until then.
///
/// ```
/// use tamis::{ErrorKind, FailedRun, Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let FailedRun { error, report, .. } = filter_slice(&program, br#"[{"id": 1}, oops]"#).unwrap_err();
/// assert_eq!(error.offset(), Some(12));
/// assert_eq!(report.error.map(|error| error.kind), Some(ErrorKind::Syntax));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedRun<R> {
    /// The error that ended the run.
    pub error: Error,
    /// The report of what the run did before the error. It contains the error, too.
    pub report: Box<R>,
}

impl<R> FailedRun<R> {
    #[doc(hidden)]
    pub fn new(error: Error, report: R) -> Self {
        Self { error, report: Box::new(report) }
    }

    /// Separates the report, which there always is, from the success or failure of the run.
    ///
    /// ```
    /// use tamis::{FailedRun, Program, Spec, filter_ndjson};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let result = filter_ndjson(&program, &b"{\"id\": 1}\noops"[..], std::io::sink(), |_, _| {});
    /// let (report, result) = FailedRun::split(result);
    /// assert_eq!(report.result_bytes, 8);
    /// assert!(result.is_err());
    /// # Ok::<(), tamis::Error>(())
    /// ```
    ///
    /// # Errors
    /// The second value is the error of the run.
    pub fn split(result: RunResult<R>) -> (R, Result<(), Error>) {
        match result {
            Ok(report) => (report, Ok(())),
            Err(Self { error, report }) => (*report, Err(error)),
        }
    }

    #[doc(hidden)]
    pub fn join(result: Result<(), Error>, report: R) -> RunResult<R> {
        match result {
            Ok(()) => Ok(report),
            Err(error) => Err(Self::new(error, report)),
        }
    }
}

impl<R> fmt::Display for FailedRun<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<R: fmt::Debug> std::error::Error for FailedRun<R> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl<R> From<FailedRun<R>> for Error {
    fn from(failed: FailedRun<R>) -> Self {
        failed.error
    }
}
