//! Members of objects, four tokens at once (key, colon, value, comma), and kept elements of arrays, two at once.
//!
//! A shortcut for `walk.rs`: it does exactly what the walk would do token by token. Unwanted members are skipped, and
//! the handler is asked about wanted ones. A member that is not plain (an error, a key with an escape, a key over the
//! limit, the end of the window) is left to the walk before any of it is consumed.

use memchr::memchr;

use super::member_loops::{
    MemberTokens, is_good_scalar, is_white, keep_usual, pass_elements, take_usual,
};
use super::{Expect, Machine, SkipMode, WalkEnd, WalkError, WindowContext};
use crate::json::key::RawKey;
use crate::json::{
    Handler, Interest, MemberSpan, MemberTaker, NoTaker, TakeResult, ValueKind, ValueSlot,
};
use crate::path::trie::{NameTable, NodeId};
use crate::scan::WINDOW;

/// How far the members were handled. `expect` is set for the next token.
pub(super) enum MembersResult {
    /// No token was consumed.
    None,
    /// The walk continues with this token.
    Until(usize),
    /// The walk ends here.
    End(WalkEnd),
}

/// The kind of the member at which skipping stopped.
enum MemberKind {
    Wanted(NodeId),
    /// Unwanted; the value is a container.
    Container,
    /// Unwanted; the value is a scalar, and it is the last member of the object, or the window ends inside the value.
    Last,
    Other,
}

/// Properties of the current window that hold for all members in it.
struct MemberScan<'a> {
    /// The window up to its first invalid byte.
    text: &'a [u8],
    /// No key has an escape or can exceed the limit.
    plain: bool,
    /// The length of the longest key that may be held.
    longest: usize,
}

/// Passes the kept bytes in `from..to` of the window to the handler, without white space.
#[inline(always)]
fn keep<H: Handler>(cx: &WindowContext<'_>, from: usize, to: usize, h: &mut H) {
    let mut begun = false;
    cx.window.solid_runs(from, to, |from, to| {
        let bytes = cx.slice(cx.base + from, cx.base + to);
        if begun {
            h.raw(bytes);
        } else {
            h.keep(bytes);
            begun = true;
        }
    });
}

impl MemberScan<'_> {
    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// Whether a key has an escape or exceeds the limit.
    #[cold]
    fn is_special(&self, from: usize, to: usize) -> bool {
        let key = self.text.get(from..to).unwrap_or_default();
        key.len() > self.longest || memchr(b'\\', key).is_some()
    }

    /// Skips members up to one that is wanted or not plain. `CHECK`: skipped scalars are validated. Not inlined, to
    /// reduce register pressure.
    #[inline(never)]
    fn pass<const CHECK: bool>(
        &self,
        tokens: &[u16],
        mut next: usize,
        wanted: &NameTable,
    ) -> (usize, MemberKind) {
        let end = self.text.len();
        while let Some(quad) =
            MemberTokens::at(tokens, next).or_else(|| MemberTokens::cut(tokens, next, end))
        {
            if self.byte(quad.key) != b'"' || self.byte(quad.colon) != b':' {
                break;
            }
            let (from, quote) = (quad.key + 1, quad.colon - 1);
            if self.byte(quote) != b'"' || quote < from {
                break;
            }
            if !self.plain && self.is_special(from, quote) {
                break;
            }
            if let Some(child) = wanted.get_in(self.text, from, quote - from) {
                return (next, MemberKind::Wanted(child));
            }
            match self.byte(quad.value) {
                b'"' => {}
                b'{' | b'[' => return (next, MemberKind::Container),
                first => {
                    if !self.is_scalar::<CHECK>(quad, first) {
                        break;
                    }
                }
            }
            match self.byte(quad.end) {
                b',' => next += 4,
                b'}' => return (next, MemberKind::Last),
                _ if quad.end == end && self.byte(quad.value) == b'"' => {
                    return (next, MemberKind::Last);
                }
                _ => break,
            }
        }
        (next, MemberKind::Other)
    }

    /// Whether key and colon are there, the key is within the limit, and the first byte can begin a value.
    fn begins_well(&self, quad: MemberTokens) -> bool {
        let first = self.byte(quad.value);
        self.byte(quad.key) == b'"'
            && self.byte(quad.colon) == b':'
            && quad.colon - quad.key <= self.longest
            && (matches!(first, b'"' | b'{' | b'[') || self.is_scalar::<false>(quad, first))
    }

    /// Returns the member if its value is a valid scalar with no white space after it.
    #[inline(always)]
    fn whole(&self, quad: MemberTokens) -> Option<MemberSpan<'_>> {
        let first = self.byte(quad.value);
        let good = match first {
            b'"' => true,
            b'{' | b'[' => false,
            _ => self.is_scalar::<true>(quad, first),
        };
        let ends = matches!(self.byte(quad.end), b',' | b'}') && !is_white(self.byte(quad.end - 1));
        (good && ends).then_some(MemberSpan {
            text: self.text,
            key: quad.key,
            key_end: quad.colon,
            value: quad.value,
            end: quad.end,
        })
    }

    /// Whether the member's value is a valid scalar. Without `CHECK` only its first byte is examined.
    #[inline(always)]
    fn is_scalar<const CHECK: bool>(&self, quad: MemberTokens, first: u8) -> bool {
        if !CHECK {
            return !matches!(first, b'}' | b']' | b',' | b':');
        }
        is_good_scalar(self.text, quad.value, quad.end, first)
    }
}

impl Machine {
    /// Copies kept elements of an array. Returns the token where the walk continues.
    #[inline(always)]
    pub(super) fn kept_elements<H: Handler>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        next: usize,
        h: &mut H,
    ) -> usize {
        if self.config.keep_white || h.excluded().is_none() {
            return next;
        }
        let token = pass_elements(cx.slice(cx.base, cx.limit), tokens, next);
        // The bytes from the first element to the last comma.
        if let (Some(first), Some(comma)) = (tokens.get(next), tokens.get(token.wrapping_sub(1)))
            && token > next
        {
            keep(cx, usize::from(*first), usize::from(*comma), h);
            self.tracker.skip_elements((token - next) / 2);
            self.expect = Expect::Value;
        }
        token
    }

    /// Validates a dropped container from the token after its opening bracket. The caller has checked the depth.
    /// Returns the token after the container, or an end of the walk if the container goes on in the next window.
    #[inline(always)]
    fn pass_container(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        next: usize,
        quad: MemberTokens,
    ) -> Result<usize, WalkEnd> {
        let object = cx.byte(cx.base + quad.value) == b'{';
        self.tracker.key(cx.base + quad.key);
        self.levels.push(object);
        self.tracker.push();
        self.expect = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
        let floor = self.levels.depth();
        let end = self.quiet_run(cx, tokens, next, floor);
        let closes = if object { b'}' } else { b']' };
        let last = tokens.get(end).map(|at| cx.byte(cx.base + usize::from(*at)));
        if self.expect != Expect::After || self.levels.depth() != floor || last != Some(closes) {
            self.mode = SkipMode::Validate { floor, through: true };
            return Err(WalkEnd::Next(end));
        }
        self.levels.pop();
        self.tracker.pop();
        Ok(end + 1)
    }

    /// Handles the members of an object whose handler names the members it wants: skips unwanted members, and asks
    /// about wanted ones.
    #[inline(always)]
    pub(super) fn members<H: Handler>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        begin: usize,
        to: usize,
        h: &mut H,
    ) -> Result<MembersResult, WalkError> {
        if self.config.keep_white {
            return Ok(MembersResult::None);
        }
        let passing = MemberScan {
            text: cx.slice(cx.base, cx.limit),
            plain: !cx.window.any_backslash() && self.config.key >= WINDOW,
            longest: self.config.key,
        };
        let mut next = begin;
        loop {
            let (text, check) = (passing.text, !self.config.structure);
            let usual = if !passing.plain {
                next
            } else if let Some((wanted, taker)) = h.taking() {
                take_usual(check, text, tokens, next, wanted, taker)
            } else if let Some(wanted) = h.wanted() {
                take_usual(check, text, tokens, next, wanted, NoTaker)
            } else {
                next
            };
            if usual > next {
                self.expect = Expect::Key;
                next = usual;
            }
            while passing.plain
                && let Some(excluded) = h.excluded()
            {
                let (kept, goes) = keep_usual(passing.text, tokens, next, excluded);
                // The bytes from the first key to the last comma.
                if let (Some(first), Some(comma)) =
                    (tokens.get(next), tokens.get(kept.wrapping_sub(1)))
                    && kept > next
                {
                    keep(cx, usize::from(*first), usize::from(*comma), h);
                    self.expect = Expect::Key;
                    next = kept;
                }
                if !goes {
                    break;
                }
                self.expect = Expect::Key;
                next += 4;
            }
            let Some(wanted) = h.wanted() else {
                return Ok(match MemberTokens::at(tokens, next) {
                    Some(quad) if h.is_done() && passing.begins_well(quad) => {
                        self.tracker.key(cx.base + quad.key);
                        self.expect = Expect::Value;
                        self.skip_rest();
                        MembersResult::End(WalkEnd::Next(next + 2))
                    }
                    _ if next == begin => MembersResult::None,
                    _ => MembersResult::Until(next),
                });
            };
            let (token, met) = if self.config.structure {
                passing.pass::<false>(tokens, next, wanted)
            } else {
                passing.pass::<true>(tokens, next, wanted)
            };
            if token > next {
                self.expect = Expect::Key;
                next = token;
            }
            if matches!(met, MemberKind::Last)
                && let Some(key) = tokens.get(next)
            {
                self.tracker.key(cx.base + usize::from(*key));
                self.expect = Expect::After;
                self.lax_string = self.config.structure;
                return Ok(MembersResult::Until(next + 3));
            }
            let Some(quad) = MemberTokens::at(tokens, next) else { break };
            let after = match met {
                MemberKind::Wanted(child) => {
                    if let Some(member) = passing.whole(quad)
                        && let Some((_, mut taker)) = h.taking()
                        && taker.take(child, member) != TakeResult::No
                    {
                        next += 3;
                        if passing.byte(quad.end) != b',' {
                            self.expect = Expect::After;
                            return Ok(MembersResult::Until(next));
                        }
                        next += 1;
                        self.expect = Expect::Key;
                        continue;
                    }
                    match self.wanted_member(cx, &passing, next, quad, child, h)? {
                        MembersResult::Until(after) => after,
                        MembersResult::None => break,
                        end @ MembersResult::End(_) => return Ok(end),
                    }
                }
                MemberKind::Container if self.config.structure => {
                    self.tracker.key(cx.base + quad.key);
                    let at = cx.base + quad.value;
                    self.deeper(at, passing.byte(quad.value) == b'{')?;
                    let floor = self.levels.depth();
                    self.mode = SkipMode::Brackets { floor, through: true };
                    let Some(landed) = self.leap(cx, at + 1, to, floor, true)? else {
                        return Ok(MembersResult::End(WalkEnd::Next(tokens.len())));
                    };
                    cx.window.tokens_before(landed - cx.base)
                }
                MemberKind::Container if self.levels.depth() < self.config.depth => {
                    match self.pass_container(cx, tokens, next + 3, quad) {
                        Ok(after) => after,
                        Err(walk) => return Ok(MembersResult::End(walk)),
                    }
                }
                _ => break,
            };
            next = after;
            if self.expect != Expect::After {
                return Ok(MembersResult::Until(next));
            }
            // After a comma comes the next member; the walk handles everything else.
            match tokens.get(next) {
                Some(end) if passing.byte(usize::from(*end)) == b',' => {
                    next += 1;
                    self.expect = Expect::Key;
                }
                _ => return Ok(MembersResult::Until(next)),
            }
        }
        Ok(if next == begin { MembersResult::None } else { MembersResult::Until(next) })
    }

    /// Asks the handler about a wanted member and carries out its interest. `Until` has the token after the value, or
    /// after the value's opening bracket.
    #[inline(always)]
    fn wanted_member<H: Handler>(
        &mut self,
        cx: &WindowContext<'_>,
        passing: &MemberScan<'_>,
        next: usize,
        quad: MemberTokens,
        child: NodeId,
        h: &mut H,
    ) -> Result<MembersResult, WalkError> {
        let kind = match passing.byte(quad.value) {
            // A token follows in the window, so the second byte is in the window, too.
            b'"' if self.config.detect_empty_strings && passing.byte(quad.value + 1) == b'"' => {
                ValueKind::EmptyString
            }
            b'"' => ValueKind::String,
            b'{' => ValueKind::Object,
            b'[' => ValueKind::Array,
            first => {
                if !passing.is_scalar::<true>(quad, first) {
                    return Ok(MembersResult::None);
                }
                match first {
                    b't' | b'f' => ValueKind::Bool,
                    b'n' => ValueKind::Null,
                    _ => ValueKind::Number,
                }
            }
        };
        let at = cx.base + quad.value;
        let offset = self.kind_offset(at, kind);
        if kind.is_container() && self.levels.depth() >= self.config.depth {
            return Ok(MembersResult::None);
        }
        self.tracker.key(cx.base + quad.key);
        self.member.at = cx.base + quad.key;
        self.member.end = cx.base + quad.colon;
        self.member.split = false;
        self.member.long = false;
        self.expect = Expect::Value;
        let raw = passing.text.get(quad.key + 1..quad.colon - 1).unwrap_or_default();
        let slot = ValueSlot::Member(RawKey::new(raw, true));
        let found = h.found(child, slot, kind, offset);
        let interest = found.map_err(|raise| WalkError::new(at, raise, true))?;
        if interest == Interest::Stop {
            self.stop(cx, at, h)?;
            return Ok(MembersResult::End(WalkEnd::Stop));
        }
        let from = match interest {
            Interest::CopyMember => cx.base + quad.key,
            _ => at,
        };
        let copies = matches!(interest, Interest::Copy | Interest::CopyMember);
        let done = matches!(passing.byte(quad.end), b',' | b'}') && !kind.is_container();
        if done && (copies || interest == Interest::Skip) {
            self.expect = Expect::After;
            if copies {
                let end = cx.base + quad.end;
                self.hand_on(cx, from, end, h);
                let behind = self.offset + end as u64;
                h.copied(behind).map_err(|raise| WalkError::new(end, raise, true))?;
            }
            return Ok(MembersResult::Until(next + 3));
        }
        if copies {
            self.copying = Some(from);
        }
        if let Some(walk) = self.answered(cx, next + 2, at, kind, interest)? {
            return Ok(MembersResult::End(walk));
        }
        Ok(MembersResult::Until(next + 3))
    }
}
