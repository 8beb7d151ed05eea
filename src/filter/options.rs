//! What one call asks for, on top of the program.

use super::program::Compiled;
use crate::error::Error;
use crate::limits::Limits;
use crate::report::SkipReason;
use crate::reserved;
use crate::scan::Scanner;
use crate::spec::{Budget, Omitted, OnOver};

/// What one call asks for.
///
/// ```
/// use tamis::{CallOptions, Program, SkipReason, Spec, filter_slice_with};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let options = CallOptions::new().raw(true);
/// let (output, report) = filter_slice_with(&program, &options, br#"{"id": 1, "x": 2}"#)?;
/// assert_eq!(output, br#"{"id":1,"x":2}"#);
/// assert_eq!(report.filter_skipped, Some(SkipReason::RawMode));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    raw: bool,
    is_error: bool,
    policy: CallPolicy,
    limits: Limits,
    suggest: bool,
    scanner: Option<Scanner>,
}

/// What a call says of the size of its output.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallPolicy {
    pub(super) budget: Option<Budget>,
    pub(super) min_items: Option<u64>,
    pub(super) omitted: Option<Omitted>,
    pub(super) on_over: Option<OnOver>,
}

impl CallOptions {
    /// Filtered output, of a call that succeeded, under the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The caller wants the document unfiltered (kimbap's `_output_mode: raw`): it is validated and minified, and what
    /// the spec extracts is the document. No other rule applies, nor does a budget. Ignored where the spec says
    /// [`allow_raw(false)`](crate::Spec::allow_raw), as reShapr's artifacts do.
    ///
    /// ### Caveat
    /// Raw output has what `exclude`, `retain` and `patches` remove. A spec that must not be evaded by who makes the call says
    /// `allow_raw: false`.
    #[must_use]
    pub fn raw(mut self, yes: bool) -> Self {
        self.raw = yes;
        self
    }

    /// The document is the response of a call that failed, and probably has another shape than one that succeeded.
    ///
    /// - Rules that save do not apply: `select`, `max_items`, `siblings`, the drops, `compact`, `content`. Nothing is a miss.
    /// - Rules that remove apply, so that failing is no way around them: `when`, `retain`, `patches`, and `exclude`, which is
    ///   read against the names of the document.
    /// - `extract`, `text_filter` and budgets apply. If nothing is where `extract` says, the document is filtered as it is.
    /// - With `on_error: closed` the document is an error if the spec has a `select`, or if it lacks what is extracted.
    ///
    /// With [`raw`](Self::raw), where that is allowed, only `extract` applies.
    ///
    /// ```
    /// use tamis::{CallOptions, Program, SkipReason, Spec, filter_slice_with};
    ///
    /// let program = Program::compile(&Spec::new().select("id").exclude("token"))?;
    /// let options = CallOptions::new().is_error(true);
    /// let (output, report) = filter_slice_with(&program, &options, br#"{"error": "no", "token": "x"}"#)?;
    /// assert_eq!(output, br#"{"error":"no"}"#);
    /// assert_eq!(report.filter_skipped, Some(SkipReason::ErrorResponse));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn is_error(mut self, yes: bool) -> Self {
        self.is_error = yes;
        self
    }

    /// How long the output of this call may be, whatever the spec says of it; it is minified, even where the spec says
    /// `whitespace: keep`. 0 bytes or tokens: the call says nothing,
    /// and the spec's budget counts, if it has one.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.policy.budget = budget.unless_zero();
        self
    }

    /// Items that a budget keeps in this call, whatever the spec says.
    #[must_use]
    pub fn min_items(mut self, count: u64) -> Self {
        self.policy.min_items = Some(count);
        self
    }

    /// Whether the output of this call says what was left out of it, whatever the spec says.
    #[must_use]
    pub fn omitted(mut self, omitted: Omitted) -> Self {
        self.policy.omitted = Some(omitted);
        self
    }

    /// What happens in this call to an output that is longer than its budget, whatever the spec says.
    #[must_use]
    pub fn on_over(mut self, on_over: OnOver) -> Self {
        self.policy.on_over = Some(on_over);
        self
    }

    /// What the input of a call asks for, a JSON object: kimbap's `_output_mode` and `_budget`, which tools with a filter
    /// take beside their own parameters ([`Spec::reserved_parameters`](crate::Spec::reserved_parameters)). All other
    /// members are checked to be JSON, and ignored.
    ///
    /// - `_output_mode`: the text `raw` is raw output. Anything else is filtered output.
    /// - `_budget`: a number is that many bytes, however it is written (`4096`, `4096.0`, `4.096e3`), and without its
    ///   fraction; so is a text that is nothing but such a number, since models and command lines write them (`"4096"`).
    ///   What is below 1, and anything else, is no budget. What is past 64 bits is the largest budget there is.
    ///
    /// Names are compared after unescaping. Of two members of one name the last counts, as in Go: an input means here what
    /// it means to the tool.
    ///
    /// # Errors
    /// The input is not a JSON object ([`ErrorKind::Syntax`](crate::ErrorKind::Syntax),
    /// [`ErrorKind::UnexpectedEnd`](crate::ErrorKind::UnexpectedEnd), [`ErrorKind::Encoding`](crate::ErrorKind::Encoding)),
    /// or has more than 1,024 containers inside one another ([`ErrorKind::Limit`](crate::ErrorKind::Limit)).
    ///
    /// # Complexity
    /// Linear in the input, of which nothing is copied.
    ///
    /// ```
    /// use tamis::{CallOptions, Program, Spec, filter_slice_with};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let options = CallOptions::from_json(br#"{"owner": "mira", "_output_mode": "raw"}"#)?;
    /// let (output, _) = filter_slice_with(&program, &options, br#"{"id": 1, "x": 2}"#)?;
    /// assert_eq!(output, br#"{"id":1,"x":2}"#);
    ///
    /// let error = CallOptions::from_json(b"[]").unwrap_err();
    /// assert_eq!(error.to_string(), "byte 0: the input of a call is a JSON object");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn from_json(input: &[u8]) -> Result<Self, Error> {
        let asked = reserved::read(input)?;
        let policy =
            CallPolicy { budget: asked.budget.map(Budget::Bytes), ..CallPolicy::default() };
        Ok(Self { raw: asked.raw, policy, ..Self::new() })
    }

    /// Looks for the names that were probably meant by selected paths that no item has: in the report's
    /// [`missed`](crate::Report::missed), and in what it says of a total miss. The names of the first item are kept for
    /// it, some hundred at most, so that this item takes a little longer.
    ///
    /// ```
    /// use tamis::{CallOptions, Program, Spec, filter_slice_with};
    ///
    /// let program = Program::compile(&Spec::new().select("id").select("nmae"))?;
    /// let options = CallOptions::new().suggest(true);
    /// let (_, report) = filter_slice_with(&program, &options, br#"[{"id": 1, "name": "a"}]"#)?;
    /// assert_eq!(report.missed[0].path, "nmae");
    /// # #[cfg(feature = "manifest")]
    /// assert_eq!(report.missed[0].meant.as_deref(), Some("name"));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn suggest(mut self, yes: bool) -> Self {
        self.suggest = yes;
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

    /// Whether names are kept, for those that were probably meant.
    pub(super) fn suggests(&self) -> bool {
        self.suggest
    }

    pub(crate) fn limits_ref(&self) -> &Limits {
        &self.limits
    }

    /// What the call says of the size of its output.
    pub(super) fn policy(&self) -> CallPolicy {
        self.policy
    }

    /// The budget of the call, without the spec's.
    #[cfg(any(feature = "content", feature = "tokio", test))]
    pub(crate) fn call_budget(&self) -> Option<Budget> {
        self.policy.budget
    }

    /// Which rules of a program the call skips, if it skips any.
    pub(crate) fn skips(&self, program: &Compiled) -> Option<Skips> {
        match (self.raw && program.spec.allows_raw(), self.is_error) {
            (true, false) => Some(Skips::Raw),
            (true, true) => Some(Skips::RawOfFailed),
            (false, true) => Some(Skips::Failed),
            (false, false) => None,
        }
    }

    /// What the call asks of the program with the rules that are left.
    pub(super) fn of_rest(&self, skips: Option<Skips>) -> Self {
        let raw = matches!(skips, Some(Skips::Raw | Skips::RawOfFailed));
        let policy = if raw { CallPolicy::default() } else { self.policy };
        Self { raw: false, is_error: false, policy, ..self.clone() }
    }
}

/// Which rules a call skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skips {
    /// All but `extract`: raw output was asked for.
    Raw,
    /// The same, of a failed call.
    RawOfFailed,
    /// Those that do not apply to the response of a failed call.
    Failed,
}

impl Skips {
    /// The reason in the report.
    pub(super) fn reason(self) -> SkipReason {
        match self {
            Self::Raw | Self::RawOfFailed => SkipReason::RawMode,
            Self::Failed => SkipReason::ErrorResponse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, CallOptions};

    #[test]
    fn what_the_input_of_a_call_asks_for() {
        let read = |input: &str| {
            let options = CallOptions::from_json(input.as_bytes()).unwrap();
            (options.raw, options.call_budget())
        };
        assert_eq!(read("{}"), (false, None));
        assert_eq!(read(r#"{"_budget": 9}"#), (false, Some(Budget::Bytes(9))));
        assert_eq!(read(r#"{"_budget": -9, "_output_mode": "raw"}"#), (true, None));
    }

    #[test]
    fn a_budget_of_nothing_is_none() {
        let budget = |budget| CallOptions::new().budget(Budget::Bytes(3)).budget(budget);
        assert_eq!(budget(Budget::Tokens(5)).call_budget(), Some(Budget::Tokens(5)));
        assert_eq!(budget(Budget::Bytes(0)).call_budget(), None);
    }
}
