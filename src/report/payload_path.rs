//! The place of the payload in a document.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// The place of the payload, as a JSON Pointer (RFC 6901). The empty pointer is the document itself.
///
/// ```
/// use tamis::{Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().root("/a~1b").select("id"))?;
/// let (_, report) = filter_slice(&program, br#"{"a/b":[{"id":1}]}"#)?;
/// let root = report.root.ok_or("a payload")?;
/// assert_eq!(root.as_str(), "/a~1b");
/// assert!(root.names().eq(["a/b"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct PayloadPath(String);

impl PayloadPath {
    /// Creates the place from a pointer.
    pub(crate) fn new(pointer: impl Into<String>) -> Self {
        Self(pointer.into())
    }

    /// Returns the pointer.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the names of the members on the way, without the escapes `~0` and `~1`.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.0.split('/').skip(1).map(|token| match token.contains('~') {
            true => Cow::Owned(token.replace("~1", "/").replace("~0", "~")),
            false => Cow::Borrowed(token),
        })
    }
}

impl fmt::Display for PayloadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<PayloadPath> for String {
    fn from(path: PayloadPath) -> Self {
        path.0
    }
}
