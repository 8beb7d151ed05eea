//! The AVX-512 kernel (Ice Lake, Zen 4 and later): comparisons yield masks directly, and a compress yields positions.
//!
//! Builds masks, and derives those of whole rows in vectors, where the other kernels use `scan/derive.rs`. `scan/mod.rs`
//! interprets them. The unsafe code is the intrinsics, which need a CPU feature, and
//! loads and stores of 64 bytes from and to arrays of that size.
#![allow(unsafe_code, reason = "CPU intrinsics; each site says why it is sound")]
#![allow(
    clippy::indexing_slicing,
    reason = "tables made at compile time, and a table of 256 entries indexed by a byte"
)]

use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_setr_epi8, _mm256_add_epi16, _mm256_cvtepu8_epi16,
    _mm256_set1_epi16, _mm256_storeu_si256, _mm512_alignr_epi8, _mm512_alignr_epi64,
    _mm512_and_si512, _mm512_andnot_si512, _mm512_broadcast_i32x4, _mm512_castsi512_si128,
    _mm512_clmulepi64_epi128, _mm512_cmpeq_epi8_mask, _mm512_cmpeq_epi64_mask,
    _mm512_cmplt_epu8_mask, _mm512_extracti32x4_epi32, _mm512_gf2p8affine_epi64_epi8,
    _mm512_loadu_si512, _mm512_lzcnt_epi64, _mm512_mask_xor_epi64, _mm512_maskz_compress_epi8,
    _mm512_maskz_set1_epi64, _mm512_min_epu8, _mm512_movepi8_mask, _mm512_movepi64_mask,
    _mm512_or_si512, _mm512_permutex2var_epi8, _mm512_permutexvar_epi8, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shldi_epi64, _mm512_shuffle_epi8,
    _mm512_shuffle_i64x2, _mm512_slli_epi64, _mm512_srli_epi16, _mm512_storeu_si512,
    _mm512_sub_epi64, _mm512_subs_epu8, _mm512_test_epi8_mask, _mm512_test_epi64_mask,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use super::avx2::{classify_escapes, pack, prefix_xor};
use super::classes::WHITE;
use super::derive::MaskState;
use super::escapes::{EscapeClasses, GOOD};
use super::forward::{call_functions, entry_points};
use super::utf8::{
    FIRST_HIGH, FIRST_LOW, LEAD_3, LEAD_4, SECOND_HIGH, TWO_CONTINUATIONS, each_block,
};
use super::words::{self, WordClasses, WordMasksReader, classify_all};
use super::{BLOCK, BracketKinds, ByteClasses, Kernel, ROW, Row, RowMasks, Window, WordMasks};

/// Proof that the CPU has AVX-512 F, BW, CD, DQ, VBMI and VBMI2, GFNI, VPCLMULQDQ, and what the AVX2 kernel needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(super::avx2::Avx2);

impl Avx512 {
    pub(super) fn new() -> Option<Self> {
        let avx2 = super::avx2::Avx2::new()?;
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("vpclmulqdq");
        has.then_some(Self(avx2))
    }
}

impl Kernel for Avx512 {
    entry_points!(
        "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
    );

    fn words(self, bytes: &[u8], first: usize, masks: &mut WordMasks, then: impl WordMasksReader) {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
        )]
        fn words(bytes: &[u8], first: usize, masks: &mut WordMasks, then: impl WordMasksReader) {
            classify_all(bytes, first, masks, |block| classify_words(block));
            then.read(masks);
        }
        // SAFETY: as in `scan`.
        unsafe { words(bytes, first, masks, then) }
    }

    /// The lowest byte of each lane, and all of them together.
    type Range = [__m512i; 2];

    call_functions! {
        fn classify(block: &[u8; BLOCK]) -> ByteClasses;
        fn classify_escapes(block: &[u8; BLOCK]) -> EscapeClasses;
        fn classify_row(row: &Row, masks: &mut RowMasks<'_>);
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
    fn derive_rows<const ESCAPES: bool>(
        self,
        rows: &[Row],
        window: &mut Window,
        state: &mut MaskState,
    ) -> usize {
        // SAFETY: a value of this type exists only if `new` found the features.
        unsafe { derive_rows::<ESCAPES>(rows, window, state) }
    }

    #[inline(always)]
    fn prefetch(self, address: *const u8) {
        self.0.prefetch(address);
    }

    #[inline(always)]
    fn packs_fast(self) -> bool {
        true
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn classify(block: &[u8; BLOCK]) -> ByteClasses {
    let bytes = load(block);
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
    // See `BRACKET`.
    let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    let folds_to = |byte: u8| _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8(byte as i8));
    let white = _mm512_broadcast_i32x4(table(&WHITE));
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
fn has_control([lowest, _]: [__m512i; 2]) -> bool {
    _mm512_cmplt_epu8_mask(lowest, _mm512_set1_epi8(0x20)) != 0
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn has_high([_, all]: [__m512i; 2]) -> bool {
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

/// See `utf8.rs`.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn is_utf8(text: &[u8]) -> bool {
    let lookup = |table: &[u8; 16]| _mm512_broadcast_i32x4(self::table(table));
    let (first_high, first_low) = (lookup(&FIRST_HIGH), lookup(&FIRST_LOW));
    let second_high = lookup(&SECOND_HIGH);
    let half = _mm512_set1_epi8(0x0f);
    let high = |bytes: __m512i| _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), half);
    let least = |byte: u8| _mm512_set1_epi8((byte - TWO_CONTINUATIONS) as i8);
    let (lead_3, lead_4) = (least(LEAD_3), least(LEAD_4));
    let continuation = _mm512_set1_epi8(TWO_CONTINUATIONS as i8);
    let mut errors = _mm512_setzero_si512();
    let mut before = _mm512_setzero_si512();
    each_block(text, |block| {
        let bytes = load(block);
        // Nothing of the block before reaches into this one, unless that one is not ASCII.
        if _mm512_movepi8_mask(_mm512_or_si512(bytes, before)) != 0 {
            // The block that ends 16 bytes earlier.
            let shifted = _mm512_alignr_epi64::<6>(bytes, before);
            let first = _mm512_alignr_epi8::<15>(bytes, shifted);
            let second = _mm512_alignr_epi8::<14>(bytes, shifted);
            let third = _mm512_alignr_epi8::<13>(bytes, shifted);
            let flaws = _mm512_and_si512(
                _mm512_and_si512(
                    _mm512_shuffle_epi8(first_high, high(first)),
                    _mm512_shuffle_epi8(first_low, _mm512_and_si512(first, half)),
                ),
                _mm512_shuffle_epi8(second_high, high(bytes)),
            );
            let expected = _mm512_and_si512(
                _mm512_or_si512(_mm512_subs_epu8(second, lead_3), _mm512_subs_epu8(third, lead_4)),
                continuation,
            );
            errors = _mm512_or_si512(errors, _mm512_xor_si512(flaws, expected));
        }
        before = bytes;
    });
    _mm512_test_epi8_mask(errors, errors) == 0
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the block has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

#[target_feature(enable = "sse2")]
#[inline]
fn table(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the table has 16 bytes, and the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// As in the AVX2 kernel, with masks from comparisons.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn classify_words(block: &[u8; BLOCK]) -> WordClasses {
    let bytes = load(block);
    let half = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), _mm512_set1_epi8(0x0f));
    let classes = |lower: &[u8; 16], upper: &[u8; 16]| {
        let lower = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table(lower)), bytes);
        let upper = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table(upper)), half);
        _mm512_and_si512(lower, upper)
    };
    let found = classes(&words::halves::LOWER, &words::halves::UPPER);
    let names = classes(&words::halves::NAMES_LOWER, &words::halves::NAMES_UPPER);
    let class = |set: u8| _mm512_test_epi8_mask(found, _mm512_set1_epi8(set as i8));
    let name = |set: u8| _mm512_test_epi8_mask(names, _mm512_set1_epi8(set as i8));
    let byte = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
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

/// Two tables: the classes of the bytes up to 0x3f, and of those from 0x40 to 0x7e. Bytes from 0x7f on have no class.
type ClassTable = [[u8; BLOCK]; 2];

/// Adds a class to some bytes.
const fn with_class(mut table: ClassTable, bytes: &[u8], class: u8) -> ClassTable {
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at] as usize;
        table[byte / BLOCK][byte % BLOCK] |= 1 << class;
        at += 1;
    }
    table
}

/// Writes the masks of the first pass.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn classify_row(row: &Row, masks: &mut RowMasks<'_>) {
    const CLASSES: ClassTable = {
        let table = with_class([[0; BLOCK]; 2], b"\"", 0);
        let table = with_class(table, b"\\", 1);
        let table = with_class(table, b"{[}]", 2);
        let table = with_class(table, b",:", 3);
        with_class(table, b" \t\n\r", 4)
    };
    let [quote, backslash, bracket, separator, white, ..] = class_masks(row, &CLASSES);
    store(quote, masks.quote);
    store(backslash, masks.backslash);
    store(bracket, masks.bracket);
    store(separator, masks.separator);
    store(white, masks.white);
}

/// Returns the mask of each class, the words of the eight blocks side by side.
///
/// A table gives each byte one bit per class. Then a matrix of bits is transposed, and after that a matrix of words:
///
/// ```text
/// bytes       table               gf2p8affine, permutexvar        words of eight blocks
/// "a":1   ->  1 0 0 8 0 0 ...  -> quote | backslash | bracket  -> quote | quote | quote ...
/// ```
///
/// The masks of a block cost half of what comparisons do, because they do not pass through mask registers.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn class_masks(row: &Row, classes: &ClassTable) -> [__m512i; 8] {
    // Word by word, the byte of each class.
    const GATHER: [u8; BLOCK] = {
        let mut gather = [0; BLOCK];
        let mut at = 0;
        while at < BLOCK {
            gather[at] = (at % 8 * 8 + at / 8) as u8;
            at += 1;
        }
        gather
    };
    let (low, high, gather) = (load(&classes[0]), load(&classes[1]), load(&GATHER));
    let backward =
        _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
    // A product with the unit matrix on the left transposes the other matrix.
    let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);

    let mut words = [_mm512_setzero_si512(); ROW];
    for (block, words) in row.iter().zip(&mut words) {
        let bytes = _mm512_min_epu8(load(block), _mm512_set1_epi8(0x7f));
        let class = _mm512_permutex2var_epi8(low, bytes, high);
        let class = _mm512_shuffle_epi8(class, backward);
        let turned = _mm512_gf2p8affine_epi64_epi8::<0>(unit, class);
        *words = _mm512_permutexvar_epi8(gather, turned);
    }

    // Pairs of blocks, then fours, then all eight.
    let [a, b, c, d, e, f, g, h] = words;
    let even = [
        _mm512_unpacklo_epi64(a, b),
        _mm512_unpacklo_epi64(c, d),
        _mm512_unpacklo_epi64(e, f),
        _mm512_unpacklo_epi64(g, h),
    ];
    let odd = [
        _mm512_unpackhi_epi64(a, b),
        _mm512_unpackhi_epi64(c, d),
        _mm512_unpackhi_epi64(e, f),
        _mm512_unpackhi_epi64(g, h),
    ];
    let [class_0, class_2, class_4, class_6] = transpose(even);
    let [class_1, class_3, class_5, class_7] = transpose(odd);
    [class_0, class_1, class_2, class_3, class_4, class_5, class_6, class_7]
}

/// Transposes a matrix of four by four lanes of 128 bits.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab, cd) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0x44>(c, d));
    let (ba, dc) = (_mm512_shuffle_i64x2::<0xee>(a, b), _mm512_shuffle_i64x2::<0xee>(c, d));
    [
        _mm512_shuffle_i64x2::<0x88>(ab, cd),
        _mm512_shuffle_i64x2::<0xdd>(ab, cd),
        _mm512_shuffle_i64x2::<0x88>(ba, dc),
        _mm512_shuffle_i64x2::<0xdd>(ba, dc),
    ]
}

/// Derives the final masks of all rows, and returns their number. The counterpart of `derive_blocks`.
///
/// Bits that a word passes to the next one are either moved by one lane (`up`), or computed for all lanes at once in eight
/// bits of a general register. All live vectors of the loop fit into registers. After a change, check the disassembly for
/// spilled ones (`zmm.*rsp`): each costs as much as storing a mask.
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq"
)]
#[inline]
fn derive_rows<const ESCAPES: bool>(
    rows: &[Row],
    window: &mut Window,
    state: &mut MaskState,
) -> usize {
    let ones = _mm512_set1_epi64(-1);
    let zero = _mm512_setzero_si512();
    let mut in_string = state.in_string as u8;
    let mut next_escaped = state.escaped as u32;
    let mut digits = state.digits as u32;
    // Only the top bit of the last lane of the previous row is used.
    let mut scalar_before = _mm512_set1_epi64((state.scalar << 63) as i64);
    let (mut any_white, mut any_bad) = (zero, zero);
    for (index, row) in rows.iter().enumerate() {
        let Some(masks) = window.row(index) else { break };
        let mut quote = load_words(masks.quote);
        let mut escaped = zero;
        let mut has_escapes = false;
        if ESCAPES {
            let backslash = load_words(masks.backslash);
            has_escapes =
                _mm512_test_epi64_mask(backslash, backslash) != 0 || next_escaped | digits != 0;
            if has_escapes {
                escaped = resolve_escapes(backslash, &mut next_escaped);
                quote = _mm512_andnot_si512(escaped, quote);
                store(quote, masks.quote);
            }
        }
        let string = strings(quote, &mut in_string);
        store(string, masks.in_string);
        if ESCAPES {
            let mut bad = zero;
            if has_escapes {
                escaped = _mm512_and_si512(escaped, string);
                bad = bad_escapes(row, escaped, &mut digits);
                any_bad = _mm512_or_si512(any_bad, bad);
            }
            store(bad, masks.bad_escape);
        }

        let bracket = _mm512_andnot_si512(string, load_words(masks.bracket));
        let white = _mm512_andnot_si512(string, load_words(masks.white));
        let separator = _mm512_andnot_si512(string, load_words(masks.separator));
        let op = _mm512_or_si512(bracket, separator);
        let no_scalar = _mm512_or_si512(_mm512_or_si512(op, white), _mm512_or_si512(quote, string));
        let scalar = _mm512_xor_si512(no_scalar, ones);
        let begins = _mm512_andnot_si512(up(scalar, scalar_before), scalar);
        let opening = _mm512_and_si512(quote, string);
        let token = _mm512_or_si512(_mm512_or_si512(op, begins), opening);
        scalar_before = scalar;
        any_white = _mm512_or_si512(any_white, white);
        store(token, masks.token);
        store(bracket, masks.bracket);
        store(white, masks.white);
    }
    state.in_string = i64::from(in_string as i8) as u64;
    state.escaped = u64::from(next_escaped);
    state.digits = u64::from(digits);
    state.scalar = u64::from(_mm512_movepi64_mask(scalar_before) >> (ROW - 1));
    state.any_white = u64::from(_mm512_test_epi64_mask(any_white, any_white));
    state.any_bad_escape = u64::from(_mm512_test_epi64_mask(any_bad, any_bad));
    rows.len()
}

/// Returns which bytes are in strings. Carry-less multiplications find it for each lane separately; the parities of the lanes
/// before then invert whole lanes. `in_string` is all ones if the row begins in a string.
#[target_feature(enable = "avx512f,avx512dq,vpclmulqdq")]
#[inline]
fn strings(quote: __m512i, in_string: &mut u8) -> __m512i {
    /// Bit `i` of an entry is the parity of the bits `0..=i` of its index.
    static PREFIX_XOR: [u8; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < table.len() {
            let bits = at as u8;
            let bits = bits ^ bits << 1;
            let bits = bits ^ bits << 2;
            table[at] = bits ^ bits << 4;
            at += 1;
        }
        table
    };
    let ones = _mm512_set1_epi64(-1);
    let lanes = _mm512_unpacklo_epi64(
        _mm512_clmulepi64_epi128::<0>(quote, ones),
        _mm512_clmulepi64_epi128::<1>(quote, ones),
    );
    let parities = PREFIX_XOR[usize::from(_mm512_movepi64_mask(lanes))];
    let inverted = parities << 1 ^ *in_string;
    *in_string ^= (parities as i8 >> 7) as u8;
    _mm512_mask_xor_epi64(lanes, inverted, lanes, ones)
}

/// Returns the escaped bytes. `next` is 1 if the first byte of the row is escaped; then the same for the next row is
/// written to it.
///
/// Whether a lane escapes the first byte of the next one depends on the run of backslashes at its end:
///
/// ```text
/// lane       0    1    2    3     bit 0 on the left
/// run at end odd  all  all  even  a lane of backslashes only passes on what it got
/// odd        1    0    0    0     moved up by one: 0 1 0 0 0
/// all        0    1    1    0     the addition carries through: (odd + all) ^ all = 0 1 1 1 0
/// ```
#[target_feature(enable = "avx512f,avx512cd")]
#[inline]
fn resolve_escapes(backslash: __m512i, next: &mut u32) -> __m512i {
    let ones = _mm512_set1_epi64(-1);
    let run = _mm512_lzcnt_epi64(_mm512_xor_si512(backslash, ones));
    let odd = u32::from(_mm512_test_epi64_mask(run, _mm512_set1_epi64(1)));
    let all = u32::from(_mm512_cmpeq_epi64_mask(backslash, ones));
    let carries = ((odd << 1 | *next) + all) ^ all;
    *next = carries >> ROW & 1;
    let before = _mm512_maskz_set1_epi64(carries as u8, 1);
    // As for a single block.
    let odd_bits = _mm512_set1_epi64(0xAAAA_AAAA_AAAA_AAAA_u64 as i64);
    let starts = _mm512_andnot_si512(before, backslash);
    let shifted = _mm512_or_si512(_mm512_slli_epi64::<1>(starts), odd_bits);
    let code = _mm512_xor_si512(_mm512_sub_epi64(shifted, starts), odd_bits);
    _mm512_xor_si512(code, _mm512_or_si512(backslash, before))
}

/// Returns the invalid bytes of escapes. `escaped` are the bytes after an escaping backslash, in strings. Bit `n` of
/// `digits` is set if the first byte of the row should be the digit `n` after a `\u`; then the same for the next row is
/// written to it.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,gfni")]
#[inline]
fn bad_escapes(row: &Row, escaped: __m512i, digits: &mut u32) -> __m512i {
    const CLASSES: ClassTable = {
        let table = with_class([[0; BLOCK]; 2], &GOOD, 0);
        let table = with_class(table, b"u", 1);
        with_class(table, b"0123456789abcdefABCDEF", 2)
    };
    let [good, unicode, hex, ..] = class_masks(row, &CLASSES);
    let mut bad = _mm512_andnot_si512(good, escaped);
    // The bytes before each digit.
    let mut before = _mm512_and_si512(escaped, unicode);
    if *digits != 0 || _mm512_test_epi64_mask(before, before) != 0 {
        let first = std::mem::take(digits);
        for n in 0..4 {
            *digits |= u32::from(_mm512_movepi64_mask(before) >> (ROW - 1)) << n;
            let top = _mm512_maskz_set1_epi64((first >> n << 7) as u8, i64::MIN);
            let digit = up(before, top);
            bad = _mm512_or_si512(bad, _mm512_andnot_si512(hex, digit));
            before = _mm512_and_si512(digit, hex);
        }
    }
    bad
}

/// Moves the bits of a row up by one place. The top bit of the last lane of `before` becomes the lowest bit.
#[target_feature(enable = "avx512f,avx512vbmi2")]
#[inline]
fn up(row: __m512i, before: __m512i) -> __m512i {
    _mm512_shldi_epi64::<1>(row, _mm512_alignr_epi64::<7>(row, before))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(words: __m512i, row: &mut [u64; ROW]) {
    // SAFETY: eight words have 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), words) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_words(row: &[u64; ROW]) -> __m512i {
    // SAFETY: eight words have 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
}
