//! Decodes a piece of a JSON string, and remembers where each character ends in the input.

/// A decoded piece of a string. Characters that are not ASCII are bytes of 0x80 and above, whose values mean nothing.
#[derive(Debug, Default)]
pub(super) struct DecodedText {
    text: Vec<u8>,
    /// For each byte of the text, the position in the input after it.
    ends: Vec<usize>,
    /// The position in the input of the first byte.
    begin: usize,
    /// The closing quote follows the text.
    is_closed: bool,
}

/// The most characters that are decoded at once.
const MOST: usize = 8192;

impl DecodedText {
    /// Decodes the input from `from` on, up to the closing quote, to `to`, or to as many characters as are decoded at once.
    pub(super) fn read(&mut self, input: &[u8], from: usize, to: usize) {
        self.text.clear();
        self.ends.clear();
        (self.begin, self.is_closed) = (from, false);
        let mut at = from;
        while self.text.len() < MOST && at < to {
            let rest = input.get(at..to).unwrap_or_default();
            let Some((byte, len)) = character(rest) else {
                self.is_closed = rest.first() == Some(&b'"');
                return;
            };
            at += len;
            self.text.push(byte);
            self.ends.push(at);
        }
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

    /// Returns whether as many characters were decoded as are decoded at once.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= MOST
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
