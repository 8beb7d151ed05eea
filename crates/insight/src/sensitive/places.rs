//! The places that were found, with bounded memory.

use std::collections::BTreeMap;

/// The most places that are told apart. Further ones count as one for each kind.
pub(super) const MAX_PLACES: usize = 10_000;
/// The most bytes of all paths that are told apart. Further ones count as one for each kind.
pub(super) const MAX_PATH_BYTES: usize = 4 << 20;
/// A longer name is cut in paths, in bytes.
const LONGEST_NAME: usize = 128;
/// The path of all places for which there was no room, and the end of a name that was cut.
const MORE: &str = "…";

/// How much of each kind is at each path.
#[derive(Debug, Default)]
pub(super) struct FoundPlaces {
    /// By path and kind.
    counts: BTreeMap<(String, String), u64>,
    /// Bytes of the paths.
    path_bytes: usize,
}

impl FoundPlaces {
    /// Counts values of a kind at a path.
    pub(super) fn add(&mut self, path: &str, kind: &str, count: u64) {
        let mut place = (path.to_owned(), kind.to_owned());
        if !self.counts.contains_key(&place) {
            let bytes = self.path_bytes.saturating_add(path.len());
            if self.counts.len() >= MAX_PLACES || bytes > MAX_PATH_BYTES {
                MORE.clone_into(&mut place.0);
            } else {
                self.path_bytes = bytes;
            }
        }
        *self.counts.entry(place).or_default() += count;
    }

    /// Adds the places of a document.
    pub(super) fn add_all(&mut self, places: Self) {
        for (path, kind, count) in places.into_iter() {
            self.add(&path, &kind, count);
        }
    }

    /// Returns paths, kinds and counts, in their order.
    pub(super) fn into_iter(self) -> impl Iterator<Item = (String, String, u64)> {
        self.counts.into_iter().map(|((path, kind), count)| (path, kind, count))
    }
}

/// Appends a name to a path. A long name is cut, so that a path is short however long names are.
pub(super) fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    if name.len() <= LONGEST_NAME {
        path.push_str(name);
        return;
    }
    let end = (0..=LONGEST_NAME).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    path.push_str(name.get(..end).unwrap_or_default());
    path.push_str(MORE);
}
