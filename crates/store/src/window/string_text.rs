//! The characters of a JSON string, decoded while its literal arrives.
//!
//! Reading never fails: a surrogate without its other half becomes U+FFFD.

/// Decodes a string literal without its opening quote. Ends at the closing quote.
#[derive(Debug, Default)]
pub(super) struct StringText {
    state: TextState,
    /// A high surrogate that waits for the low one.
    high: Option<u16>,
    ended: bool,
}

/// ```text
///           \              u             4 hexadecimal digits
/// Plain ─────────▶ Escape ────▶ Hex ───────────────────────────▶ Plain
///   ▲                │ any other
///   └────────────────┘
/// ```
#[derive(Clone, Copy, Debug, Default)]
enum TextState {
    #[default]
    Plain,
    Escape,
    /// The value of the digits so far, and their number.
    Hex(u16, u8),
}

impl StringText {
    /// Decodes the next bytes of the literal into `out`.
    pub(super) fn decode(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some((first, later)) = rest.split_first().filter(|_| !self.ended) {
            self.state = match self.state {
                TextState::Plain => {
                    let end = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                    let (plain, later) = rest.split_at(end);
                    if !plain.is_empty() {
                        self.lose_half(out);
                        out.extend_from_slice(plain);
                    }
                    rest = later.get(1..).unwrap_or_default();
                    match later.first() {
                        Some(b'\\') => self.state = TextState::Escape,
                        Some(_) => self.end(out),
                        None => {}
                    }
                    continue;
                }
                TextState::Escape if *first == b'u' => TextState::Hex(0, 0),
                TextState::Escape => {
                    self.lose_half(out);
                    out.push(match first {
                        b'b' => 0x08,
                        b'f' => 0x0c,
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        other => *other,
                    });
                    TextState::Plain
                }
                TextState::Hex(value, digits) => {
                    let digit = char::from(*first).to_digit(16).unwrap_or_default();
                    let value = value << 4 | u16::try_from(digit).unwrap_or_default();
                    if digits == 3 {
                        self.unit(value, out);
                        TextState::Plain
                    } else {
                        TextState::Hex(value, digits + 1)
                    }
                }
            };
            rest = later;
        }
    }

    /// Ends the literal.
    fn end(&mut self, out: &mut Vec<u8>) {
        self.lose_half(out);
        self.ended = true;
    }

    /// Takes one unit of UTF-16.
    fn unit(&mut self, unit: u16, out: &mut Vec<u8>) {
        let char = match (self.high.take(), unit) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let code = 0x1_0000 + ((u32::from(high) & 0x3FF) << 10) + (u32::from(unit) & 0x3FF);
                char::from_u32(code)
            }
            (lost, unit) => {
                if lost.is_some() {
                    push(char::REPLACEMENT_CHARACTER, out);
                }
                if (0xD800..=0xDBFF).contains(&unit) {
                    self.high = Some(unit);
                    return;
                }
                char::from_u32(unit.into())
            }
        };
        push(char.unwrap_or(char::REPLACEMENT_CHARACTER), out);
    }

    /// Writes the replacement of a high surrogate that was not followed by a low one.
    fn lose_half(&mut self, out: &mut Vec<u8>) {
        if self.high.take().is_some() {
            push(char::REPLACEMENT_CHARACTER, out);
        }
    }
}

fn push(char: char, out: &mut Vec<u8>) {
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::StringText;

    #[test]
    fn literals_are_decoded_at_every_split() {
        for (literal, expected) in [
            (r#"""#, ""),
            (r#"abc"def"#, "abc"),
            (r#"a\n\t\r\b\f\/\\\"b""#, "a\n\t\r\u{8}\u{c}/\\\"b"),
            (r#"\u0041\u00e9é\u20AC""#, "Aéé€"),
            (r#"\uD83D\uDE00x""#, "😀x"),
            (r#"\ud83dx\ud83d\n\ud83d""#, "\u{fffd}x\u{fffd}\n\u{fffd}"),
            (r#"\udc00\ud83d\ud83d\ude00""#, "\u{fffd}\u{fffd}😀"),
            (r#"\ud83d\u0041""#, "\u{fffd}A"),
        ] {
            for split in 0..=literal.len() {
                let (mut text, mut out) = (StringText::default(), Vec::new());
                text.decode(&literal.as_bytes()[..split], &mut out);
                text.decode(&literal.as_bytes()[split..], &mut out);
                assert_eq!(out, expected.as_bytes(), "{literal} at {split}");
            }
        }
    }
}
