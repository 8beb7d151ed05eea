//! Lists the positions of tokens, from masks of where they begin.

/// The number of bytes that one mask covers.
const BLOCK: usize = u64::BITS as usize;

/// Lists the positions of the tokens in up to 64 blocks, for a window whose tokens are walked. Returns their number, and writes
/// how many there are before each block. `flatten` lists those of one block.
#[inline(always)]
pub(super) fn list_tokens(
    masks: &[u64],
    before: &mut [u16],
    positions: &mut [u16],
    flatten: impl Fn(u64, u16, &mut [u16; BLOCK]),
) -> usize {
    let mut list = |block: usize, token: u64, at: u16| {
        let positions = positions.get_mut(usize::from(at)..).and_then(<[u16]>::first_chunk_mut);
        if let Some(positions) = positions {
            flatten(token, (block * BLOCK) as u16, positions);
        }
    };
    let mut tokens = 0;
    // Blocks inside long strings have no tokens. If there are many, a loop visits the other blocks. It has no branch that
    // depends on a block being empty, which would not be predictable.
    let empty: u64 = masks.iter().map(|token| u64::from(*token == 0)).sum();
    if empty < masks.len() as u64 / 4 {
        for (block, (token, before)) in masks.iter().zip(before).enumerate() {
            *before = tokens;
            list(block, *token, tokens);
            tokens += token.count_ones() as u16;
        }
        return tokens.into();
    }
    let mut filled = 0_u64;
    for (block, (token, before)) in masks.iter().zip(&mut *before).enumerate() {
        *before = tokens;
        tokens += token.count_ones() as u16;
        filled |= u64::from(*token != 0) << block;
    }
    while filled != 0 {
        let block = filled.trailing_zeros() as usize;
        filled &= filled - 1;
        if let (Some(token), Some(before)) = (masks.get(block), before.get(block)) {
            list(block, *token, *before);
        }
    }
    tokens.into()
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
