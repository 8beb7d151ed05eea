//! A `gateway.yaml` as a tree, with the places of all keys and values.
//!
//! The tree is a deserializer, from which the typed values are read. The parser would give an error that serde raises
//! inside a map the place of that map; the tree gives it the place of the innermost value, and a message in the terms of
//! the file. Also, the parser is compiled for one type instead of for each.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde_saphyr::{Location, Spanned};

use super::error::options;

/// A place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The line, counted from 1. 0: not known.
    pub(super) line: u64,
    /// The character of the line, counted from 1.
    pub(super) column: u64,
}

impl Place {
    pub(super) const UNKNOWN: Self = Self { line: 0, column: 0 };
}

impl From<Location> for Place {
    fn from(at: Location) -> Self {
        Self { line: at.line(), column: at.column() }
    }
}

/// A typed value, and where it is written.
#[derive(Debug)]
pub(super) struct Placed<T> {
    pub(super) at: Place,
    pub(super) value: T,
}

/// The name by which the tree recognises a [`Placed`]. It reads as a list of line, column and value.
const PLACED: &str = "tamis: a value with its place";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Parts<T> {
            type Value = Placed<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Placed<T>, A::Error> {
                let missing = || de::Error::custom("expected a value");
                let line = parts.next_element()?.ok_or_else(missing)?;
                let column = parts.next_element()?.ok_or_else(missing)?;
                let value = parts.next_element()?.ok_or_else(missing)?;
                Ok(Placed { at: Place { line, column }, value })
            }
        }
        deserializer.deserialize_newtype_struct(PLACED, Parts(PhantomData))
    }
}

/// The parts of a [`Placed`].
struct PlacedParts<'a> {
    node: &'a PlacedNode,
    read: usize,
}

impl<'de> SeqAccess<'de> for PlacedParts<'_> {
    type Error = PlacedError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, PlacedError> {
        self.read += 1;
        match self.read {
            1 => seed.deserialize(self.node.at.line.into_deserializer()),
            2 => seed.deserialize(self.node.at.column.into_deserializer()),
            _ => seed.deserialize(self.node),
        }
        .map(Some)
    }
}

/// A value of the file, and where it is written.
#[derive(Debug)]
pub(super) struct PlacedNode {
    pub(super) at: Place,
    /// The bytes of the text.
    bytes: Range<usize>,
    /// The text of a number or a boolean, which may also be meant as a text.
    spelling: String,
    value: NodeValue,
}

#[derive(Debug)]
enum NodeValue {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<PlacedNode>),
    Map(Vec<(PlacedNode, PlacedNode)>),
}

impl PlacedNode {
    /// Parses a file.
    pub(super) fn parse(text: &str) -> Result<Self, serde_saphyr::Error> {
        let mut node: Self = serde_saphyr::from_str_with_options(text, options())?;
        node.spell(text);
        Ok(node)
    }

    /// Finds the spelling of all numbers and booleans.
    fn spell(&mut self, text: &str) {
        match &mut self.value {
            NodeValue::List(list) => list.iter_mut().for_each(|node| node.spell(text)),
            NodeValue::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
                key.spell(text);
                value.spell(text);
            }),
            NodeValue::Null | NodeValue::Text(_) => {}
            _ => {
                let spelling = text.get(self.bytes.clone()).unwrap_or_default();
                self.spelling = spelling.trim().to_owned();
            }
        }
    }

    /// Returns the keys of a map that are texts.
    pub(super) fn keys(&self) -> Vec<String> {
        let NodeValue::Map(entries) = &self.value else { return Vec::new() };
        entries.iter().filter_map(|(key, _)| key.text()).map(str::to_owned).collect()
    }

    /// Reads a value as `T`.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, PlacedError> {
        T::deserialize(self)
    }

    /// Returns the key of a map and its value.
    pub(super) fn entry(&self, name: &str) -> Option<(&Self, &Self)> {
        let NodeValue::Map(entries) = &self.value else { return None };
        let (key, value) = entries.iter().find(|(key, _)| key.text() == Some(name))?;
        Some((key, value))
    }

    /// Returns an element of a list.
    pub(super) fn element(&self, at: usize) -> Option<&Self> {
        let NodeValue::List(list) = &self.value else { return None };
        list.get(at)
    }

    /// Returns the place that the error of a spec refers to. Its message begins with the name of the key, and ends with
    /// the refused text in most cases.
    pub(super) fn place_of(&self, message: &str) -> Option<Place> {
        let name = message.split([':', ' ', '[']).next().unwrap_or_default();
        let entry = self.entry(name.trim_matches('`'));
        let refused = message.rsplit_once(" of `").and_then(|(_, rest)| rest.strip_suffix("`)"));
        let text = refused.and_then(|text| entry.map_or(self, |(_, value)| value).find(text));
        text.or(entry.map(|(key, _)| key)).map(|node| node.at)
    }

    /// Returns the first key or value that is this text.
    fn find(&self, text: &str) -> Option<&Self> {
        match &self.value {
            NodeValue::Text(own) if own == text => Some(self),
            NodeValue::List(list) => list.iter().find_map(|node| node.find(text)),
            NodeValue::Map(entries) => {
                entries.iter().find_map(|(key, value)| key.find(text).or_else(|| value.find(text)))
            }
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Gives an error without a place that of this value, or of the key that it names.
    fn place<T>(&self, result: Result<T, PlacedError>) -> Result<T, PlacedError> {
        result.map_err(|mut error| {
            if error.at.is_none() {
                let key = error.key.as_ref().and_then(|key| self.entry(key));
                error.at = Some(key.map_or(self.at, |(key, _)| key.at));
            }
            error
        })
    }
}

impl<'de> Deserialize<'de> for PlacedNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, defined } = Spanned::deserialize(deserializer)?;
        let span = defined.span();
        let number = |bytes: Option<u64>| bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let start = number(span.byte_offset()).unwrap_or(0);
        let bytes = start..start + number(span.byte_len()).unwrap_or(0);
        Ok(Self { at: referenced.into(), bytes, spelling: String::new(), value })
    }
}

impl<'de> Deserialize<'de> for NodeValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = NodeValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<NodeValue, E> {
        Ok(NodeValue::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<NodeValue, E> {
        Ok(NodeValue::Unsigned(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<NodeValue, E> {
        Ok(u64::try_from(value).map_or(NodeValue::Signed(value), NodeValue::Unsigned))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<NodeValue, E> {
        Ok(NodeValue::Float(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<NodeValue, E> {
        Ok(NodeValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NodeValue, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(NodeValue::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NodeValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(NodeValue::Map(entries))
    }
}

/// The elements of a list.
struct Elements<'a>(std::slice::Iter<'a, PlacedNode>);

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = PlacedError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, PlacedError> {
        self.0.next().map(|node| node.place(seed.deserialize(node))).transpose()
    }
}

/// The entries of a map.
struct Entries<'a> {
    rest: std::slice::Iter<'a, (PlacedNode, PlacedNode)>,
    value: Option<&'a PlacedNode>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = PlacedError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, PlacedError> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some(value);
        key.place(seed.deserialize(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, PlacedError> {
        let value = self.value.take();
        let value = value.ok_or_else(|| de::Error::custom("expected a key before the value"))?;
        value.place(seed.deserialize(value))
    }
}

/// A quoted whole number is a number where a number is expected.
macro_rules! deserialize_number {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
            match self.text().and_then(|text| text.parse::<u64>().ok()) {
                Some(number) => self.place(visitor.visit_u64(number)),
                None => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &PlacedNode {
    type Error = PlacedError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        let result = match &self.value {
            NodeValue::Null => visitor.visit_unit(),
            NodeValue::Bool(value) => visitor.visit_bool(*value),
            NodeValue::Unsigned(value) => visitor.visit_u64(*value),
            NodeValue::Signed(value) => visitor.visit_i64(*value),
            NodeValue::Float(value) => visitor.visit_f64(*value),
            NodeValue::Text(text) => visitor.visit_str(text),
            NodeValue::List(list) => visitor.visit_seq(Elements(list.iter())),
            NodeValue::Map(map) => visitor.visit_map(Entries { rest: map.iter(), value: None }),
        };
        self.place(result)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        match self.value {
            NodeValue::Null => visitor.visit_none(),
            _ => self.place(visitor.visit_some(self)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        self.place(match name {
            PLACED => visitor.visit_seq(PlacedParts { node: self, read: 0 }),
            _ => visitor.visit_newtype_struct(self),
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        let result = match &self.value {
            NodeValue::Text(text) => {
                let name: StrDeserializer<'_, PlacedError> = text.as_str().into_deserializer();
                visitor.visit_enum(name)
            }
            NodeValue::Map(map) => {
                let entries = Entries { rest: map.iter(), value: None };
                visitor.visit_enum(MapAccessDeserializer::new(entries))
            }
            _ => return self.deserialize_any(visitor),
        };
        self.place(result)
    }

    /// A plain number or boolean is a text if a text is expected.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        match &self.value {
            NodeValue::Bool(_)
            | NodeValue::Unsigned(_)
            | NodeValue::Signed(_)
            | NodeValue::Float(_) => self.place(visitor.visit_str(&self.spelling)),
            _ => self.deserialize_any(visitor),
        }
    }

    /// A key.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        self.deserialize_str(visitor)
    }

    deserialize_number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64
    }

    /// A quoted boolean is a boolean where one is expected.
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        match self.text() {
            Some("true") => self.place(visitor.visit_bool(true)),
            Some("false") => self.place(visitor.visit_bool(false)),
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct ignored_any
    }
}

/// An error of the tree.
#[derive(Debug)]
pub(super) struct PlacedError {
    /// The innermost value that was read. `None` until one is known.
    pub(super) at: Option<Place>,
    pub(super) message: String,
    /// The key that is not known.
    key: Option<String>,
}

impl PlacedError {
    fn expected(found: Unexpected<'_>, expected: &str) -> Self {
        let number = ["u64", "u32", "u16", "u8", "usize", "i64", "i32"].contains(&expected);
        let expected = match expected {
            "a string" | "string" => "a text",
            "a boolean" => "`true` or `false`",
            "a sequence" => "a list",
            _ if number => "a whole number",
            _ if expected.starts_with("struct ") => "a map",
            _ => expected,
        };
        let found = match found {
            Unexpected::Bool(value) => format!("`{value}`"),
            Unexpected::Unsigned(value) => format!("`{value}`"),
            Unexpected::Signed(value) => format!("`{value}`"),
            Unexpected::Float(value) => format!("`{value}`"),
            Unexpected::Str(text) => {
                format!("`{}`", text.chars().take(80).collect::<String>().escape_debug())
            }
            Unexpected::Unit | Unexpected::Option => "an empty value".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a map".to_owned(),
            other => other.to_string(),
        };
        de::Error::custom(format!("expected {expected}, not {found}"))
    }
}

/// Returns names in backticks: `a`, `b` or `c`.
fn one_of(names: &[&str]) -> String {
    let mut quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let last = quoted.pop().unwrap_or_default();
    if quoted.is_empty() { last } else { format!("{} or {last}", quoted.join(", ")) }
}

impl de::Error for PlacedError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { at: None, message: message.to_string(), key: None }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(found, &expected.to_string())
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(found, &expected.to_string())
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format!("expected {}, not `{variant}`", one_of(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("unknown key `{field}`, expected {}", one_of(expected));
        Self { key: Some(field.to_owned()), ..Self::custom(message) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("the key `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::custom(format!("the key `{field}` is written twice"))
    }
}

impl fmt::Display for PlacedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlacedError {}
