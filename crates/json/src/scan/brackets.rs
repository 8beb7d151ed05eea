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

use super::{BLOCK, Kernel, Window};

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
    /// Adds the brackets of a block. Returns `false` and adds none if there is no room.
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
