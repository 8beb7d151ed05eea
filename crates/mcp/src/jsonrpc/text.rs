//! Short strings: names, ids and messages of this crate. Strings of any length are streamed by `mcp::blocks`.

use std::fmt::Write as _;

/// Decodes the JSON text of a string. Returns `None` if the string is invalid or has a lone surrogate.
pub(crate) fn decode(json: &[u8]) -> Option<String> {
    serde_json::from_slice(json).ok()
}

/// Appends a text as a JSON string, with its quotes.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char if u32::from(char) < 0x20 => _ = write!(out, "\\u{:04x}", u32::from(char)),
            char => out.push(char),
        }
    }
    out.push('"');
}

/// Returns a text as a JSON string, with its quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text, &mut out);
    out
}

/// Returns at most `longest` bytes of a text, cut between characters, without control characters. For names from a peer
/// in messages and logs.
pub(crate) fn short(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for char in text.chars() {
        if out.len() + char.len_utf8() > longest {
            out.push('…');
            break;
        }
        out.push(if char.is_control() { '\u{fffd}' } else { char });
    }
    out
}

/// Returns the position after a string in a valid JSON text. `open`: its first quote.
pub(crate) fn end_of_string(json: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    loop {
        match json.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => return (at + 1).min(json.len()),
            Some(_) => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, quoted, short};

    #[test]
    fn quoted_text_is_read_back() {
        for text in ["", "plain", "\"\\/\n\r\t\u{1}\u{1f}\u{7f}", "é\u{2028}\u{1F600}"] {
            assert_eq!(decode(quoted(text).as_bytes()).as_deref(), Some(text));
        }
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(short("abc", 3), "abc");
        assert_eq!(short("abcd", 3), "abc…");
        assert_eq!(short("éé", 3), "é…");
        assert_eq!(short("a\nb", 9), "a\u{fffd}b");
    }
}
