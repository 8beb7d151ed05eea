//! Filters the contents of a JSON string: decodes escapes, runs the pipeline, and encodes the result.
//!
//! Escapes (RFC 8259, section 7) may be cut anywhere; a few bytes of them are held.
//!
//! **Spelling.** An unchanged string of up to [`COMPARE_LIMIT`] bytes keeps its spelling. Otherwise each character is
//! encoded in its shortest form: `\u00e9` becomes `é`, `\/` becomes `/`, `\u000a` becomes `\n`.
//!
//! **Lone surrogates** are not characters and have no UTF-8 encoding. In the decoded text, the escape of one is a
//! unit of five bytes that does not occur in UTF-8: `FF`, and a continuation byte for each of its four digits, none
//! of which is a C1 control. So no pattern mistakes it for text, nothing cuts it in two, and it is encoded as the
//! original escape, including the case of its digits.

use std::fmt;

use memchr::memchr;

use super::filter::ended;
use super::pending_text::COMPARE_LIMIT;
use super::pipeline::TextPipeline;
use super::program::TextProgram;
use super::report::TextReport;
use crate::error::Error;
use crate::limits::Limits;
use crate::sink::Sink;

/// Bytes that are decoded at once.
const WINDOW: usize = 16 << 10;
/// First byte of a lone surrogate.
const LONE: u8 = 0xFF;
/// Added to the index of a digit in [`DIGITS`].
const DIGIT: u8 = 0xA0;
/// Hexadecimal digits in every spelling. The index of a digit is what represents it after [`LONE`].
const DIGITS: &[u8; 22] = b"0123456789abcdefABCDEF";

/// One run of a [`TextProgram`] over the contents of a JSON string, as they are spelled between its quotes.
///
/// Use it to filter a string inside a JSON document without decoding and re-encoding it yourself. Bytes of the encoded
/// contents are pushed in, in chunks cut anywhere; the encoded contents of the filtered string are written to a
/// [`Sink`].
///
/// The bytes must be the contents of a valid JSON string (RFC 8259). For other input the output is unspecified. Memory:
/// that of a [`TextFilter`](super::TextFilter), and about 40 KiB.
///
/// If an operation changed the text, or it has more than 4 KiB, the output is encoded again with the shortest spelling
/// of each character. Escapes of lone surrogates keep their spelling. Other texts keep their spelling.
///
/// ```
/// use tamis::text::{QuotedTextFilter, TextProgram, TextSpec};
///
/// let program = TextProgram::compile(&TextSpec::new().strip_ansi(true))?;
/// let mut filter = QuotedTextFilter::new(&program, Vec::new());
/// for chunk in [r"\u001b[1mcaf\u", r"00e9\u001b[0m \ud83d\n"] {
///     filter.write(chunk.as_bytes())?;
/// }
/// let report = filter.end()?;
/// assert_eq!(filter.into_sink(), r"café \ud83d\n".as_bytes());
/// assert!(report.changed);
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct QuotedTextFilter<S> {
    pipeline: QuotedPipeline,
    ended: bool,
    sink: S,
}

impl<S: Sink> QuotedTextFilter<S> {
    /// Creates a filter with default [`Limits`].
    pub fn new(program: &TextProgram, sink: S) -> Self {
        Self::with_limits(program, &Limits::new(), sink)
    }

    /// Creates a filter with the given limits. It uses [`line`](Limits::with_line) and [`held`](Limits::with_held).
    pub fn with_limits(program: &TextProgram, limits: &Limits, sink: S) -> Self {
        Self { pipeline: QuotedPipeline::new(program, limits), ended: false, sink }
    }

    /// Filters the next bytes of the string.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed) after [`end`](Self::end). No text is an error.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if self.ended {
            return Err(ended());
        }
        self.pipeline.write(chunk, &mut self.sink);
        Ok(())
    }

    /// Ends the string: writes what is held and returns the report.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed) if the filter has ended before.
    pub fn end(&mut self) -> Result<TextReport, Error> {
        if std::mem::replace(&mut self.ended, true) {
            return Err(ended());
        }
        Ok(self.pipeline.end(&mut self.sink))
    }

    /// Returns the sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Returns the sink, to write to it or flush it between chunks.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Consumes the filter and returns the sink.
    pub fn into_sink(self) -> S {
        self.sink
    }
}

impl<S> fmt::Debug for QuotedTextFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuotedTextFilter").finish_non_exhaustive()
    }
}

/// The internals of [`QuotedTextFilter`]. The sink is an argument of each call.
pub(crate) struct QuotedPipeline {
    pipeline: TextPipeline,
    unescape: Unescaper,
    /// The decoded text of one window.
    text: Vec<u8>,
    /// The encoded string, while it is short.
    raw: Vec<u8>,
    spelling: StringEncoder,
    bytes_in: u64,
}

impl QuotedPipeline {
    pub(crate) fn new(program: &TextProgram, limits: &Limits) -> Self {
        Self {
            pipeline: TextPipeline::new(program, limits),
            unescape: Unescaper::default(),
            text: Vec::new(),
            raw: Vec::new(),
            spelling: StringEncoder::default(),
            bytes_in: 0,
        }
    }

    /// Filters the next bytes of the string.
    pub(crate) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        if self.is_short() {
            let room = COMPARE_LIMIT + 1 - self.raw.len();
            self.raw.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
        }
        self.bytes_in += chunk.len() as u64;
        let Self { pipeline, unescape, text, spelling, .. } = self;
        let mut out = EncodingSink { spelling, sink };
        for window in chunk.chunks(WINDOW) {
            text.clear();
            unescape.write(window, text);
            pipeline.write(text, &mut out);
        }
        out.flush();
    }

    /// Ends the string.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) -> TextReport {
        let is_short = self.is_short();
        let Self { pipeline, unescape, text, spelling, raw, .. } = self;
        let mut out = EncodingSink { spelling, sink };
        text.clear();
        unescape.end(text);
        pipeline.write(text, &mut out);
        pipeline.end(&mut out);
        let mut report = if is_short && pipeline.is_unchanged() {
            // The pending text is the one that `raw` encodes.
            let report = pipeline.settle(&mut DiscardSink);
            sink.write(raw);
            self.spelling.bytes += self.raw.len() as u64;
            report
        } else {
            let report = pipeline.settle(&mut out);
            out.flush();
            report
        };
        (report.bytes_in, report.bytes_out) = (self.bytes_in, self.spelling.bytes);
        report
    }

    /// Whether `raw` has the whole string so far.
    fn is_short(&self) -> bool {
        self.raw.len() <= COMPARE_LIMIT
    }
}

/// Discards everything.
pub(crate) struct DiscardSink;

impl Sink for DiscardSink {
    fn write(&mut self, _: &[u8]) {}
}

/// Position within an escape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum UnescapeState {
    #[default]
    None,
    Backslash,
    /// After `\u` and this number of digits.
    Digits(u8),
}

/// Decodes escapes that may be cut anywhere.
#[derive(Debug, Default)]
struct Unescaper {
    state: UnescapeState,
    digits: [u8; 4],
    /// The digits of a high surrogate, while a low one may follow.
    high: Option<[u8; 4]>,
}

impl Unescaper {
    fn write(&mut self, mut bytes: &[u8], text: &mut Vec<u8>) {
        while let Some((first, rest)) = bytes.split_first() {
            match self.state {
                UnescapeState::None => {
                    let at = memchr(b'\\', bytes).unwrap_or(bytes.len());
                    let (plain, rest) = bytes.split_at(at);
                    if !plain.is_empty() {
                        self.give_up(text);
                        text.extend_from_slice(plain);
                    }
                    if !rest.is_empty() {
                        self.state = UnescapeState::Backslash;
                    }
                    bytes = rest.get(1..).unwrap_or_default();
                }
                UnescapeState::Backslash => {
                    bytes = rest;
                    self.letter(*first, text);
                }
                UnescapeState::Digits(count) => {
                    bytes = rest;
                    if let Some(digit) = self.digits.get_mut(usize::from(count)) {
                        *digit = *first;
                    }
                    if count < 3 {
                        self.state = UnescapeState::Digits(count + 1);
                    } else {
                        self.state = UnescapeState::None;
                        self.unit(text);
                    }
                }
            }
        }
    }

    /// Ends the string. An incomplete escape is invalid JSON, and is dropped.
    fn end(&mut self, text: &mut Vec<u8>) {
        self.give_up(text);
    }

    /// Writes the open high surrogate as a lone one.
    fn give_up(&mut self, text: &mut Vec<u8>) {
        if let Some(high) = self.high.take() {
            lone(high, text);
        }
    }

    /// Decodes the byte after a backslash.
    fn letter(&mut self, letter: u8, text: &mut Vec<u8>) {
        if letter == b'u' {
            self.state = UnescapeState::Digits(0);
            return;
        }
        self.state = UnescapeState::None;
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

    /// Decodes the four digits after `\u`.
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

/// Value of hexadecimal digits.
fn number(digits: [u8; 4]) -> u32 {
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default();
    digits.iter().fold(0, |number, digit| number << 4 | value(*digit))
}

fn push(code: u32, text: &mut Vec<u8>) {
    let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Appends the representation of a lone surrogate.
fn lone(digits: [u8; 4], text: &mut Vec<u8>) {
    text.push(LONE);
    for digit in digits {
        let place = DIGITS.iter().position(|other| *other == digit).unwrap_or_default();
        text.push(DIGIT | place as u8);
    }
}

/// State of the encoder between pieces of text.
#[derive(Debug, Default)]
struct StringEncoder {
    /// Encoded bytes, gathered to be written at once.
    out: Vec<u8>,
    /// Number of digits of a lone surrogate that are still to come.
    digits: u8,
    /// Number of bytes written.
    bytes: u64,
}

/// A sink that encodes what is written and passes it on.
struct EncodingSink<'a> {
    spelling: &'a mut StringEncoder,
    sink: &'a mut dyn Sink,
}

impl EncodingSink<'_> {
    fn flush(&mut self) {
        let StringEncoder { out, bytes, .. } = self.spelling;
        if !out.is_empty() {
            *bytes += out.len() as u64;
            self.sink.write(out);
            out.clear();
        }
    }
}

impl Sink for EncodingSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        for window in bytes.chunks(WINDOW) {
            self.spelling.spell(window);
            if self.spelling.out.len() >= WINDOW {
                self.flush();
            }
        }
    }
}

impl StringEncoder {
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

/// Whether a byte of the text has to be escaped in a string.
fn is_escaped(byte: u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\' | LONE)
}
