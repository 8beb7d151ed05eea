//! Tables for a lookup of classes by the low half of a byte.

/// The bytes of a class by their low four bits. An unused entry has a byte whose low bits differ from its index, which
/// never matches.
#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where a panic is an error of the compiler"
)]
const fn by_low_half<const N: usize>(bytes: [u8; N]) -> [u8; 16] {
    let mut table = [0; 16];
    let mut at = 0;
    while at < table.len() {
        table[at] = !(at as u8);
        at += 1;
    }
    at = 0;
    while at < N {
        table[bytes[at] as usize % 16] = bytes[at];
        at += 1;
    }
    table
}

pub(super) const WHITE: [u8; 16] = by_low_half(*b" \t\n\r");
/// Compared with bytes whose bit 0x20 is set: `[` and `{` differ only in it, and so do `]` and `}`; no other byte becomes one of them.
pub(super) const BRACKET: [u8; 16] = by_low_half(*b"{}");
pub(super) const SEPARATOR: [u8; 16] = by_low_half(*b",:");
