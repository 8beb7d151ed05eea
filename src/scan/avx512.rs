//! The AVX-512 kernel (Ice Lake, Zen 4 and later): comparisons give masks at once, and a compress makes positions.
//!
//! Only masks are built here; what they mean is in `scan/mod.rs`. Unsafe are the intrinsics, which need a CPU feature,
//! and the loads and stores of 64 bytes from and to arrays that have them.
#![allow(unsafe_code, reason = "CPU intrinsics; each site says why it is sound")]

use std::arch::x86_64::{
    __m512i, _MM_HINT_T0, _mm_prefetch, _mm_setr_epi8, _mm512_add_epi16, _mm512_broadcast_i32x4,
    _mm512_castsi512_si256, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi16,
    _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_min_epu8,
    _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi16,
    _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_storeu_si512,
};

use super::avx2::prefix_xor;
use super::{BLOCK, Carry, Classes, Kernel, Window, scan_with};

/// Proof that the CPU has AVX-512 F, BW and VBMI2, and what the AVX2 kernel needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn new() -> Option<Self> {
        let has = super::avx2::Avx2::new().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi2");
        has.then_some(Self(()))
    }

    pub(super) fn scan(self, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
        )]
        fn scan(kernel: Avx512, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
            scan_with(kernel, bytes, carry, window);
        }
        // SAFETY: a value of this type exists only where `new` found the features.
        unsafe { scan(self, bytes, carry, window) }
    }
}

impl Kernel for Avx512 {
    #[inline(always)]
    fn classify(self, block: &[u8; BLOCK]) -> Classes {
        // SAFETY: as in `scan`.
        unsafe { classify(block) }
    }

    /// The lowest byte of each lane, and all of them together.
    type Range = [__m512i; 2];

    #[inline(always)]
    fn no_range(self) -> Self::Range {
        // SAFETY: as in `scan`.
        unsafe { no_range() }
    }

    #[inline(always)]
    fn widen(self, range: Self::Range, block: &[u8; BLOCK]) -> Self::Range {
        // SAFETY: as in `scan`.
        unsafe { widen(range, block) }
    }

    #[inline(always)]
    fn has_control(self, [lowest, _]: Self::Range) -> bool {
        // SAFETY: as in `scan`.
        unsafe { has_control(lowest) }
    }

    #[inline(always)]
    fn has_high(self, [_, all]: Self::Range) -> bool {
        // SAFETY: as in `scan`.
        unsafe { has_high(all) }
    }

    #[inline(always)]
    fn prefetch(self, address: *const u8) {
        // SAFETY: a hint; nothing is accessed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: as in `scan`.
        unsafe { prefix_xor(bits) }
    }

    #[inline(always)]
    fn flatten(self, mask: u64, base: u16, positions: &mut [u16; BLOCK]) {
        // SAFETY: as in `scan`.
        unsafe { flatten(mask, base, positions) }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn classify(block: &[u8; BLOCK]) -> Classes {
    let bytes = load(block);
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
    // `[` and `{` differ in 0x20 alone, and so do `]` and `}`; no other byte becomes one of them.
    let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    let folds_to = |byte: u8| _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8(byte as i8));
    // The white space whose low four bits are the index; 0x80 stands for none.
    let white = _mm512_broadcast_i32x4(_mm_setr_epi8(
        0x20, -128, -128, -128, -128, -128, -128, -128, -128, 0x09, 0x0a, -128, -128, 0x0d, -128,
        -128,
    ));
    // Likewise comma and colon.
    let separator = _mm512_broadcast_i32x4(_mm_setr_epi8(
        -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, 0x3a, -128, 0x2c, -128, -128,
        -128,
    ));
    Classes {
        quote: is(b'"'),
        backslash: is(b'\\'),
        open: folds_to(b'{'),
        close: folds_to(b'}'),
        separator: _mm512_cmpeq_epi8_mask(bytes, _mm512_shuffle_epi8(separator, bytes)),
        white: _mm512_cmpeq_epi8_mask(bytes, _mm512_shuffle_epi8(white, bytes)),
        control: _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
        high: _mm512_movepi8_mask(bytes),
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn no_range() -> [__m512i; 2] {
    [_mm512_set1_epi8(-1), _mm512_setzero_si512()]
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn widen([lowest, all]: [__m512i; 2], block: &[u8; BLOCK]) -> [__m512i; 2] {
    let bytes = load(block);
    [_mm512_min_epu8(lowest, bytes), _mm512_or_si512(all, bytes)]
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn has_control(lowest: __m512i) -> bool {
    _mm512_cmplt_epu8_mask(lowest, _mm512_set1_epi8(0x20)) != 0
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn has_high(all: __m512i) -> bool {
    _mm512_movepi8_mask(all) != 0
}

/// Compresses the numbers 0 to 63 to those whose bit is set, and widens them.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
#[inline]
fn flatten(mask: u64, base: u16, positions: &mut [u16; BLOCK]) {
    const NUMBERS: [u8; BLOCK] = {
        let mut numbers = [0; BLOCK];
        let mut at = 0;
        while at < BLOCK {
            numbers[at] = at as u8;
            at += 1;
        }
        numbers
    };
    let set = _mm512_maskz_compress_epi8(mask, load(&NUMBERS));
    let base = _mm512_set1_epi16(base as i16);
    let (low, high) = positions.split_at_mut(BLOCK / 2);
    if let Some(low) = low.first_chunk_mut() {
        store(_mm512_add_epi16(base, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(set))), low);
    }
    if mask.count_ones() as usize > BLOCK / 2
        && let Some(high) = high.first_chunk_mut()
    {
        let set = _mm512_extracti64x4_epi64::<1>(set);
        store(_mm512_add_epi16(base, _mm512_cvtepu8_epi16(set)), high);
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the block has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(numbers: __m512i, to: &mut [u16; BLOCK / 2]) {
    // SAFETY: 32 numbers of two bytes have 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), numbers) }
}
