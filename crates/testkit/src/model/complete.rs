//! What bytes must follow for a document that breaks off to be a document: written from the grammar of RFC 8259, with
//! none of tamis in it.
//!
//! It is at once the oracle for the offset of an error: the first byte with which no document goes on.

/// The shortest end of a document that begins with these bytes; `None` if none does.
pub fn completion(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = open_character(prefix)?;
    let mut grammar = Grammar { open: Vec::new(), at: Place::Value };
    for byte in prefix {
        grammar.step(*byte)?;
    }
    grammar.finish(&mut end);
    Some(end)
}

/// Bytes of the longest beginning with which some document begins. What no document begins with, none begins with that has more
/// bytes, so it is found by halves.
pub fn longest_beginning(document: &[u8]) -> usize {
    let (mut good, mut bad) = (0, document.len() + 1);
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        match completion(&document[..middle]) {
            Some(_) => good = middle,
            None => bad = middle,
        }
    }
    good
}

/// The rest of a character of several bytes; `None` if there is something that is no UTF-8.
fn open_character(prefix: &[u8]) -> Option<Vec<u8>> {
    let error = match std::str::from_utf8(prefix) {
        Ok(_) => return Some(Vec::new()),
        Err(error) if error.error_len().is_some() => return None,
        Err(error) => error,
    };
    let begun = &prefix[error.valid_up_to()..];
    let length = match begun[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    let mut rest = vec![0x80; length - begun.len()];
    match begun {
        [0xe0] => rest[0] = 0xa0,
        [0xf0] => rest[0] = 0x90,
        _ => {}
    }
    Some(rest)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A value must begin.
    Value,
    /// After `[`: a value or the end.
    FirstElement,
    /// After `{`: a key or the end.
    FirstMember,
    /// After a comma in an object.
    Key,
    Colon,
    /// After a value.
    After,
    /// In a string; `key`: it is a member's name.
    String {
        key: bool,
    },
    Escape {
        key: bool,
    },
    /// This many hexadecimal digits must come.
    Digits {
        key: bool,
        left: u8,
    },
    /// This is what must come.
    Literal(&'static [u8]),
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

struct Grammar {
    open: Vec<u8>,
    at: Place,
}

impl Grammar {
    fn step(&mut self, byte: u8) -> Option<()> {
        let white = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at = match self.at {
            Place::Value | Place::FirstElement if white => return Some(()),
            Place::FirstMember | Place::Key | Place::Colon | Place::After if white => {
                return Some(());
            }
            Place::FirstElement if byte == b']' => return self.close(b'['),
            Place::Value | Place::FirstElement => self.value(byte)?,
            Place::FirstMember if byte == b'}' => return self.close(b'{'),
            Place::FirstMember | Place::Key if byte == b'"' => Place::String { key: true },
            Place::FirstMember | Place::Key => return None,
            Place::Colon if byte == b':' => Place::Value,
            Place::Colon => return None,
            Place::After => match (byte, self.open.last()) {
                (b',', Some(b'[')) => Place::Value,
                (b',', Some(b'{')) => Place::Key,
                (b']', _) => return self.close(b'['),
                (b'}', _) => return self.close(b'{'),
                _ => return None,
            },
            Place::String { key } => match byte {
                b'"' if key => Place::Colon,
                b'"' => Place::After,
                b'\\' => Place::Escape { key },
                0..0x20 => return None,
                _ => Place::String { key },
            },
            Place::Escape { key } => match byte {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Place::String { key },
                b'u' => Place::Digits { key, left: 4 },
                _ => return None,
            },
            Place::Digits { .. } if !byte.is_ascii_hexdigit() => return None,
            Place::Digits { key, left: 1 } => Place::String { key },
            Place::Digits { key, left } => Place::Digits { key, left: left - 1 },
            Place::Literal(rest) => match rest.split_first() {
                Some((wanted, rest)) if *wanted == byte => {
                    if rest.is_empty() {
                        Place::After
                    } else {
                        Place::Literal(rest)
                    }
                }
                _ => return None,
            },
            Place::Minus => match byte {
                b'0' => Place::Zero,
                b'1'..=b'9' => Place::Integer,
                _ => return None,
            },
            Place::Point | Place::Fraction if byte.is_ascii_digit() => Place::Fraction,
            Place::Exponent if matches!(byte, b'+' | b'-') => Place::ExponentSign,
            Place::Exponent | Place::ExponentSign | Place::ExponentDigits
                if byte.is_ascii_digit() =>
            {
                Place::ExponentDigits
            }
            Place::Integer if byte.is_ascii_digit() => Place::Integer,
            Place::Zero | Place::Integer if byte == b'.' => Place::Point,
            Place::Zero | Place::Integer | Place::Fraction if matches!(byte, b'e' | b'E') => {
                Place::Exponent
            }
            Place::Point | Place::Exponent | Place::ExponentSign => return None,
            Place::Zero | Place::Integer | Place::Fraction | Place::ExponentDigits => {
                // The number has ended: the byte is what comes after a value.
                self.at = Place::After;
                return self.step(byte);
            }
        };
        Some(())
    }

    fn value(&mut self, byte: u8) -> Option<Place> {
        Some(match byte {
            b'[' => {
                self.open.push(byte);
                Place::FirstElement
            }
            b'{' => {
                self.open.push(byte);
                Place::FirstMember
            }
            b'"' => Place::String { key: false },
            b't' => Place::Literal(b"rue"),
            b'f' => Place::Literal(b"alse"),
            b'n' => Place::Literal(b"ull"),
            b'-' => Place::Minus,
            b'0' => Place::Zero,
            b'1'..=b'9' => Place::Integer,
            _ => return None,
        })
    }

    fn close(&mut self, opened: u8) -> Option<()> {
        self.at = Place::After;
        (self.open.pop() == Some(opened)).then_some(())
    }

    /// Appends what is missing.
    fn finish(self, end: &mut Vec<u8>) {
        let text: &[u8] = match self.at {
            Place::Value => b"0",
            Place::FirstElement | Place::FirstMember | Place::After => b"",
            Place::Key => b"\"\":0",
            Place::Colon => b":0",
            Place::String { key: false } => b"\"",
            Place::String { key: true } => b"\":0",
            Place::Escape { key: false } => b"n\"",
            Place::Escape { key: true } => b"n\":0",
            Place::Digits { key, left } => {
                end.extend(std::iter::repeat_n(b'0', usize::from(left)));
                if key { b"\":0" } else { b"\"" }
            }
            Place::Literal(rest) => rest,
            Place::Minus | Place::Point | Place::Exponent | Place::ExponentSign => b"0",
            Place::Zero | Place::Integer | Place::Fraction | Place::ExponentDigits => b"",
        };
        end.extend_from_slice(text);
        for opened in self.open.iter().rev() {
            end.push(if *opened == b'[' { b']' } else { b'}' });
        }
    }
}
