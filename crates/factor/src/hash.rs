//! A hash of short texts, for what is compared anyway: equal hashes are verified, or treated as the less favourable case.

use tamis_json::test_work::{WorkKind, count, words};

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes a word into a hash.
#[inline]
pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ MULTIPLIER) * 0xD6E8_FEB8_6659_FD93_u128;
    (product as u64) ^ (product >> 64) as u64
}

/// Returns the hash of a text.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    count(WorkKind::Tree, words(bytes.len()));
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = MULTIPLIER ^ bytes.len() as u64;
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    mix(hash, u64::from_le_bytes(last))
}
