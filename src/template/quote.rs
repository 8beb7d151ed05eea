//! Spells a string for the engine.

/// A string as the engine reads it right: after a backslash it never takes a quote for the closing one, and of its other
/// escapes several are misread.
pub(super) fn quote(text: &str, out: &mut String) {
    let (text, ends_in_backslash) = match text.strip_suffix('\\') {
        Some(text) => (text, true),
        None => (text, false),
    };
    out.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            char => out.push(char),
        }
    }
    if ends_in_backslash {
        out.push_str("\\x5c");
    }
    out.push('"');
}
