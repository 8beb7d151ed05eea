//! Patterns of paths: `/repos/*/issues`, `/files/**`.
//!
//! Servers read paths in different ways: some decode `%2f` or resolve `..`, others do not. So a path has several forms
//! ([`RequestPath`]), and a route that is chosen by one of them must be chosen by all.

use std::collections::BTreeSet;

/// The pattern of a path.
///
/// A segment is a text with at most one `*`, which stands for any characters of that segment. `**` as the last segment
/// stands for any number of segments.
///
/// Templates and regular expressions of other gateways, such as `/users/{id}`, `/users/:id` and `/users/(.*)`, would be
/// texts that no path has. So their characters are refused. A `\` before one makes it a character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    segments: Vec<SegmentPattern>,
    /// Whether more segments may follow.
    is_prefix: bool,
}

/// The pattern of one segment: what it begins and ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SegmentPattern {
    Exact(String),
    Around { start: String, end: String },
}

/// The characters of templates and regular expressions, none of which is usual in a path.
const FOREIGN: [char; 13] = ['{', '}', '(', ')', '[', ']', '^', '$', '?', '<', '>', '|', '\\'];

/// The way to write a pattern, for errors.
const REMEDY: &str = "write `*` for one segment, `**` at the end for any number";

impl PathPattern {
    /// Parses a pattern.
    ///
    /// ```
    /// use tamis_mcp::gateway_yaml::PathPattern;
    ///
    /// let pattern = PathPattern::parse("/repos/*/issues")?;
    /// assert!(pattern.matches("/repos/tamis/issues?page=2"));
    /// assert!(pattern.matches("//repos/%74amis/./issues"));
    /// assert!(!pattern.matches("/repos/a/b/issues"));
    /// assert!(PathPattern::parse("/files/**")?.matches("/files/a/b"));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// A text that is not a pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!("expected a path that begins with `/`, not `{text}`"));
        };
        if text.contains(['#', '%']) {
            return Err(format!(
                "expected a path without query and percent-encoding, not `{text}`"
            ));
        }
        let mut texts: Vec<&str> = rest.split('/').collect();
        let is_prefix = texts.last() == Some(&"**");
        if is_prefix {
            texts.pop();
        }
        let segments = texts.into_iter().map(SegmentPattern::parse).collect::<Result<_, _>>()?;
        Ok(Self { segments, is_prefix })
    }

    /// Returns whether every path that matches `other` matches. Only patterns that cover the text of `other` are found.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let segments = other.segments.iter().map(|segment| match segment {
            SegmentPattern::Exact(text) => text.clone(),
            SegmentPattern::Around { start, end } => format!("{start}*{end}"),
        });
        let rest = other.is_prefix.then(|| "**".to_owned());
        self.matches_form(&segments.chain(rest).collect::<Vec<_>>())
    }

    /// Returns whether a path matches in its normal form: percent-decoded, and without empty and dot segments. Its query is
    /// not compared.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.matches_form(&normal(without_query(path)))
    }

    pub(super) fn matches_form(&self, form: &[String]) -> bool {
        let mut segments = form.iter();
        let all = self
            .segments
            .iter()
            .all(|pattern| segments.next().is_some_and(|segment| pattern.matches(segment)));
        all && (self.is_prefix || segments.next().is_none())
    }
}

/// The path of a request, as different servers may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath {
    forms: BTreeSet<Vec<String>>,
}

impl RequestPath {
    /// Reads a path, with or without a query.
    #[must_use]
    pub fn new(path: &str) -> Self {
        let path = without_query(path);
        let written = path.strip_prefix('/').unwrap_or(path).split('/').map(decoded).collect();
        // Some servers ignore what follows `;` in a segment.
        let plain: Vec<&str> =
            path.split('/').map(|part| part.split(';').next().unwrap_or_default()).collect();
        let forms = [written, normal(path), normal(&plain.join("/")), normal(&decoded(path))];
        Self { forms: forms.into() }
    }

    /// Returns the segments of each form.
    pub(super) fn forms(&self) -> impl Iterator<Item = &[String]> {
        self.forms.iter().map(Vec::as_slice)
    }
}

impl SegmentPattern {
    fn parse(text: &str) -> Result<Self, String> {
        if matches!(text, ".*" | ".+") {
            return Err(format!("expected a path, not the regular expression `{text}`; {REMEDY}"));
        }
        if text.starts_with(':') {
            return Err(format!(
                "`{text}` is a parameter in other gateways; {REMEDY}, or `\\:` for the character"
            ));
        }
        // The text, in two parts if there was a `*`.
        let mut start = None;
        let mut part = String::new();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some(char) if char == ':' || FOREIGN.contains(&char) => part.push(char),
                    _ => {
                        return Err(format!(
                            "expected one of `{}:` after `\\`, not `{text}`; {REMEDY}",
                            FOREIGN.iter().collect::<String>()
                        ));
                    }
                },
                '*' if start.is_some() => {
                    return Err(format!(
                        "expected at most one `*` in a segment, and `**` only at the end, not `{text}`"
                    ));
                }
                '*' => start = Some(std::mem::take(&mut part)),
                char if FOREIGN.contains(&char) => {
                    return Err(format!(
                        "`{char}` in `{text}` is part of a template, a regular expression or a query; {REMEDY}, \
                         or `\\{char}` for the character"
                    ));
                }
                char => part.push(char),
            }
        }
        Ok(match start {
            None => Self::Exact(part),
            Some(start) => Self::Around { start, end: part },
        })
    }

    fn matches(&self, segment: &str) -> bool {
        match self {
            Self::Exact(text) => text == segment,
            Self::Around { start, end } => {
                // The two parts must not overlap.
                segment
                    .strip_prefix(start.as_str())
                    .is_some_and(|rest| rest.ends_with(end.as_str()))
            }
        }
    }
}

fn without_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default()
}

/// Returns the segments of a path: percent-decoded once, without empty and dot segments. A trailing slash is one empty
/// segment.
fn normal(path: &str) -> Vec<String> {
    let decoded = decoded(path).replace('\\', "/");
    let mut segments: Vec<String> = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            text => segments.push(text.to_owned()),
        }
    }
    let ends_open = ["/", "/.", "/.."].iter().any(|end| decoded.ends_with(end));
    if ends_open || segments.is_empty() {
        segments.push(String::new());
    }
    segments
}

/// Decodes `%XX`. Bytes that are not UTF-8 become U+FFFD, which no pattern has.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{PathPattern, RequestPath};

    #[test]
    fn paths_match_in_their_normal_form() {
        for (pattern, path, expected) in [
            ("/", "/", true),
            ("/", "", true),
            ("/a", "/a", true),
            ("/a", "/a/", false),
            ("/a/", "/a/", true),
            ("/a", "/b/../a?x=/b", true),
            ("/a", "/%2e%2e/%61", true),
            ("/a", "/A", false),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/", true),
            ("/a/*", "/a", false),
            ("/a/*.json", "/a/x.json", true),
            ("/a/v*1", "/a/v1", true),
            ("/a/v1*1", "/a/v1", false),
            ("/a/**", "/a", true),
            ("/a/**", "/a/b/c", true),
            ("/a/**", "/ab", false),
            ("/**", "/anything", true),
            ("/a/b", "/a%2fb", true),
            ("/a/b", "/a\\b", true),
            ("/a/\\$metadata", "/a/$metadata", true),
            ("/a/\\:b/c:d", "/a/:b/c:d", true),
            ("/a/\\{b\\}", "/a/%7Bb%7D", true),
            ("/a/f\\(*\\)", "/a/f(1)", true),
            ("/.well-known/*.json", "/.well-known/a.json", true),
        ] {
            assert_eq!(
                PathPattern::parse(pattern).unwrap().matches(path),
                expected,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn paths_are_read_as_servers_may_read_them() {
        for (path, forms) in [
            ("/a/b?x=/../c", &["a/b"][..]),
            ("/%61", &["a"]),
            ("/", &[""]),
            ("/users/..%2fhealth", &["health", "users/../health"]),
            ("/users/x%5c..%5c..%5chealth", &["health", "users/x\\..\\..\\health"]),
            ("/public/..;/users", &["public/..;/users", "users"]),
            ("/users;x=1/1", &["users/1", "users;x=1/1"]),
            ("//a", &["/a", "a"]),
            ("/%252e%252e/a", &["%2e%2e/a", "a"]),
        ] {
            let read = RequestPath::new(path);
            let read: Vec<String> = read.forms().map(|form| form.join("/")).collect();
            let mut sorted = read.clone();
            sorted.sort();
            assert_eq!(sorted, forms, "{path}");
        }
    }

    #[test]
    fn wrong_patterns() {
        for text in ["", "a", "/a?b", "/**/a", "/a*b*c", "/%61"] {
            assert!(PathPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn patterns_of_other_gateways_are_refused() {
        for text in [
            "/users/{id}",
            "/users/{id=*}/x",
            "/{path=**}",
            "/users/{id:[0-9]+}",
            "/users/:id",
            "/users/:id(\\d+)",
            "/users/(.*)",
            "/users/.*",
            "/users/.+",
            "/users/\\d+",
            "/users/[0-9]*",
            "/users$",
            "/^users",
            "/users/?",
            "/users/<int:id>",
            "/users|/items",
            "/users/x\\",
        ] {
            let message = PathPattern::parse(text).unwrap_err();
            assert!(message.contains("write `*` for one segment"), "{text}: {message}");
        }
    }

    #[test]
    fn patterns_cover_others() {
        for (pattern, other, expected) in [
            ("/a/**", "/a/**", true),
            ("/a/**", "/a/*/c", true),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/\\{b\\}", true),
            ("/a/b", "/a/*", false),
        ] {
            let [pattern, other] = [pattern, other].map(|text| PathPattern::parse(text).unwrap());
            assert_eq!(pattern.covers(&other), expected, "{pattern:?} {other:?}");
        }
    }
}
