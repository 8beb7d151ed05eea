//! The type [`Spec`], with the methods for the rules on the document and on its items.

use serde::{Deserialize, Serialize};

use super::{
    Budget, Compact, Condition, Content, DuplicateKeys, Encode, ItemCondition, JsonStrings,
    Omitted, OnError, OnKind, OnOver, OnTestFailure, PatchOp, Prefer, Redact, Root, SelectPath,
    Selection, Siblings, TextSpec, Validation, WhenFallback, Whitespace,
};
use tamis_text::fields::{is_default, some};

/// The rules for the output of one tool.
///
/// Build a spec in code, or deserialise it: the field names are the names of the methods.
///
/// ```
/// use tamis::{Program, Spec, filter_slice};
///
/// let spec = Spec::new()
///     .select_as("login", "owner.login")
///     .select("tags[0]")
///     .max_items(25)
///     .drop_nulls(true);
/// let program = Program::compile(&spec)?;
/// let input = br#"[{"id": 7, "owner": {"login": "mira", "id": 1}, "tags": ["a", "b"]}]"#;
/// let (output, _) = filter_slice(&program, input)?;
/// assert_eq!(output, br#"[{"login":"mira","tags":"a"}]"#);
///
/// let same: Spec = serde_json::from_str(
///     r#"{"select": {"login": "owner.login", "tags": "tags[0]"}, "max_items": 25, "drop_nulls": true}"#,
/// ).unwrap();
/// assert_eq!(same, spec);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub extract: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[doc(hidden)]
    pub requires: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[doc(hidden)]
    pub json_strings: Vec<JsonStrings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub select: Option<Selection>,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub on_kind: OnKind,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[doc(hidden)]
    pub exclude: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[doc(hidden)]
    pub omit: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub retain: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub patches: Option<Vec<PatchOp>>,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub lenient_remove: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub on_test_failure: Option<OnTestFailure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub test: Option<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub when: Option<Vec<Spec>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub otherwise: Option<WhenFallback>,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub root: Root,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub siblings: Siblings,
    #[serde(rename = "where", skip_serializing_if = "Vec::is_empty")]
    #[doc(hidden)]
    pub conditions: Vec<ItemCondition>,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub max_items: u64,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub stop_early: bool,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub drop_nulls: bool,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub drop_empty: bool,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub omit_base64_over: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub text_filter: Option<TextSpec>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub redact: Option<Redact>,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub factor: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub budget: Option<Budget>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub min_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub omitted: Option<Omitted>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub on_over: Option<OnOver>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub prefer: Option<Prefer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub compact: Option<Compact>,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub encode: Encode,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub content: Option<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub on_error: Option<OnError>,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub validation: Validation,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub whitespace: Whitespace,
    #[serde(skip_serializing_if = "is_default")]
    #[doc(hidden)]
    pub duplicate_keys: DuplicateKeys,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub allow_raw: Option<bool>,
    /// If the document itself is the payload, members that kimbap adds around results pass `select`.
    #[serde(skip)]
    #[doc(hidden)]
    pub envelope: bool,
    /// The spec is read from another program's manifest, where omissions are not marked.
    #[serde(skip)]
    #[doc(hidden)]
    pub foreign: bool,
    /// A document that is not an array becomes the only element of one, except after a total miss.
    #[serde(skip)]
    #[doc(hidden)]
    pub wrap: bool,
    /// Every document is passed through.
    #[serde(skip)]
    #[doc(hidden)]
    pub pass: bool,
}

impl Spec {
    /// Creates a spec without rules: the document is validated and minified.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the value at `path` the document, before all other rules apply. Everything else is validated and dropped.
    /// The path must not contain wildcards. It is an error if the document has no value there. Raw output is extracted,
    /// too.
    ///
    /// ```
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().extract("data.users").select("id"))?;
    /// let input = br#"{"ok": true, "data": {"users": [{"id": 1, "x": 2}], "n": 1}}"#;
    /// assert_eq!(filter_slice(&program, input)?.0, br#"[{"id":1}]"#);
    /// assert!(filter_slice(&program, br#"{"ok": false}"#).is_err());
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn extract(mut self, path: impl Into<String>) -> Self {
        self.extract = Some(path.into());
        self
    }

    /// Names a path that identifies the shape of documents. Repeat it: all must exist. To a document that lacks one only
    /// `json_strings`, `redact` and the budget apply; with a rule that removes for safety it is an error.
    ///
    /// A wildcard, or a name that meets an array, looks at the first element. A document is held until its shape is certain.
    ///
    /// ```
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().requires("items[].id").select("id").root("items"))?;
    /// let filter = |input: &str| filter_slice(&program, input.as_bytes()).unwrap().0;
    /// assert_eq!(filter(r#"{"items": [{"id": 1, "x": 2}]}"#), br#"{"items":[{"id":1}]}"#);
    /// assert_eq!(filter(r#"{"error": {"code": 404}}"#), br#"{"error":{"code":404}}"#);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn requires(mut self, path: impl Into<String>) -> Self {
        self.requires.push(path.into());
        self
    }

    /// Filters the JSON inside the strings at a pointer by rules of its own. The rule can be added several times.
    ///
    /// Servers that wrap their results often write a document as the text of a string. Without this rule such a
    /// string is text, and no other rule sees what is in it.
    ///
    /// The strings are filtered before all other rules but [`extract`](Self::extract). A string holds JSON if its
    /// characters are one JSON object or array, with or without white space around it. They are filtered like a
    /// document of their own and encoded again. Only quotes, backslashes and control characters are then escaped; the
    /// tokens of the inner document keep their bytes. Inner rules report in [`Report::inner`](crate::Report::inner).
    ///
    /// ```
    /// use tamis::spec::JsonStrings;
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let inner = Spec::new().select("id").root("items");
    /// let program = Program::compile(&Spec::new().json_strings(JsonStrings::new("/text", inner)))?;
    /// let input = br#"{"text": "{\"items\": [{\"id\": 1, \"x\": 2}]}", "items": []}"#;
    /// let (output, report) = filter_slice(&program, input)?;
    /// assert_eq!(output, br#"{"text":"{\"items\":[{\"id\":1}]}","items":[]}"#);
    /// assert_eq!(report.inner[0].filtered, 1);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn json_strings(mut self, entry: JsonStrings) -> Self {
        self.json_strings.push(entry);
        self
    }

    /// Keeps the value at `path` of each item, under the last name of the path.
    #[must_use]
    pub fn select(mut self, path: impl Into<String>) -> Self {
        self.select.get_or_insert_default().0.push(SelectPath {
            key: None,
            path: path.into(),
            on_kind: None,
        });
        self
    }

    /// Keeps the value at `path` of each item, under `key`.
    #[must_use]
    pub fn select_as(mut self, key: impl Into<String>, path: impl Into<String>) -> Self {
        let source = SelectPath { key: Some(key.into()), path: path.into(), on_kind: None };
        self.select.get_or_insert_default().0.push(source);
        self
    }

    /// Sets what the paths of `select` yield for a value of another kind than they need. A source may have its own, written
    /// as `{"path": "labels[].name", "on_kind": "keep"}`.
    ///
    /// ```
    /// use tamis::spec::OnKind;
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let spec = Spec::new().select_as("labels", "labels[].name").root("object");
    /// let input = br#"{"labels": ["bug", {"name": "ui", "color": "f00"}]}"#;
    /// let (output, _) = filter_slice(&Program::compile(&spec)?, input)?;
    /// assert_eq!(output, br#"{"labels":["ui"]}"#);
    /// let (output, report) = filter_slice(&Program::compile(&spec.on_kind(OnKind::Keep))?, input)?;
    /// assert_eq!(output, br#"{"labels":["bug","ui"]}"#);
    /// assert_eq!(report.kind_kept, 1);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn on_kind(mut self, on_kind: OnKind) -> Self {
        self.on_kind = on_kind;
        self
    }

    /// Removes the values at `path` from each item, after `select`. Names apply to each element of an array on the way.
    /// If an item is an array, each of its elements is treated as an item.
    #[must_use]
    pub fn exclude(mut self, path: impl Into<String>) -> Self {
        self.exclude.push(path.into());
        self
    }

    /// Leaves out the values at `path` of each item, like [`exclude`](Self::exclude), but only to save: gateways store them,
    /// and failed calls, raw output and a total miss keep them.
    ///
    /// ```
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let program = Program::compile(&Spec::new().omit("owner.avatar_url").root("object"))?;
    /// let input = br#"{"id": 7, "owner": {"login": "mira", "avatar_url": "https://example.com/u/7"}}"#;
    /// let (output, report) = filter_slice(&program, input)?;
    /// assert_eq!(output, br#"{"id":7,"owner":{"login":"mira"}}"#);
    /// assert_eq!(report.omitted_members, 1);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn omit(mut self, path: impl Into<String>) -> Self {
        self.omit.push(path.into());
        self
    }

    /// Keeps the value at this JSON Pointer of the document, with the containers around it, and removes everything that
    /// no `retain` names. Repeat it to keep more. Names apply to each element of an array on the way.
    #[must_use]
    pub fn retain(mut self, pointer: impl Into<String>) -> Self {
        self.retain.get_or_insert_default().push(pointer.into());
        self
    }

    /// Applies an operation of a JSON Patch (RFC 6902) after `retain`. Repeat it for a sequence. If an operation cannot
    /// be applied, or a `test` fails, the whole sequence fails with an error and without output, unless
    /// [`on_error`](Self::on_error) says otherwise.
    ///
    /// `add`, `remove` and `replace` on members of objects are applied while the document arrives. For other operations
    /// the document, as `retain` left it, is held as a whole, up to the limit `item`. A sequence
    /// then costs at most the number of operations times the size of the held document.
    ///
    /// ```
    /// use tamis::spec::PatchOp;
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let spec = Spec::new()
    ///     .patch(PatchOp::remove("/user/ssn"))
    ///     .patch(PatchOp::add("/user/seen", true));
    /// let program = Program::compile(&spec)?;
    /// let (output, report) = filter_slice(&program, br#"{"user": {"ssn": "1", "id": 1.10}}"#)?;
    /// assert_eq!(output, br#"{"user":{"id":1.10,"seen":true}}"#);
    /// assert_eq!(report.patches_applied, Some(2));
    ///
    /// let error = filter_slice(&program, br#"{"user": {"id": 2}}"#).unwrap_err().error;
    /// assert_eq!(error.message(), "patches[0], remove /user/ssn: no value at /user/ssn");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn patch(mut self, operation: PatchOp) -> Self {
        self.patches.get_or_insert_default().push(operation);
        self
    }

    /// Allows operations to remove a value that does not exist. Default: not allowed.
    #[must_use]
    pub fn lenient_remove(mut self, yes: bool) -> Self {
        self.lenient_remove = yes;
        self
    }

    /// Sets what a failed `test` of the patches does. Default: [`OnTestFailure::Fail`].
    ///
    /// ```
    /// use tamis::spec::{OnTestFailure, PatchOp};
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let spec = Spec::new()
    ///     .patch(PatchOp::remove("/a"))
    ///     .patch(PatchOp::test("/version", 2))
    ///     .patch(PatchOp::remove("/b"));
    /// let input = br#"{"version": 1, "a": 1, "b": 2}"#;
    /// let error = filter_slice(&Program::compile(&spec)?, input).unwrap_err().error;
    /// assert_eq!(error.message(), "patches[1], test /version: test failed: the value is different");
    ///
    /// let stops = Program::compile(&spec.on_test_failure(OnTestFailure::Stop))?;
    /// let (output, report) = filter_slice(&stops, input)?;
    /// assert_eq!(output, br#"{"version":1,"b":2}"#);
    /// assert_eq!(report.patch_stopped_at.as_deref(), Some("patches[1], test /version"));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn on_test_failure(mut self, on_test_failure: OnTestFailure) -> Self {
        self.on_test_failure = Some(on_test_failure);
        self
    }

    /// Adds a branch: its rules apply if the condition holds and no condition of an earlier branch does.
    ///
    /// A spec with branches has no rules of its own except [`extract`](Self::extract), and settings that apply to all
    /// branches ([`validation`](Self::validation), [`whitespace`](Self::whitespace), [`allow_raw`](Self::allow_raw)).
    /// It is an error if an object has a member that a condition tests twice. All conditions on one place are compared
    /// with the value there.
    ///
    /// ```
    /// use tamis::spec::{Condition, RawJson, WhenFallback};
    /// use tamis::{Program, Spec, WhenBranch, filter_slice};
    ///
    /// let spec = Spec::new()
    ///     .when(Condition::new("/type", "person"), Spec::new().retain("/person/name"))
    ///     .when(Condition::new("/type", "company"), Spec::new().retain("/company/name"))
    ///     .otherwise(WhenFallback::Drop);
    /// let program = Program::compile(&spec)?;
    /// let (output, report) = filter_slice(&program, br#"{"type": "person", "person": {"name": "Ada", "ssn": 1}}"#)?;
    /// assert_eq!(output, br#"{"person":{"name":"Ada"}}"#);
    /// assert_eq!(report.branch, Some(WhenBranch::Number(0)));
    /// assert_eq!(filter_slice(&program, br#"{"type": "ship"}"#)?.0, b"{}");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn when(mut self, test: Condition, branch: Self) -> Self {
        self.when.get_or_insert_default().push(Self { test: Some(test), ..branch });
        self
    }

    /// Sets what happens to a document for which no branch applies. Default: [`WhenFallback::Error`].
    #[must_use]
    pub fn otherwise(mut self, otherwise: WhenFallback) -> Self {
        self.otherwise = Some(otherwise);
        self
    }

    /// Sets the place of the payload. Default: [`Root::Auto`].
    #[must_use]
    pub fn root(mut self, root: impl Into<Root>) -> Self {
        self.root = root.into();
        self
    }

    /// Sets what happens to the members next to the payload. Default: [`Siblings::Keep`].
    #[must_use]
    pub fn siblings(mut self, siblings: Siblings) -> Self {
        self.siblings = siblings;
        self
    }

    /// Adds a condition for items, `where` in a manifest. Only items for which all conditions hold are kept, before
    /// [`max_items`](Self::max_items) counts. Elements that are not objects are kept, and a payload that is a single object
    /// is not tested. Of duplicate members the first one decides, so this does not remove for safety.
    ///
    /// Input waits until it is known whether its item is kept; see [`Limits::with_item`](crate::Limits::with_item).
    #[must_use]
    pub fn keep_where(mut self, condition: ItemCondition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Cuts the payload to its first `count` elements. 0 means no limit.
    ///
    /// If the [`root`](Self::root) is a path, the value there is an object, and there is no select, then the object's
    /// members are counted.
    #[must_use]
    pub fn max_items(mut self, count: u64) -> Self {
        self.max_items = count;
        self
    }

    /// Stops reading at the first element that `max_items` cuts, and closes the output there.
    #[must_use]
    pub fn stop_early(mut self, yes: bool) -> Self {
        self.stop_early = yes;
        self
    }

    /// Removes members whose value is `null`, at every depth of an item.
    #[must_use]
    pub fn drop_nulls(mut self, yes: bool) -> Self {
        self.drop_nulls = yes;
        self
    }

    /// Removes members whose value is `""`, `[]` or `{}` after all other drops, at every depth of an item.
    #[must_use]
    pub fn drop_empty(mut self, yes: bool) -> Self {
        self.drop_empty = yes;
        self
    }
}
