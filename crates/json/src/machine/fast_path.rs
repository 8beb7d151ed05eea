//! Carries out policies: runs the loops over the members and elements of a container, enters the containers that are
//! dropped, closes containers and continues in their parents, all without the walk.
//!
//! ```text
//!            ┌──────── ',' ────────┐
//!            ▼                     │
//! Begin ─▶ Member ── loop ──▶ After ── '}' or ']' ──▶ After, in the parent
//!   │      Element     │
//!   └── closes ──▶ After   Skip     ──▶ Begin, in the container; with a handler: skip the container, then After
//!                          Ask      ──▶ the handler, then as it wants: After, Begin, or skip or copy the container
//!                          SkipRest ──▶ skip to the closing bracket, then After
//!                          Close    ──▶ After
//!                          NotPlain, CutString ──▶ the walk
//! ```
//!
//! An object that the handler enters with a policy is handled from its opening to its closing bracket where the element
//! begins, without a level of its own ([`Machine::enter_object`]).
//!
//! The words after `Member` and `Element` are variants of [`LoopEnd`]. The policy is that of the handler, or
//! [`Policy::SKIP`] inside a container that is copied or dropped.
//!
//! The code may return at any token, because `expect`, the levels and the path always fit the token that is returned. It
//! returns before anything that is not plain, such as an error or the end of the window. It reports no error of the
//! grammar itself, but passes on those of the handler and of [`Machine::value`].

use std::ops::ControlFlow;

use super::members::{LoopEnd, WindowText, dropped_members, elements, members};
use super::{Expect, Machine, SkipMode, WalkEnd, WalkError, WindowContext};
use crate::error::Raise;
use crate::fast_paths::{FastPath, is_off};
use crate::path::names::NodeId;
use crate::policy::{Action, Policy};
use crate::test_work::{MachineRoute, count_route};
use crate::{Handler, Interest, ValueKind, ValueSlot};

/// The position within a container. With the kind of the container it determines `expect`.
#[derive(Clone, Copy)]
enum LoopPlace {
    /// After the opening bracket.
    Begin,
    /// At a key.
    Member,
    /// At an element.
    Element,
    /// After a value.
    After,
}

/// Takes the place of the handler inside copied and dropped containers, where it is never called.
struct NoHandler;

impl Handler for NoHandler {
    fn value(&mut self, _: ValueSlot<'_>, _: ValueKind, _: u64) -> Result<Interest, Raise> {
        Ok(Interest::Skip)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}
}

/// The token at which a loop over members has stopped, why, and the entry of the name there, if the policy asks about it.
struct MembersEnd {
    token: usize,
    end: LoopEnd,
    entry: Option<NodeId>,
}

/// Returns the number of members that these tokens are. The last one may have no comma.
fn members_in(tokens: usize) -> usize {
    (tokens + 1) / 4
}

impl Machine {
    /// Checks tokens from `next` on that are inside the container at depth `floor`, which is dropped or copied. Returns
    /// the token where the walk continues, at the latest the closing bracket of that container.
    ///
    /// Writes nothing: if the container is copied, its bytes are written at the end of the window or of the container.
    /// Not generic over the handler, so that there is only one copy of the code.
    #[inline(never)]
    pub(super) fn validate_fast(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        next: usize,
        floor: usize,
    ) -> usize {
        if is_off(FastPath::DroppedContainers) {
            return next;
        }
        match self.fast_path::<true, NoHandler>(cx, tokens, next, floor, 0, &mut NoHandler) {
            Ok(ControlFlow::Continue(token)) => token,
            // Only with a handler.
            Ok(ControlFlow::Break(_)) | Err(_) => next,
        }
    }

    /// Returns the window for the loops.
    #[inline(always)]
    pub(super) fn window_text<'a>(&self, cx: &WindowContext<'a>) -> WindowText<'a> {
        let text = cx.chunk.get(cx.base..cx.limit).unwrap_or_default();
        // A key with its quotes.
        let longest = self.config.key.saturating_add(2);
        WindowText { text, window: cx.window, longest }
    }

    /// Handles tokens from `next` on as the policies of the open containers say. `to` is the position after the last
    /// byte that may be examined. Returns the token where the walk continues, or the end of the walk.
    ///
    /// White space must not be kept: the loops neither write it nor pass it to the handler.
    #[inline(always)]
    pub(super) fn inspect_fast<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        next: usize,
        to: usize,
        h: &mut H,
    ) -> Result<ControlFlow<WalkEnd, usize>, WalkError> {
        self.fast_path::<false, H>(cx, tokens, next, 0, to, h)
    }

    /// Handles tokens from `next` on until one is not plain. `QUIET`: everything is dropped or copied, down to depth
    /// `floor`, and the handler is not called. Otherwise `floor` is not used, and `to` ends the bytes that may be
    /// examined.
    ///
    /// Each iteration handles a bracket or a comma, or it runs a loop over members or elements and then handles the value
    /// at which that loop stopped.
    #[inline(always)]
    fn fast_path<const QUIET: bool, H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        mut next: usize,
        floor: usize,
        to: usize,
        h: &mut H,
    ) -> Result<ControlFlow<WalkEnd, usize>, WalkError> {
        // Positions of tokens are relative to the window. Those of the machine are relative to the chunk.
        let scan = self.window_text(cx);
        let text = scan.text;
        let position = |token: usize| tokens.get(token).map_or(usize::MAX, |at| usize::from(*at));
        let byte = |token: usize| text.get(position(token)).copied().unwrap_or(0);
        // After the last token the byte is 0, which is neither a bracket nor a comma.
        let mut skip = Policy::SKIP;
        let mut object = self.levels.in_object();
        let mut place = match self.expect {
            Expect::Key => LoopPlace::Member,
            Expect::KeyOrEnd | Expect::ValueOrEnd => LoopPlace::Begin,
            Expect::Value if !object && self.levels.depth() > 0 => LoopPlace::Element,
            Expect::After => LoopPlace::After,
            // Between a key and its value, before the document or after it.
            _ => return Ok(ControlFlow::Continue(next)),
        };
        loop {
            // Brackets and commas.
            let closes = if object { b'}' } else { b']' };
            match place {
                LoopPlace::Begin if byte(next) == closes => {
                    self.expect = Expect::After;
                    place = LoopPlace::After;
                    continue;
                }
                LoopPlace::After if byte(next) == b',' => {
                    // A copied scalar ends at the comma: only now is its end known.
                    if !QUIET {
                        self.finish_copy(cx, cx.base + position(next), h)?;
                    }
                    next += 1;
                    if object {
                        self.expect = Expect::Key;
                        place = LoopPlace::Member;
                    } else {
                        self.tracker.next_element();
                        self.expect = Expect::Value;
                        place = LoopPlace::Element;
                    }
                    continue;
                }
                LoopPlace::After => {
                    // The walk ends the outermost container, because the mode ends with it. It also reports the wrong
                    // bracket.
                    if byte(next) != closes || (QUIET && self.levels.depth() <= floor) {
                        return Ok(ControlFlow::Continue(next));
                    }
                    if !QUIET {
                        self.finish_copy(cx, cx.base + position(next), h)?;
                        self.ask_at_end(cx.base + position(next), h)?;
                    }
                    self.levels.pop();
                    self.tracker.pop();
                    self.expect = self.after();
                    next += 1;
                    if !QUIET && self.expect == Expect::End {
                        return Ok(ControlFlow::Continue(next));
                    }
                    object = self.levels.in_object();
                    continue;
                }
                LoopPlace::Begin | LoopPlace::Member | LoopPlace::Element => {}
            }

            // Members or elements, up to the first one that needs more than the policy.
            let mut begun = next;
            let end;
            let mut entry = None;
            (next, end) = if !QUIET
                && !object
                && byte(next) == b'{'
                && let Some(found) = self.enter_object(cx, &scan, tokens, next, h)
            {
                // The whole object was handled as one element.
                if found.end == LoopEnd::Close {
                    next = found.token + 1;
                    self.expect = Expect::After;
                    place = LoopPlace::After;
                    continue;
                }
                object = true;
                begun = next + 1;
                entry = found.entry;
                (found.token, found.end)
            } else if QUIET && object {
                dropped_members(&scan, tokens, next, &mut skip)
            } else if QUIET {
                match scan.container(tokens, next, Action::Skip) {
                    Some(end) => (next, end),
                    None if is_off(FastPath::Elements) => (next, LoopEnd::NotPlain),
                    None => elements(&scan, tokens, next, &mut skip),
                }
            } else {
                let mut policy = h.policy();
                match policy.others {
                    Action::SkipRest if object => self.rest(&scan, tokens, next),
                    Action::SkipRest => (next, scan.ask(tokens, next, false)),
                    Action::Ask => (next, scan.ask(tokens, next, object)),
                    Action::Keep if policy.output.is_none() => {
                        (next, scan.ask(tokens, next, object))
                    }
                    _ if object && is_off(FastPath::PolicyMembers) => {
                        entry = scan.entry(tokens, next, policy.names);
                        (next, scan.ask(tokens, next, object))
                    }
                    _ if object => {
                        let found = self.members(&scan, tokens, next, &mut policy);
                        entry = found.entry;
                        (found.token, found.end)
                    }
                    // Names have no meaning in an array.
                    _ if policy.names.is_some() => (next, scan.ask(tokens, next, object)),
                    others => match scan.container(tokens, next, others) {
                        Some(end) => (next, end),
                        None if is_off(FastPath::Elements) => {
                            (next, scan.ask(tokens, next, object))
                        }
                        None => elements(&scan, tokens, next, &mut policy),
                    },
                }
            };
            if next > begun {
                match object {
                    true => count_route(MachineRoute::LoopMember, members_in(next - begun)),
                    false => count_route(MachineRoute::LoopElement, (next - begun).div_ceil(2)),
                }
            }
            // The next window begins inside a string. Its escapes are checked there, unless it is dropped under
            // `structure`.
            if end == LoopEnd::CutString {
                self.tracker.key(cx.base + position(next - 3));
                self.expect = Expect::After;
                self.lax_string = !QUIET && self.config.structure;
                return Ok(ControlFlow::Continue(next));
            }
            // The loop stopped at a member or element after a comma, so the container may not end here.
            if next > begun {
                if object {
                    self.expect = Expect::Key;
                    place = LoopPlace::Member;
                } else {
                    self.tracker.skip_elements((next - begun) / 2);
                    self.expect = Expect::Value;
                    place = LoopPlace::Element;
                }
            }
            if end == LoopEnd::Close {
                self.expect = Expect::After;
                place = LoopPlace::After;
                continue;
            }
            if end != LoopEnd::Skip {
                // The handler may have another policy now, such as `SkipRest`.
                if !QUIET && end == LoopEnd::NamesDone {
                    continue;
                }
                if QUIET || end == LoopEnd::NotPlain {
                    return Ok(ControlFlow::Continue(next));
                }
            }
            // A container inside one that is dropped or copied: its members are handled by this same loop.
            if QUIET {
                let value = if object { next + 2 } else { next };
                // The walk reports that the container is too deep.
                if self.levels.depth() >= self.config.depth {
                    return Ok(ControlFlow::Continue(next));
                }
                if object {
                    self.tracker.key(cx.base + position(next));
                }
                object = byte(value) == b'{';
                self.levels.push(object);
                self.tracker.push();
                self.expect = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                place = LoopPlace::Begin;
                next = value + 1;
                continue;
            }
            // A container that is dropped, the rest of one, or a value about which the handler is asked. This is the
            // same code that the walk calls, at the same state.
            let value = if object { next + 2 } else { next };
            let walk = if end == LoopEnd::SkipRest {
                // The window may end before the next key.
                if let Some(at) = tokens.get(next) {
                    self.tracker.key(cx.base + usize::from(*at));
                }
                self.skip_rest();
                Some(WalkEnd::Next(next))
            } else {
                if object {
                    let (key, colon) = (cx.base + position(next), cx.base + position(next + 1));
                    self.whole_key(key, colon, entry);
                }
                let (at, first) = (cx.base + position(value), byte(value));
                match end {
                    LoopEnd::Skip => self.skipped(cx, value, at, first)?,
                    _ => self.value(cx, value, at, first, h)?,
                }
            };
            // `None`: the mode is still `Inspect`, and the value's first token is consumed.
            next = match walk {
                None => value + 1,
                Some(walk) => match self.skip_or_copy(cx, tokens, walk, to, h)? {
                    ControlFlow::Continue(token) => token,
                    end @ ControlFlow::Break(_) => return Ok(end),
                },
            };
            // The value may have opened or closed containers.
            object = self.levels.in_object();
            place = match self.expect {
                Expect::KeyOrEnd | Expect::ValueOrEnd => LoopPlace::Begin,
                Expect::After => LoopPlace::After,
                _ => return Ok(ControlFlow::Continue(next)),
            };
        }
    }

    /// Enters the object whose bracket is the token `next`, an element, if the handler has a policy for it. Handles its
    /// members up to the first one that needs more than the policy. If its end is reached, it is closed, too.
    #[inline(always)]
    fn enter_object<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        scan: &WindowText<'_>,
        tokens: &[u16],
        next: usize,
        h: &mut H,
    ) -> Option<MembersEnd> {
        if self.levels.depth() >= self.config.depth || is_off(FastPath::PolicyMembers) {
            return None;
        }
        let at = cx.base + usize::from(*tokens.get(next)?);
        if let Some(mut ahead) = self.ahead(cx, next, at) {
            h.look_ahead(&mut ahead);
        }
        // The policy stays in the option: a copy of it takes as long as a member.
        let mut entered = h.enter_object(self.tracker.index());
        let policy = entered.as_mut()?;
        let begin = next + 1;
        let empty = tokens.get(begin).and_then(|at| scan.text.get(usize::from(*at))) == Some(&b'}');
        let found = match empty {
            true => MembersEnd { token: begin, end: LoopEnd::Close, entry: None },
            false => self.members(scan, tokens, begin, policy),
        };
        let end = match found.end {
            LoopEnd::Close => {
                h.leave_object();
                Some(found.token)
            }
            LoopEnd::Failed => {
                let (check, mut skip) = (!self.config.structure, Policy::SKIP);
                let (token, end) = members(check, scan, tokens, found.token, &mut skip);
                (end == LoopEnd::Close).then(|| {
                    h.drop_object();
                    token
                })
            }
            _ => None,
        };
        if let Some(token) = end {
            count_route(MachineRoute::LoopMember, members_in(token - begin));
            return Some(MembersEnd { token, end: LoopEnd::Close, entry: None });
        }
        let first = tokens.get(found.token + 2).and_then(|at| scan.text.get(usize::from(*at)));
        if !h.stay_in_object(matches!(first, Some(b'{' | b'['))) {
            return None;
        }
        self.levels.push(true);
        self.tracker.push();
        self.expect = Expect::KeyOrEnd;
        Some(found)
    }

    /// Handles members from `next` on as a policy with names says. If every name was met, and the rest of the object is
    /// dropped after that, drops it, too.
    #[inline(always)]
    fn members(
        &self,
        scan: &WindowText<'_>,
        tokens: &[u16],
        next: usize,
        policy: &mut Policy<'_>,
    ) -> MembersEnd {
        // Under `structure` dropped values are not checked. Kept ones always are.
        let (token, end) = members(!self.config.structure, scan, tokens, next, policy);
        if let Some(passed) = &mut policy.passed {
            **passed += members_in(token - next) as u64 + u64::from(end == LoopEnd::Skip);
        }
        // The handler need not look the name up again. Names that are tested are not all its own.
        let entry = match end {
            LoopEnd::Ask if policy.test.is_none() => scan.entry(tokens, token, policy.names),
            _ => None,
        };
        let (token, end) = match end {
            LoopEnd::NamesDone if policy.then_skips => self.rest(scan, tokens, token),
            _ => (token, end),
        };
        MembersEnd { token, end, entry }
    }

    /// Drops the rest of an object from the member at `next` on. It is mostly plain members up to the bracket, which need
    /// no mode of their own.
    #[inline(always)]
    fn rest(&self, scan: &WindowText<'_>, tokens: &[u16], next: usize) -> (usize, LoopEnd) {
        let mut skip = Policy::SKIP;
        // An error in this member must be reported before the rest is dropped, so it must be plain.
        match scan.ask(tokens, next, true) {
            LoopEnd::Ask if self.config.structure => (next, LoopEnd::SkipRest),
            LoopEnd::Ask => match dropped_members(scan, tokens, next, &mut skip) {
                (token, LoopEnd::Close) => (token, LoopEnd::Close),
                // The member with the cut string is left to the mode.
                (token, LoopEnd::CutString) => (token - 3, LoopEnd::SkipRest),
                (token, _) => (token, LoopEnd::SkipRest),
            },
            end => (next, end),
        }
    }

    /// Skips or copies a container, or the rest of one, from the token in `walk` on, in the mode that the machine is in.
    ///
    /// Returns the next token if the container has ended and the mode is `Inspect` again. Otherwise the container has
    /// something that is not plain, or goes on after this window, and the walk continues in the mode.
    fn skip_or_copy<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        walk: WalkEnd,
        to: usize,
        h: &mut H,
    ) -> Result<ControlFlow<WalkEnd, usize>, WalkError> {
        let WalkEnd::Next(next) = walk else { return Ok(ControlFlow::Break(walk)) };
        let position = |token: usize| tokens.get(token).map(|at| cx.base + usize::from(*at));
        match self.mode {
            SkipMode::Inspect => Ok(ControlFlow::Continue(next)),
            SkipMode::Brackets { floor, through } => {
                let from = position(next).unwrap_or(to);
                // The position after the last bracket is turned into a token by counting the tokens before it.
                Ok(match self.skip_to_end(cx, from, to, floor, through)? {
                    Some(landed) => {
                        ControlFlow::Continue(cx.window.tokens_before(landed - cx.base))
                    }
                    None => ControlFlow::Break(WalkEnd::Next(tokens.len())),
                })
            }
            SkipMode::Validate { floor, .. } => {
                let next = self.validate_fast(cx, tokens, next, floor);
                let Some(at) = position(next) else {
                    return Ok(ControlFlow::Break(WalkEnd::Next(next)));
                };
                let closes = if self.levels.in_object() { b'}' } else { b']' };
                if self.expect != Expect::After
                    || self.levels.depth() != floor
                    || cx.byte(at) != closes
                {
                    // Something in it is not plain.
                    return Ok(ControlFlow::Break(WalkEnd::Next(next)));
                }
                // Ends the mode. If only the rest of the container was dropped, its bracket is the next token.
                match self.close::<true, H>(cx, next, at, closes, h)? {
                    Some(WalkEnd::Next(token)) => Ok(ControlFlow::Continue(token)),
                    Some(walk) => Ok(ControlFlow::Break(walk)),
                    None => Ok(ControlFlow::Continue(next + 1)),
                }
            }
        }
    }
}
