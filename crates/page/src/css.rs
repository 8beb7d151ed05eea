//! Parses the declarations of a `style` attribute according to CSS Syntax: comments, escapes, strings, brackets,
//! letter case.
//!
//! This module reads tokens; properties are in `style`. Invariants: one pass over the text; at most [`VALUES`] tokens
//! of a declaration and [`NAME`] bytes of a name are kept.

use std::iter::Peekable;
use std::str::Chars;

/// The maximum number of tokens of a value. No value that hides something has as many.
const VALUES: usize = 32;
/// The maximum number of bytes of a name.
const NAME: usize = 32;

/// A declaration, without white space and without anything after its value.
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) value: Vec<CssToken>,
    /// The value is invalid, or too long to be kept.
    pub(super) over: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum CssToken {
    /// A name in lower case.
    Ident(String),
    /// The name of a function; its arguments follow.
    Function(String),
    /// A number and its unit in lower case.
    Number(f64, String),
    Hash(String),
    Text,
    Open,
    Close,
    Colon,
    Semicolon,
    White,
    Delim(char),
}

pub(super) struct Declarations<'s> {
    chars: Peekable<Chars<'s>>,
    /// After the first two digits of an escape.
    short: Peekable<Chars<'s>>,
}

impl<'s> Declarations<'s> {
    pub(super) fn new(style: &'s str) -> Self {
        let chars = style.chars().peekable();
        Self { short: chars.clone(), chars }
    }
}

impl Iterator for Declarations<'_> {
    type Item = Declaration;

    fn next(&mut self) -> Option<Declaration> {
        let mut read = Declaration { name: String::new(), value: Vec::new(), over: false };
        let mut any = false;
        let mut depth = 0_usize;
        let mut in_value = false;
        let mut broken = false;
        while let Some(token) = self.token() {
            any = true;
            match &token {
                CssToken::White => continue,
                CssToken::Semicolon if depth == 0 => break,
                CssToken::Open | CssToken::Function(_) => depth += 1,
                CssToken::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            if in_value {
                if read.value.len() < VALUES {
                    read.value.push(token);
                } else {
                    read.over = true;
                }
                continue;
            }
            match token {
                CssToken::Ident(name) if read.name.is_empty() && !broken => read.name = name,
                CssToken::Colon if !read.name.is_empty() && !broken => in_value = true,
                _ => broken = true,
            }
        }
        read.over |= broken;
        any.then_some(read)
    }
}

impl Declarations<'_> {
    fn token(&mut self) -> Option<CssToken> {
        let char = self.chars.next()?;
        Some(match char {
            '/' if self.chars.peek() == Some(&'*') => {
                self.comment();
                // A comment separates two tokens and is dropped.
                return Some(CssToken::White);
            }
            _ if char.is_ascii_whitespace() => {
                while self.chars.next_if(char::is_ascii_whitespace).is_some() {}
                CssToken::White
            }
            '"' | '\'' => {
                self.string(char);
                CssToken::Text
            }
            ':' => CssToken::Colon,
            ';' => CssToken::Semicolon,
            '(' | '[' | '{' => CssToken::Open,
            ')' | ']' | '}' => CssToken::Close,
            '#' => CssToken::Hash(self.name(String::new())),
            '0'..='9' => self.number(char),
            '.' | '+' | '-' if self.is_number(char) => self.number(char),
            '\\' if self.chars.peek().is_some_and(|next| *next != '\n') => {
                let first = self.escape();
                self.word(first)
            }
            _ if is_name(char) => self.word(char),
            _ => CssToken::Delim(char),
        })
    }

    fn comment(&mut self) {
        self.chars.next();
        let mut star = false;
        for char in self.chars.by_ref() {
            if star && char == '/' {
                return;
            }
            star = char == '*';
        }
    }

    fn string(&mut self, quote: char) {
        while let Some(char) = self.chars.next_if(|char| *char != '\n') {
            if char == quote {
                return;
            }
            if char == '\\' {
                self.chars.next();
            }
        }
    }

    /// Whether a number begins with a sign or a point here.
    fn is_number(&self, first: char) -> bool {
        let mut next = self.chars.clone();
        match next.next() {
            Some('0'..='9') => true,
            Some('.') if first != '.' => matches!(next.next(), Some('0'..='9')),
            _ => false,
        }
    }

    fn number(&mut self, first: char) -> CssToken {
        let mut text = String::from(first);
        let digits = |chars: &mut Peekable<Chars<'_>>, text: &mut String| {
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                if text.len() < NAME {
                    text.push(digit);
                }
            }
        };
        digits(&mut self.chars, &mut text);
        let mut next = self.chars.clone();
        if first != '.'
            && next.next() == Some('.')
            && next.next().is_some_and(|c| c.is_ascii_digit())
        {
            self.chars.next();
            text.push('.');
            digits(&mut self.chars, &mut text);
        }
        let mut next = self.chars.clone();
        if matches!(next.next(), Some('e' | 'E')) {
            let sign = next.next_if(|char| matches!(char, '+' | '-'));
            if next.peek().is_some_and(char::is_ascii_digit) {
                self.chars = next;
                text.push('e');
                text.extend(sign);
                digits(&mut self.chars, &mut text);
            }
        }
        let number = text.parse().unwrap_or(f64::MAX);
        let unit = match self.chars.next_if(|char| *char == '%') {
            Some(_) => "%".to_owned(),
            None if self.chars.peek().is_some_and(|char| is_name(*char) || *char == '\\') => {
                self.name(String::new())
            }
            None => String::new(),
        };
        CssToken::Number(number, unit)
    }

    fn word(&mut self, first: char) -> CssToken {
        let name = self.name(first.to_lowercase().collect());
        match self.chars.next_if(|char| *char == '(') {
            Some(_) if name == "url" && self.is_bare_address() => {
                self.bare_address();
                CssToken::Text
            }
            Some(_) => CssToken::Function(name),
            None => CssToken::Ident(name),
        }
    }

    /// Whether the address after `url(` is unquoted.
    fn is_bare_address(&mut self) -> bool {
        while self.chars.next_if(char::is_ascii_whitespace).is_some() {}
        !matches!(self.chars.peek(), Some('"' | '\''))
    }

    /// An unquoted address ends at the first unescaped closing parenthesis.
    fn bare_address(&mut self) {
        while let Some(char) = self.chars.next() {
            match char {
                ')' => return,
                '\\' => _ = self.chars.next(),
                _ => {}
            }
        }
    }

    /// Reads the rest of a name.
    fn name(&mut self, mut name: String) -> String {
        loop {
            let char = match self.chars.peek() {
                Some('\\') => {
                    let mut next = self.chars.clone();
                    next.next();
                    if matches!(next.next(), None | Some('\n')) {
                        return name;
                    }
                    self.chars.next();
                    self.escape()
                }
                Some(char) if is_name(*char) => {
                    let char = *char;
                    self.chars.next();
                    char
                }
                _ => return name,
            };
            if name.len() < NAME {
                name.extend(char.to_lowercase());
            }
        }
    }

    /// Decodes the escape after a backslash. All names of interest are ASCII. If the digits spell a character outside
    /// of ASCII, only the first two count, if they spell a letter: `\6cay` is read as `lay`, which hides at least as
    /// much as any other reading.
    fn escape(&mut self) -> char {
        let mut code = 0;
        let mut digits = 0;
        let mut short = None;
        while digits < 6
            && let Some(digit) = self.chars.next_if(char::is_ascii_hexdigit)
        {
            code = code * 16 + digit.to_digit(16).unwrap_or(0);
            digits += 1;
            if digits == 2 {
                short = char::from_u32(code).filter(char::is_ascii_alphabetic);
                short = short.inspect(|_| self.short = self.chars.clone());
            }
        }
        if digits == 0 {
            return self.chars.next().unwrap_or(char::REPLACEMENT_CHARACTER);
        }
        if let Some(letter) = short.filter(|_| code > 0x7F) {
            self.chars = self.short.clone();
            return letter;
        }
        self.chars.next_if(char::is_ascii_whitespace);
        char::from_u32(code).filter(|char| *char != '\0').unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_') || !char.is_ascii()
}
