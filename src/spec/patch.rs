//! What is declared for the document as a whole: operations on it (RFC 6902), and tests that choose a branch.
//!
//! Data alone; `filter` compiles it. Field names are those of RFC 6902 and of reShapr's ToolsFilters (seed 003).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::RawJson;
use crate::error::{Error, ErrorKind};
use crate::json::key::unescape;
use crate::tree::children;

/// One operation of a JSON Patch (RFC 6902). In files an object with `op`, `path`, and `value` or `from`.
///
/// Paths are JSON Pointers into the document, as the operations before left it.
///
/// ```
/// use tamis::{PatchOp, RawJson, Spec};
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
#[serde(deny_unknown_fields)]
pub struct PatchOp {
    pub(crate) op: PatchOpKind,
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// `null` is a value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "there")]
    pub(crate) value: Option<RawJson>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PatchOpKind {
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

    pub(crate) fn as_str(self) -> &'static str {
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
    /// Whether it takes a value out of the document without putting it elsewhere.
    #[cfg(feature = "manifest")]
    pub(crate) fn removes(&self) -> bool {
        matches!(self.op, PatchOpKind::Remove | PatchOpKind::Replace)
    }

    fn new(op: PatchOpKind, path: impl Into<String>) -> Self {
        Self { op, path: path.into(), from: None, value: None }
    }

    /// Puts a value at a place: a new member, the new value of one that is there, or a new element in front of the one with
    /// that index (`-`: at the end).
    #[must_use]
    pub fn add(path: impl Into<String>, value: impl Into<RawJson>) -> Self {
        Self { value: Some(value.into()), ..Self::new(PatchOpKind::Add, path) }
    }

    /// Removes what is at a place.
    #[must_use]
    pub fn remove(path: impl Into<String>) -> Self {
        Self::new(PatchOpKind::Remove, path)
    }

    /// Puts a value in place of another.
    #[must_use]
    pub fn replace(path: impl Into<String>, value: impl Into<RawJson>) -> Self {
        Self { value: Some(value.into()), ..Self::new(PatchOpKind::Replace, path) }
    }

    /// Takes a value from one place and adds it at another: RFC 6902's `move`.
    #[must_use]
    pub fn move_from(from: impl Into<String>, path: impl Into<String>) -> Self {
        Self { from: Some(from.into()), ..Self::new(PatchOpKind::Move, path) }
    }

    /// Adds the value of one place at another: RFC 6902's `copy`.
    #[must_use]
    pub fn copy_from(from: impl Into<String>, path: impl Into<String>) -> Self {
        Self { from: Some(from.into()), ..Self::new(PatchOpKind::Copy, path) }
    }

    /// Reads a JSON Patch document (RFC 6902, 3): an array of operations. Members that no operation has are ignored, as the
    /// RFC says; values stay as they are written.
    ///
    /// ```
    /// use tamis::PatchOp;
    ///
    /// let patch = r#"[{"op": "add", "path": "/a", "value": 1.10, "comment": "x"}, {"op": "remove", "path": "/b"}]"#;
    /// assert_eq!(
    ///     PatchOp::parse_patch(patch)?,
    ///     [PatchOp::add("/a", "1.10".parse::<tamis::RawJson>()?), PatchOp::remove("/b")]
    /// );
    /// let error = PatchOp::parse_patch(r#"[{"op": "erase", "path": "/a"}]"#).unwrap_err();
    /// assert_eq!(error.message(), "operation 0: `op` wants add, remove, replace, move, copy or test, not \"erase\"");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    ///
    /// # Errors
    /// It is no JSON, or no list of operations; or an operation has a member of ours twice.
    pub fn parse_patch(text: &str) -> Result<Vec<Self>, Error> {
        let document: RawJson = text.parse()?;
        if !document.as_str().starts_with('[') {
            let message = "a JSON Patch is an array of operations";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        let operations = children(document.as_str()).enumerate();
        operations.map(|(number, (_, operation))| Self::parse_one(number, operation)).collect()
    }

    fn parse_one(number: usize, text: &str) -> Result<Self, Error> {
        let refuse =
            |what: String| Error::new(ErrorKind::Spec, format!("operation {number}: {what}"));
        if !text.starts_with('{') {
            return Err(refuse(format!("an operation is an object, not {text:.40}")));
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
                return Err(refuse(format!("the member `{}` comes twice", key)));
            }
        }
        let [op, path, from, value] = members;
        let string = |name: &str, value: Option<&str>| match value {
            Some(text) => text_of(text)
                .map(Some)
                .ok_or_else(|| refuse(format!("`{name}` wants a text, not {text:.40}"))),
            None => Ok(None),
        };
        let missing = |name: &str| refuse(format!("the member `{name}` is missing"));
        let op = op.ok_or_else(|| missing("op"))?;
        let op = PatchOpKind::ALL
            .into_iter()
            .find(|known| text_of(op).as_deref() == Some(known.as_str()))
            .ok_or_else(|| {
                refuse(format!("`op` wants add, remove, replace, move, copy or test, not {op:.40}"))
            })?;
        Ok(Self {
            op,
            path: string("path", path)?.ok_or_else(|| missing("path"))?,
            from: string("from", from)?,
            value: value.map(str::parse).transpose()?,
        })
    }

    /// Requires a place to have this value. Where it does not, the test fails, and with it the whole sequence, unless
    /// [`OnTestFailure::Stop`] says otherwise.
    #[must_use]
    pub fn test(path: impl Into<String>, value: impl Into<RawJson>) -> Self {
        Self { value: Some(value.into()), ..Self::new(PatchOpKind::Test, path) }
    }
}

/// `remove /user/ssn`, `move /a to /b`.
impl fmt::Display for PatchOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.op.as_str())?;
        if let (PatchOpKind::Move | PatchOpKind::Copy, Some(from)) = (self.op, &self.from) {
            write!(f, "{} to ", named(from))?;
        }
        f.write_str(named(&self.path))
    }
}

/// A pointer, in words where it is empty.
pub(crate) fn named(pointer: &str) -> &str {
    if pointer.is_empty() { "the document" } else { pointer }
}

/// What a JSON string says.
fn text_of(json: &str) -> Option<String> {
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    String::from_utf8(unescape(inside.as_bytes())?).ok()
}

/// A value that is there, whatever it is.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

/// What a branch of `when` asks of the document: that the value at a JSON Pointer equals this one, compared as by RFC 6902's
/// `test`. A place where nothing is equals nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub(crate) path: String,
    pub(crate) value: RawJson,
}

impl Condition {
    /// The value at `path` must equal `value`.
    #[must_use]
    pub fn new(path: impl Into<String>, value: impl Into<RawJson>) -> Self {
        Self { path: path.into(), value: value.into() }
    }
}

/// What a failed `test` among `patches` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTestFailure {
    /// The whole sequence fails, as RFC 6902 says: what [`OnError`](super::OnError) says of an operation that cannot be applied
    /// applies.
    #[default]
    Fail,
    /// The sequence ends there, and what was applied before it stays (reShapr). Operations after the test are not applied, so
    /// what they would have removed is kept.
    Stop,
}

/// What happens to a document for which no branch of `when` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFallback {
    /// It passes unchanged (reShapr).
    Pass,
    /// Nothing of it is kept: `{}`, `[]` or `null` is left.
    Drop,
    /// It is an error, and nothing is emitted. What is done if nothing is said.
    Error,
}
