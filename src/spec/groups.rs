//! The groups of rules that a spec has.

use super::{Encode, Omitted, OnError, Siblings, Spec};
use crate::reserved::ReservedParameters;

/// For each group, whether the spec has a rule of it.
struct RuleGroups {
    /// Rules on the whole document: `retain`, `patches`, `when`.
    document: bool,
    /// Rules on items.
    items: bool,
    /// Rules on the filtered document.
    output: bool,
    /// `json_strings`, `content` and `wrap`, which belong to no other group.
    other: bool,
}

impl Spec {
    /// Sorts the rules into groups. The pattern names every field, so that a new one does not compile until it has its
    /// place.
    fn groups(&self) -> RuleGroups {
        let Self {
            extract: _,
            json_strings,
            select,
            exclude,
            retain,
            patches,
            lenient_remove: _,
            on_test_failure: _,
            test: _,
            when,
            otherwise: _,
            root: _,
            siblings,
            conditions,
            max_items,
            stop_early: _,
            drop_nulls,
            drop_empty,
            omit_base64_over,
            text_filter,
            redact,
            budget,
            min_items: _,
            omitted,
            on_over: _,
            compact,
            encode,
            content,
            on_error: _,
            validation: _,
            whitespace: _,
            duplicate_keys: _,
            allow_raw: _,
            envelope: _,
            foreign: _,
            wrap,
            pass: _,
        } = self;
        RuleGroups {
            document: retain.is_some() || patches.is_some() || when.is_some(),
            items: select.is_some()
                || !exclude.is_empty()
                || *max_items > 0
                || !conditions.is_empty()
                || *drop_nulls
                || *drop_empty
                || *siblings == Siblings::Drop,
            output: *omit_base64_over > 0
                || text_filter.is_some()
                || redact.as_ref().is_some_and(|redact| !redact.is_nothing())
                || budget.is_some()
                || compact.is_some()
                || *encode != Encode::Json
                || (*omitted == Some(Omitted::Mark) && *max_items > 0),
            other: content.is_some() || *wrap || !json_strings.is_empty(),
        }
    }

    /// Returns whether a rule changes the filtered document as a whole.
    #[doc(hidden)]
    pub fn shapes_output(&self) -> bool {
        self.groups().output
    }

    /// Returns whether a rule applies to items. A miss of these rules is what [`is_closed`](Self::is_closed) turns into
    /// an error.
    #[doc(hidden)]
    pub fn has_item_rules(&self) -> bool {
        self.groups().items
    }

    /// Returns whether a rule applies to the whole document rather than only to items.
    #[doc(hidden)]
    pub fn has_document_rules(&self) -> bool {
        self.groups().document
    }

    /// Returns whether a document is changed, or only validated.
    #[doc(hidden)]
    pub fn has_rules(&self) -> bool {
        let RuleGroups { document, items, output, other } = self.groups();
        self.extract.is_some() || document || items || output || other
    }

    /// Whether a total miss is an error.
    #[doc(hidden)]
    pub fn is_closed(&self) -> bool {
        match self.on_error {
            Some(on_error) => on_error == OnError::Closed,
            None => self.has_document_rules(),
        }
    }

    /// Returns the parameters that a tool with this filter takes in addition to its own: `_budget`, and `_output_mode`
    /// if raw output is allowed. `None` if no rule changes the output beyond `extract` and `root`, as for raw output.
    ///
    /// ```
    /// use tamis::Spec;
    ///
    /// let names = |spec: Spec| -> Vec<&str> {
    ///     spec.reserved_parameters().into_iter().flat_map(|all| all.iter()).map(|one| one.name()).collect()
    /// };
    /// assert_eq!(names(Spec::new().select("id")), ["_output_mode", "_budget"]);
    /// assert_eq!(names(Spec::new().select("id").allow_raw(false)), ["_budget"]);
    /// assert_eq!(names(Spec::new().extract("data")), [""; 0]);
    /// ```
    #[must_use]
    pub fn reserved_parameters(&self) -> Option<ReservedParameters> {
        let shapes = self.has_item_rules()
            || self.has_document_rules()
            || self.shapes_output()
            || self.content.is_some()
            || !self.json_strings.is_empty()
            || self.wrap;
        shapes.then(|| ReservedParameters::new(self.allows_raw()))
    }

    #[doc(hidden)]
    pub fn allows_raw(&self) -> bool {
        self.allow_raw.unwrap_or(self.redact.is_none())
    }
}
