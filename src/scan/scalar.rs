//! The kernel that every CPU runs, and the oracle that the others are tested against. One byte at a time.

use super::{BLOCK, Classes, Kernel};

#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar;

impl Kernel for Scalar {
    #[inline(always)]
    fn classify(self, block: &[u8; BLOCK]) -> Classes {
        let mut classes = Classes {
            quote: 0,
            backslash: 0,
            open: 0,
            close: 0,
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
                b'{' | b'[' => classes.open |= bit,
                b'}' | b']' => classes.close |= bit,
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
    fn prefix_xor(self, mut bits: u64) -> u64 {
        for shift in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << shift;
        }
        bits
    }
}
