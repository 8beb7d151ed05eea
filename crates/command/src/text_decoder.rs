//! Decodes outputs that are not UTF-8, where the encoding is certain.
//!
//! | certain | because |
//! |---|---|
//! | UTF-16 | of a byte order mark, or a zero byte in each of the first eight units, always on the same side |
//! | another encoding | the locale names it, and the first line with a byte above 7F is not UTF-8 |
//!
//! Everything else is left as it is: the filters keep bytes that are not UTF-8.

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memchr;

/// Bytes from which UTF-16 without a mark is recognised.
const UNITS: usize = 16;
/// Bytes of a line from which it is decided whether it is UTF-8.
const LINE: usize = 4 << 10;

#[derive(Default)]
enum DecoderState {
    /// Nothing is decoded.
    #[default]
    Off,
    /// The beginning of the output is held.
    Beginning(Vec<u8>),
    /// ASCII so far; the beginning of a line that may not be is held.
    Ascii(Vec<u8>),
    Decoding(Box<Decoder>),
}

/// Decodes the bytes of one output.
#[derive(Default)]
pub(super) struct TextDecoder {
    state: DecoderState,
    /// The encoding of the locale, if it is not UTF-8.
    locale: Option<&'static Encoding>,
    /// Bytes read and passed on.
    read: u64,
    passed: u64,
}

impl TextDecoder {
    /// Creates a decoder for the text of a program that runs in this locale.
    pub(super) fn new(locale: Option<&'static Encoding>) -> Self {
        Self { state: DecoderState::Beginning(Vec::new()), locale, read: 0, passed: 0 }
    }

    /// Reads bytes.
    pub(super) fn write(&mut self, bytes: &[u8], next: &mut dyn FnMut(&[u8])) {
        self.read += bytes.len() as u64;
        match &mut self.state {
            DecoderState::Off => self.pass(bytes, next),
            DecoderState::Beginning(held) => {
                held.extend_from_slice(bytes);
                let held = std::mem::take(held);
                self.begin(held, false, next);
            }
            DecoderState::Ascii(held) => {
                let held = std::mem::take(held);
                self.ascii(held, bytes, next);
            }
            DecoderState::Decoding(_) => self.decode(bytes, false, next),
        }
    }

    /// Passes on what is held, because somebody waits for it. A part of a byte order mark says nothing to anybody.
    pub(super) fn release(&mut self, next: &mut dyn FnMut(&[u8])) {
        match std::mem::take(&mut self.state) {
            DecoderState::Off => {}
            DecoderState::Beginning(held) if may_begin_mark(&held) => {
                self.state = DecoderState::Beginning(held);
            }
            DecoderState::Beginning(held) => self.begin(held, true, next),
            DecoderState::Ascii(held) => {
                self.pass(&held, next);
                self.state = DecoderState::Ascii(Vec::new());
            }
            decoding @ DecoderState::Decoding(_) => self.state = decoding,
        }
    }

    /// Ends the output.
    pub(super) fn end(&mut self, next: &mut dyn FnMut(&[u8])) {
        if let DecoderState::Beginning(held) = &mut self.state {
            let held = std::mem::take(held);
            self.begin(held, true, next);
        }
        if let DecoderState::Ascii(held) = &mut self.state {
            let held = std::mem::take(held);
            self.ascii(held, b"\n", &mut |text| next(text.strip_suffix(b"\n").unwrap_or(text)));
            self.passed = self.passed.saturating_sub(1);
        }
        self.release(next);
        self.decode(b"", true, next);
    }

    /// Whether the text differs from the bytes that were read, possibly with as many bytes.
    pub(super) fn has_decoded(&self) -> bool {
        matches!(self.state, DecoderState::Decoding(_))
    }

    /// Bytes that were read but are not in the decoded text, modulo 2^64.
    pub(super) fn difference(&self) -> u64 {
        self.read.wrapping_sub(self.passed)
    }

    fn pass(&mut self, bytes: &[u8], next: &mut dyn FnMut(&[u8])) {
        self.passed += bytes.len() as u64;
        if !bytes.is_empty() {
            next(bytes);
        }
    }

    /// Decides by the first bytes.
    fn begin(&mut self, held: Vec<u8>, is_all: bool, next: &mut dyn FnMut(&[u8])) {
        let encoding = match held.as_slice() {
            part if !is_all && may_begin_mark(part) => {
                self.state = DecoderState::Beginning(held);
                return;
            }
            // UTF-32.
            [0xFF, 0xFE, 0, 0, ..] => None,
            [0xFF, 0xFE, ..] => Some(UTF_16LE),
            [0xFE, 0xFF, ..] => Some(UTF_16BE),
            [0, _, ..] | [_, 0, ..] if held.len() < UNITS && !is_all => {
                self.state = DecoderState::Beginning(held);
                return;
            }
            [_] if !is_all => {
                self.state = DecoderState::Beginning(held);
                return;
            }
            units => utf_16(units),
        };
        match (encoding, self.locale) {
            (Some(encoding), _) => {
                self.state = DecoderState::Decoding(Box::new(encoding.new_decoder()));
                self.decode(&held, false, next);
            }
            (None, Some(_)) => self.ascii(Vec::new(), &held, next),
            (None, None) => {
                self.state = DecoderState::Off;
                self.pass(&held, next);
            }
        }
    }

    /// Passes lines of ASCII on, until one is not.
    fn ascii(&mut self, mut held: Vec<u8>, mut bytes: &[u8], next: &mut dyn FnMut(&[u8])) {
        loop {
            let end = memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let (line, rest) = bytes.split_at(end);
            held.extend_from_slice(line);
            bytes = rest;
            let is_ascii = held.is_ascii();
            let is_decided = held.ends_with(b"\n") || held.len() > LINE;
            match (is_ascii, is_decided, self.locale) {
                (true, true, _) => self.pass(&std::mem::take(&mut held), next),
                (false, true, Some(encoding)) => {
                    let text = held.strip_suffix(b"\n").unwrap_or(&held);
                    let is_utf_8 = match std::str::from_utf8(text) {
                        Ok(_) => true,
                        Err(error) => error.error_len().is_none() && held.len() > LINE,
                    };
                    if is_utf_8 {
                        self.state = DecoderState::Off;
                        self.pass(&held, next);
                        return self.pass(bytes, next);
                    }
                    self.state = DecoderState::Decoding(Box::new(
                        encoding.new_decoder_without_bom_handling(),
                    ));
                    self.decode(&held, false, next);
                    return self.decode(bytes, false, next);
                }
                _ => {}
            }
            if bytes.is_empty() {
                self.state = DecoderState::Ascii(held);
                return;
            }
        }
    }

    fn decode(&mut self, mut bytes: &[u8], is_last: bool, next: &mut dyn FnMut(&[u8])) {
        let DecoderState::Decoding(decoder) = &mut self.state else { return };
        let mut buffer = [0; 4096];
        loop {
            let (result, read, written, _) = decoder.decode_to_utf8(bytes, &mut buffer, is_last);
            bytes = bytes.get(read..).unwrap_or_default();
            let text = buffer.get(..written).unwrap_or_default();
            self.passed += text.len() as u64;
            if !text.is_empty() {
                next(text);
            }
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }
}

/// Returns whether the bytes are an incomplete byte order mark. The mark of UTF-32 begins with one of UTF-16.
fn may_begin_mark(bytes: &[u8]) -> bool {
    matches!(bytes, [] | [0xFE | 0xFF] | [0xFF, 0xFE] | [0xFF, 0xFE, 0])
}

/// Returns the encoding of units with a zero byte on one side.
fn utf_16(bytes: &[u8]) -> Option<&'static Encoding> {
    let units = bytes.get(..UNITS)?.chunks_exact(2);
    let all = |is: fn(&[u8]) -> bool| units.clone().all(is);
    if all(|unit| matches!(unit, [1..=255, 0])) {
        Some(UTF_16LE)
    } else if all(|unit| matches!(unit, [0, 1..=255])) {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Returns the encoding that a locale names (`ja_JP.SJIS`, `de_DE.ISO-8859-1@euro`), if it is not UTF-8.
pub(super) fn encoding_of_locale(locale: &str) -> Option<&'static Encoding> {
    let (_, charset) = locale.split_once('.')?;
    let charset = charset.split('@').next()?;
    // Names of glibc, and their labels.
    let label = match charset.to_ascii_lowercase().as_str() {
        "iso88591" => "iso-8859-1".to_owned(),
        "iso885915" => "iso-8859-15".to_owned(),
        "sjis" | "pck" | "cp932" => "shift_jis".to_owned(),
        "eucjp" | "ujis" => "euc-jp".to_owned(),
        "euckr" | "cp949" => "euc-kr".to_owned(),
        "euccn" | "cp936" => "gbk".to_owned(),
        "big5hkscs" => "big5-hkscs".to_owned(),
        "koi8r" => "koi8-r".to_owned(),
        "koi8u" => "koi8-u".to_owned(),
        "cp866" => "ibm866".to_owned(),
        name => match name.strip_prefix("cp125") {
            Some(digit) => format!("windows-125{digit}"),
            None => name.to_owned(),
        },
    };
    Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != UTF_8)
}

#[cfg(test)]
mod tests {
    use super::{TextDecoder, encoding_of_locale};

    fn decode(bytes: &[u8], locale: &str, chunk: usize) -> Vec<u8> {
        let mut decoder = TextDecoder::new(encoding_of_locale(locale));
        let mut out = Vec::new();
        for bytes in bytes.chunks(chunk) {
            decoder.write(bytes, &mut |text| out.extend_from_slice(text));
        }
        decoder.end(&mut |text| out.extend_from_slice(text));
        assert_eq!(decoder.difference(), (bytes.len() as u64).wrapping_sub(out.len() as u64));
        out
    }

    #[test]
    fn a_pause_in_a_mark_does_not_decide() {
        for bytes in [&b"\xFF\xFEa\0"[..], b"\xFE\xFF\0a", b"\xFF\xFE\0\0a\0\0\0"] {
            let whole = decode(bytes, "C", bytes.len());
            for at in 0..3 {
                let (mut decoder, mut out) = (TextDecoder::new(None), Vec::new());
                let (before, after) = bytes.split_at(at);
                let mut take = |text: &[u8]| out.extend_from_slice(text);
                decoder.write(before, &mut take);
                decoder.release(&mut take);
                decoder.write(after, &mut take);
                decoder.end(&mut take);
                assert_eq!(out, whole, "{at}: {}", bytes.escape_ascii());
            }
        }
    }

    #[test]
    fn encodings_that_are_certain_are_decoded() {
        let wide = |text: &str, big: bool| -> Vec<u8> {
            let bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            text.encode_utf16().flat_map(bytes).collect()
        };
        let text = "10:05 ERROR disk full\r\n日本 ok\r\n";
        let with_mark = format!("\u{feff}{text}");
        for (bytes, locale, expected) in [
            (wide(&with_mark, false), "C", text.as_bytes()),
            (wide(&with_mark, true), "C", text.as_bytes()),
            (wide(text, false), "C", text.as_bytes()),
            (wide(text, true), "C", text.as_bytes()),
            (
                b"a\n\xb4\xed\xce\xf3: x\n\xb4\xed".to_vec(),
                "zh_CN.GBK",
                "a\n错误: x\n错".as_bytes(),
            ),
            (b"\x83G\x83\x89\x81[: x\n".to_vec(), "ja_JP.SJIS", "エラー: x\n".as_bytes()),
            (b"cl\xe9: x".to_vec(), "fr_FR.ISO-8859-1", "clé: x".as_bytes()),
            ("clé: x\ny\n".as_bytes().to_vec(), "fr_FR.ISO-8859-1", "clé: x\ny\n".as_bytes()),
            (b"\xb4\xed\xce\xf3: x\n".to_vec(), "C", b"\xb4\xed\xce\xf3: x\n"),
            (b"\x80\0a\0".to_vec(), "C", b"\x80\0a\0"),
            (b"\xFF\xFE\0\0a\0\0\0".to_vec(), "C", b"\xFF\xFE\0\0a\0\0\0"),
            (b"\xFF\xFE\0".to_vec(), "C", "\u{fffd}".as_bytes()),
            (b"a\0b".to_vec(), "en_US.UTF-8", b"a\0b"),
            (b"x".to_vec(), "", b"x"),
            (b"x".to_vec(), "fr_FR.ISO-8859-1", b"x"),
            (b"\xe9".to_vec(), "fr_FR.ISO-8859-1", "é".as_bytes()),
            (b"".to_vec(), "", b""),
        ] {
            for chunk in [1, 2, 3, 1000] {
                let found = decode(&bytes, locale, chunk);
                assert_eq!(found, expected, "{locale} {chunk}: {}", bytes.escape_ascii());
            }
        }
    }
}
