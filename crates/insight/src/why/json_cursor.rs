//! Moves over values and keys of a valid document without white space.

use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use tamis_json::key;

use super::spool::Cursor;

/// The number of bytes of a key that are kept. The rest of a longer key is only compared.
const KEPT: usize = 4096;

/// The key of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The first bytes as they are spelled, without quotes.
    raw: Vec<u8>,
    hash: u64,
    /// The number of bytes with quotes and colon.
    pub(super) len: u64,
}

impl Key {
    /// Returns the name, without escapes.
    pub(super) fn name(&self) -> String {
        let (text, _) = key::unescape_any(&self.raw);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Returns whether the key begins with these bytes.
    pub(super) fn starts_with(&self, bytes: &[u8]) -> bool {
        self.raw.starts_with(bytes)
    }
}

impl Cursor<'_> {
    /// Moves over a value, and returns where it is.
    pub(super) fn skip_value(&mut self) -> Range<u64> {
        let start = self.pos();
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => {
                let mut depth = 0u64;
                while let Some(byte) = self.peek() {
                    if byte == b'"' {
                        self.skip_string();
                        continue;
                    }
                    self.bump();
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            _ => {
                while self.peek().is_some_and(|byte| !matches!(byte, b',' | b'}' | b']')) {
                    self.bump();
                }
            }
        }
        start..self.pos()
    }

    fn skip_string(&mut self) {
        self.bump();
        while let Some(byte) = self.bump() {
            match byte {
                b'"' => return,
                b'\\' => _ = self.bump(),
                _ => {}
            }
        }
    }

    /// Moves over the next key with its colon. `None`: the object ends here.
    pub(super) fn key(&mut self) -> Option<Key> {
        if !self.take(b'"') {
            return None;
        }
        let (mut raw, mut hasher, mut len) = (Vec::new(), DefaultHasher::new(), 1);
        while let Some(byte) = self.bump() {
            len += 1;
            if byte == b'"' {
                break;
            }
            let escaped = if byte == b'\\' { self.bump() } else { None };
            for byte in std::iter::once(byte).chain(escaped) {
                hasher.write_u8(byte);
                if raw.len() < KEPT {
                    raw.push(byte);
                }
            }
            len += u64::from(escaped.is_some());
        }
        len += u64::from(self.take(b':'));
        Some(Key { raw, hash: hasher.finish(), len })
    }

    /// Returns the number of elements that follow in an array, up to its end. Keeps the position.
    pub(super) fn count_elements(&mut self) -> u64 {
        let start = self.pos();
        let mut count = 0;
        while self.peek().is_some_and(|byte| byte != b']') {
            self.skip_value();
            count += 1;
            self.take(b',');
        }
        self.seek(start);
        count
    }

    /// Returns how many bytes at the beginning of two ranges are equal. Keeps no position.
    pub(super) fn common(
        &mut self,
        own: Range<u64>,
        other: &mut Cursor<'_>,
        at: Range<u64>,
    ) -> u64 {
        self.seek(own.start);
        other.seek(at.start);
        let most = (own.end - own.start).min(at.end - at.start);
        let mut count = 0;
        while count < most && self.peek() == other.peek() {
            self.bump();
            other.bump();
            count += 1;
        }
        count
    }
}
