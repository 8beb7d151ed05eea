//! Decodes a piece of a JSON string or of a text, and remembers where each character ends in the input.

use super::resolve::{TextForm, resolved};

/// A decoded piece of a string or of a text, with the escapes that it spells resolved. Characters that are not ASCII are bytes
/// of 0x80 and above, whose values mean nothing.
#[derive(Debug, Default)]
pub(super) struct DecodedText {
    text: Vec<u8>,
    /// For each byte of the text, the position in the input after it.
    ends: Vec<usize>,
    /// The position in the input of the first byte.
    begin: usize,
    /// As many characters were decoded at most.
    most: usize,
    /// The closing quote follows the text.
    is_closed: bool,
}

/// The most characters that are decoded at once.
pub(super) const MOST: usize = 8192;

impl DecodedText {
    /// Decodes the input from `from` on, up to the closing quote, to its end, or to `most` characters. `ended`: nothing follows
    /// the input.
    pub(super) fn read(
        &mut self,
        form: TextForm,
        input: &[u8],
        from: usize,
        most: usize,
        ended: bool,
    ) {
        self.text.clear();
        self.ends.clear();
        (self.begin, self.most, self.is_closed) = (from, most, false);
        let mut at = from;
        while self.text.len() < most && at < input.len() {
            let rest = input.get(at..).unwrap_or_default();
            let Some((byte, len)) = resolved(rest, form, ended) else {
                self.is_closed = form == TextForm::Json && rest.first() == Some(&b'"');
                return;
            };
            at += len;
            self.text.push(byte);
            self.ends.push(at);
        }
    }

    /// Decodes the input as [`read`](Self::read) does, and then what is percent-encoded, also more than once, as in a URL
    /// inside the query of another one inside a third one.
    pub(super) fn read_url(
        &mut self,
        form: TextForm,
        input: &[u8],
        from: usize,
        most: usize,
        ended: bool,
    ) {
        self.read(form, input, from, most, ended);
        let (mut kept, mut at) = (0, 0);
        while at < self.text.len() {
            let (byte, len) = url_character(self.text.get(at..).unwrap_or_default());
            let end = self.ends.get(at + len - 1).copied();
            if let (Some(to), Some(place), Some(end)) =
                (self.text.get_mut(kept), self.ends.get_mut(kept), end)
            {
                (*to, *place) = (byte, end);
            }
            (kept, at) = (kept + 1, at + len);
        }
        self.text.truncate(kept);
        self.ends.truncate(kept);
        self.most = if self.most == at { kept } else { self.most };
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns whether the closing quote follows the text.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns the position in the input of the character at `index`, or after the last one.
    pub(super) fn place(&self, index: usize) -> usize {
        let before = index.checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or(self.begin)
    }

    /// Returns whether as many characters were decoded as was asked for.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= self.most
    }
}

/// The most times that one character is percent-encoded.
const LEVELS: usize = 3;

/// Returns the first character of a text, percent-encoded or not, and the length of its spelling.
fn url_character(text: &[u8]) -> (u8, usize) {
    let (mut byte, mut len) = (text.first().copied().unwrap_or(0), 1);
    for _ in 0..LEVELS {
        let digits = text.get(len..len + 2).filter(|_| byte == b'%');
        let Some([high, low]) = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        else {
            break;
        };
        let code = (hex(*high) << 4 | hex(*low)) as u8;
        (byte, len) = (if code.is_ascii() { code } else { 0x80 }, len + 2);
    }
    (byte, len)
}

/// A piece of text in UTF-8, and where each of its characters is in the input.
#[derive(Debug, Default)]
pub(super) struct Utf8Text {
    text: Vec<u8>,
    /// For each byte of the text, the position in the input after its character.
    ends: Vec<usize>,
    begin: usize,
    most: usize,
    /// The closing quote or the end of the line follows the text.
    is_closed: bool,
}

impl Utf8Text {
    /// Decodes the contents of a JSON string from `from` on, up to the closing quote or to `most` bytes. `before` are the
    /// characters before, which also become a part of the text.
    pub(super) fn read_string(&mut self, before: &[u8], input: &[u8], from: usize, most: usize) {
        self.start(before, from, most);
        let mut at = from;
        while self.text.len() < most {
            let rest = input.get(at..).unwrap_or_default();
            match rest {
                [b'"', ..] => {
                    self.is_closed = true;
                    return;
                }
                [byte, ..] if *byte != b'\\' => {
                    at += 1;
                    self.text.push(*byte);
                }
                _ => {
                    let Some((decoded, len)) = escaped_character(rest) else { return };
                    at += len;
                    let mut bytes = [0; 4];
                    self.text.extend_from_slice(decoded.encode_utf8(&mut bytes).as_bytes());
                }
            }
            self.ends.resize(self.text.len(), at);
        }
    }

    /// Reads a line of text from `from` on, up to its end or to `most` bytes. `before` as in [`read_string`](Self::read_string).
    pub(super) fn read_line(&mut self, before: &[u8], input: &[u8], from: usize, most: usize) {
        self.start(before, from, most);
        let rest = input.get(from..).unwrap_or_default();
        let rest = rest.get(..most.saturating_sub(before.len())).unwrap_or(rest);
        let line = memchr::memchr(b'\n', rest);
        self.is_closed = line.is_some();
        self.text.extend_from_slice(rest.get(..line.unwrap_or(rest.len())).unwrap_or_default());
        self.ends.extend((from + 1..).take(self.text.len() - before.len()));
    }

    fn start(&mut self, before: &[u8], from: usize, most: usize) {
        self.text.clear();
        self.text.extend_from_slice(before);
        self.ends.clear();
        self.ends.resize(before.len(), from);
        (self.begin, self.most, self.is_closed) = (from, most, false);
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns whether as much was read as may be read at once.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= self.most
    }

    /// Returns the position in the input of the character at `index`, or after the last one.
    pub(super) fn place(&self, index: usize) -> usize {
        let before = index.checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or(self.begin)
    }
}

/// Returns the character of the escape at the beginning, and its length. `None` if it is cut off. A surrogate that is not one
/// of a pair is U+FFFD.
fn escaped_character(rest: &[u8]) -> Option<(char, usize)> {
    const NONE: char = char::REPLACEMENT_CHARACTER;
    let unit = |at: usize| {
        let digits = rest.get(at..at + 6)?.strip_prefix(br"\u")?;
        Some(digits.iter().fold(0, |code, digit| code << 4 | hex(*digit)))
    };
    if rest.get(1) != Some(&b'u') {
        return character(rest).map(|(byte, len)| (char::from(byte), len));
    }
    let first = unit(0)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first).unwrap_or(NONE), 6));
    }
    // The next escape decides whether this is a pair.
    let follows = rest.get(6..12).or_else(|| {
        let after = rest.get(6..)?;
        let is_begun = after.is_empty() || after == br"\" || after.starts_with(br"\u");
        (!is_begun).then_some(after)
    })?;
    match follows.starts_with(br"\u").then(|| unit(6)).flatten() {
        Some(second) if (0xDC00..0xE000).contains(&second) => {
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            Some((char::from_u32(code).unwrap_or(NONE), 12))
        }
        _ => Some((NONE, 6)),
    }
}

/// Returns the first character of the contents of a string, and the length of its spelling. `None` at the closing quote, and
/// at an escape that is cut off.
pub(super) fn character(rest: &[u8]) -> Option<(u8, usize)> {
    match rest {
        [] | [b'"', ..] | [b'\\'] => None,
        [b'\\', b'u', digits @ ..] => {
            let digits = digits.get(..4)?;
            let code = digits.iter().fold(0, |code, digit| code << 4 | hex(*digit));
            Some((if code < 0x80 { code as u8 } else { 0x80 }, 6))
        }
        [b'\\', letter, ..] => {
            let byte = match letter {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'b' => 0x08,
                b'f' => 0x0c,
                other => *other,
            };
            Some((byte, 2))
        }
        [byte, ..] => Some((*byte, 1)),
    }
}

/// Returns the value of a hexadecimal digit.
pub(super) fn hex(digit: u8) -> u32 {
    char::from(digit).to_digit(16).unwrap_or(0)
}

/// Returns the first position at or after `at` that is not inside an escape. `odd`: an odd number of backslashes comes
/// directly before the input.
pub(super) fn after_escape(input: &[u8], odd: bool, at: usize) -> usize {
    for back in 1..=at.min(6) {
        let begin = at - back;
        if input.get(begin) != Some(&b'\\') {
            continue;
        }
        if !is_escaped(input, odd, begin + 1) {
            return at;
        }
        let len = if input.get(begin + 1) == Some(&b'u') { 6 } else { 2 };
        return at.max(begin + len);
    }
    at
}

/// Returns whether an odd number of backslashes comes directly before `at`.
pub(super) fn is_escaped(input: &[u8], odd: bool, at: usize) -> bool {
    let before = input.get(..at).unwrap_or_default();
    let run = before.iter().rev().take_while(|byte| **byte == b'\\').count();
    (run % 2 == 1) != (odd && run == before.len())
}
