//! Seeded random numbers, so that an audit is repeatable.

/// A generator of the kind SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `count`, or 0 if there is none.
    pub(super) fn below(&mut self, count: usize) -> usize {
        match u64::try_from(count) {
            Ok(count @ 1..) => usize::try_from(self.next() % count).unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns a number of `digits` decimal digits, the first of which is not 0.
    pub(super) fn digits(&mut self, digits: u32) -> String {
        let least = 10u64.saturating_pow(digits.saturating_sub(1));
        (least + self.next() % least.saturating_mul(9)).to_string()
    }
}
