//! The grammar: which tokens may follow each other, and which interest the handler has in each value.
//!
//! A walk may end at any token and continue later. Apart from that, this module does not know windows and chunks. The
//! bytes between tokens (copied or held) are handled in `carry_over.rs`. `fast_path.rs` handles most members and elements
//! before the walk sees them. The functions for values and closing brackets here are used by both.
//!
//! Strings need no code here: the scanner has checked their bytes, so a string is one token.
//!
//! Invariants:
//! - When a walk ends, `expect`, `mode` and the levels are the complete state for the next one.
//! - The walk is the only code that knows errors of the grammar. An error has the position of its token or of a byte in
//!   it, and everything before that position is valid.
//! - Each iteration consumes at least one token, so the work is linear in the tokens.

use std::ops::ControlFlow;

use super::not_json::{Around, not_a_key, not_a_value};
use super::{Expect, Machine, SkipMode, WalkEnd, WalkError, WindowContext, bad};
use crate::error::{LimitName, Raise};
use crate::fast_paths::{FastPath, is_off};
use crate::key::RawKey;
use crate::scalar::{self, ScalarStep};
use crate::scan::Carry;
use crate::test_work::{MachineRoute, count_route};
use crate::{Handler, Interest, ValueKind, ValueSlot};

impl Machine {
    /// Walks the tokens from `next` to position `to`. With `QUIET` the handler is not asked, and the walk ends with the
    /// container at the mode's floor.
    ///
    /// # Errors
    /// A token that may not come next, a scalar that is invalid, too many nested containers, or an error of the handler.
    /// The tokens before it were handled.
    #[inline(never)]
    pub(super) fn walk<const QUIET: bool, H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        mut next: usize,
        to: usize,
        h: &mut H,
    ) -> Result<WalkEnd, WalkError> {
        let count = cx.window.tokens_before(to - cx.base);
        let tokens = cx.window.tokens().get(..count).unwrap_or_default();
        while let Some(token) = tokens.get(next) {
            let at = cx.base + usize::from(*token);
            let byte = cx.byte(at);
            // A token outside the string: its escapes were skipped or checked by now.
            self.lax_string = false;
            // The fast path first. If it handles nothing, this token is not plain, and the grammar below handles it.
            let passed = if is_off(FastPath::Policies) {
                next
            } else if QUIET && let SkipMode::Validate { floor, .. } = self.mode {
                self.validate_fast(cx, tokens, next, floor)
            } else if self.may_use_policy(byte) {
                match self.inspect_fast(cx, tokens, next, to, h)? {
                    ControlFlow::Break(walk) => return Ok(walk),
                    ControlFlow::Continue(token) => token,
                }
            } else {
                next
            };
            if passed > next {
                next = passed;
                continue;
            }
            match self.expect {
                Expect::Key | Expect::KeyOrEnd => {
                    if byte == b'"' {
                        count_route(MachineRoute::WalkMember, 1);
                        self.tracker.key(at);
                        if !QUIET {
                            self.begin_key(cx, at, h)?;
                        }
                        self.expect = Expect::Colon;
                    } else if byte == b'}' && self.expect == Expect::KeyOrEnd {
                        if let Some(walk) = self.close::<QUIET, H>(cx, next, at, byte, h)? {
                            return Ok(walk);
                        }
                    } else {
                        let may_end = self.expect == Expect::KeyOrEnd;
                        return Err(bad(at, not_a_key(byte, may_end), false));
                    }
                }
                // The key ends here and not at its closing quote, which is not a token.
                Expect::Colon => {
                    if byte != b':' {
                        return Err(bad(at, "expected `:` after the key", false));
                    }
                    // Without a handler only the path of errors needs the key.
                    if QUIET {
                        if self.member.split {
                            self.tracker.more_key(cx.slice(0, at));
                            self.member.split = false;
                        }
                    } else {
                        self.end_key(cx, at, h)?;
                    }
                    self.expect = Expect::Value;
                }
                Expect::ValueOrEnd if byte == b']' => {
                    if let Some(walk) = self.close::<QUIET, H>(cx, next, at, byte, h)? {
                        return Ok(walk);
                    }
                }
                Expect::Value | Expect::ValueOrEnd => {
                    if !matches!(byte, b'{' | b'[')
                        && !self.levels.in_object()
                        && self.levels.depth() > 0
                    {
                        count_route(MachineRoute::WalkElement, 1);
                    }
                    if QUIET {
                        self.quiet_value(cx, at, byte)?;
                    } else if let Some(walk) = self.value(cx, next, at, byte, h)? {
                        return Ok(walk);
                    }
                }
                Expect::After => {
                    if byte == b',' {
                        // A copied scalar ends here. White space before a comma is never kept.
                        if !QUIET {
                            self.finish_copy(cx, at, h)?;
                            self.lead.clear();
                        }
                        if self.levels.in_object() {
                            self.expect = Expect::Key;
                        } else {
                            self.tracker.next_element();
                            self.expect = Expect::Value;
                        }
                    } else if matches!(byte, b'}' | b']') {
                        if let Some(walk) = self.close::<QUIET, H>(cx, next, at, byte, h)? {
                            return Ok(walk);
                        }
                    } else {
                        return Err(bad(at, "expected `,` or the end of the container", false));
                    }
                }
                Expect::End => {
                    return Err(bad(
                        at,
                        "trailing characters after the document (newline-delimited JSON?)",
                        false,
                    ));
                }
                // Not reached: the quote is the last byte of its window, and `resume` begins the next one.
                Expect::SecondByte => return Err(bad(at, "unterminated string", false)),
            }
            next += 1;
        }
        Ok(WalkEnd::Next(count))
    }

    /// Whether the fast path may handle the token that begins with this byte: a key, or an element of an array. Other
    /// tokens are handled by the walk. White space that is kept needs the walk, which passes it to the handler.
    #[inline]
    fn may_use_policy(&self, byte: u8) -> bool {
        match self.expect {
            _ if self.config.keep_white => false,
            Expect::Key | Expect::KeyOrEnd => byte == b'"',
            Expect::Value | Expect::ValueOrEnd => {
                !self.levels.in_object() && self.levels.depth() > 0 && byte != b']'
            }
            _ => false,
        }
    }

    /// Calls [`Handler::close`] for the container that was entered last, whose closing bracket is at `at`.
    #[inline]
    pub(super) fn ask_at_end<H: Handler + ?Sized>(
        &mut self,
        at: usize,
        h: &mut H,
    ) -> Result<(), WalkError> {
        h.close(self.offset + at as u64).map_err(|halt| WalkError::new(at, halt, false))
    }

    /// Returns what comes after a value at the current depth.
    #[inline]
    pub(super) fn after(&self) -> Expect {
        if self.levels.depth() == 0 { Expect::End } else { Expect::After }
    }

    /// Handles a value inside a container that is copied or dropped. Only containers and scalars need work.
    #[inline]
    fn quiet_value(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        byte: u8,
    ) -> Result<(), WalkError> {
        match byte {
            b'"' => {}
            b'{' | b'[' => {
                self.deeper(at, byte == b'{')?;
                self.tracker.push();
                self.expect = if byte == b'{' { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                return Ok(());
            }
            _ => {
                let inside = self.expect == Expect::Value;
                self.expect = self.after();
                return self.check_scalar(cx, at, byte, inside);
            }
        }
        self.expect = self.after();
        Ok(())
    }

    /// Checks a scalar that begins at `at` with `byte`. If the window cuts it, the next one checks the rest. `inside`: an
    /// error belongs to the current member or element, so that its path includes it.
    #[inline]
    fn check_scalar(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        byte: u8,
        inside: bool,
    ) -> Result<(), WalkError> {
        match scalar::scan(cx.slice(0, cx.limit), at, byte) {
            ScalarStep::Ended(_) => Ok(()),
            ScalarStep::Bad(bad_at) if bad_at == at => Err(self.no_value_error(at, byte, inside)),
            step => self.scalar_step(step),
        }
    }

    /// Returns the error of `byte` at the place of a value.
    #[cold]
    fn no_value_error(&self, at: usize, byte: u8, inside: bool) -> WalkError {
        let around = match self.levels.depth() {
            0 => Around::Nothing,
            _ if self.levels.in_object() => Around::Object,
            _ => Around::Array,
        };
        bad(at, not_a_value(byte, around), inside)
    }

    /// Opens a container whose bracket is at `at`.
    ///
    /// # Errors
    /// It exceeds the limit of nested containers.
    #[inline]
    pub(super) fn deeper(&mut self, at: usize, object: bool) -> Result<(), WalkError> {
        if self.levels.depth() >= self.config.depth {
            let message = format!("more than {} nested containers", self.config.depth);
            let raise = Raise::limit(LimitName::Depth, message);
            return Err(WalkError::new(at, raise, true));
        }
        self.levels.push(object);
        Ok(())
    }

    /// Checks that a closing bracket matches the innermost open container.
    #[inline]
    pub(super) fn matches(&self, at: usize, byte: u8) -> Result<(), WalkError> {
        let object = self.levels.in_object();
        if (byte == b'}') != object {
            let message = if object {
                "expected `}` to close the object"
            } else {
                "expected `]` to close the array"
            };
            return Err(bad(at, message, false));
        }
        Ok(())
    }

    /// Closes the innermost container, whose bracket `byte` is the token `next` at `at`. Returns the end of the walk if the
    /// mode ends with it.
    ///
    /// If only the rest of the container was dropped, the mode ends before the bracket, and the walk with the handler
    /// closes the container.
    #[inline]
    pub(super) fn close<const QUIET: bool, H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        next: usize,
        at: usize,
        byte: u8,
        h: &mut H,
    ) -> Result<Option<WalkEnd>, WalkError> {
        self.matches(at, byte)?;
        let mut done = None;
        if QUIET {
            if let SkipMode::Validate { floor, through } = self.mode
                && self.levels.depth() == floor
            {
                self.mode = SkipMode::Inspect;
                if !through {
                    return Ok(Some(WalkEnd::Next(next)));
                }
                done = Some(WalkEnd::Next(next + 1));
            }
        } else {
            self.finish_copy(cx, at, h)?;
            self.give_lead(cx, at, h)?;
            self.lead.clear();
            self.ask_at_end(at, h)?;
        }
        self.levels.pop();
        self.tracker.pop();
        self.expect = self.after();
        // A copied container ends after its bracket. The handler is called when `expect` and the levels are final.
        if done.is_some() && self.copying.is_some() {
            self.finish_copy(cx, at + 1, h)?;
        }
        Ok(done)
    }

    /// Handles a value in an inspected container, or the document itself. Asks the handler and carries out its interest.
    ///
    /// Returns `None` if the token `next` is consumed and the mode is unchanged. If the second byte of a string decides its
    /// kind and is not in the window, the question is put off until the next window.
    #[inline]
    pub(super) fn value<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        next: usize,
        at: usize,
        byte: u8,
        h: &mut H,
    ) -> Result<Option<WalkEnd>, WalkError> {
        let kind = match byte {
            b'"' if self.config.detect_empty_strings => {
                if at + 1 >= cx.limit {
                    self.expect = Expect::SecondByte;
                    return Ok(None);
                }
                if cx.byte(at + 1) == b'"' { ValueKind::EmptyString } else { ValueKind::String }
            }
            b'"' => ValueKind::String,
            b'{' => ValueKind::Object,
            b'[' => ValueKind::Array,
            b't' | b'f' => ValueKind::Bool,
            b'n' => ValueKind::Null,
            b'-' | b'0'..=b'9' => ValueKind::Number,
            // Under `structure` a dropped value need not be valid. One that is kept must be.
            _ if self.config.structure && !matches!(byte, b'}' | b']' | b',' | b':') => {
                return self.no_value(cx, next, at, h);
            }
            _ => return Err(self.no_value_error(at, byte, self.expect == Expect::Value)),
        };
        // The limit comes first: the handler must not see a container that is an error.
        if kind.is_container() && self.levels.depth() >= self.config.depth {
            self.deeper(at, kind == ValueKind::Object)?;
        }
        if kind == ValueKind::Object
            && !self.levels.in_object()
            && let Some(mut ahead) = self.ahead(cx, next, at)
        {
            h.look_ahead(&mut ahead);
        }
        let interest = self.begin_value(cx, at, kind, false, h)?;
        self.apply_interest(cx, next, at, kind, interest)
    }

    /// Drops the value at `at` whose first byte is `byte`, a container. Returns the end of the walk if the mode changes.
    #[inline]
    pub(super) fn skipped(
        &mut self,
        cx: &WindowContext<'_>,
        next: usize,
        at: usize,
        byte: u8,
    ) -> Result<Option<WalkEnd>, WalkError> {
        let kind = if byte == b'{' { ValueKind::Object } else { ValueKind::Array };
        self.apply_interest(cx, next, at, kind, Interest::Skip)
    }

    /// Handles a byte at the place of a value that cannot begin a value, under `structure`. If the value is dropped, the
    /// byte is not an error.
    #[cold]
    fn no_value<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        next: usize,
        at: usize,
        h: &mut H,
    ) -> Result<Option<WalkEnd>, WalkError> {
        // The handler treats it like any scalar.
        let interest = self.begin_value(cx, at, ValueKind::Number, false, h)?;
        if let Some(mark) = self.copying {
            self.hand_on(cx, mark, at, h);
            self.copying = Some(at);
            return Err(self.no_value_error(at, cx.byte(at), true));
        }
        self.apply_interest(cx, next, at, ValueKind::Number, interest)
    }

    /// Carries out the handler's interest in the value at `at`, which is token `next`. Returns the end of the walk if the
    /// mode changes; otherwise the value's token is consumed.
    ///
    /// | interest | scalar | container |
    /// |---|---|---|
    /// | `Stop`, `SkipRest` | the token is not consumed | the token is not consumed |
    /// | `Skip` | checked, unless under `structure` | `Validate`, or `Brackets` under `structure` |
    /// | `Copy`, `CopyMember` | checked | `Validate` |
    /// | `Inspect` | – | stays in `Inspect` |
    #[inline]
    pub(super) fn apply_interest(
        &mut self,
        cx: &WindowContext<'_>,
        next: usize,
        at: usize,
        kind: ValueKind,
        interest: Interest,
    ) -> Result<Option<WalkEnd>, WalkError> {
        if interest == Interest::Stop {
            return Ok(Some(WalkEnd::Stop));
        }
        if interest == Interest::SkipRest {
            self.skip_rest();
            return Ok(Some(WalkEnd::Next(next)));
        }
        if !kind.is_container() {
            // The bytes of a string are checked by the scanner, except for escapes under `structure`.
            self.lax_string = self.config.structure && interest == Interest::Skip;
            self.expect = self.after();
            if matches!(kind, ValueKind::String | ValueKind::EmptyString)
                || (self.config.structure && interest == Interest::Skip)
            {
                return Ok(None);
            }
            return self.check_scalar(cx, at, cx.byte(at), true).map(|()| None);
        }
        self.deeper(at, kind == ValueKind::Object)?;
        if interest == Interest::Skip && self.config.structure {
            // `leap` tracks neither the path nor the expected token.
            self.mode = SkipMode::Brackets { floor: self.levels.depth(), through: true };
            return Ok(Some(WalkEnd::Next(next + 1)));
        }
        self.tracker.push();
        self.expect = if kind == ValueKind::Object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
        // The walk with the handler continues inside the container.
        if interest == Interest::Inspect {
            return Ok(None);
        }
        self.mode = SkipMode::Validate { floor: self.levels.depth(), through: true };
        Ok(Some(WalkEnd::Next(next + 1)))
    }

    /// Asks the handler about the value at `at` and begins to copy it if requested. `cut`: the value is a string whose
    /// opening quote was the last byte of the previous window.
    #[inline]
    pub(super) fn begin_value<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        kind: ValueKind,
        cut: bool,
        h: &mut H,
    ) -> Result<Interest, WalkError> {
        // The handler receives the white space first, so that it can write it before the value.
        let keep = self.config.keep_white;
        let in_object = self.levels.in_object();
        if keep && !in_object && self.levels.depth() > 0 {
            self.give_lead(cx, at - usize::from(cut && at > 0), h)?;
        } else if keep && in_object {
            self.give_gap(cx, at - usize::from(cut && at > 0), h)?;
        }
        let offset = if cut { self.offset + at as u64 } else { self.kind_offset(at, kind) };
        let interest = self.ask(cx, at, offset, kind, in_object, h)?;
        if interest == Interest::Stop {
            self.stop(cx, at, h)?;
            return Ok(interest);
        }
        // The quote is either still in the chunk, or it is written separately.
        let lost = cut && (at == 0 || !keep);
        let start = if cut && !lost { at - 1 } else { at };
        match interest {
            Interest::CopyMember => self.copying = Some(self.hand_on_key(cx, start, lost, h)),
            Interest::Copy => self.copying = Some(start),
            _ => {}
        }
        if lost && self.copying.is_some() {
            h.raw(b"\"");
        }
        // The handler has seen or written the key.
        self.lead.clear();
        if self.member.split {
            self.member.split = false;
            self.member.held.clear();
        }
        Ok(interest)
    }

    /// Returns the offset of the byte that decides the kind of the value at `at`: its first byte, or the second byte of
    /// a string if empty strings are detected.
    #[inline]
    pub(super) fn kind_offset(&self, at: usize, kind: ValueKind) -> u64 {
        let second = self.config.detect_empty_strings
            && matches!(kind, ValueKind::String | ValueKind::EmptyString);
        self.offset + at as u64 + u64::from(second)
    }

    /// Calls [`Handler::value`] with the place of the value at `at`.
    #[inline]
    fn ask<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        offset: u64,
        kind: ValueKind,
        in_object: bool,
        h: &mut H,
    ) -> Result<Interest, WalkError> {
        let slot = if in_object {
            ValueSlot::Member(self.key(cx))
        } else if self.levels.depth() == 0 {
            ValueSlot::Top
        } else {
            ValueSlot::Element(self.tracker.index())
        };
        h.value(slot, kind, offset).map_err(|raise| WalkError::new(at, raise, true))
    }

    /// Returns the current key: from the chunk, or from `held` if it began in an earlier chunk.
    #[inline]
    fn key<'a>(&'a self, cx: &'a WindowContext<'_>) -> RawKey<'a> {
        let member = &self.member;
        if member.long {
            RawKey::long()
        } else if member.split {
            let raw = member.held.get(1..member.key_len.saturating_sub(1));
            RawKey::new(raw.unwrap_or_default(), false).with_entry(member.entry).at(member.offset)
        } else {
            let raw = cx.slice(member.at + 1, member.end.saturating_sub(1));
            // The mask of backslashes is that of the current window only.
            let plain = member.at >= cx.base && !cx.window.any_backslash();
            RawKey::new(raw, plain).with_entry(member.entry).at(member.offset)
        }
    }

    /// Brings the machine into its state before the value at `at`, as if the chunk ended there. The byte before the value
    /// is outside strings and scalars, so the scanner's carry is that of a new document.
    #[cold]
    pub(super) fn stop<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        at: usize,
        h: &mut H,
    ) -> Result<(), WalkError> {
        self.settle(cx, at, false, h)?;
        self.offset += at as u64;
        self.carry = Carry::default();
        Ok(())
    }
}
