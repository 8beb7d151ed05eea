//! Scans rows of which only the brackets are needed, because they are inside a container that is dropped.
//!
//! This takes one pass instead of two. The masks of a block are used while they are in registers, and none are kept.
//!
//! ```text
//! bytes of a block             quote, backslash, bracket, open, object     without context
//! quote, backslash             in_string
//! bracket, in_string           brackets outside strings
//! these, with open and object  packed: one bit per bracket, see `brackets.rs`
//! ```
//!
//! Separators, white space, tokens and errors in escapes are not needed. Backslashes are resolved in every block: a branch
//! for rows without any takes longer, because it is not predictable.
//!
//! Rows with an error are refused together. The caller then scans them as usual, which finds the place of the error.

use super::brackets::{BracketBatch, BracketQueue};
use super::derive::MaskState;
use super::escapes::{bad_escapes, resolve_escapes};
use super::{BLOCK, Carry, Kernel, ROW, Row, WINDOW};

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
