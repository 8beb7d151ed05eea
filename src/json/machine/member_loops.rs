//! The loops over members and elements: four tokens, or two, at a time.
//!
//! Knows the tokens of a window and what a scalar is; no handler, no state. A loop stops at whatever is unusual (an error, a
//! container, the end of the window) before anything of it is done. Each is a function of its own, for the sake of the
//! registers.

use crate::json::scalar::{self, ScalarStep};
use crate::json::{ExcludedMembers, MemberSpan, MemberTaker, TakeResult};
use crate::path::trie::NameTable;

/// One member, as token positions in the window.
#[derive(Clone, Copy)]
pub(super) struct MemberTokens {
    pub(super) key: usize,
    pub(super) colon: usize,
    pub(super) value: usize,
    /// A comma or a closing bracket, or the first token of something that is wrong there.
    pub(super) end: usize,
}

impl MemberTokens {
    #[inline(always)]
    pub(super) fn at(tokens: &[u16], next: usize) -> Option<Self> {
        let [key, colon, value, end] = *tokens.get(next..)?.first_chunk()?;
        Some(Self { key: key.into(), colon: colon.into(), value: value.into(), end: end.into() })
    }

    /// The last member of a window, which ends in its value.
    #[cold]
    pub(super) fn cut(tokens: &[u16], next: usize, end: usize) -> Option<Self> {
        let [key, colon, value] = *<&[u16; 3]>::try_from(tokens.get(next..)?).ok()?;
        Some(Self { key: key.into(), colon: colon.into(), value: value.into(), end })
    }
}

/// By its first byte, whether something cannot be a scalar.
#[allow(
    clippy::indexing_slicing,
    reason = "a table made at compile time, where a panic is an error of the compiler"
)]
static OPERATOR: [bool; 256] = {
    let mut operator = [false; 256];
    let all = *b"{}[],:";
    let mut at = 0;
    while at < all.len() {
        operator[all[at] as usize] = true;
        at += 1;
    }
    operator
};

#[inline]
pub(super) fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Passes and takes members up to one that is unusual, where no key has an escape. `check`: scalars nobody wants are checked.
#[inline(always)]
pub(super) fn take_usual(
    check: bool,
    text: &[u8],
    tokens: &[u16],
    next: usize,
    wanted: &NameTable,
    taker: impl MemberTaker,
) -> usize {
    if check {
        take_checked::<true>(text, tokens, next, wanted, taker)
    } else {
        take_checked::<false>(text, tokens, next, wanted, taker)
    }
}

/// A handful of loads a member, and no branch on what an unwanted key is.
#[inline(never)]
fn take_checked<const CHECK: bool>(
    text: &[u8],
    tokens: &[u16],
    mut next: usize,
    wanted: &NameTable,
    mut taker: impl MemberTaker,
) -> usize {
    while let Some(quad) = MemberTokens::at(tokens, next) {
        let Some((head, first)) = usual(text, quad) else { break };
        let MemberTokens { key, colon, value, end } = quad;
        if wanted.may_have(head, colon.wrapping_sub(key + 1))
            && let Some(child) = wanted.get_in(text, key + 1, colon.wrapping_sub(key + 2))
        {
            // White space in front of the comma is not for the taker.
            if !is_good(text, quad, first) || text.get(end - 1).is_none_or(|last| is_white(*last)) {
                break;
            }
            match taker.take(child, MemberSpan { text, key, key_end: colon, value, end }) {
                TakeResult::No => break,
                TakeResult::More => {}
                TakeResult::Last => return next + 4,
            }
        } else if CHECK && !is_good(text, quad, first) {
            break;
        }
        next += 4;
    }
    next
}

/// The same where nothing is wanted, and all is checked; keys may have escapes.
#[inline(never)]
pub(super) fn pass_usual(text: &[u8], tokens: &[u16], mut next: usize) -> usize {
    while let Some(quad) = MemberTokens::at(tokens, next) {
        let Some((_, first)) = usual(text, quad) else { break };
        if !is_good(text, quad, first) {
            break;
        }
        next += 4;
    }
    next
}

/// Passes members that are kept as they are, up to one that is not, or unusual; where no key has an escape. Tells whether
/// that one simply goes: it is well-formed, and a scalar.
#[inline(never)]
pub(super) fn keep_usual(
    text: &[u8],
    tokens: &[u16],
    mut next: usize,
    excluded: ExcludedMembers<'_>,
) -> (usize, bool) {
    while let Some(quad) = MemberTokens::at(tokens, next) {
        let Some((head, first)) = usual(text, quad) else { break };
        let MemberTokens { key, colon, value, .. } = quad;
        let len = colon.wrapping_sub(key + 1);
        if let Some((names, trie)) = excluded.names
            && names.may_have(head, len)
            && let Some(child) = names.get_in(text, key + 1, len.wrapping_sub(1))
        {
            // A number may be an index instead.
            let goes =
                !trie.ends(child).is_empty() && !text.get(key + 1).is_some_and(u8::is_ascii_digit);
            return (next, goes && is_good(text, quad, first));
        }
        if !is_good(text, quad, first) {
            break;
        }
        let goes = (excluded.nulls && first == b'n')
            || (excluded.empty && first == b'"' && text.get(value + 1) == Some(&b'"'));
        if goes {
            return (next, true);
        }
        next += 4;
    }
    (next, false)
}

/// Passes elements of an array that are strings or good scalars, with the commas behind them.
#[inline(never)]
pub(super) fn pass_elements(text: &[u8], tokens: &[u16], mut next: usize) -> usize {
    while let Some([value, end]) = tokens.get(next..).and_then(<[u16]>::first_chunk) {
        let (value, end) = (usize::from(*value), usize::from(*end));
        let (Some(first), Some(b',')) = (text.get(value), text.get(end)) else { break };
        let good = *first == b'"'
            || scalar::is_decimal(text, value, end)
            || is_good_scalar(text, value, end, *first);
        if !good {
            break;
        }
        next += 2;
    }
    next
}

/// Whether a value is a string or a good scalar.
#[inline(always)]
fn is_good(text: &[u8], MemberTokens { value, end, .. }: MemberTokens, first: u8) -> bool {
    first == b'"' || is_good_scalar(text, value, end, first)
}

/// The same for what is no string.
#[inline(always)]
pub(super) fn is_good_scalar(text: &[u8], at: usize, end: usize, first: u8) -> bool {
    #[inline(never)]
    fn is_long(text: &[u8], at: usize, end: usize, first: u8) -> bool {
        scalar::is_decimal(text, at, end)
            || matches!(scalar::scan(text, at, first), ScalarStep::Ended(_))
    }
    scalar::is_short(text, at, end) || is_long(text, at, end, first)
}

/// The first bytes of a member's key and value, if its colon is right behind the key, a comma behind the value, and all is
/// well-formed but what the scalar has behind its first byte.
#[inline(always)]
fn usual(text: &[u8], MemberTokens { key, colon, value, end }: MemberTokens) -> Option<(u64, u8)> {
    let head = u64::from_le_bytes(*text.get(key..)?.first_chunk()?);
    let [quote, separator] = *text.get(colon.wrapping_sub(1)..)?.first_chunk()?;
    let first = *text.get(value)?;
    let usual = (head as u8 == b'"')
        & ([quote, separator] == *b"\":")
        & (*text.get(end)? == b',')
        & (OPERATOR.get(usize::from(first)) == Some(&false));
    usual.then_some((head, first))
}
