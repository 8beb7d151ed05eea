//! Paths as people write them: dot paths and JSON Pointers (RFC 6901), parsed into the same tokens.
//!
//! Paths do not depend on documents or rules. [`trie`] applies tokens to arrays and objects.

mod dots;
pub mod names;
pub mod projection;
pub mod trie;

use std::borrow::Cow;
use std::fmt;

use dots::{BLANK, DotPathParser};
use projection::SelectedPath;

use crate::excerpt::Excerpt;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathToken {
    /// The name of a member. A canonical decimal number is also the index of an element.
    Name(Box<str>),
    /// Every element or member.
    Any,
}

impl PathToken {
    /// Returns the length of the name in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Name(name) => name.len(),
            Self::Any => 0,
        }
    }

    /// Returns the index that this token is in an array: decimal digits without a leading zero.
    pub fn index(&self) -> Option<u64> {
        let Self::Name(name) = self else { return None };
        index(name)
    }
}

/// Returns the index that a name is in an array.
pub fn index(name: &str) -> Option<u64> {
    let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = digits && (name == "0" || !name.starts_with('0'));
    // A number that does not fit 64 bits is only the name of a member.
    if canonical { name.parse().ok() } else { None }
}

/// A parsed path. Prints as a dot path that parses to the same tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Path(pub Vec<PathToken>);

/// The reason why a text is not a path: a message, and the byte of the text that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    /// The byte of the text.
    pub at: usize,
    /// The reason.
    pub message: Cow<'static, str>,
}

impl PathError {
    /// Returns the error with its place and the refused text on one line.
    pub fn line(&self, what: &str, text: &str) -> String {
        Excerpt::new(text, self.at).line(what, &self.message)
    }

    /// Returns the text, and on a second line a caret under the refused character.
    pub fn excerpt(&self, text: &str) -> String {
        Excerpt::new(text, self.at).caret()
    }
}

impl Path {
    /// Parses a dot path, or a pointer if the text starts with `/`. Empty text is an error, and so is syntax of other
    /// path languages that cannot be meant here.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.trim_start_matches(BLANK).starts_with('/') {
            return Self::pointer(text);
        }
        DotPathParser::strict(text).parse().map(|(tokens, _)| Self(tokens))
    }

    /// Parses a select source: a path like that of [`parse`](Self::parse). A dot path may end with a projection.
    pub fn parse_selected(text: &str) -> Result<SelectedPath, PathError> {
        if text.trim_start_matches(BLANK).starts_with('/') {
            return Ok(SelectedPath::plain(Self::pointer(text)?, text));
        }
        let mut parser = DotPathParser::selected(text);
        let path = Self(parser.tokens()?);
        let path_len = parser.at;
        let fields = match parser.peek() {
            None => Vec::new(),
            Some(_) => parser.projection()?,
        };
        Ok(SelectedPath { path, brackets: parser.brackets, fields, path_len })
    }

    /// Parses a path that begins at the document: a JSON Pointer, also the empty one, or a dot path, which may begin
    /// with `[]`.
    pub fn of_document(text: &str) -> Result<Self, PathError> {
        if text.is_empty() || text.trim_start_matches(BLANK).starts_with('/') {
            return Self::pointer(text);
        }
        DotPathParser::of_document(text).parse().map(|(tokens, _)| Self(tokens))
    }

    /// Parses a path from another program's manifest, where only names, indices and wildcards have a meaning and
    /// everything else is part of a name. Also returns the first form that [`parse`](Self::parse) would have refused,
    /// and how it is read.
    pub fn parse_foreign(text: &str) -> Result<(Self, Option<PathError>), PathError> {
        if text.trim_start_matches(BLANK).starts_with('/') {
            return Self::pointer(text).map(|path| (path, None));
        }
        DotPathParser::foreign(text).parse().map(|(tokens, doubt)| (Self(tokens), doubt))
    }

    /// Parses a JSON Pointer; `""` is the whole document. Blanks before the first `/` are skipped, so that lists may
    /// have blanks after their commas.
    pub fn pointer(text: &str) -> Result<Self, PathError> {
        let mut tokens = Vec::new();
        if text.is_empty() {
            return Ok(Self(tokens));
        }
        let pointer = text.trim_start_matches(BLANK);
        if !pointer.starts_with('/') {
            return Err(PathError {
                at: 0,
                message: "a JSON Pointer starts with `/` (or is empty)".into(),
            });
        }
        let mut start = text.len() - pointer.len() + 1;
        for token in pointer.split('/').skip(1) {
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
                                message: "`~` must be `~0` (for `~`) or `~1` (for `/`)".into(),
                            });
                        }
                    },
                    _ => char,
                });
            }
            tokens.push(PathToken::Name(name.into()));
            start += token.len() + 1;
        }
        Ok(Self(tokens))
    }

    /// Returns the path as a JSON Pointer, without wildcards, which pointers do not have.
    pub fn to_pointer(&self) -> String {
        let mut pointer = String::new();
        for token in &self.0 {
            if let PathToken::Name(name) = token {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
        }
        pointer
    }

    /// Returns the default output key of a selected value: the last name of the path.
    pub fn last_name(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|token| match token {
            PathToken::Name(name) if token.index().is_none() => Some(&**name),
            _ => None,
        })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, token) in self.0.iter().enumerate() {
            match token {
                // `[]` at the start would be read as the items themselves.
                PathToken::Any if number == 0 => f.write_str("*")?,
                PathToken::Name(name)
                    if number > 0 && token.index().is_none() && !needs_quotes(name) =>
                {
                    write!(f, ".{token}")?;
                }
                token => write!(f, "{token}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for PathToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Name(name) = self else { return f.write_str("[]") };
        if self.index().is_some() {
            return write!(f, "[{name}]");
        }
        if needs_quotes(name) {
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

/// Whether a name, written without quotes, would be read as something else.
fn needs_quotes(name: &str) -> bool {
    name.is_empty()
        || name == "$"
        || name.ends_with('?')
        || name.starts_with(BLANK)
        || name.ends_with(BLANK)
        // `,` and `=` have no meaning in paths, but in the lists of the command line.
        || name.contains(['*', '/', '{', '}', '|', ',', '='])
}

#[cfg(test)]
mod tests {
    use super::{Path, PathToken};

    fn tokens(path: &Path) -> Vec<String> {
        path.0
            .iter()
            .map(|token| match token {
                PathToken::Any => "<any>".to_owned(),
                PathToken::Name(name) => name.to_string(),
            })
            .collect()
    }

    #[test]
    fn forms_of_a_path() {
        let cases: [(&str, &[&str]); 33] = [
            ("id", &["id"]),
            (" id ", &["id"]),
            ("\t", &["\t"]),
            (" owner . login [ 0 ] . x  ", &["owner", "login", "0", "x"]),
            (r#"[ "a b " ] .c"#, &["a b ", "c"]),
            ("a b", &["a b"]),
            (r#"["{name"].x"#, &["{name", "x"]),
            (r#"["a|b"]["}"]"#, &["a|b", "}"]),
            (r#"a["*b"]"#, &["a", "*b"]),
            ("$ref.$x.a$", &["$ref", "$x", "a$"]),
            (r#"["$"].x"#, &["$", "x"]),
            ("a.$", &["a", "$"]),
            ("(a).?b", &["(a)", "?b"]),
            (r#"["a?"].b"#, &["a?", "b"]),
            (" /a /b", &["a ", "b"]),
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
    fn errors_are_one_line_of_bearable_length() {
        let error = Path::parse("a..b").unwrap_err();
        let line = "select: a path cannot search at every depth (`..`, `**`); write its levels, with `*` for any member and `[]` for any \
             element (character 3 of `a..b`)";
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
        let index = |name: &str| PathToken::Name(name.into()).index();
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
