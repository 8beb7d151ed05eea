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

    /// Takes the larger count of each kind, for another form of the same result.
    pub(crate) fn take_larger(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            let own = self.0.entry(kind.clone()).or_default();
            *own = (*own).max(*count);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(counts: &[(&str, u64)]) -> Replaced {
        let mut replaced = Replaced::default();
        replaced.add(&counts.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect());
        replaced
    }

    #[test]
    fn no_kind_disappears_of_two_forms_of_a_result() {
        let mut texts = replaced(&[("email", 5), ("github-token", 1), ("path", 9)]);
        texts.take_larger(&replaced(&[("email", 2), ("github-token", 3), ("iban", 1)]));
        assert_eq!(texts, replaced(&[("email", 5), ("github-token", 3), ("iban", 1)]));
        assert_eq!(texts.count(), 9);
    }
}
