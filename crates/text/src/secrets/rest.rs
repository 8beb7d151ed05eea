//! Reads the rest of a secret whose end is not in sight: a long token, or a private key in several lines.

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

/// The longest line of base64 that others may follow.
pub(super) const WIDEST: usize = 128;
/// The most characters between two such lines: indentation, or the sign of a quotation.
const INDENT: usize = 64;
/// The beginning of the last line of a private key in PEM, and the dashes at its end.
const LAST: &[u8] = b"-----END";
const DASHES: usize = 5;
/// The beginning of the last line of a private key of PuTTY.
const PUTTY_LAST: &[u8] = b"Private-MAC:";
/// The characters of that file, whose comment is any text.
const PUTTY: Class = PEM | class(b"'!&?{}~^%");
/// The lines between the first one and the key, of a key that is encrypted (RFC 1421).
const HEADERS: &[&[u8]] = &[b"Proc-Type:", b"DEK-Info:"];
/// The quotes of string literals.
const QUOTES: Class = class(b"\"'`");
/// The characters between string literals that are one text, or elements of a list.
const JOINS: Class = class(b" \t\\+,.&_()");
/// The letters before a string literal.
const PREFIXES: Class = class(b"bruLBRU@");
/// The most characters between two of them.
const GAP: usize = 128;
/// The fewest characters of a line of a key, except for its last one.
const SHORTEST: usize = 32;
/// The characters after a line that show whether it is a name.
const AFTER_LINE: usize = 4;
/// The most dots that stand for a key.
const DOTS: usize = 8;
/// The spellings of a line end: also those of a text that was escaped, in a cell of a Markdown table, and in a URL.
const LINE_ENDS: &[&[u8]] = &[
    b"\n", b"\r", br"\n", br"\r", br"\\n", br"\\r", b"<br>", b"<br/>", b"<br />", b"%0A", b"%0D",
    b"%0a", b"%0d",
];
/// Those of them that another one may follow.
const RETURNS: &[&[u8]] = &[b"\r", br"\r", br"\\r", b"%0D", b"%0d"];

/// The progress through the rest of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RestState {
    rest: Rest,
    /// How much of the last line was read: its beginning, then dashes.
    last: usize,
    /// The last line was read.
    is_over: bool,
    /// Lines of the key are string literals of a program, each in quotes of its own.
    is_quoted: bool,
}

impl RestState {
    pub(super) fn new(rest: Rest) -> Self {
        Self { rest, last: 0, is_over: false, is_quoted: false }
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
            Rest::PrivateKey if byte == b'<' => line_end(text, ended),
            Rest::PrivateKey if has(QUOTES, byte) => {
                let len = quoted_line(text, self.is_quoted, ended)?;
                self.is_quoted |= len > 0;
                self.last = 0;
                Some(len)
            }
            Rest::PrivateKey => Some(usize::from(self.takes_of_key(byte))),
            Rest::PuttyKey => Some(usize::from(self.takes_of_putty(byte))),
            Rest::Lines(_) if self.is_over => Some(0),
            Rest::Lines(width) => self.line(text, width, ended),
        }
    }

    fn takes_of_key(&mut self, byte: u8) -> bool {
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
        has(PEM, byte)
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

/// Returns whether a private key follows its first line, in which `text` comes next. `None`: more text decides.
///
/// Programs and their documentation also have only that line, in quotes. Then nothing is secret.
pub(super) fn has_key(text: &[u8], ended: bool) -> Option<bool> {
    let dots = text.iter().take(DOTS).take_while(|byte| **byte == b'.').count();
    let rest = text.get(dots..).unwrap_or_default();
    match rest.first() {
        None => (ended || dots == DOTS).then_some(true),
        Some(b'<') => line_end(rest, ended).map(|len| len > 0),
        Some(quote) if has(QUOTES, *quote) => quoted_line(rest, false, ended).map(|len| len > 0),
        Some(_) => Some(true),
    }
}

/// Returns the length of what is between two string literals, the second of which is a line of a private key: from the quote
/// at the beginning of the text to the one before that line. 0: no such line follows. `None`: more text decides.
///
/// ```text
/// "-----BEGIN PRIVATE KEY-----\n" +      [ "-----BEGIN PRIVATE KEY-----",
/// "MIIEvQIBADANBgkqhkiG9w0BAQEF…\n"        "MIIEvQIBADANBgkqhkiG9w0BAQEF…", …
/// ```
fn quoted_line(text: &[u8], is_quoted: bool, ended: bool) -> Option<usize> {
    let cut = |at: usize| if ended || at > GAP { Some(0) } else { None };
    let mut at = 1;
    let quote = loop {
        let rest = text.get(at..).filter(|rest| !rest.is_empty() && at <= GAP);
        let Some(rest) = rest else { return cut(at) };
        let byte = *rest.first()?;
        let end = line_end(rest, ended)?;
        at += match byte {
            _ if end > 0 => end,
            quote if has(QUOTES, quote) => break quote,
            byte if has(JOINS, byte) => 1,
            // The prefix of a literal.
            byte if has(PREFIXES, byte) && rest.get(1).is_none_or(|next| has(QUOTES, *next)) => 1,
            _ => return Some(0),
        };
    };
    let line = text.get(at + 1..).unwrap_or_default();
    if HEADERS.iter().any(|header| line.starts_with(header)) {
        return Some(at + 1);
    }
    if line.starts_with(LAST) {
        return Some(if is_quoted { at + 1 } else { 0 });
    }
    let len = line.iter().take(WIDEST + 1).take_while(|byte| has(BASE64_SIGNS, **byte)).count();
    let after = line.get(len..).unwrap_or_default();
    let could_begin = |start: &&[u8]| start.starts_with(line);
    if !ended
        && (after.len() < AFTER_LINE && len <= WIDEST
            || HEADERS.iter().chain([&LAST]).any(could_begin))
    {
        return None;
    }
    // The name of a member is followed by a colon.
    let ends = [&[quote][..], b"\\"].iter().any(|end| after.starts_with(end))
        || after.first().is_none_or(|byte| matches!(byte, b'\r' | b'\n'));
    let is_name = after.iter().take(AFTER_LINE).any(|byte| matches!(byte, b':' | b'='));
    let found = line.get(..len).unwrap_or_default();
    let any = |test: fn(&u8) -> bool| found.iter().any(test);
    let is_mixed = any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase);
    let is_line = len >= SHORTEST && is_mixed || is_quoted && len > 0 && len % 4 == 0;
    Some(if is_line && len <= WIDEST && ends && !is_name { at + 1 } else { 0 })
}

/// Returns the length of the line end at the beginning of a text, or 0. `None`: more text decides.
fn line_end(text: &[u8], ended: bool) -> Option<usize> {
    if let Some(end) = LINE_ENDS.iter().find(|end| text.starts_with(end)) {
        return Some(end.len());
    }
    let is_cut = !ended && LINE_ENDS.iter().any(|end| end.starts_with(text));
    if is_cut { None } else { Some(0) }
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
    fn a_first_line_without_a_key_is_not_secret() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw";
        for (after, has) in [
            ("\nMIIE".to_owned(), true),
            ("\\nMIIE".to_owned(), true),
            ("<br>MIIE".to_owned(), true),
            (format!("\" +\n  \"{line}\""), true),
            (String::new(), true),
            ("\" and more".to_owned(), false),
            ("', '-----END PRIVATE KEY-----'".to_owned(), false),
            ("...\",".to_owned(), false),
            ("`: the first line".to_owned(), false),
            ("</code> or".to_owned(), false),
        ] {
            assert_eq!(super::has_key(after.as_bytes(), true), Some(has), "{after}");
            // A beginning of the text decides alike, or not yet.
            for end in 1..after.len() {
                let found = super::has_key(&after.as_bytes()[..end], false);
                assert!(found.is_none_or(|found| found == has), "{after} {end}");
            }
        }
        let key = "Comment: a@b\nPrivate-Lines: 1\nabcd\nPrivate-MAC: 0123ab";
        assert_eq!(taken(Rest::PuttyKey, &format!("{key}\nx")), key.len());
    }
}
