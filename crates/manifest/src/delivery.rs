//! The keys of a filter that only a gateway reads: its limit, what is stored of a result, and which parts of an MCP result pass.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::entry::ManifestEntry;
use super::node::{Node, Value};
use super::profile::Profile;
use tamis::Spec;
use tamis::spec::{Encode, OnError, RawJson, Retrieve};

/// Whether an MCP result keeps its `structuredContent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Structured {
    /// It is kept, and filtered.
    Keep,
    /// It is removed, together with the tool's listed `outputSchema`. Clients then show the text of the result.
    Drop,
}

/// The handling of text that is not JSON in a result whose filter removes for safety. The filter cannot read such text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnreadText {
    /// It does not pass.
    #[default]
    Withhold,
    /// It passes.
    Keep,
}

/// The keys of a filter in addition to its rules.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Delivery {
    profile: Option<Profile>,
    retrieve: Option<Retrieve>,
    structured: Option<Structured>,
    text_beside: Option<UnreadText>,
    error_text: Option<UnreadText>,
    output_schema: Option<RawJson>,
}

impl Delivery {
    /// The keys, in the order in which they are documented.
    pub(super) const KEYS: [&'static str; 6] =
        ["profile", "retrieve", "structured", "text_beside", "error_text", "output_schema"];
}

/// Splits a map into the part with these keys and the rest. Without any of them, the rest is the map itself.
pub(super) fn split<'n>(node: &'n Node, keys: &[&str]) -> (Node, Cow<'n, Node>) {
    let entries = node.entries().unwrap_or_default();
    let (with, without): (Vec<_>, Vec<_>) =
        entries.iter().partition(|(key, _)| keys.contains(&key.text.as_str()));
    let map = |entries: Vec<&_>| Node {
        at: node.at.clone(),
        value: Value::Map(entries.into_iter().cloned().collect()),
    };
    let rest = if with.is_empty() { Cow::Borrowed(node) } else { Cow::Owned(map(without)) };
    (map(with), rest)
}

impl ManifestEntry {
    /// Returns whether the filter is from the built-in catalog.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.is_builtin
    }

    /// Returns the MCP servers whose tools the filter is for, by the name that they give themselves
    /// (`serverInfo.name`). Empty if the file does not say.
    #[must_use]
    pub fn servers(&self) -> &[String] {
        &self.servers
    }

    /// Returns whether a gateway must withhold a result that this filter could not be applied to. Filters of the built-in
    /// catalog only save, unless they are declared `on_error: closed`; for others see [`Spec::removes_for_safety`].
    #[must_use]
    pub fn removes_for_safety(&self) -> bool {
        if self.is_builtin {
            return self.spec().on_error == Some(OnError::Closed);
        }
        self.spec().removes_for_safety()
    }

    /// Returns whether a call may ask for raw output if the caller is a model; see [`Spec::allows_raw_for_models`].
    #[must_use]
    pub fn allows_raw_for_models(&self) -> bool {
        self.spec().allow_raw.unwrap_or_else(|| !self.removes_for_safety())
    }

    /// Returns the profile whose limit the results have: `profile`. Its rules do not apply, and `budget` takes its place.
    #[must_use]
    pub fn profile(&self) -> Option<Profile> {
        self.delivery.profile.filter(|_| self.spec().budget.is_none())
    }

    /// Returns how much of a result is stored: `retrieve`, or the default of the spec
    /// ([`Spec::default_retrieve`]).
    #[must_use]
    pub fn retrieve(&self) -> Retrieve {
        self.delivery.retrieve.unwrap_or_else(|| self.spec().default_retrieve())
    }

    /// Returns whether results keep their structured content: `structured`, or by default [`Structured::Drop`] if the
    /// output is text (`compact`, `content`), which structured content cannot show.
    #[must_use]
    pub fn structured(&self) -> Structured {
        let writes_text = writes_text(self.spec());
        let default = if writes_text { Structured::Drop } else { Structured::Keep };
        self.delivery.structured.unwrap_or(default)
    }

    /// Returns what happens to text that is not JSON: `text_beside`. Only used if the filter removes for safety.
    #[must_use]
    pub fn text_beside(&self) -> UnreadText {
        self.delivery.text_beside.unwrap_or_default()
    }

    /// Returns what happens to the text of a failed call: `error_text`. Only used if the filter removes for safety.
    #[must_use]
    pub fn error_text(&self) -> UnreadText {
        self.delivery.error_text.unwrap_or_default()
    }

    /// Returns the JSON Schema of the filter's output: `output_schema`. A proxy with `typed: true` lists it for the tool.
    #[must_use]
    pub fn output_schema(&self) -> Option<&str> {
        self.delivery.output_schema.as_ref().map(RawJson::as_str)
    }
}

/// Returns whether the output is text rather than the document's own shape. A branch has no branches.
fn writes_text(spec: &Spec) -> bool {
    let branches = spec.when.iter().flatten();
    branches.chain([spec]).any(|rules| {
        rules.compact.is_some() || rules.encode != Encode::Json || rules.content.is_some()
    })
}
