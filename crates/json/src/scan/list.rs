//! Lists the positions of the tokens of a window, from their masks.

use super::{BLOCK, BLOCKS, Kernel, Window};

const _: () = assert!(BLOCKS <= u64::BITS as usize, "a word has a bit for each block");

/// Lists the positions of the tokens, for a window whose tokens are walked.
#[inline(always)]
pub(super) fn list_tokens<K: Kernel>(kernel: K, window: &mut Window) {
    let Window { token, before, positions, len, .. } = window;
    let used = token.get(..len.div_ceil(BLOCK)).unwrap_or_default();
    let mut list = |block: usize, token: u64, at: u16| {
        let positions = positions.get_mut(usize::from(at)..).and_then(<[u16]>::first_chunk_mut);
        if let Some(positions) = positions {
            kernel.flatten(token, (block * BLOCK) as u16, positions);
        }
    };
    let mut tokens = 0;
    // Blocks inside long strings have no tokens. If there are many, a loop leaves them out that has a branch for each of the
    // others: whether the next block has tokens is not predictable.
    let empty: u64 = used.iter().map(|token| u64::from(*token == 0)).sum();
    if empty < used.len() as u64 / 4 {
        for (block, (token, before)) in used.iter().zip(before).enumerate() {
            *before = tokens;
            list(block, *token, tokens);
            tokens += token.count_ones() as u16;
        }
    } else {
        let mut filled = 0_u64;
        for (block, (token, before)) in used.iter().zip(&mut *before).enumerate() {
            *before = tokens;
            tokens += token.count_ones() as u16;
            filled |= u64::from(*token != 0) << block;
        }
        while filled != 0 {
            let block = filled.trailing_zeros() as usize;
            filled &= filled - 1;
            if let (Some(token), Some(before)) = (used.get(block), before.get(block)) {
                list(block, *token, *before);
            }
        }
    }
    window.tokens = tokens.into();
}

/// Writes eight positions at a time, even if fewer are needed: the number of tokens in a block is not predictable, the
/// number of groups of eight is.
#[inline(always)]
pub(super) fn flatten(mut mask: u64, base: u16, positions: &mut [u16; BLOCK]) {
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
