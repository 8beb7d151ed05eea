//! Replaces the lines of a private key that are elements of a list in JSON, after the element with its first line.
//!
//! ```text
//! ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEF…", "-----END PRIVATE KEY-----"]
//! ```

use tamis_json::sink::Sink;

use super::before::Before;
use super::filter::SecretFilter;
use super::key_lines::{LAST, is_line};
use super::kinds::has;
use super::strings::{KEPT, after_blanks, close_quote};
use super::words::BASE64_SIGNS;

/// The kind of these lines.
pub(super) const KIND: &str = "private-key";

/// The next string after a line of a key.
enum Element {
    /// It is a line of the key, or the last one.
    Line { begin: usize, close: usize, is_last: bool },
    /// It is something else.
    Other,
    /// More input shows what it is.
    Open,
}

impl SecretFilter {
    /// Replaces the next lines of a key. Returns whether the first other element was found.
    pub(super) fn skip_key_lines(&mut self, ended: bool, sink: &mut dyn Sink) -> bool {
        while let Some(is_begun) = self.key_lines {
            match self.next_element(is_begun, ended) {
                Element::Line { begin, close, is_last } => {
                    self.replace(begin, close, KIND, sink);
                    self.set_floor(close + 1, Before::EDGE);
                    self.key_lines = (!is_last).then_some(true);
                }
                Element::Other => self.key_lines = None,
                Element::Open => break,
            }
        }
        self.done = self.done.max(self.floor);
        self.key_lines.is_none()
    }

    fn next_element(&self, is_begun: bool, ended: bool) -> Element {
        let mut begin = self.floor;
        for wanted in [b',', b'"'] {
            match after_blanks(&self.buffer, begin) {
                (Some(next), blanks) if next == wanted => begin += blanks + 1,
                (None, blanks) if !ended && blanks < KEPT => return Element::Open,
                _ => return Element::Other,
            }
        }
        let end = self.buffer.len().min(begin + KEPT);
        let Some(close) = close_quote(&self.buffer, begin, end) else {
            let is_cut = !ended && self.buffer.len() - begin <= KEPT;
            return if is_cut { Element::Open } else { Element::Other };
        };
        match after_blanks(&self.buffer, close + 1) {
            (Some(b':'), _) => return Element::Other,
            (None, blanks) if !ended && blanks < KEPT => return Element::Open,
            _ => {}
        }
        let text = self.buffer.get(begin..close).unwrap_or_default();
        match key_line(text, is_begun) {
            Some(is_last) => Element::Line { begin, close, is_last },
            None => Element::Other,
        }
    }
}

/// Returns whether the contents of a string are the last line of a key, if they are a line of it.
pub(super) fn key_line(text: &[u8], is_begun: bool) -> Option<bool> {
    if is_begun && text.starts_with(LAST) {
        return Some(true);
    }
    let ends: [&[u8]; 2] = [br"\n", br"\r"];
    let text = ends.iter().fold(text, |text, end| text.strip_suffix(*end).unwrap_or(text));
    // Slashes may be escaped.
    let characters: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'\\').collect();
    let is_base64 = characters.iter().all(|byte| has(BASE64_SIGNS, *byte));
    (is_base64 && is_line(&characters, is_begun)).then_some(false)
}

#[cfg(test)]
mod tests {
    use crate::secrets::filter::SecretFilter;
    use crate::secrets::resolve::TextForm;

    fn run(document: &str, piece: usize) -> String {
        let (mut filter, mut output) = (SecretFilter::new(TextForm::Json), Vec::new());
        document.as_bytes().chunks(piece).for_each(|piece| filter.write(piece, &mut output));
        filter.end(&mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn lines_of_keys_in_lists_are_replaced() {
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw";
        for (list, expected) in [
            (r#"["x","B","1","1","ab==","E","y"]"#, r#"["x","K","K","K","K","K","y"]"#),
            (r#"[ "B\n" , "1\n" , "ab\/=\n" , "E\n" ]"#, r#"[ "K" , "K" , "K" , "K" ]"#),
            (r#"["B","y","1"]"#, r#"["K","y","1"]"#),
            (r#"["B","E","ab=="]"#, r#"["K","E","ab=="]"#),
            (r#"["B","1"],["ab=="]"#, r#"["K","K"],["ab=="]"#),
            (r#"{"a":"B","1":"ab=="}"#, r#"{"a":"K","1":"ab=="}"#),
            (r#"["B\n1\nE","ab=="]"#, r#"["K","ab=="]"#),
            (r#"["B\n1","ab==","name of"]"#, r#"["K","K","name of"]"#),
        ] {
            // Letters of the marks themselves are replaced last.
            let list = list
                .replace('B', "\u{1}")
                .replace('1', "\u{2}")
                .replace('E', "\u{3}")
                .replace('\u{1}', begin)
                .replace('\u{2}', line)
                .replace('\u{3}', end);
            let expected = expected
                .replace('K', "[redacted:private-key]")
                .replace('E', end)
                .replace('1', line);
            for piece in [usize::MAX, 1, 7] {
                assert_eq!(run(&list, piece), expected, "{list}");
            }
        }
    }
}
