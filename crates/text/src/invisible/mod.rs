//! Removes characters that a reader does not see, but that a model reads: Unicode tags and floods of zero-width
//! characters. Makes bidirectional controls visible that would show a line in another order than it has.
//!
//! Single invisible characters belong to the spelling of many texts, so they are kept: ZWNJ in Persian, ZWJ in Indic
//! scripts and emoji, LRM and RLM in Hebrew and Arabic, variation selectors, and byte order marks.
//!
//! ```text
//! bytes ─▶ Reader (UTF-8, escapes of JSON) ─▶ characters ─▶ tags ─▶ runs ─▶ lines ─▶ output
//! ```
//!
//! Memory is bounded by the longest run that is kept, and by the longest line that waits for the end of a control. Time
//! is linear. The output does not depend on how the input is cut into chunks.

mod characters;
#[cfg(test)]
mod tests;

use characters::{Characters, Spelling};
use memchr::memmem;

/// The length of an escape `\uXXXX`.
const ESCAPE: usize = 6;

/// Removes invisible characters from a text, or from the strings of a JSON document, that arrives in chunks.
///
/// Use it for output of tools that is shown to a model, before anything else reads it.
///
/// - Unicode tags (U+E0000 to U+E007F) are removed, except in the flags of England, Scotland and Wales.
/// - A run of more than 8 variation selectors and zero-width characters is removed. A shorter one is kept.
/// - A bidirectional override or isolate that is not closed in its line is written visibly: `<U+202E>`.
///
/// Everything else is kept byte for byte, invalid UTF-8 as well.
///
/// ```
/// use tamis::text::InvisibleFilter;
///
/// let mut filter = InvisibleFilter::new();
/// let mut output = Vec::new();
/// for chunk in ["safe\u{E0068}", "\u{E0069} می\u{200C}خواهم \u{202E}evil\n"] {
///     filter.write(chunk.as_bytes(), &mut output);
/// }
/// filter.end(&mut output);
/// assert_eq!(String::from_utf8(output).unwrap(), "safe می\u{200C}خواهم <U+202E>evil\n");
/// assert_eq!((filter.report().tags, filter.report().open_controls), (2, 1));
/// ```
#[derive(Clone, Debug)]
pub struct InvisibleFilter {
    is_json: bool,
    /// Whether the next byte is inside of a string of JSON.
    in_string: bool,
    /// The bytes of an incomplete character or escape.
    partial: Spelling,
    characters: Characters,
}

/// How many characters an [`InvisibleFilter`] has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvisibleReport {
    /// Tags that were removed.
    pub tags: u64,
    /// Variation selectors and zero-width characters that were removed.
    pub zero_width: u64,
    /// Overrides and isolates that were written visibly.
    pub open_controls: u64,
}

impl InvisibleReport {
    /// Returns the number of all characters that were changed.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.tags + self.zero_width + self.open_controls
    }
}

impl Default for InvisibleFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl InvisibleFilter {
    /// Creates a filter for a text.
    #[must_use]
    pub fn new() -> Self {
        Self {
            is_json: false,
            in_string: false,
            partial: Spelling::default(),
            characters: Characters::default(),
        }
    }

    /// Creates a filter for JSON. In strings, escapes such as `\u200b` and `\udb40\udc41` are the characters that they
    /// stand for, and the end of a string ends its line.
    ///
    /// ```
    /// use tamis::text::InvisibleFilter;
    ///
    /// let json = r#"{"a": "x\udb40\udc41y", "b": "\u202ez"}"#;
    /// let output = InvisibleFilter::json().apply(json.as_bytes()).unwrap();
    /// assert_eq!(output, br#"{"a": "xy", "b": "<U+202E>z"}"#);
    /// ```
    #[must_use]
    pub fn json() -> Self {
        Self { is_json: true, ..Self::new() }
    }

    /// Returns whether a chunk of JSON may have something that [`json`](Self::json) changes. If no chunk may, the document stays as
    /// it is. Takes a fraction of the time of the filter.
    ///
    /// ```
    /// use tamis::text::InvisibleFilter;
    ///
    /// assert!(!InvisibleFilter::may_change_json("{\"a\": \"naïve\"}".as_bytes()));
    /// assert!(InvisibleFilter::may_change_json(br#"{"a": "\u200b"}"#));
    /// ```
    #[must_use]
    pub fn may_change_json(chunk: &[u8]) -> bool {
        // An escape that the chunk cuts may continue in the next one.
        chunk.last() == Some(&b'\\')
            || memmem::find(chunk, b"\\u").is_some()
            || (!chunk.is_ascii() && chunk.iter().copied().any(begins_role))
    }

    /// Filters a whole text. Returns `None` if nothing was changed.
    #[must_use]
    pub fn apply(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let before = self.report().total();
        let mut output = Vec::with_capacity(text.len());
        self.write(text, &mut output);
        self.end(&mut output);
        (self.report().total() > before).then_some(output)
    }

    /// Takes the next bytes, and adds what is known of the output.
    pub fn write(&mut self, mut bytes: &[u8], output: &mut Vec<u8>) {
        while let Some(&first) = bytes.first() {
            if self.partial.is_empty() {
                let plain = self.plain(bytes);
                if plain > 0 {
                    let (text, rest) = bytes.split_at(plain);
                    self.characters.text(text, output);
                    bytes = rest;
                    continue;
                }
            }
            match self.take(first, output) {
                Taken::Byte => bytes = bytes.get(1..).unwrap_or_default(),
                // The byte begins something else.
                Taken::Nothing => self.give_up(output),
            }
        }
    }

    /// Ends the text, and adds the rest of the output.
    pub fn end(&mut self, output: &mut Vec<u8>) {
        while !self.partial.is_empty() {
            self.give_up(output);
        }
        self.characters.end_line(output);
        self.in_string = false;
    }

    /// Returns what was changed so far.
    #[must_use]
    pub fn report(&self) -> InvisibleReport {
        self.characters.report
    }

    /// Returns how many bytes need no closer look.
    fn plain(&self, bytes: &[u8]) -> usize {
        let ends_line = self.characters.has_open();
        let (is_json, in_string) = (self.is_json, self.in_string);
        let is_plain = |byte: &u8| match byte {
            b'"' => !is_json,
            b'\\' => !in_string,
            b'\n' | b'\r' | 0x1c..=0x1e => !ends_line,
            byte if begins_role(*byte) => is_json && !in_string,
            _ => true,
        };
        bytes.iter().position(|byte| !is_plain(byte)).unwrap_or(bytes.len())
    }

    /// Takes the next byte of a character or an escape.
    fn take(&mut self, byte: u8, output: &mut Vec<u8>) -> Taken {
        if self.partial.is_empty() {
            match byte {
                b'"' if self.is_json => {
                    // A run at the beginning of a string does not belong to the string before it.
                    self.characters.end_line(output);
                    self.in_string = !self.in_string;
                    self.characters.text(b"\"", output);
                }
                b'\\' if self.in_string => self.partial.push(byte),
                0xC0.. => self.partial.push(byte),
                _ => self.characters.character(char::from(byte), &Spelling::of(byte), output),
            }
            return Taken::Byte;
        }
        let spelling = self.partial.bytes();
        let progress = match spelling.first() {
            Some(b'\\') => escape(spelling, byte),
            _ => character(spelling, byte),
        };
        match progress {
            Progress::Refused => Taken::Nothing,
            Progress::More => {
                self.partial.push(byte);
                Taken::Byte
            }
            Progress::Done(char) => {
                self.partial.push(byte);
                let spelling = std::mem::take(&mut self.partial);
                self.characters.character(char, &spelling, output);
                Taken::Byte
            }
        }
    }

    /// Writes an incomplete character or escape. Of two escapes, only the first is written.
    fn give_up(&mut self, output: &mut Vec<u8>) {
        let spelling = std::mem::take(&mut self.partial);
        let bytes = spelling.bytes();
        let (first, second) = bytes.split_at(bytes.len().min(ESCAPE));
        if !first.is_empty() {
            self.characters.text(first, output);
        }
        second.iter().for_each(|byte| self.partial.push(*byte));
    }
}

/// Whether a byte is the first one of a character that has a role.
fn begins_role(byte: u8) -> bool {
    matches!(byte, 0xC2 | 0xCD | 0xD8 | 0xE1 | 0xE2 | 0xEF | 0xF0 | 0xF3)
}

/// Whether a byte was taken.
enum Taken {
    Byte,
    Nothing,
}

/// The effect of a byte on a spelling.
enum Progress {
    More,
    Done(char),
    /// It does not belong to the spelling.
    Refused,
}

/// Continues a character of UTF-8.
fn character(spelling: &[u8], byte: u8) -> Progress {
    if !(0x80..0xC0).contains(&byte) {
        return Progress::Refused;
    }
    let length = match spelling.first() {
        Some(0xC0..0xE0) => 2,
        Some(0xE0..0xF0) => 3,
        _ => 4,
    };
    if spelling.len() + 1 < length {
        return Progress::More;
    }
    let mut whole = Spelling::default();
    spelling.iter().chain([&byte]).for_each(|byte| whole.push(*byte));
    let text = std::str::from_utf8(whole.bytes()).ok();
    // Invalid bytes are kept, like any character without a role.
    Progress::Done(text.and_then(|text| text.chars().next()).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Continues an escape of JSON: `\n`, `\uXXXX`, or two of the latter for one character.
fn escape(spelling: &[u8], byte: u8) -> Progress {
    match (spelling.len(), byte) {
        (1, b'u') => Progress::More,
        (1, b'n') => Progress::Done('\n'),
        (1, b'r') => Progress::Done('\r'),
        (1, _) => Progress::Done(char::REPLACEMENT_CHARACTER),
        (6, b'\\') | (7, b'u') => Progress::More,
        (2..=4 | 8..=10, _) if byte.is_ascii_hexdigit() => Progress::More,
        (5, _) if byte.is_ascii_hexdigit() => {
            let unit = hex(spelling.get(2..)) << 4 | digit(byte);
            match char::from_u32(unit) {
                Some(char) => Progress::Done(char),
                None if unit < 0xDC00 => Progress::More,
                None => Progress::Done(char::REPLACEMENT_CHARACTER),
            }
        }
        (11, _) if byte.is_ascii_hexdigit() => {
            let high = hex(spelling.get(2..6));
            let low = hex(spelling.get(8..)) << 4 | digit(byte);
            match low {
                0xDC00..0xE000 => {
                    let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                    Progress::Done(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
                }
                // The second escape is a character of its own, which may have a role.
                _ => Progress::Refused,
            }
        }
        _ => Progress::Refused,
    }
}

fn hex(digits: Option<&[u8]>) -> u32 {
    digits.unwrap_or_default().iter().fold(0, |code, byte| code << 4 | digit(*byte))
}

fn digit(byte: u8) -> u32 {
    char::from(byte).to_digit(16).unwrap_or(0)
}
