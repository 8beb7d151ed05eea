//! What a filter of one's own is: a trait, and what it gives.
//!
//! Knows no registry and no built-in filter.

/// Filters the output of some commands: for those that rules cannot describe. Register it with an
/// [`OutputFilterRegistry`](crate::OutputFilterRegistry).
///
/// It is given a whole output, so the output is held: at most [`Limits::held`](crate::Limits::with_held) bytes of it. Output
/// beyond that, output that is not UTF-8, and a result that is not shorter, pass as they came.
///
/// ```
/// use tamis::{FilterResult, OutputFilter, OutputFilterRegistry};
///
/// struct Last;
/// impl OutputFilter for Last {
///     fn matches(&self, command: &str) -> bool {
///         command.starts_with("deploy ")
///     }
///     fn filter(&self, _command: &str, raw_output: &str, exit_code: i32) -> FilterResult {
///         let last = raw_output.lines().last().unwrap_or_default();
///         let output = if exit_code == 0 { last } else { raw_output };
///         FilterResult::new(raw_output, output)
///     }
/// }
///
/// let registry = OutputFilterRegistry::new().register(Last);
/// let result = registry.apply("deploy web", "copying a\ncopying b\nis up", 0);
/// assert_eq!(result.output, "is up");
/// assert_eq!((result.raw_chars, result.filtered_chars), (25, 5));
/// assert_eq!(registry.apply("make", "copying a", 0).output, "copying a");
/// ```
pub trait OutputFilter: Send + Sync {
    /// Whether the output of this command is filtered. The command is what was typed; its arguments as a shell would read
    /// them, if a program was started without one.
    fn matches(&self, command: &str) -> bool;

    /// Filters an output. The exit code is -1 where it is not known, or there is none (the command was killed).
    fn filter(&self, command: &str, raw_output: &str, exit_code: i32) -> FilterResult;

    /// What reports call it, and by which it is turned off.
    fn name(&self) -> &str {
        "custom"
    }
}

/// What became of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterResult {
    /// What is left.
    pub output: String,
    /// Characters (Unicode scalar values) that went in.
    pub raw_chars: usize,
    /// Characters that came out.
    pub filtered_chars: usize,
    /// Bytes that went in.
    pub raw_bytes: usize,
    /// Bytes that came out.
    pub filtered_bytes: usize,
}

impl FilterResult {
    /// The result that is `output`, of what was `raw_output`: both are counted.
    #[must_use]
    pub fn new(raw_output: &str, output: impl Into<String>) -> Self {
        let output = output.into();
        Self {
            raw_chars: raw_output.chars().count(),
            filtered_chars: output.chars().count(),
            raw_bytes: raw_output.len(),
            filtered_bytes: output.len(),
            output,
        }
    }
}
