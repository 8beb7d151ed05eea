//! Character references in the value of an attribute, read as HTML does (HTML §13.2.5.72). A numeric reference ends at
//! the first character that is not a digit, with or without `;`. The same holds for the names that browsers have
//! always known.
//!
//! Decoding takes one pass over the value and does not depend on the attribute.

use std::borrow::Cow;

/// Names that need no `;` and stand for a character that matters in CSS or in an address.
const BARE: [&str; 9] = ["quot", "QUOT", "amp", "AMP", "lt", "LT", "gt", "GT", "nbsp"];

/// Decodes the character references in the value of an attribute.
pub(super) fn decode(value: &str) -> String {
    html_escape::decode_html_entities(&closed(value)).into_owned()
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
    let digits = digits.strip_suffix(rest).unwrap_or_default();
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
    use super::decode;

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
        ] {
            assert_eq!(decode(value), decoded, "{value}");
        }
    }
}
