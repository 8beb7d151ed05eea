//! Escapes text: for HTML, JavaScript and URLs, and as a string constant of Go.

use super::buffer::TextBuffer;

/// Reports whether Go prints a character as it is: letters, marks, numbers, punctuation, symbols and the space.
pub(super) fn is_printable(char: char) -> bool {
    if char.is_ascii() {
        return matches!(char, ' '..='~');
    }
    // Rust escapes the same categories, and at the beginning of a text also marks that join what is before them.
    let mut text = [b'a'; 5];
    let (_, rest) = text.split_at_mut(1);
    let length = char.encode_utf8(rest).len();
    let text = text.get(..=length).and_then(|text| std::str::from_utf8(text).ok());
    text.is_some_and(|text| text.escape_debug().nth(1) == Some(char))
}

/// Escapes text for HTML, also inside quoted attributes.
pub(super) fn html(text: &str, out: &mut TextBuffer<'_>) {
    for char in text.chars() {
        match char {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            char => out.push(char),
        }
    }
}

/// Escapes text for a string of JavaScript.
pub(super) fn js(text: &str, out: &mut TextBuffer<'_>) {
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' | '\0'..' ' => {
                out.push_args(format_args!("\\u{:04X}", u32::from(char)))
            }
            char if char.is_ascii() || is_printable(char) => out.push(char),
            char => out.push_args(format_args!("\\u{:04X}", u32::from(char))),
        }
    }
}

/// Escapes text for the query of a URL.
pub(super) fn url_query(text: &str, out: &mut TextBuffer<'_>) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            byte => out.push_args(format_args!("%{byte:02X}")),
        }
    }
}

/// Writes text as a string or character constant of Go, between two `quote`s.
pub(super) fn go_quoted(text: &str, quote: char, ascii_only: bool, out: &mut TextBuffer<'_>) {
    out.push(quote);
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            char if char == quote => {
                out.push('\\');
                out.push(char);
            }
            char if char.is_ascii() || !ascii_only => {
                if is_printable(char) {
                    out.push(char);
                } else {
                    go_escape(char, out);
                }
            }
            char => go_escape(char, out),
        }
    }
    out.push(quote);
}

fn go_escape(char: char, out: &mut TextBuffer<'_>) {
    match char {
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        '\0'..=' ' | '\u{7f}' => out.push_args(format_args!("\\x{:02x}", u32::from(char))),
        '\0'..='\u{ffff}' => out.push_args(format_args!("\\u{:04x}", u32::from(char))),
        _ => out.push_args(format_args!("\\U{:08x}", u32::from(char))),
    }
}

/// Reports whether Go can write text as a raw string constant.
pub(super) fn can_backquote(text: &str) -> bool {
    text.chars()
        .all(|char| !matches!(char, '\0'..='\u{8}' | '\n'..' ' | '`' | '\u{7f}' | '\u{feff}'))
}
