//! The parser of dot paths.
//!
//! Forms of other path languages are refused with what to write instead, or read as names where a foreign manifest has
//! them. The parser does not depend on the use of a path.

use std::borrow::Cow;

use super::{PathError, PathToken};

/// The character that is trimmed around names.
pub(super) const BLANK: char = ' ';

/// Maximum number of characters of a path that an error repeats.
const REPEATED: usize = 60;

const PROJECTION: &str = "only `select` in a native spec has projections (`{…}`); write a path for each member, and a brace in a name as `[\"{\"]`";
const PROJECTION_HERE: &str = "a projection (`{…}`) follows the name of a member, as in `labels[]{name,color}`; leave out the `.` before it, and \
     write a brace in a name as `[\"{\"]`";
const ABSENT: &str =
    "`?` is not needed, because a value that is absent is left out; leave out the `?`";
/// How a foreign manifest reads a refused form.
const A_NAME: &str = "a name";
const DEPTH: &str = "a path cannot search at every depth (`..`, `**`); write its levels, with `*` for any member and `[]` for any element";
const TESTS: &str = "a path cannot test values (`[?…]`); write `[]` for every element, and choose items by value with `where`";
const EXPRESSIONS: &str = "a path has no expressions (`[(…)]`); write an index, `[0]`";
const SLICES: &str =
    "a path has no slices (`[0:3]`); write `[]` for every element, or `[0]` for one";
pub(super) const PIPE: &str = "a path has no pipes; write `|` in a name as `[\"|\"]`";

/// How the parser treats syntax of other path languages.
#[derive(Debug)]
enum DotSyntax {
    /// It is an error.
    Strict,
    /// It is part of a name; the first one is remembered.
    Foreign(Option<PathError>),
}

/// A dot path that is being parsed.
#[derive(Debug)]
pub(super) struct DotPathParser<'a> {
    text: &'a str,
    pub(super) at: usize,
    reading: DotSyntax,
    /// The path may begin with `[]`.
    of_document: bool,
    /// The path may end with a projection.
    projects: bool,
    /// The positions of the steps that were written as `[]` or `[*]`.
    pub(super) brackets: Vec<usize>,
}

impl<'a> DotPathParser<'a> {
    /// Creates a parser that refuses syntax of other path languages.
    pub(super) fn strict(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            reading: DotSyntax::Strict,
            of_document: false,
            projects: false,
            brackets: Vec::new(),
        }
    }

    /// Creates a parser like [`strict`](Self::strict) for a path that begins at the document, not at an item, so that
    /// `[]` in first place is every element of the document.
    pub(super) fn of_document(text: &'a str) -> Self {
        Self { of_document: true, ..Self::strict(text) }
    }

    /// Creates a parser like [`strict`](Self::strict) for a path that may end with a projection.
    pub(super) fn selected(text: &'a str) -> Self {
        Self { projects: true, ..Self::strict(text) }
    }

    /// Creates a parser that reads such syntax as names.
    pub(super) fn foreign(text: &'a str) -> Self {
        Self { reading: DotSyntax::Foreign(None), ..Self::strict(text) }
    }

    /// Returns the tokens, and the first form that cannot be meant, if it was not refused.
    pub(super) fn parse(mut self) -> Result<(Vec<PathToken>, Option<PathError>), PathError> {
        let tokens = self.tokens()?;
        let doubt = match self.reading {
            DotSyntax::Strict => None,
            DotSyntax::Foreign(doubt) => doubt,
        };
        Ok((tokens, doubt))
    }

    /// Reads the steps of the path, up to its projection or the end of the text.
    pub(super) fn tokens(&mut self) -> Result<Vec<PathToken>, PathError> {
        let mut tokens = Vec::new();
        self.blanks();
        tokens.push(self.first()?);
        loop {
            self.blanks();
            match self.peek() {
                None => break,
                Some('{') if self.projects => break,
                Some('[') => {
                    let token = self.bracket()?;
                    if token == PathToken::Any {
                        self.brackets.push(tokens.len());
                    }
                    tokens.push(token);
                }
                Some('.') => {
                    self.bump();
                    tokens.push(self.name()?);
                }
                Some('{') => return self.error(PROJECTION),
                Some('|') => return self.error(PIPE),
                Some('?') => return self.error(ABSENT),
                Some(_) => return self.error("expected `.` or `[` here"),
            }
        }
        Ok(tokens)
    }

    /// The first step. Refuses a path that begins with the document (`$.name`) or with all items (`[].name`), however
    /// it is spaced.
    fn first(&mut self) -> Result<PathToken, PathError> {
        let begin = self.at;
        if self.peek() == Some('.') {
            self.bump();
            self.blanks();
        }
        let start = self.at;
        let in_brackets = self.peek() == Some('[');
        if self.rest().starts_with("$..") {
            self.doubt_of(begin, DEPTH, A_NAME)?;
        }
        let token = if in_brackets { self.bracket()? } else { self.name()? };
        let unquoted = self.text.get(start..self.at).unwrap_or_default();
        let (why, instead, read) = match token {
            PathToken::Any if in_brackets && !self.of_document => {
                let why = "a path begins inside each item, without `[]`";
                (why, "name a member", "every element")
            }
            PathToken::Name(_) if unquoted.trim_end_matches(BLANK) == "$" => {
                let instead = r#"name a member (one called `$` is `["$"]`)"#;
                ("a path begins without `$`", instead, A_NAME)
            }
            token => return Ok(token),
        };
        let message = match intended(self.rest()) {
            "" => format!("{why}; {instead}"),
            long if long.chars().count() > REPEATED => format!("{why}; leave it out"),
            intended => format!("{why}; write `{intended}`"),
        };
        self.doubt_of(begin, message, read)?;
        Ok(token)
    }

    /// A name up to the next `.` or `[`.
    fn name(&mut self) -> Result<PathToken, PathError> {
        self.blanks();
        let start = self.at;
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let plain = self.rest().bytes().take_while(is_plain).count();
        self.at += plain;
        let mut name = self.text.get(start..self.at).unwrap_or_default().to_owned();
        let mut star = None;
        loop {
            match self.peek() {
                None | Some('.' | '[') => break,
                Some('{') if self.projects => break,
                Some(']') => return self.error("`]` in a name is written `\\]`"),
                Some('"') => return self.error("`\"` in a name is written `\\\"`"),
                Some('\\') => name.push(self.escaped()?),
                Some(char) => {
                    match char {
                        '{' => self.doubt(self.at, PROJECTION)?,
                        '}' => self.doubt(self.at, "write `}` in a name as `[\"}\"]`")?,
                        '|' => self.doubt(self.at, PIPE)?,
                        '*' => star = star.or(Some(self.at)),
                        _ => {}
                    }
                    name.push(char);
                    self.bump();
                }
            }
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        let trimmed = raw.trim_end_matches(BLANK);
        name.truncate(name.trim_end_matches(BLANK).len());
        match trimmed {
            "" => {
                self.at = start;
                match self.peek() {
                    Some('[') => {
                        return self.error("`[` follows a name directly; leave out the `.`");
                    }
                    Some('{') => return self.error(PROJECTION_HERE),
                    Some('.') => return self.error(DEPTH),
                    _ => {}
                }
                return self.error(r#"expected a name here (an empty one is written `[""]`)"#);
            }
            "*" => return Ok(PathToken::Any),
            _ => {}
        }
        if trimmed == "**" {
            self.doubt(start, DEPTH)?;
        } else if let Some(at) = star {
            let message = "`*` is every member, as a whole name; write it in a name as `\\*`";
            self.doubt(at, message)?;
        }
        if trimmed.ends_with('?') && self.rest().starts_with('.') {
            let message = "`?` is not needed, because a value that is absent is left out; write `.` \
                 (a name that ends with it is `[\"name?\"]`)";
            self.doubt(start + trimmed.len() - 1, message)?;
        }
        Ok(PathToken::Name(name.into()))
    }

    /// `\.` and other characters after a backslash.
    pub(super) fn escaped(&mut self) -> Result<char, PathError> {
        self.bump();
        let Some(char @ ('.' | '[' | ']' | '\\' | '"' | '*')) = self.peek() else {
            return self.error("after `\\` comes `.`, `[`, `]`, `\\`, `\"` or `*`");
        };
        self.bump();
        Ok(char)
    }

    /// `[]`, `[*]`, `[12]` or `["name"]`.
    fn bracket(&mut self) -> Result<PathToken, PathError> {
        let begin = self.at;
        self.bump();
        self.blanks();
        let token = match self.peek() {
            Some(']') => PathToken::Any,
            Some('*') => {
                self.bump();
                PathToken::Any
            }
            Some('"') => self.quoted()?,
            Some('0'..='9') => self.index()?,
            Some('?') => return self.name_in_brackets(begin, TESTS),
            Some('(') => return self.name_in_brackets(begin, EXPRESSIONS),
            Some(':') => return self.name_in_brackets(begin, SLICES),
            Some('-') => {
                return self.error(
                    "an index counts from the start; write `[0]`, or `[]` for every element",
                );
            }
            Some('\'') => {
                return self.error("a name in brackets has double quotes; write `[\"name\"]`");
            }
            _ => return self.error(r#"expected an index, `*`, `"name"` or `]` here"#),
        };
        self.blanks();
        match self.peek() {
            Some(']') => {}
            Some(':') => return self.name_in_brackets(begin, SLICES),
            Some(',') => return self.error("one index at a time; write a path for each"),
            _ => return self.error("expected `]` here"),
        }
        self.bump();
        Ok(token)
    }

    /// Refuses the form in the brackets that begin at `begin`, or reads it as a name, up to the bracket that closes them.
    fn name_in_brackets(
        &mut self,
        begin: usize,
        message: &'static str,
    ) -> Result<PathToken, PathError> {
        self.doubt(self.at, message)?;
        let text = self.text.get(begin..).unwrap_or_default();
        let mut depth = 0_usize;
        let end = text.char_indices().find_map(|(at, char)| {
            match char {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0).then_some(at + 1)
        });
        let Some(end) = end else {
            self.at = self.text.len();
            return self.error("expected `]` here");
        };
        self.at = begin + end;
        Ok(PathToken::Name(text.get(..end).unwrap_or_default().into()))
    }

    fn index(&mut self) -> Result<PathToken, PathError> {
        let start = self.at;
        while matches!(self.peek(), Some('0'..='9')) {
            self.bump();
        }
        let token = PathToken::Name(self.text.get(start..self.at).unwrap_or_default().into());
        if token.index().is_none() {
            self.at = start;
            return self.error("an array index has no leading zero and at most 20 digits");
        }
        Ok(token)
    }

    fn quoted(&mut self) -> Result<PathToken, PathError> {
        Ok(PathToken::Name(self.quoted_text()?.into()))
    }

    pub(super) fn quoted_text(&mut self) -> Result<String, PathError> {
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
        Ok(name)
    }

    /// Skips blanks around names.
    pub(super) fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(BLANK).len();
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// Refuses a doubtful form, or records that it is read as part of a name.
    fn doubt(&mut self, at: usize, message: impl Into<Cow<'static, str>>) -> Result<(), PathError> {
        self.doubt_of(at, message, A_NAME)
    }

    /// Refuses a doubtful form, or records it and its interpretation.
    fn doubt_of(
        &mut self,
        at: usize,
        message: impl Into<Cow<'static, str>>,
        read: &str,
    ) -> Result<(), PathError> {
        let message = message.into();
        match &mut self.reading {
            DotSyntax::Strict => Err(PathError { at, message }),
            DotSyntax::Foreign(doubt) => {
                let message = format!("{message} (it is read as {read} here)").into();
                doubt.get_or_insert(PathError { at, message });
                Ok(())
            }
        }
    }

    pub(super) fn error<T>(&self, message: &'static str) -> Result<T, PathError> {
        Err(PathError { at: self.at, message: message.into() })
    }
}

/// The rest of a path without the forms that no path begins with.
fn intended(rest: &str) -> &str {
    let mut intended = rest.trim_matches(BLANK);
    loop {
        let shorter = match intended.strip_prefix('[') {
            None => intended.strip_prefix(['$', '.']),
            Some(inner) => {
                let inner = inner.trim_start_matches(BLANK);
                let inner = inner.strip_prefix('*').unwrap_or(inner);
                inner.trim_start_matches(BLANK).strip_prefix(']')
            }
        };
        match shorter {
            Some(shorter) => intended = shorter.trim_start_matches(BLANK),
            None => return intended,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::path::{Path, PathToken};

    /// Each refused form, the character at which it is refused, and the advice in the error.
    const REFUSED: [(&str, usize, &str); 52] = [
        ("$", 0, r#"name a member (one called `$` is `["$"]`)"#),
        ("$.name", 0, "write `name`"),
        ("$[0].name", 0, "write `[0].name`"),
        ("$[*].name", 0, "write `name`"),
        ("$..name", 0, "cannot search"),
        ("..name", 1, "cannot search"),
        ("a..name", 2, "cannot search"),
        ("a[]..name", 4, "cannot search"),
        ("**.name", 0, "cannot search"),
        ("a.**.name", 2, "cannot search"),
        ("a. .b", 3, "cannot search"),
        ("a.", 2, "expected a name"),
        ("[].name", 0, "write `name`"),
        (".[].name", 0, "write `name`"),
        ("[*].name", 0, "write `name`"),
        ("[]", 0, "name a member"),
        ("[ ].name", 0, "write `name`"),
        ("[ * ].name", 0, "write `name`"),
        (" . [].name", 1, "write `name`"),
        ("$ .name", 0, "write `name`"),
        ("$ [0]", 0, "write `[0]`"),
        (" $", 1, "name a member"),
        (".$.name", 0, "write `name`"),
        (". $ . [ * ] . name ", 0, "write `name`"),
        ("[ ]", 0, "name a member"),
        ("$.[ ] [ 0 ].x", 0, "write `[ 0 ].x`"),
        ("deps[]?.name", 6, "leave out the `?`"),
        ("deps[0]?", 7, "leave out the `?`"),
        ("deps.[].name", 5, "leave out the `.`"),
        ("deps[].{name,req}", 7, "only `select` in a native spec"),
        ("deps[]{name,req}", 6, "only `select` in a native spec"),
        ("owner{login}", 5, "a path for each member"),
        ("{name", 0, r#"`["{"]`"#),
        ("name}", 4, r#"`["}"]`"#),
        ("a[0]}", 4, "expected `.` or `[`"),
        ("name|length", 4, r#"`["|"]`"#),
        ("a[] | length", 4, "no pipes"),
        ("a[?x==1]", 2, "write `[]`"),
        ("[?x==1].name", 1, "write `[]`"),
        ("a[(@.length-1)]", 2, "write an index"),
        ("a?.b", 1, "write `.`"),
        ("a.b?.c", 3, "write `.`"),
        ("na*me", 2, r"`\*`"),
        ("*name.x", 0, r"`\*`"),
        ("a.x**", 3, r"`\*`"),
        ("a[0:3]", 3, "no slices"),
        ("a[:3]", 2, "no slices"),
        ("a[1:]", 3, "no slices"),
        ("a[-1]", 2, "`[0]`"),
        ("a[0,1]", 3, "a path for each"),
        ("a['b']", 2, "double quotes"),
        (" ", 1, "expected a name"),
    ];

    #[test]
    fn invalid_paths_are_refused_with_a_remedy() {
        for (text, at, remedy) in REFUSED {
            let error = Path::parse(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {}", error.message);
            assert!(error.message.contains(remedy), "{text}: {}", error.message);
        }
    }

    #[test]
    fn a_remedy_is_a_path() {
        for (text, ..) in REFUSED {
            let error = Path::parse(text).unwrap_err();
            let Some((_, rest)) = error.message.split_once("; write `") else { continue };
            let (remedy, _) = rest.split_once('`').unwrap();
            if !["|", "}", ".", "[]"].contains(&remedy) {
                Path::parse(remedy).unwrap();
            }
        }
        let long = format!("$.{}", "x".repeat(100));
        assert!(Path::parse(&long).unwrap_err().message.ends_with("leave it out"));
    }

    #[test]
    fn foreign_manifests_have_them_in_names() {
        let name = |text: &str| {
            let (path, doubt) = Path::parse_foreign(text).unwrap();
            let names = path.0.iter().map(|token| match token {
                PathToken::Any => "<any>".to_owned(),
                PathToken::Name(name) => name.to_string(),
            });
            (names.collect::<Vec<_>>().join(" "), doubt.map(|doubt| doubt.at))
        };
        for (text, tokens, doubt) in [
            ("$.name", "$ name", Some(0)),
            ("[].name", "<any> name", Some(0)),
            ("deps[].{name", "deps <any> {name", Some(7)),
            ("a|b}", "a|b}", Some(1)),
            ("na*me", "na*me", Some(2)),
            ("a.**", "a **", Some(2)),
            ("a?.b", "a? b", Some(1)),
            ("a. b", "a b", None),
            (" a [] . b ", "a <any> b", None),
            (" /a", "a", None),
            ("a . {b ", "a {b", Some(4)),
            (".$.name", "$ name", Some(0)),
            (r#"["$"].name"#, "$ name", None),
            ("owner.login", "owner login", None),
            ("/a/{b}", "a {b}", None),
            ("*.id", "<any> id", None),
            ("t[?(@.x)]", "t [?(@.x)]", Some(2)),
            ("t[?(@.a[0]=='b')].id", "t [?(@.a[0]=='b')] id", Some(2)),
            ("[(x)]", "[(x)]", Some(1)),
            ("a[1:2]", "a [1:2]", Some(3)),
            ("a[:3].b", "a [:3] b", Some(2)),
        ] {
            assert_eq!(name(text), (tokens.to_owned(), doubt), "{text}");
        }
        let doubt = |text| Path::parse_foreign(text).unwrap().1.unwrap().message;
        assert!(doubt("$.name").ends_with("(it is read as a name here)"));
        assert!(doubt("[].name").ends_with("(it is read as every element here)"));
        // Invalid paths are also invalid in this syntax.
        for text in ["a[?x", "a[0:3", "a[(b[]", "a[", "", "a[]{b}", "a[-1]"] {
            assert!(Path::parse_foreign(text).is_err(), "{text}");
        }
    }
}
