//! Turns bytes into bit masks: which bytes of a window begin tokens, and which are white space outside strings.
//!
//! The scanner has no grammar: it cannot tell a key from a value, or a valid number from an invalid one. It knows
//! strings (quotes, escapes, raw control characters), UTF-8, and where a token begins. The state at the end of a window
//! is in [`Carry`], so a document may be cut anywhere.
//!
//! One block of 64 bytes, bit 0 on the left:
//!
//! ```text
//! bytes      {"a\"b": [1, true] }
//! quote       1    1               unescaped quotes
//! in_string   11111                from each opening quote up to, not including, its closing quote
//! op         1      1 1 1    1 1   { } [ ] : ,  outside strings
//! scalar               1  1111     numbers, literals, and any other byte outside strings that is not white space
//! token      11     1 11 1 1  1 1  op, opening quotes, first bytes of scalars
//! ```
//!
//! A window is scanned in two passes. Eight blocks form a row, whose words of one mask lie side by side in memory:
//!
//! ```text
//! bytes of a row     block 0 | block 1 | ... | block 7            512 bytes
//! each of its masks  word 0  | word 1  | ... | word 7             64 bytes, one vector of AVX-512
//!
//! first pass         bytes -> quote, backslash, bracket, separator, white      without context
//! second pass        quote, backslash -> escaped bytes -> quote, in_string, bad_escape
//!                    all of them      -> token, bracket, white                 outside strings
//! ```
//!
//! Between blocks, the second pass hands on a few bits ([`MaskState`]): whether the next byte is in a string, escaped, a
//! digit after `\u`, or after a scalar. It looks at the bytes again only where an escape is.
//!
//! Rows inside a long container that is dropped are not scanned into a window, because only their brackets are needed: see
//! `brackets.rs`.
//!
//! The algorithm is written once, generic over [`Kernel`]. An instruction set only classifies 64 bytes, unless it has
//! vectors of whole rows: the AVX-512 kernel derives rows itself. Blocks that do not fill a row, so all blocks of windows
//! under 512 bytes, take the generic code. UTF-8 is checked by a function of each kernel, with the tables of `utf8.rs`: its steps are
//! those of whole vectors, whose widths differ.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod brackets;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
mod classes;
mod derive;
#[cfg(any(test, fuzzing))]
mod diff;
mod escapes;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
mod forward;
mod lent;
mod list;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod scalar;
mod scanner;
mod utf8;
mod words;

#[cfg(test)]
mod bracket_tests;
#[cfg(test)]
mod tests;

use crate::fast_paths::{FastPath, is_off};
pub use brackets::{BracketBatch, UnpairedBrackets};
use brackets::{BracketKinds, bracket_batch, skip};
use derive::{MaskState, derive};
#[cfg(any(test, fuzzing))]
pub use diff::compare;
use escapes::{EscapeClasses, EscapeState};
pub use lent::with_window;
use list::flatten;
pub use scanner::{Isa, Scanner};
use utf8::Utf8State;
pub use words::{WORD_BLOCKS, WordMasks, WordMasksReader};

/// Bytes that are scanned before the machine walks their tokens, so that their masks stay in the first-level cache.
pub const WINDOW: usize = 4096;
/// The number of bytes that one mask covers.
pub const BLOCK: usize = 64;
const BLOCKS: usize = WINDOW / BLOCK;
/// Blocks whose masks are handled together: their words fill a vector of 512 bits.
const ROW: usize = 8;

/// The byte classes of one block, one bit per byte, without context: quotes may be escaped, brackets may be in strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ByteClasses {
    quote: u64,
    backslash: u64,
    bracket: u64,
    /// Commas and colons.
    separator: u64,
    white: u64,
    /// Below 0x20.
    control: u64,
    /// 0x80 and above.
    high: u64,
}

/// The bytes of one row.
pub type Row = [[u8; BLOCK]; ROW];

/// The masks of one row.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only the AVX-512 kernel derives rows, which needs all of them")
)]
struct RowMasks<'a> {
    quote: &'a mut [u64; ROW],
    backslash: &'a mut [u64; ROW],
    bracket: &'a mut [u64; ROW],
    separator: &'a mut [u64; ROW],
    white: &'a mut [u64; ROW],
    in_string: &'a mut [u64; ROW],
    token: &'a mut [u64; ROW],
    bad_escape: &'a mut [u64; ROW],
}

/// The operations of an instruction set. A value of the type proves that the CPU has it.
trait Kernel: Copy {
    /// Scans bytes. The scanner enters the algorithm by this method and the next four: a kernel replaces the first four by
    /// `entry_points`, so that the algorithm is compiled with its features.
    #[inline]
    fn scan(self, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
        scan_with(self, bytes, carry, window);
    }
    /// Lists the positions of the tokens of a scanned window.
    #[inline]
    fn list_tokens(self, window: &mut Window) {
        list_tokens(self, window);
    }
    /// See [`Window::bracket_batch`].
    #[inline]
    fn bracket_batch(
        self,
        window: &Window,
        text: &[u8],
        block: usize,
        most: usize,
    ) -> Option<(BracketBatch, usize)> {
        bracket_batch(self, window, text, block, most)
    }
    /// See [`Scanner::skip`].
    #[inline]
    fn skip(
        self,
        rows: &[Row],
        carry: &mut Carry,
        apply: impl FnMut(&BracketBatch) -> bool,
    ) -> bool {
        skip(self, rows, carry, apply)
    }
    /// Writes the word classes of a text, from the block `first` on.
    fn words(self, bytes: &[u8], first: usize, masks: &mut WordMasks, then: impl WordMasksReader);
    fn classify(self, block: &[u8; BLOCK]) -> ByteClasses;
    fn classify_escapes(self, block: &[u8; BLOCK]) -> EscapeClasses;
    /// First pass: writes the masks `quote`, `backslash`, `bracket`, `separator` and `white`, without context.
    #[inline(always)]
    fn classify_row(self, row: &Row, masks: &mut RowMasks<'_>) {
        classify_blocks(self, row, masks);
    }
    /// Second pass over the first rows of a window: derives the final masks from those of the first pass. Returns the
    /// number of rows that are done. The other blocks of the window are left to the generic code in `derive.rs`,
    /// which a kernel without vectors of a whole row uses for all of them.
    #[inline(always)]
    fn derive_rows<const ESCAPES: bool>(
        self,
        _rows: &[Row],
        _window: &mut Window,
        _state: &mut MaskState,
    ) -> usize {
        0
    }
    /// Returns the kinds of the brackets of a block.
    fn bracket_kinds(self, block: &[u8; BLOCK]) -> BracketKinds;
    /// Whether `pack` takes a few cycles. If it does not, brackets are better handled one by one.
    #[inline(always)]
    fn packs_fast(self) -> bool {
        false
    }
    /// Returns the bits at the places that are set in `mask`, packed towards bit 0.
    #[inline(always)]
    fn pack(self, bits: u64, mut mask: u64) -> u64 {
        let (mut packed, mut at) = (0, 0);
        while mask != 0 {
            packed |= (bits >> mask.trailing_zeros() & 1) << at;
            mask &= mask - 1;
            at += 1;
        }
        packed
    }
    /// Whether a text is valid UTF-8.
    fn is_utf8(self, text: &[u8]) -> bool;
    /// A summary of the bytes of several blocks, cheaper to compute than a mask per block.
    type Range: Copy;
    fn no_range(self) -> Self::Range;
    fn widen(self, range: Self::Range, block: &[u8; BLOCK]) -> Self::Range;
    /// Whether a byte below 0x20 was among them.
    fn has_control(self, range: Self::Range) -> bool;
    /// Whether a byte above 0x7f was among them.
    fn has_high(self, range: Self::Range) -> bool;
    /// Bit `i` of the result is the parity of bits `0..=i`.
    fn prefix_xor(self, bits: u64) -> u64;
    /// Hints that the bytes at `address` are needed soon. Any address is allowed.
    #[inline(always)]
    fn prefetch(self, _address: *const u8) {}
    /// Writes `base` plus the position of each set bit, in ascending order. The entries after these are unspecified.
    #[inline(always)]
    fn flatten(self, mask: u64, base: u16, positions: &mut [u16; BLOCK]) {
        flatten(mask, base, positions);
    }
}

/// The state that one window passes to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carry {
    /// All ones inside a string.
    in_string: u64,
    /// 1 if the last byte belonged to a scalar.
    scalar: u64,
    escape: EscapeState,
    utf8: Utf8State,
}

impl Carry {
    /// Whether the window ends inside a string.
    pub fn in_string(&self) -> bool {
        self.in_string != 0
    }

    /// Whether these bytes only continue a string: the state after them is the state before them.
    #[inline]
    pub fn continues_string(&self, bytes: &[u8]) -> bool {
        self.in_string()
            && self.escape == EscapeState::None
            && !self.utf8.is_partial()
            && bytes.iter().all(|byte| matches!(byte, 0x20..0x80) && !matches!(byte, b'"' | b'\\'))
    }
}

/// The kind of a byte that is invalid in every document at its place, whatever the grammar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteError {
    /// A raw control character in a string.
    Control,
    /// Not UTF-8.
    Utf8,
    /// An escape that RFC 8259 does not define, or invalid digits after `\u`.
    Escape,
}

/// One mask per block.
type Masks = [u64; BLOCKS];

/// The masks of one window, aligned to cache lines, so that a load of eight of them crosses none.
#[repr(C, align(64))]
pub struct Window {
    token: Masks,
    /// Outside strings, like the brackets.
    white: Masks,
    bracket: Masks,
    separator: Masks,
    quote: Masks,
    in_string: Masks,
    backslash: Masks,
    /// Only valid if `any_bad_escape` is set.
    bad_escape: Masks,
    /// Tokens of the window before each block.
    before: [u16; BLOCKS],
    /// Positions of the tokens in ascending order. Only the first `tokens` entries are valid.
    positions: [u16; WINDOW + BLOCK],
    tokens: usize,
    /// The scanner of the last scan.
    scanner: Scanner,
    len: usize,
    any_white: bool,
    any_backslash: bool,
    any_bad_escape: bool,
    fatal: Option<Fatal>,
}

/// The first byte of a window that is invalid whatever the grammar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// Its position in the window.
    pub at: usize,
    /// The reason why it is invalid.
    pub flaw: ByteError,
    /// Whether it is inside a string.
    pub in_string: bool,
}

impl Window {
    /// Creates an empty window.
    pub fn new() -> Box<Self> {
        Box::new(Self {
            token: [0; BLOCKS],
            white: [0; BLOCKS],
            bracket: [0; BLOCKS],
            separator: [0; BLOCKS],
            quote: [0; BLOCKS],
            in_string: [0; BLOCKS],
            backslash: [0; BLOCKS],
            bad_escape: [0; BLOCKS],
            before: [0; BLOCKS],
            positions: [0; WINDOW + BLOCK],
            tokens: 0,
            scanner: Scanner::scalar(),
            len: 0,
            any_white: false,
            any_backslash: false,
            any_bad_escape: false,
            fatal: None,
        })
    }

    /// Returns the positions of the tokens in this window.
    #[inline]
    pub fn tokens(&self) -> &[u16] {
        self.positions.get(..self.tokens).unwrap_or_default()
    }

    /// Returns the number of tokens that begin before `at`.
    #[inline]
    pub fn tokens_before(&self, at: usize) -> usize {
        if at >= self.len {
            return self.tokens;
        }
        let block = at / BLOCK;
        let (Some(before), Some(token)) = (self.before.get(block), self.token.get(block)) else {
            return self.tokens;
        };
        let here = token & !(u64::MAX << (at % BLOCK));
        usize::from(*before) + here.count_ones() as usize
    }

    /// Returns the first byte that is invalid whatever the grammar says.
    pub fn fatal(&self) -> Option<Fatal> {
        self.fatal
    }

    /// Whether this window contains a backslash.
    #[inline]
    pub fn any_backslash(&self) -> bool {
        self.any_backslash
    }

    /// Whether the bytes `from..to` of this window contain no backslash. Takes two words for fewer than 64 bytes.
    #[inline(always)]
    pub fn is_plain(&self, from: usize, to: usize) -> bool {
        let backslash = |block: usize| self.backslash.get(block).copied();
        let len = to.saturating_sub(from);
        if len >= BLOCK {
            return Self::find(from, to, backslash).is_none();
        }
        let (block, bit) = (from / BLOCK, from % BLOCK);
        let low = backslash(block).unwrap_or(0) >> bit;
        // Two shifts, because a shift by 64 is an overflow.
        let high = backslash(block + 1).unwrap_or(0) << 1 << (BLOCK - 1 - bit);
        (low | high) & !(u64::MAX << len) == 0
    }

    /// Whether this window contains an invalid escape.
    #[inline]
    pub fn any_bad_escape(&self) -> bool {
        self.any_bad_escape
    }

    /// Returns the first invalid escape at or after `from`.
    pub fn bad_escape(&self, from: usize) -> Option<usize> {
        if !self.any_bad_escape {
            return None;
        }
        Self::find(from, self.len, |block| Some(*self.bad_escape.get(block)?))
    }

    /// Calls `emit` for each run of bytes in `from..to` that is not white space outside strings.
    #[inline]
    pub fn solid_runs(&self, from: usize, to: usize, mut emit: impl FnMut(usize, usize)) {
        if !self.any_white {
            if from < to {
                emit(from, to);
            }
            return;
        }
        let mut at = from;
        while at < to {
            // The end of this run, then the end of the white space after it.
            let end = Self::find(at, to, |block| Some(*self.white.get(block)?)).unwrap_or(to);
            if at < end {
                emit(at, end);
            }
            at = Self::find(end, to, |block| Some(!*self.white.get(block)?)).unwrap_or(to);
        }
    }

    /// Returns the brackets of at most `most` complete blocks of `text` from `block` on, and the block after these. `text` is a
    /// prefix of the scanned bytes. Returns `None` if no block is complete, or if the kernel has no fast way.
    #[inline]
    pub fn bracket_batch(
        &self,
        text: &[u8],
        block: usize,
        most: usize,
    ) -> Option<(BracketBatch, usize)> {
        self.scanner.bracket_batch(self, text, block, most)
    }

    /// Returns the brackets of a block that are outside strings.
    #[inline(always)]
    pub fn brackets(&self, block: usize) -> u64 {
        self.bracket.get(block).copied().unwrap_or(0)
    }

    /// Returns the masks of a row.
    #[inline(always)]
    fn row(&mut self, index: usize) -> Option<RowMasks<'_>> {
        Some(RowMasks {
            quote: self.quote.as_chunks_mut().0.get_mut(index)?,
            backslash: self.backslash.as_chunks_mut().0.get_mut(index)?,
            bracket: self.bracket.as_chunks_mut().0.get_mut(index)?,
            separator: self.separator.as_chunks_mut().0.get_mut(index)?,
            white: self.white.as_chunks_mut().0.get_mut(index)?,
            in_string: self.in_string.as_chunks_mut().0.get_mut(index)?,
            token: self.token.as_chunks_mut().0.get_mut(index)?,
            bad_escape: self.bad_escape.as_chunks_mut().0.get_mut(index)?,
        })
    }

    /// Returns the first set bit at or after `from` and before `to`.
    #[inline(always)]
    fn find(from: usize, to: usize, mask: impl Fn(usize) -> Option<u64>) -> Option<usize> {
        let mut block = from / BLOCK;
        let mut keep = u64::MAX << (from % BLOCK);
        while block * BLOCK < to {
            let mask = mask(block)? & keep;
            if mask != 0 {
                let at = block * BLOCK + mask.trailing_zeros() as usize;
                return (at < to).then_some(at);
            }
            keep = u64::MAX;
            block += 1;
        }
        None
    }
}

#[inline]
fn is_set(masks: &Masks, at: usize) -> bool {
    masks.get(at / BLOCK).is_some_and(|mask| mask >> (at % BLOCK) & 1 != 0)
}

/// The algorithm. Inlined into one function per instruction set, so that the kernel's own functions are inlined, too.
///
/// Makes two passes over the window. They are not one, because the vectors of both do not fit into the registers.
#[inline(always)]
fn scan_with<K: Kernel>(kernel: K, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
    let began_in_string = carry.in_string();
    window.len = bytes.len();
    window.tokens = 0;
    window.fatal = None;

    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut last = [b' '; BLOCK];
    // Spaces after the end have no effect: they carry nothing on.
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let last = (!rest.is_empty()).then_some(&last);

    let range = classify(kernel, bytes, last, window);
    let masks = window.backslash.iter().take(bytes.len().div_ceil(BLOCK));
    window.any_backslash = masks.fold(0, |any, mask| any | mask) != 0;
    // A full window is handled separately: loops of constant length need no prologue and no epilogue.
    if let Ok(blocks) = <&[_; BLOCKS]>::try_from(blocks) {
        derive(kernel, blocks, None, WINDOW, carry, window);
    } else {
        derive(kernel, blocks, last, bytes.len(), carry, window);
    }

    let blocks = || blocks.iter().chain(last);
    if kernel.has_control(range) {
        for (index, (block, string)) in blocks().zip(&window.in_string).enumerate() {
            let control = kernel.classify(block).control & string;
            if control != 0 {
                let at = index * BLOCK + control.trailing_zeros() as usize;
                window.fatal = Some(Fatal { at, flaw: ByteError::Control, in_string: true });
                break;
            }
        }
    }
    if (kernel.has_high(range) || carry.utf8.is_partial())
        && let Err(at) = carry.utf8.check(bytes, |text| kernel.is_utf8(text))
        && window.fatal.is_none_or(|control| at <= control.at)
    {
        // The state after the previous byte.
        let in_string =
            at.checked_sub(1).map_or(began_in_string, |at| is_set(&window.in_string, at));
        window.fatal = Some(Fatal { at, flaw: ByteError::Utf8, in_string });
    }
}

/// First pass: the classes of each block, without context. `last` is the block that `bytes` does not fill.
///
/// The time goes into moving masks out of the vector unit. So only the masks that are needed block by block are moved,
/// and a kernel may move those of several blocks at once.
#[inline(always)]
fn classify<K: Kernel>(
    kernel: K,
    bytes: &[u8],
    last: Option<&[u8; BLOCK]>,
    window: &mut Window,
) -> K::Range {
    let mut range = kernel.no_range();
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let (rows, rest) = blocks.as_chunks::<ROW>();
    for (index, row) in rows.iter().enumerate() {
        let Some(mut masks) = window.row(index) else { break };
        for block in row {
            range = kernel.widen(range, block);
            // The hardware prefetcher stops at a page, and prefetching a whole window at once would stall: one line per
            // block.
            kernel.prefetch(block.as_ptr().wrapping_add(WINDOW));
        }
        if is_off(FastPath::MaskRows) {
            classify_blocks(kernel, row, &mut masks);
        } else {
            kernel.classify_row(row, &mut masks);
        }
    }

    let Window { quote, backslash, bracket, separator, white, .. } = window;
    let done = rows.len() * ROW;
    let masks = quote.iter_mut().zip(backslash).zip(bracket).zip(separator).zip(white);
    let blocks = rest.iter().chain(last);
    for (block, ((((quote, backslash), bracket), separator), white)) in blocks.zip(masks.skip(done))
    {
        let classes = kernel.classify(block);
        *quote = classes.quote;
        *backslash = classes.backslash;
        *bracket = classes.bracket;
        *separator = classes.separator;
        *white = classes.white;
        range = kernel.widen(range, block);
    }
    range
}

/// Writes the masks of the first pass for a row, block by block.
#[inline(always)]
fn classify_blocks<K: Kernel>(kernel: K, row: &Row, masks: &mut RowMasks<'_>) {
    let RowMasks { quote, backslash, bracket, separator, white, .. } = masks;
    let masks = quote.iter_mut().zip(&mut **backslash).zip(&mut **bracket);
    let masks = masks.zip(&mut **separator).zip(&mut **white);
    for (block, ((((quote, backslash), bracket), separator), white)) in row.iter().zip(masks) {
        let classes = kernel.classify(block);
        *quote = classes.quote;
        *backslash = classes.backslash;
        *bracket = classes.bracket;
        *separator = classes.separator;
        *white = classes.white;
    }
}

/// Lists the positions of the tokens, for a window whose tokens are walked.
#[inline(always)]
fn list_tokens<K: Kernel>(kernel: K, window: &mut Window) {
    let Window { token, before, positions, len, .. } = window;
    let used = token.get(..len.div_ceil(BLOCK)).unwrap_or_default();
    let flatten = |token, base, positions: &mut _| kernel.flatten(token, base, positions);
    window.tokens = list::list_tokens(used, before, positions, flatten);
}
