//! Finds the members and elements of a container in its text.
//!
//! The text is valid and minified, and is read once. Values inside a member are skipped. Nothing recurses.

use memchr::memchr2;

use crate::test_work::{WorkKind, count, words};

/// The start and end of a piece of text.
pub(super) type Span = (usize, usize);

/// Iterates over the members of an object or the elements of an array.
pub(super) struct Children<'a> {
    text: &'a [u8],
    at: usize,
    object: bool,
}

/// A member or an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    /// The key of a member without its quotes; empty for an element.
    pub(super) key: Span,
    pub(super) value: Span,
}

impl<'a> Children<'a> {
    /// Iterates over the container `text`. Spans are relative to its beginning. `None` for a scalar.
    pub(super) fn of(text: &'a [u8]) -> Option<Self> {
        let object = match text.first()? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        Some(Self { text, at: 1, object })
    }

    pub(super) fn is_object(&self) -> bool {
        self.object
    }
}

impl Iterator for Children<'_> {
    type Item = Child;

    fn next(&mut self) -> Option<Child> {
        if self.text.get(self.at) == Some(&b',') {
            self.at += 1;
        }
        if matches!(self.text.get(self.at)?, b'}' | b']') {
            return None;
        }
        let mut key = (self.at, self.at);
        if self.object {
            let end = end_of(self.text, self.at);
            key = (self.at + 1, end - 1);
            self.at = end + 1;
        }
        let value = (self.at, end_of(self.text, self.at));
        count(WorkKind::Tree, 1 + words(value.1.saturating_sub(key.0)));
        self.at = value.1;
        Some(Child { key, value })
    }
}

/// Returns the end of the value that begins at `at`.
fn end_of(text: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    let mut here = at;
    loop {
        match text.get(here) {
            Some(b'"') => here = end_of_string(text, here),
            Some(b'{' | b'[') => {
                depth += 1;
                here += 1;
            }
            Some(b'}' | b']') if depth > 0 => {
                depth -= 1;
                here += 1;
            }
            None | Some(b'}' | b']' | b',') if depth == 0 => return here,
            None => return text.len(),
            Some(_) => {
                here += 1;
                continue;
            }
        }
        if depth == 0 {
            return here;
        }
    }
}

/// Returns the end of the string whose opening quote is at `at`.
fn end_of_string(text: &[u8], at: usize) -> usize {
    let mut here = at + 1;
    while let Some(found) = memchr2(b'"', b'\\', text.get(here..).unwrap_or_default()) {
        here += found;
        if text.get(here) == Some(&b'"') {
            return here + 1;
        }
        here += 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::Children;

    fn children(text: &str) -> Vec<(&str, &str)> {
        let children = Children::of(text.as_bytes()).unwrap();
        children
            .map(|child| (&text[child.key.0..child.key.1], &text[child.value.0..child.value.1]))
            .collect()
    }

    #[test]
    fn members_and_elements() {
        assert_eq!(children("{}"), []);
        assert_eq!(children("[]"), []);
        assert_eq!(
            children(r#"[1,"a,]\"",[2,[3]],{"x":[4]},null,-1.5e3]"#).map_value(),
            ["1", r#""a,]\"""#, "[2,[3]]", r#"{"x":[4]}"#, "null", "-1.5e3"]
        );
        assert_eq!(
            children(r#"{"a":{"b":[]},"":"","\"}":true,"a":0}"#),
            [("a", r#"{"b":[]}"#), ("", r#""""#), (r#"\"}"#, "true"), ("a", "0")]
        );
        assert!(Children::of(b"12").is_none() && Children::of(b"").is_none());
    }

    trait Values<'a> {
        fn map_value(self) -> Vec<&'a str>;
    }

    impl<'a> Values<'a> for Vec<(&'a str, &'a str)> {
        fn map_value(self) -> Vec<&'a str> {
            self.into_iter().map(|(_, value)| value).collect()
        }
    }
}
