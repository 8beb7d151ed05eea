//! Escapes: which bytes a backslash escapes, and which of those are invalid.
//!
//! One block of 64 bytes, bit 0 on the left:
//!
//! ```text
//! bytes      "a\"\u00e9\x\\"
//! backslash    1 1     1 11
//! escaped       1 1     1 1    the bytes after an escaping backslash
//! digit 0          1           an escaped `u`, moved up by one place
//! digit 1           1          a hexadecimal digit 0, moved up by one place; digits 2 and 3 likewise
//! bad                   1      escaped, but not one of `"\/bfnrtu`, or at the place of a digit, but not hexadecimal
//! ```

/// The bytes that may occur in an escape, one bit per byte, without context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EscapeClasses {
    /// The bytes that may follow a backslash.
    pub(super) good: u64,
    /// The digits that follow `\u`.
    pub(super) hex: u64,
    /// The letter `u`.
    pub(super) unicode: u64,
}

/// The position within an escape at the end of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EscapeState {
    #[default]
    None,
    /// The next byte is escaped.
    Backslash,
    /// A `\u` needs this many more digits.
    Hex(u8),
}

/// The bytes that may follow a backslash.
pub(super) const GOOD: [u8; 9] = *b"\"\\/bfnrtu";

/// Classes of bytes that are products: all bytes with one of some upper halves and one of some lower halves. Two lookups
/// of 16 entries find the classes of a byte: those in the entry of its lower half and in the entry of its upper half.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
pub(super) mod halves {
    /// The classes of the hexadecimal digits.
    pub(crate) const HEX: u8 = 0b000_0011;
    /// The classes of the bytes that may follow a backslash.
    pub(crate) const GOOD: u8 = 0b111_1100;
    /// The class of the letter `u`.
    pub(crate) const UNICODE: u8 = 0b100_0000;

    /// The upper and lower halves of each class, as sets of bits.
    const CLASSES: [(u16, u16); 7] = [
        (1 << 3, 0b11_1111_1111),                 // 0 to 9
        (1 << 4 | 1 << 6, 0b111_1110),            // A to F, a to f
        (1 << 2, 1 << 0x2 | 1 << 0xf),            // " /
        (1 << 5, 1 << 0xc),                       // \
        (1 << 6, 1 << 0x2 | 1 << 0x6 | 1 << 0xe), // b f n
        (1 << 7, 1 << 0x2 | 1 << 0x4),            // r t
        (1 << 7, 1 << 0x5),                       // u
    ];

    pub(crate) const UPPER: [u8; 16] = table(&CLASSES, true);
    pub(crate) const LOWER: [u8; 16] = table(&CLASSES, false);

    /// Returns for each half of a byte the classes that it may be in.
    #[allow(clippy::indexing_slicing, reason = "runs at compile time, where a panic is an error")]
    pub(crate) const fn table(classes: &[(u16, u16); 7], upper: bool) -> [u8; 16] {
        let mut table = [0; 16];
        let mut at = 0;
        while at < 16 * classes.len() {
            let (half, class) = (at % 16, at / 16);
            let set = if upper { classes[class].0 } else { classes[class].1 };
            table[half] |= ((set >> half & 1) as u8) << class;
            at += 1;
        }
        table
    }
}

/// Returns the escaped bytes, and the backslashes that escape, given all backslashes of a block. `before` is 1 if the
/// first byte is escaped. Escaped bytes are those after a run of backslashes of odd length. One subtraction finds the ends
/// of all runs at once (simdjson's `find_escaped_branchless`).
#[inline(always)]
pub(super) fn resolve_escapes(backslash: u64, before: u64) -> (u64, u64) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let starts = backslash & !before;
    let runs = ((starts << 1) | ODD).wrapping_sub(starts);
    let code = runs ^ ODD; // escaping backslashes and the bytes they escape
    (code ^ (backslash | before), code & backslash)
}

/// Returns the invalid bytes of escapes, at most one per escape. `escaped` are the bytes after an escaping backslash, in
/// strings, and `last` is the position of the block's last byte. Bit `n` of `digits` is set if the first byte of the block
/// should be the digit `n` after a `\u`; then the same for the byte after `last` is written to it.
#[inline(always)]
pub(super) fn bad_escapes(
    classes: EscapeClasses,
    escaped: u64,
    last: usize,
    digits: &mut u64,
) -> u64 {
    let mut bad = escaped & !classes.good;
    // The bytes before each digit `n`.
    let mut before = escaped & classes.unicode;
    let first = std::mem::take(digits);
    if before | first != 0 {
        for n in 0..4 {
            *digits |= (before >> last & 1) << n;
            let digit = before << 1 | (first >> n & 1);
            bad |= digit & !classes.hex;
            before = digit & classes.hex;
        }
    }
    bad & (u64::MAX >> (u64::BITS as usize - 1 - last))
}
