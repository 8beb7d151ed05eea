//! Decodes and encodes the contents of JSON strings, in chunks.

use tamis::Sink;

/// Decodes the content of a string literal, which may be cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct StringDecoder {
    /// The open escape, with its backslash.
    escape: Vec<u8>,
    /// The high surrogate before the open escape.
    high: Option<u16>,
}

/// The content has an escape that stands for no character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringError;

impl StringDecoder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn write(&mut self, content: &[u8], text: &mut Vec<u8>) -> Result<(), StringError> {
        for byte in content {
            if self.escape.is_empty() && *byte != b'\\' {
                if self.high.is_some() {
                    return Err(StringError);
                }
                text.push(*byte);
                continue;
            }
            self.escape.push(*byte);
            match self.escape.as_slice() {
                [_] | [_, b'u', ..] if self.escape.len() < 6 => {}
                [_, b'u', digits @ ..] => {
                    let digits = std::str::from_utf8(digits).map_err(|_invalid| StringError)?;
                    let unit = u16::from_str_radix(digits, 16).map_err(|_invalid| StringError)?;
                    self.escape.clear();
                    self.unit(unit, text)?;
                }
                [_, letter] => {
                    let byte = match letter {
                        b'"' | b'\\' | b'/' => *letter,
                        b'b' => 8,
                        b'f' => 12,
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        _ => return Err(StringError),
                    };
                    if self.high.is_some() {
                        return Err(StringError);
                    }
                    self.escape.clear();
                    text.push(byte);
                }
                _ => return Err(StringError),
            }
        }
        Ok(())
    }

    fn unit(&mut self, unit: u16, text: &mut Vec<u8>) -> Result<(), StringError> {
        let units = match (self.high.take(), unit) {
            (None, 0xD800..=0xDBFF) => {
                self.high = Some(unit);
                return Ok(());
            }
            (None, _) => [unit, 0],
            (Some(high), _) => [high, unit],
        };
        let units = if units[1] == 0 { &units[..1] } else { &units[..] };
        for char in char::decode_utf16(units.iter().copied()) {
            let char = char.map_err(|_lone| StringError)?;
            text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }

    pub(crate) fn end(&mut self) -> Result<(), StringError> {
        if self.escape.is_empty() && self.high.is_none() { Ok(()) } else { Err(StringError) }
    }
}

/// Encodes text as the content of a string literal.
#[derive(Debug)]
pub(crate) struct StringEncoder<S> {
    sink: S,
}

impl<S: Sink> StringEncoder<S> {
    pub(crate) fn new(sink: S) -> Self {
        Self { sink }
    }
}

impl<S: Sink> Sink for StringEncoder<S> {
    fn write(&mut self, text: &[u8]) {
        let mut from = 0;
        for (at, byte) in text.iter().enumerate() {
            if !matches!(byte, b'"' | b'\\' | 0..=0x1f) {
                continue;
            }
            self.sink.write(text.get(from..at).unwrap_or_default());
            from = at + 1;
            match byte {
                b'"' => self.sink.write(b"\\\""),
                b'\\' => self.sink.write(b"\\\\"),
                b'\n' => self.sink.write(b"\\n"),
                b'\r' => self.sink.write(b"\\r"),
                b'\t' => self.sink.write(b"\\t"),
                byte => self.sink.write(format!("\\u{byte:04x}").as_bytes()),
            }
        }
        self.sink.write(text.get(from..).unwrap_or_default());
    }
}
