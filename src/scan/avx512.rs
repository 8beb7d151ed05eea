//! The AVX-512 kernel (Ice Lake, Zen 4 and later): comparisons yield masks directly, and a compress yields positions.
//!
//! Builds masks only; `scan/mod.rs` interprets them. The unsafe code is the intrinsics, which need a CPU feature, and
//! loads and stores of 64 bytes from and to arrays of that size.
#![allow(unsafe_code, reason = "CPU intrinsics; each site says why it is sound")]
#![allow(
    clippy::indexing_slicing,
    reason = "tables made at compile time, where a panic is an error of the compiler"
)]

use std::arch::x86_64::{
    __m128i, __m512i, _MM_HINT_T0, _mm_prefetch, _mm_setr_epi8, _mm256_add_epi16,
    _mm256_cvtepu8_epi16, _mm256_set1_epi16, _mm256_storeu_si256, _mm512_broadcast_i32x4,
    _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_min_epu8,
    _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8, _mm512_setzero_si512,
    _mm512_shuffle_epi8, _mm512_test_epi8_mask,
};

use super::avx2::{classify_escapes, pack, prefix_xor};
use super::brackets::bracket_batch;
use super::derive::MaskState;
use super::{
    BLOCK, BracketBatch, BracketKinds, ByteClasses, Carry, EscapeClasses, Kernel, Row, RowMasks,
    Window, avx512_rows, list_tokens, scan_with,
};

/// Proof that the CPU has AVX-512 F, BW, CD, DQ, VBMI and VBMI2, GFNI, VPCLMULQDQ, and what the AVX2 kernel needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn new() -> Option<Self> {
        let has = super::avx2::Avx2::new().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("vpclmulqdq");
        has.then_some(Self(()))
    }

    pub(super) fn scan(self, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
        )]
        fn scan(kernel: Avx512, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
            scan_with(kernel, bytes, carry, window);
        }
        // SAFETY: a value of this type exists only where `new` found the features.
        unsafe { scan(self, bytes, carry, window) }
    }

    pub(super) fn list_tokens(self, window: &mut Window) {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
        )]
        fn list(kernel: Avx512, window: &mut Window) {
            list_tokens(kernel, window);
        }
        // SAFETY: as in `scan`.
        unsafe { list(self, window) }
    }

    pub(super) fn bracket_batch(
        self,
        window: &Window,
        text: &[u8],
        block: usize,
        most: usize,
    ) -> Option<BracketBatch> {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
        )]
        fn batch(
            kernel: Avx512,
            window: &Window,
            text: &[u8],
            block: usize,
            most: usize,
        ) -> Option<BracketBatch> {
            bracket_batch(kernel, window, text, block, most)
        }
        // SAFETY: as in `scan`.
        unsafe { batch(self, window, text, block, most) }
    }
}

impl Kernel for Avx512 {
    #[inline(always)]
    fn classify(self, block: &[u8; BLOCK]) -> ByteClasses {
        // SAFETY: as in `scan`.
        unsafe { classify(block) }
    }

    #[inline(always)]
    fn classify_escapes(self, block: &[u8; BLOCK]) -> EscapeClasses {
        // SAFETY: as in `scan`.
        unsafe { classify_escapes(block) }
    }

    #[inline(always)]
    fn classify_row(self, row: &Row, masks: &mut RowMasks<'_>) {
        // SAFETY: as in `scan`.
        unsafe { avx512_rows::classify(row, masks) }
    }

    #[inline(always)]
    fn derive_rows<const ESCAPES: bool>(
        self,
        rows: &[Row],
        window: &mut Window,
        state: &mut MaskState,
    ) -> usize {
        // SAFETY: as in `scan`.
        unsafe { avx512_rows::derive::<ESCAPES>(rows, window, state) }
    }

    #[inline(always)]
    fn bracket_kinds(self, block: &[u8; BLOCK]) -> BracketKinds {
        // SAFETY: as in `scan`.
        unsafe { bracket_kinds(block) }
    }

    #[inline(always)]
    fn packs_fast(self) -> bool {
        true
    }

    #[inline(always)]
    fn pack(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: as in `scan`.
        unsafe { pack(bits, mask) }
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
fn classify(block: &[u8; BLOCK]) -> ByteClasses {
    let bytes = load(block);
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
    // `[` and `{` differ only in 0x20, and so do `]` and `}`; no other byte becomes one of them.
    let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    let folds_to = |byte: u8| _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8(byte as i8));
    // The white space whose low four bits are the index; 0x80 marks an unused entry.
    let white = _mm512_broadcast_i32x4(_mm_setr_epi8(
        0x20, -128, -128, -128, -128, -128, -128, -128, -128, 0x09, 0x0a, -128, -128, 0x0d, -128,
        -128,
    ));
    ByteClasses {
        quote: is(b'"'),
        backslash: is(b'\\'),
        bracket: folds_to(b'{') | folds_to(b'}'),
        separator: is(b',') | is(b':'),
        white: _mm512_cmpeq_epi8_mask(bytes, _mm512_shuffle_epi8(white, bytes)),
        control: _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
        high: _mm512_movepi8_mask(bytes),
    }
}

/// `{` and `[` have bit 1, `}` and `]` do not; `{` and `}` have bit 5, `[` and `]` do not.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn bracket_kinds(block: &[u8; BLOCK]) -> BracketKinds {
    let bytes = load(block);
    BracketKinds {
        open: _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(1 << 1)),
        object: _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(1 << 5)),
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
    // A quarter suffices except for the densest text, and a short store crosses fewer cache lines.
    if let Some(quarter) = positions.first_chunk_mut() {
        store_quarter(base, _mm512_castsi512_si128(set), quarter);
    }
    if mask.count_ones() as usize <= BLOCK / 4 {
        return;
    }
    let quarters = [
        _mm512_extracti32x4_epi32::<1>(set),
        _mm512_extracti32x4_epi32::<2>(set),
        _mm512_extracti32x4_epi32::<3>(set),
    ];
    for (set, quarter) in quarters.into_iter().zip(positions.as_chunks_mut().0.iter_mut().skip(1)) {
        store_quarter(base, set, quarter);
    }
}

/// Writes sixteen numbers, `base` added to each.
#[target_feature(enable = "avx512f")]
#[inline]
fn store_quarter(base: u16, numbers: __m128i, to: &mut [u16; BLOCK / 4]) {
    let numbers = _mm256_add_epi16(_mm256_set1_epi16(base as i16), _mm256_cvtepu8_epi16(numbers));
    // SAFETY: 16 numbers of two bytes have 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), numbers) }
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the block has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}
