//! The methods of [`Spec`] for the filtered document: how it is shortened and written, and what an error does.

use super::{
    Budget, Compact, Content, DuplicateKeys, Encode, Omitted, OnError, OnOver, Prefer, Spec,
    TextSpec, Validation, Whitespace,
};

impl Spec {
    /// Replaces each string that is base64 or a `data:` URL, and longer than this number of bytes, by a mark with its size
    /// and its place as a JSON Pointer. Applies to the whole output, at every depth. 0 means never.
    ///
    /// A string counts as base64 only if all of it is. It may have line breaks, and it may lack padding in the alphabet
    /// for URLs. Hexadecimal digits are not base64. Each candidate is held until its end, because anything else is
    /// written unchanged, except for longer `data:` URLs in it, such as those of Markdown. They are replaced if they have more
    /// than this many characters of base64, and at least 256; above 65,536, they stay.
    ///
    /// ```
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().omit_base64_over(256))?;
    /// let input = format!(r#"[{{"id": 1, "icon": "{}"}}]"#, "iVBORw0KGgo+".repeat(100));
    /// let (output, report) = filter_slice(&program, input.as_bytes())?;
    /// assert_eq!(output, br#"[{"id":1,"icon":"[tamis: 1,200 bytes of base64 left out at /0/icon]"}]"#);
    /// assert_eq!(report.base64_omitted, 1);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn omit_base64_over(mut self, bytes: u64) -> Self {
        self.omit_base64_over = bytes;
        self
    }

    /// Filters the lines of text output: the string in the document's member `raw`, in which kimbap wraps what a
    /// command prints. Adds the member `_text_filtered: true`. A document without such a string passes.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::text::TextSpec;
    ///
    /// let spec = Spec::new().text_filter(TextSpec::new().strip_ansi(true).max_lines(100));
    /// let same: Spec = serde_json::from_str(r#"{"text_filter": {"strip_ansi": true, "max_lines": 100}}"#).unwrap();
    /// assert_eq!(same, spec);
    /// ```
    #[must_use]
    pub fn text_filter(mut self, filter: TextSpec) -> Self {
        self.text_filter = Some(filter);
        self
    }

    /// Limits the length of the minified output. Items are dropped from the end until it fits, except the first
    /// [`min_items`](Self::min_items). If it is still too long, strings are cut, then arrays and objects. If it is too
    /// long even then, [`on_over`](Self::on_over) applies. [`CallOptions`](crate::CallOptions) may override the budget
    /// of the spec. 0 bytes or tokens mean no limit.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget.unless_zero();
        self
    }

    /// Sets how many items a budget keeps, whether the budget of the spec or of a call. Strings, arrays and objects are
    /// cut instead. Default: 1, because an empty list reads as if there were no results.
    #[must_use]
    pub fn min_items(mut self, count: u64) -> Self {
        self.min_items = Some(count);
        self
    }

    /// Sets whether the output marks omissions. Default: [`Omitted::Mark`] for what a budget leaves out, and
    /// [`Omitted::Silent`] if only `max_items` cuts.
    #[must_use]
    pub fn omitted(mut self, omitted: Omitted) -> Self {
        self.omitted = Some(omitted);
        self
    }

    /// Sets what happens to an output that exceeds its budget when nothing more can be left out. Default:
    /// [`OnOver::Warn`].
    #[must_use]
    pub fn on_over(mut self, on_over: OnOver) -> Self {
        self.on_over = Some(on_over);
        self
    }

    /// Sets what a budget keeps of a document that is too long. Default: [`Prefer::Order`].
    #[must_use]
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = Some(prefer);
        self
    }

    /// Sets whether what items share is written once. Nothing is lost: [`factor::restore`](crate::factor::restore) gives
    /// the document back. A document that would not become shorter by 3 % is left as it is.
    ///
    /// ```
    /// use tamis::{Limits, Program, Spec, factor, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().factor(true))?;
    /// let document = br#"[{"id":1,"state":"open"},{"id":2,"state":"open"},{"id":3,"state":"open"},
    ///     {"id":4,"state":"open"},{"id":5,"state":"open"},{"id":6,"state":"open"}]"#;
    /// let (output, _) = filter_slice(&program, document)?;
    /// let factored = r#"{"_factored":1,"_all":{"state":"open"},"_items":[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5},{"id":6}]}"#;
    /// assert_eq!(output, factored.as_bytes());
    /// let restored = factor::restore(&output, &Limits::new())?;
    /// assert!(restored.starts_with(br#"[{"id":1,"state":"open"},{"id":2,"#));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn factor(mut self, yes: bool) -> Self {
        self.factor = yes;
        self
    }

    /// Renders the items as lines of text.
    #[must_use]
    pub fn compact(mut self, compact: Compact) -> Self {
        self.compact = Some(compact);
        self
    }

    /// Sets the form in which the filtered document is written. Default: [`Encode::Json`].
    ///
    /// Cannot be combined with [`compact`](Self::compact).
    #[must_use]
    pub fn encode(mut self, encode: Encode) -> Self {
        self.encode = encode;
        self
    }

    /// Extracts the content of a page or of any other text. The output is text. Cannot be combined with other rules.
    #[must_use]
    pub fn content(mut self, content: Content) -> Self {
        self.content = Some(content);
        self
    }

    /// Sets what happens after a total miss, or if an operation of `patches` fails.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = Some(on_error);
        self
    }

    /// Sets how strictly dropped values are checked. Default: [`Validation::Full`].
    #[must_use]
    pub fn validation(mut self, validation: Validation) -> Self {
        self.validation = validation;
        self
    }

    /// Sets what happens to white space. Default: [`Whitespace::Minify`].
    #[must_use]
    pub fn whitespace(mut self, whitespace: Whitespace) -> Self {
        self.whitespace = whitespace;
        self
    }

    /// Sets what happens to duplicate members. Default: [`DuplicateKeys::First`].
    #[must_use]
    pub fn duplicate_keys(mut self, duplicate_keys: DuplicateKeys) -> Self {
        self.duplicate_keys = duplicate_keys;
        self
    }

    /// Sets whether a call may ask for raw output, which ignores the rules. Default: yes, except for reShapr's
    /// artifacts.
    #[must_use]
    pub fn allow_raw(mut self, yes: bool) -> Self {
        self.allow_raw = Some(yes);
        self
    }
}
