//! Escapes: which bytes a backslash escapes, and which of those are invalid.
//!
//! The result depends on one block and the state after the previous block, but not on whether the block is in a string.

use super::BLOCK;

/// The position within an escape at the end of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EscapeState {
    #[default]
    None,
    /// The next byte is escaped.
    Backslash,
    /// A `\u` needs this many more digits.
    Hex(u8),
}

/// Returns the escaped bytes, given the backslashes: those after a run of backslashes of odd length. One subtraction
/// finds the ends of all runs at once (simdjson's `find_escaped_branchless`).
#[inline(always)]
pub(super) fn resolve_escapes(
    backslash: u64,
    len: usize,
    before: EscapeState,
) -> (u64, EscapeState) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let carry = u64::from(before == EscapeState::Backslash);
    let starts = backslash & !carry;
    let runs = ((starts << 1) | ODD).wrapping_sub(starts);
    let code = runs ^ ODD; // escape characters and the bytes they escape
    let escaped = code ^ (backslash | carry);
    let escapes = code & backslash;
    let next =
        if escapes >> (len - 1) & 1 != 0 { EscapeState::Backslash } else { EscapeState::None };
    (escaped, next)
}

/// Returns the invalid bytes of escapes, at most one per escape. `escaped` are the bytes after an escaping backslash,
/// in strings. `hex` is the number of digits that a `\u` needs when the block begins; the number at its end is
/// returned.
#[inline(never)]
pub(super) fn bad_escapes(
    block: &[u8; BLOCK],
    mut escaped: u64,
    len: usize,
    hex: usize,
) -> (u64, usize) {
    let block = block.get(..len).unwrap_or_default();
    let mut bad = 0u64;
    let mut digits = |from: usize, count: usize| -> usize {
        for at in from..from + count {
            match block.get(at) {
                None => return from + count - at,
                Some(byte) if byte.is_ascii_hexdigit() => {}
                Some(_) => {
                    bad |= 1 << at;
                    return 0;
                }
            }
        }
        0
    };
    let mut hex = digits(0, hex);
    let mut others = 0;
    while escaped != 0 {
        let at = escaped.trailing_zeros() as usize;
        escaped &= escaped - 1;
        match block.get(at) {
            Some(b'u') => hex = digits(at + 1, 4),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') | None => {}
            Some(_) => others |= 1 << at,
        }
    }
    (bad | others, hex)
}
