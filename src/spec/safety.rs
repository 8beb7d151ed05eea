//! Whether a spec removes values for safety, and what follows from that where a model is the caller.
//!
//! A rule saves if its only purpose is a shorter output: `select`, `max_items`, the drops, `budget`. A rule removes for
//! safety if its author may rely on it: `exclude`, `retain`, `patches`, `when`, `redact` and `on_error: closed`.

use serde::{Deserialize, Serialize};

use super::rule_kind::{RuleGroup, RuleKind};
use super::{InnerRules, JsonStringFallback, JsonStrings, Redact, Spec, TextSpec};

/// How much of a result a gateway stores, so that a caller can fetch what rules have cut.
///
/// ```
/// use tamis::Spec;
/// use tamis::spec::{OnError, Retrieve};
///
/// assert_eq!(Spec::new().exclude("ssn").default_retrieve(), Retrieve::All);
/// assert_eq!(Spec::new().select("id").on_error(OnError::Closed).default_retrieve(), Retrieve::Cut);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Retrieve {
    /// Everything except what is removed for safety.
    #[default]
    All,
    /// Only what a limit on the length of the output cut.
    Cut,
    /// Nothing.
    None,
}

impl Retrieve {
    /// Returns the word for this value in a manifest.
    ///
    /// ```
    /// assert_eq!(tamis::spec::Retrieve::Cut.as_str(), "cut");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Cut => "cut",
            Self::None => "none",
        }
    }
}

impl Spec {
    /// Returns whether a rule may be relied on to keep values from the caller: `exclude`, `retain`, `patches`, `when`, `redact`
    /// or `on_error: closed`. A gateway must not pass the original result if such a filter fails.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::spec::OnError;
    ///
    /// assert!(Spec::new().exclude("ssn").removes_for_safety());
    /// assert!(Spec::new().select("id").on_error(OnError::Closed).removes_for_safety());
    /// assert!(!Spec::new().select("id").max_items(10).drop_nulls(true).removes_for_safety());
    /// ```
    #[must_use]
    pub fn removes_for_safety(&self) -> bool {
        self.is_closed()
            || self.rules().any(|rule| rule.traits().removes)
            || self.json_strings.iter().any(JsonStrings::removes_for_safety)
    }

    /// Returns the names of the rules on which an author may rely to keep values from the caller, and of those that only save.
    /// Branches of `when` belong to that rule. With `on_error: closed`, a `select` keeps values from the caller, too.
    ///
    /// ```
    /// use tamis::Spec;
    ///
    /// let spec = Spec::new().exclude("ssn").select("id").max_items(3);
    /// assert_eq!(spec.effects(), (vec!["exclude"], vec!["select", "max_items"]));
    /// ```
    #[must_use]
    pub fn effects(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let protects = |rule: &RuleKind| match rule {
            RuleKind::Select | RuleKind::OnError => self.is_closed(),
            RuleKind::JsonStrings => self.json_strings.iter().any(JsonStrings::removes_for_safety),
            rule => rule.traits().removes,
        };
        let is_rule = |rule: &RuleKind| {
            rule.traits().group != RuleGroup::Setting
                || (*rule == RuleKind::OnError && self.is_closed())
        };
        let (protecting, saving): (Vec<_>, Vec<_>) =
            self.rules().filter(is_rule).partition(protects);
        let names = |rules: Vec<RuleKind>| rules.into_iter().map(RuleKind::written).collect();
        (names(protecting), names(saving))
    }

    /// Returns whether the output is searched for credentials or patterns ([`redact`](Self::redact)), also in a branch.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::spec::Redact;
    ///
    /// assert!(Spec::new().redact(Redact::new().secrets(true)).redacts_secrets());
    /// assert!(!Spec::new().redact(Redact::new().path("ssn")).redacts_secrets());
    /// ```
    #[must_use]
    pub fn redacts_secrets(&self) -> bool {
        let own = self.redact.as_ref().is_some_and(Redact::searches);
        own || self.when.iter().flatten().any(Self::redacts_secrets)
    }

    /// Returns what the output is searched for, in the spec and its branches: the rule `redact` without its paths, for
    /// [`TextRedactor::of`](crate::text::TextRedactor::of). `None` if the output is not searched.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::spec::Redact;
    ///
    /// let spec = Spec::new().redact(Redact::new().path("ssn").secrets(true));
    /// assert_eq!(spec.searched(), Some(Redact::new().secrets(true)));
    /// ```
    #[cfg(feature = "text")]
    #[must_use]
    pub fn searched(&self) -> Option<Redact> {
        let own = self.redact.iter().filter(|redact| redact.searches());
        let own = own.map(|redact| Redact { paths: Vec::new(), with: None, ..redact.clone() });
        let branches = self.when.iter().flatten().filter_map(Self::searched);
        own.chain(branches).reduce(|all, one| all.and(&one))
    }

    /// Returns whether a rule other than the search for credentials removes for safety. A gateway can keep a text that is
    /// not JSON only if there is none, because no other rule reads it.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::spec::Redact;
    ///
    /// let spec = Spec::new().redact(Redact::new().secrets(true));
    /// assert!(spec.removes_for_safety() && !spec.removes_values_for_safety());
    /// assert!(spec.exclude("ssn").removes_values_for_safety());
    /// ```
    #[must_use]
    pub fn removes_values_for_safety(&self) -> bool {
        let mut other = self.clone();
        other.redact = other.redact.filter(|redact| !redact.paths.is_empty());
        other.removes_for_safety()
    }

    /// Returns the rules of [`text_filter`](Self::text_filter). A gateway also applies them to a text that is not JSON.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::text::TextSpec;
    ///
    /// let rules = TextSpec::new().strip_ansi(true);
    /// assert_eq!(Spec::new().text_filter(rules.clone()).text_rules(), Some(&rules));
    /// ```
    #[must_use]
    pub fn text_rules(&self) -> Option<&TextSpec> {
        self.text_filter.as_ref()
    }

    /// Returns whether a call may ask for raw output if the caller is a model: what [`allow_raw`](Self::allow_raw) was
    /// set to, otherwise yes unless the spec [removes for safety](Self::removes_for_safety).
    ///
    /// ```
    /// use tamis::Spec;
    ///
    /// assert!(Spec::new().select("id").allows_raw_for_models());
    /// assert!(!Spec::new().exclude("ssn").allows_raw_for_models());
    /// assert!(Spec::new().exclude("ssn").allow_raw(true).allows_raw_for_models());
    /// ```
    #[must_use]
    pub fn allows_raw_for_models(&self) -> bool {
        self.allow_raw.unwrap_or_else(|| !self.removes_for_safety())
    }

    /// Returns how much of a result is stored if a manifest does not say: [`Retrieve::Cut`] if a miss is an error
    /// (`on_error: closed`, the default with `retain` and `patches`) or if the spec itself sets `allow_raw: false`,
    /// otherwise [`Retrieve::All`].
    #[must_use]
    pub fn default_retrieve(&self) -> Retrieve {
        let closed = self.is_closed()
            || self.when.iter().flatten().any(Self::is_closed)
            || self.json_strings.iter().any(JsonStrings::is_closed);
        if closed || self.allow_raw == Some(false) { Retrieve::Cut } else { Retrieve::All }
    }
}

impl JsonStrings {
    /// `same` has the rules of the spec, which are looked at there.
    fn removes_for_safety(&self) -> bool {
        let Self { at: _, apply, otherwise } = self;
        let inner = match apply {
            InnerRules::Same => false,
            InnerRules::Spec(inner) => inner.removes_for_safety(),
        };
        inner || matches!(otherwise, Some(JsonStringFallback::Drop | JsonStringFallback::Error))
    }

    /// Returns whether a value that is not as expected is an error.
    fn is_closed(&self) -> bool {
        let Self { at: _, apply, otherwise } = self;
        let inner = match apply {
            InnerRules::Same => false,
            InnerRules::Spec(inner) => inner.default_retrieve() != Retrieve::All,
        };
        inner || *otherwise == Some(JsonStringFallback::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::Retrieve;
    use crate::spec::Spec;

    #[test]
    fn rules_that_remove_for_safety() {
        // Spec, whether it removes for safety, whether a model may ask for raw output, and how much is stored.
        for (text, removes, raw, retrieve) in [
            ("{}", false, true, Retrieve::All),
            (
                r#"{"select": ["id"], "max_items": 3, "drop_nulls": true}"#,
                false,
                true,
                Retrieve::All,
            ),
            (r#"{"siblings": "drop", "extract": "a"}"#, false, true, Retrieve::All),
            (r#"{"allow_raw": false}"#, false, false, Retrieve::Cut),
            (
                r#"{"json_strings": [{"at": "/a", "apply": {"select": ["b"]}}]}"#,
                false,
                true,
                Retrieve::All,
            ),
            (
                r#"{"json_strings": [{"at": "/a", "apply": {"exclude": ["b"]}}]}"#,
                true,
                false,
                Retrieve::All,
            ),
            (
                r#"{"json_strings": [{"at": "/a", "apply": {"retain": ["/b"]}}]}"#,
                true,
                false,
                Retrieve::Cut,
            ),
            (
                r#"{"json_strings": [{"at": "/a", "apply": {}, "otherwise": "drop"}]}"#,
                true,
                false,
                Retrieve::All,
            ),
            (r#"{"exclude": ["a"]}"#, true, false, Retrieve::All),
            (r#"{"exclude": ["a"], "allow_raw": true}"#, true, true, Retrieve::All),
            (r#"{"exclude": ["a"], "on_error": "closed"}"#, true, false, Retrieve::Cut),
            (r#"{"retain": ["/a"]}"#, true, false, Retrieve::Cut),
            (r#"{"retain": ["/a"], "on_error": "raw"}"#, true, false, Retrieve::All),
            (r#"{"patches": []}"#, true, false, Retrieve::Cut),
            (
                r#"{"when": [{"test": {"path": "/a", "value": 1}, "select": ["b"]}]}"#,
                true,
                false,
                Retrieve::Cut,
            ),
            (r#"{"select": ["id"], "on_error": "closed"}"#, true, false, Retrieve::Cut),
        ] {
            let spec: Spec = serde_json::from_str(text).unwrap();
            assert_eq!(spec.removes_for_safety(), removes, "{text}");
            assert_eq!(spec.allows_raw_for_models(), raw, "{text}");
            assert_eq!(spec.default_retrieve(), retrieve, "{text}");
        }
    }
}
