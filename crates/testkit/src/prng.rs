//! A seeded source of randomness, so that every run of the tests sees the same inputs.

/// The choices that a generator of inputs makes: from a seed in tests, from the bytes that a fuzzer found in fuzz targets.
pub trait Choices {
    fn next_u64(&mut self) -> u64;

    /// A number below `bound`; 0 if `bound` is 0.
    fn below(&mut self, bound: usize) -> usize;

    /// True once in `odds` times on average.
    fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

impl Choices for Prng {
    fn next_u64(&mut self) -> u64 {
        Self::next_u64(self)
    }

    fn below(&mut self, bound: usize) -> usize {
        Self::below(self, bound)
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, good enough to pick test cases.
#[derive(Clone, Debug)]
pub struct Prng(u64);

impl Prng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Seeded by a text, such as the name of a case (FNV-1a).
    pub fn named(name: &str) -> Self {
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next_u64() % bound as u64) as usize }
    }

    /// True once in `odds` times on average.
    pub fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Offsets at which to cut `length` bytes: ascending, so some chunks may be empty.
    pub fn cuts(&mut self, length: usize) -> Vec<usize> {
        let count = 1 + self.below(8);
        let mut cuts: Vec<usize> = (0..count).map(|_| self.below(length + 1)).collect();
        cuts.sort_unstable();
        cuts
    }
}
