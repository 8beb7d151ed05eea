//! The loops over plain members and elements: the second and last place where their grammar is written.
//!
//! A loop knows the tokens of a window, what a scalar is, and a [`Policy`]. It handles members as the policy says and
//! stops before the first one that needs anything else, without having consumed any of it. `policed.rs` decides what
//! to do with that one. A loop never reports an error: what is not plain is left to the walk.
//!
//! A member is plain if
//! - its colon directly follows its key, and a comma or `}` its value (there may be white space between the others),
//! - its key is within the limit and, if names matter, has no escape: a key between two quotes is then its name,
//! - its value is a string or another valid scalar; if the value is dropped under `structure`, only its first byte
//!   matters.
//!
//! The loops are not inlined, to reduce register pressure. Constants select the variants that are worth it:
//!
//! | `CHECK` | `KEEP` | used for |
//! |---|---|---|
//! | yes | no | dropped and copied containers; `select`, `retain` and tests under `full` |
//! | no | no | `select`, `retain` and tests under `structure` |
//! | yes | yes | `exclude`, drops, patches |

use crate::fast_paths::{FastPath, is_off};
use crate::json::policy::{Action, KindSet, Output, Policy, ScalarMember, Take};
use crate::json::scalar::{self, ScalarStep};
use crate::path::names::{KeySet, NameTable, NodeId};
use crate::scan::{WINDOW, Window};

/// A window with what its members have in common.
pub(super) struct WindowText<'a> {
    /// The window up to its first invalid byte.
    pub(super) text: &'a [u8],
    pub(super) window: &'a Window,
    /// The length of the longest key that may be held, with its quotes.
    pub(super) longest: usize,
}

impl WindowText<'_> {
    /// Whether a key may have an escape or be too long.
    #[inline(always)]
    fn has_special_keys(&self) -> bool {
        self.window.any_backslash() || self.longest < WINDOW
    }

    /// Returns [`Leave::Ask`] if an element begins at `next`, or a member with a plain key whose value may be valid.
    #[inline(always)]
    pub(super) fn ask(&self, tokens: &[u16], next: usize, member: bool) -> Leave {
        let good = if member {
            Member::at(self.text, tokens, next).is_some_and(|member| {
                class_of(member.first) != OTHER
                    && (!self.has_special_keys() || member.is_spelled_plainly(self))
            })
        } else {
            tokens.get(next).is_some()
        };
        if good { Leave::Ask } else { Leave::Walk }
    }

    /// Returns what [`elements`] returns for a container at `next`, and `scalar` for anything else. Stands for that
    /// loop while it is off.
    #[inline(always)]
    pub(super) fn element(
        &self,
        tokens: &[u16],
        next: usize,
        others: Action,
        scalar: Leave,
    ) -> Leave {
        let first = tokens.get(next).and_then(|at| self.text.get(usize::from(*at)));
        match first {
            Some(first) if class_of(*first) == CONTAINER && others == Action::Skip => Leave::Skip,
            Some(first) if class_of(*first) == CONTAINER => Leave::Ask,
            Some(_) => scalar,
            None => Leave::Walk,
        }
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
pub(super) enum Leave {
    /// It is not plain.
    Walk,
    /// The handler must be asked about the value.
    Ask,
    /// The value is a container that is dropped.
    Skip,
    /// The token is the closing bracket of the container.
    End,
    /// No name is left that may come once.
    Done,
    /// This member and the rest of the object are dropped.
    Rest,
    /// The window has ended inside a string that is dropped, whose member was handled.
    Cut,
}

/// The tokens of one member, as positions in the window.
#[derive(Clone, Copy)]
struct Member {
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

/// The classes of the first byte of a value.
const SCALAR: u8 = 0;
const CONTAINER: u8 = 1;
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
    /// Returns the next member if its key and its colon are plain and its value may be one.
    #[inline(always)]
    fn at(text: &[u8], tokens: &[u16], next: usize) -> Option<Self> {
        let [key, colon, value, end] = *tokens.get(next..)?.first_chunk::<4>()?;
        let [key, colon, value, end] = [key, colon, value, end].map(usize::from);
        let head = u64::from_le_bytes(*text.get(key..)?.first_chunk()?);
        let ends = u16::from_le_bytes(*text.get(colon.wrapping_sub(1)..)?.first_chunk()?);
        let (first, after) = (*text.get(value)?, *text.get(end)?);
        let plain = (head as u8 == b'"') & (ends == u16::from_le_bytes(*b"\":"));
        plain.then_some(Self { key, colon, value, end, head, first, after })
    }

    /// Whether the value is a string or a valid scalar.
    #[inline(always)]
    fn is_good(&self, text: &[u8]) -> bool {
        self.first == b'"' || is_good_scalar(text, self.value, self.end, self.first)
    }

    /// Whether the value is a scalar and a comma follows it.
    #[inline(always)]
    fn is_usual(&self) -> bool {
        (self.after == b',') & (class_of(self.first) == SCALAR)
    }

    /// Returns the length of the key with its quotes.
    #[inline(always)]
    fn key_len(&self) -> usize {
        self.colon.wrapping_sub(self.key)
    }

    /// Whether the key has no escape and is not too long.
    #[inline(always)]
    fn is_spelled_plainly(&self, scan: &WindowText<'_>) -> bool {
        self.key_len() <= scan.longest && scan.window.is_plain(self.key + 1, self.colon)
    }

    /// Returns the entry of the name in a table.
    #[inline(always)]
    fn entry(&self, text: &[u8], table: &NameTable) -> Option<NodeId> {
        table.get_in(text, self.key + 1, self.key_len().wrapping_sub(2))
    }

    /// Returns the member without the white space after it.
    #[inline(always)]
    fn span(&self, text: &[u8]) -> ScalarMember {
        let Self { key, colon, value, mut end, .. } = *self;
        while text.get(end.wrapping_sub(1)).is_some_and(|last| is_white(*last)) {
            end -= 1;
        }
        ScalarMember { key, colon, value, end }
    }
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

/// Handles members from `next` on. Returns the token of the first one that it did not handle, and why.
#[inline(always)]
pub(super) fn members(
    check: bool,
    scan: &WindowText<'_>,
    tokens: &[u16],
    next: usize,
    policy: &mut Policy<'_>,
) -> (usize, Leave) {
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
) -> (usize, Leave) {
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
    drop: KindSet,
) -> usize {
    let text = scan.text;
    while let Some(member) = Member::at(text, tokens, next)
        && member.is_usual()
        && !named.is_some_and(|named| named.may_have(member.head, member.key_len() - 1))
        && !(STRICT && !member.is_spelled_plainly(scan))
        && (!CHECK || member.is_good(text))
        && !(KEEP && drop.contains(text, member.value, member.first))
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
    drop: KindSet,
) -> usize {
    usual_members::<CHECK, KEEP, true>(scan, tokens, next, named, drop)
}

#[inline(never)]
fn each_member<const CHECK: bool, const KEEP: bool, const NAMED: bool>(
    scan: &WindowText<'_>,
    tokens: &[u16],
    mut next: usize,
    policy: &mut Policy<'_>,
) -> (usize, Leave) {
    let text = scan.text;
    let names = if NAMED { policy.names } else { None };
    let strict = NAMED && scan.has_special_keys();
    let drop = if KEEP { policy.drop } else { KindSet::EMPTY };
    // The first token of the kept members that are not written yet.
    let mut kept = next;
    let named = names.and_then(|(table, _)| table.key_set());
    // Without a set of the names, each member is looked up.
    let fast = named.is_some() || names.is_none();
    let leave = loop {
        if strict && fast {
            next = strict_members::<CHECK, KEEP>(scan, tokens, next, named, drop);
        } else if fast {
            next = usual_members::<CHECK, KEEP, false>(scan, tokens, next, named, drop);
        }
        let Some(member) = Member::at(text, tokens, next) else {
            let cut = !KEEP && !is_off(FastPath::CutStrings);
            if cut && is_cut_string(scan, tokens, next, strict, names) {
                next += 3;
                break Leave::Cut;
            }
            break Leave::Walk;
        };

        let container = class_of(member.first) == CONTAINER;
        let last = member.after == b'}';
        if !container && !(member.is_usual() || last && class_of(member.first) == SCALAR) {
            break Leave::Walk;
        }
        if strict && !member.is_spelled_plainly(scan) {
            break Leave::Walk;
        }
        let entry = names.and_then(|(table, _)| member.entry(text, table));
        if container {
            break match entry {
                Some(entry) if policy.action(entry) == Action::Skip => Leave::Skip,
                None if !KEEP => Leave::Skip,
                _ => Leave::Ask,
            };
        }
        if (CHECK || entry.is_some()) && !member.is_good(text) {
            break Leave::Walk;
        }
        let take = match entry {
            Some(entry) => policy.take(text, member.span(text), entry, KEEP),
            None if KEEP && !drop.contains(text, member.value, member.first) => Take::Kept,
            None => Take::Gone,
        };
        if take == Take::Ask {
            break Leave::Ask;
        }
        let goes = take != Take::Kept;
        if KEEP && goes {
            write_run(scan, tokens, kept, next, policy.output.as_mut());
            kept = next + 4;
        }
        if last {
            next += 3;
            break Leave::End;
        }
        next += 4;
        if take == Take::Last {
            break Leave::Done;
        }
    };
    if KEEP {
        write_run(scan, tokens, kept, next, policy.output.as_mut());
    }
    (next, leave)
}

/// Whether the window ends inside a string that is the value of a plain member without a name that matters.
#[cold]
#[inline(never)]
fn is_cut_string(
    scan: &WindowText<'_>,
    tokens: &[u16],
    next: usize,
    strict: bool,
    names: Option<(&NameTable, &[Action])>,
) -> bool {
    let text = scan.text;
    let Some([key, colon, value]) = tokens.get(next..).and_then(|rest| rest.first_chunk()) else {
        return false;
    };
    let [key, colon, value] = [*key, *colon, *value].map(usize::from);
    let last = tokens.len() == next + 3 && text.get(value) == Some(&b'"');
    let plain = text.get(key) == Some(&b'"')
        && text.get(colon.wrapping_sub(1)..=colon) == Some(b"\":")
        && !(strict && (colon - key > scan.longest || !scan.window.is_plain(key, colon)));
    let named =
        || names.is_some_and(|(names, _)| names.get_in(text, key + 1, colon - key - 2).is_some());
    last && plain && !named()
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
    let comma = scan.text.get(usize::from(*last)) == Some(&b',');
    let Some(end) = (if comma { Some(last) } else { tokens.get(to) }) else { return };
    output.run(scan.text, scan.window, usize::from(*first), usize::from(*end));
}

/// Handles elements from `next` on that are strings or valid scalars: drops them, or writes them if the policy keeps
/// them. Returns the token of the first one that it did not handle, and why. A container is left with
/// [`Leave::Ask`] or [`Leave::Skip`].
#[inline(never)]
pub(super) fn elements(
    scan: &WindowText<'_>,
    tokens: &[u16],
    mut next: usize,
    policy: &mut Policy<'_>,
) -> (usize, Leave) {
    let (text, begin) = (scan.text, next);
    let leave = loop {
        let Some([value, end]) = tokens.get(next..).and_then(<[u16]>::first_chunk) else {
            break Leave::Walk;
        };
        let (value, end) = (usize::from(*value), usize::from(*end));
        let (Some(first), Some(after)) = (text.get(value), text.get(end)) else {
            break Leave::Walk;
        };
        let good = *first == b'"'
            || scalar::is_decimal(text, value, end)
            || is_good_scalar(text, value, end, *first);
        if good & (*after == b',') {
            next += 2;
            continue;
        }
        if good && *after == b']' {
            next += 1;
            break Leave::End;
        }
        break match (class_of(*first), policy.others) {
            (CONTAINER, Action::Skip) => Leave::Skip,
            (CONTAINER, _) => Leave::Ask,
            _ => Leave::Walk,
        };
    };
    if policy.others == Action::Keep {
        write_run(scan, tokens, begin, next, policy.output.as_mut());
    }
    (next, leave)
}
