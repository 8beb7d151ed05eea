//! Paths as people write them: dot paths and JSON Pointers (RFC 6901), parsed into the same tokens.
//!
//! Knows no document and no rule. What a token means for an array or an object is in [`trie`].

mod names;
pub(crate) mod trie;

use std::fmt;

use crate::excerpt::Excerpt;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Token {
    /// A member's name; if it is a canonical decimal number, an element's index as well.
    Name(Box<str>),
    /// Every element, every member.
    Any,
}

impl Token {
    /// Bytes of its name.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Name(name) => name.len(),
            Self::Any => 0,
        }
    }

    /// The index that this token is for an array: decimal digits without a leading zero.
    pub(crate) fn index(&self) -> Option<u64> {
        let Self::Name(name) = self else { return None };
        index(name)
    }
}

/// The index that a name is for an array.
pub(crate) fn index(name: &str) -> Option<u64> {
    let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = digits && (name == "0" || !name.starts_with('0'));
    // One with more digits than a number has is the name of a member and nothing else.
    if canonical { name.parse().ok() } else { None }
}

/// A parsed path. Prints as a dot path that parses to the same tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Path(pub(crate) Vec<Token>);

/// Why a text is no path: the message, and the byte of the text that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathError {
    pub(crate) at: usize,
    pub(crate) message: &'static str,
}

impl PathError {
    /// What is wrong, where, and in what, on one line.
    pub(crate) fn line(&self, what: &str, text: &str) -> String {
        Excerpt::new(text, self.at).line(what, self.message)
    }

    /// The text, and on a second line a caret under the character.
    pub(crate) fn excerpt(&self, text: &str) -> String {
        Excerpt::new(text, self.at).caret()
    }
}

impl Path {
    /// A dot path, or a pointer if the text starts with `/`. Empty text is an error.
    pub(crate) fn parse(text: &str) -> Result<Self, PathError> {
        if text.starts_with('/') {
            return Self::pointer(text);
        }
        Dots { text, at: 0 }.parse().map(Self)
    }

    /// A JSON Pointer; `""` is the whole document.
    pub(crate) fn pointer(text: &str) -> Result<Self, PathError> {
        let mut tokens = Vec::new();
        if text.is_empty() {
            return Ok(Self(tokens));
        }
        if !text.starts_with('/') {
            return Err(PathError {
                at: 0,
                message: "a JSON Pointer starts with `/` (or is empty)",
            });
        }
        let mut start = 1;
        for token in text.split('/').skip(1) {
            let mut name = String::with_capacity(token.len());
            let mut chars = token.char_indices();
            while let Some((at, char)) = chars.next() {
                name.push(match char {
                    '~' => match chars.next() {
                        Some((_, '0')) => '~',
                        Some((_, '1')) => '/',
                        _ => {
                            return Err(PathError {
                                at: start + at,
                                message: "`~` must be `~0` (for `~`) or `~1` (for `/`)",
                            });
                        }
                    },
                    _ => char,
                });
            }
            tokens.push(Token::Name(name.into()));
            start += token.len() + 1;
        }
        Ok(Self(tokens))
    }

    /// The path as a JSON Pointer, but for wildcards, which no pointer has.
    pub(crate) fn to_pointer(&self) -> String {
        let mut pointer = String::new();
        for token in &self.0 {
            if let Token::Name(name) = token {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
        }
        pointer
    }

    /// The name under which a selected value appears when none is given: the last name of the path.
    pub(crate) fn last_name(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|token| match token {
            Token::Name(name) if token.index().is_none() => Some(&**name),
            _ => None,
        })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, token) in self.0.iter().enumerate() {
            match token {
                Token::Any => f.write_str("[]")?,
                Token::Name(_) if token.index().is_some() => write!(f, "{token}")?,
                Token::Name(name) if name.is_empty() || &**name == "*" || name.contains('/') => {
                    write!(f, "{token}")?;
                }
                Token::Name(_) if number == 0 => write!(f, "{token}")?,
                Token::Name(_) => write!(f, ".{token}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Name(name) = self else { return f.write_str("[]") };
        if self.index().is_some() {
            return write!(f, "[{name}]");
        }
        if name.is_empty() || &**name == "*" || name.contains('/') {
            let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
            return write!(f, "[\"{quoted}\"]");
        }
        for char in name.chars() {
            if matches!(char, '.' | '[' | ']' | '\\' | '"') {
                f.write_str("\\")?;
            }
            write!(f, "{char}")?;
        }
        Ok(())
    }
}

/// The dot-path parser.
struct Dots<'a> {
    text: &'a str,
    at: usize,
}

impl Dots<'_> {
    fn parse(mut self) -> Result<Vec<Token>, PathError> {
        let mut tokens = Vec::new();
        if self.peek() == Some('.') {
            self.bump();
        }
        if self.peek() != Some('[') {
            tokens.push(self.name()?);
        }
        loop {
            match self.peek() {
                None => return Ok(tokens),
                Some('[') => tokens.push(self.bracket()?),
                Some('.') => {
                    self.bump();
                    tokens.push(self.name()?);
                }
                Some(_) => return self.error("expected `.` or `[` here"),
            }
        }
    }

    /// A name up to the next `.` or `[`.
    fn name(&mut self) -> Result<Token, PathError> {
        let start = self.at;
        let mut name = String::new();
        loop {
            match self.peek() {
                None | Some('.' | '[') => break,
                Some(']') => return self.error("`]` in a name is written `\\]`"),
                Some('"') => return self.error("`\"` in a name is written `\\\"`"),
                Some('\\') => {
                    self.bump();
                    match self.peek() {
                        Some(char @ ('.' | '[' | ']' | '\\' | '"' | '*')) => name.push(char),
                        _ => {
                            return self.error("after `\\` comes `.`, `[`, `]`, `\\`, `\"` or `*`");
                        }
                    }
                    self.bump();
                }
                Some(char) => {
                    name.push(char);
                    self.bump();
                }
            }
        }
        match self.text.get(start..self.at) {
            Some("") => self.error(r#"expected a name here (an empty one is written `[""]`)"#),
            Some("*") => Ok(Token::Any),
            _ => Ok(Token::Name(name.into())),
        }
    }

    /// `[]`, `[*]`, `[12]` or `["name"]`.
    fn bracket(&mut self) -> Result<Token, PathError> {
        self.bump();
        let token = match self.peek() {
            Some(']') => Token::Any,
            Some('*') => {
                self.bump();
                Token::Any
            }
            Some('"') => self.quoted()?,
            Some('0'..='9') => {
                let start = self.at;
                while matches!(self.peek(), Some('0'..='9')) {
                    self.bump();
                }
                let token = Token::Name(self.text.get(start..self.at).unwrap_or_default().into());
                if token.index().is_none() {
                    self.at = start;
                    return self.error("an array index has no leading zero and at most 20 digits");
                }
                token
            }
            _ => return self.error(r#"expected an index, `*`, `"name"` or `]` here"#),
        };
        if self.peek() != Some(']') {
            return self.error("expected `]` here");
        }
        self.bump();
        Ok(token)
    }

    fn quoted(&mut self) -> Result<Token, PathError> {
        self.bump();
        let mut name = String::new();
        loop {
            match self.peek() {
                None => return self.error("expected `\"` here"),
                Some('"') => break,
                Some('\\') => {
                    self.bump();
                    match self.peek() {
                        Some(char @ ('\\' | '"')) => name.push(char),
                        _ => return self.error("in quotes, after `\\` comes `\\` or `\"`"),
                    }
                }
                Some(char) => name.push(char),
            }
            self.bump();
        }
        self.bump();
        Ok(Token::Name(name.into()))
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn error<T>(&self, message: &'static str) -> Result<T, PathError> {
        Err(PathError { at: self.at, message })
    }
}

#[cfg(test)]
mod tests {
    use super::{Path, Token};

    fn tokens(path: &Path) -> Vec<String> {
        path.0
            .iter()
            .map(|token| match token {
                Token::Any => "<any>".to_owned(),
                Token::Name(name) => name.to_string(),
            })
            .collect()
    }

    #[test]
    fn forms_of_a_path() {
        let cases: [(&str, &[&str]); 19] = [
            ("id", &["id"]),
            (".id", &["id"]),
            ("owner.login", &["owner", "login"]),
            ("tags[0]", &["tags", "0"]),
            ("tags.0", &["tags", "0"]),
            ("[2].id", &["2", "id"]),
            (".[2].id", &["2", "id"]),
            (r"a\.b", &["a.b"]),
            (r#"["a.b"].c"#, &["a.b", "c"]),
            (r#"["say \"hi\" \\ bye"]"#, &[r#"say "hi" \ bye"#]),
            (r#"[""].x"#, &["", "x"]),
            ("labels[].name", &["labels", "<any>", "name"]),
            ("labels[*].name", &["labels", "<any>", "name"]),
            ("*.id", &["<any>", "id"]),
            (r#"["*"].id"#, &["*", "id"]),
            (r"\*.id", &["*", "id"]),
            ("/owner/login", &["owner", "login"]),
            ("/a~1b/~0/0", &["a/b", "~", "0"]),
            ("/", &[""]),
        ];
        for (text, expected) in cases {
            let path = Path::parse(text).unwrap();
            assert_eq!(tokens(&path), expected, "{text}");
            assert_eq!(Path::parse(&path.to_string()).unwrap(), path, "{text} printed as {path}");
        }
    }

    #[test]
    fn errors_point_at_the_character() {
        let cases = [
            ("", 0),
            (".", 1),
            ("a..b", 2),
            ("a.", 2),
            ("a[", 2),
            ("a[x]", 2),
            ("a[01]", 2),
            ("a[1", 3),
            ("a]b", 1),
            ("a\"b", 1),
            (r"a\b", 2),
            ("a[0]b", 4),
            (r#"["a"#, 3),
            ("/a~2", 2),
            ("/~", 1),
            ("/x/é~", 5),
        ];
        for (text, at) in cases {
            assert_eq!(Path::parse(text).unwrap_err().at, at, "{text}");
        }
        assert_eq!(Path::pointer("a").unwrap_err().at, 0);
        assert_eq!(Path::pointer("").unwrap(), Path::default());
    }

    #[test]
    fn errors_are_told_on_one_line_of_bearable_length() {
        let error = Path::parse("a..b").unwrap_err();
        let line = r#"select: expected a name here (an empty one is written `[""]`) (character 3 of `a..b`)"#;
        assert_eq!(error.line("select", "a..b"), line);
        assert_eq!(error.excerpt("a..b"), "a..b\n  ^");
        let long = format!("{}..\n{}", "é".repeat(50_000), "x".repeat(50_000));
        let error = Path::parse(&long).unwrap_err();
        let excerpt = error.excerpt(&long);
        let (text, caret) = excerpt.split_once('\n').unwrap();
        assert_eq!(text.chars().count(), 82, "{text}");
        assert_eq!(text.chars().nth(caret.len() - 1), Some('.'));
        assert_eq!(text.chars().nth(caret.len()), Some('\u{fffd}'));
        assert!(error.line("select", &long).contains("(character 50002 of `…"));
    }

    #[test]
    fn an_index_is_a_canonical_number() {
        let index = |name: &str| Token::Name(name.into()).index();
        assert_eq!(index("0"), Some(0));
        assert_eq!(index("10"), Some(10));
        for name in ["", "01", "-", "-1", "+1", "1e0", "99999999999999999999"] {
            assert_eq!(index(name), None, "{name}");
        }
    }

    #[test]
    fn the_last_name_is_the_output_key() {
        let name = |text: &str| Path::parse(text).unwrap().last_name().map(str::to_owned);
        assert_eq!(name("owner.login").as_deref(), Some("login"));
        assert_eq!(name("t[0]").as_deref(), Some("t"));
        assert_eq!(name("labels[].name").as_deref(), Some("name"));
        assert_eq!(name("[0]"), None);
    }
}
