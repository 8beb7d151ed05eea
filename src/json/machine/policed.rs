//! Carries out policies: runs the loops over the members and elements of a container, enters the containers that are
//! dropped, and ends containers and goes on in their parents, all without the walk.
//!
//! ```text
//!            ┌──────── ',' ────────┐
//!            ▼                     │
//! Begin ─▶ Member ── loop ──▶ After ── '}' or ']' ──▶ After, in the parent
//!   │      Element     │
//!   └── closes ──▶ After   Leave::Skip ──▶ Begin, in the container (under `structure`: leap over it)
//!                          Leave::Ask, Leave::Walk ──▶ the walk
//! ```
//!
//! The policy is that of the handler, or [`Policy::SKIP`] inside a container that is copied or dropped. Every state
//! here is also one of the walk: `expect`, the levels and the path fit the token at which this code returns, so it may
//! return anywhere. It returns before anything that is not plain: errors, the end of the window, a value about which
//! the handler must be asked.

use std::ops::ControlFlow;

use super::members::{Leave, WindowText, dropped_members, elements, members};
use super::{Expect, Machine, SkipMode, WalkEnd, WalkError, WindowContext};
use crate::error::Raise;
use crate::fast_paths::{FastPath, is_off};
use crate::json::policy::{Action, Policy};
use crate::json::{Handler, Interest, ValueKind, ValueSlot};
use crate::test_work::{MachineRoute, count_route};

/// The position within a container.
#[derive(Clone, Copy)]
enum Place {
    /// After the opening bracket.
    Begin,
    /// At a key.
    Member,
    /// At an element.
    Element,
    /// After a value.
    After,
}

/// Stands for the handler where nobody is asked.
struct Nobody;

impl Handler for Nobody {
    fn value(&mut self, _: ValueSlot<'_>, _: ValueKind, _: u64) -> Result<Interest, Raise> {
        Ok(Interest::Skip)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}
}

impl Machine {
    /// Checks tokens from `next` on that are inside the container at depth `floor`, which is dropped or copied. Returns
    /// the token where the walk continues, at the latest the closing bracket of that container.
    #[inline(never)]
    pub(super) fn unpoliced(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        next: usize,
        floor: usize,
    ) -> usize {
        if is_off(FastPath::DroppedContainers) {
            return next;
        }
        match self.carry_out::<true, Nobody>(cx, tokens, next, floor, 0, &mut Nobody) {
            Ok(ControlFlow::Continue(token)) => token,
            // Only with a handler.
            Ok(ControlFlow::Break(_)) | Err(_) => next,
        }
    }

    /// Handles tokens from `next` on as the policies of the open containers say. Returns the token where the walk
    /// continues, or the end of the walk.
    #[inline(always)]
    pub(super) fn policed<H: Handler>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        next: usize,
        to: usize,
        h: &mut H,
    ) -> Result<ControlFlow<WalkEnd, usize>, WalkError> {
        self.carry_out::<false, H>(cx, tokens, next, 0, to, h)
    }

    /// `QUIET`: everything is dropped or copied, down to depth `floor`. Otherwise `to` ends the bytes that may be
    /// examined.
    #[inline(always)]
    fn carry_out<const QUIET: bool, H: Handler>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        mut next: usize,
        floor: usize,
        to: usize,
        h: &mut H,
    ) -> Result<ControlFlow<WalkEnd, usize>, WalkError> {
        let text = cx.slice(cx.base, cx.limit);
        let longest = self.config.key.saturating_add(2);
        let scan = WindowText { text, window: cx.window, longest };
        let position = |token: usize| tokens.get(token).map_or(usize::MAX, |at| usize::from(*at));
        let byte = |token: usize| text.get(position(token)).copied().unwrap_or(0);
        let mut skip = Policy::SKIP;
        let mut object = self.levels.in_object();
        let mut place = match self.expect {
            Expect::Key => Place::Member,
            Expect::KeyOrEnd | Expect::ValueOrEnd => Place::Begin,
            Expect::Value if !object && self.levels.depth() > 0 => Place::Element,
            Expect::After => Place::After,
            _ => return Ok(ControlFlow::Continue(next)),
        };
        loop {
            let closes = if object { b'}' } else { b']' };
            match place {
                Place::Begin if byte(next) == closes => {
                    self.expect = Expect::After;
                    place = Place::After;
                    continue;
                }
                Place::After if byte(next) == b',' => {
                    if !QUIET {
                        self.finish_copy(cx, cx.base + position(next), h)?;
                    }
                    next += 1;
                    if object {
                        self.expect = Expect::Key;
                        place = Place::Member;
                    } else {
                        self.tracker.next_element();
                        self.expect = Expect::Value;
                        place = Place::Element;
                    }
                    continue;
                }
                Place::After => {
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
                Place::Begin | Place::Member | Place::Element => {}
            }

            let begun = next;
            let leave;
            let mut entry = None;
            (next, leave) = if QUIET && object {
                dropped_members(&scan, tokens, next, &mut skip)
            } else if QUIET {
                match is_off(FastPath::Elements) {
                    true => (next, scan.element(tokens, next, Action::Skip, Leave::Walk)),
                    false => elements(&scan, tokens, next, &mut skip),
                }
            } else {
                let mut policy = h.policy();
                match policy.others {
                    Action::SkipRest => match scan.ask(tokens, next, object) {
                        Leave::Ask if object => (next, Leave::Rest),
                        leave => (next, leave),
                    },
                    Action::Ask if policy.names.is_none() => (next, scan.ask(tokens, next, object)),
                    Action::Keep if policy.output.is_none() => {
                        (next, scan.ask(tokens, next, object))
                    }
                    _ if object && is_off(FastPath::PolicyMembers) => {
                        entry = scan.entry(tokens, next, policy.names);
                        (next, scan.ask(tokens, next, object))
                    }
                    _ if object => {
                        let check = !self.config.structure;
                        let (token, leave) = members(check, &scan, tokens, next, &mut policy);
                        if leave == Leave::Ask {
                            entry = scan.entry(tokens, token, policy.names);
                        }
                        (token, leave)
                    }
                    // Names have no meaning in an array.
                    _ if policy.names.is_some() => (next, scan.ask(tokens, next, object)),
                    others if is_off(FastPath::Elements) => {
                        (next, scan.element(tokens, next, others, Leave::Ask))
                    }
                    _ => elements(&scan, tokens, next, &mut policy),
                }
            };
            if next > begun {
                let (route, tokens) = match object {
                    true => (MachineRoute::LoopMember, 4),
                    false => (MachineRoute::LoopElement, 2),
                };
                // The last one has no comma.
                count_route(route, (next - begun + 1) / tokens);
            }
            if leave == Leave::Cut {
                self.tracker.key(cx.base + position(next - 3));
                self.expect = Expect::After;
                self.lax_string = !QUIET && self.config.structure;
                return Ok(ControlFlow::Continue(next));
            }
            if next > begun {
                if object {
                    self.expect = Expect::Key;
                    place = Place::Member;
                } else {
                    self.tracker.skip_elements((next - begun) / 2);
                    self.expect = Expect::Value;
                    place = Place::Element;
                }
            }
            if leave == Leave::End {
                self.expect = Expect::After;
                place = Place::After;
                continue;
            }
            if leave != Leave::Skip {
                if !QUIET && leave == Leave::Done {
                    continue;
                }
                if QUIET || leave == Leave::Walk {
                    return Ok(ControlFlow::Continue(next));
                }
            }
            // A container that is dropped, or a value about which the handler is asked.
            if QUIET {
                let value = if object { next + 2 } else { next };
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
                place = Place::Begin;
                next = value + 1;
                continue;
            }
            let value = if object { next + 2 } else { next };
            let walk = if leave == Leave::Rest {
                self.tracker.key(cx.base + position(next));
                self.skip_rest();
                Some(WalkEnd::Next(next))
            } else {
                if object {
                    let (key, colon) = (cx.base + position(next), cx.base + position(next + 1));
                    self.whole_key(key, colon, entry);
                }
                let (at, first) = (cx.base + position(value), byte(value));
                match leave {
                    Leave::Skip => self.skipped(cx, value, at, first)?,
                    _ => self.value(cx, value, at, first, h)?,
                }
            };
            next = match walk {
                None => value + 1,
                Some(walk) => match self.passed_over(cx, tokens, walk, to, h)? {
                    ControlFlow::Continue(token) => token,
                    end @ ControlFlow::Break(_) => return Ok(end),
                },
            };
            object = self.levels.in_object();
            place = match self.expect {
                Expect::KeyOrEnd | Expect::ValueOrEnd => Place::Begin,
                Expect::After => Place::After,
                _ => return Ok(ControlFlow::Continue(next)),
            };
        }
    }

    /// Passes a container, or the rest of one, that is copied or dropped from the token in `walk` on.
    fn passed_over<H: Handler>(
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
                Ok(match self.skip_to_end(cx, from, to, floor, through)? {
                    Some(landed) => {
                        ControlFlow::Continue(cx.window.tokens_before(landed - cx.base))
                    }
                    None => ControlFlow::Break(WalkEnd::Next(tokens.len())),
                })
            }
            SkipMode::Validate { floor, .. } => {
                let next = self.unpoliced(cx, tokens, next, floor);
                let Some(at) = position(next) else {
                    return Ok(ControlFlow::Break(WalkEnd::Next(next)));
                };
                let closes = if self.levels.in_object() { b'}' } else { b']' };
                if self.expect != Expect::After
                    || self.levels.depth() != floor
                    || cx.byte(at) != closes
                {
                    // It has something that is not plain.
                    return Ok(ControlFlow::Break(WalkEnd::Next(next)));
                }
                match self.close::<true, H>(cx, next, at, closes, h)? {
                    Some(WalkEnd::Next(token)) => Ok(ControlFlow::Continue(token)),
                    Some(walk) => Ok(ControlFlow::Break(walk)),
                    None => Ok(ControlFlow::Continue(next + 1)),
                }
            }
        }
    }
}
