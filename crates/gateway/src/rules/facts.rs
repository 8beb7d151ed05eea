//! What the proxy has to know of a spec.
//!
//! The fields of a [`Spec`] are private, and its serialised form is public: the keys of a native manifest.

use serde_json::{Map, Value};
use tamis::Spec;
use tamis::text::TextSpec;

/// Rules that remove for safety: their filters fail closed, and their results are never shown raw.
const SAFETY: [&str; 5] = ["exclude", "retain", "patches", "when", "redact"];

/// What the proxy has to know of a spec.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpecFacts {
    /// Whether the spec has a rule that removes for safety, or `on_error: closed`.
    pub(crate) removes_for_safety: bool,
    /// Whether the spec says `on_error: closed`.
    pub(crate) says_closed: bool,
    /// What the spec itself says about raw output.
    pub(crate) allow_raw: Option<bool>,
    /// Whether the output is text rather than the document's own shape.
    pub(crate) renders: bool,
    /// The rules for text that is not JSON.
    pub(crate) text: Option<TextSpec>,
    /// The path of the value that becomes the document.
    pub(crate) extract: Option<String>,
}

impl SpecFacts {
    pub(crate) fn of(spec: &Spec) -> Self {
        let Ok(Value::Object(keys)) = serde_json::to_value(spec) else {
            // A spec that cannot be shown may do anything.
            return Self { removes_for_safety: true, ..Self::default() };
        };
        let says_closed = keys.get("on_error").and_then(Value::as_str) == Some("closed");
        Self {
            removes_for_safety: says_closed || SAFETY.iter().any(|rule| keys.contains_key(*rule)),
            says_closed,
            allow_raw: keys.get("allow_raw").and_then(Value::as_bool),
            renders: renders(&keys),
            text: keys.get("text_filter").cloned().and_then(|it| serde_json::from_value(it).ok()),
            extract: keys.get("extract").and_then(Value::as_str).map(str::to_owned),
        }
    }
}

fn renders(keys: &Map<String, Value>) -> bool {
    let encodes = keys.get("encode").and_then(Value::as_str).is_some_and(|form| form != "json");
    let in_a_branch = || {
        let branches = keys.get("when").and_then(Value::as_array).into_iter().flatten();
        branches.filter_map(Value::as_object).any(renders)
    };
    keys.contains_key("compact") || keys.contains_key("content") || encodes || in_a_branch()
}

#[cfg(test)]
mod tests {
    use tamis::Spec;
    use tamis::spec::{Compact, Condition, OnError, PatchOp};

    use super::SpecFacts;

    #[test]
    fn rules_that_remove_for_safety_are_recognised() {
        let condition = || Condition::new("/a", 1);
        for (spec, expected) in [
            (Spec::new(), false),
            (Spec::new().select("id").max_items(2).drop_nulls(true), false),
            (Spec::new().select("id").on_error(OnError::Raw), false),
            (Spec::new().exclude("a"), true),
            (Spec::new().retain("/a"), true),
            (Spec::new().patch(PatchOp::remove("/a")), true),
            (Spec::new().when(condition(), Spec::new().max_items(1)), true),
            (Spec::new().select("id").on_error(OnError::Closed), true),
        ] {
            assert_eq!(SpecFacts::of(&spec).removes_for_safety, expected, "{spec:?}");
        }
        let branch = Spec::new().compact(Compact::new("x"));
        assert!(SpecFacts::of(&Spec::new().when(condition(), branch)).renders);
        assert!(!SpecFacts::of(&Spec::new().when(condition(), Spec::new().select("a"))).renders);
    }
}
