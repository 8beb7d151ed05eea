//! Rules for the document as a whole: operations (RFC 6902), and conditions that select a branch.
//!
//! Contains data only; `filter` compiles it. Field names are those of RFC 6902 and of reShapr's ToolsFilters (seed
//! 003).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use tamis_json::error::{Error, ErrorKind};
use tamis_json::key::unescape;
use tamis_json::tree::children;

use super::RawJson;

/// One operation of a JSON Patch (RFC 6902). In files it is an object with `op`, `path`, and `value` or `from`.
///
/// Paths are JSON Pointers into the document as the earlier operations left it.
///
/// ```
/// use tamis::Spec;
/// use tamis::spec::{PatchOp, RawJson};
///
/// let spec = Spec::new()
///     .retain("/user")
///     .patch(PatchOp::replace("/user/city", RawJson::from("Oslo")))
///     .patch(PatchOp::remove("/user/ssn"));
/// let same: Spec = serde_json::from_str(
///     r#"{"retain": ["/user"], "patches": [
///         {"op": "replace", "path": "/user/city", "value": "Oslo"},
///         {"op": "remove", "path": "/user/ssn"}]}"#,
/// ).unwrap();
/// assert_eq!(same, spec);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = r#"an operation such as {"op": "remove", "path": "/user/ssn"}"#
)]
pub struct PatchOp {
    #[doc(hidden)]
    pub op: PatchOpKind,
    #[doc(hidden)]
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub from: Option<String>,
    /// `Some` even if the value is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "there")]
    #[doc(hidden)]
    pub value: Option<RawJson>,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[doc(hidden)]
pub enum PatchOpKind {
    Add,
    Remove,
    Replace,
    Move,
    Copy,
    Test,
}

impl PatchOpKind {
    const ALL: [Self; 6] =
        [Self::Add, Self::Remove, Self::Replace, Self::Move, Self::Copy, Self::Test];

    #[doc(hidden)]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Test => "test",
        }
    }
}

impl PatchOp {
    /// Whether the operation takes a value out of the document without putting it elsewhere.
    #[doc(hidden)]
    pub fn removes(&self) -> bool {
        matches!(self.op, PatchOpKind::Remove | PatchOpKind::Replace)
    }

    fn new(op: PatchOpKind, path: impl Into<String>) -> Self {
        Self { op, path: path.into(), from: None, value: None }
    }

    /// Adds a member, sets the value of an existing one, or inserts an element before the one with that index (`-`: at
    /// the end).
    #[must_use]
    pub fn add(path: impl Into<String>, value: impl Into<RawJson>) -> Self {
        Self { value: Some(value.into()), ..Self::new(PatchOpKind::Add, path) }
    }

    /// Removes the value at `path`.
    #[must_use]
    pub fn remove(path: impl Into<String>) -> Self {
        Self::new(PatchOpKind::Remove, path)
    }

    /// Replaces the value at `path`.
    #[must_use]
    pub fn replace(path: impl Into<String>, value: impl Into<RawJson>) -> Self {
        Self { value: Some(value.into()), ..Self::new(PatchOpKind::Replace, path) }
    }

    /// Moves the value at `from` to `path` (`move` in RFC 6902).
    #[must_use]
    pub fn move_from(from: impl Into<String>, path: impl Into<String>) -> Self {
        Self { from: Some(from.into()), ..Self::new(PatchOpKind::Move, path) }
    }

    /// Copies the value at `from` to `path` (`copy` in RFC 6902).
    #[must_use]
    pub fn copy_from(from: impl Into<String>, path: impl Into<String>) -> Self {
        Self { from: Some(from.into()), ..Self::new(PatchOpKind::Copy, path) }
    }

    /// Parses a JSON Patch document (RFC 6902, 3): an array of operations. Unknown members are ignored, as the RFC
    /// demands. Values keep their spelling.
    ///
    /// ```
    /// use tamis::spec::PatchOp;
    ///
    /// let patch = r#"[{"op": "add", "path": "/a", "value": 1.10, "comment": "x"}, {"op": "remove", "path": "/b"}]"#;
    /// assert_eq!(
    ///     PatchOp::parse_patch(patch)?,
    ///     [PatchOp::add("/a", "1.10".parse::<tamis::spec::RawJson>()?), PatchOp::remove("/b")]
    /// );
    /// let error = PatchOp::parse_patch(r#"[{"op": "erase", "path": "/a"}]"#).unwrap_err();
    /// assert_eq!(error.message(), "operation 0: `op` must be add, remove, replace, move, copy or test, not \"erase\"");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    ///
    /// # Errors
    /// The text is not JSON or not a list of operations, or an operation has a member of RFC 6902 twice.
    pub fn parse_patch(text: &str) -> Result<Vec<Self>, Error> {
        let document: RawJson = text.parse()?;
        if !document.as_str().starts_with('[') {
            let message = "a JSON Patch must be an array of operations";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        let operations = children(document.as_str()).enumerate();
        operations.map(|(number, (_, operation))| Self::parse_one(number, operation)).collect()
    }

    fn parse_one(number: usize, text: &str) -> Result<Self, Error> {
        let refuse =
            |what: String| Error::new(ErrorKind::Spec, format!("operation {number}: {what}"));
        if !text.starts_with('{') {
            return Err(refuse(format!("an operation must be an object, not {text:.40}")));
        }
        let mut members: [Option<&str>; 4] = [None; 4];
        for (key, value) in children(text) {
            let name = unescape(key.as_bytes());
            let known = ["op", "path", "from", "value"];
            let Some(at) = known.iter().position(|known| name.as_deref() == Some(known.as_bytes()))
            else {
                continue;
            };
            if let Some(member) = members.get_mut(at)
                && member.replace(value).is_some()
            {
                return Err(refuse(format!("duplicate member `{}`", key)));
            }
        }
        let [op, path, from, value] = members;
        let string = |name: &str, value: Option<&str>| match value {
            Some(text) => text_of(text)
                .map(Some)
                .ok_or_else(|| refuse(format!("`{name}` must be text, not {text:.40}"))),
            None => Ok(None),
        };
        let missing = |name: &str| refuse(format!("the member `{name}` is missing"));
        let op = op.ok_or_else(|| missing("op"))?;
        let op = PatchOpKind::ALL
            .into_iter()
            .find(|known| text_of(op).as_deref() == Some(known.as_str()))
            .ok_or_else(|| {
                refuse(format!(
                    "`op` must be add, remove, replace, move, copy or test, not {op:.40}"
                ))
            })?;
        Ok(Self {
            op,
            path: string("path", path)?.ok_or_else(|| missing("path"))?,
            from: string("from", from)?,
            value: value.map(str::parse).transpose()?,
        })
    }

    /// Requires the value at `path` to equal `value`. If it does not, the test fails, and with it the whole sequence,
    /// unless [`OnTestFailure::Stop`] is set.
    #[must_use]
    pub fn test(path: impl Into<String>, value: impl Into<RawJson>) -> Self {
        Self { value: Some(value.into()), ..Self::new(PatchOpKind::Test, path) }
    }
}

/// Prints the operation as in `remove /user/ssn` and `move /a to /b`.
impl fmt::Display for PatchOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.op.as_str())?;
        if let (PatchOpKind::Move | PatchOpKind::Copy, Some(from)) = (self.op, &self.from) {
            write!(f, "{} to ", named(from))?;
        }
        f.write_str(named(&self.path))
    }
}

/// Returns the pointer, or words for the empty one.
#[doc(hidden)]
pub fn named(pointer: &str) -> &str {
    if pointer.is_empty() { "the document" } else { pointer }
}

/// Returns the text of a JSON string.
fn text_of(json: &str) -> Option<String> {
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    String::from_utf8(unescape(inside.as_bytes())?).ok()
}

/// Deserialises a field that is present, even if it is `null`.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

/// The condition of a branch of `when`: the value at a JSON Pointer equals a given value, compared as RFC 6902's `test`
/// compares. It does not hold if the document has no value there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = r#"a condition such as {"path": "/kind", "value": "issue"}"#
)]
pub struct Condition {
    #[doc(hidden)]
    pub path: String,
    #[doc(hidden)]
    pub value: RawJson,
}

impl Condition {
    /// Creates a condition that holds if the value at `path` equals `value`.
    #[must_use]
    pub fn new(path: impl Into<String>, value: impl Into<RawJson>) -> Self {
        Self { path: path.into(), value: value.into() }
    }
}

/// The effect of a failed `test` in `patches`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTestFailure {
    /// The whole sequence fails, as RFC 6902 demands, like an operation that cannot be applied; see
    /// [`OnError`](super::OnError).
    #[default]
    Fail,
    /// The sequence ends before the test, and the operations before it remain applied (reShapr). Later operations are
    /// not applied, so values that they would have removed are kept.
    Stop,
}

/// The treatment of a document for which no branch of `when` applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFallback {
    /// The document passes unchanged (reShapr).
    Pass,
    /// The document is emptied to `{}`, `[]` or `null`.
    Drop,
    /// An error without output. The default.
    Error,
}
