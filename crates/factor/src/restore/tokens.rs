//! The tokens of a valid document in memory, which may have white space.

use std::ops::Range;

use memchr::memchr2;
use tamis_json::levels::Levels;

use crate::reader::Token;

/// The tokens.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    document: &'a [u8],
    pos: usize,
    start: usize,
    levels: Levels,
    expects_key: bool,
}

impl<'a> Tokens<'a> {
    /// Reads the value at a place.
    pub(super) fn new(document: &'a [u8], pos: usize) -> Self {
        let levels = Levels::new();
        Self { document, pos, start: pos, levels, expects_key: false }
    }

    /// Returns the place of the last token. A name has its quotes there.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.pos
    }

    /// Returns the last token, with the quotes of a string.
    pub(super) fn token(&self) -> &'a [u8] {
        self.document.get(self.start..self.pos).unwrap_or_default()
    }

    /// Returns the last token, without the quotes of a string.
    pub(super) fn text(&self) -> &'a [u8] {
        let token = self.token();
        match token.first() {
            Some(b'"') => token.get(1..token.len() - 1).unwrap_or_default(),
            _ => token,
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.levels.depth()
    }

    /// Returns the place of the next token.
    pub(super) fn peek(&mut self) -> usize {
        while let Some(byte) = self.document.get(self.pos) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b':' => {}
                b',' => self.expects_key = self.levels.in_object(),
                _ => break,
            }
            self.pos += 1;
        }
        self.pos
    }

    /// Returns whether the next byte, after [`peek`](Self::peek), is this one.
    pub(super) fn is_at(&self, byte: u8) -> bool {
        self.document.get(self.pos) == Some(&byte)
    }

    /// Returns what was read from a place on.
    pub(super) fn between(&self, start: usize) -> &'a [u8] {
        self.document.get(start..self.pos).unwrap_or_default()
    }

    /// Reads the next value as a whole, and returns its place.
    pub(super) fn skip_value(&mut self) -> Range<usize> {
        let start = self.peek();
        let depth = self.depth();
        while self.next() != Token::End && self.depth() > depth {}
        start..self.pos
    }

    /// Reads the next token.
    pub(super) fn next(&mut self) -> Token {
        self.start = self.peek();
        let Some(byte) = self.document.get(self.pos).copied() else { return Token::End };
        self.pos += 1;
        match byte {
            b'{' | b'[' => {
                let object = byte == b'{';
                self.levels.push(object);
                self.expects_key = object;
                Token::Open { object }
            }
            b'}' | b']' => {
                self.levels.pop();
                self.expects_key = false;
                Token::Close
            }
            b'"' => {
                loop {
                    let rest = self.document.get(self.pos..).unwrap_or_default();
                    let Some(place) = memchr2(b'"', b'\\', rest) else {
                        self.pos = self.document.len();
                        break;
                    };
                    self.pos += place + 1;
                    if rest.get(place) == Some(&b'"') {
                        break;
                    }
                    self.pos += 1;
                }
                if std::mem::take(&mut self.expects_key) { Token::Key } else { Token::String }
            }
            _ => {
                let rest = self.document.get(self.pos..).unwrap_or_default();
                let is_end =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                self.pos += rest.iter().position(is_end).unwrap_or(rest.len());
                if byte == b'-' || byte.is_ascii_digit() { Token::Number } else { Token::Literal }
            }
        }
    }
}
