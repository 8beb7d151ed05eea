//! The names of limits, as data and after a message.

use std::fmt;

/// A limit, named like the accessor of [`Limits`](crate::Limits) (or of the options of decoding, or of
/// [`ValuePaths`](crate::ValuePaths)) that returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitName {
    /// `depth`
    Depth,
    /// `key`
    Key,
    /// `held`
    Held,
    /// The bytes that `held` and `spill` allow together.
    HeldAndSpill,
    /// `item`
    Item,
    /// `max_values`
    MaxValues,
    /// The bytes that all runs with one pool may hold together.
    Pool,
    /// `max_bytes`
    MaxBytes,
    /// `max_ratio`
    MaxRatio,
}

impl LimitName {
    /// Returns the names of the limits that were reached together.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Depth => &["depth"],
            Self::Key => &["key"],
            Self::Held => &["held"],
            Self::HeldAndSpill => &["held", "spill"],
            Self::Item => &["item"],
            Self::MaxValues => &["max_values"],
            Self::Pool => &["pool"],
            Self::MaxBytes => &["max_bytes"],
            Self::MaxRatio => &["max_ratio"],
        }
    }
}

/// Displays the names of reached limits, after a message.
pub(super) struct LimitNames(pub(super) &'static [&'static str]);

impl fmt::Display for LimitNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            [name] => write!(f, " (limit `{name}`)"),
            names => write!(f, " (limits `{}`)", names.join("` and `")),
        }
    }
}
