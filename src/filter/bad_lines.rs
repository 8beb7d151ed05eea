//! The option for lines that are not JSON.

/// The treatment of lines of NDJSON that are not JSON, such as a stack trace between the lines of a log.
///
/// A line that is JSON but fails for another reason, such as a limit or `on_error: closed`, is an error in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadLines {
    /// It emits nothing, and the run fails after the last line.
    #[default]
    Fail,
    /// It emits nothing, and the run goes on without an error.
    Skip,
    /// It is written as it was read, and the run goes on without an error. Refused if a rule
    /// [removes for safety](crate::Spec::removes_for_safety), because such a line is not filtered.
    ///
    /// The line is held until its end, within [`Limits::held`](crate::Limits::held) and [`Limits::spill`](crate::Limits::spill). A longer one is an error.
    Pass,
}
