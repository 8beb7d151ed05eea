//! [`ShapeCounts`]: how often each of many hashes was seen; and [`FailureRanks`].

use crate::words;

/// Counts hashes.
pub(super) struct ShapeCounts {
    places: Vec<(u64, u32)>,
}

impl ShapeCounts {
    /// `most`: the most hashes.
    pub(super) fn new(most: usize) -> Self {
        Self { places: vec![(0, 0); (2 * most).next_power_of_two().max(16)] }
    }

    /// Counts a hash that is not 0, and returns how often it was counted.
    pub(super) fn count(&mut self, hash: u64) -> u32 {
        let mask = self.places.len() - 1;
        let mut at = (hash >> 20) as usize & mask;
        loop {
            match self.places.get_mut(at) {
                Some((known, count)) if *known == hash || *known == 0 => {
                    *known = hash;
                    *count += 1;
                    return *count;
                }
                _ => at = (at + 1) & mask,
            }
        }
    }
}

/// How many failures before one were equal to it, or differ from it only in numbers.
pub(super) struct FailureRanks {
    shapes: ShapeCounts,
    texts: ShapeCounts,
}

impl FailureRanks {
    /// `most`: the most failures.
    pub(super) fn new(most: usize) -> Self {
        Self { shapes: ShapeCounts::new(most), texts: ShapeCounts::new(most) }
    }

    /// Returns 0 for the first failure of a shape, 1 for one that only has other numbers, and 2 for one that was seen.
    pub(super) fn rank(&mut self, template: u64, text: &[u8]) -> u8 {
        let is_new = self.shapes.count(template | 1) == 1;
        match (is_new, self.texts.count(words::hash(text.trim_ascii()) | 1)) {
            (true, _) => 0,
            (false, 1) => 1,
            _ => 2,
        }
    }
}
