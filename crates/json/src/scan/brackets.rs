//! Handles the brackets of several blocks at once, for containers of which only the end is needed.
//!
//! The brackets outside strings are packed into words, up to 64 of them, one bit per bracket. Then neighbours that open and
//! close are removed, round by round, until only unpaired brackets are left:
//!
//! ```text
//! packed     ] { [ ] [ ] } {
//! open       0 1 1 0 1 0 0 1       bit 0 on the left
//! object     0 1 0 0 0 0 1 1
//! round 1    ] {         } {       two pairs are removed; the kinds of each pair are equal
//! round 2    ]             {       closes an array, then opens an object
//! ```
//!
//! Most documents need few rounds, and no branch depends on a single bracket.
//!
//! Rows inside a long container are not scanned into a window, because only their brackets are needed ([`skip`]). This takes
//! one pass instead of two: the masks of a block are used while they are in registers, and none are kept.
//!
//! ```text
//! bytes of a block             quote, backslash, bracket, open, object     without context
//! quote, backslash             in_string
//! bracket, in_string           brackets outside strings
//! these, with open and object  packed
//! ```
//!
//! Separators, white space, tokens and errors in escapes are not needed. Backslashes are resolved in every block: a branch
//! for rows without any takes longer, because it is not predictable. Rows with an error are refused together. The caller then
//! scans them as usual, which finds the place of the error.

use super::derive::MaskState;
use super::escapes::{bad_escapes, resolve_escapes};
use super::{BLOCK, Carry, Kernel, ROW, Row, WINDOW, Window};

/// Which brackets of a block open, and which belong to objects. Only valid at brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BracketKinds {
    pub(super) open: u64,
    pub(super) object: u64,
}

/// The brackets of some blocks, without pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BracketBatch {
    /// The number of opening brackets: no container in the batch is deeper than by this number.
    pub opened: u32,
    /// The brackets without pairs; `None` if a bracket closes a container of the other kind.
    pub unpaired: Option<UnpairedBrackets>,
}

/// Brackets that remain when all pairs are removed: some that close, then some that open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnpairedBrackets {
    /// The number of closing brackets.
    pub closing: u32,
    /// Which closing brackets belong to objects; the first one is bit 0. The bits after the last one are unspecified.
    pub closing_objects: u64,
    /// The number of opening brackets.
    pub opening: u32,
    /// Which opening brackets belong to objects; the last one is bit 0.
    pub opening_objects: u64,
}

/// See [`Window::bracket_batch`].
#[inline(always)]
pub(super) fn bracket_batch<K: Kernel>(
    kernel: K,
    window: &Window,
    text: &[u8],
    block: usize,
    most: usize,
) -> Option<(BracketBatch, usize)> {
    if kernel.packs_fast() { collect(kernel, window, text, block, most) } else { None }
}

/// Returns the brackets of complete blocks of `text` from `block` on, of at most `most` blocks and at most 64 brackets, and
/// the block after these, or `None` if no block is complete.
#[inline(always)]
pub(super) fn collect<K: Kernel>(
    kernel: K,
    window: &Window,
    text: &[u8],
    block: usize,
    most: usize,
) -> Option<(BracketBatch, usize)> {
    let blocks = text.as_chunks::<BLOCK>().0.get(block..)?;
    let mut queue = BracketQueue::default();
    let mut end = block;
    for (bytes, brackets) in blocks.iter().zip(window.bracket.get(block..)?).take(most) {
        // Without brackets, the kinds are not needed.
        if *brackets != 0 && !queue.push(kernel, *brackets, kernel.bracket_kinds(bytes)) {
            break;
        }
        end += 1;
    }
    (end > block).then(|| (queue.take(kernel), end))
}

/// Brackets that wait to be handled together, packed: up to 64, one bit per bracket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BracketQueue {
    open: u64,
    object: u64,
    count: u32,
}

impl BracketQueue {
    /// Adds the brackets of a block, or none if there is no room for all of them. Returns whether there was room.
    #[inline(always)]
    pub(super) fn push<K: Kernel>(
        &mut self,
        kernel: K,
        brackets: u64,
        kinds: BracketKinds,
    ) -> bool {
        let more = brackets.count_ones();
        if self.count + more > u64::BITS {
            return false;
        }
        // If the queue is full, nothing is added, and the shift by 64 does not matter.
        self.open |= kernel.pack(kinds.open, brackets).wrapping_shl(self.count);
        self.object |= kernel.pack(kinds.object, brackets).wrapping_shl(self.count);
        self.count += more;
        true
    }

    /// Takes all brackets.
    #[inline(always)]
    pub(super) fn take<K: Kernel>(&mut self, kernel: K) -> BracketBatch {
        let Self { open, object, count } = std::mem::take(self);
        let unpaired = remove_pairs(kernel, open, object, count);
        BracketBatch { opened: open.count_ones(), unpaired }
    }
}

/// See [`Scanner::skip`](super::Scanner::skip).
#[inline(always)]
pub(super) fn skip<K: Kernel>(
    kernel: K,
    rows: &[Row],
    carry: &mut Carry,
    apply: impl FnMut(&BracketBatch) -> bool,
) -> bool {
    kernel.packs_fast() && skip_rows(kernel, rows, carry, apply)
}

/// Like [`skip`], also for kernels that do not pack fast.
#[inline(always)]
pub(super) fn skip_rows<K: Kernel>(
    kernel: K,
    rows: &[Row],
    carry: &mut Carry,
    mut apply: impl FnMut(&BracketBatch) -> bool,
) -> bool {
    let Some(last) = rows.last().and_then(|row| row.last()) else { return true };
    let mut state = MaskState::begin(carry);
    let mut queue = BracketQueue::default();
    let mut any_high = false;
    let mut escaped = 0;
    let mut strings = [0; ROW];
    for row in rows {
        let mut range = kernel.no_range();
        for (block, string) in row.iter().zip(&mut strings) {
            range = kernel.widen(range, block);
            kernel.prefetch(block.as_ptr().wrapping_add(WINDOW));
            let classes = kernel.classify(block);
            let escaping;
            (escaped, escaping) = resolve_escapes(classes.backslash, state.escaped);
            state.escaped = escaping >> (BLOCK - 1);
            *string = kernel.prefix_xor(classes.quote & !escaped) ^ state.in_string;
            state.in_string = ((*string as i64) >> 63) as u64;

            let brackets = classes.bracket & !*string;
            let kinds = kernel.bracket_kinds(block);
            if !queue.push(kernel, brackets, kinds) {
                if !apply(&queue.take(kernel)) {
                    return false;
                }
                queue.push(kernel, brackets, kinds);
            }
        }
        if kernel.has_control(range) {
            let controls = row.iter().map(|block| kernel.classify(block).control);
            let controls = controls.zip(&strings).map(|(control, string)| control & string);
            if controls.fold(0, |any, control| any | control) != 0 {
                return false;
            }
        }
        any_high |= kernel.has_high(range);
    }
    if !apply(&queue.take(kernel)) {
        return false;
    }
    let mut utf8 = carry.utf8.clone();
    let text = rows.as_flattened().as_flattened();
    if (any_high || utf8.is_partial()) && utf8.check(text, |text| kernel.is_utf8(text)).is_err() {
        return false;
    }

    let [.., last_string] = strings;
    let [.., byte] = last;
    let scalar = match byte {
        b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => 0,
        // It ends a string, unless a backslash outside strings escapes it.
        b'"' => escaped,
        _ => u64::MAX,
    };
    state.scalar = (scalar & !last_string) >> (BLOCK - 1);
    // Escapes are shorter than a block, so the last block says whether the next byte is in one.
    state.digits = 0;
    escaped &= last_string;
    if escaped != 0 {
        bad_escapes(kernel.classify_escapes(last), escaped, BLOCK - 1, &mut state.digits);
    }
    state.end(carry);
    carry.utf8 = utf8;
    true
}

/// Removes brackets that open and close the same container. Returns `None` if the kinds of a pair differ.
#[inline(always)]
fn remove_pairs<K: Kernel>(
    kernel: K,
    mut open: u64,
    mut object: u64,
    mut count: u32,
) -> Option<UnpairedBrackets> {
    loop {
        let all = if count == 0 { 0 } else { u64::MAX >> (u64::BITS - count) };
        let close = !open & all;
        // The opening bracket of each pair; the closing one is the next.
        let pairs = open & (close >> 1);
        if pairs == 0 {
            let closing = close.count_ones();
            let opening = count - closing;
            // Turned around: the last one becomes bit 0.
            let opening_objects = match opening {
                0 => 0,
                _ => {
                    (object << (u64::BITS - count)).reverse_bits()
                        & (u64::MAX >> (u64::BITS - opening))
                }
            };
            return Some(UnpairedBrackets {
                closing,
                closing_objects: object,
                opening,
                opening_objects,
            });
        }
        if (object ^ (object >> 1)) & pairs != 0 {
            return None;
        }
        let keep = all & !(pairs | pairs << 1);
        open = kernel.pack(open, keep);
        object = kernel.pack(object, keep);
        count = keep.count_ones();
    }
}
