//! The decision of a layer about one response.

use http::StatusCode;

use crate::http::transform::Transform;

/// The decision of a [`FilterLayer`](super::FilterLayer) about one response.
#[derive(Debug)]
pub enum Choice {
    /// Forwards the response unfiltered.
    Pass,
    /// Filters the response.
    Filter(Transform),
    /// Sends this status instead of the response, whose body is not read.
    Refuse(StatusCode),
}

impl From<Transform> for Choice {
    /// [`Choice::Filter`].
    fn from(transform: Transform) -> Self {
        Self::Filter(transform)
    }
}

impl From<Option<Transform>> for Choice {
    /// [`Choice::Pass`] for `None`.
    fn from(transform: Option<Transform>) -> Self {
        transform.map_or(Self::Pass, Self::Filter)
    }
}
