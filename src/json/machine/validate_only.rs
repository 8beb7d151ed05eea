//! Validates containers that are dropped or copied as a whole: the fast path of mode `Validate`.
//!
//! Does what `walk::<true>` does token by token, in loops that keep the current position in a local variable. Does not
//! report errors: it stops before anything that is not plain (an error, the end of the window, a key that began in an
//! earlier window) and leaves that token to the walk.

use super::member_loops::{MemberTokens, is_good_scalar, pass_elements, pass_usual};
use super::{Expect, Machine, WindowContext};
use crate::test_work::{MachineRoute, count_route};

/// The position within a container.
enum ContainerPosition {
    /// After the opening bracket.
    Begin,
    /// At a key.
    Member,
    /// At an element.
    Element,
    /// After a value.
    After,
}

impl Machine {
    /// Validates tokens up to the closing bracket of the container at depth `floor`, which it does not consume. Returns
    /// the token where the walk continues; `expect`, the levels and the path fit that token.
    pub(super) fn quiet_run(
        &mut self,
        cx: &WindowContext<'_>,
        tokens: &[u16],
        mut next: usize,
        floor: usize,
    ) -> usize {
        let text = cx.slice(cx.base, cx.limit);
        let byte = |token: usize| {
            tokens.get(token).and_then(|at| text.get(usize::from(*at))).copied().unwrap_or(0)
        };
        let mut object = self.levels.in_object();
        let mut at = match self.expect {
            Expect::Key => ContainerPosition::Member,
            Expect::KeyOrEnd | Expect::ValueOrEnd => ContainerPosition::Begin,
            Expect::Value if !object => ContainerPosition::Element,
            Expect::After => ContainerPosition::After,
            _ => return next,
        };
        loop {
            let first = byte(next);
            let closes = if object { b'}' } else { b']' };
            // The token of a value that the loops left: a container, or the last value of its container.
            let value = match at {
                ContainerPosition::Begin if first == closes => {
                    self.expect = Expect::After;
                    at = ContainerPosition::After;
                    continue;
                }
                ContainerPosition::After if first == b',' => {
                    next += 1;
                    if object {
                        self.expect = Expect::Key;
                        at = ContainerPosition::Member;
                    } else {
                        self.tracker.next_element();
                        self.expect = Expect::Value;
                        at = ContainerPosition::Element;
                    }
                    continue;
                }
                ContainerPosition::After => {
                    if first != closes || self.levels.depth() <= floor {
                        return next;
                    }
                    self.levels.pop();
                    self.tracker.pop();
                    object = self.levels.in_object();
                    next += 1;
                    continue;
                }
                ContainerPosition::Begin | ContainerPosition::Member if object => {
                    let token = pass_usual(text, tokens, next);
                    if token > next {
                        count_route(MachineRoute::LoopMember, (token - next) / 4);
                        self.expect = Expect::Key;
                        next = token;
                    }
                    let Some(quad) = MemberTokens::at(tokens, next) else { return next };
                    let [key, colon] = [quad.key, quad.colon].map(|at| text.get(at));
                    if key != Some(&b'"') || colon != Some(&b':') {
                        return next;
                    }
                    self.tracker.key(cx.base + quad.key);
                    next + 2
                }
                ContainerPosition::Begin
                | ContainerPosition::Member
                | ContainerPosition::Element => {
                    let token = pass_elements(text, tokens, next);
                    if token > next {
                        count_route(MachineRoute::LoopElement, (token - next) / 2);
                        self.tracker.skip_elements((token - next) / 2);
                        self.expect = Expect::Value;
                        next = token;
                    }
                    next
                }
            };
            let first = byte(value);
            if matches!(first, b'{' | b'[') && self.levels.depth() < self.config.depth {
                object = first == b'{';
                self.levels.push(object);
                self.tracker.push();
                self.expect = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                at = ContainerPosition::Begin;
                next = value + 1;
                continue;
            }
            // The last value of its container.
            let [Some(begin), Some(end)] = [tokens.get(value), tokens.get(value + 1)] else {
                return next;
            };
            let (begin, end) = (usize::from(*begin), usize::from(*end));
            let good = first == b'"' || is_good_scalar(text, begin, end, first);
            if !good || text.get(end) != Some(&closes) {
                return next;
            }
            next = value + 1;
            self.expect = Expect::After;
            at = ContainerPosition::After;
        }
    }
}
