//! The conditions of `where`, which decide by its values whether an item is kept.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use super::RawJson;
use tamis_text::fields::some;

/// A condition of `where`: a test of the values at a path of an item.
///
/// With a wildcard in the path, the condition holds if the test holds for one of the values. A path that an item does
/// not have fails every test except `exists: false` and [`not`](Self::not).
///
/// ```
/// use tamis::spec::{ItemCondition, ValueTest};
/// use tamis::{Program, Spec, filter_slice};
///
/// let open = ItemCondition::new("state", ValueTest::new().equals("open"));
/// let no_bots = ItemCondition::not("user.login", ValueTest::new().matches("-bot$"));
/// # if !cfg!(feature = "text") { return Ok(()); }
/// let program = Program::compile(&Spec::new().keep_where(open).keep_where(no_bots).select("id"))?;
/// let input = br#"[{"id":1,"state":"open"},{"id":2,"state":"closed"},{"id":3,"state":"open","user":{"login":"x-bot"}}]"#;
/// assert_eq!(filter_slice(&program, input)?.0, br#"[{"id":1}]"#);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ConditionFields", into = "ConditionFields")]
pub struct ItemCondition {
    #[doc(hidden)]
    pub path: String,
    /// Holds for one of the values.
    #[doc(hidden)]
    pub test: ValueTest,
    /// Holds for none of the values.
    #[doc(hidden)]
    pub not: ValueTest,
}

impl ItemCondition {
    /// Creates a condition that holds if a value at `path` passes the test.
    #[must_use]
    pub fn new(path: impl Into<String>, test: ValueTest) -> Self {
        Self { path: path.into(), test, not: ValueTest::default() }
    }

    /// Creates a condition that holds if no value at `path` passes the test.
    #[must_use]
    pub fn not(path: impl Into<String>, test: ValueTest) -> Self {
        Self { path: path.into(), test: ValueTest::default(), not: test }
    }
}

impl Display for ItemCondition {
    /// The condition in words: `state equals "open"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, test, not } = self;
        if !test.is_empty() {
            write!(f, "{path} {test}")?;
        }
        let and = if test.is_empty() { path } else { " and" };
        if !not.is_empty() {
            write!(f, "{and} not: {not}")?;
        }
        Ok(())
    }
}

impl Display for ValueTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { equals, one_of, matches, less, greater, exists } = self;
        let list = |values: &Vec<RawJson>| {
            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let parts = [
            equals.as_ref().map(|value| format!("equals {value}")),
            one_of.as_ref().map(|values| format!("is one of {}", list(values))),
            matches.as_ref().map(|pattern| format!("matches {pattern}")),
            less.as_ref().map(|value| format!("is less than {value}")),
            greater.as_ref().map(|value| format!("is greater than {value}")),
            exists.map(|yes| if yes { "exists" } else { "does not exist" }.to_owned()),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" and "))
    }
}

/// A test of one value. All its parts must hold.
///
/// Numbers are compared by value, exactly (`1.0` is `1`), and strings after unescaping. Values of different kinds are never
/// equal, and neither is the less.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = r#"a test such as {"greater": 4}"#)]
pub struct ValueTest {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub equals: Option<RawJson>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub one_of: Option<Vec<RawJson>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub matches: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub less: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub greater: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub exists: Option<bool>,
}

impl ValueTest {
    /// Creates a test without parts, which a condition refuses.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires that the value equals a scalar.
    #[must_use]
    pub fn equals(mut self, value: impl Into<RawJson>) -> Self {
        self.equals = Some(value.into());
        self
    }

    /// Requires that the value equals one of these scalars.
    #[must_use]
    pub fn one_of<T: Into<RawJson>>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        self.one_of = Some(values.into_iter().map(Into::into).collect());
        self
    }

    /// Requires that the value is a string in which a regular expression matches. Needs the feature `text`.
    #[must_use]
    pub fn matches(mut self, pattern: impl Into<String>) -> Self {
        self.matches = Some(pattern.into());
        self
    }

    /// Requires that the value is less than a number or a string of the same kind. Strings are compared by code points.
    #[must_use]
    pub fn less(mut self, than: impl Into<RawJson>) -> Self {
        self.less = Some(than.into());
        self
    }

    /// Requires that the value is greater than a number or a string of the same kind.
    #[must_use]
    pub fn greater(mut self, than: impl Into<RawJson>) -> Self {
        self.greater = Some(than.into());
        self
    }

    /// Requires a value (`true`) or its absence (`false`). `null` is a value.
    #[must_use]
    pub fn exists(mut self, yes: bool) -> Self {
        self.exists = Some(yes);
        self
    }

    /// Whether there are no parts.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A condition as it is written: the parts of the test are members of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = r#"a condition such as {"path": "stars", "greater": 4}"#
)]
struct ConditionFields {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    equals: Option<RawJson>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    one_of: Option<Vec<RawJson>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    matches: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    less: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    greater: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    exists: Option<bool>,
    #[serde(skip_serializing_if = "ValueTest::is_empty")]
    not: ValueTest,
}

impl From<ConditionFields> for ItemCondition {
    fn from(fields: ConditionFields) -> Self {
        let ConditionFields { path, equals, one_of, matches, less, greater, exists, not } = fields;
        let test = ValueTest { equals, one_of, matches, less, greater, exists };
        Self { path, test, not }
    }
}

impl From<ItemCondition> for ConditionFields {
    fn from(condition: ItemCondition) -> Self {
        let ItemCondition { path, test, not } = condition;
        let ValueTest { equals, one_of, matches, less, greater, exists } = test;
        Self { path, equals, one_of, matches, less, greater, exists, not }
    }
}
