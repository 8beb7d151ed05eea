//! Reads the rest of a secret whose end is not in sight: a long token, or a private key in several lines.

use super::key_lines::{LAST, line_end, next_line};
use super::kinds::{Class, PEM, class, has};
use super::percent::Spelling;
use super::words::BASE64_SIGNS;

/// The characters that belong to such a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Class(Class),
    /// The block of a private key in PEM.
    PrivateKey,
    /// The file of a private key of PuTTY.
    PuttyKey,
    /// Lines of base64 of this width, of which only the last one may be shorter.
    Lines(usize),
}

impl Rest {
    pub(super) fn of_class(characters: Class, spelling: Spelling) -> Self {
        match spelling {
            Spelling::Plain => Self::Class(characters),
            Spelling::Percent => Self::Class(characters | class(b"%")),
        }
    }
}

/// The most characters between two such lines: indentation, or the sign of a quotation.
const INDENT: usize = 64;
/// The dashes at the end of the last line of a private key in PEM.
const DASHES: usize = 5;
/// The characters of base64 in a row that show that a key has begun.
const BEGUN: usize = 4;
/// The beginning of the last line of a private key of PuTTY.
const PUTTY_LAST: &[u8] = b"Private-MAC:";
/// The characters of that file, whose comment is any text.
const PUTTY: Class = PEM | class(b"'!&?{}~^%");
/// The spellings of a line end that another one may follow.
const RETURNS: &[&[u8]] = &[b"\r", br"\r", br"\\r", b"%0D", b"%0d"];

/// The progress through the rest of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RestState {
    rest: Rest,
    /// How much of the last line was read: its beginning, then dashes.
    last: usize,
    /// The last line was read.
    is_over: bool,
    /// The number of characters of base64 in a row, up to those that show that the key has begun.
    run: usize,
}

impl RestState {
    pub(super) fn new(rest: Rest) -> Self {
        Self { rest, last: 0, is_over: false, run: 0 }
    }

    /// Returns whether a line of a private key was read.
    pub(super) fn is_begun(self) -> bool {
        self.run == BEGUN
    }

    /// Returns whether the last line of a private key was not read.
    pub(super) fn is_open_key(self) -> bool {
        self.rest == Rest::PrivateKey && self.last < LAST.len() + DASHES
    }

    /// Reads the next characters of the text. Returns how many of them belong to the secret, and whether it has ended after
    /// them. If it has not, more text decides about the others. `ended`: nothing follows the text.
    pub(super) fn take(&mut self, text: &[u8], ended: bool) -> (usize, bool) {
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            match self.next(rest, ended) {
                Some(0) => return (at, true),
                Some(len) => at += len,
                None => return (at, false),
            }
        }
        (at, ended)
    }

    /// Returns how many of the next characters belong to the secret, at least one if it has not ended. `None`: more text
    /// decides.
    fn next(&mut self, text: &[u8], ended: bool) -> Option<usize> {
        let byte = *text.first()?;
        match self.rest {
            Rest::Class(class) => Some(usize::from(has(class, byte))),
            Rest::PrivateKey if self.last == LAST.len() + DASHES => Some(0),
            Rest::PrivateKey if has(PEM, byte) => {
                self.read_of_key(byte);
                Some(1)
            }
            Rest::PrivateKey => {
                // A line end may be spelled as a tag.
                let end = line_end(text, ended)?;
                let is_begun = self.is_begun();
                let next = if end > 0 { Some(end) } else { next_line(text, is_begun, ended)? };
                if next.is_some() {
                    (self.last, self.run) = (0, BEGUN);
                }
                Some(next.unwrap_or(0))
            }
            Rest::PuttyKey => Some(usize::from(self.takes_of_putty(byte))),
            Rest::Lines(_) if self.is_over => Some(0),
            Rest::Lines(width) => self.line(text, width, ended),
        }
    }

    fn read_of_key(&mut self, byte: u8) {
        if self.run < BEGUN {
            self.run = if has(BASE64_SIGNS, byte) { self.run + 1 } else { 0 };
        }
        let begun = self.last;
        if begun >= LAST.len() {
            // In the last line, whose end has five dashes.
            let dashes = begun - LAST.len();
            self.last = LAST.len() + if byte == b'-' { dashes + 1 } else { 0 };
        } else if LAST.get(begun) == Some(&byte) {
            self.last += 1;
        } else if byte != b'-' || begun != DASHES {
            self.last = usize::from(byte == b'-');
        }
    }

    fn takes_of_putty(&mut self, byte: u8) -> bool {
        if self.last >= PUTTY_LAST.len() {
            return byte == b' ' || byte.is_ascii_hexdigit();
        }
        let is_next = PUTTY_LAST.get(self.last) == Some(&byte);
        let is_first = PUTTY_LAST.first() == Some(&byte);
        self.last = if is_next { self.last + 1 } else { usize::from(is_first) };
        has(PUTTY, byte)
    }

    /// Returns the length of a line end and the line of base64 after it, or 0 if no such line follows.
    fn line(&mut self, text: &[u8], width: usize, ended: bool) -> Option<usize> {
        let mut begin = line_end(text, ended)?;
        if begin == 0 {
            return Some(0);
        }
        let end = text.get(..begin).unwrap_or_default();
        if RETURNS.contains(&end) {
            begin += line_end(text.get(begin..).unwrap_or_default(), ended)?;
        }
        let is_indent = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'>' | b'#' | b'|' | b'*');
        let rest = text.get(begin..).unwrap_or_default();
        begin += rest.iter().take(INDENT).take_while(is_indent).count();
        let rest = text.get(begin..).unwrap_or_default();
        let len = rest.iter().take(width + 1).take_while(|byte| has(BASE64_SIGNS, **byte)).count();
        match rest.get(len) {
            None if !ended && len <= width => return None,
            // It is a word of another line.
            Some(b':' | b'.' | b'_' | b'(' | b'[' | b'{') => return Some(0),
            _ => {}
        }
        if len == 0 || len > width || (len < width && len % 4 != 0) {
            return Some(0);
        }
        self.is_over = len < width;
        Some(begin + len)
    }
}

#[cfg(test)]
mod tests {
    use super::{Rest, RestState};

    fn taken(rest: Rest, text: &str) -> usize {
        let whole = RestState::new(rest).take(text.as_bytes(), true).0;
        // The same in pieces, each with what was left of the last one.
        let (mut state, mut at, mut shown) = (RestState::new(rest), 0, 0);
        while shown < text.len() {
            shown += 1;
            let ended = shown == text.len();
            let (len, is_over) = state.take(&text.as_bytes()[at..shown], ended);
            at += len;
            if is_over {
                break;
            }
        }
        assert_eq!(at, whole, "{text:?}");
        whole
    }

    #[test]
    fn lines_of_base64_end_with_the_first_that_is_not_one() {
        for (text, after) in [
            ("\nabcd1234\nabcd", "\nother: x"),
            ("\r\n  abcd1234\r\n  abcd", "\r\nx"),
            ("\nabcd1234", "\nab c"),
            ("\nabcd1234", "\nabcd12345"),
            ("\nabc=", "\nabcd1234"),
            (r"\nabcd1234", r"\nkey_1"),
            ("<br/>abcd1234", "<b>abcd"),
            ("", "\n\nabcd1234"),
            ("", " abcd1234"),
        ] {
            assert_eq!(
                taken(Rest::Lines(8), &format!("{text}{after}")),
                text.len(),
                "{text}{after}"
            );
        }
    }

    #[test]
    fn keys_end_after_their_last_lines() {
        let key = "ab<br>cd<br />ef%0A-----END PRIVATE KEY-----";
        assert_eq!(taken(Rest::PrivateKey, &format!("{key}<br>x")), key.len());
        assert_eq!(taken(Rest::PrivateKey, "ab</code>"), 2);
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw";
        for (key, after) in [
            (format!(r#"\n" "{line}\n" "ab==\n" "-----END PRIVATE KEY-----"#), "\"; x"),
            (format!("'\r\n    + b'{line}' +\n 'ab==' +\n '-----END EC PRIVATE KEY-----"), "';"),
            (format!(r#"\", \"{line}\", \"-----END RSA PRIVATE KEY-----"#), r#"\", x"#),
            (format!("\",\"Proc-Type: 4,ENCRYPTED\",\"{line}\",\"abcd"), "\"]"),
            (String::new(), "\" x"),
            (String::new(), "\", \"name\""),
            (String::new(), "\", \"clientX509CertificateUrlOfTheServiceAccount\": \"x\""),
            (format!("ab\", \"{line}"), "\", \"next\": 1"),
        ] {
            assert_eq!(
                taken(Rest::PrivateKey, &format!("{key}{after}")),
                key.len(),
                "{key}{after}"
            );
        }
    }

    #[test]
    fn files_of_putty_end_with_their_checksum() {
        let key = "Comment: a@b\nPrivate-Lines: 1\nabcd\nPrivate-MAC: 0123ab";
        assert_eq!(taken(Rest::PuttyKey, &format!("{key}\nx")), key.len());
    }
}
