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

use super::members::{Leave, WindowText, elements, members};
use super::{Expect, Machine, SkipMode, WalkEnd, WalkError, WindowContext};
use crate::json::Handler;
use crate::json::policy::{Action, Policy};

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

/// The level from which on everything is dropped or copied; none is this deep.
const NOT_QUIET: usize = usize::MAX;

impl Machine {
    /// Handles tokens from `next` on as the policies of the open containers say. Returns the token where the walk
    /// continues, or the end of the walk. `QUIET`: the mode is `Validate`, and the handler is not asked.
    #[inline(always)]
    pub(super) fn policed<const QUIET: bool, H: Handler>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        next: usize,
        to: usize,
        h: &mut H,
    ) -> Result<ControlFlow<WalkEnd, usize>, WalkError> {
        let mut floor = match self.mode {
            SkipMode::Validate { floor, .. } => floor,
            _ => NOT_QUIET,
        };
        let end = self.carry_out::<QUIET, H>(cx, tokens, next, to, &mut floor, h)?;
        if !QUIET
            && floor != NOT_QUIET
            && let ControlFlow::Continue(token) = end
        {
            // A dropped container goes on in the next window, or has something that is not plain.
            self.mode = SkipMode::Validate { floor, through: true };
            return Ok(ControlFlow::Break(WalkEnd::Next(token)));
        }
        Ok(end)
    }

    #[inline(always)]
    fn carry_out<const QUIET: bool, H: Handler>(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        mut next: usize,
        to: usize,
        floor: &mut usize,
        h: &mut H,
    ) -> Result<ControlFlow<WalkEnd, usize>, WalkError> {
        let text = cx.slice(cx.base, cx.limit);
        let scan = WindowText { text, window: cx.window, longest: self.config.key };
        let position = |token: usize| tokens.get(token).map_or(usize::MAX, |at| usize::from(*at));
        let byte = |token: usize| text.get(position(token)).copied().unwrap_or(0);
        let mut object = self.levels.in_object();
        let mut place = match self.expect {
            Expect::Key => Place::Member,
            Expect::KeyOrEnd | Expect::ValueOrEnd => Place::Begin,
            Expect::Value if !object && self.levels.depth() > 0 => Place::Element,
            Expect::After => Place::After,
            _ => return Ok(ControlFlow::Continue(next)),
        };
        loop {
            let quiet = QUIET || self.levels.depth() >= *floor;
            let closes = if object { b'}' } else { b']' };
            match place {
                Place::Begin if byte(next) == closes => {
                    self.expect = Expect::After;
                    place = Place::After;
                    continue;
                }
                Place::After if byte(next) == b',' => {
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
                    let at_floor = self.levels.depth() == *floor;
                    if byte(next) != closes || (QUIET && at_floor) {
                        // With `QUIET` the walk ends the mode.
                        return Ok(ControlFlow::Continue(next));
                    }
                    if !quiet {
                        self.ask_at_end(cx.base + position(next), h)?;
                    } else if at_floor {
                        *floor = NOT_QUIET;
                    }
                    self.levels.pop();
                    self.tracker.pop();
                    self.expect = self.after();
                    next += 1;
                    if self.expect == Expect::End {
                        return Ok(ControlFlow::Continue(next));
                    }
                    object = self.levels.in_object();
                    continue;
                }
                Place::Begin | Place::Member | Place::Element => {}
            }

            let mut policy = if quiet { Policy::SKIP } else { h.policy() };
            let check = quiet || !self.config.structure;
            let begun = next;
            let leave = match policy.others {
                Action::SkipRest => return Ok(self.rest(cx, &scan, tokens, next)),
                Action::Ask if policy.names.is_none() => Leave::Walk,
                Action::Keep if policy.output.is_none() => Leave::Walk,
                _ if object => {
                    let leave;
                    (next, leave) = members(check, &scan, tokens, next, &mut policy);
                    leave
                }
                // Names have no meaning in an array.
                _ if policy.names.is_some() => Leave::Walk,
                _ => {
                    let leave;
                    (next, leave) = elements(&scan, tokens, next, &mut policy);
                    self.tracker.skip_elements((next - begun) / 2);
                    leave
                }
            };
            if next > begun {
                self.expect = if object { Expect::Key } else { Expect::Value };
                place = if object { Place::Member } else { Place::Element };
            }
            match leave {
                Leave::Walk => return Ok(ControlFlow::Continue(next)),
                Leave::Done => {}
                Leave::End => {
                    self.expect = Expect::After;
                    place = Place::After;
                }
                Leave::Ask(_) if !object => return Ok(ControlFlow::Continue(next)),
                Leave::Ask(entry) => {
                    let (key, colon) = (cx.base + position(next), cx.base + position(next + 1));
                    self.whole_key(key, colon, entry);
                    return Ok(ControlFlow::Continue(next + 2));
                }
                Leave::Skip => {
                    let value = if object { next + 2 } else { next };
                    if self.levels.depth() >= self.config.depth {
                        return Ok(ControlFlow::Continue(next));
                    }
                    if object {
                        self.tracker.key(cx.base + position(next));
                    }
                    let inner = byte(value) == b'{';
                    self.levels.push(inner);
                    if !check {
                        let (inside, depth) = (cx.base + position(value) + 1, self.levels.depth());
                        self.mode = SkipMode::Brackets { floor: depth, through: true };
                        let Some(landed) = self.leap(cx, inside, to, depth, true)? else {
                            return Ok(ControlFlow::Break(WalkEnd::Next(tokens.len())));
                        };
                        next = cx.window.tokens_before(landed - cx.base);
                        place = Place::After;
                        continue;
                    }
                    self.tracker.push();
                    if !quiet {
                        *floor = self.levels.depth();
                    }
                    object = inner;
                    self.expect = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                    place = Place::Begin;
                    next = value + 1;
                }
            }
        }
    }

    /// Begins to drop the rest of the container if a plain member follows, at which the walk would do that.
    #[cold]
    fn rest(
        &mut self,
        cx: &WindowContext<'_>,
        scan: &WindowText<'_>,
        tokens: &[u16],
        next: usize,
    ) -> ControlFlow<WalkEnd, usize> {
        let key = tokens.get(next).filter(|_| self.levels.in_object());
        let Some(key) = key.filter(|_| scan.begins_member(tokens, next)) else {
            return ControlFlow::Continue(next);
        };
        self.tracker.key(cx.base + usize::from(*key));
        self.expect = Expect::Value;
        self.skip_rest();
        ControlFlow::Break(WalkEnd::Next(next + 2))
    }
}
