//! The machine: runs over the tokens of each window, validates, and does for each value what its handler wants.
//!
//! Knows masks and grammar, no rule. Three gaits, of which every value takes one:
//!
//! ```text
//! Inspect   walk::<false>   the handler is asked about each member and element
//! Quiet     walk::<true>    the same grammar without the handler: copied containers, and dropped ones under `full`
//! Leap      leap            brackets alone, on masks: dropped containers under `structure`
//! ```
//!
//! The walk goes token by token and knows every error. What is usual is passed in front of it, by `members.rs` (Inspect) and
//! `quiet.rs` (Quiet), with the loops of `loops.rs`.
//!
//! Invariants:
//! - The place of an error is the first byte with which no valid document goes on (its length, if it ended too early).
//!   What the handler has seen by then is what it would have seen had the chunk ended there; so neither the error nor
//!   the output before it depends on where the input was cut.
//! - Between chunks only [`Machine`]'s fields and the scanner's carry remain; [`Machine::settle`] copies what must stay.
//! - Work is bounded by the bytes of the chunk; nothing recurses.

mod carry_over;
mod member_loops;
mod members;
mod skip_container;
mod validate_only;
mod walk;

use crate::error::{Error, ErrorKind, Raise};
use crate::json::levels::Levels;
use crate::json::path_tracker::PathTracker;
use crate::json::scalar::{ScalarState, ScalarStep};
use crate::json::{Halt, Handler, Interest, ValueKind};
use crate::limits::Limits;
use crate::scan::{ByteError, Carry, Fatal, Scanner, WINDOW, Window};

/// What does not change during a run.
#[derive(Clone, Debug)]
pub(crate) struct MachineConfig {
    /// Containers that may be open at once.
    pub(crate) depth: usize,
    /// Bytes of a key that may be held.
    pub(crate) key: usize,
    /// Dropped values are checked for strings, brackets, UTF-8 and control characters alone.
    pub(crate) structure: bool,
    /// White space stays.
    pub(crate) keep_white: bool,
    /// The handler must know `""` from other strings when they begin.
    pub(crate) detect_empty_strings: bool,
}

/// What the next token must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    /// Behind `[`.
    ValueOrEnd,
    /// A string value began, and its second byte decides what it is.
    SecondByte,
    Key,
    /// Behind `{`.
    KeyOrEnd,
    Colon,
    /// A comma or the end of the container.
    After,
    /// The document is complete.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SkipMode {
    Inspect,
    /// Until the container at this depth ends; `through` its closing bracket, or up to it.
    Validate {
        floor: usize,
        through: bool,
    },
    Brackets {
        floor: usize,
        through: bool,
    },
}

/// Resumable at every byte.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    config: MachineConfig,
    expect: Expect,
    mode: SkipMode,
    levels: Levels,
    tracker: PathTracker,
    scalar: Option<ScalarState>,
    /// Bytes go to the handler: those from here on, in the chunk, are still to be handed on.
    copying: Option<usize>,
    /// A string is dropped under `structure`: its escapes are not checked.
    lax_string: bool,
    member: PendingMember,
    /// White space before the next token that an earlier chunk ended with.
    lead: Vec<u8>,
    /// Absolute offset of the chunk.
    offset: u64,
    carry: Carry,
    steps: u64,
    /// The machine as it was when the value began that was answered with [`Interest::Mark`].
    checkpoint: Option<Box<Machine>>,
}

/// The member whose value has not begun.
#[derive(Clone, Debug, Default)]
struct PendingMember {
    /// Position of the key's opening quote in the chunk, unless `split`.
    at: usize,
    /// Position behind its closing quote.
    end: usize,
    /// The key began in an earlier chunk: `held` has it, and what followed up to `upto`.
    split: bool,
    held: Vec<u8>,
    /// The chunk's bytes up to here are in `held` too (white space kept).
    upto: usize,
    /// Length of the key with its quotes, in `held`, once it is complete.
    key_len: usize,
    /// The key is over the limit and not held.
    long: bool,
}

/// How far a chunk was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedResult {
    /// To its end.
    All,
    /// The handler stopped the run; [`Machine::offset`] is where.
    Stopped,
}

/// Why a chunk was not taken.
#[derive(Debug)]
pub(crate) enum MachineFailure {
    Error(Error),
    /// See [`Halt::Rewind`].
    Rewind,
    /// See [`Halt::Overdue`].
    Overdue,
}

/// The part of a chunk whose masks are at hand.
struct WindowContext<'a> {
    chunk: &'a [u8],
    window: &'a Window,
    /// Where the window begins in the chunk.
    base: usize,
    /// What may be looked at ends here: the chunk's end, or the first bad byte.
    limit: usize,
}

/// What ended a walk before the tokens did.
struct WalkError {
    at: usize,
    halt: Halt,
    /// The error is inside the current member or element, not between two of them.
    inside: bool,
    in_string: bool,
    /// The place is the byte before `at`, which may have gone with an earlier chunk.
    before: bool,
}

impl WalkError {
    fn one_byte_before(self) -> Self {
        Self { before: true, ..self }
    }

    fn new(at: usize, halt: impl Into<Halt>, inside: bool) -> Self {
        Self { at, halt: halt.into(), inside, in_string: false, before: false }
    }
}

/// A walk ends at the end of its tokens, or earlier.
enum WalkEnd {
    /// Go on with this token, in the mode that is set now.
    Next(usize),
    /// The handler stopped the run.
    Stop,
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
    pub(crate) fn new(config: MachineConfig) -> Self {
        Self {
            config,
            expect: Expect::Value,
            mode: SkipMode::Inspect,
            levels: Levels::new(),
            tracker: PathTracker::default(),
            scalar: None,
            copying: None,
            lax_string: false,
            member: PendingMember::default(),
            lead: Vec::new(),
            offset: 0,
            carry: Carry::default(),
            steps: 0,
            checkpoint: None,
        }
    }

    /// Begins a new document; what was allocated is used again.
    pub(crate) fn restart(&mut self, config: MachineConfig) {
        let mut new = Self::new(config);
        std::mem::swap(&mut new.tracker, &mut self.tracker);
        std::mem::swap(&mut new.lead, &mut self.lead);
        std::mem::swap(&mut new.member.held, &mut self.member.held);
        new.tracker.clear();
        new.lead.clear();
        new.member.held.clear();
        *self = new;
    }

    /// Absolute offset of the first byte that was not fed.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Tokens, windows and pieces handled so far: a measure of work for tests.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Skips bytes in front of the document that count for offsets only.
    pub(crate) fn skip_prefix(&mut self, bytes: u64) {
        self.offset += bytes;
    }

    /// The machine as it was at the value that was last answered with [`Interest::Mark`], and that value's offset.
    pub(crate) fn take_checkpoint(&mut self) -> Option<(Machine, u64)> {
        let machine = *self.checkpoint.take()?;
        let offset = machine.offset;
        Some((machine, offset))
    }

    /// Takes the next bytes.
    pub(crate) fn feed<H: Handler>(
        &mut self,
        scanner: Scanner,
        window: &mut Window,
        chunk: &[u8],
        h: &mut H,
    ) -> Result<FeedResult, MachineFailure> {
        if self.copying.is_some() {
            self.copying = Some(0);
        }
        self.member.at = 0;
        self.member.upto = 0;
        let mut base = 0;
        while base < chunk.len() {
            let end = chunk.len().min(base + WINDOW);
            let bytes = chunk.get(base..end).unwrap_or_default();
            scanner.scan(bytes, &mut self.carry, window);
            self.steps += 1;

            let fatal = window.fatal();
            let limit = fatal.map_or(end, |fatal| base + fatal.at);
            let mut from = base;
            if let SkipMode::Brackets { floor, through } = self.mode
                && fatal.is_none()
                && !window.any_bad_escape()
            {
                // Nothing but brackets matters, perhaps in the whole window.
                let cx = WindowContext { chunk, window, base, limit };
                match self.leap(&cx, base, limit, floor, through) {
                    Ok(None) => from = end,
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
        if let Some(base) = chunk.len().checked_sub(1) {
            // The masks of the last window are still there.
            let base = base / WINDOW * WINDOW;
            let cx = WindowContext { chunk, window, base, limit: chunk.len() };
            let in_string = self.carry.in_string();
            self.settle(&cx, chunk.len(), in_string, h).map_err(|fail| self.fail(&cx, fail, h))?;
        }
        self.offset += chunk.len() as u64;
        Ok(FeedResult::All)
    }

    /// The document ends here.
    pub(crate) fn end<H: Handler>(&mut self, h: &mut H) -> Result<(), MachineFailure> {
        let incomplete = self.scalar.is_some_and(|scalar| !scalar.is_complete());
        if self.expect != Expect::End || self.carry.in_string() || incomplete {
            let empty = self.expect == Expect::Value && self.levels.depth() == 0;
            let message =
                if empty { "the document is empty" } else { "the document ends too early" };
            let raise = Raise::new(ErrorKind::UnexpectedEnd, message);
            let inside = self.carry.in_string() || incomplete || self.expect == Expect::Value;
            let path = self.path(&[], inside && self.expect != Expect::Colon);
            return Err(MachineFailure::Error(Error::at(raise, self.offset, path)));
        }
        self.scalar = None;
        self.copied(self.offset, h).map_err(|halt| self.failure(halt, self.offset, String::new()))
    }

    /// An error at the place where the input now is.
    pub(crate) fn place(&self, raise: Raise) -> Error {
        Error::at(raise, self.offset, self.path(&[], false))
    }

    fn failure(&self, halt: Halt, offset: u64, path: String) -> MachineFailure {
        match halt {
            Halt::Error(raise) => MachineFailure::Error(Error::at(raise, offset, path)),
            Halt::Rewind => MachineFailure::Rewind,
            Halt::Overdue => MachineFailure::Overdue,
        }
    }

    /// Brings the handler up to the failing byte, as if the chunk ended there.
    #[cold]
    fn fail<H: Handler>(
        &mut self,
        cx: &WindowContext<'_>,
        fail: WalkError,
        h: &mut H,
    ) -> MachineFailure {
        if !matches!(fail.halt, Halt::Error(_)) {
            return self.failure(fail.halt, 0, String::new());
        }
        let path = self.path(cx.chunk, fail.inside);
        if let Err(earlier) = self.settle(cx, fail.at, fail.in_string, h) {
            let path = self.path(cx.chunk, earlier.inside);
            return self.failure(earlier.halt, self.offset + earlier.at as u64, path);
        }
        let offset = (self.offset + fail.at as u64).saturating_sub(u64::from(fail.before));
        self.failure(fail.halt, offset, path)
    }

    fn path(&self, chunk: &[u8], child: bool) -> String {
        // Containers that are leapt over have no frame; the path ends at the outermost of them.
        let depth = match self.mode {
            SkipMode::Brackets { floor, through } => floor - usize::from(through),
            _ => self.levels.depth(),
        };
        let child = child || matches!(self.mode, SkipMode::Brackets { through: true, .. });
        self.tracker.pointer(chunk, depth, child, |depth| self.levels.is_object_at(depth))
    }

    /// Handles one window from `from` on: its tokens in order, up to the first byte that is bad whatever the grammar says.
    fn window<H: Handler>(
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
        // Masks are at hand for this window only: copied bytes leave now.
        if !self.config.keep_white
            && let Some(mark) = self.copying
        {
            self.hand_on(cx, mark, cx.limit, h);
            self.copying = Some(cx.limit);
        }
        Ok(WalkEnd::Next(0))
    }

    /// Whether the input is in a string whose escapes are not checked.
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
        // A string in which something is expected behind it is a value, and so is one whose second byte decides what it is;
        // else it is a key.
        let value = matches!(self.expect, Expect::After | Expect::End | Expect::SecondByte);
        let inside = in_string && value;
        WalkError { in_string, ..WalkError::new(at, Raise::new(kind, message), inside) }
    }

    /// Goes on with what the window before cut: a scalar, or a string whose second byte decides.
    fn resume<H: Handler>(
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
                self.offset = (self.offset + cx.base as u64).saturating_sub(1);
                return Ok(WalkEnd::Stop);
            }
            Interest::SkipRest => self.skip_rest(),
            Interest::Skip => self.lax_string = self.config.structure,
            _ => {}
        }
        Ok(WalkEnd::Next(0))
    }

    /// Nothing more is wanted of the innermost container.
    #[inline]
    fn skip_rest(&mut self) {
        let floor = self.levels.depth();
        self.mode = if self.config.structure {
            // The leap stops at the container's end and nowhere before.
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

    /// Runs over the tokens in `from..to` of the chunk.
    fn run<H: Handler>(
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
                    match self.leap(cx, at, to, floor, through)? {
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

/// Runs over a whole text under the default limits; offsets count `prefix` bytes in front of it.
///
/// # Errors
/// What is wrong with the text, or what the handler says.
pub(crate) fn read<H: Handler>(text: &[u8], prefix: u64, h: &mut H) -> Result<(), Error> {
    read_within(text, prefix, &Limits::new(), h)
}

/// The same under other limits.
pub(crate) fn read_within<H: Handler>(
    text: &[u8],
    prefix: u64,
    limits: &Limits,
    h: &mut H,
) -> Result<(), Error> {
    let mut machine = Machine::new(MachineConfig {
        depth: limits.depth(),
        key: limits.key(),
        structure: false,
        keep_white: false,
        detect_empty_strings: false,
    });
    machine.skip_prefix(prefix);
    let fed = machine.feed(Scanner::new(), &mut Window::new(), text, h);
    match fed.and_then(|_| machine.end(h)) {
        Ok(()) => Ok(()),
        Err(MachineFailure::Error(error)) => Err(error),
        Err(MachineFailure::Rewind | MachineFailure::Overdue) => {
            Err(Raise::internal("a handler of a single pass asked for another pass").into())
        }
    }
}

#[cold]
fn bad(at: usize, message: &'static str, inside: bool) -> WalkError {
    WalkError::new(at, Raise::new(ErrorKind::Syntax, message), inside)
}
