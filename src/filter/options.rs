//! The options of one call, in addition to the program.

use tamis_json::error::Error;
use tamis_json::limits::Limits;

use super::bad_lines::BadLines;
use super::compile::call::{CallPolicy, Skips};
use crate::filter::compile::program::CompiledProgram;
use tamis_json::scan::Scanner;
use tamis_json::tokens::CountTokens;
use tamis_text::MarkTable;
use tamis_text::words::Query;

use crate::reserved;
use crate::spec::{Budget, Omitted, OnOver, Prefer};

/// Options of one call.
///
/// ```
/// use tamis::{CallOptions, Program, SkipReason, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let options = CallOptions::new().with_raw(true);
/// let (output, report) = filter_slice(program.with_options(&options), br#"{"id": 1, "x": 2}"#)?;
/// assert_eq!(output, br#"{"id":1,"x":2}"#);
/// assert_eq!(report.skipped, Some(SkipReason::RawMode));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    raw: bool,
    is_error: bool,
    policy: CallPolicy,
    limits: Limits,
    suggest: bool,
    max_documents: u64,
    bad_lines: BadLines,
    scanner: Option<Scanner>,
    marks: Option<MarkTable>,
    query: Query,
    /// The input is the output of a run that restores factored documents.
    is_restored: bool,
}

impl CallOptions {
    /// Sets the table from which marks of personal data get the numbers of their values: `[email:1]` instead of
    /// `[redacted:email]` ([`Redact::personal`](crate::spec::Redact::personal)). Errors and warnings have no numbers.
    #[must_use]
    pub fn with_marks(mut self, marks: &MarkTable) -> Self {
        self.marks = Some(marks.clone());
        self
    }

    /// Returns the table with the numbers of personal data.
    #[must_use]
    pub fn marks(&self) -> Option<&MarkTable> {
        self.marks.as_ref()
    }

    /// Returns the defaults: filtered output of a successful call, within the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests unfiltered output (kimbap's `_output_mode: raw`). The document is validated and minified, and
    /// `extract` still selects the document. No other rule and no budget applies. Ignored if the spec sets
    /// [`allow_raw(false)`](crate::Spec::allow_raw), as reShapr's artifacts do.
    ///
    /// ### Caveat
    /// Raw output contains what `exclude`, `retain` and `patches` remove. Set `allow_raw: false` if callers must not
    /// bypass the spec.
    #[must_use]
    pub fn with_raw(mut self, yes: bool) -> Self {
        self.raw = yes;
        self
    }

    /// Marks the document as the response of a failed call, which probably has a different shape.
    ///
    /// - Rules that shorten do not apply: `select`, `max_items`, `siblings`, the drops, `compact`, `content`. Nothing
    ///   is a miss.
    /// - Rules that remove still apply, so that a failing call cannot bypass them: `when`, `retain`, `patches` and
    ///   `exclude`. `exclude` is matched against the names of the document. A path that begins with an output key of
    ///   `select` is also matched at the source of that key.
    /// - `extract`, `text_filter` and budgets apply. If there is no value at `extract`, the whole document is
    ///   filtered.
    /// - With `on_error: closed` the document is an error if the spec has a `select`, or if the value at `extract` is
    ///   missing.
    ///
    /// With [`with_raw`](Self::with_raw), if the spec allows it, only `extract` applies.
    ///
    /// ```
    /// use tamis::{CallOptions, Program, SkipReason, Spec, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().select("id").exclude("token"))?;
    /// let options = CallOptions::new().with_is_error(true);
    /// let (output, report) = filter_slice(program.with_options(&options), br#"{"error": "no", "token": "x"}"#)?;
    /// assert_eq!(output, br#"{"error":"no"}"#);
    /// assert_eq!(report.skipped, Some(SkipReason::ErrorResponse));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn with_is_error(mut self, yes: bool) -> Self {
        self.is_error = yes;
        self
    }

    /// Sets the largest size of this call's output, instead of the spec's budget. The output is minified even under
    /// `whitespace: keep`. With 0 bytes or tokens, the spec's budget applies.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.policy.budget = budget.unless_zero();
        self
    }

    /// Sets the vocabulary by which budgets in tokens are counted, such as that of the package `tamis-tokens`. The report says
    /// whether tokens were estimated (`tokens_estimated`).
    ///
    /// ### Default
    /// Tokens are estimated at four bytes each.
    #[must_use]
    pub fn with_token_counter(mut self, vocabulary: &'static dyn CountTokens) -> Self {
        self.policy.tokens = Some(vocabulary);
        self
    }

    /// Returns the vocabulary by which budgets in tokens are counted; `None` if they are estimated.
    #[must_use]
    pub fn token_counter(&self) -> Option<&'static dyn CountTokens> {
        self.policy.tokens
    }

    /// Sets how many items a budget always keeps in this call, instead of the spec's value.
    #[must_use]
    pub fn with_min_items(mut self, count: u64) -> Self {
        self.policy.min_items = Some(count);
        self
    }

    /// Sets whether this call's output reports what was left out of it, instead of the spec's value.
    #[must_use]
    pub fn with_omitted(mut self, omitted: Omitted) -> Self {
        self.policy.omitted = Some(omitted);
        self
    }

    /// Sets what happens if this call's output is longer than its budget, instead of the spec's value.
    #[must_use]
    pub fn with_on_over(mut self, on_over: OnOver) -> Self {
        self.policy.on_over = Some(on_over);
        self
    }

    /// Sets what this call's budget keeps of a document that is too long, instead of the spec's value.
    #[must_use]
    pub fn with_prefer(mut self, prefer: Prefer) -> Self {
        self.policy.prefer = Some(prefer);
        self
    }

    /// Returns what a budget keeps; `None` if the spec's value applies.
    #[must_use]
    pub fn prefer(&self) -> Option<Prefer> {
        self.policy.prefer
    }

    /// Sets the words of the call that asked for the document, such as its arguments. With
    /// [`Prefer::Information`](crate::spec::Prefer::Information), what has them is kept first.
    #[must_use]
    pub fn with_query(mut self, query: Query) -> Self {
        self.query = query;
        self
    }

    pub(in crate::filter) fn query(&self) -> &Query {
        &self.query
    }

    /// Reads the options from the JSON object that is a call's input. Tools with a filter accept kimbap's
    /// `_output_mode` and `_budget` in addition to their own parameters
    /// ([`Spec::reserved_parameters`](crate::Spec::reserved_parameters)). All other members are validated and
    /// ignored.
    ///
    /// - `_output_mode`: the string `raw` requests raw output. Any other value means filtered output.
    /// - `_budget`: a number of bytes in any notation (`4096`, `4096.0`, `4.096e3`), truncated to an integer. A
    ///   string that contains only such a number is accepted, since models and command lines write them (`"4096"`).
    ///   Values below 1 and all other values set no budget. Values above 64 bits set the largest budget.
    ///
    /// Names are compared after unescaping. If a name is repeated, the last member wins, as in Go, so that the input
    /// means the same here and to the tool.
    ///
    /// # Errors
    /// Fails if the input is not a JSON object ([`ErrorKind::Syntax`](crate::ErrorKind::Syntax),
    /// [`ErrorKind::UnexpectedEnd`](crate::ErrorKind::UnexpectedEnd),
    /// [`ErrorKind::Encoding`](crate::ErrorKind::Encoding)), or nests more than 1,024 containers
    /// ([`ErrorKind::Limit`](crate::ErrorKind::Limit)).
    ///
    /// # Complexity
    /// Linear in the input, which is not copied.
    ///
    /// ```
    /// use tamis::{CallOptions, Program, Spec, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let options = CallOptions::from_json(br#"{"owner": "mira", "_output_mode": "raw"}"#)?;
    /// let (output, _) = filter_slice(program.with_options(&options), br#"{"id": 1, "x": 2}"#)?;
    /// assert_eq!(output, br#"{"id":1,"x":2}"#);
    ///
    /// let error = CallOptions::from_json(b"[]").unwrap_err();
    /// assert_eq!(error.to_string(), "byte 0: the input of a call must be a JSON object");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn from_json(input: &[u8]) -> Result<Self, Error> {
        let asked = reserved::read(input)?;
        let policy =
            CallPolicy { budget: asked.budget.map(Budget::Bytes), ..CallPolicy::default() };
        Ok(Self { raw: asked.raw, policy, ..Self::new() })
    }

    /// Writes the elements of the payload, one per line, instead of the document. There is no line end after the last
    /// one, and no mark. A payload that is not an array is a line of its own, and a document without the payload has no
    /// lines. Has no effect on raw output and on [summaries](crate::Program::has_summary).
    ///
    /// If a budget shortens members before the payload, the payload is found only with
    /// [`siblings: drop`](crate::Spec::siblings).
    ///
    /// ```
    /// use tamis::{CallOptions, Program, Spec, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let options = CallOptions::new().with_lines(true);
    /// let input = br#"{"total": 2, "items": [{"id": 1, "x": 2}, {"id": 2}]}"#;
    /// let (output, _) = filter_slice(program.with_options(&options), input)?;
    /// assert_eq!(output, b"{\"id\":1}\n{\"id\":2}");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn with_lines(mut self, yes: bool) -> Self {
        self.policy.lines = yes;
        self
    }

    /// Writes a summary ([`compact`](crate::Spec::compact)) as a JSON string, without the document around it. A document
    /// without a summary is written unchanged.
    #[must_use]
    pub fn with_only_summary(mut self, yes: bool) -> Self {
        self.policy.only_summary = yes;
        self
    }

    /// Sets whether this call's output has once what its items share, instead of the value of
    /// [`Spec::factor`](crate::Spec::factor). Responses of failed calls and raw output are not factored.
    ///
    /// ```
    /// use tamis::{CallOptions, Limits, Program, Spec, factor, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().exclude("ssn"))?;
    /// let options = CallOptions::new().with_factor(true);
    /// let input = br#"[{"id":1,"kind":"a person","ssn":"1"},{"id":2,"kind":"a person"},{"id":3,"kind":"a person"},{"id":4,"kind":"a person"}]"#;
    /// let (output, _) = filter_slice(program.with_options(&options), input)?;
    /// let factored = br#"{"_factored":1,"_all":{"kind":"a person"},"_items":[{"id":1},{"id":2},{"id":3},{"id":4}]}"#;
    /// assert_eq!(output, factored);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn with_factor(mut self, yes: bool) -> Self {
        self.policy.factor = Some(yes);
        self
    }

    /// Suggests corrections for selected paths that no item has, in the report's [`missed`](crate::Report::missed)
    /// and in the message of a total miss. This keeps the names of the first item, a few hundred at most, which makes
    /// reading that item slightly slower.
    ///
    /// ```
    /// use tamis::{CallOptions, Program, Spec, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().select("id").select("nmae"))?;
    /// let options = CallOptions::new().with_suggestions(true);
    /// let (_, report) = filter_slice(program.with_options(&options), br#"[{"id": 1, "name": "a"}]"#)?;
    /// assert_eq!(report.missed[0].path, "nmae");
    /// assert_eq!(report.missed[0].meant.as_deref(), Some("name"));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn with_suggestions(mut self, yes: bool) -> Self {
        self.suggest = yes;
        self
    }

    /// Ends a run over many documents when this many were written; 0 reads all. Documents without output, such as bad
    /// ones, do not count. The rest of the input is not read. Applies to [`filter_ndjson`](crate::filter_ndjson) and
    /// [`filter_documents`](crate::filter_documents).
    ///
    /// ```
    /// use tamis::{CallOptions, Program, Spec, filter_ndjson};
    ///
    /// let program = Program::compile(&Spec::new())?;
    /// let options = CallOptions::new().with_max_documents(1);
    /// let mut output = Vec::new();
    /// filter_ndjson(program.with_options(&options), &b"[1]\n[2]\n"[..], &mut output, |_, _| {})?;
    /// assert_eq!(output, b"[1]\n");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn with_max_documents(mut self, count: u64) -> Self {
        self.max_documents = count;
        self
    }

    /// Sets what [`filter_ndjson`](crate::filter_ndjson) does with lines that are not JSON.
    ///
    /// ```
    /// use tamis::{BadLines, CallOptions, Program, Spec, filter_ndjson};
    ///
    /// let program = Program::compile(&Spec::new().select("msg"))?;
    /// let options = CallOptions::new().with_bad_lines(BadLines::Pass);
    /// let input = &b"{\"msg\": \"a\", \"pid\": 1}\n  at main.rs:7\n"[..];
    /// let mut output = Vec::new();
    /// filter_ndjson(program.with_options(&options), input, &mut output, |_, _| {})?;
    /// assert_eq!(output, b"{\"msg\":\"a\"}\n  at main.rs:7\n");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn with_bad_lines(mut self, treatment: BadLines) -> Self {
        self.bad_lines = treatment;
        self
    }

    /// Sets how much the run may hold.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns whether unfiltered output is requested.
    #[must_use]
    pub fn raw(&self) -> bool {
        self.raw
    }

    /// Returns whether the document is the response of a failed call.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Returns whether the output has once what its items share; `None` if the spec decides.
    #[must_use]
    pub fn factor(&self) -> Option<bool> {
        self.policy.factor
    }

    /// Returns the budget of the call; `None` if the spec's applies.
    #[must_use]
    pub fn budget(&self) -> Option<Budget> {
        self.policy.budget
    }

    /// Returns how many items a budget always keeps; `None` if the spec's value applies.
    #[must_use]
    pub fn min_items(&self) -> Option<u64> {
        self.policy.min_items
    }

    /// Returns whether the output reports what was left out; `None` if the spec's value applies.
    #[must_use]
    pub fn omitted(&self) -> Option<Omitted> {
        self.policy.omitted
    }

    /// Returns what happens if the output is longer than its budget; `None` if the spec's value applies.
    #[must_use]
    pub fn on_over(&self) -> Option<OnOver> {
        self.policy.on_over
    }

    /// Returns whether the elements of the payload are written as lines.
    #[must_use]
    pub fn lines(&self) -> bool {
        self.policy.lines
    }

    /// Returns whether summaries are written without the document around them.
    #[must_use]
    pub fn only_summary(&self) -> bool {
        self.policy.only_summary
    }

    /// Returns whether corrections of selected paths are suggested.
    #[must_use]
    pub fn suggestions(&self) -> bool {
        self.suggest
    }

    /// Returns what happens to lines that are not JSON.
    #[must_use]
    pub fn bad_lines(&self) -> BadLines {
        self.bad_lines
    }

    /// Returns after how many documents a run over many ends; `None` if it reads all.
    #[must_use]
    pub fn max_documents(&self) -> Option<u64> {
        (self.max_documents > 0).then_some(self.max_documents)
    }

    /// Returns the limits of the run.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sets the scan kernel. For tests.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn scan_with(mut self, scanner: Scanner) -> Self {
        self.scanner = Some(scanner);
        self
    }

    /// Sets the scan kernel by its name: `scalar`, `avx2`, `avx512`, `neon` or `neonpmull`. Returns `None` if this CPU
    /// does not run it. For benches: by default, a call uses the fastest kernel.
    #[doc(hidden)]
    #[must_use]
    pub fn with_scan_kernel(mut self, name: &str) -> Option<Self> {
        self.scanner = Some(Scanner::named(name)?);
        Some(self)
    }

    /// Returns the name of the scan kernel that the call uses. For benches.
    #[doc(hidden)]
    #[must_use]
    pub fn scan_kernel(&self) -> &'static str {
        self.scanner().isa().name()
    }

    pub(super) fn scanner(&self) -> Scanner {
        self.scanner.unwrap_or_else(Scanner::new)
    }

    /// Sets that the document is one of many, which `where` may drop.
    pub(crate) fn for_record(mut self) -> Self {
        self.policy.is_record = true;
        self
    }

    /// Returns the call's settings for the size of its output.
    pub(in crate::filter) fn policy(&self) -> CallPolicy {
        self.policy
    }

    /// Returns which rules of a program the call skips, or `None` if all apply.
    pub(crate) fn skips(&self, program: &CompiledProgram) -> Option<Skips> {
        match (self.raw && program.allows_raw(), self.is_error) {
            (true, false) => Some(Skips::Raw),
            (true, true) => Some(Skips::RawOfFailed),
            (false, true) => Some(Skips::Failed),
            (false, false) => None,
        }
    }

    /// Returns the options for the rules after those for JSON in strings, which read the same document.
    pub(in crate::filter) fn after_strings(&self) -> Self {
        Self { is_restored: true, ..self.clone() }
    }

    /// Returns whether the input need not be restored.
    pub(in crate::filter) fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// Returns the options for JSON in strings of the document. The size of the output is not that of a string.
    pub(super) fn of_strings(&self) -> Self {
        let policy = self.policy.plain();
        Self {
            raw: false,
            is_error: false,
            suggest: false,
            policy,
            is_restored: false,
            ..self.clone()
        }
    }

    /// Returns the options that apply to the program derived for the call.
    pub(super) fn of_rest(&self, skips: Option<Skips>) -> Self {
        let raw = matches!(skips, Some(Skips::Raw | Skips::RawOfFailed));
        let mut policy = if raw { self.policy.plain() } else { self.policy };
        if skips.is_some() {
            // The program lacks the rule, too.
            policy.factor = None;
        }
        Self { raw: false, is_error: false, policy, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use tamis_json::scan::Scanner;

    use super::{Budget, CallOptions, Limits, Omitted, OnOver};

    #[test]
    fn a_scan_kernel_is_chosen_by_its_name() {
        for (isa, _) in Scanner::present() {
            let options = CallOptions::new().with_scan_kernel(isa.name()).unwrap();
            assert_eq!(options.scan_kernel(), isa.name());
        }
        assert!(CallOptions::new().with_scan_kernel("avx3").is_none());
        // The last kernel that this CPU runs is the fastest.
        let fastest = Scanner::present().last().map(|(isa, _)| isa.name());
        assert_eq!(Some(CallOptions::new().scan_kernel()), fastest);
    }

    #[test]
    fn options_are_read_from_the_input_of_a_call() {
        let read = |input: &str| {
            let options = CallOptions::from_json(input.as_bytes()).unwrap();
            (options.raw, options.budget())
        };
        assert_eq!(read("{}"), (false, None));
        assert_eq!(read(r#"{"_budget": 9}"#), (false, Some(Budget::Bytes(9))));
        assert_eq!(read(r#"{"_budget": -9, "_output_mode": "raw"}"#), (true, None));
    }

    #[test]
    fn a_budget_of_nothing_is_none() {
        let budget = |budget| CallOptions::new().with_budget(Budget::Bytes(3)).with_budget(budget);
        assert_eq!(budget(Budget::Tokens(5)).budget(), Some(Budget::Tokens(5)));
        assert_eq!(budget(Budget::Bytes(0)).budget(), None);
    }

    #[test]
    fn getters_return_what_was_set() {
        let options = CallOptions::new()
            .with_raw(true)
            .with_is_error(true)
            .with_min_items(2)
            .with_omitted(Omitted::Silent)
            .with_on_over(OnOver::Error)
            .with_suggestions(true)
            .with_max_documents(3)
            .with_lines(true)
            .with_only_summary(true)
            .with_limits(Limits::new().with_depth(9));
        assert!(options.raw() && options.is_error() && options.suggestions());
        assert!(options.lines() && options.only_summary());
        assert_eq!(options.max_documents(), Some(3));
        assert_eq!(options.min_items(), Some(2));
        assert_eq!(options.omitted(), Some(Omitted::Silent));
        assert_eq!(options.on_over(), Some(OnOver::Error));
        assert_eq!(options.limits().depth(), 9);
        let defaults = CallOptions::new().with_max_documents(0);
        assert_eq!(defaults.max_documents(), None);
        assert_eq!(
            (defaults.min_items(), defaults.omitted(), defaults.on_over()),
            (None, None, None)
        );
    }
}
