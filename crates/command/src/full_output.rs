//! [`FullOutput`]: where a full output can be read, as notices say it.

use super::cap::CapReport;

/// Where the full output of a command can be read. Notices name it.
///
/// ```
/// use tamis_command::{FullOutput, OutputCap};
///
/// let full_output = FullOutput::command("tamis recall tm_x");
/// let text = "line\n".repeat(10);
/// let (output, _) = OutputCap::new().with_max_lines(4).apply(text.as_bytes(), full_output);
/// assert!(output.ends_with(b"; full output: tamis recall tm_x --lines 2-9]\n"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullOutput {
    place: String,
    prints_lines: bool,
}

impl FullOutput {
    /// Creates the place of an output that is in a file, or that a command prints.
    #[must_use]
    pub fn new(place: impl Into<String>) -> Self {
        Self { place: place.into(), prints_lines: false }
    }

    /// Creates the place of an output that a command prints. With `--lines FIRST-LAST` appended, the command prints only
    /// these lines, counted from 1; with `--offset N`, what follows the first `N` bytes.
    #[must_use]
    pub fn command(command: impl Into<String>) -> Self {
        Self { place: command.into(), prints_lines: true }
    }

    /// Returns the place.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.place
    }

    /// Returns the place of the lines that a cap left out of this output, or of the first byte if it left out parts of lines.
    /// Bytes are only those of this output if the cap got it `unchanged`: a mark before a line that imitates a notice, and escape
    /// sequences that were removed, move all that follow.
    pub(super) fn with_lines_of(&self, report: &CapReport, unchanged: bool) -> String {
        let place = &self.place;
        let splits = report.splits_line && self.prints_lines && unchanged;
        if let Some(first) = report.first_byte.filter(|_| splits) {
            return format!("{place} --offset {first}");
        }
        match report.range.filter(|_| !report.splits_line) {
            None => place.clone(),
            Some((first, last)) if self.prints_lines && first == last => {
                format!("{place} --lines {first}")
            }
            Some((first, last)) if self.prints_lines => format!("{place} --lines {first}-{last}"),
            Some((first, last)) if first == last => format!("{place} (line {first})"),
            Some((first, last)) => format!("{place} (lines {first}-{last})"),
        }
    }
}

impl From<String> for FullOutput {
    fn from(place: String) -> Self {
        Self::new(place)
    }
}

impl From<&str> for FullOutput {
    fn from(place: &str) -> Self {
        Self::new(place)
    }
}
