//! Looks ahead at the members of an object before a handler is asked about it.
//!
//! A handler that decides about an object by its members would otherwise have to read it twice. Here it reads only as far
//! as it must, with the loops of `members.rs`, on the tokens of the window that the machine has anyway.
//!
//! Nothing is consumed, and no error is reported: where an object is cut by the window, or something in it is not plain,
//! the look ends with [`AheadEvent::Unknown`], and the handler has to read the object itself.

use super::members::{LoopEnd, Member, WindowText, members};
use super::{Machine, WindowContext};
use crate::fast_paths::{FastPath, is_off};
use crate::path::names::NameTable;
use crate::path::trie::NodeId;
use crate::policy::{Action, Policy};

/// The depth of containers that a look skips: their kinds are bits of a word. A deeper one ends the look.
const DEEPEST: usize = 64;

/// An object whose members can be looked at before the handler is asked about it.
pub struct ObjectAhead<'a> {
    scan: WindowText<'a>,
    tokens: &'a [u16],
    /// The next token.
    next: usize,
    place: AheadPlace,
    /// The absolute offset of the window.
    base: u64,
    offset: u64,
    /// The number of containers that may be open inside the object.
    room: usize,
    /// The number of those that are open.
    depth: usize,
}

#[derive(Clone, Copy)]
enum AheadPlace {
    /// After an opening bracket.
    Begin,
    /// At a key.
    Member,
    /// After a value.
    After,
}

/// The next member whose name is in a table, or the end of its object.
pub enum AheadEvent<'a> {
    /// A member with a scalar: the entry of its name, the JSON text of the value, and the offset of the token after it.
    Scalar(NodeId, &'a [u8], u64),
    /// A member with an object, whose bracket is at the offset. Its members come next, unless it is
    /// [skipped](ObjectAhead::skip).
    Object(NodeId, u64),
    /// A member with an array, which is skipped.
    Array(NodeId, u64),
    /// The end of the innermost object that was not skipped.
    Close(u64),
    /// The window does not show what is next.
    Unknown,
}

impl<'a> ObjectAhead<'a> {
    /// Returns the next member of the innermost object that has one of these names.
    #[inline]
    pub fn next(&mut self, names: &NameTable) -> AheadEvent<'a> {
        self.step(names).unwrap_or(AheadEvent::Unknown)
    }

    /// Returns the offset of the bracket of the object.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Skips the object whose members would come next. Returns `false` if its end is not in the window.
    pub fn skip(&mut self) -> bool {
        self.depth = self.depth.saturating_sub(1);
        let end = self.after_container(self.next.saturating_sub(1));
        self.place = AheadPlace::After;
        self.next = end.unwrap_or(self.next);
        end.is_some()
    }

    #[inline]
    fn step(&mut self, names: &NameTable) -> Option<AheadEvent<'a>> {
        loop {
            match (self.place, self.byte(self.next)?) {
                (AheadPlace::Begin | AheadPlace::After, b'}') => return self.close(),
                (AheadPlace::After, b',') => self.next += 1,
                (AheadPlace::After, _) => return None,
                (AheadPlace::Begin | AheadPlace::Member, _) => {}
            }
            let mut policy = Policy::ask_named(names, Action::Skip);
            let (token, end) = members(false, &self.scan, self.tokens, self.next, &mut policy);
            self.next = token;
            self.place = AheadPlace::Member;
            match end {
                LoopEnd::Close => return self.close(),
                LoopEnd::Skip => {
                    self.next = self.after_container(token + 2)?;
                    self.place = AheadPlace::After;
                }
                LoopEnd::Ask => return self.named(names),
                _ => return None,
            }
        }
    }

    /// Returns the member at the next token, which has a name of the table.
    fn named(&mut self, names: &NameTable) -> Option<AheadEvent<'a>> {
        let text: &'a [u8] = self.scan.text;
        let member = Member::at(text, self.tokens, self.next)?;
        let entry = member.entry(text, names)?;
        let span = member.span(text);
        let value = self.next + 2;
        let offset = self.base + span.value as u64;
        match text.get(span.value)? {
            b'{' if self.depth < self.room => {
                self.next = value + 1;
                self.place = AheadPlace::Begin;
                self.depth += 1;
                Some(AheadEvent::Object(entry, offset))
            }
            b'{' => None,
            b'[' => {
                self.next = self.after_container(value)?;
                self.place = AheadPlace::After;
                Some(AheadEvent::Array(entry, offset))
            }
            _ => {
                self.next = value + 1;
                self.place = AheadPlace::After;
                let end = self.base + u64::from(*self.tokens.get(self.next)?);
                Some(AheadEvent::Scalar(entry, text.get(span.value..span.end)?, end))
            }
        }
    }

    fn close(&mut self) -> Option<AheadEvent<'a>> {
        let at = u64::from(*self.tokens.get(self.next)?);
        self.next += 1;
        self.place = AheadPlace::After;
        self.depth = self.depth.saturating_sub(1);
        Some(AheadEvent::Close(self.base + at))
    }

    /// Returns the token after the container that begins at `token`. `None` if it does not end in the window, has a bracket
    /// of the wrong kind, or is too deep.
    fn after_container(&self, token: usize) -> Option<usize> {
        let (mut kinds, mut depth) = (0_u64, 0);
        for (index, at) in self.tokens.get(token..)?.iter().enumerate() {
            match self.scan.text.get(usize::from(*at))? {
                byte @ (b'{' | b'[') => {
                    if depth == DEEPEST || self.depth + depth == self.room {
                        return None;
                    }
                    kinds = kinds << 1 | u64::from(*byte == b'{');
                    depth += 1;
                }
                byte @ (b'}' | b']') => {
                    if kinds & 1 != u64::from(*byte == b'}') {
                        return None;
                    }
                    kinds >>= 1;
                    depth -= 1;
                    if depth == 0 {
                        return Some(token + index + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn byte(&self, token: usize) -> Option<u8> {
        self.scan.text.get(usize::from(*self.tokens.get(token)?)).copied()
    }
}

impl Machine {
    /// Returns the object whose bracket is the token `next` at `at`. `None` if the window has an invalid
    /// escape.
    #[inline]
    pub(super) fn ahead<'a>(
        &self,
        cx: &WindowContext<'a>,
        next: usize,
        at: usize,
    ) -> Option<ObjectAhead<'a>> {
        if is_off(FastPath::LookAhead) || cx.window.any_bad_escape() {
            return None;
        }
        Some(ObjectAhead {
            scan: self.window_text(cx),
            tokens: cx.window.tokens(),
            next: next + 1,
            place: AheadPlace::Begin,
            base: self.offset + cx.base as u64,
            offset: self.offset + at as u64,
            // The object is open as well.
            room: self.config.depth.saturating_sub(self.levels.depth() + 1),
            depth: 0,
        })
    }
}
