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
//! The algorithm is written once, generic over [`Kernel`]. An instruction set only classifies 64 bytes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(test, fuzzing))]
mod diff;
mod escapes;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod scalar;
mod scanner;
mod utf8;

#[cfg(test)]
pub(crate) mod tests;

#[cfg(fuzzing)]
pub(crate) use diff::compare;
use escapes::{EscapeState, bad_escapes, resolve_escapes};
#[cfg(test)]
pub(crate) use scanner::Isa;
pub(crate) use scanner::Scanner;
use utf8::Utf8State;

/// Bytes that are scanned before the machine walks their tokens, so that their masks stay in the first-level cache.
pub(crate) const WINDOW: usize = 4096;
pub(crate) const BLOCK: usize = 64;
const BLOCKS: usize = WINDOW / BLOCK;
/// Blocks that are classified together.
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

/// The masks of several blocks for the classes that are needed block by block.
struct MaskRows<'a> {
    quote: &'a mut [u64; ROW],
    backslash: &'a mut [u64; ROW],
    bracket: &'a mut [u64; ROW],
    separator: &'a mut [u64; ROW],
    white: &'a mut [u64; ROW],
}

/// The operations of an instruction set. A value of the type proves that the CPU has it.
trait Kernel: Copy {
    fn classify(self, block: &[u8; BLOCK]) -> ByteClasses;
    #[inline(always)]
    fn classify_row(self, blocks: &[[u8; BLOCK]; ROW], rows: &mut MaskRows<'_>) {
        let MaskRows { quote, backslash, bracket, separator, white } = rows;
        let masks = quote.iter_mut().zip(&mut **backslash).zip(&mut **bracket);
        let masks = masks.zip(&mut **separator).zip(&mut **white);
        for (block, ((((quote, backslash), bracket), separator), white)) in blocks.iter().zip(masks)
        {
            let classes = self.classify(block);
            *quote = classes.quote;
            *backslash = classes.backslash;
            *bracket = classes.bracket;
            *separator = classes.separator;
            *white = classes.white;
        }
    }
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
pub(crate) struct Carry {
    /// All ones inside a string.
    in_string: u64,
    /// 1 if the last byte belonged to a scalar.
    scalar: u64,
    escape: EscapeState,
    utf8: Utf8State,
}

impl Carry {
    pub(crate) fn in_string(&self) -> bool {
        self.in_string != 0
    }
}

/// The kind of a byte that is invalid in every document at its place, whatever the grammar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteError {
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
pub(crate) struct Window {
    token: Masks,
    /// Outside strings, like the brackets.
    white: Masks,
    bracket: Masks,
    separator: Masks,
    quote: Masks,
    in_string: Masks,
    backslash: Masks,
    bad_escape: Masks,
    /// Tokens of the window before each block.
    before: [u16; BLOCKS],
    /// Positions of the tokens in ascending order. Only the first `tokens` entries are valid.
    positions: [u16; WINDOW + BLOCK],
    tokens: usize,
    len: usize,
    any_white: bool,
    any_backslash: bool,
    any_bad_escape: bool,
    fatal: Option<Fatal>,
}

/// The first byte of a window that is invalid whatever the grammar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fatal {
    pub(crate) at: usize,
    pub(crate) flaw: ByteError,
    pub(crate) in_string: bool,
}

impl Window {
    pub(crate) fn new() -> Box<Self> {
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
            len: 0,
            any_white: false,
            any_backslash: false,
            any_bad_escape: false,
            fatal: None,
        })
    }

    /// Returns the positions of the tokens in this window.
    #[inline]
    pub(crate) fn tokens(&self) -> &[u16] {
        self.positions.get(..self.tokens).unwrap_or_default()
    }

    /// Returns the number of tokens that begin before `at`.
    #[inline]
    pub(crate) fn tokens_before(&self, at: usize) -> usize {
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

    pub(crate) fn fatal(&self) -> Option<Fatal> {
        self.fatal
    }

    /// Whether this window contains a backslash.
    #[inline]
    pub(crate) fn any_backslash(&self) -> bool {
        self.any_backslash
    }

    /// Whether the bytes `from..to` of this window contain no backslash. Takes two words for fewer than 64 bytes.
    #[allow(dead_code, reason = "for the loop over members, which tests each key")]
    #[inline(always)]
    pub(crate) fn is_plain(&self, from: usize, to: usize) -> bool {
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
    pub(crate) fn any_bad_escape(&self) -> bool {
        self.any_bad_escape
    }

    /// Returns the first invalid escape at or after `from`.
    pub(crate) fn bad_escape(&self, from: usize) -> Option<usize> {
        if !self.any_bad_escape {
            return None;
        }
        Self::find(from, self.len, |block| Some(*self.bad_escape.get(block)?))
    }

    /// Calls `emit` for each run of bytes in `from..to` that is not white space outside strings.
    #[inline]
    pub(crate) fn solid_runs(&self, from: usize, to: usize, mut emit: impl FnMut(usize, usize)) {
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

    /// Returns the brackets of a block that are outside strings.
    #[inline(always)]
    pub(crate) fn brackets(&self, block: usize) -> u64 {
        self.bracket.get(block).copied().unwrap_or(0)
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
/// Makes three passes over the window, none of which has a branch that depends on the bytes. In the second pass a block
/// needs a single word of the block before it. All other mask logic handles several blocks at once.
#[inline(always)]
fn scan_with<K: Kernel>(kernel: K, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
    let began_in_string = carry.in_string();
    window.len = bytes.len();
    window.tokens = 0;
    window.fatal = None;
    window.any_bad_escape = false;

    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    let mut last = [b' '; BLOCK];
    // Spaces after the end have no effect: they carry nothing on.
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    let last = (!tail.is_empty()).then_some(&last);
    let blocks = || blocks.iter().chain(last);

    let range = classify(kernel, bytes, last, window);
    let masks = window.backslash.iter().take(bytes.len().div_ceil(BLOCK));
    window.any_backslash = masks.fold(0, |any, mask| any | mask) != 0;
    let escapes = window.any_backslash || carry.escape != EscapeState::None;
    if escapes {
        strings_with_escapes(kernel, blocks(), bytes.len(), carry, window);
    }
    // A full window is handled separately: loops of constant length need no prologue and no epilogue.
    if bytes.len() == WINDOW {
        if !escapes {
            strings(kernel, WINDOW, carry, window);
        }
        tokens(WINDOW, carry, window);
    } else {
        if !escapes {
            strings(kernel, bytes.len(), carry, window);
        }
        tokens(bytes.len(), carry, window);
    }

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
        && let Err(at) = carry.utf8.check(bytes)
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
    let Window { quote, backslash, bracket, separator, white, .. } = window;
    let masks = quote.as_chunks_mut().0.iter_mut().zip(backslash.as_chunks_mut().0);
    let masks = masks.zip(bracket.as_chunks_mut().0);
    let masks = masks.zip(separator.as_chunks_mut().0).zip(white.as_chunks_mut().0);
    for (row, ((((quote, backslash), bracket), separator), white)) in rows.iter().zip(masks) {
        for block in row {
            range = kernel.widen(range, block);
            // The hardware prefetcher stops at a page, and prefetching a whole window at once would stall: one line per
            // block.
            kernel.prefetch(block.as_ptr().wrapping_add(WINDOW));
        }
        let mut rows = MaskRows { quote, backslash, bracket, separator, white };
        kernel.classify_row(row, &mut rows);
    }

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

/// Second pass: which bytes are in strings.
#[inline(always)]
fn strings<K: Kernel>(kernel: K, len: usize, carry: &mut Carry, window: &mut Window) {
    let mut before = carry.in_string;
    let masks = window.quote.iter().zip(&mut window.in_string);
    for (quote, in_string) in masks.take(len.div_ceil(BLOCK)) {
        *in_string = kernel.prefix_xor(*quote) ^ before;
        before = ((*in_string as i64) >> 63) as u64;
    }
    carry.in_string = before;
}

/// Second pass for a window that may contain escapes, which it also checks.
#[inline(always)]
fn strings_with_escapes<'a, K: Kernel>(
    kernel: K,
    blocks: impl Iterator<Item = &'a [u8; BLOCK]>,
    len: usize,
    carry: &mut Carry,
    window: &mut Window,
) {
    let Window { quote, backslash, in_string, bad_escape, any_bad_escape, .. } = window;
    let masks = quote.iter_mut().zip(backslash).zip(in_string);
    for (index, (block, ((quote, backslash), in_string))) in blocks.zip(masks).enumerate() {
        let len = BLOCK.min(len - index * BLOCK);
        let mut next = EscapeState::None;
        let mut escaped = 0;
        if *backslash != 0 || carry.escape != EscapeState::None {
            (escaped, next) = resolve_escapes(*backslash, len, carry.escape);
            *quote &= !escaped;
        }
        *in_string = kernel.prefix_xor(*quote) ^ carry.in_string;
        carry.in_string = ((*in_string as i64) >> 63) as u64;
        let escaped = escaped & *in_string;
        let hex = if let EscapeState::Hex(digits) = carry.escape { usize::from(digits) } else { 0 };
        if escaped != 0 || hex != 0 {
            let (bad, hex) = bad_escapes(block, escaped, len, hex);
            if bad != 0 && !*any_bad_escape {
                *any_bad_escape = true;
                *bad_escape = [0; BLOCKS];
            }
            if bad != 0
                && let Some(mask) = bad_escape.get_mut(index)
            {
                *mask = bad;
            }
            if hex > 0 {
                next = EscapeState::Hex(hex as u8);
            }
        }
        carry.escape = next;
    }
}

/// Third pass: which bytes are outside strings, and where tokens begin.
#[inline(always)]
fn tokens(len: usize, carry: &mut Carry, window: &mut Window) {
    let Window { quote, in_string, bracket, separator, white, token, .. } = window;
    // 1 in the top bit if the last byte belonged to a scalar.
    let mut before = carry.scalar << 63;
    let mut any_white = 0;
    let masks = quote.iter().zip(in_string).zip(bracket).zip(separator).zip(white).zip(token);
    let masks = masks.take(len.div_ceil(BLOCK));
    for (((((quote, string), bracket), separator), white), token) in masks {
        let outside = !*string;
        let op = (*bracket | *separator) & outside;
        let scalar = !(op | *white | quote) & outside;
        *token = op | (quote & *string) | (scalar & !(scalar << 1 | before >> 63));
        before = scalar;
        *bracket &= outside;
        *white &= outside;
        any_white |= *white;
    }
    let last = len.wrapping_sub(1) % BLOCK;
    carry.scalar = before >> last & 1;
    // The spaces after the end do not count.
    if last + 1 < BLOCK
        && let Some(white) = window.white.get_mut(len / BLOCK)
    {
        *white &= !(u64::MAX << last << 1);
        any_white = window.white.iter().take(len.div_ceil(BLOCK)).fold(0, |any, white| any | white);
    }
    window.any_white = any_white != 0;
}

/// Lists the positions of the tokens, for a window whose tokens are walked.
#[inline(always)]
fn list_tokens<K: Kernel>(kernel: K, window: &mut Window) {
    let len = window.len;
    let mut tokens = 0;
    let masks = window.token.iter().zip(&mut window.before).take(len.div_ceil(BLOCK));
    for (index, (token, before)) in masks.enumerate() {
        *before = tokens as u16;
        let positions = window.positions.get_mut(tokens..).and_then(<[u16]>::first_chunk_mut);
        if let Some(positions) = positions {
            kernel.flatten(*token, (index * BLOCK) as u16, positions);
            tokens += token.count_ones() as usize;
        }
    }
    window.tokens = tokens;
}

/// Writes eight positions at a time, even if fewer are needed: the number of tokens in a block is not predictable, the
/// number of groups of eight is.
#[inline(always)]
fn flatten(mut mask: u64, base: u16, positions: &mut [u16; BLOCK]) {
    for eight in positions.as_chunks_mut::<8>().0 {
        for position in eight {
            *position = base.wrapping_add(mask.trailing_zeros() as u16);
            mask &= mask.wrapping_sub(1);
        }
        if mask == 0 {
            break;
        }
    }
}
