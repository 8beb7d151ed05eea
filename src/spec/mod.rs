//! What was declared for one tool: the one representation that everything compiles from.
//!
//! Knows no document. A builder for code, serde for files and for callers' own formats.

mod content;
mod json;
mod output;
mod patch;
mod select;
mod summary;
mod text;

use serde::{Deserialize, Serialize};

use crate::reserved::ReservedParameters;
pub use content::{Content, ContentFormat};
pub use json::Json;
#[cfg(feature = "manifest")]
pub(crate) use json::TEXT as JSON_TEXT;
pub use output::{Budget, Compact, Omitted, OnOver};
pub use patch::{OnTestFailure, Operation, Otherwise, Test};
pub(crate) use patch::{Op, named};
pub use select::{Select, Source};
#[cfg(feature = "text")]
pub(crate) use text::Dedup;
pub use text::TextSpec;

/// The rules for one tool's output.
///
/// Build it in code, or deserialise it: field names are those of the methods.
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
    pub(crate) extract: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) select: Option<Select>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) exclude: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retain: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patches: Option<Vec<Operation>>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) lenient_remove: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_test_failure: Option<OnTestFailure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test: Option<Test>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) when: Option<Vec<Spec>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) otherwise: Option<Otherwise>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) root: Root,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) siblings: Siblings,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) max_items: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) stop_early: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) drop_nulls: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) drop_empty: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_filter: Option<TextSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<Budget>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "output::some")]
    pub(crate) min_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "output::some")]
    pub(crate) omitted: Option<Omitted>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "output::some")]
    pub(crate) on_over: Option<OnOver>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compact: Option<Compact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_error: Option<OnError>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) validation: Validation,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) whitespace: Whitespace,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) duplicate_keys: DuplicateKeys,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_raw: Option<bool>,
    /// Of a document that is the payload itself, the members around kimbap's results pass select.
    #[serde(skip)]
    pub(crate) envelope: bool,
    /// The spec is another system's, which marks nothing that it leaves out.
    #[serde(skip)]
    pub(crate) foreign: bool,
    /// A document that is no array becomes one, with itself as its element, unless a total miss leaves it as it is.
    #[serde(skip)]
    pub(crate) wrap: bool,
    /// The document passes, whatever it is.
    #[serde(skip)]
    pub(crate) pass: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Where the payload is: the part that the rules on items apply to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Root {
    /// The document if it is an array; of an object `items`, else `result`, else `data`, whichever is an array; else
    /// the first member that is one; else the object itself (kimbap). May have to hold the document; see
    /// [`Limits`](crate::Limits).
    #[default]
    Auto,
    /// The first member that is an array, decided at once. An object without an array has no payload: a total miss.
    First,
    /// The document itself, whatever arrays it has.
    Object,
    /// The value at a path without wildcards.
    At(String),
}

impl From<String> for Root {
    /// `auto`, `array` (the same), `first` and `object` name the modes; anything else is a path. A member called like a
    /// mode is written as a pointer: `/first`.
    fn from(text: String) -> Self {
        match text.as_str() {
            "auto" | "array" => Self::Auto,
            "first" => Self::First,
            "object" => Self::Object,
            _ => Self::At(text),
        }
    }
}

impl From<&str> for Root {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Root> for String {
    fn from(root: Root) -> Self {
        match root {
            Root::Auto => "auto".into(),
            Root::First => "first".into(),
            Root::Object => "object".into(),
            // Read back, a bare name of a mode would be that mode.
            Root::At(path) if !matches!(Root::from(path.as_str()), Root::At(_)) => {
                format!("/{path}")
            }
            Root::At(path) => path,
        }
    }
}

/// What becomes of the members beside the payload, and beside the way to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Siblings {
    /// They pass unchanged.
    #[default]
    Keep,
    /// They go.
    Drop,
}

/// What a total miss does: no selected path found in any item, or no payload where the root says. And what an operation of
/// `patches` does that cannot be applied, or a `test` that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// What would have been selected from passes at full length; exclude still applies, the report says so. What would have
    /// been patched passes as `retain` left it. The default
    /// for specs without rules on the document.
    Raw,
    /// An error, and no output. The default as soon as a spec has `retain`, `patches` or `when`.
    Closed,
}

/// How far values that are dropped are checked. Kept values always are, in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// RFC 8259, the whole document.
    #[default]
    Full,
    /// Of what is skipped: closed strings without raw control characters, matching brackets, UTF-8. For senders that are trusted.
    Structure,
}

/// What becomes of white space between tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whitespace {
    /// It goes.
    #[default]
    Minify,
    /// What is emitted keeps the white space in front of it, and what is kept whole all of it. White space around the
    /// document goes.
    Keep,
}

/// What becomes of a selected member, or of the payload, whose name came before in the same object. Other members are not
/// compared: this is no check for duplicates in general.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicateKeys {
    /// The first counts. Later ones are not looked for once an item is complete.
    #[default]
    First,
    /// The first counts, all later ones are looked for and counted.
    Count,
    /// A second one is an error.
    Reject,
}

impl Spec {
    /// No rules: validate and minify.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the value at `path`, without wildcards, the document; everything else of the input is validated and dropped.
    /// It is an error if nothing is there. Applied before all other rules, and to raw output as well.
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

    /// Keeps the value at `path` of each item, under the last name of the path.
    #[must_use]
    pub fn select(mut self, path: impl Into<String>) -> Self {
        self.select.get_or_insert_default().0.push(Source { key: None, path: path.into() });
        self
    }

    /// Keeps the value at `path` of each item, under `key`.
    #[must_use]
    pub fn select_as(mut self, key: impl Into<String>, path: impl Into<String>) -> Self {
        let source = Source { key: Some(key.into()), path: path.into() };
        self.select.get_or_insert_default().0.push(source);
        self
    }

    /// Removes what is at `path` from each item, after `select`; names reach through arrays. Of an item that is an array each
    /// element is treated like an item.
    #[must_use]
    pub fn exclude(mut self, path: impl Into<String>) -> Self {
        self.exclude.push(path.into());
        self
    }

    /// Keeps what is at this JSON Pointer of the document, with the containers around it. Repeat it for a union; once
    /// used, everything else goes. Names reach through arrays.
    #[must_use]
    pub fn retain(mut self, pointer: impl Into<String>) -> Self {
        self.retain.get_or_insert_default().push(pointer.into());
        self
    }

    /// Applies an operation of a JSON Patch (RFC 6902) to what `retain` left; repeat it for a sequence. If an operation cannot
    /// be applied, or a `test` fails, the whole sequence fails: an error, and nothing is emitted, unless
    /// [`on_error`](Self::on_error) says otherwise.
    ///
    /// Operations `add`, `remove` and `replace` on members of objects are applied while the document arrives. For others,
    /// what `retain` left of the document is held as a whole, up to the limit `item`; each then visits the members and elements
    /// on its way, so that a sequence costs at most its operations times what is held.
    ///
    /// ```
    /// use tamis::{Operation, Program, Spec, filter_slice};
    ///
    /// let spec = Spec::new()
    ///     .patch(Operation::remove("/user/ssn"))
    ///     .patch(Operation::add("/user/seen", true));
    /// let program = Program::compile(&spec)?;
    /// let (output, report) = filter_slice(&program, br#"{"user": {"ssn": "1", "id": 1.10}}"#)?;
    /// assert_eq!(output, br#"{"user":{"id":1.10,"seen":true}}"#);
    /// assert_eq!(report.patches_applied, Some(2));
    ///
    /// let error = filter_slice(&program, br#"{"user": {"id": 2}}"#).unwrap_err();
    /// assert_eq!(error.message(), "patches[0], remove /user/ssn: nothing is at /user/ssn");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn patch(mut self, operation: Operation) -> Self {
        self.patches.get_or_insert_default().push(operation);
        self
    }

    /// Whether an operation may remove what is not there. Default: no.
    #[must_use]
    pub fn lenient_remove(mut self, yes: bool) -> Self {
        self.lenient_remove = yes;
        self
    }

    /// What a failed `test` among the patches does. Default: [`OnTestFailure::Fail`].
    ///
    /// ```
    /// use tamis::{OnTestFailure, Operation, Program, Spec, filter_slice};
    ///
    /// let spec = Spec::new()
    ///     .patch(Operation::remove("/a"))
    ///     .patch(Operation::test("/version", 2))
    ///     .patch(Operation::remove("/b"));
    /// let input = br#"{"version": 1, "a": 1, "b": 2}"#;
    /// let error = filter_slice(&Program::compile(&spec)?, input).unwrap_err();
    /// assert_eq!(error.message(), "patches[1], test /version: the test failed: the value there is another one");
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

    /// Applies the rules of `branch` where the test holds, and no test of a branch before. Repeat it for more branches.
    ///
    /// Beside branches a spec has no rules but [`extract`](Self::extract), and says for all of them how the document is read
    /// ([`validation`](Self::validation), [`whitespace`](Self::whitespace), [`allow_raw`](Self::allow_raw)). A member whose
    /// name a test's path names must not come twice in its object. Each test of one place is compared with the value there.
    ///
    /// ```
    /// use tamis::{Json, Otherwise, Program, Spec, Test, filter_slice};
    ///
    /// let spec = Spec::new()
    ///     .when(Test::new("/type", "person"), Spec::new().retain("/person/name"))
    ///     .when(Test::new("/type", "company"), Spec::new().retain("/company/name"))
    ///     .otherwise(Otherwise::Drop);
    /// let program = Program::compile(&spec)?;
    /// let (output, report) = filter_slice(&program, br#"{"type": "person", "person": {"name": "Ada", "ssn": 1}}"#)?;
    /// assert_eq!(output, br#"{"person":{"name":"Ada"}}"#);
    /// assert_eq!(report.branch.as_deref(), Some("when[0]"));
    /// assert_eq!(filter_slice(&program, br#"{"type": "ship"}"#)?.0, b"{}");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn when(mut self, test: Test, branch: Self) -> Self {
        self.when.get_or_insert_default().push(Self { test: Some(test), ..branch });
        self
    }

    /// What happens to a document for which no branch holds. Default: [`Otherwise::Error`].
    #[must_use]
    pub fn otherwise(mut self, otherwise: Otherwise) -> Self {
        self.otherwise = Some(otherwise);
        self
    }

    /// Where the payload is. Default: [`Root::Auto`].
    #[must_use]
    pub fn root(mut self, root: impl Into<Root>) -> Self {
        self.root = root.into();
        self
    }

    /// What becomes of the members beside the payload. Default: [`Siblings::Keep`].
    #[must_use]
    pub fn siblings(mut self, siblings: Siblings) -> Self {
        self.siblings = siblings;
        self
    }

    /// Cuts the payload to its first `count` elements; 0 is no limit.
    #[must_use]
    pub fn max_items(mut self, count: u64) -> Self {
        self.max_items = count;
        self
    }

    /// Stops reading at the first element that `max_items` cuts; the output is closed there.
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

    /// Operations on the lines of text output: of a string in the document's member `raw`, in which kimbap wraps what a
    /// command prints. `_text_filtered: true` joins the members then; a document without such a string passes.
    ///
    /// ```
    /// use tamis::{Spec, TextSpec};
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

    /// How long the output may be, minified. Items are dropped from the end until it fits, but not the first
    /// [`min_items`](Self::min_items). If it is still too long, strings are cut, then arrays and objects. If it is too long
    /// even then, [`on_over`](Self::on_over) applies. [`CallOptions::budget`](crate::CallOptions::budget) overrides it. 0
    /// bytes or tokens are no limit.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget.unless_zero();
        self
    }

    /// Items that a budget keeps, its own or a call's: strings, arrays and objects are cut instead. Default: 1, because an
    /// empty list reads as if there were no results.
    #[must_use]
    pub fn min_items(mut self, count: u64) -> Self {
        self.min_items = Some(count);
        self
    }

    /// Whether the output says what was left out of it. Default: [`Omitted::Mark`] for what a budget leaves out,
    /// [`Omitted::Silent`] for what only `max_items` does.
    #[must_use]
    pub fn omitted(mut self, omitted: Omitted) -> Self {
        self.omitted = Some(omitted);
        self
    }

    /// What happens to an output that is longer than its budget when nothing more can be left out. Default:
    /// [`OnOver::Warn`].
    #[must_use]
    pub fn on_over(mut self, on_over: OnOver) -> Self {
        self.on_over = Some(on_over);
        self
    }

    /// The text that stands for the items.
    #[must_use]
    pub fn compact(mut self, compact: Compact) -> Self {
        self.compact = Some(compact);
        self
    }

    /// The content of the document: it may be a page or any other text, and so is the output. Goes with no other rule.
    #[must_use]
    pub fn content(mut self, content: Content) -> Self {
        self.content = Some(content);
        self
    }

    /// What a total miss does, and an operation of `patches` that fails.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = Some(on_error);
        self
    }

    /// How far dropped values are checked. Default: [`Validation::Full`].
    #[must_use]
    pub fn validation(mut self, validation: Validation) -> Self {
        self.validation = validation;
        self
    }

    /// What becomes of white space. Default: [`Whitespace::Minify`].
    #[must_use]
    pub fn whitespace(mut self, whitespace: Whitespace) -> Self {
        self.whitespace = whitespace;
        self
    }

    /// What becomes of duplicate members. Default: [`DuplicateKeys::First`].
    #[must_use]
    pub fn duplicate_keys(mut self, duplicate_keys: DuplicateKeys) -> Self {
        self.duplicate_keys = duplicate_keys;
        self
    }

    /// Whether a call may ask for the raw output, which has all that the rules remove. Default: yes; of reShapr's artifacts no.
    #[must_use]
    pub fn allow_raw(mut self, yes: bool) -> Self {
        self.allow_raw = Some(yes);
        self
    }

    /// Whether a total miss is an error.
    pub(crate) fn is_closed(&self) -> bool {
        match self.on_error {
            Some(on_error) => on_error == OnError::Closed,
            None => self.has_document_rules(),
        }
    }

    /// The parameters that a tool with this filter takes beside its own: `_budget`, and `_output_mode` where a call may ask
    /// for the raw output. `None` for a filter that changes no output: one without a rule, or with nothing but `extract`
    /// or `root`, which raw output has as well.
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
            || self.wrap;
        shapes.then(|| ReservedParameters::new(self.allows_raw()))
    }

    /// Whether a rule is for the filtered document as a whole.
    pub(crate) fn shapes_output(&self) -> bool {
        self.text_filter.is_some()
            || self.budget.is_some()
            || self.compact.is_some()
            || (self.omitted == Some(Omitted::Mark) && self.max_items > 0)
    }

    /// Whether a rule applies to items: what [`is_closed`](Self::is_closed) makes fail.
    pub(crate) fn has_item_rules(&self) -> bool {
        self.select.is_some()
            || !self.exclude.is_empty()
            || self.max_items > 0
            || self.drop_nulls
            || self.drop_empty
            || self.siblings == Siblings::Drop
    }

    pub(crate) fn allows_raw(&self) -> bool {
        self.allow_raw.unwrap_or(true)
    }

    /// Whether anything is done to a document but validating it.
    pub(crate) fn has_rules(&self) -> bool {
        self.extract.is_some()
            || self.has_item_rules()
            || self.has_document_rules()
            || self.shapes_output()
            || self.content.is_some()
            || self.wrap
    }

    /// Whether a rule applies to the document, and not to items alone.
    pub(crate) fn has_document_rules(&self) -> bool {
        self.retain.is_some() || self.patches.is_some() || self.when.is_some()
    }
}
