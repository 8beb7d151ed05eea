//! State that crosses the end of a window or a chunk: keys, copied bytes, and white space that is kept.
//!
//! This module does not depend on tokens or grammar. Every function here handles bytes that the walk or a loop has
//! already checked. Its result depends on these bytes only and not on where the input was cut, so the output does not
//! depend on chunks either.
//!
//! | state at the end of a chunk | kept as | limit |
//! |---|---|---|
//! | inside a key, or before its colon | `member.held`, if the handler reads keys there | `key` bytes, or `longest_key` where the handler needs it |
//! | between a key and its value | `member.held` | `key` bytes of white space |
//! | inside a copied value | nothing: the bytes are written, and `copying` is 0 in the next chunk | |
//! | white space before the next token | `lead`, only if white space is kept | `key` bytes |
//! | inside a number or literal | `Machine::scalar`, without its bytes | |
//! | inside a string | the scanner's carry, without its bytes | |
//!
//! The errors of this module are the limits of keys and of white space, and those that the handler raises when a copy
//! ends.

use super::members::is_white;
use super::pending_member::PendingMember;
use super::{Expect, Machine, SkipMode, WalkError, WindowContext};
use crate::Handler;
use crate::error::{LimitName, Raise};
use crate::path::trie::NodeId;
use crate::test_work::{WorkKind, count, words};

/// The length of the longest chunk that [`Machine::continues_string`] examines byte by byte.
const SHORT: usize = 64;

impl Machine {
    /// Handles a short chunk that lies inside a string. Returns `false` and does nothing if the chunk may be of any other
    /// kind, or if a key becomes too long by it. A caller that writes a few bytes at a time needs neither masks nor tokens for
    /// most of them.
    ///
    /// The chunk has only printable ASCII without quotes and backslashes, so neither the scanner's carry nor any error
    /// can change.
    #[inline]
    pub(super) fn continues_string<H: Handler + ?Sized>(
        &mut self,
        chunk: &[u8],
        h: &mut H,
    ) -> bool {
        // A comma, a bracket or nothing may follow a value. A key is compared or held.
        let value = matches!(self.expect, Expect::After | Expect::End);
        let key = self.expect == Expect::Colon && self.member.split;
        if chunk.len() > SHORT || !(value || key) || !self.carry.continues_string(chunk) {
            return false;
        }
        if key && !self.continues_key(chunk) {
            return false;
        }
        // `copying` is the end of the previous chunk; the next call of `feed` sets it to 0.
        if self.copying.is_some() {
            h.raw(chunk);
        }
        self.offset += chunk.len() as u64;
        self.steps += 1;
        true
    }

    /// Adds a chunk to a key that began in an earlier one. Returns `false` and does nothing if the key becomes too long.
    #[inline(never)]
    fn continues_key(&mut self, chunk: &[u8]) -> bool {
        let member = &mut self.member;
        if self.mode == SkipMode::Inspect && !member.long {
            // The held bytes include the opening quote.
            if member.held.len() + chunk.len() > self.config.key + 1 {
                return false;
            }
            count(WorkKind::Hold, words(chunk.len()));
            member.held.extend_from_slice(chunk);
        }
        self.tracker.more_key(chunk);
        true
    }

    /// Begins a key whose opening quote is at `at`. Nothing is copied: the key is read in place, unless a chunk ends before
    /// its value begins.
    #[inline]
    pub(super) fn begin_key<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        h: &mut H,
    ) -> Result<(), WalkError> {
        self.member.at = at;
        self.member.offset = self.offset + at as u64;
        self.member.split = false;
        (self.member.long, self.member.needed) = (false, false);
        self.member.entry = None;
        if self.config.keep_white {
            self.give_lead(cx, at, h)?;
            self.lead.clear();
        }
        Ok(())
    }

    /// Begins and ends a key that lies between its quote at `key` and its colon at `colon`, in one window. It must have no
    /// white space before the colon and must be within the limit. `entry` is its entry in the table of the policy.
    ///
    /// Does what the walk does at the key and at the colon, for the fast path.
    #[inline]
    pub(super) fn whole_key(&mut self, key: usize, colon: usize, entry: Option<NodeId>) {
        self.tracker.key(key);
        self.member.at = key;
        self.member.offset = self.offset + key as u64;
        self.member.end = colon;
        self.member.split = false;
        (self.member.long, self.member.needed) = (false, false);
        self.member.entry = entry;
        self.expect = Expect::Value;
    }

    /// Ends the current key, whose colon is at `colon`, and checks its length. The limit counts the bytes between the
    /// quotes, as spelled.
    #[inline]
    pub(super) fn end_key<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        colon: usize,
        h: &mut H,
    ) -> Result<(), WalkError> {
        if self.member.split {
            return self.end_split_key(cx, colon, h);
        }
        let end = self.white_before(cx, colon);
        self.member.end = end;
        let len = end - self.member.at;
        if len <= self.config.key + 2 {
            return Ok(());
        }
        let first = self.member.at + 1;
        let longest = self.config.longest_key;
        let over = (len > longest + 2).then_some(first + longest);
        self.long_key(over, h)
    }

    /// Ends a key that began in an earlier chunk. Its last part is in this one, unless it was complete before the chunk.
    #[cold]
    fn end_split_key<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        colon: usize,
        h: &mut H,
    ) -> Result<(), WalkError> {
        self.hold_key(cx, colon, true, h)?;
        if self.config.keep_white {
            self.member.held.push(b':');
            self.member.upto = colon + 1;
        }
        Ok(())
    }

    /// Holds the part of a key that is in `..to` of the chunk. `closed`: the part contains the closing quote. White
    /// space after the quote is held only if white space is kept.
    fn hold_key<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        to: usize,
        closed: bool,
        h: &mut H,
    ) -> Result<(), WalkError> {
        let from = if self.member.split { 0 } else { self.member.at };
        let part = cx.slice(from, to);
        count(WorkKind::Hold, words(part.len()));
        if self.member.split {
            self.tracker.more_key(part);
        } else {
            self.member.held.clear();
            self.member.key_len = 0;
        }
        self.member.split = true;
        if self.member.long {
            return Ok(());
        }
        // The part of the key in this chunk: empty if an earlier chunk completed the key. White space after the quote
        // does not belong to the key.
        let spelled = match (self.member.key_len, closed) {
            (0, true) => trim_end(part),
            (0, false) => part,
            _ => &[],
        };
        // The position of the first byte over a limit. A closing quote does not count.
        let (held, len) =
            (self.member.held.len(), spelled.len() - usize::from(closed && !spelled.is_empty()));
        let over = |limit: usize| {
            let over = (limit + 1).saturating_sub(held);
            (over < len).then_some(from + over)
        };
        if over(self.config.key).is_some() {
            self.long_key(over(self.config.longest_key), h)?;
            if self.member.long {
                return Ok(());
            }
        }
        self.member.held.extend_from_slice(spelled);
        // A length of 0 means that the key continues in the next chunk.
        if closed {
            if self.member.key_len == 0 {
                self.member.key_len = self.member.held.len();
            }
            self.hold_gap(part.get(spelled.len()..).unwrap_or_default());
        }
        Ok(())
    }

    /// Holds the bytes between a key and its value, if white space is kept. Holds one byte more than the limit allows,
    /// so that `give_gap` can report the overflow.
    fn hold_gap(&mut self, gap: &[u8]) {
        if self.config.keep_white {
            let held = self.member.held.len() - self.member.key_len;
            let room = (self.config.key + 1).saturating_sub(held);
            self.member.held.extend_from_slice(gap.get(..room).unwrap_or(gap));
        }
    }

    /// Handles a key that exceeds the limit. If the handler does not need it, the rest is not held, and the handler receives
    /// it as a long key. `over`: where the key exceeds the limit of those that the handler needs.
    ///
    /// # Errors
    /// The handler needs the key, and it is too long for that.
    #[cold]
    fn long_key<H: Handler + ?Sized>(
        &mut self,
        over: Option<usize>,
        h: &mut H,
    ) -> Result<(), WalkError> {
        self.member.long = !self.member.needed && h.takes_long_keys(self.config.key);
        if self.member.long {
            return Ok(());
        }
        self.member.needed = true;
        let Some(at) = over else { return Ok(()) };
        // Nothing more of it is held.
        self.member.long = true;
        let message = format!("key longer than {} bytes", self.config.longest_key);
        Err(WalkError::new(at, Raise::limit(LimitName::Key, message), false))
    }

    /// Writes the key and colon of the member whose value begins at `at`. Returns the position where the copy
    /// continues.
    #[inline]
    pub(super) fn hand_on_key<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        lost: bool,
        h: &mut H,
    ) -> usize {
        let PendingMember { at: key, end, split, upto, ref held, .. } = self.member;
        // The key began in an earlier chunk, and `held` is all that is left of it.
        if split {
            h.raw(held);
            if !self.config.keep_white {
                h.raw(b":");
                return at;
            }
            return if lost { at } else { upto };
        }
        // The copy begins at the key: key, colon and value are written at once.
        if self.config.keep_white {
            return key;
        }
        if key >= cx.base {
            return key;
        }
        // The masks of the key's window are gone, but a key contains no white space to remove.
        h.raw(cx.slice(key, end));
        h.raw(b":");
        at
    }

    /// Passes the bytes between a key and its value at `at` to the handler: white space and the colon.
    pub(super) fn give_gap<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        h: &mut H,
    ) -> Result<(), WalkError> {
        let PendingMember { end, split, upto, key_len, long, ref held, .. } = self.member;
        if long {
            // A member with such a key is dropped, together with its white space.
            return Ok(());
        }
        let earlier = if split { held.get(key_len..).unwrap_or_default() } else { &[] };
        let gap = cx.slice(if split { upto } else { end }, at);
        if earlier.len() + gap.len() > self.config.key {
            return Err(self.too_white(at));
        }
        if earlier.is_empty() {
            h.gap(gap);
        } else {
            h.gap(&[earlier, gap].concat());
        }
        Ok(())
    }

    /// Returns the error for too much white space before the token at `at`.
    #[cold]
    fn too_white(&self, at: usize) -> WalkError {
        let message = format!("more than {} bytes of white space to keep", self.config.key);
        WalkError::new(at, Raise::limit(LimitName::Key, message), false)
    }

    /// Writes the bytes in `from..to`, without white space unless it is kept. To remove white space, the bytes must be in
    /// the current window, whose masks exist.
    #[inline]
    pub(super) fn hand_on<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        from: usize,
        to: usize,
        h: &mut H,
    ) {
        if self.config.keep_white {
            h.raw(cx.slice(from, to));
        } else if from < to {
            cx.window.solid_runs(from - cx.base, to - cx.base, |start, end| {
                let (start, end) = (cx.base + start, cx.base + end);
                h.raw(cx.slice(start, end));
            });
        }
    }

    /// Ends the current copy, if there is one, before the token at `at`. A string or scalar has no token at its end, so its
    /// copy ends at the comma or bracket after it.
    #[inline]
    pub(super) fn finish_copy<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        h: &mut H,
    ) -> Result<(), WalkError> {
        let Some(mark) = self.copying else { return Ok(()) };
        let end = if self.config.keep_white { self.white_before(cx, at).max(mark) } else { at };
        self.hand_on(cx, mark, end, h);
        self.copied(self.offset + end as u64, h).map_err(|raise| WalkError::new(end, raise, true))
    }

    /// Calls [`Handler::copied`] if a value is being copied. All of its bytes must have been written.
    pub(super) fn copied<H: Handler + ?Sized>(
        &mut self,
        offset: u64,
        h: &mut H,
    ) -> Result<(), Raise> {
        if self.copying.take().is_some() { h.copied(offset) } else { Ok(()) }
    }

    /// Returns the position where the white space before the token at `at` begins, at the earliest the beginning of the
    /// chunk.
    pub(super) fn white_before(&self, cx: &WindowContext<'_>, at: usize) -> usize {
        trim_end(cx.slice(0, at)).len()
    }

    /// Passes the white space before the token at `at` to the handler, including that of earlier chunks. Does nothing
    /// unless white space is kept.
    ///
    /// # Errors
    /// It is longer than the limit of keys, because it must be held at the end of a chunk.
    #[inline]
    pub(super) fn give_lead<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        h: &mut H,
    ) -> Result<(), WalkError> {
        if !self.config.keep_white {
            return Ok(());
        }
        let from = self.white_before(cx, at);
        let earlier = if from == 0 { self.lead.len() } else { 0 };
        if earlier + at - from > self.config.key {
            return Err(self.too_white(at));
        }
        if earlier > 0 {
            count(WorkKind::Hold, words(earlier + at));
            let mut lead = self.lead.clone();
            lead.extend_from_slice(cx.slice(0, at));
            h.lead(&lead);
        } else {
            h.lead(cx.slice(from, at));
        }
        Ok(())
    }

    /// Prepares for the end of the chunk at `end`: copies the state that must outlive the chunk and writes all output
    /// that is due. `in_string`: the byte before `end` is in a string.
    ///
    /// Also called if the run stops within a chunk. After an error `end` is the place of the error, and after a stop it is
    /// the beginning of the value.
    pub(super) fn settle<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        end: usize,
        in_string: bool,
        h: &mut H,
    ) -> Result<(), WalkError> {
        if self.expect == Expect::Colon {
            match self.mode {
                SkipMode::Inspect => self.hold_key(cx, end, !in_string, h)?,
                // Only the path of an error needs the key.
                _ if self.member.split => self.tracker.more_key(cx.slice(0, end)),
                _ => self.member.split = true,
            }
        } else if matches!(self.expect, Expect::Value | Expect::SecondByte)
            && self.mode == SkipMode::Inspect
            && self.levels.in_object()
        {
            self.settle_member(cx, end);
        }
        self.tracker.settle(cx.slice(0, end));

        if self.config.keep_white {
            self.settle_white(cx, end, in_string, h)?;
        }
        if let Some(mark) = self.copying {
            self.hand_on(cx, mark, end, h);
            self.copying = Some(end);
        }
        Ok(())
    }

    /// Holds the current key, which is complete, while its value has not begun.
    fn settle_member(&mut self, cx: &WindowContext<'_>, end: usize) {
        let member = &mut self.member;
        if !member.split {
            member.split = true;
            member.held.clear();
            if !member.long {
                count(WorkKind::Hold, words(member.end.saturating_sub(member.at)));
                member.held.extend_from_slice(cx.slice(member.at, member.end));
                member.key_len = member.held.len();
                member.upto = member.end;
            }
        }
        if !member.long {
            // In state `SecondByte` the value's opening quote is the last byte. It is written separately.
            let quote = self.expect == Expect::SecondByte && end > self.member.upto;
            self.hold_gap(cx.slice(self.member.upto, end - usize::from(quote)));
        }
        self.member.upto = 0;
    }

    /// Handles white space at the end of a chunk: it belongs to the next token, and it ends a scalar that is copied.
    fn settle_white<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        end: usize,
        in_string: bool,
        h: &mut H,
    ) -> Result<(), WalkError> {
        // In state `SecondByte` the opening quote was read but not yet handled, so it is not part of the white space.
        let quote = self.expect == Expect::SecondByte;
        let end = end - usize::from(quote && end > 0);
        let outside = (quote || !in_string) && self.scalar.is_none();
        let from = if outside { self.white_before(cx, end) } else { end };
        if let Some(mark) = self.copying
            && self.mode == SkipMode::Inspect
            && from < end
        {
            let at = from.max(mark);
            self.hand_on(cx, mark, at, h);
            let offset = self.offset + at as u64;
            self.copied(offset, h).map_err(|raise| WalkError::new(at, raise, true))?;
        }
        if from > 0 {
            self.lead.clear();
        }
        // One byte over the limit is enough to report the overflow, when the next token ends the white space.
        let room = (self.config.key + 1).saturating_sub(self.lead.len());
        count(WorkKind::Hold, words(end.min(from + room).saturating_sub(from)));
        self.lead.extend_from_slice(cx.slice(from, end.min(from + room)));
        Ok(())
    }
}

#[inline]
fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let Some((last, rest)) = bytes.split_last()
        && is_white(*last)
    {
        bytes = rest;
    }
    bytes
}
