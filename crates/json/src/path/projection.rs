//! The parser of select sources: a dot path that may end with a projection, as in `labels[]{name,state{reason}}`.
//!
//! A projection is a tree of fields. It is kept as a list in which each field follows the one whose braces it is in, so
//! that neither the parser nor its callers recurse.

use std::collections::HashSet;

use super::dots::{DotPathParser, PIPE};
use super::{Path, PathError};

/// A parsed select source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedPath {
    /// The path to the container of the fields, or to the value.
    pub path: Path,
    /// The positions of the steps of the path that are elements of an array, and not members of an object as well: `[]`.
    pub brackets: Vec<usize>,
    /// The fields of the projection, each after the field that it is in. Empty without a projection.
    pub fields: Vec<ProjectedField>,
    /// The number of bytes before the projection.
    pub path_len: usize,
}

impl SelectedPath {
    /// Returns a source without a projection.
    pub fn plain(path: Path, text: &str) -> Self {
        Self { path, brackets: Vec::new(), fields: Vec::new(), path_len: text.len() }
    }
}

/// One field of a projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectedField {
    /// The position of the field in whose braces this one is. `None`: the braces after the path.
    pub parent: Option<usize>,
    /// The name of the member.
    pub name: Box<str>,
    /// The key in the output.
    pub key: Box<str>,
    /// How many times `[]` follows the name.
    pub levels: usize,
    /// Whether braces follow.
    pub is_object: bool,
}

/// Braces that are being parsed.
struct OpenBraces {
    /// The field before the braces.
    field: Option<usize>,
    names: HashSet<Box<str>>,
    keys: HashSet<Box<str>>,
}

impl OpenBraces {
    fn after(field: Option<usize>) -> Self {
        Self { field, names: HashSet::new(), keys: HashSet::new() }
    }
}

impl DotPathParser<'_> {
    /// Parses the braces that begin here, up to the end of the text.
    pub(super) fn projection(&mut self) -> Result<Vec<ProjectedField>, PathError> {
        self.bump();
        let mut fields: Vec<ProjectedField> = Vec::new();
        let mut open = vec![OpenBraces::after(None)];
        while let Some(braces) = open.last_mut() {
            let field = self.field(braces)?;
            fields.push(field);
            if self.peek() == Some('{') {
                self.bump();
                let last = fields.len() - 1;
                if let Some(field) = fields.last_mut() {
                    field.is_object = true;
                }
                open.push(OpenBraces::after(Some(last)));
                continue;
            }
            self.end_braces(&mut open)?;
        }
        match self.peek() {
            None => Ok(fields),
            Some(_) => self.error("a source ends with its projection; leave out the rest"),
        }
    }

    /// Reads what may follow a field: a comma, or the ends of braces.
    fn end_braces(&mut self, open: &mut Vec<OpenBraces>) -> Result<(), PathError> {
        loop {
            self.blanks();
            match self.peek() {
                Some('}') if !open.is_empty() => {
                    self.bump();
                    open.pop();
                }
                _ if open.is_empty() => return Ok(()),
                Some(',') => {
                    self.bump();
                    return Ok(());
                }
                Some('.') => {
                    return self.error(
                        "a field of a projection is one member; write a nested one as `owner{login}`, and a `.` in a \
                         name as `[\"a.b\"]`",
                    );
                }
                None => return self.error("expected `}` here"),
                Some(_) => return self.error("expected `,` or `}` here"),
            }
        }
    }

    /// `NAME` or `KEY=NAME`, followed by any number of `[]`.
    fn field(&mut self, braces: &mut OpenBraces) -> Result<ProjectedField, PathError> {
        self.blanks();
        let start = self.at;
        let first = self.field_name()?;
        self.blanks();
        let is_renamed = self.peek() == Some('=');
        let (key, name, name_start) = if is_renamed {
            self.bump();
            self.blanks();
            let name_start = self.at;
            (first, self.field_name()?, name_start)
        } else {
            (first.clone(), first, start)
        };
        self.blanks();
        if self.peek() == Some('=') {
            return self.error("a field has one key; write `=` in a name as `[\"=\"]`");
        }
        let levels = self.levels()?;
        let twice = |at, message: &'static str| Err(PathError { at, message: message.into() });
        if !braces.names.insert(name.clone()) {
            return twice(name_start, "this member is already in these braces; name it once");
        }
        if !braces.keys.insert(key.clone()) {
            return twice(
                start,
                "this output key is already in these braces; rename one: `other=name`",
            );
        }
        Ok(ProjectedField { parent: braces.field, name, key, levels, is_object: false })
    }

    /// Any number of `[]`.
    fn levels(&mut self) -> Result<usize, PathError> {
        let mut levels = 0;
        loop {
            self.blanks();
            if self.peek() != Some('[') {
                return Ok(levels);
            }
            self.bump();
            self.blanks();
            match self.peek() {
                Some(']') => self.bump(),
                Some('0'..='9') => {
                    return self.error(
                        "a projection keeps no single elements; write `[]` for all of them",
                    );
                }
                _ => return self.error("expected `]` here; in braces only `[]` follows a name"),
            }
            levels += 1;
        }
    }

    /// A name or a key: quoted in brackets, or up to the next special character.
    fn field_name(&mut self) -> Result<Box<str>, PathError> {
        if self.peek() == Some('[') {
            return self.bracketed_name();
        }
        let mut name = String::new();
        loop {
            match self.peek() {
                None | Some(',' | '{' | '}' | '=' | '[' | '.') => break,
                Some('\\') => name.push(self.escaped()?),
                Some(']') => return self.error("`]` in a name is written `\\]`"),
                Some('"') => return self.error("`\"` in a name is written `\\\"`"),
                Some('|') => return self.error(PIPE),
                Some('*') => {
                    return self
                        .error("a projection names each member; write `*` in a name as `\\*`");
                }
                Some(char) => {
                    name.push(char);
                    self.bump();
                }
            }
        }
        name.truncate(name.trim_end_matches(super::dots::BLANK).len());
        if name.is_empty() {
            return self.error(r#"expected the name of a member here, such as `{name,color}`"#);
        }
        Ok(name.into())
    }

    /// `["name"]`
    fn bracketed_name(&mut self) -> Result<Box<str>, PathError> {
        self.bump();
        self.blanks();
        if self.peek() != Some('"') {
            return self.error(r#"expected the name of a member here, such as `["a.b"]`"#);
        }
        let name = self.quoted_text()?;
        self.blanks();
        if self.peek() != Some(']') {
            return self.error("expected `]` here");
        }
        self.bump();
        Ok(name.into())
    }
}

#[cfg(test)]
mod tests {
    use crate::path::Path;

    /// Returns the fields as `depth:key=name` with a `[]` for each level.
    fn fields(text: &str) -> String {
        let parsed = Path::parse_selected(text).unwrap();
        let depth = |mut parent: Option<usize>| {
            let mut depth = 0;
            while let Some(field) = parent {
                parent = parsed.fields[field].parent;
                depth += 1;
            }
            depth
        };
        let list = parsed.fields.iter().map(|field| {
            let braces = if field.is_object { "{" } else { "" };
            let levels = "[]".repeat(field.levels);
            format!("{}:{}={}{levels}{braces}", depth(field.parent), field.key, field.name)
        });
        format!("{} {}", parsed.path, list.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn sources_with_projections() {
        for (text, expected) in [
            ("owner", "owner "),
            ("owner{login}", "owner 0:login=login"),
            ("labels[]{name,color}", "labels[] 0:name=name 0:color=color"),
            (" a . b { c , d = e } ", "a.b 0:c=c 0:d=e"),
            ("a{b{c,d},e}", "a 0:b=b{ 1:c=c 1:d=d 0:e=e"),
            ("a{b{c{d}}}", "a 0:b=b{ 1:c=c{ 2:d=d"),
            ("a{b[],c[][]{d}}", "a 0:b=b[] 0:c=c[][]{ 1:d=d"),
            (r#"a{["x.y"],["k,1"]=["{"]}"#, "a 0:x.y=x.y 0:k,1={"),
            (r"a{x\.y}", "a 0:x.y=x.y"),
            ("*{id}", "* 0:id=id"),
            (r#"["{"]{a}"#, r#"["{"] 0:a=a"#),
            ("/a/b", "a.b "),
        ] {
            assert_eq!(fields(text), expected, "{text}");
        }
    }

    #[test]
    fn errors_point_at_the_character() {
        for (text, at, remedy) in [
            ("a{", 2, "name of a member"),
            ("a{}", 2, "name of a member"),
            ("a{b,}", 4, "name of a member"),
            ("a{,b}", 2, "name of a member"),
            ("a{b", 3, "`}`"),
            ("a{b{c}", 6, "`}`"),
            ("a{b}}", 4, "leave out the rest"),
            ("a{b}.c", 4, "leave out the rest"),
            ("a{b}[]", 4, "leave out the rest"),
            ("a{b.c}", 3, "`owner{login}`"),
            ("a{b[0]}", 4, "write `[]`"),
            ("a{b[*]}", 4, "only `[]`"),
            ("a{*}", 2, r"`\*`"),
            ("a{b|c}", 3, "no pipes"),
            ("a{=b}", 2, "name of a member"),
            ("a{k=}", 4, "name of a member"),
            ("a{k=b=c}", 5, r#"`["="]`"#),
            ("a{b,b}", 4, "name it once"),
            ("a{b,c=b}", 6, "name it once"),
            ("a{k=b,k=c}", 6, "rename one"),
            ("a{k=b,k}", 6, "rename one"),
            ("a{b[]{c,c}}", 8, "name it once"),
            ("a{b[]c}", 5, "`,` or `}`"),
            ("a{[b]}", 3, r#"`["a.b"]`"#),
            ("{a}", 0, r#"`["{"]`"#),
            ("a[].{b}", 4, "leave out the `.`"),
            ("a}", 1, r#"`["}"]`"#),
        ] {
            let error = Path::parse_selected(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {}", error.message);
            assert!(error.message.contains(remedy), "{text}: {}", error.message);
        }
    }

    #[test]
    fn deep_and_wide_projections_take_no_recursion() {
        let deep =
            format!("a{}x{}", "{x".repeat(50_000), "}".repeat(50_000)).replacen("{xx", "{x", 1);
        assert_eq!(Path::parse_selected(&deep).unwrap().fields.len(), 50_000);
        let wide: Vec<_> = (0..50_000).map(|number| format!("n{number}")).collect();
        assert_eq!(
            Path::parse_selected(&format!("a{{{}}}", wide.join(","))).unwrap().fields.len(),
            50_000
        );
    }
}
