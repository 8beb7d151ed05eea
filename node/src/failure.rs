//! A failure as an object, and outputs as buffers.

use napi::bindgen_prelude::{Buffer, BufferSlice, Either, Env};
use napi_derive::napi;
use tamis_bindings::{BindingError, ManifestProblem};

/// The members of a `TamisError`.
#[napi(object)]
pub struct Failure {
    pub kind: String,
    pub fault: String,
    pub offset: Option<i64>,
    pub path: String,
    pub limit: Option<String>,
    pub message: String,
    pub display: String,
    pub output: Buffer,
    /// JSON.
    pub report: Option<String>,
    pub problems: Vec<Problem>,
}

/// One problem of a manifest.
#[napi(object)]
pub struct Problem {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

impl From<ManifestProblem> for Problem {
    fn from(problem: ManifestProblem) -> Self {
        Self {
            file: problem.file,
            line: u32::try_from(problem.line).unwrap_or(u32::MAX),
            column: u32::try_from(problem.column).unwrap_or(u32::MAX),
            message: problem.message,
        }
    }
}

impl From<BindingError> for Failure {
    fn from(error: BindingError) -> Self {
        let members = error.into_members();
        Self {
            kind: members.kind.to_owned(),
            fault: members.fault.to_owned(),
            offset: members.offset.and_then(|offset| i64::try_from(offset).ok()),
            path: members.path,
            limit: members.limit.map(str::to_owned),
            problems: members.problems.into_iter().map(Problem::from).collect(),
            message: members.message,
            display: members.display,
            output: members.output.into(),
            report: members.report,
        }
    }
}

/// The result of a call: a value, or a failure to be thrown.
pub(crate) type Outcome<T> = Either<T, Failure>;

/// Returns the value or the failure.
pub(crate) fn outcome<T>(result: Result<T, BindingError>) -> Outcome<T> {
    match result {
        Ok(value) => Either::A(value),
        Err(error) => Either::B(error.into()),
    }
}

/// Below this size copying an output is cheaper than handing over its allocation.
const COPIED: usize = 64 << 10;

/// Returns an output as a buffer, or the failure.
pub(crate) fn buffer<'env>(
    env: &'env Env,
    result: Result<Vec<u8>, BindingError>,
) -> napi::Result<Outcome<BufferSlice<'env>>> {
    Ok(match result {
        Ok(output) if output.len() < COPIED => Either::A(BufferSlice::copy_from(env, output)?),
        Ok(output) => Either::A(BufferSlice::from_data(env, output)?),
        Err(error) => Either::B(error.into()),
    })
}
