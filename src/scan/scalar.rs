//! The kernel that every CPU runs, and the reference that the others are tested against. One byte at a time.

use super::escapes::GOOD;
use super::{BLOCK, ByteClasses, EscapeClasses, Kernel};

#[derive(Clone, Copy, Debug)]
pub(super) struct ScalarKernel;

impl Kernel for ScalarKernel {
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

    #[inline(always)]
    fn classify_escapes(self, block: &[u8; BLOCK]) -> EscapeClasses {
        let mask = |is: fn(&u8) -> bool| {
            let bits = block.iter().enumerate().map(|(at, byte)| u64::from(is(byte)) << at);
            bits.fold(0, |mask, bit| mask | bit)
        };
        EscapeClasses {
            good: mask(|byte| GOOD.contains(byte)),
            hex: mask(u8::is_ascii_hexdigit),
            unicode: mask(|byte| *byte == b'u'),
        }
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
