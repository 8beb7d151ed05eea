//! Documents as trees, which attacks change. Keys and scalars keep their spelling.
//!
//! Trees are small: [`Json::parse`] shortens a sample, and bounds its depth. Functions may therefore recurse.

use tamis_json::key::{quote, unescape};
use tamis_json::path::PathToken;
use tamis_json::tree::children;

use tamis::spec::RawJson;

/// The deepest container of a sample that is kept.
const MAX_DEPTH: usize = 24;
/// The number of elements that are kept of an array of a sample.
const MAX_ELEMENTS: usize = 3;
/// The number of members that are kept of an object of a sample.
const MAX_MEMBERS: usize = 64;
/// The longest scalar that is kept of a sample, in bytes.
const MAX_SCALAR: usize = 200;
/// The largest index for which an array is filled up.
const MAX_INDEX: u64 = 64;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Json {
    /// The text of a scalar.
    Scalar(String),
    Array(Vec<Self>),
    /// Keys as they are spelled, without quotes, and values.
    Object(Vec<(String, Self)>),
}

impl Json {
    /// Parses a sample, and shortens it to what an attack needs. `None` if it is not one JSON text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text: RawJson = text.parse().ok()?;
        Some(Self::shortened(text.as_str(), 0))
    }

    fn shortened(text: &str, depth: usize) -> Self {
        let below = |value| Self::shortened(value, depth + 1);
        match text.as_bytes().first() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => Self::null(),
            Some(b'{') => {
                let members = children(text).take(MAX_MEMBERS);
                Self::Object(members.map(|(key, value)| (key.to_owned(), below(value))).collect())
            }
            Some(b'[') => {
                let elements = children(text).take(MAX_ELEMENTS);
                Self::Array(elements.map(|(_, value)| below(value)).collect())
            }
            Some(b'"') if text.len() > MAX_SCALAR => Self::string("long text"),
            _ => Self::Scalar(text.to_owned()),
        }
    }

    pub(super) fn null() -> Self {
        Self::Scalar("null".to_owned())
    }

    /// Returns a harmless scalar.
    pub(super) fn one() -> Self {
        Self::Scalar("1".to_owned())
    }

    pub(super) fn object() -> Self {
        Self::Object(Vec::new())
    }

    /// Returns an object with one member.
    pub(super) fn member(name: &str, value: Self) -> Self {
        Self::Object(vec![(spelled(name), value)])
    }

    /// Returns a string with this text.
    pub(super) fn string(text: &str) -> Self {
        Self::Scalar(String::from_utf8_lossy(&quote(text)).into_owned())
    }

    /// Returns the text that a string has, if `text` is a string.
    pub(super) fn string_content(text: &str) -> Option<String> {
        let inside = text.strip_prefix('"')?.strip_suffix('"')?;
        String::from_utf8(unescape(inside.as_bytes())?).ok()
    }

    pub(super) fn is_container(&self) -> bool {
        !matches!(self, Self::Scalar(_))
    }

    /// Returns the number of members or elements.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Scalar(_) => 0,
            Self::Array(elements) => elements.len(),
            Self::Object(members) => members.len(),
        }
    }

    pub(super) fn child(&self, number: usize) -> Option<&Self> {
        match self {
            Self::Scalar(_) => None,
            Self::Array(elements) => elements.get(number),
            Self::Object(members) => members.get(number).map(|(_, value)| value),
        }
    }

    fn child_mut(&mut self, number: usize) -> Option<&mut Self> {
        match self {
            Self::Scalar(_) => None,
            Self::Array(elements) => elements.get_mut(number),
            Self::Object(members) => members.get_mut(number).map(|(_, value)| value),
        }
    }

    /// Returns the value at a location: the number of the child at each level.
    pub(super) fn at(&self, location: &[usize]) -> Option<&Self> {
        location.iter().try_fold(self, |value, number| value.child(*number))
    }

    pub(super) fn at_mut(&mut self, location: &[usize]) -> Option<&mut Self> {
        location.iter().try_fold(self, |value, number| value.child_mut(*number))
    }

    /// Removes a member or an element.
    pub(super) fn remove(&mut self, number: usize) {
        match self {
            Self::Array(elements) if number < elements.len() => {
                elements.remove(number);
            }
            Self::Object(members) if number < members.len() => {
                members.remove(number);
            }
            Self::Scalar(_) | Self::Array(_) | Self::Object(_) => {}
        }
    }

    /// Returns the position of the first member with this name.
    fn position(&self, name: &str) -> Option<usize> {
        let Self::Object(members) = self else { return None };
        members
            .iter()
            .position(|(key, _)| unescape(key.as_bytes()).as_deref() == Some(name.as_bytes()))
    }

    /// Sets the value at a path and returns its location. Containers on the way are created. A name in an array is read
    /// from its first element. A scalar does not replace a container.
    pub(super) fn set(&mut self, path: &[PathToken], value: Self) -> Option<Vec<usize>> {
        let mut location = Vec::new();
        let mut at = self;
        for token in path {
            loop {
                if !at.is_container() {
                    *at = Self::object();
                }
                let number = at.child_for(token)?;
                let is_way = matches!(at, Self::Array(_))
                    && token.index().is_none()
                    && *token != PathToken::Any;
                location.push(number);
                at = at.child_mut(number)?;
                if !is_way || location.len() > MAX_DEPTH * 2 {
                    break;
                }
            }
        }
        if value.is_container() || !at.is_container() || value.is_canary() {
            *at = value;
        }
        Some(location)
    }

    fn is_canary(&self) -> bool {
        matches!(self, Self::Scalar(text) if text.contains("canary"))
    }

    /// Returns the child that a step leads to, and creates it if it is not there.
    fn child_for(&mut self, token: &PathToken) -> Option<usize> {
        if matches!(self, Self::Object(members) if members.is_empty())
            && (token.index().is_some() || *token == PathToken::Any)
        {
            *self = Self::Array(Vec::new());
        }
        match self {
            Self::Array(elements) => {
                let number = token.index().unwrap_or(0);
                if number > MAX_INDEX {
                    return None;
                }
                let number = usize::try_from(number).ok()?;
                while elements.len() < number {
                    elements.push(Self::object());
                }
                if elements.len() == number {
                    elements.push(Self::null());
                }
                Some(number)
            }
            _ => {
                let name = match token {
                    PathToken::Name(name) => name,
                    PathToken::Any => "any",
                };
                if let Some(number) = self.position(name) {
                    return Some(number);
                }
                let Self::Object(members) = self else { return None };
                members.push((spelled(name), Self::null()));
                Some(members.len() - 1)
            }
        }
    }

    /// Writes the document on one line.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::Array(elements) => {
                out.push('[');
                for (number, element) in elements.iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (number, (key, value)) in members.iter().enumerate() {
                    out.push_str(if number > 0 { ",\"" } else { "\"" });
                    out.push_str(key);
                    out.push_str("\":");
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Returns a name as a key is spelled, without its quotes.
pub(super) fn spelled(name: &str) -> String {
    let quoted = String::from_utf8_lossy(&quote(name)).into_owned();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use tamis_json::path::Path;

    use super::Json;

    #[test]
    fn values_are_set_at_paths() {
        let mut document = Json::object();
        for (path, value) in
            [("/a/b", "1"), ("/a/c~1d", "2"), ("/list/1/x", "3"), ("/list/y", "4"), ("/a", "5")]
        {
            let path = Path::pointer(path).unwrap();
            assert!(document.set(&path.0, Json::Scalar(value.into())).is_some());
        }
        assert_eq!(document.text(), r#"{"a":{"b":1,"c/d":2},"list":[{"y":4},{"x":3}]}"#);
        let mut list = Json::object();
        let location = list.set(&Path::pointer("/0/id").unwrap().0, Json::one());
        assert_eq!((list.text().as_str(), location), (r#"[{"id":1}]"#, Some(vec![0, 0])));
    }

    #[test]
    fn samples_are_shortened() {
        let long = format!("[1,2,3,4,{{}}] {}", " ".repeat(9));
        assert_eq!(Json::parse(&long).unwrap().text(), "[1,2,3]");
        let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
        assert_eq!(Json::parse(&deep).unwrap().text().len(), 2 * 24 + 4);
        assert_eq!(Json::parse("{}{}"), None);
        let escaped = r#"{"\u0061":"\u0061"}"#;
        assert_eq!(Json::parse(escaped).unwrap().text(), escaped);
    }
}
