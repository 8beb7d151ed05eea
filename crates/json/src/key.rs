//! Keys as they are spelled, and the names that they spell.
//!
//! Keys are compared after unescaping (RFC 8259, 8.3), code point by code point.

use std::ops::Range;

use memchr::memchr;

use crate::path::trie::NodeId;

/// The maximum number of bytes that spell one byte of a name: `\u0061`.
const LONGEST_SPELLING: usize = 6;

/// Whether a key of more than `limit` bytes cannot spell a name of `name` bytes.
pub fn is_too_long_for(limit: usize, name: usize) -> bool {
    name.saturating_mul(LONGEST_SPELLING) <= limit
}

/// The bytes of a key between its quotes.
#[derive(Clone, Copy)]
pub struct RawKey<'a> {
    raw: &'a [u8],
    /// The key is known to contain no escape.
    plain: bool,
    long: bool,
    entry: Option<NodeId>,
    offset: u64,
}

impl<'a> RawKey<'a> {
    /// Creates a key from its spelling between the quotes. `plain` says that it has no escapes.
    pub fn new(raw: &'a [u8], plain: bool) -> Self {
        Self { raw, plain, long: false, entry: None, offset: 0 }
    }

    /// Adds the offset of the opening quote.
    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Returns the bytes of the input that the key and its quotes take. Unknown for a key over the limit.
    #[inline]
    pub fn span(&self) -> Range<u64> {
        self.offset..self.offset + self.raw.len() as u64 + 2
    }

    /// Adds the entry of the name in the table of the policy.
    pub fn with_entry(self, entry: Option<NodeId>) -> Self {
        Self { entry, ..self }
    }

    /// Returns the entry of the name in the table of the handler's policy, if it was looked up there.
    #[inline]
    pub fn entry(&self) -> Option<NodeId> {
        self.entry
    }

    /// A key over the limit, whose bytes are unknown.
    pub fn long() -> Self {
        Self { raw: &[], plain: true, long: true, entry: None, offset: 0 }
    }

    /// Returns the bytes between the quotes, as spelled.
    #[inline]
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Calls `f` with the name that the key spells. The name is `None` if no path can match it: the key has a lone
    /// surrogate or exceeds the limit.
    #[inline]
    pub fn with_name<T>(&self, f: impl FnOnce(Option<&[u8]>) -> T) -> T {
        if self.long {
            return f(None);
        }
        if self.plain || memchr(b'\\', self.raw).is_none() {
            return f(Some(self.raw));
        }
        f(unescape(self.raw).as_deref())
    }
}

/// Unescapes `raw`, the inside of a valid JSON string. Returns `None` for lone surrogates and for an incomplete escape.
#[cold]
pub fn unescape(raw: &[u8]) -> Option<Vec<u8>> {
    match unescape_any(raw) {
        (text, false) => Some(text),
        (_, true) => None,
    }
}

/// Unescapes a valid JSON string with or without its quotes. A lone surrogate becomes U+FFFD.
pub fn text_of(json: &[u8]) -> String {
    let raw = json.strip_prefix(b"\"").unwrap_or(json);
    let raw = raw.strip_suffix(b"\"").filter(|_| raw.len() < json.len()).unwrap_or(raw);
    let (mut text, lone) = unescape_any(raw);
    let mut rest = text.as_mut_slice();
    // A lone surrogate takes three bytes here, as U+FFFD does.
    while let Some(at) = memchr(0xED, rest).filter(|_| lone) {
        rest = rest.split_at_mut(at).1;
        if let [first, second @ 0xA0..=0xFF, third, ..] = rest {
            (*first, *second, *third) = (0xEF, 0xBF, 0xBD);
        }
        rest = rest.get_mut(1..).unwrap_or_default();
    }
    String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Unescapes `raw`, the inside of a valid JSON string. Also returns whether it has lone surrogates. Each of them is
/// encoded in three bytes as UTF-8 would encode its code point, so that equal texts are equal bytes.
pub fn unescape_any(raw: &[u8]) -> (Vec<u8>, bool) {
    let mut text = Vec::with_capacity(raw.len());
    let mut lone = false;
    let mut rest = raw;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte != b'\\' {
            text.push(*byte);
            continue;
        }
        let Some((escape, tail)) = rest.split_first() else { return (text, true) };
        rest = tail;
        match escape {
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'u' => {
                let Some(code) = code_point(&mut rest) else { return (text, true) };
                match char::from_u32(code) {
                    Some(char) => {
                        text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    None => {
                        lone = true;
                        let low = |shift: u32| 0x80 | (code >> shift & 0x3F) as u8;
                        text.extend([0xE0 | (code >> 12) as u8, low(6), low(0)]);
                    }
                }
            }
            other => text.push(*other),
        }
    }
    (text, lone)
}

/// Returns the code point after `\u`, combined with the next escape if both are a pair of surrogates. `None`: the
/// escape is incomplete.
fn code_point(rest: &mut &[u8]) -> Option<u32> {
    let code = hex(rest)?;
    if !(0xD800..0xDC00).contains(&code) {
        return Some(code);
    }
    let mut after = *rest;
    if let Some(tail) = after.strip_prefix(b"\\u") {
        after = tail;
        if let Some(low @ 0xDC00..0xE000) = hex(&mut after) {
            *rest = after;
            return Some(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
        }
    }
    Some(code)
}

fn hex(rest: &mut &[u8]) -> Option<u32> {
    let (digits, tail) = rest.split_first_chunk::<4>()?;
    *rest = tail;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Returns `text` as a JSON string, with its quotes.
pub fn quote(text: &str) -> Vec<u8> {
    let is_escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let mut quoted = Vec::with_capacity(text.len() + 2);
    quoted.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(is_escaped) {
        let (plain, after) = rest.split_at(at);
        quoted.extend_from_slice(plain);
        match after.split_first() {
            Some((byte @ (b'"' | b'\\'), _)) => quoted.extend([b'\\', *byte]),
            Some((byte, _)) => quoted.extend(format!("\\u{byte:04x}").bytes()),
            None => {}
        }
        rest = after.get(1..).unwrap_or_default();
    }
    quoted.extend_from_slice(rest);
    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::{RawKey, quote, unescape};

    #[test]
    fn names_after_escapes() {
        let cases: [(&str, Option<&str>); 9] = [
            ("plain", Some("plain")),
            (r"\u0073sn", Some("ssn")),
            (r#"a\/b\\c\"d"#, Some("a/b\\c\"d")),
            (r"\b\f\n\r\t", Some("\u{8}\u{c}\n\r\t")),
            (r"\uD83D\ude00", Some("\u{1f600}")),
            (r"\u00e9", Some("é")),
            (r"\ud83d", None),
            (r"\ud83d\u0041", None),
            (r"\ude00", None),
        ];
        for (raw, name) in cases {
            assert_eq!(unescape(raw.as_bytes()).as_deref(), name.map(str::as_bytes), "{raw}");
            RawKey::new(raw.as_bytes(), false)
                .with_name(|found| assert_eq!(found, name.map(str::as_bytes)));
        }
        RawKey::long().with_name(|found| assert_eq!(found, None));
    }

    #[test]
    fn quoted_text_reads_back() {
        for text in ["", "a", "a\"b\\c", "\u{1}\n\u{1f}", "é\u{1f600}"] {
            let quoted = quote(text);
            let back: String = serde_json::from_slice(&quoted).unwrap();
            assert_eq!(back, text);
        }
    }
}
