//! Reads one value of a history as its bytes arrive: how its text begins, how long it is, and where it may be cut.
//!
//! This module handles strings and does not depend on the history. Only the beginning of a text is kept, and its end if
//! that is to be kept in the output. A string is decoded no further than needed.
//!
//! ```text
//! "head of the text … removed part … end of the text"
//!  ╰─ keep_head ──╯                  ╰─ keep_tail ─╯
//! ```

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};

use memchr::memchr2;

/// The facts about a value that a caller needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// The maximum length of a text that is kept, in bytes. Only the length of a longer text is known.
    pub(super) kept: usize,
    /// The text is compared as a whole.
    pub(super) hashed: bool,
    pub(super) cut: KeptEnds,
    pub(super) counted: bool,
}

/// The number of characters that are kept at the ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeptEnds {
    pub(super) head: u64,
    pub(super) tail: usize,
}

/// The facts about a value after it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueFacts {
    /// Size of the value in bytes, with quotes; that of a container without white space.
    pub(super) raw: u64,
    pub(super) hash: (u64, u64),
    /// Start and end of the removed part, in bytes from the start of the value.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The removed part, if it is no longer than requested.
    pub(super) middle: Option<Vec<u8>>,
    /// Tokens of the removed part, if they were counted.
    pub(super) tokens: Option<u64>,
}

/// Reads values one after the other and reuses its allocations.
#[derive(Default)]
pub(super) struct ValueReader {
    wanted: Wanted,
    string: bool,
    raw: u64,
    decoder: StringDecoder,
    text: Kept,
    hashers: Option<[<RandomState as BuildHasher>::Hasher; 2]>,
    /// Present only if characters are kept at the ends.
    ends: Option<Box<Ends>>,
    counter: Option<Box<tamis::tokens::TokenCounter>>,
}

/// The first bytes of a text, up to a maximum.
#[derive(Clone, Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    most: usize,
    over: bool,
}

impl Kept {
    fn begin(&mut self, most: usize) {
        self.bytes.clear();
        self.most = most;
        self.over = false;
    }

    fn room(&self) -> usize {
        self.most - self.bytes.len()
    }

    fn push(&mut self, bytes: &[u8]) {
        let fits = bytes.get(..self.room()).unwrap_or(bytes);
        self.over |= fits.len() < bytes.len();
        self.bytes.extend_from_slice(fits);
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        (!self.over).then(|| std::mem::take(&mut self.bytes))
    }
}

/// The characters at the ends of a text, which may be kept.
#[derive(Clone, Debug, Default)]
struct Ends {
    cut: KeptEnds,
    seen: u64,
    /// Offset of the first character after the head.
    from: Option<u64>,
    /// The last characters.
    tail: VecDeque<Char>,
    tail_bytes: u64,
    middle: Kept,
}

/// A character, or an unpaired surrogate.
#[derive(Clone, Copy, Debug)]
struct Char {
    code: u32,
    /// Offset of its first byte, and the number of bytes of its spelling.
    at: u64,
    bytes: u8,
}

impl ValueReader {
    /// Begins to read a value.
    pub(super) fn begin(&mut self, wanted: Wanted, string: bool, hashes: &[RandomState; 2]) {
        let KeptEnds { head, tail } = wanted.cut;
        let partial = string && (head > 0 || tail > 0);
        self.wanted = wanted;
        self.string = string;
        self.raw = 0;
        self.decoder = StringDecoder::default();
        self.text.begin(wanted.kept);
        self.hashers = wanted.hashed.then(|| hashes.each_ref().map(RandomState::build_hasher));
        self.ends = partial.then(|| {
            let middle = Kept { most: wanted.kept, ..Kept::default() };
            Box::new(Ends { cut: wanted.cut, middle, ..Ends::default() })
        });
        {
            self.counter = wanted.counted.then(|| Box::new(tamis_tokens::counter()));
        }
    }

    /// Returns the text of the value read last, or its beginning, and whether that is all of it. To be returned by
    /// [`give_back`](Self::give_back).
    pub(super) fn take_text(&mut self) -> (Vec<u8>, bool) {
        (std::mem::take(&mut self.text.bytes), !self.text.over)
    }

    /// Returns the allocation of a text for reuse.
    pub(super) fn give_back(&mut self, text: Vec<u8>) {
        self.text.bytes = text;
    }

    /// Takes the next bytes of the value.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.raw += bytes.len() as u64;
        let all = self.hashers.is_some() || self.ends.is_some() || self.is_counted();
        if all || !self.text.over {
            if self.string {
                self.decode(bytes, all);
            } else {
                self.take(bytes);
            }
        }
    }

    fn is_counted(&self) -> bool {
        self.counter.is_some()
    }

    /// Decodes a part of a string: all of it, or, unless `all`, as much as may be kept.
    fn decode(&mut self, mut bytes: &[u8], all: bool) {
        while let Some((byte, rest)) = bytes.split_first() {
            // If no characters are counted, bytes are skipped in runs.
            if self.ends.is_none() && self.decoder.is_plain() {
                let end = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                let most = if all { end } else { end.min(self.text.room() + 1) };
                let (run, after) = bytes.split_at(most);
                self.take(run);
                self.decoder.at += run.len() as u64;
                bytes = after;
                if self.text.over && !all {
                    return;
                }
                if !run.is_empty() {
                    continue;
                }
            }
            let mut decoder = std::mem::take(&mut self.decoder);
            decoder.push(*byte, |char| self.char(char));
            self.decoder = decoder;
            bytes = rest;
        }
    }

    fn char(&mut self, char: Char) {
        let mut utf8 = [0; 4];
        let spelled = encode(char.code, &mut utf8);
        let Some(ends) = &mut self.ends else { return self.take(spelled) };
        self.text.push(spelled);
        if let Some(hashers) = &mut self.hashers {
            hashers.iter_mut().for_each(|hasher| hasher.write(spelled));
        }
        let gone = ends.push(char);
        if let (Some(counter), Some(gone)) = (&mut self.counter, gone) {
            counter.push(encode(gone.code, &mut utf8));
        }
        _ = gone;
    }

    /// Takes text of which nothing is kept.
    fn take(&mut self, text: &[u8]) {
        self.text.push(text);
        if let Some(hashers) = &mut self.hashers {
            hashers.iter_mut().for_each(|hasher| hasher.write(text));
        }
        if let Some(counter) = &mut self.counter {
            counter.push(text);
        }
    }

    /// Completes the value.
    pub(super) fn finish(&mut self) -> ValueFacts {
        let mut decoder = std::mem::take(&mut self.decoder);
        decoder.end(|char| self.char(char));
        let quote = u64::from(self.string);
        let (mut from, mut to) = (quote, self.raw.saturating_sub(quote));
        let mut middle = None;
        if let Some(ends) = &mut self.ends {
            to -= ends.tail_bytes.min(to);
            from = ends.from.unwrap_or(to).min(to);
            middle = ends.middle.whole();
        }
        let tokens = self.counter.take().map(|mut counter| counter.finish());
        let hash =
            self.hashers.take().map_or((0, 0), |[one, other]| (one.finish(), other.finish()));
        ValueFacts { raw: self.raw, hash, from, to, middle, tokens }
    }
}

impl Ends {
    /// Takes the next character and returns one that is removed.
    fn push(&mut self, char: Char) -> Option<Char> {
        self.seen += 1;
        if self.seen <= self.cut.head {
            return None;
        }
        self.from.get_or_insert(char.at);
        self.tail.push_back(char);
        self.tail_bytes += u64::from(char.bytes);
        if self.tail.len() <= self.cut.tail {
            return None;
        }
        let gone = self.tail.pop_front()?;
        self.tail_bytes -= u64::from(gone.bytes);
        let mut utf8 = [0; 4];
        self.middle.push(encode(gone.code, &mut utf8));
        Some(gone)
    }
}

/// Decodes the characters of a JSON string byte by byte, including the quotes. The string is valid.
#[derive(Clone, Copy, Debug, Default)]
struct StringDecoder {
    at: u64,
    state: DecoderState,
    /// The first half of a surrogate pair, whose other half may follow.
    high: Option<Char>,
}

#[derive(Clone, Copy, Debug, Default)]
enum DecoderState {
    /// Before the opening quote.
    #[default]
    Begin,
    Plain,
    /// In a multi-byte character, with the number of missing bytes.
    Utf8 {
        char: Char,
        missing: u8,
    },
    /// After a backslash.
    Escape,
    /// In `\uXXXX`, with the number of missing digits.
    Hex {
        code: u32,
        missing: u8,
    },
    End,
}

impl StringDecoder {
    /// Returns whether the next byte is within the string and starts a character or an escape.
    fn is_plain(&self) -> bool {
        matches!(self.state, DecoderState::Plain) && self.high.is_none()
    }

    fn push(&mut self, byte: u8, take: impl FnMut(Char)) {
        let at = self.at;
        self.at += 1;
        self.state = match self.state {
            DecoderState::Begin => DecoderState::Plain,
            DecoderState::Plain => match byte {
                b'"' => DecoderState::End,
                b'\\' => DecoderState::Escape,
                0..0x80 => {
                    self.give(Char { code: byte.into(), at, bytes: 1 }, take);
                    DecoderState::Plain
                }
                _ => {
                    let (bits, missing) = match byte {
                        0xF0.. => (byte & 0x07, 3),
                        0xE0.. => (byte & 0x0F, 2),
                        _ => (byte & 0x1F, 1),
                    };
                    DecoderState::Utf8 { char: Char { code: bits.into(), at, bytes: 1 }, missing }
                }
            },
            DecoderState::Utf8 { mut char, missing } => {
                char.code = char.code << 6 | u32::from(byte & 0x3F);
                char.bytes += 1;
                if missing > 1 {
                    DecoderState::Utf8 { char, missing: missing - 1 }
                } else {
                    self.give(char, take);
                    DecoderState::Plain
                }
            }
            DecoderState::Escape => {
                let code = match byte {
                    b'u' => {
                        self.state = DecoderState::Hex { code: 0, missing: 4 };
                        return;
                    }
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => other,
                };
                self.give(Char { code: code.into(), at: at - 1, bytes: 2 }, take);
                DecoderState::Plain
            }
            DecoderState::Hex { code, missing } => {
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                let code = code << 4 | digit;
                if missing > 1 {
                    DecoderState::Hex { code, missing: missing - 1 }
                } else {
                    self.unit(Char { code, at: at - 5, bytes: 6 }, take);
                    DecoderState::Plain
                }
            }
            DecoderState::End => DecoderState::End,
        };
    }

    /// Takes a UTF-16 unit. Half of a pair is held until the other half arrives.
    fn unit(&mut self, char: Char, mut take: impl FnMut(Char)) {
        match (self.high.take(), char.code) {
            (Some(high), 0xDC00..0xE000) => {
                let code = 0x10000 + ((high.code - 0xD800) << 10) + (char.code - 0xDC00);
                take(Char { code, at: high.at, bytes: 12 });
            }
            (earlier, code) => {
                if let Some(earlier) = earlier {
                    take(earlier);
                }
                if (0xD800..0xDC00).contains(&code) {
                    self.high = Some(char);
                } else {
                    take(char);
                }
            }
        }
    }

    fn give(&mut self, char: Char, mut take: impl FnMut(Char)) {
        if let Some(high) = self.high.take() {
            take(high);
        }
        take(char);
    }

    fn end(&mut self, mut take: impl FnMut(Char)) {
        if let Some(high) = self.high.take() {
            take(high);
        }
    }
}

/// Encodes a character in UTF-8. An unpaired surrogate is encoded the same way, so that it equals only itself.
fn encode(code: u32, into: &mut [u8; 4]) -> &[u8] {
    if let Some(char) = char::from_u32(code) {
        return char.encode_utf8(into).as_bytes();
    }
    let low = |shift: u32| 0x80 | (code >> shift & 0x3F) as u8;
    *into = [0xE0 | (code >> 12) as u8, low(6), low(0), 0];
    into.get(..3).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use super::{KeptEnds, ValueFacts, ValueReader, Wanted};

    /// Reads a value in pieces of every size.
    fn read(value: &str, wanted: Wanted, check: impl Fn(&ValueFacts, &[u8], bool)) {
        let hashes = [RandomState::new(), RandomState::new()];
        let mut reading = ValueReader::default();
        for size in 1..=value.len() {
            reading.begin(wanted, value.starts_with('"'), &hashes);
            value.as_bytes().chunks(size).for_each(|piece| reading.push(piece));
            let found = reading.finish();
            assert_eq!(found.raw, value.len() as u64);
            let (text, whole) = reading.take_text();
            check(&found, &text, whole);
            reading.give_back(text);
        }
    }

    #[test]
    fn texts_are_decoded() {
        for (value, text) in [
            (r#""""#, ""),
            (r#""plain é 中 😀""#, "plain é 中 😀"),
            (r#""\u0075ser""#, "user"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\ud83d\ude00\u00e9""#, "😀é"),
            ("12", "12"),
            ("null", "null"),
        ] {
            let wanted = Wanted { kept: 32, ..Wanted::default() };
            read(value, wanted, |_, found, whole| {
                assert_eq!((found, whole), (text.as_bytes(), true));
            });
            let wanted = Wanted { kept: text.len().saturating_sub(1), ..Wanted::default() };
            read(value, wanted, |_, _, whole| assert_eq!(whole, text.is_empty()));
        }
    }

    #[test]
    fn a_long_text_has_a_beginning() {
        let wanted = Wanted { kept: 3, ..Wanted::default() };
        for value in [r#""abcdef""#, r#""\u0061bcde""#, r#""ab\u0063\n""#] {
            read(value, wanted, |_, found, whole| assert_eq!((found, whole), (&b"abc"[..], false)));
        }
    }

    #[test]
    fn halves_equal_themselves_alone() {
        let hashes = [RandomState::new(), RandomState::new()];
        let hash = |value: &str| {
            let wanted = Wanted { hashed: true, ..Wanted::default() };
            let mut reading = ValueReader::default();
            reading.begin(wanted, true, &hashes);
            reading.push(value.as_bytes());
            reading.finish().hash
        };
        assert_eq!(hash(r#""\u0061\ud83d\ude00""#), hash("\"a😀\""));
        assert_eq!(hash(r#""\ud83d""#), hash(r#""\uD83D""#));
        let all = [r#""\ud83d""#, r#""\ud83e""#, r#""\ude00\ud83d""#, r#""\ud83d\ude00""#, r#""""#];
        for (number, one) in all.iter().enumerate() {
            for other in &all[..number] {
                assert_ne!(hash(one), hash(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn cuts_are_between_characters() {
        for (value, head, tail, goes) in [
            (r#""abcdef""#, 2, 1, "cde"),
            (r#""abcdef""#, 0, 1, "abcde"),
            (r#""abcdef""#, 6, 0, ""),
            (r#""abcdef""#, 3, 9, ""),
            (r#""é中😀x""#, 1, 1, "中😀"),
            (r#""\n\u00e9\ud83d\ude00\"z""#, 1, 2, r"\u00e9\ud83d\ude00"),
            (r#""\n\u00e9\ud83d\ude00\"z""#, 3, 1, r#"\""#),
            (r#""\ud83d\ud83d\ude00\ude00""#, 1, 1, r"\ud83d\ude00"),
        ] {
            let wanted = Wanted { kept: 64, cut: KeptEnds { head, tail }, ..Wanted::default() };
            read(value, wanted, |found, _, _| {
                let (from, to) = (found.from as usize, found.to as usize);
                assert_eq!(&value[from..to], goes, "{value} {head} {tail}");
            });
        }
    }
}
