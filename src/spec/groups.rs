//! The groups of rules that a spec has.

use super::rule_kind::RuleGroup;
use super::{InnerRules, Omitted, OnError, Spec};
use crate::reserved::ReservedParameters;

impl Spec {
    /// Returns whether a rule changes the filtered document as a whole.
    #[doc(hidden)]
    pub fn shapes_output(&self) -> bool {
        let marks = self.omitted == Some(Omitted::Mark) && self.max_items > 0;
        marks || self.has_rule_of(RuleGroup::Output)
    }

    /// Returns whether a rule applies to items. A miss of these rules is what [`is_closed`](Self::is_closed) turns into
    /// an error.
    #[doc(hidden)]
    pub fn has_item_rules(&self) -> bool {
        self.has_rule_of(RuleGroup::Items)
    }

    /// Returns whether a rule applies to the whole document rather than only to items.
    #[doc(hidden)]
    pub fn has_document_rules(&self) -> bool {
        self.has_rule_of(RuleGroup::Document)
    }

    /// Returns whether a document is changed, or only validated.
    #[doc(hidden)]
    pub fn has_rules(&self) -> bool {
        self.has_rule_of(RuleGroup::Source) || self.changes_output()
    }

    /// Returns whether a rule other than `extract` changes the document.
    fn changes_output(&self) -> bool {
        self.has_item_rules()
            || self.has_document_rules()
            || self.shapes_output()
            || self.has_rule_of(RuleGroup::Other)
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
        self.changes_output().then(|| ReservedParameters::new(self.allows_raw()))
    }

    /// Returns whether a call may ask for raw output: what `allow_raw` was set to, otherwise yes unless a rule `redact` is
    /// somewhere in the spec. Raw output skips the branches of `when` and `json_strings`, and with them their `redact`.
    #[doc(hidden)]
    pub fn allows_raw(&self) -> bool {
        self.allow_raw.unwrap_or_else(|| {
            let inner = self.json_strings.iter().filter_map(|strings| match &strings.apply {
                InnerRules::Same => None,
                InnerRules::Spec(inner) => Some(inner.as_ref()),
            });
            self.redact.is_none() && self.when.iter().flatten().chain(inner).all(Self::allows_raw)
        })
    }
}
