//! The kernel that every CPU runs, and the reference that the others are tested against. One byte at a time.

use super::escapes::{EscapeClasses, GOOD};
use super::words::{WordMasks, WordMasksReader, classify_all, classify_scalar};
use super::{BLOCK, BracketKinds, ByteClasses, Kernel};

#[derive(Clone, Copy, Debug)]
pub(super) struct ScalarKernel;

impl Kernel for ScalarKernel {
    fn words(self, bytes: &[u8], first: usize, masks: &mut WordMasks, then: impl WordMasksReader) {
        classify_all(bytes, first, masks, classify_scalar);
        then.read(masks);
    }

    fn is_utf8(self, text: &[u8]) -> bool {
        std::str::from_utf8(text).is_ok()
    }

    #[inline(always)]
    fn classify(self, block: &[u8; BLOCK]) -> ByteClasses {
        let mut classes = ByteClasses {
            quote: 0,
            backslash: 0,
            bracket: 0,
            separator: 0,
            white: 0,
            control: 0,
            high: 0,
        };
        for (at, byte) in block.iter().enumerate() {
            let bit = 1 << at;
            match byte {
                b'"' => classes.quote |= bit,
                b'\\' => classes.backslash |= bit,
                b'{' | b'[' | b'}' | b']' => classes.bracket |= bit,
                b',' | b':' => classes.separator |= bit,
                b' ' => classes.white |= bit,
                b'\t' | b'\n' | b'\r' => {
                    classes.white |= bit;
                    classes.control |= bit;
                }
                0..0x20 => classes.control |= bit,
                0x80.. => classes.high |= bit,
                _ => {}
            }
        }
        classes
    }

    #[allow(clippy::indexing_slicing, reason = "a table of 256 entries indexed by a byte")]
    #[inline(always)]
    fn classify_escapes(self, block: &[u8; BLOCK]) -> EscapeClasses {
        /// The classes of each byte: 1 for `good`, 2 for `hex`, 4 for `unicode`.
        static CLASSES: [u8; 256] = {
            let mut classes = [0; 256];
            let mut at = 0;
            while at < GOOD.len() {
                classes[GOOD[at] as usize] |= 1;
                at += 1;
            }
            at = 0;
            while at < classes.len() {
                classes[at] |= ((at as u8).is_ascii_hexdigit() as u8) << 1;
                at += 1;
            }
            classes[b'u' as usize] |= 4;
            classes
        };
        /// Gathers the lowest bit of each byte in the top byte.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        const EACH: u64 = 0x0101_0101_0101_0101;
        let mut classes = EscapeClasses { good: 0, hex: 0, unicode: 0 };
        for (at, eight) in block.as_chunks::<8>().0.iter().enumerate() {
            let eight = u64::from_le_bytes(eight.map(|byte| CLASSES[usize::from(byte)]));
            let mask =
                |class: u32| ((eight >> class & EACH).wrapping_mul(GATHER) >> 56) << (8 * at);
            classes.good |= mask(0);
            classes.hex |= mask(1);
            classes.unicode |= mask(2);
        }
        classes
    }

    #[inline(always)]
    fn bracket_kinds(self, block: &[u8; BLOCK]) -> BracketKinds {
        let mut kinds = BracketKinds { open: 0, object: 0 };
        for (at, byte) in block.iter().enumerate() {
            kinds.open |= u64::from(matches!(byte, b'{' | b'[')) << at;
            kinds.object |= u64::from(matches!(byte, b'{' | b'}')) << at;
        }
        kinds
    }

    /// The lowest byte, and all of them together.
    type Range = (u8, u8);

    #[inline(always)]
    fn no_range(self) -> Self::Range {
        (u8::MAX, 0)
    }

    #[inline(always)]
    fn widen(self, range: Self::Range, block: &[u8; BLOCK]) -> Self::Range {
        block.iter().fold(range, |(lowest, all), byte| (lowest.min(*byte), all | byte))
    }

    #[inline(always)]
    fn has_control(self, (lowest, _): Self::Range) -> bool {
        lowest < 0x20
    }

    #[inline(always)]
    fn has_high(self, (_, all): Self::Range) -> bool {
        all >= 0x80
    }

    #[inline(always)]
    fn prefix_xor(self, mut bits: u64) -> u64 {
        for shift in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << shift;
        }
        bits
    }
}
