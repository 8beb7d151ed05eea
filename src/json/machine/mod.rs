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

mod cut;
mod leap;
mod loops;
mod members;
mod quiet;
mod walk;

use crate::error::{Error, ErrorKind, Raise};
use crate::json::levels::Levels;
use crate::json::scalar::{Scalar, Step};
use crate::json::trail::Trail;
use crate::json::{Halt, Handler, Interest, Kind};
use crate::limits::Limits;
use crate::scan::{Carry, Fatal, Flaw, Scanner, WINDOW, Window};

/// What does not change during a run.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Containers that may be open at once.
    pub(crate) depth: usize,
    /// Bytes of a key that may be held.
    pub(crate) key: usize,
    /// Dropped values are checked for strings, brackets, UTF-8 and control characters alone.
    pub(crate) structure: bool,
    /// White space stays.
    pub(crate) keep_white: bool,
    /// The handler must know `""` from other strings when they begin.
    pub(crate) tell_empty: bool,
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
enum Gait {
    Inspect,
    /// Until the container at this depth ends; `through` its closing bracket, or up to it.
    Quiet {
        floor: usize,
        through: bool,
    },
    Leap {
        floor: usize,
        through: bool,
    },
}

/// Resumable at every byte.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    config: Config,
    expect: Expect,
    gait: Gait,
    levels: Levels,
    trail: Trail,
    scalar: Option<Scalar>,
    /// Bytes go to the handler: those from here on, in the chunk, are still to be handed on.
    copying: Option<usize>,
    /// A string is dropped under `structure`: its escapes are not checked.
    lax_string: bool,
    member: Member,
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
struct Member {
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
pub(crate) enum Fed {
    /// To its end.
    All,
    /// The handler stopped the run; [`Machine::offset`] is where.
    Stopped,
}

/// Why a chunk was not taken.
#[derive(Debug)]
pub(crate) enum Failure {
    Error(Error),
    /// See [`Halt::Rewind`].
    Rewind,
    /// See [`Halt::Overdue`].
    Overdue,
}

/// The part of a chunk whose masks are at hand.
struct Cx<'a> {
    chunk: &'a [u8],
    window: &'a Window,
    /// Where the window begins in the chunk.
    base: usize,
    /// What may be looked at ends here: the chunk's end, or the first bad byte.
    limit: usize,
}

/// What ended a walk before the tokens did.
struct Fail {
    at: usize,
    halt: Halt,
    /// The error is inside the current member or element, not between two of them.
    inside: bool,
    in_string: bool,
    /// The place is the byte before `at`, which may have gone with an earlier chunk.
    before: bool,
}

impl Fail {
    fn one_byte_before(self) -> Self {
        Self { before: true, ..self }
    }

    fn new(at: usize, halt: impl Into<Halt>, inside: bool) -> Self {
        Self { at, halt: halt.into(), inside, in_string: false, before: false }
    }
}

/// A walk ends at the end of its tokens, or earlier.
enum Walk {
    /// Go on with this token, in the gait that is set now.
    Next(usize),
    /// The handler stopped the run.
    Stop,
}

impl Cx<'_> {
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
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            expect: Expect::Value,
            gait: Gait::Inspect,
            levels: Levels::new(),
            trail: Trail::default(),
            scalar: None,
            copying: None,
            lax_string: false,
            member: Member::default(),
            lead: Vec::new(),
            offset: 0,
            carry: Carry::default(),
            steps: 0,
            checkpoint: None,
        }
    }

    /// Begins a new document; what was allocated is used again.
    pub(crate) fn restart(&mut self, config: Config) {
        let mut new = Self::new(config);
        std::mem::swap(&mut new.trail, &mut self.trail);
        std::mem::swap(&mut new.lead, &mut self.lead);
        std::mem::swap(&mut new.member.held, &mut self.member.held);
        new.trail.clear();
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
    ) -> Result<Fed, Failure> {
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
            if let Gait::Leap { floor, through } = self.gait
                && fatal.is_none()
                && !window.any_bad_escape()
            {
                // Nothing but brackets matters, perhaps in the whole window.
                let cx = Cx { chunk, window, base, limit };
                match self.leap(&cx, base, limit, floor, through) {
                    Ok(None) => from = end,
                    Ok(Some(landed)) => from = landed,
                    Err(fail) => return Err(self.fail(&cx, fail, h)),
                }
            }
            if from < end || fatal.is_some() {
                scanner.list_tokens(window);
                let cx = Cx { chunk, window, base, limit };
                match self.window(&cx, from, fatal, h) {
                    Ok(Walk::Next(_)) => {}
                    Ok(Walk::Stop) => return Ok(Fed::Stopped),
                    Err(fail) => return Err(self.fail(&cx, fail, h)),
                }
            }
            base = end;
        }
        if let Some(base) = chunk.len().checked_sub(1) {
            // The masks of the last window are still there.
            let base = base / WINDOW * WINDOW;
            let cx = Cx { chunk, window, base, limit: chunk.len() };
            let in_string = self.carry.in_string();
            self.settle(&cx, chunk.len(), in_string, h).map_err(|fail| self.fail(&cx, fail, h))?;
        }
        self.offset += chunk.len() as u64;
        Ok(Fed::All)
    }

    /// The document ends here.
    pub(crate) fn end<H: Handler>(&mut self, h: &mut H) -> Result<(), Failure> {
        let incomplete = self.scalar.is_some_and(|scalar| !scalar.is_complete());
        if self.expect != Expect::End || self.carry.in_string() || incomplete {
            let empty = self.expect == Expect::Value && self.levels.depth() == 0;
            let message =
                if empty { "the document is empty" } else { "the document ends too early" };
            let raise = Raise::new(ErrorKind::UnexpectedEnd, message);
            let inside = self.carry.in_string() || incomplete || self.expect == Expect::Value;
            let path = self.path(&[], inside && self.expect != Expect::Colon);
            return Err(Failure::Error(Error::at(raise, self.offset, path)));
        }
        self.scalar = None;
        self.copied(self.offset, h).map_err(|halt| self.failure(halt, self.offset, String::new()))
    }

    /// An error at the place where the input now is.
    pub(crate) fn place(&self, raise: Raise) -> Error {
        Error::at(raise, self.offset, self.path(&[], false))
    }

    fn failure(&self, halt: Halt, offset: u64, path: String) -> Failure {
        match halt {
            Halt::Error(raise) => Failure::Error(Error::at(raise, offset, path)),
            Halt::Rewind => Failure::Rewind,
            Halt::Overdue => Failure::Overdue,
        }
    }

    /// Brings the handler up to the failing byte, as if the chunk ended there.
    #[cold]
    fn fail<H: Handler>(&mut self, cx: &Cx<'_>, fail: Fail, h: &mut H) -> Failure {
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
        let depth = match self.gait {
            Gait::Leap { floor, through } => floor - usize::from(through),
            _ => self.levels.depth(),
        };
        let child = child || matches!(self.gait, Gait::Leap { through: true, .. });
        self.trail.pointer(chunk, depth, child, |depth| self.levels.is_object_at(depth))
    }

    /// Handles one window from `from` on: its tokens in order, up to the first byte that is bad whatever the grammar says.
    fn window<H: Handler>(
        &mut self,
        cx: &Cx<'_>,
        mut from: usize,
        fatal: Option<Fatal>,
        h: &mut H,
    ) -> Result<Walk, Fail> {
        if cx.base < cx.limit
            && let Walk::Stop = self.resume(cx, h)?
        {
            return Ok(Walk::Stop);
        }
        loop {
            let bad = cx.window.bad_escape(from - cx.base).map(|at| cx.base + at);
            let bad = bad.filter(|at| *at < cx.limit);
            if let Walk::Stop = self.run(cx, from, bad.unwrap_or(cx.limit), h)? {
                return Ok(Walk::Stop);
            }
            match (bad, fatal) {
                (Some(at), _) if self.is_lax() => from = at + 1,
                (Some(at), _) => return Err(self.flaw(at, Flaw::Escape, true)),
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
        Ok(Walk::Next(0))
    }

    /// Whether the input is in a string whose escapes are not checked.
    fn is_lax(&self) -> bool {
        self.lax_string || matches!(self.gait, Gait::Leap { .. })
    }

    #[cold]
    fn flaw(&self, at: usize, flaw: Flaw, in_string: bool) -> Fail {
        let (kind, message) = match flaw {
            Flaw::Control => (ErrorKind::Syntax, "a control character in a string must be escaped"),
            Flaw::Utf8 => (ErrorKind::Encoding, "this byte is no valid UTF-8 here"),
            Flaw::Escape => (ErrorKind::Syntax, "JSON has no such escape"),
        };
        // A string in which something is expected behind it is a value, and so is one whose second byte decides what it is;
        // else it is a key.
        let value = matches!(self.expect, Expect::After | Expect::End | Expect::SecondByte);
        let inside = in_string && value;
        Fail { in_string, ..Fail::new(at, Raise::new(kind, message), inside) }
    }

    /// Goes on with what the window before cut: a scalar, or a string whose second byte decides.
    fn resume<H: Handler>(&mut self, cx: &Cx<'_>, h: &mut H) -> Result<Walk, Fail> {
        if let Some(scalar) = self.scalar.take() {
            self.scalar_step(scalar.run(cx.slice(0, cx.limit), cx.base))?;
        }
        if self.expect != Expect::SecondByte {
            return Ok(Walk::Next(0));
        }
        let empty = cx.byte(cx.base) == b'"';
        let kind = if empty { Kind::EmptyString } else { Kind::String };
        self.expect = self.after();
        let begun = self.begin_value(cx, cx.base, kind, true, h);
        match begun.map_err(Fail::one_byte_before)? {
            Interest::Stop => {
                self.offset = (self.offset + cx.base as u64).saturating_sub(1);
                return Ok(Walk::Stop);
            }
            Interest::SkipRest => self.skip_rest(),
            Interest::Skip => self.lax_string = self.config.structure,
            _ => {}
        }
        Ok(Walk::Next(0))
    }

    /// Nothing more is wanted of the innermost container.
    #[inline]
    fn skip_rest(&mut self) {
        let floor = self.levels.depth();
        self.gait = if self.config.structure {
            // The leap stops at the container's end and nowhere before.
            self.expect = Expect::After;
            Gait::Leap { floor, through: false }
        } else {
            Gait::Quiet { floor, through: false }
        };
    }

    fn scalar_step(&mut self, step: Step) -> Result<(), Fail> {
        match step {
            Step::Ended(_) => Ok(()),
            Step::More(state) => {
                self.scalar = Some(state);
                Ok(())
            }
            Step::Bad(at) => Err(bad(at, "this is no JSON number or literal", true)),
        }
    }

    /// Runs over the tokens in `from..to` of the chunk.
    fn run<H: Handler>(
        &mut self,
        cx: &Cx<'_>,
        from: usize,
        to: usize,
        h: &mut H,
    ) -> Result<Walk, Fail> {
        let tokens = cx.window.tokens();
        let before = |at: usize| cx.window.tokens_before(at - cx.base);
        let (mut next, count) = (before(from), before(to));
        let mut at = from;
        loop {
            let begun = next;
            let walk = match self.gait {
                Gait::Inspect => self.walk::<false, H>(cx, next, to, h)?,
                Gait::Quiet { .. } => self.walk::<true, H>(cx, next, to, h)?,
                Gait::Leap { floor, through } => {
                    if let Some(token) = tokens.get(next) {
                        at = at.max(cx.base + usize::from(*token));
                    }
                    match self.leap(cx, at, to, floor, through)? {
                        Some(landed) => Walk::Next(before(landed)),
                        None => Walk::Next(count),
                    }
                }
            };
            match walk {
                Walk::Stop => return Ok(Walk::Stop),
                Walk::Next(token) => next = token,
            }
            self.steps += (next - begun) as u64 + 1;
            if next >= count {
                return Ok(Walk::Next(count));
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
    let mut machine = Machine::new(Config {
        depth: limits.depth(),
        key: limits.key(),
        structure: false,
        keep_white: false,
        tell_empty: false,
    });
    machine.skip_prefix(prefix);
    let fed = machine.feed(Scanner::new(), &mut Window::new(), text, h);
    match fed.and_then(|_| machine.end(h)) {
        Ok(()) => Ok(()),
        Err(Failure::Error(error)) => Err(error),
        Err(Failure::Rewind | Failure::Overdue) => {
            Err(Error::new(ErrorKind::Failed, "a text that is at hand is read once"))
        }
    }
}

#[cold]
fn bad(at: usize, message: &'static str, inside: bool) -> Fail {
    Fail::new(at, Raise::new(ErrorKind::Syntax, message), inside)
}
