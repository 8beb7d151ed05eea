//! Splits a template into text and actions, and actions into tokens, as Go's `text/template/parse` does.
//!
//! Trim markers are applied and comments are dropped here. Literals are decoded here as well. Places are byte offsets into
//! the template. Nothing recurses.

use std::ops::Range;

use super::number::read_number;

/// A template that cannot be compiled: the byte at which it is wrong, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TemplateFault {
    pub(super) at: usize,
    pub(super) message: String,
    /// A limit is exceeded; the template may be valid.
    pub(super) is_limit: bool,
}

impl TemplateFault {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), is_limit: false }
    }

    pub(super) fn limit(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), is_limit: true }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    /// A run of white space.
    Space,
    /// A quoted or raw string, decoded.
    Text(String),
    /// An integer, or the code of a character constant.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A function, a keyword, `true`, `false` or `nil`.
    Word,
    /// `.name`.
    Field,
    /// A `.` that is not followed by a name.
    Dot,
    /// `$name` or `$`.
    Variable,
    Open,
    Close,
    Pipe,
    /// `:=`.
    Declare,
    /// `=`.
    Assign,
    Comma,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TemplateToken {
    pub(super) kind: TokenKind,
    pub(super) span: Range<usize>,
}

/// A part of a template.
#[derive(Debug, PartialEq)]
pub(super) enum TemplatePiece {
    /// Text that is copied to the output. Trim markers have been applied.
    Text(Range<usize>),
    Action {
        /// The byte of `{{`.
        at: usize,
        tokens: Vec<TemplateToken>,
        /// The byte of `}}` or ` -}}`.
        end: usize,
    },
}

/// Splits a template, one piece at a time.
pub(super) struct TemplateLexer<'t> {
    text: &'t str,
    pos: usize,
    /// The previous action ended in ` -}}`.
    trims: bool,
}

impl<'t> TemplateLexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, pos: 0, trims: false }
    }

    /// Returns the next piece, or `None` at the end of the template.
    pub(super) fn next(&mut self) -> Result<Option<TemplatePiece>, TemplateFault> {
        while !self.rest().is_empty() {
            let length = self.rest().find("{{").unwrap_or(self.rest().len());
            let piece = if length > 0 { self.text(length) } else { self.delimited(self.pos)? };
            if piece.is_some() {
                return Ok(piece);
            }
        }
        Ok(None)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Reads `length` bytes of text. Returns `None` if trim markers leave nothing of it.
    fn text(&mut self, length: usize) -> Option<TemplatePiece> {
        let start = self.pos;
        let (text, after) = self.rest().split_at_checked(length)?;
        self.pos += length;
        let trims_end = after.strip_prefix("{{-").is_some_and(|rest| rest.starts_with(is_space));
        let end = if trims_end { text.trim_end_matches(is_space).len() } else { length };
        let text = text.get(..end).unwrap_or_default();
        let trims_start = std::mem::take(&mut self.trims);
        let begin = if trims_start { end - text.trim_start_matches(is_space).len() } else { 0 };
        (begin < end).then_some(TemplatePiece::Text(start + begin..start + end))
    }

    /// Reads an action or a comment. Returns `None` for a comment.
    fn delimited(&mut self, at: usize) -> Result<Option<TemplatePiece>, TemplateFault> {
        self.pos += 2;
        if self.rest().strip_prefix('-').is_some_and(|rest| rest.starts_with(is_space)) {
            self.pos += 2;
        }
        if self.rest().starts_with("/*") {
            let Some(end) = self.rest().find("*/") else {
                return Err(TemplateFault::new(self.pos, "unclosed comment"));
            };
            self.pos += end + 2;
            let Some(right) = self.right_delimiter() else {
                return Err(TemplateFault::new(self.pos, "comment ends before closing delimiter"));
            };
            self.close(&right);
            return Ok(None);
        }
        let mut tokens: Vec<TemplateToken> = Vec::new();
        loop {
            if let Some(right) = self.right_delimiter() {
                self.close(&right);
                return Ok(Some(TemplatePiece::Action { at, tokens, end: right.start }));
            }
            let token = self.token(at)?;
            tokens.push(token);
        }
    }

    fn close(&mut self, right: &Range<usize>) {
        self.pos = right.end;
        self.trims = right.len() > 2;
    }

    /// Returns the span of the right delimiter, if it comes next.
    fn right_delimiter(&self) -> Option<Range<usize>> {
        let rest = self.rest();
        if rest.starts_with("}}") {
            return Some(self.pos..self.pos + 2);
        }
        let trims =
            rest.starts_with(is_space) && rest.get(1..).is_some_and(|rest| rest.starts_with("-}}"));
        trims.then_some(self.pos..self.pos + 4)
    }

    fn token(&mut self, action: usize) -> Result<TemplateToken, TemplateFault> {
        let start = self.pos;
        let Some(char) = self.peek() else {
            return Err(TemplateFault::new(action, "unclosed action"));
        };
        self.pos += char.len_utf8();
        let kind = match char {
            _ if is_space(char) => {
                while self.right_delimiter().is_none() && self.peek().is_some_and(is_space) {
                    self.pos += 1;
                }
                TokenKind::Space
            }
            '"' => TokenKind::Text(self.quoted(start)?),
            '`' => {
                let Some(end) = self.rest().find('`') else {
                    return Err(TemplateFault::new(start, "unterminated raw quoted string"));
                };
                let raw = self.rest().get(..end).unwrap_or_default().replace('\r', "");
                self.pos += end + 1;
                TokenKind::Text(raw)
            }
            '\'' => TokenKind::Integer(self.character(start)?),
            '(' => TokenKind::Open,
            ')' => TokenKind::Close,
            '|' => TokenKind::Pipe,
            ',' => TokenKind::Comma,
            '=' => TokenKind::Assign,
            ':' if self.peek() == Some('=') => {
                self.pos += 1;
                TokenKind::Declare
            }
            ':' => return Err(TemplateFault::new(start, "expected :=")),
            '.' if !self.peek().is_some_and(|char| char.is_ascii_digit()) => {
                if self.name() {
                    self.end_of_name(start)?;
                    TokenKind::Field
                } else {
                    TokenKind::Dot
                }
            }
            '$' => {
                self.name();
                self.end_of_name(start)?;
                TokenKind::Variable
            }
            '+' | '-' | '.' | '0'..='9' => self.number(start)?,
            _ if is_name(char) => {
                self.name();
                self.end_of_name(start)?;
                TokenKind::Word
            }
            _ => {
                let message = format!("unexpected {char:?} in an action");
                return Err(TemplateFault::new(start, message));
            }
        };
        Ok(TemplateToken { kind, span: start..self.pos })
    }

    /// Skips the characters of a name. Returns whether there were any.
    fn name(&mut self) -> bool {
        let rest = self.rest();
        let length = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
        self.pos += length;
        length > 0
    }

    /// Refuses a character that Go does not allow after a name.
    fn end_of_name(&self, start: usize) -> Result<(), TemplateFault> {
        match self.peek() {
            Some(char)
                if !is_space(char)
                    && !matches!(char, '.' | ',' | '|' | ':' | ')' | '(' | '=')
                    && self.right_delimiter().is_none() =>
            {
                Err(TemplateFault::new(start, format!("bad character {char:?} after a name")))
            }
            _ => Ok(()),
        }
    }

    fn number(&mut self, start: usize) -> Result<TokenKind, TemplateFault> {
        let rest = self.text.get(start..).unwrap_or_default();
        let is_hex = rest.trim_start_matches(['+', '-']).starts_with(['0'])
            && rest.trim_start_matches(['+', '-', '0']).starts_with(['x', 'X']);
        let mut end = 1;
        let mut before = rest.chars().next().unwrap_or_default();
        for char in rest.chars().skip(1) {
            let exponent = if is_hex { ['p', 'P'] } else { ['e', 'E'] };
            let sign = matches!(char, '+' | '-') && exponent.contains(&before);
            if !(is_name(char) || char == '.' || sign) {
                break;
            }
            end += char.len_utf8();
            before = char;
        }
        let text = rest.get(..end).unwrap_or_default();
        self.pos = start + end;
        read_number(text).map_err(|message| TemplateFault::new(start, message))
    }

    fn quoted(&mut self, start: usize) -> Result<String, TemplateFault> {
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                None | Some('\n') => {
                    return Err(TemplateFault::new(start, "unterminated quoted string"));
                }
                Some('"') => {
                    self.pos += 1;
                    // Escaped bytes need not be valid UTF-8.
                    return Ok(String::from_utf8_lossy(&bytes).into_owned());
                }
                Some(_) => self.escaped('"', &mut bytes)?,
            }
        }
    }

    fn character(&mut self, start: usize) -> Result<i64, TemplateFault> {
        let mut bytes = Vec::new();
        let malformed = || TemplateFault::new(start, "malformed character constant");
        if !matches!(self.peek(), None | Some('\'' | '\n')) {
            let is_byte = self.rest().starts_with("\\x")
                || self
                    .rest()
                    .strip_prefix('\\')
                    .is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
            self.escaped('\'', &mut bytes)?;
            if self.peek() == Some('\'') {
                self.pos += 1;
                let code = match bytes.as_slice() {
                    [byte] if is_byte => Some(i64::from(*byte)),
                    bytes => std::str::from_utf8(bytes)
                        .ok()
                        .and_then(|text| text.chars().next())
                        .map(|char| i64::from(u32::from(char))),
                };
                return code.ok_or_else(malformed);
            }
        }
        Err(malformed())
    }

    /// Reads one character of a literal, or one escape sequence.
    fn escaped(&mut self, quote: char, bytes: &mut Vec<u8>) -> Result<(), TemplateFault> {
        let start = self.pos;
        let invalid = || TemplateFault::new(start, "invalid escape in a quoted string");
        let mut push = |char: char| {
            bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        };
        let Some(char) = self.peek() else { return Err(invalid()) };
        self.pos += char.len_utf8();
        if char != '\\' {
            push(char);
            return Ok(());
        }
        let Some(escape) = self.peek() else { return Err(invalid()) };
        self.pos += escape.len_utf8();
        match escape {
            'a' => push('\u{7}'),
            'b' => push('\u{8}'),
            'f' => push('\u{c}'),
            'n' => push('\n'),
            'r' => push('\r'),
            't' => push('\t'),
            'v' => push('\u{b}'),
            '\\' => push('\\'),
            _ if escape == quote => push(quote),
            'u' | 'U' => {
                let code = self.digits(if escape == 'u' { 4 } else { 8 }, 16);
                push(code.and_then(char::from_u32).ok_or_else(invalid)?);
            }
            'x' => {
                let byte = self.digits(2, 16).and_then(|code| u8::try_from(code).ok());
                bytes.push(byte.ok_or_else(invalid)?);
            }
            '0'..='7' => {
                self.pos = start + 1;
                let byte = self.digits(3, 8).and_then(|code| u8::try_from(code).ok());
                bytes.push(byte.ok_or_else(invalid)?);
            }
            _ => return Err(invalid()),
        }
        Ok(())
    }

    fn digits(&mut self, count: usize, radix: u32) -> Option<u32> {
        let digits = self.rest().get(..count)?;
        if !digits.chars().all(|char| char.is_digit(radix)) {
            return None;
        }
        self.pos += count;
        u32::from_str_radix(digits, radix).ok()
    }
}

/// Reports whether Go's lexer takes `char` for white space within an action.
fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n')
}

fn is_name(char: char) -> bool {
    char == '_' || char.is_alphanumeric()
}
