//! Recognises strings that are base64 or a `data:` URL, while their bytes arrive.
//!
//! [`BinaryText`] reads the contents of a JSON string as they are spelled. It reports as soon as the string can no longer
//! be binary data, which for prose is at its first blank. Whether the string *is* binary data is only known at its end.
//!
//! ```text
//!                        ┌── "data" and a colon ──▶ header ── a comma ──▶ URL ── the end ──▶ data: URL
//! start ── alphabet ──▶ base64 ── "=" ──▶ padding ── the end, all rules hold ──▶ base64
//!            │               │                 │
//!            └───────────────┴── another character ──▶ no match, forever
//! ```
//!
//! # The definition of base64
//!
//! The characters are those of the standard alphabet (`+`, `/`) or of the one for URLs (`-`, `_`), never of both (RFC
//! 4648). Padding may be absent unless `+` or `/` occurs. The length must be one that encoders produce. Lines may be
//! broken as encoders break them: all lines have the same length of at least 60 characters, and the last one may be
//! shorter.
//!
//! Other texts use the same characters, and must not be lost. So these are not base64: hexadecimal digits, lists of
//! words or hashes of less than 60 characters a line, and rules of `-` or `_`.

/// The shortest line that an encoder breaks. Ruby writes 60 characters a line, PEM 64 and MIME 76. Lists of hashes and
/// identifiers usually have shorter lines.
const SHORTEST_LINE: u64 = 60;
/// The longest header of a `data:` URL that is read: a media type with parameters.
const LONGEST_HEADER: usize = 256;

/// The kind of binary data in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryKind {
    Base64,
    DataUrl,
}

impl BinaryKind {
    /// Returns the words for a mark: `14,203 bytes of base64`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::DataUrl => "a data: URL",
        }
    }
}

/// A string that may be binary data.
#[derive(Clone, Debug, Default)]
pub(super) struct BinaryText {
    escape: Escape,
    form: Form,
    /// The number of characters so far.
    chars: u64,
}

/// The position in an escape sequence.
#[derive(Clone, Copy, Debug, Default)]
enum Escape {
    #[default]
    None,
    /// After a backslash.
    Begun,
    /// In `\uXXXX`: the digits so far, and their value.
    Unicode { digits: u8, code: u16 },
}

/// The kinds of text that the characters so far can be.
#[derive(Clone, Debug)]
enum Form {
    Base64(Base64Shape),
    /// In the header of a `data:` URL.
    Header(Vec<u8>),
    /// In the data of a `data:` URL.
    Url,
}

impl Default for Form {
    fn default() -> Self {
        Self::Base64(Base64Shape::default())
    }
}

impl BinaryText {
    /// Reads the next bytes of the string as they are spelled, after its opening quote. Returns how many of them still
    /// fit; if these are not all, the string is not binary data, and nothing more may be read.
    pub(super) fn read(&mut self, bytes: &[u8]) -> usize {
        let fits = bytes.iter().position(|byte| !self.fits(*byte));
        fits.unwrap_or(bytes.len())
    }

    /// Returns the kind and the number of characters of a string that has ended. `None` if it is not binary data.
    pub(super) fn end(&self) -> Option<(BinaryKind, u64)> {
        let kind = match &self.form {
            Form::Base64(shape) => shape.is_complete().then_some(BinaryKind::Base64),
            Form::Header(_) => None,
            Form::Url => Some(BinaryKind::DataUrl),
        };
        Some((kind?, self.chars))
    }

    /// Reads one byte. Returns whether the string can still be binary data.
    fn fits(&mut self, byte: u8) -> bool {
        match self.escape {
            Escape::None if byte == b'\\' => {
                self.escape = Escape::Begun;
                true
            }
            // Within a string only the closing quote is not escaped.
            Escape::None if byte == b'"' => true,
            Escape::None => self.accepts(byte),
            Escape::Begun => {
                self.escape = Escape::None;
                match byte {
                    b'n' => self.accepts(b'\n'),
                    b'r' => self.accepts(b'\r'),
                    b'/' => self.accepts(b'/'),
                    b'u' => {
                        self.escape = Escape::Unicode { digits: 0, code: 0 };
                        true
                    }
                    // Quotes, backslashes and other control characters are in none of the forms.
                    _ => false,
                }
            }
            Escape::Unicode { digits, code } => {
                // The string is valid, so each of the four bytes is a digit.
                let digit = char::from(byte).to_digit(16).unwrap_or_default() as u16;
                let code = code << 4 | digit;
                if digits < 3 {
                    self.escape = Escape::Unicode { digits: digits + 1, code };
                    return true;
                }
                self.escape = Escape::None;
                u8::try_from(code).is_ok_and(|byte| self.accepts(byte))
            }
        }
    }

    /// Reads one character. Returns whether the string can still be binary data.
    fn accepts(&mut self, char: u8) -> bool {
        self.chars += 1;
        match &mut self.form {
            Form::Base64(shape) if char == b':' => {
                let is_data_url = shape.is_word_data();
                self.form = Form::Header(Vec::new());
                is_data_url
            }
            Form::Base64(shape) => shape.accepts(char),
            Form::Header(header) if char == b',' => {
                let is_header = is_media_type(header);
                self.form = Form::Url;
                is_header
            }
            Form::Header(header) => {
                header.push(char);
                header.len() <= LONGEST_HEADER
            }
            Form::Url => is_of_url(char),
        }
    }
}

/// The characters of a text that may be base64.
#[derive(Clone, Debug, Default)]
struct Base64Shape {
    /// The number of characters without line breaks.
    length: u64,
    /// The number of `=` at the end.
    padding: u8,
    /// Characters of the standard alphabet only: `+`, `/`.
    standard: bool,
    /// Characters of the alphabet for URLs only: `-`, `_`.
    url: bool,
    /// Which of these occur: decimal digits, `a` to `f`, `A` to `F`, other letters and signs.
    digits: bool,
    lower_hex: bool,
    upper_hex: bool,
    others: bool,
    /// A letter or a digit occurs.
    alphanumeric: bool,
    /// The length of the first line, if it has ended.
    line: Option<u64>,
    /// The length of the current line.
    current: u64,
    /// The line break that is being read has only its `\r` so far.
    half_break: bool,
    /// A line was shorter than the first, so no further line may follow.
    last: bool,
    /// The first four characters.
    start: [u8; 4],
}

impl Base64Shape {
    /// Reads one character. Returns whether the text can still be base64.
    fn accepts(&mut self, char: u8) -> bool {
        if char == b'\r' {
            return !std::mem::replace(&mut self.half_break, true);
        }
        let half_break = std::mem::take(&mut self.half_break);
        if char == b'\n' {
            return self.break_line();
        }
        // A lone `\r` does not break a line, and nothing follows the last line.
        if half_break || self.last || !self.takes(char) {
            return false;
        }
        if let Some(start) = self.start.get_mut(usize::try_from(self.length).unwrap_or(usize::MAX))
        {
            *start = char;
        }
        self.length += 1;
        self.current += 1;
        match self.line {
            // The first line turns out to be one of several.
            Some(line) if self.current == 1 => line >= SHORTEST_LINE && line % 4 == 0,
            Some(line) => self.current <= line,
            None => true,
        }
    }

    /// Notes a character that is not a line break. Returns whether it is in an alphabet that fits.
    fn takes(&mut self, char: u8) -> bool {
        if char == b'=' {
            self.padding += 1;
            return self.padding <= 2;
        }
        match char {
            b'0'..=b'9' => self.digits = true,
            b'a'..=b'f' => self.lower_hex = true,
            b'A'..=b'F' => self.upper_hex = true,
            b'g'..=b'z' | b'G'..=b'Z' => self.others = true,
            b'+' | b'/' => self.standard = true,
            b'-' | b'_' => self.url = true,
            _ => return false,
        }
        self.alphanumeric |= char.is_ascii_alphanumeric();
        self.padding == 0 && !(self.standard && self.url)
    }

    /// Ends a line.
    fn break_line(&mut self) -> bool {
        let length = std::mem::take(&mut self.current);
        let first = *self.line.get_or_insert(length);
        self.last |= length < first;
        length > 0
    }

    /// Returns whether the characters are `data`, with which the URL of that scheme begins.
    fn is_word_data(&self) -> bool {
        self.length == 4 && self.line.is_none() && self.start.eq_ignore_ascii_case(b"data")
    }

    /// Returns whether the text, which has ended, is base64.
    fn is_complete(&self) -> bool {
        let fits = match (self.length % 4, self.padding) {
            (0, _) => true,
            // Without padding, which only the alphabet for URLs allows.
            (1, _) => false,
            (_, padding) => padding == 0 && !self.standard,
        };
        let is_hex = !self.others
            && !self.standard
            && !self.url
            && self.padding == 0
            && match (self.digits, self.lower_hex, self.upper_hex) {
                (_, true, true) | (false, false, _) => false,
                (_, true, false) | (true, false, _) => true,
            };
        fits && self.alphanumeric && !is_hex && !self.half_break
    }
}

/// Returns whether the header of a `data:` URL is valid: a media type, or nothing, and parameters (RFC 2397).
fn is_media_type(header: &[u8]) -> bool {
    let is_token = |text: &[u8]| {
        let special = |byte: &u8| b"!#$&-^_.+%*'~".contains(byte);
        !text.is_empty() && text.iter().all(|byte| byte.is_ascii_alphanumeric() || special(byte))
    };
    let mut parts = header.split(|byte| *byte == b';');
    let media = parts.next().unwrap_or_default();
    let mut types = media.splitn(2, |byte| *byte == b'/');
    let is_media = media.is_empty() || (types.by_ref().all(is_token) && media.contains(&b'/'));
    is_media && parts.all(|parameter| parameter.splitn(2, |byte| *byte == b'=').all(is_token))
}

/// Returns whether a character may be in a URL (RFC 3986).
fn is_of_url(char: u8) -> bool {
    char.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&char)
}

#[cfg(test)]
mod tests {
    use super::{BinaryKind, BinaryText};

    /// Reads a text in two pieces, at each place.
    fn kind(spelled: &str) -> Option<(BinaryKind, u64)> {
        let read = |cut: usize| {
            let mut text = BinaryText::default();
            for piece in [&spelled.as_bytes()[..cut], &spelled.as_bytes()[cut..]] {
                if text.read(piece) < piece.len() {
                    return None;
                }
            }
            text.end()
        };
        let whole = read(spelled.len());
        for cut in 0..spelled.len() {
            assert_eq!(read(cut), whole, "{spelled} cut at {cut}");
        }
        whole
    }

    #[test]
    fn base64_and_data_urls() {
        let line = |length: usize| "QUxM".repeat(length / 4);
        let broken = |length: usize, last: &str| format!("{0}\\n{0}\\n{last}", line(length));
        for (text, length) in [
            ("QUJD".to_owned(), 4),
            ("QUI=".to_owned(), 4),
            ("QQ==".to_owned(), 4),
            ("QUxMTE8".to_owned(), 7),
            ("+/+/QQ==".to_owned(), 8),
            (r"+\/+\/QQ==".to_owned(), 8),
            (r"\u002B\u002f\u002b/QQ\u003d=".to_owned(), 8),
            ("-_-_QQ".to_owned(), 6),
            ("-_-_QQ==".to_owned(), 8),
            ("AAAAAAAA".to_owned(), 8),
            (broken(60, "QQ=="), 126),
            (broken(76, "QQ==\\n"), 159),
            (broken(64, "QUxM").replace("\\n", "\\r\\n"), 136),
            (format!("{}\\n", line(100)), 101),
        ] {
            assert_eq!(kind(&text), Some((BinaryKind::Base64, length)), "{text}");
        }
        for text in [
            "data:image/png;base64,iVBORw0KGgo=",
            "DATA:,Hello%20world",
            "data:text/plain;charset=UTF-8,a-b",
            r"data:image\/svg+xml;utf8,%3Csvg\/%3E",
        ] {
            let found = kind(text).map(|(kind, _)| kind);
            assert_eq!(found, Some(BinaryKind::DataUrl), "{text}");
        }
    }

    #[test]
    fn other_texts() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let upper = hash.to_uppercase();
        for text in [
            "",
            "QUJDR",
            "QUJ=D",
            "Q===",
            "QUI=QUI=",
            "+/-_",
            "+/+",
            "QUI=-_A=\\u00e9",
            "QUJD QUJD",
            "QUJDé",
            r"QUJD\t",
            r#"QUJD\""#,
            r"QUJD\rQUJD",
            r"QUJD\nQUJD",
            r"QUJD\n\nQUJD",
            r"alpha\nbeta\ngamma",
            "----",
            "____",
            hash,
            &upper,
            &format!("{hash}\\n{hash}\\n"),
            &format!("{hash}\\n{hash}x\\n"),
            "data:",
            "data:image/png;base64",
            "data:image/png;base64,a b",
            "data:image,x",
            "data: a/b,x",
            "data:a/b/c,x",
            "dada:,x",
            "data:a/b;=,x",
            "http://example.com/",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
        let header = "x".repeat(300);
        assert_eq!(kind(&format!("data:a/{header},x")), None);
        let uneven = format!("{}\\n{}\\nQQ==", "QUxM".repeat(20), "QUxM".repeat(19));
        assert_eq!(kind(&uneven), None);
    }
}
