//! Random numbers and words for documents.

/// Splitmix64 (Steele, Lea, Flood 2014).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    pub(super) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    /// A time of day in a year of this century.
    pub(super) fn date(&mut self) -> String {
        format!(
            "20{}-0{}-1{}T0{}:3{}:2{}Z",
            10 + self.below(16),
            1 + self.below(9),
            self.below(9),
            self.below(9),
            self.below(9),
            self.below(9)
        )
    }
}

pub(super) const WORDS: [&str; 16] = [
    "harbour", "lantern", "quartz", "meadow", "signal", "copper", "willow", "ember", "drift",
    "summit", "cobalt", "orchid", "falcon", "prairie", "tundra", "velvet",
];
