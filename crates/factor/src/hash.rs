//! A hash of short texts, for what is compared anyway: equal hashes are verified, or treated as the less favourable case.

use std::hash::{BuildHasher, Hasher, RandomState};

use tamis_json::test_work::{WorkKind, count, words};

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
const OTHER: u64 = 0xD6E8_FEB8_6659_FD93;

/// Returns the product of two words, folded.
#[inline]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product as u64) ^ (product >> 64) as u64
}

/// Mixes a word into a hash.
#[inline]
pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    fold(hash ^ word ^ MULTIPLIER, OTHER)
}

/// Returns the hash of a text.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    count(WorkKind::Tree, words(bytes.len()));
    let (pairs, rest) = bytes.as_chunks::<16>();
    let mut hash = MULTIPLIER ^ bytes.len() as u64;
    for pair in pairs {
        let (one, other) = pair.split_at(8);
        hash = fold(hash ^ word(one), OTHER ^ word(other));
    }
    let (one, other) = rest.split_at(rest.len().min(8));
    if !other.is_empty() {
        hash = fold(hash ^ word(one), OTHER ^ word(other));
        return mix(hash, 0);
    }
    mix(hash, word(one))
}

/// Returns up to 8 bytes as a word. Texts of one length have different words.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    if let Some(all) = bytes.first_chunk() {
        return u64::from_le_bytes(*all);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    match bytes {
        [first, .., last] => {
            let middle = bytes.get(bytes.len() / 2).copied().unwrap_or_default();
            u64::from(*first) | u64::from(middle) << 8 | u64::from(*last) << 16
        }
        [only] => u64::from(*only),
        [] => 0,
    }
}

/// A map of hashes.
pub(crate) type HashedMap<V> = std::collections::HashMap<u64, V, Secret>;

/// The hasher of a [`HashedMap`]. It has a secret, so that no document is made whose hashes meet in one bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secret(u64);

impl Default for Secret {
    fn default() -> Self {
        Self(RandomState::new().hash_one(MULTIPLIER))
    }
}

impl BuildHasher for Secret {
    type Hasher = Self;

    #[inline]
    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for Secret {
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(hash(bytes));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        // The secret is a factor, too. A known one has words whose products are close to each other.
        self.0 = fold(word ^ self.0, self.0 | 1);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
