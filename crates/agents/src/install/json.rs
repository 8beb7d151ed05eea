//! A view of a JSON text: its values, and the place of each.
//!
//! This module must not depend on what is changed in a text.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use struson::reader::{JsonReader, JsonStreamReader, ReaderSettings};
use tamis::json::ValuePaths;

/// A value in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonNode<'a> {
    /// The whole text.
    text: &'a str,
    /// The first byte of the value.
    pub(crate) start: usize,
    /// The byte after the value.
    pub(crate) end: usize,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(crate) struct JsonMember<'a> {
    /// The name, without escapes.
    pub(crate) name: String,
    /// The first byte of the name.
    pub(crate) start: usize,
    pub(crate) value: JsonNode<'a>,
}

/// Why a text cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonFault {
    /// The text is not valid, for this reason.
    Invalid(String),
    /// The text has comments or trailing commas, and is valid without them.
    Comments,
    /// An object has two members of this name.
    Duplicate(String),
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(reason) => write!(f, "not valid JSON: {reason}"),
            Self::Comments => f.write_str("has comments or trailing commas"),
            Self::Duplicate(name) => write!(f, "has two members `{name}` in one object"),
        }
    }
}

/// Validates a text and returns its document. A byte order mark before it is skipped.
///
/// # Errors
/// The text is not one JSON document.
pub(crate) fn parse(text: &str) -> Result<JsonNode<'_>, JsonFault> {
    let found = ValuePaths::new([""]).and_then(|paths| paths.find(text.as_bytes()));
    let found = found.map_err(|error| {
        if is_valid_with_comments(text) {
            JsonFault::Comments
        } else {
            JsonFault::Invalid(error.to_string())
        }
    })?;
    let place = |offset: u64| usize::try_from(offset).unwrap_or(text.len());
    let span = found.first().map_or(0..0, |value| place(value.span.start)..place(value.span.end));
    Ok(JsonNode { text, start: span.start, end: span.end })
}

impl<'a> JsonNode<'a> {
    /// Returns the bytes of the value.
    pub(crate) fn raw(&self) -> &'a str {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn is_object(&self) -> bool {
        self.raw().starts_with('{')
    }

    pub(crate) fn is_array(&self) -> bool {
        self.raw().starts_with('[')
    }

    /// Returns the characters of a string.
    pub(crate) fn string(&self) -> Option<String> {
        serde_json::from_str(self.raw()).ok()
    }

    /// Returns the members of an object; none for other values.
    ///
    /// # Errors
    /// Two members have one name.
    pub(crate) fn members(&self) -> Result<Vec<JsonMember<'a>>, JsonFault> {
        if !self.is_object() {
            return Ok(Vec::new());
        }
        let mut reader = serde_json::Deserializer::from_str(self.raw());
        let values = reader.deserialize_map(Members).map_err(invalid)?;
        let mut members: Vec<JsonMember<'a>> = Vec::with_capacity(values.len());
        let mut names = std::collections::HashSet::new();
        let mut end = self.start + 1;
        for (name, value) in values {
            if !names.insert(name.clone()) {
                return Err(JsonFault::Duplicate(name));
            }
            let value = self.inner(value);
            let between = self.text.get(end..value.start).unwrap_or_default();
            let start = end + between.find('"').unwrap_or_default();
            end = value.end;
            members.push(JsonMember { name, start, value });
        }
        Ok(members)
    }

    /// Returns the elements of an array; none for other values.
    ///
    /// # Errors
    /// The value is not valid, which [`parse`] has excluded.
    pub(crate) fn elements(&self) -> Result<Vec<Self>, JsonFault> {
        if !self.is_array() {
            return Ok(Vec::new());
        }
        let values: Vec<&RawValue> = serde_json::from_str(self.raw()).map_err(invalid)?;
        Ok(values.into_iter().map(|value| self.inner(value)).collect())
    }

    /// Returns the member of this name.
    ///
    /// # Errors
    /// As [`members`](Self::members).
    pub(crate) fn member(&self, name: &str) -> Result<Option<JsonMember<'a>>, JsonFault> {
        Ok(self.members()?.into_iter().find(|member| member.name == name))
    }

    /// Returns the value of the member of this name.
    ///
    /// # Errors
    /// As [`members`](Self::members).
    pub(crate) fn get(&self, name: &str) -> Result<Option<Self>, JsonFault> {
        Ok(self.member(name)?.map(|member| member.value))
    }

    fn inner(&self, value: &'a RawValue) -> Self {
        let raw = value.get();
        let start = (raw.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        Self { text: self.text, start, end: start + raw.len() }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn invalid(error: serde_json::Error) -> JsonFault {
    JsonFault::Invalid(error.to_string())
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// Returns whether a text is one JSON document if comments and trailing commas are ignored.
fn is_valid_with_comments(text: &str) -> bool {
    let settings = ReaderSettings {
        allow_comments: true,
        allow_trailing_comma: true,
        max_nesting_depth: None,
        restrict_number_values: false,
        ..ReaderSettings::default()
    };
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = JsonStreamReader::new_custom(text.as_bytes(), settings);
    reader.skip_value().is_ok() && reader.consume_trailing_whitespace().is_ok()
}

/// Returns a text with spaces in place of its comments and trailing commas. Every other byte stays at its place.
pub(crate) fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    // The last comma, if only blanks and comments came after it.
    let mut comma = None;
    while let Some(byte) = bytes.get(at).copied() {
        let next = bytes.get(at + 1).copied();
        match (byte, next) {
            (b'"', _) => {
                comma = None;
                at = end_of_string(&bytes, at);
                continue;
            }
            (b'/', Some(b'/' | b'*')) => {
                let end = end_of_comment(&bytes, at);
                for byte in bytes.get_mut(at..end).unwrap_or_default() {
                    if !matches!(byte, b'\n' | b'\r') {
                        *byte = b' ';
                    }
                }
                at = end;
                continue;
            }
            (b',', _) => comma = Some(at),
            (b']' | b'}', _) => {
                if let Some(comma) = comma.take().and_then(|at: usize| bytes.get_mut(at)) {
                    *comma = b' ';
                }
            }
            (b' ' | b'\t' | b'\n' | b'\r', _) => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only whole characters were replaced, so this is the same text.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns the index after a string.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the texts of the list under a path of names, as settings of Claude Code have them.
pub(crate) fn text_list(text: &str, names: &[&str]) -> Result<Vec<String>, JsonFault> {
    let mut value = Some(parse(text)?);
    for name in names {
        value = match value {
            Some(value) => value.get(name)?,
            None => None,
        };
    }
    let list = value.map(|list| list.elements()).transpose()?.unwrap_or_default();
    Ok(list.iter().filter_map(JsonNode::string).collect())
}

/// Returns the index after a comment, which is before the end of its line.
fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start + 2..).unwrap_or_default();
    let found = if bytes.get(start + 1) == Some(&b'/') {
        rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))
    } else {
        rest.windows(2).position(|pair| pair == b"*/").map(|at| at + 2)
    };
    found.map_or(bytes.len(), |at| start + 2 + at)
}

#[cfg(test)]
mod tests {
    use super::{JsonFault, parse, without_comments};

    #[test]
    fn comments_become_spaces() {
        for (text, expected) in [
            ("{\"a\":1,}", "{\"a\":1 }"),
            ("[1, // é\n]", "[1       \n]"),
            ("{/* \" , */\"//\":\"/*\\\",\" , /**/}", "{         \"//\":\"/*\\\",\"       }"),
            ("[1,/*,*/2]", "[1,     2]"),
            ("[1 /* x", "[1     "),
        ] {
            let plain = without_comments(text);
            assert_eq!(plain, expected);
            assert_eq!(plain.len(), text.len());
        }
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "\u{feff} {\"a\\n\" : [1, {\"b\":\"é\"} ,\"x\"] , \"c\":{}}\r\n";
        let root = parse(text).unwrap();
        let members = root.members().unwrap();
        assert_eq!(members[0].name, "a\n");
        assert!(text[members[0].start..].starts_with("\"a\\n\""));
        assert!(text[members[1].start..].starts_with("\"c\":"));
        let elements = members[0].value.elements().unwrap();
        assert_eq!(
            elements.iter().map(|e| e.raw()).collect::<Vec<_>>(),
            ["1", "{\"b\":\"é\"}", "\"x\""]
        );
        assert_eq!(elements[1].get("b").unwrap().unwrap().string().unwrap(), "é");
        assert!(
            elements[0].members().unwrap().is_empty() && elements[1].elements().unwrap().is_empty()
        );
    }

    #[test]
    fn faults_differ() {
        for text in ["{\"a\":1,}", "{// x\n}", "/* \" */ [1]", "[1,/*,*/]"] {
            assert_eq!(parse(text).unwrap_err(), JsonFault::Comments, "{text}");
        }
        for text in ["{", "{\"a\" 1}", "", "{} {}", "[1 // x", "{\"a//\":1"] {
            assert!(matches!(parse(text), Err(JsonFault::Invalid(_))), "{text}");
        }
        let twice = parse("{\"a\":1,\"\\u0061\":2}").unwrap().members();
        assert_eq!(twice.unwrap_err(), JsonFault::Duplicate("a".to_owned()));
    }
}
