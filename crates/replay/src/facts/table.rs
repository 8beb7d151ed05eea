//! Follows facts through a session.
//!
//! | the fact is first in | and next in | it is |
//! |---|---|---|
//! | a result | a text or a call of the model | used later |
//! | a result | another result, or a text of the user | known from elsewhere, too: not counted |
//! | anything else | | not counted |
//!
//! A fact is its hash. Memory is bounded: when the table is full, new facts are not followed, and counted.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The most facts of a session. The table then has about 30 MiB.
const MOST: usize = 900_000;

/// The variants that show a fact, and those from which it can be fetched: one bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) shown: u16,
    pub(crate) kept: u16,
}

/// The number of a result in its session.
pub(crate) type Owner = u32;

/// The owner of facts that have another source, too.
const NOBODY: Owner = Owner::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    owner: Owner,
    shown: Shown,
}

/// A fact that the model used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) owner: Owner,
    pub(crate) shown: Shown,
}

/// The hashes are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = super::hash(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// The facts of a session.
#[derive(Debug, Default)]
pub(crate) struct Table {
    facts: HashMap<u64, Entry, BuildHasherDefault<Plain>>,
    left_out: u64,
}

impl Table {
    /// Removes all facts.
    pub(crate) fn clear(&mut self) {
        self.facts.clear();
        self.facts.shrink_to(1 << 16);
    }

    /// Returns how many facts were not followed.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    fn insert(&mut self, hash: u64, entry: Entry) {
        if self.facts.len() < MOST {
            self.facts.insert(hash, entry);
        } else {
            self.left_out += 1;
        }
    }

    /// Adds a fact of a result. `shown` is called if it is new.
    pub(crate) fn result(&mut self, hash: u64, owner: Owner, shown: impl FnOnce() -> Shown) {
        match self.facts.get_mut(&hash) {
            None => self.insert(hash, Entry { owner, shown: shown() }),
            Some(entry) if entry.owner != owner => entry.owner = NOBODY,
            Some(_) => {}
        }
    }

    /// Adds a fact of a result that reads an earlier one again. It changes nothing for facts that were there.
    pub(crate) fn read_back(&mut self, hash: u64) {
        if !self.facts.contains_key(&hash) {
            self.other(hash);
        }
    }

    /// Adds a fact of a text that is neither the model's nor a result.
    pub(crate) fn other(&mut self, hash: u64) {
        match self.facts.get_mut(&hash) {
            None => self.insert(hash, Entry { owner: NOBODY, shown: Shown::default() }),
            Some(entry) => entry.owner = NOBODY,
        }
    }

    /// Adds a fact of the model. Returns the result that it is from, at its first use.
    pub(crate) fn model(&mut self, hash: u64) -> Option<Found> {
        match self.facts.get_mut(&hash) {
            None => {
                self.insert(hash, Entry { owner: NOBODY, shown: Shown::default() });
                None
            }
            Some(entry) => {
                let owner = std::mem::replace(&mut entry.owner, NOBODY);
                (owner != NOBODY).then_some(Found { owner, shown: entry.shown })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown() -> Shown {
        Shown { shown: 1, kept: 3 }
    }

    #[test]
    fn a_fact_counts_if_the_model_is_the_next_to_have_it() {
        let mut table = Table::default();
        for fact in 1..=5 {
            table.result(fact, 0, shown);
        }
        table.other(2);
        table.result(3, 1, shown);
        table.read_back(4);
        assert_eq!(table.model(1), Some(Found { owner: 0, shown: shown() }));
        assert_eq!(table.model(1), None, "only the first use counts");
        assert_eq!(table.model(2), None, "the user wrote it, too");
        assert_eq!(table.model(3), None, "another result had it, too");
        assert_eq!(table.model(4), Some(Found { owner: 0, shown: shown() }));
        assert_eq!(table.model(6), None, "it is the model's own");
        table.result(6, 2, shown);
        assert_eq!(table.model(6), None);
    }
}
