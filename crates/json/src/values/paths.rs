//! The paths of a finder, parsed once and shared by all runs.

use std::sync::Arc;

use super::{FoundValue, ValueFinder};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::path::Path;
use crate::path::trie::Trie;
use crate::regex_budget::RegexBudget;

/// The paths of the values that a [`ValueFinder`] looks for. Cheap to clone, and shared by any number of runs.
///
/// | path | finds |
/// |---|---|
/// | `params.name` | the member `name` of the member `params` of the document |
/// | `content[].text` | the member `text` of each element of the array `content` |
/// | `[].id` | the member `id` of each element of a document that is an array |
/// | `rows[0]` | the first element of the array `rows`, or its member named `0` |
/// | `_meta["io.example/id"]` | a member whose name has dots |
/// | `/params/name` | the same as `params.name`, as a JSON Pointer (RFC 6901) |
/// | (the empty text) | the document itself, as a JSON Pointer |
///
/// Names are compared after unescaping, code point by code point. A wildcard (`[]`, `[*]` or `*`) stands for the elements
/// of an array, and not for the members of an object. A name does not reach through arrays.
///
/// ```
/// use tamis::json::{JsonKind, ValuePaths};
///
/// let paths = ValuePaths::new(["id", "content[].text"])?;
/// let message = br#"{"content": [{"text": "a"}, {"t\u0065xt": null}], "id": 7}"#;
/// let found = paths.find(message)?;
///
/// let places: Vec<_> = found.iter().map(|value| (value.path, value.span.clone())).collect();
/// assert_eq!(places, [(1, 22..25), (1, 42..46), (0, 56..57)]);
/// assert_eq!(found[1].kind, JsonKind::Null);
/// assert_eq!(found[1].indices(), [1]);
/// assert_eq!(found[1].key, Some(29..40));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ValuePaths {
    pub(super) trie: Arc<Trie>,
    pub(super) limits: Limits,
    pub(super) max_values: usize,
}

impl ValuePaths {
    /// Parses the paths. A found value refers to its path by the position in this list.
    ///
    /// # Errors
    /// [`ErrorKind::Spec`] if one of them is not a path, or if they are too many.
    pub fn new<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        let mut allowance = RegexBudget::new();
        let mut parsed = Vec::new();
        for text in paths {
            let text = text.as_ref();
            let path = Path::of_document(text).map_err(|error| {
                let excerpt = error.excerpt(text);
                Error::new(ErrorKind::Spec, error.line("path", text)).with_excerpt(excerpt)
            })?;
            allowance
                .take_steps(path.0.len())
                .map_err(|message| Error::new(ErrorKind::Spec, format!("paths: {message}")))?;
            parsed.push(path);
        }
        let mut trie = Trie::new(&parsed);
        trie.sharpen(&mut allowance);
        Ok(Self { trie: Arc::new(trie), limits: Limits::new(), max_values: 250_000 })
    }

    /// Sets the limits of each run. They use [`depth`](Limits::depth) and [`key`](Limits::key).
    ///
    /// ### Default
    /// [`Limits::new`].
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the maximum number of values that a run finds. A document with more of them is an error of the kind
    /// [`ErrorKind::Limit`].
    ///
    /// ### Default
    /// 250,000. A found value takes about 100 bytes.
    #[must_use]
    pub fn with_max_values(mut self, values: usize) -> Self {
        self.max_values = values;
        self
    }

    /// Returns the limits of each run.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the maximum number of values that a run finds.
    #[must_use]
    pub fn max_values(&self) -> usize {
        self.max_values
    }

    /// Returns all values at the paths in a complete document, in document order, duplicate members included.
    ///
    /// # Errors
    /// As [`ValueFinder::write`] and [`ValueFinder::end`].
    pub fn find(&self, document: &[u8]) -> Result<Vec<FoundValue>, Error> {
        let mut finder = ValueFinder::new(self);
        finder.write(document)?;
        finder.end()?;
        Ok(finder.into_found())
    }
}
