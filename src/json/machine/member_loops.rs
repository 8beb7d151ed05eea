//! The fast loops: members four tokens at a time (key, colon, value, comma) and elements two at a time.
//!
//! Know the tokens of a window and what a scalar is, but no handler and no state of the machine. Precondition of all of
//! them: the window has no backslash and no key can exceed the limit, so a key between two quotes is its name. A loop stops
//! before the first member that is not plain, without having consumed any of it: an error, a container, the last member of
//! an object, or the end of the window. The caller continues there with the general code.
//!
//! | loop | used for | result |
//! |---|---|---|
//! | `take_usual` | members of an object with wanted names | wanted scalars go to the taker, others are dropped |
//! | `keep_usual` | members that are kept unless excluded | the run of kept members, and whether the next one is dropped |
//! | `pass_usual` | members of a value that is only validated (backslashes allowed) | they are checked |
//! | `pass_elements` | scalar elements of an array | they are checked |
//!
//! The loops are not inlined, to reduce register pressure.

use crate::json::scalar::{self, ScalarStep};
use crate::json::{ExcludedMembers, MemberSpan, MemberTaker, TakeResult};
use crate::path::trie::NameTable;

/// The tokens of one member, as positions in the window.
#[derive(Clone, Copy)]
pub(super) struct MemberTokens {
    pub(super) key: usize,
    pub(super) colon: usize,
    pub(super) value: usize,
    /// The comma or closing bracket, or the first token of an error.
    pub(super) end: usize,
}

impl MemberTokens {
    #[inline(always)]
    pub(super) fn at(tokens: &[u16], next: usize) -> Option<Self> {
        let [key, colon, value, end] = *tokens.get(next..)?.first_chunk()?;
        Some(Self { key: key.into(), colon: colon.into(), value: value.into(), end: end.into() })
    }

    /// Returns the last member of a window that ends inside the value.
    #[cold]
    pub(super) fn cut(tokens: &[u16], next: usize, end: usize) -> Option<Self> {
        let [key, colon, value] = *<&[u16; 3]>::try_from(tokens.get(next..)?).ok()?;
        Some(Self { key: key.into(), colon: colon.into(), value: value.into(), end })
    }
}

/// Bytes that are structural and so cannot begin a scalar.
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

/// Drops and takes members up to the first one that is not plain. `check`: dropped scalars are validated.
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

/// Needs a few loads per member and no branch on the kind of an unwanted key.
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
            // White space before the comma must not reach the taker.
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

/// Checks members whose values are dropped or copied as a whole, up to the first one that is not plain. Keys may have
/// escapes.
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

/// Passes kept members up to the first one that is excluded or not plain. Returns that member's token, and whether the
/// member can be dropped here: it is excluded, well-formed, and a scalar.
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
            // A name with a digit first may also be an index, which the handler decides.
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

/// Passes elements of an array that are strings or valid scalars, each with the comma after it.
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

/// Whether a value is a string or a valid scalar.
#[inline(always)]
fn is_good(text: &[u8], MemberTokens { value, end, .. }: MemberTokens, first: u8) -> bool {
    first == b'"' || is_good_scalar(text, value, end, first)
}

/// Whether a value other than a string is a valid scalar.
#[inline(always)]
pub(super) fn is_good_scalar(text: &[u8], at: usize, end: usize, first: u8) -> bool {
    #[inline(never)]
    fn is_long(text: &[u8], at: usize, end: usize, first: u8) -> bool {
        scalar::is_decimal(text, at, end)
            || matches!(scalar::scan(text, at, first), ScalarStep::Ended(_))
    }
    scalar::is_short(text, at, end) || is_long(text, at, end, first)
}

/// Returns the first eight bytes of a plain member from its key on, and the first byte of its value. `None` unless the
/// colon directly follows the key, a comma ends the member, and the value is not a container. The bytes of the scalar after
/// the first one are not checked.
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
