//! The loops over plain members and elements: besides the walk, the only place with their grammar.
//!
//! A loop knows the tokens of a window, the syntax of scalars, and a [`Policy`]. It handles members as the policy says
//! and stops before the first one that needs anything else, without having consumed any of it. `fast_path.rs` decides
//! what to do with that one. A loop never reports an error: a member that is not plain is left to the walk.
//!
//! A member has four tokens: its key, its colon, the beginning of its value, and the comma or bracket after it. A
//! string has only its opening quote as a token, and the scanner has checked its bytes. So the token after a string
//! value is the one after its closing quote. A scalar is checked from its first byte to its end.
//!
//! A member is plain if
//! - its colon directly follows its key, and a comma or `}` its value (there may be white space between the others),
//! - its key is within the limit and, if names matter, has no escape: the bytes between the quotes are then its name,
//! - its value is a string or another valid scalar; if the value is dropped under `structure`, only its first byte
//!   matters,
//! - eight bytes follow from the beginning of its key on, which a comparison of names reads at once. So the last member
//!   of a short text may be left to the walk.
//!
//! The loops are not inlined, to reduce register pressure. Constants select variants, each of which is a copy of the
//! code. `KEEP` includes `CHECK`, because a written value must be valid even under `structure`:
//!
//! | `CHECK` | `KEEP` | used for |
//! |---|---|---|
//! | yes | no | dropped and copied containers; `select`, `retain` and tests under `full` |
//! | no | no | `select`, `retain` and tests under `structure` |
//! | yes | yes | `exclude`, drops, patches |

use crate::fast_paths::{FastPath, is_off};
use crate::path::names::{KeySet, NameTable, NodeId};
use crate::policy::{Action, KindSet, MemberResult, Output, Policy, ScalarMember};
use crate::scalar::{self, ScalarStep};
use crate::scan::{WINDOW, Window};

/// A window with what its members have in common. Positions are relative to the window.
pub(super) struct WindowText<'a> {
    /// The window up to its first invalid byte.
    pub(super) text: &'a [u8],
    pub(super) window: &'a Window,
    /// The length of the longest key that may be held, with its quotes.
    pub(super) longest: usize,
}

impl WindowText<'_> {
    /// Whether a key may have an escape or be too long. A key cannot be longer than the window that it is in, so the
    /// usual limit need not be checked.
    #[inline(always)]
    fn has_special_keys(&self) -> bool {
        self.window.any_backslash() || self.longest < WINDOW
    }

    /// For policies that no loop carries out: returns [`LoopEnd::Ask`] if an element begins at `next`, or a member with a
    /// plain key whose value may be valid.
    #[inline(always)]
    pub(super) fn ask(&self, tokens: &[u16], next: usize, member: bool) -> LoopEnd {
        // The value itself is checked after the handler was asked.
        let good = if member {
            Member::at(self.text, tokens, next).is_some_and(|member| {
                class_of(member.first) != OTHER
                    && (!self.has_special_keys() || member.is_spelled_plainly(self))
            })
        } else {
            tokens.get(next).is_some()
        };
        if good { LoopEnd::Ask } else { LoopEnd::NotPlain }
    }

    /// Returns what to do with the element at `next` if it is a container. Most arrays have only scalars or only
    /// containers, and for the latter a call of [`elements`] is wasted.
    #[inline(always)]
    pub(super) fn container(&self, tokens: &[u16], next: usize, others: Action) -> Option<LoopEnd> {
        let first = self.text.get(usize::from(*tokens.get(next)?))?;
        let end = if others == Action::Skip { LoopEnd::Skip } else { LoopEnd::Ask };
        (class_of(*first) == CONTAINER).then_some(end)
    }

    /// Returns the entry of the name of the plain member at `next` in the policy's table.
    #[inline(always)]
    pub(super) fn entry(
        &self,
        tokens: &[u16],
        next: usize,
        names: Option<(&NameTable, &[Action])>,
    ) -> Option<NodeId> {
        let member = Member::at(self.text, tokens, next)?;
        member.entry(self.text, names?.0)
    }
}

/// The reason why a loop stopped before a member or element, or at a closing bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopEnd {
    /// It is not plain.
    NotPlain,
    /// The handler must be asked about the value.
    Ask,
    /// The value is a container that is dropped.
    Skip,
    /// The token is the closing bracket of the container.
    Close,
    /// No name is left that may come once.
    NamesDone,
    /// This member and the rest of the object are dropped.
    SkipRest,
    /// This member fails its test, so that the object is dropped.
    Failed,
    /// The window has ended inside a string that is dropped, whose member was handled.
    CutString,
}

/// The tokens of one member, as positions in the window.
#[derive(Clone, Copy)]
pub(super) struct Member {
    key: usize,
    colon: usize,
    value: usize,
    /// The token after the first one of the value.
    end: usize,
    /// The first eight bytes from the key on.
    head: u64,
    /// The first byte of the value.
    first: u8,
    /// The byte at `end`.
    after: u8,
}

/// The classes of the first byte of a value. A table instead of six comparisons.
/// Also letters and other bytes that begin no scalar: whether it is valid is checked later.
const SCALAR: u8 = 0;
const CONTAINER: u8 = 1;
/// Brackets that close, commas and colons: never the beginning of a value, not even under `structure`.
const OTHER: u8 = 2;
#[allow(
    clippy::indexing_slicing,
    reason = "a table made at compile time, where a panic is an error of the compiler"
)]
static CLASS: [u8; 256] = {
    let mut class = [SCALAR; 256];
    class[b'{' as usize] = CONTAINER;
    class[b'[' as usize] = CONTAINER;
    class[b'}' as usize] = OTHER;
    class[b']' as usize] = OTHER;
    class[b',' as usize] = OTHER;
    class[b':' as usize] = OTHER;
    class
};

fn class_of(first: u8) -> u8 {
    CLASS.get(usize::from(first)).copied().unwrap_or(OTHER)
}

#[inline]
pub(super) fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

impl Member {
    /// Returns the next member if its key and its colon are plain and its value may be one. `None` also if fewer than
    /// four tokens are left in the window.
    #[inline(always)]
    pub(super) fn at(text: &[u8], tokens: &[u16], next: usize) -> Option<Self> {
        let [key, colon, value, end] = *tokens.get(next..)?.first_chunk::<4>()?;
        // Not `map`: it is a call for each member if the crate is compiled in several units.
        let (key, colon) = (usize::from(key), usize::from(colon));
        let (value, end) = (usize::from(value), usize::from(end));
        let head = u64::from_le_bytes(*text.get(key..)?.first_chunk()?);
        let ends = u16::from_le_bytes(*text.get(colon.wrapping_sub(1)..)?.first_chunk()?);
        let (first, after) = (*text.get(value)?, *text.get(end)?);
        // Compared without a branch. The colon is outside strings, so a quote directly before it ends the key.
        let plain = (head as u8 == b'"') & (ends == u16::from_le_bytes(*b"\":"));
        plain.then_some(Self { key, colon, value, end, head, first, after })
    }

    /// Whether the value is a string or a valid scalar. The value must not be a container.
    #[inline(always)]
    fn is_good(&self, text: &[u8]) -> bool {
        self.first == b'"' || is_good_scalar(text, self.value, self.end, self.first)
    }

    /// Returns the length of the value with the white space after it, in bytes.
    #[inline(always)]
    fn value_len(&self) -> usize {
        self.end.wrapping_sub(self.value)
    }

    /// Whether the value is a scalar, valid or not, and a comma follows it.
    #[inline(always)]
    fn is_usual(&self) -> bool {
        (self.after == b',') & (class_of(self.first) == SCALAR)
    }

    /// Returns the length of the key with its quotes, in bytes.
    #[inline(always)]
    fn key_len(&self) -> usize {
        self.colon.wrapping_sub(self.key)
    }

    /// Whether the key has no escape and is not too long.
    #[inline(always)]
    fn is_spelled_plainly(&self, scan: &WindowText<'_>) -> bool {
        self.key_len() <= scan.longest && scan.window.is_plain(self.key + 1, self.colon)
    }

    /// Returns the entry of the name in a table. The key must be spelled plainly.
    #[inline(always)]
    pub(super) fn entry(&self, text: &[u8], table: &NameTable) -> Option<NodeId> {
        table.get_in(text, self.key + 1, self.key_len().wrapping_sub(2))
    }

    /// Returns the member without the white space after it.
    #[inline(always)]
    pub(super) fn span(&self, text: &[u8]) -> ScalarMember {
        let Self { key, colon, value, mut end, .. } = *self;
        while text.get(end.wrapping_sub(1)).is_some_and(|last| is_white(*last)) {
            end -= 1;
        }
        ScalarMember { key, colon, value, end }
    }
}

/// Whether a value other than a string is a valid scalar that ends before the token at `end`, up to white space. Literals
/// and short integers are recognised inline, longer numbers in a call.
#[inline(always)]
pub(super) fn is_good_scalar(text: &[u8], at: usize, end: usize, first: u8) -> bool {
    #[inline(never)]
    fn is_long(text: &[u8], at: usize, end: usize, first: u8) -> bool {
        scalar::is_decimal(text, at, end)
            || matches!(scalar::scan(text, at, first), ScalarStep::Ended(_))
    }
    scalar::is_short(text, at, end) || is_long(text, at, end, first)
}

/// Handles members from `next` on. Returns the token of the first one that it did not handle, and why. `check`: values
/// that are dropped must be valid, too. The policy must say `Keep` only with an output.
#[inline(always)]
pub(super) fn members(
    check: bool,
    scan: &WindowText<'_>,
    tokens: &[u16],
    next: usize,
    policy: &mut Policy<'_>,
) -> (usize, LoopEnd) {
    match (policy.others == Action::Keep, check) {
        (true, _) => each_member::<true, true, true>(scan, tokens, next, policy),
        (false, true) => each_member::<true, false, true>(scan, tokens, next, policy),
        (false, false) => each_member::<false, false, true>(scan, tokens, next, policy),
    }
}

/// Handles members that are dropped or copied with their container: checks all of them.
#[inline(always)]
pub(super) fn dropped_members(
    scan: &WindowText<'_>,
    tokens: &[u16],
    next: usize,
    policy: &mut Policy<'_>,
) -> (usize, LoopEnd) {
    each_member::<true, false, false>(scan, tokens, next, policy)
}

/// Passes members that only move the position on: dropped or kept scalars without a name that matters, each with the
/// comma after it. That is most of them, so this is a loop of its own, with few variables. `STRICT`: a key may have an
/// escape or be too long.
#[inline(always)]
fn usual_members<const CHECK: bool, const KEEP: bool, const STRICT: bool>(
    scan: &WindowText<'_>,
    tokens: &[u16],
    mut next: usize,
    named: Option<&KeySet>,
    (drop, longest): (KindSet, usize),
) -> usize {
    let text = scan.text;
    while let Some(member) = Member::at(text, tokens, next)
        && member.is_usual()
        && !named.is_some_and(|named| named.may_have(member.head, member.key_len() - 1))
        && (!STRICT || member.is_spelled_plainly(scan))
        && (!CHECK || member.is_good(text))
        && !(KEEP && drop.contains(text, member.value, member.first))
        && !(KEEP && member.value_len() > longest)
    {
        next += 4;
    }
    next
}

/// [`usual_members`] in a window in which a key may have an escape or be too long.
#[inline(never)]
fn strict_members<const CHECK: bool, const KEEP: bool>(
    scan: &WindowText<'_>,
    tokens: &[u16],
    next: usize,
    named: Option<&KeySet>,
    limits: (KindSet, usize),
) -> usize {
    usual_members::<CHECK, KEEP, true>(scan, tokens, next, named, limits)
}

#[inline(never)]
fn each_member<const CHECK: bool, const KEEP: bool, const NAMED: bool>(
    scan: &WindowText<'_>,
    tokens: &[u16],
    mut next: usize,
    policy: &mut Policy<'_>,
) -> (usize, LoopEnd) {
    let text = scan.text;
    let names = if NAMED { policy.names } else { None };
    // Keys of dropped containers are neither compared nor held, so they have no limit.
    let strict = NAMED && scan.has_special_keys();
    let drop = if KEEP { policy.drop } else { KindSet::EMPTY };
    let longest = policy.longest as usize;
    // The first token of the kept members that are not written yet.
    let mut kept = next;
    let named = names.and_then(|(table, _)| table.key_set());
    // Without a set of the names, each member is looked up.
    let fast = named.is_some() || names.is_none();
    let end = loop {
        if strict && fast {
            next = strict_members::<CHECK, KEEP>(scan, tokens, next, named, (drop, longest));
        } else if fast {
            next = usual_members::<CHECK, KEEP, false>(scan, tokens, next, named, (drop, longest));
        }
        // The member at which the loop above stopped.
        let Some(member) = Member::at(text, tokens, next) else {
            // A kept string would have to be written in two parts, so the walk handles it.
            let cut = !KEEP && !is_off(FastPath::CutStrings);
            if cut && is_cut_string(scan, tokens, next, strict, names) {
                next += 3;
                break LoopEnd::CutString;
            }
            break LoopEnd::NotPlain;
        };

        // From here on the member is either left as it is or handled completely.
        let container = class_of(member.first) == CONTAINER;
        let last = member.after == b'}';
        let scalar = member.is_usual() || (last && class_of(member.first) == SCALAR);
        if !(container || scalar) {
            break LoopEnd::NotPlain;
        }
        if strict && !member.is_spelled_plainly(scan) {
            break LoopEnd::NotPlain;
        }
        let entry = names.and_then(|(table, _)| member.entry(text, table));
        if container {
            break match entry {
                // The handler need not be asked about a container that is dropped.
                Some(entry) if policy.once.is_none() && policy.action(entry) == Action::Skip => {
                    LoopEnd::Skip
                }
                None if !(KEEP || NAMED && policy.asks_containers) => LoopEnd::Skip,
                _ => LoopEnd::Ask,
            };
        }
        if KEEP && member.value_len() > longest {
            break LoopEnd::Ask;
        }
        // A named member may be written, so its value must be valid even if others are not checked.
        if (CHECK || entry.is_some()) && !member.is_good(text) {
            break LoopEnd::NotPlain;
        }
        let result = match entry {
            Some(entry) => policy.apply(text, member.span(text), entry),
            None if KEEP && !drop.contains(text, member.value, member.first) => MemberResult::Kept,
            None => MemberResult::Finished,
        };
        match result {
            MemberResult::Ask => break LoopEnd::Ask,
            MemberResult::Failed => break LoopEnd::Failed,
            _ => {}
        }
        // A member that is not written ends the run of kept ones before it.
        if KEEP && result != MemberResult::Kept {
            write_run(scan, tokens, kept, next, policy.output.as_mut());
            kept = next + 4;
        }
        // `next` is the closing bracket, which has no comma before it.
        if last {
            next += 3;
            break LoopEnd::Close;
        }
        next += 4;
        if result == MemberResult::FinishedLast {
            break LoopEnd::NamesDone;
        }
    };
    if KEEP {
        write_run(scan, tokens, kept, next, policy.output.as_mut());
    }
    (next, end)
}

/// Whether the window ends inside a string that is the value of a plain member without a name that matters.
///
/// Long strings are cut by most windows. Without this case the walk would handle one member of each window.
#[cold]
#[inline(never)]
fn is_cut_string(
    scan: &WindowText<'_>,
    tokens: &[u16],
    next: usize,
    strict: bool,
    names: Option<(&NameTable, &[Action])>,
) -> bool {
    let Some(&[key, colon, value]) = tokens.get(next..) else { return false };
    // No token follows the value: the string has no end in this window, or the window ends with it.
    let Some(member) = Member::at(scan.text, &[key, colon, value, value], 0) else { return false };
    member.first == b'"'
        && (!strict || member.is_spelled_plainly(scan))
        && names.is_none_or(|(table, _)| member.entry(scan.text, table).is_none())
}

/// Writes the members or elements whose tokens are in `from..to`. The token before `to` is the comma after the last
/// one, unless that is the last of its container.
#[inline]
fn write_run(
    scan: &WindowText<'_>,
    tokens: &[u16],
    from: usize,
    to: usize,
    output: Option<&mut Output<'_>>,
) {
    let (true, Some(output)) = (from < to, output) else { return };
    let run = tokens.get(from..to).unwrap_or_default();
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
    // The run ends before its last comma. The writer inserts the commas between runs.
    let comma = scan.text.get(usize::from(*last)) == Some(&b',');
    let Some(end) = (if comma { Some(last) } else { tokens.get(to) }) else { return };
    output.run(scan.text, scan.window, usize::from(*first), usize::from(*end));
}

/// Handles elements from `next` on that are strings or valid scalars: drops them, or writes them if the policy keeps
/// them. Returns the token of the first one that it did not handle, and why. A container is left with
/// [`LoopEnd::Ask`] or [`LoopEnd::Skip`].
#[inline(never)]
pub(super) fn elements(
    scan: &WindowText<'_>,
    tokens: &[u16],
    mut next: usize,
    policy: &mut Policy<'_>,
) -> (usize, LoopEnd) {
    let (text, begin) = (scan.text, next);
    let longest = if policy.others == Action::Keep { policy.longest as usize } else { usize::MAX };
    let end = loop {
        let Some([value, end]) = tokens.get(next..).and_then(<[u16]>::first_chunk) else {
            break LoopEnd::NotPlain;
        };
        let (value, end) = (usize::from(*value), usize::from(*end));
        let (Some(first), Some(after)) = (text.get(value), text.get(end)) else {
            break LoopEnd::NotPlain;
        };
        if end.wrapping_sub(value) > longest && class_of(*first) == SCALAR {
            break LoopEnd::Ask;
        }
        // Elements are often decimals, such as coordinates, so these are tried first.
        let good = *first == b'"'
            || scalar::is_decimal(text, value, end)
            || is_good_scalar(text, value, end, *first);
        if good & (*after == b',') {
            next += 2;
            continue;
        }
        if good && *after == b']' {
            next += 1;
            break LoopEnd::Close;
        }
        break match (class_of(*first), policy.others) {
            (CONTAINER, Action::Skip) => LoopEnd::Skip,
            (CONTAINER, _) => LoopEnd::Ask,
            _ => LoopEnd::NotPlain,
        };
    };
    if policy.others == Action::Keep {
        write_run(scan, tokens, begin, next, policy.output.as_mut());
    }
    (next, end)
}
