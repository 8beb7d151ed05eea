//! The credentials and other values that were replaced in a result, by kind.

use std::collections::BTreeMap;

/// How many values of each kind were replaced. Values at the paths of a rule do not count: the rule names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replaced(BTreeMap<String, u64>);

impl Replaced {
    /// Adds the counts of a report.
    pub(crate) fn add(&mut self, found: &BTreeMap<String, u64>) {
        for (kind, count) in found.iter().filter(|(kind, _)| *kind != "path") {
            *self.0.entry(kind.clone()).or_default() += count;
        }
    }

    /// Adds those of another part.
    pub(crate) fn add_all(&mut self, other: &Self) {
        self.add(&other.0);
    }

    /// Returns the number of values of all kinds.
    pub(crate) fn count(&self) -> u64 {
        self.0.values().sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the counts.
    pub(crate) fn into_kinds(self) -> BTreeMap<String, u64> {
        self.0
    }
}
