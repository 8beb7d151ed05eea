//! The machine: walks the tokens of each window, validates them, and carries out the interest of the handler in each
//! value.
//!
//! The machine handles masks and grammar, but no rules. [`guide`] explains it: the states and modes, the code that
//! handles each token, one block followed from the scan to the output, the offsets of errors, and the invariants.
//!
//! - `walk.rs` goes token by token and detects every error of the grammar. `walk_end.rs` has the ways in which it ends.
//! - `fast_path.rs` carries out the policies of handlers ([`Policy`](crate::policy::Policy)) with the loops of
//!   `members.rs`. Most members and elements never reach the walk. These shortcuts never report an error of their own:
//!   they stop before anything that is not plain and leave it to the walk.
//! - `skip_container.rs` skips dropped containers under `validation: structure` by their brackets.
//! - `not_json.rs` has the messages for bytes that begin neither a value nor a key.
//! - `ahead.rs` lets a handler look at the members of an object before it is asked about it.
//! - `carry_over.rs` keeps what crosses the end of a window or a chunk.
//!
//! Tests and a bench turn the shortcuts off, one by one or all (`crates/json/src/fast_paths.rs`): they make no difference but time.
//!
//! Between chunks only the fields of [`Machine`] and the scanner's carry remain. [`Machine::settle`] copies everything
//! else that is still needed.

mod ahead;
mod carry_over;
mod fast_path;
mod guide;
mod members;
mod not_json;
mod pending_member;
mod skip_container;
#[cfg(test)]
mod tests;
mod walk;
mod walk_end;

use crate::error::{Error, ErrorKind, Raise};
use crate::fast_paths::{FastPath, is_off};
use crate::levels::Levels;
use crate::limits::Limits;
use crate::path_tracker::PathTracker;
use crate::scalar::{ScalarState, ScalarStep};
use crate::scan::{ByteError, Carry, Fatal, Scanner, WINDOW, Window, with_window};
use crate::{Handler, Interest, ValueKind};
pub use ahead::{AheadEvent, ObjectAhead};
use pending_member::PendingMember;
use skip_container::LONG;
use walk_end::{WalkEnd, WalkError, bad};

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// Maximum number of nested containers.
    pub depth: usize,
    /// Maximum number of bytes of a key to hold, where the handler can do without longer ones.
    pub key: usize,
    /// The same where the handler needs all keys.
    pub longest_key: usize,
    /// Dropped values are checked only for terminated strings, balanced brackets, UTF-8 and control characters.
    pub structure: bool,
    /// White space is kept.
    pub keep_white: bool,
    /// The handler must be able to tell `""` from other strings when the value begins.
    pub detect_empty_strings: bool,
}

impl MachineConfig {
    /// Returns the settings of a run that checks all of a document, and keeps no white space.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            depth: limits.depth(),
            key: limits.key(),
            longest_key: limits.longest_key(),
            structure: false,
            keep_white: false,
            detect_empty_strings: false,
        }
    }
}

/// The tokens that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    /// After `[`.
    ValueOrEnd,
    /// A string value began at the end of a window, and its second byte decides its kind.
    SecondByte,
    Key,
    /// After `{`.
    KeyOrEnd,
    Colon,
    /// After a value: a comma or the end of the container.
    After,
    /// After the document.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SkipMode {
    Inspect,
    /// Lasts until the container at depth `floor` ends. `through`: its closing bracket is included; otherwise the mode
    /// ends before the bracket.
    Validate {
        floor: usize,
        through: bool,
    },
    Brackets {
        floor: usize,
        through: bool,
    },
}

/// The JSON state machine. It can be interrupted and resumed at every byte.
#[derive(Clone, Debug)]
pub struct Machine {
    config: MachineConfig,
    expect: Expect,
    mode: SkipMode,
    levels: Levels,
    tracker: PathTracker,
    scalar: Option<ScalarState>,
    /// A value is being copied: the bytes of the chunk from this position on have not been passed to the handler yet.
    copying: Option<usize>,
    /// The current string is dropped under `structure`: its escapes are not checked.
    lax_string: bool,
    /// Bytes of the latest windows, as long as all of them were inside the container that is skipped by its brackets.
    skipped: usize,
    member: PendingMember,
    /// White space at the end of earlier chunks, before the next token. Used only if white space is kept.
    lead: Vec<u8>,
    /// Absolute offset of the first byte of the current chunk.
    offset: u64,
    carry: Carry,
    steps: u64,
}

/// How much of a chunk was consumed. It has the size of a pointer to an error, so that a result is returned in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum FeedResult {
    /// The whole chunk.
    All,
    /// The chunk up to [`Machine::offset`], where the handler stopped the run. If a container begins there, the run can
    /// be continued with the bytes from that offset on.
    Stopped,
}

/// The current chunk, and the window of it whose masks are computed. All positions are relative to the chunk.
struct WindowContext<'a> {
    chunk: &'a [u8],
    window: &'a Window,
    /// Position of the window's first byte.
    base: usize,
    /// End of the bytes that may be examined: the end of the window, or its first invalid byte.
    limit: usize,
}

impl WindowContext<'_> {
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.chunk.get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn slice(&self, from: usize, to: usize) -> &[u8] {
        self.chunk.get(from..to).unwrap_or_default()
    }
}

impl Machine {
    /// Creates a machine for one document.
    pub fn new(config: MachineConfig) -> Self {
        Self {
            config,
            expect: Expect::Value,
            mode: SkipMode::Inspect,
            levels: Levels::new(),
            tracker: PathTracker::default(),
            scalar: None,
            copying: None,
            lax_string: false,
            skipped: 0,
            member: PendingMember::default(),
            lead: Vec::new(),
            offset: 0,
            carry: Carry::default(),
            steps: 0,
        }
    }

    /// Begins a new document and reuses the allocations of the old one.
    pub fn restart(&mut self, config: MachineConfig) {
        let mut new = Self::new(config);
        std::mem::swap(&mut new.tracker, &mut self.tracker);
        std::mem::swap(&mut new.lead, &mut self.lead);
        std::mem::swap(&mut new.member.held, &mut self.member.held);
        new.tracker.clear();
        new.lead.clear();
        new.member.held.clear();
        *self = new;
    }

    /// Becomes a copy of another machine, in its own allocations.
    pub fn copy_from(&mut self, other: &Self) {
        // Every field is named: a new one does not compile until it is copied, too.
        let Self {
            config,
            expect,
            mode,
            levels,
            tracker,
            scalar,
            copying,
            lax_string,
            skipped,
            member,
            lead,
            offset,
            carry,
            steps,
        } = other;
        self.config.clone_from(config);
        (self.expect, self.mode, self.scalar) = (*expect, *mode, *scalar);
        self.levels.clone_from(levels);
        self.tracker.copy_from(tracker);
        (self.copying, self.lax_string, self.skipped) = (*copying, *lax_string, *skipped);
        self.member.copy_from(member);
        self.lead.clone_from(lead);
        self.carry.clone_from(carry);
        (self.offset, self.steps) = (*offset, *steps);
    }

    /// Returns the absolute offset of the first byte that was not fed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of tokens, windows and pieces handled so far. Tests use it to bound the work.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts bytes before the document that are not fed, so that offsets stay absolute.
    pub fn skip_prefix(&mut self, bytes: u64) {
        self.offset += bytes;
    }

    /// Handles the next bytes of the document.
    pub fn feed<H: Handler + ?Sized>(
        &mut self,
        scanner: Scanner,
        chunk: &[u8],
        h: &mut H,
    ) -> Result<FeedResult, Error> {
        if !is_off(FastPath::ShortWrites) && self.continues_string(chunk, h) {
            return Ok(FeedResult::All);
        }
        with_window(|window| self.feed_windows(scanner, window, chunk, h))
    }

    /// Scans and handles one window after the other.
    fn feed_windows<H: Handler + ?Sized>(
        &mut self,
        scanner: Scanner,
        window: &mut Window,
        chunk: &[u8],
        h: &mut H,
    ) -> Result<FeedResult, Error> {
        if self.copying.is_some() {
            self.copying = Some(0);
        }
        self.member.at = 0;
        self.member.upto = 0;
        let (mut base, mut scanned) = (0, 0);
        while base < chunk.len() {
            if let SkipMode::Brackets { floor, .. } = self.mode
                && self.skipped >= LONG
            {
                // From here on, windows do not begin at multiples of their size.
                base += self.skip_rows(scanner, chunk.get(base..).unwrap_or_default(), floor);
                if base >= chunk.len() {
                    break;
                }
            }
            let end = chunk.len().min(base + WINDOW);
            let bytes = chunk.get(base..end).unwrap_or_default();
            scanner.scan(bytes, &mut self.carry, window);
            scanned = base;
            self.steps += 1;

            let fatal = window.fatal();
            let limit = fatal.map_or(end, |fatal| base + fatal.at);
            let mut from = base;
            let skipped = std::mem::take(&mut self.skipped);
            if let SkipMode::Brackets { floor, through } = self.mode
                && fatal.is_none()
                && !window.any_bad_escape()
                && !is_off(FastPath::BracketMasks)
            {
                // Only brackets matter here, so the tokens of the window may never be needed.
                let cx = WindowContext { chunk, window, base, limit };
                match self.leap(&cx, base, limit, floor, through) {
                    Ok(None) => {
                        from = end;
                        self.skipped = skipped.saturating_add(bytes.len());
                    }
                    Ok(Some(landed)) => from = landed,
                    Err(fail) => return Err(self.fail(&cx, fail, h)),
                }
            }
            if from < end || fatal.is_some() {
                scanner.list_tokens(window);
                let cx = WindowContext { chunk, window, base, limit };
                match self.window(&cx, from, fatal, h) {
                    Ok(WalkEnd::Next(_)) => {}
                    Ok(WalkEnd::Stop) => return Ok(FeedResult::Stopped),
                    Err(fail) => return Err(self.fail(&cx, fail, h)),
                }
            }
            base = end;
        }
        if !chunk.is_empty() {
            // The window still has the masks of the last part of the chunk. If that was skipped, nothing is copied, and the
            // masks are not needed.
            let cx = WindowContext { chunk, window, base: scanned, limit: chunk.len() };
            let in_string = self.carry.in_string();
            self.settle(&cx, chunk.len(), in_string, h).map_err(|fail| self.fail(&cx, fail, h))?;
        }
        self.offset += chunk.len() as u64;
        Ok(FeedResult::All)
    }

    /// Ends the document. Fails if it is not complete.
    pub fn end<H: Handler + ?Sized>(&mut self, h: &mut H) -> Result<(), Error> {
        let incomplete = self.scalar.is_some_and(|scalar| !scalar.is_complete());
        if self.expect != Expect::End || self.carry.in_string() || incomplete {
            let empty = self.expect == Expect::Value && self.levels.depth() == 0;
            let message =
                if empty { "the document is empty" } else { "the document ends too early" };
            let raise = Raise::new(ErrorKind::UnexpectedEnd, message);
            let inside = self.carry.in_string() || incomplete || self.expect == Expect::Value;
            let path = self.path(&[], inside && self.expect != Expect::Colon);
            return Err(Error::at(raise, self.offset, path));
        }
        self.scalar = None;
        self.copied(self.offset, h).map_err(|raise| Error::at(raise, self.offset, String::new()))
    }

    /// Places a raised error at the current offset and in the current container.
    pub fn place(&self, raise: Raise) -> Error {
        Error::at(raise, self.offset, self.path(&[], false))
    }

    /// Returns the JSON Pointer of the value before which the handler has stopped the run.
    pub fn next_pointer(&self) -> String {
        self.path(&[], true)
    }

    /// Turns the error of a walk into that of the run. First brings the handler up to the byte of the error, as if the
    /// chunk ended there.
    #[cold]
    fn fail<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        fail: WalkError,
        h: &mut H,
    ) -> Error {
        let path = self.path(cx.chunk, fail.inside);
        if let Err(earlier) = self.settle(cx, fail.at, fail.in_string, h) {
            let path = self.path(cx.chunk, earlier.inside);
            return Error::at(earlier.raise, self.offset + earlier.at as u64, path);
        }
        let offset = (self.offset + fail.at as u64).saturating_sub(u64::from(fail.before));
        Error::at(fail.raise, offset, path)
    }

    fn path(&self, chunk: &[u8], child: bool) -> String {
        // Containers inside a skipped one have no frame, so the path ends at the outermost skipped container.
        let depth = match self.mode {
            SkipMode::Brackets { floor, through } => floor - usize::from(through),
            _ => self.levels.depth(),
        };
        let child = child || matches!(self.mode, SkipMode::Brackets { through: true, .. });
        self.tracker.pointer(chunk, depth, child, |depth| self.levels.is_object_at(depth))
    }

    /// Handles the tokens of one window from `from` on, up to the first byte that is invalid in any context (`fatal`).
    fn window<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        mut from: usize,
        fatal: Option<Fatal>,
        h: &mut H,
    ) -> Result<WalkEnd, WalkError> {
        if cx.base < cx.limit
            && let WalkEnd::Stop = self.resume(cx, h)?
        {
            return Ok(WalkEnd::Stop);
        }
        loop {
            let bad = cx.window.bad_escape(from - cx.base).map(|at| cx.base + at);
            let bad = bad.filter(|at| *at < cx.limit);
            if let WalkEnd::Stop = self.run(cx, from, bad.unwrap_or(cx.limit), h)? {
                return Ok(WalkEnd::Stop);
            }
            match (bad, fatal) {
                (Some(at), _) if self.is_lax() => from = at + 1,
                (Some(at), _) => return Err(self.flaw(at, ByteError::Escape, true)),
                (None, Some(fatal)) => {
                    return Err(self.flaw(cx.limit, fatal.flaw, fatal.in_string));
                }
                (None, None) => break,
            }
        }
        // White space can be removed only while the masks of this window exist, so copied bytes are written now.
        if !self.config.keep_white
            && let Some(mark) = self.copying
        {
            self.hand_on(cx, mark, cx.limit, h);
            self.copying = Some(cx.limit);
        }
        Ok(WalkEnd::Next(0))
    }

    /// Whether the current string is one whose escapes are not checked.
    fn is_lax(&self) -> bool {
        self.lax_string || matches!(self.mode, SkipMode::Brackets { .. })
    }

    #[cold]
    fn flaw(&self, at: usize, flaw: ByteError, in_string: bool) -> WalkError {
        let (kind, message) = match flaw {
            ByteError::Control => (ErrorKind::Syntax, "unescaped control character in a string"),
            ByteError::Utf8 => (ErrorKind::Encoding, "invalid UTF-8"),
            ByteError::Escape => (ErrorKind::Syntax, "invalid escape sequence"),
        };
        // The string is a value if something other than a colon is expected after it, or if its second byte decides its
        // kind. Otherwise it is a key.
        let value = matches!(self.expect, Expect::After | Expect::End | Expect::SecondByte);
        let inside = in_string && value;
        WalkError { in_string, ..WalkError::new(at, Raise::new(kind, message), inside) }
    }

    /// Resumes what the previous window cut: a scalar, or a string whose second byte decides its kind.
    fn resume<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        h: &mut H,
    ) -> Result<WalkEnd, WalkError> {
        if let Some(scalar) = self.scalar.take() {
            self.scalar_step(scalar.run(cx.slice(0, cx.limit), cx.base))?;
        }
        if self.expect != Expect::SecondByte {
            return Ok(WalkEnd::Next(0));
        }
        let empty = cx.byte(cx.base) == b'"';
        let kind = if empty { ValueKind::EmptyString } else { ValueKind::String };
        self.expect = self.after();
        let begun = self.begin_value(cx, cx.base, kind, true, h);
        match begun.map_err(WalkError::one_byte_before)? {
            Interest::Stop => {
                // The value begins at its quote, which may be in an earlier chunk.
                self.offset = self.offset.saturating_sub(1);
                return Ok(WalkEnd::Stop);
            }
            Interest::SkipRest => self.skip_rest(),
            Interest::Skip => self.lax_string = self.config.structure,
            _ => {}
        }
        Ok(WalkEnd::Next(0))
    }

    /// Drops the rest of the innermost container.
    #[inline]
    fn skip_rest(&mut self) {
        let floor = self.levels.depth();
        self.mode = if self.config.structure {
            // The leap stops before the closing bracket of the container, where `After` is correct.
            self.expect = Expect::After;
            SkipMode::Brackets { floor, through: false }
        } else {
            SkipMode::Validate { floor, through: false }
        };
    }

    fn scalar_step(&mut self, step: ScalarStep) -> Result<(), WalkError> {
        match step {
            ScalarStep::Ended(_) => Ok(()),
            ScalarStep::More(state) => {
                self.scalar = Some(state);
                Ok(())
            }
            ScalarStep::Bad(at) => Err(bad(at, "invalid number or literal", true)),
        }
    }

    /// Handles the tokens in `from..to` of the chunk, in whatever modes they need.
    fn run<H: Handler + ?Sized>(
        &mut self,
        cx: &WindowContext<'_>,
        from: usize,
        to: usize,
        h: &mut H,
    ) -> Result<WalkEnd, WalkError> {
        let tokens = cx.window.tokens();
        let before = |at: usize| cx.window.tokens_before(at - cx.base);
        let (mut next, count) = (before(from), before(to));
        let mut at = from;
        loop {
            let begun = next;
            let walk = match self.mode {
                SkipMode::Inspect => self.walk::<false, H>(cx, next, to, h)?,
                SkipMode::Validate { .. } => self.walk::<true, H>(cx, next, to, h)?,
                SkipMode::Brackets { floor, through } => {
                    if let Some(token) = tokens.get(next) {
                        at = at.max(cx.base + usize::from(*token));
                    }
                    match self.skip_to_end(cx, at, to, floor, through)? {
                        Some(landed) => WalkEnd::Next(before(landed)),
                        None => WalkEnd::Next(count),
                    }
                }
            };
            match walk {
                WalkEnd::Stop => return Ok(WalkEnd::Stop),
                WalkEnd::Next(token) => next = token,
            }
            self.steps += (next - begun) as u64 + 1;
            if next >= count {
                return Ok(WalkEnd::Next(count));
            }
        }
    }
}

/// Reads a complete text under the default limits. Offsets count `prefix` bytes before the text.
///
/// # Errors
/// The text is invalid, or the handler fails.
pub fn read(text: &[u8], prefix: u64, h: &mut dyn Handler) -> Result<(), Error> {
    read_within(text, prefix, &Limits::new(), h)
}

/// Reads a complete text under the given limits. Offsets count `prefix` bytes before the text.
///
/// # Errors
/// The text is invalid, or the handler fails.
pub fn read_within(
    text: &[u8],
    prefix: u64,
    limits: &Limits,
    h: &mut dyn Handler,
) -> Result<(), Error> {
    let mut machine = Machine::new(MachineConfig {
        depth: limits.depth(),
        key: limits.key(),
        longest_key: limits.longest_key(),
        structure: false,
        keep_white: false,
        detect_empty_strings: false,
    });
    machine.skip_prefix(prefix);
    machine.feed(Scanner::new(), text, h)?;
    machine.end(h)
}
