//! [`OutputFilter`]: the trait for filters that are written in Rust.

use std::collections::HashSet;

use tamis::text::TextReport;
use tamis_text::notice;

/// Filters the output of some commands in code, if rules cannot describe the filter. Register it with
/// [`OutputFilterRegistry::register`](crate::OutputFilterRegistry::register).
///
/// The filter gets the whole output, which is held: at most [`Limits::held`](tamis::Limits::with_held) bytes. Longer
/// output is passed through; so is output that is not UTF-8, and output for which the result is not shorter.
///
/// ```
/// use tamis_command::{FilterResult, OutputFilter, OutputFilterRegistry};
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
    /// Returns whether this filter applies to a command. `command` is the command line as it was typed. For a program
    /// started without a shell, it is the program and its arguments, quoted for a shell.
    fn matches(&self, command: &str) -> bool;

    /// Filters an output. The exit code is -1 if it is not known, or if the command was killed.
    fn filter(&self, command: &str, raw_output: &str, exit_code: i32) -> FilterResult;

    /// Returns the name of the filter: reports use it, and
    /// [`OutputFilterRegistry::without`](crate::OutputFilterRegistry::without) turns the filter off by it.
    fn name(&self) -> &str {
        "custom"
    }
}

/// A filtered output and its sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterResult {
    /// The filtered output.
    pub output: String,
    /// Characters (Unicode scalar values) of the raw output.
    pub raw_chars: usize,
    /// Characters of the filtered output.
    pub filtered_chars: usize,
    /// Bytes of the raw output.
    pub raw_bytes: usize,
    /// Bytes of the filtered output.
    pub filtered_bytes: usize,
}

impl FilterResult {
    /// Creates the result of filtering `raw_output` to `output`, and counts both.
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

/// Marks the lines of an [`OutputFilter`]'s result that look like a notice and occur in the raw output. Returns the
/// marked result and the number of marked lines. Notices that the filter itself wrote are not marked.
pub(super) fn mark_imitations(raw: &str, result: String) -> (String, u64) {
    let is_notice = |line: &&str| notice::looks_like_one(line.as_bytes(), true);
    let imitations: HashSet<&str> = raw.lines().filter(is_notice).collect();
    if imitations.is_empty() {
        return (result, 0);
    }
    let mut count = 0;
    let mut out = String::with_capacity(result.len());
    for line in result.split_inclusive('\n') {
        if imitations.contains(line.lines().next().unwrap_or_default()) {
            out.push_str(notice::MARK);
            count += 1;
        }
        out.push_str(line);
    }
    (out, count)
}

/// Returns the sizes of a text and of the result of an [`OutputFilter`].
pub(super) fn report_of(raw: &str, out: &str) -> TextReport {
    let mut report = TextReport::default();
    report.changed = true;
    (report.bytes_in, report.chars_in) = (raw.len() as u64, raw.chars().count() as u64);
    (report.lines_in, report.lines_out) = (raw.lines().count() as u64, out.lines().count() as u64);
    report.lines_removed = report.lines_in.saturating_sub(report.lines_out);
    report.lines_shortened = u64::from(report.lines_out >= report.lines_in);
    report
}
