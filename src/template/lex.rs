//! Cuts a template into text, comments and the tokens of its actions, as Go's `text/template/parse` does.
//!
//! Knows nothing of the engine that runs templates. Literals are decoded here, so that what reaches the engine is spelled
//! in the one way that it reads correctly. Places are byte offsets into the template. Nothing recurses.

use std::ops::Range;

/// What is wrong, and at which byte of the template.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) is_limit: bool,
}

impl Fault {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), is_limit: false }
    }

    pub(super) fn limit(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), is_limit: true }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A run of white space.
    Space,
    /// A quoted or raw string, decoded.
    Text(String),
    /// An integer or the code of a character constant.
    Integer(i64),
    /// Any other number: its value, and its text.
    Float(f64),
    /// A function, a keyword, `true`, `false`, `nil`.
    Word,
    /// `.name`.
    Field,
    /// `.` alone.
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
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// A piece of a template.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// Text, or a comment with its delimiters: goes to the engine as it is.
    Verbatim(Range<usize>),
    Action {
        /// `{{` or `{{- `.
        left: Range<usize>,
        tokens: Vec<Token>,
        /// `}}` or ` -}}`.
        right: Range<usize>,
    },
}

/// Reads one piece after the other.
pub(super) struct Lexer<'t> {
    text: &'t str,
    pos: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, pos: 0 }
    }

    /// The next piece; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Piece>, Fault> {
        let start = self.pos;
        let rest = self.rest();
        if rest.is_empty() {
            return Ok(None);
        }
        match rest.find("{{") {
            Some(0) => self.delimited(start).map(Some),
            found => {
                self.pos += found.unwrap_or(rest.len());
                Ok(Some(Piece::Verbatim(start..self.pos)))
            }
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn delimited(&mut self, start: usize) -> Result<Piece, Fault> {
        self.pos += 2;
        let mut chars = self.rest().chars();
        if chars.next() == Some('-') && chars.next().is_some_and(is_space) {
            self.pos += 2;
        }
        let left = start..self.pos;
        if self.rest().starts_with("/*") {
            let Some(end) = self.rest().find("*/") else {
                return Err(Fault::new(self.pos, "unclosed comment"));
            };
            self.pos += end + 2;
            let Some(right) = self.right_delimiter() else {
                return Err(Fault::new(self.pos, "comment ends before closing delimiter"));
            };
            self.pos = right.end;
            return Ok(Piece::Verbatim(start..right.end));
        }
        let mut tokens: Vec<Token> = Vec::new();
        loop {
            if let Some(right) = self.right_delimiter() {
                self.pos = right.end;
                return Ok(Piece::Action { left, tokens, right });
            }
            let token = self.token(start)?;
            tokens.push(token);
        }
    }

    /// The right delimiter, if one is next.
    fn right_delimiter(&self) -> Option<Range<usize>> {
        let rest = self.rest();
        if rest.starts_with("}}") {
            return Some(self.pos..self.pos + 2);
        }
        let trims =
            rest.starts_with(is_space) && rest.get(1..).is_some_and(|rest| rest.starts_with("-}}"));
        trims.then_some(self.pos..self.pos + 4)
    }

    fn token(&mut self, action: usize) -> Result<Token, Fault> {
        let start = self.pos;
        let Some(char) = self.peek() else {
            return Err(Fault::new(action, "unclosed action"));
        };
        self.pos += char.len_utf8();
        let kind = match char {
            _ if is_space(char) => {
                while self.right_delimiter().is_none() && self.peek().is_some_and(is_space) {
                    self.pos += 1;
                }
                Kind::Space
            }
            '"' => Kind::Text(self.quoted(start)?),
            '`' => {
                let Some(end) = self.rest().find('`') else {
                    return Err(Fault::new(start, "unterminated raw quoted string"));
                };
                let raw = self.rest().get(..end).unwrap_or_default().replace('\r', "");
                self.pos += end + 1;
                Kind::Text(raw)
            }
            '\'' => Kind::Integer(self.character(start)?),
            '(' => Kind::Open,
            ')' => Kind::Close,
            '|' => Kind::Pipe,
            ',' => Kind::Comma,
            '=' => Kind::Assign,
            ':' if self.peek() == Some('=') => {
                self.pos += 1;
                Kind::Declare
            }
            ':' => return Err(Fault::new(start, "expected :=")),
            '.' if !self.peek().is_some_and(|char| char.is_ascii_digit()) => {
                if self.name() {
                    self.end_of_name(start)?;
                    Kind::Field
                } else {
                    Kind::Dot
                }
            }
            '$' => {
                self.name();
                self.end_of_name(start)?;
                Kind::Variable
            }
            '+' | '-' | '.' | '0'..='9' => self.number(start)?,
            _ if is_name(char) => {
                self.name();
                self.end_of_name(start)?;
                Kind::Word
            }
            _ => {
                let message = format!("unexpected {char:?} in an action");
                return Err(Fault::new(start, message));
            }
        };
        Ok(Token { kind, span: start..self.pos })
    }

    /// Moves behind the characters of a name. Whether there were any.
    fn name(&mut self) -> bool {
        let rest = self.rest();
        let length = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
        self.pos += length;
        length > 0
    }

    /// What may follow a name, as in Go.
    fn end_of_name(&self, start: usize) -> Result<(), Fault> {
        match self.peek() {
            Some(char)
                if !is_space(char)
                    && !matches!(char, '.' | ',' | '|' | ':' | ')' | '(' | '=')
                    && self.right_delimiter().is_none() =>
            {
                Err(Fault::new(start, format!("bad character {char:?} after a name")))
            }
            _ => Ok(()),
        }
    }

    fn number(&mut self, start: usize) -> Result<Kind, Fault> {
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
        read_number(text).map_err(|message| Fault::new(start, message))
    }

    fn quoted(&mut self, start: usize) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                None | Some('\n') => {
                    return Err(Fault::new(start, "unterminated quoted string"));
                }
                Some('"') => {
                    self.pos += 1;
                    // Escaped bytes may make up a character, or none.
                    return Ok(String::from_utf8_lossy(&bytes).into_owned());
                }
                Some(_) => self.escaped('"', &mut bytes)?,
            }
        }
    }

    fn character(&mut self, start: usize) -> Result<i64, Fault> {
        let mut bytes = Vec::new();
        let malformed = || Fault::new(start, "malformed character constant");
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

    /// One character of a literal, or one escape.
    fn escaped(&mut self, quote: char, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        let start = self.pos;
        let invalid = || Fault::new(start, "invalid escape in a quoted string");
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

/// White space within an action, as Go's lexer has it.
fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n')
}

fn is_name(char: char) -> bool {
    char == '_' || char.is_alphanumeric()
}

/// A number as Go spells it; why it is none.
fn read_number(text: &str) -> Result<Kind, String> {
    let bad = || format!("bad number {text}");
    let (negative, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let lower = unsigned.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, lower.get(2..)),
        [b'0', b'o', ..] => (8, lower.get(2..)),
        [b'0', b'b', ..] => (2, lower.get(2..)),
        [b'0', b'0'..=b'9' | b'_', ..] => (8, lower.get(1..)),
        _ => (10, Some(lower.as_str())),
    };
    let digits = digits.unwrap_or_default();
    let digits = if radix == 10 { digits } else { digits.strip_prefix('_').unwrap_or(digits) };
    if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
        return Err(bad());
    }
    let digits = digits.replace('_', "");
    if !digits.is_empty() && digits.chars().all(|char| char.is_digit(radix)) {
        let value = i128::from_str_radix(&digits, radix).ok();
        let value = value.map(|value| if negative { -value } else { value });
        let value = value.and_then(|value| i64::try_from(value).ok());
        return value.map(Kind::Integer).ok_or_else(|| format!("{text} overflows int"));
    }
    if digits.ends_with('i') && radix == 10 {
        return Err(format!("{text}: complex numbers are not supported"));
    }
    let value = match radix {
        16 => hex_float(&digits),
        // Only what Go reads: Rust has names for infinity, too.
        _ if lower
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'+' | b'-' | b'_')) =>
        {
            lower.replace('_', "").parse::<f64>().ok()
        }
        _ => None,
    };
    let value = value.filter(|value| value.is_finite()).ok_or_else(bad)?;
    Ok(Kind::Float(if negative { -value } else { value }))
}

/// The value of `1.8p3`, without its `0x`.
fn hex_float(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // 13 digits are all that a float holds exactly.
    if whole.len() + fraction.len() > 13 {
        return None;
    }
    let value = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?.checked_mul(4)?)?;
    #[allow(clippy::cast_precision_loss, reason = "13 digits are exact")]
    Some(value as f64 * f64::from(2).powi(shift))
}
