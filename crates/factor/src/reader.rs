//! Reads the tokens of held, minified JSON.
//!
//! The document was validated by the stage that wrote it, so nothing is validated again. A [`Reader`] has a part of the
//! document in memory, which grows while one token is longer and is trimmed by its user.
//!
//! ```text
//! base              before start     pos            end of the part     end
//! ├────────────────────┼──┼───────────┼─────────────────────┼────────────┤
//! │ kept for the user  │, │  token    │  not read           │  held only │
//! ```

use memchr::memchr2;
use tamis_json::error::Raise;
use tamis_json::hold::Hold;
use tamis_json::levels::Levels;
use tamis_json::strings::StringUnescaper;
use tamis_json::test_work::{WorkKind, count, words};

/// A range of bytes in an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Returns the bytes of this range.
    #[inline]
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// Appends bytes to an arena.
#[inline]
pub(crate) fn push(arena: &mut Vec<u8>, bytes: &[u8]) -> Span {
    let start = arena.len();
    arena.extend_from_slice(bytes);
    Span { start, end: arena.len() }
}

/// A token of the document. Commas and colons are part of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The name of a member. The text of the token is between the quotes.
    Key,
    /// The beginning of an object, or of an array.
    Open { object: bool },
    /// The end of the innermost container.
    Close,
    /// A string, with its quotes.
    String,
    /// A number.
    Number,
    /// `true`, `false` or `null`
    Literal,
    /// The end of what is read.
    End,
}

/// The error of the temporary file. A pointer: results of a token are returned in registers.
#[derive(Debug)]
pub(crate) struct Unreadable(Box<Raise>);

impl From<Raise> for Unreadable {
    #[cold]
    fn from(raise: Raise) -> Self {
        Self(Box::new(raise))
    }
}

impl From<Unreadable> for Raise {
    #[cold]
    fn from(error: Unreadable) -> Self {
        *error.0
    }
}

/// The bytes that are read ahead if there are as many.
const AHEAD: usize = 1 << 10;
/// The part is trimmed when more bytes of it have been read.
const TRIM: usize = 64 << 10;
/// The longest token.
const LONGEST: usize = 16 << 20;

/// The reader.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    hold: &'a mut Hold,
    bytes: Vec<u8>,
    /// The offset of the first of `bytes`.
    base: u64,
    /// The offset at which reading ends.
    end: u64,
    /// All bytes before `end` are in `bytes`.
    complete: bool,
    levels: Levels,
    expects_key: bool,
    /// The last token is longer than [`LONGEST`]; the reader is at its end.
    pub(crate) too_long: bool,
    /// Where the token before the last one ended.
    pub(crate) before: usize,
    /// The text of the last token.
    pub(crate) text: Span,
    /// The text has escapes.
    pub(crate) escaped: bool,
    pub(crate) pos: usize,
}

impl<'a> Reader<'a> {
    /// Reads the value that begins at an offset, up to another offset.
    pub(crate) fn new(hold: &'a mut Hold, start: u64, end: u64) -> Self {
        Self {
            hold,
            bytes: Vec::new(),
            base: start,
            end,
            complete: false,
            levels: Levels::new(),
            expects_key: false,
            too_long: false,
            before: 0,
            text: Span::default(),
            escaped: false,
            pos: 0,
        }
    }

    /// Returns the part that is in memory.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the text of the last token.
    #[inline]
    pub(crate) fn token(&self) -> &[u8] {
        self.text.of(&self.bytes)
    }

    /// Returns the number of open containers.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.levels.depth()
    }

    /// Returns the offset of a place of the part.
    #[inline]
    pub(crate) fn offset(&self, place: usize) -> u64 {
        self.base + place as u64
    }

    /// Returns whether [`trim`](Self::trim) has something to do.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.pos >= TRIM
    }

    /// Forgets the bytes that were read. Places of the part change.
    pub(crate) fn trim(&mut self) {
        count(WorkKind::Tree, words(self.bytes.len() - self.pos));
        self.bytes.drain(..self.pos);
        self.base += self.pos as u64;
        (self.pos, self.before, self.text) = (0, 0, Span::default());
    }

    /// Goes back to the place after the bracket at which a container begins. `depth`: that of its members.
    pub(crate) fn rewind(&mut self, offset: u64, depth: usize) {
        while self.levels.depth() > depth {
            self.levels.pop();
        }
        self.expects_key = self.levels.in_object();
        (self.pos, self.before, self.text) = (0, 0, Span::default());
        self.bytes.clear();
        self.base = offset;
        self.complete = false;
    }

    /// Reads more bytes into memory. Places of the part remain valid.
    #[inline(never)]
    fn more(&mut self) -> Result<(), Unreadable> {
        let at = self.offset(self.bytes.len());
        let left = usize::try_from(self.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let before = self.bytes.len();
        self.hold.append_part(at, left, &mut self.bytes)?;
        self.complete = self.bytes.len() == before;
        Ok(())
    }

    /// Returns the next byte that is neither read nor a comma.
    pub(crate) fn peek(&mut self) -> Result<u8, Unreadable> {
        if self.bytes.len() - self.pos < AHEAD && !self.complete {
            self.more()?;
        }
        let comma = self.bytes.get(self.pos) == Some(&b',');
        Ok(self.bytes.get(self.pos + usize::from(comma)).copied().unwrap_or_default())
    }

    /// Reads the next token.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Token, Unreadable> {
        if self.bytes.len() - self.pos < AHEAD && !self.complete {
            self.more()?;
        }
        count(WorkKind::Tree, 1);
        self.before = self.pos;
        let Some(mut byte) = self.bytes.get(self.pos).copied() else { return Ok(Token::End) };
        if byte == b',' {
            self.pos += 1;
            self.expects_key = self.levels.in_object();
            byte = self.bytes.get(self.pos).copied().unwrap_or_default();
        }
        let start = self.pos;
        self.text = Span { start, end: start + 1 };
        match byte {
            b'{' | b'[' => {
                let object = byte == b'{';
                self.levels.push(object);
                self.expects_key = object;
                self.pos += 1;
                Ok(Token::Open { object })
            }
            b'}' | b']' => {
                self.levels.pop();
                self.expects_key = false;
                self.pos += 1;
                Ok(Token::Close)
            }
            b'"' => {
                let Some(end) = self.string_end(start + 1)? else { return Ok(Token::End) };
                if self.expects_key {
                    self.expects_key = false;
                    self.text = Span { start: start + 1, end };
                    // The colon is read with the name.
                    self.pos = end + 2;
                    return Ok(Token::Key);
                }
                self.pos = end + 1;
                self.text = Span { start, end: end + 1 };
                Ok(Token::String)
            }
            _ => {
                let end = self.scalar_end(start + 1)?;
                self.pos = end;
                self.text = Span { start, end };
                let number = byte == b'-' || byte.is_ascii_digit();
                Ok(if number { Token::Number } else { Token::Literal })
            }
        }
    }

    /// Returns the place of the quote that ends a string. `None`: it is too long.
    #[inline]
    fn string_end(&mut self, start: usize) -> Result<Option<usize>, Unreadable> {
        self.escaped = false;
        let mut at = start;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            match find_end(rest, &mut self.escaped) {
                Ok(place) => {
                    // The colon is needed, too.
                    if at + place + 2 >= self.bytes.len() && !self.complete {
                        self.more()?;
                    }
                    return Ok(Some(at + place));
                }
                Err(place) => {
                    at += place;
                    if self.complete || at - start > LONGEST {
                        self.too_long = true;
                        return Ok(None);
                    }
                    self.more()?;
                }
            }
        }
    }

    /// Returns the place after a number or a literal.
    #[inline]
    fn scalar_end(&mut self, start: usize) -> Result<usize, Unreadable> {
        let mut at = start;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            match find_any(rest, [b',', b'}', b']']) {
                Some(place) => return Ok(at + place),
                None if self.complete => return Ok(self.bytes.len()),
                None => {
                    at = self.bytes.len();
                    self.more()?;
                }
            }
        }
    }

    /// Reads the next name, bracket or brace, and what comes before it.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    #[inline]
    pub(crate) fn next_structure(&mut self) -> Result<Token, Unreadable> {
        loop {
            let rest = self.bytes.get(self.pos..).unwrap_or_default();
            count(WorkKind::Tree, 1);
            let Some(place) = find_structure(rest) else {
                count(WorkKind::Tree, words(rest.len()));
                if self.complete {
                    self.pos = self.bytes.len();
                    return Ok(Token::End);
                }
                // Whether the next string is a name depends on the byte before it.
                self.pos = self.bytes.len().saturating_sub(1).max(self.pos);
                if self.is_full() {
                    // Scalars are long, or many. Nothing of them is needed.
                    return Ok(Token::Literal);
                }
                self.more()?;
                continue;
            };
            count(WorkKind::Tree, words(place));
            self.pos += place;
            if rest.get(place) != Some(&b'"') {
                return self.next();
            }
            if place > 0 {
                self.expects_key = self.levels.in_object() && rest.get(place - 1) == Some(&b',');
            }
            match self.next()? {
                Token::String => {}
                token => return Ok(token),
            }
        }
    }

    /// Reads up to `most` scalar elements of the array that is open, from the last token on. Returns their number, and
    /// makes all of them the text of the last token.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub(crate) fn scalar_run(&mut self, most: u64) -> Result<u64, Unreadable> {
        let start = self.text.start;
        let mut elements = 1;
        while elements < most {
            if self.bytes.len() - self.pos < AHEAD && !self.complete {
                self.more()?;
            }
            let next = self.bytes.get(self.pos + 1);
            let is_scalar = !matches!(next, None | Some(b'{' | b'['));
            if self.bytes.get(self.pos) != Some(&b',') || !is_scalar {
                break;
            }
            if matches!(next, Some(b'"')) {
                if self.next()? == Token::End {
                    break;
                }
            } else {
                count(WorkKind::Tree, 1);
                self.before = self.pos;
                self.pos = self.scalar_end(self.pos + 1)?;
            }
            elements += 1;
        }
        self.text = Span { start, end: self.pos };
        Ok(elements)
    }

    /// Reads the next value if it is equal to `value`, which is not the value of a document.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    #[inline]
    pub(crate) fn next_is(&mut self, value: &[u8]) -> Result<bool, Unreadable> {
        loop {
            let rest = self.bytes.get(self.pos..).unwrap_or_default();
            match (rest.get(..value.len()), rest.get(value.len())) {
                (Some(same), Some(b',' | b'}' | b']')) => {
                    if same != value {
                        return Ok(false);
                    }
                    count(WorkKind::Tree, words(value.len()));
                    self.text = Span { start: self.pos, end: self.pos + value.len() };
                    self.before = self.pos;
                    self.pos += value.len();
                    return Ok(true);
                }
                (Some(_), Some(_)) => return Ok(false),
                _ if self.complete => return Ok(false),
                _ => {
                    if value.get(..rest.len()).is_some_and(|start| start != rest) {
                        return Ok(false);
                    }
                    self.more()?;
                }
            }
        }
    }
}

/// Returns the place of the first quote, bracket or brace.
#[inline]
fn find_structure(bytes: &[u8]) -> Option<usize> {
    find_any(bytes, [b'"', b'{', b'}', b'[', b']'])
}

/// Returns the place of the quote that ends a string, or, as an error, the place at which more bytes are needed. Sets
/// `escaped` if there is a backslash before it.
#[inline]
fn find_end(bytes: &[u8], escaped: &mut bool) -> Result<usize, usize> {
    let mut at = 0;
    // Most strings are short. In others, escapes are near to each other, or rare.
    let mut plain_words = 0;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let word = u64::from_le_bytes(*word);
        let quotes = first_equal(word, b'"');
        let special = quotes | first_equal(word, b'\\');
        let mut length = 8;
        if special != 0 {
            let place = special.trailing_zeros() as usize / 8;
            if quotes & 0x80 << (place * 8) != 0 {
                return Ok(at + place);
            }
            *escaped = true;
            plain_words = 0;
            match skip_escapes(word) {
                Ok(place) => return Ok(at + place),
                Err(after) => length = after,
            }
        }
        at += length;
        plain_words += 1;
        if plain_words == 4 {
            plain_words = 0;
            let rest = bytes.get(at..).unwrap_or_default();
            at += memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        }
    }
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at),
            Some(b'\\') => {
                *escaped = true;
                at += 2;
            }
            Some(_) => at += 1,
            None => return Err(at),
        }
    }
}

/// Returns the place of the quote that ends a string in a word that has a backslash, or the place after the word and the byte that
/// its last backslash escapes.
#[inline]
fn skip_escapes(word: u64) -> Result<usize, usize> {
    let quotes = equal_to(word, b'"');
    let mut special = quotes | equal_to(word, b'\\');
    while special != 0 {
        let place = special.trailing_zeros() as usize / 8;
        if quotes & 0x80 << (place * 8) != 0 {
            return Ok(place);
        }
        if place == 7 {
            return Err(9);
        }
        special &= !(0x8080 << (place * 8));
    }
    Err(8)
}

const ONES: u64 = u64::MAX / 0xFF;

/// Returns the high bit of the first byte of a word that is equal to a byte. Bits above it have no meaning.
#[inline]
fn first_equal(word: u64, byte: u8) -> u64 {
    let other = word ^ (u64::from(byte) * ONES);
    other.wrapping_sub(ONES) & !other & (0x80 * ONES)
}

/// Returns the high bit of each byte of a word that is equal to a byte.
#[inline]
fn equal_to(word: u64, byte: u8) -> u64 {
    const LOW: u64 = 0x7F * ONES;
    let other = word ^ (u64::from(byte) * ONES);
    !(((other & LOW) + LOW) | other | LOW)
}

/// Returns the place of the first of some bytes, which is near.
#[inline]
fn find_any<const COUNT: usize>(bytes: &[u8], any: [u8; COUNT]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = any.iter().fold(0, |found, byte| found | first_equal(word, *byte));
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let place = rest.iter().position(|byte| any.contains(byte))?;
    Some(bytes.len() - rest.len() + place)
}

/// Returns the text of what is between the quotes of a string. `None`: it has a lone surrogate.
pub(crate) fn unescape(spelled: &[u8], text: &mut Vec<u8>) -> bool {
    let start = text.len();
    let mut decoder = StringUnescaper::default();
    decoder.write(spelled, text);
    decoder.end(text);
    // The byte does not occur in UTF-8; in decoded text it begins a lone surrogate.
    !text.get(start..).unwrap_or_default().contains(&0xFF)
}
