//! The NEON kernel, for AArch64.
//!
//! Builds masks only; `scan/mod.rs` interprets them. The unsafe code is the intrinsics, which need a CPU feature, and
//! loads of 64 and 16 bytes from arrays of that size.
//!
//! No instruction moves one bit per byte out of a vector. The usual method, known from simdjson's kernel for ARM, keeps
//! in each byte the bit of its position and then adds neighbours until eight bytes are one.
#![allow(unsafe_code, reason = "CPU intrinsics; each site says why it is sound")]

use std::arch::aarch64::{
    uint8x16_t, uint8x16x4_t, vandq_u8, vceqq_u8, vcgeq_u8, vcltq_u8, vdupq_n_u8, vdupq_n_u64,
    veorq_u8, vextq_u8, vgetq_lane_u64, vld1q_u8, vld1q_u8_x4, vmaxvq_u8, vminq_u8, vminvq_u8,
    vmull_p64, vorrq_u8, vqsubq_u8, vqtbl1q_u8, vreinterpretq_u8_u64, vreinterpretq_u64_u8,
    vshrq_n_u8, vtstq_u8,
};
use std::arch::asm;
use std::arch::is_aarch64_feature_detected;

use super::classes::{BRACKET, SEPARATOR, WHITE};
use super::escapes::{EscapeClasses, halves};
use super::forward::call_functions;
use super::scalar::ScalarKernel;
use super::utf8::{
    FIRST_HIGH, FIRST_LOW, LEAD_3, LEAD_4, SECOND_HIGH, TWO_CONTINUATIONS, each_block,
};
use super::words::{self, WordClasses, WordMasks, WordMasksReader, classify_all};
use super::{BLOCK, BracketKinds, ByteClasses, Carry, Kernel, Window, scan_with};

/// Proof that the CPU has NEON, and with `PMULL` also carry-less multiplication. `PMULL` comes with AES, which small
/// cores lack, such as those of the Raspberry Pi 4.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neon<const PMULL: bool>(());

impl<const PMULL: bool> Neon<PMULL> {
    pub(super) fn new() -> Option<Self> {
        let has =
            is_aarch64_feature_detected!("neon") && (!PMULL || is_aarch64_feature_detected!("aes"));
        has.then_some(Self(()))
    }
}

impl<const PMULL: bool> Kernel for Neon<PMULL> {
    fn scan(self, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
        #[target_feature(enable = "neon,aes")]
        fn with_pmull(kernel: impl Kernel, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
            scan_with(kernel, bytes, carry, window);
        }
        #[target_feature(enable = "neon")]
        fn without(kernel: impl Kernel, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
            scan_with(kernel, bytes, carry, window);
        }
        if PMULL {
            // SAFETY: a value of this type exists only where `new` found the features.
            unsafe { with_pmull(self, bytes, carry, window) }
        } else {
            // SAFETY: as above.
            unsafe { without(self, bytes, carry, window) }
        }
    }

    fn words(self, bytes: &[u8], first: usize, masks: &mut WordMasks, then: impl WordMasksReader) {
        #[target_feature(enable = "neon")]
        fn words(bytes: &[u8], first: usize, masks: &mut WordMasks, then: impl WordMasksReader) {
            classify_all(bytes, first, masks, |block| classify_words(block));
            then.read(masks);
        }
        // SAFETY: as in `scan`.
        unsafe { words(bytes, first, masks, then) }
    }

    /// The lowest byte of each lane, and all of them together.
    type Range = [uint8x16_t; 2];

    call_functions! {
        fn classify(block: &[u8; BLOCK]) -> ByteClasses;
        fn classify_escapes(block: &[u8; BLOCK]) -> EscapeClasses;
        fn bracket_kinds(block: &[u8; BLOCK]) -> BracketKinds;
        fn no_range() -> Self::Range;
        fn widen(range: Self::Range, block: &[u8; BLOCK]) -> Self::Range;
        fn has_control(range: Self::Range) -> bool;
        fn has_high(range: Self::Range) -> bool;
        fn is_utf8(text: &[u8]) -> bool;
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        if PMULL {
            // SAFETY: as in `scan`; with `PMULL`, `new` found that too.
            unsafe { prefix_xor(bits) }
        } else {
            ScalarKernel.prefix_xor(bits)
        }
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn classify(block: &[u8; BLOCK]) -> ByteClasses {
    let uint8x16x4_t(a, b, c, d) = load(block);
    // A mask from a comparison of each quarter.
    macro_rules! mask {
        ($quarter:ident => $compare:expr) => {{
            let compare = |$quarter| $compare;
            movemask([compare(a), compare(b), compare(c), compare(d)])
        }};
    }
    let fold = vdupq_n_u8(0x20);
    let (white, bracket, separator) = (table(&WHITE), table(&BRACKET), table(&SEPARATOR));
    let low_half = vdupq_n_u8(0x0f);
    ByteClasses {
        quote: mask!(v => vceqq_u8(v, vdupq_n_u8(b'"'))),
        backslash: mask!(v => vceqq_u8(v, vdupq_n_u8(b'\\'))),
        bracket: mask!(v => vceqq_u8(
            vorrq_u8(v, fold),
            vqtbl1q_u8(bracket, vandq_u8(v, low_half)),
        )),
        separator: mask!(v => vceqq_u8(v, vqtbl1q_u8(separator, vandq_u8(v, low_half)))),
        white: mask!(v => vceqq_u8(v, vqtbl1q_u8(white, vandq_u8(v, low_half)))),
        control: mask!(v => vcltq_u8(v, vdupq_n_u8(0x20))),
        high: mask!(v => vcgeq_u8(v, vdupq_n_u8(0x80))),
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn classify_escapes(block: &[u8; BLOCK]) -> EscapeClasses {
    let (lower, upper) = (table(&halves::LOWER), table(&halves::UPPER));
    let low_half = vdupq_n_u8(0x0f);
    let classes = |v: uint8x16_t| {
        let lower = vqtbl1q_u8(lower, vandq_u8(v, low_half));
        vandq_u8(lower, vqtbl1q_u8(upper, vshrq_n_u8::<4>(v)))
    };
    let uint8x16x4_t(a, b, c, d) = load(block);
    let [a, b, c, d] = [classes(a), classes(b), classes(c), classes(d)];
    let mask = |set: u8| {
        let has = |v: uint8x16_t| vtstq_u8(v, vdupq_n_u8(set));
        movemask([has(a), has(b), has(c), has(d)])
    };
    EscapeClasses {
        good: mask(halves::GOOD),
        hex: mask(halves::HEX),
        unicode: mask(halves::UNICODE),
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn classify_words(block: &[u8; BLOCK]) -> WordClasses {
    let (lower, upper) = (table(&words::halves::LOWER), table(&words::halves::UPPER));
    let low_half = vdupq_n_u8(0x0f);
    let names = (table(&words::halves::NAMES_LOWER), table(&words::halves::NAMES_UPPER));
    let classes = |(lower, upper): (uint8x16_t, uint8x16_t), v: uint8x16_t| {
        let lower = vqtbl1q_u8(lower, vandq_u8(v, low_half));
        vandq_u8(lower, vqtbl1q_u8(upper, vshrq_n_u8::<4>(v)))
    };
    let uint8x16x4_t(a, b, c, d) = load(block);
    let classes_of =
        |table| [classes(table, a), classes(table, b), classes(table, c), classes(table, d)];
    let (found, found_names) = (classes_of((lower, upper)), classes_of(names));
    let class_of = |set: u8, found: [uint8x16_t; 4]| {
        let [a, b, c, d] = found;
        let has = |v: uint8x16_t| vtstq_u8(v, vdupq_n_u8(set));
        movemask([has(a), has(b), has(c), has(d)])
    };
    let class = |set: u8| class_of(set, found);
    let name = |set: u8| class_of(set, found_names);
    let byte = |byte: u8| {
        let is = |v: uint8x16_t| vceqq_u8(v, vdupq_n_u8(byte));
        movemask([is(a), is(b), is(c), is(d)])
    };
    WordClasses {
        word: class(words::halves::WORD),
        letter: class(words::halves::LETTER),
        run: class(words::halves::RUN),
        blank: byte(b' ') | byte(b'\t'),
        dash: byte(b'-'),
        at: byte(b'@') | byte(b'~'),
        colon: name(words::halves::COLON),
        name_end: name(words::halves::LAST) & (name(words::halves::SECOND_LAST) << 1 | 1),
        backslash: byte(b'\\'),
        spelling: name(words::halves::SPELLING),
    }
}

/// `{` and `[` have bit 1, `}` and `]` do not; `{` and `}` have bit 5, `[` and `]` do not.
#[target_feature(enable = "neon")]
#[inline]
fn bracket_kinds(block: &[u8; BLOCK]) -> BracketKinds {
    let uint8x16x4_t(a, b, c, d) = load(block);
    let mask = |bit: u8| {
        let has = |v: uint8x16_t| vtstq_u8(v, vdupq_n_u8(bit));
        movemask([has(a), has(b), has(c), has(d)])
    };
    BracketKinds { open: mask(1 << 1), object: mask(1 << 5) }
}

#[target_feature(enable = "neon")]
#[inline]
fn no_range() -> [uint8x16_t; 2] {
    [vdupq_n_u8(u8::MAX), vdupq_n_u8(0)]
}

#[target_feature(enable = "neon")]
#[inline]
fn widen([lowest, all]: [uint8x16_t; 2], block: &[u8; BLOCK]) -> [uint8x16_t; 2] {
    let uint8x16x4_t(a, b, c, d) = load(block);
    let low = vminq_u8(vminq_u8(a, b), vminq_u8(c, d));
    let any = vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d));
    [vminq_u8(lowest, low), vorrq_u8(all, any)]
}

#[target_feature(enable = "neon")]
#[inline]
fn has_control([lowest, _]: [uint8x16_t; 2]) -> bool {
    vminvq_u8(lowest) < 0x20
}

#[target_feature(enable = "neon")]
#[inline]
fn has_high([_, all]: [uint8x16_t; 2]) -> bool {
    vmaxvq_u8(all) >= 0x80
}

/// One bit of each byte, all of whose bits are alike:
///
/// ```text
/// bytes    ff 00 00 ff ff 00 00 00 ...
/// places   01 02 04 08 10 20 40 80 ...
/// and      01 00 00 08 10 00 00 00 ...
/// add      01    08    10    00    ...   twice more: 19 ...
/// ```
#[target_feature(enable = "neon")]
#[inline]
fn movemask([a, b, c, d]: [uint8x16_t; 4]) -> u64 {
    let places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    let ab = add_pairs(vandq_u8(a, places), vandq_u8(b, places));
    let cd = add_pairs(vandq_u8(c, places), vandq_u8(d, places));
    let abcd = add_pairs(ab, cd);
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(add_pairs(abcd, abcd)))
}

/// Adds neighbours; the sums of `low` come first.
///
/// Not `vpaddq_u8`: the compiler sees through it that the bits are disjoint, and replaces one addition by two shuffles
/// and an or.
#[target_feature(enable = "neon")]
#[inline]
fn add_pairs(low: uint8x16_t, high: uint8x16_t) -> uint8x16_t {
    let sums: uint8x16_t;
    // SAFETY: reads and writes only registers, and the CPU has NEON.
    unsafe {
        asm!(
            "addp {sums:v}.16b, {low:v}.16b, {high:v}.16b",
            low = in(vreg) low,
            high = in(vreg) high,
            sums = lateout(vreg) sums,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}

/// See `utf8.rs`.
#[target_feature(enable = "neon")]
#[inline]
fn is_utf8(text: &[u8]) -> bool {
    let (first_high, first_low) = (table(&FIRST_HIGH), table(&FIRST_LOW));
    let second_high = table(&SECOND_HIGH);
    let half = vdupq_n_u8(0x0f);
    let least = |byte: u8| vdupq_n_u8(byte - TWO_CONTINUATIONS);
    let (lead_3, lead_4) = (least(LEAD_3), least(LEAD_4));
    let continuation = vdupq_n_u8(TWO_CONTINUATIONS);
    let mut errors = vdupq_n_u8(0);
    let mut before = vdupq_n_u8(0);
    each_block(text, |block| {
        let uint8x16x4_t(a, b, c, d) = load(block);
        // Nothing of the block before reaches into this one, unless that one is not ASCII.
        let any = vorrq_u8(before, vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d)));
        if vmaxvq_u8(any) < 0x80 {
            before = d;
            return;
        }
        for bytes in [a, b, c, d] {
            let first = vextq_u8::<15>(before, bytes);
            let second = vextq_u8::<14>(before, bytes);
            let third = vextq_u8::<13>(before, bytes);
            let flaws = vandq_u8(
                vandq_u8(
                    vqtbl1q_u8(first_high, vshrq_n_u8::<4>(first)),
                    vqtbl1q_u8(first_low, vandq_u8(first, half)),
                ),
                vqtbl1q_u8(second_high, vshrq_n_u8::<4>(bytes)),
            );
            let expected = vorrq_u8(vqsubq_u8(second, lead_3), vqsubq_u8(third, lead_4));
            errors = vorrq_u8(errors, veorq_u8(flaws, vandq_u8(expected, continuation)));
            before = bytes;
        }
    });
    vmaxvq_u8(errors) == 0
}

#[target_feature(enable = "neon")]
#[inline]
fn load(block: &[u8; BLOCK]) -> uint8x16x4_t {
    // SAFETY: the block has 64 bytes, and the load needs no alignment.
    unsafe { vld1q_u8_x4(block.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
fn table(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: the table has 16 bytes, and the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// Carry-less multiplication by all ones adds all lower bits into each bit, without carries.
#[target_feature(enable = "neon,aes")]
#[inline]
fn prefix_xor(bits: u64) -> u64 {
    vmull_p64(bits, u64::MAX) as u64
}
