//! Cuts strings to a number of characters, as few as needed for a text to fit (seed: kimbap's budget, its second step;
//! SPEC §6).
//!
//! Knows valid JSON and no rule. What is held is the text so far with all strings cut at the threshold; when that is too
//! long, it is cut again at half of it, which gives what cutting the original there would have given. When the last
//! threshold is not enough, the text streams.
//!
//! A character is a Unicode scalar value: an escape is one, a pair of surrogates is one.

use smallvec::SmallVec;

use crate::error::Raise;
use crate::filter::hold::Hold;
use crate::json::levels::Levels;
use crate::limits::{Limits, Meter};
use crate::sink::Sink;
use crate::work::{Work, count};

/// Strings are not cut below this.
const LOWEST: u64 = 10;
/// Thresholds that are tried.
const PASSES: u32 = 10;
/// The longest character: a pair of surrogates, each an escape.
const LONGEST: usize = 12;
/// What stands for the rest, where that makes the string shorter.
const REST: &[u8] = b"...";

#[derive(Debug)]
pub(super) struct Cutter {
    limit: u64,
    threshold: u64,
    /// Thresholds that are left.
    passes: u32,
    held: Hold,
    /// What the bytes that came last became.
    made: Vec<u8>,
    streams: bool,
    lexer: Lexer,
    /// Bytes that were looked at.
    #[cfg(test)]
    pub(super) work: u64,
}

#[derive(Clone, Debug)]
struct Lexer {
    levels: Levels,
    /// The next string is a key.
    key: bool,
    state: State,
    /// Characters of the string that is open.
    chars: u64,
    /// The part of a character that has come.
    unit: SmallVec<[u8; LONGEST]>,
    /// How long `unit` will be; 0: it begins with the next byte.
    wanted: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Outside,
    /// In a key: it stays whole.
    Key,
    Value,
}

impl Lexer {
    fn new() -> Self {
        Self {
            levels: Levels::new(),
            key: false,
            state: State::Outside,
            chars: 0,
            unit: SmallVec::new(),
            wanted: 0,
        }
    }

    /// Takes bytes outside strings up to an opening quote, which is among them. Returns how many those are.
    fn outside(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'{' | b'[' => {
                    self.levels.push(*byte == b'{');
                    self.key = *byte == b'{';
                }
                b'}' | b']' => {
                    self.levels.pop();
                    self.key = false;
                }
                b',' => self.key = self.levels.in_object(),
                b':' => self.key = false,
                b'"' => {
                    self.state = if self.key { State::Key } else { State::Value };
                    self.chars = 0;
                    return at + 1;
                }
                _ => {}
            }
        }
        bytes.len()
    }

    /// Adds a byte to the character that is open; whether that is complete now.
    fn unit(&mut self, byte: u8) -> bool {
        if self.wanted == 0 {
            self.wanted = match byte {
                b'\\' => 2,
                0xC0..0xE0 => 2,
                0xE0..0xF0 => 3,
                0xF0.. => 4,
                _ => 1,
            };
        }
        self.unit.push(byte);
        if self.unit.as_slice() == b"\\u" {
            self.wanted = 6;
        }
        self.unit.len() == self.wanted
    }

    /// Whether the character is the first half of a pair.
    fn is_high(&self) -> bool {
        matches!(
            self.unit.as_slice(),
            [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a' | b'b' | b'A' | b'B', _, _]
        )
    }
}

/// The second half of a pair, as far as it has come.
fn may_be_low(unit: &[u8]) -> bool {
    match unit {
        [] | [b'\\'] | [b'\\', b'u'] => true,
        [b'\\', b'u', b'd' | b'D', rest @ ..] => {
            rest.first().is_none_or(|digit| matches!(digit, b'c'..=b'f' | b'C'..=b'F'))
        }
        _ => false,
    }
}

impl Cutter {
    /// Cuts so that no more than `limit` bytes are left, if that can be, at half of `budget` characters at first.
    pub(super) fn new(limit: u64, budget: u64) -> Self {
        Self {
            limit,
            threshold: (budget / 2).max(LOWEST),
            passes: PASSES,
            held: Hold::default(),
            made: Vec::new(),
            streams: false,
            lexer: Lexer::new(),
            #[cfg(test)]
            work: 0,
        }
    }

    /// Takes more of the text.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Raise> {
        self.lex(bytes);
        while !self.streams && self.held.len() + self.made.len() as u64 > self.limit {
            if !self.shorten(limits, meter)? {
                self.streams = true;
                self.end(meter, sink)?;
            }
        }
        if self.streams {
            sink.write(&self.made);
        } else {
            self.held.push(&self.made, limits, meter)?;
        }
        self.made.clear();
        Ok(())
    }

    /// The text is complete.
    pub(super) fn end(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Raise> {
        let take = |_: &mut Meter, piece: &[u8]| {
            sink.write(piece);
            Ok(!sink.is_closed())
        };
        self.held.drain(meter, take, |raise| raise)
    }

    /// The text that is held is complete: cuts it until it is no longer than `tokens`, if that can be.
    #[cfg(feature = "tokens")]
    pub(super) fn fit_tokens(
        &mut self,
        tokens: u64,
        limits: &Limits,
        meter: &mut Meter,
    ) -> Result<(), Raise> {
        while !self.streams
            && super::budget::tokens(&mut self.held)? > tokens
            && self.shorten(limits, meter)?
        {
            self.held.push(&self.made, limits, meter)?;
            self.made.clear();
        }
        Ok(())
    }

    /// Goes on to the next threshold. False if there is none.
    fn shorten(&mut self, limits: &Limits, meter: &mut Meter) -> Result<bool, Raise> {
        if self.passes <= 1 || self.threshold / 2 < LOWEST {
            return Ok(false);
        }
        self.passes -= 1;
        self.threshold /= 2;
        self.again(limits, meter)?;
        Ok(true)
    }

    /// Cuts what is held once more.
    fn again(&mut self, limits: &Limits, meter: &mut Meter) -> Result<(), Raise> {
        let mut held = std::mem::take(&mut self.held);
        let made = std::mem::take(&mut self.made);
        let open = std::mem::replace(&mut self.lexer, Lexer::new());
        held.drain(
            meter,
            |meter, piece| {
                self.lex(piece);
                self.held.push(&self.made, limits, meter)?;
                self.made.clear();
                Ok(true)
            },
            |raise| raise,
        )?;
        self.lex(&made);
        // All that is held is complete: a high surrogate at its end waits for no other half.
        if !self.lexer.unit.is_empty() {
            self.complete();
        }
        // Of a string that is open, more characters have come than are held.
        self.lexer.chars = open.chars;
        (self.lexer.unit, self.lexer.wanted) = (open.unit, open.wanted);
        Ok(())
    }

    fn lex(&mut self, mut bytes: &[u8]) {
        #[cfg(test)]
        {
            self.work += bytes.len() as u64;
        }
        count(Work::Tail, bytes.len());
        while let Some(first) = bytes.first() {
            if self.lexer.state == State::Outside {
                let count = self.lexer.outside(bytes);
                let (now, later) = bytes.split_at(count);
                self.made.extend_from_slice(now);
                bytes = later;
                continue;
            }
            let plain = bytes
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0x80..))
                .unwrap_or(bytes.len());
            if self.lexer.unit.is_empty() && plain > 0 {
                let (now, later) = bytes.split_at(plain);
                self.chars(now, plain as u64);
                bytes = later;
                continue;
            }
            bytes = bytes.get(1..).unwrap_or_default();
            self.byte(*first);
        }
    }

    /// A byte of a string, its closing quote, or a part of a character.
    fn byte(&mut self, byte: u8) {
        let lexer = &mut self.lexer;
        if lexer.is_high() && lexer.unit.len() == lexer.wanted {
            // It waits for its other half.
            if byte == b'\\' {
                lexer.wanted = LONGEST;
            } else {
                self.complete();
                return self.byte(byte);
            }
        }
        let lexer = &mut self.lexer;
        if lexer.unit.is_empty() && byte == b'"' {
            return self.close();
        }
        if lexer.wanted == LONGEST {
            lexer.unit.push(byte);
            if !may_be_low(lexer.unit.get(6..).unwrap_or_default()) {
                // It was alone, and another character has begun.
                let other =
                    SmallVec::<[u8; LONGEST]>::from_slice(lexer.unit.get(6..).unwrap_or(b""));
                lexer.unit.truncate(6);
                lexer.wanted = 6;
                self.complete();
                for byte in other {
                    self.byte(byte);
                }
            } else if self.lexer.unit.len() == LONGEST {
                self.complete();
            }
            return;
        }
        if self.lexer.unit(byte) && !self.lexer.is_high() {
            self.complete();
        }
    }

    /// The open character is complete.
    fn complete(&mut self) {
        let unit = std::mem::take(&mut self.lexer.unit);
        self.lexer.wanted = 0;
        self.chars(&unit, 1);
    }

    /// Characters of a string: one of `bytes`, or as many as bytes.
    fn chars(&mut self, bytes: &[u8], count: u64) {
        let room = match self.lexer.state {
            State::Value => self.threshold.saturating_sub(self.lexer.chars),
            _ => u64::MAX,
        };
        self.lexer.chars += count;
        if room >= count {
            self.made.extend_from_slice(bytes);
        } else if count > 1 {
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            self.made.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    }

    fn close(&mut self) {
        let shorter = self.threshold + (REST.len() as u64) < self.lexer.chars;
        if self.lexer.state == State::Value && shorter {
            self.made.extend_from_slice(REST);
        }
        self.made.push(b'"');
        self.lexer.state = State::Outside;
    }
}
