//! Parses the values of flags: lists of paths, keys, counts and sizes.
//!
//! This module must not depend on flags or rules. Paths are not validated here; the compiler of specs does.

use crate::console::Usage;

/// The character that is trimmed around paths.
const BLANK: char = ' ';

/// Splits a list at its commas, except inside `["…"]` and inside braces. There is no other quoting. Blanks around a
/// part are trimmed, except after a JSON Pointer, to which they belong. An empty text is a list of one empty text.
pub(crate) fn split(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = list;
    let (mut at, mut open) = (0, 0_usize);
    let starts_pointer = |text: &str| text.trim_start_matches(BLANK).starts_with('/');
    let (mut pointer, mut keyed) = (starts_pointer(rest), false);
    while let Some(byte) = rest.as_bytes().get(at) {
        match byte {
            b',' if open == 0 => {
                let (part, after) = rest.split_at(at);
                parts.push(trimmed(part, pointer));
                rest = after.get(1..).unwrap_or_default();
                (at, open) = (0, 0);
                (pointer, keyed) = (starts_pointer(rest), false);
                continue;
            }
            b'[' if rest.as_bytes().get(at + 1) == Some(&b'"') => {
                at = quoted_end(rest, at + 2);
                continue;
            }
            b'=' if open == 0 && !keyed => {
                keyed = true;
                pointer |= starts_pointer(rest.get(at + 1..).unwrap_or_default());
            }
            // In a JSON Pointer a brace has no special meaning.
            b'{' if !pointer => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    parts.push(trimmed(rest, pointer));
    parts
}

/// Returns a part of a list without the blanks around it.
fn trimmed(part: &str, pointer: bool) -> &str {
    let part = part.trim_start_matches(BLANK);
    if pointer { part } else { part.trim_end_matches(BLANK) }
}

/// Returns the position after the closing quote of the quoted name that begins at `at`.
fn quoted_end(text: &str, mut at: usize) -> usize {
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Splits `KEY=PATH` at the first `=`, unless a brace or a quoted name precedes it. A text that starts with `/` is a
/// JSON Pointer without a key. A test or an expression of another path language (`[?x=1]`) has no key either; it is
/// reported as an error of the path.
pub(crate) fn key_and_path(source: &str) -> (Option<&str>, &str) {
    match source.split_once('=') {
        Some((key, path))
            if !source.starts_with('/')
                && !["{", "[?", "[(", "[\""].iter().any(|no| key.contains(no)) =>
        {
            (Some(key.trim_end_matches(BLANK)), path.trim_start_matches(BLANK))
        }
        _ => (None, source),
    }
}

/// Parses a whole number.
pub(crate) fn count(text: &str) -> Result<u64, Usage> {
    number(text).ok_or_else(|| Usage::new("expected a whole number, such as 25"))
}

/// Parses a whole number of at least 1.
pub(crate) fn positive(text: &str) -> Result<u64, Usage> {
    number(text)
        .filter(|number| *number > 0)
        .ok_or_else(|| Usage::new("expected a whole number of at least 1, such as 25"))
}

/// Parses a number of bytes, with `k`, `M` or `G` for powers of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, Usage> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (text.get(..text.len() - 1), 1 << 10),
        Some(b'm' | b'M') => (text.get(..text.len() - 1), 1 << 20),
        Some(b'g' | b'G') => (text.get(..text.len() - 1), 1 << 30),
        _ => (Some(text), 1),
    };
    digits
        .and_then(number)
        .and_then(|count: u64| count.checked_mul(unit))
        .ok_or_else(|| Usage::new("expected a number of bytes, such as 65536, 64k, 16M or 1G"))
}

fn number(text: &str) -> Option<u64> {
    // `parse` accepts a plus sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, key_and_path, split};

    #[test]
    fn lists_split_at_commas_outside_quoted_names() {
        let cases: [(&str, &[&str]); 24] = [
            ("", &[""]),
            (" ", &[""]),
            (" a , b c ,d", &["a", "b c", "d"]),
            ("/a , /b ", &["/a ", "/b "]),
            (" k = /a ,b ", &["k = /a ", "b"]),
            ("\ta,b\u{a0}", &["\ta", "b\u{a0}"]),
            (r#"["a=/b"] ,c"#, &[r#"["a=/b"]"#, "c"]),
            ("x[]{a,b},c", &["x[]{a,b}", "c"]),
            ("x{a,b{c,d},e},f", &["x{a,b{c,d},e}", "f"]),
            ("x{a,b", &["x{a,b"]),
            ("/x{a,k=/y{b,c}", &["/x{a", "k=/y{b", "c}"]),
            (r#"x{["a}"],b},c"#, &[r#"x{["a}"],b}"#, "c"]),
            ("a", &["a"]),
            ("a,b.c,/d/e", &["a", "b.c", "/d/e"]),
            (",a,", &["", "a", ""]),
            (r#"["a,b"].c,d"#, &[r#"["a,b"].c"#, "d"]),
            (r#"x["a,b"]["c,d"],e"#, &[r#"x["a,b"]["c,d"]"#, "e"]),
            (r#"k=["a,b"],e"#, &[r#"k=["a,b"]"#, "e"]),
            (r#"["a\",b"],c"#, &[r#"["a\",b"]"#, "c"]),
            (r#"["a\\"],c"#, &[r#"["a\\"]"#, "c"]),
            (r#"["a],b"]"#, &[r#"["a],b"]"#]),
            ("\"a,b\"", &["\"a", "b\""]),
            ("t[0],u[]", &["t[0]", "u[]"]),
            (r#"["never,closed"#, &[r#"["never,closed"#]),
        ];
        for (list, parts) in cases {
            assert_eq!(split(list), parts, "{list}");
        }
        assert_eq!(split("é,[\"ü,\\é\"],à"), ["é", "[\"ü,\\é\"]", "à"]);
    }

    #[test]
    fn a_key_ends_at_the_first_equals_sign() {
        assert_eq!(key_and_path("a"), (None, "a"));
        assert_eq!(key_and_path("k=a.b"), (Some("k"), "a.b"));
        assert_eq!(key_and_path("k=a=b"), (Some("k"), "a=b"));
        assert_eq!(key_and_path("=a"), (Some(""), "a"));
        assert_eq!(key_and_path("k = a"), (Some("k"), "a"));
        assert_eq!(key_and_path("x{k=a}"), (None, "x{k=a}"));
        assert_eq!(key_and_path("x[?k=='a']"), (None, "x[?k=='a']"));
        assert_eq!(key_and_path("k=/a/b"), (Some("k"), "/a/b"));
        assert_eq!(key_and_path(r#"["k=v"]"#), (None, r#"["k=v"]"#));
        assert_eq!(key_and_path(r#"k=["a=b"]"#), (Some("k"), r#"["a=b"]"#));
        assert_eq!(key_and_path("/a=b/c"), (None, "/a=b/c"));
    }

    #[test]
    fn sizes_have_units() {
        let cases = [("0", 0), ("65536", 65536), ("1k", 1024), ("2K", 2048), ("3M", 3 << 20)];
        for (text, size) in cases {
            assert_eq!(bytes(text).unwrap(), size, "{text}");
        }
        assert_eq!(bytes("1G").unwrap(), 1 << 30);
        for text in ["", "k", "-1", "+1", "1.5k", "1kB", "1 k", "17179869184G", "9e9", "é"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert_eq!(count("25").unwrap(), 25);
        for text in ["", "-1", "+1", "1k", "99999999999999999999"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
