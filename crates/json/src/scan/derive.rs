//! The second pass: from the classes of the bytes to strings, escapes and tokens.
//!
//! Needs the masks of the first pass, and of the bytes only the blocks that contain an escape. A kernel may derive whole
//! rows itself; this code derives the other blocks, and is the reference for such a kernel.

use std::ops::Range;

use super::escapes::{EscapeState, bad_escapes, resolve_escapes};
use super::{BLOCK, Carry, Kernel, Masks, ROW, Window};
use crate::fast_paths::{FastPath, is_off};

/// The part of a [`Carry`] that one block passes to the next, as bits, and what was seen in the window.
#[derive(Debug)]
pub(super) struct MaskState {
    /// All ones inside a string.
    pub(super) in_string: u64,
    /// 1 if the last byte belonged to a scalar.
    pub(super) scalar: u64,
    /// 1 if the next byte is escaped.
    pub(super) escaped: u64,
    /// Bit `n` is set if the next byte should be the digit `n` after a `\u`, counted from 0.
    pub(super) digits: u64,
    /// Not zero if white space was found outside strings.
    pub(super) any_white: u64,
    /// Not zero if an invalid escape was found.
    pub(super) any_bad_escape: u64,
}

impl MaskState {
    pub(super) fn begin(carry: &Carry) -> Self {
        let digits = match carry.escape {
            EscapeState::Hex(digits @ 1..=4) => 1 << (4 - digits),
            _ => 0,
        };
        Self {
            in_string: carry.in_string,
            scalar: carry.scalar,
            escaped: u64::from(carry.escape == EscapeState::Backslash),
            digits,
            any_white: 0,
            any_bad_escape: 0,
        }
    }

    pub(super) fn end(&self, carry: &mut Carry) {
        carry.in_string = self.in_string;
        carry.scalar = self.scalar;
        carry.escape = if self.digits != 0 {
            EscapeState::Hex(4 - self.digits.trailing_zeros() as u8)
        } else if self.escaped != 0 {
            EscapeState::Backslash
        } else {
            EscapeState::None
        };
    }
}

/// Derives the masks of a window of `len` bytes. `last` is the block that the bytes do not fill.
#[inline(always)]
pub(super) fn derive<K: Kernel>(
    kernel: K,
    blocks: &[[u8; BLOCK]],
    last: Option<&[u8; BLOCK]>,
    len: usize,
    carry: &mut Carry,
    window: &mut Window,
) {
    let mut state = MaskState::begin(carry);
    if window.any_backslash || carry.escape != EscapeState::None {
        derive_with::<K, true>(kernel, blocks, last, len, &mut state, window);
    } else {
        derive_with::<K, false>(kernel, blocks, last, len, &mut state, window);
    }
    // The spaces after the end do not count.
    let used = len % BLOCK;
    if used != 0
        && let Some(white) = window.white.get_mut(len / BLOCK)
    {
        *white &= !(u64::MAX << used);
        let masks = window.white.iter().take(len.div_ceil(BLOCK));
        state.any_white = masks.fold(0, |any, white| any | white);
    }
    window.any_white = state.any_white != 0;
    window.any_bad_escape = state.any_bad_escape != 0;
    state.end(carry);
}

/// `ESCAPES`: whether the window may contain escapes.
#[inline(always)]
fn derive_with<K: Kernel, const ESCAPES: bool>(
    kernel: K,
    blocks: &[[u8; BLOCK]],
    last: Option<&[u8; BLOCK]>,
    len: usize,
    state: &mut MaskState,
    window: &mut Window,
) {
    let rows = blocks.as_chunks().0;
    // A window without a whole row is short, and starting the vectors would take most of the time.
    let done = match rows {
        [] => 0,
        _ if is_off(FastPath::MaskRows) => 0,
        rows => kernel.derive_rows::<ESCAPES>(rows, window, state) * ROW,
    };
    if ESCAPES {
        let blocks = blocks.iter().chain(last).skip(done);
        strings_with_escapes(kernel, blocks, done, len, state, window);
    } else {
        strings(kernel, done, len, state, window);
    }
    tokens(done, len, state, window);
}

/// Finds which bytes are in strings, from block `first` on.
#[inline(always)]
fn strings<K: Kernel>(
    kernel: K,
    first: usize,
    len: usize,
    state: &mut MaskState,
    window: &mut Window,
) {
    let blocks = first..len.div_ceil(BLOCK);
    let masks = part(&mut window.quote, &blocks).iter().zip(part(&mut window.in_string, &blocks));
    for (quote, in_string) in masks {
        *in_string = kernel.prefix_xor(*quote) ^ state.in_string;
        state.in_string = ((*in_string as i64) >> 63) as u64;
    }
}

/// Finds which bytes are in strings, from block `first` on, which quotes are escaped, and which escapes are invalid.
#[inline(always)]
fn strings_with_escapes<'a, K: Kernel>(
    kernel: K,
    blocks: impl Iterator<Item = &'a [u8; BLOCK]>,
    first: usize,
    len: usize,
    state: &mut MaskState,
    window: &mut Window,
) {
    let range = first..len.div_ceil(BLOCK);
    let masks = part(&mut window.quote, &range).iter_mut().zip(part(&mut window.backslash, &range));
    let masks = masks.zip(part(&mut window.in_string, &range));
    let masks = masks.zip(part(&mut window.bad_escape, &range));
    for (index, (block, (((quote, backslash), in_string), bad))) in (first..).zip(blocks.zip(masks))
    {
        let last = BLOCK.min(len - index * BLOCK) - 1;
        let (mut escaped, escaping) = resolve_escapes(*backslash, state.escaped);
        state.escaped = escaping >> last & 1;
        *quote &= !escaped;
        *in_string = kernel.prefix_xor(*quote) ^ state.in_string;
        state.in_string = ((*in_string as i64) >> 63) as u64;
        escaped &= *in_string;
        *bad = 0;
        if escaped | state.digits != 0 {
            let classes = kernel.classify_escapes(block);
            *bad = bad_escapes(classes, escaped, last, &mut state.digits);
            state.any_bad_escape |= *bad;
        }
    }
}

/// Finds which bytes are outside strings, and where tokens begin, from block `first` on. No branch depends on the bytes,
/// and a block needs a single bit of the block before it, so the compiler handles several blocks at once.
#[inline(always)]
fn tokens(first: usize, len: usize, state: &mut MaskState, window: &mut Window) {
    let blocks = first..len.div_ceil(BLOCK);
    if blocks.is_empty() {
        return;
    }
    // 1 in the top bit if the last byte belonged to a scalar.
    let mut before = state.scalar << 63;
    let masks = part(&mut window.quote, &blocks).iter().zip(part(&mut window.in_string, &blocks));
    let masks = masks.zip(part(&mut window.bracket, &blocks));
    let masks = masks.zip(part(&mut window.separator, &blocks));
    let masks = masks.zip(part(&mut window.white, &blocks));
    let masks = masks.zip(part(&mut window.token, &blocks));
    for (((((quote, string), bracket), separator), white), token) in masks {
        let outside = !*string;
        let op = (*bracket | *separator) & outside;
        let scalar = !(op | *white | quote) & outside;
        *token = op | (quote & *string) | (scalar & !(scalar << 1 | before >> 63));
        before = scalar;
        *bracket &= outside;
        *white &= outside;
        state.any_white |= *white;
    }
    state.scalar = before >> ((len - 1) % BLOCK) & 1;
}

/// Returns the masks of some blocks. A slice, because the compiler does not vectorise a loop over an iterator with `skip`.
#[inline(always)]
fn part<'a>(masks: &'a mut Masks, blocks: &Range<usize>) -> &'a mut [u64] {
    masks.get_mut(blocks.clone()).unwrap_or_default()
}
