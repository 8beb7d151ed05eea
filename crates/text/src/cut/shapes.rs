//! [`ShapeCounts`]: how often each of many hashes was seen.

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
