//! The AVX2 kernel.
//!
//! Builds masks only; `scan/mod.rs` interprets them. The unsafe code is the intrinsics, which need a CPU feature, and
//! loads of 32 bytes from an array of that size.
#![allow(unsafe_code, reason = "CPU intrinsics; each site says why it is sound")]

#[cfg(not(miri))]
use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, _MM_HINT_T0, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_loadu_si128,
    _mm_prefetch, _mm_set_epi64x, _mm_set1_epi8, _mm256_add_epi8, _mm256_alignr_epi8,
    _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
    _mm256_loadu_si256, _mm256_min_epu8, _mm256_or_si256, _mm256_permute2x128_si256,
    _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16,
    _mm256_srli_epi16, _mm256_subs_epu8, _mm256_testz_si256, _mm256_xor_si256, _pext_u64,
};

use super::classes::{BRACKET, SEPARATOR, WHITE};
use super::escapes::{EscapeClasses, halves};
use super::forward::{call_functions, entry_points};
use super::utf8::{
    FIRST_HIGH, FIRST_LOW, LEAD_3, LEAD_4, SECOND_HIGH, TWO_CONTINUATIONS, each_block,
};
use super::words::{self, WordClasses, WordMasks, WordMasksReader, classify_all};
use super::{BLOCK, BracketKinds, ByteClasses, Kernel};

/// Proof that the CPU has AVX2, BMI1, BMI2, LZCNT, POPCNT and PCLMULQDQ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2 {
    packs_fast: bool,
}

impl Avx2 {
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("pclmulqdq");
        // PEXT takes up to hundreds of cycles on CPUs of AMD before Zen 3. SSE4A is AMD's only, and Zen 3 has VAES.
        let packs_fast = !is_x86_feature_detected!("sse4a") || is_x86_feature_detected!("vaes");
        has.then_some(Self { packs_fast })
    }
}

impl Kernel for Avx2 {
    entry_points!("avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq");

    fn words(self, bytes: &[u8], first: usize, masks: &mut WordMasks, then: impl WordMasksReader) {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
        fn words(bytes: &[u8], first: usize, masks: &mut WordMasks, then: impl WordMasksReader) {
            classify_all(bytes, first, masks, |block| classify_words(block));
            then.read(masks);
        }
        // SAFETY: as in `scan`.
        unsafe { words(bytes, first, masks, then) }
    }

    /// The lowest byte of each lane, and all of them together.
    type Range = [__m256i; 2];

    call_functions! {
        fn classify(block: &[u8; BLOCK]) -> ByteClasses;
        fn classify_escapes(block: &[u8; BLOCK]) -> EscapeClasses;
        fn bracket_kinds(block: &[u8; BLOCK]) -> BracketKinds;
        fn pack(bits: u64, mask: u64) -> u64;
        fn no_range() -> Self::Range;
        fn widen(range: Self::Range, block: &[u8; BLOCK]) -> Self::Range;
        fn has_control(range: Self::Range) -> bool;
        fn has_high(range: Self::Range) -> bool;
        fn prefix_xor(bits: u64) -> u64;
        fn flatten(mask: u64, base: u16, positions: &mut [u16; BLOCK]);
        fn is_utf8(text: &[u8]) -> bool;
    }

    #[inline(always)]
    fn prefetch(self, address: *const u8) {
        // SAFETY: a hint; nothing is accessed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }

    #[inline(always)]
    fn packs_fast(self) -> bool {
        self.packs_fast
    }
}

/// The mask from an expression for each half of a block.
macro_rules! mask_of {
    ([$low:expr, $high:expr], $half:ident => $compare:expr) => {{
        let first = {
            let $half = $low;
            movemask($compare)
        };
        let second = {
            let $half = $high;
            movemask($compare)
        };
        first | second << 32
    }};
}

#[target_feature(enable = "avx2")]
#[inline]
fn classify(block: &[u8; BLOCK]) -> ByteClasses {
    let [low, high] = load(block);
    macro_rules! mask {
        ($half:ident => $compare:expr) => {
            mask_of!([low, high], $half => $compare)
        };
    }
    let fold = _mm256_set1_epi8(0x20);
    let (white, bracket, separator) = (table(&WHITE), table(&BRACKET), table(&SEPARATOR));
    ByteClasses {
        quote: mask!(v => _mm256_cmpeq_epi8(v, _mm256_set1_epi8(b'"' as i8))),
        backslash: mask!(v => _mm256_cmpeq_epi8(v, _mm256_set1_epi8(b'\\' as i8))),
        bracket: mask!(v => _mm256_cmpeq_epi8(
            _mm256_or_si256(v, fold),
            _mm256_shuffle_epi8(bracket, v),
        )),
        separator: mask!(v => _mm256_cmpeq_epi8(v, _mm256_shuffle_epi8(separator, v))),
        white: mask!(v => _mm256_cmpeq_epi8(v, _mm256_shuffle_epi8(white, v))),
        control: mask!(v => _mm256_cmpeq_epi8(v, _mm256_min_epu8(v, _mm256_set1_epi8(0x1f)))),
        high: mask!(v => v),
    }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn classify_escapes(block: &[u8; BLOCK]) -> EscapeClasses {
    let (lower, upper) = (table(&halves::LOWER), table(&halves::UPPER));
    // A byte above 0x7f finds nothing in the table of the lower halves.
    let classes = |bytes: __m256i| {
        let half = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(0x0f));
        _mm256_and_si256(_mm256_shuffle_epi8(lower, bytes), _mm256_shuffle_epi8(upper, half))
    };
    let [low, high] = load(block);
    let (low, high) = (classes(low), classes(high));
    let (hex, zero) = (_mm256_set1_epi8(halves::HEX as i8), _mm256_setzero_si256());
    const { assert!(halves::GOOD == 0x7f & !halves::HEX && halves::UNICODE == 0x40) };
    EscapeClasses {
        good: mask_of!([low, high], v => _mm256_cmpgt_epi8(v, hex)),
        hex: mask_of!([low, high], v => _mm256_cmpgt_epi8(_mm256_and_si256(v, hex), zero)),
        // The class becomes the top bit.
        unicode: mask_of!([low, high], v => _mm256_add_epi8(v, v)),
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn classify_words(block: &[u8; BLOCK]) -> WordClasses {
    let (lower, upper) = (table(&words::halves::LOWER), table(&words::halves::UPPER));
    let names = (table(&words::halves::NAMES_LOWER), table(&words::halves::NAMES_UPPER));
    // As in `classify_escapes`. No class has bit 7, so a byte with a class is greater than zero.
    let halves = |bytes: __m256i| {
        (bytes, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(0x0f)))
    };
    let classes = |(lower, upper): (__m256i, __m256i), (bytes, half): (__m256i, __m256i)| {
        _mm256_and_si256(_mm256_shuffle_epi8(lower, bytes), _mm256_shuffle_epi8(upper, half))
    };
    let [low, high] = load(block);
    let (low_halves, high_halves) = (halves(low), halves(high));
    let first = classes((lower, upper), low_halves);
    let second = classes((lower, upper), high_halves);
    let (first_name, second_name) = (classes(names, low_halves), classes(names, high_halves));
    macro_rules! class {
        ($set:expr) => {
            class!($set, first, second)
        };
        ($set:expr, $low:ident, $high:ident) => {
            mask_of!([$low, $high], v => _mm256_cmpgt_epi8(
                _mm256_and_si256(v, _mm256_set1_epi8($set as i8)),
                _mm256_setzero_si256(),
            ))
        };
    }
    macro_rules! byte {
        ($byte:expr) => {
            mask_of!([low, high], v => _mm256_cmpeq_epi8(v, _mm256_set1_epi8($byte as i8)))
        };
        ($one:expr, $other:expr) => {
            mask_of!([low, high], v => _mm256_or_si256(
                _mm256_cmpeq_epi8(v, _mm256_set1_epi8($one as i8)),
                _mm256_cmpeq_epi8(v, _mm256_set1_epi8($other as i8)),
            ))
        };
    }
    WordClasses {
        word: class!(words::halves::WORD),
        letter: class!(words::halves::LETTER),
        run: class!(words::halves::RUN),
        blank: byte!(b' ', b'\t'),
        dash: byte!(b'-'),
        at: byte!(b'@', b'~'),
        colon: class!(words::halves::COLON, first_name, second_name),
        name_end: class!(words::halves::LAST, first_name, second_name)
            & (class!(words::halves::SECOND_LAST, first_name, second_name) << 1 | 1),
        backslash: byte!(b'\\'),
        spelling: class!(words::halves::SPELLING, first_name, second_name),
    }
}

/// `{` and `[` have bit 1, `}` and `]` do not; `{` and `}` have bit 5, `[` and `]` do not.
#[target_feature(enable = "avx2")]
#[inline]
fn bracket_kinds(block: &[u8; BLOCK]) -> BracketKinds {
    let [low, high] = load(block);
    // A shift makes the bit the top bit of its byte.
    BracketKinds {
        open: mask_of!([low, high], v => _mm256_slli_epi16::<6>(v)),
        object: mask_of!([low, high], v => _mm256_slli_epi16::<2>(v)),
    }
}

#[target_feature(enable = "bmi2")]
#[inline]
pub(super) fn pack(bits: u64, mask: u64) -> u64 {
    _pext_u64(bits, mask)
}

#[target_feature(enable = "avx2")]
#[inline]
fn no_range() -> [__m256i; 2] {
    [_mm256_set1_epi8(-1), _mm256_setzero_si256()]
}

#[target_feature(enable = "avx2")]
#[inline]
fn widen([lowest, all]: [__m256i; 2], block: &[u8; BLOCK]) -> [__m256i; 2] {
    let [low, high] = load(block);
    [
        _mm256_min_epu8(lowest, _mm256_min_epu8(low, high)),
        _mm256_or_si256(all, _mm256_or_si256(low, high)),
    ]
}

#[target_feature(enable = "avx2")]
#[inline]
fn has_control([lowest, _]: [__m256i; 2]) -> bool {
    movemask(_mm256_cmpeq_epi8(lowest, _mm256_min_epu8(lowest, _mm256_set1_epi8(0x1f)))) != 0
}

#[target_feature(enable = "avx2")]
#[inline]
fn has_high([_, all]: [__m256i; 2]) -> bool {
    movemask(all) != 0
}

/// Returns the top bit of each byte.
///
/// Not `_mm256_movemask_epi8`: the compiler sees a vector of bits through it and moves the mask logic of `scan/mod.rs`
/// into vectors of single bits, which takes ten times as long.
#[cfg(not(miri))]
#[target_feature(enable = "avx2")]
#[inline]
fn movemask(bytes: __m256i) -> u64 {
    // A write to half of a register clears the other half.
    let mask: u64;
    // SAFETY: reads and writes only registers, and the CPU has AVX2.
    unsafe {
        asm!(
            "vpmovmskb {mask:e}, {bytes}",
            bytes = in(ymm_reg) bytes,
            mask = out(reg) mask,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    mask
}

/// For Miri, which does not execute assembly and has no optimiser to mislead.
#[cfg(miri)]
#[target_feature(enable = "avx2")]
fn movemask(bytes: __m256i) -> u64 {
    u64::from(std::arch::x86_64::_mm256_movemask_epi8(bytes).cast_unsigned())
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(block: &[u8; BLOCK]) -> [__m256i; 2] {
    let halves = block.as_ptr().cast::<__m256i>();
    // SAFETY: the block has 64 bytes, and the load needs no alignment.
    let low = unsafe { _mm256_loadu_si256(halves) };
    // SAFETY: the second half begins 32 bytes into the same block.
    let second = unsafe { halves.add(1) };
    // SAFETY: as for the first half.
    let high = unsafe { _mm256_loadu_si256(second) };
    [low, high]
}

/// See `utf8.rs`.
#[target_feature(enable = "avx2")]
#[inline]
fn is_utf8(text: &[u8]) -> bool {
    let (first_high, first_low) = (table(&FIRST_HIGH), table(&FIRST_LOW));
    let second_high = table(&SECOND_HIGH);
    let half = _mm256_set1_epi8(0x0f);
    let high = |bytes: __m256i| _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
    let least = |byte: u8| _mm256_set1_epi8((byte - TWO_CONTINUATIONS) as i8);
    let (lead_3, lead_4) = (least(LEAD_3), least(LEAD_4));
    let continuation = _mm256_set1_epi8(TWO_CONTINUATIONS as i8);
    let mut errors = _mm256_setzero_si256();
    let mut before = _mm256_setzero_si256();
    each_block(text, |block| {
        let halves = load(block);
        // Nothing of the block before reaches into this one, unless that one is not ASCII.
        let any = _mm256_or_si256(before, _mm256_or_si256(halves[0], halves[1]));
        if movemask(any) == 0 {
            before = halves[1];
            return;
        }
        for bytes in halves {
            // The half that ends 16 bytes earlier.
            let shifted = _mm256_permute2x128_si256::<0x21>(before, bytes);
            let first = _mm256_alignr_epi8::<15>(bytes, shifted);
            let second = _mm256_alignr_epi8::<14>(bytes, shifted);
            let third = _mm256_alignr_epi8::<13>(bytes, shifted);
            let flaws = _mm256_and_si256(
                _mm256_and_si256(
                    _mm256_shuffle_epi8(first_high, high(first)),
                    _mm256_shuffle_epi8(first_low, _mm256_and_si256(first, half)),
                ),
                _mm256_shuffle_epi8(second_high, high(bytes)),
            );
            let expected = _mm256_and_si256(
                _mm256_or_si256(_mm256_subs_epu8(second, lead_3), _mm256_subs_epu8(third, lead_4)),
                continuation,
            );
            errors = _mm256_or_si256(errors, _mm256_xor_si256(flaws, expected));
            before = bytes;
        }
    });
    _mm256_testz_si256(errors, errors) == 1
}

/// Loads a table into both lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn table(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: the table has 16 bytes, and the load needs no alignment.
    let half = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    _mm256_broadcastsi128_si256(half)
}

/// Writes eight positions at a time in two words of four, even if fewer are needed. Written one by one, the compiler
/// would gather them in a vector register, which takes twice as long.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn flatten(mut mask: u64, base: u16, positions: &mut [u16; BLOCK]) {
    const EACH: u64 = 0x0001_0001_0001_0001;
    let base = u64::from(base) * EACH;
    for eight in positions.as_chunks_mut::<8>().0 {
        for four in eight.as_chunks_mut::<4>().0 {
            let mut next = || {
                let at = u64::from(mask.trailing_zeros());
                mask &= mask.wrapping_sub(1);
                at
            };
            let word = next() | next() << 16 | next() << 32 | next() << 48;
            // SAFETY: four numbers of two bytes have eight, and the write needs no alignment.
            unsafe { four.as_mut_ptr().cast::<u64>().write_unaligned(word + base) }
        }
        if mask == 0 {
            break;
        }
    }
}

/// Carry-less multiplication by all ones adds all lower bits into each bit, without carries.
#[target_feature(enable = "pclmulqdq")]
#[inline]
pub(super) fn prefix_xor(bits: u64) -> u64 {
    let bits: __m128i = _mm_set_epi64x(0, bits as i64);
    _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0>(bits, _mm_set1_epi8(-1))) as u64
}
