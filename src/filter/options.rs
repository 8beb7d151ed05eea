//! What one call asks for, on top of the program.

use super::program::Compiled;
use crate::limits::Limits;
use crate::scan::Scanner;

/// What one call asks for.
///
/// ```
/// use tamis::{CallOptions, Program, Spec, filter_slice_with};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let options = CallOptions::new().raw(true);
/// let (output, report) = filter_slice_with(&program, &options, br#"{"id": 1, "x": 2}"#)?;
/// assert_eq!(output, br#"{"id":1,"x":2}"#);
/// assert_eq!(report.filter_skipped, Some("raw_mode"));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    raw: bool,
    is_error: bool,
    limits: Limits,
    scanner: Option<Scanner>,
}

impl CallOptions {
    /// Filtered output, of a call that succeeded, under the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The caller wants the document unfiltered (kimbap's `_output_mode: raw`): it is validated and minified, and what
    /// the spec extracts is the document. Ignored where the spec says `allow_raw: false`, which specs with `retain` do
    /// unless told otherwise.
    #[must_use]
    pub fn raw(mut self, yes: bool) -> Self {
        self.raw = yes;
        self
    }

    /// The document is the answer of a call that failed: rules on items do not apply to it, and nothing is
    /// extracted. Those of a spec that retains, or refuses raw output, do: what they remove must not leave by failing.
    #[must_use]
    pub fn is_error(mut self, yes: bool) -> Self {
        self.is_error = yes;
        self
    }

    /// How much the run may hold.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Which kernel scans: for tests.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn scan_with(mut self, scanner: Scanner) -> Self {
        self.scanner = Some(scanner);
        self
    }

    pub(super) fn scanner(&self) -> Scanner {
        self.scanner.unwrap_or_else(Scanner::new)
    }

    pub(crate) fn limits_ref(&self) -> &Limits {
        &self.limits
    }

    /// Whether the document is an error that the program lets pass as it is.
    pub(super) fn is_error_of(&self, program: &Compiled) -> bool {
        self.is_error && program.retain.is_none() && program.spec.allows_raw()
    }

    /// Why the rules are skipped, if they are.
    pub(super) fn skips(&self, program: &Compiled) -> Option<&'static str> {
        if self.is_error_of(program) {
            Some("error_response")
        } else if self.raw && program.spec.allows_raw() {
            Some("raw_mode")
        } else {
            None
        }
    }
}
