//! Character references in text and in the values of attributes, read as HTML does (HTML §13.2.5.72). A numeric reference ends at
//! the first character that is not a digit, with or without `;`. The same holds for the names that browsers have
//! always known.
//!
//! Decoding takes one pass over the value and does not depend on the attribute.

use std::borrow::Cow;

use tamis_text::controls::Controls;

/// Names that need no `;` and stand for a character that matters in CSS or in an address.
const BARE: [&str; 9] = ["quot", "QUOT", "amp", "AMP", "lt", "LT", "gt", "GT", "nbsp"];

/// The length of the longest reference in bytes: `&CounterClockwiseContourIntegral;`.
const LONGEST: usize = 40;

/// Decodes the character references in a text or the value of an attribute. The work is linear: the decoder would search
/// for an end of every `&` up to the end of the text.
pub(super) fn decode(value: &str) -> String {
    let closed = closed(value);
    let mut text = String::with_capacity(closed.len());
    let mut rest = &*closed;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let near = from.as_bytes().iter().take(LONGEST).skip(1);
        let end =
            near.take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#').count() + 1;
        step(at + end);
        let has_end = from.as_bytes().get(end) == Some(&b';');
        let (reference, after) = from.split_at(if has_end { end + 1 } else { 1 });
        if let Some(char) = reference.strip_prefix("&#").filter(|_| has_end).and_then(numbered) {
            text.push(char);
        } else if has_end {
            text.push_str(&html_escape::decode_html_entities(reference));
        } else {
            text.push_str(reference);
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Returns a text without the controls in it, whether they are written as characters or as references. A text without
/// controls is unchanged; in all others, the references are decoded that need not be escaped.
pub(super) fn without_controls<'t>(text: &'t str, controls: &mut Controls) -> Cow<'t, str> {
    let has_some = controls.change(text);
    if !has_some && memchr::memmem::find(text.as_bytes(), b"&#").is_none() {
        return Cow::Borrowed(text);
    }
    let decoded = decode(text);
    if !has_some && !controls.change(&decoded) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(decoded.len());
    for char in decoded.chars().filter(|char| !controls.drops(*char)) {
        match char {
            '&' => kept.push_str("&amp;"),
            '<' => kept.push_str("&lt;"),
            '>' => kept.push_str("&gt;"),
            _ => kept.push(char),
        }
    }
    Cow::Owned(kept)
}

#[cfg(test)]
thread_local! {
    static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes that are inspected, for the test of the cost.
fn step(bytes: usize) {
    #[cfg(test)]
    WORK.with(|work| work.set(work.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

/// Returns the character of a numeric reference that is closed. Numbers of C1 controls stand for characters of windows-1252.
fn numbered(digits: &str) -> Option<char> {
    let digits = digits.strip_suffix(';')?;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    match u8::try_from(code) {
        Ok(byte @ 0x80..=0x9f) => {
            encoding_rs::WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next()
        }
        _ => char::from_u32(code),
    }
}

/// Rewrites a value so that every reference in it ends in `;`.
fn closed(value: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'&', value.as_bytes()) else { return Cow::Borrowed(value) };
    let (before, mut rest) = value.split_at(first);
    let mut text = String::with_capacity(value.len() + 8);
    text.push_str(before);
    while let Some(after) = rest.strip_prefix('&') {
        text.push('&');
        rest = match after.strip_prefix('#') {
            Some(digits) => number(digits, &mut text),
            None => name(after, &mut text),
        };
        let next = memchr::memchr(b'&', rest.as_bytes()).unwrap_or(rest.len());
        let (plain, later) = rest.split_at(next);
        text.push_str(plain);
        rest = later;
    }
    Cow::Owned(text)
}

/// Writes a number and a `;` after it. Returns the rest.
fn number<'v>(digits: &'v str, text: &mut String) -> &'v str {
    let (digits, radix) = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let rest = digits.trim_start_matches(|char: char| char.is_digit(radix));
    let digits = digits.get(..digits.len() - rest.len()).unwrap_or_default();
    if digits.is_empty() {
        text.push_str(if radix == 16 { "#x" } else { "#" });
        return rest;
    }
    let code = u32::from_str_radix(digits, radix).ok().filter(|code| *code != 0);
    let code = code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
    text.push_str(&format!("#{};", u32::from(code)));
    rest.strip_prefix(';').unwrap_or(rest)
}

/// Writes a name that needs no `;`, if one begins here, and a `;` after it. Returns the rest.
fn name<'v>(value: &'v str, text: &mut String) -> &'v str {
    let found = BARE.iter().find_map(|name| Some((name, value.strip_prefix(name)?)));
    match found {
        // Before `=`, a letter or a digit, it is part of an address: `?a=1&lt=2`.
        Some((name, rest))
            if !rest.starts_with(|next: char| {
                next == ';' || next == '=' || next.is_ascii_alphanumeric()
            }) =>
        {
            text.push_str(name);
            text.push(';');
            rest
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use tamis_text::controls::Controls;

    use super::{WORK, decode, without_controls};

    /// An end is searched for in the next bytes only: sixteen times the text takes sixteen times the work.
    #[test]
    fn many_references_without_an_end() {
        for part in [
            "&a",
            "&amp",
            "& ",
            "&notit;",
            "&#",
            "&#1",
            "&#x",
            "&#x3",
            "&&&&",
            "&CounterClockwiseContourIntegralx",
            "?id=1&utm_source=a&ref=c ",
        ] {
            let work = |count: usize| {
                let text = part.repeat(count);
                WORK.set(0);
                assert!(decode(&text).len() <= 2 * text.len(), "{part}");
                WORK.get()
            };
            let (few, many) = (work(1 << 12), work(1 << 16));
            assert!(few > 0 && many <= 17 * few, "{part}: {few}, {many}");
            assert!(many <= 4 * part.len() * (1 << 16), "{part}: {many}");
        }
    }

    #[test]
    fn references_with_and_without_an_end() {
        for (value, decoded) in [
            ("", ""),
            ("a & b && c&", "a & b && c&"),
            ("display&#58none", "display:none"),
            ("&#x64isplay:none", "display:none"),
            ("&#x64;isplay&#0000058;none", "display:none"),
            ("display:&#110one", "display:none"),
            ("&#X3A&#x3a&#58", ":::"),
            ("&#;&#x;&#xg;&#", "&#;&#x;&#xg;&#"),
            ("&#0;&#xD800;&#99999999999;", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ("&#38#58;", "&#58;"),
            ("&amp;#58;&amp#58;", "&#58;&#58;"),
            ("&quot;a&quot ;b&quot", "\"a\" ;b\""),
            ("?a=1&lt=2&gt3&amp=4", "?a=1&lt=2&gt3&amp=4"),
            ("&colon;&lpar;é&#233é", ":(ééé"),
            ("&#x93;a&#148;&#27;", "\u{201c}a\u{201d}\u{1b}"),
        ] {
            assert_eq!(decode(value), decoded, "{value}");
        }
    }

    #[test]
    fn controls_and_references_to_them() {
        for (texts, expected) in [
            (["a &amp; b&#233;", "&#60;"], ["a &amp; b&#233;", "&#60;"]),
            (["\u{1}", "&#1;&#x1f&#127;"], ["", ""]),
            (["a\0 &lt;&eacute;&amp;lt;", "&#60"], ["a &lt;é&amp;lt;", "&#60"]),
            (["a&#27;[1", ";31m&lt;b"], ["a", "&lt;b"]),
            (["a\u{9b}", "&amp;1mb"], ["a", "b"]),
            (["\u{1b}[", "1\n2"], ["", "\n2"]),
        ] {
            let mut controls = Controls::default();
            let kept = texts.map(|text| without_controls(text, &mut controls).into_owned());
            assert_eq!(kept, expected, "{texts:?}");
        }
    }
}
