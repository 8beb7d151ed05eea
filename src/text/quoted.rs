//! The same over a text that is the inside of a JSON string: unescaped as it comes, filtered, escaped again.
//!
//! Knows JSON's escapes (RFC 8259, 7) and no operation. An escape may be cut anywhere; what is kept of it is a few bytes.
//!
//! **Spelling.** If nothing was changed, a string up to [`HOLD`] bytes leaves as it was spelled. Else what is kept is
//! spelled anew, each character as short as may be: `\u00e9` is `é`, `\/` is `/`, `\u000a` is `\n`.
//!
//! **Lone surrogates** are no characters, and have no UTF-8. In the text that is filtered such an escape is a unit of five
//! bytes that no UTF-8 has (`FF`, and one continuation byte for each of its four digits, none of which is a C1 control), so no
//! pattern takes it for something else, nothing cuts it in two, and it leaves as the escape that it was, down to the case of
//! its digits.

use std::fmt;

use memchr::memchr;

use super::engine::Engine;
use super::gate::HOLD;
use super::program::TextProgram;
use super::report::TextReport;
use crate::limits::Limits;
use crate::sink::Sink;

/// Bytes that are unescaped at once.
const WINDOW: usize = 16 << 10;
/// Begins a lone surrogate.
const LONE: u8 = 0xFF;
/// Stands for its first digit.
const DIGIT: u8 = 0xA0;
/// Digits of hexadecimal numbers as they may be spelled; the place of one here is what stands for it behind [`LONE`].
const DIGITS: &[u8; 22] = b"0123456789abcdefABCDEF";

/// One run of a text filter over the inside of a JSON string, as it is spelled between its quotes: bytes are pushed in, the
/// inside of another string goes to a [`Sink`].
///
/// The bytes must be the inside of a valid JSON string (RFC 8259), in chunks cut anywhere. If they are not, nothing is
/// promised of the output but that it ends. Memory: that of a [`TextRun`](super::TextRun), and about 40 KiB.
///
/// A text that an operation changed is spelled anew, each character as short as may be, but lone surrogate escapes, which
/// stay as they are; so is one of more than 4 KiB. Others keep their spelling.
///
/// ```
/// use tamis::{QuotedTextRun, TextProgram, TextSpec};
///
/// let program = TextProgram::compile(&TextSpec::new().strip_ansi(true))?;
/// let mut run = QuotedTextRun::new(&program, Vec::new());
/// for chunk in [r"\u001b[1mcaf\u", r"00e9\u001b[0m \ud83d\n"] {
///     run.write(chunk.as_bytes());
/// }
/// let (output, report) = run.end();
/// assert_eq!(output, r"café \ud83d\n".as_bytes());
/// assert!(report.changed);
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct QuotedTextRun<S> {
    core: Quoted,
    sink: S,
}

impl<S: Sink> QuotedTextRun<S> {
    /// A run with default [`Limits`].
    pub fn new(program: &TextProgram, sink: S) -> Self {
        Self::with_limits(program, &Limits::new(), sink)
    }

    /// A run with other limits, of which it knows [`line`](Limits::with_line).
    pub fn with_limits(program: &TextProgram, limits: &Limits, sink: S) -> Self {
        Self { core: Quoted::new(program, limits), sink }
    }

    /// Takes the next bytes of the string.
    pub fn write(&mut self, chunk: &[u8]) {
        self.core.write(chunk, &mut self.sink);
    }

    /// The string is complete.
    pub fn end(mut self) -> (S, TextReport) {
        let report = self.core.end(&mut self.sink);
        (self.sink, report)
    }

    /// Where the output goes.
    pub fn sink(&self) -> &S {
        &self.sink
    }
}

impl<S> fmt::Debug for QuotedTextRun<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuotedTextRun").finish_non_exhaustive()
    }
}

/// The same, with the sink given call by call.
pub(crate) struct Quoted {
    engine: Engine,
    unescape: Unescape,
    /// What was unescaped of a window.
    text: Vec<u8>,
    /// The whole string as it came, while it is short.
    raw: Vec<u8>,
    spelling: Spelling,
    bytes_in: u64,
}

impl Quoted {
    pub(crate) fn new(program: &TextProgram, limits: &Limits) -> Self {
        Self {
            engine: Engine::new(program, limits),
            unescape: Unescape::default(),
            text: Vec::new(),
            raw: Vec::new(),
            spelling: Spelling::default(),
            bytes_in: 0,
        }
    }

    /// Takes the next bytes of the string.
    pub(crate) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        if self.is_short() {
            let room = HOLD + 1 - self.raw.len();
            self.raw.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
        }
        self.bytes_in += chunk.len() as u64;
        let Self { engine, unescape, text, spelling, .. } = self;
        let mut out = Respell { spelling, sink };
        for window in chunk.chunks(WINDOW) {
            text.clear();
            unescape.write(window, text);
            engine.write(text, &mut out);
        }
        out.flush();
    }

    /// The string is complete.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) -> TextReport {
        let is_short = self.is_short();
        let Self { engine, unescape, text, spelling, raw, .. } = self;
        let mut out = Respell { spelling, sink };
        text.clear();
        unescape.end(text);
        engine.write(text, &mut out);
        engine.end(&mut out);
        let mut report = if is_short && engine.is_unchanged() {
            // What waits is the text that `raw` spells.
            let report = engine.settle(&mut Nowhere);
            sink.write(raw);
            self.spelling.bytes += self.raw.len() as u64;
            report
        } else {
            let report = engine.settle(&mut out);
            out.flush();
            report
        };
        (report.bytes_in, report.bytes_out) = (self.bytes_in, self.spelling.bytes);
        report
    }

    /// Whether all that came is in `raw`.
    fn is_short(&self) -> bool {
        self.raw.len() <= HOLD
    }
}

/// Takes what is not wanted.
struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, _: &[u8]) {}
}

/// Where in an escape the bytes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Backslash,
    /// So many digits are there, and still wanted.
    Digits(u8),
}

/// Escapes to text, over any cuts.
#[derive(Debug, Default)]
struct Unescape {
    state: Escape,
    digits: [u8; 4],
    /// A high surrogate, complete, whose low one may follow.
    high: Option<[u8; 4]>,
}

impl Unescape {
    fn write(&mut self, mut bytes: &[u8], text: &mut Vec<u8>) {
        while let Some((first, rest)) = bytes.split_first() {
            match self.state {
                Escape::None => {
                    let at = memchr(b'\\', bytes).unwrap_or(bytes.len());
                    let (plain, rest) = bytes.split_at(at);
                    if !plain.is_empty() {
                        self.give_up(text);
                        text.extend_from_slice(plain);
                    }
                    if !rest.is_empty() {
                        self.state = Escape::Backslash;
                    }
                    bytes = rest.get(1..).unwrap_or_default();
                }
                Escape::Backslash => {
                    bytes = rest;
                    self.letter(*first, text);
                }
                Escape::Digits(count) => {
                    bytes = rest;
                    if let Some(digit) = self.digits.get_mut(usize::from(count)) {
                        *digit = *first;
                    }
                    if count < 3 {
                        self.state = Escape::Digits(count + 1);
                    } else {
                        self.state = Escape::None;
                        self.unit(text);
                    }
                }
            }
        }
    }

    /// The string is complete. An escape that is not is no JSON, and goes.
    fn end(&mut self, text: &mut Vec<u8>) {
        self.give_up(text);
    }

    /// The high surrogate that came is alone.
    fn give_up(&mut self, text: &mut Vec<u8>) {
        if let Some(high) = self.high.take() {
            lone(high, text);
        }
    }

    /// The byte behind a backslash.
    fn letter(&mut self, letter: u8, text: &mut Vec<u8>) {
        if letter == b'u' {
            self.state = Escape::Digits(0);
            return;
        }
        self.state = Escape::None;
        self.give_up(text);
        text.push(match letter {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            other => other,
        });
    }

    /// The four digits behind `\u`.
    fn unit(&mut self, text: &mut Vec<u8>) {
        let code = number(self.digits);
        if let (Some(high), 0xDC00..0xE000) = (self.high, code) {
            self.high = None;
            let code = 0x10000 + ((number(high) - 0xD800) << 10) + (code - 0xDC00);
            push(code, text);
            return;
        }
        self.give_up(text);
        match code {
            0xD800..0xDC00 => self.high = Some(self.digits),
            0xDC00..0xE000 => lone(self.digits, text),
            _ => push(code, text),
        }
    }
}

/// The number that hexadecimal digits spell.
fn number(digits: [u8; 4]) -> u32 {
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default();
    digits.iter().fold(0, |number, digit| number << 4 | value(*digit))
}

fn push(code: u32, text: &mut Vec<u8>) {
    let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

/// A lone surrogate with these digits, as the text has it.
fn lone(digits: [u8; 4], text: &mut Vec<u8>) {
    text.push(LONE);
    for digit in digits {
        let place = DIGITS.iter().position(|other| *other == digit).unwrap_or_default();
        text.push(DIGIT | place as u8);
    }
}

/// What is kept between the pieces of a text that is spelled.
#[derive(Debug, Default)]
struct Spelling {
    /// What is spelled and waits to be handed on in one piece.
    out: Vec<u8>,
    /// Digits of a lone surrogate that are still to come.
    digits: u8,
    /// All that was handed on.
    bytes: u64,
}

/// Text to escapes, on its way to a sink.
struct Respell<'a> {
    spelling: &'a mut Spelling,
    sink: &'a mut dyn Sink,
}

impl Respell<'_> {
    fn flush(&mut self) {
        let Spelling { out, bytes, .. } = self.spelling;
        if !out.is_empty() {
            *bytes += out.len() as u64;
            self.sink.write(out);
            out.clear();
        }
    }
}

impl Sink for Respell<'_> {
    fn write(&mut self, bytes: &[u8]) {
        for window in bytes.chunks(WINDOW) {
            self.spelling.spell(window);
            if self.spelling.out.len() >= WINDOW {
                self.flush();
            }
        }
    }
}

impl Spelling {
    fn spell(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.digits > 0 {
                self.digits -= 1;
                let digit = DIGITS.get(usize::from(first ^ DIGIT)).unwrap_or(&b'0');
                self.out.push(*digit);
                bytes = rest;
                continue;
            }
            let at = bytes.iter().position(|byte| is_escaped(*byte)).unwrap_or(bytes.len());
            let (plain, special) = bytes.split_at(at);
            self.out.extend_from_slice(plain);
            let Some((special, rest)) = special.split_first() else { return };
            self.escape(*special);
            bytes = rest;
        }
    }

    fn escape(&mut self, byte: u8) {
        let letter = match byte {
            LONE => {
                self.digits = 4;
                b'u'
            }
            b'"' | b'\\' => byte,
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => {
                self.out.extend_from_slice(b"\\u00");
                for digit in [byte >> 4, byte & 0xF] {
                    self.out.extend(DIGITS.get(usize::from(digit)));
                }
                return;
            }
        };
        self.out.extend_from_slice(&[b'\\', letter]);
    }
}

/// Whether a byte of the text does not stand for itself in a string.
fn is_escaped(byte: u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\' | LONE)
}
